/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_infer.c: shape inference, legal and illegal cases of every function. */
#include "hlo/infer.h"
#include "hlo_make.h"
#include "suite.h"

/* `expect` is the result shape, or "!" and a fragment of the message. */
typedef struct infer_case {
  const char *op, *operands, *written, *attrs, *expect;
} infer_case;

#define ADD "to_apply=f32[] f32[] > f32[]"
#define GATHER(o, c, m, v, s)                                                                      \
  "offset_dims=" o ";collapsed_slice_dims=" c ";start_index_map=" m ";index_vector_dim=" v         \
  ";slice_sizes=" s
#define SCATTER(w, i, m, v)                                                                        \
  "update_window_dims=" w ";inserted_window_dims=" i ";scatter_dims_to_operand_dims=" m            \
  ";index_vector_dim=" v
#define SCATTER_BATCH(o, i) "input_batching_dims=" o ";scatter_indices_batching_dims=" i
#define NORM "epsilon=1;feature_index="
#define DOT(l, r) "lhs_contracting_dims=" l ";rhs_contracting_dims=" r
#define BDOT(bl, br, l, r) "lhs_batch_dims=" bl ";rhs_batch_dims=" br ";" DOT(l, r)
#define SS(w) "window=" w ";select=f32[] f32[] > pred[];scatter=f32[] f32[] > f32[]"

static const infer_case cases[] = {
    /* Gate */
    {"add", "f32[2]", NULL, NULL, "!add(f32[2]): expects 2 operands, but has 1"},
    {"scatter", "f32[2]", NULL, NULL, "!expects at least 3 operands"},
    {"transpose", "f32[2]", NULL, NULL, "!the attribute dimensions is missing"},
    {"add", "f32[2];(f32[2])", NULL, NULL, "!operand 1 must be an array"},
    {"compare", "f32[];f32[]", NULL, "direction=9", "!direction has no value number 9"},
    {"negate", "f32[2]", "f32[3]", NULL, "!the written shape f32[3] is not the inferred f32[2]"},
    {"broadcast", "f32[]", "f32[4611686018427387904]", "dimensions=", "!does not fit 63 bits"},
    {"pad", "s8[2];s8[]", NULL, "padding=0,9223372036854775806,0", "!does not fit 64 bits"},
    {"negate", "f32[?]", NULL, NULL, "f32[?]"},
    {"slice", "f32[?]", "f32[?]", "slice=0,1,1", "f32[?]"},
    /* Unary */
    {"negate", "s32[2,3]{0,1}", NULL, NULL, "s32[2,3]{0,1}"},
    {"negate", "pred[]", NULL, NULL, "!must be signed integer or unsigned integer"},
    {"exponential", "s32[2]", NULL, NULL, "!must be float or complex, not s32"},
    {"cosine", "f32[<=4]", NULL, NULL, "f32[<=4]"},
    {"not", "f32[]", NULL, NULL, "!must be pred or signed"},
    {"not", "pred[0,2]", NULL, NULL, "pred[0,2]"},
    {"cbrt", "c64[]", NULL, NULL, "!must be float"},
    {"abs", "c64[2]", NULL, NULL, "f32[2]"},
    {"abs", "u8[2]", NULL, NULL, "!abs(u8[2])"},
    {"real", "c128[2]", NULL, NULL, "f64[2]"},
    {"imag", "bf16[2]", NULL, NULL, "bf16[2]"},
    {"is-finite", "f16[2,2]{0,1}", NULL, NULL, "pred[2,2]{0,1}"},
    {"is-finite", "s32[]", NULL, NULL, "!must be float"},
    {"copy", "(f32[2], s32[])", NULL, NULL, "(f32[2], s32[])"},
    {"convert", "f32[2]", "s4[2]", NULL, "s4[2]"},
    {"convert", "f32[2]", "s4[3]", NULL, "!must have the operand's dimensions"},
    {"convert", "f32[2]", NULL, NULL, "!must be written"},
    {"convert", "f32[2]", "(f32[2])", NULL, "!must be an array"},
    {"bitcast-convert", "f32[3]", "s32[3]", NULL, "s32[3]"},
    {"bitcast-convert", "f32[3]", "u8[3,4]", NULL, "u8[3,4]"},
    {"bitcast-convert", "u8[3,4]", "f32[3]", NULL, "f32[3]"},
    {"bitcast-convert", "u8[3,3]", "f32[3]", NULL, "!must be the ratio of the widths, 4"},
    {"bitcast-convert", "u8[]", "f32[]", NULL, "!must be the ratio"},
    {"bitcast-convert", "c64[]", "f32[2]", NULL, "!complex and other types"},
    {"bitcast-convert", "c128[2]", "c64[2,2]", NULL, "c64[2,2]"},
    {"bitcast-convert", "pred[2]", "u8[2]", NULL, "u8[2]"},
    {"bitcast-convert", "pred[2,4]", "f32[2]", NULL, "f32[2]"},
    {"bitcast-convert", "s32[2]", "pred[2,4]", NULL, "pred[2,4]"},
    {"bitcast-convert", "pred[2]", "f32[2]", NULL, "!must be the ratio of the widths, 4"},
    {"bitcast-convert", "s8[3]", "s4[3,2]", NULL, "s4[3,2]"},
    {"bitcast", "f32[2,3]", "s32[6]", NULL, "s32[6]"},
    {"bitcast", "f32[2,3]", "s32[5]", NULL, "!as many bytes"},
    {"bitcast", "s8[3,2]", "s16[3]", NULL, "s16[3]"},
    {"bitcast", "s4[4,4]", "s8[8]", NULL, "s8[8]"},
    {"bitcast", "s4[8]", "s8[8]", NULL, "!as many bytes"},
    {"reduce-precision", "f32[2]", NULL, "exponent_bits=5;mantissa_bits=10", "f32[2]"},
    {"reduce-precision", "f32[2]", NULL, "exponent_bits=0;mantissa_bits=10", "!at least 1"},
    {"reduce-precision", "f32[2]", NULL, "exponent_bits=1;mantissa_bits=-1", "!not be negative"},
    {"reduce-precision", "s32[2]", NULL, "exponent_bits=1;mantissa_bits=1", "!must be float"},
    {"stochastic-convert", "f32[2];u32[2]", "s8[2]", NULL, "s8[2]"},
    {"stochastic-convert", "f32[2];u16[2]", "s8[2]", NULL, "!as wide as operand 0"},
    {"stochastic-convert", "f32[2];u32[3]", "s8[2]", NULL, "!same dimensions"},
    {"stochastic-convert", "f32[];u32[]", "pred[]", NULL, "!float or integer"},
    /* Binary */
    {"add", "f32[2,3]{0,1};f32[2,3]", NULL, NULL, "f32[2,3]{0,1}"},
    {"add", "f32[2];f32[3]", NULL, NULL, "!add(f32[2], f32[3]): operands 0 and 1 must have the"},
    {"add", "f32[];f32[3]", NULL, NULL, "!same dimensions"},
    {"add", "s32[2];u32[2]", NULL, NULL, "!same element type"},
    {"add", "bf16[2];f32[2]", NULL, NULL, "f32[2]"},
    {"add", "bf16[2];f32[2]", "bf16[2]", NULL, "bf16[2]"},
    {"add", "bf16[2];f32[2]", "f64[2]", NULL, "!is not the inferred"},
    {"add", "f32[<=2,3];f32[2,<=3]", NULL, NULL, "f32[<=2,<=3]"},
    {"add", "pred[2];pred[2]", NULL, NULL, "pred[2]"},
    {"subtract", "pred[2];pred[2]", NULL, NULL, "!subtract(pred[2], pred[2])"},
    {"remainder", "c64[];c64[]", NULL, NULL, "!not c64"},
    {"and", "f32[];f32[]", NULL, NULL, "!not f32"},
    {"shift-left", "pred[];pred[]", NULL, NULL, "!not pred"},
    {"atan2", "s32[];s32[]", NULL, NULL, "!not s32"},
    {"mulhi", "u16[3];u16[3]", NULL, NULL, "u16[3]"},
    {"complex", "f32[2];f32[2]", NULL, NULL, "c64[2]"},
    {"complex", "f64[2];f64[2]", NULL, NULL, "c128[2]"},
    {"complex", "f16[2];f16[2]", NULL, NULL, "!must both be f32 or both f64"},
    {"complex", "f32[2];f64[2]", NULL, NULL, "!must both be f32 or both f64"},
    {"compare", "f32[2]{0};f32[2]", NULL, "direction=0", "pred[2]"},
    {"compare", "c64[2];c64[2]", NULL, "direction=1", "pred[2]"},
    {"compare", "c64[2];c64[2]", NULL, "direction=5", "!by EQ and NE only"},
    {"compare", "f32[2];f32[2]", NULL, "direction=5;type=1", "pred[2]"},
    {"compare", "s32[2];s32[2]", NULL, "direction=5;type=3", "pred[2]"},
    {"compare", "s32[2];s32[2]", NULL, "direction=5;type=0", "pred[2]"},
    {"compare", "pred[2];pred[2]", NULL, "direction=5;type=2", "pred[2]"},
    {"compare", "c64[2];c64[2]", NULL, "direction=0;type=1", "!do not compare as TOTALORDER"},
    {"compare", "f32[];f32[]", NULL, "direction=5;type=1;order=0", "!exclude each other"},
    {"compare", "c64[];c64[]", NULL, "direction=0;order=0", "!no total order"},
    /* Ternary */
    {"select", "pred[2];f32[2]{0};f32[2]", NULL, NULL, "f32[2]"},
    {"select", "pred[];f32[2];f32[2]", NULL, NULL, "f32[2]"},
    {"select", "pred[3];f32[2];f32[2]", NULL, NULL, "!must be a scalar or have"},
    {"select", "s32[2];f32[2];f32[2]", NULL, NULL, "!must be pred, not s32"},
    {"select", "pred[];f32[2];f32[]", NULL, NULL, "!operands 1 and 2 must have the same dim"},
    {"select", "pred[];(f32[]);(f32[])", NULL, NULL, "!must be an array"},
    {"clamp", "f32[];f32[2,2]{0,1};f32[2,2]", NULL, NULL, "f32[2,2]{0,1}"},
    {"clamp", "f32[1];f32[2];f32[]", NULL, NULL, "!bound 0 must be a scalar"},
    {"clamp", "f32[];f32[2];s32[]", NULL, NULL, "!same element type"},
    {"clamp", "c64[];c64[];c64[]", NULL, NULL, "c64[]"},
    {"tuple-select", "pred[];(f32[2]);(f32[2])", NULL, NULL, "(f32[2])"},
    {"tuple-select", "pred[];(f32[2]);(f32[3])", NULL, NULL, "!the same shape"},
    {"tuple-select", "pred[2];(f32[2]);(f32[2])", NULL, NULL, "!must be a scalar"},
    /* Values and tuples */
    {"parameter", NULL, NULL, NULL, "!must be written"},
    {"parameter", NULL, "(f32[2], token[])", NULL, "(f32[2], token[])"},
    {"constant", NULL, "f32[]", NULL, "!the literal is missing"},
    {"iota", NULL, "s32[2,3]", "iota_dimension=1", "s32[2,3]"},
    {"iota", NULL, "s32[2,3]", "iota_dimension=2", "!outside the result's 2"},
    {"iota", NULL, "s32[]", "iota_dimension=0", "!outside the result's 0"},
    {"iota", NULL, "pred[2]", "iota_dimension=0", "!not pred"},
    {"replica-id", NULL, NULL, NULL, "u32[]"},
    {"partition-id", NULL, NULL, NULL, "u32[]"},
    {"opt-barrier", "(f32[2])", NULL, NULL, "(f32[2])"},
    {"after-all", "token[];token[]", NULL, NULL, "token[]"},
    {"after-all", "f32[]", NULL, NULL, "!must be a token"},
    {"add-dependency", "f32[2];token[]", NULL, NULL, "f32[2]"},
    {"add-dependency", "f32[2];f32[]", NULL, NULL, "!must be a token"},
    {"tuple", NULL, NULL, NULL, "()"},
    {"tuple", "f32[2,2]{0,1};()", NULL, NULL, "(f32[2,2]{0,1}, ())"},
    {"get-tuple-element", "(f32[], s8[2])", NULL, "index=1", "s8[2]"},
    {"get-tuple-element", "(f32[], s8[2])", NULL, "index=2", "!outside the tuple's 2"},
    {"get-tuple-element", "(f32[], s8[2])", NULL, "index=-1", "!index -1 is outside"},
    {"get-tuple-element", "f32[2]", NULL, "index=0", "!must be a tuple"},
    /* Movement */
    {"broadcast", "f32[]", "f32[2,3]", "dimensions=", "f32[2,3]"},
    {"broadcast", "f32[3]", "f32[2,3]", "dimensions=1", "f32[2,3]"},
    {"broadcast", "f32[2,3]", "f32[3,2]", "dimensions=1,0", "f32[3,2]"},
    {"broadcast", "f32[3]", "f32[2,3]", "dimensions=0", "!operand dimension 0 is 3, but result"},
    {"broadcast", "f32[3]", "f32[2,3]", "dimensions=2", "!dimensions entry 2 is outside 0 to 1"},
    {"broadcast", "f32[3]", "f32[2,3]", "dimensions=", "!has 0 entries"},
    {"broadcast", "f32[2,2]", "f32[2,2]", "dimensions=0,0", "!a second time"},
    {"broadcast", "f32[]", NULL, "dimensions=", "!must be written"},
    {"broadcast", "f32[]", "s32[2]", "dimensions=", "!is not the inferred f32[2]"},
    {"reshape", "f32[2,3]", "f32[6,1]", NULL, "f32[6,1]"},
    {"reshape", "f32[2,3]", "f32[5]", NULL, "!has 6 elements, but the result 5"},
    {"reshape", "f32[2,3]", "s32[6]", NULL, "!is not the inferred f32[6]"},
    {"reshape", "f32[0,3]", "f32[5,0]", NULL, "f32[5,0]"},
    {"dynamic-reshape", "f32[6];s32[];s32[]", "f32[<=2,3]", NULL, "f32[<=2,3]"},
    {"dynamic-reshape", "f32[6];s32[]", "f32[<=2,3]", NULL, "!one size for each"},
    {"dynamic-reshape", "f32[6];s64[]", "f32[<=6]", NULL, "!must be an s32 scalar"},
    {"transpose", "f32[2,3,<=4]", NULL, "dimensions=2,0,1", "f32[<=4,2,3]"},
    {"transpose", "f32[2,3]", NULL, "dimensions=0", "!not a permutation"},
    {"transpose", "f32[2,3]", NULL, "dimensions=1,1", "!a second time"},
    {"reverse", "f32[2,3]", NULL, "dimensions=1", "f32[2,3]"},
    {"reverse", "f32[2,3]", NULL, "dimensions=1,1", "!a second time"},
    {"reverse", "f32[2,3]", NULL, "dimensions=2", "!outside 0 to 1"},
    {"slice", "f32[5,9]", NULL, "slice=1,3,1,0,9,2", "f32[2,5]"},
    {"slice", "f32[5]", NULL, "slice=5,5,1", "f32[0]"},
    {"slice", "f32[5]", NULL, "slice=0,6,1", "!needs 0 <= start <= limit <= size"},
    {"slice", "f32[5]", NULL, "slice=-1,2,1", "!needs 0 <= start"},
    {"slice", "f32[5]", NULL, "slice=3,2,1", "!needs 0 <= start"},
    {"slice", "f32[5]", NULL, "slice=0,2,0", "!positive stride"},
    {"slice", "f32[5,2]", NULL, "slice=0,2,1", "!slice has 1 entry,"},
    {"reshape", "f32[1]", "f32[3]", NULL, "!the operand has 1 element, but the result 3"},
    {"slice", "f32[<=5,<=5]", NULL, "slice=0,1,1,0,5,2", "f32[1,<=3]"},
    {"pad", "f32[3];f32[]", NULL, "padding=1,2,1", "f32[8]"},
    {"pad", "f32[3];f32[]", NULL, "padding=-1,-2,0", "f32[0]"},
    {"pad", "f32[3];f32[]", NULL, "padding=-2,-2,0", "!negative size"},
    {"pad", "f32[0];f32[]", NULL, "padding=1,1,5", "f32[2]"},
    {"pad", "f32[3];f32[]", NULL, "padding=0,0,-1", "!interior padding"},
    {"pad", "f32[3];f32[1]", NULL, "padding=0,0,0", "!must be a scalar"},
    {"pad", "f32[3];s32[]", NULL, "padding=0,0,0", "!operand's element type"},
    {"pad", "f32[3];f32[]", NULL, "padding=", "!padding has 0 entries"},
    {"concatenate", "f32[2,3];f32[0,3];f32[5,3]", NULL, "dimensions=0", "f32[7,3]"},
    {"concatenate", "f32[2,3];f32[5,4]", NULL, "dimensions=0", "!differ in dimension 1"},
    {"concatenate", "f32[2];f32[5,4]", NULL, "dimensions=0", "!the same rank"},
    {"concatenate", "f32[2];s32[2]", NULL, "dimensions=0", "!same element type"},
    {"concatenate", "f32[2]", NULL, "dimensions=1", "!outside 0 to 0"},
    {"concatenate", "f32[]", NULL, "dimensions=0", "!outside"},
    {"concatenate", "f32[2,2]", NULL, "dimensions=0,1", "!exactly one"},
    {"get-dimension-size", "f32[2,3]", NULL, "dimensions=1", "s32[]"},
    {"get-dimension-size", "f32[2,3]", NULL, "dimensions=2", "!outside 0 to 1"},
    {"get-dimension-size", "s8[4294967296]", NULL, "dimensions=0", "!does not fit s32"},
    {"set-dimension-size", "f32[2,3];s32[]", NULL, "dimensions=1", "f32[2,<=3]"},
    {"set-dimension-size", "f32[2,3];s64[]", NULL, "dimensions=1", "!must be an s32 scalar"},
    /* Control */
    {"call", "f32[2];s32[]", NULL, "to_apply=f32[2] s32[] > (f32[2])", "(f32[2])"},
    {"call", "f32[2]", NULL, "to_apply=f32[2] s32[] > f32[2]", "!takes 2 parameters, but 1"},
    {"call", "f32[3]", NULL, "to_apply=f32[2] > f32[2]", "!shape of parameter 0"},
    {"fusion", "f32[2]", "f32[2]", "kind=0;calls=f32[2] > f32[2]", "f32[2]"},
    {"fusion", "f32[2]", "f32[3]", "kind=0;calls=f32[2] > f32[2]", "!is not the inferred f32[2]"},
    {"call", "f32[2]", NULL, "to_apply=", "!the computation to_apply is missing"},
    {"while", "(s32[])", NULL, "condition=(s32[]) > pred[];body=(s32[]) > (s32[])", "(s32[])"},
    {"while", "s32[]", NULL, "condition=s32[] > s32[];body=s32[] > s32[]", "!return a pred"},
    {"while", "s32[]", NULL, "condition=s32[] > pred[];body=s32[] > f32[]", "!return the shape"},
    {"while", "s32[]", NULL, "condition=f32[] > pred[];body=s32[] > s32[]", "!parameter 0"},
    {"while", "s32[]", NULL, "condition=s32[] > pred[];body=s32[] s32[] > s32[]", "!takes 2"},
    {"conditional", "pred[];f32[];s32[2]", NULL,
     "true_computation=f32[] > f32[3];false_computation=s32[2] > f32[3]", "f32[3]"},
    {"conditional", "s32[];f32[];s32[2]", NULL,
     "branch_computations=f32[] > f32[3] | s32[2] > f32[3]", "f32[3]"},
    {"conditional", "s32[];f32[];s32[2]", NULL,
     "branch_computations=f32[] > f32[3] | s32[2] > f32[4]", "!shape that branch 0 returns"},
    {"conditional", "s32[];f32[]", NULL, "branch_computations=f32[] f32[] > f32[3]",
     "!exactly one parameter"},
    {"conditional", "s32[];f32[2]", NULL, "branch_computations=f32[] > f32[3]",
     "!operand 1 does not have"},
    {"conditional", "s32[];f32[];f32[]", NULL, "branch_computations=f32[] > f32[3]",
     "!one operand for each of the 1"},
    {"conditional", "pred[];f32[]", NULL, "branch_computations=f32[] > f32[3]",
     "!needs true_computation"},
    {"conditional", "s32[];f32[];f32[]", NULL,
     "true_computation=f32[] > f32[];false_computation=f32[] > f32[]", "!needs branch_comp"},
    {"conditional", "u32[];f32[]", NULL, "branch_computations=f32[] > f32[]",
     "!must be a pred or s32 scalar"},
    /* Indexed */
    {"dynamic-slice", "f32[5,6];s32[];s32[]", NULL, "dynamic_slice_sizes=2,0", "f32[2,0]"},
    {"dynamic-slice", "f32[5,6];s32[2]", NULL, "dynamic_slice_sizes=2,6", "f32[2,6]"},
    {"dynamic-slice", "f32[5];u8[1]", NULL, "dynamic_slice_sizes=5", "f32[5]"},
    {"dynamic-slice", "f32[]", NULL, "dynamic_slice_sizes=", "f32[]"},
    {"dynamic-slice", "f32[5,6];s32[];s64[]", NULL, "dynamic_slice_sizes=2,3", "!same type"},
    {"dynamic-slice", "f32[5];pred[]", NULL, "dynamic_slice_sizes=2", "!must be integers"},
    {"dynamic-slice", "f32[5];s32[]", NULL, "dynamic_slice_sizes=6", "!does not fit dimension 0"},
    {"dynamic-slice", "f32[5];s32[]", NULL, "dynamic_slice_sizes=-1", "!does not fit"},
    {"dynamic-slice", "f32[5];s32[]", NULL, "dynamic_slice_sizes=1,1", "!has 2 entries"},
    {"dynamic-slice", "f32[5,6];s32[]", NULL, "dynamic_slice_sizes=2,3", "!expects 2 start"},
    {"dynamic-slice", "f32[5,6];s32[3]", NULL, "dynamic_slice_sizes=2,3", "!but has 3"},
    {"dynamic-slice", "f32[5,6];s32[1,1];s32[]", NULL, "dynamic_slice_sizes=2,3", "!be scalars"},
    {"dynamic-update-slice", "f32[5,6];f32[2,0];s32[];s32[]", NULL, NULL, "f32[5,6]"},
    {"dynamic-update-slice", "f32[5,6];f32[2,1];s32[2]", NULL, NULL, "f32[5,6]"},
    {"dynamic-update-slice", "f32[5];f32[6];s32[]", NULL, NULL, "!larger than the operand"},
    {"dynamic-update-slice", "f32[5];s32[2];s32[]", NULL, NULL, "!operand's element type"},
    {"dynamic-update-slice", "f32[5];f32[];s32[]", NULL, NULL, "!the operand's rank"},
    {"gather", "f32[5,6];s32[3,2]", NULL, GATHER("", "0,1", "0,1", "1", "1,1"), "f32[3]"},
    {"gather", "f32[5,6];s32[3]", NULL, GATHER("1", "0", "0", "1", "1,6"), "f32[3,6]"},
    {"gather", "f32[5,6];s32[3,7]", NULL, GATHER("0,2", "", "1", "2", "2,3"), "f32[2,3,3,7]"},
    {"gather", "f32[5,6];s32[3,7]", NULL, GATHER("1,4", "", "1", "2", "2,3"), "!entry 4"},
    {"gather", "f32[5,6];s32[3,7]", NULL, GATHER("0,3", "", "1", "2", "2,3"), "f32[2,3,7,3]"},
    {"gather", "f32[4,5];s32[4,3]", NULL,
     GATHER("", "1", "1", "2", "1,1") ";operand_batching_dims=0;start_indices_batching_dims=0",
     "f32[4,3]"},
    {"gather", "f32[4,5];s32[3,3]", NULL,
     GATHER("", "1", "1", "2", "1,1") ";operand_batching_dims=0;start_indices_batching_dims=0",
     "!differ in size"},
    {"gather", "f32[5];f32[3]", NULL, GATHER("", "0", "0", "1", "1"), "!must be integers"},
    {"gather", "f32[5];s32[3]", NULL, GATHER("", "0", "0", "2", "1"), "!outside 0 to 1"},
    {"gather", "f32[5];s32[3]", NULL, GATHER("", "0", "0", "1", "2"), "!slice size must be 0 or 1"},
    {"gather", "f32[5];s32[3]", NULL, GATHER("1", "", "0", "1", "6"), "!does not fit dimension 0"},
    {"gather", "f32[5];s32[3]", NULL, GATHER("", "0", "0,0", "1", "1"), "!has 2 entries"},
    {"gather", "f32[5];s32[3]", NULL, GATHER("", "0", "1", "1", "1"), "!outside 0 to 0"},
    {"gather", "f32[5];s32[3]", NULL, GATHER("", "0", "0", "1", "1,1"), "!slice_sizes has 2"},
    {"gather", "f32[5,6];s32[3]", NULL, GATHER("2,1", "", "0", "1", "1,1"), "!increasing order"},
    {"gather", "f32[5,6];s32[3]", NULL, GATHER("", "1,0", "0", "1", "1,1"), "!increasing order"},
    {"scatter", "f32[5,6];s32[3,2];f32[3]", NULL, SCATTER("", "0,1", "0,1", "1") ";" ADD,
     "f32[5,6]"},
    {"scatter", "f32[5,6];s32[3];f32[3,4]", NULL, SCATTER("1", "0", "0", "1") ";" ADD, "f32[5,6]"},
    {"scatter", "f32[5,6];s32[3];f32[3,7]", NULL, SCATTER("1", "0", "0", "1") ";" ADD, "!larger"},
    {"scatter", "f32[5,6];s32[3];f32[2,4]", NULL, SCATTER("1", "0", "0", "1") ";" ADD,
     "!differs from that of indices"},
    {"scatter", "f32[5,6];s32[3];f32[3]", NULL, SCATTER("1", "0", "0", "1") ";" ADD,
     "!updates must have rank 2"},
    {"scatter", "f32[5,6];s32[3];f32[3,4]", NULL, SCATTER("1", "", "0", "1") ";" ADD,
     "!windows keep 2"},
    {"scatter", "f32[5];f32[3];f32[3]", NULL, SCATTER("", "0", "0", "1") ";" ADD, "!integers"},
    {"scatter", "f32[5];s32[3];f32[3];f32[3]", NULL, SCATTER("", "0", "0", "1") ";" ADD,
     "!N operands, indices and N updates"},
    {"scatter", "f32[5];s32[5];s32[3];f32[3];s32[3]", NULL,
     SCATTER("", "0", "0", "1") ";to_apply=f32[] s32[] f32[] s32[] > (f32[], s32[])",
     "(f32[5], s32[5])"},
    {"scatter", "f32[5];s32[3];f32[3]", NULL,
     SCATTER("", "0", "0", "1") ";to_apply=s32[] s32[] > s32[]", "!does not fit"},
    {"scatter", "f32[5];f32[6];s32[3];f32[3];f32[3]", NULL,
     SCATTER("", "0", "0", "1") ";to_apply=f32[] f32[] f32[] f32[] > (f32[], f32[])",
     "!must have the same dimensions"},
    {"scatter", "f32[5];s32[3];f32[3]", NULL, SCATTER("", "0", "0", "2") ";" ADD,
     "!index_vector_dim 2 is outside"},
    {"scatter", "f32[5,6];s32[3];f32[3,4]", NULL, SCATTER("2", "0", "0", "1") ";" ADD,
     "!outside 0 to 1"},
    {"scatter", "f32[5,6];s32[3,2];f32[3]", NULL, SCATTER("", "1,0", "0,1", "1") ";" ADD,
     "!increasing order"},
    {"scatter", "f32[5,6];s32[3,2];f32[3]", NULL, SCATTER("", "0,1", "0,0", "1") ";" ADD,
     "!a second time"},
    {"scatter", "f32[3,5];s32[3,2];f32[3,2]", NULL,
     SCATTER("", "1", "1", "2") ";" SCATTER_BATCH("0", "0") ";" ADD, "f32[3,5]"},
    {"scatter", "f32[4,5];s32[3,2];f32[3,2]", NULL,
     SCATTER("", "1", "1", "2") ";" SCATTER_BATCH("0", "0") ";" ADD, "!differ in size"},
    {"scatter", "f32[3,5];s32[3,2];f32[3,2]", NULL,
     SCATTER("", "1", "1", "2") ";" SCATTER_BATCH("0", "0,1") ";" ADD, "!the same length"},
    {"scatter", "f32[3,5];s32[3,2];f32[3,2]", NULL,
     SCATTER("", "1", "0", "2") ";" SCATTER_BATCH("0", "0") ";" ADD, "!share dimension 0"},
    {"scatter", "f32[3,5];s32[3,1];f32[3]", NULL,
     SCATTER("", "1", "1", "1") ";" SCATTER_BATCH("0", "1") ";" ADD, "!contains index_vector_dim"},
    /* Reductions */
    {"reduce", "f32[2,<=3,4];f32[]", NULL, "dimensions=2,0;" ADD, "f32[<=3]"},
    {"reduce", "f32[2];f32[]", NULL, "dimensions=;" ADD, "f32[2]"},
    {"reduce", "bf16[2];bf16[]", NULL, "dimensions=0;" ADD, "f32[]"},
    {"reduce", "f32[2];f32[]", NULL, "dimensions=0;to_apply=f32[] f32[] > (f32[])", "(f32[])"},
    {"reduce", "f32[2];s32[2];f32[];s32[]", NULL,
     "dimensions=0;to_apply=f32[] s32[] f32[] s32[] > (f32[], s32[])", "(f32[], s32[])"},
    {"reduce", "f32[2];s32[3];f32[];s32[]", NULL,
     "dimensions=0;to_apply=f32[] s32[] f32[] s32[] > (f32[], s32[])", "!inputs 0 and 1"},
    {"reduce", "f32[2];f32[2];f32[]", NULL, "dimensions=0;" ADD, "!as many init values"},
    {"reduce", "f32[2];f32[]", NULL, "dimensions=1;" ADD, "!outside 0 to 0"},
    {"reduce", "f32[2];f32[]", NULL, "dimensions=0,0;" ADD, "!a second time"},
    {"reduce", "f32[2];f32[2]", NULL, "dimensions=0;" ADD, "!init value 0 must be a scalar"},
    {"reduce", "f32[2];s32[]", NULL, "dimensions=0;" ADD, "!does not fit init s32"},
    {"reduce", "f32[2];f32[]", NULL, "dimensions=0;to_apply=f32[] > f32[]", "!take 2 parameters"},
    {"reduce", "f32[2];f32[]", NULL, "dimensions=0;to_apply=f32[] f32[2] > f32[]", "!be a scalar"},
    {"reduce", "f32[2];f32[]", NULL, "dimensions=0;to_apply=f32[] f32[] > f32[2]",
     "!must return scalars"},
    {"reduce", "f32[2];f32[]", NULL, "dimensions=0;to_apply=f32[] f32[] > s32[]",
     "!its accumulator is f32"},
    {"reduce", "f32[2];f32[]", NULL, "dimensions=0;to_apply=f32[] f32[] > (f32[], f32[])",
     "!must return 1 scalar"},
    {"reduce-window", "f32[8,9];f32[]", NULL, "window=2:2:0:0:1:1|3:1:1:1:1:2;" ADD, "f32[4,7]"},
    {"reduce-window", "f32[3];f32[]", NULL, "window=5:1:0:0:1:1;" ADD, "f32[0]"},
    {"reduce-window", "f32[3];f32[]", NULL, "window=1:1:-9:0:1:1;" ADD, "f32[0]"},
    {"reduce-window", "f32[3];f32[]", NULL, "window=2:1:0:0:2:1;" ADD, "f32[4]"},
    {"reduce-window", "f32[];f32[]", NULL, ADD, "f32[]"},
    {"reduce-window", "f32[3];f32[]", NULL, ADD, "!the window has 0 dimensions"},
    {"reduce-window", "f32[3];f32[]", NULL, "window=0:1:0:0:1:1;" ADD, "!must be positive"},
    {"reduce-window", "f32[3];f32[]", NULL, "window=1:0:0:0:1:1;" ADD, "!must be positive"},
    {"reduce-window", "f32[3];f32[]", NULL, "window=1:1:0:9223372036854775807:1:1;" ADD,
     "!does not fit 64 bits"},
    {"select-and-scatter", "f32[4,4];f32[2,2];f32[]", NULL, SS("2:2:0:0:1:1|2:2:0:0:1:1"),
     "f32[4,4]"},
    {"select-and-scatter", "f32[4];f32[3];f32[]", NULL, SS("2:2:0:0:1:1"), "!one element for each"},
    {"select-and-scatter", "f32[4];f32[2];f32[]", NULL, SS("2:2:0:0:1:2"), "!must not be dilated"},
    {"select-and-scatter", "f32[4];f32[2];f32[]", NULL,
     "window=2:2:0:0:1:1;select=f32[] f32[] > f32[];scatter=f32[] f32[] > f32[]", "!return a pred"},
    {"select-and-scatter", "f32[4];f32[2];f32[]", NULL,
     "window=2:2:0:0:1:1;select=s32[] s32[] > pred[];scatter=f32[] f32[] > f32[]",
     "!take the operand's"},
    {"map", "f32[2,3];s32[2,3]", NULL, "dimensions=0,1;to_apply=f32[] s32[] > pred[]", "pred[2,3]"},
    {"map", "f32[2,3];f32[]", NULL, "dimensions=0,1;" ADD, "!operands 0 and 1"},
    {"map", "f32[2,3];f32[2,3]", NULL, "dimensions=1;" ADD, "!all the operands'"},
    {"map", "f32[2];s32[2]", NULL, "dimensions=0;" ADD, "!element type that fn"},
    {"map", "f32[2];f32[2]", NULL, "dimensions=0;to_apply=f32[] f32[] > f32[1]", "!a scalar"},
    {"sort", "f32[2,3]", NULL, "dimensions=1;to_apply=f32[] f32[] > pred[]", "f32[2,3]"},
    {"sort", "f32[3];s32[3]", NULL, "dimensions=0;to_apply=f32[] f32[] s32[] s32[] > pred[]",
     "(f32[3], s32[3])"},
    {"sort", "f32[3];s32[4]", NULL, "dimensions=0;to_apply=f32[] f32[] s32[] s32[] > pred[]",
     "!operands 0 and 1"},
    {"sort", "f32[3];s32[3]", NULL, "dimensions=0;to_apply=f32[] s32[] f32[] s32[] > pred[]",
     "!parameter 1 of the comparator"},
    {"sort", "f32[3]", NULL, "dimensions=0;" ADD, "!return a pred"},
    {"sort", "f32[]", NULL, "dimensions=0;to_apply=f32[] f32[] > pred[]", "!outside"},
    {"topk", "bf16[2,9]", NULL, "k=3", "(bf16[2,3], s32[2,3])"},
    {"topk", "f32[9]", NULL, "k=10", "!k is 10"},
    {"topk", "f32[]", NULL, "k=0", "!must have a dimension"},
    {"scan", "f32[5,2];s32[]", NULL,
     "dimensions=0;num_carries=1;to_apply=f32[2] s32[] > (pred[7], s32[])", "(pred[5,7], s32[])"},
    {"scan", "f32[5,2];s32[]", NULL,
     "dimensions=0;num_carries=1;to_apply=f32[2] s32[] > (pred[7], f32[])", "!carry 0"},
    {"scan", "f32[5,2];s32[]", NULL,
     "dimensions=1;num_carries=1;to_apply=f32[2] s32[] > (pred[7], s32[])",
     "!parameter 0 of the computation fn"},
    {"scan", "f32[5]", NULL, "dimensions=0;num_carries=1;to_apply=f32[] > (f32[])",
     "!at least one input"},
    {"scan", "f32[5];s32[]", NULL, "dimensions=0;num_carries=1;to_apply=f32[] s32[] > s32[]",
     "(s32[])"},
    {"scan", "f32[5];s32[]", "s32[]", "dimensions=0;num_carries=1;to_apply=f32[] s32[] > s32[]",
     "s32[]"},
    {"scan", "f32[5]", "f32[5]", "dimensions=0;num_carries=0;to_apply=f32[] > (f32[])", "f32[5]"},
    {"scan", "f32[5];s32[];s32[]", NULL,
     "dimensions=0;num_carries=2;to_apply=f32[] s32[] s32[] > s32[]", "!return a tuple"},
    {"scan", "f32[5];f32[4]", NULL, "dimensions=0;num_carries=0;to_apply=f32[] f32[] > (f32[])",
     "!same size of dimension 0"},
    /* Dots */
    {"dot", "f32[2,3];f32[3,4]", NULL, DOT("1", "0"), "f32[2,4]"},
    {"dot", "f32[3];f32[3]", NULL, DOT("0", "0"), "f32[]"},
    {"dot", "f32[3];f32[4]", NULL, DOT("", ""), "f32[3,4]"},
    {"dot", "f32[7,2,3];f32[3,<=4,7]", NULL, BDOT("0", "2", "2", "0"), "f32[7,2,<=4]"},
    {"dot", "s8[2,3];s8[3,4]", "s32[2,4]", DOT("1", "0"), "s32[2,4]"},
    {"dot", "bf16[2,3];f32[3,4]", NULL, DOT("1", "0"), "f32[2,4]"},
    {"dot", "f8e4m3fn[2,3];f8e5m2[3,4]", "f32[2,4]", DOT("1", "0"), "f32[2,4]"},
    {"dot", "f32[2,3];f32[4,4]", NULL, DOT("1", "0"), "!contracting dimension sizes differ"},
    {"dot", "f32[2,3];f32[3,4]", NULL, DOT("1", ""), "!different numbers of contracting"},
    {"dot", "f32[2,3];f32[3,4]", NULL, BDOT("0", "", "1", "0"), "!different numbers of batch"},
    {"dot", "f32[2,3];f32[3,4]", NULL, BDOT("0", "1", "1", "0"), "!batch dimension sizes differ"},
    {"dot", "f32[2,3];f32[3,4]", NULL, BDOT("1", "0", "1", "0"), "!a second time"},
    {"dot", "f32[2,3];f32[3,4]", NULL, DOT("2", "0"), "!outside 0 to 1"},
    {"dot", "f32[2,3];f32[3,4]", "f32[2,5]", DOT("1", "0"), "!is not the inferred f32[2,4]"},
    {"dot", "f32[2];f32[2];f32[2]", NULL, DOT("0", "0"), "!expects 2 operands, but has 3"},
    {"dot", "f32[2];(f32[2])", NULL, DOT("0", "0"), "!operand 1 must be an array"},
    {"scaled-dot", "f8e4m3fn[2,64];f8e4m3fn[64,3];f8e8m0fnu[2,2];f8e8m0fnu[2,3]", "f32[2,3]",
     DOT("1", "0"), "f32[2,3]"},
    {"scaled-dot", "bf16[2,4];bf16[4,3];bf16[];bf16[]", NULL, DOT("1", "0"), "bf16[2,3]"},
    {"scaled-dot", "bf16[2,4];bf16[4,3];bf16[2,3];bf16[]", NULL, DOT("1", "0"), "!lhs scale"},
    {"ragged-dot", "f32[8,3];f32[2,3,4];s32[2]", NULL,
     DOT("1", "1") ";lhs_ragged_dims=0;rhs_group_dims=0", "f32[8,4]"},
    {"ragged-dot", "f32[8,3];f32[3,4];s32[2]", NULL, DOT("1", "0") ";lhs_ragged_dims=1",
     "f32[2,8,4]"},
    {"ragged-dot", "f32[5,8,3];f32[5,3,4];s32[2]", NULL,
     BDOT("0", "0", "2", "1") ";lhs_ragged_dims=0", "f32[5,8,4]"},
    {"ragged-dot", "f32[5,8,3];f32[2,5,3,4];s32[5,2]", NULL,
     BDOT("0", "1", "2", "2") ";lhs_ragged_dims=1;rhs_group_dims=0", "f32[5,8,4]"},
    {"ragged-dot", "f32[5,8,3];f32[2,5,3,4];s32[4,2]", NULL,
     BDOT("0", "1", "2", "2") ";lhs_ragged_dims=1;rhs_group_dims=0", "!group_sizes must be"},
    {"ragged-dot", "f32[8,3];f32[2,3,4];s32[3]", NULL,
     DOT("1", "1") ";lhs_ragged_dims=0;rhs_group_dims=0", "!for each of the 3"},
    {"ragged-dot", "f32[8,3];f32[3,4];s32[3]", NULL, DOT("1", "0") ";lhs_ragged_dims=0",
     "!takes one rhs group"},
    {"ragged-dot", "f32[8,3];f32[3,4];s32[3]", NULL, DOT("1", "0"), "!exactly one lhs ragged"},
    {"ragged-dot", "f32[8,3];f32[3,4];f32[3]", NULL, DOT("1", "0") ";lhs_ragged_dims=1",
     "!must be integers"},
    {"convolution", "f32[1,8,8,3];f32[3,3,3,16]", NULL,
     "window=3:1:1:1:1:1|3:2:0:1:1:1;dim_labels=b01f_01io->b01f", "f32[1,8,4,16]"},
    {"convolution", "f32[2,6,9];f32[4,3,3]", NULL,
     "window=3:1:0:0:1:1;dim_labels=bf0_oi0->bf0;feature_group_count=2", "f32[2,4,7]"},
    {"convolution", "f32[4,3,9];f32[4,3,3]", NULL,
     "window=3:1:0:0:1:1;dim_labels=bf0_oi0->bf0;batch_group_count=2", "f32[2,4,7]"},
    {"convolution", "f32[2,3];f32[3,4]", NULL, "dim_labels=bf_io->bf", "f32[2,4]"},
    {"convolution", "s8[2,3];s8[3,4]", "s32[2,4]", "dim_labels=bf_io->bf", "s32[2,4]"},
    {"convolution", "f32[2,6,9];f32[4,3,3]", NULL, "window=3:1:0:0:1:1;dim_labels=bf0_oi0->bf0",
     "!do not fit the kernel's 3"},
    {"convolution", "f32[2,3,9];f32[4,3,3]", NULL, "window=2:1:0:0:1:1;dim_labels=bf0_oi0->bf0",
     "!but the kernel's is 3"},
    {"convolution", "f32[2,3,9];f32[4,3,3]", NULL, "dim_labels=bf0_oi0->bf0", "!0 dimensions"},
    {"convolution", "f32[2,3];f32[4,3,3]", NULL, "window=3:1:0:0:1:1;dim_labels=bf0_oi0->bf0",
     "!must have rank 3"},
    {"convolution", "f32[2,3,9];f32[4,3,3]", NULL,
     "window=3:1:0:0:1:1;dim_labels=bf0_oi0->bf0;feature_group_count=0", "!must be positive"},
    {"convolution", "f32[2,3,9];f32[4,3,3]", NULL,
     "window=3:1:0:0:1:1;dim_labels=bf0_oi0->bf0;feature_group_count=2;batch_group_count=2",
     "!only one of the two"},
    {"convolution", "f32[3,3,9];f32[4,3,3]", NULL,
     "window=3:1:0:0:1:1;dim_labels=bf0_oi0->bf0;batch_group_count=2", "!divide the batch of 3"},
    {"convolution", "f32[2,3,9];f32[3,3,3]", NULL,
     "window=3:1:0:0:1:1;dim_labels=bf0_oi0->bf0;batch_group_count=2", "!output features"},
    {"convolution", "f32[2,6,9];f32[3,3,3]", NULL,
     "window=3:1:0:0:1:1;dim_labels=bf0_oi0->bf0;feature_group_count=2", "!output features"},
    {"convolution", "f32[2,3,9];f32[4,3,3]", NULL, "window=3:0:0:0:1:1;dim_labels=bf0_oi0->bf0",
     "!must be positive"},
    {"convolution", "f32[2,3,9];f32[4,3,3]", NULL, "window=3:1:0:0:1:0;dim_labels=bf0_oi0->bf0",
     "!must be positive"},
    {"convolution", "f32[2,3,9];f32[4,3,3]", NULL, "window=3:1:0:0:1:1;dim_labels=b00_oi0->bf0",
     "!lhs are not a permutation"},
    {"convolution", "f32[2,3,9];f32[4,3,3]", NULL, "window=3:1:0:0:1:1;dim_labels=bf0_o00->bf0",
     "!rhs are not a permutation"},
    {"convolution", "f32[2,3,9];f32[4,3,3]", NULL, "window=3:1:0:0:1:1;dim_labels=bf0_oi0->b00",
     "!result are not a permutation"},
    /* Linear algebra */
    {"fft", "c64[2,8]", NULL, "fft_type=0;fft_length=8", "c64[2,8]"},
    {"fft", "f32[2,9]", NULL, "fft_type=2;fft_length=9", "c64[2,5]"},
    {"fft", "c128[4,5]", NULL, "fft_type=3;fft_length=4,9", "f64[4,9]"},
    {"fft", "c64[3,1]", NULL, "fft_type=3;fft_length=0", "f32[3,0]"},
    {"fft", "f32[8]", NULL, "fft_type=0;fft_length=8", "!must be complex"},
    {"fft", "f16[8]", NULL, "fft_type=2;fft_length=8", "!must be f32 or f64"},
    {"fft", "c64[8]", NULL, "fft_type=1;fft_length=7", "!must be 7"},
    {"fft", "c64[8]", NULL, "fft_type=3;fft_length=8", "!must be 5"},
    {"fft", "c64[8]", NULL, "fft_type=0;fft_length=8,8", "!at least 2 dimensions"},
    {"fft", "c64[8]", NULL, "fft_type=0;fft_length=", "!1 to 3 entries"},
    {"cholesky", "f32[5,3,3]", NULL, NULL, "f32[5,3,3]"},
    {"cholesky", "f32[3,4]", NULL, NULL, "!must be equal"},
    {"cholesky", "f32[3]", NULL, NULL, "!at least 2 dimensions"},
    {"cholesky", "s32[3,3]", NULL, NULL, "!must be float or complex"},
    {"triangular-solve", "f32[5,3,3];f32[5,3,7]", NULL, "left_side=1;transpose_a=0", "f32[5,3,7]"},
    {"triangular-solve", "f32[3,3];f32[7,3]", NULL, "transpose_a=1", "f32[7,3]"},
    {"triangular-solve", "f32[3,3];f32[3,7]", NULL, "transpose_a=1", "!shared dimension"},
    {"triangular-solve", "f32[3,3];f32[7,3]", NULL, NULL, "!transpose_a is missing"},
    {"triangular-solve", "f32[4,3,3];f32[5,3,7]", NULL, "left_side=1;transpose_a=0", "!batch"},
    {"triangular-solve", "f32[3,3];f64[7,3,3]", NULL, "transpose_a=0", "!same rank"},
    {"batch-norm-training", "f32[2,3,4];f32[3];f32[3]", NULL, NORM "1",
     "(f32[2,3,4], f32[3], f32[3])"},
    {"batch-norm-training", "f32[2,3,4];f32[3];f32[4]", NULL, NORM "1", "!operand 2 must be a vec"},
    {"batch-norm-training", "f32[2,3];f32[3];f32[3]", NULL, NORM "2", "!feature_index 2"},
    {"batch-norm-training", "s32[2,3];s32[3];s32[3]", NULL, NORM "1", "!must be float"},
    {"batch-norm-inference", "f32[2,3];f32[3];f32[3];f32[3];f32[3]", NULL, NORM "1", "f32[2,3]"},
    {"batch-norm-inference", "f32[2,3];f32[3];f32[3];f32[3];s32[3]", NULL, NORM "1",
     "!data's element type"},
    {"batch-norm-grad", "f32[2,3];f32[3];f32[3];f32[3];f32[2,3]", NULL, NORM "1",
     "(f32[2,3], f32[3], f32[3])"},
    {"batch-norm-grad", "f32[2,3];f32[3];f32[3];f32[3];f32[3,2]", NULL, NORM "1",
     "!the data's shape"},
    /* Declared */
    {"rng", "f32[];f32[]", "f32[7]", "distribution=0", "f32[7]"},
    {"rng", "f32[];f32[2]", "f32[7]", "distribution=0", "!must be scalars"},
    {"rng", "f32[];f64[]", "f32[7]", "distribution=1", "!the result's type, f32"},
    {"rng", "s32[];s32[]", "s32[7]", "distribution=1", "!needs a float"},
    {"rng", "pred[];pred[]", "pred[7]", "distribution=0", "!must be"},
    {"rng-get-and-update-state", "", "u64[2]", "delta=1", "u64[2]"},
    {"rng-get-and-update-state", "", "u64[3]", "delta=1", "!must be u64[2]"},
    {"rng", "f32[];f32[]", NULL, "distribution=0", "!must be written"},
    {"rng-bit-generator", "u64[2]", "(u64[2], u32[5])", "algorithm=1", "(u64[2], u32[5])"},
    {"rng-bit-generator", "f32[2]", "u32[5]", "algorithm=1", "u32[5]"},
    {"rng-bit-generator", "c64[2]", "u32[5]", "algorithm=1", "!must be"},
    {"rng-bit-generator", "u64[3]", "(u64[3], f32[5])", "algorithm=2", "(u64[3], f32[5])"},
    {"rng-bit-generator", "u64[2]", "u8[5]", "algorithm=0", "u8[5]"},
    {"rng-bit-generator", "u64[3]", "(u64[3], u32[5])", "algorithm=1", "!state must be u64[2]"},
    {"rng-bit-generator", "u64[4]", "(u64[4], u32[5])", "algorithm=0", "!u64[2] or u64[3]"},
    {"rng-bit-generator", "u32[4]", "(u32[4], u32[5])", "algorithm=2", "(u32[4], u32[5])"},
    {"rng-bit-generator", "u64[2]", "(u64[3], u32[5])", "algorithm=0", "!the new state and"},
    {"rng-bit-generator", "u64[2]", "(u64[2], u32[], u32[])", "algorithm=0", "!the new state and"},
    {"rng-bit-generator", "u64[2]", "(u64[2], pred[5])", "algorithm=0", "!integers or floats"},
    {"rng-bit-generator", "u64[2]", NULL, "algorithm=0", "!must be written"},
    /* Starts, updates and dones; channels */
    {"copy-start", "f32[2]", "(f32[2], f32[2], u32[])", NULL, "(f32[2], f32[2], u32[])"},
    {"copy-start", "f32[2]", "(f32[3], f32[2], u32[])", NULL, "!part 0 of the result must have"},
    {"copy-start", "f32[2]", "f32[2]", NULL, "!a tuple of at least 2 parts"},
    {"copy-done", "(f32[2], f32[2], u32[])", NULL, NULL, "f32[2]"},
    {"copy-done", "f32[2]", NULL, NULL, "!operand must be a tuple of at least 2 parts"},
    {"async-done", "((f32[2]), f32[3], u32[])", NULL, NULL, "f32[3]"},
    {"async-done", "(f32[2], f32[3])", NULL, NULL, "!the tuple of a start's operands"},
    {"async-update", "((f32[2]), f32[3])", NULL, NULL, "((f32[2]), f32[3])"},
    {"async-update", "((f32[2]), f32[3])", "f32[3]", NULL, "!the written shape f32[3] is not"},
    {"all-gather-done", "(f32[2], f32[4])", NULL, NULL, "f32[4]"},
    {"all-gather-done", "f32[4]", NULL, NULL, "!at least 2 parts"},
    {"all-reduce-done", "f32[4]", NULL, NULL, "f32[4]"},
    {"all-reduce-done", "(f32[4], f32[4])", "f32[4]", NULL, "f32[4]"},
    {"all-reduce-done", "(f32[4], f32[4], u32[])", "f32[4]", NULL, "!is not the inferred"},
    {"infeed", "token[]", "((), token[])", NULL, "((), token[])"},
    {"infeed", "f32[2]", "(f32[2], token[])", NULL, "!operand 0 must be a token"},
    {"infeed", "token[]", "(f32[2], token[], u32[])", NULL, "!a pair of the data and a token"},
    {"outfeed", "f32[2];token[]", NULL, NULL, "token[]"},
    {"outfeed", "f32[2];f32[]", NULL, NULL, "!operand 1 must be a token"},
    {"send", "f32[2];token[]", NULL, NULL, "(f32[2], u32[], token[])"},
    {"send", "f32[2];token[]", "(f32[3], u32[], token[])", NULL, "!is not the inferred"},
    {"send-done", "(f32[2], u32[], token[])", NULL, NULL, "token[]"},
    {"send-done", "(f32[2], token[])", NULL, NULL, "!a tuple of the data, u32[] and a token"},
    {"recv", "token[]", "(f32[2], u32[], token[])", NULL, "(f32[2], u32[], token[])"},
    {"recv", "token[]", "(f32[2], token[])", NULL, "!a tuple of the data, u32[] and a token"},
    {"recv-done", "(f32[2], u32[], token[])", NULL, NULL, "(f32[2], token[])"},
    {"custom-call", "f32[3,3]", "(f32[3,3], s32[])", "custom_call_target=lapack_spotrf_ffi",
     "(f32[3,3], s32[])"},
    {"custom-call", "f32[3,3]", "(f32[3,3])", "custom_call_target=lapack_spotrf_ffi",
     "!custom call lapack_spotrf_ffi: result 1 is missing"},
    {"custom-call", "f32[3,3]", "(f64[3,3], s32[])", "custom_call_target=lapack_spotrf_ffi",
     "!result 0 must be f32[..., 3, 3], but is f64[3,3]"},
    {"custom-call", "f32[]", "(f32[7], token[])", "custom_call_target=f", "(f32[7], token[])"},
};

START_TEST(infer_one) {
  const infer_case *c = &cases[_i];
  halo_module *module = halo_module_create("t");
  halo_computation *computation = halo_computation_create(module, "main");
  halo_instr *instr;
  halo_status status = make_instr(computation, c->op, c->operands, c->written, c->attrs, &instr);
  if (c->expect[0] == '!') {
    ck_assert_msg(status == HALO_INVALID_ARGUMENT, "%s(%s) %s: was not refused", c->op,
                  c->operands ? c->operands : "", c->attrs ? c->attrs : "");
    ck_assert_ptr_null(instr);
    ck_assert_msg(strstr(halo_error_message(), c->expect + 1) != NULL, "%s(%s) %s: says '%s'",
                  c->op, c->operands ? c->operands : "", c->attrs ? c->attrs : "",
                  halo_error_message());
  } else {
    ck_assert_msg(status == HALO_OK, "%s(%s) %s: %s", c->op, c->operands ? c->operands : "",
                  c->attrs ? c->attrs : "", halo_error_message());
    const char *text =
        halo_shape_text(&module->arena, instr->shape, strchr(c->expect, '{') != NULL);
    ck_assert_str_eq(text, c->expect);
    /* A second inference, now with the shape written, agrees. */
    const halo_shape *again;
    ck_assert_int_eq(halo_infer_shape(instr, &module->arena, &again), HALO_OK);
    ck_assert(halo_shape_compatible(again, instr->shape));
  }
  halo_module_release(module);
}
END_TEST

START_TEST(infer_constant_takes_the_literal) {
  halo_module *module = halo_module_create("t");
  halo_computation *computation = halo_computation_create(module, "main");
  halo_literal *literal;
  int64_t dims[] = {2, 3};
  ck_assert_int_eq(halo_literal_create_array(HALO_S8, 2, dims, "abcdef", &literal), HALO_OK);
  halo_instr_spec spec = {.opcode = HALO_OP_CONSTANT, .literal = literal};
  halo_instr *instr;
  ck_assert_int_eq(halo_instr_create(computation, &spec, &instr), HALO_OK);
  ck_assert_str_eq(halo_shape_text(&module->arena, instr->shape, false), "s8[2,3]");
  spec.shape = make_shape(&module->arena, "s8[3,2]");
  ck_assert_int_eq(halo_instr_create(computation, &spec, &instr), HALO_INVALID_ARGUMENT);
  halo_literal_release(literal);
  halo_module_release(module);
}
END_TEST

/* Tuples of tuples, each twice: the text of such a shape would not fit any memory. */
START_TEST(infer_refuses_monstrous_tuples) {
  for (int width = 1; width <= 2; width++) {
    halo_module *module = halo_module_create("t");
    halo_computation *computation = halo_computation_create(module, "main");
    halo_instr *value = make_value(computation, "f32[]");
    halo_status status = HALO_OK;
    for (int i = 0; i < 2000 && status == HALO_OK; i++) {
      halo_instr *operands[] = {value, value};
      halo_instr_spec spec = {
          .opcode = HALO_OP_TUPLE, .operands = operands, .operand_count = width};
      status = halo_instr_create(computation, &spec, &value);
    }
    ck_assert_int_eq(status, HALO_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(halo_error_message(), width == 1 ? "deeper than" : "more than"));
    halo_module_release(module);
  }
}
END_TEST

/* Every opcode meets operands of kinds and numbers that it may not expect. */
START_TEST(infer_survives_odd_operands) {
  for (int op = 0; op < HALO_OPCODE_COUNT; op++) {
    halo_module *module = halo_module_create("t");
    halo_computation *computation = halo_computation_create(module, "main");
    for (int operands = 0; operands < 7; operands++) {
      const char *shapes[] = {"f32[2,2]", "()", "s32[]", "token[]"};
      for (int s = 0; s < 4; s++) {
        halo_instr *value = make_value(computation, shapes[s]), *instr;
        halo_instr *list[] = {value, value, value, value, value, value, value};
        halo_instr_spec spec = {
            .opcode = (halo_opcode)op, .operands = list, .operand_count = operands};
        halo_status status = halo_instr_create(computation, &spec, &instr);
        ck_assert((status == HALO_OK) == (instr != NULL));
      }
    }
    halo_module_release(module);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("infer");
  TCase *tc = tcase_create("infer");
  tcase_add_loop_test(tc, infer_one, 0, sizeof cases / sizeof cases[0]);
  tcase_add_test(tc, infer_constant_takes_the_literal);
  tcase_add_test(tc, infer_refuses_monstrous_tuples);
  tcase_add_test(tc, infer_survives_odd_operands);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}
