/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/exchange_site.h: a collective that becomes exchanges: what exchange.c and its neighbours share. */
#ifndef HALO_PASSES_EXPAND_EXCHANGE_SITE_H
#define HALO_PASSES_EXPAND_EXCHANGE_SITE_H

#include "hlo/collective.h"
#include "rewrite/expander.h"

typedef struct exchange_site {
  halo_expander *x;
  const halo_instr *instr;
  halo_module *module;
  halo_groups groups;
  int64_t most;   /* members of the largest group */
  int64_t number; /* of the next exchange */
} exchange_site;

/* Reads the groups. `all`: everybody must be in one. False after a failure, which the expander has. */
bool exchange_open(halo_expander *x, halo_instr *instr, bool all, exchange_site *out);
/* Likewise with everybody in groups of one size. */
bool exchange_open_equal(halo_expander *x, halo_instr *instr, exchange_site *out);
/* "all-reduce sum.3 (channel 1)", in the module's arena. */
const char *exchange_title(const exchange_site *s);

/* Each of these gives NULL for NULL, and after a failure. An exchange along the groups: */
halo_instr *exchange_make(exchange_site *s, halo_opcode opcode, const halo_shape *shape,
                          halo_instr *const *operands, int32_t count);
/* [n] of each member as [members, n]. */
halo_instr *exchange_gather(exchange_site *s, halo_instr *flat);
/* All members' arrays combined, in every member. */
halo_instr *exchange_reduce(exchange_site *s, halo_instr *value);
/* The value in this shape and layout; a failure where it has other dimensions. */
halo_instr *exchange_as(exchange_site *s, halo_instr *value, const halo_shape *shape);
/* One operand after the other; a tuple where the instruction's result is one. */
halo_instr *exchange_each(exchange_site *s, halo_instr *(*one)(exchange_site *, halo_instr *));

/* A number for each that runs the program, zeros at first, in the module's arena; ... */
int32_t *exchange_values(const exchange_site *s);
/* ... one's own, looked up at run time, s32[]; and whether that is above a number, pred[]. */
halo_instr *exchange_mine(exchange_site *s, const int32_t *values);
halo_instr *exchange_above(exchange_site *s, const int32_t *values, int64_t than);

#endif
