/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/dot/panels.c: products from packed panels: blocks, packing, and what all instances have. */
#include "kernels/dot/panels.h"

#include "codegen/ctype.h"

extern const char halo_cl_gemm_panels[], halo_cl_gemm_pack[];

int64_t halo_panels_round_up(int64_t x, int64_t by) { return (x + by - 1) / by * by; }

halo_panels halo_panels_choose(const halo_lowering *l, halo_type accumulator, int64_t columns) {
  int lanes = (int)l->caps->simd_width; /* f32 lanes of a CPU */
  if (lanes > 16) lanes = 16;
  if (lanes < 4) lanes = 4;
  while (lanes & (lanes - 1)) lanes--;
  halo_panels b = {.w = lanes, .mr = halo_lowering_parameters(l)->panels_rows, .group = 1};
  if (halo_type_size(accumulator) == 8) b.w = lanes / 2 < 2 ? 2 : lanes / 2;
  b.nv = lanes >= 16 ? 4 : 2; /* 32 vector registers, or 16 */
  /* Narrow results: fewer columns and more rows, so that little of the block is padding. */
  while (b.nv > 1 && columns <= (b.nv / 2) * b.w) {
    b.nv /= 2;
    if (b.mr < 12) b.mr *= 2;
  }
  b.nr = b.nv * b.w;
  return b;
}

const char *halo_panels_number(halo_helpers *helpers, bool shared, int64_t number) {
  if (shared) return halo_emit_number_arg(&helpers->e, number);
  return halo_arena_printf(helpers->l->arena, "%lld", (long long)number);
}

int64_t halo_panels_steps(int group, int64_t k) { return (k + group - 1) / group; }

int64_t halo_panels_pack_size(const halo_panels_pack *p) {
  return p->batch * halo_panels_round_up(p->lines, p->panel) * halo_panels_steps(p->group, p->k);
}

int64_t halo_panels_stretch(const halo_lowering *l, const halo_panels *b, int64_t rows,
                            int64_t columns, int64_t bytes) {
  enum { STRETCHES = 32, ITEMS = 4 };
  int64_t panels = (columns + b->nr - 1) / b->nr, size = panels * b->nr * bytes;
  int64_t most = halo_lowering_parameters(l)->panels_bytes;
  if (most < size / STRETCHES) most = size / STRETCHES;
  int64_t each = most / (b->nr * bytes), row_panels = (rows + b->mr - 1) / b->mr;
  /* Each launch has work for all cores. */
  int64_t least = (ITEMS * (int64_t)l->caps->compute_units + row_panels - 1) / row_panels;
  if (each < least) each = least;
  if (each >= panels) return columns;
  int64_t count = (panels + each - 1) / each;
  return (panels + count - 1) / count * b->nr;
}

/* H_IN: an element, or several that are parts of one. */
static void panels_pack_in(halo_helpers *helpers, halo_template *k, const halo_panels_pack *p,
                           const char *line, const char *terms) {
  halo_arena *arena = helpers->l->arena;
  if (p->group == 1) {
    halo_helpers_hole(helpers, k, "H_IN(b, line, k)", "%s_in(%s, b, %s, k)", helpers->name,
                      helpers->texts.arguments, line);
    return;
  }
  const char *pair = halo_type_is_float(p->type) ? "h_pair_bf16(" : "h_pair(";
  const char *text = p->group == 2 ? pair : "h_four(";
  for (int i = 0; i < p->group; i++) {
    const char *call = halo_arena_printf(arena, "%s_in(%s, b, %s, %d * (k) + %d)", helpers->name,
                                         helpers->texts.arguments, line, p->group, i);
    if (p->shared ? i > 0 : (p->k - 1) % p->group < i) {
      call = halo_arena_printf(arena, "(%d * (k) + %d < %s ? %s : 0)", p->group, i, terms, call);
    }
    text = halo_arena_printf(arena, "%s%s%s", text, i ? ", " : "", call);
  }
  halo_helpers_hole(helpers, k, "H_IN(b, line, k)", "(%s)%s)", text,
                    p->biased ? " ^ (int)0x80808080" : "");
}

/* Whether 16 x 16 words are turned over in registers on the way into panels. The text for an element is there sixteen
 * times then: for much that is packed as it lies, or of which little is computed on the way. */
static bool panels_pack_transposes(const halo_helpers *helpers, const halo_panels_pack *p) {
  enum { SIDE = 16, LEAST = 4096, SHORT_INSTRS = 8 };
  bool cheap = p->shared || helpers->l->computation->instrs.count <= SHORT_INSTRS;
  return cheap && p->batch * p->lines * p->k >= LEAST && p->k_fast && p->panel % SIDE == 0 &&
         halo_panels_steps(p->group, p->k) >= SIDE && halo_type_size(p->type) == 4 &&
         helpers->l->caps->vector_width_float >= SIDE;
}

/* Products are of vectors of `width`; 0: there are none. */
static void panels_add_section(halo_helpers *helpers, int group, halo_type type, int width) {
  bool floats = halo_type_is_float(type);
  if (group == 2) halo_sections_add(&helpers->e.sections, floats ? "pairs_bf16" : "pairs");
  if (group == 2 && !floats && width) {
    const char *lanes = halo_arena_printf(helpers->l->arena, "%d", width);
    halo_sections_add_for(&helpers->e.sections, "pairs", lanes);
  }
  if (group == 4) halo_sections_add(&helpers->e.sections, "fours");
}

halo_status halo_panels_pack_lower(halo_helpers *helpers, const halo_panels_pack *p,
                                   int32_t scratch, const char *label) {
  const char *out = halo_emit_arg(&helpers->e, HALO_ROLE_SCRATCH, scratch, p->type, NULL);
  int64_t steps = halo_panels_steps(p->group, p->k);
  int block = p->panel == 1 ? 1024 : 16;
  bool turns = panels_pack_transposes(helpers, p);
  if (turns) halo_sections_add(&helpers->e.sections, "turned");
  panels_add_section(helpers, p->group, p->type, 0);
  halo_sections_add(&helpers->e.sections, "rolled");
  const char *lines = halo_panels_number(helpers, p->shared || p->in_stretches, p->lines);
  const char *line = "line";
  if (p->in_stretches) {
    line = halo_arena_printf(helpers->l->arena, "(line) + %s",
                             halo_panels_number(helpers, true, p->first));
  }
  const char *length = halo_panels_number(helpers, p->shared, steps);
  const char *terms = p->group == 1 ? NULL : halo_panels_number(helpers, p->shared, p->k);
  const char *batch = halo_panels_number(helpers, p->shared, p->batch);
  halo_template k;
  halo_helpers_template(helpers, &k, halo_cl_gemm_pack, "");
  halo_helpers_hole(helpers, &k, "H_T", "%s", halo_ctype_compute(p->type));
  panels_pack_in(helpers, &k, p, line, terms);
  halo_helpers_hole(helpers, &k, "H_OUT(p, v)", "%s[p] = (v)", out);
  if (turns)
    halo_helpers_hole(helpers, &k, "H_OUTV(p, v)", "vstore16(v, 0, (__global uint *)(%s + (p)))",
                      out);
  halo_helpers_hole(helpers, &k, "H_LINES", "%s", lines);
  halo_helpers_hole(helpers, &k, "H_K", "%s", length);
  halo_helpers_hole(helpers, &k, "H_BATCH", "%s", batch);
  halo_template_define_int(&k, "H_P", p->panel);
  halo_template_define_int(&k, "H_KBLOCK", block);
  halo_template_define_int(&k, "H_KFAST", turns ? 2 : p->k_fast);
  halo_helpers_finish(helpers, &k);
  halo_launch *launch = halo_helpers_launch(helpers, label);
  int64_t items = (steps + block - 1) / block * ((p->lines + p->panel - 1) / p->panel) * p->batch;
  launch->grid.local[0] =
      8; /* always: some runtimes compile a kernel anew for each size of group */
  launch->grid.global[0] = (size_t)halo_panels_round_up(items, (int64_t)launch->grid.local[0]);
  return halo_helpers_end(helpers);
}

void halo_panels_vector_holes(halo_helpers *helpers, halo_template *k, const halo_panels *b,
                              halo_type type) {
  const char *name = halo_ctype_compute(type);
  halo_helpers_hole(helpers, k, "H_T", "%s", name);
  halo_helpers_hole(helpers, k, "H_V", "%s%d", name, b->w);
  halo_helpers_hole(helpers, k, "H_LOADV(p)", "vload%d(0, p)", b->w);
  halo_template_define_int(k, "H_W", b->w);
}

/* Panels of columns that the launch computes. */
static int64_t panels_count(const halo_panels *b, const halo_panels_sizes *s) {
  int64_t columns = s->columns - s->first;
  if (s->stretch > 0 && s->stretch < columns) columns = s->stretch;
  return (columns + b->nr - 1) / b->nr;
}

static int64_t panels_items(const halo_panels *b, const halo_panels_sizes *s) {
  return (s->rows + b->mr - 1) / b->mr * panels_count(b, s) * s->batch * s->cuts;
}

/* Items that a work item does. Small products: several, or starting groups costs more than the work. */
static int64_t panels_items_each(const halo_panels *b, const halo_panels_sizes *s) {
  int64_t turns = 1, items = panels_items(b, s);
  while (turns < 16 && items / turns > 64 && (double)turns * (double)s->k * b->mr * b->nr < 4e5) {
    turns *= 2;
  }
  return turns;
}

void halo_panels_begin(halo_helpers *helpers, const halo_panels *b, halo_panels_sizes *sizes) {
  sizes->rows_text = halo_panels_number(helpers, sizes->shared, sizes->rows);
  sizes->columns_text = halo_panels_number(helpers, sizes->shared, sizes->columns);
  sizes->batch_text = halo_panels_number(helpers, sizes->shared, sizes->batch);
  bool stretches = sizes->stretch > 0;
  sizes->items_each_text =
      halo_panels_number(helpers, sizes->shared || stretches, panels_items_each(b, sizes));
  sizes->panels_text = "((H_N + H_NR - 1) / H_NR)";
  sizes->first_text = "0";
  if (!stretches) return;
  sizes->panels_text = halo_panels_number(helpers, true, panels_count(b, sizes));
  sizes->first_text = halo_panels_number(helpers, true, sizes->first);
}

void halo_panels_template(halo_helpers *helpers, halo_template *k, const halo_panels *b,
                          halo_type type, const halo_panels_sizes *sizes, const char *pointers) {
  halo_helpers_template(helpers, k, halo_cl_gemm_panels, "");
  halo_helpers_block_holes(helpers, k);
  halo_helpers_hole(helpers, k, "H_BLOCK_POINTERS", "%s", pointers);
  halo_panels_vector_holes(helpers, k, b, type);
  halo_helpers_hole(helpers, k, "H_STOREV(v, p)", "vstore%d(v, 0, p)", b->w);
  panels_add_section(helpers, b->group, type, b->w);
  bool floats = halo_type_is_float(type), targets = b->group == 4 || (b->group == 2 && floats);
  if (b->group == 1) {
    halo_helpers_hole(helpers, k, "H_MAD(x, y, c)", "((x) * (y) + (c))");
  } else if (floats) {
    halo_helpers_hole(helpers, k, "H_MAD(x, y, c)", "H_PAIRS_BF16_%d(x, y, c)", b->w);
  } else {
    halo_helpers_hole(helpers, k, "H_MAD(x, y, c)",
                      "as_%s%d(%s%d(as_int%d(%s), as_int%d(%s), as_int%d(c)))",
                      halo_ctype_compute(type), b->w, b->group == 2 ? "h_pairs_" : "H_FOURS_", b->w,
                      b->w, b->swapped ? "y" : "x", b->w, b->swapped ? "x" : "y", b->w);
  }
  halo_helpers_hole(helpers, k, "H_TARGET", "%s",
                    !targets ? ""
                    : floats ? "H_PAIRS_BF16_TARGET"
                             : "H_FOURS_TARGET");
  halo_template_define_int(k, "H_BIASED", b->biased);
  halo_template_define_int(k, "H_NV", b->nv);
  halo_template_define_int(k, "H_MR", b->mr);
  halo_helpers_hole(helpers, k, "H_M", "%s", sizes->rows_text);
  halo_helpers_hole(helpers, k, "H_N", "%s", sizes->columns_text);
  halo_helpers_hole(helpers, k, "H_MPANELS", "((H_M + H_MR - 1) / H_MR)");
  halo_helpers_hole(helpers, k, "H_NPANELS", "%s", sizes->panels_text);
  halo_helpers_hole(helpers, k, "H_FIRST", "%s", sizes->first_text);
  halo_helpers_hole(helpers, k, "H_BATCH", "%s", sizes->batch_text);
  halo_helpers_hole(helpers, k, "H_TURNS", "%s", sizes->items_each_text);
  halo_template_define_int(k, "H_PARTS", sizes->cuts);
  bool whole = sizes->rows % b->mr == 0 && sizes->columns % b->nr == 0;
  halo_template_define_int(k, "H_RIM", sizes->shared || !whole);
  /* The sums, those of a stretch, and the panel on its way to what finishes it element by element. */
  halo_kernel_private(helpers->l, 3 * b->mr * b->nr, halo_ctype_size(type));
}

void halo_panels_result(halo_helpers *helpers, halo_template *k, bool split) {
  halo_template_define_int(k, "H_SPLIT", split);
  if (!split) {
    halo_helpers_call(helpers, k, "H_OUT", "_out", "b, x, y, v");
    return;
  }
  const halo_shape *root = halo_lowering_root(helpers->l)->shape;
  halo_helpers_hole(helpers, k, "H_R", "%s", halo_ctype_compute(root->type));
  halo_helpers_call(helpers, k, "H_VALUE", "_value", "b, x, y, v");
  halo_helpers_call(helpers, k, "H_PUT", "_put", "b, x, y, v");
}

void halo_panels_launch(halo_helpers *helpers, const char *label, const halo_panels *b,
                        const halo_panels_sizes *sizes) {
  halo_launch *launch = halo_helpers_launch(helpers, label);
  int64_t turns = panels_items_each(b, sizes);
  launch->grid.local[0] = 1;
  launch->grid.global[0] = (size_t)((panels_items(b, sizes) + turns - 1) / turns);
}

/* The sum of an element's parts. */
static halo_value panels_emit_sum(halo_emitter *e, const char *parts, halo_type type, int64_t items,
                                  int64_t cuts, const halo_integer *i) {
  if (cuts == 1) return halo_emit_load(e, parts, type, i);
  const char *itype = halo_emitter_index_type(e);
  halo_emit_line(e, "%s sum = 0;", halo_ctype_compute(type));
  e->has_loops = true;
  halo_emit_line(e, "for (%s p = 0; p < %lld; ++p) sum += %s[p * (%s)%lld + i];", itype,
                 (long long)cuts, parts, itype, (long long)items);
  return halo_value_name(type, "sum");
}

/* Of more parts than PANELS_MANY the sums of every PANELS_STRETCH are made first, by work items of their own. */
enum { PANELS_MANY = 64, PANELS_STRETCH = 32 };

static int64_t panels_stretches(int64_t cuts) {
  return cuts > PANELS_MANY ? (cuts + PANELS_STRETCH - 1) / PANELS_STRETCH : 1;
}

const char *halo_panels_parts_scratch(halo_helpers *helpers, halo_type type, int64_t count) {
  int32_t number = helpers->l->scratch.count;
  halo_vec_push(&helpers->l->scratch, (halo_scratch){count * (int64_t)halo_type_size(type)});
  return halo_emit_arg(&helpers->e, HALO_ROLE_SCRATCH, number, type, NULL);
}

double halo_panels_finish_seconds(const halo_lowering *l, halo_type type, int64_t cuts,
                                  double elements) {
  int64_t stretches = panels_stretches(cuts), size = (int64_t)halo_type_size(type);
  if (stretches == 1) return halo_lowering_seconds(l, (double)(size * cuts) * elements, elements);
  return halo_lowering_seconds(l, (double)(size * cuts) * elements, elements * (double)stretches) +
         halo_lowering_seconds(l, (double)(size * stretches) * elements, elements);
}

/* A kernel that adds up stretches of parts: it leaves fewer of them in a scratch of its own. */
static halo_status panels_shorten(halo_lowering *l, halo_type type, int64_t items, int32_t *scratch,
                                  int64_t *cuts, const char *label) {
  int64_t stretches = panels_stretches(*cuts), all = stretches * items;
  int32_t to = l->scratch.count;
  halo_vec_push(&l->scratch, (halo_scratch){all * (int64_t)halo_type_size(type)});
  halo_emitter e;
  halo_lowering_emitter(l, &e);
  e.wide |= (double)items * (double)*cuts > 1e9;
  const char *itype = halo_emitter_index_type(&e), *compute = halo_ctype_compute(type);
  const char *from = halo_emit_arg(&e, HALO_ROLE_SCRATCH, *scratch, type, NULL);
  const char *out = halo_emit_arg(&e, HALO_ROLE_SCRATCH, to, type, NULL);
  halo_emit_line(&e, "const %s x = (%s)" HALO_GLOBAL_ID_0 ";", itype, itype);
  halo_emit_branch(&e, halo_arena_printf(l->arena, "if (x < %lld)", (long long)all));
  halo_emit_line(&e, "const %s i = x %% %lld, first = x / %lld * %d;", itype, (long long)items,
                 (long long)items, PANELS_STRETCH);
  halo_emit_line(&e, "const %s end = first + %d < %lld ? first + %d : %lld;", itype, PANELS_STRETCH,
                 (long long)*cuts, PANELS_STRETCH, (long long)*cuts);
  halo_emit_line(&e, "%s sum = 0;", compute);
  halo_emit_loop(&e, halo_arena_printf(l->arena, "for (%s p = first; p < end; ++p)", itype));
  halo_emit_line(&e, "sum += %s[p * (%s)%lld + i];", from, itype, (long long)items);
  halo_emit_close(&e);
  halo_emit_line(&e, "%s[x] = sum;", out);
  halo_emit_close(&e);
  if (e.status == HALO_OK) {
    halo_launch *launch = halo_kernel_add(l, &e, halo_kernel_name(l, "stretches"),
                                          halo_arena_printf(l->arena, "%s %s", l->name, label), 0);
    halo_launch_items(l->caps, launch, all);
  }
  halo_status status = e.status;
  halo_emitter_deinit(&e);
  *scratch = to;
  *cuts = stretches;
  return status;
}

halo_status halo_panels_finish(halo_lowering *l, const halo_instr *product, halo_type type,
                               int32_t scratch, int64_t cuts, const char *label) {
  const halo_instr *root = halo_lowering_root(l);
  int64_t items = halo_shape_element_count(root->shape);
  if (cuts > PANELS_MANY && !l->caps->is_cpu) {
    HALO_TRY(panels_shorten(l, type, items, &scratch, &cuts, label));
  }
  halo_emitter e;
  halo_lowering_emitter(l, &e);
  e.wide |= (double)items * (double)cuts > 1e9;
  const char *itype = halo_emitter_index_type(&e);
  emit_frame *frame = halo_frame_kernel(&e, l->computation);
  halo_emit_line(&e, "const %s i = (%s)" HALO_GLOBAL_ID_0 ";", itype, itype);
  halo_emit_branch(&e, halo_arena_printf(l->arena, "if (i < %lld)", (long long)items));
  const char *parts = halo_emit_arg(&e, HALO_ROLE_SCRATCH, scratch, type, NULL);
  const halo_integer *i = halo_emit_counter(&e, "i", items);
  halo_value sum = panels_emit_sum(&e, parts, type, items, cuts, i);
  halo_frame_bind(&e, frame, product, 0, halo_emit_convert(&e, sum, product->shape->type));
  halo_value value =
      halo_emit_value(&e, frame, root, 0, halo_index_from_position(&e, root->shape, i));
  halo_emit_store(&e, halo_emit_arg(&e, HALO_ROLE_OUTPUT, 0, root->shape->type, NULL), i, value);
  halo_emit_close(&e);
  halo_status status = e.status;
  if (status == HALO_OK) {
    halo_launch *launch = halo_kernel_add(l, &e, halo_kernel_name(l, "finish"),
                                          halo_arena_printf(l->arena, "%s %s", l->name, label),
                                          halo_computation_same_position(l->computation));
    halo_launch_items(l->caps, launch, items);
  }
  halo_emitter_deinit(&e);
  return status;
}
