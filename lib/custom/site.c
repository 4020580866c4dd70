/* SPDX-License-Identifier: Apache-2.0 */
/* custom/site.c: one call: its arrays, and what each form of a function is handed. */
#include "base/status.h"
#include "custom/custom.h"

#include <stdlib.h>
#include <string.h>

static void site_add_arrays(halo_arena *arena, const halo_shape *shape, halo_custom_array *arrays,
                            int *count) {
  if (halo_shape_is_tuple(shape)) {
    for (int32_t i = 0; i < shape->count; i++) {
      site_add_arrays(arena, shape->elements[i], arrays, count);
    }
    return;
  }
  halo_custom_array *array = &arrays[(*count)++];
  array->type = shape->type;
  if (!halo_shape_is_array(shape)) return;
  int *order = halo_arena_array(arena, int, shape->rank + 1);
  for (int d = 0; d < shape->rank; d++) order[d] = shape->minor_to_major[d];
  array->rank = shape->rank;
  array->dims = shape->dims;
  array->minor_to_major = order;
  array->elements = halo_shape_element_count(shape);
  array->bytes = (size_t)halo_shape_byte_size(shape);
}

/* The string that HLO text puts in quotes, or any other value as it stands. */
static const char *site_config(halo_arena *arena, const char *text, size_t *size) {
  size_t length = strlen(text);
  if (length < 2 || text[0] != '"' || text[length - 1] != '"') {
    *size = length;
    return halo_arena_strdup(arena, text);
  }
  char *out = halo_arena_alloc(arena, length), *end = out;
  for (const char *p = text + 1; p < text + length - 1; p++) {
    if (*p != '\\' || p + 1 == text + length - 1) {
      *end++ = *p;
      continue;
    }
    char c = *++p;
    *end++ = (char)(c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c);
  }
  *end = 0;
  *size = (size_t)(end - out);
  return out;
}

halo_status halo_custom_site_create(halo_arena *arena, const halo_custom_target *target,
                                    int operand_count, const halo_shape *const *operands,
                                    const halo_shape *result, const char *config, int version,
                                    halo_custom_site **out) {
  halo_custom_site *site = halo_arena_new(arena, halo_custom_site);
  int leaves = 0, count = 0;
  for (int i = 0; i < operand_count; i++) leaves += halo_shape_leaf_count(operands[i]);
  halo_custom_array *arrays =
      halo_arena_array(arena, halo_custom_array, leaves + halo_shape_leaf_count(result) + 1);
  for (int i = 0; i < operand_count; i++) site_add_arrays(arena, operands[i], arrays, &count);
  site_add_arrays(arena, result, arrays, &count);
  *site = (halo_custom_site){.target = target,
                             .operand_count = operand_count,
                             .shapes = operands,
                             .result = result,
                             .call = {.target = target->name,
                                      .operand_count = leaves,
                                      .result_count = count - leaves,
                                      .operands = arrays,
                                      .results = arrays + leaves,
                                      .api_version = version,
                                      .device = -1}};
  site->call.config = site_config(arena, config ? config : "", &site->call.config_size);
  if (version == HALO_CUSTOM_TYPED)
    HALO_TRY(halo_custom_config_read(arena, site->call.config, &site->call));
  if (target->open) {
    halo_status status = target->open(&site->call, target->user, &site->call.state);
    HALO_TRY(halo_fail_in(status, "custom call %s", target->name));
  }
  *out = site;
  return HALO_OK;
}

void halo_custom_site_deinit(const halo_custom_site *site) {
  if (!site || !site->call.state || !site->target->close) return;
  site->target->close(site->call.state, site->target->user);
}

/* What a plain function gets for a shape: memory, or a table of what it gets for each element. */
static void *site_pointer(halo_arena *arena, const halo_shape *shape,
                          const halo_custom_array *arrays, int *next) {
  if (!halo_shape_is_tuple(shape)) return arrays[(*next)++].data;
  void **table = halo_arena_array(arena, void *, shape->count + 1);
  for (int32_t i = 0; i < shape->count; i++) {
    table[i] = site_pointer(arena, shape->elements[i], arrays, next);
  }
  return table;
}

/* What functions that can fail report to: an optional string of the C++ library, of which nobody has said anything yet. */
typedef union site_status {
  struct {
    char *message;
    size_t size;
    char inside[16]; /* where short messages are */
    bool failed;
  } is;
  char room[64];
} site_status;

static halo_status site_read_status(site_status *status) {
  if (!status->is.failed) return HALO_OK;
  halo_status failed = halo_fail(HALO_INTERNAL, "%.*s", (int)status->is.size, status->is.message);
  /* What `new` gave there, which is malloc's. */
  if (status->is.message != status->is.inside) free(status->is.message);
  return failed;
}

typedef void site_any_fn(void);
typedef void site_status_fn(void *out, const void **in, void *status);
typedef void site_unified_fn(void *out, const void **in, const char *config, size_t config_size,
                             void *status);

static halo_status site_call_plain(const halo_custom_site *site, const halo_custom_array *arrays) {
  halo_arena scratch = {0};
  site_status status = {0};
  int next = 0;
  const void **in = halo_arena_array(&scratch, const void *, site->operand_count + 1);
  for (int i = 0; i < site->operand_count; i++) {
    in[i] = site_pointer(&scratch, site->shapes[i], arrays, &next);
  }
  void *out = site_pointer(&scratch, site->result, arrays, &next);
  halo_custom_plain_fn *function = site->target->plain;
  site_any_fn *any = (site_any_fn *)function;
  switch (site->call.api_version) {
    case HALO_CUSTOM_STATUS: ((site_status_fn *)any)(out, in, &status); break;
    case HALO_CUSTOM_UNIFIED:
      ((site_unified_fn *)any)(out, in, site->call.config, site->call.config_size, &status);
      break;
    default: function(out, in); break;
  }
  halo_arena_deinit(&scratch);
  return site_read_status(&status);
}

halo_status halo_custom_site_call(const halo_custom_site *site, const halo_custom_array *arrays,
                                  const halo_custom_run *run) {
  const halo_custom_target *target = site->target;
  if (target->plain) {
    return halo_fail_in(site_call_plain(site, arrays), "custom call %s", target->name);
  }
  halo_custom_frame call = site->call;
  call.operands = arrays;
  call.results = arrays + call.operand_count;
  call.queue = run->queue;
  call.device = run->device;
  call.run = run->number;
  call.context = run->context;
  halo_status status = (target->host ? target->host : target->device)(&call, target->user);
  return halo_fail_in(status, "custom call %s", target->name);
}
