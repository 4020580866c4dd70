/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_linker.c: the program that links kernels makes libraries that do what their objects say, and leaves to the
 * linker of the machine what it does not know. */
#include <check.h>
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

enum { LENGTH = 777, TEXT = 1024 };

static char folder[] = "/tmp/halo-test-linker.XXXXXX";

/* A linker of the machine that notes that it was asked. */
static void set_up(void) {
  char path[TEXT];
  strcpy(folder + strlen(folder) - 6, "XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/ld", folder);
  FILE *file = fopen(path, "w");
  fprintf(file, "#!/bin/sh\necho \"$@\" >%s/asked\n", folder);
  fclose(file);
  ck_assert_int_eq(chmod(path, 0700), 0);
}

static void tear_down(void) {
  char command[TEXT];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  ck_assert_int_eq(system(command), 0);
}

/* Runs the program with these words behind `-o FOLDER/out.so`; whether it asked the other one. */
static bool asks(const char *words) {
  char command[4 * TEXT], path[TEXT];
  snprintf(command, sizeof command, "PATH=%s:/usr/bin:/bin %s -o %s/out.so %s", folder,
           HALO_TEST_LINKER, folder, words);
  ck_assert_int_eq(system(command), 0);
  snprintf(path, sizeof path, "%s/asked", folder);
  bool asked = access(path, R_OK) == 0;
  unlink(path);
  return asked;
}

static const char usual[] =
    "--hash-style=both --build-id --eh-frame-hdr -m elf_x86_64 -shared -z relro "
    "-L/usr/lib " HALO_TEST_OBJECT " -lm -lgcc --as-needed -lgcc_s --no-as-needed -lc";

#if defined(__x86_64__) && defined(__GLIBC__)

static void *name_in(void *library, const char *name) {
  void *found = dlsym(library, name);
  ck_assert_msg(found != NULL, "%s", name);
  return found;
}

START_TEST(does_what_it_says) {
  static double from[LENGTH], to[LENGTH];
  char path[TEXT];
  ck_assert(!asks(usual));
  snprintf(path, sizeof path, "%s/out.so", folder);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(library != NULL, "%s", dlerror());
  float (*constants)(int);
  double (*call)(int, double), (*choose)(int, double, const double *, double *);
  int (*count)(void);
  *(void **)&constants = name_in(library, "linker_constants");
  *(void **)&call = name_in(library, "linker_call");
  *(void **)&choose = name_in(library, "linker_choose");
  *(void **)&count = name_in(library, "linker_count");
  for (int i = 0; i < 4; i++) ck_assert(constants(i) == 1.0f + 2.0f * (float)i);
  ck_assert(call(0, 1.25) == 2.5);
  ck_assert(call(1, 1.5) == 0.5);
  ck_assert(call(2, 0.75) == cos(0.75));
  ck_assert_int_eq(count(), 8013);
  ck_assert_int_eq(count(), 9013);
  *(int *)name_in(library, "linker_shared") = 20;
  ck_assert_int_eq(count(), 10022);
  for (int i = 0; i < LENGTH; i++) from[i] = i + 0.5;
  ck_assert(choose(0, 10, from, to) == 1);
  ck_assert(choose(1, 10, from, to) == 50);
  ck_assert(choose(2, 10, from, to) == 700.5);
  ck_assert(memcmp(from, to, sizeof from) == 0);
  ck_assert(choose(3, 9, from, to) == 3);
  ck_assert(choose(4, 9, from, to) == 1);
  ck_assert(choose(5, 9, from, to) == 8);
  ck_assert(choose(6, 9, from, to) == 81);
  ck_assert(choose(7, 9, from, to) == -9);
  ck_assert_ptr_null(dlsym(library, "linker_hidden"));
  ck_assert_ptr_null(dlsym(library, "twice"));
  ck_assert_int_eq(dlclose(library), 0);
}
END_TEST

/* Objects name what others have, in either order, hidden or not. */
START_TEST(several_objects) {
  static const char *const orders[] = {HALO_TEST_OBJECT " " HALO_TEST_SECOND_OBJECT,
                                       HALO_TEST_SECOND_OBJECT " " HALO_TEST_OBJECT};
  char path[TEXT], words[TEXT];
  snprintf(words, sizeof words, "-m elf_x86_64 -shared %s -lm -lc", orders[_i]);
  ck_assert(!asks(words));
  snprintf(path, sizeof path, "%s/out.so", folder);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(library != NULL, "%s", dlerror());
  double (*second)(int, double), (*choose)(int, double, const double *, double *);
  *(void **)&second = name_in(library, "linker_second");
  *(void **)&choose = name_in(library, "linker_choose");
  ck_assert(second(0, 0.5) == 102.5);
  ck_assert(second(0, 2) == 210);
  ck_assert(second(1, 6) == 2);
  ck_assert(second(2, 9.5) == 1.5);
  ck_assert(second(3, 0) == 11);
  *(int *)name_in(library, "linker_shared") = 21;
  ck_assert(second(3, 0) == 21);
  ck_assert(choose(0, 10, NULL, NULL) == 1);
  ck_assert_ptr_null(dlsym(library, "linker_hidden"));
  ck_assert_int_eq(dlclose(library), 0);
}
END_TEST

/* Stacks stay as they are: a library that says nothing of them has those of the process made such as can be run. */
START_TEST(stack_is_not_run) {
  char command[TEXT];
  ck_assert(!asks(usual));
  snprintf(command, sizeof command, "LC_ALL=C readelf -lW %s/out.so | grep -q 'GNU_STACK.* RW  '",
           folder);
  ck_assert_int_eq(system(command), 0);
}
END_TEST

#endif

START_TEST(asks_for_others) {
  static const char *const others[] = {
      HALO_TEST_OBJECT, /* a program, not a library */
      "-shared",
      "-shared " HALO_TEST_OBJECT " " HALO_TEST_OBJECT, /* two of each name */
      "-shared " HALO_TEST_OBJECT " -lother",
      "-shared -m elf_i386 " HALO_TEST_OBJECT,
      "-shared --gc-sections " HALO_TEST_OBJECT,
      "-shared " HALO_TEST_LINKER, /* no object */
      "-shared /dev/null",
      "-shared /nowhere/at/all.o",
      "-shared " HALO_TEST_OTHER_OBJECT, /* with variables for each thread */
  };
  ck_assert_msg(asks(others[_i]), "%s", others[_i]);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("linker");
  TCase *tests = tcase_create("linker");
  tcase_add_checked_fixture(tests, set_up, tear_down);
#if defined(__x86_64__) && defined(__GLIBC__)
  tcase_add_test(tests, does_what_it_says);
  tcase_add_loop_test(tests, several_objects, 0, 2);
  tcase_add_test(tests, stack_is_not_run);
#else
  (void)usual;
#endif
  tcase_add_loop_test(tests, asks_for_others, 0, 10);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
