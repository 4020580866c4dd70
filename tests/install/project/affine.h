/* SPDX-License-Identifier: Apache-2.0 */
/* affine.h: 3 x + 1 over arrays. */
#ifndef AFFINE_H
#define AFFINE_H

#include <halo/halo.h>

/* The module of 3 x + 1 for a vector of `count` elements of f32, to be released; NULL after a failure. */
halo_module *affine_module(int64_t count);

#endif
