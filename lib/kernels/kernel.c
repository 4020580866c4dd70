/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/kernel.c: kernel text from described arguments, and launch sizes. */
#include "codegen/ctype.h"
#include "kernels/kernels.h"

#include <string.h>

const char *halo_kernel_name(halo_lowering *l, const char *suffix) {
  return halo_arena_printf(l->arena, "%sk%d_%s", l->prefix, l->next_kernel++, suffix);
}

/* Whether an argument's memory is its own, as far as it is written. */
static bool kernel_is_restrict(const halo_kernel_arg *arg, uint64_t in_place) {
  switch (arg->role) {
    case HALO_ROLE_INPUT: return arg->index >= 64 || !(in_place >> arg->index & 1);
    case HALO_ROLE_OUTPUT: return in_place == 0;
    case HALO_ROLE_CONST:
    case HALO_ROLE_SCRATCH:
    case HALO_ROLE_ITEM:
    case HALO_ROLE_VALUE: break;
  }
  return true;
}

/* Values come behind buffers, as a plan's steps have them. */
static halo_kernel_param *kernel_params(halo_arena *arena, const halo_kernel_arg *args,
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
          .type = is_value ? halo_ctype_compute(arg->type) : halo_ctype_storage(arg->type),
          .is_value = is_value,
          .is_const = arg->role == HALO_ROLE_INPUT || arg->role == HALO_ROLE_CONST,
          .is_restrict = kernel_is_restrict(arg, in_place)};
    }
  }
  return params;
}

void halo_kernel_add_function(halo_strbuf *out, const char *name, const char *text) {
  halo_strbuf_printf(out, "#ifndef %s_\n#define %s_\n%s#endif\n", name, name, text);
}

static const char *kernel_keep(halo_arena *arena, halo_strbuf *text) {
  const char *copy = halo_arena_strdup(arena, halo_strbuf_text(text));
  halo_strbuf_deinit(text);
  return copy;
}

halo_arg_texts halo_kernel_arg_texts(halo_arena *arena, const halo_kernel_arg *args, int32_t count,
                                     uint64_t in_place) {
  const halo_kernel_param *params = kernel_params(arena, args, count, in_place);
  halo_strbuf signature = {0}, pointers = {0}, parameters = {0}, arguments = {0};
  halo_kernel_declare(&signature, params, count);
  for (int32_t p = 0; p < count; p++) {
    const char *comma = p ? ", " : "", *constant = params[p].is_const ? "const " : "";
    const char *type = params[p].type, *name = params[p].name;
    halo_strbuf_printf(&arguments, "%s%s", comma, name);
    if (params[p].is_value) {
      halo_strbuf_printf(&parameters, "%sconst %s %s", comma, type, name);
      continue;
    }
    halo_strbuf_printf(&parameters, "%s__global %s%s *%s", comma, constant, type, name);
    halo_strbuf_printf(&pointers, "  __global %s%s *%s = %s_ + %so;\n", constant, type, name, name,
                       name);
  }
  halo_arg_texts texts = {params, kernel_keep(arena, &signature), kernel_keep(arena, &pointers),
                          kernel_keep(arena, &parameters), kernel_keep(arena, &arguments)};
  return texts;
}

void halo_kernel_group(halo_lowering *l, size_t x, size_t y) {
  l->facts.group[0] = x;
  l->facts.group[1] = y;
  l->facts.group[2] = 1;
}

void halo_lowering_emitter(const halo_lowering *l, halo_emitter *e) {
  halo_emitter_init(e, l->arena, l->computation);
  if (!l->caps->is_cpu) e->private_most = halo_caps_private_bytes(l->caps);
}

/* Work items that may have `bytes` of memory each at once: as whole groups along x, one at least. */
static void kernel_give_items(halo_lowering *l, halo_launch *launch, int64_t bytes) {
  halo_grid *grid = &launch->grid;
  double row = halo_grid_count(grid) / ((double)grid->global[0] / (double)grid->local[0]);
  double most = (double)halo_caps_items_bytes(l->caps) / (double)bytes / row;
  uint64_t all = grid->global[0] / grid->local[0];
  bool parts = !launch->kernel->facts.asks_x && most < (double)all;
  grid->part_groups = !parts ? all : most < 1 ? 1 : (uint64_t)most;
  int64_t items = (int64_t)(row * (double)grid->part_groups);
  for (int32_t i = 0; i < launch->arg_count; i++) {
    halo_kernel_arg *arg = &launch->args[i];
    if (arg->role != HALO_ROLE_ITEM) continue;
    arg->role = HALO_ROLE_SCRATCH;
    arg->index = l->scratch.count;
    halo_vec_push(&l->scratch, (halo_scratch){items * arg->number});
  }
}

void halo_kernel_give_items(halo_lowering *l) {
  for (int32_t i = 0; i < l->launches.count; i++) {
    halo_launch *launch = &l->launches.data[i];
    int64_t bytes = 0;
    for (int32_t a = 0; a < launch->arg_count; a++) {
      bytes += launch->args[a].role == HALO_ROLE_ITEM ? launch->args[a].number : 0;
    }
    if (bytes) kernel_give_items(l, launch, bytes);
  }
}

void halo_kernel_local(halo_lowering *l, int64_t count, size_t size) {
  l->facts.local_bytes += count * (int64_t)size;
}

enum { KERNEL_BLOCK = 16 /* bytes of a ulong2 */ };

int64_t halo_block_count(int64_t count, size_t size) {
  return (count * (int64_t)size + KERNEL_BLOCK - 1) / KERNEL_BLOCK;
}

int64_t halo_kernel_block(halo_lowering *l, int64_t count, size_t size) {
  int64_t offset = l->facts.local_bytes / KERNEL_BLOCK;
  l->facts.has_block = true;
  l->facts.local_bytes += KERNEL_BLOCK * halo_block_count(count, size);
  return offset;
}

void halo_kernel_private(halo_lowering *l, int64_t count, size_t size) {
  l->facts.private_bytes += count * (int64_t)size;
}

const halo_kernel *halo_kernel_finish(halo_lowering *l, const halo_emitter *e, const char *name,
                                      const halo_arg_texts *texts) {
  l->facts.has_loops |= e->has_loops;
  l->facts.private_bytes += e->private_bytes;
  const halo_kernel *made =
      halo_kernel_make(l->texts, &(halo_kernel){.name = name,
                                                .params = texts->params,
                                                .param_count = e->args.count,
                                                .text = halo_strbuf_text(l->source),
                                                .facts = l->facts});
  halo_vec_push(&l->made, made);
  halo_strbuf_deinit(l->source);
  l->facts = (halo_kernel_facts){0};
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
      .grid = {.dims = 1, .any_local = halo_kernel_takes_any_group(kernel)},
      .in_place = in_place,
      .sections = e->sections,
  };
  memcpy(launch.grid.local, kernel->facts.group, sizeof launch.grid.local);
  halo_vec_push(&l->launches, launch);
  return &l->launches.data[l->launches.count - 1];
}

halo_launch *halo_kernel_add(halo_lowering *l, halo_emitter *e, const char *name, const char *label,
                             uint64_t in_place) {
  halo_arg_texts texts = halo_kernel_arg_texts(l->arena, e->args.data, e->args.count, in_place);
  halo_strbuf_printf(l->source, HALO_HEAD "%s(" HALO_PLACES "%s) {", name, texts.signature);
  halo_strbuf_printf(l->source, "\n%s%s}\n", texts.pointers, halo_strbuf_text(&e->body));
  return halo_kernel_launch(l, e, halo_kernel_finish(l, e, name, &texts), label, in_place);
}

double halo_kernel_operations(const halo_computation *body) {
  double sum = 0;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *instr = body->instrs.data[i];
    halo_exec_class class = halo_opcode_exec(instr->opcode);
    if (class == HALO_EXEC_VALUE || class == HALO_EXEC_ALIAS) continue;
    bool plain = class == HALO_EXEC_ELEMENTWISE || class == HALO_EXEC_MOVEMENT ||
                 instr->opcode == HALO_OP_REDUCE;
    if (!plain) return -1;
    const halo_instr *each = instr->opcode == HALO_OP_REDUCE ? instr->operands[0] : instr;
    double elements = (double)halo_shape_element_count(halo_leaf_shape(each->shape, 0));
    sum += elements * (double)halo_op_info_of(instr->opcode)->cost;
  }
  return sum;
}

void halo_lowering_deinit(halo_lowering *l) {
  halo_vec_deinit(&l->made);
  halo_vec_deinit(&l->launches);
  halo_vec_deinit(&l->scratch);
  for (int32_t i = 0; i < l->tables.count; i++) halo_literal_release(l->tables.data[i]);
  halo_vec_deinit(&l->tables);
}

double halo_lowering_body(const halo_lowering *l, double items) {
  double operations = halo_kernel_operations(l->computation);
  return operations > 0 ? halo_lowering_elements(l, operations, items) : 0;
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
  while (local > halo_caps_largest_group(caps)) local /= 2;
  if (caps->is_cpu && caps->compute_units > 0) {
    /* leave every core something to do */
    while (local > 16 && (int64_t)local * caps->compute_units > items) local /= 2;
  }
  return local ? local : 1;
}

void halo_launch_line(halo_launch *launch, int64_t items, size_t local) {
  bool any = launch->grid.any_local;
  launch->grid = halo_grid_line(items, local);
  launch->grid.any_local = any;
}

void halo_launch_items(const halo_caps *caps, halo_launch *launch, int64_t items) {
  halo_launch_line(launch, items, halo_kernel_local_size(caps, items));
}
