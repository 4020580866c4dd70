/* SPDX-License-Identifier: Apache-2.0 */
/* tools/pieces.h: whole arrays and the pieces of them that partitions have (docs/partitioning.md). */
#ifndef HALO_TOOLS_PIECES_H
#define HALO_TOOLS_PIECES_H

#include "halo/annotations.h"
#include "halo/literal.h"

#include <stdbool.h>

/* The piece of an array that a partition is given, a new literal; elements behind the array are 0. NULL after a
 * message. */
halo_literal *pieces_cut(halo_literal *whole, const halo_sharding *sharding, int partition);
/* A new array for all pieces of a result of this shape; along dynamic dimensions, which are never cut, it is as long as
 * the given piece. NULL after a message. */
halo_literal *pieces_whole(const halo_shape *shape, const halo_literal *piece);
/* Copies a partition's piece to its place in the array; what lies behind the array is left out. False after a
 * message. */
bool pieces_join(halo_literal *whole, halo_literal *piece, const halo_sharding *sharding,
                 int partition);

#endif
