/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/scatter/update.c: dynamic-update-slice: only the window is computed; the rest of the result is what
 * the operand's memory held, which the plan arranges without a copy where the operand dies. */
#include "codegen/ctype.h"
#include "kernels/families.h"

static bool update_window_supports(const halo_lowering *l, const char **why) {
  const halo_instr *root = halo_lowering_root(l);
  const halo_shape *x = root->operands[0]->shape;
  *why = "the operand is computed in the same kernel";
  if (root->operands[0]->opcode != HALO_OP_PARAMETER) return false;
  *why = "operand and result have different layouts";
  for (int i = 0; i < x->rank; i++) {
    if (x->minor_to_major[i] != root->shape->minor_to_major[i]) return false;
  }
  return true;
}

static double update_window_cost(const halo_lowering *l) {
  const halo_instr *root = halo_lowering_root(l);
  double elements = (double)halo_shape_element_count(root->operands[1]->shape);
  return halo_lowering_seconds(l, halo_lowering_prices(l)->update_window * elements, elements) +
         halo_lowering_body(l, elements);
}

/* Computes the element of the window at a place and stores it. */
static void update_emit_element(const halo_lowering *l, halo_emitter *e,
                                const halo_integer *place) {
  const halo_instr *root = halo_lowering_root(l), *update = root->operands[1];
  const halo_shape *shape = update->shape;
  const halo_shape *row_major = halo_shape_new(l->arena, shape->type, shape->rank, shape->dims);
  emit_frame *frame = halo_frame_kernel(e, l->computation);
  emit_index *index = halo_index_from_position(e, row_major, place);
  halo_value value = halo_emit_value(e, frame, update, 0, index);
  const halo_integer *at[HALO_MAX_RANK];
  for (int d = 0; d < shape->rank; d++) {
    const halo_integer *start =
        halo_emit_start(e, frame, root, 2, d, root->shape->dims[d] - shape->dims[d]);
    at[d] = halo_integer_add(&e->integers, start, halo_index_at(index, d));
  }
  const char *out = halo_emit_arg(e, HALO_ROLE_OUTPUT, 0, root->shape->type, NULL);
  const halo_integer *position = halo_index_position(
      e, halo_index_of(e, root->shape->rank, root->shape->dims, at), root->shape);
  halo_emit_store(e, out, position, value);
}

static void update_emit_item(halo_lowering *l, halo_emitter *e, int64_t items, int64_t row) {
  halo_lowering_emitter(l, e);
  const halo_integer *place = halo_loop_start(e, items, row);
  halo_emit_branch(e, halo_arena_printf(l->arena, "if (%s < %lld)", row ? "c" : "i",
                                        (long long)(row ? row : items)));
  update_emit_element(l, e, place);
  halo_emit_close(e);
}

static halo_status update_window_lower(halo_lowering *l) {
  const halo_instr *root = halo_lowering_root(l);
  const halo_shape *shape = root->operands[1]->shape;
  int64_t items = halo_shape_element_count(shape);
  const halo_shape *row_major = halo_shape_new(l->arena, shape->type, shape->rank, shape->dims);
  int64_t row = halo_loop_row(l, row_major);
  halo_emitter e;
  halo_loop_spans spans;
  bool cut = halo_loop_find_spans(l, row_major, update_emit_element, &spans);
  if (cut) {
    halo_loop_begin_spans(&e, l);
    halo_loop_emit_spans(l, &e, &spans);
  } else {
    update_emit_item(l, &e, items, row);
  }
  halo_status status = e.status;
  if (status == HALO_OK) {
    const char *label = halo_arena_printf(l->arena, "%s update:window", l->name);
    int32_t input = halo_lowering_input(l, root->operands[0]);
    bool same = input < 64 && halo_computation_updates_in_place(l->computation);
    uint64_t in_place = same ? 1ull << input : 0;
    halo_launch *launch = halo_kernel_add(l, &e, halo_kernel_name(l, "window"), label, in_place);
    if (cut) {
      halo_loop_launch_spans(l, launch, &spans);
    } else {
      halo_loop_launch(l, launch, items > 0 ? items : 1, row);
    }
    launch->updates = halo_arena_copy(l->arena, &input, sizeof input);
    launch->update_count = 1;
  }
  halo_emitter_deinit(&e);
  return status;
}

static const halo_implementation update_implementations[] = {
    {"window", update_window_supports, update_window_cost, update_window_lower},
    {"loop", halo_loop_supports, halo_loop_cost, halo_loop_lower},
    {0}};
const halo_family halo_family_update = {"update", HALO_OP_DYNAMIC_UPDATE_SLICE,
                                        update_implementations};
