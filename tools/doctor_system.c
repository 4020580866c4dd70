/* SPDX-License-Identifier: Apache-2.0 */
/* tools/doctor_system.c: the system that `halo doctor` examines: its distribution, containers, GPUs and device files. */
#include "doctor.h"
#include "tool.h"

#include <dirent.h>
#include <grp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Files of the examined system ---- */

char *doctor_path(const doctor *d, const char *path) { return tool_printf("%s%s", d->root, path); }

char *doctor_first_line(const doctor *d, const char *path) {
  char *full = doctor_path(d, path), line[1024] = "";
  FILE *file = fopen(full, "r");
  free(full);
  if (!file) return NULL;
  bool read = fgets(line, sizeof line, file) != NULL;
  fclose(file);
  if (!read) return NULL;
  line[strcspn(line, "\r\n")] = 0;
  return tool_strdup(line);
}

bool doctor_exists(const doctor *d, const char *path) {
  char *full = doctor_path(d, path);
  struct stat about;
  bool exists = stat(full, &about) == 0;
  free(full);
  return exists;
}

bool doctor_may(const doctor *d, const char *path, unsigned mode) {
  char *full = doctor_path(d, path);
  struct stat about;
  bool exists = stat(full, &about) == 0;
  free(full);
  if (!exists) return false;
  if (d->user == 0) return true;
  unsigned shift = about.st_uid == d->user ? 6 : 0;
  for (int i = 0; i < d->group_count && !shift; i++) {
    if (d->groups[i] == about.st_gid) shift = 3;
  }
  return (about.st_mode >> shift & mode) == mode;
}

bool doctor_has_file(const doctor *d, const char *start) {
  for (int i = 0; i < d->file_count; i++) {
    if (strncmp(d->files[i].path, start, strlen(start)) == 0) return true;
  }
  return false;
}

/* Calls back for each name in a folder, in the order of names. */
static void system_each(const doctor *d, const char *folder, void (*see)(doctor *, const char *),
                        doctor *user) {
  char *full = doctor_path(d, folder);
  struct dirent **names;
  int count = scandir(full, &names, NULL, alphasort);
  free(full);
  for (int i = 0; i < count; i++) {
    if (names[i]->d_name[0] != '.') see(user, names[i]->d_name);
    free(names[i]);
  }
  if (count >= 0) free(names);
}

/* ---- The distribution ---- */

/* The value of `KEY=value` or `KEY="value"`; false: the line has another key. */
static bool system_value(const char *line, const char *key, char *out, size_t size) {
  size_t length = strlen(key);
  if (strncmp(line, key, length) != 0 || line[length] != '=') return false;
  const char *value = line + length + 1;
  if (*value == '"') value++;
  snprintf(out, size, "%.*s", (int)strcspn(value, "\"\r\n"), value);
  return true;
}

static doctor_distribution system_distribution(const char *ids) {
  static const struct {
    const char *id;
    doctor_distribution distribution;
  } known[] = {{"ubuntu", DOCTOR_UBUNTU}, {"debian", DOCTOR_DEBIAN}, {"fedora", DOCTOR_FEDORA},
               {"rhel", DOCTOR_FEDORA},   {"arch", DOCTOR_ARCH},     {"opensuse", DOCTOR_SUSE},
               {"suse", DOCTOR_SUSE}};
  /* The distribution's own name comes first, then those that it is like, the nearest first. */
  for (const char *word = ids; *word; word += strspn(word, " ")) {
    size_t length = strcspn(word, " ");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
      size_t wanted = strlen(known[i].id);
      /* "opensuse-tumbleweed" */
      bool is =
          strncmp(word, known[i].id, wanted) == 0 && (length == wanted || word[wanted] == '-');
      if (is) return known[i].distribution;
    }
    word += length;
  }
  return DOCTOR_OTHER_DISTRIBUTION;
}

static void system_see_distribution(doctor *d) {
  char line[512], id[128] = "", like[256] = "", ids[512];
  char *path = doctor_path(d, "/etc/os-release");
  FILE *file = fopen(path, "r");
  free(path);
  snprintf(d->system, sizeof d->system, "an unknown system");
  while (file && fgets(line, sizeof line, file)) {
    system_value(line, "PRETTY_NAME", d->system, sizeof d->system);
    system_value(line, "ID", id, sizeof id);
    system_value(line, "ID_LIKE", like, sizeof like);
  }
  if (file) fclose(file);
  snprintf(ids, sizeof ids, "%s %s", id, like);
  d->distribution = system_distribution(ids);
}

/* ---- Containers ---- */

/* The files are marks of the container that is examined; the variables, of the one that this process is in. */
static doctor_container system_container(const doctor *d) {
  static const struct {
    const char *file, *variable;
    doctor_container container;
  } marks[] = {{"/.singularity.d", "APPTAINER_CONTAINER", DOCTOR_APPTAINER},
               {NULL, "SINGULARITY_CONTAINER", DOCTOR_APPTAINER},
               {"/var/run/secrets/kubernetes.io", "KUBERNETES_SERVICE_HOST", DOCTOR_KUBERNETES},
               {"/run/.containerenv", NULL, DOCTOR_PODMAN},
               {"/.dockerenv", NULL, DOCTOR_DOCKER}};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    bool is_here = !*d->root && marks[i].variable && getenv(marks[i].variable);
    if (is_here || (marks[i].file && doctor_exists(d, marks[i].file))) return marks[i].container;
  }
  const char *said = *d->root ? NULL : getenv("container"); /* by systemd's conventions */
  if (said && *said) return strcmp(said, "podman") == 0 ? DOCTOR_PODMAN : DOCTOR_OTHER_CONTAINER;
  return DOCTOR_NO_CONTAINER;
}

const char *doctor_container_name(doctor_container container) {
  switch (container) {
    case DOCTOR_DOCKER: return "Docker";
    case DOCTOR_PODMAN: return "Podman";
    case DOCTOR_APPTAINER: return "Apptainer";
    case DOCTOR_KUBERNETES: return "Kubernetes";
    case DOCTOR_OTHER_CONTAINER: return "unknown kind";
    case DOCTOR_NO_CONTAINER: break;
  }
  return "none";
}

void doctor_see_system(doctor *d) {
  system_see_distribution(d);
  d->container = system_container(d);
  const char *conda = getenv("CONDA_PREFIX");
  d->conda = conda && *conda ? conda : NULL;
}

/* ---- GPUs ---- */

const char *doctor_maker_name(doctor_vendor maker) {
  switch (maker) {
    case DOCTOR_NVIDIA: return "NVIDIA";
    case DOCTOR_AMD: return "AMD";
    case DOCTOR_INTEL: return "Intel";
    case DOCTOR_OTHER_VENDOR: break;
  }
  return "other";
}

static doctor_vendor system_maker(unsigned vendor) {
  return vendor == 0x10de   ? DOCTOR_NVIDIA
         : vendor == 0x1002 ? DOCTOR_AMD
         : vendor == 0x8086 ? DOCTOR_INTEL
                            : DOCTOR_OTHER_VENDOR;
}

static unsigned system_number(const doctor *d, const char *folder, const char *name) {
  char *path = tool_printf("%s/%s", folder, name), *line = doctor_first_line(d, path);
  unsigned number = line ? (unsigned)strtoul(line, NULL, 16) : 0;
  free(line);
  free(path);
  return number;
}

/* The kernel driver that is bound to a device: where its link `driver` leads. */
static void system_driver(const doctor *d, const char *folder, char *out, size_t size) {
  char *link = tool_printf("%s%s/driver", d->root, folder), target[PATH_MAX];
  ssize_t length = readlink(link, target, sizeof target - 1);
  free(link);
  if (length <= 0) return;
  target[length] = 0;
  const char *slash = strrchr(target, '/');
  snprintf(out, size, "%.31s", slash ? slash + 1 : target);
}

static void system_see_pci(doctor *d, const char *name) {
  enum { DISPLAY = 0x03, ACCELERATOR = 0x12 }; /* classes of PCI devices */
  char *folder = tool_printf("/sys/bus/pci/devices/%s", name);
  unsigned class = system_number(d, folder, "class") >> 16;
  doctor_gpu gpu = {.vendor = system_number(d, folder, "vendor"),
                    .device = system_number(d, folder, "device")};
  gpu.maker = system_maker(gpu.vendor);
  /* Some of AMD's and NVIDIA's for data centres have no display. */
  bool computes = class == ACCELERATOR && (gpu.maker == DOCTOR_AMD || gpu.maker == DOCTOR_NVIDIA);
  if ((class == DISPLAY || computes) && d->gpu_count < DOCTOR_MAX) {
    snprintf(gpu.address, sizeof gpu.address, "%s", name);
    system_driver(d, folder, gpu.kernel_driver, sizeof gpu.kernel_driver);
    d->gpus[d->gpu_count++] = gpu;
  }
  free(folder);
}

/* GPUs of phones' and boards' processors are on no PCI bus. */
static void system_see_card(doctor *d, const char *name) {
  doctor_gpu gpu = {.maker = DOCTOR_OTHER_VENDOR};
  if (strncmp(name, "renderD", 7) != 0 || d->gpu_count == DOCTOR_MAX) return;
  char *folder = tool_printf("/sys/class/drm/%s/device", name);
  if (!system_number(d, folder, "vendor")) {
    system_driver(d, folder, gpu.kernel_driver, sizeof gpu.kernel_driver);
    snprintf(gpu.address, sizeof gpu.address, "%s", name);
    if (*gpu.kernel_driver) d->gpus[d->gpu_count++] = gpu;
  }
  free(folder);
}

/* ---- Device files ---- */

static void system_add_file(doctor *d, char *path) {
  char *full = doctor_path(d, path);
  struct stat about;
  bool exists = stat(full, &about) == 0 && d->file_count < DOCTOR_MAX;
  free(full);
  if (!exists) {
    free(path);
    return;
  }
  const struct group *group = getgrgid(about.st_gid);
  d->files[d->file_count++] = (doctor_file){
      .path = path,
      .group = group ? tool_strdup(group->gr_name) : tool_printf("%u", (unsigned)about.st_gid),
      .may_use = doctor_may(d, path, 6)};
}

static void system_see_dri(doctor *d, const char *name) {
  if (strncmp(name, "renderD", 7) == 0) system_add_file(d, tool_printf("/dev/dri/%s", name));
}

static void system_see_dev(doctor *d, const char *name) {
  /* /dev/nvidia0 and so on; not those for displays and switches. */
  bool is_nvidia = strncmp(name, "nvidia", 6) == 0 &&
                   (strcmp(name, "nvidiactl") == 0 || strcmp(name, "nvidia-uvm") == 0 ||
                    (name[6] >= '0' && name[6] <= '9'));
  if (is_nvidia || strcmp(name, "kfd") == 0) system_add_file(d, tool_printf("/dev/%s", name));
}

void doctor_see_gpus(doctor *d) {
  system_each(d, "/sys/bus/pci/devices", system_see_pci, d);
  system_each(d, "/sys/class/drm", system_see_card, d);
  system_each(d, "/dev/dri", system_see_dri, d);
  system_each(d, "/dev", system_see_dev, d);
}
