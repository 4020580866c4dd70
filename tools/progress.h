/* SPDX-License-Identifier: Apache-2.0 */
/* tools/progress.h: a line on the terminal while compiling or measuring takes long. */
#ifndef HALO_TOOLS_PROGRESS_H
#define HALO_TOOLS_PROGRESS_H

/* From now on, where stderr is a terminal, a line there says how far compiling has come while it takes more than three seconds:
 * until progress_stop, which takes the line away. */
void progress_start(void);
/* The same for a measurement: when it takes more than three seconds, the line says what is being measured, or how far
 * compiling for it has come. `format` gives the words after "measuring"; up to 79 bytes are shown. */
__attribute__((format(printf, 1, 2))) void progress_measure(const char *format, ...);
/* To be called before anything else is printed. A call without a start has no effect. */
void progress_stop(void);

#endif
