/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/fft/stage.c: the stages of a line in local memory (Stockham's form: what comes out is in order). */
#include "kernels/fft/stage.h"
#include "codegen/ctype.h"

#include <math.h>

/* ---- Small transforms, written out: x0r x0i x1r ... to y0r y0i y1r ... ---- */

typedef struct stage_text {
  halo_emitter *e;
  const char *type; /* "float", "double" */
  bool is_double;
} stage_text;

static const char *stage_number(const stage_text *t, long double value) {
  return halo_arena_printf(t->e->arena, t->is_double ? "%.17g" : "%.9gf", (double)value);
}

static void stage_dft2(const stage_text *t, const char *in, int a, int b, const char *out, int y0,
                       int y1) {
  halo_emit_line(t->e, "const %s %s%dr = %s%dr + %s%dr, %s%di = %s%di + %s%di;", t->type, out, y0,
                 in, a, in, b, out, y0, in, a, in, b);
  halo_emit_line(t->e, "const %s %s%dr = %s%dr - %s%dr, %s%di = %s%di - %s%di;", t->type, out, y1,
                 in, a, in, b, out, y1, in, a, in, b);
}

/* Of in[a], in[b], in[c], in[d]; results are named out0, out1, ...; `work` names what is between. */
static void stage_dft4(const stage_text *t, const char *in, const int at[4], const char *work,
                       const char *out) {
  stage_dft2(t, in, at[0], at[2], work, 0, 1);
  stage_dft2(t, in, at[1], at[3], work, 2, 3);
  stage_dft2(t, work, 0, 2, out, 0, 2);
  halo_emit_line(t->e, "const %s %s1r = %s1r + %s3i, %s1i = %s1i - %s3r;", t->type, out, work, work,
                 out, work, work);
  halo_emit_line(t->e, "const %s %s3r = %s1r - %s3i, %s3i = %s1i + %s3r;", t->type, out, work, work,
                 out, work, work);
}

static void stage_dft8(const stage_text *t) {
  static const int even[] = {0, 2, 4, 6}, odd[] = {1, 3, 5, 7};
  const char *h = stage_number(t, sqrtl(0.5L));
  stage_dft4(t, "x", even, "f", "c");
  stage_dft4(t, "x", odd, "g", "d");
  halo_emit_line(t->e, "const %s e0r = d0r, e0i = d0i, e2r = d2i, e2i = -d2r;", t->type);
  halo_emit_line(t->e, "const %s e1r = (d1r + d1i) * %s, e1i = (d1i - d1r) * %s;", t->type, h, h);
  halo_emit_line(t->e, "const %s e3r = (d3i - d3r) * %s, e3i = (d3r + d3i) * -%s;", t->type, h, h);
  for (int k = 0; k < 4; k++) {
    halo_emit_line(t->e, "const %s y%dr = c%dr + e%dr, y%di = c%di + e%di;", t->type, k, k, k, k, k,
                   k);
    halo_emit_line(t->e, "const %s y%dr = c%dr - e%dr, y%di = c%di - e%di;", t->type, k + 4, k, k,
                   k + 4, k, k);
  }
}

/* Odd lengths: sums and differences of opposite inputs share the multiplications. */
static void stage_dft_odd(const stage_text *t, int r) {
  static const long double turn = 6.283185307179586476925286766559005768L;
  int half = r / 2;
  for (int j = 1; j <= half; j++) {
    halo_emit_line(t->e, "const %s t%dr = x%dr + x%dr, t%di = x%di + x%di;", t->type, j, j, r - j,
                   j, j, r - j);
    halo_emit_line(t->e, "const %s u%dr = x%dr - x%dr, u%di = x%di - x%di;", t->type, j, j, r - j,
                   j, j, r - j);
  }
  for (int part = 0; part < 2; part++) {
    halo_strbuf sum = {0};
    for (int j = 1; j <= half; j++) halo_strbuf_printf(&sum, " + t%d%c", j, "ri"[part]);
    halo_emit_line(t->e, "const %s y0%c = x0%c%s;", t->type, "ri"[part], "ri"[part],
                   halo_strbuf_text(&sum));
    halo_strbuf_deinit(&sum);
  }
  for (int k = 1; k <= half; k++) {
    for (int part = 0; part < 2; part++) {
      halo_strbuf a = {0}, b = {0};
      for (int j = 1; j <= half; j++) {
        const char *c = stage_number(t, cosl(turn * (j * k % r) / r));
        const char *s = stage_number(t, sinl(turn * (j * k % r) / r));
        halo_strbuf_printf(&a, " + t%d%c * %s", j, "ri"[part], c);
        halo_strbuf_printf(&b, "%su%d%c * %s", j > 1 ? " + " : "", j, "ri"[part], s);
      }
      halo_emit_line(t->e, "const %s a%d%c = x0%c%s;", t->type, k, "ri"[part], "ri"[part],
                     halo_strbuf_text(&a));
      halo_emit_line(t->e, "const %s b%d%c = %s;", t->type, k, "ri"[part], halo_strbuf_text(&b));
      halo_strbuf_deinit(&a);
      halo_strbuf_deinit(&b);
    }
    halo_emit_line(t->e, "const %s y%dr = a%dr + b%di, y%di = a%di - b%dr;", t->type, k, k, k, k, k,
                   k);
    halo_emit_line(t->e, "const %s y%dr = a%dr - b%di, y%di = a%di + b%dr;", t->type, r - k, k, k,
                   r - k, k, k);
  }
}

static void stage_dft(const stage_text *t, int r) {
  static const int all[] = {0, 1, 2, 3};
  switch (r) {
    case 2: stage_dft2(t, "x", 0, 1, "y", 0, 1); break;
    case 4: stage_dft4(t, "x", all, "f", "y"); break;
    case 8: stage_dft8(t); break;
    default: stage_dft_odd(t, r); break;
  }
}

/* ---- Stages ---- */

/* Opens the loops over p < m (a position among the lines that are left) and q < width (what lies side by side
 * there). A CPU's work item takes all, neighbours innermost; items of a group take turns. */
static int stage_open_loops(halo_emitter *e, int64_t m, int64_t width, int64_t items) {
  if (items > 1) {
    halo_emit_loop(e, halo_arena_printf(e->arena, "for (int b = l; b < %lld; b += %lld)",
                                        (long long)(m * width), (long long)items));
    halo_emit_line(e, "const int p = b / %lld, q = b %% %lld;", (long long)width, (long long)width);
    return 1;
  }
  halo_emit_loop(e, halo_arena_printf(e->arena, "for (int p = 0; p < %lld; ++p)", (long long)m));
  return width > 1 ? 2 : 1;
}

void fft_stage_emit(halo_emitter *e, const fft_stage *stage, const char *from, const char *to) {
  const fft_pass *pass = stage->pass;
  stage_text t = {e, halo_ctype_compute(pass->part), pass->part == HALO_F64};
  int r = pass->radices[stage->number];
  int64_t m = stage->length / r, width = pass->n / stage->length * pass->lanes;
  if (r > FFT_WRITTEN) {
    fft_stage_prime(e, stage, from, to);
    return;
  }
  int loops = stage_open_loops(e, m, width, pass->items);
  for (int k = 1; k < r && m > 1; k++) {
    halo_emit_line(e, "const %s w%dr = %s[%lld + p], w%di = %s[%lld + p];", t.type, k, stage->table,
                   (long long)(stage->root + (k - 1) * m), k, stage->table,
                   (long long)(stage->roots + stage->root + (k - 1) * m));
  }
  if (loops == 2) {
    halo_emit_loop(e,
                   halo_arena_printf(e->arena, "for (int q = 0; q < %lld; ++q)", (long long)width));
  } else if (pass->items == 1) {
    halo_emit_line(e, "const int q = 0;");
  }
  for (int j = 0; j < r; j++) {
    const char *at =
        halo_arena_printf(e->arena, "q + %lld * (p + %lld)", (long long)width, (long long)(m * j));
    halo_emit_line(e, "const %s x%dr = %sr[%s], x%di = %si[%s];", t.type, j, from, at, j, from, at);
  }
  stage_dft(&t, r);
  for (int k = 0; k < r; k++) {
    const char *at =
        halo_arena_printf(e->arena, "q + %lld * (%d * p + %d)", (long long)width, r, k);
    if (k == 0 || m == 1) {
      halo_emit_line(e, "%sr[%s] = y%dr, %si[%s] = y%di;", to, at, k, to, at, k);
    } else {
      halo_emit_line(e, "%sr[%s] = y%dr * w%dr - y%di * w%di;", to, at, k, k, k, k);
      halo_emit_line(e, "%si[%s] = y%dr * w%di + y%di * w%dr;", to, at, k, k, k, k);
    }
  }
  while (loops--) halo_emit_close(e);
}
