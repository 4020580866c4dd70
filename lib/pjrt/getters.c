/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/getters.c: the functions of getters.def. */
#include "pjrt/pjrt.h"

#include <string.h>

#define PJRT_GETTER(name, ...)                                                                     \
  PJRT_Error *pjrt_##name(PJRT_##name##_Args *args) {                                              \
    __VA_ARGS__                                                                                    \
    return NULL;                                                                                   \
  }
#include "pjrt/getters.def"
