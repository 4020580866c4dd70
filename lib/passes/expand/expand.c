/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/expand.c: the table of operations that are written as others, and the two passes that do it:
 * early, what has no kernels of its own; late, after everything else has had its say about the whole
 * operation, what does not fit the target's kernels. */
#include "passes/expand/expand.h"
#include "passes/passes.h"

typedef struct expand_row {
  halo_opcode opcode;
  bool late;
  halo_expand_fn *rewrite;
} expand_row;

static const expand_row expand_table[] = {
    {HALO_OP_BATCH_NORM_TRAINING, false, halo_expand_batch_norm_training},
    {HALO_OP_BATCH_NORM_INFERENCE, false, halo_expand_batch_norm_inference},
    {HALO_OP_BATCH_NORM_GRAD, false, halo_expand_batch_norm_grad},
    {HALO_OP_ALL_GATHER, false, halo_expand_collective},
    {HALO_OP_ALL_REDUCE, false, halo_expand_collective},
    {HALO_OP_REDUCE_SCATTER, false, halo_expand_collective},
    {HALO_OP_ALL_TO_ALL, false, halo_expand_collective},
    {HALO_OP_RAGGED_ALL_TO_ALL, false, halo_expand_ragged_all_to_all},
    {HALO_OP_COLLECTIVE_BROADCAST, false, halo_expand_collective_root},
    {HALO_OP_COLLECTIVE_REDUCE, false, halo_expand_collective_root},
    {HALO_OP_COLLECTIVE_PERMUTE, false, halo_expand_collective_permute},
    {HALO_OP_ALL_GATHER_START, false, halo_expand_all_gather_start},
    {HALO_OP_ALL_GATHER_DONE, false, halo_expand_collective_done},
    {HALO_OP_ALL_REDUCE_START, false, halo_expand_all_reduce_start},
    {HALO_OP_ALL_REDUCE_DONE, false, halo_expand_collective_done},
    {HALO_OP_COLLECTIVE_PERMUTE_START, false, halo_expand_collective_permute_start},
    {HALO_OP_COLLECTIVE_PERMUTE_DONE, false, halo_expand_collective_done},
    {HALO_OP_RNG, false, halo_expand_rng},
    {HALO_OP_RNG_BIT_GENERATOR, false, halo_expand_rng_bit_generator},
    {HALO_OP_RAGGED_DOT, false, halo_expand_ragged_dot},
    {HALO_OP_SCALED_DOT, false, halo_expand_scaled_dot},
    {HALO_OP_SCAN, false, halo_expand_scan},
    {HALO_OP_SHUFFLE, false, halo_expand_shuffle},
    {HALO_OP_STOCHASTIC_CONVERT, false, halo_expand_stochastic_convert},
    {HALO_OP_CHOLESKY, false, halo_expand_cholesky},
    {HALO_OP_TRIANGULAR_SOLVE, false, halo_expand_triangular_solve},
    {HALO_OP_CUSTOM_CALL, false, halo_expand_custom_call},
    {HALO_OP_DOT, true, halo_expand_vector_product},
    {HALO_OP_CONCATENATE, true, halo_expand_wide_concatenate},
    {HALO_OP_REDUCE, true, halo_expand_reduce},
    {HALO_OP_REDUCE_WINDOW, true, halo_expand_window},
    {HALO_OP_SCATTER, true, halo_expand_scatter},
};

static halo_expand_fn *expand_find(halo_opcode opcode, bool late) {
  for (size_t i = 0; i < sizeof expand_table / sizeof expand_table[0]; i++) {
    if (expand_table[i].opcode == opcode && expand_table[i].late == late) {
      return expand_table[i].rewrite;
    }
  }
  return NULL;
}

static halo_status expand_computation(halo_computation *computation, bool late, bool *changed) {
  halo_rewriter r;
  halo_rewrite_begin(&r, computation);
  halo_status status = HALO_OK;
  int32_t count = computation->instrs.count; /* what is made need not be looked at again */
  for (int32_t i = 0; i < count && status == HALO_OK; i++) {
    halo_instr *instr = halo_rewrite_next(&r, i);
    halo_expand_fn *rewrite = instr ? expand_find(instr->opcode, late) : NULL;
    if (!rewrite) continue;
    halo_expander x = {.r = &r, .like = instr};
    halo_instr *value = rewrite(&x, instr);
    status = x.status;
    if (value && status == HALO_OK) halo_rewrite_replace(&r, instr, value);
  }
  halo_status ended = halo_rewrite_end(&r, changed);
  return status != HALO_OK ? status : ended;
}

static halo_status expand_run(halo_module *module, bool late, bool *changed) {
  *changed = false;
  int32_t count = module->computations.count;
  for (int32_t c = 0; c < count; c++) {
    HALO_TRY(expand_computation(module->computations.data[c], late, changed));
  }
  if (*changed) halo_module_remove_dead(module);
  return HALO_OK;
}

halo_status halo_pass_expand(halo_module *module, bool *changed) {
  return expand_run(module, false, changed);
}

halo_status halo_pass_split(halo_module *module, bool *changed) {
  return expand_run(module, true, changed);
}
