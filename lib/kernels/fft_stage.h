/* kernels/fft_stage.h: one stage of a line's transform as OpenCL C. Private to the files fft*.c. */
#ifndef HALO_KERNELS_FFT_STAGE_H
#define HALO_KERNELS_FFT_STAGE_H

#include "kernels/fft.h"

/* From the arrays `from`r and `from`i to others. `length` is what is left of the line's length before the
 * stage; its roots begin at `root` of `roots` in the argument `table`. */
void fft_stage_emit(halo_emitter *e, const fft_pass *pass, int stage, int64_t length, int64_t root,
                    int64_t roots, const char *table, const char *from, const char *to);

#endif
