/* SPDX-License-Identifier: Apache-2.0 */
/* base/file.c: whole files read, and files written to a temporary name and renamed into place. */
#include "base/file.h"

#include "base/memory.h"
#include "base/strbuf.h"
#include "os/file.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct halo_outfile {
  int fd;
  char *path;      /* where it goes, symbolic links followed */
  char *temporary; /* where it is until then; NULL: written in place */
};

halo_status halo_fail_errno(int error, const char *verb, const char *path) {
  return halo_fail(error == ENOENT || error == ENOTDIR ? HALO_NOT_FOUND : HALO_IO_ERROR,
                   "cannot %s %s: %s", verb, path, strerror(error));
}

enum { OUTFILE_SUFFIX = 48 }; /* bytes that a temporary name has beyond the path */

/* Opens a name beside the target that nobody else has; the process id and a counter keep writers of
 * one path apart, and O_EXCL catches what is left over from a dead process with the same id. */
static int outfile_open_temporary(halo_outfile *file) {
  static atomic_uint counter;
  for (int attempt = 0; attempt < 100; attempt++) {
    snprintf(file->temporary, strlen(file->path) + OUTFILE_SUFFIX, "%s.tmp-%ld-%u", file->path,
             (long)getpid(), atomic_fetch_add(&counter, 1));
    int fd = halo_os_open(file->temporary, HALO_OS_CREATE);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  errno = EEXIST;
  return -1;
}

static void outfile_free(halo_outfile *file) {
  halo_free(file->temporary);
  halo_free(file->path);
  halo_free(file);
}

typedef struct outfile_request {
  const char *path;
  bool in_place;
  halo_outfile *file;
} outfile_request;

static halo_status outfile_make(void *user) {
  outfile_request *request = user;
  halo_outfile *file = halo_alloc(sizeof *file);
  file->path = halo_strdup(request->path);
  if (!request->in_place) file->temporary = halo_alloc(strlen(file->path) + OUTFILE_SUFFIX);
  request->file = file;
  return HALO_OK;
}

halo_status halo_outfile_create(const char *path, halo_outfile **out) {
  *out = NULL;
  halo_os_file_info info;
  char *real = halo_os_real_path(path);
  outfile_request request = {.path = real ? real : path};
  request.in_place = halo_os_find_file(path, &info) && info.kind != HALO_OS_FILE;
  halo_status status = halo_memory_guard(outfile_make, &request);
  free(real);
  HALO_TRY(status);
  halo_outfile *file = request.file;
  file->fd = request.in_place ? halo_os_open(path, HALO_OS_WRITE) : outfile_open_temporary(file);
  if (file->fd < 0) {
    status = halo_fail_errno(errno, "write", path);
    outfile_free(file);
    return status;
  }
  *out = file;
  return HALO_OK;
}

halo_status halo_outfile_write(halo_outfile *file, const void *data, size_t size) {
  /* Some systems refuse a single write of 2 GiB or more. */
  const size_t most = (size_t)1 << 30;
  const char *next = data;
  while (size > 0) {
    ssize_t done = write(file->fd, next, size < most ? size : most);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return halo_fail_errno(errno, "write", file->path);
    next += done;
    size -= (size_t)done;
  }
  return HALO_OK;
}

halo_status halo_outfile_commit(halo_outfile *file) {
  halo_status status = HALO_OK;
  /* Network file systems report a full disk only here. */
  if (close(file->fd) != 0) status = halo_fail_errno(errno, "write", file->path);
  file->fd = -1;
  if (status == HALO_OK && file->temporary && halo_os_replace(file->temporary, file->path) != 0) {
    status = halo_fail_errno(errno, "write", file->path);
  }
  if (status != HALO_OK && file->temporary) unlink(file->temporary);
  outfile_free(file);
  return status;
}

void halo_outfile_discard(halo_outfile *file) {
  if (!file) return;
  close(file->fd);
  if (file->temporary) unlink(file->temporary);
  outfile_free(file);
}

/* ---- Reading ---- */

/* Waits until a pipe has a writer. A byte that was read to find that out goes to `*first`. */
static bool file_has_writer(int fd, int *first) {
  enum { TRIES = 100, PAUSE = 20000000 }; /* nanoseconds */
  for (int i = 0; i < TRIES; i++) {
    unsigned char byte;
    ssize_t got = read(fd, &byte, 1);
    if (got == 1) *first = byte;
    if (got != 0) return true; /* a byte, or none yet: EAGAIN */
    nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
  }
  return false;
}

halo_status halo_file_open(const char *path, FILE **out) {
  *out = NULL;
  int fd = halo_os_open(path, HALO_OS_READ), first = EOF;
  if (fd < 0) {
    return halo_fail(errno == ENOENT ? HALO_NOT_FOUND : HALO_IO_ERROR, "%s: %s", path,
                     strerror(errno));
  }
  halo_os_file_info info;
  bool is_pipe = halo_os_find_open_file(fd, &info) && info.kind == HALO_OS_PIPE;
  if (is_pipe && !file_has_writer(fd, &first)) {
    close(fd);
    return halo_fail(HALO_IO_ERROR, "%s: nobody writes to this pipe", path);
  }
  FILE *file = halo_os_read_stream(fd);
  if (!file) {
    int reason = errno;
    close(fd);
    return halo_fail(HALO_IO_ERROR, "%s: %s", path, strerror(reason));
  }
  if (first != EOF) ungetc(first, file);
  *out = file;
  return HALO_OK;
}

typedef struct file_content {
  const char *path;
  FILE *file;
  char *text;
  size_t length;
} file_content;

static halo_status file_run_read(void *user) {
  file_content *from = user;
  halo_strbuf content = {0};
  char chunk[65536];
  size_t got;
  while ((got = fread(chunk, 1, sizeof chunk, from->file)) > 0) {
    halo_strbuf_append_n(&content, chunk, got);
    if (content.length > INT32_MAX) {
      halo_strbuf_deinit(&content);
      return halo_fail(HALO_INVALID_ARGUMENT, "%s: is longer than 2 GiB, which no program is",
                       from->path);
    }
  }
  from->length = content.length;
  from->text = halo_strbuf_take(&content);
  return HALO_OK;
}

halo_status halo_file_read(const char *path, char **out, size_t *size) {
  *out = NULL;
  *size = 0;
  FILE *file;
  HALO_TRY(halo_file_open(path, &file));
  file_content from = {.path = path, .file = file};
  halo_status status = halo_memory_guard(file_run_read, &from);
  bool failed = ferror(file) != 0;
  int reason = errno;
  fclose(file);
  HALO_TRY(status);
  if (failed) {
    halo_free(from.text);
    return halo_fail(HALO_IO_ERROR, "%s: %s", path, strerror(reason));
  }
  *size = from.length;
  *out = from.text;
  return HALO_OK;
}
