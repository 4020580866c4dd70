/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_pocl_pages.c: behind a few runs all pages of the kernels that PoCL has loaded are there. Other
 * implementations have no such files. */
#include "run_test.h"
#include "suite.h"

#include <stdio.h>
#include <sys/mman.h>

/* Two kernels, one of them with a choice of constants. */
static const char text[] =
    "HloModule m\nENTRY e {\n  x = f32[4096] parameter(0)\n"
    "  s = f32[4096] sine(x)\n  r = f32[64,64] reshape(s)\n"
    "  ROOT t = f32[64,64] transpose(r), dimensions={1,0}\n}\n";

/* Counts the read-only mappings of kernels' files of which pages are not there; with `drop` takes all away. */
static int count_absent(bool drop, int *mappings) {
  char line[4096];
  unsigned long begin = 0, end = 0;
  bool is_kernel = false;
  long size = 0, there = 0;
  int absent = 0;
  *mappings = 0;
  FILE *file = fopen("/proc/self/smaps", "r");
  ck_assert_ptr_nonnull(file);
  while (fgets(line, sizeof line, file)) {
    char access[8];
    if (sscanf(line, "%lx-%lx %7s", &begin, &end, access) == 3) {
      is_kernel = strstr(line, "-smallgrid/") && strcmp(access, "r--p") == 0;
      *mappings += is_kernel;
      if (is_kernel && drop) {
        ck_assert_int_eq(madvise((void *)begin, end - begin, MADV_DONTNEED), 0);
      }
    }
    if (sscanf(line, "Size: %ld kB", &size) == 1) continue;
    if (sscanf(line, "Rss: %ld kB", &there) == 1) absent += is_kernel && there < size;
  }
  fclose(file);
  return absent;
}

static void run(halo_executable *e, halo_buffer *x) {
  float got[4096];
  halo_buffer *y;
  ck_ok(halo_executable_execute(e, &x, 1, NULL, &y));
  ck_ok(halo_buffer_to_host(y, got, sizeof got));
  halo_buffer_release(y);
}

START_TEST(all_there) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, text);
  float *values = calloc(4096, sizeof *values);
  halo_buffer *x = run_buffer(client, 4096, values);
  int mappings;
  run(e, x);
  (void)count_absent(true, &mappings);
  if (mappings == 0) printf("skip: no files of kernels are mapped here\n");
  if (mappings > 0) ck_assert_int_gt(count_absent(false, &mappings), 0);
  run(e, x);
  ck_assert_int_eq(count_absent(false, &mappings), 0);
  free(values);
  halo_buffer_release(x);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pages of PoCL's kernels");
  TCase *cases = tcase_create("pages");
  tcase_add_test(cases, all_there);
  tcase_set_timeout(cases, 120);
  suite_add_tcase(suite, cases);
  return suite_run(suite);
}
