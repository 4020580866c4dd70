/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: `halo bench report`: one page, which needs nothing beside it, from results in the JSON form. */
#include "bench/report.h"
#include "args.h"
#include "bench/record.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { REPORT_OUT = 1, REPORT_HELP };

static const tool_option report_options[] = {
    {REPORT_OUT, 'o', "output", "FILE", "the page (bench.html)"},
    {REPORT_HELP, 'h', "help", NULL, "this text"},
    {0},
};

/* JSON within a script element, which a "</" would end. */
static void report_write_json(FILE *file, const bench_record *record) {
  char *text = NULL;
  size_t size = 0;
  FILE *memory = open_memstream(&text, &size);
  if (memory == NULL) return;
  bench_record_write(memory, record);
  fclose(memory);
  for (const char *at = text; *at; at++) fputs(*at == '<' ? "\\u003c" : (char[2]){*at, 0}, file);
  free(text);
}

static bool report_write(const char *out, char **paths, int count) {
  bench_record *records = calloc((size_t)count + 1, sizeof *records);
  bool good = records != NULL;
  for (int i = 0; i < count && good; i++) good = bench_record_load(paths[i], &records[i]);
  FILE *file = good ? fopen(out, "w") : NULL;
  if (file != NULL) {
    fputs(bench_page_before, file);
    for (int i = 0; i < count; i++) {
      if (i) fputs(",\n", file);
      report_write_json(file, &records[i]);
    }
    fputs(bench_page_behind, file);
    good = !ferror(file);
    good = fclose(file) == 0 && good;
  }
  if (good && file == NULL) good = false;
  if (!good && file == NULL && records != NULL) tool_error("%s was not written", out);
  for (int i = 0; i < count && records != NULL; i++) bench_record_release(&records[i]);
  free(records);
  return good;
}

int bench_report(int argc, char **argv) {
  tool_args args = {
      .command = "bench report", .options = report_options, .argc = argc, .argv = argv, .next = 1};
  const char *value, *out = "bench.html";
  char **paths = tool_alloc(sizeof *paths * (size_t)argc);
  int count = 0, code = TOOL_OK;
  for (int id; code == TOOL_OK && (id = args_next(&args, &value)) != ARGS_END;) {
    switch (id) {
      case REPORT_OUT: out = value; break;
      case REPORT_HELP:
        puts(
            "Usage: halo bench report [OPTIONS] FILE.json ...\n\n"
            "Makes a page of results that 'halo bench --json' wrote, which works without a "
            "network:\n"
            "rooflines, bars, tables, and the history of what was measured several times.\n");
        args_print_options(stdout, report_options);
        free(paths);
        return TOOL_OK;
      case ARGS_OPERAND: paths[count++] = argv[args.next - 1]; break;
      default: code = TOOL_USAGE;
    }
  }
  if (code == TOOL_OK && count == 0) code = args_usage_error(&args, "there are no results");
  if (code == TOOL_OK && !report_write(out, paths, count)) code = TOOL_FAILED;
  free(paths);
  return code;
}
