/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite/users.h: who uses each instruction of a computation. */
#ifndef HALO_REWRITE_USERS_H
#define HALO_REWRITE_USERS_H

#include "hlo/hlo.h"

/* By position: the users of i stand in list[first[i]] .. list[first[i + 1] - 1], in order, as often as they
 * use it. */
typedef struct halo_users {
  int32_t *first, *list;
} halo_users;

/* Each instruction's `mark` is its position in the computation. `control`: control successors are users. */
void halo_users_collect(halo_users *users, const halo_computation *computation, bool control);
void halo_users_deinit(halo_users *users);

#endif
