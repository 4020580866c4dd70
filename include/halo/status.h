/* SPDX-License-Identifier: Apache-2.0 */
/* halo/status.h: the result of every call that can fail, and the message that belongs to a
 * failure. */
#ifndef HALO_STATUS_H
#define HALO_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
/* The compiler warns if the result of such a function is ignored. */
#define HALO_MUST_USE __attribute__((warn_unused_result))
/* Marks the functions that the library exports. */
#define HALO_API __attribute__((visibility("default")))
#else
#define HALO_MUST_USE
#define HALO_API
#endif

/* The result of a call. HALO_OK is 0. Every other value is a failure, whose message is kept for the
 * calling thread (halo_error_message). */
typedef enum halo_status {
  HALO_OK = 0,
  HALO_INVALID_ARGUMENT = 1, /* the caller's mistake: a bad argument, a malformed program */
  HALO_UNIMPLEMENTED = 2,    /* legal, but not supported by this library or device */
  HALO_NOT_FOUND = 3,        /* a named thing (file, device, name) does not exist */
  HALO_OUT_OF_MEMORY =
      4,              /* on the device or host; the message says how much was requested and held */
  HALO_IO_ERROR = 5,  /* reading or writing a file failed */
  HALO_NO_DEVICE = 6, /* no OpenCL device could be found */
  HALO_DEVICE_ERROR = 7,        /* the OpenCL runtime or its compiler failed */
  HALO_FAILED_PRECONDITION = 8, /* not in this state: a donated buffer, a builder that was built */
  HALO_DEADLINE_EXCEEDED = 9,   /* a time limit expired */
  HALO_INTERNAL = 10,           /* a bug in this library */
  HALO_ABORTED = 11             /* another device's part of the same run failed */
} halo_status;

/* The library's version, "MAJOR.MINOR.PATCH"; halo/halo.h has that of the headers. Static. */
HALO_API const char *halo_version(void);

/* The name of a status, such as "INVALID_ARGUMENT". Static; never NULL. */
HALO_API const char *halo_status_name(halo_status status);

/* The message of the newest failure in the calling thread, or "" when there was none. Owned by the
 * library; valid until the next failing halo call in this thread. */
HALO_API const char *halo_error_message(void);

#ifdef __cplusplus
}
#endif
#endif
