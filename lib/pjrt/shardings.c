/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/shardings.c: the extension that tells how arguments and results lie on several devices. */
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

static PJRT_Error *shardings_of_parameters(PJRT_Shardings_Args *args) {
  const pjrt_slots *slots = &args->executable->core->arguments;
  args->count = slots->count;
  args->shardings = slots->shardings;
  args->sharding_sizes = slots->sharding_sizes;
  return NULL;
}

static PJRT_Error *shardings_of_results(PJRT_Shardings_Args *args) {
  /* A program without results gives an empty tuple, of which jaxlib wants to know one. */
  static const char *const replicated[] = {""};
  static const size_t sizes[] = {0};
  const pjrt_slots *slots = &args->executable->core->results;
  if (slots->count == 0) {
    args->count = 1;
    args->shardings = replicated;
    args->sharding_sizes = sizes;
    return NULL;
  }
  args->count = slots->count;
  args->shardings = slots->shardings;
  args->sharding_sizes = slots->sharding_sizes;
  return NULL;
}

PJRT_Shardings_Extension pjrt_shardings_extension = {
    .base = {.struct_size = sizeof(PJRT_Shardings_Extension),
             .type = PJRT_Extension_Type_Shardings,
             .next = &pjrt_ffi_extension.base},
    .parameter_shardings = shardings_of_parameters,
    .output_shardings = shardings_of_results};

/* ---- OpSharding messages ---- */

enum {
  SHARDING_TYPE = 1,
  SHARDING_TILES = 3,
  SHARDING_DEVICES = 4,
  SHARDING_ELEMENTS = 5,
  SHARDING_REPLICATE_LAST = 6,
  SHARDING_LAST_TYPES = 8,
  SHARDING_RESHAPE = 9,
  SHARDING_TRANSPOSE = 10
};

static uint64_t sharding_type(halo_sharding_kind kind) {
  switch (kind) {
    case HALO_SHARDING_REPLICATED: return 0;
    case HALO_SHARDING_MAXIMAL: return 1;
    case HALO_SHARDING_TUPLE: return 2;
    case HALO_SHARDING_TILED: return 3;
    case HALO_SHARDING_MANUAL: return 4;
    case HALO_SHARDING_UNKNOWN: return 5;
    case HALO_SHARDING_UNREDUCED: return 6;
    case HALO_SHARDING_NAMED: return 5;
  }
  return 5;
}

static void sharding_write_list(pjrt_writer *out, uint32_t field, const halo_int_list *list) {
  pjrt_write_packed(out, field, list->data, (size_t)list->count);
}

void pjrt_sharding_write(pjrt_writer *out, const halo_sharding *sharding) {
  uint64_t type = sharding_type(sharding->kind);
  if (type) pjrt_write_number(out, SHARDING_TYPE, type);
  if (sharding->kind == HALO_SHARDING_MAXIMAL) {
    pjrt_write_packed(out, SHARDING_TILES, (const int64_t[]){1}, 1);
    pjrt_write_packed(out, SHARDING_DEVICES, &sharding->device, 1);
  }
  for (int32_t i = 0; i < sharding->element_count; i++) {
    pjrt_writer inner = {0};
    pjrt_sharding_write(&inner, &sharding->elements[i]);
    pjrt_write_bytes(out, SHARDING_ELEMENTS, inner.data, inner.size);
    pjrt_writer_deinit(&inner);
  }
  if (sharding->kind != HALO_SHARDING_TILED) return;
  sharding_write_list(out, SHARDING_TILES, &sharding->tiles);
  sharding_write_list(out, SHARDING_DEVICES, &sharding->devices);
  if (sharding->replicate_last) pjrt_write_number(out, SHARDING_REPLICATE_LAST, 1);
  int64_t kinds[64];
  int32_t count = sharding->last_kinds.count < 64 ? sharding->last_kinds.count : 64;
  for (int32_t i = 0; i < count; i++) {
    kinds[i] = (int64_t)sharding_type((halo_sharding_kind)sharding->last_kinds.data[i]);
  }
  pjrt_write_packed(out, SHARDING_LAST_TYPES, kinds, (size_t)count);
  sharding_write_list(out, SHARDING_RESHAPE, &sharding->reshape);
  if (sharding->transpose.count || !sharding->reshape.count) {
    sharding_write_list(out, SHARDING_TRANSPOSE, &sharding->transpose);
    return;
  }
  /* Readers want both lists to be as long. */
  count = sharding->reshape.count < 64 ? sharding->reshape.count : 64;
  for (int32_t i = 0; i < count; i++) kinds[i] = i;
  pjrt_write_packed(out, SHARDING_TRANSPOSE, kinds, (size_t)count);
}

static halo_sharding_kind sharding_kind(uint64_t type) {
  static const halo_sharding_kind kinds[] = {
      HALO_SHARDING_REPLICATED, HALO_SHARDING_MAXIMAL, HALO_SHARDING_TUPLE,    HALO_SHARDING_TILED,
      HALO_SHARDING_MANUAL,     HALO_SHARDING_UNKNOWN, HALO_SHARDING_UNREDUCED};
  return type < sizeof kinds / sizeof kinds[0] ? kinds[type] : HALO_SHARDING_UNKNOWN;
}

/* One more number, or a packed list of them, at the end of a list. */
static void sharding_append(halo_int_list *list, const pjrt_field *field) {
  pjrt_message rest = field->bytes;
  uint64_t value = field->value;
  int64_t *data = (int64_t *)list->data;
  while (field->wire == 0 || pjrt_message_number(&rest, &value)) {
    if ((list->count & (list->count - 1)) == 0) { /* the room is a power of two */
      int64_t *grown = pjrt_alloc(sizeof *grown * (list->count ? 2 * (size_t)list->count : 1));
      if (list->count) memcpy(grown, data, sizeof *grown * (size_t)list->count);
      free(data);
      data = grown;
    }
    data[list->count++] = (int64_t)value;
    if (field->wire == 0) break;
  }
  list->data = data;
}

static void sharding_deinit(halo_sharding *sharding) {
  free((void *)sharding->tiles.data);
  free((void *)sharding->devices.data);
  free((void *)sharding->reshape.data);
  free((void *)sharding->transpose.data);
  free((void *)sharding->last_kinds.data);
  for (int32_t i = 0; i < sharding->element_count; i++) {
    sharding_deinit((halo_sharding *)&sharding->elements[i]);
  }
  free((void *)sharding->elements);
}

void pjrt_sharding_release(halo_sharding *sharding) {
  if (!sharding) return;
  sharding_deinit(sharding);
  free(sharding);
}

enum { SHARDING_MOST_ELEMENTS = 1 << 16, SHARDING_MOST_DEPTH = 2, SHARDING_MOST_TYPE = 6 };

static bool sharding_read(pjrt_message message, int depth, halo_sharding *out) {
  pjrt_field field;
  while (pjrt_message_next(&message, &field)) {
    switch (field.number) {
      case SHARDING_TYPE:
        if (field.value > SHARDING_MOST_TYPE) return false; /* by names of axes, or newer */
        out->kind = sharding_kind(field.value);
        break;
      case SHARDING_TILES: sharding_append(&out->tiles, &field); break;
      case SHARDING_DEVICES: sharding_append(&out->devices, &field); break;
      case SHARDING_REPLICATE_LAST: out->replicate_last = field.value != 0; break;
      case SHARDING_LAST_TYPES: sharding_append(&out->last_kinds, &field); break;
      case SHARDING_RESHAPE: sharding_append(&out->reshape, &field); break;
      case SHARDING_TRANSPOSE: sharding_append(&out->transpose, &field); break;
      case SHARDING_ELEMENTS: {
        size_t count = (size_t)out->element_count;
        if (depth == SHARDING_MOST_DEPTH || count == SHARDING_MOST_ELEMENTS) return false;
        halo_sharding *elements = pjrt_alloc(sizeof *elements * (count + 1));
        if (count) memcpy(elements, out->elements, sizeof *elements * count);
        free((void *)out->elements);
        out->elements = elements;
        out->element_count++;
        if (!sharding_read(field.bytes, depth + 1, &elements[count])) return false;
        break;
      }
      default: break;
    }
  }
  int64_t *kinds = (int64_t *)out->last_kinds.data;
  for (int32_t i = 0; i < out->last_kinds.count; i++) {
    kinds[i] = (int64_t)sharding_kind((uint64_t)kinds[i]);
  }
  if (out->reshape.count == 1) out->transpose.count = 0; /* which the library has so */
  if (out->kind == HALO_SHARDING_MAXIMAL && out->devices.count) {
    out->device = out->devices.data[0];
  }
  return message.at == message.end;
}

halo_sharding *pjrt_sharding_read(pjrt_message message) {
  halo_sharding *sharding = pjrt_alloc(sizeof *sharding);
  if (sharding_read(message, 0, sharding)) return sharding;
  pjrt_sharding_release(sharding);
  return NULL;
}
