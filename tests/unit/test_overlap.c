/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_overlap.c: what stands between the start and the done of a collective goes on while messages
 * are on their way; and devices whose memory the host does not share, where copies do. */
#include "halo/custom_call.h"
#include "spread_test.h"
#include "suite.h"

#include <stdatomic.h>

/* ---- Between start and done ---- */

/* The call in between opens the way for messages, which nothing else does. */
static const char between_text[] =
    "HloModule between, replica_count=$n\n"
    "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
    "ENTRY e {\n  x = f32[4] parameter(0)\n"
    "  s = f32[4] all-reduce-start(x), replica_groups={}, to_apply=add\n"
    "  y = f32[4] multiply(x, x)\n"
    "  z = f32[4] custom-call(y), custom_call_target=\"t.open\", "
    "custom_call_has_side_effect=true\n"
    "  d = f32[4] all-reduce-done(s)\n  ROOT r = f32[4] add(d, z)\n}\n";
static const char gather_text[] =
    "HloModule gather, replica_count=$n\nENTRY e {\n  x = f32[4] parameter(0)\n"
    "  s = (f32[4], f32[8]) all-gather-start(x), replica_groups={}, dimensions={0}\n"
    "  z = f32[4] custom-call(x), custom_call_target=\"t.open\", "
    "custom_call_has_side_effect=true\n"
    "  d = f32[8] all-gather-done(s)\n  h = f32[4] slice(d), slice={[4:8]}\n"
    "  ROOT r = f32[4] add(h, z)\n}\n";
static const char permute_text[] =
    "HloModule permute, replica_count=$n\nENTRY e {\n  x = f32[4] parameter(0)\n"
    "  s = (f32[4], f32[4], u32[]) collective-permute-start(x), "
    "source_target_pairs={{0,1},{1,0}}\n"
    "  z = f32[4] custom-call(x), custom_call_target=\"t.open\", "
    "custom_call_has_side_effect=true\n"
    "  d = f32[4] collective-permute-done(s)\n  ROOT r = f32[4] add(d, z)\n}\n";
/* An all-reduce that is written in one piece waits where it stands. */
static const char plain_text[] =
    "HloModule plain, replica_count=$n\n"
    "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
    "ENTRY e {\n  x = f32[4] parameter(0)\n"
    "  d = f32[4] all-reduce(x), replica_groups={}, to_apply=add\n"
    "  z = f32[4] custom-call(d), custom_call_target=\"t.open\", "
    "custom_call_has_side_effect=true\n  ROOT r = f32[4] add(d, z)\n}\n";

static fake_network *gate;
static atomic_int opened;

static void gate_set(bool held) {
  pthread_mutex_lock(&gate->lock);
  gate->held = held;
  pthread_mutex_unlock(&gate->lock);
}

/* Gives back what it is given; when both processes are here, messages arrive again. */
static halo_status open_gate(const halo_custom_frame *call, void *user) {
  (void)user;
  memcpy(call->results[0].data, call->operands[0].data, call->operands[0].bytes);
  if (atomic_fetch_add(&opened, 1) == 1) gate_set(false);
  return HALO_OK;
}

static void *between_run(void *data) {
  spread_process *process = data;
  int me = process->communicator->process;
  halo_client *client;
  halo_client_options options = {.device = "0:0",
                                 .cache_dir = "",
                                 .collective_timeout = process->timeout,
                                 .communicator = process->communicator};
  ck_ok(halo_client_create(&options, &client));
  halo_executable *e = compile(client, process->text, 2);
  halo_buffer *x = put(halo_client_device(client, 0), me ? ten : four), *out;
  /* Both have compiled, and nothing is on its way. */
  process->work(process, client);
  ck_ok(halo_executable_execute(e, &x, 1, NULL, &out));
  if (process->text == plain_text) {
    ck_assert_int_ne(await(out), HALO_OK);
  } else if (process->text == between_text) {
    run_check(out, me ? "{111, 422, 933, 1644}" : "{12, 26, 42, 60}");
  } else if (process->text == gather_text) {
    run_check(out, me ? "{20, 40, 60, 80}" : "{11, 22, 33, 44}");
  } else {
    run_check(out, "{11, 22, 33, 44}");
  }
  halo_buffer_release(out);
  halo_buffer_release(x);
  halo_executable_release(e);
  halo_client_release(client);
  return NULL;
}

static pthread_barrier_t compiled;

/* Nothing arrives from here on. */
static void hold(spread_process *process, halo_client *client) {
  (void)client;
  pthread_barrier_wait(&compiled);
  if (process->communicator->process == 0) gate_set(true);
  pthread_barrier_wait(&compiled);
}

static void between(const char *text, double timeout) {
  spread_process processes[2];
  pthread_t threads[2];
  gate = fake_create(2);
  atomic_store(&opened, 0);
  pthread_barrier_init(&compiled, NULL, 2);
  for (int p = 0; p < 2; p++) {
    processes[p] = (spread_process){&gate->nodes[p].communicator, hold, text, 1, timeout};
    ck_assert_int_eq(pthread_create(&threads[p], NULL, between_run, &processes[p]), 0);
  }
  for (int p = 0; p < 2; p++) pthread_join(threads[p], NULL);
  for (int p = 0; p < 2; p++) halo_communicator_close(&gate->nodes[p].communicator);
  pthread_barrier_destroy(&compiled);
  fake_release(gate);
}

START_TEST(goes_on_meanwhile) {
  ck_ok(halo_custom_call_register_host("t.open", open_gate, NULL));
  between(between_text, 60);
  between(gather_text, 60);
  between(permute_text, 60);
}
END_TEST

/* The same with nothing to go on: so the test above can fail. */
START_TEST(waits_without_start) {
  ck_ok(halo_custom_call_register_host("t.open", open_gate, NULL));
  between(plain_text, 0.3);
  ck_assert_int_eq(atomic_load(&opened), 0);
}
END_TEST

/* ---- Memory that the host does not share ---- */

/* Rows of more than a message's largest size, so that they go in several. */
static const char *const apart_texts[] = {
    "HloModule sum, replica_count=$n\n"
    "largest { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }\n"
    "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
    "ENTRY e {\n  x = f32[4] parameter(0)\n"
    "  y = f32[4,700001] broadcast(x), dimensions={0}\n"
    "  s = f32[4,700001] all-reduce(y), replica_groups={}, to_apply=add\n"
    "  z = f32[] constant(0)\n  ROOT r = f32[4] reduce(s, z), dimensions={1}, "
    "to_apply=largest\n}\n",
    "HloModule permute, replica_count=$n\n"
    "largest { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }\n"
    "ENTRY e {\n  x = f32[4] parameter(0)\n"
    "  y = f32[4,700001] broadcast(x), dimensions={0}\n"
    "  s = f32[4,700001] collective-permute(y), source_target_pairs={{0,1}}\n"
    "  z = f32[] constant(0)\n  q = f32[4] reduce(s, z), dimensions={1}, to_apply=largest\n"
    "  ROOT r = f32[4] add(q, x)\n}\n",
    "HloModule broadcast, replica_count=$n\nENTRY e {\n  x = f32[4] parameter(0)\n"
    "  y = f32[4,700001] broadcast(x), dimensions={0}\n"
    "  s = f32[4,700001] collective-broadcast(y), replica_groups={{1,0}}\n"
    "  l = f32[4,1] slice(s), slice={[0:4], [700000:700001]}\n  m = f32[4] reshape(l)\n"
    "  ROOT r = f32[4] add(m, x)\n}\n",
    "HloModule gather, replica_count=$n\nENTRY e {\n  x = f32[4] parameter(0)\n"
    "  y = f32[4,700001] broadcast(x), dimensions={0}\n"
    "  s = f32[8,700001] all-gather(y), replica_groups={}, dimensions={0}\n"
    "  l = f32[4,1] slice(s), slice={[2:6], [699999:700000]}\n  ROOT r = f32[4] reshape(l)\n}\n",
};
static const char *const apart_results[][2] = {
    {"{11, 22, 33, 44}", "{11, 22, 33, 44}"},
    {"{1, 2, 3, 4}", "{11, 22, 33, 44}"},
    {"{11, 22, 33, 44}", "{20, 40, 60, 80}"},
    {"{3, 4, 10, 20}", "{3, 4, 10, 20}"},
};
enum { APART = sizeof apart_texts / sizeof apart_texts[0] };

static void set_apart(halo_client *client, int ways) {
  for (int d = 0; d < halo_client_device_count(client); d++) {
    if (ways >> d & 1) client->devices[d].cl->caps.shares_host_memory = false;
  }
}

/* One of two devices, the other one, or both. */
START_TEST(apart_together) {
  for (int ways = 1; ways < 4; ways++) {
    halo_client *client = several(2, 0);
    set_apart(client, ways);
    for (int i = 0; i < APART; i++) {
      halo_executable *e = compile(client, apart_texts[i], 2);
      for (int n = 0; n < 2; n++) run_two(client, e, apart_results[i][0], apart_results[i][1]);
      halo_executable_release(e);
    }
    halo_client_release(client);
  }
}
END_TEST

/* A broadcast to two, who hand on parts of it in a second round. */
static const char hand_on_text[] =
    "HloModule broadcast, replica_count=$n\nENTRY e {\n  x = f32[4] parameter(0)\n"
    "  y = f32[4,700001] broadcast(x), dimensions={0}\n"
    "  s = f32[4,700001] collective-broadcast(y), replica_groups={{1,0,2}}\n"
    "  l = f32[4,1] slice(s), slice={[0:4], [700000:700001]}\n  m = f32[4] reshape(l)\n"
    "  f = f32[4,1] slice(s), slice={[0:4], [0:1]}\n  g = f32[4] reshape(f)\n"
    "  n = f32[4] multiply(m, g)\n  ROOT r = f32[4] add(n, x)\n}\n";

START_TEST(apart_handed_on) {
  for (int ways = 0; ways < 8; ways++) {
    halo_client *client = several(3, 0);
    set_apart(client, ways);
    halo_executable *e = compile(client, hand_on_text, 3);
    halo_buffer *x[3], *out[3], *const *arguments[3];
    halo_buffer **results[3];
    for (int d = 0; d < 3; d++) {
      x[d] = put(halo_client_device(client, d), d == 1 ? ten : four);
      arguments[d] = &x[d];
      results[d] = &out[d];
    }
    ck_ok(halo_executable_execute_all(e, arguments, 1, NULL, results));
    for (int d = 0; d < 3; d++) {
      run_check(out[d], d == 1 ? "{110, 420, 930, 1640}" : "{101, 402, 903, 1604}");
      halo_buffer_release(out[d]);
      halo_buffer_release(x[d]);
    }
    halo_executable_release(e);
    halo_client_release(client);
  }
}
END_TEST

static void apart_work(spread_process *process, halo_client *client) {
  int me = process->communicator->process;
  set_apart(client, 1);
  for (int i = 0; i < APART; i++) {
    halo_executable *e = compile(client, apart_texts[i], 2);
    halo_buffer *x = put(halo_client_device(client, 0), me ? ten : four), *out;
    ck_ok(halo_executable_execute(e, &x, 1, NULL, &out));
    run_check(out, apart_results[i][me]);
    halo_buffer_release(out);
    halo_buffer_release(x);
    halo_executable_release(e);
  }
}

START_TEST(apart_processes) { spread(2, 1, 0, NULL, apart_work); }
END_TEST

int main(void) {
  Suite *suite = suite_create("overlap");
  TCase *cases = tcase_create("overlap");
  tcase_set_timeout(cases, 240);
  tcase_add_test(cases, goes_on_meanwhile);
  tcase_add_test(cases, waits_without_start);
  tcase_add_test(cases, apart_together);
  tcase_add_test(cases, apart_handed_on);
  tcase_add_test(cases, apart_processes);
  suite_add_tcase(suite, cases);
  return suite_run(suite);
}
