/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/cost.c: what the evaluator can do, and what it costs. */
#include "evaluator/eval.h"

/* How many instructions of called computations either question looks at before it gives up: calls
 * may fan out without bound. */
enum { COST_MAX_VISITS = 100000 };

static bool cost_types(const halo_instr *instr) {
  eval_op op;
  bool elementwise = eval_fn_of(instr->opcode) == eval_elementwise;
  if (elementwise) return eval_op_init(&op, instr);
  if (instr->opcode == HALO_OP_CONSTANT) return !instr->literal->elided;
  if (instr->opcode == HALO_OP_DOT || instr->opcode == HALO_OP_CONVOLUTION) {
    return instr->operand_count == 2;
  }
  return true;
}

static bool cost_visit(const halo_instr *instr, int depth, int64_t *visits) {
  if (++*visits > COST_MAX_VISITS || depth > EVAL_MAX_DEPTH) return false;
  if (!eval_fn_of(instr->opcode) || halo_shape_is_dynamic(instr->shape)) return false;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    if (halo_shape_is_dynamic(instr->operands[i]->shape)) return false;
  }
  if (!cost_types(instr)) return false;
  int32_t called = halo_instr_called_count(instr);
  for (int32_t c = 0; c < called; c++) {
    const halo_computation *computation = halo_instr_called(instr, c);
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      const halo_instr *inner = computation->instrs.data[i];
      if (inner->opcode == HALO_OP_PARAMETER) continue;
      if (!cost_visit(inner, depth + 1, visits)) return false;
    }
  }
  return true;
}

bool halo_evaluator_supports(const halo_instr *instr) {
  int64_t visits = 0;
  return cost_visit(instr, 0, &visits);
}

/* ---- Cost ---- */

static int64_t cost_add(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t cost_multiply(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static int64_t cost_elements(const halo_shape *shape) {
  if (!halo_shape_is_tuple(shape)) return halo_shape_element_count(shape);
  int64_t total = 0;
  for (int32_t i = 0; i < shape->count; i++) {
    total = cost_add(total, cost_elements(shape->elements[i]));
  }
  return total;
}

static int64_t cost_of(const halo_instr *instr, int depth, int64_t *visits);

/* One run of a computation. */
static int64_t cost_body(const halo_computation *computation, int depth, int64_t *visits) {
  int64_t total = 1;
  for (int32_t i = 0; computation && i < computation->instrs.count; i++) {
    total = cost_add(total, cost_of(computation->instrs.data[i], depth + 1, visits));
  }
  return total;
}

static int64_t cost_window(const halo_instr *instr) {
  const halo_attr *attr = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  int64_t size = 1;
  for (int32_t d = 0; attr && d < attr->window.count; d++) {
    size = cost_multiply(size, attr->window.data[d].size);
  }
  return size;
}

static int64_t cost_log2(int64_t n) {
  int64_t log = 1;
  while (n > 1) {
    n /= 2;
    log++;
  }
  return log;
}

/* An instruction whose cost is asked for. */
typedef struct cost_call {
  const halo_instr *instr;
  int64_t in, out; /* elements of all operands, and of the result */
  int depth;
  int64_t *visits;
} cost_call;

static int64_t cost_called(const cost_call *c, halo_attr_id body) {
  return cost_body(halo_instr_comp(c->instr, body), c->depth, c->visits);
}

static int64_t cost_dot(const cost_call *c) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(c->instr, HALO_ATTR_LHS_CONTRACTING_DIMS, &count);
  int64_t work = c->out;
  for (int32_t i = 0; i < count; i++) {
    work = cost_multiply(work, c->instr->operands[0]->shape->dims[dims[i]]);
  }
  return work;
}

static int64_t cost_convolution(const cost_call *c) {
  const halo_attr *labels = halo_instr_attr(c->instr, HALO_ATTR_DIM_LABELS);
  const halo_shape *kernel = c->instr->operands[1]->shape;
  int64_t outputs = labels ? kernel->dims[labels->conv->rhs_output] : 1;
  int64_t taps = halo_shape_element_count(kernel) / (outputs ? outputs : 1);
  return cost_multiply(c->out, taps);
}

static int64_t cost_each(const cost_call *c) {
  return cost_multiply(c->in, cost_called(c, HALO_ATTR_TO_APPLY));
}

static int64_t cost_reduce_window(const cost_call *c) {
  return cost_multiply(cost_multiply(c->out, cost_window(c->instr)),
                       cost_called(c, HALO_ATTR_TO_APPLY));
}

static int64_t cost_select_and_scatter(const cost_call *c) {
  return cost_multiply(cost_multiply(c->in, cost_window(c->instr)),
                       cost_called(c, HALO_ATTR_SELECT));
}

static int64_t cost_topk(const cost_call *c) { return cost_multiply(c->in, cost_log2(c->in)); }

static int64_t cost_sort(const cost_call *c) {
  return cost_multiply(cost_topk(c), cost_called(c, HALO_ATTR_TO_APPLY));
}

static int64_t cost_rows(const cost_call *c) {
  const halo_shape *shape = c->instr->operands[0]->shape;
  return cost_multiply(c->in, shape->rank ? shape->dims[shape->rank - 1] : 1);
}

static int64_t cost_random(const cost_call *c) { return cost_multiply(c->out, 10); }

static int64_t cost_endless(const cost_call *c) {
  (void)c;
  return INT64_MAX;
}

static int64_t cost_calls(const cost_call *c) {
  int64_t work = 0;
  for (int32_t i = 0; i < halo_instr_called_count(c->instr); i++) {
    work = cost_add(work, cost_body(halo_instr_called(c->instr, i), c->depth, c->visits));
  }
  return work;
}

/* What is done beyond looking at each element of operands and result once. */
typedef int64_t cost_rule(const cost_call *c);
static cost_rule *const cost_rules[HALO_OPCODE_COUNT] = {
#define cost_none NULL
#define RULES(evaluator, work, sizes) cost_##work
#define OP(id, name, lo, hi, traits, types, infer, exec, rules, ...) [HALO_OP_##id] = rules,
#include "hlo/opcodes.def"
#undef OP
#undef RULES
#undef cost_none
};

static int64_t cost_of(const halo_instr *instr, int depth, int64_t *visits) {
  if (++*visits > COST_MAX_VISITS || depth > EVAL_MAX_DEPTH) return INT64_MAX;
  int64_t out = cost_elements(instr->shape), in = 0;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    in = cost_add(in, cost_elements(instr->operands[i]->shape));
  }
  cost_call call = {.instr = instr, .in = in, .out = out, .depth = depth, .visits = visits};
  cost_rule *rule = cost_rules[instr->opcode];
  return cost_add(cost_add(in, out), rule ? rule(&call) : 0);
}

int64_t halo_evaluator_cost(const halo_instr *instr) {
  int64_t visits = 0;
  return cost_of(instr, 0, &visits);
}
