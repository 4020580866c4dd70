/* halo/client.h: devices, compiling modules for them, buffers, and running. */
#ifndef HALO_CLIENT_H
#define HALO_CLIENT_H

#include "halo/annotations.h"
#include "halo/communicator.h"
#include "halo/literal.h"
#include "halo/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A client holds one or several OpenCL devices, their memory and the program cache. All objects
 * below may be used from several threads at once unless said otherwise; each keeps what it needs
 * alive, so they may be released in any order.
 *
 * OpenCL drivers do not survive a fork: in a process that was forked after its parent had made a client
 * or a list of devices, calls that need the device give HALO_FAILED_PRECONDITION. */
typedef struct halo_client halo_client;
typedef struct halo_device halo_device;         /* belongs to its client */
typedef struct halo_executable halo_executable; /* a compiled module; reference-counted */
typedef struct halo_buffer halo_buffer;         /* one array in device memory; reference-counted */
typedef struct halo_event halo_event;           /* something that will have happened; ditto */
typedef struct halo_view halo_view;             /* a buffer's bytes, seen by the host */

/* ---- Client and devices ---- */

/* How a client is made. Zero-initialise what is not used. */
typedef struct halo_client_options {
  /* Which devices: NULL or "" for the default (HALO_DEVICE if set, else the first GPU, else the
   * first device of any kind); "gpu", "cpu"; "PLATFORM:DEVICE" by number as `halo info` lists them;
   * or a part of a device's or platform's name; "null:FILE" for a device that runs nothing. Several,
   * separated by commas, become the client's devices 0, 1, ...; "X*2" is X twice, with queues and memory
   * of their own, and "X/2" two halves of X (not all devices can be divided). */
  const char *device;
  /* Device memory this client may hold on each device, in bytes; 0: what the device has. */
  uint64_t memory_limit;
  /* Where compiled programs are cached: NULL for $HALO_CACHE_DIR or $XDG_CACHE_HOME/halo or
   * ~/.cache/halo; "" for no disk cache. PoCL has a cache of its own ($HALO_CACHE_DIR says where, or
   * $POCL_CACHE_DIR); a folder that is named here is filled besides, for which PoCL compiles all kernels
   * once more when they have run for the first time. */
  const char *cache_dir;
  bool profile; /* time every step with device events (halo_executable_profile) */
  /* The processes whose devices this client's programs may run on, this one among them; NULL: this one
   * alone. Borrowed until the client is released. All make their clients together. Where `device` says no
   * more than a kind, the processes of one machine take its devices of this kind in turn. */
  halo_communicator *communicator;
  /* Seconds that programs on several devices wait for a device that does not come; 0:
   * $HALO_COLLECTIVE_TIMEOUT, or 60. */
  double collective_timeout;
} halo_client_options;

/* `options` may be NULL for the defaults. HALO_NO_DEVICE, with what to install, when there is no
 * OpenCL device; HALO_NOT_FOUND when none matches. */
HALO_API HALO_MUST_USE halo_status halo_client_create(const halo_client_options *options,
                                                      halo_client **out);
HALO_API void halo_client_release(halo_client *client);
HALO_API int halo_client_device_count(const halo_client *client);
HALO_API halo_device *halo_client_device(const halo_client *client, int index);

/* Where this process stands among those of the communicator, and how many devices they all have. Devices are
 * numbered through, process by process; halo_device_id is a device's number. Without a communicator these
 * are 0, 1, the device count, and the index. */
HALO_API int halo_client_process_index(const halo_client *client);
HALO_API int halo_client_process_count(const halo_client *client);
HALO_API int halo_client_global_device_count(const halo_client *client);
HALO_API int halo_device_id(const halo_device *device);

/* What a device is and has. */
typedef struct halo_device_info {
  const char *platform, *name, *vendor, *driver, *version; /* live as long as the client */
  const char *kind;                                        /* "gpu", "cpu", "accelerator", "null" */
  uint64_t memory, max_allocation, local_memory;           /* bytes */
  uint32_t compute_units, max_work_group;
  bool has_f64, has_f16, shares_host_memory;
} halo_device_info;
HALO_API void halo_device_get_info(const halo_device *device, halo_device_info *out);

/* Which device of the machine it is, or is a part of. */
typedef struct halo_device_identity {
  int platform, device; /* "PLATFORM:DEVICE" selects it; -1: a null device */
  char address[64];     /* "PCI 0000:17:00.0", or "UUID ...", or "" where the driver says neither */
} halo_device_identity;
HALO_API void halo_device_get_identity(const halo_device *device, halo_device_identity *out);

/* What things cost on a device. Compiling weighs with these which values are worth memory and a kernel of
 * their own; results do not change by more than what another order of sums changes. */
typedef struct halo_device_costs {
  double launch;    /* seconds that starting one more kernel takes */
  double bandwidth; /* bytes a second that a kernel of some megabytes moves */
  double rate;      /* simple operations a second of the whole device */
  double item_rate; /* of one work item */
  bool measured;    /* stored by halo_device_store_costs; else defaults of the device's kind */
} halo_device_costs;
HALO_API void halo_device_get_costs(const halo_device *device, halo_device_costs *out);
/* Keeps measured costs in the client's cache folder, for all clients of this device from now on that use
 * that folder, this one included (`halo bench costs --store` measures and calls this). All four must be
 * positive. HALO_FAILED_PRECONDITION without a cache folder, HALO_IO_ERROR. Not while another thread
 * compiles. */
HALO_API HALO_MUST_USE halo_status halo_device_store_costs(halo_device *device,
                                                           const halo_device_costs *costs);

/* A device of this machine, whether or not it is opened. */
typedef struct halo_device_entry {
  int platform, device;  /* "PLATFORM:DEVICE" selects it */
  bool usable;           /* it has what this library needs */
  bool chosen;           /* the selector means it, or one or more of its list do */
  int uses;              /* how many of a client's devices it becomes: 3 for "0:0*3" or "0:0/3" */
  halo_device_info info; /* this and the next live as long as the list */
  const char *capabilities; /* all that is known of it, in the form that "null:FILE" reads */
} halo_device_entry;
/* All OpenCL devices, without opening any. `selector` is as halo_client_options.device, a list too, and
 * may be NULL; devices "null:FILE" stand first, and alone when it names no others. *out is released with
 * halo_device_list_release. HALO_NO_DEVICE as for halo_client_create; that no device matches the
 * selector is no error (none is `chosen`). */
HALO_API HALO_MUST_USE halo_status halo_device_list(const char *selector, halo_device_entry **out,
                                                    int *count);
HALO_API void halo_device_list_release(halo_device_entry *list);

/* Asks PoCL for its driver that runs small programs in the thread that starts them; PoCL offers it only when it is asked.
 * When this process first looks for devices, $POCL_DEVICES becomes "pthread basic" (before PoCL 4.0) or "cpu cpu-minimal",
 * if PoCL has no drivers but these two and the variable is not set. The library writes that variable for no other reason.
 * `owns_process`: the caller is the program itself, and other users of OpenCL in the process do not matter. Without it,
 * as in plugins, PoCL 4.0 and newer are not asked. Any thread, before the first client. */
HALO_API void halo_prefer_caller_thread(bool owns_process);

/* The folder of compiled programs that clients use by default; *out is NULL when there is none, and
 * is freed with halo_text_release otherwise. It need not exist yet. */
HALO_API HALO_MUST_USE halo_status halo_cache_directory(char **out);

/* The use of a device's memory by one client. */
typedef struct halo_memory_stats {
  uint64_t live;   /* bytes in buffers and running programs */
  uint64_t cached; /* bytes kept for reuse */
  uint64_t peak;   /* most live bytes since the client was made */
  uint64_t limit;
  uint64_t allocations; /* requests so far */
  uint64_t reused;      /* of which served from the cache */
  uint64_t largest;     /* the most bytes of one request */
  uint64_t peak_held;   /* most live and cached bytes at once */
} halo_memory_stats;
HALO_API void halo_device_memory_stats(halo_device *device, halo_memory_stats *out);
/* Restarts the counts of the device's peak use, largest request and number of requests from now on. */
HALO_API void halo_device_reset_memory_stats(halo_device *device);
/* Gives cached device memory back to the driver. */
HALO_API void halo_device_trim_memory(halo_device *device);

/* ---- Compiling ---- */

/* How a module is compiled. Zero-initialise what is not used. */
typedef struct halo_compile_options {
  bool no_fusion;       /* every instruction its own kernel; for tests and for finding faults */
  bool no_optimization; /* only the passes that are needed to run at all */
  const char *kernels;  /* "dot:clblast,-reduce:row": as HALO_KERNELS; NULL: that variable */
  const char *dump_dir; /* module, passes, OpenCL C and plan as text; NULL: HALO_DUMP_TO */
  /* On which devices it runs: replica r's partition p on the device with the id (halo_device_id)
   * devices[r * partition_count + p]; NULL: 0, 1, 2, ... in that order. Counts of 0 are those of the
   * module (replica_count, num_partitions), which are 1 where it says nothing. */
  const int *devices;
  int replica_count, partition_count;
  /* Of programs that are partitioned here (docs/partitioning.md): whether an array of which the module says no
   * sharding may be spread as suits the program, for each parameter and each result (elements of its tuple), or
   * for all (a count of 1). Count 0: what the module's header says, else no: each partition has all of it. */
  const bool *free_arguments, *free_results;
  int free_argument_count, free_result_count;
} halo_compile_options;

/* Compiles a module for the client's first device, or those of options->devices. The module is not
 * changed. `options` may be NULL. With devices of other processes among them, the processes that have these must compile
 * the same module for the same devices, and wait for each other. A process may compile several such modules in as many
 * threads, in any order; in one thread the order is that of the others. When processes wait for each other with
 * different modules for the client's time limit of collectives, one fails with HALO_FAILED_PRECONDITION and the others
 * with that or HALO_ABORTED. A process without any part gets an executable with no devices, waits for nobody, and need
 * not run it.
 * An instruction that cannot run yet gives HALO_UNIMPLEMENTED naming it and its line. */
HALO_API HALO_MUST_USE halo_status halo_client_compile(halo_client *client,
                                                       const halo_module *module,
                                                       const halo_compile_options *options,
                                                       halo_executable **out);

/* How far the compilations that go on in this process have come, of all clients together. */
typedef struct halo_compile_progress {
  bool active;          /* a program is being compiled, or the runtime compiles kernels of a run */
  bool kept;            /* what is compiled is kept on disk for the next time */
  double seconds;       /* since they began; 0 when none is active */
  int kernels;          /* that they need, as far as is known so far */
  int compiled_kernels; /* of these, found ones too */
} halo_compile_progress;
/* The library prints nothing of this: programs ask as often as they like. Any thread; does not wait. */
HALO_API void halo_get_compile_progress(halo_compile_progress *out);

HALO_API void halo_executable_retain(halo_executable *executable);
HALO_API void halo_executable_release(halo_executable *executable);

/* The numbers that the program's own random operations (rng, rng-get-and-update-state) give are determined
 * by a seed, 0 at first, and by how many runs were started since it was set. They go on from run to run;
 * setting it, to the same number too, starts them anew for runs that are started later. Any thread. */
HALO_API void halo_executable_set_seed(halo_executable *executable, uint64_t seed);

/* The compiled program as bytes, to be freed with halo_text_release: the module after the passes, what it
 * was compiled for and with. Kernels are not in it; those are found in the caches or built. Loading it does
 * without the passes. HALO_UNIMPLEMENTED for programs that were compiled for devices of several kinds. */
HALO_API HALO_MUST_USE halo_status halo_executable_serialize(halo_executable *executable,
                                                             char **data, size_t *size);
/* An executable from such bytes, which this version must have written for a device of the same kind
 * (HALO_FAILED_PRECONDITION otherwise). `devices`: one for each part it was compiled for; NULL: 0, 1, ....
 * HALO_INVALID_ARGUMENT for bytes that are damaged. They are checked for damage, not for malice. */
HALO_API HALO_MUST_USE halo_status halo_client_deserialize(halo_client *client, const void *data,
                                                           size_t size, const int *devices,
                                                           halo_executable **out);
/* 32 hexadecimal digits that differ when the module after the passes, the choice of kernels, the kind of
 * device or the library's version does. Owned by the executable. */
HALO_API const char *halo_executable_fingerprint(halo_executable *executable);

/* Arguments and results are flat lists of arrays: a tuple parameter or result counts once for each
 * of its leaves, in order; tokens are left out. Shapes are owned by the executable; NULL for an index
 * that is out of range. */
HALO_API int halo_executable_argument_count(const halo_executable *executable);
HALO_API const halo_shape *halo_executable_argument_shape(const halo_executable *executable,
                                                          int index);
HALO_API int halo_executable_result_count(const halo_executable *executable);
HALO_API const halo_shape *halo_executable_result_shape(const halo_executable *executable,
                                                        int index);

/* What a compiled program takes, as far as is known without running it: bytes on each device, and work. Where
 * nobody knows how often a loop goes round, one round counts, and of a branch the longest. */
typedef struct halo_executable_costs {
  int64_t arguments, results;
  int64_t aliased;     /* of the results: what shares memory with arguments, if those are donated */
  int64_t temporaries; /* while it runs */
  int64_t constants;
  int64_t code;          /* of the kernels' text */
  double flops, traffic; /* floating-point operations, and bytes read and written */
} halo_executable_costs;
HALO_API void halo_executable_get_costs(const halo_executable *executable,
                                        halo_executable_costs *out);

/* Programs of several partitions that spoke of whole arrays (docs/partitioning.md): the arguments and results above
 * are then the pieces that each partition takes and gives, and these say how arrays are cut into them
 * (halo_sharding_piece, with the partition's number as device), and the shapes of the arrays, which for other
 * programs are those above. NULL for other programs' shardings, and for an index out of range. Owned by the
 * executable. */
HALO_API const halo_sharding *halo_executable_argument_sharding(const halo_executable *executable,
                                                                int index);
HALO_API const halo_sharding *halo_executable_result_sharding(const halo_executable *executable,
                                                              int index);
HALO_API const halo_shape *halo_executable_whole_argument_shape(const halo_executable *executable,
                                                                int index);
HALO_API const halo_shape *halo_executable_whole_result_shape(const halo_executable *executable,
                                                              int index);

/* The devices of this client that it was compiled for, in the order of halo_compile_options.devices; NULL for
 * an index out of range. */
HALO_API int halo_executable_device_count(const halo_executable *executable);
HALO_API halo_device *halo_executable_device(const halo_executable *executable, int index);
/* Which replica and partition runs there. */
HALO_API void halo_executable_part(const halo_executable *executable, int index, int *replica,
                                   int *partition);

/* Text about a compiled program, owned by the executable. */
typedef enum halo_report {
  HALO_REPORT_EXPLAIN, /* each step's chosen implementation, and who was refused and why */
  HALO_REPORT_PLAN,    /* the steps and their buffers */
  HALO_REPORT_SOURCE,  /* the generated OpenCL C */
  HALO_REPORT_MODULE,  /* the module after all passes */
  HALO_REPORT_PARTITION, /* what each partition computes, before any other pass; of programs of one partition, and of
                           loaded ones: as above */
  HALO_REPORT_BUILD /* in a few words, how the first device's kernels were built: compiled ahead by other processes,
                       found in the runtime's cache, left to their first launches; "" where there is nothing to say */
} halo_report;
HALO_API const char *halo_executable_report(halo_executable *executable, halo_report report);

/* One line of a profile. */
typedef struct halo_profile_row {
  const char *name; /* of the step; lives as long as the executable */
  const char *kind; /* "kernel", "copy", "library", ... */
  uint64_t runs;
  double seconds; /* device time over all runs */
  int64_t bytes;  /* that one run must read and write at least, or 0 */
  int64_t flops;  /* of one run, or 0 */
} halo_profile_row;
/* Waits for the (first) device, then gives rows by step order; needs halo_client_options.profile. The array
 * is owned by the executable until the next call. */
HALO_API HALO_MUST_USE halo_status halo_executable_profile(halo_executable *executable,
                                                           const halo_profile_row **rows,
                                                           int *count);

/* What the host did while a program ran, some of it beside the device's work and some while the device had
 * nothing to do. */
typedef struct halo_profile_host {
  const char *work; /* "launches", "waits", "memory", "calls", "exchanges" */
  uint64_t count;
  double seconds; /* over all runs */
} halo_profile_host;
enum { HALO_PROFILE_HOST_ROWS = 5 };
/* As above, of the runs whose work is all queued: commands put on the queue; waiting for values that say how
 * to go on (of loops, branches, calls); taking memory and giving it back; custom calls on the host, and what
 * the host feeds and takes; exchanges with other devices, which may go on beside all else. */
HALO_API HALO_MUST_USE halo_status halo_executable_profile_host(
    halo_executable *executable, halo_profile_host out[HALO_PROFILE_HOST_ROWS]);

/* ---- Buffers ---- */

/* A copy of dense row-major host data (halo_type_size bytes an element) on the client's first device, in
 * the shape's layout. `data` may be reused when the call returns. */
HALO_API HALO_MUST_USE halo_status halo_buffer_from_host(halo_client *client, const void *data,
                                                         const halo_shape *shape,
                                                         halo_buffer **out);
/* As above without waiting for the copy: `data` must stay unchanged until *done (if not NULL, else
 * the buffer's ready event) has happened. */
HALO_API HALO_MUST_USE halo_status halo_buffer_from_host_async(halo_client *client,
                                                               const void *data,
                                                               const halo_shape *shape,
                                                               halo_buffer **out,
                                                               halo_event **done);
HALO_API HALO_MUST_USE halo_status halo_buffer_from_literal(halo_client *client,
                                                            const halo_literal *literal,
                                                            halo_buffer **out);
/* The general form, for any device. Dimension d's elements lie byte_strides[d] bytes apart in `data` (the
 * address of element 0,0,..., so that strides may be negative or zero); NULL: dense and row-major. With
 * `done` NULL it waits for the copy; else `data` must stay unchanged until *done has happened. */
HALO_API HALO_MUST_USE halo_status halo_buffer_put(halo_device *device, const void *data,
                                                   const int64_t *byte_strides,
                                                   const halo_shape *shape, halo_buffer **out,
                                                   halo_event **done);
/* As above for dense row-major data that stays as it is until *done (not NULL) has happened: when the buffer, and all that
 * share its memory, have been released and nothing reads it any more. Where the device can (a CPU; arrays that are not
 * small and begin at a multiple of 64 bytes), nothing is copied; else *done is the copy's. A program that is given the
 * buffer to donate does not write to it, and one that returns it returns a copy. */
HALO_API HALO_MUST_USE halo_status halo_buffer_lend(halo_device *device, const void *data,
                                                    const halo_shape *shape, halo_buffer **out,
                                                    halo_event **done);
/* As halo_buffer_put for a shape with dynamic dimensions, of which the data has `sizes` [rank]: at most the bound where
 * a dimension is dynamic, all of it elsewhere. (The calls before fill all dimensions to their bounds.) Waits
 * for the copy. HALO_INVALID_ARGUMENT for sizes that do not fit. */
HALO_API HALO_MUST_USE halo_status halo_buffer_put_sized(halo_device *device, const void *data,
                                                         const int64_t *byte_strides,
                                                         const halo_shape *shape,
                                                         const int64_t *sizes, halo_buffer **out);
/* A buffer whose value the host gives later: by fulfil, once (data and strides as above; it waits for the
 * copy), or fail. Until then runs that take it wait, without keeping others waiting. Its release without
 * either is a failure for what depends on it. HALO_FAILED_PRECONDITION the second time. */
HALO_API HALO_MUST_USE halo_status halo_buffer_promise(halo_device *device, const halo_shape *shape,
                                                       halo_buffer **out);
HALO_API HALO_MUST_USE halo_status halo_buffer_fulfil(halo_buffer *buffer, const void *data,
                                                      const int64_t *byte_strides);
HALO_API HALO_MUST_USE halo_status halo_buffer_fail(halo_buffer *buffer, halo_status status,
                                                    const char *message);
/* As fulfil, with the value of another buffer of the same shape on the same device, which need not be there yet: both
 * have the same memory, or the same failure. HALO_INVALID_ARGUMENT for another shape or device. */
HALO_API HALO_MUST_USE halo_status halo_buffer_fulfil_with(halo_buffer *buffer, halo_buffer *from);
/* A new buffer with the same memory and another static shape of as many bytes, read in that shape's layout.
 * HALO_INVALID_ARGUMENT for another number of bytes. */
HALO_API HALO_MUST_USE halo_status halo_buffer_bitcast(halo_buffer *buffer, const halo_shape *shape,
                                                       halo_buffer **out);
/* A new buffer with the same value on a device of the same client (also on the same one); returns without
 * waiting. */
HALO_API HALO_MUST_USE halo_status halo_buffer_copy_to_device(halo_buffer *buffer,
                                                              halo_device *device,
                                                              halo_buffer **out);
HALO_API void halo_buffer_retain(halo_buffer *buffer);
HALO_API void halo_buffer_release(halo_buffer *buffer);
/* Owned by the buffer. */
HALO_API const halo_shape *halo_buffer_shape(const halo_buffer *buffer);
HALO_API halo_device *halo_buffer_device(const halo_buffer *buffer); /* its client's */
/* How many elements there are along each dimension: of dynamic ones the sizes at run time, for which it waits;
 * of others those of the shape. `sizes` has room for the shape's rank. */
HALO_API HALO_MUST_USE halo_status halo_buffer_sizes(halo_buffer *buffer, int64_t *sizes);
/* Its memory went to a program: it has no value any more. */
HALO_API bool halo_buffer_is_donated(halo_buffer *buffer);
/* Waits for the buffer and copies it to `data` as dense row-major elements; `size` must be its byte
 * size. HALO_FAILED_PRECONDITION for a donated buffer.
 * Of dynamic dimensions, here and in all that follow, as many elements are copied as there are
 * (halo_buffer_sizes); `size` may then be more than they take. */
HALO_API HALO_MUST_USE halo_status halo_buffer_to_host(halo_buffer *buffer, void *data,
                                                       size_t size);
/* As above without waiting: `data` is complete when *done has happened. It has room for the bounds of dynamic
 * dimensions. */
HALO_API HALO_MUST_USE halo_status halo_buffer_to_host_async(halo_buffer *buffer, void *data,
                                                             size_t size, halo_event **done);
HALO_API HALO_MUST_USE halo_status halo_buffer_to_literal(halo_buffer *buffer, halo_literal **out);
/* The general form: strides as for halo_buffer_put (no two elements may lie in one place); `done` NULL
 * waits, else `data` is complete when *done has happened. */
HALO_API HALO_MUST_USE halo_status halo_buffer_get(halo_buffer *buffer, void *data,
                                                   const int64_t *byte_strides, halo_event **done);
/* Waits for the buffer, and gives the address of its bytes, in its shape's layout: where the device shares the
 * host's memory (halo_device_info.shares_host_memory; HALO_UNIMPLEMENTED elsewhere) they are not copied. They may
 * be read until the view is released, also when the buffer was released or donated before: the program then takes
 * other memory. HALO_FAILED_PRECONDITION for a donated buffer. */
HALO_API HALO_MUST_USE halo_status halo_buffer_view(halo_buffer *buffer, const void **data,
                                                    halo_view **out);
HALO_API void halo_view_release(halo_view *view);
/* An event that happens when the buffer's value is there (or its computation failed).
 * HALO_FAILED_PRECONDITION for a donated buffer. */
HALO_API HALO_MUST_USE halo_status halo_buffer_ready_event(halo_buffer *buffer, halo_event **out);

/* ---- Events ---- */

/* Waits; a failure of what was waited for is returned, as often as it is asked for. */
HALO_API HALO_MUST_USE halo_status halo_event_wait(halo_event *event);
/* Whether it has happened, or failed; does not wait. */
HALO_API bool halo_event_is_ready(halo_event *event);
HALO_API void halo_event_retain(halo_event *event);
HALO_API void halo_event_release(halo_event *event);
/* Calls back once, when the event has happened or failed: from inside this call when that is so already,
 * else from another thread. No lock of the library is held: the callback may call anything here and may
 * wait. `message` ("" without a failure) is good until it returns. Several callbacks may be asked for,
 * and the event may be released before. */
typedef void (*halo_event_callback)(halo_status status, const char *message, void *data);
HALO_API HALO_MUST_USE halo_status halo_event_on_ready(halo_event *event, halo_event_callback call,
                                                       void *data);

/* An event that the host makes happen, well or with a failure, once (what comes later is ignored); if its
 * last reference goes before, that is a failure. Runs can be told to wait for it. */
HALO_API HALO_MUST_USE halo_status halo_promise_create(halo_client *client, halo_event **out);
HALO_API HALO_MUST_USE halo_status halo_promise_set(halo_event *promise);
HALO_API HALO_MUST_USE halo_status halo_promise_fail(halo_event *promise, halo_status status,
                                                     const char *message);

/* ---- Running ---- */

/* How a program is run. Zero-initialise what is not used. */
typedef struct halo_execute_options {
  /* Arguments, by flat index, whose memory the program may take over; NULL: none. Their buffers are
   * unusable afterwards (HALO_FAILED_PRECONDITION); also when the run fails, unless it failed before
   * any of its work was queued: then they are as before. Donating is the caller's decision alone; what the module
   * says (input_output_alias, buffer_donor) decides which result takes over which donated argument:
   * pairs that it names come first, then arguments that it offers, then others of the right size. */
  const int *donated;
  int donated_count;
  /* Events that must have happened before the run begins; their failures are the run's. */
  halo_event *const *after;
  int after_count;
  /* Functions of channels (halo/channels.h) for this run alone, which come before those of the device: a list
   * for each device of the executable, and their lengths. The lists are copied; `user` of each must live
   * until the run is over. NULL: none. */
  const struct halo_channel *const *channels;
  const int *channel_counts;
  /* NULL, or room for one event for each device of the executable, which happens when its part of the run
   * is over, or failed: also of programs without results. Not given when the call fails. */
  halo_event **done;
  /* What functions of custom calls find in their frame; must live until the run is over. NULL: nothing. */
  void *context;
} halo_execute_options;

/* Queues one run and returns without waiting for it, whatever the program needs of the host: loops and
 * branches that depend on values go on in another thread. A failure that is met before this returns is
 * returned, with no results. One that comes later, or that an argument brings with it, is told by the
 * results' events, and by whatever uses these results; it harms nothing else.
 * `arguments` are borrowed for the call;
 * `results` receives halo_executable_result_count new buffers, each ready at its own event. Shapes
 * must equal those of the program (layouts included), and devices too. `options` may be NULL. */
HALO_API HALO_MUST_USE halo_status halo_executable_execute(halo_executable *executable,
                                                           halo_buffer *const *arguments,
                                                           int argument_count,
                                                           const halo_execute_options *options,
                                                           halo_buffer **results);
/* The same for programs that were compiled for several devices: arguments[d] and results[d] are the lists
 * of device d of the executable (those of this client), and `options` hold for each. Where devices of other
 * processes take part, all of these start runs of a program in the same order; executables of one module for the same
 * devices are one program.
 * When one device's part fails, those that exchange anything with it fail too (HALO_ABORTED, with its message),
 * also when it does not come within the time limit (HALO_DEADLINE_EXCEEDED). Later runs are not affected. */
HALO_API HALO_MUST_USE halo_status halo_executable_execute_all(halo_executable *executable,
                                                               halo_buffer *const *const *arguments,
                                                               int argument_count,
                                                               const halo_execute_options *options,
                                                               halo_buffer **const *results);
/* Copies literals in (one a parameter, tuples as tuples), runs, waits, and copies the result out. Along a
 * dynamic dimension a literal may have fewer elements than the bound; a result's has as many as there are. */
HALO_API HALO_MUST_USE halo_status halo_executable_run(halo_executable *executable,
                                                       halo_literal *const *arguments,
                                                       int argument_count, halo_literal **result);

#ifdef __cplusplus
}
#endif
#endif
