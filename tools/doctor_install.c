/* SPDX-License-Identifier: Apache-2.0 */
/* tools/doctor_install.c: what installs OpenCL drivers and clang, by maker and distribution, and which of them were tested. */
#include "doctor.h"

#include <string.h>

/* One line, or several that are typed one after the other. */
typedef struct install_commands {
  const char *drivers[DOCTOR_VENDORS], *pocl, *loader, *clang;
} install_commands;

/* On Debian 12 and Ubuntu 22.04 the package clang is clang-14. */
#define INSTALL_CLANG_DEBIAN "sudo apt install clang-15 || sudo apt install clang"

static const install_commands install_table[] = {
    [DOCTOR_DEBIAN] =
        {.drivers = {[DOCTOR_NVIDIA] =
                         "sudo apt install nvidia-driver nvidia-opencl-icd   # of the "
                         "archive's component non-free",
                     [DOCTOR_AMD] = "sudo apt install rocm-opencl-icd   # or mesa-opencl-icd, "
                                    "before Debian 13",
                     [DOCTOR_INTEL] = "sudo apt install intel-opencl-icd   # Debian 13 has "
                                      "mesa-opencl-icd instead",
                     [DOCTOR_OTHER_VENDOR] = "sudo apt install mesa-opencl-icd"},
         .pocl = "sudo apt install pocl-opencl-icd",
         .loader = "sudo apt install ocl-icd-libopencl1",
         .clang = INSTALL_CLANG_DEBIAN},
    [DOCTOR_UBUNTU] = {.drivers = {[DOCTOR_NVIDIA] = "sudo ubuntu-drivers install",
                                   [DOCTOR_AMD] = "sudo apt install mesa-opencl-icd   # or ROCm's "
                                                  "rocm-opencl-runtime, from AMD",
                                   [DOCTOR_INTEL] = "sudo apt install intel-opencl-icd",
                                   [DOCTOR_OTHER_VENDOR] = "sudo apt install mesa-opencl-icd"},
                       .pocl = "sudo apt install pocl-opencl-icd",
                       .loader = "sudo apt install ocl-icd-libopencl1",
                       .clang = INSTALL_CLANG_DEBIAN},
    [DOCTOR_FEDORA] =
        {.drivers = {[DOCTOR_NVIDIA] =
                         "sudo dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda   # of "
                         "RPM Fusion",
                     [DOCTOR_AMD] = "sudo dnf install rocm-opencl",
                     [DOCTOR_INTEL] = "sudo dnf install intel-compute-runtime",
                     [DOCTOR_OTHER_VENDOR] = "sudo dnf install mesa-libOpenCL"},
         .pocl = "sudo dnf install pocl",
         .loader = "sudo dnf install 'libOpenCL.so.1()(64bit)'",
         .clang = "sudo dnf install clang"},
    [DOCTOR_ARCH] = {.drivers = {[DOCTOR_NVIDIA] = "sudo pacman -S opencl-nvidia",
                                 [DOCTOR_AMD] = "sudo pacman -S rocm-opencl-runtime",
                                 [DOCTOR_INTEL] = "sudo pacman -S intel-compute-runtime",
                                 [DOCTOR_OTHER_VENDOR] = "sudo pacman -S opencl-mesa"},
                     .pocl = "sudo pacman -S pocl",
                     .loader = "sudo pacman -S ocl-icd",
                     .clang = "sudo pacman -S clang"},
    [DOCTOR_SUSE] = {.drivers = {[DOCTOR_NVIDIA] =
                                     "sudo zypper install nvidia-compute-G06   # of NVIDIA's "
                                     "repository for openSUSE",
                                 [DOCTOR_AMD] = "sudo zypper install Mesa-libRusticlOpenCL",
                                 [DOCTOR_INTEL] = "sudo zypper install intel-opencl",
                                 [DOCTOR_OTHER_VENDOR] =
                                     "sudo zypper install Mesa-libRusticlOpenCL"},
                     .pocl = "sudo zypper install pocl",
                     .loader = "sudo zypper install libOpenCL1",
                     .clang = "sudo zypper install clang"},
    [DOCTOR_OTHER_DISTRIBUTION] = {.pocl = NULL},
};

const char *doctor_install_driver(const doctor *d, doctor_vendor maker) {
  return install_table[d->distribution].drivers[maker];
}

/* In a conda environment nobody needs to be root. */
const char *doctor_install_pocl(const doctor *d) {
  return d->conda ? "conda install -c conda-forge pocl" : install_table[d->distribution].pocl;
}

const char *doctor_install_loader(const doctor *d) {
  return d->conda ? "conda install -c conda-forge ocl-icd" : install_table[d->distribution].loader;
}

const char *doctor_install_clang(const doctor *d) {
  return d->conda ? "conda install -c conda-forge clang" : install_table[d->distribution].clang;
}

const char *doctor_rusticl_name(const char *kernel_driver) {
  static const struct {
    const char *kernel, *name;
  } names[] = {{"amdgpu", "radeonsi"},   {"i915", "iris"},
               {"xe", "iris"},           {"nouveau", "nouveau"},
               {"panfrost", "panfrost"}, {"panthor", "panfrost"},
               {"msm_dpu", "freedreno"}, {"msm", "freedreno"},
               {"asahi", "asahi"},       {"v3d", "v3d"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i].kernel, kernel_driver) == 0) return names[i].name;
  }
  return NULL;
}

/* The rows of docs/portability.md: what a device's platform is called, how its driver's version begins, what is in its
 * name, and what the table there calls it (tests/docs/doctor.sh compares). */
static const struct {
  const char *platform, *driver, *name, *row;
} install_tested[] = {
    {"Portable Computing Language", "3.1", "pthread", "PoCL 3.1"},
    {"Portable Computing Language", "6.0", "cpu", "PoCL 6.0"},
    {"Portable Computing Language", "7.1", "cpu", "PoCL 7.1"},
    {"Halocline", "clang-15", "", "Halocline, LLVM 15"},
    {"Halocline", "libLLVM 15", "", "Halocline, LLVM 15"},
    {"Halocline", "clang-18", "", "Halocline, LLVM 18"},
    {"Halocline", "libLLVM 18", "", "Halocline, LLVM 18"},
    {"Halocline", "clang-21", "", "Halocline, LLVM 21"},
    {"Halocline", "libLLVM 21", "", "Halocline, LLVM 21"},
    {"Intel(R) OpenCL", "2026.22.10", "", "Intel OpenCL 2026.22.10"},
    {"rusticl", "22.3.6", "llvmpipe", "Mesa 22.3.6, llvmpipe"},
    {"Oclgrind", "21.10", "", "Oclgrind 21.10"},
};

const char *doctor_tested_as(const doctor_device *device) {
  for (size_t i = 0; i < sizeof install_tested / sizeof *install_tested; i++) {
    const char *version = install_tested[i].driver, *at = strstr(device->driver, version);
    if (!at || strcmp(device->platform, install_tested[i].platform) != 0) continue;
    char before = at == device->driver ? ' ' : at[-1], after = at[strlen(version)];
    bool same = before == ' ' && !(after >= '0' && after <= '9');
    if (same && strstr(device->name, install_tested[i].name)) return install_tested[i].row;
  }
  return NULL;
}
