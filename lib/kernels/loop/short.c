/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/loop/short.c: loop:short, for CPUs: where elements of a short last dimension do not all do the same, as where
 * such rows are put together, turned round or looked up, a work item does whole rows, whose elements are written out,
 * so that none asks where it is. Compilers make vectors of neighbouring rows. */
#include "kernels/dot/describe.h"
#include "kernels/families.h"

enum {
  SHORT_VECTORS = 8,   /* elements of a row: stores of so many side by side compilers see as one, */
  SHORT_MOST = 16,     /* or of rows that are only put together, one after the other */
  SHORT_MATRIX = 16,   /* those of a product of small matrices */
  SHORT_PRODUCTS = 64, /* multiplications of such a product */
  SHORT_CODE = 400,    /* instructions, each counted once an element, functions as several */
  SHORT_ROWS = 64,     /* that a work item does, one after the other */
  SHORT_LEAST = 16,    /* rows that are worth it */
  SHORT_SHARES = 4,    /* for each core, at least */
  SHORT_GROUP = 1 << 13 /* elements that a group does */
};

/* The last dimension in memory that is more than one element, or -1. */
static int short_dimension(const halo_shape *shape) {
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dims[shape->minor_to_major[i]] != 1) return shape->minor_to_major[i];
  }
  return -1;
}

static bool short_among(const halo_instr *instr, halo_attr_id attr, int d) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, attr, &count);
  for (int32_t i = 0; i < count; i++) {
    if (dims[i] == d) return true;
  }
  return false;
}

/* Whether elements of an instruction's rows, which are of this length, do what depends on their place in the row, or
 * share what is found out for the row. */
static bool short_differs(const halo_instr *instr, int64_t length) {
  if (!halo_shape_is_array(instr->shape)) return false;
  int d = short_dimension(instr->shape);
  if (d < 0 || instr->shape->dims[d] != length) return false;
  switch ((int)instr->opcode) {
    case HALO_OP_CONCATENATE:
    case HALO_OP_REVERSE: return short_among(instr, HALO_ATTR_DIMENSIONS, d);
    case HALO_OP_GATHER: return short_among(instr, HALO_ATTR_OFFSET_DIMS, d);
    case HALO_OP_IOTA: return halo_instr_int(instr, HALO_ATTR_IOTA_DIMENSION, 0) == d;
    case HALO_OP_BROADCAST: return instr->operands[0]->shape->rank > 0;
    case HALO_OP_SLICE:
    case HALO_OP_PAD: return instr->operands[0]->shape->dims[d] != length;
    case HALO_OP_BITCAST_CONVERT: return instr->shape->rank > instr->operands[0]->shape->rank;
  }
  return false;
}

/* Elements of a matrix of a batch of small products, of which all is written out; 0: it is none. */
static int64_t short_product(const halo_instr *dot, int64_t count) {
  halo_dot_desc v;
  halo_dot_describe(dot, &v);
  int64_t length = v.m * v.n;
  bool fits = length <= SHORT_MATRIX && length * v.k <= SHORT_PRODUCTS && v.batch * length == count;
  return fits && v.batch > 1 && halo_shape_has_default_layout(dot->shape) ? length : 0;
}

/* Elements of a row: of the result, or of what it only puts into another shape, or a matrix of a batch of small
 * products. 0: there are none short enough. */
static int64_t short_length(const halo_lowering *l, const halo_shape *shape) {
  const halo_computation *body = l->computation;
  int64_t count = halo_shape_element_count(shape);
  int d = short_dimension(shape);
  if (l->hero && l->hero->opcode == HALO_OP_DOT) return short_product(l->hero, count);
  if (d < 0) return 0;
  if (shape->dims[d] <= SHORT_MOST) return shape->dims[d];
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *instr = body->instrs.data[i];
    if (instr->opcode != HALO_OP_RESHAPE || halo_shape_element_count(instr->shape) != count)
      continue;
    const halo_shape *from = instr->operands[0]->shape;
    d = short_dimension(from);
    if (d >= 0 && from->dims[d] <= SHORT_MOST) return from->dims[d];
  }
  return 0;
}

/* How much text an element takes: elementary functions are put in place. */
static int64_t short_code(const halo_computation *body) {
  int64_t code = 0;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *instr = body->instrs.data[i];
    int64_t cost = halo_op_info_of(instr->opcode)->cost;
    bool is_function = halo_opcode_exec(instr->opcode) == HALO_EXEC_ELEMENTWISE && cost > 2;
    code += is_function ? cost / 2 : 1;
  }
  return code;
}

/* Whether elements are only put in other places: what is computed of them is faster as vectors. */
static bool short_moves(const halo_computation *body) {
  for (int32_t i = 0; i < body->instrs.count; i++) {
    if (halo_opcode_exec(body->instrs.data[i]->opcode) == HALO_EXEC_ELEMENTWISE) return false;
  }
  return true;
}

bool halo_loop_find_short(const halo_lowering *l, halo_loop_short *s) {
  const halo_computation *body = l->computation;
  const halo_instr *root = halo_lowering_root(l);
  const halo_shape *shape = halo_leaf_shape(root->shape, 0);
  s->length = short_length(l, shape);
  if (s->length == 0 || s->length * short_code(body) > SHORT_CODE) return false;
  s->rows = halo_shape_element_count(shape) / s->length;
  if (s->rows < SHORT_LEAST) return false;
  bool product = l->hero && l->hero->opcode == HALO_OP_DOT;
  s->moves = !product && s->length > SHORT_VECTORS;
  if (s->moves && !short_moves(body)) return false;
  bool differs = false;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *instr = body->instrs.data[i];
    halo_exec_class exec = halo_opcode_exec(instr->opcode);
    bool is_product = instr == l->hero && instr->opcode == HALO_OP_DOT;
    bool plain = is_product || exec == HALO_EXEC_VALUE || exec == HALO_EXEC_MOVEMENT ||
                 (exec == HALO_EXEC_ELEMENTWISE && instr->opcode != HALO_OP_MAP) ||
                 (instr == root && instr->opcode == HALO_OP_TUPLE);
    if (!plain) return false;
    differs |= is_product || short_differs(instr, s->length);
  }
  return differs;
}

/* Rows that are a register of 64 bytes, by the largest type of what is computed of each element. */
static int short_lanes(const halo_lowering *l) {
  size_t largest = 4;
  for (int32_t i = 0; i < l->computation->instrs.count; i++) {
    const halo_shape *shape = l->computation->instrs.data[i]->shape;
    if (!halo_shape_is_array(shape) || halo_shape_is_scalar(shape)) continue;
    size_t size = halo_type_size(halo_type_real_part(shape->type));
    if (size > largest) largest = size;
  }
  return 64 / (int)largest;
}

void halo_loop_emit_short(const halo_lowering *l, halo_emitter *e, const halo_loop_short *s) {
  const halo_instr *root = halo_lowering_root(l);
  int32_t leaves = halo_shape_leaf_count(root->shape);
  halo_emit_line(e, "const long first = (long)" HALO_GLOBAL_ID_0 " * %d;", SHORT_ROWS);
  const char *end = halo_arena_printf(l->arena, "first + %d", SHORT_ROWS);
  if (s->rows % SHORT_ROWS != 0) {
    end = halo_arena_printf(l->arena, "min(%s, %lldL)", end, (long long)s->rows);
  }
  halo_emit_line(e, "const long end = %s;", end);
  if (s->moves) {
    halo_sections_add(&e->sections, "rolled");
    halo_emit_line(e, "H_ROLLED");
  } else {
    halo_sections_add(&e->sections, "neighbours");
    halo_emit_line(e, "H_SIDE_BY_SIDE(%d)", short_lanes(l));
  }
  const char *zero = halo_loop_zero(l, e);
  halo_emit_loop(
      e, zero ? "for (long n = first; n < end; ++n)" : "for (long r = first; r < end; ++r)");
  if (zero) halo_emit_line(e, "const long r = n + h_zero(%s);", zero);
  emit_frame *frame = halo_frame_kernel(e, l->computation);
  const halo_integer *row = halo_emit_counter(e, "r", s->rows);
  const halo_integer *begin = halo_integer_mul(&e->integers, row, s->length);
  halo_value *values = halo_arena_array(l->arena, halo_value, leaves * s->length);
  /* All of a row is read before any of it is written, which may be in the place of what is read. */
  for (int64_t j = 0; j < s->length; j++) {
    const halo_integer *at = halo_integer_plus(&e->integers, begin, j);
    halo_loop_values(l, e, frame, at, &values[j * leaves]);
  }
  for (int32_t k = 0; k < leaves; k++) {
    halo_type type = halo_leaf_shape(root->shape, k)->type;
    const char *out = halo_emit_arg(e, HALO_ROLE_OUTPUT, k, type, NULL);
    for (int64_t j = 0; j < s->length; j++) {
      halo_emit_store(e, out, halo_integer_plus(&e->integers, begin, j), values[j * leaves + k]);
    }
  }
  halo_emit_close(e);
}

void halo_loop_launch_short(const halo_lowering *l, halo_launch *launch, const halo_loop_short *s) {
  int64_t items = (s->rows + SHORT_ROWS - 1) / SHORT_ROWS;
  /* A divisor of the work items that leaves every core something to do. */
  int64_t local = items / (SHORT_SHARES * (int64_t)l->caps->compute_units);
  if (local > SHORT_GROUP / (SHORT_ROWS * s->length))
    local = SHORT_GROUP / (SHORT_ROWS * s->length);
  if (local < 1) local = 1;
  while (items % local != 0) local--;
  launch->grid.dims = 1;
  launch->grid.items = launch->grid.global[0] = (size_t)items;
  launch->grid.local[0] = (size_t)local;
}
