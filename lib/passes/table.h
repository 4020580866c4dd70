/* passes/table.h: the passes that passes.h does not declare; contracts as there. */
#ifndef HALO_PASSES_TABLE_H
#define HALO_PASSES_TABLE_H

#include "passes/passes.h"

/* Identity ops (copy to the same layout, domain, add-dependency), tuple-select, index vectors, scalar
 * operands of select and clamp, and bitcasts become plain forms. */
halo_pass_fn halo_pass_canonicalize;
/* map of a scalar program becomes that program on arrays. */
halo_pass_fn halo_pass_inline_map;
/* opt-barrier has done its work: it goes. */
halo_pass_fn halo_pass_drop_barriers;
/* Packing and unpacking of tuples that cancel. */
halo_pass_fn halo_pass_tuples;
/* Elements of a loop's state that never change bypass the loop; unused ones go. */
halo_pass_fn halo_pass_while_state;
/* Exact algebraic rules (simplify.h). */
halo_pass_fn halo_pass_simplify;
/* What constants alone determine, when it is small. */
halo_pass_fn halo_pass_constant_folding;
/* Equal instructions, and equal reducers, become one. */
halo_pass_fn halo_pass_cse;

#endif
