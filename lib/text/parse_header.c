/* SPDX-License-Identifier: Apache-2.0 */
/* text/parse_header.c: what stands before the computations, and what it says about the entry. */
#include "hlo/sharding.h"
#include "text/parser.h"

#include <string.h>

/* ---- Entry layout ---- */

/* Takes "{(shape, shape)->shape}". */
static halo_status header_shapes(halo_text_parser *p, const halo_shape ***params, int32_t *count,
                                 const halo_shape **result) {
  HALO_VEC(const halo_shape *) shapes = {0};
  HALO_TRY(halo_text_expect(p, '{', "'{' to open the entry's layout"));
  HALO_TRY(halo_text_expect(p, '(', "'(' to open the parameters' shapes"));
  halo_status status = HALO_OK;
  while (p->tok.kind != ')' && status == HALO_OK) {
    const halo_shape *shape = NULL;
    status = halo_text_shape(p, &shape);
    if (status != HALO_OK) break;
    halo_vec_push(&shapes, shape);
    status = halo_text_separator(p, ')', "',' or ')' after a shape");
  }
  *params = halo_arena_copy(p->arena, shapes.data, sizeof *shapes.data * (size_t)shapes.count);
  *count = shapes.count;
  halo_vec_deinit(&shapes);
  HALO_TRY(status);
  halo_text_advance(p);
  HALO_TRY(halo_text_expect(p, TOK_ARROW, "'->' and the result's shape"));
  HALO_TRY(halo_text_shape(p, result));
  return halo_text_expect(p, '}', "'}' after the entry's layout");
}

/* ---- Partitioned programs ---- */

static halo_spmd_entry *header_spmd(halo_text_parser *p) {
  if (!p->module->spmd) p->module->spmd = halo_arena_new(p->arena, halo_spmd_entry);
  return p->module->spmd;
}

/* Whether shardings cut whole shapes to the entry's own. */
static bool header_spmd_fits(const halo_module *module, const halo_sharding *shardings,
                             const halo_shape *whole, const halo_shape *piece, int32_t *next) {
  int32_t leaves = halo_shape_leaf_count(whole);
  if (halo_shape_leaf_count(piece) != leaves) return false;
  for (int32_t k = 0; k < leaves; k++) {
    const halo_shape *all = halo_leaf_shape(whole, k), *part = halo_leaf_shape(piece, k);
    int64_t starts[HALO_MAX_RANK], sizes[HALO_MAX_RANK];
    if (*next >= shardings->element_count || all->type != part->type) return false;
    const halo_sharding *sharding = &shardings->elements[(*next)++];
    if (!halo_shape_is_array(all)) continue;
    if (all->rank != part->rank ||
        halo_sharding_check_array(sharding, all->rank, module->num_partitions) != HALO_OK ||
        halo_sharding_piece(sharding, all, 0, starts, sizes) != HALO_OK) {
      return false;
    }
    for (int d = 0; d < all->rank; d++) {
      if (part->dims[d] != sizes[d]) return false;
    }
  }
  return true;
}

static halo_status header_check_spmd(halo_text_parser *p, const halo_text_header *header) {
  const halo_module *module = p->module;
  const halo_spmd_entry *spmd = module->spmd;
  int32_t next = 0, last = 0;
  if (!spmd) return HALO_OK;
  bool fits = header->whole_at && spmd->params && spmd->results &&
              spmd->params->kind == HALO_SHARDING_TUPLE &&
              spmd->results->kind == HALO_SHARDING_TUPLE &&
              spmd->whole_param_count <= module->entry->params.count;
  for (int32_t i = 0; fits && i < spmd->whole_param_count; i++) {
    fits = header_spmd_fits(module, spmd->params, spmd->whole_params[i], module->entry_params[i],
                            &next);
  }
  fits = fits && header_spmd_fits(module, spmd->results, spmd->whole_result,
                                  halo_module_visible_result(module), &last);
  if (fits && next == spmd->params->element_count && last == spmd->results->element_count) {
    return HALO_OK;
  }
  return halo_text_error(p, header->whole_at ? header->whole_at : p->begin,
                         "spmd_whole_layout, spmd_parameters_shardings and spmd_output_sharding do "
                         "not go with each other or with the entry");
}

/* ---- Attributes ---- */

static halo_status header_count(halo_text_parser *p, int64_t *out) {
  const char *at = p->tok.start;
  HALO_TRY(halo_text_int(p, "a number", out));
  if (*out < 0) return halo_text_error(p, at, "expected a number that is not negative");
  /* 0 is how some writers say "not set". */
  if (*out == 0) *out = 1;
  return HALO_OK;
}

static halo_status header_value(halo_text_parser *p, halo_text_header *header, const char *name) {
  halo_module *module = p->module;
  if (strcmp(name, "is_scheduled") == 0) {
    return halo_text_bool(p, "true or false", &module->is_scheduled);
  }
  if (strcmp(name, "input_output_alias") == 0) {
    header->alias_at = p->tok.start;
    return halo_text_alias_list(p, HALO_ALIAS_RESULT, &module->aliases);
  }
  if (strcmp(name, "buffer_donor") == 0) {
    header->donor_at = p->tok.start;
    return halo_text_alias_list(p, HALO_ALIAS_DONOR, &module->donors);
  }
  if (strcmp(name, "entry_computation_layout") == 0) {
    header->layout_at = p->tok.start;
    return header_shapes(p, &module->entry_params, &header->layout_params, &module->entry_result);
  }
  if (strcmp(name, "spmd_whole_layout") == 0) {
    halo_spmd_entry *spmd = header_spmd(p);
    header->whole_at = p->tok.start;
    return header_shapes(p, &spmd->whole_params, &spmd->whole_param_count, &spmd->whole_result);
  }
  bool output = strcmp(name, "spmd_output_sharding") == 0;
  if (output || strcmp(name, "spmd_parameters_shardings") == 0) {
    halo_attr attr = {0};
    HALO_TRY(halo_text_sharding(p, &attr));
    *(output ? &header_spmd(p)->results : &header_spmd(p)->params) = attr.sharding;
    return HALO_OK;
  }
  if (strcmp(name, "replica_count") == 0) return header_count(p, &module->replica_count);
  if (strcmp(name, "num_partitions") == 0) return header_count(p, &module->num_partitions);
  if (strcmp(name, "frontend_attributes") == 0) {
    halo_attr frontend = {0};
    HALO_TRY(halo_text_strings_value(p, &frontend));
    module->frontend = frontend.strings.data;
    module->frontend_count = frontend.strings.count;
    return HALO_OK;
  }
  halo_header_attr attr = {.name = name};
  HALO_TRY(halo_text_raw(p, INT32_MAX, &attr.text));
  halo_vec_push(&module->header, attr);
  return HALO_OK;
}

halo_status halo_text_header_attrs(halo_text_parser *p, halo_text_header *header) {
  halo_map seen = {0};
  halo_status status = HALO_OK;
  while (status == HALO_OK && halo_text_accept(p, ',')) {
    const char *at = p->tok.start, *name = NULL;
    if (p->tok.kind != TOK_WORD) {
      status = halo_text_expected(p, "a header attribute such as is_scheduled=true");
      break;
    }
    status = halo_text_name(p, "a header attribute", &name);
    if (status == HALO_OK) status = halo_text_expect(p, '=', "'=' after the attribute's name");
    if (status != HALO_OK) break;
    if (halo_map_set_text(&seen, name, p)) {
      status = halo_text_error(p, at, "%.200s stands twice", name);
      break;
    }
    status = header_value(p, header, name);
  }
  halo_map_deinit(&seen);
  return status;
}

/* ---- Stack tables ---- */

static bool header_at_table(const halo_text_parser *p) {
  return halo_text_is_word(p, "FileNames") || halo_text_is_word(p, "FunctionNames") ||
         halo_text_is_word(p, "FileLocations") || halo_text_is_word(p, "StackFrames");
}

/* The tables only say where in a user's program instructions came from: they are kept as they are.
 * Rows start with an int; a computation does not. */
halo_status halo_text_stack_tables(halo_text_parser *p) {
  if (!header_at_table(p)) return HALO_OK;
  const char *start = p->tok.start;
  while (header_at_table(p)) {
    halo_text_advance(p);
    while (p->tok.kind == TOK_INT) {
      halo_text_advance(p);
      if (p->tok.kind == TOK_STRING) {
        halo_text_advance(p);
      } else if (p->tok.kind == '{') {
        while (p->tok.kind != '}') {
          if (p->tok.kind == TOK_END || p->tok.kind == TOK_ERROR) {
            return halo_text_expected(p, "'}' after a row of the stack tables");
          }
          halo_text_advance(p);
        }
        halo_text_advance(p);
      } else {
        return halo_text_expected(p, "a string or a group in braces after the row's number");
      }
    }
  }
  halo_header_attr tables = {.name = ""};
  tables.text = halo_arena_strndup(p->arena, start, (size_t)(p->behind - start));
  halo_vec_push(&p->module->header, tables);
  return HALO_OK;
}

/* ---- The entry ---- */

static halo_status header_check_alias(halo_text_parser *p, const halo_alias *alias,
                                      const char *at) {
  const halo_module *module = p->module;
  if (alias->parameter < 0 || alias->parameter >= module->entry->params.count ||
      !halo_shape_part(module->entry_params[alias->parameter], alias->param_index,
                       alias->param_index_count)) {
    return halo_text_error(p, at, "expected parameters of the entry, and indices into them");
  }
  if (!halo_shape_part(module->entry_result, alias->out_index, alias->out_index_count)) {
    return halo_text_error(p, at, "expected indices into the entry's result");
  }
  return HALO_OK;
}

static halo_status header_check_layout(halo_text_parser *p, const halo_text_header *header) {
  const halo_module *module = p->module;
  const halo_computation *entry = module->entry;
  if (header->layout_params != entry->params.count) {
    return halo_text_error(p, header->layout_at,
                           "the entry has %d parameter%s: expected as many "
                           "shapes, found %d",
                           entry->params.count, halo_plural(entry->params.count),
                           header->layout_params);
  }
  halo_arena scratch = {0};
  halo_status status = HALO_OK;
  for (int32_t i = 0; i <= entry->params.count && status == HALO_OK; i++) {
    bool last = i == entry->params.count;
    const halo_shape *real = last ? entry->root->shape : entry->params.data[i]->shape;
    if (halo_shape_compatible(last ? module->entry_result : module->entry_params[i], real))
      continue;
    const char *text = halo_shape_text(&scratch, real, false);
    status = last ? halo_text_error(p, header->layout_at,
                                    "expected %s, the shape of the entry's "
                                    "root, as the result",
                                    text)
                  : halo_text_error(p, header->layout_at,
                                    "expected %s, the shape of the entry's "
                                    "parameter %d",
                                    text, i);
  }
  halo_arena_deinit(&scratch);
  return status;
}

halo_status halo_text_finish_entry(halo_text_parser *p, const halo_text_header *header) {
  halo_module *module = p->module;
  const halo_computation *entry = module->entry;
  if (header->layout_at) {
    HALO_TRY(header_check_layout(p, header));
  } else {
    module->entry_params = halo_arena_array(p->arena, const halo_shape *, entry->params.count);
    for (int32_t i = 0; i < entry->params.count; i++) {
      module->entry_params[i] = entry->params.data[i]->shape;
    }
    module->entry_result = entry->root->shape;
  }
  for (int32_t i = 0; i < module->aliases.count; i++) {
    HALO_TRY(header_check_alias(p, &module->aliases.data[i], header->alias_at));
  }
  for (int32_t i = 0; i < module->donors.count; i++) {
    HALO_TRY(header_check_alias(p, &module->donors.data[i], header->donor_at));
  }
  return header_check_spmd(p, header);
}
