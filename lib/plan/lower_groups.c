/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lower_groups.c: on CPUs, what a group of short work items does becomes a function of its own, with the loop over
 * them in it, and the group one work item that calls it.
 *
 * PoCL makes a loop over a group's work items of a kernel by itself, but keeps three copies of that: the kernel's own, and one
 * in each of two functions that call it. All are made vectors of and compiled. A function that they call is there once. */
#include "base/memory.h"
#include "opencl/pocl.h"
#include "plan/lowering.h"

#include <string.h>

/* A kernel of a unit, and the groups that steps launch it with. */
typedef struct group_kernel {
  int32_t unit;
  const char *name;
  size_t local[2];
  bool is_short; /* its work items are any group's, and one such */
  bool parallel; /* they write over what they read themselves */
  int32_t made;  /* the unit in its place + 1; 0: not known yet; -1: it stays */
  int32_t next;  /* of its unit, or -1 */
} group_kernel;

typedef struct group_state {
  lower_state *s;
  HALO_VEC(group_kernel) kernels;
  int32_t *of_unit; /* the first of its kernels + 1 */
} group_state;

/* The kernels of a unit, as `k`. */
#define GROUP_EACH(g, unit, k)                                                                     \
  for (group_kernel *k = group_at(g, (g)->of_unit[unit] - 1); k; k = group_at(g, k->next))

static group_kernel *group_at(const group_state *g, int32_t number) {
  return number < 0 ? NULL : &g->kernels.data[number];
}

static bool group_is_short(const halo_step *step) {
  return step->any_local && step->dims <= 2 && step->global[0] <= INT32_MAX &&
         (step->dims < 2 || step->global[1] <= INT32_MAX);
}

static size_t group_rows(const halo_step *step) { return step->dims > 1 ? step->local[1] : 1; }

static group_kernel *group_find(const group_state *g, const halo_step *step) {
  GROUP_EACH(g, step->unit, k) {
    if (k->local[0] == step->local[0] && k->local[1] == group_rows(step) &&
        k->is_short == group_is_short(step) && strcmp(k->name, step->kernel) == 0) {
      return k;
    }
  }
  return NULL;
}

static void group_note(group_state *g, const halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    for (int32_t l = 0; l < step->list_count; l++) group_note(g, &step->lists[l]);
    if (step->kind != HALO_STEP_KERNEL || group_find(g, step)) continue;
    group_kernel kernel = {.unit = step->unit,
                           .name = step->kernel,
                           .local = {step->local[0], group_rows(step)},
                           .is_short = group_is_short(step),
                           .parallel = step->in_place != 0,
                           .next = g->of_unit[step->unit] - 1};
    halo_vec_push(&g->kernels, kernel);
    g->of_unit[step->unit] = g->kernels.count;
  }
}

/* ---- Text ---- */

/* A kernel as it stands in a text. */
typedef struct group_place {
  const char *before;      /* where the one before it ends */
  const char *start, *end; /* from "__kernel" to behind its block */
  const char *body;        /* its block */
  bool is_template;        /* its name and parameters are macros */
  halo_strbuf name, parameters;
} group_place;

static void group_release_place(group_place *place) {
  halo_strbuf_deinit(&place->name);
  halo_strbuf_deinit(&place->parameters);
}

/* The end of the block that opens at `at`. */
static const char *group_block_end(const char *at) {
  int depth = 0;
  for (; *at; at++) {
    depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
    if (depth == 0) return at + 1;
  }
  return at;
}

/* What stands from `from` to `end`, or what the last definition of it says. */
static void group_resolve(halo_strbuf *out, const char *text, const char *from, const char *end) {
  halo_strbuf define = {0};
  const char *found = NULL;
  halo_strbuf_printf(&define, "#define %.*s ", (int)(end - from), from);
  for (const char *at = text; (at = strstr(at, halo_strbuf_text(&define))) && at < from; at++) {
    found = at + define.length;
  }
  halo_strbuf_deinit(&define);
  if (found) {
    halo_strbuf_append_n(out, found, strcspn(found, "\n"));
  } else {
    halo_strbuf_append_n(out, from, (size_t)(end - from));
  }
}

/* The next kernel behind `before`, to be released; false where there is none. */
static bool group_next(group_place *place, const char *text, const char *before) {
  static const char start[] = "__kernel void ";
  *place = (group_place){.before = before, .start = strstr(before, start)};
  if (!place->start) return false;
  const char *name = place->start + strlen(start), *open = name + strcspn(name, "(");
  const char *close = open + strcspn(open, ")");
  place->body = close + strcspn(close, "{");
  place->end = group_block_end(place->body);
  place->is_template = strncmp(name, "H_", 2) == 0;
  group_resolve(&place->name, text, name, open);
  if (open < close) group_resolve(&place->parameters, text, open + 1, close);
  return true;
}

/* The names of parameters, each behind a comma. */
static void group_put_names(halo_strbuf *out, const char *parameters) {
  for (const char *from = parameters; *from;) {
    const char *end = from + strcspn(from, ","), *name = end;
    while (name > from && name[-1] != ' ' && name[-1] != '*') name--;
    halo_strbuf_append(out, ", ");
    halo_strbuf_append_n(out, name, (size_t)(end - name));
    from = *end ? end + 1 : end;
  }
}

/* Whether an array of the work item's own is declared in a block. All items of a group have one place in memory for it, so
 * that compilers which believe that they do not depend on each other mix up what they keep there. */
static bool group_has_array(const group_place *place) {
  for (const char *line = place->body; line < place->end;) {
    size_t length = strcspn(line, "\n");
    bool ends = length >= 2 && strncmp(line + length - 2, "];", 2) == 0;
    if (ends && !memchr(line, '=', length)) return true;
    line += length + (line[length] == '\n');
  }
  return false;
}

/* The function of a group, and the kernel. The work item's code stands in the loop itself: what is said of a call in
 * one is lost where compilers change the called function's parameters. The group may use all of a processor's
 * registers, as kernels may. */
static void group_put(halo_strbuf *out, const group_kernel *kernel, const group_place *place) {
  const char *name = halo_strbuf_text(&place->name);
  const char *parameters = halo_strbuf_text(&place->parameters);
  halo_strbuf names = {0};
  group_put_names(&names, parameters);
  halo_strbuf_printf(out,
                     "static " HALO_KERNEL_APART
                     "void %s_group("
                     "const int h_i, const int h_j, %s) {\n",
                     name, parameters);
  halo_strbuf_printf(out, "for (int h_b = 0; h_b < %zu; ++h_b) {\n", kernel->local[1]);
  if (kernel->parallel && !group_has_array(place)) {
    halo_strbuf_append(out, "#pragma clang loop vectorize(assume_safety)\n");
  }
  halo_strbuf_printf(out,
                     "for (int h_a = 0; h_a < %zu; ++h_a) {\n"
                     "  const size_t h_x = h_i + h_a, h_y = h_j + h_b;",
                     kernel->local[0]);
  lower_places(out, place->body + 1, place->end);
  halo_strbuf_printf(out,
                     "\n}\n}\n__kernel void %s(%s) { %s_group((int)get_global_id(0) * %zu, "
                     "(int)get_global_id(1) * %zu%s); }",
                     name, parameters, name, kernel->local[0], kernel->local[1],
                     halo_strbuf_text(&names));
  halo_strbuf_deinit(&names);
}

/* Whether a work item asks for nothing but its place, and for that itself; and, of rows, does the same in all of them:
 * what depends on the row is decided outside of a loop that is PoCL's own, and not in time within one of a function. */
static bool group_is_plain(const group_place *place) {
  static const char *const others[] = {"get_local_", "get_group_", "get_global_size", "barrier(",
                                       "__local ",   "_item(",     "return"};
  halo_strbuf text = {0};
  const char *from = place->is_template ? place->before : place->body;
  halo_strbuf_append_n(&text, from, (size_t)(place->end - from));
  const char *all = halo_strbuf_text(&text);
  bool plain = strstr(all, "get_global_id(0)") != NULL;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    plain = plain && !strstr(all, others[i]);
  }
  if (strstr(all, "get_global_id(1)")) plain = plain && !strstr(all, "if (") && !strchr(all, '?');
  halo_strbuf_deinit(&text);
  return plain;
}

/* What a kernel of this name in a unit is, `only` if it is not NULL. */
static const group_kernel *group_of_name(const group_state *g, int32_t unit, const char *name,
                                         const group_kernel *only) {
  GROUP_EACH(g, unit, k) {
    if (strcmp(k->name, name) == 0 && (!only || only == k)) return k;
  }
  return NULL;
}

/* The text of a unit with its short kernels as such functions. False where that cannot be said of all of them. */
static bool group_text(const group_state *g, int32_t unit, const group_kernel *only,
                       halo_strbuf *out) {
  const char *text = g->s->plan->units.data[unit].text, *at = text;
  bool good = true;
  group_place place;
  while (good && group_next(&place, text, at)) {
    const group_kernel *kernel = group_of_name(g, unit, halo_strbuf_text(&place.name), only);
    if (kernel && kernel->is_short) {
      good = group_is_plain(&place);
      if (place.is_template) {
        lower_places(out, at, place.start);
      } else {
        halo_strbuf_append_n(out, at, (size_t)(place.start - at));
      }
      group_put(out, kernel, &place);
    } else {
      halo_strbuf_append_n(out, at, (size_t)(place.end - at));
    }
    at = place.end;
    group_release_place(&place);
  }
  halo_strbuf_append(out, at);
  return good;
}

/* ---- Units ---- */

/* Whether steps launch a kernel of a unit in different ways. */
static bool group_differs(const group_state *g, const group_kernel *kernel) {
  GROUP_EACH(g, kernel->unit, k) {
    if (k != kernel && strcmp(k->name, kernel->name) == 0) return true;
  }
  return false;
}

static bool group_is_only_one(const group_state *g, int32_t unit) {
  const char *text = g->s->plan->units.data[unit].text, *first = strstr(text, "__kernel ");
  return first && !strstr(first + 1, "__kernel ");
}

/* Decides about a kernel, and the others of its unit. */
static void group_make(group_state *g, group_kernel *kernel) {
  bool any = false, differ = false;
  GROUP_EACH(g, kernel->unit, k) {
    any |= k->is_short;
    differ |= group_differs(g, k);
  }
  bool alone = group_is_only_one(g, kernel->unit);
  halo_strbuf text = {0};
  int32_t made = -1;
  bool wanted = differ ? alone && kernel->is_short : any;
  if (wanted && group_text(g, kernel->unit, differ ? kernel : NULL, &text)) {
    made = lower_unit(g->s, &text, g->s->plan->units.data[kernel->unit].sections) + 1;
  }
  halo_strbuf_deinit(&text);
  GROUP_EACH(g, kernel->unit, k) {
    if (k == kernel || !differ) k->made = made;
  }
}

static void group_change(group_state *g, halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    halo_step *step = &steps->data[i];
    for (int32_t l = 0; l < step->list_count; l++) group_change(g, &step->lists[l]);
    if (step->kind != HALO_STEP_KERNEL) continue;
    group_kernel *kernel = group_find(g, step);
    if (kernel->made == 0) group_make(g, kernel);
    if (kernel->made < 0) continue;
    step->unit = kernel->made - 1;
    if (!kernel->is_short) continue;
    for (uint32_t d = 0; d < step->dims; d++) {
      step->global[d] /= step->local[d];
      step->local[d] = 1;
    }
    step->items = 0;
    step->any_local = false;
  }
}

void lower_groups(lower_state *s) {
  if (!s->caps->is_cpu || !halo_pocl_is(s->caps)) return;
  group_state g = {.s = s};
  g.of_unit = halo_alloc(sizeof *g.of_unit * ((size_t)s->plan->units.count + 1));
  group_note(&g, &s->plan->steps);
  group_change(&g, &s->plan->steps);
  halo_vec_deinit(&g.kernels);
  halo_free(g.of_unit);
}
