/* SPDX-License-Identifier: Apache-2.0 */
/* exec/build.c: units that are not in memory yet are put into programs and built. */
#include "exec/build.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/progress.h"
#include "os/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Units `first` to `first + count - 1` of `missing` become one program. */
typedef struct build_job {
  const int32_t *missing;
  int32_t count;
  halo_status status;
  char *message; /* of a failure */
} build_job;

typedef struct build_work {
  halo_cl_device *device;
  const halo_plan *plan;
  halo_built_unit *units;
  const char *options; /* of the programs, or NULL */
  build_job *jobs;
  int32_t job_count;
  atomic_int next;
} build_work;

/* Units of one program are few, as programs are built side by side. */
enum { BUILD_MAX_THREADS = 16, BUILD_UNITS = 8 };

/* ---- Progress ---- */

/* Kernels of the units in `wanted`, each with the sizes of groups for which it is compiled. */
static int build_count(const halo_steps *steps, const bool *wanted, halo_map *seen) {
  int count = 0;
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    if (step->kind == HALO_STEP_KERNEL && wanted[step->unit]) {
      halo_strbuf name = {0};
      halo_strbuf_printf(&name, "%d %s", step->unit, step->kernel);
      for (uint32_t d = 0; d < step->grid.dims; d++)
        halo_strbuf_printf(&name, " %zu", step->grid.local[d]);
      count += halo_map_set_text(seen, halo_strbuf_text(&name), seen) == NULL;
      halo_strbuf_deinit(&name);
    }
    for (int32_t l = 0; l < step->list_count; l++)
      count += build_count(&step->lists[l], wanted, seen);
  }
  return count;
}

static int build_count_units(const halo_plan *plan, const int32_t *units, int32_t count) {
  if (count == 0) return 0;
  halo_map seen = {0};
  bool *wanted = halo_alloc((size_t)plan->units.count + 1);
  for (int32_t i = 0; i < count; i++) wanted[units[i]] = true;
  int kernels = build_count(&plan->steps, wanted, &seen);
  halo_free(wanted);
  halo_map_deinit(&seen);
  return kernels;
}

static void build_log(const build_work *w, int32_t missing, int kernels,
                      const halo_cl_program_stats *before, double start) {
  halo_cl_program_stats now;
  halo_cl_program_get_stats(w->device, &now);
  halo_log_write(
      "compile %s: kernels ready after %.3f s; units: %d already in memory, %d new (%d kernel%s); "
      "OpenCL programs: %llu loaded from disk, %llu built",
      w->plan->name, halo_clock() - start, w->plan->units.count - missing, missing, kernels,
      halo_plural(kernels), (unsigned long long)(now.disk_hits - before->disk_hits),
      (unsigned long long)(now.builds - before->builds));
}

/* ---- Programs ---- */

/* Bytes of the largest block that the plan's kernels work on. */
static uint64_t build_largest(const halo_plan *plan) {
  int64_t largest = plan->constant_bytes;
  for (int32_t a = 0; a < plan->arenas.count; a++) {
    if (plan->arenas.data[a].size > largest) largest = plan->arenas.data[a].size;
  }
  for (int32_t i = 0; i < plan->buffers.count; i++) {
    if (plan->buffers.data[i].size > largest) largest = plan->buffers.data[i].size;
  }
  return (uint64_t)largest;
}

/* A unit's key in programs that are built with these options. */
static halo_cl_unit_key build_key(const halo_plan_unit *unit, const char *options) {
  return (halo_cl_unit_key){{unit->key[0], options ? ~unit->key[1] : unit->key[1]}};
}

static halo_status build_one(build_work *w, const build_job *job) {
  halo_strbuf source = {0};
  halo_plan_source(&source, w->plan, job->missing, job->count);
  halo_cl_program *program;
  halo_status status =
      halo_cl_program_get(w->device, halo_strbuf_text(&source), w->options, &program);
  halo_strbuf_deinit(&source);
  HALO_TRY(status);
  halo_cl_unit_key *keys = halo_alloc(sizeof *keys * (size_t)job->count);
  for (int32_t i = 0; i < job->count; i++) {
    keys[i] = build_key(&w->plan->units.data[job->missing[i]], w->options);
    if (i > 0) halo_cl_program_retain(program);
    w->units[job->missing[i]] = (halo_built_unit){program, i};
  }
  halo_cl_program_set_units(program, keys, job->count);
  halo_free(keys);
  halo_progress_done(build_count_units(w->plan, job->missing, job->count));
  return HALO_OK;
}

static void *build_run(void *data) {
  build_work *w = data;
  for (int32_t j; (j = atomic_fetch_add(&w->next, 1)) < w->job_count;) {
    build_job *job = &w->jobs[j];
    job->status = build_one(w, job);
    if (job->status != HALO_OK) job->message = halo_error_save();
  }
  return NULL;
}

/* Messages are kept by thread: those of helpers are handed to the caller's. */
static halo_status build_all(build_work *w) {
  pthread_t threads[BUILD_MAX_THREADS];
  int cores = halo_os_cores();
  int32_t wanted = cores < BUILD_MAX_THREADS ? (int32_t)cores : BUILD_MAX_THREADS, started = 0;
  if (wanted > w->job_count) wanted = w->job_count;
  if (!halo_cl_builds_in_parallel(w->device)) wanted = 1;
  while (started + 1 < wanted && pthread_create(&threads[started], NULL, build_run, w) == 0) {
    started++;
  }
  build_run(w);
  for (int32_t t = 0; t < started; t++) pthread_join(threads[t], NULL);
  halo_status status = HALO_OK;
  for (int32_t j = 0; j < w->job_count; j++) {
    build_job *job = &w->jobs[j];
    if (job->status != HALO_OK && status == HALO_OK) {
      status = job->status;
      halo_error_restore(job->message);
    } else {
      halo_free(job->message);
    }
  }
  return status;
}

halo_status halo_units_build(halo_cl_device *device, const halo_plan *plan,
                             halo_built_unit *units) {
  double start = halo_clock();
  const char *options = halo_cl_large_options(device, build_largest(plan));
  int32_t *missing = halo_alloc(sizeof *missing * ((size_t)plan->units.count + 1)), count = 0;
  for (int32_t u = 0; u < plan->units.count; u++) {
    halo_cl_unit_key key = build_key(&plan->units.data[u], options);
    units[u].program = halo_cl_program_of_unit(device, &key, &units[u].number);
    if (!units[u].program) missing[count++] = u;
  }
  build_work w = {.device = device, .plan = plan, .units = units, .options = options};
  int kernels = build_count_units(plan, missing, count);
  halo_progress_expect(kernels, halo_cl_keeps_programs(device));
  halo_cl_program_stats before;
  halo_cl_program_get_stats(device, &before);
  w.jobs = halo_alloc(sizeof *w.jobs * ((size_t)count + 1));
  for (int32_t first = 0; first < count; w.job_count++) {
    build_job *job = &w.jobs[w.job_count];
    job->missing = missing + first;
    job->count = count - first < BUILD_UNITS ? count - first : BUILD_UNITS;
    first += job->count;
  }
  halo_status status = w.job_count ? build_all(&w) : HALO_OK;
  if (HALO_LOGS(HALO_LOG_INFO) && plan->units.count) build_log(&w, count, kernels, &before, start);
  halo_free(w.jobs);
  halo_free(missing);
  return status;
}

void halo_built_units_release(halo_built_unit *units, int32_t count) {
  for (int32_t u = 0; u < count; u++) halo_cl_program_release(units[u].program);
}

static halo_status build_set_values(cl_kernel kernel, const halo_step *step, halo_run_ids ids) {
  for (int32_t v = 0; v < step->value_count; v++) {
    const halo_plan_value *value = &step->values[v];
    int64_t number = value->number;
    if (value->what == HALO_VALUE_REPLICA_ID) number = ids.replica;
    if (value->what == HALO_VALUE_PARTITION_ID) number = ids.partition;
    cl_int narrow = (cl_int)number;
    cl_long wide = number;
    const void *data = value->size == 8 ? (const void *)&wide : &narrow;
    HALO_TRY(halo_cl_check(
        halo_cl.clSetKernelArg(kernel, (cl_uint)(2 * step->arg_count - step->whole_count + v),
                               (size_t)value->size, data),
        step->label));
  }
  return HALO_OK;
}

halo_status halo_unit_kernel(const halo_built_unit *unit, const halo_step *step, halo_run_ids ids,
                             cl_kernel *out) {
  halo_strbuf text = {0};
  halo_plan_kernel_name(&text, step->kernel, unit->number);
  halo_status status = halo_cl_kernel_create(unit->program, halo_strbuf_text(&text), out);
  halo_strbuf_deinit(&text);
  HALO_TRY(status);
  status = build_set_values(*out, step, ids);
  if (status == HALO_OK) return HALO_OK;
  halo_cl.clReleaseKernel(*out);
  *out = NULL;
  return status;
}

halo_status halo_unit_fit(const halo_built_unit *unit, const halo_step *step, cl_kernel kernel,
                          size_t local[3], size_t *out_most) {
  size_t most = 0, wanted = 1;
  *out_most = 0;
  for (int d = 0; d < 3; d++) local[d] = step->grid.local[d];
  for (uint32_t d = 0; d < step->grid.dims; d++) wanted *= local[d];
  HALO_TRY(halo_cl_check(
      halo_cl.clGetKernelWorkGroupInfo(kernel, unit->program->device->id, CL_KERNEL_WORK_GROUP_SIZE,
                                       sizeof most, &most, NULL),
      step->label));
  if (most == 0 || wanted <= most) return HALO_OK;
  if (!step->grid.any_local) {
    *out_most = most;
    return halo_fail(HALO_UNIMPLEMENTED,
                     "%s needs work groups of %zu, and the device %s gives this kernel %zu; "
                     "HALO_KERNELS with a minus sign before the kernel's name leaves it out",
                     step->label, wanted, unit->program->device->caps.name, most);
  }
  /* Halves of what divides the global size divide it too, and so does 1. */
  for (uint32_t d = step->grid.dims; d-- > 0;) {
    while (wanted > most && local[d] > 1) {
      wanted /= local[d];
      local[d] = local[d] % 2 == 0 ? local[d] / 2 : 1;
      wanted *= local[d];
    }
  }
  return HALO_OK;
}
