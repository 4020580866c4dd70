/* tools/ranks.c: which process of several has which devices, for `halo info` under mpiexec. */
#include "ranks.h"

#include "parts.h"
#include "tool.h"

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
} ranks_note;

static bool ranks_look(const char *selector, halo_communicator *communicator, ranks_note *note,
                       int *all) {
  halo_client *client;
  halo_client_options options = {.device = selector, .communicator = communicator};
  if (!tool_check(halo_client_create(&options, &client))) return false;
  if (gethostname(note->host, sizeof note->host - 1) != 0) strcpy(note->host, "?");
  note->first = halo_device_id(halo_client_device(client, 0));
  note->count = halo_client_device_count(client);
  *all = halo_client_global_device_count(client);
  for (int i = 0; i < note->count && i < RANKS_MOST; i++) {
    halo_device_info info;
    halo_device_get_info(halo_client_device(client, i), &info);
    snprintf(note->devices[i], RANKS_TEXT, "%s (%s, %u compute unit%s, %s)", info.name, info.kind,
             info.compute_units, info.compute_units == 1 ? "" : "s", tool_bytes(info.memory));
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

static void ranks_print(const ranks_note *notes, int processes, int all) {
  int width = 4;
  for (int p = 0; p < processes; p++) {
    if ((int)strlen(notes[p].host) > width) width = (int)strlen(notes[p].host);
  }
  printf("%d processes with %d device%s\n\n", processes, all, all == 1 ? "" : "s");
  printf("  rank  %-*s  device\n", width, "host");
  for (int p = 0; p < processes; p++) {
    for (int i = 0; i < notes[p].count && i < RANKS_MOST; i++) {
      printf("  %4d  %-*s  %d: %s\n", p, width, notes[p].host, notes[p].first + i,
             notes[p].devices[i]);
    }
    if (notes[p].count > RANKS_MOST) {
      printf("  %4d  %-*s  and %d more\n", p, width, notes[p].host, notes[p].count - RANKS_MOST);
    }
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
