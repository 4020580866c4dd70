/* SPDX-License-Identifier: Apache-2.0 */
/* unit/reduce_test.h: what the tests of reductions share. */
#ifndef HALO_TESTS_REDUCE_TEST_H
#define HALO_TESTS_REDUCE_TEST_H

#include "base/strbuf.h"
#include "client/executable.h"
#include "evaluator/evaluator.h"
#include "run_test.h"
#include "suite.h"

/* A reduction's shapes, as HLO writes them. */
typedef struct reduce_case {
  const char *in, *out, *dimensions;
} reduce_case;

/* Reducers of one value (a, b) and of two (a, i and b, j). */
static void append_reducer(halo_strbuf *out, const char *name, const char *type, bool pair,
                           const char *body) {
  halo_strbuf_printf(out, "%s {\n  a = %s[] parameter(0)\n", name, type);
  if (pair) halo_strbuf_append(out, "  i = s32[] parameter(1)\n");
  halo_strbuf_printf(out, "  b = %s[] parameter(%d)\n", type, pair ? 2 : 1);
  if (pair) halo_strbuf_append(out, "  j = s32[] parameter(3)\n");
  halo_strbuf_printf(out, "  %s\n}\n", body);
}

#endif
