/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_text.c: reading HLO text: words, shapes, names, computations and modules. */
#include "suite.h"
#include "text_test.h"

#include <time.h>

/* ---- Words and blanks ---- */

static const char demo[] =
    "HloModule demo\n"
    "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  r.2 = add(a, b) }\n"
    "ENTRY main { x = f32[2,3] parameter(0)  init = f32[] parameter(1)\n"
    "             out = reduce(x, init), dimensions={1}, to_apply=sum }\n";

START_TEST(least_module_reads) {
  halo_module *module = text_read(demo);
  ck_assert_str_eq(halo_module_name(module), "demo");
  ck_assert_int_eq(halo_module_parameter_count(module), 2);
  ck_assert_str_eq(halo_module_parameter_name(module, 1), "init");
  halo_instr *out = text_instr(module, "out");
  ck_assert_ptr_eq(module->entry->root, out);
  ck_assert_int_eq(out->shape->rank, 1);
  ck_assert_int_eq(out->shape->dims[0], 2);
  ck_assert_int_eq(out->line, 4);
  ck_assert_str_eq(halo_instr_comp(out, HALO_ATTR_TO_APPLY)->name, "sum");
  halo_module_release(module);
}
END_TEST

/* Line ends and comments mean nothing: all these are the same module. */
START_TEST(blanks_mean_nothing) {
  char one_line[sizeof demo], crlf[2 * sizeof demo];
  size_t n = 0;
  for (size_t i = 0; i < sizeof demo; i++) {
    one_line[i] = demo[i] == '\n' ? ' ' : demo[i];
    if (demo[i] == '\n') crlf[n++] = '\r';
    crlf[n++] = demo[i];
  }
  const char *comments =
      "/* a */ HloModule/**/demo // x\n sum/* { */{ a = f32[] parameter(0 /*index=5*/)\n"
      "b = f32[/**/]parameter(1) r.2 = /*(*/ add(a, /*index=1*/b) }//\n"
      "ENTRY main { x = f32[2,/*i*/3] parameter(0) init = f32[] parameter(1)\n"
      "out = reduce(x, init), dimensions = {1}, to_apply = sum } // main";
  halo_module *module = text_read(demo);
  char *want, *got;
  ck_assert_int_eq(halo_module_to_text(module, 0, &want), HALO_OK);
  halo_module_release(module);
  const char *texts[] = {one_line, crlf, comments};
  for (int i = 0; i < 3; i++) {
    module = text_read(texts[i]);
    ck_assert_int_eq(halo_module_to_text(module, 0, &got), HALO_OK);
    ck_assert_str_eq(got, want);
    halo_text_release(got);
    halo_module_release(module);
  }
  halo_text_release(want);
}
END_TEST

START_TEST(names_may_be_odd) {
  halo_module *module = text_read(
      "HloModule true\n"
      "%f32 { %token = f32[] parameter(0) ROOT %ROOT = f32[] negate(%token) }\n"
      "ENTRY %a-b.c {\n"
      "  while-body.1.clone = f32[] parameter(0)\n"
      "  a--b = f32[] call(while-body.1.clone), to_apply=%f32\n"
      "  %unknown=f32[] call(f32[] a--b), to_apply=%f32\n"
      "  %inf = f32[] add(%unknown, %a--b)\n"
      "  _.9=f32[] negate(%inf)\n"
      "  ROOT %ROOT = f32[] negate(_.9)\n"
      "}\n");
  ck_assert_str_eq(module->entry->name, "a-b.c");
  ck_assert_str_eq(module->entry->root->name, "ROOT");
  ck_assert_int_eq(text_instr(module, "unknown")->opcode, HALO_OP_CALL);
  char *text;
  ck_assert_int_eq(halo_module_to_text(module, HALO_PRINT_SHORT, &text), HALO_OK);
  halo_module *again = text_read(text);
  ck_assert_ptr_nonnull(strstr(text, "%unknown = f32[] call(a--b), to_apply=%f32"));
  halo_text_release(text);
  halo_module_release(module);
  halo_module_release(again);
}
END_TEST

/* ---- Shapes ---- */

static const char *const good_shapes[] = {
    "f32[]",
    "pred[0,3]{1,0}",
    "s4[2,3]{0,1}",
    "u1[7]{0}",
    "c128[1,2,3,4,5]{4,3,2,1,0}",
    "token[]",
    "opaque[]",
    "()",
    "((), ((), ()))",
    "(f32[2]{0}, (token[], s8[]))",
    "f32[<=4,?]{1,0}",
    "f32[2,3]{1,0:T(8,128)(2,1)S(1)}",
    "f32[]{:T(128)}",
    "s4[5]{0:E(4)}",
    "f32[4]{0:D(D,C~,S+)#(u32)*(u32)SC(0:16,32)P((f32[2]{0}, s32[]))M(8)}",
    "(f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[])",
    "f4e2m1fn[3]{0}",
    "f8e8m0fnu[]"};

START_TEST(shapes_print_as_read) {
  halo_arena arena = {0};
  const halo_shape *shape;
  ck_assert_msg(halo_text_parse_shape(good_shapes[_i], &arena, &shape) == HALO_OK, "%s",
                halo_error_message());
  ck_assert_str_eq(halo_shape_text(&arena, shape, true), good_shapes[_i]);
  halo_arena_deinit(&arena);
}
END_TEST

START_TEST(shapes_of_every_type_read) {
  for (int t = 1; t < HALO_TYPE_COUNT; t++) {
    if (t == HALO_TUPLE) continue;
    char text[64];
    snprintf(text, sizeof text, " %s [ ] ", halo_type_name((halo_type)t));
    halo_arena arena = {0};
    const halo_shape *shape;
    ck_assert_int_eq(halo_text_parse_shape(text, &arena, &shape), HALO_OK);
    ck_assert_int_eq(shape->type, t);
    halo_arena_deinit(&arena);
  }
}
END_TEST

static const struct {
  const char *text, *place, *part;
} bad_shapes[] = {
    {"", "shape:1:1: error: ", "expected a shape"},
    {"f32", "shape:1:4: error: ", "expected '['"},
    {"f33[2]", "shape:1:1: error: ", "unknown element type 'f33'"},
    {"tuple[]", "shape:1:1: error: ", "unknown element type"},
    {"f32[2", "shape:1:6: error: ", "expected ',' or ']'"},
    {"f32[-1]", "shape:1:5: error: ", "not negative"},
    {"f32[2,3]{0}", "shape:1:9: error: ", "expected 2 dimensions in the layout"},
    {"f32[2,3]{0,1,0}", "shape:1:14: error: ", "more entries"},
    {"f32[2,3]{1,1}", "shape:1:12: error: ", "twice"},
    {"f32[2]{1}", "shape:1:8: error: ", "from 0 to 0"},
    {"f32[2]{0:x}", "shape:1:10: error: ", "layout property"},
    {"f32[2]{0:T(8}", "shape:1:11: error: ", "never closed"},
    {"token[1]", "shape:1:1: error: ", "no dimensions"},
    {"(f32[], ", "shape:1:9: error: ", "end of the text"},
    {"f32[] f32[]", "shape:1:7: error: ", "the end of the shape"},
    {"f32[99999999999999999999]", "shape:1:5: error: ", "64 bits"},
    {"f32[4611686018427387904]", "shape:1:1: error: ", "63 bits"},
    {"(s8[9000000000000000000], s8[9000000000000000000])", "shape:1:27: error: ", "63 bits"},
    {"b(f32[]", "shape:1:8: error: ", "expected ')' after the buffer's shape"},
    {"b((f32[]))", "shape:1:3: error: ", "the shape of an array in b(...)"},
    {"f32[<4]", "shape:1:5: error: ", "expected '=' after '<'"},
};

START_TEST(shapes_refused) {
  halo_arena arena = {0};
  const halo_shape *shape;
  ck_assert_int_ne(halo_text_parse_shape(bad_shapes[_i].text, &arena, &shape), HALO_OK);
  ck_assert_ptr_null(shape);
  const char *message = halo_error_message();
  ck_assert_msg(strncmp(message, bad_shapes[_i].place, strlen(bad_shapes[_i].place)) == 0 &&
                    strstr(message, bad_shapes[_i].part),
                "%s", message);
  halo_arena_deinit(&arena);
}
END_TEST

/* ---- Forms of instructions ---- */

START_TEST(operands_of_every_generation_read) {
  halo_module *module = text_read(
      "ENTRY e {\n"
      "  p = (f32[2], (s32[], f32[2])) parameter(0)\n"
      "  %old = f32[2]{0} add(f32[2]{0} %p#0, f32[2]{0} p#1#1)\n"
      "  %short = f32[2]{0} add(%old, p#1#1)\n"
      "  %made = add(negate(old), f32[2] abs(negate(short)))\n"
      "  ROOT %negate.1 = negate(%made)\n"
      "}\n");
  const halo_instr *old = text_instr(module, "old"), *made = text_instr(module, "made");
  ck_assert_str_eq(module->name, "module_e");
  ck_assert_str_eq(old->operands[0]->name, "p_0");
  ck_assert_int_eq(old->operands[0]->opcode, HALO_OP_GET_TUPLE_ELEMENT);
  ck_assert_str_eq(old->operands[1]->name, "p_1_1");
  ck_assert_ptr_eq(old->operands[1], text_instr(module, "short")->operands[1]);
  ck_assert_int_eq(made->operands[1]->opcode, HALO_OP_ABS);
  ck_assert_int_eq(made->operands[1]->operands[0]->opcode, HALO_OP_NEGATE);
  /* Made-up names give way to those of the text. */
  ck_assert_str_eq(module->entry->root->name, "negate.1");
  ck_assert_str_ne(made->operands[0]->name, "negate.1");
  halo_module_release(module);
}
END_TEST

START_TEST(lone_instruction_reads) {
  const char *texts[] = {"%r = f32[2]{0} add(f32[2] %x, f32[2] %y)",
                         "ROOT r = add(f32[2] x, f32[2] y)", "f32[2] add(f32[2] x, f32[2] y)",
                         "add(f32[2] x, f32[2] y)"};
  for (int i = 0; i < 4; i++) {
    halo_module *module = text_read(texts[i]);
    ck_assert_int_eq(module->entry->params.count, 2);
    ck_assert_str_eq(module->entry->params.data[1]->name, "y");
    ck_assert_int_eq(module->entry->root->opcode, HALO_OP_ADD);
    halo_module_release(module);
  }
  halo_module *module = text_read(
      "m = map(f32[2] x), to_apply={ a = f32[] parameter(0) "
      "ROOT b = negate(a) }");
  ck_assert_ptr_eq(module->computations.data[1], module->entry);
  halo_module_release(module);
  text_refuse("r = add(x, f32[2] y)", "t:1:9: error: ", "expected a shape before this operand");
  text_refuse("r = negate(f32[] x) s = negate(r)", "t:1:21: error: ", "end of the instruction");
}
END_TEST

START_TEST(inline_bodies_have_their_own_names) {
  const char *text =
      "HloModule m\n"
      "ENTRY e {\n"
      "  a = f32[4] parameter(0)\n"
      "  z = f32[] constant(0)\n"
      "  ROOT r = reduce(a, z), dimensions={0}, to_apply={\n"
      "    a = f32[] parameter(0)\n"
      "    z = f32[] parameter(1)\n"
      "    l = compare(a, z), direction=LT\n"
      "    ROOT c = conditional(l, a, z), true_computation={ x = f32[] parameter(0) },\n"
      "      false_computation={ x = f32[] parameter(0) ROOT y = negate(x) }\n"
      "  }\n"
      "}\n"
      "reduce_to_apply.1 { x = f32[] parameter(0) }\n";
  halo_module *module = text_read(text);
  /* Callees come first, and the made-up name gave way to the one of the text. */
  ck_assert_int_eq(module->computations.count, 5);
  ck_assert_ptr_eq(module->computations.data[3], module->entry);
  const halo_computation *body = halo_instr_comp(text_instr(module, "r"), HALO_ATTR_TO_APPLY);
  ck_assert_ptr_eq(module->computations.data[2], body);
  ck_assert_str_ne(body->name, "reduce_to_apply.1");
  ck_assert_str_eq(halo_conditional_branch(body->root, 1)->root->name, "y");
  halo_module_release(module);
  text_refuse("ENTRY e { a = f32[] parameter(0) b = call(a), to_apply={ ROOT c = negate(a) } }",
              "t:1:74: error: ", "instruction 'a' does not exist");
}
END_TEST

START_TEST(async_sugar_is_split) {
  halo_module *module = text_read(
      "HloModule m\n"
      "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
      "ENTRY e {\n"
      "  a = f32[8] parameter(0)\n"
      "  s = ((f32[8]), f32[4], u32[]) reduce-scatter-start(a), replica_groups={{0,1}}, "
      "dimensions={0}, to_apply=add, async_execution_thread=\"copy\", metadata={op_name=\"x\"}\n"
      "  u = ((f32[8]), f32[4], u32[]) reduce-scatter-update(s), dimensions={0}, to_apply=add\n"
      "  ROOT d = f32[4] reduce-scatter-done(u), async_group_id=3\n"
      "}\n");
  const halo_instr *start = text_instr(module, "s");
  ck_assert_int_eq(start->opcode, HALO_OP_ASYNC_START);
  ck_assert_str_eq(halo_instr_attr(start, HALO_ATTR_ASYNC_EXECUTION_THREAD)->text, "copy");
  ck_assert_ptr_null(halo_instr_attr(start, HALO_ATTR_DIMENSIONS));
  const halo_computation *wrapped = halo_instr_comp(start, HALO_ATTR_CALLS);
  ck_assert_int_eq(wrapped->root->opcode, HALO_OP_REDUCE_SCATTER);
  ck_assert_int_eq(wrapped->params.count, 1);
  ck_assert_int_eq(wrapped->root->shape->dims[0], 4);
  ck_assert_ptr_nonnull(halo_instr_attr(wrapped->root, HALO_ATTR_METADATA));
  ck_assert_ptr_nonnull(halo_instr_attr(start, HALO_ATTR_METADATA));
  ck_assert_str_eq(halo_instr_comp(wrapped->root, HALO_ATTR_TO_APPLY)->name, "add");
  ck_assert_int_eq(text_instr(module, "u")->opcode, HALO_OP_ASYNC_UPDATE);
  ck_assert_int_eq(text_instr(module, "u")->attr_count, 0);
  ck_assert_int_eq(text_instr(module, "d")->opcode, HALO_OP_ASYNC_DONE);
  halo_module_release(module);
}
END_TEST

START_TEST(historic_spellings_read) {
  halo_module *module = text_read(
      "HloModule old, input_output_alias={ {}: (0, {}, USER) }\n"
      "ENTRY e {\n"
      "  p = f32[4,4] parameter(0)\n"
      "  i = s32[2] parameter(1)\n"
      "  t = token[] generate-token()\n"
      "  g = f32[2,4] gather(p, i), output_window_dims={1}, elided_window_dims={0}, "
      "gather_dims_to_operand_dims={0}, index_vector_dim=1, window_bounds={1,4}\n"
      "  k = f32[4,4] custom-call(p), custom_call_target=\"f\", opaque=\"cfg\"\n"
      "  c = f32[2]{0} constant(f32[2]{0} {1, 2})\n"
      "  s = (f32[4,4], f32[4,4], u32[]) copy-start(p), is_cross_program_prefetch=true\n"
      "  v = (s32[2], f32[2]) sort(i, c), dimensions={0}\n"
      "  w = f32[2] sort(c), dimensions={0}\n"
      "  ROOT d = f32[4,4] copy-done(s)\n"
      "}\n");
  const halo_computation *less = halo_instr_comp(text_instr(module, "v"), HALO_ATTR_TO_APPLY);
  ck_assert_int_eq(less->params.count, 4);
  ck_assert_int_eq(less->root->opcode, HALO_OP_COMPARE);
  ck_assert_int_eq(halo_compare_type_of(less->root), HALO_COMPARE_SIGNED);
  less = halo_instr_comp(text_instr(module, "w"), HALO_ATTR_TO_APPLY);
  ck_assert_int_eq(halo_compare_type_of(less->root), HALO_COMPARE_TOTALORDER);
  ck_assert_int_eq(module->aliases.count, 1);
  ck_assert(!module->aliases.data[0].must);
  const halo_instr *gather = text_instr(module, "g");
  ck_assert_int_eq(halo_instr_attr(gather, HALO_ATTR_SLICE_SIZES)->ints.count, 2);
  ck_assert_int_eq(halo_instr_attr(gather, HALO_ATTR_OFFSET_DIMS)->ints.data[0], 1);
  ck_assert_str_eq(halo_instr_attr(text_instr(module, "k"), HALO_ATTR_BACKEND_CONFIG)->text,
                   "\"cfg\"");
  ck_assert_int_eq(text_instr(module, "s")->attr_count, 0);
  ck_assert_int_eq(text_instr(module, "t")->opcode, HALO_OP_AFTER_ALL);
  halo_module_release(module);
}
END_TEST

/* ---- Modules ---- */

/* What XLA reads although it says little. */
START_TEST(loose_forms_read) {
  halo_module *module = text_read(
      "HloModule loose:\n"
      "%add (x f32[], %y: f32[]) -> f32[] {\n"
      "  x = f32[] parameter(0)\n"
      "  y = f32[] parameter(1)\n"
      "  ROOT s = f32[] add(x, y)\n"
      "}\n"
      "one { x = f32[2] parameter(0) ROOT n = f32[2] negate(x) }\n"
      "ENTRY e: {\n"
      "  p = f32[4] parameter(0)\n"
      "  b = b(f32[4]{0}) custom-call(p), custom_call_target=\"Pin\"\n"
      "  zero = f32[] constant(0)\n"
      "  one = f32[4] constant(1)\n"
      "  size = s64[1] constant({4})\n"
      "  r = f32[4] rng(zero, zero, size), distribution=rng_uniform\n"
      "  w = f32[3] reduce-window(p, zero), window={size=2 rhs_reversal=1x1}, to_apply=add\n"
      "  c = f32[] custom-call(p), custom_call_target=\"f\", "
      "literal=( s32[2]{0} {1, 2}, ( f32[] 3 ), () )\n"
      "  g = bf16[4] all-reduce(p), to_apply=add\n"
      "  q = f32[2,2] reshape(p)\n"
      "  h = scan(q), dimensions={0}, num_carries=0, to_apply=one\n"
      "  k = f32[2] rng-bit-generator(zero), algorithm=rng_default\n"
      "  ROOT t = (f32[2,2], f32[4]) tuple(h, b)\n"
      "}\n");
  ck_assert_str_eq(module->name, "loose");
  ck_assert_str_eq(module->entry->name, "e");
  ck_assert_int_eq(text_instr(module, "r")->operand_count, 2);
  const halo_literal *first = text_instr(module, "one")->literal;
  ck_assert(halo_literal_get_f64(first, 0) == 1 && halo_literal_get_f64(first, 3) == 0);
  char *text;
  ck_assert_int_eq(halo_module_to_text(module, 0, &text), HALO_OK);
  ck_assert_ptr_nonnull(strstr(text, "literal=( s32[2]{0} {1, 2}, ( f32[] 3 ), () )"));
  ck_assert_ptr_nonnull(strstr(text, "%b = f32[4]{0} custom-call(%p)"));
  ck_assert_ptr_nonnull(strstr(text, "%h = f32[2,2]{1,0} scan(%q)"));
  halo_module_release(text_read(text));
  halo_text_release(text);
  halo_module_release(module);
}
END_TEST

START_TEST(header_reads) {
  halo_module *module = text_read(
      "HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias), {1,0}: (1, "
      "{0}, must-alias), {1,1}: (1, {1}) }, buffer_donor={ (1, {0}) }, "
      "entry_computation_layout={(f32[2,3]{0,1}, /*index=1*/(s32[], f32[]))->(f32[2,3]{0,1}, "
      "(s32[], "
      "f32[]))}, allow_spmd_sharding_propagation_to_output={true,false}, replica_count=4, "
      "num_partitions=2, frontend_attributes={a=\"x\",b={\"}\"}}, later={1:2}\n"
      "FileNames\n1 \"a.py\"\nFunctionNames\n1 \"main\"\nFileLocations\n"
      "1 {file_name_id=1 line=7}\nStackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"
      "main { a = f32[2,3] parameter(0) b = (s32[], f32[]) parameter(1) ROOT c = tuple(a, b) }\n");
  ck_assert(module->is_scheduled);
  ck_assert_int_eq(module->replica_count, 4);
  ck_assert_int_eq(module->num_partitions, 2);
  ck_assert_int_eq(module->aliases.count, 3);
  ck_assert_int_eq(module->aliases.data[1].out_index_count, 2);
  ck_assert_int_eq(module->aliases.data[1].out_index[0], 1);
  ck_assert(module->aliases.data[1].must);
  ck_assert_int_eq(module->donors.count, 1);
  ck_assert_int_eq(module->donors.data[0].param_index_count, 1);
  ck_assert_int_eq(halo_shape_minor_to_major(halo_module_parameter_shape(module, 0), 0), 0);
  ck_assert_int_eq(halo_shape_minor_to_major(text_instr(module, "a")->shape, 0), 1);
  ck_assert_int_eq(module->header.count, 3);
  ck_assert_str_eq(module->header.data[1].text, "{1:2}");
  ck_assert_int_eq(module->frontend_count, 4);
  ck_assert_str_eq(module->frontend[1], "x");
  ck_assert_str_eq(module->frontend[3], "{\"}\"}");
  char *text;
  ck_assert_int_eq(halo_module_to_text(module, 0, &text), HALO_OK);
  ck_assert_ptr_nonnull(strstr(text, "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"));
  halo_text_release(text);
  halo_module_release(module);
}
END_TEST

START_TEST(a_byte_order_mark_is_skipped) {
  halo_module *module = text_read("\xef\xbb\xbfHloModule m\na { p = f32[2] parameter(0) }");
  ck_assert_str_eq(module->name, "m");
  halo_module_release(module);
}
END_TEST

START_TEST(entry_defaults_to_the_last) {
  halo_module *module = text_read(
      "HloModule m\na { p = f32[2]{0} parameter(0) q = f32[] constant(1)"
      " }\nb { p = f32[3,2]{0,1} parameter(0) }");
  ck_assert_str_eq(module->entry->name, "b");
  ck_assert_int_eq(halo_shape_minor_to_major(halo_module_result_shape(module), 0), 0);
  halo_module_release(module);
  module = text_read(
      "ENTRY a (p: f32[]) -> f32[] { p = f32[] parameter(0) }\n"
      "%b (p.1: f32[2], %q: s8[]) -> (f32[2]) { p = f32[2] parameter(0) "
      "q = s8[] parameter(1) ROOT r = tuple(p) }, execution_thread=\"host\"");
  ck_assert_str_eq(module->entry->name, "a");
  ck_assert_str_eq(text_computation(module, "b")->execution_thread, "host");
  halo_module_release(module);
}
END_TEST

START_TEST(files_read) {
  halo_module *module;
  ck_assert_int_eq(halo_module_parse_file("/nonexistent/x.hlo", &module), HALO_NOT_FOUND);
  ck_assert_ptr_null(module);
  ck_assert_int_eq(halo_module_parse_file("/", &module), HALO_IO_ERROR);
  ck_assert_int_eq(halo_module_parse_file(HALO_TEST_DATA "/hlo/cond.hlo", &module), HALO_OK);
  halo_module_release(module);
  ck_assert_int_eq(halo_module_parse(NULL, 0, NULL, &module), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_module_parse("", 0, NULL, NULL), HALO_INVALID_ARGUMENT);
}
END_TEST

/* ---- Size and depth ---- */

static char *text_repeat(const char *open, const char *inner, const char *close, int count) {
  halo_strbuf out = {0};
  for (int i = 0; i < count; i++) halo_strbuf_append(&out, open);
  halo_strbuf_append(&out, inner);
  for (int i = 0; i < count; i++) halo_strbuf_append(&out, close);
  return halo_strbuf_take(&out);
}

/* Whatever nests is refused at some depth rather than left to overflow the stack. */
START_TEST(nesting_is_bounded) {
  static const struct {
    const char *head, *open, *inner, *close, *tail;
  } rows[] = {
      {"ENTRY e { p = ", "(", "f32[]", ")", " parameter(0) }"},
      {"ENTRY e { p = f32[] parameter(0) q = f32[] ", "negate(", "p", ")", " }"},
      {"ENTRY e { p = f32[] parameter(0) q = f32[] call(p), to_apply=",
       "{ p = f32[] parameter(0) q = f32[] call(p), to_apply=", "{ p = f32[] parameter(0) }", "}",
       " }"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    for (int depth = 100; depth <= 100000; depth *= 1000) {
      char *nested = text_repeat(rows[i].open, rows[i].inner, rows[i].close, depth);
      halo_strbuf text = {0};
      halo_strbuf_append(&text, rows[i].head);
      halo_strbuf_append(&text, nested);
      halo_strbuf_append(&text, rows[i].tail);
      halo_module *module = NULL;
      halo_status status = halo_module_parse(text.data, text.length, "t", &module);
      if (depth == 100) {
        ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
      } else {
        ck_assert_int_eq(status, HALO_INVALID_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(halo_error_message(), "nested more than 500 deep"));
      }
      halo_module_release(module);
      halo_strbuf_deinit(&text);
      halo_free(nested);
    }
  }
}
END_TEST

START_TEST(calls_are_bounded) {
  halo_strbuf text = {0};
  halo_strbuf_append(&text, "HloModule m\nc0 { p = f32[] parameter(0) }\n");
  for (int i = 1; i < 2000; i++) {
    halo_strbuf_printf(&text, "c%d { p = f32[] parameter(0) q = f32[] call(p), to_apply=c%d }\n", i,
                       i - 1);
  }
  text_refuse(text.data, "t:", "computations call each other more than 500 deep");
  halo_strbuf_deinit(&text);
}
END_TEST

/* A hundred thousand instructions, once in lines and once in a single one, take about the same, and
 * ten times a tenth of them. */
START_TEST(time_is_linear) {
  double seconds[2][2];
  for (int big = 0; big < 2; big++) {
    for (int lines = 0; lines < 2; lines++) {
      char end = lines ? '\n' : ' ';
      halo_strbuf text = {0};
      halo_strbuf_printf(&text, "ENTRY e {%cp = f32[8]{0} parameter(0)%c", end, end);
      int count = big ? 100000 : 10000;
      for (int i = 0; i < count; i++) {
        halo_strbuf_printf(&text, "%%a.%d = f32[8]{0} add(%%p, %%p)%c", i, end);
      }
      halo_strbuf_append(&text, "}");
      clock_t start = clock();
      halo_module *module = text_read(text.data);
      seconds[big][lines] = (double)(clock() - start) / CLOCKS_PER_SEC;
      ck_assert_int_eq(module->entry->instrs.count, count + 1);
      halo_module_release(module);
      halo_strbuf_deinit(&text);
    }
  }
  for (int lines = 0; lines < 2; lines++) {
    ck_assert_msg(seconds[1][lines] < 60 * (seconds[0][lines] + 0.01),
                  "%g s for 10000, %g s for "
                  "100000",
                  seconds[0][lines], seconds[1][lines]);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("text");
  TCase *words = tcase_create("words");
  tcase_add_test(words, least_module_reads);
  tcase_add_test(words, blanks_mean_nothing);
  tcase_add_test(words, names_may_be_odd);
  suite_add_tcase(suite, words);
  TCase *shapes = tcase_create("shapes");
  tcase_add_loop_test(shapes, shapes_print_as_read, 0, sizeof good_shapes / sizeof good_shapes[0]);
  tcase_add_test(shapes, shapes_of_every_type_read);
  tcase_add_loop_test(shapes, shapes_refused, 0, sizeof bad_shapes / sizeof bad_shapes[0]);
  suite_add_tcase(suite, shapes);
  TCase *instrs = tcase_create("instructions");
  tcase_add_test(instrs, operands_of_every_generation_read);
  tcase_add_test(instrs, lone_instruction_reads);
  tcase_add_test(instrs, inline_bodies_have_their_own_names);
  tcase_add_test(instrs, async_sugar_is_split);
  tcase_add_test(instrs, historic_spellings_read);
  suite_add_tcase(suite, instrs);
  TCase *modules = tcase_create("modules");
  tcase_add_test(modules, loose_forms_read);
  tcase_add_test(modules, header_reads);
  tcase_add_test(modules, entry_defaults_to_the_last);
  tcase_add_test(modules, a_byte_order_mark_is_skipped);
  tcase_add_test(modules, files_read);
  suite_add_tcase(suite, modules);
  TCase *size = tcase_create("size");
  tcase_set_timeout(size, 120);
  tcase_add_test(size, nesting_is_bounded);
  tcase_add_test(size, calls_are_bounded);
  tcase_add_test(size, time_is_linear);
  suite_add_tcase(suite, size);
  return suite_run(suite);
}
