/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/caps.h: what a device can do, as plain data from OpenCL or from a text file. */
#ifndef HALO_OPENCL_CAPS_H
#define HALO_OPENCL_CAPS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum halo_caps_kind { HALO_CAPS_CPU, HALO_CAPS_GPU, HALO_CAPS_ACCELERATOR } halo_caps_kind;

/* Plain data: may be copied. Texts are NUL-terminated and cut when longer. */
typedef struct halo_caps {
  char platform[128], name[128], vendor[128];
  char product[128];          /* the name that it is sold under, where that is known; else `name` */
  char driver[128];           /* CL_DRIVER_VERSION */
  char version[128];          /* CL_DEVICE_VERSION */
  char platform_version[128]; /* CL_PLATFORM_VERSION */
  halo_caps_kind kind;
  bool is_cpu, is_gpu; /* the same as `kind`, for short */
  bool is_null;        /* read from a file: nothing can run on it */

  bool has_f64;                /* cl_khr_fp64 or a core feature */
  bool has_f16;                /* cl_khr_fp16: arithmetic in half, not only storage */
  bool has_atomics64;          /* cl_khr_int64_base_atomics: add, sub, xchg, cmpxchg on 64 bits */
  bool has_atomics64_extended; /* cl_khr_int64_extended_atomics: min, max, and, or, xor */
  bool correctly_rounded;      /* f32 divide and sqrt can be correctly rounded (and then are) */
  bool denormals_f32;          /* f32 subnormals are kept (see halo_caps_flushes); likewise below */
  bool denormals_f64, denormals_f16;
  bool fma_f32;            /* fma() in f32 is fast and exact */
  bool contracts;          /* a * b + c is rounded once, though FP_CONTRACT is off */
  bool converts_f16;       /* vload_half and vstore_half are right; CPUs do without them */
  bool shares_host_memory; /* CL_DEVICE_HOST_UNIFIED_MEMORY */
  bool multiplies_bytes;   /* the compiler does sums of products of four bytes (AVX512-VNNI) */
  bool multiplies_bf16;    /* likewise, of two bf16 numbers, subnormals flushed (AVX512-BF16) */
  bool adds_barriers; /* PoCL 4.0 and newer: to loops of kernels, of which some then never end */
  bool clblast_is_right,
      clblast_is_wrong; /* a product was checked (kernels/dot/gemm.h); not read from files */
  bool local_is_real;   /* CL_LOCAL: local memory is on chip, not a piece of global memory */

  uint32_t compute_units;
  uint32_t clock_mhz;
  uint32_t simd_width;         /* work items that run in step (warp, wavefront); CPUs: f32 lanes */
  uint32_t vector_width_float; /* CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT */
  uint32_t address_bits;       /* 32 or 64 */
  uint32_t base_alignment;     /* bytes (not bits): of a sub-buffer's origin */
  uint32_t cache_line;         /* bytes; of global memory's cache; 0: unknown */
  uint64_t max_work_group;
  uint64_t max_items[3];   /* work items of a group along each axis */
  uint64_t max_groups[3];  /* work groups of a launch along each axis; 0: any number */
  uint64_t max_launch;     /* work items of a launch along each axis; 0: any number */
  uint64_t local_memory;   /* bytes a work group */
  uint64_t global_memory;  /* bytes */
  uint64_t max_allocation; /* bytes in one block */
  uint64_t global_cache;   /* bytes; 0: unknown */
  uint64_t max_constant;   /* bytes of a __constant argument */
  uint64_t max_parameters; /* bytes of all arguments of a kernel */
  uint64_t watchdog_ms;    /* after which the driver ends a launch; 0: never, or nobody knows */
  uint64_t max_rounds; /* of all loops together that a work item may do; 0: as many as it likes */
} halo_caps;

/* "cpu", "gpu", "accelerator"; "null" when is_null. Static. */
const char *halo_caps_kind_name(const halo_caps *caps);

/* Kernels are built so that subnormal numbers count as zero, and are zero where they would be results: the
 * device keeps them in neither f32 nor f64. Those of f16 and narrower types, which are computed in f32, are kept. */
bool halo_caps_flushes(const halo_caps *caps);

/* Bytes of private memory that a work item should take at most: drivers of GPUs reserve it for all work items that the device
 * holds at once, and those take 1/64 of its memory then. At least 2 KiB. */
int64_t halo_caps_private_bytes(const halo_caps *caps);
/* Bytes that work items of a launch, which would be too much private memory, may have in global memory: 1/64 of it. */
uint64_t halo_caps_items_bytes(const halo_caps *caps);

/* Work items that a group may have along one axis. */
static inline uint64_t halo_caps_largest_group(const halo_caps *caps) {
  uint64_t group = caps->max_work_group, line = caps->max_items[0];
  return group < line ? group : line;
}

/* Work groups of `local` work items along axis `d` that a launch may have at most; 0: any number. */
uint64_t halo_caps_most_groups(const halo_caps *caps, uint32_t d, size_t local);

/* Microseconds that a launch should take at most, by HALO_LAUNCH_TIME; 0: as long as it likes. HALO_INVALID_ARGUMENT for a text that is
 * no number. Any thread. */
halo_status halo_caps_launch_time(const halo_caps *caps, uint64_t *micros);

/* Whether CLBlast is known to compute wrong products on the device. Threads that make plans may ask while another one checks. */
static inline bool halo_caps_clblast_is_wrong(const halo_caps *caps) {
  return __atomic_load_n(&caps->clblast_is_wrong, __ATOMIC_ACQUIRE);
}

/* Reads `key = value` lines: the field names above but is_cpu, is_gpu and is_null; texts without
 * quotes, booleans true or false, whole numbers (sizes may end in K, M or G, powers of 1024),
 * max_items and max_groups as three numbers. Blank lines and lines starting with # are skipped. What a file does
 * not say is as on a plain 1.2 GPU without extensions. Sets is_null. HALO_NOT_FOUND or
 * HALO_IO_ERROR when the file cannot be read; HALO_INVALID_ARGUMENT as "file:line: ..." for an
 * unknown or repeated key, a bad value, or capabilities that no device could have. */
halo_status halo_caps_read(const char *path, halo_caps *out);

/* All fields as such a file: for `halo info`, and to try another's device at home. Free with
 * halo_free. */
char *halo_caps_text(const halo_caps *caps);

#endif
