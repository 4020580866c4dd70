/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_ahead.c: kernels that other processes compile: the same files and results as without, whatever becomes of
 * those processes. On PoCL; elsewhere nothing is compiled so, and the programs just run. */
#include "run_test.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 1 << 17, KERNELS = 14, TEXT = 1 << 14, PROCESSES_MAX = 16 };

static char folder[] = "/tmp/halo-test-ahead.XXXXXX";

static void set_up(void) {
  strcpy(folder + strlen(folder) - 6, "XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  setenv("HALO_COMPILE_PROCESSES", "2", 1);
  setenv("HALO_COMPILE_THREADS", "0", 1);
  unsetenv("HALO_COMPILER");
  unsetenv("POCL_KERNEL_CACHE");
}

static void wait_some(void) { nanosleep(&(struct timespec){0, 100000000}, NULL); }

/* Processes of others that have ended may still be about to write what they compile at their start. */
static void tear_down(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s 2>/dev/null", folder);
  int code = system(command);
  for (int n = 0; n < 50 && code != 0; n++) {
    wait_some();
    code = system(command);
  }
  ck_assert_int_eq(code, 0);
}

/* What a shell command prints about the folder that it is run in; on the heap. */
static char *ask(const char *name, const char *command) {
  char line[512], *text = calloc(1, TEXT);
  snprintf(line, sizeof line, "cd %s/%s 2>/dev/null && %s", folder, name, command);
  FILE *answer = popen(line, "r");
  ck_assert_ptr_nonnull(answer);
  size_t got = fread(text, 1, TEXT - 1, answer);
  ck_assert_uint_lt(got, TEXT - 1);
  pclose(answer);
  return text;
}

static int compiled_files(const char *name) {
  /* A process that is killed leaves the file at which it was. */
  char *text = ask(name, "find . -name '*.so' ! -name 'tempfile*' | wc -l");
  int count = atoi(text);
  free(text);
  return count;
}

/* Steps that stay kernels of their own, as nothing is fused; `seed` makes other programs. */
static void make_text(char text[TEXT], int seed) {
  static const char *const operations[] = {"sine", "cosine", "tanh", "exponential"};
  int length = snprintf(text, TEXT,
                        "HloModule ahead\nENTRY e {\n  k = f32[] constant(%d)\n"
                        "  b = f32[%d] broadcast(k), dimensions={}\n"
                        "  s0 = f32[%d] parameter(0)\n",
                        seed + 3, COUNT, COUNT);
  for (int i = 0; i < KERNELS; i++) {
    length += snprintf(text + length, (size_t)(TEXT - length),
                       "  t%d = f32[%d] %s(s%d)\n  u%d = f32[%d] %s(t%d, b)\n"
                       "  %ss%d = f32[%d] reverse(u%d), dimensions={0}\n",
                       i, COUNT, operations[i % 4], i, i, COUNT, i % 3 ? "multiply" : "add", i,
                       i == KERNELS - 1 ? "ROOT " : "", i + 1, COUNT, i);
  }
  snprintf(text + length, (size_t)(TEXT - length), "}\n");
}

static halo_executable *compile(halo_client *client, int seed) {
  char text[TEXT];
  halo_executable *e;
  halo_compile_options options = {.no_fusion = true};
  make_text(text, seed);
  ck_ok(run_try_compile(client, text, &options, &e));
  return e;
}

/* The sum of a result's bits, which any change of one changes. */
static uint64_t run_sum(halo_client *client, halo_executable *e) {
  static _Thread_local float values[COUNT];
  for (int i = 0; i < COUNT; i++) values[i] = (float)(i % 97) * 0.01f;
  halo_buffer *x = run_buffer(client, COUNT, values), *y;
  ck_ok(halo_executable_execute(e, &x, 1, NULL, &y));
  ck_ok(halo_buffer_to_host(y, values, sizeof values));
  uint64_t sum = 0;
  for (int i = 0; i < COUNT; i++) {
    uint32_t bits;
    memcpy(&bits, &values[i], sizeof bits);
    sum = sum * 31 + bits;
  }
  halo_buffer_release(x);
  halo_buffer_release(y);
  return sum;
}

typedef struct outcome {
  bool is_pocl, says_ahead, says_found; /* of the report */
  int before, after; /* files of compiled kernels: before the first run and behind it */
  uint64_t sum;
} outcome;

static const char only_there[] = "kernels are compiled ahead by processes on PoCL 3.1 only";

static bool is_pocl(halo_client *client) {
  halo_device_info info;
  halo_device_get_info(halo_client_device(client, 0), &info);
  return strncmp(info.name, "pthread-", 8) == 0;
}

/* Compiles and runs, with PoCL's cache in this folder in the folder. */
static outcome work_here(const char *name, int seed) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  mkdir(path, 0700);
  setenv("POCL_CACHE_DIR", path, 1);
  halo_client *client = run_client(NULL);
  halo_executable *e = compile(client, seed);
  outcome out = {.is_pocl = is_pocl(client), .before = compiled_files(name)};
  const char *report = halo_executable_report(e, HALO_REPORT_BUILD);
  out.says_ahead = strstr(report, "compiled ahead by other processes") != NULL;
  out.says_found = strstr(report, "found in the runtime's cache") != NULL;
  out.sum = run_sum(client, e);
  out.after = compiled_files(name);
  halo_executable_release(e);
  halo_client_release(client);
  return out;
}

/* The same in a process of its own: PoCL asks for its folder once. */
static outcome work(const char *name, int seed) {
  int ends[2];
  outcome out = {0};
  ck_assert_int_eq(pipe(ends), 0);
  fflush(NULL);
  pid_t process = fork();
  if (process == 0) {
    out = work_here(name, seed);
    _exit(write(ends[1], &out, sizeof out) != sizeof out);
  }
  close(ends[1]);
  ck_assert_int_eq(read(ends[0], &out, sizeof out), sizeof out);
  close(ends[0]);
  int code = -1;
  ck_assert_int_eq(waitpid(process, &code, 0), process);
  ck_assert_int_eq(code, 0);
  return out;
}

/* As if nobody else compiled. */
static outcome work_alone(const char *name) {
  setenv("HALO_COMPILE_PROCESSES", "0", 1);
  outcome out = work(name, 0);
  setenv("HALO_COMPILE_PROCESSES", "2", 1);
  ck_assert_int_eq(out.before, 0);
  return out;
}

START_TEST(same_files) {
  outcome alone = work_alone("alone"), ahead = work("ahead", 0), again = work("ahead", 0);
  ck_assert_uint_eq(alone.sum, ahead.sum);
  ck_assert_uint_eq(alone.sum, again.sum);
  if (!alone.is_pocl) {
    run_skip("same_files", only_there);
    return;
  }
  ck_assert(!alone.says_ahead && ahead.says_ahead && !again.says_ahead);
  ck_assert(!alone.says_found && !ahead.says_found && again.says_found);
  ck_assert_int_ge(alone.after, 8);
  ck_assert_int_eq(ahead.before, alone.after);
  ck_assert_int_eq(ahead.after, alone.after);
  ck_assert_int_eq(again.after, alone.after);
  static const char list[] = "find . -name '*.so' | sort";
  char *one = ask("alone", list), *other = ask("ahead", list);
  ck_assert_str_eq(one, other);
  free(one);
  free(other);
}
END_TEST

/* ---- What may become of the processes ---- */

/* A program in the place of the one that compiles, as a shell script. */
static void put_compiler(const char *script) {
  char path[128];
  snprintf(path, sizeof path, "%s/compiler", folder);
  FILE *file = fopen(path, "w");
  fprintf(file, "#!/bin/sh\n%s\n", script);
  fclose(file);
  ck_assert_int_eq(chmod(path, 0700), 0);
  setenv("HALO_COMPILER", path, 1);
}

static const char *const scripts[] = {
    "exit 0",
    "exit 3",
    "kill -9 $$",
    "exec cat >&0",                                                 /* no answers that make sense */
    "head -c 1 >/dev/null; printf '\\1' >&0; exit 0",               /* one, and an end */
    "(sleep 0.3; kill -9 $$) & exec " HALO_TEST_COMPILER " \"$@\"", /* an end in between */
    "exec " HALO_TEST_COMPILER " 'another version'",
    "exec sleep 1000", /* given up after 10 s */
};
enum { SCRIPTS = sizeof scripts / sizeof *scripts };

START_TEST(faults) {
  outcome alone = work_alone("alone");
  put_compiler(scripts[_i]);
  outcome ahead = work("ahead", 0);
  ck_assert_uint_eq(alone.sum, ahead.sum);
  ck_assert_int_eq(alone.after, ahead.after);
}
END_TEST

START_TEST(not_there) {
  outcome alone = work_alone("alone");
  setenv("HALO_COMPILER", "/nowhere/at/all", 1);
  outcome ahead = work("ahead", 0);
  ck_assert_uint_eq(alone.sum, ahead.sum);
  ck_assert_int_eq(ahead.before, 0);
  ck_assert_int_eq(alone.after, ahead.after);
}
END_TEST

START_TEST(nothing_kept) {
  outcome alone = work_alone("alone");
  setenv("POCL_KERNEL_CACHE", "0", 1);
  outcome ahead = work("ahead", 0);
  ck_assert_uint_eq(alone.sum, ahead.sum);
  ck_assert_int_eq(ahead.before, 0);
}
END_TEST

/* Files may be read and not written, by whom that holds for. */
START_TEST(not_writable) {
  outcome alone = work_alone("alone");
  char path[128];
  snprintf(path, sizeof path, "%s/alone", folder);
  ck_assert_int_eq(chmod(path, 0500), 0);
  outcome ahead = work("alone", 0);
  ck_assert_int_eq(chmod(path, 0700), 0);
  ck_assert_uint_eq(alone.sum, ahead.sum);
}
END_TEST

/* A host that lets nobody wait for its children, and has open what must not stay open. */
START_TEST(odd_host) {
  outcome alone = work_alone("alone");
  int ends[2];
  if (!alone.is_pocl) { /* PoCL 7.1 cannot wait for its linker then */
    run_skip("odd_host", only_there);
    return;
  }
  ck_assert_int_eq(pipe(ends), 0);
  signal(SIGCHLD, SIG_IGN);
  outcome ahead = work_here("ahead", 0);
  signal(SIGCHLD, SIG_DFL);
  ck_assert_uint_eq(alone.sum, ahead.sum);
  ck_assert_int_eq(ahead.before, alone.after);
  close(ends[1]);
  char byte;
  ck_assert_int_eq(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}
END_TEST

/* ---- Their lives ---- */

/* Processes of a parent that compile and have not ended. */
static int find_compilers(pid_t parent, pid_t list[PROCESSES_MAX]) {
  int count = 0;
  DIR *all = opendir("/proc");
  for (struct dirent *item; (item = readdir(all)) && count < PROCESSES_MAX;) {
    char path[300], name[64] = "", state;
    int process, owner;
    snprintf(path, sizeof path, "/proc/%s/stat", item->d_name);
    FILE *file = fopen(path, "r");
    if (!file) continue;
    bool known = fscanf(file, "%d (%63[^)]) %c %d", &process, name, &state, &owner) == 4;
    fclose(file);
    if (known && owner == parent && strcmp(name, "halo-compiler") == 0) list[count++] = process;
  }
  closedir(all);
  return count;
}

static bool has_ended(pid_t process) {
  char path[64], state = 'Z';
  snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
  FILE *file = fopen(path, "r");
  if (!file) return true;
  if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 'Z';
  fclose(file);
  return state == 'Z';
}

/* A process that is killed takes them with it. */
START_TEST(killed_parent) {
  int ends[2];
  pid_t list[PROCESSES_MAX];
  outcome out;
  ck_assert_int_eq(pipe(ends), 0);
  pid_t process = fork();
  if (process == 0) {
    out = work_here("ahead", 0);
    ck_assert_int_eq(write(ends[1], &out, sizeof out), sizeof out);
    for (;;) pause();
  }
  ck_assert_int_eq(read(ends[0], &out, sizeof out), sizeof out);
  int count = find_compilers(process, list);
  kill(process, SIGKILL);
  waitpid(process, NULL, 0);
  if (out.is_pocl) {
    ck_assert_int_ge(count, 1);
  } else {
    run_skip("killed_parent", only_there);
  }
  for (int i = 0; i < count; i++) {
    for (int n = 0; n < 300 && !has_ended(list[i]); n++) wait_some();
    ck_assert(has_ended(list[i]));
  }
  close(ends[0]);
  close(ends[1]);
}
END_TEST

/* They end when nothing is left to do, and were waited for. */
START_TEST(idle) {
  pid_t list[PROCESSES_MAX];
  outcome out = work_here("ahead", 0);
  int count = find_compilers(getpid(), list);
  if (out.is_pocl) {
    ck_assert_int_ge(count, 1);
  } else {
    run_skip("idle", only_there);
  }
  for (int n = 0; n < 300 && count > 0; n++) {
    wait_some();
    count = find_compilers(getpid(), list);
  }
  ck_assert_int_eq(count, 0);
  ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
  ck_assert_int_eq(errno, ECHILD);
}
END_TEST

/* A client that is not used at once has them before it is; even one kernel is theirs then. */
START_TEST(prepared) {
  static const char text[] =
      "HloModule one\nENTRY e {\n  x = f32[1000] parameter(0)\n  ROOT y = f32[1000] sine(x)\n}\n";
  pid_t list[PROCESSES_MAX];
  setenv("POCL_CACHE_DIR", folder, 1);
  halo_client *client = run_client(NULL);
  if (!is_pocl(client)) {
    run_skip("prepared", only_there);
    halo_client_release(client);
    return;
  }
  int count = 0;
  for (int n = 0; n < 100 && count < 2; n++) {
    wait_some();
    count = find_compilers(getpid(), list);
  }
  ck_assert_int_eq(count, 2);
  /* Until they wait for something to do. */
  for (int n = 0; n < 10; n++) wait_some();
  halo_executable *e;
  ck_ok(run_try_compile(client, text, NULL, &e));
  ck_assert_ptr_nonnull(
      strstr(halo_executable_report(e, HALO_REPORT_BUILD), "1 kernels compiled ahead"));
  ck_assert_int_eq(compiled_files("."), 1);
  ck_assert_int_eq(find_compilers(getpid(), list), 2);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* One that compiles program after program has one from the third on, or as soon as it is there. */
START_TEST(one_by_one) {
  enum { MOST = 200, LEFT = 2 };
  pid_t list[PROCESSES_MAX];
  int found = -1;
  setenv("POCL_CACHE_DIR", folder, 1);
  halo_client *client = run_client(NULL);
  if (!is_pocl(client)) {
    run_skip("one_by_one", only_there);
    halo_client_release(client);
    return;
  }
  for (int n = 0; n < MOST && found < 0; n++) {
    char text[TEXT];
    halo_executable *e;
    snprintf(text, TEXT,
             "HloModule one\nENTRY e {\n  x = f32[1000] parameter(0)\n  k = f32[] constant(%d)\n"
             "  b = f32[1000] broadcast(k), dimensions={}\n  ROOT y = f32[1000] add(x, b)\n}\n",
             3 + n);
    ck_ok(run_try_compile(client, text, NULL, &e));
    const char *report = halo_executable_report(e, HALO_REPORT_BUILD);
    if (strstr(report, "1 kernels compiled ahead")) found = n;
    if (n < LEFT) ck_assert_ptr_nonnull(strstr(report, "1 left to first launches"));
    if (n + 1 >= LEFT) wait_some();
    halo_executable_release(e);
  }
  ck_assert_int_ge(found, LEFT);
  ck_assert_int_eq(find_compilers(getpid(), list), 1);
  halo_client_release(client);
}
END_TEST

typedef struct worker {
  halo_client *client;
  int seed;
  uint64_t sums[2];
} worker;

static void *compile_and_run(void *data) {
  worker *w = data;
  for (int i = 0; i < 2; i++) {
    halo_executable *e = compile(w->client, w->seed + i);
    w->sums[i] = run_sum(w->client, e);
    halo_executable_release(e);
  }
  return NULL;
}

/* Two clients and several threads at once, some with the same programs. */
START_TEST(side_by_side) {
  enum { WORKERS = 4 };
  pthread_t threads[WORKERS];
  worker workers[WORKERS];
  outcome alone = work_alone("alone");
  setenv("POCL_CACHE_DIR", folder, 1);
  halo_client *clients[] = {run_client(NULL), run_client(NULL)};
  for (int i = 0; i < WORKERS; i++) {
    workers[i] = (worker){.client = clients[i % 2], .seed = i / 2};
    ck_assert_int_eq(pthread_create(&threads[i], NULL, compile_and_run, &workers[i]), 0);
  }
  for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < WORKERS; i++) {
    ck_assert_uint_eq(workers[i].sums[0], workers[i ^ 1].sums[0]);
    ck_assert_uint_eq(workers[i].sums[1], workers[i ^ 1].sums[1]);
  }
  ck_assert_uint_eq(workers[0].sums[0], alone.sum);
  ck_assert_uint_eq(workers[0].sums[1], workers[2].sums[0]);
  halo_client_release(clients[0]);
  halo_client_release(clients[1]);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("ahead");
  TCase *tests = tcase_create("ahead");
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, same_files);
  tcase_add_loop_test(tests, faults, 0, SCRIPTS);
  tcase_add_test(tests, not_there);
  tcase_add_test(tests, nothing_kept);
  tcase_add_test(tests, not_writable);
  tcase_add_test(tests, odd_host);
  tcase_add_test(tests, killed_parent);
  tcase_add_test(tests, idle);
  tcase_add_test(tests, prepared);
  tcase_add_test(tests, one_by_one);
  tcase_add_test(tests, side_by_side);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
