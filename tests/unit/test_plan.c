/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_plan.c: plans and OpenCL C for devices that are not there. test_plan_memory.c has the memory of plans.
 *
 * tests/golden/plan/NAME.hlo begins with a line "// device: D" for tests/data/devices/D.caps; NAME.out
 * holds the reports of its executable, with the texts of cl_kernels/ cut out. With
 * HALO_UPDATE_GOLDEN=1 in the environment the .out files are written instead of compared. */
#include "base/memory.h"
#include "client/executable.h"
#include "kernels/template.h"
#include "run_test.h"
#include "suite.h"

#include <dirent.h>

#define GOLDEN_DIR HALO_TEST_DATA "/../golden/plan"
#define OPS_DIR HALO_TEST_DATA "/../ops/data"
#define DEVICE(name) "null:" HALO_TEST_DATA "/devices/" name ".caps"

static char *read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  halo_strbuf text = {0};
  char block[4096];
  size_t n;
  while ((n = fread(block, 1, sizeof block, file)) > 0) halo_strbuf_append_n(&text, block, n);
  fclose(file);
  return halo_strbuf_take(&text);
}

/* ---- Golden plans ---- */

/* How long the text of a template is where `source` begins with it, or 0; *group: the size of groups in front of its kernel, or
 * NULL. */
static size_t match_template(const char *source, const char *text, const char **group) {
  static const char sizes[] = "__attribute__((reqd_work_group_size(";
  static const char asked[] = "get_group_id(0)",
                    offset[] = "(get_group_id(0) + get_global_offset(0) / ";
  const char *at = source;
  *group = NULL;
  for (; *text; at++, text++) {
    if (!*group && strncmp(at, sizes, strlen(sizes)) == 0) {
      *group = at + strlen(sizes);
      at = strstr(at, ")))") + strlen("))) ");
    }
    /* Where a launch begins is added to the number of a group. */
    if (strncmp(text, asked, strlen(asked)) == 0 && strncmp(at, offset, strlen(offset)) == 0) {
      at = strchr(at + strlen(offset), ')') + 1;
      text += strlen(asked);
    }
    if (*at != *text) return 0;
  }
  return (size_t)(at - source);
}

/* The generated source, with a line for each whole template. */
static void append_source(halo_strbuf *out, const char *source) {
  while (*source) {
    size_t skip = 0;
    for (const halo_cl_file *file = halo_cl_files; file->name && !skip; file++) {
      if (!file->kernel) continue;
      halo_strbuf body = {0};
      halo_text_render(&body, file->text, strlen(file->text), HALO_FORM_KERNEL, NULL);
      const char *group;
      skip = match_template(source, halo_strbuf_text(&body), &group);
      if (skip && group) {
        halo_strbuf_printf(out, "[%s in groups of %.*s]\n", file->name, (int)strcspn(group, ")"),
                           group);
      } else if (skip) {
        halo_strbuf_printf(out, "[%s]\n", file->name);
      }
      halo_strbuf_deinit(&body);
    }
    if (!skip) {
      skip = strcspn(source, "\n");
      skip += source[skip] == '\n';
      halo_strbuf_append_n(out, source, skip);
    }
    source += skip;
  }
}

static halo_client *null_client(const char *text, const char *name) {
  static const char prefix[] = "// device: ";
  ck_assert_msg(strncmp(text, prefix, strlen(prefix)) == 0, "%s lacks its first line", name);
  text += strlen(prefix);
  const char *replicas = strstr(text, "replica_count=");
  int count = replicas ? atoi(strchr(replicas, '=') + 1) : 1;
  halo_strbuf devices = {0};
  for (int i = 0; i < count; i++) {
    halo_strbuf_printf(&devices, "%s" DEVICE("%.*s"), i ? "," : "", (int)strcspn(text, "\n"), text);
  }
  halo_client *client = run_client(halo_strbuf_text(&devices));
  halo_strbuf_deinit(&devices);
  return client;
}

static void check_golden(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", GOLDEN_DIR, name);
  char *text = read_text(path);
  ck_assert_msg(text != NULL, "cannot read %s", path);
  halo_client *client = null_client(text, name);
  /* Whether LAPACK is installed makes no difference. */
  const halo_compile_options options = {.kernels = "-lapack:host"};
  halo_executable *e;
  ck_ok(run_try_compile(client, text, &options, &e));
  halo_strbuf result = {0};
  halo_strbuf_append(&result, halo_executable_report(e, HALO_REPORT_EXPLAIN));
  halo_strbuf_printf(&result, "\n%s\n", halo_executable_report(e, HALO_REPORT_PLAN));
  append_source(&result, halo_executable_report(e, HALO_REPORT_SOURCE));
  halo_executable_release(e);
  halo_client_release(client);

  snprintf(path + strlen(path) - 3, 4, "out");
  if (getenv("HALO_UPDATE_GOLDEN")) {
    FILE *file = fopen(path, "wb");
    ck_assert_msg(file != NULL, "cannot write %s", path);
    fputs(halo_strbuf_text(&result), file);
    fclose(file);
  } else {
    char *expected = read_text(path);
    ck_assert_msg(expected != NULL, "cannot read %s", path);
    const char *got = halo_strbuf_text(&result);
    size_t at = 0, line = 0; /* where they part, and where that line begins */
    for (; got[at] && got[at] == expected[at]; at++) line = got[at] == '\n' ? at + 1 : line;
    ck_assert_msg(got[at] == expected[at],
                  "%s differs from %s (HALO_UPDATE_GOLDEN=1 to accept), first in the line:\n%.200s",
                  name, path, got + line);
    halo_free(expected);
  }
  halo_strbuf_deinit(&result);
  halo_free(text);
}

START_TEST(golden_plans) {
  DIR *folder = opendir(GOLDEN_DIR);
  ck_assert_ptr_nonnull(folder);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    size_t length = strlen(entry->d_name);
    if (length < 5 || strcmp(entry->d_name + length - 4, ".hlo") != 0) continue;
    check_golden(entry->d_name);
    count++;
  }
  closedir(folder);
  ck_assert_int_ge(count, 9);
}
END_TEST

/* ---- Facts of kernels ---- */

/* A plan that decides by facts is wrong where code has more than the facts say. */
static void check_facts(const halo_kernel *kernel, const char *about) {
  static const char written_out[] = "#pragma unroll";
  bool loops = strstr(kernel->text, "while (");
  for (const char *at = kernel->text; (at = strstr(at, "for (")) != NULL; at++) {
    const char *line = at;
    while (line > kernel->text && line[-1] != '\n') line--;
    const char *before = line > kernel->text ? line - 1 : line;
    while (before > kernel->text && before[-1] != '\n') before--;
    before += strspn(before, " ");
    loops |= strncmp(before, written_out, sizeof written_out - 1) != 0;
  }
  ck_assert_msg(!loops || kernel->facts.has_loops, "%s: there are loops in\n%.1500s", about,
                kernel->text);
}

/* No launch has larger groups than the device. */
static void check_groups(const halo_caps *caps, const halo_steps *steps, const char *about) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    size_t group = 1;
    for (uint32_t d = 0; step->kind == HALO_STEP_KERNEL && d < step->grid.dims; d++) {
      group *= step->grid.local[d];
      ck_assert_msg(step->grid.local[d] <= caps->max_items[d] &&
                        step->grid.global[d] % step->grid.local[d] == 0,
                    "%s: %s", about, step->label);
    }
    ck_assert_msg(group <= caps->max_work_group, "%s: %s in groups of %zu", about, step->label,
                  group);
    for (int32_t l = 0; l < step->list_count; l++) check_groups(caps, &step->lists[l], about);
  }
}

static int check_program(halo_client *client, const char *text, const char *about) {
  int kernels = 0;
  halo_module *module;
  if (halo_module_parse(text, strlen(text), "t", &module) != HALO_OK) return 0;
  halo_executable *e;
  if (halo_client_compile(client, module, NULL, &e) == HALO_OK) {
    const halo_plan *plan = halo_executable_plan(e);
    check_groups(&halo_executable_home(e)->cl->caps, &plan->steps, about);
    for (int32_t u = 0; u < plan->units.count; u++) {
      const halo_plan_unit *unit = &plan->units.data[u];
      for (int32_t k = 0; k < unit->kernel_count; k++, kernels++)
        check_facts(unit->kernels[k], about);
    }
    halo_executable_release(e);
  }
  halo_module_release(module);
  return kernels;
}

/* Of all recorded operations, on a CPU and a GPU. */
START_TEST(facts_are_complete) {
  static const char *const devices[] = {DEVICE("cpu-two-cores"), DEVICE("amd-wave64"),
                                        DEVICE("groups-64"), DEVICE("groups-128")};
  halo_client *client = run_client(devices[_i]);
  DIR *folder = opendir(OPS_DIR);
  ck_assert_ptr_nonnull(folder);
  int kernels = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char path[1024];
    size_t length = strlen(entry->d_name);
    if (length < 5 || strcmp(entry->d_name + length - 4, ".hlo") != 0) continue;
    snprintf(path, sizeof path, "%s/%s", OPS_DIR, entry->d_name);
    char *text = read_text(path);
    ck_assert_ptr_nonnull(text);
    for (char *at = text, *end; (at = strstr(at, "HloModule")); at = end) {
      end = strstr(at, "\n//! ");
      if (end) *end++ = '\0';
      kernels += check_program(client, at, entry->d_name);
      if (!end) break;
    }
    halo_free(text);
  }
  closedir(folder);
  ck_assert_int_gt(kernels, 1000);
  halo_client_release(client);
}
END_TEST

START_TEST(no_f64) {
  static const char text[] =
      "HloModule wide\nENTRY e {\n  x = f32[4] parameter(0)\n"
      "  w = f64[4] convert(x)\n  s = f64[4] sine(w)\n"
      "  ROOT r = f32[4] convert(s)\n}\n";
  halo_client *client = run_client(DEVICE("mobile-no-f64"));
  halo_executable *e = (void *)&client;
  for (int way = 0; way < 3; way++) {
    const halo_compile_options options = {.no_fusion = way == 1, .no_optimization = way == 2};
    ck_fails(run_try_compile(client, text, &options, &e), HALO_UNIMPLEMENTED,
             "mobile-no-f64 has no 64-bit floats (cl_khr_fp64)");
    ck_message_has("f64");
    ck_message_has("compiling wide");
    ck_assert_ptr_null(e);
  }
  halo_client_release(client);
  client = run_client(DEVICE("amd-wave64"));
  e = run_compile(client, text);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* A plan can be made and read without a device, and not run. */
/* What a step does is counted as far as 64 bits go. */
START_TEST(counts_do_not_wrap) {
  static const char text[] =
      "HloModule huge\nENTRY e {\n  x = s8[4611686018427387904] parameter(0)\n"
      "  a = f32[1048576,1073741824] parameter(1)\n  b = f32[1073741824,1048576] parameter(2)\n"
      "  y = s8[4611686018427387904] parameter(3)\n  n = s8[4611686018427387904] not(x)\n"
      "  d = f32[1048576,1048576] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  ROOT r = (s8[4611686018427387904], f32[1048576,1048576]) tuple(n, d)\n}\n";
  halo_client *client = run_client(DEVICE("amd-wave64"));
  halo_executable *e = run_compile(client, text);
  const halo_steps *steps = &halo_executable_plan(e)->steps;
  int64_t bytes = 0, flops = 0;
  for (int32_t i = 0; i < steps->count; i++) {
    ck_assert_int_gt(steps->data[i].bytes, 0);
    if (steps->data[i].bytes > bytes) bytes = steps->data[i].bytes;
    if (steps->data[i].flops != 0) flops = steps->data[i].flops;
  }
  ck_assert(bytes == INT64_MAX);
  ck_assert(flops == INT64_MAX);
  halo_executable_costs costs;
  halo_executable_get_costs(e, &costs);
  ck_assert(costs.arguments == INT64_MAX && costs.results >= 1ll << 62);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

START_TEST(null_device_runs_nothing) {
  halo_client *client = run_client(DEVICE("amd-wave64"));
  halo_executable *e =
      run_compile(client, "HloModule c\nENTRY e {\n  ROOT c = s32[] constant(5)\n}\n");
  halo_buffer *result = (void *)&client;
  ck_fails(halo_executable_execute(e, NULL, 0, NULL, &result), HALO_UNIMPLEMENTED, "running");
  ck_assert_ptr_null(result);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* ---- Regions and bundles as implementations ---- */

/* The report of what was chosen for the program of a golden plan, by a list of kernels. */
static char *explain_with(halo_client *client, const char *path, const char *kernels) {
  char *text = read_text(path);
  ck_assert_ptr_nonnull(text);
  halo_compile_options options = {.kernels = kernels};
  halo_executable *e;
  ck_ok(run_try_compile(client, text, &options, &e));
  halo_free(text);
  char *report = halo_strdup(halo_executable_report(e, HALO_REPORT_EXPLAIN));
  halo_executable_release(e);
  return report;
}

START_TEST(regions_and_bundles_compete) {
  static const struct {
    const char *path, *kernels;
    const char *has, *lacks; /* of the report */
  } cases[] = {
      {GOLDEN_DIR "/swap_loop.hlo", NULL, "-> region:kernel", "-> region:steps"},
      {GOLDEN_DIR "/swap_loop.hlo", "region:kernel", "us, forced by the list of kernels\n", NULL},
      {GOLDEN_DIR "/swap_loop.hlo", "-region:steps", "steps      excluded by", "-> region:steps"},
      {GOLDEN_DIR "/swap_loop.hlo", "-region:kernel", "", "-> region:"},
      {GOLDEN_DIR "/swap_loop.hlo", "region:steps", "", "-> region:"},
      {GOLDEN_DIR "/region.hlo", "-region:steps,reduce:row", "kernel     no", NULL},
      {GOLDEN_DIR "/dead_counter.hlo", NULL, "-> region:steps", "-> region:kernel"},
      {GOLDEN_DIR "/bundle.hlo", "region:steps", "-> bundle:kernel", "-> bundle:steps"},
      {GOLDEN_DIR "/bundle.hlo", "region:steps,bundle:steps", "loop", "-> bundle:"},
      {GOLDEN_DIR "/bundle.hlo", "region:steps,-bundle:kernel", "loop", "-> bundle:"},
      {GOLDEN_DIR "/bundle.hlo", "region:steps,-bundle:steps", "steps      excluded by", NULL}};
  halo_client *client = run_client(DEVICE("amd-wave64"));
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *report = explain_with(client, cases[i].path, cases[i].kernels);
    bool ok = strstr(report, cases[i].has) != NULL &&
              (!cases[i].lacks || !strstr(report, cases[i].lacks));
    ck_assert_msg(ok, "%s with %s:\n%s", cases[i].path, cases[i].kernels, report);
    halo_free(report);
  }
  halo_client_release(client);
}
END_TEST

/* ---- Code ---- */

/* Neighbours in a span of a row do not depend on each other, unless they keep arrays of their own: these are one place in memory for all of them. */
START_TEST(items_with_arrays_follow_each_other) {
  static const char common[] =
      "HloModule arrays\nadd { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, "
      "b) }\n"
      "keep { v = s32[] parameter(0) w = s32[4,2] broadcast(v), dimensions={} "
      "i = s32[4,2] iota(), iota_dimension=0 m = s32[4,2] multiply(i, w) z = s32[] constant(0) "
      "s = s32[4] reduce(m, z), dimensions={1}, to_apply=add three = s32[] constant(3) "
      "k = s32[] and(v, three) d = s32[1] dynamic-slice(s, k), dynamic_slice_sizes={1} "
      "ROOT r = s32[] reshape(d) }\n"
      "flip { v = s32[] parameter(0) three = s32[] constant(3) ROOT r = s32[] and(v, three) }\n";
  static const struct {
    const char *entry, *said; /* how the loop is said to be parallel */
  } entry = {
      "q = s32[512,256] parameter(0) z = s32[] constant(1) "
      "p = s32[512,260] pad(q, z), padding=0_0x2_2 "
      "ROOT o = s32[512,260] map(p), dimensions={0,1}, to_apply=%s",
      "H_INDEPENDENT(16)\n"};
  static const char *const functions[] = {"flip", "keep"};
  halo_client *client = run_client(DEVICE("cpu-two-cores"));
  for (int i = 0; i < 2; i++) {
    halo_strbuf text = {0};
    halo_strbuf_printf(&text, "%sENTRY e { ", common);
    halo_strbuf_printf(&text, entry.entry, functions[i]);
    halo_strbuf_append(&text, " }");
    halo_executable *e = run_compile(client, halo_strbuf_text(&text));
    const char *code = halo_executable_plan(e)->units.data[0].kernels[0]->text;
    ck_assert_int_eq(strstr(code, entry.said) != NULL, i == 0);
    halo_executable_release(e);
    halo_strbuf_deinit(&text);
  }
  halo_client_release(client);
}
END_TEST

/* Loops over items in a region: vectors of half a register leave no rounds over of rows of 40, and a row of 8 that is written over
 * needs no tests for overlaps. Those of 64 are left to the compiler. */
START_TEST(short_loops_in_regions) {
  static const struct {
    int elements;
    const char *said; /* before the loop */
  } cases[] = {{40, "H_SIDE_BY_SIDE(8) "}, {8, "H_SIDE_BY_SIDE(8) "}, {64, ""}};
  halo_client *client = run_client(DEVICE("cpu-two-cores"));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int n = cases[i].elements;
    halo_strbuf text = {0};
    halo_strbuf_printf(&text,
                       "HloModule m\nbody { t = (s32[], f32[%d]) parameter(0) "
                       "i = s32[] get-tuple-element(t), index=0 "
                       "x = f32[%d] get-tuple-element(t), index=1 one = s32[] constant(1) "
                       "j = s32[] add(i, one) y = f32[%d] sine(x) "
                       "ROOT r = (s32[], f32[%d]) tuple(j, y) }\n"
                       "more { t = (s32[], f32[%d]) parameter(0) "
                       "i = s32[] get-tuple-element(t), index=0 n = s32[] constant(30) "
                       "ROOT r = pred[] compare(i, n), direction=LT }\n"
                       "ENTRY e { x = f32[%d] parameter(0) z = s32[] constant(0) "
                       "s = (s32[], f32[%d]) tuple(z, x) "
                       "w = (s32[], f32[%d]) while(s), condition=more, body=body "
                       "ROOT r = f32[%d] get-tuple-element(w), index=1 }",
                       n, n, n, n, n, n, n, n, n);
    halo_executable *e = run_compile(client, halo_strbuf_text(&text));
    const char *source = halo_executable_report(e, HALO_REPORT_SOURCE);
    halo_strbuf loop = {0};
    halo_strbuf_printf(&loop, " %sfor (size_t x = 0; x < %d; x += 1) u0n0_", cases[i].said, n);
    ck_assert_msg(strstr(source, halo_strbuf_text(&loop)) != NULL, "%s is not in\n%s",
                  halo_strbuf_text(&loop), source);
    halo_strbuf_deinit(&loop);
    halo_executable_release(e);
    halo_strbuf_deinit(&text);
  }
  halo_client_release(client);
}
END_TEST

/* Rows that are only put together are written one after the other; batches of small products are vectors whatever their size. */
START_TEST(short_rows_and_vectors) {
  static const char stack[] =
      "HloModule m\nENTRY e { x = f32[3000,1] parameter(0) y = f32[3000,11] parameter(1) "
      "ROOT c = f32[3000,12] concatenate(y, x), dimensions={1} }";
  static const char products[] =
      "HloModule m\nENTRY e { x = f32[4000,3,3] parameter(0) y = f32[4000,3,3] parameter(1) "
      "ROOT c = f32[4000,3,3] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
      "lhs_contracting_dims={2}, rhs_contracting_dims={1} }";
  static const struct {
    const char *text, *said; /* before the loop over rows */
  } cases[] = {{stack, "  H_ROLLED\n  for (long "},
               {products, "  H_SIDE_BY_SIDE(16)\n  for (long "}};
  halo_client *client = run_client(DEVICE("cpu-two-cores"));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    halo_executable *e = run_compile(client, cases[i].text);
    const char *source = halo_executable_report(e, HALO_REPORT_SOURCE);
    ck_assert_msg(strstr(source, cases[i].said) != NULL, "%s", source);
    halo_executable_release(e);
  }
  halo_client_release(client);
}
END_TEST

/* What a chain of kernels takes in the caller's thread is less by what threads of the device would be woken for. */
START_TEST(chains_wake_nobody) {
  halo_client *client = run_client(DEVICE("cpu-two-cores"));
  double work[2];
  for (int i = 0; i < 2; i++) {
    halo_strbuf text = {0};
    halo_strbuf_append(&text, "HloModule chain\nENTRY e {\n  x0 = f32[256,256] parameter(0)\n");
    int products = i ? 3 : 1;
    for (int k = 1; k <= products; k++) {
      halo_strbuf_printf(&text,
                         "  %sx%d = f32[256,256] dot(x0, x%d), lhs_contracting_dims={1}, "
                         "rhs_contracting_dims={0}\n",
                         k == products ? "ROOT " : "", k, k - 1);
    }
    halo_strbuf_append(&text, "}\n");
    halo_executable *e = run_compile(client, halo_strbuf_text(&text));
    work[i] = halo_executable_plan(e)->work;
    halo_executable_release(e);
    halo_strbuf_deinit(&text);
  }
  ck_assert_double_gt(work[0], 0);
  ck_assert_double_lt(work[1], 3 * work[0] - 5e-5);
  halo_client_release(client);
}
END_TEST

/* A softmax is one kernel if the dispatcher expects that to take no longer than several: a few long rows are divided. */
START_TEST(rows_are_quoted) {
  static const struct {
    int rows, n;
    bool one;
  } cases[] = {{1, 1000, true}, {64, 4096, true}, {1000, 64, true}, {1, 4000000, false}};
  halo_client *client = run_client(DEVICE("cpu-two-cores"));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1500];
    int rows = cases[i].rows, n = cases[i].n;
    snprintf(
        text, sizeof text,
        "HloModule t\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT s = f32[] add(a, b)\n}\nENTRY e {\n  x = f32[%d,%d] parameter(0)\n"
        "  z = f32[] constant(0)\n  y = f32[%d,%d] exponential(x)\n"
        "  t = f32[%d] reduce(y, z), dimensions={1}, to_apply=add\n"
        "  u = f32[%d,%d] broadcast(t), dimensions={0}\n  ROOT r = f32[%d,%d] divide(y, u)\n}\n",
        rows, n, rows, n, rows, rows, n, rows, n);
    halo_executable *e = run_compile(client, text);
    const char *report = halo_executable_report(e, HALO_REPORT_EXPLAIN);
    bool one = strstr(report, "-> rows:") != NULL;
    ck_assert_msg(one == cases[i].one, "%d rows of %d:\n%s", rows, n, report);
    halo_executable_release(e);
  }
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("plan");
  TCase *golden = tcase_create("golden"), *code = tcase_create("code");
  tcase_add_test(golden, golden_plans);
  tcase_add_loop_test(golden, facts_are_complete, 0, 4);
  tcase_add_test(golden, no_f64);
  tcase_add_test(golden, counts_do_not_wrap);
  tcase_add_test(golden, null_device_runs_nothing);
  tcase_add_test(code, regions_and_bundles_compete);
  tcase_add_test(code, items_with_arrays_follow_each_other);
  tcase_add_test(code, short_loops_in_regions);
  tcase_add_test(code, short_rows_and_vectors);
  tcase_add_test(code, chains_wake_nobody);
  tcase_add_test(code, rows_are_quoted);
  TCase *cases[] = {golden, code};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tcase_set_timeout(cases[i], 120);
    suite_add_tcase(suite, cases[i]);
  }
  return suite_run(suite);
}
