/* SPDX-License-Identifier: Apache-2.0 */
/* base/vec.h: growable arrays as macros over a struct { data, count, capacity }.
 *
 *   HALO_VEC(int) v = {0};
 *   halo_vec_push(&v, 3);
 *   halo_vec_deinit(&v);
 */
#ifndef HALO_BASE_VEC_H
#define HALO_BASE_VEC_H

#include "base/memory.h"

#include <stdint.h>

#define HALO_VEC(type)                                                                             \
  struct {                                                                                         \
    type *data;                                                                                    \
    int32_t count, capacity;                                                                       \
  }

#define halo_vec_reserve(v, n)                                                                     \
  do {                                                                                             \
    if ((v)->capacity < (n)) {                                                                     \
      int32_t want_ = (v)->capacity ? (v)->capacity * 2 : 8;                                       \
      if (want_ < (n)) want_ = (n);                                                                \
      (v)->data = halo_realloc((v)->data, (size_t)want_ * sizeof *(v)->data);                      \
      (v)->capacity = want_;                                                                       \
    }                                                                                              \
  } while (0)

#define halo_vec_push(v, ...)                                                                      \
  do {                                                                                             \
    halo_vec_reserve(v, (v)->count + 1);                                                           \
    (v)->data[(v)->count++] = (__VA_ARGS__);                                                       \
  } while (0)

#define halo_vec_deinit(v)                                                                         \
  do {                                                                                             \
    halo_free((v)->data);                                                                          \
    (v)->data = NULL;                                                                              \
    (v)->count = (v)->capacity = 0;                                                                \
  } while (0)

#endif
