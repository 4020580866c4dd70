/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_vendors.c: programs on a driver that has another vendor's limits. */
#include "run_test.h"
#include "suite.h"
#include "vendor_limits.h"

#include <stdlib.h>

static void set_up(void) {
  setenv("HALO_CPU", "off", 1);
  setenv("HALO_TREAT_AS", "gpu", 1);
  unsetenv("HALO_KERNELS");
  vendor_name = NULL;
  vendor_groups_most = 0;
  vendor_launches = vendor_with_offset = 0;
}

/* ---- Groups along y and z ---- */

/* A few more groups along y, or z, than CUDA has. */
#define MANY "65540"
static const struct {
  const char *kernels, *text;
  int64_t operands[2], results; /* elements */
} grids[] = {
    {"loop:turn",
     "HloModule turn\nENTRY e {\n  x = f32[" MANY ",16,16] parameter(0)\n"
     "  ROOT t = f32[" MANY ",16,16] transpose(x), dimensions={0,2,1}\n}\n",
     {65540 * 256},
     65540 * 256},
    {"dot:tile",
     "HloModule batches\nENTRY e {\n  a = f32[" MANY ",2,3] parameter(0)\n  b = f32[" MANY
     ",3,2] parameter(1)\n"
     "  ROOT d = f32[" MANY ",2,2] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0},\n"
     "    lhs_contracting_dims={2}, rhs_contracting_dims={1}\n}\n",
     {65540 * 6, 65540 * 6},
     65540 * 4},
    {"conv:tile",
     "HloModule conv\nENTRY e {\n  x = f32[64,65540,2] parameter(0)\n  k = f32[3,2,5] parameter(1)\n"
     "  ROOT c = f32[64,65540,5] convolution(x, k), window={size=3 pad=1_1},\n"
     "    dim_labels=b0f_0io->b0f\n}\n",
     {65540 * 128, 30},
     65540 * 320},
};
enum { GRID_COUNT = sizeof grids / sizeof *grids };

static float *grid_run(int which) {
  halo_client *client = run_client(NULL);
  halo_executable *executable = run_compile(client, grids[which].text);
  halo_buffer *operands[2] = {0}, *result;
  int count = 0;
  for (; count < 2 && grids[which].operands[count]; count++) {
    int64_t elements = grids[which].operands[count];
    float *values = malloc(sizeof *values * (size_t)elements);
    for (int64_t i = 0; i < elements; i++) values[i] = (float)(i % 1009);
    /* The module's shape has more dimensions than this one. */
    const halo_shape *shape = halo_executable_argument_shape(executable, count);
    ck_ok(halo_buffer_from_host(client, values, shape, &operands[count]));
    free(values);
  }
  ck_ok(halo_executable_execute(executable, operands, count, NULL, &result));
  size_t bytes = sizeof(float) * (size_t)grids[which].results;
  float *values = malloc(bytes);
  ck_ok(halo_buffer_to_host(result, values, bytes));
  halo_buffer_release(result);
  for (int i = 0; i < count; i++) halo_buffer_release(operands[i]);
  halo_executable_release(executable);
  halo_client_release(client);
  return values;
}

START_TEST(many_groups) {
  set_up();
  setenv("HALO_KERNELS", grids[_i].kernels, 1);
  float *expected = grid_run(_i);
  int launches = vendor_launches;
  ck_assert_int_eq(vendor_with_offset, 0);
  vendor_name = "NVIDIA Corporation";
  vendor_groups_most = 65535;
  float *values = grid_run(_i);
  ck_assert_int_eq(vendor_launches, 2 * launches + 1); /* one of the second run is in two parts */
  ck_assert_int_eq(vendor_with_offset, 1);
  ck_assert(memcmp(values, expected, sizeof *values * (size_t)grids[_i].results) == 0);
  free(values);
  free(expected);
}
END_TEST

static Suite *vendor_suite(void) {
  Suite *suite = suite_create("vendors");
  TCase *limits = tcase_create("grids");
  tcase_set_timeout(limits, 240);
  tcase_add_loop_test(limits, many_groups, 0, GRID_COUNT);
  suite_add_tcase(suite, limits);
  return suite;
}

int main(void) { return suite_run(vendor_suite()); }
