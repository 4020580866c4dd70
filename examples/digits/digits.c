/* digits: trains a classifier of handwritten digits with two XLA programs that JAX lowered.
 *
 * usage: digits [FOLDER]     FOLDER holds the files that make.py writes (default: examples/digits)
 *
 * train_step.hlo is a whole step (loss, gradients, Adam): it takes and gives back the parameters,
 * the two moments of each and the step number, which stay on the device from step to step, and a
 * batch of images and labels. eval_step.hlo counts the images that are classified rightly. */
#include "halo/halo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  PARAMETERS = 6,             /* w0, b0, w1, b1, w2, b2 */
  STATE = 3 * PARAMETERS + 1, /* parameters, first moments, second moments, step number */
  BATCH = 256,
  PIXELS = 64,
  STEPS = 300,
  STEPS_PER_LINE = 25
};

static const char *digits_folder = "examples/digits";

/* Ends the program with the library's message when a call failed. */
static void check(halo_status status) {
  if (status != HALO_OK) {
    fprintf(stderr, "digits: %s: %s\n", halo_status_name(status), halo_error_message());
    exit(1);
  }
}

static const char *path_of(const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", digits_folder, name);
  return path;
}

static halo_literal *read_array(const char *name) {
  halo_literal *literal;
  check(halo_npy_read(path_of(name), HALO_TYPE_INVALID, &literal));
  return literal;
}

static halo_executable *compile(halo_client *client, const char *name) {
  halo_module *module;
  halo_executable *executable;
  check(halo_module_parse_file(path_of(name), &module));
  check(halo_client_compile(client, module, NULL, &executable));
  halo_module_release(module);
  return executable;
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The state before the first step: the stored parameters, and zeros for all else. */
static void make_initial_state(halo_client *client, halo_executable *train, halo_buffer **state) {
  static const char *const names[PARAMETERS] = {"w0", "b0", "w1", "b1", "w2", "b2"};
  halo_npz *npz;
  check(halo_npz_open(path_of("parameters.npz"), &npz));
  for (int i = 0; i < STATE; i++) {
    halo_literal *literal = NULL;
    for (int k = 0; i < PARAMETERS && k < halo_npz_count(npz); k++) {
      if (strcmp(halo_npz_name(npz, k), names[i]) == 0) {
        check(halo_npz_read(npz, k, HALO_TYPE_INVALID, &literal));
      }
    }
    if (literal == NULL) {
      check(halo_literal_create(halo_executable_argument_shape(train, i), &literal));
    }
    check(halo_buffer_from_literal(client, literal, &state[i]));
    halo_literal_release(literal);
  }
  halo_npz_close(npz);
}

/* The images and labels of a step: the training images in order, round and round, as in make.py. */
static void make_batch(halo_client *client, halo_literal *x_train, halo_literal *y_train, int step,
                       halo_buffer **x, halo_buffer **y) {
  static float images[BATCH * PIXELS];
  static int32_t labels[BATCH];
  const float *all_images = halo_literal_data(x_train);
  const int32_t *all_labels = halo_literal_data(y_train);
  int64_t count = halo_shape_dim(halo_literal_shape(x_train), 0);
  for (int i = 0; i < BATCH; i++) {
    int64_t row = ((int64_t)step * BATCH + i) % count;
    memcpy(&images[i * PIXELS], &all_images[row * PIXELS], PIXELS * sizeof(float));
    labels[i] = all_labels[row];
  }
  halo_shape *x_shape, *y_shape;
  check(halo_shape_create_array(HALO_F32, 2, (int64_t[]){BATCH, PIXELS}, &x_shape));
  check(halo_shape_create_array(HALO_S32, 1, (int64_t[]){BATCH}, &y_shape));
  check(halo_buffer_from_host(client, images, x_shape, x));
  check(halo_buffer_from_host(client, labels, y_shape, y));
  halo_shape_release(x_shape);
  halo_shape_release(y_shape);
}

/* Queues one step. The old state is donated: the program writes the new one over it. */
static void queue_step(halo_executable *train, halo_buffer **state, halo_buffer *x, halo_buffer *y,
                       halo_buffer **loss) {
  halo_buffer *arguments[STATE + 2], *results[STATE + 1];
  int donated[STATE];
  memcpy(arguments, state, STATE * sizeof(*state));
  arguments[STATE] = x;
  arguments[STATE + 1] = y;
  for (int i = 0; i < STATE; i++) {
    donated[i] = i;
  }
  halo_execute_options options = {.donated = donated, .donated_count = STATE};
  check(halo_executable_execute(train, arguments, STATE + 2, &options, results));
  for (int i = 0; i < STATE; i++) {
    halo_buffer_release(state[i]);
    state[i] = results[i];
  }
  *loss = results[STATE];
}

/* The part of the held-out images that is classified rightly. */
static double measure_accuracy(halo_executable *eval, halo_buffer **state, halo_buffer *x_test,
                               halo_buffer *y_test) {
  halo_buffer *arguments[PARAMETERS + 2], *result;
  memcpy(arguments, state, PARAMETERS * sizeof(*state));
  arguments[PARAMETERS] = x_test;
  arguments[PARAMETERS + 1] = y_test;
  check(halo_executable_execute(eval, arguments, PARAMETERS + 2, NULL, &result));
  int32_t correct;
  check(halo_buffer_to_host(result, &correct, sizeof correct));
  halo_buffer_release(result);
  return (double)correct / (double)halo_shape_dim(halo_buffer_shape(x_test), 0);
}

/* Prints how far the losses are from those that XLA's CPU backend gave. */
static void compare_losses(const float *losses) {
  halo_literal *literal = read_array("losses_xla.npy");
  const float *expected = halo_literal_data(literal);
  double sum = 0, greatest = 0;
  for (int i = 0; i < STEPS; i++) {
    double difference = fabs((double)losses[i] - (double)expected[i]);
    sum += difference;
    greatest = difference > greatest ? difference : greatest;
  }
  printf("losses against XLA's CPU backend: greatest difference %.2g, mean %.2g\n", greatest,
         sum / STEPS);
  halo_literal_release(literal);
}

int main(int argc, char **argv) {
  if (argc > 1) {
    digits_folder = argv[1];
  }
  halo_client *client;
  check(halo_client_create(NULL, &client));
  halo_device_info device;
  halo_device_get_info(halo_client_device(client, 0), &device);
  halo_literal *x_train = read_array("x_train.npy"), *y_train = read_array("y_train.npy");
  halo_literal *x_held = read_array("x_test.npy"), *y_held = read_array("y_test.npy");
  printf("device: %s (%s)\n", device.name, device.platform);
  printf("digits: %lld images to learn from, %lld held out\n",
         (long long)halo_shape_dim(halo_literal_shape(x_train), 0),
         (long long)halo_shape_dim(halo_literal_shape(x_held), 0));

  double start = seconds_now();
  halo_executable *train = compile(client, "train_step.hlo");
  halo_executable *eval = compile(client, "eval_step.hlo");
  printf("train_step.hlo and eval_step.hlo compiled in %.2f s\n", seconds_now() - start);
  if (halo_executable_argument_count(train) != STATE + 2 ||
      halo_executable_result_count(train) != STATE + 1) {
    fprintf(stderr, "digits: train_step.hlo is not the program that make.py writes\n");
    return 1;
  }

  halo_buffer *state[STATE], *x_test, *y_test, *queued[STEPS_PER_LINE];
  make_initial_state(client, train, state);
  check(halo_buffer_from_literal(client, x_held, &x_test));
  check(halo_buffer_from_literal(client, y_held, &y_test));
  static float losses[STEPS];
  double training = 0, accuracy = 0;
  for (int done = 0; done < STEPS; done += STEPS_PER_LINE) {
    start = seconds_now();
    for (int i = 0; i < STEPS_PER_LINE; i++) { /* queued without waiting for one another */
      halo_buffer *x, *y;
      make_batch(client, x_train, y_train, done + i, &x, &y);
      queue_step(train, state, x, y, &queued[i]);
      halo_buffer_release(x);
      halo_buffer_release(y);
    }
    for (int i = 0; i < STEPS_PER_LINE; i++) {
      check(halo_buffer_to_host(queued[i], &losses[done + i], sizeof(float)));
      halo_buffer_release(queued[i]);
    }
    training += seconds_now() - start;
    accuracy = measure_accuracy(eval, state, x_test, y_test);
    printf("step %4d   loss %.6f   held-out accuracy %6.2f %%\n", done + STEPS_PER_LINE,
           (double)losses[done + STEPS_PER_LINE - 1], 100 * accuracy);
    fflush(stdout);
  }
  printf("%d steps in %.2f s: %.0f steps/s\n", STEPS, training, STEPS / training);
  compare_losses(losses);

  for (int i = 0; i < STATE; i++) {
    halo_buffer_release(state[i]);
  }
  halo_buffer_release(x_test);
  halo_buffer_release(y_test);
  halo_literal_release(x_train);
  halo_literal_release(y_train);
  halo_literal_release(x_held);
  halo_literal_release(y_held);
  halo_executable_release(train);
  halo_executable_release(eval);
  halo_client_release(client);
  if (accuracy <= 0.95) {
    fprintf(stderr, "digits: the held-out accuracy should be above 95 %%\n");
    return 1;
  }
  return 0;
}
