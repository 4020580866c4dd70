/* SPDX-License-Identifier: Apache-2.0 */
/* programs_show.c: the table of `halo bench programs`, its geometric means, and its JSON. */
#include "base/json.h"
#include "bench/programs.h"
#include "tool.h"

#include <math.h>
#include <string.h>

void programs_print_heading(void) {
  printf("%-26s %10s %7s %10s %7s %8s %9s %9s %9s %9s %8s %8s %7s %8s\n", "program", "time",
         "spread", "XLA", "spread", "ratio", "client", "cold", "running", "XLA cold", "ratio",
         "ratio", "kernels", "launches");
}

/* "12.3 ms", or "-" when it was not measured. */
static const char *show_seconds(double seconds) {
  return seconds > 0 ? tool_seconds(seconds) : "-";
}

static const char *show_ratio(char *text, size_t size, double ours, double other) {
  if (ours > 0 && other > 0) {
    snprintf(text, size, "%.2f", ours / other);
  } else {
    snprintf(text, size, "-");
  }
  return text;
}

/* How far the rounds lie apart, of the median. */
static const char *show_spread(char *text, size_t size, const programs_time *time) {
  if (time->median > 0) {
    snprintf(text, size, "%.0f %%", 100 * (time->high - time->low) / time->median);
  } else {
    snprintf(text, size, "-");
  }
  return text;
}

void programs_print_row(const programs_row *row) {
  char ratio[24], cold[24], running[24], ours[24], xla[24];
  printf("%-26s ", row->name);
  if (row->failure[0] != '\0') {
    printf("%s\n", row->failure);
    return;
  }
  printf("%10s %7s ", show_seconds(row->ours.median), show_spread(ours, sizeof ours, &row->ours));
  printf("%10s %7s ", show_seconds(row->xla.median), show_spread(xla, sizeof xla, &row->xla));
  printf("%8s %9s %9s ", show_ratio(ratio, sizeof ratio, row->ours.median, row->xla.median),
         show_seconds(row->client), show_seconds(row->cold));
  printf("%9s %9s ", show_seconds(row->running), show_seconds(row->xla_cold));
  printf("%8s %8s %7d %8llu\n", show_ratio(cold, sizeof cold, row->cold, row->xla_cold),
         show_ratio(running, sizeof running, row->running, row->xla_cold), row->kernels,
         (unsigned long long)row->launches);
  fflush(stdout);
}

/* Which rows belong to a group. */
typedef struct show_group {
  const char *name;
  int loops;                /* 1: with, 0: without, -1: either */
  const char *field, *size; /* NULL: any */
} show_group;

static bool show_belongs(const show_group *group, const programs_row *row) {
  if (row->failure[0] != '\0') return false;
  if (group->loops >= 0 && group->loops != row->has_loop) return false;
  if (group->field && strcmp(group->field, row->field) != 0) return false;
  return !group->size || strcmp(group->size, row->size) == 0;
}

static void show_print_group(const show_group *group, const programs_row *rows, int count) {
  double runs = 0, colds = 0, runnings = 0;
  int with_xla = 0, with_cold = 0;
  for (int i = 0; i < count; i++) {
    const programs_row *row = &rows[i];
    if (!show_belongs(group, row)) continue;
    if (row->ours.median > 0 && row->xla.median > 0) {
      runs += log(row->ours.median / row->xla.median);
      with_xla++;
    }
    if (row->cold > 0 && row->xla_cold > 0) {
      colds += log(row->cold / row->xla_cold);
      runnings += log(row->running / row->xla_cold);
      with_cold++;
    }
  }
  if (with_xla + with_cold == 0) return;
  printf("%-26s %8d", group->name, with_xla > with_cold ? with_xla : with_cold);
  char run[24], cold[24], running[24];
  show_ratio(run, sizeof run, with_xla ? exp(runs / with_xla) : 0, 1);
  show_ratio(cold, sizeof cold, with_cold ? exp(colds / with_cold) : 0, 1);
  show_ratio(running, sizeof running, with_cold ? exp(runnings / with_cold) : 0, 1);
  printf(" %10s %10s %10s\n", run, cold, running);
}

void programs_print_groups(const programs_row *rows, int count) {
  const show_group groups[] = {{"all", -1, NULL, NULL},        {"without loops", 0, NULL, NULL},
                               {"with loops", 1, NULL, NULL},  {"small", -1, NULL, "small"},
                               {"medium", -1, NULL, "medium"}, {"large", -1, NULL, "large"}};
  printf("\n%-26s %8s %10s %10s %10s\n", "geometric means, to XLA", "programs", "run", "cold start",
         "running");
  for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
    show_print_group(&groups[g], rows, count);
  }
  for (int i = 0; i < count; i++) {
    bool seen = false;
    for (int k = 0; k < i && !seen; k++) seen = strcmp(rows[k].field, rows[i].field) == 0;
    const show_group group = {rows[i].field, -1, rows[i].field, NULL};
    if (!seen) show_print_group(&group, rows, count);
  }
}

static void show_write_time(halo_json_writer *json, const char *name, const programs_time *time) {
  char low[16], high[16];
  snprintf(low, sizeof low, "%s_low", name);
  snprintf(high, sizeof high, "%s_high", name);
  halo_json_number(json, name, time->median);
  halo_json_number(json, low, time->low);
  halo_json_number(json, high, time->high);
}

static void show_write_row(halo_json_writer *json, const programs_row *row) {
  halo_json_object(json, NULL);
  halo_json_text(json, "name", row->name);
  halo_json_text(json, "field", row->field);
  halo_json_text(json, "size", row->size);
  halo_json_bool(json, "loop", row->has_loop);
  show_write_time(json, "ours", &row->ours);
  show_write_time(json, "xla", &row->xla);
  halo_json_number(json, "client", row->client);
  halo_json_number(json, "cold", row->cold);
  halo_json_number(json, "running", row->running);
  halo_json_number(json, "xla_cold", row->xla_cold);
  halo_json_integer(json, "kernels", row->kernels);
  halo_json_integer(json, "launches", (int64_t)row->launches);
  halo_json_integer(json, "commands", (int64_t)row->commands);
  halo_json_bool(json, "failed", row->failure[0] != '\0');
  halo_json_close(json);
}

void programs_write_json(FILE *file, const programs_row *rows, int count) {
  halo_json_writer json = {.file = file};
  halo_json_array(&json, NULL);
  for (int i = 0; i < count; i++) show_write_row(&json, &rows[i]);
  halo_json_close(&json);
}
