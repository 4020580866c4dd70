/* SPDX-License-Identifier: Apache-2.0 */
/* tools/doctor.c: `halo doctor`: why there is no device, or not the expected one, and what mends that. */
#include "doctor.h"
#include "args.h"
#include "tool.h"

#include "halo/client.h"

#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DOCTOR_HELP = 1, DOCTOR_ROOT, DOCTOR_USER };

static const tool_option doctor_options[] = {
    {DOCTOR_ROOT, 0, "root", "FOLDER",
     "examine the system that lies in this folder, such as a container's; its drivers are not "
     "loaded, nor asked for devices"},
    {DOCTOR_USER, 0, "user", "UID[:GID...]",
     "say what this user may do (default: who calls, with all groups)"},
    {DOCTOR_HELP, 'h', "help", NULL, "this text"},
    {0}};

static void doctor_help(void) {
  fputs(
      "Says why there is no OpenCL device, or not the one that you expect, and what to do about "
      "it.\n\n"
      "Usage: halo doctor [OPTIONS]\n\nOptions:\n",
      stdout);
  args_print_options(stdout, doctor_options);
  fputs(
      "\nIt looks at the OpenCL loader, the .icd files that name drivers, whether these load and "
      "what\n"
      "they offer, the machine's GPUs and their device files, containers, conda, caches and the\n"
      "variables that matter. It changes nothing.\n"
      "Exit code 1: programs would find no device.\n",
      stdout);
}

/* ---- Observations ---- */

/* Only the first line of a part has its name. */
static void doctor_row(const char **title) {
  printf("%-12s ", *title);
  *title = "";
}

static void doctor_print_drivers(const doctor *d) {
  const char *title = "Loader";
  doctor_row(&title);
  if (d->loader) {
    puts(d->loader);
  } else {
    printf("does not load: %s\n", d->loader_error);
  }
  title = "Drivers";
  if (!d->driver_count) {
    doctor_row(&title);
    puts("none: no .icd file was found");
  }
  for (int i = 0; i < d->driver_count; i++) {
    const doctor_driver *driver = &d->drivers[i];
    doctor_row(&title);
    printf("%s: %s%s\n", driver->file, *driver->library ? driver->library : "?",
           driver->error ? ", does not load"
           : *d->root    ? ""
                         : ", loads");
  }
}

static void doctor_print_devices(const doctor *d) {
  const char *title = "Platforms";
  for (int i = 0; i < d->platform_count; i++) {
    const doctor_platform *platform = &d->platforms[i];
    const char *rest = strstr(platform->version, "  "); /* PoCL says here how it was built */
    size_t length = rest ? (size_t)(rest - platform->version) : strlen(platform->version);
    while (length && platform->version[length - 1] == ' ') length--;
    doctor_row(&title);
    printf("%s, %.*s%s%s\n", platform->name, (int)length, platform->version,
           platform->has_devices ? "" : ": ", platform->has_devices ? "" : platform->devices);
  }
  title = "Devices";
  if (!d->device_count) {
    doctor_row(&title);
    puts(d->asked ? "none" : "not asked for (--root)");
  }
  for (int i = 0; i < d->device_count; i++) {
    const doctor_device *device = &d->devices[i];
    doctor_row(&title);
    printf("%c %s  %s (%s, driver %s)%s\n", device->chosen ? '*' : ' ', device->number,
           device->name, device->kind, device->driver, device->usable ? "" : ", not usable");
    if (*device->probes) printf("%-12s   tested: %s\n", "", device->probes);
  }
}

/* What makes kernels of the library's own processor device. */
static void doctor_print_compiler(const doctor *d) {
  const char *title = "Compiler";
  if (!d->compiler || !*d->compiler) return;
  doctor_row(&title);
  puts(d->compiler);
}

static void doctor_print_hardware(const doctor *d) {
  const char *title = "GPUs";
  if (!d->gpu_count) {
    doctor_row(&title);
    puts("none that the system shows");
  }
  for (int i = 0; i < d->gpu_count; i++) {
    const doctor_gpu *gpu = &d->gpus[i];
    doctor_row(&title);
    if (gpu->vendor) {
      printf("%s  %s [%04x:%04x]", gpu->address, doctor_maker_name(gpu->maker), gpu->vendor,
             gpu->device);
    } else {
      fputs(gpu->address, stdout);
    }
    printf(", %s%s\n", *gpu->kernel_driver ? "kernel driver " : "no kernel driver",
           gpu->kernel_driver);
  }
  title = "Device files";
  for (int i = 0; i < d->file_count; i++) {
    const doctor_file *file = &d->files[i];
    doctor_row(&title);
    printf("%s  group %s%s\n", file->path, file->group, file->may_use ? "" : ", not for you");
  }
}

static void doctor_print_surroundings(const doctor *d) {
  static const char *const variables[] = {
      "HALO_DEVICE",    "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH",
      "RUSTICL_ENABLE", "POCL_DEVICES",    "POCL_CACHE_DIR",    "CUDA_VISIBLE_DEVICES",
      "CONDA_PREFIX",   "HALO_CACHE_DIR"};
  const char *title = "Container";
  if (d->container) {
    doctor_row(&title);
    puts(doctor_container_name(d->container));
  }
  title = "Variables";
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *value = getenv(variables[i]);
    if (!value) continue;
    doctor_row(&title);
    printf("%s=%s\n", variables[i], value);
  }
}

/* ---- Findings ---- */

static void doctor_print_findings(const doctor *d, bool problems, const char *one,
                                  const char *many) {
  int count = 0, number = 0;
  for (int i = 0; i < d->finding_count; i++) count += d->findings[i].is_problem == problems;
  if (count == 0) return;
  printf("\n%s\n", count == 1 ? one : many);
  for (int i = 0; i < d->finding_count; i++) {
    const doctor_finding *finding = &d->findings[i];
    if (finding->is_problem != problems) continue;
    printf("%3d. ", ++number);
    args_print_wrapped(stdout, finding->text, 5, 5);
    if (finding->command) printf("       %s\n", finding->command);
  }
}

/* The devices that programs would use; an exit code. */
static int doctor_print_verdict(const doctor *d) {
  int chosen = 0;
  for (int i = 0; i < d->device_count; i++) chosen += d->devices[i].chosen && d->devices[i].usable;
  if (!d->asked && *d->root) return d->finding_count ? TOOL_FAILED : TOOL_OK;
  if (!chosen) {
    printf("\nPrograms find no device.\n");
    return TOOL_FAILED;
  }
  printf("\nPrograms use");
  for (int i = 0, printed = 0; i < d->device_count; i++) {
    const doctor_device *device = &d->devices[i];
    if (device->chosen) printf("%s %s, %s", printed++ ? ";" : "", device->number, device->name);
  }
  puts(".");
  return TOOL_OK;
}

/* ---- The command ---- */

/* "1000" or "1000:44:107"; false: it is neither. */
static bool doctor_read_user(doctor *d, const char *text) {
  char *end;
  d->user = (uid_t)strtoul(text, &end, 10);
  d->group_count = 0;
  while (end != text && *end == ':' && d->group_count < DOCTOR_MAX) {
    text = end + 1;
    d->groups[d->group_count++] = (gid_t)strtoul(text, &end, 10);
  }
  return end != text && !*end;
}

static void doctor_read_caller(doctor *d) {
  d->user = geteuid();
  int count = getgroups(DOCTOR_MAX - 1, d->groups);
  d->group_count = count > 0 ? count : 0;
  d->groups[d->group_count++] = getegid();
}

static void doctor_release(doctor *d) {
  for (int i = 0; i < d->driver_count; i++) {
    free(d->drivers[i].file);
    free(d->drivers[i].library);
    free(d->drivers[i].error);
  }
  for (int i = 0; i < d->platform_count; i++) {
    free(d->platforms[i].name);
    free(d->platforms[i].version);
    free(d->platforms[i].devices);
  }
  for (int i = 0; i < d->device_count; i++) {
    doctor_device *device = &d->devices[i];
    char *const fields[] = {device->number, device->kind,   device->name,    device->platform,
                            device->vendor, device->driver, device->version, device->probes};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) free(fields[k]);
  }
  for (int i = 0; i < d->file_count; i++) {
    free(d->files[i].path);
    free(d->files[i].group);
  }
  for (int i = 0; i < d->finding_count; i++) {
    free(d->findings[i].text);
    free(d->findings[i].command);
  }
  free(d->loader);
  free(d->loader_error);
  free(d->list_error);
  free(d->compiler);
  free(d);
}

static int doctor_work(doctor *d) {
  doctor_see_system(d);
  doctor_see_gpus(d);
  doctor_see_drivers(d, !*d->root);
  doctor_conclude(d);
  printf("halo %s on %s\n\n", halo_version(), d->system);
  doctor_print_drivers(d);
  doctor_print_devices(d);
  doctor_print_compiler(d);
  doctor_print_hardware(d);
  doctor_print_surroundings(d);
  doctor_print_findings(d, true, "A problem:", "Problems:");
  doctor_print_findings(d, false, "Worth knowing:", "Worth knowing:");
  return doctor_print_verdict(d);
}

int tool_doctor(int argc, char **argv) {
  tool_args args = {
      .command = argv[0], .options = doctor_options, .argc = argc, .argv = argv, .next = 1};
  doctor *d = tool_alloc(sizeof *d);
  const char *value;
  int code = TOOL_OK;
  bool done = false;
  d->root = "";
  doctor_read_caller(d);
  for (int id; !done && (id = args_next(&args, &value)) != ARGS_END;) {
    done = true;
    switch (id) {
      case DOCTOR_HELP: doctor_help(); break;
      case DOCTOR_ROOT:
        d->root = value;
        done = false;
        break;
      case DOCTOR_USER:
        done = !doctor_read_user(d, value);
        if (done)
          code = args_usage_error(&args, "--user takes numbers, as 1000:44, not '%s'", value);
        break;
      case ARGS_OPERAND: code = args_usage_error(&args, "'%s' is not expected", value); break;
      default: code = TOOL_USAGE;
    }
  }
  if (!done) code = doctor_work(d);
  doctor_release(d);
  return code;
}
