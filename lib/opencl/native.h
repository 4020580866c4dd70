/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/native.h: kernels made machine code, in this process, in the place of what PoCL does when they are launched. */
#ifndef HALO_OPENCL_NATIVE_H
#define HALO_OPENCL_NATIVE_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

/* Functions whose names begin so are compiled once for all kernels of a list, whatever their programs: the name says all of
 * what they are. They ask for no number of a work item. */
#define HALO_NATIVE_SHARED_NAME "h_shared_"
enum { HALO_NATIVE_SHARED = 8 }; /* that a kernel calls; others are compiled with it */

/* A kernel as it will be launched, or a shared function. */
typedef struct halo_native_kernel {
  /* Borrowed: its program, not optimised, with what halo_native_declare and halo_native_group add. */
  const void *bitcode;
  size_t size;
  const char *name; /* borrowed */
  bool shared; /* no kernel but the shared function `name`; of such, what follows says nothing */
  size_t local[3];
  bool small; /* all dimensions of the launch are shorter than HALO_POCL_SMALL_GRID */
} halo_native_kernel;

/* To be changed with what is made of the same text: PoCL keeps it by the text of programs and their options. */
enum { HALO_NATIVE_FORM = 7 };

/* Whether kernels can be made so here. */
bool halo_native_is_there(void);

/* What is to stand in the text of a program before its kernels. */
void halo_native_declare(halo_strbuf *out);
/* Appends a function that runs a group of the kernel, to stand behind it. `parameters`: as they are declared, pointers to
 * global memory or numbers, between commas. */
void halo_native_group(halo_strbuf *out, const char *kernel, const char *parameters);

/* A kernel or a shared function that is being compiled, for one thread. Its functions can be parts, each compiled by another thread, from a
 * work of its own of the same kernel. */
typedef struct halo_native_work halo_native_work;
/* NULL where that cannot be done. */
halo_native_work *halo_native_open(const halo_native_kernel *kernel);
/* How many parts it is worth, `most` at most; of all works of a kernel the same. */
int halo_native_parts(halo_native_work *work, int most);
/* Gives the number of shared functions that it calls, and their names, which are to be freed with halo_free. */
int halo_native_shared(const halo_native_work *work, char *names[HALO_NATIVE_SHARED]);
/* Makes the part an object, which is to be given to halo_native_drop, once a work; NULL where that cannot be done. */
void *halo_native_make(halo_native_work *work, int part, int parts);
void halo_native_close(halo_native_work *work);
/* Makes of the objects of all parts and shared functions the library `path`, as PoCL loads it; false: it could not be done,
 * as of objects that are NULL, and there is no such file. */
bool halo_native_link(void *const *objects, int count, const char *path);
/* Whether there is such a library, as halo_native_link made it: with its checksum. A library
 * that a power cut or a disk damaged is not whole, nor is one that something else made. */
bool halo_native_is_whole(const char *path);
/* NULL is no object. */
void halo_native_drop(void *object);

/* Kernels that threads compile; for one thread at a time. */
typedef struct halo_native_list halo_native_list;
halo_native_list *halo_native_list_open(int threads);
/* Begins to compile the kernel into the file `path`, which is copied, as the kernel's name is; its bitcode stays until the
 * list is closed. `seconds`: what that is expected to take, so that what takes long does not come last. */
void halo_native_list_add(halo_native_list *list, const halo_native_kernel *kernel,
                          const char *path, double seconds);
/* Kernels that were compiled, those of them of which several threads compiled parts, and functions that several kernels
 * share. */
typedef struct halo_native_count {
  int done, split, shared;
} halo_native_count;
/* Compiles what is left and waits for the rest. NULL is a list of nothing. */
halo_native_count halo_native_list_close(halo_native_list *list);

#endif
