/* client/execute.c: running executables on buffers and on literals. */
#include "base/memory.h"
#include "client/executable.h"
#include "plan/plan.h"
#include "shape/literal.h"

#include <string.h>

static halo_status execute_check(const halo_executable *e, halo_buffer *const *arguments,
                                 int count) {
  const halo_plan *plan = halo_program_plan(e->program);
  if (count != plan->argument_count) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s takes %d arguments, %d were given", plan->name,
                     plan->argument_count, count);
  }
  for (int i = 0; i < count; i++) {
    if (!arguments || !arguments[i]) {
      return halo_fail(HALO_INVALID_ARGUMENT, "argument %d of %s is NULL", i, plan->name);
    }
    if (arguments[i]->client != e->client) {
      return halo_fail(HALO_INVALID_ARGUMENT, "argument %d of %s belongs to another client", i,
                       plan->name);
    }
    const halo_shape *want = plan->arguments[i], *got = arguments[i]->shape;
    if (halo_shape_equal(want, got)) continue;
    char want_text[256], got_text[256];
    halo_shape_to_text(want, true, want_text, sizeof want_text);
    halo_shape_to_text(got, true, got_text, sizeof got_text);
    return halo_fail(HALO_INVALID_ARGUMENT, "argument %d of %s must be %s, %s was given", i,
                     plan->name, want_text, got_text);
  }
  return HALO_OK;
}

/* Gives back what execute_take took; NULL for `donated`: what was given away stays away. */
static void execute_untake(halo_buffer *const *arguments, int count, const bool *donated,
                           halo_cl_block **blocks) {
  for (int i = 0; i < count; i++) {
    if (!blocks[i]) continue;
    if (donated && donated[i]) {
      halo_buffer_undonate(arguments[i], blocks[i]);
    } else {
      halo_cl_free(blocks[i]);
    }
  }
}

/* Borrows or donates each argument's block; on failure everything is as before. Donations go first, so
 * that a buffer which is given twice cannot be given away. */
static halo_status execute_take(halo_buffer *const *arguments, int count, const bool *donated,
                                halo_cl_block **blocks) {
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < count; i++) {
      if (donated[i] != (pass == 0)) continue;
      halo_status status = donated[i] ? halo_buffer_donate(arguments[i], &blocks[i])
                                      : halo_buffer_borrow(arguments[i], &blocks[i]);
      if (status == HALO_OK) continue;
      execute_untake(arguments, count, donated, blocks);
      return halo_fail_in(status, "argument %d", i);
    }
  }
  return HALO_OK;
}

static halo_status execute_donations(int count, const halo_execute_options *options,
                                     bool *donated) {
  if (!options || options->donated_count == 0) return HALO_OK;
  if (options->donated_count < 0 || !options->donated) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_execute_options: no list of %d donated arguments",
                     options->donated_count);
  }
  for (int i = 0; i < options->donated_count; i++) {
    int index = options->donated[i];
    if (index < 0 || index >= count) {
      return halo_fail(HALO_INVALID_ARGUMENT, "donated argument %d: there are %d arguments", index,
                       count);
    }
    donated[index] = true;
  }
  return HALO_OK;
}

halo_status halo_executable_execute(halo_executable *e, halo_buffer *const *arguments,
                                    int argument_count, const halo_execute_options *options,
                                    halo_buffer **results) {
  if (!e) return halo_fail(HALO_INVALID_ARGUMENT, "halo_executable_execute: NULL executable");
  const halo_plan *plan = halo_program_plan(e->program);
  if (plan->result_count && !results) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_executable_execute: results is NULL");
  }
  for (int r = 0; r < plan->result_count; r++) results[r] = NULL;
  HALO_TRY(execute_check(e, arguments, argument_count));
  bool *donated = halo_alloc((size_t)argument_count + 1);
  halo_cl_block **blocks = halo_alloc(sizeof *blocks * ((size_t)argument_count + 1));
  halo_cl_block **outputs = halo_alloc(sizeof *outputs * ((size_t)plan->result_count + 1));
  cl_event ready = NULL;
  halo_status status = execute_donations(argument_count, options, donated);
  bool taken = false, began = false;
  if (status == HALO_OK) {
    status = execute_take(arguments, argument_count, donated, blocks);
    taken = status == HALO_OK;
  }
  if (status == HALO_OK) {
    status = halo_program_run(e->program, blocks, donated, outputs, &ready, &began);
  }
  for (int r = 0; status == HALO_OK && r < plan->result_count; r++) {
    if (ready) clRetainEvent(ready);
    results[r] = halo_buffer_wrap(e->client, plan->results[r], outputs[r], ready);
  }
  if (ready) clReleaseEvent(ready);
  /* What was given away comes back from a run that failed before it touched anything. */
  bool untouched = status != HALO_OK && !began;
  if (taken) execute_untake(arguments, argument_count, untouched ? donated : NULL, blocks);
  halo_free(donated);
  halo_free(blocks);
  halo_free(outputs);
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
  const halo_shape *want = halo_program_plan(e->program)->arguments[*next];
  HALO_TRY(halo_buffer_from_host(e->client, literal->data, want, &buffers[*next]));
  ++*next;
  return HALO_OK;
}

static halo_status execute_download(const halo_shape *shape, halo_buffer **buffers, int *next,
                                    halo_literal **out) {
  if (halo_shape_is_array(shape)) return halo_buffer_to_literal(buffers[(*next)++], out);
  if (!halo_shape_is_tuple(shape)) return halo_literal_create(shape, out);
  halo_literal **elements = halo_alloc(sizeof *elements * ((size_t)shape->count + 1));
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
  const char *name = halo_program_plan(e->program)->name;
  if (count != e->parameter_count) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s takes %d parameters, %d were given", name,
                     e->parameter_count, count);
  }
  for (int i = 0; i < count; i++) {
    if (!arguments || !arguments[i]) {
      return halo_fail(HALO_INVALID_ARGUMENT, "parameter %d of %s is NULL", i, name);
    }
    if (halo_shape_compatible(arguments[i]->shape, e->parameters[i])) continue;
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
  const halo_plan *plan = halo_program_plan(e->program);
  halo_buffer **buffers = halo_alloc(sizeof *buffers * ((size_t)plan->argument_count + 1));
  halo_buffer **results = halo_alloc(sizeof *results * ((size_t)plan->result_count + 1));
  halo_status status = HALO_OK;
  int next = 0;
  for (int i = 0; i < argument_count && status == HALO_OK; i++) {
    status = execute_upload(e, arguments[i], buffers, &next);
  }
  if (status == HALO_OK) {
    status = halo_executable_execute(e, buffers, plan->argument_count, NULL, results);
  }
  next = 0;
  if (status == HALO_OK) status = execute_download(e->result, results, &next, result);
  for (int i = 0; i < plan->argument_count; i++) halo_buffer_release(buffers[i]);
  for (int i = 0; i < plan->result_count; i++) halo_buffer_release(results[i]);
  halo_free(buffers);
  halo_free(results);
  return status;
}
