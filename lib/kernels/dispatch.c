/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/dispatch.c: from a fusion to the implementation that serves it best. */
#include "base/pointer_map.h"
#include "kernels/kernels.h"

#include <string.h>

static const halo_family *const dispatch_families[] = {
#define FAMILY(name) &halo_family_##name,
#include "kernels/families.def"
#undef FAMILY
};
enum { DISPATCH_FAMILIES = sizeof dispatch_families / sizeof dispatch_families[0] };

static const halo_family *dispatch_family(halo_opcode opcode) {
  for (size_t i = 1; i < DISPATCH_FAMILIES; i++) {
    if (dispatch_families[i]->opcode == opcode) return dispatch_families[i];
  }
  return NULL;
}

/* Whether the root finishes `hero` elementwise: whatever depends on it does so at its own position. */
static bool dispatch_finishes(const halo_computation *body, const halo_instr *hero) {
  const halo_instr *root = body->root;
  bool fits = halo_shape_is_array(hero->shape) && halo_shape_same_dims(hero->shape, root->shape) &&
              halo_shape_has_default_layout(root->shape) &&
              halo_shape_has_default_layout(hero->shape);
  halo_pointer_map depends = {0};
  halo_pointer_map_set(&depends, hero, body->root);
  for (int32_t i = 0; i < body->instrs.count && fits; i++) {
    halo_instr *instr = body->instrs.data[i];
    for (int32_t o = 0; o < instr->operand_count && fits; o++) {
      if (!halo_pointer_map_get(&depends, instr->operands[o])) continue;
      fits = halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW) &&
             halo_shape_same_dims(instr->shape, hero->shape);
      halo_pointer_map_set(&depends, instr, instr);
    }
  }
  halo_pointer_map_deinit(&depends);
  return fits;
}

/* The one instruction for which a family of its own is there: the root, or what the root finishes. */
static const halo_instr *dispatch_hero(const halo_computation *body) {
  const halo_instr *root = body->root, *hero = NULL;
  if (dispatch_family(root->opcode)) return root;
  if (!halo_opcode_has_trait(root->opcode, HALO_TRAIT_EW)) return NULL;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *instr = body->instrs.data[i];
    if (!halo_opcode_has_trait(instr->opcode, HALO_TRAIT_FINISH)) continue;
    if (hero && hero->opcode == instr->opcode) return NULL;
    /* What is done on the side of a product is no hero beside it. */
    if (!hero || halo_opcode_exec(instr->opcode) == HALO_EXEC_STRUCTURED) hero = instr;
  }
  return hero && dispatch_finishes(body, hero) ? hero : NULL;
}

/* The first of several reductions, or what the root finishes by more than elementwise operations: their
 * family looks for all of them. */
static const halo_instr *dispatch_reduction(const halo_computation *body) {
  halo_reduce_desc v;
  halo_reduce_find(body, &v);
  return v.hero_count > 0 ? v.heroes[0] : NULL;
}

/* Family `f` of all, those of the plan at the end; NULL: there are no more. */
static const halo_family *dispatch_any(const halo_family *const *more, size_t f) {
  return f < DISPATCH_FAMILIES ? dispatch_families[f] : more[f - DISPATCH_FAMILIES];
}

/* NULL: there is none of that name. */
static const halo_implementation *dispatch_find(const halo_family *const *more, const char *entry,
                                                size_t length) {
  const halo_family *family;
  for (size_t f = 0; (family = dispatch_any(more, f)); f++) {
    for (const halo_implementation *i = family->implementations; i->name; i++) {
      if (halo_kernels_is_entry(entry, length, family->name, i->name)) return i;
    }
  }
  return NULL;
}

/* Says what there is instead: of the family, if that exists, else which families. */
static halo_status dispatch_unknown(const halo_family *const *more, const char *entry,
                                    size_t length) {
  size_t named = 0;
  while (named < length && entry[named] != ':') named++;
  halo_strbuf there = {0}, families = {0};
  const halo_family *family;
  for (size_t f = 0; (family = dispatch_any(more, f)); f++) {
    halo_strbuf_printf(&families, "%s%s", f ? ", " : "", family->name);
    if (strlen(family->name) != named || strncmp(entry, family->name, named) != 0) continue;
    for (const halo_implementation *i = family->implementations; i->name; i++) {
      halo_strbuf_printf(&there, "%s%s:%s", there.length ? ", " : "", family->name, i->name);
    }
  }
  halo_status status = halo_fail(HALO_INVALID_ARGUMENT,
                                 HALO_KERNELS_LIST ": there is no implementation \"%.*s\"; %s %s",
                                 (int)length, entry, there.length ? "there are" : "families are",
                                 halo_strbuf_text(there.length ? &there : &families));
  halo_strbuf_deinit(&there);
  halo_strbuf_deinit(&families);
  return status;
}

static halo_status dispatch_check_entry(const halo_caps *caps, const halo_family *const *more,
                                        const halo_kernels_entry *entry) {
  const char *why;
  const halo_implementation *found = dispatch_find(more, entry->name, entry->length);
  if (!found) return dispatch_unknown(more, entry->name, entry->length);
  if (entry->skip || !found->works_on || found->works_on(caps, &why)) return HALO_OK;
  return halo_fail(HALO_INVALID_ARGUMENT,
                   HALO_KERNELS_LIST ": \"%.*s\" cannot be used on the device %s: %s",
                   (int)entry->length, entry->name, caps->name, why);
}

halo_status halo_kernels_check_list(const halo_caps *caps, const char *list,
                                    const halo_family *const *more) {
  for (halo_kernels_entry e; halo_kernels_next(&list, &e);) {
    HALO_TRY(dispatch_check_entry(caps, more, &e));
  }
  return HALO_OK;
}

/* Every instruction but a hero whose family is all there is must be computable element by element. */
static halo_status dispatch_check(const halo_lowering *l) {
  for (int32_t i = 0; i < l->computation->instrs.count; i++) {
    const halo_instr *instr = l->computation->instrs.data[i];
    bool own = instr == l->hero && !halo_opcode_is_elemental(instr->opcode);
    HALO_TRY(own ? halo_emitter_check_called(instr) : halo_emitter_check(instr));
    halo_type part = halo_type_real_part(instr->shape->type);
    if (part == HALO_F64 && !l->caps->has_f64) {
      const char *line =
          instr->line > 0 ? halo_arena_printf(l->arena, "line %d: ", instr->line) : "";
      return halo_fail(HALO_UNIMPLEMENTED,
                       "%s%s: the device %s has no 64-bit floats (cl_khr_fp64), which %s needs",
                       line, instr->name, l->caps->name, halo_type_name(instr->shape->type));
    }
  }
  return HALO_OK;
}

/* The family of what has no one hero, such as chains of reductions of rows, or NULL. */
static const halo_family *dispatch_whole(halo_lowering *l) {
  for (size_t f = 1; f < DISPATCH_FAMILIES; f++) {
    const halo_family *family = dispatch_families[f];
    if (family->opcode != HALO_OPCODE_COUNT || !family->describe) continue;
    l->desc = family->describe(l);
    if (l->desc) return family;
  }
  return NULL;
}

/* The family that computes the fusion; finds its hero, or its description. */
static const halo_family *dispatch_find_family(halo_lowering *l) {
  l->loop = halo_loop_facts_create(l->arena);
  const halo_family *family = dispatch_whole(l);
  if (family) return family;
  l->hero = dispatch_hero(l->computation);
  if (!l->hero) l->hero = dispatch_reduction(l->computation);
  return l->hero ? dispatch_family(l->hero->opcode) : &halo_family_loop;
}

static halo_status dispatch_lower(halo_lowering *l, const halo_family *family,
                                  const char **out_chosen) {
  halo_strbuf_printf(l->explain, "%s: %s\n", l->name, family->name);
  const halo_implementation *best;
  HALO_TRY(halo_kernels_choose(l, family->name, family->implementations, l->explain, &best,
                               &l->seconds));
  l->counts_operations = best->counts == HALO_COUNTS_ALWAYS ||
                         (best->counts == HALO_COUNTS_ON_CPUS && l->caps->is_cpu);
  l->one_launch = best->one_launch;
  *out_chosen = halo_arena_printf(l->arena, "%s:%s", family->name, best->name);
  halo_strbuf_printf(l->explain, "    -> %s\n", *out_chosen);
  halo_status status = halo_fail_in(best->lower(l), "%s", l->name);
  if (status == HALO_OK) halo_kernel_give_items(l);
  return status;
}

halo_status halo_kernels_lower(halo_lowering *l, const char **out_chosen) {
  const halo_family *family = dispatch_find_family(l);
  HALO_TRY(dispatch_check(l));
  if (l->hero && family->describe) l->desc = family->describe(l);
  return dispatch_lower(l, family, out_chosen);
}

double halo_kernels_quote(const void *device, const halo_computation *body, bool in_rounds) {
  const halo_kernels_device *d = device;
  halo_target target = body->module->target;
  if (in_rounds && halo_target_has_few_items(&target)) {
    target.prices.launch = target.prices.region_handing;
  }
  halo_arena arena = {0};
  halo_strbuf source = {0};
  halo_sections sections = {0};
  halo_lowering l = {.arena = &arena,
                     .caps = d->caps,
                     .kernels = d->list,
                     .texts = &arena,
                     .source = &source,
                     .sections = &sections,
                     .prefix = "u@_",
                     .name = body->name,
                     .computation = body,
                     .target = &target};
  const halo_family *family = dispatch_find_family(&l);
  if (l.hero && !l.desc && family->describe) l.desc = family->describe(&l);
  const halo_implementation *best;
  double cost = -1;
  halo_status status =
      halo_kernels_choose(&l, family->name, family->implementations, NULL, &best, &cost);
  halo_lowering_deinit(&l);
  halo_strbuf_deinit(&source);
  halo_arena_deinit(&arena);
  return status == HALO_OK ? cost : -1;
}
