/* SPDX-License-Identifier: Apache-2.0 */
/* choices_steps.c: the steps of a program and the implementations that can do them, from its report. */
#include "bench/choices.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

int choices_find_step(const choices_program *program, const char *name, size_t length) {
  for (int i = 0; i < program->step_count; i++) {
    const char *step = program->steps[i].name;
    if (strlen(step) == length && memcmp(step, name, length) == 0) return i;
  }
  return -1;
}

int choices_find_entry(const choices_step *step, const char *name) {
  for (int i = 0; i < step->entry_count; i++) {
    if (strcmp(step->entries[i].name, name) == 0) return i;
  }
  return -1;
}

/* "NAME: FAMILY", where what can do the step follows. */
static choices_step *steps_begin(choices_program *program, const char *line, size_t length,
                                 char family[24]) {
  const char *colon = memchr(line, ':', length);
  if (colon == NULL || sscanf(colon, ": %23s", family) != 1) return NULL;
  if (choices_find_step(program, line, (size_t)(colon - line)) >= 0) return NULL;
  size_t size = sizeof *program->steps * (size_t)(program->step_count + 1);
  program->steps = tool_realloc(program->steps, size);
  choices_step *step = &program->steps[program->step_count++];
  *step = (choices_step){.chosen = -1};
  step->name = tool_printf("%.*s", (int)(colon - line), line);
  return step;
}

/* "    IMPLEMENTATION PRICE us", or why it cannot, or "    -> FAMILY:IMPLEMENTATION". */
static void steps_take(choices_step *step, const char *family, const char *line) {
  char name[24];
  double price;
  if (sscanf(line, " -> %39s", step->entries[step->entry_count].name) == 1) {
    step->chosen = choices_find_entry(step, step->entries[step->entry_count].name);
  } else if (sscanf(line, " %23s %lf us", name, &price) == 2 &&
             step->entry_count < CHOICES_ENTRIES - 1) {
    choices_entry *entry = &step->entries[step->entry_count++];
    *entry = (choices_entry){.price = price * 1e-6};
    snprintf(entry->name, sizeof entry->name, "%.15s:%.23s", family, name);
  }
}

void choices_read_steps(const char *report, choices_program *program) {
  char family[24];
  choices_step *step = NULL;
  while (*report != '\0') {
    size_t length = strcspn(report, "\n");
    if (*report != ' ') {
      step = steps_begin(program, report, length, family);
    } else if (step != NULL) {
      char *line = tool_printf("%.*s", (int)length, report);
      steps_take(step, family, line);
      free(line);
    }
    report += length + (report[length] == '\n');
  }
  int kept = 0;
  for (int i = 0; i < program->step_count; i++) {
    if (program->steps[i].chosen < 0) {
      free(program->steps[i].name); /* a region or a bundle */
    } else {
      program->steps[kept++] = program->steps[i];
    }
  }
  program->step_count = kept;
}

void choices_release(choices_program *program) {
  for (int i = 0; i < program->step_count; i++) free(program->steps[i].name);
  free(program->steps);
  program->steps = NULL;
  program->step_count = 0;
}

int choices_fastest(const choices_step *step) {
  int best = -1;
  double most = 0;
  for (int i = 0; i < step->entry_count; i++) {
    const choices_entry *entry = &step->entries[i];
    if (i == step->chosen || entry->seconds <= 0) continue;
    double ratio = entry->reference / entry->seconds;
    if (best < 0 || ratio > most) {
      best = i;
      most = ratio;
    }
  }
  return best;
}

double choices_ratio(const choices_step *step) {
  int best = choices_fastest(step);
  if (best < 0) return 1;
  double ratio = step->entries[best].reference / step->entries[best].seconds;
  return ratio > 1 ? ratio : 1;
}

double choices_loss(const choices_program *program, const choices_step *step) {
  double ratio = choices_ratio(step);
  if (program->seconds <= 0) return 0;
  return step->seconds * (double)step->runs * (1 - 1 / ratio) / program->seconds;
}
