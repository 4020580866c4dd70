/* plan/enclose.c: a loop whose rounds are small as one kernel. The kernels of its steps become functions,
 * which one work group calls for each of their work items, step by step. */
#include "plan/enclose.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
  ENCLOSE_ROUNDS = 4096, /* of a loop of unknown length, until the host looks at its condition */
  ENCLOSE_STEPS = 64,    /* more make long kernels, which take long to build */
  ENCLOSE_GROUP = 256    /* work items, where they run side by side */
};

static const double ENCLOSE_STEP_SECONDS = 5e-8; /* of the barrier behind it, and its call */
static const double ENCLOSE_WAIT_LAUNCHES = 5;   /* what asking the host costs */
static const double ENCLOSE_LONGEST = 0.05;      /* seconds that a kernel may take */

typedef struct enclose_state {
  lower_state *s;
  const halo_target *target;
  bool *unit_is_plain; /* by unit: work items of its kernels share nothing, in whatever groups */
  size_t group;        /* work items of the one group, */
  double slower;       /* which takes so much longer than the whole device */
  /* Of the loop at hand, all 0 between loops. From 1, in the order of use: equal loops have equal texts. */
  int32_t *number_of_unit, *arg_of_buffer;
} enclose_state;

/* ---- What a loop takes ---- */

typedef struct enclose_price {
  bool able;
  int32_t steps;
  double apart, together; /* seconds: as steps, and within one work group */
} enclose_price;

static enclose_price enclose_price_list(const enclose_state *e, const halo_steps *steps);

static bool enclose_kernel_is_able(const enclose_state *e, const halo_step *step) {
  bool able = e->unit_is_plain[step->unit] && step->dims <= 2;
  for (int32_t v = 0; v < step->value_count; v++) {
    able = able && step->values[v].what == HALO_VALUE_NUMBER;
  }
  return able;
}

static enclose_price enclose_price_step(const enclose_state *e, const halo_step *step) {
  const halo_target *t = e->target;
  enclose_price price = {.able = true, .steps = 1};
  if (step->kind == HALO_STEP_WHILE && step->trips >= 0) {
    price = enclose_price_list(e, &step->lists[1]);
    price.apart *= (double)step->trips;
    price.together *= (double)step->trips;
    return price;
  }
  double work = (double)step->bytes / t->bandwidth;
  if (step->kind == HALO_STEP_KERNEL) {
    price.able = enclose_kernel_is_able(e, step);
    if (step->seconds - t->launch > work) work = step->seconds - t->launch;
  } else {
    price.able = step->kind == HALO_STEP_COPY;
  }
  price.apart = t->launch + work;
  price.together = ENCLOSE_STEP_SECONDS + work * e->slower;
  return price;
}

static enclose_price enclose_price_list(const enclose_state *e, const halo_steps *steps) {
  enclose_price sum = {.able = true};
  for (int32_t i = 0; i < steps->count && sum.able && sum.steps <= ENCLOSE_STEPS; i++) {
    enclose_price one = enclose_price_step(e, &steps->data[i]);
    sum.able = one.able;
    sum.steps += one.steps;
    sum.apart += one.apart;
    sum.together += one.together;
  }
  return sum;
}

static bool enclose_pays(const enclose_state *e, const halo_step *loop) {
  int listed = halo_kernels_listed(e->s->kernels, "while", "kernel");
  if (halo_kernels_listed(e->s->kernels, "while", "steps") > 0) listed = -1;
  if (listed < 0 || loop->lists[1].count == 0) return false;
  enclose_price condition = enclose_price_list(e, &loop->lists[0]);
  enclose_price body = enclose_price_list(e, &loop->lists[1]);
  if (!condition.able || !body.able) return false;
  if (condition.steps + body.steps > ENCLOSE_STEPS) return false;
  double apart = condition.apart + body.apart, together = condition.together + body.together;
  if (loop->trips < 0) apart += ENCLOSE_WAIT_LAUNCHES * e->target->launch;
  double rounds = loop->trips < 0 ? ENCLOSE_ROUNDS : (double)loop->trips;
  if (rounds < 2 || rounds * together > ENCLOSE_LONGEST) return false;
  return listed > 0 || together < apart;
}

/* ---- Its text ---- */

typedef struct enclose_text {
  const enclose_state *e;
  halo_strbuf functions, body;
  halo_sections sections;
  HALO_VEC(int32_t) units;
  HALO_VEC(halo_plan_arg) args;
  int depth;
} enclose_text;

static void enclose_replace(halo_strbuf *out, const char *text, const char *const (*pairs)[2]) {
  while (*text) {
    int p = 0;
    while (pairs[p][0] && strncmp(text, pairs[p][0], strlen(pairs[p][0])) != 0) p++;
    if (pairs[p][0]) {
      halo_strbuf_append(out, pairs[p][1]);
      text += strlen(pairs[p][0]);
    } else {
      halo_strbuf_char(out, *text++);
    }
  }
}

/* A name of a unit among the functions: '@' will be the number of the whole. */
static void enclose_name(const enclose_text *t, halo_strbuf *out, const char *name, int32_t unit) {
  char number[32];
  snprintf(number, sizeof number, "@n%d", t->e->number_of_unit[unit] - 1);
  const char *const pairs[][2] = {{"@", number}, {NULL, NULL}};
  enclose_replace(out, name, pairs);
}

/* The text of a unit with functions in the place of kernels: they get their work item's place. */
static void enclose_add_unit(enclose_text *t, int32_t unit) {
  if (t->e->number_of_unit[unit]) return;
  halo_vec_push(&t->units, unit);
  t->e->number_of_unit[unit] = t->units.count;
  t->sections |= t->e->s->plan->units.data[unit].sections;
  halo_strbuf named = {0}, opened = {0};
  enclose_name(t, &named, t->e->s->plan->units.data[unit].text, unit);
  const char *at = halo_strbuf_text(&named), *kernel;
  while ((kernel = strstr(at, "__kernel void ")) != NULL) {
    const char *open = strchr(kernel, '(') + 1;
    halo_strbuf_append_n(&opened, at, (size_t)(open - at));
    halo_strbuf_append(&opened, "const size_t h_x, const size_t h_y, ");
    at = open;
  }
  halo_strbuf_append(&opened, at);
  static const char *const pairs[][2] = {{"__kernel void ", "static void "},
                                         {"get_global_id(0)", "h_x"},
                                         {"get_global_id(1)", "h_y"},
                                         {NULL, NULL}};
  enclose_replace(&t->functions, halo_strbuf_text(&opened), pairs);
  halo_strbuf_deinit(&named);
  halo_strbuf_deinit(&opened);
}

static int32_t enclose_arg(enclose_text *t, const halo_plan_arg *arg) {
  int32_t *number = &t->e->arg_of_buffer[arg->buffer];
  if (!*number) {
    halo_vec_push(&t->args, (halo_plan_arg){arg->buffer, 1, false});
    *number = t->args.count;
  }
  t->args.data[*number - 1].written |= arg->written;
  return *number - 1;
}

static void enclose_line(enclose_text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A line of the kernel. */
static void enclose_line(enclose_text *t, const char *format, ...) {
  halo_strbuf_printf(&t->body, "%*s", 2 * t->depth + 2, "");
  va_list args;
  va_start(args, format);
  halo_strbuf_vprintf(&t->body, format, args);
  va_end(args);
  halo_strbuf_char(&t->body, '\n');
}

/* All work items of a step, shared out among those of the group. */
static void enclose_emit_kernel(enclose_text *t, const halo_step *step) {
  enclose_add_unit(t, step->unit);
  halo_strbuf call = {0};
  enclose_name(t, &call, step->kernel, step->unit);
  bool rows = step->dims > 1;
  halo_strbuf_append(&call, rows ? "(x, y" : "(x, 0");
  for (int32_t a = 0; a < step->arg_count; a++) {
    halo_strbuf_printf(&call, ", b%d, 0", enclose_arg(t, &step->args[a]));
  }
  for (int32_t v = 0; v < step->value_count; v++) {
    halo_strbuf_printf(&call, ", %lldL", (long long)step->values[v].number);
  }
  if (rows) enclose_line(t, "for (size_t y = 0; y < %zu; ++y)", step->global[1]);
  enclose_line(t, "for (size_t x = get_local_id(0); x < %zu; x += %zu) %s);", step->global[0],
               t->e->group, halo_strbuf_text(&call));
  halo_strbuf_deinit(&call);
}

static void enclose_emit_copy(enclose_text *t, const halo_step *step) {
  bool words = step->bytes % 4 == 0;
  const char *type = words ? "uint" : "uchar";
  int32_t from = enclose_arg(t, &step->args[0]), to = enclose_arg(t, &step->args[1]);
  enclose_line(t, "for (size_t x = get_local_id(0); x < %lld; x += %zu)",
               (long long)step->bytes / (words ? 4 : 1), t->e->group);
  enclose_line(t, "  ((__global %s *)b%d)[x] = ((__global const %s *)b%d)[x];", type, to, type,
               from);
}

static void enclose_emit_list(enclose_text *t, const halo_steps *steps);

/* Of unknown length: the predicate stays behind, and the host goes on where it is still true. It is read
 * before others may write to its memory. */
static void enclose_emit_loop(enclose_text *t, const halo_step *loop) {
  int d = t->depth++;
  if (loop->trips >= 0) {
    enclose_line(t, "for (long t%d = 0; t%d < %lldL; ++t%d) {", d, d, (long long)loop->trips, d);
  } else {
    enclose_line(t, "for (long t%d = 0;; ++t%d) {", d, d);
    enclose_emit_list(t, &loop->lists[0]);
    enclose_line(t, "const uchar more = *(__global const uchar *)b%d;",
                 enclose_arg(t, &loop->args[0]));
    enclose_line(t, "barrier(CLK_GLOBAL_MEM_FENCE);");
    enclose_line(t, "if (!more || t%d == %d) break;", d, ENCLOSE_ROUNDS);
  }
  enclose_emit_list(t, &loop->lists[1]);
  t->depth--;
  enclose_line(t, "}");
}

static void enclose_emit_list(enclose_text *t, const halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    if (step->kind == HALO_STEP_WHILE) {
      enclose_emit_loop(t, step);
      continue;
    }
    if (step->kind == HALO_STEP_KERNEL) {
      enclose_emit_kernel(t, step);
    } else {
      enclose_emit_copy(t, step);
    }
    enclose_line(t, "barrier(CLK_GLOBAL_MEM_FENCE);");
  }
}

static int32_t enclose_make_unit(enclose_text *t) {
  halo_strbuf text = {0};
  halo_strbuf_append(&text, halo_strbuf_text(&t->functions));
  halo_strbuf_append(&text, "__kernel void u@_k0_while(");
  for (int32_t a = 0; a < t->args.count; a++) {
    halo_strbuf_printf(&text, "%s__global uchar *b%d_, ulong b%do", a ? ", " : "", a, a);
  }
  halo_strbuf_append(&text, ") {\n");
  for (int32_t a = 0; a < t->args.count; a++) {
    halo_strbuf_printf(&text, "  __global void *b%d = b%d_ + b%do;\n", a, a, a);
  }
  halo_strbuf_append(&text, halo_strbuf_text(&t->body));
  halo_strbuf_append(&text, "}\n");
  int32_t unit = lower_unit(t->e->s, &text, t->sections);
  halo_strbuf_deinit(&text);
  return unit;
}

/* ---- The step ---- */

static bool enclose_args_fit(const enclose_state *e, int32_t count) {
  const halo_caps *caps = e->s->caps;
  size_t bytes = (size_t)count * (size_t)(caps->address_bits / 8 + 8);
  if (count > e->target->max_buffers) return false;
  return !caps->max_parameters || bytes <= (size_t)caps->max_parameters;
}

static void enclose_free_lists(halo_step *step) {
  for (int32_t l = 0; l < step->list_count; l++) {
    halo_steps *list = &step->lists[l];
    for (int32_t i = 0; i < list->count; i++) enclose_free_lists(&list->data[i]);
    halo_free(list->data);
    *list = (halo_steps){.label = list->label};
  }
}

/* The launch that stands for the loop, or for the condition of a loop that goes on asking the host. */
static void enclose_settle(enclose_text *t, halo_step *loop) {
  halo_arena *arena = &t->e->s->plan->arena;
  halo_step launch = {
      .kind = HALO_STEP_KERNEL,
      .number = loop->trips < 0 ? loop->lists[1].data[0].number : loop->number,
      .label = halo_arena_printf(arena, "%s while:kernel", loop->label),
      .kernel = "u@_k0_while",
      .unit = enclose_make_unit(t),
      .args = halo_arena_copy(arena, t->args.data, sizeof *t->args.data * (size_t)t->args.count),
      .arg_count = t->args.count,
      .dims = 1,
      .global = {t->e->group, 1, 1},
      .local = {t->e->group, 1, 1},
      .trips = -1};
  halo_strbuf_printf(&t->e->s->explain, "%s: while\n    -> while:kernel\n", loop->label);
  enclose_free_lists(loop);
  if (loop->trips >= 0) {
    *loop = launch;
    return;
  }
  halo_vec_push(&loop->lists[0], launch);
}

static void enclose_loop(const enclose_state *e, halo_step *loop) {
  enclose_text t = {.e = e};
  enclose_emit_loop(&t, loop);
  if (enclose_args_fit(e, t.args.count)) enclose_settle(&t, loop);
  for (int32_t i = 0; i < t.units.count; i++) e->number_of_unit[t.units.data[i]] = 0;
  for (int32_t i = 0; i < t.args.count; i++) e->arg_of_buffer[t.args.data[i].buffer] = 0;
  halo_strbuf_deinit(&t.functions);
  halo_strbuf_deinit(&t.body);
  halo_vec_deinit(&t.units);
  halo_vec_deinit(&t.args);
}

/* ---- The plan ---- */

typedef void enclose_visitor(void *data, halo_step *step);

static void enclose_visit(halo_steps *steps, enclose_visitor *visit, void *data) {
  for (int32_t i = 0; i < steps->count; i++) {
    halo_step *step = &steps->data[i];
    visit(data, step);
    for (int32_t l = 0; l < step->list_count; l++) enclose_visit(&step->lists[l], visit, data);
  }
}

static void enclose_note_plain(void *data, halo_step *step) {
  enclose_state *e = data;
  if (step->unit >= 0 && !step->any_local) e->unit_is_plain[step->unit] = false;
}

static void enclose_try(void *data, halo_step *step) {
  enclose_state *e = data;
  if (step->kind == HALO_STEP_WHILE && enclose_pays(e, step)) enclose_loop(e, step);
}

/* Units that steps still have, numbered anew. */
typedef struct enclose_units {
  const halo_plan *plan;
  halo_plan_unit *kept;
  int32_t *number; /* + 1 */
  int32_t count;
} enclose_units;

static void enclose_renumber(void *data, halo_step *step) {
  enclose_units *u = data;
  if (step->unit < 0) return;
  int32_t *number = &u->number[step->unit];
  if (!*number) {
    u->kept[u->count] = u->plan->units.data[step->unit];
    *number = ++u->count;
  }
  step->unit = *number - 1;
}

static void enclose_drop_units(halo_plan *plan) {
  size_t count = (size_t)plan->units.count + 1;
  enclose_units u = {plan, halo_alloc(sizeof *u.kept * count), halo_alloc(sizeof *u.number * count),
                     0};
  enclose_visit(&plan->steps, enclose_renumber, &u);
  memcpy(plan->units.data, u.kept, sizeof *u.kept * (size_t)u.count);
  plan->units.count = u.count;
  halo_free(u.kept);
  halo_free(u.number);
}

void lower_enclose_loops(lower_state *s, const halo_target *target) {
  halo_plan *plan = s->plan;
  int32_t units = plan->units.count;
  enclose_state e = {.s = s, .target = target};
  e.group = s->caps->is_cpu ? 1 : halo_kernel_local_size(s->caps, ENCLOSE_GROUP);
  e.slower = target->rate / (target->item_rate * (double)e.group);
  if (e.slower < s->caps->compute_units) e.slower = s->caps->compute_units;
  if (e.slower < 1) e.slower = 1;
  e.unit_is_plain = halo_alloc((size_t)units + 1);
  memset(e.unit_is_plain, true, (size_t)units + 1);
  e.number_of_unit = halo_alloc(sizeof(int32_t) * ((size_t)units + 1));
  e.arg_of_buffer = halo_alloc(sizeof(int32_t) * ((size_t)plan->buffers.count + 1));
  enclose_visit(&plan->steps, enclose_note_plain, &e);
  enclose_visit(&plan->steps, enclose_try, &e);
  halo_free(e.unit_is_plain);
  halo_free(e.number_of_unit);
  halo_free(e.arg_of_buffer);
  if (plan->units.count > units) enclose_drop_units(plan);
}
