/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/loop/transpose.c: loop:turn: elementwise fusions that read a large input along another dimension than
 * they write: transposes, and whatever is fused around them. */
#include "codegen/ctype.h"
#include "kernels/families.h"
#include "kernels/helpers.h"

extern const char halo_cl_transpose[];

enum { TRANSPOSE_SIZE = 32, TRANSPOSE_ROWS = 8, TRANSPOSE_LEAST = 16 };

/* The ways of transpose.cl. */
enum { TRANSPOSE_ITEM = 0, TRANSPOSE_LOCAL = 1, TRANSPOSE_REGISTERS = 2 };

/* Follows inputs from the root: `map[d]` is the result's dimension that dimension d of the instruction
 * at hand runs along, or -1. Finds the dimension along which a large transposed input is fast. */
static int transpose_find(const halo_instr *instr, const int *map, int out_minor, int64_t elements,
                          int depth) {
  if (depth > 40) return -1;
  if (instr->opcode == HALO_OP_PARAMETER) {
    if (halo_shape_element_count(instr->shape) < elements) return -1;
    for (int i = 0; i < instr->shape->rank; i++) {
      int d = instr->shape->minor_to_major[i];
      if (instr->shape->dims[d] == 1) continue;
      return map[d] >= 0 && map[d] != out_minor ? map[d] : -1;
    }
    return -1;
  }
  int inner[HALO_MAX_RANK];
  if (instr->opcode == HALO_OP_TRANSPOSE) {
    int32_t rank;
    const int64_t *permutation = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &rank);
    for (int32_t d = 0; d < rank; d++) inner[permutation[d]] = map[d];
    return transpose_find(instr->operands[0], inner, out_minor, elements, depth + 1);
  }
  if (!halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW)) return -1;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    if (!halo_shape_same_dims(instr->operands[i]->shape, instr->shape)) continue;
    int found = transpose_find(instr->operands[i], map, out_minor, elements, depth + 1);
    if (found >= 0) return found;
  }
  return -1;
}

/* The result's fast dimension and the one along which an input is fast. */
static bool transpose_dimensions(const halo_lowering *l, int *p, int *o) {
  const halo_instr *root = halo_lowering_root(l);
  const halo_shape *shape = root->shape;
  if (!halo_shape_is_array(shape)) return false;
  *o = -1;
  for (int i = 0; i < shape->rank && *o < 0; i++) {
    if (shape->dims[shape->minor_to_major[i]] != 1) *o = shape->minor_to_major[i];
  }
  if (*o < 0 || l->computation->instrs.count > 40) return false;
  int map[HALO_MAX_RANK];
  for (int d = 0; d < shape->rank; d++) map[d] = d;
  *p = transpose_find(root, map, *o, halo_shape_element_count(shape), 0);
  return *p >= 0 && shape->dims[*p] >= TRANSPOSE_LEAST && shape->dims[*o] >= TRANSPOSE_LEAST;
}

bool halo_transpose_supports(const halo_lowering *l, const char **why) {
  int p, o;
  *why = "no large input runs along another dimension than the result";
  return transpose_dimensions(l, &p, &o);
}

bool halo_transpose_works_on(const halo_caps *caps, const char **why) {
  *why = "work groups of 32 x 8 do not fit the device";
  return caps->is_cpu ||
         (caps->max_work_group >= TRANSPOSE_SIZE * TRANSPOSE_ROWS &&
          caps->max_items[0] >= TRANSPOSE_SIZE && caps->max_items[1] >= TRANSPOSE_ROWS);
}

/* A loop reads a line of memory for each element. A loop reads arrays in a CPU's first caches
 * as fast, and takes a third of the time to compile. */
double halo_transpose_cost(const halo_lowering *l) {
  enum { NEAR = 1 << 14 }; /* elements */
  const halo_prices *p = halo_lowering_prices(l);
  int64_t elements = halo_shape_element_count(halo_lowering_root(l)->shape);
  double times = elements <= NEAR ? p->turn_near : p->turn_tiles;
  return p->launch + times * (halo_loop_cost(l) - p->launch);
}

/* Coordinates of the result from (b, p, o): its dimensions p and o, and the position in the others. */
static emit_index *transpose_index(halo_emitter *e, const halo_shape *shape, int p, int o) {
  const halo_integer *at[HALO_MAX_RANK];
  int64_t batch = 1;
  for (int d = 0; d < shape->rank; d++) {
    if (d != p && d != o) batch *= shape->dims[d];
  }
  const halo_integer *rest = halo_emit_counter(e, "b", batch);
  for (int d = shape->rank - 1; d >= 0; d--) {
    if (d == p || d == o) {
      at[d] = halo_emit_counter(e, d == p ? "p" : "o", shape->dims[d]);
    } else {
      at[d] = halo_integer_mod(&e->integers, rest, shape->dims[d]);
      rest = halo_integer_div(&e->integers, rest, shape->dims[d]);
    }
  }
  return halo_index_of(e, shape->rank, shape->dims, at);
}

/* "a.s0, b.s0, a.s1, b.s1, ..." of elements first .. first + n/2 - 1. */
static const char *transpose_interleave(halo_arena *arena, const char *hole, const char *vector,
                                        int n, int first) {
  halo_strbuf text = {0};
  halo_strbuf_printf(&text, "%s(a, b) (%s)(", hole, vector);
  for (int i = 0; i < n / 2; i++) {
    halo_strbuf_printf(&text, "%s(a).s%x, (b).s%x", i ? ", " : "", first + i, first + i);
  }
  halo_strbuf_char(&text, ')');
  const char *copy = halo_arena_strdup(arena, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return copy;
}

/* The holes of the way through registers: tiles of one cache line squared, for 4- and 8-byte values. */
static void transpose_register_holes(const halo_helpers *t, halo_template *k,
                                     const halo_shape *shape, const char *out, int o) {
  halo_arena *arena = t->l->arena;
  int size = (int)halo_type_size(shape->type), n = 64 / size;
  const char *word = size == 4 ? "uint" : "ulong";
  const char *vector = halo_arena_printf(arena, "%s%d", word, n);
  const char *at = halo_arena_printf(arena, "%s_at(%s, b, p, o)", t->name, t->texts.arguments);
  /* Whole aligned lines of a large result need not pass through the cache. */
  bool stream = halo_shape_byte_size(shape) >= HALO_STREAM_BYTES && shape->dims[o] % n == 0;
  halo_helpers_hole(t, k, "H_W", "%s", word);
  halo_helpers_hole(t, k, "H_V", "%s", vector);
  halo_helpers_hole(t, k, "H_BITS(v)", "as_%s(v)", word);
  halo_helpers_hole(t, k, "H_LOADV(p)", "vload%d(0, p)", n);
  if (stream) {
    halo_helpers_hole(t, k, "H_STOREV(v, b, p, o)", "h_stream(v, (__global %s *)(%s + %s))", vector,
                      out, at);
  } else {
    halo_helpers_hole(t, k, "H_STOREV(v, b, p, o)", "vstore%d(v, 0, (__global %s *)%s + %s)", n,
                      word, out, at);
  }
  halo_template_define(k, "H_LO", transpose_interleave(arena, "H_LO", vector, n, 0));
  halo_template_define(k, "H_HI", transpose_interleave(arena, "H_HI", vector, n, n / 2));
}

static void transpose_size_launch(halo_launch *launch, bool local, size_t tiles_p, size_t tiles_o,
                                  size_t batch) {
  if (local) {
    launch->grid.dims = 3;
    launch->grid.global[0] = tiles_o * TRANSPOSE_SIZE;
    launch->grid.global[1] = tiles_p * TRANSPOSE_ROWS;
    launch->grid.global[2] = batch;
    return;
  }
  launch->grid.global[0] = tiles_p * tiles_o * batch;
  launch->grid.local[0] = launch->grid.global[0] % 4 == 0 && launch->grid.global[0] >= 64 ? 4 : 1;
}

/* The helpers: an element in storage form, so that the tile is no larger than the data, and where in
 * the result it belongs. */
static const char *transpose_helpers(halo_helpers *t, int p, int o) {
  halo_emitter *e = &t->e;
  const halo_instr *root = halo_lowering_root(t->l);
  const halo_shape *shape = root->shape;
  emit_frame *frame = halo_helpers_open(t);
  halo_value value = halo_emit_value(e, frame, root, 0, transpose_index(e, shape, p, o));
  halo_emit_line(e, "return %s;", halo_ctype_store(t->l->arena, shape->type, value.text));
  halo_helpers_close(t, halo_ctype_storage(shape->type), "_in", "b, p, o", NULL);
  halo_helpers_open(t);
  const char *out = halo_emit_arg(e, HALO_ROLE_OUTPUT, 0, shape->type, NULL);
  const halo_integer *position = halo_index_position(e, transpose_index(e, shape, p, o), shape);
  halo_emit_line(e, "return %s;", halo_emit_integer(e, position));
  halo_helpers_close(t, t->itype, "_at", "b, p, o", NULL);
  return out;
}

halo_status halo_transpose_lower(halo_lowering *l) {
  const halo_shape *shape = halo_lowering_root(l)->shape;
  int p, o;
  transpose_dimensions(l, &p, &o);
  halo_helpers t;
  halo_helpers_begin(&t, l, halo_kernel_name(l, "turn"), false);
  const char *out = transpose_helpers(&t, p, o);
  size_t size = halo_type_size(shape->type);
  bool local = !l->caps->is_cpu;
  bool words = (size == 4 || size == 8) && !halo_type_is_complex(shape->type);
  int mode = local ? TRANSPOSE_LOCAL : words ? TRANSPOSE_REGISTERS : TRANSPOSE_ITEM;
  int tile = mode == TRANSPOSE_REGISTERS ? 64 / (int)size : TRANSPOSE_SIZE;
  int64_t batch = 1;
  for (int d = 0; d < shape->rank; d++) {
    if (d != p && d != o) batch *= shape->dims[d];
  }
  if (mode == TRANSPOSE_REGISTERS) halo_sections_add(&t.e.sections, "stream");
  halo_template k;
  halo_helpers_template(&t, &k, halo_cl_transpose, "");
  halo_helpers_block_holes(&t, &k);
  halo_helpers_hole(&t, &k, "H_T", "%s", halo_ctype_storage(shape->type));
  halo_helpers_call(&t, &k, "H_IN", "_in", "b, p, o");
  halo_helpers_hole(&t, &k, "H_OUT(b, p, o, v)", "%s[%s_at(%s, b, p, o)] = (v)", out, t.name,
                    t.texts.arguments);
  halo_template_define_int(&k, "H_P", shape->dims[p]);
  halo_template_define_int(&k, "H_O", shape->dims[o]);
  halo_template_define_int(&k, "H_BATCH", batch);
  halo_template_define_int(&k, "H_TILE", tile);
  halo_template_define_int(&k, "H_ROWS", TRANSPOSE_ROWS);
  halo_template_define_int(&k, "H_MODE", mode);
  if (mode == TRANSPOSE_REGISTERS) transpose_register_holes(&t, &k, shape, out, o);
  if (local) {
    halo_kernel_group(l, TRANSPOSE_SIZE, TRANSPOSE_ROWS);
    halo_kernel_local(l, tile * (tile + 1), size);
  } else {
    halo_kernel_private(l, tile * tile, size);
  }
  halo_helpers_finish(&t, &k);
  transpose_size_launch(halo_helpers_launch(&t, "loop:turn"), local,
                        (size_t)((shape->dims[p] + tile - 1) / tile),
                        (size_t)((shape->dims[o] + tile - 1) / tile), (size_t)batch);
  return halo_helpers_end(&t);
}
