/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/sort/topk.c: the first records of each row: of pieces of it, then of what these have left, until there
 * is one piece. Many of them are sorted (sort.c). */
#include "kernels/families.h"
#include "kernels/sort/records.h"

extern const char halo_cl_topk[];

/* Records that are kept, at most: by a work item of a CPU, by a work group. */
enum { TOPK_CPU_MOST = 1024, TOPK_GPU_MOST = 256 };

static int64_t topk_ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t topk_kept(const halo_lowering *l) {
  return halo_instr_int(halo_lowering_root(l), HALO_ATTR_K, 0);
}

/* How `n` records of a row are cut. */
typedef struct topk_level {
  int64_t n, chunk, pieces;
} topk_level;

static topk_level topk_cut(const halo_sort_records *r, int64_t n, int64_t keep) {
  topk_level level = {.n = n, .chunk = n, .pieces = 1};
  int64_t units = r->caps->compute_units > 0 ? r->caps->compute_units : 1;
  if (!r->caps->is_cpu) {
    level.chunk = halo_sort_block_size(r, n);
  } else if (r->rows < 4 * units) {
    level.chunk = topk_ceil(n, topk_ceil(4 * units, r->rows));
    if (level.chunk < r->given->topk_records) level.chunk = r->given->topk_records;
    if (level.chunk < 8 * keep) level.chunk = 8 * keep;
  }
  level.pieces = topk_ceil(n, level.chunk);
  return level;
}

static int64_t topk_left(const topk_level *level, int64_t keep) {
  int64_t last = level->n - (level->pieces - 1) * level->chunk;
  return (level->pieces - 1) * keep + (last < keep ? last : keep);
}

/* Holes and launch of the kernel in which a work item takes a piece. */
static void topk_pieces_kernel(const halo_sort_records *r, halo_helpers *p, const topk_level *level,
                               int64_t keep) {
  halo_template k;
  halo_helpers_template(p, &k, halo_cl_topk, "");
  halo_sort_holes(r, p, &k);
  halo_template_define_int(&k, "H_ROWS", r->rows);
  halo_template_define_int(&k, "H_N", level->n);
  halo_template_define_int(&k, "H_PIECES", level->pieces);
  halo_template_define_int(&k, "H_SHARE", level->chunk);
  halo_template_define_int(&k, "H_KEEP", keep);
  halo_kernel_private(p->l, halo_private_room(keep, (size_t)r->bytes), (size_t)r->bytes);
  halo_helpers_finish(p, &k);
  int64_t items = r->rows * level->pieces;
  halo_launch *launch = halo_helpers_launch(p, "topk:select");
  launch->grid.local[0] = 1; /* long work items, with memory of their own */
  launch->grid.global[0] = (size_t)items;
}

static halo_status topk_step(const halo_sort_records *r, int number, const topk_level *level,
                             int64_t keep) {
  halo_helpers p;
  halo_helpers_begin(&p, r->l, halo_kernel_name(r->l, "select"), false);
  if (number == 0) {
    halo_sort_emit_make(r, &p);
  } else {
    halo_sort_emit_read(r, &p, (number - 1) % 2, level->n);
  }
  if (level->pieces == 1) {
    halo_sort_emit_store(r, &p);
  } else {
    halo_sort_emit_write(r, &p, number % 2, topk_left(level, keep));
  }
  if (r->caps->is_cpu) {
    topk_pieces_kernel(r, &p, level, keep);
  } else {
    halo_sort_block_kernel(r, &p, level->n, keep, "topk:select");
  }
  return halo_helpers_end(&p);
}

static halo_status topk_select_lower(halo_lowering *l) {
  halo_sort_records r = ((const halo_sort_desc *)l->desc)->packed;
  int64_t keep = topk_kept(l), n = r.n;
  if (r.rows * keep == 0) return HALO_OK;
  HALO_TRY(halo_sort_declare(&r, l));
  topk_level level = topk_cut(&r, n, keep);
  for (int number = 0;; number++) {
    if (level.pieces > 1 && number < 2) {
      halo_vec_push(&l->scratch, (halo_scratch){r.rows * topk_left(&level, keep) * r.bytes});
    }
    HALO_TRY(topk_step(&r, number, &level, keep));
    if (level.pieces == 1) return HALO_OK;
    level = topk_cut(&r, topk_left(&level, keep), keep);
  }
}

static bool topk_sort_supports(const halo_lowering *l, const char **why) {
  const halo_sort_desc *desc = l->desc;
  *why = "complex numbers have no order";
  return desc->plain.code_bits > 0;
}

static bool topk_select_supports(const halo_lowering *l, const char **why) {
  if (!topk_sort_supports(l, why)) return false;
  const halo_sort_records *r = &((const halo_sort_desc *)l->desc)->packed;
  int64_t keep = topk_kept(l);
  *why = "work items may not do so many rounds";
  if (l->caps->max_rounds && r->n * keep > (int64_t)l->caps->max_rounds) return false;
  *why = "too many are wanted";
  if (l->caps->is_cpu) return keep <= TOPK_CPU_MOST;
  return keep <= TOPK_GPU_MOST &&
         (r->n <= halo_sort_block_size(r, r->n) || 2 * keep <= halo_sort_block_size(r, r->n));
}

/* Seconds: an element costs a few simple operations, one that is kept a walk through the heap. */
static double topk_select_cost(const halo_lowering *l) {
  const halo_sort_records *r = &((const halo_sort_desc *)l->desc)->packed;
  double elements = (double)(r->rows * r->n), kept = (double)(r->rows * topk_kept(l));
  const halo_prices *p = halo_lowering_prices(l);
  double work = p->topk_look * elements + p->topk_keep * kept;
  return 2 * p->launch + halo_lowering_operations(l, work, elements);
}

static const halo_implementation topk_implementations[] = {
    {"select", topk_select_supports, topk_select_cost, topk_select_lower, .in_groups = true},
    {"radix", halo_sort_radix_supports, halo_sort_radix_cost, halo_sort_radix_lower,
     .in_groups = true},
    {"merge", topk_sort_supports, halo_sort_merge_cost, halo_sort_merge_lower, .in_groups = true},
    {0}};
const halo_family halo_family_topk = {"topk", HALO_OP_TOPK, topk_implementations,
                                      halo_sort_describe};
