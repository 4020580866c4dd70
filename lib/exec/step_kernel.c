/* SPDX-License-Identifier: Apache-2.0 */
/* exec/step_kernel.c: launches. */
#include "exec/run.h"

#include "base/memory.h"
#include "base/progress.h"

/* What an argument of a kernel was last set to: equal ones need no call. Memory is known by its serial
 * number, since OpenCL may give the handle of released memory again. */
typedef struct kernel_bound {
  uint64_t serial;
  cl_ulong offset; /* elements; KERNEL_UNBOUND: never set */
} kernel_bound;

typedef struct kernel_state {
  cl_kernel handle;
  bool was_launched;
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

/* Queues the launch in as many parts as the device's limit of groups makes of it: nearly always one. The event is that of the
 * last one. */
static cl_int kernel_enqueue_parts(halo_run *run, const halo_step *step, const kernel_state *state,
                                   cl_event *event) {
  uint64_t most[3] = {0};
  for (uint32_t d = 0; d < step->grid.dims; d++) {
    most[d] = halo_caps_most_groups(&run->program->device->caps, d, state->local[d]);
  }
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

static halo_status kernel_start(halo_run *run, const halo_step *step, void *data) {
  halo_cl_device *device = run->program->device;
  kernel_state *state = data;
  cl_event storage, *event = halo_run_event(run, &storage);
  HALO_TRY(kernel_bind(run, step, state));
  bool compiles = !state->was_launched && halo_cl_compiles_at_launch(device);
  bool waits = run->program->waits_each;
  if (compiles || waits) event = &storage;
  if (compiles) HALO_TRY(halo_cl_check_compiler(device));
  state->was_launched = true;
  HALO_TRY(halo_cl_check(kernel_enqueue_parts(run, step, state, event), step->label));
  if (compiles) kernel_watch(device, storage);
  halo_status status = waits ? halo_cl_await(storage) : HALO_OK;
  if (status != HALO_OK) {
    halo_cl.clReleaseEvent(storage);
    return halo_fail_in(status, "kernel %s", step->label);
  }
  halo_run_queued(run, step, &storage);
  return HALO_OK;
}

const halo_step_runner halo_runner_kernel = {
    .prepare = kernel_prepare, .release = kernel_release, .start = kernel_start};
