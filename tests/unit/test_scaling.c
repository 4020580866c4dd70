/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_scaling.c: what each of up to 4096 processes sends in an all-reduce, counted where messages go to
 * the communicator: schedules and exchanges are those that programs use, and processes are worlds of this one. The
 * table that is printed is that of docs/cluster.md. */
#include "collectives/schedule.h"
#include "collectives/world.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- A network that counts ---- */

typedef struct net_message {
  struct net_message *next;
  int from, tag;
  const void *data;
  size_t bytes;
} net_message;

typedef struct net_node {
  halo_communicator communicator;
  struct network *network;
  net_message *first, **last;
  int64_t messages, bytes; /* sent */
} net_node;

typedef struct network {
  int count;
  net_node *nodes;
  bool swallows; /* what is sent is gone */
} network;

/* A receive that has not happened; sends are over at once, since what they send stays. */
typedef struct net_request {
  int from, tag;
  void *data;
  size_t bytes;
} net_request;

static const char *net_send(void *user, int to, int tag, const void *data, size_t bytes,
                            void **out) {
  net_node *node = user;
  *out = calloc(1, sizeof(net_request));
  node->messages++;
  node->bytes += (int64_t)bytes;
  if (node->network->swallows) return NULL;
  net_message *message = malloc(sizeof *message + (tag == 0 ? bytes : 0));
  *message = (net_message){NULL, node->communicator.process, tag, data, bytes};
  /* Letters are freed when they are sent. */
  if (tag == 0) message->data = memcpy(message + 1, data, bytes);
  net_node *target = &node->network->nodes[to];
  *target->last = message;
  target->last = &message->next;
  return NULL;
}

static const char *net_receive(void *user, int from, int tag, void *data, size_t bytes,
                               void **out) {
  (void)user;
  net_request *request = malloc(sizeof *request);
  *request = (net_request){from, tag, data, bytes};
  *out = request;
  return NULL;
}

static net_message *net_take(net_node *node, int from, int tag) {
  for (net_message **at = &node->first; *at; at = &(*at)->next) {
    net_message *message = *at;
    if (message->tag != tag || (from >= 0 && message->from != from)) continue;
    *at = message->next;
    if (!*at) node->last = at;
    return message;
  }
  return NULL;
}

/* Bytes of large messages are not moved: they are the same everywhere. */
static const char *net_test(void *user, void *data, bool *done) {
  net_request *request = data;
  net_message *message = request->tag ? net_take(user, request->from, request->tag) : NULL;
  *done = !request->tag || message;
  free(message);
  if (*done) free(request);
  return NULL;
}

static const char *net_poll(void *user, void *data, size_t room, int *from, size_t *bytes) {
  net_message *message = net_take(user, -1, 0);
  *from = -1;
  if (!message) return NULL;
  ck_assert_uint_le(message->bytes, room);
  memcpy(data, message->data, message->bytes);
  *from = message->from;
  *bytes = message->bytes;
  free(message);
  return NULL;
}

static void net_close(halo_communicator *communicator) { (void)communicator; }

/* ---- All processes at once ---- */

typedef struct process {
  halo_world *world;
  halo_round round;
  halo_message *sends, *receives;
  halo_exchange_state *state;
} process;

static process *open_all(network *net) {
  process *all = calloc((size_t)net->count, sizeof *all);
  int32_t *devices = calloc((size_t)net->count, sizeof *devices);
  net->nodes = calloc((size_t)net->count, sizeof *net->nodes);
  for (int p = 0; p < net->count; p++) devices[p] = 1;
  for (int p = 0; p < net->count; p++) {
    net_node *node = &net->nodes[p];
    *node = (net_node){.communicator = {.name = "counting",
                                        .process = p,
                                        .process_count = net->count,
                                        .local = -1,
                                        .max_tag = 1 << 20,
                                        .concurrent = true,
                                        .user = node,
                                        .send = net_send,
                                        .receive = net_receive,
                                        .test = net_test,
                                        .poll = net_poll,
                                        .close = net_close},
                       .network = net};
    node->last = &node->first;
    all[p].world = halo_world_make(&node->communicator, 600);
    halo_world_place(all[p].world, devices);
  }
  free(devices);
  return all;
}

static void close_all(network *net, process *all) {
  for (int p = 0; p < net->count; p++) {
    halo_world_release(all[p].world);
    halo_communicator_close(&net->nodes[p].communicator);
    halo_round_deinit(&all[p].round);
  }
  free(all);
  free(net->nodes);
}

/* Nobody reads what arrives, so that one memory serves for all. */
static void begin(process *me, halo_schedule s, int place, int round, char *memory, bool receives) {
  s.place = place;
  halo_schedule_round(&s, round, &me->round);
  int32_t sends = me->round.sends.count, wanted = receives ? me->round.receives.count : 0;
  me->sends = calloc((size_t)(sends + wanted) + 1, sizeof *me->sends);
  me->receives = me->sends + sends;
  for (int32_t i = 0; i < sends; i++) {
    const halo_piece *p = &me->round.sends.data[i];
    me->sends[i] = (halo_message){p->member, p->lane, memory, p->bytes};
  }
  for (int32_t i = 0; i < wanted; i++) {
    const halo_piece *p = &me->round.receives.data[i];
    me->receives[i] = (halo_message){p->member, p->lane, memory, p->bytes};
  }
  halo_exchange x = {.key = {1, 1, (uint32_t)s.kind, (uint32_t)round},
                     .device = place,
                     .what = "counting",
                     .sends = me->sends,
                     .receives = me->receives,
                     .send_count = sends,
                     .receive_count = wanted};
  me->state = halo_world_begin(me->world, &x);
}

static void end(process *me) {
  ck_assert_int_eq(halo_world_end(me->state), HALO_OK);
  free(me->sends);
}

static void do_all(network *net, process *all, halo_schedule s, char *memory) {
  for (int r = 0; r < halo_schedule_rounds(&s); r++) {
    for (int p = 0; p < net->count; p++) begin(&all[p], s, p, r, memory, true);
    for (bool over = false; !over;) {
      over = true;
      for (int p = 0; p < net->count; p++) over &= halo_world_look(all[p].state);
    }
    for (int p = 0; p < net->count; p++) end(&all[p]);
  }
}

/* One process of so many that it alone is done. */
static void do_one(process *all, halo_schedule s, char *memory) {
  for (int r = 0; r < halo_schedule_rounds(&s); r++) {
    begin(&all[0], s, 0, r, memory, false);
    end(&all[0]);
  }
}

/* An all-reduce is a gather where it is small in all, else a swap of parts and a gather of these. */
static void all_reduce(int count, size_t bytes, bool alone, int64_t *messages, int64_t *sent) {
  network net = {.count = count, .swallows = alone};
  process *all = open_all(&net);
  bool small = bytes * (size_t)count <= 128 << 10;
  size_t part = (bytes + (size_t)count - 1) / (size_t)count;
  char *memory = calloc(bytes * 2 + (size_t)count * 64, 1);
  halo_schedule swap = {HALO_SCHEDULE_SWAP, count, 0, part};
  halo_schedule gather = {HALO_SCHEDULE_GATHER, count, 0, small ? bytes : part};
  if (!small && alone) do_one(all, swap, memory);
  if (!small && !alone) do_all(&net, all, swap, memory);
  if (alone) do_one(all, gather, memory);
  if (!alone) do_all(&net, all, gather, memory);
  *messages = *sent = 0;
  for (int p = 0; p < count; p++) {
    if (net.nodes[p].messages > *messages) *messages = net.nodes[p].messages;
    if (net.nodes[p].bytes > *sent) *sent = net.nodes[p].bytes;
  }
  close_all(&net, all);
  free(memory);
}

static int log2_above(int count) {
  int bits = 0;
  while (1 << bits < count) bits++;
  return bits;
}

/* Messages are at most two for each that a schedule has: an announcement, and bytes that it has no room for. */
START_TEST(all_reduces) {
  static const int counts[] = {2, 4, 8, 64, 512, 4096};
  static const size_t sizes[] = {8, 64 << 10, 64 << 20};
  printf("%6s %12s %12s %16s\n", "ranks", "bytes", "messages", "bytes sent");
  for (size_t b = 0; b < sizeof sizes / sizeof sizes[0]; b++) {
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
      int n = counts[c], bits = log2_above(n);
      int64_t messages, sent;
      bool alone = n > 64 && sizes[b] > 1 << 20;
      all_reduce(n, sizes[b], alone, &messages, &sent);
      printf("%6d %12zu %12lld %16lld\n", n, sizes[b], (long long)messages, (long long)sent);
      bool direct = n <= HALO_SCHEDULE_FEW || sizes[b] > 1 << 20;
      int64_t most = direct ? 4 * (int64_t)(n - 1) : 6 * bits;
      if (sizes[b] > 1 << 20) most *= (int64_t)(sizes[b] / (size_t)n / (4 << 20)) + 1;
      ck_assert_int_le(messages, most);
      /* Twice the array where it is large; Bruck's swap moves half of it in each round. */
      double factor = sizes[b] > 1 << 20 ? 2.1 : 2.1 + bits / 2.0;
      if (sizes[b] > 8)
        ck_assert_double_le((double)sent, factor * (double)sizes[b] + 100.0 * 4 * n);
    }
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("scaling");
  TCase *cases = tcase_create("scaling");
  tcase_set_timeout(cases, 240);
  tcase_add_test(cases, all_reduces);
  suite_add_tcase(suite, cases);
  return suite_run(suite);
}
