/* SPDX-License-Identifier: Apache-2.0 */
/* passes/work.c: how much there is of a program: its instructions, and what one run of it computes. */
#include "passes/work.h"
#include "base/memory.h"
#include "base/pointer_map.h"
#include "halo/passes.h"
#include "hlo/hlo.h"
#include "passes/loops/trip_count.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)HALO_OPCODE_COUNT <= (int)HALO_SUMMARY_OPCODES,
               "a summary has too little room");

/* The operations of each computation, once it is known: computations come behind those that they call. */
typedef struct work_state {
  const halo_module *module;
  double *known; /* [computations.count] */
  halo_pointer_map place;
  bool open_loops;
} work_state;

static double work_elements(const halo_shape *shape) {
  if (halo_shape_is_array(shape)) {
    double count = 1;
    for (int d = 0; d < shape->rank; d++) count *= (double)shape->dims[d];
    return count;
  }
  double sum = 0;
  for (int32_t i = 0; i < shape->count; i++) sum += work_elements(shape->elements[i]);
  return sum;
}

static double work_of_computation(const work_state *state, const halo_computation *computation) {
  const double *known = halo_pointer_map_get(&state->place, computation);
  return known ? *known : 0;
}

static double work_called(const work_state *state, const halo_instr *instr) {
  double sum = 0;
  for (int32_t i = 0; i < halo_instr_called_count(instr); i++) {
    sum += work_of_computation(state, halo_instr_called(instr, i));
  }
  return sum;
}

/* A multiplication and an addition for each element that a product runs over. */
static double work_of_dot(const halo_instr *dot) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(dot, HALO_ATTR_LHS_CONTRACTING_DIMS, &count);
  double terms = 1;
  for (int32_t i = 0; i < count; i++) terms *= (double)dot->operands[0]->shape->dims[dims[i]];
  return 2 * terms * work_elements(dot->shape);
}

static double work_of_convolution(const halo_instr *conv) {
  const halo_attr *labels = halo_instr_attr(conv, HALO_ATTR_DIM_LABELS);
  const halo_shape *kernel = conv->operands[1]->shape;
  double outputs = (double)kernel->dims[labels->conv->rhs_output];
  double terms = outputs > 0 ? work_elements(kernel) / outputs : 0;
  return 2 * terms * work_elements(conv->shape);
}

static double work_of_window(const halo_instr *instr) {
  const halo_attr *window = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  double size = 1;
  for (int32_t d = 0; window && d < window->window.count; d++) {
    size *= (double)window->window.data[d].size;
  }
  return size;
}

static double work_of_loop(work_state *state, const halo_instr *loop) {
  int64_t trips = 1;
  if (!halo_while_trip_count(loop, &trips)) state->open_loops = true;
  return (double)trips * work_called(state, loop);
}

/* The branch that takes longest. */
static double work_of_branches(const work_state *state, const halo_instr *instr) {
  double most = 0;
  for (int32_t i = 0; i < halo_conditional_branch_count(instr); i++) {
    most = fmax(most, work_of_computation(state, halo_conditional_branch(instr, i)));
  }
  return most;
}

static double work_of_instr(work_state *state, const halo_instr *instr) {
  double elements = work_elements(instr->shape);
  double first = instr->operand_count > 0 ? work_elements(instr->operands[0]->shape) : 0;
  if (instr->opcode == HALO_OP_DOT) return work_of_dot(instr);
  if (instr->opcode == HALO_OP_CONVOLUTION) return work_of_convolution(instr);
  if (instr->opcode == HALO_OP_WHILE) return work_of_loop(state, instr);
  if (instr->opcode == HALO_OP_CONDITIONAL) return work_of_branches(state, instr);
  if (instr->opcode == HALO_OP_MAP) return elements * work_called(state, instr);
  if (instr->opcode == HALO_OP_REDUCE) return first * work_called(state, instr);
  if (instr->opcode == HALO_OP_REDUCE_WINDOW) {
    return elements * work_of_window(instr) * work_called(state, instr);
  }
  if (instr->opcode == HALO_OP_SORT) {
    return first * log2(fmax(first, 2)) * work_called(state, instr);
  }
  if (instr->opcode == HALO_OP_SCATTER) {
    return work_elements(instr->operands[instr->operand_count - 1]->shape) *
           work_called(state, instr);
  }
  if (halo_opcode_exec(instr->opcode) == HALO_EXEC_ELEMENTWISE) return elements;
  return work_called(state, instr);
}

static double work_of_list(work_state *state, const halo_computation *computation) {
  double sum = 0;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    sum += work_of_instr(state, computation->instrs.data[i]);
  }
  return sum;
}

static double work_bytes(const halo_shape *shape) {
  if (halo_shape_is_array(shape)) {
    return work_elements(shape) * (double)halo_type_size(shape->type);
  }
  double sum = 0;
  for (int32_t i = 0; i < shape->count; i++) sum += work_bytes(shape->elements[i]);
  return sum;
}

/* ---- Time, as predicted ---- */

/* Whether an instruction only names existing memory. */
static bool work_is_free(const halo_instr *instr) {
  switch ((int)instr->opcode) {
    case HALO_OP_PARAMETER:
    case HALO_OP_CONSTANT:
    case HALO_OP_TUPLE:
    case HALO_OP_GET_TUPLE_ELEMENT:
    case HALO_OP_BITCAST: return true;
  }
  return false;
}

/* `known` has the seconds of computations that were looked at, `state` their operations. */
static halo_work work_time(work_state *state, const halo_pointer_map *known,
                           const halo_instr *instr) {
  const halo_prices *p = &state->module->target.prices;
  halo_work work = {.operations = work_of_instr(state, instr), .bytes = work_bytes(instr->shape)};
  for (int32_t i = 0; i < instr->operand_count; i++) {
    work.bytes += work_bytes(instr->operands[i]->shape);
  }
  if (work_is_free(instr)) return (halo_work){.bytes = work_bytes(instr->shape)};
  double called = 0;
  int64_t trips = 1;
  for (int32_t i = 0; i < halo_instr_called_count(instr); i++) {
    const double *seconds = halo_pointer_map_get(known, halo_instr_called(instr, i));
    if (seconds) called += *seconds;
  }
  if (instr->opcode == HALO_OP_WHILE) {
    (void)halo_while_trip_count(instr, &trips);
    work.seconds = (double)trips * called;
  } else if (instr->opcode == HALO_OP_CONDITIONAL || instr->opcode == HALO_OP_CALL) {
    work.seconds = called;
  } else {
    work.seconds = p->launch + fmax(work.operations / p->rate, work.bytes / p->bandwidth);
  }
  return work;
}

void halo_work_walk(const halo_module *module, halo_work_seen *seen, void *user) {
  int32_t count = module->computations.count;
  double *numbers = halo_alloc(sizeof(double) * (2 * (size_t)count + 1));
  work_state state = {.module = module, .known = numbers};
  halo_pointer_map seconds = {0};
  for (int32_t i = 0; i < count; i++) {
    const halo_computation *computation = module->computations.data[i];
    double *sum = &numbers[count + i];
    *sum = 0;
    for (int32_t k = 0; k < computation->instrs.count; k++) {
      halo_work work = work_time(&state, &seconds, computation->instrs.data[k]);
      *sum += work.seconds;
      seen(user, computation->instrs.data[k], &work);
    }
    state.known[i] = work_of_list(&state, computation);
    halo_pointer_map_set(&state.place, computation, &state.known[i]);
    halo_pointer_map_set(&seconds, computation, sum);
  }
  halo_pointer_map_deinit(&seconds);
  halo_pointer_map_deinit(&state.place);
  halo_free(numbers);
}

/* ---- Summaries ---- */

static void work_count(const halo_computation *computation, halo_module_summary *out,
                       int64_t *counts) {
  out->instructions += computation->instrs.count;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    counts[instr->opcode]++;
    if (instr->opcode == HALO_OP_CONSTANT) out->constant_bytes += work_bytes(instr->shape);
  }
}

static int work_compare(const void *a, const void *b) {
  const halo_opcode_count *x = a, *y = b;
  if (x->count != y->count) return x->count < y->count ? 1 : -1;
  return strcmp(x->name, y->name);
}

void halo_module_summarise(const halo_module *module, halo_module_summary *out) {
  int32_t count = module->computations.count;
  int64_t counts[HALO_OPCODE_COUNT] = {0};
  work_state state = {.module = module, .known = halo_alloc(sizeof(double) * (size_t)(count + 1))};
  *out = (halo_module_summary){.computations = count};
  for (int32_t i = 0; i < count; i++) {
    const halo_computation *computation = module->computations.data[i];
    work_count(computation, out, counts);
    state.known[i] = work_of_list(&state, computation);
    halo_pointer_map_set(&state.place, computation, &state.known[i]);
  }
  out->operations = work_of_computation(&state, module->entry);
  out->has_open_loops = state.open_loops;
  for (int32_t i = 0; i < module->entry->params.count; i++) {
    out->argument_bytes += work_bytes(module->entry_params[i]);
  }
  out->result_bytes = work_bytes(module->entry_result);
  for (int op = 0; op < HALO_OPCODE_COUNT; op++) {
    if (!counts[op]) continue;
    out->opcodes[out->opcode_count++] =
        (halo_opcode_count){halo_opcode_name((halo_opcode)op), counts[op]};
  }
  qsort(out->opcodes, (size_t)out->opcode_count, sizeof out->opcodes[0], work_compare);
  halo_pointer_map_deinit(&state.place);
  halo_free(state.known);
}
