/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_text_value.c: literals and attribute values of HLO text. */
#include "suite.h"
#include "text_test.h"

#include "shape/floats.h"

#include <locale.h>
#include <math.h>

/* ---- Literals ---- */

static halo_literal *value_read(const char *shape_text, const char *text) {
  halo_arena arena = {0};
  const halo_shape *shape;
  halo_literal *literal;
  ck_assert_int_eq(halo_text_parse_shape(shape_text, &arena, &shape), HALO_OK);
  halo_status status = halo_text_parse_literal(text, shape, &literal);
  ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
  halo_arena_deinit(&arena);
  return literal;
}

static const struct {
  const char *shape, *text, *printed; /* NULL: as the text */
} good_values[] = {
    {"f32[]", "-1.5", NULL},
    {"pred[]", "true", NULL},
    {"pred[4]", "{true, 0, 7, false}", "{1, 0, 1, 0}"},
    {"f32[3]", "{1, 2, 3}", NULL},
    {"f32[3]", "{1 2 /*x*/ 3}", "{1, 2, 3}"},
    {"f32[1]", "{1}", NULL},
    {"f32[0]", "{}", NULL},
    {"f32[2,2]", "{ { 1, 2 }, { 3, 4 } }", NULL},
    {"f32[2,1]", "{ {1}, {2} }", NULL},
    {"f32[0,3]", "{}", "{ }"},
    {"f32[2,0]", "{ {}, {} }", NULL},
    {"f32[2,3]{0,1}", "{{1,2,3},{4,5,6}}", "{ { 1, 2, 3 }, { 4, 5, 6 } }"},
    {"s8[1,1,2,2]", "{{{{1,2},{3,4}}}}", "{ { /*i0=0*/ { /*i1=0*/ { 1, 2 }, { 3, 4 } } } }"},
    {"s8[3]", "{-128, 127, -0}", "{-128, 127, 0}"},
    {"s4[2]", "{-8, 7}", NULL},
    {"u4[2]", "{0, 15}", NULL},
    {"s1[2]", "{-1, 0}", NULL},
    {"u64[2]", "{18446744073709551615, 0}", NULL},
    {"u64[2]", "{-1, -9223372036854775808}", "{18446744073709551615, 9223372036854775808}"},
    {"s64[2]", "{-9223372036854775808, 9223372036854775807}", NULL},
    {"f32[4]", "{-0, 0, -inf, inf}", NULL},
    {"f32[5]", "{nan, -nan, nan(0x1), -nan(0x7fffff), nan(0x400000)}",
     "{nan, -nan, nan(0x1), -nan(0x7fffff), nan}"},
    {"f64[2]", "{nan(0x8000000000001), -nan(0x1)}", NULL},
    {"f16[3]", "{nan(0x1), 65504, 0.1}", "{nan(0x1), 65504, 0.099976}"},
    {"bf16[2]", "{nan(0x7f), 1e38}", "{nan(0x7f), 9.969e+37}"},
    {"f32[5]", "{1e10, 1.e-1, 1.17549435e-38, 16777217, 1e-45}",
     "{1e+10, 0.1, 1.17549435e-38, 16777216, 1.4013e-45}"},
    {"f8e4m3fn[3]", "{448, nan, -0.0}", "{448, nan, -0}"},
    {"f8e5m2[3]", "{57344, nan(0x1), -inf}", NULL},
    {"f8e4m3b11fnuz[2]", "{30, nan}", NULL},
    {"f8e8m0fnu[2]", "{4, nan}", NULL},
    {"f4e2m1fn[2]", "{-6, 0.5}", NULL},
    {"c64[2]", "{(1, -2), ( nan(0x1) , -nan(0x1) )}", "{(1, -2), (nan(0x1), -nan(0x1))}"},
    {"c128[]", "(-0, inf)", NULL},
    {"(f32[], (s32[2], pred[]))", "(1,({2,3},false))", "( 1, ( {2, 3}, false ) )"},
    {"()", "( )", "()"},
    {"f32[1000000,0]", "{...}", NULL},
    {"f32[5]", "{ ... }", "{...}"},
    {"(f32[5], s32[])", "{...}", NULL},
    {"(f32[5], s32[])", "({...}, 3)", "( {...}, 3 )"},
    {"u8[3]", "{1 2 3}", "{1, 2, 3}"},
};

START_TEST(values_read_and_print) {
  const char *want = good_values[_i].printed ? good_values[_i].printed : good_values[_i].text;
  halo_literal *literal = value_read(good_values[_i].shape, good_values[_i].text);
  halo_strbuf out = {0};
  halo_literal_print(&out, literal);
  ck_assert_str_eq(halo_strbuf_text(&out), want);
  halo_literal *again = value_read(good_values[_i].shape, out.data);
  ck_assert(halo_literal_same_bits(literal, again));
  ck_assert(literal->elided == again->elided);
  halo_literal_release(again);
  halo_literal_release(literal);
  halo_strbuf_deinit(&out);
}
END_TEST

static const struct {
  const char *shape, *text, *place, *part;
} bad_values[] = {
    {"f32[2]", "{1}", "literal:1:1: error: ", "expected 2 elements in dimension 0, found 1"},
    {"f32[2]", "{1, 2, 3}", "literal:1:6: error: ", "expected '}'"},
    {"f32[2]", "1, 2", "literal:1:1: error: ", "expected '{' to open dimension 0"},
    {"f32[2,2]", "{1, 2}", "literal:1:2: error: ", "expected '{' to open dimension 1"},
    {"f32[]", "{1}", "literal:1:1: error: ", "expected a number"},
    {"f32[]", "1e39", "literal:1:1: error: ", "too large"},
    {"f64[]", "1e309", "literal:1:1: error: ", "too large"},
    {"f16[]", "65520", "literal:1:1: error: ", "too large"},
    {"f8e4m3fn[]", "inf", "literal:1:1: error: ", "no infinity"},
    {"f8e4m3fn[]", "nan(0x1)", "literal:1:1: error: ", "no payload"},
    {"f8e8m0fnu[]", "0", "literal:1:1: error: ", "cannot hold"},
    {"f4e2m1fn[]", "nan", "literal:1:1: error: ", "no NaN"},
    {"f32[]", "nan(0x0)", "literal:1:1: error: ", "zero"},
    {"f32[]", "nan(0x800000)", "literal:1:1: error: ", "does not fit"},
    {"f64[]", "nan(0x10000000000000)", "literal:1:1: error: ", "52 bits"},
    {"s8[]", "128", "literal:1:1: error: ", "out of range for element type s8"},
    {"u8[]", "-1", "literal:1:1: error: ", "out of range"},
    {"s64[]", "18446744073709551615", "literal:1:1: error: ", "out of range"},
    {"u64[]", "18446744073709551616", "literal:1:1: error: ", "out of range"},
    {"s32[]", "1.5", "literal:1:1: error: ", "expected an integer"},
    {"pred[]", "1.5", "literal:1:1: error: ", "true, false or an integer"},
    {"c64[]", "1", "literal:1:1: error: ", "complex number"},
    {"c64[]", "(1 2)", "literal:1:4: error: ", "','"},
    {"(f32[], f32[])", "(1)", "literal:1:1: error: ", "expected 2 elements in this tuple"},
    {"(f32[])", "1", "literal:1:1: error: ", "'(' to open a tuple"},
    {"f32[]", "{...}", "literal:1:1: error: ", "expected a number"},
    {"f32[2]", "{1, /* 2}", "literal:1:5: error: ", "comment does not end"},
    {"f32[1000000000]", "{1, 2}", "literal:1:1: error: ", "the text ends before"},
    {"f32[]", "1 2", "literal:1:3: error: ", "the end of the value"},
    {"opaque[]", "1", "literal:1:1: error: ", "opaque"},
};

START_TEST(values_refused) {
  halo_arena arena = {0};
  const halo_shape *shape;
  halo_literal *literal;
  ck_assert_int_eq(halo_text_parse_shape(bad_values[_i].shape, &arena, &shape), HALO_OK);
  ck_assert_int_ne(halo_text_parse_literal(bad_values[_i].text, shape, &literal), HALO_OK);
  ck_assert_ptr_null(literal);
  const char *message = halo_error_message();
  ck_assert_msg(strncmp(message, bad_values[_i].place, strlen(bad_values[_i].place)) == 0 &&
                    strstr(message, bad_values[_i].part),
                "%s", message);
  halo_arena_deinit(&arena);
}
END_TEST

/* Every encoding of the small floats, NaNs included, comes back from its text bit for bit. */
START_TEST(every_small_float_comes_back) {
  for (int t = 1; t < HALO_TYPE_COUNT; t++) {
    halo_type type = (halo_type)t;
    if (!halo_type_is_float(type) || halo_type_bits(type) > 16) continue;
    int64_t count = 1 << halo_type_bits(type);
    halo_literal *literal, *again;
    halo_shape *shape;
    ck_assert_int_eq(halo_shape_create_array(type, 1, &count, &shape), HALO_OK);
    ck_assert_int_eq(halo_literal_create(shape, &literal), HALO_OK);
    size_t size = halo_type_size(type);
    for (int64_t i = 0; i < count; i++) {
      memcpy((char *)literal->data + (size_t)i * size, &i, size);
    }
    halo_strbuf out = {0};
    halo_literal_print(&out, literal);
    ck_assert_msg(halo_text_parse_literal(out.data, shape, &again) == HALO_OK, "%s",
                  halo_error_message());
    ck_assert_msg(halo_literal_same_bits(literal, again), "%s", halo_type_name(type));
    halo_literal_release(literal);
    halo_literal_release(again);
    halo_shape_release(shape);
    halo_strbuf_deinit(&out);
  }
}
END_TEST

/* Pseudo-random bit patterns of the two large ones. */
START_TEST(many_large_floats_come_back) {
  int64_t count = 20000;
  for (int wide = 0; wide < 2; wide++) {
    halo_shape *shape;
    halo_literal *literal, *again;
    halo_type type = wide ? HALO_F64 : HALO_F32;
    ck_assert_int_eq(halo_shape_create_array(type, 1, &count, &shape), HALO_OK);
    ck_assert_int_eq(halo_literal_create(shape, &literal), HALO_OK);
    uint64_t state = 1;
    for (int64_t i = 0; i < count; i++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      uint64_t bits = wide ? state : state >> 32;
      memcpy((char *)literal->data + (size_t)i * halo_type_size(type), &bits, halo_type_size(type));
    }
    halo_strbuf out = {0};
    halo_literal_print(&out, literal);
    ck_assert_int_eq(halo_text_parse_literal(out.data, shape, &again), HALO_OK);
    ck_assert(halo_literal_same_bits(literal, again));
    halo_literal_release(literal);
    halo_literal_release(again);
    halo_shape_release(shape);
    halo_strbuf_deinit(&out);
  }
}
END_TEST

/* ---- Attributes ---- */

START_TEST(windows_read) {
  halo_module *module = text_read(
      "HloModule m\n"
      "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }\n"
      "ENTRY e {\n"
      "  p = f32[8] parameter(0)\n"
      "  z = f32[] constant(0)\n"
      "  a = reduce-window(p, z), window={size=3 stride=2 pad=-1_2}, to_apply=max\n"
      "  s = f32[] reduce-window(z, z), to_apply=max\n"
      "  t = f32[] reduce-window(z, z), window={}, to_apply=max\n"
      "  x = f32[1,4,4,2] parameter(1)\n"
      "  k = f32[3,3,2,3] parameter(2)\n"
      "  c = convolution(x, k), window={rhs_reversal=1x0 pad=1_1x0_1 size=3x3 stride=1x2 "
      "lhs_dilate=1x2 rhs_dilate=2x1}, dim_labels=b01f_01io->b01f\n"
      "  y = f32[2,5,3] parameter(3)\n"
      "  l = f32[3,1,4] parameter(4)\n"
      "  d = convolution(y, l), window={size=1}, dim_labels=b0f_i0o->b0f\n"
      "  u = f32[2,3] parameter(5)\n"
      "  v = f32[3,4] parameter(6)\n"
      "  ROOT w = convolution(u, v), dim_labels=bf_io->bf, operand_precision={HIGH,default}\n"
      "}\n");
  const halo_attr *a = halo_instr_attr(text_instr(module, "a"), HALO_ATTR_WINDOW);
  ck_assert_int_eq(a->window.count, 1);
  ck_assert_int_eq(a->window.data[0].pad_low, -1);
  ck_assert_int_eq(a->window.data[0].pad_high, 2);
  ck_assert_int_eq(a->window.data[0].window_dilation, 1);
  ck_assert_ptr_null(halo_instr_attr(text_instr(module, "s"), HALO_ATTR_WINDOW));
  ck_assert_ptr_null(halo_instr_attr(text_instr(module, "t"), HALO_ATTR_WINDOW));
  const halo_attr *c = halo_instr_attr(text_instr(module, "c"), HALO_ATTR_WINDOW);
  ck_assert(c->window.data[0].reversal && !c->window.data[1].reversal);
  ck_assert_int_eq(c->window.data[1].base_dilation, 2);
  ck_assert_int_eq(c->window.data[0].window_dilation, 2);
  const halo_conv_dims *d = halo_instr_attr(text_instr(module, "d"), HALO_ATTR_DIM_LABELS)->conv;
  ck_assert_int_eq(d->spatial, 1);
  ck_assert_int_eq(d->rhs_input, 0);
  ck_assert_int_eq(d->rhs_spatial[0], 1);
  ck_assert_int_eq(d->rhs_output, 2);
  const halo_instr *w = module->entry->root;
  ck_assert_int_eq(halo_instr_attr(w, HALO_ATTR_DIM_LABELS)->conv->spatial, 0);
  ck_assert_int_eq(halo_instr_attr(w, HALO_ATTR_OPERAND_PRECISION)->ints.data[0], 1);
  halo_module_release(module);
}
END_TEST

START_TEST(lists_read) {
  halo_module *module = text_read(
      "ENTRY e {\n"
      "  p = f32[8,9] parameter(0)\n"
      "  z = f32[] constant(0)\n"
      "  b = f32[4,4] slice(p), slice={[0:4], [1:9:2]}\n"
      "  c = pad(p, z), padding=-1_2_0x0_0_3\n"
      "  d = pad(z, z), padding=\n"
      "  f = f32[] pad(z, z), padding=, metadata={op_name=\"x\"}\n"
      "  g = f32[9,8] transpose(p), dimensions={1,0}\n"
      "  ROOT h = f32[9,8] collective-permute(g), source_target_pairs={{0,1},{1,0}}\n"
      "}\n");
  const halo_attr *slice = halo_instr_attr(text_instr(module, "b"), HALO_ATTR_SLICE);
  const int64_t slices[] = {0, 4, 1, 1, 9, 2};
  ck_assert_int_eq(slice->ints.count, 6);
  ck_assert_int_eq(memcmp(slice->ints.data, slices, sizeof slices), 0);
  const halo_attr *pad = halo_instr_attr(text_instr(module, "c"), HALO_ATTR_PADDING);
  const int64_t pads[] = {-1, 2, 0, 0, 0, 3};
  ck_assert_int_eq(pad->ints.count, 6);
  ck_assert_int_eq(memcmp(pad->ints.data, pads, sizeof pads), 0);
  ck_assert_int_eq(halo_instr_attr(text_instr(module, "d"), HALO_ATTR_PADDING)->ints.count, 0);
  ck_assert_ptr_nonnull(halo_instr_attr(text_instr(module, "f"), HALO_ATTR_METADATA));
  const halo_attr *pairs = halo_instr_attr(module->entry->root, HALO_ATTR_SOURCE_TARGET_PAIRS);
  ck_assert_int_eq(pairs->ints.count, 4);
  ck_assert_int_eq(pairs->ints.data[2], 1);
  halo_module_release(module);
}
END_TEST

static const struct {
  const char *text;
  int count;
  int64_t ids[9]; /* groups of equal size, in order; -1 ends */
} groups[] = {
    {"{{0,1},{2,3}}", 2, {0, 1, 2, 3, -1}},
    {"{}", 0, {-1}},
    {"[2,4]<=[8]", 2, {0, 1, 2, 3, 4, 5, 6, 7, -1}},
    {"[4,2]<=[2,4]T(1,0)", 4, {0, 4, 1, 5, 2, 6, 3, 7, -1}},
    {"[2,4]<=[2,2,2]T(2,1,0)", 2, {0, 4, 2, 6, 1, 5, 3, 7, -1}},
    {"mesh[\"x\"=2,\"y\"=4] {\"y\"}", 2, {0, 1, 2, 3, 4, 5, 6, 7, -1}},
    {"mesh[x=2,y=4] {x}", 4, {0, 4, 1, 5, 2, 6, 3, 7, -1}},
    {"mesh[x=2,y=4] {y,x}", 1, {0, 4, 1, 5, 2, 6, 3, 7, -1}},
    {"mesh[x=8] {\"x\":(2)2}", 4, {0, 2, 1, 3, 4, 6, 5, 7, -1}},
    {"mesh[x=2,y=4], device_ids=([4,2]T(1,0)) {y}", 2, {0, 2, 4, 6, 1, 3, 5, 7, -1}},
    {"mesh[x=2,y=2], device_ids=(3,1,2,0) {y}", 2, {3, 1, 2, 0, -1}},
    {"maximal_mesh[device_id=3] {}", 1, {3, -1}},
};

START_TEST(replica_groups_read) {
  halo_strbuf text = {0};
  halo_strbuf_printf(
      &text,
      "HloModule m, replica_count=8\n"
      "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
      "ENTRY e { p = f32[4] parameter(0)\n"
      "  r = f32[4] all-reduce(p), replica_groups=%s /*x*/, to_apply=add }\n",
      groups[_i].text);
  halo_arena arena = {0};
  halo_module *module;
  /* Not every list is a legal partition of eight replicas: only the reader is on trial. */
  halo_status status = halo_module_parse(text.data, text.length, "t", &module);
  if (status == HALO_OK) {
    const halo_groups *g = halo_instr_attr(module->entry->root, HALO_ATTR_REPLICA_GROUPS)->groups;
    ck_assert_int_eq(g->count, groups[_i].count);
    int32_t total = g->count ? g->starts[g->count] : 0;
    for (int32_t i = 0; i < total; i++) ck_assert_int_eq(g->ids[i], groups[_i].ids[i]);
    ck_assert_int_eq(groups[_i].ids[total], -1);
    if (groups[_i].text[0] == '{') {
      ck_assert_ptr_null(g->text);
    } else {
      ck_assert_str_eq(g->text, groups[_i].text);
    }
    halo_module_release(module);
  } else {
    ck_abort_msg("%s", halo_error_message());
  }
  halo_arena_deinit(&arena);
  halo_strbuf_deinit(&text);
}
END_TEST

START_TEST(aliasing_is_typed) {
  halo_module *module = text_read(
      "HloModule m\n"
      "ENTRY e {\n"
      "  p = (f32[4], (s32[2], f32[])) parameter(0)\n"
      "  q = f32[4] parameter(1)\n"
      "  ROOT c = (f32[4], (f32[], f32[4])) custom-call(p, q), custom_call_target=\"f\", "
      "output_to_operand_aliasing={{0}:(1,{}), {1,0}: (0, {1,1})}\n"
      "}\n");
  const halo_attr *attr =
      halo_instr_attr(module->entry->root, HALO_ATTR_OUTPUT_TO_OPERAND_ALIASING);
  ck_assert_int_eq(attr->aliases.count, 2);
  const halo_alias *first = &attr->aliases.data[0], *second = &attr->aliases.data[1];
  ck_assert_int_eq(first->out_index_count, 1);
  ck_assert_int_eq(first->parameter, 1);
  ck_assert_int_eq(first->param_index_count, 0);
  ck_assert_int_eq(second->out_index[1], 0);
  ck_assert_int_eq(second->parameter, 0);
  ck_assert_int_eq(second->param_index[0], 1);
  halo_module *copy = halo_module_clone(module);
  halo_module_release(module);
  char *text;
  ck_assert_int_eq(halo_module_to_text(copy, 0, &text), HALO_OK);
  ck_assert_ptr_nonnull(
      strstr(text, ", output_to_operand_aliasing={{0}: (1, {}), {1,0}: (0, {1,1})}\n"));
  halo_text_release(text);
  halo_module_release(copy);
}
END_TEST

START_TEST(raw_values_are_kept) {
  halo_module *module = text_read(
      "HloModule m\n"
      "ENTRY e {\n"
      "  p = f32[4] parameter(0), sharding={devices=[2]<=[2] last_tile_dims={manual}}, "
      "parameter_replication={true,false}, origin={{\"a\" {0}}}\n"
      "  a = negate(p), backend_config={\"a\":\"}\\\"\",\"b\":{\"c\":[1,2]}}, "
      "frontend_attributes={k=\"}\",j={\"x\":\"//\"}, empty=\"\", l=\"{a}}\"}\n"
      "  b = negate(a), backend_config=\"{\\\"q\\\": 1}\", metadata={op_type=\"a\" "
      "op_name='it\\'s\nraw', source_line=3 /* } */}\n"
      "  c = negate(b), statistics={visualizing_index=0,x=12.5}, newer=[1,2]<=\"}\"(3) {4}\n"
      "  ROOT d = exponential(c), result_accuracy={tolerance={atol=0,rtol=1e-6,ulps=2}}, "
      "control-predecessors={a, %b}, more=1.5\n"
      "}\n");
  const halo_instr *a = text_instr(module, "a"), *b = text_instr(module, "b");
  const halo_instr *c = text_instr(module, "c"), *d = text_instr(module, "d");
  ck_assert_str_eq(halo_instr_attr(a, HALO_ATTR_BACKEND_CONFIG)->text,
                   "{\"a\":\"}\\\"\",\"b\":{\"c\":[1,2]}}");
  const halo_attr *frontend = halo_instr_attr(a, HALO_ATTR_FRONTEND_ATTRIBUTES);
  static const char *const strings[] = {"empty", "", "j", "{\"x\":\"//\"}", "k", "}", "l", "{a}}"};
  ck_assert_int_eq(frontend->strings.count, 8);
  for (int i = 0; i < 8; i++) ck_assert_str_eq(frontend->strings.data[i], strings[i]);
  const char *quoted = halo_instr_attr(b, HALO_ATTR_BACKEND_CONFIG)->text;
  ck_assert_str_eq(quoted, "\"{\\\"q\\\": 1}\"");
  const halo_attr *unknown = halo_instr_attr(c, HALO_ATTR_UNKNOWN);
  ck_assert_str_eq(unknown->name, "newer");
  ck_assert_str_eq(unknown->text, "[1,2]<=\"}\"(3) {4}");
  ck_assert_int_eq(d->control_pred_count, 2);
  ck_assert_ptr_eq(d->control_preds[1], b);
  ck_assert_str_eq(halo_instr_attr(d, HALO_ATTR_UNKNOWN)->text, "1.5");
  char *text;
  ck_assert_int_eq(halo_module_to_text(module, 0, &text), HALO_OK);
  ck_assert_ptr_nonnull(
      strstr(text, ", frontend_attributes={empty=\"\",j={\"x\":\"//\"},k=\"}\",l=\"{a}}\"}"));
  ck_assert_ptr_nonnull(strstr(text,
                               ", control-predecessors={%a, %b}, result_accuracy={tolerance="
                               "{atol=0,rtol=1e-06,ulps=2}}, more=1.5\n"));
  halo_text_release(text);
  halo_module_release(module);
}
END_TEST

/* A lone number for an array may be shorter than any list of its elements. */
START_TEST(lone_number_is_the_first_element) {
  halo_module *module =
      text_read("HloModule m\nENTRY e {\n  ROOT c = s32[100,100] constant(5)\n}\n");
  const int32_t *data = module->entry->root->literal->data;
  ck_assert_int_eq(data[0], 5);
  int others = 0;
  for (int i = 1; i < 100 * 100; i++) others += data[i] != 0;
  ck_assert_int_eq(others, 0);
  halo_module_release(module);
  text_refuse("HloModule m\nENTRY e {\n  ROOT c = s32[100,100] constant({5})\n}\n",
              "t:3:34: error: ", "the text ends before one could");
}
END_TEST

/* A user's decimal comma must not reach the reader or the printer. */
START_TEST(locale_has_no_say) {
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
  for (int i = 0; i < 3; i++) {
    if (!setlocale(LC_ALL, names[i])) continue;
    halo_literal *literal = value_read("f64[1]", "{0.12345678901234567}");
    halo_strbuf out = {0};
    halo_literal_print(&out, literal);
    ck_assert_str_eq(out.data, "{0.123456789012346}");
    halo_strbuf_deinit(&out);
    halo_literal_release(literal);
  }
  setlocale(LC_ALL, "C");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("text_value");
  TCase *literals = tcase_create("literals");
  tcase_add_loop_test(literals, values_read_and_print, 0,
                      sizeof good_values / sizeof good_values[0]);
  tcase_add_loop_test(literals, values_refused, 0, sizeof bad_values / sizeof bad_values[0]);
  tcase_add_test(literals, every_small_float_comes_back);
  tcase_add_test(literals, many_large_floats_come_back);
  tcase_add_test(literals, locale_has_no_say);
  tcase_add_test(literals, lone_number_is_the_first_element);
  suite_add_tcase(suite, literals);
  TCase *attrs = tcase_create("attributes");
  tcase_add_test(attrs, windows_read);
  tcase_add_test(attrs, lists_read);
  tcase_add_loop_test(attrs, replica_groups_read, 0, sizeof groups / sizeof groups[0]);
  tcase_add_test(attrs, aliasing_is_typed);
  tcase_add_test(attrs, raw_values_are_kept);
  suite_add_tcase(suite, attrs);
  return suite_run(suite);
}
