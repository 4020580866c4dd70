/* SPDX-License-Identifier: Apache-2.0 */
/* tests/math/test_math.c: the errors of our elementary functions on the device: of f32 over every 1021st argument and
 * the edges, or over all (--all), against the host's double precision. That is some 2^-29 ULP of f32 off itself, which
 * is checked against MPFR where that is there.
 *
 * usage: test_math [--all] [NAME...] */
#include "halo/client.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HALO_HAVE_MPFR
#include <mpfr.h>
#endif

static double math_logistic(double x) { return 1 / (1 + exp(-x)); }

#ifdef HALO_HAVE_MPFR
typedef int mpfr_unary(mpfr_t, const mpfr_t, mpfr_rnd_t);
#define EXACT(name) name

static int mpfr_logistic(mpfr_t y, const mpfr_t x, mpfr_rnd_t round) {
  mpfr_neg(y, x, round);
  mpfr_exp(y, y, round);
  mpfr_add_ui(y, y, 1, round);
  return mpfr_ui_div(y, 1, y, round);
}
#else
typedef void mpfr_unary(void);
#define EXACT(name) NULL
#endif

typedef struct math_function {
  const char *name;
  double (*reference)(double);
  mpfr_unary *exact;
  double
      bound; /* the largest error in ULP: what was found over all arguments, and some more of angles */
} math_function;

static const math_function math_functions[] = {
    {"acos", acos, EXACT(mpfr_acos), 1.2},
    {"acosh", acosh, EXACT(mpfr_acosh), 2.1},
    {"asin", asin, EXACT(mpfr_asin), 2.1},
    {"asinh", asinh, EXACT(mpfr_asinh), 1.4},
    {"atan", atan, EXACT(mpfr_atan), 1.4},
    {"atanh", atanh, EXACT(mpfr_atanh), 1.2},
    {"cbrt", cbrt, EXACT(mpfr_cbrt), 0.7},
    {"cosh", cosh, EXACT(mpfr_cosh), 1.5},
    {"cosine", cos, EXACT(mpfr_cos), 1.8},
    {"erf", erf, EXACT(mpfr_erf), 6}, /* all arguments: 5.92; XLA's CPU backend, 6.71 */
    {"exponential", exp, EXACT(mpfr_exp), 1.0},
    {"exponential-minus-one", expm1, EXACT(mpfr_expm1), 1.1},
    {"log", log, EXACT(mpfr_log), 1.0},
    {"log-plus-one", log1p, EXACT(mpfr_log1p), 1.0},
    {"logistic", math_logistic, EXACT(mpfr_logistic), 2.5},
    {"sine", sin, EXACT(mpfr_sin), 1.8},
    {"sinh", sinh, EXACT(mpfr_sinh), 1.7},
    {"tan", tan, EXACT(mpfr_tan), 2.5},
    {"tanh", tanh, EXACT(mpfr_tanh), 2.5},
};

typedef struct math_pair {
  const char *name;
  double (*reference)(double, double);
  double bound;
} math_pair;

static const math_pair math_pairs[] = {{"atan2", atan2, 1.6}, {"power", pow, 1.0}};

/* Where the device makes subnormal numbers zero, they are not judged. */
static bool math_flushes;

static bool math_is_subnormal(double x) { return x != 0 && fabs(x) < 0x1p-126; }

/* The distance in ULP of `want`'s size, infinite where NaN, infinity or the sign of zero differ. */
static double math_error(float got, double want) {
  float nearest = (float)want;
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
  if (math_flushes && math_is_subnormal(want)) return 0;
  if (got == nearest && isinf(got)) return 0;
  if (want == 0) return got == 0 && !signbit(got) == !signbit(want) ? 0 : INFINITY;
  if (isinf(got) || isinf(nearest)) return INFINITY;
  int exponent;
  frexp(want, &exponent);
  if (exponent < -125) exponent = -125;
  return fabs(got - want) / ldexp(1, exponent - 24);
}

static float math_from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static const float math_edges[] = {0,
                                   -0.0f,
                                   INFINITY,
                                   -INFINITY,
                                   NAN,
                                   0x1p-149f,
                                   -0x1p-149f,
                                   0x1p-126f,
                                   -1,
                                   0x1p-25f,
                                   -0x1p-25f,
                                   3.5f,
                                   -3.5f,
                                   0x1p24f,
                                   0x1.fffffep23f,
                                   -0x1.fffffep23f,
                                   1,
                                   0.5f,
                                   -0.5f,
                                   2,
                                   -2,
                                   3,
                                   -3,
                                   0x1.fffffep127f,
                                   88.72f,
                                   88.73f,
                                   -87.34f,
                                   -103.9f,
                                   -104.0f,
                                   -103.98f,
                                   89.41f,
                                   89.42f,
                                   1e10f,
                                   -1e10f,
                                   0x1p-140f,
                                   0x1p40f,
                                   -0x1p41f,
                                   1e-30f,
                                   -1e-30f,
                                   -0x1.fffffep127f,
                                   0.9999f,
                                   1.0001f,
                                   -0.99999f,
                                   0x1p25f,
                                   -1.00001f,
                                   1.5f,
                                   -1.5f,
                                   1e30f,
                                   0x1.7b9b4p+126f, /* just below a multiple of pi/2 */
                                   -0x1.7b9b4p+126f,
                                   0x1.aca316p+67f};
enum { MATH_EDGES = sizeof math_edges / sizeof math_edges[0], MATH_STEP = 1021 };

static int math_failures;

static void math_check(halo_status status) {
  if (status == HALO_OK) return;
  fprintf(stderr, "test_math: %s\n", halo_error_message());
  exit(1);
}

/* An executable of `count` elements. */
static halo_executable *math_compile(halo_client *client, const char *name, int operands,
                                     int64_t count) {
  char text[400];
  int n = (int)count;
  snprintf(text, sizeof text,
           "HloModule m\nENTRY e {\n  x = f32[%d] parameter(0)\n  ROOT r = f32[%d] %s(x)\n}\n", n,
           n, name);
  if (operands == 2) {
    snprintf(text, sizeof text,
             "HloModule m\nENTRY e {\n  x = f32[%d] parameter(0)\n  y = f32[%d] parameter(1)\n"
             "  ROOT r = f32[%d] %s(x, y)\n}\n",
             n, n, n, name);
  }
  halo_module *module;
  halo_executable *executable;
  math_check(halo_module_parse(text, strlen(text), "math", &module));
  math_check(halo_client_compile(client, module, NULL, &executable));
  halo_module_release(module);
  return executable;
}

static void math_run(halo_client *client, halo_executable *executable, const float *const *in,
                     int operands, float *out, int64_t count) {
  halo_buffer *arguments[2], *result;
  for (int i = 0; i < operands; i++) {
    const halo_shape *shape = halo_executable_argument_shape(executable, i);
    math_check(halo_buffer_from_host(client, in[i], shape, &arguments[i]));
  }
  math_check(halo_executable_execute(executable, arguments, operands, NULL, &result));
  math_check(halo_buffer_to_host(result, out, (size_t)count * sizeof *out));
  for (int i = 0; i < operands; i++) halo_buffer_release(arguments[i]);
  halo_buffer_release(result);
}

/* That the host's function is good enough to judge by. */
static void math_judge_reference(const math_function *f, float x) {
#ifdef HALO_HAVE_MPFR
  mpfr_t exact;
  mpfr_init2(exact, 64);
  mpfr_set_flt(exact, x, MPFR_RNDN);
  f->exact(exact, exact, MPFR_RNDN);
  double right = mpfr_get_d(exact, MPFR_RNDN), host = f->reference(x);
  mpfr_clear(exact);
  bool same = (isnan(right) && isnan(host)) || right == host ||
              fabs(right - host) <= 0x1p-48 * fabs(right) || fabs(right) < 0x1p-200;
  if (!same && math_failures++ < 20) {
    fprintf(stderr, "the host's %s(%a) is %a, not %a\n", f->name, x, host, right);
  }
#else
  (void)f, (void)x;
#endif
}

static void math_report(const char *name, double worst, double bound, const char *at) {
  bool good = worst <= bound;
  printf("%-24s %.3f ULP at %s%s\n", name, worst, at, good ? "" : ": too much");
  fflush(stdout);
  if (!good) math_failures++;
}

/* `all`: 256 runs of 2^24 neighbours; else one of every 1021st and the edges. */
static void math_function_test(halo_client *client, const math_function *f, bool all) {
  int64_t sampled = (int64_t)((UINT64_C(1) << 32) / MATH_STEP) + 1;
  int64_t count = all ? 1 << 24 : sampled + MATH_EDGES;
  uint64_t step = all ? 1 : MATH_STEP;
  float *x = malloc((size_t)count * sizeof *x), *y = malloc((size_t)count * sizeof *y);
  halo_executable *executable = math_compile(client, f->name, 1, count);
  double worst = 0;
  float at = 0;
  for (int run = 0; run < (all ? 256 : 1); run++) {
    for (int64_t i = 0; i < count; i++) {
      x[i] = !all && i >= sampled ? math_edges[i - sampled]
                                  : math_from_bits((uint32_t)(((uint64_t)run << 24) + i * step));
    }
    math_run(client, executable, (const float *const[]){x}, 1, y, count);
    for (int64_t i = 0; i < count; i++) {
      if (math_flushes && math_is_subnormal(x[i])) continue;
      double error = math_error(y[i], f->reference(x[i]));
      if (error > worst) worst = error, at = x[i];
      if (i % 64 == 0 && !all) math_judge_reference(f, x[i]);
    }
  }
  char place[40];
  snprintf(place, sizeof place, "%a", at);
  math_report(f->name, worst, f->bound, place);
  halo_executable_release(executable);
  free(x);
  free(y);
}

/* A pair of arguments: edges with edges, then random ones of all sizes, of like sizes, and such whose power is
 * neither 0 nor infinite. */
static void math_make_pair(int64_t i, uint64_t bits, float *x, float *y) {
  *x = math_from_bits((uint32_t)bits);
  *y = math_from_bits((uint32_t)(bits >> 32));
  if (i < MATH_EDGES * MATH_EDGES) {
    *x = math_edges[i / MATH_EDGES];
    *y = math_edges[i % MATH_EDGES];
  } else if (i % 4 == 1) {
    *x = math_from_bits(0x3f000000 + ((uint32_t)bits & 0x80ffffff));
    *y = math_from_bits(0x3f000000 + ((uint32_t)(bits >> 32) & 0x80ffffff));
  } else if (i % 4 >= 2) {
    *x = i % 4 == 2 ? fabsf(*x) : math_from_bits(0x3f000000 + ((uint32_t)bits & 0xffffff));
    *y = (float)(((double)(bits >> 40) / (1 << 24) - 0.5) * 300 / log2(*x));
  }
}

static void math_pair_test(halo_client *client, const math_pair *f, bool all) {
  const int64_t count = 1 << 22;
  float *x = malloc((size_t)count * sizeof *x), *y = malloc((size_t)count * sizeof *y);
  float *z = malloc((size_t)count * sizeof *z), at[2] = {0};
  halo_executable *executable = math_compile(client, f->name, 2, count);
  double worst = 0;
  uint64_t state = 88172645463325252u;
  for (int run = 0; run < (all ? 256 : 1); run++) {
    for (int64_t i = 0; i < count; i++) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      math_make_pair(run ? i + count : i, state, &x[i], &y[i]);
    }
    math_run(client, executable, (const float *const[]){x, y}, 2, z, count);
    for (int64_t i = 0; i < count; i++) {
      if (math_flushes && (math_is_subnormal(x[i]) || math_is_subnormal(y[i]))) continue;
      double error = math_error(z[i], f->reference(x[i], y[i]));
      if (error > worst) worst = error, at[0] = x[i], at[1] = y[i];
    }
  }
  char place[80];
  snprintf(place, sizeof place, "%a, %a", at[0], at[1]);
  math_report(f->name, worst, f->bound, place);
  halo_executable_release(executable);
  free(x);
  free(y);
  free(z);
}

static bool math_finds_flushing(halo_client *client) {
  const float x = 0x1p-126f, y = 0.5f;
  float product;
  halo_executable *executable = math_compile(client, "multiply", 2, 1);
  math_run(client, executable, (const float *const[]){&x, &y}, 2, &product, 1);
  halo_executable_release(executable);
  return product == 0;
}

/* Whether the command line names it, or nothing. */
static bool math_is_chosen(int argc, char **argv, const char *name) {
  bool any = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], name) == 0) return true;
    any = any || argv[i][0] != '-';
  }
  return !any;
}

int main(int argc, char **argv) {
  halo_client *client;
  bool all = argc > 1 && strcmp(argv[1], "--all") == 0;
  math_check(halo_client_create(&(halo_client_options){.cache_dir = ""}, &client));
  math_flushes = math_finds_flushing(client);
#ifndef HALO_HAVE_MPFR
  puts("built without MPFR: the host's functions are believed");
#endif
  for (size_t i = 0; i < sizeof math_functions / sizeof math_functions[0]; i++) {
    if (!math_is_chosen(argc, argv, math_functions[i].name)) continue;
    math_function_test(client, &math_functions[i], all);
  }
  for (size_t i = 0; i < sizeof math_pairs / sizeof math_pairs[0]; i++) {
    if (!math_is_chosen(argc, argv, math_pairs[i].name)) continue;
    math_pair_test(client, &math_pairs[i], all);
  }
  halo_client_release(client);
  return math_failures ? 1 : 0;
}
