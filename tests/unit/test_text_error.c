/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_text_error.c: what is wrong HLO text, and where the message says it is. */
#include "suite.h"
#include "text_test.h"

static const struct {
  const char *text, *place, *part;
} rows[] = {
    /* Tokens */
    {"", "t:1:1: error: ", "expected HloModule"},
    {"   \n  ", "t:2:3: error: ", "found the end of the text"},
    {"@", "t:1:1: error: ", "no meaning in HLO text"},
    {"HloModule m\n/* never", "t:2:1: error: ", "expected '*/'"},
    {"HloModule m\n\nENTRY e { p = f32[] custom-call(), custom_call_target=\"x }",
     "t:3:55: error: ", "closing quote"},
    {"HloModule m\nENTRY e { p = f32[] parameter(0)", "t:2:33: error: ", "found the end"},
    {"HloModule m / x", "t:1:13: error: ", "expected a comment"},
    {"HloModule m\nENTRY e {\n  p = f32[] parameter(0), backend_config={\"a\": \"}\"\n}\n",
     "t:5:1: error: ", "found the end"},
    {"HloModule m\nENTRY e {\n  p = f32[] parameter(0), sharding={\n}, statistics={(}\n}\n",
     "t:4:17: error: ", "expected ')' before this '}'"},
    {"ENTRY e { p = f32[] parameter(0) q = f32[] negate(%) }",
     "t:1:51: error: ", "expected a name after '%'"},
    {"ENTRY e { p = f32[] custom-call(), custom_call_target=\"\\q\" }",
     "t:1:56: error: ", "expected an escape"},
    {"ENTRY e { p = f32[] custom-call(), custom_call_target=\"a\\000\" }",
     "t:1:57: error: ", "NUL byte"},
    /* Other forms of programs */
    {"module @jit_f attributes {mhlo.num_partitions = 1 : i32} {\n  func.func public @main()",
     "t:1:1: error: ", "this is MLIR (StableHLO): expected HLO text"},
    {"#loc = loc(unknown)\nmodule @f { func.func public @main() {} }", "t:1:1: error: ", "MLIR"},
    {"\n\005jit_f\022\004main", "t:1:1: error: ", "this is no program that is known here"},
    {"\x1f\x8b\b", "t:1:1: error: ", "compressed by gzip: unpack it first, with gunzip"},
    {"\x28\xb5\x2f\xfd", "t:1:1: error: ", "compressed by zstd"},
    {"BZh91AY&SY", "t:1:1: error: ", "compressed by bzip2"},
    {"PK\003\004", "t:1:1: error: ", "a zip archive"},
    {"\x93NUMPY", "t:1:1: error: ", "an array of NumPy, an input of a program"},
    {"\xff\xfeH", "t:1:1: error: ", "UTF-16"},
    {"\xef\xbb\xbf@", "t:1:1: error: ", "no meaning in HLO text"},
    /* Modules */
    {"HloModule", "t:1:10: error: ", "the module's name"},
    {"HloModule m", "t:1:12: error: ", "expected a computation"},
    {"HloModule m, ", "t:1:14: error: ", "header attribute"},
    {"HloModule m, is_scheduled=1", "t:1:27: error: ", "true or false"},
    {"HloModule m, is_scheduled=true, is_scheduled=true", "t:1:33: error: ", "stands twice"},
    {"HloModule m, replica_count=-1", "t:1:28: error: ", "not negative"},
    {"HloModule m, input_output_alias={ {}: (1, {}) }\nENTRY e { p = f32[] parameter(0) }",
     "t:1:33: error: ", "parameters of the entry"},
    {"HloModule m, input_output_alias={ {0}: (0, {}) }\nENTRY e { p = f32[] parameter(0) }",
     "t:1:33: error: ", "indices into the entry's result"},
    {"HloModule m, buffer_donor={ (0, {1}) }\nENTRY e { p = f32[] parameter(0) }",
     "t:1:27: error: ", "parameters of the entry"},
    {"HloModule m, entry_computation_layout={()->f32[]}\nENTRY e { p = f32[] parameter(0) }",
     "t:1:39: error: ", "expected as many shapes, found 0"},
    {"HloModule m, entry_computation_layout={(f32[2])->f32[]}\nENTRY e { p = f32[] parameter(0) }",
     "t:1:39: error: ", "entry's parameter 0"},
    {"HloModule m, entry_computation_layout={(f32[])->s32[]}\nENTRY e { p = f32[] parameter(0) }",
     "t:1:39: error: ", "as the result"},
    {"ENTRY a { p = f32[] parameter(0) }\nENTRY b { p = f32[] parameter(0) }",
     "t:2:1: error: ", "expected one ENTRY"},
    {"ENTRY a { p = f32[] parameter(0) }\n%a { p = f32[] parameter(0) }",
     "t:2:1: error: ", "computation 'a' is defined twice: its first instruction is on line 1"},
    {"HloModule m\na { p = f32[] parameter(0) }\nHloModule n",
     "t:3:1: error: ", "one text holds one module"},
    {"ENTRY a (p: f32[]) -> f32[2] { p = f32[] parameter(0) }",
     "t:1:23: error: ", "expected f32[], the shape of the computation's root"},
    {"ENTRY a { }", "t:1:11: error: ", "expected an instruction"},
    {"ENTRY a {\n  ROOT p = f32[] parameter(0)\n  ROOT q = f32[] negate(p)\n}",
     "t:3:3: error: ", "'p' on line 2 is one already"},
    {"ENTRY a { p = f32[] parameter(0) q = f32[] parameter(2) r = f32[] negate(p) "
     "s = f32[] negate(r) }",
     "t:1:97: error: ", "no parameter 1"},
    {"ENTRY a { p = f32[] parameter(1000000) }", "t:1:31: error: ", "without a gap"},
    {"ENTRY a { p = f32[] parameter(0) q = f32[] parameter(0) }", "t:1:54: error: ", "used twice"},
    {"ENTRY a { p = f32[] parameter(-1) }", "t:1:31: error: ", "without a gap"},
    /* Instructions */
    {"ENTRY a {\n  p = f32[] parameter(0)\n  %p = f32[] negate(p)\n}",
     "t:3:3: error: ", "instruction 'p' is defined twice in this computation, first on line 2"},
    {"ENTRY a {\n  q = f32[] negate(%p)\n  p = f32[] parameter(0)\n}",
     "t:2:20: error: ", "instruction 'p' does not exist"},
    {"ENTRY a { p = f32[] parameter(0) q = f32[] call(p), to_apply=%b }",
     "t:1:62: error: ", "computation 'b' does not exist"},
    {"ENTRY a { p = f32[] parameter(0) q = f32[] call(p), to_apply=a }",
     "t:1:62: error: ", "computation 'a' does not exist"},
    {"ENTRY a { p = f32[] parameter(0) q = f32[] nagate(p) }",
     "t:1:44: error: ", "unknown opcode 'nagate': did you mean 'negate'?"},
    {"ENTRY a { p = f32[] parameter(0) q = f32[] frobnicate(p) }",
     "t:1:44: error: ", "unknown opcode 'frobnicate': expected an opcode of HLO"},
    {"ENTRY a { p = f32[] parameter(0) q = f32[] trace(p) }", "t:1:44: error: ", "trace is gone"},
    {"ENTRY a { p = f32[] parameter(0) q = f32[] add(p) }",
     "t:1:34: error: ", "add expects 2 operands, but has 1"},
    {"ENTRY a { p = f32[] parameter(0) q = f32[] negate(p, p) }",
     "t:1:34: error: ", "negate expects 1 operand, but has 2"},
    {"ENTRY a { p = f32[] parameter(0) q = (f32[], f32[]) tuple(p) }",
     "t:1:34: error: ", "as many operands as its shape has elements"},
    {"ENTRY a { p = parameter(0) }", "t:1:11: error: ", "expected the result shape"},
    {"ENTRY a { p = f33[] parameter(0) }", "t:1:15: error: ", "unknown element type 'f33'"},
    {"ENTRY a { p = constant(0) }", "t:1:11: error: ", "expected the result shape"},
    {"ENTRY a { p = f32[] parameter(0) q = iota(), iota_dimension=0 }",
     "t:1:34: error: ", "expected the result shape before 'iota'"},
    {"ENTRY a { p = f32[2] parameter(0) q = f32[2] negate(f32[3] p) }",
     "t:1:53: error: ", "expected shape f32[2], which is the shape of operand 'p'"},
    {"ENTRY a { p = f32[] parameter(0) q = f32[] negate(p#0) }",
     "t:1:52: error: ", "expected a tuple before '#'"},
    {"ENTRY a { p = (f32[]) parameter(0) q = f32[] negate(p#1) }",
     "t:1:54: error: ", "from 0 to 0"},
    {"ENTRY a { p/q = f32[] parameter(0) }", "t:1:12: error: ", "such as 'p_q'"},
    {"ENTRY a { p = f32[] parameter(0) q = f32[] call(p), to_apply={%b} }",
     "t:1:65: error: ", "a computation is named without them"},
    {"ENTRY a { p f32[] parameter(0) }", "t:1:13: error: ", "expected '=' after the instruction"},
    {"ENTRY a { p = f32[] parameter(0) q = f32[] negate(p) dimensions={0} }",
     "t:1:65: error: ", "expected an opcode"},
    {"ENTRY a { p = f32[2] parameter(0)\n q = f32[2] add(p, transpose(p)) }",
     "t:2:20: error: ", "transpose expects attribute dimensions="},
    /* Attributes */
    {"ENTRY a {\n  p = (f32[4]) parameter(0)\n  q = f32[4] custom-call(p), "
     "custom_call_target=\"f\",\n"
     "output_to_operand_aliasing={0: (0, {0})} }",
     "t:4:29: error: ", "expected '{' to open a list of numbers"},
    {"ENTRY a {\n  p = (f32[4]) parameter(0)\n  q = f32[4] custom-call(p), "
     "custom_call_target=\"f\",\n"
     "output_to_operand_aliasing={{} (0, {0})} }",
     "t:4:32: error: ", "':' after the output's index"},
    {"ENTRY a {\n  p = (f32[4]) parameter(0)\n  q = f32[4] custom-call(p), "
     "custom_call_target=\"f\",\n"
     "output_to_operand_aliasing={{}: (x, {0})} }",
     "t:4:34: error: ", "an operand's number"},
    {"ENTRY a {\n  p = (f32[4]) parameter(0)\n  q = f32[4] custom-call(p), "
     "custom_call_target=\"f\",\n"
     "output_to_operand_aliasing={{}: (0, {0}, may-alias)} }",
     "t:4:40: error: ", "')' after the index"},
    {"ENTRY a {\n  p = (f32[4]) parameter(0)\n  q = f32[4] custom-call(p), "
     "custom_call_target=\"f\",\n"
     "output_to_operand_aliasing={{}: (0, {0}) {} }",
     "t:4:42: error: ", "',' or '}' after an entry"},
    {"ENTRY a {\n  p = (f32[4]) parameter(0)\n  q = f32[4] custom-call(p), "
     "custom_call_target=\"f\",\n"
     "output_to_operand_aliasing={{1}: (0, {0})} }",
     "t:3:3: error: ", "the result has no such part"},
    {"ENTRY a {\n  p = (f32[4]) parameter(0)\n  q = f32[4] custom-call(p), "
     "custom_call_target=\"f\",\n"
     "output_to_operand_aliasing={{}: (1, {})} }",
     "t:3:3: error: ", "there is no operand 1"},
    {"ENTRY a {\n  p = (f32[4]) parameter(0)\n  q = f32[4] custom-call(p), "
     "custom_call_target=\"f\",\n"
     "output_to_operand_aliasing={{}: (0, {1})} }",
     "t:3:3: error: ", "operand 0 has no such part"},
    {"ENTRY a {\n  p = (f32[4]) parameter(0)\n  q = f32[4] custom-call(p), "
     "custom_call_target=\"f\",\n"
     "output_to_operand_aliasing={{}: (0, {})} }",
     "t:3:3: error: ", "another shape than the result's"},
    {"ENTRY a { p = f32[2] parameter(0) q = f32[2] transpose(p) }",
     "t:1:35: error: ", "transpose expects attribute dimensions="},
    {"ENTRY a { p = f32[2] parameter(0) q = f32[2] transpose(p), dimensions={0}, dimensions={0} }",
     "t:1:76: error: ", "dimensions stands twice"},
    {"ENTRY a { p = f32[2] parameter(0) q = f32[2] transpose(p), dimensions={0,} }",
     "t:1:74: error: ", "another element"},
    {"ENTRY a { p = f32[2] parameter(0) q = f32[2] transpose(p), }",
     "t:1:60: error: ", "expected an attribute"},
    {"ENTRY a { p = f32[2] parameter(0) q = f32[2] transpose(p), dimensions }",
     "t:1:71: error: ", "'=' after the attribute's name"},
    {"ENTRY a { p = f32[2] parameter(0) q = pred[2] compare(p, p), direction=eq }",
     "t:1:72: error: ", "one of EQ, NE, GE, GT, LE, LT"},
    {"ENTRY a { p = f32[2] parameter(0) q = pred[2] compare(p, p), direction=EQ, type=FLOAT, "
     "order=TOTAL }",
     "t:1:35: error: ", "not both"},
    {"ENTRY a { p = pred[] parameter(0) q = f32[] parameter(1) r = f32[] conditional(p, q, q) }",
     "t:1:58: error: ", "branch_computations="},
    {"ENTRY a { p = f32[2,2] parameter(0) q = f32[2,2] dot(p, p), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={0}, sparsity=L.1@2:4 }",
     "t:1:113: error: ", "sparse dot"},
    {"ENTRY a { p = f32[4] parameter(0) q = f32[2] slice(p), slice={[0-2]} }",
     "t:1:65: error: ", "expected ':'"},
    {"ENTRY a { p = f32[4] parameter(0) z = f32[] constant(0) q = f32[4] pad(p, z), padding=1 }",
     "t:1:88: error: ", "low_high or low_high_interior"},
    {"ENTRY a { p = f32[4] parameter(0) q = f32[4] custom-call(p), window={size=3x } }",
     "t:1:77: error: ", "numbers joined by 'x'"},
    {"ENTRY a { p = f32[4] parameter(0) q = f32[4] all-reduce(p), replica_groups=[2,4]<=[9] }",
     "t:1:76: error: ", "8 and 9 elements"},
    {"ENTRY a { p = f32[4] parameter(0) q = f32[4] all-reduce(p), replica_groups=[2,4]<=[2,4] }",
     "t:1:89: error: ", "expected T(...)"},
    {"ENTRY a { p = f32[4] parameter(0) q = f32[4] all-reduce(p), replica_groups=[8]<=[8] }",
     "t:1:76: error: ", "[groups,size]"},
    {"ENTRY a { p = f32[4] parameter(0) q = f32[4] all-reduce(p), "
     "replica_groups=[1000000,1000000]<=[1000000000000] }",
     "t:1:76: error: ", "ids in all"},
    {"ENTRY a { p = f32[1,1,1] parameter(0) q = f32[1,1,1] convolution(p, p), window={size=1}, "
     "dim_labels=b0f_0io->b1f }",
     "t:1:110: error: ", "spatial dimensions 0 to 0"},
    {"ENTRY a { p = f32[1,1] parameter(0) q = f32[1,1] convolution(p, p), dim_labels=bb_io->bf }",
     "t:1:81: error: ", "stands twice"},
    {"ENTRY a { p = f32[] parameter(0) q = negate-start(p) }",
     "t:1:34: error: ", "expects the shape ((operand shapes), result shape, ...)"},
/* Collectives */
#define COLLECT(rest)                                                                              \
  "a { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }\n"                 \
  "ENTRY e {\n p = f32[4,2] parameter(0)\n q = " rest " }"
    {COLLECT("f32[4,3] all-reduce(p), to_apply=a"), "t:4:2: error: ", "dimensions of operand 0"},
    {COLLECT("f32[4,2] all-reduce(p), replica_groups={{0,1},{1,2}}, to_apply=a"),
     "t:4:2: error: ", "replica_groups have 1 twice"},
    {COLLECT("f32[4,2] all-reduce(p), replica_groups={{0},{}}, to_apply=a"),
     "t:4:2: error: ", "an empty group"},
    {COLLECT("(f32[4,2]) all-reduce(p, p), to_apply=a"), "t:4:2: error: ", "tuple of 2 arrays"},
    {COLLECT("f32[9,2] all-gather(p), dimensions={0}"), "t:4:2: error: ", "no multiples"},
    {COLLECT("f32[8,3] all-gather(p), dimensions={0}"), "t:4:2: error: ", "only dimension 0"},
    {COLLECT("s32[8,2] all-gather(p), dimensions={0}"), "t:4:2: error: ", "type and rank"},
    {COLLECT("f32[8,2] reduce-scatter(p), dimensions={0}, to_apply=a"),
     "t:4:2: error: ", "no multiples"},
    {COLLECT("(f32[4,2], f32[4,2]) all-to-all(p, p), replica_groups={{0,1,2}}"),
     "t:4:2: error: ", "as many operands, not 2"},
    {COLLECT("f32[4,2] all-to-all(p), replica_groups={{0,1,2}}, dimensions={0}"),
     "t:4:2: error: ", "no multiple of the 3 members"},
    {COLLECT("f32[4,2] collective-permute(p), source_target_pairs={{0,1},{2,1}}"),
     "t:4:2: error: ", "targets of source_target_pairs have 1 twice"},
    {COLLECT("f32[4,2] collective-permute(p), source_target_pairs={{0,1},{0,2}}"),
     "t:4:2: error: ", "sources of source_target_pairs have 0 twice"},
    {COLLECT("f32[4,2] ragged-all-to-all(p, p, p, p, p, p)"), "t:4:2: error: ", "must be integers"},
    /* Rules of the operations, found when a shape is inferred and when the module is verified */
    {"ENTRY a {\n p = f32[2] parameter(0)\n q = f32[3] parameter(1)\n  r = add(p, q)\n}",
     "t:4:3: error: ", "add"},
    {"ENTRY a {\n p = f32[2] parameter(0) q = f32[3] parameter(1)  %r = f32[2] add(p, q)\n}",
     "t:2:51: error: ", "add"},
};

/* Of an empty line there is nothing to show. */
START_TEST(empty) {
  halo_module *module;
  ck_assert_int_ne(halo_module_parse("", 0, "t", &module), HALO_OK);
  ck_assert_ptr_null(strchr(halo_error_message(), '^'));
}
END_TEST

START_TEST(refused_with_place) { text_refuse(rows[_i].text, rows[_i].place, rows[_i].part); }
END_TEST

START_TEST(message_shows_the_line) {
  text_refuse("HloModule m\nENTRY e {\n\tp = f32[] nagate(0)\r\n}\n", "t:3:12: error: ", "nagate");
  ck_assert_str_eq(halo_error_message(),
                   "t:3:12: error: unknown opcode 'nagate': did you mean 'negate'?\n"
                   "\tp = f32[] nagate(0)\n"
                   "\t          ^");
}
END_TEST

START_TEST(message_cuts_long_lines) {
  halo_strbuf text = {0};
  halo_strbuf_append(&text, "ENTRY e { p = f32[] parameter(0)");
  for (int i = 0; i < 5000; i++) halo_strbuf_printf(&text, " n%d = negate(p)", i);
  halo_strbuf_append(&text, " x = nagate(p)");
  for (int i = 0; i < 5000; i++) halo_strbuf_printf(&text, " m%d = negate(p)", i);
  size_t column = (size_t)(strstr(text.data, "nagate") - text.data) + 1;
  char place[64];
  snprintf(place, sizeof place, "t:1:%zu: error: ", column);
  text_refuse(text.data, place, "unknown opcode");
  const char *message = halo_error_message();
  ck_assert_uint_lt(strlen(message), 600);
  /* The caret stands under the word. */
  const char *line = strchr(message, '\n') + 1, *caret_line = strchr(line, '\n') + 1;
  const char *caret = strchr(caret_line, '^');
  ck_assert(strncmp(line, "...", 3) == 0);
  ck_assert(strncmp(line + (caret - caret_line), "nagate", 6) == 0);
  halo_strbuf_deinit(&text);
}
END_TEST

START_TEST(nul_byte_is_refused) {
  static const char text[] = "ENTRY e { p = f32[] \0parameter(0) }";
  halo_module *module;
  ck_assert_int_eq(halo_module_parse(text, sizeof text - 1, "t", &module), HALO_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(halo_error_message(), "t:1:21: error: a NUL byte"));
  static const char in_string[] = "ENTRY e { p = f32[] parameter(0), metadata={op_name=\"\0\"} }";
  ck_assert_int_eq(halo_module_parse(in_string, sizeof in_string - 1, "t", &module),
                   HALO_INVALID_ARGUMENT);
}
END_TEST

/* Any beginning of a module is refused or, when whole computations are there, read; never worse. */
START_TEST(every_prefix_is_survived) {
  static const char text[] =
      "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }, later={\"x\":[1]}\n"
      "%add (a: f32[], b: f32[]) -> f32[] { %a = f32[] parameter(0) %b = f32[] parameter(1)\n"
      "  ROOT %c = f32[] add(f32[] %a, %b), metadata={op_name=\"x\"} }\n"
      "ENTRY %e (p: f32[4,2]) -> f32[4] { %p = f32[4,2]{0,1:T(8,128)} parameter(0)\n"
      "  %z = (f32[2], c64[]) constant(( {nan(0x1), -0}, (1, 2) )), backend_config={\"a\":\"}\"}\n"
      "  %k = f32[2]{0} constant({...}) /* x */ // y\n"
      "  %s = ((f32[4,2]), f32[4,2], u32[]) negate-start(p), sharding={replicated}\n"
      "  %d = f32[4,2] negate-done(s), control-predecessors={k}\n"
      "  %r = f32[4,2] all-reduce(%d), replica_groups=[1,1]<=[1], to_apply=%add\n"
      "  %i = f32[] constant(0)\n"
      "  ROOT %o = reduce(r, i), dimensions={1}, to_apply={ a = f32[] parameter(0) b = f32[] "
      "parameter(1) c = add(a, b) }\n"
      "}\n";
  int read = 0;
  for (size_t length = 0; length < sizeof text; length++) {
    halo_module *module = NULL;
    if (halo_module_parse(text, length, "t", &module) == HALO_OK) read++;
    halo_module_release(module);
  }
  ck_assert_int_ge(read, 2);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("text_error");
  TCase *errors = tcase_create("errors");
  tcase_add_test(errors, empty);
  tcase_add_loop_test(errors, refused_with_place, 0, sizeof rows / sizeof rows[0]);
  tcase_add_test(errors, message_shows_the_line);
  tcase_add_test(errors, message_cuts_long_lines);
  tcase_add_test(errors, nul_byte_is_refused);
  tcase_add_test(errors, every_prefix_is_survived);
  suite_add_tcase(suite, errors);
  return suite_run(suite);
}
