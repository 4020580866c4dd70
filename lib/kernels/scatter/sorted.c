/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/scatter/sorted.c: scatter:sorted: updates are sorted by the place that they go to, and then combined place
 * by place, in as many launches as the number of updates says. Updates of one place keep their order. Where the
 * computation is associative, runs of many are cut at fixed distances, so that results repeat bit for bit. */
#include "codegen/ctype.h"
#include "kernels/accumulator.h"
#include "kernels/scatter/scatter.h"
#include "kernels/sort/records.h"

extern const char halo_cl_scatter_sorted[];

/* Updates, and what chunks of them left, that a work item takes. They say in which order long runs are combined, so
 * they follow from the class of device alone. */
enum { SORTED_PARTS = 64 };

/* A record is a place, a bit that says that the update is dropped, and the update's number. */
struct halo_scatter_sorted {
  halo_lowering *l;
  halo_scatter_desc v;
  const halo_shape *places; /* one for each position of a window in the array */
  int64_t n;                /* updates: windows, or elements of them where windows overlap */
  int place_bits, number_bits;
  bool sorted, associative;
  halo_reduce_value *values; /* [arity]: what the results hold */
  halo_accumulator a;
};

static int sorted_bits(int64_t count) {
  int bits = 0;
  while (bits < 62 && 1ll << bits < count) bits++;
  return bits;
}

/* Positions of windows along dimension `d` of the array. */
static int64_t sorted_places_along(const halo_scatter_desc *v, int d) {
  for (int i = 0; i < v->window_rank; i++) {
    if (v->window[i].other == d && !v->window[i].free) return v->array->dims[d];
  }
  for (int32_t k = 0; k < v->batching_count; k++) {
    if (v->array_batching[k] == d) return v->array->dims[d];
  }
  for (int32_t k = 0; k < v->map_count; k++) {
    if (v->map[k] == d) return v->array->dims[d] - v->extent[d] + 1;
  }
  return 1;
}

/* The instruction that makes leaf `k` of what the computation returns. */
static const halo_instr *sorted_leaf(const halo_computation *body, int32_t k) {
  return body->root->opcode == HALO_OP_TUPLE ? body->root->operands[k] : body->root;
}

/* Whether each result is one associative operation on what is there and its update, or the update itself, all of one
 * type: then updates may be combined with each other. */
static bool sorted_is_associative(const halo_scatter_desc *v) {
  const halo_computation *body = halo_instr_comp(v->scatter, HALO_ATTR_TO_APPLY);
  int32_t n = v->arity;
  for (int32_t k = 0; k < n; k++) {
    const halo_instr *old = body->params.data[k], *update = body->params.data[n + k];
    const halo_instr *leaf = sorted_leaf(body, k);
    halo_type type = halo_leaf_shape(v->scatter->shape, k)->type;
    if (old->shape->type != type || update->shape->type != type || leaf->shape->type != type ||
        v->scatter->operands[n + 1 + k]->shape->type != type) {
      return false;
    }
    if (leaf == update) continue;
    if (leaf->operand_count != 2 || !halo_opcode_associates(leaf->opcode, type)) return false;
    bool both = (leaf->operands[0] == old && leaf->operands[1] == update) ||
                (leaf->operands[0] == update && leaf->operands[1] == old);
    if (!both) return false;
  }
  return true;
}

const halo_scatter_sorted *halo_scatter_sorted_describe(const halo_lowering *l,
                                                        const halo_scatter_desc *v) {
  halo_scatter_sorted *s = halo_desc_new(l, halo_scatter_sorted);
  s->v = *v;
  int64_t sizes[HALO_MAX_RANK], places = 1;
  for (int d = 0; d < v->array->rank; d++) {
    sizes[d] = sorted_places_along(v, d);
    places *= sizes[d];
  }
  s->places = halo_shape_new(l->texts, HALO_S32, v->array->rank, sizes);
  s->n = v->groups * v->steps * v->inner;
  s->place_bits = sorted_bits(places);
  s->number_bits = sorted_bits(s->n);
  /* Batches need not come in the order of their places, and elements of overlapping windows do not. */
  s->sorted =
      s->place_bits == 0 || (halo_instr_int(v->scatter, HALO_ATTR_INDICES_ARE_SORTED, 0) != 0 &&
                             v->inner == 1 && v->batching_count == 0);
  s->associative = sorted_is_associative(v);
  return s;
}

static halo_sort_records sorted_records(const halo_lowering *l, const halo_scatter_sorted *s) {
  return halo_sort_packed(l, s->n, s->place_bits, s->number_bits + 1);
}

static const halo_scatter_sorted *sorted_desc(const halo_lowering *l) {
  return ((const halo_scatter_descs *)l->desc)->sorted;
}

bool halo_scatter_sorted_supports(const halo_lowering *l, const char **why) {
  const halo_scatter_sorted *s = sorted_desc(l);
  *why = "places and numbers of updates have together more than 63 bits";
  if (s->place_bits + s->number_bits > 63) return false;
  /* Records, and the copy that a digit moves them to. */
  enum { RECORDS = 16, SHARE = 4 };
  *why = "records of all updates take more than a quarter of the device's memory";
  uint64_t memory = l->caps->global_memory; /* 0: not known */
  if (memory && (uint64_t)s->n > memory / SHARE / RECORDS) return false;
  halo_sort_records r = sorted_records(l, s);
  return s->n == 0 || s->sorted || halo_sort_radix_fits(&r, why);
}

/* Neighbours that a work item of a launch takes. */
static int64_t sorted_chunk(const halo_lowering *l, const halo_scatter_sorted *s, int level) {
  if (!s->associative) return 1;
  bool parts = level && !l->caps->is_cpu;
  return parts ? SORTED_PARTS : halo_lowering_parameters(l)->scatter_sorted_updates;
}

static int64_t sorted_ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Seconds. */
double halo_scatter_sorted_cost(const halo_lowering *l) {
  const halo_scatter_sorted *s = sorted_desc(l);
  halo_sort_records r = sorted_records(l, s);
  const halo_prices *p = halo_lowering_prices(l);
  double cost = s->sorted ? p->launch : halo_sort_radix_seconds(l, &r);
  int64_t n = s->n, chunks = 2;
  for (int level = 0; chunks > 1; level++, n = 2 * chunks) {
    int64_t cuts = sorted_ceil(n, sorted_chunk(l, s, level));
    double elements = (double)n * (double)s->v.strip, items = (double)cuts * (double)s->v.strip;
    cost += p->launch + halo_lowering_operations(l, p->scatter_sorted * elements, items);
    chunks = s->associative ? cuts : 1;
  }
  return cost;
}

/* ---- Text ---- */

/* Coordinates of the window, and those within it along which windows overlap, of update "p". */
static void sorted_emit_number(halo_emitter *e, const halo_scatter_desc *v, int64_t n,
                               const halo_integer **batch, const halo_integer **window) {
  const halo_integer *p = halo_emit_counter(e, "p", n);
  const halo_integer *number = halo_integer_div(&e->integers, p, v->inner);
  halo_scatter_digits(e, v->window, v->window_rank, false,
                      halo_integer_mod(&e->integers, p, v->inner), window);
  for (int i = v->batch_rank - 1; i >= 0; i--) {
    batch[i] = halo_integer_mod(&e->integers, number, v->batch[i].size);
    number = halo_integer_div(&e->integers, number, v->batch[i].size);
  }
}

/* Declares "record", of update "p". Those that are dropped go to the last place. */
static void sorted_emit_record(const halo_scatter_sorted *s, halo_emitter *e, emit_frame *frame) {
  const halo_scatter_desc *v = &s->v;
  const halo_integer *batch[HALO_MAX_RANK], *window[HALO_MAX_RANK], *starts[HALO_MAX_RANK];
  int64_t last = halo_shape_element_count(s->places) - 1;
  halo_emit_line(e, "ulong record = 0x%llxUL << %d | (ulong)p;", (unsigned long long)last << 1 | 1,
                 s->number_bits);
  sorted_emit_number(e, v, s->n, batch, window);
  halo_scatter_emit_starts(e, frame, v, false, batch, starts);
  for (int i = 0; i < v->window_rank; i++) {
    int d = v->window[i].other;
    if (!v->window[i].free) starts[d] = halo_integer_add(&e->integers, starts[d], window[i]);
  }
  emit_index *index = halo_index_of(e, s->places->rank, s->places->dims, starts);
  halo_emit_line(e, "record = (ulong)(%s) << %d | (ulong)p;",
                 halo_emit_integer(e, halo_index_position(e, index, s->places)),
                 s->number_bits + 1);
  halo_emit_close(e);
}

/* For the sort. */
static void sorted_make(const void *maker, halo_helpers *p) {
  emit_frame *frame = halo_helpers_open(p);
  sorted_emit_record(maker, &p->e, frame);
  halo_emit_line(&p->e, "return record;");
  halo_helpers_close(p, "ulong", "_in", "row, p", NULL);
}

/* One launch: `level` counts them, and each after the first has what the one before it left. Scratch: the
 * keys of those neighbours, then their elements of each array. */
typedef struct sorted_level {
  const halo_scatter_sorted *s;
  int level;
  int64_t n, chunk, chunks;
  int32_t from, to; /* scratch; of the first launch `from` holds records */
  bool last;
} sorted_level;

/* Element "w" of update "i", in the types of the updates. */
static void sorted_emit_update(const sorted_level *g, halo_helpers *p, emit_frame *frame,
                               halo_value *values) {
  const halo_scatter_desc *v = &g->s->v;
  halo_emitter *e = &p->e;
  const halo_integer *w = halo_emit_counter(e, "w", v->strip);
  if (g->level > 0) {
    const halo_integer *i = halo_emit_counter(e, "i", g->n);
    i = halo_integer_add(&e->integers, halo_integer_mul(&e->integers, i, v->strip), w);
    for (int32_t k = 0; k < v->arity; k++) {
      halo_type type = g->s->values[k].type;
      const char *parts = halo_emit_arg(e, HALO_ROLE_SCRATCH, g->from + 1 + k, type, NULL);
      values[k] = halo_emit_load(e, parts, type, i);
    }
    return;
  }
  const char *records = halo_emit_arg(e, HALO_ROLE_SCRATCH, g->from, HALO_U64, NULL);
  halo_emit_line(e, "const %s p = (%s)(%s[i] & 0x%llxUL);", p->itype, p->itype, records,
                 (1ull << g->s->number_bits) - 1);
  const halo_integer *batch[HALO_MAX_RANK], *window[HALO_MAX_RANK], *from[HALO_MAX_RANK];
  sorted_emit_number(e, v, g->n, batch, window);
  halo_scatter_digits(e, v->window, v->window_rank, true, w, window);
  for (int i = 0; i < v->batch_rank; i++) from[v->batch[i].updates] = batch[i];
  for (int i = 0; i < v->window_rank; i++) from[v->window[i].updates] = window[i];
  emit_index *index = halo_index_of(e, v->updates->rank, v->updates->dims, from);
  for (int32_t k = 0; k < v->arity; k++) {
    values[k] = halo_emit_value(e, frame, v->scatter->operands[v->arity + 1 + k], 0, index);
  }
}

static void sorted_value(const sorted_level *g, halo_helpers *p) {
  halo_value *values = halo_arena_array(p->l->arena, halo_value, g->s->v.arity);
  emit_frame *frame = halo_helpers_open(p);
  sorted_emit_update(g, p, frame, values);
  halo_accumulator_return(&g->s->a, &p->e, values);
  halo_helpers_close(p, g->s->a.type, "_value", "i, w", NULL);
}

static void sorted_step(const sorted_level *g, halo_helpers *p) {
  halo_emitter *e = &p->e;
  int32_t n = g->s->v.arity;
  const halo_computation *body = halo_instr_comp(g->s->v.scatter, HALO_ATTR_TO_APPLY);
  halo_value *values = halo_arena_array(p->l->arena, halo_value, 3 * n), *results = values + 2 * n;
  emit_frame *frame = halo_helpers_open(p);
  sorted_emit_update(g, p, frame, values + n);
  for (int32_t k = 0; k < n; k++) values[k] = halo_accumulator_load(&g->s->a, "v", k);
  for (int32_t k = 0; k < 2 * n; k++) {
    values[k] = halo_scatter_convert(e, values[k], body->params.data[k]->shape->type);
  }
  halo_emit_apply(e, body, values, results);
  for (int32_t k = 0; k < n; k++) {
    results[k] = halo_scatter_convert(e, results[k], g->s->values[k].type);
  }
  halo_accumulator_return(&g->s->a, e, results);
  halo_helpers_close(p, g->s->a.type, "_step", "i, w", g->s->a.type);
}

/* Element "w" of the place "place" of result `k`. */
static const halo_integer *sorted_emit_place(const sorted_level *g, halo_emitter *e, int32_t k) {
  const halo_scatter_desc *v = &g->s->v;
  const halo_integer *to[HALO_MAX_RANK], *window[HALO_MAX_RANK];
  const halo_integer *place = halo_emit_counter(e, "place", halo_shape_element_count(g->s->places));
  emit_index *starts = halo_index_from_position(e, g->s->places, place);
  for (int d = 0; d < v->array->rank; d++) to[d] = halo_index_at(starts, d);
  halo_scatter_digits(e, v->window, v->window_rank, true, halo_emit_counter(e, "w", v->strip),
                      window);
  for (int i = 0; i < v->window_rank; i++) {
    int d = v->window[i].other;
    if (v->window[i].free) to[d] = halo_integer_add(&e->integers, to[d], window[i]);
  }
  emit_index *index = halo_index_of(e, v->array->rank, v->array->dims, to);
  return halo_index_position(e, index, halo_leaf_shape(v->scatter->shape, k));
}

static void sorted_old_and_new(const sorted_level *g, halo_helpers *p) {
  halo_emitter *e = &p->e;
  const halo_accumulator *a = &g->s->a;
  halo_value *values = halo_arena_array(p->l->arena, halo_value, g->s->v.arity);
  for (int put = 0; put < 2; put++) {
    halo_helpers_open(p);
    for (int32_t k = 0; k < g->s->v.arity; k++) {
      halo_type type = g->s->values[k].type;
      const char *out = halo_emit_arg(e, HALO_ROLE_OUTPUT, k, type, NULL);
      const halo_integer *at = sorted_emit_place(g, e, k);
      if (put) {
        halo_emit_store(e, out, at, halo_accumulator_load(a, "v", k));
      } else {
        values[k] = halo_emit_load(e, out, type, at);
      }
    }
    if (!put) halo_accumulator_return(a, e, values);
    halo_helpers_close(p, put ? "void" : a->type, put ? "_new" : "_old", "place, w",
                       put ? a->type : NULL);
  }
}

/* Records that are left for the next launch. */
static void sorted_part(const sorted_level *g, halo_helpers *p) {
  halo_emitter *e = &p->e;
  halo_helpers_open(p);
  const halo_integer *i = halo_emit_counter(e, "i", 2 * g->chunks);
  i = halo_integer_add(&e->integers, halo_integer_mul(&e->integers, i, g->s->v.strip),
                       halo_emit_counter(e, "w", g->s->v.strip));
  for (int32_t k = 0; k < g->s->v.arity; k++) {
    const char *parts =
        halo_emit_arg(e, HALO_ROLE_SCRATCH, g->to + 1 + k, g->s->values[k].type, NULL);
    halo_emit_store(e, parts, i, halo_accumulator_load(&g->s->a, "v", k));
  }
  halo_helpers_close(p, "void", "_part", "i, w", g->s->a.type);
}

/* ---- Launches ---- */

/* The holes for keys. */
static void sorted_key_holes(const sorted_level *g, halo_helpers *p, halo_template *k,
                             const char *keys, const char *next) {
  if (g->level > 0) {
    halo_helpers_hole(p, k, "H_KEY(i)", "%s[i]", keys);
  } else {
    halo_helpers_hole(p, k, "H_KEY(i)", "(%s[i] >> %d)", keys, g->s->number_bits);
  }
  if (next) halo_helpers_hole(p, k, "H_SET_KEY(i, key)", "%s[i] = (key)", next);
}

static halo_status sorted_lower_level(halo_lowering *l, const sorted_level *g,
                                      const int32_t *updates) {
  const halo_scatter_sorted *s = g->s;
  halo_helpers p;
  halo_helpers_begin(&p, l, halo_kernel_name(l, g->level ? "parts" : "sorted"), false);
  const char *keys = halo_emit_arg(&p.e, HALO_ROLE_SCRATCH, g->from, HALO_U64, NULL);
  const char *next = g->last ? NULL : halo_emit_arg(&p.e, HALO_ROLE_SCRATCH, g->to, HALO_U64, NULL);
  for (int32_t k = 0; k < s->v.arity; k++) {
    const char *section = halo_ctype_section(s->values[k].type);
    if (section) halo_sections_add(&p.e.sections, section);
  }
  sorted_step(g, &p);
  sorted_old_and_new(g, &p);
  if (!g->last) {
    sorted_value(g, &p);
    sorted_part(g, &p);
  }
  halo_template k;
  halo_helpers_template(&p, &k, halo_cl_scatter_sorted, "");
  sorted_key_holes(g, &p, &k, keys, next);
  halo_helpers_hole(&p, &k, "H_T", "%s", s->a.type);
  halo_helpers_call(&p, &k, "H_STEP", "_step", "i, w, v");
  halo_helpers_call(&p, &k, "H_OLD", "_old", "place, w");
  halo_helpers_call(&p, &k, "H_NEW", "_new", "place, w, v");
  if (!g->last) {
    halo_helpers_call(&p, &k, "H_VALUE", "_value", "i, w");
    halo_helpers_call(&p, &k, "H_PART", "_part", "i, w, v");
  }
  halo_template_define_int(&k, "H_N", g->n);
  halo_template_define_int(&k, "H_CHUNK", g->chunk);
  halo_template_define_int(&k, "H_CHUNKS", g->chunks);
  halo_template_define_int(&k, "H_STRIP", s->v.strip);
  halo_template_define_int(&k, "H_LAST", g->last);
  halo_template_define_int(&k, "H_SHORT", g->level ? 0 : 2 * g->chunk);
  halo_template_define_int(&k, "H_IN_ORDER", !s->associative);
  halo_helpers_finish(&p, &k);
  halo_launch *launch =
      halo_helpers_launch(&p, g->level ? "scatter:sorted parts" : "scatter:sorted");
  halo_launch_items(l->caps, launch, g->chunks * s->v.strip);
  if (g->level == 0) {
    launch->updates = updates;
    launch->update_count = s->v.arity;
  }
  return halo_helpers_end(&p);
}

/* Scratch for what a launch leaves: two neighbours for each chunk. */
static int32_t sorted_scratch(halo_lowering *l, const halo_scatter_sorted *s, int64_t chunks) {
  int32_t first = l->scratch.count;
  halo_vec_push(&l->scratch, (halo_scratch){2 * chunks * 8});
  for (int32_t k = 0; k < s->v.arity; k++) {
    int64_t size = (int64_t)halo_type_size(s->values[k].type);
    halo_vec_push(&l->scratch, (halo_scratch){2 * chunks * s->v.strip * size});
  }
  return first;
}

/* A kernel that writes the records of updates that come sorted. */
static halo_status sorted_lower_records(halo_lowering *l, const halo_scatter_sorted *s,
                                        int32_t *out_scratch) {
  *out_scratch = l->scratch.count;
  halo_vec_push(&l->scratch, (halo_scratch){8 * s->n});
  halo_emitter e;
  halo_lowering_emitter(l, &e);
  emit_frame *frame = halo_frame_kernel(&e, l->computation);
  const char *itype = halo_emitter_index_type(&e);
  halo_emit_line(&e, "const %s p = (%s)" HALO_GLOBAL_ID_0 ";", itype, itype);
  halo_emit_branch(&e, halo_arena_printf(l->arena, "if (p < %lld)", (long long)s->n));
  sorted_emit_record(s, &e, frame);
  halo_emit_line(&e, "%s[p] = record;",
                 halo_emit_arg(&e, HALO_ROLE_SCRATCH, *out_scratch, HALO_U64, NULL));
  halo_emit_close(&e);
  if (e.status == HALO_OK) {
    const char *label = halo_arena_printf(l->arena, "%s scatter:sorted places", l->name);
    halo_launch *launch = halo_kernel_add(l, &e, halo_kernel_name(l, "places"), label, 0);
    halo_launch_items(l->caps, launch, s->n);
  }
  halo_status status = e.status;
  halo_emitter_deinit(&e);
  return status;
}

static halo_status sorted_lower_levels(halo_lowering *l, halo_scatter_sorted *s, int32_t records,
                                       const int32_t *updates) {
  s->a.type = NULL;
  s->values = halo_arena_array(l->arena, halo_reduce_value, s->v.arity);
  for (int32_t k = 0; k < s->v.arity; k++) {
    halo_type type = halo_leaf_shape(s->v.scatter->shape, k)->type;
    s->values[k] = (halo_reduce_value){s->v.scatter, k, type, type};
  }
  sorted_level g = {.s = s, .n = s->n, .from = records};
  for (; !g.last; g.level++, g.n = 2 * g.chunks, g.from = g.to) {
    g.chunk = sorted_chunk(l, s, g.level);
    g.chunks = sorted_ceil(g.n, g.chunk);
    g.last = !s->associative || g.chunks == 1;
    if (!g.last) g.to = sorted_scratch(l, s, g.chunks);
    halo_accumulator_declare_type(l, &s->a, halo_kernel_name(l, "elements"), s->values, s->v.arity);
    HALO_TRY(sorted_lower_level(l, &g, updates));
  }
  return HALO_OK;
}

halo_status halo_scatter_sorted_lower(halo_lowering *l) {
  halo_scatter_sorted s = *sorted_desc(l);
  const int32_t *updates;
  int32_t records;
  if (halo_shape_element_count(s.v.array) == 0) return HALO_OK;
  HALO_TRY(halo_scatter_lower_operands(l, &s.v, &updates));
  if (!updates) return HALO_OK;
  if (s.sorted) {
    HALO_TRY(sorted_lower_records(l, &s, &records));
  } else {
    halo_sort_records r = sorted_records(l, &s);
    r.make = sorted_make;
    r.maker = &s;
    HALO_TRY(halo_sort_radix_records(&r, l, &records));
  }
  return sorted_lower_levels(l, &s, records, updates);
}
