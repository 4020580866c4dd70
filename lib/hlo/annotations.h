/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/annotations.h: what instructions say beside what they compute, and typed forms of attributes that
 * only some back ends read. */
#ifndef HALO_HLO_ANNOTATIONS_H
#define HALO_HLO_ANNOTATIONS_H

#include "base/arena.h"
#include "halo/annotations.h"
#include "halo/status.h"

/* The attribute of `domain`: how data was spread before and is behind. */
typedef struct halo_domain {
  halo_sharding entry, exit;
} halo_domain;

/* What sparsity_config or block_scaling_config says of one operand; -1 and empty lists: not said. */
typedef struct halo_operand_config {
  bool present;
  halo_int_list sparsity; /* n of m elements are there */
  int64_t dimension, stride;
  int64_t index; /* the operand that says which */
  int64_t scale_index, zero_index;
  halo_int_list strides, steps;
} halo_operand_config;

typedef struct halo_operand_configs {
  halo_operand_config lhs, rhs;
} halo_operand_configs;

/* Deep copies into an arena. */
halo_int_list halo_int_list_clone(halo_arena *arena, halo_int_list from);
halo_metadata *halo_metadata_clone(halo_arena *arena, const halo_metadata *from);
halo_sharding *halo_sharding_clone(halo_arena *arena, const halo_sharding *from);
halo_domain *halo_domain_clone(halo_arena *arena, const halo_domain *from);
halo_operand_configs *halo_operand_configs_clone(halo_arena *arena,
                                                 const halo_operand_configs *from);

/* Whether a sharding makes sense by itself, whatever it is of: as many devices as tiles, a transpose that
 * is one. HALO_INVALID_ARGUMENT with a message. */
halo_status halo_sharding_check(const halo_sharding *sharding);

#endif
