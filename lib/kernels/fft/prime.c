/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/fft/prime.c: a stage whose radix is a prime that is too long to be written out: sums in loops. */
#include "kernels/fft/stage.h"

#include "codegen/ctype.h"

/* Opposite inputs' sums and differences share the multiplications, as in stage_dft_odd: with t_j = x_j + x_(r-j),
 * u_j = x_j - x_(r-j) and the root c_j + i s_j = exp(-2 pi i j / r), a_k = x_0 + sum t_j c_jk and
 * b_k = sum u_j s_jk give y_k = a_k + i b_k and y_(r-k) = a_k - i b_k. */
typedef struct prime_text {
  halo_emitter *e;
  const fft_stage *stage;
  const char *part, *type; /* "float"; what is computed with: that, or a vector of neighbours */
  const char *to;
  int r, lanes;     /* numbers in a vector */
  int64_t m, width; /* as in stage.c */
  int64_t unit;     /* where the roots c and s begin in their halves of the table */
} prime_text;

/* The number at `at` of the array `name`. */
static const char *prime_load(const prime_text *t, const char *name, char part, const char *at) {
  halo_arena *arena = t->e->arena;
  if (t->lanes == 1) return halo_arena_printf(arena, "%s%c[%s]", name, part, at);
  return halo_arena_printf(arena, "vload%d(0, %s%c + %s)", t->lanes, name, part, at);
}

/* Writes the output y`name` to frequency `k`, times its root where lines are left. */
static void prime_store(const prime_text *t, const char *name, const char *k) {
  halo_emitter *e = t->e;
  const char *at =
      halo_arena_printf(e->arena, "q + %lld * (%d * p + %s)", (long long)t->width, t->r, k);
  const char *re = halo_arena_printf(e->arena, "%sr", name);
  const char *im = halo_arena_printf(e->arena, "%si", name);
  halo_emit_line(e, "{");
  if (t->m > 1) {
    const fft_stage *s = t->stage;
    halo_emit_line(e, "const %s wr = %s[%lld + (%s - 1) * %lld + p];", t->part, s->table,
                   (long long)s->root, k, (long long)t->m);
    halo_emit_line(e, "const %s wi = %s[%lld + (%s - 1) * %lld + p];", t->part, s->table,
                   (long long)(s->roots + s->root), k, (long long)t->m);
    halo_emit_line(e, "const %s zr = %s * wr - %s * wi, zi = %s * wi + %s * wr;", t->type, re, im,
                   re, im);
    re = "zr";
    im = "zi";
  }
  for (int part = 0; part < 2; part++) {
    const char *value = part ? im : re;
    if (t->lanes == 1) {
      halo_emit_line(e, "%s%c[%s] = %s;", t->to, "ri"[part], at, value);
    } else {
      halo_emit_line(e, "vstore%d(%s, 0, %s%c + %s);", t->lanes, value, t->to, "ri"[part], at);
    }
  }
  halo_emit_line(e, "}");
}

/* The outputs of frequencies k ... k + count - 1 and of their opposites, from t and u in private arrays. */
static void prime_outputs(const prime_text *t, int count) {
  halo_emitter *e = t->e;
  const fft_stage *s = t->stage;
  for (int i = 0; i < count; i++) {
    halo_emit_line(e, "%s a%dr = x0r, a%di = x0i, b%dr = 0, b%di = 0; int n%d = 0;", t->type, i, i,
                   i, i, i);
  }
  halo_emit_loop(e, halo_arena_printf(e->arena, "for (int j = 0; j < %d; ++j)", t->r / 2));
  for (int i = 0; i < count; i++) {
    halo_emit_line(e, "n%d += k + %d;", i, i);
    halo_emit_line(e, "n%d = n%d >= %d ? n%d - %d : n%d;", i, i, t->r, i, t->r, i);
    halo_emit_line(e, "const %s c%d = %s[%lld + n%d], s%d = %s[%lld + n%d];", t->part, i, s->table,
                   (long long)t->unit, i, i, s->table, (long long)(s->roots + t->unit), i);
    halo_emit_line(e, "a%dr += tr[j] * c%d, a%di += ti[j] * c%d;", i, i, i, i);
    halo_emit_line(e, "b%dr += ur[j] * s%d, b%di += ui[j] * s%d;", i, i, i, i);
  }
  halo_emit_close(e);
  for (int i = 0; i < count; i++) {
    halo_emit_line(e, "const %s y%dr = a%dr - b%di, y%di = a%di + b%dr;", t->type, i, i, i, i, i,
                   i);
    halo_emit_line(e, "const %s z%dr = a%dr + b%di, z%di = a%di - b%dr;", t->type, i, i, i, i, i,
                   i);
    prime_store(t, halo_arena_printf(e->arena, "y%d", i),
                halo_arena_printf(e->arena, "(k + %d)", i));
    prime_store(t, halo_arena_printf(e->arena, "z%d", i),
                halo_arena_printf(e->arena, "(%d - k)", t->r - i));
  }
}

/* For the place p and the neighbours from q on: all outputs. */
static void prime_all(const prime_text *t, const char *from) {
  halo_emitter *e = t->e;
  int half = t->r / 2;
  long long width = t->width, m = t->m;
  const char *first = halo_arena_printf(e->arena, "q + %lld * p", width);
  const char *low = halo_arena_printf(e->arena, "q + %lld * (p + %lld * j)", width, m);
  const char *high =
      halo_arena_printf(e->arena, "q + %lld * (p + %lld * (%d - j))", width, m, t->r);
  size_t size = halo_type_size(t->stage->pass->part);
  int64_t room = halo_private_room(half, size);
  static const char *const names[] = {"tr", "ti", "ur", "ui"};
  for (int i = 0; i < 4; i++) halo_emit_array(e, t->type, names[i], room, size);
  for (int part = 0; part < 2; part++) {
    char c = "ri"[part];
    halo_emit_line(e, "const %s x0%c = %s;", t->type, c, prime_load(t, from, c, first));
    halo_emit_line(e, "%s d%c = x0%c;", t->type, c, c);
  }
  halo_emit_loop(e, halo_arena_printf(e->arena, "for (int j = 1; j <= %d; ++j)", half));
  for (int part = 0; part < 2; part++) {
    char c = "ri"[part];
    halo_emit_line(e, "const %s f%c = %s, g%c = %s;", t->type, c, prime_load(t, from, c, low), c,
                   prime_load(t, from, c, high));
    halo_emit_line(e, "t%c[j - 1] = f%c + g%c, u%c[j - 1] = f%c - g%c, d%c += t%c[j - 1];", c, c, c,
                   c, c, c, c, c);
  }
  halo_emit_close(e);
  const char *zero = halo_arena_printf(e->arena, "q + %lld * (%d * p)", width, t->r);
  for (int part = 0; part < 2; part++) {
    char c = "ri"[part];
    if (t->lanes == 1) {
      halo_emit_line(e, "%s%c[%s] = d%c;", t->to, c, zero, c);
    } else {
      halo_emit_line(e, "vstore%d(d%c, 0, %s%c + %s);", t->lanes, c, t->to, c, zero);
    }
  }
  int pairs = half / 2 * 2;
  halo_emit_loop(e, halo_arena_printf(e->arena, "for (int k = 1; k <= %d; k += 2)", pairs));
  prime_outputs(t, 2);
  halo_emit_close(e);
  if (pairs == half) return;
  halo_emit_line(e, "const int k = %d;", half);
  prime_outputs(t, 1);
}

/* On CPUs a work item has all, in vectors of neighbours; the last of them overlaps the one before. */
static void prime_vectors(prime_text *t, const char *from) {
  halo_emitter *e = t->e;
  long long width = t->width;
  int lanes = 32 / (int)halo_type_size(t->stage->pass->part);
  t->lanes = width >= lanes ? lanes : 1;
  t->type = t->lanes > 1 ? halo_arena_printf(e->arena, "%s%d", t->part, t->lanes) : t->part;
  halo_emit_loop(e, halo_arena_printf(e->arena, "for (int p = 0; p < %lld; ++p)", (long long)t->m));
  halo_emit_loop(
      e, halo_arena_printf(e->arena, "for (int v = 0; v < %lld; v += %d)", width, t->lanes));
  halo_emit_line(e, "const int q = min(v, %lld);", width - t->lanes);
  prime_all(t, from);
  halo_emit_close(e);
  halo_emit_close(e);
}

/* Items of a group take turns by outputs: a frequency and its opposite each, which read the line from local
 * memory; neighbours read neighbours. */
static void prime_items(prime_text *t, const char *from) {
  halo_emitter *e = t->e;
  const fft_stage *s = t->stage;
  long long width = t->width, m = t->m, side = width * m;
  int r = t->r;
  t->lanes = 1;
  t->type = t->part;
  halo_emit_loop(e, halo_arena_printf(e->arena, "for (int b = l; b < %lld; b += %lld)",
                                      side * (t->r / 2 + 1), (long long)s->pass->items));
  halo_emit_line(e, "const int k = b / %lld, p = b %% %lld / %lld, q = b %% %lld;", side, side,
                 width, width);
  for (int part = 0; part < 2; part++) {
    char c = "ri"[part];
    halo_emit_line(e, "%s a%c = %s%c[q + %lld * p], b%c = 0;", t->part, c, from, c, width, c);
  }
  halo_emit_line(e, "int n = 0;");
  halo_emit_loop(e, halo_arena_printf(e->arena, "for (int j = 1; j <= %d; ++j)", t->r / 2));
  halo_emit_line(e, "n += k;");
  halo_emit_line(e, "n = n >= %d ? n - %d : n;", t->r, t->r);
  halo_emit_line(e, "const %s c = %s[%lld + n], s = %s[%lld + n];", t->part, s->table,
                 (long long)t->unit, s->table, (long long)(s->roots + t->unit));
  halo_emit_line(e, "const int low = q + %lld * (p + %lld * j);", width, m);
  halo_emit_line(e, "const int high = q + %lld * (p + %lld * (%d - j));", width, m, t->r);
  for (int part = 0; part < 2; part++) {
    char c = "ri"[part];
    halo_emit_line(e, "a%c += (%s%c[low] + %s%c[high]) * c, b%c += (%s%c[low] - %s%c[high]) * s;",
                   c, from, c, from, c, c, from, c, from, c);
  }
  halo_emit_close(e);
  halo_emit_line(e, "const %s fr = ar - bi, fi = ai + br, gr = ar + bi, gi = ai - br;", t->part);
  halo_emit_branch(e, "if (k > 0)");
  prime_store(t, "f", "k");
  prime_store(t, "g", halo_arena_printf(e->arena, "(%d - k)", t->r));
  halo_emit_close(e);
  halo_emit_branch(e, "else");
  for (int part = 0; part < 2; part++) {
    halo_emit_line(e, "%s%c[q + %lld * (%d * p)] = a%c;", t->to, "ri"[part], width, r, "ri"[part]);
  }
  halo_emit_close(e);
  halo_emit_close(e);
}

void fft_stage_prime(halo_emitter *e, const fft_stage *stage, const char *from, const char *to) {
  prime_text t = {.e = e, .stage = stage, .part = halo_ctype_compute(stage->pass->part), .to = to};
  t.r = stage->pass->radices[stage->number];
  t.m = stage->length / t.r;
  t.width = stage->pass->n / stage->length * stage->pass->lanes;
  t.unit = stage->root + (t.m > 1 ? (t.r - 1) * t.m : 0);
  if (stage->pass->items > 1) {
    prime_items(&t, from);
  } else {
    prime_vectors(&t, from);
  }
}
