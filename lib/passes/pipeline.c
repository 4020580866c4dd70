/* SPDX-License-Identifier: Apache-2.0 */
/* passes/pipeline.c: running the passes of passes.def in their order. */
#include "base/config.h"
#include "base/strbuf.h"
#include "partition/partition.h"
#include "passes/passes.h"

#include <string.h>

typedef struct pass_row {
  const char *name, *description;
  halo_pass_fn *run;
  bool required; /* execution cannot do without it */
} pass_row;

static const pass_row pass_rows[] = {
#define PASS(id, name, file, need, text) {name, text, halo_pass_##id, PASS_IS_##need},
#define PASS_IS_REQUIRED true
#define PASS_IS_OPTIONAL false
#include "passes/passes.def"
};

enum {
#define PASS(id, name, file, need, text) PASS_##id,
#include "passes/passes.def"
  PASS_COUNT
};

/* How the passes of a group run: passes.def. */
typedef enum pass_group {
  PASS_ONCE,
  PASS_REPEATED,
  PASS_REPEATED_IF_CHANGED,
  PASS_FUSION
} pass_group;

/* A pass at its place in the pipeline, or the beginning of a group. */
typedef struct pass_step {
  const pass_row *row; /* NULL: a group begins */
  pass_group group;
} pass_step;

static const pass_step pass_steps[] = {
#define PASS(id, name, file, need, text) {.row = &pass_rows[PASS_##id]},
#define AGAIN(id) {.row = &pass_rows[PASS_##id]},
#define GROUP(kind) {.group = PASS_##kind},
#include "passes/passes.def"
};

enum {
  PASS_STEPS = sizeof pass_steps / sizeof pass_steps[0],
  /* Each round of a repeated group makes the module smaller in practice; the cap is for rules that would feed each other. */
  PASS_MAX_ROUNDS = 16
};

halo_status halo_pass_partition(halo_module *module, bool *changed) {
  *changed = halo_partition_is_wanted(module);
  if (!*changed) return HALO_OK;
  bool inlined;
  HALO_TRY(halo_pass_inline_calls(module, &inlined));
  return halo_partition(module);
}

const char *halo_pass_name(int index) {
  return index >= 0 && index < PASS_COUNT ? pass_rows[index].name : NULL;
}

const char *halo_pass_description(int index) {
  return index >= 0 && index < PASS_COUNT ? pass_rows[index].description : NULL;
}

static size_t pass_name_length(const char *list) { return strcspn(list, ", "); }

static bool pass_listed(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *p = list; p && *p; p += strspn(p, ", ")) {
    size_t item = pass_name_length(p);
    if (item == length && memcmp(p, name, item) == 0) return true;
    p += item;
  }
  return false;
}

static halo_status pass_check_list(const char *list) {
  for (const char *p = list; p && *p; p += strspn(p, ", ")) {
    size_t item = pass_name_length(p);
    const char *name;
    bool known = item == 0;
    for (int i = 0; !known && (name = halo_pass_name(i)) != NULL; i++) {
      known = strlen(name) == item && memcmp(p, name, item) == 0;
    }
    if (!known) {
      halo_strbuf names = {0};
      for (int i = 0; (name = halo_pass_name(i)) != NULL; i++) {
        halo_strbuf_printf(&names, "%s%s", i ? ", " : "", name);
      }
      halo_fail(HALO_INVALID_ARGUMENT, "there is no pass \"%.*s\"; there are: %s", (int)item, p,
                halo_strbuf_text(&names));
      halo_strbuf_deinit(&names);
      return HALO_INVALID_ARGUMENT;
    }
    p += item;
  }
  return HALO_OK;
}

static halo_status pass_run_row(halo_module *module, const halo_pass_options *options,
                                const pass_row *row, bool *group_changed) {
  if (options->no_optimization && !row->required) return HALO_OK;
  if (pass_listed(options->disabled, row->name)) return HALO_OK;
  bool changed = false;
  halo_status status = row->run(module, &changed);
  if (status != HALO_OK) return halo_fail_in(status, "pass %s", row->name);
  if (!changed) return HALO_OK;
  *group_changed = true;
  if (options->dump) options->dump(options->user, row->name, module);
  status = options->no_verify ? HALO_OK : halo_module_verify(module);
  if (status == HALO_OK || status == HALO_OUT_OF_MEMORY) return status;
  return halo_fail_in(HALO_INTERNAL, "the module is broken after pass %s", row->name);
}

halo_status halo_passes_run(halo_module *module, const halo_pass_options *options) {
  static const halo_pass_options defaults = {0};
  if (!options) options = &defaults;
  HALO_TRY(pass_check_list(options->disabled));
  HALO_TRY(halo_module_check_size(module, false));
  HALO_TRY(halo_module_check_bounds(module));
  bool group_changed = true;
  for (int first = 0, end; first < PASS_STEPS; first = end) {
    pass_group group = pass_steps[first++].group;
    for (end = first; end < PASS_STEPS && pass_steps[end].row; end++) {}
    if (group == PASS_FUSION && options->no_fusion) continue;
    if (group == PASS_REPEATED_IF_CHANGED && !group_changed) continue;
    bool repeated = group == PASS_REPEATED || group == PASS_REPEATED_IF_CHANGED;
    int rounds = repeated ? PASS_MAX_ROUNDS : 1;
    group_changed = false;
    for (bool again = true; rounds > 0 && again; rounds--) {
      again = false;
      for (int i = first; i < end; i++) {
        HALO_TRY(pass_run_row(module, options, pass_steps[i].row, &again));
      }
      group_changed |= again;
    }
  }
  return HALO_OK;
}

typedef struct optimize_request {
  const halo_module *module;
  const halo_pass_options *options;
  halo_module *out;
} optimize_request;

static halo_status optimize_run(void *user) {
  optimize_request *request = user;
  halo_module *copy = halo_module_clone(request->module);
  halo_status status = halo_passes_run(copy, request->options);
  if (status == HALO_OK) {
    request->out = copy;
  } else {
    halo_module_release(copy);
  }
  return status;
}

halo_status halo_module_optimize(const halo_module *module, const halo_pass_options *options,
                                 halo_module **out) {
  if (!module || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_module_optimize: NULL argument");
  }
  *out = NULL;
  HALO_TRY(halo_config_check_names());
  optimize_request request = {.module = module, .options = options};
  HALO_TRY(halo_memory_guard(optimize_run, &request));
  *out = request.out;
  return HALO_OK;
}
