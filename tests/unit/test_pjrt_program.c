/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_pjrt_program.c: the formats in which callers give programs and get them back, and the layouts of
 * what they take and give. */
#include "pjrt_test.h"

static const char turned_text[] =
    "HloModule turned\nENTRY e {\n  x = f32[2,3]{0,1} parameter(0)\n"
    "  ROOT r = f32[2,3]{0,1} negate(x)\n}\n";

/* ---- Messages, of which lengths fit into one byte or two ---- */

typedef struct bytes {
  char data[2048];
  size_t size;
} bytes;

static size_t varint_at(const char *data, size_t *at) {
  size_t value = 0;
  for (int shift = 0;; shift += 7) {
    unsigned char byte = (unsigned char)data[(*at)++];
    value |= (size_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

/* The first field of this number, which is of bytes. */
static bytes field_of(bytes message, size_t number) {
  bytes out = {.size = 0};
  for (size_t at = 0; at < message.size;) {
    size_t key = varint_at(message.data, &at), value = varint_at(message.data, &at);
    if ((key & 7) != 2) continue; /* a number: `value` */
    if (key >> 3 == number) {
      memcpy(out.data, message.data + at, out.size = value);
      return out;
    }
    at += value;
  }
  ck_abort_msg("no field %zu", number);
  return out;
}

static void add_field(bytes *to, size_t number, bytes value) {
  ck_assert_uint_lt(value.size, 1 << 14);
  ck_assert_uint_lt(to->size + value.size + 3, sizeof to->data);
  to->data[to->size++] = (char)(number << 3 | 2);
  to->data[to->size++] = (char)((value.size & 0x7f) | 0x80);
  to->data[to->size++] = (char)(value.size >> 7);
  memcpy(to->data + to->size, value.data, value.size);
  to->size += value.size;
}

/* ---- Programs ---- */

static bytes program_of(PJRT_LoadedExecutable *loaded, const char *format) {
  bytes out;
  PJRT_Executable *e = pjrt_executable(loaded);
  PJRT_Program program = {.struct_size = sizeof program};
  PJRT_Executable_OptimizedProgram_Args *args =
      ARGS(Executable_OptimizedProgram, .executable = e, .program = &program);
  ck_call(api->Executable_OptimizedProgram(args));
  ck_assert_uint_eq(program.format_size, strlen(format));
  ck_assert_mem_eq(program.format, format, strlen(format));
  ck_assert_uint_le(program.code_size, sizeof out.data);
  program.code = out.data;
  ck_call(api->Executable_OptimizedProgram(args));
  out.size = program.code_size;
  pjrt_drop_executable(e);
  return out;
}

static PJRT_Error *compile_as(PJRT_Client *client, const char *format, bytes code, bytes options,
                              PJRT_LoadedExecutable **out) {
  PJRT_Program program = {.struct_size = sizeof program,
                          .code = code.data,
                          .code_size = code.size,
                          .format = format,
                          .format_size = strlen(format)};
  PJRT_Client_Compile_Args *args =
      ARGS(Client_Compile, .client = client, .program = &program, .compile_options = options.data,
           .compile_options_size = options.size);
  PJRT_Error *error = api->Client_Compile(args);
  *out = args->executable;
  return error;
}

static void check_layout(PJRT_Layouts_MemoryLayout *layout, const char *expected) {
  const PJRT_Layouts_Extension *layouts = pjrt_extension(PJRT_Extension_Type_Layouts);
  PJRT_Layouts_MemoryLayout_Serialize_Args text = {.struct_size = sizeof text, .layout = layout};
  ck_call(layouts->layout_serialize(&text));
  ck_assert_uint_eq(text.serialized_bytes_size, strlen(expected));
  ck_assert_mem_eq(text.serialized_bytes, expected, strlen(expected));
  text.serialized_layout_deleter(text.serialized_layout);
}

/* Compiles, and looks at the layouts of the argument and the result, and at the numbers. */
static void check_compiled(PJRT_Client *client, const char *format, bytes code, bytes options,
                           const char *argument, const char *result) {
  const PJRT_Layouts_Extension *layouts = pjrt_extension(PJRT_Extension_Type_Layouts);
  PJRT_LoadedExecutable *loaded;
  ck_call(compile_as(client, format, code, options, &loaded));
  PJRT_Executable *e = pjrt_executable(loaded);
  PJRT_Layouts_Executable_Args list = {.struct_size = sizeof list, .executable = e};
  ck_call(layouts->parameter_layouts(&list));
  ck_assert_uint_eq(list.count, 1);
  check_layout(list.layouts[0], argument);
  ck_call(layouts->output_layouts(&list));
  check_layout(list.layouts[0], result);
  pjrt_drop_executable(e);
  if (strcmp(argument, "{1,0}") == 0) {
    static const float values[6] = {1, 2, 3, 4, 5, 6};
    float out[6];
    PJRT_Buffer *x =
        pjrt_put(pjrt_memory(client, 0), PJRT_Buffer_Type_F32, values, 2, (const int64_t[]){2, 3});
    PJRT_Buffer *y = pjrt_run(loaded, &x, 1);
    int64_t rows[] = {1, 0};
    PJRT_Buffer_MemoryLayout layout = {.struct_size = sizeof layout,
                                       .tiled = {.minor_to_major = rows, .minor_to_major_size = 2}};
    PJRT_Buffer_ToHostBuffer_Args *get = ARGS(Buffer_ToHostBuffer, .src = y, .host_layout = &layout,
                                              .dst = out, .dst_size = sizeof out);
    ck_call(api->Buffer_ToHostBuffer(get));
    ck_call(pjrt_await(get->event));
    for (int i = 0; i < 6; i++) ck_assert_float_eq(out[i], -values[i]);
    pjrt_drop(x);
    pjrt_drop(y);
  }
  pjrt_drop_loaded(loaded);
}

/* What is told can be compiled, and has the layouts that were told. As a module alone it has the options' layouts, or
 * ordinary ones: its own are not looked at. */
START_TEST(layouts_of_modules) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *loaded = pjrt_compile(client, turned_text);
  bytes configured = program_of(loaded, "hlo_with_config"), none = {.size = 0};
  bytes module = field_of(configured, 1), entry = field_of(field_of(configured, 2), 1);
  check_compiled(client, "hlo_with_config", configured, none, "{0,1}", "{0,1}");
  check_compiled(client, "hlo", module, none, "{1,0}", "{1,0}");
  bytes build = {.size = 0}, result = {.size = 0}, both = {.size = 0};
  add_field(&build, 2, field_of(entry, 2)); /* ExecutableBuildOptions.result_layout */
  add_field(&result, 3, build);             /* CompileOptions.executable_build_options */
  check_compiled(client, "hlo", module, result, "{1,0}", "{0,1}");
  add_field(&both, 1, field_of(entry, 1)); /* CompileOptions.argument_layouts */
  add_field(&both, 3, build);
  check_compiled(client, "hlo", module, both, "{0,1}", "{0,1}");
  pjrt_drop_loaded(loaded);
  pjrt_close(client);
}
END_TEST

static bytes bytes_of(const char *text) {
  bytes out = {.size = strlen(text)};
  ck_assert_uint_le(out.size, sizeof out.data);
  memcpy(out.data, text, out.size);
  return out;
}

START_TEST(formats) {
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *loaded = pjrt_compile(client, turned_text);
  bytes module = field_of(program_of(loaded, "hlo_with_config"), 1), none = {.size = 0};
  bytes options = {.size = 0};
  pjrt_drop_loaded(loaded);
  /* StableHLO comes back as it came. */
  bytes mlir = bytes_of(
      "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
      "  return %a : tensor<2xf32>\n}\n");
  ck_call(compile_as(client, "mlir", mlir, none, &loaded));
  bytes back = program_of(loaded, "mlir");
  ck_assert_uint_eq(back.size, mlir.size);
  ck_assert_mem_eq(back.data, mlir.data, mlir.size);
  pjrt_drop_loaded(loaded);
  /* A module in bytes comes back as the same module. */
  ck_call(compile_as(client, "hlo", module, none, &loaded));
  (void)field_of(field_of(field_of(program_of(loaded, "hlo_with_config"), 2), 1), 1);
  pjrt_drop_loaded(loaded);
  /* What is cut short is no message; and StableHLO has layouts of its own. */
  bytes cut = module;
  cut.size--;
  ck_refused(compile_as(client, "hlo", cut, none, &loaded), INVALID_ARGUMENT, "format hlo");
  ck_refused(compile_as(client, "hlo_with_config", module, none, &loaded), INVALID_ARGUMENT,
             "format hlo_with_config");
  add_field(&options, 1, field_of(field_of(module, 4), 1));
  ck_refused(compile_as(client, "mlir", mlir, options, &loaded), UNIMPLEMENTED, "row-major");
  pjrt_close(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pjrt_program");
  TCase *tests = tcase_create("programs");
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, layouts_of_modules);
  tcase_add_test(tests, formats);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
