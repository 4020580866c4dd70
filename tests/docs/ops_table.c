/* SPDX-License-Identifier: Apache-2.0 */
/* ops_table.c: prints docs/ops.md from the opcode table, the recorded operation tests and
 * op_status.def.
 *
 * usage: ops_table FILE.hlo...     the modules of tests/ops/data */
#include "base/map.h"
#include "hlo/opcode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a section of the table starts. */
static const struct {
  halo_opcode first;
  const char *title;
} sections[] = {
    {HALO_OP_ABS, "Elementwise, one operand"},
    {HALO_OP_ADD, "Elementwise, two operands"},
    {HALO_OP_SELECT, "Elementwise, three operands"},
    {HALO_OP_PARAMETER, "Values, tuples and movement"},
    {HALO_OP_MAP, "Cooperation between elements"},
    {HALO_OP_RNG, "Random numbers"},
    {HALO_OP_GET_DIMENSION_SIZE, "Dynamic shapes"},
    {HALO_OP_CALL, "Control flow and ordering"},
    {HALO_OP_ASYNC_START, "Asynchronous pairs"},
    {HALO_OP_INFEED, "Host and device channels"},
    {HALO_OP_REPLICA_ID, "Collectives"},
};

/* Runs by other tests than the recorded ones; what to know about it. */
static const struct {
  bool runs;
  const char *note;
} statuses[HALO_OPCODE_COUNT] = {
#define RUNS(id, text) [HALO_OP_##id] = {true, text},
#define NOTE(id, text) [HALO_OP_##id] = {false, text},
#include "op_status.def"
#undef RUNS
#undef NOTE
};

/* Element types that the recorded tests have for the opcode's first operand. */
static bool recorded[HALO_OPCODE_COUNT][HALO_TYPE_COUNT];
static bool has_records[HALO_OPCODE_COUNT];

/* ---- The recorded modules ---- */

/* Copies the characters of `text` that can be in a name; returns what follows. */
static const char *table_word(const char *text, char *word, size_t size) {
  size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
  snprintf(word, size, "%.*s", (int)n, text);
  return text + n;
}

/* Behind a shape: the first blank outside of parentheses. */
static const char *table_skip_shape(const char *text) {
  int depth = 0;
  for (; *text != '\0' && (depth > 0 || *text != ' '); text++) {
    depth += (*text == '(') - (*text == ')');
  }
  return text + (*text == ' ');
}

/* "name = shape opcode(operands)", as the recorder prints it: names without `%`, operands without
 * shapes. Other lines are passed over. */
static void table_read_line(halo_map *types, const char *line) {
  char name[128], type[32], opcode[64], operand[128];
  line += strspn(line, " ");
  if (strncmp(line, "ROOT ", 5) == 0) line += 5;
  line = table_word(line, name, sizeof name);
  if (strncmp(line, " = ", 3) != 0) return;
  line += 3;
  table_word(line + strspn(line, "("), type, sizeof type);
  line = table_word(table_skip_shape(line), opcode, sizeof opcode);
  halo_opcode op;
  if (*line != '(' || !halo_opcode_from_name(opcode, &op)) return;
  halo_type own = halo_type_from_name(type);
  if (own != HALO_TYPE_INVALID) halo_map_set_text(types, name, (void *)(uintptr_t)own);

  /* Of select, the first operand is only the predicate. */
  const char *at = line + 1;
  const char *comma = strchr(at, ',');
  if (op == HALO_OP_SELECT && comma != NULL) at = comma + 1;
  table_word(at + strspn(at, " "), operand, sizeof operand);
  void *known = halo_map_get_text(types, operand);
  halo_type of_operand = known != NULL ? (halo_type)(uintptr_t)known : own;
  has_records[op] = true;
  if (of_operand != HALO_TYPE_INVALID) recorded[op][of_operand] = true;
}

static void table_read_file(const char *path) {
  static char line[1 << 20];
  halo_map types = {0};
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  while (fgets(line, sizeof line, file) != NULL) table_read_line(&types, line);
  fclose(file);
  halo_map_deinit(&types);
}

/* ---- The page ---- */

static void print_operands(const halo_op_info *info) {
  if (info->max_operands < 0) {
    printf("%d or more", info->min_operands);
  } else if (info->min_operands != info->max_operands) {
    printf("%d to %d", info->min_operands, info->max_operands);
  } else {
    printf("%d", info->min_operands);
  }
}

static void print_types(const halo_op_info *info) {
  static const struct {
    unsigned mask;
    const char *name;
  } names[] = {{HALO_T_PRED, "pred"},
               {HALO_T_SINT, "signed"},
               {HALO_T_UINT, "unsigned"},
               {HALO_T_FLOAT, "float"},
               {HALO_T_COMPLEX, "complex"}};
  if (info->max_operands == 0) return;
  if (info->types == HALO_T_ANY) {
    printf("any");
    return;
  }
  const char *separator = "";
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!(info->types & names[i].mask)) continue;
    printf("%s%s", separator, names[i].name);
    separator = ", ";
  }
}

static void print_attributes(const halo_op_info *info) {
  const char *separator = "";
  for (const halo_attr_spec *spec = info->attrs; spec->used; spec++) {
    if (spec->id == HALO_ATTR_EXCHANGE || spec->id == HALO_ATTR_EXCHANGE_FOR) continue; /* ours */
    const char *mark = spec->flags & HALO_ATTR_REQUIRED ? "**" : "";
    printf("%s%s%s%s", separator, mark, halo_attr_name(spec->id), mark);
    separator = ", ";
  }
}

/* The recorded types; those that come together by one name. */
static void print_recorded(int op) {
  static const struct {
    const char *name;
    halo_type types[8];
  } groups[] = {
      {"s4 to s64", {HALO_S4, HALO_S8, HALO_S16, HALO_S32, HALO_S64}},
      {"u4 to u64", {HALO_U4, HALO_U8, HALO_U16, HALO_U32, HALO_U64}},
      {"bf16 to f64", {HALO_BF16, HALO_F16, HALO_F32, HALO_F64}},
      {"c64, c128", {HALO_C64, HALO_C128}},
      {"7 kinds of f8",
       {HALO_F8E5M2, HALO_F8E4M3FN, HALO_F8E4M3B11FNUZ, HALO_F8E5M2FNUZ, HALO_F8E4M3FNUZ,
        HALO_F8E4M3, HALO_F8E3M4}},
  };
  bool left[HALO_TYPE_COUNT];
  memcpy(left, recorded[op], sizeof left);
  const char *separator = "";
  if (left[HALO_PRED]) {
    printf("pred");
    separator = ", ";
    left[HALO_PRED] = false;
  }
  for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
    bool all = true;
    for (int i = 0; i < 8 && groups[g].types[i] != HALO_TYPE_INVALID; i++) {
      all &= left[groups[g].types[i]];
    }
    if (!all) continue;
    for (int i = 0; i < 8; i++) left[groups[g].types[i]] = false;
    printf("%s%s", separator, groups[g].name);
    separator = ", ";
  }
  for (int type = 0; type < HALO_TYPE_COUNT; type++) {
    if (!left[type]) continue;
    printf("%s%s", separator, halo_type_name((halo_type)type));
    separator = ", ";
  }
}

static void print_row(int op) {
  const halo_op_info *info = halo_op_info_of((halo_opcode)op);
  printf("| `%s` | ", info->name);
  print_operands(info);
  printf(" | ");
  print_types(info);
  printf(" | ");
  print_attributes(info);
  printf(" | %s | ", has_records[op] || statuses[op].runs ? "yes" : "no");
  print_recorded(op);
  printf(" | %s |\n", statuses[op].note ? statuses[op].note : "");
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) table_read_file(argv[i]);
  int runs = 0;
  for (int op = 0; op < HALO_OPCODE_COUNT; op++) runs += has_records[op] || statuses[op].runs;
  printf(
      "# Operations\n\n"
      "All %d HLO opcodes are read, checked and printed; %d of them run. Unsupported forms are\n"
      "rejected at compile time, with name and line.\n\n"
      "*Types* are those of the first operand. *Compared with XLA* lists the types whose results\n"
      "the tests compare with recorded results of XLA's CPU backend. Attributes in **bold** are\n"
      "required in HLO text.\n\n"
      "This page is generated by `tests/docs/ops.sh --update` from `lib/hlo/opcodes.def`, the\n"
      "recorded tests in `tests/ops/data`, and `tests/docs/op_status.def`; a test checks that it\n"
      "is up to date. See also [Adding an operation](adding-an-op.md).\n",
      (int)HALO_OPCODE_COUNT, runs);
  size_t next = 0;
  for (int op = 0; op < HALO_OPCODE_COUNT; op++) {
    if (next < sizeof sections / sizeof *sections && (int)sections[next].first == op) {
      printf(
          "\n## %s\n\n"
          "| operation | operands | types | attributes | runs | compared with XLA | notes |\n"
          "|---|---|---|---|---|---|---|\n",
          sections[next++].title);
    }
    print_row(op);
  }
  return 0;
}
