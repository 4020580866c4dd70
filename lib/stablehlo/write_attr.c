/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/write_attr.c: attributes of HLO instructions as those of StableHLO operations. */
#include "stablehlo/mlir.h"
#include "stablehlo/print.h"
#include "stablehlo/write.h"

#include <inttypes.h>
#include <string.h>

void halo_write_type(halo_strbuf *out, const halo_shape *leaf) {
  if (halo_shape_is_token(leaf)) {
    halo_strbuf_append(out, "!stablehlo.token");
    return;
  }
  const halo_mlir_type type = {
      .kind = HALO_MLIR_TENSOR, .element = leaf->type, .rank = leaf->rank, .dims = leaf->dims};
  halo_mlir_type_print(out, &type);
}

static void attr_name(halo_strbuf *out, const char *name) {
  if (out->length) halo_strbuf_append(out, ", ");
  halo_strbuf_printf(out, "%s = ", name);
}

void halo_write_text(halo_strbuf *out, const char *name, const char *value) {
  attr_name(out, name);
  halo_strbuf_append(out, value);
}

void halo_write_int(halo_strbuf *out, const char *name, int64_t value) {
  attr_name(out, name);
  halo_strbuf_printf(out, "%" PRId64 " : i64", value);
}

void halo_write_flag(halo_strbuf *out, const char *name, bool value) {
  halo_write_text(out, name, value ? "true" : "false");
}

static void attr_ints(halo_strbuf *out, const char *name, const int64_t *data, int32_t count,
                      int32_t step) {
  attr_name(out, name);
  halo_strbuf_append(out, "array<i64");
  for (int32_t i = 0; i < count; i++)
    halo_strbuf_printf(out, "%s%" PRId64, i ? ", " : ": ", data[i * step]);
  halo_strbuf_append(out, ">");
}

void halo_write_ints(halo_strbuf *out, const char *name, const int64_t *data, int32_t count) {
  attr_ints(out, name, data, count, 1);
}

void halo_write_list(halo_strbuf *out, const char *name, const halo_instr *instr, halo_attr_id id,
                     int32_t first, int32_t step) {
  int32_t count;
  const int64_t *data = halo_instr_ints(instr, id, &count);
  attr_ints(out, name, data ? data + first : NULL, count / step, step);
}

void halo_write_enum(halo_strbuf *out, const char *name, const char *kind, const char *value) {
  attr_name(out, name);
  halo_strbuf_printf(out, "#stablehlo<%s ", kind);
  for (; *value; value++)
    halo_strbuf_char(out, *value >= 'a' && *value <= 'z' ? (char)(*value - 'a' + 'A') : *value);
  halo_strbuf_append(out, ">");
}

/* ---- Constants ---- */

enum { ATTR_PLAIN_BYTES = 64 }; /* constants above this are written in hexadecimal digits */

void halo_write_literal(halo_strbuf *out, halo_literal *literal) {
  const halo_shape *shape = literal->shape;
  size_t size = (size_t)halo_shape_byte_size(shape), element = halo_type_size(shape->type);
  const uint8_t *data = literal->data;
  bool splat = size > element && memcmp(data, data + element, size - element) == 0;
  if (splat || size <= ATTR_PLAIN_BYTES) {
    halo_strbuf_append(out, "dense<");
    halo_mlir_print_elements(out, literal);
    halo_strbuf_append(out, "> : ");
    halo_write_type(out, shape);
    return;
  }
  static const char digits[] = "0123456789ABCDEF";
  int bits = halo_type_bits(shape->type);
  uint8_t mask = bits < 8 ? (uint8_t)((1 << bits) - 1) : 0xff;
  halo_strbuf_append(out, "dense<\"0x");
  for (size_t i = 0; i < size; i++) {
    uint8_t byte = data[i] & mask;
    halo_strbuf_char(out, digits[byte >> 4]);
    halo_strbuf_char(out, digits[byte & 15]);
  }
  halo_strbuf_append(out, "\"> : ");
  halo_write_type(out, shape);
}

/* ---- Windows ---- */

static int64_t attr_window_part(const halo_window_dim *dim, int part) {
  const int64_t parts[] = {dim->size,    dim->stride,  dim->base_dilation, dim->window_dilation,
                           dim->pad_low, dim->pad_high};
  return parts[part];
}

static void attr_window_ints(halo_strbuf *out, const char *name, const halo_attr *window, int part,
                             bool always) {
  int64_t values[HALO_MAX_RANK];
  bool any = always;
  for (int32_t d = 0; d < window->window.count; d++) {
    values[d] = attr_window_part(&window->window.data[d], part);
    any = any || values[d] != 1;
  }
  if (any) halo_write_ints(out, name, values, window->window.count);
}

void halo_write_window(halo_strbuf *out, const halo_instr *instr, bool conv) {
  const halo_attr *window = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  if (!window) return;
  int32_t count = window->window.count;
  if (!conv) attr_window_ints(out, "window_dimensions", window, 0, true);
  attr_window_ints(out, "window_strides", window, 1, false);
  attr_window_ints(out, conv ? "lhs_dilation" : "base_dilations", window, 2, false);
  attr_window_ints(out, conv ? "rhs_dilation" : "window_dilations", window, 3, false);
  bool pads = false, turns = false;
  for (int32_t d = 0; d < count; d++) {
    const halo_window_dim *dim = &window->window.data[d];
    pads = pads || dim->pad_low || dim->pad_high;
    turns = turns || dim->reversal;
  }
  if (pads) {
    attr_name(out, "padding");
    for (int32_t d = 0; d < count; d++)
      halo_strbuf_printf(out, "%s[%" PRId64 ", %" PRId64 "]", d ? ", " : "dense<[",
                         window->window.data[d].pad_low, window->window.data[d].pad_high);
    halo_strbuf_printf(out, "]> : tensor<%dx2xi64>", count);
  }
  if (!turns) return;
  attr_name(out, "window_reversal");
  for (int32_t d = 0; d < count; d++)
    halo_strbuf_printf(out, "%s%s",
                       d ? ", " : "array<i1: ", window->window.data[d].reversal ? "true" : "false");
  halo_strbuf_append(out, ">");
}

/* ---- Products and functions ---- */

void halo_write_precision(halo_strbuf *out, const halo_instr *instr) {
  int32_t count;
  const int64_t *data = halo_instr_ints(instr, HALO_ATTR_OPERAND_PRECISION, &count);
  if (count != 2) return;
  halo_strbuf list = {0};
  for (int i = 0; i < 2; i++) {
    halo_strbuf one = {0};
    halo_write_enum(&one, "p", "precision", halo_precision_names[data[i]]);
    halo_strbuf_printf(&list, "%s%s", i ? ", " : "[", halo_strbuf_text(&one) + strlen("p = "));
    halo_strbuf_deinit(&one);
  }
  halo_strbuf_append(&list, "]");
  halo_write_text(out, "precision_config", halo_strbuf_text(&list));
  halo_strbuf_deinit(&list);
}

/* ---- Collectives ---- */

void halo_write_collective(halo_strbuf *out, const halo_instr *instr) {
  const halo_attr *attr = halo_instr_attr(instr, HALO_ATTR_REPLICA_GROUPS);
  const halo_groups *groups = attr ? attr->groups : NULL;
  int32_t most = 0, count = groups ? groups->count : 0;
  for (int32_t g = 0; g < count; g++) {
    int32_t size = groups->starts[g + 1] - groups->starts[g];
    if (size > most) most = size;
  }
  attr_name(out, "replica_groups");
  halo_strbuf_append(out, "dense<");
  for (int32_t g = 0; g < count && most; g++) {
    halo_strbuf_append(out, g ? ", [" : "[[");
    for (int32_t i = 0; i < most; i++) {
      int32_t at = groups->starts[g] + i;
      halo_strbuf_printf(out, "%s%" PRId64, i ? ", " : "",
                         at < groups->starts[g + 1] ? groups->ids[at] : -1);
    }
    halo_strbuf_append(out, "]");
  }
  halo_strbuf_printf(out, "%s> : tensor<%dx%dxi64>", count && most ? "]" : "", most ? count : 0,
                     most);
  int64_t channel = halo_instr_int(instr, HALO_ATTR_CHANNEL_ID, 0);
  if (channel > 0) {
    attr_name(out, "channel_handle");
    halo_strbuf_printf(out, "#stablehlo.channel_handle<handle = %" PRId64 ", type = 1>", channel);
  }
  if (halo_instr_bool(instr, HALO_ATTR_USE_GLOBAL_DEVICE_IDS, false))
    halo_strbuf_append(out, ", use_global_device_ids");
}
