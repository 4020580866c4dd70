/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin's extension for custom calls that know themselves how they are partitioned, as frameworks use it. */
#include "pjrt_test.h"

#include "pjrt/ffi_abi.h"

#include <stdio.h>

/* x and y are cut in two; the call gives both doubled. */
static const char call_text[] =
    "HloModule doubled, num_partitions=2\n"
    "ENTRY e {\n"
    "  x = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n"
    "  y = f32[4] parameter(1), sharding={devices=[2]<=[2]}\n"
    "  c = (f32[4], f32[4]) custom-call(x, y), custom_call_target=\"test.doubled\", "
    "backend_config=\"a\\\"b\\001\",\n"
    "    frontend_attributes={xla.sdy.sharding_rule=\"#sdy.op_sharding_rule<([i], [i])->([i], [i]) "
    "{i=4}, custom>\"}\n"
    "  a = f32[4] get-tuple-element(c), index=0\n"
    "  b = f32[4] get-tuple-element(c), index=1\n"
    "  ROOT s = f32[4] add(a, b), sharding={devices=[2]<=[2]}\n"
    "}\n";

static const char part_text[] =
    "HloModule part\nENTRY e {\n  x = f32[2] parameter(0)\n  y = f32[2] parameter(1)\n"
    "  a = f32[2] add(x, x)\n  b = f32[2] add(y, y)\n  ROOT t = (f32[2], f32[2]) tuple(a, b)\n}\n";

/* OpSharding messages: tiles over two devices, 0 and 1, as a list and as an iota; two of them in a tuple. */
static const char tiles[] = {1 << 3, 3, 3 << 3 | 2, 1, 2, 4 << 3 | 2, 2, 0, 1};
static const char iota[] = {1 << 3, 3, 3 << 3 | 2, 1, 2, 9 << 3 | 2, 1, 2, 10 << 3 | 2, 1, 0};
static const char both[] = {1 << 3,     2, 5 << 3 | 2, 9, 1 << 3,     3, 3 << 3 | 2, 1, 2,
                            4 << 3 | 2, 2, 0,          1, 5 << 3 | 2, 9, 1 << 3,     3, 3 << 3 | 2,
                            1,          2, 4 << 3 | 2, 2, 0,          1};
static const char named[] = {1 << 3, 7};
static const char broken[] = {3 << 3 | 2, 9, 1};

#define TEXT(array) ((JAX_Partitioner_text){array, sizeof array})

/* What the next call is answered with. */
static struct {
  const char *error, *program;
  JAX_Partitioner_text operand, result;
} answer;
static int calls, cleanups;

static void clean_up(void *data) {
  ck_assert_ptr_eq(data, &answer);
  cleanups++;
}

static void partition(JAX_Partitioner *self, JAX_Partitioner_Partition_Args *args) {
  static JAX_Partitioner_text operands[2];
  calls++;
  ck_assert_ptr_eq(self->private_data, &calls);
  ck_assert_int_eq(args->header.api_version, 0);
  ck_assert_uint_eq(args->operand_count, 2);
  ck_assert_uint_eq(args->config.size, 4);
  ck_assert_int_eq(memcmp(args->config.data, "a\"b\1", 4), 0);
  for (int i = 0; i < 2; i++) {
    ck_assert(args->operands[i].has_sharding);
    ck_assert_uint_gt(args->operands[i].sharding.size, 0);
    /* f32, 4 elements */
    ck_assert_int_eq(
        memcmp(args->operands[i].shape.data, (char[]){2 << 3, 11, 3 << 3 | 2, 1, 4}, 5), 0);
  }
  ck_assert(args->result.has_sharding);
  ck_assert_int_eq(args->result.shape.data[1], 13); /* a tuple */
  args->header.data = &answer;
  args->header.cleanup = clean_up;
  if (answer.error) {
    args->header.has_error = true;
    args->header.code = PJRT_Error_Code_ABORTED;
    args->header.message = (JAX_Partitioner_text){answer.error, strlen(answer.error)};
    return;
  }
  operands[0] = operands[1] = answer.operand;
  args->operand_shardings = operands;
  args->result_sharding = answer.result;
  args->program = (JAX_Partitioner_text){answer.program, strlen(answer.program)};
}

static JAX_Partitioner partitioner = {.private_data = &calls, .partition = partition};

static void register_doubled(void) {
  static const char name[] = "test.doubled and more";
  const PJRT_Custom_Partitioner_Extension *extension =
      pjrt_extension(PJRT_Extension_Type_Custom_Partitioner);
  PJRT_Register_Custom_Partitioner_Args args = {
      .struct_size = sizeof args, .name = name, .name_size = 12, .callbacks = &partitioner};
  ck_call(extension->register_partitioner(&args));
}

static PJRT_Error *try_compile(PJRT_Client *client, const char *text, PJRT_LoadedExecutable **out) {
  char options[128];
  size_t size = pjrt_options(options, 1, 2);
  return pjrt_try_compile(client, text, options, size, out);
}

START_TEST(programs) {
  PJRT_Client *client = pjrt_client("cpu*2");
  PJRT_LoadedExecutable *program;
  PJRT_Buffer *in[2][2], *out[2][1];
  register_doubled();
  answer.operand = _i ? TEXT(iota) : TEXT(tiles);
  answer.result = TEXT(both);
  answer.program = part_text;
  ck_call(try_compile(client, call_text, &program));
  ck_assert_int_eq(calls, 1);
  ck_assert_int_eq(cleanups, 1);
  for (size_t d = 0; d < 2; d++) {
    for (int i = 0; i < 2; i++) in[d][i] = pjrt_put_floats(pjrt_memory(client, d), four + 2 * d, 2);
  }
  PJRT_Buffer *const *lists[] = {in[0], in[1]};
  PJRT_Buffer **results[] = {out[0], out[1]};
  PJRT_ExecuteOptions options = {.struct_size = sizeof options};
  ck_call(api->LoadedExecutable_Execute(
      ARGS(LoadedExecutable_Execute, .executable = program, .options = &options,
           .argument_lists = lists, .num_devices = 2, .num_args = 2, .output_lists = results)));
  for (size_t d = 0; d < 2; d++) {
    float got[2];
    pjrt_get(out[d][0], got, sizeof got);
    for (size_t i = 0; i < 2; i++) ck_assert(got[i] == 4 * four[2 * d + i]);
    pjrt_drop(out[d][0]);
    pjrt_drop(in[d][0]);
    pjrt_drop(in[d][1]);
  }
  pjrt_drop_loaded(program);
  pjrt_close(client);
}
END_TEST

START_TEST(refusals) {
  PJRT_Client *client = pjrt_client("cpu*2");
  PJRT_LoadedExecutable *program;
  register_doubled();
  answer.operand = TEXT(tiles);
  answer.result = TEXT(both);
  answer.program = part_text;
  answer.error = "it went wrong";
  ck_refused(try_compile(client, call_text, &program), ABORTED, "it went wrong");
  answer.error = NULL;
  answer.operand = TEXT(named);
  ck_refused(try_compile(client, call_text, &program), INVALID_ARGUMENT,
             "gave an operand no OpSharding of tiles");
  answer.operand = TEXT(broken);
  ck_refused(try_compile(client, call_text, &program), INVALID_ARGUMENT,
             "gave an operand no OpSharding of tiles");
  answer.operand = TEXT(tiles);
  answer.result = TEXT(tiles);
  ck_refused(try_compile(client, call_text, &program), INVALID_ARGUMENT,
             "gave the result no OpSharding of tiles");
  answer.result = TEXT(both);
  answer.program = "no program";
  ck_refused(try_compile(client, call_text, &program), INVALID_ARGUMENT, "the program");
  ck_assert_int_eq(calls, 5);
  ck_assert_int_eq(cleanups, 5);
  answer.program = part_text;
  ck_call(try_compile(client, call_text, &program));
  pjrt_drop_loaded(program);
  pjrt_close(client);
}
END_TEST

/* ---- Looking ---- */

static int looked, freed;
static bool objecting;

static void free_error(JAX_Inspector_Args *args) {
  ck_assert_str_eq(args->error, "do not look");
  freed++;
}

static void look(void *data, JAX_Inspector_Args *args) {
  ck_assert_ptr_eq(data, &looked);
  looked++;
  /* Tiles over two devices. */
  ck_assert_uint_gt(args->sharding_size, 4);
  ck_assert_int_eq(memcmp(args->sharding, tiles, 5), 0);
  if (!objecting) return;
  args->error = "do not look";
  args->free_error = free_error;
}

START_TEST(inspections) {
  PJRT_Client *client = pjrt_client("cpu*2");
  PJRT_LoadedExecutable *program;
  JAX_Inspector inspector = {.call = look, .data = &looked};
  unsigned char bytes[sizeof inspector];
  char config[4 * sizeof inspector + 1], text[1024];
  static const char form[] =
      "HloModule look, num_partitions=2\nENTRY e {\n"
      "  x = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n"
      "  c = f32[4] custom-call(x), custom_call_target=\"InspectSharding\", "
      "custom_call_has_side_effect=true, backend_config=\"%s\"\n"
      "  ROOT y = f32[4] negate(x)\n}\n";
  memcpy(bytes, &inspector, sizeof bytes);
  for (size_t i = 0; i < sizeof bytes; i++) sprintf(config + 4 * i, "\\%03o", bytes[i]);
  snprintf(text, sizeof text, form, config);
  ck_call(try_compile(client, text, &program));
  ck_assert_int_eq(looked, 1);
  pjrt_drop_loaded(program);
  objecting = true;
  ck_refused(try_compile(client, text, &program), INTERNAL,
             "Error calling inspect_sharding: do not look");
  ck_assert_int_eq(looked, 2);
  ck_assert_int_eq(freed, 1);
  snprintf(text, sizeof text, form, "short");
  ck_refused(try_compile(client, text, &program), INVALID_ARGUMENT, "InspectSharding");
  pjrt_close(client);
}
END_TEST

/* ---- Batches ---- */

static const char batch_text[] =
    "HloModule batched, num_partitions=2\n"
    "ENTRY e {\n"
    "  x = f32[4,2] parameter(0), sharding={devices=[2,1]<=[2]}\n"
    "  ROOT y = f32[4] custom-call(x), custom_call_target=\"test.batched\", "
    "api_version=API_VERSION_TYPED_FFI,\n"
    "    sharding={devices=[2]<=[2]}, frontend_attributes={num_batch_dims=\"1\"}\n"
    "}\n";

/* Each problem's number is its first element. */
static XLA_FFI_Error *first_elements(XLA_FFI_CallFrame *frame) {
  if (frame->extension_start) { /* it is asked for its version */
    XLA_FFI_Metadata_Extension *extension = (void *)frame->extension_start;
    extension->metadata->api_version =
        (XLA_FFI_Api_Version){.struct_size = sizeof(XLA_FFI_Api_Version), .minor_version = 3};
    return NULL;
  }
  const XLA_FFI_Buffer *x = frame->args.args[0], *y = frame->rets.args[0];
  ck_assert_int_eq(x->dims[0], 2); /* of 4 */
  ck_assert_int_eq(y->dims[0], 2);
  for (int i = 0; i < 2; i++) ((float *)y->data)[i] = ((const float *)x->data)[2 * i];
  return NULL;
}

START_TEST(batches) {
  static const char name[] = "test.batched and more";
  const void *calls_extension = pjrt_extension(PJRT_Extension_Type_Custom_Call);
  const PJRT_Custom_Partitioner_Extension *extension =
      pjrt_extension(PJRT_Extension_Type_Custom_Partitioner);
  PJRT_Custom_Call_Register_Args handler = {.struct_size = sizeof handler,
                                            .function_name = name,
                                            .function_name_size = 12,
                                            .api_version = 1,
                                            .execute = (PJRT_Handler *)first_elements};
  PJRT_Register_Batch_Partitionable_Args batched = {
      .struct_size = sizeof batched, .name = name, .name_size = 12};
  PJRT_Client *client = pjrt_client("cpu*2");
  PJRT_LoadedExecutable *program;
  PJRT_Buffer *in[2], *out[2];
  int64_t dims[2] = {2, 2};
  ck_call(((const PJRT_Custom_Call_Extension *)calls_extension)->register_call(&handler));
  ck_call(extension->register_batch(&batched));
  ck_call(try_compile(client, batch_text, &program));
  for (size_t d = 0; d < 2; d++) {
    float values[4] = {(float)d, 7, (float)d + 2, 7};
    in[d] = pjrt_put(pjrt_memory(client, d), PJRT_Buffer_Type_F32, values, 2, dims);
  }
  PJRT_Buffer *const *lists[] = {&in[0], &in[1]};
  PJRT_Buffer **results[] = {&out[0], &out[1]};
  PJRT_ExecuteOptions options = {.struct_size = sizeof options};
  ck_call(api->LoadedExecutable_Execute(
      ARGS(LoadedExecutable_Execute, .executable = program, .options = &options,
           .argument_lists = lists, .num_devices = 2, .num_args = 1, .output_lists = results)));
  for (size_t d = 0; d < 2; d++) {
    float got[2];
    pjrt_get(out[d], got, sizeof got);
    for (size_t i = 0; i < 2; i++) ck_assert(got[i] == (float)(d + 2 * i));
    pjrt_drop(out[d]);
    pjrt_drop(in[d]);
  }
  pjrt_drop_loaded(program);
  pjrt_close(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pjrt_partition");
  TCase *tcase = tcase_create("partitioners");
  tcase_set_timeout(tcase, 300);
  tcase_add_loop_test(tcase, programs, 0, 2);
  tcase_add_test(tcase, refusals);
  tcase_add_test(tcase, inspections);
  tcase_add_test(tcase, batches);
  suite_add_tcase(suite, tcase);
  return suite_run(suite);
}
