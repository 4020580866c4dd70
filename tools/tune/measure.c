/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c: one case of `halo bench` with several tunings: whether its kernels differ, and which are faster. */
#include "tool.h"
#include "tune/tune.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a. */
static void measure_hash(const char *text, uint64_t *hash) {
  for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
    *hash = (*hash ^ *at) * 0x100000001b3;
  }
}

bool tune_plan(const tune_state *state, const bench_case *c, const char *values, uint64_t *out) {
  halo_module *module = NULL;
  halo_executable *executable = NULL;
  halo_device *device = halo_client_device(state->planner, 0);
  bool good = tool_check(halo_device_use_tuning(device, values)) &&
              tool_check(halo_module_read(c->text, strlen(c->text), c->name, NULL, &module)) &&
              halo_client_compile(state->planner, module, NULL, &executable) == HALO_OK;
  *out = 0xcbf29ce484222325;
  if (good) {
    measure_hash(halo_executable_report(executable, HALO_REPORT_SOURCE), out);
    measure_hash(halo_executable_report(executable, HALO_REPORT_PLAN), out);
  }
  halo_executable_release(executable);
  halo_module_release(module);
  return good;
}

static void measure_summarize(double *ratios, int count, tune_ratio *out) {
  out->median = bench_median(ratios, count); /* which sorts them */
  out->low = ratios[count / 4];
  out->up = ratios[count - 1 - count / 4];
}

/* One sample of each in turn, `rounds` times. */
static void measure_rounds(bench_subject **subjects, int count, int rounds, tune_ratio *out) {
  enum { MOST = 32, LEAST = 5 };
  const double sample = 0.02, most = 6; /* seconds of a sample, and of all rounds */
  double times[TUNE_VALUES][MOST], once[TUNE_VALUES], all = 0;
  int runs[TUNE_VALUES];
  for (int i = 0; i < count; i++) {
    halo_status status = HALO_OK;
    if (subjects[i] == NULL) continue;
    for (int warm = 0; warm < 2 && status == HALO_OK; warm++) {
      runs[i] = warm ? bench_subject_runs(once[i], sample / 4) : 1;
      status = bench_subject_sample(subjects[i], runs[i], &once[i]);
    }
    if (status != HALO_OK) snprintf(out[i].why, sizeof out[i].why, "%s", halo_error_message());
    runs[i] = bench_subject_runs(once[i], sample);
    all += runs[i] * once[i];
  }
  if (rounds > MOST) rounds = MOST;
  while (rounds > LEAST && rounds * all > most) rounds--;
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < count; i++) {
      int which = (i + round) % count; /* none always comes behind the same other one */
      if (subjects[which] == NULL || out[which].why[0] != '\0') continue;
      halo_status status = bench_subject_sample(subjects[which], runs[which], &times[which][round]);
      if (status != HALO_OK) {
        snprintf(out[which].why, sizeof out[which].why, "%s", halo_error_message());
      }
    }
  }
  for (int i = count - 1; i >= 0; i--) {
    if (subjects[i] == NULL || out[i].why[0] != '\0' || out[0].why[0] != '\0') continue;
    double ratios[MOST];
    for (int round = 0; round < rounds; round++) ratios[round] = times[0][round] / times[i][round];
    measure_summarize(ratios, rounds, &out[i]);
  }
}

void tune_compare(const tune_state *state, const bench_case *c, char *const *values, int count,
                  int rounds, tune_ratio *out) {
  bench_subject *subjects[TUNE_VALUES] = {0};
  halo_device *device = halo_client_device(state->runner.client, 0);
  for (int i = 0; i < count; i++) {
    out[i] = (tune_ratio){0};
    bench_row row = {0};
    if (halo_device_use_tuning(device, values[i]) != HALO_OK) {
      bench_row_fail(&row, BENCH_FAILED, NULL);
    } else {
      subjects[i] = bench_subject_open(&state->runner, c, NULL, &row);
    }
    if (subjects[i] == NULL) snprintf(out[i].why, sizeof out[i].why, "%s", row.reason);
  }
  if (subjects[0] != NULL) measure_rounds(subjects, count, rounds, out);
  for (int i = 0; i < count; i++) bench_subject_close(subjects[i]);
}
