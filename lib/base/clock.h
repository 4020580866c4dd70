/* SPDX-License-Identifier: Apache-2.0 */
/* base/clock.h: time that passes, for differences. */
#ifndef HALO_BASE_CLOCK_H
#define HALO_BASE_CLOCK_H

/* Seconds since some moment; never goes back. */
double halo_clock(void);

#endif
