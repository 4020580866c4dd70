/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_integer.c: index arithmetic: what is simplified, and that random expressions mean what
 * they meant before they were. */
#include "codegen/integer.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

typedef const halo_integer *node;

static halo_arena arena;
static halo_integers pool;

static void begin(void) {
  arena = (halo_arena){0};
  pool = (halo_integers){.arena = &arena};
}

static void end(void) {
  halo_integers_deinit(&pool);
  halo_arena_deinit(&arena);
}

static node constant(int64_t value) { return halo_integer_constant(&pool, value); }
static node variable(const char *name, int64_t size) {
  return halo_integer_variable(&pool, name, 0, size - 1);
}
static node add(node a, node b) { return halo_integer_add(&pool, a, b); }
static node sub(node a, node b) { return halo_integer_sub(&pool, a, b); }
static node mul(node a, int64_t by) { return halo_integer_mul(&pool, a, by); }
static node quotient(node a, int64_t by) { return halo_integer_div(&pool, a, by); }
static node rest(node a, int64_t by) { return halo_integer_mod(&pool, a, by); }

/* ---- Rules ---- */

START_TEST(sums) {
  node x = variable("x", 10), y = variable("y", 20);
  ck_assert_ptr_eq(add(x, y), add(y, x));
  ck_assert_ptr_eq(sub(add(x, y), y), x);
  ck_assert_ptr_eq(add(mul(x, 3), mul(x, -3)), constant(0));
  ck_assert_ptr_eq(mul(add(x, constant(2)), 4), add(constant(8), mul(x, 4)));
  ck_assert_ptr_eq(mul(x, 0), constant(0));
  ck_assert_ptr_eq(halo_integer_plus(&pool, sub(constant(9), x), -9), mul(x, -1));
  ck_assert_ptr_ne(x, halo_integer_variable(&pool, "x", 0, 8));
  ck_assert_ptr_eq(halo_integer_variable(&pool, "x", 5, 5), constant(5));
}
END_TEST

START_TEST(quotients) {
  node x = variable("x", 10), y = variable("y", 8), z = variable("z", 1000);
  node position = add(mul(x, 8), y);
  ck_assert_ptr_eq(quotient(position, 8), x);
  ck_assert_ptr_eq(rest(position, 8), y);
  ck_assert_ptr_eq(quotient(position, 16), quotient(x, 2));
  ck_assert_ptr_eq(rest(position, 16), add(mul(rest(x, 2), 8), y));
  ck_assert_ptr_eq(quotient(position, 4), add(mul(x, 2), quotient(y, 4)));
  ck_assert_ptr_eq(rest(position, 4), rest(y, 4));
  ck_assert_ptr_eq(quotient(quotient(z, 4), 5), quotient(z, 20));
  ck_assert_ptr_eq(rest(rest(z, 20), 5), rest(z, 5));
  ck_assert_ptr_eq(quotient(rest(z, 20), 5), rest(quotient(z, 5), 4));
  ck_assert_ptr_eq(quotient(z, 1000), constant(0));
  ck_assert_ptr_eq(rest(z, 1000), z);
  ck_assert_ptr_eq(quotient(halo_integer_plus(&pool, y, 16), 8), constant(2));
  ck_assert_ptr_eq(rest(halo_integer_plus(&pool, y, 16), 8), y);
  /* reversed within its block */
  ck_assert_ptr_eq(quotient(sub(halo_integer_plus(&pool, mul(x, 8), 7), y), 8), x);
  /* no block: 8 is within the reach of y + 1 */
  ck_assert_ptr_ne(quotient(halo_integer_plus(&pool, position, 1), 8), x);
}
END_TEST

START_TEST(digits) {
  node p = variable("p", 4 * 6 * 10);
  node a = quotient(p, 60), b = rest(quotient(p, 10), 6), c = rest(p, 10);
  ck_assert_ptr_eq(add(add(mul(a, 60), mul(b, 10)), c), p);
  ck_assert_ptr_eq(add(c, add(mul(b, 10), mul(a, 60))), p);
  ck_assert_ptr_eq(add(mul(a, 6), b), quotient(p, 10));
  ck_assert_ptr_eq(add(mul(b, 10), c), rest(p, 60));
  ck_assert_ptr_eq(mul(add(mul(b, 10), c), 7), mul(rest(p, 60), 7));
  /* not the digits of one number */
  node odd = add(mul(rest(quotient(p, 2), 3), 5), mul(rest(p, 2), 2));
  ck_assert(odd->kind == HALO_INTEGER_SUM && odd->count == 2);
  /* turned over, then taken apart along other lines */
  node turned = add(add(mul(c, 24), mul(b, 4)), a);
  ck_assert_ptr_eq(quotient(turned, 24), c);
  ck_assert_ptr_eq(rest(quotient(turned, 4), 6), b);
  ck_assert_ptr_eq(rest(turned, 4), a);
  ck_assert_ptr_eq(rest(turned, 24), add(mul(b, 4), a));
}
END_TEST

START_TEST(questions) {
  node x = variable("x", 10);
  int64_t value;
  ck_assert(halo_integer_is_constant(constant(-7), &value) && value == -7);
  ck_assert(!halo_integer_is_constant(x, &value));
  ck_assert(halo_integer_is_multiple(halo_integer_plus(&pool, mul(x, 6), 9), 3));
  ck_assert(!halo_integer_is_multiple(halo_integer_plus(&pool, mul(x, 6), 8), 3));
  ck_assert(!halo_integer_is_multiple(x, 2) && halo_integer_is_multiple(x, 1));
  ck_assert(halo_integer_is_within(sub(constant(9), x), 0, 9));
  ck_assert(!halo_integer_is_within(sub(constant(8), x), 0, 9));
}
END_TEST

/* ---- Random expressions ---- */

enum { VARIABLES = 4, SAMPLES = 24, NODES = 40, PROGRAMS = 1000 };

static uint32_t seed;
static int64_t number(int64_t below) {
  seed = seed * 1664525u + 1013904223u;
  return (int64_t)((seed >> 8) % (uint32_t)below);
}

/* An expression with its plain values at each sample. */
typedef struct plain {
  node node;
  int64_t values[SAMPLES];
} plain;

static const char *const names[VARIABLES] = {"a", "b", "c", "d"};

static int64_t evaluate(node a, const int64_t *variables) {
  int64_t sum = a->value;
  switch (a->kind) {
    case HALO_INTEGER_CONSTANT: return a->value;
    case HALO_INTEGER_VARIABLE: return variables[a->name[0] - 'a'];
    case HALO_INTEGER_SUM:
      for (int32_t i = 0; i < a->count; i++) {
        sum += a->terms[i].by * evaluate(a->terms[i].node, variables);
      }
      return sum;
    case HALO_INTEGER_DIV:
      ck_assert_int_ge(evaluate(a->of, variables), 0);
      return evaluate(a->of, variables) / a->value;
    case HALO_INTEGER_MOD:
      ck_assert_int_ge(evaluate(a->of, variables), 0);
      return evaluate(a->of, variables) % a->value;
  }
  return 0;
}

static bool plain_is_natural(const plain *a) {
  for (int s = 0; s < SAMPLES; s++) {
    if (a->values[s] < 0) return false;
  }
  return true;
}

/* One random operation on what there is. Numbers like 2, 3, 4, 6, 8, 12 meet often. */
static plain random_step(const plain *all, int count) {
  static const int64_t factors[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, -1, -3, -8};
  const plain *a = &all[number(count)], *b = &all[number(count)];
  int64_t by = factors[number(10)], any = factors[number(13)];
  int op = (int)number(7);
  if (op >= 4 && !plain_is_natural(a)) op = (int)number(4);
  plain result;
  switch (op) {
    case 0: result.node = add(a->node, b->node); break;
    case 1: result.node = sub(a->node, b->node); break;
    case 2: result.node = halo_integer_plus(&pool, a->node, any); break;
    case 3: result.node = mul(a->node, any); break;
    case 4: result.node = quotient(a->node, by); break;
    case 5: result.node = rest(a->node, by); break;
    default: result.node = add(mul(quotient(a->node, by), by), rest(a->node, by)); break;
  }
  for (int s = 0; s < SAMPLES; s++) {
    int64_t x = a->values[s], y = b->values[s];
    int64_t *value = &result.values[s];
    switch (op) {
      case 0: *value = x + y; break;
      case 1: *value = x - y; break;
      case 2: *value = x + any; break;
      case 3: *value = x * any; break;
      case 4: *value = x / by; break;
      case 5: *value = x % by; break;
      default: *value = x; break;
    }
  }
  return result;
}

START_TEST(random_expressions) {
  int64_t samples[SAMPLES][VARIABLES];
  plain all[NODES];
  seed = 12345;
  for (int program = 0; program < PROGRAMS; program++) {
    begin();
    for (int v = 0; v < VARIABLES; v++) {
      int64_t low = number(4) == 0 ? -number(9) : 0, size = 1 + number(30);
      all[v].node = halo_integer_variable(&pool, names[v], low, low + size - 1);
      for (int s = 0; s < SAMPLES; s++) {
        /* the ends are likely */
        int64_t at = s == 0 ? 0 : s == 1 ? size - 1 : number(size);
        samples[s][v] = all[v].values[s] = low + at;
      }
    }
    for (int i = VARIABLES; i < NODES; i++) {
      plain next = random_step(all, i);
      for (int s = 0; s < SAMPLES; s++) {
        if (next.values[s] > 1000000 || next.values[s] < -1000000) next = all[0];
      }
      all[i] = next;
      for (int s = 0; s < SAMPLES; s++) {
        int64_t got = evaluate(next.node, samples[s]);
        ck_assert_msg(got == next.values[s], "program %d, node %d: %lld instead of %lld", program,
                      i, (long long)got, (long long)next.values[s]);
        ck_assert_msg(got >= next.node->low && got <= next.node->high,
                      "program %d, node %d: %lld is not in [%lld, %lld]", program, i,
                      (long long)got, (long long)next.node->low, (long long)next.node->high);
      }
    }
    end();
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("integer");
  TCase *rules = tcase_create("rules");
  tcase_add_checked_fixture(rules, begin, end);
  tcase_add_test(rules, sums);
  tcase_add_test(rules, quotients);
  tcase_add_test(rules, digits);
  tcase_add_test(rules, questions);
  suite_add_tcase(suite, rules);
  TCase *random = tcase_create("random");
  tcase_set_timeout(random, 60);
  tcase_add_test(random, random_expressions);
  suite_add_tcase(suite, random);
  return suite_run(suite);
}
