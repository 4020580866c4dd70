/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/pocl.c: declarations of builtins, in the place of a long header. */
#include "opencl/pocl.h"

#include "opencl/conditions.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool halo_pocl_is(const halo_caps *caps) {
  return strstr(caps->platform, "Portable Computing Language") != NULL;
}

int halo_pocl_version(const char *platform_version) {
  int major, minor;
  const char *at = strstr(platform_version, "PoCL ");
  return at && sscanf(at, "PoCL %d.%d", &major, &minor) == 2 ? 100 * major + minor : 0;
}

/* ---- Which builtins there are, by what they take and give (OpenCL C 1.2, 6.12) ---- */

typedef enum pocl_form {
  POCL_WORK,       /* size_t f(uint) */
  POCL_BARRIER,    /* void f(cl_mem_fence_flags) */
  POCL_MATH,       /* T f(T...), of float and double and vectors of them */
  POCL_TEST,       /* int f(T), the same; of vectors a vector of whole numbers */
  POCL_WHOLE,      /* T f(T...), of integers */
  POCL_BOTH,       /* T f(T...), of integers, float and double */
  POCL_CONVERT,    /* T f(U), T as the name says */
  POCL_LOAD,       /* T4 f(size_t, const T *) */
  POCL_STORE,      /* void f(T4, size_t, T *) */
  POCL_LOAD_HALF,  /* float f(size_t, const half *) */
  POCL_STORE_HALF, /* void f(T, size_t, half *) */
} pocl_form;

typedef struct pocl_builtin {
  const char *name;
  pocl_form form;
  int count; /* arguments of the forms with dots; the suffix of loads, stores, and conversions of vectors */
} pocl_builtin;

/* In the order of strcmp. */
static const pocl_builtin pocl_builtins[] = {
    {"acos", POCL_MATH, 1},
    {"acosh", POCL_MATH, 1},
    {"asin", POCL_MATH, 1},
    {"asinh", POCL_MATH, 1},
    {"atan", POCL_MATH, 1},
    {"atan2", POCL_MATH, 2},
    {"atanh", POCL_MATH, 1},
    {"barrier", POCL_BARRIER, 0},
    {"cbrt", POCL_MATH, 1},
    {"ceil", POCL_MATH, 1},
    {"clamp", POCL_BOTH, 3},
    {"clz", POCL_WHOLE, 1},
    {"convert_char", POCL_CONVERT, 0},
    {"convert_double", POCL_CONVERT, 0},
    {"convert_double2", POCL_CONVERT, 2},
    {"convert_float", POCL_CONVERT, 0},
    {"convert_float2", POCL_CONVERT, 2},
    {"convert_int", POCL_CONVERT, 0},
    {"convert_long", POCL_CONVERT, 0},
    {"convert_short", POCL_CONVERT, 0},
    {"convert_uchar", POCL_CONVERT, 0},
    {"convert_uint", POCL_CONVERT, 0},
    {"convert_ulong", POCL_CONVERT, 0},
    {"convert_ushort", POCL_CONVERT, 0},
    {"copysign", POCL_MATH, 2},
    {"cos", POCL_MATH, 1},
    {"cosh", POCL_MATH, 1},
    {"erf", POCL_MATH, 1},
    {"erfc", POCL_MATH, 1},
    {"exp", POCL_MATH, 1},
    {"expm1", POCL_MATH, 1},
    {"fabs", POCL_MATH, 1},
    {"floor", POCL_MATH, 1},
    {"fma", POCL_MATH, 3},
    {"fmod", POCL_MATH, 2},
    {"get_global_id", POCL_WORK, 0},
    {"get_global_size", POCL_WORK, 0},
    {"get_group_id", POCL_WORK, 0},
    {"get_local_id", POCL_WORK, 0},
    {"get_local_size", POCL_WORK, 0},
    {"get_num_groups", POCL_WORK, 0},
    {"isfinite", POCL_TEST, 0},
    {"isinf", POCL_TEST, 0},
    {"isnan", POCL_TEST, 0},
    {"log", POCL_MATH, 1},
    {"log1p", POCL_MATH, 1},
    {"log2", POCL_MATH, 1},
    {"max", POCL_BOTH, 2},
    {"min", POCL_BOTH, 2},
    {"mul_hi", POCL_WHOLE, 2},
    {"popcount", POCL_WHOLE, 1},
    {"pow", POCL_MATH, 2},
    {"rint", POCL_MATH, 1},
    {"rotate", POCL_WHOLE, 2},
    {"round", POCL_MATH, 1},
    {"rsqrt", POCL_MATH, 1},
    {"signbit", POCL_TEST, 0},
    {"sin", POCL_MATH, 1},
    {"sinh", POCL_MATH, 1},
    {"sqrt", POCL_MATH, 1},
    {"tan", POCL_MATH, 1},
    {"tanh", POCL_MATH, 1},
    {"trunc", POCL_MATH, 1},
    {"vload16", POCL_LOAD, 16},
    {"vload2", POCL_LOAD, 2},
    {"vload4", POCL_LOAD, 4},
    {"vload8", POCL_LOAD, 8},
    {"vload_half", POCL_LOAD_HALF, 0},
    {"vstore16", POCL_STORE, 16},
    {"vstore2", POCL_STORE, 2},
    {"vstore4", POCL_STORE, 4},
    {"vstore8", POCL_STORE, 8},
    {"vstore_half_rte", POCL_STORE_HALF, 0},
};
enum { POCL_BUILTINS = sizeof pocl_builtins / sizeof pocl_builtins[0] };

/* ---- Declarations ---- */

static const char *const pocl_types[] = {"char", "uchar", "short", "ushort", "int",
                                         "uint", "long",  "ulong", "float",  "double"};
enum {
  POCL_INTEGERS = 8,
  POCL_FLOATS = 9,
  POCL_TYPES = 10
}; /* numbers of types, without and with double */

/* `count` parameters of one type. */
static void pocl_parameters(halo_strbuf *out, const char *type, const char *width, int count) {
  for (int i = 0; i < count; i++) {
    halo_strbuf_printf(out, "%s%s%s", i ? ", " : "(", type, width);
  }
  halo_strbuf_append(out, ");\n");
}

static void pocl_floats(halo_strbuf *out, const pocl_builtin *f, int types, bool scalars) {
  static const char *const widths[] = {"", "2", "3", "4", "8", "16"};
  for (int t = POCL_INTEGERS; t < types; t++) {
    for (int w = scalars ? 0 : 1; w < 6; w++) {
      const char *whole = w && t == POCL_FLOATS ? "long" : "int";
      halo_strbuf_printf(out, "H_CONST %s%s %s", f->form == POCL_TEST ? whole : pocl_types[t],
                         widths[w], f->name);
      pocl_parameters(out, pocl_types[t], widths[w], f->form == POCL_TEST ? 1 : f->count);
    }
  }
}

static void pocl_halves(halo_strbuf *out, const pocl_builtin *f, int types) {
  static const char *const spaces[] = {"__global", "__local", "__private", "__constant"};
  for (int s = 0; s < (f->form == POCL_LOAD_HALF ? 4 : 3); s++) {
    if (f->form == POCL_LOAD_HALF) {
      halo_strbuf_printf(out, "H_PURE float %s(size_t, const %s half *);\n", f->name, spaces[s]);
    }
    for (int t = POCL_INTEGERS; t < types && f->form == POCL_STORE_HALF; t++) {
      halo_strbuf_printf(out, "H_OVER void %s(%s, size_t, %s half *);\n", f->name, pocl_types[t],
                         spaces[s]);
    }
  }
}

static void pocl_numbers(halo_strbuf *out, const pocl_builtin *f, int types, bool is_defined) {
  const char *to = f->name + strlen("convert_");
  if (f->form == POCL_CONVERT && types < POCL_TYPES && strncmp(to, "double", 6) == 0) return;
  for (int t = 0; t < (f->form == POCL_WHOLE ? POCL_INTEGERS : types); t++) {
    const char *type = pocl_types[t];
    bool is_whole = t < POCL_INTEGERS, is_unsigned = is_whole && type[0] == 'u';
    if (is_defined && (f->form == POCL_WHOLE ? is_unsigned : is_whole)) continue;
    if (f->form == POCL_CONVERT) {
      halo_strbuf_printf(out, "H_CONST %s %s", to, f->name);
      pocl_parameters(out, type, f->count ? "2" : "", 1);
    } else {
      halo_strbuf_printf(out, "H_CONST %s %s", type, f->name);
      pocl_parameters(out, type, "", f->count);
    }
  }
}

/* What the program can define, it defines: since PoCL 4.0, LLVM puts none of the library's functions in place where a
 * program flushes subnormal numbers, which these functions do not say of themselves. A loop that calls one is not made
 * vectors of, and around loads of vectors all registers are spilled. `types`: how many of pocl_types there are. */
static void pocl_declare(halo_strbuf *out, const pocl_builtin *f, int types, bool defines) {
  bool is_access = f->form == POCL_LOAD || f->form == POCL_STORE;
  bool is_number =
      f->form == POCL_MATH || f->form == POCL_TEST || f->form == POCL_WHOLE || f->form == POCL_BOTH;
  bool is_defined =
      (is_access || (is_number && defines)) && halo_pocl_define_one(out, f->name, false);
  switch (f->form) {
    case POCL_WORK: halo_strbuf_printf(out, "H_CONST size_t %s(uint);\n", f->name); return;
    case POCL_BARRIER:
      halo_strbuf_printf(out, "H_OVER __attribute__((convergent)) void %s(cl_mem_fence_flags);\n",
                         f->name);
      return;
    case POCL_MATH:
    case POCL_TEST: pocl_floats(out, f, types, !is_defined); return;
    case POCL_WHOLE:
    case POCL_BOTH:
    case POCL_CONVERT: pocl_numbers(out, f, types, is_defined); return;
    case POCL_LOAD:
    case POCL_STORE: return;
    case POCL_LOAD_HALF:
    case POCL_STORE_HALF: pocl_halves(out, f, types); return;
  }
}

/* ---- Names in a text ---- */

typedef struct pocl_word {
  const char *text;
  size_t length;
} pocl_word;

static int pocl_compare(const void *key, const void *row) {
  const pocl_word *word = key;
  const char *name = ((const pocl_builtin *)row)->name;
  int order = strncmp(word->text, name, word->length);
  return order ? order : name[word->length] ? -1 : 0;
}

/* PoCL makes a shared library of each kernel, whose constants lie in a page that is not there until it is read. With
 * AVX-512, LLVM makes `x != x ? NAN : x` a load of the constant under a mask; where the mask is always 0, and all else is
 * in registers, the page never comes, and each such load costs the processor some 200 cycles to find out that it need
 * not fail. So the kernels of sorts, scans and the like, where that was seen, read a constant first. Others do not:
 * what is made vectors of across work items would not be any more, and regions became slower by it. */
static const char pocl_page[] =
    "static __constant ulong h_page[1] = {0};\n"
    "#define h_touch() ((void)*(volatile __constant ulong *)h_page)\n";

/* Appends what both of the functions below begin with. */
static void pocl_begin(halo_strbuf *out, const halo_caps *caps) {
  if (caps->has_f64) halo_strbuf_append(out, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
  if (caps->is_cpu) halo_strbuf_append(out, pocl_page);
}

/* The next builtin that a text names and that is not known yet; NULL at the end. */
static const pocl_builtin *pocl_next(const char **at, bool *known) {
  while (**at) {
    size_t length = 0;
    while (isalnum((unsigned char)(*at)[length]) || (*at)[length] == '_') length++;
    if (length == 0) {
      ++*at;
      continue;
    }
    pocl_word word = {*at, length};
    const pocl_builtin *f = bsearch(&word, pocl_builtins, POCL_BUILTINS, sizeof *f, pocl_compare);
    *at += length;
    if (!f || known[f - pocl_builtins]) continue;
    known[f - pocl_builtins] = true;
    return f;
  }
  return NULL;
}

void halo_pocl_declare(halo_strbuf *out, const halo_caps *caps, const char *source) {
  bool known[POCL_BUILTINS] = {false};
  halo_strbuf_append(out,
                     "#define H_OVER __attribute__((overloadable))\n"
                     "#define H_CONST __attribute__((overloadable, const))\n"
                     "#define H_PURE __attribute__((overloadable, pure))\n");
  pocl_begin(out, caps);
  halo_pocl_define_types(out, caps);
  for (const pocl_builtin *f; (f = pocl_next(&source, known));) {
    pocl_declare(out, f, caps->has_f64 ? POCL_TYPES : POCL_FLOATS,
                 halo_pocl_has_instructions(caps));
  }
  /* Messages of the compiler name lines of the source. */
  halo_strbuf_append(out, "#line 1\n");
}

bool halo_pocl_define(halo_strbuf *out, const halo_caps *caps, const char *source) {
  bool known[POCL_BUILTINS] = {false};
  halo_strbuf resolved = {0};
  halo_conditions_resolve(&resolved, source);
  const char *at = halo_strbuf_text(&resolved);
  bool good = halo_pocl_define_begin(out, caps, at);
  if (good) pocl_begin(out, caps);
  for (const pocl_builtin *f; good && (f = pocl_next(&at, known));) {
    good = halo_pocl_define_one(out, f->name, true);
  }
  if (good) halo_pocl_define_end(out);
  halo_strbuf_deinit(&resolved);
  return good;
}
