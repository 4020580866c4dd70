/* SPDX-License-Identifier: Apache-2.0 */
/* choices_show.c: the tables of `halo bench choices`, and its JSON. */
#include "base/json.h"
#include "bench/choices.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { SHOW_NAME = 36 };

static bool show_is_slow(const choices_step *step) { return choices_ratio(step) > CHOICES_SLOW; }

/* "panels" of "dot:panels". */
static const char *show_short(const char *name) {
  const char *colon = strchr(name, ':');
  return colon ? colon + 1 : name;
}

/* Longest first. */
static int show_by_time(const void *a, const void *b) {
  const choices_step *x = *(const choices_step *const *)a, *y = *(const choices_step *const *)b;
  double of_x = x->seconds * (double)x->runs, of_y = y->seconds * (double)y->runs;
  return (of_x < of_y) - (of_x > of_y);
}

/* Times of the others, and of each its ratio to the chosen one, which ran in the same turns. */
static void show_others(const choices_step *step, bool whole) {
  const char *comma = "";
  for (int i = 0; i < step->entry_count; i++) {
    const choices_entry *entry = &step->entries[i];
    if (i == step->chosen) continue;
    printf("%s%s ", comma, whole ? entry->name : show_short(entry->name));
    if (entry->seconds > 0) {
      printf("%s (%.2f)", tool_seconds(entry->seconds), entry->seconds / entry->reference);
    } else {
      printf("not timed");
    }
    comma = ", ";
  }
  puts("");
}

static void show_step(const choices_program *program, const choices_step *step) {
  char name[SHOW_NAME + 1], ratio[16] = "-", loss[16] = "";
  bool cut = strlen(step->name) > SHOW_NAME;
  snprintf(name, sizeof name, cut ? "%.33s..." : "%.36s", step->name);
  if (choices_fastest(step) >= 0) snprintf(ratio, sizeof ratio, "%.2f", choices_ratio(step));
  if (show_is_slow(step)) snprintf(loss, sizeof loss, "%.1f %%", 100 * choices_loss(program, step));
  printf("  %-*s %6llu  %-18s %9s %6s %-4s %7s  ", SHOW_NAME, name, (unsigned long long)step->runs,
         step->entries[step->chosen].name, tool_seconds(step->seconds), ratio,
         show_is_slow(step) ? "slow" : "", loss);
  show_others(step, false);
}

static void show_whole(const choices_step *whole) {
  char ratio[16];
  snprintf(ratio, sizeof ratio, "%.2f", choices_ratio(whole));
  printf("  %-*s %6d  %-18s %9s %6s %-4s %7s  ", SHOW_NAME, "(the whole run)", 1, "as planned",
         tool_seconds(whole->seconds), whole->entry_count > 0 ? ratio : "-",
         show_is_slow(whole) ? "slow" : "", "");
  show_others(whole, true);
}

/* `single` steps have one implementation only and are left out. */
static void show_table(const choices_program *program, const choices_step **steps, int count,
                       int single, bool with_whole) {
  printf("%s: %d step%s, %s on the device, %d with one implementation only\n", program->name,
         program->step_count, program->step_count == 1 ? "" : "s", tool_seconds(program->seconds),
         single);
  printf("  %-*s %6s  %-18s %9s %6s %-4s %7s  %s\n", SHOW_NAME, "step", "runs", "chosen", "each",
         "ratio", "", "lost", "others (their time by that of the chosen one, in turns)");
  for (int i = 0; i < count; i++) show_step(program, steps[i]);
  if (with_whole) show_whole(&program->whole);
  puts("");
  fflush(stdout);
}

void choices_print(const choices_program *program, bool slow_only) {
  if (program->failure[0] != '\0') {
    printf("%s: %s\n\n", program->name, program->failure);
    fflush(stdout);
    return;
  }
  const choices_step **sorted = tool_alloc(sizeof *sorted * (size_t)(program->step_count + 1));
  int shown = 0, single = 0;
  for (int i = 0; i < program->step_count; i++) {
    const choices_step *step = &program->steps[i];
    single += step->entry_count == 1;
    if (step->entry_count == 1 || step->runs == 0 || (slow_only && !show_is_slow(step))) continue;
    sorted[shown++] = step;
  }
  qsort(sorted, (size_t)shown, sizeof *sorted, show_by_time);
  bool with_whole = !slow_only || show_is_slow(&program->whole);
  if (shown > 0 || with_whole) show_table(program, sorted, shown, single, with_whole);
  free(sorted);
}

void choices_print_summary(const choices_program *programs, int count) {
  int steps = 0, slow = 0, heavy = 0, wholes = 0, slow_wholes = 0;
  for (int i = 0; i < count; i++) {
    for (int s = 0; s < programs[i].step_count; s++) {
      const choices_step *step = &programs[i].steps[s];
      steps += choices_fastest(step) >= 0;
      slow += show_is_slow(step);
      heavy += show_is_slow(step) && choices_loss(&programs[i], step) >= 0.01;
    }
    wholes += programs[i].whole.entry_count > 0;
    slow_wholes += show_is_slow(&programs[i].whole);
  }
  printf(
      "%d step%s with several implementations: %d slow, of which %d lose 1 %% of their program's "
      "time or more\n%d program%s with other regions or bundles: %d slow\n",
      steps, steps == 1 ? "" : "s", slow, heavy, wholes, wholes == 1 ? "" : "s", slow_wholes);
}

static void show_write_step(halo_json_writer *json, const char *key, const choices_program *program,
                            const choices_step *step) {
  halo_json_object(json, key);
  if (step->name) halo_json_text(json, "name", step->name);
  if (step->chosen >= 0) halo_json_text(json, "chosen", step->entries[step->chosen].name);
  halo_json_integer(json, "runs", (int64_t)step->runs);
  halo_json_number(json, "seconds", step->seconds);
  halo_json_number(json, "ratio", choices_ratio(step));
  if (step->name) halo_json_number(json, "lost", choices_loss(program, step));
  halo_json_bool(json, "slow", show_is_slow(step));
  halo_json_array(json, "implementations");
  for (int i = 0; i < step->entry_count; i++) {
    const choices_entry *entry = &step->entries[i];
    halo_json_object(json, NULL);
    halo_json_text(json, "name", entry->name);
    if (step->chosen >= 0) halo_json_number(json, "price", entry->price);
    if (entry->seconds > 0) {
      halo_json_number(json, "seconds", entry->seconds);
      halo_json_number(json, "chosen_seconds", entry->reference);
    }
    halo_json_close(json);
  }
  halo_json_close(json);
  halo_json_close(json);
}

void choices_write_json(FILE *file, const choices_program *programs, int count) {
  halo_json_writer json = {.file = file};
  halo_json_array(&json, NULL);
  for (int i = 0; i < count; i++) {
    const choices_program *program = &programs[i];
    halo_json_object(&json, NULL);
    halo_json_text(&json, "name", program->name);
    halo_json_bool(&json, "failed", program->failure[0] != '\0');
    halo_json_number(&json, "seconds", program->seconds);
    halo_json_array(&json, "steps");
    for (int s = 0; s < program->step_count; s++) {
      show_write_step(&json, NULL, program, &program->steps[s]);
    }
    halo_json_close(&json);
    if (program->failure[0] == '\0') show_write_step(&json, "whole", program, &program->whole);
    halo_json_close(&json);
  }
  halo_json_close(&json);
}
