/* SPDX-License-Identifier: Apache-2.0 */
/* client/target.c: what things cost on a device: defaults by its kind, or what was measured and stored. */
#include "base/file.h"
#include "base/locale.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "client/executable.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { TARGET_BYTES_MAX = 1024 }; /* of arguments that kernels get, however many a device allows */

/* The file of a device's measured costs; "" without a cache folder. */
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

static bool target_positive(const halo_device_costs *c) {
  return c->launch > 0 && c->bandwidth > 0 && c->rate > 0 && c->item_rate > 0;
}

/* False when there is no file, or none that can be believed. */
static bool target_read(halo_cl_device *device, halo_device_costs *out) {
  halo_strbuf path = {0};
  target_path(device, &path);
  FILE *file = path.length ? fopen(path.data, "r") : NULL;
  halo_strbuf_deinit(&path);
  if (!file) return false;
  halo_device_costs read = {.measured = true};
  halo_c_locale locale = halo_c_locale_enter();
  int fields = fscanf(file, "launch = %lf bandwidth = %lf rate = %lf item_rate = %lf", &read.launch,
                      &read.bandwidth, &read.rate, &read.item_rate);
  halo_c_locale_leave(locale);
  fclose(file);
  if (fields != 4 || !target_positive(&read)) return false;
  *out = read;
  return true;
}

/* The measured costs, which are read once a device. */
static bool target_load(const halo_device *device, halo_device_costs *out) {
  halo_device_costs_kept *kept = device->costs;
  pthread_mutex_lock(&kept->lock);
  if (!kept->looked && !target_read(device->cl, &kept->costs)) {
    kept->costs = (halo_device_costs){.measured = false};
  }
  kept->looked = true;
  *out = kept->costs;
  pthread_mutex_unlock(&kept->lock);
  return out->measured;
}

halo_target halo_target_of_device(const halo_device *device) {
  const halo_caps *caps = &device->cl->caps;
  halo_target target = caps->is_cpu ? halo_target_cpu : halo_target_gpu;
  halo_device_costs costs;
  if (target_load(device, &costs)) {
    target.launch = costs.launch;
    target.bandwidth = costs.bandwidth;
    target.rate = costs.rate;
    target.item_rate = costs.item_rate;
  }
  target.has_f64 = caps->has_f64;
  target.exact_division = caps->correctly_rounded;
  target.max_rounds = caps->max_rounds;
  uint64_t bytes = caps->max_parameters ? caps->max_parameters : TARGET_BYTES_MAX;
  if (bytes > TARGET_BYTES_MAX) bytes = TARGET_BYTES_MAX;
  /* A pointer and an offset each; two are left for scratch. */
  target.max_buffers = (int32_t)(bytes / (caps->address_bits / 8 + 8)) - 2;
  return target;
}

void halo_device_get_costs(const halo_device *device, halo_device_costs *out) {
  if (target_load(device, out)) return;
  halo_target target = halo_target_of_device(device);
  *out = (halo_device_costs){target.launch, target.bandwidth, target.rate, target.item_rate, false};
}

halo_status halo_device_store_costs(halo_device *device, const halo_device_costs *costs) {
  if (!device || !costs || !target_positive(costs)) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "halo_device_store_costs: a device and four positive costs are needed");
  }
  halo_strbuf path = {0}, text = {0};
  target_path(device->cl, &path);
  if (!path.length) {
    return halo_fail(HALO_FAILED_PRECONDITION,
                     "the costs of a device are kept in the cache folder, and there is none");
  }
  halo_c_locale locale = halo_c_locale_enter();
  halo_strbuf_printf(&text, "launch = %.6g\nbandwidth = %.6g\nrate = %.6g\nitem_rate = %.6g\n",
                     costs->launch, costs->bandwidth, costs->rate, costs->item_rate);
  halo_c_locale_leave(locale);
  char *slash = strrchr(path.data, '/');
  *slash = '\0';
  mkdir(path.data, 0777); /* there already, most often; opening the file tells if not */
  *slash = '/';
  halo_outfile *file = NULL;
  halo_status status = halo_outfile_create(path.data, &file);
  if (status == HALO_OK) {
    status = halo_outfile_write(file, text.data, text.length);
    if (status == HALO_OK) {
      status = halo_outfile_commit(file);
    } else {
      halo_outfile_discard(file);
    }
  }
  halo_strbuf_deinit(&path);
  halo_strbuf_deinit(&text);
  pthread_mutex_lock(&device->costs->lock);
  device->costs->looked = false; /* the next one to ask reads them */
  pthread_mutex_unlock(&device->costs->lock);
  return status;
}
