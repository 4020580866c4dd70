/* SPDX-License-Identifier: Apache-2.0 */
/* collectives/post.c: the post office of a process. */
#include "collectives/post.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/worker.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* What a message with tag 0 begins with. Processes of one run are of one kind of machine. */
typedef enum post_kind { POST_MESSAGE = 0x68616c6f, POST_FAILURE, POST_ASK, POST_WAITS } post_kind;
typedef struct post_letter {
  uint32_t kind;
  int32_t tag; /* of what follows; 0: it is behind this */
  halo_message_key key;
  int32_t from, to, lane, padding;
  uint64_t bytes;
} post_letter;
enum { POST_INLINE = POST_LETTER - sizeof(post_letter) };

int post_process_of(const halo_world *world, int address) {
  if (address < 0) return -1 - address;
  int low = 0,
      high = world->process_count - 1; /* the last one whose first device is not above it */
  while (low < high) {
    int middle = low + (high - low + 1) / 2;
    if (world->first[middle] <= address) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/* ---- The box ---- */

static post_entry **post_bucket(halo_world *world, const halo_message_key *key, int from, int to) {
  uint64_t hash = key->program * 0x9e3779b97f4a7c15u + key->run;
  hash = hash * 0x9e3779b97f4a7c15u + ((uint64_t)key->op << 32 | key->round);
  hash = hash * 0x9e3779b97f4a7c15u + ((uint64_t)(uint32_t)from << 32 | (uint32_t)to);
  return &world->office->buckets[(hash ^ hash >> 32) % POST_BUCKETS];
}

static bool post_same_key(const halo_message_key *a, const halo_message_key *b) {
  return a->program == b->program && a->run == b->run && a->op == b->op && a->round == b->round;
}

/* Where the message hangs in its bucket; that holds NULL when it has not come. */
static post_entry **post_find(halo_world *world, const halo_message_key *key, int from, int to,
                              int lane) {
  post_entry **at = post_bucket(world, key, from, to);
  for (; *at; at = &(*at)->next) {
    const post_entry *entry = *at;
    if (entry->from != from || entry->to != to || entry->lane != lane) continue;
    if (post_same_key(&entry->key, key)) break;
  }
  return at;
}

bool post_has(halo_world *world, const halo_message_key *key, int from, int to, int lane) {
  return *post_find(world, key, from, to, lane) != NULL;
}

post_entry *post_take(halo_world *world, const halo_message_key *key, int from, int to, int lane) {
  post_entry **at = post_find(world, key, from, to, lane), *entry = *at;
  if (entry) *at = entry->next;
  return entry;
}

const post_entry *post_any(halo_world *world, int from, int to, uint32_t op, uint32_t round) {
  for (int b = 0; b < POST_BUCKETS; b++) {
    for (const post_entry *e = world->office->buckets[b]; e; e = e->next) {
      if (e->from == from && e->to == to && e->key.op == op && e->key.round == round) return e;
    }
  }
  return NULL;
}

void post_put(halo_world *world, post_entry *entry) {
  post_entry **at = post_bucket(world, &entry->key, entry->from, entry->to);
  entry->next = *at;
  *at = entry;
  pthread_cond_broadcast(&world->office->changed);
}

void post_entry_release(post_entry *entry) {
  halo_free(entry->owned);
  halo_free(entry);
}

void post_take_back(halo_world *world, post_sender *sender) {
  for (int b = 0; b < POST_BUCKETS; b++) {
    for (post_entry **at = &world->office->buckets[b]; *at;) {
      post_entry *entry = *at;
      if (entry->sender != sender) {
        at = &entry->next;
        continue;
      }
      *at = entry->next;
      sender->untaken--;
      post_entry_release(entry);
    }
  }
}

/* ---- The communicator ---- */

static void post_lock(halo_world *world) {
  if (!world->comm->concurrent) pthread_mutex_lock(&world->office->comm_lock);
}

static halo_status post_unlock(halo_world *world, const char *trouble) {
  if (!world->comm->concurrent) pthread_mutex_unlock(&world->office->comm_lock);
  if (!trouble) return HALO_OK;
  halo_status status = halo_fail(HALO_IO_ERROR, "%s: %s", world->comm->name, trouble);
  post_break(world, halo_error_message());
  return status;
}

void post_break(halo_world *world, const char *message) {
  post_office *office = world->office;
  pthread_mutex_lock(&office->lock);
  office->broken = true;
  if (!office->broken_by) office->broken_by = halo_strdup(message);
  pthread_mutex_unlock(&office->lock);
}

static halo_status post_begin_send(halo_world *world, int process, int tag, const void *data,
                                   size_t bytes, void **request) {
  post_lock(world);
  return post_unlock(world,
                     world->comm->send(world->comm->user, process, tag, data, bytes, request));
}

static halo_status post_begin_receive(halo_world *world, int process, int tag, void *data,
                                      size_t bytes, void **request) {
  post_lock(world);
  return post_unlock(world,
                     world->comm->receive(world->comm->user, process, tag, data, bytes, request));
}

halo_status post_test(halo_world *world, void *request, bool *done) {
  *done = false;
  post_lock(world);
  return post_unlock(world, world->comm->test(world->comm->user, request, done));
}

halo_status post_send(halo_world *world, const halo_exchange *x, const halo_message *message,
                      void *requests[2], void **out) {
  int process = post_process_of(world, message->peer);
  bool inlined = message->bytes <= POST_INLINE;
  size_t size = sizeof(post_letter) + (inlined ? message->bytes : 0);
  post_letter *letter = halo_alloc(size);
  *letter = (post_letter){.kind = POST_MESSAGE,
                          .key = x->key,
                          .from = x->device,
                          .to = message->peer,
                          .lane = message->lane,
                          .bytes = message->bytes};
  requests[0] = requests[1] = NULL;
  *out = letter;
  if (inlined) {
    if (message->bytes) memcpy(letter + 1, message->data, message->bytes);
  } else {
    pthread_mutex_lock(&world->office->lock);
    letter->tag = world->office->next_tag;
    world->office->next_tag =
        world->office->next_tag == world->comm->max_tag ? 1 : world->office->next_tag + 1;
    pthread_mutex_unlock(&world->office->lock);
  }
  HALO_TRY(post_begin_send(world, process, 0, letter, size, &requests[0]));
  if (inlined) return HALO_OK;
  return post_begin_send(world, process, letter->tag, message->data, message->bytes, &requests[1]);
}

halo_status post_receive(halo_world *world, const post_entry *entry, void *data, void **request) {
  return post_begin_receive(world, entry->process, entry->tag, data, entry->bytes, request);
}

void post_abandon(halo_world *world, void *request, void *memory) {
  pthread_mutex_lock(&world->office->lock);
  halo_vec_push(&world->office->orphans, (post_orphan){request, memory});
  pthread_mutex_unlock(&world->office->lock);
}

bool post_leave(halo_world *world, void *request, size_t bytes) {
  void *memory;
  if (!world->comm->move || halo_try_alloc(bytes + 1, "a message", &memory) != HALO_OK)
    return false;
  post_lock(world);
  world->comm->move(world->comm->user, request, memory);
  (void)post_unlock(world, NULL);
  post_abandon(world, request, memory);
  return true;
}

/* Receives what nobody wants any more, since its sender waits for that. */
static void post_drain(halo_world *world, post_entry *entry) {
  void *memory = NULL, *request = NULL;
  bool remote = !entry->data && entry->bytes > 0;
  if (remote && halo_try_alloc(entry->bytes, "a message", &memory) == HALO_OK &&
      post_receive(world, entry, memory, &request) == HALO_OK) {
    post_abandon(world, request, memory);
  } else {
    halo_free(memory);
  }
  post_entry_release(entry);
}

/* ---- Failures ---- */

const post_failure *post_failed(const halo_world *world, uint64_t program, uint64_t run) {
  uint64_t count = world->office->failure_count,
           oldest = count > POST_FAILURES ? count - POST_FAILURES : 0;
  for (uint64_t i = oldest; i < count; i++) {
    const post_failure *failure = &world->office->failures[i % POST_FAILURES];
    if (failure->program == program && failure->run == run) return failure;
  }
  return NULL;
}

void post_note_failure(halo_world *world, uint64_t program, uint64_t run, int device,
                       const char *message) {
  HALO_VEC(post_entry *) unwanted = {0};
  pthread_mutex_lock(&world->office->lock);
  if (!post_failed(world, program, run)) {
    post_failure *failure =
        &world->office->failures[world->office->failure_count++ % POST_FAILURES];
    halo_free(failure->message);
    *failure = (post_failure){program, run, device, halo_strdup(message)};
  }
  for (int b = 0; b < POST_BUCKETS; b++) {
    for (post_entry **at = &world->office->buckets[b]; *at;) {
      post_entry *entry = *at;
      /* Those of this process are taken back by their senders. */
      if (entry->key.program != program || entry->key.run != run || entry->sender) {
        at = &entry->next;
        continue;
      }
      *at = entry->next;
      halo_vec_push(&unwanted, entry);
    }
  }
  pthread_cond_broadcast(&world->office->changed);
  pthread_mutex_unlock(&world->office->lock);
  for (int32_t i = 0; i < unwanted.count; i++) post_drain(world, unwanted.data[i]);
  halo_vec_deinit(&unwanted);
  post_watch(world);
}

void post_tell_failure(halo_world *world, uint64_t program, uint64_t run, int device,
                       const char *message) {
  size_t length = strlen(message) + 1, room = POST_INLINE;
  if (length > room) length = room;
  for (int p = 0; world->comm && p < world->process_count; p++) {
    if (p == world->process) continue;
    post_letter *letter = halo_alloc(sizeof *letter + length);
    *letter = (post_letter){.kind = POST_FAILURE,
                            .key = {program, run, 0, 0},
                            .from = device,
                            .to = post_desk(p),
                            .bytes = length};
    char *text = (char *)(letter + 1);
    memcpy(text, message, length);
    text[length - 1] = '\0';
    void *request = NULL;
    if (post_begin_send(world, p, 0, letter, sizeof *letter + length, &request) == HALO_OK) {
      post_abandon(world, request, letter);
    } else {
      halo_free(letter);
    }
  }
}

/* ---- Questions ---- */

/* A letter without anything behind it, which is not waited for. */
static void post_send_note(halo_world *world, int process, post_letter note) {
  void *request = NULL;
  post_letter *letter = halo_alloc(sizeof *letter);
  *letter = note;
  if (post_begin_send(world, process, 0, letter, sizeof *letter, &request) == HALO_OK) {
    post_abandon(world, request, letter);
  } else {
    halo_free(letter);
  }
}

void post_ask(halo_world *world, const post_wait *wait, int device) {
  post_send_note(world, post_process_of(world, device),
                 (post_letter){.kind = POST_ASK,
                               .key = {wait->program, wait->run, 0, 0},
                               .from = wait->device,
                               .to = device});
}

static void post_asked(halo_world *world, int process, const post_letter *question) {
  post_wait wait;
  const halo_message_key *key = &question->key;
  if (!post_find_wait(world, key->program, key->run, question->to, &wait)) return;
  post_send_note(
      world, process,
      (post_letter){.kind = POST_WAITS, .key = *key, .from = wait.device, .to = wait.awaits});
}

/* ---- What comes ---- */

/* *any: it is more than a question or an answer. */
static halo_status post_arrived(halo_world *world, int process, const char *data, size_t size,
                                bool *any) {
  post_letter letter;
  if (size < sizeof letter) {
    return halo_fail(HALO_IO_ERROR, "a message of process %d is cut short", process);
  }
  memcpy(&letter, data, sizeof letter);
  const char *rest = data + sizeof letter;
  size_t behind = size - sizeof letter;
  if (letter.kind == POST_FAILURE && behind == letter.bytes && behind > 0) {
    char *text = halo_alloc(behind + 1);
    memcpy(text, rest, behind);
    post_note_failure(world, letter.key.program, letter.key.run, letter.from, text);
    halo_free(text);
    *any = true;
    return HALO_OK;
  }
  if (letter.kind == POST_ASK && behind == 0) {
    post_asked(world, process, &letter);
    return HALO_OK;
  }
  if (letter.kind == POST_WAITS && behind == 0) {
    post_note_wait(world,
                   &(post_wait){letter.key.program, letter.key.run, letter.from, letter.to, 0});
    return HALO_OK;
  }
  *any = true;
  if (letter.kind != POST_MESSAGE || (letter.tag == 0 && behind != letter.bytes)) {
    return halo_fail(HALO_IO_ERROR, "process %d sent what is no message: do all run one version?",
                     process);
  }
  post_entry *entry = halo_alloc(sizeof *entry);
  *entry = (post_entry){.key = letter.key,
                        .from = letter.from,
                        .to = letter.to,
                        .lane = letter.lane,
                        .bytes = (size_t)letter.bytes,
                        .process = process,
                        .tag = letter.tag};
  if (letter.tag == 0) {
    entry->owned = halo_alloc(behind + 1);
    if (behind) memcpy(entry->owned, rest, behind);
    entry->data = entry->owned;
  }
  pthread_mutex_lock(&world->office->lock);
  bool wanted = !post_failed(world, letter.key.program, letter.key.run);
  if (wanted) post_put(world, entry);
  pthread_mutex_unlock(&world->office->lock);
  if (!wanted) post_drain(world, entry);
  return HALO_OK;
}

/* Requests that nobody waits for. */
static halo_status post_look_after(halo_world *world) {
  for (int32_t i = 0;; i++) {
    pthread_mutex_lock(&world->office->lock);
    bool there = i < world->office->orphans.count;
    post_orphan orphan = there ? world->office->orphans.data[i] : (post_orphan){0};
    pthread_mutex_unlock(&world->office->lock);
    if (!there) return HALO_OK;
    bool done;
    HALO_TRY(post_test(world, orphan.request, &done));
    if (!done) continue;
    /* Only who holds the poll lock takes any out, so that it is still where it was. */
    pthread_mutex_lock(&world->office->lock);
    world->office->orphans.data[i--] = world->office->orphans.data[--world->office->orphans.count];
    pthread_mutex_unlock(&world->office->lock);
    halo_free(orphan.memory);
  }
}

halo_status post_poll(halo_world *world, bool *any) {
  *any = false;
  if (!world->comm || pthread_mutex_trylock(&world->office->poll_lock) != 0) return HALO_OK;
  halo_status status = HALO_OK;
  char data[POST_LETTER];
  for (;;) {
    int from = -1;
    size_t bytes = 0;
    post_lock(world);
    status =
        post_unlock(world, world->comm->poll(world->comm->user, data, sizeof data, &from, &bytes));
    if (status != HALO_OK || from < 0) break;
    status = post_arrived(world, from, data, bytes, any);
    if (status != HALO_OK) break;
  }
  if (status == HALO_OK) status = post_look_after(world);
  pthread_mutex_unlock(&world->office->poll_lock);
  return status;
}

/* ---- Counters ---- */

atomic_uint_least64_t *halo_world_counter(halo_world *world, uint64_t number) {
  pthread_mutex_lock(&world->office->lock);
  post_counter *counter = halo_map_get(&world->counters, &number, sizeof number);
  if (!counter) {
    counter = halo_alloc(sizeof *counter);
    atomic_init(&counter->count, 0);
    counter->next = world->all_counters;
    world->all_counters = counter;
    halo_map_set(&world->counters, &number, sizeof number, counter);
  }
  pthread_mutex_unlock(&world->office->lock);
  return &counter->count;
}

/* ---- Messages of failed runs ----
 *
 * Their senders wait until they are taken, while this process may have nothing more to exchange for long: so a thread
 * takes them, for as long as others may not know. */

enum { POST_PAUSE = 1000000 }; /* nanoseconds */

static void post_pause(post_office *office) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  at.tv_nsec += POST_PAUSE;
  at.tv_sec += at.tv_nsec / 1000000000;
  at.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&office->changed, &office->lock, &at);
}

static void *post_take_all(void *data) {
  halo_world *world = data;
  post_office *office = world->office;
  pthread_mutex_lock(&office->lock);
  while (!office->broken && halo_clock() < world->watch_until) {
    pthread_mutex_unlock(&office->lock);
    bool any;
    (void)post_poll(world, &any); /* a failure of it breaks the office */
    pthread_mutex_lock(&office->lock);
    if (!any) post_pause(office);
  }
  world->watched = false;
  pthread_cond_broadcast(&office->changed);
  pthread_mutex_unlock(&office->lock);
  return NULL;
}

void post_watch(halo_world *world) {
  if (!world->comm) return;
  pthread_mutex_lock(&world->office->lock);
  bool start = !world->watched && !world->unwatched;
  if (!world->unwatched) world->watch_until = halo_clock() + world->timeout;
  world->watched |= start;
  pthread_mutex_unlock(&world->office->lock);
  if (!start) return;
  if (halo_thread_start(post_take_all, world)) return;
  /* Whoever looks for messages of his own takes these as well. */
  pthread_mutex_lock(&world->office->lock);
  world->watched = false;
  pthread_mutex_unlock(&world->office->lock);
}

double post_unwatch(halo_world *world) {
  pthread_mutex_lock(&world->office->lock);
  double until = world->watch_until;
  world->watch_until = 0;
  world->unwatched = true;
  while (world->watched) pthread_cond_wait(&world->office->changed, &world->office->lock);
  pthread_mutex_unlock(&world->office->lock);
  return until;
}
