/* SPDX-License-Identifier: Apache-2.0 */
/* spmd.c: see spmd.h. */
#include "spmd.h"

#include "base/pointer_map.h"
#include "hlo/collective.h"

#include <stdlib.h>
#include <string.h>

/* ---- Pieces ---- */

/* Where the elements of a box at `starts` of `sizes` lie within an array: calls back for each row of the last
 * dimension that is inside, with the offsets in elements and how many. */
static void spmd_walk(const halo_shape *whole, const int64_t *starts, const int64_t *sizes,
                      void (*row)(void *user, int64_t whole, int64_t piece, int64_t count),
                      void *user) {
  int64_t index[HALO_MAX_RANK] = {0}, total = 1;
  int rank = whole->rank;
  for (int d = 0; d + 1 < rank; d++) total *= sizes[d];
  int64_t last = rank ? sizes[rank - 1] : 1,
          room = rank ? whole->dims[rank - 1] - starts[rank - 1] : 1;
  int64_t count = last < room ? last : room;
  for (int64_t i = 0, piece = 0; i < total && last > 0; i++, piece += last) {
    bool inside = count > 0;
    int64_t at = 0;
    for (int d = 0; d + 1 < rank; d++) {
      inside = inside && starts[d] + index[d] < whole->dims[d];
      at = at * whole->dims[d] + starts[d] + index[d];
    }
    if (rank) at = at * whole->dims[rank - 1] + starts[rank - 1];
    if (inside) row(user, at, piece, count);
    for (int d = rank - 2; d >= 0; d--) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
}

typedef struct spmd_copy {
  char *to;
  const char *from;
  unsigned char *seen;
  size_t size;
  bool differ;
} spmd_copy;

static void spmd_cut_row(void *user, int64_t whole, int64_t piece, int64_t count) {
  spmd_copy *copy = user;
  memcpy(copy->to + (size_t)piece * copy->size, copy->from + (size_t)whole * copy->size,
         (size_t)count * copy->size);
}

static void spmd_join_row(void *user, int64_t whole, int64_t piece, int64_t count) {
  spmd_copy *copy = user;
  for (int64_t i = 0; i < count; i++) {
    char *to = copy->to + (size_t)(whole + i) * copy->size;
    const char *from = copy->from + (size_t)(piece + i) * copy->size;
    if (copy->seen[whole + i]) copy->differ |= memcmp(to, from, copy->size) != 0;
    memcpy(to, from, copy->size);
    copy->seen[whole + i] = 1;
  }
}

halo_literal *spmd_cut(const halo_literal *whole, const halo_sharding *sharding, int part) {
  const halo_shape *shape = halo_literal_shape(whole);
  int64_t starts[HALO_MAX_RANK], sizes[HALO_MAX_RANK];
  halo_literal *piece;
  if (!halo_shape_is_array(shape)) {
    halo_literal_retain((halo_literal *)whole);
    return (halo_literal *)whole;
  }
  halo_shape *small;
  if (halo_sharding_piece(sharding, shape, part, starts, sizes) != HALO_OK) return NULL;
  if (halo_shape_create_array(shape->type, shape->rank, sizes, &small) != HALO_OK) return NULL;
  halo_status status = halo_literal_create(small, &piece);
  halo_shape_release(small);
  if (status != HALO_OK) return NULL;
  size_t bytes = (size_t)halo_shape_byte_size(halo_literal_shape(piece));
  /* Padding of pred and narrow integers must be a value of the type. */
  memset(halo_literal_data(piece),
         shape->type == HALO_PRED || halo_type_bits(shape->type) < 8 ? 1 : 0xa5, bytes);
  spmd_copy copy = {.to = halo_literal_data(piece),
                    .from = halo_literal_data((halo_literal *)whole),
                    .size = halo_type_size(shape->type)};
  spmd_walk(shape, starts, sizes, spmd_cut_row, &copy);
  return piece;
}

bool spmd_join(halo_literal *whole, const halo_literal *piece, const halo_sharding *sharding,
               int part, unsigned char *seen) {
  const halo_shape *shape = halo_literal_shape(whole), *small = halo_literal_shape(piece);
  int64_t starts[HALO_MAX_RANK], sizes[HALO_MAX_RANK];
  if (!halo_shape_is_array(shape)) return true;
  if (halo_sharding_piece(sharding, shape, part, starts, sizes) != HALO_OK) return false;
  if (small->type != shape->type || small->rank != shape->rank ||
      (shape->rank > 0 && memcmp(small->dims, sizes, sizeof *sizes * (size_t)shape->rank) != 0)) {
    return false;
  }
  spmd_copy copy = {.to = halo_literal_data(whole),
                    .from = halo_literal_data((halo_literal *)piece),
                    .seen = seen,
                    .size = halo_type_size(shape->type)};
  spmd_walk(shape, starts, sizes, spmd_join_row, &copy);
  return !copy.differ;
}

int spmd_leaves(halo_literal *value, halo_literal **out, int most) {
  const halo_shape *shape = halo_literal_shape(value);
  if (!halo_shape_is_tuple(shape)) {
    if (most > 0) out[0] = value;
    return 1;
  }
  int count = 0;
  for (int i = 0; i < shape->count; i++) {
    count += spmd_leaves(halo_literal_element(value, i), out + count, most - count);
  }
  return count;
}

/* ---- Collectives ---- */

typedef struct spmd_run {
  int parts;
  spmd_traffic *traffic;
  const halo_module *module;
} spmd_run;

static halo_status spmd_new(const halo_shape *shape, halo_literal **out) {
  return halo_literal_create(shape, out);
}

/* The element of `part` is `from`'s at some place: rows of `inner` bytes. */
static void spmd_copy_rows(halo_literal *to, int64_t to_row, int64_t to_stride,
                           const halo_literal *from, int64_t from_row, int64_t from_stride,
                           int64_t outer, size_t bytes) {
  char *target = halo_literal_data(to);
  const char *source = halo_literal_data((halo_literal *)from);
  for (int64_t o = 0; o < outer; o++) {
    memcpy(target + (size_t)(o * to_stride + to_row) * bytes,
           source + (size_t)(o * from_stride + from_row) * bytes, bytes);
  }
}

typedef struct spmd_view {
  int64_t outer, n, inner;
} spmd_view;

static spmd_view spmd_view_of(const halo_shape *shape, int64_t dim) {
  spmd_view v = {1, shape->dims[dim], 1};
  for (int d = 0; d < dim; d++) v.outer *= shape->dims[d];
  for (int d = (int)dim + 1; d < shape->rank; d++) v.inner *= shape->dims[d];
  return v;
}

static int64_t spmd_dim(const halo_instr *instr) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  return count ? dims[0] : 0;
}

static halo_status spmd_all_gather(const halo_instr *instr, const int64_t *ids, int64_t size,
                                   halo_literal *const *in, halo_literal **out) {
  spmd_view v = spmd_view_of(halo_literal_shape(in[ids[0]]), spmd_dim(instr));
  size_t element = halo_type_size(instr->shape->type);
  for (int64_t i = 0; i < size; i++) {
    HALO_TRY(spmd_new(instr->shape, &out[ids[i]]));
    for (int64_t k = 0; k < size; k++) {
      spmd_copy_rows(out[ids[i]], k, size, in[ids[k]], 0, 1, v.outer,
                     (size_t)(v.n * v.inner) * element);
    }
  }
  return HALO_OK;
}

static halo_status spmd_all_to_all(const halo_instr *instr, const int64_t *ids, int64_t size,
                                   halo_literal *const *in, halo_literal **out) {
  spmd_view v = spmd_view_of(halo_literal_shape(in[ids[0]]), spmd_dim(instr));
  size_t bytes = (size_t)(v.n / size * v.inner) * halo_type_size(instr->shape->type);
  for (int64_t i = 0; i < size; i++) {
    HALO_TRY(spmd_new(instr->shape, &out[ids[i]]));
    for (int64_t k = 0; k < size; k++) {
      spmd_copy_rows(out[ids[i]], k, size, in[ids[k]], i, size, v.outer, bytes);
    }
  }
  return HALO_OK;
}

/* `a` combined with `b`, element by element. */
static halo_status spmd_combine(const halo_computation *combiner, halo_literal *a,
                                const halo_literal *b) {
  const halo_shape *shape = halo_literal_shape(a);
  int64_t count = halo_shape_element_count(shape);
  size_t size = halo_type_size(shape->type);
  halo_literal *args[2], *value;
  for (int64_t i = 0; i < count; i++) {
    char *at = (char *)halo_literal_data(a) + (size_t)i * size;
    HALO_TRY(halo_literal_create_array(shape->type, 0, NULL, at, &args[0]));
    HALO_TRY(halo_literal_create_array(
        shape->type, 0, NULL, (char *)halo_literal_data((halo_literal *)b) + (size_t)i * size,
        &args[1]));
    HALO_TRY(halo_evaluate(combiner, args, 2, &value));
    memcpy(at, halo_literal_data(value), size);
    halo_literal_release(value);
    halo_literal_release(args[0]);
    halo_literal_release(args[1]);
  }
  return HALO_OK;
}

/* The combination of all members' arrays; reduce-scatter gives each its piece. */
static halo_status spmd_all_reduce(const halo_instr *instr, const int64_t *ids, int64_t size,
                                   halo_literal *const *in, halo_literal **out) {
  const halo_shape *shape = halo_literal_shape(in[ids[0]]);
  halo_literal *sum;
  HALO_TRY(spmd_new(shape, &sum));
  memcpy(halo_literal_data(sum), halo_literal_data(in[ids[0]]),
         (size_t)halo_shape_byte_size(shape));
  for (int64_t k = 1; k < size; k++) {
    HALO_TRY(spmd_combine(halo_instr_comp(instr, HALO_ATTR_TO_APPLY), sum, in[ids[k]]));
  }
  for (int64_t i = 0; i < size; i++) {
    HALO_TRY(spmd_new(instr->shape, &out[ids[i]]));
    if (instr->opcode == HALO_OP_ALL_REDUCE) {
      memcpy(halo_literal_data(out[ids[i]]), halo_literal_data(sum),
             (size_t)halo_shape_byte_size(shape));
      continue;
    }
    spmd_view v = spmd_view_of(shape, spmd_dim(instr));
    spmd_copy_rows(out[ids[i]], 0, 1, sum, i, size, v.outer,
                   (size_t)(v.n / size * v.inner) * halo_type_size(shape->type));
  }
  halo_literal_release(sum);
  return HALO_OK;
}

static halo_status spmd_permute(const spmd_run *run, const halo_instr *instr, halo_arena *arena,
                                halo_literal *const *in, halo_literal **out) {
  int64_t *pairs;
  int32_t count;
  HALO_TRY(halo_collective_pairs(instr, arena, &pairs, &count));
  /* Along dynamic dimensions values are shorter than the instruction's shape. */
  for (int p = 0; p < run->parts; p++) HALO_TRY(spmd_new(halo_literal_shape(in[p]), &out[p]));
  for (int32_t i = 0; i < count; i++) {
    memcpy(halo_literal_data(out[pairs[2 * i + 1]]), halo_literal_data(in[pairs[2 * i]]),
           (size_t)halo_shape_byte_size(halo_literal_shape(out[pairs[2 * i + 1]])));
  }
  return HALO_OK;
}

static void spmd_count(spmd_traffic *t, const halo_instr *instr, int64_t size) {
  int64_t bytes = halo_shape_byte_size(instr->shape);
  if (!t) return;
  switch ((int)instr->opcode) {
    case HALO_OP_ALL_GATHER:
      t->gathers++;
      if (bytes > t->largest_gather) t->largest_gather = bytes;
      t->bytes += bytes / size * (size - 1);
      break;
    case HALO_OP_ALL_REDUCE:
      t->reductions++;
      t->bytes += 2 * bytes * (size - 1) / size;
      break;
    case HALO_OP_REDUCE_SCATTER:
      t->scatters++;
      t->bytes += bytes * (size - 1);
      break;
    case HALO_OP_ALL_TO_ALL:
      t->swaps++;
      t->bytes += bytes * (size - 1) / size;
      break;
    default:
      t->permutes++;
      t->bytes += bytes;
      break;
  }
}

static halo_status spmd_collective(const spmd_run *run, const halo_instr *instr,
                                   halo_literal *const *in, halo_literal **out) {
  halo_arena arena = {0};
  halo_groups groups;
  halo_status status = HALO_OK;
  if (instr->operand_count != 1 || !halo_shape_is_array(instr->shape)) {
    return halo_fail(HALO_UNIMPLEMENTED, "%s has several operands", instr->name);
  }
  if (instr->opcode == HALO_OP_COLLECTIVE_PERMUTE) {
    status = spmd_permute(run, instr, &arena, in, out);
    spmd_count(run->traffic, instr, 1);
    halo_arena_deinit(&arena);
    return status;
  }
  status = halo_collective_groups(instr, &arena, &groups);
  for (int32_t g = 0; g < groups.count && status == HALO_OK; g++) {
    const int64_t *ids = groups.ids + groups.starts[g];
    int64_t size = groups.starts[g + 1] - groups.starts[g];
    if (g == 0) spmd_count(run->traffic, instr, size);
    switch ((int)instr->opcode) {
      case HALO_OP_ALL_GATHER: status = spmd_all_gather(instr, ids, size, in, out); break;
      case HALO_OP_ALL_TO_ALL: status = spmd_all_to_all(instr, ids, size, in, out); break;
      case HALO_OP_ALL_REDUCE:
      case HALO_OP_REDUCE_SCATTER: status = spmd_all_reduce(instr, ids, size, in, out); break;
      default: status = halo_fail(HALO_UNIMPLEMENTED, "%s", halo_opcode_name(instr->opcode));
    }
  }
  halo_arena_deinit(&arena);
  return status;
}

/* ---- Computations ---- */

static halo_status spmd_computation(const spmd_run *run, const halo_computation *computation,
                                    halo_literal *const *const *args, halo_literal **out);

static halo_status spmd_while(const spmd_run *run, const halo_instr *instr,
                              halo_literal *const *init, halo_literal **out) {
  halo_literal **state = calloc((size_t)run->parts, sizeof *state),
               **next = calloc((size_t)run->parts, sizeof *next);
  halo_literal *const **args = calloc((size_t)run->parts, sizeof *args);
  halo_status status = HALO_OK;
  for (int p = 0; p < run->parts; p++) {
    state[p] = init[p];
    halo_literal_retain(state[p]);
    args[p] = &state[p];
  }
  for (;;) {
    status = spmd_computation(run, halo_instr_comp(instr, HALO_ATTR_CONDITION), args, next);
    if (status != HALO_OK) break;
    bool goes_on = halo_literal_get_i64(next[0], 0) != 0;
    for (int p = 0; p < run->parts; p++) {
      if ((halo_literal_get_i64(next[p], 0) != 0) != goes_on) {
        status = halo_fail(HALO_INTERNAL, "%s: partitions disagree whether to go on", instr->name);
      }
      halo_literal_release(next[p]);
    }
    if (!goes_on || status != HALO_OK) break;
    status = spmd_computation(run, halo_instr_comp(instr, HALO_ATTR_BODY), args, next);
    if (status != HALO_OK) break;
    for (int p = 0; p < run->parts; p++) {
      halo_literal_release(state[p]);
      state[p] = next[p];
    }
  }
  for (int p = 0; p < run->parts; p++) {
    if (status == HALO_OK) {
      out[p] = state[p];
    } else {
      halo_literal_release(state[p]);
    }
  }
  free(args);
  free(next);
  free(state);
  return status;
}

static halo_status spmd_conditional(const spmd_run *run, const halo_instr *instr,
                                    halo_literal **const *operands, halo_literal **out) {
  halo_literal *const **args = calloc((size_t)run->parts, sizeof *args);
  int chosen = 0, count = halo_conditional_branch_count(instr);
  halo_status status = HALO_OK;
  for (int p = 0; p < run->parts; p++) {
    int64_t index = halo_literal_get_i64(operands[p][0], 0);
    bool is_pred = instr->operands[0]->shape->type == HALO_PRED;
    int branch = is_pred ? index == 0 : index < 0 || index >= count ? count - 1 : (int)index;
    if (p == 0) chosen = branch;
    if (branch != chosen)
      status = halo_fail(HALO_INTERNAL, "%s: partitions choose differently", instr->name);
    args[p] = &operands[p][1 + chosen];
  }
  if (status == HALO_OK)
    status = spmd_computation(run, halo_conditional_branch(instr, chosen), args, out);
  free(args);
  return status;
}

static halo_status spmd_alone(const halo_instr *instr, halo_literal *const *operands, int part,
                              halo_literal **out) {
  if (instr->opcode == HALO_OP_PARTITION_ID) {
    uint32_t number = (uint32_t)part;
    return halo_literal_create_array(HALO_U32, 0, NULL, &number, out);
  }
  return halo_evaluate_instr(instr, operands, out);
}

/* values[part][i] are those of instruction i. */
static halo_status spmd_instr(const spmd_run *run, const halo_instr *instr, int32_t at,
                              const halo_pointer_map *places, halo_literal ***values) {
  int parts = run->parts;
  halo_literal **out = calloc((size_t)parts, sizeof *out);
  halo_literal ***operands = calloc((size_t)parts, sizeof *operands);
  halo_literal **first = calloc((size_t)parts, sizeof *first);
  halo_status status = HALO_OK;
  for (int p = 0; p < parts; p++) {
    operands[p] = calloc((size_t)instr->operand_count + 1, sizeof **operands);
    for (int32_t i = 0; i < instr->operand_count; i++) {
      intptr_t place = (intptr_t)halo_pointer_map_get(places, instr->operands[i]);
      operands[p][i] = values[p][place - 1];
    }
    first[p] = operands[p][0];
  }
  if (instr->opcode == HALO_OP_WHILE) {
    status = spmd_while(run, instr, first, out);
  } else if (instr->opcode == HALO_OP_CONDITIONAL) {
    status = spmd_conditional(run, instr, operands, out);
  } else if (halo_opcode_has_trait(instr->opcode, HALO_TRAIT_COLL)) {
    status = spmd_collective(run, instr, first, out);
  } else {
    for (int p = 0; p < parts && status == HALO_OK; p++)
      status = spmd_alone(instr, operands[p], p, &out[p]);
  }
  for (int p = 0; p < parts; p++) {
    values[p][at] = out[p];
    free(operands[p]);
  }
  free(first);
  free(operands);
  free(out);
  return status;
}

static halo_status spmd_computation(const spmd_run *run, const halo_computation *computation,
                                    halo_literal *const *const *args, halo_literal **out) {
  int32_t count = computation->instrs.count;
  halo_literal ***values = calloc((size_t)run->parts, sizeof *values);
  halo_pointer_map places = {0};
  halo_status status = HALO_OK;
  for (int p = 0; p < run->parts; p++) values[p] = calloc((size_t)count + 1, sizeof **values);
  for (int32_t i = 0; i < count && status == HALO_OK; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    halo_pointer_map_set(&places, instr, (void *)(intptr_t)(i + 1));
    if (instr->opcode == HALO_OP_PARAMETER) {
      for (int p = 0; p < run->parts; p++) {
        values[p][i] = args[p][instr->parameter_number];
        halo_literal_retain(values[p][i]);
      }
      continue;
    }
    status = spmd_instr(run, instr, i, &places, values);
  }
  intptr_t root = (intptr_t)halo_pointer_map_get(&places, computation->root);
  for (int p = 0; p < run->parts; p++) {
    if (status == HALO_OK) {
      out[p] = values[p][root - 1];
      halo_literal_retain(out[p]);
    }
    for (int32_t i = 0; i < count; i++) halo_literal_release(values[p][i]);
    free(values[p]);
  }
  free(values);
  halo_pointer_map_deinit(&places);
  return status;
}

halo_status spmd_evaluate(const halo_computation *computation, halo_literal *const *const *args,
                          int parts, spmd_traffic *traffic, halo_literal **out) {
  spmd_run run = {.parts = parts, .traffic = traffic, .module = computation->module};
  return spmd_computation(&run, computation, args, out);
}
