/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/ffi_abi.h: the C interface between XLA and typed handlers of custom calls ("FFI"), as far as the plugin
 * gives it to them: versions 0.1 to 0.5, of which each has all of the one before in the same places.
 *
 * Names, order and types of fields are those of the interface. All structures begin with their size as whoever
 * made them knows it (PJRT_HAS). Element types have XLA's numbers, which are halo_type's. */
#ifndef HALO_PJRT_FFI_ABI_H
#define HALO_PJRT_FFI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { XLA_FFI_MAJOR = 0, XLA_FFI_MINOR_LEAST = 1, XLA_FFI_MINOR = 5 };

typedef struct XLA_FFI_Extension_Base {
  size_t struct_size;
  int type;
  struct XLA_FFI_Extension_Base *next;
} XLA_FFI_Extension_Base;
enum { XLA_FFI_Extension_Metadata = 1 };

#define XLA_FFI_HEAD                                                                               \
  size_t struct_size;                                                                              \
  XLA_FFI_Extension_Base *extension_start

typedef struct XLA_FFI_Error XLA_FFI_Error;
typedef struct XLA_FFI_Future XLA_FFI_Future;
typedef struct XLA_FFI_ExecutionContext XLA_FFI_ExecutionContext;
typedef struct XLA_FFI_Api XLA_FFI_Api;

typedef struct XLA_FFI_Api_Version {
  XLA_FFI_HEAD;
  int major_version, minor_version;
} XLA_FFI_Api_Version;

typedef struct XLA_FFI_ByteSpan {
  const char *ptr;
  size_t len;
} XLA_FFI_ByteSpan;

/* ---- What a handler is called with ---- */

typedef struct XLA_FFI_Buffer {
  XLA_FFI_HEAD;
  int dtype;
  void *data;
  int64_t rank;
  const int64_t *dims; /* [rank] */
} XLA_FFI_Buffer;
enum { XLA_FFI_ArgType_BUFFER = 1 };

typedef struct XLA_FFI_Scalar {
  int dtype;
  void *value;
} XLA_FFI_Scalar;

typedef struct XLA_FFI_Array {
  int dtype;
  size_t size; /* elements */
  void *data;
} XLA_FFI_Array;

typedef enum XLA_FFI_AttrType {
  XLA_FFI_AttrType_ARRAY = 1,
  XLA_FFI_AttrType_DICTIONARY = 2,
  XLA_FFI_AttrType_SCALAR = 3,
  XLA_FFI_AttrType_STRING = 4
} XLA_FFI_AttrType;

/* Operands, and results. */
typedef struct XLA_FFI_Args {
  XLA_FFI_HEAD;
  int64_t size;
  int *types;
  XLA_FFI_Buffer **args;
} XLA_FFI_Args;

/* Sorted by name. A dictionary within is one of these; strings are byte spans. */
typedef struct XLA_FFI_Attrs {
  XLA_FFI_HEAD;
  int64_t size;
  XLA_FFI_AttrType *types;
  XLA_FFI_ByteSpan **names;
  void **attrs;
} XLA_FFI_Attrs;

typedef enum XLA_FFI_ExecutionStage {
  XLA_FFI_ExecutionStage_INSTANTIATE = 0,
  XLA_FFI_ExecutionStage_PREPARE = 1,
  XLA_FFI_ExecutionStage_INITIALIZE = 2,
  XLA_FFI_ExecutionStage_EXECUTE = 3
} XLA_FFI_ExecutionStage;

typedef struct XLA_FFI_CallFrame {
  XLA_FFI_HEAD;
  const XLA_FFI_Api *api;
  XLA_FFI_ExecutionContext *ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_Args args, rets;
  XLA_FFI_Attrs attrs;
  XLA_FFI_Future *future; /* out: of a handler that goes on; not counted in struct_size */
} XLA_FFI_CallFrame;

typedef XLA_FFI_Error *XLA_FFI_Handler(XLA_FFI_CallFrame *frame);

/* What a handler that gets this extension fills, and does nothing else. */
typedef struct XLA_FFI_Metadata {
  size_t struct_size;
  XLA_FFI_Api_Version api_version;
  uint32_t traits;
  int64_t state_type_id;
} XLA_FFI_Metadata;

typedef struct XLA_FFI_Metadata_Extension {
  XLA_FFI_Extension_Base base;
  XLA_FFI_Metadata *metadata;
} XLA_FFI_Metadata_Extension;

/* ---- What a handler calls ---- */

typedef struct XLA_FFI_Error_Create_Args {
  XLA_FFI_HEAD;
  const char *message;
  int errc; /* as PJRT_Error_Code */
} XLA_FFI_Error_Create_Args;

typedef struct XLA_FFI_Error_GetDetails_Args {
  XLA_FFI_HEAD;
  XLA_FFI_Error *error;
  const char *message;
  int errc; /* since 0.4 */
} XLA_FFI_Error_GetDetails_Args;

typedef struct XLA_FFI_Error_Destroy_Args {
  XLA_FFI_HEAD;
  XLA_FFI_Error *error;
} XLA_FFI_Error_Destroy_Args;

typedef struct XLA_FFI_TypeInfo {
  XLA_FFI_HEAD;
  void (*deleter)(void *object);
} XLA_FFI_TypeInfo;

typedef struct XLA_FFI_Type_Register_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ByteSpan name;
  int64_t *type_id; /* in and out: 0 asks for one */
  const XLA_FFI_TypeInfo *type_info;
} XLA_FFI_Type_Register_Args;

typedef struct XLA_FFI_State_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  XLA_FFI_ExecutionStage stage;
  const int64_t *type_id;
  void *state; /* in or out */
} XLA_FFI_State_Args;

typedef struct XLA_FFI_Memory_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  size_t size;
  size_t alignment; /* asked for when it is allocated; the next field when it is freed */
  void *data;
} XLA_FFI_Memory_Args;

typedef struct XLA_FFI_Memory_Free_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  size_t size;
  void *data;
} XLA_FFI_Memory_Free_Args;

typedef struct XLA_FFI_Schedule_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  void (*task)(void *data);
  void *data;
} XLA_FFI_Schedule_Args;

typedef struct XLA_FFI_NumThreads_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  int64_t *num_threads;
} XLA_FFI_NumThreads_Args;

typedef struct XLA_FFI_Future_Args {
  XLA_FFI_HEAD;
  XLA_FFI_Future *future; /* out where it is created */
  XLA_FFI_Error *error;   /* where it fails; is taken over */
} XLA_FFI_Future_Args;

/* What a context may be asked for and this plugin's has not. */
typedef struct XLA_FFI_Query_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
} XLA_FFI_Query_Args;

/* What the caller of the program left under a type. */
typedef struct XLA_FFI_Context_Get_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  const int64_t *type_id;
  void *data; /* out */
} XLA_FFI_Context_Get_Args;

typedef struct XLA_FFI_RunId_Get_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  int64_t run_id; /* out */
} XLA_FFI_RunId_Get_Args;

typedef struct XLA_FFI_DeviceOrdinal_Get_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  int32_t device_ordinal; /* out */
} XLA_FFI_DeviceOrdinal_Get_Args;

typedef struct XLA_FFI_FindExtension_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  int64_t extension_type;
  const void *extension; /* out; NULL: none */
} XLA_FFI_FindExtension_Args;

typedef struct XLA_FFI_CustomOptions_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  const XLA_FFI_Attrs *attrs; /* out */
} XLA_FFI_CustomOptions_Args;

struct XLA_FFI_Api {
  XLA_FFI_HEAD;
  XLA_FFI_Api_Version api_version;
  const void *internal_api;
  XLA_FFI_Error *(*error_create)(XLA_FFI_Error_Create_Args *);
  void (*error_get_details)(XLA_FFI_Error_GetDetails_Args *);
  void (*error_destroy)(XLA_FFI_Error_Destroy_Args *);
  XLA_FFI_Error *(*handler_register)(XLA_FFI_Query_Args *);
  XLA_FFI_Error *(*stream_get)(XLA_FFI_Query_Args *);
  XLA_FFI_Error *(*type_register)(XLA_FFI_Type_Register_Args *);
  XLA_FFI_Error *(*context_get)(XLA_FFI_Context_Get_Args *);
  XLA_FFI_Error *(*state_set)(XLA_FFI_State_Args *);
  XLA_FFI_Error *(*state_get)(XLA_FFI_State_Args *);
  XLA_FFI_Error *(*memory_allocate)(XLA_FFI_Memory_Args *);
  XLA_FFI_Error *(*memory_free)(XLA_FFI_Memory_Free_Args *);
  XLA_FFI_Error *(*pool_schedule)(XLA_FFI_Schedule_Args *);
  XLA_FFI_Error *(*pool_num_threads)(XLA_FFI_NumThreads_Args *);
  XLA_FFI_Error *(*future_create)(XLA_FFI_Future_Args *);
  XLA_FFI_Error *(*future_set_available)(XLA_FFI_Future_Args *);
  XLA_FFI_Error *(*future_set_error)(XLA_FFI_Future_Args *);
  XLA_FFI_Error *(*run_id_get)(XLA_FFI_RunId_Get_Args *);
  XLA_FFI_Error *(*device_ordinal_get)(XLA_FFI_DeviceOrdinal_Get_Args *);
  /* since 0.4 */
  XLA_FFI_Error *(*context_find_extension)(XLA_FFI_FindExtension_Args *);
  /* since 0.5 */
  XLA_FFI_Error *(*custom_options_get)(XLA_FFI_CustomOptions_Args *);
};

_Static_assert(sizeof(XLA_FFI_Buffer) == 48, "XLA_FFI_Buffer");
_Static_assert(sizeof(XLA_FFI_Attrs) == 48, "XLA_FFI_Attrs");
_Static_assert(offsetof(XLA_FFI_CallFrame, future) == 168, "XLA_FFI_CallFrame");
_Static_assert(sizeof(XLA_FFI_Metadata) == 48, "XLA_FFI_Metadata");
_Static_assert(offsetof(XLA_FFI_Api, error_create) == 48, "XLA_FFI_Api");
_Static_assert(sizeof(XLA_FFI_Api) == 48 + 20 * sizeof(void *), "XLA_FFI_Api");

#endif
