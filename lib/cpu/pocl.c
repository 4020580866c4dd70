/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/pocl.c: PoCL as a front end, by OpenCL's own functions: clCompileProgram makes bitcode, which CL_PROGRAM_BINARIES has in it. */
#include "base/config.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/processor.h"
#include "cpu/cpu.h"
#include "cpu/front.h"
#include "cpu/llvm.h"
#include "cpu/target.h"
#include "opencl/api.h"

#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t pocl_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  halo_cl_api cl;
  cl_device_id device;
  cl_context context; /* NULL: not opened yet */
  char name[64], folder[PATH_MAX];
} pocl;

/* ---- Finding it ---- */

/* Its device for the processor; the platform's version is written to `version`. NULL: it is not there. */
static cl_device_id pocl_device(char *version, size_t size) {
  enum { MOST = 16 };
  cl_platform_id platforms[MOST];
  cl_uint count = 0;
  cl_device_id device = NULL;
  if (pocl.cl.clGetPlatformIDs(MOST, platforms, &count) != CL_SUCCESS) return NULL;
  for (cl_uint i = 0; i < count && i < MOST && !device; i++) {
    char name[128] = "";
    pocl.cl.clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    if (!strstr(name, "Portable Computing Language")) continue;
    pocl.cl.clGetPlatformInfo(platforms[i], CL_PLATFORM_VERSION, size - 1, version, NULL);
    pocl.cl.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL);
  }
  return device;
}

static int pocl_find_folder(struct dl_phdr_info *info, size_t size, void *data) {
  const char *slash = strrchr(info->dlpi_name, '/');
  (void)size;
  (void)data;
  if (!slash || strncmp(slash, "/libpocl", strlen("/libpocl")) != 0) return 0;
  snprintf(pocl.folder, sizeof pocl.folder, "%.*s", (int)(slash - info->dlpi_name),
           info->dlpi_name);
  return 1;
}

/* Opens it, and a libLLVM for what it makes. NULL, or what is missing. */
static const char *pocl_open(cpu_front *front) {
  static char text[160];
  char version[256] = "";
  int major = 0, minor = 0;
  cl_int code;
  if (halo_config_text(HALO_CONFIG_CPU) && halo_cpu_is_processor(halo_config_text(HALO_CONFIG_CPU)))
    return "PoCL makes code for this processor alone";
  if (!pocl.cl.clGetPlatformIDs && halo_cl_api_system(&pocl.cl)) return "no OpenCL driver";
  pocl.device = pocl_device(version, sizeof version);
  if (!pocl.device) return "PoCL has no device for the processor";
  const char *own = strstr(version, "PoCL "), *llvm = strstr(version, "LLVM ");
  if (!own || sscanf(own, "PoCL %d.%d", &major, &minor) != 2 || !llvm ||
      sscanf(llvm, "LLVM %d", &front->version) != 1) {
    return "PoCL does not tell the version of its LLVM";
  }
  dl_iterate_phdr(pocl_find_folder, NULL);
  const halo_llvm *library = halo_llvm_open(front->version, pocl.folder);
  if (!library) {
    snprintf(text, sizeof text, "PoCL %d.%d has LLVM %d, and no libLLVM of that version or newer",
             major, minor, front->version);
    return text;
  }
  snprintf(pocl.name, sizeof pocl.name, "PoCL %d.%d and libLLVM %d", major, minor,
           library->version);
  pocl.context = pocl.cl.clCreateContext(NULL, 1, &pocl.device, NULL, NULL, &code);
  return pocl.context ? NULL : "PoCL gives no context";
}

/* ---- Bitcode ---- */

/* The number at bit *at of `word`, in groups of `width` bits, the highest of which says whether another one follows; *at goes behind it. */
static uint32_t pocl_read_number(uint64_t word, unsigned *at, unsigned width) {
  uint32_t number = 0, more = 1u << (width - 1), shift = 0;
  for (uint32_t group = more; group & more && *at < 60 && shift < 32;
       shift += width - 1, *at += width) {
    group = (uint32_t)(word >> *at) & (2 * more - 1);
    number |= (group & (more - 1)) << shift;
  }
  return number;
}

/* How many bytes a bitstream has that begins here, by its blocks, each of which says its length; 0: it has no module. */
static size_t pocl_bitcode_size(const unsigned char *bytes, size_t size) {
  enum { ENTER = 1, MODULE = 8, IDENTIFICATION = 13, NAMES = 23, SYMBOLS = 25 };
  size_t at = 4; /* behind the magic number */
  bool has_module = false;
  while (at + 8 <= size) {
    uint64_t word;
    uint32_t words;
    unsigned bit = 2; /* the length of the first number at this level */
    memcpy(&word, bytes + at, sizeof word);
    if ((word & 3) != ENTER) break;
    uint32_t kind = pocl_read_number(word, &bit, 8);
    pocl_read_number(word, &bit, 4); /* the length of numbers within it */
    bool known = kind == MODULE || kind == IDENTIFICATION || kind == NAMES || kind == SYMBOLS;
    size_t length_at = at + (bit + 31) / 32 * 4;
    if (!known || length_at + 4 > size) break; /* what lies behind */
    memcpy(&words, bytes + length_at, sizeof words);
    if (words > (size - length_at - 4) / 4) break;
    at = length_at + 4 + 4 * (size_t)words;
    has_module |= kind == MODULE;
  }
  return has_module ? at : 0;
}

/* Appends the first module's bitcode in these bytes; false: there is none. */
static bool pocl_take_bitcode(const unsigned char *bytes, size_t size, halo_strbuf *out) {
  static const unsigned char magic[] = {'B', 'C', 0xc0, 0xde};
  for (size_t i = 0; i + 8 <= size; i++) {
    if (memcmp(bytes + i, magic, sizeof magic) != 0) continue;
    size_t length = pocl_bitcode_size(bytes + i, size - i);
    if (!length) continue;
    halo_strbuf_append_n(out, (const char *)bytes + i, length);
    return true;
  }
  return false;
}

static bool pocl_take_program(cl_program program, halo_strbuf *out) {
  size_t size = 0;
  pocl.cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
  unsigned char *bytes = halo_alloc(size + 1);
  cl_int code = pocl.cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL);
  bool good = code == CL_SUCCESS && pocl_take_bitcode(bytes, size, out);
  halo_free(bytes);
  return good;
}

/* ---- Compiling ---- */

static void pocl_take_log(cl_program program, halo_strbuf *log) {
  size_t size = 0;
  pocl.cl.clGetProgramBuildInfo(program, pocl.device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  char *text = halo_alloc(size + 1);
  pocl.cl.clGetProgramBuildInfo(program, pocl.device, CL_PROGRAM_BUILD_LOG, size, text, NULL);
  halo_strbuf_append(log, text);
  halo_free(text);
}

/* It ends the process where it cannot write its cache: for what it writes of one program. */
static bool pocl_has_room(halo_strbuf *log) {
  static const uint64_t room = 8 << 20; /* bytes */
  char *folder = halo_config_pocl_cache_dir();
  bool good = !folder || halo_folder_check_room(folder, room) == HALO_OK;
  if (!good)
    halo_strbuf_printf(log, "PoCL, which makes bitcode, cannot write its cache: %s",
                       halo_error_message());
  halo_free(folder);
  return good;
}

/* PoCL 3.0 from PyPI compiles text for processors of the baseline, and its kernels for this one only later. Then the text is told what
 * this one has: by the macros that it asks, and by an attribute of all functions, which stands for those that some have. */
static void pocl_begin(halo_strbuf *out) {
  const char *march = cpu_target_march();
  const bool has_avx512 = strcmp(march, "skylake-avx512") == 0;
  if (strcmp(march, "x86-64") == 0) return;
  halo_strbuf_printf(
      out,
      "#ifndef __AVX%s__\n#define H_OTHER_PROCESSOR\n"
      "#pragma clang attribute push(__attribute__((target(\"arch=%s%s%s\"))), apply_to = "
      "function)\n"
      "#define target(...)\n#define __FMA__ 1\n#define __F16C__ 1\n#define __AVX2__ 1\n%s#endif\n",
      has_avx512 ? "512F" : "2", march, halo_processor_has_avx512vnni() ? ",avx512vnni" : "",
      halo_processor_has_avx512bf16() ? ",avx512bf16" : "",
      has_avx512 ? "#define __AVX512F__ 1\n#define __AVX512BW__ 1\n" : "");
}
static const char pocl_end[] = "\n#ifdef H_OTHER_PROCESSOR\n#pragma clang attribute pop\n#endif\n";

static bool pocl_compile(const halo_strbuf *text, const char *options, bool as_text,
                         halo_strbuf *made, halo_strbuf *log) {
  /* Without clang's header of OpenCL's builtins, by the header's own guard: cpu/source.c defines those that a program uses, and reading
   * it takes ten times as long as the rest. If that stops working, compiling takes longer. */
  static const char own[] = "-w -cl-opt-disable -D_OPENCL_H_ -Dnoinline=" CPU_FRONT_STAYS;
  halo_strbuf all = {0}, before = {0};
  cl_int code = CL_SUCCESS;
  (void)as_text;
  if (!pocl_has_room(log)) return false;
  halo_strbuf_printf(&all, "%s %s", options, own);
  pocl_begin(&before);
  const char *const parts[] = {halo_strbuf_text(&before), halo_strbuf_text(text), pocl_end};
  pthread_mutex_lock(&pocl_lock);
  cl_program program =
      pocl.cl.clCreateProgramWithSource(pocl.context, 3, (const char **)parts, NULL, &code);
  if (program) {
    code = pocl.cl.clCompileProgram(program, 1, &pocl.device, all.data, 0, NULL, NULL, NULL, NULL);
    if (code != CL_SUCCESS) pocl_take_log(program, log);
  }
  bool good = program && code == CL_SUCCESS && pocl_take_program(program, made);
  if (program) pocl.cl.clReleaseProgram(program);
  pthread_mutex_unlock(&pocl_lock);
  if (!good && !log->length) halo_strbuf_printf(log, "%s gave no bitcode (%d)", pocl.name, code);
  halo_strbuf_deinit(&all);
  halo_strbuf_deinit(&before);
  return good;
}

const cpu_front *cpu_front_of_pocl(const char **missing) {
  static cpu_front front = {.name = pocl.name, .folder = pocl.folder, .compile = pocl_compile};
  pthread_mutex_lock(&pocl_lock);
  *missing = pocl.context ? NULL : pocl_open(&front);
  pthread_mutex_unlock(&pocl_lock);
  return *missing ? NULL : &front;
}
