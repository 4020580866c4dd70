/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/c_api.h: the C interface between a framework and a PJRT plugin, as far as this plugin takes part in it.
 *
 * Names, order and types of fields are those of the interface; the table of functions, with the arguments of
 * each, is functions.def. All structures begin with their size as the caller knows it, without padding at the
 * end: whoever is older gives a smaller one and has no fields behind it (PJRT_HAS). */
#ifndef HALO_PJRT_C_API_H
#define HALO_PJRT_C_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version that this header describes. */
enum { PJRT_API_MAJOR = 0, PJRT_API_MINOR = 114 };

/* Whether the caller knows a field of the structure that it gave. */
#define PJRT_HAS(args, field)                                                                      \
  ((args)->struct_size >= (size_t)((const char *)(&(args)->field + 1) - (const char *)(args)))

/* Further structures, in a list: of the table, or behind an argument. */
typedef struct PJRT_Extension_Base {
  size_t struct_size;
  int type; /* a PJRT_Extension_Type */
  struct PJRT_Extension_Base *next;
} PJRT_Extension_Base;

typedef enum PJRT_Extension_Type {
  PJRT_Extension_Type_Custom_Call = 0,
  PJRT_Extension_Type_Profiler = 1,
  PJRT_Extension_Type_Custom_Partitioner = 2,
  PJRT_Extension_Type_Layouts = 4,
  PJRT_Extension_Type_FFI = 5,
  PJRT_Extension_Type_MemoryDescriptions = 6,
  PJRT_Extension_Type_Shardings = 19
} PJRT_Extension_Type;

/* What each structure begins with. */
#define PJRT_HEAD                                                                                  \
  size_t struct_size;                                                                              \
  PJRT_Extension_Base *extension_start

/* ---- Objects: pointers to what only the plugin knows ---- */

typedef struct PJRT_Error PJRT_Error;
typedef struct PJRT_Event PJRT_Event;
typedef struct PJRT_Client PJRT_Client;
typedef struct PJRT_Device PJRT_Device;
typedef struct PJRT_DeviceDescription PJRT_DeviceDescription;
typedef struct PJRT_TopologyDescription PJRT_TopologyDescription;
typedef struct PJRT_Memory PJRT_Memory;
typedef struct PJRT_Executable PJRT_Executable;
typedef struct PJRT_LoadedExecutable PJRT_LoadedExecutable;
typedef struct PJRT_Buffer PJRT_Buffer;
typedef struct PJRT_AsyncHostToDeviceTransferManager PJRT_AsyncHostToDeviceTransferManager;
typedef struct PJRT_CopyToDeviceStream PJRT_CopyToDeviceStream;
typedef struct PJRT_FulfillAliasBufferCallback PJRT_FulfillAliasBufferCallback;
typedef struct PJRT_AsyncTrackingEvent PJRT_AsyncTrackingEvent;
typedef struct PJRT_ExecuteContext PJRT_ExecuteContext;
/* Owners of bytes that were handed out; each comes with the function that frees it. */
typedef struct PJRT_SerializedExecutable PJRT_SerializedExecutable;
typedef struct PJRT_SerializedCompileOptions PJRT_SerializedCompileOptions;
typedef struct PJRT_SerializedTopology PJRT_SerializedTopology;
typedef struct PJRT_DeviceAssignmentSerialized PJRT_DeviceAssignmentSerialized;
typedef struct PJRT_Device_Attributes PJRT_Device_Attributes;

/* ---- Numbers ---- */

typedef enum PJRT_Error_Code {
  PJRT_Error_Code_OK = 0,
  PJRT_Error_Code_CANCELLED = 1,
  PJRT_Error_Code_UNKNOWN = 2,
  PJRT_Error_Code_INVALID_ARGUMENT = 3,
  PJRT_Error_Code_DEADLINE_EXCEEDED = 4,
  PJRT_Error_Code_NOT_FOUND = 5,
  PJRT_Error_Code_ALREADY_EXISTS = 6,
  PJRT_Error_Code_PERMISSION_DENIED = 7,
  PJRT_Error_Code_RESOURCE_EXHAUSTED = 8,
  PJRT_Error_Code_FAILED_PRECONDITION = 9,
  PJRT_Error_Code_ABORTED = 10,
  PJRT_Error_Code_OUT_OF_RANGE = 11,
  PJRT_Error_Code_UNIMPLEMENTED = 12,
  PJRT_Error_Code_INTERNAL = 13,
  PJRT_Error_Code_UNAVAILABLE = 14,
  PJRT_Error_Code_DATA_LOSS = 15,
  PJRT_Error_Code_UNAUTHENTICATED = 16
} PJRT_Error_Code;

typedef enum PJRT_Buffer_Type {
  PJRT_Buffer_Type_INVALID = 0,
  PJRT_Buffer_Type_PRED = 1,
  PJRT_Buffer_Type_S8 = 2,
  PJRT_Buffer_Type_S16 = 3,
  PJRT_Buffer_Type_S32 = 4,
  PJRT_Buffer_Type_S64 = 5,
  PJRT_Buffer_Type_U8 = 6,
  PJRT_Buffer_Type_U16 = 7,
  PJRT_Buffer_Type_U32 = 8,
  PJRT_Buffer_Type_U64 = 9,
  PJRT_Buffer_Type_F16 = 10,
  PJRT_Buffer_Type_F32 = 11,
  PJRT_Buffer_Type_F64 = 12,
  PJRT_Buffer_Type_BF16 = 13,
  PJRT_Buffer_Type_C64 = 14,
  PJRT_Buffer_Type_C128 = 15,
  PJRT_Buffer_Type_F8E5M2 = 16,
  PJRT_Buffer_Type_F8E4M3FN = 17,
  PJRT_Buffer_Type_F8E4M3B11FNUZ = 18,
  PJRT_Buffer_Type_F8E5M2FNUZ = 19,
  PJRT_Buffer_Type_F8E4M3FNUZ = 20,
  PJRT_Buffer_Type_S4 = 21,
  PJRT_Buffer_Type_U4 = 22,
  PJRT_Buffer_Type_TOKEN = 23,
  PJRT_Buffer_Type_S2 = 24,
  PJRT_Buffer_Type_U2 = 25,
  PJRT_Buffer_Type_F8E4M3 = 26,
  PJRT_Buffer_Type_F8E3M4 = 27,
  PJRT_Buffer_Type_F8E8M0FNU = 28,
  PJRT_Buffer_Type_F4E2M1FN = 29,
  PJRT_Buffer_Type_S1 = 30,
  PJRT_Buffer_Type_U1 = 31,
  PJRT_Buffer_Type_F6E2M3FN = 32,
  PJRT_Buffer_Type_F6E3M2FN = 33
} PJRT_Buffer_Type;

/* What may be done with a host array that a buffer is made of, and until when it stays as it is. */
typedef enum PJRT_HostBufferSemantics {
  PJRT_HostBufferSemantics_kImmutableOnlyDuringCall = 0,
  PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes = 1,
  PJRT_HostBufferSemantics_kImmutableZeroCopy = 2, /* may be read until the buffer is gone */
  PJRT_HostBufferSemantics_kMutableZeroCopy = 3    /* and written */
} PJRT_HostBufferSemantics;

/* ---- Values ---- */

typedef enum PJRT_NamedValue_Type {
  PJRT_NamedValue_kString = 0,
  PJRT_NamedValue_kInt64 = 1,
  PJRT_NamedValue_kInt64List = 2,
  PJRT_NamedValue_kFloat = 3,
  PJRT_NamedValue_kBool = 4
} PJRT_NamedValue_Type;

typedef struct PJRT_NamedValue {
  PJRT_HEAD;
  const char *name;
  size_t name_size;
  PJRT_NamedValue_Type type;
  union {
    const char *string_value;
    int64_t int64_value;
    const int64_t *int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size; /* bytes of a string, elements of a list, else 1 */
} PJRT_NamedValue;

typedef enum PJRT_Buffer_MemoryLayout_Type {
  PJRT_Buffer_MemoryLayout_Type_Tiled = 0,
  PJRT_Buffer_MemoryLayout_Type_Strides = 1
} PJRT_Buffer_MemoryLayout_Type;

typedef struct PJRT_Buffer_MemoryLayout_Tiled {
  PJRT_HEAD;
  const int64_t *minor_to_major;
  size_t minor_to_major_size;
  const int64_t *tile_dims; /* of all tiles, one behind the other */
  const size_t *tile_dim_sizes;
  size_t num_tiles;
} PJRT_Buffer_MemoryLayout_Tiled;

typedef struct PJRT_Buffer_MemoryLayout_Strides {
  PJRT_HEAD;
  const int64_t *byte_strides;
  size_t num_byte_strides;
} PJRT_Buffer_MemoryLayout_Strides;

typedef struct PJRT_Buffer_MemoryLayout {
  PJRT_HEAD;
  union {
    PJRT_Buffer_MemoryLayout_Tiled tiled;
    PJRT_Buffer_MemoryLayout_Strides strides;
  };
  PJRT_Buffer_MemoryLayout_Type type;
} PJRT_Buffer_MemoryLayout;

typedef struct PJRT_ShapeSpec {
  PJRT_HEAD;
  const int64_t *dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
} PJRT_ShapeSpec;

typedef struct PJRT_Program {
  PJRT_HEAD;
  char *code;
  size_t code_size;
  const char *format;
  size_t format_size;
} PJRT_Program;

typedef struct PJRT_LogicalDeviceIds {
  int replica, partition;
} PJRT_LogicalDeviceIds;

typedef struct PJRT_ProcessInfo PJRT_ProcessInfo; /* whether another process lives: not looked at */

/* ---- Functions of the caller ---- */

/* The callback owns the error; NULL: it went well. */
typedef void (*PJRT_Event_OnReadyCallback)(PJRT_Error *error, void *user_arg);

/* With this the caller makes errors of the plugin's type. */
typedef PJRT_Error *(*PJRT_CallbackError)(PJRT_Error_Code code, const char *message,
                                          size_t message_size);

typedef PJRT_Error *(*PJRT_Error_PayloadVisitor)(const char *key, size_t key_size,
                                                 const char *value, size_t value_size,
                                                 void *user_arg);

/* The memory is not used any more. */
typedef void (*PJRT_OnDeleteCallback)(void *device_buffer_ptr, void *user_arg);

/* The caller knows where to copy to, or that something failed. */
typedef struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args {
  size_t struct_size; /* there is no list of extensions */
  void *callback_data;
  PJRT_Error_Code error_code;
  const char *error_message;
  size_t error_message_size;
  void *dst;
} PJRT_Buffer_CopyRawToHostFuture_Callback_Args;
typedef void (*PJRT_CopyRawToHostFutureCallback)(
    PJRT_Buffer_CopyRawToHostFuture_Callback_Args *args);

/* A buffer's dependency has happened, or failed. */
typedef struct PJRT_Buffer_DonateWithControlDependency_Callback_Args {
  size_t struct_size; /* there is no list of extensions */
  void *callback_data;
  PJRT_Error_Code error_code;
  const char *error_message;
  size_t error_message_size;
} PJRT_Buffer_DonateWithControlDependency_Callback_Args;
typedef void (*PJRT_DependencyReadyCallback)(
    PJRT_Buffer_DonateWithControlDependency_Callback_Args *args);

/* A table that is shared by the processes of one program. */
typedef struct PJRT_KeyValueGetCallback_Args {
  PJRT_HEAD;
  const char *key;
  size_t key_size;
  int timeout_in_ms;
  PJRT_CallbackError *callback_error;
  void *user_arg;
  char *value;
  size_t value_size;
  void (*value_deleter_callback)(char *value);
} PJRT_KeyValueGetCallback_Args;
typedef PJRT_Error *(*PJRT_KeyValueGetCallback)(PJRT_KeyValueGetCallback_Args *args);

typedef struct PJRT_KeyValuePutCallback_Args {
  PJRT_HEAD;
  const char *key;
  size_t key_size;
  const char *value;
  size_t value_size;
  PJRT_CallbackError *callback_error;
  void *user_arg;
} PJRT_KeyValuePutCallback_Args;
typedef PJRT_Error *(*PJRT_KeyValuePutCallback)(PJRT_KeyValuePutCallback_Args *args);

/* A piece of an array on its way between a running program and the host. */
typedef struct PJRT_Chunk {
  void *data;
  size_t size;
  void (*deleter)(void *data, void *deleter_arg);
  void *deleter_arg;
} PJRT_Chunk;

typedef PJRT_Error *(*PJRT_SendCallback)(PJRT_Chunk *chunk, PJRT_CallbackError *callback_error,
                                         size_t total_size_in_bytes, bool done, void *user_arg);
typedef void (*PJRT_RecvCallback)(PJRT_CopyToDeviceStream *stream, void *user_arg);

typedef struct PJRT_SendCallbackInfo {
  int64_t channel_id;
  void *user_arg;
  PJRT_SendCallback send_callback;
} PJRT_SendCallbackInfo;

typedef struct PJRT_RecvCallbackInfo {
  int64_t channel_id;
  void *user_arg;
  PJRT_RecvCallback recv_callback;
} PJRT_RecvCallbackInfo;

typedef struct PJRT_ExecuteOptions {
  PJRT_HEAD;
  PJRT_SendCallbackInfo **send_callbacks; /* [num_devices][num_send_ops] */
  PJRT_RecvCallbackInfo **recv_callbacks;
  size_t num_send_ops, num_recv_ops;
  int launch_id;
  const int64_t *non_donatable_input_indices;
  size_t num_non_donatable_input_indices;
  PJRT_ExecuteContext *context;
  const char *call_location;
  size_t num_tasks;
  int *task_ids;
  int64_t *incarnation_ids;
  void *multi_slice_config;
  bool use_major_to_minor_data_layout_for_callbacks;
  void *hlo_output_callbacks;
  size_t num_hlo_output_callbacks;
} PJRT_ExecuteOptions;

/* ---- Memories begin with a table of functions (since minor 105) ---- */

typedef struct PJRT_Memory_FunctionTable {
  PJRT_HEAD;
  size_t instance_struct_size;
  /* A value that the caller keeps with the memory, by the address of a key; `dtor` runs when it is replaced
   * or the memory goes. */
  void *(*get_user_data)(PJRT_Memory *memory, const void *key);
  void (*set_user_data)(PJRT_Memory *memory, const void *key, void *data, void (*dtor)(void *));
} PJRT_Memory_FunctionTable;

/* ---- The table ---- */

/* Sizes of the interface have no padding at the end, sizeof has. */
#define PJRT_CHECK_SIZE(type, size)                                                                \
  _Static_assert(sizeof(type) == ((size) + 7) / 8 * 8, #type " has another size")

#define PJRT_FUNCTION(name, size, ...)                                                             \
  typedef struct PJRT_##name##_Args {                                                              \
    PJRT_HEAD;                                                                                     \
    __VA_ARGS__                                                                                    \
  } PJRT_##name##_Args;                                                                            \
  PJRT_CHECK_SIZE(PJRT_##name##_Args, size);
#define PJRT_PROCEDURE PJRT_FUNCTION
#define PJRT_LACKING(name) typedef struct PJRT_##name##_Args PJRT_##name##_Args;
#include "pjrt/functions.def"
#undef PJRT_FUNCTION
#undef PJRT_PROCEDURE
#undef PJRT_LACKING

typedef struct PJRT_Api_Version {
  PJRT_HEAD;
  int major_version, minor_version;
} PJRT_Api_Version;

typedef struct PJRT_Api {
  PJRT_HEAD;
  PJRT_Api_Version pjrt_api_version;
#define PJRT_FUNCTION(name, size, ...) PJRT_Error *(*name)(PJRT_##name##_Args *);
#define PJRT_PROCEDURE(name, size, ...) void (*name)(PJRT_##name##_Args *);
#define PJRT_LACKING(name) PJRT_Error *(*name)(PJRT_##name##_Args *);
#include "pjrt/functions.def"
#undef PJRT_FUNCTION
#undef PJRT_PROCEDURE
#undef PJRT_LACKING
} PJRT_Api;

/* What a plugin exports, and all of it. Static. */
const PJRT_Api *GetPjrtApi(void);

/* ---- Extensions ---- */

/* Layouts of arrays in memory, as text: "{1,0}" lists dimensions from the fastest varying one on. */
typedef struct PJRT_Layouts_MemoryLayout PJRT_Layouts_MemoryLayout;
typedef struct PJRT_Layouts_SerializedLayout PJRT_Layouts_SerializedLayout;

typedef struct PJRT_Layouts_MemoryLayout_Destroy_Args {
  PJRT_HEAD;
  PJRT_Layouts_MemoryLayout *layout;
} PJRT_Layouts_MemoryLayout_Destroy_Args;

typedef struct PJRT_Layouts_MemoryLayout_Serialize_Args {
  PJRT_HEAD;
  PJRT_Layouts_MemoryLayout *layout;
  const char *serialized_bytes;
  size_t serialized_bytes_size;
  PJRT_Layouts_SerializedLayout *serialized_layout;
  void (*serialized_layout_deleter)(PJRT_Layouts_SerializedLayout *layout);
} PJRT_Layouts_MemoryLayout_Serialize_Args;

typedef struct PJRT_Layouts_GetDefaultLayout_Args {
  PJRT_HEAD;
  void *client_or_topology;
  PJRT_Buffer_Type type;
  const int64_t *dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout *layout;
} PJRT_Layouts_GetDefaultLayout_Args;

typedef struct PJRT_Layouts_Buffer_MemoryLayout_Args {
  PJRT_HEAD;
  PJRT_Buffer *buffer;
  PJRT_Layouts_MemoryLayout *layout;
} PJRT_Layouts_Buffer_MemoryLayout_Args;

typedef struct PJRT_Layouts_Executable_Args {
  PJRT_HEAD;
  PJRT_Executable *executable;
  size_t count;
  PJRT_Layouts_MemoryLayout **layouts; /* the executable's */
} PJRT_Layouts_Executable_Args;

typedef struct PJRT_Layouts_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*layout_destroy)(PJRT_Layouts_MemoryLayout_Destroy_Args *);
  PJRT_Error *(*layout_serialize)(PJRT_Layouts_MemoryLayout_Serialize_Args *);
  PJRT_Error *(*client_default)(PJRT_Layouts_GetDefaultLayout_Args *);
  PJRT_Error *(*buffer_layout)(PJRT_Layouts_Buffer_MemoryLayout_Args *);
  PJRT_Error *(*topology_default)(PJRT_Layouts_GetDefaultLayout_Args *);
  PJRT_Error *(*output_layouts)(PJRT_Layouts_Executable_Args *);
  PJRT_Error *(*parameter_layouts)(PJRT_Layouts_Executable_Args *);
} PJRT_Layouts_Extension;

/* How arguments and results lie on several devices: an OpSharding message each, no bytes for one that all
 * devices have; a list NULL for not known. */
typedef struct PJRT_Shardings_Args {
  PJRT_HEAD;
  PJRT_Executable *executable;
  size_t count;
  const char *const *shardings;
  const size_t *sharding_sizes;
} PJRT_Shardings_Args;

typedef struct PJRT_Shardings_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*parameter_shardings)(PJRT_Shardings_Args *);
  PJRT_Error *(*output_shardings)(PJRT_Shardings_Args *);
} PJRT_Shardings_Extension;

/* Which kinds of memory the devices of a topology have. */
typedef struct PJRT_MemoryDescription PJRT_MemoryDescription;

typedef struct PJRT_DeviceDescription_MemoryDescriptions_Args {
  PJRT_HEAD;
  PJRT_DeviceDescription *device_description;
  const PJRT_MemoryDescription *const *memory_descriptions; /* static */
  size_t num_memory_descriptions;
  size_t default_memory_index; /* (size_t)-1: none */
} PJRT_DeviceDescription_MemoryDescriptions_Args;

typedef struct PJRT_MemoryDescription_Kind_Args {
  PJRT_HEAD;
  const PJRT_MemoryDescription *memory_description;
  const char *kind;
  size_t kind_size;
  int kind_id;
} PJRT_MemoryDescription_Kind_Args;

typedef struct PJRT_MemoryDescriptions_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*descriptions)(PJRT_DeviceDescription_MemoryDescriptions_Args *);
  PJRT_Error *(*kind)(PJRT_MemoryDescription_Kind_Args *);
} PJRT_MemoryDescriptions_Extension;

/* How custom calls are partitioned: functions of the caller's, which are asked while a program is compiled. Shapes
 * are ShapeProto messages, shardings OpSharding messages; of a tuple those of a tuple. */
typedef struct JAX_Partitioner_text {
  const char *data;
  size_t size;
} JAX_Partitioner_text;

typedef struct JAX_Partitioner_array {
  JAX_Partitioner_text shape;
  bool has_sharding;
  JAX_Partitioner_text sharding;
} JAX_Partitioner_array;

/* What the function writes is valid until `cleanup` is called with `data`. */
typedef struct JAX_Partitioner_header {
  int64_t api_version;
  void *data;
  void (*cleanup)(void *data);
  bool has_error;
  PJRT_Error_Code code;
  JAX_Partitioner_text message;
} JAX_Partitioner_header;

typedef struct JAX_Partitioner_Partition_Args {
  JAX_Partitioner_header header;
  size_t operand_count;
  JAX_Partitioner_array *operands;
  JAX_Partitioner_array result;
  JAX_Partitioner_text config; /* the call's backend_config */
  JAX_Partitioner_text program;
  JAX_Partitioner_text *operand_shardings;
  JAX_Partitioner_text result_sharding;
} JAX_Partitioner_Partition_Args;

typedef struct JAX_Partitioner {
  int64_t api_version;
  void *private_data;
  void (*release)(struct JAX_Partitioner *);
  void (*partition)(struct JAX_Partitioner *, JAX_Partitioner_Partition_Args *);
  /* How shardings travel along a call, which its sharding rule says here. */
  void (*infer_sharding)(struct JAX_Partitioner *, void *);
  void (*propagate_user_sharding)(struct JAX_Partitioner *, void *);
  bool can_side_effecting_have_replicated_sharding;
} JAX_Partitioner;

typedef struct PJRT_Register_Custom_Partitioner_Args {
  size_t struct_size; /* there is no list of extensions */
  const char *name;
  size_t name_size;
  JAX_Partitioner *callbacks; /* lives on */
} PJRT_Register_Custom_Partitioner_Args;

typedef struct PJRT_Register_Batch_Partitionable_Args {
  size_t struct_size;
  const char *name;
  size_t name_size;
} PJRT_Register_Batch_Partitionable_Args;

typedef struct PJRT_Custom_Partitioner_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*register_partitioner)(PJRT_Register_Custom_Partitioner_Args *);
  PJRT_Error *(*register_batch)(PJRT_Register_Batch_Partitionable_Args *);
} PJRT_Custom_Partitioner_Extension;

/* What the bytes are that a custom call InspectSharding has as its configuration: a function that is told an
 * OpSharding message, and its first argument. */
typedef struct JAX_Inspector_Args {
  char *sharding;
  size_t sharding_size;
  const char *error; /* out; NULL: it went well */
  void *scratch;
  void (*free_error)(struct JAX_Inspector_Args *);
} JAX_Inspector_Args;

typedef struct JAX_Inspector {
  void (*call)(void *data, JAX_Inspector_Args *);
  void *data;
} JAX_Inspector;

/* Handlers of custom calls, which are functions of ffi_abi.h. */
typedef void PJRT_Handler(void);

/* The number of a type: in and out, where 0 asks for one. */
typedef struct PJRT_FFI_Type_Info {
  void (*deleter)(void *object);
} PJRT_FFI_Type_Info;

typedef struct PJRT_FFI_Type_Register_Args {
  PJRT_HEAD;
  const char *type_name;
  size_t type_name_size;
  int64_t type_id;
  const PJRT_FFI_Type_Info *type_info;
} PJRT_FFI_Type_Register_Args;

typedef struct PJRT_FFI_UserData {
  int64_t type_id;
  void *data;
} PJRT_FFI_UserData;

typedef struct PJRT_FFI_UserData_Add_Args {
  PJRT_HEAD;
  PJRT_ExecuteContext *context;
  PJRT_FFI_UserData user_data;
} PJRT_FFI_UserData_Add_Args;

/* Without the head of others. */
typedef struct PJRT_FFI_Register_Handler_Args {
  size_t struct_size;
  const char *target_name;
  size_t target_name_size;
  PJRT_Handler *handler; /* of the stage that executes */
  const char *platform_name;
  size_t platform_name_size;
  int traits;
} PJRT_FFI_Register_Handler_Args;

typedef struct PJRT_FFI_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*type_register)(PJRT_FFI_Type_Register_Args *);
  PJRT_Error *(*user_data_add)(PJRT_FFI_UserData_Add_Args *);
  PJRT_Error *(*register_handler)(PJRT_FFI_Register_Handler_Args *);
} PJRT_FFI_Extension;

/* Handlers of all stages, for the plugin's own platform. */
typedef struct PJRT_Custom_Call_Register_Args {
  size_t struct_size;
  const char *function_name;
  size_t function_name_size;
  int api_version; /* 1: typed */
  PJRT_Handler *instantiate, *prepare, *initialize, *execute;
} PJRT_Custom_Call_Register_Args;

typedef struct PJRT_Custom_Call_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*register_call)(PJRT_Custom_Call_Register_Args *);
} PJRT_Custom_Call_Extension;

/* What records what the platform does, while a framework's own profiler runs. Its interface is one of its own: its
 * errors are not the plugin's to the caller, and its arguments have no list of extensions. */
typedef struct PLUGIN_Profiler_Error PLUGIN_Profiler_Error;
typedef struct PLUGIN_Profiler PLUGIN_Profiler;

typedef struct PLUGIN_Profiler_Error_Args {
  size_t struct_size;
  void *priv;
  PLUGIN_Profiler_Error *error;
} PLUGIN_Profiler_Error_Args;

typedef struct PLUGIN_Profiler_Error_Message_Args {
  size_t struct_size;
  void *priv;
  const PLUGIN_Profiler_Error *error;
  const char *message; /* the error's */
  size_t message_size;
} PLUGIN_Profiler_Error_Message_Args;

typedef struct PLUGIN_Profiler_Error_GetCode_Args {
  size_t struct_size;
  void *priv;
  const PLUGIN_Profiler_Error *error;
  int code; /* a PJRT_Error_Code */
} PLUGIN_Profiler_Error_GetCode_Args;

typedef struct PLUGIN_Profiler_Create_Args {
  size_t struct_size;
  const char *options; /* a ProfileOptions message */
  size_t options_size;
  PLUGIN_Profiler *profiler;
} PLUGIN_Profiler_Create_Args;

typedef struct PLUGIN_Profiler_Args {
  size_t struct_size;
  PLUGIN_Profiler *profiler;
} PLUGIN_Profiler_Args;

/* An XSpace message. Called with no buffer it gives the profiler's own, good until the next such call; callers may
 * call again with a buffer of that size of their own, into which it is copied. They need not set struct_size, here
 * and above. */
typedef struct PLUGIN_Profiler_CollectData_Args {
  size_t struct_size;
  PLUGIN_Profiler *profiler;
  uint8_t *buffer;
  size_t buffer_size_in_bytes;
} PLUGIN_Profiler_CollectData_Args;

typedef struct PLUGIN_Profiler_Api {
  size_t struct_size;
  void *priv;
  void (*error_destroy)(PLUGIN_Profiler_Error_Args *);
  void (*error_message)(PLUGIN_Profiler_Error_Message_Args *);
  PLUGIN_Profiler_Error *(*error_get_code)(PLUGIN_Profiler_Error_GetCode_Args *);
  PLUGIN_Profiler_Error *(*create)(PLUGIN_Profiler_Create_Args *);
  PLUGIN_Profiler_Error *(*destroy)(PLUGIN_Profiler_Args *);
  PLUGIN_Profiler_Error *(*start)(PLUGIN_Profiler_Args *);
  PLUGIN_Profiler_Error *(*stop)(PLUGIN_Profiler_Args *);
  PLUGIN_Profiler_Error *(*collect_data)(PLUGIN_Profiler_CollectData_Args *);
} PLUGIN_Profiler_Api;

typedef struct PJRT_Profiler_Extension {
  PJRT_Extension_Base base;
  PLUGIN_Profiler_Api *profiler_api;
  int64_t traceme_context_id; /* of calls that carry the extension */
} PJRT_Profiler_Extension;

/* ---- What the interface says about sizes and places ---- */

PJRT_CHECK_SIZE(PJRT_Extension_Base, 24);
PJRT_CHECK_SIZE(PJRT_NamedValue, 56);
PJRT_CHECK_SIZE(PJRT_Buffer_MemoryLayout, 76);
PJRT_CHECK_SIZE(PJRT_ShapeSpec, 36);
PJRT_CHECK_SIZE(PJRT_Program, 48);
PJRT_CHECK_SIZE(PJRT_KeyValueGetCallback_Args, 80);
PJRT_CHECK_SIZE(PJRT_KeyValuePutCallback_Args, 64);
PJRT_CHECK_SIZE(PJRT_ExecuteOptions, 144);
PJRT_CHECK_SIZE(PJRT_Api_Version, 24);
PJRT_CHECK_SIZE(PJRT_Buffer_CopyRawToHostFuture_Callback_Args, 48);
PJRT_CHECK_SIZE(PJRT_Buffer_DonateWithControlDependency_Callback_Args, 40);
PJRT_CHECK_SIZE(PJRT_MemoryDescriptions_Extension, 40);
PJRT_CHECK_SIZE(PJRT_Api, 1144);
PJRT_CHECK_SIZE(PJRT_Layouts_MemoryLayout_Serialize_Args, 56);
PJRT_CHECK_SIZE(PJRT_Layouts_Extension, 80);
PJRT_CHECK_SIZE(PJRT_Shardings_Extension, 40);
PJRT_CHECK_SIZE(PJRT_Custom_Partitioner_Extension, 40);
PJRT_CHECK_SIZE(PJRT_FFI_Extension, 48);
PJRT_CHECK_SIZE(PJRT_Custom_Call_Register_Args, 64);
PJRT_CHECK_SIZE(PLUGIN_Profiler_Api, 80);
PJRT_CHECK_SIZE(PJRT_Profiler_Extension, 40);
/* Function n of the table is at byte 40 + 8 (n - 1). */
#define PJRT_CHECK_PLACE(name, n)                                                                  \
  _Static_assert(offsetof(PJRT_Api, name) == 40 + 8 * ((n)-1), #name " is at another place")
PJRT_CHECK_PLACE(Error_Destroy, 1);
PJRT_CHECK_PLACE(Client_Create, 11);
PJRT_CHECK_PLACE(Client_BufferFromHostBuffer, 23);
PJRT_CHECK_PLACE(Device_MemoryStats, 35);
PJRT_CHECK_PLACE(LoadedExecutable_Execute, 56);
PJRT_CHECK_PLACE(Buffer_ToHostBuffer, 71);
PJRT_CHECK_PLACE(Compile, 90);
PJRT_CHECK_PLACE(Buffer_CopyRawToHost, 101);
PJRT_CHECK_PLACE(Client_CreateErrorBuffer, 119);
PJRT_CHECK_PLACE(Device_GetAttributes, 129);
PJRT_CHECK_PLACE(TopologyDescription_GetMemorySpaceKindIds, 138);

#endif
