/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/objects.h: OpenCL's objects as the provider has them, and its functions by file. Private to this room. */
#ifndef HALO_CPU_OBJECTS_H
#define HALO_CPU_OBJECTS_H

#include "cpu/cpu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Platform, devices, contexts (device.c) ---- */

struct _cl_platform_id {
  const void *tag; /* &halo_cpu_dispatch, as in all that follow: what the ICD loader calls */
};

/* The processor, or some of its cores: a part is made once and stays. */
struct _cl_device_id {
  const void *tag;
  struct _cl_device_id *whole; /* NULL: this is the whole one */
  cl_uint units;               /* threads that work for it */
};

struct _cl_context {
  const void *tag;
  atomic_int references;
  struct _cl_device_id *device; /* the first */
};

/* The instructions that kernels are compiled for, and by what (the program, and a number for this room's files); for the
 * driver's version, by which compiled programs are kept. */
void cpu_describe_driver(char *out, size_t size);

/* ---- Memory (memory.c) ---- */

typedef void(CL_CALLBACK *cpu_mem_callback)(cl_mem, void *);

struct _cl_mem {
  const void *tag;
  atomic_int references;
  cl_context context;
  cl_mem_flags flags;
  char *data;
  size_t size;
  bool owned; /* `data` is freed with it */
  pthread_mutex_t lock;
  struct cpu_mem_call {
    cpu_mem_callback call;
    void *data;
    struct cpu_mem_call *next;
  } * calls; /* the last added first, as they are to be called */
};

void cpu_mem_retain(cl_mem mem);

/* ---- Programs and kernels (program.c) ---- */

/* Where a work item is, as code reads it: 64-bit numbers in this order. */
typedef struct cpu_place {
  size_t global[3], local[3], group[3], groups[3], sizes[3];
} cpu_place;

/* A kernel's code, for the work item `place` and, where the kernel's `run` says so, those behind it along x, to `end_x` - 1, and
 * the same of the rows behind it along y, to `end_y` - 1; `arguments` point to the values (of buffers: to the address). */
typedef void cpu_code(void *const *arguments, const cpu_place *place, size_t end_x, size_t end_y);

/* How many items a call does. */
typedef enum cpu_run {
  CPU_RUN_ITEM,  /* one: it waits, or asks for no number along x */
  CPU_RUN_GROUP, /* neighbours of a group */
  CPU_RUN_ANY,   /* neighbours */
  CPU_RUN_ROWS   /* neighbours of several rows */
} cpu_run;

typedef enum cpu_parameter_kind { CPU_POINTER, CPU_VALUE } cpu_parameter_kind;
typedef struct cpu_parameter {
  cpu_parameter_kind kind;
  uint32_t size; /* bytes */
} cpu_parameter;

/* A kernel as it was compiled. */
typedef struct cpu_kernel_code {
  char *name;
  uint32_t parameter_count;
  cpu_parameter *parameters;
  bool waits; /* it has barriers: its groups are of one item */
  cpu_run run;
  void *object; /* an ELF file, halo_alloc */
  size_t object_size;
  cpu_code *code;
  _Atomic(float) each; /* nanoseconds of a work item, as last seen (cpu_pool_run) */
} cpu_kernel_code;

struct _cl_program {
  const void *tag;
  atomic_int references;
  cl_context context;
  char *source;  /* NULL: made from a binary */
  char *options; /* of the last build; NULL: none yet */
  char *log;     /* never NULL */
  cl_build_status status;
  bool flushes; /* -cl-denorms-are-zero */
  cpu_kernel_code *kernels;
  uint32_t kernel_count;
  atomic_int kernels_held; /* objects of OpenCL with this code, which stays while there are any */
  struct cpu_image *image; /* the machine code of all */
};

struct _cl_kernel {
  const void *tag;
  atomic_int references;
  cl_program program;
  cpu_kernel_code *code;
  struct cpu_argument {
    bool set;
    cl_mem mem; /* of a pointer, borrowed; NULL: none */
    unsigned char value[8];
  } arguments[];
};

/* ---- Events (event.c) ---- */

typedef struct cpu_call {
  void(CL_CALLBACK *call)(cl_event, cl_int, void *);
  void *data;
  struct cpu_call *next;
} cpu_call;

struct _cl_event {
  const void *tag;
  atomic_int references;
  cl_command_queue queue; /* a reference is held */
  cl_command_type type;
  atomic_int
      status; /* CL_QUEUED .. CL_COMPLETE, or a negative code; written under the queue's lock */
  cl_ulong queued, submitted, started, ended; /* nanoseconds */
  cpu_call *calls;                            /* when it is over; under the queue's lock */
};

cl_event cpu_event_create(cl_command_queue queue, cl_command_type type);
/* Notes the end, and calls what waits for it. */
void cpu_event_end(cl_event event, cl_int status);
bool cpu_event_is_over(cl_event event);
cl_ulong cpu_now(void); /* nanoseconds */

/* ---- Queues (queue.c, command.c) ---- */

typedef struct cpu_command cpu_command;

struct _cl_command_queue {
  const void *tag;
  atomic_int references;
  cl_context context;
  cl_device_id device;
  cl_command_queue_properties properties;
  bool in_caller, timed;
  pthread_mutex_t lock;
  pthread_cond_t changed;    /* a command is over, or there is one for the thread */
  cpu_command *first, *last; /* that were not begun */
  int pending;               /* of these */
  bool busy;                 /* somebody runs a command */
  bool has_thread, ends;     /* ends: nobody has a reference; the thread frees it */
  bool thread_waits, thread_called;
  pthread_t thread;
};

struct cpu_command {
  cpu_command *next;
  cl_event event; /* NULL: nobody asked for it */
  cl_uint wait_count;
  cl_event *waits; /* references */
  void (*run)(cpu_command *command);
  cl_command_queue queue;
  cl_int status;   /* of a command that failed; else CL_SUCCESS */
  cl_int *outcome; /* takes the status for a thread that waits; NULL: none does */
  union {
    struct {
      char *to;
      const char *from;
      size_t size;
      size_t pattern_size; /* of a fill */
      unsigned char pattern[128];
      cl_mem mems[2]; /* references; NULL: none */
    } copy;
    struct {
      cl_program program; /* a reference */
      cpu_kernel_code *code;
      size_t groups[3], local[3], offset[3];
      void **arguments; /* of the code; values behind them */
      cl_mem *mems;     /* references */
      uint32_t mem_count;
    } launch;
  };
};

/* Runs commands until the event is over, or waits for who does; NULL: until none is left. */
void cpu_queue_finish(cl_command_queue queue, cl_event until);
/* Has the queue's thread do what was queued. */
void cpu_queue_start(cl_command_queue queue);
void cpu_queue_retain(cl_command_queue queue);
void cpu_queue_release(cl_command_queue queue);
/* Queues a command, which becomes the queue's. */
void cpu_command_queue(cpu_command *command);
/* Waits for what the command names, runs and frees it. */
void cpu_command_run(cpu_command *command);

/* ---- Threads (pool.c) ---- */

/* Calls `work` for pieces of 0..count-1, several at a time, with `units` threads at most, the caller among them. `each`: the
 * nanoseconds that an item took when it was last done, 0 where that is unknown; noted anew. */
typedef void cpu_work(void *data, size_t begin, size_t end);
void cpu_pool_run(cl_uint units, size_t count, _Atomic(float) *each, cpu_work *work, void *data);
/* Processors that this process may use. */
cl_uint cpu_pool_cores(void);

/* ---- The functions ---- */

#define CPU_DECLARE(name) __typeof__(name) cpu_##name;
HALO_CL_FUNCTIONS(CPU_DECLARE)
#undef CPU_DECLARE
void *CL_API_CALL cpu_clSVMAlloc(cl_context context, cl_bitfield flags, size_t size, cl_uint align);
void CL_API_CALL cpu_clSVMFree(cl_context context, void *data);

/* The functions that the library itself does not call, for the ICD loader (others.c). */
void cpu_others_fill(struct _cl_icd_dispatch *out);

/* Whether a list of events to wait for is one. */
bool cpu_waits_are_valid(cl_uint count, const cl_event *waits);

/* Puts an answer of clGet...Info where the caller wants it. */
cl_int cpu_answer(const void *value, size_t length, size_t room, void *out, size_t *size);
cl_int cpu_answer_references(const atomic_int *references, size_t room, void *out, size_t *size);
cl_int cpu_answer_text(const char *text, size_t room, void *out, size_t *size);

#endif
