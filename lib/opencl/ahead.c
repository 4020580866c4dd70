/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/ahead.c: which kernels are compiled ahead, and threads that hand them to processes which do that. */
#include "opencl/ahead.h"

#include "base/config.h"
#include "base/folder.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/strbuf.h"
#include "opencl/compiler.h"
#include "opencl/native.h"
#include "opencl/pocl.h"
#include "opencl/private.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  AHEAD_MAX_PROCESSES =
      8, /* 15 MB of memory each while they wait, some times that while they compile */
  AHEAD_IDLE_SECONDS = 20, /* after which a process ends */
  AHEAD_MAX_FAILURES = 3,  /* processes that ended on their own, after which no more are started */
  AHEAD_LEFT =
      2, /* programs with kernels that no process compiled, after which there will be more */
};
/* Until processes that were just started compile; and what is to be gained by them, as estimates are what they are. */
static const double AHEAD_START = 0.06, AHEAD_GAIN = 0.04; /* seconds */
/* Programs that are in the cache are read in less. */
static const long AHEAD_COLD = 30000000; /* nanoseconds */
/* A client that was made so long ago, and has compiled nothing yet, leaves time for processes to start. */
static const long AHEAD_QUIET = 50000000; /* nanoseconds */

/* A program as it is sent. */
typedef struct ahead_program {
  uint64_t number;
  void *binary;
  size_t size;
  char *options;
  const halo_cl_program *of;
  struct ahead_program *next;
} ahead_program;

typedef struct ahead_job {
  halo_cl_ahead *list;
  const ahead_program *program;
  char *kernel;
  unsigned char *arguments;
  double seconds;
  halo_compiler_request request;
  struct ahead_job *next;
} ahead_job;

/* Of a kernel. */
typedef struct ahead_library {
  halo_cl_program *program; /* borrowed */
  char *path;
} ahead_library;

struct halo_cl_ahead {
  halo_cl_device *device;
  char *folder; /* of PoCL's cache */
  int processes;
  halo_native_list *native; /* NULL: kernels are compiled by processes */
  ahead_program *programs;
  ahead_job *held;                   /* until they are worth it */
  halo_map known;                    /* files that were asked for */
  HALO_VEC(ahead_library) libraries; /* to be held when they are there */
  double seconds, longest;           /* of those that were added */
  bool expects;                      /* that something will be added; counted in ahead_expected */
  int kernels, cached;               /* that were added, and of them those that the cache has */
  int pending, done;                 /* handed out; compiled: under ahead_lock */
};

/* One list of jobs for all clients of this process, as there is one set of cores: the longest first. */
static pthread_mutex_t ahead_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ahead_wake = PTHREAD_COND_INITIALIZER; /* jobs have come */
static pthread_cond_t ahead_done = PTHREAD_COND_INITIALIZER; /* jobs are over */
static ahead_job *ahead_jobs;
static int ahead_threads, ahead_idle, ahead_expected, ahead_failures;
static uint64_t ahead_opened; /* lists, so far */
static uint64_t ahead_left;   /* lists of which kernels were left to their first launches */
static bool ahead_prepared;
static uint64_t ahead_number;
static char ahead_version[sizeof((halo_caps *)0)->platform_version]; /* that processes use */

/* ---- Threads, each with a process ---- */

/* The lock is held. */
static void ahead_finish(ahead_job *job, bool done) {
  job->list->pending--;
  job->list->done += done;
  if (done) halo_progress_done(1);
  pthread_cond_broadcast(&ahead_done);
  halo_free(job->kernel);
  halo_free(job->arguments);
  halo_free(job);
}

static struct timespec ahead_time(time_t seconds, long nanoseconds) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += seconds + (time.tv_nsec + nanoseconds) / 1000000000;
  time.tv_nsec = (time.tv_nsec + nanoseconds) % 1000000000;
  return time;
}

/* Until there is a job, or one takes so long to come that it will; false: none does. The lock is held. */
static bool ahead_is_needed(void) {
  struct timespec until = ahead_time(0, AHEAD_COLD);
  int code = 0;
  while (!ahead_jobs && ahead_expected && code != ETIMEDOUT) {
    code = pthread_cond_timedwait(&ahead_wake, &ahead_lock, &until);
  }
  return ahead_jobs || ahead_expected;
}

/* The next job, or NULL after a while without any; the lock is held. */
static ahead_job *ahead_take(void) {
  struct timespec until = ahead_time(AHEAD_IDLE_SECONDS, 0);
  int code = 0;
  ahead_idle++;
  while (!ahead_jobs && code != ETIMEDOUT) {
    code = pthread_cond_timedwait(&ahead_wake, &ahead_lock, &until);
  }
  ahead_idle--;
  ahead_job *job = ahead_jobs;
  if (job) ahead_jobs = job->next;
  return job;
}

/* False: the process is gone. */
static bool ahead_compile(halo_cl_compiler *compiler, ahead_job *job, bool *done) {
  const ahead_program *program = job->program;
  halo_cl_compiler_parts parts = {.program = program->number,
                                  .binary = program->binary,
                                  .binary_size = program->size,
                                  .options = program->options,
                                  .name = job->kernel,
                                  .arguments = job->arguments,
                                  .seconds = job->seconds};
  return halo_cl_compiler_request(compiler, &job->request, &parts, done);
}

static void *ahead_run(void) {
  halo_cl_compiler *compiler = halo_cl_compiler_start(ahead_version);
  bool good = compiler != NULL;
  pthread_mutex_lock(&ahead_lock);
  for (ahead_job *job; good && (job = ahead_take());) {
    pthread_mutex_unlock(&ahead_lock);
    bool done;
    good = ahead_compile(compiler, job, &done);
    pthread_mutex_lock(&ahead_lock);
    ahead_finish(job, done);
  }
  ahead_failures += !good;
  ahead_threads--;
  /* What nobody is left to compile is compiled as ever. */
  for (ahead_job *job; !ahead_threads && (job = ahead_jobs);) {
    ahead_jobs = job->next;
    ahead_finish(job, false);
  }
  pthread_mutex_unlock(&ahead_lock);
  if (compiler) halo_cl_compiler_stop(compiler);
  return NULL;
}

static void *ahead_serve(void *unused) {
  (void)unused;
  pthread_mutex_lock(&ahead_lock);
  bool needed = ahead_is_needed();
  ahead_threads -= !needed;
  pthread_mutex_unlock(&ahead_lock);
  return needed ? ahead_run() : NULL;
}

static void *ahead_serve_at_once(void *unused) {
  (void)unused;
  return ahead_run();
}

static bool ahead_create_thread(void *(*run)(void *), void *data) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  bool created = pthread_create(&thread, &attributes, run, data) == 0;
  pthread_attr_destroy(&attributes);
  return created;
}

/* The lock is held. */
static void ahead_start_thread(void) { ahead_threads += ahead_create_thread(ahead_serve, NULL); }

static void ahead_stop_expecting(halo_cl_ahead *ahead) {
  if (!ahead->expects) return;
  ahead->expects = false;
  pthread_mutex_lock(&ahead_lock);
  ahead_expected--;
  pthread_cond_broadcast(&ahead_wake);
  pthread_mutex_unlock(&ahead_lock);
}

/* Gives out a job. */
static void ahead_give(halo_cl_ahead *ahead, ahead_job *job) {
  ahead_job **at = &ahead_jobs;
  int waiting = 1;
  pthread_mutex_lock(&ahead_lock);
  ahead->pending++;
  for (ahead_job *other = ahead_jobs; other; other = other->next) waiting++;
  while (*at && (*at)->seconds >= job->seconds) at = &(*at)->next;
  job->next = *at;
  *at = job;
  if (waiting > ahead_idle && ahead_threads < ahead->processes) ahead_start_thread();
  if (!ahead_threads) {
    *at = job->next;
    ahead_finish(job, false);
  }
  pthread_cond_signal(&ahead_wake);
  pthread_mutex_unlock(&ahead_lock);
}

/* ---- Which kernels ---- */

/* That this process may use, as far as it was bound. */
static int ahead_cores(void) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  /* A mask that does not fit is of so many cores that their number does not matter. */
  return sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : AHEAD_MAX_PROCESSES;
}

static bool ahead_is_for(const halo_cl_device *device) {
  return halo_pocl_is(&device->caps) && !device->caps.is_null && device->caps.is_cpu;
}

/* What the variable says, `usual` where it says nothing, and no more than AHEAD_MAX_PROCESSES. */
static int ahead_number_of(halo_config key, int usual) {
  uint64_t wanted;
  if (halo_config_number(key, (uint64_t)usual, &wanted) != HALO_OK) wanted = (uint64_t)usual;
  return wanted < AHEAD_MAX_PROCESSES ? (int)wanted : AHEAD_MAX_PROCESSES;
}

int halo_cl_ahead_processes(const halo_cl_device *device) {
  if (!ahead_is_for(device)) return 0;
  int cores = ahead_cores() / halo_config_local_processes();
  return ahead_number_of(HALO_CONFIG_COMPILE_PROCESSES, cores < 2 ? 0 : cores);
}

/* That compile kernels in this process; 0: the runtime does. */
static int ahead_threads_for(const halo_cl_device *device) {
  if (!ahead_is_for(device) || !halo_native_is_there()) return 0;
  int cores = ahead_cores() / halo_config_local_processes();
  return ahead_number_of(HALO_CONFIG_COMPILE_THREADS, cores < 1 ? 1 : cores);
}

/* Whether processes that are started for it are done sooner than this one alone with kernels that take so long. */
static bool ahead_is_worth_it(int processes, double seconds, double longest) {
  double shared = seconds / processes;
  if (shared < longest) shared = longest;
  return AHEAD_START + shared + AHEAD_GAIN < seconds;
}

/* One that waits already is even where there is one kernel, which its linker links sooner. */
static bool ahead_waits(void) {
  pthread_mutex_lock(&ahead_lock);
  bool waits = ahead_idle > 0;
  pthread_mutex_unlock(&ahead_lock);
  return waits;
}

/* The folder of PoCL's cache; NULL where processes cannot compile for this device. The lock is held. */
static char *ahead_folder(const halo_cl_device *device) {
  char *folder = halo_config_pocl_cache_dir();
  if (!ahead_version[0]) strcpy(ahead_version, device->caps.platform_version);
  bool good = strcmp(ahead_version, device->caps.platform_version) == 0 &&
              ahead_failures < AHEAD_MAX_FAILURES && !halo_cl_is_forked();
  if (folder && good && access(folder, W_OK) == 0 && halo_folder_is_trusted(folder)) return folder;
  halo_free(folder);
  return NULL;
}

/* Starts processes when nothing was compiled for a while. */
static void *ahead_wait_for_quiet(void *data) {
  int processes = (int)(intptr_t)data;
  struct timespec until = ahead_time(0, AHEAD_QUIET);
  int code = 0;
  pthread_mutex_lock(&ahead_lock);
  while (!ahead_opened && code != ETIMEDOUT) {
    code = pthread_cond_timedwait(&ahead_wake, &ahead_lock, &until);
  }
  for (int missing = ahead_opened ? 0 : processes - ahead_threads; missing > 0; missing--) {
    ahead_threads += ahead_create_thread(ahead_serve_at_once, NULL);
  }
  pthread_mutex_unlock(&ahead_lock);
  return NULL;
}

void halo_cl_ahead_prepare(halo_cl_device *device) {
  int processes = halo_cl_ahead_processes(device);
  if (!processes || ahead_threads_for(device)) return;
  pthread_mutex_lock(&ahead_lock);
  char *folder = ahead_prepared ? NULL : ahead_folder(device);
  ahead_prepared = true;
  if (folder) ahead_create_thread(ahead_wait_for_quiet, (void *)(intptr_t)processes);
  pthread_mutex_unlock(&ahead_lock);
  halo_free(folder);
}

halo_cl_ahead *halo_cl_ahead_open(halo_cl_device *device, double seconds, double longest) {
  int processes = halo_cl_ahead_processes(device), threads = ahead_threads_for(device);
  if (!processes && !threads) return NULL;
  pthread_mutex_lock(&ahead_lock);
  char *folder = ahead_folder(device);
  ahead_opened++;
  pthread_mutex_unlock(&ahead_lock);
  if (!folder) return NULL;
  halo_cl_ahead *ahead = halo_alloc(sizeof *ahead);
  ahead->device = device;
  ahead->folder = folder;
  ahead->processes = processes;
  if (threads) {
    ahead->native = halo_native_list_open(threads);
    return ahead;
  }
  if (!ahead_is_worth_it(processes, seconds, longest)) return ahead;
  pthread_mutex_lock(&ahead_lock);
  ahead->expects = true;
  ahead_expected++;
  for (int missing = processes - ahead_threads; missing > 0; missing--) ahead_start_thread();
  pthread_mutex_unlock(&ahead_lock);
  return ahead;
}

bool halo_cl_ahead_is_native(const halo_cl_ahead *ahead) { return ahead && ahead->native; }

int halo_cl_ahead_kernels(const halo_cl_ahead *ahead) { return ahead ? ahead->kernels : 0; }

/* The program's binary becomes the list's; NULL where there is none. */
static const ahead_program *ahead_program_of(halo_cl_ahead *ahead, halo_cl_program *program) {
  for (const ahead_program *p = ahead->programs; p; p = p->next) {
    if (p->of == program) return p;
  }
  halo_cl_image image = halo_cl_program_take_image(program);
  if (!image.binary) return NULL;
  ahead_program *p = halo_alloc(sizeof *p);
  *p = (ahead_program){.binary = image.binary,
                       .size = image.size,
                       .options = image.options,
                       .of = program,
                       .next = ahead->programs};
  pthread_mutex_lock(&ahead_lock);
  p->number = ++ahead_number;
  pthread_mutex_unlock(&ahead_lock);
  ahead->programs = p;
  return p;
}

/* Of a launch: how many work items of a group lie along each dimension, and whether all its dimensions are short. */
static bool ahead_measure(const halo_cl_launch *launch, size_t local[3]) {
  size_t widest = 0;
  for (uint32_t d = 0; d < 3; d++) local[d] = d < launch->dims ? launch->local[d] : 1;
  for (uint32_t d = 0; d < launch->dims; d++) {
    if (launch->global[d] > widest) widest = launch->global[d];
  }
  return widest < HALO_POCL_SMALL_GRID;
}

/* The file in which PoCL keeps the kernel, as a text of its own. */
static halo_strbuf ahead_place(const halo_cl_ahead *ahead, const void *binary,
                               const halo_cl_launch *launch) {
  halo_strbuf path = {0};
  size_t local[3];
  bool small = ahead_measure(launch, local);
  halo_strbuf_printf(&path, "%s/%.*s/%s/%zu-%zu-%zu-goffs0%s/%s.so", ahead->folder,
                     HALO_POCL_HASH_SIZE, (const char *)binary + HALO_POCL_HASH_AT, launch->kernel,
                     local[0], local[1], local[2], small ? "-smallgrid" : "", launch->kernel);
  return path;
}

/* Whether a kernel's library was asked for already, or PoCL's cache has it. Counts what is new. */
typedef enum ahead_state { AHEAD_NEW, AHEAD_ASKED, AHEAD_CACHED } ahead_state;

static ahead_state ahead_look_up(halo_cl_ahead *ahead, const char *path) {
  if (halo_map_set_text(&ahead->known, path, ahead) != NULL) return AHEAD_ASKED;
  bool cached = ahead->native ? halo_native_is_whole(path) : access(path, R_OK) == 0;
  ahead->kernels++;
  ahead->cached += cached;
  if (cached) halo_progress_done(1);
  return cached ? AHEAD_CACHED : AHEAD_NEW;
}

static bool ahead_is_new(halo_cl_ahead *ahead, const void *binary, const halo_cl_launch *launch) {
  halo_strbuf path = ahead_place(ahead, binary, launch);
  bool is_new = ahead_look_up(ahead, path.data) == AHEAD_NEW;
  halo_strbuf_deinit(&path);
  return is_new;
}

/* Makes the folder of this file, and the one that has that. */
static void ahead_make_folders(char *path) {
  char *last = strrchr(path, '/');
  *last = '\0';
  char *middle = strrchr(path, '/');
  *middle = '\0';
  mkdir(path, 0700);
  *middle = '/';
  mkdir(path, 0700);
  *last = '/';
}

static void ahead_add_native(halo_cl_ahead *ahead, halo_cl_program *program,
                             const halo_cl_launch *launch) {
  const halo_cl_image *image = &program->image;
  halo_strbuf path = ahead_place(ahead, image->binary, launch);
  ahead_state state = ahead_look_up(ahead, path.data);
  if (state == AHEAD_NEW) {
    halo_native_kernel kernel = {.name = launch->kernel};
    kernel.bitcode = halo_pocl_bitcode(image->binary, image->size, &kernel.size);
    kernel.small = ahead_measure(launch, kernel.local);
    if (kernel.bitcode) {
      ahead_make_folders(path.data);
      halo_native_list_add(ahead->native, &kernel, path.data, launch->seconds);
    }
  }
  /* What is launched in the caller's thread. What PoCL's own threads run it keeps by itself. */
  if (state != AHEAD_ASKED && program->id == program->device->here_id) {
    halo_vec_push(&ahead->libraries, (ahead_library){program, halo_strbuf_take(&path)});
  }
  halo_strbuf_deinit(&path);
}

void halo_cl_ahead_add(halo_cl_ahead *ahead, halo_cl_program *program,
                       const halo_cl_launch *launch) {
  if (halo_cl_ahead_is_native(ahead)) {
    if (program->image.native) ahead_add_native(ahead, program, launch);
    return;
  }
  const ahead_program *sent = ahead ? ahead_program_of(ahead, program) : NULL;
  if (!sent || !ahead_is_new(ahead, sent->binary, launch)) {
    if (ahead && ahead->cached) ahead_stop_expecting(ahead);
    return;
  }
  ahead_job *job = halo_alloc(sizeof *job);
  *job = (ahead_job){.list = ahead, .program = sent, .seconds = launch->seconds};
  job->kernel = halo_strdup(launch->kernel);
  job->request.argument_count = (uint32_t)launch->argument_count;
  job->arguments = halo_alloc((size_t)launch->argument_count + 1);
  memcpy(job->arguments, launch->arguments, (size_t)launch->argument_count);
  job->request.dims = launch->dims;
  for (uint32_t d = 0; d < launch->dims; d++) {
    job->request.global[d] = launch->global[d];
    job->request.local[d] = launch->local[d];
  }
  ahead->seconds += launch->seconds;
  if (ahead->longest < launch->seconds) ahead->longest = launch->seconds;
  job->next = ahead->held;
  ahead->held = job;
  if (!ahead_waits() && !ahead_is_worth_it(ahead->processes, ahead->seconds, ahead->longest))
    return;
  while ((job = ahead->held)) {
    ahead->held = job->next;
    ahead_give(ahead, job);
  }
}

/* Who compiles one small program after the other, as JAX does for each function that is called on arrays, is never without
 * one for long enough to be prepared for the next. One process is enough for these. */
static void ahead_note_left(void) {
  pthread_mutex_lock(&ahead_lock);
  bool wanted = ++ahead_left >= AHEAD_LEFT && !ahead_threads;
  if (wanted && ahead_failures < AHEAD_MAX_FAILURES) {
    ahead_threads += ahead_create_thread(ahead_serve_at_once, NULL);
  }
  pthread_mutex_unlock(&ahead_lock);
}

static void ahead_describe(halo_strbuf *out, int count, const char *what) {
  if (count > 0) halo_strbuf_printf(out, "%s%d %s", out->length ? ", " : "", count, what);
}

void halo_cl_ahead_close(halo_cl_ahead *ahead, halo_strbuf *report) {
  if (!ahead) return;
  ahead_stop_expecting(ahead);
  pthread_mutex_lock(&ahead_lock);
  for (ahead_job *job; (job = ahead->held);) {
    ahead->held = job->next;
    ahead->pending++;
    ahead_finish(job, false);
  }
  while (ahead->pending) pthread_cond_wait(&ahead_done, &ahead_lock);
  pthread_mutex_unlock(&ahead_lock);
  halo_native_count native = halo_native_list_close(ahead->native);
  for (int32_t i = 0; i < ahead->libraries.count; i++) {
    halo_cl_program_hold(ahead->libraries.data[i].program, ahead->libraries.data[i].path);
    halo_free(ahead->libraries.data[i].path);
  }
  halo_vec_deinit(&ahead->libraries);
  for (ahead_program *p; (p = ahead->programs);) {
    ahead->programs = p->next;
    halo_free(p->binary);
    halo_free(p->options);
    halo_free(p);
  }
  ahead_describe(report, ahead->done, "kernels compiled ahead by other processes");
  ahead_describe(report, ahead->cached, "found in the runtime's cache");
  ahead_describe(report, native.done, "kernels compiled by threads of this one");
  ahead_describe(report, native.split, "of these in parts");
  ahead_describe(report, native.shared, "functions that several share");
  int left = ahead->kernels - ahead->cached - ahead->done - native.done;
  ahead_describe(report, left, "left to first launches");
  if (left > 0) ahead_note_left();
  halo_map_deinit(&ahead->known);
  halo_free(ahead->folder);
  halo_free(ahead);
}

bool halo_cl_compiles_at_launch(const halo_cl_device *device) { return ahead_is_for(device); }
