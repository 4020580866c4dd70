/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/hlo_make.h: instructions from short texts, for tests of lib/hlo that must not lean on
 * the text room. Shapes as in HLO; lists of operands, attributes and called computations split by
 * `;`.
 *
 *   attribute    dimensions=0,1   window=size:stride:low:high:base_dilation:dilation|...
 *                dim_labels=bf0_oi0->bf0   to_apply=f32[] f32[] > f32[] (parameters > result)
 *                branch_computations=f32[] > f32[] | f32[] > f32[] */
#ifndef HALO_TESTS_HLO_MAKE_H
#define HALO_TESTS_HLO_MAKE_H

#include "hlo/hlo.h"

#include <check.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAKE_MAX = 40 };

static inline const halo_shape *make_shape_at(halo_arena *arena, const char **text) {
  const char *p = *text;
  while (*p == ' ') p++;
  if (*p == '(') {
    const halo_shape *elements[MAKE_MAX];
    int count = 0;
    for (p++; *p != ')';) {
      elements[count++] = make_shape_at(arena, &p);
      while (*p == ',' || *p == ' ') p++;
    }
    *text = p + 1;
    return halo_shape_new_tuple(arena, count, elements);
  }
  const char *open = strchr(p, '[');
  ck_assert_msg(open != NULL, "no shape at '%s'", p);
  halo_type type = halo_type_from_name(halo_arena_strndup(arena, p, (size_t)(open - p)));
  ck_assert_msg(type != HALO_TYPE_INVALID, "no type at '%s'", p);
  int64_t dims[HALO_MAX_RANK];
  bool dynamic[HALO_MAX_RANK] = {false};
  int32_t layout[HALO_MAX_RANK];
  int rank = 0;
  for (p = open + 1; *p != ']';) {
    if (strncmp(p, "<=", 2) == 0) {
      dynamic[rank] = true;
      p += 2;
    }
    if (*p == '?') {
      dynamic[rank] = true;
      dims[rank++] = HALO_UNBOUNDED;
      p++;
    } else {
      dims[rank++] = strtoll(p, (char **)&p, 10);
    }
    if (*p == ',') p++;
  }
  p++;
  bool has_layout = *p == '{';
  for (int i = 0; has_layout && i < rank; i++) layout[i] = (int32_t)strtol(p + 1, (char **)&p, 10);
  if (has_layout) p++;
  *text = p;
  if (!halo_type_is_array(type)) {
    halo_shape *s = halo_arena_new(arena, halo_shape);
    s->type = type;
    return s;
  }
  return halo_shape_new_full(arena, type, rank, dims, dynamic, has_layout ? layout : NULL);
}

static inline const halo_shape *make_shape(halo_arena *arena, const char *text) {
  return make_shape_at(arena, &text);
}

/* A value of a shape out of nowhere: a custom call. */
static inline halo_instr *make_value(halo_computation *computation, const char *shape) {
  halo_instr_spec spec = {.opcode = HALO_OP_CUSTOM_CALL,
                          .shape = make_shape(&computation->module->arena, shape)};
  return halo_instr_create_unchecked(computation, &spec);
}

static inline halo_instr *make_parameter(halo_computation *computation, int64_t number,
                                         const char *shape) {
  halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER,
                          .parameter_number = number,
                          .shape = make_shape(&computation->module->arena, shape)};
  return halo_instr_create_unchecked(computation, &spec);
}

/* "shape shape > shape", up to `|` or the end. */
static inline halo_computation *make_computation(halo_module *module, const char **text) {
  halo_computation *computation = halo_computation_create(module, "fn");
  const char *p = *text;
  for (int64_t number = 0;; number++) {
    while (*p == ' ') p++;
    if (*p == '>') break;
    const char *start = p;
    make_shape_at(&module->arena, &p);
    make_parameter(computation, number,
                   halo_arena_strndup(&module->arena, start, (size_t)(p - start)));
  }
  const char *start = ++p;
  make_shape_at(&module->arena, &p);
  computation->root =
      make_value(computation, halo_arena_strndup(&module->arena, start, (size_t)(p - start)));
  *text = p;
  return computation;
}

static inline halo_conv_dims *make_conv(halo_arena *arena, const char *text) {
  halo_conv_dims *conv = halo_arena_new(arena, halo_conv_dims);
  int side = 0, at = 0;
  conv->text = text;
  for (const char *p = text; *p; p++) {
    if (*p == '_' || *p == '>') {
      side++;
      at = 0;
    } else if (*p != '-') {
      int *spatial[] = {conv->lhs_spatial, conv->rhs_spatial, conv->out_spatial};
      if (isdigit((unsigned char)*p)) spatial[side][*p - '0'] = at;
      if (*p == 'b') *(side == 0 ? &conv->lhs_batch : &conv->out_batch) = at;
      if (*p == 'f') *(side == 0 ? &conv->lhs_feature : &conv->out_feature) = at;
      if (*p == 'i') conv->rhs_input = at;
      if (*p == 'o') conv->rhs_output = at;
      at++;
      if (side == 2) conv->spatial = at - 2;
    }
  }
  return conv;
}

/* One attribute "name=value" of `opcode`. */
static inline halo_attr make_attr(halo_module *module, halo_opcode opcode, const char *text) {
  halo_arena *arena = &module->arena;
  const char *value = strchr(text, '=');
  ck_assert_msg(value != NULL, "no attribute: '%s'", text);
  halo_attr attr = {
      .id = halo_attr_from_name(opcode, halo_arena_strndup(arena, text, (size_t)(value - text)))};
  ck_assert_msg(attr.id != HALO_ATTR_UNKNOWN, "no such attribute: '%s'", text);
  value++;
  halo_attr_kind kind = halo_attr_kind_of(attr.id);
  if (kind == HALO_KIND_COMPS) {
    attr.comps.data = halo_arena_array(arena, halo_computation *, MAKE_MAX);
    while (*value) {
      attr.comps.data[attr.comps.count++] = make_computation(module, &value);
      while (*value == ' ' || *value == '|') value++;
    }
  } else if (kind == HALO_KIND_DIM_LABELS) {
    attr.conv = make_conv(arena, halo_arena_strdup(arena, value));
  } else if (kind == HALO_KIND_WINDOW) {
    halo_window_dim *dims = halo_arena_array(arena, halo_window_dim, MAKE_MAX);
    while (*value) {
      halo_window_dim *d = &dims[attr.window.count++];
      int64_t *fields[] = {&d->size,     &d->stride,        &d->pad_low,
                           &d->pad_high, &d->base_dilation, &d->window_dilation};
      for (int i = 0; i < 6; i++) {
        *fields[i] = strtoll(value, (char **)&value, 10);
        if (*value == ':') value++;
      }
      if (*value == '|') value++;
    }
    attr.window.data = dims;
  } else if (kind == HALO_KIND_RAW || kind == HALO_KIND_STRING) {
    attr.text = halo_arena_strdup(arena, value);
  } else {
    int64_t *list = halo_arena_array(arena, int64_t, MAKE_MAX);
    int32_t count = 0;
    while (*value) {
      list[count++] = strtoll(value, (char **)&value, 10);
      if (*value == ',' || *value == ':') value++;
    }
    bool single = kind == HALO_KIND_INT || kind == HALO_KIND_BOOL || kind == HALO_KIND_ENUM;
    if (kind == HALO_KIND_FLOAT) {
      attr.f = (double)list[0];
    } else if (single) {
      attr.i = list[0];
    } else {
      attr.ints.data = list;
      attr.ints.count = count;
    }
  }
  return attr;
}

/* The instruction `op` of values of the operand shapes; `written` NULL: shape inferred. */
static inline halo_status make_instr(halo_computation *computation, const char *op,
                                     const char *operands, const char *written, const char *attrs,
                                     halo_instr **out) {
  halo_module *module = computation->module;
  halo_instr *values[MAKE_MAX];
  halo_attr list[HALO_MAX_OP_ATTRS];
  halo_instr_spec spec = {.operands = values, .attrs = list};
  ck_assert_msg(halo_opcode_from_name(op, &spec.opcode), "no opcode %s", op);
  char *save = NULL, *copy = halo_arena_strdup(&module->arena, operands ? operands : "");
  for (char *part = strtok_r(copy, ";", &save); part; part = strtok_r(NULL, ";", &save)) {
    values[spec.operand_count++] = make_value(computation, part);
  }
  copy = halo_arena_strdup(&module->arena, attrs ? attrs : "");
  for (char *part = strtok_r(copy, ";", &save); part; part = strtok_r(NULL, ";", &save)) {
    while (*part == ' ') part++;
    list[spec.attr_count++] = make_attr(module, spec.opcode, part);
  }
  if (written) spec.shape = make_shape(&module->arena, written);
  return halo_instr_create(computation, &spec, out);
}

#endif
