/* codegen/emitter.c: the emitter's state, scopes and memo, and the walk over instructions. */
#include "codegen/emitter.h"

#include "base/config.h"
#include "codegen/ctype.h"
#include "codegen/scalar.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A memo entry; `value` is reset to NULL when the scope that made it closes. */
typedef struct emit_box {
  const void *value;
} emit_box;

/* Trees deeper than this would overflow the stack; the fusion pass stays far below. */
enum { EMIT_MAX_DEPTH = 4000 };

static void emit_measure(const halo_computation *computation, bool *wide, int depth) {
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    int32_t leaves = halo_shape_leaf_count(instr->shape);
    for (int32_t l = 0; l < leaves; l++) {
      const halo_shape *leaf = halo_leaf_shape(instr->shape, l);
      int64_t count = 1;
      for (int d = 0; d < leaf->rank; d++) count *= leaf->dims[d] > 0 ? leaf->dims[d] : 1;
      if (count > INT32_MAX / 2) *wide = true;
    }
    int32_t called = halo_instr_called_count(instr);
    for (int32_t c = 0; c < called && depth < 64; c++) {
      emit_measure(halo_instr_called(instr, c), wide, depth + 1);
    }
  }
}

void halo_emitter_init(halo_emitter *e, halo_arena *arena, const halo_computation *computation) {
  *e = (halo_emitter){
      .arena = arena, .indent = 1, .wide = halo_config_flag(HALO_CONFIG_WIDE_INDICES)};
  emit_measure(computation, &e->wide, 0);
}

void halo_emitter_deinit(halo_emitter *e) {
  halo_vec_deinit(&e->args);
  halo_vec_deinit(&e->undo);
  halo_vec_deinit(&e->scopes);
  halo_map_deinit(&e->memo);
  halo_strbuf_deinit(&e->body);
}

void halo_emitter_restart(halo_emitter *e) {
  halo_strbuf_deinit(&e->body);
  halo_map_deinit(&e->memo);
  e->undo.count = e->scopes.count = 0;
  e->indent = 1;
}

const char *halo_emitter_index_type(const halo_emitter *e) { return e->wide ? "long" : "int"; }

void emit_fail(halo_emitter *e, halo_status status) {
  if (e->status == HALO_OK) e->status = status;
}

void halo_emit_line(halo_emitter *e, const char *format, ...) {
  for (int i = 0; i < e->indent; i++) halo_strbuf_append(&e->body, "  ");
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = halo_alloc((size_t)length + 1);
  vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  halo_strbuf_append_n(&e->body, text, (size_t)length);
  halo_strbuf_char(&e->body, '\n');
  halo_free(text);
}

void halo_emit_open(halo_emitter *e, const char *header) {
  halo_emit_line(e, "%s%s{", header ? header : "", header ? " " : "");
  e->indent++;
  halo_vec_push(&e->scopes, e->undo.count);
}

void halo_emit_close(halo_emitter *e) {
  int32_t mark = e->scopes.data[--e->scopes.count];
  while (e->undo.count > mark) {
    emit_undo *undo = &e->undo.data[--e->undo.count];
    *undo->slot = undo->old;
  }
  e->indent--;
  halo_emit_line(e, "}");
}

void emit_remember(halo_emitter *e, const void **slot, const void *value) {
  halo_vec_push(&e->undo, (emit_undo){slot, *slot});
  *slot = value;
}

const void *emit_memo_get(halo_emitter *e, const void *key, size_t size) {
  emit_box *box = halo_map_get(&e->memo, key, size);
  return box ? box->value : NULL;
}

void emit_memo_set(halo_emitter *e, const void *key, size_t size, const void *value) {
  emit_box *box = halo_map_get(&e->memo, key, size);
  if (!box) {
    box = halo_arena_new(e->arena, emit_box);
    halo_map_set(&e->memo, key, size, box);
  }
  emit_remember(e, &box->value, value);
}

const char *emit_name(halo_emitter *e, const char *prefix) {
  return halo_arena_printf(e->arena, "%s%d", prefix, e->next_name++);
}

/* Names and plain numbers need no variable of their own. */
static bool emit_is_atom(const char *expr) {
  for (const char *c = expr; *c; c++) {
    bool word = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                *c == '_' || *c == '.';
    if (!word) return false;
  }
  return true;
}

const char *emit_declare(halo_emitter *e, halo_type type, const char *expr) {
  if (emit_is_atom(expr)) return expr;
  const char *name = emit_name(e, "v");
  halo_emit_line(e, "const %s %s = %s;", halo_ctype_compute(type), name, expr);
  return name;
}

const char *halo_emit_arg(halo_emitter *e, halo_role role, int32_t index, halo_type type,
                          const halo_literal *literal) {
  static const char *const letters[] = {"a", "k", "q", "s"};
  for (int32_t i = 0; i < e->args.count; i++) {
    const halo_kernel_arg *arg = &e->args.data[i];
    if (arg->role == role && arg->index == index && arg->literal == literal) return arg->name;
  }
  int32_t number = role == HALO_ROLE_CONST ? e->args.count : index;
  halo_kernel_arg arg = {role, index, literal, type,
                         halo_arena_printf(e->arena, "%s%d", letters[role], number)};
  halo_vec_push(&e->args, arg);
  halo_sections_add(&e->sections, halo_ctype_section(type));
  return arg.name;
}

/* ---- Frames ---- */

emit_frame *halo_frame_kernel(halo_emitter *e, const halo_computation *computation) {
  emit_frame *frame = halo_arena_new(e->arena, emit_frame);
  frame->id = e->next_frame++;
  frame->computation = computation;
  frame->is_kernel = true;
  return frame;
}

emit_frame *halo_frame_values(halo_emitter *e, const halo_computation *computation,
                              const char *const *values) {
  emit_frame *frame = halo_frame_kernel(e, computation);
  frame->is_kernel = false;
  frame->values = values;
  return frame;
}

/* Memo keys of values: one byte tag, then the numbers. */
typedef struct value_key {
  int32_t tag, frame, instr, leaf, index;
} value_key;

void halo_frame_bind(halo_emitter *e, emit_frame *frame, const halo_instr *instr, int32_t leaf,
                     const char *value) {
  value_key key = {-2, frame->id, instr->id, leaf, -1};
  emit_memo_set(e, &key, sizeof key, value);
}

/* ---- Values ---- */

/* Parameters are numbered by their leaves: a loop's state is a tuple, as is a branch's argument. */
static int32_t emit_parameter_leaf(const emit_frame *frame, const halo_instr *instr, int32_t leaf) {
  for (int32_t p = 0; p < instr->parameter_number; p++) {
    leaf += halo_shape_leaf_count(frame->computation->params.data[p]->shape);
  }
  return leaf;
}

static const char *emit_parameter(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                                  int32_t leaf, emit_index *index) {
  int32_t number = emit_parameter_leaf(frame, instr, leaf);
  if (!frame->is_kernel) return frame->values[number];
  const halo_shape *shape = halo_leaf_shape(instr->shape, leaf);
  const char *arg = halo_emit_arg(e, HALO_ROLE_INPUT, number, shape->type, NULL);
  const char *position = halo_index_position(e, index, shape);
  const char *raw = halo_arena_printf(e->arena, "%s[%s]", arg, position);
  return emit_declare(e, shape->type, halo_ctype_load(e->arena, shape->type, raw));
}

static bool emit_literal_is_uniform(const halo_literal *literal) {
  int64_t count = halo_shape_element_count(literal->shape);
  size_t size = halo_type_size(literal->shape->type);
  const char *data = literal->data;
  for (int64_t i = 1; i < count; i++) {
    if (memcmp(data, data + (size_t)i * size, size) != 0) return false;
  }
  return count > 0;
}

static const char *emit_constant(halo_emitter *e, const halo_instr *instr, emit_index *index) {
  halo_type type = instr->shape->type;
  halo_sections_add(&e->sections, halo_ctype_section(type));
  if (halo_shape_element_count(instr->shape) == 0) {
    return halo_ctype_constant_i64(e->arena, type, 0);
  }
  if (emit_literal_is_uniform(instr->literal)) {
    return halo_ctype_constant(e->arena, instr->literal, 0);
  }
  /* Literals are row-major whatever the constant's layout says. */
  const char *arg = halo_emit_arg(e, HALO_ROLE_CONST, 0, type, instr->literal);
  const halo_shape *row_major =
      halo_shape_new(e->arena, type, instr->shape->rank, instr->shape->dims);
  const char *raw =
      halo_arena_printf(e->arena, "%s[%s]", arg, halo_index_position(e, index, row_major));
  return emit_declare(e, type, halo_ctype_load(e->arena, type, raw));
}

static const char *emit_iota(halo_emitter *e, const halo_instr *instr, emit_index *index) {
  int64_t d = halo_instr_int(instr, HALO_ATTR_IOTA_DIMENSION, 0);
  const char *at = halo_index_at(e, index, (int)d);
  return emit_declare(e, instr->shape->type,
                      halo_scalar_convert(e->arena, &e->sections, e->wide ? HALO_S64 : HALO_S32,
                                          instr->shape->type, at));
}

static const char *emit_elementwise(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                                    emit_index *index) {
  const char *operands[3] = {0};
  for (int32_t i = 0; i < instr->operand_count && i < 3; i++) {
    const halo_instr *operand = instr->operands[i];
    /* select's predicate and clamp's bounds may be scalars beside arrays */
    emit_index *at =
        operand->shape->rank == instr->shape->rank ? index : halo_index_of(e, 0, NULL, NULL);
    operands[i] = halo_emit_value(e, frame, operand, 0, at);
  }
  const char *expr = "0";
  if (e->status != HALO_OK) return expr;
  halo_status status =
      halo_scalar_expr(instr, operands, !e->keep_f32, e->arena, &e->sections, &expr);
  if (status != HALO_OK) emit_fail(e, status);
  return emit_declare(e, instr->shape->type, expr);
}

static const char *emit_map(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                            emit_index *index) {
  const char **values = halo_arena_array(e->arena, const char *, instr->operand_count);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    values[i] = halo_emit_value(e, frame, instr->operands[i], 0, index);
  }
  const char *result = "0";
  halo_emit_apply(e, halo_instr_comp(instr, HALO_ATTR_TO_APPLY), values, &result);
  return result;
}

void halo_emit_apply(halo_emitter *e, const halo_computation *computation,
                     const char *const *values, const char **results) {
  emit_frame *frame = halo_frame_values(e, computation, values);
  int32_t leaves = halo_shape_leaf_count(computation->root->shape);
  for (int32_t l = 0; l < leaves; l++) {
    results[l] = halo_emit_value(e, frame, computation->root, l, halo_index_of(e, 0, NULL, NULL));
  }
}

/* A call or fusion met inside another computation: its parameters are our values. Only scalars get
 * here; the passes inline everything else. */
static void emit_call(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                      const char **leaves) {
  const halo_computation *callee =
      halo_instr_comp(instr, instr->opcode == HALO_OP_CALL ? HALO_ATTR_TO_APPLY : HALO_ATTR_CALLS);
  HALO_VEC(const char *) values = {0};
  for (int32_t i = 0; i < instr->operand_count; i++) {
    int32_t count = halo_shape_leaf_count(instr->operands[i]->shape);
    for (int32_t l = 0; l < count; l++) {
      const char *value =
          halo_emit_value(e, frame, instr->operands[i], l, halo_index_of(e, 0, NULL, NULL));
      halo_vec_push(&values, value);
    }
  }
  const char *const *kept =
      halo_arena_copy(e->arena, values.data, sizeof(char *) * (size_t)values.count);
  halo_vec_deinit(&values);
  halo_emit_apply(e, callee, kept, leaves);
}

static const char *emit_single(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                               emit_index *index) {
  halo_sections_add(&e->sections, halo_ctype_section(instr->shape->type));
  if (halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW)) {
    return emit_elementwise(e, frame, instr, index);
  }
  if (emit_is_movement(instr->opcode)) return emit_movement(e, frame, instr, index);
  switch ((int)instr->opcode) {
    case HALO_OP_CONSTANT: return emit_constant(e, instr, index);
    case HALO_OP_IOTA: return emit_iota(e, instr, index);
    case HALO_OP_MAP: return emit_map(e, frame, instr, index);
    case HALO_OP_OPT_BARRIER:
    case HALO_OP_DOMAIN:
    case HALO_OP_ADD_DEPENDENCY: return halo_emit_value(e, frame, instr->operands[0], 0, index);
    default: emit_fail(e, halo_emitter_check(instr)); return "0";
  }
}

const char *halo_emit_value(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                            int32_t leaf, emit_index *index) {
  if (e->status != HALO_OK) return "0";
  switch ((int)instr->opcode) {
    case HALO_OP_TUPLE:
      for (int32_t i = 0; i < instr->operand_count; i++) {
        int32_t count = halo_shape_leaf_count(instr->operands[i]->shape);
        if (leaf < count) return halo_emit_value(e, frame, instr->operands[i], leaf, index);
        leaf -= count;
      }
      return "0";
    case HALO_OP_GET_TUPLE_ELEMENT: {
      const halo_instr *tuple = instr->operands[0];
      int64_t i = halo_instr_int(instr, HALO_ATTR_INDEX, 0);
      return halo_emit_value(e, frame, tuple, halo_leaf_start(tuple->shape, i) + leaf, index);
    }
    default: break;
  }
  value_key key = {-2, frame->id, instr->id, leaf, -1};
  const char *known = emit_memo_get(e, &key, sizeof key);
  if (known) return known;
  key.tag = -1;
  key.index = index->id;
  known = emit_memo_get(e, &key, sizeof key);
  if (known) return known;
  if (e->depth >= EMIT_MAX_DEPTH) {
    emit_fail(e, halo_fail(HALO_UNIMPLEMENTED, "%s: more than %d nested operations in one kernel",
                           instr->name, EMIT_MAX_DEPTH));
    return "0";
  }
  e->depth++;
  if (instr->opcode == HALO_OP_PARAMETER) {
    known = emit_parameter(e, frame, instr, leaf, index);
  } else if (emit_is_cooperative(instr->opcode) || instr->opcode == HALO_OP_CALL ||
             instr->opcode == HALO_OP_FUSION) {
    int32_t count = halo_shape_leaf_count(instr->shape);
    const char **leaves = halo_arena_array(e->arena, const char *, count);
    for (int32_t l = 0; l < count; l++) leaves[l] = "0";
    if (emit_is_cooperative(instr->opcode)) {
      emit_cooperative(e, frame, instr, index, leaves);
    } else {
      emit_call(e, frame, instr, leaves);
    }
    for (int32_t l = 0; l < count; l++) {
      key.leaf = l;
      emit_memo_set(e, &key, sizeof key, leaves[l]);
    }
    e->depth--;
    return leaves[leaf];
  } else {
    known = emit_single(e, frame, instr, index);
  }
  e->depth--;
  emit_memo_set(e, &key, sizeof key, known);
  return known;
}

void halo_emit_store(halo_emitter *e, const char *arg, halo_type type, const char *position,
                     const char *value) {
  halo_emit_line(e, "%s[%s] = %s;", arg, position, halo_ctype_store(e->arena, type, value));
}
