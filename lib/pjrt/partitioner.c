/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/partitioner.c: the extension by which callers say how custom calls are partitioned, and calls that only want
 * to know how an array lies. */
#include "halo/partitioner.h"
#include "halo/custom_call.h"
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

/* ---- Shapes and results as messages ---- */

enum { SHAPE_TYPE = 2, SHAPE_DIMENSIONS = 3, SHAPE_TUPLE = 4, SHAPE_LAYOUT = 5, SHAPE_DYNAMIC = 6 };
enum { LAYOUT_MINOR_TO_MAJOR = 1 };
enum { XLA_TUPLE = 13 };

/* XLA's numbers of types. */
static const uint8_t partitioner_types[] = {
    [HALO_PRED] = 1,        [HALO_S8] = 2,          [HALO_S16] = 3,
    [HALO_S32] = 4,         [HALO_S64] = 5,         [HALO_U8] = 6,
    [HALO_U16] = 7,         [HALO_U32] = 8,         [HALO_U64] = 9,
    [HALO_F16] = 10,        [HALO_F32] = 11,        [HALO_F64] = 12,
    [HALO_C64] = 15,        [HALO_BF16] = 16,       [HALO_TOKEN] = 17,
    [HALO_C128] = 18,       [HALO_F8E5M2] = 19,     [HALO_F8E4M3FN] = 20,
    [HALO_S4] = 21,         [HALO_U4] = 22,         [HALO_F8E4M3B11FNUZ] = 23,
    [HALO_F8E5M2FNUZ] = 24, [HALO_F8E4M3FNUZ] = 25, [HALO_S2] = 26,
    [HALO_U2] = 27,         [HALO_F8E4M3] = 28,     [HALO_F8E3M4] = 29,
    [HALO_S1] = 30,         [HALO_U1] = 31,         [HALO_F4E2M1FN] = 32,
    [HALO_F8E8M0FNU] = 33,
};

static void partitioner_write_shape(pjrt_writer *out, const halo_shape *shape) {
  int64_t dims[64], zeros[64] = {0}, order[64];
  int rank = halo_shape_rank(shape) < 64 ? halo_shape_rank(shape) : 64;
  pjrt_writer layout = {0};
  for (int d = 0; d < rank; d++) {
    dims[d] = halo_shape_dim(shape, d);
    order[d] = halo_shape_minor_to_major(shape, d);
  }
  pjrt_write_number(out, SHAPE_TYPE, partitioner_types[halo_shape_type(shape)]);
  pjrt_write_packed(out, SHAPE_DIMENSIONS, dims, (size_t)rank);
  pjrt_write_packed(out, SHAPE_DYNAMIC, zeros, (size_t)rank);
  pjrt_write_packed(&layout, LAYOUT_MINOR_TO_MAJOR, order, (size_t)rank);
  pjrt_write_bytes(out, SHAPE_LAYOUT, layout.data, layout.size);
  pjrt_writer_deinit(&layout);
}

/* What the caller reads, in memory of ours. */
static void partitioner_fill(JAX_Partitioner_array *out, pjrt_writer *shape,
                             pjrt_writer *sharding) {
  *out = (JAX_Partitioner_array){.shape = {(const char *)shape->data, shape->size},
                                 .has_sharding = true,
                                 .sharding = {(const char *)sharding->data, sharding->size}};
  *shape = *sharding = (pjrt_writer){0};
}

static void partitioner_write_array(JAX_Partitioner_array *out, const halo_shape *whole,
                                    const halo_sharding *lies) {
  pjrt_writer shape = {0}, sharding = {0};
  partitioner_write_shape(&shape, whole);
  pjrt_sharding_write(&sharding, lies);
  partitioner_fill(out, &shape, &sharding);
}

static void partitioner_write_result(JAX_Partitioner_array *out, const halo_partition_call *call) {
  pjrt_writer shape = {0}, sharding = {0};
  halo_sharding *parts = pjrt_alloc(sizeof *parts * (size_t)call->result_count + 1);
  if (!call->is_tuple) {
    free(parts);
    partitioner_write_array(out, call->results[0], call->result_shardings[0]);
    return;
  }
  pjrt_write_number(&shape, SHAPE_TYPE, XLA_TUPLE);
  for (int i = 0; i < call->result_count; i++) {
    pjrt_writer part = {0};
    partitioner_write_shape(&part, call->results[i]);
    pjrt_write_bytes(&shape, SHAPE_TUPLE, part.data, part.size);
    pjrt_writer_deinit(&part);
    parts[i] = *call->result_shardings[i];
  }
  halo_sharding all = {
      .kind = HALO_SHARDING_TUPLE, .elements = parts, .element_count = call->result_count};
  pjrt_sharding_write(&sharding, &all);
  free(parts);
  partitioner_fill(out, &shape, &sharding);
}

static void partitioner_free_array(JAX_Partitioner_array *array) {
  free((void *)array->shape.data);
  free((void *)array->sharding.data);
}

/* ---- What a partitioner answered ---- */

typedef struct partitioner_answer {
  halo_sharding **shardings; /* of operands, then that of the result; NULL: not read */
  int count;
} partitioner_answer;

static void partitioner_release(halo_partition_call *call) {
  partitioner_answer *answer = call->data;
  for (int i = 0; i < answer->count; i++) pjrt_sharding_release(answer->shardings[i]);
  free(answer->shardings);
  free(answer);
}

static halo_sharding *partitioner_read_sharding(JAX_Partitioner_text text) {
  const uint8_t *at = (const uint8_t *)text.data;
  return pjrt_sharding_read((pjrt_message){at, at + text.size});
}

static halo_status partitioner_read(halo_partition_call *call,
                                    const JAX_Partitioner_Partition_Args *args) {
  partitioner_answer *answer = pjrt_alloc(sizeof *answer);
  call->data = answer;
  call->release = partitioner_release;
  answer->count = call->operand_count + 1;
  answer->shardings = pjrt_alloc(sizeof *answer->shardings * (size_t)answer->count + 1);
  for (int i = 0; i < call->operand_count; i++) {
    answer->shardings[i] = partitioner_read_sharding(args->operand_shardings[i]);
    call->operand_shardings[i] = answer->shardings[i];
    if (!answer->shardings[i]) {
      return halo_custom_call_fail(HALO_INVALID_ARGUMENT,
                                   "a partitioner gave an operand no OpSharding of tiles");
    }
  }
  halo_sharding *result = partitioner_read_sharding(args->result_sharding);
  answer->shardings[call->operand_count] = result;
  bool fits = result && (!call->is_tuple || result->element_count == call->result_count);
  for (int i = 0; fits && i < call->result_count; i++) {
    call->result_shardings[i] = call->is_tuple ? &result->elements[i] : result;
  }
  if (!fits) {
    return halo_custom_call_fail(HALO_INVALID_ARGUMENT,
                                 "a partitioner gave the result no OpSharding of tiles");
  }
  return pjrt_program_read(args->program.data, args->program.size, &call->program);
}

static halo_status partitioner_fail(const JAX_Partitioner_header *header) {
  char *text = pjrt_copy(header->message.data, header->message.size);
  halo_status status = halo_custom_call_fail(pjrt_status_of(header->code), text);
  free(text);
  return status;
}

/* Letters behind a backslash are those of HLO text: \", \\, \n, and bytes as three octal digits. */
static size_t partitioner_unescape(const char *text, char *out) {
  size_t size = 0;
  for (const char *c = text; *c; c++) {
    if (*c != '\\' || !c[1]) {
      out[size++] = *c;
    } else if (strspn(c + 1, "01234567") >= 3) {
      out[size++] = (char)((c[1] - '0') << 6 | (c[2] - '0') << 3 | (c[3] - '0'));
      c += 3;
    } else {
      out[size++] = *++c == 'n' ? '\n' : *c;
    }
  }
  return size;
}

static halo_status partitioner_run(halo_partition_call *call, void *user) {
  JAX_Partitioner *partitioner = user;
  size_t count = (size_t)call->operand_count;
  JAX_Partitioner_array *arrays = pjrt_alloc(sizeof *arrays * count + 1);
  char *config = pjrt_alloc(strlen(call->config) + 1);
  JAX_Partitioner_Partition_Args args = {.operand_count = count, .operands = arrays};
  args.config = (JAX_Partitioner_text){config, partitioner_unescape(call->config, config)};
  for (size_t i = 0; i < count; i++) {
    partitioner_write_array(&arrays[i], call->operands[i], call->operand_shardings[i]);
  }
  partitioner_write_result(&args.result, call);
  partitioner->partition(partitioner, &args);
  halo_status status =
      args.header.has_error ? partitioner_fail(&args.header) : partitioner_read(call, &args);
  if (args.header.cleanup) args.header.cleanup(args.header.data);
  for (size_t i = 0; i < count; i++) partitioner_free_array(&arrays[i]);
  partitioner_free_array(&args.result);
  free(arrays);
  free(config);
  return status;
}

/* ---- InspectSharding: its configuration is a function and its argument ---- */

static halo_status partitioner_inspect(halo_partition_call *call, void *user) {
  JAX_Inspector inspector;
  char *config = pjrt_alloc(strlen(call->config) + 1);
  size_t size = partitioner_unescape(call->config, config);
  (void)user;
  if (size == sizeof inspector) memcpy(&inspector, config, sizeof inspector);
  free(config);
  if (size != sizeof inspector || call->operand_count != 1) {
    return halo_custom_call_fail(HALO_INVALID_ARGUMENT,
                                 "InspectSharding with another configuration than a function");
  }
  pjrt_writer sharding = {0};
  pjrt_sharding_write(&sharding, call->operand_shardings[0]);
  JAX_Inspector_Args args = {.sharding = (char *)sharding.data, .sharding_size = sharding.size};
  inspector.call(inspector.data, &args);
  pjrt_writer_deinit(&sharding);
  if (!args.error) return HALO_OK;
  static const char before[] = "Error calling inspect_sharding: ";
  char *text = pjrt_alloc(sizeof before + strlen(args.error));
  strcat(strcpy(text, before), args.error);
  halo_status status = halo_custom_call_fail(HALO_INTERNAL, text);
  free(text);
  if (args.free_error) args.free_error(&args);
  return status;
}

/* ---- The extension ---- */

static PJRT_Error *partitioner_register(PJRT_Register_Custom_Partitioner_Args *args) {
  char *name = pjrt_copy(args->name, args->name_size);
  PJRT_Error *error =
      pjrt_error_of(halo_partitioner_register(name, partitioner_run, args->callbacks));
  free(name);
  return error;
}

static PJRT_Error *partitioner_register_batch(PJRT_Register_Batch_Partitionable_Args *args) {
  char *name = pjrt_copy(args->name, args->name_size);
  PJRT_Error *error = pjrt_error_of(halo_partitioner_register_batched(name));
  free(name);
  return error;
}

void pjrt_partitioner_install(void) {
  PJRT_Error *error =
      pjrt_error_of(halo_partitioner_register("InspectSharding", partitioner_inspect, NULL));
  pjrt_Error_Destroy(&(PJRT_Error_Destroy_Args){.error = error});
}

PJRT_Custom_Partitioner_Extension pjrt_partitioner_extension = {
    .base = {.struct_size = sizeof(PJRT_Custom_Partitioner_Extension),
             .type = PJRT_Extension_Type_Custom_Partitioner,
             .next = &pjrt_shardings_extension.base},
    .register_partitioner = partitioner_register,
    .register_batch = partitioner_register_batch};
