/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/program.c: programs and their kernels. */
#include "base/log.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "cpu/compile.h"
#include "cpu/objects.h"

#include <string.h>

/* ---- Life ---- */

static cl_program program_create(cl_context context) {
  struct _cl_program *program = halo_alloc(sizeof *program);
  program->tag = &halo_cpu_dispatch;
  program->context = context;
  program->log = halo_strdup("");
  program->status = CL_BUILD_NONE;
  atomic_init(&program->references, 1);
  return program;
}

static void program_drop_code(cl_program program) {
  cpu_image_drop(program->image);
  for (uint32_t i = 0; i < program->kernel_count; i++) {
    halo_free(program->kernels[i].name);
    halo_free(program->kernels[i].parameters);
    halo_free(program->kernels[i].object);
  }
  halo_free(program->kernels);
  program->kernels = NULL;
  program->kernel_count = 0;
  program->image = NULL;
}

cl_int CL_API_CALL cpu_clReleaseProgram(cl_program program) {
  if (atomic_fetch_sub(&program->references, 1) != 1) return CL_SUCCESS;
  program_drop_code(program);
  halo_free(program->source);
  halo_free(program->options);
  halo_free(program->log);
  halo_free(program);
  return CL_SUCCESS;
}

cl_program CL_API_CALL cpu_clCreateProgramWithSource(cl_context context, cl_uint count,
                                                     const char **parts, const size_t *lengths,
                                                     cl_int *code) {
  halo_strbuf text = {0};
  bool good = count && parts;
  for (cl_uint i = 0; good && i < count; i++) good = parts[i] != NULL;
  if (code) *code = good ? CL_SUCCESS : CL_INVALID_VALUE;
  if (!good) return NULL;
  for (cl_uint i = 0; i < count; i++) {
    halo_strbuf_append_n(&text, parts[i], lengths && lengths[i] ? lengths[i] : strlen(parts[i]));
  }
  cl_program program = program_create(context);
  program->source = halo_strbuf_take(&text);
  return program;
}

/* ---- Binaries ---- */

/* A binary is this, and for each kernel its name, parameters and object, each of whole words of 8 bytes. Its checksum is the matter
 * of whoever keeps it. */
static const char program_magic[8] = {'H', 'A', 'L', 'O', 'C', 'P', 'U', '3'};

static void program_put(halo_strbuf *out, const void *bytes, size_t size) {
  static const char zeros[8];
  uint64_t length = size;
  halo_strbuf_append_n(out, (const char *)&length, sizeof length);
  halo_strbuf_append_n(out, bytes, size);
  halo_strbuf_append_n(out, zeros, (8 - size % 8) % 8);
}

static halo_strbuf program_binary(const struct _cl_program *program) {
  halo_strbuf out = {0};
  uint64_t head[2] = {program->kernel_count, program->flushes};
  halo_strbuf_append_n(&out, program_magic, sizeof program_magic);
  halo_strbuf_append_n(&out, (const char *)head, sizeof head);
  for (uint32_t i = 0; i < program->kernel_count; i++) {
    const cpu_kernel_code *k = &program->kernels[i];
    uint64_t facts = k->waits | (uint64_t)k->run << 8;
    program_put(&out, k->name, strlen(k->name));
    program_put(&out, k->parameters, sizeof *k->parameters * k->parameter_count);
    program_put(&out, &facts, sizeof facts);
    program_put(&out, k->object, k->object_size);
  }
  return out;
}

/* Takes the next piece, a copy with a NUL behind it; NULL: the binary is cut. */
static void *program_take(const char **at, const char *end, size_t *size) {
  uint64_t length;
  if ((size_t)(end - *at) < sizeof length) return NULL;
  memcpy(&length, *at, sizeof length);
  *at += sizeof length;
  if (length > (size_t)(end - *at)) return NULL;
  char *piece = halo_alloc(length + 1);
  memcpy(piece, *at, length);
  uint64_t step = (length + 7) / 8 * 8;
  *at += step < (size_t)(end - *at) ? step : (size_t)(end - *at);
  *size = length;
  return piece;
}

static bool program_take_kernel(cpu_kernel_code *k, const char **at, const char *end) {
  size_t size = 0;
  uint64_t *facts;
  if (!(k->name = program_take(at, end, &size))) return false;
  if (!(k->parameters = program_take(at, end, &size))) return false;
  k->parameter_count = (uint32_t)(size / sizeof *k->parameters);
  if (!(facts = program_take(at, end, &size))) return false;
  k->waits = size == sizeof *facts && (*facts & 1);
  k->run =
      size == sizeof *facts && *facts >> 8 <= CPU_RUN_ROWS ? (cpu_run)(*facts >> 8) : CPU_RUN_ITEM;
  halo_free(facts);
  return (k->object = program_take(at, end, &k->object_size)) != NULL;
}

static bool program_read(cl_program program, const char *at, size_t size) {
  const char *end = at + size;
  uint64_t head[2];
  if (size < sizeof program_magic + sizeof head) return false;
  if (memcmp(at, program_magic, sizeof program_magic) != 0) return false;
  memcpy(head, at + sizeof program_magic, sizeof head);
  at += sizeof program_magic + sizeof head;
  if (head[0] > size) return false;
  program->flushes = head[1] != 0;
  program->kernels = halo_alloc(sizeof *program->kernels * (head[0] + 1));
  for (uint64_t i = 0; i < head[0]; i++) {
    program->kernel_count++;
    if (!program_take_kernel(&program->kernels[i], &at, end)) return false;
  }
  return true;
}

cl_program CL_API_CALL cpu_clCreateProgramWithBinary(cl_context context, cl_uint count,
                                                     const cl_device_id *ids, const size_t *sizes,
                                                     const unsigned char **binaries, cl_int *fit,
                                                     cl_int *code) {
  (void)ids;
  cl_int ignored;
  if (!code) code = &ignored;
  bool asked = count == 1 && sizes && binaries && binaries[0];
  *code = asked ? CL_SUCCESS : CL_INVALID_VALUE;
  if (!asked) return NULL;
  cl_program program = program_create(context);
  bool good = program_read(program, (const char *)binaries[0], sizes[0]);
  if (fit) *fit = good ? CL_SUCCESS : CL_INVALID_BINARY;
  if (good) return program;
  *code = CL_INVALID_BINARY;
  cpu_clReleaseProgram(program);
  return NULL;
}

static cl_int program_answer_binary(const struct _cl_program *program, cl_program_info what,
                                    size_t room, void *out, size_t *size) {
  unsigned char **binaries = out;
  halo_strbuf binary = {0};
  if (program->status == CL_BUILD_SUCCESS) binary = program_binary(program);
  cl_int code = CL_SUCCESS;
  if (what == CL_PROGRAM_BINARY_SIZES) {
    code = cpu_answer(&binary.length, sizeof binary.length, room, out, size);
  } else {
    if (size) *size = sizeof *binaries;
    if (out && room < sizeof *binaries) code = CL_INVALID_VALUE;
    bool wanted = out && code == CL_SUCCESS && binaries[0];
    if (wanted) memcpy(binaries[0], halo_strbuf_text(&binary), binary.length);
  }
  halo_strbuf_deinit(&binary);
  return code;
}

static cl_int program_answer_kernels(const struct _cl_program *program, cl_program_info what,
                                     size_t room, void *out, size_t *size) {
  if (!program->image) return CL_INVALID_PROGRAM_EXECUTABLE;
  if (what == CL_PROGRAM_NUM_KERNELS) {
    size_t count = program->kernel_count;
    return cpu_answer(&count, sizeof count, room, out, size);
  }
  halo_strbuf names = {0};
  for (uint32_t i = 0; i < program->kernel_count; i++) {
    halo_strbuf_printf(&names, "%s%s", i ? ";" : "", program->kernels[i].name);
  }
  cl_int code = cpu_answer_text(halo_strbuf_text(&names), room, out, size);
  halo_strbuf_deinit(&names);
  return code;
}

cl_int CL_API_CALL cpu_clGetProgramInfo(cl_program program, cl_program_info what, size_t room,
                                        void *out, size_t *size) {
  const cl_uint devices = 1;
  switch (what) {
    case CL_PROGRAM_REFERENCE_COUNT:
      return cpu_answer_references(&program->references, room, out, size);
    case CL_PROGRAM_CONTEXT:
      return cpu_answer(&program->context, sizeof program->context, room, out, size);
    case CL_PROGRAM_NUM_DEVICES: return cpu_answer(&devices, sizeof devices, room, out, size);
    case CL_PROGRAM_DEVICES:
      return cpu_answer(&program->context->device, sizeof(cl_device_id), room, out, size);
    case CL_PROGRAM_SOURCE:
      return cpu_answer_text(program->source ? program->source : "", room, out, size);
    case CL_PROGRAM_BINARY_SIZES:
    case CL_PROGRAM_BINARIES: return program_answer_binary(program, what, room, out, size);
    case CL_PROGRAM_NUM_KERNELS:
    case CL_PROGRAM_KERNEL_NAMES: return program_answer_kernels(program, what, room, out, size);
    default: return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL cpu_clGetProgramBuildInfo(cl_program program, cl_device_id id,
                                             cl_program_build_info what, size_t room, void *out,
                                             size_t *size) {
  cl_program_binary_type type = program->status == CL_BUILD_SUCCESS
                                    ? CL_PROGRAM_BINARY_TYPE_EXECUTABLE
                                    : CL_PROGRAM_BINARY_TYPE_NONE;
  (void)id;
  switch (what) {
    case CL_PROGRAM_BUILD_STATUS:
      return cpu_answer(&program->status, sizeof program->status, room, out, size);
    case CL_PROGRAM_BINARY_TYPE: return cpu_answer(&type, sizeof type, room, out, size);
    case CL_PROGRAM_BUILD_LOG: return cpu_answer_text(program->log, room, out, size);
    case CL_PROGRAM_BUILD_OPTIONS:
      return cpu_answer_text(program->options ? program->options : "", room, out, size);
    default: return CL_INVALID_VALUE;
  }
}

/* ---- Building ---- */

typedef struct program_job {
  cl_program program;
  bool by_library; /* else by the program clang */
  const unsigned char *code;
  size_t size;
  pthread_mutex_t lock;
  halo_strbuf *log; /* of the first failure; under the lock */
} program_job;

static void program_compile_some(void *data, size_t begin, size_t end) {
  program_job *job = data;
  for (size_t i = begin; i < end; i++) {
    cpu_kernel_code *kernel = &job->program->kernels[i];
    const char *why = "clang cannot compile it";
    halo_strbuf log = {0};
    bool good = job->by_library ? cpu_compile_kernel(job->code, job->size, kernel, &why)
                                : cpu_text_kernel((const char *)job->code, job->size, kernel, &log);
    pthread_mutex_lock(&job->lock);
    if (!good && !job->log->length) {
      halo_strbuf_printf(job->log, "kernel %s: %s", kernel->name, log.length ? log.data : why);
    }
    pthread_mutex_unlock(&job->lock);
    halo_strbuf_deinit(&log);
  }
}

/* Compiles the source; false: it does not build. */
static bool program_compile(cl_program program, const char *options, halo_strbuf *log) {
  program_job job = {.program = program, .by_library = cpu_compile_by_library()};
  halo_strbuf failures = {0};
  unsigned char *code = NULL;
  uint32_t *count = &program->kernel_count;
  _Atomic(float) each = 1e7f; /* nanoseconds: always worth a thread */
  if (!job.by_library) {
    HALO_LOG(HALO_LOG_INFO, "device: %s makes machine code, which takes longer than by libLLVM",
             cpu_front_get()->name);
  }
  bool good = cpu_front_compile(program->source, options, !job.by_library, &code, &job.size, log);
  if (good && job.by_library) {
    good = cpu_compile_list(code, job.size, &program->kernels, count, log);
  } else if (good) {
    cpu_text_list((const char *)code, job.size, &program->kernels, count);
  }
  job.code = code;
  job.log = &failures;
  if (good) {
    pthread_mutex_init(&job.lock, NULL);
    cpu_pool_run(cpu_pool_cores(), *count, &each, program_compile_some, &job);
    pthread_mutex_destroy(&job.lock);
    good = failures.length == 0;
    halo_strbuf_append(log, halo_strbuf_text(&failures));
  }
  halo_strbuf_deinit(&failures);
  halo_free(code);
  return good;
}

cl_int CL_API_CALL cpu_clBuildProgram(cl_program program, cl_uint count, const cl_device_id *ids,
                                      const char *options,
                                      void(CL_CALLBACK *notify)(cl_program, void *), void *data) {
  (void)count;
  (void)ids;
  halo_strbuf log = {0};
  char *why = NULL;
  if (!options) options = "";
  if (!notify && data) return CL_INVALID_VALUE;
  if (atomic_load(&program->kernels_held)) return CL_INVALID_OPERATION;
  bool good = true;
  if (program->source) {
    program_drop_code(program);
    program->flushes = strstr(options, "-cl-denorms-are-zero") != NULL;
    good = program_compile(program, options, &log);
  }
  if (good && !program->image && program->kernel_count) {
    program->image = cpu_image_load(program->kernels, program->kernel_count, &why);
    good = program->image != NULL;
    if (why) halo_strbuf_append(&log, why);
    halo_free(why);
  }
  halo_free(program->options);
  program->options = halo_strdup(options);
  halo_free(program->log);
  program->log = halo_strdup(halo_strbuf_text(&log));
  halo_strbuf_deinit(&log);
  program->status = good ? CL_BUILD_SUCCESS : CL_BUILD_ERROR;
  if (notify) notify(program, data);
  return good ? CL_SUCCESS : CL_BUILD_PROGRAM_FAILURE;
}

/* The provider compiles and links in one step, clBuildProgram. */
cl_int CL_API_CALL cpu_clCompileProgram(cl_program program, cl_uint count, const cl_device_id *ids,
                                        const char *options, cl_uint headers,
                                        const cl_program *list, const char **names,
                                        void(CL_CALLBACK *notify)(cl_program, void *), void *data) {
  (void)program;
  (void)count;
  (void)ids;
  (void)options;
  (void)headers;
  (void)list;
  (void)names;
  (void)notify;
  (void)data;
  return CL_INVALID_OPERATION;
}

/* ---- Kernels ---- */

cl_kernel CL_API_CALL cpu_clCreateKernel(cl_program program, const char *name, cl_int *code) {
  cpu_kernel_code *found = NULL;
  cl_int ignored;
  if (!code) code = &ignored;
  *code = CL_INVALID_VALUE;
  if (!name) return NULL;
  for (uint32_t i = 0; i < program->kernel_count && !found; i++) {
    if (strcmp(program->kernels[i].name, name) == 0) found = &program->kernels[i];
  }
  *code = !program->image ? CL_INVALID_PROGRAM_EXECUTABLE
          : !found        ? CL_INVALID_KERNEL_NAME
                          : CL_SUCCESS;
  if (*code != CL_SUCCESS) return NULL;
  struct _cl_kernel *kernel = halo_alloc(sizeof *kernel + sizeof(struct cpu_argument) *
                                                              ((size_t)found->parameter_count + 1));
  kernel->tag = &halo_cpu_dispatch;
  kernel->program = program;
  kernel->code = found;
  atomic_init(&kernel->references, 1);
  atomic_fetch_add(&program->kernels_held, 1);
  atomic_fetch_add(&program->references, 1);
  return kernel;
}

cl_int CL_API_CALL cpu_clReleaseKernel(cl_kernel kernel) {
  if (atomic_fetch_sub(&kernel->references, 1) != 1) return CL_SUCCESS;
  cl_program program = kernel->program;
  atomic_fetch_sub(&program->kernels_held, 1);
  halo_free(kernel);
  return cpu_clReleaseProgram(program);
}

cl_int CL_API_CALL cpu_clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size,
                                      const void *value) {
  if (index >= kernel->code->parameter_count) return CL_INVALID_ARG_INDEX;
  const cpu_parameter *parameter = &kernel->code->parameters[index];
  struct cpu_argument *argument = &kernel->arguments[index];
  if (size != parameter->size) return CL_INVALID_ARG_SIZE;
  if (!value && parameter->kind == CPU_VALUE) return CL_INVALID_ARG_VALUE;
  argument->set = true;
  if (parameter->kind == CPU_POINTER) {
    argument->mem = value ? *(const cl_mem *)value : NULL;
  } else {
    memcpy(argument->value, value, size);
  }
  return CL_SUCCESS;
}

cl_int CL_API_CALL cpu_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id id,
                                                cl_kernel_work_group_info what, size_t room,
                                                void *out, size_t *size) {
  /* The device says that one suits it; where items do not wait for each other, any number will do. */
  enum { ANY = 4096 };
  size_t most = kernel->code->waits ? 1 : ANY, parallel = 1;
  cl_ulong local = 0;
  (void)id;
  switch (what) {
    case CL_KERNEL_WORK_GROUP_SIZE: return cpu_answer(&most, sizeof most, room, out, size);
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
      return cpu_answer(&parallel, sizeof parallel, room, out, size);
    case CL_KERNEL_LOCAL_MEM_SIZE:
    case CL_KERNEL_PRIVATE_MEM_SIZE: return cpu_answer(&local, sizeof local, room, out, size);
    default: return CL_INVALID_VALUE;
  }
}
