/* SPDX-License-Identifier: Apache-2.0 */
/* tools/parts.c: several devices, of one process or of several. */
#include "parts.h"

#include "tool.h"

#include <stdlib.h>
#include <string.h>

bool parts_connect(halo_communicator **out) {
  *out = NULL;
  const char *name = halo_communicator_default();
  if (!name) return true;
  if (halo_communicator_open(name, out) != HALO_OK) {
    tool_error("%sthe processes cannot be connected: %s",
               halo_is_launched() ? "this was started by mpiexec, but " : "", halo_error_message());
    return false;
  }
  if ((*out)->process_count > 1) tool_set_rank((*out)->process);
  return true;
}

void parts_disconnect(halo_communicator *communicator, int code) {
  if (!communicator) return;
  /* Who started us ends the others, which may be waiting for this one. */
  if (code != TOOL_OK) communicator->broken = true;
  halo_communicator_close(communicator);
}

/* "0:0*4" for the one device that the selector means; NULL when it means several, or none. */
static char *parts_multiply(const char *selector, int count) {
  halo_device_entry *list;
  int found, chosen = -1, uses = 0;
  char *text = NULL;
  if (halo_device_list(selector, &list, &found) != HALO_OK) return NULL;
  for (int i = 0; i < found; i++) {
    if (!list[i].chosen) continue;
    chosen = i;
    uses += list[i].uses;
  }
  if (uses == 1 && strcmp(list[chosen].info.kind, "null") != 0) {
    text = tool_printf("%d:%d*%d", list[chosen].platform, list[chosen].device, count);
  }
  halo_device_list_release(list);
  return text;
}

bool parts_open(const halo_module *module, const halo_client_options *options, parts_counts *counts,
                halo_client **out) {
  const halo_communicator *communicator = options->communicator;
  int processes = communicator ? communicator->process_count : 1;
  int replicas = counts->replicas, partitions = counts->partitions;
  if (!replicas) replicas = module ? halo_module_replica_count(module) : 1;
  if (!partitions) partitions = module ? halo_module_partition_count(module) : 1;
  bool said = counts->replicas || counts->partitions || replicas * partitions > 1;
  halo_client_options each = *options;
  char *several = NULL;
  /* Each process has its share: they differ by one where the parts do not go up. */
  int64_t parts = (int64_t)replicas * partitions, me = communicator ? communicator->process : 0;
  int64_t wanted = parts * (me + 1) / processes - parts * me / processes;
  if (said && wanted > 1 && wanted <= 64) several = parts_multiply(options->device, (int)wanted);
  if (several) each.device = several;
  bool ok = tool_check(halo_client_create(&each, out));
  free(several);
  if (!ok) return false;
  int devices = halo_client_global_device_count(*out);
  if (!said && processes > 1) replicas = devices;
  *counts = (parts_counts){replicas, partitions};
  return true;
}

/* One of the words at `text`, in braces: its length, and the number that it stands for. */
static size_t parts_word(const char *text, parts_place place, int *number) {
  const struct {
    const char *word;
    int number;
  } words[] = {
      {"{replica}", place.replica}, {"{partition}", place.partition}, {"{rank}", place.rank}};
  for (int w = 0; w < 3; w++) {
    size_t length = strlen(words[w].word);
    if (strncmp(text, words[w].word, length) != 0) continue;
    *number = words[w].number;
    return length;
  }
  return 0;
}

char *parts_text(const char *pattern, parts_place place) {
  char *text = tool_strdup("");
  while (*pattern) {
    int number = 0;
    size_t length = parts_word(pattern, place, &number);
    char *longer = length ? tool_printf("%s%d", text, number) : tool_printf("%s%c", text, *pattern);
    free(text);
    text = longer;
    pattern += length ? length : 1;
  }
  return text;
}

char *parts_path(const char *pattern, parts_place place, parts_counts counts) {
  char *text = parts_text(pattern, place);
  if (counts.replicas * counts.partitions == 1 || strcmp(text, pattern) != 0) return text;
  char *part = counts.partitions == 1 ? tool_printf("r%d", place.replica)
               : counts.replicas == 1 ? tool_printf("p%d", place.partition)
                                      : tool_printf("r%dp%d", place.replica, place.partition);
  const char *slash = strrchr(text, '/'), *dot = strrchr(text, '.');
  bool ends = dot && (!slash || dot > slash);
  int stem = ends ? (int)(dot - text) : (int)strlen(text);
  char *path = tool_printf("%.*s%s%s%s", stem, text, ends ? "." : "/", part, ends ? dot : "");
  free(part);
  free(text);
  return path;
}

const char *parts_name(parts_place place, parts_counts counts) {
  static char text[64];
  if (counts.partitions == 1) {
    snprintf(text, sizeof text, "replica %d", place.replica);
  } else if (counts.replicas == 1) {
    snprintf(text, sizeof text, "partition %d", place.partition);
  } else {
    snprintf(text, sizeof text, "replica %d, partition %d", place.replica, place.partition);
  }
  return text;
}
