/* kernels/families.h: loop.c's general implementation, which other families have as their last. */
#ifndef HALO_KERNELS_FAMILIES_H
#define HALO_KERNELS_FAMILIES_H

#include "kernels/kernels.h"

/* Results of at least this many bytes are written past a CPU's caches: whoever reads them next will
 * not find them there anyway, and a plain store would first read the line it overwrites. */
enum { HALO_STREAM_BYTES = 8 << 20 };

/* Always. */
bool halo_loop_supports(const halo_lowering *l, const char **why);
/* Seconds, by the elements of the result. */
double halo_loop_cost(const halo_lowering *l);
halo_status halo_loop_lower(halo_lowering *l);

/* turn.c: loop:turn. */
bool halo_turn_supports(const halo_lowering *l, const char **why);
double halo_turn_cost(const halo_lowering *l);
halo_status halo_turn_lower(halo_lowering *l);

/* scan.c: window:scan. */
bool halo_scan_supports(const halo_lowering *l, const char **why);
double halo_scan_cost(const halo_lowering *l);
halo_status halo_scan_lower(halo_lowering *l);

#endif
