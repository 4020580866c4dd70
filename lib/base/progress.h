/* SPDX-License-Identifier: Apache-2.0 */
/* base/progress.h: how far the compilations that go on in this process have come, for programs that show it to people.
 * All of it may be called from any thread. */
#ifndef HALO_BASE_PROGRESS_H
#define HALO_BASE_PROGRESS_H

#include <stdbool.h>

typedef struct halo_progress {
  bool active;       /* something is being compiled */
  bool kept;         /* what was compiled is kept on disk */
  double seconds;    /* since nothing was compiled */
  int kernels, done; /* of the compilations since then: kernels, and those of them that can run */
} halo_progress;

/* Around each compilation. They may be nested, and go on side by side: their numbers add up. */
void halo_progress_begin(void);
void halo_progress_end(void);
/* Within: so many more kernels are needed; `kept`: they are kept on disk for the next process. */
void halo_progress_expect(int kernels, bool kept);
/* So many of these can run. */
void halo_progress_done(int kernels);

halo_progress halo_progress_get(void);

#endif
