/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_kernels.c: each implementation forced on a small module, as for a CPU and as for a GPU. */
#include "client/executable.h"
#include "evaluator/evaluator.h"
#include "run_test.h"
#include "suite.h"

/* ---- Implementations ---- */

#define REDUCER                                                                                    \
  "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
static const char rows_text[] =
    "HloModule m\n" REDUCER
    "ENTRY e {\n  x = f32[5,300] parameter(0)\n  z = f32[] constant(1)\n"
    "  ROOT r = f32[5] reduce(x, z), dimensions={1}, to_apply=add\n}\n";
static const char columns_text[] =
    "HloModule m\n" REDUCER
    "ENTRY e {\n  x = f32[70,33] parameter(0)\n  z = f32[] constant(1)\n"
    "  ROOT r = f32[33] reduce(x, z), dimensions={0}, to_apply=add\n}\n";
static const char dot_text[] =
    "HloModule m\nENTRY e {\n  x = f32[37,20] parameter(0)\n  y = f32[20,70] parameter(1)\n"
    "  ROOT d = f32[37,70] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";
/* Few results of many terms, with something behind them. */
static const char long_dot_text[] =
    "HloModule m\nENTRY e {\n  x = f32[20011,7] parameter(0)\n  y = f32[20011,70] parameter(1)\n"
    "  d = f32[7,70] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
    "  ROOT n = f32[7,70] negate(d)\n}\n";
static const char long_conv_text[] =
    "HloModule m\nENTRY e {\n  x = f32[2,40,41,5] parameter(0)\n  k = f32[2,40,41,6] "
    "parameter(1)\n  ROOT c = f32[3,3,5,6] convolution(x, k), window={size=40x41 pad=1_1x1_1}, "
    "dim_labels=f01b_i01o->01bf\n}\n";
/* Parts that lie side by side in memory, and what is done to the result. */
static const char complex_dot_text[] =
    "HloModule m\nENTRY e {\n  x = c64[2,37,20] parameter(0)\n  y = c64[2,20,35] parameter(1)\n"
    "  ROOT d = c64[2,37,35] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
    "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n}\n";
static const char complex_dot_fused_text[] =
    "HloModule m\nENTRY e {\n  x = c64[20,37] parameter(0)\n  y = c64[35,20] parameter(1)\n"
    "  d = c64[37,35] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={1}\n"
    "  ROOT n = c64[37,35] negate(d)\n}\n";
static const char conv_text[] =
    "HloModule m\nENTRY e {\n  x = f32[2,9,8,20] parameter(0)\n  k = f32[3,2,20,33] parameter(1)\n"
    "  ROOT c = f32[2,9,8,33] convolution(x, k), window={size=3x2 pad=1_1x0_1}, "
    "dim_labels=b01f_01io->b01f\n}\n";
static const char holes_text[] =
    "HloModule m\nENTRY e {\n  x = f32[2,5,4,20] parameter(0)\n  k = f32[3,4,20,33] parameter(1)\n"
    "  ROOT c = f32[2,10,14,33] convolution(x, k), window={size=3x4 pad=1_2x3_4 lhs_dilate=2x3}, "
    "dim_labels=b01f_01io->b01f\n}\n";
static const char depthwise_text[] =
    "HloModule m\nENTRY e {\n  x = f32[2,9,21,40] parameter(0)\n  k = f32[3,2,1,40] parameter(1)\n"
    "  ROOT c = f32[2,5,20,40] convolution(x, k), window={size=3x2 pad=1_1x0_0 stride=2x1}, "
    "dim_labels=b01f_01io->b01f, feature_group_count=40\n}\n";
static const char stream_depthwise_text[] =
    "HloModule m\nENTRY e {\n  x = f32[1,512,256,16] parameter(0)\n  k = f32[1,1,1,16] "
    "parameter(1)\n"
    "  ROOT c = f32[1,512,256,16] convolution(x, k), window={size=1x1}, "
    "dim_labels=b01f_01io->b01f, feature_group_count=16\n}\n";
static const char turn_text[] =
    "HloModule m\nENTRY e {\n  x = f32[50,130] parameter(0)\n"
    "  ROOT t = f32[130,50] transpose(x), dimensions={1,0}\n}\n";
static const char update_text[] =
    "HloModule m\nENTRY e {\n  x = f32[50,13] parameter(0)\n  u = f32[5,3] parameter(1)\n"
    "  i = s32[] constant(7)\n"
    "  ROOT t = f32[50,13] dynamic-update-slice(x, u, i, i)\n}\n";

/* Rows that a work group takes whole, several at once, or with a part of a group left over; that a
 * reshape cuts anew; and that are written past the caches. */
static const char long_rows_text[] =
    "HloModule m\nENTRY e {\n  x = f32[3,2053] parameter(0)\n"
    "  ROOT t = f32[3,2053] reverse(x), dimensions={1}\n}\n";
static const char short_rows_text[] =
    "HloModule m\nENTRY e {\n  x = f32[64,17] parameter(0)\n"
    "  ROOT t = f32[64,17] reverse(x), dimensions={0}\n}\n";
static const char cut_rows_text[] =
    "HloModule m\nENTRY e {\n  x = f32[8,10,30] parameter(0)\n"
    "  t = f32[10,8,30] transpose(x), dimensions={1,0,2}\n"
    "  ROOT r = f32[10,240] reshape(t)\n}\n";
static const char stream_rows_text[] =
    "HloModule m\nENTRY e {\n  x = f32[1024,2048] parameter(0)\n"
    "  ROOT t = f32[1024,2048] reverse(x), dimensions={0}\n}\n";

/* Rows of a short last dimension, of which the last work item has fewer: put together and written in the place of what
 * is read, with a second result; turned round as complex numbers; looked up; and cut out of one number. */
static const char put_rows_text[] =
    "HloModule m\nENTRY e {\n  x = f32[333,3] parameter(0)\n  y = f32[333,1] parameter(1)\n"
    "  a = f32[333,1] slice(x), slice={[0:333], [1:2]}\n"
    "  b = f32[333,1] slice(x), slice={[0:333], [2:3]}\n  s = f32[333,1] multiply(a, y)\n"
    "  c = f32[333,3] concatenate(s, b, y), dimensions={1}\n  d = f32[333,3] add(c, x)\n"
    "  g = pred[333,3] compare(d, c), direction=GT\n"
    "  ROOT t = (f32[333,3], pred[333,3]) tuple(d, g)\n}\n";
static const char stacked_rows_text[] =
    "HloModule m\nENTRY e {\n  x = f32[333,1] parameter(0)\n  y = f32[333,11] parameter(1)\n"
    "  ROOT c = f32[333,12] concatenate(y, x), dimensions={1}\n}\n";
static const char turned_rows_text[] =
    "HloModule m\nENTRY e {\n  x = c64[9,37,3] parameter(0)\n"
    "  ROOT t = c64[9,37,3] reverse(x), dimensions={1,2}\n}\n";
static const char found_rows_text[] =
    "HloModule m\nENTRY e {\n  x = f64[20,3] parameter(0)\n  i = s32[130,1] parameter(1)\n"
    "  ROOT t = f64[130,3] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}\n}\n";
static const char cut_words_text[] =
    "HloModule m\nENTRY e {\n  x = f32[5,77] parameter(0)\n"
    "  ROOT t = u8[5,77,4] bitcast-convert(x)\n}\n";

/* Sums that are written past the caches: of rows from their ends, and of columns. */
#define RUNNING_SUMS(type, shape, window)                                                          \
  "HloModule m\nadd {\n  a = " type "[] parameter(0)\n  b = " type                                 \
  "[] parameter(1)\n"                                                                              \
  "  ROOT c = " type "[] add(a, b)\n}\nENTRY e {\n  x = " type "[" shape                           \
  "] parameter(0)\n"                                                                               \
  "  z = " type "[] constant(3)\n  ROOT y = " type "[" shape                                       \
  "] reduce-window(x, z), window={" window "}, to_apply=add\n}\n"
static const char stream_row_sums_text[] =
    RUNNING_SUMS("f32", "65536,32", "size=1x32 pad=0_0x0_31");
static const char stream_wide_sums_text[] =
    RUNNING_SUMS("f64", "32768,32", "size=1x32 pad=0_0x31_0");
/* Neighbours under one window each, likewise. */
static const char stream_pool_text[] =
    "HloModule m\nmost {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    "  ROOT c = f32[] maximum(a, b)\n}\n"
    "ENTRY e {\n  x = f32[256,130,128] parameter(0)\n  z = f32[] constant(-inf)\n"
    "  ROOT y = f32[128,129,128] reduce-window(x, z), window={size=2x2x1 stride=2x1x1}, "
    "to_apply=most\n}\n";
static const char stream_column_sums_text[] =
    RUNNING_SUMS("f32", "32,65536", "size=32x1 pad=31_0x0_0");
/* Fewer rows than a line has elements. */
static const char stream_few_sums_text[] = RUNNING_SUMS("f32", "7,300032", "size=7x1 pad=0_6x0_0");

/* Dimensions that are reduced on both sides of one that is kept, many of them and of a few. */
#define SUMS_AROUND(shape)                                                                         \
  "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"                       \
  "  ROOT c = f32[] add(a, b)\n}\nENTRY e {\n  x = f32[" shape                                     \
  "] parameter(0)\n"                                                                               \
  "  z = f32[] constant(3)\n  ROOT y = f32[7] reduce(x, z), dimensions={0,2}, to_apply=add\n}\n"
static const char sums_around_text[] = SUMS_AROUND("50,7,1000");
static const char sums_before_text[] = SUMS_AROUND("5000,7,2");

/* A few vectors by a matrix, from the left and from the right, where the matrix has what is added up in
 * rows and in columns: sums of products. */
static const char thin_rows_text[] =
    "HloModule m\nENTRY e {\n  x = f32[2,130,3] parameter(0)\n  y = f32[2,150,130] parameter(1)\n"
    "  ROOT c = f32[2,3,150] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
    "lhs_contracting_dims={1}, rhs_contracting_dims={2}\n}\n";
static const char thin_right_text[] =
    "HloModule m\nENTRY e {\n  x = f32[2,150,130] parameter(0)\n  y = f32[3,130,2] parameter(1)\n"
    "  ROOT c = f32[2,150,3] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={2}, "
    "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n}\n";
static const char thin_columns_text[] =
    "HloModule m\nENTRY e {\n  x = f32[2,4096] parameter(0)\n  y = f32[4096,1025] parameter(1)\n"
    "  ROOT c = f32[2,1025] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";

/* Complex ones: panels of rows of the first operand need not be packed, and so the sums are of columns alone. */
static const char thin_complex_rows_text[] =
    "HloModule m\nENTRY e {\n  x = c64[300,200] parameter(0)\n  y = c64[200,4] parameter(1)\n"
    "  ROOT c = c64[300,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";
static const char thin_complex_columns_text[] =
    "HloModule m\nENTRY e {\n  x = c64[4,200] parameter(0)\n  y = c64[200,300] parameter(1)\n"
    "  ROOT c = c64[4,300] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";

/* Many small matrices are no sums. */
static const char small_batch_text[] =
    "HloModule m\nENTRY e {\n  x = f32[4000,3,3] parameter(0)\n  y = f32[4000,3,3] parameter(1)\n"
    "  ROOT c = f32[4000,3,3] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
    "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n}\n";

/* Panels of what lies along the terms: whole squares of 16 x 16, and what is left over of lines and of terms. */
static const char turned_panels_text[] =
    "HloModule m\nENTRY e {\n  x = f32[3,70,53] parameter(0)\n  y = f32[3,83,53] parameter(1)\n"
    "  ROOT c = f32[3,70,83] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
    "lhs_contracting_dims={2}, rhs_contracting_dims={2}\n}\n";

static const struct {
  const char *name, *text;
} forced[] = {{"loop:turn", turn_text},
              {"loop:generic", turn_text},
              {"loop:rows", long_rows_text},
              {"loop:generic", long_rows_text},
              {"loop:short", short_rows_text},
              {"loop:spans", cut_rows_text},
              {"loop:short", put_rows_text},
              {"loop:spans", put_rows_text},
              {"loop:short", stacked_rows_text},
              {"loop:line", turned_rows_text},
              {"loop:short", turned_rows_text},
              {"loop:short", found_rows_text},
              {"loop:rows", found_rows_text},
              {"loop:short", cut_words_text},
              {"loop:generic", cut_words_text},
              {"loop:rows", stream_rows_text},
              {"loop:stream", stream_rows_text},
              {"window:lanes", stream_pool_text},
              {"window:scan", stream_row_sums_text},
              {"window:scan", stream_wide_sums_text},
              {"window:scan", stream_column_sums_text},
              {"window:scan", stream_few_sums_text},
              {"reduce:row", rows_text},
              {"reduce:row", sums_around_text},
              {"reduce:column", sums_before_text},
              {"reduce:row", thin_rows_text},
              {"reduce:row", thin_right_text},
              {"reduce:column", thin_columns_text},
              {"dot:panels", small_batch_text},
              {"dot:loop", small_batch_text},
              {"dot:panels", turned_panels_text},
              {"reduce:loop", rows_text},
              {"reduce:column", columns_text},
              {"reduce:loop", columns_text},
              {"dot:panels", dot_text},
              {"dot:tile", dot_text},
              {"dot:tile", long_dot_text},
              {"conv:tile", long_conv_text},
              {"dot:clblast", dot_text},
              {"dot:loop", dot_text},
              {"dot:panels", complex_dot_text},
              {"dot:tile", complex_dot_text},
              {"dot:panels", complex_dot_fused_text},
              {"dot:tile", complex_dot_fused_text},
              {"conv:panels", conv_text},
              {"conv:tile", conv_text},
              {"conv:loop", conv_text},
              {"conv:panels", holes_text},
              {"conv:tile", holes_text},
              {"conv:loop", holes_text},
              {"conv:depthwise", depthwise_text},
              {"conv:depthwise", stream_depthwise_text},
              {"update:window", update_text},
              {"update:loop", update_text},
              {"reduce:column", thin_complex_columns_text},
              {"dot:panels", thin_complex_rows_text}};
enum {
  FORCED_COUNT = sizeof forced / sizeof forced[0],
  FORCED_ANYWHERE = FORCED_COUNT - 2 /* the last ones are chosen for CPUs alone */
};

/* Small whole numbers, so that sums are exact in any order. */
static halo_literal *numbers(const halo_shape *shape, int seed) {
  halo_literal *literal;
  ck_ok(halo_literal_create(shape, &literal));
  for (int64_t i = 0; i < halo_shape_element_count(shape); i++) {
    double value = (double)((i * 7 + seed) % 11 - 5), imaginary = (double)((i * 5 + seed) % 9 - 4);
    if (halo_type_is_complex(shape->type)) {
      halo_literal_set_c128(literal, i, value, imaginary);
    } else {
      halo_literal_set_f64(literal, i, value);
    }
  }
  return literal;
}

static void check_forced(const char *name, const char *text) {
  halo_client *client = run_client(NULL);
  halo_module *module = run_parse(text);
  halo_executable *e;
  const halo_compile_options options = {.kernels = name};
  halo_status status = halo_client_compile(client, module, &options, &e);
  if (status != HALO_OK && strstr(halo_error_message(), "cannot be used on the device")) {
    ck_assert_int_eq(status, HALO_INVALID_ARGUMENT); /* a library is missing, or it is for CPUs */
    halo_module_release(module);
    halo_client_release(client);
    return;
  }
  ck_ok(status);
  const char *explain = halo_executable_report(e, HALO_REPORT_EXPLAIN);
  char chosen[64], refused[64];
  snprintf(chosen, sizeof chosen, "-> %s\n", name);
  snprintf(refused, sizeof refused, "    %-10s no: ", strchr(name, ':') + 1);
  ck_assert_msg(strstr(explain, chosen) || strstr(explain, refused), "%s:\n%s", name, explain);
  halo_literal *arguments[2], *expected, *got;
  int count = halo_module_parameter_count(module);
  for (int i = 0; i < count; i++) arguments[i] = numbers(halo_module_parameter_shape(module, i), i);
  ck_ok(halo_evaluate(module->entry, arguments, count, &expected));
  ck_ok(halo_executable_run(e, arguments, count, &got));
  for (int64_t i = 0; i < halo_shape_element_count(halo_literal_shape(got)); i++) {
    double is[2], should[2];
    halo_literal_get_c128(got, i, &is[0], &is[1]);
    halo_literal_get_c128(expected, i, &should[0], &should[1]);
    ck_assert_msg(is[0] == should[0] && is[1] == should[1],
                  "%s: element %lld is %g, %g, not %g, %g", name, (long long)i, is[0], is[1],
                  should[0], should[1]);
  }
  for (int i = 0; i < count; i++) halo_literal_release(arguments[i]);
  halo_literal_release(expected);
  halo_literal_release(got);
  halo_executable_release(e);
  halo_module_release(module);
  halo_client_release(client);
}

START_TEST(forced_here) { check_forced(forced[_i].name, forced[_i].text); }
END_TEST

START_TEST(forced_as_gpu) {
  setenv("HALO_TREAT_AS", "gpu", 1);
  check_forced(forced[_i].name, forced[_i].text);
}
END_TEST

/* "1,1,...,last": as many dimensions as there may be. */
static const char *most_dims(char *out, const char *last) {
  for (int d = 1; d < HALO_MAX_RANK; d++) strcpy(out + 2 * (d - 1), "1,");
  strcpy(out + 2 * (HALO_MAX_RANK - 1), last);
  return out;
}

/* What else is done with a dimension more stays as it is where there can be none. */
START_TEST(most_dimensions) {
  char in[256], out[256], window[256], lists[512] = "", text[4096];
  for (int d = 0; d < HALO_MAX_RANK - 1; d++)
    sprintf(lists + strlen(lists), "%s%d", d ? "," : "", d);
  most_dims(in, "5");
  most_dims(out, "1");
  out[strlen(out) - 2] = '\0';
  int last = HALO_MAX_RANK - 1;
  snprintf(text, sizeof text,
           "HloModule m\nENTRY e {\n  x = f32[%s] parameter(0)\n  y = f32[%s] parameter(1)\n"
           "  ROOT c = f32[%s] dot(x, y), lhs_batch_dims={%s}, rhs_batch_dims={%s}, "
           "lhs_contracting_dims={%d}, rhs_contracting_dims={%d}\n}\n",
           in, in, out, lists, lists, last, last);
  check_forced("dot:loop", text);
  most_dims(in, "400");
  most_dims(out, "301");
  most_dims(window, "100");
  for (char *w = window; *w; w++) *w = *w == ',' ? 'x' : *w;
  snprintf(text, sizeof text,
           "HloModule m\nmost {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
           "  ROOT c = f32[] maximum(a, b)\n}\n"
           "ENTRY e {\n  x = f32[%s] parameter(0)\n  z = f32[] constant(-inf)\n"
           "  ROOT y = f32[%s] reduce-window(x, z), window={size=%s}, to_apply=most\n}\n",
           in, out, window);
  check_forced("window:loop", text);
}
END_TEST

/* A large right side is packed in stretches of columns, of which the last is shorter. */
START_TEST(large_products) {
  static const struct {
    const char *text;
    int64_t most; /* bytes */
  } products[] = {
      {"ENTRY e { x = f32[20,2048] parameter(0) y = f32[2048,1100] parameter(1) "
       "ROOT d = f32[20,1100] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
       6000000},
      {"ENTRY e { x = f32[20,2048] parameter(0) y = f32[1100,2048] parameter(1) "
       "ROOT d = f32[20,1100] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1} }",
       6000000},
      {"ENTRY e { x = f32[2048,20] parameter(0) y = f32[1100,2048] parameter(1) "
       "z = f32[1100,2048] multiply(y, y) "
       "d = f32[20,1100] dot(x, z), lhs_contracting_dims={0}, rhs_contracting_dims={1} "
       "ROOT a = f32[20,1100] abs(d) }",
       15000000}};
  halo_client *client = run_client(NULL);
  for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
    check_forced("dot:panels", products[i].text);
    halo_executable *e;
    ck_ok(run_try_compile(client, products[i].text,
                          &(halo_compile_options){.kernels = "dot:panels"}, &e));
    const halo_plan *plan = halo_executable_plan(e);
    if (halo_executable_home(e)->cl->caps.compute_units <= 8) {
      ck_assert_int_le(plan->arenas.data[0].size, products[i].most);
    }
    halo_executable_release(e);
  }
  halo_client_release(client);
}
END_TEST

/* Both sides are packed by kernels of their own, in one program with the product: the second of these begins with a condition on
 * the work item, and the first has a loop whose rounds depend on it (opencl/program.c says what a compiler made of that). */
static const struct packed_type {
  const char *name, *result;
} packed_types[] = {
    {"f16", "f16"}, {"bf16", "bf16"}, {"f32", "f32"}, {"s8", "s32"}, {"f64", "f64"}};
enum { PACKED_COUNT = sizeof packed_types / sizeof packed_types[0] };

START_TEST(packed_products) {
  static const int depths[] = {1000, 1024};
  const struct packed_type *type = &packed_types[_i];
  halo_client *client = run_client(NULL);
  bool has = client->devices[0].cl->caps.has_f64 || strcmp(type->name, "f64") != 0;
  halo_client_release(client);
  if (!has) {
    run_skip("packed_products of f64", "the device has no f64");
    return;
  }
  for (int i = 0; i < 2; i++) {
    char text[400];
    snprintf(text, sizeof text,
             "ENTRY e { x = %s[64,%d] parameter(0) y = %s[%d,64] parameter(1) ROOT d = %s[64,64] "
             "dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
             type->name, depths[i], type->name, depths[i], type->result);
    check_forced("dot:panels", text);
  }
}
END_TEST

START_TEST(unknown_names) {
  static const char *const bad[] = {
      "dot:best", "dot", "-loop:", "dott:loop", "dot:loop,what", "dot:"};
  halo_client *client = run_client(NULL);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    halo_executable *e = (void *)&client;
    ck_fails(run_try_compile(client, dot_text, &(halo_compile_options){.kernels = bad[i]}, &e),
             HALO_INVALID_ARGUMENT,
             "the list of kernels (--kernels, HALO_KERNELS): there is no implementation");
    ck_assert_ptr_null(e);
  }
  halo_executable *e;
  /* Also where there is no kernel to choose. */
  ck_fails(run_try_compile(client, "HloModule m\nENTRY e {\n  ROOT x = f32[4] parameter(0)\n}\n",
                           &(halo_compile_options){.kernels = "junk"}, &e),
           HALO_INVALID_ARGUMENT, "no implementation \"junk\"; families are ");
  ck_fails(
      run_try_compile(
          client, dot_text,
          &(halo_compile_options){.kernels = "-dot:loop,-dot:tile,-dot:panels,-dot:clblast"}, &e),
      HALO_INVALID_ARGUMENT, "(--kernels, HALO_KERNELS) leaves no implementation of dot");
  /* The variable says what the option would; the option wins. */
  setenv("HALO_KERNELS", "dot:best", 1);
  ck_fails(run_try_compile(client, dot_text, NULL, &e), HALO_INVALID_ARGUMENT,
           "\"dot:best\"; there are dot:");
  ck_ok(run_try_compile(client, dot_text, &(halo_compile_options){.kernels = ",dot:loop,,"}, &e));
  ck_assert_ptr_nonnull(strstr(halo_executable_report(e, HALO_REPORT_EXPLAIN), "-> dot:loop"));
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* Preferring what never runs on the device is an error; excluding it is not. */
START_TEST(useless_names) {
  const char *const cases[][2] = {
      {"dot:tile", "\"dot:tile\" cannot be used on the device small-groups: work groups of 64 do"},
      {"dot:loop,dot:clblast",
       "\"dot:clblast\" cannot be used on the device small-groups: CLBlast"},
      {"dot:panels",
       "\"dot:panels\" cannot be used on the device small-groups: the device is not a"},
      {"loop:turn",
       "\"loop:turn\" cannot be used on the device small-groups: work groups of 32 x 8"}};
  halo_client *client = run_client("null:" HALO_TEST_DATA "/devices/small-groups.caps");
  halo_executable *e;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ck_fails(run_try_compile(client, dot_text, &(halo_compile_options){.kernels = cases[i][0]}, &e),
             HALO_INVALID_ARGUMENT, cases[i][1]);
  }
  ck_ok(run_try_compile(client, dot_text,
                        &(halo_compile_options){.kernels = "-dot:panels,-dot:clblast,dot:loop"},
                        &e));
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("kernels");
  TCase *choices = tcase_create("implementations");
  tcase_add_loop_test(choices, forced_here, 0, FORCED_COUNT);
  tcase_add_loop_test(choices, forced_as_gpu, 0, FORCED_ANYWHERE);
  tcase_add_test(choices, most_dimensions);
  tcase_add_test(choices, large_products);
  tcase_add_loop_test(choices, packed_products, 0, PACKED_COUNT);
  tcase_add_test(choices, unknown_names);
  tcase_add_test(choices, useless_names);
  tcase_set_timeout(choices, 120);
  suite_add_tcase(suite, choices);
  return suite_run(suite);
}
