/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_reports.c: what a compiled program tells of itself, dumps and profiles, and a damaged cache on disk. */
#include "run_test.h"
#include "suite.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

START_TEST(reports) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, RUN_ADD);
  for (int i = HALO_REPORT_EXPLAIN; i <= HALO_REPORT_MODULE; i++) {
    const char *text = halo_executable_report(e, (halo_report)i);
    ck_assert_ptr_nonnull(text);
    ck_assert_str_ne(text, "");
    ck_assert_ptr_eq(text, halo_executable_report(e, (halo_report)i));
  }
  ck_assert_ptr_nonnull(strstr(halo_executable_report(e, HALO_REPORT_EXPLAIN), "loop:generic"));
  ck_assert_ptr_nonnull(strstr(halo_executable_report(e, HALO_REPORT_PLAN), "kernel"));
  ck_assert_ptr_nonnull(strstr(halo_executable_report(e, HALO_REPORT_SOURCE), "__kernel"));
  ck_assert_ptr_nonnull(strstr(halo_executable_report(e, HALO_REPORT_MODULE), "HloModule add"));
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

static int count_files(const char *folder, const char *part, bool remove_them) {
  DIR *dir = opendir(folder);
  int count = 0;
  ck_assert_ptr_nonnull(dir);
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    char path[600];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    ck_assert_int_eq(stat(path, &about), 0);
    count += strstr(entry->d_name, part) != NULL && about.st_size > 0;
    if (remove_them) unlink(path);
  }
  closedir(dir);
  return count;
}

START_TEST(dumps) {
  char folder[] = "/tmp/halo-dump-XXXXXX", inner[64];
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(inner, sizeof inner, "%s/new", folder);
  halo_client *client = run_client(NULL);
  halo_executable *e;
  ck_ok(run_try_compile(client, RUN_ADD, &(halo_compile_options){.dump_dir = inner}, &e));
  ck_assert_int_eq(count_files(inner, "input.hlo", false), 1);
  ck_assert_int_ge(count_files(inner, ".hlo", false), 2);
  ck_assert_int_eq(count_files(inner, ".cl", false), 1);
  ck_assert_int_eq(count_files(inner, "plan.txt", false), 1);
  ck_assert_int_eq(count_files(inner, "explain.txt", true), 1);
  halo_executable_release(e);
  ck_fails(run_try_compile(client, RUN_ADD,
                           &(halo_compile_options){.dump_dir = "/dev/null/nowhere"}, &e),
           HALO_IO_ERROR, "/dev/null/nowhere");
  ck_assert_ptr_null(e);
  halo_client_release(client);
  rmdir(inner);
  rmdir(folder);
}
END_TEST

START_TEST(profile) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, RUN_TWICE);
  const halo_profile_row *rows;
  int count;
  ck_fails(halo_executable_profile(e, &rows, &count), HALO_FAILED_PRECONDITION, "profile");
  halo_profile_host host[HALO_PROFILE_HOST_ROWS];
  ck_fails(halo_executable_profile_host(e, host), HALO_FAILED_PRECONDITION, "profile");
  halo_executable_release(e);
  halo_client_release(client);

  halo_client_options options = {.cache_dir = "", .profile = true};
  ck_ok(halo_client_create(&options, &client));
  e = run_compile(client, RUN_TWICE);
  halo_buffer *x = run_filled(client, 1024, 1), *y;
  for (int i = 0; i < 3; i++) {
    ck_ok(halo_executable_execute(e, &x, 1, NULL, &y));
    halo_buffer_release(y);
  }
  for (int i = 0; i < 2; i++) {
    ck_ok(halo_executable_profile(e, &rows, &count));
    ck_assert_int_eq(count, 1);
    ck_assert_uint_eq(rows[0].runs, 3);
    ck_assert_str_eq(rows[0].kind, "kernel");
    ck_assert_str_ne(rows[0].name, "");
    ck_assert_int_eq(rows[0].bytes, 2 * 4096);
    ck_assert(rows[0].seconds > 0);
  }
  ck_ok(halo_executable_profile_host(e, host));
  const uint64_t counts[HALO_PROFILE_HOST_ROWS] = {3, 0, 6, 0,
                                                   0}; /* memory: taken and given back */
  for (int i = 0; i < HALO_PROFILE_HOST_ROWS; i++) {
    ck_assert_uint_eq(host[i].count, counts[i]);
    ck_assert(host[i].count == 0 ? host[i].seconds == 0 : host[i].seconds > 0);
  }
  ck_assert_str_eq(host[0].work, "launches");
  halo_buffer_release(x);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* ---- The cache on disk ---- */

static void spoil(const char *folder) {
  DIR *dir = opendir(folder);
  ck_assert_ptr_nonnull(dir);
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r+b");
    if (!file) continue;
    fseek(file, -10, SEEK_END);
    fputs("spoiled", file);
    fclose(file);
  }
  closedir(dir);
}

START_TEST(damaged_cache) {
  char folder[] = "/tmp/halo-cache-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  for (int round = 0; round < 3; round++) {
    halo_client *client;
    ck_ok(halo_client_create(&(halo_client_options){.cache_dir = folder}, &client));
    halo_executable *e = run_compile(client, RUN_TWICE);
    halo_buffer *x = run_filled(client, 1024, 4), *y;
    ck_ok(halo_executable_execute(e, &x, 1, NULL, &y));
    ck_assert_float_eq(run_first(y, 1024), 8);
    halo_buffer_release(x);
    halo_buffer_release(y);
    halo_executable_release(e);
    halo_client_release(client);
    ck_assert_int_eq(count_files(folder, ".bin", false), 1);
    if (round == 0) spoil(folder);
  }
  count_files(folder, "", true);
  rmdir(folder);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("reports");
  TCase *tcase = tcase_create("reports");
  tcase_add_test(tcase, reports);
  tcase_add_test(tcase, dumps);
  tcase_add_test(tcase, profile);
  tcase_add_test(tcase, damaged_cache);
  tcase_set_timeout(tcase, 120);
  suite_add_tcase(suite, tcase);
  return suite_run(suite);
}
