/* SPDX-License-Identifier: Apache-2.0 */
/* exec/step_custom_call.c: calls of registered functions: on the host, with buffers mapped, or on the
 * device's queue. */
#include "base/memory.h"
#include "custom/custom.h"
#include "exec/run.h"

static bool custom_asks_host(const halo_program *p, const halo_step *step) {
  (void)p;
  return step->custom->target->device == NULL;
}

/* A piece of memory that is mapped once, though several arguments may lie there. */
typedef struct custom_mapping {
  halo_place_at at;
  void *data;
} custom_mapping;

/* The arrays of a call with the memory of its arguments, and the number of the argument of each. */
static halo_custom_array *custom_arrays(halo_arena *arena, const halo_run *run,
                                        const halo_step *step) {
  const halo_custom_frame *call = &step->custom->call;
  int count = call->operand_count + call->result_count;
  halo_custom_array *arrays =
      halo_arena_copy(arena, call->operands, sizeof *arrays * (size_t)count);
  for (int i = 0; i < count; i++) {
    int32_t place = step->custom->places[i];
    if (place < 0 || arrays[i].bytes == 0) continue;
    halo_place_at at = halo_run_resolve(run, step->args[place].buffer);
    arrays[i].mem = at.mem;
    arrays[i].offset = (size_t)at.offset;
  }
  return arrays;
}

static halo_status custom_call(const halo_run *run, const halo_step *step,
                               const halo_custom_array *arrays, cl_command_queue queue) {
  const halo_custom_run of = {.queue = queue,
                              .device = run->device,
                              .number = (int64_t)run->number,
                              .context = run->context};
  return halo_custom_site_call(step->custom, arrays, &of);
}

static halo_status custom_start(halo_run *run, const halo_step *step, void *state) {
  (void)state;
  run->wanted = NULL;
  if (custom_asks_host(run->program, step)) return HALO_OK;
  halo_arena scratch = {0};
  halo_custom_array *arrays = custom_arrays(&scratch, run, step);
  run->began = true;
  run->ahead++;
  halo_status status = custom_call(run, step, arrays, run->queue);
  halo_arena_deinit(&scratch);
  return status;
}

/* Has the memory of an array mapped, unless it is for another one; it is once the queue is done. */
static halo_status custom_map(halo_run *run, halo_custom_array *array, bool written,
                              custom_mapping *mappings, int *count) {
  for (int i = 0; i < *count; i++) {
    if (mappings[i].at.mem == array->mem && mappings[i].at.offset == array->offset) {
      array->data = mappings[i].data;
      return HALO_OK;
    }
  }
  /* Results are mapped first, so that what both read and write share is mapped for both. */
  cl_map_flags flags = written ? CL_MAP_READ | CL_MAP_WRITE : CL_MAP_READ;
  HALO_TRY(halo_fail_in(halo_cl_map(run->queue, array->mem, flags, array->offset, array->bytes,
                                    false, NULL, &array->data),
                        "mapping a custom call's memory"));
  mappings[*count].at = (halo_place_at){.mem = array->mem, .offset = array->offset};
  mappings[(*count)++].data = array->data;
  return HALO_OK;
}

static halo_status custom_finish(halo_run *run, const halo_step *step, void *state) {
  (void)state;
  if (!custom_asks_host(run->program, step)) return HALO_OK;
  const halo_custom_frame *call = &step->custom->call;
  halo_arena scratch = {0};
  int count = call->operand_count + call->result_count, mapped = 0;
  halo_custom_array *arrays = custom_arrays(&scratch, run, step);
  custom_mapping *mappings = halo_arena_array(&scratch, custom_mapping, count + 1);
  halo_status status = HALO_OK;
  run->ahead = 0;
  run->began = true;
  for (int i = count - 1; i >= 0 && status == HALO_OK; i--) {
    if (arrays[i].mem) {
      status = custom_map(run, &arrays[i], i >= call->operand_count, mappings, &mapped);
    }
  }
  double since = halo_run_clock(run);
  if (status == HALO_OK && mapped > 0) {
    status = halo_cl_check(halo_cl.clFinish(run->queue), "mapping a custom call's memory");
    halo_run_spent(run, HALO_HOST_WAIT, since);
  }
  since = halo_run_clock(run);
  if (status == HALO_OK) status = custom_call(run, step, arrays, NULL);
  halo_run_spent(run, HALO_HOST_CALL, since);
  for (int i = 0; i < mapped; i++) {
    run->ahead++;
    halo_status unmapped = halo_cl_unmap(run->queue, mappings[i].at.mem, mappings[i].data, NULL);
    if (status == HALO_OK) status = unmapped;
  }
  halo_arena_deinit(&scratch);
  return status;
}

const halo_step_runner halo_runner_custom_call = {
    .asks_host = custom_asks_host, .start = custom_start, .finish = custom_finish};
