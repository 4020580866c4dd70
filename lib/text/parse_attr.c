/* SPDX-License-Identifier: Apache-2.0 */
/* text/parse_attr.c: attributes of instructions. */
#include "text/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool attr_enum_is_loose(halo_attr_id id) {
  return id == HALO_ATTR_ALGORITHM || id == HALO_ATTR_SCHEDULE || id == HALO_ATTR_API_VERSION ||
         id == HALO_ATTR_DISTRIBUTION || id == HALO_ATTR_RNG_ALGORITHM;
}

/* ---- Computations and shapes ---- */

typedef HALO_VEC(halo_computation *) attr_comps;

/* Takes a computation's name or a body written in place. */
static halo_status attr_read_comp(halo_text_parser *p, halo_opcode op, const halo_attr *attr,
                                  attr_comps *out) {
  halo_computation *computation = NULL;
  if (p->tok.kind == '{') {
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s_%s", halo_opcode_name(op), halo_attr_name(attr->id));
    HALO_TRY(halo_text_body(p, NULL, prefix, &computation));
  } else {
    HALO_TRY(halo_text_find_computation(p, &computation));
  }
  halo_vec_push(out, computation);
  return HALO_OK;
}

static halo_status attr_read_comps(halo_text_parser *p, halo_opcode op, const halo_attr *attr,
                                   attr_comps *out) {
  bool list =
      attr->id == HALO_ATTR_BRANCH_COMPUTATIONS || attr->id == HALO_ATTR_CALLED_COMPUTATIONS;
  if (!list || p->tok.kind != '{') return attr_read_comp(p, op, attr, out);
  halo_text_advance(p);
  while (p->tok.kind != '}') {
    HALO_TRY(attr_read_comp(p, op, attr, out));
    HALO_TRY(halo_text_separator(p, '}', "',' or '}' after a computation"));
  }
  halo_text_advance(p);
  return HALO_OK;
}

typedef HALO_VEC(const halo_shape *) attr_shapes;

static halo_status attr_read_shapes(halo_text_parser *p, attr_shapes *out) {
  HALO_TRY(halo_text_expect(p, '{', "'{' to open the shapes"));
  while (p->tok.kind != '}') {
    const halo_shape *shape = NULL;
    HALO_TRY(halo_text_shape(p, &shape));
    halo_vec_push(out, shape);
    HALO_TRY(halo_text_separator(p, '}', "',' or '}' after a shape"));
  }
  halo_text_advance(p);
  return HALO_OK;
}

typedef HALO_VEC(halo_literal *) attr_literals;

static halo_status attr_literal_value(halo_text_parser *p, halo_literal **out);

static halo_status attr_literal_list(halo_text_parser *p, attr_literals *elements) {
  halo_text_advance(p); /* the parenthesis */
  while (p->tok.kind != ')') {
    halo_literal *element = NULL;
    HALO_TRY(attr_literal_value(p, &element));
    halo_vec_push(elements, element);
    HALO_TRY(halo_text_separator(p, ')', "',' or ')' after a value"));
  }
  halo_text_advance(p);
  return HALO_OK;
}

/* Takes "f32[2] {1, 2}", or a tuple of such in parentheses. */
static halo_status attr_literal_value(halo_text_parser *p, halo_literal **out) {
  if (p->tok.kind != '(') {
    const halo_shape *shape = NULL;
    HALO_TRY(halo_text_shape(p, &shape));
    return halo_text_literal(p, shape, out);
  }
  attr_literals elements = {0};
  HALO_TRY(halo_text_enter(p));
  halo_status status = attr_literal_list(p, &elements);
  if (status == HALO_OK) status = halo_literal_create_tuple(elements.count, elements.data, out);
  for (int32_t i = 0; i < elements.count; i++) halo_literal_release(elements.data[i]);
  halo_vec_deinit(&elements);
  HALO_TRY(status);
  halo_text_leave(p);
  return HALO_OK;
}

static halo_status attr_literal(halo_text_parser *p, halo_attr *attr) {
  HALO_TRY(attr_literal_value(p, &attr->literal));
  halo_vec_push(&p->module->literals, attr->literal);
  return HALO_OK;
}

/* ---- One value ---- */

static halo_status attr_comps_value(halo_text_parser *p, halo_opcode op, halo_attr *attr) {
  attr_comps comps = {0};
  halo_status status = attr_read_comps(p, op, attr, &comps);
  attr->comps.count = comps.count;
  attr->comps.data =
      halo_arena_copy(p->arena, comps.data, sizeof *comps.data * (size_t)comps.count);
  halo_vec_deinit(&comps);
  return status;
}

static halo_status attr_shapes_value(halo_text_parser *p, halo_attr *attr) {
  attr_shapes shapes = {0};
  halo_status status = attr_read_shapes(p, &shapes);
  attr->shapes.count = shapes.count;
  attr->shapes.data =
      halo_arena_copy(p->arena, shapes.data, sizeof *shapes.data * (size_t)shapes.count);
  halo_vec_deinit(&shapes);
  return status;
}

/* From how many brackets on a raw value is JSON. */
static int attr_json_depth(halo_attr_id id) {
  return id == HALO_ATTR_BACKEND_CONFIG ? 1 : INT32_MAX;
}

halo_status halo_text_attr_value(halo_text_parser *p, halo_opcode op, halo_attr *attr) {
  halo_attr_kind kind = halo_attr_kind_of(attr->id);
  switch (kind) {
    case HALO_KIND_INT: return halo_text_int(p, "an integer", &attr->i);
    case HALO_KIND_BOOL: {
      bool value = false;
      HALO_TRY(halo_text_bool(p, "true or false", &value));
      attr->i = value;
      return HALO_OK;
    }
    case HALO_KIND_FLOAT: return halo_text_double(p, &attr->f);
    case HALO_KIND_STRING: return halo_text_string(p, "a string in quotes", &attr->text);
    case HALO_KIND_ENUM:
      return halo_text_enum(p, halo_attr_enum_names(attr->id), attr_enum_is_loose(attr->id),
                            &attr->i);
    case HALO_KIND_INTS: return halo_text_ints(p, "an integer", attr);
    case HALO_KIND_PRECISIONS:
    case HALO_KIND_SLICES:
    case HALO_KIND_BOOLS:
    case HALO_KIND_PAIRS: return halo_text_list(p, kind, attr);
    case HALO_KIND_PADDING: return halo_text_padding(p, attr);
    case HALO_KIND_WINDOW: return halo_text_window(p, attr);
    case HALO_KIND_DIM_LABELS: return halo_text_dim_labels(p, attr);
    case HALO_KIND_GROUPS: return halo_text_groups(p, attr);
    case HALO_KIND_COMPS: return attr_comps_value(p, op, attr);
    case HALO_KIND_SHAPE: return halo_text_shape(p, &attr->shape);
    case HALO_KIND_SHAPES: return attr_shapes_value(p, attr);
    case HALO_KIND_LITERAL: return attr_literal(p, attr);
    case HALO_KIND_METADATA: return halo_text_metadata(p, attr);
    case HALO_KIND_SHARDING: return halo_text_sharding(p, attr);
    case HALO_KIND_DOMAIN: return halo_text_domain(p, attr);
    case HALO_KIND_ACCURACY: return halo_text_accuracy(p, attr);
    case HALO_KIND_CONFIGS: return halo_text_configs(p, attr);
    case HALO_KIND_ALIASES: return halo_text_aliases(p, attr);
    case HALO_KIND_STRINGS: return halo_text_strings_value(p, attr);
    case HALO_KIND_RAW: return halo_text_raw(p, attr_json_depth(attr->id), &attr->text);
  }
  return HALO_OK;
}

/* ---- The list behind an instruction ---- */

/* Spellings of old dumps. */
static const struct {
  halo_opcode op; /* HALO_OPCODE_COUNT: any */
  const char *old;
  halo_attr_id id;
} attr_historic[] = {
    {HALO_OP_CUSTOM_CALL, "opaque", HALO_ATTR_BACKEND_CONFIG},
    {HALO_OP_ALL_REDUCE, "all_reduce_id", HALO_ATTR_CHANNEL_ID},
    {HALO_OP_GATHER, "output_window_dims", HALO_ATTR_OFFSET_DIMS},
    {HALO_OP_GATHER, "elided_window_dims", HALO_ATTR_COLLAPSED_SLICE_DIMS},
    {HALO_OP_GATHER, "gather_dims_to_operand_dims", HALO_ATTR_START_INDEX_MAP},
    {HALO_OP_GATHER, "window_bounds", HALO_ATTR_SLICE_SIZES},
    {HALO_OP_CONVOLUTION, "conv_kind", HALO_ATTR_CONVOLUTION_KIND},
};

static halo_attr_id attr_lookup(halo_opcode op, const char *name) {
  for (size_t i = 0; i < sizeof attr_historic / sizeof attr_historic[0]; i++) {
    if (attr_historic[i].op == op && strcmp(attr_historic[i].old, name) == 0) {
      return attr_historic[i].id;
    }
  }
  return halo_attr_from_name(op, name);
}

/* Accepted because old dumps have them, without any meaning now. */
static bool attr_is_ignored(halo_attr_id id) {
  return id == HALO_ATTR_IS_CROSS_PROGRAM_PREFETCH || id == HALO_ATTR_ASYNC_GROUP_ID ||
         id == HALO_ATTR_COLLECTIVE_MODE;
}

static halo_status attr_control(halo_text_parser *p, halo_text_scope *scope,
                                halo_text_draft *draft) {
  HALO_TRY(halo_text_expect(p, '{', "'{' to open the control predecessors"));
  while (p->tok.kind != '}') {
    halo_instr *instr = NULL;
    HALO_TRY(halo_text_find_instr(p, scope, &instr));
    halo_vec_push(&draft->control, instr);
    HALO_TRY(halo_text_separator(p, '}', "',' or '}' after an instruction"));
  }
  halo_text_advance(p);
  return HALO_OK;
}

static bool attr_is_set(const halo_text_draft *draft, const halo_attr *attr) {
  for (int32_t i = 0; i < draft->attrs.count; i++) {
    const halo_attr *other = &draft->attrs.data[i];
    if (other->id != attr->id) continue;
    if (attr->id != HALO_ATTR_UNKNOWN || strcmp(other->name, attr->name) == 0) return true;
  }
  for (int32_t i = 0; i < draft->wrapped.count && !halo_attr_is_common(attr->id); i++) {
    const halo_attr *other = &draft->wrapped.data[i];
    if (other->id == attr->id && attr->id != HALO_ATTR_UNKNOWN) return true;
  }
  return false;
}

/* Whether sugar passes a common attribute on to the wrapped operation too. */
static bool attr_is_shared(halo_attr_id id) {
  return id == HALO_ATTR_METADATA || id == HALO_ATTR_BACKEND_CONFIG ||
         id == HALO_ATTR_FRONTEND_ATTRIBUTES || id == HALO_ATTR_STATISTICS;
}

enum { ATTR_MOST = 256 }; /* of one instruction */

/* Takes one "name=value"; the current token is the name. */
static halo_status attr_take(halo_text_parser *p, halo_text_scope *scope, halo_text_draft *draft) {
  const char *at = p->tok.start;
  const char *name = NULL;
  if (p->tok.kind != TOK_WORD) return halo_text_expected(p, "an attribute such as dimensions={0}");
  HALO_TRY(halo_text_name(p, "an attribute", &name));
  HALO_TRY(halo_text_expect(p, '=', "'=' after the attribute's name"));
  if (strcmp(name, "control-predecessors") == 0) {
    if (draft->control.count) return halo_text_error(p, at, "%s stands twice", name);
    return attr_control(p, scope, draft);
  }
  bool sugar = draft->sugar != HALO_OPCODE_COUNT, inner = sugar;
  halo_opcode op = sugar ? draft->sugar : draft->opcode;
  halo_attr attr = {.id = attr_lookup(op, name)};
  if (sugar && (attr.id == HALO_ATTR_UNKNOWN || halo_attr_is_common(attr.id))) {
    inner = false;
    op = draft->opcode;
    attr.id = attr_lookup(op, name);
  }
  if (attr.id == HALO_ATTR_UNKNOWN) attr.name = name;
  if (attr.id == HALO_ATTR_SPARSITY) {
    return halo_text_error_as(p, HALO_UNIMPLEMENTED, at, "sparse dot is not supported");
  }
  if (draft->attrs.count + draft->wrapped.count >= ATTR_MOST) {
    return halo_text_error(p, at, "an instruction has at most %d attributes", ATTR_MOST);
  }
  if (attr_is_set(draft, &attr)) return halo_text_error(p, at, "%s stands twice", name);
  HALO_TRY(halo_text_attr_value(p, op, &attr));
  bool ignored =
      attr_is_ignored(attr.id) || (attr.id == HALO_ATTR_WINDOW && attr.window.count == 0);
  if (ignored) return HALO_OK;
  if (inner) {
    halo_vec_push(&draft->wrapped, attr);
  } else {
    halo_vec_push(&draft->attrs, attr);
    if (sugar && attr_is_shared(attr.id)) halo_vec_push(&draft->wrapped, attr);
  }
  return HALO_OK;
}

halo_status halo_text_attrs(halo_text_parser *p, halo_text_scope *scope, halo_text_draft *draft) {
  while (halo_text_accept(p, ',')) HALO_TRY(attr_take(p, scope, draft));
  return HALO_OK;
}
