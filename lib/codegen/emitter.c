/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/emitter.c: the emitter's state: text, scopes, what is known in them, and arguments. */
#include "codegen/emitter_private.h"

#include "codegen/ctype.h"
#include "codegen/scalar.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A memo entry; `value` is reset to NULL when the scope that made it closes. */
typedef struct emit_box {
  const void *value;
} emit_box;

void halo_emitter_deinit(halo_emitter *e) {
  halo_vec_deinit(&e->args);
  halo_vec_deinit(&e->undo);
  halo_vec_deinit(&e->scopes);
  halo_map_deinit(&e->memo);
  halo_map_deinit(&e->indices);
  halo_integers_deinit(&e->integers);
  halo_strbuf_deinit(&e->body);
}

void halo_emitter_restart(halo_emitter *e) {
  halo_strbuf_deinit(&e->body);
  halo_map_deinit(&e->memo);
  halo_map_deinit(&e->indices);
  halo_integers_deinit(&e->integers);
  e->undo.count = e->scopes.count = 0;
  e->indent = 1;
}

const char *halo_emitter_index_type(const halo_emitter *e) { return e->wide ? "long" : "int"; }

void emit_fail(halo_emitter *e, halo_status status) {
  if (e->status == HALO_OK) e->status = status;
}

void halo_emit_line(halo_emitter *e, const char *format, ...) {
  for (int i = 0; i < e->indent; i++) halo_strbuf_append(&e->body, "  ");
  va_list args;
  va_start(args, format);
  halo_strbuf_vprintf(&e->body, format, args);
  va_end(args);
  halo_strbuf_char(&e->body, '\n');
}

static void emitter_open(halo_emitter *e, const char *header) {
  halo_emit_line(e, "%s{", header);
  e->indent++;
  halo_vec_push(&e->scopes, e->undo.count);
}

void halo_emit_open(halo_emitter *e) { emitter_open(e, ""); }

void halo_emit_loop(halo_emitter *e, const char *header) {
  e->has_loops = true;
  emitter_open(e, halo_arena_printf(e->arena, "%s ", header));
}

void halo_emit_branch(halo_emitter *e, const char *header) {
  emitter_open(e, halo_arena_printf(e->arena, "%s ", header));
}

void halo_emit_array(halo_emitter *e, const char *type, const char *name, int64_t count,
                     size_t size) {
  e->has_arrays = true;
  e->private_bytes += count * (int64_t)size;
  halo_emit_line(e, "%s %s[%lld];", type, name, (long long)count);
}

void halo_emit_close(halo_emitter *e) {
  int32_t mark = e->scopes.data[--e->scopes.count];
  while (e->undo.count > mark) {
    emit_undo *undo = &e->undo.data[--e->undo.count];
    *undo->slot = undo->old;
  }
  e->indent--;
  halo_emit_line(e, "}");
}

void emit_remember(halo_emitter *e, const void **slot, const void *value) {
  halo_vec_push(&e->undo, (emit_undo){slot, *slot});
  *slot = value;
}

const void *emit_memo_get(halo_emitter *e, const void *key, size_t size) {
  emit_box *box = halo_map_get(&e->memo, key, size);
  return box ? box->value : NULL;
}

void emit_memo_set(halo_emitter *e, const void *key, size_t size, const void *value) {
  emit_box *box = halo_map_get(&e->memo, key, size);
  if (!box) {
    box = halo_arena_new(e->arena, emit_box);
    halo_map_set(&e->memo, key, size, box);
  }
  emit_remember(e, &box->value, value);
}

const char *emit_name(halo_emitter *e, const char *prefix) {
  return halo_arena_printf(e->arena, "%s%d", prefix, e->next_name++);
}

/* What is rounded to 16 bits is so by way of memory's form, which is the one to be stored then: compilers do not see
 * that rounding once more changes nothing. NULL: not such a value. */
static const char *emit_half(halo_emitter *e, const halo_value *value) {
  if (!value->stored) return NULL;
  const char *name = emit_name(e, "h");
  halo_emit_line(e, "const %s %s = %s;", halo_ctype_storage(value->type), name, value->stored);
  return name;
}

halo_value emit_declare(halo_emitter *e, halo_value value) {
  if (value.is_atom) return value;
  const char *stored = emit_half(e, &value);
  if (stored && value.type == HALO_F16) return halo_value_half(e->arena, stored);
  if (stored) value.text = halo_ctype_load(e->arena, value.type, stored);
  const char *name = emit_name(e, "v");
  halo_emit_line(e, "const %s %s = %s;", halo_ctype_compute(value.type), name, value.text);
  halo_value declared = halo_value_name(value.type, name);
  declared.stored = stored;
  return declared;
}

halo_value halo_emit_convert(halo_emitter *e, halo_value value, halo_type to) {
  return emit_declare(e, halo_scalar_convert(e->arena, &e->sections, value, to));
}

const char *halo_emit_arg(halo_emitter *e, halo_role role, int32_t index, halo_type type,
                          const halo_literal *literal) {
  static const char *const letters[] = {"a", "k", "q", "s", "piece", "n"};
  for (int32_t i = 0; i < e->args.count; i++) {
    const halo_kernel_arg *arg = &e->args.data[i];
    if (arg->role == role && arg->index == index && arg->literal == literal) return arg->name;
  }
  int32_t number = role == HALO_ROLE_CONST || e->ordered_names ? e->args.count : index;
  halo_kernel_arg arg = {
      role, index, literal, type, halo_arena_printf(e->arena, "%s%d", letters[role], number), 0};
  halo_vec_push(&e->args, arg);
  halo_sections_add(&e->sections, halo_ctype_section(type));
  return arg.name;
}

const char *halo_emit_item_memory(halo_emitter *e, halo_type type, int64_t count) {
  int32_t index = 0;
  for (int32_t i = 0; i < e->args.count; i++) index += e->args.data[i].role == HALO_ROLE_ITEM;
  const char *name = halo_emit_arg(e, HALO_ROLE_ITEM, index, halo_ctype_carrier(type), NULL);
  e->args.data[e->args.count - 1].number = count * (int64_t)halo_ctype_size(type);
  /* The number of the work item in the launch, or in its part: which has an offset. */
  return halo_arena_printf(
      e->arena,
      "%s + (((get_global_id(2) - get_global_offset(2)) * get_global_size(1) + "
      "get_global_id(1) - get_global_offset(1)) * get_global_size(0) + "
      "get_global_id(0) - get_global_offset(0)) * %lld",
      name, (long long)count);
}

int64_t halo_private_room(int64_t count, size_t size) {
  int64_t least = size < 64 ? 64 / (int64_t)size : 1;
  return count > least ? count : least;
}

static const char *emit_add_value(halo_emitter *e, halo_argument_value what, halo_type type,
                                  int64_t number) {
  halo_kernel_arg arg = {.role = HALO_ROLE_VALUE,
                         .index = (int32_t)what,
                         .type = type,
                         .name = halo_arena_printf(e->arena, "n%d", e->args.count),
                         .number = number};
  halo_vec_push(&e->args, arg);
  return arg.name;
}

const char *halo_emit_value_arg(halo_emitter *e, halo_argument_value what, halo_type type,
                                int64_t number) {
  for (int32_t i = 0; i < e->args.count; i++) {
    const halo_kernel_arg *arg = &e->args.data[i];
    bool same = arg->role == HALO_ROLE_VALUE && arg->index == (int32_t)what;
    if (same && arg->type == type && arg->number == number) return arg->name;
  }
  return emit_add_value(e, what, type, number);
}

const char *halo_emit_number_arg(halo_emitter *e, int64_t number) {
  return emit_add_value(e, HALO_VALUE_NUMBER, e->wide ? HALO_S64 : HALO_S32, number);
}
