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

/* ---- Units ---- */

/* Whether steps launch a kernel of a unit in different ways. */
static bool group_differs(const group_state *g, const group_kernel *kernel) {
  GROUP_EACH(g, kernel->unit, k) {
    if (k != kernel && strcmp(k->name, kernel->name) == 0) return true;
  }
  return false;
}

/* What a kernel of this name in a unit is, `only` if it is not NULL. */
static const group_kernel *group_of_name(const group_state *g, int32_t unit, const char *name,
                                         const group_kernel *only) {
  GROUP_EACH(g, unit, k) {
    if (strcmp(k->name, name) == 0 && (!only || only == k)) return k;
  }
  return NULL;
}

/* The unit with loops in the place of its short kernels, or -1 where not all of them can be such. */
static int32_t group_make_unit(const group_state *g, int32_t number, const group_kernel *only) {
  lower_state *s = g->s;
  halo_plan_unit unit = s->plan->units.data[number];
  const halo_kernel **kernels = halo_arena_array(&s->texts, const halo_kernel *, unit.kernel_count);
  for (int32_t i = 0; i < unit.kernel_count; i++) {
    const halo_kernel *kernel = kernels[i] = unit.kernels[i];
    const group_kernel *use = group_of_name(g, number, kernel->name, only);
    if (!use || !use->is_short) continue;
    if (!halo_kernel_can_loop(kernel)) return -1;
    kernels[i] = halo_kernel_loop(&s->texts, kernel, use->local, use->parallel);
  }
  return lower_unit(s, kernels, unit.kernel_count, unit.sections);
}

/* Decides about a kernel, and the others of its unit. */
static void group_make(group_state *g, group_kernel *kernel) {
  bool any = false, differ = false;
  GROUP_EACH(g, kernel->unit, k) {
    any |= k->is_short;
    differ |= group_differs(g, k);
  }
  int32_t made = -1;
  bool one = g->s->plan->units.data[kernel->unit].kernel_count == 1;
  bool wanted = differ ? one && kernel->is_short : any;
  if (wanted) {
    made = group_make_unit(g, kernel->unit, differ ? kernel : NULL);
    if (made >= 0) made++;
  }
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
