/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/source.c: OpenCL C's builtins (OpenCL C 1.2, 6.12), as far as kernels use them, defined for a compiler for processors. */
#include "cpu/source.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *const cpu_source_places[CPU_SOURCE_PLACES] = {
    "h_global_id_x",  "h_global_id_y",  "h_global_id_z",  "h_local_id_x",   "h_local_id_y",
    "h_local_id_z",   "h_group_id_x",   "h_group_id_y",   "h_group_id_z",   "h_num_groups_x",
    "h_num_groups_y", "h_num_groups_z", "h_local_size_x", "h_local_size_y", "h_local_size_z"};

static const char source_head[] =
    "#define H_VARIABLE(NAME) extern __constant size_t NAME##_x, NAME##_y, NAME##_z;\n"
    "H_VARIABLE(h_global_id) H_VARIABLE(h_local_id) H_VARIABLE(h_group_id)\n"
    "H_VARIABLE(h_num_groups) H_VARIABLE(h_local_size)\n"
    "#define H_OF(NAME, D) ((D) == 0 ? NAME##_x : (D) == 1 ? NAME##_y : NAME##_z)\n"
    "#define H_DEF static __attribute__((overloadable, always_inline))\n"
    "#define H_TYPES H_ANY(char) H_ANY(uchar) H_ANY(short) H_ANY(ushort) H_ANY(int) "
    "H_ANY(uint) H_ANY(long) H_ANY(ulong) H_ANY(float) H_ANY(double)\n"
    "#define __kernel\n"
    "#define reqd_work_group_size(...)\n";

/* Behind the definitions: an item's own memory serves as that of its group, which has no other items. */
static const char source_tail[] = "#define __local __private\n#line 1\n";

typedef struct source_builtin {
  const char *name, *text; /* `text` names it by a macro, which stands before it */
} source_builtin;

#define SOURCE_OTHER_NAME(NAME) "#define " NAME " h_b_" NAME "\n"
#define SOURCE_PLACE(NAME, VARIABLE)                                                               \
  { NAME, "#define " NAME "(D) H_OF(" VARIABLE ", D)\n" }
/* The C library's function, where the processor has no instruction for it. */
#define SOURCE_MATH(NAME)                                                                          \
  {                                                                                                \
    NAME, SOURCE_OTHER_NAME(NAME) "H_DEF float " NAME "(float x) { return __builtin_" NAME         \
                                  "f(x); }\n"                                                      \
                                  "H_DEF double " NAME "(double x) { return __builtin_" NAME       \
                                  "(x); }\n"                                                       \
  }
#define SOURCE_MATH_2(NAME)                                                                        \
  {                                                                                                \
    NAME,                                                                                          \
        SOURCE_OTHER_NAME(NAME) "H_DEF float " NAME "(float x, float y) { return __builtin_" NAME  \
                                "f(x, y); }\n"                                                     \
                                "H_DEF double " NAME                                               \
                                "(double x, double y) { return __builtin_" NAME "(x, y); }\n"      \
  }
#define SOURCE_TEST(NAME, FLOAT, DOUBLE)                                                           \
  {                                                                                                \
    NAME, SOURCE_OTHER_NAME(NAME) "H_DEF int " NAME "(float x) { return " FLOAT                    \
                                  "; }\n"                                                          \
                                  "H_DEF int " NAME "(double x) { return " DOUBLE "; }\n"          \
  }
#define SOURCE_WHOLE(NAME, PARAMETERS, VALUE)                                                      \
  {                                                                                                \
    NAME, SOURCE_OTHER_NAME(NAME) "#define H_WHOLE(T) H_DEF T " NAME "(" PARAMETERS                \
                                  ") { return " VALUE                                              \
                                  "; }\n"                                                          \
                                  "H_WHOLE(char) H_WHOLE(uchar) H_WHOLE(short) H_WHOLE(ushort) "   \
                                  "H_WHOLE(int) H_WHOLE(uint) H_WHOLE(long) H_WHOLE(ulong)\n"      \
                                  "#undef H_WHOLE\n"                                               \
  }
#define SOURCE_CONVERT(TYPE)                                                                       \
  { "convert_" TYPE, "#define convert_" TYPE "(x) ((" TYPE ")(x))\n" }
#define SOURCE_CONVERT_VECTOR(TYPE)                                                                \
  { "convert_" TYPE, "#define convert_" TYPE "(x) __builtin_convertvector(x, " TYPE ")\n" }
#define SOURCE_LOAD(N)                                                                             \
  {                                                                                                \
    "vload" N, SOURCE_OTHER_NAME("vload" N) "#define H_LOAD(S, T) H_DEF T##" N " vload" N          \
                                            "(size_t i, const S T *p) { "                          \
                                            "return *(const S h_##T##" N " *)(p + i * " N          \
                                            "); }\n"                                               \
                                            "#define H_ANY(T) typedef T##" N " h_##T##" N          \
                                            " __attribute__((aligned(sizeof(T)))); "               \
                                            "H_LOAD(__global, T) H_LOAD(__private, T) "            \
                                            "H_LOAD(__constant, T)\n"                              \
                                            "H_TYPES\n#undef H_LOAD\n#undef H_ANY\n"               \
  }
#define SOURCE_STORE(N)                                                                            \
  {                                                                                                \
    "vstore" N, SOURCE_OTHER_NAME("vstore" N) "#define H_STORE(S, T) H_DEF void vstore" N "(T##" N \
                                              " v, size_t i, S T *p) { "                           \
                                              "*(S h_s_##T##" N " *)(p + i * " N                   \
                                              ") = v; }\n"                                         \
                                              "#define H_ANY(T) typedef T##" N " h_s_##T##" N      \
                                              " __attribute__((aligned(sizeof(T)))); "             \
                                              "H_STORE(__global, T) H_STORE(__private, T)\n"       \
                                              "H_TYPES\n#undef H_STORE\n#undef H_ANY\n"            \
  }

/* In the order of strcmp. */
static const source_builtin source_builtins[] = {
    SOURCE_MATH("acos"),
    SOURCE_MATH("acosh"),
    SOURCE_MATH("asin"),
    SOURCE_MATH("asinh"),
    SOURCE_MATH("atan"),
    SOURCE_MATH_2("atan2"),
    SOURCE_MATH("atanh"),
    {"barrier",
     "void " CPU_SOURCE_BARRIER "(void);\n#define barrier(FLAGS) " CPU_SOURCE_BARRIER "()\n"},
    SOURCE_MATH("cbrt"),
    SOURCE_MATH("ceil"),
    SOURCE_WHOLE("clamp", "T x, T low, T high",
                 "(x < low ? low : x) > high ? high : x < low ? low : x"),
    {"clz",
     SOURCE_OTHER_NAME(
         "clz") "#define H_BITS(T) H_DEF T clz(T x) "
                "{ return x ? __builtin_clz(x) - (32 - 8 * (int)sizeof(T)) : 8 * sizeof(T); }\n"
                "H_BITS(uchar) H_BITS(ushort) H_BITS(uint)\n#undef H_BITS\n"
                "H_DEF ulong clz(ulong x) { return x ? __builtin_clzl(x) : 64; }\n"},
    SOURCE_CONVERT("char"),
    SOURCE_CONVERT("double"),
    SOURCE_CONVERT_VECTOR("double2"),
    SOURCE_CONVERT("float"),
    SOURCE_CONVERT_VECTOR("float2"),
    SOURCE_CONVERT("int"),
    SOURCE_CONVERT("long"),
    SOURCE_CONVERT("short"),
    SOURCE_CONVERT("uchar"),
    SOURCE_CONVERT("uint"),
    SOURCE_CONVERT("ulong"),
    SOURCE_CONVERT("ushort"),
    SOURCE_MATH_2("copysign"),
    SOURCE_MATH("cos"),
    SOURCE_MATH("cosh"),
    SOURCE_MATH("erf"),
    SOURCE_MATH("erfc"),
    SOURCE_MATH("exp"),
    SOURCE_MATH("expm1"),
    SOURCE_MATH("fabs"),
    SOURCE_MATH("floor"),
    {"fma",
     SOURCE_OTHER_NAME(
         "fma") "H_DEF float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }\n"
                "H_DEF double fma(double x, double y, double z) { return __builtin_fma(x, y, z); "
                "}\n"},
    SOURCE_MATH_2("fmod"),
    SOURCE_PLACE("get_global_id", "h_global_id"),
    {"get_global_size",
     "#define get_global_size(D) (H_OF(h_num_groups, D) * H_OF(h_local_size, D))\n"},
    SOURCE_PLACE("get_group_id", "h_group_id"),
    SOURCE_PLACE("get_local_id", "h_local_id"),
    SOURCE_PLACE("get_local_size", "h_local_size"),
    SOURCE_PLACE("get_num_groups", "h_num_groups"),
    SOURCE_TEST("isfinite", "x - x == 0", "x - x == 0"),
    SOURCE_TEST("isinf", "x == x && x - x != 0", "x == x && x - x != 0"),
    SOURCE_TEST("isnan", "x != x", "x != x"),
    SOURCE_MATH("log"),
    SOURCE_MATH("log1p"),
    SOURCE_MATH("log2"),
    SOURCE_WHOLE("max", "T x, T y", "x < y ? y : x"),
    SOURCE_WHOLE("min", "T x, T y", "y < x ? y : x"),
    {"mul_hi",
     SOURCE_OTHER_NAME(
         "mul_hi") "#define H_HIGH(T, W) H_DEF T mul_hi(T x, T y) { return (T)((W)x * (W)y >> 8 * "
                   "sizeof(T)); }\n"
                   "H_HIGH(char, int) H_HIGH(uchar, uint) H_HIGH(short, int) H_HIGH(ushort, uint)\n"
                   "H_HIGH(int, long) H_HIGH(uint, ulong) H_HIGH(long, __int128) "
                   "H_HIGH(ulong, unsigned __int128)\n#undef H_HIGH\n"},
    {"popcount",
     SOURCE_OTHER_NAME(
         "popcount") "#define H_BITS(T) H_DEF T popcount(T x) { return __builtin_popcount(x); }\n"
                     "H_BITS(uchar) H_BITS(ushort) H_BITS(uint)\n#undef H_BITS\n"
                     "H_DEF ulong popcount(ulong x) { return __builtin_popcountl(x); }\n"},
    SOURCE_MATH_2("pow"),
    SOURCE_MATH("rint"),
    {"rotate",
     SOURCE_OTHER_NAME(
         "rotate") "#define H_BITS(T) H_DEF T rotate(T x, T n) { return x << (n & (8 * sizeof(T) - "
                   "1)) | "
                   "x >> (-n & (8 * sizeof(T) - 1)); }\n"
                   "H_BITS(uchar) H_BITS(ushort) H_BITS(uint) H_BITS(ulong)\n#undef H_BITS\n"},
    SOURCE_MATH("round"),
    {"rsqrt", SOURCE_OTHER_NAME(
                  "rsqrt") "H_DEF float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }\n"
                           "H_DEF double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }\n"},
    SOURCE_TEST("signbit", "as_int(x) < 0", "as_long(x) < 0"),
    SOURCE_MATH("sin"),
    SOURCE_MATH("sinh"),
    SOURCE_MATH("sqrt"),
    SOURCE_MATH("tan"),
    SOURCE_MATH("tanh"),
    SOURCE_MATH("trunc"),
    SOURCE_LOAD("16"),
    SOURCE_LOAD("2"),
    SOURCE_LOAD("4"),
    SOURCE_LOAD("8"),
    {"vload_half", "#define vload_half(i, p) __builtin_load_halff((const half *)(p) + (i))\n"},
    SOURCE_STORE("16"),
    SOURCE_STORE("2"),
    SOURCE_STORE("4"),
    SOURCE_STORE("8"),
    {"vstore_half_rte",
     "#define vstore_half_rte(v, i, p) __builtin_store_halff(v, (half *)(p) + (i))\n"},
};
enum { SOURCE_BUILTINS = sizeof source_builtins / sizeof source_builtins[0] };

typedef struct source_word {
  const char *text;
  size_t length;
} source_word;

static int source_compare(const void *key, const void *row) {
  const source_word *word = key;
  const char *name = ((const source_builtin *)row)->name;
  int order = strncmp(word->text, name, word->length);
  return order ? order : name[word->length] ? -1 : 0;
}

void cpu_source_begin(halo_strbuf *out, const char *source) {
  bool known[SOURCE_BUILTINS] = {false};
  halo_strbuf_append(out, source_head);
  for (const char *at = source; *at;) {
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_') length++;
    if (length == 0) {
      at++;
      continue;
    }
    source_word word = {at, length};
    const source_builtin *f =
        bsearch(&word, source_builtins, SOURCE_BUILTINS, sizeof *f, source_compare);
    at += length;
    if (!f || known[f - source_builtins]) continue;
    known[f - source_builtins] = true;
    halo_strbuf_append(out, f->text);
  }
  halo_strbuf_append(out, source_tail);
}
