/* SPDX-License-Identifier: Apache-2.0 */
/* os/file_posix.c: files and folders by POSIX. */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

int halo_os_open(const char *path, halo_os_open_mode mode) {
  static const int flags[] = {
      [HALO_OS_READ] = O_RDONLY | O_NONBLOCK,
      [HALO_OS_WRITE] = O_WRONLY,
      [HALO_OS_CREATE] = O_WRONLY | O_CREAT | O_EXCL,
      [HALO_OS_APPEND] = O_WRONLY | O_CREAT | O_APPEND,
  };
  return open(path, flags[mode] | O_CLOEXEC, 0666);
}

int halo_os_create_temporary(char *path) {
  int file = mkstemp(path);
  if (file >= 0) fcntl(file, F_SETFD, FD_CLOEXEC);
  return file;
}

FILE *halo_os_read_stream(int file) {
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
  return fdopen(file, "rb");
}

int64_t halo_os_read_at(int file, void *data, size_t size, uint64_t offset) {
  return pread(file, data, size, (off_t)offset);
}

int halo_os_sync(int file) { return fdatasync(file); }

void halo_os_touch(int file) { futimens(file, NULL); }

int halo_os_replace(const char *from, const char *to) { return rename(from, to); }

char *halo_os_real_path(const char *path) { return realpath(path, NULL); }

int halo_os_make_folder(const char *path, unsigned rights) { return mkdir(path, (mode_t)rights); }

int halo_os_lock_folder(const char *path) {
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 || flock(folder, LOCK_EX) == 0) return folder;
  close(folder);
  return -1;
}

bool halo_os_text_begin(halo_os_text *out) {
  *out = (halo_os_text){0};
  out->file = open_memstream(&out->text, &out->size);
  return out->file != NULL;
}

char *halo_os_text_end(halo_os_text *text) {
  bool good = !ferror(text->file);
  good = fclose(text->file) == 0 && good;
  if (good) return text->text;
  free(text->text);
  return NULL;
}

/* ---- Facts ---- */

static const char *file_other(const struct stat *info) {
  if (info->st_mode & S_IWOTH) return "everybody may write there";
  if (info->st_mode & S_IWGRP && info->st_gid != getegid()) {
    return "a group that is not this user's own may write there";
  }
  if (info->st_uid != geteuid() && info->st_uid != 0) return "another user owns it";
  return NULL;
}

static halo_os_file_info file_info(const struct stat *info) {
  return (halo_os_file_info){
      .kind = S_ISREG(info->st_mode)    ? HALO_OS_FILE
              : S_ISDIR(info->st_mode)  ? HALO_OS_FOLDER
              : S_ISFIFO(info->st_mode) ? HALO_OS_PIPE
                                        : HALO_OS_OTHER,
      .size = (uint64_t)info->st_size,
      .changed = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec,
      .other = file_other(info),
  };
}

bool halo_os_find_file(const char *path, halo_os_file_info *out) {
  struct stat info;
  bool there = stat(path, &info) == 0;
  if (there) *out = file_info(&info);
  return there;
}

bool halo_os_find_open_file(int file, halo_os_file_info *out) {
  struct stat info;
  bool there = fstat(file, &info) == 0;
  if (there) *out = file_info(&info);
  return there;
}

bool halo_os_find_room(const char *path, uint64_t *left, bool *takes_files) {
  struct statvfs disk;
  if (statvfs(path, &disk) != 0) return false;
  *left = (geteuid() == 0 ? disk.f_bfree : disk.f_bavail) * (uint64_t)disk.f_frsize;
  *takes_files = !disk.f_files || disk.f_ffree;
  return true;
}

/* The XDG rules say to ignore relative paths. */
bool halo_os_cache_folder(char *out, size_t size) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int length = -1;
  if (cache && cache[0] == '/') {
    length = snprintf(out, size, "%s", cache);
  } else if (home && home[0] == '/') {
    length = snprintf(out, size, "%s/.cache", home);
  }
  return length >= 0 && (size_t)length < size;
}

bool halo_os_is_absolute(const char *path) { return path[0] == '/'; }
