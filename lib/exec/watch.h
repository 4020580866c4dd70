/* SPDX-License-Identifier: Apache-2.0 */
/* exec/watch.h: launches that may take longer than a device is to be kept from others (halo_cl_device.longest). Estimates may be too
 * low by a factor of 50, so what could be too long by that is measured when it is launched first: in parts, each of which
 * is waited for. Once the whole is known to be short enough, it is launched as all others are. */
#ifndef HALO_EXEC_WATCH_H
#define HALO_EXEC_WATCH_H

#include "exec/run.h"

/* Whether the step is a launch that may take too long by its estimate, and can be cut into parts. Always false where nothing
 * limits launches. */
bool halo_watch_may_cut(const halo_program *program, const halo_step *step);
/* Work groups that a part of the launch should have, at least 1; `all` that it has, or more, where that is known to be
 * short enough. */
double halo_watch_groups(halo_program *program, const halo_step *step, double all);
/* So many groups of the launch took so many seconds. */
void halo_watch_note(halo_program *program, const halo_step *step, double groups, double seconds);

/* Nanoseconds, by the estimates in its text, after which a region is to leave; 0: as the plan says. */
int64_t halo_watch_budget(halo_program *program, const halo_step *launch);
/* A launch of a region with this budget took so many seconds at most. is_spent: it left since its budget was spent; one that ended, or
 * asked the host for something, may have had less to do. is_exact: it took no less than that. A budget grows by launches that
 * spent it, and shrinks by exact times. */
void halo_watch_note_region(halo_program *program, const halo_step *launch, double seconds,
                            bool is_spent, bool is_exact);

/* Whether a loop without questions, by its estimate, may queue more than the device should have at a time. */
bool halo_watch_is_long(const halo_program *program, const halo_step *loop);
/* Asks the host at steps between which more may be queued than the device should have at a time. To be called once
 * it is known which steps ask the host by themselves. */
void halo_watch_survey(halo_program *program);

#endif
