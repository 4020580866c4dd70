/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/infer_linalg.c: inference of fft, the factorisations and batch normalisation. */
#include "hlo/infer_util.h"

#include <string.h>

enum { LINALG_FFT = 0, LINALG_IFFT = 1, LINALG_RFFT = 2, LINALG_IRFFT = 3 };

/* The transformed (innermost) extents are the written lengths, but `last` for the last one. */
static halo_status linalg_check_lengths(const halo_instr *instr, const int64_t *lengths,
                                        int32_t count, int64_t last) {
  const halo_shape *from = halo_infer_operand(instr, 0);
  for (int32_t i = 0; i < count; i++) {
    int dim = from->rank - count + i;
    int64_t want = i == count - 1 ? last : lengths[i];
    /* XLA takes no elements for one. */
    bool degenerate = halo_type_is_complex(from->type) && want == 0 && from->dims[dim] == 1;
    if (from->dims[dim] != want && !degenerate) {
      return halo_infer_fail(instr, "dimension %d must be %lld to fit fft_length, but is %lld", dim,
                             (long long)want, (long long)from->dims[dim]);
    }
  }
  return HALO_OK;
}

halo_status halo_infer_fft(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  const halo_shape *from = halo_infer_operand(instr, 0);
  int64_t kind = halo_instr_int(instr, HALO_ATTR_FFT_TYPE, 0);
  int32_t count;
  const int64_t *lengths = halo_instr_ints(instr, HALO_ATTR_FFT_LENGTH, &count);
  if (count < 1 || count > 3) return halo_infer_fail(instr, "fft_length must have 1 to 3 entries");
  if (from->rank < count) {
    return halo_infer_fail(instr, "the operand must have at least %d dimension%s", count,
                           halo_plural(count));
  }
  for (int32_t i = 0; i < count; i++) {
    if (lengths[i] < 0) return halo_infer_fail(instr, "fft_length must not be negative");
  }
  int64_t dims[HALO_MAX_RANK], last = lengths[count - 1];
  memcpy(dims, from->dims, sizeof *dims * (size_t)from->rank);
  halo_type type = from->type;
  if (kind == LINALG_RFFT ? type != HALO_F32 && type != HALO_F64 : !halo_type_is_complex(type)) {
    return halo_infer_fail(instr, "the element type must be %s",
                           kind == LINALG_RFFT ? "f32 or f64" : "complex");
  }
  int64_t half = last == 0 ? 0 : last / 2 + 1, want = kind == LINALG_IRFFT ? half : last;
  /* Half of no elements is written as one, too. */
  if (kind == LINALG_IRFFT && last == 0 && dims[from->rank - 1] == 1) want = 1;
  HALO_TRY(linalg_check_lengths(instr, lengths, count, want));
  if (kind == LINALG_RFFT) {
    dims[from->rank - 1] = half;
    type = type == HALO_F32 ? HALO_C64 : HALO_C128;
  } else if (kind == LINALG_IRFFT) {
    dims[from->rank - 1] = last;
    type = halo_type_real_part(type);
  }
  *out = halo_shape_new_full(arena, type, from->rank, dims, from->dynamic, NULL);
  return HALO_OK;
}

static halo_status linalg_check_square(const halo_instr *instr, const halo_shape *a) {
  if (a->rank < 2) return halo_infer_fail(instr, "operand 0 must have at least 2 dimensions");
  if (a->dims[a->rank - 1] != a->dims[a->rank - 2]) {
    return halo_infer_fail(instr, "the last two dimensions of operand 0 must be equal");
  }
  return HALO_OK;
}

halo_status halo_infer_cholesky(const halo_instr *instr, halo_arena *arena,
                                const halo_shape **out) {
  const halo_shape *a = halo_infer_operand(instr, 0);
  HALO_TRY(linalg_check_square(instr, a));
  *out = halo_shape_with_default_layout(arena, a);
  return HALO_OK;
}

halo_status halo_infer_triangular_solve(const halo_instr *instr, halo_arena *arena,
                                        const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  const halo_shape *a = halo_infer_operand(instr, 0), *b = halo_infer_operand(instr, 1);
  HALO_TRY(linalg_check_square(instr, a));
  if (!halo_infer_types_agree(a->type, b->type)) {
    return halo_infer_fail(instr, "operands must have the same element type");
  }
  if (a->rank != b->rank) return halo_infer_fail(instr, "operands must have the same rank");
  for (int i = 0; i < a->rank - 2; i++) {
    if (a->dims[i] != b->dims[i]) {
      return halo_infer_fail(instr, "operands differ in batch dimension %d", i);
    }
  }
  bool left = halo_instr_bool(instr, HALO_ATTR_LEFT_SIDE, false);
  if (a->dims[a->rank - 1] != b->dims[b->rank - (left ? 2 : 1)]) {
    return halo_infer_fail(instr, "the shared dimension of a and b differs");
  }
  if (!halo_instr_attr(instr, HALO_ATTR_TRANSPOSE_A)) {
    return halo_infer_fail(instr, "the attribute transpose_a is missing");
  }
  *out = halo_shape_new_full(arena, halo_infer_result_type(instr, a->type, b->type), b->rank,
                             b->dims, b->dynamic, NULL);
  return HALO_OK;
}

/* ---- Batch normalisation ---- */

/* Operand 0 is the data; operands `from`..`to` are vectors of one value a feature. */
static halo_status linalg_check_batch_norm(const halo_instr *instr, int32_t from, int32_t to,
                                           int64_t *features) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  const halo_shape *x = halo_infer_operand(instr, 0);
  int64_t index = halo_instr_int(instr, HALO_ATTR_FEATURE_INDEX, 0);
  if (!halo_type_is_float(x->type)) {
    return halo_infer_fail(instr, "the element type must be float, not %s",
                           halo_type_name(x->type));
  }
  if (index < 0 || index >= x->rank) {
    return halo_infer_fail(instr, "feature_index %lld is outside the operand's %d dimension%s",
                           (long long)index, x->rank, halo_plural(x->rank));
  }
  *features = x->dims[index];
  for (int32_t i = from; i <= to; i++) {
    const halo_shape *vector = halo_infer_operand(instr, i);
    if (vector->rank != 1 || vector->dims[0] != *features) {
      return halo_infer_fail(instr, "operand %d must be a vector of the %lld features", i,
                             (long long)*features);
    }
    if (!halo_infer_types_agree(x->type, vector->type)) {
      return halo_infer_fail(instr, "operand %d must have the data's element type", i);
    }
  }
  return HALO_OK;
}

static const halo_shape *linalg_norm_result(halo_arena *arena, const halo_shape *x,
                                            int64_t features) {
  const halo_shape *vector = halo_shape_new(arena, x->type, 1, &features);
  const halo_shape *parts[] = {halo_shape_with_default_layout(arena, x), vector, vector};
  return halo_shape_new_tuple(arena, 3, parts);
}

halo_status halo_infer_batch_norm_training(const halo_instr *instr, halo_arena *arena,
                                           const halo_shape **out) {
  int64_t features;
  HALO_TRY(linalg_check_batch_norm(instr, 1, 2, &features));
  *out = linalg_norm_result(arena, halo_infer_operand(instr, 0), features);
  return HALO_OK;
}

halo_status halo_infer_batch_norm_inference(const halo_instr *instr, halo_arena *arena,
                                            const halo_shape **out) {
  int64_t features;
  HALO_TRY(linalg_check_batch_norm(instr, 1, 4, &features));
  *out = halo_shape_with_default_layout(arena, halo_infer_operand(instr, 0));
  return HALO_OK;
}

halo_status halo_infer_batch_norm_grad(const halo_instr *instr, halo_arena *arena,
                                       const halo_shape **out) {
  int64_t features;
  HALO_TRY(linalg_check_batch_norm(instr, 1, 3, &features));
  const halo_shape *x = halo_infer_operand(instr, 0), *dy = halo_infer_operand(instr, 4);
  if (!halo_shape_same_dims(x, dy) || !halo_infer_types_agree(x->type, dy->type)) {
    return halo_infer_fail(instr, "the gradient must have the data's shape");
  }
  *out = linalg_norm_result(arena, x, features);
  return HALO_OK;
}
