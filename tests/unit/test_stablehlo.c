/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_stablehlo.c: HLO modules of StableHLO programs: what they compute, what they say, what is refused. */
#include "stablehlo_test.h"
#include "suite.h"

/* ---- What programs compute ---- */

static const value_case value_cases[] = {
    {"elementwise",
     MAIN("%a: tensor<3xf32>, %b: tensor<3xf32>", "tensor<3xf32>",
          "%0 = stablehlo.subtract %a, %b : tensor<3xf32>\n"
          "%1 = stablehlo.abs %0 : tensor<3xf32>\n"
          "return %1 : tensor<3xf32>\n"),
     {"{1, 2, 3}", "{3, 2, 1}"},
     "{2, 0, 2}"},
    {"reductions that return values of outside",
     MAIN("%a: tensor<2x3xf32>, %s: tensor<f32>", "tensor<2xf32>, tensor<2xf32>",
          "%z = stablehlo.constant dense<5.0> : tensor<f32>\n"
          "%0 = stablehlo.reduce(%a init: %z) across dimensions = [1] : (tensor<2x3xf32>, "
          "tensor<f32>) -> tensor<2xf32>\n reducer(%x: tensor<f32>, %y: tensor<f32>) {\n"
          "  stablehlo.return %s : tensor<f32>\n}\n"
          "%e = stablehlo.slice %a [0:2, 0:0] : (tensor<2x3xf32>) -> tensor<2x0xf32>\n"
          "%1 = stablehlo.reduce(%e init: %z) across dimensions = [1] : (tensor<2x0xf32>, "
          "tensor<f32>) -> tensor<2xf32>\n reducer(%x: tensor<f32>, %y: tensor<f32>) {\n"
          "  stablehlo.return %s : tensor<f32>\n}\n"
          "return %0, %1 : tensor<2xf32>, tensor<2xf32>\n"),
     {"{{1, 2, 3}, {4, 5, 6}}", "7"},
     "( {7, 7}, {5, 5} )"},
    {"a scatter in a wider type than what is scattered",
     MAIN("%a: tensor<4xf16>, %s: tensor<2xf16>, %i: tensor<f16>", "tensor<4xf32>",
          "%0 = \"stablehlo.select_and_scatter\"(%a, %s, %i) <{window_dimensions = array<i64: 3>, "
          "window_strides = array<i64: 1>}> ({\n^bb0(%x: tensor<f16>, %y: tensor<f16>):\n"
          "  %c = stablehlo.compare GE, %x, %y : (tensor<f16>, tensor<f16>) -> tensor<i1>\n"
          "  stablehlo.return %c : tensor<i1>\n}, {\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
          "  %c = stablehlo.add %x, %y : tensor<f32>\n  stablehlo.return %c : tensor<f32>\n"
          "}) : (tensor<4xf16>, tensor<2xf16>, tensor<f16>) -> tensor<4xf32>\n"
          "return %0 : tensor<4xf32>\n"),
     {"{1, 2, 4, 3}", "{2048, 1}", "0"},
     "{0, 0, 2049, 0}"},
    {"several results",
     MAIN("%a: tensor<f32>", "tensor<f32>, tensor<i32>",
          "%0 = stablehlo.convert %a : (tensor<f32>) -> tensor<i32>\n"
          "return %a, %0 : tensor<f32>, tensor<i32>\n"),
     {"2.75"},
     "( 2.75, 2 )"},
    {"no result", MAIN("%a: tensor<f32>", "", "return\n"), {"1"}, "()"},
    {"a predicate for all",
     MAIN("%p: tensor<i1>, %a: tensor<2xi32>, %b: tensor<2xi32>", "tensor<2xi32>",
          "%0 = stablehlo.select %p, %a, %b : tensor<i1>, tensor<2xi32>\n"
          "return %0 : tensor<2xi32>\n"),
     {"false", "{1, 2}", "{3, 4}"},
     "{3, 4}"},
    {"bounds for all",
     MAIN("%a: tensor<3xi32>", "tensor<3xi32>",
          "%l = stablehlo.constant dense<-1> : tensor<i32>\n"
          "%h = stablehlo.constant dense<1> : tensor<i32>\n"
          "%0 = stablehlo.clamp %l, %a, %h : (tensor<i32>, tensor<3xi32>, tensor<i32>) -> "
          "tensor<3xi32>\n"
          "return %0 : tensor<3xi32>\n"),
     {"{-5, 0, 5}"},
     "{-1, 0, 1}"},
    {"a broadcast whose dimensions are turned",
     MAIN("%a: tensor<2x3xi32>", "tensor<3x2x2xi32>",
          "%0 = stablehlo.broadcast_in_dim %a, dims = [2, 0] : (tensor<2x3xi32>) -> "
          "tensor<3x2x2xi32>\n"
          "return %0 : tensor<3x2x2xi32>\n"),
     {"{{1, 2, 3}, {4, 5, 6}}"},
     "{ { { 1, 4 }, { 1, 4 } }, { { 2, 5 }, { 2, 5 } }, { { 3, 6 }, { 3, 6 } } }"},
    {"a broadcast that widens",
     MAIN("%a: tensor<1x2xi32>", "tensor<2x2xi32>",
          "%0 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<1x2xi32>) -> "
          "tensor<2x2xi32>\n"
          "return %0 : tensor<2x2xi32>\n"),
     {"{{1, 2}}"},
     "{ { 1, 2 }, { 1, 2 } }"},
    {"a large constant of one value",
     MAIN("", "tensor<i32>",
          "%c = stablehlo.constant dense<3> : tensor<10x10xi32>\n"
          "%z = stablehlo.constant dense<0> : tensor<i32>\n"
          "%0 = stablehlo.reduce(%c init: %z) applies stablehlo.add across dimensions = [0, 1] : "
          "(tensor<10x10xi32>, tensor<i32>) -> tensor<i32>\n"
          "return %0 : tensor<i32>\n"),
     {NULL},
     "300"},
    {"a product of batches",
     MAIN("%a: tensor<2x1x2xf32>, %b: tensor<2x2x1xf32>", "tensor<2x1x1xf32>",
          "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x "
          "[1] : (tensor<2x1x2xf32>, tensor<2x2x1xf32>) -> tensor<2x1x1xf32>\n"
          "return %0 : tensor<2x1x1xf32>\n"),
     {"{{{1, 2}}, {{3, 4}}}", "{{{1}, {2}}, {{3}, {4}}}"},
     "{ { {5} }, { {25} } }"},
    {"einsum",
     MAIN("%a: tensor<1x2xf32>, %b: tensor<2x3xf32>", "tensor<3x1xf32>",
          "%0 = stablehlo.einsum %a, %b, config = \"ij,jk->ki\" : (tensor<1x2xf32>, "
          "tensor<2x3xf32>) -> tensor<3x1xf32>\n"
          "return %0 : tensor<3x1xf32>\n"),
     {"{{1, 2}}", "{{1, 2, 3}, {4, 5, 6}}"},
     "{ {9}, {12}, {15} }"},
    {"a convolution",
     MAIN("%a: tensor<1x4x1xf32>, %k: tensor<2x1x1xf32>", "tensor<1x2x1xf32>",
          "%0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], "
          "window = {stride = [2], pad = [[0, 0]]} {batch_group_count = 1 : i64, "
          "feature_group_count = 1 : i64} : (tensor<1x4x1xf32>, tensor<2x1x1xf32>) -> "
          "tensor<1x2x1xf32>\n"
          "return %0 : tensor<1x2x1xf32>\n"),
     {"{{{1}, {2}, {3}, {4}}}", "{{{10}}, {{1}}}"},
     "{ { {12}, {34} } }"},
    {"entries of a dimension",
     MAIN("%a: tensor<2x3xi32>, %i: tensor<2xi32>", "tensor<2x2xi32>",
          "%0 = \"stablehlo.torch_index_select\"(%a, %i) <{dim = 1 : i64, batch_dims = 0 : i64}> : "
          "(tensor<2x3xi32>, tensor<2xi32>) -> tensor<2x2xi32>\n"
          "return %0 : tensor<2x2xi32>\n"),
     {"{{1, 2, 3}, {4, 5, 6}}", "{2, 0}"},
     "{ { 3, 1 }, { 6, 4 } }"},
    {"a sort along the last dimension",
     MAIN("%a: tensor<3xi32>, %b: tensor<3xf32>", "tensor<3xi32>, tensor<3xf32>",
          "%0:2 = \"stablehlo.sort\"(%a, %b) <{is_stable = true}> ({\n"
          "^bb0(%x: tensor<i32>, %y: tensor<i32>, %u: tensor<f32>, %v: tensor<f32>):\n"
          "  %c = stablehlo.compare LT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
          "  stablehlo.return %c : tensor<i1>\n"
          "}) : (tensor<3xi32>, tensor<3xf32>) -> (tensor<3xi32>, tensor<3xf32>)\n"
          "return %0#0, %0#1 : tensor<3xi32>, tensor<3xf32>\n"),
     {"{3, 1, 2}", "{30, 10, 20}"},
     "( {1, 2, 3}, {10, 20, 30} )"},
    {"a reducer that uses a constant of outside",
     MAIN("%a: tensor<3xi32>", "tensor<i32>",
          "%z = stablehlo.constant dense<0> : tensor<i32>\n"
          "%two = stablehlo.constant dense<2> : tensor<i32>\n"
          "%0 = \"stablehlo.reduce\"(%a, %z) <{dimensions = array<i64: 0>}> ({\n"
          "^bb0(%x: tensor<i32>, %y: tensor<i32>):\n"
          "  %d = stablehlo.multiply %y, %two : tensor<i32>\n"
          "  %s = stablehlo.add %x, %d : tensor<i32>\n"
          "  stablehlo.return %s : tensor<i32>\n"
          "}) : (tensor<3xi32>, tensor<i32>) -> tensor<i32>\n"
          "return %0 : tensor<i32>\n"),
     {"{1, 2, 3}"},
     "12"},
    {"a loop that uses values of outside",
     MAIN("%n: tensor<i32>, %x: tensor<i32>, %k: tensor<i32>", "tensor<i32>",
          "%one = stablehlo.constant dense<1> : tensor<i32>\n"
          "%z = stablehlo.constant dense<0> : tensor<i32>\n"
          "%0:2 = stablehlo.while(%i = %z, %v = %x) : tensor<i32>, tensor<i32>\n"
          "cond {\n"
          "  %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
          "  stablehlo.return %c : tensor<i1>\n"
          "} do {\n"
          "  %j = stablehlo.add %i, %one : tensor<i32>\n"
          "  %w = stablehlo.multiply %v, %k : tensor<i32>\n"
          "  stablehlo.return %j, %w : tensor<i32>, tensor<i32>\n"
          "}\n"
          "return %0#1 : tensor<i32>\n"),
     {"3", "5", "2"},
     "40"},
    {"branches in a loop, which use what the loop is given",
     MAIN("%x: tensor<i32>, %k: tensor<i32>", "tensor<i32>",
          "%lim = stablehlo.constant dense<20> : tensor<i32>\n"
          "%0 = stablehlo.while(%v = %x) : tensor<i32>\n"
          "cond {\n"
          "  %c = stablehlo.compare LT, %v, %lim : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
          "  stablehlo.return %c : tensor<i1>\n"
          "} do {\n"
          "  %c = stablehlo.compare LT, %v, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
          "  %w = \"stablehlo.if\"(%c) ({\n"
          "    %d = stablehlo.add %v, %v : tensor<i32>\n"
          "    stablehlo.return %d : tensor<i32>\n"
          "  }, {\n"
          "    %d = stablehlo.add %v, %k : tensor<i32>\n"
          "    stablehlo.return %d : tensor<i32>\n"
          "  }) : (tensor<i1>) -> tensor<i32>\n"
          "  stablehlo.return %w : tensor<i32>\n"
          "}\n"
          "return %0 : tensor<i32>\n"),
     {"3", "7"},
     "26"},
    {"branches by number, the last for all others",
     MAIN("%i: tensor<i32>, %a: tensor<i32>", "tensor<i32>, tensor<i32>",
          "%0:2 = \"stablehlo.case\"(%i) ({\n"
          "  stablehlo.return %a, %a : tensor<i32>, tensor<i32>\n"
          "}, {\n"
          "  %n = stablehlo.negate %a : tensor<i32>\n"
          "  stablehlo.return %a, %n : tensor<i32>, tensor<i32>\n"
          "}) : (tensor<i32>) -> (tensor<i32>, tensor<i32>)\n"
          "return %0#0, %0#1 : tensor<i32>, tensor<i32>\n"),
     {"-7", "4"},
     "( 4, -4 )"},
    {"a function that is called twice",
     "module {\n" MAIN("%a: tensor<i32>", "tensor<i32>",
                       "%0 = call @twice(%a) : (tensor<i32>) -> tensor<i32>\n"
                       "%1 = func.call @twice(%0) : (tensor<i32>) -> tensor<i32>\n"
                       "return %1 : tensor<i32>\n")  //
     "func.func private @twice(%x: tensor<i32>) -> tensor<i32> {\n"
     "  %0 = stablehlo.add %x, %x : tensor<i32>\n  return %0 : tensor<i32>\n}\n}\n",
     {"3"},
     "12"},
    {"a composite that is not known is its decomposition",
     "module {\n" MAIN("%a: tensor<i32>", "tensor<i32>",
                       "%0 = stablehlo.composite \"my.op\" %a {decomposition = @f} : (tensor<i32>) "
                       "-> tensor<i32>\nreturn %0 : tensor<i32>\n")  //
     "func.func private @f(%x: tensor<i32>) -> tensor<i32> {\n"
     "  %0 = stablehlo.negate %x : tensor<i32>\n  return %0 : tensor<i32>\n}\n}\n",
     {"3"},
     "-3"},
    {"a composite that HLO writes out too is its decomposition",
     "module {\n" MAIN("%a: tensor<f32>", "tensor<f32>",
                       "%0 = stablehlo.composite \"chlo.sinh\" %a {decomposition = @f} : "
                       "(tensor<f32>) -> tensor<f32>\nreturn %0 : tensor<f32>\n")  //
     "func.func private @f(%x: tensor<f32>) -> tensor<f32> {\n"
     "  %0 = stablehlo.negate %x : tensor<f32>\n  return %0 : tensor<f32>\n}\n}\n",
     {"3"},
     "-3"},
    {"neighbours",
     MAIN("%a: tensor<4xf32>, %b: tensor<4xf32>", "tensor<4xf32>",
          "%0 = chlo.next_after %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>\n"
          "return %0 : tensor<4xf32>\n"),
     {"{1, 1, 2, -1}", "{2, 0, 2, -2}"},
     "{1.00000012, 0.99999994, 2, -1.00000012}"},
    {"zeta of Hurwitz",
     MAIN("%a: tensor<8xf32>, %b: tensor<8xf32>", "tensor<8xf32>",
          "%0 = chlo.zeta %a, %b : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>\n"
          "return %0 : tensor<8xf32>\n"),
     {"{1.5, 2, 3.25, 30, 1, 0.5, 2, 3}", "{0.5, 7, 1e-3, 2.5, 3, 4, -3, -2}"},
     "{4.77653837, 0.153545171, 5.62341222e+09, 1.1529691e-12, inf, nan, inf, nan}"},
    {"derivatives of digamma, of f64",
     MAIN("%a: tensor<6xf64>, %b: tensor<6xf64>", "tensor<6xf32>",
          "%0 = chlo.polygamma %a, %b : tensor<6xf64>, tensor<6xf64> -> tensor<6xf64>\n"
          "%1 = stablehlo.convert %0 : (tensor<6xf64>) -> tensor<6xf32>\n"
          "return %1 : tensor<6xf32>\n"),
     {"{1.5, 2, 0, 1, 4, -1}", "{0.5, 7, 2.25, -0.5, 30.5, 0}"},
     "{nan, -0.0235304721, 0.572546482, 8.93480206, -7.40055793e-06, nan}"},
    {"what erf leaves of 1, of f64",
     MAIN("%a: tensor<4xf64>", "tensor<4xf32>",
          "%0 = chlo.erfc %a : tensor<4xf64> -> tensor<4xf64>\n"
          "%1 = stablehlo.convert %0 : (tensor<4xf64>) -> tensor<4xf32>\n"
          "return %1 : tensor<4xf32>\n"),
     {"{0.5, -3.25, 12, -0}"},
     "{0.479500115, 1.99999571, 0, 1}"},
    {"a Bessel function",
     MAIN("%a: tensor<4xf64>", "tensor<4xf32>",
          "%0 = chlo.bessel_i1e %a : tensor<4xf64> -> tensor<4xf64>\n"
          "%1 = stablehlo.convert %0 : (tensor<4xf64>) -> tensor<4xf32>\n"
          "return %1 : tensor<4xf32>\n"),
     {"{0.5, -3.25, 12, -0}"},
     "{0.156420797, -0.192031056, 0.111464299, -0}"},
    {"the first of older JAX",
     MAIN("%a: tensor<4xf32>", "tensor<2xf32>, tensor<2xi32>",
          "%0:2 = stablehlo.custom_call @mhlo.topk(%a) {mhlo.attributes = {k = 2 : i64, largest = "
          "true}, mhlo.version = 1 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)\n"
          "return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>\n"),
     {"{1, 4, 2, 3}"},
     "( {4, 3}, {1, 3} )"},
    {"approximate ones may be exact",
     "module {\n" MAIN(
         "%a: tensor<4xf32>, %i: tensor<4xi32>", "tensor<2xf32>, tensor<2xi32>",
         "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
         "%m = stablehlo.constant dense<-1> : tensor<i32>\n"
         "%0:2 = stablehlo.custom_call @ApproxTopK(%a, %i, %z, %m) {called_computations = [@lt], "
         "mhlo.backend_config = {reduction_dim = 0 : i64, top_k = 2 : i64}} : (tensor<4xf32>, "
         "tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)\n"
         "return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>\n")  //
     "func.func private @lt(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> "
     "tensor<i1> {\n  %0 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> "
     "tensor<i1>\n  return %0 : tensor<i1>\n}\n}\n",
     {"{4, 1, 3, 2}", "{0, 1, 2, 3}"},
     "( {1, 2}, {1, 3} )"},
    {"parts of numbers",
     MAIN("%a: tensor<2xcomplex<f32>>", "tensor<2xf32>, tensor<2xcomplex<f32>>",
          "%0 = stablehlo.imag %a : (tensor<2xcomplex<f32>>) -> tensor<2xf32>\n"
          "%1 = chlo.conj %a : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>\n"
          "return %0, %1 : tensor<2xf32>, tensor<2xcomplex<f32>>\n"),
     {"{(1, 2), (3, -4)}"},
     "( {2, -4}, {(1, -2), (3, 4)} )"},
    {"a barrier of two",
     MAIN("%a: tensor<i32>, %b: tensor<f32>", "tensor<f32>, tensor<i32>",
          "%0:2 = stablehlo.optimization_barrier %a, %b : tensor<i32>, tensor<f32>\n"
          "return %0#1, %0#0 : tensor<f32>, tensor<i32>\n"),
     {"1", "2"},
     "( 2, 1 )"},
    {"shardings on one device",
     "module {\nsdy.mesh @mesh = <[\"x\"=1]>\n" MAIN(
         "%a: tensor<2xi32>", "tensor<2xi32>",
         "%0 = sdy.sharding_constraint %a <@mesh, [{\"x\"}]> : tensor<2xi32>\n"
         "%1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{\"x\"}]>] "
         "out_shardings=[<@mesh, [{\"x\"}]>] manual_axes={\"x\"} (%b: tensor<2xi32>) {\n"
         "  %2 = stablehlo.negate %b : tensor<2xi32>\n"
         "  sdy.return %2 : tensor<2xi32>\n"
         "} : (tensor<2xi32>) -> tensor<2xi32>\n"
         "return %1 : tensor<2xi32>\n") "}\n",
     {"{1, 2}"},
     "{-1, -2}"},
};
enum { VALUE_CASES = sizeof value_cases / sizeof value_cases[0] };

START_TEST(programs_compute) { check_case(&value_cases[_i]); }
END_TEST

/* ---- What modules say ---- */

static const struct {
  const char *text, *part; /* of the module as short HLO text */
} text_cases[] = {
    {"module @jit_f attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 3 : i32} "
     "{\n" MAIN("%a: tensor<f32>", "tensor<f32>", "return %a : tensor<f32>\n") "}\n",
     "HloModule jit_f, entry_computation_layout={(f32[])->f32[]}, replica_count=3, "
     "num_partitions=2"},
    {MAIN("%a: tensor<f32> {tf.aliasing_output = 1 : i32}, %b: tensor<f32> {jax.buffer_donor = "
          "true}",
          "tensor<f32>, tensor<f32>", "return %b, %a : tensor<f32>, tensor<f32>\n"),
     "input_output_alias={ {1}: (0, {}, may-alias) }, buffer_donor={ (1, {}) }"},
    {MAIN("%a: tensor<f32> {tf.aliasing_output = 0 : i32}", "tensor<f32>",
          "return %a : tensor<f32>\n"),
     "input_output_alias={ {}: (0, {}, may-alias) }"},
    {MAIN("%a: tensor<4xf32> {mhlo.sharding = \"{devices=[2]<=[2]}\"}", "tensor<4xf32>",
          "return %a : tensor<4xf32>\n"),
     "parameter(0), sharding={devices=[2]<=[2]}"},
    {MAIN("%a: tensor<4xf32> {mhlo.sharding = \"{devices=[2]<=[2]T(1)}\"}, %b: tensor<4xf32> "
          "{mhlo.sharding = \"{devices=[2]<=[2]T(0)}\"}",
          "tensor<4xf32>",
          "%0 = stablehlo.add %a, %b : tensor<4xf32>\nreturn %0 : tensor<4xf32>\n"),
     "parameter(0), sharding={devices=[2]<=[2]}\n  Arg_1.3 = f32[4]{0} parameter(1), "
     "sharding={devices=[2]<=[2]}"},
    {MAIN("%a: tensor<f32>", "tensor<f32>",
          "%0 = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<atol = "
          "1.000000e-05, rtol = 0.000000e+00, ulps = 3, mode = "
          "#stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<f32>\n"
          "return %0 : tensor<f32>\n"),
     "result_accuracy={tolerance={atol=1e-05,rtol=0,ulps=3}}"},
    {MAIN("%a: tensor<2x2xbf16>", "tensor<2x2xf32>",
          "%0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0], precision = [HIGHEST, "
          "DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, "
          "accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
          "num_primitive_operations = 3, allow_imprecise_accumulation = false> : "
          "(tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xf32>\n"
          "return %0 : tensor<2x2xf32>\n"),
     "f32[2,2]{1,0} dot(Arg_0.2, Arg_0.2), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "operand_precision={highest,default}, algorithm=dot_bf16_bf16_f32_x3"},
    {MAIN("%a: tensor<2xf32>", "tensor<2xf32>",
          "%0 = stablehlo.custom_call @f(%a) {has_side_effect = true, mhlo.backend_config = {a = 1 "
          ": "
          "i32, b = \"t\", c = true}, operand_layouts = [dense<0> : tensor<1xindex>], "
          "result_layouts "
          "= [dense<0> : tensor<1xindex>], output_operand_aliases = "
          "[#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, "
          "operand_tuple_indices = []>]} : (tensor<2xf32>) -> tensor<2xf32>\n"
          "return %0 : tensor<2xf32>\n"),
     "custom_call_target=\"f\", operand_layout_constraints={f32[2]{0}}, "
     "custom_call_has_side_effect=true, output_to_operand_aliasing={{}: (0, {})}, "
     "api_version=API_VERSION_TYPED_FFI, backend_config={a = 1 : i32, b = \"t\", c = true}"},
    {MAIN("%a: tensor<2xf32>", "tensor<2xf32>",
          "%0 = \"stablehlo.all_reduce\"(%a) <{channel_handle = #stablehlo.channel_handle<handle = "
          "3, type = 1>, replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>, "
          "use_global_device_ids}> ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
          "  %s = stablehlo.add %x, %y : tensor<f32>\n  stablehlo.return %s : tensor<f32>\n"
          "}) : (tensor<2xf32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>\n"),
     "all-reduce(Arg_0.2), channel_id=3, replica_groups={{0,1},{2}}, use_global_device_ids=true"},
    {MAIN("%a: tensor<2xf32>", "tensor<4xf32>",
          "%0 = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 0 : i64, replica_groups = "
          "#stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[<name = \"a\", size = "
          "2>, "
          "<name = \"b\", size = 2>]>, axes = [#stablehlo.axis_ref<name = \"a\">]>}> : "
          "(tensor<2xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>\n"),
     "all-gather(Arg_0.2), replica_groups=mesh[a0=2,a1=2] {a0}, dimensions={0}"},
    {MAIN("%a: tensor<2x4xf32>", "tensor<4x2xf32>",
          "%0 = \"stablehlo.all_to_all\"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : "
          "i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : "
          "(tensor<2x4xf32>) -> tensor<4x2xf32>\nreturn %0 : tensor<4x2xf32>\n"),
     "f32[4,2]{1,0} reshape(transpose"},
    {MAIN("%a: tensor<2xf32>", "tensor<4xf32>",
          "%0 = stablehlo.custom_call @\"all-gather-start\"(%a) {mhlo.frontend_attributes = "
          "{async_collective_config = \"{\\22all_gather_dimension\\22: 0, "
          "\\22replica_groups\\22: [[0, 1], [2, 3]], \\22use_global_device_ids\\22: true, "
          "\\22channel_id\\22: 1}\"}} : (tensor<2xf32>) -> tensor<4xf32>\n"
          "%1 = stablehlo.custom_call @\"all-gather-done\"(%0) : (tensor<4xf32>) -> tensor<4xf32>\n"
          "return %1 : tensor<4xf32>\n"),
     "ROOT all-gather.3 = f32[4]{0} all-gather(Arg_0.2), channel_id=1, "
     "replica_groups={{0,1},{2,3}}, dimensions={0}, use_global_device_ids=true"},
    {"func.func @max(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {\n"
     "  %m = stablehlo.maximum %x, %y : tensor<f32>\n  return %m : tensor<f32>\n}\n"  //
     MAIN("%a: tensor<4xf32>", "tensor<2xf32>",
          "%0 = stablehlo.custom_call @\"reduce-scatter-start\"(%a) {called_computations = [@max], "
          "mhlo.frontend_attributes = {async_collective_config = \"{\\22scatter_dimension\\22: 0, "
          "\\22replica_groups\\22: [[0, 1]], \\22tiled\\22: true}\"}} : (tensor<4xf32>) -> "
          "tensor<2xf32>\nreturn %0 : tensor<2xf32>\n"),
     "reduce-scatter(Arg_0.2), replica_groups={{0,1}}, dimensions={0}, to_apply=max"},
    {MAIN(
         "%a: tensor<2xf32>", "tensor<2xf32>",
         "%0 = stablehlo.custom_call @\"collective-permute-start\"(%a) {mhlo.frontend_attributes = "
         "{async_collective_config = \"{\\22permutation\\22: [[0, 1], [1, 0]]}\"}} : "
         "(tensor<2xf32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>\n"),
     "collective-permute(Arg_0.2), source_target_pairs={{0,1},{1,0}}"},
    {MAIN(
         "%a: tensor<2xf32>, %t: !stablehlo.token", "!stablehlo.token",
         "%0 = \"stablehlo.send\"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 5, "
         "type = 2>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> "
         "!stablehlo.token\nreturn %0 : !stablehlo.token\n"),
     "(f32[2]{0}, u32[], token[]) send(Arg_0.2, Arg_1.3), channel_id=5, is_host_transfer=true"},
    {MAIN("%t: !stablehlo.token", "tensor<2xf32>, !stablehlo.token",
          "%0:2 = \"stablehlo.recv\"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 6, "
          "type "
          "= 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<2xf32>, "
          "!stablehlo.token)\nreturn %0#0, %0#1 : tensor<2xf32>, !stablehlo.token\n"),
     "(f32[2]{0}, token[]) recv-done(recv.3), channel_id=6, is_host_transfer=true"},
    {MAIN("%t: !stablehlo.token", "!stablehlo.token",
          "%0:2 = \"stablehlo.infeed\"(%t) <{infeed_config = \"c\", layout = [[0]]}> : "
          "(!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)\n"
          "%1 = \"stablehlo.outfeed\"(%0#0, %0#1) <{outfeed_config = \"d\"}> : (tensor<2xf32>, "
          "!stablehlo.token) -> !stablehlo.token\nreturn %1 : !stablehlo.token\n"),
     "((f32[2]{0}), token[]) infeed(Arg_0.2), infeed_config=\"c\""},
    {MAIN(
         "%a: tensor<2xf32>, %t: !stablehlo.token", "!stablehlo.token",
         "%0 = \"stablehlo.send\"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 5, "
         "type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1]]> : "
         "tensor<1x2xi64>}> {mhlo.frontend_attributes = {a = \"b\"}} : (tensor<2xf32>, "
         "!stablehlo.token) -> !stablehlo.token\nreturn %0 : !stablehlo.token\n"),
     "send-done(send.4), channel_id=5, "
     "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}"},
    {MAIN("%a: tensor<3x2xf32>, %n: tensor<i32>", "tensor<?x2xf32, #stablehlo.bounds<3, ?>>",
          "%0 = stablehlo.set_dimension_size %a, %n, dim = 0 : (tensor<3x2xf32>, tensor<i32>) -> "
          "tensor<?x2xf32, #stablehlo.bounds<3, ?>>\n"
          "return %0 : tensor<?x2xf32, #stablehlo.bounds<3, ?>>\n"),
     "f32[<=3,2]{1,0} set-dimension-size(Arg_0.2, Arg_1.3), dimensions={0}"},
    {MAIN("%a: tensor<3x2xf32>", "tensor<3x2xf32>, tensor<2xf32>",
          "%0:2 = stablehlo.custom_call @Qr(%a) : (tensor<3x2xf32>) -> (tensor<3x2xf32>, "
          "tensor<2xf32>)\nreturn %0#0, %0#1 : tensor<3x2xf32>, tensor<2xf32>\n"),
     "(f32[3,2]{1,0}, f32[2]{0}) custom-call(Arg_0.2), custom_call_target=\"Qr\""},
    {"module {\n" MAIN("%a: tensor<f32>", "tensor<f32>",
                       "%0 = stablehlo.composite \"chlo.erf\" %a {decomposition = @f} : "
                       "(tensor<f32>) -> tensor<f32>\nreturn %0 : tensor<f32>\n")  //
     "func.func private @f(%x: tensor<f32>) -> tensor<f32> {\n  return %x : tensor<f32>\n}\n}\n",
     "erf(Arg_0.2)"},
    {MAIN("%a: tensor<4xi8>", "tensor<2xi8>, tensor<2xi32>",
          "%0:2 = chlo.top_k(%a, k = 2) : tensor<4xi8> -> (tensor<2xi8>, tensor<2xi32>)\n"
          "return %0#0, %0#1 : tensor<2xi8>, tensor<2xi32>\n"),
     "topk(Arg_0.2), k=2, largest=true"},
    {"module attributes {mhlo.num_partitions = 4 : i32} {\nsdy.mesh @mesh = <[\"x\"=2, "
     "\"y\"=2]>\n" MAIN("%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"y\"}, {}]>}",
                        "tensor<4x4xf32>", "return %a : tensor<4x4xf32>\n") "}\n",
     "parameter(0), sharding={devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"},
    {"module attributes {mhlo.num_partitions = 4 : i32} {\nsdy.mesh @mesh = <[\"x\"=2, "
     "\"y\"=2]>\n" MAIN(
         "%a: tensor<4x4xf32>", "tensor<4x4xf32>",
         "%1 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{\"x\"}, {}]>] "
         "out_shardings=[<@mesh, [{\"x\"}, {}]>] manual_axes={\"x\"} (%b: tensor<2x4xf32>) {\n"
         "  %2 = stablehlo.negate %b : tensor<2x4xf32>\n"
         "  sdy.return %2 : tensor<2x4xf32>\n"
         "} : (tensor<4x4xf32>) -> tensor<4x4xf32>\n"
         "return %1 : tensor<4x4xf32>\n") "}\n",
     "f32[2,4]{1,0} custom-call(custom-call.3), custom_call_target=\"SPMDFullToShardShape\", "
     "sharding={devices=[1,1,2,2]<=[4] last_tile_dims={manual, replicated}}"},
    {"module attributes {mhlo.num_partitions = 4 : i32} {\nsdy.mesh @mesh = <[\"x\"=2, "
     "\"y\"=2]>\n" MAIN(
         "%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\", \"y\"}, {}]>}",
         "tensor<4x4xf32>", "return %a : tensor<4x4xf32>\n") "}\n",
     "parameter(0), sharding={devices=[4,1]<=[2,2]T(0,1)}"},
};
enum { TEXT_CASES = sizeof text_cases / sizeof text_cases[0] };

START_TEST(modules_say) {
  halo_module *module = read_text(text_cases[_i].text);
  char *text;
  ck_assert_int_eq(halo_module_to_text(module, HALO_PRINT_SHORT, &text), HALO_OK);
  ck_assert_msg(strstr(text, text_cases[_i].part) != NULL, "no '%s' in:\n%s", text_cases[_i].part,
                text);
  halo_text_release(text);
  halo_module_release(module);
}
END_TEST

START_TEST(places_are_kept) {
  halo_module *module = read_text(
      MAIN("%a: tensor<f32> loc(\"x\")", "tensor<f32>",
           "%0 = stablehlo.sine %a : tensor<f32> loc(\"jit(f)/jit(main)/sin\"(\"f.py\":7:3))\n"
           "return %0 : tensor<f32>\n"));
  ck_assert_str_eq(halo_module_parameter_name(module, 0), "x.2");
  const halo_instr *root = module->entry->root;
  ck_assert_str_eq(root->name, "sin.3");
  const halo_metadata *metadata = halo_instr_attr(root, HALO_ATTR_METADATA)->metadata;
  ck_assert_str_eq(metadata->op_name, "jit(f)/jit(main)/sin");
  ck_assert_str_eq(metadata->source_file, "f.py");
  ck_assert_int_eq(metadata->source_line, 7);
  halo_module_release(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("stablehlo");
  TCase *tests = tcase_create("translation");
  tcase_add_loop_test(tests, programs_compute, 0, VALUE_CASES);
  tcase_add_loop_test(tests, modules_say, 0, TEXT_CASES);
  tcase_add_test(tests, places_are_kept);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
