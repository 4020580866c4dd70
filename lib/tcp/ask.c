/* SPDX-License-Identifier: Apache-2.0 */
/* tcp/ask.c: the meeting at the coordinator, as all but process 0 see it. */
#include "base/clock.h"
#include "tcp/coordinator.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

static const double ask_dialling = 3; /* seconds for a connection to be made */

typedef enum ask_outcome { ASK_DONE, ASK_AGAIN, ASK_REFUSED } ask_outcome;

typedef struct ask {
  const coordinator *c;
  uint8_t *all;
  double until;
  bool told;
  char trouble[512]; /* what was wrong last */
} ask;

__attribute__((format(printf, 3, 4))) static ask_outcome ask_end(ask *a, ask_outcome outcome,
                                                                 const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(a->trouble, sizeof a->trouble, format, arguments);
  va_end(arguments);
  return outcome;
}

/* The decision of process 0. */
static ask_outcome ask_judge(ask *a, const uint8_t verdict[COORDINATOR_VERDICT]) {
  const coordinator *c = a->c;
  const char *place = c->place.text;
  uint32_t number = coordinator_get(verdict + 4);
  switch ((coordinator_verdict)coordinator_get(verdict)) {
    case COORDINATOR_GOOD: return ASK_DONE;
    case COORDINATOR_VERSION:
      return ask_end(a, ASK_REFUSED, "process 0 at %s has another version of this library", place);
    case COORDINATOR_COUNT:
      return ask_end(a, ASK_REFUSED, "process 0 at %s is one of %u processes, and this one of %d",
                     place, (unsigned)number, c->count);
    case COORDINATOR_TAKEN:
      return ask_end(a, ASK_REFUSED, "another process says at %s that it is process %d", place,
                     c->process);
    case COORDINATOR_MISSING:
      return ask_end(a, ASK_REFUSED, "process %u did not come to process 0 at %s, or is gone",
                     (unsigned)number, place);
  }
  return ask_end(a, ASK_REFUSED, "what answers at %s is no process of this version", place);
}

/* All that is said over a connection. */
static ask_outcome ask_talk(ask *a, int fd) {
  const coordinator *c = a->c;
  const char *place = c->place.text;
  uint8_t hello[COORDINATOR_HELLO], answer[COORDINATOR_ANSWER], verdict[COORDINATOR_VERDICT];
  uint8_t code[HALO_SHA256_SIZE], given[HALO_SHA256_SIZE],
      *card = a->all + (size_t)TCP_CARD * (size_t)c->process;
  const uint8_t *nonce = answer + COORDINATOR_VERDICT;
  size_t bytes = (size_t)TCP_CARD * (size_t)c->count;
  double soon = halo_clock() + coordinator_saying;
  coordinator_write_head(c, (uint32_t)c->process, hello);
  if (getrandom(hello + COORDINATOR_HEAD, COORDINATOR_NONCE, 0) != COORDINATOR_NONCE) {
    return ask_end(a, ASK_REFUSED, "the system gives no random numbers (%s)", strerror(errno));
  }
  if (!coordinator_move(fd, true, hello, sizeof hello, soon) ||
      !coordinator_move(fd, false, answer, sizeof answer, soon)) {
    return ask_end(a, ASK_AGAIN, "process 0 does not answer at %s (%s)", place, strerror(errno));
  }
  coordinator_prove(c, PROOF_ANSWER, hello, nonce, answer, COORDINATOR_VERDICT, code);
  bool same = halo_hmac_same(code, nonce + COORDINATOR_NONCE);
  ask_outcome outcome = ask_judge(a, answer);
  if (same && outcome != ASK_DONE) return outcome;
  /* Process 0 would like to know who has another secret, too. */
  coordinator_prove(c, PROOF_CARD, hello, nonce, card, TCP_CARD, code);
  bool sent = coordinator_move(fd, true, card, TCP_CARD, soon) &&
              coordinator_move(fd, true, code, sizeof code, soon);
  if (!same) {
    return ask_end(a, ASK_REFUSED,
                   "process 0 at %s has another HALO_TCP_SECRET than this process, or none", place);
  }
  /* It says itself when it has waited long enough. */
  double limit = halo_clock() + c->patience + coordinator_saying;
  if (!sent || !coordinator_move(fd, false, verdict, sizeof verdict, limit)) {
    return ask_end(a, ASK_AGAIN, "process 0 at %s is gone (%s)", place, strerror(errno));
  }
  outcome = ask_judge(a, verdict);
  if (outcome != ASK_DONE) return outcome;
  if (!coordinator_move(fd, false, a->all, bytes, limit) ||
      !coordinator_move(fd, false, given, sizeof given, limit)) {
    return ask_end(a, ASK_AGAIN, "process 0 at %s is gone (%s)", place, strerror(errno));
  }
  coordinator_prove(c, PROOF_CARDS, hello, nonce, a->all, bytes, code);
  if (halo_hmac_same(code, given)) return ASK_DONE;
  return ask_end(a, ASK_REFUSED, "what process 0 said at %s was changed on its way", place);
}

/* Waits for a connection to be made; errno else. */
static bool ask_await(int fd, double until) {
  struct pollfd wait = {.fd = fd, .events = POLLOUT};
  double left;
  while (poll(&wait, 1, 50) == 0 && (left = until - halo_clock()) > 0) continue;
  int error = 0;
  socklen_t size = sizeof error;
  if (!wait.revents) {
    error = ETIMEDOUT;
  } else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
    error = errno;
  }
  errno = error;
  return error == 0;
}

static ask_outcome ask_at(ask *a, const tcp_address *address) {
  const tcp_place *place = &a->c->place;
  double until = halo_clock() + ask_dialling;
  int fd = tcp_dial_at(address, place->port);
  if (fd < 0 || !ask_await(fd, until < a->until ? until : a->until)) {
    ask_end(a, ASK_AGAIN, "process 0 cannot be reached at %s (%s)", place->text, strerror(errno));
    if (fd >= 0) close(fd);
    return ASK_AGAIN;
  }
  ask_outcome outcome = ask_talk(a, fd);
  close(fd);
  return outcome;
}

const char *coordinator_ask(const coordinator *c, uint8_t *all) {
  double begin = halo_clock();
  ask a = {.c = c, .all = all, .until = begin + c->patience};
  for (;;) {
    for (int i = 0; i < c->place.count; i++) {
      ask_outcome outcome = ask_at(&a, &c->place.addresses[i]);
      if (outcome == ASK_DONE) return NULL;
      if (outcome == ASK_REFUSED) return tcp_say("%s", a.trouble);
    }
    if (halo_clock() > a.until) return tcp_say("%s, for %g s", a.trouble, c->patience);
    if (!a.told && halo_clock() > begin + coordinator_silence) {
      a.told = true;
      fprintf(stderr, "halo: process %d of %d waits for process 0: %s\n", c->process, c->count,
              a.trouble);
    }
    (void)poll(NULL, 0, 50);
  }
}
