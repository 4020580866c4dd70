/* collectives/exchange.c: one device's part of an operation: all messages sent, all received. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "collectives/post.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

typedef struct exchange_send {
  void *requests[2]; /* to another process, while they are not done */
  void *letter;
} exchange_send;

typedef enum exchange_stage { EXCHANGE_WAITS, EXCHANGE_COMES, EXCHANGE_DONE } exchange_stage;
typedef struct exchange_receive {
  exchange_stage stage;
  void *request;
} exchange_receive;

typedef struct exchange_state {
  halo_world *world;
  const halo_exchange *x;
  post_sender sender;
  exchange_send *sends;
  exchange_receive *receives;
  bool moved; /* something happened in this round */
} exchange_state;

static halo_status exchange_begin(exchange_state *s) {
  const halo_exchange *x = s->x;
  for (int i = 0; i < x->send_count; i++) {
    const halo_message *message = &x->sends[i];
    if (post_process_of(s->world, message->peer) != s->world->process) {
      HALO_TRY(post_send(s->world, x, message, s->sends[i].requests, &s->sends[i].letter));
      continue;
    }
    post_entry *entry = halo_alloc(sizeof *entry);
    *entry = (post_entry){.key = x->key,
                          .from = x->device,
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
  return HALO_OK;
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
    receive->stage = EXCHANGE_DONE;
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

/* One look at everything. *open: what is not done. */
static halo_status exchange_round(exchange_state *s, int *open) {
  *open = 0;
  s->moved = false;
  HALO_TRY(post_poll(s->world, &s->moved));
  for (int i = 0; i < s->x->receive_count; i++) {
    exchange_receive *receive = &s->receives[i];
    if (receive->stage == EXCHANGE_WAITS) HALO_TRY(exchange_take(s, i));
    if (receive->stage == EXCHANGE_COMES) {
      HALO_TRY(exchange_test(s, &receive->request));
      if (!receive->request) receive->stage = EXCHANGE_DONE;
    }
    *open += receive->stage != EXCHANGE_DONE;
  }
  for (int i = 0; i < s->x->send_count; i++) {
    for (int r = 0; r < 2; r++) {
      HALO_TRY(exchange_test(s, &s->sends[i].requests[r]));
      *open += s->sends[i].requests[r] != NULL;
    }
  }
  return HALO_OK;
}

/* Waits for a change, not long where other processes could bring one: they wake nobody. With the lock. */
static void exchange_doze(exchange_state *s, int idle, double until) {
  enum { DOZE_SPINS = 50, DOZE_SHORTEST = 10000, DOZE_LONGEST = 400000 }; /* rounds; nanoseconds */
  double left = until - halo_clock();
  int64_t wait = left > 0 ? (int64_t)(left * 1e9) : 0;
  if (s->world->comm) {
    int64_t most = idle < DOZE_SPINS ? 0 : (int64_t)DOZE_SHORTEST * (idle - DOZE_SPINS + 1);
    if (most > DOZE_LONGEST) most = DOZE_LONGEST;
    if (wait > most) wait = most;
  }
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
static bool exchange_stirs(exchange_state *s, int open) {
  const halo_exchange *x = s->x;
  if (open == 0 && s->sender.untaken == 0) return true;
  for (int i = 0; i < x->receive_count; i++) {
    if (s->receives[i].stage == EXCHANGE_WAITS &&
        post_has(s->world, &x->key, x->receives[i].peer, x->device, x->receives[i].lane)) {
      return true;
    }
  }
  return false;
}

static void exchange_name(const halo_world *world, halo_strbuf *text, int address) {
  if (address < 0) {
    halo_strbuf_printf(text, "process %d", -1 - address);
  } else if (world->process_count > 1) {
    halo_strbuf_printf(text, "device %d (process %d)", address, post_process_of(world, address));
  } else {
    halo_strbuf_printf(text, "device %d", address);
  }
}

/* Who is missing. */
static halo_status exchange_late(exchange_state *s, double seconds) {
  halo_strbuf text = {0};
  int named = 0;
  for (int i = 0; i < s->x->receive_count; i++) {
    if (s->receives[i].stage == EXCHANGE_DONE) continue;
    halo_strbuf_append(&text, named++ ? ", " : "");
    exchange_name(s->world, &text, s->x->receives[i].peer);
  }
  const char *what = named ? "nothing came from" : "nobody took what was sent by";
  if (!named) exchange_name(s->world, &text, s->x->device);
  halo_status status =
      halo_fail(HALO_DEADLINE_EXCEEDED, "%s %s for %g s", what, halo_strbuf_text(&text), seconds);
  halo_strbuf_deinit(&text);
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

static halo_status exchange_wait(exchange_state *s, double timeout) {
  double until = halo_clock() + timeout;
  for (int idle = 0;; idle++) {
    int open;
    HALO_TRY(exchange_round(s, &open));
    if (s->moved) {
      until = halo_clock() + timeout;
      idle = 0;
    }
    pthread_mutex_lock(&s->world->office->lock);
    bool done = open == 0 && s->sender.untaken == 0;
    halo_status status = done ? HALO_OK : exchange_check_failed(s);
    if (!done && status == HALO_OK && !s->moved && !exchange_stirs(s, open)) {
      exchange_doze(s, idle, until);
    }
    pthread_mutex_unlock(&s->world->office->lock);
    if (done || status != HALO_OK) return status;
    if (halo_clock() > until) return exchange_late(s, timeout);
  }
}

/* After a failure: the senders' memory must not be in use any more when this returns. */
static void exchange_clear(exchange_state *s) {
  halo_world *world = s->world;
  pthread_mutex_lock(&world->office->lock);
  post_take_back(world, &s->sender);
  while (s->sender.untaken > 0) pthread_cond_wait(&world->office->changed, &world->office->lock);
  double until = halo_clock() + (world->office->broken ? 0 : world->timeout);
  pthread_mutex_unlock(&world->office->lock);
  /* The other side takes, and drops, what is on its way. */
  for (bool open = true; open && halo_clock() < until;) {
    open = false;
    bool any;
    if (post_poll(world, &any) != HALO_OK) break;
    for (int i = 0; i < s->x->receive_count; i++) {
      if (exchange_test(s, &s->receives[i].request) != HALO_OK) return;
      open |= s->receives[i].request != NULL;
    }
    for (int i = 0; i < s->x->send_count; i++) {
      for (int r = 0; r < 2; r++) {
        if (exchange_test(s, &s->sends[i].requests[r]) != HALO_OK) return;
        open |= s->sends[i].requests[r] != NULL;
      }
    }
    if (open) {
      struct timespec pause = {0, 200000};
      nanosleep(&pause, NULL);
    }
  }
}

static halo_status exchange_run(exchange_state *s, double timeout) {
  const halo_exchange *x = s->x;
  s->sends = halo_alloc(sizeof *s->sends * (size_t)(x->send_count + 1));
  s->receives = halo_alloc(sizeof *s->receives * (size_t)(x->receive_count + 1));
  pthread_mutex_lock(&s->world->office->lock);
  halo_status status = s->world->office->broken
                           ? halo_fail(HALO_ABORTED, "the connection to other processes is lost")
                           : exchange_check_failed(s);
  pthread_mutex_unlock(&s->world->office->lock);
  if (status == HALO_OK) status = exchange_begin(s);
  if (status == HALO_OK) status = exchange_wait(s, timeout);
  if (status != HALO_OK) status = halo_fail_in(status, "%s", x->what);
  bool unfinished = false;
  if (status != HALO_OK) {
    char *message = halo_error_save();
    halo_world_fail(s->world, x->key.program, x->key.run, x->device, message ? message : "");
    exchange_clear(s);
    for (int i = 0; i < x->send_count; i++) {
      unfinished |= s->sends[i].requests[0] || s->sends[i].requests[1];
    }
    for (int i = 0; i < x->receive_count; i++) unfinished |= s->receives[i].request != NULL;
    halo_error_restore(message);
  }
  if (unfinished) {
    pthread_mutex_lock(&s->world->office->lock);
    s->world->office->broken = true;
    pthread_mutex_unlock(&s->world->office->lock);
  }
  for (int i = 0; i < x->send_count; i++) {
    if (!s->sends[i].requests[0]) halo_free(s->sends[i].letter);
  }
  halo_free(s->sends);
  halo_free(s->receives);
  return status;
}

halo_status halo_world_exchange(halo_world *world, const halo_exchange *x) {
  exchange_state s = {.world = world, .x = x};
  return exchange_run(&s, world->timeout);
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

halo_status halo_world_agree(halo_world *world, const char *what, const void *mine, size_t bytes,
                             void *all, uint64_t *number) {
  enum { AGREE_PATIENCE = 10 }; /* others may be compiling still */
  int count = world->process_count;
  memcpy((char *)all + bytes * (size_t)world->process, mine, bytes);
  pthread_mutex_lock(&world->office->lock);
  uint64_t count_so_far = ++world->agreements;
  pthread_mutex_unlock(&world->office->lock);
  if (number) *number = post_program(world, count_so_far);
  if (count == 1) return HALO_OK;
  halo_message *sends = halo_alloc(sizeof *sends * 2 * (size_t)count), *receives = sends + count;
  int others = 0;
  for (int p = 0; p < count; p++) {
    if (p == world->process) continue;
    sends[others] = (halo_message){post_desk(p), 0, (void *)mine, bytes};
    receives[others++] = (halo_message){post_desk(p), 0, (char *)all + bytes * (size_t)p, bytes};
  }
  halo_exchange x = {.key = {.program = post_program(world, 0), .run = count_so_far},
                     .device = post_desk(world->process),
                     .what = what,
                     .sends = sends,
                     .receives = receives,
                     .send_count = others,
                     .receive_count = others};
  exchange_state s = {.world = world, .x = &x};
  halo_status status = exchange_run(&s, world->timeout * AGREE_PATIENCE);
  halo_free(sends);
  return status;
}
