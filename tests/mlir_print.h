/* SPDX-License-Identifier: Apache-2.0 */
/* tests/mlir_print.h: StableHLO programs as the readers made them, for the tests of both readers and their fuzzers. */
#ifndef HALO_TESTS_MLIR_PRINT_H
#define HALO_TESTS_MLIR_PRINT_H

#include "stablehlo/mlir.h"

enum { MLIR_PRINT_LOCATIONS = 1 };

/* Appends the program as MLIR text in generic form, attributes by name. Equal programs have equal text, whichever
 * reader made them: attributes that say their default are left out, and lists of integers have one form. Of
 * constants of more than 4 KiB there is a hash. */
void mlir_print(halo_strbuf *out, const halo_mlir_program *program, unsigned flags);

/* mlir_print_attr.c: the name of an attribute, in quotes where it must have them; and one, whose name tells what its keywords
 * belong to. */
void mlir_print_name(halo_strbuf *out, const char *name);
void mlir_print_attr(halo_strbuf *out, const char *name, const halo_mlir_attr *attr);

/* Functions of the module by name, without the `@`; NULL when there is none. Takes time in proportion to their number. */
halo_mlir_op *mlir_function(const halo_mlir_program *program, const char *name);

#endif
