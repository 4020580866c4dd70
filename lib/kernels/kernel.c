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
    case HALO_ROLE_SCRATCH: break;
  }
  return true;
}

halo_arg_texts halo_kernel_arg_texts(halo_arena *arena, const halo_kernel_arg *args, int32_t count,
                                     uint64_t in_place) {
  halo_strbuf signature = {0}, pointers = {0}, parameters = {0}, arguments = {0};
  for (int32_t i = 0; i < count; i++) {
    const char *comma = i ? ", " : "", *name = args[i].name;
    const char *type = halo_arena_printf(arena, "__global %s%s *", kernel_const(args[i].role),
                                         halo_ctype_storage(args[i].type));
    halo_strbuf_printf(&signature, "%s%s%s%s_, ulong %so", comma, type,
                       kernel_is_restrict(&args[i], in_place) ? "restrict " : "", name, name);
    halo_strbuf_printf(&pointers, "  %s%s = %s_ + %so;\n", type, name, name, name);
    halo_strbuf_printf(&parameters, "%s%s%s", comma, type, name);
    halo_strbuf_printf(&arguments, "%s%s", comma, name);
  }
  halo_arg_texts texts = {halo_arena_strdup(arena, halo_strbuf_text(&signature)),
                          halo_arena_strdup(arena, halo_strbuf_text(&pointers)),
                          halo_arena_strdup(arena, halo_strbuf_text(&parameters)),
                          halo_arena_strdup(arena, halo_strbuf_text(&arguments))};
  halo_strbuf_deinit(&signature);
  halo_strbuf_deinit(&pointers);
  halo_strbuf_deinit(&parameters);
  halo_strbuf_deinit(&arguments);
  return texts;
}

halo_launch *halo_kernel_add(halo_lowering *l, halo_emitter *e, const char *name, const char *label,
                             uint64_t in_place) {
  *l->sections |= e->sections;
  halo_arg_texts texts = halo_kernel_arg_texts(l->arena, e->args.data, e->args.count, in_place);
  halo_strbuf_printf(l->source, "__kernel void %s(%s) {\n%s%s}\n", name, texts.signature,
                     texts.pointers, halo_strbuf_text(&e->body));
  halo_launch launch = {
      .kernel = name,
      .label = label,
      .args =
          halo_arena_copy(l->arena, e->args.data, sizeof(halo_kernel_arg) * (size_t)e->args.count),
      .arg_count = e->args.count,
      .dims = 1,
      .in_place = in_place,
      .updates = -1,
  };
  halo_vec_push(&l->launches, launch);
  return &l->launches.data[l->launches.count - 1];
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
  launch->local[0] = local;
  launch->global[0] = ((size_t)items + local - 1) / local * local;
}
