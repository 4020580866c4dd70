/* kernels/reduce.c: reductions that run in parallel, in one or two stages; reduce:loop in loop.c is the
 * general one. The order in which elements are combined depends on the shape and the device alone, so
 * results repeat bit for bit. */
#include "codegen/ctype.h"
#include "kernels/families.h"
#include "kernels/kernels.h"
#include "kernels/template.h"

#include <string.h>

extern const char halo_cl_reduce[];

/* The input as a row-major [outer, n, inner] array of which n is reduced. */
typedef struct reduce_view {
  int64_t outer, n, inner;
  int32_t arity; /* accumulators */
} reduce_view;

static bool reduce_describe(const halo_instr *reduce, reduce_view *v, const char **why) {
  const halo_shape *in = reduce->operands[0]->shape;
  bool reduced[HALO_MAX_RANK] = {false};
  int32_t count;
  const int64_t *dims = halo_instr_ints(reduce, HALO_ATTR_DIMENSIONS, &count);
  for (int32_t i = 0; i < count; i++) reduced[dims[i]] = true;
  *v = (reduce_view){1, 1, 1, reduce->operand_count / 2};
  int stage = 0; /* 0 before, 1 in, 2 behind the reduced dimensions */
  for (int d = 0; d < in->rank; d++) {
    if (in->dims[d] == 1) continue;
    if (reduced[d] && stage == 2) {
      *why = "kept and reduced dimensions alternate";
      return false;
    }
    if (reduced[d]) {
      stage = 1;
      v->n *= in->dims[d];
    } else if (stage == 0) {
      v->outer *= in->dims[d];
    } else {
      stage = 2;
      v->inner *= in->dims[d];
    }
  }
  *why = "nothing to reduce";
  return v->n > 1 && v->outer > 0 && v->inner > 0;
}

/* Bodies whose elements need not be combined one after the other: one associative and commutative op
 * on the two parameters, or, with several accumulators, a choice among the arguments by comparisons
 * (argmax and its kin). The latter may prefer the earlier of two (the first NaN), so that neighbours
 * may be combined in groups but not change places. Other bodies keep the order of the reference:
 * reduce:loop. */
static bool reduce_is_associative(const halo_computation *body) {
  const halo_instr *root = body->root;
  if (halo_opcode_has_trait(root->opcode, HALO_TRAIT_ASSOC)) {
    /* A complex product loses the sign of zeros when its factors change places. */
    if (halo_type_is_complex(root->shape->type) && root->opcode == HALO_OP_MULTIPLY) return false;
    const halo_instr *a = root->operands[0], *b = root->operands[1];
    return a->opcode == HALO_OP_PARAMETER && b->opcode == HALO_OP_PARAMETER && a != b;
  }
  bool selects = false;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    switch ((int)body->instrs.data[i]->opcode) {
      case HALO_OP_SELECT:
      case HALO_OP_MAXIMUM:
      case HALO_OP_MINIMUM: selects = true; break;
      case HALO_OP_COMPARE:
      case HALO_OP_AND:
      case HALO_OP_OR:
      case HALO_OP_NOT:
      case HALO_OP_TUPLE:
      case HALO_OP_PARAMETER: break;
      default: return false;
    }
  }
  return selects && root->opcode == HALO_OP_TUPLE;
}

static bool reduce_types_agree(const halo_instr *reduce) {
  int32_t n = reduce->operand_count / 2;
  for (int32_t i = 0; i < n; i++) {
    halo_type type = halo_leaf_shape(reduce->shape, i)->type;
    if (reduce->operands[i]->shape->type != type || reduce->operands[n + i]->shape->type != type) {
      return false;
    }
  }
  return true;
}

static bool reduce_supports(const halo_lowering *l, bool columns, const char **why) {
  const halo_instr *reduce = halo_lowering_root(l);
  reduce_view v;
  if (!reduce_describe(reduce, &v, why)) return false;
  if (columns != (v.inner > 1)) {
    *why = columns ? "rows are reduced" : "columns are reduced";
    return false;
  }
  if (!reduce_is_associative(halo_instr_comp(reduce, HALO_ATTR_TO_APPLY))) {
    *why = "the computation may depend on the order of the elements";
    return false;
  }
  *why = "input and result types differ";
  return reduce_types_agree(reduce);
}

static bool reduce_row_supports(const halo_lowering *l, const char **why) {
  return reduce_supports(l, false, why);
}

static bool reduce_column_supports(const halo_lowering *l, const char **why) {
  return reduce_supports(l, true, why);
}

static double reduce_cost(const halo_lowering *l) {
  return (double)halo_shape_element_count(halo_lowering_root(l)->operands[0]->shape) + 1;
}

/* ---- Text ---- */

/* The type an accumulator is kept in. */
static halo_type reduce_type(halo_type type) {
  return halo_type_is_float(type) && halo_ctype_is_narrow(type) ? HALO_F32 : type;
}

typedef struct reduce_text {
  halo_lowering *l;
  const halo_instr *reduce;
  reduce_view view;
  const char *name;        /* of the kernel: prefix of its helpers */
  const char *accumulator; /* its C type */
} reduce_text;

static const char *reduce_member(const reduce_text *t, const char *value, int32_t i) {
  if (t->view.arity == 1) return value;
  return halo_arena_printf(t->l->arena, "%s.m%d", value, i);
}

/* Member `i` of an accumulator as a value that the computation takes. */
static halo_value reduce_value(const reduce_text *t, const char *value, int32_t i) {
  halo_type type = halo_leaf_shape(t->reduce->shape, i)->type;
  const char *text = reduce_member(t, value, i);
  if (type == HALO_PRED) text = halo_arena_printf(t->l->arena, "((bool)%s)", text);
  return halo_value_name(type, text);
}

/* The position "p" in an array that is no larger than the input. */
static const halo_integer *reduce_position(const reduce_text *t, halo_emitter *e) {
  return halo_emit_counter(e, "p", halo_shape_element_count(t->reduce->operands[0]->shape));
}

static void reduce_declare_type(reduce_text *t) {
  halo_arena *arena = t->l->arena;
  if (t->view.arity == 1) {
    halo_type type = reduce_type(halo_leaf_shape(t->reduce->shape, 0)->type);
    /* bool has no promised size, which an array in local memory should have */
    t->accumulator = type == HALO_PRED ? "uchar" : halo_ctype_compute(type);
    return;
  }
  t->accumulator = halo_arena_printf(arena, "%s_t", t->name);
  halo_strbuf_append(t->l->source, "typedef struct {");
  for (int32_t i = 0; i < t->view.arity; i++) {
    halo_type type = reduce_type(halo_leaf_shape(t->reduce->shape, i)->type);
    halo_strbuf_printf(t->l->source, " %s m%d;",
                       type == HALO_PRED ? "uchar" : halo_ctype_compute(type), i);
  }
  halo_strbuf_printf(t->l->source, " } %s;\n", t->accumulator);
}

static void reduce_return(const reduce_text *t, halo_emitter *e, const halo_value *values) {
  if (t->view.arity == 1) {
    halo_emit_line(e, "return %s;", values[0].text);
    return;
  }
  halo_emit_line(e, "%s result;", t->accumulator);
  for (int32_t i = 0; i < t->view.arity; i++) {
    halo_emit_line(e, "result.m%d = %s;", i, values[i].text);
  }
  halo_emit_line(e, "return result;");
}

/* inline T name_op(T a, T b) */
static void reduce_emit_op(const reduce_text *t, halo_emitter *e) {
  halo_emitter_restart(e);
  halo_value *values = halo_arena_array(t->l->arena, halo_value, 2 * t->view.arity);
  halo_value *results = halo_arena_array(t->l->arena, halo_value, t->view.arity);
  for (int32_t i = 0; i < t->view.arity; i++) {
    values[i] = reduce_value(t, "a", i);
    values[t->view.arity + i] = reduce_value(t, "b", i);
  }
  e->keep_f32 = true;
  halo_emit_apply(e, halo_instr_comp(t->reduce, HALO_ATTR_TO_APPLY), values, results);
  e->keep_f32 = false;
  reduce_return(t, e, results);
  halo_strbuf_printf(t->l->source, "static inline %s %s_op(%s a, %s b) {\n%s}\n", t->accumulator,
                     t->name, t->accumulator, t->accumulator, halo_strbuf_text(&e->body));
}

/* The input at a position, through everything fused in front of the reduction. */
static void reduce_emit_in(const reduce_text *t, halo_emitter *e) {
  halo_emitter_restart(e);
  emit_frame *frame = halo_frame_kernel(e, t->l->computation);
  halo_value *values = halo_arena_array(t->l->arena, halo_value, t->view.arity);
  for (int32_t i = 0; i < t->view.arity; i++) {
    const halo_instr *operand = t->reduce->operands[i];
    const halo_shape *row_major = halo_shape_new(t->l->arena, operand->shape->type,
                                                 operand->shape->rank, operand->shape->dims);
    values[i] = halo_emit_value(e, frame, operand, 0,
                                halo_index_from_position(e, row_major, reduce_position(t, e)));
  }
  reduce_return(t, e, values);
}

/* Combines a total with the initial values, rounds and stores it. */
static void reduce_emit_out(const reduce_text *t, halo_emitter *e) {
  halo_emitter_restart(e);
  emit_frame *frame = halo_frame_kernel(e, t->l->computation);
  halo_value *values = halo_arena_array(t->l->arena, halo_value, 2 * t->view.arity);
  halo_value *results = halo_arena_array(t->l->arena, halo_value, t->view.arity);
  for (int32_t i = 0; i < t->view.arity; i++) {
    values[i] =
        halo_emit_value(e, frame, t->reduce->operands[t->view.arity + i], 0, halo_index_scalar(e));
    values[t->view.arity + i] = reduce_value(t, "v", i);
  }
  e->keep_f32 = true;
  halo_emit_apply(e, halo_instr_comp(t->reduce, HALO_ATTR_TO_APPLY), values, results);
  e->keep_f32 = false;
  for (int32_t i = 0; i < t->view.arity; i++) {
    halo_type type = halo_leaf_shape(t->reduce->shape, i)->type;
    const char *out = halo_emit_arg(e, HALO_ROLE_OUTPUT, i, type, NULL);
    halo_emit_store(e, out, reduce_position(t, e), results[i]);
  }
}

/* Partial results go to scratch in the accumulator's own type. */
static const char *reduce_scratch_arg(const reduce_text *t, halo_emitter *e, int32_t i) {
  return halo_emit_arg(e, HALO_ROLE_SCRATCH, i,
                       reduce_type(halo_leaf_shape(t->reduce->shape, i)->type), NULL);
}

static void reduce_emit_partial_out(const reduce_text *t, halo_emitter *e) {
  halo_emitter_restart(e);
  for (int32_t i = 0; i < t->view.arity; i++) {
    halo_type type = reduce_type(halo_leaf_shape(t->reduce->shape, i)->type);
    halo_emit_store(e, reduce_scratch_arg(t, e, i), reduce_position(t, e),
                    halo_value_name(type, reduce_member(t, "v", i)));
  }
}

static void reduce_emit_partial_in(const reduce_text *t, halo_emitter *e) {
  halo_emitter_restart(e);
  halo_value *values = halo_arena_array(t->l->arena, halo_value, t->view.arity);
  for (int32_t i = 0; i < t->view.arity; i++) {
    halo_type type = reduce_type(halo_leaf_shape(t->reduce->shape, i)->type);
    values[i] = halo_emit_load(e, reduce_scratch_arg(t, e, i), type, reduce_position(t, e));
  }
  reduce_return(t, e, values);
}

/* How the work of one stage is cut. */
typedef struct reduce_cut {
  int64_t outer, n, inner, chunk, chunks;
  int lanes, local;
  bool columns;
} reduce_cut;

/* Rows that a work item of a CPU reads side by side. */
enum { REDUCE_ROWS = 4 };

typedef void reduce_emit_fn(const reduce_text *t, halo_emitter *e);

/* One kernel: helper functions for input and output, then the template. */
static halo_status reduce_stage(reduce_text *t, const reduce_cut *cut, const char *suffix,
                                reduce_emit_fn *emit_in, reduce_emit_fn *emit_out) {
  halo_lowering *l = t->l;
  halo_arena *arena = l->arena;
  halo_emitter e;
  halo_emitter_init(&e, arena, l->computation);
  const char *itype = halo_emitter_index_type(&e);
  const char *kernel = halo_arena_printf(arena, "%s%s", t->name, suffix);
  /* Arguments are known only after both bodies, and both need all of them. */
  emit_in(t, &e);
  char *in_body = halo_arena_strdup(arena, halo_strbuf_text(&e.body));
  emit_out(t, &e);
  char *out_body = halo_arena_strdup(arena, halo_strbuf_text(&e.body));
  halo_arg_texts texts = halo_kernel_arg_texts(arena, e.args.data, e.args.count, 0);
  halo_strbuf_printf(l->source, "static inline %s %s_in(%s, const %s p) {\n%s}\n", t->accumulator,
                     kernel, texts.parameters, itype, in_body);
  halo_strbuf_printf(l->source, "static inline void %s_out(%s, const %s p, const %s v) {\n%s}\n",
                     kernel, texts.parameters, itype, t->accumulator, out_body);
  halo_template k;
  halo_template_init(&k, halo_cl_reduce);
#define HOLE(name, ...) halo_template_define(&k, name, halo_arena_printf(arena, __VA_ARGS__))
  HOLE("H_NAME", "H_NAME %s", kernel);
  HOLE("H_PARAMS", "H_PARAMS %s", texts.signature);
  HOLE("H_POINTERS", "H_POINTERS %s", texts.pointers);
  HOLE("H_T", "H_T %s", t->accumulator);
  HOLE("H_IN", "H_IN(p) %s_in(%s, p)", kernel, texts.arguments);
  HOLE("H_OP", "H_OP(a, b) %s_op(a, b)", t->name);
  HOLE("H_OUT", "H_OUT(p, v) %s_out(%s, p, v)", kernel, texts.arguments);
  HOLE("H_INT", "H_INT %s", itype);
#undef HOLE
  halo_template_define_int(&k, "H_N", cut->n);
  halo_template_define_int(&k, "H_INNER", cut->inner);
  halo_template_define_int(&k, "H_OUTER", cut->outer);
  halo_template_define_int(&k, "H_CHUNK", cut->chunk);
  halo_template_define_int(&k, "H_CHUNKS", cut->chunks);
  halo_template_define_int(&k, "H_LANES", cut->lanes);
  halo_template_define_int(&k, "H_LOCAL", cut->local);
  halo_template_define_int(&k, "H_COLUMNS", cut->columns);
  int64_t last_chunk = cut->n - (cut->chunks - 1) * cut->chunk;
  bool several = l->caps->is_cpu && !cut->columns && t->view.arity == 1 &&
                 cut->outer % REDUCE_ROWS == 0 && last_chunk >= cut->lanes &&
                 cut->outer * cut->chunks >= 8 * REDUCE_ROWS;
  halo_template_define_int(&k, "H_ROWS", several ? REDUCE_ROWS : 1);
  halo_template_define_int(&k, "H_ORDERED", t->view.arity > 1);
  halo_template_finish(&k, l->source);
  *l->sections |= e.sections;
  int64_t work = cut->outer * cut->chunks / (several ? REDUCE_ROWS : 1);
  if (cut->columns) work *= (cut->inner + cut->lanes - 1) / cut->lanes;
  size_t local = (size_t)cut->local;
  if (cut->columns || cut->local == 1) {
    /* On a GPU neighbours side by side. On a CPU work items are long: a few a group, so that groups cost
     * nothing, but enough groups to share out evenly. */
    local = l->caps->is_cpu ? 1 : halo_kernel_local_size(l->caps, work);
    while (l->caps->is_cpu && local < 32 && work >= (int64_t)(64 * local)) local *= 2;
  } else {
    work *= cut->local;
  }
  halo_launch launch = {
      .kernel = kernel,
      .label = halo_arena_printf(arena, "%s reduce:%s%s", l->name, cut->columns ? "column" : "row",
                                 suffix),
      .args = halo_arena_copy(arena, e.args.data, sizeof(halo_kernel_arg) * (size_t)e.args.count),
      .arg_count = e.args.count,
      .dims = 1,
      .global = {((size_t)work + local - 1) / local * local},
      .local = {local},
      .updates = -1,
  };
  halo_vec_push(&l->launches, launch);
  halo_status status = e.status;
  halo_emitter_deinit(&e);
  return status;
}

/* ---- Cutting ---- */

/* Columns that one work item of a CPU keeps sums of: as many as a part of the first-level cache holds, so
 * that memory is read in long pieces. */
enum { REDUCE_CACHE_BYTES = 16384, REDUCE_CACHED_LANES = 256 };

/* How far reductions of few results are cut. A cut is an order of summation, and results repeat on
 * however many cores: so it follows from the shape and the class of device, never from the number of
 * compute units. There are pieces enough for the largest devices of a class, and each is worth its
 * share of a second kernel. */
typedef struct reduce_limits {
  int64_t pieces; /* wanted at most, those that there are anyway counted in */
  int64_t least;  /* elements of a piece */
  int64_t plenty; /* of so many pieces that there are anyway ... */
  int64_t large;  /* ... only inputs of so many elements are cut further */
} reduce_limits;

static const reduce_limits reduce_cpu_rows = {64, 32768, 4, 4 << 20},
                           reduce_cpu_columns = {64, 131072, 8, 4 << 20},
                           reduce_gpu = {1024, 2048, 64, 4 << 20};

static int64_t reduce_divide_up(int64_t x, int64_t by) { return (x + by - 1) / by; }

/* Bytes of an accumulator. */
static int64_t reduce_bytes(const reduce_text *t) {
  int64_t bytes = 0, most = 1;
  for (int32_t i = 0; i < t->view.arity; i++) {
    int64_t size = (int64_t)halo_type_size(reduce_type(halo_leaf_shape(t->reduce->shape, i)->type));
    bytes += size;
    if (size > most) most = size;
  }
  return (bytes + most - 1) / most * most;
}

/* Neighbouring columns for a work item of a CPU: strips of equal length. */
static int reduce_strip(const reduce_text *t, int64_t inner, bool cached) {
  int64_t most = cached ? REDUCE_CACHED_LANES : REDUCE_CACHE_BYTES / reduce_bytes(t);
  return (int)reduce_divide_up(inner, reduce_divide_up(inner, most));
}

static void reduce_split(reduce_cut *cut, const reduce_limits *limits, int64_t parallel) {
  int64_t elements = cut->outer * cut->n * cut->inner;
  if (parallel >= limits->pieces || cut->n * cut->inner < 2 * limits->least) return;
  if (parallel >= limits->plenty && elements < limits->large) return;
  int64_t want = reduce_divide_up(limits->pieces, parallel);
  int64_t rows = reduce_divide_up(limits->least, cut->inner); /* of a piece, at least */
  int64_t most = cut->n / rows > 0 ? cut->n / rows : 1;
  if (cut->columns && most > cut->n / 8) most = cut->n / 8 > 0 ? cut->n / 8 : 1;
  if (want > most) want = most;
  cut->chunk = reduce_divide_up(cut->n, want);
  if (!cut->columns) cut->chunk = reduce_divide_up(cut->chunk, 64) * 64;
  cut->chunks = reduce_divide_up(cut->n, cut->chunk);
}

/* `first`: the stage that reads the input, which may be cut; the other reads what that left in the
 * caches. */
static reduce_cut reduce_cut_of(const reduce_text *t, int64_t outer, int64_t n, int64_t inner,
                                bool first) {
  const halo_caps *caps = t->l->caps;
  reduce_cut cut = {outer, n, inner, n, 1, 1, 1, inner > 1};
  const reduce_limits *limits = &reduce_gpu;
  int64_t parallel; /* independent pieces of work there are already */
  if (caps->is_cpu) {
    cut.lanes = cut.columns ? reduce_strip(t, inner, !first) : 64;
    parallel = cut.columns ? outer * reduce_divide_up(inner, cut.lanes) : outer;
    limits = cut.columns ? &reduce_cpu_columns : &reduce_cpu_rows;
  } else {
    uint64_t most = caps->local_memory / (uint64_t)reduce_bytes(t);
    if (most > caps->max_work_group) most = caps->max_work_group;
    if (most > caps->max_items[0]) most = caps->max_items[0];
    while (!cut.columns && cut.local < 256 && cut.local < n && 2 * (uint64_t)cut.local <= most) {
      cut.local *= 2;
    }
    parallel = cut.columns ? outer * inner / 256 + 1 : outer;
  }
  if (first) reduce_split(&cut, limits, parallel);
  return cut;
}

static halo_status reduce_lower(halo_lowering *l) {
  const halo_instr *reduce = halo_lowering_root(l);
  reduce_text t = {.l = l, .reduce = reduce};
  const char *why;
  reduce_describe(reduce, &t.view, &why);
  t.name = halo_kernel_name(l, t.view.inner > 1 ? "column" : "row");
  reduce_declare_type(&t);
  halo_emitter e;
  halo_emitter_init(&e, l->arena, l->computation);
  reduce_emit_op(&t, &e);
  *l->sections |= e.sections;
  halo_status status = e.status;
  halo_emitter_deinit(&e);
  HALO_TRY(status);
  reduce_cut first = reduce_cut_of(&t, t.view.outer, t.view.n, t.view.inner, true);
  if (first.chunks == 1) return reduce_stage(&t, &first, "", reduce_emit_in, reduce_emit_out);
  int64_t partials = first.chunks * t.view.outer * t.view.inner;
  for (int32_t i = 0; i < t.view.arity; i++) {
    halo_type type = reduce_type(halo_leaf_shape(reduce->shape, i)->type);
    halo_vec_push(&l->scratch, (halo_scratch){partials * (int64_t)halo_type_size(type)});
  }
  HALO_TRY(reduce_stage(&t, &first, "_parts", reduce_emit_in, reduce_emit_partial_out));
  /* The partial results are a [chunks, outer * inner] array. */
  reduce_cut second = reduce_cut_of(&t, 1, first.chunks, t.view.outer * t.view.inner, false);
  return reduce_stage(&t, &second, "", reduce_emit_partial_in, reduce_emit_out);
}

static const halo_implementation reduce_implementations[] = {
    {"row", reduce_row_supports, reduce_cost, reduce_lower},
    {"column", reduce_column_supports, reduce_cost, reduce_lower},
    {"loop", halo_loop_supports, halo_loop_inner_cost, halo_loop_lower},
    {0}};
const halo_family halo_family_reduce = {"reduce", HALO_OP_REDUCE, reduce_implementations};
