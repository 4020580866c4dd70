/* halo/module.h: XLA programs as HLO modules: from text, to text, and what they take and give. */
#ifndef HALO_MODULE_H
#define HALO_MODULE_H

#include "halo/annotations.h"
#include "halo/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An HLO module: computations, one of which is the entry. Reference-counted and, once made,
 * immutable through this API: safe to use from several threads. */
typedef struct halo_module halo_module;

/* Reads HLO text (any generation of XLA's format, see docs/hlo-text.md). `length` is in bytes;
 * `name` (a file name, or NULL) only appears in messages. The module is verified. A fault is
 * HALO_INVALID_ARGUMENT with a message of the form "name:line:column: error: ...", the line, a caret
 * and what was expected. */
HALO_API HALO_MUST_USE halo_status halo_module_parse(const char *text, size_t length,
                                                     const char *name, halo_module **out);
/* The same from a file; HALO_NOT_FOUND or HALO_IO_ERROR when it cannot be read. */
HALO_API HALO_MUST_USE halo_status halo_module_parse_file(const char *path, halo_module **out);

/* What a program leaves open until it is run; zero-initialise what is not used. */
typedef struct halo_specialisation {
  /* Shapes of the parameters, for programs with extents `?` (which jax.export makes of symbolic dimensions); NULL:
   * none are given. They are read during the call only. */
  const halo_shape *const *arguments;
  int argument_count;
  /* Which of the platforms that it was exported for runs the program, from 0; jax.export for several of them gives
   * it a first argument that says so, which is no parameter of the module. */
  int platform_index;
} halo_specialisation;

/* Reads a program in any format, which is told by its content: HLO text, an HLO proto as XLA's tools have it
 * (HloModuleProto, HloProto, HloSnapshot; such a file does not say for how many replicas and partitions it is), or StableHLO as a portable artifact (MLIR
 * bytecode, as jax.export and PJRT have it; also within what jax.export's serialize() gives) or as MLIR text (docs/stablehlo.md). `how` NULL: nothing is given.
 * Otherwise as halo_module_parse; HALO_UNIMPLEMENTED for what is understood and not supported. A fault in a
 * StableHLO program is said with the operation, where it came from in the user's source as far as the program says
 * that, and what was expected. */
HALO_API HALO_MUST_USE halo_status halo_module_read(const void *bytes, size_t size,
                                                    const char *name,
                                                    const halo_specialisation *how,
                                                    halo_module **out);
/* The same from a file; HALO_NOT_FOUND or HALO_IO_ERROR when it cannot be read. */
HALO_API HALO_MUST_USE halo_status halo_module_read_file(const char *path,
                                                         const halo_specialisation *how,
                                                         halo_module **out);
/* Reads no more than what the program takes: a module with its parameters, in which extents that are open are
 * HALO_UNBOUNDED, and without a result. For whoever has to know which arrays to look for before there are shapes to
 * read the program with; it cannot be compiled. */
HALO_API HALO_MUST_USE halo_status halo_module_read_parameters(const void *bytes, size_t size,
                                                               const char *name, halo_module **out);

/* What a program in bytes is, told by its content, without reading all of it. */
typedef struct halo_program_identity {
  /* "HLO text", "HLO proto", "StableHLO text", "StableHLO artifact" or "JAX export"; static */
  const char *format;
  int bytecode; /* of artifacts: the version of MLIR's bytecode; else -1 */
  char producer
      [64]; /* of artifacts: who wrote it, "StableHLO_v1.17.0"; cut when it is longer; else "" */
} halo_program_identity;
HALO_API void halo_program_identify(const void *bytes, size_t size, halo_program_identity *out);

enum {
  HALO_PRINT_SHORT = 1,         /* no `%`, no signatures, no metadata */
  HALO_PRINT_ELIDE_LARGE = 2,   /* constants of more than 10 elements as {...}: cannot run again */
  HALO_PRINT_OPERAND_SHAPES = 4 /* "add(f32[2]{0} %a, ...)" as older dumps have it */
};
/* The module as HLO text, to be freed with halo_text_release. parse(print(m)) equals m unless
 * constants are elided. */
HALO_API HALO_MUST_USE halo_status halo_module_to_text(const halo_module *module, unsigned flags,
                                                       char **out);
/* The module as StableHLO text in generic form, to be freed with halo_text_release: for StableHLO's own tools, and
 * halo_module_read reads it. Layouts, names and metadata are left out. HALO_UNIMPLEMENTED, with a message that names the
 * instruction, for what it does not write (docs/stablehlo.md). */
HALO_API HALO_MUST_USE halo_status halo_module_to_stablehlo(const halo_module *module, char **text);
HALO_API void halo_text_release(char *text);
/* The module as a serialised HloModuleProto of XLA, for its own tools: *size bytes, to be freed with
 * halo_text_release. HALO_UNIMPLEMENTED for constants whose value was lost ("{...}"). */
HALO_API HALO_MUST_USE halo_status halo_module_to_proto(const halo_module *module, char **out,
                                                        size_t *size);

/* Adds a reference. */
HALO_API void halo_module_retain(halo_module *module);
/* Drops one reference; NULL is allowed. */
HALO_API void halo_module_release(halo_module *module);

/* Owned by the module. */
HALO_API const char *halo_module_name(const halo_module *module);
/* How many replicas and partitions its header says run it; 1 where it says nothing. */
HALO_API int halo_module_replica_count(const halo_module *module);
HALO_API int halo_module_partition_count(const halo_module *module);
HALO_API int halo_module_parameter_count(const halo_module *module);
/* The shape, with layout, and the name of an entry parameter; the index must be in range. */
HALO_API const halo_shape *halo_module_parameter_shape(const halo_module *module, int index);
HALO_API const char *halo_module_parameter_name(const halo_module *module, int index);
/* The shape, with layout, of the entry's result. */
HALO_API const halo_shape *halo_module_result_shape(const halo_module *module);

/* Whether the module offers an argument's memory for its results (input_output_alias, buffer_donor). Arguments
 * are counted as those of executables are: the leaves of all parameters, without tokens. */
HALO_API bool halo_module_argument_is_offered(const halo_module *module, int argument);
/* How a parameter and the result are spread over devices; NULL where the module does not say. */
HALO_API const halo_sharding *halo_module_parameter_sharding(const halo_module *module, int index);
HALO_API const halo_sharding *halo_module_result_sharding(const halo_module *module);
/* The kind of memory ("pinned_host") that the front end wants a parameter or a result in, of which a tuple's
 * elements are counted; NULL where it does not say. What it is called makes no difference to the program. */
HALO_API const char *halo_module_memory_kind(const halo_module *module, bool result, int number);

/* Checks every rule of the operation semantics by inferring each instruction's shape again. */
HALO_API HALO_MUST_USE halo_status halo_module_verify(const halo_module *module);

#ifdef __cplusplus
}
#endif
#endif
