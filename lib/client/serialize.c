/* SPDX-License-Identifier: Apache-2.0 */
/* client/serialize.c: executables as bytes, and from bytes; fingerprints.
 *
 *   halo executable 2 CHECK       a hash of all that follows this line
 *   version 0.1.0                 of the library
 *   device HASH                   of its capabilities and driver
 *   origin HASH                   of the module that several processes compiled, or zero
 *   replicas 1
 *   partitions 1
 *   kernels LENGTH                bytes that follow, and a newline; -1: none given
 *   module LENGTH                 HLO text, as far as it goes
 */
#include "base/map.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "client/executable.h"
#include "passes/passes.h"
#include "plan/lower.h"
#include "text/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERIALIZE_FORMAT = 2, SERIALIZE_HASH = 33 };

static const char serialize_magic[] = "halo executable ";

/* ---- Hashes ---- */

static void serialize_hash_text(const uint64_t key[2], char out[SERIALIZE_HASH]) {
  snprintf(out, SERIALIZE_HASH, "%016" PRIx64 "%016" PRIx64, key[0], key[1]);
}

/* Of what makes two devices one kind. */
static void serialize_hash_device(const halo_cl_device *device, char out[SERIALIZE_HASH]) {
  uint64_t key[2] = {0};
  char *text = halo_caps_text(&device->caps);
  halo_hash_wide(key, text, strlen(text));
  halo_free(text);
  serialize_hash_text(key, out);
}

const char *halo_executable_fingerprint(halo_executable *e) {
  if (!e) return NULL;
  pthread_mutex_lock(&e->lock);
  uint64_t key[2] = {0};
  if (!e->fingerprint && halo_module_hash(e->module, key) == HALO_OK) {
    char device[SERIALIZE_HASH], counts[64];
    serialize_hash_device(halo_executable_home(e)->cl, device);
    snprintf(counts, sizeof counts, "%d %d", e->replica_count, e->partition_count);
    const char *const parts[] = {e->kernels ? e->kernels : "", device, counts, HALO_VERSION_TEXT};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
      halo_hash_wide(key, parts[i], strlen(parts[i]));
    }
    e->fingerprint = halo_alloc(SERIALIZE_HASH);
    serialize_hash_text(key, e->fingerprint);
  }
  pthread_mutex_unlock(&e->lock);
  return e->fingerprint;
}

/* ---- Writing ---- */

halo_status halo_executable_serialize(halo_executable *e, char **data, size_t *size) {
  if (!e || !data || !size) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_executable_serialize: NULL argument");
  }
  *data = NULL;
  *size = 0;
  for (int i = 1; i < e->placement_count; i++) {
    if (halo_program_plan(e->placements[i].program) == halo_executable_plan(e)) continue;
    return halo_fail(HALO_UNIMPLEMENTED,
                     "%s was compiled for devices of several kinds, which cannot be serialised",
                     halo_executable_plan(e)->name);
  }
  char *module, device[SERIALIZE_HASH], origin[SERIALIZE_HASH], check[SERIALIZE_HASH];
  HALO_TRY(halo_module_to_text(e->module, 0, &module));
  serialize_hash_device(halo_executable_home(e)->cl, device);
  serialize_hash_text(e->key, origin);
  halo_strbuf body = {0}, whole = {0};
  halo_strbuf_printf(&body, "version %s\ndevice %s\norigin %s\nreplicas %d\npartitions %d\n",
                     HALO_VERSION_TEXT, device, origin, e->replica_count, e->partition_count);
  halo_strbuf_printf(&body, "kernels %lld\n%s\n", e->kernels ? (long long)strlen(e->kernels) : -1ll,
                     e->kernels ? e->kernels : "");
  halo_strbuf_printf(&body, "module %zu\n", strlen(module));
  halo_strbuf_append(&body, module);
  halo_text_release(module);
  uint64_t key[2] = {0};
  halo_hash_wide(key, body.data, body.length);
  serialize_hash_text(key, check);
  halo_strbuf_printf(&whole, "%s%d %s\n", serialize_magic, SERIALIZE_FORMAT, check);
  halo_strbuf_append_n(&whole, body.data, body.length);
  halo_strbuf_deinit(&body);
  *size = whole.length;
  *data = halo_strbuf_take(&whole);
  return HALO_OK;
}

/* ---- Reading ---- */

/* What is left to read, and what was read. */
typedef struct serialize_reader {
  const char *at, *end;
  char word[64]; /* of the line taken last */
} serialize_reader;

static halo_status serialize_damaged(const char *where) {
  return halo_fail(HALO_INVALID_ARGUMENT, "a serialised executable is damaged: %s", where);
}

/* Takes a line "NAME WORD". */
static bool serialize_line(serialize_reader *r, const char *name) {
  size_t length = strlen(name), left = (size_t)(r->end - r->at);
  const char *end = memchr(r->at, '\n', left);
  if (!end || (size_t)(end - r->at) <= length || memcmp(r->at, name, length) != 0 ||
      r->at[length] != ' ') {
    return false;
  }
  const char *word = r->at + length + 1;
  size_t size = (size_t)(end - word);
  if (size >= sizeof r->word) return false;
  memcpy(r->word, word, size);
  r->word[size] = '\0';
  r->at = end + 1;
  return true;
}

static bool serialize_number(serialize_reader *r, const char *name, long long least,
                             long long *out) {
  char *end;
  if (!serialize_line(r, name)) return false;
  *out = strtoll(r->word, &end, 10);
  return end != r->word && *end == '\0' && *out >= least;
}

static halo_status serialize_head(serialize_reader *r) {
  size_t length = strlen(serialize_magic), left = (size_t)(r->end - r->at);
  char expected[SERIALIZE_HASH + 16], check[SERIALIZE_HASH];
  if (left < length || memcmp(r->at, serialize_magic, length) != 0) {
    return halo_fail(HALO_INVALID_ARGUMENT, "not a serialised executable");
  }
  const char *format = r->at + length, *end = memchr(r->at, '\n', left);
  if (!end) return serialize_damaged("its first line has no end");
  if (atoi(format) != SERIALIZE_FORMAT) {
    return halo_fail(HALO_FAILED_PRECONDITION,
                     "a serialised executable has format %d, this version reads format %d",
                     atoi(format), SERIALIZE_FORMAT);
  }
  uint64_t key[2] = {0};
  halo_hash_wide(key, end + 1, (size_t)(r->end - end - 1));
  serialize_hash_text(key, check);
  snprintf(expected, sizeof expected, "%d %s", SERIALIZE_FORMAT, check);
  if (strlen(expected) != (size_t)(end - format) ||
      memcmp(format, expected, (size_t)(end - format)) != 0) {
    return serialize_damaged("its bytes do not belong together");
  }
  r->at = end + 1;
  return HALO_OK;
}

/* The parts behind the head. */
typedef struct serialize_parts {
  char version[64], device[64];
  uint64_t origin[2]; /* halo_executable.key */
  long long replicas, partitions, kernels_size, module_size;
  const char *kernels, *module;
} serialize_parts;

static halo_status serialize_read(serialize_reader *r, serialize_parts *p) {
  HALO_TRY(serialize_head(r));
  if (!serialize_line(r, "version")) return serialize_damaged("version");
  memcpy(p->version, r->word, sizeof p->version);
  if (!serialize_line(r, "device")) return serialize_damaged("device");
  memcpy(p->device, r->word, sizeof p->device);
  if (!serialize_line(r, "origin") ||
      sscanf(r->word, "%16" SCNx64 "%16" SCNx64, &p->origin[0], &p->origin[1]) != 2) {
    return serialize_damaged("origin");
  }
  if (!serialize_number(r, "replicas", 1, &p->replicas) || p->replicas > INT32_MAX ||
      !serialize_number(r, "partitions", 1, &p->partitions) || p->partitions > INT32_MAX) {
    return serialize_damaged("replicas and partitions");
  }
  if (!serialize_number(r, "kernels", -1, &p->kernels_size) || p->kernels_size >= r->end - r->at) {
    return serialize_damaged("kernels");
  }
  p->kernels = r->at;
  r->at += p->kernels_size < 0 ? 0 : p->kernels_size;
  if (r->at == r->end || *r->at++ != '\n') return serialize_damaged("kernels");
  if (!serialize_number(r, "module", 0, &p->module_size) || p->module_size != r->end - r->at) {
    return serialize_damaged("module");
  }
  p->module = r->at;
  return HALO_OK;
}

static halo_status serialize_check(const serialize_parts *p, const halo_cl_device *device) {
  char kind[SERIALIZE_HASH];
  serialize_hash_device(device, kind);
  if (strcmp(p->version, HALO_VERSION_TEXT) != 0) {
    return halo_fail(HALO_FAILED_PRECONDITION,
                     "an executable was serialised by version %s, this is version %s", p->version,
                     HALO_VERSION_TEXT);
  }
  if (strcmp(p->device, kind) != 0) {
    return halo_fail(HALO_FAILED_PRECONDITION,
                     "an executable was serialised for another kind of device or driver than %s",
                     device->caps.name);
  }
  return HALO_OK;
}

/* Processes may get there from different sides: one loads what it kept, while another, which did not, compiles the
 * module that this was made of. What cannot be loaded is said before others are told that it will be. */
static halo_status serialize_agree(halo_executable *e, const serialize_parts *p) {
  HALO_TRY(serialize_check(p, halo_executable_home(e)->cl));
  for (int i = 1; i < e->placement_count; i++) {
    HALO_TRY(serialize_check(p, e->placements[i].device->cl));
  }
  memcpy(e->key, p->origin, sizeof e->key);
  if (!e->key[0] && !e->key[1] && halo_executable_is_shared(e)) {
    halo_hash_wide(e->key, p->module, (size_t)p->module_size);
  }
  return halo_executable_agree(e);
}

static halo_status serialize_load(void *user, halo_plan_limits *limits) {
  halo_executable *e = user;
  const halo_device *home = halo_executable_home(e);
  HALO_TRY(halo_module_check_bounds(e->module));
  e->module->target = halo_target_of_device(home);
  /* Lowering leaves notes of one plan in a module, so another plan takes a copy. */
  bool again = limits->again;
  halo_module *module = again ? halo_module_clone(e->module) : e->module;
  halo_status status = halo_plan_lower(module, &home->cl->caps, e->kernels, limits, &e->plan);
  if (again) halo_module_release(module);
  HALO_TRY(status);
  for (int i = 0; i < e->placement_count; i++) HALO_TRY(halo_executable_load(e, i, NULL, limits));
  return HALO_OK;
}

halo_status halo_client_deserialize(halo_client *client, const void *data, size_t size,
                                    const int *devices, halo_executable **out) {
  if (!client || !data || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_client_deserialize: NULL argument");
  }
  *out = NULL;
  serialize_reader r = {.at = data, .end = (const char *)data + size};
  serialize_parts p;
  halo_module *module;
  HALO_TRY(serialize_read(&r, &p));
  HALO_TRY(halo_module_parse(p.module, (size_t)p.module_size, "a serialised executable", &module));
  char *kernels = NULL;
  if (p.kernels_size >= 0) {
    kernels = halo_alloc((size_t)p.kernels_size + 1);
    memcpy(kernels, p.kernels, (size_t)p.kernels_size);
  }
  halo_executable *e = NULL;
  halo_status status = halo_executable_create(client, module, kernels, &e);
  halo_free(kernels);
  if (status != HALO_OK) {
    halo_module_release(module);
    return status;
  }
  e->module = module;
  status = halo_executable_place(e, devices, (int)p.replicas, (int)p.partitions);
  if (status == HALO_OK) status = serialize_agree(e, &p);
  if (status == HALO_OK)
    status = halo_executable_confirm(e, halo_executable_fit(e, serialize_load, e));
  if (status == HALO_OK) {
    *out = e;
    return HALO_OK;
  }
  char *message = halo_error_save();
  halo_executable_release(e);
  halo_error_restore(message);
  return halo_fail_in(status, "loading an executable");
}
