/* tcp/coordinator.c: processes that find each other without a framework: all give what they have to say of themselves to the
 * first, at an address that all know, and get what the others said. */
#include "base/clock.h"
#include "base/config.h"
#include "base/memory.h"
#include "tcp/tcp.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { COORDINATOR_SECRET = 64, COORDINATOR_HEAD = 16 + COORDINATOR_SECRET };
/* Seconds: for all to come; for who came to say who it is. */
static const double coordinator_patience = 300, coordinator_saying = 2;

typedef struct coordinator {
  const char *place;
  int process, count;
  uint8_t head[COORDINATOR_HEAD]; /* what messages to the first process begin with */
} coordinator;

/* ---- Bytes ---- */

/* All bytes of a message, or false (errno). */
static bool coordinator_move(int fd, bool send_them, void *data, size_t bytes, double until) {
  for (size_t at = 0; at < bytes;) {
    ssize_t moved = send_them ? send(fd, (char *)data + at, bytes - at, MSG_NOSIGNAL | MSG_DONTWAIT)
                              : recv(fd, (char *)data + at, bytes - at, MSG_DONTWAIT);
    bool later = moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    if (moved == 0) errno = ECONNRESET;
    if (moved <= 0 && !later) return false;
    if (moved > 0) {
      at += (size_t)moved;
      continue;
    }
    struct pollfd wait = {.fd = fd, .events = send_them ? POLLOUT : POLLIN};
    (void)poll(&wait, 1, 100);
    if (halo_clock() > until) {
      errno = ETIMEDOUT;
      return false;
    }
  }
  return true;
}

/* "halo", the version, the process, how many there are, and the secret that the user gave all. */
static void coordinator_write_head(coordinator *c, const char *secret) {
  const uint32_t numbers[] = {1, (uint32_t)c->process, (uint32_t)c->count};
  memcpy(c->head, "halo", 4);
  for (int i = 0; i < 12; i++) c->head[4 + i] = (uint8_t)(numbers[i / 4] >> 8 * (i % 4));
  if (secret) memcpy(c->head + 16, secret, strnlen(secret, COORDINATOR_SECRET));
}

/* The process that such a head is of; -1: none that belongs here. */
static int coordinator_read_head(const coordinator *c, const uint8_t head[COORDINATOR_HEAD]) {
  uint8_t differs = 0;
  uint32_t process = 0;
  for (int i = 0; i < COORDINATOR_HEAD; i++) {
    if (i < 8 || i >= 12) differs |= head[i] ^ c->head[i];
    if (i >= 8 && i < 12) process |= (uint32_t)head[i] << 8 * (i - 8);
  }
  return differs || process == 0 || process >= (uint32_t)c->count ? -1 : (int)process;
}

/* ---- The first process ---- */

/* One who came. */
static void coordinator_hear(const coordinator *c, int fd, size_t bytes, uint8_t *all, int *fds,
                             int *missing) {
  uint8_t head[COORDINATOR_HEAD];
  double until = halo_clock() + coordinator_saying;
  int from =
      coordinator_move(fd, false, head, sizeof head, until) ? coordinator_read_head(c, head) : -1;
  if (from < 0 || !coordinator_move(fd, false, all + bytes * (size_t)from, bytes, until)) {
    close(fd);
    return;
  }
  if (fds[from] >= 0) {
    close(fds[from]); /* it has come again */
  } else {
    --*missing;
  }
  fds[from] = fd;
}

static const char *coordinator_serve(const coordinator *c, size_t bytes, uint8_t *all) {
  int listener, missing = c->count - 1, *fds = halo_alloc(sizeof *fds * (size_t)c->count);
  double until = halo_clock() + coordinator_patience;
  for (int p = 0; p < c->count; p++) fds[p] = -1;
  const char *trouble = tcp_open(c->place, true, &listener);
  while (!trouble && missing > 0) {
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    (void)poll(&wait, 1, 100);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) coordinator_hear(c, fd, bytes, all, fds, &missing);
    if (missing > 0 && halo_clock() > until) {
      trouble = tcp_say("%d of %d processes did not come to %s for %g s", missing, c->count,
                        c->place, coordinator_patience);
    }
  }
  for (int p = 1; p < c->count && !trouble; p++) {
    if (!coordinator_move(fds[p], true, all, bytes * (size_t)c->count, until)) {
      trouble = tcp_say("process %d is gone (%s)", p, strerror(errno));
    }
  }
  for (int p = 0; p < c->count; p++) {
    if (fds[p] >= 0) close(fds[p]);
  }
  if (listener >= 0) close(listener);
  halo_free(fds);
  return trouble;
}

/* ---- The others ---- */

static bool coordinator_try(const coordinator *c, int fd, size_t bytes, uint8_t *all,
                            double until) {
  uint8_t head[COORDINATOR_HEAD];
  uint8_t *mine = all + bytes * (size_t)c->process;
  memcpy(head, c->head, sizeof head);
  return coordinator_move(fd, true, head, sizeof head, until) &&
         coordinator_move(fd, true, mine, bytes, until) &&
         coordinator_move(fd, false, all, bytes * (size_t)c->count, until);
}

/* The first process may start later than this one. */
static const char *coordinator_ask(const coordinator *c, size_t bytes, uint8_t *all) {
  double until = halo_clock() + coordinator_patience;
  for (;;) {
    int fd;
    const char *trouble = tcp_open(c->place, false, &fd);
    if (!trouble) {
      bool done = coordinator_try(c, fd, bytes, all, until);
      int error = errno;
      close(fd);
      if (done) return NULL;
      trouble = tcp_say("process 0 does not answer at %s (%s)", c->place, strerror(error));
    }
    if (halo_clock() > until) return trouble;
    nanosleep(&(struct timespec){0, 50000000}, NULL);
  }
}

/* ---- All of it ---- */

static const char *coordinator_exchange(void *user, const void *mine, size_t bytes, void *all) {
  const coordinator *c = user;
  memcpy((uint8_t *)all + bytes * (size_t)c->process, mine, bytes);
  if (c->count == 1) return NULL;
  return c->process == 0 ? coordinator_serve(c, bytes, all) : coordinator_ask(c, bytes, all);
}

const char *tcp_make(halo_communicator **out) {
  coordinator c = {.place = halo_config_text(HALO_CONFIG_TCP_COORDINATOR)};
  if (!c.place || !*c.place) {
    return tcp_say("%s is not set: HOST:PORT, where process 0 waits for the others",
                   halo_config_name(HALO_CONFIG_TCP_COORDINATOR));
  }
  if (!halo_config_process(&c.process, &c.count)) {
    return tcp_say("%s and %s do not say which of how many processes this is",
                   halo_config_name(HALO_CONFIG_TCP_PROCESS),
                   halo_config_name(HALO_CONFIG_TCP_PROCESSES));
  }
  coordinator_write_head(&c, halo_config_text(HALO_CONFIG_TCP_SECRET));
  halo_tcp_options options = {
      .process = c.process, .process_count = c.count, .exchange = coordinator_exchange, .user = &c};
  return tcp_connect(&options, true, out);
}
