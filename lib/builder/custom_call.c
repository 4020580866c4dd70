/* SPDX-License-Identifier: Apache-2.0 */
/* builder/custom_call.c: calls of functions by name. */
#include "base/strbuf.h"
#include "builder/build.h"

/* backend_config as HLO text has it: a dictionary as it is, anything else in quotes. */
static const char *custom_config(build_call *call, const char *config) {
  if (config[0] == '{') return halo_arena_strdup(halo_build_arena(call), config);
  halo_strbuf text = {0};
  halo_strbuf_char(&text, '"');
  for (const char *p = config; *p; p++) {
    if (*p == '"' || *p == '\\') halo_strbuf_char(&text, '\\');
    if (*p == '\n') {
      halo_strbuf_append(&text, "\\n");
    } else {
      halo_strbuf_char(&text, *p);
    }
  }
  halo_strbuf_char(&text, '"');
  const char *copy = halo_arena_strdup(halo_build_arena(call), halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return copy;
}

typedef struct custom_extra {
  const halo_shape *const *operand_shapes;
  halo_computation *computation;
} custom_extra;

static halo_op custom_build(build_call *call, const char *target, int count,
                            const halo_op *operands, const halo_shape *shape,
                            const halo_custom_options *options, const custom_extra *extra) {
  static const halo_custom_options none = {0};
  if (!options) options = &none;
  if (call->ok && (!target || !*target)) halo_build_fail(call, "the target has no name");
  if (call->ok && !shape) halo_build_fail(call, "the shape is NULL");
  if (call->ok && (count < 0 || (count > 0 && !operands))) {
    halo_build_fail(call, "the list of operands is NULL or negative");
  }
  halo_instr **instrs = call->ok ? halo_build_operands(call, count, operands) : NULL;
  if (!call->ok) return halo_build_result(call, NULL);
  halo_arena *arena = halo_build_arena(call);
  halo_attr attrs[6];
  int n = 0;
  attrs[n++] =
      (halo_attr){.id = HALO_ATTR_CUSTOM_CALL_TARGET, .text = halo_arena_strdup(arena, target)};
  if (extra->operand_shapes) {
    const halo_shape **shapes = halo_arena_array(arena, const halo_shape *, count + 1);
    for (int i = 0; i < count; i++) {
      shapes[i] = halo_shape_clone(arena, extra->operand_shapes[i]);
      if (halo_shape_same_dims(shapes[i], instrs[i]->shape)) continue;
      halo_build_fail(call, "operand_shapes: entry %d does not have its operand's dimensions", i);
      return halo_build_result(call, NULL);
    }
    attrs[n++] = (halo_attr){.id = HALO_ATTR_OPERAND_LAYOUT_CONSTRAINTS, .shapes = {shapes, count}};
  }
  if (options->has_side_effect) {
    attrs[n++] = halo_build_int(HALO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, 1);
  }
  if (options->typed) attrs[n++] = halo_build_int(HALO_ATTR_API_VERSION, HALO_API_TYPED_FFI);
  if (extra->computation) {
    attrs[n++] = halo_build_comps(call, HALO_ATTR_TO_APPLY, 1, &extra->computation);
  }
  if (options->config && *options->config) {
    attrs[n++] =
        (halo_attr){.id = HALO_ATTR_BACKEND_CONFIG, .text = custom_config(call, options->config)};
  }
  halo_instr_spec spec = {.opcode = HALO_OP_CUSTOM_CALL,
                          .shape = halo_shape_clone(arena, shape),
                          .operands = instrs,
                          .operand_count = count,
                          .attrs = attrs,
                          .attr_count = n};
  return halo_build_result(call, halo_build_add(call, &spec));
}

halo_op halo_custom_call(halo_builder *builder, const char *target, int count,
                         const halo_op *operands, const halo_shape *shape,
                         const halo_custom_options *options) {
  build_call call = halo_build_begin(builder, "halo_custom_call");
  return custom_build(&call, target, count, operands, shape, options, &(custom_extra){0});
}

halo_op halo_custom_call_with_layout(halo_builder *builder, const char *target, int count,
                                     const halo_op *operands, const halo_shape *shape,
                                     const halo_shape *const *operand_shapes,
                                     const halo_custom_options *options) {
  build_call call = halo_build_begin(builder, "halo_custom_call_with_layout");
  if (call.ok && count > 0 && !operand_shapes) halo_build_fail(&call, "operand_shapes is NULL");
  custom_extra extra = {.operand_shapes = operand_shapes};
  return custom_build(&call, target, count, operands, shape, options, &extra);
}

halo_op halo_custom_call_with_computation(halo_builder *builder, const char *target, int count,
                                          const halo_op *operands, halo_comp computation,
                                          const halo_shape *shape,
                                          const halo_custom_options *options) {
  build_call call = halo_build_begin(builder, "halo_custom_call_with_computation");
  custom_extra extra = {.computation = call.ok ? halo_build_comp(&call, computation) : NULL};
  return custom_build(&call, target, count, operands, shape, options, &extra);
}
