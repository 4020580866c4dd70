/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_collective_faults.c: OpenCL calls and allocations that fail within collectives, one after the other:
 * whichever it is, all parts come to an end, those that fail say where and why, and the next run is right. */
#include "cl_faults.h"
#include "spread_test.h"
#include "suite.h"

#include "base/memory.h"
#include "opencl/opencl.h"

/* One exchange, with a reducer for kernels, and with one that the host knows; two, each of some pieces; a loop around two; two beside each other; sizes of messages that are
 * told first; and pieces that go through streams where the host does not share the device's memory. */
static const struct {
  const char *text, *op; /* what its collectives are called */
  const char *results[2];
  int least; /* calls that fail; 0: 12 */
} programs[] = {
    {"HloModule reduce, replica_count=$n\n"
     "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  c = f32[] add(a, b)\n"
     "  ROOT d = f32[] maximum(c, a) }\n"
     "ENTRY e {\n  x = f32[4] parameter(0)\n"
     "  ROOT s = f32[4] all-reduce(x), replica_groups={}, to_apply=sum\n}\n",
     "all-reduce s",
     {"{11, 22, 33, 44}", "{11, 22, 33, 44}"}},
    {"HloModule tiny, replica_count=$n\n"
     "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
     "ENTRY e {\n  x = f32[4] parameter(0)\n"
     "  ROOT s = f32[4] all-reduce(x), replica_groups={}, to_apply=add\n}\n",
     "all-reduce s",
     {"{11, 22, 33, 44}", "{11, 22, 33, 44}"},
     4}, /* nothing is queued */
    {"HloModule large, replica_count=$n\n"
     "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
     "ENTRY e {\n  x = f32[4] parameter(0)\n"
     "  y = f32[4,30000] broadcast(x), dimensions={0}\n"
     "  s = f32[4,30000] all-reduce(y), replica_groups={}, to_apply=add\n"
     "  t = f32[4,1] slice(s), slice={[0:4], [29999:30000]}\n  ROOT r = f32[4] reshape(t)\n}\n",
     "all-reduce s",
     {"{11, 22, 33, 44}", "{11, 22, 33, 44}"}},
    {"HloModule loop, replica_count=$n\n"
     "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
     "body { s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0\n"
     "  v = f32[4] get-tuple-element(s), index=1  one = s32[] constant(1)  j = s32[] add(i, one)\n"
     "  w = f32[4] all-reduce(v), replica_groups={}, to_apply=add\n"
     "  k = f32[] constant(0.5)  h = f32[4] broadcast(k), dimensions={}\n"
     "  u = f32[4] multiply(w, h)\n"
     "  p = f32[4] collective-permute(u), source_target_pairs={{0,1},{1,0}}\n"
     "  ROOT t = (s32[], f32[4]) tuple(j, p) }\n"
     "condition { s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0\n"
     "  n = s32[] constant(3)  ROOT c = pred[] compare(i, n), direction=LT }\n"
     "ENTRY e {\n  x = f32[4] parameter(0)\n  z = s32[] constant(0)\n"
     "  t = (s32[], f32[4]) tuple(z, x)\n"
     "  w = (s32[], f32[4]) while(t), condition=condition, body=body\n"
     "  ROOT r = f32[4] get-tuple-element(w), index=1\n}\n",
     "", /* one of two */
     {"{5.5, 11, 16.5, 22}", "{5.5, 11, 16.5, 22}"}},
    {"HloModule pair, replica_count=$n\n"
     "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
     "ENTRY e {\n  x = f32[4] parameter(0)\n"
     "  s = f32[4] all-reduce-start(x), replica_groups={}, to_apply=add\n"
     "  y = f32[4] multiply(x, x)\n"
     "  t = (f32[4], f32[4], u32[]) collective-permute-start(y), "
     "source_target_pairs={{0,1},{1,0}}\n"
     "  d = f32[4] all-reduce-done(s)\n  p = f32[4] collective-permute-done(t)\n"
     "  ROOT r = f32[4] add(d, p)\n}\n",
     "",
     {"{111, 422, 933, 1644}", "{12, 26, 42, 60}"}},
    {"HloModule ragged, replica_count=$n\n"
     "ENTRY e {\n  x = f32[4] parameter(0)\n  from = s64[2] constant({0, 2})\n"
     "  rows = s64[2] constant({1, 1})\n  i = u32[] replica-id()\n  j = s64[] convert(i)\n"
     "  to = s64[2] broadcast(j), dimensions={}\n  y = f32[4] negate(x)\n"
     "  ROOT r = f32[4] ragged-all-to-all(x, y, from, rows, to, rows), replica_groups={{0,1}}\n}\n",
     "ragged-all-to-all r",
     {"{1, 10, -3, -4}", "{3, 30, -30, -40}"}},
    {"HloModule stream, replica_count=$n\n"
     "ENTRY e {\n  x = f32[4] parameter(0)\n"
     "  y = f32[4,500000] broadcast(x), dimensions={0}\n"
     "  s = f32[4,500000] collective-permute(y), source_target_pairs={{0,1},{1,0}}\n"
     "  t = f32[4,1] slice(s), slice={[0:4], [499999:500000]}\n  ROOT r = f32[4] reshape(t)\n}\n",
     "collective-permute s",
     {"{10, 20, 30, 40}", "{1, 2, 3, 4}"}},
};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };

static const char *const call_names[FAULT_CALLS] = {[FAULT_KERNEL] = "a launch",
                                                    [FAULT_COPY] = "a copy",
                                                    [FAULT_READ] = "a read",
                                                    [FAULT_WRITE] = "a write",
                                                    [FAULT_FLUSH] = "a flush",
                                                    [FAULT_MARKER] = "a marker",
                                                    [FAULT_BARRIER] = "a barrier",
                                                    [FAULT_ARGUMENT] = "an argument",
                                                    [FAULT_MAP] = "a map",
                                                    [FAULT_UNMAP] = "an unmap",
                                                    [FAULT_FINISH] = "a finish",
                                                    [FAULT_WAIT] = "a wait",
                                                    [FAULT_STATE] = "a command",
                                                    [FAULT_MEMORY] = "the device's memory",
                                                    [FAULT_HOST] = "the host's memory"};

/* ---- What is the same in one process and in several ---- */

enum { PATIENCE = 100 }; /* seconds, of which none should pass */
/* Calls of a kind of which each fails in a run of its own; of those behind them some. */
enum { SWEEP_ALL = 16, SWEEP_STEP = 7, SWEEP_MOST = 80 };

/* A call that is to fail. */
typedef struct fault {
  int program, after;
  fault_call call; /* none: FAULT_CALLS */
} fault;

static void fault_arm(fault f) {
  if (f.call < FAULT_CALLS) fault_after(f.call, f.after);
}

/* Whether that call was made; now none fails any more. */
static bool fault_disarm(fault f) {
  if (f.call == FAULT_CALLS) return false;
  bool came = fault_has_come(f.call);
  fault_after(f.call, -1);
  return came;
}

/* Whether a failure says where it was: on which device, and in which collective if it was within one, or is another
 * device's. */
static void check_failure(fault f, halo_status status, const char *message) {
  static const bool within[FAULT_CALLS] = {[FAULT_READ] = true,
                                           [FAULT_WRITE] = true,
                                           [FAULT_MAP] = true,
                                           [FAULT_UNMAP] = true,
                                           [FAULT_HOST] = true};
  const char *name = f.call < FAULT_CALLS ? call_names[f.call] : "nothing";
  ck_assert_msg(f.call < FAULT_CALLS && status != HALO_DEADLINE_EXCEEDED, "program %d, %s %d: %s",
                f.program, name, f.after, message);
  /* Of the last command, which is waited for when all is queued. */
  bool behind = f.call == FAULT_STATE && strncmp(message, "a command on the device", 23) == 0;
  bool before = f.call == FAULT_HOST && strncmp(message, "the arguments and results", 25) == 0;
  bool device = strstr(message, "device 0") || strstr(message, "device 1");
  ck_assert_msg(device || behind || before, "program %d, %s %d: no device: %s", f.program, name,
                f.after, message);
  bool op = strstr(message, programs[f.program].op) != NULL;
  bool wanted = status == HALO_ABORTED || within[f.call];
  ck_assert_msg(op || before || !wanted, "program %d, %s %d: no operation: %s", f.program, name,
                f.after, message);
}

/* How the part of a replica ended: well, with what is right, or as it should. */
static void check_part(fault f, int replica, halo_buffer *out, halo_status status, char *message) {
  if (status == HALO_OK) run_check(out, programs[f.program].results[replica]);
  if (status != HALO_OK) check_failure(f, status, message);
  halo_free(message);
}

/* Memory is asked for anew. */
static void forget_memory(halo_client *client, fault f) {
  for (int d = 0; f.call == FAULT_MEMORY && d < halo_client_device_count(client); d++) {
    halo_device_trim_memory(halo_client_device(client, d));
  }
}

static void check_memory(halo_client *client) {
  for (int d = 0; d < halo_client_device_count(client); d++) {
    halo_memory_stats stats;
    halo_device_memory_stats(halo_client_device(client, d), &stats);
    ck_assert_uint_eq(stats.live, 0);
  }
}

/* How the host comes to a device's memory: in its place, by mapping it, or by copying. */
typedef enum access_mode { ACCESS_DIRECT, ACCESS_MAPPED, ACCESS_COPIED, ACCESSES } access_mode;

static void set_access(halo_client *client, access_mode mode) {
  for (int d = 0; d < halo_client_device_count(client); d++) {
    halo_cl_device *device = halo_client_device(client, d)->cl;
    device->direct &= mode == ACCESS_DIRECT;
    device->caps.shares_host_memory &= mode != ACCESS_COPIED;
  }
}

static int least_of(int program) { return programs[program].least ? programs[program].least : 12; }

static const float *const inputs[] = {four, ten};

/* ---- Two devices of one process ---- */

static bool run_both(halo_client *client, halo_executable *e, fault f) {
  halo_buffer *x[2], *out[2] = {0}, *const * arguments[2] = {&x[0], &x[1]};
  halo_buffer **results[2] = {&out[0], &out[1]};
  halo_status status[2];
  char *messages[2] = {0};
  for (int d = 0; d < 2; d++) x[d] = put(halo_client_device(client, d), inputs[d]);
  forget_memory(client, f);
  fault_arm(f);
  halo_status began = halo_executable_execute_all(e, arguments, 1, NULL, results);
  if (began != HALO_OK) messages[0] = halo_error_save();
  for (int d = 0; d < 2; d++) {
    status[d] = began == HALO_OK ? await(out[d]) : began;
    if (status[d] != HALO_OK && began == HALO_OK) messages[d] = halo_error_save();
  }
  bool came = fault_disarm(f);
  for (int d = 0; d < 2; d++) {
    if (began == HALO_OK || d == 0) check_part(f, d, out[d], status[d], messages[d]);
    halo_buffer_release(out[d]);
    halo_buffer_release(x[d]);
  }
  return came;
}

static void sweep_both(access_mode mode, int program) {
  halo_client *client = several(2, PATIENCE);
  set_access(client, mode);
  halo_executable *e = compile(client, programs[program].text, 2);
  fault f = {program, 0, FAULT_CALLS};
  (void)run_both(client, e, f);
  int failed = 0;
  for (int call = 0; call < FAULT_CALLS; call++) {
    bool came = true;
    for (int i = 0; came && i < SWEEP_MOST; i += i < SWEEP_ALL ? 1 : SWEEP_STEP) {
      came = run_both(client, e, (fault){program, i, (fault_call)call});
      failed += came;
      (void)run_both(client, e, f);
    }
  }
  ck_assert_int_ge(failed, least_of(program));
  halo_executable_release(e);
  check_memory(client);
  halo_client_release(client);
}

START_TEST(together) { sweep_both((access_mode)(_i % ACCESSES), _i / ACCESSES); }
END_TEST

/* ---- Two processes ---- */

static struct {
  pthread_barrier_t barrier;
  access_mode mode;
  int program, failed;
  bool came;
} two;

/* Both run; the first one says which call is to fail, in whichever of them makes it. */
static bool run_own(halo_client *client, halo_executable *e, int me, fault f) {
  halo_buffer *x = put(halo_client_device(client, 0), inputs[me]), *out = NULL;
  char *message = NULL;
  forget_memory(client, f);
  pthread_barrier_wait(&two.barrier);
  if (me == 0) fault_arm(f);
  pthread_barrier_wait(&two.barrier);
  halo_status status = halo_executable_execute(e, &x, 1, NULL, &out);
  if (status == HALO_OK) status = await(out);
  if (status != HALO_OK) message = halo_error_save();
  pthread_barrier_wait(&two.barrier);
  if (me == 0) two.came = fault_disarm(f);
  pthread_barrier_wait(&two.barrier);
  check_part(f, me, out, status, message);
  halo_buffer_release(out);
  halo_buffer_release(x);
  return two.came;
}

static void sweep_own(spread_process *process, halo_client *client) {
  int me = process->communicator->process;
  set_access(client, two.mode);
  halo_executable *e = compile(client, process->text, 2);
  fault f = {two.program, 0, FAULT_CALLS};
  (void)run_own(client, e, me, f);
  for (int call = 0; call < FAULT_CALLS; call++) {
    bool came = true;
    for (int i = 0; came && i < SWEEP_MOST; i += i < SWEEP_ALL ? 1 : SWEEP_STEP) {
      came = run_own(client, e, me, (fault){two.program, i, (fault_call)call});
      if (me == 0) two.failed += came;
      (void)run_own(client, e, me, f);
    }
  }
  halo_executable_release(e);
  check_memory(client);
}

static void sweep_processes(access_mode mode, int program) {
  two.mode = mode;
  two.program = program;
  pthread_barrier_init(&two.barrier, NULL, 2);
  spread(2, 1, PATIENCE, programs[program].text, sweep_own);
  pthread_barrier_destroy(&two.barrier);
  ck_assert_int_ge(two.failed, least_of(program));
}

START_TEST(processes) { sweep_processes((access_mode)(_i % ACCESSES), _i / ACCESSES); }
END_TEST

int main(void) {
  Suite *suite = suite_create("collective faults");
  TCase *one = tcase_create("one process"), *more = tcase_create("two processes");
  tcase_set_timeout(one, 300);
  tcase_add_loop_test(one, together, 0, ACCESSES * PROGRAMS);
  suite_add_tcase(suite, one);
  tcase_set_timeout(more, 300);
  tcase_add_loop_test(more, processes, 0, ACCESSES * PROGRAMS);
  suite_add_tcase(suite, more);
  return suite_run(suite);
}
