/* SPDX-License-Identifier: Apache-2.0 */
/* base/file.h: reading whole files, and writing them so that readers see all of a file or the one before it. */
#ifndef HALO_BASE_FILE_H
#define HALO_BASE_FILE_H

#include "base/status.h"

#include <stddef.h>
#include <stdio.h>

/* Opens a file for reading. Of a pipe somebody must open the other end within two seconds. The message begins with the
 * path: HALO_NOT_FOUND, HALO_IO_ERROR. */
halo_status halo_file_open(const char *path, FILE **out);

/* All of a file, with a NUL behind it that is not counted. Free with halo_free.
 * HALO_NOT_FOUND, HALO_IO_ERROR or, for more than 2 GiB, HALO_INVALID_ARGUMENT with a message that begins with the path;
 * HALO_OUT_OF_MEMORY. */
halo_status halo_file_read(const char *path, char **out, size_t *size);

/* A file being written beside its final place; not thread-safe. Two that write to the same path at
 * once, in one process or several, do not disturb each other: the last commit wins. */
typedef struct halo_outfile halo_outfile;

/* Starts a file that will appear at `path` on commit. An existing path that is no regular file (a
 * pipe, a device such as /dev/stdout) is written to directly. HALO_IO_ERROR, or HALO_NOT_FOUND when
 * the folder does not exist. */
halo_status halo_outfile_create(const char *path, halo_outfile **out);
/* Appends. After a failure (HALO_IO_ERROR: disk full, ...) only discard is of use. */
halo_status halo_outfile_write(halo_outfile *file, const void *data, size_t size);
/* Puts the file in its place. Frees `file` whether it succeeds or not; on failure the older file, if
 * any, is still there and nothing of the new one is. */
halo_status halo_outfile_commit(halo_outfile *file);
/* Drops the file and what was written of it; NULL is allowed. Leaves the error message alone. */
void halo_outfile_discard(halo_outfile *file);

/* HALO_NOT_FOUND for an errno that says a path does not exist, else HALO_IO_ERROR; the message is
 * "cannot VERB PATH: REASON". */
halo_status halo_fail_errno(int error, const char *verb, const char *path);

#endif
