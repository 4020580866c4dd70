/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/cmplx.h: <complex.h>, and CMPLXL, which glibc's gives to gcc only. */
#ifndef HALO_EVALUATOR_CMPLX_H
#define HALO_EVALUATOR_CMPLX_H

#include <complex.h>

#ifndef CMPLXL
#define CMPLXL(re, im) __builtin_complex((long double)(re), (long double)(im))
#endif

#endif
