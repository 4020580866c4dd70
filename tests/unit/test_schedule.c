/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_schedule.c: the schedules of collectives, done by all members of a group in one thread: every
 * byte arrives where it belongs, both sides of a message agree, and how many messages and bytes there are. */
#include "collectives/schedule.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

typedef struct member {
  halo_round round;
  unsigned char *spaces[3]; /* by halo_space */
} member;

static unsigned char value(int32_t from, int32_t to, size_t i) {
  return (unsigned char)(from * 31 + to * 7 + (int)(i % 251) + 1);
}

static void copy(member *m, halo_copy_time time) {
  for (int32_t i = 0; i < m->round.copies.count; i++) {
    const halo_piece_copy *c = &m->round.copies.data[i];
    if (c->time != time || c->bytes == 0) continue;
    memcpy(m->spaces[c->to_space] + c->to, m->spaces[c->from_space] + c->from, c->bytes);
  }
}

/* What the other side sends for a receive. */
static const halo_piece *find(const member *sender, int32_t to, int32_t lane) {
  const halo_piece *found = NULL;
  for (int32_t i = 0; i < sender->round.sends.count; i++) {
    const halo_piece *p = &sender->round.sends.data[i];
    if (p->member != to || p->lane != lane) continue;
    ck_assert_msg(!found, "two messages of one name");
    found = p;
  }
  return found;
}

static size_t sent_bytes(const halo_schedule *s) {
  return s->kind == HALO_SCHEDULE_SWAP ? s->bytes * (size_t)s->count : s->bytes;
}
static size_t result_bytes(const halo_schedule *s) {
  return s->kind == HALO_SCHEDULE_BROADCAST ? s->bytes : s->bytes * (size_t)s->count;
}

static void check(const halo_schedule *s, const member *members) {
  for (int32_t me = 0; me < s->count; me++) {
    const unsigned char *got = members[me].spaces[HALO_SPACE_RESULT];
    int32_t parts = s->kind == HALO_SCHEDULE_BROADCAST ? 1 : s->count;
    for (int32_t from = 0; from < parts; from++) {
      int32_t to = s->kind == HALO_SCHEDULE_SWAP ? me : 0;
      size_t i = 0;
      while (i < s->bytes && got[s->bytes * (size_t)from + i] == value(from, to, i)) i++;
      ck_assert_msg(i == s->bytes, "kind %d, %d members, %zu bytes: member %d, byte %zu of %d",
                    s->kind, s->count, s->bytes, me, i, from);
    }
  }
}

/* All members, round by round; the most messages and bytes that one sends. */
static void run(halo_schedule s, int64_t *messages, int64_t *bytes) {
  member *members = calloc((size_t)s.count, sizeof *members);
  int64_t *sent = calloc((size_t)s.count, sizeof *sent),
          *moved = calloc((size_t)s.count, sizeof *moved);
  for (int32_t p = 0; p < s.count; p++) {
    size_t sizes[3] = {sent_bytes(&s), result_bytes(&s), halo_schedule_scratch(&s)};
    for (int i = 0; i < 3; i++) members[p].spaces[i] = calloc(sizes[i] + 1, 1);
    for (size_t i = 0; i < sizes[0]; i++) {
      members[p].spaces[0][i] = value(p, (int32_t)(i / s.bytes), i % s.bytes);
    }
  }
  int rounds = halo_schedule_rounds(&s);
  ck_assert_int_le(rounds, 64);
  for (int r = 0; r < rounds; r++) {
    int64_t received = 0, total = 0;
    for (int32_t p = 0; p < s.count; p++) {
      s.place = p;
      halo_schedule_round(&s, r, &members[p].round);
      copy(&members[p], HALO_COPY_BEFORE);
      total += members[p].round.sends.count;
      sent[p] += members[p].round.sends.count;
      for (int32_t i = 0; i < members[p].round.sends.count; i++) {
        moved[p] += (int64_t)members[p].round.sends.data[i].bytes;
      }
    }
    for (int32_t p = 0; p < s.count; p++) {
      for (int32_t i = 0; i < members[p].round.receives.count; i++) {
        const halo_piece *want = &members[p].round.receives.data[i];
        const member *sender = &members[want->member];
        const halo_piece *piece = find(sender, p, want->lane);
        ck_assert_msg(piece && piece->bytes == want->bytes,
                      "kind %d, %d members: round %d: %d <- %d", s.kind, s.count, r, p,
                      want->member);
        memcpy(members[p].spaces[want->space] + want->at, sender->spaces[piece->space] + piece->at,
               want->bytes);
        received++;
      }
      copy(&members[p], HALO_COPY_BESIDE);
    }
    ck_assert_int_eq(received, total);
    for (int32_t p = 0; p < s.count; p++) copy(&members[p], HALO_COPY_BEHIND);
  }
  check(&s, members);
  *messages = *bytes = 0;
  for (int32_t p = 0; p < s.count; p++) {
    if (sent[p] > *messages) *messages = sent[p];
    if (moved[p] > *bytes) *bytes = moved[p];
    for (int i = 0; i < 3; i++) free(members[p].spaces[i]);
    halo_round_deinit(&members[p].round);
  }
  free(moved);
  free(sent);
  free(members);
}

START_TEST(all_kinds) {
  static const int32_t counts[] = {1, 2, 3, 4, 5, 8, 16, 17, 23, 32, 33, 64};
  static const size_t sizes[] = {1, 7, 1024, 1025, 20000, 70001};
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
    for (size_t b = 0; b < sizeof sizes / sizeof sizes[0]; b++) {
      for (int kind = 0; kind < 3; kind++) {
        int64_t messages, bytes;
        if (kind != HALO_SCHEDULE_BROADCAST && (size_t)counts[c] * sizes[b] > 1 << 20) continue;
        run((halo_schedule){(halo_schedule_kind)kind, counts[c], 0, sizes[b]}, &messages, &bytes);
      }
    }
  }
}
END_TEST

/* Messages of more than a chunk go in several. */
START_TEST(chunks) {
  int64_t messages, bytes;
  run((halo_schedule){HALO_SCHEDULE_GATHER, 2, 0, (9 << 20) + 5}, &messages, &bytes);
  ck_assert_int_eq(messages, 3);
  ck_assert_int_eq(bytes, (9 << 20) + 5);
  run((halo_schedule){HALO_SCHEDULE_BROADCAST, 3, 0, (9 << 20) + 5}, &messages, &bytes);
  ck_assert_int_eq(messages, 4);
}
END_TEST

/* Rounds grow with the logarithm of the group where pieces are small; bytes are those that must move. */
START_TEST(counts) {
  static const struct {
    halo_schedule_kind kind;
    int32_t count;
    size_t size;
    int64_t messages, bytes;
  } cases[] = {
      {HALO_SCHEDULE_GATHER, 8, 100, 7, 700},
      {HALO_SCHEDULE_GATHER, 64, 100, 11, 6300}, /* 6 rounds; blocks around the end are two */
      {HALO_SCHEDULE_GATHER, 64, 20000, 63, 63 * 20000},
      {HALO_SCHEDULE_SWAP, 64, 100, 6, 6 * 32 * 100},
      {HALO_SCHEDULE_SWAP, 64, 2000, 63, 63 * 2000},
      {HALO_SCHEDULE_BROADCAST, 8, 100, 7, 700},
      {HALO_SCHEDULE_BROADCAST, 64, 100, 6, 600},
      {HALO_SCHEDULE_BROADCAST, 64, 64000, 6, 6 * 64000},
      {HALO_SCHEDULE_BROADCAST, 64, 128 << 10, 126, 2 * 63 * 2048},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    int64_t messages, bytes;
    run((halo_schedule){cases[i].kind, cases[i].count, 0, cases[i].size}, &messages, &bytes);
    ck_assert_msg(messages <= cases[i].messages && bytes == cases[i].bytes,
                  "case %zu: %lld messages, %lld bytes", i, (long long)messages, (long long)bytes);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("schedule");
  TCase *cases = tcase_create("schedule");
  tcase_set_timeout(cases, 240);
  tcase_add_test(cases, all_kinds);
  tcase_add_test(cases, chunks);
  tcase_add_test(cases, counts);
  suite_add_tcase(suite, cases);
  return suite_run(suite);
}
