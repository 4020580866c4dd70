/* SPDX-License-Identifier: Apache-2.0 */
/* os/file.h: files and folders. Paths are in the system's encoding for programs in C (Windows: the code page of the process, which
 * for the program halo is UTF-8); '/' stands between folders everywhere. Functions that fail set errno. Each may be called from any
 * thread. */
#ifndef HALO_OS_FILE_H
#define HALO_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum halo_os_open_mode {
  HALO_OS_READ,   /* without waiting for the other end of a pipe */
  HALO_OS_WRITE,  /* what is there already */
  HALO_OS_CREATE, /* a new file; fails where one is there */
  HALO_OS_APPEND, /* a new file, or behind what is there */
} halo_os_open_mode;

/* Opens a file for read, write and close of <unistd.h>. No other program that this process starts gets it, and bytes are taken as
 * they are. -1 on failure. */
int halo_os_open(const char *path, halo_os_open_mode mode);

/* Creates a file for writing that nobody else has, readable by the user alone, and writes its name over the six X at the end of
 * `path`. -1 on failure. */
int halo_os_create_temporary(char *path);

/* A stream to read from `file`, which was opened by HALO_OS_READ; reading waits from now on. fclose closes both. NULL on failure. */
FILE *halo_os_read_stream(int file);

/* Reads at most `size` bytes from a place, as read does. */
int64_t halo_os_read_at(int file, void *data, size_t size, uint64_t offset);

/* Waits until the data written are on the disk, not only on their way there. 0 or -1. */
int halo_os_sync(int file);

/* Notes that the file was used now (halo_os_file_info.changed). */
void halo_os_touch(int file);

/* Gives a file another name, in place of what has that name; readers see all of one or of the other. 0 or -1. */
int halo_os_replace(const char *from, const char *to);

/* The path without symbolic links, from malloc; NULL where there is nothing at the path. */
char *halo_os_real_path(const char *path);

/* Makes a folder, with these rights less those that the process's mask takes away (Windows: those of the folder above). 0 or -1. */
int halo_os_make_folder(const char *path, unsigned rights);

/* Waits until no other process holds the folder, and holds it: a file descriptor whose close lets it go, as the end of the process
 * does. -1: it cannot be held. */
int halo_os_lock_folder(const char *path);

/* A stream that keeps what is written to it; of one thread. */
typedef struct halo_os_text {
  FILE *file; /* to write to */
  char *text; /* the rest is the functions' own */
  size_t size;
} halo_os_text;

/* False: there is no memory, or no room for temporary files. */
bool halo_os_text_begin(halo_os_text *out);
/* Closes the stream. All that was written, with a NUL behind it, from malloc; NULL: some of it is lost. */
char *halo_os_text_end(halo_os_text *text);

/* ---- Facts ---- */

typedef enum halo_os_file_kind {
  HALO_OS_FILE,
  HALO_OS_FOLDER,
  HALO_OS_PIPE,
  HALO_OS_OTHER
} halo_os_file_kind;

typedef struct halo_os_file_info {
  halo_os_file_kind kind;
  uint64_t size;
  int64_t changed; /* nanoseconds since 1970 */
  /* The others, besides this user and root, who can change it, in words ("another user owns it"); NULL: nobody. Windows: always NULL, since folders
   * of a user's profile are that user's. */
  const char *other;
} halo_os_file_info;

/* False: there is nothing at the path (errno is ENOENT), or it cannot be asked. */
bool halo_os_find_file(const char *path, halo_os_file_info *out);
bool halo_os_find_open_file(int file, halo_os_file_info *out);

/* Bytes that this user may still write to the disk that has this path, and whether it takes another file. False: the system does not
 * say. */
bool halo_os_find_room(const char *path, uint64_t *left, bool *takes_files);

/* The user's folder of caches: $XDG_CACHE_HOME, or .cache in $HOME, where that is an absolute path; Windows: %LOCALAPPDATA%.
 * False: there is none, or its name is longer than `size`. */
bool halo_os_cache_folder(char *out, size_t size);

/* Whether the path does not depend on the process's folder. */
bool halo_os_is_absolute(const char *path);

#endif
