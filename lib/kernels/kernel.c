/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/kernel.c: kernel text from described arguments, and launch sizes. */
#include "codegen/ctype.h"
#include "kernels/kernels.h"

const char *halo_kernel_name(halo_lowering *l, const char *suffix) {
  return halo_arena_printf(l->arena, "%sk%d_%s", l->prefix, l->next_kernel++, suffix);
}

static const char *kernel_const(halo_role role) {
  return role == HALO_ROLE_INPUT || role == HALO_ROLE_CONST ? "const " : "";
}

/* Whether an argument's memory is its own, as far as it is written. */
static bool kernel_is_restrict(const halo_kernel_arg *arg, uint64_t in_place) {
  switch (arg->role) {
    case HALO_ROLE_INPUT: return arg->index >= 64 || !(in_place >> arg->index & 1);
    case HALO_ROLE_OUTPUT: return in_place == 0;
    case HALO_ROLE_CONST:
    case HALO_ROLE_SCRATCH:
    case HALO_ROLE_VALUE: break;
  }
  return true;
}

static const halo_kernel_param *kernel_params(halo_arena *arena, const halo_kernel_arg *args,
                                              int32_t count, uint64_t in_place) {
  halo_kernel_param *params = halo_arena_array(arena, halo_kernel_param, count);
  int32_t next = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t i = 0; i < count; i++) {
      const halo_kernel_arg *arg = &args[i];
      bool is_value = arg->role == HALO_ROLE_VALUE;
      if (is_value != (pass == 1)) continue;
      params[next++] = (halo_kernel_param){
          .name = arg->name,
          .type = arg->type,
          .is_value = is_value,
          .is_written = arg->role == HALO_ROLE_OUTPUT || arg->role == HALO_ROLE_SCRATCH,
          .is_restrict = !is_value && kernel_is_restrict(arg, in_place)};
    }
  }
  return params;
}

void halo_kernel_add_function(halo_strbuf *out, const char *name, const char *text) {
  halo_strbuf_printf(out, "#ifndef %s_\n#define %s_\n%s#endif\n", name, name, text);
}

/* Texts of one argument, each behind a comma if there was one before. */
static void kernel_arg_text(halo_strbuf texts[5], const halo_kernel_arg *arg, uint64_t in_place) {
  const char *comma = texts[3].length ? ", " : "", *name = arg->name;
  halo_strbuf_printf(&texts[3], "%s%s", comma, name);
  if (arg->role == HALO_ROLE_VALUE) {
    const char *type = halo_ctype_compute(arg->type);
    halo_strbuf_printf(&texts[0], "%sconst %s %s", comma, type, name);
    halo_strbuf_printf(&texts[2], "%sconst %s %s", comma, type, name);
    halo_strbuf_printf(&texts[4], "%s%s", comma, name);
    return;
  }
  const char *constant = kernel_const(arg->role), *type = halo_ctype_storage(arg->type);
  const char *own = kernel_is_restrict(arg, in_place) ? "restrict " : "";
  halo_strbuf_printf(&texts[0], "%s__global %s%s *%s%s_, ulong %so", comma, constant, type, own,
                     name, name);
  halo_strbuf_printf(&texts[1], "  __global %s%s *%s = %s_ + %so;\n", constant, type, name, name,
                     name);
  halo_strbuf_printf(&texts[2], "%s__global %s%s *%s", comma, constant, type, name);
  halo_strbuf_printf(&texts[4], "%s%s_, %so", comma, name, name);
}

/* Values come behind buffers, as a plan's steps have them. */
halo_arg_texts halo_kernel_arg_texts(halo_arena *arena, const halo_kernel_arg *args, int32_t count,
                                     uint64_t in_place) {
  halo_strbuf texts[5] = {{0}};
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t i = 0; i < count; i++) {
      bool is_value = args[i].role == HALO_ROLE_VALUE;
      if (is_value == (pass == 1)) kernel_arg_text(texts, &args[i], in_place);
    }
  }
  halo_arg_texts result = {halo_arena_strdup(arena, halo_strbuf_text(&texts[0])),
                           halo_arena_strdup(arena, halo_strbuf_text(&texts[1])),
                           halo_arena_strdup(arena, halo_strbuf_text(&texts[2])),
                           halo_arena_strdup(arena, halo_strbuf_text(&texts[3])),
                           halo_arena_strdup(arena, halo_strbuf_text(&texts[4]))};
  for (int t = 0; t < 5; t++) halo_strbuf_deinit(&texts[t]);
  return result;
}

const char *halo_kernel_outlined_head(halo_arena *arena, const char *name, const char *place,
                                      const halo_arg_texts *texts) {
  return halo_arena_printf(arena, "static " HALO_NOT_INLINED "void %s_item(%s, %s)", name, place,
                           texts->signature);
}

const char *halo_kernel_outlined_call(halo_arena *arena, const char *name, const char *itype,
                                      const halo_arg_texts *texts) {
  return halo_arena_printf(
      arena, HALO_HEAD "%s(" HALO_PLACES "%s) { %s_item((%s)" HALO_GLOBAL_ID_0 ", %s); }", name,
      texts->signature, name, itype, texts->passed);
}

const halo_kernel *halo_kernel_finish(halo_lowering *l, const halo_emitter *e, halo_kernel *kernel,
                                      uint64_t in_place) {
  kernel->params = kernel_params(l->arena, e->args.data, e->args.count, in_place);
  kernel->param_count = e->args.count;
  kernel->text = halo_strbuf_text(l->source);
  kernel->facts |= e->facts | l->facts;
  const halo_kernel *made = halo_kernel_make(l->texts, kernel);
  halo_vec_push(&l->parts, made);
  halo_strbuf_deinit(l->source);
  l->facts = 0;
  return made;
}

halo_launch *halo_kernel_launch(halo_lowering *l, const halo_emitter *e, const halo_kernel *kernel,
                                const char *label, uint64_t in_place) {
  halo_sections_join(l->sections, &e->sections);
  halo_launch launch = {
      .kernel = kernel,
      .label = label,
      .args =
          halo_arena_copy(l->arena, e->args.data, sizeof(halo_kernel_arg) * (size_t)e->args.count),
      .arg_count = e->args.count,
      .dims = 1,
      .in_place = in_place,
      .sections = e->sections,
  };
  halo_vec_push(&l->launches, launch);
  return &l->launches.data[l->launches.count - 1];
}

halo_launch *halo_kernel_add(halo_lowering *l, halo_emitter *e, const char *name, const char *label,
                             uint64_t in_place) {
  halo_arg_texts texts = halo_kernel_arg_texts(l->arena, e->args.data, e->args.count, in_place);
  halo_kernel kernel = {.name = name, .signature = texts.signature, .passed = texts.passed};
  halo_strbuf_printf(l->source, HALO_HEAD "%s(" HALO_PLACES "%s) {", name, texts.signature);
  halo_strbuf_printf(l->source, "\n%s%s}\n", texts.pointers, halo_strbuf_text(&e->body));
  return halo_kernel_launch(l, e, halo_kernel_finish(l, e, &kernel, in_place), label, in_place);
}

halo_launch *halo_kernel_add_outlined(halo_lowering *l, halo_emitter *e, const char *name,
                                      const char *label, uint64_t in_place, const char *place,
                                      const char *itype) {
  halo_arg_texts texts = halo_kernel_arg_texts(l->arena, e->args.data, e->args.count, in_place);
  halo_kernel kernel = {.name = name, .signature = texts.signature, .passed = texts.passed};
  halo_strbuf_printf(l->source, "%s {\n%s%s}\n%s\n",
                     halo_kernel_outlined_head(l->arena, name, place, &texts), texts.pointers,
                     halo_strbuf_text(&e->body),
                     halo_kernel_outlined_call(l->arena, name, itype, &texts));
  return halo_kernel_launch(l, e, halo_kernel_finish(l, e, &kernel, in_place), label, in_place);
}

int32_t halo_lowering_input(const halo_lowering *l, const halo_instr *parameter) {
  int32_t number = 0;
  for (int32_t p = 0; p < parameter->parameter_number; p++) {
    number += halo_shape_leaf_count(l->computation->params.data[p]->shape);
  }
  return number;
}

size_t halo_kernel_local_size(const halo_caps *caps, int64_t items) {
  /* A CPU runs a group on one core as one loop: large groups mean fewer dispatches. A GPU wants a few
   * wavefronts a group. */
  size_t local = caps->is_cpu ? 1024 : 256;
  while (local > caps->max_work_group || local > caps->max_items[0]) local /= 2;
  if (caps->is_cpu && caps->compute_units > 0) {
    /* leave every core something to do */
    while (local > 16 && (int64_t)local * caps->compute_units > items) local /= 2;
  }
  return local ? local : 1;
}

void halo_launch_items(const halo_caps *caps, halo_launch *launch, int64_t items) {
  size_t local = halo_kernel_local_size(caps, items);
  launch->dims = 1;
  launch->any_local = true;
  launch->items = (size_t)items;
  launch->local[0] = local;
  launch->global[0] = ((size_t)items + local - 1) / local * local;
}
