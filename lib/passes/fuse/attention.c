/* SPDX-License-Identifier: Apache-2.0 */
/* passes/fuse/attention.c: makes one fusion of softmax(f(Q K)) V, whose kernels never write the scores. What else is made
 * of the scores must not be wanted: they would have to be there then. */
#include "hlo/attention.h"

#include "base/memory.h"
#include "passes/fuse/fusion.h"
#include "passes/passes.h"
#include "rewrite/rewrite.h"
#include "rewrite/users.h"

enum {
  ATTENTION_INSTRS = 120,  /* of one kernel */
  ATTENTION_INPUTS = 16,   /* buffers that it reads */
  ATTENTION_ROWS = 16,     /* queries of the same keys at least: fewer leave lanes idle */
  ATTENTION_ELEMENTS = 256 /* of a query or a value at most: they are kept next to the processor */
};

/* Whether an instruction is computed in the kernel, and what may be of its operands. */
enum { ATTENTION_OUTSIDE, ATTENTION_MOVES, ATTENTION_SIDE, ATTENTION_INSIDE };

typedef struct attention_state {
  halo_computation *computation;
  halo_users users;
  unsigned char *wanted; /* by position, of the attention at hand */
  halo_instr **copies;   /* by position */
  HALO_VEC(halo_instr *) finals;
  HALO_VEC(halo_computation *) bodies;
  HALO_VEC(halo_instr *) inputs; /* of all bodies, one after the other, a NULL behind each */
} attention_state;

/* What a kernel rather computes again than reads: keys and values are read by each of its work items anew. */
static bool attention_is_light(const halo_instr *instr, int wanted) {
  if (!halo_shape_is_array(instr->shape) || instr->control_pred_count > 0) return false;
  switch (halo_opcode_exec(instr->opcode)) {
    case HALO_EXEC_VALUE:
      return instr->opcode == HALO_OP_CONSTANT && halo_shape_element_count(instr->shape) == 1;
    case HALO_EXEC_MOVEMENT:
      return instr->opcode == HALO_OP_BROADCAST || instr->opcode == HALO_OP_RESHAPE ||
             instr->opcode == HALO_OP_TRANSPOSE || instr->opcode == HALO_OP_SLICE ||
             instr->opcode == HALO_OP_IOTA;
    case HALO_EXEC_ELEMENTWISE: {
      enum { LIGHT = 4 };
      if (instr->opcode == HALO_OP_CONVERT) return true;
      return wanted == ATTENTION_SIDE && halo_op_info_of(instr->opcode)->cost <= LIGHT;
    }
    case HALO_EXEC_ALIAS:
    case HALO_EXEC_REDUCTION:
    case HALO_EXEC_STRUCTURED:
    case HALO_EXEC_EXPANDED:
    case HALO_EXEC_CONTROL:
    case HALO_EXEC_ASYNC:
    case HALO_EXEC_COLLECTIVE:
    case HALO_EXEC_HOST: return false;
  }
  return false;
}

static void attention_want(attention_state *s, const halo_instr *instr, int how) {
  unsigned char *wanted = &s->wanted[instr->mark];
  if (*wanted == ATTENTION_OUTSIDE || (how == ATTENTION_MOVES && *wanted != ATTENTION_INSIDE)) {
    *wanted = (unsigned char)how;
  }
  if (how == ATTENTION_INSIDE) *wanted = ATTENTION_INSIDE;
}

/* Marks what becomes part of the kernel that gives `final`; returns how many instructions. */
static int32_t attention_gather(attention_state *s, const halo_instr *final,
                                const halo_attention_desc *v, const halo_pointer_map *inner) {
  int32_t count = 0;
  for (int32_t i = 0; i < s->computation->instrs.count; i++) s->wanted[i] = ATTENTION_OUTSIDE;
  for (const halo_instr *at = final; at != v->product; at = at->operands[0]) {
    attention_want(s, at, ATTENTION_INSIDE);
  }
  attention_want(s, v->product, ATTENTION_INSIDE);
  attention_want(s, v->scores, ATTENTION_INSIDE);
  for (int32_t i = final->mark; i >= 0; i--) {
    halo_instr *instr = s->computation->instrs.data[i];
    int how = s->wanted[i];
    if (how == ATTENTION_OUTSIDE) continue;
    if (how != ATTENTION_INSIDE && !attention_is_light(instr, how)) {
      s->wanted[i] = ATTENTION_OUTSIDE;
      continue;
    }
    count++;
    for (int32_t o = 0; o < instr->operand_count; o++) {
      halo_instr *operand = instr->operands[o];
      bool read = (instr == v->scores && o == 1) || (instr == v->product && o != v->weights);
      bool inside = how == ATTENTION_INSIDE && instr != v->scores && !read &&
                    halo_pointer_map_get(inner, operand);
      attention_want(s, operand,
                     inside                           ? ATTENTION_INSIDE
                     : read || how == ATTENTION_MOVES ? ATTENTION_MOVES
                                                      : ATTENTION_SIDE);
    }
  }
  return count;
}

/* Whether nobody else wants what is made of the scores. */
static bool attention_is_private(const attention_state *s, const halo_instr *final) {
  for (int32_t i = 0; i < final->mark; i++) {
    if (s->wanted[i] != ATTENTION_INSIDE) continue;
    const halo_instr *instr = s->computation->instrs.data[i];
    if (instr->control_pred_count > 0 || instr == s->computation->root) return false;
    if (instr->opcode == HALO_OP_CONSTANT) continue;
    for (int32_t u = s->users.first[i]; u < s->users.first[i + 1]; u++) {
      if (s->wanted[s->users.list[u]] != ATTENTION_INSIDE) return false;
    }
  }
  return final->control_pred_count == 0;
}

static halo_instr *attention_copy(attention_state *s, halo_computation *body,
                                  const halo_instr *instr) {
  halo_instr **operands = halo_alloc(sizeof *operands * ((size_t)instr->operand_count + 1));
  for (int32_t o = 0; o < instr->operand_count; o++) {
    operands[o] = s->copies[instr->operands[o]->mark];
  }
  halo_instr *copy = halo_fusion_copy(body, instr, operands);
  halo_free(operands);
  return copy;
}

/* The body, with parameters for all that is read; *inputs: how many. */
static halo_computation *attention_body(attention_state *s, halo_instr *final, int32_t *inputs) {
  halo_module *module = s->computation->module;
  halo_computation *body = halo_computation_create(module, NULL);
  body->name =
      halo_module_fresh_name(module, halo_arena_printf(&module->arena, "fused_%s", final->name));
  *inputs = 0;
  for (int32_t i = 0; i <= final->mark; i++) s->copies[i] = NULL;
  for (int pass = 0; pass < 2; pass++) { /* parameters come first */
    for (int32_t i = 0; i <= final->mark; i++) {
      halo_instr *instr = s->computation->instrs.data[i];
      if (s->wanted[i] == ATTENTION_OUTSIDE) continue;
      for (int32_t o = 0; pass == 0 && o < instr->operand_count; o++) {
        halo_instr *operand = instr->operands[o];
        if (s->wanted[operand->mark] != ATTENTION_OUTSIDE || s->copies[operand->mark]) continue;
        s->copies[operand->mark] = halo_fusion_parameter(body, operand, (*inputs)++);
        halo_vec_push(&s->inputs, operand);
      }
      if (pass == 1) s->copies[i] = attention_copy(s, body, instr);
    }
  }
  halo_vec_push(&s->inputs, NULL);
  body->root = s->copies[final->mark];
  return body;
}

static bool attention_pays(const halo_attention_desc *v) {
  return v->group >= ATTENTION_ROWS && v->rows.n >= ATTENTION_ROWS &&
         v->depth <= ATTENTION_ELEMENTS && v->width <= ATTENTION_ELEMENTS;
}

/* The last of the instructions that only move what a product gives. */
static halo_instr *attention_final(const attention_state *s, halo_instr *product) {
  halo_instr *final = product;
  while (s->users.first[final->mark + 1] - s->users.first[final->mark] == 1 &&
         final != s->computation->root) {
    halo_instr *user = s->computation->instrs.data[s->users.list[s->users.first[final->mark]]];
    if (!halo_attention_moves(user) || !halo_shape_has_default_layout(user->shape)) break;
    final = user;
  }
  return final;
}

static void attention_try(attention_state *s, halo_instr *product) {
  halo_attention_desc v;
  halo_pointer_map inner = {0};
  const char *why;
  if (halo_attention_match(product, &v, &inner, &why) && attention_pays(&v)) {
    halo_instr *final = attention_final(s, product);
    int32_t count = attention_gather(s, final, &v, &inner), inputs, begin = s->inputs.count;
    if (count <= ATTENTION_INSTRS && attention_is_private(s, final)) {
      halo_computation *body = attention_body(s, final, &inputs);
      int32_t most = s->computation->module->target.max_buffers - 1;
      if (inputs <= (most < ATTENTION_INPUTS ? most : ATTENTION_INPUTS) &&
          halo_attention_describe(body, &v, &why)) {
        halo_vec_push(&s->finals, final);
        halo_vec_push(&s->bodies, body);
      } else {
        s->inputs.count = begin;
      }
    }
  }
  halo_pointer_map_deinit(&inner);
}

static void attention_build(halo_rewriter *r, halo_instr *final, halo_computation *body,
                            halo_instr **inputs, int32_t count) {
  for (int32_t i = 0; i < count; i++) inputs[i] = halo_rewrite_resolve(inputs[i]);
  halo_computation **calls = halo_arena_new(&body->module->arena, halo_computation *);
  *calls = body;
  halo_attr attrs[2] = {{.id = HALO_ATTR_FUSION_KIND, .i = HALO_FUSION_CUSTOM},
                        {.id = HALO_ATTR_CALLS, .comps = {calls, 1}}};
  halo_instr *fusion =
      halo_rewrite_make(r, final, HALO_OP_FUSION, final->shape, inputs, count, attrs, 2);
  fusion->name = halo_arena_printf(&body->module->arena, "attention.%s", final->name);
  halo_rewrite_replace(r, final, fusion);
}

static halo_status attention_run(halo_computation *computation, bool *changed) {
  attention_state s = {.computation = computation};
  size_t n = (size_t)computation->instrs.count;
  for (size_t i = 0; i < n; i++) computation->instrs.data[i]->mark = (int32_t)i;
  halo_users_collect(&s.users, computation, true);
  s.wanted = halo_alloc(n + 1);
  s.copies = halo_alloc(sizeof *s.copies * (n + 1));
  for (size_t i = 0; i < n; i++) {
    halo_instr *instr = computation->instrs.data[i];
    if (instr->opcode == HALO_OP_DOT) attention_try(&s, instr);
  }
  halo_status status = HALO_OK;
  if (s.finals.count > 0) {
    halo_rewriter r;
    halo_rewrite_begin(&r, computation);
    for (int32_t i = 0, input = 0; i < s.finals.count; i++, input++) {
      int32_t first = input;
      while (s.inputs.data[input]) input++;
      attention_build(&r, s.finals.data[i], s.bodies.data[i], &s.inputs.data[first], input - first);
    }
    status = halo_rewrite_end(&r, changed);
    if (status == HALO_OK) halo_computation_remove_dead(computation);
  }
  halo_vec_deinit(&s.finals);
  halo_vec_deinit(&s.bodies);
  halo_vec_deinit(&s.inputs);
  halo_free(s.copies);
  halo_free(s.wanted);
  halo_users_deinit(&s.users);
  return status;
}

halo_status halo_pass_attention(halo_module *module, bool *changed) {
  int32_t count = module->computations.count;
  HALO_TRY(halo_rewrite_computations(module, attention_run, changed));
  if (module->computations.count > count) halo_module_remove_dead(module);
  return HALO_OK;
}
