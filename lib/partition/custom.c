/* SPDX-License-Identifier: Apache-2.0 */
/* partition/custom.c: custom calls that know themselves how they are partitioned: what they say of their
 * dimensions, and what their partitioners make of them. */
#include "custom/custom.h"
#include "base/status.h"
#include "partition/spmd.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const halo_custom_partitioner *custom_partitioner(const halo_instr *instr) {
  const halo_attr *target = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_TARGET);
  const halo_custom_partitioner *found = NULL;
  if (instr->opcode == HALO_OP_CUSTOM_CALL && target && target->text) {
    found = halo_custom_partitioner_find(target->text);
  }
  return found && found->function ? found : NULL;
}

bool halo_spmd_is_custom(const halo_instr *instr) { return custom_partitioner(instr) != NULL; }

/* ---- Rules as text: ([i, jk])->([i]) {i=8, j=2, k=4} reduction={j, k}, custom ---- */

enum { CUSTOM_FACTORS = 64, CUSTOM_LETTERS = 'z' - 'i' };

/* i, j, ..., z, z_1, ...: a factor's number; -1: there is none here. */
static int custom_factor(const char **at) {
  const char *c = *at;
  if (*c < 'i' || *c > 'z') return -1;
  *at = c + 1;
  if (*c != 'z' || c[1] != '_' || !isdigit((unsigned char)c[2])) return *c - 'i';
  long number = strtol(c + 2, (char **)at, 10);
  return number > 0 && number < CUSTOM_FACTORS - CUSTOM_LETTERS ? (int)number + CUSTOM_LETTERS : -1;
}

static bool custom_accept(const char **at, const char *text) {
  *at += strspn(*at, " ");
  size_t length = strlen(text);
  if (strncmp(*at, text, length) != 0) return false;
  *at += length;
  return true;
}

/* The sizes of the factors, {i=8, j=16}; false: it is not understood. */
static bool custom_sizes(const char *at, halo_spmd_rule *rule, halo_spmd *p) {
  int64_t sizes[CUSTOM_FACTORS];
  int count = 0;
  for (bool more = custom_accept(&at, "{"); more; more = custom_accept(&at, ",")) {
    at += strspn(at, " ");
    if (custom_factor(&at) != count || count == CUSTOM_FACTORS || !custom_accept(&at, "=")) {
      return false;
    }
    sizes[count] = strtoll(at, (char **)&at, 10);
    if (sizes[count++] <= 0) return false;
  }
  for (int f = 0; f < count; f++) halo_spmd_rule_factor(p, rule, sizes[f], HALO_SPMD_PARALLEL);
  return true;
}

/* One tensor's, [i, jk], as many dimensions as it has. */
static bool custom_tensor(const char **at, halo_spmd *p, halo_spmd_rule *rule, int32_t tensor) {
  const halo_shape *shape = rule->leaf[tensor]->shape;
  if (!custom_accept(at, "[")) return false;
  for (int d = 0; d < shape->rank; d++) {
    int64_t size = 1;
    if (d && !custom_accept(at, ",")) return false;
    *at += strspn(*at, " ");
    for (int f; (f = custom_factor(at)) >= 0;) {
      if (f >= rule->factors) return false;
      halo_spmd_rule_put(p, rule, tensor, d, f);
      size *= rule->size[f];
    }
    if (size != shape->dims[d]) return false;
  }
  return custom_accept(at, "]");
}

static bool custom_tensors(const char **at, halo_spmd *p, halo_spmd_rule *rule, int32_t from,
                           int32_t to) {
  if (!custom_accept(at, "(")) return false;
  for (int32_t t = from; t < to; t++) {
    if ((t > from && !custom_accept(at, ",")) || !custom_tensor(at, p, rule, t)) return false;
  }
  return custom_accept(at, ")");
}

/* Factors along which nothing is to travel. Those that are summed up, needed whole or permuted are as all others
 * here: the program of a partition does that by itself. */
static void custom_block(const char *text, halo_spmd_rule *rule) {
  static const char set[] = " blocked_propagation={";
  const char *at = strstr(text, set);
  if (!at) return;
  at += strlen(set);
  do {
    at += strspn(at, " ");
    int f = custom_factor(&at);
    if (f >= 0 && f < rule->factors) rule->kind[f] = HALO_SPMD_WHOLE;
  } while (custom_accept(&at, ","));
}

static bool custom_read(halo_spmd *p, halo_spmd_rule *rule, const char *text) {
  const char *at = strstr(text, "<("), *sizes = strchr(text, '{'), *results;
  if (!at || !(results = strstr(at, ")->("))) return false;
  if (sizes && sizes[-1] != '=' && !custom_sizes(sizes, rule, p)) return false;
  at++;
  results += 3;
  if (!custom_tensors(&at, p, rule, 0, rule->operands)) return false;
  if (!custom_tensors(&results, p, rule, rule->operands, rule->tensors)) return false;
  custom_block(text, rule);
  return true;
}

/* A call with as many results as operands, of their shapes, and without a rule: an identity, as far as is known. */
static bool custom_is_same(const halo_spmd_rule *rule) {
  int32_t results = rule->tensors - rule->operands;
  for (int32_t t = 0; t < results && results == rule->operands; t++) {
    if (!halo_shape_compatible(rule->leaf[t]->shape, rule->leaf[results + t]->shape)) return false;
  }
  return results == rule->operands;
}

void halo_spmd_custom_rule(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr) {
  const char *text = halo_spmd_frontend(instr, "xla.sdy.sharding_rule");
  if (!text || custom_read(p, rule, text)) return;
  rule->factors = 0;
  for (int32_t t = 0; t < rule->tensors; t++) {
    memset(rule->dims[t], 0, sizeof *rule->dims[t] * (size_t)rule->leaf[t]->shape->rank);
  }
}

/* ---- Writing ---- */

/* A call and the leaves that it speaks of: those of its operands, then those of its result. */
typedef struct custom_site {
  halo_spmd *p;
  const halo_instr *instr;
  int32_t count;
  halo_spmd_leaf **leaves; /* [count] */
  halo_partition_call call;
} custom_site;

static bool custom_is_partly(const halo_spmd *p, const halo_spmd_leaf *leaf) {
  uint32_t manual = leaf->box->sharding.manual;
  return manual && manual != (1u << p->mesh.axes) - 1;
}

static void custom_describe(custom_site *s) {
  halo_spmd *p = s->p;
  const halo_spmd_rule *rule = halo_spmd_node_of(s->instr)->rule;
  const halo_spmd_node *node = halo_spmd_node_of(s->instr);
  const halo_attr *config = halo_instr_attr(s->instr, HALO_ATTR_BACKEND_CONFIG);
  const char *text = config && config->text ? config->text : "";
  size_t length = strlen(text);
  bool quoted = length >= 2 && text[0] == '"' && text[length - 1] == '"';
  s->count = rule->tensors;
  s->leaves = halo_arena_array(&p->arena, halo_spmd_leaf *, s->count + 1);
  int32_t next = 0;
  for (int32_t i = 0; i < s->instr->operand_count; i++) {
    const halo_spmd_node *from = halo_spmd_node_of(s->instr->operands[i]);
    for (int32_t k = 0; k < from->count; k++) s->leaves[next++] = from->leaves[k];
  }
  for (int32_t k = 0; k < node->count; k++) s->leaves[next++] = node->leaves[k];
  const halo_shape **shapes = halo_arena_array(&p->arena, const halo_shape *, s->count + 1);
  const halo_sharding **lie = halo_arena_array(&p->arena, const halo_sharding *, s->count + 1);
  for (int32_t k = 0; k < s->count; k++) {
    shapes[k] = s->leaves[k]->shape;
    /* In a region that is manual along some axes: how each array of it lies on the others. */
    lie[k] = custom_is_partly(p, s->leaves[k]) ? halo_spmd_publish(p, &s->leaves[k]->box->sharding)
                                               : halo_spmd_found(p, s->leaves[k]);
  }
  s->call = (halo_partition_call){
      .target = halo_instr_attr(s->instr, HALO_ATTR_CUSTOM_CALL_TARGET)->text,
      .config = quoted ? halo_arena_strndup(&p->arena, text + 1, length - 2) : text,
      .is_tuple = halo_shape_is_tuple(s->instr->shape),
      .operand_count = rule->operands,
      .result_count = rule->tensors - rule->operands,
      .operands = shapes,
      .results = shapes + rule->operands,
      .operand_shardings = lie,
      .result_shardings = lie + rule->operands};
}

static halo_status custom_fail(const custom_site *s, halo_status status) {
  return halo_fail_in(status, "line %d: %s", s->instr->line, s->instr->name);
}

static halo_status custom_check(const custom_site *s) {
  for (int32_t k = 0; k < s->count; k++) {
    const halo_sharding *said = s->call.operand_shardings[k];
    halo_status status =
        halo_sharding_check_array(said, s->leaves[k]->shape->rank, s->p->module->num_partitions);
    if (status != HALO_OK) return custom_fail(s, status);
  }
  return HALO_OK;
}

/* Collectives of a program that came from elsewhere get numbers that nobody has. */
static void custom_number(halo_spmd *p, int32_t first_computation) {
  for (int32_t c = first_computation; c < p->module->computations.count; c++) {
    halo_computation *computation = p->module->computations.data[c];
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      halo_instr *instr = computation->instrs.data[i];
      if (!halo_instr_attr(instr, HALO_ATTR_CHANNEL_ID)) continue;
      halo_attr attr = {.id = HALO_ATTR_CHANNEL_ID, .i = p->channel++};
      halo_instr_set_attr(instr, &attr);
    }
  }
}

/* An operand's piece; in a region that is manual along some axes of an array there. */
static halo_instr *custom_piece(custom_site *s, int32_t k) {
  halo_spmd *p = s->p;
  halo_spmd_leaf *leaf = s->leaves[k];
  halo_spmd_sharding to;
  bool direct;
  if (!custom_is_partly(p, leaf)) return halo_spmd_leave(p, leaf, s->call.operand_shardings[k]);
  p->x.status = halo_spmd_read(p, s->call.operand_shardings[k], leaf->shape->rank, &to, &direct);
  if (p->x.status == HALO_OK && !direct) {
    p->x.status = halo_fail(HALO_UNIMPLEMENTED,
                            "its partitioner wants other devices in a region that is manual along "
                            "some axes");
  }
  if (p->x.status != HALO_OK) return NULL;
  halo_spmd_make_even(p, leaf->shape, &to);
  to.manual = leaf->box->sharding.manual;
  return halo_spmd_value(p, leaf, &to);
}

/* The pieces that the program takes; `body` is what it computes of them. */
static halo_status custom_arguments(custom_site *s, const halo_computation *body,
                                    halo_instr **arguments) {
  halo_spmd *p = s->p;
  if (body->params.count != s->call.operand_count) {
    return custom_fail(s, halo_fail(HALO_INVALID_ARGUMENT,
                                    "its partitioner gave a program of %d parameters for %d arrays",
                                    body->params.count, s->call.operand_count));
  }
  for (int32_t k = 0; k < s->call.operand_count; k++) {
    arguments[k] = custom_piece(s, k);
    if (!arguments[k]) return custom_fail(s, p->x.status);
    const halo_shape *shape = body->params.data[k]->shape;
    if (!halo_shape_compatible(arguments[k]->shape, shape)) {
      return custom_fail(s, halo_fail(HALO_INVALID_ARGUMENT,
                                      "parameter %d of its partitioner's program has not the shape "
                                      "of a piece",
                                      k));
    }
    if (!halo_shape_equal(arguments[k]->shape, shape)) {
      arguments[k] = halo_rewrite_make_unary(&p->r, p->x.like, HALO_OP_COPY, shape, arguments[k]);
    }
  }
  return HALO_OK;
}

static halo_status custom_results(custom_site *s, halo_instr *value) {
  halo_spmd *p = s->p;
  int32_t results = s->call.result_count;
  halo_instr **parts = halo_arena_array(&p->arena, halo_instr *, results + 1);
  if (halo_shape_leaf_count(value->shape) != results) {
    return custom_fail(s, halo_fail(HALO_INVALID_ARGUMENT,
                                    "its partitioner's program has not its %d results", results));
  }
  halo_spmd_unpack(p, value, parts);
  for (int32_t k = 0; k < results; k++) {
    halo_spmd_leaf *leaf = s->leaves[s->call.operand_count + k];
    const halo_sharding *said = s->call.result_shardings[k];
    int64_t starts[HALO_MAX_RANK], sizes[HALO_MAX_RANK];
    halo_spmd_sharding lies;
    bool direct;
    HALO_TRY(halo_spmd_read(p, said, leaf->shape->rank, &lies, &direct));
    halo_spmd_make_even(p, leaf->shape, &lies);
    HALO_TRY(halo_sharding_piece(said, leaf->shape, 0, starts, sizes));
    const halo_shape *piece =
        halo_shape_new(&p->module->arena, leaf->shape->type, leaf->shape->rank, sizes);
    if (!halo_shape_compatible(parts[k]->shape, piece)) {
      return custom_fail(s, halo_fail(HALO_INVALID_ARGUMENT,
                                      "result %d of its partitioner's program has not the shape of "
                                      "a piece",
                                      k));
    }
    halo_instr *part = halo_spmd_enter(p, parts[k], leaf->shape, said, &lies);
    if (custom_is_partly(p, leaf)) lies.manual = leaf->box->sharding.manual;
    halo_spmd_define(p, leaf, part, &lies);
  }
  return p->x.status;
}

static halo_status custom_write_program(custom_site *s) {
  halo_spmd *p = s->p;
  int32_t first = p->module->computations.count;
  HALO_TRY(custom_check(s));
  halo_computation *body = halo_computation_import(p->module, s->call.program->entry);
  custom_number(p, first);
  halo_instr **arguments = halo_arena_array(&p->arena, halo_instr *, s->call.operand_count + 1);
  HALO_TRY(custom_arguments(s, body, arguments));
  halo_instr *value = halo_computation_inline(p->r.computation, body, arguments);
  return custom_results(s, value);
}

static halo_status custom_write_same(custom_site *s) {
  if (!custom_is_same(halo_spmd_node_of(s->instr)->rule)) {
    return custom_fail(s, halo_fail(HALO_INVALID_ARGUMENT, "its partitioner gave no program"));
  }
  for (int32_t k = 0; k < s->call.operand_count; k++) {
    halo_spmd_leaf *from = s->leaves[k], *to = s->leaves[s->call.operand_count + k];
    halo_spmd_define(s->p, to, halo_spmd_value(s->p, from, &from->box->sharding),
                     &from->box->sharding);
  }
  return s->p->x.status;
}

halo_status halo_spmd_write_custom(halo_spmd *p, halo_instr *instr) {
  const halo_custom_partitioner *partitioner = custom_partitioner(instr);
  custom_site s = {.p = p, .instr = instr};
  custom_describe(&s);
  halo_status status = partitioner->function(&s.call, partitioner->user);
  if (status == HALO_OK) {
    status = s.call.program ? custom_write_program(&s) : custom_write_same(&s);
  }
  if (s.call.program) halo_module_release(s.call.program);
  if (s.call.release) s.call.release(&s.call);
  return status;
}

/* ---- Pieces for the host ---- */

bool halo_spmd_is_pieces(const halo_instr *instr) {
  const halo_attr *target = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_TARGET);
  return instr->opcode == HALO_OP_CUSTOM_CALL && target && target->text &&
         strcmp(target->text, "halo.pieces") == 0 && instr->operand_count == 1 &&
         halo_shape_is_tuple(instr->shape) && halo_shape_leaf_count(instr->shape) == 2;
}

/* The extents of a piece, and 1 for a number. */
static halo_instr *custom_extents(halo_spmd *p, const halo_shape *piece, const halo_shape *as) {
  halo_literal *literal;
  if (halo_literal_create(as, &literal) != HALO_OK) return NULL;
  for (int64_t d = 0; d < halo_shape_element_count(as); d++) {
    halo_literal_set_i64(literal, d, d < piece->rank ? piece->dims[d] : 1);
  }
  return halo_rewrite_make_constant(&p->r, p->x.like, literal);
}

halo_status halo_spmd_write_pieces(halo_spmd *p, halo_instr *instr) {
  halo_spmd_node *node = halo_spmd_node_of(instr);
  halo_spmd_leaf *from = halo_spmd_node_of(instr->operands[0])->leaves[0];
  const halo_shape *whole = node->leaves[0]->shape, *extents = node->leaves[1]->shape;
  if (!halo_spmd_is_array(from) || !halo_shape_compatible(whole, from->shape) ||
      extents->type != HALO_S32 || extents->rank != 1) {
    return halo_fail(HALO_INVALID_ARGUMENT, "line %d: %s: its results are not a piece and extents",
                     instr->line, instr->name);
  }
  halo_instr *value = halo_spmd_value(p, from, &from->box->sharding);
  if (!value) return p->x.status;
  const halo_shape *piece = value->shape;
  int64_t count = halo_shape_element_count(piece), all = halo_shape_element_count(whole);
  int64_t padding[3] = {0, all - count, 0};
  halo_instr *zero = halo_expand_scalar(&p->x, whole->type, 0);
  value = halo_expand_reshape(&p->x, value, 1, &count);
  value = halo_expand_pad(&p->x, value, zero, padding);
  value = halo_expand_reshape(&p->x, value, whole->rank, whole->dims);
  halo_spmd_define(p, node->leaves[0], value, &node->leaves[0]->box->sharding);
  halo_spmd_define(p, node->leaves[1], custom_extents(p, piece, extents),
                   &node->leaves[1]->box->sharding);
  return p->x.status;
}
