/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_progress_line.c: the line that the `halo` program shows on a terminal while compiling takes long. */
#include "suite.h"

#include "../../tools/progress.h"
#include "../../tools/tool.h"
#include "halo/client.h"

#include <fcntl.h>
#include <unistd.h>

static halo_compile_progress line_progress;
static bool line_is_first;
static const char *line_measured;
static double line_clock, line_step;

void halo_get_compile_progress(halo_compile_progress *out) { *out = line_progress; }
bool tool_is_first(void) { return line_is_first; }
double tool_now(void) { return line_clock += line_step; }

/* The output on stderr, a terminal or a pipe, between start and stop, and at stop. */
static void line_show(bool terminal, halo_compile_progress now, bool first, char out[4096]) {
  int ends[2], saved = dup(STDERR_FILENO);
  line_progress = now;
  line_is_first = first;
  if (terminal) {
    ends[0] = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert(ends[0] >= 0 && grantpt(ends[0]) == 0 && unlockpt(ends[0]) == 0);
    ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY);
  } else {
    ck_assert_int_eq(pipe(ends), 0);
  }
  ck_assert_int_ge(ends[1], 0);
  dup2(ends[1], STDERR_FILENO);
  line_measured ? progress_measure("%s", line_measured) : progress_start();
  usleep(600000);
  progress_stop();
  fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);
  close(ends[1]);
  /* A terminal hands over what was written some time later, and fails in the end. */
  size_t length = 0;
  for (ssize_t size; (size = read(ends[0], out + length, 4095 - length)) > 0;) {
    length += (size_t)size;
  }
  out[length] = '\0';
  close(ends[0]);
}

START_TEST(shown) {
  char text[4096];
  line_show(true, (halo_compile_progress){true, true, 12.4, 80, 41}, true, text);
  ck_assert_msg(strstr(text, "\rcompiling: 41 of 80 kernels, 12 s; kept for next time\033[K"), "%s",
                text);
  /* It is gone in the end. */
  ck_assert_str_eq(text + strlen(text) - 4, "\r\033[K");
  line_show(true, (halo_compile_progress){true, false, 3.5, 0, 0}, true, text);
  ck_assert_msg(strstr(text, "\rcompiling: 4 s\033[K"), "%s", text);
}
END_TEST

START_TEST(silent) {
  char text[4096];
  const halo_compile_progress slow = {true, true, 12, 80, 41}, quick = {true, true, 2.9, 80, 41},
                              idle = {false, true, 0, 80, 80};
  line_show(false, slow, true, text); /* no terminal */
  ck_assert_str_eq(text, "");
  line_show(true, slow, false, text); /* another process speaks */
  ck_assert_str_eq(text, "");
  line_show(true, quick, true, text);
  ck_assert_str_eq(text, "");
  line_show(true, idle, true, text);
  ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(measuring) {
  char text[4096];
  const halo_compile_progress idle = {0}, slow = {true, true, 12, 80, 41};
  line_measured = "an all-reduce of 1 MiB";
  line_step = 4; /* seconds between two readings of the clock */
  line_show(true, idle, true, text);
  ck_assert_msg(strstr(text, "\rmeasuring an all-reduce of 1 MiB, 4 s\033[K"), "%s", text);
  ck_assert_str_eq(text + strlen(text) - 4, "\r\033[K");
  line_show(true, slow, true, text);
  ck_assert_msg(strstr(text, "\rcompiling: 41 of 80"), "%s", text);
  ck_assert_ptr_null(strstr(text, "measuring"));
  line_show(false, idle, true, text);
  ck_assert_str_eq(text, "");
  line_step = 0.1;
  line_show(true, idle, true, text);
  ck_assert_str_eq(text, "");
  line_measured = NULL;
}
END_TEST

int main(void) {
  Suite *suite = suite_create("progress_line");
  TCase *all = tcase_create("all");
  tcase_set_timeout(all, 60);
  tcase_add_test(all, shown);
  tcase_add_test(all, silent);
  tcase_add_test(all, measuring);
  suite_add_tcase(suite, all);
  return suite_run(suite);
}
