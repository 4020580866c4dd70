/* SPDX-License-Identifier: Apache-2.0 */
/* text/parse_alias.c: parts of results that share memory with parts of inputs. */
#include "text/parser.h"

/* Takes "{0,1}". */
static halo_status alias_index(halo_text_parser *p, const int64_t **data, int32_t *count) {
  halo_attr attr = {0};
  HALO_TRY(halo_text_ints(p, "a tuple index", &attr));
  *data = attr.ints.data;
  *count = attr.ints.count;
  return HALO_OK;
}

/* Takes ", may-alias" when it is there. */
static halo_status alias_kind(halo_text_parser *p, halo_alias *alias) {
  if (!halo_text_accept(p, ',')) return HALO_OK;
  static const char *const may[] = {"may-alias", "USER", "SYSTEM"};
  alias->must = halo_text_is_word(p, "must-alias");
  bool known = alias->must;
  for (int i = 0; i < 3; i++) known |= halo_text_is_word(p, may[i]);
  if (!known) return halo_text_expected(p, "may-alias or must-alias");
  halo_text_advance(p);
  return HALO_OK;
}

/* Takes "{0}: (1, {2}, must-alias)", or of it what the form has. */
static halo_status alias_row(halo_text_parser *p, halo_text_alias_form form, halo_alias *alias) {
  const char *input = form == HALO_ALIAS_OPERAND ? "an operand's number" : "a parameter number";
  if (form != HALO_ALIAS_DONOR) {
    HALO_TRY(alias_index(p, &alias->out_index, &alias->out_index_count));
    HALO_TRY(halo_text_expect(p, ':', "':' after the output's index"));
  }
  HALO_TRY(halo_text_expect(p, '(', "'(' to open (number, {index})"));
  HALO_TRY(halo_text_int(p, input, &alias->parameter));
  if (p->tok.kind != ')') {
    HALO_TRY(halo_text_expect(p, ',', "',' after the number"));
    HALO_TRY(alias_index(p, &alias->param_index, &alias->param_index_count));
    if (form == HALO_ALIAS_RESULT) HALO_TRY(alias_kind(p, alias));
  }
  return halo_text_expect(p, ')', "')' after the index");
}

halo_status halo_text_alias_list(halo_text_parser *p, halo_text_alias_form form,
                                 halo_aliases *out) {
  HALO_TRY(halo_text_expect(p, '{', "'{' to open the list"));
  while (p->tok.kind != '}') {
    halo_alias alias = {0};
    HALO_TRY(alias_row(p, form, &alias));
    halo_vec_push(out, alias);
    HALO_TRY(halo_text_separator(p, '}', "',' or '}' after an entry"));
  }
  halo_text_advance(p);
  return HALO_OK;
}

halo_status halo_text_aliases(halo_text_parser *p, halo_attr *attr) {
  halo_aliases list = {0};
  halo_status status = halo_text_alias_list(p, HALO_ALIAS_OPERAND, &list);
  attr->aliases.count = list.count;
  attr->aliases.data = halo_arena_copy(p->arena, list.data, sizeof *list.data * (size_t)list.count);
  halo_vec_deinit(&list);
  return status;
}
