/* SPDX-License-Identifier: Apache-2.0 */
/* choices_measure.c: a program as compiling chooses, and as it is with one implementation forced, in turns. */
#include "bench/choices.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

/* Steps are timed one by one, so none may be part of a region or a bundle. */
#define MEASURE_APART "region:steps,bundle:steps"

/* A compiled program whose steps are timed. */
typedef struct measure_side {
  bench_program program;
  int *steps;       /* of each row of its profile, the step that it belongs to; -1: none */
  double *before;   /* of each row, the seconds before the turn at hand */
  double **samples; /* of each step, its seconds in one run, by turns */
  int turns;
} measure_side;

/* Rounds of measuring take at least this long, and no more runs than this. */
static const double MEASURE_ROUND = 0.01;
enum { MEASURE_MOST = 50, MEASURE_AGAIN = 3 /* times as many rounds where a step looks slow */ };

static void measure_fail(choices_program *program) {
  const char *why = halo_error_message();
  snprintf(program->failure, sizeof program->failure, "%.*s", (int)strcspn(why, "\n"),
           *why ? why : "the recipes do not fit");
}

static int measure_runs(double seconds) {
  if (seconds * MEASURE_MOST <= MEASURE_ROUND) return MEASURE_MOST;
  return seconds >= MEASURE_ROUND ? 1 : (int)(MEASURE_ROUND / seconds);
}

/* ---- One side ---- */

static halo_status measure_open(const choices_clients *clients, const char *path,
                                const char *kernels, measure_side *side) {
  double seconds;
  *side = (measure_side){0};
  halo_status status = bench_program_open(clients->profiling, path, kernels, &side->program);
  if (status == HALO_OK) status = bench_program_run(&side->program, 1, BENCH_WAITED, &seconds);
  return status;
}

/* Makes room for samples of all steps, and finds which step each row of the profile is part of: rows are named after the
 * fusion and what they do of it. */
static halo_status measure_prepare(const choices_clients *clients, const choices_program *program,
                                   measure_side *side) {
  const halo_profile_row *rows;
  int count;
  halo_status status = halo_executable_profile(side->program.executable, &rows, &count);
  if (status != HALO_OK) return status;
  side->steps = tool_alloc(sizeof *side->steps * (size_t)(count + 1));
  side->before = tool_alloc(sizeof *side->before * (size_t)(count + 1));
  for (int i = 0; i < count; i++) {
    side->steps[i] = choices_find_step(program, rows[i].name, strcspn(rows[i].name, " "));
    side->before[i] = rows[i].seconds;
  }
  size_t turns = (size_t)clients->rounds * MEASURE_AGAIN;
  side->samples = tool_alloc(sizeof *side->samples * (size_t)(program->step_count + 1));
  for (int i = 0; i < program->step_count; i++) {
    side->samples[i] = tool_alloc(sizeof **side->samples * turns);
  }
  return HALO_OK;
}

static void measure_close(measure_side *side, const choices_program *program) {
  for (int i = 0; side->samples != NULL && i < program->step_count; i++) free(side->samples[i]);
  free(side->samples);
  free(side->steps);
  free(side->before);
  bench_program_close(&side->program);
  *side = (measure_side){0};
}

/* One more sample for each step. */
static halo_status measure_turn(const choices_program *program, measure_side *side, int runs,
                                double *seconds) {
  const halo_profile_row *rows;
  int count;
  halo_status status = bench_program_run(&side->program, runs, BENCH_WAITED, seconds);
  if (status == HALO_OK) {
    status = halo_executable_profile(side->program.executable, &rows, &count);
  }
  if (status != HALO_OK) return status;
  for (int i = 0; i < program->step_count; i++) side->samples[i][side->turns] = 0;
  for (int i = 0; i < count; i++) {
    int step = side->steps[i];
    if (step >= 0) side->samples[step][side->turns] += (rows[i].seconds - side->before[i]) / runs;
    side->before[i] = rows[i].seconds;
  }
  side->turns++;
  return HALO_OK;
}

/* Seconds of one execution of a step. Sorts its samples. */
static double measure_median(const choices_program *program, measure_side *side, int step) {
  uint64_t runs = program->steps[step].runs;
  return runs > 0 ? bench_median(side->samples[step], side->turns) / (double)runs : 0;
}

/* ---- As chosen ---- */

/* How often one run executes each step, after one run: as often as the kernel of it that is launched most. */
static halo_status measure_count_runs(const measure_side *side, choices_program *program) {
  const halo_profile_row *rows;
  int count;
  halo_status status = halo_executable_profile(side->program.executable, &rows, &count);
  for (int i = 0; i < count && status == HALO_OK; i++) {
    if (side->steps[i] < 0) continue;
    choices_step *step = &program->steps[side->steps[i]];
    if (rows[i].runs > step->runs) step->runs = rows[i].runs;
  }
  return status;
}

/* Leaves the side open, for turns with others. `*runs` of the program make a turn. */
static halo_status measure_chosen(const choices_clients *clients, const char *path,
                                  choices_program *program, measure_side *side, int *runs) {
  double seconds = 0;
  halo_status status = measure_open(clients, path, MEASURE_APART, side);
  if (status != HALO_OK) return status;
  choices_read_steps(halo_executable_report(side->program.executable, HALO_REPORT_EXPLAIN),
                     program);
  status = measure_prepare(clients, program, side);
  if (status == HALO_OK) status = measure_count_runs(side, program);
  if (status == HALO_OK) status = measure_turn(program, side, 1, &seconds);
  side->turns = 0;
  *runs = measure_runs(seconds);
  for (int i = 0; i < clients->rounds && status == HALO_OK; i++) {
    status = measure_turn(program, side, *runs, &seconds);
  }
  for (int i = 0; i < program->step_count && status == HALO_OK; i++) {
    program->steps[i].seconds = measure_median(program, side, i);
  }
  return status;
}

/* ---- One implementation forced ---- */

/* Notes for each step that got `name` what it took. Whether one of them says that the chosen one is slow. */
static bool measure_note(choices_program *program, const char *name, measure_side *chosen,
                         measure_side *forced, const bool *got) {
  bool slow = false;
  for (int i = 0; i < program->step_count; i++) {
    if (!got[i]) continue;
    choices_step *step = &program->steps[i];
    choices_entry *entry = &step->entries[choices_find_entry(step, name)];
    entry->seconds = measure_median(program, forced, i);
    entry->reference = measure_median(program, chosen, i);
    slow |= entry->seconds > 0 && entry->reference > CHOICES_SLOW * entry->seconds;
  }
  return slow;
}

/* Which steps the forced program does by `name`, while the chosen one does them otherwise. False: none. */
static bool measure_find_forced(const choices_program *program, const measure_side *forced,
                                const char *name, bool *got) {
  choices_program other = {0};
  bool any = false;
  choices_read_steps(halo_executable_report(forced->program.executable, HALO_REPORT_EXPLAIN),
                     &other);
  for (int i = 0; i < program->step_count; i++) {
    const choices_step *step = &program->steps[i];
    int at = choices_find_step(&other, step->name, strlen(step->name));
    int entry = choices_find_entry(step, name);
    const choices_step *found = at >= 0 ? &other.steps[at] : NULL;
    got[i] = found && step->runs > 0 && entry >= 0 && entry != step->chosen &&
             strcmp(found->entries[found->chosen].name, name) == 0;
    any |= got[i];
  }
  choices_release(&other);
  return any;
}

/* Chosen and forced in turns. Steps of which the forced one looks much faster get more of them. */
static halo_status measure_turns(const choices_clients *clients, choices_program *program,
                                 const char *name, measure_side *chosen, measure_side *forced,
                                 const bool *got, int runs) {
  double seconds;
  halo_status status = measure_turn(program, forced, 1, &seconds);
  chosen->turns = forced->turns = 0;
  int rounds = clients->rounds, forced_runs = measure_runs(seconds);
  for (int i = 0; i < rounds && status == HALO_OK; i++) {
    status = measure_turn(program, forced, forced_runs, &seconds);
    if (status == HALO_OK) status = measure_turn(program, chosen, runs, &seconds);
    bool last = i + 1 == rounds && status == HALO_OK;
    if (last && measure_note(program, name, chosen, forced, got) && rounds == clients->rounds) {
      rounds *= MEASURE_AGAIN;
    }
  }
  return status;
}

static halo_status measure_forced(const choices_clients *clients, const char *path,
                                  choices_program *program, const char *name, measure_side *chosen,
                                  int runs) {
  char *list = tool_printf(MEASURE_APART ",%s", name);
  bool *got = tool_alloc(sizeof *got * (size_t)(program->step_count + 1));
  measure_side forced;
  halo_status status = measure_open(clients, path, list, &forced);
  if (status == HALO_OK && measure_find_forced(program, &forced, name, got)) {
    status = measure_prepare(clients, program, &forced);
    if (status == HALO_OK) {
      status = measure_turns(clients, program, name, chosen, &forced, got, runs);
    }
  }
  measure_close(&forced, program);
  free(got);
  free(list);
  return status;
}

/* What one run takes where all steps that can are done by `name`, by their prices; 0: no step is. */
static double measure_price(const choices_program *program, const char *name) {
  double seconds = 0;
  for (int i = 0; i < program->step_count; i++) {
    const choices_step *step = &program->steps[i];
    int entry = choices_find_entry(step, name);
    if (entry >= 0 && entry != step->chosen) {
      seconds += step->entries[entry].price * (double)step->runs;
    }
  }
  return seconds;
}

/* What the chosen implementations took, over all turns with others, and the program's sum of it. */
static void measure_sum(choices_program *program) {
  for (int i = 0; i < program->step_count; i++) {
    choices_step *step = &program->steps[i];
    double sum = 0;
    int count = 0;
    for (int e = 0; e < step->entry_count; e++) {
      sum += step->entries[e].reference;
      count += step->entries[e].reference > 0;
    }
    if (count > 0) step->seconds = sum / count;
    program->seconds += step->seconds * (double)step->runs;
  }
}

/* Each implementation that some step could have, once. One that fails does not keep others from being measured. */
static void measure_steps(const choices_clients *clients, const char *path,
                          choices_program *program, measure_side *chosen, int runs) {
  char **done = NULL;
  int count = 0;
  for (int i = 0; i < program->step_count; i++) {
    for (int e = 0; e < program->steps[i].entry_count; e++) {
      const char *name = program->steps[i].entries[e].name;
      bool seen = e == program->steps[i].chosen;
      for (int k = 0; k < count && !seen; k++) seen = strcmp(done[k], name) == 0;
      if (seen) continue;
      done = tool_realloc(done, sizeof *done * (size_t)(count + 1));
      done[count++] = tool_strdup(name);
      double price = measure_price(program, name);
      if (price <= 0 || price > clients->limit) continue;
      halo_status status = measure_forced(clients, path, program, name, chosen, runs);
      if (status == HALO_OK) continue;
      fprintf(stderr, "halo: %s, %s forced: %s\n", program->name, name, halo_error_message());
    }
  }
  for (int k = 0; k < count; k++) free(done[k]);
  free(done);
  measure_sum(program);
}

/* ---- The whole program, with regions and bundles and without ---- */

/* Both in turns, each first in every other one, and more turns where the chosen one looks slow. */
static halo_status measure_whole_turns(const choices_clients *clients, bench_program *chosen,
                                       bench_program *forced, choices_entry *entry) {
  bench_program *sides[2] = {chosen, forced};
  int rounds = clients->rounds, most = rounds * MEASURE_AGAIN;
  double seconds = 0, *samples[2] = {tool_alloc(sizeof(double) * (size_t)most),
                                     tool_alloc(sizeof(double) * (size_t)most)};
  halo_status status = HALO_OK;
  for (int i = 0; i < 2 && status == HALO_OK; i++) {
    status = bench_program_run(forced, 1, BENCH_WAITED, &seconds);
  }
  int runs = measure_runs(seconds);
  for (int i = 0; i < rounds && status == HALO_OK; i++) {
    for (int k = 0; k < 2 && status == HALO_OK; k++) {
      int side = (i + k) % 2;
      status = bench_program_run(sides[side], runs, BENCH_WAITED, &samples[side][i]);
    }
    if (i + 1 < rounds || status != HALO_OK) continue;
    entry->reference = bench_median(samples[0], rounds);
    entry->seconds = bench_median(samples[1], rounds);
    if (entry->reference > CHOICES_SLOW * entry->seconds) rounds = most;
  }
  free(samples[0]);
  free(samples[1]);
  return status;
}

/* Notes the program's time with `name` forced beside that as chosen, where it makes another plan. */
static halo_status measure_whole_entry(const choices_clients *clients, const char *path,
                                       bench_program *chosen, const char *name,
                                       choices_step *whole) {
  bench_program forced;
  choices_entry entry = {0};
  halo_status status = bench_program_open(clients->plain, path, name, &forced);
  if (status != HALO_OK) return status;
  const char *plan = halo_executable_report(chosen->executable, HALO_REPORT_PLAN);
  if (strcmp(plan, halo_executable_report(forced.executable, HALO_REPORT_PLAN)) != 0) {
    status = measure_whole_turns(clients, chosen, &forced, &entry);
    snprintf(entry.name, sizeof entry.name, "%s", name);
    whole->entries[whole->entry_count++] = entry;
    whole->seconds = entry.reference;
  }
  bench_program_close(&forced);
  return status;
}

static halo_status measure_whole(const choices_clients *clients, const char *path,
                                 choices_program *program) {
  static const char *const names[] = {"region:kernel", "region:steps", "bundle:kernel",
                                      "bundle:steps"};
  choices_step *whole = &program->whole;
  bench_program chosen;
  *whole = (choices_step){.chosen = -1, .runs = 1};
  halo_status status = bench_program_open(clients->plain, path, NULL, &chosen);
  for (int i = 0; i < 3 && status == HALO_OK; i++) {
    status = bench_program_run(&chosen, 1, BENCH_WAITED, &whole->seconds);
  }
  for (size_t i = 0; i < sizeof names / sizeof *names && status == HALO_OK; i++) {
    status = measure_whole_entry(clients, path, &chosen, names[i], whole);
  }
  bench_program_close(&chosen);
  return status;
}

void choices_measure(const choices_clients *clients, const char *path, choices_program *program) {
  measure_side chosen;
  int runs = 1;
  halo_status status = measure_chosen(clients, path, program, &chosen, &runs);
  if (status == HALO_OK) measure_steps(clients, path, program, &chosen, runs);
  measure_close(&chosen, program);
  if (status == HALO_OK) status = measure_whole(clients, path, program);
  if (status != HALO_OK) measure_fail(program);
}
