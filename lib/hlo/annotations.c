/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/annotations.c: copies of annotations, and what is wrong with a sharding. */
#include "hlo/annotations.h"

#include "base/memory.h"
#include "base/status.h"

/* ---- Copies ---- */

static const char *clone_text(halo_arena *arena, const char *text) {
  return text ? halo_arena_strdup(arena, text) : NULL;
}

halo_int_list halo_int_list_clone(halo_arena *arena, halo_int_list from) {
  from.data = halo_arena_copy(arena, from.data, sizeof *from.data * (size_t)from.count);
  return from;
}

static void clone_metadata_parts(halo_arena *arena, halo_metadata *m) {
  m->op_type = clone_text(arena, m->op_type);
  m->op_name = clone_text(arena, m->op_name);
  m->source_file = clone_text(arena, m->source_file);
  m->profile_type = halo_int_list_clone(arena, m->profile_type);
  m->deduplicated_name = clone_text(arena, m->deduplicated_name);
  m->scheduling_name = clone_text(arena, m->scheduling_name);
  m->payload = clone_text(arena, m->payload);
  const char **unknown = halo_arena_array(arena, const char *, m->unknown_count);
  for (int32_t i = 0; i < m->unknown_count; i++) unknown[i] = clone_text(arena, m->unknown[i]);
  m->unknown = unknown;
}

halo_metadata *halo_metadata_clone(halo_arena *arena, const halo_metadata *from) {
  halo_metadata *copy = halo_arena_copy(arena, from, sizeof *from);
  clone_metadata_parts(arena, copy);
  return copy;
}

static void clone_sharding_parts(halo_arena *arena, halo_sharding *s) {
  s->tiles = halo_int_list_clone(arena, s->tiles);
  s->devices = halo_int_list_clone(arena, s->devices);
  s->reshape = halo_int_list_clone(arena, s->reshape);
  s->transpose = halo_int_list_clone(arena, s->transpose);
  s->last_kinds = halo_int_list_clone(arena, s->last_kinds);
  halo_metadata *metadata =
      halo_arena_copy(arena, s->metadata, sizeof *metadata * (size_t)s->metadata_count);
  for (int32_t i = 0; i < s->metadata_count; i++) clone_metadata_parts(arena, &metadata[i]);
  s->metadata = metadata;
  halo_sharding *elements =
      halo_arena_copy(arena, s->elements, sizeof *elements * (size_t)s->element_count);
  for (int32_t i = 0; i < s->element_count; i++) clone_sharding_parts(arena, &elements[i]);
  s->elements = elements;
  s->text = clone_text(arena, s->text);
}

halo_sharding *halo_sharding_clone(halo_arena *arena, const halo_sharding *from) {
  halo_sharding *copy = halo_arena_copy(arena, from, sizeof *from);
  clone_sharding_parts(arena, copy);
  return copy;
}

halo_domain *halo_domain_clone(halo_arena *arena, const halo_domain *from) {
  halo_domain *copy = halo_arena_copy(arena, from, sizeof *from);
  clone_sharding_parts(arena, &copy->entry);
  clone_sharding_parts(arena, &copy->exit);
  return copy;
}

static void clone_config_parts(halo_arena *arena, halo_operand_config *config) {
  config->sparsity = halo_int_list_clone(arena, config->sparsity);
  config->strides = halo_int_list_clone(arena, config->strides);
  config->steps = halo_int_list_clone(arena, config->steps);
}

halo_operand_configs *halo_operand_configs_clone(halo_arena *arena,
                                                 const halo_operand_configs *from) {
  halo_operand_configs *copy = halo_arena_copy(arena, from, sizeof *from);
  clone_config_parts(arena, &copy->lhs);
  clone_config_parts(arena, &copy->rhs);
  return copy;
}

/* ---- Checks ---- */

#define SHARDING_FAIL(...) halo_fail(HALO_INVALID_ARGUMENT, __VA_ARGS__)

/* The product of positive numbers; false when one is not, or there is no such number. */
static bool sharding_product(halo_int_list list, int64_t *out) {
  *out = 1;
  for (int32_t i = 0; i < list.count; i++) {
    if (list.data[i] <= 0 || !halo_mul_i64(*out, list.data[i], out)) return false;
  }
  return true;
}

static bool sharding_is_permutation(halo_int_list list) {
  for (int32_t i = 0; i < list.count; i++) {
    if (list.data[i] < 0 || list.data[i] >= list.count) return false;
    for (int32_t j = 0; j < i; j++) {
      if (list.data[j] == list.data[i]) return false;
    }
  }
  return true;
}

static halo_status sharding_check_devices(const halo_sharding *s, int64_t tiles) {
  int64_t devices = s->devices.count;
  for (int32_t i = 0; i < s->devices.count; i++) {
    if (s->devices.data[i] < 0) return SHARDING_FAIL("a device's number is negative");
  }
  if (!s->devices.count) {
    if (!s->reshape.count || !sharding_product(s->reshape, &devices)) {
      return SHARDING_FAIL("the devices need dimensions, each at least 1");
    }
    int32_t expected = s->reshape.count > 1 ? s->reshape.count : 0;
    if (s->transpose.count != expected || !sharding_is_permutation(s->transpose)) {
      return SHARDING_FAIL(
          "the transpose of %d dimensions of devices must be a permutation of them",
          s->reshape.count);
    }
  }
  if (devices != tiles) {
    return SHARDING_FAIL("there must be as many devices as tiles, but there are %lld and %lld",
                         (long long)devices, (long long)tiles);
  }
  return HALO_OK;
}

static halo_status sharding_check_tiled(const halo_sharding *s) {
  int64_t tiles;
  if (!s->tiles.count || !sharding_product(s->tiles, &tiles)) {
    return SHARDING_FAIL("the tiles need dimensions, each at least 1");
  }
  HALO_TRY(sharding_check_devices(s, tiles));
  if (s->replicate_last && s->last_kinds.count) {
    return SHARDING_FAIL("what the last dimension means is said twice");
  }
  if (s->last_kinds.count > s->tiles.count) {
    return SHARDING_FAIL("more kinds of last dimensions than dimensions");
  }
  for (int32_t i = 0; i < s->last_kinds.count; i++) {
    int64_t kind = s->last_kinds.data[i];
    if (kind != HALO_SHARDING_REPLICATED && kind != HALO_SHARDING_MANUAL &&
        kind != HALO_SHARDING_UNREDUCED) {
      return SHARDING_FAIL("a last dimension can be replicated, manual or unreduced");
    }
  }
  return HALO_OK;
}

halo_status halo_sharding_check(const halo_sharding *sharding) {
  switch (sharding->kind) {
    case HALO_SHARDING_REPLICATED:
    case HALO_SHARDING_MANUAL:
    case HALO_SHARDING_UNKNOWN:
    case HALO_SHARDING_UNREDUCED: return HALO_OK;
    case HALO_SHARDING_MAXIMAL:
      return sharding->device >= 0 ? HALO_OK : SHARDING_FAIL("a device's number is negative");
    case HALO_SHARDING_TILED: return sharding_check_tiled(sharding);
    case HALO_SHARDING_TUPLE:
      for (int32_t i = 0; i < sharding->element_count; i++) {
        if (sharding->elements[i].kind == HALO_SHARDING_TUPLE) {
          return SHARDING_FAIL("the leaves of a tuple are arrays: their shardings are no tuples");
        }
        HALO_TRY(halo_sharding_check(&sharding->elements[i]));
      }
      return HALO_OK;
    case HALO_SHARDING_NAMED:
      return sharding->text ? HALO_OK : SHARDING_FAIL("a named sharding needs its text");
  }
  return SHARDING_FAIL("%d is no kind of sharding", (int)sharding->kind);
}
