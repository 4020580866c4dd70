/* SPDX-License-Identifier: Apache-2.0 */
/* tcp/serve.c: the meeting at the coordinator, as process 0 sees it. It hears all who come at once, so that those who say
 * nothing keep nobody waiting. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "tcp/coordinator.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  SERVE_STRANGERS = 256, /* connections besides those that are expected which may be open at once */
  SERVE_NAMED = 8,       /* processes that are named, of those which are missing */
  SERVE_FROM = 56
};

typedef enum serve_stage {
  SERVE_HELLO,  /* a hello is awaited */
  SERVE_ANSWER, /* the answer is on its way */
  SERVE_CARD,   /* a card and its code are awaited */
  SERVE_HERE    /* it is known, and waits */
} serve_stage;

/* One who came. */
typedef struct serve_link {
  int fd; /* -1: it is over */
  serve_stage stage;
  int process;
  size_t at;
  double until;
  char from[SERVE_FROM];
  uint8_t hello[COORDINATOR_HELLO], answer[COORDINATOR_ANSWER];
  uint8_t card[TCP_CARD + HALO_SHA256_SIZE];
} serve_link;

typedef struct serve {
  const coordinator *c;
  uint8_t *all;
  int listeners[TCP_ADDRESSES], listener_count;
  HALO_VEC(serve_link *) links;
  HALO_VEC(struct pollfd) waits;
  bool *arrived; /* [count] */
  int missing;
  char stranger[160]; /* who had another secret; empty: nobody */
} serve;

/* ---- Listening ---- */

/* At the addresses that the user named, as far as they are this machine's; at all if none is. */
static const char *serve_listen(serve *s) {
  const tcp_place *place = &s->c->place;
  int error = 0;
  for (int i = 0; i < place->count; i++) {
    int fd = tcp_listen_at(&place->addresses[i], place->port);
    if (fd >= 0) s->listeners[s->listener_count++] = fd;
    if (fd < 0 && errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT) error = errno;
  }
  if (s->listener_count > 0) return NULL;
  if (!error) {
    int fd = tcp_listen_at(&(tcp_address){0}, place->port);
    if (fd >= 0) s->listeners[s->listener_count++] = fd;
    error = fd < 0 ? errno : 0;
  }
  if (error) return tcp_say("process 0 cannot listen at %s (%s)", place->text, strerror(error));
  fprintf(stderr,
          "halo: %s is not an address of this machine: process 0 listens at all that it has, port "
          "%d\n",
          place->text, place->port);
  return NULL;
}

/* ---- Words ---- */

/* "process 1", "processes 1, 2 and 7 more". */
static void serve_list_missing(const serve *s, halo_strbuf *text) {
  int named = 0;
  halo_strbuf_append(text, s->missing == 1 ? "process" : "processes");
  for (int p = 1; p < s->c->count && named < SERVE_NAMED; p++) {
    if (s->arrived[p]) continue;
    halo_strbuf_printf(text, "%s %d", named++ ? "," : "", p);
  }
  if (named < s->missing) halo_strbuf_printf(text, " and %d more", s->missing - named);
}

static void serve_tell(const serve *s) {
  halo_strbuf text = {0};
  serve_list_missing(s, &text);
  fprintf(stderr, "halo: process 0 of %d waits at %s for %s\n", s->c->count, s->c->place.text,
          halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
}

/* Somebody has another secret: a process that was started with a wrong one, or a stranger. */
static void serve_note_stranger(serve *s, const serve_link *link) {
  if (s->stranger[0]) return;
  snprintf(s->stranger, sizeof s->stranger,
           "%s, which says that it is process %d, has another HALO_TCP_SECRET, or none", link->from,
           link->process);
  fprintf(stderr, "halo: process 0 refuses somebody: %s\n", s->stranger);
}

static const char *serve_give_up(const serve *s) {
  halo_strbuf text = {0};
  serve_list_missing(s, &text);
  const char *trouble =
      tcp_say("%s of %d did not come to %s for %g s%s%s", halo_strbuf_text(&text), s->c->count,
              s->c->place.text, s->c->patience, s->stranger[0] ? "; " : "", s->stranger);
  halo_strbuf_deinit(&text);
  return trouble;
}

/* ---- Those who come ---- */

static void serve_drop(serve *s, serve_link *link) {
  if (link->stage == SERVE_HERE) {
    s->arrived[link->process] = false;
    s->missing++;
  }
  close(link->fd);
  link->fd = -1;
}

static void serve_accept(serve *s, int listener) {
  struct sockaddr_storage from;
  socklen_t size = sizeof from;
  int fd = accept4(listener, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  int strangers = 0, oldest = -1;
  for (int32_t i = 0; i < s->links.count; i++) {
    const serve_link *link = s->links.data[i];
    if (link->fd < 0 || link->stage == SERVE_HERE) continue;
    if (strangers++ == 0) oldest = i;
  }
  if (strangers >= s->missing + SERVE_STRANGERS) serve_drop(s, s->links.data[oldest]);
  serve_link *link = halo_alloc(sizeof *link);
  link->fd = fd;
  link->until = halo_clock() + coordinator_saying;
  tcp_describe((struct sockaddr *)&from, link->from, sizeof link->from);
  halo_vec_push(&s->links, link);
}

/* Answers a hello; false: it does not belong here. */
static bool serve_answer(serve *s, serve_link *link) {
  const coordinator *c = s->c;
  uint8_t head[COORDINATOR_HEAD], *answer = link->answer;
  uint32_t process = coordinator_get(link->hello + 12), count = coordinator_get(link->hello + 16);
  coordinator_write_head(c, process, head);
  coordinator_put(head + 16, count);
  if (memcmp(head, link->hello, 8) != 0) return false;
  coordinator_verdict verdict = COORDINATOR_GOOD;
  if (memcmp(head, link->hello, sizeof head) != 0) {
    verdict = COORDINATOR_VERSION;
  } else if (count != (uint32_t)c->count) {
    verdict = COORDINATOR_COUNT;
  } else if (process == 0 || process >= count) {
    return false;
  } else if (s->arrived[process]) {
    verdict = COORDINATOR_TAKEN;
  }
  link->process = (int)process;
  coordinator_put(answer, verdict);
  coordinator_put(answer + 4, (uint32_t)c->count);
  if (getrandom(answer + COORDINATOR_VERDICT, COORDINATOR_NONCE, 0) != COORDINATOR_NONCE) {
    return false;
  }
  coordinator_prove(c, PROOF_ANSWER, link->hello, answer + COORDINATOR_VERDICT, answer,
                    COORDINATOR_VERDICT, answer + COORDINATOR_VERDICT + COORDINATOR_NONCE);
  return true;
}

/* Whether the card is that of a process, and nobody else has taken its place meanwhile. */
static bool serve_take(serve *s, serve_link *link) {
  uint8_t code[HALO_SHA256_SIZE];
  coordinator_prove(s->c, PROOF_CARD, link->hello, link->answer + COORDINATOR_VERDICT, link->card,
                    TCP_CARD, code);
  if (!halo_hmac_same(code, link->card + TCP_CARD)) {
    serve_note_stranger(s, link);
    return false;
  }
  if (coordinator_get(link->answer) != COORDINATOR_GOOD || s->arrived[link->process]) return false;
  memcpy(s->all + (size_t)TCP_CARD * (size_t)link->process, link->card, TCP_CARD);
  s->arrived[link->process] = true;
  s->missing--;
  return true;
}

/* All of what was awaited has come, or is sent. */
static bool serve_next_stage(serve *s, serve_link *link) {
  link->at = 0;
  switch (link->stage) {
    case SERVE_HELLO: link->stage = SERVE_ANSWER; return serve_answer(s, link);
    case SERVE_ANSWER: link->stage = SERVE_CARD; return true;
    case SERVE_CARD:
      if (!serve_take(s, link)) return false;
      link->stage = SERVE_HERE;
      return true;
    case SERVE_HERE: return false;
  }
  return false;
}

/* Goes on as far as that is possible without waiting. False: it is over. */
static bool serve_step(serve *s, serve_link *link) {
  for (;;) {
    bool says = link->stage == SERVE_ANSWER;
    uint8_t nothing[1], *places[] = {link->hello, link->answer, link->card, nothing};
    static const size_t sizes[] = {sizeof link->hello, sizeof link->answer, sizeof link->card, 1};
    uint8_t *at = places[link->stage] + link->at;
    size_t size = sizes[link->stage];
    ssize_t moved = says ? send(link->fd, at, size - link->at, MSG_DONTWAIT | MSG_NOSIGNAL)
                         : recv(link->fd, at, size - link->at, MSG_DONTWAIT);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (moved <= 0) return false;
    link->at += (size_t)moved;
    if (link->at == size && !serve_next_stage(s, link)) return false;
  }
}

/* ---- All of it ---- */

static void serve_wait(serve *s) {
  s->waits.count = 0;
  for (int i = 0; i < s->listener_count; i++) {
    halo_vec_push(&s->waits, (struct pollfd){.fd = s->listeners[i], .events = POLLIN});
  }
  for (int32_t i = 0; i < s->links.count; i++) {
    const serve_link *link = s->links.data[i];
    short events = link->stage == SERVE_ANSWER ? POLLOUT : POLLIN;
    halo_vec_push(&s->waits, (struct pollfd){.fd = link->fd, .events = events});
  }
  (void)poll(s->waits.data, (nfds_t)s->waits.count, 50);
}

static void serve_look(serve *s) {
  int32_t links = s->links.count, kept = 0;
  serve_wait(s);
  double now = halo_clock();
  for (int32_t i = 0; i < links; i++) {
    serve_link *link = s->links.data[i];
    bool good = !s->waits.data[s->listener_count + i].revents || serve_step(s, link);
    if (!good || (link->stage != SERVE_HERE && now > link->until)) serve_drop(s, link);
  }
  for (int i = 0; i < s->listener_count; i++) {
    if (s->waits.data[i].revents) serve_accept(s, s->listeners[i]);
  }
  for (int32_t i = 0; i < s->links.count; i++) {
    if (s->links.data[i]->fd >= 0) {
      s->links.data[kept++] = s->links.data[i];
    } else {
      halo_free(s->links.data[i]);
    }
  }
  s->links.count = kept;
}

/* All cards go to one process. */
static bool serve_give(serve *s, serve_link *link, double until) {
  uint8_t verdict[COORDINATOR_VERDICT] = {0}, code[HALO_SHA256_SIZE];
  size_t bytes = (size_t)TCP_CARD * (size_t)s->c->count;
  coordinator_prove(s->c, PROOF_CARDS, link->hello, link->answer + COORDINATOR_VERDICT, s->all,
                    bytes, code);
  return coordinator_move(link->fd, true, verdict, sizeof verdict, until) &&
         coordinator_move(link->fd, true, s->all, bytes, until) &&
         coordinator_move(link->fd, true, code, sizeof code, until);
}

/* Tells the processes that came about all of them, or about those that are missing. */
static const char *serve_end(serve *s) {
  const char *trouble = NULL;
  int missing = 0;
  for (int p = 1; p < s->c->count && !missing; p++) missing = s->arrived[p] ? 0 : p;
  for (int32_t i = 0; i < s->links.count; i++) {
    serve_link *link = s->links.data[i];
    if (link->stage != SERVE_HERE) continue;
    double until = halo_clock() + coordinator_saying;
    if (!missing && !serve_give(s, link, until)) {
      missing = link->process;
      trouble = tcp_say("process %d is gone (%s)", missing, strerror(errno));
    } else if (missing) {
      uint8_t verdict[COORDINATOR_VERDICT];
      coordinator_put(verdict, COORDINATOR_MISSING);
      coordinator_put(verdict + 4, (uint32_t)missing);
      (void)coordinator_move(link->fd, true, verdict, sizeof verdict, until);
    }
  }
  return trouble;
}

const char *coordinator_serve(const coordinator *c, uint8_t *all) {
  serve s = {.c = c,
             .all = all,
             .arrived = halo_alloc(sizeof *s.arrived * (size_t)c->count),
             .missing = c->count - 1};
  double begin = halo_clock(), until = begin + c->patience;
  bool told = false;
  const char *trouble = serve_listen(&s);
  while (!trouble && s.missing > 0 && halo_clock() < until) {
    serve_look(&s);
    if (told || s.missing == 0 || halo_clock() < begin + coordinator_silence) continue;
    serve_tell(&s);
    told = true;
  }
  if (!trouble) {
    trouble = serve_end(&s);
    if (s.missing > 0) trouble = serve_give_up(&s);
  }
  for (int32_t i = 0; i < s.links.count; i++) {
    close(s.links.data[i]->fd);
    halo_free(s.links.data[i]);
  }
  for (int i = 0; i < s.listener_count; i++) close(s.listeners[i]);
  halo_vec_deinit(&s.links);
  halo_vec_deinit(&s.waits);
  halo_free(s.arrived);
  return trouble;
}
