/* SPDX-License-Identifier: Apache-2.0 */
/* plan/region_pack.c: how many buffers a region's kernel has, and the memory that its own ones share where these are too many
 * for arguments of a kernel. */
#include "plan/region_text.h"

#include "base/memory.h"

/* Arguments of a kernel whose buffers are packed: the memory of its own, and the constants. */
enum { PACK_ARGUMENTS = 2, PACK_ALIGNMENT = 128 /* bytes, as in arenas */ };

/* ---- Counting ---- */

/* Whether nobody needs what is in it before the step of number `first` or behind that of number `last`. */
static bool pack_is_own(const halo_plan_buffer *buffer, int32_t first, int32_t last) {
  return buffer->place == HALO_PLACE_TEMP && buffer->first >= first && buffer->last <= last;
}

/* A buffer's stamp counts from that of the run at hand; less: it has not been met. */
enum {
  PACK_COUNTED,
  PACK_PACKED,
  PACK_KEPT,   /* it was counted; the host needs it, too */
  PACK_HOSTED, /* only the host needs it so far */
  PACK_STAMPS
};

static void pack_count(region_state *e, region_buffers *sum, int32_t number, int32_t first) {
  const halo_plan_buffer *buffer = &e->s->plan->buffers.data[number];
  bool constant = buffer->place == HALO_PLACE_CONSTANT;
  int32_t *stamp = &e->stamps[number];
  bool hosted = *stamp == e->stamp + PACK_HOSTED;
  if (*stamp < e->stamp || hosted) {
    *stamp = e->stamp + (hosted ? PACK_KEPT : PACK_COUNTED);
    sum->all++;
    sum->fixed += !constant && (hosted || !pack_is_own(buffer, 0, sum->last));
  }
  if (*stamp == e->stamp && (constant || pack_is_own(buffer, first, sum->last))) {
    *stamp = e->stamp + PACK_PACKED;
    sum->packed++;
  }
}

/* Buffers that the host uses keep their places, whoever else uses them. */
static void pack_keep(region_state *e, region_buffers *sum, int32_t number) {
  const halo_plan_buffer *buffer = &e->s->plan->buffers.data[number];
  if (buffer->place == HALO_PLACE_CONSTANT) return;
  int32_t *stamp = &e->stamps[number], is = *stamp - e->stamp;
  if (is < 0) *stamp = e->stamp + PACK_HOSTED;
  if (is != PACK_COUNTED && is != PACK_PACKED) return;
  sum->packed -= is == PACK_PACKED;
  sum->fixed += pack_is_own(buffer, 0, sum->last);
  *stamp = e->stamp + PACK_KEPT;
}

static void pack_count_hosted(region_state *e, region_buffers *sum, const halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    for (int32_t a = 0; a < step->arg_count; a++) pack_keep(e, sum, step->args[a].buffer);
    for (int32_t x = 0; x < step->exchange_count; x++) {
      pack_keep(e, sum, step->exchanges[x].state);
      pack_keep(e, sum, step->exchanges[x].next);
    }
    for (int32_t l = 0; l < step->list_count; l++) pack_count_hosted(e, sum, &step->lists[l]);
  }
}

static void pack_count_step(region_state *e, region_buffers *sum, const halo_step *step,
                            int32_t first) {
  for (int32_t a = 0; a < step->arg_count; a++) pack_count(e, sum, step->args[a].buffer, first);
  for (int32_t i = 0; i < step->exchange_count; i++) {
    pack_count(e, sum, step->exchanges[i].state, first);
    pack_count(e, sum, step->exchanges[i].next, first);
  }
  for (int32_t l = 0; l < step->list_count; l++) {
    if (region_is_hosted(step, l)) pack_count_hosted(e, sum, &step->lists[l]);
    for (int32_t i = 0; !region_is_hosted(step, l) && i < step->lists[l].count; i++) {
      pack_count_step(e, sum, &step->lists[l].data[i], first);
    }
  }
}

/* The last number of what belongs to a step, its ends of loops and branches among them where numbers have no gaps. */
static int32_t pack_end(const halo_step *step) {
  int32_t last = step->number;
  for (int32_t l = 0; l < step->list_count; l++) {
    int32_t count = step->lists[l].count;
    int32_t inner = count ? pack_end(&step->lists[l].data[count - 1]) : last;
    if (inner > last) last = inner;
  }
  return last + (step->list_count > 0);
}

void region_begin_buffers(region_state *e, region_buffers *sum, const halo_steps *steps,
                          int32_t end) {
  *sum = (region_buffers){.last = INT32_MAX};
  if (end + 1 < steps->count) {
    sum->last = steps->data[end + 1].number - 1;
  } else if (e->depth > 0) {
    sum->last = pack_end(&steps->data[end]);
  }
  e->stamp += PACK_STAMPS;
}

void region_add_buffers(region_state *e, region_buffers *sum, const halo_step *step) {
  pack_count_step(e, sum, step, step->number);
}

bool region_is_packed(const region_state *e, const region_buffers *sum) {
  return sum->all + REGION_PLACES > e->most_buffers;
}

bool region_buffers_fit(const region_state *e, const region_buffers *sum) {
  int32_t left = sum->all - sum->packed + PACK_ARGUMENTS;
  return !region_is_packed(e, sum) || left + REGION_PLACES <= e->most_buffers;
}

bool region_buffers_exceed(const region_state *e, const region_buffers *sum) {
  return sum->fixed + PACK_ARGUMENTS + REGION_PLACES > e->most_buffers;
}

/* ---- Packing ---- */

typedef HALO_VEC(int32_t) pack_list;

static void pack_collect(region_state *e, pack_list *own, int32_t number) {
  bool packed = e->stamps[number] == e->stamp + PACK_PACKED;
  if (!packed || e->s->plan->buffers.data[number].place != HALO_PLACE_TEMP) return;
  e->stamps[number] = e->stamp;
  halo_vec_push(own, number);
}

static void pack_collect_step(region_state *e, pack_list *own, const halo_step *step) {
  for (int32_t a = 0; a < step->arg_count; a++) pack_collect(e, own, step->args[a].buffer);
  for (int32_t i = 0; i < step->exchange_count; i++) {
    pack_collect(e, own, step->exchanges[i].state);
    pack_collect(e, own, step->exchanges[i].next);
  }
  for (int32_t l = 0; l < step->list_count; l++) {
    for (int32_t i = 0; i < step->lists[l].count; i++) {
      pack_collect_step(e, own, &step->lists[l].data[i]);
    }
  }
}

void region_pack(region_state *e, region_run *run) {
  halo_plan *plan = e->s->plan;
  pack_list own = {0};
  for (int32_t i = 0; i < run->count; i++) pack_collect_step(e, &own, &run->steps[i]);
  int64_t bytes = halo_plan_assign_part(plan, own.data, own.count, PACK_ALIGNMENT);
  run->own = lower_buffer(e->s, HALO_PLACE_TEMP, 0, bytes, "memory of a region");
  for (int32_t i = 0; i < own.count; i++) {
    halo_plan_buffer *buffer = &plan->buffers.data[own.data[i]];
    lower_touch(e->s, run->own, buffer->first);
    lower_touch(e->s, run->own, buffer->last);
    buffer->place = HALO_PLACE_NONE;
    e->is_own[own.data[i]] = true;
  }
  run->constants =
      lower_buffer(e->s, HALO_PLACE_CONSTANT, 0, plan->constant_bytes, "constants of a region");
  halo_vec_deinit(&own);
}
