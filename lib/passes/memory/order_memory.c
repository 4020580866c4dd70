/* SPDX-License-Identifier: Apache-2.0 */
/* passes/memory/order_memory.c: which memory instructions make, read and leave behind, and what must keep its order. */
#include "passes/fuse/fusion.h"
#include "passes/memory/order.h"

#include <string.h>

/* ---- Lists ---- */

order_lists order_lists_make(const order_pairs *pairs, int32_t count) {
  order_lists out = {.first = halo_alloc(sizeof *out.first * ((size_t)count + 2)),
                     .list = halo_alloc(sizeof *out.list * ((size_t)pairs->count + 1))};
  for (int32_t p = 0; p < pairs->count; p++) out.first[pairs->data[p].from + 2]++;
  for (int32_t i = 2; i < count + 2; i++) out.first[i] += out.first[i - 1];
  for (int32_t p = 0; p < pairs->count; p++) {
    out.list[out.first[pairs->data[p].from + 1]++] = pairs->data[p].to;
  }
  return out;
}

void order_lists_deinit(order_lists *lists) {
  halo_free(lists->first);
  halo_free(lists->list);
}

/* ---- Values ---- */

/* A value of no array. */
enum { ORDER_NO_VALUE = -1 };

/* The operand whose memory a fusion only gives another shape. */
static const halo_instr *order_view(const halo_instr *instr) {
  if (instr->opcode != HALO_OP_FUSION || !halo_shape_is_array(instr->shape)) return NULL;
  const halo_instr *at = halo_instr_comp(instr, HALO_ATTR_CALLS)->root;
  while (at->opcode == HALO_OP_RESHAPE) at = at->operands[0];
  return at->opcode == HALO_OP_PARAMETER ? instr->operands[at->parameter_number] : NULL;
}

typedef struct order_builder {
  order_memory *m;
  int32_t **leaves; /* by position: the value of each leaf */
  int32_t *values;  /* what these are slices of, where they are not another's */
  HALO_VEC(int64_t) bytes;
  order_pairs reads, behind;
  HALO_VEC(bool) in_place; /* of reads */
} order_builder;

static int32_t order_new_value(order_builder *b, int64_t bytes) {
  halo_vec_push(&b->bytes, bytes);
  return b->bytes.count - 1;
}

static void order_own_leaves(order_builder *b, const halo_instr *instr, int32_t *leaves) {
  bool made = halo_opcode_exec(instr->opcode) != HALO_EXEC_VALUE;
  int32_t count = halo_shape_leaf_count(instr->shape);
  for (int32_t l = 0; l < count; l++) {
    const halo_shape *shape = halo_leaf_shape(instr->shape, l);
    leaves[l] = halo_shape_is_array(shape)
                    ? order_new_value(b, made ? halo_shape_byte_size(shape) : 0)
                    : ORDER_NO_VALUE;
  }
}

/* Gives each leaf of each instruction its value; those that an instruction makes have numbers of their own. */
static void order_number_values(order_builder *b) {
  order_memory *m = b->m;
  int64_t leaves = 0;
  for (int32_t i = 0; i < m->count; i++) {
    leaves += halo_shape_leaf_count(m->computation->instrs.data[i]->shape);
  }
  b->values = halo_alloc(sizeof *b->values * (size_t)(leaves + 1));
  int32_t *next = b->values;
  for (int32_t i = 0; i < m->count; i++) {
    const halo_instr *instr = m->computation->instrs.data[i], *view = order_view(instr);
    m->made[i] = b->bytes.count;
    b->leaves[i] = next;
    if (view) {
      b->leaves[i] = b->leaves[view->mark];
    } else if (halo_opcode_exec(instr->opcode) != HALO_EXEC_ALIAS || instr->operand_count == 0) {
      order_own_leaves(b, instr, next);
      next += halo_shape_leaf_count(instr->shape);
    } else if (instr->opcode == HALO_OP_TUPLE) {
      for (int32_t o = 0; o < instr->operand_count; o++) {
        int32_t count = halo_shape_leaf_count(instr->operands[o]->shape);
        memcpy(next, b->leaves[instr->operands[o]->mark], sizeof *next * (size_t)count);
        next += count;
      }
    } else {
      b->leaves[i] = b->leaves[instr->operands[0]->mark];
      if (instr->opcode == HALO_OP_GET_TUPLE_ELEMENT) {
        int64_t index = halo_instr_int(instr, HALO_ATTR_INDEX, 0);
        b->leaves[i] += halo_leaf_start(instr->operands[0]->shape, index);
      }
    }
  }
  m->made[m->count] = m->value_count = b->bytes.count;
  m->bytes = b->bytes.data;
}

/* ---- Steps ---- */

uint64_t order_updated(const halo_instr *instr) {
  if (instr->opcode == HALO_OP_WHILE) return UINT64_MAX;
  uint64_t bits = 0;
  if (instr->opcode == HALO_OP_FUSION) {
    const halo_computation *body = halo_instr_comp(instr, HALO_ATTR_CALLS);
    for (int32_t i = 0; i < body->instrs.count; i++) {
      const halo_instr *inner = body->instrs.data[i];
      for (int32_t o = 0; o < inner->operand_count; o++) {
        const halo_instr *read = inner->operands[o];
        bool over = halo_opcode_reading(inner->opcode, o) == HALO_READ_UPDATED;
        if (over && read->opcode == HALO_OP_PARAMETER && read->parameter_number < 64) {
          bits |= 1ull << read->parameter_number;
        }
      }
    }
    return bits;
  }
  for (int32_t o = 0; o < instr->operand_count && o < 64; o++) {
    if (halo_opcode_reading(instr->opcode, o) == HALO_READ_UPDATED) bits |= 1ull << o;
  }
  return bits;
}

/* Operands whose memory the result may take over. */
static uint64_t order_in_place(const halo_instr *instr) {
  if (instr->opcode != HALO_OP_FUSION) return order_updated(instr);
  return order_updated(instr) |
         halo_computation_same_position(halo_instr_comp(instr, HALO_ATTR_CALLS));
}

/* `seen`: by value, the last step that was noted, + 1. */
static void order_note_reads(order_builder *b, int32_t at, int32_t *seen) {
  const halo_instr *instr = b->m->computation->instrs.data[at];
  uint64_t in_place = order_in_place(instr);
  for (int32_t o = 0; o < instr->operand_count; o++) {
    int32_t count = halo_shape_leaf_count(instr->operands[o]->shape);
    for (int32_t l = 0; l < count; l++) {
      int32_t value = b->leaves[instr->operands[o]->mark][l];
      if (value == ORDER_NO_VALUE || seen[value] == at + 1) continue;
      seen[value] = at + 1;
      halo_vec_push(&b->reads, (order_pair){at, value});
      halo_vec_push(&b->in_place, o < 64 && (in_place >> o & 1));
    }
  }
}

static bool order_is_step(const order_memory *m, int32_t at) {
  const halo_instr *instr = m->computation->instrs.data[at];
  halo_exec_class class = halo_opcode_exec(instr->opcode);
  return class != HALO_EXEC_VALUE && class != HALO_EXEC_ALIAS && !order_view(instr);
}

static void order_collect_reads(order_builder *b) {
  order_memory *m = b->m;
  int32_t *seen = halo_alloc(sizeof *seen * ((size_t)m->value_count + 1));
  for (int32_t i = 0; i < m->count; i++) {
    if (order_is_step(m, i)) order_note_reads(b, i, seen);
  }
  halo_free(seen);
  m->reads = order_lists_make(&b->reads, m->count);
  m->in_place = b->in_place.data;
  order_pairs reversed = {0};
  for (int32_t p = 0; p < b->reads.count; p++) {
    halo_vec_push(&reversed, (order_pair){b->reads.data[p].to, b->reads.data[p].from});
  }
  m->readers = order_lists_make(&reversed, m->value_count);
  halo_vec_deinit(&reversed);
}

/* ---- What keeps its order ---- */

/* Who reads a value before a step that writes over it does so in any order. */
static void order_keep_readers(order_builder *b, int32_t value, int32_t writer) {
  const order_lists *readers = &b->m->readers;
  for (int32_t r = readers->first[value]; r < readers->first[value + 1]; r++) {
    int32_t reader = readers->list[r];
    if (reader < writer) halo_vec_push(&b->behind, (order_pair){reader, writer});
  }
}

/* The last reader of a value, where it writes over it. */
static void order_keep_updates(order_builder *b) {
  order_memory *m = b->m;
  for (int32_t v = 0; v < m->value_count; v++) {
    if (m->readers.first[v + 1] - m->readers.first[v] < 2) continue;
    int32_t last = m->readers.list[m->readers.first[v + 1] - 1];
    const halo_instr *writer = m->computation->instrs.data[last];
    uint64_t updated = order_updated(writer);
    bool over = writer->opcode == HALO_OP_WHILE;
    for (int32_t o = 0; o < writer->operand_count && o < 64 && !over; o++) {
      over = (updated >> o & 1) && b->leaves[writer->operands[o]->mark][0] == v;
    }
    if (over) order_keep_readers(b, v, last);
  }
}

/* By value: the step that makes it. */
static int32_t order_maker(const order_memory *m, int32_t value) {
  int32_t low = 0, high = m->count;
  while (high - low > 1) {
    int32_t middle = low + (high - low) / 2;
    if (m->made[middle] <= value) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/* A result that is to take over a parameter's memory. */
static void order_keep_alias(order_builder *b, int32_t result, int32_t parameter) {
  if (result == ORDER_NO_VALUE || parameter == ORDER_NO_VALUE || result == parameter) return;
  order_keep_readers(b, parameter, order_maker(b->m, result));
}

static void order_keep_aliases(order_builder *b, bool is_entry) {
  const halo_computation *c = b->m->computation;
  const int32_t *root = b->leaves[c->root->mark];
  if (!is_entry) {
    /* A loop's state. */
    if (c->params.count != 1 || !halo_shape_equal(c->params.data[0]->shape, c->root->shape)) return;
    int32_t count = halo_shape_leaf_count(c->root->shape);
    for (int32_t l = 0; l < count; l++) {
      order_keep_alias(b, root[l], b->leaves[c->params.data[0]->mark][l]);
    }
    return;
  }
  const halo_module *module = c->module;
  for (int32_t i = 0; i < module->aliases.count; i++) {
    const halo_alias *alias = &module->aliases.data[i];
    if (alias->parameter < 0 || alias->parameter >= c->params.count) continue;
    const halo_instr *parameter = c->params.data[alias->parameter];
    int32_t from = halo_leaf_at(parameter->shape, alias->param_index, alias->param_index_count);
    int32_t to = halo_leaf_at(c->root->shape, alias->out_index, alias->out_index_count);
    if (from < 0 || to < 0) continue;
    order_keep_alias(b, root[to], b->leaves[parameter->mark][from]);
  }
}

bool order_is_seen(const halo_instr *instr) {
  halo_exec_class class = halo_opcode_exec(instr->opcode);
  return class == HALO_EXEC_COLLECTIVE || class == HALO_EXEC_HOST ||
         halo_instr_has_side_effect(instr);
}

static void order_collect_behind(order_builder *b, bool is_entry) {
  order_memory *m = b->m;
  int32_t seen = -1;
  for (int32_t i = 0; i < m->count; i++) {
    const halo_instr *instr = m->computation->instrs.data[i];
    for (int32_t o = 0; o < instr->operand_count; o++) {
      halo_vec_push(&b->behind, (order_pair){instr->operands[o]->mark, i});
    }
    for (int32_t c = 0; c < instr->control_pred_count; c++) {
      halo_vec_push(&b->behind, (order_pair){instr->control_preds[c]->mark, i});
    }
    if (!order_is_seen(instr)) continue;
    if (seen >= 0) halo_vec_push(&b->behind, (order_pair){seen, i});
    seen = i;
  }
  order_keep_updates(b);
  order_keep_aliases(b, is_entry);
  m->behind = order_lists_make(&b->behind, m->count);
}

/* ---- All of it ---- */

void order_memory_init(order_memory *m, halo_computation *computation, bool is_entry,
                       const int64_t *peaks) {
  int32_t count = computation->instrs.count;
  *m = (order_memory){.computation = computation,
                      .count = count,
                      .made = halo_alloc(sizeof *m->made * ((size_t)count + 1)),
                      .inner = halo_alloc(sizeof *m->inner * ((size_t)count + 1))};
  for (int32_t i = 0; i < count; i++) computation->instrs.data[i]->mark = i;
  order_builder b = {.m = m, .leaves = halo_alloc(sizeof *b.leaves * ((size_t)count + 1))};
  order_number_values(&b);
  m->kept = halo_alloc((size_t)m->value_count + 1);
  const int32_t *root = b.leaves[computation->root->mark];
  for (int32_t l = 0; l < halo_shape_leaf_count(computation->root->shape); l++) {
    if (root[l] == ORDER_NO_VALUE) continue;
    m->kept[root[l]] = true;
    if (is_entry) m->bytes[root[l]] = 0;
  }
  order_collect_reads(&b);
  order_collect_behind(&b, is_entry);
  for (int32_t i = 0; i < count; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    if (instr->opcode != HALO_OP_WHILE && instr->opcode != HALO_OP_CONDITIONAL) continue;
    for (int32_t k = 0; k < halo_instr_called_count(instr); k++) {
      int64_t peak = peaks[halo_instr_called(instr, k)->mark];
      if (peak > m->inner[i]) m->inner[i] = peak;
    }
  }
  halo_free(b.leaves);
  halo_free(b.values);
  halo_vec_deinit(&b.reads);
  halo_vec_deinit(&b.behind);
}

void order_memory_deinit(order_memory *m) {
  halo_free(m->made);
  halo_free(m->bytes);
  halo_free(m->kept);
  halo_free(m->in_place);
  halo_free(m->inner);
  order_lists_deinit(&m->reads);
  order_lists_deinit(&m->readers);
  order_lists_deinit(&m->behind);
}

int64_t order_made_bytes(const order_memory *m, int32_t at) {
  int64_t bytes = 0;
  for (int32_t v = m->made[at]; v < m->made[at + 1]; v++) bytes += m->bytes[v];
  return bytes;
}

int64_t order_peak(const order_memory *m, const int32_t *order) {
  int32_t *left = halo_alloc(sizeof *left * ((size_t)m->value_count + 1));
  for (int32_t v = 0; v < m->value_count; v++) {
    left[v] = m->readers.first[v + 1] - m->readers.first[v] + m->kept[v];
  }
  int64_t alive = 0, peak = 0;
  for (int32_t n = 0; n < m->count; n++) {
    int32_t at = order[n];
    int64_t made = order_made_bytes(m, at), over = 0, freed = 0;
    for (int32_t r = m->reads.first[at]; r < m->reads.first[at + 1]; r++) {
      int32_t v = m->reads.list[r];
      if (--left[v] > 0) continue;
      freed += m->bytes[v];
      if (m->in_place[r]) over += m->bytes[v];
    }
    int64_t most = alive + made - (over < made ? over : made) + m->inner[at];
    if (most > peak) peak = most;
    alive += made - freed;
    for (int32_t v = m->made[at]; v < m->made[at + 1]; v++) {
      if (left[v] == 0) alive -= m->bytes[v];
    }
  }
  halo_free(left);
  return peak;
}

void order_apply(halo_computation *computation, const int32_t *order) {
  size_t bytes = sizeof(halo_instr *) * (size_t)computation->instrs.count;
  halo_instr **old = halo_alloc(bytes);
  memcpy(old, computation->instrs.data, bytes);
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    computation->instrs.data[i] = old[order[i]];
  }
  halo_free(old);
}
