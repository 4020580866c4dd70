/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_probes.c: what drivers state and do not do is found out, and does no harm. */
#include "client/client.h"
#include "opencl/probe.h"
#include "run_test.h"
#include "suite.h"
#include "vendor_limits.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void set_up(void) {
  setenv("HALO_CPU", "off", 1);
  setenv("HALO_TREAT_AS", "gpu", 1);
  unsetenv("HALO_KERNELS");
  unsetenv("HALO_PROBES");
}

/* Rounding to f16, elementary functions, and sums through local memory. */
enum { ROWS = 8, COLUMNS = 1024 };
static const char probed_text[] =
    "HloModule probed\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    "  ROOT s = f32[] add(a, b)\n}\n"
    "ENTRY e {\n  x = f16[8,1024] parameter(0)\n  c = f32[8,1024] convert(x)\n"
    "  e = f32[8,1024] exponential(c)\n  z = f32[] constant(0)\n"
    "  r = f32[8] reduce(e, z), dimensions={1}, to_apply=add\n"
    "  h = f16[8,1024] convert(e)\n  ROOT t = (f16[8,1024], f32[8]) tuple(h, r)\n}\n";

typedef struct probed_result {
  uint16_t rounded[ROWS * COLUMNS];
  float sums[ROWS];
} probed_result;

static halo_client *probed_client(const char *cache) {
  halo_client *client;
  halo_client_options options = {.cache_dir = cache};
  ck_ok(halo_client_create(&options, &client));
  return client;
}

/* All halves from 0 to 8 and more, subnormal ones too. */
static void probed_run(halo_client *client, probed_result *out) {
  halo_executable *executable = run_compile(client, probed_text);
  uint16_t x[ROWS * COLUMNS];
  halo_buffer *operand, *results[2];
  for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (uint16_t)(i * 9 % 0x4800);
  ck_ok(halo_buffer_from_host(client, x, halo_executable_argument_shape(executable, 0), &operand));
  ck_ok(halo_executable_execute(executable, &operand, 1, NULL, results));
  ck_ok(halo_buffer_to_host(results[0], out->rounded, sizeof out->rounded));
  ck_ok(halo_buffer_to_host(results[1], out->sums, sizeof out->sums));
  halo_buffer_release(operand);
  halo_buffer_release(results[0]);
  halo_buffer_release(results[1]);
  halo_executable_release(executable);
}

/* As without probes, but for the last bit. */
static void probed_check(halo_client *client) {
  static probed_result expected, got;
  setenv("HALO_PROBES", "off", 1);
  halo_client *plain = probed_client("");
  probed_run(plain, &expected);
  halo_client_release(plain);
  unsetenv("HALO_PROBES");
  probed_run(client, &got);
  for (int i = 0; i < ROWS * COLUMNS; i++)
    ck_assert_int_le(abs(got.rounded[i] - expected.rounded[i]), 1);
  for (int i = 0; i < ROWS; i++)
    ck_assert_float_eq_tol(got.sums[i], expected.sums[i], 2e-6f * expected.sums[i]);
}

static const halo_caps *probed_caps(halo_client *client) { return &client->devices[0].cl->caps; }

/* ---- Drivers that are right, and wrong ---- */

/* The layer with which a probe finds what, and what follows. */
typedef struct probed_fault {
  const char *name;
  const char *refused, *deadly; /* as vendor_refused and vendor_deadly */
  size_t spoils;                /* as vendor_spoils: the bytes that a kernel's results have */
  bool no_fma, contracts, no_conversions, no_local;
} probed_fault;

static const probed_fault probed_faults[] = {
    {.name = "none"},
    {.name = "fma gives wrong values", .spoils = 250 * 4, .no_fma = true},
    {.name = "fma does not build", .refused = "fma(x[", .no_fma = true},
    {.name = "fma ends the context", .deadly = "probe_fma", .no_fma = true},
    {.name = "sums of products are contracted", .spoils = 500 * 4, .contracts = true},
    {.name = "loads of f16 give wrong values", .spoils = 65536 * 4, .no_conversions = true},
    {.name = "stores of f16 give wrong values", .spoils = 1984 * 2, .no_conversions = true},
    {.name = "conversions do not build", .refused = "vload_half", .no_conversions = true},
    {.name = "a store ends the context", .deadly = "probe_store", .no_conversions = true},
    {.name = "local memory holds other values", .spoils = 4 * 64 * 4, .no_local = true},
    {.name = "local memory ends the context", .deadly = "probe_local", .no_local = true},
    {.name = "local memory does not build", .refused = "probe_local", .no_local = true},
};

START_TEST(faults) {
  const probed_fault *fault = &probed_faults[_i];
  set_up();
  vendor_refused = fault->refused;
  vendor_deadly = fault->deadly;
  vendor_spoils = fault->spoils;
  halo_client *client = probed_client("");
  const halo_caps *caps = probed_caps(client);
  halo_caps before = *caps;
  ck_assert(before.fma_f32 && before.converts_f16 && before.local_memory > 0);
  ck_assert(!before.contracts);
  halo_executable_release(run_compile(client, RUN_ADD));
  vendor_spoils = 0;
  ck_assert_msg(caps->fma_f32 == !fault->no_fma, "%s: fma", fault->name);
  ck_assert_msg(caps->contracts == fault->contracts, "%s: contraction", fault->name);
  ck_assert_msg(caps->converts_f16 == !fault->no_conversions, "%s: conversions", fault->name);
  ck_assert_msg(caps->local_memory == (fault->no_local ? 0 : before.local_memory),
                "%s: %llu bytes of local memory", fault->name,
                (unsigned long long)caps->local_memory);
  if (fault->refused) vendor_refused = NULL; /* the program has an fma, too */
  probed_check(client);
  halo_client_release(client);
}
END_TEST

/* Less local memory than stated: the largest part that works is taken. */
START_TEST(less_local_memory) {
  set_up();
  halo_client *client = probed_client("");
  uint64_t asked = probed_caps(client)->local_memory;
  if (asked > 256 << 10) asked = 256 << 10;
  vendor_words = (unsigned)(asked / 4 / 16 * 13);
  halo_executable_release(run_compile(client, RUN_ADD));
  ck_assert_uint_eq(probed_caps(client)->local_memory, asked / 16 * 12);
  probed_check(client);
  halo_client_release(client);
}
END_TEST

/* A driver that states f16 arithmetic, and cannot compile it. */
START_TEST(stated_half) {
  set_up();
  vendor_extension = "cl_khr_fp16";
  vendor_refused = "cl_khr_fp16 : enable";
  halo_client *client = probed_client("");
  ck_assert(probed_caps(client)->has_f16);
  halo_executable_release(run_compile(client, RUN_ADD));
  ck_assert(!probed_caps(client)->has_f16);
  ck_assert(!probed_caps(client)->converts_f16); /* lest the compiler does in f16 what is in f32 */
  halo_device_info info;
  halo_device_get_info(halo_client_device(client, 0), &info);
  ck_assert(!info.has_f16);
  probed_check(client);
  halo_client_release(client);
}
END_TEST

/* Where no kernel works at all, nothing is concluded, and the program's own failure is told. */
START_TEST(nothing_works) {
  set_up();
  halo_client *client = probed_client("");
  halo_executable *executable;
  vendor_builds_nothing = CL_TRUE;
  ck_assert_int_ne(run_try_compile(client, RUN_ADD, NULL, &executable), HALO_OK);
  ck_message_has("The driver says no more");
  ck_assert(probed_caps(client)->fma_f32 && probed_caps(client)->converts_f16);
  halo_client_release(client);
}
END_TEST

/* ---- Keeping ---- */

static char probed_folder[] = "/tmp/halo_test_probes_XXXXXX";

static void folder_remove(void) {
  DIR *folder = opendir(probed_folder);
  for (struct dirent *item; (item = readdir(folder));) {
    if (item->d_name[0] != '.') unlinkat(dirfd(folder), item->d_name, 0);
  }
  closedir(folder);
  rmdir(probed_folder);
}

/* Changes a byte of each file; how many there are. */
static int folder_damage(void) {
  int count = 0;
  DIR *folder = opendir(probed_folder);
  for (struct dirent *item; (item = readdir(folder));) {
    if (item->d_name[0] == '.') continue;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", probed_folder, item->d_name);
    FILE *file = fopen(path, "r+");
    ck_assert_int_eq(fseek(file, -1, SEEK_END), 0);
    int last = fgetc(file);
    ck_assert_int_eq(fseek(file, -1, SEEK_END), 0);
    fputc(last ^ 1, file);
    fclose(file);
    count++;
  }
  closedir(folder);
  return count;
}

/* Opens a client, compiles, and says how many programs were built for probes. */
static int kept_run(bool *fma) {
  int before = vendor_probes;
  halo_client *client = probed_client(probed_folder);
  halo_executable_release(run_compile(client, RUN_ADD));
  halo_executable_release(run_compile(client, RUN_TWICE));
  *fma = probed_caps(client)->fma_f32;
  halo_client_release(client);
  return vendor_probes - before;
}

START_TEST(kept) {
  set_up();
  ck_assert_ptr_nonnull(mkdtemp(probed_folder));
  bool fma;
  vendor_refused = "fma(x[";
  ck_assert_int_gt(kept_run(&fma), 1);
  ck_assert(!fma);
  vendor_refused = NULL;
  ck_assert_int_eq(kept_run(&fma), 0); /* a second client asks the folder */
  ck_assert(!fma);
  vendor_name = "Another";
  ck_assert_int_eq(kept_run(&fma), 1); /* another driver */
  ck_assert(fma);
  ck_assert_int_gt(folder_damage(), 0);
  ck_assert_int_eq(kept_run(&fma), 1);
  ck_assert(fma);
  ck_assert_int_eq(kept_run(&fma), 0);
  folder_remove();
}
END_TEST

/* The facts that a listing tells of a device. */
START_TEST(told) {
  set_up();
  ck_assert_ptr_nonnull(mkdtemp(probed_folder));
  halo_client *client = probed_client(probed_folder);
  halo_caps caps = *probed_caps(client);
  halo_probe_facts facts;
  ck_assert(!halo_cl_probe_recall(probed_folder, &caps, &facts));
  vendor_words = 1024;
  halo_executable_release(run_compile(client, RUN_ADD));
  ck_assert(halo_cl_probe_recall(probed_folder, &caps, &facts));
  ck_assert_uint_eq(caps.local_memory, probed_caps(client)->local_memory);
  char *text = halo_cl_probe_text(&facts);
  ck_assert_ptr_nonnull(strstr(text, "fma exact; a*b+c rounded twice; f16 conversions right"));
  ck_assert_ptr_nonnull(strstr(text, "less local memory than stated: "));
  halo_text_release(text);
  halo_client_release(client);
  folder_remove();
}
END_TEST

static void end_in_child(void) {
  pid_t child = fork();
  if (child == 0) {
    bool fma;
    vendor_deadly = "probe_fma";
    vendor_ends = CL_TRUE;
    kept_run(&fma);
    _exit(1);
  }
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the kernel did not run");
}

/* A kernel that ends the process does so twice; then nothing that was asked is used. */
START_TEST(process_ends) {
  set_up();
  ck_assert_ptr_nonnull(mkdtemp(probed_folder));
  end_in_child();
  end_in_child();
  bool fma = true;
  ck_assert_int_eq(kept_run(&fma), 0);
  ck_assert(!fma);
  halo_client *client = probed_client(probed_folder);
  probed_check(client);
  ck_assert(!probed_caps(client)->converts_f16);
  halo_client_release(client);
  folder_remove();
}
END_TEST

/* CLBlast's product is computed once for a library and a driver. */
START_TEST(kept_product) {
  set_up();
  ck_assert_ptr_nonnull(mkdtemp(probed_folder));
  static const char text[] =
      "HloModule p\nENTRY e {\n  a = f32[64,64] parameter(0)\n"
      "  ROOT d = f32[64,64] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";
  const halo_compile_options forced = {.kernels = "dot:clblast"};
  for (int i = 0; i < 4; i++) {
    bool wrong = i < 2; /* the answer; only the first client of each kind is asked */
    halo_executable *executable = NULL;
    if (i == 2) vendor_name = "Another";
    vendor_spoils = i == 0 || i == 3 ? 520 * 516 * sizeof(float) : 0;
    halo_client *client = probed_client(probed_folder);
    halo_status status = run_try_compile(client, text, &forced, &executable);
    if (status != HALO_OK && strstr(halo_error_message(), "CLBlast is not installed")) {
      run_skip("kept_product", halo_error_message());
      halo_client_release(client);
      break;
    }
    ck_assert_msg((status != HALO_OK) == wrong, "%d: %s", i, halo_error_message());
    if (wrong) ck_message_has("CLBlast computes wrong products on it");
    halo_executable_release(executable);
    halo_client_release(client);
  }
  folder_remove();
}
END_TEST

/* ---- Devices that need none ---- */

START_TEST(processors) {
  set_up();
  unsetenv("HALO_TREAT_AS");
  halo_client *client = run_client("cpu");
  halo_executable_release(run_compile(client, RUN_ADD));
  ck_assert_int_eq(vendor_probes, 0);
  halo_client_release(client);
  set_up();
  setenv("HALO_PROBES", "off", 1);
  client = run_client(NULL);
  halo_executable_release(run_compile(client, RUN_ADD));
  ck_assert_int_eq(vendor_probes, 0);
  halo_client_release(client);
}
END_TEST

static void *thread_compile(void *client) {
  halo_executable_release(run_compile(client, RUN_ADD));
  halo_device_info info;
  halo_device_get_info(halo_client_device(client, 0), &info);
  return info.local_memory ? client : NULL;
}

/* Several threads compile their first programs, and one asks for the device's description. */
START_TEST(many_threads) {
  enum { THREADS = 4 };
  set_up();
  halo_client *client = run_client(NULL);
  pthread_t threads[THREADS];
  halo_device_info info;
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, thread_compile, client);
  for (int i = 0; i < 100; i++) halo_device_get_info(halo_client_device(client, 0), &info);
  for (int i = 0; i < THREADS; i++) {
    void *done;
    pthread_join(threads[i], &done);
    ck_assert_ptr_nonnull(done);
  }
  ck_assert_int_eq(vendor_probes, 1);
  halo_client_release(client);
}
END_TEST

static Suite *probe_suite(void) {
  Suite *suite = suite_create("probes");
  TCase *drivers = tcase_create("drivers");
  tcase_set_timeout(drivers, 240);
  tcase_add_loop_test(drivers, faults, 0, sizeof probed_faults / sizeof *probed_faults);
  tcase_add_test(drivers, less_local_memory);
  tcase_add_test(drivers, stated_half);
  tcase_add_test(drivers, nothing_works);
  suite_add_tcase(suite, drivers);
  TCase *keeping = tcase_create("keeping");
  tcase_set_timeout(keeping, 240);
  tcase_add_test(keeping, kept);
  tcase_add_test(keeping, told);
  tcase_add_test(keeping, process_ends);
  tcase_add_test(keeping, kept_product);
  suite_add_tcase(suite, keeping);
  TCase *others = tcase_create("others");
  tcase_set_timeout(others, 240);
  tcase_add_test(others, processors);
  tcase_add_test(others, many_threads);
  suite_add_tcase(suite, others);
  return suite;
}

int main(void) { return suite_run(probe_suite()); }
