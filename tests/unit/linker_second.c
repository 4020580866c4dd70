/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/linker_second.c: an object that names what another one has, linker_object.c, and that both miss. */
#include <math.h>

extern int linker_shared;
double linker_hidden(double x);
double linker_call(int i, double x);

static const double table[] = {100, 200};

double linker_second(int i, double x) {
  switch (i) {
    case 0: return linker_hidden(x) + table[x > 1];
    case 1: return linker_call(1, x);
    case 2: return fmod(x, 4);
    default: return linker_shared;
  }
}
