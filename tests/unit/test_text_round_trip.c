/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_text_round_trip.c: printing, and reading back what was printed. */
#include "suite.h"
#include "text_test.h"

#include <dirent.h>

/* ---- Equal modules ---- */

/* Values that mean the same as no attribute, which printing may therefore leave out. */
static bool equal_is_default(const halo_attr *attr) {
  halo_attr_kind kind = halo_attr_kind_of(attr->id);
  if (kind == HALO_KIND_BOOL || kind == HALO_KIND_ENUM) {
    return attr->i == 0 || attr->id == HALO_ATTR_COMPARE_TYPE ||
           (attr->id == HALO_ATTR_LARGEST && attr->i == 1);
  }
  if (kind == HALO_KIND_INT) return attr->i == 1 || attr->i == -1;
  if (kind == HALO_KIND_GROUPS) return attr->groups->count == 0;
  if (kind != HALO_KIND_INTS && kind != HALO_KIND_PRECISIONS) return false;
  for (int32_t i = 0; i < attr->ints.count; i++) {
    if (attr->ints.data[i] != 0) return false;
  }
  return true;
}

static void equal_aliases(const halo_alias *a, const halo_alias *b, int32_t count);

static void equal_attr(const halo_instr *instr, const halo_attr *a, const halo_attr *b) {
  const char *name = instr->name;
  switch (halo_attr_kind_of(a->id)) {
    case HALO_KIND_INT:
    case HALO_KIND_BOOL:
    case HALO_KIND_ENUM: ck_assert_msg(a->i == b->i, "%s", name); break;
    case HALO_KIND_FLOAT: ck_assert_msg(a->f == b->f, "%s", name); break;
    case HALO_KIND_STRING:
    case HALO_KIND_RAW: ck_assert_str_eq(a->text, b->text); break;
    case HALO_KIND_INTS:
    case HALO_KIND_PRECISIONS:
    case HALO_KIND_SLICES:
    case HALO_KIND_PADDING:
    case HALO_KIND_PAIRS:
    case HALO_KIND_BOOLS:
      ck_assert_int_eq(a->ints.count, b->ints.count);
      for (int32_t i = 0; i < a->ints.count; i++) {
        ck_assert_msg(a->ints.data[i] == b->ints.data[i], "%s", name);
      }
      break;
    case HALO_KIND_WINDOW:
      ck_assert_int_eq(a->window.count, b->window.count);
      for (int32_t i = 0; i < a->window.count; i++) {
        const halo_window_dim *x = &a->window.data[i], *y = &b->window.data[i];
        ck_assert_msg(x->size == y->size && x->stride == y->stride && x->pad_low == y->pad_low &&
                          x->pad_high == y->pad_high && x->base_dilation == y->base_dilation &&
                          x->window_dilation == y->window_dilation && x->reversal == y->reversal,
                      "%s", name);
      }
      break;
    case HALO_KIND_DIM_LABELS: ck_assert_str_eq(a->conv->text, b->conv->text); break;
    case HALO_KIND_GROUPS: {
      ck_assert_int_eq(a->groups->count, b->groups->count);
      int32_t ids = a->groups->count ? a->groups->starts[a->groups->count] : 0;
      for (int32_t i = 0; i < ids; i++) ck_assert_int_eq(a->groups->ids[i], b->groups->ids[i]);
      break;
    }
    case HALO_KIND_COMPS:
      ck_assert_int_eq(a->comps.count, b->comps.count);
      for (int32_t i = 0; i < a->comps.count; i++) {
        ck_assert_str_eq(a->comps.data[i]->name, b->comps.data[i]->name);
      }
      break;
    case HALO_KIND_SHAPE: ck_assert(halo_shape_equal(a->shape, b->shape)); break;
    case HALO_KIND_SHAPES:
      ck_assert_int_eq(a->shapes.count, b->shapes.count);
      for (int32_t i = 0; i < a->shapes.count; i++) {
        ck_assert(halo_shape_equal(a->shapes.data[i], b->shapes.data[i]));
      }
      break;
    case HALO_KIND_STRINGS:
      ck_assert_int_eq(a->strings.count, b->strings.count);
      for (int32_t i = 0; i < a->strings.count; i++) {
        ck_assert_str_eq(a->strings.data[i], b->strings.data[i]);
      }
      break;
    case HALO_KIND_METADATA:
    case HALO_KIND_SHARDING:
    case HALO_KIND_DOMAIN:
    case HALO_KIND_ACCURACY:
    case HALO_KIND_CONFIGS: break; /* test_text_annotation.c */
    case HALO_KIND_ALIASES:
      ck_assert_int_eq(a->aliases.count, b->aliases.count);
      equal_aliases(a->aliases.data, b->aliases.data, a->aliases.count);
      break;
    case HALO_KIND_LITERAL: ck_assert(halo_literal_same_bits(a->literal, b->literal)); break;
  }
}

static const halo_attr *equal_find(const halo_instr *instr, const halo_attr *like) {
  for (int32_t i = 0; i < instr->attr_count; i++) {
    const halo_attr *attr = &instr->attrs[i];
    if (attr->id == like->id && (!like->name || strcmp(attr->name, like->name) == 0)) return attr;
  }
  return NULL;
}

static void equal_attrs(const halo_instr *a, const halo_instr *b, bool metadata) {
  for (int32_t i = 0; i < a->attr_count; i++) {
    const halo_attr *attr = &a->attrs[i], *other = equal_find(b, attr);
    if (!metadata && attr->id == HALO_ATTR_METADATA) continue;
    if (other) {
      equal_attr(a, attr, other);
    } else {
      ck_assert_msg(equal_is_default(attr), "%s lost %s", a->name,
                    attr->name ? attr->name : halo_attr_name(attr->id));
    }
  }
}

static void equal_instr(const halo_instr *a, const halo_instr *b, bool metadata) {
  ck_assert_str_eq(a->name, b->name);
  ck_assert_msg(a->opcode == b->opcode, "%s", a->name);
  ck_assert_msg(halo_shape_equal(a->shape, b->shape), "%s", a->name);
  ck_assert_int_eq(a->operand_count, b->operand_count);
  for (int32_t i = 0; i < a->operand_count; i++) {
    ck_assert_str_eq(a->operands[i]->name, b->operands[i]->name);
  }
  ck_assert_int_eq(a->control_pred_count, b->control_pred_count);
  for (int32_t i = 0; i < a->control_pred_count; i++) {
    ck_assert_str_eq(a->control_preds[i]->name, b->control_preds[i]->name);
  }
  ck_assert_int_eq(a->parameter_number, b->parameter_number);
  ck_assert(!a->literal == !b->literal);
  if (a->literal) {
    ck_assert_msg(halo_literal_same_bits(a->literal, b->literal), "%s", a->name);
    ck_assert(a->literal->elided == b->literal->elided);
  }
  equal_attrs(a, b, metadata);
  equal_attrs(b, a, metadata);
}

static void equal_aliases(const halo_alias *a, const halo_alias *b, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    ck_assert_int_eq(a[i].parameter, b[i].parameter);
    ck_assert(a[i].must == b[i].must);
    ck_assert_int_eq(a[i].out_index_count, b[i].out_index_count);
    ck_assert_int_eq(a[i].param_index_count, b[i].param_index_count);
    for (int32_t j = 0; j < a[i].out_index_count; j++) {
      ck_assert_int_eq(a[i].out_index[j], b[i].out_index[j]);
    }
    for (int32_t j = 0; j < a[i].param_index_count; j++) {
      ck_assert_int_eq(a[i].param_index[j], b[i].param_index[j]);
    }
  }
}

static void equal_modules(const halo_module *a, const halo_module *b, bool metadata) {
  ck_assert_str_eq(a->name, b->name);
  ck_assert(a->is_scheduled == b->is_scheduled);
  ck_assert_int_eq(a->replica_count, b->replica_count);
  ck_assert_int_eq(a->num_partitions, b->num_partitions);
  ck_assert_int_eq(a->computations.count, b->computations.count);
  ck_assert_str_eq(a->entry->name, b->entry->name);
  for (int32_t i = 0; i < a->computations.count; i++) {
    const halo_computation *x = a->computations.data[i], *y = b->computations.data[i];
    ck_assert_str_eq(x->name, y->name);
    ck_assert_str_eq(x->root->name, y->root->name);
    ck_assert_str_eq(x->execution_thread ? x->execution_thread : "",
                     y->execution_thread ? y->execution_thread : "");
    ck_assert_int_eq(x->instrs.count, y->instrs.count);
    for (int32_t j = 0; j < x->instrs.count; j++) {
      equal_instr(x->instrs.data[j], y->instrs.data[j], metadata);
    }
  }
  for (int32_t i = 0; i < a->entry->params.count; i++) {
    ck_assert(halo_shape_equal(a->entry_params[i], b->entry_params[i]));
  }
  ck_assert(halo_shape_equal(a->entry_result, b->entry_result));
  ck_assert_int_eq(a->aliases.count, b->aliases.count);
  ck_assert_int_eq(a->donors.count, b->donors.count);
  equal_aliases(a->aliases.data, b->aliases.data, a->aliases.count);
  equal_aliases(a->donors.data, b->donors.data, a->donors.count);
  if (metadata) ck_assert_int_eq(a->header.count, b->header.count);
}

/* ---- Round trips ---- */

static void round_trip(const halo_module *module) {
  static const unsigned flags[] = {0, HALO_PRINT_SHORT, HALO_PRINT_OPERAND_SHAPES,
                                   HALO_PRINT_SHORT | HALO_PRINT_OPERAND_SHAPES};
  for (int i = 0; i < 4; i++) {
    char *text, *again;
    ck_assert_int_eq(halo_module_to_text(module, flags[i], &text), HALO_OK);
    halo_module *copy = text_read(text);
    equal_modules(module, copy, !(flags[i] & HALO_PRINT_SHORT));
    ck_assert_int_eq(halo_module_to_text(copy, flags[i], &again), HALO_OK);
    ck_assert_str_eq(text, again);
    halo_text_release(text);
    halo_text_release(again);
    halo_module_release(copy);
  }
}

static const char *const folders[] = {HALO_TEST_DATA "/hlo", HALO_TEST_DATA "/../fuzz/corpus/text"};

/* Modules that XLA printed, and our own odd ones. */
START_TEST(files_come_back) {
  DIR *folder = opendir(folders[_i]);
  ck_assert_ptr_nonnull(folder);
  int files = 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    char path[4096];
    size_t length = strlen(entry->d_name);
    if (length < 4 || strcmp(entry->d_name + length - 4, ".hlo") != 0) continue;
    snprintf(path, sizeof path, "%s/%s", folders[_i], entry->d_name);
    halo_module *module;
    ck_assert_msg(halo_module_parse_file(path, &module) == HALO_OK, "%s", halo_error_message());
    for (int32_t c = 0; c < module->computations.count; c++) {
      const halo_computation *computation = module->computations.data[c];
      for (int32_t i = 0; i < computation->instrs.count && _i == 0; i++) {
        const halo_attr *unknown = halo_instr_attr(computation->instrs.data[i], HALO_ATTR_UNKNOWN);
        ck_assert_msg(!unknown, "%s: %s is not known", path, unknown ? unknown->name : "");
      }
    }
    round_trip(module);
    halo_module_release(module);
    files++;
  }
  closedir(folder);
  ck_assert_int_ge(files, 5);
}
END_TEST

/* ---- Printing ---- */

static char *print(const char *text, unsigned flags) {
  halo_module *module = text_read(text);
  char *printed;
  ck_assert_int_eq(halo_module_to_text(module, flags, &printed), HALO_OK);
  halo_module_release(module);
  return printed;
}

static const char sample[] =
    "HloModule m, entry_computation_layout={(f32[2,3]{0,1}, f32[])->(f32[2]{0}, f32[12]{0})}\n"
    "sum { f32 = f32[] parameter(0) b = f32[] parameter(1) ROOT c = add(%f32, b) }\n"
    "ENTRY e { x = f32[2,3]{0,1} parameter(0), metadata={op_name=\"x\"} i = f32[] parameter(1)\n"
    "k = f32[12] constant({1,2,3,4,5,6,7,8,9,10,11,12})\n"
    "o = reduce(x, i), to_apply=sum, dimensions={1} ROOT t = tuple(o, k) }";

START_TEST(default_form) {
  char *text = print(sample, 0);
  ck_assert_str_eq(
      text,
      "HloModule m, entry_computation_layout={(f32[2,3]{0,1}, f32[])->(f32[2]{0}, f32[12]{0})}\n"
      "\n"
      "%sum (%f32: f32[], b: f32[]) -> f32[] {\n"
      "  %f32 = f32[] parameter(0)\n"
      "  %b = f32[] parameter(1)\n"
      "  ROOT %c = f32[] add(%f32, %b)\n"
      "}\n"
      "\n"
      "ENTRY %e (x: f32[2,3], i: f32[]) -> (f32[2], f32[12]) {\n"
      "  %x = f32[2,3]{0,1} parameter(0), metadata={op_name=\"x\"}\n"
      "  %i = f32[] parameter(1)\n"
      "  %k = f32[12]{0} constant({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})\n"
      "  %o = f32[2]{0} reduce(%x, %i), dimensions={1}, to_apply=%sum\n"
      "  ROOT %t = (f32[2]{0}, f32[12]{0}) tuple(%o, %k)\n"
      "}\n");
  halo_text_release(text);
}
END_TEST

START_TEST(short_form) {
  char *text = print(sample, HALO_PRINT_SHORT | HALO_PRINT_ELIDE_LARGE);
  ck_assert_str_eq(
      text,
      "HloModule m, entry_computation_layout={(f32[2,3]{0,1}, f32[])->(f32[2]{0}, f32[12]{0})}\n"
      "\n"
      "sum {\n"
      "  %f32 = f32[] parameter(0)\n"
      "  b = f32[] parameter(1)\n"
      "  ROOT c = f32[] add(%f32, b)\n"
      "}\n"
      "\n"
      "ENTRY e {\n"
      "  x = f32[2,3]{0,1} parameter(0)\n"
      "  i = f32[] parameter(1)\n"
      "  k = f32[12]{0} constant({...})\n"
      "  o = f32[2]{0} reduce(x, i), dimensions={1}, to_apply=sum\n"
      "  ROOT t = (f32[2]{0}, f32[12]{0}) tuple(o, k)\n"
      "}\n");
  halo_text_release(text);
}
END_TEST

START_TEST(operand_shapes_and_comments) {
  char *text = print("a = tuple(f32[2]{0} p, p, p, p, p, p)", HALO_PRINT_OPERAND_SHAPES);
  ck_assert_ptr_nonnull(
      strstr(text,
             "tuple(f32[2]{0} %p, f32[2]{0} %p, f32[2]{0} %p, f32[2]{0} %p, f32[2]{0} %p, "
             "/*index=5*/f32[2]{0} %p)\n"));
  halo_text_release(text);
}
END_TEST

/* Attributes come in XLA's order whatever the text's, and defaults go. */
START_TEST(attribute_order) {
  char *text = print(
      "HloModule m\n"
      "ENTRY e {\n"
      "  a = f32[2,3] parameter(0)\n"
      "  ROOT d = f32[2,2] dot(a, a), backend_config=\"x\", metadata={op_name=\"m\"}, "
      "operand_precision={default,default}, algorithm=dot_f32_f32_f32, rhs_contracting_dims={1}, "
      "frontend_attributes={k=\"v\"}, lhs_contracting_dims={1}, lhs_batch_dims={}, "
      "sharding={replicated}\n"
      "}\n",
      0);
  ck_assert_ptr_nonnull(
      strstr(text,
             "dot(%a, %a), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
             "algorithm=dot_f32_f32_f32, sharding={replicated}, frontend_attributes={k=\"v\"}, "
             "metadata={op_name=\"m\"}, backend_config=\"x\"\n"));
  halo_text_release(text);
}
END_TEST

/* Computations that a pass put behind their caller are printed before it. */
START_TEST(callees_come_first) {
  halo_module *module = text_read(
      "HloModule m\nf { p = f32[] parameter(0) }\n"
      "ENTRY e { p = f32[] parameter(0) q = call(p), to_apply=f }");
  halo_computation *swap = module->computations.data[0];
  module->computations.data[0] = module->computations.data[1];
  module->computations.data[1] = swap;
  char *text;
  ck_assert_int_eq(halo_module_to_text(module, 0, &text), HALO_OK);
  halo_module *again = text_read(text);
  ck_assert_str_eq(again->computations.data[0]->name, "f");
  halo_text_release(text);
  halo_module_release(again);
  halo_module_release(module);
}
END_TEST

START_TEST(strings_are_escaped) {
  char *text = print(
      "ENTRY e { ROOT c = f32[] custom-call(), "
      "custom_call_target='a\"\\'\\\\\\n\\001\303\251' }",
      0);
  ck_assert_ptr_nonnull(strstr(text, "custom_call_target=\"a\\\"\\'\\\\\\n\\001\\303\\251\"\n"));
  halo_module *again = text_read(text);
  ck_assert_str_eq(halo_instr_attr(again->entry->root, HALO_ATTR_CUSTOM_CALL_TARGET)->text,
                   "a\"'\\\n\001\303\251");
  halo_module_release(again);
  halo_text_release(text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("text_round_trip");
  TCase *trips = tcase_create("files");
  tcase_set_timeout(trips, 120);
  tcase_add_loop_test(trips, files_come_back, 0, 2);
  suite_add_tcase(suite, trips);
  TCase *printing = tcase_create("printing");
  tcase_add_test(printing, default_form);
  tcase_add_test(printing, short_form);
  tcase_add_test(printing, operand_shapes_and_comments);
  tcase_add_test(printing, attribute_order);
  tcase_add_test(printing, callees_come_first);
  tcase_add_test(printing, strings_are_escaped);
  suite_add_tcase(suite, printing);
  return suite_run(suite);
}
