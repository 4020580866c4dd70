/* exec/step_collective.c: bytes that go to other devices of the program and come from them. */
#include "base/memory.h"
#include "base/strbuf.h"
#include "exec/run.h"

#include <string.h>

typedef struct collective_state {
  uint64_t run;    /* in which ... */
  uint32_t rounds; /* ... it was done so often */
} collective_state;

/* An argument's bytes where the host sees them: mapped where the device shares the host's memory, else a
 * copy. */
typedef struct collective_span {
  halo_place_at at;
  size_t size;
  bool written, mapped;
  char *data;
} collective_span;

enum { COLLECTIVE_SPANS = 5 };

/* One device's part as it is put together. */
typedef struct collective_part {
  const halo_plan_collective *collective;
  const halo_team *team;
  int me; /* among the devices of the program */
  collective_span spans[COLLECTIVE_SPANS];
  HALO_VEC(halo_message) sends;
  HALO_VEC(halo_message) receives;
} collective_part;

static halo_status collective_prepare(halo_program *p, const halo_run_set *set,
                                      const halo_step *step, void **out) {
  (void)p;
  (void)set;
  (void)step;
  *out = halo_alloc(sizeof(collective_state));
  return HALO_OK;
}

static void collective_release(void *state) { halo_free(state); }

static bool collective_asks_host(const halo_program *p, const halo_step *step) {
  (void)p;
  (void)step;
  return true;
}

static halo_status collective_start(halo_run *run, const halo_step *step, void *state) {
  (void)step;
  (void)state;
  run->wanted = NULL;
  return HALO_OK;
}

/* ---- Memory ---- */

static halo_status collective_open(halo_run *run, const halo_step *step, int32_t i,
                                   collective_span *span) {
  const halo_plan_arg *arg = &step->args[i];
  span->at = halo_run_resolve(run, arg->buffer);
  span->size = (size_t)run->program->plan->buffers.data[arg->buffer].size;
  span->written = arg->written;
  if (!span->at.mem || span->size == 0) return HALO_OK;
  if (run->program->device->caps.shares_host_memory) {
    /* A part may be written only: what is not must stay as it is. */
    cl_map_flags flags = span->written ? CL_MAP_READ | CL_MAP_WRITE : CL_MAP_READ;
    void *mapped;
    halo_status status = halo_cl_map(run->queue, span->at.mem, flags, (size_t)span->at.offset,
                                     span->size, true, &mapped);
    span->data = mapped;
    span->mapped = status == HALO_OK;
    return halo_fail_in(status, "mapping what goes to other devices");
  }
  void *memory;
  HALO_TRY(halo_try_alloc(span->size, "what goes to other devices", &memory));
  span->data = memory;
  bool kept = step->collective->kind == HALO_COLLECTIVE_RAGGED;
  cl_int code = CL_SUCCESS;
  if (!span->written || kept) {
    code = clEnqueueReadBuffer(run->queue, span->at.mem, CL_TRUE, (size_t)span->at.offset,
                               span->size, span->data, 0, NULL, NULL);
  }
  return halo_cl_check(code, "reading what goes to other devices");
}

static halo_status collective_close(halo_run *run, collective_span *span, bool good) {
  halo_status status = HALO_OK;
  cl_int code = CL_SUCCESS;
  if (span->mapped) {
    status = halo_cl_unmap(run->queue, span->at.mem, span->data, NULL);
  } else if (span->data) {
    if (span->written && good) {
      code = clEnqueueWriteBuffer(run->queue, span->at.mem, CL_TRUE, (size_t)span->at.offset,
                                  span->size, span->data, 0, NULL, NULL);
    }
    halo_free(span->data);
  }
  span->data = NULL;
  if (status == HALO_OK) status = halo_cl_check(code, "enqueueing a copy");
  return halo_fail_in(status, "storing what came from other devices");
}

/* ---- Messages ---- */

/* A piece to a member, or from it. */
static void collective_send(collective_part *part, int member, size_t at, size_t size) {
  halo_vec_push(&part->sends, (halo_message){.peer = part->team->devices[member],
                                             .data = part->spans[0].data + at,
                                             .bytes = size});
}

static void collective_receive(collective_part *part, int member, size_t at, size_t size) {
  halo_vec_push(&part->receives, (halo_message){.peer = part->team->devices[member],
                                                .data = part->spans[1].data + at,
                                                .bytes = size});
}

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

static void collective_gather(collective_part *part, const int32_t *group, int32_t count,
                              int32_t place) {
  size_t size = part->spans[0].size;
  for (int32_t i = 0; i < count; i++) {
    if (i == place) {
      memcpy(part->spans[1].data + size * (size_t)i, part->spans[0].data, size);
      continue;
    }
    collective_send(part, group[i], 0, size);
    collective_receive(part, group[i], size * (size_t)i, size);
  }
}

static void collective_swap(collective_part *part, const int32_t *group, int32_t count,
                            int32_t place) {
  size_t size = part->spans[0].size / (size_t)count;
  for (int32_t i = 0; i < count; i++) {
    size_t at = size * (size_t)i;
    if (i == place) {
      memcpy(part->spans[1].data + at, part->spans[0].data + at, size);
      continue;
    }
    collective_send(part, group[i], at, size);
    collective_receive(part, group[i], at, size);
  }
}

static void collective_broadcast(collective_part *part, const int32_t *group, int32_t count,
                                 int32_t place) {
  size_t size = part->spans[0].size;
  if (!group) {
    memset(part->spans[1].data, 0, size);
  } else if (place > 0) {
    collective_receive(part, group[0], 0, size);
  } else {
    memcpy(part->spans[1].data, part->spans[0].data, size);
    for (int32_t i = 1; i < count; i++) collective_send(part, group[i], 0, size);
  }
}

static void collective_permute(collective_part *part) {
  const halo_plan_collective *e = part->collective;
  size_t size = part->spans[0].size;
  bool comes = false;
  for (int32_t g = 0; g < e->group_count; g++) {
    const int32_t *pair = e->members + e->starts[g];
    if (pair[0] == part->me) collective_send(part, pair[1], 0, size);
    if (pair[1] == part->me) collective_receive(part, pair[0], 0, size);
    comes |= pair[1] == part->me;
  }
  if (!comes) memset(part->spans[1].data, 0, size);
}

/* A failure's message, with who takes part. */
static halo_status collective_say_group(const collective_part *part, halo_status status) {
  int32_t count = 0, place;
  const int32_t *group = collective_group(part, &count, &place);
  if (!group || part->collective->kind == HALO_COLLECTIVE_PERMUTE) return status;
  halo_strbuf text = {0};
  for (int32_t i = 0; i < count; i++) {
    halo_strbuf_printf(&text, "%s%d", i ? ", " : "", part->team->devices[group[i]]);
  }
  status = halo_fail_in(status, "among devices %s", halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return status;
}

static halo_status collective_send_all(collective_part *part, halo_message_key key) {
  halo_exchange x = {.key = key,
                     .device = part->team->devices[part->me],
                     .what = part->collective->what,
                     .sends = part->sends.data,
                     .receives = part->receives.data,
                     .send_count = part->sends.count,
                     .receive_count = part->receives.count};
  if (x.send_count == 0 && x.receive_count == 0) return HALO_OK;
  halo_status status = halo_world_exchange(part->team->world, &x);
  return status == HALO_OK ? HALO_OK : collective_say_group(part, status);
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
                   "%s: %lld rows from row %lld of %lld to row %lld of %lld do not fit", e->what,
                   (long long)rows, (long long)from, (long long)e->row_count, (long long)to,
                   (long long)e->result_rows);
}

/* Members first tell each other how much goes where, then send it. */
static halo_status collective_ragged(collective_part *part, halo_message_key key,
                                     const int32_t *group, int32_t count) {
  const halo_plan_collective *e = part->collective;
  int64_t updates = e->updates, total = updates * count;
  size_t row = (size_t)e->row_bytes, told = sizeof(ragged_note) * (size_t)updates;
  const int64_t *from = (const int64_t *)part->spans[2].data;
  const int64_t *rows = (const int64_t *)part->spans[3].data;
  const int64_t *to = (const int64_t *)part->spans[4].data;
  void *memory;
  HALO_TRY(halo_try_alloc(2 * sizeof(ragged_note) * (size_t)total, "what goes where", &memory));
  ragged_note *mine = memory, *theirs = mine + total;
  halo_status status = HALO_OK;
  for (int64_t i = 0; i < total && status == HALO_OK; i++) {
    mine[i] = (ragged_note){rows[i], to[i]};
    status = ragged_check(e, from[i], rows[i], to[i]);
  }
  for (int32_t i = 0; i < count; i++) {
    int peer = part->team->devices[group[i]];
    halo_vec_push(&part->sends, (halo_message){peer, 0, mine + updates * i, told});
    halo_vec_push(&part->receives, (halo_message){peer, 0, theirs + updates * i, told});
  }
  if (status == HALO_OK) status = collective_send_all(part, key);
  part->sends.count = part->receives.count = 0;
  for (int64_t i = 0; i < total && status == HALO_OK; i++) {
    int peer = part->team->devices[group[i / updates]], lane = (int)(i % updates);
    status = ragged_check(e, 0, theirs[i].rows, theirs[i].to);
    if (status != HALO_OK) break;
    halo_vec_push(&part->sends,
                  (halo_message){peer, lane, part->spans[0].data + row * (size_t)from[i],
                                 row * (size_t)rows[i]});
    halo_vec_push(&part->receives,
                  (halo_message){peer, lane, part->spans[1].data + row * (size_t)theirs[i].to,
                                 row * (size_t)theirs[i].rows});
  }
  key.round++;
  if (status == HALO_OK) status = collective_send_all(part, key);
  halo_free(memory);
  return status;
}

/* ---- The step ---- */

static halo_status collective_do(collective_part *part, halo_message_key key) {
  int32_t count = 0, place = 0;
  const int32_t *group = collective_group(part, &count, &place);
  switch (part->collective->kind) {
    case HALO_COLLECTIVE_GATHER:
      if (group) collective_gather(part, group, count, place);
      break;
    case HALO_COLLECTIVE_SWAP:
      if (group) collective_swap(part, group, count, place);
      break;
    case HALO_COLLECTIVE_BROADCAST: collective_broadcast(part, group, count, place); break;
    case HALO_COLLECTIVE_PERMUTE: collective_permute(part); break;
    case HALO_COLLECTIVE_RAGGED:
      return group ? collective_ragged(part, key, group, count) : HALO_OK;
  }
  return collective_send_all(part, key);
}

/* Rounds are counted in each run anew. A ragged exchange takes two. */
static uint32_t collective_round(const halo_run *run, collective_state *state) {
  if (state->run != run->number) state->rounds = 0;
  state->run = run->number;
  return 2 * state->rounds++;
}

static halo_status collective_finish(halo_run *run, const halo_step *step, void *state) {
  const halo_program_site *site = &run->program->site;
  collective_part part = {.collective = step->collective, .team = site->team};
  if (!part.team) {
    return halo_fail(HALO_FAILED_PRECONDITION,
                     "%s: the program was not compiled for several devices", step->label);
  }
  part.me = (int)site->ids.replica * part.team->partitions + (int)site->ids.partition;
  halo_message_key key = {part.team->program, run->number, step->collective->op,
                          collective_round(run, state)};
  run->began = true;
  run->ahead = 0;
  halo_status status = HALO_OK;
  double since = halo_run_clock(run);
  for (int32_t i = 0; i < step->arg_count && status == HALO_OK; i++) {
    status = collective_open(run, step, i, &part.spans[i]);
  }
  halo_run_spent(run, HALO_HOST_WAIT, since);
  since = halo_run_clock(run);
  if (status == HALO_OK && part.spans[1].size > 0) status = collective_do(&part, key);
  halo_run_spent(run, HALO_HOST_CALL, since);
  bool good = status == HALO_OK;
  char *message = good ? NULL : halo_error_save();
  for (int32_t i = 0; i < step->arg_count; i++) {
    halo_status closed = collective_close(run, &part.spans[i], good);
    if (status == HALO_OK) status = closed;
  }
  if (message) halo_error_restore(message);
  halo_vec_deinit(&part.sends);
  halo_vec_deinit(&part.receives);
  return status;
}

const halo_step_runner halo_runner_collective = {.prepare = collective_prepare,
                                                 .release = collective_release,
                                                 .asks_host = collective_asks_host,
                                                 .start = collective_start,
                                                 .finish = collective_finish};
