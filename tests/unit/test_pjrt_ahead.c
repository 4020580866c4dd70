/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are compiled ahead of running: for topologies, and in layouts that the compiler chooses. */
#include "pjrt_test.h"

#include <stdio.h>

/* ---- Topologies ---- */

static PJRT_Error *try_topology(const char *devices, PJRT_TopologyDescription **out) {
  const PJRT_NamedValue options[] = {pjrt_text("cache_dir", "")};
  PJRT_TopologyDescription_Create_Args *args =
      ARGS(TopologyDescription_Create, .topology_name = devices,
           .topology_name_size = strlen(devices), .create_options = options, .num_options = 1);
  PJRT_Error *error = api->TopologyDescription_Create(args);
  *out = args->topology;
  return error;
}

static void drop_topology(PJRT_TopologyDescription *topology) {
  ck_call(
      api->TopologyDescription_Destroy(ARGS(TopologyDescription_Destroy, .topology = topology)));
}

static PJRT_Executable *compile_for(const PJRT_TopologyDescription *topology, const char *text) {
  char options[256];
  PJRT_Program program = {.struct_size = sizeof program,
                          .code = (char *)text,
                          .code_size = strlen(text),
                          .format = "hlo_text",
                          .format_size = 8};
  PJRT_Compile_Args *args =
      ARGS(Compile, .topology = topology, .program = &program, .compile_options = options,
           .compile_options_size = pjrt_options(options, 1, 1));
  ck_call(api->Compile(args));
  return args->executable;
}

/* What was compiled for a topology outlives it, and runs where it is loaded. */
START_TEST(topology) {
  PJRT_TopologyDescription *there;
  PJRT_Client *client = pjrt_client("cpu*2");
  ck_call(try_topology("cpu*2", &there));
  PJRT_TopologyDescription_GetDeviceDescriptions_Args *list =
      ARGS(TopologyDescription_GetDeviceDescriptions, .topology = there);
  ck_call(api->TopologyDescription_GetDeviceDescriptions(list));
  ck_assert_uint_eq(list->num_descriptions, 2);
  PJRT_Executable *e = compile_for(there, add_text);
  drop_topology(there);
  PJRT_Executable_Serialize_Args *out = ARGS(Executable_Serialize, .executable = e);
  ck_call(api->Executable_Serialize(out));
  pjrt_drop_executable(e);
  PJRT_Executable_DeserializeAndLoad_Args *in =
      ARGS(Executable_DeserializeAndLoad, .client = client,
           .serialized_executable = out->serialized_bytes,
           .serialized_executable_size = out->serialized_bytes_size);
  ck_call(api->Executable_DeserializeAndLoad(in));
  out->serialized_executable_deleter(out->serialized_executable);
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *both[] = {x, x};
  PJRT_Buffer *result = pjrt_run(in->loaded_executable, both, 2);
  float values[4];
  pjrt_get(result, values, sizeof values);
  ck_assert_float_eq(values[3], 8);
  pjrt_drop(x);
  pjrt_drop(result);
  pjrt_drop_loaded(in->loaded_executable);
  pjrt_close(client);
}
END_TEST

START_TEST(topology_of_nothing) {
  PJRT_TopologyDescription *none;
  pjrt_open();
  PJRT_Error *error = try_topology("no such device", &none);
  ck_assert_ptr_nonnull(error);
  ck_assert_ptr_nonnull(strstr(pjrt_message(error), "no such device"));
  pjrt_destroy_error(error);
}
END_TEST

START_TEST(topology_as_bytes) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_Client_TopologyDescription_Args *own = ARGS(Client_TopologyDescription, .client = client);
  ck_call(api->Client_TopologyDescription(own));
  PJRT_TopologyDescription_Serialize_Args *out =
      ARGS(TopologyDescription_Serialize, .topology = own->topology);
  ck_call(api->TopologyDescription_Serialize(out));
  PJRT_TopologyDescription_Deserialize_Args *in =
      ARGS(TopologyDescription_Deserialize, .serialized_topology = out->serialized_bytes,
           .serialized_topology_size = out->serialized_bytes_size);
  ck_call(api->TopologyDescription_Deserialize(in));
  PJRT_TopologyDescription_Fingerprint_Args *a =
      ARGS(TopologyDescription_Fingerprint, .topology = own->topology);
  PJRT_TopologyDescription_Fingerprint_Args *b =
      ARGS(TopologyDescription_Fingerprint, .topology = in->topology);
  ck_call(api->TopologyDescription_Fingerprint(a));
  ck_call(api->TopologyDescription_Fingerprint(b));
  ck_assert(a->fingerprint == b->fingerprint);
  drop_topology(in->topology);
  in->serialized_topology_size--;
  ck_refused(api->TopologyDescription_Deserialize(in), INVALID_ARGUMENT, "not a serialised");
  out->serialized_topology_deleter(out->serialized_topology);
  /* Field 9, an Any, of which field 2 is the text. */
  in->serialized_topology = "\x4a\x2d\x12\x2bhalo topology 0000000000000001 of 1 devices";
  in->serialized_topology_size = strlen(in->serialized_topology);
  ck_refused(api->TopologyDescription_Deserialize(in), FAILED_PRECONDITION, "other devices");
  in->serialized_topology_size = 3;
  ck_refused(api->TopologyDescription_Deserialize(in), INVALID_ARGUMENT, "not a serialised");
  pjrt_close(client);
}
END_TEST

/* ---- Layouts that nobody asked for ---- */

/* The layout of the result of a program with the argument %a of 2x3. */
static void check_layout(PJRT_Client *client, const char *attributes, const char *body,
                         const char *expected) {
  char text[1024];
  snprintf(text, sizeof text,
           "module @m {\n  func.func public @main(%%a: tensor<2x3xf32>%s) -> (tensor<3x2xf32> "
           "{mhlo.layout_mode = \"auto\"}) {\n%s    return %%r : tensor<3x2xf32>\n  }\n}\n",
           attributes, body);
  PJRT_LoadedExecutable *loaded = pjrt_compile(client, text);
  PJRT_Executable *e = pjrt_executable(loaded);
  const PJRT_Layouts_Extension *layouts = pjrt_extension(PJRT_Extension_Type_Layouts);
  PJRT_Layouts_Executable_Args list = {.struct_size = sizeof list, .executable = e};
  ck_call(layouts->output_layouts(&list));
  PJRT_Layouts_MemoryLayout_Serialize_Args got = {.struct_size = sizeof got,
                                                  .layout = list.layouts[0]};
  ck_call(layouts->layout_serialize(&got));
  ck_assert_uint_eq(got.serialized_bytes_size, strlen(expected));
  ck_assert_mem_eq(got.serialized_bytes, expected, strlen(expected));
  got.serialized_layout_deleter(got.serialized_layout);
  const float in[6] = {1, 2, 3, 4, 5, 6};
  const int64_t dims[] = {2, 3};
  PJRT_Buffer *x = pjrt_put(pjrt_memory(client, 0), PJRT_Buffer_Type_F32, in, 2, dims);
  if (!*attributes) {
    /* Row by row, whatever the layout. */
    PJRT_Buffer *result = pjrt_run(loaded, &x, 1);
    const int64_t order[] = {1, 0};
    PJRT_Buffer_MemoryLayout rows = {
        .struct_size = sizeof rows,
        .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
        .tiled = {
            .struct_size = sizeof rows.tiled, .minor_to_major = order, .minor_to_major_size = 2}};
    float out[6];
    PJRT_Buffer_ToHostBuffer_Args *args = ARGS(Buffer_ToHostBuffer, .src = result, .dst = out,
                                               .dst_size = sizeof out, .host_layout = &rows);
    ck_call(api->Buffer_ToHostBuffer(args));
    ck_call(pjrt_await(args->event));
    ck_assert_float_eq(out[1], -4);
    ck_assert_float_eq(out[4], -3);
    pjrt_drop(result);
  }
  pjrt_drop(x);
  pjrt_drop_executable(e);
  pjrt_drop_loaded(loaded);
}

START_TEST(automatic_layouts) {
  static const char turned[] =
      "    %n = stablehlo.negate %a : tensor<2x3xf32>\n"
      "    %r = stablehlo.transpose %n, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n";
  static const char after[] =
      "    %n = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
      "    %r = stablehlo.negate %n : tensor<3x2xf32>\n";
  static const char held[] =
      "    %n = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
      "    %m = stablehlo.negate %n : tensor<3x2xf32>\n"
      "    %r = stablehlo.custom_call @LayoutConstraint(%m) {backend_config = \"\", "
      "operand_layouts = [dense<[1, 0]> : tensor<2xindex>], "
      "result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<3x2xf32>) -> "
      "tensor<3x2xf32>\n";
  PJRT_Client *client = pjrt_client(NULL);
  check_layout(client, "", turned, "{0,1}");
  check_layout(client, "", after, "{0,1}");
  check_layout(client, "", held, "{1,0}");
  check_layout(client, " {mhlo.layout_mode = \"{0,1}\"}", after, "{1,0}");
  pjrt_close(client);
}
END_TEST

/* A layout may say how many bits an element takes, if it is right. */
START_TEST(element_sizes) {
  static const char text[] =
      "module @m {\n  func.func public @main(%%a: tensor<2x3xi4> {mhlo.layout_mode = "
      "\"{0,1:E(%d)}\"}) -> tensor<2x3xi4> {\n    return %%a : tensor<2x3xi4>\n  }\n}\n";
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *loaded;
  char program[512], options[256];
  snprintf(program, sizeof program, text, 4);
  pjrt_drop_loaded(pjrt_compile(client, program));
  snprintf(program, sizeof program, text, 8);
  ck_refused(pjrt_try_compile(client, program, options, pjrt_options(options, 1, 1), &loaded),
             INVALID_ARGUMENT, "{0,1:E(8)}");
  pjrt_close(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pjrt_ahead");
  TCase *ahead = tcase_create("ahead");
  tcase_set_timeout(ahead, 120);
  tcase_add_test(ahead, topology);
  tcase_add_test(ahead, topology_of_nothing);
  tcase_add_test(ahead, topology_as_bytes);
  tcase_add_test(ahead, automatic_layouts);
  tcase_add_test(ahead, element_sizes);
  suite_add_tcase(suite, ahead);
  return suite_run(suite);
}
