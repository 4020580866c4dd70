/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_reader.h: the state of the reader of MLIR text, shared by the files text_*.c and by nobody else.
 *
 * The lexer works on demand: `tok` is the current token and `at` the byte behind it. Shapes, dense literals and
 * attributes of foreign dialects are scanned byte by byte from tok.start; halo_mlir_text_resume then goes on with
 * the tokens. The text ends with a NUL at `end`, so scanning needs no bounds. */
#ifndef HALO_STABLEHLO_TEXT_READER_H
#define HALO_STABLEHLO_TEXT_READER_H

#include "base/status.h"
#include "os/locale.h"
#include "stablehlo/mlir.h"

/* Regions, attributes, types, locations and aliases together may nest this deep. */
enum { HALO_MLIR_TEXT_MAX_DEPTH = 500 };

/* One-byte punctuation is its own kind. */
enum {
  TOK_END = 256,
  TOK_ERROR,    /* see lex_error */
  TOK_WORD,     /* an identifier: name of an operation, keyword, builtin type */
  TOK_VALUE,    /* `%0`; start is behind the `%` */
  TOK_SYMBOL,   /* `@f`, `@"any"`; start is behind the `@` */
  TOK_BLOCK,    /* `^bb0`; start is behind the `^` */
  TOK_HASH,     /* `#loc1`, `#stablehlo.dot`; start is behind the `#` */
  TOK_BANG,     /* `!stablehlo.token`; start is behind the `!` */
  TOK_INT,      /* without a sign; decimal or 0x */
  TOK_FLOAT,    /* without a sign */
  TOK_STRING,   /* with its quotes */
  TOK_ARROW,    /* -> */
  TOK_RESOURCES /* {-# */
};

typedef struct halo_mlir_token {
  int kind;
  const char *start, *end;
} halo_mlir_token;

/* What a value's name stands for: the results of one operation in a row. */
typedef struct halo_mlir_binding {
  halo_mlir_value *first; /* NULL: nothing, the name was of a region that has ended */
  int32_t count;
  int32_t number; /* of its definition, among those in force */
  const char *at; /* of the definition, for messages */
} halo_mlir_binding;

/* How to take a definition back when its region ends. */
typedef struct halo_mlir_undo {
  halo_mlir_binding *binding, before;
} halo_mlir_undo;

typedef HALO_VEC(halo_mlir_named) halo_mlir_named_list;
typedef HALO_VEC(const halo_mlir_type *) halo_mlir_type_list;

typedef struct halo_mlir_reader {
  const char *name; /* of the text, for messages */
  const char *begin, *end, *at;
  halo_mlir_token tok;
  const char *lex_error; /* static message of a TOK_ERROR at tok.start */
  const char *counted;   /* the place whose line is `line` */
  int32_t line;
  int depth;
  halo_mlir_program *program;
  halo_arena *arena;     /* the program's */
  halo_map strings;      /* of names, so that each is kept once */
  halo_map types;        /* tensors by spelling */
  halo_map op_names;     /* to halo_mlir_op_name */
  halo_map aliases;      /* "#name" and "!name" to halo_mlir_alias */
  const char *resources; /* behind the `{-#`, or NULL */
  halo_map blobs;        /* dense_resource by key, when `resources` has been read */
  bool blobs_known;
  halo_map values; /* names to halo_mlir_binding */
  HALO_VEC(halo_mlir_undo) undo;
  int32_t floor; /* bindings below this number are of an outer function */
  const halo_mlir_type *scalars[HALO_TYPE_COUNT];
  halo_c_locale locale;
} halo_mlir_reader;

/* ---- text_lexer.c ---- */

/* Copies the text and reads the first token; the C locale is in force until finish. */
halo_status halo_mlir_text_begin(halo_mlir_reader *r, const char *text, size_t size,
                                 const char *name);
void halo_mlir_text_finish(halo_mlir_reader *r);
void halo_mlir_text_advance(halo_mlir_reader *r);
/* Goes on with the token at or behind `at`. */
void halo_mlir_text_resume(halo_mlir_reader *r, const char *at);
/* The token behind the current one, without moving. */
halo_mlir_token halo_mlir_text_peek(const halo_mlir_reader *r);
const char *halo_mlir_text_skip_blank(const char *at);
/* The end of the string whose opening quote is at `at`, or NULL. */
const char *halo_mlir_text_string_end(const char *at);
/* Where the current token begins, its mark included. */
static inline const char *halo_mlir_text_here(const halo_mlir_reader *r) {
  return r->tok.start - (r->tok.kind >= TOK_VALUE && r->tok.kind <= TOK_BANG);
}
bool halo_mlir_token_is(const halo_mlir_token *tok, const char *word);
static inline bool halo_mlir_text_is(const halo_mlir_reader *r, const char *word) {
  return halo_mlir_token_is(&r->tok, word);
}
static inline bool halo_mlir_is_digit(char c) { return c >= '0' && c <= '9'; }
/* 0 to 15, or -1. */
int halo_mlir_hex_digit(char c);
/* The line of a place, from 1; cheap when places only grow. */
int32_t halo_mlir_text_line_of(halo_mlir_reader *r, const char *at);
halo_status halo_mlir_text_error_as(halo_mlir_reader *r, halo_status status, const char *at,
                                    const char *format, ...) __attribute__((format(printf, 4, 5)));
#define halo_mlir_text_error(r, at, ...)                                                           \
  halo_mlir_text_error_as(r, HALO_INVALID_ARGUMENT, at, __VA_ARGS__)
/* The thread's message, at a place. */
halo_status halo_mlir_text_error_here(halo_mlir_reader *r, halo_status status, const char *at);
/* "expected <what>, found <token>" at the current token. */
halo_status halo_mlir_text_expected(halo_mlir_reader *r, const char *what);
/* Takes a token of this kind, or this word, or fails with "expected <what>". */
halo_status halo_mlir_text_expect(halo_mlir_reader *r, int kind, const char *what);
halo_status halo_mlir_text_expect_word(halo_mlir_reader *r, const char *word);
bool halo_mlir_text_accept(halo_mlir_reader *r, int kind);
bool halo_mlir_text_accept_word(halo_mlir_reader *r, const char *word);
/* Between the elements of a list: takes a comma and makes sure that more follows, unless the list's closing token
 * is here, which stays. `what` names both. */
halo_status halo_mlir_text_separator(halo_mlir_reader *r, int closer, const char *what);
/* Counts nesting; every success needs a halo_mlir_text_leave. */
halo_status halo_mlir_text_enter(halo_mlir_reader *r);
static inline void halo_mlir_text_leave(halo_mlir_reader *r) { r->depth--; }
/* From the opening bracket at tok.start to behind the bracket that closes it. */
halo_status halo_mlir_text_skip_brackets(halo_mlir_reader *r);
/* One copy of a name for as long as the program lives. */
const char *halo_mlir_text_intern(halo_mlir_reader *r, const char *start, size_t length);
/* Takes a quoted string and unescapes it. In the arena, with a NUL behind it. */
halo_status halo_mlir_text_string(halo_mlir_reader *r, const char *what, const char **out,
                                  size_t *length);
/* Takes `@f` or `@"f"`. */
halo_status halo_mlir_text_symbol(halo_mlir_reader *r, const char *what, const char **out,
                                  size_t *length);
/* Takes an integer, perhaps with a minus. */
halo_status halo_mlir_text_int(halo_mlir_reader *r, const char *what, int64_t *out);

/* ---- text_type.c ---- */

bool halo_mlir_text_at_type(const halo_mlir_reader *r);
halo_status halo_mlir_text_type(halo_mlir_reader *r, const halo_mlir_type **out);
/* Appends the types of "(T1, T2)", or a lone type. */
halo_status halo_mlir_text_type_list(halo_mlir_reader *r, halo_mlir_type_list *out);
const halo_mlir_type *halo_mlir_text_function_type(halo_mlir_reader *r,
                                                   const halo_mlir_type_list *inputs,
                                                   const halo_mlir_type_list *results);
const halo_mlir_type *halo_mlir_text_scalar_type(halo_mlir_reader *r, halo_type element);
const halo_mlir_type *halo_mlir_text_tensor_type(halo_mlir_reader *r, halo_type element,
                                                 int32_t rank, const int64_t *dims);
/* The type as text in the arena, for messages. */
const char *halo_mlir_text_type_name(halo_mlir_reader *r, const halo_mlir_type *type);

/* ---- text_attr.c ---- */

halo_mlir_attr *halo_mlir_text_new_attr(halo_mlir_reader *r, halo_mlir_attr_kind kind);
halo_mlir_attr *halo_mlir_text_new_int(halo_mlir_reader *r, int64_t value, halo_type type);
halo_mlir_attr *halo_mlir_text_new_string(halo_mlir_reader *r, halo_mlir_attr_kind kind,
                                          const char *text, size_t length);
halo_mlir_attr *halo_mlir_text_new_array(halo_mlir_reader *r, const halo_mlir_attr *const *data,
                                         int32_t count);
halo_mlir_attr *halo_mlir_text_new_fields(halo_mlir_reader *r, halo_mlir_attr_kind kind,
                                          const char *name, const halo_mlir_named *data,
                                          int32_t count);
halo_status halo_mlir_text_attr(halo_mlir_reader *r, const halo_mlir_attr **out);
/* Reads "{a = 1, b}" and appends what it holds. */
halo_status halo_mlir_text_dict(halo_mlir_reader *r, halo_mlir_named_list *out);
/* Reads "[0, 1]" as a list of i64. */
halo_status halo_mlir_text_ints(halo_mlir_reader *r, const halo_mlir_attr **out);
/* An attribute of which nothing but its text is kept: from `start` to before the current token. */
halo_mlir_attr *halo_mlir_text_opaque(halo_mlir_reader *r, const char *start, const char *end);

/* ---- text_struct.c ---- */

/* The attribute of a dialect whose name is the current token. */
halo_status halo_mlir_text_dialect_attr(halo_mlir_reader *r, const halo_mlir_attr **out);
/* "<a = 1, b = [2]>" as a structure of this name (or ""). */
halo_status halo_mlir_text_fields(halo_mlir_reader *r, const char *name,
                                  const halo_mlir_attr **out);
/* "[b, 0, f]x[0, i, o]->[b, 0, f]": the nine lists and numbers of a convolution. */
halo_status halo_mlir_text_conv(halo_mlir_reader *r, halo_mlir_named_list *out);
/* Replaces structures by their fields, under VHLO's names. */
halo_status halo_mlir_text_flatten(halo_mlir_reader *r, const char *at, halo_mlir_opcode opcode,
                                   halo_mlir_named_list *attrs);

/* ---- text_sdy.c ---- */

/* The attribute `#sdy.<kind>` at its opening bracket; `start` is that of its text. */
halo_status halo_mlir_text_sdy(halo_mlir_reader *r, const char *kind, const char *start,
                               const halo_mlir_attr **out);
/* The bodies without a name in front that operations of Shardy have. */
halo_status halo_mlir_text_sharding(halo_mlir_reader *r, const halo_mlir_attr **out);
halo_status halo_mlir_text_mesh(halo_mlir_reader *r, const halo_mlir_attr **out);
/* "[<@mesh, [...]>, ...]" */
halo_status halo_mlir_text_shardings(halo_mlir_reader *r, const halo_mlir_attr **out);
/* "{"x", "y"}" as strings. */
halo_status halo_mlir_text_manual_axes(halo_mlir_reader *r, const halo_mlir_attr **out);
/* "{"x", "y":(1)2}" or in square brackets. */
halo_status halo_mlir_text_axes(halo_mlir_reader *r, int closer, const halo_mlir_attr **out);

/* ---- text_dense.c ---- */

/* dense<...> : type and dense_resource<...> : type at the keyword. */
halo_status halo_mlir_text_dense(halo_mlir_reader *r, const halo_mlir_attr **out);
halo_status halo_mlir_text_dense_resource(halo_mlir_reader *r, const halo_mlir_attr **out);
/* A list of i64 as array<i64: ...> is one; `at` is its place. */
halo_status halo_mlir_text_new_list(halo_mlir_reader *r, const char *at, const int64_t *data,
                                    int64_t count, const halo_mlir_attr **out);
/* `rows` pairs as dense<...> of two columns is one. */
halo_status halo_mlir_text_new_pairs(halo_mlir_reader *r, const char *at, const int64_t *data,
                                     int64_t rows, const halo_mlir_attr **out);
/* Truth values as array<i1: ...> is them. */
halo_status halo_mlir_text_new_flags(halo_mlir_reader *r, const char *at, const uint8_t *data,
                                     int64_t count, const halo_mlir_attr **out);
/* array<i64: 1, 2> at the keyword. */
halo_status halo_mlir_text_dense_array(halo_mlir_reader *r, const halo_mlir_attr **out);

/* ---- text_alias.c ---- */

typedef struct halo_mlir_alias {
  const char *value;          /* behind the `=` */
  const char *end;            /* behind the value, when it has been read */
  bool open;                  /* being read: its value may not lead to itself */
  const halo_mlir_attr *attr; /* when it has been read as one */
  const halo_mlir_type *type;
  const halo_mlir_loc *loc;
} halo_mlir_alias;

/* Notes where the lines are that define aliases, and where the section of resources begins. */
void halo_mlir_text_find_aliases(halo_mlir_reader *r);
/* What the alias at the current token stands for. */
halo_status halo_mlir_text_attr_alias(halo_mlir_reader *r, const halo_mlir_attr **out);
halo_status halo_mlir_text_type_alias(halo_mlir_reader *r, const halo_mlir_type **out);
halo_status halo_mlir_text_loc_alias(halo_mlir_reader *r, const halo_mlir_loc **out);
/* Passes over "#name = value" at the current token. */
halo_status halo_mlir_text_alias_definition(halo_mlir_reader *r);

/* ---- text_loc.c ---- */

/* "loc(...)" if it is here, NULL of one that says nothing; else *out stays. */
halo_status halo_mlir_text_loc(halo_mlir_reader *r, const halo_mlir_loc **out);
/* "loc(...)" or an alias, as the value of one; never NULL. */
halo_status halo_mlir_text_loc_value(halo_mlir_reader *r, const halo_mlir_loc **out);

/* ---- text_op.c ---- */

typedef struct halo_mlir_draft halo_mlir_draft;

/* How an operation that is not in quotes is written; a row of text_forms.def. */
typedef enum halo_mlir_types {
  HALO_MLIR_TYPES_ANY,      /* any of these, of an operation that has no row */
  HALO_MLIR_TYPES_SAME,     /* T: all operands and results have it */
  HALO_MLIR_TYPES_FUNCTION, /* (T1, T2) -> T, or T1, T2 -> T */
  HALO_MLIR_TYPES_RESULT,   /* T: the results' */
  HALO_MLIR_TYPES_SELECT,   /* T1, T2: the predicate's, and that of the rest */
  HALO_MLIR_TYPES_PAIRS,    /* T1, T2: of operands and results one by one */
  HALO_MLIR_TYPES_OPERANDS  /* T1, T2: the operands'; no results */
} halo_mlir_types;

typedef struct halo_mlir_form {
  const char *spec; /* see text_forms.def; NULL: `read` does it */
  halo_mlir_types types;
  halo_status (*read)(halo_mlir_reader *r, halo_mlir_draft *draft);
} halo_mlir_form;

typedef struct halo_mlir_op_name {
  const char *text;
  halo_mlir_opcode opcode;
} halo_mlir_op_name;

typedef struct halo_mlir_use {
  halo_mlir_value *value;
  const char *at;
} halo_mlir_use;

/* An argument of a region, before there is a block. */
typedef struct halo_mlir_argument {
  const char *start; /* of the name, behind the `%`; NULL: declared without a name */
  size_t length;
  const halo_mlir_type *type;
  const halo_mlir_attr *attrs; /* DICT, or NULL */
  const halo_mlir_loc *loc;
} halo_mlir_argument;

typedef HALO_VEC(halo_mlir_argument) halo_mlir_argument_list;

/* What is known of an operation before it is made. */
struct halo_mlir_draft {
  const halo_mlir_op_name *name;
  const char *at; /* for messages */
  HALO_VEC(halo_mlir_use) operands;
  halo_mlir_named_list attrs;
  halo_mlir_type_list results;
  HALO_VEC(halo_mlir_region) regions;
  const halo_mlir_loc *loc;
};

/* Reads one operation into the block. */
halo_status halo_mlir_text_op(halo_mlir_reader *r, halo_mlir_block *block);
/* Takes `%0`, or `%0#1`, as an operand. */
halo_status halo_mlir_text_operand(halo_mlir_reader *r, halo_mlir_draft *draft);
/* Any number of them with commas between. */
halo_status halo_mlir_text_operands(halo_mlir_reader *r, halo_mlir_draft *draft);
void halo_mlir_text_add(halo_mlir_draft *draft, const char *name, const halo_mlir_attr *value);
/* ": types" of a form: checks the operands and sets the results. */
halo_status halo_mlir_text_types(halo_mlir_reader *r, halo_mlir_draft *draft,
                                 halo_mlir_types types);
/* The operand must have this type. */
halo_status halo_mlir_text_check_operand(halo_mlir_reader *r, const halo_mlir_use *use,
                                         const halo_mlir_type *type);
/* "{attributes}" if they are here. */
halo_status halo_mlir_text_attrs(halo_mlir_reader *r, halo_mlir_draft *draft);
/* Reads what stands between the name and the types. */
halo_status halo_mlir_text_spec(halo_mlir_reader *r, halo_mlir_draft *draft, const char *spec);

/* ---- text_region.c ---- */

/* "%a: type {attributes} loc(...)", as `named` says; appends it. */
halo_status halo_mlir_text_argument(halo_mlir_reader *r, bool named, halo_mlir_argument_list *out);
/* "(%a: type, ...)" */
halo_status halo_mlir_text_arguments(halo_mlir_reader *r, halo_mlir_argument_list *out);
/* Reads "{ ... }" as the draft's next region. `arguments` NULL: a label in the region has them. */
halo_status halo_mlir_text_region(halo_mlir_reader *r, halo_mlir_draft *draft,
                                  const halo_mlir_argument_list *arguments);
/* "({...}, {...})" */
halo_status halo_mlir_text_regions(halo_mlir_reader *r, halo_mlir_draft *draft);
/* Gives a name to `count` values in a row. */
halo_status halo_mlir_text_define(halo_mlir_reader *r, const char *start, size_t length,
                                  halo_mlir_value *first, int32_t count);

/* ---- text_module.c, text_control.c: the forms that no row of text_forms.def describes ---- */

halo_status halo_mlir_text_module(halo_mlir_reader *r, halo_mlir_draft *draft);
halo_status halo_mlir_text_func(halo_mlir_reader *r, halo_mlir_draft *draft);
halo_status halo_mlir_text_constant(halo_mlir_reader *r, halo_mlir_draft *draft);
halo_status halo_mlir_text_reduce(halo_mlir_reader *r, halo_mlir_draft *draft);
halo_status halo_mlir_text_scan(halo_mlir_reader *r, halo_mlir_draft *draft);
halo_status halo_mlir_text_while(halo_mlir_reader *r, halo_mlir_draft *draft);
halo_status halo_mlir_text_manual_computation(halo_mlir_reader *r, halo_mlir_draft *draft);
halo_status halo_mlir_text_named_computation(halo_mlir_reader *r, halo_mlir_draft *draft);

#endif
