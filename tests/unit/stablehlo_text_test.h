/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/stablehlo_text_test.h: what the tests of MLIR text share. */
#ifndef HALO_TESTS_STABLEHLO_TEXT_TEST_H
#define HALO_TESTS_STABLEHLO_TEXT_TEST_H

#include "halo/status.h"
#include "mlir_print.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a program that must be right. Release it. */
static inline halo_mlir_program *text_program(const char *text) {
  halo_mlir_program *program;
  halo_status status = halo_mlir_read_text(text, strlen(text), "t", &program);
  ck_assert_msg(status == HALO_OK, "%s\n%s", halo_error_message(), text);
  return program;
}

/* A function around one operation, whose operands are the arguments. Heap. */
static inline char *text_form_text(const char *op) {
  static const char head[] =
      "func.func @main(%f: tensor<4xf32>, %g: tensor<4xf32>, %s: tensor<f32>, %i: tensor<i32>, "
      "%p: tensor<4xi1>, %z: tensor<4xcomplex<f32>>, %k: tensor<4xi32>, %m: tensor<2x3xf32>, "
      "%n: tensor<3x4xf32>, %b: tensor<2x3x3xf32>, %image: tensor<1x8x8x4xf32>, "
      "%kernel: tensor<3x3x2x6xf32>, %w: tensor<7x1xi32>, %u: tensor<7x3xf32>, "
      "%s1: tensor<2xf32>, %pred: tensor<i1>, %shape: tensor<2xi64>, %state: tensor<2xui64>, "
      "%t: !stablehlo.token, %tuple: tuple<tensor<4xf32>, tensor<i32>>) {\n";
  size_t size = sizeof head + strlen(op) + 16;
  char *text = malloc(size);
  snprintf(text, size, "%s%s\nreturn\n}\n", head, op);
  return text;
}

/* What the operation in that function is read as. Heap. */
static inline char *text_form_printed(const halo_mlir_program *program) {
  halo_strbuf out = {0};
  mlir_print(&out, program, 0);
  const char *begin = strstr(halo_strbuf_text(&out), "):\n");
  const char *end = strstr(halo_strbuf_text(&out), "\n    \"func.return\"()");
  ck_assert(begin && end && end >= begin + 2);
  size_t length = end == begin + 2 ? 0 : (size_t)(end - begin - 3);
  char *text = calloc(1, length + 1);
  memcpy(text, begin + 3, length);
  halo_strbuf_deinit(&out);
  return text;
}

#endif
