/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fold.c: tiny reductions, which the host does within their exchange, give the bits that kernels give:
 * for each type and operation that it knows, on values at the edges, in the order of members and in pairs. */
#include "client/client.h"
#include "client/executable.h"
#include "plan/plan.h"
#include "run_test.h"
#include "suite.h"

#include <stdarg.h>

enum { FOLD_PART = 3, FOLD_MOST = 33, FOLD_OPS = 7 };

/* Elements, so that all members' are tiny together; few members' are in several blocks. */
static int count_of(int n) { return n > 3 ? 30 : 150; }

typedef struct fold_type {
  halo_type type;
  const char *name, *wide; /* what sums are made in */
  const char *ops;         /* words; sums and products come first */
} fold_type;

static const char arithmetic[] = "add multiply maximum minimum";
static const char all_of_them[] = "add multiply maximum minimum and or xor";
static const fold_type fold_types[] = {
    {HALO_F16, "f16", "f32", arithmetic},    {HALO_BF16, "bf16", "f32", arithmetic},
    {HALO_F32, "f32", "f32", arithmetic},    {HALO_F64, "f64", "f64", arithmetic},
    {HALO_C64, "c64", "c64", "add"},         {HALO_C128, "c128", "c128", "add"},
    {HALO_S8, "s8", "s8", all_of_them},      {HALO_S16, "s16", "s16", all_of_them},
    {HALO_S32, "s32", "s32", all_of_them},   {HALO_S64, "s64", "s64", all_of_them},
    {HALO_U8, "u8", "u8", all_of_them},      {HALO_U16, "u16", "u16", all_of_them},
    {HALO_U32, "u32", "u32", all_of_them},   {HALO_U64, "u64", "u64", all_of_them},
    {HALO_PRED, "pred", "pred", all_of_them}};

/* ---- Programs ---- */

typedef struct fold_text {
  char data[1 << 18];
  size_t length;
  int next; /* number of the next value */
} fold_text;

__attribute__((format(printf, 2, 3))) static void say(fold_text *t, const char *format, ...) {
  va_list list;
  va_start(list, format);
  t->length += (size_t)vsnprintf(t->data + t->length, sizeof t->data - t->length, format, list);
  va_end(list);
  ck_assert_uint_lt(t->length, sizeof t->data);
}

static int words(const char *list, char out[FOLD_OPS][16]) {
  int count = 0, used = 0;
  for (; sscanf(list, "%15s%n", out[count], &used) == 1; list += used) count++;
  return count;
}

static void say_head(fold_text *t, const fold_type *type, int n, char ops[FOLD_OPS][16],
                     int count) {
  say(t, "HloModule fold, replica_count=%d\n", n);
  for (int o = 0; o < count; o++) {
    say(t, "r%s { a = %s[] parameter(0)  b = %s[] parameter(1)  ROOT c = %s[] %s(a, b) }\n", ops[o],
        type->name, type->name, type->name, ops[o]);
  }
  say(t, "ENTRY e {\n  x = %s[%d] parameter(0)\n  y = %s[%d] parameter(1)\n", type->name,
      count_of(n), type->name, FOLD_PART * n);
}

static void say_tail(fold_text *t, const fold_type *type, int n, char ops[FOLD_OPS][16],
                     int count) {
  say(t, "  ROOT t = (");
  for (int o = 0; o < 2 * count; o++) {
    say(t, "%s%s[%d]", o ? ", " : "", type->name, o % 2 ? FOLD_PART : count_of(n));
  }
  say(t, ") tuple(");
  for (int o = 0; o < count; o++) say(t, "%ss%s, p%s", o ? ", " : "", ops[o], ops[o]);
  say(t, ")\n}\n");
}

/* By the operations that are tested. */
static void say_folded(fold_text *t, const fold_type *type, int n) {
  char ops[FOLD_OPS][16];
  int count = words(type->ops, ops);
  t->length = 0;
  say_head(t, type, n, ops, count);
  for (int o = 0; o < count; o++) {
    say(t, "  s%s = %s[%d] all-reduce(x), replica_groups={}, to_apply=r%s\n", ops[o], type->name,
        count_of(n), ops[o]);
    say(t, "  p%s = %s[%d] reduce-scatter(y), replica_groups={}, dimensions={0}, to_apply=r%s\n",
        ops[o], type->name, FOLD_PART, ops[o]);
  }
  say_tail(t, type, n, ops, count);
}

/* Rows of `from`, [n, size], combined: the number of the value. */
static int say_rows(fold_text *t, const fold_type *type, const char *op, const char *from, int n,
                    int size) {
  int values[FOLD_MOST];
  /* The larger of two is one of them, bit by bit; conversions make NaNs quiet. */
  bool chooses = strcmp(op, "maximum") == 0 || strcmp(op, "minimum") == 0;
  const char *wide = chooses ? type->name : type->wide;
  for (int i = 0; i < n; i++) {
    say(t, "  v%d = %s[1,%d] slice(%s), slice={[%d:%d], [0:%d]}\n", t->next, type->name, size, from,
        i, i + 1, size);
    say(t, "  v%d = %s[%d] reshape(v%d)\n", t->next + 1, type->name, size, t->next);
    say(t, "  v%d = %s[%d] convert(v%d)\n", t->next + 2, wide, size, t->next + 1);
    t->next += 3;
    values[i] = t->next - 1;
  }
  for (int left = n; left > 1;) {
    int made = 0;
    for (int i = 0; i < left; i += 2) {
      bool pair = i + 1 < left && (n >= 32 || i == 0);
      if (pair) {
        say(t, "  v%d = %s[%d] %s(v%d, v%d)\n", t->next, wide, size, op, values[i], values[i + 1]);
      }
      values[made++] = pair ? t->next++ : values[i];
      if (!pair && n < 32) i--;
    }
    left = made;
  }
  say(t, "  v%d = %s[%d] convert(v%d)\n", t->next, type->name, size, values[0]);
  return t->next++;
}

/* By kernels, from what is gathered. */
static void say_gathered(fold_text *t, const fold_type *type, int n) {
  char ops[FOLD_OPS][16];
  int count = words(type->ops, ops);
  t->length = 0;
  say_head(t, type, n, ops, count);
  say(t, "  z = %s[1,%d] reshape(x)\n", type->name, count_of(n));
  say(t, "  g = %s[%d,%d] all-gather(z), replica_groups={}, dimensions={0}\n", type->name, n,
      count_of(n));
  say(t, "  u = %s[%d,%d] reshape(y)\n", type->name, n, FOLD_PART);
  say(t, "  w = %s[%d,%d] all-to-all(u), replica_groups={}, dimensions={0}\n", type->name, n,
      FOLD_PART);
  for (int o = 0; o < count; o++) {
    int all = say_rows(t, type, ops[o], "g", n, count_of(n));
    say(t, "  s%s = %s[%d] copy(v%d)\n", ops[o], type->name, count_of(n), all);
    int part = say_rows(t, type, ops[o], "w", n, FOLD_PART);
    say(t, "  p%s = %s[%d] copy(v%d)\n", ops[o], type->name, FOLD_PART, part);
  }
  say_tail(t, type, n, ops, count);
}

/* ---- Values ---- */

static uint64_t fold_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 32 | *state << 32;
}

/* Edges of floats with so many bits, of which some are the mantissa's: zeros, infinities, NaNs (quiet, or not, with
 * payloads), subnormals, the largest, one; then any bits. */
static uint64_t float_bits(int bits, int mantissa, uint64_t *state) {
  uint64_t sign = (uint64_t)1 << (bits - 1), infinity = sign - ((uint64_t)1 << mantissa);
  uint64_t quiet = (uint64_t)1 << (mantissa - 1), r = fold_random(state);
  uint64_t one = (((uint64_t)1 << (bits - mantissa - 2)) - 1) << mantissa;
  const uint64_t edges[] = {0,
                            infinity,
                            infinity | quiet,
                            1,
                            infinity - 1,
                            one,
                            quiet,
                            one + 1,
                            infinity | quiet | 5,
                            infinity | (quiet >> 1)};
  enum { EDGES = sizeof edges / sizeof edges[0] };
  uint64_t value = r % 3 ? fold_random(state) : edges[(r >> 8) % EDGES];
  /* Mostly of numbers that do something to each other. */
  if (r % 3 == 1) value = one + (value % (one >> 2)) - (one >> 3);
  return (value & (sign - 1)) | (r >> 40 & 1 ? sign : 0);
}

static void fill(halo_type type, int64_t count, uint64_t *state, char *out) {
  size_t size = halo_type_size(type);
  bool complex = type == HALO_C64 || type == HALO_C128;
  if (complex) {
    fill(type == HALO_C64 ? HALO_F32 : HALO_F64, 2 * count, state, out);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    uint64_t value = fold_random(state);
    if (value % 4 == 0) value = value % 8 ? UINT64_MAX >> 1 : (uint64_t)1 << (8 * size - 1);
    if (type == HALO_PRED) value &= 1;
    if (type == HALO_F16) value = float_bits(16, 10, state);
    if (type == HALO_BF16) value = float_bits(16, 7, state);
    if (type == HALO_F32) value = float_bits(32, 23, state);
    if (type == HALO_F64) value = float_bits(64, 52, state);
    memcpy(out + size * (size_t)i, &value, size);
  }
}

/* ---- Runs ---- */

static halo_buffer *put_random(halo_device *device, halo_type type, int64_t count,
                               uint64_t *state) {
  halo_shape *shape;
  halo_buffer *buffer;
  size_t bytes = halo_type_size(type) * (size_t)count;
  char *data = malloc(bytes);
  fill(type, count, state, data);
  ck_ok(halo_shape_create_array(type, 1, &count, &shape));
  ck_ok(halo_buffer_put(device, data, NULL, shape, &buffer, NULL));
  halo_shape_release(shape);
  free(data);
  return buffer;
}

static void run_all(halo_executable *e, int n, halo_buffer *(*in)[2],
                    halo_buffer *(*out)[2 * FOLD_OPS]) {
  halo_buffer *const *arguments[FOLD_MOST];
  halo_buffer **results[FOLD_MOST];
  for (int d = 0; d < n; d++) {
    arguments[d] = in[d];
    results[d] = out[d];
  }
  ck_ok(halo_executable_execute_all(e, arguments, 2, NULL, results));
}

/* Whether the bits are a NaN; of a complex number, whether a part is. */
static bool is_nan(halo_type type, const char *bits) {
  uint64_t value = 0;
  if (type == HALO_C64) return is_nan(HALO_F32, bits) || is_nan(HALO_F32, bits + 4);
  if (type == HALO_C128) return is_nan(HALO_F64, bits) || is_nan(HALO_F64, bits + 8);
  memcpy(&value, bits, halo_type_size(type));
  if (type == HALO_F16) return (value & 0x7fff) > 0x7c00;
  if (type == HALO_BF16) return (value & 0x7fff) > 0x7f80;
  if (type == HALO_F32) return (value & 0x7fffffff) > 0x7f800000;
  return type == HALO_F64 && (value & INT64_MAX) > 0x7ff0000000000000;
}

/* Where subnormal numbers are flushed, it is up to the device's compiler whether what only passes them on, as a maximum
 * may, flushes them: they are zero either way. */
static bool keeps_subnormals(void) {
  const char *wish = getenv("HALO_DENORMALS");
  return wish && strcmp(wish, "keep") == 0;
}

static void flush(halo_type type, char *bits) {
  halo_type real = type == HALO_C64 ? HALO_F32 : type == HALO_C128 ? HALO_F64 : type;
  size_t size = halo_type_size(real);
  uint64_t least = real == HALO_F64 ? UINT64_C(1) << 52 : real == HALO_F32 ? 1 << 23 : 1 << 7;
  if (real != HALO_F64 && real != HALO_F32 && real != HALO_BF16) return;
  for (size_t part = 0; part < halo_type_size(type); part += size) {
    uint64_t value = 0, sign = UINT64_C(1) << (8 * size - 1);
    memcpy(&value, bits + part, size);
    if ((value & (sign - 1)) < least) value &= sign;
    memcpy(bits + part, &value, size);
  }
}

/* The two programs' results are the same. `any_nan`: which of two NaNs it gives is the device compiler's choice. */
static void compare(halo_buffer *folded, halo_buffer *gathered, bool any_nan, const char *what) {
  char got[4096], want[4096];
  const halo_shape *shape = halo_buffer_shape(folded);
  size_t size = halo_type_size(halo_shape_type(shape));
  size_t bytes = size * (size_t)halo_shape_element_count(shape);
  ck_assert_uint_le(bytes, sizeof got);
  ck_ok(halo_buffer_to_host(folded, got, bytes));
  ck_ok(halo_buffer_to_host(gathered, want, bytes));
  for (size_t i = 0; i < bytes; i += size) {
    uint64_t a = 0, b = 0;
    halo_type type = halo_shape_type(shape);
    if (any_nan && is_nan(type, got + i) && is_nan(type, want + i)) continue;
    if (!keeps_subnormals()) {
      flush(type, got + i);
      flush(type, want + i);
    }
    size_t shown = size < 8 ? size : 8;
    memcpy(&a, got + i, shown);
    memcpy(&b, want + i, shown);
    ck_assert_msg(memcmp(got + i, want + i, size) == 0, "%s: element %zu is %llx, by kernels %llx",
                  what, i / size, (unsigned long long)a, (unsigned long long)b);
  }
}

static void check_type(halo_client *client, const fold_type *type, int n) {
  static fold_text folded, gathered;
  char ops[FOLD_OPS][16], what[64];
  int count = words(type->ops, ops);
  uint64_t state = (uint64_t)n * 977 + (uint64_t)type->type;
  say_folded(&folded, type, n);
  say_gathered(&gathered, type, n);
  halo_executable *a = run_compile(client, folded.data), *b = run_compile(client, gathered.data);
  const halo_plan *plan = halo_executable_plan(a);
  for (int32_t i = 0; i < plan->steps.count; i++) {
    const halo_step *step = &plan->steps.data[i];
    ck_assert_msg(step->kind == HALO_STEP_COLLECTIVE && step->collective->fold != HALO_FOLD_NONE,
                  "%s: step %d is not done by the host", type->name, i);
  }
  halo_buffer *in[FOLD_MOST][2], *out[FOLD_MOST][2 * FOLD_OPS], *want[FOLD_MOST][2 * FOLD_OPS];
  for (int d = 0; d < n; d++) {
    halo_device *device = halo_executable_device(a, d);
    in[d][0] = put_random(device, type->type, count_of(n), &state);
    in[d][1] = put_random(device, type->type, FOLD_PART * n, &state);
  }
  run_all(a, n, in, out);
  run_all(b, n, in, want);
  for (int d = 0; d < n; d++) {
    for (int r = 0; r < 2 * count; r++) {
      snprintf(what, sizeof what, "%s of %s in %d, replica %d, result %d", ops[r / 2], type->name,
               n, d, r % 2);
      compare(out[d][r], want[d][r], r / 2 < 2, what);
      halo_buffer_release(out[d][r]);
      halo_buffer_release(want[d][r]);
    }
    for (int i = 0; i < 2; i++) halo_buffer_release(in[d][i]);
  }
  halo_executable_release(a);
  halo_executable_release(b);
}

/* Three are combined one after the other, 33 in pairs. */
START_TEST(same_bits) {
  static const int sizes[] = {2, 3, FOLD_MOST};
  int n = sizes[_i];
  char name[16];
  halo_client *client;
  snprintf(name, sizeof name, "0:0*%d", n);
  halo_client_options options = {.device = name, .cache_dir = ""};
  ck_ok(halo_client_create(&options, &client));
  for (size_t t = 0; t < sizeof fold_types / sizeof fold_types[0]; t++) {
    check_type(client, &fold_types[t], n);
  }
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("fold");
  TCase *tc = tcase_create("fold");
  tcase_set_timeout(tc, 560);
  tcase_add_loop_test(tc, same_bits, 0, 3);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}
