/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/opencl.h: one OpenCL device as the rooms above see it: its queue, memory and programs. All
 * calls may come from several threads at once unless said otherwise. */
#ifndef HALO_OPENCL_OPENCL_H
#define HALO_OPENCL_OPENCL_H

#include "base/status.h"
#include "base/vec.h"
#include "opencl/caps.h"
#include "opencl/queue_lock.h"

#include <CL/cl.h>
#include <stdatomic.h>

typedef struct halo_cl_block halo_cl_block;
typedef struct halo_cl_event halo_cl_event; /* event.h */

/* ---- Errors (check.c) ---- */

/* The place that translates OpenCL's codes. HALO_OK for CL_SUCCESS (and for positive codes,
 * which an event's execution status may have); HALO_OUT_OF_MEMORY for
 * halo_cl_is_memory_error; HALO_DEVICE_ERROR for all others. The message is "CALL failed: SYMBOLIC_NAME (code)"; `call` may
 * say more than the function ("clEnqueueNDRangeKernel of fusion.3"). */
halo_status halo_cl_check(cl_int code, const char *call);
/* Whether a call or a command failed for want of memory: CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES or
 * CL_OUT_OF_HOST_MEMORY. */
bool halo_cl_is_memory_error(cl_int code);
/* "CL_INVALID_KERNEL_ARGS"; "unknown OpenCL error" for codes not in the table. Static. */
const char *halo_cl_code_name(cl_int code);

/* ---- Forked processes (fork.c) ---- */

/* A process that was forked from one which uses OpenCL has none of the driver's threads: calls would
 * wait for ever. Whether this is one. */
bool halo_cl_is_forked(void);
/* HALO_FAILED_PRECONDITION, with what to do, in such a process; else HALO_OK. */
halo_status halo_cl_process_check(void);

/* ---- Devices (device.c, reference.c, select.c) ---- */

typedef struct halo_cl_memory halo_cl_memory;     /* of a device: memory.c */
typedef struct halo_cl_programs halo_cl_programs; /* of a device: program.c */
typedef struct halo_cl_timeline halo_cl_timeline; /* of a device: timeline.c */
typedef struct halo_cl_stages halo_cl_stages;     /* of a device: staging.c */
typedef struct halo_cl_ahead halo_cl_ahead;       /* of a device: ahead.c */

/* A device with its own context and three in-order queues: programs run on one, what they start beside
 * themselves on the second, copies to and from the host on the third, and events order what of one depends on
 * another. All that a program puts aside it also waits for on the first queue, which so stands for both.
 * Reference-counted: live blocks and programs hold references too, so that all may be released in any
 * order. Fields are read-only. */
typedef struct halo_cl_device {
  halo_caps caps;
  bool profile;            /* each step's time is kept (exec/profile.h) */
  bool timed;              /* the queues of programs record times (CL_QUEUE_PROFILING_ENABLE) */
  cl_platform_id platform; /* this, the id, the context and the queues: NULL when caps.is_null */
  cl_device_id id;
  cl_context context;
  cl_command_queue queue; /* of programs */
  cl_command_queue aside;
  cl_command_queue transfers;
  /* Of the library's own processor device: a queue whose commands are done in the thread that queues them, for what takes
   * less than waking a thread. Else NULL. */
  cl_command_queue sync_queue;
  bool direct;                  /* the host may use small blocks without mapping them: direct.c */
  atomic_bool sync_queue_taken; /* use halo_cl_take_sync_queue and halo_cl_give_sync_queue */
  halo_cl_memory *memory;
  halo_cl_programs *programs;
  halo_cl_timeline *timeline;
  halo_cl_stages *stages;
  halo_cl_ahead *ahead;  /* NULL where nothing limits what is queued */
  double longest;        /* seconds that a launch should take at most; 0: as long as it likes */
  atomic_bool probed;    /* probe.c's: what could be found out about the device is in `caps` */
  atomic_int references; /* use retain and release */
  void (*destroy)(
      struct halo_cl_device *device); /* called by the one who drops the last reference */
  struct halo_cl_device *next_open;   /* process.c */
} halo_cl_device;

typedef struct halo_cl_options {
  const char *device;    /* as halo_client_options.device; NULL or "": the default */
  uint64_t memory_limit; /* bytes; 0: what the device has */
  const char *cache_dir; /* NULL: the default folder; "": no disk cache */
  bool profile;          /* each step's time is kept (exec/profile.h) */
} halo_cl_options;

/* Opens a device. `options` may be NULL. HALO_NO_DEVICE when the machine has
 * no OpenCL device, HALO_NOT_FOUND (listing what there is) when none matches,
 * HALO_INVALID_ARGUMENT for a bad HALO_MEMORY_LIMIT or null-device file, HALO_UNIMPLEMENTED for a
 * device below OpenCL 1.2, of big-endian byte order or without a compiler. */
halo_status halo_cl_device_open(const halo_cl_options *options, halo_cl_device **out);
/* Opens all that a list of devices names; halo_cl_device_open gives its first. *out is freed with
 * halo_free, after its devices were released. */
halo_status halo_cl_devices_open(const halo_cl_options *options, halo_cl_device ***out, int *count);
/* Small blocks that are made from now on can be used by the host as they are, where the device can do that: for
 * devices that take part in exchanges. */
void halo_cl_device_allow_direct(halo_cl_device *device);
void halo_cl_device_retain(halo_cl_device *device);
/* Drops one reference; NULL is allowed. The last one waits for the queue to drain. */
void halo_cl_device_release(halo_cl_device *device);
/* Waits until all queues are empty and no work on host threads (timeline.c) goes on. */
void halo_cl_device_finish(halo_cl_device *device);
/* `sync_queue` is for one run at a time. False: it is taken. */
bool halo_cl_take_sync_queue(halo_cl_device *device);
void halo_cl_give_sync_queue(halo_cl_device *device);
/* HALO_UNIMPLEMENTED on a null device, saying that `what` needs one that can run; a forked process as
 * halo_cl_process_check; else HALO_OK. */
halo_status halo_cl_device_check_runs(const halo_cl_device *device, const char *what);

/* One of a list of devices: "SELECTOR", and the part of it that is meant. */
typedef struct halo_cl_item {
  char *selector;
  int part, parts; /* parts 0: the whole device */
} halo_cl_item;
typedef HALO_VEC(halo_cl_item) halo_cl_items;

/* The devices that a list means (items.c): selectors with commas between, "SELECTOR*N" (N times) and
 * "SELECTOR/N" (N equal parts) as so many items. NULL or "": HALO_DEVICE, or one item "". What is in
 * *items, after a failure too, is released by the caller. HALO_INVALID_ARGUMENT for a number that is too
 * large. */
halo_status halo_cl_items_parse(const char *text, halo_cl_items *items);
void halo_cl_items_release(halo_cl_items *items);
extern const char halo_cl_null_prefix[]; /* "null:", before the file of a null device */
bool halo_cl_is_null(const char *selector);

enum { HALO_CL_ADDRESS = 64 }; /* bytes of an address, as in halo_device_identity */

typedef struct halo_cl_listing {
  int platform, device; /* the selector is "PLATFORM:DEVICE" */
  bool usable;          /* OpenCL 1.2, little-endian, with a compiler */
  halo_caps caps;
  char address[HALO_CL_ADDRESS];
} halo_cl_listing;
/* All devices of all platforms, as `halo info` lists them; with a selector (else NULL), at least those that it may mean: the listing
 * may then be our own processor device alone. *out is freed with halo_free; no devices is HALO_NO_DEVICE as for opening. */
halo_status halo_cl_enumerate(const char *selector, halo_cl_listing **out, int *count);
/* Which device of the machine one is (select.c); of a part of a device, that device. */
typedef struct halo_cl_identity {
  int platform, device; /* as above; -1: a null device */
  char address[HALO_CL_ADDRESS];
} halo_cl_identity;
void halo_cl_identify(const halo_cl_device *device, halo_cl_identity *out);
/* The index of the listed device that a selector means ("": the default; not "null:FILE"), or -1. */
int halo_cl_choose(const halo_cl_listing *list, int count, const char *selector);
/* The devices that "all" and "all-gpus" mean, by index, and how many; -1: the selector is another. "all": every usable
 * device, those that several platforms have once. "all-gpus": the usable GPUs of one platform, that whose GPUs have most memory
 * together. */
int halo_cl_choose_several(const halo_cl_listing *list, int count, const char *selector, int *out);
/* Puts these devices, as "PLATFORM:DEVICE", in the place of "all" and "all-gpus" with their "*N" and "/N"; where there are
 * none, the item stays. HALO_INVALID_ARGUMENT for too many, HALO_NO_DEVICE as for opening. */
halo_status halo_cl_items_expand(halo_cl_items *items);

/* ---- What came before what (timeline.c) ---- */

/* Notes an event of the programs' queue (a reference is added), whose commands up to it have the ticket
 * that is returned. Tickets grow, as the queue does. `since`: what was noted last before the first of these commands
 * was queued; where another thread noted something in between, it may have queued its commands behind this event,
 * so that a marker behind both is noted instead. */
uint64_t halo_cl_timeline_note(halo_cl_device *device, cl_event last, uint64_t since);
/* The ticket of what was noted last; 0: nothing was. */
uint64_t halo_cl_timeline_last(halo_cl_device *device);
/* An event (a new reference) that happens no sooner than the commands with this ticket; NULL: they have
 * happened. */
cl_event halo_cl_timeline_event(halo_cl_device *device, uint64_t ticket);

/* Work for the device that goes on on another thread of the host, which halo_cl_device_finish waits
 * for: between these two, which hold a reference to the device. */
void halo_cl_work_begin(halo_cl_device *device);
void halo_cl_work_end(halo_cl_device *device);

/* ---- How much is queued (ahead.c) ---- */

/* Counts a command that was put on `queue` and is expected to take so many seconds. Where nothing limits what is queued, this and
 * the other two do nothing. */
void halo_cl_ahead_add(halo_cl_device *device, cl_command_queue queue, double seconds);
/* Whether the device will be busy for about a second, by what the last commands took. */
bool halo_cl_ahead_is_full(halo_cl_device *device);
/* Waits until it is not. Failures of commands are not told. */
void halo_cl_ahead_limit(halo_cl_device *device);

/* ---- Copies to and from the host (staging.c) ---- */

/* Copies bytes between the host and a block on the transfer queue, and waits for that; `after` (NULL:
 * nothing) happens first. Where the device does not share the host's memory, they go through pinned
 * memory in pieces, of which one is filled or emptied while another is on its way. */
halo_status halo_cl_write(halo_cl_block *block, const void *data, size_t size, cl_event after);
halo_status halo_cl_read(halo_cl_block *block, void *data, size_t size, cl_event after);
/* The same for little, in the caller's thread, where the device has a `sync_queue` and nothing has to be waited
 * for: to the host if `to` is set, else `from` it. False, and nothing is done, otherwise. */
bool halo_cl_copy_sync(halo_cl_block *block, void *to, const void *from, size_t size,
                       cl_event after, halo_status *status);

/* A few bytes of the host's that commands read device memory into, again and again: pinned and mapped once where the device has
 * memory of its own, since drivers copy to other memory in a second step. `data` holds 8 bytes. Neither copied nor moved. */
typedef struct halo_cl_word {
  unsigned char *data;
  unsigned char own[8]; /* this and the rest is staging.c's */
  cl_mem mem;
  halo_cl_device *device;
} halo_cl_word;
/* After a failure it is released, too. */
halo_status halo_cl_word_create(halo_cl_device *device, halo_cl_word *word);
/* No command uses it any more. All zeros are allowed. */
void halo_cl_word_release(halo_cl_word *word);

/* A range of device memory and its image in the host's plain memory, between which bytes go through pinned pieces
 * while the owner, one thread at a time, does something else. A stream reads or writes. */
typedef struct halo_cl_stream halo_cl_stream;
/* `mem` from `offset` on; commands go to `queue`. All of it outlives the stream. */
halo_cl_stream *halo_cl_stream_open(halo_cl_device *device, cl_command_queue queue, cl_mem mem,
                                    size_t offset, void *image, size_t size);
/* Goes on with reading all of it, without waiting; *there: so many bytes from the start are in the image. */
halo_status halo_cl_stream_read(halo_cl_stream *stream, size_t *there);
/* Begins to write a part of the image, which may change afterwards. Waits where much is on its way. */
halo_status halo_cl_stream_write(halo_cl_stream *stream, size_t at, size_t length);
/* Waits for what is on its way, and frees the stream (may be NULL). */
halo_status halo_cl_stream_close(halo_cl_stream *stream);

/* ---- Memory in the host's address space (map.c) ---- */

/* Maps `size` bytes at `offset` of device memory, by a command of this queue. With `wait` all that was queued there
 * before has happened, and the bytes may be used; else when the command has. Each is unmapped once. The event of the
 * command is in *done if that is not NULL. */
halo_status halo_cl_map(cl_command_queue queue, cl_mem mem, cl_map_flags flags, size_t offset,
                        size_t size, bool wait, cl_event *done, void **out);
halo_status halo_cl_unmap(cl_command_queue queue, cl_mem mem, void *mapped, cl_event *done);

/* ---- Memory (memory.c) ---- */

typedef struct halo_cl_memory_stats {
  uint64_t live;   /* bytes handed out */
  uint64_t cached; /* bytes kept for reuse */
  uint64_t peak;   /* most live bytes so far */
  uint64_t limit;
  uint64_t allocations; /* requests so far */
  uint64_t reused;      /* of which served from the cache */
  uint64_t largest;     /* the most bytes of one request */
  uint64_t peak_held;   /* most live and cached bytes at once */
} halo_cl_memory_stats;

typedef enum halo_cl_transfer { HALO_CL_TRANSFER_IN, HALO_CL_TRANSFER_OUT } halo_cl_transfer;

/* A piece of device memory. Reference-counted; `mem` and the sizes never change. */
struct halo_cl_block {
  cl_mem mem; /* read-write; NULL on a null device */
  char *
      host; /* where the host reads and writes it while no command does, without mapping; NULL: nowhere */
  size_t size;     /* as asked for */
  size_t capacity; /* bytes of `mem`, at least `size` and never 0 */
  uint64_t serial; /* of `mem`, never 0: no other one ever has it, as it may have the handle */
  halo_cl_device *device;
  uint64_t ticket;       /* programs queued until then may use it for something else still */
  bool lent;             /* the host's, and only to be read */
  atomic_int references; /* this and the rest is memory.c's */
  _Atomic(cl_event)
      transfers[2]; /* the last copy in, and out, that was not seen to have happened */
  char what[48];
  double cached_at;                              /* by halo_clock */
  struct halo_cl_block *previous, *next;         /* all live blocks, or all cached by age */
  struct halo_cl_block *bin_previous, *bin_next; /* cached blocks of one size class */
};

/* Whether blocks of so many bytes need Intel's switches for more than 4 GB, both of them: that of the block, which halo_cl_alloc
 * adds, and that of all programs that use it (halo_cl_large_options). */
bool halo_cl_is_large(const halo_cl_device *device, uint64_t size);
/* Options for programs that use blocks of so many bytes, or NULL. Static. */
const char *halo_cl_large_options(const halo_cl_device *device, uint64_t size);
/* A block of at least `size` bytes (0 gives a small real block) with unspecified contents, from the
 * cache when one of its size class is there. On GPUs with memory of their own a large new block has been written to once: drivers
 * there give memory only then. `what` names the holder in out-of-memory messages ("an
 * argument", "scratch of sort.4"; copied, cut at 47 bytes). HALO_OUT_OF_MEMORY when it is more than
 * the driver gives in one block (max_allocation is only what it states), when the limit is reached, or when OpenCL refuses even after the
 * cache was given back; the message says what was asked, what is held, and who holds most. */
halo_status halo_cl_alloc(halo_cl_device *device, size_t size, const char *what,
                          halo_cl_block **out);
/* A block over memory of the host (not NULL, `size` not 0), which stays as it is until `done` happens: when nothing reads it
 * any more. It is not counted, and nothing may write to it. A reference to `done` is added. */
halo_status halo_cl_lend(halo_cl_device *device, const void *data, size_t size, halo_cl_event *done,
                         halo_cl_block **out);
/* Whether that spares a copy: a processor that reads this place as fast as its own. */
bool halo_cl_can_lend(const halo_cl_device *device, const void *data, size_t size);
void halo_cl_block_retain(halo_cl_block *block);
/* Drops one reference; NULL is allowed. The last one puts the block back into the cache, at once if no
 * copy to or from the host still uses it: programs queued before may use it still, because their queue
 * runs in order and only programs queued after can get it again. Whoever writes to a block that was just
 * allocated otherwise than by the programs' queue first waits for its `ticket`. */
void halo_cl_free(halo_cl_block *block);
/* Notes the event (a reference is added) of a copy of the block on the transfer queue, and gives it with
 * a new reference while it has not happened: programs that read the block wait for copies in, those
 * that write to it for both. */
void halo_cl_block_set_transfer(halo_cl_block *block, halo_cl_transfer kind, cl_event event);
cl_event halo_cl_block_transfer(halo_cl_block *block, halo_cl_transfer kind);
void halo_cl_memory_get_stats(halo_cl_device *device, halo_cl_memory_stats *out);
/* Counts requests, the largest one and peaks anew. */
void halo_cl_memory_reset_stats(halo_cl_device *device);
/* Gives all cached blocks back to OpenCL. Worth one retry after a HALO_OUT_OF_MEMORY from an
 * enqueue call, because OpenCL may postpone allocating until the first use. */
void halo_cl_memory_trim(halo_cl_device *device);
/* Gives back what nobody wanted for so many seconds, down to 64 MiB of cached blocks; halo_cl_free does, of what was
 * not wanted for ten: a loop finds its blocks in the cache, and a process that needed much once does not keep it. */
void halo_cl_memory_trim_unused(halo_cl_device *device, double seconds);

/* ---- What was found out about a device (facts.c) ---- */

/* Plain data that an earlier process found out about a device with this driver version, in the cache folder (NULL: none) under a
 * name that also says the data's form. False, and nothing is written: it is not there, or not whole. */
bool halo_cl_fact_load(const char *directory, const halo_caps *caps, const char *about, void *data,
                       size_t size);
/* Keeps such data; false: there is no folder, or it cannot be written. */
bool halo_cl_fact_save(const char *directory, const halo_caps *caps, const char *about,
                       const void *data, size_t size);

/* ---- Programs (program.c, disk.c) ---- */

/* The folder in which the device's programs are kept, or NULL. Lives as long as the device. */
const char *halo_cl_programs_directory(const halo_cl_device *device);

/* What a piece of a program's source is known by: a key of its text. */
typedef struct halo_cl_unit_key {
  uint64_t part[2];
} halo_cl_unit_key;

/* A built program. Reference-counted. */
typedef struct halo_cl_program {
  cl_program handle; /* NULL on a null device */
  halo_cl_device *device;
  uint64_t key[2]; /* of source, options, device, driver and versions */
  size_t source_bytes;
  bool from_disk;
  atomic_int references; /* this and the rest is program.c's */
  bool saved;
  halo_cl_unit_key *units; /* [unit_count] */
  int32_t unit_count;
  uint64_t used;
  struct halo_cl_program *next;
} halo_cl_program;

/* The options that programs are built with on a device, and `extra` (may be NULL) behind them. Free with halo_free. */
char *halo_cl_program_options(const halo_caps *caps, const char *extra);

/* The program with this source, built or found: in memory, then on disk, else built from source.
 * `options` (may be NULL) follow the library's own: -cl-std=CL1.2, and correctly rounded f32 divide
 * and sqrt where the device has them; fast-math options do not belong there. A source that does not
 * build is HALO_DEVICE_ERROR with the build log and the lines of the source it complains about.
 * Nothing about the disk cache is ever an error. */
halo_status halo_cl_program_get(halo_cl_device *device, const char *source, const char *options,
                                halo_cl_program **out);
/* Says of which units a program's source is made, in order, so that others find them. The first call
 * counts. */
void halo_cl_program_set_units(halo_cl_program *program, const halo_cl_unit_key *keys,
                               int32_t count);
/* A program in memory that holds this unit, with a new reference, and the unit's number in it; NULL
 * when there is none. */
halo_cl_program *halo_cl_program_of_unit(halo_cl_device *device, const halo_cl_unit_key *key,
                                         int32_t *index);
/* Whether several threads build faster than one. */
bool halo_cl_builds_in_parallel(const halo_cl_device *device);
/* Whether the runtime compiles kernels when they are first launched. */
bool halo_cl_compiles_at_launch(const halo_cl_device *device);
/* Whether such a runtime has what it needs to compile, where it would end the process otherwise: HALO_FAILED_PRECONDITION or
 * HALO_IO_ERROR then. To be called before each first launch. */
halo_status halo_cl_check_compiler(const halo_cl_device *device);
/* Whether compiled programs are kept on disk, by the library or by the runtime. */
bool halo_cl_keeps_programs(halo_cl_device *device);
void halo_cl_program_retain(halo_cl_program *program);
/* Drops one reference; NULL is allowed. The device remembers a number of unused programs, fewer of large ones. */
void halo_cl_program_release(halo_cl_program *program);
/* Stores the program's binary on disk unless that was done. To be called once AFTER the first run
 * of the program's kernels has been queued, for which it waits, since PoCL compiles a kernel only at
 * its first launch; where binaries are complete at once, halo_cl_program_get has stored them already. Does
 * nothing on PoCL unless the options that the device was opened with name the cache folder: PoCL keeps what it compiled
 * itself (a second process builds 20 kernels in 0.05 s, and $HALO_CACHE_DIR says where it keeps it), and giving out a
 * binary makes it compile every kernel a second time. */
void halo_cl_program_save(halo_cl_program *program);
/* A kernel of the program, to be released with clReleaseKernel. Setting arguments of one kernel
 * object from two threads is not safe: each user creates its own. */
halo_status halo_cl_kernel_create(halo_cl_program *program, const char *name, cl_kernel *out);

typedef struct halo_cl_program_stats {
  uint64_t memory_hits;   /* served by a program in memory */
  uint64_t disk_hits;     /* loaded from a file */
  uint64_t builds;        /* built from source */
  uint64_t saved;         /* files written */
  uint64_t save_failures; /* files that could not be written; after some, no more are tried */
  uint64_t damaged;       /* files found unusable and built anew */
  double build_seconds, load_seconds;
  const char *directory; /* NULL: no disk cache; lives as long as the device */
  bool left_to_runtime;  /* nothing is stored there: PoCL keeps its own (halo_cl_program_save) */
} halo_cl_program_stats;
void halo_cl_program_get_stats(halo_cl_device *device, halo_cl_program_stats *out);

#endif
