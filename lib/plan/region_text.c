/* SPDX-License-Identifier: Apache-2.0 */
/* plan/region_text.c: the kernel of a region. The kernels of its steps become functions, which one work group
 * calls for each of their work items, step by step.
 *
 * A region that may take long counts what it has done by estimate. When that is enough, it leaves at the head
 * of a loop's round, with the loop's number and the rounds of all loops around it written down; when it goes
 * on, all that comes before that place is skipped. Where it leaves changes no result. */
#include "plan/region_text.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Steps from which on those outside of loops are functions of their own; and long ones from which on these are, wherever
 * they stand: compilers hold each loop of a function against all that has to be true before it, which takes the square of
 * the function's length. */
enum { REGION_APART = 16, REGION_LONG = 4000 /* characters of text */, REGION_MANY_LONG = 3 };
/* Items of a step from which on it is such a function, too. Of a function that is put in place in a loop LLVM from 17 on takes `restrict` to
 * hold for one round; of the parameters of a function around the loop it holds for all. */
enum { REGION_APART_ITEMS = 256 };

/* A buffer that the text calls b0, b1, ...: an argument, or a part of one. */
typedef struct region_place {
  int32_t arg;    /* number of the argument */
  int64_t offset; /* in it; -1: it is the argument */
} region_place;

typedef struct region_text {
  const region_state *e;
  const region_run *run;
  halo_strbuf functions, body;
  halo_sections sections;
  halo_kernel_facts facts;
  HALO_VEC(int32_t) units;
  HALO_VEC(int32_t) named;       /* buffers that have numbers */
  HALO_VEC(region_place) places; /* by the numbers of arg_of_buffer */
  HALO_VEC(halo_plan_arg) args;
  HALO_VEC(const char *) names; /* of the arguments */
  int32_t own, constants;       /* arguments with what is packed, + 1; 0: not yet */
  HALO_VEC(char *) shared;      /* what functions that several steps call do */
  int indent, depth;            /* of lines, of loops */
  int function_count;           /* steps that are functions so far */
  int32_t long_steps;           /* of all */
  int32_t loop, loops;          /* the last one that was written, all of the region */
  int32_t branches;             /* that were written */
  int32_t hosted;               /* those that were left to the host */
  bool many;                    /* some step has neighbours enough for vectors */
  halo_strbuf guard; /* what has to hold for steps to be done here, within the loop at hand */
} region_text;

/* ---- Functions ---- */

/* What stands for '@' in a unit's text among the functions. */
static void region_number_text(const region_text *t, int32_t unit, char out[32]) {
  snprintf(out, 32, "@n%d", t->e->number_of_unit[unit] - 1);
}

static void region_add_unit(region_text *t, int32_t unit) {
  if (t->e->number_of_unit[unit]) return;
  halo_vec_push(&t->units, unit);
  t->e->number_of_unit[unit] = t->units.count;
  halo_sections_join(&t->sections, &t->e->s->plan->units.data[unit].sections);
  char number[32];
  region_number_text(t, unit, number);
  lower_unit_functions(&t->functions, &t->e->s->plan->units.data[unit], number, t->e->group == 1,
                       &t->facts);
}

/* The work item's number in its group. One that is alone does not ask: some
 * implementations compile a kernel that asks several times over. */
static const char *region_item(const region_text *t) {
  return t->e->group > 1 ? HALO_LOCAL_ID_0 : "0";
}

static int32_t region_add_arg(region_text *t, int32_t buffer, bool written, const char *name) {
  halo_vec_push(&t->args, (halo_plan_arg){buffer, 1, written});
  halo_vec_push(&t->names, name);
  return t->args.count;
}

static region_place region_find_place(region_text *t, int32_t buffer) {
  const region_run *run = t->run;
  const halo_plan_buffer *b = &t->e->s->plan->buffers.data[buffer];
  bool constant = b->place == HALO_PLACE_CONSTANT && run->constants >= 0;
  if (t->e->is_own[buffer]) {
    if (!t->own) t->own = region_add_arg(t, run->own, true, "own");
    return (region_place){t->own - 1, b->offset};
  }
  if (constant) {
    if (!t->constants) t->constants = region_add_arg(t, run->constants, false, "constants");
    return (region_place){t->constants - 1, b->offset};
  }
  const char *name = halo_arena_printf(&t->e->s->texts, "b%d", t->places.count);
  return (region_place){region_add_arg(t, buffer, false, name) - 1, -1};
}

/* The number of a buffer in the text. */
static int32_t region_arg(region_text *t, int32_t buffer, bool written) {
  int32_t *number = &t->e->arg_of_buffer[buffer];
  if (!*number) {
    region_place place = region_find_place(t, buffer);
    halo_vec_push(&t->places, place);
    halo_vec_push(&t->named, buffer);
    *number = t->places.count;
  }
  t->args.data[t->places.data[*number - 1].arg].written |= written;
  return *number - 1;
}

/* ---- Lines ---- */

static void region_line(region_text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void region_open(region_text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void region_put(region_text *t, const char *format, va_list args, const char *end) {
  halo_strbuf_printf(&t->body, "%*s", 2 * t->indent + 2, "");
  halo_strbuf_vprintf(&t->body, format, args);
  halo_strbuf_append(&t->body, end);
}

static void region_line(region_text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  region_put(t, format, args, "\n");
  va_end(args);
}

static void region_open(region_text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  region_put(t, format, args, " {\n");
  va_end(args);
  t->indent++;
}

static void region_close(region_text *t) {
  t->indent--;
  region_line(t, "}");
}

/* A work item alone waits for nobody. */
static void region_barrier(region_text *t) {
  if (t->e->group > 1) region_line(t, HALO_BARRIER "CLK_GLOBAL_MEM_FENCE);");
}

/* Conditions are asked by each step, and not around several: compilers for CPUs multiply what comes behind a
 * barrier that stands within a branch. Gives what to go back to. */
static size_t region_push_guard(region_text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static size_t region_push_guard(region_text *t, const char *format, ...) {
  size_t before = t->guard.length;
  if (before) halo_strbuf_append(&t->guard, " && ");
  va_list args;
  va_start(args, format);
  halo_strbuf_vprintf(&t->guard, format, args);
  va_end(args);
  return before;
}

static void region_pop_guard(region_text *t, size_t before) {
  t->guard.length = before;
  if (t->guard.data) t->guard.data[before] = '\0';
}

/* The start of a statement. */
static void region_start(region_text *t) {
  halo_strbuf_printf(&t->body, "%*s", 2 * t->indent + 2, "");
  if (t->guard.length) halo_strbuf_printf(&t->body, "if (%s) ", halo_strbuf_text(&t->guard));
}

/* Whether the step writes the buffer, and none of its others shares memory with it. Buffers that one step uses are apart,
 * except that a result may take over an argument: only a temporary is certain. */
static bool region_is_own(const region_text *t, const halo_step *step, int32_t buffer) {
  bool written = false;
  for (int32_t a = 0; a < step->arg_count; a++) {
    written |= step->args[a].buffer == buffer && step->args[a].written;
  }
  return written &&
         (t->e->is_own[buffer] || t->e->s->plan->buffers.data[buffer].place == HALO_PLACE_TEMP);
}

/* A call of a function of its own for the step. Compilers put all of a kernel into one function else, and take more
 * than twice as long for one that is twice as long. Buffers that the step writes are `restrict`: vectors need tests for overlaps
 * otherwise, and LLVM 21 makes no vectors of a few items then. */
static void region_add_function(region_text *t, const halo_step *step, const char *loop) {
  halo_strbuf *functions = &t->functions;
  halo_strbuf_printf(functions, "static __attribute__((noinline)) void u@_a%d(", t->function_count);
  halo_strbuf_printf(&t->body, "u@_a%d(", t->function_count++);
  for (int32_t a = 0, count = 0; a < step->arg_count; a++) {
    int32_t before = 0;
    while (before < a && step->args[before].buffer != step->args[a].buffer) before++;
    if (before < a) continue;
    const char *comma = count++ ? ", " : "";
    int32_t number = region_arg(t, step->args[a].buffer, false);
    const char *own = region_is_own(t, step, step->args[a].buffer) ? "restrict " : "";
    halo_strbuf_printf(functions, "%s__global void *%sb%d", comma, own, number);
    halo_strbuf_printf(&t->body, "%sb%d", comma, number);
  }
  halo_strbuf_printf(functions, ") {\n  %s}\n", loop);
  halo_strbuf_append(&t->body, ");\n");
}

/* Steps of the region, or of what they hold, that call a unit's functions. */
static int32_t region_count_calls(const halo_step *steps, int32_t count, int32_t unit) {
  int32_t calls = 0;
  for (int32_t i = 0; i < count; i++) {
    calls += steps[i].kind == HALO_STEP_KERNEL && steps[i].unit == unit;
    for (int32_t l = 0; l < steps[i].list_count; l++) {
      calls += region_count_calls(steps[i].lists[l].data, steps[i].lists[l].count, unit);
    }
  }
  return calls;
}

/* The call of a function that steps of one unit share, all work items of a step in it. A function that is called
 * from several places is not put in place by compilers, and a loop that calls one for each work item is not made
 * vectors of: so the loop is within it. */
static void region_call_function(region_text *t, const halo_step *step, const char *loop) {
  int32_t number = 0;
  while (number < t->shared.count && strcmp(t->shared.data[number], loop) != 0) number++;
  if (number == t->shared.count) {
    halo_vec_push(&t->shared, halo_strdup(loop));
    halo_strbuf_printf(&t->functions, "static __attribute__((noinline)) void u@_s%d(", number);
    for (int32_t a = 0; a < step->arg_count; a++) {
      halo_strbuf_printf(&t->functions, "%s__global void *p%d", a ? ", " : "", a);
    }
    halo_strbuf_printf(&t->functions, ") {\n  %s}\n", loop);
  }
  halo_strbuf_printf(&t->body, "u@_s%d(", number);
  for (int32_t a = 0; a < step->arg_count; a++) {
    const halo_plan_arg *arg = &step->args[a];
    halo_strbuf_printf(&t->body, "%sb%d", a ? ", " : "", region_arg(t, arg->buffer, arg->written));
  }
  halo_strbuf_append(&t->body, ");\n");
}

/* Appends `name`, the counter of a loop of `count` rounds over the step's items, with the hidden 0 (h_zero of scalar.cl).
 * `own`: as for region_put_items. */
static void region_put_place(region_text *t, const halo_step *step, bool own, size_t count,
                             const char *name, halo_strbuf *out) {
  int32_t place = own ? 0 : region_arg(t, step->args[0].buffer, step->args[0].written);
  if (count > 1 && lower_is_narrow(step)) {
    halo_strbuf_printf(out, "%s + h_zero(%c%d)", name, own ? 'p' : 'b', place);
  } else {
    halo_strbuf_append(out, name);
  }
}

/* Lanes of the vectors that leave the fewest rounds of a loop over `items`: those of the widest vectors leave half of a row of 40
 * to a loop without vectors, and LLVM before 17 does not look ahead. */
static size_t region_lanes(const halo_step *step, size_t items, size_t *usual) {
  enum { VECTOR_BYTES = 64, FEWEST = 4 };
  size_t widest = 1, best = 0;
  for (int32_t a = 0; a < step->arg_count; a++) {
    size_t size = (size_t)step->args[a].element_size;
    if (widest < size) widest = size;
  }
  for (size_t lanes = VECTOR_BYTES / widest; lanes >= FEWEST; lanes /= 2) {
    if (lanes > items) continue;
    if (!best) best = *usual = lanes;
    if (items / lanes + items % lanes < items / best + items % best) best = lanes;
  }
  return best;
}

/* Whether the step reads elements of few bytes that do not lie side by side, as a column is read: of an array that has many more of them than
 * there are items. */
static bool region_reads_spread(const region_text *t, const halo_step *step, size_t items) {
  enum { SHORT = 2, TIMES = 16 };
  bool spread = false;
  for (int32_t a = 0; a < step->arg_count; a++) {
    const halo_plan_arg *arg = &step->args[a];
    size_t bytes = (size_t)t->e->s->plan->buffers.data[arg->buffer].size;
    size_t element = (size_t)arg->element_size;
    spread |= !arg->written && element <= SHORT && bytes / TIMES > items * element;
  }
  return spread;
}

/* What the compiler is told of a loop over items without loops of their own: for how many of them vectors are best, and that
 * the items do not depend on one another. Of few items LLVM makes vectors with idle lanes, and no tests for overlaps, which it needs where a step writes over
 * what it read. Vectors of 16 elements that are collected from short ones one by one take 1.2 times as long as twice 8. */
static void region_put_hint(region_text *t, const halo_step *step, size_t items, halo_strbuf *out) {
  enum { FEW = 16, SPREAD_LANES = 8 };
  if (t->e->group > 1 || lower_has_loops(t->e->s, step)) return;
  size_t usual = 0, lanes = region_lanes(step, items, &usual);
  if (lanes > SPREAD_LANES && region_reads_spread(t, step, items)) lanes = SPREAD_LANES;
  bool helps = lanes && (lanes != usual || items < FEW);
  if (!helps) return;
  halo_sections_add(&t->sections, "neighbours");
  halo_strbuf_printf(out, "H_SIDE_BY_SIDE(%zu) ", lanes);
}

/* A call's arguments behind the first ones, and its end. */
static void region_put_args(region_text *t, const halo_step *step, bool own, halo_strbuf *out) {
  for (int32_t a = 0; a < step->arg_count; a++) {
    const halo_plan_arg *arg = &step->args[a];
    int32_t place = own ? a : region_arg(t, arg->buffer, arg->written);
    halo_strbuf_printf(out, ", %c%d, 0", own ? 'p' : 'b', place);
  }
  for (int32_t v = 0; v < step->value_count; v++) {
    halo_strbuf_printf(out, ", %lldL", (long long)step->values[v].number);
  }
  halo_strbuf_append(out, ");");
}

/* All work items of a step, shared out among those of the group; its arguments by their numbers in the region's
 * kernel, or in a function of the step. */
static void region_put_items(region_text *t, const halo_step *step, bool own, halo_strbuf *out) {
  char number[32];
  bool rows = step->grid.dims > 1;
  size_t items = halo_grid_width(&step->grid);
  if (rows) halo_strbuf_printf(out, "for (size_t y = 0; y < %zu; ++y) ", step->grid.global[1]);
  region_put_hint(t, step, items, out);
  halo_strbuf_printf(out, "for (size_t x = %s; x < %zu; x += %zu) ", region_item(t), items,
                     t->e->group);
  region_number_text(t, step->unit, number);
  lower_unit_name(out, step->kernel, number);
  halo_strbuf_char(out, '(');
  region_put_place(t, step, own, items, "x", out);
  halo_strbuf_append(out, ", ");
  region_put_place(t, step, own, halo_grid_height(&step->grid), rows ? "y" : "0", out);
  region_put_args(t, step, own, out);
  halo_strbuf_char(out, '\n');
}

/* All groups of a step whose work items share memory, one after the other. They are as large as the region's, and each is done by all
 * of it; local memory is free for the next one when all are done. */
static void region_put_groups(region_text *t, const halo_step *step, halo_strbuf *out) {
  char number[32];
  region_number_text(t, step->unit, number);
  halo_strbuf_printf(out, "for (size_t g = 0; g < %zu; ++g) { ",
                     step->grid.global[0] / t->e->group);
  lower_unit_name(out, step->kernel, number);
  halo_strbuf_printf(out, "(g * %zu + %s, g, h_local", t->e->group, region_item(t));
  region_put_args(t, step, false, out);
  halo_strbuf_append(out, " " HALO_BARRIER "CLK_LOCAL_MEM_FENCE); }\n");
}

static bool region_is_long(const region_text *t, const halo_step *step) {
  return step->kind == HALO_STEP_KERNEL &&
         halo_plan_unit_bytes(&t->e->s->plan->units.data[step->unit]) >= REGION_LONG;
}

static int32_t region_count_long(const region_text *t, const halo_step *steps, int32_t count) {
  int32_t found = 0;
  for (int32_t i = 0; i < count; i++) {
    found += region_is_long(t, &steps[i]);
    for (int32_t l = 0; l < steps[i].list_count; l++) {
      found += region_count_long(t, steps[i].lists[l].data, steps[i].lists[l].count);
    }
  }
  return found;
}

static bool region_is_function(const region_text *t, const halo_step *step) {
  bool many = t->depth == 0 && t->run->count >= REGION_APART;
  many |= halo_grid_width(&step->grid) >= REGION_APART_ITEMS;
  return many || (t->long_steps >= REGION_MANY_LONG && region_is_long(t, step));
}

static void region_emit_kernel(region_text *t, const halo_step *step) {
  enum { VECTOR = 16 };
  t->many |= halo_grid_width(&step->grid) >= VECTOR;
  region_add_unit(t, step->unit);
  bool alone = t->e->group == 1;
  bool shared = alone && region_count_calls(t->run->steps, t->run->count, step->unit) > 1;
  halo_strbuf loop = {0};
  if (!alone && lower_is_in_group(t->e->s, step)) {
    region_put_groups(t, step, &loop);
  } else {
    region_put_items(t, step, shared, &loop);
  }
  region_start(t);
  if (shared) {
    region_call_function(t, step, halo_strbuf_text(&loop));
  } else if (alone && region_is_function(t, step)) {
    region_add_function(t, step, halo_strbuf_text(&loop));
  } else {
    halo_strbuf_append(&t->body, halo_strbuf_text(&loop));
  }
  halo_strbuf_deinit(&loop);
}

static void region_copy(region_text *t, int32_t source, int32_t target, int64_t bytes) {
  bool words = bytes % 4 == 0;
  const char *type = words ? "uint" : "uchar";
  int32_t from = region_arg(t, source, false), to = region_arg(t, target, true);
  region_start(t);
  halo_strbuf_printf(&t->body, "for (size_t x = %s; x < %lld; x += %zu)\n", region_item(t),
                     (long long)bytes / (words ? 4 : 1), t->e->group);
  region_line(t, "  ((__global %s *)b%d)[x] = ((__global const %s *)b%d)[x];", type, to, type,
              from);
}

/* ---- Exchanges ---- */

/* Less is copied sooner than it is looked for in two places. */
enum { REGION_EXCHANGE_BYTES = 512 };

/* Buffers that the host uses have to be where the plan says. */
static bool region_exchanges(const region_text *t, const halo_plan_exchange *pair) {
  return pair->bytes > REGION_EXCHANGE_BYTES && t->run->called < 0;
}

static void region_emit_exchange(region_text *t, const halo_plan_exchange *pair) {
  int32_t a = region_arg(t, pair->state, true), b = region_arg(t, pair->next, true);
  region_line(t, "{ __global void *other = b%d; b%d = b%d; b%d = other; }", a, a, b, b);
}

/* The end of a round. */
static void region_emit_exchanges(region_text *t, const halo_step *loop, int32_t number) {
  bool any = false;
  for (int32_t i = 0; i < loop->exchange_count; i++) {
    const halo_plan_exchange *pair = &loop->exchanges[i];
    if (region_exchanges(t, pair)) {
      region_emit_exchange(t, pair);
      any = true;
      continue;
    }
    region_copy(t, pair->next, pair->state, pair->bytes);
    region_barrier(t);
  }
  if (any) region_line(t, "odd%d = !odd%d;", number, number);
}

static bool region_loop_exchanges(const region_text *t, const halo_step *loop) {
  bool any = false;
  for (int32_t i = 0; i < loop->exchange_count; i++)
    any |= region_exchanges(t, &loop->exchanges[i]);
  return any;
}

/* All exchanges once more, where the number of rounds is odd; behind the loop with what is in the places. */
static void region_emit_odd(region_text *t, const halo_step *loop, int32_t number, bool behind) {
  region_open(t, "if (odd%d)", number);
  for (int32_t i = 0; i < loop->exchange_count; i++) {
    const halo_plan_exchange *pair = &loop->exchanges[i];
    if (!region_exchanges(t, pair)) continue;
    region_emit_exchange(t, pair);
    if (behind) region_copy(t, pair->next, pair->state, pair->bytes);
  }
  region_close(t);
  if (behind) region_barrier(t);
}

/* ---- Loops and branches ---- */

static bool region_goes_on(const region_text *t) { return t->run->place >= 0; }

static void region_emit_list(region_text *t, const halo_step *steps, int32_t count);

/* Estimated nanoseconds of a round without the loops in it. */
static int64_t region_round_cost(const region_text *t, const halo_step *loop) {
  double seconds = 0;
  for (int32_t l = 0; l < loop->list_count; l++) {
    for (int32_t i = 0; i < loop->lists[l].count; i++) {
      region_price price = region_price_step(t->e, &loop->lists[l].data[i]);
      if (!price.loops) seconds += price.in_region;
    }
  }
  return 1 + (int64_t)(seconds * 1e9);
}

/* Leaves the region, to go on in the loop or behind the conditional of this number when the host has done the branch of that
 * number, 0: none. The same for all work items. */
static void region_emit_leave(region_text *t, int32_t number, int32_t branch) {
  region_open(t, "if (%s == 0)", region_item(t));
  region_line(t, "((__global uchar *)place)[0] = 1;");
  region_line(t, "((__global int *)place)[1] = %d;", number);
  for (int d = 0; d < t->depth; d++)
    region_line(t, "((__global long *)place)[%d] = t%d;", d + 1, d);
  if (t->run->called >= 0) {
    region_line(t, "*(__global int *)b%d = %d;", region_arg(t, t->run->called, true), branch);
  }
  region_close(t);
  region_line(t, "return;");
}

/* The head of a round, where the region may leave. */
static void region_emit_head(region_text *t, const halo_step *loop, int32_t number) {
  bool inner = region_price_step(t->e, loop).loops > 1;
  region_line(t, "if (resume == %d) resume = 0;", number);
  region_open(t, "if (%sspent > most)", inner ? "!resume && " : "");
  region_emit_leave(t, number, 0);
  region_close(t);
  /* What goes on within a round has paid for it, and does something before it leaves again. */
  region_line(t, "spent += %s%lldL;", inner ? "resume ? 0 : " : "",
              (long long)region_round_cost(t, loop));
}

/* A region that goes on within a round does not ask whether there is one. What decides is read before others
 * may write to its memory. */
static void region_emit_condition(region_text *t, const halo_step *loop, int32_t number) {
  bool inner = region_goes_on(t) && region_price_step(t->e, loop).loops > 1;
  size_t before = t->guard.length;
  if (inner) region_push_guard(t, "!resume");
  region_emit_list(t, loop->lists[0].data, loop->lists[0].count);
  region_pop_guard(t, before);
  region_line(t, "const uchar more%d = %s*(__global const uchar *)b%d;", number,
              inner ? "resume ? 1 : " : "", region_arg(t, loop->args[0].buffer, false));
  region_barrier(t);
  region_line(t, "if (!more%d) break;", number);
}

/* Whether the state is in the other places: not at first, but when the region goes on within the loop, it may
 * be. */
static void region_emit_start(region_text *t, const halo_step *loop, int32_t number, int depth) {
  if (!region_goes_on(t)) {
    region_line(t, "bool odd%d = false;", number);
    return;
  }
  const char *guard = t->guard.length ? halo_strbuf_text(&t->guard) : "true";
  region_line(t, "bool odd%d = resume && %s && (((__global const long *)place)[%d] & 1);", number,
              guard, depth + 1);
  region_emit_odd(t, loop, number, false);
}

static void region_emit_loop(region_text *t, const halo_step *loop) {
  int d = t->depth++;
  int32_t number = ++t->loop;
  bool goes_on = region_goes_on(t);
  bool exchanges = region_loop_exchanges(t, loop);
  if (exchanges) region_emit_start(t, loop, number, d);
  halo_strbuf head = {0}, outer = t->guard;
  halo_strbuf_printf(&head, "for (long t%d = ", d);
  if (goes_on) halo_strbuf_printf(&head, "resume ? ((__global const long *)place)[%d] : ", d + 1);
  halo_strbuf_append(&head, "0; ");
  halo_strbuf_append(&head, halo_strbuf_text(&outer));
  if (outer.length && loop->trips >= 0) halo_strbuf_append(&head, " && ");
  if (loop->trips >= 0) halo_strbuf_printf(&head, "t%d < %lldL", d, (long long)loop->trips);
  region_open(t, "%s; ++t%d)", halo_strbuf_text(&head), d);
  halo_strbuf_deinit(&head);
  t->guard = (halo_strbuf){0};
  if (goes_on) region_emit_head(t, loop, number);
  if (loop->trips < 0) region_emit_condition(t, loop, number);
  region_emit_list(t, loop->lists[1].data, loop->lists[1].count);
  region_emit_exchanges(t, loop, number);
  halo_strbuf_deinit(&t->guard);
  t->guard = outer;
  t->depth--;
  region_close(t);
  bool even = loop->trips >= 0 && loop->trips % 2 == 0;
  if (exchanges && !even) region_emit_odd(t, loop, number, true);
}

/* Which branch, or -1 for none, in a variable of its own. */
static void region_emit_choice(region_text *t, const halo_step *step, int32_t number) {
  int32_t selector = region_arg(t, step->args[0].buffer, false), last = step->list_count - 1;
  region_line(t, "int branch%d = -1;", number);
  region_start(t);
  if (step->selector_is_pred) {
    halo_strbuf_printf(&t->body, "branch%d = *(__global const uchar *)b%d ? 0 : 1;\n", number,
                       selector);
  } else {
    /* What is negative or too large chooses the last. */
    halo_strbuf_printf(&t->body, "branch%d = (int)min(*(__global const uint *)b%d, %du);\n", number,
                       selector, last);
  }
  int32_t loop = t->loop;
  for (int32_t b = 0; b <= last && region_goes_on(t); b++) {
    int32_t before = loop;
    for (int32_t i = 0; !region_is_hosted(step, b) && i < step->lists[b].count; i++) {
      loop += region_price_step(t->e, &step->lists[b].data[i]).loops;
    }
    if (loop == before) continue;
    region_line(t, "if (resume > %d && resume <= %d) branch%d = %d;", before, loop, number, b);
  }
  region_barrier(t);
}

/* Leaves what the host does to it. `number`: of the choice; `loop`: of the place behind it, as of a loop. */
static void region_emit_hosted(region_text *t, const halo_step *step, int32_t number,
                               int32_t loop) {
  region_line(t, "if (resume == %d) branch%d = -1, resume = 0;", loop, number);
  for (int32_t b = 0; b < step->list_count; b++) {
    if (!region_is_hosted(step, b)) continue;
    region_open(t, "if (branch%d == %d)", number, b);
    region_emit_leave(t, loop, ++t->hosted);
    region_close(t);
  }
}

static bool region_has_hosted(const halo_step *step) {
  bool hosted = false;
  for (int32_t b = 0; b < step->list_count; b++) hosted |= region_is_hosted(step, b);
  return hosted;
}

static void region_emit_conditional(region_text *t, const halo_step *step) {
  int32_t number = t->branches++;
  bool hosted = region_has_hosted(step);
  int32_t loop = hosted ? ++t->loop : 0;
  region_emit_choice(t, step, number);
  if (hosted) region_emit_hosted(t, step, number, loop);
  halo_strbuf outer = t->guard;
  t->guard = (halo_strbuf){0};
  for (int32_t b = 0; b < step->list_count; b++) {
    if (region_is_hosted(step, b)) continue;
    region_push_guard(t, "branch%d == %d", number, b);
    region_emit_list(t, step->lists[b].data, step->lists[b].count);
    region_pop_guard(t, 0);
  }
  halo_strbuf_deinit(&t->guard);
  t->guard = outer;
}

static void region_emit_step(region_text *t, const halo_step *step) {
  if (step->kind == HALO_STEP_WHILE) return region_emit_loop(t, step);
  if (step->kind == HALO_STEP_CONDITIONAL) return region_emit_conditional(t, step);
  if (step->kind == HALO_STEP_COPY) {
    region_copy(t, step->args[0].buffer, step->args[1].buffer, step->bytes);
  } else {
    region_emit_kernel(t, step);
  }
  region_barrier(t);
}

/* A step before the place to go on with is skipped, unless that is within it. */
static void region_emit_list(region_text *t, const halo_step *steps, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    int32_t loops = region_price_step(t->e, &steps[i]).loops, first = t->loop + 1;
    size_t before = t->guard.length;
    if (region_goes_on(t) && t->loop < t->loops) {
      if (loops) {
        region_push_guard(t, "(!resume || (resume >= %d && resume < %d))", first, first + loops);
      } else {
        region_push_guard(t, "!resume");
      }
    }
    region_emit_step(t, &steps[i]);
    region_pop_guard(t, before);
  }
}

/* ---- The kernel ---- */

/* Memory may hold numbers of one type for some steps and of another for later ones, and copies read all as whole
 * numbers. Where no barriers tell compilers so, the types in a region's text are those of any memory: else
 * compilers may take a load before the store that it reads. */
static void region_put_types(const region_text *t, halo_strbuf *out, bool begin) {
  static const char *const types[] = {"short", "ushort", "int",   "uint",
                                      "long",  "ulong",  "float", "double"};
  int32_t count = halo_sections_has(&t->sections, "fp64") ? 8 : 7;
  if (t->e->group > 1) return;
  for (int32_t i = 0; i < count && begin; i++) {
    halo_strbuf_printf(out, "typedef %s u@_%s __attribute__((may_alias));\n", types[i], types[i]);
  }
  for (int32_t i = 0; i < count; i++) {
    halo_strbuf_printf(out, begin ? "#define %s u@_%s\n" : "#undef %s\n", types[i], types[i]);
  }
}

/* The kernel's parameters: bytes of memory each, whether it goes on, and when it leaves. */
static void region_set_parameters(const region_text *t, halo_kernel *kernel) {
  halo_arena *arena = &t->e->s->texts;
  kernel->param_count = t->args.count + (region_goes_on(t) ? 2 : 0);
  halo_kernel_param *params = halo_arena_array(arena, halo_kernel_param, kernel->param_count);
  for (int32_t a = 0; a < t->args.count; a++) {
    params[a] = (halo_kernel_param){.name = t->names.data[a], .type = "uchar"};
  }
  if (region_goes_on(t)) {
    params[t->args.count] = (halo_kernel_param){.name = "goes_on", .type = "int", .is_value = true};
    params[t->args.count + 1] =
        (halo_kernel_param){.name = "most", .type = "long", .is_value = true};
  }
  kernel->params = params;
}

/* What the kernel does with its parameters. */
static void region_put_body(const region_text *t, halo_strbuf *out) {
  bool goes_on = region_goes_on(t);
  for (int32_t p = 0; p < t->places.count; p++) {
    const region_place *place = &t->places.data[p];
    const char *name = t->names.data[place->arg];
    halo_strbuf_printf(out, "  __global void *b%d = %s_ + %so", p, name, name);
    if (place->offset >= 0) halo_strbuf_printf(out, " + %lld", (long long)place->offset);
    halo_strbuf_append(out, ";\n");
  }
  if (goes_on) {
    halo_strbuf_printf(out, "  __global void *place = b%d;\n",
                       t->e->arg_of_buffer[t->run->place] - 1);
    halo_strbuf_append(out,
                       "  long spent = 0;\n"
                       "  int resume = goes_on ? ((__global const int *)place)[1] : 0;\n");
  }
  halo_strbuf_append(out, halo_strbuf_text(&t->body));
  if (goes_on) {
    halo_strbuf_printf(out, "  if (%s == 0) ((__global uchar *)place)[0] = 0;\n", region_item(t));
  }
}

static int32_t region_make_unit(region_text *t, const char *name) {
  /* Where loops of kernels get barriers, some lose their end. Functions that are not put in place are left as they are. */
  bool in_function = t->e->s->caps->adds_barriers && t->e->group == 1;
  halo_kernel kernel = {.name = name, .facts = t->facts};
  kernel.facts.group[0] = t->e->group;
  kernel.facts.group[1] = kernel.facts.group[2] = 1;
  kernel.facts.has_loops = true;
  region_set_parameters(t, &kernel);
  halo_strbuf text = {0}, declared = {0};
  halo_kernel_declare(&declared, kernel.params, kernel.param_count);
  const char *parameters = halo_strbuf_text(&declared);
  region_put_types(t, &text, true);
  halo_strbuf_append(&text, halo_strbuf_text(&t->functions));
  if (in_function) {
    halo_strbuf_printf(&text, "static __attribute__((noinline)) void %s_all(%s) {\n", name,
                       parameters);
    region_put_body(t, &text);
    halo_strbuf_append(&text, "}\n");
  }
  halo_strbuf_printf(&text, HALO_HEAD "%s(" HALO_PLACES "%s) {\n", name, parameters);
  if (in_function) {
    halo_strbuf_printf(&text, "  %s_all(", name);
    halo_kernel_pass(&text, kernel.params, kernel.param_count);
    halo_strbuf_append(&text, ");\n");
  } else {
    if (t->facts.local_bytes) {
      halo_strbuf_printf(&text, "  __local ulong2 h_local[%lld];\n",
                         (long long)(t->facts.local_bytes + 15) / 16);
    }
    region_put_body(t, &text);
  }
  halo_strbuf_append(&text, "}\n");
  region_put_types(t, &text, false);
  kernel.text = halo_strbuf_text(&text);
  int32_t unit = lower_own_unit(t->e->s, &kernel, t->sections);
  halo_strbuf_deinit(&declared);
  halo_strbuf_deinit(&text);
  return unit;
}

region_kernel region_make_kernel(const region_state *e, const region_run *run) {
  region_text t = {.e = e, .run = run};
  t.long_steps = region_count_long(&t, run->steps, run->count);
  for (int32_t i = 0; i < run->count; i++) t.loops += region_price_step(e, &run->steps[i]).loops;
  if (run->place >= 0) region_arg(&t, run->place, true);
  region_emit_list(&t, run->steps, run->count);
  if (e->group == 1 && !t.many) halo_sections_add(&t.sections, "called");
  region_kernel kernel = {.name = "u@_k0_region", .arg_count = t.args.count};
  kernel.unit = region_make_unit(&t, kernel.name);
  kernel.args =
      halo_arena_copy(&e->s->plan->arena, t.args.data, sizeof *t.args.data * (size_t)t.args.count);
  for (int32_t i = 0; i < t.units.count; i++) e->number_of_unit[t.units.data[i]] = 0;
  for (int32_t i = 0; i < t.named.count; i++) e->arg_of_buffer[t.named.data[i]] = 0;
  halo_strbuf_deinit(&t.guard);
  halo_strbuf_deinit(&t.functions);
  halo_strbuf_deinit(&t.body);
  for (int32_t i = 0; i < t.shared.count; i++) halo_free(t.shared.data[i]);
  halo_vec_deinit(&t.shared);
  halo_vec_deinit(&t.units);
  halo_vec_deinit(&t.named);
  halo_vec_deinit(&t.places);
  halo_vec_deinit(&t.args);
  halo_vec_deinit(&t.names);
  return kernel;
}
