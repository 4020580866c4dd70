/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/bytecode_ir.c: operations, with their blocks and regions. */
#include "stablehlo/bytecode.h"

#include <string.h>

/* Bits of an operation's mask: which parts follow. */
enum {
  HAS_ATTRS = 0x01,
  HAS_RESULTS = 0x02,
  HAS_OPERANDS = 0x04,
  HAS_SUCCESSORS = 0x08,
  HAS_REGIONS = 0x10,
  HAS_USES = 0x20,
  HAS_PROPERTIES = 0x40
};

enum { SECTION_IR = 4 };

/* Deeper nesting than any program has would take the stack. */
enum { DEEPEST_REGION = 256 };

/* Where the values of a region are in the scope. */
typedef struct ir_frame {
  int32_t origin; /* of number 0: that of the innermost isolated operation around */
  int32_t next;   /* the next value of this region that gets its number */
  int32_t end;
  int depth;
} ir_frame;

static halo_status ir_op(halo_bytecode_cursor *cursor, halo_mlir_block *block, ir_frame *frame);

/* ---- Values ---- */

static halo_status ir_define(const halo_bytecode_cursor *cursor, ir_frame *frame,
                             halo_mlir_value *values, int32_t count) {
  halo_bytecode *reader = cursor->reader;
  if (count > frame->end - frame->next)
    return halo_bytecode_fail(cursor, "the region has more values than it announces");
  for (int32_t i = 0; i < count; i++) reader->scope.data[frame->next++] = &values[i];
  reader->undefined -= count;
  return HALO_OK;
}

/* Orders of uses: of each result or argument a list of numbers, which nothing here depends on. */
static halo_status ir_skip_uses(halo_bytecode_cursor *cursor, int32_t values) {
  int32_t lists = 1;
  uint64_t value;
  if (values > 1) HALO_TRY(halo_bytecode_count(cursor, &lists));
  for (int32_t i = 0; i < lists; i++) {
    if (values > 1) HALO_TRY(halo_bytecode_vi(cursor, &value));
    HALO_TRY(halo_bytecode_vi(cursor, &value));
    uint64_t count = value >> 1;
    if (count > halo_bytecode_left(cursor))
      return halo_bytecode_fail(cursor, "the order of uses does not end");
    while (count--) HALO_TRY(halo_bytecode_vi(cursor, &value));
  }
  return HALO_OK;
}

/* ---- Regions ---- */

static halo_status ir_args(halo_bytecode_cursor *cursor, halo_mlir_region *region,
                           halo_mlir_block **block, ir_frame *frame) {
  halo_bytecode *reader = cursor->reader;
  int32_t count;
  HALO_TRY(halo_bytecode_count(cursor, &count));
  *block = halo_mlir_block_create(reader->program, region, count);
  HALO_TRY(ir_define(cursor, frame, (*block)->args, count));
  for (int32_t i = 0; i < count; i++) {
    halo_mlir_value *arg = &(*block)->args[i];
    bool located = true;
    int32_t type;
    halo_bytecode_cursor start = *cursor;
    if (reader->version < 4)
      HALO_TRY(halo_bytecode_index(cursor, reader->type_count, "type", &type));
    else
      HALO_TRY(halo_bytecode_flagged(cursor, reader->type_count, "type", &type, &located));
    HALO_TRY(halo_bytecode_type_at(&start, type, &arg->type));
    if (located) HALO_TRY(halo_bytecode_loc(cursor, &arg->loc));
  }
  if (reader->version < 3) return HALO_OK;
  uint8_t uses;
  HALO_TRY(halo_bytecode_byte(cursor, &uses));
  return uses ? ir_skip_uses(cursor, count) : HALO_OK;
}

static halo_status ir_block(halo_bytecode_cursor *cursor, halo_mlir_region *region,
                            ir_frame *frame) {
  halo_bytecode_cursor start = *cursor;
  halo_mlir_block *block = NULL;
  uint64_t header;
  HALO_TRY(halo_bytecode_vi(cursor, &header));
  if (header >> 1 > halo_bytecode_left(cursor))
    return halo_bytecode_fail(&start, "%llu operations are announced, but %zu bytes are left",
                              (unsigned long long)(header >> 1), halo_bytecode_left(cursor));
  if (header & 1)
    HALO_TRY(ir_args(cursor, region, &block, frame));
  else
    block = halo_mlir_block_create(cursor->reader->program, region, 0);
  for (uint64_t i = 0; i < header >> 1; i++) HALO_TRY(ir_op(cursor, block, frame));
  return HALO_OK;
}

/* A region's values are numbered behind those of the regions around it, up to an isolated operation. All of them
 * are still to come, and each takes a byte at least. */
static halo_status ir_region(halo_bytecode_cursor *cursor, const halo_mlir_op *op,
                             halo_mlir_region *region, int32_t origin, int depth) {
  halo_bytecode *reader = cursor->reader;
  halo_bytecode_cursor start = *cursor;
  uint64_t blocks;
  int32_t values;
  HALO_TRY(halo_bytecode_vi(cursor, &blocks));
  if (blocks == 0) return HALO_OK;
  if (blocks > 1)
    return halo_bytecode_refuse(&start,
                                "operation %s: regions of several blocks are not supported, and "
                                "this one has %llu",
                                op->name, (unsigned long long)blocks);
  HALO_TRY(halo_bytecode_count(cursor, &values));
  int32_t base = reader->scope.count;
  reader->undefined += values;
  if (reader->undefined > cursor->reader->begin + reader->size - cursor->at ||
      values > INT32_MAX - base)
    return halo_bytecode_fail(&start, "%d values are announced, but fewer bytes are left", values);
  halo_vec_reserve(&reader->scope, base + values);
  if (values) memset(reader->scope.data + base, 0, (size_t)values * sizeof *reader->scope.data);
  reader->scope.count = base + values;
  ir_frame frame = {origin, base, base + values, depth};
  HALO_TRY(ir_block(cursor, region, &frame));
  if (frame.next != frame.end)
    return halo_bytecode_fail(cursor, "the region announces %d value%s more than it has",
                              frame.end - frame.next, halo_plural(frame.end - frame.next));
  reader->scope.count = base;
  return HALO_OK;
}

static halo_status ir_regions(halo_bytecode_cursor *cursor, halo_mlir_op *op, bool isolated,
                              const ir_frame *frame) {
  halo_bytecode *reader = cursor->reader;
  if (frame->depth >= DEEPEST_REGION)
    return halo_bytecode_fail(cursor, "regions are nested deeper than %d", DEEPEST_REGION);
  int32_t origin = isolated ? reader->scope.count : frame->origin;
  bool nested = isolated && reader->version >= 2;
  halo_bytecode_cursor section, *from = cursor;
  if (nested) {
    halo_bytecode_cursor start = *cursor;
    uint8_t id;
    HALO_TRY(halo_bytecode_section(cursor, &id, &section));
    if (id != SECTION_IR) return halo_bytecode_fail(&start, "regions in a section %d", id);
    from = &section;
  }
  for (int32_t i = 0; i < op->region_count; i++)
    HALO_TRY(ir_region(from, op, &op->regions[i], origin, frame->depth + 1));
  return nested ? halo_bytecode_finish(&section, "regions") : HALO_OK;
}

/* ---- Operations ---- */

/* Casts between VHLO's types and builtin's, which Shardy's operations have: the types are the same here, and the
 * result is the operand. */
static bool ir_is_cast(const halo_bytecode *reader, int32_t name, int32_t operands, int32_t results,
                       int32_t regions) {
  if (reader->ops.data[name].opcode != HALO_MLIR_OP_UNREALIZED_CAST || operands != results ||
      regions)
    return false;
  for (int32_t i = 0; i < results; i++)
    if (!halo_mlir_type_equal(reader->operands.data[i]->type, reader->result_types.data[i]))
      return false;
  return true;
}

static halo_status ir_result_types(halo_bytecode_cursor *cursor, int32_t *count) {
  halo_bytecode *reader = cursor->reader;
  HALO_TRY(halo_bytecode_count(cursor, count));
  halo_vec_reserve(&reader->result_types, *count);
  for (int32_t i = 0; i < *count; i++)
    HALO_TRY(halo_bytecode_type(cursor, &reader->result_types.data[i]));
  return HALO_OK;
}

static halo_status ir_operands(halo_bytecode_cursor *cursor, const ir_frame *frame,
                               int32_t *count) {
  halo_bytecode *reader = cursor->reader;
  HALO_TRY(halo_bytecode_count(cursor, count));
  halo_vec_reserve(&reader->operands, *count);
  for (int32_t i = 0; i < *count; i++) {
    halo_bytecode_cursor start = *cursor;
    int32_t value;
    HALO_TRY(halo_bytecode_index(cursor, reader->scope.count - frame->origin, "value", &value));
    reader->operands.data[i] = reader->scope.data[frame->origin + value];
    if (!reader->operands.data[i])
      return halo_bytecode_fail(&start, "value %d is used before it is defined", value);
  }
  return HALO_OK;
}

static halo_status ir_check_mask(const halo_bytecode_cursor *cursor, uint8_t mask) {
  uint32_t version = cursor->reader->version;
  uint8_t known = HAS_ATTRS | HAS_RESULTS | HAS_OPERANDS | HAS_SUCCESSORS | HAS_REGIONS;
  if (version >= 3) known |= HAS_USES;
  if (version >= 5) known |= HAS_PROPERTIES;
  if (mask & ~known)
    return halo_bytecode_fail(cursor, "bytecode %u has no operation of mask %02x", version, mask);
  return HALO_OK;
}

/* Returns of functions have a name of their own. */
static const char *ir_name(const halo_bytecode_op *op, const halo_mlir_block *block) {
  bool of_function =
      op->opcode == HALO_MLIR_OP_RETURN && block && block->region->op->opcode == HALO_MLIR_OP_FUNC;
  return of_function ? "func.return" : op->name;
}

static halo_status ir_op(halo_bytecode_cursor *cursor, halo_mlir_block *block, ir_frame *frame) {
  halo_bytecode *reader = cursor->reader;
  halo_bytecode_cursor start = *cursor;
  const halo_mlir_loc *loc;
  halo_bytecode_attrs attrs;
  int32_t name, dictionary = -1, properties = -1, results = 0, operands = 0, regions = 0;
  bool isolated = false;
  uint8_t mask;
  HALO_TRY(halo_bytecode_index(cursor, reader->ops.count, "operation name", &name));
  HALO_TRY(halo_bytecode_byte(cursor, &mask));
  HALO_TRY(ir_check_mask(&start, mask));
  HALO_TRY(halo_bytecode_loc(cursor, &loc));
  if (mask & HAS_ATTRS)
    HALO_TRY(halo_bytecode_index(cursor, reader->attr_count, "attribute", &dictionary));
  if (mask & HAS_PROPERTIES)
    HALO_TRY(halo_bytecode_index(cursor, reader->property_count, "property", &properties));
  HALO_TRY(halo_bytecode_attrs_of(&start, name, properties, dictionary, &attrs));
  if (mask & HAS_RESULTS) HALO_TRY(ir_result_types(cursor, &results));
  if (mask & HAS_OPERANDS) HALO_TRY(ir_operands(cursor, frame, &operands));
  if (mask & HAS_SUCCESSORS)
    return halo_bytecode_refuse(&start, "operation %s goes on in other blocks",
                                reader->ops.data[name].name);
  if (mask & HAS_USES) HALO_TRY(ir_skip_uses(cursor, results));
  if (mask & HAS_REGIONS) {
    uint64_t header;
    HALO_TRY(halo_bytecode_vi(cursor, &header));
    isolated = header & 1;
    if (header >> 1 > halo_bytecode_left(cursor))
      return halo_bytecode_fail(&start, "%llu regions", (unsigned long long)(header >> 1));
    regions = (int32_t)(header >> 1);
  }
  if (block && ir_is_cast(reader, name, operands, results, regions)) {
    for (int32_t k = 0; k < results; k++)
      HALO_TRY(ir_define(cursor, frame, reader->operands.data[k], 1));
    return HALO_OK;
  }
  halo_mlir_op *op = halo_mlir_op_create(
      reader->program, block, ir_name(&reader->ops.data[name], block), operands, results, regions);
  if (!block) reader->program->module = op;
  op->loc = loc;
  op->attrs = attrs.data;
  op->attr_count = attrs.count;
  if (operands)
    memcpy(op->operands, reader->operands.data, (size_t)operands * sizeof *op->operands);
  for (int32_t i = 0; i < results; i++) op->results[i].type = reader->result_types.data[i];
  HALO_TRY(ir_define(cursor, frame, op->results, results));
  return regions ? ir_regions(cursor, op, isolated, frame) : HALO_OK;
}

halo_status halo_bytecode_read_ir(halo_bytecode_cursor section) {
  halo_bytecode_cursor start = section;
  uint64_t header;
  ir_frame frame = {0};
  HALO_TRY(halo_bytecode_vi(&section, &header));
  if (header != 1 << 1)
    return halo_bytecode_fail(&start, "one operation was expected here, a module");
  HALO_TRY(ir_op(&section, NULL, &frame));
  const halo_mlir_op *module = section.reader->program->module;
  if (module->opcode != HALO_MLIR_OP_MODULE || module->region_count != 1 ||
      !module->regions[0].block)
    return halo_bytecode_fail(&start, "operation %s, where a module was expected", module->name);
  return halo_bytecode_finish(&section, "the program");
}
