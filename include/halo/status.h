/* halo/status.h: the result of every fallible call, and the message that goes with a failure. */
#ifndef HALO_STATUS_H
#define HALO_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HALO_MUST_USE __attribute__((warn_unused_result))
#define HALO_API __attribute__((visibility("default")))
#else
#define HALO_MUST_USE
#define HALO_API
#endif

/* What became of a call. HALO_OK is 0; every other value is a failure whose message is kept for the
 * calling thread (halo_error_message). */
typedef enum halo_status {
  HALO_OK = 0,
  HALO_INVALID_ARGUMENT = 1, /* the caller's fault: a bad argument, a broken program text */
  HALO_UNIMPLEMENTED = 2,    /* legal, but this library or this device cannot do it */
  HALO_NOT_FOUND = 3,        /* a named thing (file, device, name) does not exist */
  HALO_OUT_OF_MEMORY = 4,    /* device or host memory; the message says what was asked and held */
  HALO_IO_ERROR = 5,         /* reading or writing a file failed */
  HALO_NO_DEVICE = 6,        /* no OpenCL device could be found */
  HALO_DEVICE_ERROR = 7,     /* the OpenCL runtime or its compiler failed */
  HALO_FAILED_PRECONDITION = 8, /* right call, wrong moment: a donated buffer, a used-up builder */
  HALO_DEADLINE_EXCEEDED = 9,   /* something that had a time limit did not happen in time */
  HALO_INTERNAL = 10,           /* a bug in this library */
  HALO_ABORTED = 11             /* another device's part of the same run failed */
} halo_status;

/* The library's version, "MAJOR.MINOR.PATCH"; that of the headers is in halo/halo.h. Static. */
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
