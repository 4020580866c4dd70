/* SPDX-License-Identifier: Apache-2.0 */
/* client/execute.c: running executables on buffers and on literals. */
#include "base/memory.h"
#include "client/executable.h"
#include "plan/plan.h"
#include "shape/literal.h"

#include <string.h>

/* ---- Arguments ---- */

static halo_status execute_check_argument(const halo_executable *e, const halo_placement *at, int i,
                                          const halo_buffer *argument) {
  const halo_plan *plan = halo_executable_plan(e);
  if (!argument) {
    return halo_fail(HALO_INVALID_ARGUMENT, "argument %d of %s is NULL", i, plan->name);
  }
  if (argument->device->client != e->client) {
    return halo_fail(HALO_INVALID_ARGUMENT, "argument %d of %s belongs to another client", i,
                     plan->name);
  }
  if (argument->device != at->device) {
    return halo_fail(HALO_INVALID_ARGUMENT, "argument %d of %s lies on device %d, not on device %d",
                     i, plan->name, argument->device->index, at->device->index);
  }
  const halo_shape *want = plan->arguments[i], *got = argument->shape;
  if (halo_shape_equal(want, got)) return HALO_OK;
  char want_text[256], got_text[256];
  halo_shape_texts(want, got, want_text, got_text, sizeof want_text);
  if (halo_shape_byte_size(want) != halo_shape_byte_size(got)) {
    /* Frameworks look for these words. */
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "argument %d of %s must be %s: got buffer with incompatible size, %s", i,
                     plan->name, want_text, got_text);
  }
  return halo_fail(HALO_INVALID_ARGUMENT, "argument %d of %s must be %s, %s was given", i,
                   plan->name, want_text, got_text);
}

static halo_status execute_check(const halo_executable *e, const halo_placement *at,
                                 halo_buffer *const *arguments, int count) {
  const halo_plan *plan = halo_executable_plan(e);
  int wanted = halo_plan_visible_arguments(plan);
  if (count != wanted) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s takes %d argument%s, %d %s given", plan->name,
                     wanted, halo_plural(wanted), count, count == 1 ? "was" : "were");
  }
  for (int i = 0; i < count; i++) {
    HALO_TRY(execute_check_argument(e, at, i, arguments ? arguments[i] : NULL));
  }
  return HALO_OK;
}

/* What an execution needs of its options, checked. */
typedef struct execute_plan {
  halo_device_value **values; /* room for one device's arguments, sizes of dynamic ones included, */
  halo_device_value **outputs; /* and its results; in one piece of memory with the rest */
  halo_cl_event **after;
  int after_count;
  halo_run **held; /* by device: runs that wait for others; NULL where there is one device */
  bool *donated;   /* by argument */
  const halo_execute_options *options;
} execute_plan;

static void execute_forget(execute_plan *x) { halo_free(x->values); }

static halo_status execute_prepare(const halo_plan *plan, const halo_execute_options *options,
                                   int devices, execute_plan *x) {
  static const halo_execute_options defaults;
  int count = halo_plan_visible_arguments(plan), all = plan->argument_count;
  if (!options) options = &defaults;
  size_t events = options->after_count > 0 ? (size_t)options->after_count : 0;
  size_t held = devices > 1 && plan->is_shared ? (size_t)devices : 0;
  size_t pointers = (size_t)all + (size_t)plan->result_count + events + held;
  void *memory;
  x->values = NULL;
  x->held = NULL;
  HALO_TRY(halo_try_alloc(sizeof(void *) * pointers + (size_t)all + 1,
                          "the arguments and results of a run", &memory));
  x->values = memory;
  x->outputs = x->values + all;
  x->after = (halo_cl_event **)(x->outputs + plan->result_count);
  x->after_count = options->after_count;
  x->options = options;
  x->held = held ? (halo_run **)(x->after + events) : NULL;
  for (size_t d = 0; d < held; d++) x->held[d] = NULL;
  x->donated = (bool *)(x->after + events + held);
  if (options->donated_count < 0 || (options->donated_count && !options->donated)) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_execute_options: no list of %d donated arguments",
                     options->donated_count);
  }
  for (int i = 0; i < options->donated_count; i++) {
    int index = options->donated[i];
    if (index < 0 || index >= count) {
      return halo_fail(HALO_INVALID_ARGUMENT, "donated argument %d: there %s %d argument%s", index,
                       count == 1 ? "is" : "are", count, halo_plural(count));
    }
    x->donated[index] = true;
  }
  if (options->channels && !options->channel_counts) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_execute_options: channels without their counts");
  }
  if (options->after_count < 0 || (options->after_count && !options->after)) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_execute_options: no list of %d events",
                     options->after_count);
  }
  for (int i = 0; i < options->after_count; i++) {
    if (options->after[i]) x->after[i] = halo_event_inner(options->after[i]);
  }
  return HALO_OK;
}

/* ---- Running ---- */

/* Gives back what execute_take took; NULL for `donated`: what was given away stays away. */
static void execute_untake(halo_buffer *const *arguments, int count, const bool *donated,
                           halo_device_value **values) {
  for (int i = 0; i < count; i++) {
    if (!values[i]) continue;
    if (donated[i]) {
      halo_buffer_undonate(arguments[i], values[i]);
    } else {
      halo_device_value_release(values[i]);
    }
  }
}

/* Borrows or donates each argument's value; on failure everything is as before. Donations go first, so
 * that a buffer which is given twice cannot be given away. */
static halo_status execute_take(halo_buffer *const *arguments, int count, const bool *donated,
                                halo_device_value **values) {
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < count; i++) {
      if (donated[i] != (pass == 0)) continue;
      halo_status status = donated[i] ? halo_buffer_donate(arguments[i], &values[i])
                                      : halo_buffer_borrow(arguments[i], &values[i]);
      if (status == HALO_OK) continue;
      execute_untake(arguments, count, donated, values);
      return halo_fail_in(status, "argument %d", i);
    }
  }
  return HALO_OK;
}

static bool execute_returns(const halo_plan *plan, int argument) {
  for (int32_t r = 0; r < plan->result_count; r++) {
    const halo_plan_buffer *b = &plan->buffers.data[plan->result_buffers[r]];
    if (b->place == HALO_PLACE_ARGUMENT && b->index == argument) return true;
  }
  return false;
}

/* A result that is an argument shares its memory; but not the host's, which was lent for that argument alone: front ends
 * make copies by programs that return what they are given. */
static halo_status execute_own(const halo_plan *plan, halo_device_value **values, int count) {
  for (int i = 0; i < count; i++) {
    /* While a value is pending its block is its maker's to set; memory that was lent is there at once. */
    if (!halo_cl_event_is_queued(values[i]->ready)) continue;
    if (!values[i]->block || !values[i]->block->lent || !execute_returns(plan, i)) continue;
    halo_device_value *copy;
    HALO_TRY(halo_transfer_across(values[i], values[i]->block->size, values[i]->device,
                                  "a copy of the host's memory", &copy));
    halo_device_value_release(values[i]);
    values[i] = copy;
  }
  return HALO_OK;
}

/* The sizes of dynamic arguments, behind the arguments. */
static void execute_take_sizes(halo_buffer *const *arguments, int count,
                               halo_device_value **values) {
  int next = count;
  for (int i = 0; i < count; i++) {
    int32_t sizes = halo_shape_dynamic_count(arguments[i]->shape);
    for (int32_t s = 0; s < sizes; s++) {
      values[next] = arguments[i]->sizes[s];
      halo_device_value_retain(values[next++]);
    }
  }
}

/* The results as buffers, which take the sizes of dynamic ones from behind the results. */
static void execute_wrap(const halo_plan *plan, halo_device *device, halo_device_value **outputs,
                         halo_buffer **results) {
  int count = halo_plan_visible_results(plan), next = count;
  for (int r = 0; r < count; r++) {
    int32_t dynamic = halo_shape_dynamic_count(plan->results[r]);
    halo_device_value **sizes = dynamic ? halo_alloc(sizeof *sizes * (size_t)dynamic) : NULL;
    for (int32_t s = 0; s < dynamic; s++) sizes[s] = outputs[next++];
    results[r] = halo_buffer_wrap(device, plan->results[r], outputs[r], sizes, plan);
  }
}

/* One device's part. */
static halo_status execute_at(const halo_executable *e, int device, halo_buffer *const *arguments,
                              execute_plan *x, uint64_t number, halo_buffer **results) {
  const halo_plan *plan = halo_executable_plan(e);
  const halo_placement *at = &e->placements[device];
  const halo_execute_options *options = x->options;
  halo_cl_event *done = NULL;
  int count = halo_plan_visible_arguments(plan);
  halo_device_value **values = x->values, **outputs = x->outputs;
  for (int i = 0; i < plan->argument_count; i++) values[i] = NULL;
  halo_status status = execute_take(arguments, count, x->donated, values);
  if (status == HALO_OK) {
    bool began = false;
    execute_take_sizes(arguments, count, values);
    status = execute_own(plan, values, count);
    halo_run_options run = {.after = x->after,
                            .after_count = x->after_count,
                            .number = number,
                            .device = at->device->index,
                            .context = options->context};
    if (options->channels) {
      run.channels = options->channels[device];
      run.channel_count = options->channel_counts[device];
    }
    if (options->done) run.done = &done;
    if (x->held) run.held = &x->held[device];
    if (status == HALO_OK) {
      status = halo_program_run(at->program, values, x->donated, &run, outputs, &began);
    }
    /* What was given away comes back from a run that failed before it touched anything; else the run
     * has its reference. */
    for (int i = 0; i < count; i++) {
      if (x->donated[i] && (status == HALO_OK || began)) values[i] = NULL;
    }
    execute_untake(arguments, plan->argument_count, x->donated, values);
  }
  if (status == HALO_OK) execute_wrap(plan, at->device, outputs, results);
  if (done) options->done[device] = halo_event_wrap(e->client, done);
  return status;
}

/* Parts that are all here, and have only each other to wait for, need no threads: they go on in turn. What is left gets
 * one. */
static void execute_go_on(execute_plan *x, int devices) {
  bool any = x->held != NULL;
  while (any) {
    any = false;
    for (int d = 0; d < devices; d++) {
      bool moved;
      if (!x->held[d]) continue;
      if (halo_run_go_on(x->held[d], &moved)) x->held[d] = NULL;
      any |= moved;
    }
  }
  for (int d = 0; d < devices && x->held; d++) {
    if (x->held[d]) halo_run_let_go(x->held[d]);
  }
}

/* A part that does not begin must not be waited for. */
static void execute_tell(const halo_executable *e, const halo_placement *at, uint64_t number) {
  char *message = halo_error_save();
  halo_world_fail(e->team.world, e->team.program, number, halo_device_id(at->device),
                  message ? message : "");
  halo_error_restore(message);
}

static halo_status execute_check_alone(const halo_executable *e) {
  if (e->placement_count == 1) return HALO_OK;
  return halo_fail(HALO_INVALID_ARGUMENT,
                   "%s was compiled for %d devices: halo_executable_execute_all runs it",
                   halo_executable_plan(e)->name, e->placement_count);
}

halo_status halo_executable_execute(halo_executable *e, halo_buffer *const *arguments,
                                    int argument_count, const halo_execute_options *options,
                                    halo_buffer **results) {
  if (!e) return halo_fail(HALO_INVALID_ARGUMENT, "halo_executable_execute: NULL executable");
  HALO_TRY(execute_check_alone(e));
  return halo_executable_execute_all(e, &arguments, argument_count, options, &results);
}

halo_status halo_executable_execute_all(halo_executable *e, halo_buffer *const *const *arguments,
                                        int argument_count, const halo_execute_options *options,
                                        halo_buffer **const *results) {
  if (!e) return halo_fail(HALO_INVALID_ARGUMENT, "halo_executable_execute: NULL executable");
  const halo_plan *plan = halo_executable_plan(e);
  int result_count = halo_plan_visible_results(plan), devices = e->placement_count;
  for (int d = 0; d < devices && result_count; d++) {
    if (!results || !results[d]) {
      return halo_fail(HALO_INVALID_ARGUMENT, "halo_executable_execute: results is NULL");
    }
  }
  for (int d = 0; d < devices; d++) {
    for (int r = 0; r < result_count; r++) results[d][r] = NULL;
    if (options && options->done) options->done[d] = NULL;
  }
  if (argument_count && !arguments) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_executable_execute: arguments is NULL");
  }
  if (devices == 0) return HALO_OK;
  for (int d = 0; d < devices; d++) {
    HALO_TRY(execute_check(e, &e->placements[d], argument_count > 0 ? arguments[d] : NULL,
                           argument_count));
  }
  execute_plan x;
  uint64_t number = 1 + atomic_fetch_add(e->runs, 1);
  halo_status status = execute_prepare(plan, options, devices, &x);
  if (status != HALO_OK && plan->is_shared) execute_tell(e, &e->placements[0], number);
  for (int d = 0; d < devices && status == HALO_OK; d++) {
    status = execute_at(e, d, argument_count ? arguments[d] : NULL, &x, number,
                        result_count ? results[d] : NULL);
    if (status != HALO_OK && plan->is_shared) execute_tell(e, &e->placements[d], number);
  }
  char *message = status == HALO_OK ? NULL : halo_error_save();
  execute_go_on(&x, devices);
  execute_forget(&x);
  if (status == HALO_OK) return HALO_OK;
  for (int d = 0; d < devices; d++) {
    for (int r = 0; r < result_count; r++) {
      halo_buffer_release(results[d][r]);
      results[d][r] = NULL;
    }
    if (!options || !options->done) continue;
    halo_event_release(options->done[d]);
    options->done[d] = NULL;
  }
  halo_error_restore(message);
  return status;
}

/* ---- Literals ---- */

/* One buffer a leaf, in the layouts the program wants. */
static halo_status execute_upload(halo_executable *e, const halo_literal *literal,
                                  halo_buffer **buffers, int *next) {
  if (halo_shape_is_tuple(literal->shape)) {
    for (int i = 0; i < literal->shape->count; i++) {
      HALO_TRY(execute_upload(e, literal->elements[i], buffers, next));
    }
    return HALO_OK;
  }
  if (!halo_shape_is_array(literal->shape)) return HALO_OK;
  const halo_shape *want = halo_executable_plan(e)->arguments[*next];
  halo_device *device = halo_executable_home(e);
  halo_buffer **buffer = &buffers[(*next)++];
  if (halo_shape_is_dynamic(want)) {
    return halo_buffer_put_sized(device, literal->data, NULL, want, literal->shape->dims, buffer);
  }
  return halo_buffer_put(device, literal->data, NULL, want, buffer, NULL);
}

static halo_status execute_download(const halo_shape *shape, halo_buffer **buffers, int *next,
                                    halo_literal **out) {
  if (halo_shape_is_array(shape)) return halo_buffer_to_literal(buffers[(*next)++], out);
  if (!halo_shape_is_tuple(shape)) return halo_literal_create(shape, out);
  void *memory;
  HALO_TRY(halo_try_alloc(sizeof(halo_literal *) * (size_t)shape->count, "a result", &memory));
  halo_literal **elements = memory;
  halo_status status = HALO_OK;
  for (int i = 0; i < shape->count && status == HALO_OK; i++) {
    status = execute_download(shape->elements[i], buffers, next, &elements[i]);
  }
  if (status == HALO_OK) status = halo_literal_create_tuple(shape->count, elements, out);
  for (int i = 0; i < shape->count; i++) halo_literal_release(elements[i]);
  halo_free(elements);
  return status;
}

static halo_status execute_check_literals(const halo_executable *e, halo_literal *const *arguments,
                                          int count) {
  const char *name = halo_executable_plan(e)->name;
  if (count != e->parameter_count) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s takes %d parameter%s, %d %s given", name,
                     e->parameter_count, halo_plural(e->parameter_count), count,
                     count == 1 ? "was" : "were");
  }
  for (int i = 0; i < count; i++) {
    if (!arguments || !arguments[i]) {
      return halo_fail(HALO_INVALID_ARGUMENT, "parameter %d of %s is NULL", i, name);
    }
    if (halo_shape_fits(arguments[i]->shape, e->parameters[i])) continue;
    char want[256], got[256];
    halo_shape_to_text(e->parameters[i], false, want, sizeof want);
    halo_shape_to_text(arguments[i]->shape, false, got, sizeof got);
    return halo_fail(HALO_INVALID_ARGUMENT, "parameter %d of %s must be %s, %s was given", i, name,
                     want, got);
  }
  return HALO_OK;
}

halo_status halo_executable_run(halo_executable *e, halo_literal *const *arguments,
                                int argument_count, halo_literal **result) {
  if (!e || !result) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_executable_run: NULL argument");
  }
  *result = NULL;
  HALO_TRY(execute_check_literals(e, arguments, argument_count));
  HALO_TRY(execute_check_alone(e));
  const halo_plan *plan = halo_executable_plan(e);
  int inputs = halo_plan_visible_arguments(plan), outputs = halo_plan_visible_results(plan);
  void *memory;
  HALO_TRY(halo_try_alloc(sizeof(halo_buffer *) * ((size_t)inputs + (size_t)outputs),
                          "the buffers of a run", &memory));
  halo_buffer **buffers = memory, **results = buffers + inputs;
  halo_status status = HALO_OK;
  int next = 0;
  for (int i = 0; i < argument_count && status == HALO_OK; i++) {
    status = execute_upload(e, arguments[i], buffers, &next);
  }
  if (status == HALO_OK) {
    status = halo_executable_execute(e, buffers, inputs, NULL, results);
  } else if (plan->is_shared) {
    execute_tell(e, &e->placements[0], 1 + atomic_fetch_add(e->runs, 1));
  }
  next = 0;
  if (status == HALO_OK) status = execute_download(e->result, results, &next, result);
  for (int i = 0; i < inputs; i++) halo_buffer_release(buffers[i]);
  for (int i = 0; i < outputs; i++) halo_buffer_release(results[i]);
  halo_free(memory);
  return status;
}
