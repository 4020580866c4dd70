/* SPDX-License-Identifier: Apache-2.0 */
/* tests/math/test_lines.c: what CPUs compute in lines of neighbours, on arrays that are long enough for that: powers of
 * whole numbers with exponents of all sizes, their quotients and remainders, remainders of numbers of all sizes, exponentials
 * of complex numbers, and functions of f16
 * and bf16. */
#include "halo/client.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_COUNT = 4096 };

static void lines_check(halo_status status) {
  if (status == HALO_OK) return;
  fprintf(stderr, "test_lines: %s\n", halo_error_message());
  exit(1);
}

static uint64_t lines_random(void) {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

/* Whether the device computes operations of two operands in lines of neighbours: CPUs do. */
static bool lines_are_expected;

/* Runs an operation on arrays of LINES_COUNT elements. */
static void lines_run(halo_client *client, const char *type, const char *instr, const void *x,
                      const void *y, void *out, size_t bytes) {
  char text[400];
  snprintf(text, sizeof text,
           "HloModule m\nENTRY e {\n  x = %s[%d] parameter(0)\n  y = %s[%d] parameter(1)\n"
           "  ROOT r = %s[%d] %s\n}\n",
           type, LINES_COUNT, type, LINES_COUNT, type, LINES_COUNT, instr);
  halo_module *module;
  halo_executable *executable;
  halo_buffer *in[2], *result;
  lines_check(halo_module_parse(text, strlen(text), "lines", &module));
  lines_check(halo_client_compile(client, module, NULL, &executable));
  bool has_line = strstr(halo_executable_report(executable, HALO_REPORT_PLAN), "loop:line");
  if (lines_are_expected && strchr(instr, ',') && !has_line) {
    fprintf(stderr, "%s of %s is not computed in lines\n", instr, type);
    exit(1);
  }
  const halo_shape *shape = halo_executable_argument_shape(executable, 0);
  lines_check(halo_buffer_from_host(client, x, shape, &in[0]));
  lines_check(halo_buffer_from_host(client, y, shape, &in[1]));
  lines_check(halo_executable_execute(executable, in, 2, NULL, &result));
  lines_check(halo_buffer_to_host(result, out, bytes));
  halo_buffer_release(in[0]);
  halo_buffer_release(in[1]);
  halo_buffer_release(result);
  halo_executable_release(executable);
  halo_module_release(module);
}

static int64_t lines_power(int64_t base, int64_t exponent) {
  uint64_t power = 1, square = (uint64_t)base;
  if (exponent < 0) return base == 1 ? 1 : base != -1 ? 0 : exponent % 2 ? -1 : 1;
  for (; exponent; exponent >>= 1, square *= square) power *= exponent & 1 ? square : 1;
  return (int64_t)power;
}

/* Exponents of all sizes, of both signs; each third base is small. */
static bool lines_powers_are_right(halo_client *client) {
  static int64_t x[LINES_COUNT], y[LINES_COUNT], z[LINES_COUNT];
  static int32_t a[LINES_COUNT], b[LINES_COUNT], c[LINES_COUNT];
  int wrong = 0;
  for (int i = 0; i < LINES_COUNT; i++) {
    x[i] = (int64_t)lines_random();
    if (i % 3 == 0) x[i] = x[i] % 4;
    y[i] = (int64_t)(lines_random() >> (i % 64));
    a[i] = (int32_t)x[i];
    b[i] = (int32_t)(y[i] >> (i % 5 == 0 ? 32 : 0));
  }
  lines_run(client, "s64", "power(x, y)", x, y, z, sizeof z);
  lines_run(client, "s32", "power(x, y)", a, b, c, sizeof c);
  for (int i = 0; i < LINES_COUNT; i++) {
    bool good = z[i] == lines_power(x[i], y[i]) && c[i] == (int32_t)lines_power(a[i], b[i]);
    if (!good && wrong++ < 5) {
      fprintf(stderr, "power: %lld, %lld: %lld; %d, %d: %d\n", (long long)x[i], (long long)y[i],
              (long long)z[i], (int)a[i], (int)b[i], (int)c[i]);
    }
  }
  return wrong == 0;
}

static bool lines_exponentials_are_right(halo_client *client) {
  static float x[2 * LINES_COUNT], z[2 * LINES_COUNT];
  int wrong = 0;
  for (int i = 0; i < 2 * LINES_COUNT; i++) x[i] = (float)(lines_random() >> 40) * 0x1p-20f - 8;
  lines_run(client, "c64", "exponential(x)", x, x, z, sizeof z);
  for (int i = 0; i < LINES_COUNT; i++) {
    /* All finite, so that a sum makes them (older compilers have no CMPLX). */
    double complex want = cexp((double)x[2 * i] + (double)x[2 * i + 1] * I);
    double complex got = (double)z[2 * i] + (double)z[2 * i + 1] * I;
    bool good = cabs(got - want) <= 4 * 0x1p-23 * cabs(want);
    if (!good && wrong++ < 5) fprintf(stderr, "exp(%a, %a)\n", x[2 * i], x[2 * i + 1]);
  }
  return wrong == 0;
}

/* Numbers of all sizes, the smallest and the largest, by what divides them without a rest, nearly, or not at all. */
#define LINES_REMAINDERS(NAME, T, BITS, TYPE, LEAST, MOST, FUNCTION)                               \
  static bool lines_remainders_##NAME(halo_client *client) {                                       \
    static BITS x[LINES_COUNT], y[LINES_COUNT], z[LINES_COUNT];                                    \
    static const T ends[] = {0, (T)-0.0, (T)INFINITY, -(T)INFINITY, LEAST, -MOST, 1};              \
    enum { ENDS = sizeof ends / sizeof *ends };                                                    \
    int wrong = 0;                                                                                 \
    for (int i = 0; i < LINES_COUNT; i++) {                                                        \
      T a, b;                                                                                      \
      x[i] = (BITS)lines_random();                                                                 \
      y[i] = (BITS)lines_random();                                                                 \
      memcpy(&a, &x[i], sizeof a);                                                                 \
      b = a / (T)(i % 100 + 1);                                                                    \
      if (i % 3 == 0) memcpy(&y[i], &b, sizeof b);                                                 \
      if (i < ENDS * ENDS) memcpy(&x[i], &ends[i / ENDS], sizeof *x);                              \
      if (i < ENDS * ENDS) memcpy(&y[i], &ends[i % ENDS], sizeof *y);                              \
    }                                                                                              \
    lines_run(client, TYPE, "remainder(x, y)", x, y, z, sizeof z);                                 \
    for (int i = 0; i < LINES_COUNT; i++) {                                                        \
      T a, b, want, got;                                                                           \
      memcpy(&a, &x[i], sizeof a);                                                                 \
      memcpy(&b, &y[i], sizeof b);                                                                 \
      memcpy(&got, &z[i], sizeof got);                                                             \
      want = FUNCTION(a, b);                                                                       \
      bool good = want != want ? got != got : memcmp(&want, &got, sizeof got) == 0;                \
      if (!good && wrong++ < 5) {                                                                  \
        fprintf(stderr, TYPE " remainder(%a, %a): %a, not %a\n", (double)a, (double)b,             \
                (double)got, (double)want);                                                        \
      }                                                                                            \
    }                                                                                              \
    return wrong == 0;                                                                             \
  }
LINES_REMAINDERS(f32, float, uint32_t, "f32", 0x1p-149f, 0x1.fffffep127f, fmodf)
LINES_REMAINDERS(f64, double, uint64_t, "f64", 0x1p-1074, 0x1.fffffffffffffp1023, fmod)

static int64_t lines_magnitude(int i, int bits) {
  int64_t least = (int64_t)(~UINT64_C(0) << (bits - 1));
  if (i % 16 == 0) return least;
  if (i % 16 == 1) return ~least;
  int64_t value = (int64_t)((lines_random() >> (64 - bits)) + (uint64_t)least);
  return value >> (i / 16 % bits);
}

#define LINES_DIVIDES(NAME, T, TYPE, BITS, LEAST)                                                  \
  static bool lines_divides_##NAME(halo_client *client) {                                          \
    static T x[LINES_COUNT], y[LINES_COUNT], quotient[LINES_COUNT], rest[LINES_COUNT];             \
    int wrong = 0;                                                                                 \
    for (int i = 0; i < LINES_COUNT; i++) {                                                        \
      x[i] = (T)lines_magnitude(i, BITS);                                                          \
      y[i] = (T)lines_magnitude(i / 16 + i, BITS);                                                 \
      if (i % 7 == 0) y[i] = (T)(i % 5 - 2);                                                       \
      if (i % 7 == 1) x[i] = (T)((uint64_t)y[i] * (uint64_t)(i % 100)); /* may wrap around */      \
    }                                                                                              \
    lines_run(client, TYPE, "divide(x, y)", x, y, quotient, sizeof quotient);                      \
    lines_run(client, TYPE, "remainder(x, y)", x, y, rest, sizeof rest);                           \
    for (int i = 0; i < LINES_COUNT; i++) {                                                        \
      bool least = LEAST != 0 && y[i] == (T)-1 && x[i] == (T)LEAST;                                \
      T q = y[i] == 0 ? (T)-1 : least ? x[i] : (T)(x[i] / y[i]);                                   \
      T r = y[i] == 0 ? x[i] : least ? 0 : (T)(x[i] % y[i]);                                       \
      bool good = quotient[i] == q && rest[i] == r;                                                \
      if (!good && wrong++ < 5) {                                                                  \
        fprintf(stderr, TYPE ": %lld by %lld: %lld, %lld\n", (long long)x[i], (long long)y[i],     \
                (long long)quotient[i], (long long)rest[i]);                                       \
      }                                                                                            \
    }                                                                                              \
    return wrong == 0;                                                                             \
  }
LINES_DIVIDES(s8, int8_t, "s8", 8, INT8_MIN)
LINES_DIVIDES(s16, int16_t, "s16", 16, INT16_MIN)
LINES_DIVIDES(s32, int32_t, "s32", 32, INT32_MIN)
LINES_DIVIDES(s64, int64_t, "s64", 64, INT64_MIN)
LINES_DIVIDES(u8, uint8_t, "u8", 8, 0)
LINES_DIVIDES(u16, uint16_t, "u16", 16, 0)
LINES_DIVIDES(u32, uint32_t, "u32", 32, 0)
LINES_DIVIDES(u64, uint64_t, "u64", 64, 0)

static double lines_half(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double value = exponent == 31  ? (mantissa ? NAN : INFINITY)
                 : exponent == 0 ? mantissa * 0x1p-24
                                 : ldexp(1024 + mantissa, exponent - 25);
  return bits >> 15 ? -value : value;
}

static double lines_brain(uint16_t bits) {
  uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

/* A type of 16 bits: its values, the least normal exponent and the digits behind the point. */
typedef struct lines_type {
  const char *name;
  double (*value)(uint16_t bits);
  int least, digits;
} lines_type;

static const lines_type lines_f16 = {"f16", lines_half, -14, 10};
static const lines_type lines_bf16 = {"bf16", lines_brain, -126, 7};

static double lines_logistic(double x) { return 1 / (1 + exp(-x)); }

/* All arguments of a type of 16 bits, in the short forms that functions have for it: within 2^-7 of the half ULP that
 * rounding takes. Subnormal numbers have fewer digits than that. */
static bool lines_are_right(halo_client *client, const lines_type *type, const char *instr,
                            double (*function)(double)) {
  static uint16_t x[LINES_COUNT], z[LINES_COUNT];
  int wrong = 0;
  double worst = 0;
  for (int first = 0; first < 1 << 16; first += LINES_COUNT) {
    for (int i = 0; i < LINES_COUNT; i++) x[i] = (uint16_t)(first + i);
    lines_run(client, type->name, instr, x, x, z, sizeof z);
    for (int i = 0; i < LINES_COUNT; i++) {
      double want = function(type->value(x[i])), got = type->value(z[i]);
      int exponent = want != 0 && isfinite(want) ? ilogb(want) : type->least;
      double ulp = ldexp(1, (exponent < type->least ? type->least : exponent) - type->digits);
      bool good = isnan(want) ? isnan(got) : fabs(got - want) <= (0.5 + 0x1p-7) * ulp;
      if (good && !isnan(want)) worst = fmax(worst, fabs(got - want) / ulp);
      good &= want != 0 || signbit(want) == signbit(got);
      if (!good && wrong++ < 5) {
        fprintf(stderr, "%s of %a: %a, not %a\n", instr, type->value(x[i]), got, want);
      }
    }
  }
  printf("%-16s of %s: %.4f ULP\n", instr, type->name, worst);
  return wrong == 0;
}

int main(void) {
  halo_client *client;
  halo_device_info info;
  lines_check(halo_client_create(&(halo_client_options){.cache_dir = ""}, &client));
  halo_device_get_info(halo_client_device(client, 0), &info);
  lines_are_expected = strcmp(info.kind, "cpu") == 0 && !getenv("HALO_TREAT_AS");
  bool good = lines_powers_are_right(client);
  good = lines_exponentials_are_right(client) && good;
  good = lines_remainders_f32(client) && good;
  good = (!info.has_f64 || lines_remainders_f64(client)) && good;
  good = lines_are_right(client, &lines_f16, "tanh(x)", tanh) && good;
  good = lines_are_right(client, &lines_f16, "logistic(x)", lines_logistic) && good;
  good = lines_are_right(client, &lines_f16, "sine(x)", sin) && good;
  good = lines_are_right(client, &lines_f16, "cosine(x)", cos) && good;
  good = lines_are_right(client, &lines_bf16, "sine(x)", sin) && good;
  good = lines_are_right(client, &lines_bf16, "cosine(x)", cos) && good;
  bool (*const divides[])(halo_client *) = {lines_divides_s8,  lines_divides_s16, lines_divides_s32,
                                            lines_divides_s64, lines_divides_u8,  lines_divides_u16,
                                            lines_divides_u32, lines_divides_u64};
  for (size_t i = 0; i < sizeof divides / sizeof *divides; i++) good = divides[i](client) && good;
  halo_client_release(client);
  return good ? 0 : 1;
}
