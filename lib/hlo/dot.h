/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/dot.h: what every way of computing a product of matrices has in common. */
#ifndef HALO_HLO_DOT_H
#define HALO_HLO_DOT_H

#include "shape/types.h"

/* The type in which products are added up for a result of this type: f32 for narrower floats, 32 bits for
 * narrower integers, else the type itself. Of convolutions too. */
halo_type halo_dot_accumulator(halo_type result);

#endif
