/* SPDX-License-Identifier: Apache-2.0 */
/* builder/norm.c: batch normalisation. */
#include "builder/build.h"

static halo_op norm_op(const char *function, halo_opcode opcode, int count, const halo_op *operands,
                       float epsilon, int64_t feature_index) {
  build_call call = halo_build_begin_with(function, count, operands);
  const halo_attr attrs[] = {{.id = HALO_ATTR_EPSILON, .f = (double)epsilon},
                             halo_build_int(HALO_ATTR_FEATURE_INDEX, feature_index)};
  return halo_build_nary(&call, opcode, count, operands, 2, attrs);
}

halo_op halo_batch_norm_training(halo_op operand, halo_op scale, halo_op offset, float epsilon,
                                 int64_t feature_index) {
  return norm_op("halo_batch_norm_training", HALO_OP_BATCH_NORM_TRAINING, 3,
                 (halo_op[]){operand, scale, offset}, epsilon, feature_index);
}

halo_op halo_batch_norm_inference(halo_op operand, halo_op scale, halo_op offset, halo_op mean,
                                  halo_op variance, float epsilon, int64_t feature_index) {
  return norm_op("halo_batch_norm_inference", HALO_OP_BATCH_NORM_INFERENCE, 5,
                 (halo_op[]){operand, scale, offset, mean, variance}, epsilon, feature_index);
}

halo_op halo_batch_norm_grad(halo_op operand, halo_op scale, halo_op batch_mean, halo_op batch_var,
                             halo_op grad_output, float epsilon, int64_t feature_index) {
  return norm_op("halo_batch_norm_grad", HALO_OP_BATCH_NORM_GRAD, 5,
                 (halo_op[]){operand, scale, batch_mean, batch_var, grad_output}, epsilon,
                 feature_index);
}
