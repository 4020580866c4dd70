/* SPDX-License-Identifier: Apache-2.0 */
/* os/process.h: this process and the machine that it runs on. Each function may be called from any thread. */
#ifndef HALO_OS_PROCESS_H
#define HALO_OS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* The name of the machine; cut off at `size` bytes. False: it has none. */
bool halo_os_machine_name(char *out, size_t size);

/* Processors that are switched on. */
int halo_os_cores(void);

/* Seconds since this process started; where the system does not say that (it does on Linux and Windows), since the first call. */
double halo_os_process_age(void);

/* Has `run` called when the process ends: before the destructors of libraries where the first thread ends it and the C library
 * allows that (glibc), else among the functions of atexit. Windows: never, since a DLL is told of its process's end only when the
 * other threads, its own and the driver's among them, are gone. */
void halo_os_at_end(void (*run)(void));

/* Has `run` called in each child that is forked from this process. Windows has no such children. */
void halo_os_at_fork(void (*run)(void));

/* Sets a variable of the environment unless it is set. */
void halo_os_set_missing_variable(const char *name, const char *value);

/* Memory at a multiple of `alignment`, a power of two of at least the size of a pointer; NULL: there is none. Only halo_os_free_aligned
 * frees it; NULL is allowed. */
void *halo_os_alloc_aligned(size_t alignment, size_t size);
void halo_os_free_aligned(void *memory);

/* Fills memory with zeros. Whole pages of large blocks are given back to the system instead, where it hands out zeroed ones when
 * they are next touched. */
void halo_os_zero(void *memory, size_t size);

/* The path of the running program without symbolic links, with '/' between folders. False: the system does not say, or it is longer. */
bool halo_os_program_path(char *out, size_t size);

/* Writing to a pipe that nobody reads any more fails, and does not end the process. Not for libraries: it is the whole process's. */
void halo_os_keep_on_closed_pipes(void);

/* Runs a program, found in PATH, with these arguments (the name comes first, NULL last; Windows: without quotation marks) and this text
 * as its standard input, and waits for it. Returns its exit code; 127: there is no such program; -1: it was killed, or could not be
 * started. */
int halo_os_run(const char *const *arguments, const char *input);

#endif
