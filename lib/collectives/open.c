/* SPDX-License-Identifier: Apache-2.0 */
/* collectives/open.c: communicators by their names, that over TCP and those in libraries of their own. */
#include "base/config.h"
#include "base/status.h"
#include "os/library.h"
#include "tcp/tcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The folder of the library, or of the program that it is a part of. */
static void open_folder(char *out, size_t size) {
  void *const here = (void *)&halo_communicator_open;
  char *slash = halo_os_library_path(here, out, size) ? strrchr(out, '/') : NULL;
  if (slash) {
    slash[1] = '\0';
  } else {
    out[0] = '\0';
  }
}

static void *open_library(const char *name, char *trouble, size_t size) {
  static const char *const places[] = {"", "mpi/", "../mpi/", "../lib/mpi/", "../lib/"};
  char folder[4096], path[4608];
  open_folder(folder, sizeof folder);
  for (size_t i = 0; i < sizeof places / sizeof places[0] && folder[0]; i++) {
    snprintf(path, sizeof path, "%s%slibhalo-%s.so", folder, places[i], name);
    void *library = halo_os_library_open(path, HALO_OS_LIBRARY_NOW | HALO_OS_LIBRARY_GLOBAL);
    if (library) return library;
  }
  snprintf(path, sizeof path, "libhalo-%s.so", name);
  void *library = halo_os_library_open(path, HALO_OS_LIBRARY_NOW | HALO_OS_LIBRARY_GLOBAL);
  if (!library) snprintf(trouble, size, "%s", halo_os_library_error());
  return library;
}

static halo_status open_check(const char *name, const char *problem) {
  return problem ? halo_fail(HALO_FAILED_PRECONDITION, "%s: %s", name, problem) : HALO_OK;
}

halo_status halo_communicator_open(const char *name, halo_communicator **out) {
  char trouble[1024];
  if (!name || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_communicator_open: NULL argument");
  }
  *out = NULL;
  if (strcmp(name, "tcp") == 0) return open_check(name, tcp_make(out));
  void *library = open_library(name, trouble, sizeof trouble);
  if (!library) {
    return halo_fail(HALO_NOT_FOUND, "there is no libhalo-%s.so to load (%s)", name, trouble);
  }
  /* It stays loaded: MPI does not survive that it is taken away. */
  halo_communicator_make_fn *make =
      (halo_communicator_make_fn *)halo_os_library_symbol(library, "halo_communicator_make");
  if (!make) {
    return halo_fail(HALO_NOT_FOUND, "libhalo-%s.so has no halo_communicator_make", name);
  }
  return open_check(name, make(out));
}

halo_status halo_communicator_connect(const halo_tcp_options *options, halo_communicator **out) {
  if (!options || !out || !options->exchange) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_communicator_connect: NULL argument");
  }
  *out = NULL;
  if (options->process < 0 || options->process >= options->process_count) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "halo_communicator_connect: there is no process %d of %d", options->process,
                     options->process_count);
  }
  return open_check("tcp", tcp_connect(options, true, out));
}

bool halo_is_launched(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (getenv(names[i])) return true;
  }
  return false;
}

const char *halo_communicator_default(void) {
  const char *name = halo_config_text(HALO_CONFIG_COMMUNICATOR);
  const char *coordinator = halo_config_text(HALO_CONFIG_TCP_COORDINATOR);
  if (name && *name) return strcmp(name, "none") == 0 ? NULL : name;
  if (halo_is_launched()) return "mpi";
  return (coordinator && *coordinator) || halo_config_is_slurm_task() ? "tcp" : NULL;
}
