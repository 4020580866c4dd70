/* SPDX-License-Identifier: Apache-2.0 */
/* custom/registry.c: named functions, and calling them. */
#include "base/memory.h"
#include "base/status.h"
#include "custom/custom.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static halo_custom_target
    *registry_targets; /* the newest first; they stay, as programs hold them */

const halo_custom_target *halo_custom_target_find(const char *name) {
  pthread_mutex_lock(&registry_lock);
  const halo_custom_target *target = registry_targets;
  while (target && strcmp(target->name, name) != 0) target = target->next;
  pthread_mutex_unlock(&registry_lock);
  return target ? target : halo_custom_lapack_find(name);
}

static halo_status registry_add(const char *function, const halo_custom_target *target) {
  if (!target->name || !*target->name || !(target->plain || target->host || target->device)) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s: a name and a function are needed", function);
  }
  halo_custom_target *copy = halo_alloc(sizeof *copy + strlen(target->name) + 1);
  *copy = *target;
  copy->name = strcpy((char *)(copy + 1), target->name);
  pthread_mutex_lock(&registry_lock);
  copy->next = registry_targets;
  registry_targets = copy;
  pthread_mutex_unlock(&registry_lock);
  return HALO_OK;
}

halo_status halo_custom_call_register_plain(const char *target, halo_custom_plain_fn *function) {
  return registry_add("halo_custom_call_register_plain",
                      &(halo_custom_target){.name = target, .plain = function});
}

halo_status halo_custom_call_register_host(const char *target, halo_custom_host_fn *function,
                                           void *user) {
  return registry_add("halo_custom_call_register_host",
                      &(halo_custom_target){.name = target, .host = function, .user = user});
}

halo_status halo_custom_call_register_stateful(const char *target, halo_custom_host_fn *function,
                                               halo_custom_open_fn *open,
                                               halo_custom_close_fn *close, void *user) {
  return registry_add(
      "halo_custom_call_register_stateful",
      &(halo_custom_target){
          .name = target, .host = function, .open = open, .close = close, .user = user});
}

halo_status halo_custom_call_register_device(const char *target, halo_custom_device_fn *function,
                                             void *user) {
  return registry_add("halo_custom_call_register_device",
                      &(halo_custom_target){.name = target, .device = function, .user = user});
}

bool halo_custom_is_solve(const char *name) {
  return strlen(name) == 16 && strncmp(name, "lapack_", 7) == 0 && strchr("sdcz", name[7]) &&
         strcmp(name + 8, "trsm_ffi") == 0;
}

bool halo_custom_call_find(const char *target) {
  return target && (halo_custom_target_find(target) || halo_custom_is_solve(target));
}

halo_status halo_custom_call_fail(halo_status status, const char *message) {
  return status == HALO_OK ? HALO_OK : halo_fail(status, "%s", message ? message : "");
}
