/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lower_custom_call.c: calls of registered functions. */
#include "custom/custom.h"
#include "plan/lowering.h"

#include <string.h>

/* Results that share memory with an operand begin as its copy, which goes where the operand dies here. */
static void custom_alias(lower_state *s, const halo_instr *call, halo_steps *steps,
                         const int32_t *starts, int32_t *operands, const int32_t *results) {
  const halo_attr *attr = halo_instr_attr(call, HALO_ATTR_OUTPUT_TO_OPERAND_ALIASING);
  for (int32_t i = 0; attr && i < attr->aliases.count; i++) {
    const halo_alias *alias = &attr->aliases.data[i];
    if (alias->parameter < 0 || alias->parameter >= call->operand_count) continue;
    const halo_shape *from = call->operands[alias->parameter]->shape;
    int32_t out = halo_leaf_at(call->shape, alias->out_index, alias->out_index_count);
    int32_t in = halo_leaf_at(from, alias->param_index, alias->param_index_count);
    if (out < 0 || in < 0) continue;
    in += starts[alias->parameter];
    const halo_plan_buffer *buffers = s->plan->buffers.data;
    if (buffers[results[out]].size != buffers[operands[in]].size) continue;
    lower_copy(s, steps, operands[in], results[out], call->name);
    operands[in] = results[out];
  }
}

static const halo_shape **custom_shapes(halo_arena *arena, const halo_instr *instr) {
  const halo_attr *wanted = halo_instr_attr(instr, HALO_ATTR_OPERAND_LAYOUT_CONSTRAINTS);
  const halo_shape **shapes = halo_arena_array(arena, const halo_shape *, instr->operand_count + 1);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const halo_shape *shape = wanted ? wanted->shapes.data[i] : instr->operands[i]->shape;
    shapes[i] = halo_shape_clone(arena, shape);
  }
  return shapes;
}

/* Advice for a target without a function. LAPACK's names are known, whether or not LAPACK is there. */
static const char *custom_advice(const char *target) {
  if (halo_custom_lapack_rank(target) < 0) return "; halo/custom_call.h registers functions";
#ifdef HALO_HAVE_LAPACKE
  return ", as LAPACK is not installed: install liblapacke and libopenblas0 (Debian, Ubuntu), or "
         "openblas (Fedora, conda-forge)";
#else
  return ", as this library was built without LAPACKE";
#endif
}

static halo_status custom_site(lower_state *s, const halo_instr *instr, halo_custom_site **out) {
  const halo_attr *name = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_TARGET);
  const halo_attr *result = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_RESULT);
  const halo_attr *config = halo_instr_attr(instr, HALO_ATTR_BACKEND_CONFIG);
  halo_arena *arena = &s->plan->arena;
  const char *line = instr->line > 0 ? halo_arena_printf(arena, "line %d: ", instr->line) : "";
  const halo_custom_target *target = halo_custom_target_find(name->text);
  if (!target) {
    return halo_fail(HALO_UNIMPLEMENTED,
                     "%s%s: no function is registered for the custom call target \"%s\"%s", line,
                     instr->name, name->text, custom_advice(name->text));
  }
  int version = HALO_CUSTOM_PLAIN + (int)halo_instr_int(instr, HALO_ATTR_API_VERSION, 0);
  if (version == HALO_CUSTOM_TYPED && target->plain) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "%s%s: \"%s\" is registered as a plain function, which API_VERSION_TYPED_FFI "
                     "does not call",
                     line, instr->name, name->text);
  }
  halo_status status =
      halo_custom_site_create(arena, target, instr->operand_count, custom_shapes(arena, instr),
                              halo_shape_clone(arena, result ? result->shape : instr->shape),
                              config ? config->text : NULL, version, out);
  return halo_fail_in(status, "%s%s", line, instr->name);
}

/* The step of `call`, whose operands and results are those buffers. */
static halo_status custom_lower(lower_state *s, const halo_instr *call, const char *label,
                                const int32_t *const *values, halo_instr *instr,
                                halo_steps *steps) {
  halo_custom_site *site;
  HALO_TRY(custom_site(s, call, &site));
  halo_vec_push(&s->plan->calls, site);
  halo_arena *arena = &s->plan->arena;
  int32_t *starts = halo_arena_array(arena, int32_t, call->operand_count + 1), count = 0;
  for (int32_t i = 0; i < call->operand_count; i++) {
    starts[i] = count;
    count += halo_shape_leaf_count(call->operands[i]->shape);
  }
  int32_t *operands = halo_arena_array(arena, int32_t, count + 1), leaves;
  for (int32_t i = 0; i < call->operand_count; i++) {
    int32_t parts = halo_shape_leaf_count(call->operands[i]->shape);
    memcpy(operands + starts[i], values[i], sizeof *operands * (size_t)parts);
  }
  const halo_shape **shapes = lower_leaf_shapes(s, instr->shape, &leaves);
  int32_t *results = lower_leaves(s, instr);
  for (int32_t l = 0; l < leaves; l++) {
    bool array = halo_shape_is_array(shapes[l]);
    results[l] = array ? lower_temp(s, shapes[l], instr->name) : LOWER_NO_BUFFER;
  }
  custom_alias(s, call, steps, starts, operands, results);
  halo_step *step = lower_step(s, steps, HALO_STEP_CUSTOM_CALL, label);
  step->custom = site;
  lower_set_args(s, step, count + leaves);
  int32_t used = 0; /* tokens have no memory */
  site->places = halo_arena_array(arena, int32_t, count + leaves + 1);
  for (int32_t i = 0; i < count + leaves; i++) {
    int32_t buffer = i < count ? operands[i] : results[i - count];
    site->places[i] = buffer == LOWER_NO_BUFFER ? -1 : used;
    if (buffer != LOWER_NO_BUFFER) lower_arg(s, step, used++, buffer, 1, i >= count);
  }
  step->arg_count = used;
  return HALO_OK;
}

static const int32_t **custom_values(lower_state *s, const halo_instr *call,
                                     halo_instr *const *operands) {
  const int32_t **values =
      halo_arena_array(&s->plan->arena, const int32_t *, call->operand_count + 1);
  for (int32_t i = 0; i < call->operand_count; i++) values[i] = lower_value(operands[i]);
  return values;
}

halo_status lower_custom_call(lower_state *s, halo_instr *instr, halo_steps *steps) {
  const int32_t **values = custom_values(s, instr, instr->operands);
  return custom_lower(s, instr, instr->name, values, instr, steps);
}

halo_status lower_host_call(lower_state *s, halo_instr *instr, const halo_instr *call,
                            halo_steps *steps) {
  halo_arena *arena = &s->plan->arena;
  halo_instr **operands = halo_arena_array(arena, halo_instr *, call->operand_count + 1);
  for (int32_t i = 0; i < call->operand_count; i++) {
    operands[i] = instr->operands[call->operands[i]->parameter_number];
  }
  const char *label = halo_arena_printf(arena, "%s lapack:host", instr->name);
  return custom_lower(s, call, label, custom_values(s, call, operands), instr, steps);
}
