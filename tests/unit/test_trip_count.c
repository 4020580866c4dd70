/* SPDX-License-Identifier: Apache-2.0 */
/* Trip counts of counted loops, and loops that are none. */
#include "base/strbuf.h"
#include "passes/loops/trip_count.h"
#include "passes/passes.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

typedef struct loop_case {
  const char *type, *init, *limit, *direction, *op, *step;
  bool limit_first; /* compare(limit, counter) */
  int64_t trips;    /* -1: refused */
} loop_case;

static const loop_case cases[] = {
    {"s32", "0", "10", "LT", "add", "1", false, 10},
    {"s32", "0", "10", "LT", "add", "3", false, 4},
    {"s32", "0", "10", "LE", "add", "1", false, 11},
    {"s32", "10", "10", "LT", "add", "1", false, 0},
    {"s32", "12", "10", "LT", "add", "1", false, 0},
    {"s32", "12", "10", "LT", "add", "-1", false, 0},
    {"s32", "0", "10", "NE", "add", "2", false, 5},
    {"s32", "0", "10", "NE", "add", "3", false, -1},
    {"s32", "0", "10", "NE", "add", "-1", false, -1},
    {"s32", "10", "10", "NE", "add", "0", false, 0},
    {"s32", "10", "0", "GT", "subtract", "1", false, 10},
    {"s32", "10", "0", "GE", "add", "-1", false, 11},
    {"s32", "10", "0", "GE", "subtract", "4", false, 3},
    {"s32", "10", "10", "EQ", "add", "1", false, 1},
    {"s32", "10", "11", "EQ", "add", "1", false, 0},
    {"s32", "10", "10", "EQ", "add", "0", false, -1},
    {"s32", "0", "10", "GT", "add", "1", true, 10},
    {"s32", "0", "10", "LT", "add", "1", true, 0},
    {"s32", "0", "10", "LT", "add", "0", false, -1},
    {"s32", "0", "10", "LT", "subtract", "1", false, -1},
    {"s32", "0", "2147483647", "LT", "add", "1", false, 2147483647},
    {"s32", "0", "2147483647", "LE", "add", "1", false, -1}, /* wraps, never ends */
    {"s32", "-2147483648", "2147483647", "LT", "add", "1", false, 4294967295},
    {"s32", "0", "2147483647", "LT", "add", "2", false, -1}, /* would step over the end */
    {"s8", "0", "127", "LT", "add", "1", false, 127},
    {"s8", "-128", "-100", "GT", "subtract", "1", false, 0},
    {"s8", "100", "-128", "GE", "subtract", "1", false, -1},
    {"u8", "0", "255", "LT", "add", "1", false, 255},
    {"u8", "0", "255", "LE", "add", "1", false, -1},
    {"u8", "10", "0", "GT", "add", "255", false, 10},
    {"u8", "10", "0", "GE", "add", "255", false, -1},
    {"u32", "5", "0", "NE", "subtract", "1", false, 5},
    {"u64", "0", "18446744073709551615", "LT", "add", "9223372036854775807", false, -1},
    {"u64", "18446744073709551610", "18446744073709551615", "LT", "add", "1", false, 5},
    {"u64", "0", "18446744073709551615", "LT", "add", "1", false, -1}, /* more than can be said */
    {"s64", "0", "9223372036854775807", "LT", "add", "1", false, INT64_MAX},
};

static halo_module *parse(const char *text) {
  halo_module *module = NULL;
  halo_status status = halo_module_parse(text, strlen(text), "loop", &module);
  ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
  return module;
}

static int64_t trips_of(const char *text) {
  halo_module *module = parse(text);
  const halo_instr *root = module->entry->root;
  if (root->opcode == HALO_OP_GET_TUPLE_ELEMENT) root = root->operands[0];
  ck_assert_int_eq(root->opcode, HALO_OP_WHILE);
  int64_t trips;
  if (!halo_while_trip_count(root, &trips)) trips = -1;
  halo_module_release(module);
  return trips;
}

static void check_case(const loop_case *c, bool tuple, bool limit_in_state) {
  halo_strbuf text = {0};
  const char *t = c->type;
  halo_strbuf_append(&text, "HloModule m\n");
  if (!tuple) {
    halo_strbuf_printf(&text,
                       "cond { i = %s[] parameter(0)  n = %s[] constant(%s)\n"
                       "  ROOT c = pred[] compare(%s), direction=%s }\n"
                       "body { i = %s[] parameter(0)  k = %s[] constant(%s)\n"
                       "  ROOT j = %s[] %s(i, k) }\n"
                       "ENTRY e { z = %s[] constant(%s)\n"
                       "  ROOT w = %s[] while(z), condition=cond, body=body }\n",
                       t, t, c->limit, c->limit_first ? "n, i" : "i, n", c->direction, t, t,
                       c->step, t, c->op, t, c->init, t);
  } else {
    halo_strbuf_printf(&text,
                       "cond { s = (f32[], %s[], %s[]) parameter(0)\n"
                       "  i = %s[] get-tuple-element(s), index=1\n",
                       t, t, t);
    halo_strbuf_printf(
        &text,
        limit_in_state ? "  n = %s[] get-tuple-element(s), index=2\n" : "  n = %s[] constant(%s)\n",
        t, c->limit);
    halo_strbuf_printf(&text, "  ROOT c = pred[] compare(%s), direction=%s }\n",
                       c->limit_first ? "n, i" : "i, n", c->direction);
    halo_strbuf_printf(&text,
                       "body { s = (f32[], %s[], %s[]) parameter(0)\n"
                       "  x = f32[] get-tuple-element(s), index=0\n"
                       "  i = %s[] get-tuple-element(s), index=1\n"
                       "  n = %s[] get-tuple-element(s), index=2\n"
                       "  k = %s[] constant(%s)\n"
                       "  j = %s[] %s(i, k)\n"
                       "  ROOT t = (f32[], %s[], %s[]) tuple(x, j, n) }\n",
                       t, t, t, t, t, c->step, t, c->op, t, t);
    halo_strbuf_printf(&text,
                       "ENTRY e { x = f32[] parameter(0)\n  z = %s[] constant(%s)\n"
                       "  n = %s[] constant(%s)\n"
                       "  t = (f32[], %s[], %s[]) tuple(x, z, n)\n"
                       "  ROOT w = (f32[], %s[], %s[]) while(t), condition=cond, body=body }\n",
                       t, c->init, t, c->limit, t, t, t, t);
  }
  int64_t trips = trips_of(halo_strbuf_text(&text));
  ck_assert_msg(trips == c->trips, "%s from %s while %s %s %s %s: %lld, expected %lld\n%s", t,
                c->init, c->direction, c->limit, c->op, c->step, (long long)trips,
                (long long)c->trips, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
}

START_TEST(counted_loops) {
  const loop_case *c = &cases[_i];
  check_case(c, false, false);
  check_case(c, true, false);
  check_case(c, true, true);
}
END_TEST

/* The limit is an argument: not known here. */
START_TEST(unknown_limits) {
  ck_assert_int_eq(
      trips_of(
          "HloModule m\n"
          "cond { s = (s32[], s32[]) parameter(0)\n"
          "  i = s32[] get-tuple-element(s), index=0  n = s32[] get-tuple-element(s), index=1\n"
          "  ROOT c = pred[] compare(i, n), direction=LT }\n"
          "body { s = (s32[], s32[]) parameter(0)\n"
          "  i = s32[] get-tuple-element(s), index=0  n = s32[] get-tuple-element(s), index=1\n"
          "  k = s32[] constant(1)  j = s32[] add(i, k)\n"
          "  ROOT t = (s32[], s32[]) tuple(j, n) }\n"
          "ENTRY e { n = s32[] parameter(0)  z = s32[] constant(0)\n"
          "  t = (s32[], s32[]) tuple(z, n)\n"
          "  ROOT w = (s32[], s32[]) while(t), condition=cond, body=body }\n"),
      -1);
}
END_TEST

/* The limit changes inside the loop. */
START_TEST(moving_limits) {
  ck_assert_int_eq(
      trips_of(
          "HloModule m\n"
          "cond { s = (s32[], s32[]) parameter(0)\n"
          "  i = s32[] get-tuple-element(s), index=0  n = s32[] get-tuple-element(s), index=1\n"
          "  ROOT c = pred[] compare(i, n), direction=LT }\n"
          "body { s = (s32[], s32[]) parameter(0)\n"
          "  i = s32[] get-tuple-element(s), index=0  n = s32[] get-tuple-element(s), index=1\n"
          "  k = s32[] constant(1)  j = s32[] add(i, k)  m = s32[] subtract(n, k)\n"
          "  ROOT t = (s32[], s32[]) tuple(j, m) }\n"
          "ENTRY e { n = s32[] constant(9)  z = s32[] constant(0)\n"
          "  t = (s32[], s32[]) tuple(z, n)\n"
          "  ROOT w = (s32[], s32[]) while(t), condition=cond, body=body }\n"),
      -1);
}
END_TEST

START_TEST(other_conditions) {
  ck_assert_int_eq(trips_of("HloModule m\n"
                            "cond { x = f32[] parameter(0)  n = f32[] constant(3)\n"
                            "  ROOT c = pred[] compare(x, n), direction=LT }\n"
                            "body { x = f32[] parameter(0)  k = f32[] constant(1)\n"
                            "  ROOT y = f32[] add(x, k) }\n"
                            "ENTRY e { z = f32[] constant(0)\n"
                            "  ROOT w = f32[] while(z), condition=cond, body=body }\n"),
                   -1);
  ck_assert_int_eq(trips_of("HloModule m\n"
                            "cond { x = s32[] parameter(0)  ROOT c = pred[] constant(true) }\n"
                            "body { x = s32[] parameter(0)  ROOT y = s32[] multiply(x, x) }\n"
                            "ENTRY e { z = s32[] constant(0)\n"
                            "  ROOT w = s32[] while(z), condition=cond, body=body }\n"),
                   -1);
  ck_assert_int_eq(trips_of("HloModule m\n"
                            "cond { x = s32[] parameter(0)  n = s32[] constant(100)\n"
                            "  ROOT c = pred[] compare(x, n), direction=LT }\n"
                            "body { x = s32[] parameter(0)  ROOT y = s32[] add(x, x) }\n"
                            "ENTRY e { z = s32[] constant(1)\n"
                            "  ROOT w = s32[] while(z), condition=cond, body=body }\n"),
                   -1);
}
END_TEST

/* The note is an attribute with a number, and only what the pass finds itself counts. */
START_TEST(notes) {
  static const struct {
    const char *note, *limit;
    int64_t trips;
  } rows[] = {{"", "constant(3)", 3},
              {", known_trip_count=7", "constant(3)", 3},
              {", known_trip_count=3", "constant(3)", 3},
              {", known_trip_count=7", "parameter(0)", -1},
              {"", "parameter(0)", -1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    halo_strbuf text = {0};
    halo_strbuf_printf(&text,
                       "HloModule m\n"
                       "cond { s = (s32[], s32[]) parameter(0)\n"
                       "  i = s32[] get-tuple-element(s), index=0\n"
                       "  n = s32[] get-tuple-element(s), index=1\n"
                       "  ROOT c = pred[] compare(i, n), direction=LT }\n"
                       "body { s = (s32[], s32[]) parameter(0)\n"
                       "  i = s32[] get-tuple-element(s), index=0\n"
                       "  n = s32[] get-tuple-element(s), index=1\n"
                       "  k = s32[] constant(1)\n  j = s32[] add(i, k)\n"
                       "  ROOT t = (s32[], s32[]) tuple(j, n) }\n"
                       "ENTRY e { n = s32[] %s\n  z = s32[] constant(0)\n"
                       "  t = (s32[], s32[]) tuple(z, n)\n"
                       "  ROOT w = (s32[], s32[]) while(t), condition=cond, body=body%s }\n",
                       rows[i].limit, rows[i].note);
    halo_module *module;
    char *printed;
    bool changed;
    ck_assert_msg(halo_module_parse(text.data, text.length, "t", &module) == HALO_OK, "%s",
                  halo_error_message());
    ck_assert_int_eq(halo_module_to_text(module, 0, &printed), HALO_OK);
    ck_assert_int_eq(strstr(printed, "known_trip_count=") != NULL, *rows[i].note != '\0');
    halo_text_release(printed);
    ck_assert_int_eq(halo_pass_trip_counts(module, &changed), HALO_OK);
    ck_assert_int_eq(halo_noted_trip_count(module->entry->root), rows[i].trips);
    ck_assert_int_eq(halo_module_to_text(module, 0, &printed), HALO_OK);
    ck_assert_int_eq(strstr(printed, "known_trip_count=3") != NULL, rows[i].trips == 3);
    ck_assert_ptr_null(strstr(printed, "known_trip_count=7"));
    halo_text_release(printed);
    halo_module_release(module);
    halo_strbuf_deinit(&text);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("trip_count");
  TCase *tcase = tcase_create("trip_count");
  tcase_add_loop_test(tcase, counted_loops, 0, (int)(sizeof cases / sizeof cases[0]));
  tcase_add_test(tcase, unknown_limits);
  tcase_add_test(tcase, moving_limits);
  tcase_add_test(tcase, other_conditions);
  tcase_add_test(tcase, notes);
  suite_add_tcase(suite, tcase);
  return suite_run(suite);
}
