/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/program.c: programs, found in memory or on disk or built from source. */
#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "opencl/pocl.h"
#include "opencl/private.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
  /* Remembered though nobody holds them: so many, of together so many bytes of source. A program's memory goes with
   * its source: PoCL keeps LLVM's form of it, 50 bytes for one. The last one is kept whatever its size. */
  PROGRAM_UNUSED_MAX = 64,
  PROGRAM_UNUSED_BYTES = 1 << 20,
  PROGRAM_SAVE_TRIES = 3, /* failed saves after which no more are tried */
  PROGRAM_LOG_MAX = 6000, /* bytes of a build log in a message */
  PROGRAM_LINES_MAX = 8   /* source lines shown with it */
};

struct halo_cl_programs {
  pthread_mutex_t lock;
  halo_cl_program *first;
  char *directory;
  bool chosen_by_hand;
  uint64_t clock; /* for `used` */
  halo_cl_program_stats stats;
};

halo_cl_programs *halo_cl_programs_create(char *directory, bool chosen_by_hand) {
  halo_cl_programs *programs = halo_alloc(sizeof *programs);
  pthread_mutex_init(&programs->lock, NULL);
  programs->directory = directory;
  programs->chosen_by_hand = chosen_by_hand;
  programs->stats.directory = directory;
  return programs;
}

static void program_destroy(halo_cl_program *program) {
  if (program->handle && !halo_cl_is_forked()) halo_cl.clReleaseProgram(program->handle);
  halo_free(program->units);
  halo_free(program);
}

const char *halo_cl_programs_directory(const halo_cl_device *device) {
  return device->programs->directory;
}

void halo_cl_programs_release(halo_cl_programs *programs) {
  if (!programs) return;
  for (halo_cl_program *p = programs->first, *next; p; p = next) {
    next = p->next;
    program_destroy(p);
  }
  pthread_mutex_destroy(&programs->lock);
  halo_free(programs->directory);
  halo_free(programs);
}

/* ---- Keys ---- */

/* The preamble of a program's source on some drivers. A pass of Intel's compiler for CPUs (sycl-kernel-wg-loop-bound, seen in
 * 2026.22.10) makes a condition at the beginning of a kernel, "if (get_global_id(0) >= n) return;", a bound of the loop over
 * work items. It keeps what it found from one kernel of a program to the next: after one with a loop of min(n - item, 16) rounds
 * it inverts such conditions of all later kernels, or crashes. It leaves a kernel alone if something with an effect stands before the
 * condition. An empty asm statement is such, and leaves the vectors over work items as they are; a fence does not. */
static const char *program_preamble(const halo_caps *caps) {
  static const char intel_cpu[] =
      "static inline size_t h_driver_global_id(uint d) { __asm__ volatile(\"\"); return "
      "get_global_id(d); }\n"
      "static inline size_t h_driver_local_id(uint d) { __asm__ volatile(\"\"); return "
      "get_local_id(d); }\n"
      "#define get_global_id(d) h_driver_global_id(d)\n"
      "#define get_local_id(d) h_driver_local_id(d)\n"
      "#line 1\n";
  bool is_intel = strncmp(caps->platform, "Intel(R)", strlen("Intel(R)")) == 0;
  return caps->is_cpu && is_intel ? intel_cpu : "";
}

/* Everything that can change the binary. */
static void program_key(const halo_caps *caps, const char *source, const char *options,
                        uint64_t key[2]) {
  const char *const parts[] = {
      program_preamble(caps), source,           options,       caps->name,
      caps->vendor,           caps->driver,     caps->version, caps->platform,
      caps->platform_version, HALO_VERSION_TEXT};
  key[0] = 0;
  key[1] = 0x48414c4f;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    halo_hash_wide(key, parts[i], strlen(parts[i]));
  }
}

char *halo_cl_program_options(const halo_caps *caps, const char *extra) {
  halo_strbuf text = {0};
  /* Warnings are for the authors of kernels; PoCL would count them on the user's terminal. */
  halo_strbuf_append(&text, "-cl-std=CL1.2 -w");
  if (caps->correctly_rounded) {
    halo_strbuf_append(&text, " -cl-fp32-correctly-rounded-divide-sqrt");
  }
  if (halo_caps_flushes(caps)) halo_strbuf_append(&text, " -cl-denorms-are-zero");
  /* half.cl: on CPUs these functions are slower than what stands beside them. */
  if (caps->is_gpu && caps->converts_f16) halo_strbuf_append(&text, " -DH_HALF_FUNCTIONS");
  if (caps->is_gpu) halo_strbuf_printf(&text, " -DH_HAS_FMA=%d", caps->fma_f32);
  /* Mesa (22.3) takes (long)i < 3, of an int, for what is never true. */
  if (strncmp(caps->platform, "rusticl", strlen("rusticl")) == 0) {
    halo_strbuf_append(&text, " -DH_ORDER_UNSIGNED");
  }
  if (extra && *extra) halo_strbuf_printf(&text, " %s", extra);
  return halo_strbuf_take(&text);
}

/* ---- Build errors ---- */

static void program_print_line(halo_strbuf *out, const char *source, int number) {
  const char *line = source;
  for (int i = 1; i < number && line; i++) {
    line = strchr(line, '\n');
    if (line) line++;
  }
  if (!line) return;
  int length = (int)strcspn(line, "\n");
  halo_strbuf_printf(out, "%6d | %.*s%s\n", number, length < 200 ? length : 200, line,
                     length < 200 ? "" : " ...");
}

/* The source lines that the log complains about: compilers write FILE:LINE:COLUMN. */
static void program_print_places(halo_strbuf *out, const char *log, const char *source) {
  int shown[PROGRAM_LINES_MAX], count = 0;
  for (const char *at = log; (at = strchr(at, ':')) && count < PROGRAM_LINES_MAX; at++) {
    char *end, *after;
    if (!isdigit((unsigned char)at[1])) continue;
    long number = strtol(at + 1, &end, 10);
    if (*end != ':' || !isdigit((unsigned char)end[1])) continue;
    strtol(end + 1, &after, 10);
    if (*after != ':' || number < 1 || number > 10000000) continue;
    bool again = false;
    for (int i = 0; i < count; i++) again |= shown[i] == number;
    if (again) continue;
    if (count == 0) halo_strbuf_append(out, "\nin these lines of the source:\n");
    shown[count++] = (int)number;
    program_print_line(out, source, (int)number);
  }
}

static halo_status program_fail(halo_cl_device *device, cl_program handle, cl_int code,
                                const char *source, const char *options) {
  size_t size = 0;
  halo_cl.clGetProgramBuildInfo(handle, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  char *log = halo_alloc(size + 1);
  halo_cl.clGetProgramBuildInfo(handle, device->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
  halo_strbuf text = {0};
  halo_strbuf_printf(&text, "%s does not build for %s with %s:\n%.*s", halo_cl_code_name(code),
                     device->caps.name, options, PROGRAM_LOG_MAX, log);
  program_print_places(&text, log, source);
  bool silent = log[strspn(log, " \t\r\n")] == '\0';
  if (silent && strstr(device->caps.vendor, "NVIDIA")) {
    halo_strbuf_append(&text,
                       "The driver says no more. NVIDIA's compiles nothing where it does not find "
                       "libnvidia-nvvm.so.4, as in containers that lack it" HALO_CL_DOCTOR);
  } else if (silent) {
    halo_strbuf_append(&text, "The driver says no more" HALO_CL_DOCTOR);
  }
  /* What is short of memory rather than wrong keeps its status. */
  halo_status status = halo_cl_check(code, "clBuildProgram");
  status = halo_fail(status, "clBuildProgram: %s", halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  halo_free(log);
  return status;
}

/* ---- Building, loading, saving ---- */

static halo_status program_build(halo_cl_device *device, const char *source, const char *options,
                                 cl_program *out) {
  cl_int code;
  HALO_TRY(halo_pocl_check_cache(&device->caps));
  const char *parts[] = {program_preamble(&device->caps), source};
  bool whole = *parts[0] == '\0';
  cl_program handle = halo_cl.clCreateProgramWithSource(device->context, whole ? 1 : 2,
                                                        whole ? &source : parts, NULL, &code);
  HALO_TRY(halo_cl_check(code, "clCreateProgramWithSource"));
  code = halo_cl.clBuildProgram(handle, 1, &device->id, options, NULL, NULL);
  if (code != CL_SUCCESS) {
    halo_status status = program_fail(device, handle, code, source, options);
    halo_cl.clReleaseProgram(handle);
    return status;
  }
  *out = handle;
  return HALO_OK;
}

static cl_program program_from_binary(halo_cl_device *device, const unsigned char *binary,
                                      size_t size, const char *options) {
  cl_int code, fit = CL_SUCCESS;
  cl_program handle = halo_cl.clCreateProgramWithBinary(device->context, 1, &device->id, &size,
                                                        &binary, &fit, &code);
  if (code == CL_SUCCESS && fit == CL_SUCCESS) {
    code = halo_cl.clBuildProgram(handle, 1, &device->id, options, NULL, NULL);
  }
  if (code == CL_SUCCESS && fit == CL_SUCCESS) return handle;
  if (handle) halo_cl.clReleaseProgram(handle);
  return NULL;
}

/* NULL when there is nothing usable on disk. */
static cl_program program_load(halo_cl_device *device, const uint64_t key[2], const char *options) {
  halo_cl_programs *programs = device->programs;
  unsigned char *binary = NULL;
  size_t size = 0;
  if (!programs->directory) return NULL;
  double start = halo_clock();
  halo_disk_result result = halo_disk_load(programs->directory, key, &binary, &size);
  cl_program handle = NULL;
  if (result == HALO_DISK_FOUND) {
    handle = program_from_binary(device, binary, size, options);
    if (!handle) result = HALO_DISK_DAMAGED;
    halo_free(binary);
  }
  if (result == HALO_DISK_DAMAGED) halo_disk_remove(programs->directory, key);
  pthread_mutex_lock(&programs->lock);
  programs->stats.load_seconds += halo_clock() - start;
  programs->stats.disk_hits += handle != NULL;
  programs->stats.damaged += result == HALO_DISK_DAMAGED;
  pthread_mutex_unlock(&programs->lock);
  return handle;
}

static bool program_binary(cl_program handle, unsigned char **binary, size_t *size) {
  void *data = NULL;
  if (halo_cl.clGetProgramInfo(handle, CL_PROGRAM_BINARY_SIZES, sizeof *size, size, NULL) !=
          CL_SUCCESS ||
      *size == 0) {
    return false;
  }
  if (halo_try_alloc(*size, "a program binary", &data) != HALO_OK) return false;
  *binary = data;
  if (halo_cl.clGetProgramInfo(handle, CL_PROGRAM_BINARIES, sizeof *binary, binary, NULL) ==
      CL_SUCCESS) {
    return true;
  }
  halo_free(data);
  return false;
}

static void program_store(halo_cl_program *program) {
  halo_cl_programs *programs = program->device->programs;
  pthread_mutex_lock(&programs->lock);
  bool wanted = programs->directory && program->handle && !program->saved &&
                programs->stats.save_failures < PROGRAM_SAVE_TRIES;
  program->saved |= wanted;
  pthread_mutex_unlock(&programs->lock);
  if (!wanted) return;
  unsigned char *binary = NULL;
  size_t size = 0;
  bool good = halo_pocl_check_linker(&program->device->caps) == HALO_OK &&
              program_binary(program->handle, &binary, &size);
  good = good && halo_disk_save(programs->directory, program->key, binary, size);
  halo_free(binary);
  pthread_mutex_lock(&programs->lock);
  programs->stats.saved += good;
  programs->stats.save_failures += !good;
  pthread_mutex_unlock(&programs->lock);
}

static bool program_left_to_runtime(const halo_cl_device *device) {
  return halo_pocl_is(&device->caps) && !device->programs->chosen_by_hand;
}

void halo_cl_program_save(halo_cl_program *program) {
  if (program_left_to_runtime(program->device) || halo_cl_is_forked()) return;
  pthread_mutex_lock(&program->device->programs->lock);
  bool saved = program->saved;
  pthread_mutex_unlock(&program->device->programs->lock);
  if (saved) return;
  cl_command_queue here = program->device->sync_queue;
  if (program->device->queue) halo_cl.clFinish(program->device->queue);
  if (here) halo_cl.clFinish(here);
  program_store(program);
}

/* ---- Programs in memory ---- */

/* The lock is held. */
static halo_cl_program *program_find(halo_cl_programs *programs, const uint64_t key[2]) {
  for (halo_cl_program *p = programs->first; p; p = p->next) {
    if (p->key[0] != key[0] || p->key[1] != key[1]) continue;
    atomic_fetch_add(&p->references, 1);
    p->used = ++programs->clock;
    halo_cl_device_retain(p->device);
    return p;
  }
  return NULL;
}

/* Takes the longest unused program out when too many or too large ones are unused, else NULL; the lock is held. */
static halo_cl_program *program_evict(halo_cl_programs *programs) {
  halo_cl_program **oldest = NULL;
  size_t unused = 0, bytes = 0;
  for (halo_cl_program **at = &programs->first; *at; at = &(*at)->next) {
    if (atomic_load(&(*at)->references) != 0) continue;
    unused++;
    bytes += (*at)->source_bytes;
    if (!oldest || (*at)->used < (*oldest)->used) oldest = at;
  }
  if (unused <= 1 || (unused <= PROGRAM_UNUSED_MAX && bytes <= PROGRAM_UNUSED_BYTES)) return NULL;
  halo_cl_program *program = *oldest;
  *oldest = program->next;
  return program;
}

/* Makes the program for `handle` known, or, when another thread was faster, gives that one. */
static halo_cl_program *program_insert(halo_cl_device *device, cl_program handle,
                                       const uint64_t key[2], size_t source_bytes, bool from_disk) {
  halo_cl_programs *programs = device->programs;
  pthread_mutex_lock(&programs->lock);
  halo_cl_program *program = program_find(programs, key);
  if (program) {
    pthread_mutex_unlock(&programs->lock);
    if (handle) halo_cl.clReleaseProgram(handle);
    return program;
  }
  program = halo_alloc(sizeof *program);
  program->handle = handle;
  program->device = device;
  program->source_bytes = source_bytes;
  memcpy(program->key, key, sizeof program->key);
  program->from_disk = program->saved = from_disk;
  atomic_init(&program->references, 1);
  program->used = ++programs->clock;
  program->next = programs->first;
  programs->first = program;
  pthread_mutex_unlock(&programs->lock);
  halo_cl_device_retain(device);
  return program;
}

halo_status halo_cl_program_get(halo_cl_device *device, const char *source, const char *options,
                                halo_cl_program **out) {
  halo_cl_programs *programs = device->programs;
  uint64_t key[2];
  *out = NULL;
  HALO_TRY(halo_cl_process_check());
  char *all_options = halo_cl_program_options(&device->caps, options);
  program_key(&device->caps, source, all_options, key);
  pthread_mutex_lock(&programs->lock);
  *out = program_find(programs, key);
  programs->stats.memory_hits += *out != NULL;
  pthread_mutex_unlock(&programs->lock);
  halo_status status = HALO_OK;
  double start = halo_clock();
  const char *how = "in memory";
  if (!*out) {
    cl_program handle = device->caps.is_null ? NULL : program_load(device, key, all_options);
    bool from_disk = handle != NULL;
    how = from_disk ? "loaded from disk" : "built";
    if (!handle && !device->caps.is_null) {
      status = program_build(device, source, all_options, &handle);
      pthread_mutex_lock(&programs->lock);
      programs->stats.builds += status == HALO_OK;
      programs->stats.build_seconds += halo_clock() - start;
      pthread_mutex_unlock(&programs->lock);
    }
    if (status == HALO_OK) *out = program_insert(device, handle, key, strlen(source), from_disk);
    if (status == HALO_OK && !halo_pocl_is(&device->caps)) program_store(*out);
  }
  halo_free(all_options);
  HALO_LOG(HALO_LOG_DEBUG, "program %016llx%016llx of %zu bytes: %s, %.3f s",
           (unsigned long long)key[0], (unsigned long long)key[1], strlen(source),
           status == HALO_OK ? how : "does not build", halo_clock() - start);
  return status;
}

/* ---- Units ---- */

void halo_cl_program_set_units(halo_cl_program *program, const halo_cl_unit_key *keys,
                               int32_t count) {
  halo_cl_programs *programs = program->device->programs;
  pthread_mutex_lock(&programs->lock);
  if (!program->units && count > 0) {
    program->units = halo_alloc(sizeof *keys * (size_t)count);
    memcpy(program->units, keys, sizeof *keys * (size_t)count);
    program->unit_count = count;
  }
  pthread_mutex_unlock(&programs->lock);
}

/* The lock is held. */
static halo_cl_program *program_find_unit(halo_cl_programs *programs, const halo_cl_unit_key *key,
                                          int32_t *index) {
  for (halo_cl_program *p = programs->first; p; p = p->next) {
    for (int32_t i = 0; i < p->unit_count; i++) {
      if (memcmp(&p->units[i], key, sizeof *key) != 0) continue;
      *index = i;
      return p;
    }
  }
  return NULL;
}

halo_cl_program *halo_cl_program_of_unit(halo_cl_device *device, const halo_cl_unit_key *key,
                                         int32_t *index) {
  halo_cl_programs *programs = device->programs;
  pthread_mutex_lock(&programs->lock);
  halo_cl_program *program = program_find_unit(programs, key, index);
  if (program) {
    atomic_fetch_add(&program->references, 1);
    program->used = ++programs->clock;
    programs->stats.memory_hits++;
    halo_cl_device_retain(device);
  }
  pthread_mutex_unlock(&programs->lock);
  return program;
}

bool halo_cl_builds_in_parallel(const halo_cl_device *device) {
  /* PoCL builds under one lock; Oclgrind 21.10 lets builds of one context overwrite each other's data. */
  return !halo_pocl_is(&device->caps) && !strstr(device->caps.platform, "Oclgrind");
}

bool halo_cl_compiles_at_launch(const halo_cl_device *device) {
  return device->caps.is_cpu && halo_pocl_is(&device->caps);
}

halo_status halo_cl_check_compiler(const halo_cl_device *device) {
  HALO_TRY(halo_pocl_check_linker(&device->caps));
  return halo_pocl_check_cache(&device->caps);
}

bool halo_cl_keeps_programs(halo_cl_device *device) {
  if (!program_left_to_runtime(device)) return device->programs->directory != NULL;
  char *folder = halo_config_pocl_cache_dir();
  halo_free(folder);
  return folder != NULL;
}

void halo_cl_program_retain(halo_cl_program *program) {
  atomic_fetch_add(&program->references, 1);
  halo_cl_device_retain(program->device);
}

void halo_cl_program_release(halo_cl_program *program) {
  if (!program) return;
  /* From zero references on another thread may evict it, so take what is needed first. */
  halo_cl_device *device = program->device;
  if (atomic_fetch_sub(&program->references, 1) == 1) {
    halo_cl_program *evicted;
    do {
      pthread_mutex_lock(&device->programs->lock);
      evicted = program_evict(device->programs);
      pthread_mutex_unlock(&device->programs->lock);
      if (evicted) program_destroy(evicted);
    } while (evicted);
  }
  halo_cl_device_release(device);
}

halo_status halo_cl_kernel_create(halo_cl_program *program, const char *name, cl_kernel *out) {
  *out = NULL;
  HALO_TRY(halo_cl_device_check_runs(program->device, "a kernel"));
  cl_int code;
  cl_kernel kernel = halo_cl.clCreateKernel(program->handle, name, &code);
  if (code != CL_SUCCESS) {
    return halo_fail_in(halo_cl_check(code, "clCreateKernel"), "kernel %s", name);
  }
  *out = kernel;
  return HALO_OK;
}

void halo_cl_program_get_stats(halo_cl_device *device, halo_cl_program_stats *out) {
  pthread_mutex_lock(&device->programs->lock);
  *out = device->programs->stats;
  out->left_to_runtime = program_left_to_runtime(device);
  pthread_mutex_unlock(&device->programs->lock);
}
