/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_stablehlo_open.c: StableHLO programs that leave extents open, and those that are refused. */
#include "stablehlo_test.h"
#include "suite.h"

/* ---- Extents that are given ---- */

/* As jax.export writes a function of f32[a, b]: extents are arguments of what main wraps. */
static const char wrapped[] = "module {\n" MAIN(
    "%p: tensor<i32> {jax.global_constant = \"_platform_index\"}, %x: tensor<?x?xf32>",
    "tensor<?xf32>, tensor<i32>",
    "%c1 = stablehlo.constant dense<1> : tensor<i32>\n"
    "%a = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x?xf32>) -> tensor<i32>\n"
    "%b = stablehlo.get_dimension_size %x, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>\n"
    "%ok = stablehlo.compare GT, %b, %c1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "stablehlo.custom_call @shape_assertion(%ok, %a, %b) {api_version = 2 : i32, error_message = "
    "\"b of {0} x {1} is too small\", has_side_effect = true} : (tensor<i1>, tensor<i32>, "
    "tensor<i32>) -> ()\n"
    "%0:2 = call @inner(%p, %a, %b, %x) : (tensor<i32>, tensor<i32>, tensor<i32>, "
    "tensor<?x?xf32>) -> (tensor<?xf32>, tensor<i32>)\n"
    "return %0#0, %0#1 : tensor<?xf32>, tensor<i32>\n")  //
    "func.func private @inner(%p: tensor<i32>, %a: tensor<i32>, %b: tensor<i32>, %x: "
    "tensor<?x?xf32>) -> (tensor<?xf32>, tensor<i32>) {\n"
    "  %n = stablehlo.multiply %a, %b : tensor<i32>\n"
    "  %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
    "  %flat = stablehlo.dynamic_reshape %x, %s : (tensor<?x?xf32>, tensor<1xi32>) -> "
    "tensor<?xf32>\n"
    "  %i = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>\n"
    "  %sum = stablehlo.add %flat, %i : tensor<?xf32>\n"
    "  %v = \"stablehlo.case\"(%p) ({\n"
    "    %c = stablehlo.constant dense<10> : tensor<i32>\n"
    "    stablehlo.return %c : tensor<i32>\n"
    "  }, {\n"
    "    %c = stablehlo.constant dense<20> : tensor<i32>\n"
    "    stablehlo.return %c : tensor<i32>\n"
    "  }) : (tensor<i32>) -> tensor<i32>\n"
    "  return %sum, %v : tensor<?xf32>, tensor<i32>\n"
    "}\n}\n";

static halo_shape *matrix(int64_t rows, int64_t columns) {
  halo_shape *shape;
  ck_assert_int_eq(halo_shape_create_array(HALO_F32, 2, (int64_t[]){rows, columns}, &shape),
                   HALO_OK);
  return shape;
}

START_TEST(extents_follow_from_arguments) {
  halo_shape *shape = matrix(2, 3);
  const halo_shape *shapes[] = {shape};
  const halo_specialisation how = {.arguments = shapes, .argument_count = 1, .platform_index = 1};
  halo_module *module;
  ck_assert_msg(halo_module_read(wrapped, strlen(wrapped), "t", &how, &module) == HALO_OK, "%s",
                halo_error_message());
  ck_assert_int_eq(halo_module_parameter_count(module), 1);
  /* Nothing of the extents is left to compute. */
  ck_assert_int_eq(module->computations.count, 1);
  char *text;
  ck_assert_int_eq(halo_module_to_text(module, HALO_PRINT_SHORT, &text), HALO_OK);
  ck_assert_ptr_nonnull(strstr(text, "(f32[6]{0}, s32[])"));
  ck_assert_ptr_nonnull(strstr(text, "constant(20)"));
  ck_assert_ptr_null(strstr(text, "custom-call"));
  halo_text_release(text);
  halo_literal *in, *out;
  ck_assert_int_eq(halo_literal_from_text("{{1, 2, 3}, {4, 5, 6}}", shape, &in), HALO_OK);
  ck_assert_int_eq(halo_evaluate(module->entry, &in, 1, &out), HALO_OK);
  ck_assert_int_eq(halo_literal_to_text(out, &text), HALO_OK);
  ck_assert_str_eq(text, "( {1, 3, 5, 7, 9, 11}, 20 )");
  halo_text_release(text);
  halo_literal_release(in);
  halo_literal_release(out);
  halo_module_release(module);
  halo_shape_release(shape);
}
END_TEST

/* ---- Likewise of HLO text ---- */

static const char open_text[] =
    "HloModule m, entry_computation_layout={(f32[?,2]{0,1}, f32[2])->(f32[?,2]{0,1}, f32[?], "
    "f32[?], "
    "f32[?,3])}\n"
    "add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }\n"
    "twice { x = f32[?,2] parameter(0) ROOT s = f32[?,2] add(x, x) }\n"
    "once { x = f32[?,2] parameter(0) ROOT c = f32[?,2] copy(x) }\n"
    "fused { x = f32[?,2] parameter(0) ROOT s = f32[?,2] multiply(x, x) }\n"
    "body { t = (s32[], f32[?,2]) parameter(0) i = s32[] get-tuple-element(t), index=0\n"
    "  x = f32[?,2] get-tuple-element(t), index=1 one = s32[] constant(1) j = s32[] add(i, one)\n"
    "  y = f32[?,2] call(x), to_apply=twice ROOT r = (s32[], f32[?,2]) tuple(j, y) }\n"
    "more { t = (s32[], f32[?,2]) parameter(0) i = s32[] get-tuple-element(t), index=0\n"
    "  n = s32[] constant(3) ROOT c = pred[] compare(i, n), direction=LT }\n"
    "ENTRY e {\n"
    "  x = f32[?,2]{0,1} parameter(0)\n"
    "  v = f32[2] parameter(1)\n"
    "  zero = f32[] constant(0)\n"
    "  sums = f32[?] reduce(x, zero), dimensions={1}, to_apply=add\n"
    "  flat = f32[?] reshape(x)\n"
    "  wide = bf16[?] convert(flat)\n"
    "  back = f32[?] convert(wide)\n"
    "  start = s32[] constant(0)\n"
    "  init = (s32[], f32[?,2]) tuple(start, x)\n"
    "  loop = (s32[], f32[?,2]) while(init), condition=more, body=body\n"
    "  y = f32[?,2]{0,1} get-tuple-element(loop), index=1\n"
    "  on = pred[] constant(true)\n"
    "  z = f32[?,2] conditional(on, y, y), true_computation=once, false_computation=twice\n"
    "  f = f32[?,2] fusion(z), kind=kLoop, calls=fused\n"
    "  wide3 = f32[?,2,3] broadcast(f), dimensions={0,1}\n"
    "  f3 = f32[?,2] reduce(wide3, zero), dimensions={2}, to_apply=add\n"
    "  weights = f32[2,3] broadcast(v), dimensions={0}\n"
    "  d = f32[?,3] dot(f3, weights), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  ROOT t = (f32[?,2]{0,1}, f32[?], f32[?], f32[?,3]) tuple(y, sums, back, d)\n"
    "}\n";

START_TEST(extents_of_hlo_text_follow) {
  halo_shape *x = matrix(5, 2), *v;
  ck_assert_int_eq(halo_shape_create_array(HALO_F32, 1, (int64_t[]){2}, &v), HALO_OK);
  const halo_shape *shapes[] = {x, v};
  halo_specialisation how = {.arguments = shapes, .argument_count = 2};
  halo_module *module;
  ck_assert_msg(halo_module_read(open_text, strlen(open_text), "t", &how, &module) == HALO_OK, "%s",
                halo_error_message());
  char *text;
  ck_assert_int_eq(halo_module_to_text(module, HALO_PRINT_SHORT, &text), HALO_OK);
  ck_assert_ptr_null(strstr(text, "?"));
  ck_assert_ptr_nonnull(
      strstr(text, "(f32[5,2]{0,1}, f32[5]{0}, f32[10]{0}, f32[5,3]{1,0}) tuple"));
  ck_assert_ptr_nonnull(strstr(text, "bf16[10]{0} convert"));
  ck_assert_ptr_nonnull(strstr(text, "(s32[], f32[5,2]{1,0}) while"));
  halo_text_release(text);
  halo_module_release(module);
  /* Without arguments it stays open; wrong ones are told. */
  ck_assert_int_eq(halo_module_read(open_text, strlen(open_text), "t", NULL, &module), HALO_OK);
  halo_module_release(module);
  how.argument_count = 1;
  ck_assert_int_eq(halo_module_read(open_text, strlen(open_text), "t", &how, &module),
                   HALO_INVALID_ARGUMENT);
  ck_message_has("1 argument is given: the program takes 2");
  halo_shape *wrong = matrix(5, 3);
  shapes[0] = wrong;
  how.argument_count = 2;
  ck_assert_int_eq(halo_module_read(open_text, strlen(open_text), "t", &how, &module),
                   HALO_INVALID_ARGUMENT);
  ck_message_has("argument 0 (x) is given as f32[5,3]: expected f32[?,2]");
  halo_shape_release(wrong);
  halo_shape_release(x);
  halo_shape_release(v);
}
END_TEST

/* Extents that nobody says are told with the instruction. */
START_TEST(extents_of_hlo_text_may_not_follow) {
  static const struct {
    const char *text, *says;
    bool misfit; /* else nobody says them */
  } cases[] = {
      {"ENTRY e {\n x = f32[?,2] parameter(0)\n ROOT r = f32[?,?] reshape(x)\n}\n",
       "line 3: r: the extents of f32[?,?] do not follow"},
      {"ENTRY e {\n x = f32[?,2] parameter(0)\n ROOT r = f32[?] iota(), iota_dimension=0\n}\n",
       "line 3: r: the extents of f32[?] do not follow"},
      {"ENTRY e {\n x = f32[?,2] parameter(0)\n ROOT r = f32[?,4] reshape(x)\n}\n",
       "line 3: r: the extents of f32[?,4] do not follow"},
      {"ENTRY e {\n x = f32[?,2] parameter(0)\n"
       " ROOT r = f32[?,2,?] broadcast(x), dimensions={0,1}\n}\n",
       "line 3: r: the extents of f32[?,2,?] do not follow"},
      {"ENTRY e {\n x = f32[?,2] parameter(0)\n"
       " z = f32[] constant(0)\n y = f32[4,2] broadcast(z), dimensions={}\n"
       " ROOT r = f32[?,4] concatenate(x, y), dimensions={1}\n}\n",
       "line 5: r: concatenate(f32[5,2], f32[4,2])", true},
      {"ENTRY e {\n x = f32[?,2] parameter(0)\n"
       " z = f32[] constant(0)\n y = f32[4,2] broadcast(z), dimensions={}\n"
       " ROOT r = f32[?,2] add(x, y)\n}\n",
       "line 5: r: add(f32[5,2], f32[4,2])", true},
      {"f {\n x = f32[?] parameter(0)\n ROOT n = f32[?] negate(x)\n}\nENTRY e {\n"
       " x = f32[?,2] parameter(0)\n y = f32[?] reshape(x)\n a = f32[?] call(y), to_apply=f\n"
       " s = f32[5,1] slice(x), slice={[0:5],[0:1]}\n r = f32[5] reshape(s)\n"
       " b = f32[?] call(r), to_apply=f\n ROOT t = (f32[?], f32[?]) tuple(a, b)\n}\n",
       "line 11: b: computation f is called with other extents elsewhere"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    halo_shape *x = matrix(5, 2);
    const halo_specialisation how = {.arguments = (const halo_shape *[]){x}, .argument_count = 1};
    halo_module *module = NULL;
    halo_status status = halo_module_read(cases[i].text, strlen(cases[i].text), "t", &how, &module);
    ck_assert_int_eq(status, cases[i].misfit ? HALO_INVALID_ARGUMENT : HALO_UNIMPLEMENTED);
    ck_message_has(cases[i].says);
    halo_shape_release(x);
  }
}
END_TEST

START_TEST(parameters_show_what_is_open) {
  halo_module *module;
  ck_assert_int_eq(halo_module_read_parameters(wrapped, strlen(wrapped), "t", &module), HALO_OK);
  ck_assert_int_eq(halo_module_parameter_count(module), 1);
  const halo_shape *shape = halo_module_parameter_shape(module, 0);
  ck_assert_int_eq(halo_shape_rank(shape), 2);
  ck_assert(halo_shape_dim(shape, 0) == HALO_UNBOUNDED);
  halo_module_release(module);
  const char *hlo = "ENTRY e { a = f32[2] parameter(0)  ROOT b = f32[2] negate(a) }";
  ck_assert_int_eq(halo_module_read_parameters(hlo, strlen(hlo), "t", &module), HALO_OK);
  ck_assert_int_eq(halo_module_parameter_count(module), 1);
  halo_module_release(module);
}
END_TEST

START_TEST(wrong_arguments_are_refused) {
  halo_shape *good = matrix(2, 3), *small = matrix(2, 1), *vector;
  ck_assert_int_eq(halo_shape_create_array(HALO_F32, 1, (int64_t[]){2}, &vector), HALO_OK);
  refuse(wrapped, NULL, HALO_INVALID_ARGUMENT, "argument 0 is tensor<?x?xf32>: expected extents");
  const halo_shape *shapes[] = {vector, good};
  halo_specialisation how = {.arguments = shapes, .argument_count = 1};
  refuse(wrapped, &how, HALO_INVALID_ARGUMENT,
         "argument 0 is given as f32[2]: expected tensor<?x?xf32>");
  shapes[0] = good;
  how.argument_count = 2;
  refuse(wrapped, &how, HALO_INVALID_ARGUMENT, "2 arguments are given: expected 1");
  shapes[0] = small;
  how.argument_count = 1;
  refuse(wrapped, &how, HALO_INVALID_ARGUMENT, "b of 2 x 1 is too small");
  halo_shape_release(good);
  halo_shape_release(small);
  halo_shape_release(vector);
}
END_TEST

/* ---- Refused ---- */

static const struct {
  const char *text;
  halo_status status;
  const char *part;
} refused[] = {
    {"module {\n}\n", HALO_INVALID_ARGUMENT, "there is no function @main"},
    {"module {\nfunc.func @f() { return }\nfunc.func @g() { return }\n}\n", HALO_INVALID_ARGUMENT,
     "there is no function @main"},
    {MAIN("%a: tensor<2xf32>", "tensor<2xf32>",
          "%0 = \"stablehlo.frobnicate\"(%a) : (tensor<2xf32>) -> tensor<2xf32> "
          "loc(\"jit(f)/frob\"(\"f.py\":3:1))\n"
          "return %0 : tensor<2xf32>\n"),
     HALO_UNIMPLEMENTED,
     "t:2: error: stablehlo.frobnicate (jit(f)/frob at f.py:3): the operation is not supported"},
    {MAIN("%a: tensor<2xf32>", "tensor<2xf32>",
          "%0 = \"stablehlo.collective_permute\"(%a) <{source_target_pairs = dense<[[0, 1, 2], [2, "
          "3, "
          "0]]> : tensor<2x3xi64>}> : (tensor<2xf32>) -> tensor<2xf32>\nreturn %0 : "
          "tensor<2xf32>\n"),
     HALO_INVALID_ARGUMENT, "the attribute source_target_pairs must have rows of two numbers"},
    {MAIN("%a: tensor<2xf32>, %b: tensor<f32>", "tensor<2xf32>",
          "%0 = \"stablehlo.reduce_window\"(%a, %b) <{window_dimensions = array<i64: 2>, padding = "
          "dense<[[1], [0]]> : tensor<2x1xi64>}> ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
          "  %s = stablehlo.add %x, %y : tensor<f32>\n  stablehlo.return %s : tensor<f32>\n"
          "}) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>\n"),
     HALO_INVALID_ARGUMENT, "the attribute padding must have rows of two numbers"},
    {MAIN("%a: tensor<4xf32>", "tensor<1x4xf32>",
          "%s = stablehlo.constant dense<2> : tensor<2xi32>\n"
          "%0 = stablehlo.dynamic_reshape %a, %s : (tensor<4xf32>, tensor<2xi32>) -> "
          "tensor<1x4xf32>\nreturn %0 : tensor<1x4xf32>\n"),
     HALO_INVALID_ARGUMENT, "the result is declared as f32[1,4], but operand 1 says other extents"},
    {MAIN("%a: tensor<2xf32>", "tensor<2xf32>",
          "%0 = chlo.erff %a : tensor<2xf32> -> tensor<2xf32>\nreturn %0 : tensor<2xf32>\n"),
     HALO_UNIMPLEMENTED,
     "t:2: error: chlo.erff: the operation is not supported: did you mean chlo.erf?"},
    {MAIN("%a: tensor<2xf32>, %b: tensor<3xf32>", "tensor<2xf32>",
          "%0 = \"stablehlo.add\"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>\n"
          "return %0 : tensor<2xf32>\n"),
     HALO_INVALID_ARGUMENT,
     "stablehlo.add: add(f32[2], f32[3]): operands 0 and 1 must have the same"},
    {MAIN("%a: tensor<2xf32>", "tensor<3xf32>",
          "%0 = \"stablehlo.negate\"(%a) : (tensor<2xf32>) -> tensor<3xf32>\n"
          "return %0 : tensor<3xf32>\n"),
     HALO_INVALID_ARGUMENT, "result 0 is declared as tensor<3xf32>, but is f32[2]"},
    {MAIN("%a: tensor<3xf32>", "tensor<4xf32>", "return %a : tensor<3xf32>\n"),
     HALO_INVALID_ARGUMENT, "result 0 is declared as tensor<4xf32>, but is f32[3]"},
    {MAIN("%a: tensor<3xf32>", "tensor<3xf32>, tensor<3xf32>", "return %a : tensor<3xf32>\n"),
     HALO_INVALID_ARGUMENT, "1 value is returned: expected 2"},
    {MAIN("%a: tensor<4xf32>", "tensor<4xf32>",
          "%0 = \"stablehlo.async_done\"(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
          "return %0 : tensor<4xf32>\n"),
     HALO_INVALID_ARGUMENT, "stablehlo.async_done: expected one operand, the future of"},
    {"module {\n" MAIN("%a: tensor<f32>", "tensor<f32>",
                       "%0 = call @f(%a) : (tensor<f32>) -> tensor<f32>\n"
                       "return %0 : tensor<f32>\n")  //
     "func.func private @f(%a: tensor<f32>) -> tensor<f32> {\n"
     "  %0 = call @f(%a) : (tensor<f32>) -> tensor<f32>\n  return %0 : tensor<f32>\n}\n}\n",
     HALO_INVALID_ARGUMENT, "func.call: the function @f calls itself"},
    {MAIN("%a: tensor<f32>", "tensor<f32>",
          "%0 = call @f(%a) : (tensor<f32>) -> tensor<f32>\nreturn %0 : tensor<f32>\n"),
     HALO_INVALID_ARGUMENT, "there is no function @f"},
    {MAIN("%a: tensor<3xf32>, %b: tensor<f32>", "tensor<f32>",
          "%0 = \"stablehlo.reduce\"(%a, %b) <{dimensions = array<i64: 0>}> ({\n"
          "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
          "  %s = stablehlo.add %x, %b : tensor<f32>\n  stablehlo.return %s : tensor<f32>\n"
          "}) : (tensor<3xf32>, tensor<f32>) -> tensor<f32>\nreturn %0 : tensor<f32>\n"),
     HALO_UNIMPLEMENTED, "uses the value Arg_1.3 from outside, which is no constant"},
    {MAIN("%a: tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>", "tensor<f32>",
          "%0 = stablehlo.constant dense<0.0> : tensor<f32>\nreturn %0 : tensor<f32>\n"),
     HALO_UNIMPLEMENTED, "values of type"},
    {MAIN("%a: tensor<2xf32>", "tensor<2xf32>",
          "%0 = stablehlo.custom_call @mhlo.frob(%a) : (tensor<2xf32>) -> tensor<2xf32>\n"
          "return %0 : tensor<2xf32>\n"),
     HALO_UNIMPLEMENTED, "HLO has no operation for the target mhlo.frob"},
    {MAIN("%a: tensor<2x3xf32>", "tensor<f32>",
          "%0 = stablehlo.unary_einsum %a, config = \"ij->\" : (tensor<2x3xf32>) -> tensor<f32>\n"
          "return %0 : tensor<f32>\n"),
     HALO_UNIMPLEMENTED, "stablehlo.unary_einsum: the operation is not supported"},
    {MAIN("%a: tensor<4xf32>", "tensor<4xf32>",
          "%0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xf6E2M3FN>\n"
          "return %a : tensor<4xf32>\n"),
     HALO_UNIMPLEMENTED, "stablehlo.convert: values of type tensor<4xf6E2M3FN> are not supported"},
    {MAIN("%a: tensor<4xf32>, %n: tensor<1xi32>", "tensor<4xf32>",
          "%0 = stablehlo.dynamic_pad %a, %n, %n, %n, %n : (tensor<4xf32>, tensor<1xi32>, "
          "tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xf32>\n"
          "return %0 : tensor<4xf32>\n"),
     HALO_UNIMPLEMENTED, "operand 2 says extents that are known only when the program runs"},
    {MAIN("%a: tensor<f32> {tf.aliasing_output = 3 : i32}", "tensor<f32>",
          "return %a : tensor<f32>\n"),
     HALO_INVALID_ARGUMENT, "tf.aliasing_output of argument 0 is 3: expected a result"},
    {MAIN("%a: tensor<4xf32> {mhlo.sharding = \"{devices=[2]0}\"}", "tensor<4xf32>",
          "return %a : tensor<4xf32>\n"),
     HALO_INVALID_ARGUMENT, "mhlo.sharding: "},
    {MAIN("%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@none, [{\"x\"}]>}", "tensor<4xf32>",
          "return %a : tensor<4xf32>\n"),
     HALO_INVALID_ARGUMENT, "there is no mesh @none"},
    {"module attributes {mhlo.num_partitions = 2 : i32} {\nsdy.mesh @m = <[\"x\"=2]>\n" MAIN(
         "%a: tensor<4xf32>", "tensor<4xf32>",
         "%0 = sdy.sharding_constraint %a <@m, [{}], unreduced=max{\"x\"}> : tensor<4xf32>\n"
         "return %0 : tensor<4xf32>\n") "}\n",
     HALO_UNIMPLEMENTED, "unreduced over devices by another operation than a sum"},
    {"module {\nsdy.mesh @m = <[\"x\"=2]>\n" MAIN(
         "%a: tensor<4xi32>", "tensor<4xi32>",
         "%1 = sdy.manual_computation(%a) in_shardings=[<@m, [{\"x\"}]>] out_shardings=[<@m, "
         "[{\"x\"}]>] manual_axes={\"x\"} (%b: tensor<2xi32>) {\n"
         "  sdy.return %b : tensor<2xi32>\n"
         "} : (tensor<4xi32>) -> tensor<4xi32>\nreturn %1 : tensor<4xi32>\n") "}\n",
     HALO_UNIMPLEMENTED, "the program is for several partitions, but says that it has one"},
};
enum { REFUSED = sizeof refused / sizeof refused[0] };

START_TEST(what_is_wrong_is_said) {
  refuse(refused[_i].text, NULL, refused[_i].status, refused[_i].part);
}
END_TEST

/* Calls are put in place where extents are open: @f40 would be 2^40 sines. */
START_TEST(doubling_calls_are_refused) {
  halo_strbuf text = {0};
  halo_strbuf_append(&text,
                     "module {\nfunc.func private @f0(%a: tensor<?xf32>) -> tensor<?xf32> {\n"
                     "  %0 = stablehlo.sine %a : tensor<?xf32>\n  return %0 : tensor<?xf32>\n}\n");
  for (int i = 1; i <= 40; i++) {
    halo_strbuf_printf(&text,
                       "func.func private @f%d(%%a: tensor<?xf32>) -> tensor<?xf32> {\n"
                       "  %%0 = call @f%d(%%a) : (tensor<?xf32>) -> tensor<?xf32>\n"
                       "  %%1 = call @f%d(%%0) : (tensor<?xf32>) -> tensor<?xf32>\n"
                       "  return %%1 : tensor<?xf32>\n}\n",
                       i, i - 1, i - 1);
  }
  halo_strbuf_append(&text,
                     "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n"
                     "  %0 = call @f40(%a) : (tensor<?xf32>) -> tensor<?xf32>\n"
                     "  return %0 : tensor<?xf32>\n}\n}\n");
  halo_shape *shape;
  ck_assert_int_eq(halo_shape_create_array(HALO_F32, 1, (const int64_t[]){3}, &shape), HALO_OK);
  const halo_shape *shapes[] = {shape};
  const halo_specialisation how = {.arguments = shapes, .argument_count = 1};
  refuse(halo_strbuf_text(&text), &how, HALO_UNIMPLEMENTED,
         "calls that are put in place come to more than 2097152 operations");
  halo_shape_release(shape);
  halo_strbuf_deinit(&text);
}
END_TEST

/* What a call gives a function must be what it takes, also where the call is put in place. */
START_TEST(calls_fit_where_they_are_put_in_place) {
  static const char text[] =
      "module {\nfunc.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  return %a : tensor<4xf32>\n}\n"
      "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n"
      "  %0 = call @f(%a) : (tensor<?xf32>) -> tensor<?xf32>\n"
      "  return %0 : tensor<?xf32>\n}\n}\n";
  halo_shape *shape;
  ck_assert_int_eq(halo_shape_create_array(HALO_F32, 1, (const int64_t[]){3}, &shape), HALO_OK);
  const halo_shape *shapes[] = {shape};
  const halo_specialisation how = {.arguments = shapes, .argument_count = 1};
  refuse(text, &how, HALO_INVALID_ARGUMENT,
         "func.call: argument 0 is declared as tensor<4xf32>, but is f32[3]");
  halo_shape_release(shape);
}
END_TEST

START_TEST(bad_calls_fail) {
  halo_module *module;
  ck_assert_int_eq(halo_module_read(NULL, 0, "t", NULL, &module), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_module_read("x", 1, "t", NULL, NULL), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_module_read_file(NULL, NULL, &module), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_module_read_file("no/such/file", NULL, &module), HALO_NOT_FOUND);
  ck_assert_int_eq(halo_module_read_parameters(NULL, 0, "t", &module), HALO_INVALID_ARGUMENT);
}
END_TEST

/* Whichever allocation fails, reading ends with a status, and nothing is left over. */
START_TEST(memory_may_run_out) {
  halo_shape *shape = matrix(2, 3);
  const halo_shape *shapes[] = {shape};
  const halo_specialisation how = {.arguments = shapes, .argument_count = 1};
  for (int64_t n = 1;; n++) {
    halo_module *module = NULL;
    halo_memory_fail(n);
    halo_status status = halo_module_read(wrapped, strlen(wrapped), "t", &how, &module);
    bool failed = halo_memory_fail(0) == 0;
    ck_assert_int_eq(status, failed ? HALO_OUT_OF_MEMORY : HALO_OK);
    halo_module_release(module);
    if (!failed) break;
  }
  halo_shape_release(shape);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("stablehlo_open");
  TCase *tests = tcase_create("open and refused");
  tcase_add_test(tests, extents_follow_from_arguments);
  tcase_add_test(tests, extents_of_hlo_text_follow);
  tcase_add_test(tests, extents_of_hlo_text_may_not_follow);
  tcase_add_test(tests, parameters_show_what_is_open);
  tcase_add_test(tests, wrong_arguments_are_refused);
  tcase_add_loop_test(tests, what_is_wrong_is_said, 0, REFUSED);
  tcase_add_test(tests, doubling_calls_are_refused);
  tcase_add_test(tests, calls_fit_where_they_are_put_in_place);
  tcase_add_test(tests, bad_calls_fail);
  tcase_add_test(tests, memory_may_run_out);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
