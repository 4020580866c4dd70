/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/infer.c: the gate of shape inference: facts from the opcode table, then the op's own rule. */
#include "hlo/infer.h"

#include "hlo/infer_util.h"

static halo_status infer_check_counts(const halo_instr *instr, const halo_op_info *info) {
  int32_t n = instr->operand_count;
  if (n < info->min_operands || (info->max_operands >= 0 && n > info->max_operands)) {
    if (info->max_operands < 0) {
      return halo_infer_fail(instr, "expects at least %d operand%s, but has %d", info->min_operands,
                             halo_plural(info->min_operands), n);
    }
    return halo_infer_fail(instr, "expects %d operand%s, but has %d", info->min_operands,
                           halo_plural(info->min_operands), n);
  }
  for (int32_t i = 0; i < n; i++) {
    if (!instr->operands[i] || !instr->operands[i]->shape) {
      return halo_infer_fail(instr, "operand %d has no shape", i);
    }
  }
  return HALO_OK;
}

/* An attribute's enum value must be one that has a name. */
static halo_status infer_check_enum(const halo_instr *instr, const halo_attr *attr) {
  const char *const *names = halo_attr_enum_names(attr->id);
  for (int64_t i = 0; names[i]; i++) {
    if (i == attr->i) return HALO_OK;
  }
  return halo_infer_fail(instr, "%s has no value number %lld", halo_attr_name(attr->id),
                         (long long)attr->i);
}

static halo_status infer_check_attrs(const halo_instr *instr, const halo_op_info *info) {
  for (const halo_attr_spec *spec = info->attrs; spec->used; spec++) {
    const halo_attr *attr = halo_instr_attr(instr, spec->id);
    if (!attr && (spec->flags & HALO_ATTR_REQUIRED)) {
      return halo_infer_fail(instr, "the attribute %s is missing", halo_attr_name(spec->id));
    }
    if (attr && halo_attr_kind_of(spec->id) == HALO_KIND_ENUM) {
      HALO_TRY(infer_check_enum(instr, attr));
    }
  }
  return HALO_OK;
}

static void infer_mask_text(halo_strbuf *out, unsigned mask) {
  static const char *const names[] = {"pred", "signed integer", "unsigned integer", "float",
                                      "complex"};
  for (int i = 0, shown = 0; i < 5; i++) {
    if (!(mask & (1u << i))) continue;
    halo_strbuf_printf(out, "%s%s", shown++ ? " or " : "", names[i]);
  }
}

static halo_status infer_check_types(const halo_instr *instr, const halo_op_info *info) {
  /* copy is elementwise on arrays, but takes any shape. */
  if ((info->traits & HALO_TRAIT_EW) && instr->opcode != HALO_OP_COPY) {
    HALO_TRY(halo_infer_need_arrays(instr, 0));
  }
  if (info->types == HALO_T_ANY || instr->operand_count == 0) return HALO_OK;
  halo_type type = halo_infer_operand(instr, 0)->type;
  if (halo_type_mask(type) & info->types) return HALO_OK;
  halo_strbuf wanted = {0};
  infer_mask_text(&wanted, info->types);
  halo_status status = halo_infer_fail(instr, "the element type must be %s, not %s",
                                       halo_strbuf_text(&wanted), halo_type_name(type));
  halo_strbuf_deinit(&wanted);
  return status;
}

static bool infer_is_unbounded(const halo_shape *shape) {
  for (int i = 0; shape && i < shape->rank; i++) {
    if (shape->dims[i] == HALO_UNBOUNDED) return true;
  }
  return false;
}

/* Whether `?` of one operand of an elementwise operation stands for an extent of another, which XLA takes. */
static bool infer_mixes_unbounded(const halo_instr *instr) {
  bool open = false, same = true;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const halo_shape *shape = halo_infer_operand(instr, i);
    open |= infer_is_unbounded(shape);
    same &= shape->rank == 0 || halo_shape_same_dims(shape, halo_infer_operand(instr, 0));
  }
  return open && !same;
}

/* Rules that compute with extents cannot see through `?`; they take the written shape on trust.
 * Nothing unbounded is ever executed. */
static bool infer_has_unbounded(const halo_instr *instr) {
  if (halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW | HALO_TRAIT_ID)) {
    return infer_mixes_unbounded(instr);
  }
  for (int32_t i = 0; i < instr->operand_count; i++) {
    if (infer_is_unbounded(halo_infer_operand(instr, i))) return true;
  }
  return infer_is_unbounded(instr->shape);
}

static halo_infer_fn *const infer_rows[HALO_OPCODE_COUNT] = {
#define OP(id, name, lo, hi, traits, types, infer, ...) [HALO_OP_##id] = halo_infer_##infer,
#include "hlo/opcodes.def"
#undef OP
};

halo_status halo_infer_shape(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  const halo_op_info *info = halo_op_info_of(instr->opcode);
  *out = NULL;
  HALO_TRY(infer_check_counts(instr, info));
  HALO_TRY(infer_check_attrs(instr, info));
  HALO_TRY(infer_check_types(instr, info));
  if (instr->shape) HALO_TRY(halo_infer_check_size(instr, instr->shape));
  if (infer_has_unbounded(instr) && instr->shape) {
    *out = instr->shape;
    return HALO_OK;
  }
  const halo_shape *shape = NULL;
  HALO_TRY(infer_rows[instr->opcode](instr, arena, &shape));
  if (shape != instr->shape) HALO_TRY(halo_infer_check_size(instr, shape));
  *out = shape;
  return HALO_OK;
}
