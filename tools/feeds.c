/* SPDX-License-Identifier: Apache-2.0 */
/* tools/feeds.c: what programs take from the infeed queue, and put into the outfeed queue. */
#include "feeds.h"

#include "tool.h"

#include "halo/npy.h"

#include <stdlib.h>
#include <string.h>

static void feeds_push(feed_list *list, halo_literal *item) {
  list->data = tool_realloc(list->data, sizeof(halo_literal *) * ((size_t)list->count + 1));
  list->data[list->count++] = item;
}

/* Members `from` to `to - 1` as one item. */
static bool feeds_read_item(halo_npz *npz, int from, int to, bool parts, feed_list *out) {
  feed_list leaves = {0};
  bool ok = true;
  for (int i = from; i < to && ok; i++) {
    halo_literal *leaf = NULL;
    ok = tool_check(halo_npz_read(npz, i, HALO_TYPE_INVALID, &leaf));
    if (ok) feeds_push(&leaves, leaf);
  }
  halo_literal *item = NULL;
  if (ok && parts) {
    ok = tool_check(halo_literal_create_tuple(leaves.count, leaves.data, &item));
  } else if (ok) {
    item = leaves.data[0];
    leaves.count = 0;
  }
  if (item) feeds_push(out, item);
  feeds_release(&leaves);
  return ok;
}

bool feeds_read(const char *path, feed_list *out) {
  if (!tool_ends_with(path, ".npz")) {
    halo_literal *item;
    if (!tool_check(halo_npy_read(path, HALO_TYPE_INVALID, &item))) return false;
    feeds_push(out, item);
    return true;
  }
  halo_npz *npz;
  if (!tool_check(halo_npz_open(path, &npz))) return false;
  bool ok = true;
  for (int i = 0, next; i < halo_npz_count(npz) && ok; i = next) {
    const char *name = halo_npz_name(npz, i), *dot = strchr(name, '.');
    next = i + 1;
    size_t length = dot ? (size_t)(dot - name) + 1 : 0;
    while (dot && next < halo_npz_count(npz) &&
           strncmp(halo_npz_name(npz, next), name, length) == 0) {
      next++;
    }
    ok = feeds_read_item(npz, i, next, dot != NULL, out);
  }
  halo_npz_close(npz);
  return ok;
}

bool feeds_give(halo_device *device, const feed_list *items) {
  bool ok = true;
  for (int i = 0; i < items->count && ok; i++) {
    ok = tool_check(halo_device_infeed(device, items->data[i]));
  }
  halo_device_close_feeds(device);
  return ok;
}

void feeds_take(halo_device *device, feed_list *out) {
  halo_literal *item;
  while (halo_device_outfeed(device, false, &item) == HALO_OK) feeds_push(out, item);
}

/* The arrays that a literal is made of, in order, with the name of each. */
typedef void feeds_leaf_fn(void *user, const char *name, halo_literal *leaf);

static void feeds_leaves(halo_literal *literal, const char *name, feeds_leaf_fn *fn, void *user) {
  const halo_shape *shape = halo_literal_shape(literal);
  if (halo_shape_type(shape) != HALO_TUPLE) {
    fn(user, name, literal);
    return;
  }
  for (int i = 0; i < halo_shape_tuple_count(shape); i++) {
    char *part = tool_printf("%s.%d", name, i);
    feeds_leaves(halo_literal_element(literal, i), part, fn, user);
    free(part);
  }
}

static void feeds_print_leaf(void *user, const char *name, halo_literal *leaf) {
  printf("Outfeed %s: %s\n", name, tool_shape(halo_literal_shape(leaf)));
  output_value(leaf, *(const output_mode *)user);
  putchar('\n');
}

void feeds_print(const feed_list *items, output_mode mode) {
  for (int i = 0; i < items->count && mode != OUTPUT_NONE; i++) {
    char *name = tool_printf("%d", i);
    feeds_leaves(items->data[i], name, feeds_print_leaf, &mode);
    free(name);
  }
}

typedef struct feeds_named {
  char **names;
  const halo_literal **leaves;
  int count;
} feeds_named;

static void feeds_name_leaf(void *user, const char *name, halo_literal *leaf) {
  feeds_named *list = user;
  size_t count = (size_t)list->count + 1;
  list->names = tool_realloc(list->names, sizeof *list->names * count);
  list->leaves = tool_realloc(list->leaves, sizeof *list->leaves * count);
  list->names[list->count] = tool_strdup(name);
  list->leaves[list->count++] = leaf;
}

bool feeds_write(const char *path, const feed_list *items) {
  feeds_named list = {0};
  for (int i = 0; i < items->count; i++) {
    char *name = tool_printf("%d", i);
    feeds_leaves(items->data[i], name, feeds_name_leaf, &list);
    free(name);
  }
  bool ok =
      tool_check(halo_npz_write(path, list.count, (const char *const *)list.names, list.leaves));
  for (int i = 0; i < list.count; i++) free(list.names[i]);
  free(list.names);
  free(list.leaves);
  return ok;
}

void feeds_release(feed_list *items) {
  for (int i = 0; i < items->count; i++) halo_literal_release(items->data[i]);
  free(items->data);
  *items = (feed_list){0};
}
