/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/print.h: elements of constants as MLIR text. */
#ifndef HALO_STABLEHLO_PRINT_H
#define HALO_STABLEHLO_PRINT_H

#include "base/strbuf.h"
#include "shape/literal.h"

/* A number of a float type, whose `bits` tell what is not finite. */
void halo_mlir_print_float(halo_strbuf *out, double value, halo_type type, const uint8_t *bits);
/* Element i of an array. */
void halo_mlir_print_element(halo_strbuf *out, halo_literal *literal, int64_t i);
/* Whether an array has elements, all with the same bits. */
bool halo_mlir_is_splat(halo_literal *literal);
/* The text between "dense<" and ">": one element where it is a splat, else all, row by row. */
void halo_mlir_print_elements(halo_strbuf *out, halo_literal *literal);

#endif
