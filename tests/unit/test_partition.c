/* SPDX-License-Identifier: Apache-2.0 */
/* Partitioning: golden modules, what is refused and why, what is left alone, pieces, and running on a device.
 *
 * tests/golden/partition/NAME.hlo are modules with shardings, NAME.out what they become. With HALO_UPDATE_GOLDEN=1 in
 * the environment the .out files are written instead of compared. */
#include "base/memory.h"
#include "halo/channels.h"
#include "hlo/sharding.h"
#include "passes/passes.h"
#include "run_test.h"
#include "suite.h"
#include "text/text.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define GOLDEN_DIR HALO_TEST_DATA "/../golden/partition"

static halo_module *parse(const char *text) {
  halo_module *module = NULL;
  ck_ok(halo_module_parse(text, strlen(text), "test", &module));
  return module;
}

static char *print(const halo_module *module) {
  char *text;
  ck_ok(halo_module_to_text(module, HALO_PRINT_SHORT, &text));
  return text;
}

static halo_module *partition(halo_module *module) {
  bool changed;
  ck_ok(halo_pass_partition(module, &changed));
  ck_assert(changed);
  ck_ok(halo_module_verify(module));
  return module;
}

/* ---- Golden modules ---- */

static void check_golden(const char *name) {
  char path[1024], line[4096];
  snprintf(path, sizeof path, "%s/%s", GOLDEN_DIR, name);
  halo_module *module;
  ck_ok(halo_module_parse_file(path, &module));
  partition(module);
  bool changed;
  ck_ok(halo_pass_partition(module, &changed));
  ck_assert_msg(!changed, "%s is partitioned twice", name);
  char *text = print(module);
  /* What it says of the entry survives as text. */
  halo_module *again = parse(text);
  char *twice = print(again);
  ck_assert_str_eq(text, twice);
  snprintf(strrchr(path, '.'), 5, ".out");
  FILE *file = fopen(path, getenv("HALO_UPDATE_GOLDEN") ? "w" : "r");
  ck_assert_msg(file != NULL, "cannot open %s", path);
  if (getenv("HALO_UPDATE_GOLDEN")) {
    fputs(text, file);
  } else {
    const char *at = text;
    while (fgets(line, sizeof line, file)) {
      ck_assert_msg(strncmp(at, line, strlen(line)) == 0, "%s: expected\n%sgot\n%s", name, line,
                    at);
      at += strlen(line);
    }
    ck_assert_str_eq(at, "");
  }
  fclose(file);
  halo_text_release(twice);
  halo_text_release(text);
  halo_module_release(again);
  halo_module_release(module);
}

START_TEST(golden_modules) {
  DIR *dir = opendir(GOLDEN_DIR);
  int count = 0;
  ck_assert(dir != NULL);
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    const char *dot = strrchr(entry->d_name, '.');
    if (!dot || strcmp(dot, ".hlo") != 0) continue;
    check_golden(entry->d_name);
    count++;
  }
  closedir(dir);
  ck_assert_int_ge(count, 16);
}
END_TEST

/* ---- Refusals ---- */

static const struct {
  const char *sharding, *what; /* of f32[8,6] among 4 partitions */
} wrong[] = {
    {"{devices=[2,1]<=[2]}", "line 3: x: its sharding: it has 2 tiles and there are 4 partitions"},
    {"{devices=[4]<=[4]}", "tiles of 1 dimension do not fit an array of 2"},
    {"{devices=[2,1,2]<=[4]}", "tiles of 3 dimensions do not fit an array of 2"},
    {"{devices=[4,1]0,1,2,2}", "device 2 has two tiles"},
    {"{devices=[4,1]0,1,2,7}", "there is no device 7 among 4"},
    {"{maximal device=4}", "there is no device 4 among 4"},
    {"{{devices=[4,1]<=[4]}, {replicated}}", "it has 2 elements for 1 arrays"},
    {"{devices=[2,1,2]0,1,3,2 last_tile_dims={unreduced}}",
     "unreduced sharding whose devices follow no mesh"},
    {"{mesh[\"x\"=4], [{\"x\"}, {}]}", "shardings by axes of a mesh cannot be partitioned"},
};

START_TEST(wrong_shardings) {
  char text[1000];
  bool changed;
  snprintf(text, sizeof text,
           "HloModule m, num_partitions=4\nENTRY e {\n  x = f32[8,6] parameter(0), sharding=%s\n"
           "  ROOT y = f32[8,6] negate(x)\n}\n",
           wrong[_i].sharding);
  halo_module *module = parse(text);
  halo_status status = halo_pass_partition(module, &changed);
  ck_assert_int_ne(status, HALO_OK);
  ck_assert_msg(strstr(halo_error_message(), wrong[_i].what) != NULL, "%s", halo_error_message());
  halo_module_release(module);
}
END_TEST

START_TEST(what_is_not_done) {
  static const struct {
    const char *body, *what;
  } rows[] = {
      {"m = f32[2,6] custom-call(x), custom_call_target=\"SPMDFullToShardShape\", "
       "sharding={manual}\n"
       "  ROOT o = f32[8,24] all-gather(x), channel_id=1, replica_groups={{0,1,2,3}}, "
       "dimensions={1}, "
       "use_global_device_ids=true",
       "o: all-gather in a program that is to be partitioned is not done"},
      {"m = f32[2,6] custom-call(x), custom_call_target=\"SPMDFullToShardShape\", "
       "sharding={manual}\n"
       "  ROOT o = f32[8,6] custom-call(m), custom_call_target=\"SPMDShardToFullShape\", "
       "sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}",
       "o: the whole shape does not follow from its sharding"},
      {"ROOT m = f32[4,6] custom-call(x), custom_call_target=\"SPMDFullToShardShape\", "
       "sharding={manual}",
       "m: the part's shape does not follow from the operand's sharding"},
      {"ROOT m = f32[4,6] custom-call(x), custom_call_target=\"xla.sdy.GlobalToLocalShape\"",
       "m: manual computations in the form of sdy"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[1000];
    bool changed;
    snprintf(text, sizeof text,
             "HloModule m, num_partitions=4\nENTRY e {\n  x = f32[8,6] parameter(0), "
             "sharding={devices=[4,1]<=[4]}\n  %s\n}\n",
             rows[i].body);
    halo_module *module = parse(text);
    ck_assert_int_ne(halo_pass_partition(module, &changed), HALO_OK);
    ck_assert_msg(strstr(halo_error_message(), rows[i].what) != NULL, "%s", halo_error_message());
    halo_module_release(module);
  }
}
END_TEST

/* ---- What is left alone ---- */

START_TEST(left_alone) {
  static const char *const texts[] = {
      /* one partition; no sharding; collectives of its own; scheduled */
      "HloModule m\nENTRY e {\n  x = f32[8] parameter(0), sharding={devices=[2]<=[2]}\n  ROOT y = "
      "f32[8] negate(x)\n}\n",
      "HloModule m, num_partitions=2\nENTRY e {\n  x = f32[8] parameter(0)\n  ROOT y = f32[8] "
      "negate(x)\n}\n",
      "HloModule m, num_partitions=2\nENTRY e {\n  x = f32[4] parameter(0), "
      "sharding={devices=[2]<=[2]}\n"
      "  ROOT y = f32[8] all-gather(x), channel_id=1, replica_groups={{0,1}}, dimensions={0}, "
      "use_global_device_ids=true\n}\n",
      "HloModule m, is_scheduled=true, num_partitions=2\nENTRY e {\n  x = f32[4] parameter(0), "
      "sharding={devices=[2]<=[2]}\n"
      "  ROOT y = f32[4] negate(x)\n}\n"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    halo_module *module = parse(texts[i]);
    bool changed = true;
    ck_ok(halo_pass_partition(module, &changed));
    ck_assert(!changed);
    ck_assert(module->spmd == NULL);
    halo_module_release(module);
  }
}
END_TEST

/* ---- Text ---- */

START_TEST(text_of_entries) {
  static const char *const wrong_headers[] = {
      "spmd_whole_layout={(f32[8])->f32[8]}",
      "spmd_parameters_shardings={{replicated}}",
      "spmd_whole_layout={(f32[8])->f32[8]}, spmd_parameters_shardings={{devices=[2]<=[2]}}, "
      "spmd_output_sharding={}",
      "spmd_whole_layout={(f32[9])->f32[8]}, spmd_parameters_shardings={{devices=[2]<=[2]}}, "
      "spmd_output_sharding={{devices=[2]<=[2]}}",
      "spmd_whole_layout={(f32[8])->f32[8]}, spmd_parameters_shardings={{devices=[4]<=[4]}}, "
      "spmd_output_sharding={{devices=[2]<=[2]}}",
      "spmd_whole_layout={(s32[8])->f32[8]}, spmd_parameters_shardings={{devices=[2]<=[2]}}, "
      "spmd_output_sharding={{devices=[2]<=[2]}}",
      "spmd_whole_layout={(f32[8],f32[8])->f32[8]}, "
      "spmd_parameters_shardings={{devices=[2]<=[2]}}, spmd_output_sharding={{devices=[2]<=[2]}}",
      "spmd_whole_layout={(f32[8])->f32[8]}, spmd_parameters_shardings={devices=[2]<=[2]}, "
      "spmd_output_sharding={{devices=[2]<=[2]}}",
  };
  for (size_t i = 0; i < sizeof wrong_headers / sizeof wrong_headers[0]; i++) {
    char text[1000];
    halo_module *module;
    snprintf(text, sizeof text,
             "HloModule m, num_partitions=2, %s\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = "
             "f32[4] negate(x)\n}\n",
             wrong_headers[i]);
    ck_assert_msg(halo_module_parse(text, strlen(text), "test", &module) == HALO_INVALID_ARGUMENT,
                  "%s is read", wrong_headers[i]);
    ck_assert(strstr(halo_error_message(), "do not go with each other") != NULL);
  }
}
END_TEST

/* ---- Pieces ---- */

START_TEST(pieces) {
  int64_t starts[2], sizes[2];
  halo_shape *shape;
  ck_ok(halo_shape_create_array(HALO_F32, 2, (const int64_t[]){10, 6}, &shape));
  const int64_t tiles[3] = {4, 1, 2}, reshape[3] = {2, 2, 2}, transpose[3] = {2, 0, 1};
  halo_sharding s = {.kind = HALO_SHARDING_TILED,
                     .tiles = {tiles, 3},
                     .reshape = {reshape, 3},
                     .transpose = {transpose, 3},
                     .replicate_last = true};
  /* Device 5 is 1,0,1 by reshape: 1,1,0 transposed, place 6 of [4,1,2]: the last tile but one row is padding. */
  ck_ok(halo_sharding_piece(&s, shape, 5, starts, sizes));
  ck_assert_int_eq(starts[0], 9);
  ck_assert_int_eq(sizes[0], 3);
  ck_assert_int_eq(starts[1], 0);
  ck_assert_int_eq(sizes[1], 6);
  ck_fails(halo_sharding_piece(&s, shape, 8, starts, sizes), HALO_INVALID_ARGUMENT, "device 8");
  s.kind = HALO_SHARDING_REPLICATED;
  ck_ok(halo_sharding_piece(&s, shape, 5, starts, sizes));
  ck_assert_int_eq(sizes[0], 10);
  halo_shape_release(shape);
}
END_TEST

/* ---- On a device ---- */

static const char step_text[] =
    "HloModule step, num_partitions=4\n"
    "ENTRY e {\n"
    "  x = f32[4,2] parameter(0), sharding={devices=[4,1]<=[4]}\n"
    "  w = f32[2,3] parameter(1)\n"
    "  y = f32[4,3] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  t = f32[3,4] transpose(y), dimensions={1,0}\n"
    "  g = f32[3,3] dot(t, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  ROOT r = (f32[4,3], f32[3,3]) tuple(y, g), sharding={{devices=[4,1]<=[4]}, {replicated}}\n"
    "}\n";

static void check_step(halo_executable *e) {
  static const float x[4][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}}, w[2][3] = {{1, 0, 2}, {0, 1, -1}};
  float y[4][3], g[3][3];
  halo_buffer *arguments[4][2], *results[4][2];
  halo_buffer *const *lists[4];
  halo_buffer **received[4];
  ck_assert_int_eq(halo_executable_argument_sharding(e, 0)->kind, HALO_SHARDING_TILED);
  ck_assert_int_eq(halo_executable_argument_sharding(e, 1)->kind, HALO_SHARDING_REPLICATED);
  ck_assert_ptr_null(halo_executable_argument_sharding(e, 2));
  ck_assert_int_eq(halo_executable_result_sharding(e, 0)->kind, HALO_SHARDING_TILED);
  ck_assert_int_eq(halo_executable_result_sharding(e, 1)->kind, HALO_SHARDING_REPLICATED);
  ck_assert_ptr_null(halo_executable_result_sharding(e, -1));
  ck_assert_int_eq(halo_shape_dim(halo_executable_argument_shape(e, 0), 0), 1);
  ck_assert_int_eq(halo_shape_dim(halo_executable_whole_argument_shape(e, 0), 0), 4);
  ck_assert_int_eq(halo_shape_dim(halo_executable_whole_result_shape(e, 0), 0), 4);
  for (int p = 0; p < 4; p++) {
    halo_device *device = halo_executable_device(e, p);
    ck_ok(halo_buffer_put(device, x[p], NULL, halo_executable_argument_shape(e, 0),
                          &arguments[p][0], NULL));
    ck_ok(halo_buffer_put(device, w, NULL, halo_executable_argument_shape(e, 1), &arguments[p][1],
                          NULL));
    lists[p] = arguments[p];
    received[p] = results[p];
  }
  ck_ok(halo_executable_execute_all(e, lists, 2, NULL, received));
  for (int p = 0; p < 4; p++) {
    ck_ok(halo_buffer_to_host(results[p][0], y[p], sizeof y[p]));
    ck_ok(halo_buffer_to_host(results[p][1], g, sizeof g));
    for (int i = 0; i < 2; i++) {
      halo_buffer_release(results[p][i]);
      halo_buffer_release(arguments[p][i]);
    }
    ck_assert(g[0][0] == 84 && g[0][1] == 100 && g[2][2] == 4 * 0 + 0 + 2 * 2 + 4 * 4 + 6 * 6);
  }
  for (int p = 0; p < 4; p++) {
    ck_assert(y[p][0] == x[p][0] && y[p][1] == x[p][1] && y[p][2] == 2 * x[p][0] - x[p][1]);
  }
}

START_TEST(runs_on_devices) {
  halo_client *client = run_client("0:0*4");
  halo_module *module = parse(step_text);
  halo_executable *e, *again;
  char *data;
  size_t size;
  ck_ok(halo_client_compile(client, module, NULL, &e));
  ck_assert(module->spmd == NULL);
  check_step(e);
  ck_ok(halo_executable_serialize(e, &data, &size));
  ck_ok(halo_client_deserialize(client, data, size, NULL, &again));
  halo_text_release(data);
  check_step(again);
  halo_executable_release(again);
  halo_executable_release(e);
  halo_module_release(module);
  halo_client_release(client);
}
END_TEST

/* What the caller allows is as if the header did. */
START_TEST(free_results) {
  static const char text[] =
      "HloModule m, num_partitions=2\nENTRY e {\n  x = f32[8] parameter(0), "
      "sharding={devices=[2]<=[2]}\n"
      "  y = f32[8] parameter(1)\n  s = f32[8] add(x, y)\n  ROOT r = (f32[8], f32[8]) tuple(s, "
      "s)\n}\n";
  static const bool arguments[2] = {false, true}, results[2] = {true, false};
  halo_compile_options options = {.free_arguments = arguments,
                                  .free_argument_count = 2,
                                  .free_results = results,
                                  .free_result_count = 2};
  halo_client *client = run_client("0:0*2");
  halo_module *module = parse(text);
  for (int given = 0; given < 2; given++) {
    halo_executable *e;
    ck_ok(halo_client_compile(client, module, given ? &options : NULL, &e));
    halo_sharding_kind kind = given ? HALO_SHARDING_TILED : HALO_SHARDING_REPLICATED;
    ck_assert_int_eq(halo_executable_argument_sharding(e, 1)->kind, kind);
    ck_assert_int_eq(halo_executable_result_sharding(e, 0)->kind, kind);
    ck_assert_int_eq(halo_executable_result_sharding(e, 1)->kind, HALO_SHARDING_REPLICATED);
    halo_executable_release(e);
  }
  halo_module_release(module);
  halo_client_release(client);
}
END_TEST

/* Of a mark at the end, what divides the array is kept where the caller allows anything. */
START_TEST(uneven_results) {
  static const char text[] =
      "HloModule m, num_partitions=4\nENTRY e {\n  x = f32[5,4] parameter(0)\n"
      "  ROOT r = f32[5,4] custom-call(x), custom_call_target=\"Sharding\", "
      "sharding={devices=[2,2]<=[4]}\n}\n";
  static const bool results[1] = {true};
  halo_compile_options options = {.free_results = results, .free_result_count = 1};
  halo_client *client = run_client("0:0*4");
  halo_module *module = parse(text);
  for (int given = 0; given < 2; given++) {
    halo_executable *e;
    ck_ok(halo_client_compile(client, module, given ? &options : NULL, &e));
    const halo_sharding *s = halo_executable_result_sharding(e, 0);
    ck_assert_int_eq(s->kind, HALO_SHARDING_TILED);
    ck_assert_int_eq(s->tiles.data[0], given ? 1 : 2);
    ck_assert_int_eq(s->tiles.data[1], 2);
    halo_executable_release(e);
  }
  halo_module_release(module);
  halo_client_release(client);
}
END_TEST

/* What the host was sent, and how often it was asked. */
typedef struct host_calls {
  float sent[8];
  atomic_int sends, receives;
} host_calls;

static halo_status take_sent(void *user, int64_t id, halo_literal *data) {
  host_calls *calls = user;
  ck_assert_int_eq(id, 1);
  memcpy(calls->sent, halo_literal_data(data), sizeof calls->sent);
  atomic_fetch_add(&calls->sends, 1);
  return HALO_OK;
}

static halo_status give_received(void *user, int64_t id, const halo_shape *shape,
                                 halo_literal **out) {
  host_calls *calls = user;
  ck_assert_int_eq(id, 2);
  ck_ok(halo_literal_create(shape, out));
  for (int i = 0; i < 8; i++) ((float *)halo_literal_data(*out))[i] = (float)(100 * i);
  atomic_fetch_add(&calls->receives, 1);
  return HALO_OK;
}

/* tests/golden/partition/alone.hlo: an outfeed, a send by device 1 and a receive. */
START_TEST(happens_once) {
  static const float x[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  host_calls calls = {{0}, 0, 0};
  halo_client *client = run_client("0:0*2");
  halo_module *module;
  halo_executable *e;
  halo_buffer *arguments[2], *results[2];
  halo_buffer *const *lists[2] = {&arguments[0], &arguments[1]};
  halo_buffer **received[2] = {&results[0], &results[1]};
  halo_literal *item;
  ck_ok(halo_module_parse_file(GOLDEN_DIR "/alone.hlo", &module));
  ck_ok(halo_client_compile(client, module, NULL, &e));
  halo_channel send = {.id = 1, .on_send = take_sent, .user = &calls};
  halo_channel receive = {.id = 2, .on_recv = give_received, .user = &calls};
  ck_ok(halo_device_set_channel(halo_executable_device(e, 1), &send));
  ck_ok(halo_device_set_channel(halo_executable_device(e, 0), &receive));
  for (int p = 0; p < 2; p++) {
    ck_ok(halo_buffer_put(halo_executable_device(e, p), x + 4 * p, NULL,
                          halo_executable_argument_shape(e, 0), &arguments[p], NULL));
  }
  ck_ok(halo_executable_execute_all(e, lists, 1, NULL, received));
  for (int p = 0; p < 2; p++) {
    float got[4];
    ck_ok(halo_buffer_to_host(results[p], got, sizeof got));
    for (int i = 0; i < 4; i++) ck_assert(got[i] == x[4 * p + i] + (float)(100 * (4 * p + i)));
    halo_buffer_release(results[p]);
    halo_buffer_release(arguments[p]);
  }
  ck_assert_int_eq(atomic_load(&calls.sends), 1);
  ck_assert_int_eq(atomic_load(&calls.receives), 1);
  for (int i = 0; i < 8; i++) ck_assert(calls.sent[i] == x[i]);
  ck_ok(halo_device_outfeed(halo_executable_device(e, 0), false, &item));
  for (int i = 0; i < 8; i++) ck_assert(halo_literal_get_f64(item, i) == x[i]);
  halo_literal_release(item);
  ck_assert_int_eq(halo_device_outfeed(halo_executable_device(e, 1), false, &item), HALO_NOT_FOUND);
  halo_executable_release(e);
  halo_module_release(module);
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("partition");
  TCase *tcase = tcase_create("partition");
  tcase_set_timeout(tcase, 300);
  tcase_add_test(tcase, golden_modules);
  tcase_add_loop_test(tcase, wrong_shardings, 0, sizeof wrong / sizeof wrong[0]);
  tcase_add_test(tcase, what_is_not_done);
  tcase_add_test(tcase, left_alone);
  tcase_add_test(tcase, text_of_entries);
  tcase_add_test(tcase, pieces);
  tcase_add_test(tcase, runs_on_devices);
  tcase_add_test(tcase, free_results);
  tcase_add_test(tcase, uneven_results);
  tcase_add_test(tcase, happens_once);
  suite_add_tcase(suite, tcase);
  return suite_run(suite);
}
