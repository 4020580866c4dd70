/* SPDX-License-Identifier: Apache-2.0 */
/* tcp/meet.c: all processes connect to all. The lower one of two connects to the higher one; each proves that it knows the
 * higher one's secret, which only who reads the job's cards knows, so that strangers are refused. The secret itself, or
 * anything that would do again, does not go over the wire:
 *
 *   lower -> higher   hello: magic, both numbers, nonce
 *   higher -> lower   answer: nonce, code over both nonces and the hello
 *   lower -> higher   proof: another code over these
 *   higher -> lower   done */
#include "base/clock.h"
#include "base/sha256.h"
#include "base/vec.h"
#include "tcp/tcp.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  MEET_NONCE = 32,
  MEET_HELLO = 16 + MEET_NONCE,
  MEET_ANSWER = MEET_NONCE + HALO_SHA256_SIZE,
  MEET_STRANGERS = 64, /* connections besides those that are expected which may be open at once */
  MEET_ROUNDS = 3 /* in which all addresses of a process refuse, until it is taken to be gone */
};
/* Seconds: for a connection to be made, for what is then said, and between rounds. */
static const double meet_dialling = 3, meet_saying = 5, meet_pause = 0.2;
static const char meet_magic[8] = {'h', 'a', 'l', 'o', 't', 'c', 'p', '2'};

/* The next thing to make, send or receive. */
typedef enum meet_stage {
  MEET_CONNECTION,
  MEET_SAYS_HELLO, /* these by who dials, the others by who listens */
  MEET_SAYS_ANSWER,
  MEET_SAYS_PROOF,
  MEET_SAYS_DONE
} meet_stage;

/* A connection that is not yet known to be a process's. */
typedef struct meet_link {
  int fd; /* -1: it is over */
  int peer;
  bool dialled;
  meet_stage stage;
  uint8_t hello[MEET_HELLO], answer[MEET_ANSWER], proof[HALO_SHA256_SIZE], done[1];
  size_t at; /* of what is said at this stage */
  double until;
} meet_link;

/* A process that this one connects to. */
typedef struct meet_goal {
  bool busy;            /* there is a link */
  int address, refused; /* the next one to try; how many of this round refused */
  int rounds;
  double again;
  char trouble[192];
} meet_goal;

typedef struct meet {
  tcp_listeners *listeners;
  const tcp_card *cards;
  int process, count, missing;
  int *fds;
  meet_goal *goals;
  HALO_VEC(meet_link) links;
  HALO_VEC(struct pollfd) waits;
} meet;

/* ---- What is said ---- */

static void meet_put(uint8_t *at, int number) {
  for (int i = 0; i < 4; i++) at[i] = (uint8_t)((uint32_t)number >> 8 * i);
}

static int meet_number(const uint8_t *at) {
  return (int)(at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
}

/* The code by which who dialled, or who listens, proves that it knows the secret of who listens. */
static void meet_prove(const meet *m, const meet_link *link, bool dialler,
                       uint8_t out[HALO_SHA256_SIZE]) {
  halo_hmac hmac;
  uint8_t kind = dialler;
  const tcp_card *card = &m->cards[link->dialled ? link->peer : m->process];
  halo_hmac_init(&hmac, card->secret, sizeof card->secret);
  halo_hmac_add(&hmac, &kind, 1);
  halo_hmac_add(&hmac, link->hello, MEET_HELLO);
  halo_hmac_add(&hmac, link->answer, MEET_NONCE);
  halo_hmac_end(&hmac, out);
}

static bool meet_proves(const meet *m, const meet_link *link, bool dialler, const uint8_t *given) {
  uint8_t code[HALO_SHA256_SIZE];
  meet_prove(m, link, dialler, code);
  return halo_hmac_same(code, given);
}

static bool meet_make_nonce(uint8_t out[MEET_NONCE]) {
  return getrandom(out, MEET_NONCE, 0) == MEET_NONCE;
}

static bool meet_write_hello(const meet *m, meet_link *link) {
  memcpy(link->hello, meet_magic, sizeof meet_magic);
  meet_put(link->hello + 8, m->process);
  meet_put(link->hello + 12, link->peer);
  return meet_make_nonce(link->hello + 16);
}

/* Answers the hello of a process that dialled; false: it may not dial here. */
static bool meet_answer(const meet *m, meet_link *link) {
  const uint8_t *hello = link->hello;
  int from = meet_number(hello + 8), to = meet_number(hello + 12);
  if (memcmp(hello, meet_magic, sizeof meet_magic) != 0 || to != m->process) return false;
  if (from < 0 || from >= m->process || !meet_make_nonce(link->answer)) return false;
  link->peer = from;
  meet_prove(m, link, false, link->answer + MEET_NONCE);
  return true;
}

/* ---- Links ---- */

static void meet_keep(meet *m, meet_link *link) {
  if (m->fds[link->peer] >= 0) {
    close(m->fds[link->peer]); /* it has given that one up, and come again */
  } else {
    m->missing--;
  }
  m->fds[link->peer] = link->fd;
  tcp_prepare(link->fd);
  if (link->dialled) m->goals[link->peer].busy = false;
  link->fd = -1;
}

/* The link is given up; `why` is for who dialled it. */
static void meet_drop(meet *m, meet_link *link, const char *why) {
  if (link->dialled) {
    meet_goal *goal = &m->goals[link->peer];
    size_t length = strlen(goal->trouble);
    goal->busy = false;
    snprintf(goal->trouble + length, sizeof goal->trouble - length, ": %s", why);
  }
  close(link->fd);
  link->fd = -1;
}

static void meet_drop_refused(meet *m, meet_link *link, int error) {
  if (link->dialled) m->goals[link->peer].refused += error == ECONNREFUSED;
  meet_drop(m, link, strerror(error));
}

/* All of what belongs to a stage was heard or said. */
static void meet_next_stage(meet *m, meet_link *link) {
  bool good = true;
  link->at = 0;
  switch (link->stage++) {
    case MEET_CONNECTION: good = meet_write_hello(m, link); break;
    case MEET_SAYS_HELLO: good = link->dialled || meet_answer(m, link); break;
    case MEET_SAYS_ANSWER:
      if (!link->dialled) break;
      good = meet_proves(m, link, false, link->answer + MEET_NONCE);
      meet_prove(m, link, true, link->proof);
      break;
    case MEET_SAYS_PROOF: good = link->dialled || meet_proves(m, link, true, link->proof); break;
    case MEET_SAYS_DONE: meet_keep(m, link); return;
  }
  if (!good) meet_drop(m, link, "somebody else answers");
}

/* Whether this side speaks. */
static bool meet_says(const meet_link *link) {
  return link->dialled == (link->stage == MEET_SAYS_HELLO || link->stage == MEET_SAYS_PROOF);
}

/* Goes on as far as that is possible without waiting. */
static void meet_step(meet *m, meet_link *link) {
  if (link->stage == MEET_CONNECTION) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error) {
      meet_drop_refused(m, link, error);
      return;
    }
    link->until = halo_clock() + meet_saying;
    meet_next_stage(m, link);
  }
  while (link->fd >= 0) {
    uint8_t *const places[] = {NULL, link->hello, link->answer, link->proof, link->done};
    static const size_t sizes[] = {0, sizeof link->hello, sizeof link->answer, sizeof link->proof,
                                   sizeof link->done};
    uint8_t *at = places[link->stage] + link->at;
    size_t left = sizes[link->stage] - link->at;
    ssize_t moved = meet_says(link) ? send(link->fd, at, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                                    : recv(link->fd, at, left, MSG_DONTWAIT);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (moved <= 0) {
      meet_drop(m, link, moved < 0 ? strerror(errno) : "the connection was closed");
      return;
    }
    link->at += (size_t)moved;
    if (link->at == sizes[link->stage]) meet_next_stage(m, link);
  }
}

/* ---- Who connects ---- */

static void meet_dial(meet *m, int peer, double now) {
  meet_goal *goal = &m->goals[peer];
  char text[128];
  int fd = tcp_dial(&m->cards[m->process], &m->cards[peer], goal->address, text, sizeof text);
  if (fd == -2) {
    goal->rounds = goal->refused == goal->address ? goal->rounds + 1 : 0;
    goal->address = goal->refused = 0;
    goal->again = now + meet_pause;
    return;
  }
  int error = errno;
  goal->address++;
  snprintf(goal->trouble, sizeof goal->trouble, "%s", text);
  meet_link link = {.fd = fd, .peer = peer, .dialled = true, .until = now + meet_dialling};
  goal->busy = fd >= 0;
  if (fd >= 0) {
    halo_vec_push(&m->links, link);
  } else {
    size_t length = strlen(goal->trouble);
    goal->refused += error == ECONNREFUSED;
    snprintf(goal->trouble + length, sizeof goal->trouble - length, ": %s", strerror(error));
  }
}

static const char *meet_accept(meet *m, int listener, double now) {
  for (;;) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
      return tcp_say("%d processes need as many connections, and the system allows no more (%s)",
                     m->count, strerror(errno));
    }
    if (fd < 0) return NULL; /* nobody, or somebody who has gone again */
    int strangers = 0, oldest = -1;
    for (int32_t i = 0; i < m->links.count; i++) {
      if (m->links.data[i].fd < 0 || m->links.data[i].dialled) continue;
      if (strangers++ == 0) oldest = i;
    }
    if (strangers >= m->count + MEET_STRANGERS) meet_drop(m, &m->links.data[oldest], "");
    meet_link link = {.fd = fd, .peer = -1, .stage = MEET_SAYS_HELLO, .until = now + meet_saying};
    halo_vec_push(&m->links, link);
  }
}

/* ---- All of it ---- */

static void meet_wait_for(meet *m, int fd, short events) {
  struct pollfd wait = {.fd = fd, .events = events}; /* fd -1: nothing */
  halo_vec_push(&m->waits, wait);
}

/* Waits for something to happen, not long. */
static void meet_wait(meet *m, double until) {
  m->waits.count = 0;
  meet_wait_for(m, m->listeners->internet, POLLIN);
  meet_wait_for(m, m->listeners->local, POLLIN);
  for (int32_t i = 0; i < m->links.count; i++) {
    const meet_link *link = &m->links.data[i];
    bool out = link->stage == MEET_CONNECTION || meet_says(link);
    meet_wait_for(m, link->fd, out ? POLLOUT : POLLIN);
  }
  double left = until - halo_clock();
  (void)poll(m->waits.data, (nfds_t)m->waits.count, left > 0.05 ? 50 : left > 0 ? 1 : 0);
}

static const char *meet_missing(const meet *m) {
  for (int p = 0; p < m->count; p++) {
    if (p == m->process || m->fds[p] >= 0) continue;
    if (p < m->process) return tcp_say("process %d did not connect to process %d", p, m->process);
    return tcp_say("process %d cannot be reached from process %d (%s)", p, m->process,
                   m->goals[p].trouble);
  }
  return NULL;
}

static const char *meet_look(meet *m) {
  double now = halo_clock();
  for (int p = m->process + 1; p < m->count; p++) {
    meet_goal *goal = &m->goals[p];
    if (m->fds[p] >= 0 || goal->busy || now < goal->again) continue;
    if (goal->rounds >= MEET_ROUNDS) {
      return tcp_say("process %d cannot be reached from process %d (%s)", p, m->process,
                     goal->trouble);
    }
    meet_dial(m, p, now);
  }
  meet_wait(m, now + 1);
  int32_t links = m->links.count;
  now = halo_clock();
  for (int32_t i = 0; i < links; i++) {
    meet_link *link = &m->links.data[i];
    if (link->fd >= 0 && m->waits.data[i + 2].revents) meet_step(m, link);
    if (link->fd >= 0 && now > link->until) meet_drop(m, link, "no answer");
  }
  const char *trouble = NULL;
  int listeners[] = {m->listeners->internet, m->listeners->local};
  for (int i = 0; i < 2 && !trouble; i++) {
    if (m->waits.data[i].revents) trouble = meet_accept(m, listeners[i], now);
  }
  int32_t kept = 0;
  for (int32_t i = 0; i < m->links.count; i++) {
    if (m->links.data[i].fd >= 0) m->links.data[kept++] = m->links.data[i];
  }
  m->links.count = kept;
  return trouble;
}

const char *tcp_meet(tcp_listeners *listeners, const tcp_card *cards, int process, int count,
                     double until, int *fds) {
  meet m = {.listeners = listeners,
            .cards = cards,
            .process = process,
            .count = count,
            .missing = count - 1,
            .fds = fds,
            .goals = halo_alloc(sizeof *m.goals * (size_t)count)};
  const char *trouble = NULL;
  while (m.missing > 0 && !trouble) {
    trouble = meet_look(&m);
    if (!trouble && m.missing > 0 && halo_clock() > until) trouble = meet_missing(&m);
  }
  for (int32_t i = 0; i < m.links.count; i++) close(m.links.data[i].fd);
  halo_vec_deinit(&m.links);
  halo_vec_deinit(&m.waits);
  halo_free(m.goals);
  return trouble;
}
