/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/attention/attention.c: a product of queries and keys, the softmax of what is made of it, and the product of these
 * weights with values, in one kernel, which never writes the scores. attention:item has a work item for some queries,
 * in vectors, for CPUs; attention:tile a work group for a tile of queries, with keys and values in local memory. The
 * order of sums depends on shapes and the class of device alone, and on GPUs on the largest group and the local memory. */
#include "hlo/attention.h"

#include "codegen/ctype.h"
#include "kernels/dot/describe.h"
#include "kernels/families.h"
#include "kernels/helpers.h"

#include <string.h>

extern const char halo_cl_attention[], halo_cl_attention_tile[];

enum {
  ATTENTION_SUMS = 16,             /* vectors of sums in registers */
  ATTENTION_LEAST = 16,            /* and at least */
  ATTENTION_LONGEST = 1024,        /* elements of a query or a value, at most */
  ATTENTION_ALL_LOCAL = 64 * 1024, /* bytes of local memory of which a group takes half at most */
  ATTENTION_QUERIES = 4            /* of a work item of attention:tile */
};

/* The work of a group of attention:tile; attention_tile.cl says more. */
typedef struct attention_tile {
  int x, y;       /* work items: across keys and elements of values, and across queries */
  int block;      /* keys at a time */
  int deep, line; /* elements of a query or key: with what fills its vectors, and to the next one */
  int vector, units; /* neighbouring elements of a value for a work item; how often */
  int elements;      /* of keys or values in local memory */
} attention_tile;

typedef struct attention_text {
  halo_lowering *l;
  halo_attention_desc v;
  halo_dot_desc scores, product;
  halo_helpers helpers;
} attention_text;

static const halo_shape *attention_row_major(const attention_text *t, const halo_shape *shape) {
  return halo_shape_new(t->l->arena, shape->type, shape->rank, shape->dims);
}

static const halo_integer *attention_row(attention_text *t, const halo_integer *row) {
  halo_emitter *e = &t->helpers.e;
  int64_t groups = t->v.rows.outer / t->v.group;
  const halo_integer *group = halo_emit_counter(e, "b", groups);
  return halo_integer_add(&e->integers, halo_integer_mul(&e->integers, group, t->v.group), row);
}

/* Of a row of weights, the position among the dimensions of a part that they play in the second product. */
static const halo_integer *attention_part(attention_text *t, const halo_integer *row,
                                          const halo_dot_group *part) {
  halo_emitter *e = &t->helpers.e;
  const halo_shape *shape = t->product.dot->operands[t->v.weights]->shape;
  emit_index *index = halo_index_from_position(e, attention_row_major(t, shape),
                                               halo_integer_mul(&e->integers, row, t->v.rows.n));
  const halo_integer *at = halo_integer_constant(&e->integers, 0);
  for (int i = 0; i < part->count; i++) {
    at = halo_integer_mul(&e->integers, at, shape->dims[part->dims[i]]);
    at = halo_integer_add(&e->integers, at, halo_index_at(index, part->dims[i]));
  }
  return at;
}

/* ---- Helpers of the kernel ---- */

static void attention_emit_return(attention_text *t, halo_value value, const char *suffix,
                                  const char *indices, const char *with) {
  halo_emit_line(&t->helpers.e, "return %s;", value.text);
  halo_helpers_close(&t->helpers, "float", suffix, indices, with);
}

/* An element of a query (`keys` false) or of a key. */
static void attention_emit_read(attention_text *t, bool keys) {
  halo_emitter *e = &t->helpers.e;
  emit_frame *frame = halo_helpers_open(&t->helpers);
  const halo_integer *line = halo_emit_counter(e, "x", keys ? t->v.rows.n : t->v.group);
  halo_value value =
      halo_dot_element(e, frame, &t->scores, keys, halo_emit_counter(e, "b", t->scores.batch), line,
                       halo_emit_counter(e, "k", t->v.depth));
  attention_emit_return(t, value, keys ? "_key" : "_query", "b, x, k", NULL);
}

static void attention_emit_value(attention_text *t) {
  halo_emitter *e = &t->helpers.e;
  emit_frame *frame = halo_helpers_open(&t->helpers);
  const halo_dot_side *weights = t->v.weights ? &t->product.rhs : &t->product.lhs;
  const halo_integer *first = attention_row(t, halo_integer_constant(&e->integers, 0));
  halo_value value = halo_dot_element(
      e, frame, &t->product, !t->v.weights, attention_part(t, first, &weights->batch),
      halo_emit_counter(e, "k", t->v.width), halo_emit_counter(e, "x", t->v.rows.n));
  attention_emit_return(t, value, "_value", "b, x, k", NULL);
}

/* What is made of a score. */
static void attention_emit_logit(attention_text *t) {
  halo_emitter *e = &t->helpers.e;
  emit_frame *frame = halo_helpers_open(&t->helpers);
  halo_value score = halo_emit_convert(e, halo_value_name(HALO_F32, "v"), t->scores.result);
  halo_frame_bind(e, frame, t->v.scores, 0, score);
  const halo_integer *row = attention_row(t, halo_emit_counter(e, "r", t->v.group));
  const halo_integer *at =
      halo_integer_add(&e->integers, halo_integer_mul(&e->integers, row, t->v.rows.n),
                       halo_emit_counter(e, "x", t->v.rows.n));
  emit_index *index = halo_index_from_position(e, attention_row_major(t, t->v.logits->shape), at);
  halo_value value = halo_emit_value(e, frame, t->v.logits, 0, index);
  attention_emit_return(t, value, "_logit", "b, r, x", "float");
}

static void attention_emit_exponential(attention_text *t) {
  halo_emitter *e = &t->helpers.e;
  emit_frame *frame = halo_helpers_open(&t->helpers);
  const halo_instr *operand = t->v.exponential->operands[0];
  halo_frame_bind(e, frame, operand, 0, halo_value_name(operand->shape->type, "v"));
  e->keep_f32 = true; /* weights are rounded to no narrower type */
  emit_index *index = halo_index_from_position(e, attention_row_major(t, t->v.exponential->shape),
                                               halo_integer_constant(&e->integers, 0));
  halo_value value = halo_emit_value(e, frame, t->v.exponential, 0, index);
  e->keep_f32 = false;
  attention_emit_return(t, value, "_exp", "x", "float");
}

/* The index of the result's element that one of a product's becomes. */
static emit_index *attention_move(attention_text *t, const halo_instr *to, emit_index *index) {
  halo_emitter *e = &t->helpers.e;
  if (to == t->v.product) return index;
  const halo_instr *from = to->operands[0];
  index = attention_move(t, from, index);
  if (to->opcode == HALO_OP_RESHAPE) {
    const halo_integer *at = halo_index_position(e, index, attention_row_major(t, from->shape));
    return halo_index_from_position(e, attention_row_major(t, to->shape), at);
  }
  int32_t rank;
  const int64_t *dims = halo_instr_ints(to, HALO_ATTR_DIMENSIONS, &rank);
  const halo_integer *at[HALO_MAX_RANK];
  for (int32_t d = 0; d < rank; d++) at[d] = halo_index_at(index, (int)dims[d]);
  return halo_index_of(e, rank, to->shape->dims, at);
}

static void attention_emit_out(attention_text *t) {
  halo_emitter *e = &t->helpers.e;
  halo_helpers_open(&t->helpers);
  const halo_instr *root = t->l->computation->root;
  const halo_dot_side *weights = t->v.weights ? &t->product.rhs : &t->product.lhs;
  const halo_integer *row = attention_row(t, halo_emit_counter(e, "r", t->v.group));
  const halo_integer *batch = attention_part(t, row, &weights->batch);
  const halo_integer *line = attention_part(t, row, &weights->free);
  const halo_integer *element = halo_emit_counter(e, "k", t->v.width);
  emit_index *index = halo_dot_result_index(e, &t->product, batch, t->v.weights ? element : line,
                                            t->v.weights ? line : element);
  index = attention_move(t, root, index);
  halo_value value = halo_emit_convert(e, halo_value_name(HALO_F32, "v"), t->product.result);
  halo_emit_store(e, halo_emit_arg(e, HALO_ROLE_OUTPUT, 0, root->shape->type, NULL),
                  halo_index_position(e, index, root->shape), value);
  halo_helpers_close(&t->helpers, "void", "_out", "b, r, k", "float");
}

/* ---- Kernels ---- */

/* Writes the helpers and begins the kernel. */
static void attention_begin(attention_text *t, halo_template *k, const char *text, bool wide) {
  halo_helpers *helpers = &t->helpers;
  t->v = *(const halo_attention_desc *)t->l->desc;
  halo_dot_describe(t->v.scores, &t->scores);
  halo_dot_describe(t->v.product, &t->product);
  halo_helpers_begin(helpers, t->l, halo_kernel_name(t->l, "attention"), wide);
  attention_emit_read(t, false);
  attention_emit_read(t, true);
  attention_emit_value(t);
  attention_emit_logit(t);
  attention_emit_exponential(t);
  attention_emit_out(t);
  halo_helpers_template(helpers, k, text, "");
  halo_helpers_call(helpers, k, "H_Q", "_query", "b, r, k");
  halo_helpers_call(helpers, k, "H_K", "_key", "b, j, k");
  halo_helpers_call(helpers, k, "H_V", "_value", "b, j, d");
  halo_helpers_call(helpers, k, "H_LOGIT", "_logit", "b, r, j, v");
  halo_helpers_hole(helpers, k, "H_EXP(v)", "%s_exp(%s, 0, v)", helpers->name,
                    helpers->texts.arguments);
  halo_helpers_call(helpers, k, "H_OUT", "_out", "b, r, d, v");
  halo_template_define_int(k, "H_GROUPS", t->v.rows.outer / t->v.group);
  halo_template_define_int(k, "H_M", t->v.group);
  halo_template_define_int(k, "H_N", t->v.rows.n);
  halo_template_define_int(k, "H_DEPTH", t->v.depth);
  halo_template_define_int(k, "H_WIDTH", t->v.width);
  halo_template_define_int(k, "H_CAUSAL", t->v.behind != NULL);
  if (t->v.behind) {
    halo_helpers_hole(helpers, k, "H_BEHIND", "%s",
                      halo_ctype_constant(t->l->arena, t->v.behind->literal, 0));
  }
}

/* Launches `local` work items for so many queries of the same keys. */
static halo_status attention_end(attention_text *t, halo_template *k, const char *how, int queries,
                                 int local) {
  halo_lowering *l = t->l;
  if (local > 1) halo_kernel_group(l, (size_t)local, 1);
  halo_helpers_finish(&t->helpers, k);
  halo_launch *launch = halo_helpers_launch(
      &t->helpers, halo_arena_printf(l->arena, "%s attention:%s", l->name, how));
  int64_t tiles = (t->v.group + queries - 1) / queries * (t->v.rows.outer / t->v.group);
  launch->grid.local[0] = (size_t)local;
  launch->grid.global[0] = (size_t)(tiles * local);
  return halo_helpers_end(&t->helpers);
}

static halo_status attention_item_lower(halo_lowering *l) {
  attention_text t = {.l = l};
  halo_template k;
  const halo_attention_desc *v = l->desc;
  int lanes = halo_lowering_parameters(l)->attention_item_queries;
  int block = halo_lowering_parameters(l)->attention_item_keys;
  while (lanes > 16 && lanes / 2 >= v->group) lanes /= 2;
  /* 64 bits on CPUs: neighbours are then seen to be neighbours whatever an index is made of. */
  attention_begin(&t, &k, halo_cl_attention, true);
  halo_template_define_int(&k, "H_BLOCK", block);
  halo_template_define_int(&k, "H_R", lanes);
  int64_t keys = ATTENTION_SUMS / (lanes / 16), rows = (v->width + keys - 1) / keys * keys;
  halo_template_define_int(&k, "H_KEYS", keys);
  halo_kernel_private(l, (v->depth + block + rows + 4 + keys) * lanes, sizeof(float));
  halo_kernel_private(l, v->width + 2 * keys, sizeof(float));
  return attention_end(&t, &k, "item", lanes, 1);
}

/* Sets what follows from a tile's work items and keys; returns bytes of local memory. */
static int64_t attention_tile_bytes(const halo_attention_desc *v, attention_tile *tile) {
  int columns = (int)((v->width + tile->x - 1) / tile->x), queries = ATTENTION_QUERIES * tile->y;
  tile->deep = (int)(v->depth + 3) / 4 * 4;
  tile->line = tile->deep / 4 % 2 == 0 ? tile->deep + 4 : tile->deep;
  tile->vector = columns >= 3 ? 4 : columns;
  tile->units = (columns + tile->vector - 1) / tile->vector;
  int wide = tile->x * tile->units * tile->vector;
  int most = tile->block > tile->y ? tile->block : tile->y;
  tile->elements = most * (wide > tile->line ? wide : tile->line);
  tile->elements = (tile->elements + 3) / 4 * 4;
  int weights = tile->block + 4, maxima = 2, parts = tile->x * (queries + 1) + 1;
  return (int64_t)sizeof(float) *
         ((int64_t)queries * (tile->line + weights + maxima) + tile->elements + parts);
}

/* Work items of a group on the device, of `wanted`. */
static int attention_items(const halo_caps *caps, int wanted) {
  int items = wanted;
  while ((uint64_t)items > halo_caps_largest_group(caps)) items /= 2;
  return items;
}

/* A tile that the device has work items and local memory for: as large as possible, about as wide as high. Two groups
 * or more are to share a processor, so that they hide each other's barriers: NVIDIA's have several times the 48 KB that
 * the driver states, Intel's from Xe on twice their 64 KB, others no more than their 64 KB or little more. Narrow tiles have more
 * sums a work item, which Intel's compiler then keeps in memory. */
static bool attention_tile_choose(const halo_lowering *l, attention_tile *tile) {
  const halo_attention_desc *v = l->desc;
  if (v->depth > ATTENTION_LONGEST || v->width > ATTENTION_LONGEST) return false;
  const halo_parameters *given = halo_lowering_parameters(l);
  int items = attention_items(l->caps, given->attention_tile_group);
  int64_t most = (int64_t)l->caps->local_memory;
  if (most >= ATTENTION_ALL_LOCAL && !strstr(l->caps->vendor, "Intel")) most /= 2;
  *tile = (attention_tile){.y = items >= 256  ? 16
                                : items >= 64 ? 8
                                              : 4,
                           .block = given->attention_tile_keys};
  while (tile->y > 1 && ATTENTION_QUERIES / 2 * tile->y >= v->group) tile->y /= 2;
  for (;;) {
    tile->x = items / tile->y;
    if (tile->x > tile->block / 2) tile->x = tile->block / 2;
    if (attention_tile_bytes(v, tile) <= most) return true;
    if (ATTENTION_QUERIES * tile->y > tile->block) {
      tile->y /= 2;
    } else if (tile->block > 8) {
      tile->block /= 2;
    } else {
      return false;
    }
  }
}

static halo_status attention_tile_lower(halo_lowering *l) {
  attention_text t = {.l = l};
  attention_tile tile;
  halo_template k;
  attention_tile_choose(l, &tile);
  attention_begin(&t, &k, halo_cl_attention_tile, false);
  halo_template_define_int(&k, "H_BLOCK", tile.block);
  halo_template_define_int(&k, "H_X", tile.x);
  halo_template_define_int(&k, "H_Y", tile.y);
  halo_template_define_int(&k, "H_DEEP", tile.deep);
  halo_template_define_int(&k, "H_LINE", tile.line);
  halo_template_define_int(&k, "H_VECTOR", tile.vector);
  halo_template_define_int(&k, "H_UNITS", tile.units);
  halo_template_define_int(&k, "H_TILE", tile.elements);
  int64_t columns = tile.units * tile.vector, logits = 4 * ((tile.block + tile.x - 1) / tile.x);
  int64_t bytes = attention_tile_bytes(l->desc, &tile);
  halo_kernel_local(l, t.v.behind ? bytes : bytes - (int64_t)sizeof(int32_t), 1);
  halo_kernel_private(l, 6 * columns + 4 + logits + 4 * 4, sizeof(float));
  return attention_end(&t, &k, "tile", ATTENTION_QUERIES * tile.y, tile.x * tile.y);
}

static bool attention_tile_supports(const halo_lowering *l, const char **why) {
  attention_tile tile;
  *why = "the device has too little local memory for queries and values of this size";
  return attention_tile_choose(l, &tile);
}

static bool attention_tile_works_on(const halo_caps *caps, const char **why) {
  *why = "the device has no work groups for it";
  return attention_items(caps, ATTENTION_LEAST) >= ATTENTION_LEAST;
}

/* Seconds of the products, by operations that vectors of a CPU's do many of at a time; a query is worked on by so many work
 * items. */
static double attention_cost(const halo_lowering *l, double slower, double items) {
  const halo_attention_desc *v = l->desc;
  double scores = (double)v->rows.outer * (double)v->rows.n;
  const halo_prices *p = halo_lowering_prices(l);
  double each = p->attention_score + (double)(v->depth + v->width) * p->attention_product;
  return p->launch +
         halo_lowering_operations(l, slower * scores * each, items * (double)v->rows.outer);
}

static double attention_item_cost(const halo_lowering *l) {
  return attention_cost(l, halo_lowering_prices(l)->attention_item, 1);
}

/* Work items across a tile share a query. */
static double attention_tile_cost(const halo_lowering *l) {
  attention_tile tile = {.x = 1, .y = 1};
  attention_tile_choose(l, &tile);
  return attention_cost(l, halo_lowering_prices(l)->attention_tile,
                        (double)tile.x / ATTENTION_QUERIES);
}

/* Each element of a result computes all weights of its row anew. */
static double attention_loop_cost(const halo_lowering *l) {
  const halo_attention_desc *v = l->desc;
  double over = (double)v->width * (double)v->rows.n;
  return attention_cost(l, halo_lowering_prices(l)->attention_loop * over, (double)v->width);
}

static const halo_implementation attention_implementations[] = {
    {"item", halo_loop_supports, attention_item_cost, attention_item_lower},
    {"tile", attention_tile_supports, attention_tile_cost, attention_tile_lower,
     .works_on = attention_tile_works_on, .in_groups = true},
    {"loop", halo_loop_supports, attention_loop_cost, halo_loop_lower},
    {0}};

static const void *attention_describe(const halo_lowering *l) {
  halo_attention_desc *v = halo_desc_new(l, halo_attention_desc);
  const char *why;
  return halo_attention_describe(l->computation, v, &why) ? v : NULL;
}

const halo_family halo_family_attention = {"attention", HALO_OPCODE_COUNT,
                                           attention_implementations, attention_describe};
