/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fusion.c: what becomes one kernel and what does not: limits of kernels, order, prices
 * of devices, and how many kernels real programs need. */
#include "client/executable.h"
#include "passes/passes.h"
#include "run_test.h"
#include "suite.h"

#include <stdlib.h>

#define GPU "null:" HALO_TEST_DATA "/devices/amd-wave64.caps"
#define MOBILE "null:" HALO_TEST_DATA "/devices/mobile-no-f64.caps"

/* Kernels that a plan launches; loops' bodies count once. */
static int launches_of(halo_executable *e) {
  return run_count(halo_executable_report(e, HALO_REPORT_PLAN), ": kernel ");
}

static int most_arguments(const halo_steps *steps) {
  int most = 0;
  for (int32_t i = 0; i < steps->count; i++) {
    if (steps->data[i].arg_count > most) most = steps->data[i].arg_count;
  }
  return most;
}

/* Bytes of the arguments of the kernel that has most. */
static int most_argument_bytes(const halo_steps *steps, const halo_caps *caps) {
  int most = 0, pointer = (int)caps->address_bits / 8;
  for (int32_t i = 0; i < steps->count; i++) {
    int offsets = steps->data[i].arg_count - steps->data[i].whole_count;
    int bytes = steps->data[i].arg_count * pointer + offsets * 8;
    if (bytes > most) most = bytes;
  }
  return most;
}

/* A module after all passes, as for a CPU. */
static halo_module *optimised(const char *text) {
  halo_module *module = run_parse(text);
  module->target = halo_target_cpu();
  ck_ok(halo_passes_run(module, NULL));
  return module;
}

/* ---- Size ---- */

/* A chain of scalar operations that feeds two consumers: two kernels would each compute all of it. */
START_TEST(size_holds_with_several_users) {
  halo_strbuf text = {0};
  halo_strbuf_append(&text, "HloModule m\nENTRY e {\n  c0 = f32[] parameter(0)\n");
  for (int i = 1; i <= 4200; i++) {
    halo_strbuf_printf(&text, "  c%d = f32[] %s(c%d, c%d)\n", i, i % 2 ? "add" : "multiply", i - 1,
                       i > 7 ? i - 7 : 0);
  }
  halo_strbuf_append(&text,
                     "  x = f32[8] parameter(1)\n"
                     "  b = f32[8] broadcast(c4200), dimensions={}\n"
                     "  s = f32[8] add(x, b)\n"
                     "  ROOT r = (f32[8], f32[]) tuple(s, c4200)\n}\n");
  halo_client *client = run_client(GPU);
  halo_executable *e = run_compile(client, halo_strbuf_text(&text));
  const halo_plan *plan = halo_executable_plan(e);
  for (int32_t u = 0; u < plan->units.count; u++) {
    ck_assert_int_eq(plan->units.data[u].kernel_count, 1);
    ck_assert_int_lt(run_count(plan->units.data[u].kernels[0]->text, "\n"), 1000);
  }
  ck_assert_int_lt(launches_of(e), 200);
  halo_executable_release(e);
  halo_client_release(client);
  halo_strbuf_deinit(&text);
}
END_TEST

/* Every step uses both results of the one before: each kernel takes as many steps as fit, however long
 * the program is. */
static int ladder_launches(int steps) {
  halo_strbuf text = {0};
  halo_strbuf_append(&text,
                     "HloModule m\nENTRY e {\n  a0 = f32[1000] parameter(0)\n"
                     "  b0 = f32[1000] parameter(1)\n");
  for (int i = 1; i <= steps; i++) {
    halo_strbuf_printf(&text,
                       "  a%d = f32[1000] add(a%d, b%d)\n  b%d = f32[1000] multiply(a%d, b%d)\n", i,
                       i - 1, i - 1, i, i - 1, i - 1);
  }
  halo_strbuf_printf(&text, "  ROOT r = (f32[1000], f32[1000]) tuple(a%d, b%d)\n}\n", steps, steps);
  halo_client *client = run_client(GPU);
  halo_executable *e = run_compile(client, halo_strbuf_text(&text));
  int launches = launches_of(e);
  halo_executable_release(e);
  halo_client_release(client);
  halo_strbuf_deinit(&text);
  return launches;
}

START_TEST(joining_has_no_limit) {
  int few = ladder_launches(500), many = ladder_launches(2500);
  ck_assert_int_le(few, 25);
  ck_assert_int_le(many, 5 * few + 5);
}
END_TEST

/* ---- Arguments ---- */

static halo_strbuf concatenate_text(int count) {
  halo_strbuf text = {0};
  int total = 0;
  halo_strbuf_append(&text, "HloModule m\nENTRY e {\n");
  for (int i = 0; i < count; i++) {
    int extent = i % 3 + 1;
    halo_strbuf_printf(&text, "  p%d = s32[2,%d] parameter(%d)\n", i, extent, i);
    total += extent;
  }
  halo_strbuf_printf(&text, "  ROOT r = s32[2,%d] concatenate(", total);
  for (int i = 0; i < count; i++) halo_strbuf_printf(&text, "%sp%d", i ? ", " : "", i);
  halo_strbuf_append(&text, "), dimensions={1}\n}\n");
  return text;
}

START_TEST(wide_concatenate_fits_every_device) {
  static const char *const devices[] = {GPU, MOBILE, NULL};
  halo_strbuf text = concatenate_text(1000);
  for (int d = 0; d < 3; d++) {
    halo_client *client = run_client(devices[d]);
    halo_executable *e = run_compile(client, halo_strbuf_text(&text));
    const halo_caps *caps = &client->devices[0].cl->caps;
    ck_assert_int_le(most_argument_bytes(&halo_executable_plan(e)->steps, caps),
                     (int)caps->max_parameters);
    halo_executable_release(e);
    halo_client_release(client);
  }
  halo_strbuf_deinit(&text);
}
END_TEST

START_TEST(wide_concatenate_is_right) {
  enum { COUNT = 200 };
  halo_strbuf text = concatenate_text(COUNT);
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, halo_strbuf_text(&text));
  halo_buffer *arguments[COUNT], *result;
  int32_t value = 0;
  for (int i = 0; i < COUNT; i++) {
    int32_t values[6];
    for (int k = 0; k < 6; k++) values[k] = value++;
    ck_ok(
        halo_buffer_from_host(client, values, halo_executable_argument_shape(e, i), &arguments[i]));
  }
  ck_ok(halo_executable_execute(e, arguments, COUNT, NULL, &result));
  const halo_shape *shape = halo_executable_result_shape(e, 0);
  int32_t *got = malloc(sizeof *got * (size_t)halo_shape_element_count(shape));
  ck_ok(halo_buffer_to_host(result, got, sizeof *got * (size_t)halo_shape_element_count(shape)));
  int64_t width = halo_shape_element_count(shape) / 2;
  for (int row = 0; row < 2; row++) {
    int64_t at = row * width;
    for (int i = 0; i < COUNT; i++) {
      int extent = i % 3 + 1;
      for (int k = 0; k < extent; k++) ck_assert_int_eq(got[at++], 6 * i + row * extent + k);
    }
  }
  free(got);
  for (int i = 0; i < COUNT; i++) halo_buffer_release(arguments[i]);
  halo_buffer_release(result);
  halo_executable_release(e);
  halo_client_release(client);
  halo_strbuf_deinit(&text);
}
END_TEST

/* What cannot be split is refused, with numbers. */
START_TEST(wide_reduction_is_refused) {
  halo_strbuf text = {0}, out = {0};
  enum { COUNT = 60 };
  halo_strbuf_append(&text, "HloModule m\nf {\n");
  for (int i = 0; i < 2 * COUNT; i++) {
    halo_strbuf_printf(&text, "  p%d = f32[] parameter(%d)\n", i, i);
  }
  for (int i = 0; i < COUNT; i++) {
    halo_strbuf_printf(&text, "  s%d = f32[] add(p%d, p%d)\n", i, i, COUNT + i);
    halo_strbuf_printf(&out, "%sf32[]", i ? ", " : "");
  }
  halo_strbuf_printf(&text, "  ROOT t = (%s) tuple(", halo_strbuf_text(&out));
  for (int i = 0; i < COUNT; i++) halo_strbuf_printf(&text, "%ss%d", i ? ", " : "", i);
  halo_strbuf_append(&text, ")\n}\nENTRY e {\n  z = f32[] constant(0)\n");
  for (int i = 0; i < COUNT; i++) {
    halo_strbuf_printf(&text, "  x%d = f32[100] parameter(%d)\n", i, i);
  }
  halo_strbuf_printf(&text, "  ROOT r = (%s) reduce(", halo_strbuf_text(&out));
  for (int i = 0; i < COUNT; i++) halo_strbuf_printf(&text, "x%d, ", i);
  for (int i = 0; i < COUNT; i++) halo_strbuf_printf(&text, "%sz", i ? ", " : "");
  halo_strbuf_append(&text, "), dimensions={0}, to_apply=f\n}\n");
  halo_client *client = run_client(GPU);
  halo_executable *e;
  ck_fails(run_try_compile(client, halo_strbuf_text(&text), NULL, &e), HALO_UNIMPLEMENTED,
           "needs 1920 bytes of arguments");
  ck_message_has(": r loop needs");
  halo_client_release(client);
  halo_strbuf_deinit(&text);
  halo_strbuf_deinit(&out);
}
END_TEST

/* A kernel has no more inputs than fit, whatever an elementwise tree reads. */
START_TEST(inputs_are_bounded) {
  halo_strbuf text = {0};
  enum { COUNT = 300 };
  halo_strbuf_append(&text, "HloModule m\nENTRY e {\n");
  for (int i = 0; i < COUNT; i++) {
    halo_strbuf_printf(&text, "  p%d = f32[5000000] parameter(%d)\n", i, i);
  }
  for (int i = 1; i < COUNT; i++) {
    if (i == 1) halo_strbuf_append(&text, "  s1 = f32[5000000] add(p0, p1)\n");
    if (i > 1) halo_strbuf_printf(&text, "  s%d = f32[5000000] add(s%d, p%d)\n", i, i - 1, i);
  }
  halo_strbuf_printf(&text, "  ROOT r = f32[5000000] negate(s%d)\n}\n", COUNT - 1);
  halo_client *client = run_client(GPU);
  halo_executable *e = run_compile(client, halo_strbuf_text(&text));
  ck_assert_int_le(most_arguments(&halo_executable_plan(e)->steps), 25);
  ck_assert_int_le(launches_of(e), 20);
  halo_executable_release(e);
  halo_client_release(client);
  halo_strbuf_deinit(&text);
}
END_TEST

/* ---- Order ---- */

/* What a control edge begins at is computed before what it ends at, and not only where it is used. */
START_TEST(control_edges_hold) {
  static const char text[] =
      "HloModule m\n"
      "ENTRY e {\n"
      "  x = f32[64] parameter(0)\n"
      "  first = f32[64] negate(x)\n"
      "  user = f32[64] cosine(first)\n"
      "  second = f32[64] sine(x), control-predecessors={first}\n"
      "  third = f32[64] add(second, x)\n"
      "  ROOT r = (f32[64], f32[64]) tuple(user, third)\n"
      "}\n";
  halo_client *client = run_client(GPU);
  halo_executable *e = run_compile(client, text);
  const char *plan = halo_executable_report(e, HALO_REPORT_PLAN);
  const char *first = strstr(plan, ": kernel first"), *second = strstr(plan, ": kernel second ");
  ck_assert_msg(first && second && first < second, "%s", plan);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* ---- Updates ---- */

/* Writing only the window needs the operand's bytes in the result's layout. */
START_TEST(update_in_another_layout) {
  static const char text[] =
      "HloModule m, entry_computation_layout={(f32[2,3]{0,1}, f32[1,2], s32[])->f32[2,3]{1,0}}\n"
      "ENTRY e {\n"
      "  x = f32[2,3]{0,1} parameter(0)\n"
      "  u = f32[1,2] parameter(1)\n"
      "  i = s32[] parameter(2)\n"
      "  z = s32[] constant(0)\n"
      "  ROOT r = f32[2,3]{1,0} dynamic-update-slice(x, u, i, z)\n"
      "}\n";
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, text);
  halo_literal *in[3], *out;
  in[0] = run_literal(halo_executable_argument_shape(e, 0), "{{1,2,3},{4,5,6}}");
  in[1] = run_literal(halo_executable_argument_shape(e, 1), "{{10,20}}");
  in[2] = run_literal(halo_executable_argument_shape(e, 2), "1");
  ck_ok(halo_executable_run(e, in, 3, &out));
  char *got;
  ck_ok(halo_literal_to_text(out, &got));
  ck_assert_str_eq(got, "{ { 1, 2, 3 }, { 10, 20, 6 } }");
  halo_text_release(got);
  halo_literal_release(out);
  for (int i = 0; i < 3; i++) halo_literal_release(in[i]);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* ---- Prices ---- */

/* Where starting a kernel costs more than the work, the work is done over. */
START_TEST(prices_decide) {
  static const char text[] =
      "HloModule m\n"
      "ENTRY e {\n"
      "  x = f32[3000] parameter(0)\n"
      "  w = f32[3000] tanh(x)\n"
      "  a = f32[100,3000] broadcast(w), dimensions={1}\n"
      "  b = f32[300,3000] broadcast(w), dimensions={1}\n"
      "  ROOT r = (f32[100,3000], f32[300,3000]) tuple(a, b)\n"
      "}\n";
  halo_module *module = run_parse(text), *slow = halo_module_clone(module);
  slow->target.prices.launch = 1; /* a second */
  ck_ok(halo_passes_run(slow, NULL));
  ck_assert_int_eq(slow->entry->instrs.count, 4); /* x, two fusions, the tuple */
  halo_module *quick = halo_module_clone(module);
  quick->target.prices.launch = 1e-9;
  ck_ok(halo_passes_run(quick, NULL));
  ck_assert_int_eq(quick->entry->instrs.count, 5);
  halo_module_release(slow);
  halo_module_release(quick);
  halo_module_release(module);
}
END_TEST

/* A sum that is going to be a buffer does not make dear what reads it: the short sums after it are done
 * on the side. */
START_TEST(buffers_make_nothing_dear) {
  static const char text[] =
      "HloModule m\n"
      "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
      "ENTRY e {\n"
      "  x = f32[64,192] parameter(0)\n"
      "  zero = f32[] constant(0)\n"
      "  t = f32[64,192] tanh(x)\n"
      "  s = f32[192] reduce(t, zero), dimensions={0}, to_apply=add\n"
      "  v = f32[192] multiply(s, s)\n"
      "  rows = f32[64,3] reshape(v)\n"
      "  short = f32[64] reduce(rows, zero), dimensions={1}, to_apply=add\n"
      "  all = f32[] reduce(short, zero), dimensions={0}, to_apply=add\n"
      "  b = f32[2] broadcast(all), dimensions={}\n"
      "  ROOT r = (f32[192], f32[2]) tuple(v, b)\n"
      "}\n";
  halo_module *module = optimised(text);
  ck_assert_int_eq(module->entry->instrs.count, 4); /* x, two fusions, the tuple */
  halo_module_release(module);
}
END_TEST

/* A GPU too adds 64 numbers sooner than it starts a kernel for them. */
START_TEST(norms_are_on_the_side) {
  halo_client *client = run_client(GPU);
  halo_executable *e = run_compile(
      client,
      "HloModule m\n"
      "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
      "ENTRY e {\n"
      "  x = f32[64] parameter(0)\n"
      "  zero = f32[] constant(0)\n"
      "  square = f32[64] multiply(x, x)\n"
      "  sum = f32[] reduce(square, zero), dimensions={0}, to_apply=add\n"
      "  norm = f32[] sqrt(sum)\n"
      "  all = f32[64] broadcast(norm), dimensions={}\n"
      "  ROOT r = f32[64] divide(x, all)\n"
      "}\n");
  ck_assert_int_eq(launches_of(e), 1);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* Fusions of a computation after all passes. */
static int fusions_of(const halo_computation *computation) {
  int count = 0;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    count += computation->instrs.data[i]->opcode == HALO_OP_FUSION;
  }
  return count;
}

/* Where a round of a loop becomes part of one kernel, a power that a sum would compute three times over is
 * worth a step of its own, as it is not worth a kernel. */
START_TEST(little_rounds_pay_for_no_launch) {
  static const char text[] =
      "HloModule m\n"
      "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
      "below { s = (s32[], f32[8,8,3]) parameter(0)  i = s32[] get-tuple-element(s), index=0\n"
      "  n = s32[] constant(50)  ROOT r = pred[] compare(i, n), direction=LT }\n"
      "round {\n"
      "  s = (s32[], f32[8,8,3]) parameter(0)\n"
      "  i = s32[] get-tuple-element(s), index=0\n"
      "  x = f32[8,8,3] get-tuple-element(s), index=1\n"
      "  one = s32[] constant(1)\n"
      "  next = s32[] add(i, one)\n"
      "  first = f32[8,8,1] slice(x), slice={[0:8], [0:8], [0:1]}\n"
      "  y = f32[8,8] reshape(first)\n"
      "  p = f32[8,8] power(y, y)\n"
      "  b = f32[8,8,3] broadcast(p), dimensions={0,1}\n"
      "  m = f32[8,8,3] multiply(b, x)\n"
      "  ROOT r = (s32[], f32[8,8,3]) tuple(next, m)\n"
      "}\n"
      "ENTRY e {\n"
      "  x = f32[8,8,3] parameter(0)\n"
      "  zero = s32[] constant(0)\n"
      "  s = (s32[], f32[8,8,3]) tuple(zero, x)\n"
      "  ROOT r = (s32[], f32[8,8,3]) while(s), condition=below, body=round\n"
      "}\n";
  halo_module *module = optimised(text);
  const halo_instr *loop = NULL;
  for (int32_t i = 0; i < module->entry->instrs.count; i++) {
    const halo_instr *instr = module->entry->instrs.data[i];
    if (instr->opcode == HALO_OP_WHILE) loop = instr;
  }
  ck_assert_ptr_nonnull(loop);
  /* The counter, the power, and the product. */
  ck_assert_int_eq(fusions_of(halo_instr_attr(loop, HALO_ATTR_BODY)->comps.data[0]), 3);
  halo_module_release(module);
}
END_TEST

/* A power of one number that all elements of small arrays are divided by, as optimisers do, is worth a step where
 * all becomes one kernel, and not where there are few of them. */
START_TEST(powers_of_counters_are_taken_once) {
  static const char form[] =
      "HloModule m\n"
      "ENTRY e {\n"
      "  x = f32[%d,24] parameter(0)\n"
      "  t = f32[] parameter(1)\n"
      "  half = f32[] constant(0.5)\n"
      "  p = f32[] power(half, t)\n"
      "  b = f32[%d,24] broadcast(p), dimensions={}\n"
      "  ROOT d = f32[%d,24] divide(x, b)\n"
      "}\n";
  static const int rows[] = {12, 1}, kernels[] = {2, 1};
  for (int i = 0; i < 2; i++) {
    char text[1024];
    snprintf(text, sizeof text, form, rows[i], rows[i], rows[i]);
    halo_module *module = optimised(text);
    ck_assert_int_eq(fusions_of(module->entry), kernels[i]);
    halo_module_release(module);
  }
}
END_TEST

/* The largest two are looked for among all elements, so that what makes these is not computed but twice. */
START_TEST(few_results_of_many_elements) {
  static const char text[] =
      "HloModule m\n"
      "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
      "ENTRY e {\n"
      "  x = f32[4,50] parameter(0)\n"
      "  zero = f32[] constant(0)\n"
      "  t = f32[4,50] exponential(x)\n"
      "  sum = f32[4] reduce(t, zero), dimensions={1}, to_apply=add\n"
      "  all = f32[4,50] broadcast(sum), dimensions={0}\n"
      "  share = f32[4,50] divide(t, all)\n"
      "  line = f32[200] reshape(share)\n"
      "  ROOT r = (f32[2], s32[2]) topk(line), k=2, largest=true\n"
      "}\n";
  halo_module *module = optimised(text);
  ck_assert_int_ge(fusions_of(module->entry), 2);
  halo_module_release(module);
}
END_TEST

/* What is dear gets a kernel of its own before it is put beside others in short pieces of rows, or between others;
 * long pieces, cheap ones and few do not. */
START_TEST(dear_pieces_of_rows) {
  static const struct {
    const char *element, *shape, *last;
    int kernels;
  } cases[] = {
      {"sine", "f32[9000,8]", "f32[9000,20] concatenate(a, y, a), dimensions={1}", 2},
      {"sine", "f32[9000,8]", "f32[9000,24] pad(y, zero), padding=0_0x16_0", 2},
      {"sine", "f32[900,80]", "f32[900,159] pad(y, zero), padding=0_0x0_0_1", 2},
      {"sine", "f32[900,80]", "f32[900,92] concatenate(a, y, a), dimensions={1}", 1},
      {"negate", "f32[9000,8]", "f32[9000,20] concatenate(a, y, a), dimensions={1}", 1},
      {"sine", "f32[90,8]", "f32[90,20] concatenate(a, y, a), dimensions={1}", 1},
      {"sine", "f32[9000,8]", "f32[18000,8] concatenate(y, x), dimensions={0}", 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int rows = atoi(cases[i].shape + strlen("f32["));
    halo_strbuf text = {0};
    halo_strbuf_printf(
        &text,
        "HloModule m\nENTRY e {\n  x = %s parameter(0)\n  a = f32[%d,6] parameter(1)\n"
        "  zero = f32[] constant(0)\n  y = %s %s(x)\n  ROOT r = %s\n}\n",
        cases[i].shape, rows, cases[i].shape, cases[i].element, cases[i].last);
    halo_module *module = optimised(halo_strbuf_text(&text));
    ck_assert_msg(fusions_of(module->entry) == cases[i].kernels, "case %zu: %d kernels", i,
                  fusions_of(module->entry));
    halo_module_release(module);
    halo_strbuf_deinit(&text);
  }
}
END_TEST

/* What is dear and looked through for its largest element is made beside its neighbours on a CPU; what is cheap, or
 * is summed, is made where it is needed. */
START_TEST(dear_elements_of_argmax) {
  static const struct {
    const char *element, *hero;
    int kernels;
  } cases[] = {{"logistic", "max", 2}, {"negate", "max", 1}, {"logistic", "sum", 1}};
  enum { OPERATIONS = 20 };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    halo_strbuf text = {0};
    halo_strbuf_append(
        &text,
        "HloModule m\n"
        "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
        "largest { a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)\n"
        "  j = s32[] parameter(3)  above = pred[] compare(a, b), direction=GT\n"
        "  v = f32[] select(above, a, b)  p = s32[] select(above, i, j)\n"
        "  ROOT r = (f32[], s32[]) tuple(v, p) }\n"
        "ENTRY e {\n"
        "  x0 = f32[2000,10] parameter(0)\n"
        "  zero = f32[] constant(0)\n"
        "  none = s32[] constant(0)\n"
        "  places = s32[2000,10] iota(), iota_dimension=1\n");
    for (int k = 0; k < OPERATIONS; k++) {
      halo_strbuf_printf(&text, "  x%d = f32[2000,10] %s(x%d)\n", k + 1, cases[i].element, k);
    }
    const char *last =
        strcmp(cases[i].hero, "max") == 0
            ? "  ROOT r = (f32[2000], s32[2000]) reduce(x%d, places, zero, none), dimensions={1}, "
              "to_apply=largest\n}\n"
            : "  ROOT r = f32[2000] reduce(x%d, zero), dimensions={1}, to_apply=add\n}\n";
    halo_strbuf_printf(&text, last, OPERATIONS);
    halo_module *module = optimised(halo_strbuf_text(&text));
    ck_assert_int_eq(fusions_of(module->entry), cases[i].kernels);
    halo_module_release(module);
    halo_strbuf_deinit(&text);
  }
}
END_TEST

/* What a reduction reads from several places, of which some are dear, is put together first on a CPU; what is cheap is read
 * where it is. */
START_TEST(dear_places_of_reductions) {
  static const char *const elements[] = {"negate", "sine"};
  for (int kernels = 1; kernels <= 2; kernels++) {
    halo_strbuf text = {0};
    halo_strbuf_printf(
        &text,
        "HloModule m\n"
        "largest { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }\n"
        "ENTRY e {\n"
        "  x = f32[2,8000] parameter(0)\n"
        "  a = f32[1,8000] slice(x), slice={[1:2], [0:8000]}\n"
        "  b = f32[1,8000] slice(x), slice={[0:1], [0:8000]}\n"
        "  s = f32[1,8000] %s(b)\n"
        "  both = f32[2,8000] concatenate(a, s), dimensions={0}\n"
        "  size = f32[2,8000] abs(both)\n"
        "  none = f32[] constant(0)\n"
        "  ROOT r = f32[] reduce(size, none), dimensions={0,1}, to_apply=largest\n}\n",
        elements[kernels - 1]);
    halo_module *module = optimised(halo_strbuf_text(&text));
    ck_assert_int_eq(fusions_of(module->entry), kernels);
    halo_module_release(module);
    halo_strbuf_deinit(&text);
  }
}
END_TEST

/* A column that a product reads for each row of a matrix is put side by side first; a row lies so. */
START_TEST(columns_are_gathered_once) {
  static const char column[] =
      "  v = f32[300,8] parameter(1)\n"
      "  one = f32[300,1] slice(v), slice={[0:300], [2:3]}\n",
                    row[] =
                        "  v = f32[8,300] parameter(1)\n"
                        "  one = f32[1,300] slice(v), slice={[2:3], [0:300]}\n";
  for (int kernels = 1; kernels <= 2; kernels++) {
    halo_strbuf text = {0};
    halo_strbuf_printf(
        &text,
        "HloModule m\n"
        "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, "
        "b) }\n"
        "ENTRY e {\n"
        "  a = f32[300,300] parameter(0)\n"
        "%s"
        "  line = f32[300] reshape(one)\n"
        "  zero = f32[] constant(0)\n"
        "  all = f32[300,300] broadcast(line), dimensions={1}\n"
        "  p = f32[300,300] multiply(a, all)\n"
        "  ROOT r = f32[300] reduce(p, zero), dimensions={1}, to_apply=add\n"
        "}\n",
        kernels == 1 ? row : column);
    halo_module *module = optimised(halo_strbuf_text(&text));
    ck_assert_int_eq(fusions_of(module->entry), kernels);
    halo_module_release(module);
    halo_strbuf_deinit(&text);
  }
}
END_TEST

/* What is dear and read by halves that are put in between one another, level by level, as the gradients of cumulative
 * operations are: each level would evaluate the one before it twice, in code of its own. Parts that are put side by
 * side evaluate each element once. */
START_TEST(dear_levels_are_buffers) {
  enum { LEVELS = 4, ROWS = 1000 };
  static const int kernels[] = {1, LEVELS + 1}; /* side by side, in between */
  for (int between = 0; between < 2; between++) {
    halo_strbuf text = {0};
    halo_strbuf_printf(&text,
                       "HloModule m\nENTRY e {\n  zero = f32[] constant(0)\n"
                       "  x0 = f32[%d,40] parameter(0)\n",
                       ROWS);
    for (int k = 0, rows = ROWS; k < LEVELS; k++, rows *= 2) {
      halo_strbuf_printf(&text,
                         "  e%d = f32[%d,40] exponential(x%d)\n  l%d = f32[%d,40] sine(e%d)\n"
                         "  r%d = f32[%d,40] cosine(e%d)\n",
                         k, rows, k, k, rows, k, k, rows, k);
      if (between) {
        halo_strbuf_printf(&text,
                           "  a%d = f32[%d,40] pad(l%d, zero), padding=0_1_1x0_0_0\n"
                           "  b%d = f32[%d,40] pad(r%d, zero), padding=1_0_1x0_0_0\n"
                           "  x%d = f32[%d,40] add(a%d, b%d)\n",
                           k, 2 * rows, k, k, 2 * rows, k, k + 1, 2 * rows, k, k);
      } else {
        halo_strbuf_printf(&text, "  x%d = f32[%d,40] concatenate(l%d, r%d), dimensions={0}\n",
                           k + 1, 2 * rows, k, k);
      }
    }
    halo_strbuf_printf(&text, "  ROOT r = f32[%d,40] negate(x%d)\n}\n", ROWS << LEVELS, LEVELS);
    halo_module *module = optimised(halo_strbuf_text(&text));
    ck_assert_msg(fusions_of(module->entry) == kernels[between], "%d: %d kernels", between,
                  fusions_of(module->entry));
    halo_module_release(module);
    halo_strbuf_deinit(&text);
  }
}
END_TEST

/* A hash of 16 words, each cut out of an array: cutting is no code, so that all of it is one kernel. */
START_TEST(moves_count_for_nothing) {
  enum { WORDS = 16, OPERATIONS = 24 };
  halo_strbuf text = {0};
  halo_strbuf_append(&text,
                     "HloModule m\nENTRY e {\n  x = u32[100000,16] parameter(0)\n"
                     "  k = u32[100000] parameter(1)\n  h0 = u32[100000] add(k, k)\n");
  for (int w = 0, h = 0; w < WORDS; w++) {
    halo_strbuf_printf(&text,
                       "  s%d = u32[100000,1] slice(x), slice={[0:100000], [%d:%d]}\n"
                       "  t%d = u32[100000,1,1] reshape(s%d)\n"
                       "  w%d = u32[100000] reshape(t%d)\n",
                       w, w, w + 1, w, w, w, w);
    for (int i = 0; i < OPERATIONS; i++, h++) {
      halo_strbuf_printf(&text, "  h%d = u32[100000] %s(h%d, w%d)\n", h + 1,
                         i % 2 ? "multiply" : "xor", h, w);
    }
  }
  halo_strbuf_printf(&text, "  ROOT r = u32[100000] negate(h%d)\n}\n", WORDS * OPERATIONS);
  halo_module *module = optimised(halo_strbuf_text(&text));
  ck_assert_int_eq(fusions_of(module->entry), 1);
  halo_module_release(module);
  halo_strbuf_deinit(&text);
}
END_TEST

/* A stage of a method of steps: what it makes is read by the next one in parts, each where it lies, as it is a buffer
 * anyway. */
START_TEST(parts_of_buffers_are_read_there) {
  static const char text[] =
      "HloModule m\n"
      "ENTRY e {\n"
      "  x = f32[2,20000] parameter(0)\n"
      "  y = f32[2,20000] sine(x)\n"
      "  a = f32[1,20000] slice(y), slice={[1:2], [0:20000]}\n"
      "  b = f32[1,20000] slice(y), slice={[0:1], [0:20000]}\n"
      "  c = f32[1,20000] multiply(a, b)\n"
      "  d = f32[1,20000] multiply(c, a)\n"
      "  s = f32[2,20000] concatenate(a, d), dimensions={0}\n"
      "  t = f32[2,20000] cosine(s)\n"
      "  f = f32[1,20000] slice(t), slice={[1:2], [0:20000]}\n"
      "  g = f32[1,20000] slice(t), slice={[0:1], [0:20000]}\n"
      "  h = f32[1,20000] multiply(f, g)\n"
      "  i = f32[1,20000] multiply(h, f)\n"
      "  ROOT r = f32[2,20000] concatenate(f, i), dimensions={0}\n"
      "}\n";
  halo_module *module = optimised(text);
  ck_assert_int_eq(fusions_of(module->entry), 3);
  halo_module_release(module);
}
END_TEST

/* ---- Real programs ---- */

/* Launches that each program takes on a GPU. Fewer is better: take over what is printed.
 * More needs a reason, in the commit that changes it. */
static const struct {
  const char *path;
  int gpu;
} programs[] = {
    {"golden/modules/transformer.hlo", 7},
    {"golden/modules/transformer_grad.hlo", 9},
    {"golden/modules/lstm.hlo", 1},
    {"golden/modules/adam.hlo", 3},
    {"golden/modules/mlp_step.hlo", 1},
    {"golden/modules/rk4.hlo", 1},
    {"../examples/digits/dense/train_step.hlo", 16},
    {"../examples/digits/conv/train_step.hlo", 40},
};

START_TEST(real_programs) {
  char path[1024];
  snprintf(path, sizeof path, "%s/../%s", HALO_TEST_DATA, programs[_i].path);
  halo_module *module;
  ck_ok(halo_module_parse_file(path, &module));
  halo_client *client = run_client(GPU);
  halo_executable *e;
  unsetenv("HALO_KERNELS");
  ck_ok(halo_client_compile(client, module, NULL, &e));
  ck_assert_msg(launches_of(e) == programs[_i].gpu, "%s takes %d launches, not %d",
                programs[_i].path, launches_of(e), programs[_i].gpu);
  halo_executable_release(e);
  halo_module_release(module);
  halo_client_release(client);
}
END_TEST

int main(void) {
  /* What is looked at here are the kernels by themselves. */
  setenv("HALO_KERNELS", "region:steps", 1);
  Suite *suite = suite_create("fusion");
  TCase *c = tcase_create("fusion");
  tcase_set_timeout(c, 120);
  tcase_add_test(c, size_holds_with_several_users);
  tcase_add_test(c, joining_has_no_limit);
  tcase_add_test(c, wide_concatenate_fits_every_device);
  tcase_add_test(c, wide_concatenate_is_right);
  tcase_add_test(c, wide_reduction_is_refused);
  tcase_add_test(c, inputs_are_bounded);
  tcase_add_test(c, control_edges_hold);
  tcase_add_test(c, update_in_another_layout);
  tcase_add_test(c, prices_decide);
  tcase_add_test(c, buffers_make_nothing_dear);
  tcase_add_test(c, norms_are_on_the_side);
  tcase_add_test(c, little_rounds_pay_for_no_launch);
  tcase_add_test(c, powers_of_counters_are_taken_once);
  tcase_add_test(c, few_results_of_many_elements);
  tcase_add_test(c, dear_elements_of_argmax);
  tcase_add_test(c, dear_places_of_reductions);
  tcase_add_test(c, dear_pieces_of_rows);
  tcase_add_test(c, dear_levels_are_buffers);
  tcase_add_test(c, columns_are_gathered_once);
  tcase_add_test(c, moves_count_for_nothing);
  tcase_add_test(c, parts_of_buffers_are_read_there);
  tcase_add_loop_test(c, real_programs, 0, (int)(sizeof programs / sizeof programs[0]));
  suite_add_tcase(suite, c);
  return suite_run(suite);
}
