/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/cholesky.c: Cholesky factors: in panels on CPUs, elsewhere in the local memory of a work group, where
 * larger ones are written as several by passes/expand/linalg.c. */
#include "codegen/ctype.h"
#include "hlo/linalg.h"
#include "kernels/families.h"
#include "kernels/linalg/linalg.h"

extern const char halo_cl_cholesky[], halo_cl_cholesky_panels[];

/* Writes the kernel's functions that read and write an element. */
static void cholesky_emit_elements(halo_helpers *p, const halo_instr *cholesky, halo_type type) {
  const halo_shape *shape = cholesky->shape;
  int64_t n = shape->dims[shape->rank - 1], batch = halo_linalg_batch(shape);
  for (int store = 0; store < 2; store++) {
    halo_emitter *e = &p->e;
    emit_frame *frame = halo_helpers_open(p);
    const halo_integer *b = halo_emit_counter(e, "b", batch);
    const halo_integer *x = halo_emit_counter(e, "x", n), *y = halo_emit_counter(e, "y", n);
    if (store) {
      halo_linalg_store(e, shape, type, b, x, y);
      halo_helpers_close(p, "void", "_out", "b, x, y", halo_ctype_compute(type));
    } else {
      halo_value value = halo_linalg_element(e, frame, cholesky->operands[0], b, x, y);
      halo_emit_line(e, "return %s;", value.text);
      halo_helpers_close(p, halo_ctype_compute(type), "_in", "b, x, y", NULL);
    }
  }
}

/* The holes that both templates have. */
static void cholesky_holes(halo_helpers *p, halo_template *k, const halo_instr *cholesky,
                           halo_type type) {
  halo_helpers_call(p, k, "H_IN", "_in", "b, x, y");
  halo_helpers_call(p, k, "H_OUT", "_out", "b, x, y, v");
  halo_linalg_holes(p, k, type);
  halo_template_define_int(k, "H_N", cholesky->shape->dims[cholesky->shape->rank - 1]);
  halo_template_define_int(k, "H_LOWER", halo_instr_bool(cholesky, HALO_ATTR_LOWER, false));
}

/* ---- In the local memory of a work group ---- */

static size_t cholesky_local_bytes(const halo_shape *shape) {
  size_t n = (size_t)shape->dims[shape->rank - 1];
  return n * (n + 1) * halo_type_size(halo_linalg_type(shape->type));
}

static bool cholesky_group_supports(const halo_lowering *l, const char **why) {
  const halo_shape *shape = halo_lowering_root(l)->shape;
  *why = "the matrix is larger than the blocks of large ones";
  if (shape->dims[shape->rank - 1] > halo_linalg_block(shape->type)) return false;
  *why = "the device has too little local memory";
  return cholesky_local_bytes(shape) <= l->caps->local_memory;
}

static double cholesky_group_cost(const halo_lowering *l) {
  const halo_shape *shape = halo_lowering_root(l)->shape;
  double n = (double)shape->dims[shape->rank - 1];
  const halo_prices *p = halo_lowering_prices(l);
  double batch = (double)halo_linalg_batch(shape), items = l->caps->is_cpu ? 1 : n;
  return p->launch +
         halo_lowering_operations(l, p->cholesky_group * batch * n * n * n, batch * items);
}

/* The extents of a work group: one item on a CPU, whose vectors serve a row; elsewhere about a row of few,
 * and as many rows as fit. */
static void cholesky_group(const halo_caps *caps, int64_t n, size_t group[2]) {
  enum { ROW = 16 };
  group[0] = group[1] = 1;
  if (caps->is_cpu) return;
  for (int d = 0; d < 2; d++) {
    while (group[d] < ROW && (int64_t)group[d] < n && 2 * group[d] <= caps->max_items[d] &&
           2 * group[0] * group[1] <= caps->max_work_group) {
      group[d] *= 2;
    }
  }
}

static halo_status cholesky_group_lower(halo_lowering *l) {
  const halo_instr *cholesky = halo_lowering_root(l);
  const halo_shape *shape = cholesky->shape;
  halo_type type = halo_linalg_type(shape->type);
  int64_t n = shape->dims[shape->rank - 1], batch = halo_linalg_batch(shape);
  if (n == 0 || batch == 0) return HALO_OK;
  halo_helpers p;
  halo_linalg_begin(&p, l, halo_kernel_name(l, "group"), type, false);
  cholesky_emit_elements(&p, cholesky, type);
  size_t group[2];
  cholesky_group(l->caps, n, group);
  halo_template k;
  halo_helpers_template(&p, &k, halo_cl_cholesky, "");
  cholesky_holes(&p, &k, cholesky, type);
  halo_template_define_int(&k, "H_X", (long long)group[0]);
  halo_template_define_int(&k, "H_Y", (long long)group[1]);
  halo_kernel_group(l, group[0], group[1]);
  halo_kernel_local(l, (int64_t)cholesky_local_bytes(cholesky->shape), 1);
  halo_helpers_finish(&p, &k);
  halo_launch *launch = halo_helpers_launch(&p, "cholesky:group");
  launch->grid.dims = 2;
  launch->grid.global[0] = group[0] * (size_t)batch;
  launch->grid.global[1] = group[1];
  return halo_helpers_end(&p);
}

/* ---- In panels ---- */

/* How a matrix is cut: columns a panel and how many panels, and what is in registers at a time. */
typedef struct cholesky_cut {
  int lanes, vectors, rows, columns;
  int64_t panels;
} cholesky_cut;

static cholesky_cut cholesky_choose(const halo_caps *caps, int64_t n, halo_type type) {
  /* Two vectors, and as many rows as 32 vector registers, or 16, hold beside them. */
  bool wide = caps->simd_width >= 16;
  cholesky_cut cut = {.lanes = halo_linalg_lanes(caps, type, n), .rows = wide ? 8 : 6};
  cut.vectors = n > cut.lanes ? 2 : 1;
  int block = wide ? 64 : 48, strip = cut.vectors * cut.lanes;
  cut.columns = n < block ? (int)halo_linalg_pieces(n, strip) * strip : block;
  while (cut.columns % cut.rows != 0) cut.rows--;
  cut.panels = halo_linalg_pieces(n, cut.columns);
  return cut;
}

static double cholesky_panels_cost(const halo_lowering *l) {
  const halo_shape *shape = halo_lowering_root(l)->shape;
  const halo_prices *p = halo_lowering_prices(l);
  int64_t n = shape->dims[shape->rank - 1];
  int64_t panels = cholesky_choose(l->caps, n, halo_linalg_type(shape->type)).panels;
  /* Long work items with vectors of their own: other devices than CPUs are left idle by them. */
  double rate = l->caps->is_cpu ? p->rate : p->item_rate;
  double each = p->cholesky_panels * (double)n * (double)n * (double)n / 3 +
                p->cholesky_panels_start * (double)panels;
  return (double)panels * p->launch + (double)halo_linalg_batch(shape) * each / rate;
}

static halo_status cholesky_panels_lower(halo_lowering *l) {
  const halo_instr *cholesky = halo_lowering_root(l);
  const halo_shape *shape = cholesky->shape;
  halo_type type = halo_linalg_type(shape->type);
  int64_t n = shape->dims[shape->rank - 1], batch = halo_linalg_batch(shape);
  if (n == 0 || batch == 0) return HALO_OK;
  cholesky_cut cut = cholesky_choose(l->caps, n, type);
  int64_t elements = batch * cut.columns * cut.columns * (cut.panels * (cut.panels + 1) / 2);
  halo_helpers p;
  halo_linalg_begin(&p, l, halo_kernel_name(l, "panels"), type, elements > 1 << 30);
  cholesky_emit_elements(&p, cholesky, type);
  const char *pointers = "";
  if (cut.panels > 1) {
    int32_t scratch = l->scratch.count;
    halo_vec_push(&l->scratch, (halo_scratch){elements * (int64_t)halo_type_size(type)});
    const char *w = halo_emit_arg(&p.e, HALO_ROLE_SCRATCH, scratch, type, NULL);
    pointers = halo_arena_printf(l->arena, "  __global %s *W = %s;", halo_ctype_compute(type), w);
  }
  const char *turns = "0";
  if (cut.panels > 1) turns = halo_emit_value_arg(&p.e, HALO_VALUE_NUMBER, HALO_S32, 0);
  halo_template k;
  halo_helpers_template(&p, &k, halo_cl_cholesky_panels, pointers);
  halo_helpers_hole(&p, &k, "H_TURN", "%s", turns);
  cholesky_holes(&p, &k, cholesky, type);
  halo_linalg_vector_holes(&p, &k, type, cut.lanes);
  halo_template_define_int(&k, "H_PANELS", cut.panels);
  halo_template_define_int(&k, "H_B", cut.columns);
  halo_template_define_int(&k, "H_ROWS", cut.rows);
  halo_template_define_int(&k, "H_NV", cut.vectors);
  halo_kernel_group(l, 1, 1);
  size_t size = halo_type_size(type);
  halo_kernel_private(l, halo_private_room(cut.columns * cut.columns, size), size);
  halo_kernel_private(l, halo_private_room(cut.columns, size), size);
  halo_kernel_private(l, cut.rows * cut.vectors * cut.lanes, size);
  halo_helpers_finish(&p, &k);
  for (int64_t turn = 0; turn < cut.panels; turn++) {
    for (int32_t a = 0; a < p.e.args.count; a++) { /* the one argument that is no buffer */
      if (p.e.args.data[a].role == HALO_ROLE_VALUE) p.e.args.data[a].number = turn;
    }
    halo_launch *launch = halo_helpers_launch(&p, "cholesky:panels");
    launch->grid.dims = 2;
    launch->grid.global[0] = (size_t)(cut.panels - turn);
    launch->grid.global[1] = (size_t)batch;
  }
  return halo_helpers_end(&p);
}

static const halo_implementation cholesky_implementations[] = {
    {"group", cholesky_group_supports, cholesky_group_cost, cholesky_group_lower,
     .in_groups = true},
    {"panels", halo_loop_supports, cholesky_panels_cost, cholesky_panels_lower},
    {0}};
const halo_family halo_family_cholesky = {"cholesky", HALO_OP_CHOLESKY, cholesky_implementations};
