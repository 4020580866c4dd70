/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_lapack.c: LAPACK's functions: memory that they use in place and memory that they must not write
 * over, equal calls, and the threads of OpenBLAS. All is passed where there is no LAPACK. */
#include "run_test.h"

#include "custom/lapack.h"
#include "passes/passes.h"
#include "suite.h"
#include "text/text.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

/* The matrix {4, 2; 2, 10}, whose factor is {2, 0; 1, 3}; twice from one operand, with one attribute that may differ. */
static const char twice_text[] =
    "HloModule twice\nENTRY e {\n  x = f32[2,2] parameter(0)\n"
    "  a = (f32[2,2]{0,1}, s32[]) custom-call(x), custom_call_target=\"lapack_spotrf_ffi\",\n"
    "    operand_layout_constraints={f32[2,2]{0,1}}, api_version=API_VERSION_TYPED_FFI,\n"
    "    backend_config={uplo = 76 : ui8}\n"
    "  b = (f32[2,2]{0,1}, s32[]) custom-call(x), custom_call_target=\"lapack_spotrf_ffi\",\n"
    "    operand_layout_constraints={f32[2,2]{0,1}}, api_version=API_VERSION_TYPED_FFI,\n"
    "    backend_config={uplo = %d : ui8}%s\n"
    "  c = f32[2,2]{0,1} get-tuple-element(a), index=0\n"
    "  d = f32[2,2]{0,1} get-tuple-element(b), index=0\n"
    "  ROOT r = (f32[2,2]{0,1}, f32[2,2]{0,1}) tuple(c, d)\n}\n";

static int calls_left(int uplo, const char *more) {
  char text[2048];
  snprintf(text, sizeof text, twice_text, uplo, more);
  halo_module *module = run_parse(text), *after;
  halo_pass_options options = {.no_fusion = true};
  ck_ok(halo_module_optimize(module, &options, &after));
  int count = 0;
  for (int32_t i = 0; i < after->entry->instrs.count; i++) {
    count += after->entry->instrs.data[i]->opcode == HALO_OP_CUSTOM_CALL;
  }
  halo_module_release(after);
  halo_module_release(module);
  return count;
}

START_TEST(equal_calls_are_one) {
  if (!halo_custom_target_find("lapack_spotrf_ffi")) return;
  ck_assert_int_eq(calls_left('L', ""), 1);
  ck_assert_int_eq(calls_left('U', ""), 2);
  ck_assert_int_eq(calls_left('L', ", custom_call_has_side_effect=true"), 2);
}
END_TEST

/* One call with dense memory of the caller's. */
static void call(const char *target, int operands, int results, halo_custom_array *arrays,
                 const char *config) {
  halo_custom_frame frame = {.operand_count = operands,
                             .operands = arrays,
                             .result_count = results,
                             .results = arrays + operands,
                             .config = config,
                             .config_size = strlen(config)};
  halo_arena arena = {0};
  ck_ok(halo_custom_config_read(&arena, config, &frame));
  const halo_custom_target *t = halo_custom_target_find(target);
  ck_ok(t->host(&frame, t->user));
  halo_arena_deinit(&arena);
}

static halo_custom_array matrix(float *data, const int64_t *dims, int rank, const int *order) {
  int64_t elements = 1;
  for (int i = 0; i < rank; i++) elements *= dims[i];
  return (halo_custom_array){.type = HALO_F32,
                             .rank = rank,
                             .dims = dims,
                             .minor_to_major = order,
                             .elements = elements,
                             .bytes = (size_t)elements * sizeof(float),
                             .data = data};
}

/* Two matrices in one batch, in columns and in rows, into memory of their own and over the operand. */
START_TEST(memory_is_used_in_place) {
  if (!halo_custom_target_find("lapack_spotrf_ffi")) return;
  static const int64_t dims[] = {2, 2, 2}, count[] = {2};
  static const int columns[] = {1, 2, 0}, rows[] = {2, 1, 0}, line[] = {0};
  /* Only the lower triangle is read; what is above it stays. */
  static const float in_columns[] = {4, 2, 7, 10, 9, 3, 8, 5},
                     in_rows[] = {4, 7, 2, 10, 9, 8, 3, 5};
  static const float out_columns[] = {2, 1, 7, 3, 3, 1, 8, 2},
                     out_rows[] = {2, 7, 1, 3, 3, 8, 1, 2};
  for (int variant = 0; variant < 8; variant++) {
    bool by_rows = variant & 1, over = variant & 2, turned = variant & 4;
    const float *in = by_rows ? in_rows : in_columns;
    const float *out = by_rows != turned ? out_rows : out_columns;
    if (over && turned) continue; /* what shares memory has one layout */
    float operand[8], result[8];
    int32_t info[2] = {-1, -1};
    memcpy(operand, in, sizeof operand);
    halo_custom_array arrays[] = {
        matrix(operand, dims, 3, by_rows ? rows : columns),
        matrix(over ? operand : result, dims, 3, by_rows != turned ? rows : columns),
        matrix((float *)info, count, 1, line)};
    arrays[2].type = HALO_S32;
    call("lapack_spotrf_ffi", 1, 2, arrays, "{uplo = 76 : ui8}");
    ck_assert_int_eq(info[0], 0);
    ck_assert_int_eq(info[1], 0);
    const float *got = over ? operand : result;
    for (int i = 0; i < 8; i++) ck_assert_float_eq_tol(got[i], out[i], 1e-6);
    for (int i = 0; i < 8 && !over; i++) ck_assert_float_eq(operand[i], in[i]);
  }
}
END_TEST

/* Eigenvalues are found in the matrix's own memory by LAPACK, which the operand's is not. */
START_TEST(operands_are_kept) {
  if (!halo_custom_target_find("lapack_sgeev_ffi")) return;
  static const int64_t dims[] = {2, 2}, count[] = {2};
  static const int columns[] = {0, 1}, line[] = {0};
  float x[4] = {0, 1, -2, 3}, real[2], imaginary[2], left[8], right[8];
  int32_t info = -1;
  halo_custom_array arrays[] = {
      matrix(x, dims, 2, columns),       matrix(real, count, 1, line),
      matrix(imaginary, count, 1, line), matrix(left, dims, 2, columns),
      matrix(right, dims, 2, columns),   matrix((float *)&info, dims, 0, line)};
  arrays[3].type = arrays[4].type = HALO_C64;
  arrays[3].bytes = arrays[4].bytes = sizeof left;
  arrays[5].type = HALO_S32;
  call("lapack_sgeev_ffi", 1, 5, arrays, "{compute_left = 78 : ui8, compute_right = 86 : ui8}");
  ck_assert_int_eq(info, 0);
  ck_assert_float_eq_tol(real[0] + real[1], 3, 1e-5);
  ck_assert_float_eq_tol(real[0] * real[1], 2, 1e-5);
  static const float kept[] = {0, 1, -2, 3};
  for (int i = 0; i < 4; i++) ck_assert_float_eq(x[i], kept[i]);
}
END_TEST

/* OpenBLAS works in one thread for us, and is left as it was. */
START_TEST(threads_are_set_back) {
  int (*get)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "openblas_get_num_threads");
  void (*set)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (!get || !set || !halo_custom_target_find("lapack_spotrf_ffi")) return;
  static const int64_t dims[] = {2, 2};
  static const int columns[] = {0, 1};
  set(2);
  int before = get(); /* 1 where OpenBLAS has no threads */
  float x[4] = {4, 2, 2, 10};
  int32_t info = -1;
  halo_custom_array arrays[] = {matrix(x, dims, 2, columns), matrix(x, dims, 2, columns),
                                matrix((float *)&info, dims, 0, columns)};
  arrays[2].type = HALO_S32;
  call("lapack_spotrf_ffi", 1, 2, arrays, "{uplo = 76 : ui8}");
  ck_assert_int_eq(info, 0);
  ck_assert_int_eq(get(), before);
}
END_TEST

/* Small matrices are factored by kernels, and by LAPACK where that is forced, or nothing is fused: pivots, info and what is left of a
 * matrix without a factor are the same. */
static const char odd_text[] =
    "HloModule odd\nENTRY e {\n  all = f32[45] parameter(0)\n  x = f32[5,3,3] reshape(all)\n"
    "  a = (f32[5,3,3], s32[5,3], s32[5]) custom-call(x), "
    "custom_call_target=\"lapack_sgetrf_ffi\",\n"
    "    api_version=API_VERSION_TYPED_FFI, backend_config={}\n"
    "  b = (f32[5,3,3], s32[5]) custom-call(x), custom_call_target=\"lapack_spotrf_ffi\",\n"
    "    api_version=API_VERSION_TYPED_FFI, backend_config={uplo = 76 : ui8}\n"
    "  c = (f32[5,3,3], s32[5]) custom-call(x), custom_call_target=\"lapack_spotrf_ffi\",\n"
    "    api_version=API_VERSION_TYPED_FFI, backend_config={uplo = 85 : ui8}\n"
    "  a0 = f32[5,3,3] get-tuple-element(a), index=0\n"
    "  a1 = s32[5,3] get-tuple-element(a), index=1\n  a2 = s32[5] get-tuple-element(a), index=2\n"
    "  b0 = f32[5,3,3] get-tuple-element(b), index=0\n  b1 = s32[5] get-tuple-element(b), index=1\n"
    "  c0 = f32[5,3,3] get-tuple-element(c), index=0\n  c1 = s32[5] get-tuple-element(c), index=1\n"
    "  p = f32[5,3] convert(a1)\n  i = f32[5] convert(a2)\n  j = f32[5] convert(b1)\n"
    "  k = f32[5] convert(c1)\n  ar = f32[45] reshape(a0)\n  br = f32[45] reshape(b0)\n"
    "  cr = f32[45] reshape(c0)\n  pr = f32[15] reshape(p)\n"
    "  ROOT r = f32[165] concatenate(ar, br, cr, pr, i, j, k), dimensions={0}\n}\n";

/* A definite matrix; one that fails in its second column, and others in the first and the last; and one of zeros. */
static const float odd_matrices[45] = {4, 2, 1, 2,  5, 3, 1, 3, 6, 4, 2, 1, 2, 1, 3,
                                       1, 3, 6, -1, 2, 1, 2, 5, 3, 1, 3, 6, 4, 2, 1,
                                       2, 5, 3, 1,  3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};

/* Gives how many steps of the family are in the plan. */
static int odd_run(bool no_fusion, const char *kernels, float results[165]) {
  halo_client *client = run_client(NULL);
  halo_executable *e;
  const halo_compile_options options = {.no_fusion = no_fusion, .kernels = kernels};
  ck_ok(run_try_compile(client, odd_text, &options, &e));
  int steps = run_count(halo_executable_report(e, HALO_REPORT_EXPLAIN), "-> lapack:");
  halo_buffer *x = run_buffer(client, 45, odd_matrices), *y;
  ck_ok(halo_executable_execute(e, &x, 1, NULL, &y));
  ck_ok(halo_buffer_to_host(y, results, sizeof(float) * 165));
  halo_buffer_release(y);
  halo_buffer_release(x);
  halo_executable_release(e);
  halo_client_release(client);
  return steps;
}

static void odd_compare(const float kernels[165], const float host[165]) {
  for (int i = 0; i < 165; i++) {
    ck_assert_msg(fabsf(kernels[i] - host[i]) <= 1e-5f, "element %d: %g by a kernel, %g by LAPACK",
                  i, (double)kernels[i], (double)host[i]);
  }
}

START_TEST(kernels_do_as_lapack) {
  static const float infos[3][5] = {{0, 0, 0, 0, 1}, {0, 2, 1, 3, 1}, {0, 2, 1, 3, 1}};
  float kernels[165], host[165];
  ck_assert_int_eq(odd_run(false, NULL, kernels), 3);
  for (int i = 0; i < 15; i++) ck_assert_float_eq(kernels[150 + i], infos[i / 5][i % 5]);
  if (!halo_custom_target_find("lapack_spotrf_ffi")) return;
  ck_assert_int_eq(odd_run(true, NULL, host), 0);
  odd_compare(kernels, host);
  memset(host, 0, sizeof host);
  ck_assert_int_eq(odd_run(false, "lapack:host", host), 3);
  odd_compare(kernels, host);
}
END_TEST

/* ---- Shapes of calls ---- */

/* The operands, or the results, of a routine as it declares them, with these extents. */
static int declared_shapes(halo_arena *arena, const char *declared, int kind,
                           const halo_shape **shapes) {
  static const halo_type types[] = {HALO_F32, HALO_F64, HALO_C64, HALO_C128};
  static const char letters[] = "mnkrhwsuv";
  static const int64_t values[] = {4, 3, 3, 3, 4, 3, 4, 3, 3};
  int count = 0;
  for (; *declared; declared = lapack_next(declared)) {
    int64_t dims[3] = {2};
    int rank = 1;
    for (const char *at = declared + 1; *at == '[' || *at == ','; at += strcspn(at, ",]")) {
      dims[rank] = values[strchr(letters, *++at) - letters];
      dims[rank++] -= at[1] == '-';
    }
    halo_type type = *declared == 'i'   ? HALO_S32
                     : *declared == 'r' ? types[kind % 2]
                     : *declared == 'c' ? types[2 + kind % 2]
                                        : types[kind];
    shapes[count++] = halo_shape_new(arena, type, rank, dims);
  }
  return count;
}

static halo_status check_shapes(halo_arena *arena, const char *name, int in, int out,
                                const halo_shape *const *shapes) {
  const halo_shape *result = out == 1 ? shapes[in] : halo_shape_new_tuple(arena, out, shapes + in);
  return halo_custom_lapack_check(name, in, shapes, result, NULL);
}

/* Each routine takes what it declares, and nothing else: no other type, batch, extent or number of arrays. */
START_TEST(shapes_are_checked) {
  for (const lapack_routine *r = lapack_routines; r->name; r++) {
    for (int kind = 0; kind < LAPACK_KINDS; kind++) {
      halo_arena arena = {0};
      char name[LAPACK_NAME];
      const halo_shape *shapes[2 * LAPACK_MOST];
      lapack_name(r, kind, name);
      int in = declared_shapes(&arena, r->in, kind, shapes);
      int out = declared_shapes(&arena, lapack_out(r, kind), kind, shapes + in);
      ck_assert_msg(check_shapes(&arena, name, in, out, shapes) == HALO_OK, "%s: %s", name,
                    halo_error_message());
      for (int i = 0; i < in + out; i++) {
        const halo_shape *right = shapes[i];
        shapes[i] = halo_shape_new(&arena, HALO_F16, right->rank, right->dims);
        ck_fails(check_shapes(&arena, name, in, out, shapes), HALO_INVALID_ARGUMENT, "must be");
        shapes[i] = halo_shape_new(&arena, right->type, right->rank - 1, right->dims);
        ck_fails(check_shapes(&arena, name, in, out, shapes), HALO_INVALID_ARGUMENT, name);
        shapes[i] = halo_shape_new_tuple(&arena, 1, &right);
        /* A single result may be a tuple of one. */
        halo_status packed = check_shapes(&arena, name, in, out, shapes);
        ck_assert_int_eq(packed, i == in && out == 1 ? HALO_OK : HALO_INVALID_ARGUMENT);
        for (int d = 0; d < right->rank; d++) {
          int64_t dims[3];
          memcpy(dims, right->dims, sizeof *dims * (size_t)right->rank);
          dims[d]++;
          shapes[i] = halo_shape_new(&arena, right->type, right->rank, dims);
          /* A matrix of reflectors may have further columns. */
          bool free = strcmp(r->name, "ormqr") == 0 && i == 0 && d == 2;
          halo_status status = check_shapes(&arena, name, in, out, shapes);
          ck_assert_msg(status == (free ? HALO_OK : HALO_INVALID_ARGUMENT),
                        "%s takes array %d with one more in dimension %d", name, i, d);
        }
        shapes[i] = right;
      }
      ck_fails(halo_custom_lapack_check(name, in - 1, shapes, shapes[in], NULL),
               HALO_INVALID_ARGUMENT, "is missing");
      shapes[in + out] = shapes[0];
      ck_fails(check_shapes(&arena, name, in, out + 1, shapes), HALO_INVALID_ARGUMENT,
               "there is no");
      halo_arena_deinit(&arena);
    }
  }
}
END_TEST

/* The mode of a singular value decomposition says how large its results are. */
START_TEST(modes_are_checked) {
  static const struct {
    int mode;
    int64_t u, v;
    bool fits;
  } rows[] = {{'S', 3, 3, true},  {'S', 4, 3, false}, {'A', 4, 3, true},
              {'A', 3, 3, false}, {'N', 1, 1, true},  {'O', 3, 3, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    halo_arena arena = {0};
    char config[64];
    snprintf(config, sizeof config, "{mode = %d : ui8}", rows[i].mode);
    const halo_shape *a = halo_shape_new(&arena, HALO_F32, 2, (int64_t[]){4, 3});
    const halo_shape *parts[] = {a, halo_shape_new(&arena, HALO_F32, 1, (int64_t[]){3}),
                                 halo_shape_new(&arena, HALO_F32, 2, (int64_t[]){4, rows[i].u}),
                                 halo_shape_new(&arena, HALO_F32, 2, (int64_t[]){rows[i].v, 3}),
                                 halo_shape_new(&arena, HALO_S32, 0, NULL)};
    halo_status status = halo_custom_lapack_check("lapack_sgesdd_ffi", 1, &a,
                                                  halo_shape_new_tuple(&arena, 5, parts), config);
    ck_assert_msg((status == HALO_OK) == rows[i].fits, "%s", config);
    halo_arena_deinit(&arena);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("lapack");
  TCase *cases = tcase_create("lapack");
  tcase_add_test(cases, equal_calls_are_one);
  tcase_add_test(cases, memory_is_used_in_place);
  tcase_add_test(cases, operands_are_kept);
  tcase_add_test(cases, threads_are_set_back);
  tcase_add_test(cases, kernels_do_as_lapack);
  tcase_add_test(cases, shapes_are_checked);
  tcase_add_test(cases, modes_are_checked);
  tcase_set_timeout(cases, 120);
  suite_add_tcase(suite, cases);
  return suite_run(suite);
}
