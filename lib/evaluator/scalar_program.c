/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/scalar_program.c: computations of scalars, turned into a flat list of operations on a small
 * register file, so that the bodies of map and reduce do not go through literals. */
#include "base/memory.h"
#include "evaluator/eval.h"

enum { FUNCTION_MAX_STEPS = 4096, FUNCTION_MAX_CALLS = 1000, FUNCTION_MAX_INLINE_DEPTH = 64 };

typedef struct function_step {
  eval_op op;
  int32_t args[3], arg_count, out;
} function_step;

/* Registers 0 .. arg_count - 1 are the parameters; constants sit in theirs from the start. */
struct eval_program {
  HALO_VEC(function_step) steps;
  HALO_VEC(eval_scalar) registers;
  HALO_VEC(int32_t) results;
};

/* A value while inlining: the registers of its leaves, in order. */
typedef struct function_value {
  const int32_t *registers;
  int32_t count;
} function_value;

typedef struct function_builder {
  eval_program *program;
  halo_arena *arena;
  int calls; /* computations inlined so far */
} function_builder;

static bool function_inline(function_builder *b, const halo_computation *computation,
                            const function_value *args, int depth, function_value *out);

/* Leaves of a shape made of scalars, or -1 when an array with dimensions is among them. */
static int32_t function_leaves(const halo_shape *shape) {
  if (halo_shape_is_scalar(shape)) return 1;
  if (!halo_shape_is_tuple(shape)) return -1;
  int32_t leaves = 0;
  for (int32_t i = 0; i < shape->count; i++) {
    int32_t inner = function_leaves(shape->elements[i]);
    if (inner < 0 || leaves > FUNCTION_MAX_STEPS) return -1;
    leaves += inner;
  }
  return leaves;
}

static int32_t function_register(function_builder *b, eval_scalar value) {
  halo_vec_push(&b->program->registers, value);
  return b->program->registers.count - 1;
}

static function_value function_one(function_builder *b, int32_t reg) {
  return (function_value){halo_arena_copy(b->arena, &reg, sizeof reg), 1};
}

static void function_load_literal(const halo_literal *literal, eval_scalar *leaves, int32_t *at) {
  if (!literal->elements) {
    leaves[(*at)++] = eval_get(literal, 0);
    return;
  }
  for (int32_t i = 0; i < literal->shape->count; i++) {
    function_load_literal(literal->elements[i], leaves, at);
  }
}

static bool function_constant(function_builder *b, const halo_instr *instr,
                              const function_value *operands, int depth, function_value *out) {
  (void)operands, (void)depth;
  if (instr->literal->elided) return false;
  int32_t count = function_leaves(instr->shape), at = 0;
  eval_scalar *leaves = halo_arena_array(b->arena, eval_scalar, count);
  int32_t *registers = halo_arena_array(b->arena, int32_t, count);
  function_load_literal(instr->literal, leaves, &at);
  for (int32_t i = 0; i < count; i++) registers[i] = function_register(b, leaves[i]);
  *out = (function_value){registers, count};
  return true;
}

static bool function_tuple(function_builder *b, const halo_instr *instr,
                           const function_value *operands, int depth, function_value *out) {
  (void)depth;
  int32_t count = function_leaves(instr->shape), at = 0;
  int32_t *registers = halo_arena_array(b->arena, int32_t, count);
  for (int32_t k = 0; k < instr->operand_count; k++) {
    for (int32_t i = 0; i < operands[k].count; i++) registers[at++] = operands[k].registers[i];
  }
  *out = (function_value){registers, count};
  return true;
}

static bool function_element(function_builder *b, const halo_instr *instr,
                             const function_value *operands, int depth, function_value *out) {
  (void)b, (void)depth;
  const halo_shape *tuple = instr->operands[0]->shape;
  int64_t index = halo_instr_int(instr, HALO_ATTR_INDEX, 0), skip = 0;
  for (int64_t i = 0; i < index; i++) skip += function_leaves(tuple->elements[i]);
  *out = (function_value){operands[0].registers + skip, function_leaves(instr->shape)};
  return true;
}

static bool function_called(function_builder *b, const halo_instr *instr,
                            const function_value *operands, int depth, function_value *out) {
  return function_inline(b, halo_instr_called(instr, 0), operands, depth + 1, out);
}

/* What does nothing to a scalar. */
static bool function_same(function_builder *b, const halo_instr *instr,
                          const function_value *operands, int depth, function_value *out) {
  (void)b, (void)instr, (void)depth;
  *out = operands[0];
  return true;
}

typedef bool function_rule(function_builder *b, const halo_instr *instr,
                           const function_value *operands, int depth, function_value *out);
/* What is no step of its own; the rest must be elementwise. */
static function_rule *const function_rules[HALO_OPCODE_COUNT] = {
    [HALO_OP_CONSTANT] = function_constant,
    [HALO_OP_TUPLE] = function_tuple,
    [HALO_OP_GET_TUPLE_ELEMENT] = function_element,
    [HALO_OP_CALL] = function_called,
    [HALO_OP_FUSION] = function_called,
    [HALO_OP_MAP] = function_called,
    [HALO_OP_COPY] = function_same,
    [HALO_OP_OPT_BARRIER] = function_same,
    [HALO_OP_DOMAIN] = function_same,
    [HALO_OP_ADD_DEPENDENCY] = function_same,
    [HALO_OP_RESHAPE] = function_same,
    [HALO_OP_BROADCAST] = function_same,
    [HALO_OP_TRANSPOSE] = function_same,
};

/* One instruction; false when the program cannot hold it. */
static bool function_instr(function_builder *b, const halo_instr *instr,
                           const function_value *operands, int depth, function_value *out) {
  if (function_leaves(instr->shape) < 0) return false;
  function_rule *rule = function_rules[instr->opcode];
  if (rule) return rule(b, instr, operands, depth, out);
  function_step step = {.arg_count = instr->operand_count};
  if (!eval_op_init(&step.op, instr)) return false;
  for (int32_t k = 0; k < instr->operand_count; k++) step.args[k] = operands[k].registers[0];
  step.out = function_register(b, (eval_scalar){0, 0});
  halo_vec_push(&b->program->steps, step);
  *out = function_one(b, step.out);
  return true;
}

static int32_t function_find(const halo_computation *computation, const halo_instr *instr,
                             int32_t before) {
  for (int32_t i = before - 1; i >= 0; i--) {
    if (computation->instrs.data[i] == instr) return i;
  }
  return -1;
}

static bool function_inline(function_builder *b, const halo_computation *computation,
                            const function_value *args, int depth, function_value *out) {
  int32_t count = computation->instrs.count;
  if (depth > FUNCTION_MAX_INLINE_DEPTH || count > FUNCTION_MAX_STEPS) return false;
  if (++b->calls > FUNCTION_MAX_CALLS) return false;
  function_value *values = halo_arena_array(b->arena, function_value, count);
  for (int32_t i = 0; i < count; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    if (instr->opcode == HALO_OP_PARAMETER) {
      values[i] = args[instr->parameter_number];
      if (values[i].count != function_leaves(instr->shape)) return false;
      continue;
    }
    function_value *operands = halo_arena_array(b->arena, function_value, instr->operand_count);
    for (int32_t k = 0; k < instr->operand_count; k++) {
      int32_t at = function_find(computation, instr->operands[k], i);
      if (at < 0) return false;
      operands[k] = values[at];
    }
    if (!function_instr(b, instr, operands, depth, &values[i])) return false;
    if (b->program->steps.count > FUNCTION_MAX_STEPS) return false;
  }
  int32_t root = function_find(computation, computation->root, count);
  if (root < 0) return false;
  *out = values[root];
  return true;
}

static void function_release(eval_program *program) {
  if (!program) return;
  halo_vec_deinit(&program->steps);
  halo_vec_deinit(&program->registers);
  halo_vec_deinit(&program->results);
  halo_free(program);
}

static eval_program *function_plan(const eval_function *function) {
  halo_arena arena = {0};
  eval_program *program = halo_alloc(sizeof *program);
  function_builder b = {.program = program, .arena = &arena};
  function_value *args = halo_arena_array(&arena, function_value, function->arg_count);
  for (int32_t i = 0; i < function->arg_count; i++) {
    args[i] = function_one(&b, function_register(&b, (eval_scalar){0, 0}));
  }
  function_value result;
  bool ok = function_inline(&b, function->computation, args, 0, &result);
  for (int32_t i = 0; ok && i < result.count; i++) {
    halo_vec_push(&program->results, result.registers[i]);
  }
  halo_arena_deinit(&arena);
  if (ok) return program;
  function_release(program);
  return NULL;
}

static void function_collect_types(const halo_shape *shape, halo_type *types, int32_t *at) {
  if (!halo_shape_is_tuple(shape)) {
    types[(*at)++] = shape->type;
    return;
  }
  for (int32_t i = 0; i < shape->count; i++) function_collect_types(shape->elements[i], types, at);
}

halo_status eval_function_init(eval_function *function, const halo_computation *computation,
                               const halo_type *arg_types, int32_t arg_count, int depth) {
  *function = (eval_function){.computation = computation, .depth = depth, .arg_count = arg_count};
  if (arg_count != computation->params.count) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s takes %d parameter%s, not %d", computation->name,
                     computation->params.count, halo_plural(computation->params.count), arg_count);
  }
  const halo_shape *result = computation->root->shape;
  int32_t results = function_leaves(result), at = 0;
  for (int32_t i = 0; i < arg_count; i++) {
    if (!halo_shape_is_scalar(computation->params.data[i]->shape)) results = -1;
  }
  if (results < 0) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s is not a computation of scalars",
                     computation->name);
  }
  size_t types_size = sizeof *arg_types * (size_t)arg_count;
  function->arg_types = halo_arena_copy(&function->arena, arg_types, types_size);
  halo_type *param_types = halo_arena_array(&function->arena, halo_type, arg_count);
  for (int32_t i = 0; i < arg_count; i++) {
    param_types[i] = computation->params.data[i]->shape->type;
  }
  halo_type *result_types = halo_arena_array(&function->arena, halo_type, results);
  function_collect_types(result, result_types, &at);
  function->param_types = param_types;
  function->result_types = result_types;
  function->result_count = results;
  function->program = function_plan(function);
  return HALO_OK;
}

void eval_function_deinit(eval_function *function) {
  function_release(function->program);
  halo_arena_deinit(&function->arena);
}

/* The general way: scalars as literals. */
static halo_status function_call_literals(eval_function *function, const eval_scalar *args,
                                          eval_scalar *results) {
  halo_literal **literals = halo_alloc(sizeof *literals * (size_t)function->arg_count);
  halo_literal *out = NULL;
  halo_status status = HALO_OK;
  for (int32_t i = 0; i < function->arg_count && status == HALO_OK; i++) {
    status = halo_literal_create(function->computation->params.data[i]->shape, &literals[i]);
    if (status != HALO_OK) break;
    eval_set(literals[i], 0,
             eval_convert(function->arg_types[i], function->param_types[i], args[i]));
  }
  if (status == HALO_OK) {
    status = eval_computation(function->computation, literals, function->arg_count,
                              function->depth + 1, &out);
  }
  int32_t at = 0;
  if (status == HALO_OK) function_load_literal(out, results, &at);
  halo_literal_release(out);
  for (int32_t i = 0; i < function->arg_count; i++) halo_literal_release(literals[i]);
  halo_free(literals);
  return status;
}

halo_status eval_function_call(eval_function *function, const eval_scalar *args,
                               eval_scalar *results) {
  eval_program *program = function->program;
  if (!program) return function_call_literals(function, args, results);
  eval_scalar *registers = program->registers.data;
  for (int32_t i = 0; i < function->arg_count; i++) {
    registers[i] = eval_convert(function->arg_types[i], function->param_types[i], args[i]);
  }
  for (int32_t s = 0; s < program->steps.count; s++) {
    const function_step *step = &program->steps.data[s];
    eval_scalar in[3];
    for (int32_t k = 0; k < step->arg_count; k++) in[k] = registers[step->args[k]];
    registers[step->out] = eval_apply(&step->op, in);
  }
  for (int32_t i = 0; i < program->results.count; i++) {
    results[i] = registers[program->results.data[i]];
  }
  return HALO_OK;
}

halo_opcode eval_function_binary(const eval_function *function) {
  const eval_program *program = function->program;
  if (!program || function->arg_count != 2 || program->steps.count != 1) return HALO_OPCODE_COUNT;
  const function_step *step = &program->steps.data[0];
  if (step->arg_count != 2 || program->results.count != 1 ||
      program->results.data[0] != step->out) {
    return HALO_OPCODE_COUNT;
  }
  bool in_order = step->args[0] == 0 && step->args[1] == 1;
  bool swapped = step->args[0] == 1 && step->args[1] == 0 &&
                 halo_opcode_commutes(step->op.opcode, step->op.in);
  return in_order || swapped ? step->op.opcode : HALO_OPCODE_COUNT;
}
