/* SPDX-License-Identifier: Apache-2.0 */
/* client/compile.c: from a module to an executable: passes, plan, program; and reports about it. */
#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/strbuf.h"
#include "client/executable.h"
#include "custom/custom.h"
#include "halo/passes.h"
#include "hlo/reduction.h"
#include "kernels/kernels.h"
#include "os/file.h"
#include "passes/passes.h"
#include "plan/lower.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>

/* ---- Dumps ---- */

typedef struct compile_dump {
  const char *folder; /* NULL: none wanted */
  const char *module;
  int number;
  halo_status status;
} compile_dump;

static halo_status compile_write(compile_dump *dump, const char *what, const char *text) {
  if (!dump->folder) return HALO_OK;
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.%02d.%s", dump->folder, dump->module, dump->number++, what);
  for (char *c = path + strlen(dump->folder) + 1; *c; c++) {
    if (*c == '/') *c = '_';
  }
  /* It is there already, most often; opening the file tells if not. */
  halo_os_make_folder(dump->folder, 0777);
  FILE *file = fopen(path, "w");
  if (!file) return halo_fail(HALO_IO_ERROR, "the dump %s cannot be written", path);
  bool ok = fputs(text, file) >= 0;
  ok = fclose(file) == 0 && ok;
  return ok ? HALO_OK : halo_fail(HALO_IO_ERROR, "the dump %s cannot be written", path);
}

static void compile_dump_module(void *user, const char *pass, const halo_module *module) {
  compile_dump *dump = user;
  char *text = NULL;
  char what[128];
  snprintf(what, sizeof what, "%s.hlo", pass);
  halo_status status = halo_module_to_text(module, 0, &text);
  if (status == HALO_OK) status = compile_write(dump, what, text);
  halo_text_release(text);
  if (dump->status == HALO_OK) dump->status = status;
}

/* ---- Compiling ---- */

static halo_status compile_dump_plan(compile_dump *dump, const halo_plan *plan,
                                     const halo_caps *caps) {
  halo_strbuf text = {0};
  if (!dump->folder) return HALO_OK;
  halo_plan_print(&text, plan);
  halo_status status = compile_write(dump, "plan.txt", halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  /* Compilers that are called by hand need the same options. */
  char *options = halo_cl_program_options(caps, NULL);
  halo_strbuf_printf(&text, "/* options: %s */\n", options);
  halo_free(options);
  halo_plan_source(&text, plan, NULL, 0);
  if (status == HALO_OK) status = compile_write(dump, "cl", halo_strbuf_text(&text));
  if (status == HALO_OK) status = compile_write(dump, "explain.txt", plan->explain);
  halo_strbuf_deinit(&text);
  return status;
}

/* From a module to a plan for a device: a computation on memory alone. */
typedef struct compile_job {
  const halo_module *module;
  const halo_caps *caps;
  halo_target target;
  const halo_compile_options *options;
  compile_dump *dump;
  int replicas, partitions;
  halo_plan_limits *limits;
  /* results */
  halo_module *optimized;
  halo_module
      *partitioned; /* what each of several partitions computes, before other passes; or NULL */
  halo_plan *plan;
} compile_job;

static void compile_after_pass(void *user, const char *pass, const halo_module *module) {
  compile_job *job = user;
  if (strcmp(pass, "partition") == 0) {
    halo_module_release(job->partitioned);
    job->partitioned = halo_module_clone(module);
  }
  if (job->dump->folder) compile_dump_module(job->dump, pass, module);
}

static halo_status compile_plan(compile_job *job) {
  const halo_compile_options *options = job->options;
  compile_dump *dump = job->dump;
  halo_pass_options passes = {
      .no_optimization = options->no_optimization,
      .no_fusion =
          options->no_fusion || options->no_optimization || halo_config_flag(HALO_CONFIG_NO_FUSION),
      .disabled = halo_config_text(HALO_CONFIG_DISABLE_PASSES),
      .dump = dump->folder || job->partitions > 1 ? compile_after_pass : NULL,
      .user = job,
      .no_verify = halo_config_refused(HALO_CONFIG_VERIFY),
  };
  const char *kernels = options->kernels ? options->kernels : halo_config_text(HALO_CONFIG_KERNELS);
  const halo_kernels_device device = {.caps = job->caps, .list = kernels};
  job->optimized->target = job->target;
  job->optimized->target.quotes = (halo_quotes){halo_kernels_quote, &device};
  double start = halo_clock();
  halo_status status = halo_passes_run(job->optimized, &passes);
  job->optimized->target.quotes = (halo_quotes){0};
  HALO_TRY(status);
  double passed = halo_clock();
  HALO_TRY(dump->status);
  HALO_TRY(halo_plan_lower(job->optimized, job->caps, kernels, job->limits, &job->plan));
  HALO_LOG(HALO_LOG_INFO,
           "compile %s: passes took %.3f s, the plan %.3f s: %d step%s, %d unit%s of kernels",
           job->optimized->name, passed - start, halo_clock() - passed, job->plan->step_count,
           halo_plural(job->plan->step_count), job->plan->units.count,
           halo_plural(job->plan->units.count));
  return compile_dump_plan(dump, job->plan, job->caps);
}

static void compile_set_header(halo_module *module, const char *name, const char *text) {
  halo_header_attr attr = {name, halo_arena_strdup(&module->arena, text)};
  for (int32_t i = 0; i < module->header.count; i++) {
    if (strcmp(module->header.data[i].name, name) != 0) continue;
    module->header.data[i] = attr;
    return;
  }
  halo_vec_push(&module->header, attr);
}

/* A list of the header, such as which shardings of arguments the partitioner may choose. */
static void compile_set_list(halo_module *module, const char *name, const bool *list, int count) {
  halo_strbuf text = {0};
  if (count <= 0 || !list) return;
  for (int i = 0; i < count; i++) {
    halo_strbuf_printf(&text, "%c%s", i ? ',' : '{', list[i] ? "true" : "false");
  }
  halo_strbuf_char(&text, '}');
  compile_set_header(module, name, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
}

static void compile_set_free(halo_module *module, const halo_compile_options *options) {
  compile_set_list(module, "allow_spmd_sharding_propagation_to_parameters", options->free_arguments,
                   options->free_argument_count);
  compile_set_list(module, "allow_spmd_sharding_propagation_to_output", options->free_results,
                   options->free_result_count);
}

static halo_status compile_run(void *user) {
  compile_job *job = user;
  job->optimized = halo_module_clone(job->module);
  job->optimized->replica_count = job->replicas;
  job->optimized->num_partitions = job->partitions;
  compile_set_free(job->optimized, job->options);
  if (job->options->strict_order || halo_config_flag(HALO_CONFIG_STRICT_ORDER)) {
    compile_set_header(job->optimized, HALO_STRICT_ORDER_ATTR, "true");
  }
  if (job->partitions > 1) job->partitioned = halo_module_clone(job->optimized);
  halo_status status = compile_plan(job);
  if (status == HALO_OK) return HALO_OK;
  halo_plan_release(job->plan);
  halo_module_release(job->optimized);
  halo_module_release(job->partitioned);
  return status;
}

static bool compile_same_caps(const halo_caps *a, const halo_caps *b) {
  char *first = halo_caps_text(a), *second = halo_caps_text(b);
  bool same = strcmp(first, second) == 0 && a->is_null == b->is_null;
  halo_free(first);
  halo_free(second);
  return same;
}

halo_status halo_executable_load(halo_executable *e, int index, halo_plan *plan,
                                 halo_plan_limits *limits) {
  halo_cl_device *device = e->placements[index].device->cl;
  if (!plan) {
    if (compile_same_caps(&halo_executable_home(e)->cl->caps, &device->caps)) plan = e->plan;
    for (int i = 0; i < index && !plan; i++) {
      if (!compile_same_caps(&e->placements[i].device->cl->caps, &device->caps)) continue;
      plan = (halo_plan *)halo_program_plan(e->placements[i].program);
    }
    if (!plan) return HALO_NOT_FOUND;
    halo_plan_retain(plan);
  }
  halo_placement *at = &e->placements[index];
  halo_program_site site = {
      .ids = {(uint32_t)(at->part / e->partition_count), (uint32_t)(at->part % e->partition_count)},
      .team = &e->team,
      .feeds = at->device->feeds};
  return halo_program_create(device, plan, &site, limits, &at->program);
}

void halo_executable_unload(halo_executable *e) {
  for (int i = 0; i < e->placement_count; i++) {
    halo_program_release(e->placements[i].program);
    e->placements[i].program = NULL;
  }
  if (e->plan) halo_plan_release(e->plan);
  e->plan = NULL;
}

halo_status halo_executable_fit(halo_executable *e, halo_executable_make *make, void *user) {
  halo_plan_limits limits = {0};
  halo_status status;
  for (;;) {
    limits.grew = false;
    status = make(user, &limits);
    if (status == HALO_OK || !limits.grew) break;
    HALO_LOG(HALO_LOG_INFO, "compile: kernels are made once more, for smaller groups: %s",
             halo_error_message());
    halo_executable_unload(e);
    limits.again = true;
  }
  halo_plan_limits_deinit(&limits);
  return status;
}

static halo_status compile_for(const halo_executable *e, const halo_device *device,
                               compile_job *job) {
  job->caps = &device->cl->caps;
  job->target = halo_target_of_device(device);
  job->replicas = e->replica_count;
  job->partitions = e->partition_count;
  return halo_memory_guard(compile_run, job);
}

/* Devices of one kind share a plan. */
static halo_status compile_placement(halo_executable *e, int index, compile_job job) {
  halo_status status = halo_executable_load(e, index, NULL, job.limits);
  if (status != HALO_NOT_FOUND) return status;
  HALO_TRY(compile_for(e, e->placements[index].device, &job));
  halo_module_release(job.optimized);
  halo_module_release(job.partitioned);
  return halo_executable_load(e, index, job.plan, job.limits);
}

/* What an executable is made of. */
typedef struct compile_all_job {
  halo_executable *e;
  compile_job job;
} compile_all_job;

static halo_status compile_all(void *user, halo_plan_limits *limits) {
  compile_all_job *all = user;
  halo_executable *e = all->e;
  all->job.limits = limits;
  const compile_job job = all->job;
  compile_job home = job;
  halo_module_release(e->module);
  halo_module_release(e->partitioned);
  e->module = e->partitioned = NULL;
  HALO_TRY(compile_for(e, halo_executable_home(e), &home));
  e->module = home.optimized;
  e->partitioned = home.partitioned;
  e->plan = home.plan;
  for (int i = 0; i < e->placement_count; i++) HALO_TRY(compile_placement(e, i, job));
  return HALO_OK;
}

/* What the caller sees of the module's entry. */
typedef struct compile_entry {
  const halo_module *module;
  const char *kernels;
  halo_shape *result, **parameters;
  char *kernels_copy;
} compile_entry;

static halo_status compile_copy_entry(void *user) {
  compile_entry *entry = user;
  const halo_module *module = entry->module;
  int count = halo_module_visible_params(module);
  entry->result = halo_shape_clone_heap(halo_module_visible_result(module));
  entry->parameters = halo_alloc(sizeof *entry->parameters * (size_t)count);
  for (int p = 0; p < count; p++) {
    entry->parameters[p] = halo_shape_clone_heap(module->entry_params[p]);
  }
  if (entry->kernels) entry->kernels_copy = halo_strdup(entry->kernels);
  return HALO_OK;
}

halo_status halo_executable_create(halo_client *client, const halo_module *module,
                                   const char *kernels, halo_executable **out) {
  compile_entry entry = {.module = module, .kernels = kernels};
  void *memory;
  *out = NULL;
  HALO_TRY(halo_try_alloc(sizeof(halo_executable), "an executable", &memory));
  halo_status status = halo_memory_guard(compile_copy_entry, &entry);
  if (status != HALO_OK) {
    halo_free(memory);
    return status;
  }
  halo_executable *e = memory;
  atomic_init(&e->references, 1);
  pthread_mutex_init(&e->lock, NULL);
  e->client = client;
  halo_client_retain(client);
  e->result = entry.result;
  e->parameters = entry.parameters;
  e->parameter_count = halo_module_visible_params(module);
  e->kernels = entry.kernels_copy;
  *out = e;
  return HALO_OK;
}

/* A module without what calls tell their partitioners, which may be addresses of this process. */
typedef struct compile_common {
  const halo_module *module;
  halo_module *copy; /* NULL: there is no such call */
} compile_common;

static bool compile_tells(const halo_instr *instr) {
  const halo_attr *target = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_TARGET);
  return target && halo_custom_partitioner_find(target->text) &&
         halo_instr_attr(instr, HALO_ATTR_BACKEND_CONFIG);
}

static halo_status compile_strip(void *user) {
  compile_common *common = user;
  bool found = false;
  for (int32_t c = 0; c < common->module->computations.count; c++) {
    const halo_computation *from = common->module->computations.data[c];
    for (int32_t i = 0; i < from->instrs.count; i++) found |= compile_tells(from->instrs.data[i]);
  }
  if (!found) return HALO_OK;
  common->copy = halo_module_clone(common->module);
  for (int32_t c = 0; c < common->copy->computations.count; c++) {
    halo_computation *to = common->copy->computations.data[c];
    for (int32_t i = 0; i < to->instrs.count; i++) {
      if (!compile_tells(to->instrs.data[i])) continue;
      halo_instr_remove_attr(to->instrs.data[i], HALO_ATTR_BACKEND_CONFIG);
    }
  }
  return HALO_OK;
}

static halo_status compile_agree(halo_executable *e, const halo_module *module) {
  if (halo_executable_is_shared(e)) {
    compile_common common = {.module = module};
    HALO_TRY(halo_memory_guard(compile_strip, &common));
    halo_status status = halo_module_hash(common.copy ? common.copy : module, e->key);
    if (common.copy) halo_module_release(common.copy);
    HALO_TRY(status);
  }
  return halo_executable_agree(e);
}

/* Reads as one sentence with what went wrong, or how long it took. */
static void compile_log_end(const char *name, halo_status status, double start) {
  if (status == HALO_OK) {
    halo_log_write("compile %s: done after %.3f s", name, halo_clock() - start);
  } else {
    halo_log_write("compile %s: failed after %.3f s: %s", name, halo_clock() - start,
                   halo_error_message());
  }
}

static halo_status compile_executable(halo_client *client, const halo_module *module,
                                      const halo_compile_options *options, halo_executable **out) {
  HALO_TRY(halo_module_verify(module));
  const char *kernels = options->kernels ? options->kernels : halo_config_text(HALO_CONFIG_KERNELS);
  halo_executable *e;
  HALO_TRY(halo_executable_create(client, module, kernels, &e));
  compile_dump dump = {
      .folder = options->dump_dir ? options->dump_dir : halo_config_text(HALO_CONFIG_DUMP_TO),
      .module = module->name};
  if (dump.folder) compile_dump_module(&dump, "input", module);
  halo_status status = dump.status;
  if (status == HALO_OK) {
    status = halo_executable_place(
        e, options->devices,
        options->replica_count ? options->replica_count : halo_module_replica_count(module),
        options->partition_count ? options->partition_count : halo_module_partition_count(module));
  }
  if (status == HALO_OK) status = compile_agree(e, module);
  if (status == HALO_OK) {
    compile_all_job all = {e, {.module = module, .options = options, .dump = &dump}};
    status = halo_executable_confirm(e, halo_executable_fit(e, compile_all, &all));
  }
  if (status == HALO_OK) {
    *out = e;
    return HALO_OK;
  }
  char *message = halo_error_save();
  halo_executable_release(e);
  halo_error_restore(message);
  return halo_fail_in(status, "compiling %s", module->name);
}

halo_status halo_client_compile(halo_client *client, const halo_module *module,
                                const halo_compile_options *options, halo_executable **out) {
  static const halo_compile_options defaults = {0};
  if (!client || !module || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_client_compile: NULL argument");
  }
  *out = NULL;
  double start = halo_clock();
  HALO_LOG(HALO_LOG_INFO, "compile %s: begins", module->name);
  halo_progress_begin();
  halo_status status = compile_executable(client, module, options ? options : &defaults, out);
  halo_progress_end();
  if (HALO_LOGS(HALO_LOG_INFO)) compile_log_end(module->name, status, start);
  return status;
}

void halo_get_compile_progress(halo_compile_progress *out) {
  halo_progress now = halo_progress_get();
  *out = (halo_compile_progress){.active = now.active,
                                 .kept = now.kept,
                                 .seconds = now.active ? now.seconds : 0,
                                 .kernels = now.kernels,
                                 .compiled_kernels = now.done};
}

void halo_executable_retain(halo_executable *e) {
  if (e) atomic_fetch_add(&e->references, 1);
}

void halo_executable_release(halo_executable *e) {
  if (!e || atomic_fetch_sub(&e->references, 1) != 1) return;
  halo_executable_unload(e);
  halo_free(e->placements);
  halo_free(e->kernels);
  halo_free(e->fingerprint);
  halo_module_release(e->module);
  halo_module_release(e->partitioned);
  halo_shape_release(e->result);
  for (int p = 0; p < e->parameter_count; p++) halo_shape_release(e->parameters[p]);
  halo_free(e->parameters);
  for (int i = 0; i <= HALO_REPORT_PARTITION; i++) halo_free(e->reports[i]);
  halo_free(e->rows);
  pthread_mutex_destroy(&e->lock);
  halo_client_release(e->client);
  halo_free(e);
}

void halo_executable_set_seed(halo_executable *e, uint64_t seed) {
  for (int i = 0; i < e->placement_count; i++) halo_program_seed(e->placements[i].program, seed);
}

/* ---- Questions ---- */

int halo_executable_argument_count(const halo_executable *e) {
  return halo_plan_visible_arguments(halo_executable_plan(e));
}
const halo_shape *halo_executable_argument_shape(const halo_executable *e, int index) {
  const halo_plan *plan = halo_executable_plan(e);
  return index >= 0 && index < halo_plan_visible_arguments(plan) ? plan->arguments[index] : NULL;
}
int halo_executable_result_count(const halo_executable *e) {
  return halo_plan_visible_results(halo_executable_plan(e));
}
const halo_shape *halo_executable_result_shape(const halo_executable *e, int index) {
  const halo_plan *plan = halo_executable_plan(e);
  return index >= 0 && index < halo_plan_visible_results(plan) ? plan->results[index] : NULL;
}

int halo_executable_device_count(const halo_executable *e) { return e->placement_count; }
halo_device *halo_executable_device(const halo_executable *e, int index) {
  return index >= 0 && index < e->placement_count ? e->placements[index].device : NULL;
}

void halo_executable_part(const halo_executable *e, int index, int *replica, int *partition) {
  int part = index >= 0 && index < e->placement_count ? e->placements[index].part : 0;
  *replica = part / e->partition_count;
  *partition = part % e->partition_count;
}

const char *halo_executable_report(halo_executable *e, halo_report report) {
  const halo_plan *plan = halo_executable_plan(e);
  if (report == HALO_REPORT_EXPLAIN) return plan->explain;
  if (report != HALO_REPORT_PLAN && report != HALO_REPORT_MODULE && report != HALO_REPORT_SOURCE &&
      report != HALO_REPORT_PARTITION) {
    return "";
  }
  pthread_mutex_lock(&e->lock);
  bool partition = report == HALO_REPORT_PARTITION && e->partitioned;
  if (!e->reports[report] && (report == HALO_REPORT_PLAN || report == HALO_REPORT_SOURCE)) {
    halo_strbuf text = {0};
    if (report == HALO_REPORT_PLAN) halo_plan_print(&text, plan);
    if (report == HALO_REPORT_SOURCE) halo_plan_source(&text, plan, NULL, 0);
    e->reports[report] = halo_strbuf_take(&text);
  }
  const halo_module *module = partition ? e->partitioned : e->module;
  if (!e->reports[report] && halo_module_to_text(module, 0, &e->reports[report]) != HALO_OK) {
    e->reports[report] = halo_strdup("");
  }
  pthread_mutex_unlock(&e->lock);
  return e->reports[report];
}

static halo_status executable_check_profile(const halo_executable *e) {
  if (e->placement_count == 0) {
    return halo_fail(HALO_FAILED_PRECONDITION, "%s has no part in this process to profile",
                     e->plan->name);
  }
  if (e->client->devices[0].cl->profile) return HALO_OK;
  return halo_fail(HALO_FAILED_PRECONDITION,
                   "profiling needs a client made with halo_client_options.profile");
}

halo_status halo_executable_profile_host(halo_executable *e,
                                         halo_profile_host out[HALO_PROFILE_HOST_ROWS]) {
  static const char *const works[] = {[HALO_HOST_LAUNCH] = "launches",
                                      [HALO_HOST_WAIT] = "waits",
                                      [HALO_HOST_MEMORY] = "memory",
                                      [HALO_HOST_CALL] = "calls",
                                      [HALO_HOST_EXCHANGE] = "exchanges"};
  _Static_assert((int)HALO_HOST_WORKS == HALO_PROFILE_HOST_ROWS, "each kind of work is a row");
  if (!e || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_executable_profile_host: NULL argument");
  }
  HALO_TRY(executable_check_profile(e));
  halo_host_time times[HALO_HOST_WORKS];
  halo_program_profile_host(e->placements[0].program, times);
  for (int i = 0; i < HALO_HOST_WORKS; i++) {
    out[i] = (halo_profile_host){works[i], times[i].count, times[i].seconds};
  }
  return HALO_OK;
}

halo_status halo_executable_profile(halo_executable *e, const halo_profile_row **rows, int *count) {
  if (!e || !rows || !count) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_executable_profile: NULL argument");
  }
  HALO_TRY(executable_check_profile(e));
  const halo_step_time *times;
  HALO_TRY(halo_program_profile(e->placements[0].program, &times, count));
  pthread_mutex_lock(&e->lock);
  halo_free(e->rows);
  e->rows = halo_alloc(sizeof *e->rows * ((size_t)*count + 1));
  for (int i = 0; i < *count; i++) {
    const halo_step *step = times[i].step;
    e->rows[i] =
        (halo_profile_row){.name = step->label,
                           .kind = halo_step_kind_name(step->kind),
                           .runs = times[i].runs,
                           .seconds = times[i].seconds,
                           .bytes = step->kind == HALO_STEP_COPY ? 2 * step->bytes : step->bytes,
                           .flops = step->flops};
  }
  *rows = e->rows;
  pthread_mutex_unlock(&e->lock);
  return HALO_OK;
}
