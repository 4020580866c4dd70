/* client/compile.c: from a module to an executable: passes, plan, program; and reports about it. */
#include "base/config.h"
#include "base/memory.h"
#include "client/executable.h"
#include "halo/passes.h"
#include "passes/passes.h"
#include "plan/check.h"
#include "plan/lower.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
  mkdir(dump->folder, 0777); /* there already, most often; opening the file tells if not */
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

static halo_status compile_program(halo_executable *e, const halo_compile_options *options,
                                   compile_dump *dump) {
  halo_pass_options passes = {
      .no_optimization = options->no_optimization,
      .no_fusion =
          options->no_fusion || options->no_optimization || halo_config_flag(HALO_CONFIG_NO_FUSION),
      .disabled = halo_config_text(HALO_CONFIG_DISABLE_PASSES),
      .dump = dump->folder ? compile_dump_module : NULL,
      .user = dump,
      .verify = halo_config_flag(HALO_CONFIG_VERIFY),
  };
  HALO_TRY(halo_plan_check(e->module));
  e->module->target = halo_target_of_device(e->client->device.cl);
  HALO_TRY(halo_passes_run(e->module, &passes));
  HALO_TRY(dump->status);
  const char *kernels = options->kernels ? options->kernels : halo_config_text(HALO_CONFIG_KERNELS);
  halo_plan *plan = NULL;
  HALO_TRY(halo_plan_lower(e->module, &e->client->device.cl->caps, kernels, &plan));
  halo_status status = HALO_OK;
  if (dump->folder) {
    halo_strbuf text = {0};
    halo_plan_print(&text, plan);
    status = compile_write(dump, "plan.txt", halo_strbuf_text(&text));
    halo_strbuf_deinit(&text);
    halo_plan_source(&text, plan, NULL, 0);
    if (status == HALO_OK) status = compile_write(dump, "cl", halo_strbuf_text(&text));
    if (status == HALO_OK) status = compile_write(dump, "explain.txt", plan->explain);
    halo_strbuf_deinit(&text);
  }
  if (status != HALO_OK) {
    halo_plan_release(plan);
    return status;
  }
  return halo_program_create(e->client->device.cl, plan, &e->program);
}

halo_status halo_client_compile(halo_client *client, const halo_module *module,
                                const halo_compile_options *options, halo_executable **out) {
  static const halo_compile_options defaults = {0};
  if (!client || !module || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_client_compile: NULL argument");
  }
  *out = NULL;
  if (!options) options = &defaults;
  HALO_TRY(halo_module_verify(module));
  halo_executable *e = halo_alloc(sizeof *e);
  atomic_init(&e->references, 1);
  pthread_mutex_init(&e->lock, NULL);
  e->client = client;
  halo_client_retain(client);
  e->module = halo_module_clone(module);
  e->result = halo_shape_clone_heap(module->entry_result);
  e->parameter_count = module->entry->params.count;
  e->parameters = halo_alloc(sizeof *e->parameters * (size_t)e->parameter_count);
  for (int p = 0; p < e->parameter_count; p++) {
    e->parameters[p] = halo_shape_clone_heap(module->entry_params[p]);
  }
  compile_dump dump = {
      .folder = options->dump_dir ? options->dump_dir : halo_config_text(HALO_CONFIG_DUMP_TO),
      .module = module->name};
  if (dump.folder) compile_dump_module(&dump, "input", module);
  halo_status status = dump.status;
  if (status == HALO_OK) status = compile_program(e, options, &dump);
  if (status == HALO_OK) {
    *out = e;
    return HALO_OK;
  }
  char *message = halo_error_save();
  halo_executable_release(e);
  halo_error_restore(message);
  return halo_fail_in(status, "compiling %s", module->name);
}

void halo_executable_retain(halo_executable *e) {
  if (e) atomic_fetch_add(&e->references, 1);
}

void halo_executable_release(halo_executable *e) {
  if (!e || atomic_fetch_sub(&e->references, 1) != 1) return;
  halo_program_release(e->program);
  halo_module_release(e->module);
  halo_shape_release(e->result);
  for (int p = 0; p < e->parameter_count; p++) halo_shape_release(e->parameters[p]);
  halo_free(e->parameters);
  for (int i = 0; i < 4; i++) halo_free(e->reports[i]);
  halo_free(e->rows);
  pthread_mutex_destroy(&e->lock);
  halo_client_release(e->client);
  halo_free(e);
}

/* ---- Questions ---- */

int halo_executable_argument_count(const halo_executable *e) {
  return halo_program_plan(e->program)->argument_count;
}
const halo_shape *halo_executable_argument_shape(const halo_executable *e, int index) {
  const halo_plan *plan = halo_program_plan(e->program);
  return index >= 0 && index < plan->argument_count ? plan->arguments[index] : NULL;
}
int halo_executable_result_count(const halo_executable *e) {
  return halo_program_plan(e->program)->result_count;
}
const halo_shape *halo_executable_result_shape(const halo_executable *e, int index) {
  const halo_plan *plan = halo_program_plan(e->program);
  return index >= 0 && index < plan->result_count ? plan->results[index] : NULL;
}

const char *halo_executable_report(halo_executable *e, halo_report report) {
  const halo_plan *plan = halo_program_plan(e->program);
  if (report == HALO_REPORT_EXPLAIN) return plan->explain;
  if (report != HALO_REPORT_PLAN && report != HALO_REPORT_MODULE && report != HALO_REPORT_SOURCE) {
    return "";
  }
  pthread_mutex_lock(&e->lock);
  if (!e->reports[report] && report != HALO_REPORT_MODULE) {
    halo_strbuf text = {0};
    if (report == HALO_REPORT_PLAN) halo_plan_print(&text, plan);
    if (report == HALO_REPORT_SOURCE) halo_plan_source(&text, plan, NULL, 0);
    e->reports[report] = halo_strbuf_take(&text);
  }
  if (!e->reports[report] && halo_module_to_text(e->module, 0, &e->reports[report]) != HALO_OK) {
    e->reports[report] = halo_strdup("");
  }
  pthread_mutex_unlock(&e->lock);
  return e->reports[report];
}

halo_status halo_executable_profile(halo_executable *e, const halo_profile_row **rows, int *count) {
  if (!e || !rows || !count) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_executable_profile: NULL argument");
  }
  if (!e->client->device.cl->profile) {
    return halo_fail(HALO_FAILED_PRECONDITION,
                     "profiling needs a client made with halo_client_options.profile");
  }
  const halo_step_time *times;
  HALO_TRY(halo_program_profile(e->program, &times, count));
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
