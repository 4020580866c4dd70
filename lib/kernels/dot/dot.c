/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/dot/dot.c: matrix products: from packed panels on CPUs, in local-memory tiles on GPUs, by CLBlast,
 * and element by element. */
#include "codegen/ctype.h"
#include "kernels/dot/describe.h"
#include "kernels/dot/panels.h"
#include "kernels/dot/tile.h"
#include "kernels/families.h"

/* The description of a product. */
typedef struct dot_descs {
  halo_dot_desc whole;
  halo_dot_desc real; /* the same as a product of real matrices, where the matrices are complex */
} dot_descs;

static const void *dot_describe(const halo_lowering *l) {
  dot_descs *descs = halo_desc_new(l, dot_descs);
  halo_dot_describe(l->hero, &descs->whole);
  descs->real = descs->whole;
  halo_dot_make_real(&descs->real);
  return descs;
}

static const halo_dot_desc *dot_desc(const halo_lowering *l) {
  return &((const dot_descs *)l->desc)->whole;
}

static const halo_dot_desc *dot_real_desc(const halo_lowering *l) {
  return &((const dot_descs *)l->desc)->real;
}

/* Multiplications, with an addition each. */
static double dot_products(const halo_dot_desc *v) {
  return (double)v->batch * (double)v->m * (double)v->n * (double)v->k;
}

/* What every fast kernel needs. */
static bool dot_is_plain(const halo_dot_desc *v, const char **why) {
  if (v->batch == 0 || v->m == 0 || v->n == 0 || v->k == 0) {
    *why = "an extent is 0";
    return false;
  }
  if (v->accumulator == HALO_PRED || halo_type_is_complex(v->accumulator)) {
    *why = "the element type is pred or complex";
    return false;
  }
  for (int side = 0; side < 2; side++) {
    halo_type type = (side ? &v->rhs : &v->lhs)->operand->shape->type;
    if (halo_type_is_complex(type) && !v->made_real) {
      *why = "an operand is complex";
      return false;
    }
  }
  return true;
}

/* ---- Text shared by the kernels ---- */

/* Whether results are the product's, row by row, in the type in which they are added up. */
static bool dot_is_whole(const halo_lowering *l, const halo_dot_desc *v) {
  return v->dot == halo_lowering_root(l) && (v->made_real || v->result == v->accumulator) &&
         halo_shape_has_default_layout(v->dot->shape);
}

typedef struct dot_text {
  halo_dot_desc v;
  halo_helpers helpers;
  const char *type;    /* of accumulators */
  int32_t out_scratch; /* where parts go that a kernel behind this one finishes */
} dot_text;

static void dot_begin(dot_text *t, halo_lowering *l, const halo_dot_desc *v, const char *name) {
  *t = (dot_text){.v = *v, .type = halo_ctype_compute(v->accumulator), .out_scratch = -1};
  /* Padded panels may be larger than any array of the program. */
  double padded = (double)v->batch * ((double)v->m + 64) * ((double)v->k + 64);
  double other = (double)v->batch * ((double)v->n + 64) * ((double)v->k + 64);
  halo_helpers_begin(&t->helpers, l, name, padded > 1e9 || other > 1e9);
  t->helpers.e.ordered_names = true;
  halo_sections_add(&t->helpers.e.sections, halo_ctype_section(v->accumulator));
}

/* Whether the product is stored row by row as it was added up, in the result or, of complex numbers, in a scratch. */
static bool dot_is_plain_rows(dot_text *t) {
  halo_lowering *l = t->helpers.l;
  if (dot_is_whole(l, &t->v)) return true;
  if (!t->v.made_real) return false;
  t->out_scratch = l->scratch.count;
  halo_vec_push(&l->scratch, (halo_scratch){halo_shape_byte_size(t->v.dot->shape)});
  return true;
}

/* "inline T name_suffix(..., b, x, k)": an element of an operand. */
static void dot_element(dot_text *t, bool rhs, const char *suffix) {
  halo_emitter *e = &t->helpers.e;
  emit_frame *frame = halo_helpers_open(&t->helpers);
  const halo_integer *b = halo_emit_counter(e, "b", t->v.batch);
  const halo_integer *x = halo_emit_counter(e, "x", rhs ? t->v.n : t->v.m);
  const halo_integer *k = halo_emit_counter(e, "k", t->v.k);
  halo_emit_line(e, "return %s;", halo_dot_element(e, frame, &t->v, rhs, b, x, k).text);
  halo_helpers_close(&t->helpers, t->type, suffix, "b, x, k", NULL);
}

/* The same, of a strided operand, with arguments for all sizes but the distance of neighbours. */
static void dot_strided_element(dot_text *t, bool rhs) {
  halo_emitter *e = &t->helpers.e;
  const halo_dot_side *side = rhs ? &t->v.rhs : &t->v.lhs;
  const halo_shape *shape = side->operand->shape;
  halo_helpers_open(&t->helpers);
  const char *arg = halo_emit_arg(e, HALO_ROLE_INPUT, (int32_t)side->operand->parameter_number,
                                  shape->type, NULL);
  /* 64 bits, so that compilers see at once that neighbours stay neighbours. */
  halo_strbuf at = {0};
  halo_strbuf_printf(&at, "(long)b * %s", halo_emit_number_arg(e, side->batch.stride));
  const halo_dot_group *groups[] = {&side->free, &side->contract};
  for (int i = 0; i < 2; i++) {
    const char *name = i ? "k" : "x";
    if (groups[i]->stride == 1) {
      halo_strbuf_printf(&at, " + %s", name);
    } else {
      halo_strbuf_printf(&at, " + (long)%s * %s", name, halo_emit_number_arg(e, groups[i]->stride));
    }
  }
  halo_emit_line(e, "const long i = %s;", halo_strbuf_text(&at));
  halo_strbuf_deinit(&at);
  const halo_integer *i = halo_emit_counter(e, "i", halo_shape_element_count(shape));
  halo_value value = halo_emit_load(e, arg, shape->type, i);
  halo_emit_line(e, "return %s;", halo_emit_convert(e, value, t->v.accumulator).text);
  halo_helpers_close(&t->helpers, t->type, "_in", "b, x, k", NULL);
}

/* "inline TV name_suffix(..., b, x, k)": neighbours of a strided operand, along k or its lines, which a vector holds. */
static void dot_vector(dot_text *t, bool rhs, bool along_k, int vector, const char *suffix) {
  halo_emitter *e = &t->helpers.e;
  const halo_dot_side *side = rhs ? &t->v.rhs : &t->v.lhs;
  halo_type type = side->operand->shape->type;
  const char *storage = halo_ctype_storage(type);
  halo_arena *arena = t->helpers.l->arena;
  halo_helpers_open(&t->helpers);
  int32_t number = (int32_t)side->operand->parameter_number;
  const char *arg = halo_emit_arg(e, HALO_ROLE_INPUT, number, type, NULL);
  const halo_integer *b = halo_emit_counter(e, "b", t->v.batch), *x = NULL, *k = NULL;
  x = halo_emit_counter(e, "x", side->free.size), k = halo_emit_counter(e, "k", t->v.k);
  const halo_integer *at = halo_integer_mul(&e->integers, b, side->batch.stride);
  at = halo_integer_add(&e->integers, at,
                        halo_integer_mul(&e->integers, x, along_k ? side->free.stride : 1));
  at = halo_integer_add(&e->integers, at,
                        halo_integer_mul(&e->integers, k, along_k ? 1 : side->contract.stride));
  halo_emit_line(e, "const %s%d vector = *(__global const %s%d *)(%s + (%s));", storage, vector,
                 storage, vector, arg, halo_emit_integer(e, at));
  const char *values = "", *lanes = "";
  for (int i = 0; i < vector; i++) {
    lanes = halo_arena_printf(arena, "%s%svector.s%d", lanes, i ? ", " : "", i);
  }
  halo_emit_line(e, "const %s lanes[%d] = {%s};", storage, vector, lanes);
  for (int i = 0; i < vector; i++) {
    halo_value lane = halo_emit_load(e, "lanes", type, halo_integer_constant(&e->integers, i));
    lane = halo_emit_convert(e, lane, t->v.accumulator);
    values = halo_arena_printf(arena, "%s%s%s", values, i ? ", " : "", lane.text);
  }
  halo_emit_line(e, "return (%s%d)(%s);", t->type, vector, values);
  halo_helpers_close(&t->helpers, halo_arena_printf(arena, "%s%d", t->type, vector), suffix,
                     "b, x, k", NULL);
}

/* Where a product lies row by row as it was added up: the result, or what dot_finish makes the result of. */
static const char *dot_plain_arg(dot_text *t) {
  halo_role role = t->out_scratch < 0 ? HALO_ROLE_OUTPUT : HALO_ROLE_SCRATCH;
  int32_t number = t->out_scratch < 0 ? 0 : t->out_scratch;
  return halo_emit_arg(&t->helpers.e, role, number, t->v.accumulator, NULL);
}

/* Makes the results of a product that was stored in parts, where it is not the result itself. */
static halo_status dot_finish(dot_text *t) {
  if (t->out_scratch < 0) return HALO_OK;
  return halo_panels_finish(t->helpers.l, t->v.dot, t->v.result, t->out_scratch, 1, "dot:finish");
}

/* "inline void name_out(..., b, x, y, v)" for results that lie row by row. */
static void dot_store_plain(dot_text *t, const char *rows, const char *columns) {
  halo_emitter *e = &t->helpers.e;
  halo_helpers_open(&t->helpers);
  halo_emit_line(e, "%s[(b * %s + x) * %s + y] = v;", dot_plain_arg(t), rows, columns);
  halo_helpers_close(&t->helpers, "void", "_out", "b, x, y", t->type);
}

/* Opens a helper for a result, which is the product v, and whatever is fused behind it. */
static emit_frame *dot_open_result(dot_text *t) {
  halo_emitter *e = &t->helpers.e;
  /* A block of results is stored when all that it is made of has been read, but for what finishes it. */
  t->helpers.in_place = halo_computation_same_position(t->helpers.l->computation);
  emit_frame *frame = halo_helpers_open(&t->helpers);
  halo_value product = halo_emit_convert(e, halo_value_name(t->v.accumulator, "v"), t->v.result);
  halo_frame_bind(e, frame, t->v.dot, 0, product);
  return frame;
}

static emit_index *dot_result_index(dot_text *t) {
  halo_emitter *e = &t->helpers.e;
  return halo_dot_result_index(e, &t->v, halo_emit_counter(e, "b", t->v.batch),
                               halo_emit_counter(e, "x", t->v.m),
                               halo_emit_counter(e, "y", t->v.n));
}

/* "inline void name_out(..., b, x, y, v)": finishes and stores a result from accumulator v; whatever is
 * fused behind the product sees it as the dot's value. */
static void dot_store(dot_text *t) {
  emit_frame *frame = dot_open_result(t);
  halo_helpers_store(&t->helpers, frame, t->v.dot->shape, dot_result_index(t));
  halo_helpers_close(&t->helpers, "void", "_out", "b, x, y", t->type);
}

/* Whether neighbours of a row of tiles can be stored as one vector: the root has the product's dimensions, and its memory has
 * them side by side. */
static bool dot_can_store_vector(dot_text *t, bool turned) {
  const halo_dot_desc *v = &t->v;
  const halo_instr *root = halo_lowering_root(t->helpers.l);
  if (!halo_helpers_can_split(t->helpers.l, v->dot->shape)) return false;
  if (halo_type_is_complex(root->shape->type)) return false;
  for (int d = 0; d < root->shape->rank; d++) {
    if (root->shape->minor_to_major[d] != v->dot->shape->minor_to_major[d]) return false;
  }
  halo_dot_strides strides = halo_dot_result_strides(v);
  int64_t near = turned ? v->m : v->n;
  return (turned ? strides.row : strides.column) == 1 &&
         near % halo_tile_vector(v->accumulator) == 0;
}

/* "inline void name_outv(..., b, x, y, v)": the same of neighbours. */
static void dot_store_vector(dot_text *t, bool turned) {
  halo_emitter *e = &t->helpers.e;
  const halo_instr *root = halo_lowering_root(t->helpers.l);
  halo_type type = root->shape->type;
  const char *storage = halo_ctype_storage(type), *results = "";
  int vector = halo_tile_vector(t->v.accumulator);
  halo_arena *arena = t->helpers.l->arena;
  t->helpers.in_place = halo_computation_same_position(t->helpers.l->computation);
  emit_frame *frame = halo_helpers_open(&t->helpers);
  halo_emit_line(e, "%s lanes[%d];", t->type, vector);
  halo_emit_line(e, "vstore%d(v, 0, lanes);", vector);
  halo_emit_line(e, "const %s whole = %s / %d;", t->helpers.itype, turned ? "x" : "y", vector);
  halo_emit_array(e, storage, "results", vector, halo_type_size(type));
  halo_emit_line(e, "#pragma unroll");
  halo_emit_loop(e, halo_arena_printf(arena, "for (int j = 0; j < %d; ++j)", vector));
  const halo_integer *whole = halo_emit_counter(e, "whole", (turned ? t->v.m : t->v.n) / vector);
  const halo_integer *near =
      halo_integer_add(&e->integers, halo_integer_mul(&e->integers, whole, vector),
                       halo_emit_counter(e, "j", vector));
  const halo_integer *b = halo_emit_counter(e, "b", t->v.batch);
  emit_index *index =
      halo_dot_result_index(e, &t->v, b, turned ? near : halo_emit_counter(e, "x", t->v.m),
                            turned ? halo_emit_counter(e, "y", t->v.n) : near);
  halo_value product =
      halo_emit_convert(e, halo_value_name(t->v.accumulator, "lanes[j]"), t->v.result);
  halo_frame_bind(e, frame, t->v.dot, 0, product);
  halo_value value = halo_emit_value(e, frame, root, 0, index);
  halo_emit_line(e, "results[j] = %s;", halo_value_stored(arena, &value));
  halo_emit_close(e);
  for (int i = 0; i < vector; i++) {
    results = halo_arena_printf(arena, "%s%sresults[%d]", results, i ? ", " : "", i);
  }
  const halo_integer *at = halo_index_position(e, dot_result_index(t), root->shape);
  halo_emit_line(e, "*(__global %s%d *)(%s + (%s)) = (%s%d)(%s);", storage, vector,
                 halo_emit_arg(e, HALO_ROLE_OUTPUT, 0, type, NULL), halo_emit_integer(e, at),
                 storage, vector, results);
  halo_helpers_close(&t->helpers, "void", "_outv", "b, x, y",
                     halo_arena_printf(arena, "%s%d", t->type, vector));
}

/* The same in two: "_value" and "_put". */
static void dot_store_split(dot_text *t) {
  halo_type type = halo_lowering_root(t->helpers.l)->shape->type;
  emit_frame *frame = dot_open_result(t);
  halo_helpers_value(&t->helpers, frame, dot_result_index(t));
  halo_helpers_close(&t->helpers, halo_ctype_compute(type), "_value", "b, x, y", t->type);
  halo_helpers_open(&t->helpers);
  halo_helpers_put(&t->helpers, dot_result_index(t));
  halo_helpers_close(&t->helpers, "void", "_put", "b, x, y", halo_ctype_compute(type));
}

/* ---- Panels ---- */

/* Integers that s16 can hold. */
static bool dot_is_narrow(halo_type type) {
  return halo_type_is_integral(type) && halo_type_size(type) <= 2 && type != HALO_U16;
}

/* Bytes go in fours where the processor multiplies them so. Of two bytes without signs one would have to lose 128, and the
 * other's sums would be needed along rows: these go in pairs. */
static bool dot_goes_in_fours(const halo_caps *caps, halo_type lhs, halo_type rhs) {
  bool bytes = halo_type_size(lhs) == 1 && halo_type_size(rhs) == 1;
  return caps->multiplies_bytes && bytes && (halo_type_is_sint(lhs) || halo_type_is_sint(rhs));
}

/* The block of the result, and how many elements go together. */
static halo_panels dot_panels_choose(const halo_lowering *l, const halo_dot_desc *v) {
  halo_panels b = halo_panels_choose(l, v->accumulator, v->n);
  halo_type lhs = v->lhs.operand->shape->type, rhs = v->rhs.operand->shape->type;
  bool whole = halo_type_is_integral(v->accumulator) && halo_type_size(v->accumulator) == 4;
  bool bf16 = lhs == HALO_BF16 && rhs == HALO_BF16 && v->accumulator == HALO_F32;
  if (bf16 && l->caps->multiplies_bf16 && b.w == 16) b.group = 2;
  if (!whole || !dot_is_narrow(lhs) || !dot_is_narrow(rhs)) return b;
  b.group = 2;
  if (!dot_goes_in_fours(l->caps, lhs, rhs) || b.w != 16) return b;
  b.group = 4;
  b.biased = halo_type_is_sint(lhs) && halo_type_is_sint(rhs);
  b.swapped = halo_type_is_sint(lhs) && !b.biased;
  /* The sums of columns take registers too. */
  if (b.biased && (b.mr == 6 || b.mr == 7)) b.mr = 5;
  return b;
}

/* For a panel of A that many panels of B read that costs more than packing it. */
static bool dot_a_collides(const halo_dot_desc *v, const halo_panels *b) {
  enum { STEPS = 256, PANELS = 4 };
  return halo_dot_steps_collide(v, &v->lhs) && v->k >= STEPS && v->n >= PANELS * b->nr;
}

/* A may be read in place: memory holds just the accumulator's type, in plain strides. */
static bool dot_a_in_place(const halo_dot_desc *v, const halo_panels *b) {
  halo_type type = v->made_real ? v->result : v->accumulator;
  return v->lhs.is_parameter && v->lhs.operand->shape->type == type && v->lhs.batch.stride >= 0 &&
         v->lhs.free.stride >= 0 && v->lhs.contract.stride >= 0 && !dot_a_collides(v, b);
}

/* B may be read in place: whole panels of neighbouring columns, which are read for few rows of A, or have
 * few enough rows, at distances that do not all fall on the same places of the caches. */
static bool dot_b_in_place(const halo_dot_desc *v, const halo_panels *b) {
  int64_t row = v->rhs.contract.stride * (int64_t)halo_type_size(v->accumulator);
  return v->rhs.is_parameter && v->rhs.operand->shape->type == v->accumulator &&
         v->rhs.batch.stride >= 0 && v->rhs.free.stride == 1 && row > 0 && v->n % b->nr == 0 &&
         (v->m <= 3 * b->mr ||
          (row * v->k <= 2 << 20 && (!halo_dot_steps_collide(v, &v->rhs) || v->k <= 256)));
}

static bool dot_panels_supports(const halo_lowering *l, const char **why) {
  const halo_dot_desc *v = dot_real_desc(l);
  return dot_is_plain(v, why);
}

/* Seconds to pack `elements` that take so many bytes each. */
static double dot_pack_cost(const halo_prices *p, double elements, double bytes) {
  return p->dot_panels_start + elements * bytes / p->bandwidth;
}

static double dot_panels_cost(const halo_lowering *l) {
  const halo_prices *p = halo_lowering_prices(l);
  const halo_dot_desc *v = dot_real_desc(l);
  halo_panels b = dot_panels_choose(l, v);
  double m = (double)halo_panels_round_up(v->m, b.mr), n = (double)halo_panels_round_up(v->n, b.nr);
  double batch = (double)v->batch, k = (double)v->k;
  double each = k * p->dot_panels / b.w + p->dot_panels_store;
  double cost =
      p->dot_panels_start + halo_lowering_operations(l, batch * m * n * each, batch * m * n);
  if (!dot_b_in_place(v, &b)) cost += dot_pack_cost(p, batch * n * k, p->dot_pack_b);
  if (!dot_a_in_place(v, &b)) cost += dot_pack_cost(p, batch * m * k, p->dot_pack_a);
  return cost;
}

static double dot_loop_cost(const halo_lowering *l) {
  const halo_dot_desc *v = dot_desc(l);
  const halo_prices *p = halo_lowering_prices(l);
  double results = (double)v->batch * (double)v->m * (double)v->n;
  return p->dot_loop_start +
         halo_lowering_operations(l, p->product_loop * dot_products(v), results);
}

/* A in panels of so many rows; rows that lie in memory one by one stay rows. */
static int dot_a_panel(const halo_dot_desc *v, const halo_panels *b) {
  return v->lhs.contract.stride == 1 ? 1 : b->mr;
}

/* Columns of a product that one launch computes; `all`: there is one launch. */
typedef struct dot_columns {
  int64_t first, count;
  bool all;
} dot_columns;

/* One packing kernel, and its scratch, where it has none yet. */
static halo_status dot_pack(halo_lowering *l, const halo_dot_desc *v, bool rhs,
                            const halo_panels *b, dot_columns columns, const char *name,
                            int32_t *scratch) {
  const halo_dot_side *side = rhs ? &v->rhs : &v->lhs;
  halo_panels_pack pack = {.type = v->accumulator,
                           .batch = v->batch,
                           .lines = rhs ? columns.count : v->m,
                           .in_stretches = rhs && !columns.all,
                           .first = rhs ? columns.first : 0,
                           .k = v->k,
                           .panel = rhs ? b->nr : dot_a_panel(v, b),
                           .group = b->group,
                           .biased = b->biased && !rhs,
                           .k_fast = side->contract.stride == 1 && side->free.stride != 1};
  if (*scratch < 0) {
    *scratch = l->scratch.count;
    int64_t size = (int64_t)halo_type_size(v->accumulator);
    halo_vec_push(&l->scratch, (halo_scratch){halo_panels_pack_size(&pack) * size});
  }
  dot_text t;
  dot_begin(&t, l, v, name);
  bool whole = halo_type_is_integral(v->accumulator);
  pack.shared = halo_dot_is_strided(side) && (b->group == 1 || !whole) && !v->made_real;
  if (pack.shared) {
    dot_strided_element(&t, rhs);
  } else {
    dot_element(&t, rhs, "_in");
  }
  HALO_TRY(halo_panels_pack_lower(&t.helpers, &pack, *scratch,
                                  rhs ? "dot:panels pack B" : "dot:panels pack A"));
  l->launches.data[l->launches.count - 1].own_unit = true;
  return HALO_OK;
}

/* Where the kernel finds its operands: scratch numbers of packed ones, -1 for in place. */
typedef struct dot_places {
  int32_t a, b;
} dot_places;

static const char *dot_place_arg(dot_text *t, const halo_dot_side *side, int32_t scratch) {
  halo_role role = scratch < 0 ? HALO_ROLE_INPUT : HALO_ROLE_SCRATCH;
  int32_t number = scratch < 0 ? (int32_t)side->operand->parameter_number : scratch;
  return halo_emit_arg(&t->helpers.e, role, number, t->v.accumulator, NULL);
}

/* Where rows of A and panels of B lie: the texts of distances. */
typedef struct dot_distances {
  const char *steps;                     /* how many steps a sum takes */
  const char *a_batch, *a_line, *a_step; /* from batch to batch, row to row, step to step; */
  const char *a_panel;                   /* from row panel to row panel, */
  bool a_bare;                           /* where there are but A's own rows */
  bool shared;                           /* they are arguments: of products of all sizes */
  const char *b_batch, *b_panel, *b_step;
} dot_distances;

static dot_distances dot_panels_distances(dot_text *t, const halo_panels *b, dot_places places,
                                          bool shared) {
  const halo_dot_desc *v = &t->v;
  const halo_dot_side *lhs = &v->lhs, *rhs = &v->rhs;
  halo_arena *arena = t->helpers.l->arena;
  int64_t steps = halo_panels_steps(b->group, v->k);
  int64_t batch = lhs->batch.stride, line = lhs->free.stride, step = lhs->contract.stride;
  dot_distances d = {
      .steps = halo_panels_number(&t->helpers, shared, steps), .a_bare = true, .shared = shared};
  if (places.a >= 0) {
    int panel = dot_a_panel(v, b);
    batch = halo_panels_round_up(v->m, panel) * steps;
    line = panel == 1 ? steps : 1;
    step = panel;
    d.a_bare = panel == 1;
  }
  bool near = places.a >= 0 || step == 1;
  d.a_batch = halo_panels_number(&t->helpers, shared, batch);
  d.a_line = halo_panels_number(&t->helpers, shared && d.a_bare, line);
  d.a_step = halo_panels_number(&t->helpers, shared && !near, step);
  d.a_panel = halo_arena_printf(arena, "%d * %s", b->mr, d.a_bare ? d.a_line : d.steps);
  bool in_place = places.b < 0;
  d.b_batch =
      halo_panels_number(&t->helpers, shared,
                         in_place ? rhs->batch.stride : halo_panels_round_up(v->n, b->nr) * steps);
  d.b_step =
      halo_panels_number(&t->helpers, shared && in_place, in_place ? rhs->contract.stride : b->nr);
  d.b_panel = in_place ? halo_arena_printf(arena, "%d", b->nr)
                       : halo_arena_printf(arena, "(%d * %s)", b->nr, d.steps);
  return d;
}

static void dot_panels_places(dot_text *t, halo_template *k, const halo_panels *b,
                              const dot_distances *d) {
  const char *type = t->helpers.itype;
  /* Rows beyond the last must not be read. */
  const char *row =
      d->a_bare ? halo_arena_printf(t->helpers.l->arena, "((p) * %d + (i) < H_M ? (i) : 0)", b->mr)
                : "(i)";
  halo_helpers_hole(&t->helpers, k, "H_ROW(b, p, i)", "((b) * (%s)%s + (p) * (%s)%s + %s * (%s)%s)",
                    type, d->a_batch, type, d->a_panel, row, type, d->a_line);
  /* Terms of floats that are added up before they are added to the rest, so that long sums keep their digits. */
  enum { STRETCH = 256 };
  bool cut = halo_type_is_float(t->v.accumulator) && (d->shared || t->v.k > STRETCH);
  halo_template_define_int(k, "H_STRETCH", cut ? STRETCH / b->group : 0);
  if (cut) halo_helpers_hole(&t->helpers, k, "H_STEPS", "%s", d->steps);
  halo_helpers_hole(&t->helpers, k, "H_LOOPS", "for (%s k = %s; k < %s; ++k)", type,
                    cut ? "k_begin" : "0", cut ? "k_end" : d->steps);
  halo_helpers_hole(&t->helpers, k, "H_KA", "k * (%s)%s", type, d->a_step);
  halo_helpers_hole(&t->helpers, k, "H_KB", "k * (%s)%s", type, d->b_step);
  halo_helpers_hole(&t->helpers, k, "H_BBATCH", "%s", d->b_batch);
  halo_helpers_hole(&t->helpers, k, "H_BPANEL", "%s", d->b_panel);
}

/* The product's kernel. Of products that nothing is fused with it is the same for all sizes: sizes are arguments. */
static halo_status dot_panels_kernel(halo_lowering *l, const halo_dot_desc *v, const halo_panels *b,
                                     dot_columns columns, const char *name, dot_places places) {
  dot_text t;
  dot_begin(&t, l, v, name);
  bool whole = dot_is_plain_rows(&t);
  halo_panels_sizes sizes = {.rows = v->m,
                             .columns = v->n,
                             .batch = v->batch,
                             .cuts = 1,
                             .k = v->k,
                             .shared = whole,
                             .stretch = columns.all ? 0 : columns.count,
                             .first = columns.first};
  halo_panels_begin(&t.helpers, b, &sizes);
  dot_distances distances = dot_panels_distances(&t, b, places, whole);
  bool split = !whole && halo_helpers_can_split(l, v->dot->shape);
  if (whole) {
    dot_store_plain(&t, sizes.rows_text, sizes.columns_text);
  } else if (split) {
    dot_store_split(&t);
  } else {
    dot_store(&t);
  }
  const char *pa = dot_place_arg(&t, &v->lhs, places.a);
  const char *pb = dot_place_arg(&t, &v->rhs, places.b);
  halo_template k;
  halo_panels_template(
      &t.helpers, &k, b, v->accumulator, &sizes,
      halo_arena_printf(l->arena, "  __global const %s *PA = %s, *PB = %s;", t.type, pa, pb));
  dot_panels_places(&t, &k, b, &distances);
  halo_panels_result(&t.helpers, &k, split);
  halo_template_define_int(&k, "H_VECTORS", whole);
  if (whole) {
    halo_helpers_hole(&t.helpers, &k, "H_OUTV(b, x, y, v)",
                      "vstore%d(v, 0, %s + ((b) * %s + (x)) * %s + (y))", b->w, dot_plain_arg(&t),
                      sizes.rows_text, sizes.columns_text);
  }
  halo_helpers_finish(&t.helpers, &k);
  halo_panels_launch(&t.helpers, "dot:panels", b, &sizes);
  l->launches.data[l->launches.count - 1].own_unit = true;
  HALO_TRY(halo_helpers_end(&t.helpers));
  HALO_TRY(dot_finish(&t));
  l->launches.data[l->launches.count - 1].own_unit = true;
  return HALO_OK;
}

static halo_status dot_panels_lower(halo_lowering *l) {
  const halo_dot_desc *v = dot_real_desc(l);
  halo_panels b = dot_panels_choose(l, v);
  const char *name = halo_kernel_name(l, "panels");
  const char *pack_a = halo_arena_printf(l->arena, "%s_packa", name);
  const char *pack_b = halo_arena_printf(l->arena, "%s_packb", name);
  dot_places places = {-1, -1};
  bool packs_b = !dot_b_in_place(v, &b);
  int64_t stretch = v->n;
  if (packs_b && v->batch == 1 && !v->made_real) {
    int64_t size = (int64_t)halo_type_size(v->accumulator);
    stretch = halo_panels_stretch(l, &b, v->m, v->n, size * halo_panels_steps(b.group, v->k));
  }
  for (int64_t first = 0; first < v->n; first += stretch) {
    dot_columns columns = {first, v->n - first < stretch ? v->n - first : stretch, stretch == v->n};
    if (packs_b) HALO_TRY(dot_pack(l, v, true, &b, columns, pack_b, &places.b));
    if (first == 0 && !dot_a_in_place(v, &b)) {
      HALO_TRY(dot_pack(l, v, false, &b, columns, pack_a, &places.a));
    }
    HALO_TRY(dot_panels_kernel(l, v, &b, columns, name, places));
  }
  return HALO_OK;
}

/* ---- Tiles ---- */

static bool dot_tile_supports(const halo_lowering *l, const char **why) {
  const halo_dot_desc *v = dot_real_desc(l);
  return dot_is_plain(v, why) && halo_tile_fits(l, v->accumulator, why);
}

/* Results that are neighbours in memory are computed side by side: columns, or, of a result whose memory has its rows' index
 * fastest, rows. */
static bool dot_tile_turned(const halo_dot_desc *v) {
  halo_dot_strides strides = halo_dot_result_strides(v);
  return !v->made_real && strides.row == 1 && strides.column != 1;
}

static halo_tile_product dot_tile_product(const halo_dot_desc *v) {
  bool turned = dot_tile_turned(v);
  return (halo_tile_product){.type = v->accumulator,
                             .count = v->batch,
                             .rows = turned ? v->n : v->m,
                             .columns = turned ? v->m : v->n,
                             .terms = v->k,
                             .whole = v->made_real};
}

static double dot_tile_cost(const halo_lowering *l) {
  halo_tile_product p = dot_tile_product(dot_real_desc(l));
  return halo_lowering_prices(l)->dot_tile_start + halo_tile_price(l, &p);
}

/* "inline int name_at(..., b, x, y)": where a result lies in its memory. */
static void dot_emit_at(dot_text *t) {
  halo_emitter *e = &t->helpers.e;
  halo_helpers_open(&t->helpers);
  const halo_integer *at = halo_index_position(e, dot_result_index(t), t->v.dot->shape);
  halo_emit_line(e, "return %s;", halo_emit_integer(e, at));
  halo_helpers_close(&t->helpers, t->helpers.itype, "_at", "b, x, y", NULL);
}

/* A side's helpers. Neighbours are read as vectors where the operand is an array that has them side by side, in whole vectors. */
static halo_tile_side dot_tile_side(dot_text *t, bool rhs) {
  const halo_dot_desc *v = &t->v;
  const halo_dot_side *side = rhs ? &v->rhs : &v->lhs;
  halo_tile_side s = {.suffix = rhs ? "_b" : "_a", .k_fast = side->contract.stride == 1};
  dot_element(t, rhs, s.suffix);
  int vector = halo_tile_vector(v->accumulator);
  const halo_dot_group *near = s.k_fast ? &side->contract : &side->free;
  const halo_dot_group *far = s.k_fast ? &side->free : &side->contract;
  bool whole =
      near->size % vector == 0 && far->stride % vector == 0 && side->batch.stride % vector == 0;
  if (v->made_real || !halo_dot_is_strided(side) || near->stride != 1 || !whole) return s;
  s.vector_suffix = rhs ? "_bv" : "_av";
  dot_vector(t, rhs, s.k_fast, vector, s.vector_suffix);
  return s;
}

/* Helpers for results. Gives the name of the one for vectors, or NULL. */
static const char *dot_tile_store(dot_text *t, bool turned) {
  const halo_dot_desc *v = &t->v;
  if (v->made_real && dot_is_plain_rows(t)) {
    dot_store_plain(t, halo_arena_printf(t->helpers.l->arena, "%lld", (long long)v->m),
                    halo_arena_printf(t->helpers.l->arena, "%lld", (long long)v->n));
    return NULL;
  }
  dot_store(t);
  if (v->made_real || !dot_can_store_vector(t, turned)) return NULL;
  dot_store_vector(t, turned);
  return "_outv";
}

static halo_status dot_tile_lower(halo_lowering *l) {
  const halo_dot_desc *v = dot_real_desc(l);
  halo_tile_product p = dot_tile_product(v);
  halo_tile tile = halo_tile_choose(l, &p);
  bool turned = dot_tile_turned(v);
  dot_text t;
  dot_begin(&t, l, v, halo_kernel_name(l, "tile"));
  halo_tile_side a = dot_tile_side(&t, false), b = dot_tile_side(&t, true);
  int64_t elements = halo_shape_element_count(v->dot->shape);
  int32_t scratch = l->scratch.count;
  const char *partial = NULL, *vector_suffix = NULL;
  if (tile.parts > 1) {
    dot_emit_at(&t);
    partial = halo_panels_parts_scratch(&t.helpers, v->accumulator, tile.parts * elements);
  } else {
    vector_suffix = dot_tile_store(&t, turned);
  }
  halo_template k;
  halo_tile_template(&t.helpers, &k, &tile, &p, turned ? b : a, turned ? a : b);
  if (tile.parts > 1) {
    halo_dot_strides strides = halo_dot_result_strides(v);
    bool vectors = (turned ? strides.row : strides.column) == 1;
    halo_tile_partial_results(&t.helpers, &k, &p, turned, partial, elements, vectors);
  } else {
    halo_tile_results(&t.helpers, &k, &p, turned, "_out", vector_suffix);
  }
  halo_tile_launch(&t.helpers, &k, &tile, &p, "dot:tile");
  HALO_TRY(halo_helpers_end(&t.helpers));
  if (tile.parts > 1) {
    return halo_panels_finish(l, v->dot, v->accumulator, scratch, tile.parts, "dot:finish");
  }
  return dot_finish(&t);
}

/* ---- CLBlast ---- */

/* A matrix that BLAS can name: unit stride along one of its two directions. */
static bool dot_blas_matrix(const halo_dot_side *side, halo_type type, bool rhs, bool *transpose,
                            int64_t *ld, int64_t *batch_stride) {
  if (!side->is_parameter || side->operand->shape->type != type) return false;
  int64_t f = side->free.stride, c = side->contract.stride;
  if (f < 0 || c < 0 || side->batch.stride < 0) return false;
  /* A stride of 0 belongs to an extent of 1, where any other does as well. */
  int64_t row = rhs ? c : f, column = rhs ? f : c;
  int64_t columns = rhs ? side->free.size : side->contract.size;
  int64_t rows = rhs ? side->contract.size : side->free.size;
  *batch_stride = side->batch.stride;
  *transpose = !(column == 1 || columns == 1);
  *ld = *transpose ? (columns > 1 ? column : rows) : (rows > 1 ? row : columns);
  if (*transpose && !(row == 1 || rows == 1)) return false;
  return *ld >= (*transpose ? rows : columns);
}

static bool dot_blas_describe(const halo_lowering *l, halo_gemm *g, const char **why) {
  const halo_dot_desc *v = dot_desc(l);
  if (!dot_is_plain(v, why)) return false;
  *why = "the type is neither f32 nor f64";
  if (v->result != HALO_F32 && v->result != HALO_F64) return false;
  *why = "the result is not row-major";
  if (!halo_shape_has_default_layout(v->dot->shape)) return false;
  *g = (halo_gemm){.type = v->result,
                   .m = v->m,
                   .n = v->n,
                   .k = v->k,
                   .batch = v->batch,
                   .ldc = v->n,
                   .stride_c = v->m * v->n};
  *why = "an operand is not a plain matrix in memory";
  if (!dot_blas_matrix(&v->lhs, v->result, false, &g->transpose_a, &g->lda, &g->stride_a) ||
      !dot_blas_matrix(&v->rhs, v->result, true, &g->transpose_b, &g->ldb, &g->stride_b))
    return false;
  return true;
}

static bool dot_clblast_works_on(const halo_caps *caps, const char **why) {
  *why = "CLBlast computes wrong products on it";
  if (halo_caps_clblast_is_wrong(caps)) return false;
  *why = "CLBlast's kernels need work groups of 64";
  return caps->max_work_group >= 64 && halo_gemm_available(why);
}

static bool dot_clblast_supports(const halo_lowering *l, const char **why) {
  halo_gemm g;
  return dot_blas_describe(l, &g, why);
}

static double dot_clblast_cost(const halo_lowering *l) {
  const halo_dot_desc *v = dot_desc(l);
  const halo_prices *p = halo_lowering_prices(l);
  double results = (double)v->batch * (double)v->m * (double)v->n;
  return p->dot_clblast_start +
         halo_lowering_operations(l, p->dot_clblast * dot_products(v), results);
}

static halo_status dot_clblast_lower(halo_lowering *l) {
  const halo_dot_desc *v = dot_desc(l);
  halo_gemm *g = halo_arena_new(l->arena, halo_gemm);
  const char *why;
  dot_blas_describe(l, g, &why);
  halo_kernel_arg *args = halo_arena_array(l->arena, halo_kernel_arg, 3);
  args[0] = (halo_kernel_arg){
      .role = HALO_ROLE_INPUT, .index = (int32_t)v->lhs.operand->parameter_number, .type = g->type};
  args[1] = (halo_kernel_arg){
      .role = HALO_ROLE_INPUT, .index = (int32_t)v->rhs.operand->parameter_number, .type = g->type};
  bool finished = v->dot == halo_lowering_root(l);
  args[2] =
      (halo_kernel_arg){.role = finished ? HALO_ROLE_OUTPUT : HALO_ROLE_SCRATCH, .type = g->type};
  halo_launch launch = {.label = halo_arena_printf(l->arena, "%s dot:clblast", l->name),
                        .args = args,
                        .arg_count = 3,
                        .gemm = g};
  halo_vec_push(&l->launches, launch);
  if (finished) return HALO_OK;
  halo_vec_push(&l->scratch, (halo_scratch){halo_shape_byte_size(v->dot->shape)});
  return halo_panels_finish(l, v->dot, v->result, 0, 1, "dot:finish");
}

static const halo_implementation dot_implementations[] = {
    {"panels", dot_panels_supports, dot_panels_cost, dot_panels_lower,
     .works_on = halo_kernels_on_cpus, .one_launch = true},
    {"tile", dot_tile_supports, dot_tile_cost, dot_tile_lower, .works_on = halo_tile_works_on,
     .in_groups = true, .one_launch = true},
    {"clblast", dot_clblast_supports, dot_clblast_cost, dot_clblast_lower,
     .works_on = dot_clblast_works_on, .in_groups = true, .one_launch = true},
    {"loop", halo_loop_supports, dot_loop_cost, halo_loop_lower, .one_launch = true},
    {0}};
const halo_family halo_family_dot = {"dot", HALO_OP_DOT, dot_implementations, dot_describe};
