/* SPDX-License-Identifier: Apache-2.0 */
/* custom_call: a function of this program as a step of a compiled one. It is told the shape of what it gets, and
 * how it lies in memory, and it may fail. */
#include <halo/halo.h>

#include <stdio.h>

/* Running sums of a vector, times what the call's attribute `scale` says. */
static halo_status running_sum(const halo_custom_frame *call, void *user) {
  const float *x = call->operands[0].data;
  float *y = call->results[0].data;
  int64_t scale = halo_custom_call_integer(call, "scale", 1);
  float sum = 0;
  (void)user;
  if (call->operands[0].type != HALO_F32 ||
      call->operands[0].elements != call->results[0].elements) {
    return halo_custom_call_fail(HALO_INVALID_ARGUMENT, "f32 arrays of one size are expected");
  }
  for (int64_t i = 0; i < call->operands[0].elements; i++) {
    sum += x[i];
    y[i] = sum * (float)scale;
  }
  return HALO_OK;
}

int main(void) {
  float x[4] = {1, 2, 3, 4}, y[4];
  halo_client *client = NULL;
  halo_shape *shape = NULL;
  halo_module *module = NULL;
  halo_executable *program = NULL;
  halo_buffer *in = NULL, *out = NULL;
  halo_builder *b = halo_builder_create("custom");
  halo_custom_options options = {.config = "{scale = 10 : i64}", .typed = true};
  halo_status status = halo_shape_create_array(HALO_F32, 1, (int64_t[]){4}, &shape);
  if (status == HALO_OK) {
    status = halo_custom_call_register_host("example.running_sum", running_sum, NULL);
  }
  halo_op op = halo_square(halo_parameter(b, 0, shape, "x"));
  op = halo_neg(halo_custom_call(b, "example.running_sum", 1, &op, shape, &options));
  if (status || halo_builder_build(b, op, &module) || halo_client_create(NULL, &client) ||
      halo_client_compile(client, module, NULL, &program) ||
      halo_buffer_from_host(client, x, shape, &in) ||
      halo_executable_execute(program, &in, 1, NULL, &out) ||
      halo_buffer_to_host(out, y, sizeof y)) {
    fprintf(stderr, "custom_call: %s\n", halo_error_message());
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
