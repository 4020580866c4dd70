/* SPDX-License-Identifier: Apache-2.0 */
/* halo/client.h: devices, compilation, buffers and execution. */
#ifndef HALO_CLIENT_H
#define HALO_CLIENT_H

#include "halo/annotations.h"
#include "halo/communicator.h"
#include "halo/literal.h"
#include "halo/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A client holds one or several OpenCL devices, their memory and the program cache. Objects of this
 * header may be used from several threads at once unless said otherwise. Each object keeps what it
 * needs alive, so objects may be released in any order.
 *
 * OpenCL drivers do not survive a fork. In a process that was forked after its parent had created a
 * client or a list of devices, calls that need the device return HALO_FAILED_PRECONDITION. */
typedef struct halo_client halo_client;
typedef struct halo_device halo_device;         /* belongs to its client */
typedef struct halo_executable halo_executable; /* a compiled module; reference-counted */
typedef struct halo_buffer halo_buffer;         /* one array in device memory; reference-counted */
typedef struct halo_event halo_event; /* something that happens later; reference-counted */
typedef struct halo_view halo_view;   /* a buffer's bytes as the host sees them */

/* ---- Client and devices ---- */

/* How to create a client. Zero-initialise unused fields. */
typedef struct halo_client_options {
  /* Which devices: NULL or "" for the default ($HALO_DEVICE if set, otherwise the first GPU, otherwise
   * the first device of any kind); "gpu" or "cpu"; "PLATFORM:DEVICE" with the numbers that `halo info`
   * lists; a part of a device's or platform's name; or "null:FILE", a device that runs nothing.
   * Several selectors, separated by commas, become the client's devices 0, 1, .... "X*2" is X twice,
   * with separate queues and memory; "X/2" is two halves of X (not all devices can be divided).
   * "all" is every usable device; "all-gpus" is all GPUs of one platform, the one whose GPUs have the
   * most memory. */
  const char *device;
  /* If neither `device` nor $HALO_DEVICE names a device, and the process is alone: use "all-gpus" if
   * there is a GPU. */
  bool all_gpus;
  /* Limit of device memory per device, in bytes; 0: all of it. */
  uint64_t memory_limit;
  /* The folder of compiled programs: NULL for $HALO_CACHE_DIR, $XDG_CACHE_HOME/halo or ~/.cache/halo;
   * "" for no disk cache. PoCL has its own cache, in $HALO_CACHE_DIR or $POCL_CACHE_DIR. A folder named
   * here is filled in addition, which makes PoCL compile all kernels again after their first run. */
  const char *cache_dir;
  bool profile; /* time each step with device events (halo_executable_profile) */
  /* The processes whose devices the client's programs may use, including this one; NULL: this one only.
   * Borrowed until the client is released. All processes create their clients together. If `device`
   * names only a kind, the processes of one machine take its devices of that kind in turn. */
  halo_communicator *communicator;
  /* How many seconds programs on several devices wait for a device that does not arrive; 0:
   * $HALO_COLLECTIVE_TIMEOUT, or 60. */
  double collective_timeout;
} halo_client_options;

/* Creates a client; the caller releases it with halo_client_release. `options` may be NULL for
 * the defaults and is read during the call only. Returns HALO_NO_DEVICE, with a message that
 * says what to install, if there is no OpenCL device, and HALO_NOT_FOUND if no device matches
 * the selector. */
HALO_API HALO_MUST_USE halo_status halo_client_create(const halo_client_options *options,
                                                      halo_client **out);
/* Releases the client; NULL is allowed. Buffers and executables that still exist keep it alive. */
HALO_API void halo_client_release(halo_client *client);
/* The number of this client's devices, at least 1. */
HALO_API int halo_client_device_count(const halo_client *client);
/* The device with this index, from 0 to halo_client_device_count - 1. Owned by the client. */
HALO_API halo_device *halo_client_device(const halo_client *client, int index);

/* The index of this process in the communicator; 0 without one. */
HALO_API int halo_client_process_index(const halo_client *client);
/* The number of processes in the communicator; 1 without one. */
HALO_API int halo_client_process_count(const halo_client *client);
/* The number of devices of all processes; without a communicator, of this client. */
HALO_API int halo_client_global_device_count(const halo_client *client);
/* The device's global number: devices are numbered process by process. Without a communicator it is
 * the device's index. */
HALO_API int halo_device_id(const halo_device *device);

/* The properties of a device. */
typedef struct halo_device_info {
  const char *platform, *name, *vendor, *driver, *version; /* live as long as the client */
  const char *product; /* the name it is sold under, if the driver reports it, otherwise `name` */
  const char *kind;    /* "gpu", "cpu", "accelerator", "null" */
  uint64_t memory, max_allocation, local_memory; /* bytes */
  uint32_t compute_units, max_work_group;
  bool has_f64, has_f16, shares_host_memory;
} halo_device_info;
/* Fills in *out. Its strings live as long as the client. */
HALO_API void halo_device_get_info(const halo_device *device, halo_device_info *out);

/* Which device of the machine this is, or which one it is a part of. */
typedef struct halo_device_identity {
  int platform, device; /* "PLATFORM:DEVICE" selects it; -1: a null device */
  char address[64];     /* "PCI 0000:17:00.0", or "UUID ...", or "" if the driver reports neither */
} halo_device_identity;
/* Fills in *out. */
HALO_API void halo_device_get_identity(const halo_device *device, halo_device_identity *out);

/* The cl_device_id of a device, for programs that make OpenCL calls of their own beside the library; NULL for a null device. It is
 * valid as long as the client is. An ICD loader's functions take the identifier of the library's own processor device too (as
 * far as it has them: those that the library calls, and contexts without properties), though its platform is not in the
 * loader's list. Any thread. */
HALO_API void *halo_device_get_cl_device(const halo_device *device);

/* The costs of operations on a device. Compilation uses these costs to decide which values are worth
 * memory and a kernel of their own. They change results only as a different order of summation
 * does. */
typedef struct halo_device_costs {
  double launch;         /* seconds to start one more kernel */
  double bandwidth;      /* bytes per second of a kernel over some megabytes */
  double rate;           /* simple operations per second of the whole device */
  double item_rate;      /* simple operations per second of one work item */
  double item_bandwidth; /* bytes per second that one work item moves */
  bool measured;         /* stored by halo_device_store_costs; otherwise defaults */
} halo_device_costs;
/* Fills in *out with the measured costs, or with the defaults for the device's kind. */
HALO_API void halo_device_get_costs(const halo_device *device, halo_device_costs *out);
/* Stores measured costs in the client's cache folder, as halo_device_store_tuning does. (`halo bench costs --store` measures and calls
 * this function.) All five costs must be positive. Returns HALO_FAILED_PRECONDITION without a cache
 * folder, and HALO_IO_ERROR if writing fails. Must not run while another thread compiles. */
HALO_API HALO_MUST_USE halo_status halo_device_store_costs(halo_device *device,
                                                           const halo_device_costs *costs);

/* One of the prices that compilation weighs against each other: a row of the library's table
 * (docs/performance.md, "Prices"). The texts are constants. */
typedef struct halo_device_price {
  const char *name;    /* "launch": also its name in the file of stored prices */
  const char *meaning; /* "starting one more kernel" */
  const char *unit;    /* "s", "bytes", "bytes/s", "operations", "operations/s", "launches", ... */
  const char *origin;  /* of the default: "halo bench costs", "timed", "unmeasured" */
  const char *date;    /* of the default: "2026-11-22" */
  double value;        /* on this device */
  double standard;     /* the default for devices of this kind */
  bool stored;         /* the value was stored for this device */
} halo_device_price;
/* Fills in *out with price number `index` of a device, from 0 on. Returns false, and leaves *out as it
 * is, if there is no such price. */
HALO_API bool halo_device_get_price(const halo_device *device, int index, halo_device_price *out);

/* A parameter of the kernels of one implementation, such as the size of a block: a row of the library's table. Texts and values are
 * constants. */
typedef struct halo_device_parameter {
  const char *name;           /* "sort_merge_group": also its name in the file of what is stored */
  const char *implementation; /* whose kernels it changes: "sort:merge", as in HALO_KERNELS */
  const char *meaning;
  const int32_t *values; /* that it may have, ascending */
  int value_count;
  int32_t value;    /* on this device */
  int32_t standard; /* the default for devices of this kind */
  bool stored;      /* the value is not the default's, but this device's own */
} halo_device_parameter;
/* Fills in *out with parameter number `index`, from 0 on. Returns false, and leaves *out as it is, if there is no such
 * parameter. */
HALO_API bool halo_device_get_parameter(const halo_device *device, int index,
                                        halo_device_parameter *out);

/* Which prices and parameters of a device are its own. `halo tune` and `halo bench costs --store` measure them, and
 * $HALO_TUNING may set others. With other ones sums may be made in another order, and results differ in their last bits. */
typedef struct halo_device_tuning {
  char hash[17];     /* stands for them; "" where all are defaults */
  char path[512];    /* the file in which they are stored; "" without a cache folder */
  char refused[160]; /* why that file is not used, such as another version of the driver; or "" */
} halo_device_tuning;
/* Fills in *out. */
HALO_API void halo_device_get_tuning(const halo_device *device, halo_device_tuning *out);
/* Compilations of this client use `values` from now on, over those that are stored, and instead of $HALO_TUNING: "name = number", a
 * line each or with commas between. NULL: the stored ones and that variable again. HALO_INVALID_ARGUMENT, which changes
 * nothing, for unknown names and for values that a price or a parameter cannot have. Must not run while another thread compiles. */
HALO_API HALO_MUST_USE halo_status halo_device_use_tuning(halo_device *device, const char *values);
/* Stores values of the same form in the client's cache folder, beside those that are stored, for the versions of
 * the driver and of the library that run now. All clients of this device that are created from now on in that folder use them, and this one at
 * once. NULL: removes the file. Errors as halo_device_store_costs, and HALO_INVALID_ARGUMENT as above. Must not run while another
 * thread compiles. */
HALO_API HALO_MUST_USE halo_status halo_device_store_tuning(halo_device *device,
                                                            const char *values);

/* A device of this machine, whether or not a client has opened it. */
typedef struct halo_device_entry {
  int platform, device;     /* "PLATFORM:DEVICE" selects it */
  bool usable;              /* the library can use it */
  bool chosen;              /* the selector, or an element of its list, matches it */
  int uses;                 /* how many devices of a client it becomes: 3 for "0:0*3" or "0:0/3" */
  halo_device_info info;    /* this and `capabilities` live as long as the list */
  const char *capabilities; /* all its properties, as "null:FILE" reads them */
  /* The findings of the library's own tests of the driver (docs/gpu.md), in words; NULL: nothing is kept of them, or the device
   * needs none. */
  const char *probes;
} halo_device_entry;
/* Lists all OpenCL devices without opening any. `selector` has the form of
 * halo_client_options.device, may be a list, and may be NULL. Devices "null:FILE" come first; if
 * the selector names only such devices, they are the whole list. The caller releases *out with
 * halo_device_list_release. Returns HALO_NO_DEVICE as halo_client_create does, and HALO_INVALID_ARGUMENT
 * where the environment has a misspelt variable (HALO_DEVCIE). It is not an error
 * if no device matches the selector: then no entry is `chosen`. */
HALO_API HALO_MUST_USE halo_status halo_device_list(const char *selector, halo_device_entry **out,
                                                    int *count);
/* Releases a list made by halo_device_list; NULL is allowed. */
HALO_API void halo_device_list_release(halo_device_entry *list);

/* The default folder of compiled programs, which need not exist yet. *out is NULL if there is none;
 * otherwise the caller frees it with halo_text_release. */
HALO_API HALO_MUST_USE halo_status halo_cache_directory(char **out);

/* A client's use of a device's memory, in bytes unless said otherwise. */
typedef struct halo_memory_stats {
  uint64_t live;   /* bytes in buffers and running programs */
  uint64_t cached; /* bytes kept for reuse */
  uint64_t peak;   /* most live bytes since the client was created */
  uint64_t limit;
  uint64_t allocations; /* requests so far */
  uint64_t reused;      /* those served from the cache */
  uint64_t largest;     /* the largest request */
  uint64_t peak_held;   /* most live and cached bytes at once */
} halo_memory_stats;
/* Fills in *out. */
HALO_API void halo_device_memory_stats(halo_device *device, halo_memory_stats *out);
/* Restarts the counts of peak use, largest request and number of requests. */
HALO_API void halo_device_reset_memory_stats(halo_device *device);
/* Returns cached device memory to the driver. */
HALO_API void halo_device_trim_memory(halo_device *device);

/* ---- Compiling ---- */

/* How to compile a module. Zero-initialise unused fields. */
typedef struct halo_compile_options {
  bool no_fusion;       /* each instruction in its own kernel; for tests and debugging */
  bool no_optimization; /* only the passes that execution requires */
  const char *kernels;  /* as $HALO_KERNELS ("dot:clblast,-reduce:row"); NULL: that variable */
  const char *dump_dir; /* module, passes, OpenCL C and plan as text; NULL: $HALO_DUMP_TO */
  /* Where the program runs: partition p of replica r on the device with the id (halo_device_id)
   * devices[r * partition_count + p]; NULL: on 0, 1, 2, .... Counts of 0 are taken from the module
   * (replica_count, num_partitions; 1 if it has none). */
  const int *devices;
  int replica_count, partition_count;
  /* For programs that the library partitions (docs/partitioning.md): whether an array without a sharding
   * in the module may be distributed freely, for each parameter and each result (elements of its tuple),
   * or for all (a count of 1). Count 0: what the module's header says; by default no, so that each
   * partition has the whole array. */
  const bool *free_arguments, *free_results;
  int free_argument_count, free_result_count;
  /* A reduction by a computation that is not known to be associative combines its elements one after the other, however
   * long that takes. By default such computations are taken as associative, as in XLA. $HALO_STRICT_ORDER has the same
   * effect. */
  bool strict_order;
} halo_compile_options;

/* Compiles a module for the client's first device, or for those of options->devices. The module is
 * not changed. `options` may be NULL. The caller releases *out with halo_executable_release. An
 * instruction that cannot run gives HALO_UNIMPLEMENTED; the message names the instruction and its
 * line.
 *
 * If options->devices names devices of other processes, those processes must compile the same
 * module for the same devices, and wait for each other. A process may compile several such modules
 * in as many threads, in any order; within one thread the order must be that of the other
 * processes. If processes wait for each other with different modules for longer than the client's
 * time limit for collectives, one fails with HALO_FAILED_PRECONDITION and the others with that or
 * HALO_ABORTED. A process that has none of the devices gets an executable without devices; it waits
 * for nobody and need not run the executable. */
HALO_API HALO_MUST_USE halo_status halo_client_compile(halo_client *client,
                                                       const halo_module *module,
                                                       const halo_compile_options *options,
                                                       halo_executable **out);

/* The progress of the compilations that are in flight in this process, of all clients together. */
typedef struct halo_compile_progress {
  bool active;          /* a program is being compiled, or the runtime compiles kernels of a run */
  bool kept;            /* the results are kept on disk for the next time */
  double seconds;       /* since they began; 0 if none is active */
  int kernels;          /* kernels that they need, as far as is known */
  int compiled_kernels; /* of these, compiled or found in a cache */
} halo_compile_progress;
/* Fills in *out. The library prints none of it: programs may ask as often as they like. Does not
 * wait; any thread. */
HALO_API void halo_get_compile_progress(halo_compile_progress *out);

/* Adds a reference. */
HALO_API void halo_executable_retain(halo_executable *executable);
/* Drops one reference; NULL is allowed. Runs that are in flight finish. */
HALO_API void halo_executable_release(halo_executable *executable);

/* Sets the seed of the program's own random operations (rng, rng-get-and-update-state). Their
 * values are determined by the seed, initially 0, and by the number of runs started since it was
 * set. Setting it, even to the same value, restarts the sequence for runs that start later. Any
 * thread. */
HALO_API void halo_executable_set_seed(halo_executable *executable, uint64_t seed);

/* Serialises the compiled program: the module after the passes, and what it was compiled for. *data
 * is freed with halo_text_release; *size is in bytes. Kernels are not included; they are found in
 * the caches or built. Loading the bytes skips the passes. Returns HALO_UNIMPLEMENTED for programs
 * compiled for devices of several kinds. */
HALO_API HALO_MUST_USE halo_status halo_executable_serialize(halo_executable *executable,
                                                             char **data, size_t *size);
/* Loads a serialised program. This version of the library must have written it, for a device of the
 * same kind (HALO_FAILED_PRECONDITION otherwise). `devices` has one device id for each part that
 * the program was compiled for; NULL means 0, 1, .... Returns HALO_INVALID_ARGUMENT for damaged
 * bytes. The bytes are checked for damage, not for malice. */
HALO_API HALO_MUST_USE halo_status halo_client_deserialize(halo_client *client, const void *data,
                                                           size_t size, const int *devices,
                                                           halo_executable **out);
/* 32 hexadecimal digits that identify the module after the passes, the choice of kernels, the kind
 * of device and the library's version. Owned by the executable. */
HALO_API const char *halo_executable_fingerprint(halo_executable *executable);

/* The number of arguments. Arguments and results are flat lists of arrays: a tuple counts once for
 * each of its leaves, in order, and tokens are left out. */
HALO_API int halo_executable_argument_count(const halo_executable *executable);
/* The shape of an argument; NULL if the index is out of range. Owned by the executable. */
HALO_API const halo_shape *halo_executable_argument_shape(const halo_executable *executable,
                                                          int index);
/* The number of results, counted like arguments. */
HALO_API int halo_executable_result_count(const halo_executable *executable);
/* The shape of a result; NULL if the index is out of range. Owned by the executable. */
HALO_API const halo_shape *halo_executable_result_shape(const halo_executable *executable,
                                                        int index);

/* The memory that a compiled program takes, as far as is known without running it, in bytes on each device. A
 * loop of unknown trip count counts as one round; of a conditional, the most expensive branch
 * counts. */
typedef struct halo_executable_costs {
  int64_t arguments, results;
  int64_t aliased;     /* the part of `results` that reuses donated arguments */
  int64_t temporaries; /* while it runs */
  int64_t constants;
  int64_t code;          /* the kernels' text */
  double flops, traffic; /* floating-point operations, and bytes read and written */
} halo_executable_costs;
/* Fills in *out. */
HALO_API void halo_executable_get_costs(const halo_executable *executable,
                                        halo_executable_costs *out);

/* How an argument is distributed, for programs that the library partitioned (docs/partitioning.md).
 * The arguments and results of such a program are the pieces of one partition; halo_sharding_piece,
 * with the partition's number as the device, says which part of the whole array that is. NULL for
 * other programs, and if the index is out of range. Owned by the executable. */
HALO_API const halo_sharding *halo_executable_argument_sharding(const halo_executable *executable,
                                                                int index);
/* How a result is distributed; otherwise as halo_executable_argument_sharding. */
HALO_API const halo_sharding *halo_executable_result_sharding(const halo_executable *executable,
                                                              int index);
/* The shape of the whole argument, of which each partition has a piece; for programs that were not
 * partitioned, that of the argument. NULL if the index is out of range. Owned by the executable. */
HALO_API const halo_shape *halo_executable_whole_argument_shape(const halo_executable *executable,
                                                                int index);
/* The shape of the whole result; otherwise as halo_executable_whole_argument_shape. */
HALO_API const halo_shape *halo_executable_whole_result_shape(const halo_executable *executable,
                                                              int index);

/* The number of this client's devices that the program was compiled for. */
HALO_API int halo_executable_device_count(const halo_executable *executable);
/* One of these devices, in the order of halo_compile_options.devices; NULL if the index is out of
 * range. Owned by the client. */
HALO_API halo_device *halo_executable_device(const halo_executable *executable, int index);
/* Which replica and which partition runs on the device with this index. */
HALO_API void halo_executable_part(const halo_executable *executable, int index, int *replica,
                                   int *partition);

/* Reports about a compiled program. */
typedef enum halo_report {
  HALO_REPORT_EXPLAIN,  /* each step's implementation, and why others were not chosen */
  HALO_REPORT_PLAN,     /* the steps and their buffers */
  HALO_REPORT_SOURCE,   /* the generated OpenCL C */
  HALO_REPORT_MODULE,   /* the module after all passes */
  HALO_REPORT_PARTITION /* the module of one partition, before other passes; for programs of one
                            partition and deserialised ones as HALO_REPORT_MODULE */
} halo_report;
/* A report as text. Owned by the executable. */
HALO_API const char *halo_executable_report(halo_executable *executable, halo_report report);

/* One step of a profile. */
typedef struct halo_profile_row {
  const char *name; /* the step; lives as long as the executable */
  const char *kind; /* "kernel", "copy", "library", ... */
  uint64_t runs;
  double seconds; /* device time over all runs */
  int64_t bytes;  /* least number of bytes that one run reads and writes, or 0 */
  int64_t flops;  /* floating-point operations of one run, or 0 */
} halo_profile_row;
/* Waits for the first device, then returns one row for each step, in order. Needs
 * halo_client_options.profile. The array is owned by the executable and valid until the next
 * call. */
HALO_API HALO_MUST_USE halo_status halo_executable_profile(halo_executable *executable,
                                                           const halo_profile_row **rows,
                                                           int *count);

/* How long the host worked for a program. Some of that time overlaps with work of the device, and
 * some does not. */
typedef struct halo_profile_host {
  const char *work; /* "launches", "waits", "memory", "calls", "exchanges" */
  uint64_t count;
  double seconds; /* over all runs */
} halo_profile_host;
/* The number of rows of a host profile. */
enum { HALO_PROFILE_HOST_ROWS = 5 };
/* Fills in a row for each kind of work, over all runs that are fully queued. "launches": putting
 * commands on the queue. "waits": waiting for values that decide how loops, branches and calls
 * continue. "memory": allocating and freeing. "calls": custom calls on the host, infeed and
 * outfeed. "exchanges": exchanges with other devices, which may overlap with everything else. */
HALO_API HALO_MUST_USE halo_status halo_executable_profile_host(
    halo_executable *executable, halo_profile_host out[HALO_PROFILE_HOST_ROWS]);

/* ---- Buffers ---- */

/* Copies dense row-major host data (halo_type_size bytes per element) to the client's first device,
 * in the shape's layout. Returns after the copy, so that `data` may be reused. The caller releases
 * *out. */
HALO_API HALO_MUST_USE halo_status halo_buffer_from_host(halo_client *client, const void *data,
                                                         const halo_shape *shape,
                                                         halo_buffer **out);
/* As halo_buffer_from_host, without waiting for the copy. `data` must stay unchanged until *done
 * has happened, or, if `done` is NULL, the buffer's ready event. */
HALO_API HALO_MUST_USE halo_status halo_buffer_from_host_async(halo_client *client,
                                                               const void *data,
                                                               const halo_shape *shape,
                                                               halo_buffer **out,
                                                               halo_event **done);
/* A buffer on the client's first device with the value of an array literal, which may be released
 * afterwards. */
HALO_API HALO_MUST_USE halo_status halo_buffer_from_literal(halo_client *client,
                                                            const halo_literal *literal,
                                                            halo_buffer **out);
/* The general form, for any device. byte_strides[d] is the distance in bytes between neighbouring
 * elements along dimension d. `data` is the address of element 0,0,..., so strides may be negative
 * or zero; NULL means dense and row-major. With `done` NULL the call waits for the copy; otherwise
 * `data` must stay unchanged until *done has happened. */
HALO_API HALO_MUST_USE halo_status halo_buffer_put(halo_device *device, const void *data,
                                                   const int64_t *byte_strides,
                                                   const halo_shape *shape, halo_buffer **out,
                                                   halo_event **done);
/* As halo_buffer_put for dense row-major data that stays unchanged until *done (not NULL) has
 * happened. If the device can use host memory (a CPU; arrays that are not small and start at a
 * multiple of 64 bytes), nothing is copied, and *done happens when the buffer and all that share
 * its memory have been released and nothing reads it any more. Otherwise *done is the event of the
 * copy. A program to which the buffer is donated does not write to it, and a program that returns
 * it returns a copy. */
HALO_API HALO_MUST_USE halo_status halo_buffer_lend(halo_device *device, const void *data,
                                                    const halo_shape *shape, halo_buffer **out,
                                                    halo_event **done);
/* As halo_buffer_put, for a shape with dynamic dimensions; waits for the copy. `sizes` [rank] has
 * the extents of the data: at most the bound for dynamic dimensions, and the full extent for
 * others. (The other calls fill all dimensions to their bounds.) Returns HALO_INVALID_ARGUMENT for
 * sizes that do not fit. */
HALO_API HALO_MUST_USE halo_status halo_buffer_put_sized(halo_device *device, const void *data,
                                                         const int64_t *byte_strides,
                                                         const halo_shape *shape,
                                                         const int64_t *sizes, halo_buffer **out);
/* A buffer whose value the host provides later, once, with halo_buffer_fulfil,
 * halo_buffer_fulfil_with or halo_buffer_fail. Runs that take it wait until then, without delaying
 * other runs. If it is released before that, whatever depends on it fails. */
HALO_API HALO_MUST_USE halo_status halo_buffer_promise(halo_device *device, const halo_shape *shape,
                                                       halo_buffer **out);
/* Provides the value of a promised buffer, with data and strides as for halo_buffer_put; waits for
 * the copy. Returns HALO_FAILED_PRECONDITION the second time. */
HALO_API HALO_MUST_USE halo_status halo_buffer_fulfil(halo_buffer *buffer, const void *data,
                                                      const int64_t *byte_strides);
/* Makes a promised buffer fail with this status and message. Returns HALO_FAILED_PRECONDITION the
 * second time. */
HALO_API HALO_MUST_USE halo_status halo_buffer_fail(halo_buffer *buffer, halo_status status,
                                                    const char *message);
/* Provides the value of another buffer of the same shape on the same device, which need not be
 * ready yet. Both buffers then share their memory, or their failure. Returns HALO_INVALID_ARGUMENT
 * for another shape or device. */
HALO_API HALO_MUST_USE halo_status halo_buffer_fulfil_with(halo_buffer *buffer, halo_buffer *from);
/* A new buffer with the same memory and another static shape of the same number of bytes
 * (HALO_INVALID_ARGUMENT otherwise), read in that shape's layout. */
HALO_API HALO_MUST_USE halo_status halo_buffer_bitcast(halo_buffer *buffer, const halo_shape *shape,
                                                       halo_buffer **out);
/* A new buffer with the same value on a device of the same client, possibly the same device. Does
 * not wait. */
HALO_API HALO_MUST_USE halo_status halo_buffer_copy_to_device(halo_buffer *buffer,
                                                              halo_device *device,
                                                              halo_buffer **out);
/* Adds a reference. */
HALO_API void halo_buffer_retain(halo_buffer *buffer);
/* Drops one reference; NULL is allowed. */
HALO_API void halo_buffer_release(halo_buffer *buffer);
/* The buffer's shape. Owned by the buffer. */
HALO_API const halo_shape *halo_buffer_shape(const halo_buffer *buffer);
/* The device that holds the buffer. Owned by the client. */
HALO_API halo_device *halo_buffer_device(const halo_buffer *buffer);
/* The number of elements along each dimension, into `sizes` [rank]. For dynamic dimensions this is
 * the size at run time, for which the call waits; for others it is the extent. */
HALO_API HALO_MUST_USE halo_status halo_buffer_sizes(halo_buffer *buffer, int64_t *sizes);
/* Whether the buffer's memory was donated to a program, so that it has no value any more. */
HALO_API bool halo_buffer_is_donated(halo_buffer *buffer);
/* Waits for the buffer and copies it to `data` as dense row-major elements. `size` must be its size
 * in bytes. Returns HALO_FAILED_PRECONDITION for a donated buffer.
 *
 * Along dynamic dimensions, here and in the calls below, as many elements are copied as there are
 * (halo_buffer_sizes); `size` may then be larger than needed. */
HALO_API HALO_MUST_USE halo_status halo_buffer_to_host(halo_buffer *buffer, void *data,
                                                       size_t size);
/* As halo_buffer_to_host, without waiting: `data` is complete when *done has happened. It must have
 * room for the bounds of dynamic dimensions. */
HALO_API HALO_MUST_USE halo_status halo_buffer_to_host_async(halo_buffer *buffer, void *data,
                                                             size_t size, halo_event **done);
/* Waits for the buffer and returns its value as a literal, which the caller releases. */
HALO_API HALO_MUST_USE halo_status halo_buffer_to_literal(halo_buffer *buffer, halo_literal **out);
/* The general form. Strides are as for halo_buffer_put, but no two elements may share a place. With
 * `done` NULL the call waits; otherwise `data` is complete when *done has happened. */
HALO_API HALO_MUST_USE halo_status halo_buffer_get(halo_buffer *buffer, void *data,
                                                   const int64_t *byte_strides, halo_event **done);
/* Waits for the buffer and returns the address of its bytes, in its shape's layout, without
 * copying. Only for devices that share the host's memory (halo_device_info.shares_host_memory);
 * HALO_UNIMPLEMENTED for others. The bytes may be read until the view is released, even if the
 * buffer is released or donated before that; a program to which it is donated then uses other
 * memory. Returns HALO_FAILED_PRECONDITION for a donated buffer. */
HALO_API HALO_MUST_USE halo_status halo_buffer_view(halo_buffer *buffer, const void **data,
                                                    halo_view **out);
/* Releases a view. */
HALO_API void halo_view_release(halo_view *view);
/* An event that happens when the buffer's value is ready, or its computation failed. The caller
 * releases it. Returns HALO_FAILED_PRECONDITION for a donated buffer. */
HALO_API HALO_MUST_USE halo_status halo_buffer_ready_event(halo_buffer *buffer, halo_event **out);

/* ---- Events ---- */

/* Waits for the event. Returns the failure of what it stands for, each time it is called. */
HALO_API HALO_MUST_USE halo_status halo_event_wait(halo_event *event);
/* Whether the event has happened or failed; does not wait. */
HALO_API bool halo_event_is_ready(halo_event *event);
/* Adds a reference. */
HALO_API void halo_event_retain(halo_event *event);
/* Drops one reference; NULL is allowed. */
HALO_API void halo_event_release(halo_event *event);
/* Receives the status of an event. `message` is "" without a failure and valid until the callback
 * returns. */
typedef void (*halo_event_callback)(halo_status status, const char *message, void *data);
/* Calls `call` once, when the event has happened or failed: during this call if that is already so,
 * otherwise from another thread. No lock of the library is held then, so the callback may call any
 * function and may wait. Several callbacks may be registered, and the event may be released before
 * they run. */
HALO_API HALO_MUST_USE halo_status halo_event_on_ready(halo_event *event, halo_event_callback call,
                                                       void *data);

/* An event that the host makes happen, once, with halo_promise_set or halo_promise_fail; later
 * calls are ignored. Releasing its last reference before that counts as a failure. Runs can wait
 * for it (halo_execute_options.after). */
HALO_API HALO_MUST_USE halo_status halo_promise_create(halo_client *client, halo_event **out);
/* Makes the event happen. */
HALO_API HALO_MUST_USE halo_status halo_promise_set(halo_event *promise);
/* Makes the event fail with this status and message. */
HALO_API HALO_MUST_USE halo_status halo_promise_fail(halo_event *promise, halo_status status,
                                                     const char *message);

/* ---- Running ---- */

/* How to run a program. Zero-initialise unused fields. */
typedef struct halo_execute_options {
  /* Donated arguments, by flat index: the program may reuse their memory. NULL: none. Their buffers are
   * unusable afterwards (HALO_FAILED_PRECONDITION), also if the run fails, unless it failed before any
   * of its work was queued. Only the caller decides what is donated. The module (input_output_alias,
   * buffer_donor) decides which result reuses which donated argument: first the pairs that it names,
   * then arguments that it offers, then others of the right size. */
  const int *donated;
  int donated_count;
  /* Events that the run waits for before it begins; if one fails, so does the run. */
  halo_event *const *after;
  int after_count;
  /* Functions of channels (halo/channels.h) for this run only, which take precedence over those of the
   * device: a list for each device of the executable, and the lists' lengths. The lists are copied; each
   * `user` must live until the run is over. NULL: none. */
  const struct halo_channel *const *channels;
  const int *channel_counts;
  /* NULL, or room for one event per device of the executable, also for programs without results. Each
   * happens when that device's part of the run is over or failed. Not written if the call fails. */
  halo_event **done;
  /* Passed to functions of custom calls (halo_custom_frame.context); must live until the run is over. */
  void *context;
} halo_execute_options;

/* Queues one run and returns without waiting for it. Loops and branches that depend on values
 * continue in another thread.
 *
 * `arguments` are borrowed for the call. Their shapes must equal those of the program, layouts
 * included, and so must their devices. `results` receives halo_executable_result_count new buffers,
 * which the caller releases; each has its own ready event. `options` may be NULL.
 *
 * A failure that is detected during the call is returned, and there are no results. A later
 * failure, or one that an argument carries, is reported by the results' events and by whatever uses
 * these results; it affects nothing else. */
HALO_API HALO_MUST_USE halo_status halo_executable_execute(halo_executable *executable,
                                                           halo_buffer *const *arguments,
                                                           int argument_count,
                                                           const halo_execute_options *options,
                                                           halo_buffer **results);
/* The same for programs compiled for several devices. arguments[d] and results[d] are the lists of
 * the executable's device d (of this client); `options` apply to each device. If devices of other
 * processes take part, all processes must start runs of a program in the same order; executables
 * compiled from one module for the same devices count as one program.
 *
 * If one device's part fails, the devices that exchange anything with it fail too, with
 * HALO_ABORTED and its message. If a device does not arrive within the time limit, the others fail
 * with HALO_DEADLINE_EXCEEDED. Later runs are not affected. */
HALO_API HALO_MUST_USE halo_status halo_executable_execute_all(halo_executable *executable,
                                                               halo_buffer *const *const *arguments,
                                                               int argument_count,
                                                               const halo_execute_options *options,
                                                               halo_buffer **const *results);
/* Copies literals to the device (one for each parameter, tuples as tuples), runs, waits, and copies
 * the result back; the caller releases *result. Along a dynamic dimension an argument may have
 * fewer elements than the bound; the result has as many as there are. */
HALO_API HALO_MUST_USE halo_status halo_executable_run(halo_executable *executable,
                                                       halo_literal *const *arguments,
                                                       int argument_count, halo_literal **result);

#ifdef __cplusplus
}
#endif
#endif
