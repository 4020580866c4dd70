/* SPDX-License-Identifier: Apache-2.0 */
/* passes/memory/order.h: the order in which instructions run, and the memory that it takes.
 *
 * In: a module after fusion, in the order that the passes left. Out: the same instructions in an order in which arrays are
 * read before they are updated in place (order_updates.c), and, where it is worth it, less memory is alive at once
 * (order.c, by what order_memory.c says that an order costs).
 *
 * A step is an instruction that a plan makes memory for; a value is one leaf of what it makes. Everything goes by
 * positions in the computation before it is ordered. */
#ifndef HALO_PASSES_MEMORY_ORDER_H
#define HALO_PASSES_MEMORY_ORDER_H

#include "hlo/hlo.h"

/* Lists by position or value: those of i are list[first[i]] .. list[first[i + 1] - 1]. */
typedef struct order_lists {
  int32_t *first, *list;
} order_lists;

/* Bytes of an array that may be copied, where an update in place would otherwise constrain the order. */
enum { ORDER_SMALL = 1024 };

typedef struct order_pair {
  int32_t from, to;
} order_pair;
typedef HALO_VEC(order_pair) order_pairs;

/* Of each of `count` numbers the list of those that a pair leads to, in the order of the pairs. The caller frees it with
 * order_lists_deinit. */
order_lists order_lists_make(const order_pairs *pairs, int32_t count);
void order_lists_deinit(order_lists *lists);

typedef struct order_memory {
  halo_computation *computation;
  int32_t count;       /* instructions */
  int32_t value_count; /* of values that are numbered */
  int32_t *made;       /* [count + 1] by position: the first value that it makes */
  int64_t *bytes;      /* by value; 0 where its memory is there anyway */
  bool *kept;          /* by value: at the end it is still needed */
  order_lists reads;   /* by step: values, each once */
  bool *in_place;      /* of reads.list: what the step makes may take its memory over */
  order_lists readers; /* by value: steps */
  order_lists behind;  /* by position: what has to come behind it, perhaps more than once */
  int64_t *inner;      /* by position: bytes that are alive within it at most */
} order_memory;

/* `is_entry`: results have memory of their own. `peaks`: of each computation that is called, by its `mark`. */
void order_memory_init(order_memory *m, halo_computation *computation, bool is_entry,
                       const int64_t *peaks);
void order_memory_deinit(order_memory *m);
/* Bit o: operand o is one that an instruction of this kind writes its result over where it dies. */
uint64_t order_updated(const halo_instr *instr);
/* Whether an array's memory cannot be written over: a constant's, and that of the entry's parameters where callers give none
 * away. */
bool order_is_fixed(const halo_instr *array);
/* Whether an instruction does what others see, or something between devices. */
bool order_is_seen(const halo_instr *instr);
/* Whether a computation's instructions may be moved: starts and ends of what runs meanwhile have places of their own. */
bool order_is_plain(const halo_computation *computation);
/* Puts readers of arrays before updates of them. Gives whether anything was moved. */
bool order_read_before_updates(halo_computation *computation);
/* Puts the instructions of a computation into an order of their positions. */
void order_apply(halo_computation *computation, const int32_t *order);
/* Bytes that all values of a step have. */
int64_t order_made_bytes(const order_memory *m, int32_t at);
/* The most bytes that are alive at once in an order of all positions. */
int64_t order_peak(const order_memory *m, const int32_t *order);

#endif
