/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/integer.h: integer expressions of index arithmetic as nodes that know their ranges.
 *
 * Equal expressions are one node, so that nodes are compared as pointers. What can be simplified is,
 * when a node is made: sums are kept as one constant and a list of variables, quotients and remainders
 * with their factors, and digits of a position that are put together again give the position. The
 * nodes are pure: how they are put into variables and printed is the emitter's business. */
#ifndef HALO_CODEGEN_INTEGER_H
#define HALO_CODEGEN_INTEGER_H

#include "base/arena.h"
#include "base/map.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum halo_integer_kind {
  HALO_INTEGER_CONSTANT,
  HALO_INTEGER_VARIABLE,
  HALO_INTEGER_SUM, /* value + by[0] * node[0] + by[1] * node[1] + ... */
  HALO_INTEGER_DIV, /* of / value, rounded down */
  HALO_INTEGER_MOD  /* of % value */
} halo_integer_kind;

typedef struct halo_integer halo_integer;

typedef struct halo_integer_term {
  const halo_integer *node; /* a variable, a quotient or a remainder */
  int64_t by;               /* not 0 */
} halo_integer_term;

/* A node. Nothing changes in it but `held`. */
struct halo_integer {
  halo_integer_kind kind;
  int32_t id;        /* unique in its pool; what a node is made of has smaller ones */
  int64_t low, high; /* what it can be; ends that 64 bits cannot hold are INT64_MIN and INT64_MAX */
  int64_t value;     /* constant, divisor, or what a sum adds */
  const char *name;  /* of a variable */
  const halo_integer *of;
  const halo_integer_term *terms; /* by rising id */
  int32_t count;
  const char *held; /* the emitter's: the C variable that holds it in the scope at hand, or NULL */
};

/* Where nodes live. Zero-initialised but for the arena it is empty and valid. Not thread-safe. */
typedef struct halo_integers {
  halo_arena *arena;
  halo_map nodes;
  int32_t next;
} halo_integers;

/* Forgets all nodes; the arena keeps their memory. */
void halo_integers_deinit(halo_integers *pool);

const halo_integer *halo_integer_constant(halo_integers *pool, int64_t value);
/* A variable that is between low and high. One name with different ranges is different variables:
 * the same value where more is known of it. */
const halo_integer *halo_integer_variable(halo_integers *pool, const char *name, int64_t low,
                                          int64_t high);
const halo_integer *halo_integer_add(halo_integers *pool, const halo_integer *a,
                                     const halo_integer *b);
const halo_integer *halo_integer_sub(halo_integers *pool, const halo_integer *a,
                                     const halo_integer *b);
const halo_integer *halo_integer_plus(halo_integers *pool, const halo_integer *a, int64_t constant);
const halo_integer *halo_integer_mul(halo_integers *pool, const halo_integer *a, int64_t by);
/* Quotient and remainder by a positive constant. The caller promises that `a` is not negative where
 * the result is used, whatever its range says. */
const halo_integer *halo_integer_div(halo_integers *pool, const halo_integer *a, int64_t by);
const halo_integer *halo_integer_mod(halo_integers *pool, const halo_integer *a, int64_t by);

/* Whether it is a constant; `*value` is set if so. */
bool halo_integer_is_constant(const halo_integer *a, int64_t *value);
/* Whether it is known to be a multiple of a positive constant. */
bool halo_integer_is_multiple(const halo_integer *a, int64_t of);
/* Whether it is known to lie in [low, high]. */
bool halo_integer_is_within(const halo_integer *a, int64_t low, int64_t high);

#endif
