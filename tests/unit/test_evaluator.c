/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_evaluator.c: the evaluator on HLO text: the worked examples of the operation
 * semantics, and each operation's corners. */
#include "base/strbuf.h"
#include "evaluator/evaluator.h"
#include "suite.h"
#include "text/text.h"

#include <stdlib.h>
#include <string.h>

/* A module without parameters, and its value. */
typedef struct example {
  const char *name, *text, *value;
} example;

#define ADD_S32 "add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) }\n"
#define ADD_F32 "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"
#define MAX_F32                                                                                    \
  "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }\n"
#define GE_F32                                                                                     \
  "ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), "             \
  "direction=GE }\n"
#define LT_S32                                                                                     \
  "lt { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = pred[] compare(a, b), "             \
  "direction=LT }\n"
/* f32[4,2,3] whose elements are row * 100 + column * 10 + depth, as in the examples of reshape. */
#define COUNTED                                                                                    \
  "v = s32[4,2,3] constant({{{10,11,12},{15,16,17}},{{20,21,22},{25,26,27}},"                      \
  "{{30,31,32},{35,36,37}},{{40,41,42},{45,46,47}}})\n"

static const example examples[] = {
    {"clamp",
     "min = s32[] constant(0) x = s32[3] constant({-1, 5, 9}) max = s32[] constant(6) "
     "ROOT r = s32[3] clamp(min, x, max)",
     "{0, 5, 6}"},
    {"reshape to one dimension", COUNTED "ROOT r = s32[24] reshape(v)",
     "{10,11,12,15,16,17,20,21,22,25,26,27,30,31,32,35,36,37,40,41,42,45,46,47}"},
    {"collapse of dimensions 0 and 1", COUNTED "ROOT r = s32[8,3] reshape(v)",
     "{{10,11,12},{15,16,17},{20,21,22},{25,26,27},{30,31,32},{35,36,37},{40,41,42},{45,46,47}}"},
    {"reshape of a permuted array",
     COUNTED "t = s32[2,3,4] transpose(v), dimensions={1,2,0} ROOT r = s32[24] reshape(t)",
     "{10,20,30,40,11,21,31,41,12,22,32,42,15,25,35,45,16,26,36,46,17,27,37,47}"},
    {"concatenate one dimension",
     "a = s32[2] constant({2,3}) b = s32[2] constant({4,5}) c = s32[2] constant({6,7}) "
     "ROOT r = s32[6] concatenate(a, b, c), dimensions={0}",
     "{2,3,4,5,6,7}"},
    {"concatenate rows",
     "a = s32[3,2] constant({{1,2},{3,4},{5,6}}) b = s32[1,2] constant({{7,8}}) "
     "ROOT r = s32[4,2] concatenate(a, b), dimensions={0}",
     "{{1,2},{3,4},{5,6},{7,8}}"},
    {"concatenate columns and nothing",
     "a = s32[2,1] constant({{1},{2}}) e = s32[2,0] constant({{},{}}) "
     "b = s32[2,2] constant({{3,4},{5,6}}) "
     "ROOT r = s32[2,3] concatenate(a, e, b), dimensions={1}",
     "{{1,3,4},{2,5,6}}"},
    {"dynamic-slice of one dimension",
     "a = s32[5] constant({0,1,2,3,4}) s = s32[] constant(2) "
     "ROOT r = s32[2] dynamic-slice(a, s), dynamic_slice_sizes={2}",
     "{2,3}"},
    {"dynamic-slice of two dimensions",
     "a = s32[4,3] constant({{0,1,2},{3,4,5},{6,7,8},{9,10,11}}) s = s32[] constant(2) "
     "t = s32[] constant(1) ROOT r = s32[2,2] dynamic-slice(a, s, t), dynamic_slice_sizes={2,2}",
     "{{7,8},{10,11}}"},
    {"dynamic-slice clamps its start",
     "a = s32[5] constant({0,1,2,3,4}) s = s32[] constant(-7) t = u64[] "
     "constant(18446744073709551615) b = s32[2] dynamic-slice(a, s), dynamic_slice_sizes={2} "
     "c = s32[2] dynamic-slice(a, t), dynamic_slice_sizes={2} "
     "ROOT r = s32[4] concatenate(b, c), dimensions={0}",
     "{0,1,3,4}"},
    {"dynamic-slice by one array of starts",
     "a = s32[2,3] constant({{0,1,2},{3,4,5}}) s = s32[2] constant({9,1}) "
     "ROOT r = s32[1,2] dynamic-slice(a, s), dynamic_slice_sizes={1,2}",
     "{{4,5}}"},
    {"dynamic-update-slice of one dimension",
     "a = s32[5] constant({0,1,2,3,4}) u = s32[2] constant({5,6}) s = s32[] constant(2) "
     "ROOT r = s32[5] dynamic-update-slice(a, u, s)",
     "{0,1,5,6,4}"},
    {"dynamic-update-slice of two dimensions",
     "a = s32[4,3] constant({{0,1,2},{3,4,5},{6,7,8},{9,10,11}}) "
     "u = s32[3,2] constant({{12,13},{14,15},{16,17}}) s = s32[] constant(1) "
     "ROOT r = s32[4,3] dynamic-update-slice(a, u, s, s)",
     "{{0,1,2},{3,12,13},{6,14,15},{9,16,17}}"},
    {"dot-general, contracting",
     "a = s32[2,3] constant({{1,2,3},{4,5,6}}) b = s32[2,3] constant({{1,1,1},{2,2,2}}) "
     "ROOT r = s32[2,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
     "{{6,12},{15,30}}"},
    {"dot-general, batches",
     "a = f32[2,2,2] constant({{{1,2},{3,4}},{{5,6},{7,8}}}) "
     "b = f32[2,2,2] constant({{{1,0},{0,1}},{{1,0},{0,1}}}) "
     "ROOT r = f32[2,2,2] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
     "lhs_contracting_dims={2}, rhs_contracting_dims={1}",
     "{{{1,2},{3,4}},{{5,6},{7,8}}}"},
    {"dot of vectors and over nothing",
     "a = f32[3] constant({1,2,3}) e = f32[2,0] constant({{},{}}) f = f32[0,1] constant({}) "
     "d = f32[] dot(a, a), lhs_contracting_dims={0}, rhs_contracting_dims={0} "
     "z = f32[2,1] dot(e, f), lhs_contracting_dims={1}, rhs_contracting_dims={0} "
     "y = f32[2,1] broadcast(d), dimensions={} ROOT r = f32[2,1] add(y, z)",
     "{{14},{14}}"},
    {"dot widens s8 to s32",
     "a = s8[2] constant({100,100}) ROOT r = s32[] dot(a, a), lhs_contracting_dims={0}, "
     "rhs_contracting_dims={0}",
     "20000"},
    {"dot of pred",
     "a = pred[2] constant({true,false}) b = pred[2] constant({true,true}) "
     "ROOT r = pred[] dot(a, b), lhs_contracting_dims={0}, "
     "rhs_contracting_dims={0}",
     "true"},
    {"dot of complex",
     "a = c64[1] constant({(1,2)}) b = c64[1] constant({(3,4)}) "
     "ROOT r = c64[] dot(a, b), lhs_contracting_dims={0}, "
     "rhs_contracting_dims={0}",
     "(-5,10)"},
    {"iota of rows", "ROOT r = s32[4,8] iota(), iota_dimension=0",
     "{{0,0,0,0,0,0,0,0},{1,1,1,1,1,1,1,1},{2,2,2,2,2,2,2,2},{3,3,3,3,3,3,3,3}}"},
    {"iota of columns", "ROOT r = u8[2,3] iota(), iota_dimension=1", "{{0,1,2},{0,1,2}}"},
    {"iota wraps", "ROOT r = s4[10] iota(), iota_dimension=0", "{0,1,2,3,4,5,6,7,-8,-7}"},
    {"slice of one dimension",
     "a = s32[5] constant({0,1,2,3,4}) ROOT r = s32[2] slice(a), slice={[2:4]}", "{2,3}"},
    {"slice of two dimensions",
     "a = s32[4,3] constant({{0,1,2},{3,4,5},{6,7,8},{9,10,11}}) "
     "ROOT r = s32[2,2] slice(a), slice={[2:4], [1:3]}",
     "{{7,8},{10,11}}"},
    {"slice with stride",
     "a = s32[7] constant({0,1,2,3,4,5,6}) ROOT r = s32[2] slice(a), slice={[1:6:3]}", "{1,4}"},
    {"select of arrays",
     "p = pred[4] constant({true,false,false,true}) a = s32[4] constant({1,2,3,4}) "
     "b = s32[4] constant({100,200,300,400}) ROOT r = s32[4] select(p, a, b)",
     "{1,200,300,4}"},
    {"select by a scalar",
     "p = pred[] constant(true) a = s32[4] constant({1,2,3,4}) "
     "b = s32[4] constant({100,200,300,400}) ROOT r = s32[4] select(p, a, b)",
     "{1,2,3,4}"},
    {"broadcast of a vector along rows and columns",
     "v = s32[3] constant({1,2,3}) a = s32[2,3] broadcast(v), dimensions={1} "
     "w = s32[2] constant({10,20}) b = s32[2,3] broadcast(w), dimensions={0} "
     "ROOT r = s32[2,3] add(a, b)",
     "{{11,12,13},{21,22,23}}"},
    {"pad with edges, holes and cropping",
     "a = s32[2,3] constant({{1,2,3},{4,5,6}}) z = s32[] constant(9) "
     "ROOT r = s32[4,4] pad(a, z), padding=1_0_1x-1_0_1",
     "{{9,9,9,9},{9,2,9,3},{9,9,9,9},{9,5,9,6}}"},
    {"pad crops everything",
     "a = s32[2] constant({1,2}) z = s32[] constant(9) "
     "ROOT r = s32[1] pad(a, z), padding=-3_2",
     "{9}"},
    {"reverse",
     "a = s32[2,3] constant({{1,2,3},{4,5,6}}) "
     "ROOT r = s32[2,3] reverse(a), dimensions={0,1}",
     "{{6,5,4},{3,2,1}}"},
    {"bitcast looks at layouts",
     "a = s32[2,3]{0,1} constant({{1,2,3},{4,5,6}}) ROOT r = s32[6]{0} bitcast(a)",
     "{1,4,2,5,3,6}"},
    {"bitcast to another width",
     "a = s8[3,2]{0,1} constant({{1,0},{2,0},{0,1}}) ROOT r = s16[3] bitcast(a)", "{513,0,256}"},
    {"bitcast of packed nibbles",
     "a = s4[2,2]{0,1} constant({{1,-1},{2,-8}}) ROOT r = u8[2] bitcast(a)", "{33,143}"},
    {"bitcast-convert to a new dimension",
     "a = u32[2] constant({1, 4278190081}) ROOT r = s8[2,4] bitcast-convert(a)",
     "{{1,0,0,0},{1,0,0,-1}}"},
    {"bitcast-convert from nibbles",
     "a = u4[2,2] constant({{1,15},{2,8}}) ROOT r = s8[2] bitcast-convert(a)", "{-15,-126}"},
    {"gather of rows, clamped",
     "a = s32[3,2] constant({{1,2},{3,4},{5,6}}) i = s32[3] constant({2,-1,7}) "
     "ROOT r = s32[3,2] gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, "
     "start_index_map={0}, index_vector_dim=1, slice_sizes={1,2}",
     "{{5,6},{1,2},{5,6}}"},
    {"gather with batching",
     "a = s32[2,3] constant({{1,2,3},{4,5,6}}) i = s32[2,2] constant({{2,0},{1,1}}) "
     "ROOT r = s32[2,2] gather(a, i), offset_dims={}, collapsed_slice_dims={1}, "
     "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, "
     "index_vector_dim=2, slice_sizes={1,1}",
     "{{3,1},{5,5}}"},
    {"gather of windows with offset dimensions first",
     "a = s32[3,3] constant({{1,2,3},{4,5,6},{7,8,9}}) i = s32[2,2] constant({{0,1},{9,0}}) "
     "ROOT r = s32[2,2,2] gather(a, i), offset_dims={0,1}, collapsed_slice_dims={}, "
     "start_index_map={0,1}, index_vector_dim=0, slice_sizes={2,2}",
     "{{{2,4},{3,5}},{{5,7},{6,8}}}"},
    {"tuples",
     "a = s32[] constant(3) b = f32[2] constant({1,2}) "
     "t = (s32[], f32[2]) tuple(a, b) ROOT r = f32[2] get-tuple-element(t), index=1",
     "{1,2}"},
    {"tokens order and vanish",
     "a = s32[] constant(3) t = token[] after-all() ROOT r = s32[] add-dependency(a, t)", "3"},
};

/* Modules with computations of their own. */
static const example modules[] = {
    {"reduce of rows",
     ADD_S32 "ENTRY e { a = s32[2,3] constant({{1,2,3},{4,5,6}}) "
             "z = s32[] constant(0) "
             "ROOT r = s32[2] reduce(a, z), dimensions={1}, to_apply=add }",
     "{6,15}"},
    {"reduce applies init once, and alone to nothing",
     ADD_S32 "ENTRY e { a = s32[2,0] constant({{},{}}) b = s32[2,2] constant({{1,2},{3,4}}) "
             "z = s32[] constant(100) c = s32[2] reduce(a, z), dimensions={1}, to_apply=add "
             "d = s32[2] reduce(b, z), dimensions={0}, to_apply=add "
             "ROOT r = s32[4] concatenate(c, d), dimensions={0} }",
     "{100,100,104,106}"},
    {"reduce of several dimensions in different order",
     ADD_S32 "ENTRY e {" COUNTED "z = s32[] constant(0) "
             "ROOT r = s32[2] reduce(v, z), dimensions={2,0}, to_apply=add }",
     "{312,372}"},
    {"sums of f32 keep what f32 would lose",
     ADD_F32 "ENTRY e { a = f32[3] constant({16777216, 1, 1}) z = f32[] constant(0) "
             "ROOT r = f32[] reduce(a, z), dimensions={0}, to_apply=add }",
     "16777218"},
    {"reduce with two results is arg-max",
     "am { av = f32[] parameter(0) ai = s32[] parameter(1) bv = f32[] parameter(2) "
     "bi = s32[] parameter(3) p = pred[] compare(av, bv), direction=GE "
     "v = f32[] select(p, av, bv) i = s32[] select(p, ai, bi) "
     "ROOT t = (f32[], s32[]) tuple(v, i) }\n"
     "ENTRY e { x = f32[2,3] constant({{1,5,2},{7,7,0}}) i = s32[2,3] iota(), iota_dimension=1 "
     "m = f32[] constant(-inf) z = s32[] constant(-1) "
     "t = (f32[2], s32[2]) reduce(x, i, m, z), dimensions={1}, to_apply=am "
     "ROOT r = s32[2] get-tuple-element(t), index=1 }",
     "{1,0}"},
    {"map",
     "f { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] constant(2) "
     "m = f32[] multiply(a, b) ROOT r = f32[] add(m, c) }\n"
     "ENTRY e { x = f32[2,2] constant({{1,2},{3,4}}) "
     "ROOT r = f32[2,2] map(x, x), dimensions={0,1}, to_apply=f }",
     "{{3,6},{11,18}}"},
    {"map by a computation with a loop",
     "c { t = (s32[], s32[]) parameter(0) n = s32[] get-tuple-element(t), index=0 "
     "z = s32[] constant(0) ROOT r = pred[] compare(n, z), direction=GT }\n"
     "b { t = (s32[], s32[]) parameter(0) n = s32[] get-tuple-element(t), index=0 "
     "p = s32[] get-tuple-element(t), index=1 o = s32[] constant(1) m = s32[] subtract(n, o) "
     "q = s32[] multiply(p, n) ROOT r = (s32[], s32[]) tuple(m, q) }\n"
     "factorial { n = s32[] parameter(0) o = s32[] constant(1) i = (s32[], s32[]) tuple(n, o) "
     "w = (s32[], s32[]) while(i), condition=c, body=b "
     "ROOT r = s32[] get-tuple-element(w), index=1 }\n"
     "ENTRY e { x = s32[4] constant({0,1,4,5}) "
     "ROOT r = s32[4] map(x), dimensions={0}, to_apply=factorial }",
     "{1,1,24,120}"},
    {"conditional of two",
     "t { a = s32[] parameter(0) ROOT r = s32[] negate(a) }\n"
     "f { a = s32[] parameter(0) ROOT r = s32[] add(a, a) }\n"
     "ENTRY e { p = pred[] constant(false) a = s32[] constant(3) b = s32[] constant(4) "
     "ROOT r = s32[] conditional(p, a, b), true_computation=t, false_computation=f }",
     "8"},
    {"conditional of many takes the last when out of range",
     "t { a = s32[] parameter(0) ROOT r = s32[] negate(a) }\n"
     "f { a = s32[] parameter(0) ROOT r = s32[] add(a, a) }\n"
     "ENTRY e { i = s32[] constant(-1) a = s32[] constant(3) b = s32[] constant(4) "
     "ROOT r = s32[] conditional(i, a, b), branch_computations={t, f} }",
     "8"},
    {"call and fusion",
     "g { a = s32[2] parameter(0) ROOT r = s32[2] add(a, a) }\n"
     "h { a = s32[2] parameter(0) ROOT r = s32[2] call(a), to_apply=g }\n"
     "ENTRY e { a = s32[2] constant({1,2}) "
     "ROOT r = s32[2] fusion(a), kind=kLoop, calls=h }",
     "{2,4}"},
    {"while without a turn",
     "c { a = s32[] parameter(0) ROOT r = pred[] constant(false) }\n"
     "b { a = s32[] parameter(0) ROOT r = s32[] add(a, a) }\n"
     "ENTRY e { a = s32[] constant(5) ROOT r = s32[] while(a), condition=c, body=b }",
     "5"},
    {"reduce-window skips padding and holes",
     ADD_S32 "ENTRY e { a = s32[4] constant({1,2,3,4}) z = s32[] constant(10) "
             "ROOT r = s32[3] reduce-window(a, z), window={size=2 stride=2 pad=1_1}, "
             "to_apply=add }",
     "{11,15,14}"},
    {"reduce-window, dilated",
     ADD_S32 "ENTRY e { a = s32[3] constant({1,2,3}) z = s32[] constant(0) "
             "ROOT r = s32[3] reduce-window(a, z), "
             "window={size=2 lhs_dilate=2 rhs_dilate=2}, to_apply=add }",
     "{3,0,5}"},
    {"select-and-scatter",
     ADD_F32 GE_F32 "ENTRY e { a = f32[4,5] constant({{7,2,5,3,8},{3,8,9,3,4},{1,5,7,5,6},"
                    "{0,6,2,10,2}}) s = f32[2,2] constant({{2,6},{3,1}}) z = f32[] constant(0) "
                    "ROOT r = f32[4,5] select-and-scatter(a, s, z), "
                    "window={size=2x3 stride=2x2}, select=ge, scatter=add }",
     "{{0,0,0,0,0},{0,0,8,0,0},{0,0,3,0,0},{0,0,0,1,0}}"},
    {"scatter adds, and drops windows that do not fit",
     ADD_S32 "ENTRY e { a = s32[4] constant({0,0,0,0}) i = s32[3,1] constant({{1},{1},{3}}) "
             "u = s32[3,2] constant({{1,2},{3,4},{5,6}}) "
             "ROOT r = s32[4] scatter(a, i, u), update_window_dims={1}, inserted_window_dims={}, "
             "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add }",
     "{0,4,6,0}"},
    {"sort",
     LT_S32 "ENTRY e { a = s32[2,4] constant({{3,1,2,0},{7,9,7,8}}) "
            "ROOT r = s32[2,4] sort(a), dimensions={1}, to_apply=lt }",
     "{{0,1,2,3},{7,7,8,9}}"},
    {"sort of pairs is stable",
     "lt { a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] parameter(2) "
     "d = s32[] parameter(3) ROOT r = pred[] compare(a, b), direction=LT }\n"
     "ENTRY e { k = s32[5] constant({1,0,1,0,1}) i = s32[5] iota(), iota_dimension=0 "
     "t = (s32[5], s32[5]) sort(k, i), dimensions={0}, is_stable=true, to_apply=lt "
     "ROOT r = s32[5] get-tuple-element(t), index=1 }",
     "{1,3,0,2,4}"},
    {"topk",
     "ENTRY e { a = f32[5] constant({1,5,-3,5,2}) "
     "t = (f32[3], s32[3]) topk(a), k=3, largest=true "
     "ROOT r = s32[3] get-tuple-element(t), index=1 }",
     "{1,3,4}"},
    {"scan, from the end",
     "step { x = s32[] parameter(0) c = s32[] parameter(1) n = s32[] add(x, c) "
     "m = s32[] multiply(x, c) ROOT r = (s32[], s32[]) tuple(m, n) } "
     "ENTRY e { a = s32[4] constant({1,2,3,4}) z = s32[] constant(10) "
     "t = (s32[4], s32[]) scan(a, z), dimensions={0}, num_carries=1, is_reverse=true, "
     "to_apply=step ROOT r = s32[4] get-tuple-element(t), index=0 }",
     "{19,34,42,40}"},
    {"convolution",
     "ENTRY e { a = s32[1,4,1] constant({{{1},{2},{3},{4}}}) k = s32[2,1,1] "
     "constant({{{1}},{{10}}}) ROOT r = s32[1,5,1] convolution(a, k), "
     "window={size=2 pad=1_1}, dim_labels=b0f_0io->b0f }",
     "{{{10},{21},{32},{43},{4}}}"},
    {"max over nan is nan",
     MAX_F32 "ENTRY e { a = f32[3] constant({1, nan, 3}) m = f32[] constant(-inf) "
             "x = f32[] reduce(a, m), dimensions={0}, to_apply=max "
             "ROOT r = pred[] compare(x, x), direction=NE }",
     "true"},
    {"cholesky, lower",
     "ENTRY e { a = f32[2,2] constant({{4,99},{2,10}}) "
     "ROOT r = f32[2,2] cholesky(a), lower=true }",
     "{{2,0},{1,3}}"},
    {"cholesky, upper",
     "ENTRY e { a = f32[2,2] constant({{4,2},{99,10}}) "
     "ROOT r = f32[2,2] cholesky(a), lower=false }",
     "{{2,1},{0,3}}"},
    {"triangular-solve from the left",
     "ENTRY e { a = f32[2,2] constant({{2,99},{1,4}}) b = f32[2,1] constant({{2},{9}}) "
     "ROOT r = f32[2,1] triangular-solve(a, b), left_side=true, lower=true, "
     "transpose_a=NO_TRANSPOSE }",
     "{{1},{2}}"},
    {"triangular-solve from the right, transposed",
     "ENTRY e { a = f32[2,2] constant({{2,99},{1,4}}) b = f32[1,2] constant({{2,9}}) "
     "ROOT r = f32[1,2] triangular-solve(a, b), left_side=false, lower=true, "
     "transpose_a=TRANSPOSE }",
     "{{1,2}}"},
    {"fft of a constant and back",
     "ENTRY e { a = c64[4] constant({(1,0),(2,0),(3,0),(4,0)}) "
     "f = c64[4] fft(a), fft_type=FFT, fft_length={4} "
     "g = c64[4] fft(f), fft_type=IFFT, fft_length={4} ROOT r = c64[4] add(f, g) }",
     "{(11,0),(0,2),(1,0),(2,-2)}"},
    {"threefry",
     "ENTRY e { s = u64[2] constant({1, 2}) t = (u64[2], u32[3,2]) rng-bit-generator(s), "
     "algorithm=rng_three_fry ROOT r = u32[3,2] get-tuple-element(t), index=1 }",
     "{{43444564,2150618427},{3979645651,3745730563},{1672743891,4240503393}}"},
    {"philox",
     "ENTRY e { s = u64[3] constant({1, 2, 3}) t = (u64[3], u64[3]) rng-bit-generator(s), "
     "algorithm=rng_philox ROOT r = u64[3] get-tuple-element(t), index=1 }",
     "{5869932932755744586,13107052260063114245,8234580641674714347}"},
    {"philox moves its state",
     "ENTRY e { s = u64[3] constant({1, 2, 3}) t = (u64[3], u64[3]) rng-bit-generator(s), "
     "algorithm=rng_philox ROOT r = u64[3] get-tuple-element(t), index=0 }",
     "{1,4,3}"},
    {"batch-norm-inference",
     "ENTRY e { x = f32[2,1] constant({{1},{3}}) s = f32[1] constant({2}) o = f32[1] "
     "constant({5}) m = f32[1] constant({1}) v = f32[1] constant({4}) "
     "ROOT r = f32[2,1] batch-norm-inference(x, s, o, m, v), epsilon=0, feature_index=1 }",
     "{{5},{7}}"},
};

static halo_module *parse(const char *text) {
  halo_module *module = NULL;
  halo_status status = halo_module_parse(text, strlen(text), "test", &module);
  if (status != HALO_OK) ck_abort_msg("%s", halo_error_message());
  return module;
}

static void check_value(const char *name, const char *text, const char *value) {
  halo_module *module = parse(text);
  halo_literal *result = NULL, *expected = NULL;
  halo_status status = halo_evaluate(module->entry, NULL, 0, &result);
  ck_assert_msg(status == HALO_OK, "%s: %s", name, halo_error_message());
  status = halo_text_parse_literal(value, halo_module_result_shape(module), &expected);
  ck_assert_msg(status == HALO_OK, "%s: %s", name, halo_error_message());
  halo_strbuf got = {0};
  halo_literal_print(&got, result);
  ck_assert_msg(halo_literal_same_bits(result, expected), "%s gives %s", name,
                halo_strbuf_text(&got));
  for (int32_t i = 0; i < module->entry->instrs.count; i++) {
    const halo_instr *instr = module->entry->instrs.data[i];
    ck_assert_msg(halo_evaluator_supports(instr), "%s", instr->name);
    ck_assert_int_ge(halo_evaluator_cost(instr), 0);
  }
  halo_strbuf_deinit(&got);
  halo_literal_release(result);
  halo_literal_release(expected);
  halo_module_release(module);
}

START_TEST(examples_without_computations) {
  halo_strbuf text = {0};
  halo_strbuf_printf(&text, "HloModule m\nENTRY e { %s }\n", examples[_i].text);
  check_value(examples[_i].name, halo_strbuf_text(&text), examples[_i].value);
  halo_strbuf_deinit(&text);
}
END_TEST

START_TEST(examples_with_computations) {
  halo_strbuf text = {0};
  halo_strbuf_printf(&text, "HloModule m\n%s\n", modules[_i].text);
  check_value(modules[_i].name, halo_strbuf_text(&text), modules[_i].value);
  halo_strbuf_deinit(&text);
}
END_TEST

START_TEST(arguments_are_checked) {
  halo_module *module = parse(
      "HloModule m\nENTRY e { a = s32[2] parameter(0) "
      "b = s32[2] parameter(1) ROOT r = s32[2] subtract(a, b) }\n");
  halo_literal *args[2], *result = NULL;
  int64_t two = 2, three = 3;
  int32_t data[3] = {5, 7, 9};
  ck_assert_int_eq(halo_literal_create_array(HALO_S32, 1, &two, data, &args[0]), HALO_OK);
  ck_assert_int_eq(halo_literal_create_array(HALO_S32, 1, &three, data, &args[1]), HALO_OK);
  ck_assert_int_eq(halo_evaluate(module->entry, args, 1, &result), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_evaluate(module->entry, args, 2, &result), HALO_INVALID_ARGUMENT);
  ck_assert_ptr_null(strstr(halo_error_message(), "s32[2], not"));
  ck_assert_ptr_nonnull(strstr(halo_error_message(), "s32[3]"));
  ck_assert_ptr_null(result);
  halo_literal_release(args[1]);
  args[1] = args[0];
  ck_assert_int_eq(halo_evaluate(module->entry, args, 2, &result), HALO_OK);
  ck_assert_int_eq(halo_literal_get_i64(result, 0), 0);
  halo_literal_release(result);
  halo_literal_release(args[0]);
  halo_module_release(module);
}
END_TEST

START_TEST(what_cannot_be_evaluated_says_so) {
  halo_module *module = parse(
      "HloModule m\nENTRY e { a = s32[] parameter(0) i = u32[] replica-id() "
      "c = s32[] convert(i) ROOT r = s32[] add(a, c) }\n");
  halo_literal *arg, *result = NULL;
  int32_t zero = 0;
  ck_assert_int_eq(halo_literal_create_array(HALO_S32, 0, NULL, &zero, &arg), HALO_OK);
  ck_assert_int_eq(halo_evaluate(module->entry, &arg, 1, &result), HALO_UNIMPLEMENTED);
  ck_assert_ptr_nonnull(strstr(halo_error_message(), "replica-id"));
  ck_assert_ptr_null(result);
  halo_literal_release(arg);
  halo_module_release(module);
}
END_TEST

/* A chain of computations, each of which calls the one before it `calls` times. */
static halo_module *parse_chain(int depth, int calls) {
  halo_strbuf text = {0};
  halo_strbuf_append(&text,
                     "HloModule m\n"
                     "c0 { a = s32[2] parameter(0) ROOT r = s32[2] negate(a) }\n");
  for (int i = 1; i <= depth; i++) {
    halo_strbuf_printf(&text, "c%d { a0 = s32[2] parameter(0) ", i);
    for (int c = 0; c < calls; c++) {
      halo_strbuf_printf(&text, "a%d = s32[2] call(a%d), to_apply=c%d ", c + 1, c, i - 1);
    }
    halo_strbuf_printf(&text, "ROOT r = s32[2] negate(a%d) }\n", calls);
  }
  halo_strbuf_printf(&text,
                     "ENTRY e { a = s32[2] constant({1,2}) "
                     "ROOT r = s32[2] call(a), to_apply=c%d }\n",
                     depth);
  halo_module *module = parse(halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return module;
}

START_TEST(deep_calls) {
  halo_module *module = parse_chain(400, 1);
  halo_literal *result = NULL;
  ck_assert_int_eq(halo_evaluate(module->entry, NULL, 0, &result), HALO_OK);
  ck_assert_int_eq(halo_literal_get_i64(result, 1), -2);
  ck_assert(halo_evaluator_supports(module->entry->root));
  halo_literal_release(result);
  halo_module_release(module);
}
END_TEST

/* Calls that fan out without bound are not looked through. */
START_TEST(wide_calls_are_refused) {
  halo_module *module = parse_chain(60, 2);
  ck_assert(!halo_evaluator_supports(module->entry->root));
  ck_assert_int_eq(halo_evaluator_cost(module->entry->root), INT64_MAX);
  halo_module_release(module);
}
END_TEST

START_TEST(loops_have_no_known_cost) {
  halo_module *module = parse(
      "HloModule m\nc { a = s32[] parameter(0) ROOT r = pred[] constant(false) }\n"
      "b { a = s32[] parameter(0) ROOT r = s32[] add(a, a) }\n"
      "ENTRY e { a = s32[] constant(5) w = s32[] while(a), condition=c, body=b "
      "i = f32[100,100] iota(), iota_dimension=0 d = f32[100,100] dot(i, i), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0} ROOT r = s32[] add(w, a) }\n");
  const halo_instr *d = NULL, *w = NULL;
  for (int32_t i = 0; i < module->entry->instrs.count; i++) {
    const halo_instr *instr = module->entry->instrs.data[i];
    if (instr->opcode == HALO_OP_DOT) d = instr;
    if (instr->opcode == HALO_OP_WHILE) w = instr;
  }
  ck_assert_int_eq(halo_evaluator_cost(w), INT64_MAX);
  ck_assert_int_ge(halo_evaluator_cost(d), 1000000);
  ck_assert_int_lt(halo_evaluator_cost(d), 2000000);
  halo_module_release(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("evaluator");
  TCase *tests = tcase_create("evaluator");
  tcase_set_timeout(tests, 60);
  tcase_add_loop_test(tests, examples_without_computations, 0, sizeof examples / sizeof *examples);
  tcase_add_loop_test(tests, examples_with_computations, 0, sizeof modules / sizeof *modules);
  tcase_add_test(tests, arguments_are_checked);
  tcase_add_test(tests, what_cannot_be_evaluated_says_so);
  tcase_add_test(tests, deep_calls);
  tcase_add_test(tests, wide_calls_are_refused);
  tcase_add_test(tests, loops_have_no_known_cost);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
