/* SPDX-License-Identifier: Apache-2.0 */
/* builder/transform.c: Fourier transforms. */
#include "builder/build.h"

halo_op halo_fft(halo_op operand, halo_fft_type type, int count, const int64_t *lengths) {
  build_call call = halo_build_begin_with("halo_fft", 1, &operand);
  if (!call.ok || !halo_build_check_list(&call, count, lengths, "lengths")) {
    return halo_build_result(&call, NULL);
  }
  halo_attr attrs[] = {halo_build_int(HALO_ATTR_FFT_TYPE, type),
                       halo_build_ints(&call, HALO_ATTR_FFT_LENGTH, count, lengths)};
  return halo_build_nary(&call, HALO_OP_FFT, 1, &operand, 2, attrs);
}
