/* SPDX-License-Identifier: Apache-2.0 */
/* compiler/messages.h: what a process that uses OpenCL and one that compiles kernels for it say to each other. */
#ifndef HALO_COMPILER_MESSAGES_H
#define HALO_COMPILER_MESSAGES_H

#include <stdint.h>

/* The program's name as a file, and what it is called with: the version of the platform that it shall use
 * (CL_PLATFORM_VERSION). Requests and answers go through one socket, which is its standard input; its end ends it. */
#define HALO_COMPILER_NAME "halo-compiler"
enum { HALO_COMPILER_SOCKET = 0, HALO_COMPILER_DIMS = 3 };

/* Programs that a compiling process remembers, each in the place that its first request gives. */
enum { HALO_COMPILER_PROGRAMS = 4 };
/* Arguments of kernels, a byte each: the size of a value, or this for a pointer to global memory. */
enum { HALO_COMPILER_POINTER = 0 };
/* Answers, a byte for each request, in their order. */
enum { HALO_COMPILER_FAILED = 0, HALO_COMPILER_DONE = 1 };

/* A kernel, and how it will be launched. Behind this come: the program's binary in PoCL's form, the options that it
 * was built with, the kernel's name (both without an end), and its arguments. */
typedef struct halo_compiler_request {
  uint32_t place;        /* of the program: below HALO_COMPILER_PROGRAMS */
  uint32_t binary_size;  /* 0: the program that is in that place */
  uint32_t options_size; /* 0 as well then */
  uint32_t name_size;
  uint32_t argument_count;
  uint32_t dims;
  uint64_t global[HALO_COMPILER_DIMS], local[HALO_COMPILER_DIMS];
} halo_compiler_request;

/* Where a binary of PoCL says which device it is for (8 bytes). */
enum { HALO_COMPILER_DEVICE_AT = 8, HALO_COMPILER_DEVICE_SIZE = 8 };

#endif
