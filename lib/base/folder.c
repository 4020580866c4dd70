/* SPDX-License-Identifier: Apache-2.0 */
/* base/folder.c: which folders may hold a cache: a library that lies in one is run with this user's rights. */
#include "base/folder.h"

#include "base/memory.h"
#include "os/file.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void halo_folder_make(const char *path) {
  char *all = halo_strdup(path);
  for (char *at = all + 1; *all && *at; at++) {
    if (*at != '/') continue;
    *at = '\0';
    halo_os_make_folder(all, 0700);
    *at = '/';
  }
  halo_os_make_folder(all, 0700);
  halo_free(all);
}

/* The folder, or the lowest one above it that is there, on the heap. */
static char *folder_existing(const char *folder) {
  char *path = halo_strdup(folder), *end = path + strlen(path);
  halo_os_file_info info;
  while (!halo_os_find_file(path, &info) && errno == ENOENT && end > path) {
    while (end > path && *--end != '/') continue;
    strcpy(end, end > path ? "" : *folder == '/' ? "/" : ".");
  }
  return path;
}

bool halo_folder_is_writable(const char *folder) {
  char *path = folder_existing(folder);
  halo_os_file_info info;
  bool can = halo_os_find_file(path, &info) && info.kind == HALO_OS_FOLDER &&
             access(path, W_OK | X_OK) == 0;
  halo_free(path);
  return can;
}

halo_status halo_folder_check_room(const char *folder, uint64_t least) {
  char *path = folder_existing(folder);
  uint64_t left;
  bool takes_files, known = halo_os_find_room(path, &left, &takes_files);
  halo_free(path);
  if (!known) return HALO_OK;
  if (!takes_files) {
    return halo_fail(HALO_IO_ERROR, "the disk of %s takes no more files", folder);
  }
  if (left >= least) return HALO_OK;
  return halo_fail(HALO_IO_ERROR, "the disk of %s has %llu KiB left, and %llu are needed", folder,
                   (unsigned long long)(left >> 10), (unsigned long long)(least >> 10));
}

halo_status halo_folder_check(const char *path) {
  halo_os_file_info info;
  if (!halo_os_find_file(path, &info)) return HALO_OK;
  const char *reason = info.other;
  if (!reason && info.kind != HALO_OS_FOLDER) reason = "it is no folder";
  if (!reason) return HALO_OK;
  return halo_fail(HALO_FAILED_PRECONDITION, "%s is not used as a cache: %s", path, reason);
}

/* ---- Warnings ---- */

typedef struct folder_warned {
  struct folder_warned *next;
  char path[];
} folder_warned;

static pthread_mutex_t folder_lock = PTHREAD_MUTEX_INITIALIZER;
static folder_warned *folder_all; /* as long as the process */

/* Whether it is the first time. */
static bool folder_note(const char *path) {
  pthread_mutex_lock(&folder_lock);
  const folder_warned *known = folder_all;
  while (known && strcmp(known->path, path) != 0) known = known->next;
  if (!known) {
    size_t size = strlen(path) + 1;
    folder_warned *warned = halo_alloc(sizeof *warned + size);
    memcpy(warned->path, path, size);
    warned->next = folder_all;
    folder_all = warned;
  }
  pthread_mutex_unlock(&folder_lock);
  return !known;
}

bool halo_folder_is_trusted(const char *path) {
  char *before = halo_error_save();
  halo_status status = halo_folder_check(path);
  if (status != HALO_OK && folder_note(path)) fprintf(stderr, "halo: %s\n", halo_error_message());
  halo_error_restore(before);
  return status == HALO_OK;
}
