/* SPDX-License-Identifier: Apache-2.0 */
/* tools/doctor.h: what `halo doctor` sees of the system, and what it concludes from that. */
#ifndef HALO_TOOLS_DOCTOR_H
#define HALO_TOOLS_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

typedef enum doctor_vendor {
  DOCTOR_NVIDIA,
  DOCTOR_AMD,
  DOCTOR_INTEL,
  DOCTOR_OTHER_VENDOR, /* GPUs for which Mesa's Rusticl is the driver to try, or none is known */
} doctor_vendor;
enum { DOCTOR_VENDORS = DOCTOR_OTHER_VENDOR + 1 };

typedef enum doctor_distribution {
  DOCTOR_DEBIAN,
  DOCTOR_UBUNTU,
  DOCTOR_FEDORA,
  DOCTOR_ARCH,
  DOCTOR_SUSE,
  DOCTOR_OTHER_DISTRIBUTION,
} doctor_distribution;

typedef enum doctor_container {
  DOCTOR_NO_CONTAINER,
  DOCTOR_DOCKER,
  DOCTOR_PODMAN,
  DOCTOR_APPTAINER,
  DOCTOR_KUBERNETES,
  DOCTOR_OTHER_CONTAINER,
} doctor_container;

/* A GPU on a bus of the machine. */
typedef struct doctor_gpu {
  char address[32];        /* of the PCI bus, or the name of its entry in /sys/class/drm */
  char kernel_driver[32];  /* "" when none is bound to it */
  unsigned vendor, device; /* PCI numbers; 0 for GPUs that are not on a PCI bus */
  doctor_vendor maker;
} doctor_gpu;

/* A driver that the OpenCL loader is told of: by an .icd file, or by OCL_ICD_FILENAMES. */
typedef struct doctor_driver {
  char *file;    /* where it is named */
  char *library; /* "" when the file names none or cannot be read */
  char *error;   /* why it does not load; NULL: it does, or that was not tried (--root) */
} doctor_driver;

typedef struct doctor_platform {
  char *name, *version, *devices; /* how many devices it has, or why it has none, as text */
  bool has_devices;
} doctor_platform;

/* A device as the library lists it. */
typedef struct doctor_device {
  char *number, *kind, *name, *platform, *vendor, *driver, *version;
  char *probes; /* as halo_device_entry.probes; "": nothing is kept */
  bool usable, chosen;
} doctor_device;

/* The device file of a GPU: /dev/nvidia0, /dev/kfd, /dev/dri/renderD128, ... */
typedef struct doctor_file {
  char *path, *group; /* group: its name, or its number as text */
  bool may_use;
} doctor_file;

/* A fault, or a fact worth knowing, and the command that mends it (NULL: none). */
typedef struct doctor_finding {
  bool is_problem; /* else advice */
  char *text, *command;
} doctor_finding;

enum { DOCTOR_MAX = 64 }; /* of each of these; more are left out */

typedef struct doctor {
  const char *root; /* "": this system; else the folder in which another one lies */
  uid_t user;       /* whose rights are judged; 0 may use everything */
  gid_t groups[DOCTOR_MAX];
  int group_count;

  char system[128]; /* "Debian GNU/Linux 12 (bookworm)" */
  doctor_distribution distribution;
  doctor_container container;
  const char *conda; /* the active environment's folder, or NULL */

  char *loader;       /* the path of libOpenCL.so.1; NULL: it does not load */
  char *loader_error; /* why */
  doctor_driver drivers[DOCTOR_MAX];
  doctor_platform platforms[DOCTOR_MAX];
  doctor_device devices[DOCTOR_MAX];
  doctor_gpu gpus[DOCTOR_MAX];
  doctor_file files[DOCTOR_MAX];
  doctor_finding findings[DOCTOR_MAX];
  int driver_count, platform_count, device_count, gpu_count, file_count, finding_count;
  char *list_error; /* why no devices could be listed; NULL: they could */
  char *compiler;   /* what the library's own processor device compiles by; NULL: it is not there */
  bool wants_own;   /* the library's own processor device is there if clang is */
  bool asked, has_compiler; /* the drivers were asked for devices; libnvidia-nvvm loads */
} doctor;

/* A path below the examined root; to be freed. */
char *doctor_path(const doctor *d, const char *path);
/* The first line of a file of the examined system, without its end; NULL when it cannot be read. To be freed. */
char *doctor_first_line(const doctor *d, const char *path);
bool doctor_exists(const doctor *d, const char *path);
/* Whether the user may read and write (`mode` 6), or write to and search (3), what lies there. */
bool doctor_may(const doctor *d, const char *path, unsigned mode);
bool doctor_has_file(const doctor *d, const char *start); /* a device file of a GPU: "/dev/kfd" */
/* Whether a driver of which the library's name has this in it is named in an .icd file (and loads). */
bool doctor_has_driver(const doctor *d, const char *part, bool that_loads);

/* The system, its GPUs and their device files (doctor_system.c). */
void doctor_see_system(doctor *d);
void doctor_see_gpus(doctor *d);
/* The loader, the drivers, and with `ask` what they offer (doctor_drivers.c). All of it is tried in child processes, since
 * a broken driver may end its process or never return. */
void doctor_see_drivers(doctor *d, bool ask);
/* Adds what follows from all of it to the findings (doctor_advice.c). */
void doctor_conclude(doctor *d);

/* Adds a finding; `command` may be NULL. Both are taken over. */
void doctor_add(doctor *d, bool is_problem, char *text, char *command);
/* The command that installs the driver for GPUs of this maker, or PoCL, or the loader, or clang; NULL: none is
 * known (doctor_install.c). */
const char *doctor_install_driver(const doctor *d, doctor_vendor maker);
const char *doctor_install_pocl(const doctor *d);
const char *doctor_install_loader(const doctor *d);
const char *doctor_install_clang(const doctor *d);
const char *doctor_maker_name(doctor_vendor maker);
const char *doctor_container_name(doctor_container container);
/* What RUSTICL_ENABLE calls the driver of GPUs that this kernel driver serves; NULL: Rusticl has none. */
const char *doctor_rusticl_name(const char *kernel_driver);
/* The name in docs/portability.md of this device with this version of its driver; NULL: it has no results of it. */
const char *doctor_tested_as(const doctor_device *device);

#endif
