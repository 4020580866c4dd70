/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/cse.c: common subexpression elimination: instructions and reducers that are the same. */
#include "base/map.h"
#include "base/strbuf.h"
#include "custom/custom.h"
#include "passes/passes.h"
#include "rewrite/rewrite.h"

#include <string.h>

/* Larger constants are only the same when they share their literal: their bytes make poor keys. */
enum { CSE_MAX_LITERAL_BYTES = 4096 };
/* Called computations of more instructions are taken to be different. */
enum { CSE_MAX_COMPARED = 64 };

/* ---- Keys: two instructions are the same when the bytes below are ---- */

static void cse_put(halo_strbuf *key, const void *data, size_t size) {
  if (size) halo_strbuf_append_n(key, data, size);
}

static void cse_put_i64(halo_strbuf *key, int64_t value) { cse_put(key, &value, sizeof value); }

static void cse_put_text(halo_strbuf *key, const char *text) {
  cse_put_i64(key, text ? (int64_t)strlen(text) : -1);
  if (text) halo_strbuf_append(key, text);
}

static void cse_put_index(halo_strbuf *key, const int64_t *index, int32_t count) {
  cse_put_i64(key, count);
  cse_put(key, index, sizeof *index * (size_t)count);
}

static void cse_put_shape(halo_strbuf *key, const halo_shape *shape) {
  cse_put_i64(key, shape->type);
  if (halo_shape_is_tuple(shape)) {
    cse_put_i64(key, shape->count);
    for (int32_t i = 0; i < shape->count; i++) cse_put_shape(key, shape->elements[i]);
    return;
  }
  cse_put_i64(key, shape->rank);
  cse_put(key, shape->dims, sizeof *shape->dims * (size_t)shape->rank);
  cse_put(key, shape->minor_to_major, sizeof *shape->minor_to_major * (size_t)shape->rank);
  cse_put_i64(key, shape->dynamic != NULL);
  if (shape->dynamic) cse_put(key, shape->dynamic, sizeof(bool) * (size_t)shape->rank);
  cse_put_text(key, shape->layout_extras);
}

static void cse_put_literal(halo_strbuf *key, const halo_literal *literal) {
  int64_t size = halo_shape_byte_size(literal->shape);
  if (!halo_shape_is_array(literal->shape) || size > CSE_MAX_LITERAL_BYTES || literal->elided) {
    cse_put(key, &literal, sizeof(const halo_literal *));
    return;
  }
  cse_put_shape(key, literal->shape);
  cse_put(key, literal->data, (size_t)size);
}

static void cse_put_labels(halo_strbuf *key, const halo_conv_dims *c) {
  const int fields[] = {c->spatial,    c->lhs_batch, c->lhs_feature, c->rhs_input,
                        c->rhs_output, c->out_batch, c->out_feature};
  cse_put(key, fields, sizeof fields);
  for (int i = 0; i < c->spatial; i++) {
    const int spatial[] = {c->lhs_spatial[i], c->rhs_spatial[i], c->out_spatial[i]};
    cse_put(key, spatial, sizeof spatial);
  }
}

/* Called computations are keyed by their representative, kept in their `data`. */
static bool cse_put_attr(halo_strbuf *key, const halo_attr *attr) {
  cse_put_i64(key, attr->id);
  switch (halo_attr_kind_of(attr->id)) {
    case HALO_KIND_INT:
    case HALO_KIND_BOOL:
    case HALO_KIND_ENUM: cse_put_i64(key, attr->i); break;
    case HALO_KIND_FLOAT: cse_put(key, &attr->f, sizeof attr->f); break;
    case HALO_KIND_STRING:
    case HALO_KIND_RAW: cse_put_text(key, attr->text); break;
    case HALO_KIND_STRINGS:
      cse_put_i64(key, attr->strings.count);
      for (int32_t i = 0; i < attr->strings.count; i++) cse_put_text(key, attr->strings.data[i]);
      break;
    case HALO_KIND_ALIASES:
      for (int32_t i = 0; i < attr->aliases.count; i++) {
        const halo_alias *alias = &attr->aliases.data[i];
        cse_put_index(key, alias->out_index, alias->out_index_count);
        cse_put_i64(key, alias->parameter);
        cse_put_index(key, alias->param_index, alias->param_index_count);
      }
      break;
    case HALO_KIND_INTS:
    case HALO_KIND_PRECISIONS:
    case HALO_KIND_SLICES:
    case HALO_KIND_PADDING:
    case HALO_KIND_PAIRS:
    case HALO_KIND_BOOLS: cse_put_index(key, attr->ints.data, attr->ints.count); break;
    case HALO_KIND_WINDOW:
      for (int32_t i = 0; i < attr->window.count; i++) {
        const halo_window_dim *d = &attr->window.data[i];
        const int64_t fields[] = {d->size,          d->stride,          d->pad_low, d->pad_high,
                                  d->base_dilation, d->window_dilation, d->reversal};
        cse_put(key, fields, sizeof fields);
      }
      break;
    case HALO_KIND_DIM_LABELS: cse_put_labels(key, attr->conv); break;
    case HALO_KIND_COMPS:
      for (int32_t i = 0; i < attr->comps.count; i++) {
        cse_put(key, &attr->comps.data[i]->data, sizeof(void *));
      }
      break;
    case HALO_KIND_ACCURACY:
      cse_put_i64(key, attr->accuracy->mode);
      cse_put(key, &attr->accuracy->atol, sizeof attr->accuracy->atol);
      cse_put(key, &attr->accuracy->rtol, sizeof attr->accuracy->rtol);
      cse_put_i64(key, attr->accuracy->ulps);
      break;
    case HALO_KIND_SHAPE: cse_put_shape(key, attr->shape); break;
    case HALO_KIND_SHAPES:
      cse_put_i64(key, attr->shapes.count);
      for (int32_t i = 0; i < attr->shapes.count; i++) cse_put_shape(key, attr->shapes.data[i]);
      break;
    case HALO_KIND_METADATA: break; /* says nothing about the value */
    case HALO_KIND_SHARDING:
    case HALO_KIND_DOMAIN:
    case HALO_KIND_CONFIGS:
    case HALO_KIND_GROUPS:
    case HALO_KIND_LITERAL: return false;
  }
  return true;
}

/* All but the operands. False when the instruction must stay as it is. Attributes that every opcode
 * may carry (metadata, sharding, ...) say nothing about the value. */
static bool cse_put_instr(halo_strbuf *key, const halo_instr *instr) {
  cse_put_i64(key, instr->opcode);
  cse_put_shape(key, instr->shape);
  if (instr->opcode == HALO_OP_CONSTANT) cse_put_literal(key, instr->literal);
  for (int32_t i = 0; i < instr->attr_count; i++) {
    if (instr->attrs[i].id == HALO_ATTR_UNKNOWN) return false;
  }
  for (const halo_attr_spec *spec = halo_op_info_of(instr->opcode)->attrs; spec->used; spec++) {
    const halo_attr *attr = halo_instr_attr(instr, spec->id);
    if (attr && !cse_put_attr(key, attr)) return false;
  }
  /* Of calls it is what the function is told. */
  const halo_attr *config = halo_instr_attr(instr, HALO_ATTR_BACKEND_CONFIG);
  return instr->opcode != HALO_OP_CUSTOM_CALL || !config || cse_put_attr(key, config);
}

static bool cse_has_token(const halo_shape *shape) {
  if (halo_shape_is_token(shape)) return true;
  for (int32_t i = 0; i < shape->count; i++) {
    if (cse_has_token(shape->elements[i])) return true;
  }
  return false;
}

/* A call of what only computes, as LAPACK does; nothing is known of other functions. */
static bool cse_is_computing_call(const halo_instr *instr) {
  if (instr->opcode != HALO_OP_CUSTOM_CALL || halo_instr_has_side_effect(instr)) return false;
  const halo_attr *name = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_TARGET);
  const halo_custom_target *target = name ? halo_custom_target_find(name->text) : NULL;
  return target && target->computes;
}

static bool cse_allowed(const halo_instr *instr) {
  if (cse_is_computing_call(instr)) return instr->control_pred_count == 0;
  switch (halo_opcode_exec(instr->opcode)) {
    case HALO_EXEC_VALUE: return instr->opcode == HALO_OP_CONSTANT;
    case HALO_EXEC_ALIAS:
      if (instr->opcode == HALO_OP_OPT_BARRIER) return false; /* there to keep equal things apart */
      break;
    case HALO_EXEC_ELEMENTWISE:
    case HALO_EXEC_MOVEMENT:
    case HALO_EXEC_REDUCTION:
    case HALO_EXEC_STRUCTURED:
    case HALO_EXEC_EXPANDED: break;
    case HALO_EXEC_CONTROL:
    case HALO_EXEC_ASYNC:
    case HALO_EXEC_COLLECTIVE:
    case HALO_EXEC_HOST: return false;
  }
  if (halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EFFECT)) return false;
  return instr->control_pred_count == 0 && !cse_has_token(instr->shape) &&
         !(halo_instr_called_count(instr) && halo_instr_has_side_effect(instr));
}

static bool cse_swaps(const halo_instr *instr) {
  return instr->operand_count == 2 && halo_opcode_commutes(instr->opcode, instr->shape->type);
}

/* ---- Called computations ---- */

/* Computations of plain instructions with the same text get the first of them as representative. */
static void cse_represent(halo_computation *computation, halo_map *seen) {
  halo_strbuf key = {0};
  bool comparable = computation->instrs.count <= CSE_MAX_COMPARED;
  computation->data = computation;
  for (int32_t i = 0; i < computation->instrs.count && comparable; i++) {
    halo_instr *instr = computation->instrs.data[i];
    instr->mark = i;
    comparable = instr->opcode == HALO_OP_PARAMETER || cse_allowed(instr);
    if (!comparable) break;
    comparable = cse_put_instr(&key, instr);
    cse_put_i64(&key, instr->parameter_number);
    cse_put_i64(&key, instr->operand_count);
    for (int32_t o = 0; o < instr->operand_count; o++) cse_put_i64(&key, instr->operands[o]->mark);
  }
  if (comparable) {
    cse_put_i64(&key, computation->root->mark);
    halo_computation *first = halo_map_get(seen, key.data, key.length);
    if (first) {
      computation->data = first;
    } else {
      halo_map_set(seen, key.data, key.length, computation);
    }
  }
  halo_strbuf_deinit(&key);
}

/* Reducers, comparators and the like are only read, so equal ones can be shared; the bodies of control
 * flow stay apart, since passes change them in place. */
static void cse_share_computations(halo_rewriter *r, halo_instr *instr) {
  if (instr->opcode == HALO_OP_WHILE || instr->opcode == HALO_OP_CONDITIONAL ||
      instr->opcode == HALO_OP_CALL || instr->opcode == HALO_OP_FUSION ||
      instr->opcode == HALO_OP_CUSTOM_CALL || instr->opcode == HALO_OP_ASYNC_START) {
    return;
  }
  for (int32_t i = 0; i < instr->attr_count; i++) {
    halo_attr attr = instr->attrs[i];
    if (halo_attr_kind_of(attr.id) != HALO_KIND_COMPS) continue;
    bool differs = false;
    for (int32_t c = 0; c < attr.comps.count; c++) {
      differs |= attr.comps.data[c]->data != attr.comps.data[c];
    }
    if (!differs) continue;
    halo_computation **comps =
        halo_arena_array(&r->computation->module->arena, halo_computation *, attr.comps.count);
    for (int32_t c = 0; c < attr.comps.count; c++) comps[c] = attr.comps.data[c]->data;
    attr.comps.data = comps;
    halo_instr_set_attr(instr, &attr);
    r->changed = true;
  }
}

/* ---- The pass ---- */

static halo_status cse_run(halo_computation *computation, bool *changed) {
  halo_map seen = {0};
  halo_strbuf key = {0};
  halo_rewriter r;
  halo_rewrite_begin(&r, computation);
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = halo_rewrite_next(&r, i);
    if (!instr) continue;
    if (halo_instr_called_count(instr)) cse_share_computations(&r, instr);
    if (halo_rewrite_pinned(instr) || !cse_allowed(instr)) continue;
    key.length = 0;
    if (!cse_put_instr(&key, instr)) continue;
    bool swap = cse_swaps(instr) && instr->operands[0]->id > instr->operands[1]->id;
    for (int32_t o = 0; o < instr->operand_count; o++) {
      cse_put_i64(&key, instr->operands[swap ? 1 - o : o]->id);
    }
    halo_instr *first = halo_map_get(&seen, key.data, key.length);
    if (first) {
      halo_rewrite_replace(&r, instr, first);
    } else {
      halo_map_set(&seen, key.data, key.length, instr);
    }
  }
  halo_map_deinit(&seen);
  halo_strbuf_deinit(&key);
  return halo_rewrite_end(&r, changed);
}

halo_status halo_pass_cse(halo_module *module, bool *changed) {
  halo_map seen = {0};
  for (int32_t c = 0; c < module->computations.count; c++) {
    cse_represent(module->computations.data[c], &seen);
  }
  halo_map_deinit(&seen);
  return halo_rewrite_computations(module, cse_run, changed);
}
