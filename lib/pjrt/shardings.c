/* pjrt/shardings.c: the extension that tells how arguments and results lie on several devices. */
#include "pjrt/pjrt.h"

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
