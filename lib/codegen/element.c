/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/element.c: the walk from an element of a root to the parameters. */
#include "codegen/ctype.h"
#include "codegen/emitter_private.h"

#include <string.h>

/* Trees deeper than this would overflow the stack; the fusion pass stays far below. */
enum { ELEMENT_MAX_DEPTH = 4000 };

/* ---- Frames ---- */

emit_frame *halo_frame_kernel(halo_emitter *e, const halo_computation *computation) {
  emit_frame *frame = halo_arena_new(e->arena, emit_frame);
  frame->id = e->next_frame++;
  frame->computation = computation;
  frame->is_kernel = true;
  return frame;
}

emit_frame *emit_frame_values(halo_emitter *e, const halo_computation *computation,
                              const halo_value *values) {
  emit_frame *frame = halo_frame_kernel(e, computation);
  frame->is_kernel = false;
  frame->values = values;
  return frame;
}

/* ---- What is known already ---- */

/* Keys of values in the memo. ELEMENT_ANYWHERE: at every index. */
typedef struct element_key {
  int32_t frame, instr, leaf, index;
} element_key;

enum { ELEMENT_ANYWHERE = -1 };

static const halo_value *element_get(halo_emitter *e, const emit_frame *frame,
                                     const halo_instr *instr, int32_t leaf, int32_t index) {
  element_key key = {frame->id, instr->id, leaf, index};
  return emit_memo_get(e, &key, sizeof key);
}

static void element_set(halo_emitter *e, const emit_frame *frame, const halo_instr *instr,
                        int32_t leaf, int32_t index, halo_value value) {
  element_key key = {frame->id, instr->id, leaf, index};
  emit_memo_set(e, &key, sizeof key, halo_arena_copy(e->arena, &value, sizeof value));
}

void halo_frame_bind(halo_emitter *e, emit_frame *frame, const halo_instr *instr, int32_t leaf,
                     halo_value value) {
  element_set(e, frame, instr, leaf, ELEMENT_ANYWHERE, value);
}

void halo_frame_bind_at(halo_emitter *e, emit_frame *frame, const halo_instr *instr, int32_t leaf,
                        const emit_index *index, halo_value value) {
  element_set(e, frame, instr, leaf, index->id, value);
}

/* ---- Memory ---- */

/* A word of an element's row of 16 in an input, where rows are turned over; NULL: it is none. */
static const char *element_transposed(halo_emitter *e, const char *arg, halo_type type,
                                      const halo_integer *position) {
  enum { WORDS = 16 };
  halo_transposed *t = e->transposed;
  const halo_kernel_arg *input = NULL;
  for (int32_t i = 0; i < e->args.count; i++) {
    if (strcmp(e->args.data[i].name, arg) == 0) input = &e->args.data[i];
  }
  if (!input || input->role != HALO_ROLE_INPUT || halo_type_size(type) != 4) return NULL;
  const halo_integer *row = halo_integer_mul(&e->integers, t->at, WORDS);
  int64_t word;
  if (!halo_integer_is_constant(halo_integer_sub(&e->integers, position, row), &word)) return NULL;
  if (word < 0 || word >= WORDS) return NULL;
  int32_t known = 0;
  while (known < t->args.count && strcmp(t->args.data[known].name, arg) != 0) known++;
  if (known == t->args.count && t->complete) return NULL;
  if (known == t->args.count) {
    halo_vec_push(&t->args, *input);
    halo_vec_push(&t->words, 0);
  }
  t->words.data[known] |= 1u << word;
  return halo_arena_printf(e->arena, "((const %s *)&%s_turned[%d])[%s]", halo_ctype_storage(type),
                           arg, (int)word, t->lane);
}

static void element_note(halo_emitter *e, const char *arg, const halo_integer *position) {
  halo_neighbours *n = e->neighbours;
  int64_t at;
  int32_t i = 0;
  if (!halo_integer_is_constant(halo_integer_sub(&e->integers, position, n->counter), &at)) return;
  while (i < n->args.count && strcmp(n->args.data[i], arg) != 0) i++;
  if (i < n->args.count) {
    n->several |= n->at.data[i] != at;
    return;
  }
  halo_vec_push(&n->args, arg);
  halo_vec_push(&n->at, at);
}

halo_value halo_emit_load(halo_emitter *e, const char *arg, halo_type type,
                          const halo_integer *position) {
  if (e->neighbours) element_note(e, arg, position);
  const char *transposed = e->transposed ? element_transposed(e, arg, type, position) : NULL;
  if (transposed)
    return emit_declare(e,
                        halo_value_expression(type, halo_ctype_load(e->arena, type, transposed)));
  const char *at = halo_emit_integer(e, position);
  int64_t place;
  if (e->origin && !halo_integer_is_constant(position, &place)) {
    at = halo_arena_printf(e->arena, "%s + %s", at, e->origin);
  }
  const char *raw = halo_arena_printf(e->arena, "%s[%s]", arg, at);
  if (e->vectors && halo_type_is_complex(type)) {
    const char *part = halo_ctype_compute(halo_type_real_part(type));
    raw = halo_arena_printf(
        e->arena,
        "(%s)(((__global const %s *)%s)[2 * (%s)], ((__global const %s *)%s)[2 * (%s) + 1])",
        halo_ctype_compute(type), part, arg, at, part, arg, at);
  }
  halo_value value = halo_value_expression(type, halo_ctype_load(e->arena, type, raw));
  if (type == HALO_F16) value.stored = raw;
  return emit_declare(e, value);
}

void halo_emit_store(halo_emitter *e, const char *arg, const halo_integer *position,
                     halo_value value) {
  const char *at = halo_emit_integer(e, position);
  halo_emit_line(e, "%s[%s] = %s;", arg, at, halo_value_stored(e->arena, &value));
}

/* Parameters are numbered by their leaves: a loop's state is a tuple, as is a branch's argument. */
static int32_t element_parameter_leaf(const emit_frame *frame, const halo_instr *instr,
                                      int32_t leaf) {
  for (int32_t p = 0; p < instr->parameter_number; p++) {
    leaf += halo_shape_leaf_count(frame->computation->params.data[p]->shape);
  }
  return leaf;
}

static halo_value element_parameter(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                                    int32_t leaf, emit_index *index) {
  int32_t number = element_parameter_leaf(frame, instr, leaf);
  const halo_shape *shape = halo_leaf_shape(instr->shape, leaf);
  if (!frame->is_kernel) {
    halo_value value = frame->values[number];
    if (value.array) return emit_array_load(e, value, index);
    return halo_value_as(value, shape->type);
  }
  const char *arg = halo_emit_arg(e, HALO_ROLE_INPUT, number, shape->type, NULL);
  return halo_emit_load(e, arg, shape->type, halo_index_position(e, index, shape));
}

/* ---- The walk ---- */

/* By the operation's rule, which gives all leaves at once. */
static halo_value element_compute(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                                  int32_t leaf, emit_index *index) {
  int32_t count = halo_shape_leaf_count(instr->shape);
  halo_value *leaves = halo_arena_array(e->arena, halo_value, count);
  for (int32_t l = 0; l < count; l++) {
    halo_type type = halo_leaf_shape(instr->shape, l)->type;
    halo_sections_add(&e->sections, halo_ctype_section(type));
    leaves[l] = halo_value_name(type, "0");
  }
  e->rules->compute(e, frame, instr, index, leaves);
  for (int32_t l = 0; l < count; l++) element_set(e, frame, instr, l, index->id, leaves[l]);
  return leaves[leaf];
}

/* Looks through tuples: the instruction and leaf that hold a leaf's value. */
static const halo_instr *element_through_tuples(const halo_instr *instr, int32_t *leaf) {
  for (;;) {
    if (instr->opcode == HALO_OP_GET_TUPLE_ELEMENT) {
      const halo_instr *tuple = instr->operands[0];
      *leaf += halo_leaf_start(tuple->shape, halo_instr_int(instr, HALO_ATTR_INDEX, 0));
      instr = tuple;
    } else if (instr->opcode == HALO_OP_TUPLE) {
      int32_t i = 0, count;
      while (*leaf >= (count = halo_shape_leaf_count(instr->operands[i]->shape))) {
        *leaf -= count;
        i++;
      }
      instr = instr->operands[i];
    } else {
      return instr;
    }
  }
}

const halo_value *emit_known_array(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                                   int32_t leaf) {
  instr = element_through_tuples(instr, &leaf);
  if (instr->opcode == HALO_OP_PARAMETER && !frame->is_kernel) {
    return &frame->values[element_parameter_leaf(frame, instr, leaf)];
  }
  return element_get(e, frame, instr, leaf, ELEMENT_ANYWHERE);
}

halo_value halo_emit_value(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                           int32_t leaf, emit_index *index) {
  instr = element_through_tuples(instr, &leaf);
  halo_value value = halo_value_name(halo_leaf_shape(instr->shape, leaf)->type, "0");
  if (e->status != HALO_OK) return value;
  const halo_value *known = element_get(e, frame, instr, leaf, ELEMENT_ANYWHERE), *here;
  if (known && !known->array) return *known;
  here = element_get(e, frame, instr, leaf, index->id);
  if (here) return *here;
  if (e->depth >= ELEMENT_MAX_DEPTH) {
    emit_fail(e, halo_fail(HALO_UNIMPLEMENTED, "%s: more than %d nested operations in one kernel",
                           instr->name, ELEMENT_MAX_DEPTH));
    return value;
  }
  e->depth++;
  if (known) {
    value = emit_array_load(e, *known, index);
  } else if (instr->opcode == HALO_OP_PARAMETER) {
    value = element_parameter(e, frame, instr, leaf, index);
  } else {
    value = element_compute(e, frame, instr, leaf, index);
  }
  e->depth--;
  element_set(e, frame, instr, leaf, index->id, value);
  return value;
}
