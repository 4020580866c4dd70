/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/fft/stage.h: one stage of a line's transform as OpenCL C. Private to this folder. */
#ifndef HALO_KERNELS_FFT_STAGE_H
#define HALO_KERNELS_FFT_STAGE_H

#include "kernels/fft/fft.h"

typedef struct fft_stage {
  const fft_pass *pass;
  int number;
  int64_t length;      /* what is left of the line's length before the stage */
  int64_t root, roots; /* its roots begin at `root` of `roots` */
  const char *table;   /* the argument with these; NULL: none */
} fft_stage;

/* From the arrays `from`r and `from`i to others. */
void fft_stage_emit(halo_emitter *e, const fft_stage *stage, const char *from, const char *to);
/* The same for a radix above FFT_WRITTEN. */
void fft_stage_prime(halo_emitter *e, const fft_stage *stage, const char *from, const char *to);

#endif
