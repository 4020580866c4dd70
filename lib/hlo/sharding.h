/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/sharding.h: where shardings put the tiles of an array. See halo/annotations.h for what is public. */
#ifndef HALO_HLO_SHARDING_H
#define HALO_HLO_SHARDING_H

#include "hlo/hlo.h"

/* How many devices a checked TILED sharding is of. */
int64_t halo_sharding_device_count(const halo_sharding *sharding);
/* The device at a place of a checked TILED sharding's array of tiles, counted in row-major order. */
int64_t halo_sharding_device_at(const halo_sharding *sharding, int64_t place);
/* The sharding of leaf number `leaf` of a shape: an element of a TUPLE, else the sharding itself. NULL where the
 * tuple has no such element. */
const halo_sharding *halo_sharding_leaf(const halo_sharding *sharding, int32_t leaf);
/* Whether a sharding (no TUPLE) fits an array of `rank` dimensions on `devices` devices.
 * HALO_INVALID_ARGUMENT with a message that does not name the instruction. */
halo_status halo_sharding_check_array(const halo_sharding *sharding, int rank, int64_t devices);

#endif
