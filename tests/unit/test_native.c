/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_native.c: kernels that this process makes machine code itself: the same results as those that the runtime
 * compiles, which then has nothing left to compile. On PoCL; elsewhere the programs just run. */
#include "run_test.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIDE = 96, COUNT = SIDE * SIDE };

static char folder[] = "/tmp/halo-test-native.XXXXXX";

static void set_up(void) {
  strcpy(folder + strlen(folder) - 6, "XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  setenv("HALO_COMPILE_THREADS", "2", 1);
  setenv("HALO_COMPILE_PROCESSES", "0", 1);
  setenv("HALO_KERNELS", "-region:kernel", 1); /* each family has a kernel of its own */
  setenv("POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES", "1", 1);
  unsetenv("POCL_KERNEL_CACHE");
}

static void tear_down(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  ck_assert_int_eq(system(command), 0);
}

/* How many files of a name lie in a folder of the folder. */
static int files(const char *name, const char *pattern) {
  char line[256];
  int count = -1;
  snprintf(line, sizeof line, "find %s/%s -name '%s' ! -name 'tempfile*' | wc -l", folder, name,
           pattern);
  FILE *answer = popen(line, "r");
  ck_assert_ptr_nonnull(answer);
  ck_assert_int_eq(fscanf(answer, "%d", &count), 1);
  pclose(answer);
  return count;
}

static bool is_pocl(halo_client *client) {
  halo_device_info info;
  halo_device_get_info(halo_client_device(client, 0), &info);
  return strncmp(info.name, "pthread-", 8) == 0;
}

/* Kernels of many families, each of its own since nothing is fused; with items that ask for their numbers, local memory
 * and barriers, loops, and functions of the C library. */
static const char families[] =
    "HloModule families\n"
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
    "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), "
    "direction=LT }\n"
    "ENTRY e {\n"
    "  p = f32[9216] parameter(0)\n  x = f32[96,96] reshape(p)\n  z = f32[] constant(0)\n"
    "  t = f32[96,96] transpose(x), dimensions={1,0}\n  n = f32[96,96] tanh(t)\n"
    "  d = f32[96,96] dot(n, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  s = f32[96,96] sort(d), dimensions={1}, to_apply=less\n"
    "  r = f32[96] reduce(s, z), dimensions={0}, to_apply=add\n"
    "  q = f32[96] reduce(s, z), dimensions={1}, to_apply=add\n"
    "  w = f32[96] reduce-window(q, z), window={size=96 pad=95_0}, to_apply=add\n"
    "  i = f32[96,96] broadcast(w), dimensions={1}\n  j = f32[96,96] broadcast(r), dimensions={0}\n"
    "  m = f32[96,96] remainder(i, j)\n  u = f32[96,96] reverse(m), dimensions={0,1}\n"
    "  ROOT o = f32[96,96] subtract(u, s)\n}\n";

/* The sum of a result's bits, which any change of one changes. */
static uint64_t run_sum(halo_client *client, halo_executable *e) {
  float values[COUNT];
  for (int i = 0; i < COUNT; i++) values[i] = (float)(i * 7 % 101) * 0.01f - 0.3f;
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
  bool is_pocl, says_threads, says_found, says_parts, says_shared, says_left; /* of the report */
  int by_pocl, libraries; /* files that PoCL makes on its way to a kernel, and those of kernels */
  uint64_t sum;
} outcome;

/* Compiles and runs in a process of its own, since PoCL asks for its folder once. */
static outcome work_on(const char *text, bool no_fusion, const char *name) {
  int ends[2];
  char path[128];
  outcome out = {0};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  mkdir(path, 0700);
  setenv("POCL_CACHE_DIR", path, 1);
  ck_assert_int_eq(pipe(ends), 0);
  fflush(NULL);
  pid_t process = fork();
  if (process == 0) {
    halo_executable *e;
    halo_compile_options options = {.no_fusion = no_fusion};
    halo_client *client = run_client(NULL);
    ck_ok(run_try_compile(client, text, &options, &e));
    const char *report = halo_executable_report(e, HALO_REPORT_BUILD);
    out.is_pocl = is_pocl(client);
    out.says_threads = strstr(report, "compiled by threads") != NULL;
    out.says_found = strstr(report, "found in the runtime's cache") != NULL;
    out.says_parts = strstr(report, "of these in parts") != NULL;
    out.says_shared = strstr(report, "functions that several share") != NULL;
    out.says_left = strstr(report, "left to first launches") != NULL;
    out.sum = run_sum(client, e);
    halo_executable_release(e);
    halo_client_release(client);
    _exit(write(ends[1], &out, sizeof out) != sizeof out);
  }
  close(ends[1]);
  ck_assert_int_eq(read(ends[0], &out, sizeof out), sizeof out);
  close(ends[0]);
  int code = -1;
  ck_assert_int_eq(waitpid(process, &code, 0), process);
  ck_assert_int_eq(code, 0);
  out.by_pocl = files(name, "parallel.bc");
  out.libraries = files(name, "*.so");
  return out;
}

static outcome work(const char *name) { return work_on(families, true, name); }

static bool is_left_to_runtime(const char *test, const outcome *out) {
  if (out->is_pocl && out->says_threads) return false;
  run_skip(test, out->is_pocl ? "PoCL's LLVM cannot be asked"
                              : "kernels are compiled by threads of the process on PoCL 3.1 only");
  return true;
}

START_TEST(same_bits) {
  outcome native = work("native"), again = work("native");
  setenv("HALO_COMPILE_THREADS", "1", 1);
  outcome one = work("one");
  setenv("HALO_COMPILE_THREADS", "0", 1);
  outcome runtime = work("runtime");
  ck_assert_uint_eq(native.sum, runtime.sum);
  ck_assert_uint_eq(native.sum, again.sum);
  ck_assert_uint_eq(native.sum, one.sum);
  if (native.is_pocl) ck_assert(!runtime.says_threads && runtime.by_pocl > 0);
  if (is_left_to_runtime("same_bits", &native)) return;
  ck_assert(one.says_threads && !again.says_threads && again.says_found);
  ck_assert(!native.says_left && !one.says_left && !again.says_left);
  ck_assert_int_eq(native.by_pocl, 0);
  ck_assert_int_eq(again.by_pocl, 0);
  ck_assert_int_ge(native.libraries, 10);
  ck_assert_int_eq(again.libraries, native.libraries);
}
END_TEST

/* One kernel of several long steps, in a loop and out of it. */
static const char long_steps[] =
    "HloModule long\n"
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
    "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), "
    "direction=LT }\n"
    "more { p = (s32[], f32[24,24]) parameter(0) i = s32[] get-tuple-element(p), index=0\n"
    "  n = s32[] constant(3) ROOT c = pred[] compare(i, n), direction=LT }\n"
    "round { p = (s32[], f32[24,24]) parameter(0) i = s32[] get-tuple-element(p), index=0\n"
    "  x = f32[24,24] get-tuple-element(p), index=1\n  z = f32[] constant(0)\n"
    "  s = f32[24,24] sort(x), dimensions={1}, to_apply=less\n"
    "  r = f32[24] reduce(s, z), dimensions={0}, to_apply=add\n"
    "  q = f32[24] reduce(x, z), dimensions={1}, to_apply=add\n"
    "  j = f32[24,24] broadcast(r), dimensions={0}\n  k = f32[24,24] broadcast(q), dimensions={1}\n"
    "  h = f32[] constant(0.01)\n  g = f32[24,24] broadcast(h), dimensions={}\n"
    "  m = f32[24,24] multiply(j, g)\n  l = f32[24,24] subtract(m, k)\n"
    "  t = f32[24,24] tanh(l)\n  o = s32[] constant(1)\n  u = s32[] add(i, o)\n"
    "  ROOT v = (s32[], f32[24,24]) tuple(u, t) }\n"
    "ENTRY e {\n"
    "  p = f32[9216] parameter(0)\n  b = f32[96,96] reshape(p)\n  z = s32[] constant(0)\n"
    "  x = f32[24,24] slice(b), slice={[0:24], [5:29]}\n  f = f32[] constant(0)\n"
    "  a = (s32[], f32[24,24]) tuple(z, x)\n"
    "  w = (s32[], f32[24,24]) while(a), condition=more, body=round\n"
    "  y = f32[24,24] get-tuple-element(w), index=1\n"
    "  c = f32[24,24] sort(y), dimensions={0}, to_apply=less\n"
    "  d = f32[96,96] pad(c, f), padding=0_72x3_69\n  ROOT o = f32[96,96] subtract(d, b)\n}\n";

/* Threads that have nothing else to do compile parts of one kernel. */
START_TEST(parts) {
  unsetenv("HALO_KERNELS");
  setenv("HALO_COMPILE_THREADS", "1", 1);
  outcome one = work_on(long_steps, false, "one");
  setenv("HALO_COMPILE_THREADS", "3", 1);
  outcome three = work_on(long_steps, false, "three");
  setenv("HALO_COMPILE_THREADS", "0", 1);
  outcome runtime = work_on(long_steps, false, "runtime");
  ck_assert_uint_eq(one.sum, three.sum);
  ck_assert_uint_eq(one.sum, runtime.sum);
  ck_assert(!one.says_parts && !runtime.says_parts);
  if (is_left_to_runtime("parts", &three)) return;
  ck_assert(three.says_parts && !three.says_left);
  ck_assert_int_eq(three.by_pocl, 0);
}
END_TEST

/* Transforms along both axes, of lines of one length; on CPUs the stages of a line are a function. */
static const char transforms[] =
    "HloModule transforms\n"
    "ENTRY e {\n"
    "  p = f32[9216] parameter(0)\n  x = f32[96,96] reshape(p)\n"
    "  c = c64[96,96] convert(x)\n  f = c64[96,96] fft(c), fft_type=FFT, fft_length={96}\n"
    "  t = c64[96,96] transpose(f), dimensions={1,0}\n"
    "  g = c64[96,96] fft(t), fft_type=FFT, fft_length={96}\n"
    "  s = f32[96,96] real(g)\n  r = c64[96,49] fft(s), fft_type=RFFT, fft_length={96}\n"
    "  ROOT o = f32[96,96] fft(r), fft_type=IRFFT, fft_length={96}\n}\n";

/* What several kernels call is compiled once. */
START_TEST(shared) {
  setenv("HALO_COMPILE_THREADS", "1", 1);
  outcome one = work_on(transforms, false, "one");
  setenv("HALO_COMPILE_THREADS", "3", 1);
  outcome three = work_on(transforms, false, "three");
  setenv("HALO_COMPILE_THREADS", "0", 1);
  outcome runtime = work_on(transforms, false, "runtime");
  ck_assert_uint_eq(one.sum, three.sum);
  ck_assert_uint_eq(one.sum, runtime.sum);
  ck_assert(!runtime.says_shared);
  if (is_left_to_runtime("shared", &three)) return;
  ck_assert(one.says_shared && three.says_shared && !three.says_left && !one.says_left);
  ck_assert_int_eq(three.by_pocl, 0);
}
END_TEST

/* Kernels that are in memory, launched otherwise than they were: PoCL keeps long and short launches apart. */
START_TEST(other_launches) {
  char text[512];
  setenv("POCL_CACHE_DIR", folder, 1);
  halo_client *client = run_client(NULL);
  for (int side = 64; side <= 1024; side *= 16) {
    snprintf(
        text, sizeof text,
        "HloModule m\nENTRY e {\n  x = f32[%d,%d] parameter(0)\n"
        "  ROOT d = f32[%d,%d] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n",
        side, side, side, side);
    halo_executable *e = run_compile(client, text);
    const char *report = halo_executable_report(e, HALO_REPORT_BUILD);
    ck_assert_ptr_null(strstr(report, "left to first launches"));
    halo_executable_release(e);
  }
  halo_client_release(client);
}
END_TEST

/* Where the files cannot be kept the runtime compiles, as ever. */
START_TEST(nothing_kept) {
  outcome kept = work("kept");
  setenv("POCL_KERNEL_CACHE", "0", 1);
  outcome not_kept = work("not");
  ck_assert_uint_eq(kept.sum, not_kept.sum);
}
END_TEST

/* A byte of each library is changed, or each ends early, as after a loss of power: they are made again, not run. */
START_TEST(damaged) {
  static const char *const damages[] = {
      "printf '\\377' | dd of=$f bs=1 seek=$(($(stat -c %s $f) * 2 / 3)) conv=notrunc status=none",
      "printf '\\125' | dd of=$f bs=1 seek=4200 conv=notrunc status=none",
      "truncate -s $(($(stat -c %s $f) / 2)) $f",
      "truncate -s 0 $f",
  };
  outcome first = work("damaged");
  if (!first.says_threads) {
    printf("damaged: skipped, as kernels are not made by threads here\n");
    return;
  }
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    char line[512];
    snprintf(line, sizeof line, "for f in $(find %s/damaged -name '*.so'); do %s; done", folder,
             damages[i]);
    ck_assert_int_eq(system(line), 0);
    outcome again = work("damaged");
    ck_assert_uint_eq(again.sum, first.sum);
    ck_assert(again.says_threads && !again.says_left);
    outcome kept = work("damaged");
    ck_assert(kept.says_found && !kept.says_threads);
  }
}
END_TEST

/* Libraries of kernels below the folder that are in this process's memory. */
static int loaded(void) {
  char line[1024];
  int count = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  if (!maps) return -1;
  while (fgets(line, sizeof line, maps)) {
    bool code = strstr(line, " r-xp ") != NULL;
    count += code && strstr(line, folder) && strstr(line, ".so\n");
  }
  fclose(maps);
  return count;
}

/* PoCL unloads what is launched in the caller's thread once it has loaded 128 kernels, and loads it at each launch. */
START_TEST(stay_loaded) {
  enum { PROGRAMS = 140 };
  static halo_executable *all[PROGRAMS];
  char text[256];
  setenv("POCL_CACHE_DIR", folder, 1);
  setenv("POCL_DEVICES", "pthread basic", 1);
  halo_client *client = run_client(NULL);
  float value = 2;
  halo_buffer *x = run_buffer(client, 1, &value);
  for (int i = 0; i < PROGRAMS; i++) {
    snprintf(text, sizeof text,
             "HloModule m\nENTRY e {\n  x = f32[1] parameter(0)\n  c = f32[1] constant({%d})\n"
             "  ROOT y = f32[1] multiply(x, c)\n}\n",
             i + 2);
    all[i] = run_compile(client, text);
  }
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < PROGRAMS; i++) {
      halo_buffer *y;
      ck_ok(halo_executable_execute(all[i], &x, 1, NULL, &y));
      ck_ok(halo_buffer_to_host(y, &value, sizeof value));
      ck_assert_float_eq(value, 2 * (float)(i + 2));
      halo_buffer_release(y);
    }
  }
  const char *report = halo_executable_report(all[0], HALO_REPORT_BUILD);
  bool native = strstr(report, "compiled by threads") != NULL;
  int count = loaded();
  for (int i = 0; i < PROGRAMS; i++) halo_executable_release(all[i]);
  halo_buffer_release(x);
  halo_client_release(client);
  if (native && count >= 0) ck_assert_int_ge(count, PROGRAMS);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("native");
  TCase *tests = tcase_create("native");
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, same_bits);
  tcase_add_test(tests, parts);
  tcase_add_test(tests, shared);
  tcase_add_test(tests, other_launches);
  tcase_add_test(tests, nothing_kept);
  tcase_add_test(tests, damaged);
  tcase_add_test(tests, stay_loaded);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
