/* SPDX-License-Identifier: Apache-2.0 */
/* passes/fuse/build.c: makes fusions of what was decided. */
#include "base/memory.h"
#include "passes/fuse/fusion.h"
#include "passes/fuse/state.h"

typedef struct fusion_builder {
  fusion_state *s;
  halo_computation *body;
  HALO_VEC(int32_t) waiting; /* heap of nodes that are needed and not yet looked at: latest first */
  HALO_VEC(halo_instr *) inputs;
  HALO_VEC(halo_instr *) inner; /* users before what they use */
} fusion_builder;

/* ---- Gathering ---- */

static void fusion_heap_push(fusion_builder *b, int32_t node) {
  halo_vec_push(&b->waiting, node);
  int32_t *heap = b->waiting.data;
  for (int32_t i = b->waiting.count - 1, up; i > 0 && heap[up = (i - 1) / 2] < heap[i]; i = up) {
    int32_t swap = heap[up];
    heap[up] = heap[i];
    heap[i] = swap;
  }
}

static int32_t fusion_heap_pop(fusion_builder *b) {
  int32_t *heap = b->waiting.data, top = heap[0], count = --b->waiting.count;
  heap[0] = heap[count];
  for (int32_t i = 0, down; (down = 2 * i + 1) < count; i = down) {
    if (down + 1 < count && heap[down + 1] > heap[down]) down++;
    if (heap[i] >= heap[down]) break;
    int32_t swap = heap[down];
    heap[down] = heap[i];
    heap[i] = swap;
  }
  return top;
}

static bool fusion_is_inside(const fusion_node *node) {
  return !node->materialised || fusion_is_inline_constant(node->instr) ||
         node->instr->opcode == HALO_OP_TUPLE;
}

static void fusion_need(fusion_builder *b, halo_instr *instr) {
  if (instr->data) return;
  instr->data = instr; /* seen; replaced by the copy later */
  fusion_heap_push(b, instr->mark);
}

/* All that is computed inside the root, the latest instructions first, so that when the kernel is full
 * what is left is computed elsewhere and nothing in between is. A tuple is put together where it is used,
 * so it never becomes a buffer. */
static void fusion_gather(fusion_builder *b, halo_instr *root) {
  int32_t code = 1;
  halo_vec_push(&b->inner, root);
  root->data = root;
  for (int32_t o = 0; o < root->operand_count; o++) fusion_need(b, root->operands[o]);
  while (b->waiting.count > 0) {
    fusion_node *node = &b->s->nodes[fusion_heap_pop(b)];
    bool is_free = !fusion_is_code(node->instr) || node->instr->opcode == HALO_OP_TUPLE;
    bool full = code >= 2 * FUSION_MAX_INSTRS && !is_free;
    if (full && !node->materialised) node->materialised = true;
    if (!fusion_is_inside(node)) {
      halo_vec_push(&b->inputs, node->instr);
      continue;
    }
    halo_vec_push(&b->inner, node->instr);
    code += !is_free;
    for (int32_t o = 0; o < node->instr->operand_count; o++) {
      fusion_need(b, node->instr->operands[o]);
    }
  }
}

static void fusion_forget(fusion_builder *b) {
  for (int32_t i = 0; i < b->inputs.count; i++) b->inputs.data[i]->data = NULL;
  for (int32_t i = 0; i < b->inner.count; i++) b->inner.data[i]->data = NULL;
  b->inputs.count = b->inner.count = 0;
}

/* Materialises operands of the instructions nearest to the root, so that fewer inputs remain. False when
 * there is nothing to give away: the root itself has that many operands. */
static bool fusion_give_away(fusion_builder *b) {
  for (int32_t i = 0; i < b->inner.count; i++) {
    bool any = false;
    const halo_instr *instr = b->inner.data[i];
    for (int32_t o = 0; o < instr->operand_count; o++) {
      fusion_node *operand = fusion_node_of(b->s, instr->operands[o]);
      if (!fusion_is_inside(operand) || operand->instr->opcode == HALO_OP_TUPLE ||
          fusion_is_spread(operand->instr)) {
        continue;
      }
      operand->materialised = true;
      any = true;
    }
    if (any) return true;
  }
  return false;
}

/* ---- Building ---- */

halo_instr *halo_fusion_copy(halo_computation *body, const halo_instr *instr,
                             halo_instr *const *operands) {
  halo_instr_spec spec = {.opcode = instr->opcode,
                          .name = instr->name,
                          .shape = instr->shape,
                          .operands = operands,
                          .operand_count = instr->operand_count,
                          .attrs = instr->attrs,
                          .attr_count = instr->attr_count,
                          .literal = instr->literal,
                          .line = instr->line};
  return halo_instr_create_unchecked(body, &spec);
}

static halo_instr *fusion_copy(halo_computation *body, const halo_instr *instr) {
  halo_instr **operands = halo_alloc(sizeof(halo_instr *) * (size_t)instr->operand_count);
  for (int32_t o = 0; o < instr->operand_count; o++) operands[o] = instr->operands[o]->data;
  halo_instr *copy = halo_fusion_copy(body, instr, operands);
  halo_free(operands);
  return copy;
}

halo_instr *halo_fusion_parameter(halo_computation *body, const halo_instr *input, int32_t n) {
  halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER,
                          .name = halo_arena_printf(&body->module->arena, "param_%d", n),
                          .shape = input->shape,
                          .parameter_number = n,
                          .line = input->line};
  return halo_instr_create_unchecked(body, &spec);
}

static halo_fusion_kind fusion_kind_of(const fusion_node *root, const halo_computation *body) {
  for (int32_t i = 0; i < body->instrs.count; i++) {
    halo_opcode opcode = body->instrs.data[i]->opcode;
    bool structured = halo_opcode_exec(opcode) == HALO_EXEC_STRUCTURED;
    if (structured && halo_opcode_has_trait(opcode, HALO_TRAIT_FINISH)) return HALO_FUSION_OUTPUT;
  }
  bool reduces = halo_opcode_exec(root->instr->opcode) == HALO_EXEC_REDUCTION &&
                 halo_opcode_reading(root->instr->opcode, 0) == HALO_READ_ONCE;
  return reduces || root->has_hero ? HALO_FUSION_INPUT : HALO_FUSION_LOOP;
}

/* Instruction names are unique in their computation only; the entry's keep the plain form. */
static const char *fusion_body_name(const halo_instr *root) {
  halo_module *module = root->parent->module;
  const char *name = halo_arena_printf(&module->arena, "fused_%s", root->name);
  return root->parent == module->entry ? name : halo_module_fresh_name(module, name);
}

/* The root becomes the fusion itself: its users, its name and its control edges stay. */
static void fusion_become(const fusion_node *node, halo_computation *body, halo_instr **inputs,
                          int32_t count) {
  halo_instr *root = node->instr;
  halo_arena *arena = &body->module->arena;
  halo_computation **calls = halo_arena_new(arena, halo_computation *);
  *calls = body;
  halo_attr attrs[3] = {{.id = HALO_ATTR_FUSION_KIND, .i = fusion_kind_of(node, body)},
                        {.id = HALO_ATTR_CALLS, .comps = {calls, 1}}};
  int32_t attr_count = 2;
  const halo_attr *metadata = halo_instr_attr(root, HALO_ATTR_METADATA);
  if (metadata) attrs[attr_count++] = *metadata;
  root->opcode = HALO_OP_FUSION;
  root->operands = halo_arena_copy(arena, inputs, sizeof(halo_instr *) * (size_t)count);
  root->operand_count = count;
  root->attrs = halo_arena_copy(arena, attrs, sizeof *attrs * (size_t)attr_count);
  root->attr_count = attr_count;
  root->literal = NULL;
}

/* Parameters in the order in which the root's expression names them, so that fusions that do the same
 * look the same. */
static void fusion_number_inputs(fusion_builder *b, halo_instr *instr, int32_t *next) {
  if (instr->data != instr) return; /* was here already */
  fusion_node *node = fusion_node_of(b->s, instr);
  if (b->inner.data[0] != instr && !fusion_is_inside(node)) {
    b->inputs.data[*next] = instr;
    instr->data = halo_fusion_parameter(b->body, instr, (*next)++);
    return;
  }
  instr->data = b;
  for (int32_t o = 0; o < instr->operand_count; o++) {
    fusion_number_inputs(b, instr->operands[o], next);
  }
}

void halo_fusion_build(fusion_state *s, int32_t i) {
  halo_instr *root = s->nodes[i].instr;
  halo_module *module = s->computation->module;
  fusion_builder b = {.s = s};
  fusion_gather(&b, root);
  while (b.inputs.count > s->max_inputs && fusion_give_away(&b)) {
    fusion_forget(&b);
    fusion_gather(&b, root);
  }
  b.body = halo_computation_create(module, NULL);
  b.body->name = fusion_body_name(root);
  int32_t next = 0;
  fusion_number_inputs(&b, root, &next);
  for (int32_t k = b.inner.count - 1; k >= 0; k--) {
    b.inner.data[k]->data = fusion_copy(b.body, b.inner.data[k]);
  }
  b.body->root = root->data;
  fusion_become(&s->nodes[i], b.body, b.inputs.data, b.inputs.count);
  fusion_forget(&b);
  halo_vec_deinit(&b.waiting);
  halo_vec_deinit(&b.inputs);
  halo_vec_deinit(&b.inner);
}

halo_computation *halo_fusion_wrap(halo_instr *instr) {
  halo_module *module = instr->parent->module;
  halo_computation *body = halo_computation_create(module, NULL);
  body->name = fusion_body_name(instr);
  void **saved = halo_alloc(sizeof(void *) * (size_t)instr->operand_count);
  for (int32_t o = 0; o < instr->operand_count; o++) {
    saved[o] = instr->operands[o]->data;
    instr->operands[o]->data = halo_fusion_parameter(body, instr->operands[o], o);
  }
  body->root = fusion_copy(body, instr);
  for (int32_t o = instr->operand_count - 1; o >= 0; o--) instr->operands[o]->data = saved[o];
  halo_free(saved);
  return body;
}
