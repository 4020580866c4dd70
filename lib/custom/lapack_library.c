/* SPDX-License-Identifier: Apache-2.0 */
/* custom/lapack_library.c: the library that has LAPACKE, opened when a call of LAPACK is first compiled; and its BLAS in
 * one thread while it works for us: results are the same on every machine then, and its threads do not wait for the same
 * cores as the device's. */
#include "custom/lapack.h"

#include "os/library.h"

#ifdef HALO_HAVE_LAPACKE

#include <pthread.h>
#include <stddef.h>

/* ---- Functions ---- */

static pthread_once_t lapack_library_once = PTHREAD_ONCE_INIT;
static void *lapack_library; /* NULL: none is installed */

/* Debian packs LAPACKE alone, in front of whichever LAPACK is chosen there; others have it in OpenBLAS. */
static void lapack_library_open(void) {
  static const char *const names[] = {"liblapacke.so.3", "libopenblas.so.0", "libopenblasp.so.0"};
  for (size_t i = 0; i < sizeof names / sizeof *names && !lapack_library; i++) {
    void *library = halo_os_library_open(names[i], 0);
    if (library && halo_os_library_symbol(library, "LAPACKE_sgetrf_work")) lapack_library = library;
  }
}

void *lapack_function(const char *name) {
  pthread_once(&lapack_library_once, lapack_library_open);
  return lapack_library ? halo_os_library_symbol(lapack_library, name) : NULL;
}

/* ---- Threads ---- */

/* OpenBLAS has these; other libraries have threads of no kind, or are asked by their own variables. */
typedef int lapack_get_fn(void);
typedef void lapack_set_fn(int count);

static pthread_once_t lapack_threads_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lapack_threads_lock = PTHREAD_MUTEX_INITIALIZER;
static lapack_get_fn *lapack_threads_get;
static lapack_set_fn *lapack_threads_set;
static int lapack_callers, lapack_threads_before;

/* The BLAS meant is LAPACKE's own: a process may have others beside it. */
static void lapack_threads_find(void) {
  char path[4096];
  if (!halo_os_library_path(lapack_function("LAPACKE_sgetrf_work"), path, sizeof path)) return;
  void *library = halo_os_library_open(path, HALO_OS_LIBRARY_LOADED);
  if (!library) library = halo_os_library_open(NULL, 0);
  if (!library) return;
  lapack_threads_get = (lapack_get_fn *)halo_os_library_symbol(library, "openblas_get_num_threads");
  lapack_threads_set = (lapack_set_fn *)halo_os_library_symbol(library, "openblas_set_num_threads");
}

/* The count is the process's, and others may use the library too: who comes first takes note of it, and who
 * goes last restores it. */
void lapack_threads_enter(void) {
  pthread_once(&lapack_threads_once, lapack_threads_find);
  if (!lapack_threads_get || !lapack_threads_set) return;
  pthread_mutex_lock(&lapack_threads_lock);
  if (lapack_callers++ == 0) {
    lapack_threads_before = lapack_threads_get();
    if (lapack_threads_before != 1) lapack_threads_set(1);
  }
  pthread_mutex_unlock(&lapack_threads_lock);
}

void lapack_threads_leave(void) {
  if (!lapack_threads_get || !lapack_threads_set) return;
  pthread_mutex_lock(&lapack_threads_lock);
  if (--lapack_callers == 0 && lapack_threads_before != 1)
    lapack_threads_set(lapack_threads_before);
  pthread_mutex_unlock(&lapack_threads_lock);
}

#endif
