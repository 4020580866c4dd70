/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/window/scan.c: cumulative reduce-windows (each result is of all elements up to its own, or from it on) in
 * as many steps as there are elements. Combining is taken to be associative, as XLA takes it to be. */
#include "hlo/window.h"
#include "kernels/families.h"
#include "kernels/window/text.h"

extern const char halo_cl_scan[], halo_cl_scan_lines[], halo_cl_scan_tiles[];

/* A scan of a row-major [outer, n, inner] array along n. */
struct halo_scan_desc {
  halo_window_text w;
  int64_t outer, n, inner;
  bool reverse;
  int64_t chunk, chunks;
  int lanes;
  int line;      /* neighbours along a row that are a vector, or 0 */
  bool side;     /* sequences of a work item go on together, each in a lane of a vector */
  bool is_short; /* rows are written out, and a work item does one after the other */
  /* Rows through local memory: work items of a row or chunk, rows of a group, and neighbours of a work item; team 0: not so. */
  int64_t team, teams, share;
};

/* Which rows or columns the windows run along. */
static bool scan_find(const halo_instr *instr, halo_scan_desc *out, const char **why) {
  const halo_shape *shape = instr->operands[0]->shape;
  const halo_attr *window = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  *why = "the windows are not all that comes before, or after";
  int along = -1;
  for (int d = 0; d < shape->rank && window; d++) {
    const halo_window_dim *w = &window->window.data[d];
    if (halo_window_is_trivial(w)) continue;
    if (along >= 0 || !halo_window_is_running(w, shape->dims[d])) return false;
    along = d;
    out->reverse = w->pad_low == 0;
  }
  if (along < 0) return false;
  out->n = shape->dims[along];
  for (int d = 0; d < along; d++) out->outer *= shape->dims[d];
  for (int d = along + 1; d < shape->rank; d++) out->inner *= shape->dims[d];
  return true;
}

bool halo_scan_supports(const halo_lowering *l, const char **why) {
  const halo_window_desc *desc = l->desc;
  *why = desc->why_no_scan;
  return desc->scan != NULL;
}

/* Seconds: of rows that are cut, each element is read and combined once more. */
static double scan_tiles_cost(const halo_lowering *l, const halo_window_desc *desc) {
  enum { MOVING = 16 }; /* operations on an element besides combining it: local memory, both ways */
  const halo_scan_desc *v = desc->scan;
  const halo_prices *p = halo_lowering_prices(l);
  double elements = (double)(v->outer * v->n), launches = v->chunks > 1 ? 2 : 1;
  double items = (double)(v->outer * v->chunks * v->team), times = v->chunks > 1 ? 1.5 : 1;
  double bytes = p->loop_element * elements * v->w.count;
  return launches * p->launch + times * halo_target_bytes(halo_lowering_target(l), bytes, items) +
         times * halo_lowering_operations(l, elements * (2 * desc->body_cost + MOVING), items);
}

/* Seconds: each element is read and combined once, or twice where rows are cut. */
double halo_scan_cost(const halo_lowering *l) {
  const halo_window_desc *desc = l->desc;
  const halo_scan_desc *v = desc->scan;
  double elements = (double)(v->outer * v->n * v->inner), launch = halo_lowering_prices(l)->launch;
  if (elements == 0) return 0;
  if (v->team) return scan_tiles_cost(l, desc);
  double items = (double)(v->outer * v->inner * v->chunks);
  double moved = halo_lowering_prices(l)->loop_element * elements;
  double once = halo_lowering_seconds(l, moved, items) * v->w.count +
                halo_lowering_operations(l, elements * desc->body_cost, items);
  return v->chunks > 1 ? 2 * once + launch : once;
}

/* Sequences that a work item of a CPU has side by side: few rows,
 * which may all fall on the same lines of a cache, and as many columns as are a page or so. */
enum {
  SCAN_ROWS = 4,
  SCAN_LINES = 2,
  SCAN_SHORT_ROWS = 64,
  SCAN_COLUMNS = 512,
  SCAN_LINE = HALO_WINDOW_LINE,
  SCAN_DEAR = 16 /* additions: bodies that are worth gathering elements for */
};

/* Which of a CPU's ways rows go. */
static void scan_choose(halo_scan_desc *v, const halo_lowering *l, int cost) {
  if (v->inner > 1 || v->w.count > 1) return;
  v->line = v->n >= SCAN_LINE ? halo_window_line(&v->w, l) : 0;
  v->side = !v->line && cost >= SCAN_DEAR &&
            v->outer * (v->n / halo_lowering_parameters(l)->scan_least + 1) >= SCAN_LINE;
  v->is_short = !v->side && v->n < SCAN_LINE && cost < SCAN_DEAR;
}

/* Rows of a GPU through local memory: short ones several a group, long ones cut for many groups. What the order of
 * combining depends on follows from the shape, and from the largest group and the local memory that a device has. */
static bool scan_cut_tiles(halo_scan_desc *v, const halo_lowering *l) {
  const halo_caps *caps = l->caps;
  enum { LARGEST = 256, LEAST = 16, BYTES = 64, NEIGHBOURS = 15, SMALL = 64 };
  int64_t most = (int64_t)halo_caps_largest_group(caps), local = LARGEST;
  int64_t want = halo_lowering_parameters(l)->scan_rows;
  int64_t size = (int64_t)halo_accumulator_size(v->w.values, v->w.count);
  if (caps->is_cpu || v->inner > 1) return false;
  int64_t share = (BYTES / size - 1) | 1;
  if (share > NEIGHBOURS) share = NEIGHBOURS;
  if (share < 1) share = 1;
  while (local > most || local * (share + 2) * size > (int64_t)caps->local_memory) local /= 2;
  if (local < LEAST) return false;
  v->share = share;
  v->team = local;
  v->teams = v->chunks = 1;
  v->chunk = v->n;
  if (v->n > local * share) {
    int64_t tiles = (v->n + local * share - 1) / (local * share);
    int64_t groups = (want + v->outer - 1) / v->outer;
    v->chunk = (tiles + groups - 1) / groups * local * share;
    v->chunks = (v->n + v->chunk - 1) / v->chunk;
    return true;
  }
  while (v->team > 1 && v->team / 2 * share >= v->n) v->team /= 2;
  v->share = ((v->n + v->team - 1) / v->team) | 1;
  while (2 * v->teams * v->team <= local && v->teams < v->outer &&
         (v->teams * v->team < SMALL || v->outer / v->teams > want)) {
    v->teams *= 2;
  }
  return true;
}

static void scan_cut(halo_scan_desc *v, const halo_lowering *l, int cost) {
  const halo_caps *caps = l->caps;
  /* The order of combining depends on these and on the shape, not on the device's size. */
  const halo_parameters *given = halo_lowering_parameters(l);
  if (scan_cut_tiles(v, l)) return;
  int64_t lines = v->outer * v->inner;
  int64_t want = v->inner > 1 ? given->scan_columns : given->scan_rows, least = given->scan_least;
  if (caps->is_cpu) scan_choose(v, l, cost);
  int64_t chunks = lines < want ? want / lines : 1, most = v->n / least;
  if (chunks > most) chunks = most > 0 ? most : 1;
  v->chunk = (v->n + chunks - 1) / chunks;
  if (chunks > 1 && v->side) {
    v->chunk |= 1;
  } else if (chunks > 1 && caps->is_cpu) {
    /* An odd number of cache lines, so that chunks side by side fall on different ones. */
    v->chunk = (v->chunk + SCAN_LINE - 1) / SCAN_LINE * SCAN_LINE;
    if (v->chunk / SCAN_LINE % 2 == 0) v->chunk += SCAN_LINE;
  }
  v->chunks = (v->n + v->chunk - 1) / v->chunk;
  if (!caps->is_cpu) return;
  int64_t items = 4 * (caps->compute_units > 0 ? (int64_t)caps->compute_units : 1);
  v->lanes = v->side ? SCAN_LINE : v->is_short ? SCAN_SHORT_ROWS : v->line ? SCAN_LINES : SCAN_ROWS;
  for (int lanes = SCAN_LINE; lanes <= SCAN_COLUMNS && v->inner % lanes == 0; lanes *= 2) {
    if (lanes == SCAN_LINE || lines * v->chunks / lanes >= items) v->lanes = lanes;
  }
  while (v->lanes > v->chunks * lines) v->lanes /= 2;
}

const halo_scan_desc *halo_scan_describe(const halo_lowering *l, const halo_window_desc *desc,
                                         const char **why) {
  halo_scan_desc *v = halo_desc_new(l, halo_scan_desc);
  v->w = desc->parts;
  v->outer = v->inner = v->lanes = 1;
  if (!scan_find(v->w.instr, v, why)) return NULL;
  *why = desc->why_not;
  if (desc->why_not) return NULL;
  v->w.from_end = v->reverse;
  v->w.is_inlined = l->caps->is_cpu && desc->body_cost >= SCAN_DEAR;
  if (v->outer * v->n * v->inner > 0) scan_cut(v, l, desc->body_cost);
  return v;
}

/* Whether results are stored by the line: lines fall into no two chunks. */
static bool scan_streams(const halo_scan_desc *v) {
  if (v->line) {
    return v->n % v->line == 0 && v->chunk % v->line == 0 && halo_window_streams(&v->w, v->line);
  }
  bool lines = v->inner == 1 ? v->n % SCAN_LINE == 0 && v->chunk % SCAN_LINE == 0
                             : v->inner % v->lanes == 0 && v->lanes % SCAN_LINE == 0;
  return lines && halo_window_streams(&v->w, SCAN_LINE);
}

/* ---- Helpers ---- */

/* What is kept of a sequence: each value in scratch of its own. */
static void scan_emit_held(const halo_scan_desc *v, halo_helpers *p) {
  halo_emitter *e = &p->e;
  int64_t sequences = v->outer * v->chunks * v->inner;
  halo_value values[HALO_REDUCE_VALUES];
  halo_helpers_open(p);
  for (int32_t i = 0; i < v->w.count; i++) {
    halo_type type = v->w.values[i].accumulator;
    values[i] = halo_emit_load(e, halo_emit_arg(e, HALO_ROLE_SCRATCH, i, type, NULL), type,
                               halo_emit_counter(e, "p", sequences));
  }
  halo_accumulator_return(&v->w.a, e, values);
  halo_helpers_close(p, v->w.a.type, "_held", "p", NULL);
  halo_helpers_open(p);
  for (int32_t i = 0; i < v->w.count; i++) {
    halo_type type = v->w.values[i].accumulator;
    halo_emit_store(e, halo_emit_arg(e, HALO_ROLE_SCRATCH, i, type, NULL),
                    halo_emit_counter(e, "p", sequences),
                    halo_value_name(type, halo_accumulator_member(&v->w.a, "v", i)));
  }
  halo_helpers_close(p, "void", "_hold", "p", v->w.a.type);
}

/* ---- Kernels ---- */

enum { SCAN_COMBINE, SCAN_BEFORE, SCAN_RESULTS };

static halo_status scan_step(const halo_scan_desc *v, int step) {
  static const char *const labels[] = {"window:scan_chunks", "window:scan_before", "window:scan"};
  const halo_caps *caps = v->w.l->caps;
  halo_helpers p;
  bool lines = v->line && step != SCAN_BEFORE;
  /* 64 bits: neighbours are then seen to be neighbours whatever an index is made of. */
  halo_helpers_begin(&p, v->w.l, halo_arena_printf(v->w.l->arena, "%s_%d", v->w.name, step), lines);
  if (step != SCAN_BEFORE) halo_window_emit_in(&v->w, &p);
  if (step != SCAN_COMBINE) halo_window_emit_start(&v->w, &p);
  if (step == SCAN_RESULTS) halo_window_emit_out(&v->w, &p);
  if (v->chunks > 1) scan_emit_held(v, &p);
  halo_template k;
  halo_helpers_template(&p, &k, lines ? halo_cl_scan_lines : halo_cl_scan, "");
  halo_window_holes(&v->w, &p, &k);
  if (v->chunks > 1) {
    halo_helpers_call(&p, &k, "H_HELD", "_held", "p");
    halo_helpers_call(&p, &k, "H_HOLD", "_hold", "p, v");
  } else {
    halo_helpers_call(&p, &k, "H_HELD", "_start", "p"); /* not used */
  }
  bool stream = step == SCAN_RESULTS && scan_streams(v);
  if (lines) {
    halo_window_line_holes(&v->w, &p, &k, v->line, step == SCAN_RESULTS, stream);
  } else {
    /* Columns that are stored by the line are combined by it, however few rows there are. */
    bool runs = caps->is_cpu && (v->chunk >= SCAN_LINE || stream) && !v->side;
    halo_template_define_int(&k, "H_LINE", runs ? SCAN_LINE : 1);
    halo_template_define_int(&k, "H_SIDE", v->side);
    halo_template_define_int(&k, "H_SHORT", v->is_short);
    halo_window_stream_holes(&v->w, &p, &k, stream);
  }
  int64_t rows = v->outer * v->inner, local = 1;
  while (step == SCAN_BEFORE && !caps->is_cpu && local < 256 && local < v->chunks &&
         2 * local <= (int64_t)halo_caps_largest_group(caps) &&
         2 * local * 16 * v->w.count <= (int64_t)caps->local_memory) {
    local *= 2;
  }
  halo_template_define_int(&k, "H_STEP", step);
  halo_template_define_int(&k, "H_OUTER", v->outer);
  halo_template_define_int(&k, "H_N", v->n);
  halo_template_define_int(&k, "H_INNER", v->inner);
  halo_template_define_int(&k, "H_CHUNK", v->chunk);
  halo_template_define_int(&k, "H_CHUNKS", v->chunks);
  halo_template_define_int(&k, "H_REVERSE", v->reverse);
  halo_template_define_int(&k, "H_LANES", v->lanes);
  halo_template_define_int(&k, "H_LOCAL", local);
  size_t size = halo_accumulator_size(v->w.values, v->w.count);
  if (step == SCAN_BEFORE) {
    halo_kernel_group(p.l, (size_t)local, 1);
    if (local > 1) halo_kernel_local(p.l, local, size);
  } else {
    halo_kernel_private(p.l, v->lanes + 64 / (int64_t)size, size);
    halo_kernel_private(p.l, 2 * v->lanes, p.e.wide ? 8 : 4);
  }
  halo_helpers_finish(&p, &k);
  halo_launch *launch = halo_helpers_launch(&p, labels[step]);
  if (step == SCAN_BEFORE) {
    launch->grid.global[0] = (size_t)(rows * local);
  } else {
    int64_t items = (rows * v->chunks + v->lanes - 1) / v->lanes;
    halo_launch_items(caps, launch, items);
    if (caps->is_cpu && items < 4096)
      launch->grid.global[0] = (size_t)items, launch->grid.local[0] = 1;
  }
  return halo_helpers_end(&p);
}

/* One of the two kernels of rows through local memory: sums of chunks, and results. */
static halo_status scan_tiles_step(const halo_scan_desc *v, bool results) {
  halo_helpers p;
  const char *name =
      halo_arena_printf(v->w.l->arena, "%s_%s", v->w.name, results ? "tiles" : "chunks");
  halo_helpers_begin(&p, v->w.l, name, false);
  halo_window_emit_in(&v->w, &p);
  if (results) {
    halo_window_emit_start(&v->w, &p);
    halo_window_emit_out(&v->w, &p);
  }
  if (v->chunks > 1) scan_emit_held(v, &p);
  halo_template k;
  halo_helpers_template(&p, &k, halo_cl_scan_tiles, "");
  halo_window_holes(&v->w, &p, &k);
  if (v->chunks > 1) {
    halo_helpers_call(&p, &k, "H_HELD", "_held", "p");
    halo_helpers_call(&p, &k, "H_HOLD", "_hold", "p, v");
  }
  halo_template_define_int(&k, "H_STEP", results);
  halo_template_define_int(&k, "H_ROWS", v->outer);
  halo_template_define_int(&k, "H_N", v->n);
  halo_template_define_int(&k, "H_CHUNK", v->chunk);
  halo_template_define_int(&k, "H_CHUNKS", v->chunks);
  halo_template_define_int(&k, "H_REVERSE", v->reverse);
  halo_template_define_int(&k, "H_TEAM", v->team);
  halo_template_define_int(&k, "H_TEAMS", v->teams);
  halo_template_define_int(&k, "H_SHARE", v->share);
  int64_t local = v->team * v->teams, groups = (v->outer + v->teams - 1) / v->teams * v->chunks;
  halo_kernel_group(p.l, (size_t)local, 1);
  halo_kernel_local(p.l, local * (v->share + 2), halo_accumulator_size(v->w.values, v->w.count));
  halo_helpers_finish(&p, &k);
  halo_launch *launch = halo_helpers_launch(&p, results ? "window:scan" : "window:scan_chunks");
  launch->grid.local[0] = (size_t)local;
  launch->grid.global[0] = (size_t)(groups * local);
  return halo_helpers_end(&p);
}

halo_status halo_scan_lower(halo_lowering *l) {
  halo_scan_desc v = *((const halo_window_desc *)l->desc)->scan;
  if (v.outer * v.n * v.inner == 0) return HALO_OK;
  HALO_TRY(halo_window_declare(&v.w, l, "scan"));
  if (v.line) halo_window_emit_line(&v.w, v.line);
  if (v.chunks > 1) {
    for (int32_t i = 0; i < v.w.count; i++) {
      int64_t size = (int64_t)halo_type_size(v.w.values[i].accumulator);
      halo_vec_push(&l->scratch, (halo_scratch){v.outer * v.chunks * v.inner * size});
    }
  }
  if (v.team) {
    if (v.chunks > 1) HALO_TRY(scan_tiles_step(&v, false));
    return scan_tiles_step(&v, true);
  }
  if (v.chunks > 1) {
    HALO_TRY(scan_step(&v, SCAN_COMBINE));
    HALO_TRY(scan_step(&v, SCAN_BEFORE));
  }
  return scan_step(&v, SCAN_RESULTS);
}
