/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_sdy.c: Shardy's attributes: meshes, and shardings over their axes. */
#include "stablehlo/text_reader.h"

#include <string.h>

typedef HALO_VEC(const halo_mlir_attr *) sdy_list;

/* "..., ...": elements until `closer`, which is taken too, as an ARRAY. */
static halo_status sdy_elements(halo_mlir_reader *r, int closer,
                                halo_status (*read)(halo_mlir_reader *r,
                                                    const halo_mlir_attr **out),
                                const halo_mlir_attr **out) {
  sdy_list list = {0};
  halo_status status = HALO_OK;
  while (status == HALO_OK && r->tok.kind != closer) {
    const halo_mlir_attr *element = NULL;
    status = read(r, &element);
    halo_vec_push(&list, element);
    if (status == HALO_OK)
      status = halo_mlir_text_separator(r, closer, "',' or the end of the list");
  }
  if (status == HALO_OK) {
    *out = halo_mlir_text_new_array(r, list.data, list.count);
    halo_mlir_text_advance(r);
  }
  halo_vec_deinit(&list);
  return status;
}

static halo_status sdy_string(halo_mlir_reader *r, const halo_mlir_attr **out) {
  const char *text;
  size_t length;
  HALO_TRY(halo_mlir_text_string(r, "the name of an axis", &text, &length));
  *out = halo_mlir_text_new_string(r, HALO_MLIR_STRING, text, length);
  return HALO_OK;
}

/* Numbers of structures have no type. */
static const halo_mlir_attr *sdy_number(halo_mlir_reader *r, int64_t value) {
  halo_mlir_attr *attr = halo_mlir_text_new_attr(r, HALO_MLIR_INT);
  attr->i = value;
  return attr;
}

static halo_status sdy_int(halo_mlir_reader *r, const char *what, const halo_mlir_attr **out) {
  int64_t value;
  HALO_TRY(halo_mlir_text_int(r, what, &value));
  *out = sdy_number(r, value);
  return HALO_OK;
}

/* "x", "x":(1)2 */
static halo_status sdy_axis(halo_mlir_reader *r, const halo_mlir_attr **out) {
  halo_mlir_named rows[2] = {{.name = "name"}, {.name = "sub_axis_info"}};
  int32_t count = 1;
  HALO_TRY(sdy_string(r, &rows[0].value));
  if (halo_mlir_text_accept(r, ':')) {
    halo_mlir_named part[2] = {{.name = "pre_size"}, {.name = "size"}};
    HALO_TRY(halo_mlir_text_expect(r, '(', "'(' and a size"));
    HALO_TRY(sdy_int(r, "a size", &part[0].value));
    HALO_TRY(halo_mlir_text_expect(r, ')', "')' after a size"));
    HALO_TRY(sdy_int(r, "a size", &part[1].value));
    rows[1].value = halo_mlir_text_new_fields(r, HALO_MLIR_STRUCT, "sdy.sub_axis_info", part, 2);
    count = 2;
  }
  *out = halo_mlir_text_new_fields(r, HALO_MLIR_STRUCT, "sdy.axis_ref", rows, count);
  return HALO_OK;
}

halo_status halo_mlir_text_axes(halo_mlir_reader *r, int closer, const halo_mlir_attr **out) {
  HALO_TRY(halo_mlir_text_expect(r, closer == '}' ? '{' : '[', "a list of axes"));
  return sdy_elements(r, closer, sdy_axis, out);
}

halo_status halo_mlir_text_manual_axes(halo_mlir_reader *r, const halo_mlir_attr **out) {
  HALO_TRY(halo_mlir_text_expect(r, '{', "'{' and axes"));
  return sdy_elements(r, '}', sdy_string, out);
}

static halo_status sdy_device(halo_mlir_reader *r, const halo_mlir_attr **out) {
  return sdy_int(r, "a device", out);
}

/* "x"=2 */
static halo_status sdy_mesh_axis(halo_mlir_reader *r, const halo_mlir_attr **out) {
  halo_mlir_named rows[2] = {{.name = "name"}, {.name = "size"}};
  HALO_TRY(sdy_string(r, &rows[0].value));
  HALO_TRY(halo_mlir_text_expect(r, '=', "'=' and the size of the axis"));
  HALO_TRY(sdy_int(r, "the size of an axis", &rows[1].value));
  *out = halo_mlir_text_new_fields(r, HALO_MLIR_STRUCT, "sdy.mesh_axis", rows, 2);
  return HALO_OK;
}

halo_status halo_mlir_text_mesh(halo_mlir_reader *r, const halo_mlir_attr **out) {
  halo_mlir_named rows[2] = {{.name = "axes"}, {.name = "device_ids"}};
  HALO_TRY(halo_mlir_text_expect(r, '<', "'<' and a mesh"));
  HALO_TRY(halo_mlir_text_expect(r, '[', "'[' and the axes of a mesh"));
  HALO_TRY(sdy_elements(r, ']', sdy_mesh_axis, &rows[0].value));
  if (halo_mlir_text_accept(r, ',')) {
    HALO_TRY(halo_mlir_text_expect_word(r, "device_ids"));
    HALO_TRY(halo_mlir_text_expect(r, '=', "'=' after device_ids"));
    HALO_TRY(halo_mlir_text_expect(r, '[', "'[' and devices"));
    HALO_TRY(sdy_elements(r, ']', sdy_device, &rows[1].value));
  } else {
    rows[1].value = halo_mlir_text_new_array(r, NULL, 0);
  }
  *out = halo_mlir_text_new_fields(r, HALO_MLIR_STRUCT, "sdy.mesh", rows, 2);
  return halo_mlir_text_expect(r, '>', "'>' after the mesh");
}

/* {"x", ?}p1 */
static halo_status sdy_dimension(halo_mlir_reader *r, const halo_mlir_attr **out) {
  halo_mlir_named rows[3] = {{.name = "axes"}, {.name = "is_closed"}, {.name = "priority"}};
  sdy_list axes = {0};
  bool closed = true;
  halo_status status = halo_mlir_text_expect(r, '{', "'{' and the axes of a dimension");
  while (status == HALO_OK && r->tok.kind != '}') {
    const halo_mlir_attr *axis = NULL;
    if (halo_mlir_text_accept(r, '?')) {
      closed = false;
      if (r->tok.kind != '}') status = halo_mlir_text_expected(r, "'}' after '?'");
      break;
    }
    status = sdy_axis(r, &axis);
    halo_vec_push(&axes, axis);
    if (status == HALO_OK) status = halo_mlir_text_separator(r, '}', "',' or '}' after an axis");
  }
  rows[0].value = halo_mlir_text_new_array(r, axes.data, axes.count);
  halo_vec_deinit(&axes);
  HALO_TRY(status);
  halo_mlir_text_advance(r);
  rows[1].value = halo_mlir_text_new_int(r, closed, HALO_PRED);
  int32_t count = 2;
  const char *c = r->tok.start;
  if (r->tok.kind == TOK_WORD && *c == 'p' && r->tok.end - c > 1 && r->tok.end - c < 10) {
    int64_t priority = 0;
    for (c++; c < r->tok.end && halo_mlir_is_digit(*c); c++) priority = priority * 10 + (*c - '0');
    if (c < r->tok.end) return halo_mlir_text_expected(r, "a priority such as p1");
    rows[2].value = sdy_number(r, priority);
    count = 3;
    halo_mlir_text_advance(r);
  }
  *out = halo_mlir_text_new_fields(r, HALO_MLIR_STRUCT, "sdy.dimension_sharding", rows, count);
  return HALO_OK;
}

/* "@mesh", "mesh<["x"=2]>" */
static halo_status sdy_mesh_or_ref(halo_mlir_reader *r, const halo_mlir_attr **out) {
  if (halo_mlir_text_accept_word(r, "mesh")) return halo_mlir_text_mesh(r, out);
  const char *text;
  size_t length;
  HALO_TRY(halo_mlir_text_symbol(r, "the name of a mesh", &text, &length));
  *out = halo_mlir_text_new_string(r, HALO_MLIR_SYMBOL, text, length);
  return HALO_OK;
}

/* What combines the parts of an unreduced array, before its axes: "max{...}"; a sum is not written. */
static const halo_mlir_attr *sdy_reduction(halo_mlir_reader *r) {
  static const char *const names[] = {"sum", "max", "min"};
  for (int i = 0; i < 3; i++) {
    if (halo_mlir_text_accept_word(r, names[i])) return i ? sdy_number(r, i) : NULL;
  }
  return NULL;
}

halo_status halo_mlir_text_sharding(halo_mlir_reader *r, const halo_mlir_attr **out) {
  const halo_mlir_attr *none = halo_mlir_text_new_array(r, NULL, 0);
  halo_mlir_named rows[5] = {{.name = "mesh_or_ref"},
                             {.name = "dim_shardings"},
                             {"replicated_axes", none},
                             {"unreduced_axes", none},
                             {.name = "unreduced_reduction"}};
  HALO_TRY(halo_mlir_text_expect(r, '<', "'<' and a sharding"));
  HALO_TRY(sdy_mesh_or_ref(r, &rows[0].value));
  HALO_TRY(halo_mlir_text_expect(r, ',', "',' and the dimensions' shardings"));
  HALO_TRY(halo_mlir_text_expect(r, '[', "'[' and the dimensions' shardings"));
  HALO_TRY(sdy_elements(r, ']', sdy_dimension, &rows[1].value));
  while (halo_mlir_text_accept(r, ',')) {
    bool replicated = halo_mlir_text_is(r, "replicated");
    if (!replicated && !halo_mlir_text_is(r, "unreduced"))
      return halo_mlir_text_expected(r, "replicated or unreduced");
    halo_mlir_text_advance(r);
    HALO_TRY(halo_mlir_text_expect(r, '=', "'=' and axes"));
    if (!replicated) rows[4].value = sdy_reduction(r);
    HALO_TRY(halo_mlir_text_axes(r, '}', &rows[replicated ? 2 : 3].value));
  }
  *out =
      halo_mlir_text_new_fields(r, HALO_MLIR_STRUCT, "sdy.sharding", rows, rows[4].value ? 5 : 4);
  return halo_mlir_text_expect(r, '>', "'>' after the sharding");
}

halo_status halo_mlir_text_shardings(halo_mlir_reader *r, const halo_mlir_attr **out) {
  HALO_TRY(halo_mlir_text_expect(r, '[', "'[' and shardings"));
  return sdy_elements(r, ']', halo_mlir_text_sharding, out);
}

halo_status halo_mlir_text_sdy(halo_mlir_reader *r, const char *kind, const char *start,
                               const halo_mlir_attr **out) {
  if (strcmp(kind, "sharding") == 0) return halo_mlir_text_sharding(r, out);
  if (strcmp(kind, "mesh") == 0) return halo_mlir_text_mesh(r, out);
  if (strcmp(kind, "sharding_per_value") == 0) {
    HALO_TRY(halo_mlir_text_expect(r, '<', "'<' and shardings"));
    HALO_TRY(halo_mlir_text_shardings(r, out));
    return halo_mlir_text_expect(r, '>', "'>' after the shardings");
  }
  if (strcmp(kind, "manual_axes") == 0 && r->tok.kind == '{')
    return halo_mlir_text_manual_axes(r, out);
  if (r->tok.kind != '<' && r->tok.kind != '{' && r->tok.kind != '[')
    return halo_mlir_text_expected(r, "'<'");
  HALO_TRY(halo_mlir_text_skip_brackets(r));
  *out = halo_mlir_text_opaque(r, start, halo_mlir_text_here(r));
  return HALO_OK;
}
