/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/infer_async.c: inference of starts, updates and dones, and of channels between host and device. The
 * result of a start is a tuple whose first parts follow from its operands; that of an update or a done is a part of it. */
#include "hlo/collective.h"
#include "hlo/infer_util.h"

static halo_status async_need_token(const halo_instr *instr, int32_t i) {
  if (halo_shape_is_token(halo_infer_operand(instr, i))) return HALO_OK;
  return halo_infer_fail(instr, "operand %d must be a token", i);
}

/* The written shape is a tuple of `least` parts or more. */
static halo_status async_need_tuple(const halo_instr *instr, int32_t least) {
  if (!instr->shape) return halo_infer_fail(instr, "the result shape must be written");
  if (halo_shape_is_tuple(instr->shape) && instr->shape->count >= least) return HALO_OK;
  return halo_infer_fail(instr, "the result must be a tuple of at least %d parts", least);
}

/* Part `index` of the operand, which is a tuple of at least `least` parts. */
static halo_status async_part(const halo_instr *instr, int32_t index, int32_t least,
                              const halo_shape **out) {
  const halo_shape *operand = halo_infer_operand(instr, 0);
  if (!halo_shape_is_tuple(operand) || operand->count < least) {
    return halo_infer_fail(instr, "the operand must be a tuple of at least %d parts", least);
  }
  *out = operand->elements[index];
  return HALO_OK;
}

/* `shape` is a tuple of the operands' shapes. */
static bool async_holds_operands(const halo_instr *instr, const halo_shape *shape) {
  if (!halo_shape_is_tuple(shape) || shape->count != instr->operand_count) return false;
  for (int32_t i = 0; i < shape->count; i++) {
    if (!halo_shape_compatible(shape->elements[i], halo_infer_operand(instr, i))) return false;
  }
  return true;
}

/* ---- Wrapped computations ---- */

halo_status halo_infer_async_start(const halo_instr *instr, halo_arena *arena,
                                   const halo_shape **out) {
  (void)arena;
  const halo_computation *computation;
  HALO_TRY(halo_infer_comp(instr, HALO_ATTR_CALLS, &computation));
  HALO_TRY(halo_infer_args(instr, computation, 0));
  HALO_TRY(async_need_tuple(instr, 2));
  if (!async_holds_operands(instr, instr->shape->elements[0])) {
    return halo_infer_fail(instr, "part 0 of the result must be a tuple of the operands' shapes");
  }
  if (!halo_shape_compatible(instr->shape->elements[1], computation->root->shape)) {
    return halo_infer_fail(instr, "part 1 of the result must have the shape that %s returns",
                           computation->name);
  }
  *out = instr->shape;
  return HALO_OK;
}

/* The operand of an update or a done is ((operands), result, contexts...). */
static halo_status async_check_started(const halo_instr *instr) {
  const halo_shape *operands = NULL;
  HALO_TRY(async_part(instr, 0, 2, &operands));
  if (halo_shape_is_tuple(operands)) return HALO_OK;
  return halo_infer_fail(instr, "part 0 of the operand must be the tuple of a start's operands");
}

halo_status halo_infer_async_update(const halo_instr *instr, halo_arena *arena,
                                    const halo_shape **out) {
  (void)arena;
  HALO_TRY(async_check_started(instr));
  *out = halo_infer_operand(instr, 0);
  return HALO_OK;
}

halo_status halo_infer_async_done(const halo_instr *instr, halo_arena *arena,
                                  const halo_shape **out) {
  (void)arena;
  HALO_TRY(async_check_started(instr));
  return async_part(instr, 1, 2, out);
}

/* ---- Copies ---- */

/* (copy, operand), and an optional context. */
halo_status halo_infer_copy_start(const halo_instr *instr, halo_arena *arena,
                                  const halo_shape **out) {
  (void)arena;
  HALO_TRY(async_need_tuple(instr, 2));
  for (int32_t i = 0; i < 2; i++) {
    if (halo_shape_compatible(instr->shape->elements[i], halo_infer_operand(instr, 0))) continue;
    return halo_infer_fail(instr, "part %d of the result must have the shape of the operand", i);
  }
  *out = instr->shape;
  return HALO_OK;
}

halo_status halo_infer_copy_done(const halo_instr *instr, halo_arena *arena,
                                 const halo_shape **out) {
  (void)arena;
  const halo_shape *source = NULL;
  HALO_TRY(async_part(instr, 1, 2, &source));
  HALO_TRY(async_part(instr, 0, 2, out));
  if (halo_shape_compatible(*out, source)) return HALO_OK;
  return halo_infer_fail(instr, "parts 0 and 1 of the operand must have the same shape");
}

/* ---- Collectives ---- */

halo_status halo_infer_start_done(const halo_instr *instr, halo_arena *arena,
                                  const halo_shape **out) {
  (void)arena;
  return async_part(instr, 1, 2, out);
}

/* An all-reduce-start gives the results alone, or (operands, results). Where the start has become other operations,
 * the written shape of the done shows which of the two it was. */
halo_status halo_infer_all_reduce_done(const halo_instr *instr, halo_arena *arena,
                                       const halo_shape **out) {
  (void)arena;
  const halo_shape *operand = halo_infer_operand(instr, 0);
  if (instr->operands[0]->opcode == HALO_OP_ALL_REDUCE_START) {
    *out = halo_collective_result(instr->operands[0]);
    return HALO_OK;
  }
  bool pair = halo_shape_is_tuple(operand) && operand->count == 2 && instr->shape &&
              halo_shape_compatible(operand->elements[0], operand->elements[1]) &&
              halo_shape_compatible(operand->elements[1], instr->shape);
  *out = pair ? operand->elements[1] : operand;
  return HALO_OK;
}

/* ---- Host and device channels ---- */

/* token -> (data, token): the data is what the program says. */
halo_status halo_infer_infeed(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  (void)arena;
  HALO_TRY(async_need_token(instr, 0));
  HALO_TRY(async_need_tuple(instr, 2));
  if (instr->shape->count != 2 || !halo_shape_is_token(instr->shape->elements[1])) {
    return halo_infer_fail(instr, "the result must be a pair of the data and a token");
  }
  *out = instr->shape;
  return HALO_OK;
}

halo_status halo_infer_outfeed(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(async_need_token(instr, 1));
  const halo_attr *attr = halo_instr_attr(instr, HALO_ATTR_OUTFEED_SHAPE);
  if (attr && !halo_shape_compatible(attr->shape, halo_infer_operand(instr, 0))) {
    return halo_infer_fail(instr, "outfeed_shape must be the shape of operand 0");
  }
  *out = halo_shape_new_token(arena);
  return HALO_OK;
}

/* (data, context, token), as a send or a recv gives it. */
static halo_status async_check_transfer(const halo_instr *instr, const char *what,
                                        const halo_shape *shape) {
  if (shape && halo_shape_is_tuple(shape) && shape->count == 3 &&
      halo_shape_is_scalar_of(shape->elements[1], HALO_U32) &&
      halo_shape_is_token(shape->elements[2])) {
    return HALO_OK;
  }
  return halo_infer_fail(instr, "the %s must be a tuple of the data, u32[] and a token", what);
}

halo_status halo_infer_send(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(async_need_token(instr, 1));
  const halo_shape *parts[] = {halo_infer_operand(instr, 0),
                               halo_shape_new(arena, HALO_U32, 0, NULL),
                               halo_infer_operand(instr, 1)};
  *out = halo_shape_new_tuple(arena, 3, parts);
  return HALO_OK;
}

halo_status halo_infer_send_done(const halo_instr *instr, halo_arena *arena,
                                 const halo_shape **out) {
  (void)arena;
  HALO_TRY(async_check_transfer(instr, "operand", halo_infer_operand(instr, 0)));
  return async_part(instr, 2, 3, out);
}

halo_status halo_infer_recv(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  (void)arena;
  HALO_TRY(async_need_token(instr, 0));
  HALO_TRY(async_check_transfer(instr, "result", instr->shape));
  *out = instr->shape;
  return HALO_OK;
}

halo_status halo_infer_recv_done(const halo_instr *instr, halo_arena *arena,
                                 const halo_shape **out) {
  const halo_shape *operand = halo_infer_operand(instr, 0);
  HALO_TRY(async_check_transfer(instr, "operand", operand));
  const halo_shape *parts[] = {operand->elements[0], operand->elements[2]};
  *out = halo_shape_new_tuple(arena, 2, parts);
  return HALO_OK;
}
