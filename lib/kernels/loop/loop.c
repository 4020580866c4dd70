/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/loop/loop.c: one work item an element: the general implementation of everything. */
#include "kernels/loop/loop.h"

#include "codegen/ctype.h"

bool halo_loop_supports(const halo_lowering *l, const char **why) {
  (void)l;
  *why = "";
  return true;
}

double halo_loop_cost(const halo_lowering *l) {
  const halo_shape *shape = halo_leaf_shape(halo_lowering_root(l)->shape, 0);
  double elements = (double)halo_shape_element_count(shape);
  return halo_lowering_seconds(l, halo_lowering_prices(l)->loop_element * elements, elements) +
         halo_lowering_body(l, elements);
}

bool halo_loop_leaves_caches(const halo_lowering *l, int64_t written) {
  if (!l->caps->is_cpu || written < HALO_STREAM_BYTES) return false;
  int64_t touched = written;
  for (int32_t p = 0; p < l->computation->params.count; p++) {
    const halo_shape *shape = l->computation->params.data[p]->shape;
    if (halo_shape_is_array(shape)) touched += halo_shape_byte_size(shape);
  }
  return (uint64_t)touched > l->caps->global_cache;
}

int64_t loop_result_bytes(const halo_lowering *l, size_t *narrowest) {
  const halo_instr *root = halo_lowering_root(l);
  int64_t bytes = 0;
  *narrowest = SIZE_MAX;
  for (int32_t k = 0; k < halo_shape_leaf_count(root->shape); k++) {
    const halo_shape *leaf = halo_leaf_shape(root->shape, k);
    if (halo_type_size(leaf->type) < *narrowest) *narrowest = halo_type_size(leaf->type);
    bytes += halo_shape_byte_size(leaf);
  }
  return bytes;
}

/* The elementary functions of an element; those of two operands, and all that computes with complex numbers, count
 * twice. */
static int32_t loop_functions(const halo_lowering *l) {
  enum { FUNCTION = 20 };
  int32_t functions = 0;
  for (int32_t i = 0; i < l->computation->instrs.count; i++) {
    const halo_instr *instr = l->computation->instrs.data[i];
    if (halo_opcode_exec(instr->opcode) != HALO_EXEC_ELEMENTWISE || instr->opcode == HALO_OP_MAP) {
      continue;
    }
    bool apart = instr->opcode == HALO_OP_REAL || instr->opcode == HALO_OP_IMAG ||
                 instr->opcode == HALO_OP_COMPARE;
    if (halo_type_is_complex(instr->operands[0]->shape->type)) functions += apart ? 0 : 2;
    bool is_float = halo_type_is_float(instr->shape->type);
    bool divides =
        instr->opcode == HALO_OP_REMAINDER || (instr->opcode == HALO_OP_DIVIDE && !is_float);
    if (halo_op_info_of(instr->opcode)->cost < FUNCTION && !divides) continue;
    bool counts = is_float || divides || instr->opcode == HALO_OP_POWER;
    functions += counts ? instr->operand_count : 0;
  }
  return functions;
}

bool loop_has_pairs(const halo_lowering *l, int64_t items) {
  enum { LINES = 64 };
  if (items < LOOP_LINE * LINES) return false;
  return loop_functions(l) > (l->caps->vector_width_float >= LOOP_LINE ? 0 : 1);
}

bool loop_is_flat(const halo_computation *body) {
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

/* Bytes that a GPU's work item moves at once at best, and neighbours that it has registers for. */
enum { LOOP_VECTOR = 16, LOOP_LANES = 8 };

int loop_lanes(const halo_lowering *l, int64_t items) {
  const halo_computation *body = l->computation;
  if (!loop_is_flat(body)) return 1;
  size_t largest = 1;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *instr = body->instrs.data[i];
    if (instr->opcode != HALO_OP_PARAMETER && instr != body->root) continue;
    int32_t leaves = halo_shape_leaf_count(instr->shape);
    for (int32_t k = 0; k < leaves; k++) {
      halo_type type = halo_leaf_shape(instr->shape, k)->type;
      if (halo_type_is_complex(type)) return 1;
      if (halo_type_size(type) > largest) largest = halo_type_size(type);
    }
  }
  int lanes = LOOP_VECTOR / (int)largest < LOOP_LANES ? LOOP_VECTOR / (int)largest : LOOP_LANES;
  while (items % lanes != 0) lanes /= 2;
  return lanes;
}

/* Elements of the fastest dimensions that make a row. */
static int64_t loop_row_of(const halo_shape *shape) {
  int64_t row = 1;
  for (int i = 0; i < shape->rank && row < LOOP_ROW; i++) {
    row *= shape->dims[shape->minor_to_major[i]];
  }
  return row;
}

/* A row of what is computed that is also one, or a part of one, wherever a reshape cuts positions anew. */
static int64_t loop_common_row(const halo_computation *body, const halo_shape *shape) {
  int64_t row = loop_row_of(shape);
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

int64_t halo_loop_row(const halo_lowering *l, const halo_shape *shape) {
  bool groups = l->caps->max_work_group >= LOOP_GROUP || l->caps->max_work_group == 1;
  if (!l->caps->is_cpu || !groups) return 0;
  int64_t row = loop_common_row(l->computation, shape);
  return row >= LOOP_ROW && row < halo_shape_element_count(shape) ? row : 0;
}

static const halo_integer *loop_emit_start(halo_emitter *e, const loop_shape *s);

void halo_loop_values(const halo_lowering *l, halo_emitter *e, emit_frame *frame,
                      const halo_integer *at, halo_value *values) {
  const halo_instr *root = halo_lowering_root(l);
  for (int32_t k = 0; k < halo_shape_leaf_count(root->shape); k++) {
    emit_index *index = halo_index_from_position(e, halo_leaf_shape(root->shape, k), at);
    values[k] = halo_emit_value(e, frame, root, k, index);
  }
}

uint64_t loop_transposed_inputs(const halo_lowering *l, int64_t items) {
  enum { WORDS = 16, LEAST = 6 };
  bool any = false;
  for (int32_t p = 0; p < l->computation->params.count; p++) {
    const halo_shape *shape = l->computation->params.data[p]->shape;
    any |= halo_shape_is_array(shape) && halo_type_size(shape->type) == 4 &&
           halo_shape_element_count(shape) == items * WORDS;
  }
  if (!any || !l->caps->is_cpu || items % LOOP_LINE != 0) return 0;
  halo_emitter e;
  halo_lowering_emitter(l, &e);
  halo_transposed transposed = {.lane = "j"};
  transposed.at = halo_emit_counter(&e, "j", items);
  e.transposed = &transposed;
  emit_frame *frame = halo_frame_kernel(&e, l->computation);
  int32_t leaves = halo_shape_leaf_count(halo_lowering_root(l)->shape);
  halo_loop_values(l, &e, frame, transposed.at, halo_arena_array(l->arena, halo_value, leaves));
  uint64_t inputs = 0;
  for (int32_t i = 0; i < transposed.args.count; i++) {
    bool many = __builtin_popcount(transposed.words.data[i]) >= LEAST;
    if (many && transposed.args.data[i].index < 64) inputs |= 1ull << transposed.args.data[i].index;
  }
  halo_vec_deinit(&transposed.args);
  halo_vec_deinit(&transposed.words);
  halo_emitter_deinit(&e);
  return inputs;
}

/* Declares the variables of a work item's place and gives the position that it starts with, which is
 * called "i" too. */
static const halo_integer *loop_emit_start(halo_emitter *e, const loop_shape *s) {
  const char *itype = halo_emitter_index_type(e);
  int64_t step = s->line ? LOOP_LINE : 1;
  if (!s->row) {
    halo_emit_line(e, "const %s i = (%s)" HALO_GLOBAL_ID_0 ";", itype, itype);
    return halo_integer_mul(&e->integers, halo_emit_counter(e, "i", s->items / step), step);
  }
  halo_emit_line(e, "const %s c = (%s)" HALO_GLOBAL_ID_0 ";", itype, itype);
  halo_emit_line(e, "const %s r = (%s)" HALO_GLOBAL_ID_1 ";", itype, itype);
  const halo_integer *row = halo_emit_counter(e, "r", s->items / s->row);
  const halo_integer *column = halo_emit_counter(e, "c", s->row / step);
  return halo_integer_add(&e->integers, halo_integer_mul(&e->integers, row, s->row),
                          halo_integer_mul(&e->integers, column, step));
}

/* Work items of a group along a row: all of a short one, a divisor of a long one, or what goes into it
 * with little left over; 1 where a device has no groups, and takes items as they come. */
static int64_t loop_row_group(const halo_caps *caps, int64_t columns) {
  if (caps->max_work_group == 1) return 1;
  if (columns <= LOOP_GROUP) return columns;
  for (int64_t local = LOOP_GROUP; local >= LOOP_GROUP / 8; local--) {
    if (columns % local == 0) return local;
  }
  return LOOP_GROUP / 8;
}

const char *halo_loop_zero(const halo_lowering *l, halo_emitter *e) {
  const halo_shape *shape = halo_lowering_root(l)->shape;
  for (int32_t k = 0; k < halo_shape_leaf_count(shape); k++) {
    if (halo_type_size(halo_leaf_shape(shape, k)->type) > HALO_NARROW) return NULL;
  }
  return halo_emit_arg(e, HALO_ROLE_OUTPUT, 0, halo_leaf_shape(shape, 0)->type, NULL);
}

bool halo_loop_row_is_guarded(const halo_lowering *l, int64_t columns) {
  return !loop_is_flat(l->computation) && columns % loop_row_group(l->caps, columns) != 0;
}

static void loop_launch(halo_launch *launch, const halo_caps *caps, const loop_shape *s) {
  int64_t step = s->line ? LOOP_LINE : 1;
  if (!s->row && !s->line) {
    halo_launch_items(caps, launch, s->items / s->lanes);
    return;
  }
  int64_t along = s->items / step, across = 1, local = 1;
  if (s->row) {
    along = s->row / step;
    across = s->items / s->row;
    local = loop_row_group(caps, along);
    launch->grid.dims = 2;
  } else {
    int64_t most = caps->max_work_group == 1 ? 1 : 64;
    while (local < most && along % (2 * local) == 0) local *= 2;
  }
  launch->grid.items = (size_t)along;
  launch->grid.local[0] = (size_t)local;
  launch->grid.global[0] = (size_t)((along + local - 1) / local * local);
  launch->grid.local[1] = launch->grid.local[2] = launch->grid.global[2] = 1;
  launch->grid.global[1] = (size_t)across;
  /* Several short rows a group, and still something to do for every core. */
  int64_t most = caps->max_work_group == 1 ? 1 : s->line ? 64 : LOOP_GROUP, rows = 1;
  while (across % (2 * rows) == 0 && 2 * rows * local <= most &&
         2 * rows * local * (int64_t)caps->compute_units <= along * across) {
    rows *= 2;
  }
  launch->grid.local[1] = (size_t)rows;
}

const halo_integer *halo_loop_start(halo_emitter *e, int64_t items, int64_t row) {
  return loop_emit_start(e, &(loop_shape){.items = items, .row = row, .lanes = 1});
}

void halo_loop_launch(const halo_lowering *l, halo_launch *launch, int64_t items, int64_t row) {
  loop_launch(launch, l->caps, &(loop_shape){.items = items, .row = row, .lanes = 1});
}

/* Opens the test for work items of a flat kernel that have something to do, where some have not. The
 * number is an argument, so that the text is the same for all sizes. */
static bool loop_open_guard(halo_emitter *e, const halo_lowering *l, int64_t items) {
  if (items % (int64_t)halo_kernel_local_size(l->caps, items) == 0) return false;
  const char *size =
      halo_emit_value_arg(e, HALO_VALUE_NUMBER, e->wide ? HALO_S64 : HALO_S32, items);
  halo_emit_branch(e, halo_arena_printf(l->arena, "if (i < %s)", size));
  return true;
}

void loop_emit_element(const halo_lowering *l, halo_emitter *e, const halo_integer *at) {
  const halo_instr *root = halo_lowering_root(l);
  int32_t leaves = halo_shape_leaf_count(root->shape);
  emit_frame *frame = halo_frame_kernel(e, l->computation);
  halo_value *values = halo_arena_array(l->arena, halo_value, leaves);
  halo_loop_values(l, e, frame, at, values);
  for (int32_t k = 0; k < leaves; k++) {
    halo_type type = halo_leaf_shape(root->shape, k)->type;
    halo_emit_store(e, halo_emit_arg(e, HALO_ROLE_OUTPUT, k, type, NULL), at, values[k]);
  }
}

/* The body of a work item that computes one element. */
static void loop_emit_item(halo_lowering *l, halo_emitter *e, const loop_shape *s) {
  int64_t items = s->items;
  e->vectors = l->caps->is_cpu;
  const halo_integer *at = loop_emit_start(e, s);
  int64_t local =
      s->row ? loop_row_group(l->caps, s->row) : (int64_t)halo_kernel_local_size(l->caps, items);
  bool guard = (s->row ? s->row : items) % local != 0;
  if (guard && s->row) {
    halo_emit_branch(e, halo_arena_printf(l->arena, "if (c < %lld)", (long long)s->row));
  } else if (guard && loop_is_flat(l->computation)) {
    loop_open_guard(e, l, items);
  } else if (guard) {
    halo_emit_branch(e, halo_arena_printf(l->arena, "if (i < %lld)", (long long)items));
  }
  loop_emit_element(l, e, at);
  if (guard) halo_emit_close(e);
}

/* The parts of an array or vector: "out0[0], out0[1]", with `format` "%sout%d[%d]". */
static const char *loop_list(const halo_lowering *l, const char *format, int32_t number,
                             int count) {
  halo_strbuf text = {0};
  for (int i = 0; i < count; i++) {
    halo_strbuf_printf(&text, format, i > 0 ? ", " : "", number, i);
  }
  const char *list = halo_arena_strdup(l->arena, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return list;
}

/* Loads what lies at a work item's lanes: `in` followed by the parameter's number is an array of it. */
static void loop_load_lanes(const halo_lowering *l, halo_emitter *e, int lanes) {
  for (int32_t p = 0; p < l->computation->params.count; p++) {
    const halo_shape *shape = l->computation->params.data[p]->shape;
    if (halo_shape_is_scalar(shape)) continue;
    const char *type = halo_ctype_storage(shape->type);
    const char *arg = halo_emit_arg(e, HALO_ROLE_INPUT, p, shape->type, NULL);
    halo_emit_line(e, "const %s%d vector%d = ((__global const %s%d *)%s)[i];", type, lanes, p, type,
                   lanes, arg);
    halo_emit_line(e, "const %s in%d[%d] = {%s};", type, p, lanes,
                   loop_list(l, "%svector%d.s%d", p, lanes));
  }
}

/* Puts all results at a position into element j of arrays: `array` followed by the result's number. */
static void loop_put_neighbour(halo_lowering *l, halo_emitter *e, emit_frame *frame,
                               const halo_integer *at, const char *array) {
  int32_t leaves = halo_shape_leaf_count(halo_lowering_root(l)->shape);
  halo_value *values = halo_arena_array(l->arena, halo_value, leaves);
  halo_loop_values(l, e, frame, at, values);
  for (int32_t k = 0; k < leaves; k++) {
    const char *text = halo_value_stored(l->arena, &values[k]);
    if (halo_type_is_complex(values[k].type)) {
      halo_emit_line(e, "const %s pair%d = %s;", halo_ctype_compute(values[k].type), k, text);
      halo_emit_line(e, "%s%d[2 * j] = pair%d.x, %s%d[2 * j + 1] = pair%d.y;", array, k, k, array,
                     k, k);
    } else {
      halo_emit_line(e, "%s%d[j] = %s;", array, k, text);
    }
  }
}

/* The body of a work item that computes neighbours, which are loaded and stored as vectors. */
static void loop_emit_lanes(halo_lowering *l, halo_emitter *e, const loop_shape *s) {
  const halo_computation *body = l->computation;
  const halo_instr *root = halo_lowering_root(l);
  int32_t leaves = halo_shape_leaf_count(root->shape);
  emit_frame *frame = halo_frame_kernel(e, body);
  const char *itype = halo_emitter_index_type(e);
  halo_emit_line(e, "const %s i = (%s)" HALO_GLOBAL_ID_0 ";", itype, itype);
  bool guard = loop_open_guard(e, l, s->items / s->lanes);
  loop_load_lanes(l, e, s->lanes);
  for (int32_t k = 0; k < leaves; k++) {
    halo_type type = halo_leaf_shape(root->shape, k)->type;
    halo_emit_array(e, halo_ctype_storage(type), halo_arena_printf(l->arena, "out%d", k), s->lanes,
                    halo_type_size(type));
  }
  halo_emit_line(e, "#pragma unroll"); /* arrays are registers then, and only then */
  halo_emit_loop(e, halo_arena_printf(l->arena, "for (int j = 0; j < %d; ++j)", s->lanes));
  for (int32_t p = 0; p < body->params.count; p++) {
    const halo_instr *param = body->params.data[p];
    if (halo_shape_is_scalar(param->shape)) continue;
    const char *lane = halo_arena_printf(l->arena, "in%d", p);
    const halo_integer *j = halo_emit_counter(e, "j", s->lanes);
    halo_frame_bind(e, frame, param, 0, halo_emit_load(e, lane, param->shape->type, j));
  }
  /* Nothing in a flat kernel looks at its place but what was bound. */
  loop_put_neighbour(l, e, frame, halo_emit_counter(e, "i", s->items), "out");
  halo_emit_close(e);
  for (int32_t k = 0; k < leaves; k++) {
    halo_type type = halo_leaf_shape(root->shape, k)->type;
    const char *out = halo_emit_arg(e, HALO_ROLE_OUTPUT, k, type, NULL);
    halo_emit_line(e, "((__global %s%d *)%s)[i] = (%s%d)(%s);", halo_ctype_storage(type), s->lanes,
                   out, halo_ctype_storage(type), s->lanes,
                   loop_list(l, "%sout%d[%d]", k, s->lanes));
  }
  if (guard) halo_emit_close(e);
}

/* Loads the rows of a line's elements and turns them over. */
static void loop_transpose_rows(const halo_lowering *l, halo_emitter *e, uint64_t inputs,
                                const halo_integer *first, halo_transposed *transposed) {
  halo_sections_add(&e->sections, "turned");
  const char *place = halo_emit_integer(e, halo_integer_mul(&e->integers, first, LOOP_LINE));
  int32_t number = 0;
  for (int32_t p = 0; p < l->computation->params.count; p++) {
    const halo_shape *shape = l->computation->params.data[p]->shape;
    int32_t input = number;
    number += halo_shape_leaf_count(shape);
    if (input > 63 || !(inputs >> input & 1)) continue;
    const char *arg = halo_emit_arg(e, HALO_ROLE_INPUT, input, shape->type, NULL);
    halo_emit_array(e, "uint16", halo_arena_printf(l->arena, "%s_turned", arg), 16, 64);
    halo_emit_line(e, "#pragma unroll");
    e->has_loops = true;
    halo_emit_line(
        e,
        "for (int k = 0; k < 16; ++k) %s_turned[k] = vload16(k, (__global const uint *)(%s + %s));",
        arg, arg, place);
    halo_emit_line(e, "h_turn_rows(%s_turned);", arg);
    halo_vec_push(&transposed->args, e->args.data[e->args.count - 1]);
    halo_vec_push(&transposed->words, 0);
  }
  transposed->complete = true;
}

/* The body of a work item that computes LOOP_LINE neighbours and stores them as vectors. These are variables that
 * elements are put into by address: of an array that is loaded as a vector LLVM makes memory, written in one piece and
 * read in several, which waits for the writing. */
static void loop_emit_line(halo_lowering *l, halo_emitter *e, const loop_shape *s) {
  const halo_instr *root = halo_lowering_root(l);
  int32_t leaves = halo_shape_leaf_count(root->shape);
  emit_frame *frame = halo_frame_kernel(e, l->computation);
  if (s->stream) halo_sections_add(&e->sections, "stream");
  halo_sections_add(&e->sections, "neighbours");
  const halo_integer *first = loop_emit_start(e, s);
  e->vectors = true;
  for (int32_t k = 0; k < leaves; k++) {
    halo_type type = halo_leaf_shape(root->shape, k)->type;
    const char *part = halo_ctype_storage(halo_type_real_part(type));
    int parts = halo_type_is_complex(type) ? 2 : 1;
    halo_emit_array(e, halo_arena_printf(l->arena, "%s%d", part, LOOP_LINE),
                    halo_arena_printf(l->arena, "vectors%d", k), parts,
                    LOOP_LINE * halo_type_size(halo_type_real_part(type)));
    halo_emit_line(e, "%s *line%d = (%s *)vectors%d;", part, k, part, k);
  }
  const halo_integer *at =
      halo_integer_add(&e->integers, first, halo_emit_counter(e, "j", LOOP_LINE));
  halo_transposed transposed = {.at = at, .lane = "j"};
  if (s->transposed) {
    loop_transpose_rows(l, e, s->transposed, first, &transposed);
    e->transposed = &transposed;
  }
  halo_emit_line(e, "H_LINE_LOOP(%d)", LOOP_LINE);
  halo_emit_loop(e, halo_arena_printf(l->arena, "for (int j = 0; j < %d; ++j)", LOOP_LINE));
  loop_put_neighbour(l, e, frame, at, "line");
  halo_emit_close(e);
  e->transposed = NULL;
  halo_vec_deinit(&transposed.args);
  halo_vec_deinit(&transposed.words);
  for (int32_t k = 0; k < leaves; k++) {
    halo_type type = halo_leaf_shape(root->shape, k)->type;
    const char *part = halo_ctype_storage(halo_type_real_part(type));
    const char *out = halo_emit_arg(e, HALO_ROLE_OUTPUT, k, type, NULL);
    const char *place = halo_emit_integer(e, first);
    for (int v = 0; v < (halo_type_is_complex(type) ? 2 : 1); v++) {
      const char *to = halo_arena_printf(l->arena, "(__global %s%d *)(%s + %s) + %d", part,
                                         LOOP_LINE, out, place, v);
      if (s->stream) {
        halo_emit_line(e, "h_stream(vectors%d[%d], %s);", k, v, to);
      } else {
        halo_emit_line(e, "*(%s) = vectors%d[%d];", to, k, v);
      }
    }
  }
}

halo_launch *loop_add(halo_lowering *l, halo_emitter *e, const char *form, const char *how) {
  const char *label = halo_arena_printf(l->arena, "%s loop%s", l->name, how);
  uint64_t in_place = halo_computation_same_position(l->computation);
  return halo_kernel_add(l, e, halo_kernel_name(l, form), label, in_place);
}

/* One position stands for an element of each result. */
static halo_status loop_check_results(const halo_lowering *l) {
  const halo_shape *shape = halo_lowering_root(l)->shape, *first = halo_leaf_shape(shape, 0);
  for (int32_t k = 1; k < halo_shape_leaf_count(shape); k++) {
    const halo_shape *leaf = halo_leaf_shape(shape, k);
    if (halo_shape_element_count(leaf) == halo_shape_element_count(first)) continue;
    return halo_fail(HALO_INTERNAL, "%s: result %d of a loop has %lld elements, result 0 has %lld",
                     l->name, k, (long long)halo_shape_element_count(leaf),
                     (long long)halo_shape_element_count(first));
  }
  return HALO_OK;
}

halo_status loop_lower_shape(halo_lowering *l, const loop_shape *s) {
  HALO_TRY(loop_check_results(l));
  if (s->items == 0) return HALO_OK;
  halo_emitter e;
  halo_lowering_emitter(l, &e);
  /* Of places that are narrowed compilers do not see, within branches, that they are neighbours. */
  e.wide |= s->row > 0;
  if (s->line) {
    loop_emit_line(l, &e, s);
  } else if (s->lanes > 1) {
    loop_emit_lanes(l, &e, s);
  } else {
    loop_emit_item(l, &e, s);
  }
  if (e.status == HALO_OK) {
    const char *how = s->stream ? ":stream" : s->line ? ":line" : s->lanes > 1 ? ":lanes" : "";
    if (s->row) how = halo_arena_printf(l->arena, ":rows%s", how);
    const char *form = s->stream      ? "stream"
                       : s->line      ? "line"
                       : s->row       ? "rows"
                       : s->lanes > 1 ? "lanes"
                                      : "loop";
    loop_launch(loop_add(l, &e, form, how), l->caps, s);
  }
  halo_status status = e.status;
  halo_emitter_deinit(&e);
  return status;
}
