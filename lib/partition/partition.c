/* SPDX-License-Identifier: Apache-2.0 */
/* partition/partition.c: makes a program for each partition of one that speaks of whole arrays. */
#include "partition/partition.h"

#include "base/status.h"
#include "partition/spmd.h"

#include <string.h>

/* What a module has that says whether there is something to do. */
typedef struct partition_traits {
  bool shardings;            /* of arrays */
  bool collectives;          /* or anything else that tells partitions from each other */
  bool manual;               /* regions in which these belong */
  const halo_instr *foreign; /* a marker of sdy, which front ends translate */
} partition_traits;

static bool partition_says(const halo_sharding *s) {
  for (int32_t i = 0; i < s->element_count; i++) {
    if (partition_says(&s->elements[i])) return true;
  }
  return s->kind != HALO_SHARDING_TUPLE && s->kind != HALO_SHARDING_UNKNOWN;
}

static void partition_look(const halo_module *module, partition_traits *out) {
  for (int32_t c = 0; c < module->computations.count; c++) {
    const halo_computation *computation = module->computations.data[c];
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      const halo_instr *instr = computation->instrs.data[i];
      const halo_attr *attr = halo_instr_attr(instr, HALO_ATTR_SHARDING);
      const halo_attr *target = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_TARGET);
      out->shardings |= attr && partition_says(attr->sharding);
      out->manual |= halo_spmd_marker_of(instr) == HALO_SPMD_TO_PART ||
                     (attr && attr->sharding->kind == HALO_SHARDING_MANUAL);
      out->collectives |= instr->opcode == HALO_OP_PARTITION_ID ||
                          halo_opcode_has_trait(instr->opcode, HALO_TRAIT_COLL);
      if (target && (strcmp(target->text, "xla.sdy.GlobalToLocalShape") == 0 ||
                     strcmp(target->text, "xla.sdy.LocalToGlobalShape") == 0)) {
        out->foreign = instr;
      }
    }
  }
}

/* A program that exchanges something outside manual regions, or was scheduled, has been partitioned already. */
bool halo_partition_is_wanted(const halo_module *module) {
  partition_traits traits = {0};
  if (module->num_partitions <= 1 || module->spmd || module->is_scheduled) return false;
  partition_look(module, &traits);
  return traits.shardings && (!traits.collectives || traits.manual || traits.foreign);
}

/* Shardings say nothing about one partition's program; nor do markers in computations of elements. */
static halo_status partition_drop_shardings(halo_module *module) {
  bool changed;
  for (int32_t c = 0; c < module->computations.count; c++) {
    halo_rewriter r;
    halo_rewrite_begin(&r, module->computations.data[c]);
    int32_t count = r.computation->instrs.count;
    for (int32_t i = 0; i < count; i++) {
      halo_instr *instr = halo_rewrite_next(&r, i);
      if (!instr) continue;
      halo_instr_remove_attr(instr, HALO_ATTR_SHARDING);
      bool marker = instr->opcode == HALO_OP_CUSTOM_CALL &&
                    halo_spmd_marker_of(instr) == HALO_SPMD_SAME && !halo_rewrite_pinned(instr);
      if (marker) halo_rewrite_replace(&r, instr, instr->operands[0]);
    }
    HALO_TRY(halo_rewrite_end(&r, &changed));
  }
  return HALO_OK;
}

static int64_t partition_next_channel(const halo_module *module) {
  int64_t most = 0;
  for (int32_t c = 0; c < module->computations.count; c++) {
    const halo_computation *computation = module->computations.data[c];
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      int64_t channel = halo_instr_int(computation->instrs.data[i], HALO_ATTR_CHANNEL_ID, 0);
      if (channel > most && channel < INT32_MAX) most = channel;
    }
  }
  return most + 1;
}

static halo_status partition_run(halo_spmd *p) {
  HALO_TRY(halo_spmd_mesh_choose(p));
  HALO_TRY(halo_spmd_annotate(p));
  halo_spmd_propagate(p);
  halo_spmd_keep_sums(p);
  return halo_spmd_write(p);
}

halo_status halo_partition(halo_module *module) {
  partition_traits traits = {0};
  partition_look(module, &traits);
  if (traits.foreign) {
    return halo_fail(HALO_UNIMPLEMENTED,
                     "line %d: %s: manual computations in the form of sdy cannot be partitioned",
                     traits.foreign->line, traits.foreign->name);
  }
  for (int32_t c = 0; c < module->computations.count; c++) {
    halo_computation_remove_dead(module->computations.data[c]);
  }
  HALO_TRY(halo_spmd_find_shifts(module));
  halo_spmd p = {.module = module, .first_channel = partition_next_channel(module)};
  p.channel = p.first_channel;
  halo_status status = partition_run(&p);
  halo_vec_deinit(&p.instrs);
  halo_vec_deinit(&p.links);
  halo_vec_deinit(&p.groups);
  halo_arena_deinit(&p.arena);
  HALO_TRY(status);
  halo_module_remove_dead(module);
  return partition_drop_shardings(module);
}
