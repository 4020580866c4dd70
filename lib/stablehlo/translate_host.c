/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_host.c: random numbers, and what goes to the host and comes from it. */
#include "stablehlo/translate.h"

#include <inttypes.h>
#include <string.h>

/* ---- Random numbers ---- */

static halo_attr host_word(halo_translator *t, halo_attr_id id, const char *word) {
  halo_arena scratch = {0};
  halo_attr attr = halo_translate_enum(t, id, halo_arena_printf(&scratch, "rng_%s", word));
  halo_arena_deinit(&scratch);
  return attr;
}

void halo_translate_op_rng(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operands[2] = {halo_translate_operand(t, op, 0), halo_translate_operand(t, op, 1)};
  const halo_shape *shape = halo_translate_declared(t, op, 0);
  if (!shape && halo_translate_ok(t)) {
    int32_t rank;
    const int64_t *dims = halo_translate_known_operand(t, op, 2, -1, &rank);
    if (dims) shape = halo_translate_array(t, op->results[0].type->element, rank, dims);
  }
  halo_attr attr =
      host_word(t, HALO_ATTR_DISTRIBUTION, halo_mlir_string(op, "rng_distribution", ""));
  halo_translate_results(t, op, halo_translate_emit(t, HALO_OP_RNG, shape, operands, 2, &attr, 1));
}

void halo_translate_op_rng_bits(halo_translator *t, halo_mlir_op *op) {
  halo_instr *state = halo_translate_operand(t, op, 0);
  const halo_shape *shape = halo_translate_declared_all(t, op);
  if (!shape && halo_translate_ok(t)) {
    halo_translate_refuse(t, "the extents of the result are not known");
  }
  halo_attr attr = host_word(t, HALO_ATTR_RNG_ALGORITHM, halo_mlir_string(op, "rng_algorithm", ""));
  halo_translate_results(
      t, op, halo_translate_emit(t, HALO_OP_RNG_BIT_GENERATOR, shape, &state, 1, &attr, 1));
}

/* ---- Queues ---- */

/* The first `count` results as a tuple. */
static const halo_shape *host_results(halo_translator *t, const halo_mlir_op *op, int32_t count) {
  const halo_shape **parts = halo_arena_array(t->arena, const halo_shape *, count + 1);
  for (int32_t i = 0; i < count; i++) {
    parts[i] = halo_translate_type(t, op->results[i].type);
    if (!parts[i]) return NULL;
  }
  return halo_shape_new_tuple(t->arena, count, parts);
}

static const halo_shape *host_with_token(halo_translator *t, const halo_shape *data) {
  if (!data) return NULL;
  const halo_shape *parts[] = {data, halo_shape_new_token(t->arena)};
  return halo_shape_new_tuple(t->arena, 2, parts);
}

/* `count` results are the elements of the pair's tuple, or its first half; the last one is its token. */
static void host_take_apart(halo_translator *t, halo_mlir_op *op, halo_instr *pair, bool tuple) {
  int32_t count = op->result_count - 1;
  halo_instr *data = count ? halo_translate_element(t, pair, 0) : NULL;
  for (int32_t i = 0; i < count; i++) {
    halo_translate_result(t, op, i, tuple ? halo_translate_element(t, data, i) : data);
  }
  halo_translate_result(t, op, count, halo_translate_element(t, pair, 1));
}

void halo_translate_op_infeed(halo_translator *t, halo_mlir_op *op) {
  halo_instr *token = halo_translate_operand(t, op, 0);
  if (op->result_count < 1) halo_translate_wrong(t, "expected a token among the results");
  if (!halo_translate_ok(t)) return;
  const halo_shape *shape = host_with_token(t, host_results(t, op, op->result_count - 1));
  const char *config = halo_mlir_string(op, "infeed_config", "");
  halo_attr attr = halo_translate_text(t, HALO_ATTR_INFEED_CONFIG, config);
  halo_instr *pair =
      halo_translate_emit(t, HALO_OP_INFEED, shape, &token, 1, &attr, *config ? 1 : 0);
  host_take_apart(t, op, pair, true);
}

void halo_translate_op_outfeed(halo_translator *t, halo_mlir_op *op) {
  halo_instr **all = halo_translate_operands(t, op);
  int32_t count = op->operand_count - 1;
  if (count < 0) halo_translate_wrong(t, "expected a token");
  if (!halo_translate_ok(t)) return;
  halo_instr *data = halo_translate_emit(t, HALO_OP_TUPLE, NULL, all, count, NULL, 0);
  if (!data) return;
  const char *config = halo_mlir_string(op, "outfeed_config", "");
  halo_attr attrs[] = {{.id = HALO_ATTR_OUTFEED_SHAPE, .shape = data->shape},
                       halo_translate_text(t, HALO_ATTR_OUTFEED_CONFIG, config)};
  halo_instr *operands[] = {data, all[count]};
  halo_translate_results(t, op,
                         halo_translate_emit(t, HALO_OP_OUTFEED, halo_shape_new_token(t->arena),
                                             operands, 2, attrs, *config ? 2 : 1));
}

/* ---- Channels ---- */

enum { HOST_CHANNEL_ATTRS = 3 };

/* Between devices the pairs go along as a frontend attribute, which is where HLO has them. */
static int32_t host_channel(halo_translator *t, const halo_mlir_op *op, halo_attr *attrs) {
  int32_t count = 0, numbers = 0;
  attrs[count++] = halo_translate_int(HALO_ATTR_CHANNEL_ID, halo_mlir_int(op, "channel_id", 0));
  if (halo_mlir_int(op, "is_host_transfer", 0)) {
    attrs[count++] = halo_translate_int(HALO_ATTR_IS_HOST_TRANSFER, 1);
  }
  const halo_mlir_attr *listed = halo_mlir_attr_of(op, "source_target_pairs");
  const int64_t *pairs =
      listed ? halo_translate_pairs(t, op, "source_target_pairs", -1, &numbers) : NULL;
  if (numbers < 2 || !pairs) return count;
  halo_strbuf text = {0};
  for (int32_t i = 0; i + 1 < numbers; i += 2) {
    halo_strbuf_printf(&text, "%s{%" PRId64 ",%" PRId64 "}", i ? "," : "{", pairs[i], pairs[i + 1]);
  }
  halo_strbuf_append(&text, "}");
  const char **strings = halo_arena_array(t->arena, const char *, 2);
  strings[0] = "_xla_send_recv_source_target_pairs";
  strings[1] = halo_arena_strdup(t->arena, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  attrs[count] = (halo_attr){.id = HALO_ATTR_FRONTEND_ATTRIBUTES};
  attrs[count].strings.data = strings;
  attrs[count].strings.count = 2;
  /* An operation's own would stand there twice. */
  int32_t kept = 0;
  for (int32_t i = 0; i < t->note_count; i++) {
    if (t->notes[i].id != HALO_ATTR_FRONTEND_ATTRIBUTES) t->notes[kept++] = t->notes[i];
  }
  t->note_count = kept;
  return count + 1;
}

/* (data, u32[], token), which is what a transfer under way is. */
static const halo_shape *host_transfer(halo_translator *t, const halo_shape *data) {
  if (!data) return NULL;
  const halo_shape *parts[] = {data, halo_shape_new(t->arena, HALO_U32, 0, NULL),
                               halo_shape_new_token(t->arena)};
  return halo_shape_new_tuple(t->arena, 3, parts);
}

void halo_translate_op_send(halo_translator *t, halo_mlir_op *op) {
  halo_instr **all = halo_translate_operands(t, op);
  int32_t count = op->operand_count - 1;
  if (count < 0) halo_translate_wrong(t, "expected a token");
  if (!halo_translate_ok(t)) return;
  halo_instr *data = halo_translate_pack(t, all, count);
  if (!data) return;
  halo_attr attrs[HOST_CHANNEL_ATTRS];
  int32_t attr_count = host_channel(t, op, attrs);
  halo_instr *operands[] = {data, all[count]};
  halo_instr *send = halo_translate_emit(t, HALO_OP_SEND, host_transfer(t, data->shape), operands,
                                         2, attrs, attr_count);
  halo_translate_results(t, op,
                         halo_translate_emit(t, HALO_OP_SEND_DONE, halo_shape_new_token(t->arena),
                                             &send, 1, attrs, attr_count));
}

void halo_translate_op_recv(halo_translator *t, halo_mlir_op *op) {
  halo_instr *token = halo_translate_operand(t, op, 0);
  int32_t count = op->result_count - 1;
  if (count < 0) halo_translate_wrong(t, "expected a token among the results");
  if (!halo_translate_ok(t)) return;
  const halo_shape *data = host_results(t, op, count);
  if (data && count == 1) data = data->elements[0];
  halo_attr attrs[HOST_CHANNEL_ATTRS];
  int32_t attr_count = host_channel(t, op, attrs);
  halo_instr *recv =
      halo_translate_emit(t, HALO_OP_RECV, host_transfer(t, data), &token, 1, attrs, attr_count);
  halo_instr *done = halo_translate_emit(t, HALO_OP_RECV_DONE, host_with_token(t, data), &recv, 1,
                                         attrs, attr_count);
  if (!done) return;
  halo_attr sharding;
  if (halo_translate_sharding(t, op->attrs, op->attr_count, done->shape, &sharding)) {
    halo_instr_set_attr(done, &sharding);
  }
  host_take_apart(t, op, done, count > 1);
}
