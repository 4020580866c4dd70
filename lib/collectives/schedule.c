/* SPDX-License-Identifier: Apache-2.0 */
/* collectives/schedule.c: which pieces go between the members of a group, and when. */
#include "collectives/schedule.h"

static bool schedule_is_bruck(const halo_schedule *s) {
  if (s->count <= HALO_SCHEDULE_FEW) return false;
  switch (s->kind) {
    case HALO_SCHEDULE_GATHER: return s->bytes <= HALO_SCHEDULE_SMALL_GATHER;
    case HALO_SCHEDULE_SWAP: return s->bytes <= HALO_SCHEDULE_SMALL_SWAP;
    case HALO_SCHEDULE_BROADCAST: return s->bytes < HALO_SCHEDULE_CUT; /* a binomial tree */
  }
  return false;
}

static bool schedule_is_cut(const halo_schedule *s) {
  return s->kind == HALO_SCHEDULE_BROADCAST && s->count > 2 && s->bytes >= HALO_SCHEDULE_CUT;
}

int halo_schedule_rounds(const halo_schedule *s) {
  if (schedule_is_cut(s)) return 2;
  int rounds = 1;
  while (schedule_is_bruck(s) && (int64_t)1 << rounds < s->count) rounds++;
  return rounds;
}

size_t halo_schedule_scratch(const halo_schedule *s) {
  bool swaps = s->kind == HALO_SCHEDULE_SWAP && schedule_is_bruck(s);
  return swaps ? s->bytes * 2 * (size_t)s->count : 0;
}

/* ---- Parts of a round ---- */

void halo_schedule_add(halo_round *round, bool receive, int32_t member, halo_space space, size_t at,
                       size_t bytes) {
  int32_t lane = 0;
  size_t done = 0;
  do {
    size_t left = bytes - done, size = left < HALO_SCHEDULE_CHUNK ? left : HALO_SCHEDULE_CHUNK;
    halo_piece piece = {member, lane++, space, at + done, size};
    if (receive) {
      halo_vec_push(&round->receives, piece);
    } else {
      halo_vec_push(&round->sends, piece);
    }
    done += size;
  } while (done < bytes);
}

static void schedule_copy(halo_round *round, halo_copy_time time, halo_space from_space,
                          size_t from, halo_space to_space, size_t to, size_t bytes) {
  halo_vec_push(&round->copies, (halo_piece_copy){time, from_space, to_space, from, to, bytes});
}

/* Blocks first to first + count - 1 of the result, around its end, which both sides cut alike. */
static void schedule_blocks(const halo_schedule *s, halo_round *round, bool receive, int32_t member,
                            int32_t first, int32_t count) {
  int32_t before = s->count - first < count ? s->count - first : count;
  int32_t start = receive ? round->receives.count : round->sends.count;
  halo_schedule_add(round, receive, member, HALO_SPACE_RESULT, s->bytes * (size_t)first,
                    s->bytes * (size_t)before);
  if (before < count) {
    halo_schedule_add(round, receive, member, HALO_SPACE_RESULT, 0,
                      s->bytes * (size_t)(count - before));
  }
  /* One behind the other. */
  halo_piece *pieces = receive ? round->receives.data : round->sends.data;
  int32_t end = receive ? round->receives.count : round->sends.count;
  for (int32_t i = start; i < end; i++) pieces[i].lane = i - start;
}

static int32_t schedule_behind(const halo_schedule *s, int64_t distance) {
  return (int32_t)((s->place + distance) % s->count);
}
static int32_t schedule_ahead(const halo_schedule *s, int64_t distance) {
  return (int32_t)((s->place + s->count - distance % s->count) % s->count);
}

/* ---- Everybody to everybody; each begins with its neighbour, so that no one is sent to by all at once ---- */

static void schedule_direct(const halo_schedule *s, halo_round *out) {
  bool swaps = s->kind == HALO_SCHEDULE_SWAP;
  for (int32_t i = 1; i < s->count; i++) {
    int32_t to = schedule_behind(s, i), from = schedule_ahead(s, i);
    halo_schedule_add(out, false, to, HALO_SPACE_SENT, swaps ? s->bytes * (size_t)to : 0, s->bytes);
    halo_schedule_add(out, true, from, HALO_SPACE_RESULT, s->bytes * (size_t)from, s->bytes);
  }
  size_t own = s->bytes * (size_t)s->place;
  schedule_copy(out, HALO_COPY_BESIDE, HALO_SPACE_SENT, swaps ? own : 0, HALO_SPACE_RESULT, own,
                s->bytes);
}

/* ---- Bruck ---- */

/* Before round k a member has the blocks of 2^k members from its own on. */
static void schedule_gather_round(const halo_schedule *s, int round, halo_round *out) {
  int64_t distance = (int64_t)1 << round, rest = s->count - distance;
  int32_t blocks = (int32_t)(distance < rest ? distance : rest);
  if (round == 0) {
    schedule_copy(out, HALO_COPY_BEFORE, HALO_SPACE_SENT, 0, HALO_SPACE_RESULT,
                  s->bytes * (size_t)s->place, s->bytes);
  }
  schedule_blocks(s, out, false, schedule_ahead(s, distance), s->place, blocks);
  int32_t from = schedule_behind(s, distance);
  schedule_blocks(s, out, true, from, from, blocks);
}

/* Block i of the scratch memory has to go i places on: in round k those go 2^k places whose i has that bit. They
 * are packed behind all blocks, and what comes, behind that. */
static void schedule_swap_round(const halo_schedule *s, int round, halo_round *out) {
  int64_t distance = (int64_t)1 << round;
  size_t bytes = s->bytes, packed = bytes * (size_t)s->count, blocks = 0;
  size_t unpacked = packed + bytes * (size_t)(s->count / 2);
  for (int32_t i = 0; i < s->count && round == 0; i++) {
    schedule_copy(out, HALO_COPY_BEFORE, HALO_SPACE_SENT, bytes * (size_t)schedule_behind(s, i),
                  HALO_SPACE_SCRATCH, bytes * (size_t)i, bytes);
  }
  for (int32_t i = 0; i < s->count; i++) {
    if (!(i & distance)) continue;
    size_t at = bytes * (size_t)i, shift = bytes * blocks++;
    schedule_copy(out, HALO_COPY_BEFORE, HALO_SPACE_SCRATCH, at, HALO_SPACE_SCRATCH, packed + shift,
                  bytes);
    schedule_copy(out, HALO_COPY_BEHIND, HALO_SPACE_SCRATCH, unpacked + shift, HALO_SPACE_SCRATCH,
                  at, bytes);
  }
  halo_schedule_add(out, false, schedule_behind(s, distance), HALO_SPACE_SCRATCH, packed,
                    bytes * blocks);
  halo_schedule_add(out, true, schedule_ahead(s, distance), HALO_SPACE_SCRATCH, unpacked,
                    bytes * blocks);
  for (int32_t i = 0; i < s->count && round + 1 == halo_schedule_rounds(s); i++) {
    schedule_copy(out, HALO_COPY_BEHIND, HALO_SPACE_SCRATCH, bytes * (size_t)i, HALO_SPACE_RESULT,
                  bytes * (size_t)schedule_ahead(s, i), bytes);
  }
}

/* ---- Broadcasts ---- */

/* In round k whoever is among the first 2^k sends to who is 2^k behind. */
static void schedule_tree_round(const halo_schedule *s, int round, halo_round *out) {
  int64_t distance = (int64_t)1 << round;
  halo_space space = s->place == 0 ? HALO_SPACE_SENT : HALO_SPACE_RESULT;
  if (s->place < distance && s->place + distance < s->count) {
    halo_schedule_add(out, false, schedule_behind(s, distance), space, 0, s->bytes);
  }
  if (s->place >= distance && s->place < 2 * distance) {
    halo_schedule_add(out, true, schedule_ahead(s, distance), HALO_SPACE_RESULT, 0, s->bytes);
  }
}

static size_t schedule_cut_at(const halo_schedule *s, int32_t i) {
  return s->bytes / (size_t)s->count * (size_t)i;
}
static size_t schedule_cut_size(const halo_schedule *s, int32_t i) {
  return (i + 1 == s->count ? s->bytes : schedule_cut_at(s, i + 1)) - schedule_cut_at(s, i);
}

static void schedule_cut_round(const halo_schedule *s, int round, halo_round *out) {
  bool first = s->place == 0;
  size_t at = schedule_cut_at(s, s->place), size = schedule_cut_size(s, s->place);
  for (int32_t i = 1; i < s->count; i++) {
    int32_t to = schedule_behind(s, i), from = schedule_ahead(s, i);
    if (round == 0 && first) {
      halo_schedule_add(out, false, to, HALO_SPACE_SENT, schedule_cut_at(s, to),
                        schedule_cut_size(s, to));
    }
    if (round == 1 && to != 0) {
      halo_schedule_add(out, false, to, first ? HALO_SPACE_SENT : HALO_SPACE_RESULT, at, size);
    }
    if (round == 1 && !first) {
      halo_schedule_add(out, true, from, HALO_SPACE_RESULT, schedule_cut_at(s, from),
                        schedule_cut_size(s, from));
    }
  }
  if (round == 0 && !first) halo_schedule_add(out, true, 0, HALO_SPACE_RESULT, at, size);
}

static void schedule_broadcast_round(const halo_schedule *s, int round, halo_round *out) {
  if (round == 0 && s->place == 0) {
    schedule_copy(out, HALO_COPY_BESIDE, HALO_SPACE_SENT, 0, HALO_SPACE_RESULT, 0, s->bytes);
  }
  if (schedule_is_cut(s)) {
    schedule_cut_round(s, round, out);
  } else if (schedule_is_bruck(s)) {
    schedule_tree_round(s, round, out);
  } else if (s->place > 0) {
    halo_schedule_add(out, true, 0, HALO_SPACE_RESULT, 0, s->bytes);
  } else {
    for (int32_t i = 1; i < s->count; i++) {
      halo_schedule_add(out, false, i, HALO_SPACE_SENT, 0, s->bytes);
    }
  }
}

/* ---- Rounds ---- */

void halo_round_clear(halo_round *round) {
  round->sends.count = round->receives.count = round->copies.count = 0;
}

void halo_round_deinit(halo_round *round) {
  halo_vec_deinit(&round->sends);
  halo_vec_deinit(&round->receives);
  halo_vec_deinit(&round->copies);
}

void halo_schedule_round(const halo_schedule *s, int round, halo_round *out) {
  halo_round_clear(out);
  switch (s->kind) {
    case HALO_SCHEDULE_GATHER:
      if (schedule_is_bruck(s)) {
        schedule_gather_round(s, round, out);
      } else {
        schedule_direct(s, out);
      }
      break;
    case HALO_SCHEDULE_SWAP:
      if (schedule_is_bruck(s)) {
        schedule_swap_round(s, round, out);
      } else {
        schedule_direct(s, out);
      }
      break;
    case HALO_SCHEDULE_BROADCAST: schedule_broadcast_round(s, round, out); break;
  }
}
