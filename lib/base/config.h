/* SPDX-License-Identifier: Apache-2.0 */
/* base/config.h: every environment variable the library reads; nothing else calls getenv.
 *
 *   HALO_DEVICE          which device: see halo_client_options.device in halo/client.h
 *   HALO_CACHE_DIR       folder of compiled programs; empty: no disk cache; unset:
 *                        $XDG_CACHE_HOME/halo, else $HOME/.cache/halo. PoCL has a cache of its own, in
 *                        a folder in the one that is named here if it is not told another
 *   HALO_MEMORY_LIMIT    device memory a client may hold: bytes, or with a suffix K, M or G (powers
 *                        of 1024); unset or 0: what the device has
 *   HALO_SEPARATE_MEMORY 1: the host does not use the memory of devices in its place, though it could
 *   HALO_CPU             the library's own processor device, "Halocline", chosen before PoCL's; unset: where clang is, or PoCL
 *                        with a libLLVM; on: or fail; off: without it; "clang" or "pocl": on, and compiles by that; "haswell" or
 *                        "x86-64": on, and makes code for a lesser processor
 *   HALO_DENORMALS       "keep" or "flush" subnormal numbers; unset: CPUs flush, others keep what they can
 *   HALO_TREAT_AS        "gpu" or "cpu": choose kernels as for such a device, whatever it is
 *   HALO_PROBES          off: what drivers state is not checked by small kernels
 *   HALO_TIME_COMMANDS queues of GPUs record when kernels run, for profilers; those of CPUs always do
 *   HALO_KERNELS         implementations to force or to skip: "dot:clblast,-reduce:row"
 *   HALO_TUNING          prices and parameters of kernels over those that are stored: "sort_merge_group=64,launch=1e-5"
 *   HALO_NO_FUSION       1: every instruction its own kernel
 *   HALO_STRICT_ORDER    1: reductions by bodies that may not be associative combine elements in order
 *   HALO_WIDE_INDICES    1: kernels count in 64 bits however small their arrays are
 *   HALO_REGION_TIME     microseconds that a kernel of many steps may take, as estimated, until it leaves
 *                        the device to others for a moment; unset: 50000, or where HALO_LAUNCH_TIME limits launches, as on GPUs,
 *                        2000 at first, and then what the limit allows
 *   HALO_LAUNCH_TIME     microseconds that a launch should take at most, as measured; 0: as long as it likes; unset: 100000 on
 *                        GPUs, 0 elsewhere
 *   HALO_COLLECTIVE_TIMEOUT  seconds until a device that others wait for is given up; unset: 60
 *   HALO_SYNCHRONOUS     1: what a run needs of the host is done in the caller's thread
 *   HALO_WAIT_EACH       1: each kernel is waited for, so that a failure names it
 *   HALO_DISABLE_PASSES  names of optional passes to leave out, separated by commas
 *   HALO_COMMUNICATOR    what connects processes: "mpi", "tcp", or another in a library of its own; "none": nothing;
 *                        unset: MPI where mpiexec started them, TCP where Slurm did or there is a coordinator
 *   HALO_TCP_ADDRESS     the address, or the interface, at which others reach this process
 *   HALO_TCP_COORDINATOR HOST:PORT where the first process waits for the others, where no framework joins them
 *   HALO_TCP_PROCESS, HALO_TCP_PROCESSES  which of how many processes this is; unset: as the launcher says
 *   HALO_TCP_SECRET      a text by which processes know each other at the coordinator
 *   HALO_TCP_INSECURE    1: without such a text, others than this machine's may take part
 *   HALO_VERIFY          0: do not verify the module after each pass
 *   HALO_DUMP_TO         folder for the module, each pass, OpenCL C and the plan as text
 *   HALO_LOG             "info" or "debug": write what is done, with times (base/log.h)
 *   HALO_LOG_FILE        the file that this is appended to; unset: stderr
 *
 * Options of API calls win over variables. */
#ifndef HALO_BASE_CONFIG_H
#define HALO_BASE_CONFIG_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum halo_config {
  HALO_CONFIG_DEVICE,
  HALO_CONFIG_CACHE_DIR,
  HALO_CONFIG_MEMORY_LIMIT,
  HALO_CONFIG_SEPARATE_MEMORY,
  HALO_CONFIG_CPU,
  HALO_CONFIG_DENORMALS,
  HALO_CONFIG_TREAT_AS,
  HALO_CONFIG_PROBES,
  HALO_CONFIG_TIME_COMMANDS,
  HALO_CONFIG_KERNELS,
  HALO_CONFIG_TUNING,
  HALO_CONFIG_NO_FUSION,
  HALO_CONFIG_STRICT_ORDER,
  HALO_CONFIG_WIDE_INDICES,
  HALO_CONFIG_REGION_TIME,
  HALO_CONFIG_LAUNCH_TIME,
  HALO_CONFIG_COLLECTIVE_TIMEOUT,
  HALO_CONFIG_SYNCHRONOUS,
  HALO_CONFIG_WAIT_EACH,
  HALO_CONFIG_DISABLE_PASSES,
  HALO_CONFIG_COMMUNICATOR,
  HALO_CONFIG_TCP_ADDRESS,
  HALO_CONFIG_TCP_COORDINATOR,
  HALO_CONFIG_TCP_PROCESS,
  HALO_CONFIG_TCP_PROCESSES,
  HALO_CONFIG_TCP_SECRET,
  HALO_CONFIG_TCP_INSECURE,
  HALO_CONFIG_VERIFY,
  HALO_CONFIG_DUMP_TO,
  HALO_CONFIG_LOG,
  HALO_CONFIG_LOG_FILE
} halo_config;
enum { HALO_CONFIG_COUNT = HALO_CONFIG_LOG_FILE + 1 };

/* The variable's name, such as "HALO_DEVICE". Static. */
const char *halo_config_name(halo_config key);
/* The variable's text, or NULL when it is unset. Owned by the environment: copy what must last. */
const char *halo_config_text(halo_config key);
/* HALO_INVALID_ARGUMENT, naming both, if the environment has a variable that no part of the project reads and that
 * is spelt nearly as one that some part does. */
halo_status halo_config_check_names(void);
/* Set to anything but "", "0", "no", "off" or "false". */
bool halo_config_flag(halo_config key);
/* Set to one of those. */
bool halo_config_refused(halo_config key);
/* A size with optional suffix; 0 when unset or empty. HALO_INVALID_ARGUMENT naming the variable for
 * anything else. */
halo_status halo_config_bytes(halo_config key, uint64_t *out);
/* A whole number; `otherwise` when unset or empty. HALO_INVALID_ARGUMENT naming the variable for anything
 * else. */
halo_status halo_config_number(halo_config key, uint64_t otherwise, uint64_t *out);
/* The folder of compiled programs by the rule above, or NULL for none. Free with halo_free. */
char *halo_config_cache_dir(void);
/* Which of how many processes this is, by $HALO_TCP_PROCESS and $HALO_TCP_PROCESSES, else as the launcher says (Open MPI,
 * PMI, Slurm). False where neither does, or what they say cannot be. */
bool halo_config_process(int *process, int *count);
/* Whether Slurm started this as one of several tasks. */
bool halo_config_is_slurm_task(void);
/* HOST:PORT where process 0 waits for the others: $HALO_TCP_COORDINATOR; else, for tasks of a step of Slurm's, the first of
 * the step's machines, or "localhost" where it has one, with a port that the numbers of job and step decide. NULL: it is
 * not known. Free with halo_free. */
char *halo_config_coordinator(void);
/* The folder in which PoCL keeps what it compiled, or NULL for none. Free with halo_free. */
char *halo_config_pocl_cache_dir(void);
/* The drivers that PoCL is told to offer, or NULL where it offers all. Owned by the environment. */
const char *halo_config_pocl_devices(void);
/* $LD_LIBRARY_PATH, the folders in which libraries are looked for first, or NULL. */
const char *halo_config_library_path(void);
/* The folder, or the file, in which ICD loaders find the names of OpenCL's drivers: $OCL_ICD_VENDORS,
 * $OPENCL_VENDOR_PATH or the usual one. */
const char *halo_config_drivers_dir(void);
/* $OCL_ICD_FILENAMES, the drivers that ICD loaders open beside these, or NULL. */
const char *halo_config_more_drivers(void);
/* Tells PoCL, by $POCL_CACHE_DIR where that is not set, to keep its programs in a folder in $HALO_CACHE_DIR, unless that
 * can neither be written to nor be made (PoCL would offer no device), or is not to be trusted (base/folder.h). For the time before drivers are
 * opened: PoCL looks once. It changes the environment, which other threads of the process must not read meanwhile. */
void halo_config_share_cache_dir(void);

#endif
