/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/print.h: attributes of MLIR programs (mlir.h) as text. */
#ifndef HALO_STABLEHLO_PRINT_H
#define HALO_STABLEHLO_PRINT_H

#include "stablehlo/mlir.h"

/* The name of an attribute, in quotes where it must have them. */
void halo_mlir_print_name(halo_strbuf *out, const char *name);
/* An attribute; its name tells what its keywords belong to. */
void halo_mlir_print_attr(halo_strbuf *out, const char *name, const halo_mlir_attr *attr);

#endif
