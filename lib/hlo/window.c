/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/window.c: kinds of windows along one dimension. */
#include "hlo/window.h"

bool halo_window_is_trivial(const halo_window_dim *w) {
  return w->size == 1 && w->stride == 1 && w->base_dilation == 1 && w->pad_low == 0 &&
         w->pad_high == 0;
}

bool halo_window_is_running(const halo_window_dim *w, int64_t n) {
  return w->stride == 1 && w->base_dilation == 1 && w->window_dilation == 1 && w->size == n &&
         n > 1 && w->pad_low + w->pad_high == n - 1 && (w->pad_low == 0 || w->pad_high == 0);
}
