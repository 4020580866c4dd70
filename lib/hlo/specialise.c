/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/specialise.c: programs with extents `?`, for the arrays that they are given. */
#include "base/pointer_map.h"
#include "hlo/hlo.h"
#include "hlo/infer.h"

#include <string.h>

typedef struct specialise_state {
  halo_module *module;
  halo_pointer_map done; /* computations whose parameters have got their extents */
} specialise_state;

/* Whether an extent of an array in the shape is `?`. */
static bool specialise_is_open(const halo_shape *shape) {
  for (int32_t i = 0; i < shape->rank; i++) {
    if (shape->dims[i] == HALO_UNBOUNDED) return true;
  }
  for (int32_t i = 0; i < shape->count; i++) {
    if (specialise_is_open(shape->elements[i])) return true;
  }
  return false;
}

/* The written shape with the extents of another in the place of `?`; NULL if that is none of its kind. */
static const halo_shape *specialise_fill(halo_arena *arena, const halo_shape *written,
                                         const halo_shape *from) {
  if (!specialise_is_open(written)) return written;
  if (halo_shape_is_tuple(written)) {
    if (!halo_shape_is_tuple(from) || from->count != written->count) return NULL;
    const halo_shape **elements = halo_arena_array(arena, const halo_shape *, written->count);
    for (int32_t i = 0; i < written->count; i++) {
      elements[i] = specialise_fill(arena, written->elements[i], from->elements[i]);
      if (!elements[i]) return NULL;
    }
    return halo_shape_new_tuple(arena, written->count, elements);
  }
  if (!halo_shape_is_array(from) || from->rank != written->rank) return NULL;
  int64_t dims[HALO_MAX_RANK];
  bool dynamic[HALO_MAX_RANK];
  for (int d = 0; d < written->rank; d++) {
    bool open = written->dims[d] == HALO_UNBOUNDED;
    dims[d] = open ? from->dims[d] : written->dims[d];
    dynamic[d] = halo_shape_dim_is_dynamic(open ? from : written, d);
    if (dims[d] == HALO_UNBOUNDED) return NULL;
  }
  return halo_shape_new_full(arena, written->type, written->rank, dims, dynamic,
                             written->minor_to_major);
}

/* The one open extent of a reshape's result: what is left of the operand's elements. */
static const halo_shape *specialise_reshape(halo_arena *arena, const halo_instr *instr) {
  const halo_shape *to = instr->shape;
  int64_t count = halo_shape_element_count(instr->operands[0]->shape), others = 1;
  int open = -1;
  for (int d = 0; d < to->rank; d++) {
    if (to->dims[d] != HALO_UNBOUNDED) {
      others *= to->dims[d];
    } else if (open >= 0) {
      return NULL;
    } else {
      open = d;
    }
  }
  if (open < 0 || others == 0 || count % others != 0) return NULL;
  int64_t dims[HALO_MAX_RANK];
  memcpy(dims, to->dims, sizeof *dims * (size_t)to->rank);
  dims[open] = count / others;
  return halo_shape_new(arena, to->type, to->rank, dims);
}

/* A broadcast's result has the operand's extents where it has its dimensions. */
static const halo_shape *specialise_broadcast(halo_arena *arena, const halo_instr *instr) {
  const halo_shape *from = instr->operands[0]->shape, *to = instr->shape;
  int32_t count;
  const int64_t *places = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  int64_t dims[HALO_MAX_RANK];
  memcpy(dims, to->dims, sizeof *dims * (size_t)to->rank);
  for (int32_t i = 0; i < count && i < from->rank; i++) {
    if (places[i] < 0 || places[i] >= to->rank) return NULL;
    dims[places[i]] = from->dims[i];
  }
  return halo_shape_new(arena, to->type, to->rank, dims);
}

static bool specialise_is_like_operand(const halo_instr *instr) {
  return halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW) ||
         (instr->opcode == HALO_OP_CUSTOM_CALL && instr->operand_count == 1);
}

/* Where the open extents of an instruction come from; NULL: nobody says. */
static halo_status specialise_source(const specialise_state *s, halo_instr *instr,
                                     const halo_shape **out) {
  halo_arena *arena = &s->module->arena;
  *out = NULL;
  if (instr->opcode == HALO_OP_RESHAPE) {
    *out = specialise_reshape(arena, instr);
  } else if (instr->opcode == HALO_OP_BROADCAST) {
    *out = specialise_broadcast(arena, instr);
  } else if (instr->opcode == HALO_OP_FUSION) {
    *out = halo_instr_comp(instr, HALO_ATTR_CALLS)->root->shape;
  } else if (halo_opcode_has_trait(instr->opcode, HALO_TRAIT_NOINFER)) {
    if (specialise_is_like_operand(instr)) *out = instr->operands[0]->shape;
  } else {
    const halo_shape *written = instr->shape;
    instr->shape = NULL;
    halo_status status = halo_infer_shape(instr, arena, out);
    instr->shape = written;
    return halo_fail_in(status, "line %d: %s", instr->line, instr->name);
  }
  return HALO_OK;
}

static halo_status specialise_computation(specialise_state *s, halo_computation *computation);

/* The shape of the argument for parameter `p` of the computation that the instruction calls as its `index`-th; NULL: not
 * known here. */
static const halo_shape *specialise_argument(const halo_instr *instr, int32_t index, int32_t p) {
  int32_t operand = -1;
  if (instr->opcode == HALO_OP_CALL || instr->opcode == HALO_OP_FUSION) operand = p;
  if (instr->opcode == HALO_OP_WHILE && p == 0) operand = 0;
  if (instr->opcode == HALO_OP_CONDITIONAL && p == 0) operand = index + 1;
  return operand >= 0 && operand < instr->operand_count ? instr->operands[operand]->shape : NULL;
}

static halo_status specialise_called(specialise_state *s, const halo_instr *instr) {
  int32_t count = halo_instr_called_count(instr);
  for (int32_t k = 0; k < count; k++) {
    halo_computation *callee = halo_instr_called(instr, k);
    bool first = !halo_pointer_map_get(&s->done, callee);
    for (int32_t p = 0; p < callee->params.count; p++) {
      halo_instr *param = callee->params.data[p];
      const halo_shape *argument = specialise_argument(instr, k, p);
      if (first && specialise_is_open(param->shape)) {
        const halo_shape *shape =
            argument ? specialise_fill(&s->module->arena, param->shape, argument) : NULL;
        if (shape) param->shape = shape;
      } else if (argument && !halo_shape_compatible(param->shape, argument)) {
        return halo_fail(HALO_UNIMPLEMENTED,
                         "line %d: %s: computation %s is called with other extents elsewhere",
                         instr->line, instr->name, callee->name);
      }
    }
    if (first) HALO_TRY(specialise_computation(s, callee));
  }
  return HALO_OK;
}

static halo_status specialise_computation(specialise_state *s, halo_computation *computation) {
  halo_pointer_map_set(&s->done, computation, computation);
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    HALO_TRY(specialise_called(s, instr));
    if (!specialise_is_open(instr->shape)) continue;
    const halo_shape *from = NULL;
    if (instr->opcode != HALO_OP_PARAMETER) HALO_TRY(specialise_source(s, instr, &from));
    const halo_shape *shape = from ? specialise_fill(&s->module->arena, instr->shape, from) : NULL;
    if (!shape) {
      halo_arena scratch = {0};
      halo_status status = halo_fail(
          HALO_UNIMPLEMENTED, "line %d: %s: the extents of %s do not follow from the inputs'",
          instr->line, instr->name, halo_shape_text(&scratch, instr->shape, false));
      halo_arena_deinit(&scratch);
      return status;
    }
    instr->shape = shape;
  }
  return HALO_OK;
}

static halo_status specialise_parameter(halo_module *module, int32_t i, const halo_shape *given) {
  halo_instr *param = module->entry->params.data[i];
  const halo_shape *declared = module->entry_params[i];
  if (!specialise_is_open(declared)) return HALO_OK;
  const halo_shape *shape = specialise_fill(&module->arena, declared, given);
  if (shape && halo_shape_compatible(shape, given)) {
    module->entry_params[i] = shape;
    param->shape = specialise_fill(&module->arena, param->shape, given);
    return HALO_OK;
  }
  halo_arena scratch = {0};
  halo_status status = halo_fail(
      HALO_INVALID_ARGUMENT, "argument %d (%s) is given as %s: expected %s", i, param->name,
      halo_shape_text(&scratch, given, false), halo_shape_text(&scratch, declared, false));
  halo_arena_deinit(&scratch);
  return status;
}

/* Whether one of what the entry takes is. */
static bool specialise_is_wanted(const halo_module *module) {
  for (int32_t i = 0; i < module->entry->params.count; i++) {
    if (specialise_is_open(module->entry_params[i])) return true;
  }
  return false;
}

halo_status halo_module_specialise(halo_module *module, const halo_shape *const *arguments,
                                   int count) {
  if (!specialise_is_wanted(module)) return HALO_OK;
  int32_t wanted = module->entry->params.count;
  if (count != wanted) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%d argument%s given: the program takes %d", count,
                     count == 1 ? " is" : "s are", wanted);
  }
  for (int32_t i = 0; i < wanted; i++) HALO_TRY(specialise_parameter(module, i, arguments[i]));
  specialise_state state = {.module = module};
  halo_status status = specialise_computation(&state, module->entry);
  halo_pointer_map_deinit(&state.done);
  HALO_TRY(status);
  const halo_shape *result =
      specialise_fill(&module->arena, module->entry_result, module->entry->root->shape);
  if (result) module->entry_result = result;
  return halo_module_verify(module);
}
