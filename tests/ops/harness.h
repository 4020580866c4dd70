/* SPDX-License-Identifier: Apache-2.0 */
/* harness.h: recorded cases, the ways to run them, and the judge of what comes out. */
#ifndef TESTS_OPS_HARNESS_H
#define TESTS_OPS_HARNESS_H

#include "halo/client.h"
#include "halo/npy.h"
#include "hlo/hlo.h"

/* ---- Cases (data.c) ---- */

/* How one result is judged. */
typedef struct ops_bound {
  char *label; /* the element type, or what is special */
  uint64_t ulp;
} ops_bound;

typedef struct ops_case {
  char *name;
  char *text;    /* the module */
  char *values;  /* worked examples: a module whose constants in0, in1.., out0.. are the values */
  char *inputs;  /* recorded cases: the .npz member with the arguments' bytes */
  char *outputs; /* ditto, results */
  char *sizes;   /* the extents of the results' dynamic dimensions, in order; NULL: none */
  ops_bound *bounds;
  int bound_count;
} ops_case;

/* One data file: NAME.hlo, and for recorded cases NAME.npz beside it. */
typedef struct ops_family {
  char *name;
  char *buffer; /* the file's text, cut into the strings above */
  halo_npz *npz;
  ops_case *cases;
  int case_count;
} ops_family;

/* Reads a family from a folder; false and a message on stderr when it is damaged. */
bool ops_family_load(const char *folder, const char *name, ops_family *family);
void ops_family_free(ops_family *family);

/* A case's module, arguments (one a parameter) and expected results. */
typedef struct ops_values {
  halo_module *module;
  int device_count;         /* that run it: its replicas times its partitions */
  halo_literal **arguments; /* device by device */
  int argument_count;       /* of one device */
  halo_literal **expected;
  int expected_count;
} ops_values;

/* Parses the module and gives the values; false and a message on stderr when that fails. */
bool ops_case_open(const ops_family *family, const ops_case *one, ops_values *values);
void ops_values_free(ops_values *values);

/* ---- The judge (judge.c) ---- */

typedef struct ops_verdict {
  int64_t wrong;  /* elements beyond the bound, or 0 */
  int64_t first;  /* of which the first */
  uint64_t worst; /* greatest distance met, in ULP; UINT64_MAX: not comparable (NaN and number) */
} ops_verdict;

/* Compares two arrays of one shape. Floats by ULP of their type: NaN matches NaN; zeros of different
 * sign differ when `ulp` is 0; when it is not, a denormal may stand where zero is expected (XLA
 * flushes). Complex numbers by ULP of the larger part when `ulp` is not 0, else part by part. */
ops_verdict ops_judge(const halo_literal *got, const halo_literal *expected, uint64_t ulp);
/* Writes an element as text. */
void ops_element_text(const halo_literal *literal, int64_t i, char *text, size_t size);

#endif
