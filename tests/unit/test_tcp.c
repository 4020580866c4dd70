/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_tcp.c: messages of the communicator over TCP, between threads that play a process each, and between processes. */
#include "tcp_test.h"

#include <signal.h>

/* Bytes that say whose they are. */
static void fill(unsigned char *data, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)(seed * 31 + i * 7 + (i >> 8));
}

static void check_filled(const unsigned char *data, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++) {
    unsigned char wanted = (unsigned char)(seed * 31 + i * 7 + (i >> 8));
    if (data[i] != wanted) ck_abort_msg("byte %zu of %zu is %d, not %d", i, bytes, data[i], wanted);
  }
}

/* ---- Messages ---- */

static const size_t sizes[] = {0,     1,     24,      4096,          16383,   16384,   32768,
                               32769, 65536, 1 << 20, (1 << 20) + 1, 4 << 20, 64 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Each to each, all sizes at once; received before they are sent, or after they have come. */
static void run_sizes(node *n) {
  for (int late = 0; late < 2; late++) {
    size_t most = n->count > 2 ? SIZES - 1 : SIZES;
    unsigned char *out[SIZES], *in[MOST][SIZES];
    void *sends[MOST][SIZES], *receives[MOST][SIZES];
    for (size_t i = 0; i < most; i++) {
      out[i] = malloc(sizes[i] + 1);
      fill(out[i], sizes[i], (unsigned)(n->process * 100 + (int)i));
    }
    for (int p = 0; p < n->count; p++) {
      if (p == n->process) continue;
      for (size_t i = 0; i < most; i++) {
        in[p][i] = calloc(1, sizes[i] + 1);
        if (!late) receives[p][i] = begin_receive(n, p, (int)i + 1, in[p][i], sizes[i]);
      }
    }
    barrier(n);
    for (int p = 0; p < n->count; p++) {
      for (size_t i = 0; i < most && p != n->process; i++) {
        sends[p][i] = begin_send(n, p, (int)i + 1, out[i], sizes[i]);
      }
    }
    if (late) barrier(n);
    for (int p = n->count - 1; p >= 0; p--) {
      for (size_t i = most; i-- > 0 && p != n->process;) {
        if (late) receives[p][i] = begin_receive(n, p, (int)i + 1, in[p][i], sizes[i]);
      }
    }
    for (int p = 0; p < n->count; p++) {
      for (size_t i = 0; i < most && p != n->process; i++) {
        await(n, receives[p][i]);
        check_filled(in[p][i], sizes[i], (unsigned)(p * 100 + (int)i));
        free(in[p][i]);
      }
    }
    for (int p = 0; p < n->count; p++) {
      for (size_t i = 0; i < most && p != n->process; i++) await(n, sends[p][i]);
    }
    for (size_t i = 0; i < most; i++) free(out[i]);
  }
}

START_TEST(sizes_between_threads) { in_threads(3, _i, run_sizes); }
END_TEST

START_TEST(sizes_between_processes) {
  expect_all_well(2, _i, run_sizes);
  expect_all_well(_i ? MOST : 4, _i, run_sizes);
}
END_TEST

/* Messages of one tag, of sizes that go different ways, stay in their order. */
static void run_order(node *n) {
  enum { ORDER = 160 };
  static const size_t lengths[] = {8, 100000, 0, 40, 33000, 9000, 5, 2000000};
  void *sends[ORDER];
  unsigned char *out[ORDER], *in = malloc(2000000);
  int to = (n->process + 1) % n->count, from = (n->process + n->count - 1) % n->count;
  for (int i = 0; i < ORDER; i++) {
    size_t bytes = lengths[i % 8] + (size_t)(i % 8 == 2 ? 0 : i);
    if (bytes > 2000000) bytes = 2000000;
    out[i] = malloc(bytes + 1);
    fill(out[i], bytes, (unsigned)i);
    sends[i] = begin_send(n, to, 5, out[i], bytes);
  }
  for (int i = 0; i < ORDER; i++) {
    size_t bytes = lengths[i % 8] + (size_t)(i % 8 == 2 ? 0 : i);
    if (bytes > 2000000) bytes = 2000000;
    await(n, begin_receive(n, from, 5, in, bytes));
    check_filled(in, bytes, (unsigned)i);
  }
  for (int i = 0; i < ORDER; i++) {
    await(n, sends[i]);
    free(out[i]);
  }
  free(in);
}

START_TEST(order) {
  in_threads(3, _i, run_order);
  expect_all_well(2, _i, run_order);
}
END_TEST

/* Messages with tag 0 from all, more than there is credit for; announcements of others among them. */
static void run_mail(node *n) {
  enum { MAIL = 2000 };
  int(*texts)[1024] = malloc(sizeof *texts * MAIL), seen[MOST] = {0}, text[1024];
  void **sends = malloc(sizeof *sends * MAIL * MOST);
  int begun = 0, wanted = MAIL * (n->count - 1), came = 0;
  for (int i = 0; i < MAIL; i++) {
    for (int k = 0; k < 1024; k++) texts[i][k] = i + k;
    for (int p = 0; p < n->count; p++) {
      if (p != n->process)
        sends[begun++] = begin_send(n, p, 0, texts[i], sizeof(int) * (size_t)(1 + i % 1024));
    }
  }
  for (; came < wanted; came++) {
    int from;
    size_t bytes;
    poll_one(n, text, sizeof text, &from, &bytes);
    int i = seen[from]++;
    ck_assert_uint_eq(bytes, sizeof(int) * (size_t)(1 + i % 1024));
    ck_assert_int_eq(memcmp(text, texts[i], bytes), 0);
  }
  for (int i = 0; i < begun; i++) await(n, sends[i]);
  free(texts);
  free(sends);
}

START_TEST(mail) {
  in_threads(3, _i, run_mail);
  expect_all_well(4, _i, run_mail);
}
END_TEST

/* What nobody asks for stays with its sender, but for a little. */
static void run_bounded(node *n) {
  enum { BOUNDED = 200, BOUNDED_BYTES = 30000, LARGE = 16 << 20 };
  static unsigned char small[BOUNDED][BOUNDED_BYTES], in[BOUNDED_BYTES];
  if (n->process == 0) {
    void *sends[BOUNDED + 1];
    unsigned char *large = malloc(LARGE);
    fill(large, LARGE, 3);
    sends[BOUNDED] = begin_send(n, 1, 3, large, LARGE);
    for (int i = 0; i < BOUNDED; i++) {
      fill(small[i], BOUNDED_BYTES, (unsigned)i);
      sends[i] = begin_send(n, 1, 2, small[i], BOUNDED_BYTES);
    }
    double until = now() + 0.5;
    bool gone[BOUNDED + 1] = {0};
    int away = 0;
    while (now() < until) {
      for (int i = 0; i <= BOUNDED; i++) {
        if (!gone[i] && is_done(n, sends[i])) gone[i] = ++away;
      }
    }
    ck_assert_int_le(away, TCP_WINDOW / BOUNDED_BYTES);
    ck_assert(!gone[BOUNDED]);
    barrier(n);
    for (int i = 0; i <= BOUNDED; i++) {
      if (!gone[i]) await(n, sends[i]);
    }
    free(large);
  } else {
    /* Others may look meanwhile. */
    char text[8];
    for (double until = now() + 1; now() < until; rest()) {
      int from;
      size_t bytes;
      ck_assert_ptr_null(
          n->communicator->poll(n->communicator->user, text, sizeof text, &from, &bytes));
    }
    barrier(n);
    unsigned char *large = malloc(LARGE);
    void *late = begin_receive(n, 0, 3, large, LARGE);
    for (int i = 0; i < BOUNDED; i++) {
      await(n, begin_receive(n, 0, 2, in, BOUNDED_BYTES));
      check_filled(in, BOUNDED_BYTES, (unsigned)i);
    }
    await(n, late);
    check_filled(large, LARGE, 3);
    free(large);
  }
}

START_TEST(bounded) { expect_all_well(2, _i, run_bounded); }
END_TEST

/* ---- Threads ---- */

typedef struct speaker {
  node *node;
  int tag;
} speaker;

static void *speak(void *data) {
  enum { ROUNDS = 60 };
  speaker *s = data;
  node *n = s->node;
  int to = (n->process + 1) % n->count, from = (n->process + n->count - 1) % n->count;
  static const size_t lengths[] = {8, 20000, 300000, 4000};
  unsigned char *out = malloc(300000), *in = malloc(300000);
  for (int i = 0; i < ROUNDS; i++) {
    size_t bytes = lengths[(i + s->tag) % 4];
    fill(out, bytes, (unsigned)(s->tag * 1000 + i));
    void *receive = begin_receive(n, from, s->tag, in, bytes);
    void *send = begin_send(n, to, s->tag, out, bytes);
    await(n, receive);
    check_filled(in, bytes, (unsigned)(s->tag * 1000 + i));
    await(n, send);
  }
  free(out);
  free(in);
  return NULL;
}

static void run_speakers(node *n) {
  enum { SPEAKERS = 6 };
  pthread_t threads[SPEAKERS];
  speaker speakers[SPEAKERS];
  for (int i = 0; i < SPEAKERS; i++) {
    speakers[i] = (speaker){n, i + 1};
    ck_assert_int_eq(pthread_create(&threads[i], NULL, speak, &speakers[i]), 0);
  }
  for (int i = 0; i < SPEAKERS; i++) pthread_join(threads[i], NULL);
  barrier(n);
}

START_TEST(many_threads) { in_threads(3, _i, run_speakers); }
END_TEST

/* ---- Ends ---- */

/* The last messages of who closes at once arrive, and nobody waits for who has more to do. */
static void run_last_words(node *n) {
  enum { LAST = 8 << 20 };
  unsigned char *data = malloc(LAST);
  char word[16];
  if (n->process == 0) {
    fill(data, LAST, 9);
    void *request = begin_send(n, 1, 1, data, LAST);
    await(n, request);
    for (int i = 0; i < 100; i++) await(n, begin_send(n, 1, 0, "the end", 8));
    /* What was sent to it is not read. */
    double since = now();
    halo_communicator_close(n->communicator);
    ck_assert(now() - since < 3);
    free(data);
    _exit(0);
  }
  for (int i = 0; i < 10; i++) (void)begin_send(n, 0, 0, "unread", 7);
  void *request = begin_receive(n, 0, 1, data, LAST);
  await(n, request);
  check_filled(data, LAST, 9);
  nanosleep(&(struct timespec){0, 300000000}, NULL);
  for (int i = 0; i < 100; i++) {
    int from;
    size_t bytes;
    poll_one(n, word, sizeof word, &from, &bytes);
    ck_assert_str_eq(word, "the end");
  }
  /* It has ended, and said so: that is no failure until somebody wants something of it. */
  halo_communicator *c = n->communicator;
  int from;
  size_t bytes;
  ck_assert_ptr_null(c->poll(c->user, word, sizeof word, &from, &bytes));
  ck_assert_int_eq(from, -1);
  const char *trouble = c->receive(c->user, 0, 1, data, 8, &(void *){NULL});
  ck_assert_ptr_nonnull(trouble);
  ck_assert_str_eq(trouble, "process 0 has ended");
  ck_assert_str_eq(c->send(c->user, 0, 1, data, 8, &(void *){NULL}), "process 0 has ended");
  free(data);
}

START_TEST(last_words) { expect_all_well(2, _i, run_last_words); }
END_TEST

/* One of three is killed: what waits for it fails, with its name; what the others send each other does not. */
static void run_killed(node *n) {
  char word[16] = "";
  halo_communicator *c = n->communicator;
  barrier(n);
  if (n->process == 1) {
    await(n, begin_send(n, 0, 0, "before", 7));
    await(n, begin_send(n, 2, 0, "before", 7));
    kill(getpid(), SIGKILL);
  }
  unsigned char *large = calloc(1, 32 << 20);
  void *receive = begin_receive(n, 1, 4, word, sizeof word);
  void *send = NULL;
  const char *trouble = c->send(c->user, 1, 4, large, 32 << 20, &send);
  bool done = false;
  int from;
  size_t bytes;
  double until = now() + 10;
  while (!trouble && now() < until) trouble = c->test(c->user, receive, &done);
  ck_assert_msg(trouble && strstr(trouble, "process 1 is gone"), "%s", trouble);
  if (send) {
    trouble = c->test(c->user, send, &done);
    ck_assert_msg(trouble && strstr(trouble, "process 1 is gone"), "%s", trouble);
  }
  /* What it had said comes first. */
  trouble = c->poll(c->user, word, sizeof word, &from, &bytes);
  ck_assert_ptr_null(trouble);
  ck_assert_int_eq(from, 1);
  ck_assert_str_eq(word, "before");
  do {
    trouble = c->poll(c->user, word, sizeof word, &from, &bytes);
    ck_assert_int_eq(from, -1);
  } while (!trouble && now() < until);
  ck_assert_msg(trouble && strstr(trouble, "process 1 is gone"), "%s", trouble);
  trouble = c->send(c->user, 1, 1, word, 4, &send);
  ck_assert_msg(trouble && strstr(trouble, "process 1 is gone"), "%s", trouble);
  int other = 2 - n->process, mine = n->process, its = -1;
  void *sent = begin_send(n, other, 6, &mine, sizeof mine);
  await(n, begin_receive(n, other, 6, &its, sizeof its));
  await(n, sent);
  ck_assert_int_eq(its, other);
  c->broken = true;
  free(large);
}

START_TEST(killed) {
  int statuses[MOST];
  in_processes(3, _i, run_killed, statuses);
  ck_assert_int_eq(statuses[0], 0);
  ck_assert(WIFSIGNALED(statuses[1]));
  ck_assert_int_eq(statuses[2], 0);
}
END_TEST

/* A size that is not what is expected. */
static void run_wrong_size(node *n) {
  halo_communicator *c = n->communicator;
  char data[100] = "";
  if (n->process == 0) {
    await(n, begin_send(n, 1, 1, data, 100));
    await(n, begin_send(n, 1, 0, data, 1));
    barrier(n);
    return;
  }
  int from;
  size_t bytes;
  poll_one(n, data, sizeof data, &from, &bytes);
  const char *trouble = c->receive(c->user, 0, 1, data, 50, &(void *){NULL});
  ck_assert_ptr_nonnull(trouble);
  ck_assert_str_eq(trouble, "process 0 sent 100 bytes with tag 1 where 50 were expected");
  await(n, begin_receive(n, 0, 1, data, 100));
  barrier(n);
}

START_TEST(wrong_size) { in_threads(2, true, run_wrong_size); }
END_TEST

static void run_misuse(node *n) {
  halo_communicator *c = n->communicator;
  void *request;
  static char data[TCP_EAGER + 1];
  ck_assert_ptr_nonnull(c->send(c->user, n->process, 1, data, 1, &request));
  ck_assert_ptr_nonnull(c->send(c->user, n->count, 1, data, 1, &request));
  ck_assert_ptr_nonnull(c->send(c->user, 1 - n->process, 0, data, TCP_EAGER + 1, &request));
  ck_assert_ptr_nonnull(c->receive(c->user, 1 - n->process, 0, data, 1, &request));
  ck_assert_ptr_nonnull(c->receive(c->user, -1, 1, data, 1, &request));
  barrier(n);
}

START_TEST(misuse) {
  halo_communicator *out;
  in_threads(2, true, run_misuse);
  halo_tcp_options options = {.process = 2, .process_count = 2, .exchange = store_exchange};
  ck_assert_int_eq(halo_communicator_connect(&options, &out), HALO_INVALID_ARGUMENT);
  options.exchange = NULL;
  ck_assert_int_eq(halo_communicator_connect(&options, &out), HALO_INVALID_ARGUMENT);
  ck_assert_int_eq(halo_communicator_connect(NULL, &out), HALO_INVALID_ARGUMENT);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("tcp");
  TCase *messages = add_case(suite, "messages");
  tcase_add_loop_test(messages, sizes_between_threads, 0, 2);
  tcase_add_loop_test(messages, sizes_between_processes, 0, 2);
  tcase_add_loop_test(messages, order, 0, 2);
  tcase_add_loop_test(messages, bounded, 0, 2);
  tcase_add_test(messages, wrong_size);
  tcase_add_test(messages, misuse);
  TCase *threads = add_case(suite, "threads");
  tcase_add_loop_test(threads, mail, 0, 2);
  tcase_add_loop_test(threads, many_threads, 0, 2);
  TCase *ends = add_case(suite, "ends");
  tcase_add_loop_test(ends, last_words, 0, 2);
  tcase_add_loop_test(ends, killed, 0, 2);
  return suite_result(suite);
}
