/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/instr.c: what an instruction says of itself, its attributes and called computations; and changes to it. */
#include "hlo/hlo.h"

#include "base/map.h"
#include "base/strbuf.h"

#include <string.h>

const halo_attr *halo_instr_attr(const halo_instr *instr, halo_attr_id id) {
  for (int32_t i = 0; i < instr->attr_count; i++) {
    if (instr->attrs[i].id == id) return &instr->attrs[i];
  }
  return NULL;
}

bool halo_instr_is_bare(const halo_instr *instr) {
  for (int32_t i = 0; i < instr->attr_count; i++) {
    halo_attr_id id = instr->attrs[i].id;
    if (id < HALO_ATTR_SHARDING || id > HALO_ATTR_METADATA) return false;
  }
  return true;
}

int64_t halo_instr_int(const halo_instr *instr, halo_attr_id id, int64_t default_) {
  const halo_attr *attr = halo_instr_attr(instr, id);
  return attr ? attr->i : default_;
}

bool halo_instr_bool(const halo_instr *instr, halo_attr_id id, bool default_) {
  return halo_instr_int(instr, id, default_) != 0;
}

const int64_t *halo_instr_ints(const halo_instr *instr, halo_attr_id id, int32_t *count) {
  const halo_attr *attr = halo_instr_attr(instr, id);
  *count = attr ? attr->ints.count : 0;
  return attr ? attr->ints.data : NULL;
}

halo_computation *halo_instr_comp(const halo_instr *instr, halo_attr_id id) {
  const halo_attr *attr = halo_instr_attr(instr, id);
  return attr && attr->comps.count > 0 ? attr->comps.data[0] : NULL;
}

int32_t halo_instr_called_count(const halo_instr *instr) {
  int32_t count = 0;
  for (int32_t i = 0; i < instr->attr_count; i++) {
    if (halo_attr_kind_of(instr->attrs[i].id) == HALO_KIND_COMPS) {
      count += instr->attrs[i].comps.count;
    }
  }
  return count;
}

halo_computation *halo_instr_called(const halo_instr *instr, int32_t n) {
  for (int32_t i = 0; i < instr->attr_count; i++) {
    if (halo_attr_kind_of(instr->attrs[i].id) != HALO_KIND_COMPS) continue;
    if (n < instr->attrs[i].comps.count) return instr->attrs[i].comps.data[n];
    n -= instr->attrs[i].comps.count;
  }
  return NULL;
}

halo_computation *halo_call_walk_next(halo_call_walk *walk, const halo_instr **from) {
  while (walk->instr < walk->computation->instrs.count) {
    const halo_instr *instr = walk->computation->instrs.data[walk->instr];
    if (walk->called < halo_instr_called_count(instr)) {
      if (from) *from = instr;
      return halo_instr_called(instr, walk->called++);
    }
    walk->instr++;
    walk->called = 0;
  }
  return NULL;
}

int32_t halo_conditional_branch_count(const halo_instr *instr) {
  const halo_attr *branches = halo_instr_attr(instr, HALO_ATTR_BRANCH_COMPUTATIONS);
  return branches ? branches->comps.count : 2;
}

halo_computation *halo_conditional_branch(const halo_instr *instr, int32_t i) {
  const halo_attr *branches = halo_instr_attr(instr, HALO_ATTR_BRANCH_COMPUTATIONS);
  if (branches) return branches->comps.data[i];
  return halo_instr_comp(instr, i ? HALO_ATTR_FALSE_COMPUTATION : HALO_ATTR_TRUE_COMPUTATION);
}

halo_compare_type halo_compare_type_of(const halo_instr *compare) {
  halo_type type = compare->operands[0]->shape->type;
  bool floating = halo_type_is_float(type) || halo_type_is_complex(type);
  const halo_attr *order = halo_instr_attr(compare, HALO_ATTR_COMPARE_ORDER);
  if (order && floating) {
    return order->i == HALO_ORDER_TOTAL ? HALO_COMPARE_TOTALORDER : HALO_COMPARE_FLOAT;
  }
  const halo_attr *written = halo_instr_attr(compare, HALO_ATTR_COMPARE_TYPE);
  bool total = written && written->i == HALO_COMPARE_TOTALORDER;
  if (floating) return total ? HALO_COMPARE_TOTALORDER : HALO_COMPARE_FLOAT;
  bool sign = written && (written->i == HALO_COMPARE_SIGNED || written->i == HALO_COMPARE_UNSIGNED);
  if (sign) return (halo_compare_type)written->i;
  return halo_type_is_sint(type) ? HALO_COMPARE_SIGNED : HALO_COMPARE_UNSIGNED;
}

/* The answer of the opcode alone: 1 has effects, 0 has none, -1 ask the computations it calls. */
static int instr_own_effect(const halo_instr *instr) {
  if (instr->opcode == HALO_OP_CUSTOM_CALL) {
    return halo_instr_bool(instr, HALO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, false);
  }
  /* after-all only orders; what it orders keeps itself. */
  if (instr->opcode == HALO_OP_AFTER_ALL) return 0;
  if (halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EFFECT | HALO_TRAIT_COLL)) return 1;
  return halo_instr_called_count(instr) ? -1 : 0;
}

typedef HALO_VEC(halo_computation *) computation_list;

/* Computations may be called along many paths, but each is looked through once. */
static void instr_push_called(const halo_instr *instr, computation_list *todo, halo_map *seen) {
  int32_t called = halo_instr_called_count(instr);
  for (int32_t c = 0; c < called; c++) {
    halo_computation *computation = halo_instr_called(instr, c);
    if (halo_map_set(seen, &computation, sizeof computation, computation)) continue;
    halo_vec_push(todo, computation);
  }
}

bool halo_instr_has_side_effect(const halo_instr *instr) {
  int own = instr_own_effect(instr);
  if (own >= 0) return own;
  computation_list todo = {0};
  halo_map seen = {0};
  bool effect = false;
  instr_push_called(instr, &todo, &seen);
  while (todo.count && !effect) {
    const halo_computation *computation = todo.data[--todo.count];
    for (int32_t i = 0; i < computation->instrs.count && !effect; i++) {
      own = instr_own_effect(computation->instrs.data[i]);
      if (own < 0) instr_push_called(computation->instrs.data[i], &todo, &seen);
      effect = own > 0;
    }
  }
  halo_vec_deinit(&todo);
  halo_map_deinit(&seen);
  return effect;
}

const char *halo_instr_text(halo_arena *arena, const halo_instr *instr) {
  halo_strbuf text = {0};
  halo_strbuf_printf(&text, "%%%s = ", instr->name);
  if (instr->shape) {
    halo_shape_print(&text, instr->shape, false);
    halo_strbuf_char(&text, ' ');
  }
  halo_strbuf_printf(&text, "%s(", halo_opcode_name(instr->opcode));
  for (int32_t i = 0; i < instr->operand_count; i++) {
    if (i) halo_strbuf_append(&text, ", ");
    halo_shape_print(&text, instr->operands[i]->shape, false);
    halo_strbuf_printf(&text, " %%%s", instr->operands[i]->name);
  }
  halo_strbuf_char(&text, ')');
  const char *copy = halo_arena_strdup(arena, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return copy;
}

void halo_instr_set_attr(halo_instr *instr, const halo_attr *attr) {
  for (int32_t i = 0; i < instr->attr_count; i++) {
    if (instr->attrs[i].id == attr->id && attr->id != HALO_ATTR_UNKNOWN) {
      instr->attrs[i] = *attr;
      return;
    }
  }
  halo_attr *attrs =
      halo_arena_array(&instr->parent->module->arena, halo_attr, instr->attr_count + 1);
  if (instr->attr_count) memcpy(attrs, instr->attrs, sizeof *attrs * (size_t)instr->attr_count);
  attrs[instr->attr_count++] = *attr;
  instr->attrs = attrs;
}

void halo_instr_remove_attr(halo_instr *instr, halo_attr_id id) {
  int32_t kept = 0;
  for (int32_t i = 0; i < instr->attr_count; i++) {
    if (instr->attrs[i].id != id) instr->attrs[kept++] = instr->attrs[i];
  }
  instr->attr_count = kept;
}
