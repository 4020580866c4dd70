/* SPDX-License-Identifier: Apache-2.0 */
/* exec/step_kernel.c: launches. */
#include "exec/watch.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/progress.h"
#include "opencl/event.h"

/* What an argument of a kernel was last set to: equal ones need no call. Memory is known by its serial
 * number, since OpenCL may give the handle of released memory again. */
typedef struct kernel_bound {
  uint64_t serial;
  cl_ulong offset; /* elements; KERNEL_UNBOUND: never set */
} kernel_bound;

typedef struct kernel_state {
  cl_kernel handle;
  bool was_launched;
  bool is_left;   /* the launch waits for `finish` */
  int64_t budget; /* of a region, that the kernel has; 0: the plan's */
  size_t local[3];
  kernel_bound bound[]; /* by argument */
} kernel_state;

#define KERNEL_UNBOUND (~(cl_ulong)0)

static halo_status kernel_prepare(halo_program *p, const halo_step *step, void **out) {
  kernel_state *state = halo_alloc(sizeof *state + sizeof *state->bound * (size_t)step->arg_count);
  *out = state;
  for (int32_t a = 0; a < step->arg_count; a++) state->bound[a].offset = KERNEL_UNBOUND;
  const halo_built_unit *unit = &halo_program_units(p)[step->unit];
  HALO_TRY(halo_unit_kernel(unit, step, p->site.ids, &state->handle));
  size_t most;
  halo_status status = halo_unit_fit(unit, step, state->handle, state->local, &most);
  if (status == HALO_OK || !most || !p->limits) return status;
  /* The other kernels are asked too, so that one more plan will do. */
  bool is_new = halo_plan_limits_add(p->limits, &p->plan->units.data[step->unit], most);
  return is_new || p->limits->grew ? HALO_OK : status;
}

static void kernel_release(void *data) {
  kernel_state *state = data;
  if (state->handle && !halo_cl_is_forked()) halo_cl.clReleaseKernel(state->handle);
  halo_free(state);
}

/* Of a buffer's pointer; its offset, where it has one, comes next. */
static cl_uint kernel_number(const halo_step *step, int32_t arg) {
  int32_t with_offset = step->arg_count - step->whole_count;
  return (cl_uint)(arg < with_offset ? 2 * arg : with_offset + arg);
}

static halo_status kernel_bind(halo_run *run, const halo_step *step, kernel_state *state) {
  for (int32_t a = 0; a < step->arg_count; a++) {
    halo_place_at to = halo_run_resolve(run, step->args[a].buffer);
    to.offset /= (cl_ulong)step->args[a].element_size;
    kernel_bound *bound = &state->bound[a], known = *bound;
    bound->offset = KERNEL_UNBOUND; /* until both are set */
    if (known.serial != to.serial || known.offset == KERNEL_UNBOUND) {
      HALO_TRY(halo_cl_check(
          halo_cl.clSetKernelArg(state->handle, kernel_number(step, a), sizeof to.mem, &to.mem),
          step->label));
    }
    if (known.offset != to.offset && a < step->arg_count - step->whole_count) {
      HALO_TRY(halo_cl_check(halo_cl.clSetKernelArg(state->handle, kernel_number(step, a) + 1,
                                                    sizeof to.offset, &to.offset),
                             step->label));
    }
    *bound = (kernel_bound){to.serial, to.offset};
  }
  return HALO_OK;
}

static void CL_CALLBACK kernel_is_done(cl_event event, cl_int code, void *unused) {
  (void)event;
  (void)code;
  (void)unused;
  halo_progress_done(1);
  halo_progress_end();
}

/* A launch before which the runtime compiles the kernel, in a thread of its own, goes on until the kernel has run. */
static void kernel_watch(halo_cl_device *device, cl_event event) {
  halo_progress_begin();
  halo_progress_expect(1, halo_cl_keeps_programs(device));
  if (halo_cl.clSetEventCallback(event, CL_COMPLETE, kernel_is_done, NULL) != CL_SUCCESS) {
    kernel_is_done(event, CL_COMPLETE, NULL);
  }
}

static cl_int kernel_enqueue(halo_run *run, const halo_step *step, const kernel_state *state,
                             const halo_grid_part *part, cl_event *event) {
  const size_t *from = part->offset;
  const size_t *offset = from[0] || from[1] || from[2] ? from : NULL;
  cl_int code = halo_cl.clEnqueueNDRangeKernel(run->queue, state->handle, step->grid.dims, offset,
                                               part->global, state->local, 0, NULL, event);
  if (!halo_cl_is_memory_error(code)) return code;
  /* OpenCL may allocate only now; what the cache holds may be what is missing. */
  halo_cl_memory_trim(run->program->device);
  return halo_cl.clEnqueueNDRangeKernel(run->queue, state->handle, step->grid.dims, offset,
                                        part->global, state->local, 0, NULL, event);
}

static void kernel_most_groups(const halo_run *run, const halo_step *step,
                               const kernel_state *state, uint64_t most[3]) {
  for (uint32_t d = 0; d < step->grid.dims; d++) {
    most[d] = halo_caps_most_groups(&run->program->device->caps, d, state->local[d]);
  }
  uint64_t groups = step->grid.part_groups;
  if (groups && (!most[0] || groups < most[0])) most[0] = groups;
}

/* Queues the launch in as many parts as the device's limit of groups makes of it: nearly always one. The event is that of the
 * last one. */
static cl_int kernel_enqueue_parts(halo_run *run, const halo_step *step, const kernel_state *state,
                                   cl_event *event) {
  uint64_t most[3] = {0};
  kernel_most_groups(run, step, state, most);
  halo_grid_part next = {0};
  bool more = halo_grid_next(&step->grid, state->local, most, &next);
  cl_int code = CL_SUCCESS;
  while (more && code == CL_SUCCESS) {
    halo_grid_part part = next;
    more = halo_grid_next(&step->grid, state->local, most, &next);
    code = kernel_enqueue(run, step, state, &part, more ? NULL : event);
  }
  return code;
}

/* When a region is to leave, by what its launches took. */
static halo_status kernel_set_budget(halo_run *run, const halo_step *step, kernel_state *state) {
  int64_t budget = halo_watch_budget(run->program, step);
  if (budget == state->budget) return HALO_OK;
  cl_uint first = (cl_uint)(2 * step->arg_count - step->whole_count);
  for (int32_t v = 0; v < step->value_count; v++) {
    cl_long value = budget;
    if (step->values[v].what != HALO_VALUE_TIME) continue;
    HALO_TRY(halo_cl_check(
        halo_cl.clSetKernelArg(state->handle, first + (cl_uint)v, sizeof value, &value),
        step->label));
  }
  state->budget = budget;
  return HALO_OK;
}

/* Whether the queue is known to be empty. */
static bool kernel_is_alone(const halo_run *run) {
  halo_cl_device *device = run->program->device;
  if (run->ahead || (!run->began && run->behind)) return false;
  cl_event last = halo_cl_timeline_event(device, halo_cl_timeline_last(device));
  bool alone = !last || halo_cl_has_happened(last);
  if (last) halo_cl.clReleaseEvent(last);
  return alone;
}

/* Puts a part of the launch on the queue, or all of it where `part` is NULL. */
static halo_status kernel_launch(halo_run *run, const halo_step *step, kernel_state *state,
                                 const halo_grid_part *part, bool waits) {
  halo_cl_device *device = run->program->device;
  cl_event storage, *event = halo_run_event(run, &storage);
  bool compiles = !state->was_launched && halo_cl_compiles_at_launch(device);
  if (compiles || waits) event = &storage;
  if (compiles) HALO_TRY(halo_cl_check_compiler(device));
  if (device->longest > 0 && halo_step_leaves(step, NULL)) {
    run->launched = state->was_launched && kernel_is_alone(run) ? halo_clock() : 0;
  }
  state->was_launched = true;
  cl_int code = part ? kernel_enqueue(run, step, state, part, event)
                     : kernel_enqueue_parts(run, step, state, event);
  HALO_TRY(halo_cl_check(code, step->label));
  if (compiles) kernel_watch(device, storage);
  halo_status status = waits ? halo_cl_await(storage) : HALO_OK;
  if (status != HALO_OK) {
    halo_cl.clReleaseEvent(storage);
    return halo_fail_in(status, "kernel %s", step->label);
  }
  halo_run_queued(run, step, &storage);
  return HALO_OK;
}

/* ---- Launches that may take long: watch.h ---- */

/* So many work items in groups. */
static double kernel_count_groups(const halo_step *step, const kernel_state *state,
                                  const size_t global[3]) {
  double groups = 1;
  for (uint32_t d = 0; d < step->grid.dims; d++) {
    size_t along = global[d] / state->local[d];
    groups *= (double)along;
  }
  return groups;
}

/* Whether the launch is, or may be, so long that it has to be cut. */
static bool kernel_is_long(halo_program *p, const halo_step *step, const kernel_state *state) {
  if (!halo_watch_may_cut(p, step)) return false;
  double all = kernel_count_groups(step, state, step->grid.global);
  return halo_watch_groups(p, step, all) < all;
}

/* Launches a part of all, and waits for it. */
static halo_status kernel_launch_part(halo_run *run, const halo_step *step, kernel_state *state,
                                      const halo_grid_part *part, bool is_last) {
  cl_event *wanted = run->wanted;
  if (!is_last) run->wanted = NULL;
  double since = halo_clock();
  halo_status status = kernel_launch(run, step, state, part, true);
  run->wanted = wanted;
  if (status != HALO_OK) return status;
  double groups = kernel_count_groups(step, state, part->global);
  halo_watch_note(run->program, step, groups, halo_clock() - since);
  return HALO_OK;
}

/* In parts that are measured, until the whole is known to be short enough. */
static halo_status kernel_launch_parts(halo_run *run, const halo_step *step, kernel_state *state) {
  HALO_TRY(halo_run_await_queue(run, step->label));
  double all = kernel_count_groups(step, state, step->grid.global);
  halo_grid_part part = {0}, next;
  int parts = 0;
  for (bool more = true; more; parts++) {
    uint64_t most[3] = {0};
    kernel_most_groups(run, step, state, most);
    double groups = halo_watch_groups(run->program, step, all);
    halo_grid_most(&step->grid, state->local, groups, most);
    halo_grid_next(&step->grid, state->local, most, &part);
    next = part;
    more = halo_grid_next(&step->grid, state->local, most, &next);
    HALO_TRY(kernel_launch_part(run, step, state, &part, !more));
  }
  HALO_LOG(HALO_LOG_DEBUG, "kernel %s: launched in %d part%s", step->label, parts,
           halo_plural(parts));
  return HALO_OK;
}

static bool kernel_asks_host(const halo_program *p, const halo_step *step) {
  return halo_watch_may_cut(p, step);
}

static halo_status kernel_start(halo_run *run, const halo_step *step, void *data) {
  halo_program *p = run->program;
  kernel_state *state = data;
  HALO_TRY(kernel_bind(run, step, state));
  HALO_TRY(kernel_set_budget(run, step, state));
  state->is_left = false;
  if (p->asks_host[step->number]) {
    state->is_left = kernel_is_long(p, step, state) || halo_cl_ahead_is_full(p->device);
  }
  return state->is_left ? HALO_OK : kernel_launch(run, step, state, NULL, p->waits_each);
}

static bool kernel_is_over(void *data, bool *moved) {
  const kernel_state *state = data;
  *moved = false;
  return !state->is_left;
}

static halo_status kernel_finish(halo_run *run, const halo_step *step, void *data) {
  halo_program *p = run->program;
  kernel_state *state = data;
  if (!state->is_left) return HALO_OK;
  state->is_left = false;
  halo_cl_ahead_limit(p->device);
  if (kernel_is_long(p, step, state)) return kernel_launch_parts(run, step, state);
  return kernel_launch(run, step, state, NULL, p->waits_each);
}

const halo_step_runner halo_runner_kernel = {.prepare = kernel_prepare,
                                             .release = kernel_release,
                                             .asks_host = kernel_asks_host,
                                             .start = kernel_start,
                                             .is_over = kernel_is_over,
                                             .finish = kernel_finish};
