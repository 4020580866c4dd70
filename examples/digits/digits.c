/* SPDX-License-Identifier: Apache-2.0 */
/* digits: trains a classifier of handwritten digits with two XLA programs that JAX lowered.
 *
 * usage: digits [NETWORK [FOLDER]]     NETWORK is dense (the default) or conv: three dense layers, or
 *                                      convolutions with batch norm and max-pool
 *                                      FOLDER holds what make.py writes (default: examples/digits)
 *
 * train_step.hlo is a whole step (loss, gradients, Adam): it takes and gives back the parameters,
 * the moving means of batch norm, the two moments of each parameter and the step number, which stay on
 * the device from step to step, and a batch of images and labels. eval_step.hlo counts the images that
 * are classified rightly.
 *
 * Under `mpiexec -n 2` or `-n 4`, train_step.2.hlo or train_step.4.hlo run on as many devices, one a
 * process: each takes its part of the batch, and they reduce their gradients. The losses are the same
 * but for rounding. */
#include "halo/halo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_STATE = 64, BATCH = 256, PIXELS = 64, STEPS = 300, STEPS_PER_LINE = 25 };

typedef struct digits_network {
  const char *name;
  double accuracy; /* of the held-out images, to be exceeded */
} digits_network;

static const digits_network digits_networks[] = {{"dense", 0.95}, {"conv", 0.98}};

static const char *digits_folder = "examples/digits";
static int digits_count = 1, digits_rank; /* processes, and which of them this is */

typedef struct digits_trainer {
  halo_client *client;
  halo_executable *train, *eval;
  int model_count; /* parameters and moving means, with which the state begins */
  int state_count;
  halo_buffer *state[MAX_STATE];
  halo_literal *x_train, *y_train;
  halo_buffer *x_test, *y_test;
  float losses[STEPS];
} digits_trainer;

/* Ends the program with the library's message when a call failed. */
static void check(halo_status status) {
  if (status != HALO_OK) {
    fprintf(stderr, "digits: %s: %s\n", halo_status_name(status), halo_error_message());
    exit(1);
  }
}

/* The path of a file of the folder, or of that of a network. */
static const char *path_of(const digits_network *network, const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s%s%s", digits_folder, network != NULL ? network->name : "",
           network != NULL ? "/" : "", name);
  return path;
}

static halo_literal *read_array(const digits_network *network, const char *name) {
  halo_literal *literal;
  check(halo_npy_read(path_of(network, name), HALO_TYPE_INVALID, &literal));
  return literal;
}

static halo_executable *compile(halo_client *client, const digits_network *network,
                                const char *name) {
  halo_module *module;
  halo_executable *executable;
  check(halo_module_parse_file(path_of(network, name), &module));
  check(halo_client_compile(client, module, NULL, &executable));
  halo_module_release(module);
  return executable;
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Compiles the programs. Both take images and labels last; before them the one takes the whole state, the
 * other its beginning. */
static void load_programs(digits_trainer *t, const digits_network *network) {
  double start = seconds_now();
  char name[64] = "train_step.hlo";
  if (digits_count > 1) {
    snprintf(name, sizeof name, "train_step.%d.hlo", digits_count);
  }
  t->train = compile(t->client, network, name);
  t->eval = compile(t->client, network, "eval_step.hlo");
  printf("%s and eval_step.hlo compiled in %.2f s\n", name, seconds_now() - start);
  t->state_count = halo_executable_argument_count(t->train) - 2;
  t->model_count = halo_executable_argument_count(t->eval) - 2;
  const halo_shape *x = halo_executable_argument_shape(t->train, t->state_count);
  if (t->model_count < 1 || t->model_count > t->state_count || t->state_count > MAX_STATE ||
      halo_executable_result_count(t->train) != t->state_count + 1 ||
      halo_shape_element_count(x) != BATCH / digits_count * PIXELS) {
    fprintf(stderr, "digits: the programs are not those that make.py writes\n");
    exit(1);
  }
}

static void load_images(digits_trainer *t) {
  halo_literal *x = read_array(NULL, "x_test.npy"), *y = read_array(NULL, "y_test.npy");
  t->x_train = read_array(NULL, "x_train.npy");
  t->y_train = read_array(NULL, "y_train.npy");
  printf("digits: %lld images to learn from, %lld held out\n",
         (long long)halo_shape_dim(halo_literal_shape(t->x_train), 0),
         (long long)halo_shape_dim(halo_literal_shape(x), 0));
  check(halo_buffer_from_literal(t->client, x, &t->x_test));
  check(halo_buffer_from_literal(t->client, y, &t->y_test));
  halo_literal_release(x);
  halo_literal_release(y);
}

/* The state before the first step: what is stored, in order, and zeros for all else. */
static void make_initial_state(digits_trainer *t, const digits_network *network) {
  halo_npz *npz;
  check(halo_npz_open(path_of(network, "parameters.npz"), &npz));
  if (halo_npz_count(npz) != t->model_count) {
    fprintf(stderr, "digits: parameters.npz does not belong to eval_step.hlo\n");
    exit(1);
  }
  for (int i = 0; i < t->state_count; i++) {
    halo_literal *literal;
    if (i < t->model_count) {
      check(halo_npz_read(npz, i, HALO_TYPE_INVALID, &literal));
    } else {
      check(halo_literal_create(halo_executable_argument_shape(t->train, i), &literal));
    }
    check(halo_buffer_from_literal(t->client, literal, &t->state[i]));
    halo_literal_release(literal);
  }
  halo_npz_close(npz);
}

/* This process's images and labels of a step: the training images in order, round and round, as in
 * make.py. */
static void make_batch(const digits_trainer *t, int step, halo_buffer **x, halo_buffer **y) {
  static float images[BATCH * PIXELS];
  static int32_t labels[BATCH];
  const float *all_images = halo_literal_data(t->x_train);
  const int32_t *all_labels = halo_literal_data(t->y_train);
  int64_t count = halo_shape_dim(halo_literal_shape(t->x_train), 0);
  int part = BATCH / digits_count;
  for (int i = 0; i < part; i++) {
    int64_t row = ((int64_t)step * BATCH + digits_rank * part + i) % count;
    memcpy(&images[i * PIXELS], &all_images[row * PIXELS], PIXELS * sizeof(float));
    labels[i] = all_labels[row];
  }
  const halo_shape *x_shape = halo_executable_argument_shape(t->train, t->state_count);
  const halo_shape *y_shape = halo_executable_argument_shape(t->train, t->state_count + 1);
  check(halo_buffer_from_host(t->client, images, x_shape, x));
  check(halo_buffer_from_host(t->client, labels, y_shape, y));
}

/* Queues one step. The old state is donated: the program writes the new one over it. */
static void queue_step(digits_trainer *t, int step, halo_buffer **loss) {
  halo_buffer *arguments[MAX_STATE + 2], *results[MAX_STATE + 1];
  int donated[MAX_STATE];
  memcpy(arguments, t->state, sizeof t->state);
  make_batch(t, step, &arguments[t->state_count], &arguments[t->state_count + 1]);
  for (int i = 0; i < t->state_count; i++) {
    donated[i] = i;
  }
  halo_execute_options options = {.donated = donated, .donated_count = t->state_count};
  check(halo_executable_execute(t->train, arguments, t->state_count + 2, &options, results));
  for (int i = 0; i < t->state_count + 2; i++) {
    halo_buffer_release(arguments[i]);
  }
  memcpy(t->state, results, (size_t)t->state_count * sizeof(*results));
  *loss = results[t->state_count];
}

/* The part of the held-out images that is classified rightly. */
static double measure_accuracy(const digits_trainer *t) {
  halo_buffer *arguments[MAX_STATE + 2], *result;
  memcpy(arguments, t->state, sizeof t->state);
  arguments[t->model_count] = t->x_test;
  arguments[t->model_count + 1] = t->y_test;
  check(halo_executable_execute(t->eval, arguments, t->model_count + 2, NULL, &result));
  int32_t correct;
  check(halo_buffer_to_host(result, &correct, sizeof correct));
  halo_buffer_release(result);
  return (double)correct / (double)halo_shape_dim(halo_buffer_shape(t->x_test), 0);
}

/* All steps, with a line now and then; the accuracy at their end. */
static double train(digits_trainer *t) {
  halo_buffer *queued[STEPS_PER_LINE];
  double training = 0, accuracy = 0;
  for (int done = 0; done < STEPS; done += STEPS_PER_LINE) {
    double start = seconds_now();
    for (int i = 0; i < STEPS_PER_LINE; i++) { /* queued without waiting for one another */
      queue_step(t, done + i, &queued[i]);
    }
    for (int i = 0; i < STEPS_PER_LINE; i++) {
      check(halo_buffer_to_host(queued[i], &t->losses[done + i], sizeof(float)));
      halo_buffer_release(queued[i]);
    }
    training += seconds_now() - start;
    accuracy = measure_accuracy(t);
    printf("step %4d   loss %.6f   held-out accuracy %6.2f %%\n", done + STEPS_PER_LINE,
           (double)t->losses[done + STEPS_PER_LINE - 1], 100 * accuracy);
    fflush(stdout);
  }
  printf("%d steps in %.2f s: %.0f steps/s\n", STEPS, training, STEPS / training);
  return accuracy;
}

/* Prints how far the losses are from those that XLA's CPU backend gave. */
static void compare_losses(const float *losses, const digits_network *network) {
  halo_literal *literal = read_array(network, "losses_xla.npy");
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

static void release(digits_trainer *t) {
  for (int i = 0; i < t->state_count; i++) {
    halo_buffer_release(t->state[i]);
  }
  halo_buffer_release(t->x_test);
  halo_buffer_release(t->y_test);
  halo_literal_release(t->x_train);
  halo_literal_release(t->y_train);
  halo_executable_release(t->train);
  halo_executable_release(t->eval);
  halo_client_release(t->client);
}

int main(int argc, char **argv) {
  const digits_network *network = NULL;
  for (size_t i = 0; i < sizeof digits_networks / sizeof *digits_networks; i++) {
    if (strcmp(argc > 1 ? argv[1] : "dense", digits_networks[i].name) == 0) {
      network = &digits_networks[i];
    }
  }
  if (network == NULL || argc > 3) {
    fprintf(stderr, "usage: digits [dense|conv [FOLDER]]\n");
    return 2;
  }
  if (argc > 2) {
    digits_folder = argv[2];
  }
  static digits_trainer t;
  halo_client_options options = {0};
  const char *communicator = halo_communicator_default();
  if (communicator) { /* one of several processes, as mpiexec starts them */
    check(halo_communicator_open(communicator, &options.communicator));
    digits_count = options.communicator->process_count;
    digits_rank = options.communicator->process;
  }
  if (digits_rank > 0 && freopen("/dev/null", "w", stdout) == NULL) { /* the first one speaks */
    return 1;
  }
  check(halo_client_create(&options, &t.client));
  halo_device_info device;
  halo_device_get_info(halo_client_device(t.client, 0), &device);
  printf("device: %s (%s)", device.name, device.platform);
  if (digits_count > 1) {
    printf(", in %d processes", digits_count);
  }
  printf("\n");
  load_images(&t);
  load_programs(&t, network);
  make_initial_state(&t, network);
  double accuracy = train(&t);
  compare_losses(t.losses, network);
  release(&t);
  halo_communicator_close(options.communicator);
  if (accuracy <= network->accuracy) {
    fprintf(stderr, "digits: the held-out accuracy should be above %.0f %%\n",
            100 * network->accuracy);
    return 1;
  }
  return 0;
}
