/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_log.c: HALO_LOG, HALO_LOG_FILE, and how far compilations have come. */
#include "run_test.h"
#include "suite.h"

#include "base/log.h"
#include "base/progress.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static char log_path[] = "/tmp/halo-test-log.XXXXXX";

static void log_setup(void) {
  strcpy(log_path + sizeof log_path - 7, "XXXXXX");
  int fd = mkstemp(log_path);
  ck_assert_int_ge(fd, 0);
  close(fd);
  setenv("HALO_LOG_FILE", log_path, 1);
}

static void log_teardown(void) { unlink(log_path); }

/* The text of the log, to be freed. */
static char *log_read(void) {
  FILE *file = fopen(log_path, "r");
  ck_assert_ptr_nonnull(file);
  char *text = calloc(1, 1 << 20);
  text[fread(text, 1, (1 << 20) - 1, file)] = '\0';
  fclose(file);
  return text;
}

/* Compiles and runs a program, and fails to compile another. */
static void log_work(void) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, RUN_ADD), *none;
  halo_buffer *x[2], *sum;
  for (int i = 0; i < 2; i++) x[i] = run_buffer(client, 4, (float[]){1, 2, 3, 4});
  ck_ok(halo_executable_execute(e, x, 2, NULL, &sum));
  run_check(sum, "{2, 4, 6, 8}");
  halo_buffer_release(sum);
  for (int i = 0; i < 2; i++) halo_buffer_release(x[i]);
  halo_executable_release(e);
  const halo_compile_options unknown = {.kernels = "no:such"};
  ck_assert_int_ne(run_try_compile(client, RUN_TWICE, &unknown, &none), HALO_OK);
  halo_client_release(client);
}

static void log_has(const char *text, const char *part) {
  ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in:\n%s", part, text);
}

START_TEST(off) {
  unsetenv("HALO_LOG");
  log_work();
  char *text = log_read();
  ck_assert_str_eq(text, "");
  free(text);
}
END_TEST

START_TEST(info) {
  setenv("HALO_LOG", "info", 1);
  log_work();
  char *text = log_read(), prefix[64];
  snprintf(prefix, sizeof prefix, "halo[%ld] ", (long)getpid());
  log_has(text, "client: device 0 is ");
  log_has(text, "compile add: begins\n");
  log_has(text, "compile add: passes took ");
  log_has(text,
          "; units: 0 already in memory, 1 new (1 kernel); OpenCL programs: 0 loaded from disk, 1 "
          "built");
  log_has(text, "compile add: done after ");
  log_has(text, "compile twice: failed after ");
  ck_assert_ptr_null(strstr(text, "run 1 of "));
  for (char *line = text; *line; line = strchr(line, '\n') + 1) {
    double seconds = -1;
    ck_assert_msg(strncmp(line, prefix, strlen(prefix)) == 0, "%s", line);
    ck_assert_int_eq(sscanf(line + strlen(prefix), "%lf", &seconds), 1);
    ck_assert(seconds >= 0 && seconds < 600); /* since this process began */
  }
  free(text);
}
END_TEST

START_TEST(debug) {
  setenv("HALO_LOG", "debug", 1);
  log_work();
  char *text = log_read();
  log_has(text, "run 1 of add on device 0: queued after ");
  log_has(text, ": built, ");
  free(text);
}
END_TEST

START_TEST(collectives) {
  static const char program[] =
      "HloModule both, replica_count=2\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  ROOT s = f32[] add(a, b)\n}\nENTRY e {\n  x = f32[4] parameter(0)\n"
      "  ROOT r = f32[4] all-reduce(x), to_apply=sum\n}\n";
  setenv("HALO_LOG", "debug", 1);
  halo_client *client = run_client("cpu*2");
  halo_executable *e = run_compile(client, program);
  halo_buffer *x[2], *y[2], **given[2] = {&x[0], &x[1]}, **got[2] = {&y[0], &y[1]};
  const halo_shape *shape = halo_executable_argument_shape(e, 0);
  for (int i = 0; i < 2; i++) {
    ck_ok(halo_buffer_put(halo_client_device(client, i), (float[]){1, 2, 3, 4}, NULL, shape, &x[i],
                          NULL));
  }
  ck_ok(halo_executable_execute_all(e, (halo_buffer *const *const *)given, 1, NULL, got));
  for (int i = 0; i < 2; i++) run_check(y[i], "{2, 4, 6, 8}");
  for (int i = 0; i < 2; i++) halo_buffer_release(x[i]);
  for (int i = 0; i < 2; i++) halo_buffer_release(y[i]);
  halo_executable_release(e);
  halo_client_release(client);
  char *text = log_read();
  log_has(text, "all-reduce r");
  log_has(text, " done, 2 devices, 16 bytes, ");
  free(text);
}
END_TEST

START_TEST(refused) {
  halo_client *client;
  setenv("HALO_LOG", "loud", 1);
  for (int i = 0; i < 2; i++) {
    ck_fails(halo_client_create(NULL, &client), HALO_INVALID_ARGUMENT,
             "HALO_LOG: \"info\" or \"debug\" is expected, not \"loud\"");
  }
}
END_TEST

START_TEST(no_file) {
  halo_client *client;
  setenv("HALO_LOG", "info", 1);
  setenv("HALO_LOG_FILE", "/nonexistent/log", 1);
  ck_fails(halo_client_create(NULL, &client), HALO_IO_ERROR,
           "HALO_LOG_FILE=/nonexistent/log cannot be written: No such file");
}
END_TEST

START_TEST(long_lines) {
  enum { LONG = 5000 };
  char *word = calloc(1, LONG + 1), *text;
  setenv("HALO_LOG", "info", 1);
  ck_ok(halo_log_open());
  memset(word, 'x', LONG);
  HALO_LOG(HALO_LOG_INFO, "a\nb %s", word);
  HALO_LOG(HALO_LOG_INFO, "short");
  HALO_LOG(HALO_LOG_DEBUG, "unwanted");
  text = log_read();
  log_has(text, " a b xxx");
  log_has(text, "xxx\nhalo[");
  log_has(text, " short\n");
  ck_assert_int_lt(strlen(text), 2200);
  ck_assert_ptr_null(strstr(text, "unwanted"));
  free(text);
  free(word);
}
END_TEST

/* ---- Progress ---- */

START_TEST(counts) {
  ck_assert(!halo_progress_get().active);
  halo_progress_begin();
  halo_progress_begin();
  halo_progress_expect(3, true);
  halo_progress_expect(2, false);
  halo_progress_done(4);
  halo_progress now = halo_progress_get();
  ck_assert(now.active && !now.kept && now.kernels == 5 && now.done == 4 && now.seconds >= 0);
  halo_progress_done(4);
  ck_assert_int_eq(halo_progress_get().done, 5);
  halo_progress_end();
  ck_assert(halo_progress_get().active);
  halo_progress_end();
  ck_assert(!halo_progress_get().active);
  halo_progress_begin();
  now = halo_progress_get();
  ck_assert(now.active && now.kept && now.kernels == 0 && now.done == 0);
  halo_progress_end();
}
END_TEST

static atomic_bool watch_ends;

static void *watch(void *data) {
  halo_compile_progress *most = data, now;
  while (!atomic_load(&watch_ends)) {
    halo_get_compile_progress(&now);
    if (now.active && now.kernels >= most->kernels) *most = now;
    usleep(200);
  }
  return NULL;
}

/* On a driver's device, which may compile kernels when they are launched; or as usual. */
START_TEST(watched) {
  halo_compile_progress most = {0}, now;
  pthread_t thread;
  if (_i) setenv("HALO_CPU", "off", 1);
  atomic_store(&watch_ends, false);
  ck_assert_int_eq(pthread_create(&thread, NULL, watch, &most), 0);
  log_work();
  for (int i = 0; i < 1000; i++) { /* callbacks of launches come a little later */
    halo_get_compile_progress(&now);
    if (!now.active) break;
    usleep(1000);
  }
  ck_assert(!now.active && now.seconds == 0);
  atomic_store(&watch_ends, true);
  pthread_join(thread, NULL);
  ck_assert_int_eq(most.kernels, 1);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("log");
  TCase *lines = tcase_create("lines");
  tcase_set_timeout(lines, 60);
  tcase_add_checked_fixture(lines, log_setup, log_teardown);
  tcase_add_test(lines, off);
  tcase_add_test(lines, info);
  tcase_add_test(lines, debug);
  tcase_add_test(lines, collectives);
  tcase_add_test(lines, refused);
  tcase_add_test(lines, no_file);
  tcase_add_test(lines, long_lines);
  suite_add_tcase(suite, lines);
  TCase *progress = tcase_create("progress");
  tcase_set_timeout(progress, 60);
  tcase_add_test(progress, counts);
  tcase_add_loop_test(progress, watched, 0, 2);
  suite_add_tcase(suite, progress);
  return suite_run(suite);
}
