/* SPDX-License-Identifier: Apache-2.0 */
/* passes/work.h: what each instruction of a module computes and moves, roughly. */
#ifndef HALO_PASSES_WORK_H
#define HALO_PASSES_WORK_H

#include "hlo/hlo.h"

/* Of one execution of an instruction. */
typedef struct halo_work {
  double operations; /* as in halo_module_summary */
  double bytes;      /* of its operands and its result */
  double
      seconds; /* predicted for the module's target, what it calls included; 0: it takes no time of its own */
} halo_work;

/* Calls back for each instruction of the module, computation by computation. */
typedef void halo_work_seen(void *user, const halo_instr *instr, const halo_work *work);
void halo_work_walk(const halo_module *module, halo_work_seen *seen, void *user);

#endif
