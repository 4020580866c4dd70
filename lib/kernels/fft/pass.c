/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/fft/pass.c: the kernel of one pass: groups load lines, transform them in local memory, on CPUs in an item's own,
 * and store them. */
#include "codegen/ctype.h"
#include "kernels/fft/stage.h"

typedef struct pass_writer {
  halo_lowering *l;
  const fft_pass *pass;
  halo_helpers helpers;
  halo_emitter *e;
  halo_integers *pool;
  emit_frame *frame;
  const char *part, *pair; /* "float", "float2" */
  /* Of the element at hand. */
  const halo_integer *lead, *i, *inner; /* its line and its place in the line */
} pass_writer;

static halo_type pass_complex(const fft_pass *pass) {
  return pass->part == HALO_F64 ? HALO_C128 : HALO_C64;
}

static const halo_integer *pass_sum(pass_writer *w, const halo_integer *a, int64_t by,
                                    const halo_integer *b) {
  return halo_integer_add(w->pool, halo_integer_mul(w->pool, a, by), b);
}

/* Position in [lead][n][inner]. */
static const halo_integer *pass_own_position(pass_writer *w) {
  return pass_sum(w, pass_sum(w, w->lead, w->pass->n, w->i), w->pass->inner, w->inner);
}

/* ---- Loops over the elements of a group's lines ---- */

/* Lines side by side are neighbours in memory, or follow each other as wholes. */
static bool pass_is_interleaved(const fft_pass *pass) { return pass->inner > 1; }

/* Opens loops over the place i and the lane c, in the order of memory: by lanes first where `lanes_inside`. */
static int pass_open_lines(pass_writer *w, bool lanes_inside) {
  const fft_pass *pass = w->pass;
  halo_emitter *e = w->e;
  long long n = pass->n, lanes = pass->lanes;
  if (pass->items > 1) {
    halo_emit_loop(e, halo_arena_printf(e->arena, "for (int b = l; b < %lld; b += %lld)", n * lanes,
                                        (long long)pass->items));
    if (lanes_inside) {
      halo_emit_line(e, "const int i = b / %lld, c = b %% %lld;", lanes, lanes);
    } else {
      halo_emit_line(e, "const int i = b %% %lld, c = b / %lld;", n, n);
    }
    return 1;
  }
  const char *i = halo_arena_printf(e->arena, "for (int i = 0; i < %lld; ++i)", n);
  const char *c = halo_arena_printf(e->arena, "for (int c = 0; c < %lld; ++c)", lanes);
  if (lanes == 1) {
    halo_emit_loop(e, i);
    halo_emit_line(e, "const int c = 0;");
    return 1;
  }
  halo_emit_loop(e, lanes_inside ? i : c);
  halo_emit_loop(e, lanes_inside ? c : i);
  return 2;
}

/* The line of lane c: the last ones of a group may not exist. Loads then take the last that does. */
static void pass_find_line(pass_writer *w, bool clamp) {
  const fft_pass *pass = w->pass;
  halo_emitter *e = w->e;
  int64_t along = pass_is_interleaved(pass) ? pass->inner : pass->lead;
  const char *itype = halo_emitter_index_type(e);
  bool ragged = along % pass->lanes != 0;
  if (ragged && clamp) {
    halo_emit_line(e, "const %s line = min(line0 + c, (%s)%lld);", itype, itype,
                   (long long)(along - 1));
  } else {
    halo_emit_line(e, "const %s line = line0 + c;", itype);
  }
  const halo_integer *line = halo_emit_counter(e, "line", along);
  const halo_integer *zero = halo_integer_constant(w->pool, 0);
  w->i = halo_emit_counter(e, "i", pass->n);
  w->inner = pass_is_interleaved(pass) ? line : zero;
  w->lead = pass_is_interleaved(pass) ? halo_emit_counter(e, "lead0", pass->lead) : line;
}

/* Whether the lane's line exists, as a test to open; NULL: it always does. */
static const char *pass_line_test(const pass_writer *w) {
  const fft_pass *pass = w->pass;
  int64_t along = pass_is_interleaved(pass) ? pass->inner : pass->lead;
  if (along % pass->lanes == 0) return NULL;
  return halo_arena_printf(w->e->arena, "if (line0 + c < %lld)", (long long)along);
}

/* ---- Elements of the operand and of the result ---- */

/* The index of element `at` along the axis of an array of these dims. */
static emit_index *pass_index(pass_writer *w, const int64_t *dims, int rank,
                              const halo_integer *outer, const halo_integer *at,
                              const halo_integer *tail) {
  const halo_integer *coordinates[HALO_MAX_RANK + 1];
  for (int d = w->pass->dimension - 1; d >= 0; d--) {
    coordinates[d] = d > 0 ? halo_integer_mod(w->pool, outer, dims[d]) : outer;
    outer = halo_integer_div(w->pool, outer, dims[d]);
  }
  coordinates[w->pass->dimension] = at;
  for (int d = rank - 1; d > w->pass->dimension; d--) {
    bool slowest = d == w->pass->dimension + 1;
    coordinates[d] = slowest ? tail : halo_integer_mod(w->pool, tail, dims[d]);
    tail = halo_integer_div(w->pool, tail, dims[d]);
  }
  return halo_index_of(w->e, rank, dims, coordinates);
}

static const char *pass_scratch(pass_writer *w, int number) {
  return halo_emit_arg(w->e, HALO_ROLE_SCRATCH, number, pass_complex(w->pass), NULL);
}

/* ---- Loading ---- */

/* Names the source's element "x": of the axis's place `at` for the first pass, its own one for others. */
static void pass_load_source(pass_writer *w, const halo_integer *at) {
  const fft_pass *pass = w->pass;
  halo_emitter *e = w->e;
  const halo_integer *outer = w->lead, *tail = NULL;
  if (pass->first) tail = halo_integer_mod(w->pool, w->inner, pass->tail);
  if (pass->from != FFT_ARRAY) {
    const char *scratch = pass_scratch(w, pass->from);
    const halo_integer *position = pass_own_position(w);
    if (pass->first) {
      position = pass_sum(w, pass_sum(w, outer, pass->extent_in, at), pass->tail, tail);
    }
    halo_emit_line(e, "%s x = %s[%s];", w->pair, scratch, halo_emit_integer(e, position));
    return;
  }
  const halo_instr *operand = w->l->hero->operands[0];
  const halo_shape *shape = operand->shape;
  emit_index *index = pass_index(w, shape->dims, shape->rank, outer, at, tail);
  halo_value value = halo_emit_value(e, w->frame, operand, 0, index);
  if (halo_type_is_complex(shape->type)) {
    halo_emit_line(e, "%s x = %s;", w->pair, value.text);
  } else {
    halo_emit_line(e, "%s x = (%s)(%s, 0);", w->pair, w->pair, value.text);
  }
}

/* The half of a spectrum that is not there is the conjugate of the other; what has no partner is real. */
static void pass_load_mirrored(pass_writer *w) {
  const fft_pass *pass = w->pass;
  halo_emitter *e = w->e;
  long long half = pass->axis / 2;
  halo_emit_line(e, "const %s there = place <= %lld ? place : %lld - place;",
                 halo_emitter_index_type(e), half, (long long)pass->axis);
  pass_load_source(w, halo_emit_counter(e, "there", pass->extent_in));
  halo_emit_line(e, "if (place > %lld) x.y = -x.y;", half);
  if (pass->axis % 2 == 0) {
    halo_emit_line(e, "if ((place == 0) | (place == %lld)) x.y = 0;", half);
  } else {
    halo_emit_line(e, "if (place == 0) x.y = 0;");
  }
}

static void pass_multiply(pass_writer *w, const char *x, const halo_literal *table,
                          const halo_integer *at) {
  halo_emitter *e = w->e;
  const char *name = halo_emit_arg(e, HALO_ROLE_CONST, 0, pass_complex(w->pass), table);
  const char *place = halo_emit_integer(e, at);
  halo_emit_line(e,
                 "%s = (%s)(%s.x * %s[%s].x - %s.y * %s[%s].y, %s.x * %s[%s].y + %s.y * %s[%s].x);",
                 x, w->pair, x, name, place, x, name, place, x, name, place, x, name, place);
}

static void pass_load(pass_writer *w) {
  const fft_pass *pass = w->pass;
  halo_emitter *e = w->e;
  int loops = pass_open_lines(w, pass_is_interleaved(pass));
  pass_find_line(w, true);
  const halo_integer *at = NULL;
  if (pass->first) {
    at = halo_integer_div(w->pool, w->inner, pass->tail);
    at = pass_sum(w, w->i, pass->length / pass->n, at);
  }
  const char *to = halo_arena_printf(e->arena, "i * %lld + c", (long long)pass->lanes);
  int64_t given = pass->mirror ? pass->axis : pass->extent_in;
  bool padded = pass->first && given < pass->length;
  if (padded || pass->mirror) {
    halo_emit_line(e, "const %s place = %s;", halo_emitter_index_type(e), halo_emit_integer(e, at));
    at = halo_emit_counter(e, "place", given);
  }
  if (padded) {
    halo_emit_line(e, "xr[%s] = 0, xi[%s] = 0;", to, to);
    halo_emit_branch(e, halo_arena_printf(e->arena, "if (h_below(place, %lld))", (long long)given));
  }
  if (pass->mirror) {
    pass_load_mirrored(w);
  } else {
    pass_load_source(w, at);
  }
  if (pass->swap_in) halo_emit_line(e, "x = x.yx;");
  if (pass->before_table) pass_multiply(w, "x", pass->before_table, at);
  halo_emit_line(e, "xr[%s] = x.x, xi[%s] = x.y;", to, to);
  if (padded) halo_emit_close(e);
  while (loops--) halo_emit_close(e);
}

/* ---- Storing ---- */

static const char *pass_scale(const pass_writer *w) {
  const char *format = w->pass->part == HALO_F64 ? "%.17g" : "%.9gf";
  const char *text = halo_arena_printf(w->e->arena, format, w->pass->scale);
  return w->pass->scale == 1 ? NULL : text;
}

/* To the result, with all that follows elementwise; or to a scratch. */
static void pass_store_target(pass_writer *w, const halo_integer *outer, const halo_integer *at,
                              const halo_integer *tail) {
  const fft_pass *pass = w->pass;
  halo_emitter *e = w->e;
  if (pass->to != FFT_ARRAY) {
    const halo_integer *position =
        pass_sum(w, pass_sum(w, outer, pass->extent_out, at), pass->tail, tail);
    halo_emit_line(e, "%s[%s] = y;", pass_scratch(w, pass->to), halo_emit_integer(e, position));
    return;
  }
  const halo_shape *shape = w->l->hero->shape;
  emit_index *index = pass_index(w, shape->dims, shape->rank, outer, at, tail);
  const char *value = halo_type_is_complex(shape->type) ? "y" : "z";
  if (!halo_type_is_complex(shape->type)) halo_emit_line(e, "const %s z = y.x;", w->part);
  halo_frame_bind(e, w->frame, w->l->hero, 0, halo_value_name(shape->type, value));
  halo_helpers_store(&w->helpers, w->frame, shape, index);
}

/* Frequency i behind digits: the place on the axis of what the last pass makes. */
static const halo_integer *pass_frequency(pass_writer *w, const halo_integer **outer) {
  const fft_pass *pass = w->pass;
  *outer = halo_integer_div(w->pool, w->lead, pass->before);
  const halo_integer *digits = halo_integer_mod(w->pool, w->lead, pass->before);
  const halo_integer *at = halo_integer_mul(w->pool, w->i, pass->before);
  /* Earlier digits, the first of which is the slowest in memory and the lowest of the frequency. */
  int64_t below = 1, left = pass->before;
  for (int d = 0; left > 1; d++) {
    int64_t n = pass->digits[d];
    left /= n;
    const halo_integer *digit =
        halo_integer_mod(w->pool, halo_integer_div(w->pool, digits, left), n);
    at = pass_sum(w, digit, below, at);
    below *= n;
  }
  return at;
}

/* Roots of unity by the digit and what is left of the place. */
static void pass_twiddle(pass_writer *w) {
  const fft_pass *pass = w->pass;
  halo_emitter *e = w->e;
  const char *table = halo_emit_arg(e, HALO_ROLE_CONST, 0, pass_complex(pass), pass->twiddles);
  const halo_integer *rest = halo_integer_div(w->pool, w->inner, pass->tail);
  const char *itype = halo_emitter_index_type(e);
  long long fine = pass->twiddles_fine;
  halo_emit_line(e, "const %s angle = i * (%s)%s;", itype, itype, halo_emit_integer(e, rest));
  halo_emit_line(e, "const %s t = %s[angle %% %lld], o = %s[%lld + angle / %lld];", w->pair, table,
                 fine, table, fine, fine);
  halo_emit_line(e, "const %s u = (%s)(t.x * o.x - t.y * o.y, t.x * o.y + t.y * o.x);", w->pair,
                 w->pair);
  halo_emit_line(e, "y = (%s)(y.x * u.x - y.y * u.y, y.x * u.y + y.y * u.x);", w->pair);
}

static void pass_store(pass_writer *w, const char *from) {
  const fft_pass *pass = w->pass;
  halo_emitter *e = w->e;
  bool lanes_inside = pass_is_interleaved(pass) || (pass->last && pass->before > 1);
  int loops = pass_open_lines(w, lanes_inside);
  const char *test = pass_line_test(w);
  if (test) halo_emit_branch(e, test);
  pass_find_line(w, false);
  halo_emit_line(e, "%s y = (%s)(%sr[i * %lld + c], %si[i * %lld + c]);", w->pair, w->pair, from,
                 (long long)pass->lanes, from, (long long)pass->lanes);
  if (!pass->last) {
    pass_twiddle(w);
    halo_emit_line(e, "%s[%s] = y;", pass_scratch(w, pass->to),
                   halo_emit_integer(e, pass_own_position(w)));
  } else {
    const halo_integer *outer, *at = pass_frequency(w, &outer);
    bool cut = pass->extent_out < pass->length;
    if (cut) {
      halo_emit_line(e, "const %s place = %s;", halo_emitter_index_type(e),
                     halo_emit_integer(e, at));
      halo_emit_branch(
          e, halo_arena_printf(e->arena, "if (h_below(place, %lld))", (long long)pass->extent_out));
      at = halo_emit_counter(e, "place", pass->extent_out);
    }
    if (pass->swap_middle) halo_emit_line(e, "y = y.yx;");
    if (pass->after_table) pass_multiply(w, "y", pass->after_table, at);
    if (pass->swap_out) halo_emit_line(e, "y = y.yx;");
    const char *scale = pass_scale(w);
    if (scale) halo_emit_line(e, "y = y * %s;", scale);
    if (pass->real) {
      halo_emit_line(e, "const %s real = %s;", halo_emitter_index_type(e),
                     halo_emit_integer(e, at));
      halo_emit_line(e, "y.y = (real == 0) | (real == %lld) ? 0 : y.y;",
                     (long long)(pass->axis % 2 ? 0 : pass->axis / 2));
    }
    pass_store_target(w, outer, at, w->inner);
    if (cut) halo_emit_close(e);
  }
  if (test) halo_emit_close(e);
  while (loops--) halo_emit_close(e);
}

/* ---- The kernel ---- */

static void pass_begin(pass_writer *w) {
  const fft_pass *pass = w->pass;
  halo_emitter *e = w->e;
  const char *itype = halo_emitter_index_type(e);
  const char *space = pass->items > 1 ? HALO_LOCAL : "";
  long long size = pass->n * pass->lanes, lanes = pass->lanes;
  if (pass->items == 1) size = halo_private_room(size, sizeof(float));
  (pass->items > 1 ? halo_kernel_local : halo_kernel_private)(w->l, 4 * size,
                                                              halo_type_size(pass->part));
  halo_emit_line(e, "%s%s xr[%lld], xi[%lld], yr[%lld], yi[%lld];", space, w->part, size, size,
                 size, size);
  if (pass->items > 1) halo_emit_line(e, "const int l = (int)" HALO_LOCAL_ID_0 ";");
  const char *group = halo_arena_printf(
      e->arena, pass->items > 1 ? "(%s)" HALO_GROUP_ID_0 : "(%s)" HALO_GLOBAL_ID_0, itype);
  if (pass_is_interleaved(pass)) {
    long long blocks = (pass->inner + lanes - 1) / lanes;
    halo_emit_line(e, "const %s lead0 = %s / %lld;", itype, group, blocks);
    halo_emit_line(e, "const %s line0 = %s %% %lld * %lld;", itype, group, blocks, lanes);
  } else {
    halo_emit_line(e, "const %s line0 = %s * %lld;", itype, group, lanes);
  }
}

static void pass_barrier(const pass_writer *w, halo_emitter *e) {
  if (w->pass->items > 1) halo_emit_line(e, HALO_BARRIER "CLK_LOCAL_MEM_FENCE);");
}

/* The stages of a line, from the arrays x to y and back; gives the name of those that have the result. */
static const char *pass_stages(const pass_writer *w, halo_emitter *e, const char *table) {
  const fft_pass *pass = w->pass;
  int64_t roots = pass->roots ? halo_shape_element_count(pass->roots->shape) / 2 : 0;
  int64_t length = pass->n, root = 0;
  const char *from = "x", *to = "y";
  for (int s = 0; s < pass->stage_count; s++) {
    int r = pass->radices[s];
    pass_barrier(w, e);
    fft_stage_emit(e, &(fft_stage){pass, s, length, root, roots, table}, from, to);
    length /= r;
    root += fft_stage_roots(r, length);
    const char *swapped = from;
    from = to;
    to = swapped;
  }
  return from;
}

/* The same as a call of a function, of which there is one for all passes with such lines: what they load and store
 * differs, and is little beside it. */
static const char *pass_call_stages(const pass_writer *w, const char *table) {
  const fft_pass *pass = w->pass;
  halo_strbuf name = {0};
  halo_strbuf_printf(&name, HALO_SHARED_NAME "fft_%s_%lldx%lld", w->part, (long long)pass->n,
                     (long long)pass->lanes);
  for (int s = 0; s < pass->stage_count; s++) halo_strbuf_printf(&name, "_%d", pass->radices[s]);
  const char *call = halo_strbuf_text(&name);
  halo_emitter body;
  halo_emitter_init(&body, w->l->arena, w->l->computation);
  const char *from = pass_stages(w, &body, "roots");
  const char *part = w->part;
  halo_kernel_add_function(
      w->l->source, call,
      halo_arena_printf(w->l->arena,
                        "static " HALO_KERNEL_SHARED_FUNCTION
                        "void %s(%s *restrict xr, %s *restrict xi, "
                        "%s *restrict yr, %s *restrict yi, "
                        "__global const %s *restrict roots) {\n%s}\n",
                        call, part, part, part, part, part, halo_strbuf_text(&body.body)));
  halo_emit_line(w->e, "%s(xr, xi, yr, yi, %s);", call, table ? table : "0");
  w->l->facts.has_loops |= body.has_loops;
  w->l->facts.private_bytes += body.private_bytes;
  halo_emitter_deinit(&body);
  halo_strbuf_deinit(&name);
  return from;
}

static void pass_write(pass_writer *w) {
  const fft_pass *pass = w->pass;
  halo_emitter *e = w->e;
  pass_begin(w);
  pass_load(w);
  const char *table =
      pass->roots ? halo_emit_arg(e, HALO_ROLE_CONST, 0, pass->part, pass->roots) : NULL;
  const char *from = pass->items > 1 ? pass_stages(w, e, table) : pass_call_stages(w, table);
  pass_barrier(w, e);
  pass_store(w, from);
}

halo_status fft_pass_lower(halo_lowering *l, const fft_pass *pass) {
  pass_writer w = {.l = l, .pass = pass};
  int64_t elements = pass->lead * pass->n * pass->inner;
  w.part = halo_ctype_compute(pass->part);
  w.pair = halo_ctype_compute(pass_complex(pass));
  const char *name = halo_kernel_name(l, "fft");
  halo_helpers_begin(&w.helpers, l, name, elements > INT32_MAX / 2);
  w.e = &w.helpers.e;
  w.pool = &w.e->integers;
  w.frame = halo_frame_kernel(w.e, l->computation);
  pass_write(&w);
  if (w.e->status == HALO_OK) {
    const char *label = halo_arena_printf(l->arena, "%s fft:stockham", l->name);
    if (pass->items > 1) halo_kernel_group(l, (size_t)pass->items, 1);
    halo_launch *launch = halo_kernel_add(l, w.e, name, label, 0);
    int64_t along = pass_is_interleaved(pass) ? pass->inner : pass->lead;
    int64_t groups = (along + pass->lanes - 1) / pass->lanes;
    if (pass_is_interleaved(pass)) groups *= pass->lead;
    launch->grid.local[0] = (size_t)pass->items;
    launch->grid.global[0] = (size_t)(groups * pass->items);
  }
  return halo_helpers_end(&w.helpers);
}
