/* codegen/movement.c: ops that only say where an element comes from. */
#include "codegen/ctype.h"
#include "codegen/emitter.h"
#include "codegen/scalar.h"

#include <string.h>

bool emit_is_movement(halo_opcode opcode) {
  switch ((int)opcode) {
    case HALO_OP_BROADCAST:
    case HALO_OP_RESHAPE:
    case HALO_OP_BITCAST:
    case HALO_OP_BITCAST_CONVERT:
    case HALO_OP_TRANSPOSE:
    case HALO_OP_REVERSE:
    case HALO_OP_SLICE:
    case HALO_OP_DYNAMIC_SLICE:
    case HALO_OP_DYNAMIC_UPDATE_SLICE:
    case HALO_OP_PAD:
    case HALO_OP_CONCATENATE:
    case HALO_OP_GATHER: return true;
    default: return false;
  }
}

static emit_index *move_index(halo_emitter *e, const halo_shape *shape, const char *const *at) {
  return halo_index_of(e, shape->rank, shape->dims, at);
}

static const char *move_broadcast(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                  emit_index *index) {
  const halo_instr *x = instr->operands[0];
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  /* A broadcast that only adds leading or no dimensions of extent 1 keeps positions. */
  if (halo_shape_element_count(x->shape) == halo_shape_element_count(instr->shape) &&
      index->linear) {
    bool sorted = true;
    for (int32_t i = 1; i < count; i++) sorted &= dims[i] > dims[i - 1];
    if (sorted) {
      const halo_shape *row_major =
          halo_shape_new(e->arena, x->shape->type, x->shape->rank, x->shape->dims);
      return halo_emit_value(e, f, x, 0, halo_index_from_position(e, row_major, index->linear));
    }
  }
  const char *at[HALO_MAX_RANK];
  for (int32_t i = 0; i < count; i++) {
    at[i] = x->shape->dims[i] == 1 ? "0" : halo_index_at(e, index, (int)dims[i]);
  }
  return halo_emit_value(e, f, x, 0, move_index(e, x->shape, at));
}

static const char *move_reshape(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                emit_index *index) {
  const halo_shape *from = instr->shape;
  const halo_instr *x = instr->operands[0];
  const halo_shape *row_major = halo_shape_new(e->arena, from->type, from->rank, from->dims);
  const char *position = halo_index_position(e, index, row_major);
  row_major = halo_shape_new(e->arena, x->shape->type, x->shape->rank, x->shape->dims);
  return halo_emit_value(e, f, x, 0, halo_index_from_position(e, row_major, position));
}

/* Bits of a value as the unsigned integer of its storage, and back. */
static const char *move_bits_of(halo_emitter *e, halo_type type, const char *value) {
  const char *stored = halo_ctype_store(e->arena, type, value);
  switch (halo_type_size(type)) {
    case 1:
      return halo_arena_printf(e->arena, "((uchar)(%s) & 0x%x)", stored,
                               type == HALO_PRED ? 1 : (1 << halo_type_bits(type)) - 1);
    case 2: return halo_arena_printf(e->arena, "as_ushort(%s)", stored);
    case 4: return halo_arena_printf(e->arena, "as_uint(%s)", stored);
    default: return halo_arena_printf(e->arena, "as_ulong(%s)", stored);
  }
}

static const char *move_from_bits(halo_emitter *e, halo_type type, const char *bits) {
  const char *storage = halo_ctype_storage(type);
  const char *text;
  if (halo_type_is_integral(type) || type == HALO_PRED) {
    text = halo_arena_printf(e->arena, "(%s)(%s)", storage, bits);
    if (halo_type_bits(type) < 8 && type != HALO_PRED) {
      return halo_ctype_fit(e->arena, type, text);
    }
    return halo_ctype_load(e->arena, type, text);
  }
  static const char *const words[] = {"", "uchar", "ushort", "", "uint", "", "", "", "ulong"};
  const char *word = words[halo_type_size(type)];
  if (halo_ctype_is_narrow(type)) {
    return halo_ctype_load(e->arena, type, halo_arena_printf(e->arena, "(%s)(%s)", word, bits));
  }
  return halo_arena_printf(e->arena, "as_%s((%s)(%s))", storage, word, bits);
}

/* The element that lies at the same place in memory, by the two declared layouts. */
static const char *move_bitcast(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                emit_index *index) {
  const halo_instr *x = instr->operands[0];
  const char *position = halo_index_position(e, index, instr->shape);
  const char *value = halo_emit_value(e, f, x, 0, halo_index_from_position(e, x->shape, position));
  halo_type from = x->shape->type, to = instr->shape->type;
  if (from == to) return value;
  return emit_declare(e, to, move_from_bits(e, to, move_bits_of(e, from, value)));
}

static const char *move_transpose(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                  emit_index *index) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  const char *at[HALO_MAX_RANK];
  for (int32_t i = 0; i < count; i++) at[dims[i]] = halo_index_at(e, index, i);
  return halo_emit_value(e, f, instr->operands[0], 0, move_index(e, instr->operands[0]->shape, at));
}

static const char *move_reverse(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                emit_index *index) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  const char *at[HALO_MAX_RANK];
  for (int d = 0; d < index->rank; d++) at[d] = halo_index_at(e, index, d);
  for (int32_t i = 0; i < count; i++) {
    int d = (int)dims[i];
    if (instr->shape->dims[d] == 1) continue;
    at[d] = halo_int_name(
        e, halo_arena_printf(e->arena, "%lld - %s", (long long)instr->shape->dims[d] - 1, at[d]));
  }
  return halo_emit_value(e, f, instr->operands[0], 0, move_index(e, instr->shape, at));
}

static const char *move_slice(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                              emit_index *index) {
  const halo_attr *slice = halo_instr_attr(instr, HALO_ATTR_SLICE);
  const char *at[HALO_MAX_RANK];
  for (int d = 0; d < index->rank; d++) {
    const int64_t *range = &slice->ints.data[3 * d];
    at[d] = halo_int_add(e, halo_int_mul(e, halo_index_at(e, index, d), range[2]),
                         halo_int(e, range[0]));
  }
  return halo_emit_value(e, f, instr->operands[0], 0, move_index(e, instr->operands[0]->shape, at));
}

/* A start index clamped to [0, most], in 64 bits as XLA does, as an index expression. */
static const char *move_clamped(halo_emitter *e, halo_type type, const char *start, int64_t most) {
  if (most <= 0) return "0";
  int64_t known;
  if (halo_int_is_constant(start, &known)) {
    return halo_int(e, known < 0 ? 0 : known > most ? most : known);
  }
  const char *itype = halo_emitter_index_type(e);
  if (halo_type_is_uint(type)) {
    return halo_int_name(e, halo_arena_printf(e->arena, "(%s)min((ulong)%s, (ulong)%lld)", itype,
                                              start, (long long)most));
  }
  return halo_int_name(e, halo_arena_printf(e->arena, "(%s)clamp((long)%s, 0L, %lldL)", itype,
                                            start, (long long)most));
}

const char *halo_emit_start(halo_emitter *e, emit_frame *f, const halo_instr *instr, int32_t first,
                            int d, int64_t most) {
  const halo_instr *start = instr->operands[first];
  const char *value;
  if (start->shape->rank == 1) { /* the old form: one vector of starts */
    const char *at[] = {halo_int(e, d)};
    value = halo_emit_value(e, f, start, 0, move_index(e, start->shape, at));
  } else {
    start = instr->operands[first + d];
    value = halo_emit_value(e, f, start, 0, halo_index_of(e, 0, NULL, NULL));
  }
  return move_clamped(e, start->shape->type, value, most);
}

static const char *move_dynamic_slice(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                      emit_index *index) {
  const halo_instr *x = instr->operands[0];
  const char *at[HALO_MAX_RANK];
  for (int d = 0; d < index->rank; d++) {
    const char *start =
        halo_emit_start(e, f, instr, 1, d, x->shape->dims[d] - instr->shape->dims[d]);
    at[d] = halo_int_add(e, start, halo_index_at(e, index, d));
  }
  return halo_emit_value(e, f, x, 0, move_index(e, x->shape, at));
}

/* if (condition) result = inside at inside_at; else result = outside; each computed in its branch. */
static const char *move_choose(halo_emitter *e, emit_frame *f, halo_type type,
                               const char *condition, const halo_instr *inside,
                               const halo_shape *inside_shape, const char *const *inside_at,
                               const halo_instr *outside, emit_index *outside_index) {
  const char *name = emit_name(e, "v");
  halo_emit_line(e, "%s %s;", halo_ctype_compute(type), name);
  halo_emit_open(e, halo_arena_printf(e->arena, "if (%s)", condition));
  halo_emit_line(e, "%s = %s;", name,
                 halo_emit_value(e, f, inside, 0, move_index(e, inside_shape, inside_at)));
  halo_emit_close(e);
  halo_emit_open(e, "else");
  halo_emit_line(e, "%s = %s;", name, halo_emit_value(e, f, outside, 0, outside_index));
  halo_emit_close(e);
  return name;
}

static const char *move_dynamic_update_slice(halo_emitter *e, emit_frame *f,
                                             const halo_instr *instr, emit_index *index) {
  const halo_instr *x = instr->operands[0], *update = instr->operands[1];
  if (halo_shape_element_count(update->shape) == 0) return halo_emit_value(e, f, x, 0, index);
  const char *at[HALO_MAX_RANK];
  halo_strbuf inside = {0};
  for (int d = 0; d < index->rank; d++) {
    int64_t size = update->shape->dims[d], whole = x->shape->dims[d];
    if (size == whole) {
      at[d] = halo_index_at(e, index, d);
      continue;
    }
    const char *start = halo_emit_start(e, f, instr, 2, d, whole - size);
    at[d] =
        halo_int_name(e, halo_arena_printf(e->arena, "%s - %s", halo_index_at(e, index, d), start));
    halo_strbuf_printf(&inside, "%s(u%s)%s < %lld", inside.length ? " && " : "",
                       halo_emitter_index_type(e), at[d], (long long)size);
  }
  const char *result;
  if (!inside.length) {
    result = halo_emit_value(e, f, update, 0, move_index(e, update->shape, at));
  } else {
    const char *condition = halo_arena_strdup(e->arena, halo_strbuf_text(&inside));
    result = move_choose(e, f, instr->shape->type, condition, update, update->shape, at, x, index);
  }
  halo_strbuf_deinit(&inside);
  return result;
}

static const char *move_pad(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                            emit_index *index) {
  const halo_instr *x = instr->operands[0], *value = instr->operands[1];
  emit_index *scalar = halo_index_of(e, 0, NULL, NULL);
  if (halo_shape_element_count(x->shape) == 0) return halo_emit_value(e, f, value, 0, scalar);
  const halo_attr *padding = halo_instr_attr(instr, HALO_ATTR_PADDING);
  const char *itype = halo_emitter_index_type(e);
  const char *at[HALO_MAX_RANK];
  halo_strbuf inside = {0};
  for (int d = 0; d < index->rank; d++) {
    const int64_t *p = &padding->ints.data[3 * d];
    int64_t size = x->shape->dims[d], step = p[2] + 1;
    const char *t = halo_int_add(e, halo_index_at(e, index, d), halo_int(e, -p[0]));
    int64_t known;
    if (halo_int_is_constant(t, &known)) {
      /* A result dimension of extent 1: decided here and now. */
      bool in = known >= 0 && known % step == 0 && known / step < size;
      at[d] = halo_int(e, in ? known / step : 0);
      if (!in) halo_strbuf_printf(&inside, "%sfalse", inside.length ? " && " : "");
      continue;
    }
    if (step > 1) {
      halo_strbuf_printf(&inside, "%s(u%s)%s %% %lldu == 0 && (u%s)%s < %lld",
                         inside.length ? " && " : "", itype, t, (long long)step, itype, t,
                         (long long)((size - 1) * step + 1));
      at[d] = halo_int_name(e, halo_arena_printf(e->arena, "(%s)((u%s)%s / %lldu)", itype, itype, t,
                                                 (long long)step));
      continue;
    }
    at[d] = t;
    bool from_below = p[0] > 0, from_above = instr->shape->dims[d] - p[0] > size;
    if (from_below || from_above) {
      halo_strbuf_printf(&inside, "%s(u%s)%s < %lld", inside.length ? " && " : "", itype, t,
                         (long long)size);
    }
  }
  const char *result;
  if (!inside.length) {
    result = halo_emit_value(e, f, x, 0, move_index(e, x->shape, at));
  } else {
    const char *condition = halo_arena_strdup(e->arena, halo_strbuf_text(&inside));
    result = move_choose(e, f, instr->shape->type, condition, x, x->shape, at, value, scalar);
  }
  halo_strbuf_deinit(&inside);
  return result;
}

static const char *move_concatenate(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                    emit_index *index) {
  int32_t count;
  int d = (int)halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count)[0];
  const char *name = emit_name(e, "v");
  halo_emit_line(e, "%s %s;", halo_ctype_compute(instr->shape->type), name);
  const char *along = halo_index_at(e, index, d);
  const char *at[HALO_MAX_RANK];
  for (int k = 0; k < index->rank; k++) at[k] = halo_index_at(e, index, k);
  int64_t start = 0, total = instr->shape->dims[d];
  bool first = true;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const halo_instr *x = instr->operands[i];
    int64_t size = x->shape->dims[d];
    if (size == 0) continue;
    const char *word = first ? "if" : "else if";
    if (start + size == total) {
      halo_emit_open(e, first ? NULL : "else");
    } else {
      halo_emit_open(
          e, halo_arena_printf(e->arena, "%s (%s < %lld)", word, along, (long long)(start + size)));
    }
    const char *old = at[d];
    at[d] = halo_int_add(e, along, halo_int(e, -start));
    halo_emit_line(e, "%s = %s;", name, halo_emit_value(e, f, x, 0, move_index(e, x->shape, at)));
    at[d] = old;
    halo_emit_close(e);
    start += size;
    first = false;
  }
  return name;
}

static int move_position_of(const int64_t *list, int32_t count, int64_t value) {
  for (int32_t i = 0; i < count; i++) {
    if (list[i] == value) return i;
  }
  return -1;
}

static const char *move_gather(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                               emit_index *index) {
  const halo_instr *x = instr->operands[0], *indices = instr->operands[1];
  int32_t n_offset, n_collapsed, n_map, n_batch, n_index_batch, n_sizes;
  const int64_t *offset = halo_instr_ints(instr, HALO_ATTR_OFFSET_DIMS, &n_offset);
  const int64_t *collapsed = halo_instr_ints(instr, HALO_ATTR_COLLAPSED_SLICE_DIMS, &n_collapsed);
  const int64_t *map = halo_instr_ints(instr, HALO_ATTR_START_INDEX_MAP, &n_map);
  const int64_t *batch = halo_instr_ints(instr, HALO_ATTR_OPERAND_BATCHING_DIMS, &n_batch);
  const int64_t *index_batch =
      halo_instr_ints(instr, HALO_ATTR_START_INDICES_BATCHING_DIMS, &n_index_batch);
  const int64_t *sizes = halo_instr_ints(instr, HALO_ATTR_SLICE_SIZES, &n_sizes);
  int vector_dim = (int)halo_instr_int(instr, HALO_ATTR_INDEX_VECTOR_DIM, 0);
  /* Coordinates in `indices`, by its own dimension numbers: the result's batch dimensions in order,
   * the index vector dimension left out. */
  const char *from[HALO_MAX_RANK];
  int next = 0;
  for (int d = 0; d < instr->shape->rank; d++) {
    if (move_position_of(offset, n_offset, d) >= 0) continue;
    if (next == vector_dim) next++;
    from[next++] = halo_index_at(e, index, d);
  }
  const char *at[HALO_MAX_RANK];
  int32_t next_offset = 0;
  for (int d = 0; d < x->shape->rank; d++) {
    const char *base = "0";
    int k = move_position_of(map, n_map, d);
    if (k >= 0) {
      if (vector_dim < indices->shape->rank) from[vector_dim] = halo_int(e, k);
      const char *start = halo_emit_value(e, f, indices, 0, move_index(e, indices->shape, from));
      base = move_clamped(e, indices->shape->type, start, x->shape->dims[d] - sizes[d]);
    }
    int b = move_position_of(batch, n_batch, d);
    if (b >= 0) {
      base = from[index_batch[b]];
    } else if (move_position_of(collapsed, n_collapsed, d) < 0) {
      base = halo_int_add(e, base, halo_index_at(e, index, (int)offset[next_offset++]));
    }
    at[d] = base;
  }
  return halo_emit_value(e, f, x, 0, move_index(e, x->shape, at));
}

static const char *move_bitcast_convert(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                        emit_index *index) {
  const halo_instr *x = instr->operands[0];
  halo_type from = x->shape->type, to = instr->shape->type;
  halo_sections_add(&e->sections, halo_ctype_section(from));
  int from_bits = from == HALO_PRED ? 8 : halo_type_bits(from);
  int to_bits = to == HALO_PRED ? 8 : halo_type_bits(to);
  const char *at[HALO_MAX_RANK + 1];
  int common = from_bits > to_bits ? x->shape->rank : instr->shape->rank;
  for (int d = 0; d < common; d++) at[d] = halo_index_at(e, index, d);
  if (halo_type_is_complex(from) || halo_type_is_complex(to)) {
    if (from == to) return halo_emit_value(e, f, x, 0, index);
    emit_fail(e, halo_fail(HALO_UNIMPLEMENTED, "%s: bitcast-convert between %s and %s", instr->name,
                           halo_type_name(from), halo_type_name(to)));
    return "0";
  }
  if (from_bits == to_bits) {
    return emit_declare(
        e, to, move_from_bits(e, to, move_bits_of(e, from, halo_emit_value(e, f, x, 0, index))));
  }
  if (from_bits > to_bits) {
    const char *value = halo_emit_value(e, f, x, 0, move_index(e, x->shape, at));
    const char *part = halo_index_at(e, index, index->rank - 1);
    const char *bits =
        halo_arena_printf(e->arena, "((%s >> (%s * %d)) & 0x%llxUL)", move_bits_of(e, from, value),
                          part, to_bits, to_bits == 64 ? ~0ull : (1ull << to_bits) - 1);
    return emit_declare(e, to, move_from_bits(e, to, bits));
  }
  const char *sum = NULL;
  for (int k = 0; k < to_bits / from_bits; k++) {
    at[common] = halo_int(e, k);
    const char *value = halo_emit_value(e, f, x, 0, move_index(e, x->shape, at));
    const char *bits = halo_arena_printf(e->arena, "((ulong)%s << %d)",
                                         move_bits_of(e, from, value), k * from_bits);
    sum = sum ? halo_arena_printf(e->arena, "%s | %s", sum, bits) : bits;
  }
  return emit_declare(e, to, move_from_bits(e, to, sum));
}

const char *emit_movement(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                          emit_index *index) {
  switch ((int)instr->opcode) {
    case HALO_OP_BROADCAST: return move_broadcast(e, f, instr, index);
    case HALO_OP_RESHAPE: return move_reshape(e, f, instr, index);
    case HALO_OP_BITCAST: return move_bitcast(e, f, instr, index);
    case HALO_OP_BITCAST_CONVERT: return move_bitcast_convert(e, f, instr, index);
    case HALO_OP_TRANSPOSE: return move_transpose(e, f, instr, index);
    case HALO_OP_REVERSE: return move_reverse(e, f, instr, index);
    case HALO_OP_SLICE: return move_slice(e, f, instr, index);
    case HALO_OP_DYNAMIC_SLICE: return move_dynamic_slice(e, f, instr, index);
    case HALO_OP_DYNAMIC_UPDATE_SLICE: return move_dynamic_update_slice(e, f, instr, index);
    case HALO_OP_PAD: return move_pad(e, f, instr, index);
    case HALO_OP_CONCATENATE: return move_concatenate(e, f, instr, index);
    case HALO_OP_GATHER: return move_gather(e, f, instr, index);
    default: return "0";
  }
}
