/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_custom_call.c: functions by name: the three forms, what they are told, failures, layouts,
 * shared memory, loops, side effects, and what is refused. */
#include "run_test.h"

#include "custom/custom.h"
#include "halo/builder.h"
#include "suite.h"

#include <CL/cl.h>
#include <math.h>
#include <stdatomic.h>

static atomic_int calls;

/* (a, (b, c)) -> (a + b, (a * c)) on vectors of 4. */
static void plain(void *out, const void **in) {
  const float *a = in[0];
  const void *const *pair = in[1];
  const float *b = pair[0], *c = pair[1];
  void **results = out;
  float *sum = results[0], *product = ((void **)results[1])[0];
  for (int i = 0; i < 4; i++) {
    sum[i] = a[i] + b[i];
    product[i] = a[i] * c[i];
  }
}

static void twice(void *out, const void **in) {
  for (int i = 0; i < 4; i++) ((float *)out)[i] = 2 * ((const float *)in[0])[i];
}

static halo_status count(const halo_custom_frame *call, void *user) {
  const float *x = call->operands[0].data;
  float *y = call->results[0].data;
  atomic_fetch_add((atomic_int *)user, 1);
  for (int64_t i = 0; i < call->operands[0].elements; i++) y[i] = x[i] + 1;
  return HALO_OK;
}

static halo_status refuse(const halo_custom_frame *call, void *user) {
  (void)call;
  (void)user;
  return halo_custom_call_fail(HALO_INVALID_ARGUMENT, "not today");
}

/* The elements in the order in which they lie, and what it was told in the last three. */
static halo_status describe(const halo_custom_frame *call, void *user) {
  const halo_custom_array *x = &call->operands[0];
  float *y = call->results[0].data;
  (void)user;
  ck_assert_int_eq(x->rank, 2);
  ck_assert_uint_eq(x->bytes, 6 * sizeof(float));
  memcpy(y, x->data, x->bytes);
  y[6] = (float)(x->minor_to_major[0] * 10 + x->minor_to_major[1]);
  y[7] = (float)call->config_size;
  y[8] = (float)halo_custom_call_integer(call, "n", -1);
  return HALO_OK;
}

/* Adds to the memory that result and operand share. */
static halo_status in_place(const halo_custom_frame *call, void *user) {
  (void)user;
  ck_assert_ptr_eq(call->operands[1].data, call->results[0].data);
  for (int i = 0; i < 4; i++)
    ((float *)call->results[0].data)[i] += ((float *)call->operands[0].data)[i];
  return HALO_OK;
}

static halo_status on_device(const halo_custom_frame *call, void *user) {
  (void)user;
  cl_int code = clEnqueueCopyBuffer(call->queue, call->operands[0].mem, call->results[0].mem,
                                    call->operands[0].offset, call->results[0].offset,
                                    call->operands[0].bytes, 0, NULL, NULL);
  return code == CL_SUCCESS ? HALO_OK : halo_custom_call_fail(HALO_DEVICE_ERROR, "copying");
}

static void setup(void) {
  atomic_store(&calls, 0);
  ck_ok(halo_custom_call_register_plain("t.plain", plain));
  ck_ok(halo_custom_call_register_plain("t.twice", twice));
  ck_ok(halo_custom_call_register_host("t.count", count, &calls));
  ck_ok(halo_custom_call_register_host("t.refuse", refuse, NULL));
  ck_ok(halo_custom_call_register_host("t.describe", describe, NULL));
  ck_ok(halo_custom_call_register_host("t.in_place", in_place, NULL));
  ck_ok(halo_custom_call_register_device("t.device", on_device, NULL));
}

/* Runs a module of one f32[4] argument, 1 2 3 4, and one result. */
static void run(const char *text, const char *expected) {
  halo_client *client = run_client(NULL);
  halo_executable *program = run_compile(client, text);
  halo_buffer *in = run_buffer(client, 4, (float[]){1, 2, 3, 4}), *out;
  ck_ok(halo_executable_execute(program, &in, 1, NULL, &out));
  run_check(out, expected);
  halo_buffer_release(out);
  halo_buffer_release(in);
  halo_executable_release(program);
  halo_client_release(client);
}

START_TEST(plain_functions_take_tables_for_tuples) {
  run("HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[4] negate(x)\n"
      "  p = (f32[4], f32[4]) tuple(y, x)\n"
      "  c = (f32[4], (f32[4])) custom-call(x, p), custom_call_target=\"t.plain\"\n"
      "  s = f32[4] get-tuple-element(c), index=0\n"
      "  q = (f32[4]) get-tuple-element(c), index=1\n"
      "  r = f32[4] get-tuple-element(q), index=0\n  ROOT o = f32[4] subtract(r, s)\n}\n",
      "{1, 4, 9, 16}");
}
END_TEST

START_TEST(device_functions_queue_commands) {
  run("HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[4] add(x, x)\n"
      "  c = f32[4] custom-call(y), custom_call_target=\"t.device\"\n"
      "  ROOT o = f32[4] negate(c)\n}\n",
      "{-2, -4, -6, -8}");
}
END_TEST

START_TEST(functions_run_in_loops_and_branches) {
  run("HloModule m\n"
      "c { p = (s32[], f32[4]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
      "  n = s32[] constant(5)\n  ROOT l = pred[] compare(i, n), direction=LT }\n"
      "b { p = (s32[], f32[4]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
      "  v = f32[4] get-tuple-element(p), index=1\n  k = s32[] constant(1)\n"
      "  j = s32[] add(i, k)\n  w = f32[4] custom-call(v), custom_call_target=\"t.count\"\n"
      "  u = f32[4] custom-call(w), custom_call_target=\"t.twice\"\n"
      "  ROOT t = (s32[], f32[4]) tuple(j, u) }\n"
      "ENTRY e {\n  x = f32[4] parameter(0)\n  z = s32[] constant(0)\n"
      "  i = (s32[], f32[4]) tuple(z, x)\n  w = (s32[], f32[4]) while(i), condition=c, body=b\n"
      "  ROOT o = f32[4] get-tuple-element(w), index=1\n}\n",
      "{94, 126, 158, 190}");
  ck_assert_int_eq(atomic_load(&calls), 5);
}
END_TEST

START_TEST(side_effects_happen_and_others_go) {
  run("HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
      "  a = f32[4] custom-call(x), custom_call_target=\"t.count\"\n"
      "  b = f32[4] custom-call(x), custom_call_target=\"t.count\", "
      "custom_call_has_side_effect=true\n"
      "  k = f32[4] constant({1, 1, 1, 1})\n"
      "  d = f32[4] custom-call(k), custom_call_target=\"t.count\", "
      "custom_call_has_side_effect=true\n  ROOT o = f32[4] negate(x)\n}\n",
      "{-1, -2, -3, -4}");
  ck_assert_int_eq(atomic_load(&calls), 2);
}
END_TEST

START_TEST(failures_carry_the_function_and_its_message) {
  halo_client *client = run_client(NULL);
  halo_executable *program =
      run_compile(client,
                  "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
                  "  ROOT c = f32[4] custom-call(x), custom_call_target=\"t.refuse\"\n}\n");
  halo_buffer *in = run_buffer(client, 4, (float[4]){0}), *out = NULL;
  float data[4];
  halo_status status = halo_executable_execute(program, &in, 1, NULL, &out);
  if (status == HALO_OK) status = halo_buffer_to_host(out, data, sizeof data);
  ck_assert_int_eq(status, HALO_INVALID_ARGUMENT);
  ck_message_has("custom call t.refuse: not today");
  halo_buffer_release(out);
  halo_buffer_release(in);
  halo_executable_release(program);
  halo_client_release(client);
}
END_TEST

/* A matrix as a constant, in either layout, and what the function saw of it. */
START_TEST(functions_get_the_layout_that_the_call_names) {
  static const struct {
    const char *layout, *config, *expected;
  } cases[] = {
      {"{1,0}", "\"ab\\\"c\"", "{1, 2, 3, 4, 5, 6, 10, 4, -1}"},
      {"{0,1}", "{n = 7 : i64}", "{1, 4, 2, 5, 3, 6, 1, 13, 7}"},
  };
  for (int i = 0; i < 2; i++) {
    char text[1024];
    snprintf(text, sizeof text,
             "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
             "  k = f32[2,3] constant({{1,2,3},{4,5,6}})\n"
             "  ROOT c = f32[9] custom-call(k), custom_call_target=\"t.describe\", "
             "operand_layout_constraints={f32[2,3]%s}%s, backend_config=%s\n}\n",
             cases[i].layout, i ? ", api_version=API_VERSION_TYPED_FFI" : "", cases[i].config);
    run(text, cases[i].expected);
  }
}
END_TEST

START_TEST(results_in_other_layouts_are_turned) {
  run("HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[2,2] reshape(x)\n"
      "  c = f32[2,2]{0,1} custom-call(y), custom_call_target=\"t.twice\", "
      "operand_layout_constraints={f32[2,2]{1,0}}\n  ROOT r = f32[4] reshape(c)\n}\n",
      "{2, 6, 4, 8}");
  run("HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[2,2] reshape(x)\n"
      "  p = (f32[2,2], f32[2,2]) tuple(y, y)\n"
      "  c = (f32[2,2]{0,1}, (f32[2,2]{1,0})) custom-call(y, p), custom_call_target=\"t.plain\"\n"
      "  s = f32[2,2] get-tuple-element(c), index=0\n  ROOT r = f32[4] reshape(s)\n}\n",
      "{2, 6, 4, 8}");
}
END_TEST

START_TEST(aliased_results_begin_as_their_operand) {
  run("HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[4] negate(x)\n"
      "  c = f32[4] custom-call(x, x), custom_call_target=\"t.in_place\", "
      "output_to_operand_aliasing={{}: (1, {})}\n"
      "  d = f32[4] custom-call(x, y), custom_call_target=\"t.in_place\", "
      "output_to_operand_aliasing={{}: (1, {})}\n"
      "  e = f32[4] add(c, d)\n  ROOT o = f32[4] add(e, x)\n}\n",
      "{3, 6, 9, 12}");
}
END_TEST

/* An operand that shares memory with a result of another layout lies as that does, within a tuple as well. */
START_TEST(aliased_operands_have_the_layout_of_their_result) {
  run("HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[2,2] reshape(x)\n"
      "  c = f32[2,2]{0,1} custom-call(x, y), custom_call_target=\"t.in_place\", "
      "output_to_operand_aliasing={{}: (1, {})}\n  ROOT o = f32[4] reshape(c)\n}\n",
      "{2, 5, 5, 8}");
  run("HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[2,2] reshape(x)\n"
      "  p = (f32[2,2]) tuple(y)\n"
      "  c = f32[2,2]{0,1} custom-call(x, p), custom_call_target=\"t.in_place\", "
      "output_to_operand_aliasing={{}: (1, {0})}\n  ROOT o = f32[4] reshape(c)\n}\n",
      "{2, 5, 5, 8}");
  /* Of several extents. */
  run("HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[4,1] reshape(x)\n"
      "  p = (f32[4,1]) tuple(y)\n"
      "  c = f32[4,1]{0,1} custom-call(x, p), custom_call_target=\"t.in_place\", "
      "output_to_operand_aliasing={{}: (1, {0})}\n  ROOT o = f32[4] reshape(c)\n}\n",
      "{2, 4, 6, 8}");
  run("HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
      "  k = f32[2,3] constant({{1,2,3},{4,5,6}})\n  p = (f32[2,3]) tuple(k)\n"
      "  ROOT c = f32[9] custom-call(p), custom_call_target=\"t.describe\", "
      "operand_layout_constraints={(f32[2,3]{0,1})}\n}\n",
      "{1, 4, 2, 5, 3, 6, 1, 0, -1}");
}
END_TEST

START_TEST(markers_are_the_identity) {
  run("HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
      "  a = f32[4] custom-call(x), custom_call_target=\"Sharding\", sharding={replicated}\n"
      "  b = f32[4] custom-call(a), custom_call_target=\"SPMDFullToShardShape\"\n"
      "  c = f32[4] custom-call(b), custom_call_target=\"annotate_device_placement\", "
      "custom_call_has_side_effect=true\n"
      "  d = f32[4] custom-call(c), custom_call_target=\"MoveToHost\"\n"
      "  k = () custom-call(d, x), custom_call_target=\"control_dep\", "
      "custom_call_has_side_effect=true\n"
      "  ROOT o = f32[4] negate(d)\n}\n",
      "{-1, -2, -3, -4}");
}
END_TEST

static void refused(const char *text, halo_status status, const char *part) {
  halo_client *client = run_client(NULL);
  halo_executable *program;
  ck_fails(run_try_compile(client, text, NULL, &program), status, part);
  halo_client_release(client);
}

START_TEST(what_cannot_run_is_refused_by_name_and_line) {
  refused(
      "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
      "  ROOT c = f32[4] custom-call(x), custom_call_target=\"nobody\"\n}\n",
      HALO_UNIMPLEMENTED,
      "line 4: c: no function is registered for the custom call target \"nobody\"");
  refused(
      "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
      "  ROOT c = f32[4] custom-call(x), custom_call_target=\"t.twice\", "
      "api_version=API_VERSION_TYPED_FFI, backend_config={}\n}\n",
      HALO_INVALID_ARGUMENT, "plain function");
  refused(
      "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
      "  ROOT c = f32[4] custom-call(x), custom_call_target=\"t.count\", "
      "api_version=API_VERSION_TYPED_FFI, backend_config={a = }\n}\n",
      HALO_INVALID_ARGUMENT, "line 4: c: backend_config");
  ck_fails(halo_custom_call_register_plain("", plain), HALO_INVALID_ARGUMENT, "a name");
  ck_fails(halo_custom_call_register_host("x", NULL, NULL), HALO_INVALID_ARGUMENT, "a function");
  ck_assert(!halo_custom_call_find("nobody"));
  ck_assert(halo_custom_call_find("t.count"));
}
END_TEST

/* A counter that begins where an attribute says. */
static atomic_int states;

static halo_status open_counter(const halo_custom_frame *call, void *user, void **out) {
  int64_t start = halo_custom_call_integer(call, "start", -1);
  ck_assert_ptr_eq(user, &states);
  ck_assert_ptr_null(call->results[0].data);
  if (start < 0) return halo_custom_call_fail(HALO_INVALID_ARGUMENT, "no start");
  float *counter = malloc(sizeof *counter);
  *counter = (float)start;
  *out = counter;
  atomic_fetch_add(&states, 1);
  return HALO_OK;
}

static void close_counter(void *state, void *user) {
  atomic_fetch_sub((atomic_int *)user, 1);
  free(state);
}

static halo_status step_counter(const halo_custom_frame *call, void *user) {
  (void)user;
  for (int i = 0; i < 4; i++) ((float *)call->results[0].data)[i] = *(float *)call->state;
  *(float *)call->state += 1;
  return HALO_OK;
}

START_TEST(instructions_have_states) {
  ck_ok(halo_custom_call_register_stateful("t.state", step_counter, open_counter, close_counter,
                                           &states));
  run("HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
      "  a = f32[4] custom-call(x), custom_call_target=\"t.state\",\n"
      "    api_version=API_VERSION_TYPED_FFI, backend_config={start = 3 : i32}\n"
      "  b = f32[4] custom-call(a), custom_call_target=\"t.state\",\n"
      "    api_version=API_VERSION_TYPED_FFI, backend_config={start = 50 : i32}\n"
      "  ROOT o = f32[4] add(a, b)\n}\n",
      "{53, 53, 53, 53}");
  ck_assert_int_eq(atomic_load(&states), 0);
  refused(
      "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
      "  a = f32[4] custom-call(x), custom_call_target=\"t.state\",\n"
      "    api_version=API_VERSION_TYPED_FFI, backend_config={start = 3}\n"
      "  ROOT b = f32[4] custom-call(a), custom_call_target=\"t.state\"\n}\n",
      HALO_INVALID_ARGUMENT, "b: custom call t.state: no start");
  ck_assert_int_eq(atomic_load(&states), 0);
}
END_TEST

START_TEST(dictionaries_are_read) {
  halo_arena arena = {0};
  halo_custom_frame call = {0};
  ck_ok(halo_custom_config_read(
      &arena,
      "{a = 76 : ui8, \"b c\" = \"x\\22y\\n\", c = [1, 2.5], d = array<i64: 3, -4>, e = 1.5 : f32, "
      "f = true, unit, g = {h = [1]}, i = array<f32>, j = 0x7F800000 : f32, k = #x.y<1, 2>, "
      "l = -9223372036854775808 : i64, m = array<bf16: 1.0>, n = array<i1: true, false>, o = {}}",
      &call));
  ck_assert_int_eq(call.attr_count, 15);
  ck_assert_int_eq(halo_custom_call_integer(&call, "a", 0), 76);
  ck_assert_str_eq(halo_custom_call_attr(&call, "b c")->text, "x\"y\n");
  ck_assert_int_eq(halo_custom_call_attr(&call, "c")->kind, HALO_CUSTOM_REALS);
  ck_assert(halo_custom_call_attr(&call, "c")->reals[1] == 2.5);
  ck_assert_int_eq(halo_custom_call_attr(&call, "d")->kind, HALO_CUSTOM_INTEGERS);
  ck_assert_int_eq(halo_custom_call_attr(&call, "d")->integers[1], -4);
  ck_assert(halo_custom_call_attr(&call, "e")->real == 1.5);
  ck_assert_int_eq(halo_custom_call_integer(&call, "f", 0), 1);
  ck_assert_int_eq(halo_custom_call_integer(&call, "unit", 0), 1);
  const halo_custom_attr *inner = halo_custom_call_attr(&call, "g");
  ck_assert_int_eq(inner->kind, HALO_CUSTOM_DICTIONARY);
  ck_assert_int_eq(inner->count, 1);
  ck_assert_str_eq(inner->attrs[0].name, "h");
  ck_assert_int_eq(inner->attrs[0].integers[0], 1);
  ck_assert_int_eq(halo_custom_call_attr(&call, "o")->count, 0);
  static const struct {
    const char *name;
    halo_type type;
  } types[] = {{"a", HALO_U8},  {"c", HALO_F64},  {"d", HALO_S64},
               {"e", HALO_F32}, {"f", HALO_PRED}, {"i", HALO_F32},
               {"l", HALO_S64}, {"m", HALO_BF16}, {"n", HALO_PRED}};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    ck_assert_int_eq(halo_custom_call_attr(&call, types[i].name)->type, types[i].type);
  }
  ck_assert_int_eq(halo_custom_call_attr(&call, "n")->kind, HALO_CUSTOM_INTEGERS);
  ck_assert_int_eq(halo_custom_call_attr(&call, "i")->count, 0);
  ck_assert(halo_custom_call_attr(&call, "j")->real == INFINITY);
  ck_assert_str_eq(halo_custom_call_attr(&call, "k")->text, "#x.y<1, 2>");
  ck_assert_int_eq(halo_custom_call_integer(&call, "l", 0), INT64_MIN);
  static const char *const broken[] = {"x",           "{a = }",   "{a = \"x}",   "{a = 1",
                                       "{a = [1, 2}", "{a = {1}", "{a = {b = 1}"};
  for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
    ck_fails(halo_custom_config_read(&arena, broken[i], &call), HALO_INVALID_ARGUMENT, "position");
  }
  char deep[1024] = "";
  for (int i = 0; i < 100; i++) strcat(deep, "{a = ");
  ck_fails(halo_custom_config_read(&arena, deep, &call), HALO_INVALID_ARGUMENT, "too deeply");
  halo_arena_deinit(&arena);
}
END_TEST

START_TEST(the_builder_makes_calls) {
  halo_builder *b = halo_builder_create("m");
  halo_shape *shape;
  halo_module *module;
  char *text;
  ck_ok(halo_shape_create_array(HALO_F32, 1, (const int64_t[]){4}, &shape));
  halo_op x = halo_parameter(b, 0, shape, "x");
  const halo_shape *shapes[] = {shape};
  halo_custom_options options = {.config = "a\"b\n", .has_side_effect = true};
  halo_op y = halo_custom_call(b, "t.count", 1, &x, shape, &options);
  y = halo_custom_call_with_layout(b, "t.twice", 1, &y, shape, shapes, NULL);
  options = (halo_custom_options){.config = "{n = 1 : i64}", .typed = true};
  y = halo_custom_call_with_computation(b, "t.count", 1, &y, halo_scalar_add(b, HALO_F32), shape,
                                        &options);
  ck_ok(halo_builder_build(b, y, &module));
  ck_ok(halo_module_to_text(module, 0, &text));
  run(text, "{5, 7, 9, 11}");
  ck_assert_ptr_nonnull(strstr(text, "backend_config=\"a\\\"b\\n\""));
  ck_assert_ptr_nonnull(strstr(text, "operand_layout_constraints={f32[4]{0}}"));
  halo_text_release(text);
  halo_module_release(module);
  halo_builder_release(b);
  b = halo_builder_create("m");
  (void)halo_custom_call(b, "", 0, NULL, shape, NULL);
  ck_fails(halo_builder_build(b, halo_zero(b, HALO_F32), &module), HALO_INVALID_ARGUMENT,
           "the target has no name");
  halo_builder_release(b);
  halo_shape_release(shape);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("custom_call");
  TCase *tc = tcase_create("custom_call");
  tcase_add_checked_fixture(tc, setup, NULL);
  tcase_set_timeout(tc, 300);
  tcase_add_test(tc, plain_functions_take_tables_for_tuples);
  tcase_add_test(tc, device_functions_queue_commands);
  tcase_add_test(tc, functions_run_in_loops_and_branches);
  tcase_add_test(tc, side_effects_happen_and_others_go);
  tcase_add_test(tc, failures_carry_the_function_and_its_message);
  tcase_add_test(tc, functions_get_the_layout_that_the_call_names);
  tcase_add_test(tc, results_in_other_layouts_are_turned);
  tcase_add_test(tc, aliased_results_begin_as_their_operand);
  tcase_add_test(tc, aliased_operands_have_the_layout_of_their_result);
  tcase_add_test(tc, markers_are_the_identity);
  tcase_add_test(tc, what_cannot_run_is_refused_by_name_and_line);
  tcase_add_test(tc, instructions_have_states);
  tcase_add_test(tc, dictionaries_are_read);
  tcase_add_test(tc, the_builder_makes_calls);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}
