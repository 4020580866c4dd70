/* SPDX-License-Identifier: Apache-2.0 */
/* roots: square roots by Newton's method, in a loop that runs until the values stop changing. */
#include <halo/halo.h>

#include <stdio.h>
#include <stdlib.h>

static void check(halo_status status) {
  if (status != HALO_OK) {
    fprintf(stderr, "roots: %s\n", halo_error_message());
    exit(1);
  }
}

/* The loop's state is a tuple: the numbers a, the roots x so far, the largest change, the rounds. */
enum { STATE_A, STATE_X, STATE_CHANGE, STATE_ROUNDS, STATE_COUNT };

/* Whether another round is needed: change > 1e-6. */
static halo_comp make_condition(halo_builder *b, const halo_shape *state_shape) {
  halo_builder *sub = halo_builder_create_sub(b, "condition");
  halo_op state = halo_parameter(sub, 0, state_shape, "state");
  halo_op change = halo_get_tuple_element(state, STATE_CHANGE);
  return halo_builder_finish_sub(sub, halo_gt(change, halo_constant_f32(sub, 1e-6f)));
}

/* One round: x becomes (x + a / x) / 2. */
static halo_comp make_body(halo_builder *b, const halo_shape *state_shape) {
  halo_builder *sub = halo_builder_create_sub(b, "body");
  halo_op state = halo_parameter(sub, 0, state_shape, "state");
  halo_op a = halo_get_tuple_element(state, STATE_A);
  halo_op x = halo_get_tuple_element(state, STATE_X);
  halo_op rounds = halo_get_tuple_element(state, STATE_ROUNDS);
  halo_op next = halo_mul(halo_add(x, halo_div(a, x)), halo_constant_f32(sub, 0.5f));
  halo_op change = halo_reduce_all(halo_abs(halo_sub(next, x)), halo_constant_f32(sub, 0),
                                   halo_scalar_max(sub, HALO_F32));
  halo_op result[STATE_COUNT] = {
      [STATE_A] = a,
      [STATE_X] = next,
      [STATE_CHANGE] = change,
      [STATE_ROUNDS] = halo_add(rounds, halo_constant_s32(sub, 1)),
  };
  return halo_builder_finish_sub(sub, halo_tuple(sub, STATE_COUNT, result));
}

static halo_module *build_roots(const halo_shape *shape) {
  halo_builder *b = halo_builder_create("roots");
  halo_op a = halo_parameter(b, 0, shape, "a");
  halo_op start[STATE_COUNT] = {
      [STATE_A] = a,
      [STATE_X] = halo_ones_like(a),
      [STATE_CHANGE] = halo_max_value(b, HALO_F32),
      [STATE_ROUNDS] = halo_constant_s32(b, 0),
  };
  halo_op state = halo_tuple(b, STATE_COUNT, start);
  const halo_shape *state_shape = halo_op_shape(state);
  halo_op end = halo_while(make_condition(b, state_shape), make_body(b, state_shape), state);
  halo_op results[] = {halo_get_tuple_element(end, STATE_X),
                       halo_get_tuple_element(end, STATE_ROUNDS)};
  halo_module *module;
  check(halo_builder_build(b, halo_tuple(b, 2, results), &module));
  halo_builder_release(b);
  return module;
}

int main(void) {
  const float numbers[4] = {1, 2, 9, 100};
  float roots[4];
  int32_t rounds;
  halo_shape *shape;
  halo_client *client;
  halo_executable *program;
  halo_buffer *in, *out[2];

  check(halo_shape_create_array(HALO_F32, 1, (int64_t[]){4}, &shape));
  halo_module *module = build_roots(shape);
  check(halo_client_create(NULL, &client));
  check(halo_client_compile(client, module, NULL, &program));
  check(halo_buffer_from_host(client, numbers, shape, &in));
  check(halo_executable_execute(program, &in, 1, NULL, out));
  check(halo_buffer_to_host(out[0], roots, sizeof roots));
  check(halo_buffer_to_host(out[1], &rounds, sizeof rounds));
  printf("%g %g %g %g after %d rounds\n", (double)roots[0], (double)roots[1], (double)roots[2],
         (double)roots[3], (int)rounds);

  halo_buffer_release(out[0]);
  halo_buffer_release(out[1]);
  halo_buffer_release(in);
  halo_executable_release(program);
  halo_client_release(client);
  halo_module_release(module);
  halo_shape_release(shape);
  return 0;
}
