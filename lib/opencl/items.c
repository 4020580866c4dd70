/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/items.c: lists of devices as users write them: "0:0*3,gpu/2". */
#include "base/config.h"
#include "base/log.h"
#include "base/memory.h"
#include "opencl/opencl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char halo_cl_null_prefix[] = "null:";

bool halo_cl_is_null(const char *selector) {
  return strncmp(selector, halo_cl_null_prefix, strlen(halo_cl_null_prefix)) == 0;
}

enum { ITEMS_MOST = 64 };

/* The last "*" or "/" if only digits follow: else it is a part of a name. */
static char *items_find_count(char *selector) {
  char *end = selector + strlen(selector), *at = end;
  while (at > selector && isdigit((unsigned char)at[-1])) at--;
  return at < end && at > selector && strchr("*/", at[-1]) ? at - 1 : NULL;
}

/* "SELECTOR", "SELECTOR*N" (N times) or "SELECTOR/N" (N equal parts) as items. */
static halo_status items_parse_one(const char *text, size_t length, halo_cl_items *items) {
  char *selector = halo_alloc(length + 1);
  memcpy(selector, text, length);
  char *times = halo_cl_is_null(selector) ? NULL : items_find_count(selector);
  long count = 1;
  bool parts = false;
  if (times) {
    count = strtol(times + 1, NULL, 10);
    parts = *times == '/';
    if (count < 1 || count > ITEMS_MOST) {
      halo_status status = halo_fail(HALO_INVALID_ARGUMENT,
                                     "the device \"%s\": after %c comes how many, from 1 to %d",
                                     selector, *times, ITEMS_MOST);
      halo_free(selector);
      return status;
    }
    *times = '\0';
  }
  for (int i = 0; i < count; i++) {
    halo_cl_item item = {halo_strdup(selector), i, parts ? (int)count : 0};
    halo_vec_push(items, item);
  }
  halo_free(selector);
  return HALO_OK;
}

halo_status halo_cl_items_parse(const char *text, halo_cl_items *items) {
  if (!text || !*text) text = halo_config_text(HALO_CONFIG_DEVICE);
  if (!text) text = "";
  for (;;) {
    size_t length = strcspn(text, ",");
    HALO_TRY(items_parse_one(text, length, items));
    if (items->count > ITEMS_MOST) {
      return halo_fail(HALO_INVALID_ARGUMENT, "more than %d devices", ITEMS_MOST);
    }
    if (!text[length]) return HALO_OK;
    text += length + 1;
  }
}

/* ---- Several devices by one word ---- */

static bool items_is_several(const char *selector) {
  return halo_cl_choose_several(NULL, 0, selector, NULL) >= 0;
}

static void items_put_several(const halo_cl_item *item, const halo_cl_listing *list, int count,
                              halo_cl_items *out) {
  int *chosen = halo_alloc(sizeof *chosen * ((size_t)count + 1));
  int several = halo_cl_choose_several(list, count, item->selector, chosen);
  for (int i = 0; i < several; i++) {
    char selector[32];
    const halo_cl_listing *one = &list[chosen[i]];
    snprintf(selector, sizeof selector, "%d:%d", one->platform, one->device);
    HALO_LOG(HALO_LOG_INFO, "device \"%s\": %s is %s of platform %s", item->selector, selector,
             one->caps.product, one->caps.platform);
    halo_cl_item put = {halo_strdup(selector), item->part, item->parts};
    halo_vec_push(out, put);
  }
  if (several <= 0) {
    halo_cl_item same = {halo_strdup(item->selector), item->part, item->parts};
    halo_vec_push(out, same);
  }
  halo_free(chosen);
}

halo_status halo_cl_items_expand(halo_cl_items *items) {
  bool any = false;
  halo_cl_listing *list;
  int count;
  for (int i = 0; i < items->count; i++) any |= items_is_several(items->data[i].selector);
  if (!any) return HALO_OK;
  HALO_TRY(halo_cl_enumerate(NULL, &list, &count));
  halo_cl_items expanded = {0};
  for (int i = 0; i < items->count; i++) {
    items_put_several(&items->data[i], list, count, &expanded);
  }
  halo_free(list);
  halo_cl_items_release(items);
  *items = expanded;
  if (items->count <= ITEMS_MOST) return HALO_OK;
  return halo_fail(HALO_INVALID_ARGUMENT, "more than %d devices", ITEMS_MOST);
}

void halo_cl_items_release(halo_cl_items *items) {
  for (int i = 0; i < items->count; i++) halo_free(items->data[i].selector);
  halo_vec_deinit(items);
}
