/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/opencl_test.h: what the tests of the OpenCL room share. */
#ifndef HALO_TESTS_OPENCL_TEST_H
#define HALO_TESTS_OPENCL_TEST_H

#include "opencl/opencl.h"
#include "suite.h"

__attribute__((unused)) static const char wave64[] =
    "null:" HALO_TEST_DATA "/devices/amd-wave64.caps";

static inline halo_cl_device *open_device(halo_cl_options options) {
  halo_cl_device *device;
  halo_status status = halo_cl_device_open(&options, &device);
  ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
  return device;
}

#endif
