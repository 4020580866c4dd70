/* SPDX-License-Identifier: Apache-2.0 */
/* train: fits a line to data by gradient descent, with the weights kept on the device.
 *
 * usage: train [FILE]     without a file: the step that build_step makes; else one that is read,
 *                         such as step.mlir, which JAX wrote (step.py) */
#include <halo/halo.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 64, COLUMNS = 3, STEPS = 100 };

static void check(halo_status status) {
  if (status != HALO_OK) {
    fprintf(stderr, "train: %s\n", halo_error_message());
    exit(1);
  }
}

/* One step of gradient descent: (w, bias, x, y) -> (w, bias, loss). */
static halo_module *build_step(const halo_shape *w_shape, const halo_shape *bias_shape,
                               const halo_shape *x_shape, const halo_shape *y_shape) {
  halo_builder *b = halo_builder_create("step");
  halo_op w = halo_parameter(b, 0, w_shape, "w");
  halo_op bias = halo_parameter(b, 1, bias_shape, "bias");
  halo_op x = halo_parameter(b, 2, x_shape, "x");
  halo_op y = halo_parameter(b, 3, y_shape, "y");
  halo_op zero = halo_constant_f32(b, 0);
  halo_comp sum = halo_scalar_add(b, HALO_F32);

  /* loss = mean(error * error), error = x w + bias - y */
  halo_op error = halo_sub(halo_add(halo_dot(x, w, NULL), bias), y);
  halo_op loss =
      halo_mul(halo_reduce_all(halo_square(error), zero, sum), halo_constant_f32(b, 1.0f / ROWS));

  /* Gradients: 2/n x' error and 2/n sum(error), times the learning rate 0.1 */
  halo_op rate = halo_constant_f32(b, 0.1f * 2 / ROWS);
  halo_op w_step = halo_mul(halo_dot(error, x, NULL), rate);
  halo_op bias_step = halo_mul(halo_reduce_all(error, zero, sum), rate);
  halo_op results[] = {halo_sub(w, w_step), halo_sub(bias, bias_step), loss};

  halo_module *module;
  check(halo_builder_build(b, halo_tuple(b, 3, results), &module));
  halo_builder_release(b);
  return module;
}

/* A step that was written to a file, in any format that Halocline reads. */
static halo_module *read_step(const char *path) {
  halo_module *module;
  check(halo_module_read_file(path, NULL, &module));
  for (int i = 0; i < halo_module_parameter_count(module); i++) {
    char shape[64];
    halo_shape_to_text(halo_module_parameter_shape(module, i), false, shape, sizeof shape);
    printf("parameter %d: %s %s\n", i, halo_module_parameter_name(module, i), shape);
  }
  return module;
}

/* Data of y = 2 x0 - x1 + 0.5 x2 + 3. */
static void make_data(float x[ROWS][COLUMNS], float y[ROWS]) {
  for (int row = 0; row < ROWS; row++) {
    for (int column = 0; column < COLUMNS; column++) {
      int i = row * COLUMNS + column;
      x[row][column] = sinf(0.37f * (float)(i * i));
    }
    y[row] = 2 * x[row][0] - x[row][1] + 0.5f * x[row][2] + 3;
  }
}

/* Runs the step STEPS times and prints the loss; state[0] and state[1] are the weights and the bias. */
static void train(halo_executable *step, halo_buffer *state[2], halo_buffer *x, halo_buffer *y) {
  const int donated[] = {0, 1}; /* the step may write the new state over the old one */
  const halo_execute_options options = {.donated = donated, .donated_count = 2};
  for (int i = 0; i < STEPS; i++) {
    halo_buffer *arguments[] = {state[0], state[1], x, y}, *results[3];
    check(halo_executable_execute(step, arguments, 4, &options, results));
    for (int k = 0; k < 2; k++) {
      halo_buffer_release(state[k]);
      state[k] = results[k];
    }
    if (i % 20 == 0 || i == STEPS - 1) {
      float loss;
      check(halo_buffer_to_host(results[2], &loss, sizeof loss));
      printf("step %2d  loss %.4f\n", i, (double)loss);
    }
    halo_buffer_release(results[2]);
  }
}

int main(int argc, char **argv) {
  static float x[ROWS][COLUMNS], y[ROWS];
  float w[COLUMNS] = {0}, bias = 0;
  halo_shape *w_shape, *bias_shape, *x_shape, *y_shape;
  halo_client *client;
  halo_executable *step;
  halo_buffer *state[2], *x_buffer, *y_buffer;

  check(halo_shape_create_array(HALO_F32, 1, (int64_t[]){COLUMNS}, &w_shape));
  check(halo_shape_create_array(HALO_F32, 0, NULL, &bias_shape));
  check(halo_shape_create_array(HALO_F32, 2, (int64_t[]){ROWS, COLUMNS}, &x_shape));
  check(halo_shape_create_array(HALO_F32, 1, (int64_t[]){ROWS}, &y_shape));
  halo_module *module;
  if (argc > 1) {
    module = read_step(argv[1]);
  } else {
    module = build_step(w_shape, bias_shape, x_shape, y_shape);
  }
  check(halo_client_create(NULL, &client));
  check(halo_client_compile(client, module, NULL, &step));

  make_data(x, y);
  check(halo_buffer_from_host(client, w, w_shape, &state[0]));
  check(halo_buffer_from_host(client, &bias, bias_shape, &state[1]));
  check(halo_buffer_from_host(client, x, x_shape, &x_buffer));
  check(halo_buffer_from_host(client, y, y_shape, &y_buffer));
  train(step, state, x_buffer, y_buffer);
  check(halo_buffer_to_host(state[0], w, sizeof w));
  check(halo_buffer_to_host(state[1], &bias, sizeof bias));
  printf("w %.3f %.3f %.3f  bias %.3f\n", (double)w[0], (double)w[1], (double)w[2], (double)bias);

  halo_buffer_release(state[0]);
  halo_buffer_release(state[1]);
  halo_buffer_release(x_buffer);
  halo_buffer_release(y_buffer);
  halo_executable_release(step);
  halo_client_release(client);
  halo_module_release(module);
  halo_shape_release(w_shape);
  halo_shape_release(bias_shape);
  halo_shape_release(x_shape);
  halo_shape_release(y_shape);
  return 0;
}
