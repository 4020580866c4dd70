/* SPDX-License-Identifier: Apache-2.0 */
/* builder/annotation.c: metadata, shardings and frontend attributes, of ops to come or of one op, and how
 * exact an op's results are to be. */
#include "builder/build.h"

#include <string.h>

/* Where an annotation goes: to one instruction, or (NULL) to all that the builder makes from now on. */
typedef struct annotation_call {
  build_call call;
  halo_instr *instr;
} annotation_call;

static annotation_call annotation_begin(halo_builder *builder, const char *function) {
  return (annotation_call){.call = halo_build_begin(builder, function)};
}

static annotation_call annotation_begin_op(halo_op op, const char *function) {
  annotation_call a = {.call = halo_build_begin_with(function, 1, &op)};
  a.instr = halo_build_operand(&a.call, op);
  return a;
}

static const halo_attr *annotation_find(const annotation_call *a, halo_attr_id id) {
  if (a->instr) return halo_instr_attr(a->instr, id);
  const halo_builder *builder = a->call.builder;
  for (int32_t i = 0; i < builder->notes.count; i++) {
    if (builder->notes.data[i].id == id) return &builder->notes.data[i];
  }
  return NULL;
}

static void annotation_remove(annotation_call *a, halo_attr_id id) {
  if (a->instr) {
    halo_instr_remove_attr(a->instr, id);
    return;
  }
  halo_builder *builder = a->call.builder;
  for (int32_t i = 0; i < builder->notes.count; i++) {
    if (builder->notes.data[i].id == id) {
      builder->notes.data[i] = builder->notes.data[--builder->notes.count];
      return;
    }
  }
}

static void annotation_set(annotation_call *a, const halo_attr *attr) {
  annotation_remove(a, attr->id);
  if (a->instr) {
    halo_instr_set_attr(a->instr, attr);
  } else {
    halo_vec_push(&a->call.builder->notes, *attr);
  }
}

/* ---- Metadata and shardings ---- */

static void annotation_metadata(annotation_call a, const halo_metadata *metadata) {
  if (!a.call.ok) return;
  if (!metadata) {
    annotation_remove(&a, HALO_ATTR_METADATA);
    return;
  }
  halo_attr attr = {.id = HALO_ATTR_METADATA};
  attr.metadata = halo_metadata_clone(halo_build_arena(&a.call), metadata);
  annotation_set(&a, &attr);
}

static void annotation_sharding(annotation_call a, const halo_sharding *sharding) {
  if (!a.call.ok) return;
  if (!sharding) {
    annotation_remove(&a, HALO_ATTR_SHARDING);
    return;
  }
  halo_status status = halo_sharding_check(sharding);
  if (status != HALO_OK) {
    halo_build_record(&a.call, status);
    return;
  }
  halo_attr attr = {.id = HALO_ATTR_SHARDING};
  attr.sharding = halo_sharding_clone(halo_build_arena(&a.call), sharding);
  annotation_set(&a, &attr);
}

void halo_builder_set_metadata(halo_builder *builder, const halo_metadata *metadata) {
  annotation_metadata(annotation_begin(builder, __func__), metadata);
}

void halo_op_set_metadata(halo_op op, const halo_metadata *metadata) {
  annotation_metadata(annotation_begin_op(op, __func__), metadata);
}

void halo_builder_set_sharding(halo_builder *builder, const halo_sharding *sharding) {
  annotation_sharding(annotation_begin(builder, __func__), sharding);
}

void halo_op_set_sharding(halo_op op, const halo_sharding *sharding) {
  annotation_sharding(annotation_begin_op(op, __func__), sharding);
}

/* ---- Accuracy ---- */

void halo_op_set_accuracy(halo_op op, const halo_accuracy *accuracy) {
  annotation_call a = annotation_begin_op(op, __func__);
  if (!a.call.ok) return;
  const char *name = halo_attr_name(HALO_ATTR_RESULT_ACCURACY);
  if (halo_attr_from_name(a.instr->opcode, name) != HALO_ATTR_RESULT_ACCURACY) {
    halo_build_fail(&a.call, "%s has no result_accuracy", halo_opcode_name(a.instr->opcode));
    return;
  }
  annotation_remove(&a, HALO_ATTR_RESULT_ACCURACY);
  if (!accuracy || accuracy->mode == HALO_ACCURACY_DEFAULT) return;
  halo_attr attr = {.id = HALO_ATTR_RESULT_ACCURACY};
  attr.accuracy = halo_arena_copy(halo_build_arena(&a.call), accuracy, sizeof *accuracy);
  annotation_set(&a, &attr);
}

/* ---- Frontend attributes ---- */

static bool frontend_is_identifier(const char *name) {
  char *clean = halo_build_clean_name(name, "");
  bool same = *name && strcmp(clean, name) == 0;
  halo_free(clean);
  return same;
}

/* The pairs of `old` with the name's value set or, for NULL, gone; they stay sorted. */
static halo_attr frontend_with(annotation_call *a, const halo_attr *old, const char *name,
                               const char *value) {
  halo_arena *arena = halo_build_arena(&a->call);
  int32_t count = old ? old->strings.count : 0, at = 0, kept = 0;
  const char **pairs = halo_arena_array(arena, const char *, count + 2);
  while (at < count && strcmp(old->strings.data[at], name) < 0) {
    pairs[kept++] = old->strings.data[at++];
    pairs[kept++] = old->strings.data[at++];
  }
  if (value) {
    pairs[kept++] = halo_arena_strdup(arena, name);
    pairs[kept++] = halo_arena_strdup(arena, value);
  }
  if (at < count && strcmp(old->strings.data[at], name) == 0) at += 2;
  while (at < count) pairs[kept++] = old->strings.data[at++];
  halo_attr attr = {.id = HALO_ATTR_FRONTEND_ATTRIBUTES};
  attr.strings.data = pairs;
  attr.strings.count = kept;
  return attr;
}

static void annotation_frontend(annotation_call a, const char *name, const char *value) {
  if (!a.call.ok) return;
  if (!name) {
    annotation_remove(&a, HALO_ATTR_FRONTEND_ATTRIBUTES);
    return;
  }
  if (!frontend_is_identifier(name)) {
    halo_build_fail(&a.call, "the attribute's name is no HLO identifier: '%s'", name);
    return;
  }
  const halo_attr *old = annotation_find(&a, HALO_ATTR_FRONTEND_ATTRIBUTES);
  halo_attr attr = frontend_with(&a, old, name, value);
  annotation_set(&a, &attr);
}

void halo_builder_set_frontend_attribute(halo_builder *builder, const char *name,
                                         const char *value) {
  annotation_frontend(annotation_begin(builder, __func__), name, value);
}

void halo_op_set_frontend_attribute(halo_op op, const char *name, const char *value) {
  annotation_frontend(annotation_begin_op(op, __func__), name, value);
}
