/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/linker_object.c: what objects may have that lib/linker links; compiled by itself. */
#include <math.h>
#include <string.h>

typedef double function(double);

/* Without names outside, and in sections of every kind. */
static const float table[] = {0.5f, 1.5f, 2.5f, 3.5f};
static double twice(double x) { return x + x; }
static double third(double x) { return x / 3; }
static function *const functions[] = {twice, third, cos}; /* relocated when it is loaded */
static int zeros[1000];
static int counter = 7;
int linker_shared = 11;
extern char **environ;

__attribute__((visibility("hidden"))) double linker_hidden(double x) { return x * 5; }

float linker_constants(int i) { return table[i & 3] * 2.0f; }

double linker_call(int i, double x) { return functions[i % 3](x); }

int linker_count(void) {
  zeros[counter % 1000] += 2;
  counter++;
  return counter * 1000 + zeros[(counter - 1) % 1000] + linker_shared;
}

/* By tables of jumps and by the C library. */
double linker_choose(int i, double x, const double *from, double *to) {
  switch (i) {
    case 0: return fmod(x, 3);
    case 1: return linker_hidden(x);
    case 2: memcpy(to, from, 777 * sizeof *to); return to[700];
    case 3: return linker_call(1, x);
    case 4: return environ != NULL;
    case 5: return x - 1;
    case 6: return x * x;
    default: return -x;
  }
}
