/* SPDX-License-Identifier: Apache-2.0 */
/* tools/bench/scale_forms.c: programs of any size in several forms, as HLO text. */
#include "scale_forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void scale_writer(FILE *out, int count);

static void scale_begin(FILE *out) {
  fputs("HloModule scale\n", out);
  fputs("ENTRY e {\n  x0 = f32[64] parameter(0)\n  y0 = f32[64] parameter(1)\n", out);
}

/* (f32[64], f32[64], ...) */
static void scale_tuple_type(FILE *out, int count) {
  for (int i = 0; i < count; i++) fputs(i ? ", f32[64]" : "(f32[64]", out);
  fputs(")", out);
}

static void scale_root_tuple(FILE *out, const char *prefix, int first, int count) {
  fputs("  ROOT r = ", out);
  scale_tuple_type(out, count);
  for (int i = 0; i < count; i++) fprintf(out, "%s%s%d", i ? ", " : " tuple(", prefix, first + i);
  fputs(")\n}\n", out);
}

/* Each value from the one before. */
static void scale_links(FILE *out, int count) {
  for (int i = 1; i < count; i++) {
    fprintf(out, i % 3 ? "  x%d = f32[64] add(x%d, y0)\n" : "  x%d = f32[64] sine(x%d)\n", i,
            i - 1);
  }
}

static void scale_chain(FILE *out, int count) {
  scale_begin(out);
  scale_links(out, count);
  fprintf(out, "  ROOT r = f32[64] negate(x%d)\n}\n", count - 1);
}

static void scale_tape(FILE *out, int count) {
  scale_begin(out);
  scale_links(out, count);
  scale_root_tuple(out, "x", 1, count - 1);
}

static void scale_ladder(FILE *out, int count) {
  scale_begin(out);
  for (int i = 1; i < count / 2; i++) {
    fprintf(out, "  x%d = f32[64] add(x%d, y%d)\n", i, i - 1, i - 1);
    fprintf(out, "  y%d = f32[64] subtract(x%d, y%d)\n", i, i - 1, i - 1);
  }
  fprintf(out, "  ROOT r = f32[64] multiply(x%d, y%d)\n}\n", count / 2 - 1, count / 2 - 1);
}

static void scale_wide(FILE *out, int count) {
  int leaves = count / 3 > 1 ? count / 3 : 2;
  scale_begin(out);
  for (int i = 1; i <= leaves; i++) {
    fprintf(out, "  c%d = f32[] constant(%d)\n", i, i);
    fprintf(out, "  b%d = f32[64] broadcast(c%d), dimensions={}\n", i, i);
    fprintf(out, "  x%d = f32[64] multiply(x0, b%d)\n", i, i);
  }
  /* A tree over them: value n is of values 2n - 2 * leaves - 1 and the next. */
  for (int n = leaves + 1; n < 2 * leaves; n++) {
    int from = 2 * (n - leaves) - 1;
    fprintf(out, "  x%d = f32[64] add(x%d, x%d)\n", n, from, from + 1);
  }
  fprintf(out, "  ROOT r = f32[64] negate(x%d)\n}\n", 2 * leaves - 1);
}

static void scale_equal(FILE *out, int count) {
  scale_begin(out);
  fputs("  x1 = f32[64] add(x0, y0)\n  ROOT r = ", out);
  scale_tuple_type(out, count);
  for (int i = 0; i < count; i++) fputs(i ? ", x1" : " tuple(x1", out);
  fputs(")\n}\n", out);
}

static void scale_different(FILE *out, int count) {
  scale_begin(out);
  for (int i = 1; i <= count / 3; i++) {
    fprintf(out, "  c%d = f32[] constant(%d)\n", i, i);
    fprintf(out, "  b%d = f32[64] broadcast(c%d), dimensions={}\n", i, i);
    fprintf(out, "  x%d = f32[64] multiply(x0, b%d)\n", i, i);
  }
  scale_root_tuple(out, "x", 1, count / 3);
}

/* A loop whose state has many parts; each part's next value is of its neighbour. */
static void scale_state(FILE *out, int count) {
  int parts = count / 4 > 1 ? count / 4 : 2;
  fputs("HloModule scale\nbody {\n  p = ", out);
  for (int i = 0; i < parts; i++) fputs(i ? ", f32[64]" : "(s32[], f32[64]", out);
  fputs(
      ") parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  one = s32[] constant(1)\n"
      "  n = s32[] add(i, one)\n",
      out);
  for (int i = 0; i < parts; i++) {
    fprintf(out, "  x%d = f32[64] get-tuple-element(p), index=%d\n", i, i + 1);
  }
  for (int i = 0; i < parts; i++) {
    fprintf(out, "  y%d = f32[64] add(x%d, x%d)\n", i, i, (i + 1) % parts);
  }
  fputs("  ROOT r = ", out);
  for (int i = 0; i < parts; i++) fputs(i ? ", f32[64]" : "(s32[], f32[64]", out);
  fputs(") tuple(n", out);
  for (int i = 0; i < parts; i++) fprintf(out, ", y%d", i);
  fputs(")\n}\ncondition {\n  p = ", out);
  for (int i = 0; i < parts; i++) fputs(i ? ", f32[64]" : "(s32[], f32[64]", out);
  fputs(
      ") parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(5)\n"
      "  ROOT c = pred[] compare(i, n), direction=LT\n}\n"
      "ENTRY e {\n  x = f32[64] parameter(0)\n  zero = s32[] constant(0)\n  init = ",
      out);
  for (int i = 0; i < parts; i++) fputs(i ? ", f32[64]" : "(s32[], f32[64]", out);
  fputs(") tuple(zero", out);
  for (int i = 0; i < parts; i++) fputs(", x", out);
  fputs(")\n  w = ", out);
  for (int i = 0; i < parts; i++) fputs(i ? ", f32[64]" : "(s32[], f32[64]", out);
  fputs(") while(init), condition=condition, body=body\n", out);
  for (int i = 0; i < parts; i++) {
    fprintf(out, "  z%d = f32[64] get-tuple-element(w), index=%d\n", i, i + 1);
  }
  scale_root_tuple(out, "z", 0, parts);
}

static void scale_concat(FILE *out, int count) {
  int parts = count / 2;
  fprintf(out, "HloModule scale\nENTRY e {\n  x = f32[%d] parameter(0)\n", 4 * parts);
  for (int i = 0; i < parts; i++) {
    fprintf(out, "  s%d = f32[4] slice(x), slice={[%d:%d]}\n", i, 4 * i, 4 * i + 4);
  }
  for (int i = 0; i < parts; i++) fprintf(out, "  n%d = f32[4] sine(s%d)\n", i, i);
  fprintf(out, "  ROOT r = f32[%d] concatenate(", 4 * parts);
  for (int i = 0; i < parts; i++) fprintf(out, i ? ", n%d" : "n%d", i);
  fputs("), dimensions={0}\n}\n", out);
}

/* Computations of a few instructions, each called once. */
static void scale_calls(FILE *out, int count) {
  int calls = count / 6 > 0 ? count / 6 : 1;
  fputs("HloModule scale\n", out);
  for (int i = 0; i < calls; i++) {
    fprintf(out,
            "f%d {\n  a = f32[64] parameter(0)\n  b = f32[64] sine(a)\n  c = f32[64] add(a, b)\n"
            "  ROOT d = f32[64] multiply(c, b)\n}\n",
            i);
  }
  fputs("ENTRY e {\n  x0 = f32[64] parameter(0)\n", out);
  for (int i = 0; i < calls; i++) {
    fprintf(out, "  x%d = f32[64] call(x%d), to_apply=f%d\n", i + 1, i, i);
  }
  fprintf(out, "  ROOT r = f32[64] negate(x%d)\n}\n", calls);
}

/* Loops one after another, each with computations of its own. */
static void scale_whiles(FILE *out, int count) {
  int loops = count / 14 > 0 ? count / 14 : 1;
  fputs("HloModule scale\n", out);
  for (int i = 0; i < loops; i++) {
    fprintf(
        out,
        "b%d {\n  p = (s32[], f32[64]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
        "  x = f32[64] get-tuple-element(p), index=1\n  one = s32[] constant(1)\n"
        "  n = s32[] add(i, one)\n  y = f32[64] sine(x)\n"
        "  ROOT r = (s32[], f32[64]) tuple(n, y)\n}\n"
        "c%d {\n  p = (s32[], f32[64]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
        "  n = s32[] constant(5)\n  ROOT c = pred[] compare(i, n), direction=LT\n}\n",
        i, i);
  }
  fputs("ENTRY e {\n  x0 = f32[64] parameter(0)\n  zero = s32[] constant(0)\n", out);
  for (int i = 0; i < loops; i++) {
    fprintf(out,
            "  t%d = (s32[], f32[64]) tuple(zero, x%d)\n"
            "  w%d = (s32[], f32[64]) while(t%d), condition=c%d, body=b%d\n"
            "  x%d = f32[64] get-tuple-element(w%d), index=1\n",
            i, i, i, i, i, i, i + 1, i);
  }
  fprintf(out, "  ROOT r = f32[64] negate(x%d)\n}\n", loops);
}

/* Products, each with a bias and a function: kernels that do not fuse with each other. */
static void scale_layers(FILE *out, int count) {
  int layers = count / 4 > 0 ? count / 4 : 1;
  fputs(
      "HloModule scale\nENTRY e {\n  x0 = f32[8,8] parameter(0)\n  w = f32[8,8] parameter(1)\n"
      "  b = f32[8] parameter(2)\n",
      out);
  for (int i = 0; i < layers; i++) {
    fprintf(out,
            "  d%d = f32[8,8] dot(x%d, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
            "  b%d = f32[8,8] broadcast(b), dimensions={1}\n"
            "  s%d = f32[8,8] add(d%d, b%d)\n  x%d = f32[8,8] tanh(s%d)\n",
            i, i, i, i, i, i, i + 1, i);
  }
  fprintf(out, "  ROOT r = f32[8,8] negate(x%d)\n}\n", layers);
}

/* Every argument becomes a result. */
static void scale_arguments(FILE *out, int count) {
  int parts = count / 2 > 0 ? count / 2 : 1;
  fputs("HloModule scale\nENTRY e {\n", out);
  for (int i = 0; i < parts; i++) fprintf(out, "  p%d = f32[64] parameter(%d)\n", i, i);
  for (int i = 0; i < parts; i++) fprintf(out, "  x%d = f32[64] sine(p%d)\n", i, i);
  scale_root_tuple(out, "x", 0, parts);
}

/* Branches one after another, all with the same computations. */
static void scale_branches(FILE *out, int count) {
  fputs(
      "HloModule scale\nf {\n  a = f32[64] parameter(0)\n  ROOT b = f32[64] sine(a)\n}\n"
      "g {\n  a = f32[64] parameter(0)\n  ROOT b = f32[64] cosine(a)\n}\n"
      "ENTRY e {\n  x0 = f32[64] parameter(0)\n  c = pred[] parameter(1)\n",
      out);
  for (int i = 0; i < count; i++) {
    fprintf(out,
            "  x%d = f32[64] conditional(c, x%d, x%d), true_computation=f, false_computation=g\n",
            i + 1, i, i);
  }
  fprintf(out, "  ROOT r = f32[64] negate(x%d)\n}\n", count);
}

/* Reductions of values, each spread out again. */
static void scale_reduces(FILE *out, int count) {
  int rounds = count / 3 > 0 ? count / 3 : 1;
  fputs(
      "HloModule scale\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  ROOT s = f32[] add(a, b)\n}\nENTRY e {\n  x0 = f32[16,256] parameter(0)\n"
      "  z = f32[] constant(0)\n",
      out);
  for (int i = 0; i < rounds; i++) {
    fprintf(out,
            "  r%d = f32[16] reduce(x%d, z), dimensions={1}, to_apply=sum\n"
            "  b%d = f32[16,256] broadcast(r%d), dimensions={0}\n"
            "  x%d = f32[16,256] subtract(x%d, b%d)\n",
            i, i, i, i, i + 1, i, i);
  }
  fprintf(out, "  ROOT r = f32[16,256] negate(x%d)\n}\n", rounds);
}

static const struct {
  scale_form form;
  scale_writer *write;
} scale_forms[] = {
    {{"chain", "each value from the one before"}, scale_chain},
    {{"ladder", "two values from the two before"}, scale_ladder},
    {{"wide", "many values of one, and a tree over them"}, scale_wide},
    {{"tape", "a chain whose every value is a result"}, scale_tape},
    {{"equal", "one value as every result"}, scale_equal},
    {{"different", "results of their own kind each"}, scale_different},
    {{"state", "a loop whose state has many parts"}, scale_state},
    {{"concat", "a concatenate of many operands"}, scale_concat},
    {{"calls", "computations that are called"}, scale_calls},
    {{"whiles", "loops one after another"}, scale_whiles},
    {{"arguments", "every argument becomes a result"}, scale_arguments},
    {{"branches", "branches one after another"}, scale_branches},
    {{"reduces", "reductions, each spread out again"}, scale_reduces},
    {{"layers", "products with what finishes them"}, scale_layers},
};

enum { SCALE_FORMS = sizeof scale_forms / sizeof scale_forms[0] };

const scale_form *scale_form_at(int index) {
  return index >= 0 && index < SCALE_FORMS ? &scale_forms[index].form : NULL;
}

char *scale_form_text(const char *form, int count, size_t *length) {
  for (int i = 0; i < SCALE_FORMS; i++) {
    if (strcmp(scale_forms[i].form.name, form) != 0) continue;
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out) return NULL;
    scale_forms[i].write(out, count);
    fclose(out);
    return text;
  }
  return NULL;
}
