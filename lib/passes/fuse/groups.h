/* SPDX-License-Identifier: Apache-2.0 */
/* passes/fuse/groups.h: instructions of a computation that are to become one, without making cycles.
 *
 * At first each instruction is a group of its own; a group is named by its representative, the position
 * of one of its members. An order of groups is kept in which each comes behind what it uses: joining two
 * moves only what lies between them (the method of Pearce and Kelly, 2006).
 *
 * What reads an array before the array is updated in place stays before that: behind it, the plan would have to
 * keep a copy. */
#ifndef HALO_PASSES_FUSE_GROUPS_H
#define HALO_PASSES_FUSE_GROUPS_H

#include "passes/memory/order.h"
#include "rewrite/rewrite.h"
#include "rewrite/users.h"

enum { HALO_GROUPS_END = -1 };

typedef struct halo_groups_state {
  halo_computation *computation;
  halo_users users;    /* control successors too */
  order_lists readers; /* of an update: who reads what it writes over, and comes first */
  order_lists updates; /* of a reader: the updates that it comes before */
  int32_t *group_of;   /* by position: the representative */
  int32_t *next;       /* by position: another member, or HALO_GROUPS_END */
  int32_t *last;       /* by representative: the end of the list that it begins */
  int32_t *order;      /* by representative */
  int32_t *stamp;      /* by representative: the question in which it was last met */
  int32_t question;
  HALO_VEC(int32_t) before, after; /* found by the question at hand: representatives */
} halo_groups_state;

/* Puts readers of arrays before updates of them. The marks of the computation's instructions become their positions. */
void halo_groups_begin(halo_groups_state *g, halo_computation *computation);
void halo_groups_end(halo_groups_state *g);

/* Whether two groups may become one: nothing outside lies on a way from one to the other. False also when
 * that is too much to look at. */
bool halo_groups_are_free(halo_groups_state *g, int32_t a, int32_t b);
/* Joins the two that the last question was about, and gives the representative. */
int32_t halo_groups_join(halo_groups_state *g, int32_t a, int32_t b);

/* Whether anything but members of groups `a` and `b` uses a member's result, or the computation's root is
 * one. */
bool halo_groups_is_output(const halo_groups_state *g, int32_t member, int32_t a, int32_t b);

/* A member of a group that is built. */
typedef struct halo_groups_part {
  halo_instr *instr; /* a fusion of one result */
  bool is_output;
} halo_groups_part;

/* One computation of several bodies, which no instruction calls yet. */
typedef struct halo_groups_body {
  halo_computation *body; /* NULL: there is none */
  HALO_VEC(halo_instr *) operands;
} halo_groups_body;

/* Makes one body of several fusions, in the order of the computation; its results are those of the outputs. */
halo_groups_body halo_groups_join_bodies(halo_module *module, const halo_groups_part *parts,
                                         int32_t count);
/* Makes a fusion with that body, whose lists are freed, take the place of the several. */
void halo_groups_build(halo_rewriter *r, const halo_groups_part *parts, int32_t count,
                       halo_fusion_kind kind, halo_groups_body *joined);
/* Frees its lists. The body stays in its module until what is dead there is removed. */
void halo_groups_drop(halo_groups_body *joined);

#endif
