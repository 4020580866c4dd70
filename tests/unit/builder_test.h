/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/builder_test.h: what tests of the builder share. */
#ifndef HALO_TESTS_BUILDER_TEST_H
#define HALO_TESTS_BUILDER_TEST_H

#include "builder/build.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* An array parameter; `dims` may hold up to six extents. */
static inline halo_op param(halo_builder *b, int64_t number, halo_type type, int rank,
                            const int64_t *dims) {
  halo_shape *shape;
  ck_assert_int_eq(halo_shape_create_array(type, rank, dims, &shape), HALO_OK);
  halo_op op = halo_parameter(b, number, shape, NULL);
  halo_shape_release(shape);
  return op;
}
#define DIMS(...) ((int64_t[]){__VA_ARGS__})
#define COUNT(...) ((int)(sizeof DIMS(__VA_ARGS__) / sizeof(int64_t)))
#define LIST(...) COUNT(__VA_ARGS__), DIMS(__VA_ARGS__)

static inline void check_shape(halo_op op, const char *expect) {
  char text[256];
  const halo_shape *shape = halo_op_shape(op);
  ck_assert_msg(shape != NULL, "no shape, expected %s: %s", expect,
                op.builder ? halo_builder_message(op.builder) : halo_error_message());
  halo_shape_to_text(shape, false, text, sizeof text);
  ck_assert_str_eq(text, expect);
}

/* Builds, checks that the module verifies and survives its text, and drops everything. */
static inline void finish(halo_builder *b, halo_op root) {
  halo_module *module, *again;
  char *text;
  ck_assert_msg(halo_builder_build(b, root, &module) == HALO_OK, "%s", halo_error_message());
  ck_assert_int_eq(halo_module_verify(module), HALO_OK);
  ck_assert_ptr_null(halo_op_shape(root));
  halo_builder_release(b);
  ck_assert_int_eq(halo_module_to_text(module, 0, &text), HALO_OK);
  ck_assert_msg(halo_module_parse(text, strlen(text), "built", &again) == HALO_OK, "%s\n%s",
                halo_error_message(), text);
  halo_text_release(text);
  halo_module_release(again);
  halo_module_release(module);
}

/* The build fails with this message fragment, and nothing leaks. */
static inline void fails(halo_builder *b, halo_op root, const char *expect) {
  halo_module *module = (halo_module *)b;
  ck_assert_int_ne(halo_builder_build(b, root, &module), HALO_OK);
  ck_assert_ptr_null(module);
  ck_assert_msg(strstr(halo_error_message(), expect) != NULL, "says '%s', not '%s'",
                halo_error_message(), expect);
  halo_builder_release(b);
}

/* A call was refused, and so is what is built of its operand afterwards. */
static inline void refused(halo_builder *b, halo_op x, halo_op result, const char *expect) {
  ck_assert_int_lt(result.id, 0);
  fails(b, x, expect);
}

#endif
