/* SPDX-License-Identifier: Apache-2.0 */
/* tools/bench/scale.c: `halo bench scale`: how long programs of many instructions take from text to
 * plan, by form and stage. Nothing runs, so the device need not exist. */
#include "args.h"
#include "bench/bench.h"
#include "bench/scale_forms.h"
#include "halo/passes.h"
#include "progress.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Seconds of each stage. */
typedef struct scale_times {
  double parse, print, verify, passes, plan;
  int steps;
} scale_times;

/* Of the processor, not of the clock on the wall: nothing here waits, and others may be at work. */
static double scale_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int scale_count_steps(halo_executable *executable) {
  int steps = 0;
  sscanf(strchr(halo_executable_report(executable, HALO_REPORT_PLAN), ':') + 1, "%d", &steps);
  return steps;
}

static bool scale_measure(halo_client *client, const char *text, size_t length, scale_times *t) {
  halo_module *module, *optimized;
  halo_executable *executable;
  char *printed;
  double start = scale_now();
  if (!tool_check(halo_module_parse(text, length, "scale", &module))) return false;
  t->parse = scale_now() - start;
  start = scale_now();
  bool good = tool_check(halo_module_verify(module));
  t->verify = scale_now() - start;
  start = scale_now();
  good = good && tool_check(halo_module_to_text(module, 0, &printed));
  t->print = scale_now() - start;
  if (good) halo_text_release(printed);
  start = scale_now();
  good = good && tool_check(halo_module_optimize(module, NULL, &optimized));
  t->passes = scale_now() - start;
  if (good) halo_module_release(optimized);
  start = scale_now();
  progress_start();
  halo_status status = good ? halo_client_compile(client, module, NULL, &executable) : HALO_OK;
  progress_stop();
  good = good && tool_check(status);
  /* Compiling verifies and optimizes once more. */
  t->plan = scale_now() - start - t->passes - t->verify;
  if (good) {
    t->steps = scale_count_steps(executable);
    halo_executable_release(executable);
  }
  halo_module_release(module);
  return good;
}

static int scale_run(const char *device, const char *only, int64_t count) {
  const halo_client_options options = {.device = device, .cache_dir = ""};
  halo_client *client;
  if (!tool_check(halo_client_create(&options, &client))) return TOOL_FAILED;
  int64_t counts[] = {count / 100, count / 10, count};
  printf("%-10s %12s %9s %9s %9s %9s %9s %9s %9s %7s\n", "form", "instructions", "text to plan",
         "parse", "verify", "passes", "plan", "growth", "(print)", "steps");
  bool good = true;
  const scale_form *form;
  for (int f = 0; (form = scale_form_at(f)) != NULL && good; f++) {
    if (only && strcmp(only, form->name) != 0) continue;
    double before = 0;
    for (int i = 0; i < 3 && good; i++) {
      if (counts[i] < 20) continue;
      size_t length;
      char *text = scale_form_text(form->name, (int)counts[i], &length);
      scale_times t = {0};
      good = text && scale_measure(client, text, length, &t);
      free(text);
      if (!good) break;
      double all = t.parse + t.passes + t.plan;
      char growth[16] = "";
      if (before > 0) snprintf(growth, sizeof growth, "%.1fx", all / before);
      printf("%-10s %12s %12s", form->name, tool_count(counts[i]), tool_seconds(all));
      printf(" %9s %9s", tool_seconds(t.parse), tool_seconds(t.verify));
      printf(" %9s %9s", tool_seconds(t.passes), tool_seconds(t.plan));
      printf(" %9s %9s %7d\n", growth, tool_seconds(t.print), t.steps);
      fflush(stdout);
      before = all;
    }
  }
  halo_client_release(client);
  return good ? TOOL_OK : TOOL_FAILED;
}

enum { SCALE_FORM = 1, SCALE_COUNT, SCALE_DEVICE, SCALE_TEXT, SCALE_HELP };

static const tool_option scale_options[] = {
    {SCALE_FORM, 0, "form", "NAME", "only this form"},
    {SCALE_COUNT, 'n', "count", "N",
     "instructions (100000); also measured are a tenth and a hundredth of it"},
    {SCALE_DEVICE, 'd', "device", "NAME", "plan for this device (a plain GPU that is not there)"},
    {SCALE_TEXT, 0, "text", NULL, "print the program of --form instead of measuring"},
    {SCALE_HELP, 'h', "help", NULL, "this text"},
    {0},
};

static void scale_help(void) {
  puts(
      "Usage: halo bench scale [OPTIONS]\n\n"
      "Measures how long programs of many instructions take from text to plan, which should grow\n"
      "with their size and no faster. The forms:\n");
  const scale_form *form;
  for (int f = 0; (form = scale_form_at(f)) != NULL; f++) {
    printf("  %-10s %s\n", form->name, form->description);
  }
  puts("");
  args_print_options(stdout, scale_options);
}

static int scale_print(const char *form, int64_t count) {
  size_t length;
  char *text = form ? scale_form_text(form, (int)count, &length) : NULL;
  if (!text) return tool_error("bench scale: there is no form '%s'", form ? form : "");
  fwrite(text, 1, length, stdout);
  free(text);
  return TOOL_OK;
}

int bench_scale(int argc, char **argv) {
  tool_args args = {
      .command = "bench scale", .options = scale_options, .argc = argc, .argv = argv, .next = 1};
  /* A file that says nothing describes a plain device. */
  const char *value, *form = NULL, *device = "null:/dev/null";
  int64_t count = 100000;
  bool text = false;
  for (int id; (id = args_next(&args, &value)) != ARGS_END;) {
    switch (id) {
      case SCALE_FORM: form = value; break;
      case SCALE_COUNT:
        if (!args_integer(&args, "count", value, 20, 10000000, &count)) return TOOL_USAGE;
        break;
      case SCALE_DEVICE: device = value; break;
      case SCALE_TEXT: text = true; break;
      case SCALE_HELP: scale_help(); return TOOL_OK;
      case ARGS_OPERAND: return args_usage_error(&args, "there is no use for '%s'", value);
      default: return TOOL_USAGE;
    }
  }
  return text ? scale_print(form, count) : scale_run(device, form, count);
}
