/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/infer_util.c: the checks that many inference functions make. */
#include "hlo/infer_util.h"

#include <stdio.h>
#include <string.h>

enum { INFER_SHOWN_OPERANDS = 12, INFER_SHOWN_TEXT = 400 };

halo_status halo_infer_fail(const halo_instr *instr, const char *format, ...) {
  char rule[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(rule, sizeof rule, format, args);
  va_end(args);
  halo_strbuf text = {0};
  for (int32_t i = 0; i < instr->operand_count; i++) {
    if (i) halo_strbuf_append(&text, ", ");
    if (i == INFER_SHOWN_OPERANDS) {
      halo_strbuf_append(&text, "...");
      break;
    }
    if (!instr->operands[i] || !instr->operands[i]->shape) {
      halo_strbuf_append(&text, "<none>");
      continue;
    }
    halo_strbuf shape = {0};
    halo_shape_print(&shape, instr->operands[i]->shape, false);
    if (shape.length > INFER_SHOWN_TEXT) {
      halo_strbuf_append_n(&text, halo_strbuf_text(&shape), INFER_SHOWN_TEXT);
      halo_strbuf_append(&text, "...");
    } else {
      halo_strbuf_append(&text, halo_strbuf_text(&shape));
    }
    halo_strbuf_deinit(&shape);
  }
  halo_status status = halo_fail(HALO_INVALID_ARGUMENT, "%s(%s): %s",
                                 halo_opcode_name(instr->opcode), halo_strbuf_text(&text), rule);
  halo_strbuf_deinit(&text);
  return status;
}

halo_status halo_infer_need_arrays(const halo_instr *instr, int32_t from) {
  for (int32_t i = from; i < instr->operand_count; i++) {
    if (!halo_shape_is_array(halo_infer_operand(instr, i))) {
      return halo_infer_fail(instr, "operand %d must be an array", i);
    }
  }
  return HALO_OK;
}

halo_status halo_infer_need_written(const halo_instr *instr) {
  if (!instr->shape) return halo_infer_fail(instr, "the result shape must be written");
  if (!halo_shape_is_array(instr->shape)) {
    return halo_infer_fail(instr, "the result must be an array");
  }
  return HALO_OK;
}

static halo_status infer_walk_size(const halo_instr *instr, const halo_shape *shape, int depth,
                                   int *nodes) {
  if (depth > HALO_MAX_SHAPE_DEPTH) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s: the result nests tuples deeper than %d",
                     halo_opcode_name(instr->opcode), HALO_MAX_SHAPE_DEPTH);
  }
  if (++*nodes > HALO_MAX_SHAPE_NODES) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s: the result has more than %d tuple elements",
                     halo_opcode_name(instr->opcode), HALO_MAX_SHAPE_NODES);
  }
  if (halo_shape_is_array(shape)) {
    halo_status status = halo_shape_check_array(shape->type, shape->rank, shape->dims);
    return halo_fail_in(status, "%s: the result", halo_opcode_name(instr->opcode));
  }
  for (int i = 0; i < shape->count; i++) {
    HALO_TRY(infer_walk_size(instr, shape->elements[i], depth + 1, nodes));
  }
  return HALO_OK;
}

halo_status halo_infer_check_size(const halo_instr *instr, const halo_shape *shape) {
  int nodes = 0;
  return infer_walk_size(instr, shape, 0, &nodes);
}

bool halo_infer_types_agree(halo_type a, halo_type b) {
  return a == b || (halo_type_is_float(a) && halo_type_is_float(b));
}

halo_type halo_infer_higher_type(halo_type a, halo_type b) {
  int left[5], right[5];
  for (int side = 0; side < 2; side++) {
    halo_type type = side ? b : a;
    int *rank = side ? right : left;
    rank[0] = halo_type_is_complex(type);
    rank[1] = halo_type_exponent_bits(type);
    rank[2] = halo_type_mantissa_bits(type);
    rank[3] = halo_type_bits(type);
    rank[4] = halo_type_is_sint(type);
  }
  for (int i = 0; i < 5; i++) {
    if (left[i] != right[i]) return left[i] > right[i] ? a : b;
  }
  return a;
}

halo_type halo_infer_result_type(const halo_instr *instr, halo_type a, halo_type b) {
  if (a != b && instr->shape && (instr->shape->type == a || instr->shape->type == b)) {
    return instr->shape->type;
  }
  return halo_infer_higher_type(a, b);
}

halo_status halo_infer_check_dims(const halo_instr *instr, halo_attr_id id, int rank, bool sorted,
                                  bool *seen) {
  bool own[HALO_MAX_RANK] = {false};
  if (!seen) seen = own;
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, id, &count);
  for (int32_t i = 0; i < count; i++) {
    if (dims[i] < 0 || dims[i] >= rank) {
      return halo_infer_fail(instr, "%s entry %lld is outside 0 to %d", halo_attr_name(id),
                             (long long)dims[i], rank - 1);
    }
    if (seen[dims[i]]) {
      return halo_infer_fail(instr, "%s names dimension %lld a second time", halo_attr_name(id),
                             (long long)dims[i]);
    }
    if (sorted && i > 0 && dims[i] <= dims[i - 1]) {
      return halo_infer_fail(instr, "%s must be in increasing order", halo_attr_name(id));
    }
    seen[dims[i]] = true;
  }
  return HALO_OK;
}

halo_status halo_infer_one_dim(const halo_instr *instr, int rank, int *out) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  if (count != 1) return halo_infer_fail(instr, "dimensions must name exactly one dimension");
  HALO_TRY(halo_infer_check_dims(instr, HALO_ATTR_DIMENSIONS, rank, false, NULL));
  *out = (int)dims[0];
  return HALO_OK;
}

halo_status halo_infer_comp(const halo_instr *instr, halo_attr_id id,
                            const halo_computation **out) {
  const halo_computation *computation = halo_instr_comp(instr, id);
  if (!computation) {
    return halo_infer_fail(instr, "the computation %s is missing", halo_attr_name(id));
  }
  if (!computation->root || !computation->root->shape) {
    return halo_infer_fail(instr, "the computation %s has no root", computation->name);
  }
  for (int32_t i = 0; i < computation->params.count; i++) {
    if (!computation->params.data[i] || !computation->params.data[i]->shape) {
      return halo_infer_fail(instr, "the computation %s has no parameter %d", computation->name, i);
    }
  }
  *out = computation;
  return HALO_OK;
}

halo_status halo_infer_scalar_params(const halo_instr *instr, const halo_computation *computation,
                                     int32_t count) {
  if (computation->params.count != count) {
    return halo_infer_fail(instr, "the computation %s must take %d parameter%s, but takes %d",
                           computation->name, count, halo_plural(count), computation->params.count);
  }
  for (int32_t i = 0; i < count; i++) {
    if (!halo_shape_is_scalar(halo_infer_param(computation, i))) {
      return halo_infer_fail(instr, "parameter %d of the computation %s must be a scalar", i,
                             computation->name);
    }
  }
  return HALO_OK;
}

halo_status halo_infer_reducer(const halo_instr *instr, const halo_computation *computation,
                               int32_t n, const halo_shape *const *inits, const halo_type *inputs,
                               halo_type *types, bool *tuple) {
  const halo_shape *result = computation->root->shape;
  const char *name = computation->name;
  HALO_TRY(halo_infer_scalar_params(instr, computation, 2 * n));
  *tuple = halo_shape_is_tuple(result);
  if (*tuple ? result->count != n : n != 1) {
    return halo_infer_fail(instr, "the computation %s must return %d scalar%s", name, n,
                           n == 1 ? "" : "s in a tuple");
  }
  for (int32_t i = 0; i < n; i++) {
    const halo_shape *part = *tuple ? result->elements[i] : result;
    if (!halo_shape_is_scalar(part)) {
      return halo_infer_fail(instr, "the computation %s must return scalars", name);
    }
    if (halo_infer_param(computation, i)->type != part->type) {
      return halo_infer_fail(
          instr, "result %d of the computation %s is %s, but its accumulator is %s", i, name,
          halo_type_name(part->type), halo_type_name(halo_infer_param(computation, i)->type));
    }
    if (!halo_shape_is_scalar(inits[i])) {
      return halo_infer_fail(instr, "init value %d must be a scalar", i);
    }
    halo_type value = halo_infer_param(computation, n + i)->type;
    if (!halo_infer_types_agree(inits[i]->type, part->type) ||
        !halo_infer_types_agree(inputs[i], value) || !halo_infer_types_agree(value, part->type)) {
      return halo_infer_fail(instr,
                             "the computation %s takes (%s, %s) for value %d, which does not fit "
                             "init %s and input %s",
                             name, halo_type_name(part->type), halo_type_name(value), i,
                             halo_type_name(inits[i]->type), halo_type_name(inputs[i]));
    }
    types[i] = part->type;
  }
  return HALO_OK;
}

halo_status halo_infer_window_extent(const halo_instr *instr, int64_t extent,
                                     const halo_window_dim *window, int64_t *out) {
  if (window->size <= 0 || window->stride <= 0 || window->base_dilation <= 0 ||
      window->window_dilation <= 0) {
    return halo_infer_fail(instr, "window sizes, strides and dilations must be positive");
  }
  __int128 base = extent == 0 ? 0 : (__int128)(extent - 1) * window->base_dilation + 1;
  __int128 padded = base + window->pad_low + window->pad_high;
  __int128 reach = (__int128)(window->size - 1) * window->window_dilation + 1;
  __int128 result = padded <= 0 || reach > padded ? 0 : (padded - reach) / window->stride + 1;
  if (result > INT64_MAX) return halo_infer_fail(instr, "the padded size does not fit 64 bits");
  *out = (int64_t)result;
  return HALO_OK;
}
