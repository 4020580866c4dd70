/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lower_host.c: values from the host and to it: infeed, outfeed, and transfers by channel. */
#include "plan/lowering.h"

/* A step whose arguments are the leaves of a value that are arrays. */
static void host_step(lower_state *s, halo_instr *instr, halo_steps *steps, bool in,
                      const halo_shape *shape, const int32_t *leaves, int64_t channel) {
  int32_t all, count = 0;
  const halo_shape **shapes = lower_leaf_shapes(s, shape, &all);
  for (int32_t l = 0; l < all; l++) count += leaves[l] >= 0 && halo_shape_byte_size(shapes[l]) > 0;
  halo_step *step = lower_step(s, steps, in ? HALO_STEP_IN : HALO_STEP_OUT, instr->name);
  step->host_shape = halo_shape_clone(&s->plan->arena, shape);
  step->channel = channel;
  lower_set_args(s, step, count);
  for (int32_t l = 0, a = 0; l < all; l++) {
    if (leaves[l] < 0 || halo_shape_byte_size(shapes[l]) == 0) continue;
    lower_arg(s, step, a++, leaves[l], 1, in);
  }
}

/* Buffers for the leaves of a value that comes in; the rest of the instruction's leaves are tokens and
 * what nobody reads. */
static int32_t *host_take(lower_state *s, halo_instr *instr, const halo_shape *data) {
  int32_t *leaves = lower_leaves(s, instr), count, all = halo_shape_leaf_count(instr->shape);
  const halo_shape **shapes = lower_leaf_shapes(s, data, &count);
  for (int32_t l = 0; l < all; l++) {
    bool array = l < count && halo_shape_is_array(shapes[l]);
    leaves[l] = array ? lower_temp(s, shapes[l], instr->name) : LOWER_NO_BUFFER;
  }
  return leaves;
}

static halo_status host_refuse(const halo_instr *instr, const char *why) {
  return halo_fail(HALO_UNIMPLEMENTED, "line %d: %s: %s", instr->line, instr->name, why);
}

/* An empty tuple is no item of a queue, either way. */
static halo_status host_infeed(lower_state *s, halo_instr *instr, halo_steps *steps) {
  const halo_shape *shape = instr->shape;
  const int32_t *leaves = host_take(s, instr, shape->elements[0]);
  if (halo_shape_leaf_count(shape->elements[0]) == 0) return HALO_OK;
  host_step(s, instr, steps, true, shape->elements[0], leaves, -1);
  return HALO_OK;
}

static halo_status host_outfeed(lower_state *s, halo_instr *instr, halo_steps *steps) {
  const halo_shape *shape = instr->operands[0]->shape;
  lower_leaves(s, instr)[0] = LOWER_NO_BUFFER;
  if (halo_shape_leaf_count(shape) == 0) return HALO_OK;
  host_step(s, instr, steps, false, shape, lower_value(instr->operands[0]), -1);
  return HALO_OK;
}

static int64_t host_channel(const halo_instr *instr) {
  return halo_instr_int(instr, HALO_ATTR_CHANNEL_ID, 0);
}

static bool host_is_transfer(const halo_instr *instr) {
  return halo_instr_int(instr, HALO_ATTR_IS_HOST_TRANSFER, 0) != 0;
}

/* (data, u32[], token): what is sent is gone when the send is done with it. */
static halo_status host_send(lower_state *s, halo_instr *instr, halo_steps *steps) {
  if (!host_is_transfer(instr)) {
    return host_refuse(instr, "sending from one device to another cannot run yet");
  }
  const int32_t *data = lower_value(instr->operands[0]);
  int32_t *leaves = lower_leaves(s, instr), all = halo_shape_leaf_count(instr->shape);
  int32_t count = halo_shape_leaf_count(instr->operands[0]->shape);
  for (int32_t l = 0; l < all; l++) leaves[l] = l < count ? data[l] : LOWER_NO_BUFFER;
  host_step(s, instr, steps, false, instr->operands[0]->shape, data, host_channel(instr));
  return HALO_OK;
}

/* The value comes when the recv-done asks for it: (data, u32[], token) becomes (data, token). */
static halo_status host_recv(lower_state *s, halo_instr *instr, halo_steps *steps) {
  (void)steps;
  if (!host_is_transfer(instr)) {
    return host_refuse(instr, "receiving from another device cannot run yet");
  }
  int32_t *leaves = lower_leaves(s, instr), all = halo_shape_leaf_count(instr->shape);
  for (int32_t l = 0; l < all; l++) leaves[l] = LOWER_NO_BUFFER;
  return HALO_OK;
}

static halo_status host_recv_done(lower_state *s, halo_instr *instr, halo_steps *steps) {
  const halo_instr *recv = instr->operands[0];
  const halo_shape *shape = instr->shape;
  if (recv->opcode != HALO_OP_RECV) return host_refuse(instr, "a recv-done takes a recv");
  const int32_t *leaves = host_take(s, instr, shape->elements[0]);
  host_step(s, instr, steps, true, shape->elements[0], leaves, host_channel(recv));
  return HALO_OK;
}

static halo_status host_send_done(lower_state *s, halo_instr *instr, halo_steps *steps) {
  (void)steps;
  lower_leaves(s, instr)[0] = LOWER_NO_BUFFER;
  return HALO_OK;
}

typedef halo_status host_rule(lower_state *s, halo_instr *instr, halo_steps *steps);
static host_rule *const host_rules[HALO_OPCODE_COUNT] = {
    [HALO_OP_INFEED] = host_infeed, [HALO_OP_OUTFEED] = host_outfeed,
    [HALO_OP_SEND] = host_send,     [HALO_OP_SEND_DONE] = host_send_done,
    [HALO_OP_RECV] = host_recv,     [HALO_OP_RECV_DONE] = host_recv_done,
};

halo_status lower_host(lower_state *s, halo_instr *instr, halo_steps *steps) {
  host_rule *rule = host_rules[instr->opcode];
  return rule ? rule(s, instr, steps) : halo_emitter_check(instr);
}
