/* SPDX-License-Identifier: Apache-2.0 */
/* base/worker.h: threads that go on with what must not keep its caller waiting. */
#ifndef HALO_BASE_WORKER_H
#define HALO_BASE_WORKER_H

#include <stdbool.h>

/* Starts a thread that nobody waits for. False: the system gives none. */
bool halo_thread_start(void *(*main)(void *data), void *data);

/* Runs work(data) on a thread of its own, soon and once. Work may wait for other work without holding
 * anybody up: there is a thread for each piece in progress, and idle ones are used again. Where the
 * system gives no thread, the work is done before this returns; so no lock may be held that it takes. */
void halo_worker_run(void (*work)(void *data), void *data);

#endif
