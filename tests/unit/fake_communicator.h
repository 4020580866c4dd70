/* SPDX-License-Identifier: Apache-2.0 */
/* unit/fake_communicator.h: "processes" that are threads of one: a communicator for each, over queues. */
#ifndef HALO_TESTS_FAKE_COMMUNICATOR_H
#define HALO_TESTS_FAKE_COMMUNICATOR_H

#include "halo/communicator.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FAKE_PROCESSES = 4 };

/* A message on its way, until it is received. */
typedef struct fake_message {
  struct fake_message *next;
  int from, to, tag;
  const void *data;
  size_t bytes;
  bool received;
  void *request; /* of its sender */
} fake_message;

typedef struct fake_network {
  pthread_mutex_t lock;
  fake_message *first;
  int count, tests; /* of processes; how often requests were asked for */
  int fail_sends;   /* sends of this process fail */
  bool held;        /* nothing arrives */
  struct fake_node {
    halo_communicator communicator;
    struct fake_network *network;
    int closed;
  } nodes[FAKE_PROCESSES];
} fake_network;

/* A send, or a receive that looks for its message when it is tested. */
typedef struct fake_request {
  fake_message *sent;
  int from, tag;
  void *data;
  size_t bytes;
} fake_request;

static inline const char *fake_send(void *user, int to, int tag, const void *data, size_t bytes,
                                    void **out) {
  struct fake_node *node = user;
  fake_network *network = node->network;
  if (network->fail_sends == node->communicator.process + 1) return "the wire is cut";
  fake_request *request = calloc(1, sizeof *request);
  fake_message *message = calloc(1, sizeof *message);
  *message = (fake_message){NULL, node->communicator.process, to, tag, data, bytes, false, request};
  request->sent = message;
  pthread_mutex_lock(&network->lock);
  fake_message **at = &network->first;
  while (*at) at = &(*at)->next;
  *at = message;
  pthread_mutex_unlock(&network->lock);
  *out = request;
  return NULL;
}

static inline const char *fake_receive(void *user, int from, int tag, void *data, size_t bytes,
                                       void **out) {
  (void)user;
  fake_request *request = calloc(1, sizeof *request);
  *request = (fake_request){NULL, from, tag, data, bytes};
  *out = request;
  return NULL;
}

/* Takes a message out and copies it; the lock is held. */
static inline bool fake_take(fake_network *network, int from, int to, int tag, void *data,
                             size_t room, size_t *bytes, int *who) {
  if (network->held) return false;
  for (fake_message **at = &network->first; *at; at = &(*at)->next) {
    fake_message *message = *at;
    if (message->to != to || message->tag != tag || (from >= 0 && message->from != from)) continue;
    if (message->bytes > room) abort();
    if (message->bytes) memcpy(data, message->data, message->bytes);
    *bytes = message->bytes;
    *who = message->from;
    *at = message->next;
    message->received = true;
    return true;
  }
  return false;
}

static inline const char *fake_test(void *user, void *data, bool *done) {
  struct fake_node *node = user;
  fake_network *network = node->network;
  fake_request *request = data;
  size_t bytes;
  int who;
  pthread_mutex_lock(&network->lock);
  network->tests++;
  *done = request->sent ? request->sent->received
                        : fake_take(network, request->from, node->communicator.process,
                                    request->tag, request->data, request->bytes, &bytes, &who);
  pthread_mutex_unlock(&network->lock);
  if (*done) {
    free(request->sent);
    free(request);
  }
  return NULL;
}

static inline const char *fake_poll(void *user, void *data, size_t room, int *from, size_t *bytes) {
  struct fake_node *node = user;
  pthread_mutex_lock(&node->network->lock);
  *from = -1;
  fake_take(node->network, -1, node->communicator.process, 0, data, room, bytes, from);
  pthread_mutex_unlock(&node->network->lock);
  return NULL;
}

static inline void fake_close(halo_communicator *communicator) {
  ((struct fake_node *)communicator->user)->closed++;
}

static inline fake_network *fake_create(int count) {
  fake_network *network = calloc(1, sizeof *network);
  pthread_mutex_init(&network->lock, NULL);
  network->count = count;
  for (int i = 0; i < count; i++) {
    struct fake_node *node = &network->nodes[i];
    node->network = network;
    node->communicator = (halo_communicator){.name = "fake",
                                             .process = i,
                                             .process_count = count,
                                             .local = -1,
                                             .max_tag = 1000,
                                             .concurrent = i % 2 == 0,
                                             .user = node,
                                             .send = fake_send,
                                             .receive = fake_receive,
                                             .test = fake_test,
                                             .poll = fake_poll,
                                             .close = fake_close};
  }
  return network;
}

static fake_message *fake_lost;

/* What nobody received stays, as do its memory and its request, whose owner has given up on them: a network may
 * read them for ever. */
static inline void fake_release(fake_network *network) {
  fake_message **end = &fake_lost;
  while (*end) end = &(*end)->next;
  *end = network->first;
  pthread_mutex_destroy(&network->lock);
  free(network);
}

#endif
