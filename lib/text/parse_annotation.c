/* SPDX-License-Identifier: Apache-2.0 */
/* text/parse_annotation.c: metadata, shardings, accuracies and configurations of operands. */
#include "text/fields.h"
#include "text/parser.h"

#include <stdio.h>
#include <string.h>

/* ---- Metadata ---- */

static halo_status annotation_metadata(halo_text_parser *p, halo_metadata *out) {
  halo_text_strings unknown = {0};
  halo_status status = halo_text_read_fields(p, halo_text_metadata_fields, out, &unknown);
  out->unknown_count = unknown.count;
  out->unknown =
      halo_arena_copy(p->arena, unknown.data, sizeof *unknown.data * (size_t)unknown.count);
  halo_vec_deinit(&unknown);
  return status;
}

halo_status halo_text_metadata(halo_text_parser *p, halo_attr *attr) {
  halo_metadata *metadata = halo_arena_new(p->arena, halo_metadata);
  attr->metadata = metadata;
  return annotation_metadata(p, metadata);
}

/* ---- Shardings ---- */

typedef HALO_VEC(int64_t) annotation_ints;

static halo_int_list annotation_keep(halo_text_parser *p, annotation_ints *from) {
  halo_int_list list = {
      halo_arena_copy(p->arena, from->data, sizeof(int64_t) * (size_t)from->count), from->count};
  halo_vec_deinit(from);
  return list;
}

/* Takes "1,0" up to the closing bracket. */
static halo_status sharding_list_in(halo_text_parser *p, int close, annotation_ints *out) {
  while (p->tok.kind != close) {
    int64_t value;
    HALO_TRY(halo_text_int(p, "a number", &value));
    halo_vec_push(out, value);
    HALO_TRY(halo_text_separator(p, close, "',' or the closing bracket after a number"));
  }
  halo_text_advance(p);
  return HALO_OK;
}

/* Takes "[2,1]" or "(1,0)". */
static halo_status sharding_list(halo_text_parser *p, int open, int close, const char *what,
                                 halo_int_list *out) {
  annotation_ints ints = {0};
  HALO_TRY(halo_text_expect(p, open, what));
  halo_status status = sharding_list_in(p, close, &ints);
  *out = annotation_keep(p, &ints);
  return status;
}

/* Takes "0,1,2,3", which ends before whatever is no number. */
static halo_status sharding_numbers(halo_text_parser *p, halo_int_list *out) {
  annotation_ints ints = {0};
  halo_status status = HALO_OK;
  do {
    int64_t value;
    status = halo_text_int(p, "a device's number, or <= and the dimensions of all", &value);
    if (status == HALO_OK) halo_vec_push(&ints, value);
  } while (status == HALO_OK && p->tok.kind == ',' && halo_text_peek(p).kind == TOK_INT &&
           halo_text_accept(p, ','));
  *out = annotation_keep(p, &ints);
  return status;
}

/* Takes "[2,2]0,1,2,3" or "[2,2]<=[4]" or "[2,2]<=[2,2]T(1,0)", also "[2]<=[2]T(0)". */
static halo_status sharding_devices(halo_text_parser *p, halo_sharding *s) {
  HALO_TRY(sharding_list(p, '[', ']', "'[' to open the tiles", &s->tiles));
  if (!halo_text_accept(p, TOK_LEQ)) return sharding_numbers(p, &s->devices);
  HALO_TRY(sharding_list(p, '[', ']', "'[' to open the dimensions of the devices", &s->reshape));
  if (!halo_text_is_word(p, "T")) return HALO_OK;
  halo_text_advance(p);
  HALO_TRY(sharding_list(p, '(', ')', "'(' to open the transpose", &s->transpose));
  /* One dimension has one order, whatever its number is said to be, as in XLA. */
  if (s->reshape.count == 1 && s->transpose.count == 1) s->transpose.count = 0;
  return HALO_OK;
}

/* The words of kinds that have nothing else to them; by halo_sharding_kind. */
static const char *const sharding_words[] = {"replicated", "maximal", "manual", "unknown",
                                             "unreduced"};
enum { SHARDING_WORDS = sizeof sharding_words / sizeof sharding_words[0] };

static int sharding_word(const halo_text_parser *p) {
  int kind = 0;
  while (kind < SHARDING_WORDS && !halo_text_is_word(p, sharding_words[kind])) kind++;
  return kind;
}

/* Takes "{manual, replicated}". */
static halo_status sharding_last_kinds(halo_text_parser *p, halo_int_list *out) {
  int64_t kinds[HALO_MAX_RANK];
  int32_t count = 0;
  HALO_TRY(halo_text_expect(p, '{', "'{' to open the kinds of the last dimensions"));
  while (p->tok.kind != '}') {
    int kind = sharding_word(p);
    if (kind == SHARDING_WORDS || count == HALO_MAX_RANK) {
      return halo_text_expected(p, "one of replicated, manual, unreduced");
    }
    kinds[count++] = kind;
    halo_text_advance(p);
    HALO_TRY(halo_text_separator(p, '}', "',' or '}' after a kind"));
  }
  halo_text_advance(p);
  *out = (halo_int_list){halo_arena_copy(p->arena, kinds, sizeof *kinds * (size_t)count), count};
  return HALO_OK;
}

/* Takes "{op_name=..}" or "{{op_name=..}, {..}}". */
static halo_status sharding_metadata(halo_text_parser *p, halo_sharding *s) {
  HALO_VEC(halo_metadata) list = {0};
  halo_status status = HALO_OK;
  bool several = p->tok.kind == '{' && halo_text_peek(p).kind == '{';
  if (several) halo_text_advance(p);
  do {
    halo_metadata one = {0};
    status = annotation_metadata(p, &one);
    halo_vec_push(&list, one);
  } while (status == HALO_OK && several && halo_text_accept(p, ','));
  if (status == HALO_OK && several) {
    status = halo_text_expect(p, '}', "',' or '}' after the metadata");
  }
  s->metadata_count = list.count;
  s->metadata = halo_arena_copy(p->arena, list.data, sizeof *list.data * (size_t)list.count);
  halo_vec_deinit(&list);
  return status;
}

/* The parts of a sharding, each at most once. */
enum {
  SHARDING_KIND = 1,
  SHARDING_DEVICE = 2,
  SHARDING_LAST = 4,
  SHARDING_GROUP = 8,
  SHARDING_METADATA = 16
};

/* Takes one part; which, or 0 when there is none. */
static halo_status sharding_part(halo_text_parser *p, halo_sharding *s, unsigned *part) {
  int kind = sharding_word(p);
  bool as = halo_text_is_word(p, "shard_as"), like = halo_text_is_word(p, "shard_like");
  *part = 0;
  if (kind < SHARDING_WORDS) {
    *part = SHARDING_KIND;
    s->kind = (halo_sharding_kind)kind;
    halo_text_advance(p);
    return HALO_OK;
  }
  if (as || like) {
    *part = SHARDING_GROUP;
    s->group = as ? HALO_SHARD_AS : HALO_SHARD_LIKE;
    halo_text_advance(p);
    return halo_text_int(p, "the number of the shard group", &s->group_id);
  }
  if (halo_text_is_word(p, "last_tile_dim_replicate")) {
    *part = SHARDING_LAST;
    s->replicate_last = true;
    halo_text_advance(p);
    return HALO_OK;
  }
  const char *const names[] = {"devices", "device", "last_tile_dims", "metadata"};
  int name = 0;
  while (name < 4 && !halo_text_is_word(p, names[name])) name++;
  if (name == 4) {
    return halo_text_expected(p,
                              "a sharding: replicated, maximal, manual, unknown, unreduced, "
                              "device=, devices=, last_tile_dim_replicate, last_tile_dims=, "
                              "shard_as, shard_like, metadata=");
  }
  halo_text_advance(p);
  HALO_TRY(halo_text_expect(p, '=', "'='"));
  switch (name) {
    case 0:
      *part = SHARDING_KIND;
      s->kind = HALO_SHARDING_TILED;
      return sharding_devices(p, s);
    case 1: *part = SHARDING_DEVICE; return halo_text_int(p, "a device's number", &s->device);
    case 2: *part = SHARDING_LAST; return sharding_last_kinds(p, &s->last_kinds);
    default: *part = SHARDING_METADATA; return sharding_metadata(p, s);
  }
}

/* Takes a sharding that is no tuple; its '{' is taken already. */
static halo_status sharding_single(halo_text_parser *p, const char *open, halo_sharding *s) {
  unsigned seen = 0;
  while (p->tok.kind != '}') {
    const char *at = p->tok.start;
    unsigned part;
    HALO_TRY(sharding_part(p, s, &part));
    if (seen & part) return halo_text_error(p, at, "this part of the sharding stands twice");
    seen |= part;
    halo_text_accept(p, ',');
  }
  if (!(seen & SHARDING_KIND)) {
    return halo_text_error(p, open, "the sharding does not say its kind or its devices");
  }
  if ((s->kind == HALO_SHARDING_MAXIMAL) != !!(seen & SHARDING_DEVICE)) {
    return halo_text_error(p, open, "a maximal sharding, and no other, has a device=");
  }
  if ((seen & SHARDING_LAST) && s->kind != HALO_SHARDING_TILED) {
    return halo_text_error(p, open, "only a sharding with devices= has last dimensions");
  }
  halo_text_advance(p);
  return HALO_OK;
}

static halo_status annotation_sharding(halo_text_parser *p, bool leaf, halo_sharding *s);

static halo_status sharding_tuple(halo_text_parser *p, halo_sharding *s) {
  HALO_VEC(halo_sharding) list = {0};
  halo_status status = HALO_OK;
  while (status == HALO_OK && p->tok.kind != '}') {
    halo_sharding one = {0};
    status = annotation_sharding(p, true, &one);
    halo_vec_push(&list, one);
    if (status == HALO_OK) status = halo_text_separator(p, '}', "',' or '}' after a sharding");
  }
  if (status == HALO_OK) halo_text_advance(p);
  s->kind = HALO_SHARDING_TUPLE;
  s->element_count = list.count;
  s->elements = halo_arena_copy(p->arena, list.data, sizeof *list.data * (size_t)list.count);
  halo_vec_deinit(&list);
  return status;
}

/* Takes any sharding; `leaf`: of a tuple's leaf, so that it can be no tuple. */
static halo_status annotation_sharding(halo_text_parser *p, bool leaf, halo_sharding *s) {
  const char *open = p->tok.start;
  halo_text_token first = halo_text_peek(p);
  if (p->tok.kind == '{' &&
      (halo_text_token_is(&first, "mesh") || halo_text_token_is(&first, "maximal_mesh"))) {
    s->kind = HALO_SHARDING_NAMED;
    return halo_text_raw(p, INT32_MAX, &s->text);
  }
  HALO_TRY(halo_text_expect(p, '{', "'{' to open the sharding"));
  bool tuple = !leaf && (p->tok.kind == '{' || p->tok.kind == '}');
  HALO_TRY(tuple ? sharding_tuple(p, s) : sharding_single(p, open, s));
  if (tuple || halo_sharding_check(s) == HALO_OK) return HALO_OK; /* elements are checked */
  char message[256];
  snprintf(message, sizeof message, "%s", halo_error_message());
  return halo_text_error(p, open, "%s", message);
}

halo_status halo_text_sharding(halo_text_parser *p, halo_attr *attr) {
  halo_sharding *sharding = halo_arena_new(p->arena, halo_sharding);
  attr->sharding = sharding;
  return annotation_sharding(p, false, sharding);
}

halo_status halo_text_parse_sharding(const char *text, halo_arena *arena,
                                     const halo_sharding **out) {
  halo_text_parser p = {.arena = arena};
  halo_attr attr = {.id = HALO_ATTR_SHARDING};
  *out = NULL;
  HALO_TRY(halo_text_begin(&p, text, strlen(text), "sharding"));
  halo_status status = halo_text_sharding(&p, &attr);
  if (status == HALO_OK && p.tok.kind != TOK_END) {
    status = halo_text_expected(&p, "the end of the sharding");
  }
  if (status == HALO_OK) *out = attr.sharding;
  halo_text_finish(&p);
  return status;
}

/* Takes "{kind="sharding", entry={..}, exit={..}}". */
halo_status halo_text_domain(halo_text_parser *p, halo_attr *attr) {
  halo_domain *domain = halo_arena_new(p->arena, halo_domain);
  attr->domain = domain;
  static const char *const names[] = {"kind", "entry", "exit"};
  HALO_TRY(halo_text_expect(p, '{', "'{' to open the domain"));
  for (int i = 0; i < 3; i++) {
    if (!halo_text_is_word(p, names[i])) {
      return halo_text_expected(p, "kind=\"sharding\", entry= and exit=, in this order");
    }
    halo_text_advance(p);
    HALO_TRY(halo_text_expect(p, '=', "'='"));
    if (i == 0) {
      const char *at = p->tok.start, *kind;
      HALO_TRY(halo_text_string(p, "\"sharding\"", &kind));
      if (strcmp(kind, "sharding") != 0) return halo_text_error(p, at, "expected \"sharding\"");
    } else {
      HALO_TRY(annotation_sharding(p, false, i == 1 ? &domain->entry : &domain->exit));
    }
    if (i < 2) HALO_TRY(halo_text_expect(p, ',', "',' and the next of kind, entry, exit"));
  }
  return halo_text_expect(p, '}', "'}' after the domain");
}

/* ---- What implementations may be chosen by ---- */

/* Takes "{mode=highest}" or "{tolerance={atol=0,rtol=1e-6,ulps=2}}". */
halo_status halo_text_accuracy(halo_text_parser *p, halo_attr *attr) {
  halo_accuracy *accuracy = halo_arena_new(p->arena, halo_accuracy);
  attr->accuracy = accuracy;
  HALO_TRY(halo_text_expect(p, '{', "'{' to open the accuracy"));
  bool mode = halo_text_is_word(p, "mode");
  if (!mode && !halo_text_is_word(p, "tolerance")) {
    return halo_text_expected(p, "mode= or tolerance=");
  }
  halo_text_advance(p);
  HALO_TRY(halo_text_expect(p, '=', "'='"));
  if (mode) {
    static const char *const modes[] = {"default", "highest", NULL};
    int64_t value;
    HALO_TRY(halo_text_enum(p, modes, true, &value));
    accuracy->mode = value ? HALO_ACCURACY_HIGHEST : HALO_ACCURACY_DEFAULT;
  } else {
    accuracy->mode = HALO_ACCURACY_TOLERANCE;
    HALO_TRY(halo_text_read_fields(p, halo_text_tolerance_fields, accuracy, NULL));
  }
  return halo_text_expect(p, '}', "'}' after the accuracy");
}

/* Takes "{lhs={..} rhs={..}}". */
halo_status halo_text_configs(halo_text_parser *p, halo_attr *attr) {
  halo_operand_configs *configs = halo_arena_new(p->arena, halo_operand_configs);
  attr->configs = configs;
  halo_text_fields fields =
      attr->id == HALO_ATTR_SPARSITY_CONFIG ? halo_text_sparsity_fields : halo_text_scaling_fields;
  HALO_TRY(halo_text_expect(p, '{', "'{' to open the configuration"));
  while (p->tok.kind != '}') {
    bool left = halo_text_is_word(p, "lhs");
    halo_operand_config *side = left ? &configs->lhs : &configs->rhs;
    if (!left && !halo_text_is_word(p, "rhs")) return halo_text_expected(p, "lhs=, rhs= or '}'");
    if (side->present) {
      return halo_text_error(p, p->tok.start, "%s stands twice", left ? "lhs" : "rhs");
    }
    halo_text_advance(p);
    HALO_TRY(halo_text_expect(p, '=', "'='"));
    *side = (halo_operand_config){.present = true,
                                  .dimension = -1,
                                  .stride = -1,
                                  .index = -1,
                                  .scale_index = -1,
                                  .zero_index = -1};
    HALO_TRY(halo_text_read_fields(p, fields, side, NULL));
    halo_text_accept(p, ',');
  }
  halo_text_advance(p);
  return HALO_OK;
}
