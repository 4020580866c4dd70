/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/disk.c: program binaries as files. A file is used only when its header and checksum say
 * that it is whole and the right one, and nobody else can have written it; anything else counts as damaged and is written anew. */
#include "base/folder.h"
#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "opencl/private.h"
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct disk_header {
  char magic[8]; /* format version included */
  uint64_t key[2];
  uint64_t size;     /* of the binary that follows */
  uint64_t checksum; /* of the binary */
} disk_header;

static const char disk_magic[8] = {'H', 'A', 'L', 'O', 'P', 'R', 'G', '1'};
static const uint64_t disk_max_binary = 1ull << 30;  /* larger ones are not kept */
static const uint64_t disk_max_total = 512ull << 20; /* the oldest files go beyond that */

static char *disk_path(const char *directory, const uint64_t key[2], const char *suffix) {
  halo_strbuf path = {0};
  halo_strbuf_printf(&path, "%s/%016" PRIx64 "%016" PRIx64 "%s", directory, key[0], key[1], suffix);
  return halo_strbuf_take(&path);
}

static bool disk_read(int file, void *data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t got = read(file, (char *)data + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

static bool disk_write(int file, const void *data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t put = write(file, (const char *)data + done, size - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    done += (size_t)put;
  }
  return true;
}

static bool disk_read_file(int file, const uint64_t key[2], unsigned char **binary, size_t *size) {
  disk_header header;
  halo_os_file_info about;
  void *data = NULL;
  if (!halo_os_find_open_file(file, &about) || about.kind != HALO_OS_FILE) return false;
  if (about.other) return false;
  if (!disk_read(file, &header, sizeof header)) return false;
  if (memcmp(header.magic, disk_magic, sizeof disk_magic) != 0) return false;
  if (header.key[0] != key[0] || header.key[1] != key[1]) return false;
  if (header.size == 0 || header.size > disk_max_binary) return false;
  if (about.size != sizeof header + header.size) return false;
  if (halo_try_alloc(header.size, "a program binary", &data) != HALO_OK) return false;
  if (!disk_read(file, data, header.size) || halo_hash(data, header.size, 0) != header.checksum) {
    halo_free(data);
    return false;
  }
  *binary = data;
  *size = header.size;
  return true;
}

halo_disk_result halo_disk_load(const char *directory, const uint64_t key[2],
                                unsigned char **binary, size_t *size) {
  if (!halo_folder_is_trusted(directory)) return HALO_DISK_ABSENT;
  char *path = disk_path(directory, key, ".bin");
  int file = halo_os_open(path, HALO_OS_READ);
  halo_disk_result result = file < 0 ? HALO_DISK_ABSENT : HALO_DISK_DAMAGED;
  if (file >= 0) {
    if (disk_read_file(file, key, binary, size)) result = HALO_DISK_FOUND;
    /* The time of last use, for disk_tidy. */
    if (result == HALO_DISK_FOUND) halo_os_touch(file);
    close(file);
  }
  if (result == HALO_DISK_DAMAGED) {
    HALO_LOG(HALO_LOG_INFO, "program cache: %s is damaged, or others may write to it: not used",
             path);
  }
  halo_free(path);
  return result;
}

void halo_disk_remove(const char *directory, const uint64_t key[2]) {
  char *path = disk_path(directory, key, ".bin");
  unlink(path);
  halo_free(path);
}

typedef struct disk_entry {
  char *path;
  uint64_t size;
  int64_t used;
} disk_entry;

static int disk_older(const void *a, const void *b) {
  int64_t x = ((const disk_entry *)a)->used, y = ((const disk_entry *)b)->used;
  return x < y ? -1 : x > y;
}

/* Our own files: 32 digits and ".bin", or the six letters of a file being written. */
static bool disk_is_ours(const char *name, bool *temporary) {
  if (strspn(name, "0123456789abcdef") != 32 || name[32] != '.') return false;
  *temporary = strcmp(name + 32, ".bin") != 0;
  return !*temporary || strlen(name) == 32 + 7;
}

/* Keeps the folder below its size by removing the longest unused files, and what killed processes
 * left half-written. */
static void disk_tidy(const char *directory) {
  DIR *folder = opendir(directory);
  if (!folder) return;
  HALO_VEC(disk_entry) entries = {0};
  uint64_t total = 0;
  const int64_t stale = (int64_t)time(NULL) - 3600; /* seconds since 1970 */
  for (struct dirent *item; (item = readdir(folder));) {
    halo_os_file_info about;
    bool temporary;
    if (!disk_is_ours(item->d_name, &temporary)) continue;
    halo_strbuf path = {0};
    halo_strbuf_printf(&path, "%s/%s", directory, item->d_name);
    bool there = halo_os_find_file(halo_strbuf_text(&path), &about);
    if (there && !temporary) {
      disk_entry entry = {halo_strbuf_take(&path), about.size, about.changed};
      total += entry.size;
      halo_vec_push(&entries, entry);
    } else if (there && about.changed / 1000000000 < stale) {
      unlink(path.data);
    }
    halo_strbuf_deinit(&path);
  }
  /* Down to three quarters, so that this is not the work of every save. */
  uint64_t target = total > disk_max_total ? disk_max_total / 4 * 3 : total;
  if (entries.count) {
    qsort(entries.data, (size_t)entries.count, sizeof *entries.data, disk_older);
  }
  for (int i = 0; i < entries.count; i++) {
    if (total > target && unlink(entries.data[i].path) == 0) {
      total -= entries.data[i].size;
    }
    halo_free(entries.data[i].path);
  }
  halo_vec_deinit(&entries);
  closedir(folder);
}

bool halo_disk_save(const char *directory, const uint64_t key[2], const unsigned char *binary,
                    size_t size) {
  if (size == 0 || size > disk_max_binary) return false;
  disk_header header = {.key = {key[0], key[1]}, .size = size};
  memcpy(header.magic, disk_magic, sizeof disk_magic);
  header.checksum = halo_hash(binary, size, 0);
  halo_folder_make(directory);
  if (!halo_folder_is_trusted(directory)) return false;
  char *path = disk_path(directory, key, ".bin");
  char *temporary = disk_path(directory, key, ".XXXXXX");
  int file = halo_os_create_temporary(temporary);
  bool good = file >= 0;
  if (good) {
    good = disk_write(file, &header, sizeof header) && disk_write(file, binary, size);
    good = good && halo_os_sync(file) == 0;
    good = close(file) == 0 && good;
    good = good && halo_os_replace(temporary, path) == 0;
  }
  if (!good) {
    HALO_LOG(HALO_LOG_INFO, "program cache: %s cannot be written: %s", temporary, strerror(errno));
    if (file >= 0) unlink(temporary);
  }
  halo_free(temporary);
  halo_free(path);
  if (good) disk_tidy(directory);
  return good;
}
