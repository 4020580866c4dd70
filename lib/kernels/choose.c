/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/choose.c: the cheapest implementation that can, by price and by the list of kernels. */
#include "kernels/kernels.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

bool halo_kernels_is_entry(const char *entry, size_t length, const char *family, const char *name) {
  size_t front = strlen(family), back = strlen(name);
  return length == front + 1 + back && strncmp(entry, family, front) == 0 && entry[front] == ':' &&
         strncmp(entry + front + 1, name, back) == 0;
}

bool halo_kernels_next(const char **list, halo_kernels_entry *out) {
  while (*list && **list) {
    size_t item = strcspn(*list, ",");
    bool skip = **list == '-';
    *out = (halo_kernels_entry){*list + skip, item - skip, skip};
    *list += item;
    if (**list == ',') ++*list;
    if (out->length > 0) return true;
  }
  return false;
}

int halo_kernels_listed(const char *list, const char *family, const char *name) {
  int verdict = 0;
  for (halo_kernels_entry e; halo_kernels_next(&list, &e);) {
    if (halo_kernels_is_entry(e.name, e.length, family, name)) verdict = e.skip ? -1 : 1;
  }
  return verdict;
}

bool halo_kernels_forces(const char *list, const char *entry) {
  bool forced = false;
  for (halo_kernels_entry e; halo_kernels_next(&list, &e);) {
    forced |= !e.skip && e.length == strlen(entry) && strncmp(e.name, entry, e.length) == 0;
  }
  return forced;
}

bool halo_kernels_on_cpus(const halo_caps *caps, const char **why) {
  *why = "the device is not a CPU";
  return caps->is_cpu;
}

/* One line of what a fusion's report says of an implementation. */
static void choose_explain(halo_strbuf *explain, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void choose_explain(halo_strbuf *explain, const char *name, const char *format, ...) {
  if (!explain) return;
  va_list args;
  va_start(args, format);
  halo_strbuf_printf(explain, "    %-10s ", name);
  halo_strbuf_vprintf(explain, format, args);
  halo_strbuf_char(explain, '\n');
  va_end(args);
}

/* Seconds within a region, or more than anything takes where no region can hold it. */
static double choose_in_region(const halo_lowering *l, const halo_implementation *i) {
  if (!l->region || i->in_groups) return INFINITY;
  halo_lowering within = *l;
  within.target = l->region;
  return i->cost(&within);
}

halo_status halo_kernels_choose(const halo_lowering *l, const char *family,
                                const halo_implementation *implementations, halo_strbuf *explain,
                                const halo_implementation **out_best, double *out_cost) {
  const halo_implementation *best = NULL;
  double least = INFINITY;
  bool forced = false;
  for (const halo_implementation *i = implementations; i->name; i++) {
    const char *why = "";
    int listed = halo_kernels_listed(l->kernels, family, i->name);
    if (listed < 0) {
      choose_explain(explain, i->name, "excluded by the list of kernels");
      continue;
    }
    if ((i->works_on && !i->works_on(l->caps, &why)) || !i->supports(l, &why)) {
      choose_explain(explain, i->name, "no: %s", why);
      continue;
    }
    double cost = i->cost(l), within = choose_in_region(l, i);
    const char *how = listed > 0 ? ", forced by the list of kernels" : "";
    if (within < cost) {
      choose_explain(explain, i->name, "%.3g us, %.3g us within a region%s", cost * 1e6,
                     within * 1e6, how);
    } else {
      choose_explain(explain, i->name, "%.3g us%s", cost * 1e6, how);
    }
    if (listed > 0 && !forced) best = NULL;
    if (forced && listed <= 0) continue;
    forced |= listed > 0;
    double counted = within < cost ? within : cost;
    if (!best || counted < least) {
      best = i;
      least = counted;
      *out_cost = cost;
    }
  }
  *out_best = best;
  if (best) return HALO_OK;
  return halo_fail(HALO_INVALID_ARGUMENT,
                   "%s: " HALO_KERNELS_LIST " leaves no implementation of %s", l->name, family);
}
