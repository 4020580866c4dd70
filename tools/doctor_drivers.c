/* SPDX-License-Identifier: Apache-2.0 */
/* tools/doctor_drivers.c: the OpenCL loader, the drivers that it is told of, and what they offer, for `halo doctor`. */
#include "doctor.h"
#include "tool.h"

#include "cpu/clang.h"
#include "cpu/llvm.h"
#include "halo/client.h"

#include <CL/cl.h>
#include <dirent.h>
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char drivers_folder[] = "/etc/OpenCL/vendors";
static const char drivers_loader[] = "libOpenCL.so.1";

/* ---- Child processes ---- */

/* Seconds that a child may take; PoCL's first start and drivers of many GPUs take one or two. */
enum { DRIVERS_PATIENCE = 30 };

/* The child writes lines of fields, which tabs separate. */
typedef void drivers_work(const void *what, FILE *out);

/* Reads until the child closes its end, or time is over. */
static char *drivers_read(int fd, bool *in_time) {
  size_t size = 0, capacity = 1 << 16;
  char *text = tool_alloc(capacity + 1);
  double end = tool_now() + DRIVERS_PATIENCE;
  *in_time = false;
  while (!*in_time && tool_now() < end && size < capacity) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    if (poll(&one, 1, 200) <= 0) continue;
    ssize_t got = read(fd, text + size, capacity - size);
    if (got > 0) size += (size_t)got;
    *in_time = got <= 0;
  }
  return text;
}

/* Does the work in a child process, and gives what it wrote, to be freed; *trouble: how the child ended, where it
 * did not end well (to be freed), or NULL. */
static char *drivers_in_child(drivers_work *work, const void *what, char **trouble) {
  int ends[2];
  *trouble = NULL;
  fflush(NULL);
  pid_t child = pipe(ends) == 0 ? fork() : -1;
  if (child < 0) {
    *trouble = tool_strdup("no process could be started to try it");
    return tool_strdup("");
  }
  if (child == 0) {
    /* Drivers write to stderr what belongs to nobody's report. */
    if (!freopen("/dev/null", "w", stderr)) _exit(1);
    close(ends[0]);
    FILE *out = fdopen(ends[1], "w");
    work(what, out);
    fflush(out);
    _exit(0); /* no driver's clean-up may hang or crash */
  }
  close(ends[1]);
  bool in_time;
  char *text = drivers_read(ends[0], &in_time);
  close(ends[0]);
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  if (!in_time) {
    *trouble = tool_printf("it did not return within %d s", DRIVERS_PATIENCE);
  } else if (WIFSIGNALED(status)) {
    *trouble = tool_printf("it ended the process: %s", strsignal(WTERMSIG(status)));
  }
  return text;
}

/* The next field of a line that a child wrote; *at goes behind it. "" where there is none. */
static char *drivers_field(char **at) {
  size_t length = strcspn(*at, "\t\n");
  char *field = tool_printf("%.*s", (int)length, *at);
  *at += length + ((*at)[length] == '\t');
  return field;
}

/* Goes from line to line. */
static char *drivers_next_line(char *at) {
  at += strcspn(at, "\n");
  return *at ? at + 1 : at;
}

/* ---- The loader ---- */

static void drivers_try_loader(const void *what, FILE *out) {
  Dl_info about;
  (void)what;
  void *loader = dlopen(drivers_loader, RTLD_LAZY | RTLD_LOCAL);
  void *function = loader ? dlsym(loader, "clGetPlatformIDs") : NULL;
  if (function && dladdr(function, &about)) {
    fprintf(out, "yes\t%s\n", about.dli_fname);
  } else {
    fprintf(out, "no\t%s\n", dlerror());
  }
}

/* Where a library of the examined root lies, to be freed; NULL: in none of the usual folders. */
static char *drivers_find_library(const doctor *d, const char *name) {
  static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu",
                                        "/usr/lib/aarch64-linux-gnu",
                                        "/usr/lib64",
                                        "/usr/lib",
                                        "/usr/local/lib",
                                        "/usr/local/nvidia/lib64"};
  if (name[0] == '/') return doctor_exists(d, name) ? tool_strdup(name) : NULL;
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    char *path = tool_printf("%s/%s", folders[i], name);
    if (doctor_exists(d, path)) return path;
    free(path);
  }
  return NULL;
}

static void drivers_see_loader(doctor *d) {
  if (*d->root) {
    d->loader = drivers_find_library(d, drivers_loader);
    if (!d->loader) d->loader_error = tool_strdup("it is in none of the usual folders");
    return;
  }
  char *text = drivers_in_child(drivers_try_loader, NULL, &d->loader_error), *at = text;
  char *verdict = drivers_field(&at), *rest = drivers_field(&at);
  if (strcmp(verdict, "yes") == 0) {
    d->loader = rest;
  } else if (d->loader_error) {
    free(rest);
  } else {
    d->loader_error = rest;
  }
  free(verdict);
  free(text);
}

/* ---- Drivers ---- */

static void drivers_try_library(const void *what, FILE *out) {
  void *driver = dlopen(what, RTLD_LAZY | RTLD_LOCAL);
  const char *error = driver ? NULL : dlerror();
  if (driver && !dlsym(driver, "clGetExtensionFunctionAddress")) {
    error = "it is no OpenCL driver: it has no function clGetExtensionFunctionAddress";
  }
  fprintf(out, "%s\n", error ? error : "");
}

static char *drivers_why_not(const doctor *d, const char *library) {
  if (*d->root) {
    char *path = drivers_find_library(d, library);
    char *error = path ? NULL : tool_printf("%s is in none of the usual folders", library);
    free(path);
    return error;
  }
  char *trouble, *text = drivers_in_child(drivers_try_library, library, &trouble), *at = text;
  char *error = drivers_field(&at);
  free(text);
  if (trouble) {
    free(error);
    return trouble;
  }
  if (*error) return error;
  free(error);
  return NULL;
}

/* A driver that `file` names, by the line in it or, where that is no file, directly. */
static void drivers_add(doctor *d, const char *file, char *library) {
  if (d->driver_count == DOCTOR_MAX) {
    free(library);
    return;
  }
  doctor_driver *driver = &d->drivers[d->driver_count++];
  driver->file = tool_strdup(file);
  driver->library = library ? library : tool_strdup("");
  driver->error = *driver->library ? drivers_why_not(d, driver->library)
                                   : tool_strdup("the file names no library, or cannot be read");
}

/* As loaders do: the .icd files of a folder. */
static void drivers_see_folder(doctor *d, const char *folder) {
  char *full = doctor_path(d, folder);
  struct dirent **names;
  int count = scandir(full, &names, NULL, alphasort);
  free(full);
  for (int i = 0; i < count; i++) {
    if (tool_ends_with(names[i]->d_name, ".icd")) {
      char *file = tool_printf("%s/%s", folder, names[i]->d_name);
      drivers_add(d, file, doctor_first_line(d, file));
      free(file);
    }
    free(names[i]);
  }
  if (count >= 0) free(names);
}

/* OCL_ICD_VENDORS names a folder, an .icd file or, to one loader, a library. */
static void drivers_see_place(doctor *d, const char *place) {
  char *full = doctor_path(d, place);
  struct stat about;
  bool is_folder = stat(full, &about) == 0 && S_ISDIR(about.st_mode);
  free(full);
  if (is_folder) {
    drivers_see_folder(d, place);
  } else if (tool_ends_with(place, ".icd")) {
    char *in_folder = tool_printf("%s/%s", drivers_folder, place);
    const char *file = strchr(place, '/') || doctor_exists(d, place) ? place : in_folder;
    drivers_add(d, file, doctor_first_line(d, file));
    free(in_folder);
  } else if (strstr(place, ".so")) {
    drivers_add(d, "OCL_ICD_VENDORS", tool_strdup(place));
  }
}

static void drivers_see_files(doctor *d) {
  const char *place = getenv("OCL_ICD_VENDORS"), *names = getenv("OCL_ICD_FILENAMES");
  if (!place || !*place) place = getenv("OPENCL_VENDOR_PATH");
  if (place && *place) {
    drivers_see_place(d, place);
  } else {
    drivers_see_folder(d, drivers_folder);
    if (d->conda) {
      char *folder = tool_printf("%s%s", d->conda, drivers_folder);
      drivers_see_folder(d, folder);
      free(folder);
    }
  }
  for (const char *at = names ? names : ""; *at; at += strspn(at, ":")) {
    size_t length = strcspn(at, ":");
    drivers_add(d, "OCL_ICD_FILENAMES", tool_printf("%.*s", (int)length, at));
    at += length;
  }
}

/* ---- Platforms and devices ---- */

/* By the loader itself: the library lists no platform that has no device. */
static void drivers_list_platforms(const void *what, FILE *out) {
  __typeof__(clGetPlatformIDs) *list;
  __typeof__(clGetPlatformInfo) *tell;
  __typeof__(clGetDeviceIDs) *count_devices;
  cl_platform_id ids[DOCTOR_MAX];
  cl_uint count = 0;
  (void)what;
  void *loader = dlopen(drivers_loader, RTLD_LAZY | RTLD_LOCAL);
  if (!loader) return;
  *(void **)&list = dlsym(loader, "clGetPlatformIDs");
  *(void **)&tell = dlsym(loader, "clGetPlatformInfo");
  *(void **)&count_devices = dlsym(loader, "clGetDeviceIDs");
  if (!list || !tell || !count_devices) return;
  if (list(DOCTOR_MAX, ids, &count) != CL_SUCCESS) return;
  for (cl_uint i = 0; i < count && i < DOCTOR_MAX; i++) {
    char name[256] = "", version[256] = "";
    cl_uint devices = 0;
    tell(ids[i], CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    tell(ids[i], CL_PLATFORM_VERSION, sizeof version - 1, version, NULL);
    cl_int code = count_devices(ids[i], CL_DEVICE_TYPE_ALL, 0, NULL, &devices);
    fprintf(out, "%s\t%s\t", name, version);
    if (code == CL_SUCCESS && devices) {
      fprintf(out, "%u\n", devices);
    } else if (code == CL_SUCCESS || code == CL_DEVICE_NOT_FOUND) {
      fprintf(out, "no device\n");
    } else {
      fprintf(out, "OpenCL error %d\n", code);
    }
    fflush(out);
  }
}

static void drivers_see_platforms(doctor *d) {
  char *trouble, *text = drivers_in_child(drivers_list_platforms, NULL, &trouble);
  for (char *at = text; *at && d->platform_count < DOCTOR_MAX; at = drivers_next_line(at)) {
    doctor_platform *platform = &d->platforms[d->platform_count++];
    platform->name = drivers_field(&at);
    platform->version = drivers_field(&at);
    platform->devices = drivers_field(&at);
    platform->has_devices = atoi(platform->devices) > 0;
  }
  free(text);
  if (trouble) {
    doctor_add(d, true,
               tool_printf("A driver fails when it is asked for its devices: %s.", trouble), NULL);
  }
  free(trouble);
}

static void drivers_list_devices(const void *what, FILE *out) {
  halo_device_entry *list;
  int count;
  (void)what;
  if (halo_device_list(NULL, &list, &count) != HALO_OK) {
    fprintf(out, "\t%s\n", halo_error_message());
    return;
  }
  for (int i = 0; i < count; i++) {
    const halo_device_info *info = &list[i].info;
    bool is_null = strcmp(info->kind, "null") == 0;
    if (is_null) {
      fprintf(out, "null");
    } else {
      fprintf(out, "%d:%d", list[i].platform, list[i].device);
    }
    fprintf(out, "\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\n", info->kind, info->name, info->platform,
            info->vendor, info->driver, info->version, list[i].probes ? list[i].probes : "",
            list[i].usable, list[i].chosen);
  }
}

static void drivers_see_devices(doctor *d) {
  char *trouble, *text = drivers_in_child(drivers_list_devices, NULL, &trouble);
  for (char *at = text; *at && d->device_count < DOCTOR_MAX; at = drivers_next_line(at)) {
    if (*at == '\t') {
      at++;
      d->list_error = drivers_field(&at);
      continue;
    }
    doctor_device *device = &d->devices[d->device_count++];
    char **const fields[] = {&device->number, &device->kind,   &device->name,    &device->platform,
                             &device->vendor, &device->driver, &device->version, &device->probes};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) *fields[i] = drivers_field(&at);
    char *usable = drivers_field(&at), *chosen = drivers_field(&at);
    device->usable = *usable == '1';
    device->chosen = *chosen == '1';
    free(usable);
    free(chosen);
  }
  free(text);
  if (trouble && !d->list_error) d->list_error = trouble;
}

static void drivers_name_compiler(const void *what, FILE *out) {
  const char *wish = getenv("HALO_CPU");
  (void)what;
  if (cpu_clang_find()) return;
  bool by_clang = wish && strcmp(wish, "clang") == 0;
  if (by_clang) {
    fprintf(out, "%s alone, as HALO_CPU says\n", cpu_clang_name());
  } else if (!halo_llvm_open(cpu_clang_version(), cpu_clang_folder())) {
    fprintf(out, "%s alone, since there is no libLLVM of version %d or newer\n", cpu_clang_name(),
            cpu_clang_version());
  } else {
    fprintf(out, "%s and libLLVM %d\n", cpu_clang_name(), halo_llvm_opened()->version);
  }
}

static void drivers_see_compiler(doctor *d) {
  const char *own = NULL;
  for (int i = 0; i < d->device_count; i++) {
    if (strcmp(d->devices[i].platform, "Halocline") == 0) own = d->devices[i].driver;
  }
  if (!own) return;
  if (strncmp(own, "PoCL ", strlen("PoCL ")) == 0) { /* which names the libLLVM, too */
    d->compiler = tool_printf("%.*s", (int)strcspn(own, ","), own);
    return;
  }
  char *trouble, *text = drivers_in_child(drivers_name_compiler, NULL, &trouble), *at = text;
  d->compiler = drivers_field(&at);
  free(text);
  free(trouble);
}

void doctor_see_drivers(doctor *d, bool ask) {
  drivers_see_loader(d);
  drivers_see_files(d);
  if (doctor_has_driver(d, "nvidia", true)) {
    char *error = drivers_why_not(d, "libnvidia-nvvm.so.4");
    /* It is no OpenCL driver, and need not be one. */
    d->has_compiler = !error || strstr(error, "it is no OpenCL driver");
    free(error);
  }
  if (!ask) return;
  d->asked = true;
#if defined(__x86_64__)
  d->wants_own = getenv("HALO_CPU") == NULL;
#endif
  if (d->loader) drivers_see_platforms(d);
  drivers_see_devices(d);
  drivers_see_compiler(d);
}
