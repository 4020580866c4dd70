/* opencl/native_list.c: threads that make kernels machine code. */
#include "base/memory.h"
#include "opencl/native_work.h"

#include <math.h>
#include <pthread.h>

/* A kernel whose functions several jobs compile. */
typedef struct native_split {
  int count, left; /* parts; of them those that are not done */
  void *objects[NATIVE_PARTS];
} native_split;

typedef struct native_job {
  halo_native_kernel kernel;
  char *path;
  double seconds;
  native_split *split; /* NULL: nobody has looked yet whether to split it */
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

static native_job *native_new_job(const halo_native_kernel *kernel, const char *path) {
  native_job *job = halo_alloc(sizeof *job);
  *job = (native_job){.kernel = *kernel, .path = halo_strdup(path)};
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

/* Hands out the other parts of a kernel, before all else. The lock is held. */
static void native_hand_out(halo_native_list *list, const native_job *job) {
  for (int part = 1; part < job->split->count; part++) {
    native_job *other = native_new_job(&job->kernel, job->path);
    other->split = job->split;
    other->part = part;
    other->seconds = HUGE_VAL;
    native_insert(list, other);
  }
  native_start_threads(list);
  pthread_cond_broadcast(&list->wake);
}

/* Threads that have nothing to do. The lock is held. */
static int native_spare(const halo_native_list *list) {
  int spare = list->most - list->busy;
  for (const native_job *job = list->jobs; job; job = job->next) spare--;
  return spare > 0 ? spare : 0;
}

/* Splits a kernel, so that threads that have nothing to do help. */
static void native_split_job(halo_native_list *list, native_job *job, halo_native_work *work) {
  job->split = halo_alloc(sizeof *job->split);
  pthread_mutex_lock(&list->lock);
  int most = 1 + native_spare(list);
  pthread_mutex_unlock(&list->lock);
  job->split->count = job->split->left = work && most > 1 ? halo_native_parts(work, most) : 1;
  pthread_mutex_lock(&list->lock);
  native_hand_out(list, job);
  pthread_mutex_unlock(&list->lock);
}

static void native_work_on(halo_native_list *list, native_job *job) {
  halo_native_work *work = halo_native_open(&job->kernel);
  if (!job->split) native_split_job(list, job, work);
  native_split *split = job->split;
  void *object = work ? halo_native_make(work, job->part, split->count) : NULL;
  if (work) halo_native_close(work);
  pthread_mutex_lock(&list->lock);
  split->objects[job->part] = object;
  bool last = --split->left == 0;
  pthread_mutex_unlock(&list->lock);
  if (!last) return;
  bool good = halo_native_link(split->objects, split->count, job->path);
  pthread_mutex_lock(&list->lock);
  list->count.done += good;
  list->count.split += good && split->count > 1;
  pthread_mutex_unlock(&list->lock);
  halo_free(split);
}

static void *native_serve(void *data) {
  halo_native_list *list = data;
  pthread_mutex_lock(&list->lock);
  for (native_job *job; (job = native_take(list));) {
    list->busy++;
    pthread_mutex_unlock(&list->lock);
    native_work_on(list, job);
    halo_free((char *)job->kernel.name);
    halo_free(job->path);
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
  native_job *job = native_new_job(kernel, path);
  job->seconds = seconds;
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
  pthread_cond_destroy(&list->wake);
  pthread_mutex_destroy(&list->lock);
  halo_free(list);
  return count;
}
