/* SPDX-License-Identifier: Apache-2.0 */
/* shape/floats.h: encoding and decoding of every float type narrower than f64 on the host. */
#ifndef HALO_SHAPE_FLOATS_H
#define HALO_SHAPE_FLOATS_H

#include "halo/types.h"

/* The value of an encoded float (F4* to F64; `bits` in the low bits). Exact. NaN sign is kept; the
 * payload is moved to the top of the double's mantissa. */
double halo_float_decode(halo_type type, uint64_t bits);

/* The nearest encoding, ties to even, one rounding from the double; subnormals are produced.
 * Overflow, infinities and NaN go where XLA sends them: to Inf where the type has one; to NaN for
 * F8E4M3FN, the FNUZ types and F8E8M0FNU (zero and negatives too, which F8E8M0FNU lacks); F4E2M1FN
 * saturates and turns NaN into minus zero. */
uint64_t halo_float_encode(halo_type type, double value);

/* f32 <-> f64 bit patterns as numbers. */
uint64_t halo_bits_of_f64(double value);
double halo_f64_of_bits(uint64_t bits);

#endif
