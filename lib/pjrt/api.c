/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/api.c: the table that the plugin exports, and what it says of itself. */
#include "pjrt/pjrt.h"

/* Functions that the plugin does not have say so by name. */
#define PJRT_FUNCTION(name, size, ...)
#define PJRT_PROCEDURE(name, size, ...)
#define PJRT_LACKING(name)                                                                         \
  static PJRT_Error *api_lacking_##name(PJRT_##name##_Args *args) {                                \
    (void)args;                                                                                    \
    return pjrt_error(PJRT_Error_Code_UNIMPLEMENTED,                                               \
                      "PJRT_" #name " is not implemented by the halo plugin");                     \
  }
#include "pjrt/functions.def"
#undef PJRT_FUNCTION
#undef PJRT_PROCEDURE
#undef PJRT_LACKING

/* ---- What every call is looked at for ---- */

/* Calls come from any language and from programs that were built with other versions of the interface. Arguments and
 * objects that are not there are said rather than followed. No more than the first field is asked of a size: headers
 * before have counted wrong, and what came later is looked for where it is read (PJRT_HAS). */
enum { API_LEAST = 24 };

static PJRT_Error *api_refuse(const size_t *args, const char *name) {
  const char *reason = !args               ? "no arguments were given"
                       : *args < API_LEAST ? "struct_size is less than any version's"
                                           : "the object that it is called for is NULL";
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "PJRT_%s: %s", name, reason);
}

static inline bool api_is_good(const void *args, size_t least, bool object) {
  const struct {
    PJRT_HEAD;
    void *object;
  } *head = args;
  return args && head->struct_size >= least && (!object || head->object);
}

#define API_CHECKED(name, size, object)                                                            \
  static PJRT_Error *api_checked_##name(PJRT_##name##_Args *args) {                                \
    size_t least = (size) < API_LEAST ? (size) : API_LEAST;                                        \
    if (!api_is_good(args, least, object)) return api_refuse((const void *)args, #name);           \
    return pjrt_##name(args);                                                                      \
  }
#define PJRT_FUNCTION(name, size, ...) API_CHECKED(name, size, true)
#define PJRT_LOOSE(name, size, ...) API_CHECKED(name, size, false)
#define PJRT_PROCEDURE(name, size, ...)                                                            \
  static void api_checked_##name(PJRT_##name##_Args *args) {                                       \
    if (api_is_good(args, API_LEAST, false)) pjrt_##name(args);                                    \
  }
#define PJRT_LACKING(name)
#include "pjrt/functions.def"
#undef PJRT_FUNCTION
#undef PJRT_PROCEDURE
#undef PJRT_LACKING

static const PJRT_Api api_table = {
    .struct_size = sizeof(PJRT_Api),
    .extension_start = &pjrt_profiler_extension.base,
    .pjrt_api_version = {.struct_size = sizeof(PJRT_Api_Version),
                         .major_version = PJRT_API_MAJOR,
                         .minor_version = PJRT_API_MINOR},
#define PJRT_FUNCTION(name, size, ...) .name = api_checked_##name,
#define PJRT_PROCEDURE(name, size, ...) .name = api_checked_##name,
#define PJRT_LACKING(name) .name = api_lacking_##name,
#include "pjrt/functions.def"
#undef PJRT_FUNCTION
#undef PJRT_PROCEDURE
#undef PJRT_LACKING
};

HALO_API const PJRT_Api *GetPjrtApi(void) { return &api_table; }

/* ---- The plugin ---- */

PJRT_Error *pjrt_Plugin_Initialize(PJRT_Plugin_Initialize_Args *args) {
  (void)args;
  pjrt_partitioner_install();
  return NULL;
}

#define API_NAME(text)                                                                             \
  .struct_size = sizeof(PJRT_NamedValue), .name = text, .name_size = sizeof(text) - 1

/* Frameworks write programs in the version of StableHLO that is asked for here, or in their own if that is
 * older. */
static const int64_t api_stablehlo[] = {1, 17, 0}, api_stablehlo_least[] = {0, 9, 0};
static const PJRT_NamedValue api_attributes[] = {
    {API_NAME("stablehlo_current_version"), .type = PJRT_NamedValue_kInt64List,
     .int64_array_value = api_stablehlo, .value_size = 3},
    {API_NAME("stablehlo_minimum_version"), .type = PJRT_NamedValue_kInt64List,
     .int64_array_value = api_stablehlo_least, .value_size = 3},
    {API_NAME("supports_executable_serialization"), .type = PJRT_NamedValue_kBool,
     .bool_value = true, .value_size = 1},
    {API_NAME("halo_version"), .type = PJRT_NamedValue_kString, .string_value = HALO_VERSION_TEXT,
     .value_size = sizeof HALO_VERSION_TEXT - 1},
};

PJRT_Error *pjrt_Plugin_Attributes(PJRT_Plugin_Attributes_Args *args) {
  args->attributes = api_attributes;
  args->num_attributes = sizeof api_attributes / sizeof api_attributes[0];
  return NULL;
}
