/* SPDX-License-Identifier: Apache-2.0 */
/* text/parser.h: the parser's state, shared by the files of this room and by nobody else.
 *
 * The lexer works on demand: `tok` is the current token and `at` the byte behind it. Values with
 * their own little grammars (literals, windows, raw braces) are scanned from tok.start byte by byte;
 * halo_text_resume then goes on with the tokens. The text ends with a NUL at `end`, so scanning needs
 * no bounds. */
#ifndef HALO_TEXT_PARSER_H
#define HALO_TEXT_PARSER_H

#include "base/map.h"
#include "base/memory.h"
#include "base/status.h"
#include "os/locale.h"
#include "text/number.h"
#include "text/text.h"

/* Shapes, literals, nested operands and inline bodies together may nest this deep. */
enum { HALO_TEXT_MAX_DEPTH = 500 };
/* Ids that all replica groups of a module may expand to. */
enum { HALO_TEXT_MAX_GROUP_IDS = 1 << 24 };

/* One-byte punctuation is its own kind. */
enum {
  TOK_END = 256,
  TOK_ERROR, /* see lex_error */
  TOK_WORD,  /* an identifier of any sort: name, opcode, type, keyword */
  TOK_NAME,  /* `%` and an identifier; start is behind the `%` */
  TOK_INT,
  TOK_DECIMAL, /* also -inf and -nan */
  TOK_STRING,  /* with its quotes */
  TOK_ARROW,   /* -> */
  TOK_LEQ,     /* <= */
  TOK_ELLIPSIS /* ... */
};

typedef struct halo_text_token {
  int kind;
  const char *start, *end;
} halo_text_token;

/* An instruction scope: the names of one body. */
typedef struct halo_text_scope {
  halo_computation *computation;
  halo_map names;
  int64_t parameters; /* seen so far */
  bool lone;          /* a lone instruction: unknown operands become parameters */
} halo_text_scope;

typedef struct halo_text_parser {
  const char *name; /* of the text, for messages */
  const char *begin, *end, *at;
  halo_text_token tok;
  const char *behind;    /* the end of the token before `tok` */
  const char *lex_error; /* static message of a TOK_ERROR at tok.start */
  const char *counted;   /* the place whose line is `line` */
  int32_t line;
  int depth;
  halo_arena *arena; /* the module's, or the caller's */
  halo_module *module;
  halo_map computations; /* by name */
  halo_map groups;       /* iota and mesh replica groups by spelling */
  int64_t group_ids;     /* expanded so far */
  int64_t fresh;         /* counter of made-up names */
  halo_c_locale locale;
} halo_text_parser;

/* ---- lexer.c ---- */

/* Copies the text and reads the first token; the C locale is in force until deinit. */
halo_status halo_text_begin(halo_text_parser *p, const char *text, size_t length, const char *name);
void halo_text_finish(halo_text_parser *p);
void halo_text_advance(halo_text_parser *p);
/* Goes on with the token at or behind `at`. */
void halo_text_resume(halo_text_parser *p, const char *at);
/* The first byte at or behind `at` that is neither blank nor comment; NULL (lex_error set, at
 * *bad) for an unterminated comment. */
const char *halo_text_skip_blank(halo_text_parser *p, const char *at, const char **bad);
/* The token behind the current one, without moving. */
halo_text_token halo_text_peek(halo_text_parser *p);
bool halo_text_is_word(const halo_text_parser *p, const char *word);
bool halo_text_token_is(const halo_text_token *tok, const char *word);
static inline bool halo_text_is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static inline bool halo_text_is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool halo_text_is_name_char(char c) {
  return halo_text_is_name_start(c) || halo_text_is_digit(c) || c == '.' || c == '-';
}
static inline bool halo_text_is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
/* The line of a place, from 1; cheap when places only grow. */
int32_t halo_text_line_of(halo_text_parser *p, const char *at);
/* A failure at a place: "name:line:column: error: message", the line, a caret. */
halo_status halo_text_error_as(halo_text_parser *p, halo_status status, const char *at,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));
#define halo_text_error(p, at, ...) halo_text_error_as(p, HALO_INVALID_ARGUMENT, at, __VA_ARGS__)
/* "expected <what>, found <token>" at the current token. */
halo_status halo_text_expected(halo_text_parser *p, const char *what);
/* Takes a token of this kind, or fails with "expected <what>". */
halo_status halo_text_expect(halo_text_parser *p, int kind, const char *what);
bool halo_text_accept(halo_text_parser *p, int kind);
/* Between the elements of a list: takes a comma and makes sure that more follows, unless the list's
 * closing token is here, which stays. `what` names both. */
halo_status halo_text_separator(halo_text_parser *p, int closer, const char *what);
/* Counts nesting; every success needs a halo_text_leave. */
halo_status halo_text_enter(halo_text_parser *p);
static inline void halo_text_leave(halo_text_parser *p) { p->depth--; }
/* Takes an identifier, with or without `%`, and a colon that touches one without. In the arena. */
halo_status halo_text_name(halo_text_parser *p, const char *what, const char **out);
halo_status halo_text_int(halo_text_parser *p, const char *what, int64_t *out);
halo_status halo_text_bool(halo_text_parser *p, const char *what, bool *out);
/* Takes a quoted string and unescapes it. In the arena. */
halo_status halo_text_string(halo_text_parser *p, const char *what, const char **out);
/* Takes a value of unknown grammar as raw bytes. From `json_depth` nested brackets on, only double
 * quotes count as strings and comments are not recognised. In the arena. */
halo_status halo_text_raw(halo_text_parser *p, int json_depth, const char **out);

/* ---- parse_shape.c, parse_literal.c ---- */

/* Whether a shape may start at the current token (a type word before `[`, a tuple). */
bool halo_text_at_shape(halo_text_parser *p);
halo_status halo_text_shape(halo_text_parser *p, const halo_shape **out);
halo_status halo_text_literal(halo_text_parser *p, const halo_shape *shape, halo_literal **out);

/* ---- parse_attr.c, parse_list.c, parse_window.c, parse_groups.c ---- */

/* Reads the value of an attribute whose id (and name) is set; the current token is the first of the
 * value. */
halo_status halo_text_attr_value(halo_text_parser *p, halo_opcode op, halo_attr *attr);
halo_status halo_text_ints(halo_text_parser *p, const char *what, halo_attr *attr);
/* "{[0:4], [1:9:2]}" as triples, pairs "{{0,1},{1,2}}", "{true,false}", or a list of precisions. */
halo_status halo_text_list(halo_text_parser *p, halo_attr_kind kind, halo_attr *attr);
/* "{name="value",name={json}}". */
halo_status halo_text_strings_value(halo_text_parser *p, halo_attr *attr);
/* "1x32". */
halo_status halo_text_sizes(halo_text_parser *p, halo_attr *attr);
halo_status halo_text_double(halo_text_parser *p, double *out);
/* Takes one of the names (NULL ends them); `loose`: whatever the case. */
halo_status halo_text_enum(halo_text_parser *p, const char *const *names, bool loose, int64_t *out);
halo_status halo_text_window(halo_text_parser *p, halo_attr *attr);
halo_status halo_text_padding(halo_text_parser *p, halo_attr *attr);
halo_status halo_text_dim_labels(halo_text_parser *p, halo_attr *attr);
halo_status halo_text_groups(halo_text_parser *p, halo_attr *attr);

/* ---- parse_alias.c ---- */

typedef enum halo_text_alias_form {
  HALO_ALIAS_RESULT, /* {0}: (1, {}, may-alias) */
  HALO_ALIAS_DONOR,  /* (1, {}) */
  HALO_ALIAS_OPERAND /* {0}: (1, {}) */
} halo_text_alias_form;

/* Appends the rows of a list in braces; nothing is looked up. */
halo_status halo_text_alias_list(halo_text_parser *p, halo_text_alias_form form, halo_aliases *out);
halo_status halo_text_aliases(halo_text_parser *p, halo_attr *attr);

/* ---- parse_annotation.c ---- */

halo_status halo_text_metadata(halo_text_parser *p, halo_attr *attr);
halo_status halo_text_sharding(halo_text_parser *p, halo_attr *attr);
halo_status halo_text_domain(halo_text_parser *p, halo_attr *attr);
halo_status halo_text_accuracy(halo_text_parser *p, halo_attr *attr);
halo_status halo_text_configs(halo_text_parser *p, halo_attr *attr);

/* ---- parse_instr.c ---- */

/* Reads one instruction of a body; *root tells whether it was marked ROOT. */
halo_status halo_text_instr(halo_text_parser *p, halo_text_scope *scope, halo_instr **out,
                            bool *root);

/* What is known of an instruction before it is made. */
typedef struct halo_text_draft {
  halo_opcode opcode;
  const char *start; /* of the name, for messages */
  const char *name;  /* NULL: make one up */
  const halo_shape *shape;
  HALO_VEC(halo_instr *) operands;
  HALO_VEC(halo_attr) attrs;
  HALO_VEC(halo_instr *) control;
  HALO_VEC(halo_attr) wrapped; /* async sugar: attributes of the operation itself */
  halo_opcode sugar;           /* the operation; HALO_OPCODE_COUNT when there is no sugar */
  int64_t parameter_number;
  halo_literal *literal;
} halo_text_draft;

void halo_text_draft_deinit(halo_text_draft *draft);
/* Checks counts and required attributes, finds the shape and makes the instruction. */
halo_status halo_text_build(halo_text_parser *p, halo_text_scope *scope, halo_text_draft *draft,
                            halo_instr **out);
/* Reads "opcode(operands)" into the draft. */
halo_status halo_text_call(halo_text_parser *p, halo_text_scope *scope, halo_text_draft *draft);
/* A name that is not in the map yet, "<prefix>.<n>". In the arena. */
const char *halo_text_fresh_name(halo_text_parser *p, const halo_map *names, const char *prefix);

/* ---- parse_operand.c ---- */

halo_status halo_text_operands(halo_text_parser *p, halo_text_scope *scope, halo_text_draft *draft);
halo_status halo_text_find_instr(halo_text_parser *p, halo_text_scope *scope, halo_instr **out);

/* ---- parse_attr.c again ---- */

/* Reads ", name=value, ..." into the draft. */
halo_status halo_text_attrs(halo_text_parser *p, halo_text_scope *scope, halo_text_draft *draft);

/* ---- implied.c ---- */

/* Puts a sugared operation into a computation of its own, and calls= into the draft. */
void halo_text_wrap(halo_text_parser *p, halo_text_draft *draft);
/* The comparator that sort had before it was written out: ascending by the first operand. */
void halo_text_make_comparator(halo_text_parser *p, halo_text_draft *draft);

/* ---- foreign.c ---- */

/* Fails, with advice, if the text begins as other files do that people give: compressed ones, arrays, MLIR. */
halo_status halo_text_refuse_foreign(halo_text_parser *p);
/* Adds what programs are to the message of a failure (`status`, or HALO_OK) at the first word of the text. */
halo_status halo_text_advise_foreign(const halo_text_parser *p, halo_status status);

/* ---- parse_module.c ---- */

/* Reads "{ ... }" into a new computation; the name NULL makes one up. */
halo_status halo_text_body(halo_text_parser *p, const char *name, const char *prefix,
                           halo_computation **out);
/* A computation that is not yet in the module's list, so that callees can come before it. */
halo_computation *halo_text_new_computation(halo_text_parser *p, const char *name);
/* Takes a computation name and finds what was defined under it. */
halo_status halo_text_find_computation(halo_text_parser *p, halo_computation **out);

/* ---- parse_header.c ---- */

/* Where header values that can only be checked at the end of the module were written. */
typedef struct halo_text_header {
  const char *layout_at; /* entry_computation_layout, NULL when absent */
  int32_t layout_params;
  const char *whole_at; /* spmd_whole_layout, NULL when absent */
  const char *alias_at, *donor_at;
} halo_text_header;

halo_status halo_text_header_attrs(halo_text_parser *p, halo_text_header *header);
halo_status halo_text_stack_tables(halo_text_parser *p);
halo_status halo_text_finish_entry(halo_text_parser *p, const halo_text_header *header);

#endif
