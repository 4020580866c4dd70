/* SPDX-License-Identifier: Apache-2.0 */
/* builder/host.c: tokens, and exchange with the host. */
#include "builder/build.h"

static const halo_shape *host_token(build_call *call) {
  return halo_shape_new_token(halo_build_arena(call));
}

static const halo_shape *host_pair(build_call *call, const halo_shape *first) {
  const halo_shape *parts[] = {first, host_token(call)};
  return halo_shape_new_tuple(halo_build_arena(call), 2, parts);
}

static halo_attr host_text(build_call *call, halo_attr_id id, const char *text) {
  return (halo_attr){.id = id, .text = halo_arena_strdup(halo_build_arena(call), text)};
}

/* The shape that a caller gave, in the module; NULL after a failure. */
static const halo_shape *host_shape(build_call *call, const halo_shape *shape) {
  if (!call->ok) return NULL;
  if (shape) return halo_shape_clone(halo_build_arena(call), shape);
  halo_build_fail(call, "the shape is NULL");
  return NULL;
}

static halo_instr *host_fresh_token(build_call *call) {
  if (!call->ok) return NULL;
  return halo_build_op(call, HALO_OP_AFTER_ALL, host_token(call), (halo_instr *[3]){NULL}, 0, NULL);
}

static halo_instr *host_part(build_call *call, halo_instr *tuple, int64_t index) {
  if (!tuple) return NULL;
  halo_attr attr = halo_build_int(HALO_ATTR_INDEX, index);
  return halo_build_op(call, HALO_OP_GET_TUPLE_ELEMENT, tuple->shape->elements[index],
                       (halo_instr *[3]){tuple}, 1, &attr);
}

halo_op halo_create_token(halo_builder *builder) {
  build_call call = halo_build_begin(builder, "halo_create_token");
  return halo_build_result(&call, host_fresh_token(&call));
}

halo_op halo_after_all(halo_builder *builder, int count, const halo_op *tokens) {
  build_call call = halo_build_begin(builder, "halo_after_all");
  return halo_build_nary(&call, HALO_OP_AFTER_ALL, count, tokens, 0, NULL);
}

/* ---- Queues ---- */

static halo_instr *host_infeed(build_call *call, halo_instr *token, const halo_shape *shape,
                               const char *config) {
  shape = host_shape(call, shape);
  if (!call->ok || !token) return NULL;
  halo_attr attr = host_text(call, HALO_ATTR_INFEED_CONFIG, config ? config : "");
  return halo_build_op(call, HALO_OP_INFEED, host_pair(call, shape), (halo_instr *[3]){token},
                       config && *config ? 1 : 0, &attr);
}

halo_op halo_infeed(halo_builder *builder, const halo_shape *shape, const char *config) {
  build_call call = halo_build_begin(builder, "halo_infeed");
  halo_instr *pair = host_infeed(&call, host_fresh_token(&call), shape, config);
  return halo_build_result(&call, host_part(&call, pair, 0));
}

halo_op halo_infeed_with_token(halo_op token, const halo_shape *shape, const char *config) {
  build_call call = halo_build_begin_with("halo_infeed_with_token", 1, &token);
  return halo_build_result(&call,
                           host_infeed(&call, halo_build_operand(&call, token), shape, config));
}

static halo_instr *host_outfeed(build_call *call, halo_instr *operand, halo_instr *token,
                                const halo_shape *shape, const char *config) {
  if (!call->ok || !operand || !token) return NULL;
  shape = shape ? halo_shape_clone(halo_build_arena(call), shape) : operand->shape;
  if (!halo_shape_compatible(shape, operand->shape)) {
    halo_build_fail(call, "the shape is not that of the operand");
    return NULL;
  }
  halo_attr attrs[] = {{.id = HALO_ATTR_OUTFEED_SHAPE, .shape = shape},
                       host_text(call, HALO_ATTR_OUTFEED_CONFIG, config ? config : "")};
  return halo_build_op(call, HALO_OP_OUTFEED, host_token(call), (halo_instr *[3]){operand, token},
                       config && *config ? 2 : 1, attrs);
}

halo_op halo_outfeed(halo_op operand, const halo_shape *shape, const char *config) {
  build_call call = halo_build_begin_with("halo_outfeed", 1, &operand);
  return halo_build_result(&call, host_outfeed(&call, halo_build_operand(&call, operand),
                                               host_fresh_token(&call), shape, config));
}

halo_op halo_outfeed_with_token(halo_op operand, halo_op token, const halo_shape *shape,
                                const char *config) {
  halo_op ops[] = {operand, token};
  build_call call = halo_build_begin_with("halo_outfeed_with_token", 2, ops);
  return halo_build_result(&call, host_outfeed(&call, halo_build_operand(&call, operand),
                                               halo_build_operand(&call, token), shape, config));
}

/* ---- Channels ---- */

/* A transfer over a channel: with the host, or with another device. */
typedef struct host_channel {
  int64_t number;
  bool to_host;
} host_channel;

static halo_instr *host_transfer(build_call *call, halo_opcode opcode, const halo_shape *shape,
                                 halo_instr *const operands[3], host_channel channel) {
  if (!call->ok || !shape || !operands[0]) return NULL;
  halo_attr attrs[] = {halo_build_int(HALO_ATTR_CHANNEL_ID, channel.number),
                       halo_build_int(HALO_ATTR_IS_HOST_TRANSFER, 1)};
  return halo_build_op(call, opcode, shape, operands, channel.to_host ? 2 : 1, attrs);
}

/* (data, u32[], token) */
static const halo_shape *host_begun(build_call *call, const halo_shape *data) {
  if (!call->ok || !data) return NULL;
  const halo_shape *parts[] = {data, halo_shape_new(halo_build_arena(call), HALO_U32, 0, NULL),
                               host_token(call)};
  return halo_shape_new_tuple(halo_build_arena(call), 3, parts);
}

static halo_op host_send(build_call *call, halo_instr *data, halo_instr *token,
                         host_channel channel) {
  const halo_shape *begun = host_begun(call, data && token ? data->shape : NULL);
  halo_instr *send =
      host_transfer(call, HALO_OP_SEND, begun, (halo_instr *[3]){data, token}, channel);
  if (!send) return halo_build_result(call, NULL);
  return halo_build_result(call, host_transfer(call, HALO_OP_SEND_DONE, host_token(call),
                                               (halo_instr *[3]){send}, channel));
}

/* (data, token) */
static halo_instr *host_recv(build_call *call, halo_instr *token, const halo_shape *shape,
                             host_channel channel) {
  shape = host_shape(call, shape);
  halo_instr *recv =
      host_transfer(call, HALO_OP_RECV, host_begun(call, shape), (halo_instr *[3]){token}, channel);
  if (!recv) return NULL;
  return host_transfer(call, HALO_OP_RECV_DONE, host_pair(call, shape), (halo_instr *[3]){recv},
                       channel);
}

halo_op halo_send_to_host(halo_op operand, halo_op token, int64_t channel) {
  halo_op ops[] = {operand, token};
  build_call call = halo_build_begin_with("halo_send_to_host", 2, ops);
  return host_send(&call, halo_build_operand(&call, operand), halo_build_operand(&call, token),
                   (host_channel){channel, true});
}

halo_op halo_recv_from_host(halo_op token, const halo_shape *shape, int64_t channel) {
  build_call call = halo_build_begin_with("halo_recv_from_host", 1, &token);
  return halo_build_result(&call, host_recv(&call, halo_build_operand(&call, token), shape,
                                            (host_channel){channel, true}));
}

halo_op halo_send(halo_op operand, int64_t channel) {
  build_call call = halo_build_begin_with("halo_send", 1, &operand);
  return host_send(&call, halo_build_operand(&call, operand), host_fresh_token(&call),
                   (host_channel){channel, false});
}

halo_op halo_send_with_token(halo_op operand, halo_op token, int64_t channel) {
  halo_op ops[] = {operand, token};
  build_call call = halo_build_begin_with("halo_send_with_token", 2, ops);
  return host_send(&call, halo_build_operand(&call, operand), halo_build_operand(&call, token),
                   (host_channel){channel, false});
}

halo_op halo_recv(halo_builder *builder, const halo_shape *shape, int64_t channel) {
  build_call call = halo_build_begin(builder, "halo_recv");
  halo_instr *pair =
      host_recv(&call, host_fresh_token(&call), shape, (host_channel){channel, false});
  return halo_build_result(&call, host_part(&call, pair, 0));
}

halo_op halo_recv_with_token(halo_op token, const halo_shape *shape, int64_t channel) {
  build_call call = halo_build_begin_with("halo_recv_with_token", 1, &token);
  return halo_build_result(&call, host_recv(&call, halo_build_operand(&call, token), shape,
                                            (host_channel){channel, false}));
}
