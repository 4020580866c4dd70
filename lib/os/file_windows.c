/* SPDX-License-Identifier: Apache-2.0 */
/* os/file_windows.c: files and folders by Windows and its C library. */
#include "os/file.h"

#include <ctype.h>
#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utime.h>
#include <unistd.h>
#include <windows.h>

int halo_os_open(const char *path, halo_os_open_mode mode) {
  static const int flags[] = {
      [HALO_OS_READ] = _O_RDONLY,
      [HALO_OS_WRITE] = _O_WRONLY,
      [HALO_OS_CREATE] = _O_WRONLY | _O_CREAT | _O_EXCL,
      [HALO_OS_APPEND] = _O_WRONLY | _O_CREAT | _O_APPEND,
  };
  return _open(path, flags[mode] | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
}

int halo_os_create_temporary(char *path) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  enum { DIGITS = 6, TRIES = 100 };
  LARGE_INTEGER now;
  char *end = path + strlen(path) - DIGITS;
  for (int i = 0; i < TRIES; i++) {
    QueryPerformanceCounter(&now);
    uint64_t number = (uint64_t)now.QuadPart * 0x9e3779b97f4a7c15u +
                      GetCurrentThreadId() * 0xd1b54a32d192ed03u + (uint64_t)i;
    number ^= number >> 29;
    for (int digit = 0; digit < DIGITS; digit++, number /= sizeof letters - 1)
      end[digit] = letters[number % (sizeof letters - 1)];
    int file = halo_os_open(path, HALO_OS_CREATE);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

FILE *halo_os_read_stream(int file) { return _fdopen(file, "rb"); }

/* The file's own place moves too; nobody who reads at places has a use for that. */
int64_t halo_os_read_at(int file, void *data, size_t size, uint64_t offset) {
  HANDLE handle = (HANDLE)_get_osfhandle(file);
  OVERLAPPED at = {.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
  DWORD got = 0, most = size < (1u << 30) ? (DWORD)size : 1u << 30;
  if (ReadFile(handle, data, most, &got, &at) || GetLastError() == ERROR_HANDLE_EOF) return got;
  errno = EIO;
  return -1;
}

int halo_os_sync(int file) { return _commit(file); }

void halo_os_touch(int file) { _futime(file, NULL); }

int halo_os_replace(const char *from, const char *to) {
  if (MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING)) return 0;
  DWORD code = GetLastError();
  errno = code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND ? ENOENT
          : code == ERROR_DISK_FULL                                    ? ENOSPC
                                                                       : EACCES;
  return -1;
}

char *halo_os_real_path(const char *path) {
  return _access(path, 0) == 0 ? _fullpath(NULL, path, 0) : NULL;
}

int halo_os_make_folder(const char *path, unsigned rights) {
  (void)rights;
  return _mkdir(path);
}

/* Folders cannot be locked there: a file in it stands for it. */
int halo_os_lock_folder(const char *path) {
  char name[MAX_PATH];
  OVERLAPPED all = {0};
  int length = snprintf(name, sizeof name, "%s/lock", path);
  int file = length > 0 && length < MAX_PATH ? halo_os_open(name, HALO_OS_APPEND) : -1;
  HANDLE handle = file >= 0 ? (HANDLE)_get_osfhandle(file) : NULL;
  if (file < 0 || LockFileEx(handle, LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &all)) return file;
  _close(file);
  return -1;
}

bool halo_os_text_begin(halo_os_text *out) {
  *out = (halo_os_text){0};
  out->file = tmpfile();
  return out->file != NULL;
}

char *halo_os_text_end(halo_os_text *text) {
  bool good = fflush(text->file) == 0 && !ferror(text->file);
  int64_t size = good ? _ftelli64(text->file) : -1;
  char *all = size >= 0 ? malloc((size_t)size + 1) : NULL;
  rewind(text->file);
  good = all && fread(all, 1, (size_t)size, text->file) == (size_t)size;
  fclose(text->file);
  if (good) {
    all[size] = '\0';
    return all;
  }
  free(all);
  return NULL;
}

/* ---- Facts ---- */

static halo_os_file_info file_info(const struct _stat64 *info) {
  int kind = info->st_mode & _S_IFMT;
  return (halo_os_file_info){
      .kind = kind == _S_IFREG   ? HALO_OS_FILE
              : kind == _S_IFDIR ? HALO_OS_FOLDER
              : kind == _S_IFIFO ? HALO_OS_PIPE
                                 : HALO_OS_OTHER,
      .size = (uint64_t)info->st_size,
      .changed = (int64_t)info->st_mtime * 1000000000,
  };
}

bool halo_os_find_file(const char *path, halo_os_file_info *out) {
  struct _stat64 info;
  bool there = _stat64(path, &info) == 0;
  if (there) *out = file_info(&info);
  return there;
}

bool halo_os_find_open_file(int file, halo_os_file_info *out) {
  struct _stat64 info;
  bool there = _fstat64(file, &info) == 0;
  if (there) *out = file_info(&info);
  return there;
}

bool halo_os_find_room(const char *path, uint64_t *left, bool *takes_files) {
  ULARGE_INTEGER free;
  if (!GetDiskFreeSpaceExA(path, &free, NULL, NULL)) return false;
  *left = free.QuadPart;
  *takes_files = true;
  return true;
}

bool halo_os_cache_folder(char *out, size_t size) {
  const char *local = getenv("LOCALAPPDATA");
  if (!local || !halo_os_is_absolute(local)) return false;
  int length = snprintf(out, size, "%s", local);
  for (char *at = out; *at; at++) {
    if (*at == '\\') *at = '/';
  }
  return length >= 0 && (size_t)length < size;
}

bool halo_os_is_absolute(const char *path) {
  bool drive = isalpha((unsigned char)path[0]) && path[1] == ':';
  const char *rest = drive ? path + 2 : path;
  return (drive && (rest[0] == '/' || rest[0] == '\\')) || (path[0] == '\\' && path[1] == '\\');
}
