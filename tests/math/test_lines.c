/* tests/math/test_lines.c: what CPUs compute in lines of neighbours, on arrays that are long enough for that: powers of
 * whole numbers with exponents of all sizes, and exponentials of complex numbers. */
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

int main(void) {
  halo_client *client;
  lines_check(halo_client_create(&(halo_client_options){.cache_dir = ""}, &client));
  bool good = lines_powers_are_right(client);
  good = lines_exponentials_are_right(client) && good;
  halo_client_release(client);
  return good ? 0 : 1;
}
