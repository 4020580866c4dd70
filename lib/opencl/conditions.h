/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/conditions.h: a kernel's text without the branches of `#if` that its own definitions rule out. */
#ifndef HALO_OPENCL_CONDITIONS_H
#define HALO_OPENCL_CONDITIONS_H

#include "base/strbuf.h"

/* Appends the lines of `source` but those under conditions (#if, #ifdef, #ifndef, #elif, #else) that are false, and
 * the directives of conditions that are decided. Decided are conditions over whole numbers and names beginning with
 * `H_` or `h_`, which the text alone defines: one that it defines nowhere is not defined. Where a condition names
 * something else, or what it comes to is not understood, all of its branches stay, with its directives. Macros are not
 * replaced. `source` has no comments and is well-formed; if it is not, the outcome means nothing. Any thread. */
void halo_conditions_resolve(halo_strbuf *out, const char *source);

#endif
