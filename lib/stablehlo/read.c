/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/read.c: programs in any format, told by their content. */
#include "base/file.h"
#include "base/memory.h"
#include "hlo/hlo.h"
#include "proto/proto.h"
#include "stablehlo/stablehlo.h"

#include <stdio.h>
#include <string.h>

typedef enum read_format {
  READ_EXPORT,
  READ_HLO_TEXT,
  READ_HLO_PROTO,
  READ_MLIR_TEXT,
  READ_BYTECODE
} read_format;

/* MLIR bytecode begins with four bytes of its own. */
static read_format read_format_of(const void *bytes, size_t size) {
  static const unsigned char magic[] = {0x4d, 0x4c, 0xef, 0x52};
  const void *artifact;
  size_t artifact_size;
  if (size >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0) return READ_BYTECODE;
  if (halo_export_artifact(bytes, size, &artifact, &artifact_size)) return READ_EXPORT;
  if (halo_proto_is_module(bytes, size)) return READ_HLO_PROTO;
  return halo_stablehlo_is_text(bytes, size) ? READ_MLIR_TEXT : READ_HLO_TEXT;
}

/* The head of an artifact: four bytes, the version as a varint, of which one byte is enough so far, a text. */
static void read_identify_artifact(const unsigned char *bytes, size_t size,
                                   halo_program_identity *out) {
  enum { MAGIC = 4 };
  if (size <= MAGIC || !(bytes[MAGIC] & 1)) return;
  out->bytecode = bytes[MAGIC] >> 1;
  const char *producer = (const char *)bytes + MAGIC + 1;
  size_t room = size - MAGIC - 1;
  if (room > sizeof out->producer - 1) room = sizeof out->producer - 1;
  for (size_t i = 0; i < room && producer[i]; i++) {
    bool plain = producer[i] >= ' ' && producer[i] <= '~';
    out->producer[i] = plain ? producer[i] : '?';
  }
}

void halo_program_identify(const void *bytes, size_t size, halo_program_identity *out) {
  static const char *const names[] = {[READ_EXPORT] = "JAX export",
                                      [READ_HLO_TEXT] = "HLO text",
                                      [READ_HLO_PROTO] = "HLO proto",
                                      [READ_MLIR_TEXT] = "StableHLO text",
                                      [READ_BYTECODE] = "StableHLO artifact"};
  read_format format = read_format_of(bytes, size);
  const void *artifact = bytes;
  *out = (halo_program_identity){.format = names[format], .bytecode = -1};
  if (format == READ_EXPORT) (void)halo_export_artifact(bytes, size, &artifact, &size);
  if (format == READ_BYTECODE || format == READ_EXPORT) {
    read_identify_artifact(artifact, size, out);
  }
}

/* ---- Versions ---- */

enum {
  READ_OLDEST = 9,
  READ_NEWEST = 1020
}; /* 0.9 and 1.20: 1000 times the first number, and the second */

/* A fault in an artifact of an unknown version is most likely due to the version. */
static halo_status read_blame_version(const void *bytes, size_t size, halo_status status) {
  halo_program_identity identity;
  int major, minor;
  halo_program_identify(bytes, size, &identity);
  if (status != HALO_INVALID_ARGUMENT && status != HALO_UNIMPLEMENTED) return status;
  if (sscanf(identity.producer, "StableHLO_v%d.%d", &major, &minor) != 2) return status;
  if (minor < 1000 && major < 1000 && 1000 * major + minor >= READ_OLDEST &&
      1000 * major + minor <= READ_NEWEST) {
    return status;
  }
  return halo_fail_in(status,
                      "the artifact is of StableHLO %d.%d, and only 0.9 to 1.20 are supported",
                      major, minor);
}

typedef struct read_request {
  const void *bytes;
  size_t size;
  const char *name;
  const halo_specialisation *how;
  bool parameters; /* no more than these */
  halo_module *out;
} read_request;

/* The parameters of a module, in another one. */
static halo_module *read_parameters_of(const halo_module *module) {
  halo_module *out = halo_module_create(module->name);
  halo_computation *entry = halo_computation_create(out, "main");
  int32_t count = module->entry->params.count;
  out->entry = entry;
  out->entry_params = halo_arena_array(&out->arena, const halo_shape *, count + 1);
  for (int32_t i = 0; i < count; i++) {
    const halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER,
                                  .name = module->entry->params.data[i]->name,
                                  .shape = halo_shape_clone(&out->arena, module->entry_params[i]),
                                  .parameter_number = i};
    out->entry_params[i] = halo_instr_create_unchecked(entry, &spec)->shape;
  }
  entry->root = halo_instr_create_unchecked(
      entry, &(halo_instr_spec){.opcode = HALO_OP_TUPLE,
                                .shape = halo_shape_new_tuple(&out->arena, 0, NULL)});
  out->entry_result = entry->root->shape;
  return out;
}

static halo_status read_hlo(read_request *request, bool proto) {
  halo_module *module = NULL;
  HALO_TRY(proto ? halo_proto_read(request->bytes, request->size, request->name, &module)
                 : halo_module_parse(request->bytes, request->size, request->name, &module));
  halo_status status = HALO_OK;
  if (request->parameters) {
    request->out = read_parameters_of(module);
  } else if (request->how && request->how->arguments) {
    status = halo_module_specialise(module, request->how->arguments, request->how->argument_count);
  }
  if (request->parameters || status != HALO_OK) {
    halo_module_release(module);
  } else {
    request->out = module;
  }
  return status;
}

static halo_status read_mlir(read_request *request, bool text) {
  halo_mlir_program *program = NULL;
  HALO_TRY(text ? halo_mlir_read_text(request->bytes, request->size, request->name, &program)
                : halo_mlir_read_bytecode(request->bytes, request->size, request->name, &program));
  halo_status status = request->parameters
                           ? halo_stablehlo_to_parameters(program, &request->out)
                           : halo_stablehlo_to_module(program, request->how, &request->out);
  halo_mlir_program_release(program);
  return status;
}

static halo_status read_run(void *user) {
  read_request *request = user;
  read_format format = read_format_of(request->bytes, request->size);
  if (format == READ_HLO_TEXT || format == READ_HLO_PROTO)
    return read_hlo(request, format == READ_HLO_PROTO);
  if (format == READ_MLIR_TEXT) return read_mlir(request, true);
  if (format == READ_EXPORT)
    (void)halo_export_artifact(request->bytes, request->size, &request->bytes, &request->size);
  halo_status status = read_mlir(request, false);
  if (status == HALO_OK) return HALO_OK;
  return read_blame_version(request->bytes, request->size, status);
}

static halo_status read_any(read_request *request, const char *function, halo_module **out) {
  if (!out) return halo_fail(HALO_INVALID_ARGUMENT, "%s: out is NULL", function);
  *out = NULL;
  if (!request->bytes) return halo_fail(HALO_INVALID_ARGUMENT, "%s: bytes is NULL", function);
  HALO_TRY(halo_memory_guard(read_run, request));
  *out = request->out;
  return HALO_OK;
}

halo_status halo_module_read(const void *bytes, size_t size, const char *name,
                             const halo_specialisation *how, halo_module **out) {
  read_request request = {.bytes = bytes, .size = size, .name = name, .how = how};
  return read_any(&request, "halo_module_read", out);
}

halo_status halo_module_read_parameters(const void *bytes, size_t size, const char *name,
                                        halo_module **out) {
  read_request request = {.bytes = bytes, .size = size, .name = name, .parameters = true};
  return read_any(&request, "halo_module_read_parameters", out);
}

halo_status halo_module_read_file(const char *path, const halo_specialisation *how,
                                  halo_module **out) {
  if (!out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_module_read_file: out is NULL");
  *out = NULL;
  if (!path) return halo_fail(HALO_INVALID_ARGUMENT, "halo_module_read_file: path is NULL");
  char *bytes = NULL;
  size_t size = 0;
  HALO_TRY(halo_file_read(path, &bytes, &size));
  halo_status status = halo_module_read(bytes, size, path, how, out);
  halo_free(bytes);
  return status;
}
