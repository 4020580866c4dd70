/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/window.h: what the windows along one dimension are. */
#ifndef HALO_HLO_WINDOW_H
#define HALO_HLO_WINDOW_H

#include "hlo/hlo.h"

/* One element each, and every element: nothing happens along this dimension. */
bool halo_window_is_trivial(const halo_window_dim *w);
/* All that comes before an element of `n`, or all from it on, and itself. */
bool halo_window_is_running(const halo_window_dim *w, int64_t n);

#endif
