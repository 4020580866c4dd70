/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/movement.c: ops that only say where an element comes from. */
#include "codegen/ctype.h"
#include "codegen/emitter_private.h"

#include <string.h>

static emit_index *move_index(halo_emitter *e, const halo_shape *shape,
                              const halo_integer *const *at) {
  return halo_index_of(e, shape->rank, shape->dims, at);
}

static halo_value move_broadcast(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                 emit_index *index) {
  const halo_instr *x = instr->operands[0];
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  const halo_integer *at[HALO_MAX_RANK];
  for (int32_t i = 0; i < count; i++) at[i] = halo_index_at(index, (int)dims[i]);
  return halo_emit_value(e, f, x, 0, move_index(e, x->shape, at));
}

static halo_value move_reshape(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                               emit_index *index) {
  const halo_shape *from = instr->shape;
  const halo_instr *x = instr->operands[0];
  const halo_shape *row_major = halo_shape_new(e->arena, from->type, from->rank, from->dims);
  const halo_integer *position = halo_index_position(e, index, row_major);
  row_major = halo_shape_new(e->arena, x->shape->type, x->shape->rank, x->shape->dims);
  return halo_emit_value(e, f, x, 0, halo_index_from_position(e, row_major, position));
}

/* Bits of a value as the unsigned integer of its storage, and back. */
static const char *move_bits_of(halo_emitter *e, halo_value value) {
  halo_type type = value.type;
  const char *stored = halo_ctype_store(e->arena, type, value.text);
  switch (halo_type_size(type)) {
    case 1:
      return halo_arena_printf(e->arena, "((uchar)(%s) & 0x%x)", stored,
                               type == HALO_PRED ? 1 : (1 << halo_type_bits(type)) - 1);
    case 2: return halo_arena_printf(e->arena, "as_ushort(%s)", stored);
    case 4: return halo_arena_printf(e->arena, "as_uint(%s)", stored);
    default: return halo_arena_printf(e->arena, "as_ulong(%s)", stored);
  }
}

static const char *move_bits_text(halo_emitter *e, halo_type type, const char *bits) {
  const char *storage = halo_ctype_storage(type);
  if (halo_type_is_integral(type) || type == HALO_PRED) {
    const char *text = halo_arena_printf(e->arena, "(%s)(%s)", storage, bits);
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

static halo_value move_from_bits(halo_emitter *e, halo_type type, const char *bits) {
  return emit_declare(e, halo_value_expression(type, move_bits_text(e, type, bits)));
}

/* The element that lies at the same place in memory, by the two declared layouts. */
static halo_value move_bitcast(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                               emit_index *index) {
  const halo_instr *x = instr->operands[0];
  const halo_integer *position = halo_index_position(e, index, instr->shape);
  halo_value value = halo_emit_value(e, f, x, 0, halo_index_from_position(e, x->shape, position));
  if (value.type == instr->shape->type) return value;
  return move_from_bits(e, instr->shape->type, move_bits_of(e, value));
}

static halo_value move_transpose(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                 emit_index *index) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  const halo_integer *at[HALO_MAX_RANK];
  for (int32_t i = 0; i < count; i++) at[dims[i]] = halo_index_at(index, i);
  return halo_emit_value(e, f, instr->operands[0], 0, move_index(e, instr->operands[0]->shape, at));
}

static halo_value move_reverse(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                               emit_index *index) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  const halo_integer *at[HALO_MAX_RANK];
  for (int d = 0; d < index->rank; d++) at[d] = halo_index_at(index, d);
  for (int32_t i = 0; i < count; i++) {
    int d = (int)dims[i];
    const halo_integer *last = halo_integer_constant(&e->integers, instr->shape->dims[d] - 1);
    at[d] = halo_integer_sub(&e->integers, last, at[d]);
  }
  return halo_emit_value(e, f, instr->operands[0], 0, move_index(e, instr->shape, at));
}

static halo_value move_slice(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                             emit_index *index) {
  const halo_attr *slice = halo_instr_attr(instr, HALO_ATTR_SLICE);
  const halo_integer *at[HALO_MAX_RANK];
  for (int d = 0; d < index->rank; d++) {
    const int64_t *range = &slice->ints.data[3 * d];
    at[d] = halo_integer_mul(&e->integers, halo_index_at(index, d), range[2]);
    at[d] = halo_integer_plus(&e->integers, at[d], range[0]);
  }
  return halo_emit_value(e, f, instr->operands[0], 0, move_index(e, instr->operands[0]->shape, at));
}

/* A start index clamped to [0, most]: in 64 bits only where one of the two needs them, since compilers for CPUs make
 * vectors of half as many. */
static const halo_integer *move_clamped(halo_emitter *e, halo_value start, int64_t most) {
  if (most <= 0) return halo_integer_constant(&e->integers, 0);
  bool is_unsigned = halo_type_is_uint(start.type);
  if (start.is_constant) {
    bool above = is_unsigned ? (uint64_t)start.integer > (uint64_t)most : start.integer > most;
    bool below = !is_unsigned && start.integer < 0;
    return halo_integer_constant(&e->integers, below ? 0 : above ? most : start.integer);
  }
  const char *itype = halo_emitter_index_type(e);
  bool wide = halo_type_size(start.type) == 8 || most > INT32_MAX;
  const char *type = wide ? "long" : "int";
  const char *text = is_unsigned
                         ? halo_arena_printf(e->arena, "(%s)min((u%s)%s, (u%s)%lld)", itype, type,
                                             start.text, type, (long long)most)
                         : halo_arena_printf(e->arena, "(%s)clamp((%s)%s, (%s)0, (%s)%lld)", itype,
                                             type, start.text, type, type, (long long)most);
  return emit_integer_of(e, text, 0, most);
}

const halo_integer *halo_emit_start(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                    int32_t first, int d, int64_t most) {
  const halo_instr *start = instr->operands[first];
  halo_value value;
  if (start->shape->rank == 1) { /* the old form: one vector of starts */
    const halo_integer *at[] = {halo_integer_constant(&e->integers, d)};
    value = halo_emit_value(e, f, start, 0, move_index(e, start->shape, at));
  } else {
    value = halo_emit_value(e, f, instr->operands[first + d], 0, halo_index_scalar(e));
  }
  return move_clamped(e, value, most);
}

/* Adds a test to those that must all hold; NULL always does. */
static const char *move_and(halo_emitter *e, const char *tests, const char *test) {
  if (!test) return tests;
  return tests ? halo_arena_printf(e->arena, "%s && %s", tests, test) : test;
}

/* Compared as what it is: Mesa's compiler takes an int that was made wider for positive. */
const char *halo_emit_start_test(halo_emitter *e, halo_value start, int64_t most) {
  bool is_unsigned = halo_type_is_uint(start.type), wide = halo_type_size(start.type) == 8;
  int bits = halo_type_bits(start.type) - !is_unsigned;
  const char *low = is_unsigned ? NULL : halo_arena_printf(e->arena, "%s >= 0", start.text);
  const char *high = NULL;
  if (bits >= 63 || most < (1ll << bits) - 1) {
    high = halo_arena_printf(e->arena, "%s <= %lld%s%s", start.text, (long long)most,
                             is_unsigned ? "u" : "", wide ? "L" : "");
  }
  const char *both = move_and(e, low, high);
  return both ? both : "true";
}

static halo_value move_dynamic_slice(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                     emit_index *index) {
  const halo_instr *x = instr->operands[0];
  const halo_integer *at[HALO_MAX_RANK];
  for (int d = 0; d < index->rank; d++) {
    const halo_integer *start =
        halo_emit_start(e, f, instr, 1, d, x->shape->dims[d] - instr->shape->dims[d]);
    at[d] = halo_integer_add(&e->integers, start, halo_index_at(index, d));
  }
  return halo_emit_value(e, f, x, 0, move_index(e, x->shape, at));
}

/* ---- Ops that choose between operands by where the element is ---- */

/* A variable that branches will set. */
static halo_value move_variable(halo_emitter *e, halo_type type) {
  halo_value variable = halo_value_name(type, emit_name(e, "v"));
  halo_emit_line(e, "%s %s;", halo_ctype_compute(type), variable.text);
  return variable;
}

static void move_set(halo_emitter *e, halo_value variable, halo_value value) {
  halo_emit_line(e, "%s = %s;", variable.text, value.text);
}

/* if (tests) inside at inside_index; else outside at outside_index; each computed in its branch. No tests:
 * always inside. */
static halo_value move_choose(halo_emitter *e, emit_frame *f, const char *tests,
                              const halo_instr *inside, emit_index *inside_index,
                              const halo_instr *outside, emit_index *outside_index) {
  if (!tests) return halo_emit_value(e, f, inside, 0, inside_index);
  emit_index_prepare(e, inside_index);
  emit_index_prepare(e, outside_index);
  halo_value result = move_variable(e, outside->shape->type);
  halo_emit_branch(e, halo_arena_printf(e->arena, "if (%s)", tests));
  move_set(e, result, halo_emit_value(e, f, inside, 0, inside_index));
  halo_emit_close(e);
  halo_emit_branch(e, "else");
  move_set(e, result, halo_emit_value(e, f, outside, 0, outside_index));
  halo_emit_close(e);
  return result;
}

static halo_value move_dynamic_update_slice(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                            emit_index *index) {
  const halo_instr *x = instr->operands[0], *update = instr->operands[1];
  if (halo_shape_element_count(update->shape) == 0) return halo_emit_value(e, f, x, 0, index);
  const halo_integer *at[HALO_MAX_RANK];
  const char *tests = NULL;
  for (int d = 0; d < index->rank; d++) {
    int64_t size = update->shape->dims[d], whole = x->shape->dims[d];
    at[d] = halo_index_at(index, d);
    if (size == whole) continue;
    const halo_integer *start = halo_emit_start(e, f, instr, 2, d, whole - size);
    at[d] = halo_integer_sub(&e->integers, at[d], start);
    tests = move_and(e, tests, emit_integer_test(e, at[d], size));
    at[d] = emit_integer_bounded(e, at[d], 0, size - 1);
  }
  return move_choose(e, f, tests, update, move_index(e, update->shape, at), x, index);
}

static halo_value move_pad(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                           emit_index *index) {
  const halo_instr *x = instr->operands[0], *value = instr->operands[1];
  emit_index *scalar = halo_index_scalar(e);
  if (halo_shape_element_count(x->shape) == 0) return halo_emit_value(e, f, value, 0, scalar);
  const halo_attr *padding = halo_instr_attr(instr, HALO_ATTR_PADDING);
  const halo_integer *at[HALO_MAX_RANK];
  const char *tests = NULL;
  bool never = false;
  for (int d = 0; d < index->rank; d++) {
    const int64_t *p = &padding->ints.data[3 * d];
    int64_t size = x->shape->dims[d], step = p[2] + 1, end = (size - 1) * step + 1;
    const halo_integer *t = halo_integer_plus(&e->integers, halo_index_at(index, d), -p[0]);
    tests = move_and(e, tests, emit_integer_test(e, t, end));
    never |= t->high < 0 || t->low >= end;
    t = emit_integer_bounded(e, t, 0, end - 1);
    const halo_integer *rest = halo_integer_mod(&e->integers, t, step);
    int64_t known;
    if (!halo_integer_is_constant(rest, &known)) {
      /* in words: where the test before fails, `t` may be anything */
      tests =
          move_and(e, tests,
                   halo_arena_printf(e->arena, "(u%s)%s %% %lld == 0", halo_emitter_index_type(e),
                                     emit_integer_atom(e, t), (long long)step));
    }
    never |= halo_integer_is_constant(rest, &known) && known != 0;
    at[d] = halo_integer_div(&e->integers, t, step);
  }
  if (never) return halo_emit_value(e, f, value, 0, scalar);
  emit_index *inside = move_index(e, x->shape, at);
  return move_choose(e, f, tests, x, inside, value, scalar);
}

/* Whether an index is that of a row's element by itself: neighbours have others. */
static bool move_is_along_row(const halo_integer *a) {
  if (a->kind == HALO_INTEGER_VARIABLE) return strcmp(a->name, "c") == 0;
  for (int32_t i = 0; i < a->count; i++) {
    if (move_is_along_row(a->terms[i].node)) return true;
  }
  return a->of && move_is_along_row(a->of);
}

/* What an operand of a concatenate shows without steps of one array: its starts, or NULL. */
static const int64_t *move_part_of(const halo_instr *operand, const halo_instr *whole) {
  if (operand->opcode != HALO_OP_SLICE || operand->operands[0] != whole) return NULL;
  const int64_t *ranges = halo_instr_attr(operand, HALO_ATTR_SLICE)->ints.data;
  for (int d = 0; d < whole->shape->rank; d++) {
    if (ranges[3 * d + 2] != 1) return NULL;
  }
  return ranges;
}

/* An array that is rolled, which is two slices of it put together: one value is read, from a place that is chosen, and
 * not one of two. Where neighbours have different places, it is left to branches, each of which reads neighbours. */
static bool move_rolled(halo_emitter *e, emit_frame *f, const halo_instr *instr, int d,
                        const halo_integer **at, halo_value *out) {
  if (instr->operand_count != 2 || (e->vectors && move_is_along_row(at[d]))) return false;
  const halo_instr *whole =
      instr->operands[0]->opcode == HALO_OP_SLICE ? instr->operands[0]->operands[0] : NULL;
  const int64_t *first = whole ? move_part_of(instr->operands[0], whole) : NULL;
  const int64_t *second = whole ? move_part_of(instr->operands[1], whole) : NULL;
  if (!first || !second) return false;
  for (int k = 0; k < instr->shape->rank; k++) {
    if (k != d && first[3 * k] != second[3 * k]) return false;
  }
  int64_t end = instr->operands[0]->shape->dims[d];
  if (end == 0 || at[d]->high < end || at[d]->low >= end) return false;
  for (int k = 0; k < instr->shape->rank; k++) {
    if (k != d) at[k] = halo_integer_plus(&e->integers, at[k], first[3 * k]);
  }
  const char *along = emit_integer_atom(e, at[d]);
  const char *place =
      halo_arena_printf(e->arena, "%s + (%s < %lld ? %lld : %lld)", along, along, (long long)end,
                        (long long)first[3 * d], (long long)(second[3 * d] - end));
  at[d] = emit_integer_of(e, place, 0, whole->shape->dims[d] - 1);
  *out = halo_emit_value(e, f, whole, 0, move_index(e, whole->shape, at));
  return true;
}

static halo_value move_concatenate(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                   emit_index *index) {
  int32_t count;
  int d = (int)halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count)[0];
  const halo_integer *at[HALO_MAX_RANK], *along = halo_index_at(index, d);
  for (int k = 0; k < index->rank; k++) at[k] = halo_index_at(index, k);
  halo_value result = halo_value_whole(e->arena, instr->shape->type, 0);
  if (move_rolled(e, f, instr, d, at, &result)) return result;
  int64_t begin = 0, end = 0;
  bool first = true, last = false;
  for (int32_t i = 0; i < instr->operand_count && !last; i++, begin = end) {
    const halo_instr *x = instr->operands[i];
    end = begin + x->shape->dims[d];
    if (end == begin || along->low >= end) continue;
    last = along->high < end;
    if (first && !last) { /* what the branches share comes first */
      emit_index_prepare(e, index);
      emit_integer_atom(e, along);
      result = move_variable(e, instr->shape->type);
    }
    const halo_integer *here = along;
    if (!first || !last) here = emit_integer_bounded(e, along, begin, end - 1);
    at[d] = halo_integer_plus(&e->integers, here, -begin);
    emit_index *from = move_index(e, x->shape, at);
    if (first && last) return halo_emit_value(e, f, x, 0, from);
    if (!last) emit_note_test(e, along, end);
    const char *test =
        halo_arena_printf(e->arena, "%s (h_below(%s, %lld))", first ? "if" : "else if",
                          emit_integer_atom(e, along), (long long)end);
    halo_emit_branch(e, last ? "else" : test);
    move_set(e, result, halo_emit_value(e, f, x, 0, from));
    halo_emit_close(e);
    first = false;
  }
  return result;
}

static int move_position_of(const int64_t *list, int32_t count, int64_t value) {
  for (int32_t i = 0; i < count; i++) {
    if (list[i] == value) return i;
  }
  return -1;
}

static halo_value move_gather(halo_emitter *e, emit_frame *f, const halo_instr *instr,
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
  const halo_integer *from[HALO_MAX_RANK];
  int next = 0;
  for (int d = 0; d < instr->shape->rank; d++) {
    if (move_position_of(offset, n_offset, d) >= 0) continue;
    if (next == vector_dim) next++;
    from[next++] = halo_index_at(index, d);
  }
  const halo_integer *at[HALO_MAX_RANK];
  int32_t next_offset = 0;
  for (int d = 0; d < x->shape->rank; d++) {
    const halo_integer *base = halo_integer_constant(&e->integers, 0);
    int k = move_position_of(map, n_map, d);
    if (k >= 0) {
      if (vector_dim < indices->shape->rank) {
        from[vector_dim] = halo_integer_constant(&e->integers, k);
      }
      halo_value start = halo_emit_value(e, f, indices, 0, move_index(e, indices->shape, from));
      base = move_clamped(e, start, x->shape->dims[d] - sizes[d]);
    }
    int b = move_position_of(batch, n_batch, d);
    if (b >= 0) {
      base = from[index_batch[b]];
    } else if (move_position_of(collapsed, n_collapsed, d) < 0) {
      base = halo_integer_add(&e->integers, base, halo_index_at(index, (int)offset[next_offset++]));
    }
    at[d] = base;
  }
  return halo_emit_value(e, f, x, 0, move_index(e, x->shape, at));
}

static halo_value move_bitcast_convert(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                                       emit_index *index) {
  const halo_instr *x = instr->operands[0];
  halo_type from = x->shape->type, to = instr->shape->type;
  halo_sections_add(&e->sections, halo_ctype_section(from));
  int from_bits = from == HALO_PRED ? 8 : halo_type_bits(from);
  int to_bits = to == HALO_PRED ? 8 : halo_type_bits(to);
  const halo_integer *at[HALO_MAX_RANK + 1];
  int common = from_bits > to_bits ? x->shape->rank : instr->shape->rank;
  for (int d = 0; d < common; d++) at[d] = halo_index_at(index, d);
  if (from == to) return halo_emit_value(e, f, x, 0, index);
  if (halo_type_is_complex(from) || halo_type_is_complex(to)) {
    emit_fail(e, halo_fail(HALO_UNIMPLEMENTED, "%s: bitcast-convert between %s and %s", instr->name,
                           halo_type_name(from), halo_type_name(to)));
    return halo_value_name(to, "0");
  }
  if (from_bits == to_bits) {
    return move_from_bits(e, to, move_bits_of(e, halo_emit_value(e, f, x, 0, index)));
  }
  if (from_bits > to_bits) {
    halo_value value = halo_emit_value(e, f, x, 0, move_index(e, x->shape, at));
    const char *part = emit_integer_atom(e, halo_index_at(index, index->rank - 1));
    const char *bits =
        halo_arena_printf(e->arena, "((%s >> (%s * %d)) & 0x%llxUL)", move_bits_of(e, value), part,
                          to_bits, to_bits == 64 ? ~0ull : (1ull << to_bits) - 1);
    return move_from_bits(e, to, bits);
  }
  const char *sum = NULL;
  for (int k = 0; k < to_bits / from_bits; k++) {
    at[common] = halo_integer_constant(&e->integers, k);
    halo_value value = halo_emit_value(e, f, x, 0, move_index(e, x->shape, at));
    const char *bits =
        halo_arena_printf(e->arena, "((ulong)%s << %d)", move_bits_of(e, value), k * from_bits);
    sum = sum ? halo_arena_printf(e->arena, "%s | %s", sum, bits) : bits;
  }
  return move_from_bits(e, to, sum);
}

typedef halo_value move_rule(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                             emit_index *index);
static move_rule *const move_rules[HALO_OPCODE_COUNT] = {
    [HALO_OP_BROADCAST] = move_broadcast,
    [HALO_OP_RESHAPE] = move_reshape,
    [HALO_OP_BITCAST] = move_bitcast,
    [HALO_OP_BITCAST_CONVERT] = move_bitcast_convert,
    [HALO_OP_TRANSPOSE] = move_transpose,
    [HALO_OP_REVERSE] = move_reverse,
    [HALO_OP_SLICE] = move_slice,
    [HALO_OP_DYNAMIC_SLICE] = move_dynamic_slice,
    [HALO_OP_DYNAMIC_UPDATE_SLICE] = move_dynamic_update_slice,
    [HALO_OP_PAD] = move_pad,
    [HALO_OP_CONCATENATE] = move_concatenate,
    [HALO_OP_GATHER] = move_gather,
};

bool emit_is_movement(halo_opcode opcode) { return move_rules[opcode] != NULL; }

halo_value emit_movement(halo_emitter *e, emit_frame *f, const halo_instr *instr,
                         emit_index *index) {
  return move_rules[instr->opcode](e, f, instr, index);
}
