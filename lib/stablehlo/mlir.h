/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/mlir.h: a program as MLIR has it: operations with operands, attributes and regions.
 *
 * Two readers make it, of MLIR text and of portable artifacts (MLIR bytecode with the VHLO dialect), and one
 * translator makes an HLO module of it. So that the translator meets one form only, readers deliver what
 * newest VHLO says, under StableHLO's names: operations without version, old versions brought up to date,
 * attributes flat under VHLO's names (a gather has offset_dims, collapsed_slice_dims, ... and no
 * dimension_numbers; a channel handle is channel_id and channel_type), properties and dictionary in one list.
 * Attributes that say their default may be missing, and lists may come in any form that halo_mlir_ints reads.
 *
 * Where VHLO and text differ, readers deliver: func.return in functions, stablehlo.return elsewhere; `callee`,
 * `decomposition` and what is in `called_computations` as SYMBOL; `api_version` as INT; `channel_type` of send and recv
 * only; the algorithm of a dot_general either with all its attributes or with none of them; no
 * builtin.unrealized_conversion_cast between equal types.
 *
 * Structures and their fields (those with `?` may be missing):
 *   result_accuracy          atol rtol (FLOAT) ulps (INT) mode (ENUM)
 *   output_operand_alias     output_tuple_indices operand_index operand_tuple_indices
 *   replica_group_mesh_axes  mesh (SYMBOL or mesh) axes (ARRAY of axis_ref)
 *   mesh                     axes (ARRAY of mesh_axis) device_ids?
 *   mesh_axis                name (STRING) size (INT)
 *   axis_ref                 name (STRING) sub_axis_info?
 *   sub_axis_info            pre_size size
 *   sdy.mesh, sdy.mesh_axis, sdy.axis_ref, sdy.sub_axis_info: likewise; device_ids empty: 0, 1, 2, ...
 *   sdy.dimension_sharding   axes (ARRAY of sdy.axis_ref) is_closed (BOOL; false: the `?` of text) priority?
 *   sdy.sharding             mesh_or_ref (SYMBOL or sdy.mesh) dim_shardings replicated_axes unreduced_axes?
 * Shardy's lists (shardings of values, manual axes, lists of axes) are an ARRAY, its sharding rules and the parameters of
 * its all-to-all OPAQUE.
 *
 * Everything lives in the program's arena; literals are held by the program. Reading from several threads is
 * safe, but for the scratch members. */
#ifndef HALO_STABLEHLO_MLIR_H
#define HALO_STABLEHLO_MLIR_H

#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "shape/literal.h"
#include "shape/shape.h"

/* Every operation that readers and translator know by name. */
typedef enum halo_mlir_opcode {
  HALO_MLIR_OP_UNKNOWN = 0, /* kept with its name; refused when it is translated */
#define HALO_MLIR_OP(id, name, version, attrs) HALO_MLIR_OP_##id,
#define HALO_MLIR_OLD(id, version, attrs)
#include "stablehlo/ops.def"
#undef HALO_MLIR_OP
#undef HALO_MLIR_OLD
  HALO_MLIR_OP_COUNT
} halo_mlir_opcode;

/* ---- Types ---- */

typedef enum halo_mlir_type_kind {
  HALO_MLIR_SCALAR, /* f32, i32, complex<f32>, ...; index counts as i64 */
  HALO_MLIR_TENSOR, /* of an element type that HLO has */
  HALO_MLIR_TOKEN,
  HALO_MLIR_TUPLE,    /* inputs */
  HALO_MLIR_FUTURE,   /* inputs */
  HALO_MLIR_FUNCTION, /* inputs, results */
  HALO_MLIR_OTHER     /* text names it: none, tf32, !quant.uniform<...>, tensors of these, ... */
} halo_mlir_type_kind;

#define HALO_MLIR_DYNAMIC INT64_MIN /* an extent `?`, and no bound */

typedef struct halo_mlir_type halo_mlir_type;
struct halo_mlir_type {
  halo_mlir_type_kind kind;
  halo_type element; /* scalars and tensors */
  int32_t rank;
  const int64_t *dims;   /* [rank]; HALO_MLIR_DYNAMIC where the text has `?` */
  const int64_t *bounds; /* [rank] of #stablehlo.bounds, HALO_MLIR_DYNAMIC: none; or NULL */
  const halo_mlir_type *const *inputs;
  int32_t input_count;
  const halo_mlir_type *const *results;
  int32_t result_count;
  const char *text; /* OTHER */
};

/* ---- Attributes ---- */

typedef enum halo_mlir_attr_kind {
  HALO_MLIR_UNIT,
  HALO_MLIR_BOOL,
  HALO_MLIR_INT,
  HALO_MLIR_FLOAT,
  HALO_MLIR_STRING,
  HALO_MLIR_SYMBOL, /* `@f`, without the `@` */
  HALO_MLIR_ENUM,   /* the keyword: "HIGHEST", "LT", "ADJOINT", ... */
  HALO_MLIR_TYPE_ATTR,
  HALO_MLIR_ARRAY,
  HALO_MLIR_DICT,
  /* dense<...> : tensor<...>, array<i64: ...> and raw data: a literal. Splats are expanded, but for those of
   * more than 64 elements, which keep one value (of rank 0) in `literal`, and `type` has the extents. */
  HALO_MLIR_DENSE,
  HALO_MLIR_STRUCT, /* text names it ("result_accuracy", "output_operand_alias", ...), fields as of a dictionary */
  HALO_MLIR_OPAQUE /* another dialect's, text as written where the reader has it ("#sdy.sharding<...>"), else NULL */
} halo_mlir_attr_kind;

typedef struct halo_mlir_attr halo_mlir_attr;

typedef struct halo_mlir_named {
  const char *name;
  const halo_mlir_attr *value;
} halo_mlir_named;

struct halo_mlir_attr {
  halo_mlir_attr_kind kind;
  const halo_mlir_type *type; /* INT, FLOAT: or NULL; DENSE: the tensor; TYPE_ATTR: the type */
  union {
    int64_t i; /* BOOL, INT: sign- or zero-extended as the type says (signless: sign-extended) */
    double f;
    struct {
      const char *text; /* NUL-terminated; may hold more NULs */
      size_t length;
    } string; /* STRING, SYMBOL, ENUM, OPAQUE */
    struct {
      const halo_mlir_attr *const *data;
      int32_t count;
    } array;
    struct {
      const char *text; /* STRUCT: its name */
      const halo_mlir_named *data;
      int32_t count;
    } dict;                /* DICT, STRUCT */
    halo_literal *literal; /* reference held by the program */
  };
};

/* ---- Operations ---- */

typedef struct halo_mlir_op halo_mlir_op;
typedef struct halo_mlir_block halo_mlir_block;
typedef struct halo_mlir_region halo_mlir_region;

/* What a location comes to: the outermost name in it (`jit(f)/jit(main)/add`) and the first place in a
 * file. Any may be missing. */
typedef struct halo_mlir_loc {
  const char *name; /* or NULL */
  const char *file; /* or NULL */
  int32_t line, column;
} halo_mlir_loc;

typedef struct halo_mlir_value {
  const halo_mlir_type *type;
  halo_mlir_op *def;        /* whose result it is; NULL: an argument of `block` */
  halo_mlir_block *block;   /* it is an argument of, or `def` is in */
  int32_t index;            /* among the results or arguments */
  const halo_mlir_loc *loc; /* of an argument, or NULL */
  void *data;               /* scratch of whoever works on the program */
} halo_mlir_value;

struct halo_mlir_op {
  halo_mlir_opcode opcode;
  const char *name; /* with its dialect: "stablehlo.add", "func.call", "sdy.mesh" */
  halo_mlir_value **operands;
  int32_t operand_count;
  halo_mlir_value *results; /* [result_count] */
  int32_t result_count;
  const halo_mlir_named *attrs;
  int32_t attr_count;
  halo_mlir_region *regions; /* [region_count] */
  int32_t region_count;
  halo_mlir_block *block;   /* it is in; NULL for the module */
  const halo_mlir_loc *loc; /* or NULL */
  int32_t line;             /* of MLIR text it came from, from 1; 0: not from text */
  void *data;               /* scratch */
};

struct halo_mlir_block {
  halo_mlir_region *region;
  halo_mlir_value *args; /* [arg_count] */
  int32_t arg_count;
  HALO_VEC(halo_mlir_op *)
  ops; /* the last one is the terminator, but in modules; heap, freed by the program */
};

/* Regions of several blocks are refused by readers; `block` is NULL in declarations of functions. */
struct halo_mlir_region {
  halo_mlir_op *op;
  halo_mlir_block *block;
};

typedef struct halo_mlir_program {
  halo_arena arena;
  const char *name;     /* of the file, for messages */
  const char *producer; /* as the artifact states it ("StableHLO_v1.13.7"), or NULL */
  halo_mlir_op *module; /* builtin.module with one region of one block; of an implicit module too */
  HALO_VEC(halo_literal *) literals;
  HALO_VEC(halo_mlir_block *) blocks; /* all, to free their lists */
  halo_map names;                     /* of operations that occur, to what they have in common */
} halo_mlir_program;

/* ---- Making ---- */

halo_mlir_program *halo_mlir_program_create(const char *name);
/* NULL is allowed. */
void halo_mlir_program_release(halo_mlir_program *program);
/* A block of a region with so many arguments, whose types the caller sets. */
halo_mlir_block *halo_mlir_block_create(halo_mlir_program *program, halo_mlir_region *region,
                                        int32_t arg_count);
/* An operation with room for its operands, results and regions, appended to a block (or to none, for the
 * module). `name` is "dialect.op" and is copied; the opcode follows from it. */
halo_mlir_op *halo_mlir_op_create(halo_mlir_program *program, halo_mlir_block *block,
                                  const char *name, int32_t operand_count, int32_t result_count,
                                  int32_t region_count);
/* Hands a literal's reference to the program. */
halo_literal *halo_mlir_keep_literal(halo_mlir_program *program, halo_literal *literal);

/* ---- Reading ---- */

/* The operation of this name ("stablehlo.add"), or HALO_MLIR_OP_UNKNOWN. Any thread. */
halo_mlir_opcode halo_mlir_opcode_from_name(const char *name);
const char *halo_mlir_opcode_name(halo_mlir_opcode opcode);
/* The known operation that a name ("stablehlo.expo", "arith.addf") resembles most, or NULL; static. */
const char *halo_mlir_suggest(const char *name, size_t length);
/* Names of the attributes of this VHLO version of an operation in wire order, separated by one space; "" for
 * none; NULL when there is no such version. Version 0: of an operation that VHLO has not, as ops.def says. */
const char *halo_mlir_vhlo_attrs(halo_mlir_opcode opcode, int32_t version);

/* The attribute, or NULL. */
const halo_mlir_attr *halo_mlir_attr_of(const halo_mlir_op *op, const char *name);
const halo_mlir_attr *halo_mlir_dict_get(const halo_mlir_attr *dict, const char *name);
/* As an integer (BOOL, INT; UNIT is 1); `default_` when it is missing. */
int64_t halo_mlir_int(const halo_mlir_op *op, const char *name, int64_t default_);
/* As text (STRING, SYMBOL, ENUM); `default_` when it is missing or something else. */
const char *halo_mlir_string(const halo_mlir_op *op, const char *name, const char *default_);
/* A list of integers (DENSE of integers or pred of any rank, row by row, ARRAY of INT), in the program's arena; *count -1
 * and NULL when the attribute is missing or something else, also a splat of more than 65536 elements. */
const int64_t *halo_mlir_ints(halo_mlir_program *program, const halo_mlir_attr *attr,
                              int32_t *count);

/* Appends the type as MLIR text, for messages ("tensor<4x?xf32>"). */
void halo_mlir_type_print(halo_strbuf *out, const halo_mlir_type *type);
bool halo_mlir_type_equal(const halo_mlir_type *a, const halo_mlir_type *b);

/* ---- Readers ---- */

/* A portable artifact. HALO_INVALID_ARGUMENT with a message that names the place in the file ("name: byte
 * 123: ..."), HALO_UNIMPLEMENTED for what is well-formed and not supported. Broken input never crashes, and
 * takes memory in proportion to its size. */
halo_status halo_mlir_read_bytecode(const void *bytes, size_t size, const char *name,
                                    halo_mlir_program **out);
/* MLIR text. Faults as of halo_module_parse: "name:line:column: error: ...". */
halo_status halo_mlir_read_text(const char *text, size_t size, const char *name,
                                halo_mlir_program **out);
/* One attribute that fills the text, for the program at hand; aliases are not known. Likewise. */
halo_status halo_mlir_read_attr(halo_mlir_program *program, const char *text,
                                const halo_mlir_attr **out);

#endif
