/* SPDX-License-Identifier: Apache-2.0 */
/* passes/memory/order.c: orders instructions so that less memory is alive at once.
 *
 * Lists of what is ready, the instruction that leaves least memory behind first: an optimiser's update
 * comes as soon as its gradient is there, which then dies. What is small beside all that is alive keeps its place
 * among its like, so that regions and bundles find it there. An order is taken only where it is worth it by
 * what is known here. Before all that, what reads an array comes before its update (order_updates.c). */
#include "passes/memory/order.h"

#include "passes/passes.h"

#include <string.h>

static const int64_t ORDER_WORTH = 4 << 20; /* bytes that have to be gained, */
static const int64_t ORDER_SHARE = 16;      /* and one of so many */
static const int64_t ORDER_GRAIN = 64; /* less than one of so many bytes is not worth moving for */

typedef enum order_rule {
  ORDER_LEAST, /* always what leaves least behind */
  ORDER_EAGER, /* as it was, but what leaves less than there was comes as soon as it can */
  ORDER_RULES
} order_rule;

/* ---- What is ready ---- */

typedef struct order_entry {
  int64_t key;
  int32_t at;
} order_entry;

typedef struct order_state {
  const order_memory *m;
  order_rule rule;
  int64_t grain;  /* bytes that count as one */
  int32_t *waits; /* by position: what has to come first and has not; -1: it is there */
  int32_t *left;  /* by value: readers to come */
  int64_t *grows; /* by position: bytes that it leaves behind, less those that die */
  HALO_VEC(order_entry) entries; /* a heap, the least on top; those of old keys stay */
} order_state;

static bool order_before(const order_entry *a, const order_entry *b) {
  return a->key != b->key ? a->key < b->key : a->at < b->at;
}

/* Parameters stay in front, and what makes no memory comes at once. */
static int64_t order_key(const order_state *s, int32_t at) {
  const halo_instr *instr = s->m->computation->instrs.data[at];
  halo_exec_class class = halo_opcode_exec(instr->opcode);
  if (instr->opcode == HALO_OP_PARAMETER) return INT64_MIN;
  if (class == HALO_EXEC_VALUE || class == HALO_EXEC_ALIAS) return INT64_MIN + 1;
  return s->rule == ORDER_EAGER && s->grows[at] > 0 ? 0 : s->grows[at] / s->grain;
}

static void order_push(order_state *s, int32_t at) {
  halo_vec_push(&s->entries, (order_entry){order_key(s, at), at});
  order_entry *heap = s->entries.data;
  for (int32_t i = s->entries.count - 1; i > 0 && order_before(&heap[i], &heap[(i - 1) / 2]);) {
    int32_t up = (i - 1) / 2;
    order_entry old = heap[up];
    heap[up] = heap[i];
    heap[i] = old;
    i = up;
  }
}

static order_entry order_pop(order_state *s) {
  order_entry *heap = s->entries.data, top = heap[0];
  heap[0] = heap[--s->entries.count];
  for (int32_t i = 0;;) {
    int32_t least = i;
    for (int32_t child = 2 * i + 1; child <= 2 * i + 2 && child < s->entries.count; child++) {
      if (order_before(&heap[child], &heap[least])) least = child;
    }
    if (least == i) return top;
    order_entry old = heap[i];
    heap[i] = heap[least];
    heap[least] = old;
    i = least;
  }
}

/* ---- The order ---- */

/* A value with one reader left dies there. */
static void order_dies(order_state *s, int32_t value) {
  const order_lists *readers = &s->m->readers;
  for (int32_t r = readers->first[value]; r < readers->first[value + 1]; r++) {
    int32_t at = readers->list[r];
    if (s->waits[at] < 0) continue;
    s->grows[at] -= s->m->bytes[value];
    if (s->waits[at] == 0) order_push(s, at);
    return;
  }
}

static void order_begin(order_state *s, const order_memory *m, order_rule rule, int64_t grain) {
  *s = (order_state){.m = m,
                     .rule = rule,
                     .grain = grain,
                     .waits = halo_alloc(sizeof *s->waits * ((size_t)m->count + 1)),
                     .left = halo_alloc(sizeof *s->left * ((size_t)m->value_count + 1)),
                     .grows = halo_alloc(sizeof *s->grows * ((size_t)m->count + 1))};
  for (int32_t e = 0; e < m->behind.first[m->count]; e++) s->waits[m->behind.list[e]]++;
  for (int32_t i = 0; i < m->count; i++) s->grows[i] = order_made_bytes(m, i);
  for (int32_t v = 0; v < m->value_count; v++) {
    s->left[v] = m->readers.first[v + 1] - m->readers.first[v] + m->kept[v];
    if (s->left[v] == 1 && !m->kept[v]) {
      s->grows[m->readers.list[m->readers.first[v]]] -= m->bytes[v];
    }
  }
  for (int32_t i = 0; i < m->count; i++) {
    if (s->waits[i] == 0) order_push(s, i);
  }
}

static void order_end(order_state *s) {
  halo_free(s->waits);
  halo_free(s->left);
  halo_free(s->grows);
  halo_vec_deinit(&s->entries);
}

static void order_take(order_state *s, int32_t at) {
  const order_memory *m = s->m;
  s->waits[at] = -1;
  for (int32_t r = m->reads.first[at]; r < m->reads.first[at + 1]; r++) {
    int32_t v = m->reads.list[r];
    if (--s->left[v] == 1 && !m->kept[v]) order_dies(s, v);
  }
  for (int32_t e = m->behind.first[at]; e < m->behind.first[at + 1]; e++) {
    int32_t next = m->behind.list[e];
    if (--s->waits[next] == 0) order_push(s, next);
  }
}

static void order_find(const order_memory *m, order_rule rule, int64_t grain, int32_t *out) {
  order_state s;
  order_begin(&s, m, rule, grain);
  int32_t count = 0;
  while (s.entries.count) {
    order_entry entry = order_pop(&s);
    bool old = s.waits[entry.at] < 0 || entry.key != order_key(&s, entry.at);
    if (old) continue;
    out[count++] = entry.at;
    order_take(&s, entry.at);
  }
  order_end(&s);
}

/* ---- The pass ---- */

/* Gives the bytes that are alive in it at most. */
static int64_t order_run(halo_computation *computation, bool is_entry, const int64_t *peaks,
                         bool *changed) {
  bool plain = order_is_plain(computation);
  if (order_read_before_updates(computation)) *changed = true;
  order_memory m;
  order_memory_init(&m, computation, is_entry, peaks);
  size_t bytes = sizeof(int32_t) * ((size_t)m.count + 1);
  int32_t *best = halo_alloc(bytes), *order = halo_alloc(bytes);
  for (int32_t i = 0; i < m.count; i++) order[i] = i;
  int64_t was = order_peak(&m, order), least = was;
  for (int rule = 0; rule < ORDER_RULES && was > ORDER_WORTH && plain; rule++) {
    order_find(&m, (order_rule)rule, was / ORDER_GRAIN, order);
    int64_t peak = order_peak(&m, order);
    if (peak >= least) continue;
    least = peak;
    memcpy(best, order, bytes);
  }
  bool worth = was - least >= ORDER_WORTH && was - least >= was / ORDER_SHARE;
  if (worth) order_apply(computation, best);
  *changed |= worth;
  halo_free(best);
  halo_free(order);
  order_memory_deinit(&m);
  return worth ? least : was;
}

halo_status halo_pass_order(halo_module *module, bool *changed) {
  *changed = false;
  size_t count = (size_t)module->computations.count;
  int64_t *peaks = halo_alloc(sizeof *peaks * (count + 1));
  bool *walked = halo_alloc(count + 1);
  for (int32_t c = 0; c < module->computations.count; c++) module->computations.data[c]->mark = c;
  for (int32_t c = 0; c < module->computations.count; c++) {
    const halo_computation *computation = module->computations.data[c];
    walked[c] |= computation == module->entry;
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      const halo_instr *instr = computation->instrs.data[i];
      if (instr->opcode != HALO_OP_WHILE && instr->opcode != HALO_OP_CONDITIONAL) continue;
      for (int32_t k = 0; k < halo_instr_called_count(instr); k++) {
        walked[halo_instr_called(instr, k)->mark] = true;
      }
    }
  }
  for (int32_t c = 0; c < module->computations.count; c++) {
    halo_computation *computation = module->computations.data[c];
    if (!walked[c]) continue;
    peaks[c] = order_run(computation, computation == module->entry, peaks, changed);
  }
  halo_free(peaks);
  halo_free(walked);
  return HALO_OK;
}
