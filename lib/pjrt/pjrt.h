/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/pjrt.h: the plugin from inside: what stands behind the pointers of c_api.h. For the files of this room,
 * which know the public interface of the library and nothing below it. */
#ifndef HALO_PJRT_PJRT_H
#define HALO_PJRT_PJRT_H

#include "halo/channels.h"
#include "halo/client.h"
#include "pjrt/c_api.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>

/* The name under which frameworks know the platform. */
#define PJRT_PLATFORM "halo"

/* All functions of the table that the plugin has, pjrt_Client_Create and so on. */
#define PJRT_FUNCTION(name, size, ...) PJRT_Error *pjrt_##name(PJRT_##name##_Args *args);
#define PJRT_PROCEDURE(name, size, ...) void pjrt_##name(PJRT_##name##_Args *args);
#define PJRT_LACKING(name)
#include "pjrt/functions.def"
#undef PJRT_FUNCTION
#undef PJRT_PROCEDURE
#undef PJRT_LACKING

/* The extensions, in a list. */
extern PJRT_MemoryDescriptions_Extension pjrt_descriptions_extension;
extern PJRT_Layouts_Extension pjrt_layouts_extension;
extern PJRT_Shardings_Extension pjrt_shardings_extension;
extern PJRT_Custom_Partitioner_Extension pjrt_partitioner_extension;
/* Lets programs tell how their arrays lie, for calls InspectSharding; once a process. */
void pjrt_partitioner_install(void);
extern PJRT_FFI_Extension pjrt_ffi_extension;
extern PJRT_Profiler_Extension pjrt_profiler_extension;

/* ---- Memory (memory.c): small things, zeroed; ends the process when there is none left ---- */

void *pjrt_alloc(size_t size);
char *pjrt_copy(const char *data, size_t size); /* with a NUL behind it; of NULL: zeros */
__attribute__((format(printf, 1, 2))) char *pjrt_format(const char *format, ...);
char *pjrt_vformat(const char *format, va_list arguments);

/* ---- Errors (error.c) ---- */

__attribute__((format(printf, 2, 3))) PJRT_Error *pjrt_error(PJRT_Error_Code code,
                                                             const char *format, ...);
/* The library's newest failure in this thread, with its message; NULL for HALO_OK. */
PJRT_Error *pjrt_error_of(halo_status status);
/* A failure whose message was kept; NULL for HALO_OK. */
PJRT_Error *pjrt_error_with(halo_status status, const char *message);
/* As the library says it: for results that a caller declares failed. */
halo_status pjrt_status_of(PJRT_Error_Code code);
/* Leaves the function with the error of a call of the library. */
#define PJRT_TRY(call)                                                                             \
  do {                                                                                             \
    halo_status pjrt_status_ = (call);                                                             \
    if (pjrt_status_ != HALO_OK) return pjrt_error_of(pjrt_status_);                               \
  } while (0)
/* The same for a call that gives an error. */
#define PJRT_PASS(call)                                                                            \
  do {                                                                                             \
    PJRT_Error *pjrt_error_ = (call);                                                              \
    if (pjrt_error_) return pjrt_error_;                                                           \
  } while (0)

/* ---- Events (event.c) ---- */

/* What the plugin itself makes happen. Reference-counted. */
typedef struct pjrt_promise pjrt_promise;
pjrt_promise *pjrt_promise_create(void);
void pjrt_promise_retain(pjrt_promise *promise);
void pjrt_promise_release(pjrt_promise *promise);
/* The first end counts. Callbacks run from inside. `message` is copied. */
void pjrt_promise_set(pjrt_promise *promise, PJRT_Error_Code code, const char *message);
/* The same as something of the library ended. */
void pjrt_promise_end(pjrt_promise *promise, halo_status status, const char *message);

/* Events for the caller: of the library's event (one reference is taken over), of a promise (likewise), or
 * of what has happened long ago. */
PJRT_Event *pjrt_event_of(halo_event *event);
PJRT_Event *pjrt_event_promised(pjrt_promise *promise);
PJRT_Event *pjrt_event_past(void);
/* One that has failed. The error is taken over. */
PJRT_Event *pjrt_event_failed(PJRT_Error *error);

/* ---- Completions (completion.c) ---- */

/* The runs on a device that may call the host. */
typedef struct pjrt_completions pjrt_completions;
pjrt_completions *pjrt_completions_create(void);
/* Runs on the list go on. NULL is allowed. */
void pjrt_completions_release(pjrt_completions *list);
/* Adds a run, which is over when `done` (one reference is taken over) has happened. The event has the run's own outcome,
 * and happens when the run and all runs that were added before are over. */
PJRT_Event *pjrt_completions_add(pjrt_completions *list, halo_event *done);

/* ---- Types (types.c) ---- */

halo_type pjrt_type_to_halo(PJRT_Buffer_Type type); /* HALO_TYPE_INVALID: unknown to the library */
PJRT_Buffer_Type pjrt_type_from_halo(halo_type type);
/* Elements of types narrower than a byte lie a byte each on both sides; the library extends signs, the
 * interface leaves zeros. Whether that makes a difference, and the change in place, on the way in and out. */
bool pjrt_type_differs(halo_type type);
void pjrt_type_widen(halo_type type, void *elements, size_t count);
void pjrt_type_narrow(halo_type type, void *elements, size_t count);
/* Truths of the library are 0 and 1; hosts may have any byte that is not 0 for true. Whether a dense array of
 * `count` bytes of the host has to be changed, for its type or for such bytes, before the library reads it. */
bool pjrt_type_needs_widening(halo_type type, const void *elements, size_t count);

/* A shape, from the interface's description of it; `layout` may be NULL. UNIMPLEMENTED for tiles. */
PJRT_Error *pjrt_shape_create(PJRT_Buffer_Type type, const int64_t *dims, size_t rank,
                              const PJRT_Buffer_MemoryLayout *layout, halo_shape **out);

/* How many bytes lie between elements of a dense array in the shape's layout, by dimension. */
void pjrt_shape_strides(const halo_shape *shape, int64_t *strides);

/* ---- Messages (proto.c): protocol buffers on the wire ---- */

/* A message, or what is left of it to read. */
typedef struct pjrt_message {
  const uint8_t *at, *end;
} pjrt_message;
/* A field: its number, and a number or, of wire type 2, bytes. */
typedef struct pjrt_field {
  uint32_t number, wire;
  uint64_t value;
  pjrt_message bytes;
} pjrt_field;
/* Takes the next field. False at the end, and for what is no message: then `at` is not `end`. */
bool pjrt_message_next(pjrt_message *message, pjrt_field *field);
/* Takes the next number of a field that may be packed or not: `rest` begins as the field's bytes. */
bool pjrt_message_number(pjrt_message *rest, uint64_t *out);

/* A message that is written. */
typedef struct pjrt_writer {
  uint8_t *data;
  size_t size, room;
} pjrt_writer;
void pjrt_write_raw(pjrt_writer *writer, const void *data, size_t size);
void pjrt_write_field(pjrt_writer *writer, const pjrt_field *field);         /* as it was read */
void pjrt_write_number(pjrt_writer *writer, uint32_t field, uint64_t value); /* also zero */
void pjrt_write_bytes(pjrt_writer *writer, uint32_t field, const void *data, size_t size);
void pjrt_write_packed(pjrt_writer *writer, uint32_t field, const int64_t *values, size_t count);
void pjrt_writer_deinit(pjrt_writer *writer);

/* ---- Processes (processes.c): several that run one program together ---- */

/* This process among those of a job. */
typedef struct pjrt_job {
  int process, count;
  unsigned client; /* clients of a job, one after the other, have keys of their own */
  PJRT_KeyValueGetCallback get;
  PJRT_KeyValuePutCallback put;
  void *get_user, *put_user;
  halo_communicator *communicator; /* NULL: one process alone */
} pjrt_job;

/* Connects the job's processes; waits until all of them have come here. The communicator stays the process's.
 * FAILED_PRECONDITION where they cannot be connected, or are not who mpiexec says. */
PJRT_Error *pjrt_job_open(const PJRT_Client_Create_Args *args, int64_t process, int64_t count,
                          pjrt_job *out);
/* Gives what others are to know, under a name that is used once, and waits for what they give: all[count], of which
 * those that came are the caller's to deinit also after a failure. */
PJRT_Error *pjrt_job_exchange(const pjrt_job *job, const char *what, const pjrt_writer *mine,
                              pjrt_writer *all);

/* ---- Clients, devices, memories (client.c, topology.c, device.c, descriptions.c) ---- */

struct PJRT_DeviceDescription {
  int id, process;
  char *kind, *to_string, *debug_string;
  PJRT_NamedValue *attributes;
  size_t attribute_count;
};

/* The kinds of memory that a device may have. */
typedef enum pjrt_memory_kind {
  PJRT_MEMORY_DEVICE,
  /* Where the device shares the host's memory: other names for the same. */
  PJRT_MEMORY_PINNED_HOST,
  PJRT_MEMORY_UNPINNED_HOST,
  PJRT_MEMORY_KINDS
} pjrt_memory_kind;

typedef struct pjrt_user_data {
  const void *key;
  void *data;
  void (*dtor)(void *);
  struct pjrt_user_data *next;
} pjrt_user_data;

struct PJRT_Memory {
  const PJRT_Memory_FunctionTable *functions; /* callers go through this */
  PJRT_Device *device;
  int id;
  pjrt_memory_kind kind;
  char *to_string;
  pthread_rwlock_t lock; /* of what follows */
  pjrt_user_data *user_data;
};

struct PJRT_Device {
  PJRT_Client *client;
  halo_device *device; /* NULL: of another process */
  int local;           /* its index in this process; -1: of another */
  uint8_t *told;       /* of another process: its message, to which the attributes point */
  PJRT_DeviceDescription description;
  PJRT_Memory *memories[PJRT_MEMORY_KINDS]; /* the default one first */
  size_t memory_count;
  pjrt_completions *completions;
};

/* A part of a client, which those that callers make by themselves hold a reference to. */
struct PJRT_TopologyDescription {
  PJRT_Client *client;
  PJRT_DeviceDescription **descriptions;
  size_t count;
  uint64_t fingerprint;
};

/* Memory of the host that a caller has registered for transfers. */
typedef struct pjrt_mapping {
  void *data;
  struct pjrt_mapping *next;
} pjrt_mapping;

/* Reference-counted: topologies, and what was compiled for them, may outlive each other. */
struct PJRT_Client {
  atomic_int references;
  halo_client *client;
  char *platform_version;
  PJRT_Device **devices, **addressable; /* the latter are among the former */
  size_t device_count, addressable_count;
  PJRT_Memory **memories; /* of addressable devices */
  size_t memory_count;
  int process;
  PJRT_TopologyDescription topology;
  pthread_mutex_t lock; /* of what follows */
  pjrt_mapping *mappings;
};

void pjrt_client_retain(PJRT_Client *client);
void pjrt_client_release(PJRT_Client *client);

/* A device as the caller sees it. */
PJRT_Device *pjrt_device_create(PJRT_Client *client, halo_device *device, int local,
                                int first_memory);
/* What other processes need to know of it, as a field `number`; and the device made of such a field there, NULL for
 * what is none. */
void pjrt_device_tell(const PJRT_Device *device, pjrt_writer *writer, uint32_t number);
PJRT_Device *pjrt_device_told(PJRT_Client *client, int process, int id, pjrt_message message);
void pjrt_device_release(PJRT_Device *device);
/* The memory that a caller means by either; INVALID_ARGUMENT when both are NULL or cannot be reached. */
PJRT_Error *pjrt_memory_choose(PJRT_Device *device, PJRT_Memory *memory, PJRT_Memory **out);
const char *pjrt_memory_kind_name(pjrt_memory_kind kind);
/* The caller's device for the library's; and by its number, or NULL. */
PJRT_Device *pjrt_client_device(const PJRT_Client *client, const halo_device *device);
PJRT_Device *pjrt_client_device_by_id(const PJRT_Client *client, int id);

/* ---- Buffers (buffer.c, host.c, alias.c) ---- */

struct PJRT_Buffer {
  PJRT_Memory *memory;
  PJRT_Buffer_Type type;
  uintptr_t number;     /* its own, for whoever wants an address */
  pthread_mutex_t lock; /* of what follows */
  halo_buffer *value;   /* NULL: deleted, or a token */
  halo_event *made;     /* of a token; NULL: always there */
  int64_t references;   /* of views from outside */
  halo_buffer *viewed;  /* what they see, also when deleted; a reference while there are any */
  halo_view *view;      /* once somebody asked where it is */
  const void *address;
  bool deleted;
  size_t rank;
  int64_t dims[]; /* [rank], and behind them as many from the fastest varying dimension on */
};

/* A buffer over the library's, of which one reference is taken over. */
PJRT_Buffer *pjrt_buffer_wrap(PJRT_Memory *memory, halo_buffer *value);
/* A token that is there when `made` (one reference is taken over; NULL: now). */
PJRT_Buffer *pjrt_buffer_token(PJRT_Memory *memory, halo_event *made);
/* The value with a new reference. INVALID_ARGUMENT when it is deleted or donated; NULL for tokens. */
PJRT_Error *pjrt_buffer_borrow(PJRT_Buffer *buffer, halo_buffer **out);
/* The error of a call that used these values, of which another thread may have donated one meanwhile: as if it had been
 * before. NULL for HALO_OK. */
PJRT_Error *pjrt_buffer_error(halo_status status, halo_buffer *const *values, size_t count);
/* Gives the value up. */
void pjrt_buffer_delete(PJRT_Buffer *buffer);

/* ---- Compile options (options.c) ---- */

typedef struct pjrt_flags {
  bool *data;
  int count;
} pjrt_flags;

typedef struct pjrt_options {
  int replicas, partitions; /* 0: not said */
  int *devices;             /* replica by replica; NULL: not said */
  bool portable;
  char *kernels, *dump_dir; /* NULL: not said */
  bool no_fusion, no_optimization, strict_order;
  pjrt_flags free_arguments, free_results; /* as halo_compile_options */
  /* Shapes with the layouts of arguments and of the result, in the bytes that were read; none: not said. */
  pjrt_message *layouts, result_layout;
  size_t layout_count;
} pjrt_options;
/* INVALID_ARGUMENT for what is no message, and for options by name that are not known. */
PJRT_Error *pjrt_options_read(const void *data, size_t size, pjrt_options *out);
void pjrt_options_deinit(pjrt_options *options);
/* UNIMPLEMENTED where they ask for a layout that is not row-major: of programs that say their layouts themselves. */
PJRT_Error *pjrt_options_check_layouts(const pjrt_options *options);
/* A DeviceAssignment of replicas times partitions ids. */
void pjrt_assignment_write(pjrt_writer *writer, const int *devices, int replicas, int partitions);

/* ---- Programs (program.c) ---- */

/* A module from a program's bytes: the form shows in them, whatever the caller calls it. */
halo_status pjrt_program_read(const char *code, size_t size, halo_module **out);
/* Whether it is StableHLO, of whichever form. */
bool pjrt_program_is_mlir(const char *code, size_t size);
/* A program as callers give it, in bytes for pjrt_program_read. Of format "hlo" (an HloModuleProto) the layouts of
 * arguments and results are the options', or row-major, whatever the module says; "hlo_with_config" says them beside the
 * module. INVALID_ARGUMENT for what is no such message. */
PJRT_Error *pjrt_program_take(const PJRT_Program *program, const pjrt_options *options,
                              pjrt_writer *out);
/* An HloModuleProtoWithConfig of an HloModuleProto: the entry's layouts as the module has them, and how many run it. */
void pjrt_program_configure(pjrt_writer *out, pjrt_message module, int replicas, int partitions);

/* ---- Executables (executable.c, compile.c, serialize.c, execute.c) ---- */

/* One argument or result. Tokens have no shape. */
typedef struct pjrt_slot {
  const halo_shape *shape; /* the executable's */
  int index;    /* among those that the library counts, which leaves tokens out; -1: a token */
  bool offered; /* argument: its memory may become a result's */
  pjrt_memory_kind memory;
  char *sharding; /* an OpSharding message; NULL: all devices have all of it */
  size_t sharding_size;
  PJRT_Layouts_MemoryLayout *layout;
} pjrt_slot;

typedef struct pjrt_slots {
  pjrt_slot *data;
  size_t count;
  /* The same as lists, for callers. */
  PJRT_Buffer_Type *types;
  int64_t *dims; /* of all, one behind the other */
  size_t *ranks;
  const char **kinds;
  size_t *kind_sizes;
  PJRT_Layouts_MemoryLayout **layouts;
  const char **shardings;
  size_t *sharding_sizes;
} pjrt_slots;

/* What the two kinds of executables of the interface share. Reference-counted, and does not change but for
 * what the lock guards. */
typedef struct pjrt_core {
  atomic_int references;
  PJRT_Client *client;
  PJRT_Client *kept; /* a reference to the client: compiled for a topology; or NULL */
  halo_executable *executable;
  char *name;
  int replicas, partitions;
  int *ids; /* of the devices, replica by replica */
  bool portable;
  bool has_calls;       /* functions of the host, which may have effects */
  char *code, *options; /* as they came */
  size_t code_size, options_size;
  pjrt_slots arguments, results;
  PJRT_Device **devices; /* of this process, in the order of lists in Execute */
  PJRT_LogicalDeviceIds *parts;
  size_t device_count;
  PJRT_NamedValue *costs;
  size_t cost_count;
  halo_executable_costs sizes;
  pthread_mutex_t lock;        /* of what follows */
  halo_executable **elsewhere; /* portable: compiled for other devices, by local index */
  pjrt_writer told;            /* the program for callers to read; empty: nobody asked yet */
} pjrt_core;

struct PJRT_Executable {
  pjrt_core *core;
};

struct PJRT_LoadedExecutable {
  pjrt_core *core;
  atomic_bool deleted;
};

pjrt_core *pjrt_core_create(PJRT_Client *client); /* one reference; nothing is known of it yet */
/* Compiles; *out has one reference. */
PJRT_Error *pjrt_core_compile(PJRT_Client *client, const PJRT_Program *program, const char *options,
                              size_t options_size, pjrt_core **out);
/* Fills in what callers ask about, when the executable and the slots' indices are there. */
void pjrt_core_describe(pjrt_core *core);
/* The program for callers to read, where that is not the program as it came: of several partitions what each runs, and of
 * HLO the same as an HloModuleProtoWithConfig. Empty of StableHLO for one partition. It does not change any more. */
const pjrt_writer *pjrt_core_told(pjrt_core *core);
void pjrt_core_retain(pjrt_core *core);
void pjrt_core_release(pjrt_core *core);
/* The executable for one device (NULL: its own): portable ones are compiled for others when they get there. */
PJRT_Error *pjrt_core_at(pjrt_core *core, PJRT_Device *device, halo_executable **out);
/* A loaded executable, which takes the reference over. */
PJRT_LoadedExecutable *pjrt_core_load(pjrt_core *core);

/* ---- Layouts (layouts.c) ---- */

/* Of an array shape, row-major for others; owned by the caller. */
PJRT_Layouts_MemoryLayout *pjrt_layout_create(const halo_shape *shape);
void pjrt_layout_release(PJRT_Layouts_MemoryLayout *layout);

/* ---- Shardings (shardings.c) ---- */

/* As a message OpSharding; no bytes for one that all devices have. */
void pjrt_sharding_write(pjrt_writer *writer, const halo_sharding *sharding);
/* An OpSharding message; NULL: it is none. For pjrt_sharding_release, which takes NULL. */
halo_sharding *pjrt_sharding_read(pjrt_message message);
void pjrt_sharding_release(halo_sharding *sharding);

/* ---- Channels (channels.c): what a program and the host send each other ---- */

typedef struct pjrt_channels pjrt_channels;
/* The functions of a run on one device, which the caller gave in `options`; NULL for none. Released when
 * the run is over. */
pjrt_channels *pjrt_channels_create(const PJRT_ExecuteOptions *options, size_t device);
const halo_channel *pjrt_channels_list(const pjrt_channels *channels, int *count);
void pjrt_channels_release(pjrt_channels *channels);

/* ffi_context.c: what callers leave for handlers of custom calls; counted. NULL may be released. */
void pjrt_context_retain(PJRT_ExecuteContext *context);
void pjrt_context_release(PJRT_ExecuteContext *context);

/* ---- The profiler (profiler.c): when programs ran, while the caller records it ---- */

/* The time now, if anybody wants to know, or 0. */
uint64_t pjrt_profiler_begin(void);
/* A run of the program on the device, which was started at `began` and is over with the event; nothing for 0. */
void pjrt_profiler_add(const char *name, const PJRT_Device *device, uint64_t began,
                       halo_event *done);

#endif
