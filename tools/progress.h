/* SPDX-License-Identifier: Apache-2.0 */
/* tools/progress.h: a line on the terminal while compiling takes long. */
#ifndef HALO_TOOLS_PROGRESS_H
#define HALO_TOOLS_PROGRESS_H

/* From now on, where stderr is a terminal, a line there says how far compiling has come while it takes more than three seconds:
 * until progress_stop, which takes the line away. */
void progress_start(void);
/* For the time before anything else is printed. Calls without a start are allowed. */
void progress_stop(void);

#endif
