/* SPDX-License-Identifier: Apache-2.0 */
/* exec/step_collective.c: bytes that go to other devices of the program and come from them. */
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/subnormals.h"
#include "exec/collective.h"
#include "exec/fold.h"

#include <sched.h>

/* Numbers of rounds that one time of a step may use. */
enum { COLLECTIVE_ROUNDS = 64 };

typedef struct collective_state {
  uint64_t run;   /* in which ... */
  uint32_t times; /* ... it was done so often */
  collective_part part;
  bool begun;         /* when it was started, ... */
  double since;       /* ... at that time, ... */
  halo_status status; /* ... with this outcome so far */
  char *message;
} collective_state;

static halo_status collective_prepare(halo_program *p, const halo_step *step, void **out) {
  (void)p;
  (void)step;
  *out = halo_alloc(sizeof(collective_state));
  return HALO_OK;
}

static void collective_release(void *data) {
  collective_state *state = data;
  halo_round_deinit(&state->part.pieces);
  halo_vec_deinit(&state->part.sends);
  halo_vec_deinit(&state->part.receives);
  halo_free(state);
}

static bool collective_asks_host(const halo_program *p, const halo_step *step) {
  (void)p;
  (void)step;
  return true;
}

/* ---- Who takes part ---- */

/* The group that one is in: its members, and one's place among them; NULL: in none. */
static const int32_t *collective_group(const collective_part *part, int32_t *count,
                                       int32_t *place) {
  const halo_plan_collective *e = part->collective;
  for (int32_t g = 0; g < e->group_count; g++) {
    for (int32_t i = e->starts[g]; i < e->starts[g + 1]; i++) {
      if (e->members[i] != part->me) continue;
      *count = e->starts[g + 1] - e->starts[g];
      *place = i - e->starts[g];
      return e->members + e->starts[g];
    }
  }
  return NULL;
}

static int collective_device(const collective_part *part, int32_t member) {
  return part->team->devices[part->group ? part->group[member] : member];
}

/* A failure's message, with who takes part. */
static halo_status collective_say_group(const collective_part *part, halo_status status) {
  enum { MOST_NAMED = 64 };
  if (!part->group) return status;
  halo_strbuf text = {0};
  for (int32_t i = 0; i < part->schedule.count && i < MOST_NAMED; i++) {
    halo_strbuf_printf(&text, "%s%d", i ? ", " : "", collective_device(part, i));
  }
  if (part->schedule.count > MOST_NAMED) {
    halo_strbuf_printf(&text, " and %d more", part->schedule.count - MOST_NAMED);
  }
  status = halo_fail_in(status, "among devices %s", halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return status;
}

/* A failure of the device itself, with the operation it was in. */
static halo_status collective_say_what(const collective_part *part, halo_status status) {
  return halo_fail_in(status, "%s", part->collective->what);
}

/* ---- Ragged ---- */

/* How many rows an update sends, and where the receiver puts them. */
typedef struct ragged_note {
  int64_t rows, to;
} ragged_note;

static halo_status ragged_check(const halo_plan_collective *e, int64_t from, int64_t rows,
                                int64_t to) {
  bool good = rows >= 0 && from >= 0 && to >= 0 && rows <= e->row_count && rows <= e->result_rows &&
              from <= e->row_count - rows && to <= e->result_rows - rows;
  if (good) return HALO_OK;
  return halo_fail(HALO_INVALID_ARGUMENT,
                   "%lld rows from row %lld of %lld to row %lld of %lld do not fit",
                   (long long)rows, (long long)from, (long long)e->row_count, (long long)to,
                   (long long)e->result_rows);
}

typedef struct ragged_lists {
  const int64_t *from, *rows, *to; /* [members, updates], one's own */
  int64_t total;
  ragged_note *mine, *theirs; /* in the scratch memory */
} ragged_lists;

static ragged_lists ragged_open(collective_part *part) {
  ragged_lists l = {.from = (const int64_t *)part->spans[2].data,
                    .rows = (const int64_t *)part->spans[3].data,
                    .to = (const int64_t *)part->spans[4].data,
                    .total = part->collective->updates * part->schedule.count,
                    .mine = (ragged_note *)part->scratch};
  l.theirs = l.mine + l.total;
  return l;
}

/* Members first tell each other how much goes where ... */
static halo_status ragged_tell(collective_part *part) {
  const halo_plan_collective *e = part->collective;
  ragged_lists l = ragged_open(part);
  size_t told = sizeof(ragged_note) * (size_t)e->updates;
  for (int64_t i = 0; i < l.total; i++) {
    l.mine[i] = (ragged_note){l.rows[i], l.to[i]};
    HALO_TRY(ragged_check(e, l.from[i], l.rows[i], l.to[i]));
  }
  for (int32_t i = 0; i < part->schedule.count; i++) {
    int peer = collective_device(part, i);
    halo_vec_push(&part->sends, (halo_message){peer, 0, l.mine + e->updates * i, told});
    halo_vec_push(&part->receives, (halo_message){peer, 0, l.theirs + e->updates * i, told});
  }
  return HALO_OK;
}

/* ... then send it. */
static halo_status ragged_send(collective_part *part) {
  const halo_plan_collective *e = part->collective;
  ragged_lists l = ragged_open(part);
  size_t row = (size_t)e->row_bytes;
  for (int64_t i = 0; i < l.total; i++) {
    int peer = collective_device(part, (int32_t)(i / e->updates)), lane = (int)(i % e->updates);
    HALO_TRY(ragged_check(e, 0, l.theirs[i].rows, l.theirs[i].to));
    halo_vec_push(&part->sends,
                  (halo_message){peer, lane, part->spans[0].data + row * (size_t)l.from[i],
                                 row * (size_t)l.rows[i]});
    halo_vec_push(&part->receives,
                  (halo_message){peer, lane, part->spans[1].data + row * (size_t)l.theirs[i].to,
                                 row * (size_t)l.theirs[i].rows});
  }
  return HALO_OK;
}

/* ---- Rounds ---- */

static halo_status collective_permute(collective_part *part) {
  const halo_plan_collective *e = part->collective;
  size_t size = part->spans[0].size;
  for (int32_t g = 0; g < e->group_count; g++) {
    const int32_t *pair = e->members + e->starts[g];
    if (pair[0] == part->me) {
      halo_schedule_add(&part->pieces, false, pair[1], HALO_SPACE_SENT, 0, size);
    }
    if (pair[1] == part->me) {
      halo_schedule_add(&part->pieces, true, pair[0], HALO_SPACE_RESULT, 0, size);
    }
  }
  return part->pieces.receives.count == 0 ? collective_clear(part) : HALO_OK;
}

/* What a kind does, before memory is looked at. */
static void collective_plan(collective_part *part, size_t sent) {
  int32_t count = 0, place = 0;
  halo_schedule *s = &part->schedule;
  bool pairs = part->collective->kind == HALO_COLLECTIVE_PERMUTE;
  part->group = pairs ? NULL : collective_group(part, &count, &place);
  *s = (halo_schedule){HALO_SCHEDULE_GATHER, count, place, sent};
  part->round = 0;
  part->rounds = 1;
  switch (part->collective->kind) {
    case HALO_COLLECTIVE_PERMUTE: return;
    case HALO_COLLECTIVE_RAGGED: part->rounds = part->group ? 2 : 0; return;
    case HALO_COLLECTIVE_GATHER: break;
    case HALO_COLLECTIVE_BROADCAST: s->kind = HALO_SCHEDULE_BROADCAST; break;
    case HALO_COLLECTIVE_SWAP:
      s->kind = HALO_SCHEDULE_SWAP;
      s->bytes = count > 0 ? sent / (size_t)count : 0;
      break;
  }
  part->rounds = part->group ? halo_schedule_rounds(s) : 0;
}

/* Bytes of all members' pieces that the host will combine. */
static size_t collective_rows(const collective_part *part) {
  if (part->collective->fold == HALO_FOLD_NONE) return 0;
  return part->schedule.bytes * (size_t)part->schedule.count;
}

static size_t collective_scratch(const collective_part *part) {
  size_t notes = (size_t)part->collective->updates * (size_t)part->schedule.count;
  bool ragged = part->collective->kind == HALO_COLLECTIVE_RAGGED;
  if (ragged) return 2 * sizeof(ragged_note) * notes;
  return collective_rows(part) + halo_schedule_scratch(&part->schedule);
}

/* The result is what becomes of the members' pieces, which lie at the beginning of the scratch memory. */
static void collective_fold(const collective_part *part) {
  const halo_plan_collective *e = part->collective;
  const halo_schedule *s = &part->schedule;
  bool flushes = halo_caps_flushes(&part->run->program->device->caps);
  uint64_t before = flushes ? halo_subnormals_flush() : 0;
  halo_fold(e->fold, e->fold_type, e->fold_pairs, s->count, s->bytes, part->scratch,
            part->spans[1].data);
  if (flushes) halo_subnormals_restore(before);
}

/* The messages of a round. */
static halo_status collective_fill(collective_part *part) {
  part->sends.count = part->receives.count = 0;
  halo_round_clear(&part->pieces);
  switch (part->collective->kind) {
    case HALO_COLLECTIVE_RAGGED: return part->round ? ragged_send(part) : ragged_tell(part);
    case HALO_COLLECTIVE_PERMUTE: HALO_TRY(collective_permute(part)); break;
    case HALO_COLLECTIVE_GATHER:
    case HALO_COLLECTIVE_SWAP:
    case HALO_COLLECTIVE_BROADCAST:
      halo_schedule_round(&part->schedule, part->round, &part->pieces);
      break;
  }
  for (int32_t i = 0; i < part->pieces.sends.count; i++) {
    const halo_piece *p = &part->pieces.sends.data[i];
    halo_vec_push(&part->sends, (halo_message){collective_device(part, p->member), p->lane,
                                               collective_at(part, p->space, p->at), p->bytes});
  }
  for (int32_t i = 0; i < part->pieces.receives.count; i++) {
    const halo_piece *p = &part->pieces.receives.data[i];
    halo_vec_push(&part->receives, (halo_message){collective_device(part, p->member), p->lane,
                                                  collective_at(part, p->space, p->at), p->bytes});
  }
  return HALO_OK;
}

static halo_status collective_begin_round(collective_part *part) {
  HALO_TRY(collective_say_what(part, collective_fill(part)));
  HALO_TRY(collective_say_what(part, collective_copy(part, HALO_COPY_BEFORE)));
  halo_exchange *x = &part->exchange;
  *x = (halo_exchange){.key = part->key,
                       .device = part->team->devices[part->me],
                       .what = part->collective->what,
                       .sends = part->sends.data,
                       .receives = part->receives.data,
                       .send_count = part->sends.count,
                       .receive_count = part->receives.count,
                       .stage = part->round,
                       .ready = part->spans[0].stream ? collective_ready : NULL,
                       .came = part->spans[1].stream ? collective_came : NULL,
                       .user = part};
  x->key.round += (uint32_t)part->round;
  if (x->send_count > 0 || x->receive_count > 0) {
    part->state = halo_world_begin(part->team->world, x);
  }
  return collective_say_what(part, collective_copy(part, HALO_COPY_BESIDE));
}

/* Ends the round that has begun. */
static halo_status collective_end_round(collective_part *part) {
  halo_status status = part->state ? halo_world_end(part->state) : HALO_OK;
  part->state = NULL;
  if (status != HALO_OK) return collective_say_group(part, status);
  part->round++;
  status = collective_copy(part, HALO_COPY_BEHIND);
  bool last = part->round == part->rounds;
  if (status == HALO_OK && last && part->collective->fold != HALO_FOLD_NONE) collective_fold(part);
  return collective_say_what(part, status);
}

/* Goes on; whether all is done, or failed. Without `wait` only as far as no message is missing. */
static bool collective_go_on(collective_part *part, bool wait, halo_status *status) {
  while (*status == HALO_OK && part->round < part->rounds) {
    bool done = wait || !part->state || halo_world_look(part->state);
    part->moved |= done || halo_world_moved(part->state);
    if (!done) return false;
    *status = collective_end_round(part);
    if (*status == HALO_OK && part->round < part->rounds) *status = collective_begin_round(part);
  }
  return true;
}

/* ---- The step ---- */

static size_t collective_size(const halo_run *run, const halo_step *step, int arg) {
  return (size_t)run->program->plan->buffers.data[step->args[arg].buffer].size;
}

/* The first round, with all that comes before it. */
static halo_status collective_begin(halo_run *run, const halo_step *step, collective_state *state) {
  const halo_program_site *site = &run->program->site;
  collective_part *part = &state->part;
  if (state->run != run->number) state->times = 0;
  state->run = run->number;
  part->run = run;
  part->collective = step->collective;
  part->team = site->team;
  if (!part->team) {
    return halo_fail(HALO_FAILED_PRECONDITION,
                     "%s: the program was not compiled for several devices", step->label);
  }
  part->me = (int)site->ids.replica * part->team->partitions + (int)site->ids.partition;
  part->key = (halo_message_key){part->team->program, run->number, step->collective->op,
                                 COLLECTIVE_ROUNDS * state->times++};
  bool idle = run->idle && !run->began;
  run->began = true;
  size_t sent = collective_size(run, step, 0), got = collective_size(run, step, 1);
  collective_plan(part, sent);
  if (got == 0) part->rounds = 0;
  if (got == 0) return HALO_OK;
  bool large = (sent > got ? sent : got) > HALO_SCHEDULE_CHUNK;
  /* What comes in one round and goes on in the next is sent from the image. */
  bool handed_on = step->collective->kind == HALO_COLLECTIVE_BROADCAST;
  bool streamed = large && (part->rounds == 1 || handed_on);
  double since = halo_run_clock(run);
  halo_status status = collective_open(part, step, streamed, idle);
  halo_run_spent(run, HALO_HOST_WAIT, since);
  /* All has been waited for, but for streams. */
  run->ahead = streamed ? run->ahead + 1 : 0;
  halo_run_note_open(run);
  size_t scratch = collective_scratch(part);
  void *memory = NULL;
  if (status == HALO_OK && scratch > 0) {
    status = halo_try_alloc(scratch, "what is on its way to other devices", &memory);
  }
  part->scratch = memory;
  part->rows = collective_rows(part);
  if (status != HALO_OK) return collective_say_what(part, status);
  part->since = halo_run_clock(run);
  if (part->rounds > 0) return collective_begin_round(part);
  bool cleared = step->collective->kind == HALO_COLLECTIVE_BROADCAST;
  return cleared ? collective_say_what(part, collective_clear(part)) : HALO_OK;
}

/* Whether a step begins where it is started: parts take turns; or nothing is queued before it that would have to be waited
 * for, and what it copies takes less than waking threads. */
static bool collective_is_quick(const halo_run *run, const halo_step *step) {
  enum { QUICK_BYTES = 1 << 20 };
  if (run->program->takes_turns) return true;
  bool idle = run->on_sync_queue || (run->idle && !run->began);
  return idle && collective_size(run, step, 0) <= QUICK_BYTES &&
         collective_size(run, step, 1) <= QUICK_BYTES;
}

static halo_status collective_start(halo_run *run, const halo_step *step, void *data) {
  collective_state *state = data;
  run->wanted = NULL;
  state->status = HALO_OK;
  state->begun = collective_is_quick(run, step);
  if (!state->begun) return HALO_OK;
  state->since = halo_clock();
  /* Others may have been sent something: the rest is for finish, come what may. */
  state->status = collective_begin(run, step, state);
  if (state->status != HALO_OK) state->message = halo_error_save();
  return HALO_OK;
}

/* Looks, for some microseconds from its start on where other processes may send what is missing. */
static bool collective_is_over(void *data, bool *moved) {
  /* Seconds: what waking threads here and there takes; and until other processes of the same core get a turn, since
   * one that computes keeps it for long. */
  static const double patience = 2e-4, alone = 2e-5;
  collective_state *state = data;
  state->part.moved = *moved = false;
  if (!state->begun) return false;
  for (;;) {
    halo_status status = state->status;
    bool over = collective_go_on(&state->part, false, &status);
    if (status != state->status) state->message = halo_error_save();
    state->status = status;
    *moved = state->part.moved || over;
    double waited = halo_clock() - state->since;
    if (over || !halo_world_is_far(state->part.state) || waited > patience) return over;
    if (waited > alone) sched_yield();
  }
}

static halo_status collective_finish(halo_run *run, const halo_step *step, void *data) {
  collective_state *state = data;
  collective_part *part = &state->part;
  halo_status status = state->status;
  if (state->message) halo_error_restore(state->message);
  state->message = NULL;
  part->run = run; /* of which there may be a copy, in a thread of its own */
  if (!state->begun) status = collective_begin(run, step, state);
  (void)collective_go_on(part, true, &status);
  if (part->rounds > 0) halo_run_spent(run, HALO_HOST_EXCHANGE, part->since);
  HALO_LOG(HALO_LOG_DEBUG, "run %llu of %s on device %d: %s %s, %d devices, %zu bytes, %.6f s",
           (unsigned long long)run->number, run->program->plan->name, run->device,
           part->collective->what, status == HALO_OK ? "done" : "failed", part->schedule.count,
           collective_size(run, step, 0), part->since > 0 ? halo_clock() - part->since : 0);
  bool good = status == HALO_OK;
  char *message = good ? NULL : halo_error_save();
  /* Begun, and then something else failed: others may read memory of the round. */
  if (part->state) {
    halo_world_fail(part->team->world, part->key.program, part->key.run,
                    part->team->devices[part->me], message ? message : "");
    (void)halo_world_end(part->state);
    part->state = NULL;
  }
  if (part->opened) {
    halo_status closed = collective_close(part, good);
    if (status == HALO_OK) status = collective_say_what(part, closed);
  }
  halo_free(part->scratch);
  part->scratch = NULL;
  part->run = NULL;
  if (message) halo_error_restore(message);
  return status;
}

const halo_step_runner halo_runner_collective = {.prepare = collective_prepare,
                                                 .release = collective_release,
                                                 .asks_host = collective_asks_host,
                                                 .start = collective_start,
                                                 .is_over = collective_is_over,
                                                 .finish = collective_finish};
