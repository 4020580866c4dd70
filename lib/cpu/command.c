/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/command.c: what is queued: copies, markers and launches. */
#include "base/memory.h"
#include "cpu/objects.h"

#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* ---- Commands ---- */

static cpu_command *command_create(cl_command_queue queue, cl_command_type type, cl_uint count,
                                   const cl_event *waits, cl_event *event,
                                   void (*run)(cpu_command *)) {
  cpu_command *command = halo_alloc(sizeof *command);
  command->queue = queue;
  command->run = run;
  if (count) {
    command->waits = halo_alloc(sizeof *waits * count);
    command->wait_count = count;
    for (cl_uint i = 0; i < count; i++) {
      command->waits[i] = waits[i];
      cpu_clRetainEvent(waits[i]);
    }
  }
  if (event) {
    command->event = *event = cpu_event_create(queue, type);
    cpu_clRetainEvent(*event);
  }
  return command;
}

static void command_free(cpu_command *command) {
  for (cl_uint i = 0; i < command->wait_count; i++) cpu_clReleaseEvent(command->waits[i]);
  halo_free(command->waits);
  if (command->event) cpu_clReleaseEvent(command->event);
  halo_free(command);
}

void cpu_command_run(cpu_command *command) {
  cl_event event = command->event;
  bool timed = event && command->queue->timed;
  cl_int status = CL_SUCCESS;
  for (cl_uint i = 0; i < command->wait_count; i++) {
    cl_event wait = command->waits[i];
    if (!cpu_event_is_over(wait)) cpu_queue_finish(wait->queue, wait);
    if (atomic_load(&wait->status) < 0) status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  }
  if (timed) event->started = cpu_now();
  if (event) atomic_store(&event->status, CL_RUNNING);
  command->status = status;
  command->run(command); /* frees what it holds; does nothing where the status is a failure */
  if (command->outcome) *command->outcome = command->status;
  if (timed) event->ended = cpu_now();
  if (event) cpu_event_end(event, command->status < 0 ? command->status : CL_COMPLETE);
  command_free(command);
}

/* ---- Copies ---- */

static void command_drop_mems(cpu_command *command) {
  for (int i = 0; i < 2; i++) {
    if (command->copy.mems[i]) cpu_clReleaseMemObject(command->copy.mems[i]);
  }
}

static void command_copy(cpu_command *command) {
  if (command->status == CL_SUCCESS && command->copy.size) {
    memmove(command->copy.to, command->copy.from, command->copy.size);
  }
  command_drop_mems(command);
}

static void command_fill(cpu_command *command) {
  size_t step = command->copy.pattern_size, size = command->copy.size;
  char *to = command->copy.to;
  bool same = true;
  for (size_t i = 1; i < step; i++) same &= command->copy.pattern[i] == command->copy.pattern[0];
  if (command->status == CL_SUCCESS && same) {
    memset(to, command->copy.pattern[0], size);
  } else if (command->status == CL_SUCCESS) {
    for (size_t at = 0; at + step <= size; at += step) memcpy(to + at, command->copy.pattern, step);
  }
  command_drop_mems(command);
}

static void command_nothing(cpu_command *command) { (void)command; }

static void command_hold(cpu_command *command, int which, cl_mem mem) {
  command->copy.mems[which] = mem;
  cpu_mem_retain(mem);
}

static bool command_fits(cl_mem mem, size_t offset, size_t size) {
  return offset <= mem->size && size <= mem->size - offset;
}

/* What is wrong with the arguments that commands on memory have in common. */
static cl_int command_check(cl_command_queue queue, cl_mem mem, cl_uint count,
                            const cl_event *waits) {
  if (!queue) return CL_INVALID_COMMAND_QUEUE;
  if (!mem) return CL_INVALID_MEM_OBJECT;
  return cpu_waits_are_valid(count, waits) ? CL_SUCCESS : CL_INVALID_EVENT_WAIT_LIST;
}

static cl_int command_send(cpu_command *command, bool wait) {
  cl_command_queue queue = command->queue;
  cl_event event = command->event;
  cl_int outcome = CL_SUCCESS;
  if (wait) command->outcome = &outcome;
  if (wait && event) cpu_clRetainEvent(event);
  cpu_command_queue(command);
  if (!wait) return CL_SUCCESS;
  cpu_queue_finish(queue, event);
  if (event) cpu_clReleaseEvent(event);
  return outcome;
}

cl_int CL_API_CALL cpu_clEnqueueReadBuffer(cl_command_queue queue, cl_mem from, cl_bool wait,
                                           size_t offset, size_t size, void *to, cl_uint count,
                                           const cl_event *waits, cl_event *event) {
  cl_int code = command_check(queue, from, count, waits);
  if (code != CL_SUCCESS) return code;
  if (!command_fits(from, offset, size) || !to) return CL_INVALID_VALUE;
  cpu_command *command =
      command_create(queue, CL_COMMAND_READ_BUFFER, count, waits, event, command_copy);
  command->copy.to = to;
  command->copy.from = from->data + offset;
  command->copy.size = size;
  command_hold(command, 0, from);
  return command_send(command, wait);
}

cl_int CL_API_CALL cpu_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem to, cl_bool wait,
                                            size_t offset, size_t size, const void *from,
                                            cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int code = command_check(queue, to, count, waits);
  if (code != CL_SUCCESS) return code;
  if (!command_fits(to, offset, size) || !from) return CL_INVALID_VALUE;
  cpu_command *command =
      command_create(queue, CL_COMMAND_WRITE_BUFFER, count, waits, event, command_copy);
  command->copy.to = to->data + offset;
  command->copy.from = from;
  command->copy.size = size;
  command_hold(command, 0, to);
  return command_send(command, wait);
}

cl_int CL_API_CALL cpu_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                           size_t from_offset, size_t to_offset, size_t size,
                                           cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int code = command_check(queue, from ? to : NULL, count, waits);
  if (code != CL_SUCCESS) return code;
  if (!command_fits(from, from_offset, size) || !command_fits(to, to_offset, size)) {
    return CL_INVALID_VALUE;
  }
  cpu_command *command =
      command_create(queue, CL_COMMAND_COPY_BUFFER, count, waits, event, command_copy);
  command->copy.to = to->data + to_offset;
  command->copy.from = from->data + from_offset;
  command->copy.size = size;
  command_hold(command, 0, from);
  command_hold(command, 1, to);
  return command_send(command, false);
}

cl_int CL_API_CALL cpu_clEnqueueFillBuffer(cl_command_queue queue, cl_mem to, const void *pattern,
                                           size_t pattern_size, size_t offset, size_t size,
                                           cl_uint count, const cl_event *waits, cl_event *event) {
  cpu_command *command;
  cl_int code = command_check(queue, to, count, waits);
  if (code != CL_SUCCESS) return code;
  bool good = pattern && pattern_size > 0 && pattern_size <= sizeof command->copy.pattern &&
              size % pattern_size == 0 && command_fits(to, offset, size);
  if (!good) return CL_INVALID_VALUE;
  command = command_create(queue, CL_COMMAND_FILL_BUFFER, count, waits, event, command_fill);
  command->copy.to = to->data + offset;
  command->copy.size = size;
  command->copy.pattern_size = pattern_size;
  memcpy(command->copy.pattern, pattern, pattern_size);
  command_hold(command, 0, to);
  return command_send(command, false);
}

void *CL_API_CALL cpu_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool wait,
                                         cl_map_flags flags, size_t offset, size_t size,
                                         cl_uint count, const cl_event *waits, cl_event *event,
                                         cl_int *code) {
  (void)flags;
  cl_int ignored;
  if (!code) code = &ignored;
  *code = command_check(queue, mem, count, waits);
  if (*code == CL_SUCCESS && !command_fits(mem, offset, size)) *code = CL_INVALID_VALUE;
  if (*code != CL_SUCCESS) return NULL;
  cpu_command *command =
      command_create(queue, CL_COMMAND_MAP_BUFFER, count, waits, event, command_nothing);
  *code = command_send(command, wait);
  return *code == CL_SUCCESS ? mem->data + offset : NULL;
}

/* A command that does nothing but come in its turn. */
static cl_int command_mark(cl_command_queue queue, cl_command_type type, cl_uint count,
                           const cl_event *waits, cl_event *event) {
  if (!queue) return CL_INVALID_COMMAND_QUEUE;
  if (!cpu_waits_are_valid(count, waits)) return CL_INVALID_EVENT_WAIT_LIST;
  return command_send(command_create(queue, type, count, waits, event, command_nothing), false);
}

cl_int CL_API_CALL cpu_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem mem, void *mapped,
                                               cl_uint count, const cl_event *waits,
                                               cl_event *event) {
  if (!mem) return CL_INVALID_MEM_OBJECT;
  if (!mapped) return CL_INVALID_VALUE;
  return command_mark(queue, CL_COMMAND_UNMAP_MEM_OBJECT, count, waits, event);
}

cl_int CL_API_CALL cpu_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count,
                                                   const cl_event *waits, cl_event *event) {
  return command_mark(queue, CL_COMMAND_MARKER, count, waits, event);
}

cl_int CL_API_CALL cpu_clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count,
                                                    const cl_event *waits, cl_event *event) {
  return command_mark(queue, CL_COMMAND_BARRIER, count, waits, event);
}

/* ---- Launches ---- */

/* Subnormal numbers count as zero, and are zero as results, until the state is put back. */
static unsigned launch_flush(bool flushes) {
#if defined(__x86_64__)
  enum { FLUSH = 0x8040 }; /* FTZ and DAZ */
  unsigned before = _mm_getcsr();
  if (flushes) _mm_setcsr(before | FLUSH);
  return before;
#else
  (void)flushes;
  return 0;
#endif
}

static void launch_restore(unsigned before) {
#if defined(__x86_64__)
  _mm_setcsr(before);
#else
  (void)before;
#endif
}

/* How many items along x and rows of them the code does at once, `left` items at most. */
static void launch_step(const cpu_command *command, const size_t at[3], size_t left,
                        size_t step[2]) {
  const size_t *groups = command->launch.groups, *local = command->launch.local;
  size_t whole = groups[0] * local[0], rows = left / whole, below = groups[1] * local[1] - at[1];
  size_t row = whole - at[0], group = local[0] - at[0] % local[0];
  step[0] = step[1] = 1;
  switch (command->launch.code->run) {
    case CPU_RUN_ITEM: break;
    case CPU_RUN_GROUP: step[0] = group < left ? group : left; break;
    case CPU_RUN_ROWS:
      if (at[0] == 0 && rows > 1) step[1] = rows < below ? rows : below;
      step[0] = row < left ? row : left;
      break;
    case CPU_RUN_ANY: step[0] = row < left ? row : left; break;
  }
}

/* Items `begin` to `end` - 1, counted along x first. */
static void launch_items(void *data, size_t begin, size_t end) {
  const cpu_command *command = data;
  cpu_code *code = command->launch.code->code;
  void *const *arguments = command->launch.arguments;
  const size_t *groups = command->launch.groups, *local = command->launch.local;
  unsigned state = launch_flush(command->launch.program->flushes);
  cpu_place place = {.groups = {groups[0], groups[1], groups[2]},
                     .sizes = {local[0], local[1], local[2]}};
  size_t global[3], step[2];
  for (int d = 0; d < 3; d++) global[d] = groups[d] * local[d];
  size_t at[3] = {begin % global[0], begin / global[0] % global[1], begin / global[0] / global[1]};
  for (size_t i = begin; i < end; i += step[0] * step[1]) {
    for (int d = 0; d < 3; d++) {
      place.global[d] = at[d] + command->launch.offset[d];
      place.group[d] = local[d] == 1 ? at[d] : at[d] / local[d];
      place.local[d] = local[d] == 1 ? 0 : at[d] % local[d];
    }
    launch_step(command, at, end - i, step);
    code(arguments, &place, place.global[0] + step[0], place.global[1] + step[1]);
    at[0] += step[0];
    if (at[0] == global[0]) {
      at[0] = 0;
      at[1] += step[1];
    }
    if (at[1] == global[1]) {
      at[1] = 0;
      at[2]++;
    }
  }
  launch_restore(state);
}

static void launch_run(cpu_command *command) {
  size_t count = 1;
  for (int d = 0; d < 3; d++) count *= command->launch.groups[d] * command->launch.local[d];
  cl_uint units = command->queue->in_caller ? 1 : command->queue->device->units;
  if (command->status == CL_SUCCESS) {
    cpu_pool_run(units, count, &command->launch.code->each, launch_items, command);
  }
  for (uint32_t i = 0; i < command->launch.mem_count; i++) {
    cpu_clReleaseMemObject(command->launch.mems[i]);
  }
  halo_free(command->launch.mems);
  halo_free(command->launch.arguments);
  atomic_fetch_sub(&command->launch.program->kernels_held, 1);
  cpu_clReleaseProgram(command->launch.program);
}

/* Copies the arguments: the kernel may be given others before the command runs. */
static void launch_take_arguments(cpu_command *command, cl_kernel kernel) {
  const cpu_kernel_code *code = kernel->code;
  uint32_t count = code->parameter_count;
  void **arguments = halo_alloc((sizeof(void *) + 8) * ((size_t)count + 1));
  char *values = (char *)(arguments + count);
  command->launch.arguments = arguments;
  command->launch.mems = halo_alloc(sizeof(cl_mem) * ((size_t)count + 1));
  for (uint32_t i = 0; i < count; i++) {
    const struct cpu_argument *a = &kernel->arguments[i];
    arguments[i] = values + 8 * (size_t)i;
    memcpy(arguments[i], a->value, 8);
    if (code->parameters[i].kind != CPU_POINTER) continue;
    char *address = a->mem ? a->mem->data : NULL;
    memcpy(arguments[i], &address, sizeof address);
    if (!a->mem) continue;
    cpu_mem_retain(a->mem);
    command->launch.mems[command->launch.mem_count++] = a->mem;
  }
}

static cl_int launch_check(cl_kernel kernel, cl_uint dims, const size_t *global,
                           const size_t *local) {
  size_t items = 1;
  if (!kernel) return CL_INVALID_KERNEL;
  if (dims < 1 || dims > 3) return CL_INVALID_WORK_DIMENSION;
  if (!global) return CL_INVALID_GLOBAL_WORK_SIZE;
  for (cl_uint d = 0; d < dims; d++) {
    if (global[d] == 0 || global[d] > INT32_MAX) return CL_INVALID_GLOBAL_WORK_SIZE;
    if (local && (local[d] == 0 || global[d] % local[d])) return CL_INVALID_WORK_GROUP_SIZE;
    if (local) items *= local[d];
  }
  if (items > 1 && kernel->code->waits) return CL_INVALID_WORK_GROUP_SIZE;
  for (uint32_t i = 0; i < kernel->code->parameter_count; i++) {
    if (!kernel->arguments[i].set) return CL_INVALID_KERNEL_ARGS;
  }
  return CL_SUCCESS;
}

cl_int CL_API_CALL cpu_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                              cl_uint dims, const size_t *offset,
                                              const size_t *global, const size_t *local,
                                              cl_uint count, const cl_event *waits,
                                              cl_event *event) {
  cl_int code = launch_check(kernel, dims, global, local);
  if (code != CL_SUCCESS) return code;
  if (!queue) return CL_INVALID_COMMAND_QUEUE;
  if (!cpu_waits_are_valid(count, waits)) return CL_INVALID_EVENT_WAIT_LIST;
  cpu_command *command =
      command_create(queue, CL_COMMAND_NDRANGE_KERNEL, count, waits, event, launch_run);
  for (cl_uint d = 0; d < 3; d++) {
    size_t items = d < dims && local ? local[d] : 1;
    command->launch.local[d] = items;
    command->launch.groups[d] = d < dims ? global[d] / items : 1;
    command->launch.offset[d] = d < dims && offset ? offset[d] : 0;
  }
  command->launch.code = kernel->code;
  command->launch.program = kernel->program;
  atomic_fetch_add(&kernel->program->kernels_held, 1); /* its code is needed until it has run */
  atomic_fetch_add(&kernel->program->references, 1);
  launch_take_arguments(command, kernel);
  return command_send(command, false);
}
