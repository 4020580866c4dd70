/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_collectives.c: programs on several devices, of one process and of several: order, failures,
 * time limits, work that goes on beside. What the operations compute is tested by the family `shared`. */
#include "halo/collectives.h"
#include "spread_test.h"
#include "suite.h"

#include "base/clock.h"

static const char reduce_text[] =
    "HloModule reduce, replica_count=$n\n"
    "add { a = f32[] parameter(0)  b = f32[] parameter(1)\n"
    "  ROOT c = f32[] add(a, b), sharding={replicated}, metadata={op_name=\"sum\"} }\n"
    "ENTRY e {\n  x = f32[4] parameter(0)\n"
    "  ROOT s = f32[4] all-reduce(x), replica_groups={}, to_apply=add\n}\n";
/* Over 4096 bytes a piece: these go by themselves between processes. */
static const char large_text[] =
    "HloModule large, replica_count=$n\n"
    "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
    "ENTRY e {\n  x = f32[4] parameter(0)\n"
    "  y = f32[4,30000] broadcast(x), dimensions={0}\n"
    "  s = f32[4,30000] all-reduce(y), replica_groups={}, to_apply=add\n"
    "  t = f32[4,1] slice(s), slice={[0:4], [29999:30000]}\n  ROOT r = f32[4] reshape(t)\n}\n";
/* Two exchanges in each of ten rounds, so that runs in progress at once would mix. */
static const char loop_text[] =
    "HloModule loop, replica_count=$n\n"
    "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
    "body { s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0\n"
    "  v = f32[4] get-tuple-element(s), index=1  one = s32[] constant(1)  j = s32[] add(i, one)\n"
    "  w = f32[4] all-reduce(v), replica_groups={}, to_apply=add\n"
    "  k = f32[] constant(0.5)  h = f32[4] broadcast(k), dimensions={}\n"
    "  u = f32[4] multiply(w, h)\n"
    "  p = f32[4] collective-permute(u), source_target_pairs={{0,1},{1,0}}\n"
    "  ROOT t = (s32[], f32[4]) tuple(j, p) }\n"
    "condition { s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0\n"
    "  n = s32[] constant(10)  ROOT c = pred[] compare(i, n), direction=LT }\n"
    "ENTRY e {\n  x = f32[4] parameter(0)\n  z = s32[] constant(0)\n"
    "  t = (s32[], f32[4]) tuple(z, x)\n"
    "  w = (s32[], f32[4]) while(t), condition=condition, body=body\n"
    "  ROOT r = f32[4] get-tuple-element(w), index=1\n}\n";
static const char pair_text[] =
    "HloModule pair, replica_count=$n\n"
    "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
    "ENTRY e {\n  x = f32[4] parameter(0)\n"
    "  s = f32[4] all-reduce-start(x), replica_groups={}, to_apply=add\n"
    "  y = f32[4] multiply(x, x)\n"
    "  t = (f32[4], f32[4], u32[]) collective-permute-start(y), source_target_pairs={{0,1},{1,0}}\n"
    "  d = f32[4] all-reduce-done(s)\n  p = f32[4] collective-permute-done(t)\n"
    "  ROOT r = f32[4] add(d, p)\n}\n";
/* Results of another precision than the operands, by reductions of one or of the other; an eighth of what all give. */
static const char mixed_text[] =
    "HloModule mixed, replica_count=$n\n"
    "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
    "half { a = bf16[] parameter(0)  b = bf16[] parameter(1)  ROOT c = bf16[] add(a, b) }\n"
    "ENTRY e {\n  x = f32[4] parameter(0)\n  h = bf16[4] convert(x)\n"
    "  s = f32[4] all-reduce(h), replica_groups={}, to_apply=add\n"
    "  u = bf16[4] all-reduce(x), replica_groups={}, to_apply=add\n"
    "  v = f32[4] all-reduce(h), replica_groups={}, to_apply=half\n"
    "  t = (f32[4], bf16[4]) all-reduce(h, x), replica_groups={}, to_apply=add\n"
    "  w = f32[4] get-tuple-element(t), index=0\n  y = bf16[4] get-tuple-element(t), index=1\n"
    "  g = f32[8] all-gather(h), replica_groups={}, dimensions={0}\n"
    "  g0 = f32[4] slice(g), slice={[0:4]}\n  g1 = f32[4] slice(g), slice={[4:8]}\n"
    "  p = f32[4] collective-permute(h), source_target_pairs={{0,1},{1,0}}\n"
    "  back = f32[4] collective-permute(p), source_target_pairs={{0,1},{1,0}}\n"
    "  other = f32[4] add(p, back)\n"
    "  uf = f32[4] convert(u)\n  yf = f32[4] convert(y)\n  a1 = f32[4] add(s, uf)\n"
    "  a2 = f32[4] add(v, w)\n  a3 = f32[4] add(yf, g0)\n  a4 = f32[4] add(g1, other)\n"
    "  a5 = f32[4] add(a1, a2)\n  a6 = f32[4] add(a3, a4)\n  a7 = f32[4] add(a5, a6)\n"
    "  all = f32[4] add(a7, s)\n  k = f32[] constant(0.125)\n"
    "  eighth = f32[4] broadcast(k), dimensions={}\n"
    "  ROOT r = f32[4] multiply(all, eighth)\n}\n";
/* Device 0 only sends, too much for an announcement. */
static const char away_text[] =
    "HloModule away, replica_count=$n\n"
    "ENTRY e {\n  x = f32[4] parameter(0)\n"
    "  y = f32[4,30000] broadcast(x), dimensions={0}\n"
    "  s = f32[4,30000] collective-permute(y), source_target_pairs={{0,1}}\n"
    "  t = f32[4,1] slice(s), slice={[0:4], [29999:30000]}\n  ROOT r = f32[4] reshape(t)\n}\n";

/* ---- One process ---- */

START_TEST(together) {
  halo_client *client = several(2, 0);
  ck_assert_int_eq(halo_client_process_index(client), 0);
  ck_assert_int_eq(halo_client_process_count(client), 1);
  ck_assert_int_eq(halo_client_global_device_count(client), 2);
  static const struct {
    const char *text, *first, *second;
  } cases[] = {{reduce_text, "{11, 22, 33, 44}", "{11, 22, 33, 44}"},
               {large_text, "{11, 22, 33, 44}", "{11, 22, 33, 44}"},
               {mixed_text, "{11, 22, 33, 44}", "{11, 22, 33, 44}"},
               {loop_text, "{5.5, 11, 16.5, 22}", "{5.5, 11, 16.5, 22}"},
               {pair_text, "{111, 422, 933, 1644}", "{12, 26, 42, 60}"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    halo_executable *e = compile(client, cases[i].text, 2);
    int replica, partition;
    ck_assert_int_eq(halo_executable_device_count(e), 2);
    halo_executable_part(e, 1, &replica, &partition);
    ck_assert_int_eq(replica, 1);
    ck_assert_int_eq(partition, 0);
    for (int n = 0; n < 3; n++) run_two(client, e, cases[i].first, cases[i].second);
    halo_executable_release(e);
  }
  halo_client_release(client);
}
END_TEST

/* Runs are started before earlier ones are done, and their order is not that of their ends. */
START_TEST(overlapping) {
  enum { RUNS = 12 };
  halo_client *client = several(2, 0);
  halo_executable *e = compile(client, loop_text, 2), *f = compile(client, reduce_text, 2);
  halo_buffer *x = put(halo_client_device(client, 0), four);
  halo_buffer *y = put(halo_client_device(client, 1), ten), *out[RUNS][2];
  for (int n = 0; n < RUNS; n++) start_two(n % 3 ? e : f, x, y, out[n]);
  halo_executable_release(e); /* runs go on */
  for (int n = RUNS - 1; n >= 0; n--) {
    for (int d = 0; d < 2; d++) {
      run_check(out[n][d], n % 3 ? "{5.5, 11, 16.5, 22}" : "{11, 22, 33, 44}");
      halo_buffer_release(out[n][d]);
    }
  }
  halo_executable_release(f);
  halo_buffer_release(x);
  halo_buffer_release(y);
  halo_client_release(client);
}
END_TEST

/* One part fails before it begins: the others are told, and the next run is as if nothing had been. */
START_TEST(one_fails) {
  static const char *const texts[] = {reduce_text, loop_text, pair_text};
  halo_client *client = several(2, 0);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    halo_executable *e = compile(client, texts[i], 2);
    halo_buffer *x = put(halo_client_device(client, 0), four);
    halo_buffer *y = promise(halo_client_device(client, 1)), *out[2];
    start_two(e, x, y, out);
    ck_ok(halo_buffer_fail(y, HALO_IO_ERROR, "the disk is full"));
    ck_fails(await(out[0]), HALO_ABORTED, "device 1 failed: the disk is full");
    ck_fails(await(out[1]), HALO_IO_ERROR, "the disk is full");
    for (int d = 0; d < 2; d++) halo_buffer_release(out[d]);
    halo_buffer_release(x);
    halo_buffer_release(y);
    halo_executable_release(e);
  }
  halo_executable *e = compile(client, reduce_text, 2);
  run_two(client, e, "{11, 22, 33, 44}", "{11, 22, 33, 44}");
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* One part does not come: the message says which operation waits, and for whom. */
START_TEST(one_is_late) {
  halo_client *client = several(2, 0.2);
  halo_executable *e = compile(client, reduce_text, 2);
  halo_buffer *x = put(halo_client_device(client, 0), four);
  halo_buffer *y = promise(halo_client_device(client, 1)), *out[2];
  start_two(e, x, y, out);
  double start = halo_clock();
  ck_fails(await(out[0]), HALO_DEADLINE_EXCEEDED, "nothing came from device 1 for 0.2 s");
  ck_message_has("all-reduce s");
  ck_message_has("among devices 0, 1");
  ck_assert(halo_clock() - start < 30);
  ck_ok(halo_buffer_fulfil(y, ten, NULL)); /* too late for this run */
  ck_fails(await(out[1]), HALO_ABORTED, "device 0 failed");
  for (int d = 0; d < 2; d++) halo_buffer_release(out[d]);
  start_two(e, x, y, out);
  run_check(out[0], "{11, 22, 33, 44}");
  for (int d = 0; d < 2; d++) halo_buffer_release(out[d]);
  halo_buffer_release(x);
  halo_buffer_release(y);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* The one that does not come is waited for by one that has all it wants. */
START_TEST(not_taken) {
  halo_client *client = several(2, 0.2);
  halo_executable *e = compile(client, away_text, 2);
  halo_buffer *x = put(halo_client_device(client, 0), four);
  halo_buffer *y = promise(halo_client_device(client, 1)), *out[2];
  start_two(e, x, y, out);
  ck_fails(await(out[0]), HALO_DEADLINE_EXCEEDED,
           "what was sent to device 1 was not taken for 0.2 s");
  ck_ok(halo_buffer_fulfil(y, ten, NULL));
  ck_fails(await(out[1]), HALO_ABORTED, "device 0 failed");
  for (int d = 0; d < 2; d++) halo_buffer_release(out[d]);
  start_two(e, x, y, out);
  run_check(out[1], "{1, 2, 3, 4}");
  for (int d = 0; d < 2; d++) halo_buffer_release(out[d]);
  halo_buffer_release(x);
  halo_buffer_release(y);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

START_TEST(wrong) {
  static const struct {
    const char *op, *message;
  } cases[] = {
      {"f32[4] all-reduce(x), replica_groups={{0}}, to_apply=add", "all must take part"},
      {"f32[4] all-reduce(x), replica_groups={{0,7}}, to_apply=add", "id 7: there are 2 replicas"},
      {"f32[4] all-reduce(x), replica_groups={{0,1}}, use_global_device_ids=true, to_apply=add",
       "needs a channel_id"},
      {"f32[4] collective-permute(x), source_target_pairs={{0,2}}", "id 2"},
      {"f32[4] all-gather(x), replica_groups={}, dimensions={0}",
       "2 members make f32[8], not f32[4]"},
      {"f32[4] reduce-scatter(x), replica_groups={}, dimensions={0}, to_apply=add",
       "2 members make f32[2], not f32[4]"},
      {"f32[4] collective-broadcast(x), channel_id=1, replica_groups={{1}}", "id 1"},
  };
  halo_client *client = several(2, 0);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[1024];
    halo_executable *e;
    snprintf(text, sizeof text,
             "HloModule wrong, replica_count=2\n"
             "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
             "ENTRY e {\n  x = f32[4] parameter(0)\n  ROOT r = %s\n}\n",
             cases[i].op);
    ck_fails(run_try_compile(client, text, NULL, &e), HALO_INVALID_ARGUMENT, cases[i].message);
  }
  halo_client_release(client);
}
END_TEST

/* More devices than speak to each other all at once: pieces go in rounds, and reductions are made of pairs of
 * neighbours, in the group's order. Each has its number times 1, 2, 3, 4. */
static void run_many(halo_client *client, const char *text, int count, float factor) {
  halo_executable *e = compile(client, text, count);
  halo_buffer **in = calloc((size_t)count, sizeof *in), **out = calloc((size_t)count, sizeof *out);
  halo_buffer *const **arguments = calloc((size_t)count, sizeof *arguments);
  halo_buffer ***results = calloc((size_t)count, sizeof *results);
  for (int d = 0; d < count; d++) {
    float values[4];
    for (int i = 0; i < 4; i++) values[i] = (float)(d + 1) * four[i];
    in[d] = put(halo_client_device(client, d), values);
    arguments[d] = &in[d];
    results[d] = &out[d];
  }
  ck_ok(halo_executable_execute_all(e, arguments, 1, NULL, results));
  for (int d = 0; d < count; d++) {
    float got[4];
    ck_ok(halo_buffer_to_host(out[d], got, sizeof got));
    for (int i = 0; i < 4; i++) ck_assert_float_eq(got[i], factor * four[i]);
    halo_buffer_release(out[d]);
    halo_buffer_release(in[d]);
  }
  free(results);
  free(arguments);
  free(out);
  free(in);
  halo_executable_release(e);
}

START_TEST(many) {
  static const char wide_text[] =
      "HloModule wide, replica_count=$n\n"
      "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
      "ENTRY e {\n  x = f32[4] parameter(0)\n"
      "  y = f32[4,%d] broadcast(x), dimensions={0}\n"
      "  s = f32[4,%d] all-reduce(y), replica_groups={}, to_apply=add\n"
      "  t = f32[4,1] slice(s), slice={[0:4], [%d:%d]}\n  ROOT r = f32[4] reshape(t)\n}\n";
  /* Associative, and not commutative: what the last one has, or the first. */
  static const char order_text[] =
      "HloModule order, replica_count=$n\n"
      "last { a = f32[] parameter(0)  b = f32[] parameter(1)  z = f32[] subtract(a, a)\n"
      "  ROOT c = f32[] add(b, z) }\n"
      "ENTRY e {\n  x = f32[4] parameter(0)\n"
      "  ROOT s = f32[4] all-reduce(x), replica_groups={}, to_apply=last\n}\n";
  static const int counts[] = {17, 35};
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
    int n = counts[c];
    halo_client *client = several(n, 0);
    float sum = (float)(n * (n + 1) / 2);
    run_many(client, reduce_text, n, sum);
    run_many(client, order_text, n, (float)n);
    /* Pieces below and above what goes in rounds. */
    static const int widths[] = {600, 3001};
    for (int w = 0; w < 2; w++) {
      char text[1024];
      snprintf(text, sizeof text, wide_text, widths[w], widths[w], widths[w] - 1, widths[w]);
      run_many(client, text, n, sum);
    }
    halo_client_release(client);
  }
}
END_TEST

/* Each of the builder's calls, on two replicas with {1, 2, 3, 4} and {10, 20, 30, 40}. */
static halo_op built_ragged(halo_builder *b, halo_op x, const halo_replica_groups *who) {
  static const int64_t two[] = {2}, offsets[] = {0, 2}, sizes[] = {1, 1};
  halo_op from = halo_constant_array(b, HALO_S64, 1, two, offsets);
  halo_op rows = halo_constant_array(b, HALO_S64, 1, two, sizes);
  /* Replica r puts a row into row r of each: its first one at replica 0, its third one at replica 1. */
  halo_op to = halo_broadcast(halo_convert(halo_replica_id(b), HALO_S64), 1, two);
  return halo_ragged_all_to_all(x, from, rows, halo_neg(x), to, rows, who);
}

/* Two updates for each replica, one list behind the other: replica r's rows come into rows 2 r and 2 r + 1. */
static halo_op built_ragged_flat(halo_builder *b, halo_op x) {
  static const int64_t length[] = {4}, offsets[] = {0, 1, 2, 3}, sizes[] = {1, 1, 1, 1};
  static const int64_t places[] = {0, 1, 0, 1}, twos[] = {2, 2, 2, 2};
  halo_op rows = halo_constant_array(b, HALO_S64, 1, length, sizes);
  halo_op from = halo_constant_array(b, HALO_S64, 1, length, offsets);
  halo_op me = halo_broadcast(halo_convert(halo_replica_id(b), HALO_S64), 1, length);
  halo_op to = halo_mul(me, halo_constant_array(b, HALO_S64, 1, length, twos));
  to = halo_add(to, halo_constant_array(b, HALO_S64, 1, length, places));
  return halo_ragged_all_to_all(x, from, rows, halo_neg(x), to, rows, NULL);
}

/* The sum of both elements of a tuple (x, -x), which a call made. */
static halo_op built_parts(halo_op pair) {
  return halo_concat_in_dim(
      pair.builder, 2,
      (halo_op[]){halo_get_tuple_element(pair, 0), halo_get_tuple_element(pair, 1)}, 0);
}

static halo_op built_channel(halo_builder *b, halo_op x) {
  halo_builder_set_frontend_attribute(b, "_xla_send_recv_source_target_pairs", "{{0,1}}");
  halo_op sent = halo_send(x, 3);
  halo_op both = halo_recv_with_token(sent, halo_op_shape(x), 3);
  return halo_get_tuple_element(both, 0);
}

/* Gathered rows, which lie in columns. */
static halo_op built_laid_out(halo_op square) {
  halo_shape *shape;
  static const int64_t dims[] = {4, 2};
  static const int32_t columns[] = {0, 1};
  ck_ok(halo_shape_create_array_with_layout(HALO_F32, 2, dims, columns, &shape));
  halo_replica_groups who = {.layout = shape};
  halo_op gathered = halo_all_gather(square, 0, 2, &who);
  ck_assert(halo_op_shape(gathered)->minor_to_major[0] == 0);
  halo_shape_release(shape);
  return gathered;
}

static halo_op built(halo_builder *b, int which, halo_op x) {
  static const int64_t order[] = {1, 0};
  const halo_replica_groups turned = {.groups = 1, .size = 2, .ids = order};
  halo_op pair = halo_tuple(b, 2, (halo_op[]){x, halo_neg(x)});
  halo_comp add = halo_scalar_add(b, HALO_F32);
  halo_op square = halo_reshape(x, 2, (const int64_t[]){2, 2});
  switch (which) {
    case 0: return halo_all_reduce(x, add, NULL);
    case 1: return halo_all_gather(x, 0, 2, &turned);
    case 2: return halo_reduce_scatter(x, add, 0, 2, NULL);
    case 3: return halo_all_to_all(x, 0, 0, 2, NULL);
    case 4: return halo_all_to_all(square, 0, 1, 2, NULL);
    case 5: return halo_collective_broadcast(x, &turned);
    case 6: return halo_collective_reduce(x, add, &turned);
    case 7: return halo_collective_permute(x, 1, (const int64_t[]){0, 1}, 0);
    case 8: return built_ragged(b, x, NULL);
    case 9: return halo_cross_replica_sum(x, 2, 1, (const int64_t[]){0, 1});
    case 10: return halo_add(halo_replica_id(b), halo_partition_id(b));
    case 11: return built_ragged_flat(b, x);
    case 12: return built_parts(halo_all_reduce(pair, add, NULL));
    case 13: return built_parts(halo_reduce_scatter(pair, add, 0, 2, NULL));
    case 14: return built_parts(halo_all_to_all_tuple(pair, NULL));
    case 15: return built_parts(halo_cross_replica_sum(pair, 0, 0, NULL));
    case 16: return built_channel(b, x);
    case 17: return built_laid_out(square);
    default: return x;
  }
}

START_TEST(from_builder) {
  static const char *const expected[][2] = {
      {"{11, 22, 33, 44}", "{11, 22, 33, 44}"},
      {"{10, 20, 30, 40, 1, 2, 3, 4}", "{10, 20, 30, 40, 1, 2, 3, 4}"},
      {"{11, 22}", "{33, 44}"},
      {"{1, 2, 10, 20}", "{3, 4, 30, 40}"},
      {"{ { 1, 2, 10, 20 } }", "{ { 3, 4, 30, 40 } }"},
      {"{10, 20, 30, 40}", "{10, 20, 30, 40}"},
      {"{0, 0, 0, 0}", "{11, 22, 33, 44}"},
      {"{0, 0, 0, 0}", "{1, 2, 3, 4}"},
      {"{1, 10, -3, -4}", "{3, 30, -30, -40}"},
      {"{1, 2, 3, 4}", "{10, 20, 30, 40}"},
      {"0", "1"},
      {"{1, 2, 10, 20}", "{3, 4, 30, 40}"},
      {"{11, 22, 33, 44, -11, -22, -33, -44}", "{11, 22, 33, 44, -11, -22, -33, -44}"},
      {"{11, 22, -11, -22}", "{33, 44, -33, -44}"},
      {"{1, 2, 3, 4, 10, 20, 30, 40}", "{-1, -2, -3, -4, -10, -20, -30, -40}"},
      {"{11, 22, 33, 44, -11, -22, -33, -44}", "{11, 22, 33, 44, -11, -22, -33, -44}"},
      {"{0, 0, 0, 0}", "{1, 2, 3, 4}"},
      {"{ { 1, 2 }, { 3, 4 }, { 10, 20 }, { 30, 40 } }",
       "{ { 1, 2 }, { 3, 4 }, { 10, 20 }, { 30, 40 } }"}};
  halo_client *client = several(2, 0);
  for (int i = 0; i < (int)(sizeof expected / sizeof expected[0]); i++) {
    halo_builder *b = halo_builder_create("built");
    halo_shape *shape;
    halo_module *module;
    halo_executable *e;
    ck_ok(halo_shape_create_array(HALO_F32, 1, (const int64_t[]){4}, &shape));
    halo_op x = halo_parameter(b, 0, shape, "x");
    ck_ok(halo_builder_build(b, built(b, i, x), &module));
    halo_builder_release(b);
    halo_shape_release(shape);
    ck_ok(halo_client_compile(client, module, &(halo_compile_options){.replica_count = 2}, &e));
    run_two(client, e, expected[i][0], expected[i][1]);
    halo_executable_release(e);
    halo_module_release(module);
  }
  halo_client_release(client);
}
END_TEST

/* ---- Several processes, which are threads here ---- */

/* Device i has i + 1 times 1, 2, 3, 4; the sums on this process's devices are checked. */
static void spread_check_sum(halo_executable *e, float sum) {
  int mine = halo_executable_device_count(e);
  for (int n = 0; n < 4; n++) {
    halo_buffer *in[FAKE_PROCESSES], *out[FAKE_PROCESSES];
    halo_buffer *const *arguments[FAKE_PROCESSES];
    halo_buffer **results[FAKE_PROCESSES];
    for (int d = 0; d < mine; d++) {
      halo_device *device = halo_executable_device(e, d);
      float scale = (float)(halo_device_id(device) + 1), values[4];
      for (int i = 0; i < 4; i++) values[i] = scale * four[i];
      in[d] = put(device, values);
      arguments[d] = &in[d];
      results[d] = &out[d];
    }
    ck_ok(halo_executable_execute_all(e, arguments, 1, NULL, results));
    for (int d = 0; d < mine; d++) {
      float got[4];
      ck_ok(halo_buffer_to_host(out[d], got, sizeof got));
      for (int i = 0; i < 4; i++) ck_assert_float_eq(got[i], sum * four[i]);
      halo_buffer_release(in[d]);
      halo_buffer_release(out[d]);
    }
  }
}

static void spread_sum(spread_process *process, halo_client *client) {
  int all = halo_client_global_device_count(client), mine = halo_client_device_count(client);
  halo_executable *e = compile(client, process->text, all);
  ck_assert_int_eq(halo_executable_device_count(e), mine);
  spread_check_sum(e, (float)(all * (all + 1) / 2));
  halo_executable_release(e);
}

START_TEST(processes) {
  spread(3, 1, 0, reduce_text, spread_sum);
  spread(3, 2, 0, reduce_text, spread_sum); /* one device, two, one */
  spread(2, 1, 0, large_text, spread_sum);
  spread(4, 2, 0, large_text, spread_sum);
}
END_TEST

/* Programs for devices of some of the processes: of four, which have one, two, one and two. Who has no part waits for nobody. */
static void spread_some(spread_process *process, halo_client *client) {
  static const struct {
    int count, devices[4], processes[4];
  } groups[] = {{2, {0, 1}, {1, 1, 0, 0}},       {2, {3, 5}, {0, 0, 1, 1}},
                {3, {2, 4, 5}, {0, 1, 0, 1}},    {2, {3, 0}, {1, 0, 1, 0}},
                {4, {0, 2, 3, 4}, {1, 1, 1, 1}}, {3, {1, 2, 5}, {0, 1, 0, 1}}};
  int me = process->communicator->process;
  char module[SPREAD_TEXT];
  for (int g = 0; g < (int)(sizeof groups / sizeof groups[0]); g++) {
    with_replicas(module, process->text, groups[g].count);
    halo_compile_options options = {.devices = groups[g].devices, .replica_count = groups[g].count};
    halo_executable *e;
    ck_ok(run_try_compile(client, module, &options, &e));
    ck_assert_int_eq(halo_executable_device_count(e) > 0, groups[g].processes[me]);
    if (!groups[g].processes[me]) {
      halo_buffer *none;
      ck_ok(halo_executable_execute_all(e, NULL, 0, NULL, NULL));
      ck_fails(halo_executable_execute(e, NULL, 0, NULL, &none), HALO_INVALID_ARGUMENT,
               "for 0 devices");
      halo_executable_release(e);
      continue;
    }
    float sum = 0;
    for (int i = 0; i < groups[g].count; i++) sum += (float)(groups[g].devices[i] + 1);
    spread_check_sum(e, sum);
    halo_executable_release(e);
    /* What a process computes alone in between does not matter. */
    for (int own = 0; own < me; own++) {
      halo_executable_release(compile(client, reduce_text, 1));
    }
  }
}

START_TEST(some_processes) {
  spread(4, 2, 0, reduce_text, spread_some);
  spread(4, 2, 0, large_text, spread_some);
}
END_TEST

/* The first process has a part that fails, the second one a part that waits for it. */
static void spread_failure(spread_process *process, halo_client *client) {
  int me = process->communicator->process;
  halo_executable *e = compile(client, process->text, 2);
  halo_buffer *x = promise(halo_client_device(client, 0)), *out;
  ck_ok(halo_executable_execute(e, &x, 1, NULL, &out));
  if (me == 0) {
    ck_ok(halo_buffer_fail(x, HALO_IO_ERROR, "the disk is full"));
    ck_fails(await(out), HALO_IO_ERROR, "the disk is full");
  } else {
    ck_ok(halo_buffer_fulfil(x, four, NULL));
    ck_fails(await(out), HALO_ABORTED, "device 0 (process 0) failed: the disk is full");
  }
  halo_buffer_release(out);
  halo_buffer_release(x);
  halo_buffer *y = put(halo_client_device(client, 0), four);
  ck_ok(halo_executable_execute(e, &y, 1, NULL, &out));
  run_check(out, "{2, 4, 6, 8}");
  halo_buffer_release(out);
  halo_buffer_release(y);
  halo_executable_release(e);
}

START_TEST(process_fails) {
  spread(2, 1, 0, reduce_text, spread_failure);
  spread(2, 1, 0, large_text, spread_failure);
}
END_TEST

/* One process does not run at all, and leaves once the other has given up, with this message. */
static void spread_alone(spread_process *process, halo_client *client, int runs,
                         const char *message) {
  halo_executable *e = compile(client, process->text, 2);
  if (process->communicator->process == runs) {
    halo_buffer *x = put(halo_client_device(client, 0), four), *out;
    ck_ok(halo_executable_execute(e, &x, 1, NULL, &out));
    ck_fails(await(out), HALO_DEADLINE_EXCEEDED, message);
    halo_buffer_release(out);
    halo_buffer_release(x);
  }
  halo_executable_release(e);
}

static void spread_absence(spread_process *process, halo_client *client) {
  spread_alone(process, client, 1, "nothing came from device 0 (process 0) for 0.3 s");
}

START_TEST(process_absent) { spread(2, 1, 0.3, reduce_text, spread_absence); }
END_TEST

/* The first one only sends: the second does not take it. */
static void spread_deafness(spread_process *process, halo_client *client) {
  spread_alone(process, client, 0, "what was sent to device 1 (process 1) was not taken for 0.3 s");
}

START_TEST(process_deaf) { spread(2, 1, 0.3, away_text, spread_deafness); }
END_TEST

static void spread_mismatch(spread_process *process, halo_client *client) {
  const char *text = process->communicator->process ? large_text : reduce_text;
  char module[SPREAD_TEXT];
  with_replicas(module, text, 2);
  halo_executable *e;
  /* The process that notices it tells the other. */
  halo_status status = run_try_compile(client, module, NULL, &e);
  ck_assert(status == HALO_FAILED_PRECONDITION || status == HALO_ABORTED);
  ck_message_has("compile different programs");
  /* What is for one device alone runs without the others. */
  e = run_compile(client,
                  "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
                  "  ROOT y = f32[4] add(x, x)\n}\n");
  halo_buffer *x = put(halo_client_device(client, 0), four), *out;
  ck_ok(halo_executable_execute(e, &x, 1, NULL, &out));
  run_check(out, "{2, 4, 6, 8}");
  halo_buffer_release(out);
  halo_buffer_release(x);
  halo_executable_release(e);
}

START_TEST(mismatch) { spread(2, 1, 0.4, NULL, spread_mismatch); }
END_TEST

int main(void) {
  Suite *suite = suite_create("collectives");
  TCase *one = tcase_create("one process"), *several_processes = tcase_create("several processes");
  tcase_add_test(one, together);
  tcase_add_test(one, overlapping);
  tcase_add_test(one, one_fails);
  tcase_add_test(one, one_is_late);
  tcase_add_test(one, not_taken);
  tcase_add_test(one, many);
  tcase_add_test(one, wrong);
  tcase_add_test(one, from_builder);
  tcase_add_test(several_processes, processes);
  tcase_add_test(several_processes, some_processes);
  tcase_add_test(several_processes, process_fails);
  tcase_add_test(several_processes, process_absent);
  tcase_add_test(several_processes, process_deaf);
  tcase_add_test(several_processes, mismatch);
  TCase *cases[] = {one, several_processes};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tcase_set_timeout(cases[i], 240);
    suite_add_tcase(suite, cases[i]);
  }
  return suite_run(suite);
}
