/* SPDX-License-Identifier: Apache-2.0 */
/* text/print_attr.c: attributes as text. */
#include "text/parser.h"
#include "text/print.h"

#include <string.h>

/* ---- Names and strings ---- */

static bool print_is_reserved(const char *name) {
  static const char *const keywords[] = {"true",
                                         "false",
                                         "inf",
                                         "nan",
                                         "HloModule",
                                         "ENTRY",
                                         "ROOT",
                                         "FileNames",
                                         "FunctionNames",
                                         "FileLocations",
                                         "StackFrames",
                                         "maximal",
                                         "replicated",
                                         "manual",
                                         "unknown",
                                         "unreduced",
                                         "last_tile_dim_replicate",
                                         "shard_as",
                                         "shard_like"};
  for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
    if (strcmp(keywords[i], name) == 0) return true;
  }
  return halo_type_from_name(name) != HALO_TYPE_INVALID;
}

void halo_text_print_name(halo_strbuf *out, const char *name, unsigned flags) {
  if (!(flags & HALO_PRINT_SHORT) || print_is_reserved(name)) halo_strbuf_char(out, '%');
  const char *c = name;
  if (!halo_text_is_name_start(*c)) halo_strbuf_char(out, '_');
  for (; *c; c++) halo_strbuf_char(out, halo_text_is_name_char(*c) ? *c : '_');
}

/* ---- Values ---- */

void halo_text_print_alias(halo_strbuf *out, const halo_alias *alias, bool from, const char *kind) {
  if (from) {
    halo_text_print_ints(out, alias->out_index, alias->out_index_count);
    halo_strbuf_append(out, ": ");
  }
  halo_strbuf_printf(out, "(%lld, ", (long long)alias->parameter);
  halo_text_print_ints(out, alias->param_index, alias->param_index_count);
  halo_strbuf_printf(out, "%s)", kind);
}

static void print_aliases(halo_strbuf *out, const halo_attr *attr) {
  halo_strbuf_char(out, '{');
  for (int32_t i = 0; i < attr->aliases.count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    halo_text_print_alias(out, &attr->aliases.data[i], true, "");
  }
  halo_strbuf_char(out, '}');
}

static void print_slices(halo_strbuf *out, const halo_attr *attr) {
  bool strided = false;
  for (int32_t i = 2; i < attr->ints.count; i += 3) strided |= attr->ints.data[i] != 1;
  halo_strbuf_char(out, '{');
  for (int32_t i = 0; i + 2 < attr->ints.count; i += 3) {
    const int64_t *slice = attr->ints.data + i;
    halo_strbuf_printf(out, "%s[%lld:%lld", i ? ", " : "", (long long)slice[0],
                       (long long)slice[1]);
    if (strided) halo_strbuf_printf(out, ":%lld", (long long)slice[2]);
    halo_strbuf_char(out, ']');
  }
  halo_strbuf_char(out, '}');
}

static void print_padding(halo_strbuf *out, const halo_attr *attr) {
  bool interior = false;
  for (int32_t i = 2; i < attr->ints.count; i += 3) interior |= attr->ints.data[i] != 0;
  for (int32_t i = 0; i + 2 < attr->ints.count; i += 3) {
    const int64_t *pad = attr->ints.data + i;
    halo_strbuf_printf(out, "%s%lld_%lld", i ? "x" : "", (long long)pad[0], (long long)pad[1]);
    if (interior) halo_strbuf_printf(out, "_%lld", (long long)pad[2]);
  }
}

static void print_pairs(halo_strbuf *out, const halo_attr *attr) {
  halo_strbuf_char(out, '{');
  for (int32_t i = 0; i + 1 < attr->ints.count; i += 2) {
    halo_strbuf_printf(out, "%s{%lld,%lld}", i ? "," : "", (long long)attr->ints.data[i],
                       (long long)attr->ints.data[i + 1]);
  }
  halo_strbuf_char(out, '}');
}

static void print_precisions(halo_strbuf *out, const halo_attr *attr) {
  halo_strbuf_char(out, '{');
  for (int32_t i = 0; i < attr->ints.count; i++) {
    halo_strbuf_printf(out, "%s%s", i ? "," : "", halo_precision_names[attr->ints.data[i]]);
  }
  halo_strbuf_char(out, '}');
}

typedef int64_t print_window_get(const halo_window_dim *dim);
static int64_t print_window_size(const halo_window_dim *dim) { return dim->size; }
static int64_t print_window_stride(const halo_window_dim *dim) { return dim->stride; }
static int64_t print_window_lhs(const halo_window_dim *dim) { return dim->base_dilation; }
static int64_t print_window_rhs(const halo_window_dim *dim) { return dim->window_dilation; }
static int64_t print_window_reversal(const halo_window_dim *dim) { return dim->reversal; }

/* One field, left out when every dimension has the default. */
static void print_window_field(halo_strbuf *out, const halo_attr *attr, const char *name,
                               print_window_get *get, int64_t default_) {
  bool needed = false;
  for (int32_t i = 0; i < attr->window.count; i++) {
    needed |= get(&attr->window.data[i]) != default_;
  }
  if (!needed) return;
  halo_strbuf_printf(out, "%s%s=", default_ == INT64_MIN ? "" : " ", name);
  for (int32_t i = 0; i < attr->window.count; i++) {
    halo_strbuf_printf(out, "%s%lld", i ? "x" : "", (long long)get(&attr->window.data[i]));
  }
}

static void print_window(halo_strbuf *out, const halo_attr *attr) {
  bool pads = false;
  for (int32_t i = 0; i < attr->window.count; i++) {
    pads |= attr->window.data[i].pad_low != 0 || attr->window.data[i].pad_high != 0;
  }
  halo_strbuf_char(out, '{');
  print_window_field(out, attr, "size", print_window_size, INT64_MIN);
  print_window_field(out, attr, "stride", print_window_stride, 1);
  if (pads) {
    halo_strbuf_append(out, " pad=");
    for (int32_t i = 0; i < attr->window.count; i++) {
      const halo_window_dim *dim = &attr->window.data[i];
      halo_strbuf_printf(out, "%s%lld_%lld", i ? "x" : "", (long long)dim->pad_low,
                         (long long)dim->pad_high);
    }
  }
  print_window_field(out, attr, "lhs_dilate", print_window_lhs, 1);
  print_window_field(out, attr, "rhs_dilate", print_window_rhs, 1);
  print_window_field(out, attr, "rhs_reversal", print_window_reversal, 0);
  halo_strbuf_char(out, '}');
}

/* One side of dimension labels: letters and digits at their places, '?' elsewhere. */
static void print_labels_side(halo_strbuf *out, const char *letters, int first, int second,
                              const int *spatial, int count) {
  int last = first > second ? first : second;
  for (int i = 0; i < count; i++) last = spatial[i] > last ? spatial[i] : last;
  for (int position = 0; position <= last; position++) {
    char c = position == first ? letters[0] : position == second ? letters[1] : '?';
    for (int i = 0; i < count; i++) {
      if (spatial[i] == position) c = (char)('0' + i);
    }
    halo_strbuf_char(out, c);
  }
}

static void print_labels(halo_strbuf *out, const halo_conv_dims *conv) {
  if (conv->text) {
    halo_strbuf_append(out, conv->text);
    return;
  }
  print_labels_side(out, "bf", conv->lhs_batch, conv->lhs_feature, conv->lhs_spatial,
                    conv->spatial);
  halo_strbuf_char(out, '_');
  print_labels_side(out, "io", conv->rhs_input, conv->rhs_output, conv->rhs_spatial, conv->spatial);
  halo_strbuf_append(out, "->");
  print_labels_side(out, "bf", conv->out_batch, conv->out_feature, conv->out_spatial,
                    conv->spatial);
}

static void print_groups(halo_strbuf *out, const halo_groups *groups) {
  if (groups->text) {
    halo_strbuf_append(out, groups->text);
    return;
  }
  halo_strbuf_char(out, '{');
  for (int32_t g = 0; g < groups->count; g++) {
    halo_strbuf_append(out, g ? ",{" : "{");
    for (int32_t i = groups->starts[g]; i < groups->starts[g + 1]; i++) {
      halo_strbuf_printf(out, "%s%lld", i > groups->starts[g] ? "," : "",
                         (long long)groups->ids[i]);
    }
    halo_strbuf_char(out, '}');
  }
  halo_strbuf_char(out, '}');
}

static bool print_is_list(halo_attr_id id) {
  return id == HALO_ATTR_BRANCH_COMPUTATIONS || id == HALO_ATTR_CALLED_COMPUTATIONS;
}

static void print_comps(halo_strbuf *out, const halo_attr *attr, unsigned flags) {
  bool braces = print_is_list(attr->id) || attr->comps.count != 1;
  if (braces) halo_strbuf_char(out, '{');
  for (int32_t i = 0; i < attr->comps.count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    halo_text_print_name(out, attr->comps.data[i]->name, flags);
  }
  if (braces) halo_strbuf_char(out, '}');
}

static void print_shapes(halo_strbuf *out, const halo_attr *attr) {
  halo_strbuf_char(out, '{');
  for (int32_t i = 0; i < attr->shapes.count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    halo_shape_print(out, attr->shapes.data[i], true);
  }
  halo_strbuf_char(out, '}');
}

/* One group in braces, as JSON is: what reading takes without quotes. */
static bool print_is_group(const char *text) {
  int depth = 0;
  if (*text != '{') return false;
  for (bool quoted = false; *text; text++) {
    if (quoted) {
      if (*text == '\\' && text[1])
        text++;
      else if (*text == '"')
        quoted = false;
    } else {
      quoted = *text == '"';
      depth += *text == '{';
      depth -= *text == '}';
      if (depth == 0) return text[1] == '\0';
    }
  }
  return false;
}

void halo_text_print_strings(halo_strbuf *out, const char *const *strings, int32_t count) {
  halo_strbuf_char(out, '{');
  for (int32_t i = 0; i + 1 < count; i += 2) {
    const char *value = strings[i + 1];
    halo_strbuf_printf(out, "%s%s=", i ? "," : "", strings[i]);
    if (print_is_group(value)) {
      halo_strbuf_append(out, value);
    } else {
      halo_text_print_string(out, value);
    }
  }
  halo_strbuf_char(out, '}');
}

static void print_bools(halo_strbuf *out, const halo_attr *attr) {
  halo_strbuf_char(out, '{');
  for (int32_t i = 0; i < attr->ints.count; i++) {
    halo_strbuf_printf(out, "%s%s", i ? "," : "", attr->ints.data[i] ? "true" : "false");
  }
  halo_strbuf_char(out, '}');
}

/* Arrays behind their shapes, in tuples too. */
static void print_shaped_literal(halo_strbuf *out, const halo_literal *literal, unsigned flags) {
  const halo_shape *shape = literal->shape;
  if (!halo_shape_is_tuple(shape)) {
    halo_shape_print(out, shape, true);
    halo_strbuf_char(out, ' ');
    halo_text_print_literal(out, literal, flags);
    return;
  }
  halo_strbuf_append(out, shape->count ? "( " : "(");
  for (int32_t i = 0; i < shape->count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    print_shaped_literal(out, literal->elements[i], flags);
  }
  halo_strbuf_append(out, shape->count ? " )" : ")");
}

static void print_value(halo_strbuf *out, const halo_attr *attr, unsigned flags) {
  bool metadata = !(flags & HALO_PRINT_SHORT);
  switch (halo_attr_kind_of(attr->id)) {
    case HALO_KIND_INT: halo_strbuf_printf(out, "%lld", (long long)attr->i); break;
    case HALO_KIND_BOOL: halo_strbuf_append(out, attr->i ? "true" : "false"); break;
    case HALO_KIND_FLOAT: halo_text_print_double(out, attr->f); break;
    case HALO_KIND_STRING: halo_text_print_string(out, attr->text); break;
    case HALO_KIND_ENUM: halo_strbuf_append(out, halo_attr_enum_names(attr->id)[attr->i]); break;
    case HALO_KIND_INTS: halo_text_print_ints(out, attr->ints.data, attr->ints.count); break;
    case HALO_KIND_PRECISIONS: print_precisions(out, attr); break;
    case HALO_KIND_SLICES: print_slices(out, attr); break;
    case HALO_KIND_PADDING: print_padding(out, attr); break;
    case HALO_KIND_PAIRS: print_pairs(out, attr); break;
    case HALO_KIND_WINDOW: print_window(out, attr); break;
    case HALO_KIND_DIM_LABELS: print_labels(out, attr->conv); break;
    case HALO_KIND_GROUPS: print_groups(out, attr->groups); break;
    case HALO_KIND_COMPS: print_comps(out, attr, flags); break;
    case HALO_KIND_SHAPE: halo_shape_print(out, attr->shape, true); break;
    case HALO_KIND_SHAPES: print_shapes(out, attr); break;
    case HALO_KIND_LITERAL: print_shaped_literal(out, attr->literal, flags); break;
    case HALO_KIND_RAW: halo_strbuf_append(out, attr->text); break;
    case HALO_KIND_ALIASES: print_aliases(out, attr); break;
    case HALO_KIND_STRINGS:
      halo_text_print_strings(out, attr->strings.data, attr->strings.count);
      break;
    case HALO_KIND_BOOLS: print_bools(out, attr); break;
    case HALO_KIND_METADATA: halo_text_print_metadata(out, attr->metadata); break;
    case HALO_KIND_SHARDING: halo_text_print_sharding(out, attr->sharding, metadata); break;
    case HALO_KIND_DOMAIN: halo_text_print_domain(out, attr->domain, metadata); break;
    case HALO_KIND_ACCURACY: halo_text_print_accuracy(out, attr->accuracy); break;
    case HALO_KIND_CONFIGS: halo_text_print_configs(out, attr->id, attr->configs); break;
  }
}

/* ---- Defaults and order ---- */

static bool print_is_default(const halo_instr *instr, const halo_attr *attr) {
  halo_opcode op = instr->opcode;
  switch (halo_attr_kind_of(attr->id)) {
    case HALO_KIND_BOOL: return !attr->i && op != HALO_OP_TOPK;
    case HALO_KIND_INT:
      if (attr->id == HALO_ATTR_FEATURE_GROUP_COUNT || attr->id == HALO_ATTR_BATCH_GROUP_COUNT) {
        return attr->i == 1;
      }
      return attr->id == HALO_ATTR_INFERRED_DIMENSION && attr->i == -1;
    case HALO_KIND_ENUM:
      if (attr->id == HALO_ATTR_COMPARE_TYPE) {
        halo_type type = instr->operands[0]->shape->type;
        bool floating = halo_type_is_float(type) || halo_type_is_complex(type);
        return attr->i == (floating                  ? HALO_COMPARE_FLOAT
                           : halo_type_is_sint(type) ? HALO_COMPARE_SIGNED
                                                     : HALO_COMPARE_UNSIGNED);
      }
      return attr->i == 0 &&
             (attr->id == HALO_ATTR_SCHEDULE || attr->id == HALO_ATTR_API_VERSION ||
              attr->id == HALO_ATTR_ALGORITHM || attr->id == HALO_ATTR_CONVOLUTION_KIND ||
              attr->id == HALO_ATTR_CONV_KIND);
    case HALO_KIND_PRECISIONS:
      for (int32_t i = 0; i < attr->ints.count; i++) {
        if (attr->ints.data[i] != 0) return false;
      }
      return true;
    case HALO_KIND_INTS:
      return attr->ints.count == 0 &&
             (attr->id == HALO_ATTR_LHS_BATCH_DIMS || attr->id == HALO_ATTR_RHS_BATCH_DIMS ||
              attr->id == HALO_ATTR_OPERAND_BATCHING_DIMS ||
              attr->id == HALO_ATTR_START_INDICES_BATCHING_DIMS ||
              attr->id == HALO_ATTR_INPUT_BATCHING_DIMS ||
              attr->id == HALO_ATTR_SCATTER_INDICES_BATCHING_DIMS);
    case HALO_KIND_WINDOW: return attr->window.count == 0;
    case HALO_KIND_FLOAT:
    case HALO_KIND_STRING:
    case HALO_KIND_SLICES:
    case HALO_KIND_PADDING:
    case HALO_KIND_PAIRS:
    case HALO_KIND_DIM_LABELS:
    case HALO_KIND_GROUPS:
    case HALO_KIND_COMPS:
    case HALO_KIND_SHAPE:
    case HALO_KIND_SHAPES:
    case HALO_KIND_LITERAL:
    case HALO_KIND_BOOLS:
    case HALO_KIND_ALIASES:
    case HALO_KIND_SHARDING:
    case HALO_KIND_DOMAIN:
    case HALO_KIND_CONFIGS:
    case HALO_KIND_RAW: return false;
    case HALO_KIND_STRINGS: return attr->strings.count == 0;
    case HALO_KIND_METADATA: return halo_text_metadata_is_empty(attr->metadata);
    case HALO_KIND_ACCURACY: return attr->accuracy->mode == HALO_ACCURACY_DEFAULT;
  }
  return false;
}

static void print_attr(halo_strbuf *out, const halo_instr *instr, const halo_attr *attr,
                       unsigned flags, bool always) {
  if (!always && print_is_default(instr, attr)) return;
  halo_strbuf_printf(
      out, ", %s=", attr->id == HALO_ATTR_UNKNOWN ? attr->name : halo_attr_name(attr->id));
  print_value(out, attr, flags);
}

/* What an attribute that is always printed says when it is not set. */
static const char *print_absent(halo_attr_id id) {
  return halo_attr_kind_of(id) == HALO_KIND_BOOL ? "true" : "{}";
}

static void print_own(halo_strbuf *out, const halo_instr *instr, unsigned flags, bool comps) {
  const halo_op_info *info = halo_op_info_of(instr->opcode);
  for (const halo_attr_spec *spec = info->attrs; spec->used; spec++) {
    if (spec->id == HALO_ATTR_RESULT_ACCURACY) continue;
    if ((halo_attr_kind_of(spec->id) == HALO_KIND_COMPS) != comps) continue;
    const halo_attr *attr = halo_instr_attr(instr, spec->id);
    bool always = spec->flags != 0;
    if (attr) {
      print_attr(out, instr, attr, flags, always);
    } else if (spec->flags & HALO_ATTR_ALWAYS_PRINTED) {
      halo_strbuf_printf(out, ", %s=%s", halo_attr_name(spec->id), print_absent(spec->id));
    }
  }
}

static void print_common(halo_strbuf *out, const halo_instr *instr, halo_attr_id id,
                         unsigned flags) {
  const halo_attr *attr = halo_instr_attr(instr, id);
  if (attr) print_attr(out, instr, attr, flags, false);
}

void halo_text_print_attrs(halo_strbuf *out, const halo_instr *instr, unsigned flags) {
  print_own(out, instr, flags, false);
  print_own(out, instr, flags, true);
  print_common(out, instr, HALO_ATTR_PARAMETER_REPLICATION, flags);
  print_common(out, instr, HALO_ATTR_SHARDING, flags);
  print_common(out, instr, HALO_ATTR_FRONTEND_ATTRIBUTES, flags);
  if (instr->control_pred_count) {
    halo_strbuf_append(out, ", control-predecessors={");
    for (int32_t i = 0; i < instr->control_pred_count; i++) {
      if (i) halo_strbuf_append(out, ", ");
      halo_text_print_name(out, instr->control_preds[i]->name, flags);
    }
    halo_strbuf_char(out, '}');
  }
  print_common(out, instr, HALO_ATTR_STATISTICS, flags);
  print_common(out, instr, HALO_ATTR_RESULT_ACCURACY, flags);
  print_common(out, instr, HALO_ATTR_ORIGIN, flags);
  if (!(flags & HALO_PRINT_SHORT)) print_common(out, instr, HALO_ATTR_METADATA, flags);
  print_common(out, instr, HALO_ATTR_BACKEND_CONFIG, flags);
  for (int32_t i = 0; i < instr->attr_count; i++) {
    if (instr->attrs[i].id == HALO_ATTR_UNKNOWN) {
      print_attr(out, instr, &instr->attrs[i], flags, true);
    }
  }
}
