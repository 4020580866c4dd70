/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/lapack.c: factorisations of small matrices as LAPACK's routines have them (hlo/lapack.h): a work item a
 * matrix, in its private memory, or a work group, in its local memory. */
#include "hlo/lapack.h"

#include "codegen/ctype.h"
#include "kernels/families.h"
#include "kernels/linalg/lapack_text.h"

extern const char halo_cl_lapack_lu[], halo_cl_lapack_cholesky[], halo_cl_lapack_qr[],
    halo_cl_lapack_q[];

static const char *lapack_template(halo_lapack_routine routine) {
  switch (routine) {
    case HALO_LAPACK_GETRF: return halo_cl_lapack_lu;
    case HALO_LAPACK_POTRF: return halo_cl_lapack_cholesky;
    case HALO_LAPACK_GEQRF: return halo_cl_lapack_qr;
    case HALO_LAPACK_ORGQR: return halo_cl_lapack_q;
  }
  return NULL;
}

/* ---- Launches ---- */

/* The extents of a work group: about a row of few, and as many rows as fit. */
static void lapack_group(const halo_caps *caps, const halo_lapack_desc *v, size_t group[2]) {
  enum { ROW = 16 };
  const int64_t extents[2] = {v->columns, v->rows};
  group[0] = group[1] = 1;
  for (int d = 0; d < 2; d++) {
    while (group[d] < ROW && (int64_t)group[d] < extents[d] && 2 * group[d] <= caps->max_items[d] &&
           2 * group[0] * group[1] <= caps->max_work_group) {
      group[d] *= 2;
    }
  }
}

static halo_status lapack_lower(halo_lowering *l, bool by_item) {
  const halo_lapack_desc *v = l->desc;
  if (v->batch == 0) return HALO_OK;
  halo_helpers p;
  halo_linalg_begin(&p, l, halo_kernel_name(l, by_item ? "item" : "group"), v->type, false);
  lapack_emit_helpers(&p, v);
  halo_template k;
  halo_helpers_template(&p, &k, lapack_template(v->routine), "");
  lapack_holes(&p, &k, v);
  halo_template_define_int(&k, "H_LOWER", v->lower);
  halo_template_define_int(&k, "H_ALONE", by_item);
  /* Rows in local memory are one longer than they need, so that columns do not lie in one bank of it. */
  halo_template_define(
      &k, "H_AT", by_item ? "H_AT(i, j) ((i) * H_N + (j))" : "H_AT(i, j) ((i) * (H_N + 1) + (j))");
  halo_template_define(&k, "H_BARRIER",
                       by_item ? "H_BARRIER" : "H_BARRIER " HALO_BARRIER "CLK_LOCAL_MEM_FENCE);");
  size_t group[2] = {1, 1};
  if (!by_item) lapack_group(l->caps, v, group);
  halo_template_define_int(&k, "H_X", (long long)group[0]);
  halo_template_define_int(&k, "H_Y", (long long)group[1]);
  size_t size = halo_type_size(v->type);
  bool has_sums = v->routine == HALO_LAPACK_GEQRF || v->routine == HALO_LAPACK_ORGQR;
  int64_t sums = has_sums ? v->columns : 0, spare = 64 / (int64_t)size;
  if (by_item) {
    halo_kernel_private(l, v->rows * v->columns + spare + (sums ? sums + spare : 0), size);
  } else {
    halo_kernel_group(l, group[0], group[1]);
    halo_kernel_local(l, v->rows * (v->columns + 1) + sums, size);
  }
  halo_helpers_finish(&p, &k);
  halo_launch *launch = halo_helpers_launch(&p, by_item ? "lapack:item" : "lapack:group");
  if (by_item) {
    lapack_launch_items(l->caps, launch, v->batch);
  } else {
    launch->grid.dims = 2;
    launch->grid.global[0] = group[0] * (size_t)v->batch;
    launch->grid.global[1] = group[1];
  }
  return halo_helpers_end(&p);
}

/* ---- A matrix a work item ---- */

static bool lapack_fits_group(const halo_caps *caps, const halo_lapack_desc *v) {
  size_t columns = (size_t)v->columns;
  return ((size_t)v->rows * (columns + 1) + columns) * halo_type_size(v->type) <=
         caps->local_memory;
}

static bool lapack_item_supports(const halo_lowering *l, const char **why) {
  enum { GPU_ELEMENTS = 1024 };
  const halo_lapack_desc *v = l->desc;
  int64_t elements = v->rows * v->columns, bytes = elements * (int64_t)halo_type_size(v->type);
  *why = "the matrix is too large for a work item's private memory";
  if (l->caps->is_cpu) return bytes <= HALO_LAPACK_OWN;
  return elements <= GPU_ELEMENTS &&
         (bytes <= halo_caps_private_bytes(l->caps) || !lapack_fits_group(l->caps, v));
}

static double lapack_item_cost(const halo_lowering *l) {
  const halo_lapack_desc *v = l->desc;
  return lapack_items_cost(l, halo_lapack_operations(v) + halo_lowering_prices(l)->lapack_start,
                           v->batch);
}

static halo_status lapack_item_lower(halo_lowering *l) { return lapack_lower(l, true); }

/* ---- A matrix a work group ---- */

static bool lapack_group_supports(const halo_lowering *l, const char **why) {
  const halo_lapack_desc *v = l->desc;
  *why = "the device has too little local memory";
  return lapack_fits_group(l->caps, v);
}

/* Steps wait for each other a few times, and what is looked for in a column is not shared out. */
static double lapack_group_cost(const halo_lowering *l) {
  const halo_lapack_desc *v = l->desc;
  const halo_prices *p = halo_lowering_prices(l);
  size_t group[2];
  lapack_group(l->caps, v, group);
  double items = l->caps->is_cpu ? 1 : (double)(group[0] * group[1]), batch = (double)v->batch;
  double steps = (double)v->steps * (p->lapack_step + (double)v->rows);
  double each = halo_lapack_operations(v) + steps * items;
  return p->launch + halo_lowering_operations(l, batch * each, batch * items);
}

static halo_status lapack_group_lower(halo_lowering *l) { return lapack_lower(l, false); }

/* ---- LAPACK itself ---- */

static bool lapack_host_works_on(const halo_caps *caps, const char **why) {
  (void)caps; /* any device's host will do */
  *why = "LAPACK is not installed (liblapacke.so.3)";
  return halo_lapack_has_library();
}

static bool lapack_host_supports(const halo_lowering *l, const char **why) {
  const halo_instr *call = halo_lowering_root(l);
  *why = "LAPACK is not installed";
  bool plain = true; /* whether the fusion's operands are those of the call */
  for (int32_t i = 0; i < call->operand_count; i++) {
    plain &= call->operands[i]->opcode == HALO_OP_PARAMETER;
  }
  return plain && halo_lapack_is_installed(call);
}

/* The host waits for what comes before, and calls LAPACK for each matrix. */
static double lapack_host_cost(const halo_lowering *l) {
  const halo_prices *p = halo_lowering_prices(l);
  const halo_lapack_desc *v = l->desc;
  double each = p->host_lapack_call + halo_lapack_operations(v) / p->host_lapack_rate;
  return p->host_lapack_wait * p->launch + (double)v->batch * each;
}

static halo_status lapack_host_lower(halo_lowering *l) {
  l->host_call = halo_lowering_root(l);
  return HALO_OK;
}

static const halo_implementation lapack_implementations[] = {
    {"lines", lapack_lines_supports, lapack_lines_cost, lapack_lines_lower,
     .works_on = halo_kernels_on_cpus},
    {"item", lapack_item_supports, lapack_item_cost, lapack_item_lower},
    {"group", lapack_group_supports, lapack_group_cost, lapack_group_lower, .in_groups = true},
    {"host", lapack_host_supports, lapack_host_cost, lapack_host_lower,
     .works_on = lapack_host_works_on, .in_groups = true},
    {0}};
const halo_family halo_family_lapack = {"lapack", HALO_OP_CUSTOM_CALL, lapack_implementations,
                                        lapack_describe};
