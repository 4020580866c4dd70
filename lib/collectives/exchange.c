/* SPDX-License-Identifier: Apache-2.0 */
/* collectives/exchange.c: one device's part of an operation: all messages sent, all received. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "collectives/post.h"
#include "collectives/schedule.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

typedef struct exchange_send {
  void *requests[2]; /* to another process, while they are not done */
  void *letter;
  bool begun;
} exchange_send;

typedef enum exchange_stage { EXCHANGE_WAITS, EXCHANGE_COMES, EXCHANGE_DONE } exchange_stage;
typedef struct exchange_receive {
  exchange_stage stage;
  void *request;
} exchange_receive;

/* Sends to other processes that are on their way at once, of one exchange: more would wait in queues of the
 * network, and all devices' for the same receivers. */
enum { EXCHANGE_WINDOW = 64 };

struct halo_exchange_state {
  halo_world *world;
  halo_exchange own;
  const halo_exchange *x;
  double timeout, until;
  double doubted; /* when doubts were last asked for, or something came */
  double
      patience; /* `timeout`, and more where those that wait for the missing device itself are to speak first */
  post_wait wait;    /* whom it waits for, which others are told when they ask, */
  bool registered;   /* if it has done so for some time */
  int awaits, asked; /* the first that is missing, as of the last look; who was asked last */
  post_sender sender;
  exchange_send *sends;
  exchange_receive *receives;
  int begun, first; /* of the sends; the first that has not */
  int away;         /* sends to other processes that are not done */
  int open;         /* of all messages, that are not done, as of the last look */
  int idle;         /* looks in a row that found nothing */
  size_t
      large_bytes; /* of messages from and to other processes which the communicator carries now */
  int untaken;     /* local messages that nobody had copied, as of the last look */
  bool moved;      /* something happened in this look */
  bool over;       /* nothing is left to look for */
  halo_status status;
  char *message; /* of a failure */
};
typedef struct halo_exchange_state exchange_state;

static bool exchange_is_local(const exchange_state *s, int peer) {
  return post_process_of(s->world, peer) == s->world->process;
}

static void exchange_put(exchange_state *s, const halo_message *message) {
  post_entry *entry = halo_alloc(sizeof *entry);
  *entry = (post_entry){.key = s->x->key,
                        .from = s->x->device,
                        .to = message->peer,
                        .lane = message->lane,
                        .bytes = message->bytes,
                        .data = message->data ? message->data : "",
                        .process = s->world->process,
                        .sender = &s->sender};
  pthread_mutex_lock(&s->world->office->lock);
  s->sender.untaken++;
  post_put(s->world, entry);
  pthread_mutex_unlock(&s->world->office->lock);
}

/* Begins to send what is ready and has not begun, as far as there is room for it. */
static halo_status exchange_send_more(exchange_state *s) {
  const halo_exchange *x = s->x;
  for (int i = s->first; i < x->send_count; i++) {
    const halo_message *message = &x->sends[i];
    exchange_send *send = &s->sends[i];
    bool local = exchange_is_local(s, message->peer), ready = true;
    if (send->begun || (!local && s->away >= EXCHANGE_WINDOW)) continue;
    if (x->ready) HALO_TRY(x->ready(x->user, i, &ready));
    if (!ready) continue;
    send->begun = s->moved = true;
    s->begun++;
    if (local) {
      exchange_put(s, message);
    } else {
      s->away++;
      HALO_TRY(post_send(s->world, x, message, send->requests, &send->letter));
    }
  }
  while (s->first < x->send_count && s->sends[s->first].begun) s->first++;
  return HALO_OK;
}

/* A receive is done. */
static halo_status exchange_came(exchange_state *s, int i) {
  s->receives[i].stage = EXCHANGE_DONE;
  return s->x->came ? s->x->came(s->x->user, i) : HALO_OK;
}

/* Takes what has come for one of the receives, if it has. */
static halo_status exchange_take(exchange_state *s, int i) {
  const halo_message *want = &s->x->receives[i];
  exchange_receive *receive = &s->receives[i];
  pthread_mutex_lock(&s->world->office->lock);
  post_entry *entry = post_take(s->world, &s->x->key, want->peer, s->x->device, want->lane);
  pthread_mutex_unlock(&s->world->office->lock);
  if (!entry) return HALO_OK;
  s->moved = true;
  halo_status status = HALO_OK;
  if (entry->bytes != want->bytes) {
    status = halo_fail(HALO_INVALID_ARGUMENT,
                       "device %d sends %zu bytes where device %d wants %zu: their programs differ",
                       want->peer, entry->bytes, s->x->device, want->bytes);
  } else if (entry->data) {
    if (entry->bytes) memcpy(want->data, entry->data, entry->bytes);
    status = exchange_came(s, i);
  }
  if (entry->sender) {
    pthread_mutex_lock(&s->world->office->lock);
    entry->sender->untaken--;
    pthread_cond_broadcast(&s->world->office->changed);
    pthread_mutex_unlock(&s->world->office->lock);
  } else if (!entry->data) {
    /* What has the wrong size is received as well, since its sender waits for that. */
    void *waste = NULL;
    if (status != HALO_OK && halo_try_alloc(entry->bytes, "a message", &waste) != HALO_OK) {
      post_entry_release(entry);
      return status;
    }
    void *request;
    halo_status began = post_receive(s->world, entry, waste ? waste : want->data, &request);
    if (began == HALO_OK && waste) {
      post_abandon(s->world, request, waste);
    } else if (began == HALO_OK) {
      receive->request = request;
      receive->stage = EXCHANGE_COMES;
    } else {
      halo_free(waste);
      status = began;
    }
  }
  post_entry_release(entry);
  return status;
}

/* Tests a request; NULL once it is done. */
static halo_status exchange_test(exchange_state *s, void **request) {
  bool done = true;
  if (*request) HALO_TRY(post_test(s->world, *request, &done));
  if (!done || !*request) return HALO_OK;
  *request = NULL;
  s->moved = true;
  return HALO_OK;
}

/* One look at everything. */
static halo_status exchange_round(exchange_state *s) {
  s->moved = false;
  s->large_bytes = 0;
  int open = 0;
  s->awaits = s->x->device;
  HALO_TRY(post_poll(s->world, &s->moved));
  for (int i = 0; i < s->x->receive_count; i++) {
    exchange_receive *receive = &s->receives[i];
    if (receive->stage == EXCHANGE_WAITS) HALO_TRY(exchange_take(s, i));
    if (receive->stage == EXCHANGE_COMES) {
      HALO_TRY(exchange_test(s, &receive->request));
      if (!receive->request) HALO_TRY(exchange_came(s, i));
      if (receive->request) s->large_bytes += s->x->receives[i].bytes;
    }
    if (receive->stage == EXCHANGE_DONE) continue;
    if (open++ == 0) s->awaits = s->x->receives[i].peer;
  }
  s->away = 0;
  for (int i = 0; i < s->x->send_count; i++) {
    for (int r = 0; r < 2; r++) HALO_TRY(exchange_test(s, &s->sends[i].requests[r]));
    bool away = s->sends[i].requests[0] || s->sends[i].requests[1];
    if (s->sends[i].requests[1]) s->large_bytes += s->x->sends[i].bytes;
    if (away && open == 0 && s->away == 0) s->awaits = s->x->sends[i].peer;
    s->away += away;
  }
  if (s->begun < s->x->send_count) HALO_TRY(exchange_send_more(s));
  s->open = open + s->away + (s->x->send_count - s->begun);
  return HALO_OK;
}

/* Waits for a change, not long where other processes could bring one: they wake nobody. At first, and while the
 * communicator carries large messages, which some move only when they are looked at, others just get a turn; then
 * the longer nothing comes, the longer it is waited. With the lock. */
static void exchange_doze(exchange_state *s) {
  enum { DOZE_SHORTEST = 10000, DOZE_LONGEST = 400000 }; /* nanoseconds */
  static const double patience = 1e-3, slowest = 1e8;    /* seconds; bytes a second */
  double left = s->until - halo_clock(), quiet = s->patience - left;
  int64_t wait = left > 0 ? (int64_t)(left * 1e9) : 0;
  if (s->world->comm) {
    bool awake = quiet < patience || quiet < (double)s->large_bytes / slowest;
    int64_t most = awake ? 0 : (int64_t)(quiet * 1e9 / 8);
    if (most > DOZE_LONGEST) most = DOZE_LONGEST;
    if (wait > most) wait = most;
  }
  /* Nor does a device that fills a sender's memory. */
  if (s->begun < s->x->send_count && wait > DOZE_SHORTEST) wait = DOZE_SHORTEST;
  if (wait == 0) {
    pthread_mutex_unlock(&s->world->office->lock);
    sched_yield();
    pthread_mutex_lock(&s->world->office->lock);
    return;
  }
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  wait += at.tv_nsec;
  at.tv_sec += (time_t)(wait / 1000000000);
  at.tv_nsec = (long)(wait % 1000000000);
  pthread_cond_timedwait(&s->world->office->changed, &s->world->office->lock, &at);
}

/* Whether what this exchange waits for within the process may have come. With the lock. */
static bool exchange_stirs(exchange_state *s) {
  const halo_exchange *x = s->x;
  if (s->open == 0 && s->sender.untaken == 0) return true;
  for (int i = 0; i < x->receive_count; i++) {
    if (s->receives[i].stage == EXCHANGE_WAITS &&
        post_has(s->world, &x->key, x->receives[i].peer, x->device, x->receives[i].lane)) {
      return true;
    }
  }
  return false;
}

typedef struct exchange_names {
  halo_strbuf text;
  HALO_VEC(int) listed;
} exchange_names;

static void exchange_name(const halo_world *world, halo_strbuf *text, int address) {
  if (address < 0) {
    halo_strbuf_printf(text, "process %d", -1 - address);
  } else if (world->process_count > 1) {
    halo_strbuf_printf(text, "device %d (process %d)", address, post_process_of(world, address));
  } else {
    halo_strbuf_printf(text, "device %d", address);
  }
}

/* Devices in a list, each once, and who keeps them waiting. */
static void exchange_list(const exchange_state *s, exchange_names *names, int address) {
  for (int32_t i = 0; i < names->listed.count; i++) {
    if (names->listed.data[i] == address) return;
  }
  halo_strbuf_append(&names->text, names->listed.count ? ", " : "");
  exchange_name(s->world, &names->text, address);
  halo_vec_push(&names->listed, address);
  pthread_mutex_lock(&s->world->office->lock);
  int last = post_follow(s->world, &s->wait, address);
  pthread_mutex_unlock(&s->world->office->lock);
  if (last == address) return;
  halo_strbuf_append(&names->text, ", which waits for ");
  exchange_name(s->world, &names->text, last);
}

/* Who is missing: those from whom nothing came; or, where all has come, those who do not take what is sent to
 * them. */
static halo_status exchange_late(exchange_state *s) {
  const halo_exchange *x = s->x;
  exchange_names names = {0};
  const char *what = "nothing came from %s for %g s";
  for (int i = 0; i < x->receive_count; i++) {
    if (s->receives[i].stage != EXCHANGE_DONE) exchange_list(s, &names, x->receives[i].peer);
  }
  if (names.listed.count == 0) {
    what = "what was sent to %s was not taken for %g s";
    for (int i = 0; i < x->send_count; i++) {
      if (s->sends[i].requests[0] || s->sends[i].requests[1]) {
        exchange_list(s, &names, x->sends[i].peer);
      }
    }
    for (int i = 0; i < x->send_count; i++) {
      const halo_message *m = &x->sends[i];
      pthread_mutex_lock(&s->world->office->lock);
      bool waits =
          exchange_is_local(s, m->peer) && post_has(s->world, &x->key, x->device, m->peer, m->lane);
      pthread_mutex_unlock(&s->world->office->lock);
      if (waits) exchange_list(s, &names, m->peer);
    }
  }
  if (names.listed.count == 0) {
    what = "%s did not have what it sends for %g s";
    exchange_list(s, &names, x->device);
  }
  halo_status status =
      halo_fail(HALO_DEADLINE_EXCEEDED, what, halo_strbuf_text(&names.text), s->timeout);
  halo_strbuf_deinit(&names.text);
  halo_vec_deinit(&names.listed);
  return status;
}

static halo_status exchange_check_failed(exchange_state *s) {
  const post_failure *failure = post_failed(s->world, s->x->key.program, s->x->key.run);
  if (!failure) return HALO_OK;
  halo_strbuf text = {0};
  exchange_name(s->world, &text, failure->device);
  halo_status status =
      halo_fail(HALO_ABORTED, "%s failed: %s", halo_strbuf_text(&text), failure->message);
  halo_strbuf_deinit(&text);
  return status;
}

/* A look went wrong. A message of another process about the run says more than the fact that the process has ended. */
static halo_status exchange_explain(exchange_state *s, halo_status status) {
  bool any;
  char *message = halo_error_save();
  (void)post_poll(s->world, &any);
  pthread_mutex_lock(&s->world->office->lock);
  halo_status told = exchange_check_failed(s);
  pthread_mutex_unlock(&s->world->office->lock);
  if (told != HALO_OK) {
    halo_free(message);
    return told;
  }
  halo_error_restore(message);
  return status;
}

/* After some time others are told whom this waits for, and when most of it is over the ends of such chains are asked. */
static void exchange_wonder(exchange_state *s, double now) {
  halo_world *world = s->world;
  double waited = s->patience - (s->until - now);
  if (!world->comm || waited < s->patience / 16) return;
  if (!s->registered) {
    s->registered = true;
    s->wait.awaits = s->awaits;
    post_register(world, &s->wait);
  }
  if (waited < s->patience * 7 / 8) {
    s->asked = s->x->device;
    return;
  }
  if (s->awaits == s->x->device) return;
  if (s->asked == s->x->device) s->wait.when = now;
  pthread_mutex_lock(&world->office->lock);
  int last = post_follow(world, &s->wait, s->awaits);
  pthread_mutex_unlock(&world->office->lock);
  if (last == s->asked || exchange_is_local(s, last)) return;
  s->asked = last;
  post_ask(world, &s->wait, last);
}

/* Looks once, and notes whether that was the end. `wait`: for a change, some time, if there is none. */
static halo_status exchange_step(exchange_state *s, bool wait) {
  halo_status status = exchange_round(s);
  if (status != HALO_OK) return exchange_explain(s, status);
  if (s->moved) {
    s->doubted = halo_clock();
    s->until = s->doubted + s->patience;
  }
  pthread_mutex_lock(&s->world->office->lock);
  s->untaken = s->sender.untaken;
  s->over = s->open == 0 && s->untaken == 0;
  if (s->registered) s->wait.awaits = s->awaits;
  status = s->over ? HALO_OK : exchange_check_failed(s);
  if (wait && !s->over && status == HALO_OK && !s->moved && !exchange_stirs(s)) exchange_doze(s);
  pthread_mutex_unlock(&s->world->office->lock);
  if (s->over || status != HALO_OK) return status;
  double now = halo_clock();
  exchange_wonder(s, now);
  if (s->x->doubt && now > s->doubted + s->world->timeout / 2) {
    s->doubted = now;
    for (int i = 0; i < s->x->receive_count; i++) {
      if (s->receives[i].stage == EXCHANGE_WAITS) HALO_TRY(s->x->doubt(s->x->user, i));
    }
  }
  return now > s->until ? exchange_late(s) : HALO_OK;
}

/* Gives up what the communicator has of a message, if it is done or can do without the memory. */
static void exchange_leave(exchange_state *s, void **request, size_t bytes) {
  if (exchange_test(s, request) != HALO_OK || !*request) return;
  if (post_leave(s->world, *request, bytes)) *request = NULL;
}

/* One look at what the communicator has still; whether there is anything. */
static bool exchange_clear_once(exchange_state *s) {
  bool any, open = false;
  (void)post_poll(s->world, &any);
  for (int i = 0; i < s->x->receive_count; i++) {
    exchange_leave(s, &s->receives[i].request, s->x->receives[i].bytes);
    open |= s->receives[i].request != NULL;
  }
  for (int i = 0; i < s->x->send_count; i++) {
    exchange_send *send = &s->sends[i];
    exchange_leave(s, &send->requests[1], s->x->sends[i].bytes);
    open |= send->requests[1] != NULL;
    if (!send->requests[0]) continue;
    post_abandon(s->world, send->requests[0], send->letter);
    send->requests[0] = send->letter = NULL;
  }
  return open;
}

/* After a failure: the senders' memory must not be in use any more when this returns. The other side takes, and drops, what
 * is on its way, if it comes to that; a communicator that cannot go on with other memory is given a moment for it. */
static void exchange_clear(exchange_state *s) {
  static const double moment = 2; /* seconds */
  halo_world *world = s->world;
  pthread_mutex_lock(&world->office->lock);
  post_take_back(world, &s->sender);
  while (s->sender.untaken > 0) pthread_cond_wait(&world->office->changed, &world->office->lock);
  pthread_mutex_unlock(&world->office->lock);
  double until = halo_clock() + (world->timeout < moment ? world->timeout : moment);
  while (world->comm && exchange_clear_once(s) && halo_clock() < until) {
    pthread_mutex_lock(&world->office->lock);
    bool broken = world->office->broken;
    pthread_mutex_unlock(&world->office->lock);
    if (broken) break;
    nanosleep(&(struct timespec){0, 200000}, NULL);
  }
}

/* The first failure ends it: the others are told, and nothing of it is on its way any more. */
static void exchange_fail(exchange_state *s, halo_status status) {
  const halo_exchange *x = s->x;
  bool unfinished = false;
  s->over = true;
  s->status = halo_fail_in(status, "%s", x->what);
  s->message = halo_error_save();
  halo_world_fail(s->world, x->key.program, x->key.run, x->device, s->message ? s->message : "");
  exchange_clear(s);
  for (int i = 0; i < x->send_count; i++) {
    unfinished |= s->sends[i].requests[0] || s->sends[i].requests[1];
  }
  for (int i = 0; i < x->receive_count; i++) unfinished |= s->receives[i].request != NULL;
  if (!unfinished) return;
  post_break(s->world, s->message ? s->message : "");
}

static exchange_state *exchange_begin(halo_world *world, const halo_exchange *x, double timeout) {
  exchange_state *s = halo_alloc(sizeof *s);
  static const double stagger = 0.04; /* of the limit, for each stage */
  *s = (exchange_state){.world = world, .own = *x, .timeout = timeout};
  s->wait = (post_wait){x->key.program, x->key.run, x->device, x->device};
  s->awaits = s->asked = x->device;
  s->x = &s->own;
  s->patience = timeout * (1 + stagger * x->stage);
  s->doubted = halo_clock();
  s->until = s->doubted + s->patience;
  s->sends = halo_alloc(sizeof *s->sends * (size_t)(x->send_count + 1));
  s->receives = halo_alloc(sizeof *s->receives * (size_t)(x->receive_count + 1));
  /* A large message that nobody takes any more is not begun, if that can be known. */
  bool any, large = false;
  for (int i = 0; i < x->send_count && !large; i++) large = x->sends[i].bytes > POST_LETTER;
  if (large) (void)post_poll(world, &any);
  pthread_mutex_lock(&world->office->lock);
  halo_status status =
      world->office->broken
          ? halo_fail(HALO_ABORTED, "the connection to other processes is lost: %s",
                      world->office->broken_by)
          : exchange_check_failed(s);
  pthread_mutex_unlock(&world->office->lock);
  if (status == HALO_OK) status = exchange_send_more(s);
  if (status != HALO_OK) exchange_fail(s, status);
  return s;
}

static halo_status exchange_end(exchange_state *s) {
  while (!s->over) {
    halo_status status = exchange_step(s, true);
    if (status != HALO_OK) exchange_fail(s, status);
  }
  if (s->registered) post_unregister(s->world, &s->wait);
  for (int i = 0; i < s->x->send_count; i++) {
    if (!s->sends[i].requests[0]) halo_free(s->sends[i].letter);
  }
  halo_status status = s->status;
  if (s->message) halo_error_restore(s->message);
  halo_free(s->sends);
  halo_free(s->receives);
  halo_free(s);
  return status;
}

halo_exchange_state *halo_world_begin(halo_world *world, const halo_exchange *x) {
  return exchange_begin(world, x, world->timeout);
}

bool halo_world_look(halo_exchange_state *s) {
  if (s->over) return true;
  halo_status status = exchange_step(s, false);
  if (status != HALO_OK) exchange_fail(s, status);
  return s->over;
}

bool halo_world_moved(const halo_exchange_state *s) { return s->moved; }

bool halo_world_is_far(const halo_exchange_state *s) {
  for (int i = 0; i < s->x->receive_count; i++) {
    if (s->receives[i].stage != EXCHANGE_DONE && exchange_is_local(s, s->x->receives[i].peer)) {
      return false;
    }
  }
  return s->world->comm && s->untaken == 0;
}

halo_status halo_world_end(halo_exchange_state *s) { return exchange_end(s); }

halo_status post_exchange_patiently(halo_world *world, const halo_exchange *x) {
  enum { EXCHANGE_PATIENCE = 10 };
  return exchange_end(exchange_begin(world, x, world->timeout * EXCHANGE_PATIENCE));
}

void halo_world_fail(halo_world *world, uint64_t program, uint64_t run, int device,
                     const char *message) {
  pthread_mutex_lock(&world->office->lock);
  bool known = post_failed(world, program, run) != NULL;
  pthread_mutex_unlock(&world->office->lock);
  if (known) return;
  post_note_failure(world, program, run, device, message);
  post_tell_failure(world, program, run, device, message);
}
