/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/pocl_alone.c: programs on PoCL that need nothing of its library of builtins, and do without reading it.
 *
 * Building a program, PoCL reads 10 MB of bitcode (0.4 s) to link what the program calls. Compiling it without linking
 * reads nothing, but what comes out has no kernels to be made of. So a program that names only such builtins as can be
 * defined in its own text is compiled, and its binary is given back to PoCL with a list of its kernels, as a binary of
 * a linked program has it. The form of binaries is that of version 9 (PoCL 3.1); where anything in one is not as
 * expected, programs are built as ever. */
#include "base/memory.h"
#include "base/processor.h"
#include "base/vec.h"
#include "opencl/native.h"
#include "opencl/pocl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- Builtins that can be defined ---- */

typedef struct alone_builtin {
  const char *name, *text;
  bool calls; /* a function of the C library */
} alone_builtin;

#define ALONE_WORK(NAME, VALUE)                                                                    \
  { NAME, "H_DEF size_t " NAME "(uint d) { return " VALUE "; }\n" }
#define ALONE_MATH(NAME)                                                                           \
  {                                                                                                \
    NAME, "H_DEF float " NAME "(float x) { return __builtin_" NAME                                 \
          "f(x); }\n"                                                                              \
          "H_DEF_F64(double " NAME "(double x) { return __builtin_" NAME "(x); })\n"               \
  }
#define ALONE_TEST(NAME, VALUE)                                                                    \
  {                                                                                                \
    NAME, "H_DEF int " NAME "(float x) { return " VALUE                                            \
          "; }\n"                                                                                  \
          "H_DEF_F64(int " NAME "(double x) { return " VALUE "; })\n"                              \
  }
#define ALONE_WHOLE(NAME, PARAMETERS, VALUE)                                                       \
  {                                                                                                \
    NAME,                                                                                          \
        "#define H_WHOLE(T) H_DEF T " NAME "(" PARAMETERS ") { return " VALUE                      \
        "; }\n"                                                                                    \
        "H_WHOLE(char) H_WHOLE(uchar) H_WHOLE(short) H_WHOLE(ushort) H_WHOLE(int) H_WHOLE(uint) "  \
        "H_WHOLE(long) H_WHOLE(ulong)\n#undef H_WHOLE\n"                                           \
  }
/* Of unsigned integers, as all that names it has it. */
#define ALONE_BITS(NAME, PARAMETERS, NARROW, WIDE)                                                 \
  {                                                                                                \
    NAME, "#define H_BITS(T) H_DEF T " NAME "(" PARAMETERS ") { return " NARROW                    \
          "; }\n"                                                                                  \
          "H_BITS(uchar) H_BITS(ushort) H_BITS(uint)\n#undef H_BITS\n"                             \
          "#define H_BITS(T) H_DEF T " NAME "(" PARAMETERS ") { return " WIDE                      \
          "; }\n"                                                                                  \
          "H_BITS(ulong)\n#undef H_BITS\n"                                                         \
  }
#define ALONE_LOAD(N)                                                                              \
  {                                                                                                \
    "vload" N,                                                                                     \
        "#define H_LOAD(S, T) H_DEF T##" N " vload" N                                              \
        "(size_t i, const S T *p) { "                                                              \
        "return *(const S h_##T##" N " *)(p + i * " N                                              \
        "); }\n"                                                                                   \
        "#define H_ANY(T) typedef T##" N " h_##T##" N                                              \
        " __attribute__((aligned(sizeof(T)))); "                                                   \
        "H_LOAD(__global, T) H_LOAD(__local, T) H_LOAD(__private, T) H_LOAD(__constant, T)\n"      \
        "H_TYPES\n#undef H_LOAD\n#undef H_ANY\n"                                                   \
  }
#define ALONE_STORE(N)                                                                             \
  {                                                                                                \
    "vstore" N, "#define H_STORE(S, T) H_DEF void vstore" N "(T##" N                               \
                " v, size_t i, S T *p) { "                                                         \
                "*(S h_s_##T##" N " *)(p + i * " N                                                 \
                ") = v; }\n"                                                                       \
                "#define H_ANY(T) typedef T##" N " h_s_##T##" N                                    \
                " __attribute__((aligned(sizeof(T)))); "                                           \
                "H_STORE(__global, T) H_STORE(__local, T) H_STORE(__private, T)\n"                 \
                "H_TYPES\n#undef H_STORE\n#undef H_ANY\n"                                          \
  }

/* What the definitions leave to the compiler would be calls of the C library without these. */
static const char alone_instructions[] =
    "#if !defined(__aarch64__) && (!defined(__FMA__) || !defined(__AVX2__))\n"
    "#error no instructions\n#endif\n";

/* Work items' numbers are variables that PoCL's compiler knows by these names. */
static const char alone_head[] =
    "#define H_VARIABLE(NAME) extern __constant size_t NAME##_x, NAME##_y, NAME##_z;\n"
    "H_VARIABLE(_local_id) H_VARIABLE(_local_size) H_VARIABLE(_group_id)\n"
    "H_VARIABLE(_num_groups) H_VARIABLE(_global_offset)\n"
    "#define H_OF(NAME) (d == 0 ? NAME##_x : d == 1 ? NAME##_y : NAME##_z)\n";

static const alone_builtin alone_builtins[] = {
    ALONE_WORK("get_global_id",
               "H_OF(_group_id) * H_OF(_local_size) + H_OF(_local_id) + H_OF(_global_offset)"),
    ALONE_WORK("get_global_size", "H_OF(_num_groups) * H_OF(_local_size)"),
    ALONE_WORK("get_group_id", "H_OF(_group_id)"),
    ALONE_WORK("get_local_id", "H_OF(_local_id)"),
    ALONE_WORK("get_local_size", "H_OF(_local_size)"),
    ALONE_WORK("get_num_groups", "H_OF(_num_groups)"),
    {"barrier", "#define barrier(FLAGS) ((void)0)\n"},
    ALONE_MATH("ceil"),
    ALONE_MATH("fabs"),
    ALONE_MATH("floor"),
    ALONE_MATH("rint"),
    ALONE_MATH("sqrt"),
    ALONE_MATH("trunc"),
    {"copysign",
     "H_DEF float copysign(float x, float y) { return __builtin_copysignf(x, y); }\n"
     "H_DEF_F64(double copysign(double x, double y) { return __builtin_copysign(x, y); })\n"},
    {"fma",
     "H_DEF float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }\n"
     "H_DEF_F64(double fma(double x, double y, double z) { return __builtin_fma(x, y, z); })\n"},
    ALONE_TEST("isfinite", "x - x == 0"),
    ALONE_TEST("isinf", "x == x && x - x != 0"),
    ALONE_TEST("isnan", "x != x"),
    ALONE_WHOLE("clamp", "T x, T low, T high",
                "(x < low ? low : x) > high ? high : x < low ? low : x"),
    ALONE_WHOLE("max", "T x, T y", "x < y ? y : x"),
    ALONE_WHOLE("min", "T x, T y", "y < x ? y : x"),
    ALONE_BITS("clz", "T x", "x ? __builtin_clz(x) - (32 - 8 * (int)sizeof(T)) : 8 * sizeof(T)",
               "x ? __builtin_clzl(x) : 64"),
    ALONE_BITS("popcount", "T x", "__builtin_popcount(x)", "__builtin_popcountl(x)"),
    ALONE_BITS("rotate", "T x, T n",
               "x << (n & (8 * sizeof(T) - 1)) | x >> (-n & (8 * sizeof(T) - 1))",
               "x << (n & 63) | x >> (-n & 63)"),
    {"fmod",
     "H_DEF float fmod(float x, float y) { return __builtin_fmodf(x, y); }\n"
     "H_DEF_F64(double fmod(double x, double y) { return __builtin_fmod(x, y); })\n",
     .calls = true},
    ALONE_LOAD("2"),
    ALONE_LOAD("4"),
    ALONE_LOAD("8"),
    ALONE_LOAD("16"),
    ALONE_STORE("2"),
    ALONE_STORE("4"),
    ALONE_STORE("8"),
    ALONE_STORE("16"),
};

bool halo_pocl_define_one(halo_strbuf *out, const char *name, bool calls) {
  for (size_t i = 0; i < sizeof alone_builtins / sizeof *alone_builtins; i++) {
    const alone_builtin *one = &alone_builtins[i];
    if (strcmp(one->name, name) != 0 || (one->calls && !calls)) continue;
    halo_strbuf_append(out, one->text);
    return true;
  }
  return false;
}

bool halo_pocl_has_instructions(const halo_caps *caps) {
#if defined(__aarch64__)
  return caps->is_cpu;
#else
  return caps->is_cpu && halo_processor_has_avx2();
#endif
}

/* Whether the kernel at `kernel` says that its groups are of one work item. */
static bool alone_is_single(const char *source, const char *kernel) {
  static const char says[] = "__attribute__((reqd_work_group_size(", one[] = "1, 1, 1)))",
                    named[] = "H_LOCAL, 1, 1)))", define[] = "#define H_LOCAL ";
  const char *found = NULL, *size = NULL;
  for (const char *at = source; (at = strstr(at, says)) && at < kernel; at++) found = at;
  if (!found) return false;
  const char *value = found + strlen(says);
  bool is_named = strncmp(value, named, strlen(named)) == 0;
  if (!is_named && strncmp(value, one, strlen(one)) != 0) return false;
  value += is_named ? strlen(named) : strlen(one);
  if (value + strspn(value, " \n") != kernel) return false;
  for (const char *at = source; (at = strstr(at, define)) && at < kernel; at++) size = at;
  return !is_named || (size && strncmp(size + strlen(define), "1\n", 2) == 0);
}

/* The end of the block that opens at `at`. */
static const char *alone_block_end(const char *at) {
  int depth = 0;
  for (; *at; at++) {
    depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
    if (depth == 0) break;
  }
  return at;
}

/* Whether there is local memory or a barrier between two places. */
static bool alone_has_shared(const char *from, const char *end) {
  const char *local = strstr(from, "__local "), *wait = strstr(from, "barrier(");
  return (local && local < end) || (wait && wait < end);
}

/* Whether all kernels with local memory or barriers, or all where functions have such, have groups of one work item,
 * to which its own memory is the same. Others are described to PoCL in a way that is its own. */
static bool alone_is_unshared(const char *source) {
  bool functions = false, several = false;
  const char *behind = source;
  for (const char *at = source; (at = strstr(at, "__kernel"));) {
    const char *open = strchr(at, '{');
    if (!open) return false;
    const char *end = alone_block_end(open);
    bool single = alone_is_single(source, at);
    if (!single && alone_has_shared(open, end)) return false;
    functions = functions || alone_has_shared(behind, at);
    several = several || !single;
    at = behind = end;
  }
  return !(functions && several);
}

void halo_pocl_define_types(halo_strbuf *out, const halo_caps *caps) {
  halo_strbuf_append(
      out,
      "#define H_DEF static __attribute__((overloadable, always_inline))\n"
      "#define H_TYPES H_ANY(char) H_ANY(uchar) H_ANY(short) H_ANY(ushort) H_ANY(int) "
      "H_ANY(uint) H_ANY(long) H_ANY(ulong) H_ANY(float)");
  halo_strbuf_append(out, caps->has_f64 ? " H_ANY(double)\n" : "\n");
  halo_strbuf_append(out, caps->has_f64 ? "#define H_DEF_F64(...) H_DEF __VA_ARGS__\n"
                                        : "#define H_DEF_F64(...)\n");
  if (halo_pocl_has_instructions(caps)) halo_strbuf_append(out, alone_instructions);
}

bool halo_pocl_define_begin(halo_strbuf *out, const halo_caps *caps, const char *source) {
  if (!halo_pocl_has_instructions(caps) || !alone_is_unshared(source)) return false;
  halo_pocl_define_types(out, caps);
  halo_strbuf_append(out, alone_head);
  return true;
}

void halo_pocl_define_end(halo_strbuf *out) {
  halo_strbuf_append(out, "#define __local __private\n#line 1\n");
}

/* ---- The kernels of a text ---- */

/* What stands between `from` and `end`, or, if that is the name of a macro, its last definition before. */
static char *alone_expand(const char *source, const char *from, const char *end) {
  while (from < end && isspace((unsigned char)*from)) from++;
  while (from < end && isspace((unsigned char)end[-1])) end--;
  halo_strbuf define = {0};
  halo_strbuf_append(&define, "#define ");
  halo_strbuf_append_n(&define, from, (size_t)(end - from));
  halo_strbuf_char(&define, ' ');
  const char *found = NULL;
  for (const char *at = source; (at = strstr(at, halo_strbuf_text(&define))) && at < from; at++) {
    found = at + define.length;
  }
  halo_strbuf_deinit(&define);
  halo_strbuf text = {0};
  if (!found) {
    halo_strbuf_append_n(&text, from, (size_t)(end - from));
    return halo_strbuf_take(&text);
  }
  for (; *found && *found != '\n'; found++) {
    bool goes_on = found[0] == '\\' && found[1] == '\n';
    if (goes_on) found++;
    halo_strbuf_char(&text, goes_on ? ' ' : *found);
  }
  return halo_strbuf_take(&text);
}

static void alone_put(halo_strbuf *out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) halo_strbuf_char(out, (char)(value >> (8 * i) & 255));
}

static void alone_put_name(halo_strbuf *out, const char *name, size_t length) {
  alone_put(out, length, 4);
  halo_strbuf_append_n(out, name, length);
}

/* Bytes of a parameter that is no pointer; 0 for a type that is not known. */
static uint32_t alone_value_size(const char *text, size_t length) {
  static const struct {
    const char *name;
    uint32_t size;
  } types[] = {{"char", 1},  {"uchar", 1}, {"short", 2}, {"ushort", 2}, {"int", 4},   {"uint", 4},
               {"float", 4}, {"long", 8},  {"ulong", 8}, {"double", 8}, {"size_t", 8}};
  static const char qualifier[] = "const ";
  size_t skip = strlen(qualifier);
  if (length > skip && memcmp(text, qualifier, skip) == 0) {
    text += skip;
    length -= skip;
  }
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    size_t size = strlen(types[i].name);
    if (length > size && memcmp(text, types[i].name, size) == 0 && text[size] == ' ') {
      return types[i].size;
    }
  }
  return 0;
}

enum {
  ALONE_NO_ACCESS = 0x11A3, /* CL_KERNEL_ARG_ACCESS_NONE, .._ADDRESS_GLOBAL, .._ADDRESS_PRIVATE */
  ALONE_GLOBAL = 0x119B,
  ALONE_PRIVATE = 0x119E,
  ALONE_KNOWN = 0x1F /* all about the parameters is there */
};

/* Appends the descriptions of parameters; gives their number, or -1 when there is one of an unknown kind. */
static int32_t alone_put_parameters(halo_strbuf *out, const char *text) {
  int32_t count = 0;
  for (; *text; count++) {
    text += strspn(text, " ,");
    size_t length = strcspn(text, ",");
    bool is_pointer = memchr(text, '*', length) != NULL;
    bool is_global = strncmp(text, "__global ", strlen("__global ")) == 0;
    uint32_t size = is_pointer ? (is_global ? 8 : 0) : alone_value_size(text, length);
    if (size == 0) return -1;
    alone_put(out, ALONE_NO_ACCESS, 4);
    alone_put(out, is_pointer ? ALONE_GLOBAL : ALONE_PRIVATE, 4);
    alone_put(out, 0, 8); /* qualifiers of its type */
    alone_put(out, is_pointer, 4);
    alone_put(out, size, 4);
    alone_put_name(out, "p", 1);
    alone_put_name(out, "t", 1);
    text += length;
  }
  return count;
}

static bool alone_put_kernel(halo_strbuf *out, const char *name, const char *parameters) {
  halo_strbuf described = {0}, rest = {0};
  int32_t count = alone_put_parameters(&described, parameters);
  alone_put(&rest, described.length, 4);
  alone_put_name(&rest, name, strlen(name));
  alone_put(&rest, (uint64_t)count, 4);
  alone_put(&rest, 0, 4);                             /* variables in local memory */
  for (int d = 0; d < 3; d++) alone_put(&rest, 0, 8); /* the size of groups that is required */
  alone_put(&rest, 0, 4);                             /* attributes, as a text */
  alone_put(&rest, ALONE_KNOWN, 8);
  halo_strbuf_append_n(&rest, halo_strbuf_text(&described), described.length);
  alone_put(out, rest.length + 16, 8);
  alone_put(out, 0, 8); /* bytes of what was compiled already */
  halo_strbuf_append_n(out, halo_strbuf_text(&rest), rest.length);
  halo_strbuf_deinit(&described);
  halo_strbuf_deinit(&rest);
  return count >= 0;
}

typedef bool alone_visit(halo_strbuf *out, const char *name, const char *parameters);

/* Calls `visit` with each kernel; gives their number, or -1 when there is something that is not understood. */
static int32_t alone_kernels(halo_strbuf *out, const char *source, alone_visit *visit) {
  static const char start[] = "__kernel void ";
  HALO_VEC(char *) names = {0};
  bool ok = true;
  for (const char *at = source; ok && (at = strstr(at, start));) {
    at += strlen(start);
    const char *open = strchr(at, '('), *close = open ? strchr(open, ')') : NULL;
    if (!close) break;
    char *name = alone_expand(source, at, open);
    bool known = false;
    for (int32_t i = 0; i < names.count; i++) known |= strcmp(names.data[i], name) == 0;
    if (known) {
      halo_free(name);
      continue;
    }
    halo_vec_push(&names, name);
    char *parameters = alone_expand(source, open + 1, close);
    ok = visit(out, name, parameters);
    halo_free(parameters);
  }
  int32_t count = ok ? names.count : -1;
  for (int32_t i = 0; i < names.count; i++) halo_free(names.data[i]);
  halo_vec_deinit(&names);
  return count;
}

/* ---- Binaries ---- */

/* Where things are in a binary with one file, the program's bitcode. */
enum {
  ALONE_VERSION = 16,
  ALONE_KERNELS = 20,
  ALONE_KIND = 28,
  ALONE_FILES = 77, /* bytes behind */
  ALONE_HEAD = 85,
  ALONE_FORM = 9,
  ALONE_COMPILED = 1,
  ALONE_LINKED = 4
};

static uint64_t alone_get(const halo_strbuf *binary, size_t at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++) {
    value |= (uint64_t)(unsigned char)halo_strbuf_text(binary)[at + (size_t)i] << (8 * i);
  }
  return value;
}

const unsigned char *halo_pocl_bitcode(const void *image, size_t size, size_t *bitcode_size) {
  static const unsigned char magic[] = {'B', 'C', 0xc0, 0xde};
  const halo_strbuf binary = {.data = (char *)image, .length = size};
  size_t end = ALONE_HEAD + alone_get(&binary, ALONE_FILES, 8);
  for (size_t at = ALONE_HEAD; at + sizeof magic <= end; at++) {
    const unsigned char *bytes = (const unsigned char *)image + at;
    if (memcmp(bytes, magic, sizeof magic) != 0) continue;
    *bitcode_size = end - at;
    return bytes;
  }
  return NULL;
}

static bool alone_is_expected(const halo_strbuf *binary) {
  return binary->length > ALONE_HEAD && strcmp(halo_strbuf_text(binary), "poclbin") == 0 &&
         alone_get(binary, ALONE_VERSION, 4) == ALONE_FORM &&
         alone_get(binary, ALONE_KERNELS, 4) == 0 &&
         alone_get(binary, ALONE_KIND, 4) == ALONE_COMPILED &&
         alone_get(binary, ALONE_FILES, 8) == binary->length - ALONE_HEAD;
}

/* The binary of a compiled program as that of a linked one, or an empty one. *is_known: its form is. */
static halo_strbuf alone_link(cl_program compiled, const char *source, bool *is_known) {
  halo_strbuf binary = {0}, kernels = {0};
  size_t size = 0;
  if (halo_cl.clGetProgramInfo(compiled, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) !=
          CL_SUCCESS ||
      size == 0) {
    return binary;
  }
  unsigned char *bytes = halo_alloc(size);
  if (halo_cl.clGetProgramInfo(compiled, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL) ==
      CL_SUCCESS) {
    halo_strbuf_append_n(&binary, (const char *)bytes, size);
  }
  halo_free(bytes);
  *is_known = alone_is_expected(&binary);
  int32_t count = *is_known ? alone_kernels(&kernels, source, alone_put_kernel) : -1;
  if (count <= 0) {
    halo_strbuf_deinit(&binary);
  } else {
    char *head = binary.data;
    for (int i = 0; i < 4; i++) head[ALONE_KERNELS + i] = (char)(count >> (8 * i) & 255);
    head[ALONE_KIND] = ALONE_LINKED;
    halo_strbuf_append_n(&binary, halo_strbuf_text(&kernels), kernels.length);
  }
  halo_strbuf_deinit(&kernels);
  return binary;
}

/* PoCL has LLVM optimise a program, and each kernel of it once more. That takes as long again as all of clang does, and a
 * kernel without loops gains nothing by the first time. PoCL knows no option for it, but looks at options as words
 * between spaces, and hands them on as words between spaces of any kind. (clang's -discard-value-names would make the LLVM module that
 * PoCL keeps a fifth smaller, but all programs share a context of LLVM, which then frees names twice.) */
static const char alone_brief[] = " -DH_BRIEF\t-disable-llvm-passes";

static bool alone_put_group(halo_strbuf *out, const char *name, const char *parameters) {
  halo_native_group(out, name, parameters);
  return true;
}

cl_program halo_pocl_build_alone(cl_context context, cl_device_id id, halo_cl_program_use use,
                                 const char *defined, const char *source, const char *options,
                                 halo_strbuf *image, bool *is_known) {
  halo_strbuf compiling = {0}, binary = {0}, groups = {0};
  if (use.native) {
    halo_native_declare(&groups);
    alone_kernels(&groups, source, alone_put_group);
  }
  const char *parts[] = {defined, source, halo_strbuf_text(&groups)};
  cl_int code, fit = CL_SUCCESS;
  cl_program compiled = halo_cl.clCreateProgramWithSource(context, 3, parts, NULL, &code),
             linked = NULL;
  halo_strbuf_deinit(&groups);
  if (!compiled) return NULL;
  halo_strbuf_printf(&compiling, "%s%s", options, use.brief || use.native ? alone_brief : "");
  if (use.native) halo_strbuf_printf(&compiling, " -DH_NATIVE=%d", HALO_NATIVE_FORM);
  code = halo_cl.clCompileProgram(compiled, 1, &id, halo_strbuf_text(&compiling), 0, NULL, NULL,
                                  NULL, NULL);
  halo_strbuf_deinit(&compiling);
  *is_known = true;
  if (code == CL_SUCCESS) binary = alone_link(compiled, source, is_known);
  if (binary.length > 0) {
    const unsigned char *bytes = (const unsigned char *)halo_strbuf_text(&binary);
    linked =
        halo_cl.clCreateProgramWithBinary(context, 1, &id, &binary.length, &bytes, &fit, &code);
    if (linked && (fit != CL_SUCCESS ||
                   halo_cl.clBuildProgram(linked, 1, &id, options, NULL, NULL) != CL_SUCCESS)) {
      halo_cl.clReleaseProgram(linked);
      linked = NULL;
    }
  }
  if (linked && image) {
    *image = binary;
  } else {
    halo_strbuf_deinit(&binary);
  }
  halo_cl.clReleaseProgram(compiled);
  return linked;
}
