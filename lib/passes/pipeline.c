/* SPDX-License-Identifier: Apache-2.0 */
/* passes/pipeline.c: the table that orders the passes, and running it. */
#include "base/strbuf.h"
#include "partition/partition.h"
#include "passes/passes.h"

#include <string.h>

typedef struct pass_row {
  const char *name, *description;
  halo_pass_fn *run;
  bool required; /* execution cannot do without it */
} pass_row;

enum { PASS_GROUP_MAX = 12 };

/* Rows that run one after the other, once or until none of them changes anything. */
typedef struct pass_group {
  bool to_fixpoint;
  bool if_changed; /* only when the group before changed something */
  bool fusion;     /* left out with no_fusion */
  pass_row rows[PASS_GROUP_MAX + 1];
} pass_group;

/* Each round of a fixpoint group makes the module smaller in practice; the cap is for rules that
 * would feed each other. */
enum { PASS_MAX_ROUNDS = 16 };

#define TUPLES                                                                                     \
  { "tuples", "Cancels packing and unpacking of tuples.", halo_pass_tuples, true }
#define WHILE_STATE                                                                                \
  {                                                                                                \
    "while-state", "Takes what never changes, and what nothing reads, out of loops' state.",       \
        halo_pass_while_state, false                                                               \
  }
#define UNROLL                                                                                     \
  { "unroll", "Writes out the rounds of short loops over elements.", halo_pass_unroll, false }
#define HOIST                                                                                      \
  {                                                                                                \
    "hoist", "Computes sums and products that are the same in each round before the loop.",        \
        halo_pass_hoist, false                                                                     \
  }
#define SIMPLIFY                                                                                   \
  { "simplify", "Applies exact algebraic rules.", halo_pass_simplify, false }
#define CONSTANT_FOLDING                                                                           \
  {                                                                                                \
    "constant-folding", "Computes what constants alone determine, when it is small.",              \
        halo_pass_constant_folding, false                                                          \
  }
#define CSE                                                                                        \
  { "cse", "Makes equal instructions, and equal reducers, one.", halo_pass_cse, false }
#define DCE                                                                                        \
  { "dce", "Removes instructions and computations that nothing needs.", halo_pass_dce, true }
#define LAYOUTS                                                                                    \
  {                                                                                                \
    "layouts", "Makes everything inside row-major; parameters and results keep their layouts.",    \
        halo_pass_layouts, true                                                                    \
  }
#define FUSION                                                                                     \
  { "fusion", "Groups instructions into kernels.", halo_pass_fusion, false }

halo_status halo_pass_partition(halo_module *module, bool *changed) {
  *changed = halo_partition_is_wanted(module);
  if (!*changed) return HALO_OK;
  bool inlined;
  HALO_TRY(halo_pass_inline_calls(module, &inlined));
  return halo_partition(module);
}

static const pass_group pass_table[] = {
    {.rows =
         {{"partition",
           "Makes one partition's program of one that speaks of whole arrays and their shardings.",
           halo_pass_partition, true},
          {"collectives",
           "Pairs up, joins and numbers what goes on between replicas and partitions.",
           halo_pass_collectives, true},
          {"inline-calls", "Puts called, fused and asynchronous computations in place.",
           halo_pass_inline_calls, true},
          {"dynamic-sizes",
           "Makes sizes that are known at run time only into values, and shapes static.",
           halo_pass_dynamic_sizes, true},
          {"canonicalize", "Rewrites identity ops, bitcasts and old forms to plain ops.",
           halo_pass_canonicalize, true},
          {"expand", "Writes operations without kernels of their own as others.", halo_pass_expand,
           true},
          {"accuracy", "Computes in wider numbers what asks for more accurate results.",
           halo_pass_accuracy, true},
          {"inline-map", "Turns map into elementwise ops on arrays.", halo_pass_inline_map, false},
          TUPLES,
          DCE,
          LAYOUTS}},
    {.to_fixpoint = true,
     .rows = {SIMPLIFY, CONSTANT_FOLDING, TUPLES, WHILE_STATE, UNROLL, HOIST, CSE, DCE}},
    {.rows = {{"drop-barriers", "Removes optimization barriers.", halo_pass_drop_barriers, true},
              TUPLES}},
    {.to_fixpoint = true,
     .if_changed = true,
     .rows = {SIMPLIFY, CONSTANT_FOLDING, TUPLES, WHILE_STATE, UNROLL, HOIST, CSE, DCE}},
    {.rows =
         {{"convs",
           "Moves transposes, reversed kernels and padding into convolutions; makes dots of some.",
           halo_pass_convs, false},
          {"scores", "Works on scores of products where they are, rather than transposed.",
           halo_pass_scores, false},
          {"dots", "Moves transposes into the dimension numbers of dot.", halo_pass_dots, false},
          {"loop-sums", "Adds to parts of a loop's sums what a round adds to them among zeros.",
           halo_pass_loop_sums, false},
          DCE,
          LAYOUTS,
          {"split", "Makes several of operations that are too wide for one kernel.",
           halo_pass_split, true},
          {"rectify", "Compares maxima with their bounds rather than what they are of.",
           halo_pass_rectify, false},
          {"placed-updates", "Chooses by place what is put into values that need no memory.",
           halo_pass_placed_updates, false},
          {"trip-counts", "Notes how often counted loops run.", halo_pass_trip_counts, true}}},
    {.fusion = true,
     .rows = {{"attention",
               "Makes one kernel of a product, a softmax and a product with its weights.",
               halo_pass_attention, false},
              {"lapack", "Makes kernels of small factorisations that LAPACK would do on the host.",
               halo_pass_lapack, false},
              FUSION,
              {"rows", "Joins kernels that reduce the same rows in turn.", halo_pass_rows, false},
              CSE,
              {"multi-output", "Joins kernels over the same arrays.", halo_pass_multi_output,
               false},
              TUPLES,
              {"order", "Orders kernels so that less memory is alive at once.", halo_pass_order,
               false}}},
};

enum { PASS_GROUPS = sizeof pass_table / sizeof pass_table[0] };

/* The rows of all groups in order, each name once. */
static const pass_row *pass_find(int index) {
  const pass_row *seen[PASS_GROUPS * PASS_GROUP_MAX];
  int count = 0;
  for (int g = 0; g < PASS_GROUPS; g++) {
    for (const pass_row *row = pass_table[g].rows; row->name; row++) {
      bool repeated = false;
      for (int i = 0; i < count; i++) repeated |= strcmp(seen[i]->name, row->name) == 0;
      if (repeated) continue;
      if (count == index) return row;
      seen[count++] = row;
    }
  }
  return NULL;
}

const char *halo_pass_name(int index) {
  const pass_row *row = index >= 0 ? pass_find(index) : NULL;
  return row ? row->name : NULL;
}

const char *halo_pass_description(int index) {
  const pass_row *row = index >= 0 ? pass_find(index) : NULL;
  return row ? row->description : NULL;
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
  for (int g = 0; g < PASS_GROUPS; g++) {
    const pass_group *group = &pass_table[g];
    if (group->fusion && options->no_fusion) continue;
    if (group->if_changed && !group_changed) continue;
    int rounds = group->to_fixpoint ? PASS_MAX_ROUNDS : 1;
    group_changed = false;
    for (bool again = true; rounds > 0 && again; rounds--) {
      again = false;
      for (const pass_row *row = group->rows; row->name; row++) {
        HALO_TRY(pass_run_row(module, options, row, &again));
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
  optimize_request request = {.module = module, .options = options};
  HALO_TRY(halo_memory_guard(optimize_run, &request));
  *out = request.out;
  return HALO_OK;
}
