/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/front.h: what makes bitcode of kernels' text: the program `clang`, or PoCL where there is none. */
#ifndef HALO_CPU_FRONT_H
#define HALO_CPU_FRONT_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct cpu_front {
  const char *name; /* for people: "clang-15" */
  int version;      /* of LLVM (major), whose bitcode it makes */
  const char *
      folder; /* of the libraries that were installed with it, which may be there or not; "": unknown */
  /* Appends bitcode of a text, or LLVM's text of it (clang alone), that is not optimised. `options` are those of
   * clBuildProgram. Any thread. False: it does not build, and *log (may be empty) says why. */
  bool (*compile)(const halo_strbuf *text, const char *options, bool as_text, halo_strbuf *made,
                  halo_strbuf *log);
  bool makes_objects; /* by itself, where there is no libLLVM */
} cpu_front;

/* Finds one: clang, else PoCL with a libLLVM; $HALO_CPU may name the one that counts. The first that is found stays. NULL, or what is missing (static).
 * By one thread at a time, as what opens drivers. */
const char *cpu_front_find(void);
/* The front end that was found. Any thread. */
const cpu_front *cpu_front_get(void);

/* clang.c, pocl.c: the front ends; NULL: *missing (static) says what is not there. As cpu_front_find. */
const cpu_front *cpu_front_of_clang(const char **missing);
const cpu_front *cpu_front_of_pocl(const char **missing);

/* Functions that are not to be put in place where they are called have this attribute where a front end says that of all functions. */
#define CPU_FRONT_STAYS "hot"

/* $HALO_CPU with this value has PoCL make bitcode even where there is clang. */
#define CPU_FRONT_POCL "pocl"

#endif
