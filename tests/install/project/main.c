/* SPDX-License-Identifier: Apache-2.0 */
/* A program of three files that uses Halocline as installed. */
#include "affine.h"

#include <stdio.h>

int main(void) {
  float x[3] = {1, 2, 3}, y[3] = {0, 0, 0};
  int64_t count = 3;
  halo_shape *shape = NULL;
  halo_client *client = NULL;
  halo_executable *program = NULL;
  halo_buffer *in = NULL, *out = NULL;
  halo_module *module = affine_module(count);
  if (!module || halo_shape_create_array(HALO_F32, 1, &count, &shape) ||
      halo_client_create(NULL, &client) || halo_client_compile(client, module, NULL, &program) ||
      halo_buffer_from_host(client, x, shape, &in) ||
      halo_executable_execute(program, &in, 1, NULL, &out) ||
      halo_buffer_to_host(out, y, sizeof y)) {
    fprintf(stderr, "stranger: %s\n", halo_error_message());
    return 1;
  }
  printf("%g %g %g with halo %s\n", (double)y[0], (double)y[1], (double)y[2], halo_version());
  halo_buffer_release(out);
  halo_buffer_release(in);
  halo_executable_release(program);
  halo_client_release(client);
  halo_module_release(module);
  halo_shape_release(shape);
  return 0;
}
