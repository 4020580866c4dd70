/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_program_cache.c: device programs: how they are built, remembered, saved and read again. */
#include "base/memory.h"
#include "base/processor.h"
#include "base/strbuf.h"
#include "opencl/pocl.h"
#include "opencl_test.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char good_source[] =
    "__kernel void twice(__global float *a) { a[get_global_id(0)] *= 2.0f; }\n";

static char cache_dir[] = "/tmp/halo-test-program.XXXXXX";

static halo_cl_program_stats program_stats(halo_cl_device *device) {
  halo_cl_program_stats stats;
  halo_cl_program_get_stats(device, &stats);
  return stats;
}

static void cache_set_up(void) {
  strcpy(cache_dir + strlen(cache_dir) - 6, "XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(cache_dir));
}

static void cache_tear_down(void) {
  DIR *folder = opendir(cache_dir);
  for (struct dirent *item; folder && (item = readdir(folder));) {
    unlinkat(dirfd(folder), item->d_name, 0);
  }
  if (folder) closedir(folder);
  rmdir(cache_dir);
}

static halo_cl_device *open_cached(void) {
  return open_device((halo_cl_options){.cache_dir = cache_dir});
}

/* The only file in the cache, or "" when there is none. */
static void cache_file(char *path, size_t size) {
  DIR *folder = opendir(cache_dir);
  int count = 0;
  path[0] = '\0';
  for (struct dirent *item; (item = readdir(folder));) {
    if (item->d_name[0] == '.') continue;
    snprintf(path, size, "%s/%s", cache_dir, item->d_name);
    count++;
  }
  closedir(folder);
  ck_assert_int_le(count, 1);
}

/* Runs `twice` on 1.5. */
static void run_twice(halo_cl_program *program) {
  halo_cl_device *device = program->device;
  halo_cl_block *block;
  cl_kernel kernel;
  float value = 1.5f;
  size_t one = 1;
  ck_assert_int_eq(halo_cl_alloc(device, sizeof value, "a", &block), HALO_OK);
  clEnqueueWriteBuffer(device->queue, block->mem, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL);
  ck_assert_int_eq(halo_cl_kernel_create(program, "twice", &kernel), HALO_OK);
  clSetKernelArg(kernel, 0, sizeof block->mem, &block->mem);
  ck_assert_int_eq(
      clEnqueueNDRangeKernel(device->queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL),
      CL_SUCCESS);
  clEnqueueReadBuffer(device->queue, block->mem, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL);
  ck_assert_float_eq(value, 3.0f);
  clReleaseKernel(kernel);
  halo_cl_free(block);
}

/* Gets, runs and saves the program on a fresh device; what the cache did is returned. */
static halo_cl_program_stats use_program(const char *source, const char *options) {
  halo_cl_device *device = open_cached();
  halo_cl_program *program;
  halo_status status = halo_cl_program_get(device, source, options, &program);
  ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
  run_twice(program);
  halo_cl_program_save(program);
  halo_cl_program_save(program);
  halo_cl_program_release(program);
  halo_cl_program_stats stats = program_stats(device);
  halo_cl_device_release(device);
  return stats;
}

START_TEST(program_memory) {
  halo_cl_device *device = open_device((halo_cl_options){.cache_dir = ""});
  halo_cl_program *a, *b, *c;
  cl_kernel kernel;
  ck_assert_int_eq(halo_cl_program_get(device, good_source, NULL, &a), HALO_OK);
  ck_assert_int_eq(halo_cl_program_get(device, good_source, "", &b), HALO_OK);
  ck_assert_int_eq(halo_cl_program_get(device, good_source, "-DX=1", &c), HALO_OK);
  ck_assert_ptr_eq(a, b);
  ck_assert_ptr_ne(a, c);
  halo_cl_program_release(a);
  run_twice(b);
  halo_cl_program_release(b);
  ck_assert_int_eq(halo_cl_program_get(device, good_source, NULL, &a), HALO_OK);
  halo_cl_program_stats stats = program_stats(device);
  ck_assert_uint_eq(stats.builds, 2);
  ck_assert_uint_eq(stats.memory_hits, 2);
  ck_assert_uint_eq(stats.saved, 0);
  ck_assert_ptr_null(stats.directory);
  ck_assert_int_eq(halo_cl_kernel_create(a, "thrice", &kernel), HALO_DEVICE_ERROR);
  ck_message_has("kernel thrice");
  ck_message_has("CL_INVALID_KERNEL_NAME");
  halo_cl_device_release(device);
  halo_cl_program_release(a);
  halo_cl_program_release(c);
}
END_TEST

START_TEST(program_many) {
  halo_cl_device *device = open_device((halo_cl_options){.device = wave64});
  halo_cl_program *held, *program;
  ck_assert_int_eq(halo_cl_program_get(device, "held", NULL, &held), HALO_OK);
  for (int i = 0; i < 500; i++) {
    char source[16];
    snprintf(source, sizeof source, "%d", i);
    ck_assert_int_eq(halo_cl_program_get(device, source, NULL, &program), HALO_OK);
    halo_cl_program_release(program);
  }
  /* The newest are remembered, as is what is held; the oldest are not. */
  ck_assert_int_eq(halo_cl_program_get(device, "499", NULL, &program), HALO_OK);
  halo_cl_program_release(program);
  ck_assert_uint_eq(program_stats(device).memory_hits, 1);
  ck_assert_int_eq(halo_cl_program_get(device, "held", NULL, &program), HALO_OK);
  ck_assert_ptr_eq(program, held);
  ck_assert_int_eq(halo_cl_program_get(device, "0", NULL, &program), HALO_OK);
  ck_assert_uint_eq(program_stats(device).memory_hits, 2);
  halo_cl_program_release(program);
  halo_cl_program_release(held);
  halo_cl_program_release(held);
  halo_cl_device_release(device);
}
END_TEST

/* A program whose source is a letter, many times. */
static uint64_t use_large_program(halo_cl_device *device, char letter, size_t size) {
  halo_cl_program *program;
  char *source = halo_alloc(size + 1);
  memset(source, letter, size);
  uint64_t hits = program_stats(device).memory_hits;
  ck_assert_int_eq(halo_cl_program_get(device, source, NULL, &program), HALO_OK);
  halo_cl_program_release(program);
  halo_free(source);
  return program_stats(device).memory_hits - hits;
}

START_TEST(program_large) {
  halo_cl_device *device = open_device((halo_cl_options){.device = wave64});
  const size_t size = 400 << 10;
  for (char letter = 'a'; letter < 'f'; letter++) use_large_program(device, letter, size);
  /* Two are remembered, the newest first. */
  ck_assert_uint_eq(use_large_program(device, 'e', size), 1);
  ck_assert_uint_eq(use_large_program(device, 'd', size), 1);
  ck_assert_uint_eq(use_large_program(device, 'c', size), 0);
  /* One is, whatever its size, and nothing beside that. */
  use_large_program(device, 'x', 16 * size);
  ck_assert_uint_eq(use_large_program(device, 'x', 16 * size), 1);
  ck_assert_uint_eq(use_large_program(device, 'c', size), 0);
  halo_cl_device_release(device);
}
END_TEST

START_TEST(program_disk) {
  halo_cl_program_stats stats = use_program(good_source, NULL);
  ck_assert_uint_eq(stats.builds, 1);
  ck_assert_uint_eq(stats.saved, 1);
  ck_assert(!stats.left_to_runtime);
  stats = use_program(good_source, NULL);
  ck_assert_uint_eq(stats.builds, 0);
  ck_assert_uint_eq(stats.disk_hits, 1);
  ck_assert_uint_eq(stats.saved, 0);
  stats = use_program(good_source, "-DX=1");
  ck_assert_uint_eq(stats.builds, 1);
}
END_TEST

typedef enum damage {
  DAMAGE_CUT,
  DAMAGE_EMPTY,
  DAMAGE_FLIP,
  DAMAGE_MAGIC,
  DAMAGE_KEY,
  DAMAGE_LONG,
  DAMAGE_ZERO,
  DAMAGE_COUNT
} damage;

static void damage_file(const char *path, damage how) {
  struct stat about;
  ck_assert_int_eq(stat(path, &about), 0);
  FILE *file = fopen(path, how == DAMAGE_LONG ? "ab" : "r+b");
  switch (how) {
    case DAMAGE_CUT: ck_assert_int_eq(truncate(path, about.st_size / 2), 0); break;
    case DAMAGE_EMPTY: ck_assert_int_eq(truncate(path, 0), 0); break;
    case DAMAGE_FLIP:
      fseek(file, about.st_size * 3 / 4, SEEK_SET);
      fputs("#", file);
      break;
    case DAMAGE_MAGIC: fputs("HALOPRG0", file); break;
    case DAMAGE_KEY:
      fseek(file, 9, SEEK_SET);
      fputs("zz", file);
      break;
    case DAMAGE_LONG: fputs("more", file); break;
    case DAMAGE_ZERO:
      for (long i = 0; i < about.st_size; i++) fputc(0, file);
      break;
    case DAMAGE_COUNT: break;
  }
  fclose(file);
}

START_TEST(program_damaged) {
  char path[512];
  use_program(good_source, NULL);
  cache_file(path, sizeof path);
  ck_assert_str_ne(path, "");
  damage_file(path, (damage)_i);
  halo_cl_program_stats stats = use_program(good_source, NULL);
  ck_assert_uint_eq(stats.damaged, 1);
  ck_assert_uint_eq(stats.builds, 1);
  ck_assert_uint_eq(stats.disk_hits, 0);
  ck_assert_uint_eq(stats.saved, 1);
  stats = use_program(good_source, NULL);
  ck_assert_uint_eq(stats.disk_hits, 1);
  ck_assert_uint_eq(stats.damaged, 0);
}
END_TEST

/* What others may have written is not run, but made anew. */
START_TEST(program_of_others) {
  char path[512];
  struct stat about;
  use_program(good_source, NULL);
  cache_file(path, sizeof path);
  ck_assert_int_eq(_i == 0 ? chmod(path, 0666) : geteuid() == 0 ? chown(path, 65534, 65534) : 0, 0);
  halo_cl_program_stats stats = use_program(good_source, NULL);
  if (_i == 1 && geteuid() != 0) return; /* only root gives files away */
  ck_assert_uint_eq(stats.damaged, 1);
  ck_assert_uint_eq(stats.builds, 1);
  ck_assert_int_eq(stat(path, &about), 0);
  ck_assert_uint_eq(about.st_mode & 0777, 0600);
  ck_assert_uint_eq(about.st_uid, geteuid());
}
END_TEST

/* A whole file under the name of another program is not believed. */
START_TEST(program_swapped) {
  char first[512], second[512];
  use_program(good_source, "-DX=1");
  cache_file(first, sizeof first);
  ck_assert_int_eq(rename(first, "/tmp/halo-swapped.bin"), 0);
  use_program(good_source, "-DX=2");
  cache_file(second, sizeof second);
  ck_assert_int_eq(rename("/tmp/halo-swapped.bin", second), 0);
  ck_assert_uint_eq(use_program(good_source, "-DX=2").damaged, 1);
}
END_TEST

/* A folder that cannot be: saving stops quietly, building goes on. */
START_TEST(program_unwritable) {
  halo_cl_device *device = open_device((halo_cl_options){.cache_dir = "/dev/null/cache"});
  for (int i = 0; i < 5; i++) {
    halo_cl_program *program;
    char options[16];
    snprintf(options, sizeof options, "-DX=%d", i);
    ck_assert_int_eq(halo_cl_program_get(device, good_source, options, &program), HALO_OK);
    halo_cl_program_save(program);
    halo_cl_program_release(program);
  }
  halo_cl_program_stats stats = program_stats(device);
  ck_assert_uint_eq(stats.builds, 5);
  ck_assert_uint_eq(stats.saved, 0);
  ck_assert_uint_eq(stats.save_failures, 3);
  ck_assert_str_eq(stats.directory, "/dev/null/cache");
  halo_cl_device_release(device);
}
END_TEST

/* A file size limit makes writes fail half-way, as a full disk does. PoCL's compiler does not survive
 * that, so there the program is built before; elsewhere building stores at once. */
START_TEST(program_full_disk) {
  char path[512];
  halo_cl_device *device = open_cached();
  halo_cl_program *program;
  bool pocl = strstr(device->caps.platform, "Portable Computing Language");
  struct rlimit limit = {1000, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
  if (pocl) ck_assert_int_eq(halo_cl_program_get(device, good_source, NULL, &program), HALO_OK);
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit); /* of Check's own files too, so no checks meanwhile */
  halo_status status = HALO_OK;
  if (!pocl) status = halo_cl_program_get(device, good_source, NULL, &program);
  if (status == HALO_OK) halo_cl_program_save(program);
  setrlimit(RLIMIT_FSIZE, &all);
  ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
  halo_cl_program_stats stats = program_stats(device);
  ck_assert_uint_eq(stats.saved, 0);
  ck_assert_uint_eq(stats.save_failures, 1);
  cache_file(path, sizeof path);
  ck_assert_str_eq(path, "");
  run_twice(program);
  halo_cl_program_release(program);
  halo_cl_device_release(device);
}
END_TEST

START_TEST(program_bad_source) {
  static const char source[] =
      "__kernel void k(__global float *a) {\n"
      "  a[0] = 1.0f;\n"
      "  a[0] = undeclared_thing + 1.0f;\n"
      "}\n";
  halo_cl_device *device = open_device((halo_cl_options){.cache_dir = ""});
  halo_cl_program *program;
  ck_assert_int_eq(halo_cl_program_get(device, source, "-DY=2", &program), HALO_DEVICE_ERROR);
  ck_assert_ptr_null(program);
  ck_message_has("CL_BUILD_PROGRAM_FAILURE");
  ck_message_has("-DY=2");
  ck_message_has("undeclared_thing");
  ck_message_has("     3 |   a[0] = undeclared_thing + 1.0f;\n");
  ck_assert_int_eq(halo_cl_program_get(device, good_source, NULL, &program), HALO_OK);
  halo_cl_program_release(program);
  halo_cl_device_release(device);
}
END_TEST

static void *program_worker(void *data) {
  halo_cl_device *device = data;
  for (int i = 0; i < 20; i++) {
    halo_cl_program *program;
    char options[16];
    snprintf(options, sizeof options, "-DX=%d", i % 3);
    ck_assert_int_eq(halo_cl_program_get(device, good_source, options, &program), HALO_OK);
    if (i < 3) run_twice(program);
    halo_cl_program_save(program);
    halo_cl_program_release(program);
  }
  return NULL;
}

START_TEST(program_threads) {
  halo_cl_device *device = open_cached();
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, program_worker, device);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  halo_cl_program_stats stats = program_stats(device);
  ck_assert_uint_eq(stats.save_failures, 0);
  ck_assert_uint_eq(stats.saved, 3);
  halo_cl_device_release(device);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("program_cache");
  TCase *plain = tcase_create("plain");
  tcase_set_timeout(plain, 120);
  tcase_add_test(plain, program_memory);
  tcase_add_test(plain, program_many);
  tcase_add_test(plain, program_large);
  tcase_add_test(plain, program_bad_source);
  tcase_add_test(plain, program_unwritable);
  suite_add_tcase(suite, plain);
  TCase *disk = tcase_create("disk");
  tcase_set_timeout(disk, 120);
  tcase_add_checked_fixture(disk, cache_set_up, cache_tear_down);
  tcase_add_test(disk, program_disk);
  tcase_add_loop_test(disk, program_damaged, 0, DAMAGE_COUNT);
  tcase_add_loop_test(disk, program_of_others, 0, 2);
  tcase_add_test(disk, program_swapped);
  tcase_add_test(disk, program_full_disk);
  tcase_add_test(disk, program_threads);
  suite_add_tcase(suite, disk);
  return suite_run(suite);
}
