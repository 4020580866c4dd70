/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/pocl.h: what is done for one implementation of OpenCL, PoCL, alone. */
#ifndef HALO_OPENCL_POCL_H
#define HALO_OPENCL_POCL_H

#include "base/strbuf.h"
#include "opencl/caps.h"
#include "opencl/opencl.h"

#include <CL/cl.h>

bool halo_pocl_is(const halo_caps *caps);
/* 100 times the major version, and the minor one, as 301, of a platform's version; 0 where that names no PoCL. */
int halo_pocl_version(const char *platform_version);

/* PoCL has each program read clang's header of all builtins, 17,000 declarations, twice, which takes 70 ms, and still
 * 15 ms where the program is in its cache. With these options the header comes out empty. */
#define HALO_POCL_OPTIONS "-D_OPENCL_H_"
/* Appends declarations of those builtins that `source` names, to stand before it in the header's place. A name
 * that gets a declaration gets all those for numbers, so that calls mean what they always mean; but not every builtin
 * is known here, nor all for vectors: what does not build with these is to be built with the header. */
void halo_pocl_declare(halo_strbuf *out, const halo_caps *caps, const char *source);

/* Appends definitions of the builtins that `source` names, which may be no good where false is returned: it names
 * others, or has what halo_pocl_build_alone knows nothing of. */
bool halo_pocl_define(halo_strbuf *out, const halo_caps *caps, const char *source);
/* For the function above: what comes first, a builtin's definition, and what comes last. The definition of a function of
 * floats is for scalars, one of integers for all of them or, of bits, for those without a sign. False: there is none,
 * or one that calls the C library, and `calls` is false. */
bool halo_pocl_define_begin(halo_strbuf *out, const halo_caps *caps, const char *source);
bool halo_pocl_define_one(halo_strbuf *out, const char *name, bool calls);
/* The text that definitions need before them. */
void halo_pocl_define_types(halo_strbuf *out, const halo_caps *caps);
/* Whether the processor has instructions for what the definitions leave to the compiler. */
bool halo_pocl_has_instructions(const halo_caps *caps);
void halo_pocl_define_end(halo_strbuf *out);
/* A program of `defined` and `source` built without PoCL's library of builtins, which it must need nothing of. NULL
 * where that cannot be done or does not build. The caller releases it. Its binary is put into *image (NULL: not wanted).
 * `use`: one that is brief is optimised once, as a kernel, and not before that as a program; one that is native as well,
 * and has what opencl/native.h makes kernels of. *is_known false: this PoCL's binaries are of another form, so that no
 * program can be built so. */
cl_program halo_pocl_build_alone(cl_context context, cl_device_id id, halo_cl_program_use use,
                                 const char *defined, const char *source, const char *options,
                                 halo_strbuf *image, bool *is_known);
/* The program's code in such a binary; NULL: there is none. */
const unsigned char *halo_pocl_bitcode(const void *image, size_t size, size_t *bitcode_size);
/* Where such a binary has the folder of the program in PoCL's cache, as a text of so many characters; and PoCL names
 * kernels for fewer work items than that along each dimension otherwise than others. */
enum { HALO_POCL_HASH_AT = 36, HALO_POCL_HASH_SIZE = 41, HALO_POCL_SMALL_GRID = 65535 };

/* PoCL before 7.0 ends the process where it does not find its linker, and looks for it in $PATH, which a process may have
 * been started without, or may have cleared since. HALO_FAILED_PRECONDITION in such a process; HALO_OK on other
 * implementations. To be called before PoCL compiles a kernel, as it does at the first launch. Any thread. */
halo_status halo_pocl_check_linker(const halo_caps *caps);
/* PoCL ends the process, too, where there is no room on the disk of its cache. HALO_IO_ERROR then; HALO_OK on other
 * implementations. To be called before it builds a program or compiles a kernel. Any thread. */
halo_status halo_pocl_check_cache(const halo_caps *caps);

/* Reads a byte of each page of the kernels that PoCL has loaded since the last call. A page that was never read is not
 * there, and a load under a mask, as LLVM makes of choices between constants, does not bring it where the mask is 0: it
 * costs the processor some 200 cycles each time to find out that it need not fail. Any thread. */
void halo_pocl_touch_kernels(void);

#endif
