/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/caps.c: capabilities from and to text files. */
#include "opencl/caps.h"

#include "base/config.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum caps_form {
  CAPS_TEXT,
  CAPS_KIND,
  CAPS_BOOL,
  CAPS_U32,
  CAPS_U64,
  CAPS_ITEMS
} caps_form;

#define CAPS_FIELD(form, name)                                                                     \
  { #name, form, offsetof(halo_caps, name) }

static const struct caps_field {
  const char *key;
  caps_form form;
  size_t offset;
} caps_fields[] = {
    CAPS_FIELD(CAPS_TEXT, platform),
    CAPS_FIELD(CAPS_TEXT, name),
    CAPS_FIELD(CAPS_TEXT, product),
    CAPS_FIELD(CAPS_TEXT, vendor),
    CAPS_FIELD(CAPS_TEXT, driver),
    CAPS_FIELD(CAPS_TEXT, version),
    CAPS_FIELD(CAPS_TEXT, platform_version),
    CAPS_FIELD(CAPS_KIND, kind),
    CAPS_FIELD(CAPS_BOOL, has_f64),
    CAPS_FIELD(CAPS_BOOL, has_f16),
    CAPS_FIELD(CAPS_BOOL, has_atomics64),
    CAPS_FIELD(CAPS_BOOL, has_atomics64_extended),
    CAPS_FIELD(CAPS_BOOL, correctly_rounded),
    CAPS_FIELD(CAPS_BOOL, denormals_f32),
    CAPS_FIELD(CAPS_BOOL, denormals_f64),
    CAPS_FIELD(CAPS_BOOL, denormals_f16),
    CAPS_FIELD(CAPS_BOOL, fma_f32),
    CAPS_FIELD(CAPS_BOOL, contracts),
    CAPS_FIELD(CAPS_BOOL, converts_f16),
    CAPS_FIELD(CAPS_BOOL, shares_host_memory),
    CAPS_FIELD(CAPS_BOOL, multiplies_bytes),
    CAPS_FIELD(CAPS_BOOL, multiplies_bf16),
    CAPS_FIELD(CAPS_BOOL, adds_barriers),
    CAPS_FIELD(CAPS_BOOL, local_is_real),
    CAPS_FIELD(CAPS_U32, compute_units),
    CAPS_FIELD(CAPS_U32, clock_mhz),
    CAPS_FIELD(CAPS_U32, simd_width),
    CAPS_FIELD(CAPS_U32, vector_width_float),
    CAPS_FIELD(CAPS_U32, address_bits),
    CAPS_FIELD(CAPS_U32, base_alignment),
    CAPS_FIELD(CAPS_U32, cache_line),
    CAPS_FIELD(CAPS_U64, max_work_group),
    CAPS_FIELD(CAPS_ITEMS, max_items),
    CAPS_FIELD(CAPS_ITEMS, max_groups),
    CAPS_FIELD(CAPS_U64, max_launch),
    CAPS_FIELD(CAPS_U64, local_memory),
    CAPS_FIELD(CAPS_U64, global_memory),
    CAPS_FIELD(CAPS_U64, max_allocation),
    CAPS_FIELD(CAPS_U64, global_cache),
    CAPS_FIELD(CAPS_U64, max_constant),
    CAPS_FIELD(CAPS_U64, max_parameters),
    CAPS_FIELD(CAPS_U64, watchdog_ms),
    CAPS_FIELD(CAPS_U64, max_rounds),
};
enum {
  CAPS_FIELD_COUNT = sizeof caps_fields / sizeof caps_fields[0],
  CAPS_TEXT_SIZE = sizeof(((halo_caps *)0)->name),
  CAPS_FILE_MAX = 1 << 16
};

static const char *const caps_kinds[] = {
    [HALO_CAPS_CPU] = "cpu", [HALO_CAPS_GPU] = "gpu", [HALO_CAPS_ACCELERATOR] = "accelerator"};

bool halo_caps_flushes(const halo_caps *caps) {
  return !caps->denormals_f32 && !(caps->has_f64 && caps->denormals_f64);
}

const char *halo_caps_kind_name(const halo_caps *caps) {
  return caps->is_null ? "null" : caps_kinds[caps->kind];
}

enum { CAPS_ITEMS_PART = 64 };

uint64_t halo_caps_items_bytes(const halo_caps *caps) {
  return caps->global_memory / CAPS_ITEMS_PART;
}

int64_t halo_caps_private_bytes(const halo_caps *caps) {
  enum { LEAST = 2 << 10, UNIT = 2048, INTEL_UNIT = 128 };
  /* Intel counts execution units of 8 threads, others multiprocessors. */
  uint64_t unit = strstr(caps->vendor, "Intel") ? INTEL_UNIT : UNIT;
  uint64_t units = caps->compute_units ? caps->compute_units : 1;
  uint64_t bytes = halo_caps_items_bytes(caps) / (units * unit);
  return bytes < LEAST ? LEAST : (int64_t)bytes;
}

uint64_t halo_caps_most_groups(const halo_caps *caps, uint32_t d, size_t local) {
  uint64_t groups = caps->max_groups[d], all = caps->max_launch / local;
  if (!caps->max_launch || (groups && groups <= all)) return groups;
  return all ? all : 1;
}

halo_status halo_caps_launch_time(const halo_caps *caps, uint64_t *micros) {
  return halo_config_number(HALO_CONFIG_LAUNCH_TIME, caps->is_gpu ? 100000 : 0, micros);
}

static const halo_caps caps_plain = {
    .platform = "null",
    .name = "null",
    .vendor = "none",
    .driver = "none",
    .version = "OpenCL 1.2",
    .platform_version = "OpenCL 1.2",
    .kind = HALO_CAPS_GPU,
    .local_is_real = true,
    .converts_f16 = true,
    .compute_units = 8,
    .clock_mhz = 1000,
    .simd_width = 32,
    .vector_width_float = 1,
    .address_bits = 64,
    .base_alignment = 128,
    .cache_line = 64,
    .max_work_group = 256,
    .max_items = {256, 256, 64},
    .local_memory = 32 << 10,
    .global_memory = 1ull << 30,
    .max_allocation = 1ull << 28,
    .max_constant = 64 << 10,
    .max_parameters = 1024,
};

/* A whole number with an optional suffix, at most `max`; moves *text past it. */
static bool caps_number(const char **text, uint64_t max, uint64_t *out) {
  if (!isdigit((unsigned char)**text)) return false;
  char *end;
  errno = 0;
  uint64_t value = strtoull(*text, &end, 10);
  if (errno) return false;
  int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  if ((value << shift) >> shift != value || value << shift > max) return false;
  *text = end + (shift != 0);
  *out = value << shift;
  return true;
}

static bool caps_set_items(const char *text, uint64_t *items) {
  for (int i = 0; i < 3; i++) {
    if (!caps_number(&text, UINT64_MAX, &items[i])) return false;
    while (*text == ' ' || *text == '\t') text++;
  }
  return *text == '\0';
}

/* NULL, or what was expected instead of `value`. */
static const char *caps_set(halo_caps *caps, const struct caps_field *field, const char *value) {
  char *at = (char *)caps + field->offset;
  const char *text = value;
  uint64_t number = 0;
  switch (field->form) {
    case CAPS_TEXT: snprintf(at, CAPS_TEXT_SIZE, "%s", value); return NULL;
    case CAPS_KIND:
      for (size_t i = 0; i < sizeof caps_kinds / sizeof caps_kinds[0]; i++) {
        if (strcmp(value, caps_kinds[i]) == 0) {
          caps->kind = (halo_caps_kind)i;
          return NULL;
        }
      }
      return "cpu, gpu or accelerator";
    case CAPS_BOOL:
      if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0) return "true or false";
      *(bool *)(void *)at = value[0] == 't';
      return NULL;
    case CAPS_U32:
      if (!caps_number(&text, UINT32_MAX, &number) || *text) return "a whole number";
      *(uint32_t *)(void *)at = (uint32_t)number;
      return NULL;
    case CAPS_U64:
      if (!caps_number(&text, UINT64_MAX, &number) || *text) return "a whole number";
      *(uint64_t *)(void *)at = number;
      return NULL;
    case CAPS_ITEMS:
      return caps_set_items(value, (uint64_t *)(void *)at) ? NULL : "three whole numbers";
  }
  return "nothing";
}

/* NULL, or what is wrong with the whole. */
static const char *caps_fault(const halo_caps *c) {
  if (c->address_bits != 32 && c->address_bits != 64) return "address_bits must be 32 or 64";
  if (c->base_alignment == 0 || (c->base_alignment & (c->base_alignment - 1))) {
    return "base_alignment must be a power of two";
  }
  if (c->compute_units == 0) return "compute_units must be at least 1";
  if (c->simd_width == 0) return "simd_width must be at least 1";
  if (c->vector_width_float == 0) return "vector_width_float must be at least 1";
  if (c->max_work_group == 0) return "max_work_group must be at least 1";
  for (int i = 0; i < 3; i++) {
    if (c->max_items[i] == 0) return "max_items must each be at least 1";
  }
  if (c->global_memory == 0) return "global_memory must be at least 1";
  if (c->max_allocation == 0 || c->max_allocation > c->global_memory) {
    return "max_allocation must be between 1 and global_memory";
  }
  return NULL;
}

static char *caps_trim(char *text) {
  while (isspace((unsigned char)*text)) text++;
  size_t length = strlen(text);
  while (length && isspace((unsigned char)text[length - 1])) text[--length] = '\0';
  return text;
}

static halo_status caps_line(const char *path, int number, char *line, bool *seen,
                             halo_caps *caps) {
  line = caps_trim(line);
  if (!*line || *line == '#') return HALO_OK;
  char *equals = strchr(line, '=');
  if (!equals) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s:%d: expected key = value, found \"%.40s\"", path,
                     number, line);
  }
  *equals = '\0';
  const char *key = caps_trim(line), *value = caps_trim(equals + 1);
  for (int i = 0; i < CAPS_FIELD_COUNT; i++) {
    if (strcmp(key, caps_fields[i].key) != 0) continue;
    if (seen[i]) {
      return halo_fail(HALO_INVALID_ARGUMENT, "%s:%d: %s is given twice", path, number, key);
    }
    seen[i] = true;
    const char *expected = caps_set(caps, &caps_fields[i], value);
    if (!expected) return HALO_OK;
    return halo_fail(HALO_INVALID_ARGUMENT, "%s:%d: %s: expected %s, found \"%.40s\"", path, number,
                     key, expected, value);
  }
  return halo_fail(HALO_INVALID_ARGUMENT, "%s:%d: unknown key \"%.40s\"", path, number, key);
}

/* The whole file, NUL-terminated; free with halo_free. */
static halo_status caps_load(const char *path, char **out) {
  FILE *file;
  HALO_TRY(halo_file_open(path, &file));
  char *text = halo_alloc(CAPS_FILE_MAX + 1);
  size_t length = fread(text, 1, CAPS_FILE_MAX, file);
  bool failed = ferror(file) != 0, more = fgetc(file) != EOF;
  int code = errno;
  fclose(file);
  halo_status status = HALO_OK;
  if (failed) {
    status = halo_fail(HALO_IO_ERROR, "%s: %s", path, strerror(code));
  } else if (more || strlen(text) != length) {
    status = halo_fail(HALO_INVALID_ARGUMENT, "%s: not a file of device capabilities", path);
  }
  if (status != HALO_OK) {
    halo_free(text);
    return status;
  }
  *out = text;
  return HALO_OK;
}

halo_status halo_caps_read(const char *path, halo_caps *out) {
  char *text = NULL;
  bool seen[CAPS_FIELD_COUNT] = {0};
  halo_caps caps = caps_plain;
  if (!*path) return halo_fail(HALO_INVALID_ARGUMENT, "null:FILE needs a file of capabilities");
  HALO_TRY(caps_load(path, &text));
  halo_status status = HALO_OK;
  int number = 0;
  for (char *line = text, *next; line && status == HALO_OK; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    status = caps_line(path, ++number, line, seen, &caps);
  }
  halo_free(text);
  HALO_TRY(status);
  const char *fault = caps_fault(&caps);
  if (fault) return halo_fail(HALO_INVALID_ARGUMENT, "%s:%d: %s", path, number, fault);
  if (!*caps.product) memcpy(caps.product, caps.name, sizeof caps.product);
  caps.is_null = true;
  caps.is_cpu = caps.kind == HALO_CAPS_CPU;
  caps.is_gpu = caps.kind == HALO_CAPS_GPU;
  *out = caps;
  return HALO_OK;
}

char *halo_caps_text(const halo_caps *caps) {
  halo_strbuf text = {0};
  for (int i = 0; i < CAPS_FIELD_COUNT; i++) {
    const struct caps_field *field = &caps_fields[i];
    const char *at = (const char *)caps + field->offset;
    halo_strbuf_printf(&text, "%s = ", field->key);
    switch (field->form) {
      case CAPS_TEXT: halo_strbuf_append(&text, at); break;
      case CAPS_KIND: halo_strbuf_append(&text, caps_kinds[caps->kind]); break;
      case CAPS_BOOL:
        halo_strbuf_append(&text, *(const bool *)(const void *)at ? "true" : "false");
        break;
      case CAPS_U32:
        halo_strbuf_printf(&text, "%" PRIu32, *(const uint32_t *)(const void *)at);
        break;
      case CAPS_U64:
        halo_strbuf_printf(&text, "%" PRIu64, *(const uint64_t *)(const void *)at);
        break;
      case CAPS_ITEMS: {
        const uint64_t *items = (const uint64_t *)(const void *)at;
        halo_strbuf_printf(&text, "%" PRIu64 " %" PRIu64 " %" PRIu64, items[0], items[1], items[2]);
        break;
      }
    }
    halo_strbuf_char(&text, '\n');
  }
  return halo_strbuf_take(&text);
}
