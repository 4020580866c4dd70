/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/execute.c: running executables. */
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

/* One call. The lists lie in one piece of memory. */
typedef struct execute_call {
  const PJRT_LoadedExecutable_Execute_Args *args;
  pjrt_core *core;
  halo_executable *executable;
  PJRT_Device *const *devices;
  size_t device_count, array_count, result_count; /* the latter two without tokens */
  void *memory;
  halo_buffer **arguments, **results;  /* [device][array]; arguments with a reference each */
  halo_buffer *const **argument_lists; /* [device] */
  halo_buffer **const *result_lists, ***lists; /* [device], the same */
  halo_event **done;                           /* [device] */
  halo_event **after;                          /* of token arguments; a reference each */
  int after_count;
  bool *given; /* by slot of the arguments: to be donated */
  int *donated;
  int donated_count;
  pjrt_channels **channels;           /* [device]; NULL: none in use */
  const halo_channel **channel_lists; /* [device] */
  int *channel_counts;                /* [device] */
  bool has_channels;
} execute_call;

static size_t execute_arrays(const pjrt_slots *slots) {
  size_t count = 0;
  for (size_t i = 0; i < slots->count; i++) count += slots->data[i].index >= 0;
  return count;
}

static void execute_init(execute_call *call) {
  size_t devices = call->device_count, slots = call->core->arguments.count;
  call->array_count = execute_arrays(&call->core->arguments);
  call->result_count = execute_arrays(&call->core->results);
  size_t arguments = devices * call->array_count, results = devices * call->result_count;
  size_t tokens = devices * slots;
  size_t pointers = arguments + results + 5 * devices + tokens;
  char *at = call->memory = pjrt_alloc(sizeof(void *) * pointers + sizeof(int) * (devices + slots) +
                                       sizeof(bool) * slots);
  call->arguments = (void *)at;
  call->results = call->arguments + arguments;
  call->argument_lists = (void *)(call->results + results);
  call->lists = (void *)(call->argument_lists + devices);
  call->result_lists = (void *)call->lists;
  call->done = (void *)(call->lists + devices);
  call->channels = (void *)(call->done + devices);
  call->channel_lists = (void *)(call->channels + devices);
  call->after = (void *)(call->channel_lists + devices);
  call->channel_counts = (void *)(call->after + tokens);
  call->donated = call->channel_counts + devices;
  call->given = (void *)(call->donated + slots);
  for (size_t d = 0; d < devices; d++) {
    call->argument_lists[d] = call->arguments + d * call->array_count;
    call->lists[d] = call->results + d * call->result_count;
  }
}

static void execute_deinit(execute_call *call) {
  size_t arguments = call->device_count * call->array_count;
  for (size_t i = 0; i < arguments; i++) halo_buffer_release(call->arguments[i]);
  for (int i = 0; i < call->after_count; i++) halo_event_release(call->after[i]);
  free(call->memory);
}

/* ---- What it is called with ---- */

static PJRT_Error *execute_check(execute_call *call) {
  const PJRT_LoadedExecutable_Execute_Args *args = call->args;
  const pjrt_core *core = call->core;
  if (args->executable->deleted) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "%s was deleted", core->name);
  }
  if (args->num_devices != call->device_count) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "%s runs on %zu device%s, arguments for %zu were given", core->name,
                      call->device_count, call->device_count == 1 ? "" : "s", args->num_devices);
  }
  if (call->device_count == 0) return NULL; /* which takes nothing */
  if (args->num_args != core->arguments.count) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "%s takes %zu argument%s, %zu %s given",
                      core->name, core->arguments.count, core->arguments.count == 1 ? "" : "s",
                      args->num_args, args->num_args == 1 ? "was" : "were");
  }
  const PJRT_ExecuteOptions *options = args->options;
  if (options && ((options->num_send_ops && !options->send_callbacks) ||
                  (options->num_recv_ops && !options->recv_callbacks))) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "%s: the list of callbacks is NULL",
                      core->name);
  }
  for (size_t d = 0; d < call->device_count; d++) {
    if ((args->num_args && !(args->argument_lists && args->argument_lists[d])) ||
        (core->results.count && !(args->output_lists && args->output_lists[d]))) {
      return pjrt_error(
          PJRT_Error_Code_INVALID_ARGUMENT,
          "%s: the list of arguments or that of results is NULL for device %zu of %zu", core->name,
          d, call->device_count);
    }
  }
  return NULL;
}

/* Which device it runs on, if the caller says so. */
static PJRT_Error *execute_choose(execute_call *call) {
  PJRT_Device *device = PJRT_HAS(call->args, execute_device) ? call->args->execute_device : NULL;
  call->device_count = call->core->device_count;
  call->devices = call->core->devices;
  call->executable = call->core->executable;
  if (!device) return NULL;
  call->device_count = 1;
  call->devices = &call->args->execute_device;
  return pjrt_core_at(call->core, device, &call->executable);
}

static PJRT_Error *execute_borrow(execute_call *call, size_t device, size_t index) {
  const pjrt_slot *slot = &call->core->arguments.data[index];
  PJRT_Buffer *buffer = call->args->argument_lists[device][index];
  halo_buffer *value;
  if (!buffer) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "argument %zu of %s is NULL", index,
                      call->core->name);
  }
  if (slot->index < 0) {
    pthread_mutex_lock(&buffer->lock);
    halo_event *made = buffer->made;
    halo_event_retain(made);
    pthread_mutex_unlock(&buffer->lock);
    if (made) call->after[call->after_count++] = made;
    return NULL;
  }
  if (buffer->memory->device != call->devices[device]) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "argument %zu of %s lies on device %d, and the program runs on device %d",
                      index, call->core->name, buffer->memory->device->description.id,
                      call->devices[device]->description.id);
  }
  PJRT_PASS(pjrt_buffer_borrow(buffer, &value));
  if (value) {
    call->arguments[device * call->array_count + (size_t)slot->index] = value;
    return NULL;
  }
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "argument %zu of %s is a token", index,
                    call->core->name);
}

static PJRT_Error *execute_borrow_all(execute_call *call) {
  for (size_t d = 0; d < call->device_count; d++) {
    for (size_t i = 0; i < call->core->arguments.count; i++) {
      PJRT_PASS(execute_borrow(call, d, i));
    }
  }
  return NULL;
}

/* ---- Donation ---- */

/* Not with any other argument's memory. Frameworks know the errors by their first words. */
static PJRT_Error *execute_check_donated(const execute_call *call, size_t device, size_t index) {
  PJRT_Buffer *const *list = call->args->argument_lists[device];
  for (size_t i = 0; i < call->core->arguments.count; i++) {
    if (i == index || list[i] != list[index]) continue;
    bool twice = call->given[i], after = i > index;
    const char *what =
        twice   ? "donate the same buffer twice in Execute()"
        : after ? "use a buffer that was previously donated in the same call to Execute()"
                : "donate a buffer which is also used by the same call to Execute()";
    const char *example = twice ? "donate(a), donate(a)" : after ? "donate(a), a" : "a, donate(a)";
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "Attempt to %s (flattened argument %zu, replica %d, partition %d, first use: "
                      "%zu). Toy example for this bug: `f(%s)`.",
                      what, after ? i : index, call->core->parts[device].replica,
                      call->core->parts[device].partition, after ? index : i, example);
  }
  return NULL;
}

/* What the module offers and the caller allows is given away. Memory that views see stays: the program gets
 * other memory for its result then. */
static PJRT_Error *execute_find_donated(execute_call *call) {
  const PJRT_ExecuteOptions *options = call->args->options;
  const pjrt_slots *slots = &call->core->arguments;
  bool any = false;
  for (size_t i = 0; i < slots->count; i++) any |= call->given[i] = slots->data[i].offered;
  if (!any) return NULL;
  bool kept = options && PJRT_HAS(options, num_non_donatable_input_indices) &&
              options->non_donatable_input_indices;
  for (size_t i = 0; kept && i < options->num_non_donatable_input_indices; i++) {
    int64_t index = options->non_donatable_input_indices[i];
    if (index >= 0 && (size_t)index < slots->count) call->given[index] = false;
  }
  for (size_t i = 0; i < slots->count; i++) {
    if (!call->given[i]) continue;
    bool seen = false;
    for (size_t d = 0; d < call->device_count; d++) {
      PJRT_Buffer *buffer = call->args->argument_lists[d][i];
      PJRT_PASS(execute_check_donated(call, d, i));
      pthread_mutex_lock(&buffer->lock);
      seen |= buffer->references > 0;
      pthread_mutex_unlock(&buffer->lock);
    }
    if (!seen) call->donated[call->donated_count++] = slots->data[i].index;
  }
  return NULL;
}

/* ---- Running ---- */

/* The channels of a run are its own until it is over. */
static void execute_release_channels(halo_status status, const char *message, void *data) {
  (void)status;
  (void)message;
  pjrt_channels_release(data);
}

static bool execute_make_channels(execute_call *call) {
  const PJRT_ExecuteOptions *options = call->args->options;
  if (!options || (options->num_send_ops == 0 && options->num_recv_ops == 0)) return false;
  for (size_t d = 0; d < call->device_count; d++) {
    call->channels[d] = pjrt_channels_create(options, d);
    call->channel_lists[d] = pjrt_channels_list(call->channels[d], &call->channel_counts[d]);
  }
  return true;
}

static void execute_release_context(halo_status status, const char *message, void *data) {
  (void)status;
  (void)message;
  pjrt_context_release(data);
}

/* What handlers find there they find until each device's part is over, though the caller destroys it before. */
static void execute_keep_context(const execute_call *call, PJRT_ExecuteContext *context) {
  for (size_t d = 0; d < call->device_count; d++) {
    pjrt_context_retain(context);
    if (halo_event_on_ready(call->done[d], execute_release_context, context) != HALO_OK) {
      pjrt_context_release(context);
    }
  }
}

static PJRT_Error *execute_start(execute_call *call) {
  const PJRT_ExecuteOptions *given = call->args->options;
  PJRT_ExecuteContext *context = given && PJRT_HAS(given, context) ? given->context : NULL;
  bool channels = call->has_channels = execute_make_channels(call);
  const halo_execute_options options = {
      .donated = call->donated,
      .donated_count = call->donated_count,
      .after = call->after,
      .after_count = call->after_count,
      .channels = channels ? call->channel_lists : NULL,
      .channel_counts = call->channel_counts,
      .done = call->done,
      .context = context,
  };
  uint64_t began = pjrt_profiler_begin();
  halo_status status = halo_executable_execute_all(
      call->executable, call->argument_lists, (int)call->array_count, &options, call->result_lists);
  PJRT_Error *error =
      pjrt_buffer_error(status, call->arguments, call->device_count * call->array_count);
  for (size_t d = 0; d < call->device_count && !error; d++) {
    pjrt_profiler_add(call->core->name, call->devices[d], began, call->done[d]);
  }
  if (context && !error) execute_keep_context(call, context);
  for (size_t d = 0; d < call->device_count && channels; d++) {
    if (error || halo_event_on_ready(call->done[d], execute_release_channels, call->channels[d]) !=
                     HALO_OK) {
      pjrt_channels_release(call->channels[d]);
    }
  }
  return error;
}

/* Runs that may have effects on the host complete in order; others are not kept waiting. */
static PJRT_Event *execute_complete(const execute_call *call, size_t device) {
  bool in_order = call->has_channels || call->core->has_calls;
  return in_order ? pjrt_completions_add(call->devices[device]->completions, call->done[device])
                  : pjrt_event_of(call->done[device]);
}

static void execute_hand_out(execute_call *call) {
  const PJRT_LoadedExecutable_Execute_Args *args = call->args;
  const pjrt_slots *results = &call->core->results;
  for (size_t d = 0; d < call->device_count; d++) {
    PJRT_Device *device = call->devices[d];
    for (size_t i = 0; i < results->count; i++) {
      const pjrt_slot *slot = &results->data[i];
      PJRT_Memory *memory =
          device->memories[(size_t)slot->memory < device->memory_count ? slot->memory : 0];
      if (slot->index >= 0) {
        args->output_lists[d][i] = pjrt_buffer_wrap(memory, call->lists[d][slot->index]);
      } else {
        halo_event_retain(call->done[d]);
        args->output_lists[d][i] = pjrt_buffer_token(memory, call->done[d]);
      }
    }
    if (args->device_complete_events) {
      args->device_complete_events[d] = execute_complete(call, d);
    } else {
      halo_event_release(call->done[d]);
    }
    for (size_t i = 0; i < call->core->arguments.count; i++) {
      if (call->given[i]) pjrt_buffer_delete(args->argument_lists[d][i]);
    }
  }
}

PJRT_Error *pjrt_LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args *args) {
  execute_call call = {.args = args, .core = args->executable->core};
  PJRT_PASS(execute_choose(&call));
  PJRT_PASS(execute_check(&call));
  execute_init(&call);
  PJRT_Error *error = execute_borrow_all(&call);
  if (!error) error = execute_find_donated(&call);
  if (!error) error = execute_start(&call);
  if (!error) execute_hand_out(&call);
  execute_deinit(&call);
  return error;
}
