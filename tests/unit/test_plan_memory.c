/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_plan_memory.c: the memory of plans: which arguments results take over, where temporaries are placed, which
 * copies are left, and what an executable keeps. test_plan.c has the plans as a whole. */
#include "base/file.h"
#include "base/memory.h"
#include "client/executable.h"
#include "run_test.h"
#include "suite.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#define GOLDEN_DIR HALO_TEST_DATA "/../golden/plan"
#define DEVICE(name) "null:" HALO_TEST_DATA "/devices/" name ".caps"

static char *read_text(const char *path) {
  char *text;
  size_t size;
  ck_ok(halo_file_read(path, &text, &size));
  return text;
}

/* ---- Donation ---- */

/* Which argument result 0, 1, ... may take over: "1 -", where "-" is none. */
static void check_donation(halo_client *client, const char *header, const char *body,
                           const char *expected) {
  char text[2048], got[256] = "";
  snprintf(text, sizeof text, "HloModule m%s\nENTRY e {\n%s}\n", header, body);
  halo_executable *e = run_compile(client, text);
  const char *plan = halo_executable_report(e, HALO_REPORT_PLAN);
  for (const char *line = plan; (line = strstr(line, "\nresult ")) != NULL;) {
    line++;
    const char *end = strchr(line, '\n'), *taken = strstr(line, "may take over argument ");
    size_t used = strlen(got);
    snprintf(got + used, sizeof got - used, "%s%.*s", used ? " " : "",
             taken && taken < end ? (int)(end - taken - 23) : 1,
             taken && taken < end ? taken + 23 : "-");
  }
  ck_assert_msg(strcmp(got, expected) == 0, "%s instead of %s:\n%s\n%s", got, expected, text, plan);
  halo_executable_release(e);
}

static const char two_sums[] =
    "  x = f32[64] parameter(0)\n  y = f32[64] parameter(1)\n  z = f32[32] parameter(2)\n"
    "  s = f32[64] add(x, y)\n  t = f32[32] sine(z)\n"
    "  ROOT r = (f32[64], f32[32]) tuple(s, t)\n";
/* Nobody reads y; the result's kernel reads x elsewhere than it writes. */
static const char one_reverse[] =
    "  x = f32[64] parameter(0)\n  y = f32[64] parameter(1)\n  z = f32[64] parameter(2)\n"
    "  ROOT r = f32[64] reverse(x), dimensions={0}\n";

START_TEST(donates) {
  halo_client *client = run_client("null:/dev/null");
  check_donation(client, "", two_sums, "0 2");
  check_donation(client, ", buffer_donor={ (1, {}) }", two_sums, "1 2");
  check_donation(client, ", buffer_donor={ (2, {}), (0, {}) }", two_sums, "0 2");
  check_donation(client,
                 ", input_output_alias={ {0}: (1, {}, may-alias) }, buffer_donor={ (0, {}) }",
                 two_sums, "1 2");
  /* A pair that does not fit is no pair. */
  check_donation(client, ", input_output_alias={ {0}: (2, {}, may-alias) }", two_sums, "0 2");
  check_donation(client, "", one_reverse, "1");
  check_donation(client, ", buffer_donor={ (2, {}) }", one_reverse, "2");
  /* An offer that cannot be had is left alone. */
  check_donation(client, ", buffer_donor={ (0, {}) }", one_reverse, "1");
  halo_client_release(client);
}
END_TEST

/* As many results as can get an argument do, whatever the order in which they are computed. */
START_TEST(donates_to_many) {
  halo_client *client = run_client("null:/dev/null");
  check_donation(client, "",
                 "  x = f32[64] parameter(0)\n  y = f32[64] parameter(1)\n"
                 "  a = f32[64] reverse(x), dimensions={0}\n"
                 "  b = f32[64] reverse(a), dimensions={0}\n"
                 "  c = f32[64] add(b, y)\n"
                 "  ROOT r = (f32[64], f32[64]) tuple(c, x)\n",
                 "1 -");
  check_donation(client, "",
                 "  x = f32[8,8] parameter(0)\n  y = f32[8,8] parameter(1)\n"
                 "  a = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                 "  b = f32[8,8] dot(a, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                 "  c = f32[8,8] dot(b, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                 "  ROOT r = (f32[8,8], f32[8,8], f32[8,8]) tuple(c, b, a)\n",
                 "1 0 -");
  halo_client_release(client);
}
END_TEST

/* ---- Placing temporaries ---- */

static halo_plan *plan_of_temps(int32_t count, const halo_plan_buffer *temps) {
  halo_plan *plan = halo_alloc(sizeof *plan);
  for (int32_t i = 0; i < count; i++) {
    halo_plan_buffer buffer = temps[i];
    buffer.place = HALO_PLACE_TEMP;
    buffer.name = "value";
    halo_vec_push(&plan->buffers, buffer);
  }
  return plan;
}

static bool overlap(const halo_plan_buffer *a, const halo_plan_buffer *b) {
  return a->index == b->index && a->first <= b->last && b->first <= a->last &&
         a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

static void check_placed(const halo_plan *plan, int64_t alignment, int64_t max_arena) {
  for (int32_t i = 0; i < plan->arenas.count; i++) {
    ck_assert_int_gt(plan->arenas.data[i].size, 0);
    ck_assert_int_le(plan->arenas.data[i].size, max_arena);
  }
  for (int32_t i = 0; i < plan->buffers.count; i++) {
    const halo_plan_buffer *b = &plan->buffers.data[i];
    ck_assert_int_ge(b->index, 0);
    ck_assert_int_lt(b->index, plan->arenas.count);
    ck_assert_int_ge(b->offset, 0);
    ck_assert_int_eq(b->offset % alignment, 0);
    ck_assert_int_le(b->offset + b->size, plan->arenas.data[b->index].size);
    for (int32_t k = 0; k < i; k++) {
      ck_assert_msg(!overlap(b, &plan->buffers.data[k]), "values %d and %d share memory", i, k);
    }
  }
}

START_TEST(assign_random) {
  uint64_t random = 88172645463325252ull + (uint64_t)_i;
  for (int round = 0; round < 40; round++) {
    halo_plan_buffer temps[60];
    int32_t count = 0;
    for (; count < 60; count++) {
      random = random * 6364136223846793005ull + 1442695040888963407ull;
      int32_t first = (int32_t)(random >> 33) % 100, length = (int32_t)(random >> 50) % 30;
      int64_t size = 1 + (int64_t)(random >> 20 & 0xfff);
      temps[count] = (halo_plan_buffer){.first = first, .last = first + length, .size = size};
    }
    int64_t limit = round % 2 ? 4096 + 128 * (round % 20) : INT64_MAX;
    halo_plan *plan = plan_of_temps(count, temps);
    ck_ok(halo_plan_assign(plan, 128, limit, INT64_MAX));
    if (limit == INT64_MAX) ck_assert_int_eq(plan->arenas.count, 1);
    check_placed(plan, 128, limit);
    halo_plan_release(plan);
  }
}
END_TEST

/* The rule in its plainest form: largest first, each at the lowest offset of the first arena where it
 * meets none that is placed. */
static void place_plainly(halo_plan_buffer *temps, int32_t count, int64_t alignment,
                          int64_t max_arena) {
  bool placed[200] = {false};
  for (int32_t n = 0; n < count; n++) {
    int32_t next = -1;
    for (int32_t i = 0; i < count; i++) {
      if (!placed[i] && (next < 0 || temps[i].size > temps[next].size)) next = i;
    }
    halo_plan_buffer *b = &temps[next];
    b->index = 0;
    b->offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (int32_t i = 0; i < count; i++) {
        if (!placed[i] || !overlap(b, &temps[i])) continue;
        b->offset = (temps[i].offset + temps[i].size + alignment - 1) / alignment * alignment;
        moved = true;
      }
      if (b->offset + b->size <= max_arena) continue;
      b->index++;
      b->offset = 0;
      moved = true;
    }
    placed[next] = true;
  }
}

START_TEST(assign_plainly) {
  uint64_t random = 1234567 + (uint64_t)_i * 7919;
  for (int round = 0; round < 60; round++) {
    halo_plan_buffer temps[200];
    int32_t count = 20 + round * 3, span = 1 + round * 5;
    for (int32_t i = 0; i < count; i++) {
      random = random * 6364136223846793005ull + 1442695040888963407ull;
      int32_t first = (int32_t)(random >> 33) % span;
      int32_t length = (int32_t)(random >> 50) % (round % 3 ? 30 : 300);
      int64_t size = 128 * (1 + (int64_t)(random >> 20 & (round % 2 ? 0x3 : 0xff)));
      temps[i] = (halo_plan_buffer){.first = first, .last = first + length, .size = size};
    }
    int64_t limit = round % 4 == 3 ? 128 * 300 : 1 << 30;
    halo_plan *plan = plan_of_temps(count, temps);
    ck_ok(halo_plan_assign(plan, 128, limit, INT64_MAX));
    place_plainly(temps, count, 128, limit);
    for (int32_t i = 0; i < count; i++) {
      ck_assert_int_eq(plan->buffers.data[i].index, temps[i].index);
      ck_assert_int_eq(plan->buffers.data[i].offset, temps[i].offset);
    }
    halo_plan_release(plan);
  }
}
END_TEST

START_TEST(assign_shares) {
  /* Two at a time of equal size: two places are enough for the whole chain. */
  halo_plan_buffer temps[20];
  for (int32_t i = 0; i < 20; i++) {
    temps[i] = (halo_plan_buffer){.first = i, .last = i + 1, .size = 1000};
  }
  halo_plan *plan = plan_of_temps(20, temps);
  ck_ok(halo_plan_assign(plan, 256, INT64_MAX, INT64_MAX));
  check_placed(plan, 256, INT64_MAX);
  ck_assert_int_eq(plan->arenas.data[0].size, 2048);
  halo_plan_release(plan);

  /* What does not fit one arena goes to the next; one that is too large is refused by name. */
  for (int32_t i = 0; i < 20; i++) temps[i].last = 20;
  plan = plan_of_temps(20, temps);
  ck_ok(halo_plan_assign(plan, 256, 4096, INT64_MAX));
  check_placed(plan, 256, 4096);
  ck_assert_int_eq(plan->arenas.count, 5);
  halo_plan_release(plan);
  plan = plan_of_temps(20, temps);
  ck_fails(halo_plan_assign(plan, 256, 1000, 1000), HALO_OUT_OF_MEMORY, "value needs 1024 bytes");
  halo_plan_release(plan);
  plan = plan_of_temps(0, temps);
  ck_ok(halo_plan_assign(plan, 256, 1000, INT64_MAX));
  ck_assert_int_eq(plan->arenas.count, 0);
  halo_plan_release(plan);
}
END_TEST

/* A temporary that is over before a result is written lies in that result's memory rather than in an arena that grows for it; not
 * where the module has the result take over an argument. */
START_TEST(assign_in_results) {
  enum { KIB = 1024 };
  for (int offered = 0; offered < 2; offered++) {
    halo_plan_buffer temps[] = {{.first = 0, .last = 2, .size = 256 * KIB},
                                {.first = 3, .last = 4, .size = 256 * KIB},
                                {.first = 2, .last = 6, .size = 128 * KIB},
                                {.first = 0, .last = 1, .size = 128 * KIB},
                                {.first = 0, .last = 1, .size = 1 * KIB}};
    halo_plan *plan = plan_of_temps(5, temps);
    halo_vec_push(&plan->buffers, ((halo_plan_buffer){.place = HALO_PLACE_RESULT,
                                                      .name = "result",
                                                      .first = 5,
                                                      .last = 6,
                                                      .size = 384 * KIB + 64}));
    int32_t buffer = 5, alias = 0;
    bool is_offered = offered;
    plan->result_count = 1;
    plan->result_buffers = &buffer;
    plan->result_alias = &alias;
    plan->result_offered = &is_offered;
    ck_ok(halo_plan_assign(plan, 128, INT64_MAX, INT64_MAX));
    const halo_plan_buffer *b = plan->buffers.data;
    if (offered) {
      ck_assert_int_eq(plan->arenas.count, 1);
      ck_assert_int_eq(plan->arenas.data[0].result, -1);
      ck_assert_int_eq(plan->arenas.data[0].size, 385 * KIB);
    } else {
      ck_assert_int_eq(plan->arenas.count, 2);
      for (int i = 0; i < 5; i++) {
        bool there = plan->arenas.data[b[i].index].result == 0;
        /* Value 3 has room in the arena that value 2 needs. */
        ck_assert_msg(there == (i < 2), "value %d", i);
        if (there) ck_assert_int_le(b[i].offset + b[i].size, 384 * KIB);
      }
      ck_assert(b[0].index == b[1].index && b[2].index == b[3].index);
    }
    halo_plan_release(plan);
  }
}
END_TEST

/* ---- Copies ---- */

static int count_copies(const halo_steps *steps, bool inside) {
  int count = 0;
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    count += inside && step->kind == HALO_STEP_COPY;
    for (int32_t l = 0; l < step->list_count; l++) count += count_copies(&step->lists[l], true);
  }
  return count;
}

/* The most bytes that a step in a loop reads and writes. */
static int64_t most_bytes(const halo_steps *steps, bool inside) {
  int64_t most = 0;
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    if (inside && step->bytes > most) most = step->bytes;
    for (int32_t l = 0; l < step->list_count; l++) {
      int64_t inner = most_bytes(&step->lists[l], true);
      if (inner > most) most = inner;
    }
  }
  return most;
}

static halo_executable *golden_executable(halo_client *client, const char *path) {
  char *text = read_text(path);
  halo_executable *e = run_compile(client, text);
  halo_free(text);
  return e;
}

/* Copies in loops and branches, and the bytes of the largest step in them. The arrays of update_reads and gradient_loop have 1600
 * bytes and more, of which each round needs a few. */
START_TEST(copies_in_loops) {
  static const struct {
    const char *path;
    int copies;
    int64_t bytes;
  } loops[] = {{GOLDEN_DIR "/update_loop.hlo", 0, INT64_MAX},
               {GOLDEN_DIR "/swap_loop.hlo", 2, INT64_MAX},
               {GOLDEN_DIR "/update_reads.hlo", 0, 400},
               {GOLDEN_DIR "/gradient_loop.hlo", 0, 400}};
  halo_client *client = run_client(DEVICE("amd-wave64"));
  for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
    char *text = read_text(loops[i].path);
    halo_compile_options options = {.kernels = "region:steps"};
    halo_executable *e;
    ck_ok(run_try_compile(client, text, &options, &e));
    halo_free(text);
    const halo_plan *plan = halo_executable_plan(e);
    ck_assert_msg(count_copies(&plan->steps, false) <= loops[i].copies, "%s:\n%s", loops[i].path,
                  halo_executable_report(e, HALO_REPORT_PLAN));
    ck_assert_int_ge(count_copies(&plan->steps, false), loops[i].copies);
    ck_assert_int_le(most_bytes(&plan->steps, false), loops[i].bytes);
    halo_executable_release(e);
  }
  halo_client_release(client);
}
END_TEST

/* The same loops, run where they can be. */
START_TEST(copies_keep_values) {
  halo_client *client = run_client(NULL);
  halo_executable *e = golden_executable(client, GOLDEN_DIR "/swap_loop.hlo");
  const float a[8] = {1}, b[8] = {2};
  halo_buffer *arguments[2] = {run_buffer(client, 8, a), run_buffer(client, 8, b)}, *results[2];
  const int all[] = {0, 1};
  for (int donated = 0; donated < 3; donated += 2) {
    const halo_execute_options options = {all, donated};
    ck_ok(halo_executable_execute(e, arguments, 2, &options, results));
    run_check(results[0], "{2, 0, 0, 0, 0, 0, 0, 0}");
    run_check(results[1], "{1, 0, 0, 0, 0, 0, 0, 0}");
    for (int i = 0; i < 2; i++) halo_buffer_release(results[i]);
  }
  for (int i = 0; i < 2; i++) halo_buffer_release(arguments[i]);
  halo_executable_release(e);

  e = golden_executable(client, GOLDEN_DIR "/update_loop.hlo");
  halo_literal *literals[2], *result;
  ck_ok(halo_literal_create(halo_executable_argument_shape(e, 0), &literals[0]));
  ck_ok(halo_literal_create(halo_executable_argument_shape(e, 1), &literals[1]));
  for (int i = 0; i < 8; i++) halo_literal_set_f64(literals[1], i, i);
  ck_ok(halo_executable_run(e, literals, 2, &result));
  for (int i = 0; i < 8; i++) {
    /* sin(sin(...)) falls from row to row. */
    for (int row = 1; row < 100; row++) {
      double before = halo_literal_get_f64(result, (row - 1) * 8 + i);
      double now = halo_literal_get_f64(result, row * 8 + i);
      ck_assert(i == 0 ? now == 0 : now != 0 && now * now < before * before);
    }
  }
  halo_literal_release(result);
  for (int i = 0; i < 2; i++) halo_literal_release(literals[i]);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* ---- Memory of the host ---- */

/* Bytes of host memory in use; 0 where nobody counts them, as under sanitizers. */
static int64_t used_bytes(void) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  return (int64_t)mallinfo2().uordblks;
#else
  return 0;
#endif
}

/* An executable keeps the texts of kernels that it launches, not of those that a region took in. Small objects, as shapes of
 * scalars, take little memory. */
START_TEST(kept_memory) {
  enum { PROGRAMS = 8, MOST = 340000 };
  halo_client *client = run_client(DEVICE("amd-wave64"));
  halo_executable *executables[PROGRAMS + 1];
  int64_t before = 0;
  for (int i = 0; i <= PROGRAMS; i++) {
    if (i == 1) before = used_bytes();
    executables[i] = golden_executable(client, GOLDEN_DIR "/gradient_loop.hlo");
  }
  int64_t each = (used_bytes() - before) / PROGRAMS;
  ck_assert_msg(each <= MOST, "%lld bytes", (long long)each);
  for (int i = 0; i <= PROGRAMS; i++) halo_executable_release(executables[i]);
  halo_client_release(client);
}
END_TEST

/* ---- Private memory ---- */

/* A GPU of 40 units: with 16 GiB a work item should have 3276 bytes of private arrays at most, with 160 GiB 32 KiB. */
#define PRIVATE_GPU "kind = gpu\ncompute_units = 40\nmax_work_group = 256\nmax_items = 256 256 64\n"
#define PRIVATE_SMALL PRIVATE_GPU "global_memory = 16G\nmax_allocation = 4G\nlocal_memory = 48K\n"
#define PRIVATE_LARGE PRIVATE_GPU "global_memory = 160G\nmax_allocation = 4G\nlocal_memory = 48K\n"

static void check_chosen(const char *device, const char *kernels, const char *text,
                         const char *expected) {
  setenv("HALO_KERNELS", kernels, 1);
  halo_executable *e = run_compile_for(device, text);
  unsetenv("HALO_KERNELS");
  const char *explain = halo_executable_report(e, HALO_REPORT_EXPLAIN);
  ck_assert_msg(strstr(explain, expected), "%s: no %s:\n%s", kernels, expected, explain);
  ck_assert_msg(run_count(explain, "attention.result: ") == 1, "the choice is reported twice:\n%s",
                explain);
  halo_executable_release(e);
}

/* An implementation whose private arrays take too much gives way to one that has less, unless the user's list forces it or
 * leaves nothing else. */
START_TEST(private_arrays) {
  char *text = read_text(GOLDEN_DIR "/attention.hlo");
  check_chosen(PRIVATE_LARGE, "-attention:tile", text, "-> attention:item");
  check_chosen(PRIVATE_SMALL, "-attention:tile", text, "-> attention:loop");
  check_chosen(PRIVATE_SMALL, "attention:item", text, "-> attention:item");
  check_chosen(PRIVATE_SMALL, "-attention:tile,-attention:loop", text, "-> attention:item");
  halo_free(text);
}
END_TEST

/* The arrays of a region's steps are those of one kernel. A factorisation keeps 24 x 24 numbers in a work item's memory, 2368
 * bytes; two of them are too much for the smaller device. */
START_TEST(private_arrays_of_regions) {
#define PRIVATE_FACTORS(of)                                                                        \
  "(f32[24,24]{0,1}, s32[24], s32[]) custom-call(" of                                              \
  "), "                                                                                            \
  "custom_call_target=\"lapack_sgetrf_ffi\", operand_layout_constraints={f32[24,24]{0,1}}, "       \
  "api_version=API_VERSION_TYPED_FFI, backend_config={}\n"
  static const char text[] =
      "HloModule m\nENTRY e {\n  x = f32[24,24] parameter(0)\n  a = " PRIVATE_FACTORS("x")
      "  l = f32[24,24]{0,1} get-tuple-element(a), index=0\n"
      "  p = s32[24] get-tuple-element(a), index=1\n  b = " PRIVATE_FACTORS("l")
      "  m = f32[24,24]{0,1} get-tuple-element(b), index=0\n"
      "  ROOT t = (f32[24,24], s32[24]) tuple(m, p)\n}\n";
  static const char *const devices[] = {PRIVATE_LARGE, PRIVATE_SMALL};
  setenv("HALO_KERNELS", "-lapack:host,lapack:item,region:kernel", 1);
  for (int i = 0; i < 2; i++) {
    halo_executable *e = run_compile_for(devices[i], text);
    const char *plan = halo_executable_report(e, HALO_REPORT_PLAN);
    ck_assert_msg((strstr(plan, "region:kernel") != NULL) == (i == 0), "%s", plan);
    halo_executable_release(e);
  }
  unsetenv("HALO_KERNELS");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("plan_memory");
  TCase *assign = tcase_create("assign"), *copies = tcase_create("copies");
  tcase_add_test(assign, donates);
  tcase_add_test(assign, donates_to_many);
  tcase_add_loop_test(assign, assign_plainly, 0, 10);
  tcase_add_loop_test(assign, assign_random, 0, 5);
  tcase_add_test(assign, assign_shares);
  tcase_add_test(assign, assign_in_results);
  tcase_add_test(copies, copies_in_loops);
  tcase_add_test(copies, copies_keep_values);
  tcase_add_test(copies, kept_memory);
  TCase *items = tcase_create("private");
  tcase_add_test(items, private_arrays);
  tcase_add_test(items, private_arrays_of_regions);
  TCase *cases[] = {assign, copies, items};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tcase_set_timeout(cases[i], 120);
    suite_add_tcase(suite, cases[i]);
  }
  return suite_run(suite);
}
