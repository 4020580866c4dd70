/* kernels/loop.c: one work item an element: the general implementation of everything. */
#include "codegen/ctype.h"
#include "kernels/families.h"
#include "kernels/kernels.h"

bool halo_loop_supports(const halo_lowering *l, const char **why) {
  (void)l;
  *why = "";
  return true;
}

/* Of an element: read, and written to memory that is read first. */
enum { LOOP_BYTES = 12 };

double halo_loop_cost(const halo_lowering *l) {
  const halo_shape *shape = halo_leaf_shape(halo_lowering_root(l)->shape, 0);
  return halo_lowering_seconds(l, LOOP_BYTES * (double)halo_shape_element_count(shape));
}

/* Elements that one work item of the streaming form computes: those of a cache line of 4-byte values. */
enum { LOOP_STREAM = 16 };

/* Whether results are large enough, and of a form, to be written past a CPU's caches. */
static bool loop_streams(const halo_lowering *l, int64_t items) {
  const halo_instr *root = halo_lowering_root(l);
  int32_t leaves = halo_shape_leaf_count(root->shape);
  if (!l->caps->is_cpu || items % LOOP_STREAM != 0) return false;
  int64_t bytes = 0;
  for (int32_t k = 0; k < leaves; k++) {
    const halo_shape *leaf = halo_leaf_shape(root->shape, k);
    if (halo_type_size(leaf->type) != 4) return false;
    bytes += halo_shape_byte_size(leaf);
  }
  return bytes >= HALO_STREAM_BYTES;
}

/* Whether everything is done at the position that is written, so that the code depends on no extent:
 * elementwise operations of one shape, and scalars. */
static bool loop_is_flat(const halo_computation *body) {
  const halo_shape *shape = halo_leaf_shape(body->root->shape, 0);
  uint64_t same = halo_computation_same_position(body);
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *instr = body->instrs.data[i];
    bool ends = instr == body->root && instr->opcode == HALO_OP_TUPLE;
    if (ends || halo_shape_is_scalar(instr->shape)) {
      bool plain = ends || halo_opcode_exec(instr->opcode) == HALO_EXEC_VALUE ||
                   halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW);
      if (plain) continue;
      return false;
    }
    if (!halo_shape_is_array(instr->shape) || !halo_shape_same_dims(instr->shape, shape)) {
      return false;
    }
    if (instr->opcode == HALO_OP_PARAMETER) {
      if (instr->parameter_number > 63 || !(same >> instr->parameter_number & 1)) return false;
    } else if (instr->opcode == HALO_OP_BROADCAST) {
      if (!halo_shape_is_scalar(instr->operands[0]->shape)) return false;
    } else if (!halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW)) {
      return false;
    }
  }
  return true;
}

/* Results as rows of neighbours, where the code depends on coordinates: a row's place is then worked
 * out once, and its elements are loaded and stored as vectors. Sizes of a row that are worth it, and of
 * a work group. */
enum { LOOP_ROW = 16, LOOP_GROUP = 1024 };

/* How the elements are shared out. */
typedef struct loop_shape {
  int64_t items;
  int64_t row; /* its elements; 0: no rows */
  bool stream; /* a work item computes LOOP_STREAM neighbours and stores them as one line */
} loop_shape;

/* Elements of the fastest dimensions that make a row. */
static int64_t loop_row_of(const halo_shape *shape) {
  int64_t row = 1;
  for (int i = 0; i < shape->rank && row < LOOP_ROW; i++) {
    row *= shape->dims[shape->minor_to_major[i]];
  }
  return row;
}

/* A row of the result that is also one, or a part of one, wherever a reshape cuts positions anew. */
static int64_t loop_common_row(const halo_computation *body) {
  int64_t row = loop_row_of(halo_leaf_shape(body->root->shape, 0));
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *instr = body->instrs.data[i];
    if (instr->opcode != HALO_OP_RESHAPE && instr->opcode != HALO_OP_BITCAST) continue;
    int64_t common = row, other = loop_row_of(instr->operands[0]->shape);
    while (other) {
      int64_t rest = common % other;
      common = other;
      other = rest;
    }
    if (common >= LOOP_ROW) row = common;
  }
  return row;
}

static loop_shape loop_shape_of(const halo_lowering *l) {
  const halo_shape *shape = halo_leaf_shape(halo_lowering_root(l)->shape, 0);
  loop_shape s = {.items = halo_shape_element_count(shape)};
  s.stream = loop_streams(l, s.items);
  if (!l->caps->is_cpu || l->caps->max_work_group < LOOP_GROUP || loop_is_flat(l->computation)) {
    return s;
  }
  int64_t row = loop_common_row(l->computation);
  if (row < LOOP_ROW || row >= s.items) return s;
  s.row = row;
  s.stream &= row % LOOP_STREAM == 0;
  return s;
}

/* Declares the variables of a work item's place and gives the position that it starts with, which is
 * called "i" too. */
static const halo_integer *loop_emit_start(halo_emitter *e, const loop_shape *s) {
  const char *itype = halo_emitter_index_type(e);
  int64_t step = s->stream ? LOOP_STREAM : 1;
  if (!s->row) {
    halo_emit_line(e, "const %s i = (%s)get_global_id(0);", itype, itype);
    return halo_integer_mul(&e->integers, halo_emit_counter(e, "i", s->items / step), step);
  }
  halo_emit_line(e, "const %s c = (%s)get_global_id(0);", itype, itype);
  halo_emit_line(e, "const %s r = (%s)get_global_id(1);", itype, itype);
  const halo_integer *row = halo_emit_counter(e, "r", s->items / s->row);
  const halo_integer *column = halo_emit_counter(e, "c", s->row / step);
  return halo_integer_add(&e->integers, halo_integer_mul(&e->integers, row, s->row),
                          halo_integer_mul(&e->integers, column, step));
}

/* Work items of a group along a row: all of a short one, a divisor of a long one, or what goes into it
 * with little left over. */
static int64_t loop_row_group(int64_t columns) {
  if (columns <= LOOP_GROUP) return columns;
  for (int64_t local = LOOP_GROUP; local >= LOOP_GROUP / 8; local--) {
    if (columns % local == 0) return local;
  }
  return LOOP_GROUP / 8;
}

static void loop_launch(halo_launch *launch, const halo_caps *caps, const loop_shape *s) {
  int64_t step = s->stream ? LOOP_STREAM : 1;
  if (!s->row && !s->stream) {
    halo_launch_items(caps, launch, s->items);
    return;
  }
  int64_t along = s->items / step, across = 1, local = 1;
  if (s->row) {
    along = s->row / step;
    across = s->items / s->row;
    local = loop_row_group(along);
    launch->dims = 2;
  } else {
    while (local < 64 && along % (2 * local) == 0) local *= 2;
  }
  launch->any_local = true;
  launch->local[0] = (size_t)local;
  launch->global[0] = (size_t)((along + local - 1) / local * local);
  launch->local[1] = launch->local[2] = launch->global[2] = 1;
  launch->global[1] = (size_t)across;
  /* Several short rows a group, and still something to do for every core. */
  int64_t most = s->stream ? 64 : LOOP_GROUP, rows = 1;
  while (across % (2 * rows) == 0 && 2 * rows * local <= most &&
         2 * rows * local * (int64_t)caps->compute_units <= along * across) {
    rows *= 2;
  }
  launch->local[1] = (size_t)rows;
}

/* The body of a work item that computes one element. */
static void loop_emit_item(halo_lowering *l, halo_emitter *e, const loop_shape *s) {
  int64_t items = s->items;
  const halo_instr *root = halo_lowering_root(l);
  int32_t leaves = halo_shape_leaf_count(root->shape);
  const halo_shape *shape = halo_leaf_shape(root->shape, 0);
  emit_frame *frame = halo_frame_kernel(e, l->computation);
  const halo_integer *at = loop_emit_start(e, s);
  int64_t local = s->row ? loop_row_group(s->row) : (int64_t)halo_kernel_local_size(l->caps, items);
  bool guard = (s->row ? s->row : items) % local != 0;
  if (guard && s->row) {
    halo_emit_open(e, halo_arena_printf(l->arena, "if (c < %lld)", (long long)s->row));
  } else if (guard && loop_is_flat(l->computation)) {
    halo_type type = e->wide ? HALO_S64 : HALO_S32;
    const char *size = halo_emit_value_arg(e, HALO_VALUE_NUMBER, type, items);
    halo_emit_open(e, halo_arena_printf(l->arena, "if (i < %s)", size));
  } else if (guard) {
    halo_emit_open(e, halo_arena_printf(l->arena, "if (i < %lld)", (long long)items));
  }
  halo_value *values = halo_arena_array(l->arena, halo_value, leaves);
  emit_index *index = halo_index_from_position(e, shape, at);
  for (int32_t k = 0; k < leaves; k++) values[k] = halo_emit_value(e, frame, root, k, index);
  for (int32_t k = 0; k < leaves; k++) {
    halo_type type = halo_leaf_shape(root->shape, k)->type;
    halo_emit_store(e, halo_emit_arg(e, HALO_ROLE_OUTPUT, k, type, NULL), at, values[k]);
  }
  if (guard) halo_emit_close(e);
}

/* The body of a work item that computes LOOP_STREAM neighbours and stores them as one line. */
static void loop_emit_stream(halo_lowering *l, halo_emitter *e, const loop_shape *s) {
  const halo_instr *root = halo_lowering_root(l);
  int32_t leaves = halo_shape_leaf_count(root->shape);
  const halo_shape *shape = halo_leaf_shape(root->shape, 0);
  emit_frame *frame = halo_frame_kernel(e, l->computation);
  halo_sections_add(&e->sections, "stream");
  const halo_integer *first = loop_emit_start(e, s);
  for (int32_t k = 0; k < leaves; k++) {
    halo_emit_line(e, "%s line%d[%d];", halo_ctype_storage(halo_leaf_shape(root->shape, k)->type),
                   k, LOOP_STREAM);
  }
  halo_emit_open(e, halo_arena_printf(l->arena, "for (int j = 0; j < %d; ++j)", LOOP_STREAM));
  const halo_integer *at =
      halo_integer_add(&e->integers, first, halo_emit_counter(e, "j", LOOP_STREAM));
  emit_index *index = halo_index_from_position(e, shape, at);
  for (int32_t k = 0; k < leaves; k++) {
    halo_type type = halo_leaf_shape(root->shape, k)->type;
    halo_value value = halo_emit_value(e, frame, root, k, index);
    halo_emit_line(e, "line%d[j] = %s;", k, halo_ctype_store(l->arena, type, value.text));
  }
  halo_emit_close(e);
  for (int32_t k = 0; k < leaves; k++) {
    halo_type type = halo_leaf_shape(root->shape, k)->type;
    const char *out = halo_emit_arg(e, HALO_ROLE_OUTPUT, k, type, NULL);
    halo_emit_line(e, "h_stream(vload%d(0, line%d), (__global %s%d *)(%s + %s));", LOOP_STREAM, k,
                   halo_ctype_storage(type), LOOP_STREAM, out, halo_emit_integer(e, first));
  }
}

halo_status halo_loop_lower(halo_lowering *l) {
  loop_shape s = loop_shape_of(l);
  if (s.items == 0) return HALO_OK;
  halo_emitter e;
  halo_emitter_init(&e, l->arena, l->computation);
  if (s.stream) {
    loop_emit_stream(l, &e, &s);
  } else {
    loop_emit_item(l, &e, &s);
  }
  if (e.status == HALO_OK) {
    const char *label = halo_arena_printf(l->arena, "%s loop%s%s", l->name, s.row ? ":rows" : "",
                                          s.stream ? ":stream" : "");
    /* A work item reads everything before it writes. */
    uint64_t in_place = halo_computation_same_position(l->computation);
    const char *name = halo_kernel_name(l, s.stream ? "stream" : s.row ? "rows" : "loop");
    halo_launch *launch = halo_kernel_add(l, &e, name, label, in_place);
    loop_launch(launch, l->caps, &s);
  }
  halo_status status = e.status;
  halo_emitter_deinit(&e);
  return status;
}

static const halo_implementation loop_implementations[] = {
    {"turn", halo_turn_supports, halo_turn_cost, halo_turn_lower},
    {"generic", halo_loop_supports, halo_loop_cost, halo_loop_lower},
    {0}};
const halo_family halo_family_loop = {"loop", HALO_OPCODE_COUNT, loop_implementations};
