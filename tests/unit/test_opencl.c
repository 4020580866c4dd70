/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_opencl.c: devices, capabilities and device memory. */
#include "base/config.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "halo/client.h"
#include "halo/passes.h"
#include "opencl/api.h"
#include "opencl/event.h"
#include "opencl_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static halo_cl_memory_stats memory_stats(halo_cl_device *device) {
  halo_cl_memory_stats stats;
  halo_cl_memory_get_stats(device, &stats);
  return stats;
}

/* ---- Codes, switches, capabilities ---- */

START_TEST(codes) {
  ck_assert_int_eq(halo_cl_check(CL_SUCCESS, "x"), HALO_OK);
  ck_assert_int_eq(halo_cl_check(CL_QUEUED, "x"), HALO_OK);
  ck_assert_int_eq(halo_cl_check(CL_OUT_OF_RESOURCES, "x"), HALO_OUT_OF_MEMORY);
  ck_assert_int_eq(halo_cl_check(CL_OUT_OF_HOST_MEMORY, "x"), HALO_OUT_OF_MEMORY);
  ck_assert_int_eq(halo_cl_check(CL_MEM_OBJECT_ALLOCATION_FAILURE, "x"), HALO_OUT_OF_MEMORY);
  ck_assert_int_eq(halo_cl_check(CL_INVALID_KERNEL_ARGS, "clEnqueue of f"), HALO_DEVICE_ERROR);
  ck_assert_str_eq(halo_error_message(), "clEnqueue of f failed: CL_INVALID_KERNEL_ARGS (-52)");
  ck_assert_int_eq(halo_cl_check(-4242, "x"), HALO_DEVICE_ERROR);
  ck_message_has("-4242");
}
END_TEST

START_TEST(config_sizes) {
  static const struct {
    const char *text;
    halo_status status;
    uint64_t value;
  } cases[] = {
      {"", HALO_OK, 0},
      {"0", HALO_OK, 0},
      {"4096", HALO_OK, 4096},
      {"3K", HALO_OK, 3072},
      {"2M", HALO_OK, 2 << 20},
      {"5G", HALO_OK, 5ull << 30},
      {"-1", HALO_INVALID_ARGUMENT, 0},
      {"1T", HALO_INVALID_ARGUMENT, 0},
      {"M", HALO_INVALID_ARGUMENT, 0},
      {"1 G", HALO_INVALID_ARGUMENT, 0},
      {"99999999999999999999", HALO_INVALID_ARGUMENT, 0},
      {"99999999999999G", HALO_INVALID_ARGUMENT, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint64_t value = 1;
    setenv("HALO_MEMORY_LIMIT", cases[i].text, 1);
    ck_assert_msg(halo_config_bytes(HALO_CONFIG_MEMORY_LIMIT, &value) == cases[i].status, "%s",
                  cases[i].text);
    ck_assert_uint_eq(value, cases[i].value);
  }
  unsetenv("HALO_MEMORY_LIMIT");
}
END_TEST

/* A misspelt variable is an error of the client, and says which was meant. */
START_TEST(config_names) {
  static const struct {
    const char *name, *meant; /* NULL: left alone */
  } cases[] = {{"HALO_DEVCIE", "did you mean HALO_DEVICE?"},
               {"HALO_DEVICES", "did you mean HALO_DEVICE?"},
               {"halo_device", NULL},
               {"HALO_Device", "did you mean HALO_DEVICE?"},
               {"HALO_CACHE", "did you mean HALO_CACHE_DIR?"},
               {"HALO_COLLECTIVE_TIMEOU", "did you mean HALO_COLLECTIVE_TIMEOUT?"},
               {"HALO_TCP_PROCESS", NULL},
               {"HALO_PJRT_LIBARY", "did you mean HALO_PJRT_LIBRARY?"},
               {"HALO_PJRT_LIBRARY", NULL},
               {"HALO_", NULL},
               {"HALO_OF_SOMEBODY_ELSE", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    setenv(cases[i].name, "1", 1);
    halo_status status = halo_config_check_names();
    unsetenv(cases[i].name);
    ck_assert_msg(status == (cases[i].meant ? HALO_INVALID_ARGUMENT : HALO_OK), "%s",
                  cases[i].name);
    if (!cases[i].meant) continue;
    ck_message_has(cases[i].name);
    ck_message_has(cases[i].meant);
  }
  halo_client *client;
  setenv("HALO_DEVCIE", "cpu", 1);
  ck_assert_int_eq(halo_client_create(NULL, &client), HALO_INVALID_ARGUMENT);
  ck_assert_ptr_null(client);
  ck_message_has("HALO_DEVICE");
  halo_device_entry *entries;
  int count;
  ck_assert_int_eq(halo_device_list(NULL, &entries, &count), HALO_INVALID_ARGUMENT);
  ck_message_has("HALO_DEVICE");
  halo_module *module, *optimized;
  const char text[] = "HloModule m\nENTRY e {\n  ROOT x = f32[] parameter(0)\n}\n";
  ck_assert_int_eq(halo_module_parse(text, strlen(text), "m", &module), HALO_OK);
  ck_assert_int_eq(halo_module_optimize(module, NULL, &optimized), HALO_INVALID_ARGUMENT);
  ck_assert_ptr_null(optimized);
  ck_message_has("HALO_DEVICE");
  halo_module_release(module);
  unsetenv("HALO_DEVCIE");
}
END_TEST

START_TEST(config_cache_dir) {
  setenv("XDG_CACHE_HOME", "/x/cache", 1);
  setenv("HOME", "/home/me", 1);
  unsetenv("HALO_CACHE_DIR");
  char *path = halo_config_cache_dir();
  ck_assert_str_eq(path, "/x/cache/halo");
  halo_free(path);
  unsetenv("XDG_CACHE_HOME");
  path = halo_config_cache_dir();
  ck_assert_str_eq(path, "/home/me/.cache/halo");
  halo_free(path);
  setenv("HALO_CACHE_DIR", "", 1);
  ck_assert_ptr_null(halo_config_cache_dir());
}
END_TEST

START_TEST(config_shared_cache) {
  unsetenv("POCL_CACHE_DIR");
  unsetenv("HALO_CACHE_DIR");
  halo_config_share_cache_dir();
  ck_assert_ptr_null(getenv("POCL_CACHE_DIR"));
  static const char *const unwritable[] = {"/dev/null", "/dev/null/x/halo", "/dev/null/",
                                           "/tmp"}; /* everybody's */
  for (size_t i = 0; i < sizeof unwritable / sizeof *unwritable; i++) {
    setenv("HALO_CACHE_DIR", unwritable[i], 1);
    halo_config_share_cache_dir();
    ck_assert_ptr_null(getenv("POCL_CACHE_DIR"));
  }
  /* They need not be there; nothing is made of them. */
  static const char *const writable[] = {"/tmp/nowhere/halo", "nowhere/halo", "nowhere"};
  for (size_t i = 0; i < sizeof writable / sizeof *writable; i++) {
    char expected[64];
    snprintf(expected, sizeof expected, "%s/pocl", writable[i]);
    unsetenv("POCL_CACHE_DIR");
    setenv("HALO_CACHE_DIR", writable[i], 1);
    halo_config_share_cache_dir();
    ck_assert_str_eq(getenv("POCL_CACHE_DIR"), expected);
  }
  setenv("POCL_CACHE_DIR", "/y", 1);
  halo_config_share_cache_dir();
  ck_assert_str_eq(getenv("POCL_CACHE_DIR"), "/y");
}
END_TEST

START_TEST(caps_samples) {
  halo_caps caps, again;
  ck_assert_int_eq(halo_caps_read(HALO_TEST_DATA "/devices/amd-wave64.caps", &caps), HALO_OK);
  ck_assert(caps.is_null && caps.is_gpu && !caps.is_cpu && caps.has_f64);
  ck_assert_uint_eq(caps.simd_width, 64);
  ck_assert_uint_eq(caps.global_memory, 16ull << 30);
  ck_assert_uint_eq(caps.max_items[2], 1024);
  ck_assert_str_eq(caps.vendor, "Advanced Micro Devices, Inc.");
  ck_assert_int_eq(halo_caps_read(HALO_TEST_DATA "/devices/mobile-no-f64.caps", &caps), HALO_OK);
  ck_assert(!caps.has_f64 && caps.has_f16 && caps.shares_host_memory && !caps.correctly_rounded);
  /* Text and back gives the same. */
  char path[] = "/tmp/halo-caps.XXXXXX", *text = halo_caps_text(&caps);
  FILE *file = fdopen(mkstemp(path), "w");
  fputs(text, file);
  fclose(file);
  halo_free(text);
  ck_assert_int_eq(halo_caps_read(path, &again), HALO_OK);
  text = halo_caps_text(&again);
  char *first = halo_caps_text(&caps);
  ck_assert_str_eq(text, first);
  halo_free(text);
  halo_free(first);
  unlink(path);
}
END_TEST

/* A launch may have so many groups and so many work items along an axis: the smaller of both counts. */
START_TEST(caps_groups) {
  halo_caps caps = {.max_groups = {0, 100, 1000}};
  ck_assert_uint_eq(halo_caps_most_groups(&caps, 0, 64), 0);
  ck_assert_uint_eq(halo_caps_most_groups(&caps, 1, 64), 100);
  caps.max_launch = UINT32_MAX;
  ck_assert_uint_eq(halo_caps_most_groups(&caps, 0, 64), 67108863);
  ck_assert_uint_eq(halo_caps_most_groups(&caps, 0, 256), 16777215);
  caps.max_launch = 25600;
  ck_assert_uint_eq(halo_caps_most_groups(&caps, 1, 64), 100);
  ck_assert_uint_eq(halo_caps_most_groups(&caps, 2, 64), 400);
}
END_TEST

/* The private memory of all work items that a device holds at once is a small part of its memory. */
START_TEST(caps_private) {
  halo_caps caps = {
      .vendor = "NVIDIA Corporation", .compute_units = 132, .global_memory = 80ull << 30};
  uint64_t resident = 132 * 2048;
  int64_t bytes = halo_caps_private_bytes(&caps);
  ck_assert_int_gt(bytes, 4096);
  ck_assert_uint_le((uint64_t)bytes * resident, caps.global_memory / 64);
  snprintf(caps.vendor, sizeof caps.vendor, "Intel(R) Corporation");
  ck_assert_int_gt(halo_caps_private_bytes(&caps), 8 * bytes);
  caps.global_memory = 1 << 20;
  ck_assert_int_eq(halo_caps_private_bytes(&caps), 2048);
}
END_TEST

static const struct {
  const char *text, *message;
} caps_faults[] = {
    {"# fine\nname = x\nwarp = 3\n", ":3: unknown key \"warp\""},
    {"name\n", ":1: expected key = value"},
    {"has_f64 = yes\n", ":1: has_f64: expected true or false, found \"yes\""},
    {"\n\ncompute_units = many\n", ":3: compute_units: expected a whole number"},
    {"compute_units = 99999999999\n", "expected a whole number"},
    {"max_items = 1 2\n", "expected three whole numbers"},
    {"kind = tpu\n", "expected cpu, gpu or accelerator"},
    {"name = a\nname = b\n", ":2: name is given twice"},
    {"base_alignment = 100\n", "power of two"},
    {"max_allocation = 3G\nglobal_memory = 2G\n", "max_allocation must be"},
    {"compute_units = 0\n", "compute_units must be"},
    {"max_items = 0 1 1\n", "max_items must"},
};

START_TEST(caps_errors) {
  char path[] = "/tmp/halo-caps.XXXXXX";
  FILE *file = fdopen(mkstemp(path), "w");
  fputs(caps_faults[_i].text, file);
  fclose(file);
  halo_caps caps;
  ck_assert_int_eq(halo_caps_read(path, &caps), HALO_INVALID_ARGUMENT);
  ck_message_has(path);
  ck_message_has(caps_faults[_i].message);
  unlink(path);
}
END_TEST

START_TEST(caps_unreadable) {
  halo_caps caps;
  ck_assert_int_eq(halo_caps_read("/nowhere/x.caps", &caps), HALO_NOT_FOUND);
  ck_assert_int_eq(halo_caps_read("/tmp", &caps), HALO_IO_ERROR);
  ck_assert_int_eq(halo_caps_read("/proc/self/exe", &caps), HALO_INVALID_ARGUMENT);
}
END_TEST

/* ---- Devices ---- */

START_TEST(device_selection) {
  halo_cl_listing *list;
  int count;
  ck_assert_int_eq(halo_cl_enumerate(NULL, &list, &count), HALO_OK);
  ck_assert_int_gt(count, 0);
  for (int i = 0; i < count; i++) {
    if (!list[i].usable) continue;
    char selector[32];
    snprintf(selector, sizeof selector, "%d:%d", list[i].platform, list[i].device);
    halo_cl_device *device = open_device((halo_cl_options){.device = selector});
    ck_assert_str_eq(device->caps.name, list[i].caps.name);
    ck_assert_uint_gt(device->caps.global_memory, 0);
    halo_cl_device_release(device);
    device = open_device((halo_cl_options){.device = list[i].caps.platform});
    halo_cl_device_release(device);
  }
  halo_free(list);
  static const char *const absent[] = {"no such device", "99:0", "0:99", "accelerator"};
  for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
    halo_cl_device *device;
    halo_cl_options options = {.device = absent[i]};
    ck_assert_int_eq(halo_cl_device_open(&options, &device), HALO_NOT_FOUND);
    ck_assert_ptr_null(device);
    ck_message_has(absent[i]);
    ck_message_has("0:0");
  }
}
END_TEST

static halo_cl_listing listing_of(int platform, int device, halo_caps_kind kind, uint64_t memory,
                                  const char *address) {
  halo_cl_listing one = {.platform = platform, .device = device, .usable = true};
  one.caps.kind = kind;
  one.caps.is_gpu = kind == HALO_CAPS_GPU;
  one.caps.is_cpu = kind == HALO_CAPS_CPU;
  one.caps.global_memory = memory;
  snprintf(one.address, sizeof one.address, "%s", address);
  return one;
}

static void choose_several(const halo_cl_listing *list, int count, const char *selector,
                           const char *expected) {
  int chosen[16];
  char text[64] = "";
  int found = halo_cl_choose_several(list, count, selector, chosen);
  for (int i = 0; i < found; i++) {
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", i ? " " : "", chosen[i]);
  }
  ck_assert_msg(strcmp(text, expected) == 0, "%s: \"%s\" instead of \"%s\"", selector, text,
                expected);
}

/* A processor, a small GPU that two platforms have, and two large ones. */
START_TEST(devices_by_one_word) {
  halo_cl_listing list[] = {
      listing_of(0, 0, HALO_CAPS_CPU, 64, ""),
      listing_of(1, 0, HALO_CAPS_GPU, 8, "PCI 0000:01:00.0"),
      listing_of(2, 0, HALO_CAPS_GPU, 24, "PCI 0000:02:00.0"),
      listing_of(2, 1, HALO_CAPS_GPU, 24, "PCI 0000:03:00.0"),
      listing_of(3, 0, HALO_CAPS_GPU, 8, "PCI 0000:01:00.0"),
      listing_of(3, 1, HALO_CAPS_CPU, 64, ""),
  };
  enum { COUNT = sizeof list / sizeof *list };
  choose_several(list, COUNT, "all", "0 1 2 3 5");
  choose_several(list, COUNT, "all-gpus", "2 3");
  choose_several(list, COUNT, "ALL-GPUS", "2 3");
  choose_several(list, 2, "all-gpus", "1");
  choose_several(list, 1, "all-gpus", "");
  choose_several(list, 0, "all", "");
  /* A device that cannot be used does not count, and keeps no other out. */
  list[3].usable = false;
  list[1].usable = false;
  list[1].caps.global_memory = 1000;
  choose_several(list, COUNT, "all", "0 2 4 5");
  choose_several(list, COUNT, "all-gpus", "2");
  /* Parts of one device have one address. */
  strcpy(list[3].address, list[2].address);
  list[3].usable = true;
  choose_several(list, COUNT, "all-gpus", "2 3");
  int none;
  ck_assert_int_eq(halo_cl_choose_several(list, COUNT, "gpu", &none), -1);
  ck_assert_int_eq(halo_cl_choose_several(list, COUNT, "", &none), -1);
}
END_TEST

START_TEST(all_devices) {
  halo_cl_listing *list;
  int count, usable = 0, opened;
  bool gpu = false;
  ck_assert_int_eq(halo_cl_enumerate(NULL, &list, &count), HALO_OK);
  for (int i = 0; i < count; i++) {
    usable += list[i].usable;
    gpu |= list[i].caps.is_gpu;
    /* The name that people know has no driver's before it. */
    ck_assert_ptr_null(strstr(list[i].caps.product, "pthread-"));
    ck_assert_str_ne(list[i].caps.product, "");
    bool part = strstr(list[i].caps.name, list[i].caps.product) != NULL;
    ck_assert_msg(part || !list[i].caps.is_cpu, "%s", list[i].caps.product);
  }
  halo_free(list);
  for (int times = 1; times <= 2; times++) {
    halo_cl_device **devices;
    halo_cl_options options = {.device = times == 2 ? "all*2" : "all"};
    ck_assert_msg(halo_cl_devices_open(&options, &devices, &opened) == HALO_OK, "%s",
                  halo_error_message());
    ck_assert(opened % times == 0 && opened / times <= usable && opened > 0);
    for (int i = 0; i < opened; i++) halo_cl_device_release(devices[i]);
    halo_free(devices);
  }
  halo_cl_device *device;
  halo_cl_options gpus = {.device = "all-gpus"};
  if (gpu) return;
  ck_assert_int_eq(halo_cl_device_open(&gpus, &device), HALO_NOT_FOUND);
  ck_message_has("no OpenCL device matches \"all-gpus\"; there are: 0:0");
}
END_TEST

START_TEST(device_from_environment) {
  setenv("HALO_DEVICE", wave64, 1);
  halo_cl_device *device = open_device((halo_cl_options){0});
  ck_assert(device->caps.is_null);
  halo_cl_device_release(device);
  ck_assert_int_eq(halo_cl_device_open(NULL, &device), HALO_OK);
  halo_cl_device_release(device);
  setenv("HALO_DEVICE", "null:/nowhere.caps", 1);
  ck_assert_int_eq(halo_cl_device_open(NULL, &device), HALO_NOT_FOUND);
  unsetenv("HALO_DEVICE");
  setenv("HALO_MEMORY_LIMIT", "lots", 1);
  ck_assert_int_eq(halo_cl_device_open(NULL, &device), HALO_INVALID_ARGUMENT);
  ck_message_has("HALO_MEMORY_LIMIT=lots");
}
END_TEST

START_TEST(device_treated) {
  setenv("HALO_TREAT_AS", "gpu", 1);
  halo_cl_device *device = open_device((halo_cl_options){.cache_dir = ""});
  ck_assert(device->caps.is_gpu && !device->caps.is_cpu);
  ck_assert_str_eq(halo_caps_kind_name(&device->caps), "gpu");
  halo_cl_device_release(device);
  setenv("HALO_TREAT_AS", "toaster", 1);
  ck_assert_int_eq(halo_cl_device_open(NULL, &device), HALO_INVALID_ARGUMENT);
  ck_assert_ptr_null(device);
  ck_assert_ptr_nonnull(strstr(halo_error_message(), "HALO_TREAT_AS"));
}
END_TEST

/* What dlopen says of a loader, and what is meant by that. */
START_TEST(broken_loader) {
  char folder[] = "/tmp/halo-loader.XXXXXX", file[128], path[64], found[128];
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(file, sizeof file, "%s/libOpenCL.so.1", folder);
  const char *none = "libOpenCL.so.1: cannot open shared object file: No such file or directory";
  const char *other = "libOpenCL.so.1: wrong ELF class: ELFCLASS32";
  snprintf(path, sizeof path, "/nonexistent::%s:/tmp", folder);
  ck_assert_ptr_null(halo_cl_api_find_broken(none, NULL, found, sizeof found));
  ck_assert_ptr_null(halo_cl_api_find_broken(none, path, found, sizeof found));
  ck_assert_int_eq(close(creat(file, 0600)), 0);
  ck_assert_str_eq(halo_cl_api_find_broken(other, path, found, sizeof found), other);
  ck_assert_str_eq(found, file);
  ck_assert_str_eq(halo_cl_api_find_broken(none, path, found, sizeof found), none);
  ck_assert_ptr_null(halo_cl_api_find_broken(none, "/nonexistent", found, sizeof found));
  remove(file);
  rmdir(folder);
  const char *why =
      halo_cl_api_find_broken("/opt/libOpenCL.so.1: file too short", path, found, sizeof found);
  ck_assert_str_eq(why, "file too short");
  ck_assert_str_eq(found, "/opt/libOpenCL.so.1");
  why =
      halo_cl_api_find_broken("here/libOpenCL.so.1: invalid ELF header", path, found, sizeof found);
  ck_assert_str_eq(why, "invalid ELF header");
  ck_assert_str_eq(found, "here/libOpenCL.so.1");
  /* The loader needs another library. */
  const char *needs = "libdep.so.2: cannot open shared object file: No such file or directory";
  ck_assert_str_eq(halo_cl_api_find_broken(needs, path, found, sizeof found), needs);
  ck_assert_str_eq(found, "libOpenCL.so.1");
}
END_TEST

START_TEST(device_none) {
  char empty[] = "/tmp/halo-no-drivers.XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(empty));
  setenv("OCL_ICD_VENDORS", empty, 1);
  setenv("HALO_CPU", "off", 1);
  halo_cl_device *device;
  ck_assert_int_eq(halo_cl_device_open(NULL, &device), HALO_NO_DEVICE);
  ck_message_has("pocl-opencl-icd");
  rmdir(empty);
}
END_TEST

/* Each value of HALO_CPU has a documented meaning, or is refused by name. */
static const char *const cpu_wishes[] = {"ON", "Off", "auto", "2", "skylake", "x86_64", "haswell "};

START_TEST(cpu_wish) {
  setenv("HALO_CPU", cpu_wishes[_i], 1);
  halo_cl_device *device;
  ck_assert_int_eq(halo_cl_device_open(NULL, &device), HALO_INVALID_ARGUMENT);
  ck_message_has("expected on, off, clang, pocl, haswell or x86-64");
  ck_message_has(cpu_wishes[_i]);
}
END_TEST

START_TEST(null_device) {
  halo_cl_device *device = open_device((halo_cl_options){.device = wave64});
  halo_cl_block *block;
  halo_cl_program *program;
  cl_kernel kernel;
  ck_assert_ptr_null(device->context);
  ck_assert_int_eq(halo_cl_alloc(device, 3ull << 30, "much", &block), HALO_OK);
  ck_assert_ptr_null(block->mem);
  ck_assert_uint_ge(memory_stats(device).live, 3ull << 30);
  ck_assert_int_eq(halo_cl_program_get(device, "not C at all", NULL, &program), HALO_OK);
  ck_assert_ptr_null(program->handle);
  halo_cl_program_save(program);
  ck_assert_int_eq(halo_cl_kernel_create(program, "k", &kernel), HALO_UNIMPLEMENTED);
  ck_assert_int_eq(halo_cl_device_check_runs(device, "running"), HALO_UNIMPLEMENTED);
  ck_message_has("wave64");
  halo_cl_device_release(device); /* before what it made */
  halo_cl_program_release(program);
  halo_cl_free(block);
}
END_TEST

/* ---- Memory ---- */

START_TEST(memory_reuse) {
  halo_cl_device *device = open_device((halo_cl_options){0});
  halo_cl_block *a, *b, *c;
  ck_assert_int_eq(halo_cl_alloc(device, 100000, "a", &a), HALO_OK);
  ck_assert_uint_ge(a->capacity, 100000);
  ck_assert_uint_le(a->capacity, 125000);
  cl_mem first = a->mem;
  halo_cl_block_retain(a);
  halo_cl_free(a);
  ck_assert_uint_eq(memory_stats(device).cached, 0);
  ck_assert_int_eq(halo_cl_alloc(device, 100001, "b", &b), HALO_OK);
  ck_assert_ptr_ne(b->mem, first);
  halo_cl_free(a);
  ck_assert_uint_ge(memory_stats(device).cached, 100000);
  ck_assert_int_eq(halo_cl_alloc(device, 99000, "c", &c), HALO_OK);
  ck_assert_ptr_eq(c->mem, first);
  ck_assert_uint_eq(c->size, 99000);
  halo_cl_memory_stats stats = memory_stats(device);
  ck_assert_uint_eq(stats.allocations, 3);
  ck_assert_uint_eq(stats.reused, 1);
  ck_assert_uint_eq(stats.cached, 0);
  ck_assert_uint_eq(stats.peak, stats.live);
  halo_cl_free(b);
  halo_cl_free(c);
  stats = memory_stats(device);
  ck_assert_uint_eq(stats.live, 0);
  ck_assert_uint_gt(stats.cached, 0);
  halo_cl_memory_trim(device);
  ck_assert_uint_eq(memory_stats(device).cached, 0);
  halo_cl_free(NULL);
  halo_cl_device_release(device);
}
END_TEST

/* Every size gets enough, wastes at most a quarter, and gets its own block back. */
START_TEST(memory_classes) {
  halo_cl_device *device = open_device((halo_cl_options){.device = wave64});
  for (size_t size = 0; size < 8ull << 30; size = size < 70000 ? size + 1 : size + size / 37) {
    halo_cl_block *a, *b;
    ck_assert_int_eq(halo_cl_alloc(device, size, "a", &a), HALO_OK);
    ck_assert_msg(a->capacity >= size && a->capacity > 0, "%zu gets %zu", size, a->capacity);
    ck_assert_msg(a->capacity <= 256 || a->capacity - size <= size / 4, "%zu gets %zu", size,
                  a->capacity);
    halo_cl_free(a);
    ck_assert_int_eq(halo_cl_alloc(device, size, "b", &b), HALO_OK);
    ck_assert_ptr_eq(a, b);
    halo_cl_free(b);
    halo_cl_memory_trim(device);
  }
  halo_cl_device_release(device);
}
END_TEST

START_TEST(memory_limit) {
  halo_cl_device *device = open_device((halo_cl_options){.memory_limit = 1 << 20});
  halo_cl_block *weights, *inputs[3], *block;
  ck_assert_int_eq(halo_cl_alloc(device, 400 << 10, "weights", &weights), HALO_OK);
  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(halo_cl_alloc(device, 100 << 10, "an input", &inputs[i]), HALO_OK);
  }
  ck_assert_int_eq(halo_cl_alloc(device, 500 << 10, "scratch of sort.4", &block),
                   HALO_OUT_OF_MEMORY);
  ck_assert_ptr_null(block);
  ck_message_has("scratch of sort.4 asks for 500.0 KiB (512000 bytes)");
  ck_message_has("of at most 1.0 MiB");
  ck_message_has("held by weights 448.0 KiB, an input 336.0 KiB in 3 blocks");
  /* What is only cached does not stand in the way. */
  halo_cl_free(weights);
  ck_assert_uint_gt(memory_stats(device).cached, 0);
  ck_assert_int_eq(halo_cl_alloc(device, 600 << 10, "scratch of sort.4", &block), HALO_OK);
  ck_assert_uint_eq(memory_stats(device).cached, 0);
  ck_assert_uint_le(memory_stats(device).live, 1 << 20);
  halo_cl_free(block);
  for (int i = 0; i < 3; i++) halo_cl_free(inputs[i]);
  /* Rounding up is no reason to refuse what fits. */
  ck_assert_int_eq(halo_cl_alloc(device, (1 << 20) - 1, "all", &block), HALO_OK);
  halo_cl_free(block);
  halo_cl_device_release(device);
}
END_TEST

START_TEST(memory_too_large) {
  halo_cl_device *device = open_device((halo_cl_options){.memory_limit = 1ull << 60});
  halo_cl_block *block;
  ck_assert_int_eq(halo_cl_alloc(device, device->caps.max_allocation + 1, "a matrix", &block),
                   HALO_OUT_OF_MEMORY);
  ck_message_has("a matrix asks for");
  ck_message_has("in one piece");
  ck_message_has("refused more (CL_");
  ck_assert_int_eq(halo_cl_alloc(device, SIZE_MAX, "a matrix", &block), HALO_OUT_OF_MEMORY);
  ck_assert_int_eq(halo_cl_alloc(device, 0, "nothing", &block), HALO_OK);
  ck_assert_ptr_nonnull(block->mem);
  halo_cl_device_release(device); /* the block keeps it */
  ck_assert_uint_eq(memory_stats(block->device).allocations, 3);
  halo_cl_free(block);
}
END_TEST

/* OpenCL itself refuses: the cache is given back first, and things go on. */
/* What nobody wants any more goes, but for a little; what is wanted stays. */
START_TEST(memory_unused) {
  enum { BLOCKS = 5 };
  const size_t size = (size_t)32 << 20;
  halo_cl_device *device = open_device((halo_cl_options){0});
  halo_cl_block *blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) {
    ck_assert_int_eq(halo_cl_alloc(device, size, "a", &blocks[i]), HALO_OK);
  }
  cl_mem last = blocks[BLOCKS - 1]->mem;
  for (int i = 0; i < BLOCKS; i++) halo_cl_free(blocks[i]);
  ck_assert_uint_eq(memory_stats(device).cached, BLOCKS * size);
  halo_cl_memory_trim_unused(device, 3600);
  ck_assert_uint_eq(memory_stats(device).cached, BLOCKS * size);
  halo_cl_memory_trim_unused(device, 0);
  ck_assert_uint_eq(memory_stats(device).cached, 2 * size);
  ck_assert_int_eq(halo_cl_alloc(device, size, "b", &blocks[0]), HALO_OK);
  ck_assert_ptr_eq(blocks[0]->mem, last);
  halo_cl_free(blocks[0]);
  halo_cl_device_release(device);
}
END_TEST

START_TEST(memory_refused) {
  halo_cl_device *device = open_device((halo_cl_options){.memory_limit = 1ull << 60});
  halo_cl_block *block;
  device->caps.max_allocation = 1ull << 60;
  ck_assert_int_eq(halo_cl_alloc(device, 5000, "a", &block), HALO_OK);
  halo_cl_free(block);
  ck_assert_uint_gt(memory_stats(device).cached, 0);
  ck_assert_int_eq(halo_cl_alloc(device, 1ull << 50, "b", &block), HALO_OUT_OF_MEMORY);
  ck_message_has("b asks for 1024.0 TiB");
  ck_message_has("OpenCL refused more (CL_");
  ck_assert_uint_eq(memory_stats(device).cached, 0);
  ck_assert_uint_eq(memory_stats(device).live, 0);
  ck_assert_int_eq(halo_cl_alloc(device, 5000, "c", &block), HALO_OK);
  halo_cl_free(block);
  halo_cl_device_release(device);
}
END_TEST

static void *memory_worker(void *data) {
  halo_cl_device *device = data;
  for (int i = 0; i < 2000; i++) {
    halo_cl_block *a, *b;
    ck_assert_int_eq(halo_cl_alloc(device, (size_t)(i % 50) * 100, "a", &a), HALO_OK);
    ck_assert_int_eq(halo_cl_alloc(device, 4096, "b", &b), HALO_OK);
    halo_cl_free(a);
    if (i % 500 == 0) halo_cl_memory_trim(device);
    halo_cl_free(b);
  }
  return NULL;
}

START_TEST(memory_threads) {
  halo_cl_device *device = open_device((halo_cl_options){0});
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, memory_worker, device);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  ck_assert_uint_eq(memory_stats(device).live, 0);
  ck_assert_uint_eq(memory_stats(device).allocations, 16000);
  halo_cl_device_release(device);
}
END_TEST

/* Two threads queue commands in one order and note them in the other: what was noted last stands for both all the same. */
START_TEST(timeline_order) {
  halo_cl_device *device = open_device((halo_cl_options){0});
  cl_int code;
  cl_event gate = clCreateUserEvent(device->context, &code), first, second;
  ck_assert_int_eq(code, CL_SUCCESS);
  uint64_t since = halo_cl_timeline_last(device);
  ck_assert_int_eq(clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &first), CL_SUCCESS);
  ck_assert_int_eq(clWaitForEvents(1, &first), CL_SUCCESS);
  ck_assert_int_eq(clEnqueueMarkerWithWaitList(device->queue, 1, &gate, &second), CL_SUCCESS);
  ck_assert_uint_eq(halo_cl_timeline_note(device, second, since), since + 1);
  ck_assert_uint_eq(halo_cl_timeline_note(device, first, since), since + 2);
  cl_event last = halo_cl_timeline_event(device, halo_cl_timeline_last(device));
  ck_assert_ptr_nonnull(last);
  ck_assert(!halo_cl_has_happened(last));
  ck_assert_int_eq(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  ck_assert_int_eq(clWaitForEvents(1, &last), CL_SUCCESS);
  ck_assert_ptr_null(halo_cl_timeline_event(device, halo_cl_timeline_last(device)));
  clReleaseEvent(last);
  clReleaseEvent(first);
  clReleaseEvent(second);
  clReleaseEvent(gate);
  halo_cl_device_release(device);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("opencl");
  TCase *plain = tcase_create("plain");
  tcase_set_timeout(plain, 120);
  tcase_add_test(plain, codes);
  tcase_add_test(plain, config_sizes);
  tcase_add_test(plain, config_names);
  tcase_add_test(plain, config_cache_dir);
  tcase_add_test(plain, config_shared_cache);
  tcase_add_test(plain, caps_samples);
  tcase_add_test(plain, caps_groups);
  tcase_add_test(plain, caps_private);
  tcase_add_loop_test(plain, caps_errors, 0, sizeof caps_faults / sizeof caps_faults[0]);
  tcase_add_test(plain, caps_unreadable);
  tcase_add_test(plain, device_selection);
  tcase_add_test(plain, devices_by_one_word);
  tcase_add_test(plain, all_devices);
  tcase_add_test(plain, device_from_environment);
  tcase_add_test(plain, device_treated);
  tcase_add_test(plain, broken_loader);
  tcase_add_test(plain, device_none);
  tcase_add_loop_test(plain, cpu_wish, 0, sizeof cpu_wishes / sizeof cpu_wishes[0]);
  tcase_add_test(plain, null_device);
  tcase_add_test(plain, memory_reuse);
  tcase_add_test(plain, memory_classes);
  tcase_add_test(plain, memory_limit);
  tcase_add_test(plain, memory_too_large);
  tcase_add_test(plain, memory_refused);
  tcase_add_test(plain, memory_unused);
  tcase_add_test(plain, memory_threads);
  tcase_add_test(plain, timeline_order);
  suite_add_tcase(suite, plain);
  return suite_run(suite);
}
