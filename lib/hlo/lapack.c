/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/lapack.c: custom calls of LAPACK's routines that kernels do for small matrices. */
#include "hlo/lapack.h"

#include "custom/custom.h"

#include <string.h>

/* A routine by its names for real and complex numbers. */
typedef struct lapack_row {
  halo_lapack_routine routine;
  const char *name, *complex_name;
} lapack_row;

static const lapack_row lapack_rows[] = {{HALO_LAPACK_GETRF, "getrf", "getrf"},
                                         {HALO_LAPACK_POTRF, "potrf", "potrf"},
                                         {HALO_LAPACK_GEQRF, "geqrf", "geqrf"},
                                         {HALO_LAPACK_ORGQR, "orgqr", "ungqr"}};

/* "lapack_sgetrf_ffi" and its kin. */
static const lapack_row *lapack_find(const char *target, halo_type *type) {
  static const char prefix[] = "lapack_", letters[] = "sdcz", suffix[] = "_ffi";
  static const halo_type types[] = {HALO_F32, HALO_F64, HALO_C64, HALO_C128};
  if (strncmp(target, prefix, strlen(prefix)) != 0) return NULL;
  const char *letter = target[7] ? strchr(letters, target[7]) : NULL;
  if (!letter) return NULL;
  *type = types[letter - letters];
  for (size_t i = 0; i < sizeof lapack_rows / sizeof lapack_rows[0]; i++) {
    const lapack_row *row = &lapack_rows[i];
    const char *name = halo_type_is_complex(*type) ? row->complex_name : row->name;
    size_t length = strlen(name);
    if (strncmp(target + 8, name, length) == 0 && strcmp(target + 8 + length, suffix) == 0) {
      return row;
    }
  }
  return NULL;
}

/* Attributes of the call: which triangle. */
static bool lapack_read_config(const halo_instr *call, halo_lapack_desc *v) {
  if (v->routine != HALO_LAPACK_POTRF) return true;
  const halo_attr *config = halo_instr_attr(call, HALO_ATTR_BACKEND_CONFIG);
  halo_arena scratch = {0};
  halo_custom_frame frame = {0};
  bool read = halo_custom_config_read(&scratch, config ? config->text : "", &frame) == HALO_OK;
  v->lower = halo_custom_call_integer(&frame, "uplo", 'L') == 'L';
  halo_arena_deinit(&scratch);
  return read;
}

bool halo_lapack_describe(const halo_instr *call, halo_lapack_desc *out) {
  if (call->opcode != HALO_OP_CUSTOM_CALL || call->operand_count < 1) return false;
  const halo_attr *target = halo_instr_attr(call, HALO_ATTR_CUSTOM_CALL_TARGET);
  halo_lapack_desc v = {0};
  const lapack_row *row = target ? lapack_find(target->text, &v.type) : NULL;
  if (!row || halo_custom_target_find(target->text) != halo_custom_lapack_find(target->text)) {
    return false;
  }
  v.routine = row->routine;
  /* Inference has held the shapes against what the routine takes and gives. */
  const halo_shape *a = call->operands[0]->shape;
  if (!halo_shape_is_array(a) || halo_shape_is_dynamic(a)) return false;
  v.rows = a->dims[a->rank - 2];
  v.columns = a->dims[a->rank - 1];
  v.steps = v.rows < v.columns ? v.rows : v.columns;
  v.batch = 1;
  for (int d = 0; d < a->rank - 2; d++) v.batch *= a->dims[d];
  if (v.routine == HALO_LAPACK_ORGQR) {
    const halo_shape *tau = call->operands[1]->shape;
    v.steps = tau->dims[tau->rank - 1];
  }
  if (!lapack_read_config(call, &v)) return false;
  *out = v;
  return true;
}

double halo_lapack_operations(const halo_lapack_desc *v) {
  double m = (double)v->rows, n = (double)v->columns, k = (double)v->steps;
  double each = 0;
  switch (v->routine) {
    case HALO_LAPACK_GETRF: each = k * (2 * m * n - k * (m + n) + 2 * k * k / 3); break;
    case HALO_LAPACK_POTRF: each = n * n * n / 3; break;
    case HALO_LAPACK_GEQRF: each = 2 * k * (2 * m * n - k * (m + n) + 2 * k * k / 3); break;
    case HALO_LAPACK_ORGQR: each = 2 * k * (2 * m * n - k * (m + n) + 2 * k * k / 3); break;
  }
  return halo_type_is_complex(v->type) ? 4 * each : each;
}

bool halo_lapack_has_short_reflectors(const halo_lapack_desc *v) {
  enum { COLUMNS = 8, OWN = 128 << 10 /* bytes of those that a work item has beside the matrix */ };
  bool reflectors = v->routine == HALO_LAPACK_GEQRF || v->routine == HALO_LAPACK_ORGQR;
  return reflectors && COLUMNS * v->rows * (int64_t)halo_type_size(v->type) <= OWN;
}

/* Bytes of a matrix that one work group holds, in local memory, or a work item of a CPU works on: in its own, or by
 * reflectors, several of which are applied at once, in what its caches hold, and in scratch memory. */
static int64_t lapack_room(const halo_lapack_desc *v, const halo_target *target) {
  enum { LOCAL = 16 << 10, NEAR = 1 << 20, SCRATCH = 1 << 28 };
  if (!halo_target_has_few_items(target)) return LOCAL;
  bool fits = halo_lapack_has_short_reflectors(v) && v->batch <= SCRATCH / NEAR;
  return fits ? NEAR : HALO_LAPACK_OWN;
}

bool halo_lapack_is_small(const halo_lapack_desc *v, const halo_target *target) {
  int64_t room = lapack_room(v, target);
  int64_t bytes = v->rows * v->columns * (int64_t)halo_type_size(v->type);
  return v->rows <= room && v->columns <= room && bytes <= room;
}

bool halo_lapack_has_library(void) { return halo_custom_target_find("lapack_sgeqrf_ffi") != NULL; }

bool halo_lapack_is_installed(const halo_instr *call) {
  const halo_attr *target = halo_instr_attr(call, HALO_ATTR_CUSTOM_CALL_TARGET);
  return target && halo_custom_target_find(target->text) != NULL;
}
