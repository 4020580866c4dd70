/* SPDX-License-Identifier: Apache-2.0 */
/* Custom calls that know themselves how they are partitioned (halo/partitioner.h). */
#include "halo/client.h"
#include "halo/custom_call.h"
#include "halo/partitioner.h"
#include "passes/passes.h"
#include "run_test.h"
#include "suite.h"

#include <string.h>

static halo_module *parse(const char *text) {
  halo_module *module = NULL;
  ck_ok(halo_module_parse(text, strlen(text), "test", &module));
  return module;
}

/* Sums of columns: rows are cut, each partition sums its own and all add them up. */
static const char sums_text[] =
    "HloModule sums, num_partitions=4\n"
    "ENTRY e {\n"
    "  x = f32[8,4] parameter(0), sharding={devices=[4,1]<=[4]}\n"
    "  y = f32[8,4] negate(x)\n"
    "  s = f32[4] custom-call(y), custom_call_target=\"test.sums\", backend_config=\"a\\\"b\",\n"
    "    frontend_attributes={xla.sdy.sharding_rule=\"#sdy.op_sharding_rule<([i, j])->([j]) {i=8, "
    "j=4} "
    "reduction={i}, custom>\"}\n"
    "  i = f32[8,4] custom-call(y), custom_call_target=\"test.look\", "
    "custom_call_has_side_effect=true\n"
    "  ROOT r = (f32[4], f32[8,4]) tuple(s, i), sharding={{replicated}, {devices=[4,1]<=[4]}}\n"
    "}\n";

static const char part_text[] =
    "HloModule part\n"
    "add { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b) }\n"
    "ENTRY e {\n"
    "  x = f32[2,4] parameter(0)\n"
    "  z = f32[] constant(0)\n"
    "  s = f32[4] reduce(x, z), dimensions={0}, to_apply=add\n"
    "  ROOT r = f32[4] all-reduce(s), replica_groups={{0,1,2,3}}, channel_id=1, "
    "use_global_device_ids=true, to_apply=add\n"
    "}\n";

static int calls, looks, releases;

static void count_release(halo_partition_call *call) {
  (void)call;
  releases++;
}

static halo_status sums(halo_partition_call *call, void *user) {
  static const halo_sharding replicated = {.kind = HALO_SHARDING_REPLICATED};
  calls++;
  call->release = count_release;
  ck_assert_str_eq(call->target, "test.sums");
  ck_assert_str_eq(call->config, "a\\\"b");
  ck_assert_int_eq(call->operand_count, 1);
  ck_assert_int_eq(call->result_count, 1);
  ck_assert(!call->is_tuple);
  ck_assert_int_eq(halo_shape_dim(call->operands[0], 0), 8);
  ck_assert_int_eq(halo_shape_rank(call->results[0]), 1);
  const halo_sharding *rows = call->operand_shardings[0];
  ck_assert_int_eq(rows->kind, HALO_SHARDING_TILED);
  ck_assert(rows->tiles.data[0] == 4 && rows->tiles.data[1] == 1);
  call->result_shardings[0] = &replicated;
  const char *text = user;
  if (!text) return halo_custom_call_fail(HALO_UNIMPLEMENTED, "not today");
  if (*text) call->program = parse(text);
  return HALO_OK;
}

static halo_status look(halo_partition_call *call, void *user) {
  (void)user;
  looks++;
  ck_assert_int_eq(call->operand_shardings[0]->kind, HALO_SHARDING_TILED);
  ck_assert_int_eq(call->operand_shardings[0]->tiles.data[0], 4);
  return HALO_OK;
}

static void check_sums(halo_executable *e) {
  float x[8][4], y[4], z[2][4];
  halo_buffer *arguments[4], *results[4][2];
  halo_buffer *const *lists[4];
  halo_buffer **received[4];
  for (int i = 0; i < 32; i++) x[i / 4][i % 4] = (float)i;
  for (int p = 0; p < 4; p++) {
    ck_ok(halo_buffer_put(halo_executable_device(e, p), x[2 * p], NULL,
                          halo_executable_argument_shape(e, 0), &arguments[p], NULL));
    lists[p] = &arguments[p];
    received[p] = results[p];
  }
  ck_ok(halo_executable_execute_all(e, lists, 1, NULL, received));
  for (int p = 0; p < 4; p++) {
    ck_ok(halo_buffer_to_host(results[p][0], y, sizeof y));
    ck_ok(halo_buffer_to_host(results[p][1], z, sizeof z));
    for (int j = 0; j < 4; j++) ck_assert(y[j] == (float)-(112 + 8 * j));
    for (int j = 0; j < 8; j++) ck_assert(z[j / 4][j % 4] == (float)-(8 * p + j));
    halo_buffer_release(results[p][0]);
    halo_buffer_release(results[p][1]);
    halo_buffer_release(arguments[p]);
  }
}

START_TEST(programs) {
  halo_client *client = run_client("0:0*4");
  halo_module *module = parse(sums_text);
  halo_executable *e;
  ck_ok(halo_partitioner_register("test.sums", sums, (void *)part_text));
  ck_ok(halo_partitioner_register("test.look", look, NULL));
  ck_ok(halo_client_compile(client, module, NULL, &e));
  ck_assert_int_eq(calls, 1);
  ck_assert_int_eq(releases, 1);
  ck_assert_int_eq(looks, 1);
  const char *text = halo_executable_report(e, HALO_REPORT_PARTITION);
  ck_assert_msg(strstr(text, "all-gather") == NULL, "%s", text);
  ck_assert_msg(strstr(text, "custom-call") == NULL, "%s", text);
  check_sums(e);
  halo_executable_release(e);
  halo_module_release(module);
  halo_client_release(client);
}
END_TEST

static const struct {
  const char *program, *message;
} refused[] = {
    {NULL, "not today"},
    {"", "its partitioner gave no program"},
    {"HloModule p\nENTRY e { ROOT c = f32[4] constant({1,2,3,4}) }", "a program of 0 parameters"},
    {"HloModule p\nENTRY e {\n  x = f32[3,4] parameter(0)\n  ROOT c = f32[4] "
     "constant({1,2,3,4})\n}",
     "parameter 0 of its partitioner's program has not the shape of a piece"},
    {"HloModule p\nENTRY e {\n  ROOT x = f32[2,4] parameter(0)\n}",
     "result 0 of its partitioner's program has not the shape of a piece"},
    {"HloModule p\nENTRY e {\n  x = f32[2,4] parameter(0)\n  ROOT t = (f32[2,4], f32[2,4]) "
     "tuple(x, "
     "x)\n}",
     "its partitioner's program has not its 1 results"},
};

START_TEST(refusals) {
  halo_module *module = parse(sums_text);
  bool changed;
  ck_ok(halo_partitioner_register("test.sums", sums, (void *)refused[_i].program));
  ck_ok(halo_partitioner_register("test.look", look, NULL));
  releases = 0;
  halo_status status = halo_pass_partition(module, &changed);
  ck_assert_int_ne(status, HALO_OK);
  ck_assert_msg(strstr(halo_error_message(), refused[_i].message) != NULL, "%s",
                halo_error_message());
  ck_assert_int_eq(releases, 1);
  halo_module_release(module);
}
END_TEST

/* A rule that is not understood says nothing, and never more than is there. */
START_TEST(broken_rules) {
  static const char *const rules[] = {"",
                                      "#sdy.op_sharding_rule<",
                                      "<([i, j])->([j])",
                                      "<([i, j])->([j]) {i=8, j=5}",
                                      "<([i, j, k])->([j]) {i=8, j=4, k=2}",
                                      "<([i])->([j]) {i=8, j=4}",
                                      "<([i, j])->([j]) {j=4, i=8}",
                                      "<([i, jz_99])->([j]) {i=8, j=4}",
                                      "<([i, j])->() {i=8, j=4}",
                                      "<([i, j])->([j]) {i=8, j=4",
                                      "<([i, j])->([j]) {i=8, j=4} blocked_propagation={i, z_9}"};
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    char text[1024];
    bool changed;
    snprintf(text, sizeof text,
             "HloModule m, num_partitions=4\nENTRY e {\n"
             "  x = f32[8,4] parameter(0), sharding={devices=[4,1]<=[4]}\n"
             "  ROOT s = f32[4] custom-call(x), custom_call_target=\"test.sums\", "
             "backend_config=\"a\\\"b\", frontend_attributes={xla.sdy.sharding_rule=\"%s\"}\n}\n",
             rules[i]);
    halo_module *module = parse(text);
    ck_ok(halo_partitioner_register("test.sums", sums, (void *)part_text));
    ck_ok(halo_pass_partition(module, &changed));
    ck_ok(halo_module_verify(module));
    halo_module_release(module);
  }
  ck_assert_int_eq(halo_partitioner_register("", sums, NULL), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_partitioner_register("x", NULL, NULL), HALO_INVALID_ARGUMENT);
}
END_TEST

/* ---- Batches ---- */

static const char batch_text[] =
    "HloModule m, num_partitions=4\nENTRY e {\n"
    "  x = f32[8,4] parameter(0), sharding={devices=[4,1]<=[4]}\n"
    "  y = f32[%s] parameter(1), sharding={devices=[4]<=[4]}\n"
    "  ROOT s = f32[8] custom-call(x, y), custom_call_target=\"%s\", "
    "sharding={devices=[4]<=[4]}%s\n"
    "}\n";
#define BATCH ", frontend_attributes={num_batch_dims=\"1\"}"

static const struct {
  const char *extent, *target, *more;
  bool split;
} batches[] = {
    {"8", "test.batched", BATCH, true},
    {"8", "test.unknown", BATCH, false}, /* nobody says that it may be split */
    {"8", "test.batched", "", false},
    {"4", "test.batched", BATCH, false}, /* not the same batch */
    {"8", "test.batched", ", frontend_attributes={num_batch_dims=\"2\"}", false},
    {"8", "test.batched", ", custom_call_has_side_effect=true" BATCH, false},
};

/* Partitions call the function for their part of the batch, or for all of it. */
START_TEST(parts_of_batches) {
  char text[1024], *printed;
  bool changed;
  ck_ok(halo_partitioner_register_batched("test.batched"));
  snprintf(text, sizeof text, batch_text, batches[_i].extent, batches[_i].target, batches[_i].more);
  halo_module *module = parse(text);
  ck_ok(halo_pass_partition(module, &changed));
  ck_ok(halo_module_verify(module));
  ck_ok(halo_module_to_text(module, HALO_PRINT_SHORT, &printed));
  bool split = strstr(printed, "f32[2]{0} custom-call(") && !strstr(printed, "all-gather");
  ck_assert_msg(split == batches[_i].split, "%s", printed);
  halo_text_release(printed);
  halo_module_release(module);
}
END_TEST

static halo_status nothing(const halo_custom_frame *call, void *user) {
  (void)call;
  (void)user;
  return HALO_OK;
}

/* A function that somebody registers under a name of LAPACK's may compute anything of all of a batch. */
START_TEST(names_taken) {
  static const char text[] =
      "HloModule m, num_partitions=2\nENTRY e {\n"
      "  x = f32[8,4,4] parameter(0), sharding={devices=[2,1,1]<=[2]}\n"
      "  ROOT s = (f32[8,4,4], s32[8]) custom-call(x), "
      "custom_call_target=\"lapack_spotrf_ffi\"\n}\n";
  for (int taken = 0; taken < 2; taken++) {
    bool changed;
    char *printed;
    if (taken) ck_ok(halo_custom_call_register_host("lapack_spotrf_ffi", nothing, NULL));
    halo_module *module = parse(text);
    ck_ok(halo_pass_partition(module, &changed));
    ck_ok(halo_module_to_text(module, HALO_PRINT_SHORT, &printed));
    ck_assert_msg((strstr(printed, "s32[4]") == NULL) == taken, "%s", printed);
    halo_text_release(printed);
    halo_module_release(module);
  }
  ck_assert_int_eq(halo_partitioner_register_batched(""), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_partitioner_register_batched(NULL), HALO_INVALID_ARGUMENT);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("partitioner");
  TCase *tcase = tcase_create("partitioner");
  tcase_set_timeout(tcase, 300);
  tcase_add_test(tcase, programs);
  tcase_add_loop_test(tcase, refusals, 0, sizeof refused / sizeof refused[0]);
  tcase_add_test(tcase, broken_rules);
  tcase_add_loop_test(tcase, parts_of_batches, 0, sizeof batches / sizeof batches[0]);
  tcase_add_test(tcase, names_taken);
  suite_add_tcase(suite, tcase);
  return suite_run(suite);
}
