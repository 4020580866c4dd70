/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_folder.c: folders of caches that others can write to are not used, with one warning; such as are made
 * are private. */
#include "run_test.h"
#include "suite.h"

#include "base/folder.h"
#include "base/memory.h"
#include "client/client.h"
#include "opencl/pocl.h"
#include "opencl/private.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/halo-test-folder.XXXXXX";

static void set_up(void) {
  strcpy(root + strlen(root) - 6, "XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(root));
}

static void tear_down(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", root);
  ck_assert_int_eq(system(command), 0);
}

/* What is written to stderr meanwhile goes to a file. */
static int quiet_begin(const char *path) {
  int saved = dup(STDERR_FILENO), file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  ck_assert_int_ge(file, 0);
  dup2(file, STDERR_FILENO);
  close(file);
  return saved;
}

static void quiet_end(int saved) {
  fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);
}

/* How often the file has the text. */
static int count_in(const char *path, const char *text) {
  char all[8192] = "";
  int count = 0;
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  all[fread(all, 1, sizeof all - 1, file)] = 0;
  fclose(file);
  for (const char *at = all; (at = strstr(at, text)); at++) count++;
  return count;
}

START_TEST(modes) {
  static const struct {
    mode_t mode;
    bool good;
  } cases[] = {{0700, true},  {0755, true},   {0775, true},
               {0777, false}, {01777, false}, {0702, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ck_assert_int_eq(chmod(root, cases[i].mode), 0);
    halo_status status = halo_folder_check(root);
    ck_assert_int_eq(status, cases[i].good ? HALO_OK : HALO_FAILED_PRECONDITION);
    if (cases[i].good) continue;
    ck_assert_ptr_nonnull(strstr(halo_error_message(), root));
    ck_assert_ptr_nonnull(strstr(halo_error_message(), "everybody may write"));
  }
  ck_assert_int_eq(chmod(root, 0700), 0);
  ck_ok(halo_folder_check("/tmp/no/such/folder"));
}
END_TEST

START_TEST(owners) {
  if (geteuid() != 0) {
    printf("owners: skipped, as only root gives folders away\n");
    return;
  }
  ck_assert_int_eq(chmod(root, 0770), 0);
  ck_assert_int_eq(chown(root, 0, 12345), 0);
  ck_assert_int_eq(halo_folder_check(root), HALO_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(halo_error_message(), "a group"));
  ck_assert_int_eq(chmod(root, 0750), 0);
  ck_ok(halo_folder_check(root));
  ck_assert_int_eq(chown(root, 12345, getegid()), 0);
  ck_assert_int_eq(halo_folder_check(root), HALO_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(halo_error_message(), "another user"));
  /* Root's may be used by others. */
  ck_assert_int_eq(chown(root, 0, getegid()), 0);
  ck_assert_int_eq(chmod(root, 0755), 0);
  ck_assert_int_eq(seteuid(12345), 0);
  halo_status status = halo_folder_check(root);
  ck_assert_int_eq(seteuid(0), 0);
  ck_assert_int_eq(status, HALO_OK);
}
END_TEST

START_TEST(made_private) {
  char path[128];
  struct stat info;
  snprintf(path, sizeof path, "%s/a/b", root);
  umask(0);
  halo_folder_make(path);
  for (int above = 0; above < 2; above++) {
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_uint_eq(info.st_mode & 0777, 0700);
    *strrchr(path, '/') = 0;
  }
}
END_TEST

/* Our own cache neither reads nor writes there. */
START_TEST(own_cache) {
  const uint64_t key[2] = {1, 2};
  unsigned char *binary = NULL;
  size_t size = 0;
  char log[128], folder[128];
  snprintf(folder, sizeof folder, "%s/cache", root);
  snprintf(log, sizeof log, "%s/log", root);
  ck_assert(halo_disk_save(folder, key, (const unsigned char *)"abc", 3));
  ck_assert_int_eq(halo_disk_load(folder, key, &binary, &size), HALO_DISK_FOUND);
  halo_free(binary);
  ck_assert_int_eq(chmod(folder, 0777), 0);
  int saved = quiet_begin(log);
  for (int again = 0; again < 3; again++) {
    bool written = halo_disk_save(folder, key, (const unsigned char *)"abc", 3);
    halo_disk_result found = halo_disk_load(folder, key, &binary, &size);
    ck_assert(!written && found == HALO_DISK_ABSENT);
  }
  quiet_end(saved);
  ck_assert_int_eq(count_in(log, "everybody may write"), 1);
}
END_TEST

/* Runs a program with HALO_CACHE_DIR; so many lines say that a folder is not used. */
static void run_with(const char *folder, int lines) {
  char log[128];
  snprintf(log, sizeof log, "%s/log", root);
  unsetenv("POCL_CACHE_DIR");
  setenv("HALO_CACHE_DIR", folder, 1);
  setenv("HALO_CPU", "off", 1); /* else drivers may stay closed */
  int saved = quiet_begin(log);
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client,
                                   "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
                                   "  ROOT s = f32[4] add(x, x)\n}\n");
  halo_buffer *x = run_buffer(client, 4, (float[]){1, 2, 3, 4}), *y;
  ck_ok(halo_executable_execute(e, &x, 1, NULL, &y));
  run_check(y, "{2, 4, 6, 8}");
  halo_buffer_release(y);
  halo_buffer_release(x);
  halo_executable_release(e);
  halo_client_release(client);
  quiet_end(saved);
  ck_assert_int_eq(count_in(log, "is not used as a cache"), lines);
}

START_TEST(foreign_folder) {
  char folder[128];
  snprintf(folder, sizeof folder, "%s/cache", root);
  ck_assert_int_eq(mkdir(folder, 0700), 0);
  ck_assert_int_eq(chmod(folder, 0777), 0);
  run_with(folder, 1);
  ck_assert_ptr_null(getenv("POCL_CACHE_DIR"));
  ck_assert_int_eq(rmdir(folder), 0); /* nothing is in it */
}
END_TEST

/* The one that is meant for PoCL may be the planted one. */
START_TEST(foreign_below) {
  char folder[160];
  snprintf(folder, sizeof folder, "%s/pocl", root);
  ck_assert_int_eq(mkdir(folder, 0700), 0);
  ck_assert_int_eq(chmod(folder, 0777), 0);
  run_with(root, 1);
  ck_assert_ptr_null(getenv("POCL_CACHE_DIR"));
  ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

START_TEST(room) {
  char below[128];
  snprintf(below, sizeof below, "%s/not/there", root);
  ck_ok(halo_folder_check_room(root, 1));
  ck_ok(halo_folder_check_room(below, 1));
  ck_assert_int_eq(halo_folder_check_room(below, UINT64_MAX), HALO_IO_ERROR);
  ck_assert_ptr_nonnull(strstr(halo_error_message(), below));
  ck_ok(halo_folder_check_room("", 1)); /* nobody knows */
}
END_TEST

static bool is_pocl(halo_client *client) {
  return halo_pocl_is(&halo_client_device(client, 0)->cl->caps);
}

/* On a disk without room PoCL ends the process when it builds. */
START_TEST(full_disk) {
  char command[256], folder[128];
  halo_executable *e;
  snprintf(folder, sizeof folder, "%s/disk", root);
  ck_assert_int_eq(mkdir(folder, 0700), 0);
  snprintf(command, sizeof command, "mount -t tmpfs -o size=64k,mode=700 tmpfs %s 2>&1", folder);
  if (geteuid() != 0 || system(command) != 0) {
    printf("full_disk: skipped, as no small disk can be made here\n");
    return;
  }
  setenv("POCL_CACHE_DIR", folder, 1);
  unsetenv("POCL_KERNEL_CACHE");
  halo_client *client = run_client(NULL);
  halo_status status = run_try_compile(client,
                                       "HloModule m\nENTRY e {\n  x = f32[377] parameter(0)\n"
                                       "  ROOT s = f32[377] sine(x)\n}\n",
                                       NULL, &e);
  bool pocl = is_pocl(client), named = strstr(halo_error_message(), folder) != NULL;
  if (status == HALO_OK) halo_executable_release(e);
  halo_client_release(client);
  snprintf(command, sizeof command, "umount -l %s", folder);
  ck_assert_int_eq(system(command), 0);
  ck_assert_int_eq(status, pocl ? HALO_IO_ERROR : HALO_OK);
  if (pocl) ck_assert(named);
}
END_TEST

/* What PoCL does without a word: it has no devices. */
static void no_device(const char *reason) {
  halo_cl_listing *list;
  int count;
  halo_status status = halo_cl_enumerate(NULL, &list, &count);
  if (status == HALO_OK) { /* others', and none of PoCL */
    for (int i = 0; i < count; i++) ck_assert(!halo_pocl_is(&list[i].caps));
    halo_free(list);
    printf("%s: skipped, as other implementations have devices\n", reason);
    return;
  }
  ck_assert_int_eq(status, HALO_NO_DEVICE);
  ck_assert_msg(strstr(halo_error_message(), reason) != NULL, "%s", halo_error_message());
}

START_TEST(no_drivers) {
  setenv("POCL_DEVICES", "", 1);
  no_device("POCL_DEVICES");
}
END_TEST

START_TEST(read_only) {
  setenv("POCL_CACHE_DIR", "/proc/nothing", 1);
  unsetenv("POCL_KERNEL_CACHE");
  no_device("/proc/nothing");
}
END_TEST

START_TEST(own_folder) {
  run_with(root, 0);
  ck_assert_ptr_nonnull(getenv("POCL_CACHE_DIR"));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("folder");
  TCase *cases = tcase_create("folder");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, modes);
  tcase_add_test(cases, owners);
  tcase_add_test(cases, made_private);
  tcase_add_test(cases, own_cache);
  tcase_add_test(cases, foreign_folder);
  tcase_add_test(cases, foreign_below);
  tcase_add_test(cases, own_folder);
  tcase_add_test(cases, room);
  tcase_add_test(cases, full_disk);
  tcase_add_test(cases, no_drivers);
  tcase_add_test(cases, read_only);
  tcase_set_timeout(cases, 120);
  suite_add_tcase(suite, cases);
  return suite_run(suite);
}
