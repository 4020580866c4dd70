/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/target.h: the device that a module is optimised for: what things take there, and what it can do, so
 * that passes can price what they do without knowing devices. */
#ifndef HALO_HLO_TARGET_H
#define HALO_HLO_TARGET_H

#include "prices/tuning.h"

#include <stdbool.h>
#include <stdint.h>

struct halo_computation;

/* Answers what kernels take, for passes, which lie below them. */
typedef struct halo_quotes {
  /* Seconds that the cheapest kernels of a fusion with this body are expected to take, their launches included; negative: no
   * kernel can compute it. `in_rounds`: where few work items are the whole device, a launch is a step of a region, as in a
   * loop. NULL: nobody answers. */
  double (*ask)(const void *device, const struct halo_computation *body, bool in_rounds);
  const void *device; /* what `ask` is called with */
} halo_quotes;

typedef struct halo_target {
  halo_prices prices;
  halo_parameters parameters; /* of kernels */
  halo_quotes quotes;         /* as long as passes run */
  int32_t max_buffers;        /* of one kernel */
  uint64_t max_rounds; /* of all loops together that a work item may do; 0: as many as it likes */
  bool has_f64;
  bool exact_division; /* of f32, and square roots too: correctly rounded */
} halo_target;

/* A few cores under an OpenCL of medium speed; a GPU of middling size: much is done at once, and one work item
 * is slow. */
halo_target halo_target_cpu(void);
halo_target halo_target_gpu(void);

/* Seconds in which `items` work items side by side do so many simple operations together: no faster than the whole device
 * does them, and no faster than so many single items. */
double halo_target_operations(const halo_target *target, double operations, double items);
/* Seconds in which `items` work items side by side move so many bytes, under the same rule. */
double halo_target_bytes(const halo_target *target, double bytes, double items);

/* Whether few work items are the whole device, as cores are: vectors of neighbours are what its speed comes from then, and
 * a work item has much of the device's memory to itself. */
static inline bool halo_target_has_few_items(const halo_target *target) {
  const double few = 64;
  return target->prices.item_rate * few >= target->prices.rate;
}

#endif
