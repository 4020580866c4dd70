/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/native_list.c: threads that make kernels machine code. */
#include "base/memory.h"
#include "base/progress.h"
#include "base/vec.h"
#include "opencl/native_work.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* A library: a kernel, whose functions several jobs compile, and the shared functions that it calls. */
typedef struct native_build {
  char *path;
  int parts, left; /* objects that are not there yet */
  void *objects[NATIVE_PARTS];
  int shared_count;
  struct native_shared *shared[HALO_NATIVE_SHARED];
  struct native_build *next; /* of those to be linked */
} native_build;

/* A shared function. */
typedef struct native_shared {
  char *name;
  int calls; /* kernels */
  bool done;
  void *object;
  HALO_VEC(native_build *) waiting;
  struct native_shared *next;
} native_shared;

typedef struct native_job {
  halo_native_kernel kernel; /* or the shared function */
  double seconds;
  native_build *build; /* NULL: a shared function's */
  native_shared *shared;
  int part;
  struct native_job *next;
} native_job;

enum {
  NATIVE_MAX_THREADS = 16,
  NATIVE_STACK = 8 << 20 /* bytes, as LLVM is used to */
};

struct halo_native_list {
  pthread_mutex_t lock;
  pthread_cond_t wake;
  native_job *jobs; /* parts of what was begun, then the longest first */
  native_shared *shared;
  bool closed;
  int idle, busy; /* threads that wait, and that compile */
  halo_native_count count;
  int most, thread_count;
  pthread_t threads[NATIVE_MAX_THREADS];
};

halo_native_list *halo_native_list_open(int threads) {
  halo_native_list *list = halo_alloc(sizeof *list);
  pthread_mutex_init(&list->lock, NULL);
  pthread_cond_init(&list->wake, NULL);
  list->most = threads < NATIVE_MAX_THREADS ? threads : NATIVE_MAX_THREADS;
  return list;
}

/* The next one, or NULL when there will be none. The lock is held. */
static native_job *native_take(halo_native_list *list) {
  list->idle++;
  while (!list->jobs && !(list->closed && list->busy == 0)) {
    pthread_cond_wait(&list->wake, &list->lock);
  }
  list->idle--;
  native_job *job = list->jobs;
  if (job) list->jobs = job->next;
  return job;
}

static native_job *native_new_job(const halo_native_kernel *kernel, double seconds) {
  native_job *job = halo_alloc(sizeof *job);
  *job = (native_job){.kernel = *kernel, .seconds = seconds};
  job->kernel.name = halo_strdup(kernel->name);
  return job;
}

/* Behind those that take as long. The lock is held. */
static void native_insert(halo_native_list *list, native_job *job) {
  native_job **at = &list->jobs;
  while (*at && (*at)->seconds >= job->seconds) at = &(*at)->next;
  job->next = *at;
  *at = job;
}

static void native_start_thread(halo_native_list *list);

/* For jobs that nobody waits for. The lock is held. */
static void native_start_threads(halo_native_list *list) {
  int waiting = -list->idle;
  for (const native_job *job = list->jobs; job; job = job->next) waiting++;
  for (; waiting > 0 && list->thread_count < list->most; waiting--) native_start_thread(list);
}

/* Threads that have nothing to do. The lock is held. */
static int native_spare(const halo_native_list *list) {
  int spare = list->most - list->busy;
  for (const native_job *job = list->jobs; job; job = job->next) spare--;
  return spare > 0 ? spare : 0;
}

/* ---- Builds ---- */

/* Finds the function, or has it compiled, before all else. The lock is held. */
static native_shared *native_find_shared(halo_native_list *list, const native_job *job,
                                         const char *name) {
  native_shared *shared = list->shared;
  while (shared && strcmp(shared->name, name) != 0) shared = shared->next;
  if (shared) return shared;
  shared = halo_alloc(sizeof *shared);
  *shared = (native_shared){.name = halo_strdup(name), .next = list->shared};
  list->shared = shared;
  halo_native_kernel function = {job->kernel.bitcode, job->kernel.size, .name = name,
                                 .shared = true};
  native_job *other = native_new_job(&function, HUGE_VAL);
  other->shared = shared;
  native_insert(list, other);
  return shared;
}

/* The lock is held. */
static void native_share(halo_native_list *list, const native_job *job,
                         const halo_native_work *work) {
  native_build *build = job->build;
  char *names[HALO_NATIVE_SHARED];
  build->shared_count = halo_native_shared(work, names);
  for (int i = 0; i < build->shared_count; i++) {
    native_shared *shared = build->shared[i] = native_find_shared(list, job, names[i]);
    if (shared->calls++ == 1) list->count.shared++;
    if (!shared->done) {
      halo_vec_push(&shared->waiting, build);
      build->left++;
    }
    halo_free(names[i]);
  }
}

/* Hands out the shared functions of a kernel and its other parts, before all else: as many as there are threads that have
 * nothing to do. */
static void native_begin_build(halo_native_list *list, native_job *job, halo_native_work *work) {
  native_build *build = job->build;
  pthread_mutex_lock(&list->lock);
  int most = 1 + native_spare(list); /* shared functions are short */
  if (work) native_share(list, job, work);
  pthread_mutex_unlock(&list->lock);
  build->parts = work && most > 1 ? halo_native_parts(work, most) : 1;
  pthread_mutex_lock(&list->lock);
  build->left += build->parts - 1;
  for (int part = 1; part < build->parts; part++) {
    native_job *other = native_new_job(&job->kernel, HUGE_VAL);
    other->build = build;
    other->part = part;
    native_insert(list, other);
  }
  native_start_threads(list);
  pthread_cond_broadcast(&list->wake);
  pthread_mutex_unlock(&list->lock);
}

static void native_link_build(halo_native_list *list, native_build *build) {
  void *objects[NATIVE_OBJECTS];
  int count = 0;
  for (int part = 0; part < build->parts; part++) objects[count++] = build->objects[part];
  for (int i = 0; i < build->shared_count; i++) objects[count++] = build->shared[i]->object;
  bool good = halo_native_link(objects, count, build->path);
  for (int part = 0; part < build->parts; part++) halo_native_drop(build->objects[part]);
  if (good) halo_progress_done(1);
  pthread_mutex_lock(&list->lock);
  list->count.done += good;
  list->count.split += good && build->parts > 1;
  pthread_mutex_unlock(&list->lock);
  halo_free(build->path);
  halo_free(build);
}

/* Takes the build's object off what it waits for. The lock is held. */
static void native_count_down(native_build *build, native_build **complete) {
  if (--build->left > 0) return;
  build->next = *complete;
  *complete = build;
}

static void native_work_on(halo_native_list *list, native_job *job) {
  native_build *complete = NULL;
  native_shared *shared = job->shared;
  halo_native_work *work = halo_native_open(&job->kernel);
  if (job->build && job->build->parts == 0) native_begin_build(list, job, work);
  int parts = job->build ? job->build->parts : 1;
  void *object = work ? halo_native_make(work, job->part, parts) : NULL;
  if (work) halo_native_close(work);
  pthread_mutex_lock(&list->lock);
  if (shared) {
    shared->object = object;
    shared->done = true;
    for (int32_t i = 0; i < shared->waiting.count; i++) {
      native_count_down(shared->waiting.data[i], &complete);
    }
  } else {
    job->build->objects[job->part] = object;
    native_count_down(job->build, &complete);
  }
  pthread_mutex_unlock(&list->lock);
  for (native_build *next; complete; complete = next) {
    next = complete->next;
    native_link_build(list, complete);
  }
}

/* ---- Threads ---- */

static void *native_serve(void *data) {
  halo_native_list *list = data;
  pthread_mutex_lock(&list->lock);
  for (native_job *job; (job = native_take(list));) {
    list->busy++;
    pthread_mutex_unlock(&list->lock);
    native_work_on(list, job);
    halo_free((char *)job->kernel.name);
    halo_free(job);
    pthread_mutex_lock(&list->lock);
    list->busy--;
    if (list->busy == 0) pthread_cond_broadcast(&list->wake);
  }
  pthread_mutex_unlock(&list->lock);
  return NULL;
}

/* The lock is held. */
static void native_start_thread(halo_native_list *list) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, NATIVE_STACK);
  list->thread_count +=
      pthread_create(&list->threads[list->thread_count], &attributes, native_serve, list) == 0;
  pthread_attr_destroy(&attributes);
}

void halo_native_list_add(halo_native_list *list, const halo_native_kernel *kernel,
                          const char *path, double seconds) {
  native_job *job = native_new_job(kernel, seconds);
  job->build = halo_alloc(sizeof *job->build);
  *job->build = (native_build){.path = halo_strdup(path), .left = 1};
  pthread_mutex_lock(&list->lock);
  native_insert(list, job);
  native_start_threads(list);
  pthread_cond_signal(&list->wake);
  pthread_mutex_unlock(&list->lock);
}

halo_native_count halo_native_list_close(halo_native_list *list) {
  if (!list) return (halo_native_count){0};
  pthread_mutex_lock(&list->lock);
  list->closed = true;
  pthread_cond_broadcast(&list->wake);
  pthread_mutex_unlock(&list->lock);
  native_serve(list);
  for (int t = 0; t < list->thread_count; t++) pthread_join(list->threads[t], NULL);
  halo_native_count count = list->count;
  for (native_shared *shared = list->shared, *next; shared; shared = next) {
    next = shared->next;
    halo_native_drop(shared->object);
    halo_vec_deinit(&shared->waiting);
    halo_free(shared->name);
    halo_free(shared);
  }
  pthread_cond_destroy(&list->wake);
  pthread_mutex_destroy(&list->lock);
  halo_free(list);
  return count;
}
