/* ops_table.c: prints docs/ops.md from the opcode table and op_status.def. */
#include "hlo/opcode.h"

#include <stdio.h>
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

typedef struct ops_status {
  bool runs;
  const char *note;
} ops_status;

static const ops_status statuses[HALO_OPCODE_COUNT] = {
#define RUNS(id, text) [HALO_OP_##id] = {true, text},
#include "op_status.def"
#undef RUNS
};

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
    const char *mark = spec->flags & HALO_ATTR_REQUIRED ? "**" : "";
    printf("%s%s%s%s", separator, mark, halo_attr_name(spec->id), mark);
    separator = ", ";
  }
}

int main(void) {
  int runs = 0;
  for (int op = 0; op < HALO_OPCODE_COUNT; op++) runs += statuses[op].runs;
  printf("# Operations\n\n"
         "All %d opcodes of HLO are read, checked and printed; %d of them run. The others are "
         "refused at\ncompile time by name and line.\n\n"
         "This page is made by `build/tests/docs/ops_table > docs/ops.md` from "
         "`lib/hlo/opcodes.def` and\n`tests/docs/op_status.def`; a test holds it to them. Types are "
         "those of the first operand; attributes\nin **bold** must be written in HLO text. "
         "[Adding an operation](adding-an-op.md) says what a row takes.\n",
         (int)HALO_OPCODE_COUNT, runs);
  size_t next = 0;
  for (int op = 0; op < HALO_OPCODE_COUNT; op++) {
    const halo_op_info *info = halo_op_info_of((halo_opcode)op);
    if (next < sizeof sections / sizeof *sections && (int)sections[next].first == op) {
      printf("\n## %s\n\n| operation | operands | types | attributes | runs | notes |\n"
             "|---|---|---|---|---|---|\n",
             sections[next++].title);
    }
    printf("| `%s` | ", info->name);
    print_operands(info);
    printf(" | ");
    print_types(info);
    printf(" | ");
    print_attributes(info);
    printf(" | %s | %s |\n", statuses[op].runs ? "yes" : "no",
           statuses[op].note ? statuses[op].note : "");
  }
  return 0;
}
