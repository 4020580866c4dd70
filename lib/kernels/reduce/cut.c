/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/reduce/cut.c: how the work of reductions is cut into pieces, and those into what a work item takes at once. */
#include "kernels/reduce/text.h"

/* Columns that one work item of a CPU keeps sums of: as many as a part of the first-level cache holds, so
 * that memory is read in long pieces. */
enum { REDUCE_CACHE_BYTES = 16384, REDUCE_CACHED_LANES = 256 };

/* How far reductions of few results are cut. A cut is an order of summation, and results repeat on
 * however many cores: so it follows from the shape and the class of device, never from the number of
 * compute units. There are pieces enough for the largest devices of a class, and each is worth its
 * share of a second kernel. */
typedef struct reduce_limits {
  int64_t pieces; /* wanted at most, those that there are anyway counted in */
  int64_t least;  /* elements of a piece at least */
  int64_t plenty; /* of so many pieces that there are anyway ... */
  int64_t large;  /* ... only inputs of so many elements are cut further */
} reduce_limits;

static reduce_limits reduce_limits_of(const halo_lowering *l, bool columns) {
  enum { CPU_ROWS = 4, CPU_COLUMNS = 8, GPU = 64, LARGE = 4 << 20 };
  const halo_parameters *given = halo_lowering_parameters(l);
  return (reduce_limits){
      .pieces = given->reduce_pieces,
      .least = columns ? given->reduce_column_elements : given->reduce_row_elements,
      .plenty = !l->caps->is_cpu ? GPU
                : columns        ? CPU_COLUMNS
                                 : CPU_ROWS,
      .large = LARGE};
}

static int64_t reduce_divide_up(int64_t x, int64_t by) { return (x + by - 1) / by; }

int64_t halo_reduce_pieces(int64_t elements, int64_t results) {
  enum { LEAST = 2048, PIECES = 1024 };
  int64_t pieces = elements / LEAST;
  if (pieces > PIECES) pieces = PIECES;
  return pieces > results ? pieces : results;
}

int64_t halo_reduce_cost_each(const halo_lowering *l, int64_t count) {
  int64_t cost = 0;
  for (int32_t i = 0; i < l->computation->instrs.count; i++) {
    const halo_instr *instr = l->computation->instrs.data[i];
    bool counts =
        halo_shape_is_array(instr->shape) && halo_shape_element_count(instr->shape) == count;
    if (counts) cost += halo_op_info_of(instr->opcode)->cost;
  }
  return cost;
}

int64_t halo_reduce_cost_before(const halo_reduce_text *t) {
  return halo_reduce_cost_each(t->l, halo_shape_element_count(t->v.in));
}

/* Bytes of an accumulator. */
static int64_t reduce_bytes(const halo_reduce_text *t) {
  return (int64_t)halo_accumulator_size(t->v.values, t->v.value_count);
}

/* Neighbouring columns for a work item of a CPU: strips of equal length. */
static int reduce_strip(const halo_reduce_text *t, int64_t inner, bool cached) {
  int64_t most = cached ? REDUCE_CACHED_LANES : REDUCE_CACHE_BYTES / reduce_bytes(t);
  return (int)reduce_divide_up(inner, reduce_divide_up(inner, most));
}

/* Sums that a work item of a CPU has side by side in a row: what its vector registers hold. */
static int reduce_lanes(const halo_reduce_text *t) {
  int lanes = 64;
  while (!t->v.ordered && lanes > 8 && lanes * t->v.value_count > 64) lanes /= 2;
  return lanes;
}

/* Whether what makes the input depends on coordinates, beyond the element's place. */
static bool reduce_needs_places(const halo_reduce_text *t) {
  if (t->v.in->rank < 2) return false;
  for (int32_t i = 0; i < t->l->computation->instrs.count; i++) {
    const halo_instr *instr = t->l->computation->instrs.data[i];
    if (instr->opcode == HALO_OP_CONCATENATE || instr->opcode == HALO_OP_SLICE ||
        instr->opcode == HALO_OP_PAD || instr->opcode == HALO_OP_IOTA ||
        (instr->opcode == HALO_OP_BROADCAST && instr->operands[0]->shape->rank > 0)) {
      return true;
    }
  }
  return false;
}

/* Chunks that are equal parts of a line of the input, about as long as they are: coordinates other than the last
 * are the same for all elements of one then, and nothing is divided for each of them. */
static void reduce_place_chunks(const halo_reduce_text *t, halo_reduce_cut *cut) {
  enum { LEAST = 256 };
  int64_t line = t->v.in->dims[t->v.in->rank - 1];
  if (cut->columns || line < LEAST || cut->n % line || !reduce_needs_places(t)) return;
  if (!halo_shape_has_default_layout(t->v.in)) return;
  int64_t parts = reduce_divide_up(line, cut->chunk);
  while (line % parts && line / parts >= LEAST) parts++;
  if (line % parts || 2 * (line / parts) < cut->chunk) return;
  cut->chunk = line / parts;
  cut->chunks = cut->n / cut->chunk;
  cut->within_lines = true;
}

/* Rows of elements that take long are cut into shorter pieces. */
static reduce_limits reduce_row_limits(const halo_reduce_text *t) {
  enum {
    SIMPLE = 4,
    PLACES = 16,
    LEAST = 2048
  }; /* operations of an element, and its coordinates */
  reduce_limits limits = reduce_limits_of(t->l, false);
  int64_t cost = SIMPLE + halo_reduce_cost_before(t) + (reduce_needs_places(t) ? PLACES : 0);
  limits.least = limits.least * SIMPLE / cost;
  if (limits.least < LEAST) limits.least = LEAST;
  return limits;
}

static void reduce_split(const halo_reduce_text *t, halo_reduce_cut *cut,
                         const reduce_limits *limits, int64_t parallel) {
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
  reduce_place_chunks(t, cut);
}

/* How many sums are a vector: those of one kind of numbers, computed by few instructions, since each element
 * of a line is written out; 0: they are kept one by one, as on processors that run a work item a lane. */
static int reduce_line(const halo_reduce_text *t) {
  enum { LINE_INSTRS = 16, LINE_BYTES = 64 };
  if (t->l->caps->simd_width == 1) return 0;
  if (t->l->computation->instrs.count > LINE_INSTRS + 16 * t->v.value_count) return 0;
  int size = (int)halo_type_size(t->v.values[0].accumulator);
  for (int32_t i = 0; i < t->v.value_count; i++) {
    const halo_reduce_value *value = &t->v.values[i];
    const halo_instr *sum = halo_instr_comp(value->reduce, HALO_ATTR_TO_APPLY)->root;
    if (value->reduce->operand_count != 2 || sum->opcode != HALO_OP_ADD ||
        sum->operands[0]->opcode != HALO_OP_PARAMETER ||
        sum->operands[1]->opcode != HALO_OP_PARAMETER || sum->operands[0] == sum->operands[1] ||
        (int)halo_type_size(value->accumulator) != size ||
        halo_type_is_complex(value->accumulator)) {
      return 0;
    }
  }
  return size == 4 || size == 8 ? LINE_BYTES / size : 0;
}

/* Instructions up to which a fusion is read in several rows side by side. */
enum { REDUCE_SHORT_INSTRS = 24 };

/* A core that reads several streams at once uses more of the memory's bandwidth. Sums of all rows together
 * stay in registers. */
static void reduce_side_by_side(const halo_reduce_text *t, halo_reduce_cut *cut) {
  int64_t last_chunk = cut->n - (cut->chunks - 1) * cut->chunk;
  int line = reduce_line(t), lines = 128 / (line ? line : 1) / t->v.value_count;
  for (int rows = 4; line && rows > 0; rows /= 4) {
    int lanes = line * (lines / rows > 4 ? 4 : lines / rows > 1 ? lines / rows : 1);
    if (cut->outer % rows || last_chunk < lanes || cut->outer * cut->chunks < 8 * rows) continue;
    if (lanes * rows * t->v.value_count > 256) continue;
    /* Long texts are not bound by memory, and compilers take their time for each copy of one. */
    cut->rows = t->l->computation->instrs.count > REDUCE_SHORT_INSTRS && rows > 2 ? 2 : rows;
    cut->lanes = lanes;
    cut->line = line;
    return;
  }
  for (int rows = 8; rows >= 4; rows /= 2) {
    int lanes = cut->lanes;
    while (lanes > 8 && lanes * rows * t->v.value_count > 256) lanes /= 2;
    if (cut->outer % rows || last_chunk < lanes || cut->outer * cut->chunks < 8 * rows) continue;
    cut->rows = rows;
    cut->lanes = lanes;
    return;
  }
}

/* Short rows whose elements are combined one after the other, as a choice among them is where the order counts, or a
 * maximum of floats, leave nothing for lanes: vectors go over neighbouring rows, as if these were columns. So do the
 * shortest rows, whatever combines them. */
static bool reduce_transposes(const halo_reduce_text *t, int64_t outer, int64_t n) {
  enum { LANES = 16, SHORTEST = 16 };
  if (!t->l->caps->is_cpu || outer < LANES) return false;
  if (t->v.ordered) return n < 2 * reduce_lanes(t);
  bool alone = halo_type_is_float(t->v.values[0].accumulator) && !reduce_line(t);
  return alone ? n < reduce_lanes(t) : n <= SHORTEST;
}

static halo_reduce_cut reduce_cut_transposed(int64_t rows, int64_t n) {
  enum { LANES = 64 };
  int lanes = rows < LANES ? (int)rows : LANES;
  return (halo_reduce_cut){1, n, rows, n, 1, lanes, 1, true, 1, 0, false, true, 0, 1};
}

/* Work items of a group, at most, by what the device and its local memory allow. */
static int reduce_group(const halo_reduce_text *t) {
  const halo_caps *caps = t->l->caps;
  uint64_t most = caps->local_memory / (uint64_t)reduce_bytes(t);
  if (most > halo_caps_largest_group(caps)) most = halo_caps_largest_group(caps);
  const int wanted = halo_lowering_parameters(t->l)->reduce_group_items;
  int group = 1;
  while (group < wanted && 2 * (uint64_t)group <= most) group *= 2;
  return group;
}

/* Where columns are too few for work items that take one each, those of a group share the rows of some columns. Small inputs
 * keep to kernels without local memory, which regions can hold. Groups take as many short rows as they have work items for. */
static void reduce_share_groups(const halo_reduce_text *t, halo_reduce_cut *cut, int group) {
  enum { FILL = 1 << 16, LEAST = 16, WIDE = 32, SMALL = 1 << 18 };
  if (!cut->columns) {
    while (cut->local > 1 && 2 * cut->beside * cut->local <= group &&
           cut->beside < cut->outer * cut->chunks) {
      cut->beside *= 2;
    }
    return;
  }
  if (group < 2 * WIDE || cut->chunk < LEAST || t->v.outer * t->v.n * t->v.inner < SMALL) return;
  if (cut->outer * cut->inner * cut->chunks >= FILL) return;
  cut->local = group;
  cut->wide = 1;
  while (cut->wide < WIDE && cut->wide < cut->inner) cut->wide *= 2;
}

halo_reduce_cut halo_reduce_cut_of(const halo_reduce_text *t, int64_t outer, int64_t n,
                                   int64_t inner, bool first) {
  const halo_caps *caps = t->l->caps;
  halo_reduce_cut cut = {outer, n, inner, n, 1, 1, 1, inner > 1, 1, 0, false, false, 0, 1};
  reduce_limits limits = reduce_limits_of(t->l, cut.columns);
  int most = caps->is_cpu ? 1 : reduce_group(t);
  int64_t parallel; /* independent pieces of work there are already */
  if (inner == 1 && first && reduce_transposes(t, outer, n)) return reduce_cut_transposed(outer, n);
  if (caps->is_cpu) {
    cut.lanes = cut.columns ? reduce_strip(t, inner, !first) : reduce_lanes(t);
    parallel = cut.columns ? outer * reduce_divide_up(inner, cut.lanes) : outer;
    if (!cut.columns) limits = reduce_row_limits(t);
  } else {
    while (!cut.columns && cut.local < n && 2 * cut.local <= most) cut.local *= 2;
    parallel = cut.columns ? outer * inner / 256 + 1 : outer;
  }
  if (first) reduce_split(t, &cut, &limits, parallel);
  if (!caps->is_cpu) reduce_share_groups(t, &cut, most);
  if (caps->is_cpu && !cut.columns && !t->v.ordered) reduce_side_by_side(t, &cut);
  int line = caps->is_cpu && cut.columns && first ? reduce_line(t) : 0;
  if (line && cut.lanes >= line) {
    cut.line = line;
    /* Strips of whole lines. */
    if (cut.lanes < inner) cut.lanes = (cut.lanes + line - 1) / line * line;
  }
  return cut;
}
