/* SPDX-License-Identifier: Apache-2.0 */
/* tools/doctor_advice.c: what `halo doctor` concludes from what it saw, the most likely cause first. */
#include "doctor.h"
#include "tool.h"

#include "base/folder.h"
#include "halo/client.h"
#include "opencl/api.h"
#include "os/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

void doctor_add(doctor *d, bool is_problem, char *text, char *command) {
  if (d->finding_count == DOCTOR_MAX) {
    free(text);
    free(command);
    return;
  }
  d->findings[d->finding_count++] = (doctor_finding){is_problem, text, command};
}

bool doctor_has_driver(const doctor *d, const char *part, bool that_loads) {
  for (int i = 0; i < d->driver_count; i++) {
    if (!strstr(d->drivers[i].library, part)) continue;
    if (!that_loads || !d->drivers[i].error) return true;
  }
  return false;
}

static char *advice_copy(const char *text) { return text ? tool_strdup(text) : NULL; }

/* ---- The loader and the drivers' files ---- */

/* A file that is there and is no loader, or that needs what is missing. */
static bool advice_broken_loader(doctor *d, const char *rest) {
  const char *folders = getenv("LD_LIBRARY_PATH");
  char file[256];
  if (*d->root) return false;
  const char *why = halo_cl_api_find_broken(d->loader_error, folders, file, sizeof file);
  if (!why) return false;
  const char *slash = strrchr(file, '/');
  char *folder = tool_printf("%.*s", slash ? (int)(slash - file) : 0, file);
  bool is_told = *folder && folders && strstr(folders, folder);
  free(folder);
  doctor_add(
      d, true,
      tool_printf("The OpenCL loader %s cannot be loaded: %s. %s%s", file, why,
                  is_told ? "LD_LIBRARY_PATH names its folder." : "Install its package again.",
                  rest),
      is_told ? tool_strdup("unset LD_LIBRARY_PATH   # or take that folder out of it") : NULL);
  return true;
}

/* The processor's device needs no loader, and there is nothing else. */
static bool advice_needs_no_loader(const doctor *d) {
  return d->wants_own && !d->driver_count && !d->gpu_count;
}

static void advice_loader(doctor *d) {
  if (d->loader) return;
  const char *rest = d->device_count ? " Without it only one driver is used." : "";
  if (advice_broken_loader(d, rest) || advice_needs_no_loader(d)) return;
  doctor_add(d, true,
             tool_printf("The OpenCL loader libOpenCL.so.1 cannot be loaded: %s.%s",
                         d->loader_error, rest),
             advice_copy(doctor_install_loader(d)));
}

static void advice_places(doctor *d) {
  static const char *const variables[] = {"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *place = getenv(variables[i]);
    if (!place || !*place) continue;
    bool exists = doctor_exists(d, place);
    if (d->driver_count && exists) return;
    doctor_add(d, !d->driver_count,
               tool_printf("%s says that drivers are named in %s, %s.", variables[i], place,
                           exists ? "which has no .icd file" : "which does not exist"),
               tool_printf("unset %s", variables[i]));
    return;
  }
}

static void advice_broken_drivers(doctor *d) {
  for (int i = 0; i < d->driver_count; i++) {
    const doctor_driver *driver = &d->drivers[i];
    if (!driver->error) continue;
    doctor_add(
        d, true,
        tool_printf("The driver that %s names does not load: %s.", driver->file, driver->error),
        NULL);
  }
}

/* The loader of a conda environment looks for drivers in that environment only. */
static void advice_conda(doctor *d) {
  if (!d->conda) return;
  char *loader = tool_printf("%s/lib/libOpenCL.so.1", d->conda);
  char *vendors = tool_printf("%s/etc/OpenCL/vendors", d->conda);
  char *link = tool_printf("%s/ocl-icd-system", vendors);
  size_t length = strlen(vendors);
  bool has_system = false;
  for (int i = 0; i < d->driver_count; i++) {
    has_system |= strncmp(d->drivers[i].file, vendors, length) != 0;
  }
  if (doctor_exists(d, loader) && has_system && !doctor_exists(d, link)) {
    doctor_add(
        d, false,
        tool_printf("Python of the conda environment %s has an OpenCL loader of its own, which "
                    "looks in %s only, not at the system's drivers.",
                    d->conda, vendors),
        tool_strdup("conda install -c conda-forge ocl-icd-system"));
  }
  free(loader);
  free(vendors);
  free(link);
}

/* ---- GPUs that OpenCL does not offer ---- */

static bool advice_offers(const doctor *d, doctor_vendor maker) {
  static const char *const words[DOCTOR_VENDORS] = {[DOCTOR_NVIDIA] = "NVIDIA",
                                                    [DOCTOR_AMD] = "Advanced Micro Devices",
                                                    [DOCTOR_INTEL] = "Intel"};
  for (int i = 0; i < d->device_count; i++) {
    const doctor_device *device = &d->devices[i];
    if (strcmp(device->kind, "gpu") != 0) continue;
    if (maker == DOCTOR_OTHER_VENDOR || strstr(device->vendor, words[maker])) return true;
    if (maker == DOCTOR_AMD && strstr(device->vendor, "AMD")) return true;
  }
  return false;
}

/* How a container is started with the GPU; NULL: that is not known. */
static const char *advice_start(doctor_container container, doctor_vendor maker) {
  static const char *const docker[DOCTOR_VENDORS] = {
      "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility ...",
      "docker run --device /dev/kfd --device /dev/dri --group-add video --group-add render ...",
      "docker run --device /dev/dri ...", "docker run --device /dev/dri ..."};
  static const char *const podman[DOCTOR_VENDORS] = {
      "podman run --device nvidia.com/gpu=all ...",
      "podman run --device /dev/kfd --device /dev/dri --group-add keep-groups ...",
      "podman run --device /dev/dri --group-add keep-groups ...",
      "podman run --device /dev/dri --group-add keep-groups ..."};
  static const char *const apptainer[DOCTOR_VENDORS] = {
      "apptainer exec --nv ...", "apptainer exec --rocm ...", "apptainer exec --bind /dev/dri ...",
      "apptainer exec --bind /dev/dri ..."};
  static const char *const pod[DOCTOR_VENDORS] = {
      "resources: {limits: {nvidia.com/gpu: 1}}   # in the pod's container",
      "resources: {limits: {amd.com/gpu: 1}}   # in the pod's container",
      "resources: {limits: {gpu.intel.com/i915: 1}}   # in the pod's container", NULL};
  switch (container) {
    case DOCTOR_DOCKER: return docker[maker];
    case DOCTOR_PODMAN: return podman[maker];
    case DOCTOR_APPTAINER: return apptainer[maker];
    case DOCTOR_KUBERNETES: return pod[maker];
    case DOCTOR_NO_CONTAINER:
    case DOCTOR_OTHER_CONTAINER: break;
  }
  return NULL;
}

/* A device file without which there is no device. */
static const char *const advice_files[DOCTOR_VENDORS] = {"/dev/nvidia0", "/dev/kfd", "/dev/dri",
                                                         "/dev/dri"};

/* The device files are missing: the container was started without, or the kernel has no driver. */
static bool advice_missing_file(doctor *d, const doctor_gpu *gpu) {
  const char *name = doctor_maker_name(gpu->maker), *file = advice_files[gpu->maker];
  /* Rusticl needs no /dev/kfd. */
  bool is_missing = !doctor_has_file(d, gpu->maker == DOCTOR_NVIDIA ? "/dev/nvidia" : file);
  if (gpu->maker == DOCTOR_AMD && !doctor_has_driver(d, "amdocl", false)) {
    is_missing = is_missing && !doctor_has_file(d, "/dev/dri/");
  }
  if (d->container && is_missing) {
    doctor_add(d, true,
               tool_printf("The %s GPU %s is not in this container (%s): there is no %s. The "
                           "container has to be started with it.",
                           name, gpu->address, doctor_container_name(d->container), file),
               advice_copy(advice_start(d->container, gpu->maker)));
    return true;
  }
  if (strcmp(gpu->kernel_driver, "vfio-pci") == 0) {
    doctor_add(d, false,
               tool_printf("The %s GPU %s is set aside for virtual machines (vfio-pci).", name,
                           gpu->address),
               NULL);
    return true;
  }
  bool wrong = !*gpu->kernel_driver ||
               (gpu->maker == DOCTOR_NVIDIA && strcmp(gpu->kernel_driver, "nvidia") != 0);
  if (wrong && is_missing) {
    doctor_add(d, true,
               *gpu->kernel_driver
                   ? tool_printf("The %s GPU %s has the kernel driver %s, with which %s's OpenCL "
                                 "does not work.",
                                 name, gpu->address, gpu->kernel_driver, name)
                   : tool_printf("The %s GPU %s has no kernel driver.", name, gpu->address),
               advice_copy(doctor_install_driver(d, gpu->maker)));
    return true;
  }
  if (is_missing) {
    doctor_add(d, true,
               tool_printf("The %s GPU %s has its kernel driver (%s), but there is no %s.", name,
                           gpu->address, gpu->kernel_driver, file),
               gpu->maker == DOCTOR_NVIDIA ? tool_strdup("sudo nvidia-modprobe -c 0 -u") : NULL);
    return true;
  }
  return false;
}

static bool advice_is_of(const doctor_file *file, doctor_vendor maker) {
  bool is_nvidia = strncmp(file->path, "/dev/nvidia", 11) == 0;
  bool is_kfd = strcmp(file->path, "/dev/kfd") == 0;
  return maker == DOCTOR_NVIDIA ? is_nvidia : !is_nvidia && (!is_kfd || maker == DOCTOR_AMD);
}

static bool advice_rights(doctor *d, const doctor_gpu *gpu) {
  for (int i = 0; i < d->file_count; i++) {
    const doctor_file *file = &d->files[i];
    if (file->may_use || !advice_is_of(file, gpu->maker)) continue;
    doctor_add(
        d, true,
        tool_printf("You may not use %s: it is for members of the group %s.", file->path,
                    file->group),
        d->container
            ? tool_printf("docker run --group-add %s ...   # or like it", file->group)
            : tool_printf("sudo usermod -aG %s \"$USER\"   # then log in again", file->group));
    return true;
  }
  return false;
}

/* A part of the library's name of the maker's own OpenCL driver. */
static const char *const advice_libraries[DOCTOR_VENDORS] = {"nvidia-opencl", "amdocl", "igdrcl",
                                                             "Rusticl"};

static void advice_missing_driver(doctor *d, const doctor_gpu *gpu) {
  const char *name = gpu->maker == DOCTOR_OTHER_VENDOR ? "" : doctor_maker_name(gpu->maker);
  const char *space = *name ? " " : "";
  if (gpu->maker == DOCTOR_NVIDIA && d->container) {
    doctor_add(d, true,
               tool_printf("No .icd file names NVIDIA's OpenCL driver. NVIDIA's container runtime "
                           "puts the driver into the container (with "
                           "NVIDIA_DRIVER_CAPABILITIES=compute,utility), but often not that file."),
               tool_strdup("mkdir -p /etc/OpenCL/vendors && echo libnvidia-opencl.so.1 > "
                           "/etc/OpenCL/vendors/nvidia.icd"));
    return;
  }
  const char *command = doctor_install_driver(d, gpu->maker);
  doctor_add(
      d, true,
      tool_printf("There is no OpenCL driver for the %s%sGPU %s%s.", name, space, gpu->address,
                  command ? "" : ": install the one of its maker, or Mesa's Rusticl"),
      advice_copy(command));
}

static void advice_gpu(doctor *d, const doctor_gpu *gpu) {
  const char *rusticl = doctor_rusticl_name(gpu->kernel_driver),
             *enabled = getenv("RUSTICL_ENABLE");
  /* A GPU that only shows a server's console, or a virtual machine's, computes nothing. */
  if (gpu->maker == DOCTOR_OTHER_VENDOR && !rusticl) return;
  if (advice_offers(d, gpu->maker) || advice_missing_file(d, gpu)) return;
  bool has_rusticl = rusticl && doctor_has_driver(d, "Rusticl", false);
  const char *library = advice_libraries[gpu->maker];
  bool has_own = doctor_has_driver(d, library, false);
  if (!has_own && !has_rusticl) {
    advice_missing_driver(d, gpu);
    return;
  }
  if (advice_rights(d, gpu)) return;
  if (has_rusticl && !has_own && (!enabled || !strstr(enabled, rusticl))) {
    doctor_add(
        d, true,
        tool_printf(
            "Mesa's Rusticl offers the GPU %s only where RUSTICL_ENABLE names its driver%s%s%s.",
            gpu->address, enabled ? " (it says \"" : "", enabled ? enabled : "",
            enabled ? "\")" : ""),
        tool_printf("export RUSTICL_ENABLE=%s", rusticl));
    return;
  }
  /* A driver that does not load was reported. */
  bool loads =
      has_own ? doctor_has_driver(d, library, true) : doctor_has_driver(d, "Rusticl", true);
  if (!d->asked || !loads) return;
  doctor_add(d, true,
             tool_printf("The OpenCL driver of the %s GPU %s loads, but does not offer it. The "
                         "kernel's log may say why; after an update of the driver, restart.",
                         doctor_maker_name(gpu->maker), gpu->address),
             tool_strdup(gpu->maker == DOCTOR_NVIDIA ? "nvidia-smi; sudo dmesg | grep -i nvrm"
                                                     : "sudo dmesg | grep -i -e drm -e amdgpu"));
}

/* One of each maker: what mends one mends all. */
static void advice_gpus(doctor *d) {
  bool seen[DOCTOR_VENDORS] = {false};
  for (int i = 0; i < d->gpu_count; i++) {
    bool *is_seen = &seen[d->gpus[i].maker];
    if (!*is_seen || d->gpus[i].maker == DOCTOR_OTHER_VENDOR) advice_gpu(d, &d->gpus[i]);
    *is_seen = true;
  }
  /* The container hides the bus of some machines, not what their runtime put in. */
  if (!*d->root && doctor_has_driver(d, "nvidia", true) && !d->has_compiler) {
    doctor_add(
        d, true,
        tool_printf("NVIDIA's OpenCL driver needs libnvidia-nvvm.so.4 to compile kernels, which "
                    "is missing%s.",
                    d->container ? ": the container's runtime did not put it in" : ""),
        d->container ? advice_copy(advice_start(d->container, DOCTOR_NVIDIA))
                     : advice_copy(doctor_install_driver(d, DOCTOR_NVIDIA)));
  }
}

/* ---- PoCL and caches ---- */

/* The folder of PoCL's cache, as PoCL finds it; NULL: it has none. */
static char *advice_pocl_folder(void) {
  const char *kept = getenv("POCL_KERNEL_CACHE"), *own = getenv("POCL_CACHE_DIR");
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (kept && strcmp(kept, "0") == 0) return NULL;
  if (own && *own) return tool_strdup(own);
  if (cache && cache[0] == '/') return tool_printf("%s/pocl/kcache", cache);
  return home && home[0] == '/' ? tool_printf("%s/.cache/pocl/kcache", home) : NULL;
}

/* Whether the folder, or the nearest one above it that exists, can be written to. */
static bool advice_can_write(const doctor *d, const char *folder) {
  char *path = tool_strdup(folder), *slash;
  while (!doctor_exists(d, path) && (slash = strrchr(path, '/')) && slash != path) *slash = 0;
  bool can = doctor_may(d, doctor_exists(d, path) ? path : "/", 3);
  free(path);
  return can;
}

/* Why the library keeps no programs in the folder; NULL: it does. */
static char *advice_cache_fault(const doctor *d, const char *folder) {
  const uint64_t least = 1 << 20; /* bytes, for a few programs */
  halo_os_file_info info;
  struct statvfs disk;
  if (!advice_can_write(d, folder)) return tool_printf("%s cannot be written to", folder);
  if (*d->root || !halo_os_find_file(folder, &info)) return NULL;
  if (info.other) return tool_printf("%s is not used as a cache: %s", folder, info.other);
  if (statvfs(folder, &disk) != 0) return NULL;
  if (disk.f_flag & ST_RDONLY) return tool_printf("%s is on a disk that is read-only", folder);
  if (disk.f_frsize * disk.f_bavail >= least && (!disk.f_files || disk.f_ffree)) return NULL;
  return tool_printf("the disk of %s is full", folder);
}

static void advice_caches(doctor *d) {
  if (doctor_has_driver(d, "pocl", false)) {
    char *folder = advice_pocl_folder();
    if (folder && !advice_can_write(d, folder)) {
      doctor_add(d, true,
                 tool_printf("PoCL has no device where it cannot write to the folder of its cache, "
                             "%s.",
                             folder),
                 tool_strdup("export POCL_CACHE_DIR=/tmp/pocl-$USER   # or any folder of yours"));
    }
    free(folder);
    const char *names = getenv("POCL_DEVICES");
    if (names && d->asked && !d->device_count) {
      doctor_add(d, true,
                 tool_printf("PoCL offers the devices that POCL_DEVICES names, and that is \"%s\".",
                             names),
                 tool_strdup("unset POCL_DEVICES"));
    }
  }
  char *own, *why;
  if (halo_cache_directory(&own) != HALO_OK || !own) return;
  if ((why = advice_cache_fault(d, own))) {
    doctor_add(d, false,
               tool_printf("Compiled programs are not kept: %s. Each start compiles anew.", why),
               tool_strdup("export HALO_CACHE_DIR=/tmp/halo-$USER   # or any folder of yours"));
  }
  free(why);
  halo_text_release(own);
}

/* ---- The choice of a device ---- */

static void advice_choice(doctor *d) {
  const char *wish = getenv("HALO_DEVICE");
  bool has_chosen = false, has_usable = false;
  for (int i = 0; i < d->device_count; i++) {
    has_chosen |= d->devices[i].chosen;
    has_usable |= d->devices[i].usable;
  }
  if (!d->asked || has_chosen) return;
  if (wish && *wish && d->list_error && strncmp(d->list_error, "no OpenCL device", 16) != 0) {
    doctor_add(d, true, tool_printf("HALO_DEVICE is \"%s\": %s.", wish, d->list_error),
               tool_strdup("unset HALO_DEVICE"));
  } else if (wish && *wish && d->device_count) {
    doctor_add(d, true, tool_printf("HALO_DEVICE is \"%s\", and no device is called that.", wish),
               tool_printf("export HALO_DEVICE=%s   # or unset it", d->devices[0].number));
  } else if (d->device_count && !has_usable) {
    doctor_add(d, true,
               tool_printf("None of the devices can be used: that takes OpenCL 1.2 and a compiler "
                           "for OpenCL C."),
               NULL);
  }
}

static void advice_nothing(doctor *d) {
  bool is_said = false;
  for (int i = 0; i < d->finding_count; i++) is_said |= d->findings[i].is_problem;
  if (d->device_count || is_said) return;
  if (!d->asked && d->driver_count) return;
  const char *clang = d->wants_own ? doctor_install_clang(d) : NULL;
  doctor_add(d, true,
             tool_printf("%s, and no GPU that needs one was found. %s makes a device of the "
                         "processor.",
                         d->driver_count ? "The OpenCL drivers offer no device"
                                         : "No OpenCL driver is installed",
                         clang ? "The program clang-15 or newer" : "PoCL"),
             advice_copy(clang ? clang : doctor_install_pocl(d)));
}

/* PoCL's packages bring clang on most distributions, but not everywhere. */
static void advice_own_device(doctor *d) {
  bool has_own = false, uses_driver = false;
  for (int i = 0; i < d->device_count; i++) {
    const doctor_device *device = &d->devices[i];
    has_own |= strcmp(device->platform, "Halocline") == 0;
    uses_driver |= device->chosen && strcmp(device->kind, "cpu") == 0;
  }
  if (!d->wants_own || has_own || !uses_driver) return;
  doctor_add(d, false,
             tool_printf("No program clang-15 or newer is in PATH. With it, programs start sooner "
                         "and run faster on this processor than through its OpenCL driver."),
             advice_copy(doctor_install_clang(d)));
}

static void advice_untested(doctor *d) {
  for (int i = 0; i < d->device_count; i++) {
    const doctor_device *device = &d->devices[i];
    if (!device->chosen || strcmp(device->kind, "null") == 0 || doctor_tested_as(device)) continue;
    doctor_add(
        d, false,
        tool_printf("docs/portability.md has no results of %s with the driver %s: check that it "
                    "computes right.",
                    device->name, device->driver),
        tool_printf("halo check --device %s", device->number));
  }
}

void doctor_conclude(doctor *d) {
  advice_loader(d);
  advice_places(d);
  advice_broken_drivers(d);
  advice_gpus(d);
  advice_conda(d);
  advice_caches(d);
  advice_choice(d);
  advice_nothing(d);
  advice_own_device(d);
  advice_untested(d);
}
