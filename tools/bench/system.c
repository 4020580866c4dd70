/* SPDX-License-Identifier: Apache-2.0 */
/* system.c: the device and machine that a run is made on. */
#include "bench/system.h"
#include "bench/commit.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* The value behind the first line that begins with `key`, without quotes and the spaces around it. */
static void system_read(const char *path, const char *key, char *out, size_t size) {
  char line[512];
  FILE *file = fopen(path, "r");
  out[0] = '\0';
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, key, strlen(key)) != 0) continue;
    char *value = line + strlen(key);
    value += strspn(value, " \t:=\"");
    value[strcspn(value, "\"\n")] = '\0';
    snprintf(out, size, "%s", value);
    break;
  }
  if (file != NULL) fclose(file);
}

static int system_order(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* The smallest difference of two readings, and the median time that one takes. */
static void system_time_timer(bench_record *record) {
  enum { READINGS = 2001 };
  static double at[READINGS];
  for (int i = 0; i < READINGS; i++) at[i] = tool_now();
  double least = 1;
  for (int i = READINGS - 1; i > 0; i--) {
    at[i] -= at[i - 1];
    if (at[i] > 0 && at[i] < least) least = at[i];
  }
  double whole = 0;
  for (int i = 1; i < READINGS; i++) whole += at[i];
  qsort(at + 1, READINGS - 1, sizeof *at, system_order);
  record->timer_resolution = least;
  record->timer_overhead = at[READINGS / 2] > 0 ? at[READINGS / 2] : whole / (READINGS - 1);
}

void bench_system_describe(const halo_device *device, bench_record *record) {
  halo_device_info info;
  struct utsname name;
  char text[96];
  time_t now = time(NULL);
  halo_device_get_info(device, &info);
  halo_device_tuning tuning;
  halo_device_get_tuning(device, &tuning);
  memcpy(record->tuning, tuning.hash, sizeof record->tuning);
  snprintf(record->version, sizeof record->version, "%s", BENCH_VERSION);
  snprintf(record->commit, sizeof record->commit, "%s", BENCH_COMMIT);
  strftime(record->date, sizeof record->date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
  snprintf(record->device, sizeof record->device, "%s", info.product);
  snprintf(record->platform, sizeof record->platform, "%s", info.platform);
  snprintf(record->vendor, sizeof record->vendor, "%s", info.vendor);
  snprintf(record->driver, sizeof record->driver, "%s", info.driver);
  snprintf(record->device_version, sizeof record->device_version, "%s", info.version);
  snprintf(record->kind, sizeof record->kind, "%s", info.kind);
  record->memory = info.memory;
  record->compute_units = (int)info.compute_units;
  system_read("/etc/os-release", "PRETTY_NAME", text, sizeof text);
  if (uname(&name) == 0) {
    snprintf(record->os, sizeof record->os, "%.48s, %.16s %.28s", text[0] ? text : "unknown",
             name.sysname, name.release);
  }
  system_read("/proc/cpuinfo", "model name", record->processor, sizeof record->processor);
  system_read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", record->governor,
              sizeof record->governor);
  double load;
  if (getloadavg(&load, 1) == 1) record->load = load;
  system_time_timer(record);
}
