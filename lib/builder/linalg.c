/* SPDX-License-Identifier: Apache-2.0 */
/* builder/linalg.c: Cholesky factors and triangular systems. */
#include "hlo/linalg.h"
#include "builder/build.h"

halo_op halo_cholesky(halo_op a, bool lower) {
  build_call call = halo_build_begin_with("halo_cholesky", 1, &a);
  halo_attr attr = halo_build_int(HALO_ATTR_LOWER, lower);
  return halo_build_nary(&call, HALO_OP_CHOLESKY, 1, &a, 1, &attr);
}

halo_op halo_triangular_solve(halo_op a, halo_op b, bool left_side, bool lower, bool unit_diagonal,
                              halo_matrix_op transpose_a) {
  halo_op operands[] = {a, b};
  build_call call = halo_build_begin_with("halo_triangular_solve", 2, operands);
  if (call.ok && (transpose_a < HALO_NO_TRANSPOSE || transpose_a > HALO_ADJOINT)) {
    halo_build_fail(&call, "transpose_a is no halo_matrix_op");
  }
  halo_attr attrs[] = {halo_build_int(HALO_ATTR_LEFT_SIDE, left_side),
                       halo_build_int(HALO_ATTR_LOWER, lower),
                       halo_build_int(HALO_ATTR_UNIT_DIAGONAL, unit_diagonal),
                       halo_build_int(HALO_ATTR_TRANSPOSE_A, transpose_a)};
  return halo_build_nary(&call, HALO_OP_TRIANGULAR_SOLVE, 2, operands, 4, attrs);
}
