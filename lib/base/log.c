/* SPDX-License-Identifier: Apache-2.0 */
/* base/log.c: where lines of the log go. */
#include "base/log.h"

#include "base/config.h"
#include "os/file.h"
#include "os/process.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOG_LINE_MAX = 2048 };

atomic_int halo_log_threshold;

static pthread_once_t log_once = PTHREAD_ONCE_INIT;
static int log_file = STDERR_FILENO;
static int log_error;       /* of opening the file */
static bool log_is_unknown; /* the level */

static void log_read(void) {
  const char *level = halo_config_text(HALO_CONFIG_LOG);
  const char *path = halo_config_text(HALO_CONFIG_LOG_FILE);
  if (!halo_config_flag(HALO_CONFIG_LOG)) return;
  int threshold = strcmp(level, "info") == 0    ? HALO_LOG_INFO
                  : strcmp(level, "debug") == 0 ? HALO_LOG_DEBUG
                                                : HALO_LOG_OFF;
  log_is_unknown = threshold == HALO_LOG_OFF;
  if (log_is_unknown) return;
  if (path && *path) log_file = halo_os_open(path, HALO_OS_APPEND);
  log_error = log_file < 0 ? errno : 0;
  if (!log_error) atomic_store(&halo_log_threshold, threshold);
}

halo_status halo_log_open(void) {
  pthread_once(&log_once, log_read);
  if (log_is_unknown) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s: \"info\" or \"debug\" is expected, not \"%s\"",
                     halo_config_name(HALO_CONFIG_LOG), halo_config_text(HALO_CONFIG_LOG));
  }
  if (log_error) {
    return halo_fail(HALO_IO_ERROR, "%s=%s cannot be written: %s",
                     halo_config_name(HALO_CONFIG_LOG_FILE), halo_config_text(HALO_CONFIG_LOG_FILE),
                     strerror(log_error));
  }
  return HALO_OK;
}

void halo_log_write(const char *format, ...) {
  char line[LOG_LINE_MAX];
  size_t length =
      (size_t)snprintf(line, sizeof line, "halo[%ld] %.3f ", (long)getpid(), halo_os_process_age());
  va_list args;
  va_start(args, format);
  int more = vsnprintf(line + length, sizeof line - length, format, args);
  va_end(args);
  if (more > 0) length += (size_t)more;
  if (length > sizeof line - 1) length = sizeof line - 1;
  for (size_t i = 0; i < length; i++) {
    if (line[i] == '\n') line[i] = ' ';
  }
  line[length++] = '\n';
  /* In one piece. A line that cannot be written is lost: a log is no reason to fail. */
  ssize_t written = write(log_file, line, length);
  (void)written;
}
