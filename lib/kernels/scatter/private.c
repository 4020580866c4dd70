/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/scatter/private.c: scatter:private: updates of so few elements that each work group of a GPU has a copy of them in
 * local memory. The copies are combined in an order that follows from the shape and the largest group, so results repeat bit for bit. */
#include "codegen/ctype.h"
#include "kernels/accumulator.h"
#include "kernels/scatter/scatter.h"

extern const char halo_cl_scatter_private[];

/* Bytes of a copy; updates of a group at least, and groups at most; elements of a group of the second kernel; work items. */
enum {
  PRIVATE_BYTES = 16 << 10,
  PRIVATE_LEAST = 1024,
  PRIVATE_COPIES = 1024,
  PRIVATE_WIDE = 32,
  PRIVATE_GROUP = 256
};

typedef struct private_scatter {
  const halo_scatter_desc *v;
  halo_type type;
  int64_t n, places, share, copies;
  int local;
  halo_reduce_value value;
  halo_accumulator a;
  const char *name;
} private_scatter;

/* The identity of the body, as OpenCL C; NULL: it is another body. */
static const char *private_none(const halo_scatter_desc *v, halo_type type) {
  static const struct {
    halo_opcode opcode;
    const char *f32, *f64, *s32, *u32, *s64, *u64;
  } rows[] = {
      {HALO_OP_ADD, "-0.0f", "-0.0", "0", "0", "0", "0"},
      {HALO_OP_MAXIMUM, "-INFINITY", "-INFINITY", "INT_MIN", "0", "LONG_MIN", "0"},
      {HALO_OP_MINIMUM, "INFINITY", "INFINITY", "INT_MAX", "UINT_MAX", "LONG_MAX", "ULONG_MAX"},
  };
  const halo_computation *body = halo_instr_comp(v->scatter, HALO_ATTR_TO_APPLY);
  const halo_instr *root = body->root;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (root->opcode != rows[i].opcode || root->operands[0] == root->operands[1] ||
        root->operands[0]->opcode != HALO_OP_PARAMETER ||
        root->operands[1]->opcode != HALO_OP_PARAMETER) {
      continue;
    }
    return type == HALO_F32   ? rows[i].f32
           : type == HALO_F64 ? rows[i].f64
           : type == HALO_S32 ? rows[i].s32
           : type == HALO_U32 ? rows[i].u32
           : type == HALO_S64 ? rows[i].s64
           : type == HALO_U64 ? rows[i].u64
                              : NULL;
  }
  return NULL;
}

static private_scatter private_describe(const halo_lowering *l) {
  const halo_scatter_descs *descs = l->desc;
  const halo_scatter_desc *v = &descs->ordered;
  private_scatter s = {.v = v, .type = halo_leaf_shape(v->scatter->shape, 0)->type, .local = 1};
  s.n = halo_shape_element_count(v->updates);
  s.places = halo_shape_element_count(v->array);
  s.copies = s.n / PRIVATE_LEAST;
  if (s.copies > PRIVATE_COPIES) s.copies = PRIVATE_COPIES;
  if (s.copies < 1) s.copies = 1;
  s.share = (s.n + s.copies - 1) / s.copies;
  s.share = (s.share + PRIVATE_GROUP - 1) / PRIVATE_GROUP * PRIVATE_GROUP;
  if (s.share < PRIVATE_GROUP) s.share = PRIVATE_GROUP; /* of no updates */
  s.copies = (s.n + s.share - 1) / s.share;
  uint64_t most = halo_caps_largest_group(l->caps);
  while (s.local < PRIVATE_GROUP && 2 * (uint64_t)s.local <= most) s.local *= 2;
  s.value = (halo_reduce_value){v->scatter, 0, s.type, s.type};
  return s;
}

bool halo_scatter_private_works_on(const halo_caps *caps, const char **why) {
  *why = "the device is a CPU";
  return !caps->is_cpu;
}

bool halo_scatter_private_supports(const halo_lowering *l, const char **why) {
  private_scatter s = private_describe(l);
  int64_t size = (int64_t)halo_type_size(s.type);
  *why = "not one array that takes sums, maxima or minima of 4 or 8 bytes";
  if (s.v->arity != 1 || s.v->updates->type != s.type || !private_none(s.v, s.type)) return false;
  *why = "the array is empty, or too large for local memory";
  if (s.places == 0 || s.n == 0 || s.places * size > PRIVATE_BYTES) return false;
  *why = "work groups, or local memory, are too small";
  return s.local >= 2 * PRIVATE_WIDE &&
         (uint64_t)(s.places * size + s.local * (size + 4)) <= l->caps->local_memory;
}

/* Seconds: each work item of a group looks at each of its updates. */
double halo_scatter_private_cost(const halo_lowering *l) {
  private_scatter s = private_describe(l);
  const halo_prices *p = halo_lowering_prices(l);
  double items = (double)s.copies * s.local;
  int64_t strips = (s.places + PRIVATE_WIDE - 1) / PRIVATE_WIDE;
  double looks = p->scatter_private * (double)s.n * s.local;
  double moved = 2 * (double)halo_type_size(s.type);
  return 2 * p->launch + halo_lowering_operations(l, looks, items) +
         halo_target_bytes(halo_lowering_target(l), moved * (double)s.n, items) +
         halo_target_bytes(halo_lowering_target(l), moved * (double)(s.copies * s.places),
                           (double)(strips * s.local));
}

/* ---- Text ---- */

static const halo_shape *private_row_major(const halo_lowering *l, const halo_shape *shape) {
  return halo_shape_new(l->arena, shape->type, shape->rank, shape->dims);
}

/* "_place(u)" and "_value(u)": of element u of the updates. */
static void private_emit_update(const private_scatter *s, halo_helpers *p) {
  const halo_scatter_desc *v = s->v;
  halo_emitter *e = &p->e;
  const halo_shape *updates = private_row_major(p->l, v->updates);
  const halo_integer *batch[HALO_MAX_RANK], *at[HALO_MAX_RANK];
  emit_frame *frame = halo_helpers_open(p);
  emit_index *index = halo_index_from_position(e, updates, halo_emit_counter(e, "u", s->n));
  for (int i = 0; i < v->batch_rank; i++) batch[i] = halo_index_at(index, v->batch[i].updates);
  halo_emit_line(e, "int place = -1;");
  halo_scatter_emit_starts(e, frame, v, false, batch, at);
  for (int i = 0; i < v->window_rank; i++) {
    int d = v->window[i].other;
    at[d] = halo_integer_add(&e->integers, at[d], halo_index_at(index, v->window[i].updates));
  }
  emit_index *to = halo_index_of(e, v->array->rank, v->array->dims, at);
  halo_emit_line(
      e, "place = (int)(%s);",
      halo_emit_integer(e, halo_index_position(e, to, private_row_major(p->l, v->array))));
  halo_emit_close(e);
  halo_emit_line(e, "return place;");
  halo_helpers_close(p, "int", "_place", "u", NULL);

  frame = halo_helpers_open(p);
  index = halo_index_from_position(e, updates, halo_emit_counter(e, "u", s->n));
  halo_value value = halo_emit_value(e, frame, v->scatter->operands[2], 0, index);
  halo_accumulator_return(&s->a, e, &value);
  halo_helpers_close(p, s->a.type, "_value", "u", NULL);
}

/* "_old(p)" and "_new(p, v)": element p of the array, counted row by row. */
static void private_emit_array(const private_scatter *s, halo_helpers *p) {
  halo_emitter *e = &p->e;
  for (int put = 0; put < 2; put++) {
    halo_helpers_open(p);
    emit_index *index = halo_index_from_position(e, private_row_major(p->l, s->v->array),
                                                 halo_emit_counter(e, "p", s->places));
    const halo_integer *at =
        halo_index_position(e, index, halo_leaf_shape(s->v->scatter->shape, 0));
    const char *out = halo_emit_arg(e, HALO_ROLE_OUTPUT, 0, s->type, NULL);
    if (put) {
      halo_emit_store(e, out, at, halo_accumulator_load(&s->a, "v", 0));
    } else {
      halo_value value = halo_emit_load(e, out, s->type, at);
      halo_accumulator_return(&s->a, e, &value);
    }
    halo_helpers_close(p, put ? "void" : s->a.type, put ? "_new" : "_old", "p",
                       put ? s->a.type : NULL);
  }
}

static halo_status private_step(halo_lowering *l, const private_scatter *s, int step,
                                const int32_t *updates) {
  int64_t groups = step ? (s->places + PRIVATE_WIDE - 1) / PRIVATE_WIDE : s->copies;
  halo_helpers p;
  halo_helpers_begin(&p, l, halo_kernel_name(l, step ? "copies" : "private"), false);
  const char *copies = halo_emit_arg(&p.e, HALO_ROLE_SCRATCH, 0, s->type, NULL);
  step ? private_emit_array(s, &p) : private_emit_update(s, &p);
  halo_template k;
  halo_helpers_template(&p, &k, halo_cl_scatter_private, "");
  halo_helpers_hole(&p, &k, "H_T", "%s", s->a.type);
  halo_helpers_hole(&p, &k, "H_OP(a, b)", "%s_op(a, b)", s->name);
  halo_helpers_hole(&p, &k, "H_NONE", "((%s)%s)", s->a.type, private_none(s->v, s->type));
  if (step) {
    halo_helpers_hole(&p, &k, "H_GET(i)", "%s[i]", copies);
    halo_helpers_call(&p, &k, "H_OLD", "_old", "p");
    halo_helpers_call(&p, &k, "H_NEW", "_new", "p, v");
  } else {
    halo_helpers_hole(&p, &k, "H_PUT(i, v)", "%s[i] = (v)", copies);
    halo_helpers_call(&p, &k, "H_PLACE", "_place", "u");
    halo_helpers_call(&p, &k, "H_VALUE", "_value", "u");
  }
  halo_template_define_int(&k, "H_STEP", step);
  halo_template_define_int(&k, "H_LOCAL", s->local);
  halo_template_define_int(&k, "H_N", s->n);
  halo_template_define_int(&k, "H_SHARE", s->share);
  halo_template_define_int(&k, "H_COPIES", s->copies);
  halo_template_define_int(&k, "H_PLACES", s->places);
  halo_template_define_int(&k, "H_WIDE", PRIVATE_WIDE);
  halo_kernel_group(l, (size_t)s->local, 1);
  size_t size = halo_accumulator_size(&s->value, 1);
  halo_kernel_local(l, (step ? 0 : s->places) + s->local, size);
  if (!step) halo_kernel_local(l, s->local, sizeof(int32_t));
  halo_helpers_finish(&p, &k);
  halo_launch *launch =
      halo_helpers_launch(&p, step ? "scatter:private copies" : "scatter:private");
  halo_launch_line(launch, groups * s->local, (size_t)s->local);
  if (step) {
    launch->updates = updates;
    launch->update_count = 1;
  }
  return halo_helpers_end(&p);
}

halo_status halo_scatter_private_lower(halo_lowering *l) {
  private_scatter s = private_describe(l);
  const int32_t *updates;
  HALO_TRY(halo_scatter_lower_operands(l, s.v, &updates));
  if (!updates) return HALO_OK;
  s.name = halo_kernel_name(l, "copy");
  HALO_TRY(halo_accumulator_declare(l, &s.a, s.name, &s.value, 1));
  int64_t size = (int64_t)halo_type_size(s.type);
  halo_vec_push(&l->scratch, (halo_scratch){s.copies * s.places * size});
  HALO_TRY(private_step(l, &s, 0, updates));
  return private_step(l, &s, 1, updates);
}
