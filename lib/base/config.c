/* SPDX-License-Identifier: Apache-2.0 */
/* base/config.c: reading the environment. */
#include "base/config.h"

#include "base/folder.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "os/file.h"
#include "os/process.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const config_names[HALO_CONFIG_COUNT] = {
    [HALO_CONFIG_DEVICE] = "HALO_DEVICE",
    [HALO_CONFIG_CACHE_DIR] = "HALO_CACHE_DIR",
    [HALO_CONFIG_MEMORY_LIMIT] = "HALO_MEMORY_LIMIT",
    [HALO_CONFIG_SEPARATE_MEMORY] = "HALO_SEPARATE_MEMORY",
    [HALO_CONFIG_CPU] = "HALO_CPU",
    [HALO_CONFIG_DENORMALS] = "HALO_DENORMALS",
    [HALO_CONFIG_TREAT_AS] = "HALO_TREAT_AS",
    [HALO_CONFIG_PROBES] = "HALO_PROBES",
    [HALO_CONFIG_TIME_COMMANDS] = "HALO_TIME_COMMANDS",
    [HALO_CONFIG_KERNELS] = "HALO_KERNELS",
    [HALO_CONFIG_TUNING] = "HALO_TUNING",
    [HALO_CONFIG_NO_FUSION] = "HALO_NO_FUSION",
    [HALO_CONFIG_STRICT_ORDER] = "HALO_STRICT_ORDER",
    [HALO_CONFIG_WIDE_INDICES] = "HALO_WIDE_INDICES",
    [HALO_CONFIG_REGION_TIME] = "HALO_REGION_TIME",
    [HALO_CONFIG_LAUNCH_TIME] = "HALO_LAUNCH_TIME",
    [HALO_CONFIG_COLLECTIVE_TIMEOUT] = "HALO_COLLECTIVE_TIMEOUT",
    [HALO_CONFIG_SYNCHRONOUS] = "HALO_SYNCHRONOUS",
    [HALO_CONFIG_WAIT_EACH] = "HALO_WAIT_EACH",
    [HALO_CONFIG_DISABLE_PASSES] = "HALO_DISABLE_PASSES",
    [HALO_CONFIG_COMMUNICATOR] = "HALO_COMMUNICATOR",
    [HALO_CONFIG_TCP_ADDRESS] = "HALO_TCP_ADDRESS",
    [HALO_CONFIG_TCP_COORDINATOR] = "HALO_TCP_COORDINATOR",
    [HALO_CONFIG_TCP_PROCESS] = "HALO_TCP_PROCESS",
    [HALO_CONFIG_TCP_PROCESSES] = "HALO_TCP_PROCESSES",
    [HALO_CONFIG_TCP_SECRET] = "HALO_TCP_SECRET",
    [HALO_CONFIG_TCP_INSECURE] = "HALO_TCP_INSECURE",
    [HALO_CONFIG_VERIFY] = "HALO_VERIFY",
    [HALO_CONFIG_DUMP_TO] = "HALO_DUMP_TO",
    [HALO_CONFIG_LOG] = "HALO_LOG",
    [HALO_CONFIG_LOG_FILE] = "HALO_LOG_FILE",
};

const char *halo_config_name(halo_config key) { return config_names[key]; }

/* ---- Names ---- */

static const char config_prefix[] = "HALO_";

/* Read elsewhere: by the Python package, by the program and by the project's own tests. */
static const char *const config_others[] = {
    "HALO_PJRT_LIBRARY", "HALO_JAX_PYTHON",   "HALO_UPDATE_GOLDEN",
    "HALO_TEST_DEVICE",  "HALO_TEST_SEED",    "HALO_TEST_SEEDS",
    "HALO_TEST_SMALL",   "HALO_TEST_VERBOSE", "HALO_BENCH_MEASURES",
};
enum { CONFIG_OTHERS = sizeof config_others / sizeof *config_others };

static const char *config_any_name(int i) {
  return i < HALO_CONFIG_COUNT ? config_names[i] : config_others[i - HALO_CONFIG_COUNT];
}

/* The variable that one of this name (which need not end there) should be; NULL: it is one, or like
 * none, so that it may be another program's. */
static const char *config_meant(const char *name, size_t length) {
  size_t prefix = sizeof config_prefix - 1;
  halo_suggestion near = halo_suggestion_begin(name + prefix, length - prefix);
  for (int i = 0; i < HALO_CONFIG_COUNT + CONFIG_OTHERS; i++) {
    const char *known = config_any_name(i);
    if (strlen(known) == length && memcmp(known, name, length) == 0) return NULL;
    halo_suggestion_offer(&near, known + prefix);
  }
  return halo_suggestion_best(&near);
}

halo_status halo_config_check_names(void) {
  extern char **environ;
  for (char **at = environ; at && *at; at++) {
    size_t length = strcspn(*at, "=");
    if (strncmp(*at, config_prefix, sizeof config_prefix - 1) != 0) continue;
    const char *meant = config_meant(*at, length);
    if (meant) {
      return halo_fail(HALO_INVALID_ARGUMENT,
                       "the environment variable %.*s has no meaning: did you mean %s%s?",
                       (int)length, *at, config_prefix, meant);
    }
  }
  return HALO_OK;
}

/* ---- Values ---- */

const char *halo_config_text(halo_config key) { return getenv(config_names[key]); }

static bool config_is_off(const char *text) {
  static const char *const off[] = {"", "0", "no", "off", "false"};
  for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
    if (strcmp(text, off[i]) == 0) return true;
  }
  return false;
}

bool halo_config_flag(halo_config key) {
  const char *text = halo_config_text(key);
  return text && !config_is_off(text);
}

bool halo_config_refused(halo_config key) {
  const char *text = halo_config_text(key);
  return text && config_is_off(text);
}

halo_status halo_config_bytes(halo_config key, uint64_t *out) {
  const char *text = halo_config_text(key);
  *out = 0;
  if (!text || !*text) return HALO_OK;
  char *end = NULL;
  errno = 0;
  uint64_t value = strtoull(text, &end, 10);
  bool good = isdigit((unsigned char)text[0]) && errno == 0;
  int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  if (shift) end++;
  if (!good || *end || (value << shift) >> shift != value) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "%s=%s is not a size: expected bytes, or a number with K, M or G",
                     config_names[key], text);
  }
  *out = value << shift;
  return HALO_OK;
}

halo_status halo_config_number(halo_config key, uint64_t otherwise, uint64_t *out) {
  const char *text = halo_config_text(key);
  *out = otherwise;
  if (!text || !*text) return HALO_OK;
  char *end = NULL;
  errno = 0;
  *out = strtoull(text, &end, 10);
  if (isdigit((unsigned char)text[0]) && errno == 0 && !*end) return HALO_OK;
  return halo_fail(HALO_INVALID_ARGUMENT, "%s=%s is not a whole number", config_names[key], text);
}

static const char config_pocl_cache[] = "POCL_CACHE_DIR";

/* A folder in the user's folder of caches, or NULL where there is none. */
static char *config_user_cache(const char *name) {
  char folder[4096];
  if (!halo_os_cache_folder(folder, sizeof folder)) return NULL;
  halo_strbuf path = {0};
  halo_strbuf_printf(&path, "%s/%s", folder, name);
  return halo_strbuf_take(&path);
}

char *halo_config_cache_dir(void) {
  const char *own = halo_config_text(HALO_CONFIG_CACHE_DIR);
  if (own) return *own ? halo_strdup(own) : NULL;
  return config_user_cache("halo");
}

void halo_config_share_cache_dir(void) {
  const char *own = halo_config_text(HALO_CONFIG_CACHE_DIR);
  if (!own || !*own || !halo_folder_is_writable(own)) return;
  halo_strbuf path = {0};
  halo_strbuf_printf(&path, "%s/pocl", own);
  bool trusted = halo_folder_is_trusted(own) && halo_folder_is_trusted(halo_strbuf_text(&path));
  if (trusted) halo_os_set_missing_variable(config_pocl_cache, halo_strbuf_text(&path));
  halo_strbuf_deinit(&path);
}

const char *halo_config_pocl_devices(void) { return getenv("POCL_DEVICES"); }

const char *halo_config_library_path(void) { return getenv("LD_LIBRARY_PATH"); }

char *halo_config_pocl_cache_dir(void) {
  const char *kept = getenv("POCL_KERNEL_CACHE"), *own = getenv(config_pocl_cache);
  if (kept && strcmp(kept, "0") == 0) return NULL;
  return own && *own ? halo_strdup(own) : config_user_cache("pocl/kcache");
}

/* The number in a variable; -1: there is none. */
static int config_whole(const char *name) {
  const char *text = getenv(name);
  char *end = NULL;
  long value = text && *text ? strtol(text, &end, 10) : -1;
  return value >= 0 && value < INT_MAX && !*end ? (int)value : -1;
}

/* How many tasks the step has; in its batch script, where there is no step, the job. */
static int config_slurm_tasks(void) {
  int tasks = config_whole("SLURM_STEP_NUM_TASKS");
  return tasks >= 0 ? tasks : config_whole("SLURM_NTASKS");
}

bool halo_config_process(int *process, int *count) {
  enum { slurm = 3 };
  const char *const names[][2] = {
      {config_names[HALO_CONFIG_TCP_PROCESS], config_names[HALO_CONFIG_TCP_PROCESSES]},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMI_RANK", "PMI_SIZE"},
      [slurm] = {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!getenv(names[i][0]) && !getenv(names[i][1])) continue;
    *process = config_whole(names[i][0]);
    *count = i == slurm ? config_slurm_tasks() : config_whole(names[i][1]);
    return *process >= 0 && *process < *count;
  }
  return false;
}

/* ---- Slurm ---- */

bool halo_config_is_slurm_task(void) {
  return config_whole("SLURM_PROCID") >= 0 && config_slurm_tasks() > 1;
}

/* The first of a list of machines, as in "a7,b", "node[007-015,20]". */
static void config_first_machine(const char *list, halo_strbuf *out) {
  size_t prefix = strcspn(list, ",["), digits = 0, end = 0;
  halo_strbuf_append_n(out, list, prefix);
  if (list[prefix] != '[') return;
  digits = strcspn(list + prefix + 1, ",-]");
  halo_strbuf_append_n(out, list + prefix + 1, digits);
  end = prefix + strcspn(list + prefix, "]");
  if (list[end]) halo_strbuf_append_n(out, list + end + 1, strcspn(list + end + 1, ","));
}

char *halo_config_coordinator(void) {
  enum { FIRST_PORT = 61440, PORTS = 4096, STEPS = 61 }; /* behind those that systems give away */
  const char *own = halo_config_text(HALO_CONFIG_TCP_COORDINATOR);
  if (own && *own) return halo_strdup(own);
  const char *machines = getenv("SLURM_STEP_NODELIST");
  int job = config_whole("SLURM_JOB_ID"), step = config_whole("SLURM_STEP_ID");
  if (!halo_config_is_slurm_task() || !machines || !*machines || job < 0) return NULL;
  halo_strbuf text = {0};
  if (machines[strcspn(machines, ",[")]) {
    config_first_machine(machines, &text);
  } else {
    halo_strbuf_append(&text, "localhost");
  }
  uint64_t number = (uint64_t)job + STEPS * (uint64_t)(step > 0 ? step : 0);
  halo_strbuf_printf(&text, ":%d", FIRST_PORT + (int)(number % PORTS));
  return halo_strbuf_take(&text);
}

const char *halo_config_drivers_dir(void) {
  const char *place = getenv("OCL_ICD_VENDORS");
  if (!place) place = getenv("OPENCL_VENDOR_PATH");
  return place ? place : "/etc/OpenCL/vendors";
}

const char *halo_config_more_drivers(void) {
  const char *names = getenv("OCL_ICD_FILENAMES");
  return names && *names ? names : NULL;
}
