/* SPDX-License-Identifier: Apache-2.0 */
/* cases.c: reads the cases of `halo bench`: a heading of lines "//! WORD ...", a module, and sometimes a second one behind "//! identity". */
#include "bench/cases.h"
#include "bench/template.h"
#include "tool.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { CASES_VARIED = 3 };

/* The heading of a case; lines point into `heading`, which is owned. */
typedef struct cases_heading {
  char *heading, *module, *identity; /* owned; `identity` may be NULL */
  const char *name, *size, *work, *traffic, *operations, *limit, *check, *let, *bind, *small,
      *large, *tolerance;
  const char *vary[CASES_VARIED];
  int vary_count;
  bool waited;
} cases_heading;

/* ---- Headings ---- */

static const char *const cases_measures[][2] = {
    {"bytes ", "GB/s"}, {"flops ", "GFLOP/s"}, {"items ", "Mitems/s"}, {"runs ", "runs/s"}};

/* Takes one line behind "//! "; false: it has no meaning. */
static bool cases_take_line(cases_heading *h, const char *line) {
  const struct {
    const char *word;
    const char **to;
  } words[] = {{"case ", &h->name},
               {"size ", &h->size},
               {"work ", &h->work},
               {"traffic ", &h->traffic},
               {"operations ", &h->operations},
               {"limit ", &h->limit},
               {"check ", &h->check},
               {"let ", &h->let},
               {"bind ", &h->bind},
               {"small ", &h->small},
               {"large ", &h->large},
               {"tolerance ", &h->tolerance}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t length = strlen(words[i].word);
    if (strncmp(line, words[i].word, length) != 0) continue;
    *words[i].to = line + length;
    return true;
  }
  if (strcmp(line, "waited") == 0) return h->waited = true;
  if (strncmp(line, "vary ", 5) == 0 && h->vary_count < CASES_VARIED) {
    h->vary[h->vary_count++] = line + 5;
    return true;
  }
  return strncmp(line, "input ", 6) == 0; /* stays with the module */
}

/* From `text`, which begins with "//! case", to the next one. The module keeps the lines of inputs. */
static bool cases_read(const char *text, size_t length, const char *name, cases_heading *h) {
  char *module = NULL, *identity = NULL;
  size_t module_size = 0, identity_size = 0;
  *h = (cases_heading){.heading = tool_printf("%.*s", (int)length, text)};
  FILE *to = open_memstream(&module, &module_size), *second = NULL;
  bool good = to != NULL;
  char *rest = h->heading;
  for (char *line; good && (line = strsep(&rest, "\n")) != NULL;) {
    bool heading = strncmp(line, "//! ", 4) == 0;
    if (heading && strncmp(line + 4, "identity", 8) == 0) {
      second = open_memstream(&identity, &identity_size);
      continue;
    }
    if (heading && !cases_take_line(h, line + 4)) {
      tool_error("%s: '%s' has no meaning", name, line);
      good = false;
    }
    if (!heading || strncmp(line + 4, "input ", 6) == 0)
      fprintf(second ? second : to, "%s\n", line);
  }
  if (to != NULL) fclose(to);
  if (second != NULL) fclose(second);
  h->module = module;
  h->identity = identity;
  if (good && (h->name == NULL || h->work == NULL)) {
    tool_error("%s: a case needs a name and its work", name);
    good = false;
  }
  return good;
}

static void cases_release_heading(cases_heading *h) {
  free(h->heading);
  free(h->module);
  free(h->identity);
}

/* ---- Cases ---- */

static void cases_release_one(bench_case *c) {
  free(c->name);
  free(c->size);
  free(c->text);
  free(c->block);
  free(c->identity);
  free(c->limit);
}

static bool cases_measure(const cases_heading *h, const template_bindings *bindings,
                          bench_case *c) {
  for (size_t i = 0; i < sizeof cases_measures / sizeof *cases_measures; i++) {
    size_t length = strlen(cases_measures[i][0]);
    if (strncmp(h->work, cases_measures[i][0], length) != 0) continue;
    strcpy(c->unit, cases_measures[i][1]);
    if (!template_evaluate(bindings, h->work + length, &c->work)) return false;
    if (strcmp(c->unit, "GB/s") == 0) c->bytes = c->work;
    if (strcmp(c->unit, "GFLOP/s") == 0) c->flops = c->work;
    return (h->traffic == NULL || template_evaluate(bindings, h->traffic, &c->bytes)) &&
           (h->operations == NULL || template_evaluate(bindings, h->operations, &c->flops));
  }
  return false;
}

/* One case, with its parameters bound. */
static bool cases_make(const cases_heading *h, template_bindings bindings, bench_case *c) {
  double number;
  char text[32];
  *c = (bench_case){.waited = h->waited};
  if (h->bind != NULL) { /* NAME=EXPRESSION */
    const char *equals = strchr(h->bind, '=');
    snprintf(text, sizeof text, "%.*s", equals ? (int)(equals - h->bind) : 0, h->bind);
    char value[32];
    if (equals == NULL || !template_evaluate(&bindings, equals + 1, &number)) return false;
    snprintf(value, sizeof value, "%.0f", number);
    if (!template_bind(&bindings, text, value)) return false;
  }
  c->name = template_expand(&bindings, h->name);
  c->size = template_expand(&bindings, h->size ? h->size : "");
  c->text = template_expand(&bindings, h->module);
  if (h->limit != NULL) c->limit = template_expand(&bindings, h->limit);
  if (h->tolerance != NULL) c->tolerance = strtod(h->tolerance, NULL);
  bool good = c->name && c->size && c->text && cases_measure(h, &bindings, c);
  if (h->identity != NULL) {
    c->identity = template_expand(&bindings, h->identity);
    good = good && c->identity;
  }
  if (h->check != NULL && strncmp(h->check, "block ", 6) == 0) {
    good = good && template_bind_all(&bindings, h->check + 6);
    c->block = template_expand(&bindings, h->module);
    good = good && c->block;
  }
  return good;
}

static void cases_append(bench_cases *cases, bench_case c) {
  size_t size = sizeof *cases->data * (size_t)(cases->count + 1);
  cases->data = tool_realloc(cases->data, size);
  cases->data[cases->count++] = c;
}

/* All values of what varies from `varied` on. */
static bool cases_vary(const cases_heading *h, int varied, const template_bindings *bindings,
                       bench_cases *cases) {
  if (varied == h->vary_count) {
    const char *from = template_value(bindings, "T"), *to = template_value(bindings, "U");
    if (from != NULL && to != NULL && strcmp(from, to) == 0) return true; /* no conversion */
    bench_case c;
    bool good = cases_make(h, *bindings, &c);
    if (good) {
      cases_append(cases, c);
    } else {
      cases_release_one(&c);
    }
    return good;
  }
  char name[16], values[512];
  bool good = sscanf(h->vary[varied], "%15[A-Z]=%511s", name, values) == 2;
  char *rest = values;
  for (char *value; good && (value = strsep(&rest, ",")) != NULL;) {
    template_bindings more = *bindings;
    good = template_bind(&more, name, value) && cases_vary(h, varied + 1, &more, cases);
  }
  return good;
}

static bool cases_add(const cases_heading *h, bench_sizes sizes, const char *name,
                      bench_cases *cases) {
  template_bindings bindings = {0};
  const char *other = sizes == BENCH_SMALL ? h->small : sizes == BENCH_LARGE ? h->large : NULL;
  bool good = (h->let == NULL || template_bind_all(&bindings, h->let)) &&
              (other == NULL || template_bind_all(&bindings, other)) &&
              cases_vary(h, 0, &bindings, cases);
  if (!good) tool_error("%s: the parameters of '%s' make no sense", name, h->name);
  return good;
}

bool bench_cases_parse(const char *text, const char *name, bench_sizes sizes, bench_cases *cases) {
  static const char begin[] = "//! case ";
  const char *at = strstr(text, begin);
  bool good = at != NULL;
  if (!good) tool_error("%s has no line '//! case NAME'", name);
  while (good && at != NULL) {
    const char *next = strstr(at + 1, begin);
    cases_heading heading;
    good = cases_read(at, next ? (size_t)(next - at) : strlen(at), name, &heading) &&
           cases_add(&heading, sizes, name, cases);
    cases_release_heading(&heading);
    at = next;
  }
  return good;
}

bool bench_cases_add_program(const char *name, const char *path, bench_cases *cases) {
  char *bytes;
  size_t size;
  const char *shown;
  if (!tool_read_bytes(path, &bytes, &size, &shown)) return false;
  bench_case c = {.name = tool_strdup(name),
                  .size = tool_strdup(""),
                  .text = tool_printf("%.*s", (int)size, bytes),
                  .unit = "runs/s",
                  .work = 1,
                  .tolerance = 1e-3,
                  .smallest = 0.01,
                  .waited = true};
  free(bytes);
  cases_append(cases, c);
  return true;
}

static int cases_is_module(const struct dirent *entry) {
  return tool_ends_with(entry->d_name, ".hlo");
}

bool bench_cases_add_folder(const char *folder, bool (*wants)(const char *name, void *user),
                            void *user, bench_cases *cases) {
  struct dirent **entries;
  int found = scandir(folder, &entries, cases_is_module, alphasort);
  bool good = true;
  if (found < 0) return tool_error("cannot read the folder %s", folder), false;
  for (int i = 0; i < found; i++) {
    const char *file = entries[i]->d_name;
    char *name = tool_printf("program.%.*s", (int)strlen(file) - 4, file);
    char *path = tool_printf("%s/%s", folder, file);
    if (good && (wants == NULL || wants(name, user))) {
      good = bench_cases_add_program(name, path, cases);
    }
    free(name);
    free(path);
    free(entries[i]);
  }
  free(entries);
  return good;
}

const bench_case *bench_cases_find(const bench_cases *cases, const char *name) {
  for (int i = 0; i < cases->count; i++) {
    if (strcmp(cases->data[i].name, name) == 0) return &cases->data[i];
  }
  return NULL;
}

void bench_cases_release(bench_cases *cases) {
  for (int i = 0; i < cases->count; i++) cases_release_one(&cases->data[i]);
  free(cases->data);
  *cases = (bench_cases){0};
}
