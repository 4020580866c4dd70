/* kernels/loop.c: one work item an element: the general implementation of everything. */
#include "codegen/ctype.h"
#include "kernels/families.h"
#include "kernels/kernels.h"

bool halo_loop_supports(const halo_lowering *l, const char **why) {
  (void)l;
  *why = "";
  return true;
}

double halo_loop_cost(const halo_lowering *l) {
  return (double)halo_shape_element_count(halo_leaf_shape(halo_lowering_root(l)->shape, 0));
}

/* Inputs that an output may overwrite: read only by the work item that writes the same position (and
 * reads everything before it writes). That holds when every path from the input to a result is of
 * elementwise ops, all of one shape and layout. */
static uint64_t loop_in_place(const halo_lowering *l) {
  const halo_computation *c = l->computation;
  const halo_instr *root = c->root;
  enum { SAME = 1, OTHER = 2 };
  for (int32_t i = 0; i < c->instrs.count; i++) c->instrs.data[i]->mark = 0;
  for (int32_t i = 0; i < c->params.count; i++) {
    if (halo_shape_is_tuple(c->params.data[i]->shape)) return 0; /* numbers are not leaf numbers */
  }
  c->root->mark = SAME;
  uint64_t safe = 0;
  const halo_shape *shape = halo_leaf_shape(root->shape, 0);
  for (int32_t i = c->instrs.count - 1; i >= 0; i--) {
    const halo_instr *instr = c->instrs.data[i];
    bool elementwise = halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW);
    for (int32_t o = 0; o < instr->operand_count; o++) {
      halo_instr *operand = instr->operands[o];
      bool keeps = instr == root && instr->opcode == HALO_OP_TUPLE;
      keeps |= elementwise && halo_shape_same_dims(operand->shape, instr->shape);
      operand->mark |= keeps ? instr->mark : OTHER;
    }
    if (instr->opcode != HALO_OP_PARAMETER || instr->mark != SAME) continue;
    bool equal = halo_shape_same_dims(instr->shape, shape);
    for (int d = 0; equal && d < shape->rank; d++) {
      equal = instr->shape->minor_to_major[d] == shape->minor_to_major[d];
    }
    if (equal && instr->parameter_number < 64) safe |= 1ull << instr->parameter_number;
  }
  return safe;
}

halo_status halo_loop_lower(halo_lowering *l) {
  const halo_instr *root = halo_lowering_root(l);
  int32_t leaves = halo_shape_leaf_count(root->shape);
  const halo_shape *shape = halo_leaf_shape(root->shape, 0);
  int64_t items = halo_shape_element_count(shape);
  if (items == 0) return HALO_OK;
  halo_emitter e;
  halo_emitter_init(&e, l->arena, l->computation, l->caps->has_f64);
  emit_frame *frame = halo_frame_kernel(&e, l->computation);
  const char *itype = halo_emitter_index_type(&e);
  size_t local = halo_kernel_local_size(l->caps, items);
  halo_emit_line(&e, "const %s i = (%s)get_global_id(0);", itype, itype);
  bool guard = items % (int64_t)local != 0;
  if (guard) {
    halo_emit_line(&e, "if (i < %lld)", (long long)items);
    halo_emit_open(&e, NULL);
  }
  const char **values = halo_arena_array(l->arena, const char *, leaves);
  emit_index *index = halo_index_from_position(&e, shape, items == 1 ? "0" : "i");
  for (int32_t k = 0; k < leaves; k++) values[k] = halo_emit_value(&e, frame, root, k, index);
  for (int32_t k = 0; k < leaves; k++) {
    halo_type type = halo_leaf_shape(root->shape, k)->type;
    const char *out = halo_emit_arg(&e, HALO_ROLE_OUTPUT, k, type, NULL);
    halo_emit_store(&e, out, type, items == 1 ? "0" : "i", values[k]);
  }
  if (guard) halo_emit_close(&e);
  if (e.status == HALO_OK) {
    const char *label = halo_arena_printf(l->arena, "%s loop", l->name);
    halo_launch *launch = halo_kernel_add(l, &e, halo_kernel_name(l, l->name), label);
    halo_launch_items(l->caps, launch, items);
    launch->in_place = loop_in_place(l);
  }
  halo_status status = e.status;
  halo_emitter_deinit(&e);
  return status;
}

/* A reduce or dot computed element by element costs its whole inner loop for each. */
double halo_loop_inner_cost(const halo_lowering *l) {
  const halo_instr *root = halo_lowering_root(l);
  double inner = (double)halo_shape_element_count(root->operands[0]->shape);
  return 4 * (halo_loop_cost(l) + inner);
}

static const halo_implementation loop_implementations[] = {
    {"tile", halo_tile_supports, halo_tile_cost, halo_tile_lower},
    {"generic", halo_loop_supports, halo_loop_cost, halo_loop_lower},
    {0}};
const halo_family halo_family_loop = {"loop", loop_implementations};
