/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/helpers.c: helper functions, holes and launches of kernels made of a template. */
#include "kernels/helpers.h"

#include <stdarg.h>
#include <string.h>

void halo_helpers_begin(halo_helpers *p, halo_lowering *l, const char *name, bool wide) {
  *p = (halo_helpers){.l = l, .name = name};
  halo_lowering_emitter(l, &p->e);
  p->e.wide |= wide;
  p->itype = halo_emitter_index_type(&p->e);
}

emit_frame *halo_helpers_open(halo_helpers *p) {
  halo_emitter_restart(&p->e);
  return halo_frame_kernel(&p->e, p->l->computation);
}

/* "const int b, const int x, const float v" */
static const char *helpers_parameters(const halo_helpers *p, const char *indices,
                                      const char *value) {
  halo_strbuf text = {0};
  while (*indices) {
    size_t length = strcspn(indices, ", ");
    halo_strbuf_printf(&text, "%sconst %s %.*s", text.length ? ", " : "", p->itype, (int)length,
                       indices);
    indices += length;
    indices += strspn(indices, ", ");
  }
  if (value) halo_strbuf_printf(&text, "%sconst %s v", text.length ? ", " : "", value);
  const char *copy = halo_arena_strdup(p->l->arena, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return copy;
}

void halo_helpers_close(halo_helpers *p, const char *returns, const char *suffix,
                        const char *indices, const char *value) {
  const char *body = halo_arena_strdup(p->l->arena, halo_strbuf_text(&p->e.body));
  halo_helper helper = {returns, suffix, helpers_parameters(p, indices, value), body};
  halo_vec_push(&p->helpers, helper);
}

static const halo_shape *helpers_row_major(const halo_helpers *p, const halo_shape *shape) {
  return halo_shape_new(p->l->arena, shape->type, shape->rank, shape->dims);
}

void halo_helpers_store(halo_helpers *p, emit_frame *frame, const halo_shape *shape,
                        emit_index *index) {
  halo_emitter *e = &p->e;
  const halo_instr *root = halo_lowering_root(p->l);
  int32_t leaves = halo_shape_leaf_count(root->shape);
  halo_value *values = halo_arena_array(p->l->arena, halo_value, leaves);
  const halo_integer **at = halo_arena_array(p->l->arena, const halo_integer *, leaves);
  for (int32_t k = 0; k < leaves; k++) {
    const halo_shape *leaf = halo_leaf_shape(root->shape, k);
    emit_index *there = index;
    if (!halo_shape_same_dims(leaf, shape)) {
      const halo_integer *position = halo_index_position(e, index, helpers_row_major(p, shape));
      there = halo_index_from_position(e, helpers_row_major(p, leaf), position);
    }
    values[k] = halo_emit_value(e, frame, root, k, there);
    at[k] = halo_index_position(e, there, leaf);
  }
  for (int32_t k = 0; k < leaves; k++) {
    halo_type type = halo_leaf_shape(root->shape, k)->type;
    halo_emit_store(e, halo_emit_arg(e, HALO_ROLE_OUTPUT, k, type, NULL), at[k], values[k]);
  }
}

bool halo_helpers_can_split(const halo_lowering *l, const halo_shape *shape) {
  const halo_shape *root = halo_lowering_root(l)->shape;
  return halo_shape_is_array(root) && halo_shape_same_dims(root, shape);
}

void halo_helpers_value(halo_helpers *p, emit_frame *frame, emit_index *index) {
  halo_value value = halo_emit_value(&p->e, frame, halo_lowering_root(p->l), 0, index);
  halo_emit_line(&p->e, "return %s;", value.text);
}

void halo_helpers_put(halo_helpers *p, emit_index *index) {
  const halo_shape *shape = halo_lowering_root(p->l)->shape;
  const char *out = halo_emit_arg(&p->e, HALO_ROLE_OUTPUT, 0, shape->type, NULL);
  halo_emit_store(&p->e, out, halo_index_position(&p->e, index, shape),
                  halo_value_name(shape->type, "v"));
}

void halo_helpers_template(halo_helpers *p, halo_template *k, const char *text,
                           const char *pointers) {
  halo_lowering *l = p->l;
  p->texts = halo_kernel_arg_texts(l->arena, p->e.args.data, p->e.args.count, p->in_place);
  for (int32_t i = 0; i < p->helpers.count; i++) {
    const halo_helper *helper = &p->helpers.data[i];
    halo_strbuf_printf(l->source, "static inline %s %s%s(%s, %s) {\n%s}\n", helper->returns,
                       p->name, helper->suffix, p->texts.parameters, helper->parameters,
                       helper->body);
  }
  halo_template_init(k, text);
  halo_helpers_hole(p, k, "H_NAME", "%s", p->name);
  halo_helpers_hole(p, k, "H_PARAMS", "%s", p->texts.signature);
  halo_helpers_hole(p, k, "H_POINTERS", "%s%s", p->texts.pointers, pointers);
  halo_helpers_hole(p, k, "H_INT", "%s", p->itype);
}

void halo_helpers_block_holes(const halo_helpers *p, halo_template *k) {
  halo_helpers_hole(p, k, "H_BLOCK", "%s_block", p->name);
  halo_helpers_hole(p, k, "H_BLOCK_PARAMS", "%s", p->texts.parameters);
  halo_helpers_hole(p, k, "H_ARGUMENTS", "%s", p->texts.arguments);
}

void halo_helpers_call(const halo_helpers *p, halo_template *k, const char *hole,
                       const char *suffix, const char *parameters) {
  halo_template_define(k, hole,
                       halo_arena_printf(p->l->arena, "%s(%s) %s%s(%s, %s)", hole, parameters,
                                         p->name, suffix, p->texts.arguments, parameters));
}

void halo_helpers_hole(const halo_helpers *p, halo_template *k, const char *name,
                       const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *text = halo_arena_vprintf(p->l->arena, format, args);
  va_end(args);
  /* The macro's own name may come with parameters. */
  const char *bare = halo_arena_strndup(p->l->arena, name, strcspn(name, "("));
  halo_template_define(k, bare, halo_arena_printf(p->l->arena, "%s %s", name, text));
}

void halo_helpers_finish(halo_helpers *p, halo_template *k) {
  halo_lowering *l = p->l;
  halo_template_finish(k, l->source);
  l->facts.has_loops = true; /* as all templates have */
  p->kernel = halo_kernel_finish(l, &p->e, p->name, &p->texts);
}

halo_launch *halo_helpers_launch(halo_helpers *p, const char *label) {
  label = halo_arena_printf(p->l->arena, "%s %s", p->l->name, label);
  return halo_kernel_launch(p->l, &p->e, p->kernel, label, p->in_place);
}

halo_status halo_helpers_end(halo_helpers *p) {
  halo_status status = p->e.status;
  halo_emitter_deinit(&p->e);
  halo_vec_deinit(&p->helpers);
  return status;
}
