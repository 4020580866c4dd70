/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/rows/text.c: the text of a kernel that goes over rows: once for each reduction that needs what an
 * earlier one gave, and once more for results that have elements. */
#include "kernels/rows/text.h"

#include "codegen/ctype.h"

/* ---- What is needed when ---- */

static bool rows_has_elements(const halo_rows_text *t, const halo_instr *instr) {
  return halo_shape_is_array(instr->shape) &&
         halo_shape_element_count(instr->shape) == t->v.rows.outer * t->v.rows.n;
}

static const halo_rows_hero *rows_hero(const halo_rows_text *t, const halo_instr *instr) {
  for (int32_t h = 0; h < t->v.count; h++) {
    if (t->v.heroes[h].value.reduce == instr) return &t->v.heroes[h];
  }
  return NULL;
}

static intptr_t rows_needs(const halo_rows_text *t, const halo_instr *instr) {
  return (intptr_t)halo_pointer_map_get(&t->needs, instr);
}

static void rows_need(halo_rows_text *t, halo_instr *instr, intptr_t phases) {
  intptr_t all = rows_needs(t, instr) | phases;
  if (all) halo_pointer_map_set(&t->needs, instr, (void *)all);
}

static intptr_t rows_bit(int phase) { return (intptr_t)2 << phase; }

/* Whether an operand's element at the same place is what an element is made of. */
static bool rows_keeps_place(const halo_instr *instr) {
  return halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW) || instr->opcode == HALO_OP_RESHAPE ||
         instr->opcode == HALO_OP_COPY;
}

/* Simple operations that an element takes. */
static void rows_price(const halo_rows_text *t, halo_pointer_map *costs) {
  enum { MOST = 1000 };
  const halo_computation *body = t->l->computation;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    halo_instr *instr = body->instrs.data[i];
    if (!rows_has_elements(t, instr)) continue;
    intptr_t cost = 1 + halo_op_info_of(instr->opcode)->cost;
    for (int32_t o = 0; o < instr->operand_count && rows_keeps_place(instr); o++) {
      cost += (intptr_t)halo_pointer_map_get(costs, instr->operands[o]);
    }
    halo_pointer_map_set(costs, instr, (void *)(cost < MOST ? cost : MOST));
  }
}

/* Finds in which phases each element is needed, from the results back, and what is kept from one phase to the
 * next: it and what it is made of are computed in the first of them alone. */
static void rows_plan(halo_rows_text *t, int64_t bytes, intptr_t dear) {
  const halo_computation *body = t->l->computation;
  halo_pointer_map costs = {0};
  rows_price(t, &costs);
  const halo_instr *root = body->root;
  for (int32_t i = 0; i < root->operand_count && root->opcode == HALO_OP_TUPLE; i++) {
    rows_need(t, root->operands[i], rows_bit(t->v.phases));
  }
  rows_need(t, body->root, rows_bit(t->v.phases));
  for (int32_t i = body->instrs.count - 1; i >= 0; i--) {
    halo_instr *instr = body->instrs.data[i];
    const halo_rows_hero *hero = rows_hero(t, instr);
    if (hero) rows_need(t, instr->operands[0], rows_bit(hero->phase));
    intptr_t phases = rows_needs(t, instr), first = phases & -phases;
    if (hero || !phases || !rows_has_elements(t, instr)) continue;
    int64_t size = t->v.rows.n * (int64_t)halo_type_size(instr->shape->type);
    if (halo_type_size(instr->shape->type) < 4) size = t->v.rows.n * 4;
    if (phases != first && (intptr_t)halo_pointer_map_get(&costs, instr) >= dear && size <= bytes &&
        t->kept_count < HALO_ROWS_KEPT) {
      int phase = 0;
      while (rows_bit(phase) != first) phase++;
      const char *name = halo_arena_printf(t->l->arena, "kept%d", t->kept_count);
      t->kept[t->kept_count++] = (halo_rows_kept){instr, name, phase};
      bytes -= size;
      phases = first;
    }
    bool spreads = instr->opcode == HALO_OP_BROADCAST && halo_rows_spreads(instr, t->v.rows);
    for (int32_t o = 0; o < instr->operand_count && (spreads || rows_keeps_place(instr)); o++) {
      rows_need(t, instr->operands[o], phases);
    }
  }
  halo_pointer_map_deinit(&costs);
}

/* ---- Text ---- */

emit_index *halo_rows_index(halo_rows_text *t, const halo_shape *shape, const halo_integer *r) {
  halo_emitter *e = &t->e;
  const halo_integer *at = halo_emit_counter(e, "o", t->v.rows.outer);
  if (halo_shape_element_count(shape) != t->v.rows.outer) {
    at = halo_integer_add(&e->integers, halo_integer_mul(&e->integers, at, t->v.rows.n), r);
  }
  const halo_shape *row_major = halo_shape_new(e->arena, shape->type, shape->rank, shape->dims);
  return halo_index_from_position(e, row_major, at);
}

/* The same with the element "r" of a loop. */
static emit_index *rows_index(halo_rows_text *t, const halo_shape *shape) {
  return halo_rows_index(t, shape, halo_emit_counter(&t->e, "r", t->v.rows.n));
}

/* Values of rows that elements of a phase need, before its loop. */
static void rows_emit_row_values(halo_rows_text *t, int phase) {
  const halo_computation *body = t->l->computation;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *instr = body->instrs.data[i];
    bool spreads = instr->opcode == HALO_OP_BROADCAST && halo_rows_spreads(instr, t->v.rows);
    if (!spreads || !(rows_needs(t, instr) & rows_bit(phase))) continue;
    const halo_instr *value = instr->operands[0];
    halo_emit_value(&t->e, t->frame, value, 0, rows_index(t, value->shape));
  }
}

/* In a phase's loop: takes what earlier ones kept. */
static void rows_emit_kept(halo_rows_text *t, int phase) {
  for (int32_t k = 0; k < t->kept_count; k++) {
    const halo_rows_kept *kept = &t->kept[k];
    if (kept->phase >= phase || !(rows_needs(t, kept->instr) & rows_bit(phase))) continue;
    halo_type type = kept->instr->shape->type;
    const char *name = halo_arena_printf(t->l->arena, "%s_r", kept->name);
    halo_emit_line(&t->e, "const %s %s = %s[r];", halo_ctype_compute(type), name, kept->name);
    halo_frame_bind_at(&t->e, t->frame, kept->instr, 0, rows_index(t, kept->instr->shape),
                       halo_value_name(type, name));
  }
}

static void rows_emit_keep(halo_rows_text *t, int phase) {
  for (int32_t k = 0; k < t->kept_count; k++) {
    const halo_rows_kept *kept = &t->kept[k];
    if (kept->phase != phase) continue;
    halo_value value =
        halo_emit_value(&t->e, t->frame, kept->instr, 0, rows_index(t, kept->instr->shape));
    halo_emit_line(&t->e, "%s[r] = %s;", kept->name, value.text);
  }
}

/* What changes nothing that it is combined with. */
static const char *rows_identity(const halo_rows_text *t, const halo_rows_hero *hero) {
  halo_type type = hero->value.accumulator;
  halo_opcode op = halo_instr_comp(hero->value.reduce, HALO_ATTR_TO_APPLY)->root->opcode;
  bool is_float = halo_type_is_float(type), wide = type == HALO_F64 || type == HALO_S64;
  bool unsigned_ = halo_type_is_uint(type) || type == HALO_PRED;
  int64_t least = unsigned_ ? 0 : wide ? INT64_MIN : INT32_MIN;
  int64_t most = type == HALO_PRED  ? 1
                 : type == HALO_U32 ? UINT32_MAX
                 : type == HALO_U64 ? -1
                 : wide             ? INT64_MAX
                                    : INT32_MAX;
  if (op == HALO_OP_MAXIMUM && is_float) {
    return wide ? "as_double(0xfff0000000000000UL)" : "as_float(0xff800000u)";
  }
  if (op == HALO_OP_MINIMUM && is_float) {
    return wide ? "as_double(0x7ff0000000000000UL)" : "as_float(0x7f800000u)";
  }
  if (is_float) return op == HALO_OP_MULTIPLY ? "1" : wide ? "-0.0" : "-0.0f";
  int64_t value = op == HALO_OP_MAXIMUM    ? least
                  : op == HALO_OP_MINIMUM  ? most
                  : op == HALO_OP_AND      ? (unsigned_ ? most : -1)
                  : op == HALO_OP_MULTIPLY ? 1
                                           : 0;
  if (type == HALO_PRED) return value ? "1" : "0";
  return halo_ctype_constant_i64(t->l->arena, type, value);
}

static int rows_lanes(const halo_rows_text *t, int heroes) {
  int lanes = HALO_ROWS_LANES;
  while (lanes > 8 && lanes * heroes > HALO_ROWS_LANES) lanes /= 2;
  while (lanes > 1 && lanes / 2 >= t->v.rows.n) lanes /= 2;
  return lanes;
}

/* Opens the loop of a phase over the elements "r" of the row, `lanes` at a time, of which each has an
 * accumulator of its own in [j]. Gives the number of scopes. */
static int rows_open_loop(halo_rows_text *t, int lanes) {
  halo_emitter *e = &t->e;
  const char *itype = halo_emitter_index_type(e);
  long long n = (long long)t->v.rows.n;
  if (t->local > 1) {
    halo_emit_loop(
        e, halo_arena_printf(e->arena, "for (%s r = lid; r < %lld; r += %d)", itype, n, t->local));
    return 1;
  }
  if (lanes >= n || lanes == 1) {
    halo_emit_loop(e, halo_arena_printf(e->arena, "for (%s r = 0; r < %lld; ++r)", itype, n));
    if (lanes > 1) halo_emit_line(e, "const %s j = r;", itype);
    return 1;
  }
  halo_emit_loop(e,
                 halo_arena_printf(e->arena, "for (%s c = 0; c < %lld; c += %d)", itype, n, lanes));
  /* Accumulators are in registers if all lanes are a few vectors. */
  halo_sections_add(&e->sections, "neighbours");
  if (n % lanes != 0) {
    halo_emit_line(e, "const int live = %lld - c < %d ? (int)(%lld - c) : %d;", n, lanes, n, lanes);
    halo_emit_line(e, "H_NEIGHBOURS(1)");
    halo_emit_loop(e, "for (int j = 0; j < live; ++j)");
  } else {
    if (lanes >= HALO_ROWS_LINE) halo_emit_line(e, "H_NEIGHBOURS(%d)", lanes / HALO_ROWS_LINE);
    halo_emit_loop(e, halo_arena_printf(e->arena, "for (int j = 0; j < %d; ++j)", lanes));
  }
  halo_emit_line(e, "const %s r = c + j;", itype);
  return 2;
}

static void rows_emit_combine(halo_rows_text *t, int32_t first, int32_t end, const char *at,
                              const char *by) {
  for (int32_t h = first; h < end; h++) {
    halo_emit_line(&t->e, "side%d[%s] = %s_%d_op(side%d[%s], side%d[%s + %s]);", h, at, t->name, h,
                   h, at, h, at, by);
  }
}

/* Combines what lanes or work items have, as a tree, into element 0 of "side"h. Of lanes it is written out, so
 * that compilers make vectors of its steps. */
static void rows_emit_tree(halo_rows_text *t, int32_t first, int32_t end, int lanes) {
  halo_emitter *e = &t->e;
  if (t->local > 1) {
    halo_emit_loop(
        e, halo_arena_printf(e->arena, "for (int width = %d; width > 0; width /= 2)", lanes / 2));
    halo_emit_branch(e, "if (lid < width)");
    rows_emit_combine(t, first, end, "lid", "width");
    halo_emit_close(e);
    halo_emit_line(e, HALO_BARRIER "CLK_LOCAL_MEM_FENCE);");
    halo_emit_close(e);
    return;
  }
  for (int width = lanes / 2; width > 0; width /= 2) {
    halo_emit_loop(e, halo_arena_printf(e->arena, "for (int j = 0; j < %d; ++j)", width));
    rows_emit_combine(t, first, end, "j", halo_arena_printf(e->arena, "%d", width));
    halo_emit_close(e);
  }
}

void halo_rows_bind_total(halo_rows_text *t, int32_t h, const char *combined) {
  halo_emitter *e = &t->e;
  const halo_accumulator *a = &t->accumulators[h];
  const halo_instr *reduce = t->v.heroes[h].value.reduce;
  halo_value start = halo_emit_value(e, t->frame, reduce->operands[1], 0, halo_index_scalar(e));
  halo_value total = halo_accumulator_load(a, combined, 0), result;
  halo_accumulator_combine(a, e, &start, &total, &result);
  const char *prefix = halo_arena_printf(e->arena, "total%d_", h);
  halo_frame_bind(e, t->frame, reduce, 0, halo_accumulator_round(a, e, prefix, &result, 0));
}

/* The reductions [first, end) of one phase: their totals are bound in the frame. */
static void rows_emit_phase(halo_rows_text *t, int32_t first, int32_t end) {
  halo_emitter *e = &t->e;
  int phase = t->v.heroes[first].phase, lanes = t->local;
  if (t->local == 1) lanes = rows_lanes(t, end - first);
  rows_emit_row_values(t, phase);
  for (int32_t h = first; h < end; h++) {
    const char *type = t->accumulators[h].type, *start = rows_identity(t, &t->v.heroes[h]);
    if (t->local > 1) {
      halo_emit_line(e, "%s own%d = %s;", type, h, start);
    } else {
      e->has_loops = true;
      halo_emit_array(e, type, halo_arena_printf(e->arena, "side%d", h), lanes,
                      halo_ctype_size(t->v.heroes[h].value.accumulator));
      halo_emit_line(e, "for (int j = 0; j < %d; ++j) side%d[j] = %s;", lanes, h, start);
    }
  }
  int scopes = rows_open_loop(t, lanes);
  rows_emit_kept(t, phase);
  for (int32_t h = first; h < end; h++) {
    const halo_instr *operand = t->v.heroes[h].value.reduce->operands[0];
    halo_value value = halo_emit_value(e, t->frame, operand, 0, rows_index(t, operand->shape));
    const char *own = halo_arena_printf(e->arena,
                                        t->local > 1 ? "own%d"
                                        : lanes > 1  ? "side%d[j]"
                                                     : "side%d[0]",
                                        h);
    halo_emit_line(e, "%s = %s_%d_op(%s, %s);", own, t->name, h, own, value.text);
  }
  rows_emit_keep(t, phase);
  while (scopes--) halo_emit_close(e);
  for (int32_t h = first; h < end && t->local > 1; h++) {
    halo_emit_line(e, "side%d[lid] = own%d;", h, h);
  }
  if (t->local > 1) halo_emit_line(e, HALO_BARRIER "CLK_LOCAL_MEM_FENCE);");
  rows_emit_tree(t, first, end, lanes);
  for (int32_t h = first; h < end; h++) {
    const char *all = halo_arena_printf(e->arena, "all%d", h);
    halo_emit_line(e, "const %s %s = side%d[0];", t->accumulators[h].type, all, h);
    halo_rows_bind_total(t, h, all);
  }
}

/* Stores the results of one kind, of elements or of rows; elements of lines go to [j] of one first. */
static void rows_emit_stores(halo_rows_text *t, bool elements) {
  halo_emitter *e = &t->e;
  const halo_instr *root = halo_lowering_root(t->l);
  int32_t leaves = halo_shape_leaf_count(root->shape);
  halo_value *values = halo_arena_array(e->arena, halo_value, leaves);
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t k = 0; k < leaves; k++) {
      const halo_shape *leaf = halo_leaf_shape(root->shape, k);
      if ((halo_shape_element_count(leaf) != t->v.rows.outer) != elements) continue;
      emit_index *index = rows_index(t, leaf);
      if (pass == 0) {
        values[k] = halo_emit_value(e, t->frame, root, k, index);
      } else if (elements && t->lines) {
        halo_emit_line(e, "line%d[j] = %s;", k, halo_value_stored(e->arena, &values[k]));
      } else {
        halo_emit_store(e, halo_emit_arg(e, HALO_ROLE_OUTPUT, k, leaf->type, NULL),
                        halo_index_position(e, index, leaf), values[k]);
      }
    }
  }
}

/* Asks for the next row's elements at "c" of what this row was read from: while results are computed, nothing else
 * is on its way from memory. */
static void rows_emit_fetch(halo_rows_text *t) {
  halo_emitter *e = &t->e;
  const halo_computation *body = t->l->computation;
  for (int32_t p = 0; p < body->params.count; p++) {
    const halo_shape *shape = body->params.data[p]->shape;
    bool rows = rows_has_elements(t, body->params.data[p]) && p < 64 && t->v.reads >> p & 1;
    if (!rows || !halo_shape_has_default_layout(shape)) continue;
    halo_sections_add(&e->sections, "fetch");
    halo_emit_line(e, "h_fetch(%s + o * %lld + c + %lld);",
                   halo_emit_arg(e, HALO_ROLE_INPUT, p, shape->type, NULL), (long long)t->v.rows.n,
                   (long long)t->v.rows.n);
  }
}

/* The last loop, with results that are stored as vectors, maybe past the caches. That they may lie where something is
 * read keeps compilers from making vectors of single elements. */
static void rows_emit_lines(halo_rows_text *t) {
  halo_emitter *e = &t->e;
  const halo_instr *root = halo_lowering_root(t->l);
  int32_t leaves = halo_shape_leaf_count(root->shape);
  halo_sections_add(&e->sections, "neighbours");
  if (t->stream) halo_sections_add(&e->sections, "stream");
  halo_emit_loop(
      e, halo_arena_printf(e->arena, "for (%s c = 0; c < %lld; c += %d)",
                           halo_emitter_index_type(e), (long long)t->v.rows.n, HALO_ROWS_LINE));
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t k = 0; k < leaves; k++) {
      const halo_shape *leaf = halo_leaf_shape(root->shape, k);
      const char *type = halo_ctype_storage(leaf->type);
      if (halo_shape_element_count(leaf) == t->v.rows.outer) continue;
      if (pass == 0) {
        halo_emit_line(e, "%s%d vector%d;", type, HALO_ROWS_LINE, k);
        halo_emit_line(e, "%s *line%d = (%s *)&vector%d;", type, k, type, k);
        continue;
      }
      const char *to = halo_arena_printf(
          e->arena, "(__global %s%d *)(%s + o * %lld + c)", type, HALO_ROWS_LINE,
          halo_emit_arg(e, HALO_ROLE_OUTPUT, k, leaf->type, NULL), (long long)t->v.rows.n);
      if (t->stream) {
        halo_emit_line(e, "h_stream(vector%d, %s);", k, to);
      } else {
        halo_emit_line(e, "*(%s) = vector%d;", to, k);
      }
    }
    if (pass == 1) break;
    rows_emit_fetch(t);
    halo_emit_line(e, "H_NEIGHBOURS(1)");
    halo_emit_loop(e, halo_arena_printf(e->arena, "for (int j = 0; j < %d; ++j)", HALO_ROWS_LINE));
    halo_emit_line(e, "const %s r = c + j;", halo_emitter_index_type(e));
    rows_emit_kept(t, t->v.phases);
    rows_emit_stores(t, true);
    halo_emit_close(e);
  }
  halo_emit_close(e);
}

static void rows_emit_results(halo_rows_text *t) {
  halo_emitter *e = &t->e;
  if (t->v.elements) rows_emit_row_values(t, t->v.phases);
  if (t->v.elements && t->lines) {
    rows_emit_lines(t);
  } else if (t->v.elements) {
    int scopes = rows_open_loop(t, 1);
    rows_emit_kept(t, t->v.phases);
    rows_emit_stores(t, true);
    while (scopes--) halo_emit_close(e);
  }
  if (t->local > 1) halo_emit_branch(e, "if (lid == 0)");
  rows_emit_stores(t, false);
  if (t->local > 1) halo_emit_close(e);
}

/* Declares the block with all arrays of the group. */
static void rows_emit_block(halo_rows_text *t) {
  int64_t count = 0;
  for (int32_t k = 0; k < t->kept_count; k++) {
    count += halo_block_count(t->v.rows.n, halo_ctype_size(t->kept[k].instr->shape->type));
  }
  for (int32_t h = 0; h < t->v.count; h++) {
    count += halo_block_count(t->local, halo_ctype_size(t->v.heroes[h].value.accumulator));
  }
  halo_emit_line(&t->e, HALO_SHARED "[%lld]);", (long long)count);
}

/* Declares an array of the row: in private memory, or, where work items share it, in the block of the group's local memory. */
static void rows_emit_array(halo_rows_text *t, const char *type, const char *name, int64_t count,
                            size_t size) {
  halo_emitter *e = &t->e;
  if (t->local == 1) {
    halo_kernel_private(t->l, count, size);
    halo_emit_line(e, "%s %s[%lld];", type, name, (long long)count);
    return;
  }
  int64_t offset = halo_kernel_block(t->l, count, size);
  halo_emit_line(e, HALO_LOCAL "%s *%s = (" HALO_LOCAL "%s *)(h_local + %lld);", type, name, type,
                 (long long)offset);
}

/* The row, and the arrays that its work items share. */
static void rows_emit_begin(halo_rows_text *t) {
  halo_emitter *e = &t->e;
  const char *itype = halo_emitter_index_type(e);
  if (t->local > 1) rows_emit_block(t);
  for (int32_t k = 0; k < t->kept_count; k++) {
    halo_type type = t->kept[k].instr->shape->type;
    /* bool has no promised size, which an array in local memory should have */
    rows_emit_array(t, type == HALO_PRED ? "uchar" : halo_ctype_compute(type), t->kept[k].name,
                    t->v.rows.n, halo_ctype_size(type));
  }
  for (int32_t h = 0; h < t->v.count && t->local > 1; h++) {
    rows_emit_array(t, t->accumulators[h].type, halo_arena_printf(e->arena, "side%d", h), t->local,
                    halo_ctype_size(t->v.heroes[h].value.accumulator));
  }
  if (t->local > 1) {
    halo_emit_line(e, "const int lid = (int)" HALO_LOCAL_ID_0 ";");
    halo_emit_line(e, "const %s o = (%s)" HALO_GROUP_ID_0 ";", itype, itype);
  } else {
    halo_emit_line(e, "const %s o = (%s)" HALO_GLOBAL_ID_0 ";", itype, itype);
    halo_emit_line(e, "if (o >= %lld) return;", (long long)t->v.rows.outer);
  }
}

void halo_rows_write(halo_rows_text *t, int64_t bytes, int dear) {
  rows_plan(t, bytes, dear);
  halo_lowering_emitter(t->l, &t->e);
  t->frame = halo_frame_kernel(&t->e, t->l->computation);
  rows_emit_begin(t);
  for (int32_t first = 0, end; first < t->v.count; first = end) {
    end = first + 1;
    while (end < t->v.count && t->v.heroes[end].phase == t->v.heroes[first].phase) end++;
    rows_emit_phase(t, first, end);
  }
  rows_emit_results(t);
}

void halo_rows_text_deinit(halo_rows_text *t) {
  halo_pointer_map_deinit(&t->needs);
  halo_emitter_deinit(&t->e);
}
