/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/queue_lock.h: a lock for queues whose driver does commands in the thread that queues them. PoCL's drivers of that
 * kind are not made for several threads: a wait in one thread returns while another still works on the command (PoCL 6.0
 * and 7.1), or both stand still (3.1). So the functions of halo_cl that do commands, or wait for them, hold this lock on
 * such queues; on all others they are the plain functions. */
#ifndef HALO_OPENCL_QUEUE_LOCK_H
#define HALO_OPENCL_QUEUE_LOCK_H

#include "opencl/api.h"

/* Locks, where the queue's device was given to halo_cl_queue_lock_device; a thread that holds the lock does not take it
 * again. Code that queues commands through another library puts these around the call. */
void halo_cl_queue_lock(cl_command_queue queue);
void halo_cl_queue_unlock(cl_command_queue queue);

/* Makes of a loader's functions the ones that take the lock. Called once, before any other function of this file. */
void halo_cl_queue_lock_wrap(const halo_cl_api *plain, halo_cl_api *out);

#endif
