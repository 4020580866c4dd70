/* kernels/loop.c: one work item an element: the general implementation of everything. */
#include "codegen/ctype.h"
#include "kernels/families.h"
#include "kernels/kernels.h"

bool halo_loop_supports(const halo_lowering *l, const char **why) {
  (void)l;
  *why = "";
  return true;
}

/* Of an element: read, and written to memory that is read first. */
enum { LOOP_BYTES = 12 };

double halo_loop_cost(const halo_lowering *l) {
  const halo_shape *shape = halo_leaf_shape(halo_lowering_root(l)->shape, 0);
  return halo_lowering_seconds(l, LOOP_BYTES * (double)halo_shape_element_count(shape));
}

/* Elements that one work item of the streaming form computes: those of a cache line of 4-byte values. */
enum { LOOP_STREAM = 16 };

/* Whether results are large enough, and of a form, to be written past a CPU's caches. */
static bool loop_streams(const halo_lowering *l, int64_t items) {
  const halo_instr *root = halo_lowering_root(l);
  int32_t leaves = halo_shape_leaf_count(root->shape);
  if (!l->caps->is_cpu || items % LOOP_STREAM != 0) return false;
  int64_t bytes = 0;
  for (int32_t k = 0; k < leaves; k++) {
    const halo_shape *leaf = halo_leaf_shape(root->shape, k);
    if (halo_type_size(leaf->type) != 4) return false;
    bytes += halo_shape_byte_size(leaf);
  }
  return bytes >= HALO_STREAM_BYTES;
}

/* Whether everything is done at the position that is written, so that the code depends on no extent:
 * elementwise operations of one shape, and scalars. */
static bool loop_is_flat(const halo_computation *body) {
  const halo_shape *shape = halo_leaf_shape(body->root->shape, 0);
  uint64_t same = halo_computation_same_position(body);
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *instr = body->instrs.data[i];
    bool ends = instr == body->root && instr->opcode == HALO_OP_TUPLE;
    if (ends || halo_shape_is_scalar(instr->shape)) {
      bool plain = ends || halo_opcode_exec(instr->opcode) == HALO_EXEC_VALUE ||
                   halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW);
      if (plain) continue;
      return false;
    }
    if (!halo_shape_is_array(instr->shape) || !halo_shape_same_dims(instr->shape, shape)) {
      return false;
    }
    if (instr->opcode == HALO_OP_PARAMETER) {
      if (instr->parameter_number > 63 || !(same >> instr->parameter_number & 1)) return false;
    } else if (instr->opcode == HALO_OP_BROADCAST) {
      if (!halo_shape_is_scalar(instr->operands[0]->shape)) return false;
    } else if (!halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW)) {
      return false;
    }
  }
  return true;
}

/* The body of a work item that computes one element. */
static void loop_emit_item(halo_lowering *l, halo_emitter *e, int64_t items) {
  const halo_instr *root = halo_lowering_root(l);
  int32_t leaves = halo_shape_leaf_count(root->shape);
  const halo_shape *shape = halo_leaf_shape(root->shape, 0);
  const char *itype = halo_emitter_index_type(e);
  emit_frame *frame = halo_frame_kernel(e, l->computation);
  size_t local = halo_kernel_local_size(l->caps, items);
  halo_emit_line(e, "const %s i = (%s)get_global_id(0);", itype, itype);
  bool guard = items % (int64_t)local != 0;
  if (guard && loop_is_flat(l->computation)) {
    halo_type type = e->wide ? HALO_S64 : HALO_S32;
    const char *size = halo_emit_value_arg(e, HALO_VALUE_NUMBER, type, items);
    halo_emit_open(e, halo_arena_printf(l->arena, "if (i < %s)", size));
  } else if (guard) {
    halo_emit_open(e, halo_arena_printf(l->arena, "if (i < %lld)", (long long)items));
  }
  halo_value *values = halo_arena_array(l->arena, halo_value, leaves);
  const halo_integer *at = halo_emit_counter(e, "i", items);
  emit_index *index = halo_index_from_position(e, shape, at);
  for (int32_t k = 0; k < leaves; k++) values[k] = halo_emit_value(e, frame, root, k, index);
  for (int32_t k = 0; k < leaves; k++) {
    halo_type type = halo_leaf_shape(root->shape, k)->type;
    halo_emit_store(e, halo_emit_arg(e, HALO_ROLE_OUTPUT, k, type, NULL), at, values[k]);
  }
  if (guard) halo_emit_close(e);
}

/* The body of a work item that computes LOOP_STREAM neighbours and stores them as one line. */
static void loop_emit_stream(halo_lowering *l, halo_emitter *e, int64_t items) {
  const halo_instr *root = halo_lowering_root(l);
  int32_t leaves = halo_shape_leaf_count(root->shape);
  const halo_shape *shape = halo_leaf_shape(root->shape, 0);
  const char *itype = halo_emitter_index_type(e);
  emit_frame *frame = halo_frame_kernel(e, l->computation);
  halo_sections_add(&e->sections, "stream");
  halo_emit_line(e, "const %s first = (%s)get_global_id(0) * %d;", itype, itype, LOOP_STREAM);
  for (int32_t k = 0; k < leaves; k++) {
    halo_emit_line(e, "%s line%d[%d];", halo_ctype_storage(halo_leaf_shape(root->shape, k)->type),
                   k, LOOP_STREAM);
  }
  halo_emit_open(e, halo_arena_printf(l->arena, "for (int j = 0; j < %d; ++j)", LOOP_STREAM));
  halo_emit_line(e, "const %s i = first + j;", itype);
  emit_index *index = halo_index_from_position(e, shape, halo_emit_counter(e, "i", items));
  for (int32_t k = 0; k < leaves; k++) {
    halo_type type = halo_leaf_shape(root->shape, k)->type;
    halo_value value = halo_emit_value(e, frame, root, k, index);
    halo_emit_line(e, "line%d[j] = %s;", k, halo_ctype_store(l->arena, type, value.text));
  }
  halo_emit_close(e);
  for (int32_t k = 0; k < leaves; k++) {
    halo_type type = halo_leaf_shape(root->shape, k)->type;
    const char *out = halo_emit_arg(e, HALO_ROLE_OUTPUT, k, type, NULL);
    halo_emit_line(e, "h_stream(vload%d(0, line%d), (__global %s%d *)(%s + first));", LOOP_STREAM,
                   k, halo_ctype_storage(type), LOOP_STREAM, out);
  }
}

halo_status halo_loop_lower(halo_lowering *l) {
  const halo_instr *root = halo_lowering_root(l);
  int64_t items = halo_shape_element_count(halo_leaf_shape(root->shape, 0));
  if (items == 0) return HALO_OK;
  halo_emitter e;
  halo_emitter_init(&e, l->arena, l->computation);
  bool stream = loop_streams(l, items);
  if (stream) {
    loop_emit_stream(l, &e, items);
  } else {
    loop_emit_item(l, &e, items);
  }
  if (e.status == HALO_OK) {
    const char *label =
        halo_arena_printf(l->arena, "%s %s", l->name, stream ? "loop:stream" : "loop");
    /* A work item reads everything before it writes. */
    uint64_t in_place = halo_computation_same_position(l->computation);
    const char *name = halo_kernel_name(l, stream ? "stream" : "loop");
    halo_launch *launch = halo_kernel_add(l, &e, name, label, in_place);
    if (stream) {
      items /= LOOP_STREAM;
      launch->any_local = true;
      launch->local[0] = 1;
      while (launch->local[0] < 64 && items % (2 * (int64_t)launch->local[0]) == 0) {
        launch->local[0] *= 2;
      }
      launch->global[0] = (size_t)items;
    } else {
      halo_launch_items(l->caps, launch, items);
    }
  }
  halo_status status = e.status;
  halo_emitter_deinit(&e);
  return status;
}

static const halo_implementation loop_implementations[] = {
    {"turn", halo_turn_supports, halo_turn_cost, halo_turn_lower},
    {"generic", halo_loop_supports, halo_loop_cost, halo_loop_lower},
    {0}};
const halo_family halo_family_loop = {"loop", HALO_OPCODE_COUNT, loop_implementations};
