/* SPDX-License-Identifier: Apache-2.0 */
/* tune.c: `halo tune`: measures what the kernels' parameters can be on a device, and keeps what is faster. */
#include "tune/tune.h"
#include "args.h"
#include "bench/limits.h"
#include "tool.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rows of `halo bench` that candidates are measured with: those whose kernels a candidate changes. */
static const char tune_rows[] =
    "elementwise.add.f32,elementwise.chain10.f32,elementwise.exponential.f32,reduce.rows.f32,"
    "reduce.columns.f32,reduce.full.f32,transpose.f32,transpose.f16,scan.full.f32,pool.max2,"
    "dot.square.f32,dot.square.f16,dot.odd.f32,dot.skinny.f32,dot.matrix_vector.f32,"
    "dot.vector_matrix.f32,dot.batched.f32,conv.3x3.f32,conv.3x3.by_image.f32,"
    "conv.3x3.by_kernel.f32,softmax.f32,layer_norm.f32,layer_norm.gradient.f32,cross_entropy.f32,"
    "attention.f32,attention.causal.f32,attention.backward.f32,sort.f32,sort.rows.f32,topk.f32,"
    "gather.rows.f32,scatter_add.f32,scatter_add.rows.f32,fft.power_of_two.c64,cholesky.f32,"
    "triangular_solve.f32";

/* Prices that decide what becomes one kernel or which implementation is taken; candidates are multiples of what they are. */
static const char *const tune_prices[] = {"split_groups",  "turn_tiles",     "region_step",
                                          "region_waking", "region_handing", "bundle_member"};
static const double tune_factors[] = {0.25, 0.5, 2, 4};
/* Whole programs, with which prices are measured. */
static const char tune_programs[] =
    "program.language_model.small,program.image_classifier.small,program.next_token.medium,"
    "program.kepler.small,program.adaptive_pendulum.small,program.reaction_diffusion.small";

enum {
  TUNE_NAMES = 128,  /* of parameters and prices */
  TUNE_SAMPLES = 9,  /* rounds of the search */
  TUNE_CONFIRM = 15, /* of the two that are left, and of programs */
  TUNE_AFFECTED = 6  /* rows that a parameter is measured with at most */
};

/* Candidates are kept that are so many times as fast, and slow down no row by more than that. */
static const double tune_gain = 1.03, tune_loss = 0.98;

/* A parameter or a price, and its candidates, of which the first is what it is now. */
typedef struct tune_candidates {
  char name[64], standard[24];
  char values[TUNE_VALUES][24];
  int count, best; /* `best`: the one that is kept */
  double gain, low, up;
} tune_candidates;

typedef struct tune {
  tune_state state;
  tune_candidates *list;
  int count;
  const char *filter;
} tune;

/* ---- Candidates ---- */

static void tune_add_parameters(tune *t, const halo_device *device) {
  halo_device_parameter p;
  for (int i = 0; halo_device_get_parameter(device, i, &p) && t->count < TUNE_NAMES; i++) {
    tune_candidates *c = &t->list[t->count];
    if (t->filter != NULL && fnmatch(t->filter, p.name, 0) != 0) continue;
    snprintf(c->name, sizeof c->name, "%s", p.name);
    snprintf(c->standard, sizeof c->standard, "%d", p.standard);
    snprintf(c->values[c->count++], sizeof c->values[0], "%d", p.value);
    for (int k = 0; k < p.value_count && c->count < TUNE_VALUES; k++) {
      /* Values for another kind of device would take long, and win nothing. */
      const double far = 8;
      bool near = p.values[k] <= p.standard * far && p.values[k] * far >= p.standard;
      if (p.values[k] == p.value || !near) continue;
      snprintf(c->values[c->count++], sizeof c->values[0], "%d", p.values[k]);
    }
    t->count++;
  }
}

static void tune_add_prices(tune *t, const halo_device *device) {
  halo_device_price p;
  for (int i = 0; halo_device_get_price(device, i, &p) && t->count < TUNE_NAMES; i++) {
    bool listed = t->filter == NULL || fnmatch(t->filter, p.name, 0) == 0, named = false;
    for (size_t k = 0; k < sizeof tune_prices / sizeof *tune_prices; k++) {
      named |= strcmp(tune_prices[k], p.name) == 0;
    }
    if (!listed || !named) continue;
    tune_candidates *c = &t->list[t->count++];
    snprintf(c->name, sizeof c->name, "%s", p.name);
    snprintf(c->standard, sizeof c->standard, "%.4g", p.standard);
    snprintf(c->values[c->count++], sizeof c->values[0], "%.4g", p.value);
    for (size_t k = 0; k < sizeof tune_factors / sizeof *tune_factors; k++) {
      snprintf(c->values[c->count++], sizeof c->values[0], "%.4g", p.value * tune_factors[k]);
    }
  }
}

/* All that is kept so far, with candidate `value` of `c`; without `c` where value is -1. To be freed. */
static char *tune_text(const tune *t, const tune_candidates *c, int value) {
  char *text = tool_strdup("");
  for (int i = 0; i < t->count; i++) {
    const tune_candidates *each = &t->list[i];
    int which = each == c ? value : each->best;
    if (which < 0 || (which == 0 && each != c)) continue;
    char *longer =
        tool_printf("%s%s%s=%s", text, *text ? "," : "", each->name, each->values[which]);
    free(text);
    text = longer;
  }
  return text;
}

/* ---- Cases ---- */

static bool tune_is_listed(const char *list, const char *name) {
  const char *at = list;
  for (size_t length = strlen(name); (at = strstr(at, name)) != NULL; at += length) {
    bool begins = at == list || at[-1] == ',';
    if (begins && (at[length] == ',' || at[length] == '\0')) return true;
  }
  return false;
}

static bool tune_read_cases(tune_state *state) {
  bool good = true;
  for (int i = 0; bench_case_files[i].name != NULL && good; i++) {
    good = bench_cases_parse(bench_case_files[i].text, bench_case_files[i].name, BENCH_MEDIUM,
                             &state->rows);
  }
  return good && bench_cases_add_folder(tool_data("tools/bench/programs", "programs"), NULL, NULL,
                                        &state->programs);
}

/* A client that only plans: for a description of the device. */
static bool tune_open_planner(tune_state *state, const char *selector) {
  halo_device_entry *list;
  int count;
  if (!tool_check(halo_device_list(selector, &list, &count))) return false;
  char *path = tool_printf("%s/device.caps", state->runner.folder);
  char *device = tool_printf("null:%s", path);
  FILE *file = fopen(path, "w");
  bool good = file != NULL;
  for (int i = 0; i < count && good; i++) {
    if (!list[i].chosen) continue;
    good = fputs(list[i].capabilities, file) >= 0;
    break;
  }
  if (file != NULL) good = fclose(file) == 0 && good;
  halo_device_list_release(list);
  const halo_client_options options = {.device = device};
  good = good ? tool_check(halo_client_create(&options, &state->planner))
              : (tool_error("cannot write to %s", path), false);
  free(device);
  free(path);
  return good;
}

/* ---- The search ---- */

static void tune_says(const char *format, const char *name, const char *row) {
  if (isatty(STDERR_FILENO)) fprintf(stderr, format, name, row);
}

/* Whether any candidate changes the case's kernels; candidates that do are marked. */
static bool tune_changes(tune *t, const tune_candidates *c, const bench_case *row,
                         bool changes[TUNE_VALUES]) {
  uint64_t base = 0, other;
  bool any = false;
  for (int k = 0; k < c->count; k++) {
    char *text = tune_text(t, c, k);
    bool planned = tune_plan(&t->state, row, text, k ? &other : &base);
    free(text);
    if (!planned) return false;
    if (k == 0 || other == base) continue;
    changes[k] = any = true;
  }
  return any;
}

typedef struct tune_search {
  const bench_case *rows[TUNE_AFFECTED];
  int row_count;
  bool changes[TUNE_VALUES]; /* candidates that change any row's kernels */
  double product[TUNE_VALUES], low[TUNE_VALUES], up[TUNE_VALUES], worst[TUNE_VALUES];
  char why[160]; /* why a candidate fell out, such as a wrong answer */
} tune_search;

static void tune_find_rows(tune *t, const tune_candidates *c, const bench_cases *cases,
                           const char *list, tune_search *s) {
  for (int i = 0; i < cases->count && s->row_count < TUNE_AFFECTED; i++) {
    const bench_case *row = &cases->data[i];
    if (!tune_is_listed(list, row->name)) continue;
    if (tune_changes(t, c, row, s->changes)) s->rows[s->row_count++] = row;
  }
}

/* Geometric means over the rows of candidates `which`, of which the first is what there is. */
static void tune_measure(tune *t, const tune_candidates *c, const int *which, int count, int rounds,
                         tune_search *s) {
  char *values[TUNE_VALUES];
  tune_ratio ratios[TUNE_VALUES];
  for (int i = 0; i < count; i++) {
    values[i] = tune_text(t, c, which[i]);
    s->product[which[i]] = s->low[which[i]] = s->up[which[i]] = 0;
    s->worst[which[i]] = INFINITY;
  }
  for (int r = 0; r < s->row_count; r++) {
    tune_says("%-30.30s %-40.40s\r", c->name, s->rows[r]->name);
    tune_compare(&t->state, s->rows[r], values, count, rounds, ratios);
    for (int i = 0; i < count; i++) {
      int k = which[i];
      if (ratios[i].median <= 0) {
        snprintf(s->why, sizeof s->why, "%.20s with %s: %.100s", s->rows[r]->name, c->values[k],
                 ratios[i].why);
        s->worst[k] = 0;
        continue;
      }
      s->product[k] += log(ratios[i].median) / s->row_count;
      s->low[k] += log(ratios[i].low) / s->row_count;
      s->up[k] += log(ratios[i].up) / s->row_count;
      if (ratios[i].median < s->worst[k]) s->worst[k] = ratios[i].median;
    }
  }
  tune_says("%-30.30s %-40.40s\r", "", "");
  for (int i = 0; i < count; i++) free(values[i]);
}

/* Faster by more than the rounds differ, and slower nowhere. */
static bool tune_is_better(const tune_search *s, int k) {
  return s->worst[k] >= tune_loss && exp(s->product[k]) >= tune_gain && s->low[k] > 0;
}

/* Searches the candidates of one name, and prints its line. */
static void tune_search_one(tune *t, tune_candidates *c) {
  tune_search s = {0};
  int which[TUNE_VALUES] = {0}, count = 1, best = 0;
  tune_find_rows(t, c, &t->state.rows, tune_rows, &s);
  tune_find_rows(t, c, &t->state.programs, tune_programs, &s);
  printf("%-26s %9s", c->name, c->values[0]);
  if (s.row_count == 0) {
    printf("         -   no measured row has kernels that it changes\n");
    return;
  }
  for (int k = 1; k < c->count; k++) {
    if (s.changes[k]) which[count++] = k;
  }
  tune_measure(t, c, which, count, TUNE_SAMPLES, &s);
  for (int i = 1; i < count; i++) {
    int k = which[i];
    if (tune_is_better(&s, k) && (best == 0 || s.product[k] > s.product[best])) best = k;
  }
  if (best != 0) { /* the fastest of several was also lucky: once more, alone */
    const int two[] = {0, best};
    tune_measure(t, c, two, 2, TUNE_CONFIRM, &s);
    if (!tune_is_better(&s, best)) best = 0;
  }
  c->best = best;
  c->gain = exp(s.product[best]);
  c->low = exp(s.low[best]);
  c->up = exp(s.up[best]);
  if (best != 0) {
    printf(" %9s   %.2f (%.2f to %.2f)", c->values[best], c->gain, c->low, c->up);
  } else {
    printf(" %9s   no faster value among %d others", "", count - 1);
  }
  printf("; %d row%s\n", s.row_count, s.row_count == 1 ? "" : "s");
  if (s.why[0] != '\0') printf("    left out: %s\n", s.why);
  fflush(stdout);
}

/* ---- Programs ---- */

/* Takes back what changes the kernels of a program that became slower. */
static void tune_take_back(tune *t, const bench_case *program) {
  uint64_t with, without;
  char *all = tune_text(t, NULL, 0);
  bool planned = tune_plan(&t->state, program, all, &with);
  free(all);
  for (int i = 0; i < t->count && planned; i++) {
    tune_candidates *c = &t->list[i];
    if (c->best == 0) continue;
    char *text = tune_text(t, c, -1);
    planned = tune_plan(&t->state, program, text, &without);
    free(text);
    if (!planned || without == with) continue;
    printf("    %s stays %s\n", c->name, c->values[0]);
    c->best = 0;
  }
}

/* Every program whose kernels changed, before and after in turns. */
static bool tune_check_programs(tune *t) {
  double sum = 0;
  int changed = 0, kept = 0;
  for (int i = 0; i < t->state.programs.count; i++) {
    const bench_case *program = &t->state.programs.data[i];
    char *values[] = {tool_strdup(""), tune_text(t, NULL, 0)};
    uint64_t before, after;
    tune_says("%-30.30s %-40.40s\r", "comparing the kernels of", program->name);
    bool planned = tune_plan(&t->state, program, values[0], &before) &&
                   tune_plan(&t->state, program, values[1], &after);
    tune_ratio ratios[2] = {0};
    if (planned && before != after) {
      changed++;
      tune_says("%-30.30s %-40.40s\r", "measuring", program->name);
      tune_compare(&t->state, program, values, 2, TUNE_SAMPLES, ratios);
      if (ratios[1].median < tune_loss) {
        tune_compare(&t->state, program, values, 2, TUNE_CONFIRM, ratios);
      }
      tune_says("%-30.30s %-40.40s\r", "", "");
      if (ratios[1].why[0] != '\0') {
        printf("  %-36s %s\n", program->name, ratios[1].why);
      } else {
        printf("  %-36s %5.2f times as fast (%.2f to %.2f)\n", program->name, ratios[1].median,
               ratios[1].low, ratios[1].up);
      }
      if (ratios[1].median < tune_loss) {
        tune_take_back(t, program);
        i = -1; /* others have other kernels now */
        sum = changed = kept = 0;
      } else {
        sum += log(ratios[1].median);
        kept++;
      }
      fflush(stdout);
    }
    free(values[0]);
    free(values[1]);
    if (!planned) return false;
  }
  tune_says("%-30.30s %-40.40s\r", "", "");
  printf("%d of %d programs have other kernels", changed, t->state.programs.count);
  if (kept > 0) printf("; together they are %.3f times as fast", exp(sum / kept));
  puts("");
  return true;
}

/* ---- The command ---- */

static bool tune_open(tune *t, const char *selector) {
  const halo_client_options options = {.device = selector};
  tune_state *state = &t->state;
  state->runner = (bench_runner){.device = selector, .repeat = 5};
  if (!bench_make_folder(state->runner.folder)) return false;
  if (!tool_check(halo_client_create(&options, &state->runner.client))) return false;
  state->runner.cache = bench_limits_cache(halo_client_device(state->runner.client, 0));
  return tune_open_planner(state, selector) && tune_read_cases(state);
}

static void tune_close(tune *t) {
  if (t->state.runner.folder[0] != '\0') bench_remove_folder(t->state.runner.folder);
  bench_cases_release(&t->state.rows);
  bench_cases_release(&t->state.programs);
  halo_client_release(t->state.planner);
  halo_client_release(t->state.runner.client);
  free(t->list);
}

static void tune_print_device(const halo_device *device) {
  halo_device_info info;
  halo_device_get_info(device, &info);
  printf("%s (%s), driver %s, halo %s\n", info.product, info.platform, info.driver, halo_version());
}

void tune_print_state(const halo_device *device) {
  halo_device_tuning tuning;
  halo_device_get_tuning(device, &tuning);
  if (tuning.refused[0] != '\0') {
    printf("%s is not used: %s\n", tuning.path, tuning.refused);
  }
  printf("Tuning: %s\n", tuning.hash[0] != '\0' ? tuning.hash : "none, all values are defaults");
}

static bool tune_store(tune *t) {
  halo_device *device = halo_client_device(t->state.runner.client, 0);
  char *text = tune_text(t, NULL, 0);
  bool good = true, any = *text != '\0';
  if (any) good = tool_check(halo_device_store_tuning(device, text));
  free(text);
  if (!good) return false;
  if (!any) {
    puts("Nothing was faster by more than the measurements differ; no value is changed.");
    return true;
  }
  halo_device_tuning tuning;
  halo_device_get_tuning(device, &tuning);
  printf("Stored in %s, as tuning %s.\n`halo tune --reset` removes it.\n", tuning.path,
         tuning.hash);
  return true;
}

static int tune_run(const char *selector, const char *filter, bool dry) {
  tune t = {.filter = filter, .list = tool_alloc(sizeof(tune_candidates) * TUNE_NAMES)};
  memset(t.list, 0, sizeof(tune_candidates) * TUNE_NAMES);
  bool good = tune_open(&t, selector);
  if (good) {
    const halo_device *device = halo_client_device(t.state.runner.client, 0);
    tune_print_device(device);
    tune_print_state(device);
    tune_add_parameters(&t, device);
    tune_add_prices(&t, device);
    if (t.count == 0) good = tool_error("there is no parameter '%s'", filter) == TOOL_OK;
  }
  if (good) {
    printf("\n%-26s %9s %9s   times as fast (quartiles); rows\n", "name", "was", "is");
    for (int i = 0; i < t.count; i++) tune_search_one(&t, &t.list[i]);
    puts("\nPrograms whose kernels are others now:");
    good = tune_check_programs(&t);
  }
  if (good && !dry) good = tune_store(&t);
  tune_close(&t);
  return good ? TOOL_OK : TOOL_FAILED;
}

static void tune_show_line(const char *name, bool stored, const char *value, const char *standard,
                           const char *meaning) {
  if (stored) printf("  %-26s %10s  (default %s)  %s\n", name, value, standard, meaning);
}

static int tune_show(const char *selector, bool reset) {
  const halo_client_options options = {.device = selector};
  halo_client *client;
  if (!tool_check(halo_client_create(&options, &client))) return TOOL_FAILED;
  halo_device *device = halo_client_device(client, 0);
  bool good = !reset || tool_check(halo_device_store_tuning(device, NULL));
  tune_print_device(device);
  tune_print_state(device);
  halo_device_parameter p;
  halo_device_price q;
  char value[32], standard[32];
  for (int i = 0; halo_device_get_parameter(device, i, &p); i++) {
    snprintf(value, sizeof value, "%d", p.value);
    snprintf(standard, sizeof standard, "%d", p.standard);
    tune_show_line(p.name, p.stored, value, standard, p.meaning);
  }
  for (int i = 0; halo_device_get_price(device, i, &q); i++) {
    snprintf(value, sizeof value, "%.4g", q.value);
    snprintf(standard, sizeof standard, "%.4g", q.standard);
    tune_show_line(q.name, q.stored, value, standard, q.meaning);
  }
  halo_client_release(client);
  return good ? TOOL_OK : TOOL_FAILED;
}

enum { TUNE_DEVICE = 1, TUNE_ONLY, TUNE_DRY, TUNE_SHOW, TUNE_RESET, TUNE_HELP };

static const tool_option tune_options[] = {
    {TUNE_DEVICE, 'd', "device", "NAME", "which device, as `halo info` lists them"},
    {TUNE_ONLY, 0, "only", "GLOB", "the parameters and prices whose names fit"},
    {TUNE_DRY, 'n', "dry-run", NULL, "measure, and store nothing"},
    {TUNE_SHOW, 0, "show", NULL, "what is stored for the device, and whether it is used"},
    {TUNE_RESET, 0, "reset", NULL, "remove it"},
    {TUNE_HELP, 'h', "help", NULL, "this text"},
    {0},
};

static void tune_help(void) {
  puts(
      "Usage: halo tune [OPTIONS]\n\n"
      "Measures what the parameters of kernels can be on a device, such as the sizes of their "
      "blocks,\n"
      "in turns with what they are. A value is kept that is faster by more than the measurements "
      "differ,\n"
      "whose answers are right, and with which no program of `halo bench` becomes slower. All "
      "programs that\n"
      "are compiled for the device with the same driver and version of halo use it from then on.\n"
      "Sums may be made in another order, so last bits may change. Takes some minutes.\n");
  args_print_options(stdout, tune_options);
}

int tool_tune(int argc, char **argv) {
  tool_args args = {
      .command = "tune", .options = tune_options, .argc = argc, .argv = argv, .next = 1};
  const char *value, *device = NULL, *only = NULL;
  bool show = false, reset = false, dry = false;
  for (int id; (id = args_next(&args, &value)) != ARGS_END;) {
    switch (id) {
      case TUNE_DEVICE: device = value; break;
      case TUNE_ONLY: only = value; break;
      case TUNE_DRY: dry = true; break;
      case TUNE_SHOW: show = true; break;
      case TUNE_RESET: reset = true; break;
      case TUNE_HELP: return tune_help(), TOOL_OK;
      case ARGS_OPERAND: return args_usage_error(&args, "there is no use for '%s'", value);
      default: return TOOL_USAGE;
    }
  }
  return show || reset ? tune_show(device, reset) : tune_run(device, only, dry);
}
