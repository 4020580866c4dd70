/* SPDX-License-Identifier: Apache-2.0 */
/* text/print_annotation.c: metadata, shardings, accuracies and configurations of operands. */
#include "text/fields.h"
#include "text/print.h"

/* ---- Metadata ---- */

static bool annotation_has_text(const char *text) { return text && *text; }

bool halo_text_metadata_is_empty(const halo_metadata *m) {
  return !annotation_has_text(m->op_type) && !annotation_has_text(m->op_name) &&
         !annotation_has_text(m->source_file) && !annotation_has_text(m->scheduling_name) &&
         !m->stack_frame_id && !m->unknown_count;
}

/* Without braces. */
static void metadata_print(halo_strbuf *out, const halo_metadata *m) {
  size_t start = out->length;
  halo_text_print_fields(out, halo_text_metadata_fields, m, " ");
  for (int32_t i = 0; i + 1 < m->unknown_count; i += 2) {
    halo_strbuf_printf(out, "%s%s=%s", out->length > start ? " " : "", m->unknown[i],
                       m->unknown[i + 1]);
  }
}

void halo_text_print_metadata(halo_strbuf *out, const halo_metadata *m) {
  halo_strbuf_char(out, '{');
  metadata_print(out, m);
  halo_strbuf_char(out, '}');
}

/* ---- Shardings ---- */

static const char *const sharding_words[] = {"replicated", "maximal", "manual", "unknown",
                                             "unreduced"};

static void sharding_list(halo_strbuf *out, halo_int_list list) {
  for (int32_t i = 0; i < list.count; i++) {
    halo_strbuf_printf(out, "%s%lld", i ? "," : "", (long long)list.data[i]);
  }
}

static void sharding_tiles(halo_strbuf *out, const halo_sharding *s) {
  halo_strbuf_append(out, "devices=[");
  sharding_list(out, s->tiles);
  halo_strbuf_append(out, s->devices.count ? "]" : "]<=[");
  sharding_list(out, s->devices.count ? s->devices : s->reshape);
  if (!s->devices.count) halo_strbuf_char(out, ']');
  if (s->transpose.count) {
    halo_strbuf_append(out, "T(");
    sharding_list(out, s->transpose);
    halo_strbuf_char(out, ')');
  }
  if (s->replicate_last) halo_strbuf_append(out, " last_tile_dim_replicate");
  if (!s->last_kinds.count) return;
  halo_strbuf_append(out, " last_tile_dims={");
  for (int32_t i = 0; i < s->last_kinds.count; i++) {
    halo_strbuf_printf(out, "%s%s", i ? ", " : "", sharding_words[s->last_kinds.data[i]]);
  }
  halo_strbuf_char(out, '}');
}

static void sharding_metadata(halo_strbuf *out, const halo_sharding *s) {
  if (!s->metadata_count) return;
  halo_strbuf_append(out, " metadata={");
  if (s->metadata_count == 1) {
    metadata_print(out, s->metadata);
  } else {
    for (int32_t i = 0; i < s->metadata_count; i++) {
      if (i) halo_strbuf_append(out, ", ");
      halo_text_print_metadata(out, &s->metadata[i]);
    }
  }
  halo_strbuf_char(out, '}');
}

static void sharding_elements(halo_strbuf *out, const halo_sharding *s, bool metadata) {
  for (int32_t i = 0; i < s->element_count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    if (i && i % 5 == 0) halo_strbuf_printf(out, "/*index=%d*/", i);
    halo_text_print_sharding(out, &s->elements[i], metadata);
  }
}

void halo_text_print_sharding(halo_strbuf *out, const halo_sharding *s, bool metadata) {
  if (s->kind == HALO_SHARDING_NAMED) {
    halo_strbuf_append(out, s->text);
    return;
  }
  halo_strbuf_char(out, '{');
  switch (s->kind) {
    case HALO_SHARDING_REPLICATED:
    case HALO_SHARDING_MAXIMAL:
    case HALO_SHARDING_MANUAL:
    case HALO_SHARDING_UNKNOWN:
    case HALO_SHARDING_UNREDUCED: halo_strbuf_append(out, sharding_words[s->kind]); break;
    case HALO_SHARDING_TILED: sharding_tiles(out, s); break;
    case HALO_SHARDING_TUPLE: sharding_elements(out, s, metadata); break;
    case HALO_SHARDING_NAMED: break;
  }
  if (s->kind == HALO_SHARDING_MAXIMAL) {
    halo_strbuf_printf(out, " device=%lld", (long long)s->device);
  }
  if (s->group != HALO_SHARD_ALONE) {
    halo_strbuf_printf(out, " shard_%s %lld", s->group == HALO_SHARD_AS ? "as" : "like",
                       (long long)s->group_id);
  }
  if (metadata) sharding_metadata(out, s);
  halo_strbuf_char(out, '}');
}

void halo_text_print_domain(halo_strbuf *out, const halo_domain *domain, bool metadata) {
  halo_strbuf_append(out, "{kind=\"sharding\", entry=");
  halo_text_print_sharding(out, &domain->entry, metadata);
  halo_strbuf_append(out, ", exit=");
  halo_text_print_sharding(out, &domain->exit, metadata);
  halo_strbuf_char(out, '}');
}

/* ---- What implementations may be chosen by ---- */

void halo_text_print_accuracy(halo_strbuf *out, const halo_accuracy *accuracy) {
  if (accuracy->mode != HALO_ACCURACY_TOLERANCE) {
    bool highest = accuracy->mode == HALO_ACCURACY_HIGHEST;
    halo_strbuf_printf(out, "{mode=%s}", highest ? "highest" : "default");
    return;
  }
  halo_strbuf_append(out, "{tolerance={");
  halo_text_print_fields(out, halo_text_tolerance_fields, accuracy, ",");
  halo_strbuf_append(out, "}}");
}

void halo_text_print_configs(halo_strbuf *out, halo_attr_id id,
                             const halo_operand_configs *configs) {
  halo_text_fields fields =
      id == HALO_ATTR_SPARSITY_CONFIG ? halo_text_sparsity_fields : halo_text_scaling_fields;
  halo_strbuf_char(out, '{');
  for (int side = 0; side < 2; side++) {
    const halo_operand_config *config = side ? &configs->rhs : &configs->lhs;
    if (!config->present) continue;
    halo_strbuf_append(out, !side ? "lhs={" : configs->lhs.present ? " rhs={" : "rhs={");
    halo_text_print_fields(out, fields, config, " ");
    halo_strbuf_char(out, '}');
  }
  halo_strbuf_char(out, '}');
}
