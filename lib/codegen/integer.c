/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/integer.c: integer expressions as nodes: making, simplifying, comparing. */
#include "codegen/integer.h"

#include "base/vec.h"

#include <string.h>

typedef HALO_VEC(halo_integer_term) integer_terms;

/* A sum in the making. */
typedef struct integer_sum {
  int64_t constant;
  integer_terms terms;
} integer_sum;

void halo_integers_deinit(halo_integers *pool) {
  halo_map_deinit(&pool->nodes);
  pool->next = 0;
}

/* ---- Ranges ---- */

static int64_t integer_clip_add(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t integer_clip_mul(int64_t a, int64_t b) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}

static void integer_sum_range(const integer_sum *s, int64_t *low, int64_t *high) {
  *low = *high = s->constant;
  for (int32_t i = 0; i < s->terms.count; i++) {
    const halo_integer_term *t = &s->terms.data[i];
    int64_t a = integer_clip_mul(t->node->low, t->by), b = integer_clip_mul(t->node->high, t->by);
    *low = integer_clip_add(*low, a < b ? a : b);
    *high = integer_clip_add(*high, a < b ? b : a);
  }
}

bool halo_integer_is_constant(const halo_integer *a, int64_t *value) {
  if (a->kind != HALO_INTEGER_CONSTANT) return false;
  *value = a->value;
  return true;
}

bool halo_integer_is_multiple(const halo_integer *a, int64_t of) {
  if (a->kind == HALO_INTEGER_CONSTANT) return a->value % of == 0;
  if (a->kind != HALO_INTEGER_SUM || a->value % of != 0) return of == 1;
  for (int32_t i = 0; i < a->count; i++) {
    if (a->terms[i].by % of != 0) return false;
  }
  return true;
}

bool halo_integer_is_within(const halo_integer *a, int64_t low, int64_t high) {
  return a->low >= low && a->high <= high;
}

/* ---- Making ---- */

/* What two equal nodes have in common, in front of names or terms. */
typedef struct integer_key {
  int64_t kind, value, low, high, of;
} integer_key;

/* The node of this content, which is a copy of `like` if it is new. */
static const halo_integer *integer_intern(halo_integers *pool, const halo_integer *like) {
  bool variable = like->kind == HALO_INTEGER_VARIABLE;
  integer_key key = {like->kind, like->value, variable ? like->low : 0, variable ? like->high : 0,
                     like->of ? like->of->id : -1};
  size_t name = variable ? strlen(like->name) : 0;
  size_t size = sizeof key + name + 2 * sizeof(int64_t) * (size_t)like->count;
  char small[256], *bytes = size <= sizeof small ? small : halo_alloc(size);
  memcpy(bytes, &key, sizeof key);
  if (variable) memcpy(bytes + sizeof key, like->name, name);
  for (int32_t i = 0; i < like->count; i++) {
    const int64_t pair[2] = {like->terms[i].node->id, like->terms[i].by};
    memcpy(bytes + sizeof key + sizeof pair * (size_t)i, pair, sizeof pair);
  }
  halo_integer *node = halo_map_get(&pool->nodes, bytes, size);
  if (!node) {
    node = halo_arena_copy(pool->arena, like, sizeof *like);
    node->id = pool->next++;
    if (variable) node->name = halo_arena_strdup(pool->arena, like->name);
    if (like->count) {
      node->terms =
          halo_arena_copy(pool->arena, like->terms, sizeof *like->terms * (size_t)like->count);
    }
    halo_map_set(&pool->nodes, bytes, size, node);
  }
  if (bytes != small) halo_free(bytes);
  return node;
}

const halo_integer *halo_integer_constant(halo_integers *pool, int64_t value) {
  const halo_integer node = {
      .kind = HALO_INTEGER_CONSTANT, .value = value, .low = value, .high = value};
  return integer_intern(pool, &node);
}

const halo_integer *halo_integer_variable(halo_integers *pool, const char *name, int64_t low,
                                          int64_t high) {
  if (low == high) return halo_integer_constant(pool, low);
  const halo_integer node = {.kind = HALO_INTEGER_VARIABLE, .name = name, .low = low, .high = high};
  return integer_intern(pool, &node);
}

/* ---- Sums ---- */

/* Adds by * node, which is no sum and no constant. */
static void integer_sum_term(integer_sum *s, const halo_integer *node, int64_t by) {
  int32_t at = 0;
  while (at < s->terms.count && s->terms.data[at].node->id < node->id) at++;
  if (at < s->terms.count && s->terms.data[at].node == node) {
    s->terms.data[at].by += by;
    if (s->terms.data[at].by != 0) return;
    memmove(&s->terms.data[at], &s->terms.data[at + 1],
            sizeof *s->terms.data * (size_t)(s->terms.count - at - 1));
    s->terms.count--;
    return;
  }
  halo_vec_push(&s->terms, (halo_integer_term){0});
  memmove(&s->terms.data[at + 1], &s->terms.data[at],
          sizeof *s->terms.data * (size_t)(s->terms.count - at - 1));
  s->terms.data[at] = (halo_integer_term){node, by};
}

static void integer_sum_add(integer_sum *s, const halo_integer *a, int64_t by) {
  if (by == 0) return;
  switch (a->kind) {
    case HALO_INTEGER_CONSTANT: s->constant += a->value * by; return;
    case HALO_INTEGER_SUM:
      s->constant += a->value * by;
      for (int32_t i = 0; i < a->count; i++) {
        integer_sum_term(s, a->terms[i].node, a->terms[i].by * by);
      }
      return;
    case HALO_INTEGER_VARIABLE:
    case HALO_INTEGER_DIV:
    case HALO_INTEGER_MOD: integer_sum_term(s, a, by); return;
  }
}

/* The term with this node and factor, or NULL. */
static const halo_integer_term *integer_sum_find(const integer_sum *s, const halo_integer *node,
                                                 int64_t by) {
  for (int32_t i = 0; i < s->terms.count; i++) {
    if (s->terms.data[i].node == node && s->terms.data[i].by == by) return &s->terms.data[i];
  }
  return NULL;
}

/* Puts two digits together: x / n * n + x % n is x, and so is a part of x in the middle. */
static bool integer_sum_join(halo_integers *pool, integer_sum *s) {
  for (int32_t i = 0; i < s->terms.count; i++) {
    const halo_integer *rest = s->terms.data[i].node;
    int64_t by = s->terms.data[i].by, whole;
    if (rest->kind != HALO_INTEGER_MOD) continue;
    const halo_integer *x = rest->of, *quotient = halo_integer_div(pool, x, rest->value);
    if (!__builtin_mul_overflow(by, rest->value, &whole) && integer_sum_find(s, quotient, whole)) {
      integer_sum_term(s, quotient, -whole);
      integer_sum_term(s, rest, -by);
      integer_sum_add(s, x, by);
      return true;
    }
    if (x->kind != HALO_INTEGER_DIV || by % x->value != 0) continue;
    const halo_integer *lower = halo_integer_mod(pool, x->of, x->value);
    if (__builtin_mul_overflow(x->value, rest->value, &whole) ||
        !integer_sum_find(s, lower, by / x->value)) {
      continue;
    }
    integer_sum_term(s, rest, -by);
    integer_sum_term(s, lower, -by / x->value);
    integer_sum_add(s, halo_integer_mod(pool, x->of, whole), by / x->value);
    return true;
  }
  return false;
}

/* The node of a finished sum, whose memory is freed. */
static const halo_integer *integer_sum_finish(halo_integers *pool, integer_sum *s) {
  while (s->terms.count > 1 && integer_sum_join(pool, s)) continue;
  const halo_integer *result;
  if (s->terms.count == 0) {
    result = halo_integer_constant(pool, s->constant);
  } else if (s->terms.count == 1 && s->terms.data[0].by == 1 && s->constant == 0) {
    result = s->terms.data[0].node;
  } else {
    halo_integer node = {.kind = HALO_INTEGER_SUM,
                         .value = s->constant,
                         .terms = s->terms.data,
                         .count = s->terms.count};
    integer_sum_range(s, &node.low, &node.high);
    result = integer_intern(pool, &node);
  }
  halo_vec_deinit(&s->terms);
  return result;
}

static const halo_integer *integer_combine(halo_integers *pool, const halo_integer *a,
                                           const halo_integer *b, int64_t by, int64_t constant) {
  integer_sum s = {.constant = constant};
  integer_sum_add(&s, a, 1);
  if (b) integer_sum_add(&s, b, by);
  return integer_sum_finish(pool, &s);
}

const halo_integer *halo_integer_add(halo_integers *pool, const halo_integer *a,
                                     const halo_integer *b) {
  return integer_combine(pool, a, b, 1, 0);
}

const halo_integer *halo_integer_sub(halo_integers *pool, const halo_integer *a,
                                     const halo_integer *b) {
  return integer_combine(pool, a, b, -1, 0);
}

const halo_integer *halo_integer_plus(halo_integers *pool, const halo_integer *a,
                                      int64_t constant) {
  return constant ? integer_combine(pool, a, NULL, 0, constant) : a;
}

const halo_integer *halo_integer_mul(halo_integers *pool, const halo_integer *a, int64_t by) {
  if (by == 1) return a;
  integer_sum s = {0};
  integer_sum_add(&s, a, by);
  return integer_sum_finish(pool, &s);
}

/* ---- Quotients and remainders ---- */

static int64_t integer_floor_mod(int64_t a, int64_t by) { return (a % by + by) % by; }

static int64_t integer_gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

/* Writes a sum as g * upper + lower: into upper goes what g divides. */
static void integer_split(halo_integers *pool, const halo_integer *sum, int64_t g,
                          const halo_integer **upper, const halo_integer **lower) {
  int64_t rest = integer_floor_mod(sum->value, g);
  integer_sum high = {.constant = (sum->value - rest) / g}, low = {.constant = rest};
  for (int32_t i = 0; i < sum->count; i++) {
    const halo_integer_term *t = &sum->terms[i];
    if (t->by % g == 0) {
      integer_sum_term(&high, t->node, t->by / g);
    } else {
      integer_sum_term(&low, t->node, t->by);
    }
  }
  *upper = integer_sum_finish(pool, &high);
  *lower = integer_sum_finish(pool, &low);
}

/* The largest divisor g of `by` such that the sum is g * upper + lower with lower in [0, g), so that
 * lower has no say in the quotient. 1 when there is none. */
static int64_t integer_common(halo_integers *pool, const halo_integer *sum, int64_t by,
                              const halo_integer **upper, const halo_integer **lower) {
  int64_t limit = by;
  for (;;) {
    int64_t g = 1;
    if (limit == by) g = by;
    for (int32_t i = 0; i < sum->count && limit < by; i++) {
      int64_t common = integer_gcd(sum->terms[i].by, by);
      if (common > g && common <= limit) g = common;
    }
    if (g > 1) {
      integer_split(pool, sum, g, upper, lower);
      if (halo_integer_is_within(*lower, 0, g - 1)) return g;
    }
    if (g == 1) return 1;
    limit = g - 1;
  }
}

static const halo_integer *integer_quotient(halo_integers *pool, halo_integer_kind kind,
                                            const halo_integer *a, int64_t by) {
  int64_t low = a->low > 0 ? a->low : 0;
  halo_integer node = {.kind = kind, .of = a, .value = by};
  if (kind == HALO_INTEGER_DIV) {
    node.low = low / by;
    node.high = a->high / by;
  } else {
    node.low = 0;
    node.high = a->high < by - 1 ? a->high : by - 1;
  }
  return integer_intern(pool, &node);
}

const halo_integer *halo_integer_div(halo_integers *pool, const halo_integer *a, int64_t by) {
  if (by <= 1) return a;
  if (a->high < by) return halo_integer_constant(pool, 0);
  int64_t whole;
  switch (a->kind) {
    case HALO_INTEGER_CONSTANT: return halo_integer_constant(pool, a->value / by);
    case HALO_INTEGER_DIV:
      if (__builtin_mul_overflow(a->value, by, &whole)) break;
      return halo_integer_div(pool, a->of, whole);
    case HALO_INTEGER_MOD:
      if (a->value % by != 0) break;
      return halo_integer_mod(pool, halo_integer_div(pool, a->of, by), a->value / by);
    case HALO_INTEGER_SUM: {
      const halo_integer *upper, *lower;
      int64_t g = integer_common(pool, a, by, &upper, &lower);
      if (g > 1) return halo_integer_div(pool, upper, by / g);
      integer_split(pool, a, by, &upper, &lower);
      if (lower == a || lower->low < 0) break;
      return halo_integer_add(pool, upper, halo_integer_div(pool, lower, by));
    }
    case HALO_INTEGER_VARIABLE: break;
  }
  return integer_quotient(pool, HALO_INTEGER_DIV, a, by);
}

const halo_integer *halo_integer_mod(halo_integers *pool, const halo_integer *a, int64_t by) {
  if (by <= 1) return halo_integer_constant(pool, 0);
  if (a->high < by && a->kind != HALO_INTEGER_CONSTANT) return a;
  switch (a->kind) {
    case HALO_INTEGER_CONSTANT: return halo_integer_constant(pool, a->value % by);
    case HALO_INTEGER_MOD:
      if (a->value % by != 0) break;
      return halo_integer_mod(pool, a->of, by);
    case HALO_INTEGER_SUM: {
      const halo_integer *upper, *lower;
      int64_t g = integer_common(pool, a, by, &upper, &lower);
      if (g > 1) {
        upper = halo_integer_mod(pool, upper, by / g);
        return integer_combine(pool, lower, upper, g, 0);
      }
      integer_split(pool, a, by, &upper, &lower);
      if (lower == a || lower->low < 0) break;
      return halo_integer_mod(pool, lower, by);
    }
    case HALO_INTEGER_VARIABLE:
    case HALO_INTEGER_DIV: break;
  }
  return integer_quotient(pool, HALO_INTEGER_MOD, a, by);
}
