/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_codegen.c: the text of kernels, from modules whose entry is one fusion after another. */
#include "codegen/emitter.h"
#include "kernel/prelude.h"
#include "kernels/kernels.h"
#include "passes/fuse/fusion.h"
#include "run_test.h"
#include "suite.h"

/* A CPU or GPU as kernels see it. */
static halo_caps some_device(bool is_cpu) {
  return (halo_caps){.is_cpu = is_cpu,
                     .is_gpu = !is_cpu,
                     .has_f64 = true,
                     .compute_units = 8,
                     .simd_width = is_cpu ? 8 : 32,
                     .max_work_group = 1024,
                     .max_items = {1024, 1024, 64},
                     .local_memory = 32768};
}

/* The text of the kernels of entry instruction `name`, as of a fusion; the launches' first `in_place`
 * goes to `*in_place` if that is not NULL. */
static char *lower(halo_module *module, const halo_caps *caps, const char *name,
                   uint64_t *in_place) {
  halo_instr *instr = NULL;
  for (int32_t i = 0; i < module->entry->instrs.count; i++) {
    if (strcmp(module->entry->instrs.data[i]->name, name) == 0) {
      instr = module->entry->instrs.data[i];
    }
  }
  ck_assert_msg(instr != NULL, "no instruction %s", name);
  halo_arena arena = {0};
  halo_strbuf source = {0}, explain = {0}, text = {0};
  halo_sections sections = {0};
  halo_lowering l = {.arena = &arena,
                     .caps = caps,
                     .texts = &arena,
                     .source = &source,
                     .sections = &sections,
                     .explain = &explain,
                     .prefix = "",
                     .name = instr->name,
                     .computation = instr->opcode == HALO_OP_FUSION
                                        ? halo_instr_comp(instr, HALO_ATTR_CALLS)
                                        : halo_fusion_wrap(instr)};
  const char *chosen;
  ck_ok(halo_kernels_lower(&l, &chosen));
  ck_assert_int_gt(l.launches.count, 0);
  if (in_place) *in_place = l.launches.data[0].in_place;
  ck_assert_int_eq(source.length, 0);
  for (int32_t k = 0; k < l.made.count; k++) {
    const char *with_holes = l.made.data[k]->text;
    halo_text_render(&text, with_holes, strlen(with_holes), HALO_FORM_KERNEL, NULL);
  }
  halo_vec_deinit(&l.made);
  halo_vec_deinit(&l.launches);
  halo_vec_deinit(&l.scratch);
  halo_strbuf_deinit(&explain);
  halo_arena_deinit(&arena);
  return halo_strbuf_take(&text);
}

/* Not the whole of a text in the message: Check has room for a page. */
#define has(text, part)                                                                            \
  ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%.2000s", part, text)
#define lacks(text, part)                                                                          \
  ck_assert_msg(strstr(text, part) == NULL, "\"%s\" in:\n%.2000s", part, text)

/* ---- Names ---- */

static const char twins_text[] =
    "HloModule twins\n"
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"
    "plus { x = f32[] parameter(0) y = f32[] parameter(1) ROOT sum = f32[] add(x, y) }\n"
    "one {\n"
    "  p = f32[300,40] parameter(0)\n"
    "  c = f32[40] iota(), iota_dimension=0\n"
    "  k = f32[3] constant({1, 2, 3})\n"
    "  kb = f32[3,100,40] broadcast(k), dimensions={0}\n"
    "  kr = f32[300,40] reshape(kb)\n"
    "  b = f32[300,40] broadcast(c), dimensions={1}\n"
    "  e = f32[300,40] exponential(p)\n"
    "  s = f32[300,40] add(e, b)\n"
    "  ROOT r = f32[300,40] multiply(s, kr)\n"
    "}\n"
    "another {\n"
    "  operand = f32[300,40] parameter(0)\n"
    "  unused.like = f32[300,40] exponential(operand)\n"
    "  numbers = f32[40] iota(), iota_dimension=0\n"
    "  table = f32[3] constant({4, 5, 6})\n"
    "  wide = f32[300,40] broadcast(numbers), dimensions={1}\n"
    "  table.b = f32[3,100,40] broadcast(table), dimensions={0}\n"
    "  table.r = f32[300,40] reshape(table.b)\n"
    "  total = f32[300,40] add(unused.like, wide)\n"
    "  ROOT out = f32[300,40] multiply(total, table.r)\n"
    "}\n"
    "ENTRY e {\n"
    "  p0 = f32[300,40] parameter(0)\n"
    "  p1 = f32[300,40] parameter(1)\n"
    "  zero = f32[] constant(0)\n"
    "  loop.a = f32[300,40] fusion(p0), kind=kLoop, calls=one\n"
    "  loop.b = f32[300,40] fusion(p1), kind=kLoop, calls=another\n"
    "  reduce.a = f32[300] reduce(p0, zero), dimensions={1}, to_apply=add\n"
    "  reduce.b = f32[300] reduce(p1, zero), dimensions={1}, to_apply=plus\n"
    "  column.a = f32[40] reduce(p0, zero), dimensions={0}, to_apply=add\n"
    "  column.b = f32[40] reduce(p1, zero), dimensions={0}, to_apply=plus\n"
    "  dot.a = f32[300,300] dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
    "  dot.b = f32[300,300] dot(p1, p0), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
    "  turn.a = f32[40,300] transpose(p0), dimensions={1,0}\n"
    "  turn.b = f32[40,300] transpose(p1), dimensions={1,0}\n"
    "  ROOT t = (f32[300,40], f32[300,40]) tuple(loop.a, loop.b)\n"
    "}\n";

/* Kernels of equal fusions are one text, which names nothing of the program. */
START_TEST(equal_text) {
  static const char *const names[] = {"loop", "reduce", "column", "dot", "turn"};
  for (int device = 0; device < 2; device++) {
    halo_caps caps = some_device(device == 0);
    halo_module *module = run_parse(twins_text);
    char a_name[20], b_name[20];
    snprintf(a_name, sizeof a_name, "%s.a", names[_i]);
    snprintf(b_name, sizeof b_name, "%s.b", names[_i]);
    char *a = lower(module, &caps, a_name, NULL), *b = lower(module, &caps, b_name, NULL);
    ck_assert_str_eq(a, b);
    has(a, "k0_");
    lacks(a, a_name);
    lacks(a, "/* ");
    halo_free(a);
    halo_free(b);
    halo_module_release(module);
  }
}
END_TEST

/* ---- Restrict ---- */

START_TEST(restricted) {
  halo_caps caps = some_device(true);
  halo_module *module = run_parse(twins_text);
  uint64_t in_place;
  /* The result may lie where the input lies: neither promises to be alone; the constant does. */
  char *text = lower(module, &caps, "loop.a", &in_place);
  ck_assert_uint_eq(in_place, 1);
  has(text, "const float *a0_");
  has(text, "float *q0_");
  has(text, "const float *restrict k");
  halo_free(text);
  text = lower(module, &caps, "reduce.a", &in_place);
  ck_assert_uint_eq(in_place, 0);
  has(text, "const float *restrict a0_");
  has(text, "float *restrict q0_");
  halo_free(text);
  halo_module_release(module);
}
END_TEST

/* ---- Width of indices ---- */

static void check_width(const char *dims, bool wide) {
  char source[300];
  snprintf(source, sizeof source,
           "HloModule m\nENTRY e { p = f32[%s] parameter(0) ROOT r = f32[%s] sine(p) }\n", dims,
           dims);
  halo_caps caps = some_device(false);
  halo_module *module = run_parse(source);
  char *text = lower(module, &caps, "r", NULL);
  has(text,
      wide ? "const long i = (long)get_global_id(0);" : "const int i = (int)get_global_id(0)");
  halo_free(text);
  halo_module_release(module);
}

START_TEST(index_width) {
  check_width("1024,1024", false);
  check_width("1023,1048576", false);
  check_width("1024,1048576", true);
  setenv("HALO_WIDE_INDICES", "1", 1);
  check_width("1024,1024", true);
  unsetenv("HALO_WIDE_INDICES");
}
END_TEST

/* ---- Index arithmetic ---- */

static const char moves_text[] =
    "HloModule moves\n"
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"
    "there_and_back {\n"
    "  p = f32[24,10] parameter(0)\n"
    "  r = f32[4,6,10] reshape(p)\n"
    "  t = f32[10,4,6] transpose(r), dimensions={2,0,1}\n"
    "  s = f32[40,6] reshape(t)\n"
    "  m = f32[40,6] sine(s)\n"
    "  u = f32[10,4,6] reshape(m)\n"
    "  v = f32[4,6,10] transpose(u), dimensions={1,2,0}\n"
    "  ROOT o = f32[240] reshape(v)\n"
    "}\n"
    "padded {\n"
    "  p = f32[100] parameter(0)\n"
    "  z = f32[] constant(0)\n"
    "  q = f32[120] pad(p, z), padding=5_15\n"
    "  ROOT o = f32[100] slice(q), slice={[5:105]}\n"
    "}\n"
    "joined {\n"
    "  p = f32[100] parameter(0)\n"
    "  n = f32[100] negate(p)\n"
    "  c = f32[200] concatenate(p, n), dimensions={0}\n"
    "  ROOT o = f32[50] slice(c), slice={[120:170]}\n"
    "}\n"
    "whole_windows {\n"
    "  p = f32[40,40] parameter(0)\n"
    "  z = f32[] constant(0)\n"
    "  ROOT o = f32[20,20] reduce-window(p, z), window={size=2x2 stride=2x2}, to_apply=add\n"
    "}\n"
    "ENTRY e {\n"
    "  a = f32[24,10] parameter(0)\n"
    "  b = f32[100] parameter(1)\n"
    "  c = f32[40,40] parameter(2)\n"
    "  back = f32[240] fusion(a), kind=kLoop, calls=there_and_back\n"
    "  inside = f32[100] fusion(b), kind=kLoop, calls=padded\n"
    "  second = f32[50] fusion(b), kind=kLoop, calls=joined\n"
    "  windows = f32[20,20] fusion(c), kind=kLoop, calls=whole_windows\n"
    "  ROOT t = (f32[240], f32[100], f32[50], f32[20,20]) tuple(back, inside, second, windows)\n"
    "}\n";

/* Moves that undo each other cost nothing, and tests that ranges decide are not made. */
START_TEST(simple_moves) {
  halo_caps caps = some_device(false);
  halo_module *module = run_parse(moves_text);
  char *text = lower(module, &caps, "back", NULL);
  has(text, "= a0[i];");
  lacks(text, "%");
  lacks(text, " / ");
  halo_free(text);
  text = lower(module, &caps, "inside", NULL);
  has(text, "= a0[i];");
  lacks(text, "else");
  halo_free(text);
  text = lower(module, &caps, "second", NULL);
  has(text, "= a0[i + 20];");
  lacks(text, "else");
  halo_free(text);
  text = lower(module, &caps, "windows", NULL);
  lacks(text, "(uint)i0 <");
  has(text, "    for (int r"); /* one loop in the other, and no test in the inner one */
  lacks(text, "      if (");
  halo_free(text);
  halo_module_release(module);
}
END_TEST

/* What a row alone decides is asked once a row, outside of the loop over its elements. */
START_TEST(bands_of_rows) {
  halo_caps caps = some_device(true);
  halo_module *module = run_parse(
      "HloModule m\n"
      "ENTRY e {\n"
      "  x = f32[2,2000] parameter(0)\n"
      "  y = f32[3,2000] parameter(1)\n"
      "  ROOT both = f32[5,2000] concatenate(x, y), dimensions={0}\n"
      "}\n");
  char *text = lower(module, &caps, "both", NULL);
  has(text, "  if (r < 2) {\n    H_INDEPENDENT(16)\n    for (long c = 0; c < 2000; ++c)");
  has(text, "  else {\n    H_INDEPENDENT(16)\n    for (long c = 0; c < 2000; ++c)");
  lacks(text, "      if (r");
  halo_free(text);
  halo_module_release(module);
}
END_TEST

/* A sum whose parts leave 32 bits although it does not is made in 64. */
START_TEST(wide_sum) {
  halo_arena arena = {0};
  halo_module *module = run_parse(moves_text);
  halo_emitter e;
  halo_emitter_init(&e, &arena, module->entry);
  const halo_integer *a = halo_emit_counter(&e, "a", 1 << 29);
  const halo_integer *b = halo_emit_counter(&e, "b", 1 << 29);
  const halo_integer *sum = halo_integer_sub(&e.integers, halo_integer_mul(&e.integers, a, 3),
                                             halo_integer_mul(&e.integers, b, 3));
  ck_assert_str_eq(halo_emit_integer(&e, sum), "a * 3 - b * 3");
  sum = halo_integer_sub(&e.integers, halo_integer_mul(&e.integers, a, 8),
                         halo_integer_mul(&e.integers, b, 8));
  ck_assert_str_eq(halo_emit_integer(&e, sum), "(int)((long)a * 8 - (long)b * 8)");
  e.wide = true;
  ck_assert_str_eq(halo_emit_integer(&e, sum), "a * 8 - b * 8");
  halo_emitter_deinit(&e);
  halo_arena_deinit(&arena);
  halo_module_release(module);
}
END_TEST

/* ---- Helpers ---- */

/* Another section more would end each program that is compiled. */
START_TEST(room_for_sections) {
  int count = 0;
  while (halo_cl_sections[count].name) count++;
  ck_assert_int_gt(count, 100);
  ck_assert_int_lt(count, HALO_SECTIONS_MOST / 4 * 3);
}
END_TEST

START_TEST(helpers_in_use) {
  halo_sections set = {0};
  halo_strbuf out = {0};
  halo_sections_add_for(&set, "idiv", "s32");
  halo_sections_add_for(&set, "idiv", "u8");
  ck_assert(halo_sections_has(&set, "idiv"));
  ck_assert(!halo_sections_has(&set, "idiv.s8"));
  halo_sections_print(&out, &set);
  has(halo_strbuf_text(&out), "\nH_SDIV(s32, ");
  has(halo_strbuf_text(&out), "\nH_UDIV(u8, ");
  has(halo_strbuf_text(&out), "#define H_SDIV(N, T, U)");
  lacks(halo_strbuf_text(&out), "\nH_SDIV(s8, ");
  lacks(halo_strbuf_text(&out), "\nH_UDIV(u32, ");
  lacks(halo_strbuf_text(&out), "h_max_f32");
  halo_strbuf_deinit(&out);
}
END_TEST

/* Products and quotients of complex numbers come without functions of real numbers, which take long to compile. */
START_TEST(complex_arithmetic_is_alone) {
  halo_sections plain = {0}, all = {0};
  halo_sections_add(&plain, "c64");
  halo_sections_add(&all, "c64_pow");
  halo_strbuf text = {0}, whole = {0};
  halo_sections_print(&text, &plain);
  halo_sections_print(&whole, &all);
  has(halo_strbuf_text(&text), "H_COMPLEX(c64, ");
  has(halo_strbuf_text(&whole), "H_COMPLEX(c64, ");
  lacks(halo_strbuf_text(&text), " h_exp_f32(");
  has(halo_strbuf_text(&whole), " h_exp_f32(");
  halo_strbuf_deinit(&text);
  halo_strbuf_deinit(&whole);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("codegen");
  TCase *cases = tcase_create("text");
  tcase_add_loop_test(cases, equal_text, 0, 5);
  tcase_add_test(cases, room_for_sections);
  tcase_add_test(cases, restricted);
  tcase_add_test(cases, complex_arithmetic_is_alone);
  tcase_add_test(cases, index_width);
  tcase_add_test(cases, simple_moves);
  tcase_add_test(cases, bands_of_rows);
  tcase_add_test(cases, wide_sum);
  tcase_add_test(cases, helpers_in_use);
  suite_add_tcase(suite, cases);
  return suite_run(suite);
}
