/* SPDX-License-Identifier: Apache-2.0 */
/* unit/run_test.h: what the tests of compiling and running share. */
#ifndef HALO_TESTS_RUN_TEST_H
#define HALO_TESTS_RUN_TEST_H

#include "halo/client.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ck_ok(call) ck_assert_msg((call) == HALO_OK, "%s", halo_error_message())
#define ck_fails(call, status_, part)                                                              \
  do {                                                                                             \
    halo_status ck_got = (call);                                                                   \
    ck_assert_msg(ck_got == (status_), "%s instead of %s: %s", halo_status_name(ck_got),           \
                  halo_status_name(status_), ck_got ? halo_error_message() : "");                  \
    ck_message_has(part);                                                                          \
  } while (0)

/* Programs that add two arrays of 4, and one of 1024 to itself. */
#define RUN_ADD                                                                                    \
  "HloModule add\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n"               \
  "  ROOT s = f32[4] add(x, y)\n}\n"
#define RUN_TWICE                                                                                  \
  "HloModule twice\nENTRY e {\n  x = f32[1024] parameter(0)\n  ROOT s = f32[1024] add(x, x)\n}\n"

/* Says that the rest of a test asks for what is not here. */
static inline void run_skip(const char *test, const char *why) {
  printf("skipped: %s: %s\n", test, why);
  fflush(stdout);
}

/* A client of the default device, or of `device`; nothing is cached on disk. */
static inline halo_client *run_client(const char *device) {
  halo_client *client;
  halo_client_options options = {.device = device, .cache_dir = ""};
  ck_ok(halo_client_create(&options, &client));
  return client;
}

static inline halo_module *run_parse(const char *text) {
  halo_module *module;
  ck_assert_msg(halo_module_parse(text, strlen(text), "t", &module) == HALO_OK, "%s\n%s",
                halo_error_message(), text);
  return module;
}

static inline halo_status run_try_compile(halo_client *client, const char *text,
                                          const halo_compile_options *options,
                                          halo_executable **out) {
  halo_module *module = run_parse(text);
  halo_status status = halo_client_compile(client, module, options, out);
  halo_module_release(module);
  return status;
}

static inline halo_executable *run_compile(halo_client *client, const char *text) {
  halo_executable *executable;
  ck_assert_msg(run_try_compile(client, text, NULL, &executable) == HALO_OK, "%s\n%s",
                halo_error_message(), text);
  return executable;
}

/* Plan and text for a device that is not there, of these capabilities ("key = value" lines). */
static inline halo_executable *run_compile_for(const char *capabilities, const char *text) {
  char path[] = "/tmp/halo_test_device_XXXXXX", device[64];
  int handle = mkstemp(path);
  ck_assert_int_ge(handle, 0);
  FILE *file = fdopen(handle, "w");
  ck_assert_int_ge(fputs(capabilities, file), 0);
  ck_assert_int_eq(fclose(file), 0);
  snprintf(device, sizeof device, "null:%s", path);
  halo_client *client = run_client(device);
  halo_executable *e = run_compile(client, text);
  halo_client_release(client);
  unlink(path);
  return e;
}

/* How often a word occurs in a text. */
static inline int run_count(const char *text, const char *word) {
  int count = 0;
  for (; (text = strstr(text, word)); text++) count++;
  return count;
}

/* A buffer of f32 values in one dimension. */
static inline halo_buffer *run_buffer(halo_client *client, int64_t count, const float *values) {
  halo_shape *shape;
  halo_buffer *buffer;
  ck_ok(halo_shape_create_array(HALO_F32, 1, &count, &shape));
  ck_ok(halo_buffer_from_host(client, values, shape, &buffer));
  halo_shape_release(shape);
  return buffer;
}

/* What all elements of a buffer of f32 are. */
static inline float run_first(halo_buffer *buffer, int64_t count) {
  float *values = malloc(sizeof *values * (size_t)count);
  ck_ok(halo_buffer_to_host(buffer, values, sizeof *values * (size_t)count));
  float first = values[0];
  for (int64_t i = 1; i < count; i++) ck_assert_float_eq(values[i], first);
  free(values);
  return first;
}

/* A buffer of f32 values that are all the same. */
static inline halo_buffer *run_filled(halo_client *client, int64_t count, float value) {
  float *values = malloc(sizeof *values * (size_t)count);
  for (int64_t i = 0; i < count; i++) values[i] = value;
  halo_buffer *buffer = run_buffer(client, count, values);
  free(values);
  return buffer;
}

static inline halo_memory_stats run_stats(halo_client *client) {
  halo_memory_stats stats;
  halo_device_memory_stats(halo_client_device(client, 0), &stats);
  return stats;
}

/* A literal of the executable's argument `index`'s shape from HLO text. */
static inline halo_literal *run_literal(const halo_shape *shape, const char *text) {
  halo_literal *literal;
  ck_ok(halo_literal_from_text(text, shape, &literal));
  return literal;
}

/* The buffer holds what the text says. */
static inline void run_check(halo_buffer *buffer, const char *expected) {
  halo_literal *literal;
  char *text;
  ck_ok(halo_buffer_to_literal(buffer, &literal));
  ck_ok(halo_literal_to_text(literal, &text));
  ck_assert_str_eq(text, expected);
  halo_text_release(text);
  halo_literal_release(literal);
}

#endif
