/* SPDX-License-Identifier: Apache-2.0 */
/* os/process_windows.c: this process and its machine by Windows. */
#include "os/process.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

bool halo_os_machine_name(char *out, size_t size) {
  DWORD length = (DWORD)size;
  return GetComputerNameA(out, &length);
}

int halo_os_cores(void) {
  DWORD cores = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
  return cores > 0 ? (int)cores : 1;
}

static uint64_t process_ticks(FILETIME time) {
  return (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

double halo_os_process_age(void) {
  static const double tick = 1e-7; /* seconds */
  FILETIME start, end, kernel, user, now;
  GetProcessTimes(GetCurrentProcess(), &start, &end, &kernel, &user);
  GetSystemTimeAsFileTime(&now);
  return (double)(int64_t)(process_ticks(now) - process_ticks(start)) * tick;
}

void halo_os_at_end(void (*run)(void)) { (void)run; }

void halo_os_at_fork(void (*run)(void)) { (void)run; }

void halo_os_set_missing_variable(const char *name, const char *value) {
  if (!getenv(name)) _putenv_s(name, value);
}

void *halo_os_alloc_aligned(size_t alignment, size_t size) {
  return _aligned_malloc(size, alignment);
}

void halo_os_free_aligned(void *memory) { _aligned_free(memory); }

void halo_os_zero(void *memory, size_t size) { memset(memory, 0, size); }

/* ---- Programs ---- */

bool halo_os_program_path(char *out, size_t size) {
  DWORD length = GetModuleFileNameA(NULL, out, (DWORD)size);
  for (char *at = out; length > 0 && length < size && *at; at++) {
    if (*at == '\\') *at = '/';
  }
  return length > 0 && length < size;
}

void halo_os_keep_on_closed_pipes(void) {}

int halo_os_run(const char *const *arguments, const char *input) {
  char command[4096];
  size_t length = 0;
  for (int i = 0; arguments[i] && length < sizeof command; i++) {
    length += (size_t)snprintf(command + length, sizeof command - length, "%s\"%s\"", i ? " " : "",
                               arguments[i]);
  }
  if (length >= sizeof command) return -1;
  FILE *file = _popen(command, "w");
  if (!file) return -1;
  fputs(input, file);
  int code = _pclose(file);
  return code == 1 || code == 9009 ? 127
                                   : code; /* what cmd.exe says of programs that it does not find */
}
