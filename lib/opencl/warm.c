/* opencl/warm.c: what a runtime does once, at its first build, is done beside the program's own start.
 *
 * PoCL reads its library of builtins, 10 MB of bitcode, when a context's first program is built: 0.4 s of one core. A
 * thread has it do so, for each driver that programs are built for, soon after the device was opened, unless by then
 * the device is closed again or a program is built, which cannot be any faster for it. Where PoCL has programs in its cache, those of this process may be among
 * them and would need no library, but they would wait for it: then there is no thread. */
#include "base/config.h"
#include "base/memory.h"
#include "opencl/pocl.h"
#include "opencl/private.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
  WARM_DELAY = 50,       /* ms */
  WARM_CACHE_ENTRIES = 2 /* of programs in PoCL's cache, which a warm-up leaves there */
};

struct halo_cl_warming {
  cl_context context;
  cl_device_id
      ids[2]; /* that which small programs are built for comes first; the second may be NULL */
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool cancelled;
  halo_cl_warming *next; /* of those that the end of the process waits for */
};

/* ---- The end of the process ----
 * Compilers have globals, made when first used, which must not be destroyed while they work; and what they made last
 * is destroyed first, before any function that atexit knew by then. But before all of them exit() runs what the thread
 * that calls it has registered for its own end, as C++ does for thread_local. So there is a warm-up only where that can
 * be had, and only of devices that the main thread opens, which is the one that ends the process. */

int __cxa_thread_atexit_impl(void (*function)(void *),
                             void *object, /* NOLINT: the C library's name */
                             void *library) __attribute__((weak));
extern void *__dso_handle; /* NOLINT: the linker's name */

static pthread_mutex_t warm_lock = PTHREAD_MUTEX_INITIALIZER;
static halo_cl_warming *warm_first;

/* It does not begin any more; what has begun goes on. */
static void warm_cancel(halo_cl_warming *w) {
  pthread_mutex_lock(&w->lock);
  w->cancelled = true;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->lock);
}

static void warm_at_exit(void *unused) {
  (void)unused;
  if (halo_cl_is_forked()) return;
  pthread_mutex_lock(&warm_lock);
  while (warm_first) {
    halo_cl_warming *w = warm_first;
    warm_first = w->next;
    warm_cancel(w);
    pthread_join(w->thread, NULL);
  }
  pthread_mutex_unlock(&warm_lock);
}

/* ---- The thread ---- */

/* False when cancelled meanwhile. */
static bool warm_wait(halo_cl_warming *w) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += WARM_DELAY * 1000000L;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&w->lock);
  while (!w->cancelled && pthread_cond_timedwait(&w->changed, &w->lock, &until) != ETIMEDOUT) {}
  bool go = !w->cancelled;
  pthread_mutex_unlock(&w->lock);
  return go;
}

static bool warm_is_cancelled(halo_cl_warming *w) {
  pthread_mutex_lock(&w->lock);
  bool cancelled = w->cancelled;
  pthread_mutex_unlock(&w->lock);
  return cancelled;
}

static void *warm_run(void *data) {
  halo_cl_warming *w = data;
  static const char *source = "__kernel void h_warm(__global int *a) { *a = 0; }\n";
  cl_int code;
  if (!warm_wait(w)) return NULL;
  for (int i = 0; i < 2 && w->ids[i] && !warm_is_cancelled(w); i++) {
    cl_program program = clCreateProgramWithSource(w->context, 1, &source, NULL, &code);
    if (!program) return NULL;
    clBuildProgram(program, 1, &w->ids[i], HALO_POCL_OPTIONS, NULL, NULL);
    clReleaseProgram(program);
  }
  return NULL;
}

/* ---- Begin and end ---- */

/* Has the end of the process wait; false where that cannot be. */
static bool warm_register(void) {
  return getpid() == (pid_t)syscall(SYS_gettid) && __cxa_thread_atexit_impl &&
         __cxa_thread_atexit_impl(warm_at_exit, NULL, &__dso_handle) == 0;
}

/* Whether PoCL's cache has next to nothing in it. It has a folder of two letters for each program, or some. */
static bool warm_cache_is_empty(void) {
  char *path = halo_config_pocl_cache_dir();
  DIR *folder = path ? opendir(path) : NULL;
  int entries = 0;
  halo_free(path);
  if (!folder) return true;
  for (struct dirent *entry; (entry = readdir(folder));) {
    entries += strlen(entry->d_name) == 2 && entry->d_name[0] != '.';
  }
  closedir(folder);
  return entries <= WARM_CACHE_ENTRIES;
}

static void warm_free(halo_cl_warming *w) {
  pthread_cond_destroy(&w->changed);
  pthread_mutex_destroy(&w->lock);
  halo_free(w);
}

void halo_cl_warm_begin(halo_cl_device *device) {
  if (device->caps.is_null || !halo_pocl_is(&device->caps) || !warm_cache_is_empty()) return;
  if (!warm_register()) return;
  halo_cl_warming *w = halo_alloc(sizeof *w);
  w->context = device->context;
  int count = 0;
  if (device->here_id) w->ids[count++] = device->here_id;
  w->ids[count] = device->id;
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->changed, NULL);
  pthread_mutex_lock(&warm_lock);
  /* Signals are for the program's own threads. */
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  bool started = pthread_create(&w->thread, NULL, warm_run, w) == 0;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (started) {
    w->next = warm_first;
    warm_first = w;
    device->warming = w;
  }
  pthread_mutex_unlock(&warm_lock);
  if (!started) warm_free(w);
}

void halo_cl_warm_forgo(halo_cl_device *device) {
  if (device->warming) warm_cancel(device->warming);
}

void halo_cl_warm_end(halo_cl_device *device) {
  halo_cl_warming *w = device->warming;
  if (!w) return;
  pthread_mutex_lock(&warm_lock);
  halo_cl_warming **at = &warm_first;
  while (*at && *at != w) at = &(*at)->next;
  bool listed = *at != NULL;
  if (listed) *at = w->next;
  pthread_mutex_unlock(&warm_lock);
  if (listed) {
    warm_cancel(w);
    pthread_join(w->thread, NULL);
  }
  warm_free(w);
  device->warming = NULL;
}
