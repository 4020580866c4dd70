/* SPDX-License-Identifier: Apache-2.0 */
/* test_dynamic.c: programs whose parameters and results have dimensions that are known at run time only. */
#include "run_test.h"
#include "suite.h"

#define DIMS(...) ((int64_t[]){__VA_ARGS__})
#define MARKS(...) ((bool[]){__VA_ARGS__})

static const char squares[] =
    "HloModule squares\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    "  ROOT s = f32[] add(a, b)\n}\nENTRY e {\n  x = f32[<=8,3] parameter(0)\n"
    "  y = f32[<=8,3] multiply(x, x)\n  z = f32[] constant(0)\n"
    "  s = f32[3] reduce(y, z), dimensions={0}, to_apply=add\n"
    "  n = s32[] get-dimension-size(y), dimensions={0}\n"
    "  ROOT t = (f32[<=8,3], f32[3], s32[]) tuple(y, s, n)\n}\n";

static halo_shape *shape_of(int rank, const int64_t *dims, const bool *marks) {
  halo_shape *shape;
  ck_ok(halo_shape_create_dynamic(HALO_F32, rank, dims, marks, &shape));
  return shape;
}

static void check_values(const float *got, const float *expected, int count) {
  for (int i = 0; i < count; i++) {
    ck_assert_msg(got[i] == expected[i], "element %d is %g, not %g", i, got[i], expected[i]);
  }
}

/* ---- Literals ---- */

START_TEST(dynamic_literals) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, squares);
  ck_assert_int_eq(halo_executable_argument_count(e), 1);
  ck_assert_int_eq(halo_executable_result_count(e), 3);
  ck_assert_ptr_null(halo_executable_argument_shape(e, 1));
  ck_assert_ptr_null(halo_executable_result_shape(e, 3));
  char text[64];
  halo_shape_to_text(halo_executable_result_shape(e, 0), true, text, sizeof text);
  ck_assert_str_eq(text, "f32[<=8,3]{1,0}");
  for (int64_t rows = 0; rows <= 8; rows++) {
    float x[24], sums[3] = {0};
    for (int i = 0; i < 24; i++) x[i] = (float)(i + 1);
    for (int i = 0; i < 3 * rows; i++) sums[i % 3] += x[i] * x[i];
    halo_literal *in, *out;
    ck_ok(halo_literal_create_array(HALO_F32, 2, DIMS(rows, 3), x, &in));
    ck_ok(halo_executable_run(e, &in, 1, &out));
    const halo_literal *y = halo_literal_element(out, 0);
    ck_assert_int_eq(halo_shape_dim(halo_literal_shape(y), 0), rows);
    ck_assert(!halo_shape_dim_is_dynamic(halo_literal_shape(y), 0));
    for (int i = 0; i < 3 * rows; i++) {
      ck_assert(halo_literal_get_f64(y, i) == (double)x[i] * x[i]);
    }
    check_values(halo_literal_data(halo_literal_element(out, 1)), sums, 3);
    ck_assert_int_eq(halo_literal_get_i64(halo_literal_element(out, 2), 0), rows);
    halo_literal_release(in);
    halo_literal_release(out);
  }
  halo_literal *in, *out = NULL;
  float x[27] = {0};
  ck_ok(halo_literal_create_array(HALO_F32, 2, DIMS(9, 3), x, &in));
  ck_fails(halo_executable_run(e, &in, 1, &out), HALO_INVALID_ARGUMENT,
           "must be f32[<=8,3], f32[9,3] was given");
  halo_literal_release(in);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* ---- Buffers ---- */

START_TEST(dynamic_buffers) {
  halo_client *client = run_client(NULL);
  halo_device *device = halo_client_device(client, 0);
  halo_shape *shape = shape_of(2, DIMS(4, 3), MARKS(true, true));
  /* Columns of a matrix of five columns, as they lie. */
  float from[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, to[12];
  int64_t sizes[2];
  halo_buffer *buffer, *copy;
  ck_ok(halo_buffer_put_sized(device, from + 1, DIMS(20, 8), shape, DIMS(2, 2), &buffer));
  ck_ok(halo_buffer_sizes(buffer, sizes));
  ck_assert(sizes[0] == 2 && sizes[1] == 2);
  ck_ok(halo_buffer_to_host(buffer, to, 16));
  check_values(to, (float[]){2, 4, 7, 9}, 4);
  ck_fails(halo_buffer_to_host(buffer, to, 12), HALO_INVALID_ARGUMENT, "takes 16 bytes");
  ck_ok(halo_buffer_copy_to_device(buffer, device, &copy));
  halo_buffer_release(buffer);
  halo_event *done;
  ck_ok(halo_buffer_to_host_async(copy, to, sizeof to, &done));
  ck_ok(halo_event_wait(done));
  halo_event_release(done);
  check_values(to, (float[]){2, 4, 7, 9}, 4);
  ck_ok(halo_buffer_get(copy, to, DIMS(4, 8), NULL));
  check_values(to, (float[]){2, 7, 4, 9}, 4);
  halo_literal *literal;
  ck_ok(halo_buffer_to_literal(copy, &literal));
  ck_assert_int_eq(halo_shape_dim(halo_literal_shape(literal), 1), 2);
  halo_literal_release(literal);
  halo_buffer_release(copy);
  /* Without sizes there are as many as fit. */
  float all[12] = {0};
  ck_ok(halo_buffer_put(device, all, NULL, shape, &buffer, NULL));
  ck_ok(halo_buffer_sizes(buffer, sizes));
  ck_assert(sizes[0] == 4 && sizes[1] == 3);
  halo_buffer_release(buffer);
  ck_fails(halo_buffer_put_sized(device, all, NULL, shape, DIMS(5, 1), &buffer),
           HALO_INVALID_ARGUMENT, "dimension 0 has at most 4 elements, not 5");
  ck_fails(halo_buffer_put_sized(device, all, NULL, shape, DIMS(1, -1), &buffer),
           HALO_INVALID_ARGUMENT, "not -1");
  halo_shape_release(shape);
  halo_client_release(client);
}
END_TEST

/* A result is an argument of the next run, its sizes with it; donated or not, in any layout. */
START_TEST(dynamic_chain) {
  halo_client *client = run_client(NULL);
  halo_device *device = halo_client_device(client, 0);
  halo_executable *e =
      run_compile(client,
                  "HloModule m, input_output_alias={ {}: (0, {}) }, "
                  "entry_computation_layout={(f32[<=4,3]{0,1})->f32[<=4,3]{0,1}}\n"
                  "ENTRY e {\n  x = f32[<=4,3] parameter(0)\n  ROOT y = f32[<=4,3] add(x, x)\n}\n");
  halo_buffer *x, *y;
  float from[6] = {1, 2, 3, 4, 5, 6}, to[6];
  ck_ok(halo_buffer_put_sized(device, from, NULL, halo_executable_argument_shape(e, 0), DIMS(2, 3),
                              &x));
  for (int i = 0; i < 3; i++) {
    const halo_execute_options options = {.donated = (int[]){0}, .donated_count = i != 1};
    ck_ok(halo_executable_execute(e, &x, 1, &options, &y));
    halo_buffer_release(x);
    x = y;
  }
  ck_ok(halo_buffer_to_host(x, to, sizeof to));
  check_values(to, (float[]){8, 16, 24, 32, 40, 48}, 6);
  halo_buffer_release(x);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* A program that was written down and read again knows its sizes. */
START_TEST(dynamic_serialized) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, squares), *again;
  char *data;
  size_t size;
  ck_ok(halo_executable_serialize(e, &data, &size));
  ck_ok(halo_client_deserialize(client, data, size, NULL, &again));
  halo_text_release(data);
  ck_assert_int_eq(halo_executable_argument_count(again), 1);
  ck_assert_int_eq(halo_executable_result_count(again), 3);
  float x[6] = {1, 2, 3, 4, 5, 6};
  halo_literal *in, *out;
  ck_ok(halo_literal_create_array(HALO_F32, 2, DIMS(2, 3), x, &in));
  ck_ok(halo_executable_run(again, &in, 1, &out));
  ck_assert_int_eq(halo_shape_tuple_count(halo_literal_shape(out)), 3);
  ck_assert_int_eq(halo_literal_get_i64(halo_literal_element(out, 2), 0), 2);
  halo_literal_release(in);
  halo_literal_release(out);
  halo_executable_release(e);
  halo_executable_release(again);
  halo_client_release(client);
}
END_TEST

/* So does the text of the module after the passes. */
START_TEST(dynamic_text) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, squares), *again;
  halo_module *module = run_parse(halo_executable_report(e, HALO_REPORT_MODULE));
  ck_assert_int_eq(halo_module_parameter_count(module), 1);
  ck_assert_int_eq(halo_shape_tuple_count(halo_module_result_shape(module)), 3);
  ck_ok(halo_client_compile(client, module, NULL, &again));
  float x[3] = {1, 2, 3};
  halo_literal *in, *out;
  ck_ok(halo_literal_create_array(HALO_F32, 2, DIMS(1, 3), x, &in));
  ck_ok(halo_executable_run(again, &in, 1, &out));
  ck_assert_int_eq(halo_shape_dim(halo_literal_shape(halo_literal_element(out, 0)), 0), 1);
  halo_literal_release(in);
  halo_literal_release(out);
  halo_executable_release(e);
  halo_executable_release(again);
  halo_module_release(module);
  halo_client_release(client);
}
END_TEST

/* What is the identity on one device keeps the size. */
START_TEST(dynamic_marks) {
  halo_client *client = run_client(NULL);
  halo_executable *e =
      run_compile(client,
                  "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                  "  ROOT s = f32[] add(a, b)\n}\nENTRY e {\n  x = f32[<=8] parameter(0)\n"
                  "  y = f32[<=8] custom-call(x), custom_call_target=\"Sharding\"\n"
                  "  z = f32[<=8] all-reduce(y), replica_groups={}, to_apply=add\n"
                  "  ROOT w = f32[<=8] negate(z)\n}\n");
  float x[3] = {1, 2, 3};
  halo_literal *in, *out;
  ck_ok(halo_literal_create_array(HALO_F32, 1, DIMS(3), x, &in));
  ck_ok(halo_executable_run(e, &in, 1, &out));
  ck_assert_int_eq(halo_shape_dim(halo_literal_shape(out), 0), 3);
  check_values(halo_literal_data(out), (float[]){-1, -2, -3}, 3);
  halo_literal_release(in);
  halo_literal_release(out);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* Work that would go to another queue is done in place. */
START_TEST(dynamic_async) {
  halo_client *client = run_client(NULL);
  halo_executable *e =
      run_compile(client,
                  "HloModule m\nf {\n  x = f32[<=512,512] parameter(0)\n"
                  "  ROOT y = f32[<=512,<=512] dot(x, x), lhs_contracting_dims={1}, "
                  "rhs_contracting_dims={1}\n}\n"
                  "ENTRY e {\n  x = f32[<=512,512] parameter(0)\n"
                  "  s = ((f32[<=512,512]), f32[<=512,<=512], u32[]) async-start(x), calls=f\n"
                  "  ROOT d = f32[<=512,<=512] async-done(s), calls=f\n}\n");
  ck_assert_int_eq(run_count(halo_executable_report(e, HALO_REPORT_MODULE), "async"), 0);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* Sizes that are their bounds leave nothing behind. */
START_TEST(dynamic_costs_nothing) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(
      client,
      "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  ROOT s = f32[] add(a, b)\n}\nENTRY e {\n  x = f32[8] parameter(0)\n"
      "  n = s32[] constant(8)\n  d = f32[<=8] set-dimension-size(x, n), dimensions={0}\n"
      "  z = f32[] constant(0)\n  ROOT s = f32[] reduce(d, z), dimensions={0}, to_apply=add\n}\n");
  const char *module = halo_executable_report(e, HALO_REPORT_MODULE);
  ck_assert_int_eq(run_count(module, "select("), 0);
  ck_assert_int_eq(run_count(module, "<="), 0);
  ck_assert_int_eq(run_count(module, "halo_dynamic_sizes"), 0);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* ---- Refusals ---- */

#define SIZED                                                                                      \
  "HloModule m\nENTRY e {\n  x = f32[8] parameter(0)\n  n = s32[] parameter(1)\n"                  \
  "  d = f32[<=8] set-dimension-size(x, n), dimensions={0}\n"

static const struct {
  const char *text, *parts[2];
} refused[] = {
    {SIZED "  ROOT f = c64[<=5] fft(d), fft_type=RFFT, fft_length={8}\n}\n",
     {"line 6: f: fft", "known at run time only"}},
    {SIZED "  ROOT r = f32[4,2] reshape(d)\n}\n",
     {"line 6: r: reshape", "does not tell which dimension"}},
    {SIZED "  m = f32[<=8,8] broadcast(d), dimensions={0}\n  ROOT c = f32[<=8,8] cholesky(m)\n}\n",
     {"line 7: c: cholesky", "known at run time only"}},
    {SIZED "  k = f32[1,<=8,1] reshape(d)\n  i = f32[1,8,1] parameter(2)\n"
           "  ROOT c = f32[1,1,1] convolution(i, k), window={size=8}, dim_labels=b0f_i0o->b0f\n}\n",
     {"line 8: c: convolution", "a kernel, whose extent"}},
    {SIZED "  ROOT r = f32[<=8] shuffle(d), dimensions={0}, mode=rotate, shifts={1}\n}\n",
     {"line 6: r: shuffle", "cannot work along"}},
    {SIZED "  ROOT r = f32[8] shuffle(x), dimensions={0}, mode=mix\n}\n",
     {"line 6: %r", "shuffle"}},
    {"HloModule m\nbody {\n  s = f32[8] parameter(0)\n  n = s32[] constant(3)\n"
     "  ROOT r = f32[8] set-dimension-size(s, n), dimensions={0}\n}\n"
     "condition {\n  s = f32[8] parameter(0)\n  ROOT p = pred[] constant(false)\n}\n"
     "ENTRY e {\n  x = f32[8] parameter(0)\n"
     "  ROOT w = f32[8] while(x), condition=condition, body=body\n}\n",
     {"line 13: w: while", "in its body"}},
    {"HloModule m\nENTRY e {\n  x = f32[<=1048576] parameter(0)\n"
     "  y = f32[<=1048576,4096] broadcast(x), dimensions={0}\n"
     "  ROOT z = f32[<=4294967296] reshape(y)\n}\n",
     {"line 5: z: reshape", "does not fit s32"}},
    {"HloModule m\nENTRY e {\n  ROOT x = s8[<=4294967296] parameter(0)\n}\n",
     {"line 3: x: parameter", "does not fit s32"}},
    {"HloModule m\nENTRY e {\n  q = token[] after-all()\n"
     "  ROOT i = ((f32[<=8]), token[]) infeed(q)\n}\n",
     {"line 4: i: infeed", "known at run time only"}},
    {SIZED "  t = (f32[<=8], f32[8]) custom-call(x), custom_call_target=\"a\"\n"
           "  ROOT g = f32[<=8] get-tuple-element(t), index=0\n}\n",
     {"line 6: t: custom-call", "known at run time only"}},
    {"HloModule m\nENTRY e {\n  x = f32[?] parameter(0)\n  ROOT y = f32[?] add(x, x)\n}\n",
     {"line 3: x: f32[?]", "without a bound"}},
};

START_TEST(dynamic_refused) {
  halo_client *client = run_client(NULL);
  halo_executable *e = (void *)&client;
  ck_fails(run_try_compile(client, refused[_i].text, NULL, &e), HALO_UNIMPLEMENTED,
           refused[_i].parts[0]);
  ck_message_has(refused[_i].parts[1]);
  ck_assert_ptr_null(e);
  halo_client_release(client);
}
END_TEST

/* The pass speaks of scalars that the entry must have. */
START_TEST(dynamic_claims) {
  static const char text[] =
      "HloModule m, frontend_attributes={halo_dynamic_sizes=\"values\"}\n"
      "ENTRY e {\n  ROOT x = f32[<=8] parameter(0)\n}\n";
  halo_module *module;
  ck_fails(halo_module_parse(text, sizeof text - 1, "m", &module), HALO_INVALID_ARGUMENT,
           "lacks the sizes");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("dynamic");
  TCase *tc = tcase_create("dynamic");
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, dynamic_literals);
  tcase_add_test(tc, dynamic_buffers);
  tcase_add_test(tc, dynamic_chain);
  tcase_add_test(tc, dynamic_serialized);
  tcase_add_test(tc, dynamic_text);
  tcase_add_test(tc, dynamic_marks);
  tcase_add_test(tc, dynamic_async);
  tcase_add_test(tc, dynamic_costs_nothing);
  tcase_add_loop_test(tc, dynamic_refused, 0, sizeof refused / sizeof refused[0]);
  tcase_add_test(tc, dynamic_claims);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}
