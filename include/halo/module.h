/* SPDX-License-Identifier: Apache-2.0 */
/* halo/module.h: XLA programs as HLO modules: reading, writing, and their parameters and
 * results. */
#ifndef HALO_MODULE_H
#define HALO_MODULE_H

#include "halo/annotations.h"
#include "halo/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An HLO module: computations, one of which is the entry. Reference-counted, and immutable through
 * this interface, so that several threads may use it. */
typedef struct halo_module halo_module;

/* Reads HLO text of any generation (docs/hlo-text.md) and verifies the module. `length` is in
 * bytes. `name`, a file name or NULL, appears only in messages. An error is HALO_INVALID_ARGUMENT,
 * with a message of the form "name:line:column: error: ...", the line, a caret, and what was
 * expected. The caller releases *out. */
HALO_API HALO_MUST_USE halo_status halo_module_parse(const char *text, size_t length,
                                                     const char *name, halo_module **out);
/* The same from a file; HALO_NOT_FOUND or HALO_IO_ERROR if it cannot be read. */
HALO_API HALO_MUST_USE halo_status halo_module_parse_file(const char *path, halo_module **out);

/* The parts of a program that stay open until it is run. Zero-initialise unused fields. */
typedef struct halo_specialisation {
  /* The shapes of the parameters, for programs with open extents (`?`, which jax.export makes of symbolic
   * dimensions); NULL: none. They are read during the call only. */
  const halo_shape *const *arguments;
  int argument_count;
  /* The index of the platform that runs the program, if it was exported for several. (jax.export gives such
   * programs a first argument for it, which is not a parameter of the module.) */
  int platform_index;
} halo_specialisation;

/* Reads a program in any format, recognised by its content: HLO text; an HLO proto of XLA's tools
 * (HloModuleProto, HloProto, HloSnapshot; these do not say how many replicas and partitions they
 * are for); StableHLO as a portable artifact (MLIR bytecode, as from jax.export and PJRT, also
 * inside the result of jax.export's serialize()) or as MLIR text (docs/stablehlo.md). `how` may be
 * NULL.
 *
 * Otherwise as halo_module_parse; HALO_UNIMPLEMENTED for what is understood but not supported. A
 * message about a StableHLO program names the operation, its place in the user's source if the
 * program records it, and what was expected. */
HALO_API HALO_MUST_USE halo_status halo_module_read(const void *bytes, size_t size,
                                                    const char *name,
                                                    const halo_specialisation *how,
                                                    halo_module **out);
/* The same from a file; HALO_NOT_FOUND or HALO_IO_ERROR if it cannot be read. */
HALO_API HALO_MUST_USE halo_status halo_module_read_file(const char *path,
                                                         const halo_specialisation *how,
                                                         halo_module **out);
/* Reads only the parameters of a program. The result is a module without a result value, in which
 * open extents are HALO_UNBOUNDED. It cannot be compiled; use it to find out which arrays to
 * provide before there are shapes to read the program with. */
HALO_API HALO_MUST_USE halo_status halo_module_read_parameters(const void *bytes, size_t size,
                                                               const char *name, halo_module **out);

/* The format of a program, recognised by its content. */
typedef struct halo_program_identity {
  /* "HLO text", "HLO proto", "StableHLO text", "StableHLO artifact" or "JAX export"; static */
  const char *format;
  int bytecode; /* version of MLIR bytecode of an artifact; otherwise -1 */
  char producer
      [64]; /* of artifacts: who wrote it, "StableHLO_v1.17.0"; cut when it is longer; else "" */
} halo_program_identity;
/* Fills in *out without reading all of the program. */
HALO_API void halo_program_identify(const void *bytes, size_t size, halo_program_identity *out);

/* Flags of halo_module_to_text. */
enum {
  HALO_PRINT_SHORT = 1,         /* no `%`, no signatures, no metadata */
  HALO_PRINT_ELIDE_LARGE = 2,   /* constants of more than 10 elements as {...}: cannot run again */
  HALO_PRINT_OPERAND_SHAPES = 4 /* "add(f32[2]{0} %a, ...)" as older dumps have it */
};
/* The module as HLO text, freed with halo_text_release. Parsing the text gives an equal module
 * unless constants are elided. */
HALO_API HALO_MUST_USE halo_status halo_module_to_text(const halo_module *module, unsigned flags,
                                                       char **out);
/* The module as StableHLO text in generic form, freed with halo_text_release. StableHLO's own tools
 * and halo_module_read accept it. Layouts, names and metadata are left out. Returns
 * HALO_UNIMPLEMENTED, with a message that names the instruction, for what cannot be written
 * (docs/stablehlo.md). */
HALO_API HALO_MUST_USE halo_status halo_module_to_stablehlo(const halo_module *module, char **text);
/* Frees a text that the library returned; NULL is allowed. */
HALO_API void halo_text_release(char *text);
/* The module as a serialised HloModuleProto for XLA's own tools: *size bytes, freed with
 * halo_text_release. Returns HALO_UNIMPLEMENTED for constants whose value was elided ("{...}"). */
HALO_API HALO_MUST_USE halo_status halo_module_to_proto(const halo_module *module, char **out,
                                                        size_t *size);

/* Adds a reference. */
HALO_API void halo_module_retain(halo_module *module);
/* Drops one reference; NULL is allowed. */
HALO_API void halo_module_release(halo_module *module);

/* The module's name. Owned by the module. */
HALO_API const char *halo_module_name(const halo_module *module);
/* The number of replicas in the module's header; 1 if it has none. */
HALO_API int halo_module_replica_count(const halo_module *module);
/* The number of partitions in the module's header; 1 if it has none. */
HALO_API int halo_module_partition_count(const halo_module *module);
/* The number of parameters of the entry computation. */
HALO_API int halo_module_parameter_count(const halo_module *module);
/* The shape of an entry parameter, with its layout. `index` must be in range. Owned by the
 * module. */
HALO_API const halo_shape *halo_module_parameter_shape(const halo_module *module, int index);
/* The name of an entry parameter. `index` must be in range. Owned by the module. */
HALO_API const char *halo_module_parameter_name(const halo_module *module, int index);
/* The shape of the entry's result, with its layout. Owned by the module. */
HALO_API const halo_shape *halo_module_result_shape(const halo_module *module);

/* Whether the module offers an argument's memory for its results (input_output_alias,
 * buffer_donor). Arguments are counted as for executables: the leaves of all parameters, without
 * tokens. */
HALO_API bool halo_module_argument_is_offered(const halo_module *module, int argument);
/* How a parameter is distributed over devices; NULL if the module does not say. Owned by the
 * module. */
HALO_API const halo_sharding *halo_module_parameter_sharding(const halo_module *module, int index);
/* How the result is distributed over devices; NULL if the module does not say. Owned by the
 * module. */
HALO_API const halo_sharding *halo_module_result_sharding(const halo_module *module);
/* The kind of memory ("pinned_host") that the front end wants for a parameter or a result; the
 * elements of a tuple are counted separately. NULL if it does not say. The kind does not change
 * what the program does. */
HALO_API const char *halo_module_memory_kind(const halo_module *module, bool result, int number);

/* Checks all rules of the operation semantics, by inferring each instruction's shape again. Returns
 * HALO_INVALID_ARGUMENT with the instruction's name and the rule. */
HALO_API HALO_MUST_USE halo_status halo_module_verify(const halo_module *module);

#ifdef __cplusplus
}
#endif
#endif
