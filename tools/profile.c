/* SPDX-License-Identifier: Apache-2.0 */
/* tools/profile.c: the tables of `halo run --profile`. */
#include "profile.h"

#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { PROFILE_ROWS = 40, PROFILE_NAME = 44 };

static int profile_by_time(const void *a, const void *b) {
  const halo_profile_row *x = *(const halo_profile_row *const *)a;
  const halo_profile_row *y = *(const halo_profile_row *const *)b;
  return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

/* "12.3", or "-" when there is nothing to tell. */
static const char *profile_rate(char *text, size_t size, int64_t one_run,
                                const halo_profile_row *row) {
  double rate = row->seconds > 0 ? 1e-9 * (double)one_run * (double)row->runs / row->seconds : 0;
  if (one_run > 0 && row->seconds > 0) {
    snprintf(text, size, "%.*f", rate < 9.995 ? 2 : rate < 99.95 ? 1 : 0, rate);
  } else {
    snprintf(text, size, "-");
  }
  return text;
}

static void profile_print_row(const halo_profile_row *row, double total, int name_width,
                              int kind_width) {
  char name[PROFILE_NAME + 1], bytes[32], flops[32];
  size_t length = strlen(row->name);
  if (length > PROFILE_NAME) {
    snprintf(name, sizeof name, "%.*s...", PROFILE_NAME - 3, row->name);
  } else {
    snprintf(name, sizeof name, "%s", row->name);
  }
  printf("  %-*s  %-*s %7llu %10s %9s %6.1f%% %8s %8s\n", name_width, name, kind_width, row->kind,
         (unsigned long long)row->runs, tool_seconds(row->seconds),
         tool_seconds(row->runs ? row->seconds / (double)row->runs : 0),
         total > 0 ? 100 * row->seconds / total : 0,
         profile_rate(bytes, sizeof bytes, row->bytes, row),
         profile_rate(flops, sizeof flops, row->flops, row));
}

bool profile_print_steps(halo_executable *executable) {
  const halo_profile_row *rows;
  int count;
  if (!tool_check(halo_executable_profile(executable, &rows, &count))) return false;
  const halo_profile_row **sorted = tool_alloc(sizeof *sorted * (size_t)count);
  double total = 0, rest = 0;
  int name_width = 4, kind_width = 4;
  for (int i = 0; i < count; i++) {
    sorted[i] = &rows[i];
    total += rows[i].seconds;
    int length = (int)strlen(rows[i].name);
    if (length > name_width) name_width = length < PROFILE_NAME ? length : PROFILE_NAME;
    if ((int)strlen(rows[i].kind) > kind_width) kind_width = (int)strlen(rows[i].kind);
  }
  qsort(sorted, (size_t)count, sizeof *sorted, profile_by_time);
  printf("Profile: %s on the device in %d step%s, over all runs\n", tool_seconds(total), count,
         count == 1 ? "" : "s");
  if (count > 0) {
    printf("  %-*s  %-*s %7s %10s %9s %7s %8s %8s\n", name_width, "step", kind_width, "kind",
           "runs", "time", "each", "share", "GB/s", "GFLOP/s");
  }
  for (int i = 0; i < count; i++) {
    if (i < PROFILE_ROWS) {
      profile_print_row(sorted[i], total, name_width, kind_width);
    } else {
      rest += sorted[i]->seconds;
    }
  }
  if (count > PROFILE_ROWS) {
    printf("  and %d more step%s: %s, %.1f%%\n", count - PROFILE_ROWS,
           count - PROFILE_ROWS == 1 ? "" : "s", tool_seconds(rest),
           total > 0 ? 100 * rest / total : 0);
  }
  free(sorted);
  return true;
}

/* ---- The host ---- */

bool profile_take_mark(halo_executable *executable, profile_mark *out) {
  const halo_profile_row *rows;
  int count;
  *out = (profile_mark){0};
  if (!tool_check(halo_executable_profile(executable, &rows, &count))) return false;
  for (int i = 0; i < count; i++) out->device += rows[i].seconds;
  return tool_check(halo_executable_profile_host(executable, out->host));
}

static void profile_print_part(const char *name, double seconds, double wall, uint64_t count) {
  printf("  %-12s %10s %6.1f%%", name, tool_seconds(seconds), wall > 0 ? 100 * seconds / wall : 0);
  if (count > 0) {
    printf(" %11s %9s", tool_count((int64_t)count), tool_seconds(seconds / (double)count));
  }
  putchar('\n');
}

bool profile_print_wall(halo_executable *executable, const profile_mark *since, double wall,
                        int64_t runs) {
  profile_mark now;
  if (!profile_take_mark(executable, &now)) return false;
  printf("Wall time: %s in %s run%s%s\n", tool_seconds(wall), tool_count(runs),
         runs == 1 ? "" : "s", since->device > 0 ? " behind the first" : "");
  printf("  %-12s %10s %7s %11s %9s\n", "", "time", "share", "count", "each");
  profile_print_part("device busy", now.device - since->device, wall, 0);
  for (int i = 0; i < HALO_PROFILE_HOST_ROWS; i++) {
    uint64_t count = now.host[i].count - since->host[i].count;
    double seconds = now.host[i].seconds - since->host[i].seconds;
    if (count > 0) profile_print_part(now.host[i].work, seconds, wall, count);
  }
  return true;
}
