/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_text_annotation.c: metadata, shardings, accuracies and the like: read into what they
 * say, printed as XLA prints them, refused where they are wrong, set by the builder. */
#include "suite.h"
#include "text_test.h"

#include "halo/builder.h"

/* An instruction r with an attribute. */
static char *with_attr(const char *op, const char *name, const char *value) {
  halo_strbuf text = {0};
  halo_strbuf_printf(&text,
                     "HloModule m\nENTRY e {\n  p = f32[8,4] parameter(0)\n"
                     "  ROOT r = f32[8,4] %s(p), %s=%s\n}\n",
                     op, name, value);
  return halo_strbuf_take(&text);
}

/* What stands behind "name=" in the line of r; "" when nothing does. */
static char *printed(const halo_module *module, unsigned flags, const char *name) {
  halo_strbuf line = {0};
  halo_instr_print(&line, module->entry->root, flags);
  halo_strbuf sign = {0}, value = {0};
  halo_strbuf_printf(&sign, ", %s=", name);
  const char *at = strstr(halo_strbuf_text(&line), halo_strbuf_text(&sign));
  halo_strbuf_append(&value, at ? at + sign.length : "");
  halo_strbuf_deinit(&sign);
  halo_strbuf_deinit(&line);
  return halo_strbuf_take(&value);
}

/* NULL: as it was written. All but the forms that this XLA no longer has were printed by jaxlib 0.10.2. */
static const struct {
  const char *op, *name, *value, *expected;
} rows[] = {
    {"negate", "sharding", "{replicated}", NULL},
    {"negate", "sharding", "{maximal device=3}", NULL},
    {"negate", "sharding", "{ maximal , device = 3 }", "{maximal device=3}"},
    {"negate", "sharding", "{manual}", NULL},
    {"negate", "sharding", "{unknown}", NULL},
    {"negate", "sharding", "{unreduced}", NULL},
    {"negate", "sharding", "{devices=[2,2]0,1,2,3}", NULL},
    {"negate", "sharding", "{devices=[2,2]<=[4]}", NULL},
    {"negate", "sharding", "{devices=[2,2]<=[2,2]T(1,0)}", NULL},
    {"negate", "sharding", "{devices=[2,1,2]<=[4] last_tile_dim_replicate}", NULL},
    {"negate", "sharding", "{devices=[2,1,2]3,2,1,0 last_tile_dim_replicate}", NULL},
    {"negate", "sharding", "{devices=[2,1,2]<=[4] last_tile_dims={manual}}", NULL},
    {"negate", "sharding", "{devices=[2,1,2,2]<=[8] last_tile_dims={manual,replicated}}",
     "{devices=[2,1,2,2]<=[8] last_tile_dims={manual, replicated}}"},
    {"negate", "sharding", "{replicated shard_as 1}", NULL},
    {"negate", "sharding", "{devices=[2,1]<=[2] shard_like 7}", NULL},
    {"negate", "sharding", "{metadata={op_name=\"a\"} replicated}",
     "{replicated metadata={op_name=\"a\"}}"},
    {"negate", "sharding",
     "{devices=[2,1]0,1 metadata={{op_name=\"a\" op_type=\"t\"},{source_file=\"f\" "
     "source_line=3}}}",
     "{devices=[2,1]0,1 metadata={{op_type=\"t\" op_name=\"a\"}, {source_file=\"f\" "
     "source_line=3}}}"},
    {"negate", "sharding", "{mesh['x'=2,'y'=2], [{'x'}, {?}], replicated={'y'}}", NULL},
    {"negate", "sharding", "{}", NULL},
    {"negate", "sharding",
     "{{replicated},{manual},{replicated},{replicated},{maximal device=0},{devices=[2,1]<=[2]}}",
     "{{replicated}, {manual}, {replicated}, {replicated}, {maximal device=0}, "
     "/*index=5*/{devices=[2,1]<=[2]}}"},
    {"negate", "sharding", "{{mesh['x'=2], [{'x'}]}, {replicated}}", NULL},
    {"negate", "metadata",
     "{stack_frame_id=3, scheduling_name=\"s\" deduplicated_name=\"d\" profile_type={1,2} "
     "source_end_column=6 source_column=5 source_end_line=4 source_line=3 source_file=\"c\" "
     "op_name=\"b\" op_type=\"a\"}",
     "{op_type=\"a\" op_name=\"b\" source_file=\"c\" source_line=3 source_end_line=4 "
     "source_column=5 source_end_column=6 profile_type={1,2} deduplicated_name=\"d\" "
     "scheduling_name=\"s\" stack_frame_id=3}"},
    {"negate", "metadata", "{op_name=\"b\" metadata_payload=\"x\"}", NULL},
    {"negate", "metadata", "{op_name=\"it\\'s\\n\"}", NULL},
    {"negate", "metadata", "{op_name=\"x\" preserve_layout=true}", NULL}, /* old dumps */
    {"negate", "metadata", "{later={1,{2}} op_name=\"x\"}", "{op_name=\"x\" later={1,{2}}}"},
    {"negate", "metadata", "{scheduling_name=\"s\"}", NULL},
    {"negate", "metadata", "{source_line=2}", ""}, /* says of no file */
    {"negate", "metadata", "{deduplicated_name=\"d\"}", ""},
    {"negate", "metadata", "{}", ""},
    {"exponential", "result_accuracy", "{mode=highest}", NULL},
    {"exponential", "result_accuracy", "{mode=HIGHEST}", "{mode=highest}"},
    {"exponential", "result_accuracy", "{mode=default}", ""},
    {"exponential", "result_accuracy", "{tolerance={atol=0,rtol=1e-6,ulps=2}}",
     "{tolerance={atol=0,rtol=1e-06,ulps=2}}"},
    {"exponential", "result_accuracy", "{tolerance={ulps=2, atol=1}}",
     "{tolerance={atol=1,rtol=0,ulps=2}}"},
    {"exponential", "result_accuracy", "{tolerance={}}", "{tolerance={atol=0,rtol=0,ulps=0}}"},
    {"domain", "domain", "{kind=\"sharding\", entry={maximal device=0}, exit={replicated}}", NULL},
    {"negate", "frontend_attributes", "{b=\"x\",a={\"q\":1}}", "{a={\"q\":1},b=\"x\"}"},
    {"negate", "frontend_attributes", "{b=\"{\\\"z\\\":1}\",a=\"{\"}", "{a=\"{\",b={\"z\":1}}"},
    {"negate", "frontend_attributes", "{a=\"1\",b=\"3\",a=\"2\"}", "{a=\"2\",b=\"3\"}"},
    {"negate", "frontend_attributes", "{}", ""},
    {"negate", "parameter_replication", "{true,false}", NULL},
};

START_TEST(prints_as_xla_does) {
  char *text = with_attr(rows[_i].op, rows[_i].name, rows[_i].value);
  const char *expected = rows[_i].expected ? rows[_i].expected : rows[_i].value;
  halo_module *module = text_read(text), *copy = halo_module_clone(module);
  halo_module_release(module); /* the copy holds nothing of it */
  char *once = printed(copy, 0, rows[_i].name);
  ck_assert_str_eq(once, expected);
  halo_free(text);
  if (*once) {
    text = with_attr(rows[_i].op, rows[_i].name, once);
    halo_module *again = text_read(text);
    char *twice = printed(again, 0, rows[_i].name);
    ck_assert_str_eq(twice, once);
    halo_free(twice);
    halo_free(text);
    halo_module_release(again);
  }
  halo_free(once);
  halo_module_release(copy);
}
END_TEST

/* The value of negate's sharding begins in column 41. */
static const struct {
  const char *op, *name, *value, *place, *part;
} wrong[] = {
    {"negate", "sharding", "{foo}", "t:4:42: ", "expected a sharding: replicated"},
    {"negate", "sharding", "{replicated manual}", "t:4:53: ", "stands twice"},
    {"negate", "sharding", "{replicated device=1}", "t:4:41: ", "a maximal sharding, and no other"},
    {"negate", "sharding", "{maximal}", "t:4:41: ", "a maximal sharding, and no other"},
    {"negate", "sharding", "{maximal device=-1}", "t:4:41: ", "number is negative"},
    {"negate", "sharding", "{shard_as 1}", "t:4:41: ", "does not say its kind"},
    {"negate", "sharding", "{manual last_tile_dim_replicate}", "t:4:41: ", "only a sharding with"},
    {"negate", "sharding", "{devices=[2,2]0,1,2}", "t:4:41: ", "there are 3 and 4"},
    {"negate", "sharding", "{devices=[2,2]<=[8]}", "t:4:41: ", "there are 8 and 4"},
    {"negate", "sharding", "{devices=[2,2]<=[2,2]}", "t:4:41: ", "must be a permutation"},
    {"negate", "sharding", "{devices=[2,2]<=[2,2]T(1,1)}", "t:4:41: ", "must be a permutation"},
    {"negate", "sharding", "{devices=[2,2]<=[2,2]T(0,0)}", "t:4:41: ", "must be a permutation"},
    {"negate", "sharding", "{devices=[0]<=[0]}", "t:4:41: ", "each at least 1"},
    {"negate", "sharding", "{devices=[9223372036854775807,9]<=[1]}", "t:4:41: ", "at least 1"},
    {"negate", "sharding", "{devices=[2]x}", "t:4:53: ", "a device's number"},
    {"negate", "sharding", "{devices=[1]<=[1] last_tile_dims={tiled}}", "t:4:75: ", "one of repl"},
    {"negate", "sharding", "{devices=[1]<=[1] last_tile_dims={unknown}}",
     "t:4:41: ", "replicated, manual or unreduced"},
    {"negate", "sharding", "{devices=[1]<=[1] last_tile_dims={manual,manual}}",
     "t:4:41: ", "more kinds"},
    {"negate", "sharding", "{{replicated}, {{manual}}}", "t:4:57: ", "expected a sharding"},
    {"negate", "sharding", "{{replicated} {manual}}", "t:4:55: ", "after a sharding"},
    {"negate", "sharding", "replicated", "t:4:41: ", "'{' to open the sharding"},
    {"negate", "metadata", "{op_name=3}", "t:4:50: ", "a string in quotes"},
    {"negate", "metadata", "{op_name=\"a\" op_name=\"b\"}", "t:4:54: ", "op_name stands twice"},
    {"negate", "metadata", "{source_line=x}", "t:4:54: ", "an integer"},
    {"negate", "metadata", "{profile_type={WINDOW}}", "t:4:56: ", "an integer"},
    {"negate", "metadata", "{later=1 later=2}", "t:4:50: ", "later stands twice"},
    {"negate", "metadata", "{1}", "t:4:42: ", "one of op_type, op_name"},
    {"exponential", "result_accuracy", "{mode=high}", "t:4:59: ", "one of default, highest"},
    {"exponential", "result_accuracy", "{}", "t:4:54: ", "mode= or tolerance="},
    {"exponential", "result_accuracy", "{tolerance={rtol=x}}", "t:4:70: ", "number"},
    {"exponential", "result_accuracy", "{tolerance={eps=1}}",
     "t:4:65: ", "one of atol, rtol, ulps"},
    {"domain", "domain", "{kind=\"other\", entry={manual}, exit={manual}}",
     "t:4:45: ", "expected \"sharding\""},
    {"domain", "domain", "{kind=\"sharding\", exit={manual}}", "t:4:57: ", "in this order"},
    {"negate", "parameter_replication", "{1}", "t:4:55: ", "true or false"},
};

START_TEST(refused_with_place) {
  char *text = with_attr(wrong[_i].op, wrong[_i].name, wrong[_i].value);
  text_refuse(text, wrong[_i].place, wrong[_i].part);
  halo_free(text);
}
END_TEST

static const halo_attr *attr_of(const halo_module *module, halo_attr_id id) {
  const halo_attr *attr = halo_instr_attr(module->entry->root, id);
  ck_assert_ptr_nonnull(attr);
  return attr;
}

START_TEST(values_are_typed) {
  char *text = with_attr("negate", "metadata",
                         "{op_name=\"a/b\" source_file=\"f.py\" source_line=7 stack_frame_id=2}, "
                         "sharding={{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dims={manual}}, "
                         "{maximal device=5 shard_as 9}}");
  halo_module *module = text_read(text);
  const halo_metadata *m = attr_of(module, HALO_ATTR_METADATA)->metadata;
  ck_assert_str_eq(m->op_name, "a/b");
  ck_assert_str_eq(m->source_file, "f.py");
  ck_assert_ptr_null(m->op_type);
  ck_assert_int_eq(m->source_line, 7);
  ck_assert_int_eq(m->stack_frame_id, 2);
  const halo_sharding *s = attr_of(module, HALO_ATTR_SHARDING)->sharding;
  ck_assert_int_eq(s->kind, HALO_SHARDING_TUPLE);
  ck_assert_int_eq(s->element_count, 2);
  const halo_sharding *tiled = &s->elements[0], *maximal = &s->elements[1];
  ck_assert_int_eq(tiled->kind, HALO_SHARDING_TILED);
  ck_assert_int_eq(tiled->tiles.count, 3);
  ck_assert_int_eq(tiled->tiles.data[2], 2);
  ck_assert_int_eq(tiled->reshape.count, 2);
  ck_assert_int_eq(tiled->transpose.data[0], 1);
  ck_assert_int_eq(tiled->last_kinds.data[0], HALO_SHARDING_MANUAL);
  ck_assert_int_eq(maximal->kind, HALO_SHARDING_MAXIMAL);
  ck_assert_int_eq(maximal->device, 5);
  ck_assert_int_eq(maximal->group, HALO_SHARD_AS);
  ck_assert_int_eq(maximal->group_id, 9);
  halo_module_release(module);
  halo_free(text);
  text = with_attr("exponential", "result_accuracy", "{tolerance={rtol=0.5,ulps=3}}");
  module = text_read(text);
  const halo_accuracy *accuracy = attr_of(module, HALO_ATTR_RESULT_ACCURACY)->accuracy;
  ck_assert_int_eq(accuracy->mode, HALO_ACCURACY_TOLERANCE);
  ck_assert(accuracy->rtol == 0.5 && accuracy->atol == 0 && accuracy->ulps == 3);
  halo_module_release(module);
  halo_free(text);
}
END_TEST

/* Short text has no metadata, that of shardings included. */
START_TEST(short_text_has_no_metadata) {
  char *text = with_attr("negate", "metadata",
                         "{op_name=\"a\"}, sharding={replicated metadata={op_name=\"b\"}}");
  halo_module *module = text_read(text);
  char *sharding = printed(module, HALO_PRINT_SHORT, "sharding");
  ck_assert_str_eq(sharding, "{replicated}");
  halo_free(sharding);
  halo_free(text);
  halo_module_release(module);
}
END_TEST

START_TEST(configurations_are_typed) {
  halo_module *module = text_read(
      "HloModule m, frontend_attributes={z=\"1\",a={\"b\":2}}, num_partitions=2\n"
      "ENTRY e {\n"
      "  x = f32[1,8,8,4] parameter(0)\n"
      "  k = f32[3,3,4,2] parameter(1)\n"
      "  i = s32[4] parameter(2)\n"
      "  ROOT r = f32[1,6,6,2] convolution(x, k, i, i), window={size=3x3}, "
      "dim_labels=b01f_01io->b01f, "
      "sparsity_config={rhs={idx=2 sparsity=2x4, dimension=0 stride=1}}, "
      "block_scaling_config={lhs={scale_idx=2 zero_idx=3 strides=1x32 steps=1x1} "
      "rhs={scale_idx=3}}\n"
      "}\n");
  const halo_operand_configs *sparsity = attr_of(module, HALO_ATTR_SPARSITY_CONFIG)->configs;
  ck_assert(!sparsity->lhs.present && sparsity->rhs.present);
  ck_assert_int_eq(sparsity->rhs.sparsity.data[1], 4);
  ck_assert_int_eq(sparsity->rhs.dimension, 0);
  ck_assert_int_eq(sparsity->rhs.index, 2);
  ck_assert_int_eq(sparsity->rhs.scale_index, -1);
  const halo_operand_configs *scaling = attr_of(module, HALO_ATTR_BLOCK_SCALING_CONFIG)->configs;
  ck_assert_int_eq(scaling->lhs.strides.data[1], 32);
  ck_assert_int_eq(scaling->rhs.zero_index, -1);
  ck_assert_int_eq(module->frontend_count, 4);
  ck_assert_str_eq(module->frontend[0], "a");
  halo_module *copy = halo_module_clone(module);
  halo_module_release(module);
  char *text;
  ck_assert_int_eq(halo_module_to_text(copy, 0, &text), HALO_OK);
  ck_assert_ptr_nonnull(strstr(text,
                               ", num_partitions=2, frontend_attributes={a={\"b\":2},"
                               "z=\"1\"}\n"));
  ck_assert_ptr_nonnull(
      strstr(text,
             "sparsity_config={rhs={sparsity=2x4 dimension=0 stride=1 idx=2}}, "
             "block_scaling_config={lhs={scale_idx=2 zero_idx=3 strides=1x32 steps=1x1} "
             "rhs={scale_idx=3}}\n"));
  halo_text_release(text);
  halo_module_release(copy);
}
END_TEST

START_TEST(every_enumeration_has_names) {
  for (int id = 0; id < HALO_ATTR_COUNT; id++) {
    bool names = halo_attr_enum_names((halo_attr_id)id)[0] != NULL;
    ck_assert_msg(names == (halo_attr_kind_of((halo_attr_id)id) == HALO_KIND_ENUM), "%s",
                  halo_attr_name((halo_attr_id)id));
  }
}
END_TEST

/* ---- Set by the builder ---- */

static halo_op build_parameter(halo_builder *b) {
  halo_shape *shape;
  ck_assert_int_eq(halo_shape_create_array(HALO_F32, 2, (int64_t[]){8, 4}, &shape), HALO_OK);
  halo_op op = halo_parameter(b, 0, shape, "p");
  halo_shape_release(shape);
  return op;
}

START_TEST(builder_sets_annotations) {
  halo_builder *b = halo_builder_create("m");
  halo_op p = build_parameter(b);
  char name[] = "layer/neg";
  halo_metadata metadata = {.op_name = name, .source_line = 3};
  int64_t tiles[] = {2, 1}, devices[] = {2};
  halo_sharding sharding = {
      .kind = HALO_SHARDING_TILED, .tiles = {tiles, 2}, .reshape = {devices, 1}};
  halo_builder_set_metadata(b, &metadata);
  halo_builder_set_sharding(b, &sharding);
  halo_builder_set_frontend_attribute(b, "z", "1");
  halo_builder_set_frontend_attribute(b, "a", "{\"b\":2}");
  halo_builder_set_frontend_attribute(b, "k", "gone");
  halo_builder_set_frontend_attribute(b, "k", NULL);
  memset(name, 'x', sizeof name - 1); /* all was copied */
  tiles[0] = devices[0] = 7;
  halo_op n = halo_neg(p);
  halo_builder_set_metadata(b, NULL);
  halo_builder_set_sharding(b, NULL);
  halo_builder_set_frontend_attribute(b, NULL, NULL);
  halo_op r = halo_abs(n);
  halo_op_set_sharding(r, &(halo_sharding){.kind = HALO_SHARDING_MAXIMAL, .device = 1});
  halo_op_set_frontend_attribute(r, "only", "here");
  halo_op_set_metadata(r, &(halo_metadata){.op_type = "Abs"});
  halo_module *module;
  ck_assert_msg(halo_builder_build(b, r, &module) == HALO_OK, "%s", halo_error_message());
  halo_builder_release(b);
  char *text;
  ck_assert_int_eq(halo_module_to_text(module, 0, &text), HALO_OK);
  ck_assert_ptr_nonnull(strstr(text, "parameter(0)\n"));
  ck_assert_msg(strstr(text,
                       "negate(%p), sharding={devices=[2,1]<=[2]}, "
                       "frontend_attributes={a={\"b\":2},z=\"1\"}, "
                       "metadata={op_name=\"layer/neg\" source_line=3}\n") != NULL,
                "%s", text);
  ck_assert_msg(strstr(text,
                       "), sharding={maximal device=1}, frontend_attributes={only=\"here\"}, "
                       "metadata={op_type=\"Abs\"}\n") != NULL,
                "%s", text);
  halo_module_release(text_read(text));
  halo_text_release(text);
  halo_module_release(module);
}
END_TEST

START_TEST(builder_refuses_annotations) {
  static const struct {
    halo_sharding sharding;
    const char *name, *part;
  } cases[] = {
      {{.kind = HALO_SHARDING_TILED}, NULL, "(halo_builder_set_sharding): the tiles need"},
      {{.kind = HALO_SHARDING_NAMED}, NULL, "needs its text"},
      {{.kind = (halo_sharding_kind)99}, NULL, "99 is no kind of sharding"},
      {{0}, "a b", "(halo_builder_set_frontend_attribute): the attribute's name is no HLO"},
      {{0}, "", "no HLO identifier"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    halo_builder *b = halo_builder_create("m");
    halo_op p = build_parameter(b);
    if (cases[i].name) {
      halo_builder_set_frontend_attribute(b, cases[i].name, "v");
    } else {
      halo_builder_set_sharding(b, &cases[i].sharding);
    }
    halo_module *module;
    ck_assert_int_eq(halo_builder_build(b, p, &module), HALO_INVALID_ARGUMENT);
    ck_assert_msg(strstr(halo_error_message(), cases[i].part) != NULL, "%s", halo_error_message());
    halo_builder_release(b);
  }
  halo_builder_set_metadata(NULL, NULL);
  halo_op_set_sharding((halo_op){0}, NULL);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("text_annotation");
  TCase *tests = tcase_create("annotations");
  tcase_add_loop_test(tests, prints_as_xla_does, 0, sizeof rows / sizeof rows[0]);
  tcase_add_loop_test(tests, refused_with_place, 0, sizeof wrong / sizeof wrong[0]);
  tcase_add_test(tests, values_are_typed);
  tcase_add_test(tests, short_text_has_no_metadata);
  tcase_add_test(tests, configurations_are_typed);
  tcase_add_test(tests, every_enumeration_has_names);
  tcase_add_test(tests, builder_sets_annotations);
  tcase_add_test(tests, builder_refuses_annotations);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
