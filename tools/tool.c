/* SPDX-License-Identifier: Apache-2.0 */
/* tools/tool.c: messages, memory, files and units for the subcommands. */
#include "tool.h"

#include "os/file.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int tool_rank = -1; /* among several processes */

void tool_set_rank(int rank) { tool_rank = rank; }

bool tool_is_first(void) { return tool_rank <= 0; }

int tool_error(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fflush(stdout);
  fputs("halo: ", stderr);
  if (tool_rank >= 0) fprintf(stderr, "rank %d: ", tool_rank);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  return TOOL_FAILED;
}

bool tool_check(halo_status status) {
  if (status == HALO_OK) return true;
  const char *message = halo_error_message();
  if (status == HALO_INTERNAL) {
    tool_error("%s\nThis is a bug in halo, not in your program.", message);
  } else {
    tool_error("%s", message);
  }
  return false;
}

/* ---- Memory ---- */

void *tool_realloc(void *old, size_t size) {
  void *memory = realloc(old, size ? size : 1);
  if (!memory) exit(tool_error("out of memory: %zu bytes could not be allocated", size));
  return memory;
}

void *tool_alloc(size_t size) { return memset(tool_realloc(NULL, size), 0, size); }

char *tool_strdup(const char *text) {
  size_t size = strlen(text) + 1;
  return memcpy(tool_alloc(size), text, size);
}

char *tool_printf(const char *format, ...) {
  va_list args;
  va_start(args, format);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = tool_alloc((size_t)length + 1);
  va_start(args, format);
  vsnprintf(text, (size_t)length + 1, format, args);
  va_end(args);
  return text;
}

/* ---- Files ---- */

/* What pretends to be a program and does not end, as some devices, is not read until memory is gone. */
static const size_t TOOL_FILE_MAX = (size_t)1 << 31;

/* Opens a file. Of a pipe somebody must open the other end within two seconds: reading would wait for ever. */
static FILE *tool_open(const char *path) {
  enum { TRIES = 100, PAUSE = 20000000 }; /* nanoseconds */
  int fd = halo_os_open(path, HALO_OS_READ), first = EOF;
  halo_os_file_info info;
  if (fd >= 0 && halo_os_find_open_file(fd, &info) && info.kind == HALO_OS_PIPE) {
    unsigned char byte;
    ssize_t got = 0;
    for (int i = 0; i < TRIES && (got = read(fd, &byte, 1)) == 0; i++) {
      nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
    }
    if (got == 1) first = byte;
    if (got == 0) {
      close(fd);
      tool_error("%s: nobody writes to this pipe", path);
      return NULL;
    }
  }
  FILE *file = fd >= 0 ? halo_os_read_stream(fd) : NULL;
  if (!file) tool_error("%s: %s", path, strerror(errno));
  if (file && first != EOF) ungetc(first, file);
  return file;
}

bool tool_read_bytes(const char *path, char **out, size_t *size, const char **name) {
  bool standard = strcmp(path, "-") == 0;
  FILE *file = standard ? stdin : tool_open(path);
  size_t capacity = 0, got;
  *out = NULL;
  *size = 0;
  *name = standard ? "<stdin>" : path;
  if (!file) return false;
  do {
    if (*size == capacity) *out = tool_realloc(*out, capacity = capacity ? 2 * capacity : 1 << 16);
    got = fread(*out + *size, 1, capacity - *size, file);
    *size += got;
  } while (got > 0 && *size <= TOOL_FILE_MAX);
  bool ok = !ferror(file), short_enough = *size <= TOOL_FILE_MAX;
  if (!short_enough) tool_error("%s is longer than 2 GiB, which no program is", *name);
  if (!ok) tool_error("cannot read %s: %s", standard ? "standard input" : path, strerror(errno));
  if (!standard) fclose(file);
  return ok && short_enough;
}

bool tool_make_folder(const char *path) {
  char *copy = tool_strdup(path);
  bool ok = true;
  for (char *at = copy + 1; ok; at++) {
    bool last = *at == '\0';
    if (!last && *at != '/') continue;
    *at = '\0';
    halo_os_file_info info;
    int reason = halo_os_make_folder(copy, 0777) == 0 ? 0 : errno;
    if (reason && !(halo_os_find_file(copy, &info) && info.kind == HALO_OS_FOLDER)) {
      tool_error("cannot make the folder %s: %s", copy, strerror(reason));
      ok = false;
    }
    if (last) break;
    *at = '/';
  }
  free(copy);
  return ok;
}

bool tool_ends_with(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* ---- Units ---- */

double tool_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static char *tool_slot(size_t *size) {
  static char slots[16][256];
  static unsigned next;
  *size = sizeof slots[0];
  return slots[next++ % 16];
}

/* Three digits: "1.23", "12.3", "123". */
static int tool_decimals(double value) { return value < 9.995 ? 2 : value < 99.95 ? 1 : 0; }

const char *tool_bytes(uint64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t size;
  char *text = tool_slot(&size);
  double value = (double)bytes;
  int unit = 0;
  while (value >= 1023.5 && unit < 6) {
    value /= 1024;
    unit++;
  }
  bool whole = unit == 0 || value == floor(value);
  snprintf(text, size, "%.*f %s", whole ? 0 : tool_decimals(value), value, units[unit]);
  return text;
}

const char *tool_seconds(double seconds) {
  size_t size;
  char *text = tool_slot(&size);
  if (seconds >= 119.5) {
    long total = lround(seconds);
    snprintf(text, size, "%ld min %02ld s", total / 60, total % 60);
    return text;
  }
  static const char *const units[] = {"s", "ms", "us", "ns"};
  int unit = 0;
  while (seconds < 0.9995 && unit < 3) {
    seconds *= 1000;
    unit++;
  }
  snprintf(text, size, "%.*f %s", tool_decimals(seconds), seconds, units[unit]);
  return text;
}

const char *tool_count(int64_t count) {
  size_t size;
  char *text = tool_slot(&size), digits[32];
  int length = snprintf(digits, sizeof digits, "%lld", (long long)count), at = 0;
  for (int i = 0; i < length; i++) {
    text[at++] = digits[i];
    int left = length - 1 - i;
    if (left > 0 && left % 3 == 0 && digits[i] != '-') text[at++] = ',';
  }
  text[at] = '\0';
  return text;
}

const char *tool_shape(const halo_shape *shape) {
  size_t size;
  char *text = tool_slot(&size);
  if (halo_shape_to_text(shape, false, text, size) >= size) memcpy(text + size - 4, "...", 4);
  return text;
}
