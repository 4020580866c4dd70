/* SPDX-License-Identifier: Apache-2.0 */
/* client/sharding.c: what partitioned executables say of their arguments and results. */
#include "client/executable.h"

/* Leaf number `index` among those of a shape that are no tokens; counts down *index past all. */
static const halo_shape *sharding_leaf(const halo_shape *shape, int *index, int32_t *leaf) {
  int32_t count = halo_shape_leaf_count(shape);
  for (int32_t k = 0; k < count; k++, (*leaf)++) {
    const halo_shape *one = halo_leaf_shape(shape, k);
    if (halo_shape_is_token(one)) continue;
    if ((*index)-- == 0) return one;
  }
  return NULL;
}

static const halo_shape *sharding_argument(const halo_spmd_entry *spmd, int index, int32_t *leaf) {
  *leaf = 0;
  const halo_shape *found = NULL;
  for (int32_t i = 0; i < spmd->whole_param_count && !found; i++) {
    found = sharding_leaf(spmd->whole_params[i], &index, leaf);
  }
  return found;
}

static const halo_spmd_entry *sharding_entry(const halo_executable *e, int index) {
  return e->module && index >= 0 ? e->module->spmd : NULL;
}

const halo_sharding *halo_executable_argument_sharding(const halo_executable *e, int index) {
  const halo_spmd_entry *spmd = sharding_entry(e, index);
  int32_t leaf;
  return spmd && sharding_argument(spmd, index, &leaf) ? &spmd->params->elements[leaf] : NULL;
}

const halo_sharding *halo_executable_result_sharding(const halo_executable *e, int index) {
  const halo_spmd_entry *spmd = sharding_entry(e, index);
  int32_t leaf = 0;
  if (!spmd || !sharding_leaf(spmd->whole_result, &index, &leaf)) return NULL;
  return &spmd->results->elements[leaf];
}

const halo_shape *halo_executable_whole_argument_shape(const halo_executable *e, int index) {
  const halo_spmd_entry *spmd = sharding_entry(e, index);
  int32_t leaf;
  return spmd ? sharding_argument(spmd, index, &leaf) : halo_executable_argument_shape(e, index);
}

const halo_shape *halo_executable_whole_result_shape(const halo_executable *e, int index) {
  const halo_spmd_entry *spmd = sharding_entry(e, index);
  int32_t leaf = 0;
  return spmd ? sharding_leaf(spmd->whole_result, &index, &leaf)
              : halo_executable_result_shape(e, index);
}
