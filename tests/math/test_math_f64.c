/* SPDX-License-Identifier: Apache-2.0 */
/* tests/math/test_math_f64.c: the errors of our elementary functions of f64 on the device, at random arguments and
 * the edges, against MPFR.
 *
 * usage: test_math_f64 [COUNT]   COUNT arguments of each function (20000) */
#include "halo/client.h"

#include <math.h>
#include <mpfr.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int math_unary(mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef int math_binary(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

static int math_logistic(mpfr_t y, const mpfr_t x, mpfr_rnd_t round) {
  mpfr_neg(y, x, round);
  mpfr_exp(y, y, round);
  mpfr_add_ui(y, y, 1, round);
  return mpfr_ui_div(y, 1, y, round);
}

typedef struct math_function {
  const char *name;
  math_unary *unary;
  math_binary *binary;
  double bound; /* in ULP */
} math_function;

static const math_function math_functions[] = {
    {"acos", mpfr_acos, NULL, 2},
    {"acosh", mpfr_acosh, NULL, 2.5},
    {"asin", mpfr_asin, NULL, 2.5},
    {"asinh", mpfr_asinh, NULL, 1.5},
    {"atan", mpfr_atan, NULL, 2},
    {"atanh", mpfr_atanh, NULL, 1.5},
    {"cbrt", mpfr_cbrt, NULL, 0.6},
    {"cosh", mpfr_cosh, NULL, 1.5},
    {"cosine", mpfr_cos, NULL, 1},
    {"erf", mpfr_erf, NULL, 1.5},
    {"exponential", mpfr_exp, NULL, 1.1},
    {"exponential-minus-one", mpfr_expm1, NULL, 1.2},
    {"log", mpfr_log, NULL, 1},
    {"log-plus-one", mpfr_log1p, NULL, 1},
    {"logistic", math_logistic, NULL, 2.5},
    {"sine", mpfr_sin, NULL, 1},
    {"sinh", mpfr_sinh, NULL, 1.8},
    {"tan", mpfr_tan, NULL, 1.4},
    {"tanh", mpfr_tanh, NULL, 2},
    {"atan2", NULL, mpfr_atan2, 2},
    {"power", NULL, mpfr_pow, 1.3},
};

static const double math_edges[] = {
    0, -0.0, INFINITY, -INFINITY, NAN, 0x1p-1074, -0x1p-1074, 0x1p-1022, 1, -1, 0.5, -0.5, 2, -2,
    709.78, 709.79, -745.13, -745.14, 710.475, 710.476, 1e300, -1e300, 0x1p-54, -0x1p-54, 0x1p53,
    0x1p54, 1.0000001, -1.0000001, 0.9999999, 3,
    /* Near multiples of pi/2, the first as near as any number is; pi/4 and its neighbour. */
    0x1.6ac5b262ca1ffp+849, M_PI, M_PI_2, 3 * M_PI_2, -M_PI, 1e22, 0x1.fffffffffffffp1023, M_PI_4,
    0x1.921fb54442d19p-1, 1e5 * M_PI};
enum { MATH_EDGES = sizeof math_edges / sizeof math_edges[0] };

static uint64_t math_random(uint64_t *state) {
  *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
  return *state;
}

/* Arguments of all sizes, and of those where functions are neither flat nor infinite. */
static double math_argument(int64_t i, uint64_t *state) {
  static const double reach[] = {2, 3, 16, 80, 1500};
  uint64_t bits = math_random(state);
  double x;
  if (i % 3 == 0) {
    memcpy(&x, &bits, sizeof x);
    return x;
  }
  return ((double)(bits >> 11) * 0x1p-53 - 0.5) * reach[i % 5];
}

static void math_make(const math_function *f, int64_t i, uint64_t *state, double *x, double *y) {
  *x = i < MATH_EDGES ? math_edges[i] : math_argument(i, state);
  *y = math_argument(i / 3, state);
  if (!f->binary) return;
  if (i < MATH_EDGES * MATH_EDGES) {
    *x = math_edges[i / MATH_EDGES];
    *y = math_edges[i % MATH_EDGES];
  } else if (f->binary == mpfr_pow && i % 4 != 0) { /* neither 0 nor infinite */
    *y = ((double)(math_random(state) >> 40) / (1 << 24) - 0.5) * 2400 / log2(fabs(*x));
    if (i % 4 == 1) *y = rint(*y);
  }
}

/* Where the device makes subnormal numbers zero, they are not judged. */
static bool math_flushes;

static bool math_is_subnormal(double x) { return x != 0 && fabs(x) < 0x1p-1022; }

/* The distance in ULP of `want`'s size, infinite where NaN, infinity or the sign of zero differ. */
static double math_error(double got, mpfr_t want) {
  double nearest = mpfr_get_d(want, MPFR_RNDN);
  if (isnan(nearest) || isnan(got)) return isnan(nearest) && isnan(got) ? 0 : INFINITY;
  if (math_flushes && math_is_subnormal(nearest)) return 0;
  if (got == nearest && isinf(got)) return 0;
  if (mpfr_zero_p(want)) {
    return got == 0 && !signbit(got) == !mpfr_signbit(want) ? 0 : INFINITY;
  }
  if (isinf(got) || isinf(nearest)) return INFINITY;
  mpfr_exp_t exponent = mpfr_get_exp(want);
  if (exponent < -1021) exponent = -1021;
  mpfr_sub_d(want, want, got, MPFR_RNDN);
  mpfr_mul_2si(want, want, 53 - exponent, MPFR_RNDN);
  return fabs(mpfr_get_d(want, MPFR_RNDN));
}

static void math_check(halo_status status) {
  if (status == HALO_OK) return;
  fprintf(stderr, "test_math_f64: %s\n", halo_error_message());
  exit(1);
}

static void math_run(halo_client *client, const math_function *f, const double *x, const double *y,
                     double *out, int count) {
  char text[400];
  snprintf(text, sizeof text,
           "HloModule m\nENTRY e {\n  x = f64[%d] parameter(0)\n  y = f64[%d] parameter(1)\n"
           "  ROOT r = f64[%d] %s(x%s)\n}\n",
           count, count, count, f->name, f->binary ? ", y" : "");
  halo_module *module;
  halo_executable *executable;
  halo_buffer *in[2], *result;
  math_check(halo_module_parse(text, strlen(text), "math", &module));
  math_check(halo_client_compile(client, module, NULL, &executable));
  const halo_shape *shape = halo_executable_argument_shape(executable, 0);
  math_check(halo_buffer_from_host(client, x, shape, &in[0]));
  math_check(halo_buffer_from_host(client, y, shape, &in[1]));
  math_check(halo_executable_execute(executable, in, 2, NULL, &result));
  math_check(halo_buffer_to_host(result, out, (size_t)count * sizeof *out));
  halo_buffer_release(in[0]);
  halo_buffer_release(in[1]);
  halo_buffer_release(result);
  halo_executable_release(executable);
  halo_module_release(module);
}

/* Whether the errors stay within the bound. */
static bool math_test(halo_client *client, const math_function *f, int count) {
  double *x = malloc((size_t)count * sizeof *x), *y = malloc((size_t)count * sizeof *y);
  double *out = malloc((size_t)count * sizeof *out), worst = 0, at[2] = {0};
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < count; i++) math_make(f, i, &state, &x[i], &y[i]);
  math_run(client, f, x, y, out, count);
  mpfr_t a, b;
  mpfr_inits2(120, a, b, (mpfr_ptr)0);
  for (int i = 0; i < count; i++) {
    if (math_flushes && (math_is_subnormal(x[i]) || (f->binary && math_is_subnormal(y[i]))))
      continue;
    mpfr_set_d(a, x[i], MPFR_RNDN);
    mpfr_set_d(b, y[i], MPFR_RNDN);
    if (f->binary) f->binary(a, a, b, MPFR_RNDN);
    if (f->unary) f->unary(a, a, MPFR_RNDN);
    double error = math_error(out[i], a);
    if (error > worst) worst = error, at[0] = x[i], at[1] = y[i];
  }
  mpfr_clears(a, b, (mpfr_ptr)0);
  printf("%-24s %.3f ULP at %a", f->name, worst, at[0]);
  if (f->binary) printf(", %a", at[1]);
  puts(worst <= f->bound ? "" : ": too much");
  fflush(stdout);
  free(x);
  free(y);
  free(out);
  return worst <= f->bound;
}

static bool math_finds_flushing(halo_client *client) {
  const math_function multiply = {.name = "multiply", .binary = mpfr_mul};
  const double x = 0x1p-1022, y = 0.5;
  double product;
  math_run(client, &multiply, &x, &y, &product, 1);
  return product == 0;
}

int main(int argc, char **argv) {
  halo_client *client;
  halo_device_info info;
  int count = argc > 1 ? atoi(argv[1]) : 20000;
  bool good = true;
  math_check(halo_client_create(&(halo_client_options){.cache_dir = ""}, &client));
  halo_device_get_info(halo_client_device(client, 0), &info);
  if (!info.has_f64) puts("the device has no double precision");
  math_flushes = info.has_f64 && math_finds_flushing(client);
  for (size_t i = 0; info.has_f64 && i < sizeof math_functions / sizeof math_functions[0]; i++) {
    good = math_test(client, &math_functions[i], count) && good;
  }
  halo_client_release(client);
  return good ? 0 : 1;
}
