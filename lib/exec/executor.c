/* exec/executor.c: making plans ready and queueing their steps. */
#include "exec/executor.h"

#include "base/memory.h"
#include "exec/build.h"
#include "exec/profile.h"
#include "kernels/gemm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* What an argument of a step's kernel was last set to: equal ones need no call. Memory is known by its
 * serial number, since OpenCL may give the handle of released memory again. */
typedef struct exec_bound {
  cl_mem mem;
  uint64_t serial;
  cl_ulong offset;
} exec_bound;

typedef struct exec_kernel {
  cl_kernel handle;
  exec_bound *bound;
  size_t local[3];
} exec_kernel;

struct halo_program {
  halo_cl_device *device;
  halo_plan *plan;
  halo_built_unit *units;
  exec_kernel *kernels; /* by step number */
  halo_cl_block *constants;
  pthread_mutex_t lock; /* of a run: kernels' arguments and the profile */
  halo_profile profile;
  atomic_bool ran;
};

/* One run in the making. */
typedef struct exec_run {
  halo_program *program;
  halo_cl_block *const *arguments;
  halo_cl_block **results;
  halo_cl_block **arenas;
  bool began; /* a command was queued */
} exec_run;

/* ---- Making ---- */

static halo_status exec_create_kernels(halo_program *p, const halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    if (step->kind == HALO_STEP_KERNEL) {
      exec_kernel *kernel = &p->kernels[step->number];
      HALO_TRY(halo_unit_kernel(&p->units[step->unit], step, (halo_run_ids){0}, &kernel->handle));
      HALO_TRY(halo_unit_fit(&p->units[step->unit], step, kernel->handle, kernel->local));
      kernel->bound = halo_alloc(sizeof *kernel->bound * (size_t)step->arg_count);
      for (int32_t a = 0; a < step->arg_count; a++) kernel->bound[a].offset = ~(cl_ulong)0;
    }
    HALO_TRY(exec_create_kernels(p, &step->condition));
    HALO_TRY(exec_create_kernels(p, &step->body));
    for (int32_t b = 0; b < step->branch_count; b++) {
      HALO_TRY(exec_create_kernels(p, &step->branches[b]));
    }
  }
  return HALO_OK;
}

static halo_status exec_upload_constants(halo_program *p) {
  const halo_plan *plan = p->plan;
  if (plan->constant_bytes == 0) return HALO_OK;
  HALO_TRY(halo_cl_alloc(p->device, (size_t)plan->constant_bytes, "constants", &p->constants));
  if (p->device->caps.is_null) return HALO_OK;
  void *memory;
  HALO_TRY(halo_try_alloc((size_t)plan->constant_bytes, "constants", &memory));
  char *image = memory;
  for (int32_t i = 0; i < plan->constants.count; i++) {
    const halo_plan_constant *c = &plan->constants.data[i];
    memcpy(image + c->offset, c->literal->data, (size_t)halo_shape_byte_size(c->literal->shape));
  }
  cl_int code = clEnqueueWriteBuffer(p->device->queue, p->constants->mem, CL_TRUE, 0,
                                     (size_t)plan->constant_bytes, image, 0, NULL, NULL);
  halo_free(memory);
  return halo_cl_check(code, "clEnqueueWriteBuffer of constants");
}

halo_status halo_program_create(halo_cl_device *device, halo_plan *plan, halo_program **out) {
  halo_program *p = halo_alloc(sizeof *p);
  p->device = device;
  halo_cl_device_retain(device);
  p->plan = plan;
  pthread_mutex_init(&p->lock, NULL);
  p->kernels = halo_alloc(sizeof *p->kernels * ((size_t)plan->step_count + 1));
  halo_profile_init(&p->profile, plan);
  halo_status status = HALO_OK;
  p->units = halo_alloc(sizeof *p->units * ((size_t)plan->units.count + 1));
  if (!device->caps.is_null) {
    status = halo_units_build(device, plan, p->units);
    if (status == HALO_OK) status = exec_create_kernels(p, &plan->steps);
  }
  if (status == HALO_OK) status = exec_upload_constants(p);
  if (status != HALO_OK) {
    halo_program_release(p);
    p = NULL;
  }
  *out = p;
  return status;
}

void halo_program_release(halo_program *p) {
  if (!p) return;
  for (int32_t i = 0; i < p->plan->step_count; i++) {
    if (p->kernels[i].handle && !halo_cl_is_forked()) clReleaseKernel(p->kernels[i].handle);
    halo_free(p->kernels[i].bound);
  }
  halo_free(p->kernels);
  halo_profile_deinit(&p->profile);
  halo_cl_free(p->constants);
  for (int32_t u = 0; u < p->plan->units.count && p->ran; u++) {
    if (p->units[u].program) halo_cl_program_save(p->units[u].program);
  }
  halo_built_units_release(p->units, p->plan->units.count);
  halo_free(p->units);
  halo_plan_release(p->plan);
  halo_cl_device_release(p->device);
  pthread_mutex_destroy(&p->lock);
  halo_free(p);
}

const halo_plan *halo_program_plan(const halo_program *p) { return p->plan; }

/* ---- Running ---- */

static exec_bound exec_resolve(const exec_run *run, int32_t buffer) {
  const halo_plan_buffer *b = &run->program->plan->buffers.data[buffer];
  const halo_cl_block *block = NULL;
  bool at_offset = false;
  switch (b->place) {
    case HALO_PLACE_ARGUMENT: block = run->arguments[b->index]; break;
    case HALO_PLACE_RESULT: block = run->results[b->index]; break;
    case HALO_PLACE_TEMP:
      block = run->arenas[b->index];
      at_offset = true;
      break;
    case HALO_PLACE_CONSTANT:
      block = run->program->constants;
      at_offset = true;
      break;
    case HALO_PLACE_NONE: break;
  }
  if (!block) return (exec_bound){0};
  return (exec_bound){block->mem, block->serial, at_offset ? (cl_ulong)b->offset : 0};
}

/* The event to ask a command for: the caller's, or the profile's. */
static cl_event *exec_event(const exec_run *run, cl_event *wanted, cl_event *storage) {
  *storage = NULL;
  if (run->program->device->profile) return storage;
  return wanted;
}

static void exec_event_done(exec_run *run, const halo_step *step, cl_event *wanted,
                            cl_event *storage) {
  run->began = true;
  if (!*storage) return;
  if (wanted) {
    clRetainEvent(*storage);
    *wanted = *storage;
  }
  halo_profile_add(&run->program->profile, step->number, *storage);
}

static halo_status exec_bind(exec_run *run, const halo_step *step, exec_kernel *kernel) {
  for (int32_t a = 0; a < step->arg_count; a++) {
    exec_bound to = exec_resolve(run, step->args[a].buffer);
    to.offset /= (cl_ulong)step->args[a].element_size;
    exec_bound *bound = &kernel->bound[a];
    if (bound->serial != to.serial || bound->offset == ~(cl_ulong)0) {
      HALO_TRY(halo_cl_check(
          clSetKernelArg(kernel->handle, (cl_uint)(2 * a), sizeof to.mem, &to.mem), step->label));
    }
    if (bound->offset != to.offset) {
      HALO_TRY(halo_cl_check(
          clSetKernelArg(kernel->handle, (cl_uint)(2 * a + 1), sizeof to.offset, &to.offset),
          step->label));
    }
    *bound = to;
  }
  return HALO_OK;
}

static halo_status exec_kernel_step(exec_run *run, const halo_step *step, cl_event *wanted) {
  halo_program *p = run->program;
  exec_kernel *kernel = &p->kernels[step->number];
  HALO_TRY(exec_bind(run, step, kernel));
  cl_event storage, *event = exec_event(run, wanted, &storage);
  cl_int code = clEnqueueNDRangeKernel(p->device->queue, kernel->handle, step->dims, NULL,
                                       step->global, kernel->local, 0, NULL, event);
  if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES) {
    /* OpenCL may allocate only now; what the cache holds may be what is missing. */
    halo_cl_memory_trim(p->device);
    code = clEnqueueNDRangeKernel(p->device->queue, kernel->handle, step->dims, NULL, step->global,
                                  kernel->local, 0, NULL, event);
  }
  HALO_TRY(halo_cl_check(code, step->label));
  exec_event_done(run, step, wanted, &storage);
  return HALO_OK;
}

static halo_status exec_copy_step(exec_run *run, const halo_step *step, cl_event *wanted) {
  exec_bound from = exec_resolve(run, step->args[0].buffer);
  exec_bound to = exec_resolve(run, step->args[1].buffer);
  /* A donated argument whose memory became the result's. */
  if (from.mem == to.mem && from.offset == to.offset) return HALO_OK;
  cl_event storage, *event = exec_event(run, wanted, &storage);
  HALO_TRY(halo_cl_check(
      clEnqueueCopyBuffer(run->program->device->queue, from.mem, to.mem, (size_t)from.offset,
                          (size_t)to.offset, (size_t)step->bytes, 0, NULL, event),
      step->label));
  exec_event_done(run, step, wanted, &storage);
  return HALO_OK;
}

static halo_status exec_gemm_step(exec_run *run, const halo_step *step, cl_event *wanted) {
  cl_mem mems[3];
  size_t offsets[3];
  for (int i = 0; i < 3; i++) {
    exec_bound at = exec_resolve(run, step->args[i].buffer);
    mems[i] = at.mem;
    offsets[i] = (size_t)at.offset / (size_t)step->args[i].element_size;
  }
  cl_event storage, *event = exec_event(run, wanted, &storage);
  HALO_TRY(halo_gemm_enqueue(run->program->device->queue, step->gemm, mems, offsets, event));
  exec_event_done(run, step, wanted, &storage);
  return HALO_OK;
}

/* Waits for a small value that decides what comes next. */
static halo_status exec_read(exec_run *run, int32_t buffer, size_t size, void *out) {
  exec_bound at = exec_resolve(run, buffer);
  return halo_cl_check(clEnqueueReadBuffer(run->program->device->queue, at.mem, CL_TRUE,
                                           (size_t)at.offset, size, out, 0, NULL, NULL),
                       "reading a loop's condition or a branch's selector");
}

static halo_status exec_steps(exec_run *run, const halo_steps *steps, cl_event *last);

/* Iterations that may be queued before the host waits: a loop of a billion turns must not pile up a
 * billion commands. */
enum { EXEC_MAX_AHEAD = 1024 };

static halo_status exec_while_step(exec_run *run, const halo_step *step) {
  if (step->trips >= 0) {
    for (int64_t i = 0; i < step->trips; i++) {
      HALO_TRY(exec_steps(run, &step->body, NULL));
      if (i % EXEC_MAX_AHEAD != EXEC_MAX_AHEAD - 1) continue;
      HALO_TRY(halo_cl_check(clFinish(run->program->device->queue), "clFinish in a loop"));
    }
    return HALO_OK;
  }
  for (;;) {
    unsigned char more = 0;
    HALO_TRY(exec_steps(run, &step->condition, NULL));
    HALO_TRY(exec_read(run, step->args[0].buffer, 1, &more));
    if (!more) return HALO_OK;
    HALO_TRY(exec_steps(run, &step->body, NULL));
  }
}

static halo_status exec_conditional_step(exec_run *run, const halo_step *step) {
  int32_t branch = 0;
  if (step->selector_is_pred) {
    unsigned char taken = 0;
    HALO_TRY(exec_read(run, step->args[0].buffer, 1, &taken));
    branch = taken ? 0 : 1;
  } else {
    HALO_TRY(exec_read(run, step->args[0].buffer, sizeof branch, &branch));
    if (branch < 0 || branch >= step->branch_count) branch = step->branch_count - 1;
  }
  return exec_steps(run, &step->branches[branch], NULL);
}

/* `last`, when not NULL, receives the event of the last step if that is a command of its own. */
static halo_status exec_steps(exec_run *run, const halo_steps *steps, cl_event *last) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    cl_event *wanted = i + 1 == steps->count ? last : NULL;
    switch (step->kind) {
      case HALO_STEP_KERNEL: HALO_TRY(exec_kernel_step(run, step, wanted)); break;
      case HALO_STEP_COPY: HALO_TRY(exec_copy_step(run, step, wanted)); break;
      case HALO_STEP_GEMM: HALO_TRY(exec_gemm_step(run, step, wanted)); break;
      case HALO_STEP_WHILE: HALO_TRY(exec_while_step(run, step)); break;
      case HALO_STEP_CONDITIONAL: HALO_TRY(exec_conditional_step(run, step)); break;
    }
  }
  return HALO_OK;
}

/* Blocks for results: shared with an argument, taken over from a donated one, or new. */
static halo_status exec_results(exec_run *run, const bool *donated) {
  const halo_plan *plan = run->program->plan;
  for (int32_t r = 0; r < plan->result_count; r++) {
    const halo_plan_buffer *b = &plan->buffers.data[plan->result_buffers[r]];
    int32_t alias = b->place == HALO_PLACE_ARGUMENT ? b->index : plan->result_alias[r];
    bool share =
        b->place == HALO_PLACE_ARGUMENT || (alias >= 0 && donated && donated[alias] &&
                                            atomic_load(&run->arguments[alias]->references) == 1);
    if (share) {
      halo_cl_block_retain(run->arguments[alias]);
      run->results[r] = run->arguments[alias];
      continue;
    }
    HALO_TRY(halo_cl_alloc(run->program->device, (size_t)halo_shape_byte_size(plan->results[r]),
                           "a result", &run->results[r]));
  }
  return HALO_OK;
}

static halo_status exec_arenas(exec_run *run) {
  const halo_plan *plan = run->program->plan;
  for (int32_t i = 0; i < plan->arenas.count; i++) {
    HALO_TRY(halo_cl_alloc(run->program->device, (size_t)plan->arenas.data[i],
                           "temporaries of a program", &run->arenas[i]));
  }
  return HALO_OK;
}

halo_status halo_program_run(halo_program *p, halo_cl_block *const *arguments, const bool *donated,
                             halo_cl_block **results, cl_event *ready, bool *began) {
  *began = false;
  HALO_TRY(halo_cl_device_check_runs(p->device, "running a program"));
  const halo_plan *plan = p->plan;
  exec_run run = {.program = p, .arguments = arguments, .results = results};
  run.arenas = halo_alloc(sizeof *run.arenas * ((size_t)plan->arenas.count + 1));
  for (int32_t r = 0; r < plan->result_count; r++) results[r] = NULL;
  *ready = NULL;
  halo_status status = exec_results(&run, donated);
  if (status == HALO_OK) status = exec_arenas(&run);
  if (status == HALO_OK) {
    pthread_mutex_lock(&p->lock);
    status = exec_steps(&run, &plan->steps, ready);
    pthread_mutex_unlock(&p->lock);
  }
  if (status == HALO_OK && !*ready) {
    status = halo_cl_check(clEnqueueMarkerWithWaitList(p->device->queue, 0, NULL, ready),
                           "clEnqueueMarkerWithWaitList");
  }
  if (status == HALO_OK) status = halo_cl_check(clFlush(p->device->queue), "clFlush");
  if (status == HALO_OK) p->ran = true;
  *began = run.began;
  if (status != HALO_OK) {
    char *message = halo_error_save();
    /* Steps already queued still write to the blocks; the queue is in order, so giving them back is
     * safe for later commands. */
    for (int32_t r = 0; r < plan->result_count; r++) {
      halo_cl_free(results[r]);
      results[r] = NULL;
    }
    if (*ready) clReleaseEvent(*ready);
    *ready = NULL;
    halo_error_restore(message);
  }
  for (int32_t i = 0; i < plan->arenas.count; i++) halo_cl_free(run.arenas[i]);
  halo_free(run.arenas);
  return status;
}

halo_status halo_program_profile(halo_program *p, const halo_step_time **rows, int *count) {
  pthread_mutex_lock(&p->lock);
  halo_status status = HALO_OK;
  if (p->device->queue) status = halo_cl_check(clFinish(p->device->queue), "clFinish");
  if (status == HALO_OK) status = halo_profile_rows(&p->profile, rows, count);
  pthread_mutex_unlock(&p->lock);
  return status;
}
