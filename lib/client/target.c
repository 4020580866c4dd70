/* SPDX-License-Identifier: Apache-2.0 */
/* client/target.c: the prices of a device: defaults by its kind, or what was measured and stored; and what it can do. */
#include "base/config.h"
#include "base/file.h"
#include "base/locale.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "client/executable.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TARGET_BYTES_MAX = 1024 }; /* of arguments that kernels get, however many a device allows */

/* The file of a device's stored prices; "" without a cache folder. */
static void target_path(halo_cl_device *device, halo_strbuf *out) {
  halo_cl_program_stats stats;
  halo_cl_program_get_stats(device, &stats);
  if (!stats.directory) return;
  const halo_caps *caps = &device->caps;
  const char *const parts[] = {caps->platform, caps->name, caps->driver};
  uint64_t key[2] = {0};
  for (int i = 0; i < 3; i++) halo_hash_wide(key, parts[i], strlen(parts[i]));
  halo_strbuf_printf(out, "%s/costs-%016llx.txt", stats.directory, (unsigned long long)key[0]);
}

/* False when there is no file, or none that can be believed. */
static bool target_read(halo_cl_device *device, halo_device_prices *kept) {
  halo_strbuf path = {0};
  target_path(device, &path);
  char *text = NULL;
  size_t size;
  bool there = path.length > 0 && access(path.data, R_OK) == 0 &&
               halo_file_read(path.data, &text, &size) == HALO_OK;
  bool read = there && halo_prices_parse(text, &kept->prices, kept->stored);
  halo_strbuf_deinit(&path);
  halo_free(text);
  return read;
}

/* f32 operations that a compute unit begins in a cycle. Vendors' drivers mean different things by a unit: NVIDIA's
 * multiprocessors, AMD's compute units (pairs of them where wavefronts have 32 items), Intel's vector engines, and cores. */
static double target_lanes(const halo_caps *caps) {
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

/* The defaults of a device. A processor that is to be treated as a GPU stands for an unknown one. */
static halo_prices target_defaults(const halo_caps *caps) {
  if (caps->is_cpu) return halo_prices_cpu;
  halo_prices_gpu_facts facts = {.units = caps->compute_units,
                                 .lanes = target_lanes(caps),
                                 .clock_hz = caps->clock_mhz * 1e6,
                                 .memory_bytes = (double)caps->global_memory};
  if (halo_config_text(HALO_CONFIG_TREAT_AS)) facts.units = 0;
  return halo_prices_of_gpu(&facts);
}

/* The prices of a device, whose file is read once. */
static halo_device_prices target_load(const halo_device *device) {
  halo_device_prices_kept *kept = device->prices;
  pthread_mutex_lock(&kept->lock);
  if (!kept->looked) {
    kept->of = (halo_device_prices){.prices = target_defaults(&device->cl->caps)};
    (void)target_read(device->cl, &kept->of);
  }
  kept->looked = true;
  halo_device_prices of = kept->of;
  pthread_mutex_unlock(&kept->lock);
  return of;
}

halo_target halo_target_of_device(const halo_device *device) {
  const halo_caps *caps = &device->cl->caps;
  halo_target target = {.prices = target_load(device).prices};
  target.has_f64 = caps->has_f64;
  target.exact_division = caps->correctly_rounded;
  target.max_rounds = caps->max_rounds;
  uint64_t bytes = caps->max_parameters ? caps->max_parameters : TARGET_BYTES_MAX;
  if (bytes > TARGET_BYTES_MAX) bytes = TARGET_BYTES_MAX;
  /* A pointer and an offset each; two are left for scratch. */
  target.max_buffers = (int32_t)(bytes / (caps->address_bits / 8 + 8)) - 2;
  return target;
}

bool halo_device_get_price(const halo_device *device, int index, halo_device_price *out) {
  if (!device || index < 0 || index >= HALO_PRICE_COUNT) return false;
  const halo_price_row *row = &halo_price_rows[index];
  halo_device_prices of = target_load(device);
  halo_prices defaults = target_defaults(&device->cl->caps);
  *out = (halo_device_price){.name = row->name,
                             .meaning = row->meaning,
                             .unit = halo_price_unit_name(row->unit),
                             .origin = halo_price_origin_name(row->origin),
                             .date = row->date,
                             .value = *halo_price_of(&of.prices, index),
                             .standard = *halo_price_of(&defaults, index),
                             .stored = of.stored[index]};
  return true;
}

void halo_device_get_costs(const halo_device *device, halo_device_costs *out) {
  halo_device_prices of = target_load(device);
  const halo_prices *p = &of.prices;
  bool measured = of.stored[halo_price_find("launch")];
  *out = (halo_device_costs){.launch = p->launch,
                             .bandwidth = p->bandwidth,
                             .rate = p->rate,
                             .item_rate = p->item_rate,
                             .item_bandwidth = p->item_bandwidth,
                             .measured = measured};
}

/* The lines of all prices that are stored. */
static void target_print(halo_device_prices *of, halo_strbuf *out) {
  halo_c_locale locale = halo_c_locale_enter();
  for (int row = 0; row < HALO_PRICE_COUNT; row++) {
    if (!of->stored[row]) continue;
    halo_strbuf_printf(out, "%s = %.6g\n", halo_price_rows[row].name,
                       *halo_price_of(&of->prices, row));
  }
  halo_c_locale_leave(locale);
}

static halo_status target_write(const halo_strbuf *path, const halo_strbuf *text) {
  char *slash = strrchr(path->data, '/');
  *slash = '\0';
  mkdir(path->data, 0777); /* there already, most often; opening the file tells if not */
  *slash = '/';
  halo_outfile *file = NULL;
  HALO_TRY(halo_outfile_create(path->data, &file));
  halo_status status = halo_outfile_write(file, text->data, text->length);
  if (status == HALO_OK) return halo_outfile_commit(file);
  halo_outfile_discard(file);
  return status;
}

halo_status halo_device_store_costs(halo_device *device, const halo_device_costs *costs) {
  if (!device || !costs ||
      !(costs->launch > 0 && costs->bandwidth > 0 && costs->rate > 0 && costs->item_rate > 0 &&
        costs->item_bandwidth > 0)) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "halo_device_store_costs: a device and five positive costs are needed");
  }
  halo_strbuf path = {0}, text = {0};
  target_path(device->cl, &path);
  if (!path.length) {
    return halo_fail(HALO_FAILED_PRECONDITION,
                     "the costs of a device are kept in the cache folder, and there is none");
  }
  halo_device_prices of = target_load(device); /* others that are stored stay */
  of.prices.launch = costs->launch;
  of.prices.bandwidth = costs->bandwidth;
  of.prices.rate = costs->rate;
  of.prices.item_rate = costs->item_rate;
  of.prices.item_bandwidth = costs->item_bandwidth;
  static const char *const names[] = {"launch", "bandwidth", "rate", "item_rate", "item_bandwidth"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    of.stored[halo_price_find(names[i])] = true;
  target_print(&of, &text);
  halo_status status = target_write(&path, &text);
  halo_strbuf_deinit(&path);
  halo_strbuf_deinit(&text);
  pthread_mutex_lock(&device->prices->lock);
  device->prices->looked = false; /* the next one to ask reads them */
  pthread_mutex_unlock(&device->prices->lock);
  return status;
}
