/* SPDX-License-Identifier: Apache-2.0 */
/* run_hlo: reads HLO text, runs it without waiting between the calls, and prints the results.
 *
 * usage: run_hlo [FILE.hlo]     without a file: the little program below
 *
 * Every parameter is filled with 0, 0.25, 0.5, ... (round and round below 2). */
#include <halo/halo.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char run_hlo_text[] =
    "HloModule layer\n"
    "ENTRY layer {\n"
    "  x = f32[4,3] parameter(0)\n"
    "  w = f32[3,2] parameter(1)\n"
    "  xw = f32[4,2] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  one = f32[] constant(1)\n"
    "  ones = f32[4,2] broadcast(one), dimensions={}\n"
    "  y = f32[4,2] subtract(xw, ones)\n"
    "  ROOT r = (f32[4,2], f32[4,2]) tuple(y, xw)\n"
    "}\n";

static void check(halo_status status) {
  if (status != HALO_OK) {
    fprintf(stderr, "run_hlo: %s\n", halo_error_message());
    exit(1);
  }
}

/* A buffer of the given shape with numbers in it. */
static halo_buffer *make_argument(halo_client *client, const halo_shape *shape) {
  halo_literal *literal;
  halo_buffer *buffer;
  check(halo_literal_create(shape, &literal));
  for (int64_t i = 0; i < halo_shape_element_count(shape); i++) {
    halo_literal_set_f64(literal, i, 0.25 * (double)(i % 8));
  }
  check(halo_buffer_from_literal(client, literal, &buffer));
  halo_literal_release(literal);
  return buffer;
}

static void print_result(int number, const halo_literal *literal) {
  const halo_shape *shape = halo_literal_shape(literal);
  int64_t count = halo_shape_element_count(shape);
  char text[256];
  halo_shape_to_text(shape, false, text, sizeof text);
  printf("result %d %s:", number, text);
  for (int64_t i = 0; i < count && i < 8; i++) {
    printf(" %g", halo_literal_get_f64(literal, i));
  }
  printf(count > 8 ? " ...\n" : "\n");
}

int main(int argc, char **argv) {
  halo_client *client;
  halo_module *module;
  halo_executable *program;
  check(halo_client_create(NULL, &client));
  check(argc > 1 ? halo_module_parse_file(argv[1], &module)
                 : halo_module_parse(run_hlo_text, strlen(run_hlo_text), "layer", &module));
  check(halo_client_compile(client, module, NULL, &program));
  halo_module_release(module);

  int argument_count = halo_executable_argument_count(program);
  int result_count = halo_executable_result_count(program);
  halo_buffer **arguments = calloc((size_t)argument_count + 1, sizeof(*arguments));
  halo_buffer **results = calloc((size_t)result_count + 1, sizeof(*results));
  halo_literal **values = calloc((size_t)result_count + 1, sizeof(*values));
  halo_event **done = calloc((size_t)result_count + 1, sizeof(*done));
  for (int i = 0; i < argument_count; i++) {
    arguments[i] = make_argument(client, halo_executable_argument_shape(program, i));
  }

  /* Nothing here waits: the run is queued, and behind it the copies of its results. */
  check(halo_executable_execute(program, arguments, argument_count, NULL, results));
  for (int i = 0; i < result_count; i++) {
    const halo_shape *shape = halo_executable_result_shape(program, i);
    check(halo_literal_create(shape, &values[i]));
    check(halo_buffer_to_host_async(results[i], halo_literal_data(values[i]),
                                    (size_t)halo_shape_byte_size(shape), &done[i]));
  }
  for (int i = 0; i < result_count; i++) {
    check(halo_event_wait(done[i]));
    print_result(i, values[i]);
  }

  for (int i = 0; i < result_count; i++) {
    halo_event_release(done[i]);
    halo_literal_release(values[i]);
    halo_buffer_release(results[i]);
  }
  for (int i = 0; i < argument_count; i++) {
    halo_buffer_release(arguments[i]);
  }
  free(done);
  free(values);
  free(results);
  free(arguments);
  halo_executable_release(program);
  halo_client_release(client);
  return 0;
}
