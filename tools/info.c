/* SPDX-License-Identifier: Apache-2.0 */
/* tools/info.c: `halo info`: devices, what they can do, and the program cache; or a program. */
#include "args.h"
#include "info_prices.h"
#include "info_program.h"
#include "parts.h"
#include "ranks.h"
#include "tool.h"
#include "tune/tune.h"

#include "halo/client.h"
#include "halo/custom_call.h"
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { INFO_HELP = 1, INFO_DEVICE, INFO_CAPABILITIES, INFO_INPUT, INFO_PRICES };

static const tool_option info_options[] = {
    {INFO_DEVICE, 'd', "device", "DEVICE",
     "only the devices that this means: PLATFORM:DEVICE as listed, a part of its name, cpu, gpu, "
     "null:FILE; several with commas, '*N' for N times, '/N' for N parts"},
    {INFO_CAPABILITIES, 'c', "capabilities", NULL,
     "everything known of the device (--device, or the default one), in the form that null:FILE "
     "reads"},
    {INFO_PRICES, 'p', "prices", NULL,
     "what the library takes launches, bytes and operations to cost on the device: what it chooses "
     "kernels by"},
    {INFO_INPUT, 'i', "input", "INPUT",
     "an input of a program that leaves extents open, as for 'halo run': x=[8,3] gives its "
     "extents"},
    {INFO_HELP, 'h', "help", NULL, "this text"},
    {0}};

static void info_help(void) {
  fputs(
      "Lists the OpenCL devices, what they can do, and the cache of compiled programs; or, of a "
      "FILE, "
      "what the\n"
      "program in it takes, gives and is made of.\n\n"
      "Usage: halo info [OPTIONS]\n       halo info FILE [--input INPUT]\n\n"
      "FILE is HLO text, an HLO proto, or a StableHLO program as MLIR text or as a portable "
      "artifact; - is standard input.\n\nOptions:\n",
      stdout);
  args_print_options(stdout, info_options);
  fputs(
      "\nUnder mpiexec: also which process has which device.\n"
      "\nThe device marked with * is the one that 'halo run' uses by default. HALO_DEVICE changes\n"
      "the default. Exit code 1: there is no such device.\n",
      stdout);
}

static void info_print_device(const halo_device_entry *entry) {
  const halo_device_info *info = &entry->info;
  char number[32] = "null";
  if (strcmp(info->kind, "null") != 0) {
    snprintf(number, sizeof number, "%d:%d", entry->platform, entry->device);
  }
  printf("%c %-5s %s%s\n", entry->chosen ? '*' : ' ', number, info->name,
         entry->usable ? "" : "   (not usable: below OpenCL 1.2, or without a compiler)");
  if (entry->uses > 1) printf("        used as    %d devices\n", entry->uses);
  printf("        platform   %s\n", info->platform);
  printf("        kind       %s, %u compute unit%s, work groups up to %u\n", info->kind,
         info->compute_units, info->compute_units == 1 ? "" : "s", info->max_work_group);
  printf("        memory     %s%s; up to %s in one block, %s local\n", tool_bytes(info->memory),
         info->shares_host_memory ? ", shared with the host" : "", tool_bytes(info->max_allocation),
         tool_bytes(info->local_memory));
  printf("        types      f64 %s; f16 arithmetic %s\n",
         info->has_f64 ? "yes" : "no (programs with f64 are refused)",
         info->has_f16 ? "yes" : "in f32");
  if (entry->probes) printf("        tested     %s\n", entry->probes);
  printf("        version    %s\n", info->version);
  printf("        driver     %s\n\n", info->driver);
}

/* Counts the programs of the library's cache. (PoCL's, which may lie in a folder below, has files of its own.) */
static void info_count(const char *path, int64_t *files, uint64_t *bytes) {
  DIR *folder = opendir(path);
  if (!folder) return;
  for (struct dirent *entry; (entry = readdir(folder));) {
    halo_os_file_info info;
    const char *end = strrchr(entry->d_name, '.');
    if (!end || strcmp(end, ".bin") != 0) continue;
    char *file = tool_printf("%s/%s", path, entry->d_name);
    bool there = halo_os_find_file(file, &info);
    free(file);
    if (!there) continue;
    ++*files;
    *bytes += info.size;
  }
  closedir(folder);
}

static bool info_print_cache(bool pocl) {
  char *path;
  if (!tool_check(halo_cache_directory(&path))) return false;
  if (!path) {
    printf("Program cache: none on disk (HALO_CACHE_DIR is empty, or there is no home folder)\n");
    return true;
  }
  int64_t files = 0;
  uint64_t bytes = 0;
  info_count(path, &files, &bytes);
  if (files == 0) {
    printf("Program cache: %s, empty%s\n", path,
           pocl ? " (PoCL keeps what it compiles in a cache of its own)" : "");
  } else {
    printf("Program cache: %s, %s program%s, %s\n", path, tool_count(files), files == 1 ? "" : "s",
           tool_bytes(bytes));
  }
  halo_text_release(path);
  return true;
}

/* Of the device that programs run on by default. */
static bool info_print_tuning(void) {
  halo_client *client;
  if (!tool_check(halo_client_create(NULL, &client))) return false;
  tune_print_state(halo_client_device(client, 0));
  halo_client_release(client);
  return true;
}

static int info_no_match(const char *selector, const halo_device_entry *list, int count) {
  bool named = selector != NULL;
  if (!named) selector = getenv("HALO_DEVICE");
  if (!selector || !*selector) return tool_error("none of the devices can be used");
  fprintf(stderr, "halo: no device matches %s%s%s; there are:\n",
          named ? "'" : "HALO_DEVICE=", selector, named ? "'" : "");
  for (int i = 0; i < count; i++) {
    fprintf(stderr, "  %d:%d  %s (%s)\n", list[i].platform, list[i].device, list[i].info.name,
            list[i].info.kind);
  }
  return TOOL_FAILED;
}

static int info_print(const char *selector, bool capabilities) {
  halo_device_entry *list;
  int count, chosen = -1;
  if (!capabilities && !selector) printf("halo %s\n\n", halo_version());
  if (!tool_check(halo_device_list(selector, &list, &count))) return TOOL_FAILED;
  for (int i = 0; i < count; i++) {
    if (list[i].chosen) chosen = i;
  }
  int code = TOOL_OK;
  if (capabilities || selector) {
    if (chosen < 0) code = info_no_match(selector, list, count);
    for (int i = 0; i < count; i++) {
      if (!list[i].chosen) continue;
      if (capabilities) {
        fputs(list[i].capabilities, stdout);
      } else {
        info_print_device(&list[i]);
      }
    }
  } else {
    for (int i = 0; i < count; i++) info_print_device(&list[i]);
    bool pocl =
        chosen >= 0 && strcmp(list[chosen].info.platform, "Portable Computing Language") == 0;
    if (!info_print_cache(pocl)) code = TOOL_FAILED;
    printf("LAPACK, for custom calls: %s\n", halo_custom_call_find("lapack_sgetrf_ffi")
                                                 ? "yes"
                                                 : "no (not installed, or built without LAPACKE)");
    if (chosen < 0) {
      code = info_no_match(selector, list, count);
    } else if (!info_print_tuning()) {
      code = TOOL_FAILED;
    }
  }
  halo_device_list_release(list);
  return code;
}

typedef struct info_request {
  const char *selector, *file;
  program_inputs inputs;
  bool capabilities, prices;
} info_request;

/* False to leave with *code. */
static bool info_read_arguments(tool_args *args, info_request *request, int *code) {
  const char *value;
  *code = TOOL_USAGE;
  for (int id; (id = args_next(args, &value)) != ARGS_END;) {
    switch (id) {
      case INFO_HELP:
        info_help();
        *code = TOOL_OK;
        return false;
      case INFO_DEVICE: request->selector = value; break;
      case INFO_CAPABILITIES: request->capabilities = true; break;
      case INFO_PRICES: request->prices = true; break;
      case INFO_INPUT: request->inputs.texts[request->inputs.count++] = value; break;
      case ARGS_OPERAND:
        if (request->file) {
          args_usage_error(args, "one FILE at a time, not '%s' too", value);
          return false;
        }
        request->file = value;
        break;
      default: return false;
    }
  }
  if (request->file && (request->selector || request->capabilities || request->prices)) {
    args_usage_error(args, "either a FILE or devices");
    return false;
  }
  if (request->file || request->inputs.count == 0) return true;
  args_usage_error(args, "--input is for a FILE");
  return false;
}

static int info_devices(const info_request *request) {
  halo_communicator *communicator;
  if (!parts_connect(&communicator)) return TOOL_FAILED;
  int code = TOOL_OK;
  bool several = communicator && communicator->process_count > 1;
  if (several && !request->capabilities) code = ranks_show(request->selector, communicator);
  if (code == TOOL_OK && !(several && communicator->process > 0)) {
    code = info_print(request->selector, request->capabilities);
  }
  parts_disconnect(communicator, code);
  return code;
}

int tool_info(int argc, char **argv) {
  tool_args args = {
      .command = argv[0], .options = info_options, .argc = argc, .argv = argv, .next = 1};
  info_request request = {.inputs.texts = tool_alloc(sizeof *request.inputs.texts * (size_t)argc)};
  int code;
  if (info_read_arguments(&args, &request, &code)) {
    code = request.file     ? info_program(request.file, &request.inputs)
           : request.prices ? info_prices(request.selector)
                            : info_devices(&request);
  }
  free(request.inputs.texts);
  return code;
}
