/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/private.c: variables, loops and arrays in a work item's private memory. */
#include "codegen/ctype.h"
#include "codegen/emitter_private.h"

#include <string.h>

/* ---- Variables and loops ---- */

const halo_integer *emit_loop(halo_emitter *e, int64_t size, int *opened) {
  if (size == 1) return halo_integer_constant(&e->integers, 0);
  const char *v = emit_name(e, "r");
  halo_emit_loop(e, halo_arena_printf(e->arena, "for (%s %s = 0; %s < %lld; ++%s)",
                                      halo_emitter_index_type(e), v, v, (long long)size, v));
  ++*opened;
  return halo_emit_counter(e, v, size);
}

emit_index *emit_loops(halo_emitter *e, const halo_shape *shape, int *opened) {
  const halo_integer *at[HALO_MAX_RANK];
  for (int d = 0; d < shape->rank; d++) at[d] = emit_loop(e, shape->dims[d], opened);
  return halo_index_of(e, shape->rank, shape->dims, at);
}

halo_value emit_variable(halo_emitter *e, halo_type type, const char *start) {
  const char *name = emit_name(e, "w");
  halo_emit_line(e, "%s %s = %s;", halo_ctype_compute(type), name, start);
  return halo_value_name(type, name);
}

halo_value emit_array(halo_emitter *e, const halo_shape *shape) {
  int64_t count = halo_shape_element_count(shape);
  halo_value array = halo_value_name(shape->type, emit_name(e, "z"));
  array.array = halo_shape_new(e->arena, shape->type, shape->rank, shape->dims);
  int64_t room = halo_private_room(count, halo_type_size(shape->type));
  size_t size = halo_ctype_size(shape->type);
  if (e->private_most && e->private_bytes + room * (int64_t)size > e->private_most) {
    halo_emit_line(e, "__global %s *const %s = %s;",
                   halo_ctype_storage(halo_ctype_carrier(shape->type)), array.text,
                   halo_emit_item_memory(e, shape->type, count));
    e->has_arrays = true;
  } else {
    halo_emit_array(e, halo_ctype_compute(shape->type), array.text, room, size);
  }
  halo_sections_add(&e->sections, halo_ctype_section(shape->type));
  return array;
}

halo_value emit_leaf_variable(halo_emitter *e, const halo_shape *shape) {
  if (shape->rank > 0) return emit_array(e, shape);
  halo_value variable = halo_value_name(shape->type, emit_name(e, "w"));
  halo_emit_line(e, "%s %s;", halo_ctype_compute(shape->type), variable.text);
  return variable;
}

/* ---- Elements ---- */

static const char *private_element(halo_emitter *e, halo_value array, emit_index *index) {
  const halo_integer *position = halo_index_position(e, index, array.array);
  return halo_arena_printf(e->arena, "%s[%s]", array.text, halo_emit_integer(e, position));
}

halo_value emit_array_load(halo_emitter *e, halo_value array, emit_index *index) {
  return emit_declare(e, halo_value_expression(array.type, private_element(e, array, index)));
}

void emit_array_store(halo_emitter *e, halo_value array, emit_index *index, halo_value value) {
  if (value.type != array.type) value = halo_emit_convert(e, value, array.type);
  halo_emit_line(e, "%s = %s;", private_element(e, array, index), value.text);
}

static void private_copy(halo_emitter *e, halo_value to, halo_value from) {
  int opened = 0;
  const char *at = emit_integer_atom(e, emit_loop(e, halo_shape_element_count(to.array), &opened));
  halo_emit_line(e, "%s[%s] = %s[%s];", to.text, at, from.text, at);
  while (opened--) halo_emit_close(e);
}

/* ---- Assignments ---- */

/* What is to be assigned, where no assignment before can change it. */
static halo_value private_settle(halo_emitter *e, const halo_value *variables, int32_t count,
                                 int32_t i, halo_value value) {
  if (!value.array) {
    const char *name = emit_name(e, "v");
    halo_emit_line(e, "const %s %s = %s;", halo_ctype_compute(variables[i].type), name, value.text);
    return halo_value_name(value.type, name);
  }
  for (int32_t k = 0; k < count; k++) {
    if (k == i || strcmp(variables[k].text, value.text) != 0) continue;
    halo_value fresh = emit_array(e, value.array);
    private_copy(e, fresh, value);
    return fresh;
  }
  return value;
}

void emit_assign(halo_emitter *e, const halo_value *variables, const halo_value *values,
                 int32_t count) {
  halo_value *fresh = halo_arena_array(e->arena, halo_value, count);
  for (int32_t i = 0; i < count; i++) {
    fresh[i] = count > 1 ? private_settle(e, variables, count, i, values[i]) : values[i];
  }
  for (int32_t i = 0; i < count; i++) {
    if (!variables[i].array) {
      halo_emit_line(e, "%s = %s;", variables[i].text, fresh[i].text);
    } else if (strcmp(variables[i].text, fresh[i].text) != 0) {
      private_copy(e, variables[i], fresh[i]);
    }
  }
}

/* ---- Constants ---- */

bool emit_constant_fits(const halo_literal *literal) {
  return halo_shape_element_count(literal->shape) <= EMIT_MAX_PRIVATE;
}

halo_value emit_constant_array(halo_emitter *e, const halo_literal *literal) {
  const halo_value *known = emit_memo_get(e, &literal, sizeof literal);
  if (known) return *known;
  halo_value array = halo_value_name(literal->shape->type, emit_name(e, "z"));
  array.array = literal->shape;
  int64_t count = halo_shape_element_count(literal->shape);
  e->private_bytes += count * (int64_t)halo_ctype_size(array.type);
  halo_strbuf text = {0};
  for (int64_t i = 0; i < count; i++) {
    halo_strbuf_printf(&text, "%s%s", i ? ", " : "", halo_ctype_constant(e->arena, literal, i));
  }
  halo_emit_line(e, "const %s %s[%lld] = {%s};", halo_ctype_compute(array.type), array.text,
                 (long long)halo_private_room(count, halo_type_size(array.type)),
                 halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  emit_memo_set(e, &literal, sizeof literal, halo_arena_copy(e->arena, &array, sizeof array));
  return array;
}
