/* SPDX-License-Identifier: Apache-2.0 */
/* tcp/read.c: frames that come in, and what they are for. */
#include "base/clock.h"
#include "base/memory.h"
#include "tcp/tcp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
  READ_AT_ONCE = 4 << 20, /* bytes of one peer, until others have their turn */
  READ_PATIENCE = 6, /* looks that a message is left where it is, since it will be asked for soon */
  READ_EVENTS = 16
};

/* ---- Lists ---- */

/* The first request with this tag, or this id, taken out of the list; NULL: there is none. */
static tcp_request *read_take_tag(tcp_list *list, int tag) {
  tcp_request *before = NULL;
  for (tcp_request *r = list->first; r; before = r, r = r->next) {
    if (r->tag != tag) continue;
    TCP_TAKE(list, before, r);
    return r;
  }
  return NULL;
}

static tcp_request *read_take_id(tcp_list *list, uint64_t id) {
  tcp_request *before = NULL;
  for (tcp_request *r = list->first; r; before = r, r = r->next) {
    if (r->id != id) continue;
    TCP_TAKE(list, before, r);
    return r;
  }
  return NULL;
}

static tcp_parcel *read_parcel(const tcp_peer *peer, const tcp_header *h) {
  bool offer = h->kind == TCP_OFFER;
  tcp_parcel *parcel = halo_alloc(sizeof *parcel + (offer ? 0 : (size_t)h->bytes));
  parcel->from = peer->process;
  parcel->tag = h->tag;
  parcel->bytes = (size_t)h->bytes;
  parcel->id = h->id;
  parcel->offer = offer;
  return parcel;
}

tcp_parcel *tcp_parcels_take(tcp_parcels *parcels, tcp_parcel *parcel) {
  tcp_parcel *before = NULL;
  for (tcp_parcel *p = parcels->first; p != parcel; p = p->next) before = p;
  TCP_TAKE(parcels, before, parcel);
  return parcel;
}

/* ---- Ends ---- */

static void read_fail_list(tcp_list *list) {
  for (tcp_request *r = list->first, *next; r; r = next) {
    next = r->next;
    r->next = NULL;
    r->state = TCP_FAILED;
  }
  *list = (tcp_list){0};
}

static void read_pause(tcp_user *user, tcp_peer *peer, bool paused) {
  user->paused += paused - peer->paused;
  peer->paused = paused;
}

/* Nothing comes from the peer any more, and nothing goes there. */
static void read_end(tcp_user *user, tcp_peer *peer) {
  read_pause(user, peer, false);
  (void)epoll_ctl(user->epoll, EPOLL_CTL_DEL, peer->fd, NULL);
  peer->mute = true;
  if (peer->into) peer->into->state = TCP_FAILED;
  for (tcp_parcel *p = peer->kept.first; p; p = p->next) {
    if (p->taker && !p->whole) p->taker->state = TCP_FAILED;
  }
  read_fail_list(&peer->held);
  read_fail_list(&peer->offered);
  read_fail_list(&peer->posted);
  read_fail_list(&peer->coming);
  tcp_fail_frames(peer);
}

void tcp_lose(tcp_user *user, tcp_peer *peer, const char *trouble) {
  if (peer->gone || peer->left) return;
  peer->gone = true;
  snprintf(peer->trouble, sizeof peer->trouble, "%s", trouble);
  if (!user->gone) {
    user->gone = peer;
    user->gone_since = halo_clock();
  }
  read_end(user, peer);
}

static void read_leave(tcp_user *user, tcp_peer *peer) {
  peer->left = true;
  snprintf(peer->trouble, sizeof peer->trouble, "process %d has ended", peer->process);
  read_end(user, peer);
}

/* The peer does what no process of this version does. */
static void read_refuse(tcp_user *user, tcp_peer *peer, const char *what) {
  char text[sizeof peer->trouble];
  snprintf(text, sizeof text, "process %d sent %s: do all run one version?", peer->process, what);
  tcp_lose(user, peer, text);
}

/* ---- Messages ---- */

bool tcp_pay(tcp_peer *peer, size_t bytes) {
  if (peer->credit < bytes + TCP_COST) return false;
  peer->credit -= bytes + TCP_COST;
  return true;
}

void tcp_want(tcp_peer *peer, tcp_request *request, uint64_t id) {
  request->id = id;
  TCP_APPEND(&peer->coming, request);
  tcp_put(peer, &(tcp_header){.kind = TCP_WANT, .id = id});
}

void tcp_owe(tcp_peer *peer, size_t bytes) {
  peer->owed += bytes + TCP_COST;
  if (peer->owed < TCP_WINDOW / 4) return;
  tcp_put(peer, &(tcp_header){.kind = TCP_CREDIT, .bytes = peer->owed});
  peer->owed = 0;
}

/* A receive gets a message of another size. */
static void read_refuse_size(tcp_user *user, tcp_peer *peer, const tcp_request *request) {
  char text[sizeof peer->trouble];
  snprintf(text, sizeof text, "process %d sent %llu bytes with tag %d where %zu were expected",
           peer->process, (unsigned long long)peer->header.bytes, request->tag, request->bytes);
  tcp_lose(user, peer, text);
}

/* Where a message's bytes go. False: that is not known yet, or the peer is lost. */
static bool read_place_message(tcp_user *user, tcp_peer *peer) {
  const tcp_header *h = &peer->header;
  if (h->tag < 0 || h->bytes > TCP_EAGER) {
    read_refuse(user, peer, "a message that cannot be");
    return false;
  }
  tcp_request *request = h->tag ? read_take_tag(&peer->posted, h->tag) : NULL;
  if (!request && h->tag && h->bytes > 0) {
    /* What was announced is asked for as soon as the announcement is read: a copy is spared. */
    if (!peer->paused) peer->until = user->polls + READ_PATIENCE;
    read_pause(user, peer, user->polls < peer->until);
    if (peer->paused) return false;
  }
  read_pause(user, peer, false);
  peer->left_bytes = (size_t)h->bytes;
  if (request && request->bytes != h->bytes) {
    request->state = TCP_FAILED;
    read_refuse_size(user, peer, request);
    return false;
  }
  if (request) {
    peer->into = request;
    peer->target = request->data;
  } else {
    peer->parcel = read_parcel(peer, h);
    peer->target = peer->parcel->data;
    if (h->tag) TCP_APPEND(&peer->kept, peer->parcel);
  }
  return true;
}

static bool read_place_offer(tcp_user *user, tcp_peer *peer) {
  const tcp_header *h = &peer->header;
  tcp_request *request = read_take_tag(&peer->posted, h->tag);
  if (!request) {
    tcp_parcel *parcel = read_parcel(peer, h);
    TCP_APPEND(&peer->kept, parcel);
  } else if (request->bytes != h->bytes) {
    request->state = TCP_FAILED;
    read_refuse_size(user, peer, request);
    return false;
  } else {
    tcp_want(peer, request, h->id);
  }
  return true;
}

static bool read_place_data(tcp_user *user, tcp_peer *peer) {
  const tcp_header *h = &peer->header;
  tcp_request *request = read_take_id(&peer->coming, h->id);
  if (!request || h->bytes > request->bytes - request->moved) {
    if (request) request->state = TCP_FAILED;
    read_refuse(user, peer, "bytes that nobody wanted");
    return false;
  }
  peer->left_bytes = (size_t)h->bytes;
  peer->into = request;
  peer->target = request->data + request->moved;
  return true;
}

/* There is room for messages that were held back. */
static void read_place_credit(tcp_peer *peer) {
  peer->credit += (size_t)peer->header.bytes;
  tcp_request *request;
  while ((request = peer->held.first) && tcp_pay(peer, request->bytes)) {
    tcp_put_message(peer, read_take_tag(&peer->held, request->tag));
  }
}

static bool read_place(tcp_user *user, tcp_peer *peer) {
  tcp_request *request;
  peer->left_bytes = 0;
  switch (peer->header.kind) {
    case TCP_MESSAGE: return read_place_message(user, peer);
    case TCP_OFFER: return read_place_offer(user, peer);
    case TCP_DATA: return read_place_data(user, peer);
    case TCP_WANT:
      request = read_take_id(&peer->offered, peer->header.id);
      if (request) tcp_put_data(peer, request);
      if (!request) read_refuse(user, peer, "for what was not offered");
      return request != NULL;
    case TCP_CREDIT: read_place_credit(peer); return true;
    case TCP_BYE: read_leave(user, peer); return false;
  }
  read_refuse(user, peer, "what is no message");
  return false;
}

void tcp_deliver(tcp_peer *peer, const tcp_parcel *parcel, tcp_request *request) {
  if (parcel->bytes) memcpy(request->data, parcel->data, parcel->bytes);
  request->state = TCP_DONE;
  tcp_owe(peer, parcel->bytes);
}

/* All bytes of a frame are here. */
static void read_arrived(tcp_user *user, tcp_peer *peer) {
  tcp_request *request = peer->into;
  tcp_parcel *parcel = peer->parcel;
  peer->into = NULL;
  peer->parcel = NULL;
  if (request && peer->header.kind == TCP_DATA) {
    request->moved += (size_t)peer->header.bytes;
    if (request->moved < request->bytes) {
      /* Pieces of messages come one message after the other: it is found first. */
      request->next = peer->coming.first;
      if (!peer->coming.first) peer->coming.last = request;
      peer->coming.first = request;
    } else {
      request->state = TCP_DONE;
    }
  } else if (request) {
    request->state = TCP_DONE;
    tcp_owe(peer, request->bytes);
  } else if (parcel && parcel->tag == 0) {
    TCP_APPEND(&user->mail, parcel);
  } else if (parcel) {
    parcel->whole = true;
    if (!parcel->taker) return;
    tcp_deliver(peer, parcel, parcel->taker);
    halo_free(tcp_parcels_take(&peer->kept, parcel));
  }
}

/* ---- Bytes ---- */

/* Takes frames from what was read. False: no more is to be read now. */
static bool read_digest(tcp_user *user, tcp_peer *peer) {
  for (;;) {
    size_t there = peer->end - peer->begin;
    if (!peer->open) {
      if (there < TCP_HEADER) return true;
      tcp_unpack((const uint8_t *)peer->stage + peer->begin, &peer->header);
      peer->begin += TCP_HEADER;
      there -= TCP_HEADER;
      peer->open = true;
      peer->placed = false;
    }
    if (!peer->placed && !read_place(user, peer)) return false;
    peer->placed = true;
    size_t step = there < peer->left_bytes ? there : peer->left_bytes;
    if (step) memcpy(peer->target, peer->stage + peer->begin, step);
    peer->begin += step;
    peer->target += step;
    peer->left_bytes -= step;
    if (peer->left_bytes) return true;
    peer->open = false;
    read_arrived(user, peer);
  }
}

/* Reads once: what is known to belong to a message straight to its place. */
static ssize_t read_bytes(tcp_user *user, tcp_peer *peer, size_t *wanted) {
  struct iovec parts[2];
  struct msghdr message = {.msg_iov = parts};
  size_t left = peer->open ? peer->left_bytes : 0;
  if (left) parts[message.msg_iovlen++] = (struct iovec){peer->target, left};
  if (peer->begin > 0) memmove(peer->stage, peer->stage + peer->begin, peer->end - peer->begin);
  peer->end -= peer->begin;
  peer->begin = 0;
  size_t room = TCP_STAGE - peer->end;
  parts[message.msg_iovlen++] = (struct iovec){peer->stage + peer->end, room};
  *wanted = left + room;
  pthread_mutex_unlock(&user->lock);
  ssize_t got;
  do {
    got = recvmsg(peer->fd, &message, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  int error = got < 0 ? errno : 0;
  pthread_mutex_lock(&user->lock);
  errno = error;
  if (got <= 0) return got;
  size_t first = (size_t)got < left ? (size_t)got : left;
  peer->target += first;
  peer->left_bytes -= first;
  peer->end += (size_t)got - first;
  return got;
}

static void read_lose(tcp_user *user, tcp_peer *peer, int error) {
  char text[sizeof peer->trouble];
  if (error) {
    snprintf(text, sizeof text, "process %d is gone (%s)", peer->process, strerror(error));
  } else {
    snprintf(text, sizeof text, "process %d is gone (it closed the connection without a word)",
             peer->process);
  }
  tcp_lose(user, peer, text);
}

void tcp_read(tcp_user *user, tcp_peer *peer) {
  size_t sum = 0;
  bool drained = false;
  if (peer->reading || peer->gone || peer->left) return;
  peer->reading = true;
  while (read_digest(user, peer) && !drained && sum < READ_AT_ONCE) {
    size_t wanted;
    ssize_t got = read_bytes(user, peer, &wanted);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) {
      read_lose(user, peer, got < 0 ? errno : 0);
      break;
    }
    sum += (size_t)got;
    drained = (size_t)got < wanted;
  }
  peer->reading = false;
  if (peer->small.first || peer->large.first) tcp_write(user, peer);
}

void tcp_progress(tcp_user *user) {
  struct epoll_event events[READ_EVENTS];
  user->polls++;
  pthread_mutex_unlock(&user->lock);
  int count = epoll_wait(user->epoll, events, READ_EVENTS, 0);
  pthread_mutex_lock(&user->lock);
  for (int i = 0; i < count; i++) {
    tcp_peer *peer = events[i].data.ptr;
    if (events[i].events & ~(uint32_t)EPOLLOUT) tcp_read(user, peer);
    if (events[i].events & EPOLLOUT) tcp_write(user, peer);
  }
  for (int p = 0; user->paused > 0 && p < user->communicator.process_count; p++) {
    if (user->peers[p].paused) tcp_read(user, &user->peers[p]);
  }
}
