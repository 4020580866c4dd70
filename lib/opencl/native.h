/* opencl/native.h: kernels made machine code, in this process, in the place of what PoCL does when they are launched. */
#ifndef HALO_OPENCL_NATIVE_H
#define HALO_OPENCL_NATIVE_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

/* A kernel as it will be launched. */
typedef struct halo_native_kernel {
  /* Borrowed: its program, not optimised, with what halo_native_declare and halo_native_group add. */
  const void *bitcode;
  size_t size;
  const char *name; /* borrowed */
  size_t local[3];
  bool small; /* all dimensions of the launch are shorter than HALO_POCL_SMALL_GRID */
} halo_native_kernel;

/* To be changed with what is made of the same text: PoCL keeps it by the text of programs and their options. */
enum { HALO_NATIVE_FORM = 5 };

/* Whether kernels can be made so here. */
bool halo_native_is_there(void);

/* What is to stand in the text of a program before its kernels. */
void halo_native_declare(halo_strbuf *out);
/* Appends a function that runs a group of the kernel, to stand behind it. `parameters`: as they are declared, pointers to
 * global memory or numbers, between commas. */
void halo_native_group(halo_strbuf *out, const char *kernel, const char *parameters);

/* A kernel that is being compiled, for one thread. Its functions can be parts, each compiled by another thread, from a
 * work of its own of the same kernel. */
typedef struct halo_native_work halo_native_work;
/* NULL where that cannot be done. */
halo_native_work *halo_native_open(const halo_native_kernel *kernel);
/* How many parts it is worth, `most` at most; of all works of a kernel the same. */
int halo_native_parts(halo_native_work *work, int most);
/* Makes the part an object, which is the caller's, once a work; NULL where that cannot be done. */
void *halo_native_make(halo_native_work *work, int part, int parts);
void halo_native_close(halo_native_work *work);
/* Makes of the objects of all parts, which are released, the library `path`, as PoCL loads it; false: it could not be done,
 * as of objects that are NULL, and there is no such file. */
bool halo_native_link(void **objects, int count, const char *path);

/* Kernels that threads compile; for one thread at a time. */
typedef struct halo_native_list halo_native_list;
halo_native_list *halo_native_list_open(int threads);
/* Begins to compile the kernel into the file `path`, which is copied, as the kernel's name is; its bitcode stays until the
 * list is closed. `seconds`: what that is expected to take, so that what takes long does not come last. */
void halo_native_list_add(halo_native_list *list, const halo_native_kernel *kernel,
                          const char *path, double seconds);
/* Kernels that were compiled, and those of them of which several threads compiled parts. */
typedef struct halo_native_count {
  int done, split;
} halo_native_count;
/* Compiles what is left and waits for the rest. NULL is a list of nothing. */
halo_native_count halo_native_list_close(halo_native_list *list);

#endif
