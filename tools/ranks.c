/* SPDX-License-Identifier: Apache-2.0 */
/* tools/ranks.c: which process of several has which devices, for `halo info` under mpiexec. */
#include "ranks.h"

#include "parts.h"
#include "tool.h"

#include "os/process.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RANKS_TAG = 1, RANKS_MOST = 8, RANKS_TEXT = 192 };

/* What a process has, as it is sent. */
typedef struct ranks_note {
  char host[64];
  int first, count; /* of its devices, among all processes' */
  char devices[RANKS_MOST][RANKS_TEXT];
  halo_device_identity identities[RANKS_MOST];
} ranks_note;

static bool ranks_look(const char *selector, halo_communicator *communicator, ranks_note *note,
                       int *all) {
  halo_client *client;
  halo_client_options options = {.device = selector, .communicator = communicator};
  if (!tool_check(halo_client_create(&options, &client))) return false;
  if (!halo_os_machine_name(note->host, sizeof note->host)) strcpy(note->host, "?");
  note->first = halo_device_id(halo_client_device(client, 0));
  note->count = halo_client_device_count(client);
  *all = halo_client_global_device_count(client);
  for (int i = 0; i < note->count && i < RANKS_MOST; i++) {
    halo_device_info info;
    halo_device_identity *identity = &note->identities[i];
    halo_device_get_info(halo_client_device(client, i), &info);
    halo_device_get_identity(halo_client_device(client, i), identity);
    snprintf(note->devices[i], RANKS_TEXT, "%s (%s, %u compute unit%s, %s%s%s)", info.name,
             info.kind, info.compute_units, info.compute_units == 1 ? "" : "s",
             tool_bytes(info.memory), identity->address[0] ? ", " : "", identity->address);
  }
  halo_client_release(client);
  return true;
}

/* Waits for a request. */
static bool ranks_await(halo_communicator *c, void *request) {
  for (bool done = false; !done;) {
    const char *trouble = c->test(c->user, request, &done);
    if (trouble) return tool_error("%s", trouble) == TOOL_OK;
    if (!done) nanosleep(&(struct timespec){0, 100000}, NULL);
  }
  return true;
}

/* The first process gets everybody's; the others' request ends when it has taken theirs. */
static bool ranks_gather(halo_communicator *c, ranks_note *notes) {
  void *request;
  for (int p = 1; p < c->process_count; p++) {
    const char *trouble = NULL;
    if (c->process == 0) {
      trouble = c->receive(c->user, p, RANKS_TAG, &notes[p], sizeof *notes, &request);
    } else if (c->process == p) {
      trouble = c->send(c->user, 0, RANKS_TAG, notes, sizeof *notes, &request);
    } else {
      continue;
    }
    if (trouble) return tool_error("%s", trouble) == TOOL_OK;
    if (!ranks_await(c, request)) return false;
  }
  return true;
}

static int ranks_listed(const ranks_note *note) {
  return note->count < RANKS_MOST ? note->count : RANKS_MOST;
}

/* "PLATFORM:DEVICE", or nothing for null devices. */
static const char *ranks_selector(const halo_device_identity *identity, char text[32]) {
  text[0] = '\0';
  if (identity->platform >= 0) snprintf(text, 32, "%d:%d", identity->platform, identity->device);
  return text;
}

static bool ranks_has(const ranks_note *note, const char *host,
                      const halo_device_identity *wanted) {
  for (int i = 0; i < ranks_listed(note) && strcmp(note->host, host) == 0; i++) {
    const halo_device_identity *own = &note->identities[i];
    bool same = own->platform == wanted->platform && own->device == wanted->device;
    /* Several platforms may have one device. */
    if (wanted->address[0]) same = strcmp(own->address, wanted->address) == 0;
    if (same && wanted->platform >= 0) return true;
  }
  return false;
}

/* Which ranks have this device of a rank too: said once, by the first of them. */
static void ranks_print_shared(const ranks_note *notes, int processes, int rank, int device) {
  const ranks_note *note = &notes[rank];
  const halo_device_identity *identity = &note->identities[device];
  char selector[32];
  int shared = 0;
  for (int p = 0; p < rank; p++) {
    if (ranks_has(&notes[p], note->host, identity)) return;
  }
  for (int i = 0; i < device; i++) {
    if (note->identities[i].platform == identity->platform &&
        note->identities[i].device == identity->device) {
      return;
    }
  }
  for (int p = rank + 1; p < processes; p++) {
    if (!ranks_has(&notes[p], note->host, identity)) continue;
    if (shared++ == 0) printf("  ranks %d", rank);
    printf(", %d", p);
  }
  if (shared) {
    printf(" share device %s of %s\n", ranks_selector(identity, selector), note->host);
  }
}

static void ranks_print(const ranks_note *notes, int processes, int all) {
  int width = 4;
  for (int p = 0; p < processes; p++) {
    if ((int)strlen(notes[p].host) > width) width = (int)strlen(notes[p].host);
  }
  printf("%d processes with %d device%s\n\n", processes, all, all == 1 ? "" : "s");
  printf("  rank  %-*s  device\n", width, "host");
  char selector[32];
  for (int p = 0; p < processes; p++) {
    for (int i = 0; i < ranks_listed(&notes[p]); i++) {
      printf("  %4d  %-*s  %d: %s %s\n", p, width, notes[p].host, notes[p].first + i,
             ranks_selector(&notes[p].identities[i], selector), notes[p].devices[i]);
    }
    if (notes[p].count > RANKS_MOST) {
      printf("  %4d  %-*s  and %d more\n", p, width, notes[p].host, notes[p].count - RANKS_MOST);
    }
  }
  for (int p = 0; p < processes; p++) {
    for (int i = 0; i < ranks_listed(&notes[p]); i++) ranks_print_shared(notes, processes, p, i);
  }
  printf("\nThe first process's machine:\n\n");
}

int ranks_show(const char *selector, halo_communicator *communicator) {
  int count = communicator->process_count, all = 0;
  ranks_note *notes = tool_alloc(sizeof *notes * (size_t)count);
  bool ok = ranks_look(selector, communicator, notes, &all) && ranks_gather(communicator, notes);
  if (ok && communicator->process == 0) ranks_print(notes, count, all);
  free(notes);
  return ok ? TOOL_OK : TOOL_FAILED;
}
