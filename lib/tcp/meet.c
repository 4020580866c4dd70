/* tcp/meet.c: all processes connect to all. The lower one of two connects to the higher one; each shows the other's
 * secret, which only who reads the job's cards knows, so that strangers are refused. */
#include "base/clock.h"
#include "base/vec.h"
#include "tcp/tcp.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  MEET_HELLO = 48,
  MEET_STRANGERS = 64, /* connections besides those that are expected which may be open at once */
  MEET_ROUNDS = 3 /* in which all addresses of a process refuse, until it is taken to be gone */
};
/* Seconds: for a connection to be made, for what is then said, and between rounds. */
static const double meet_dialling = 3, meet_saying = 5, meet_pause = 0.2;
static const char meet_magic[8] = "halotcp1";

typedef enum meet_stage { MEET_DIALS, MEET_SAYS, MEET_HEARS } meet_stage;

/* A connection that is not yet known to be a process's. */
typedef struct meet_link {
  int fd; /* -1: it is over */
  int peer;
  bool dialled;
  meet_stage stage;
  uint8_t hello[MEET_HELLO];
  size_t at;
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

static void meet_say(const meet *m, meet_link *link) {
  uint8_t *at = link->hello;
  memcpy(at, meet_magic, sizeof meet_magic);
  memcpy(at + 8, m->cards[link->peer].secret, TCP_SECRET);
  for (int i = 0; i < 4; i++) {
    at[40 + i] = (uint8_t)((uint32_t)m->process >> 8 * i);
    at[44 + i] = (uint8_t)((uint32_t)link->peer >> 8 * i);
  }
  link->stage = MEET_SAYS;
  link->at = 0;
}

static int meet_number(const uint8_t *at) {
  return (int)(at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
}

/* Who speaks, if that is a process which may do so here; else -1. How long it takes says nothing of the secret. */
static int meet_heard(const meet *m, const meet_link *link) {
  const uint8_t *at = link->hello, *secret = m->cards[m->process].secret;
  int from = meet_number(at + 40), to = meet_number(at + 44);
  uint8_t differs = 0;
  for (int i = 0; i < TCP_SECRET; i++) differs |= at[8 + i] ^ secret[i];
  if (differs || memcmp(at, meet_magic, sizeof meet_magic) != 0 || to != m->process) return -1;
  bool expected = link->dialled ? from == link->peer : from >= 0 && from < m->process;
  return expected ? from : -1;
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

/* All of a hello was heard or said. */
static void meet_turn(meet *m, meet_link *link) {
  if (link->stage == MEET_SAYS && link->dialled) {
    link->stage = MEET_HEARS;
    link->at = 0;
    return;
  }
  if (link->stage == MEET_SAYS) {
    meet_keep(m, link);
    return;
  }
  int from = meet_heard(m, link);
  if (from < 0) {
    meet_drop(m, link, "somebody else answers");
  } else if (link->dialled) {
    meet_keep(m, link);
  } else {
    link->peer = from;
    meet_say(m, link);
  }
}

/* Goes on as far as that is possible without waiting. */
static void meet_step(meet *m, meet_link *link) {
  if (link->stage == MEET_DIALS) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error) {
      meet_drop_refused(m, link, error);
      return;
    }
    meet_say(m, link);
    link->until = halo_clock() + meet_saying;
  }
  while (link->fd >= 0) {
    bool hears = link->stage == MEET_HEARS;
    uint8_t *at = link->hello + link->at;
    size_t left = MEET_HELLO - link->at;
    ssize_t moved = hears ? recv(link->fd, at, left, MSG_DONTWAIT)
                          : send(link->fd, at, left, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (moved <= 0) {
      meet_drop(m, link, moved < 0 ? strerror(errno) : "the connection was closed");
      return;
    }
    link->at += (size_t)moved;
    if (link->at == MEET_HELLO) meet_turn(m, link);
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
    meet_link link = {.fd = fd, .peer = -1, .stage = MEET_HEARS, .until = now + meet_saying};
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
    meet_wait_for(m, m->links.data[i].fd, m->links.data[i].stage == MEET_HEARS ? POLLIN : POLLOUT);
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
