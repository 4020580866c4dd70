/* SPDX-License-Identifier: Apache-2.0 */
/* tools/check.c: `halo check`: small programs of every family of kernels, on the device and by the interpreter. */
#include "check.h"
#include "args.h"
#include "compare.h"
#include "output.h"
#include "recipes.h"
#include "tool.h"

#include "halo/client.h"
#include "halo/reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_HELP = 1, CHECK_DEVICE, CHECK_ONLY, CHECK_SPOIL };

static const tool_option check_options[] = {
    {CHECK_DEVICE, 'd', "device", "DEVICE",
     "PLATFORM:DEVICE as 'halo info' lists, a part of the name, cpu or gpu (default: HALO_DEVICE, "
     "else the first GPU, else the first device)"},
    {CHECK_ONLY, 0, "only", "FAMILY", "check one family only; 'list' names them"},
    {CHECK_SPOIL, 0, "spoil", "FAMILY",
     "change one element of each result of this family before it is compared, by little more than "
     "is allowed, to see that the check finds it"},
    {CHECK_HELP, 'h', "help", NULL, "this text"},
    {0}};

static void check_help(void) {
  fputs(
      "Checks that a device and its driver compute right: every family of kernels at small sizes, "
      "against an\ninterpreter that shares no code with them. Takes from ten seconds to a minute, "
      "most of it compiling.\n\n"
      "Usage: halo check [OPTIONS]\n\nOptions:\n",
      stdout);
  args_print_options(stdout, check_options);
  fputs(
      "\nWhole numbers and moved elements must be equal; functions keep to the bounds of\n"
      "docs/accuracy.md; other results may differ as much as 'halo run --compare' allows.\n"
      "Exit code 1: a family is wrong, or does not run.\n",
      stdout);
}

typedef struct check_request {
  const char *device, *only, *spoil;
} check_request;

typedef struct check_state {
  const check_request *request;
  halo_client *client;
  const halo_device *device;
  halo_device_info info;
  int right, wrong, skipped; /* families */
} check_state;

/* ---- One result ---- */

/* The difference that a result may have. */
typedef struct check_bound {
  double ulps;       /* of functions; 0: rtol and atol count */
  double rtol, atol; /* both 0: equal */
} check_bound;

static double check_largest(const halo_literal *value) {
  double largest = 0;
  for (int64_t i = 0; i < halo_shape_element_count(halo_literal_shape(value)); i++) {
    double re, im;
    halo_literal_get_c128(value, i, &re, &im);
    double size = hypot(re, im);
    if (isfinite(size) && size > largest) largest = size;
  }
  return largest;
}

/* The function that result `index` is, in `name`; false: it is none. */
static bool check_function(const check_program *program, int index, char *name, size_t size) {
  const char *at = program->functions;
  for (int i = 0; at && *at && i < index; i++) {
    at += strcspn(at, " ");
    at += strspn(at, " ");
  }
  if (!at || !*at) return false;
  snprintf(name, size, "%.*s", (int)strcspn(at, " "), at);
  return true;
}

static check_bound check_bound_of(const check_state *state, const check_program *program, int index,
                                  const halo_literal *expected) {
  halo_type type = halo_shape_type(halo_literal_shape(expected));
  char function[64];
  if (check_function(program, index, function, sizeof function)) {
    return (check_bound){.ulps = halo_device_accuracy(state->device, function, type)};
  }
  if (program->differences == CHECK_EQUAL) return (check_bound){0};
  double rtol = compare_default_rtol(type), largest = check_largest(expected);
  double scale = program->differences == CHECK_BY_LARGEST ? largest : 0.1 * fmin(1, largest);
  return (check_bound){.rtol = rtol, .atol = rtol * scale};
}

static int check_mantissa(halo_type type) {
  return type == HALO_F64 ? 52 : type == HALO_F32 ? 23 : type == HALO_F16 ? 10 : 7;
}

/* The distance in units of the expected value's last place; what is expected is rounded itself, so that half a unit is
 * taken off. */
static double check_ulps(halo_type type, double got, double expected) {
  double spacing = ldexp(1, (expected == 0 ? 0 : ilogb(expected)) - check_mantissa(type));
  double distance = fabs(got - expected) / spacing;
  return distance > 0.5 ? distance - 0.5 : 0;
}

/* Changes an element by a quarter more than is allowed. */
static void check_spoil(halo_literal *got, const halo_literal *expected, check_bound bound) {
  halo_type type = halo_shape_type(halo_literal_shape(got));
  int64_t at = halo_shape_element_count(halo_literal_shape(got)) / 2;
  if (strchr("sup", halo_type_name(type)[0])) {
    halo_literal_set_i64(got, at, halo_literal_get_i64(expected, at) ^ 1);
    return;
  }
  double re, im;
  halo_literal_get_c128(expected, at, &re, &im);
  double allowed = bound.atol + bound.rtol * hypot(re, im);
  double step = allowed ? 1.25 * allowed : ldexp(bound.ulps + 1, ilogb(re) - check_mantissa(type));
  halo_literal_set_c128(got, at, re + step, im);
}

/* How far the worst element is beyond the bound, as text to be freed; NULL: none is. */
static char *check_result(const halo_literal *got, const halo_literal *expected,
                          check_bound bound) {
  const halo_shape *shape = halo_literal_shape(expected);
  halo_type type = halo_shape_type(shape);
  if (!halo_shape_compatible(halo_literal_shape(got), shape)) return tool_strdup("another shape");
  compare_stats stats = {0};
  int64_t count = halo_shape_element_count(shape), at = -1;
  double worst = bound.ulps;
  for (int64_t i = 0; i < count && bound.ulps; i++) {
    double a = halo_literal_get_f64(got, i), b = halo_literal_get_f64(expected, i);
    double ulps = a == b || (isnan(a) && isnan(b)) ? 0 : check_ulps(type, a, b);
    if (ulps <= worst) continue; /* not for a NaN */
    worst = ulps;
    at = i;
  }
  if (!bound.ulps) {
    stats = compare_arrays(got, expected, bound.rtol, bound.atol);
    at = stats.different ? stats.worst : -1;
  }
  if (at < 0) return NULL;
  char a[OUTPUT_ELEMENT_SIZE], b[OUTPUT_ELEMENT_SIZE];
  output_element(got, at, a);
  output_element(expected, at, b);
  char *text =
      tool_printf("element %lld of %s is %s, expected %s", (long long)at, tool_shape(shape), a, b);
  if (!bound.ulps) return text;
  char *more = tool_printf("%s: %.3g ULP, %g allowed", text, worst, bound.ulps);
  free(text);
  return more;
}

/* ---- One program ---- */

static bool check_inputs(const halo_module *module, const char *recipes, halo_literal **arguments) {
  int count = halo_module_parameter_count(module);
  for (int i = 0; i < count; i++) {
    char recipe[64];
    recipe_values values;
    snprintf(recipe, sizeof recipe, "%.*s", (int)strcspn(recipes, " "), recipes);
    recipes += strcspn(recipes, " ");
    recipes += strspn(recipes, " ");
    if (!recipe_parse(recipe, &values)) return false;
    if (halo_literal_create(halo_module_parameter_shape(module, i), &arguments[i]) != HALO_OK) {
      return false;
    }
    free(recipe_fill(values, arguments[i], i, 1));
  }
  return !*recipes;
}

/* A message about the first fault, to be freed; NULL: there is none. */
static char *check_results(const check_state *state, const check_program *program,
                           halo_literal *got, const halo_literal *expected) {
  const char *spoil = state->request->spoil;
  bool spoiled = spoil && strcmp(spoil, program->file) == 0;
  int count = halo_shape_tuple_count(halo_literal_shape(expected)), wrong = 0;
  char *first = NULL, function[64];
  for (int i = 0; i < count; i++) {
    halo_literal *one = halo_literal_element(got, i);
    const halo_literal *right = halo_literal_element(expected, i);
    check_bound bound = check_bound_of(state, program, i, right);
    if (spoiled) check_spoil(one, right, bound);
    char *text = check_result(one, right, bound);
    wrong += text != NULL;
    if (first || !text) {
      free(text);
      continue;
    }
    first = check_function(program, i, function, sizeof function)
                ? tool_printf("%s: %s", function, text)
                : tool_printf("result %d: %s", i, text);
    free(text);
  }
  if (wrong < 2) return first;
  char *all = tool_printf("%s; %d results of %d are wrong", first, wrong, count);
  free(first);
  return all;
}

static char *check_run(const check_state *state, const check_program *program,
                       const halo_module *module) {
  int count = halo_module_parameter_count(module);
  halo_literal **arguments = tool_alloc(sizeof *arguments * (size_t)(count + 1));
  halo_literal *got = NULL, *expected = NULL;
  halo_executable *executable = NULL;
  char *text = NULL;
  if (!check_inputs(module, program->inputs, arguments)) {
    text = tool_strdup("its inputs do not fit it");
  } else if (halo_module_evaluate(module, arguments, count, &expected) != HALO_OK ||
             halo_client_compile(state->client, module, NULL, &executable) != HALO_OK ||
             halo_executable_run(executable, arguments, count, &got) != HALO_OK) {
    text = tool_printf("does not run: %s", halo_error_message());
  } else {
    text = check_results(state, program, got, expected);
  }
  halo_executable_release(executable);
  halo_literal_release(got);
  halo_literal_release(expected);
  for (int i = 0; i < count; i++) halo_literal_release(arguments[i]);
  free(arguments);
  return text;
}

/* ---- All of them ---- */

static void check_family(check_state *state, const check_program *program) {
  halo_module *module;
  double start = tool_now();
  printf("  %-44s", program->title);
  fflush(stdout);
  if (strstr(program->text, "f64[") && !state->info.has_f64) {
    puts("left out: the device has no f64");
    state->skipped++;
    return;
  }
  char *text =
      halo_module_parse(program->text, strlen(program->text), program->file, &module) == HALO_OK
          ? check_run(state, program, module)
          : tool_printf("cannot be read: %s", halo_error_message());
  printf("%-6s %8s\n", text ? "WRONG" : "right", tool_seconds(tool_now() - start));
  if (text) printf("      %s\n", text);
  if (text) state->wrong++;
  if (!text) state->right++;
  free(text);
  halo_module_release(module);
}

static int check_verdict(const check_state *state, double seconds) {
  printf("\n%d right, %d wrong", state->right, state->wrong);
  if (state->skipped) printf(", %d left out", state->skipped);
  printf(", in %s\n", tool_seconds(seconds));
  if (state->wrong == 0) return TOOL_OK;
  return tool_error(
      "this device with this driver computes wrong results, or cannot run all programs. Please "
      "report what is\nprinted above with the output of 'halo info -c'. Programs that do not need "
      "what is wrong may run well; HALO_KERNELS\nchooses other kernels (docs/switches.md).");
}

static bool check_knows(const char *name) {
  for (const check_program *p = check_programs; p->file; p++) {
    if (strcmp(p->file, name) == 0) return true;
  }
  return false;
}

static int check_work(const check_request *request) {
  check_state state = {.request = request};
  halo_client_options options = {.device = request->device};
  if (!tool_check(halo_client_create(&options, &state.client))) return TOOL_FAILED;
  state.device = halo_client_device(state.client, 0);
  halo_device_get_info(state.device, &state.info);
  if (strcmp(state.info.kind, "null") == 0) {
    int code = tool_error("%s is a null device, which runs nothing", state.info.name);
    halo_client_release(state.client);
    return code;
  }
  printf("Checking %s (%s, driver %s)\n\n", state.info.name, state.info.platform,
         state.info.driver);
  double start = tool_now();
  for (const check_program *p = check_programs; p->file; p++) {
    if (!request->only || strcmp(request->only, p->file) == 0) check_family(&state, p);
  }
  int code = check_verdict(&state, tool_now() - start);
  halo_client_release(state.client);
  return code;
}

static int check_list(void) {
  for (const check_program *p = check_programs; p->file; p++)
    printf("%-16s %s\n", p->file, p->title);
  return TOOL_OK;
}

int tool_check_device(int argc, char **argv) {
  tool_args args = {
      .command = argv[0], .options = check_options, .argc = argc, .argv = argv, .next = 1};
  check_request request = {0};
  const char *value;
  for (int id; (id = args_next(&args, &value)) != ARGS_END;) {
    switch (id) {
      case CHECK_HELP: check_help(); return TOOL_OK;
      case CHECK_DEVICE: request.device = value; break;
      case CHECK_ONLY: request.only = value; break;
      case CHECK_SPOIL: request.spoil = value; break;
      case ARGS_OPERAND: return args_usage_error(&args, "'%s' is not expected", value);
      default: return TOOL_USAGE;
    }
  }
  if (request.only && strcmp(request.only, "list") == 0) return check_list();
  const char *names[] = {request.only, request.spoil};
  for (int i = 0; i < 2; i++) {
    if (names[i] && !check_knows(names[i])) {
      return args_usage_error(&args, "there is no family '%s'; --only list names them", names[i]);
    }
  }
  return check_work(&request);
}
