/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/dot/tile.c: products in tiles of local memory: shapes of tiles, their prices, and what all instances have. */
#include "kernels/dot/tile.h"

#include "codegen/ctype.h"
#include "kernels/dot/panels.h"

extern const char halo_cl_gemm_tile[];

/* Larger tiles read less and large blocks of an item need fewer instructions; small ones fill a device with a small product and
 * waste less of a narrow one. */
static const halo_tile_shape tile_shapes[] = {
    {128, 128, 8, 8, 8, 1.12}, {128, 64, 8, 8, 8, 1.14}, {64, 128, 8, 8, 8, 1.14},
    {64, 64, 8, 8, 8, 1.16},   {64, 64, 4, 4, 8, 1.38},  {32, 64, 4, 4, 8, 1.36},
    {64, 32, 4, 4, 8, 1.36},   {32, 32, 4, 4, 16, 1.34}, {16, 128, 4, 4, 8, 1.41},
    {128, 16, 4, 4, 8, 1.41},
};
enum { TILE_SHAPES = sizeof tile_shapes / sizeof tile_shapes[0] };
/* Rows of tiles that groups go through column by column, so that those at work at once read the same parts of both operands. */
enum { TILE_BAND = 8 };

static int tile_items(const halo_tile_shape *s) {
  return s->rows / s->item_rows * (s->columns / s->item_columns);
}

int halo_tile_vector(halo_type type) { return 16 / (int)halo_ctype_size(type); }

/* Elements of local memory: two buffers for both operands. */
static int64_t tile_local(const halo_tile_shape *s, halo_type type) {
  return 2 * (int64_t)s->step * (s->rows + s->columns + 2 * halo_tile_vector(type));
}

/* CPUs, which have better implementations, take one shape only. */
static bool tile_can(const halo_caps *caps, const halo_tile_shape *s, halo_type type) {
  enum { REGISTERS = 256 }; /* bytes of results of a work item */
  size_t size = halo_ctype_size(type);
  uint64_t items = (uint64_t)tile_items(s);
  bool square = s->rows == 64 && s->columns == 64 && s->item_rows == 4;
  return (square || !caps->is_cpu) && items <= halo_caps_largest_group(caps) &&
         (uint64_t)tile_local(s, type) * size <= caps->local_memory &&
         (size_t)(s->item_rows * s->item_columns) * size <= REGISTERS;
}

bool halo_tile_works_on(const halo_caps *caps, const char **why) {
  *why = "work groups of 64 do not fit the device";
  return halo_caps_largest_group(caps) >= 64;
}

bool halo_tile_fits(const halo_lowering *l, halo_type type, const char **why) {
  for (int i = 0; i < TILE_SHAPES; i++) {
    if (tile_can(l->caps, &tile_shapes[i], type)) return true;
  }
  *why = "the device has too little local memory";
  return false;
}

/* Multiprocessors, of 128 lanes that do an operation in eight cycles each, as prices have it. */
static double tile_units(const halo_lowering *l) {
  enum { UNIT_ITEMS = 1024 };
  const halo_prices *p = halo_lowering_prices(l);
  double units = p->rate / p->item_rate / UNIT_ITEMS;
  return units > 1 ? units : 1;
}

/* Tiles of so many products. */
static int64_t tile_count(const halo_tile_shape *s, const halo_tile_product *p, int64_t products) {
  return products * ((p->rows + s->rows - 1) / s->rows) *
         ((p->columns + s->columns - 1) / s->columns);
}

/* Seconds of the launch. Groups go to multiprocessors in turns: what the last turn leaves idle is lost. An item's FMAs do not wait
 * for each other, so that few items keep a multiprocessor busy. What tiles read comes from a cache, which is taken to be three times as
 * fast as memory; each step waits for it, with two groups at a time. */
static double tile_seconds(const halo_lowering *l, const halo_tile_shape *s,
                           const halo_tile_product *p, int64_t parts, int64_t share) {
  enum { AT_ONCE = 8, CACHE = 3 };
  static const double WAIT = 8e-7; /* for a global read and a barrier */
  double groups = (double)(tile_count(s, p, p->count) * parts), units = tile_units(l);
  double turns = groups <= units ? 1 : groups / units;
  if (turns < 8) turns = (double)(int64_t)(turns + 0.999);
  double terms = (double)(parts > 1 ? share : halo_panels_round_up(p->terms, s->step));
  double products = turns * units * (double)s->rows * s->columns * terms;
  double items = turns * units * AT_ONCE * tile_items(s);
  double work = halo_lowering_operations(l, s->slots * products, items);
  double bytes = groups * terms * (s->rows + s->columns) * (double)halo_ctype_size(p->type);
  double reading = bytes / CACHE / halo_lowering_prices(l)->bandwidth;
  double waiting = (turns > 2 ? turns / 2 : 1) * terms / s->step * WAIT;
  double most = work > reading ? work : reading;
  return l->caps->is_cpu || most > waiting ? most : waiting;
}

/* The best division of the terms. */
static halo_tile tile_of_shape(const halo_lowering *l, const halo_tile_shape *s,
                               const halo_tile_product *p) {
  enum { LEAST = 256 };
  const halo_prices *prices = halo_lowering_prices(l);
  double results = (double)p->count * (double)p->rows * (double)p->columns;
  int64_t tiles = tile_count(s, p, p->count);
  halo_tile best = {.shape = *s, .parts = 1, .share = p->terms};
  best.seconds = tile_seconds(l, s, p, 1, p->terms);
  if (p->whole) return best;
  for (int64_t want = 2; want * LEAST <= p->terms && (double)(want * tiles) <= prices->split_groups;
       want *= 2) {
    int64_t share = halo_panels_round_up((p->terms + want - 1) / want, s->step);
    int64_t parts = (p->terms + share - 1) / share;
    double seconds = tile_seconds(l, s, p, parts, share) +
                     halo_panels_finish_seconds(l, p->type, parts, results);
    if (parts > 1 && seconds < best.seconds) best = (halo_tile){*s, parts, share, seconds};
  }
  return best;
}

halo_tile halo_tile_choose(const halo_lowering *l, const halo_tile_product *p) {
  halo_tile best = {.parts = 0};
  for (int i = 0; i < TILE_SHAPES; i++) {
    if (!tile_can(l->caps, &tile_shapes[i], p->type)) continue;
    halo_tile tile = tile_of_shape(l, &tile_shapes[i], p);
    if (best.parts == 0 || tile.seconds < best.seconds) best = tile;
  }
  return best;
}

double halo_tile_price(const halo_lowering *l, const halo_tile_product *p) {
  const double SMALL =
      l->caps->is_cpu ? 1 : 1.6; /* a multiplication in small tiles by one in large ones */
  halo_tile tile = halo_tile_choose(l, p);
  double results = (double)p->count * (double)halo_panels_round_up(p->rows, 64) *
                   (double)halo_panels_round_up(p->columns, 64);
  double work = SMALL * halo_lowering_prices(l)->product_tile * results *
                (double)halo_panels_round_up(p->terms, 16);
  double seconds = halo_lowering_operations(l, work, results / 16 * (double)tile.parts);
  if (tile.parts == 1) return seconds;
  return seconds + halo_panels_finish_seconds(l, p->type, tile.parts, results);
}

/* The holes of a side: `line` is what its place outside of k is called. */
static void tile_side(halo_helpers *helpers, halo_template *k, const char *side, const char *get,
                      const char *parameters, const char *line, int vector, halo_tile_side s) {
  halo_arena *arena = helpers->l->arena;
  const char *arguments = helpers->texts.arguments;
  halo_helpers_hole(helpers, k, halo_arena_printf(arena, "%s%s", get, parameters),
                    "%s%s(%s, b, %s, k)", helpers->name, s.suffix, arguments, line);
  if (s.vector_suffix) {
    halo_helpers_hole(helpers, k, halo_arena_printf(arena, "%sV%s", get, parameters),
                      "%s%s(%s, b, %s, k)", helpers->name, s.vector_suffix, arguments, line);
  }
  halo_template_define_int(k, halo_arena_printf(arena, "H_%sFAST", side), s.k_fast);
  halo_template_define_int(k, halo_arena_printf(arena, "H_%sW", side),
                           s.vector_suffix ? vector : 1);
}

void halo_tile_template(halo_helpers *helpers, halo_template *k, const halo_tile *tile,
                        const halo_tile_product *p, halo_tile_side a, halo_tile_side b) {
  const halo_tile_shape *s = &tile->shape;
  const char *type = halo_ctype_compute(p->type);
  int vector = halo_tile_vector(p->type);
  halo_helpers_template(helpers, k, halo_cl_gemm_tile, "");
  halo_helpers_hole(helpers, k, "H_T", "%s", type);
  halo_helpers_hole(helpers, k, "H_WIDE_T", "%s%d", type, vector);
  halo_template_define_int(k, "H_WIDTH", vector);
  halo_helpers_hole(helpers, k, "H_FMA(a, b, c)", "((a) * (b) + (c))");
  tile_side(helpers, k, "A", "H_A", "(b, row, k)", "row", vector, a);
  tile_side(helpers, k, "B", "H_B", "(b, k, column)", "column", vector, b);
  const struct {
    const char *name;
    int64_t number;
  } numbers[] = {{"H_M", p->rows},         {"H_N", p->columns},       {"H_K", p->terms},
                 {"H_TM", s->rows},        {"H_TN", s->columns},      {"H_TK", s->step},
                 {"H_RM", s->item_rows},   {"H_RN", s->item_columns}, {"H_BAND", TILE_BAND},
                 {"H_PARTS", tile->parts}, {"H_SHARE", tile->share}};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    halo_template_define_int(k, numbers[i].name, (long long)numbers[i].number);
  }
}

/* "H_OUT(b, row, column, v)" and, for vectors, "H_OUTV(...)"; whether these can be used. */
static bool tile_vectors(halo_template *k, const halo_tile_product *p, bool vectors) {
  int vector = halo_tile_vector(p->type);
  vectors &= p->columns % vector == 0;
  halo_template_define_int(k, "H_OUTW", vectors ? vector : 1);
  return vectors;
}

void halo_tile_results(halo_helpers *helpers, halo_template *k, const halo_tile_product *p,
                       bool turned, const char *suffix, const char *vector_suffix) {
  const char *place = turned ? "column, row" : "row, column";
  if (tile_vectors(k, p, vector_suffix != NULL)) {
    halo_helpers_hole(helpers, k, "H_OUTV(b, row, column, v)", "%s%s(%s, b, %s, v)", helpers->name,
                      vector_suffix, helpers->texts.arguments, place);
  }
  halo_helpers_hole(helpers, k, "H_OUT(b, row, column, v)", "%s%s(%s, b, %s, v)", helpers->name,
                    suffix, helpers->texts.arguments, place);
}

void halo_tile_partial_results(halo_helpers *helpers, halo_template *k, const halo_tile_product *p,
                               bool turned, const char *scratch, int64_t elements, bool vectors) {
  const char *place =
      halo_arena_printf(helpers->l->arena, "%s + (part * (%s)%lld + %s_at(%s, b, %s))", scratch,
                        helpers->itype, (long long)elements, helpers->name,
                        helpers->texts.arguments, turned ? "column, row" : "row, column");
  if (tile_vectors(k, p, vectors)) {
    halo_helpers_hole(helpers, k, "H_OUTV(b, row, column, v)", "*(__global H_WIDE_T *)(%s) = (v)",
                      place);
  }
  halo_helpers_hole(helpers, k, "H_OUT(b, row, column, v)", "*(%s) = (v)", place);
}

void halo_tile_launch(halo_helpers *helpers, halo_template *k, const halo_tile *tile,
                      const halo_tile_product *p, const char *label) {
  const halo_tile_shape *s = &tile->shape;
  size_t size = halo_ctype_size(p->type), items = (size_t)tile_items(s);
  halo_kernel_group(helpers->l, items, 1);
  halo_kernel_local(helpers->l, tile_local(s, p->type), size);
  int registers = s->item_rows * s->item_columns + s->item_rows + s->item_columns;
  halo_kernel_private(helpers->l, registers, size);
  halo_helpers_finish(helpers, k);
  halo_launch *launch = halo_helpers_launch(helpers, label);
  launch->grid.dims = 3;
  launch->grid.global[0] = (size_t)tile_count(s, p, 1) * items;
  launch->grid.global[1] = 1;
  launch->grid.global[2] = (size_t)(p->count * tile->parts);
}
