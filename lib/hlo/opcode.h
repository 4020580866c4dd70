/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/opcode.h: opcodes, attributes and their facts, from opcodes.def and attrs.def. */
#ifndef HALO_HLO_OPCODE_H
#define HALO_HLO_OPCODE_H

#include "base/arena.h"
#include "halo/types.h"

typedef enum halo_opcode {
#define OP(id, ...) HALO_OP_##id,
#include "hlo/opcodes.def"
#undef OP
  HALO_OPCODE_COUNT
} halo_opcode;

typedef enum halo_attr_id {
#define A(id, text, kind) HALO_ATTR_##id,
#include "hlo/attrs.def"
#undef A
  HALO_ATTR_COUNT
} halo_attr_id;

/* How an attribute's value is held (halo_attr in hlo.h) and written. */
typedef enum halo_attr_kind {
  HALO_KIND_INT,        /* i */
  HALO_KIND_BOOL,       /* i, 0 or 1 */
  HALO_KIND_FLOAT,      /* f */
  HALO_KIND_STRING,     /* text, unescaped */
  HALO_KIND_ENUM,       /* i, a position in halo_attr_enum_names */
  HALO_KIND_INTS,       /* ints */
  HALO_KIND_PRECISIONS, /* ints, positions in halo_precision_names */
  HALO_KIND_SLICES,     /* ints, a triple (start, limit, stride) a dimension */
  HALO_KIND_PADDING,    /* ints, a triple (low, high, interior) a dimension */
  HALO_KIND_PAIRS,      /* ints, two a pair */
  HALO_KIND_WINDOW,     /* window */
  HALO_KIND_DIM_LABELS, /* conv */
  HALO_KIND_GROUPS,     /* groups */
  HALO_KIND_COMPS,      /* comps: one computation, or several */
  HALO_KIND_SHAPE,      /* shape */
  HALO_KIND_SHAPES,     /* shapes */
  HALO_KIND_LITERAL,    /* literal */
  HALO_KIND_BOOLS,      /* ints, 0 or 1 */
  HALO_KIND_ALIASES,    /* aliases */
  HALO_KIND_METADATA,   /* metadata */
  HALO_KIND_SHARDING,   /* sharding */
  HALO_KIND_DOMAIN,     /* domain */
  HALO_KIND_ACCURACY,   /* accuracy */
  HALO_KIND_CONFIGS,    /* configs */
  HALO_KIND_STRINGS,    /* strings, two a pair: its name and its value */
  HALO_KIND_RAW         /* text, exactly as written */
} halo_attr_kind;

enum {
  HALO_TRAIT_EW = 1,
  HALO_TRAIT_COMM = 2,
  HALO_TRAIT_ASSOC = 4,
  HALO_TRAIT_EFFECT = 8,
  HALO_TRAIT_NOINFER = 16,
  HALO_TRAIT_COLL = 32,
  HALO_TRAIT_ID = 64,
  HALO_TRAIT_ASYNC = 128,
  HALO_TRAIT_ELEM = 256,
  HALO_TRAIT_FINISH = 512,
  HALO_TRAIT_JOIN = 1024,
  HALO_TRAIT_LINES = 2048
};

/* How an operation executes; what decides about kernels, buffers and steps reads this and nothing else
 * of the kind. A row that says nothing better is STRUCTURED: without a family it is refused by name. */
typedef enum halo_exec_class {
  HALO_EXEC_VALUE,       /* is there already: parameters, constants */
  HALO_EXEC_ALIAS,       /* names, packs or orders values that are there: nothing runs */
  HALO_EXEC_ELEMENTWISE, /* one expression an element */
  HALO_EXEC_MOVEMENT,    /* elements of operands at other indices, or made from the index */
  HALO_EXEC_REDUCTION,   /* combines elements by a computation */
  HALO_EXEC_STRUCTURED,  /* a family of kernels of its own */
  HALO_EXEC_EXPANDED,   /* rewritten into others before it gets that far (passes/expand/expand.c) */
  HALO_EXEC_CONTROL,    /* runs computations: loops, branches, calls */
  HALO_EXEC_ASYNC,      /* start and end of what something else does meanwhile */
  HALO_EXEC_COLLECTIVE, /* together with other replicas or partitions */
  HALO_EXEC_HOST        /* needs the host while running */
} halo_exec_class;

/* How an operand is read: the letters of opcodes.def. */
typedef enum halo_reading {
  HALO_READ_SAME = '=',     /* at the position that is computed */
  HALO_READ_ONCE = 'o',     /* each element once, or nearly, by an index known beforehand */
  HALO_READ_INDEXED = 'i',  /* by an index that is data */
  HALO_READ_REPEATED = 'r', /* again and again */
  HALO_READ_SCALAR = 's',
  HALO_READ_MEMORY = 'm', /* must be a buffer */
  HALO_READ_UPDATED = 'u' /* must be a buffer, which the result may take over */
} halo_reading;

/* The MLIR dialect in which an operation is one of the same operands under (nearly) the same name. */
typedef enum halo_op_dialect {
  HALO_DIALECT_NONE,
  HALO_DIALECT_STABLEHLO,
  HALO_DIALECT_CHLO
} halo_op_dialect;

/* How exact an operation's function is: see `ulp` in opcodes.def. `single` 0: nothing is promised. */
typedef struct halo_op_accuracy {
  int32_t single, loose, wide, magnitude;
} halo_op_accuracy;

/* Masks over halo_type_class. */
enum {
  HALO_T_PRED = 1,
  HALO_T_SINT = 2,
  HALO_T_UINT = 4,
  HALO_T_FLOAT = 8,
  HALO_T_COMPLEX = 16,
  HALO_T_ANY = 31
};

enum { HALO_ATTR_REQUIRED = 1, HALO_ATTR_ALWAYS_PRINTED = 2 };
enum { HALO_MAX_OP_ATTRS = 20 };

typedef struct halo_attr_spec {
  halo_attr_id id;
  unsigned flags;
  bool used; /* false ends the list */
} halo_attr_spec;

typedef struct halo_op_info {
  const char *name;
  int min_operands, max_operands; /* max -1: any number */
  unsigned traits;                /* HALO_TRAIT_* */
  unsigned types;                 /* HALO_T_*: element types operand 0 may have */
  halo_exec_class exec;
  int cost;          /* of one element, in additions */
  const char *reads; /* a halo_reading an operand, the last for all that follow; "": has none */
  halo_op_dialect dialect;
  halo_op_accuracy accuracy;
  halo_attr_spec attrs[HALO_MAX_OP_ATTRS + 1];
} halo_op_info;

/* The opcode's row. Static. */
const halo_op_info *halo_op_info_of(halo_opcode op);
const char *halo_opcode_name(halo_opcode op);
/* Finds an opcode by HLO name; false when there is none. */
bool halo_opcode_from_name(const char *name, halo_opcode *out);
bool halo_opcode_has_trait(halo_opcode op, unsigned trait);
/* The traits COMM and ASSOC, of elements of one type: the larger of two complex numbers is the first where
 * their real parts are equal. Complex products associate up to rounding and the signs of zeros, which
 * the bounds beside XLA's recorded results allow. */
bool halo_opcode_commutes(halo_opcode op, halo_type type);
bool halo_opcode_associates(halo_opcode op, halo_type type);
halo_exec_class halo_opcode_exec(halo_opcode op);
halo_reading halo_opcode_reading(halo_opcode op, int operand);
/* Whether one element of its result can be computed by itself, in any kernel. */
bool halo_opcode_is_elemental(halo_opcode op);
/* The HALO_T_* bit of a type; 0 for non-array types. */
unsigned halo_type_mask(halo_type type);

const char *halo_attr_name(halo_attr_id id);
halo_attr_kind halo_attr_kind_of(halo_attr_id id);
/* The attribute that `text` names on `op` (own or common), or HALO_ATTR_UNKNOWN. */
halo_attr_id halo_attr_from_name(halo_opcode op, const char *text);
/* Whether every opcode takes it. */
bool halo_attr_is_common(halo_attr_id id);
/* For HALO_KIND_ENUM: the values' names in order, NULL-terminated. */
const char *const *halo_attr_enum_names(halo_attr_id id);
/* "default", "high", "highest", "packed_nibble", NULL. */
extern const char *const halo_precision_names[];

/* Values of the enumerated attributes that code looks at; positions in halo_attr_enum_names. */
typedef enum halo_direction { HALO_EQ, HALO_NE, HALO_GE, HALO_GT, HALO_LE, HALO_LT } halo_direction;
typedef enum halo_compare_type {
  HALO_COMPARE_FLOAT,
  HALO_COMPARE_TOTALORDER,
  HALO_COMPARE_SIGNED,
  HALO_COMPARE_UNSIGNED
} halo_compare_type;
typedef enum halo_compare_order {
  HALO_ORDER_TOTAL,
  HALO_ORDER_PARTIAL,
  HALO_ORDER_WEAK
} halo_compare_order;
typedef enum halo_api_version {
  HALO_API_ORIGINAL,
  HALO_API_STATUS_RETURNING,
  HALO_API_STATUS_RETURNING_UNIFIED,
  HALO_API_TYPED_FFI
} halo_api_version;
typedef enum halo_fusion_kind {
  HALO_FUSION_LOOP,
  HALO_FUSION_INPUT,
  HALO_FUSION_OUTPUT,
  HALO_FUSION_CUSTOM
} halo_fusion_kind;

#endif
