/* SPDX-License-Identifier: Apache-2.0 */
/* unit/stablehlo_test.h: what the tests of StableHLO programs share: values that they compute, and refusals. */
#ifndef HALO_TESTS_STABLEHLO_TEST_H
#define HALO_TESTS_STABLEHLO_TEST_H

#include "base/memory.h"
#include "evaluator/evaluator.h"
#include "stablehlo/stablehlo.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define MAIN(args, results, body) "func.func @main(" args ") -> (" results ") {\n" body "}\n"

static inline halo_module *read_with(const char *text, const halo_specialisation *how) {
  halo_module *module;
  halo_status status = halo_module_read(text, strlen(text), "t", how, &module);
  ck_assert_msg(status == HALO_OK, "%s\n%s", halo_error_message(), text);
  return module;
}

static inline halo_module *read_text(const char *text) { return read_with(text, NULL); }

static inline halo_literal *value_of(const char *text, const halo_shape *shape) {
  halo_literal *literal;
  ck_assert_msg(halo_literal_from_text(text, shape, &literal) == HALO_OK, "%s",
                halo_error_message());
  return literal;
}

/* Checks the module's result for arguments, each as HLO text. */
static inline void check_result(const halo_module *module, const char *const *args,
                                const char *expected, const char *what) {
  int32_t count = module->entry->params.count;
  halo_literal *values[8], *result;
  for (int32_t i = 0; i < count; i++) {
    ck_assert_msg(args[i] != NULL, "%s: argument %d is missing", what, i);
    values[i] = value_of(args[i], module->entry_params[i]);
  }
  halo_status status = halo_evaluate(module->entry, values, count, &result);
  ck_assert_msg(status == HALO_OK, "%s: %s", what, halo_error_message());
  char *text;
  ck_assert_int_eq(halo_literal_to_text(result, &text), HALO_OK);
  ck_assert_msg(strcmp(text, expected) == 0, "%s: %s, not %s", what, text, expected);
  halo_text_release(text);
  halo_literal_release(result);
  for (int32_t i = 0; i < count; i++) halo_literal_release(values[i]);
}

typedef struct value_case {
  const char *name, *text, *args[4], *expected;
} value_case;

static inline void check_case(const value_case *c) {
  halo_module *module = read_text(c->text);
  check_result(module, c->args, c->expected, c->name);
  halo_module_release(module);
}

/* Reads a program that must be refused, for this reason. */
static inline void refuse(const char *text, const halo_specialisation *how, halo_status status,
                          const char *part) {
  halo_module *module = NULL;
  halo_status got = halo_module_read(text, strlen(text), "t", how, &module);
  ck_assert_msg(got == status, "%d instead of %d (%s):\n%s", got, status,
                got ? halo_error_message() : "accepted", text);
  ck_assert_ptr_null(module);
  ck_assert_msg(strstr(halo_error_message(), part) != NULL, "no '%s' in: %s", part,
                halo_error_message());
}

#endif
