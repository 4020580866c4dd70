/* SPDX-License-Identifier: Apache-2.0 */
/* plan/bundle_text.c: the kernel of a bundle. The kernels of its members become functions, and each group of
 * work items calls one of them for its share: a piece of a member's work items. A table in memory has a row a
 * member, so that the text knows neither sizes nor how the work is cut. */
#include "plan/bundle_text.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* The table begins with the pieces up to each member's last one. Then each has a row: its work items (or rows of
 * them), how many make a piece, work items of a row, then what its kernel gets by value. */
enum { BUNDLE_ITEMS, BUNDLE_PIECE, BUNDLE_WIDTH, BUNDLE_VALUES };

enum {
  BUNDLE_GROUP = 256,   /* work items of a piece, where they run side by side */
  BUNDLE_PIECES = 8,    /* for each core of a CPU */
  BUNDLE_ALIGNMENT = 64 /* work items of a CPU's piece are a multiple */
};

typedef struct bundle_text {
  lower_state *s;
  const bundle *b;
  size_t group; /* 1: a work item does a whole piece */
  int row;      /* numbers in a row of the table */
  int64_t rows;
  halo_strbuf pointers, code;
  HALO_VEC(halo_kernel_param) offset; /* parameters with an offset, */
  HALO_VEC(halo_kernel_param) whole;  /* and those without */
  HALO_VEC(halo_plan_arg) offset_args;
  HALO_VEC(halo_plan_arg) whole_args;
  int32_t next; /* number of a parameter */
} bundle_text;

/* ---- Arguments ---- */

/* Memory of its own, not a part of other, nor ever exchanged for such: its offset is always 0. */
static bool bundle_is_whole(const halo_plan *plan, int32_t buffer) {
  halo_place place = plan->buffers.data[buffer].place;
  return !plan->buffers.data[buffer].moves &&
         (place == HALO_PLACE_ARGUMENT || place == HALO_PLACE_RESULT);
}

uint64_t bundle_shared(const bundle_body *body) {
  uint64_t shared = 0;
  for (int32_t a = 0; a < body->members[0]->arg_count && a < 64; a++) {
    bool same = true;
    for (int32_t m = 1; m < body->count && same; m++) {
      same = body->members[m]->args[a].buffer == body->members[0]->args[a].buffer;
    }
    if (same) shared |= 1ull << a;
  }
  return shared;
}

static bool bundle_is_shared(const bundle_body *body, int32_t a) {
  return a < 64 && body->shared >> a & 1;
}

/* The step at a place of a body; what it has room for beyond its members is their first again. */
static const halo_step *bundle_member(const bundle_body *body, int32_t m) {
  return body->members[m < body->count ? m : 0];
}

int64_t bundle_body_bytes(const halo_plan *plan, const halo_caps *caps, const bundle_body *body) {
  int64_t bytes = 0, pointer = (int64_t)caps->address_bits / 8;
  for (int32_t a = 0; a < body->members[0]->arg_count; a++) {
    int32_t count = bundle_is_shared(body, a) ? 1 : body->room;
    for (int32_t m = 0; m < count; m++) {
      bool whole = bundle_is_whole(plan, bundle_member(body, m)->args[a].buffer);
      bytes += pointer + (whole ? 0 : 8);
    }
  }
  return bytes;
}

int64_t bundle_table_bytes(const halo_caps *caps) { return (int64_t)caps->address_bits / 8 + 8; }

/* A parameter for a buffer; gives its number: "b3" is a pointer to it. */
static int32_t bundle_parameter(bundle_text *t, const halo_plan_arg *arg) {
  int32_t n = t->next++;
  bool whole = bundle_is_whole(t->s->plan, arg->buffer);
  halo_plan_arg plain = {arg->buffer, 1, arg->written};
  halo_kernel_param param = {
      .name = halo_arena_printf(&t->s->texts, "b%d", n), .type = "uchar", .is_whole = whole};
  if (whole) {
    halo_vec_push(&t->whole_args, plain);
    halo_vec_push(&t->whole, param);
    halo_strbuf_printf(&t->pointers, "  __global void *b%d = b%d_;\n", n, n);
  } else {
    halo_vec_push(&t->offset_args, plain);
    halo_vec_push(&t->offset, param);
    halo_strbuf_printf(&t->pointers, "  __global void *b%d = b%d_ + b%do;\n", n, n, n);
  }
  return n;
}

/* ---- Code ---- */

/* Whether all work items of a piece are for the compiler to compute side by side: a work item writes over
 * what it read, so that the memory of arguments does not say so, and there are no loops in it. */
static bool bundle_is_parallel(const bundle_text *t, const halo_step *step) {
  return t->group == 1 && step->in_place && !lower_has_loops(t->s, step);
}

/* The call for the work item at x (and y), with `names` for its buffers. */
static void bundle_put_call(bundle_text *t, const bundle_body *body, const char *number,
                            const char *names) {
  const halo_step *step = body->members[0];
  lower_unit_name(&t->code, step->kernel, number);
  const char *zero = lower_is_narrow(step) ? " + h_zero(t)" : "";
  halo_strbuf_printf(&t->code, "(x%s, %s%s%s", zero, step->grid.dims > 1 ? "y" : "0",
                     step->grid.dims > 1 ? zero : "", names);
  for (int32_t v = 0; v < step->value_count; v++) {
    halo_strbuf_printf(&t->code, ", own[%d]", BUNDLE_VALUES + v);
  }
  halo_strbuf_append(&t->code, ");\n");
}

/* A piece of a member: the call for each of its work items. */
static void bundle_put_piece(bundle_text *t, const bundle_body *body, const char *number,
                             const char *names) {
  bool rows = body->members[0]->grid.dims > 1;
  halo_strbuf *code = &t->code;
  if (t->group > 1) {
    halo_strbuf_printf(code, "    const long i = first + (long)(" HALO_GLOBAL_ID_0 " %% %zu);\n",
                       t->group);
    halo_strbuf_append(code, rows ? "    const long x = i % own[2], y = i / own[2];\n"
                                  : "    const long x = i;\n");
    halo_strbuf_append(code, "    if (i < own[0]) ");
  } else {
    halo_strbuf_append(code, "    const long last = min(first + own[1], own[0]);\n");
    if (rows) halo_strbuf_append(code, "    for (long y = first; y < last; ++y)\n  ");
    if (bundle_is_parallel(t, body->members[0])) {
      halo_strbuf_append(code, "#pragma clang loop vectorize(assume_safety)\n");
    }
    halo_strbuf_append(code, rows ? "    for (long x = 0; x < own[2]; ++x) "
                                  : "    for (long x = first; x < last; ++x) ");
  }
  bundle_put_call(t, body, number, names);
}

/* The pieces of a body's members, the first of which has the number `start`. */
static void bundle_put_body(bundle_text *t, const bundle_body *body, int32_t start,
                            const char *number) {
  const halo_step *first = body->members[0];
  halo_strbuf names = {0}, *code = &t->code;
  halo_strbuf_printf(code, "  %sif (m < %d) {\n", start ? "else " : "", start + body->room);
  HALO_VEC(int32_t) own = {0};
  for (int32_t a = 0; a < first->arg_count; a++) {
    if (bundle_is_shared(body, a)) {
      halo_strbuf_printf(&names, ", b%d, 0", bundle_parameter(t, &first->args[a]));
      continue;
    }
    halo_strbuf_printf(&names, ", p%d, 0", a);
    halo_strbuf_printf(code, "    __global void *p%d;\n", a);
    halo_vec_push(&own, a);
  }
  halo_strbuf_append(code, own.count ? "    switch (m) {\n" : "");
  for (int32_t m = 0; m < body->room && own.count; m++) {
    bool last = m + 1 == body->room;
    const halo_step *member = bundle_member(body, m);
    if (last) halo_strbuf_append(code, "      default:");
    if (!last) halo_strbuf_printf(code, "      case %d:", start + m);
    for (int32_t i = 0; i < own.count; i++) {
      int32_t n = bundle_parameter(t, &member->args[own.data[i]]);
      halo_strbuf_printf(code, " p%d = b%d;", own.data[i], n);
    }
    halo_strbuf_append(code, last ? "\n" : " break;\n");
  }
  halo_strbuf_append(code, own.count ? "    }\n" : "");
  bundle_put_piece(t, body, number, halo_strbuf_text(&names));
  halo_strbuf_append(code, "  }\n");
  halo_strbuf_deinit(&names);
  halo_vec_deinit(&own);
}

/* The table, then the members' buffers. */
static void bundle_set_parameters(const bundle_text *t, halo_kernel *kernel) {
  int32_t offset = t->offset.count, whole = t->whole.count;
  halo_kernel_param *params = halo_arena_array(&t->s->texts, halo_kernel_param, 1 + offset + whole);
  params[0] = (halo_kernel_param){.name = "t", .type = "uchar", .is_const = true};
  for (int32_t a = 0; a < offset; a++) params[1 + a] = t->offset.data[a];
  for (int32_t a = 0; a < whole; a++) params[1 + offset + a] = t->whole.data[a];
  kernel->params = params;
  kernel->param_count = 1 + offset + whole;
}

static void bundle_put_kernel(bundle_text *t, halo_strbuf *out, const halo_kernel *kernel) {
  halo_strbuf_printf(out, HALO_HEAD "%s(" HALO_PLACES, kernel->name);
  halo_kernel_declare(out, kernel->params, kernel->param_count);
  halo_strbuf_append(out, ") {\n  const long g = (long)");
  if (t->group > 1) {
    halo_strbuf_printf(out, "(" HALO_GLOBAL_ID_0 " / %zu);\n", t->group);
  } else {
    halo_strbuf_append(out, HALO_GLOBAL_ID_0 ";\n");
  }
  halo_strbuf_append(out, "  __global const long *t = (__global const long *)(t_ + to);\n");
  halo_strbuf_append(out, halo_strbuf_text(&t->pointers));
  /* A loop without a way out: behind such a one some compilers (Mesa 22 for CPUs) leave the next one early. */
  halo_strbuf_printf(out,
                     "  int m = 0;\n"
                     "  for (int i = 0; i < %lld; ++i) m += g >= t[i];\n"
                     "  __global const long *own = t + %lld + m * %d;\n"
                     "  const long first = (g - (m ? t[m - 1] : 0)) * own[1];\n",
                     (long long)t->rows - 1, (long long)t->rows, t->row);
  halo_strbuf_append(out, halo_strbuf_text(&t->code));
  halo_strbuf_append(out, "}\n");
}

/* ---- The table ---- */

static int64_t bundle_divide_up(int64_t x, int64_t by) { return (x + by - 1) / by; }

/* How a member is cut into pieces. Gives their number. */
static int64_t bundle_cut(const bundle_text *t, const halo_step *step, double work, double piece,
                          int64_t row[BUNDLE_VALUES]) {
  int64_t along = (int64_t)halo_grid_width(&step->grid);
  int64_t across = (int64_t)halo_grid_height(&step->grid);
  row[BUNDLE_WIDTH] = along;
  if (t->group > 1) {
    row[BUNDLE_ITEMS] = along * across;
    row[BUNDLE_PIECE] = (int64_t)t->group;
  } else {
    bool rows = step->grid.dims > 1;
    int64_t items = rows ? across : along, least = rows ? 1 : BUNDLE_ALIGNMENT;
    int64_t pieces = (int64_t)(work / piece);
    int64_t most = bundle_divide_up(items, least);
    if (pieces > most) pieces = most;
    if (pieces < 1) pieces = 1;
    row[BUNDLE_ITEMS] = items;
    row[BUNDLE_PIECE] = bundle_divide_up(bundle_divide_up(items, pieces), least) * least;
  }
  return bundle_divide_up(row[BUNDLE_ITEMS], row[BUNDLE_PIECE]);
}

/* Fills the table. Gives the number of pieces. */
static int64_t bundle_fill(const bundle_text *t, const halo_target *target, halo_literal *table) {
  double all = 0;
  for (int32_t i = 0; i < t->b->count; i++) {
    for (int32_t m = 0; m < t->b->bodies[i]->count; m++) {
      const halo_step *step = t->b->bodies[i]->members[m];
      all += lower_work(target, t->s->caps, step, lower_items(step));
    }
  }
  double piece = all / (BUNDLE_PIECES * (double)t->s->caps->compute_units);
  if (piece < target->prices.bundle_piece) piece = target->prices.bundle_piece;
  int64_t pieces = 0, member = 0, at = t->rows;
  for (int32_t i = 0; i < t->b->count; i++) {
    const bundle_body *body = t->b->bodies[i];
    for (int32_t m = 0; m < body->room; m++, member++, at += t->row) {
      const halo_step *step = bundle_member(body, m);
      int64_t row[BUNDLE_VALUES];
      int64_t count =
          bundle_cut(t, step, lower_work(target, t->s->caps, step, lower_items(step)), piece, row);
      if (m < body->count) pieces += count;
      halo_literal_set_i64(table, member, pieces);
      for (int v = 0; v < BUNDLE_VALUES; v++) halo_literal_set_i64(table, at + v, row[v]);
      for (int32_t v = 0; v < step->value_count; v++) {
        halo_literal_set_i64(table, at + BUNDLE_VALUES + v, step->values[v].number);
      }
    }
  }
  return pieces;
}

/* ---- The launch ---- */

/* Counts the table's rows and how long they are. */
static void bundle_count_rows(bundle_text *t) {
  for (int32_t i = 0; i < t->b->count; i++) {
    const bundle_body *body = t->b->bodies[i];
    t->rows += body->room;
    int row = BUNDLE_VALUES + body->members[0]->value_count;
    if (row > t->row) t->row = row;
  }
}

static void bundle_set_args(const bundle_text *t, int32_t table, halo_step *launch) {
  launch->arg_count = 1 + t->offset_args.count + t->whole_args.count;
  launch->whole_count = t->whole_args.count;
  launch->args = halo_arena_array(&t->s->plan->arena, halo_plan_arg, launch->arg_count);
  launch->args[0] = (halo_plan_arg){table, 1, false};
  for (int32_t a = 0; a < t->offset_args.count; a++) launch->args[1 + a] = t->offset_args.data[a];
  for (int32_t a = 0; a < t->whole_args.count; a++) {
    launch->args[1 + t->offset_args.count + a] = t->whole_args.data[a];
  }
}

static int32_t bundle_make_unit(bundle_text *t, const char *name) {
  halo_strbuf text = {0};
  halo_sections sections = {0};
  halo_kernel kernel = {.name = name, .facts.has_loops = true};
  int32_t start = 0;
  for (int32_t i = 0; i < t->b->count; i++) {
    const bundle_body *body = t->b->bodies[i];
    const halo_plan_unit *unit = &t->s->plan->units.data[body->members[0]->unit];
    char number[32];
    snprintf(number, sizeof number, "@n%d", i);
    halo_sections_join(&sections, &unit->sections);
    lower_unit_functions(&text, unit, number, t->group == 1, &kernel.facts);
    bundle_put_body(t, body, start, number);
    start += body->room;
  }
  bundle_set_parameters(t, &kernel);
  bundle_put_kernel(t, &text, &kernel);
  kernel.text = halo_strbuf_text(&text);
  int32_t unit = lower_own_unit(t->s, &kernel, sections);
  halo_strbuf_deinit(&text);
  return unit;
}

halo_status bundle_make(lower_state *s, const halo_target *target, const bundle *b,
                        halo_step *launch) {
  bundle_text t = {.s = s, .b = b};
  t.group = s->caps->is_cpu ? 1 : halo_kernel_local_size(s->caps, BUNDLE_GROUP);
  bundle_count_rows(&t);
  int64_t count = t.rows * (1 + t.row);
  halo_literal *table;
  HALO_TRY(halo_literal_create(halo_shape_new(&s->plan->arena, HALO_S64, 1, &count), &table));
  int64_t pieces = bundle_fill(&t, target, table);
  launch->kernel = "u@_k0_bundle";
  launch->unit = bundle_make_unit(&t, launch->kernel);
  bundle_set_args(&t, lower_constant_leaf(s, table, "shares of a bundle"), launch);
  halo_literal_release(table);
  launch->grid = halo_grid_line(pieces * (int64_t)t.group, t.group);
  launch->grid.any_local = launch->grid.any_x = true;
  halo_vec_deinit(&t.offset);
  halo_vec_deinit(&t.whole);
  halo_strbuf_deinit(&t.pointers);
  halo_strbuf_deinit(&t.code);
  halo_vec_deinit(&t.offset_args);
  halo_vec_deinit(&t.whole_args);
  return HALO_OK;
}
