/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_pjrt_process.c: the plugin as a guest in its process: loaded twice, unloaded, before and after a fork, at
 * the process's end. */
#include "pjrt_test.h"

#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Opens a library and makes its table the one in use. */
static void *use(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(library != NULL, "%s", dlerror());
  const PJRT_Api *(*get)(void) = (const PJRT_Api *(*)(void))dlsym(library, "GetPjrtApi");
  ck_assert_ptr_nonnull(get);
  api = get();
  return library;
}

/* Another file with the same library, as two packages would bring it. */
static void copy_plugin(char path[32]) {
  strcpy(path, "/tmp/halo-pjrt.XXXXXX");
  FILE *from = fopen(HALO_TEST_PJRT, "rb"), *to = fdopen(mkstemp(path), "wb");
  static char piece[1 << 16];
  ck_assert(from && to);
  for (size_t got; (got = fread(piece, 1, sizeof piece, from)) > 0;) {
    ck_assert_uint_eq(fwrite(piece, 1, got, to), got);
  }
  fclose(from);
  fclose(to);
}

START_TEST(twice) {
  char path[32];
  copy_plugin(path);
  void *first = use(HALO_TEST_PJRT);
  const PJRT_Api *first_api = api;
  PJRT_Client *one = pjrt_client(NULL);
  void *second = use(path);
  ck_assert_ptr_ne(api, first_api);
  PJRT_Client *other = pjrt_client(NULL);
  for (int i = 0; i < 2; i++) {
    pjrt_check_sum(other);
    const PJRT_Api *second_api = api;
    api = first_api;
    pjrt_check_sum(one);
    api = second_api;
  }
  pjrt_close(other);
  dlclose(second);
  api = first_api;
  pjrt_check_sum(one);
  pjrt_close(one);
  dlclose(first);
  api = NULL;
  unlink(path);
}
END_TEST

START_TEST(unloaded) {
  for (int i = 0; i < 3; i++) {
    void *library = use(HALO_TEST_PJRT);
    PJRT_Client *client = pjrt_client(NULL);
    pjrt_check_sum(client);
    pjrt_close(client);
    dlclose(library);
    api = NULL;
    usleep(20000); /* threads that were left behind would run into nothing */
  }
}
END_TEST

/* What a child does that was forked beside a client: it is told so, and nothing hangs. */
static int child(PJRT_Client *client, PJRT_LoadedExecutable *add, PJRT_Buffer *x) {
  PJRT_Buffer *both[] = {x, x}, *result = NULL;
  PJRT_LoadedExecutable *loaded = NULL;
  float out[4];
  int wrong = 0;
  alarm(60);
  PJRT_Error *errors[] = {
      pjrt_try_run(add, both, 2, &result, NULL, NULL),
      pjrt_try_get(x, out, sizeof out),
      pjrt_try_compile(client, add_text, NULL, 0, &loaded),
  };
  for (int i = 0; i < 3; i++) {
    wrong += !errors[i] || !strstr(pjrt_message(errors[i]), "fork");
    if (errors[i]) pjrt_destroy_error(errors[i]);
  }
  return wrong;
}

START_TEST(forked) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *add = pjrt_compile(client, add_text);
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4);
  pid_t process = fork();
  if (process == 0) _exit(child(client, add, x));
  int status;
  ck_assert_int_eq(waitpid(process, &status, 0), process);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
  pjrt_check_sum(client);
  pjrt_drop(x);
  pjrt_drop_loaded(add);
  pjrt_close(client);
}
END_TEST

static void too_late(PJRT_Error *error, void *user) {
  (void)user;
  if (error) pjrt_destroy_error(error);
}

/* Ends while programs run, with callbacks that are still to come and nothing destroyed. PoCL compiles at the first
 * launch, in a thread that would not survive that LLVM is taken down beneath it. */
static void leave_in_flight(void) {
  enum { COUNT = 1 << 20, RUNS = 40 };
  PJRT_Client *client = pjrt_client(NULL);
  char text[400]; /* that no cache has */
  snprintf(
      text, sizeof text,
      "HloModule sine\nENTRY e {\n  x = f32[1048576] parameter(0)\n  y = f32[1048576] sine(x)\n"
      "  z = f32[1048576] cosine(y)\n  c = f32[] constant(%d.%ld)\n"
      "  d = f32[1048576] broadcast(c), dimensions={}\n  t = f32[1048576] tanh(z)\n"
      "  ROOT s = f32[1048576] add(t, d)\n}\n",
      (int)getpid(), (long)time(NULL));
  PJRT_LoadedExecutable *sine = pjrt_compile(client, text);
  float *data = calloc(COUNT, sizeof *data);
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), data, COUNT);
  for (int i = 0; i < RUNS; i++) {
    PJRT_Event *complete;
    ck_call(pjrt_try_run(sine, &x, 1, &x, &complete, NULL));
    ck_call(api->Event_OnReady(
        ARGS(Event_OnReady, .event = complete, .callback = too_late, .user_arg = NULL)));
  }
  exit(0);
}

START_TEST(ends_in_flight) {
#ifdef __SANITIZE_ADDRESS__
  return; /* it takes all that is left for leaks */
#endif
  for (int i = 0; i < 3; i++) {
    pid_t process = fork();
    if (process == 0) {
      alarm(100);
      leave_in_flight();
    }
    int status;
    ck_assert_int_eq(waitpid(process, &status, 0), process);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
  }
}
END_TEST

/* Without a device it is said what to install. */
START_TEST(no_device) {
  setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
  setenv("HALO_CPU", "off", 1);
  pjrt_open();
  ck_call(api->Plugin_Initialize(ARGS(Plugin_Initialize)));
  PJRT_Client_Create_Args *args = ARGS(Client_Create);
  ck_refused(api->Client_Create(args), FAILED_PRECONDITION, "pocl-opencl-icd");
  ck_assert_ptr_null(args->client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pjrt_process");
  TCase *process = tcase_create("process");
  tcase_set_timeout(process, 300);
  tcase_add_test(process, twice);
  tcase_add_test(process, unloaded);
  tcase_add_test(process, forked);
  tcase_add_test(process, ends_in_flight);
  tcase_add_test(process, no_device);
  suite_add_tcase(suite, process);
  return suite_run(suite);
}
