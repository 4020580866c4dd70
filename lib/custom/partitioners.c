/* SPDX-License-Identifier: Apache-2.0 */
/* custom/partitioners.c: functions that partition custom calls, by the name of their target. */
#include "base/memory.h"
#include "base/status.h"
#include "custom/custom.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t partitioners_lock = PTHREAD_MUTEX_INITIALIZER;
static halo_custom_partitioner
    *partitioners; /* the newest first; they stay, as compiling threads hold them */

const halo_custom_partitioner *halo_custom_partitioner_find(const char *target) {
  pthread_mutex_lock(&partitioners_lock);
  const halo_custom_partitioner *found = partitioners;
  while (found && strcmp(found->target, target) != 0) found = found->next;
  pthread_mutex_unlock(&partitioners_lock);
  return found;
}

static halo_status partitioners_add(const char *target, halo_partition_fn *function, void *user) {
  halo_custom_partitioner *added = halo_alloc(sizeof *added + strlen(target) + 1);
  added->target = strcpy((char *)(added + 1), target);
  added->function = function;
  added->user = user;
  pthread_mutex_lock(&partitioners_lock);
  added->next = partitioners;
  partitioners = added;
  pthread_mutex_unlock(&partitioners_lock);
  return HALO_OK;
}

halo_status halo_partitioner_register(const char *target, halo_partition_fn *function, void *user) {
  if (!target || !*target || !function) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "halo_partitioner_register: a name and a function are needed");
  }
  return partitioners_add(target, function, user);
}

halo_status halo_partitioner_register_batched(const char *target) {
  if (!target || !*target) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_partitioner_register_batched: a name is needed");
  }
  return partitioners_add(target, NULL, NULL);
}
