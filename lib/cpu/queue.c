/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/queue.c: in-order queues. Commands are run one after the other, by the queue's thread, or by whoever waits for one. */
#include "base/memory.h"
#include "cpu/objects.h"

enum { QUEUE_PENDING = 16 }; /* commands that are begun without being asked for */

cl_command_queue CL_API_CALL cpu_clCreateCommandQueue(cl_context context, cl_device_id device,
                                                      cl_command_queue_properties properties,
                                                      cl_int *code) {
  cl_int ignored;
  if (!code) code = &ignored;
  const cl_command_queue_properties known = CL_QUEUE_PROFILING_ENABLE | HALO_CPU_QUEUE_IN_CALLER;
  *code = !context              ? CL_INVALID_CONTEXT
          : !device             ? CL_INVALID_DEVICE
          : properties & ~known ? CL_INVALID_QUEUE_PROPERTIES
                                : CL_SUCCESS;
  if (*code != CL_SUCCESS) return NULL;
  struct _cl_command_queue *queue = halo_alloc(sizeof *queue);
  queue->tag = &halo_cpu_dispatch;
  queue->context = context;
  queue->device = device;
  queue->properties = properties;
  queue->in_caller = (properties & HALO_CPU_QUEUE_IN_CALLER) != 0;
  queue->timed = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
  atomic_init(&queue->references, 1);
  pthread_mutex_init(&queue->lock, NULL);
  pthread_cond_init(&queue->changed, NULL);
  return queue;
}

void cpu_queue_retain(cl_command_queue queue) { atomic_fetch_add(&queue->references, 1); }

cl_int CL_API_CALL cpu_clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info what,
                                             size_t room, void *out, size_t *size) {
  switch (what) {
    case CL_QUEUE_CONTEXT:
      return cpu_answer(&queue->context, sizeof queue->context, room, out, size);
    case CL_QUEUE_DEVICE: return cpu_answer(&queue->device, sizeof queue->device, room, out, size);
    case CL_QUEUE_PROPERTIES:
      return cpu_answer(&queue->properties, sizeof queue->properties, room, out, size);
    case CL_QUEUE_REFERENCE_COUNT:
      return cpu_answer_references(&queue->references, room, out, size);
    default: return CL_INVALID_VALUE;
  }
}

/* ---- Running ---- */

/* Runs the first command, which is there, while nobody runs another; the lock is held, and released on the way. */
static void queue_run_first(cl_command_queue queue) {
  cpu_command *command = queue->first;
  queue->first = command->next;
  if (!queue->first) queue->last = NULL;
  queue->pending--;
  queue->busy = true;
  pthread_mutex_unlock(&queue->lock);
  cpu_command_run(command);
  pthread_mutex_lock(&queue->lock);
  queue->busy = false;
  pthread_cond_broadcast(&queue->changed);
}

void cpu_queue_finish(cl_command_queue queue, cl_event until) {
  pthread_mutex_lock(&queue->lock);
  while (until ? !cpu_event_is_over(until) : queue->first || queue->busy) {
    if (queue->busy || !queue->first) {
      pthread_cond_wait(&queue->changed, &queue->lock);
    } else {
      queue_run_first(queue);
    }
  }
  pthread_mutex_unlock(&queue->lock);
}

static void queue_destroy(cl_command_queue queue) {
  pthread_cond_destroy(&queue->changed);
  pthread_mutex_destroy(&queue->lock);
  halo_free(queue);
}

/* The queue's thread, until nobody has the queue any more, which it then frees. */
static void *queue_serve(void *data) {
  cl_command_queue queue = data;
  pthread_mutex_lock(&queue->lock);
  while (!queue->ends || queue->first) {
    if (queue->busy || !queue->first) {
      queue->thread_called = false;
      queue->thread_waits = true;
      pthread_cond_wait(&queue->changed, &queue->lock);
      queue->thread_waits = false;
    } else {
      queue_run_first(queue);
    }
  }
  pthread_mutex_unlock(&queue->lock);
  queue_destroy(queue);
  return NULL;
}

/* The lock is held. */
static void queue_call_thread(cl_command_queue queue) {
  if (!queue->first || queue->in_caller) return;
  if (!queue->has_thread) {
    queue->has_thread = pthread_create(&queue->thread, NULL, queue_serve, queue) == 0;
  } else if (queue->thread_waits && !queue->thread_called) {
    queue->thread_called = true;
    pthread_cond_broadcast(&queue->changed);
  }
}

void cpu_queue_start(cl_command_queue queue) {
  pthread_mutex_lock(&queue->lock);
  queue_call_thread(queue);
  pthread_mutex_unlock(&queue->lock);
}

/* Does not wait for what is still queued, which the queue's thread does before it frees the queue: the last reference may be dropped in
 * that thread, or in another queue's for which one of these commands waits. */
static void queue_free(cl_command_queue queue) {
  pthread_mutex_lock(&queue->lock);
  queue_call_thread(queue);
  bool has_thread = queue->has_thread;
  if (has_thread) {
    pthread_detach(queue->thread);
    queue->ends = true;
    pthread_cond_broadcast(&queue->changed);
  }
  pthread_mutex_unlock(&queue->lock);
  if (has_thread) return;
  cpu_queue_finish(queue, NULL); /* where no thread could be started */
  queue_destroy(queue);
}

void cpu_queue_release(cl_command_queue queue) {
  if (atomic_fetch_sub(&queue->references, 1) == 1) queue_free(queue);
}

/* A flush, too: commands whose events nobody waits for are done all the same. */
cl_int CL_API_CALL cpu_clReleaseCommandQueue(cl_command_queue queue) {
  cpu_queue_start(queue);
  cpu_queue_release(queue);
  return CL_SUCCESS;
}

cl_int CL_API_CALL cpu_clFlush(cl_command_queue queue) {
  cpu_queue_start(queue);
  return CL_SUCCESS;
}

cl_int CL_API_CALL cpu_clFinish(cl_command_queue queue) {
  cpu_queue_finish(queue, NULL);
  return CL_SUCCESS;
}

/* ---- Queueing ---- */

void cpu_command_queue(cpu_command *command) {
  cl_command_queue queue = command->queue;
  pthread_mutex_lock(&queue->lock);
  *(queue->last ? &queue->last->next : &queue->first) = command;
  queue->last = command;
  queue->pending++;
  if (queue->in_caller) {
    while (queue->first && !queue->busy) queue_run_first(queue);
  } else if (queue->pending >= QUEUE_PENDING) {
    queue_call_thread(queue);
  }
  pthread_mutex_unlock(&queue->lock);
}
