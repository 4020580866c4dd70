/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/target.h: what things cost on the device that a module is optimised for. Plain data, so that
 * passes can price what they do without knowing devices. */
#ifndef HALO_HLO_TARGET_H
#define HALO_HLO_TARGET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct halo_target {
  double launch;       /* seconds that starting one more kernel takes */
  double bandwidth;    /* bytes a second that a kernel of middling size moves */
  double rate;         /* simple operations a second of the whole device */
  double item_rate;    /* of one work item */
  int32_t max_buffers; /* of one kernel */
  int32_t side_extent; /* elements a reduction may have that a kernel does on the side */
  uint64_t max_rounds; /* of all loops together that a work item may do; 0: as many as it likes */
  bool has_f64;
  bool exact_division; /* of f32, and square roots too: correctly rounded */
} halo_target;

/* A few cores under an OpenCL of medium speed (PoCL). */
static const halo_target halo_target_cpu = {.launch = 6e-6,
                                            .bandwidth = 10e9,
                                            .rate = 5e9,
                                            .item_rate = 5e9,
                                            .max_buffers = 60,
                                            .side_extent = 64,
                                            .has_f64 = true,
                                            .exact_division = true};
/* A GPU of middling size: much is done at once, and one work item is slow. */
static const halo_target halo_target_gpu = {.launch = 8e-6,
                                            .bandwidth = 300e9,
                                            .rate = 1e12,
                                            .item_rate = 5e8,
                                            .max_buffers = 60,
                                            .side_extent = 64,
                                            .has_f64 = true,
                                            .exact_division = true};

/* Whether few work items are the whole device, as cores are: vectors of neighbours are what its speed comes from then, and
 * a work item has much of the device's memory to itself. */
static inline bool halo_target_has_few_items(const halo_target *target) {
  const double few = 64;
  return target->item_rate * few >= target->rate;
}

#endif
