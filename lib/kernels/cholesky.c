/* kernels/cholesky.c: Cholesky factors of matrices that fit into the local memory of a work group; larger
 * ones are written as several by passes/expand_linalg.c. */
#include "codegen/ctype.h"
#include "hlo/linalg.h"
#include "kernels/linalg.h"

extern const char halo_cl_cholesky[];

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
  return halo_lowering_target(l)->launch +
         (double)halo_linalg_batch(shape) * n * n * n / halo_lowering_target(l)->rate;
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
  halo_parts p;
  halo_linalg_begin(&p, l, halo_kernel_name(l, "group"), type, false);
  for (int store = 0; store < 2; store++) {
    halo_emitter *e = &p.e;
    emit_frame *frame = halo_parts_open(&p);
    const halo_integer *b = halo_emit_counter(e, "b", batch);
    const halo_integer *x = halo_emit_counter(e, "x", n), *y = halo_emit_counter(e, "y", n);
    if (store) {
      halo_linalg_store(e, shape, type, b, x, y);
      halo_parts_close(&p, "void", "_out", "b, x, y", halo_ctype_compute(type));
    } else {
      halo_value value = halo_linalg_element(e, frame, cholesky->operands[0], b, x, y);
      halo_emit_line(e, "return %s;", value.text);
      halo_parts_close(&p, halo_ctype_compute(type), "_in", "b, x, y", NULL);
    }
  }
  size_t group[2];
  cholesky_group(l->caps, n, group);
  halo_template k;
  halo_parts_template(&p, &k, halo_cl_cholesky, "");
  halo_parts_call(&p, &k, "H_IN", "_in", "b, x, y");
  halo_parts_call(&p, &k, "H_OUT", "_out", "b, x, y, v");
  halo_linalg_holes(&p, &k, type);
  halo_template_define_int(&k, "H_N", n);
  halo_template_define_int(&k, "H_LOWER", halo_instr_bool(cholesky, HALO_ATTR_LOWER, false));
  halo_template_define_int(&k, "H_X", (long long)group[0]);
  halo_template_define_int(&k, "H_Y", (long long)group[1]);
  halo_template_finish(&k, l->source);
  halo_launch *launch = halo_parts_launch(&p, "cholesky:group");
  launch->dims = 2;
  launch->local[0] = group[0];
  launch->local[1] = group[1];
  launch->global[0] = group[0] * (size_t)batch;
  launch->global[1] = group[1];
  return halo_parts_end(&p);
}

static const halo_implementation cholesky_implementations[] = {
    {"group", cholesky_group_supports, cholesky_group_cost, cholesky_group_lower}, {0}};
const halo_family halo_family_cholesky = {"cholesky", HALO_OP_CHOLESKY, cholesky_implementations};
