/* SPDX-License-Identifier: Apache-2.0 */
/* tcp/communicator.c: the communicator's functions. */
#include "base/clock.h"
#include "base/memory.h"
#include "tcp/tcp.h"

#include <linux/sockios.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Seconds that the last messages may take to leave. */
static const double communicator_farewell = 5;
/* Seconds for which one that was lost is not spoken of to who waits for anybody: its last messages are here, and what
 * is under way may need no more of it. */
static const double communicator_grace = 0.3;

/* Why the peer is of no use any more. The peer that was lost first is the cause: the others end because they noticed that. */
static const char *communicator_trouble(const tcp_user *user, const tcp_peer *peer) {
  if (!user->gone || user->gone == peer) return tcp_say("%s", peer->trouble);
  return tcp_say("%s; then %s", user->gone->trouble, peer->trouble);
}

/* ---- Requests ---- */

static tcp_request *communicator_request(tcp_user *user, tcp_peer *peer, int tag, const void *data,
                                         size_t bytes) {
  tcp_request *request = halo_alloc(sizeof *request);
  request->peer = peer;
  request->tag = tag;
  request->data = (char *)data;
  request->bytes = bytes;
  request->polls = user->polls;
  request->after = user->all;
  if (user->all) user->all->before = request;
  user->all = request;
  return request;
}

static void communicator_free(tcp_user *user, tcp_request *request) {
  if (request->after) request->after->before = request->before;
  if (request->before) {
    request->before->after = request->after;
  } else {
    user->all = request->after;
  }
  halo_free(request);
}

/* The process that a message goes to or comes from; NULL: there is no such other one. */
static tcp_peer *communicator_peer(tcp_user *user, int process) {
  const halo_communicator *c = &user->communicator;
  bool other = process >= 0 && process < c->process_count && process != c->process;
  return other ? &user->peers[process] : NULL;
}

static const char *communicator_send(void *data, int to, int tag, const void *bytes, size_t size,
                                     void **out) {
  tcp_user *user = data;
  tcp_peer *peer = communicator_peer(user, to);
  if (!peer) return tcp_say("there is no other process %d to send to", to);
  if (tag < 0 || (tag == 0 && size > TCP_EAGER)) {
    return tcp_say("a message with tag %d cannot have %zu bytes", tag, size);
  }
  pthread_mutex_lock(&user->lock);
  if (peer->gone || peer->left) {
    const char *trouble = communicator_trouble(user, peer);
    pthread_mutex_unlock(&user->lock);
    return trouble;
  }
  tcp_request *request = communicator_request(user, peer, tag, bytes, size);
  request->id = user->next_id++;
  request->sends = true;
  *out = request;
  if (tag == 0 && (peer->held.first || !tcp_pay(peer, size))) {
    TCP_APPEND(&peer->held, request);
  } else if (tag == 0 || (size <= TCP_EAGER && tcp_pay(peer, size))) {
    tcp_put_message(peer, request);
  } else {
    tcp_put_offer(peer, request);
  }
  tcp_write(user, peer);
  pthread_mutex_unlock(&user->lock);
  return NULL;
}

/* Takes what has come already; false: nothing has, or its size is another (`*trouble`). */
static bool communicator_take(tcp_peer *peer, tcp_request *request, const char **trouble) {
  tcp_parcel *parcel = peer->kept.first;
  while (parcel && (parcel->tag != request->tag || parcel->taker)) parcel = parcel->next;
  if (!parcel) return false;
  if (parcel->bytes != request->bytes) {
    *trouble = tcp_say("process %d sent %zu bytes with tag %d where %zu were expected",
                       peer->process, parcel->bytes, request->tag, request->bytes);
    return false;
  }
  if (!parcel->offer && !parcel->whole) {
    parcel->taker = request;
    return true;
  }
  if (parcel->offer) {
    tcp_want(peer, request, parcel->id);
  } else {
    tcp_deliver(peer, parcel, request);
  }
  halo_free(tcp_parcels_take(&peer->kept, parcel));
  return true;
}

static const char *communicator_receive(void *data, int from, int tag, void *bytes, size_t size,
                                        void **out) {
  tcp_user *user = data;
  tcp_peer *peer = communicator_peer(user, from);
  const char *trouble = NULL;
  if (!peer) return tcp_say("there is no other process %d to receive from", from);
  if (tag <= 0) return tcp_say("messages with tag %d are not received by their tag", tag);
  pthread_mutex_lock(&user->lock);
  tcp_request *request = communicator_request(user, peer, tag, bytes, size);
  bool taken = communicator_take(peer, request, &trouble);
  bool ended = peer->gone || peer->left;
  /* What came whole before the end is there still. */
  if (!trouble && ended && request->state != TCP_DONE) trouble = communicator_trouble(user, peer);
  if (trouble) {
    request->state = TCP_FAILED;
  } else if (!taken) {
    TCP_APPEND(&peer->posted, request);
    if (peer->paused) tcp_read(user, peer);
  }
  if (!ended) tcp_write(user, peer);
  *out = request;
  pthread_mutex_unlock(&user->lock);
  return trouble;
}

static const char *communicator_test(void *data, void *handle, bool *done) {
  tcp_user *user = data;
  tcp_request *request = handle;
  const char *trouble = NULL;
  pthread_mutex_lock(&user->lock);
  /* Who asks for many requests in a row moves things once. */
  if (request->state == TCP_OPEN && request->polls == user->polls) tcp_progress(user);
  request->polls = user->polls;
  *done = request->state == TCP_DONE;
  if (request->state == TCP_FAILED) trouble = communicator_trouble(user, request->peer);
  if (*done) communicator_free(user, request);
  pthread_mutex_unlock(&user->lock);
  return trouble;
}

static const char *communicator_poll(void *data, void *bytes, size_t room, int *from,
                                     size_t *size) {
  tcp_user *user = data;
  const char *trouble = NULL;
  *from = -1;
  pthread_mutex_lock(&user->lock);
  if (!user->mail.first) tcp_progress(user);
  tcp_parcel *parcel = user->mail.first;
  if (parcel && parcel->bytes > room) {
    trouble = tcp_say("process %d sent %zu bytes with tag 0 where there is room for %zu",
                      parcel->from, parcel->bytes, room);
  } else if (parcel) {
    tcp_peer *peer = &user->peers[parcel->from];
    if (parcel->bytes) memcpy(bytes, parcel->data, parcel->bytes);
    *from = parcel->from;
    *size = parcel->bytes;
    halo_free(tcp_parcels_take(&user->mail, parcel));
    tcp_owe(peer, *size);
    if (peer->small.first) tcp_write(user, peer);
  } else if (user->gone && halo_clock() > user->gone_since + communicator_grace) {
    trouble = tcp_say("%s", user->gone->trouble);
  }
  pthread_mutex_unlock(&user->lock);
  return trouble;
}

/* Threads that write or read do so without the lock, and for a moment only. */
static void communicator_move(void *data, void *handle, void *memory) {
  tcp_user *user = data;
  tcp_request *request = handle;
  tcp_peer *peer = request->peer;
  tcp_frame *frame = &request->frame;
  pthread_mutex_lock(&user->lock);
  while (request->state == TCP_OPEN && (peer->writing || peer->reading)) {
    pthread_mutex_unlock(&user->lock);
    sched_yield();
    pthread_mutex_lock(&user->lock);
  }
  if (request->sends) memcpy(memory, request->data, request->bytes);
  if (frame->payload) frame->payload = (char *)memory + (frame->payload - request->data);
  if (peer->into == request) peer->target = (char *)memory + (peer->target - request->data);
  request->data = memory;
  pthread_mutex_unlock(&user->lock);
}

/* ---- The end ---- */

/* Whether the peer takes what is still to be written, which is something. */
static bool communicator_owes(const tcp_peer *peer) {
  if (peer->fd < 0 || peer->mute) return false;
  return peer->small.first || peer->large.first || peer->held.first;
}

/* Whether the system has bytes that have not arrived on the other side. On this machine there are none such. */
static bool communicator_carries(const tcp_peer *peer) {
  int left = 0;
  if (peer->fd < 0 || peer->mute || peer->local) return false;
  return ioctl(peer->fd, SIOCOUTQ, &left) == 0 && left > 0;
}

/* Waits until all is written, or arrived, or `until`. */
static void communicator_settle(tcp_user *user, bool arrived, double until) {
  for (bool open = true; open && halo_clock() < until;) {
    open = false;
    tcp_progress(user);
    for (int p = 0; p < user->communicator.process_count; p++) {
      const tcp_peer *peer = &user->peers[p];
      open |= communicator_owes(peer) || (arrived && communicator_carries(peer));
    }
    if (!open) return;
    pthread_mutex_unlock(&user->lock);
    nanosleep(&(struct timespec){0, 50000}, NULL);
    pthread_mutex_lock(&user->lock);
  }
}

static void communicator_free_all(tcp_user *user) {
  for (int p = 0; p < user->communicator.process_count; p++) {
    tcp_peer *peer = &user->peers[p];
    tcp_fail_frames(peer);
    while (peer->kept.first) halo_free(tcp_parcels_take(&peer->kept, peer->kept.first));
    if (peer->parcel && peer->parcel->tag == 0) halo_free(peer->parcel);
    halo_free(peer->stage);
    if (peer->fd >= 0) close(peer->fd);
  }
  while (user->mail.first) halo_free(tcp_parcels_take(&user->mail, user->mail.first));
  while (user->all) communicator_free(user, user->all);
  if (user->epoll >= 0) close(user->epoll);
  pthread_mutex_destroy(&user->lock);
  halo_free(user);
}

/* What was sent arrives: the system goes on with it after this, unless something that it has for us was not read. So
 * only that is waited for which others have not taken. */
static void communicator_close(halo_communicator *communicator) {
  tcp_user *user = communicator->user;
  pthread_mutex_lock(&user->lock);
  if (!communicator->broken) {
    double until = halo_clock() + communicator_farewell;
    communicator_settle(user, false, until);
    for (int p = 0; p < communicator->process_count; p++) {
      tcp_peer *peer = &user->peers[p];
      if (peer->fd >= 0) tcp_put(peer, &(tcp_header){.kind = TCP_BYE});
      if (peer->fd >= 0) tcp_write(user, peer);
    }
    communicator_settle(user, true, until);
  }
  pthread_mutex_unlock(&user->lock);
  communicator_free_all(user);
}

/* ---- The beginning ---- */

/* How many processes before this one are on its machine. */
static int communicator_local(const tcp_card *cards, int process) {
  int local = 0;
  for (int p = 0; p < process; p++) local += strcmp(cards[p].machine, cards[process].machine) == 0;
  return local;
}

/* Takes the connections over. */
static const char *communicator_create(const tcp_card *cards, int process, int count,
                                       const int *fds, halo_communicator **out) {
  tcp_user *user = halo_alloc(sizeof *user + sizeof *user->peers * (size_t)count);
  pthread_mutex_init(&user->lock, NULL);
  user->next_id = 1;
  user->epoll = epoll_create1(EPOLL_CLOEXEC);
  user->communicator = (halo_communicator){.name = "tcp",
                                           .process = process,
                                           .process_count = count,
                                           .local = communicator_local(cards, process),
                                           .max_tag = TCP_MAX_TAG,
                                           .concurrent = true,
                                           .user = user,
                                           .send = communicator_send,
                                           .receive = communicator_receive,
                                           .test = communicator_test,
                                           .poll = communicator_poll,
                                           .move = communicator_move,
                                           .close = communicator_close};
  bool ok = user->epoll >= 0;
  for (int p = 0; p < count; p++) {
    tcp_peer *peer = &user->peers[p];
    peer->process = p;
    peer->fd = fds[p];
    peer->credit = TCP_WINDOW;
    if (p == process) continue;
    peer->local = tcp_is_local(peer->fd);
    peer->stage = halo_alloc(TCP_STAGE);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
    ok = ok && epoll_ctl(user->epoll, EPOLL_CTL_ADD, peer->fd, &event) == 0;
  }
  *out = &user->communicator;
  if (ok) return NULL;
  const char *trouble = tcp_say("the connections cannot be watched (%m)");
  communicator_free_all(user);
  return trouble;
}

static const char *communicator_join(const halo_tcp_options *o, tcp_listeners *listeners,
                                     bool unix_sockets, halo_communicator **out) {
  static const double patience = 60; /* seconds */
  size_t count = (size_t)o->process_count;
  tcp_card *cards = halo_alloc(sizeof *cards * count), mine;
  uint8_t *all = halo_alloc(TCP_CARD * count), packed[TCP_CARD];
  int *fds = halo_alloc(sizeof *fds * count);
  for (size_t p = 0; p < count; p++) fds[p] = -1;
  char own[256] = "";
  const char *trouble = tcp_listen(unix_sockets, listeners, &mine);
  if (trouble) {
    /* The others would wait for this one: they are told. */
    snprintf(own, sizeof own, "%s", trouble);
    snprintf(mine.machine, sizeof mine.machine, "%s", trouble);
    mine.port = 0;
  }
  tcp_card_pack(&mine, packed);
  trouble = o->exchange(o->user, packed, TCP_CARD, all);
  if (own[0]) trouble = tcp_say("%s", own);
  for (size_t p = 0; p < count && !trouble; p++) {
    trouble = tcp_card_unpack(all + TCP_CARD * p, &cards[p]);
    if (!trouble && cards[p].port == 0) {
      trouble = tcp_say("process %zu cannot be connected: %s", p, cards[p].machine);
    }
  }
  double until = halo_clock() + (o->timeout > 0 ? o->timeout : patience);
  if (!trouble) {
    trouble = tcp_meet(listeners, cards, o->process, o->process_count, until, fds);
  }
  if (!trouble) {
    trouble = communicator_create(cards, o->process, o->process_count, fds, out);
  } else {
    for (size_t p = 0; p < count; p++) {
      if (fds[p] >= 0) close(fds[p]);
    }
  }
  halo_free(cards);
  halo_free(all);
  halo_free(fds);
  return trouble;
}

const char *tcp_connect(const halo_tcp_options *o, bool unix_sockets, halo_communicator **out) {
  tcp_listeners listeners = {-1, -1};
  const char *trouble = communicator_join(o, &listeners, unix_sockets, out);
  tcp_listeners_close(&listeners);
  return trouble;
}
