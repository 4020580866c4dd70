/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/fft/fft.c: fft: which passes a transform takes, and what each does; fft.h says how they work. */
#include "kernels/fft/fft.h"

#include "codegen/ctype.h"
#include "kernels/families.h"

enum { FFT_FORWARD, FFT_INVERSE, FFT_REAL, FFT_REAL_INVERSE, FFT_DIGITS = 4 };

/* A transform in the making. */
typedef struct fft_plan {
  halo_lowering *l;
  const halo_instr *fft;
  halo_type part;
  bool inverse;
  int64_t dims[HALO_MAX_RANK]; /* of what is there now */
  int64_t capacity;            /* elements that a group can hold */
  int64_t lanes;               /* lines that a group should hold side by side */
  int at;                      /* where that is: FFT_ARRAY or a scratch */
  int64_t scratch;             /* elements of the largest one */
  double scale;
  HALO_VEC(fft_pass) passes;
} fft_plan;

/* ---- Cutting ---- */

/* A line takes four arrays of its length: two that are read and two that are written. Work items of a CPU
 * have them in their core's cache. */
static int64_t fft_capacity(const halo_caps *caps, halo_type part) {
  enum { CPU_BYTES = 256 << 10, GPU_BYTES = 32 << 10 };
  int64_t bytes = caps->is_cpu ? CPU_BYTES : GPU_BYTES;
  if (!caps->is_cpu && (int64_t)caps->local_memory < bytes) bytes = (int64_t)caps->local_memory;
  return bytes / (4 * (int64_t)halo_type_size(part));
}

static bool fft_is_prime(int n) {
  for (int d = 2; d * d <= n; d++) {
    if (n % d == 0) return false;
  }
  return true;
}

/* Digits of a length that are at most `most`, as few and as equal as possible; their number, or 0. */
static int fft_split(int64_t n, int64_t most, int64_t digits[FFT_DIGITS]) {
  int64_t factors[64];
  int factor_count = 0;
  digits[0] = n;
  if (n <= most) return 1;
  for (int r = FFT_LARGEST; r > 1; r--) {
    if (!fft_is_prime(r)) continue;
    for (; n % r == 0; n /= r) factors[factor_count++] = r;
  }
  for (int count = 2; count <= FFT_DIGITS; count++) {
    bool fits = true;
    for (int d = 0; d < count; d++) digits[d] = 1;
    for (int i = 0; i < factor_count; i++) {
      int smallest = 0;
      for (int d = 1; d < count; d++) smallest = digits[d] < digits[smallest] ? d : smallest;
      digits[smallest] *= factors[i];
    }
    for (int d = 0; d < count; d++) fits &= digits[d] <= most;
    if (fits) return count;
  }
  return 0;
}

static int64_t fft_min(int64_t a, int64_t b) { return a < b ? a : b; }

static void fft_cut(const fft_plan *p, fft_pass *pass) {
  bool is_cpu = p->l->caps->is_cpu;
  int64_t along = pass->inner > 1 ? pass->inner : pass->lead;
  /* Whole lines that follow each other need no neighbours, unless they are short. */
  bool alone = pass->inner == 1 && pass->before == 1;
  int64_t wanted = p->lanes;
  int longest = pass->radices[pass->stage_count > 0 ? pass->stage_count - 1 : 0];
  /* A long sum has neighbours in its line where that has other radices. */
  bool thin = longest > FFT_WRITTEN && pass->n / longest < p->lanes;
  if (alone && !(thin && is_cpu)) wanted = pass->n >= 256 ? 1 : is_cpu ? p->lanes : 512 / pass->n;
  pass->lanes = fft_min(fft_min(wanted, along), p->capacity / pass->n);
  if (pass->lanes < 1) pass->lanes = 1;
  pass->items = 1;
  if (is_cpu) return;
  int64_t work = pass->n * pass->lanes / 4,
          most = fft_min(256, (int64_t)p->l->caps->max_work_group);
  while (pass->items * 2 <= most && pass->items < work) pass->items *= 2;
  if (pass->items < 2) pass->items = 2;
}

/* ---- Passes ---- */

/* The passes of one axis, or of one half of a convolution: `ends` says what the first and the last one do. */
static halo_status fft_add(fft_plan *p, const fft_pass *ends) {
  int64_t digits[FFT_DIGITS], outer = 1, before = 1;
  int64_t narrow = p->capacity / fft_min(ends->tail, 4);
  int count = fft_split(ends->length, narrow, digits);
  if (count > 1) count = fft_split(ends->length, p->capacity / p->lanes, digits);
  if (count == 0)
    return halo_fail(HALO_UNIMPLEMENTED, "a transform of %lld elements is too long",
                     (long long)ends->axis);
  for (int d = 0; d < ends->dimension; d++) outer *= p->dims[d];
  for (int d = 0; d < count; d++) {
    fft_pass pass = *ends;
    pass.part = p->part;
    pass.n = digits[d];
    pass.before = before;
    pass.lead = outer * before;
    before *= digits[d];
    pass.inner = ends->length / before * ends->tail;
    pass.first = d == 0;
    pass.last = d + 1 == count;
    pass.from = p->at;
    p->at = pass.to = p->at == 0 ? 1 : 0;
    for (int k = 0; k < d; k++) pass.digits[k] = digits[k];
    if (!pass.first) {
      pass.before_table = NULL;
      pass.swap_in = pass.mirror = false;
    }
    int64_t total = outer * ends->length * ends->tail;
    if (total > p->scratch) p->scratch = total;
    pass.stage_count = fft_factor(pass.n, pass.radices);
    fft_cut(p, &pass);
    pass.roots = fft_table_roots(p->l, &pass);
    if (!pass.last) {
      int64_t turn = pass.n * (pass.inner / pass.tail);
      for (pass.twiddles_fine = 1; pass.twiddles_fine * pass.twiddles_fine < turn;)
        pass.twiddles_fine *= 2;
      pass.twiddles = fft_table_twiddles(p->l, p->part, turn, pass.twiddles_fine);
    }
    HALO_TRY(p->l->tables_status);
    halo_vec_push(&p->passes, pass);
  }
  return HALO_OK;
}

/* One axis, of which `out` elements are left; `real`: its elements are real numbers. */
static halo_status fft_add_axis(fft_plan *p, int axis, int64_t length, int64_t out, bool real) {
  int radices[FFT_STAGES];
  fft_pass ends = {.dimension = axis, .length = length, .axis = length, .tail = 1, .scale = 1};
  for (int d = axis + 1; d < p->fft->shape->rank; d++) ends.tail *= p->dims[d];
  ends.extent_in = p->dims[axis];
  ends.extent_out = out;
  ends.mirror = ends.extent_in < length;
  ends.swap_in = ends.swap_out = p->inverse;
  ends.real = real;
  if (fft_factor(length, radices) >= 0) {
    HALO_TRY(fft_add(p, &ends));
  } else {
    fft_pass there = ends, back = ends;
    int64_t m = fft_padded(2 * length - 1);
    there.length = there.extent_out = back.length = back.extent_in = m;
    there.before_table = fft_table_chirp(p->l, p->part, length);
    there.after_table = fft_table_filter(p->l, p->part, length, m);
    there.swap_out = true;
    there.real = false;
    HALO_TRY(p->l->tables_status);
    HALO_TRY(fft_add(p, &there));
    back.mirror = back.swap_in = false;
    back.swap_middle = true;
    back.after_table = there.before_table;
    HALO_TRY(fft_add(p, &back));
  }
  p->dims[axis] = out;
  return HALO_OK;
}

static halo_status fft_plan_axes(fft_plan *p) {
  const halo_instr *fft = p->fft;
  int64_t kind = halo_instr_int(fft, HALO_ATTR_FFT_TYPE, FFT_FORWARD);
  int32_t count;
  const int64_t *lengths = halo_instr_ints(fft, HALO_ATTR_FFT_LENGTH, &count);
  int rank = fft->shape->rank;
  p->inverse = kind == FFT_INVERSE || kind == FFT_REAL_INVERSE;
  p->scale = 1;
  for (int32_t i = 0; i < count; i++) p->scale *= p->inverse ? 1.0 / (double)lengths[i] : 1;
  /* Half a spectrum is made first, and completed last. */
  for (int32_t i = 0; i < count; i++) {
    int32_t k = kind == FFT_REAL_INVERSE ? i : count - 1 - i;
    bool real = kind == FFT_REAL && i == 0;
    HALO_TRY(
        fft_add_axis(p, rank - count + k, lengths[k], fft->shape->dims[rank - count + k], real));
  }
  return HALO_OK;
}

static halo_status fft_stockham_lower(halo_lowering *l) {
  const halo_instr *fft = l->hero;
  if (halo_shape_element_count(fft->shape) == 0) return HALO_OK;
  fft_plan p = {.l = l, .fft = fft, .part = halo_type_real_part(fft->shape->type)};
  p.capacity = fft_capacity(l->caps, p.part);
  p.lanes = l->caps->is_cpu ? 64 / (int64_t)halo_type_size(p.part) : 8;
  p.at = FFT_ARRAY;
  for (int d = 0; d < fft->shape->rank; d++) p.dims[d] = fft->operands[0]->shape->dims[d];
  halo_status status = fft_plan_axes(&p);
  int32_t count = p.passes.count;
  if (status == HALO_OK) {
    p.passes.data[count - 1].to = FFT_ARRAY;
    p.passes.data[count - 1].scale = p.scale;
  }
  int64_t bytes = p.scratch * 2 * (int64_t)halo_type_size(p.part);
  for (int32_t s = 0; s < count - 1 && s < 2; s++) {
    halo_vec_push(&l->scratch, (halo_scratch){bytes});
  }
  for (int32_t i = 0; i < count && status == HALO_OK; i++) {
    status = fft_pass_lower(l, &p.passes.data[i]);
  }
  halo_vec_deinit(&p.passes);
  return status;
}

/* ---- The family ---- */

/* Elements go to memory and back once an axis. */
static double fft_stockham_cost(const halo_lowering *l) {
  int32_t count;
  (void)halo_instr_ints(l->hero, HALO_ATTR_FFT_LENGTH, &count);
  double elements = (double)halo_shape_element_count(l->hero->shape);
  double bytes = elements * (double)halo_type_size(l->hero->shape->type);
  return halo_lowering_seconds(l, halo_lowering_prices(l)->fft_pass * count * bytes, elements);
}

static const halo_implementation fft_implementations[] = {
    {"stockham", halo_loop_supports, fft_stockham_cost, fft_stockham_lower, .in_groups = true},
    {0}};
const halo_family halo_family_fft = {"fft", HALO_OP_FFT, fft_implementations};
