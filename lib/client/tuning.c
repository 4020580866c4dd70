/* SPDX-License-Identifier: Apache-2.0 */
/* client/tuning.c: the prices and parameters of a device: defaults by its kind, what was measured and stored for it, and
 * what HALO_TUNING says. */
#include "base/config.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "client/executable.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* f32 operations that a compute unit begins in a cycle. Vendors' drivers mean different things by a unit: NVIDIA's
 * multiprocessors, AMD's compute units (pairs of them where wavefronts have 32 items), Intel's vector engines, and cores. */
static double tuning_lanes(const halo_caps *caps) {
  enum { WAVE64 = 64 };
  static const struct {
    const char *vendor;
    double lanes, wide; /* with wavefronts of fewer than 64 work items, and of 64 and more */
  } vendors[] = {{"NVIDIA", 128, 128},  {"Advanced Micro Devices", 128, 64},
                 {"AMD", 128, 64},      {"Intel", 8, 8},
                 {"Apple", 128, 128},   {"ARM", 32, 32},
                 {"QUALCOMM", 256, 256}};
  for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++) {
    if (!strstr(caps->vendor, vendors[i].vendor)) continue;
    return caps->simd_width >= WAVE64 ? vendors[i].wide : vendors[i].lanes;
  }
  return caps->simd_width;
}

/* The default prices of a device. A processor that is to be treated as a GPU stands for an unknown one. */
static halo_prices tuning_default_prices(const halo_caps *caps) {
  if (caps->is_cpu) return halo_prices_cpu;
  halo_prices_gpu_facts facts = {.units = caps->compute_units,
                                 .lanes = tuning_lanes(caps),
                                 .clock_hz = caps->clock_mhz * 1e6,
                                 .memory_bytes = (double)caps->global_memory};
  if (halo_config_text(HALO_CONFIG_TREAT_AS)) facts.units = 0;
  return halo_prices_of_gpu(&facts);
}

static void tuning_defaults(const halo_caps *caps, halo_tuning *out) {
  *out = (halo_tuning){.prices = tuning_default_prices(caps),
                       .parameters = caps->is_cpu ? halo_parameters_cpu : halo_parameters_gpu};
}

/* ---- The file ---- */

/* Its name; "" without a cache folder. */
static void tuning_path(const halo_device *device, halo_strbuf *out) {
  halo_cl_program_stats stats;
  halo_cl_program_get_stats(device->cl, &stats);
  if (!stats.directory) return;
  const halo_caps *caps = &device->cl->caps;
  const char *const parts[] = {caps->platform, caps->name, halo_caps_kind_name(caps)};
  uint64_t key[2] = {0};
  for (int i = 0; i < 3; i++) halo_hash_wide(key, parts[i], strlen(parts[i]) + 1);
  halo_strbuf_printf(out, "%s/tuned-%016llx.txt", stats.directory, (unsigned long long)key[0]);
}

/* The text behind "name: " in the lines before the first empty one; "" where there is none. */
static void tuning_header(const char *text, const char *name, char *out, size_t size) {
  size_t length = strlen(name);
  *out = '\0';
  for (; *text && *text != '\n'; text += strcspn(text, "\n"), text += *text == '\n') {
    if (strncmp(text, name, length) != 0 || strncmp(text + length, ": ", 2) != 0) continue;
    snprintf(out, size, "%.*s", (int)strcspn(text + length + 2, "\r\n"), text + length + 2);
    return;
  }
}

static void tuning_read(const halo_device *device, const char *text, halo_device_tuned *tuned) {
  const char *driver = device->cl->caps.driver, *lines = strstr(text, "\n\n");
  char of_driver[128], of_library[40];
  tuning_header(text, "driver", of_driver, sizeof of_driver);
  tuning_header(text, "library", of_library, sizeof of_library);
  if (!lines || !*of_driver || !*of_library) {
    snprintf(tuned->refused, sizeof tuned->refused, "it does not say what it was measured with");
  } else if (strcmp(of_driver, driver) != 0) {
    snprintf(tuned->refused, sizeof tuned->refused,
             "it was measured with the driver %.50s, and this is %.50s", of_driver, driver);
  } else if (strcmp(of_library, halo_version()) != 0) {
    snprintf(tuned->refused, sizeof tuned->refused,
             "it was measured with version %s of the library, and this is %s", of_library,
             halo_version());
  } else if (halo_tuning_parse(lines, &tuned->tuning) != HALO_OK) {
    snprintf(tuned->refused, sizeof tuned->refused, "%s", halo_error_message());
  }
}

/* Sets everything from the defaults and the file, which does not stop anybody. */
static void tuning_load(const halo_device *device, halo_device_tuned *tuned) {
  halo_strbuf path = {0};
  char *text = NULL;
  size_t size;
  *tuned = (halo_device_tuned){0};
  tuning_defaults(&device->cl->caps, &tuned->tuning);
  tuning_path(device, &path);
  if (path.length > 0 && access(path.data, R_OK) == 0) {
    char *error = halo_error_save();
    if (halo_file_read(path.data, &text, &size) != HALO_OK) {
      snprintf(tuned->refused, sizeof tuned->refused, "%s", halo_error_message());
    } else {
      tuning_read(device, text, tuned);
    }
    halo_error_restore(error);
    if (tuned->refused[0]) {
      HALO_LOG(HALO_LOG_INFO, "tuning: %s is not used: %s", path.data, tuned->refused);
    }
  }
  halo_strbuf_deinit(&path);
  halo_free(text);
}

/* `values` over the file's. */
static halo_status tuning_set(halo_device *device, const char *values) {
  halo_device_tuned tuned;
  tuning_load(device, &tuned);
  halo_status status = values ? halo_tuning_parse(values, &tuned.tuning) : HALO_OK;
  if (status != HALO_OK) return status;
  halo_tuning_hash(&tuned.tuning, tuned.hash);
  *device->tuned = tuned;
  return HALO_OK;
}

halo_status halo_device_begin_tuning(halo_device *device) {
  return halo_fail_in(tuning_set(device, halo_config_text(HALO_CONFIG_TUNING)), "HALO_TUNING");
}

halo_status halo_device_use_tuning(halo_device *device, const char *values) {
  if (!device) return halo_fail(HALO_INVALID_ARGUMENT, "halo_device_use_tuning: device is NULL");
  return values ? tuning_set(device, values) : halo_device_begin_tuning(device);
}

static halo_status tuning_write(const halo_device *device, const char *path,
                                const halo_tuning *tuning) {
  const halo_caps *caps = &device->cl->caps;
  halo_strbuf text = {0};
  halo_strbuf_printf(
      &text,
      "# What halo tune and halo bench costs measured. Lines can be changed, and go: the "
      "default holds then.\ndevice: %s\nplatform: %s\ndriver: %s\nlibrary: %s\n\n",
      caps->name, caps->platform, caps->driver, halo_version());
  halo_tuning_print(tuning, &text);
  char *folder = halo_strdup(path);
  *strrchr(folder, '/') = '\0';
  halo_folder_make(folder); /* there already, most often; opening the file tells if not */
  halo_free(folder);
  halo_outfile *file = NULL;
  halo_status status = halo_outfile_create(path, &file);
  if (status == HALO_OK) {
    status = halo_outfile_write(file, text.data, text.length);
    if (status == HALO_OK) {
      status = halo_outfile_commit(file);
    } else {
      halo_outfile_discard(file);
    }
  }
  halo_strbuf_deinit(&text);
  return status;
}

halo_status halo_device_store_tuning(halo_device *device, const char *values) {
  if (!device) return halo_fail(HALO_INVALID_ARGUMENT, "halo_device_store_tuning: device is NULL");
  halo_strbuf path = {0};
  halo_device_tuned tuned;
  tuning_load(device, &tuned); /* others that are stored stay */
  tuning_path(device, &path);
  halo_status status = HALO_OK;
  if (!path.length) {
    status =
        halo_fail(HALO_FAILED_PRECONDITION,
                  "what is measured of a device is kept in the cache folder, and there is none");
  } else if (!values && unlink(path.data) != 0 && errno != ENOENT) {
    status = halo_fail(HALO_IO_ERROR, "%s: %s", path.data, strerror(errno));
  } else if (values) {
    status = halo_tuning_parse(values, &tuned.tuning);
    if (status == HALO_OK) status = tuning_write(device, path.data, &tuned.tuning);
  }
  halo_strbuf_deinit(&path);
  return status == HALO_OK ? halo_device_begin_tuning(device) : status;
}

/* ---- What others ask ---- */

void halo_device_get_tuning(const halo_device *device, halo_device_tuning *out) {
  halo_strbuf path = {0};
  tuning_path(device, &path);
  *out = (halo_device_tuning){0};
  snprintf(out->hash, sizeof out->hash, "%s", device->tuned->hash);
  snprintf(out->path, sizeof out->path, "%s", halo_strbuf_text(&path));
  snprintf(out->refused, sizeof out->refused, "%s", device->tuned->refused);
  halo_strbuf_deinit(&path);
}

bool halo_device_get_price(const halo_device *device, int index, halo_device_price *out) {
  if (!device || index < 0 || index >= HALO_PRICE_COUNT) return false;
  const halo_price_row *row = &halo_price_rows[index];
  halo_tuning *tuning = &device->tuned->tuning;
  halo_prices defaults = tuning_default_prices(&device->cl->caps);
  *out = (halo_device_price){.name = row->name,
                             .meaning = row->meaning,
                             .unit = halo_price_unit_name(row->unit),
                             .origin = halo_price_origin_name(row->origin),
                             .date = row->date,
                             .value = *halo_price_of(&tuning->prices, index),
                             .standard = *halo_price_of(&defaults, index),
                             .stored = tuning->has_price[index]};
  return true;
}

bool halo_device_get_parameter(const halo_device *device, int index, halo_device_parameter *out) {
  if (!device || index < 0 || index >= HALO_PARAMETER_COUNT) return false;
  const halo_parameter_row *row = &halo_parameter_rows[index];
  halo_tuning *tuning = &device->tuned->tuning;
  *out = (halo_device_parameter){.name = row->name,
                                 .implementation = row->implementation,
                                 .meaning = row->meaning,
                                 .values = row->values,
                                 .value_count = row->value_count,
                                 .value = *halo_parameter_of(&tuning->parameters, index),
                                 .standard = device->cl->caps.is_cpu ? row->cpu : row->gpu,
                                 .stored = tuning->has_parameter[index]};
  return true;
}

/* ---- The five that are measured most often ---- */

void halo_device_get_costs(const halo_device *device, halo_device_costs *out) {
  const halo_prices *p = &device->tuned->tuning.prices;
  bool measured = device->tuned->tuning.has_price[halo_price_find("launch")];
  *out = (halo_device_costs){.launch = p->launch,
                             .bandwidth = p->bandwidth,
                             .rate = p->rate,
                             .item_rate = p->item_rate,
                             .item_bandwidth = p->item_bandwidth,
                             .measured = measured};
}

halo_status halo_device_store_costs(halo_device *device, const halo_device_costs *costs) {
  if (!device || !costs ||
      !(costs->launch > 0 && costs->bandwidth > 0 && costs->rate > 0 && costs->item_rate > 0 &&
        costs->item_bandwidth > 0)) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "halo_device_store_costs: a device and five positive costs are needed");
  }
  halo_tuning tuning = {.prices = {.launch = costs->launch,
                                   .bandwidth = costs->bandwidth,
                                   .rate = costs->rate,
                                   .item_rate = costs->item_rate,
                                   .item_bandwidth = costs->item_bandwidth}};
  static const char *const names[] = {"launch", "bandwidth", "rate", "item_rate", "item_bandwidth"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    tuning.has_price[halo_price_find(names[i])] = true;
  }
  halo_strbuf text = {0};
  halo_tuning_print(&tuning, &text);
  halo_status status = halo_device_store_tuning(device, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return status;
}
