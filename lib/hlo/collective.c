/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/collective.c: groups of replicas and partitions. */
#include "hlo/collective.h"

#include "hlo/infer_util.h"

#include <string.h>

typedef enum collective_mode {
  COLLECTIVE_REPLICAS,   /* ids are replicas; a group for each partition */
  COLLECTIVE_PARTITIONS, /* ids are partitions; a group for each replica */
  COLLECTIVE_BOTH,       /* ids are replicas, and all their partitions take part */
  COLLECTIVE_FLAT        /* ids are numbers of both */
} collective_mode;

int64_t halo_collective_world(const halo_module *module) {
  return module->replica_count * module->num_partitions;
}

const halo_shape *halo_collective_result(const halo_instr *instr) {
  const halo_shape *shape = instr->shape;
  bool pair = instr->opcode == HALO_OP_ALL_GATHER_START ||
              instr->opcode == HALO_OP_COLLECTIVE_PERMUTE_START;
  if (instr->opcode == HALO_OP_ALL_REDUCE_START && shape && halo_shape_is_tuple(shape)) {
    /* Two operands have a pair of arrays as their results. */
    pair =
        shape->count == 2 && (instr->operand_count != 2 || halo_shape_is_tuple(shape->elements[0]));
  }
  return pair && shape ? shape->elements[1] : shape;
}

/* Whether the operation has use_global_device_ids at all; with a channel, ids of those without it are
 * partitions. */
static bool collective_has_flag(halo_opcode opcode) {
  static const halo_opcode with[] = {HALO_OP_ALL_GATHER,       HALO_OP_ALL_REDUCE,
                                     HALO_OP_ALL_GATHER_START, HALO_OP_ALL_REDUCE_START,
                                     HALO_OP_REDUCE_SCATTER,   HALO_OP_COLLECTIVE_REDUCE};
  for (size_t i = 0; i < sizeof with / sizeof with[0]; i++) {
    if (with[i] == opcode) return true;
  }
  return false;
}

static halo_status collective_mode_of(const halo_instr *instr, collective_mode *out) {
  bool channel = halo_instr_int(instr, HALO_ATTR_CHANNEL_ID, 0) > 0;
  bool global = halo_instr_int(instr, HALO_ATTR_USE_GLOBAL_DEVICE_IDS, 0) != 0;
  *out = COLLECTIVE_REPLICAS;
  if (global && !channel) {
    return halo_infer_fail(instr, "use_global_device_ids needs a channel_id");
  }
  if (!channel) return HALO_OK;
  if (!collective_has_flag(instr->opcode)) {
    *out = COLLECTIVE_PARTITIONS;
  } else {
    *out = global ? COLLECTIVE_FLAT : COLLECTIVE_BOTH;
  }
  return HALO_OK;
}

/* Ids that may be written. */
static int64_t collective_domain(const halo_module *module, collective_mode mode) {
  switch (mode) {
    case COLLECTIVE_REPLICAS:
    case COLLECTIVE_BOTH: return module->replica_count;
    case COLLECTIVE_PARTITIONS: return module->num_partitions;
    case COLLECTIVE_FLAT: return halo_collective_world(module);
  }
  return 0;
}

static halo_status collective_check(const halo_instr *instr, const int64_t *ids, int32_t count,
                                    int64_t domain) {
  for (int32_t i = 0; i < count; i++) {
    if (ids[i] >= 0 && ids[i] < domain) continue;
    return halo_infer_fail(instr, "id %lld: there are %lld replicas of %lld partitions",
                           (long long)ids[i], (long long)instr->parent->module->replica_count,
                           (long long)instr->parent->module->num_partitions);
  }
  return HALO_OK;
}

/* Member of `copy` (a partition, or a replica) that an id stands for. */
static int64_t collective_flat(const halo_module *module, collective_mode mode, int64_t id,
                               int64_t copy) {
  switch (mode) {
    case COLLECTIVE_REPLICAS:
    case COLLECTIVE_BOTH: return id * module->num_partitions + copy;
    case COLLECTIVE_PARTITIONS: return copy * module->num_partitions + id;
    case COLLECTIVE_FLAT: return id;
  }
  return id;
}

/* How often each written id is meant, once for each partition or replica. */
static int64_t collective_copies(const halo_module *module, collective_mode mode) {
  switch (mode) {
    case COLLECTIVE_REPLICAS:
    case COLLECTIVE_BOTH: return module->num_partitions;
    case COLLECTIVE_PARTITIONS: return module->replica_count;
    case COLLECTIVE_FLAT: return 1;
  }
  return 1;
}

halo_status halo_collective_groups(const halo_instr *instr, halo_arena *arena, halo_groups *out) {
  const halo_module *module = instr->parent->module;
  collective_mode mode;
  HALO_TRY(collective_mode_of(instr, &mode));
  int64_t domain = collective_domain(module, mode), copies = collective_copies(module, mode);
  const halo_attr *attr = halo_instr_attr(instr, HALO_ATTR_REPLICA_GROUPS);
  const halo_groups *written = attr && attr->groups->count > 0 ? attr->groups : NULL;
  halo_groups all = {.count = 1};
  if (!written) {
    int64_t *ids = halo_arena_array(arena, int64_t, domain);
    int32_t *starts = halo_arena_array(arena, int32_t, 2);
    for (int64_t i = 0; i < domain; i++) ids[i] = i;
    starts[1] = (int32_t)domain;
    all.ids = ids;
    all.starts = starts;
    written = &all;
  }
  int32_t total = written->starts[written->count];
  HALO_TRY(collective_check(instr, written->ids, total, domain));
  int64_t groups = mode == COLLECTIVE_BOTH ? written->count : written->count * copies;
  int64_t *ids = halo_arena_array(arena, int64_t, total * copies);
  int32_t *starts = halo_arena_array(arena, int32_t, groups + 1), next = 0, made = 0;
  /* Replicas with all their partitions come replica by replica, as XLA's CPU backend has them. */
  bool joined = mode == COLLECTIVE_BOTH;
  for (int32_t g = 0; g < written->count; g++) {
    int64_t size = written->starts[g + 1] - written->starts[g];
    for (int64_t k = 0; k < size * copies; k++) {
      int64_t member = joined ? k / copies : k % size, copy = joined ? k % copies : k / size;
      ids[next++] = collective_flat(module, mode, written->ids[written->starts[g] + member], copy);
      if (!joined && member == size - 1) starts[++made] = next;
    }
    if (joined) starts[++made] = next;
  }
  *out = (halo_groups){.count = made, .starts = starts, .ids = ids};
  return HALO_OK;
}

halo_status halo_collective_pairs(const halo_instr *instr, halo_arena *arena, int64_t **out,
                                  int32_t *count) {
  const halo_module *module = instr->parent->module;
  collective_mode mode;
  HALO_TRY(collective_mode_of(instr, &mode));
  int32_t written;
  const int64_t *pairs = halo_instr_ints(instr, HALO_ATTR_SOURCE_TARGET_PAIRS, &written);
  HALO_TRY(collective_check(instr, pairs, written, collective_domain(module, mode)));
  int64_t copies = collective_copies(module, mode);
  *out = halo_arena_array(arena, int64_t, written * copies + 1);
  *count = (int32_t)(written / 2 * copies);
  for (int64_t c = 0, next = 0; c < copies; c++) {
    for (int32_t i = 0; i < written; i++) {
      (*out)[next++] = collective_flat(module, mode, pairs[i], c);
    }
  }
  return HALO_OK;
}

int64_t halo_collective_size(const halo_groups *groups) {
  int64_t size = groups->count ? groups->starts[1] : 0;
  for (int32_t g = 0; g < groups->count; g++) {
    if (groups->starts[g + 1] - groups->starts[g] != size) return 0;
  }
  return size;
}

bool halo_collective_in_pairs(const halo_groups *groups) {
  enum { FEWEST = 32 };
  return halo_collective_size(groups) >= FEWEST;
}

bool halo_collective_plain_reducer(const halo_computation *reducer, halo_opcode *opcode) {
  const halo_instr *root = reducer->root;
  if (root->operand_count != 2 || halo_opcode_exec(root->opcode) != HALO_EXEC_ELEMENTWISE) {
    return false;
  }
  bool both = root->operands[0]->opcode == HALO_OP_PARAMETER &&
              root->operands[1]->opcode == HALO_OP_PARAMETER &&
              root->operands[0] != root->operands[1];
  *opcode = root->opcode;
  return both && root->shape->type == root->operands[0]->shape->type && halo_instr_is_bare(root);
}

bool halo_collective_folds(const halo_computation *reducer, halo_type type) {
  halo_opcode opcode;
  if (!halo_collective_plain_reducer(reducer, &opcode) || reducer->root->shape->type != type) {
    return false;
  }
  bool add = opcode == HALO_OP_ADD, logical = false, arithmetic = add;
  logical = opcode == HALO_OP_AND || opcode == HALO_OP_OR || opcode == HALO_OP_XOR;
  arithmetic |=
      opcode == HALO_OP_MULTIPLY || opcode == HALO_OP_MAXIMUM || opcode == HALO_OP_MINIMUM;
  if (halo_type_is_complex(type)) return add;
  if (halo_type_bits(type) < 8 && type != HALO_PRED) return false;
  if (halo_type_is_float(type)) return arithmetic && halo_type_bits(type) >= 16;
  return arithmetic || logical;
}
