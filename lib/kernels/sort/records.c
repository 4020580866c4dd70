/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/sort/records.c: what a sort moves, and the text that makes, compares and unmakes it. */
#include "kernels/sort/records.h"

#include "codegen/ctype.h"

/* ---- Keys as numbers ---- */

/* Bits of a number that orders as values of the type do. */
static int sort_type_bits(halo_type type) {
  if (type == HALO_PRED) return 1;
  if (!halo_type_is_float(type) || !halo_ctype_is_narrow(type)) return halo_type_bits(type);
  /* A narrow float is a float whose last bits are all alike. */
  if (type == HALO_F16) return 9 + 10;
  return type == HALO_BF16 ? 9 + 7 : 9 + 4; /* f8e3m4 has the longest mantissa of the others */
}

/* The total order of a float as a number; unless `total`, zeros are equal, and so are NaNs. */
static const char *sort_float_code(halo_emitter *e, halo_type type, const char *x, bool total) {
  bool wide = type == HALO_F64;
  const char *c = wide ? "double" : "float", *u = wide ? "ulong" : "uint";
  if (!total) {
    const char *name = halo_arena_printf(e->arena, "x%d", e->next_name++);
    halo_emit_line(e, "%s %s = %s;", c, name, x);
    halo_emit_line(e, "if (%s == 0) %s = 0;", name, name);
    halo_emit_line(e, "if (%s != %s) %s = as_%s(%s);", name, name, name, c,
                   wide ? "0x7ff8000000000000UL" : "0x7fc00000u");
    x = name;
  }
  halo_sections_add(&e->sections, wide ? "dtotal" : "ftotal");
  if (wide) return halo_arena_printf(e->arena, "((%s)h_total_f64(%s) ^ (1UL << 63))", u, x);
  return halo_arena_printf(e->arena, "(((%s)h_total_f32(%s) ^ (1u << 31)) >> %d)", u, x,
                           32 - sort_type_bits(type));
}

/* A key as a number of sort_type_bits, ascending. */
static const char *sort_key_code(halo_emitter *e, const halo_sort_key *key, halo_value value) {
  halo_type type = value.type;
  int bits = sort_type_bits(type);
  const char *code;
  if (halo_type_is_float(type)) {
    code = sort_float_code(e, type, value.text, key->compare == HALO_COMPARE_TOTALORDER);
  } else if (type == HALO_PRED || halo_type_is_uint(type)) {
    code = halo_arena_printf(e->arena, "(%s)%s", bits > 32 ? "ulong" : "uint", value.text);
  } else if (bits > 32) {
    code = halo_arena_printf(e->arena, "((ulong)%s ^ (1UL << 63))", value.text);
  } else {
    code = halo_arena_printf(e->arena, "((uint)%s + (1u << %d))", value.text, bits - 1);
  }
  if (!key->descending) return code;
  unsigned long long mask = bits < 64 ? (1ull << bits) - 1 : ~0ull;
  return halo_arena_printf(e->arena, "(%s ^ 0x%llx%s)", code, mask, bits > 32 ? "UL" : "u");
}

/* All keys as one number, from the values of the operands at one place. */
static const char *sort_emit_code(const halo_sort_records *r, halo_emitter *e,
                                  const halo_value *values) {
  const char *type = r->code_bits > 32 ? "ulong" : "uint", *code = NULL;
  halo_value *sides = halo_arena_array(e->arena, halo_value, 2 * r->arity);
  const halo_computation *comparator = halo_instr_comp(r->sort, HALO_ATTR_TO_APPLY);
  for (int32_t i = 0; i < 2 * r->arity && comparator; i++) {
    halo_type takes = comparator->params.data[i]->shape->type;
    sides[i] = values[i / 2];
    if (sides[i].type != takes) sides[i] = halo_emit_convert(e, sides[i], takes);
  }
  for (int32_t k = 0; k < r->key_count; k++) {
    const halo_sort_key *key = &r->keys[k];
    halo_value value = values[0];
    if (key->value) {
      value = halo_emit_inner(e, comparator, sides, key->value);
    }
    const char *one = sort_key_code(e, key, value);
    const char *name = halo_arena_printf(e->arena, "c%d", e->next_name++);
    if (code) {
      halo_emit_line(e, "const %s %s = %s << %d | %s;", type, name, code,
                     sort_type_bits(value.type), one);
    } else {
      halo_emit_line(e, "const %s %s = %s;", type, name, one);
    }
    code = name;
  }
  return code;
}

static int sort_code_bits(const halo_sort_records *r) {
  int bits = 0;
  for (int32_t k = 0; k < r->key_count; k++) {
    const halo_instr *value = r->keys[k].value;
    bits += sort_type_bits(value ? value->shape->type : r->sort->operands[0]->shape->type);
  }
  return bits <= 64 ? bits : 0;
}

/* ---- Records ---- */

/* Whether the order depends on operand `i`. */
static bool sort_is_compared(const halo_sort_records *r, int32_t i) {
  const halo_computation *comparator = halo_instr_comp(r->sort, HALO_ATTR_TO_APPLY);
  if (!comparator) return i == 0;
  return halo_comparator_reads(comparator, 2 * i) || halo_comparator_reads(comparator, 2 * i + 1);
}

/* What is not compared goes along where that takes no more room than its place would. */
static void sort_choose_members(halo_sort_records *r) {
  int64_t others = 0, place = r->place_bits > 31 ? 8 : 4;
  for (int32_t i = 0; i < r->arity; i++) {
    r->held[i] = sort_is_compared(r, i);
    if (!r->held[i]) others += (int64_t)halo_type_size(r->sort->operands[i]->shape->type);
  }
  r->place = others > place || r->sort->opcode == HALO_OP_TOPK;
  for (int32_t i = 0; i < r->arity && !r->place; i++) r->held[i] = true;
  int64_t most = 1;
  for (int32_t i = 0; i <= r->arity; i++) {
    bool there = i < r->arity ? r->held[i] : r->place;
    if (!there) continue;
    int64_t size =
        i < r->arity ? (int64_t)halo_type_size(r->sort->operands[i]->shape->type) : place;
    r->bytes =
        (r->bytes + size - 1) / size * size + size; /* vectors too are aligned to their size */
    if (size > most) most = size;
  }
  r->bytes = (r->bytes + most - 1) / most * most;
  if (r->bytes == 0) r->bytes = 1;
}

const void *halo_sort_describe(const halo_lowering *l) {
  halo_sort_desc *desc = halo_desc_new(l, halo_sort_desc);
  const halo_instr *sort = halo_lowering_root(l);
  const halo_shape *shape = sort->operands[0]->shape;
  halo_sort_records r = {.caps = l->caps,
                         .given = halo_lowering_parameters(l),
                         .sort = sort,
                         .arity = sort->operand_count,
                         .rows = 1};
  if (sort->opcode == HALO_OP_TOPK) {
    bool largest = halo_instr_bool(sort, HALO_ATTR_LARGEST, true);
    r.dim = shape->rank - 1;
    r.keys[0] = (halo_sort_key){.descending = largest, .compare = HALO_COMPARE_TOTALORDER};
    r.key_count = halo_type_is_complex(shape->type) ? 0 : 1;
  } else {
    int32_t count;
    r.dim = (int)halo_instr_ints(sort, HALO_ATTR_DIMENSIONS, &count)[0];
    r.key_count = halo_comparator_keys(halo_instr_comp(sort, HALO_ATTR_TO_APPLY), r.keys);
  }
  r.n = shape->dims[r.dim];
  for (int d = 0; d < shape->rank; d++) r.rows *= d == r.dim ? 1 : shape->dims[d];
  while (r.place_bits < 63 && 1ll << r.place_bits < r.n) r.place_bits++;
  r.code_bits = sort_code_bits(&r);
  desc->packed = desc->plain = r;
  desc->plain.held = halo_arena_array(l->texts, bool, r.arity);
  sort_choose_members(&desc->plain);
  bool fits = r.code_bits > 0 && r.code_bits + r.place_bits <= 64;
  if (fits) {
    desc->packed.packed = true;
    desc->packed.bytes = 8;
    desc->packed.held = halo_arena_array(l->texts, bool, r.arity);
  } else {
    desc->packed = desc->plain;
  }
  return desc;
}

/* The member of record `name` that holds an operand's value, or with -1 the place. */
static const char *sort_member(const halo_sort_records *r, const char *name, int32_t i) {
  int32_t members = r->place;
  for (int32_t k = 0; k < r->arity; k++) members += r->held[k];
  if (members == 1) return name;
  return i < 0 ? halo_arena_printf(r->l->arena, "%s.at", name)
               : halo_arena_printf(r->l->arena, "%s.m%d", name, i);
}

static const char *sort_place_type(const halo_sort_records *r) {
  return r->place_bits > 31 ? "ulong" : "uint";
}

static void sort_declare_type(halo_sort_records *r) {
  halo_strbuf members = {0};
  const char *last = "uchar";
  int32_t count = 0;
  for (int32_t i = 0; i <= r->arity; i++) {
    if (!(i < r->arity ? r->held[i] : r->place)) continue;
    last =
        i < r->arity ? halo_ctype_storage(r->sort->operands[i]->shape->type) : sort_place_type(r);
    halo_strbuf_printf(&members, i < r->arity ? " %s m%d;" : " %s at;", last, i);
    count++;
  }
  r->type = last;
  if (count > 1) {
    r->type = halo_arena_printf(r->l->arena, "%s_t", r->name);
    halo_strbuf_printf(r->l->source, "typedef struct {%s } %s;\n", halo_strbuf_text(&members),
                       r->type);
  }
  halo_strbuf_deinit(&members);
}

/* The values that record `name` holds, in compute type; others are 0. */
static halo_value *sort_values(const halo_sort_records *r, halo_emitter *e, const char *name) {
  halo_value *values = halo_arena_array(e->arena, halo_value, r->arity);
  for (int32_t i = 0; i < r->arity; i++) {
    halo_type type = r->sort->operands[i]->shape->type;
    values[i] = halo_value_whole(e->arena, type, 0);
    if (!r->held[i]) continue;
    halo_sections_add(&e->sections, halo_ctype_section(type));
    const char *loaded = halo_ctype_load(e->arena, type, sort_member(r, name, i));
    const char *held = halo_arena_printf(e->arena, "%s%d", name, i);
    halo_emit_line(e, "const %s %s = %s;", halo_ctype_compute(type), held, loaded);
    values[i] = halo_value_name(type, held);
  }
  return values;
}

/* A function of records: "static inline RETURNS NAME_SUFFIX(const T a, ...) { BODY }". */
static halo_status sort_declare_function(const halo_sort_records *r, halo_emitter *e,
                                         const char *returns, const char *suffix, bool two) {
  halo_strbuf_printf(r->l->source, "static inline %s %s_%s(const %s a", returns, r->name, suffix,
                     r->type);
  if (two) halo_strbuf_printf(r->l->source, ", const %s b", r->type);
  halo_strbuf_printf(r->l->source, ") {\n%s}\n", halo_strbuf_text(&e->body));
  halo_sections_join(r->l->sections, &e->sections);
  r->l->facts.private_bytes += e->private_bytes;
  halo_status status = e->status;
  if (status == HALO_OK && e->args.count > 0) {
    status = halo_fail(HALO_UNIMPLEMENTED, "a comparator that reads arrays is not supported");
  }
  halo_emitter_deinit(e);
  return status;
}

static halo_status sort_declare_code(const halo_sort_records *r) {
  halo_emitter e;
  halo_emitter_init(&e, r->l->arena, r->l->computation);
  e.own_constants = true;
  halo_emit_line(&e, "return %s;", sort_emit_code(r, &e, sort_values(r, &e, "a")));
  return sort_declare_function(r, &e, r->code_bits > 32 ? "ulong" : "uint", "code", false);
}

static halo_status sort_declare_before(const halo_sort_records *r) {
  const halo_computation *comparator = halo_instr_comp(r->sort, HALO_ATTR_TO_APPLY);
  halo_emitter e;
  halo_emitter_init(&e, r->l->arena, r->l->computation);
  e.own_constants = true;
  const halo_value *a = sort_values(r, &e, "a"), *b = sort_values(r, &e, "b");
  halo_value *values = halo_arena_array(e.arena, halo_value, 2 * r->arity), before;
  for (int32_t i = 0; i < 2 * r->arity; i++) {
    halo_type type = comparator->params.data[i]->shape->type;
    values[i] = i % 2 ? b[i / 2] : a[i / 2];
    if (values[i].type != type) values[i] = halo_emit_convert(&e, values[i], type);
  }
  halo_emit_apply(&e, comparator, values, &before);
  halo_emit_line(&e, "return %s;", before.text);
  return sort_declare_function(r, &e, "bool", "before", true);
}

halo_status halo_sort_declare(halo_sort_records *r, halo_lowering *l) {
  r->l = l;
  r->name = halo_kernel_name(l, "records");
  r->type = "ulong";
  if (r->packed) return HALO_OK;
  sort_declare_type(r);
  return r->code_bits ? sort_declare_code(r) : sort_declare_before(r);
}

/* ---- Helpers of kernels ---- */

/* Place `at` of row "row" as an index of an array with the dimensions of the operands, or of the results,
 * which may have fewer places. */
static emit_index *sort_index(const halo_sort_records *r, halo_emitter *e, const halo_shape *shape,
                              const halo_integer *at) {
  const halo_integer *coordinates[HALO_MAX_RANK];
  const halo_integer *row = halo_emit_counter(e, "row", r->rows);
  for (int d = shape->rank - 1; d >= 0; d--) {
    if (d == r->dim) continue;
    coordinates[d] = halo_integer_mod(&e->integers, row, shape->dims[d]);
    row = halo_integer_div(&e->integers, row, shape->dims[d]);
  }
  coordinates[r->dim] = at;
  return halo_index_of(e, shape->rank, shape->dims, coordinates);
}

void halo_sort_emit_make(const halo_sort_records *r, halo_helpers *p) {
  halo_emitter *e = &p->e;
  emit_frame *frame = halo_helpers_open(p);
  emit_index *index =
      sort_index(r, e, r->sort->operands[0]->shape, halo_emit_counter(e, "p", r->n));
  halo_value *values = halo_arena_array(e->arena, halo_value, r->arity);
  for (int32_t i = 0; i < r->arity; i++) {
    halo_type type = r->sort->operands[i]->shape->type;
    bool needed = r->packed ? sort_is_compared(r, i) : r->held[i];
    values[i] = needed ? halo_emit_value(e, frame, r->sort->operands[i], 0, index)
                       : halo_value_whole(e->arena, type, 0);
  }
  if (r->packed) {
    halo_emit_line(e, "return (ulong)%s << %d | (ulong)p;", sort_emit_code(r, e, values),
                   r->place_bits);
  } else {
    halo_emit_line(e, "%s v;", r->type);
    for (int32_t i = 0; i < r->arity; i++) {
      if (!r->held[i]) continue;
      halo_emit_line(e, "%s = %s;", sort_member(r, "v", i),
                     halo_ctype_store(e->arena, values[i].type, values[i].text));
    }
    if (r->place) halo_emit_line(e, "%s = (%s)p;", sort_member(r, "v", -1), sort_place_type(r));
    halo_emit_line(e, "return v;");
  }
  halo_helpers_close(p, r->type, "_in", "row, p", NULL);
}

/* Where record "v" comes from. */
static const halo_integer *sort_emit_place(const halo_sort_records *r, halo_emitter *e) {
  const char *itype = halo_emitter_index_type(e);
  if (r->packed) {
    halo_emit_line(e, "const %s at = (%s)(v & 0x%llxUL);", itype, itype,
                   (1ull << r->place_bits) - 1);
  } else {
    halo_emit_line(e, "const %s at = (%s)%s;", itype, itype, sort_member(r, "v", -1));
  }
  return halo_emit_counter(e, "at", r->n);
}

void halo_sort_emit_store(const halo_sort_records *r, halo_helpers *p) {
  halo_emitter *e = &p->e;
  emit_frame *frame = halo_helpers_open(p);
  bool top = r->sort->opcode == HALO_OP_TOPK;
  const halo_shape *out = halo_leaf_shape(r->sort->shape, 0), *in = r->sort->operands[0]->shape;
  const halo_integer *from = r->packed || r->place ? sort_emit_place(r, e) : NULL;
  if (top) {
    halo_emit_branch(e, halo_arena_printf(e->arena, "if (p < %lld)", (long long)out->dims[r->dim]));
  }
  emit_index *there = sort_index(r, e, out, halo_emit_counter(e, "p", out->dims[r->dim]));
  emit_index *here = from ? sort_index(r, e, in, from) : NULL;
  for (int32_t i = 0; i < r->arity + top; i++) {
    const halo_shape *leaf = halo_leaf_shape(r->sort->shape, i);
    const halo_integer *position = halo_index_position(e, there, leaf);
    const char *to = halo_emit_arg(e, HALO_ROLE_OUTPUT, i, leaf->type, NULL);
    if (i == r->arity) {
      halo_emit_line(e, "%s[%s] = (int)at;", to, halo_emit_integer(e, position));
    } else if (!r->packed && r->held[i]) {
      halo_emit_line(e, "%s[%s] = %s;", to, halo_emit_integer(e, position), sort_member(r, "v", i));
    } else {
      halo_emit_store(e, to, position, halo_emit_value(e, frame, r->sort->operands[i], 0, here));
    }
  }
  if (top) halo_emit_close(e);
  halo_helpers_close(p, "void", "_out", "row, p", r->type);
}

static const char *sort_scratch(const halo_sort_records *r, halo_helpers *p, int32_t scratch,
                                int64_t n) {
  const char *name = halo_emit_arg(&p->e, HALO_ROLE_SCRATCH, scratch, HALO_U8, NULL);
  return halo_arena_printf(r->l->arena, "((__global %s *)%s)[row * (%s)%lld + p]", r->type, name,
                           p->itype, (long long)n);
}

void halo_sort_emit_read(const halo_sort_records *r, halo_helpers *p, int32_t scratch, int64_t n) {
  halo_helpers_open(p);
  halo_emit_line(&p->e, "return %s;", sort_scratch(r, p, scratch, n));
  halo_helpers_close(p, r->type, "_in", "row, p", NULL);
}

void halo_sort_emit_write(const halo_sort_records *r, halo_helpers *p, int32_t scratch, int64_t n) {
  halo_helpers_open(p);
  halo_emit_line(&p->e, "%s = v;", sort_scratch(r, p, scratch, n));
  halo_helpers_close(p, "void", "_out", "row, p", r->type);
}

void halo_sort_holes(const halo_sort_records *r, halo_helpers *p, halo_template *k) {
  halo_helpers_hole(p, k, "H_T", "%s", r->type);
  halo_helpers_call(p, k, "H_IN", "_in", "row, p");
  halo_helpers_call(p, k, "H_OUT", "_out", "row, p, v");
  if (r->packed) {
    halo_helpers_hole(p, k, "H_BEFORE(a, b)", "((a) < (b))");
  } else if (r->sort->opcode == HALO_OP_TOPK) {
    halo_helpers_hole(p, k, "H_BEFORE(a, b)",
                      "(%s_code(a) < %s_code(b) || (%s_code(a) == %s_code(b) && (a).at < (b).at))",
                      r->name, r->name, r->name, r->name);
  } else if (r->code_bits) {
    halo_helpers_hole(p, k, "H_BEFORE(a, b)", "(%s_code(a) < %s_code(b))", r->name, r->name);
  } else {
    halo_helpers_hole(p, k, "H_BEFORE(a, b)", "%s_before(a, b)", r->name);
  }
}
