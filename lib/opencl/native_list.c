/* opencl/native_list.c: threads that make kernels machine code. */
#include "base/memory.h"
#include "opencl/native.h"

#include <pthread.h>

typedef struct native_job {
  halo_native_kernel kernel;
  char *path;
  double seconds;
  struct native_job *next;
} native_job;

enum {
  NATIVE_MAX_THREADS = 16,
  NATIVE_STACK = 8 << 20 /* bytes, as LLVM is used to */
};

struct halo_native_list {
  pthread_mutex_t lock;
  pthread_cond_t wake;
  native_job *jobs; /* the longest first */
  bool closed;
  int idle, done; /* threads that wait; kernels */
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
  while (!list->jobs && !list->closed) pthread_cond_wait(&list->wake, &list->lock);
  list->idle--;
  native_job *job = list->jobs;
  if (job) list->jobs = job->next;
  return job;
}

static void *native_serve(void *data) {
  halo_native_list *list = data;
  pthread_mutex_lock(&list->lock);
  for (native_job *job; (job = native_take(list));) {
    pthread_mutex_unlock(&list->lock);
    bool good = halo_native_compile(&job->kernel, job->path);
    halo_free((char *)job->kernel.name);
    halo_free(job->path);
    halo_free(job);
    pthread_mutex_lock(&list->lock);
    list->done += good;
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
  native_job *job = halo_alloc(sizeof *job);
  *job = (native_job){.kernel = *kernel, .path = halo_strdup(path), .seconds = seconds};
  job->kernel.name = halo_strdup(kernel->name);
  pthread_mutex_lock(&list->lock);
  native_job **at = &list->jobs;
  while (*at && (*at)->seconds >= seconds) at = &(*at)->next;
  job->next = *at;
  *at = job;
  if (!list->idle && list->thread_count < list->most) native_start_thread(list);
  pthread_cond_signal(&list->wake);
  pthread_mutex_unlock(&list->lock);
}

int halo_native_list_close(halo_native_list *list) {
  if (!list) return 0;
  pthread_mutex_lock(&list->lock);
  list->closed = true;
  pthread_cond_broadcast(&list->wake);
  pthread_mutex_unlock(&list->lock);
  native_serve(list);
  for (int t = 0; t < list->thread_count; t++) pthread_join(list->threads[t], NULL);
  int done = list->done;
  pthread_cond_destroy(&list->wake);
  pthread_mutex_destroy(&list->lock);
  halo_free(list);
  return done;
}
