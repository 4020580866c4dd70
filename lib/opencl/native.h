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
enum { HALO_NATIVE_FORM = 4 };

/* Whether kernels can be made so here. */
bool halo_native_is_there(void);

/* What is to stand in the text of a program before its kernels. */
void halo_native_declare(halo_strbuf *out);
/* Appends a function that runs a group of the kernel, to stand behind it. `parameters`: as they are declared, pointers to
 * global memory or numbers, between commas. */
void halo_native_group(halo_strbuf *out, const char *kernel, const char *parameters);

/* Makes the kernel the library `path`, as PoCL loads it; false: it could not be done, and there is no such file. Any
 * thread, several at once. */
bool halo_native_compile(const halo_native_kernel *kernel, const char *path);

/* Kernels that threads compile; for one thread at a time. */
typedef struct halo_native_list halo_native_list;
halo_native_list *halo_native_list_open(int threads);
/* Begins to compile the kernel into the file `path`, which is copied, as the kernel's name is; its bitcode stays until the
 * list is closed. `seconds`: what that is expected to take, so that what takes long does not come last. */
void halo_native_list_add(halo_native_list *list, const halo_native_kernel *kernel,
                          const char *path, double seconds);
/* Compiles what is left and waits for the rest; gives how many were compiled. NULL is a list of nothing. */
int halo_native_list_close(halo_native_list *list);

#endif
