/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/rows/few.c: the text of rows:few. A row of few elements is written out, one after the other, so that all
 * of it is in registers, and compilers make vectors of it across rows. */
#include "kernels/rows/text.h"

#include "codegen/ctype.h"

static void few_emit_reduction(halo_rows_text *t, int32_t h) {
  halo_emitter *e = &t->e;
  const halo_instr *operand = t->v.heroes[h].value.reduce->operands[0];
  const char *own = halo_arena_printf(e->arena, "own%d", h);
  for (int64_t r = 0; r < t->v.rows.n; r++) {
    emit_index *index = halo_rows_index(t, operand->shape, halo_integer_constant(&e->integers, r));
    halo_value value = halo_emit_value(e, t->frame, operand, 0, index);
    if (r == 0) {
      halo_emit_line(e, "%s %s = %s;", t->accumulators[h].type, own, value.text);
    } else {
      halo_emit_line(e, "%s = %s_%d_op(%s, %s);", own, t->name, h, own, value.text);
    }
  }
  halo_rows_bind_total(t, h, own);
}

/* All results of the row are known before any is stored, maybe over what they were made of. */
static void few_emit_results(halo_rows_text *t) {
  halo_emitter *e = &t->e;
  const halo_instr *root = halo_lowering_root(t->l);
  int32_t leaves = halo_shape_leaf_count(root->shape);
  int64_t n = t->v.rows.n;
  halo_value *values = halo_arena_array(e->arena, halo_value, leaves * n);
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t k = 0; k < leaves; k++) {
      const halo_shape *leaf = halo_leaf_shape(root->shape, k);
      bool row = halo_shape_element_count(leaf) == t->v.rows.outer;
      for (int64_t r = 0; r < (row ? 1 : n); r++) {
        emit_index *index = halo_rows_index(t, leaf, halo_integer_constant(&e->integers, r));
        if (pass == 0) {
          values[k * n + r] = halo_emit_value(e, t->frame, root, k, index);
        } else {
          halo_emit_store(e, halo_emit_arg(e, HALO_ROLE_OUTPUT, k, leaf->type, NULL),
                          halo_index_position(e, index, leaf), values[k * n + r]);
        }
      }
    }
  }
}

void halo_rows_write_few(halo_rows_text *t, bool guard) {
  halo_emitter *e = &t->e;
  halo_lowering_emitter(t->l, e);
  t->frame = halo_frame_kernel(e, t->l->computation);
  const char *itype = halo_emitter_index_type(e);
  halo_emit_line(e, "const %s o = (%s)" HALO_GLOBAL_ID_0 ";", itype, itype);
  if (guard) {
    halo_emit_branch(e, halo_arena_printf(e->arena, "if (o < %lld)", (long long)t->v.rows.outer));
  }
  for (int32_t h = 0; h < t->v.count; h++) few_emit_reduction(t, h);
  few_emit_results(t);
  if (guard) halo_emit_close(e);
}
