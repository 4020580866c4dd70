/* SPDX-License-Identifier: Apache-2.0 */
/* hello: builds a program, runs it on the OpenCL device and prints what comes out. */
#include <halo/halo.h>

#include <stdio.h>

int main(void) {
  float x[4] = {1, 2, 3, 4}, y[4];
  halo_client *client = NULL;
  halo_shape *shape = NULL;
  halo_module *module = NULL;
  halo_executable *program = NULL;
  halo_buffer *in = NULL, *out = NULL;
  halo_builder *b = halo_builder_create("hello");
  halo_status status = halo_shape_create_array(HALO_F32, 1, (int64_t[]){4}, &shape);
  halo_op op = halo_parameter(b, 0, shape, "x");
  op = halo_add(halo_square(op), halo_constant_f32(b, 1)); /* x * x + 1 */
  if (status || halo_builder_build(b, op, &module) || halo_client_create(NULL, &client) ||
      halo_client_compile(client, module, NULL, &program) ||
      halo_buffer_from_host(client, x, shape, &in) ||
      halo_executable_execute(program, &in, 1, NULL, &out) ||
      halo_buffer_to_host(out, y, sizeof y)) {
    fprintf(stderr, "hello: %s\n", halo_error_message());
    return 1;
  }
  printf("%g %g %g %g\n", (double)y[0], (double)y[1], (double)y[2], (double)y[3]);
  halo_buffer_release(out);
  halo_buffer_release(in);
  halo_executable_release(program);
  halo_client_release(client);
  halo_module_release(module);
  halo_builder_release(b);
  halo_shape_release(shape);
  return 0;
}
