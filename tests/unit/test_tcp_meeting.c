/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_tcp_meeting.c: how processes that are joined over TCP find each other, and who is refused. */
#include "tcp_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

/* ---- Strangers ---- */

/* A connection to where process 1 listens. */
static int stranger_connect(const store *s) {
  tcp_card card;
  ck_assert_ptr_null(tcp_card_unpack((const uint8_t *)s->cards[1], &card));
  struct sockaddr_in to = {.sin_family = AF_INET,
                           .sin_port = htons(card.port),
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
  return fd;
}

static const char *stranger_exchange(void *user, const void *mine, size_t bytes, void *all) {
  node *n = user;
  const char *trouble = store_exchange(user, mine, bytes, all);
  if (n->process != 0) return trouble;
  /* One who says nothing, one who speaks something else, and one who guesses; then the process itself. */
  static int fds[3];
  char hello[48] = "halotcp2", answer[64];
  for (int i = 0; i < 3; i++) fds[i] = stranger_connect(n->store);
  ck_assert_int_gt(
      send(fds[1], "GET / HTTP/1.1\r\nHost: somebody who is a stranger\r\n\r\n", 51, 0), 0);
  hello[12] = 1;
  ck_assert_int_eq(send(fds[2], hello, sizeof hello, 0), sizeof hello);
  ck_assert_int_eq(recv(fds[2], answer, sizeof answer, MSG_WAITALL), sizeof answer);
  ck_assert_int_eq(send(fds[2], answer + 32, 32, 0), 32);
  for (int i = 1; i < 3; i++) {
    ssize_t got = recv(fds[i], answer, sizeof answer, 0);
    ck_assert_msg(got == 0 || (got < 0 && errno == ECONNRESET), "%zd", got);
  }
  return NULL;
}

static void *stranger_main(void *data) {
  node *n = data;
  halo_tcp_options options = {
      .process = n->process, .process_count = n->count, .exchange = stranger_exchange, .user = n};
  const char *trouble = tcp_connect(&options, n->unix_sockets, &n->communicator);
  ck_assert_msg(!trouble, "%s", trouble);
  barrier(n);
  halo_communicator_close(n->communicator);
  return NULL;
}

START_TEST(strangers) {
  store *s = calloc(1, sizeof *s);
  node nodes[2] = {{.store = s, .count = 2}, {.store = s, .process = 1, .count = 2}};
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, stranger_main, &nodes[1]), 0);
  stranger_main(&nodes[0]);
  pthread_join(thread, NULL);
  free(s);
}
END_TEST

/* Who is not there, or does not come, is named. */
static void *missing_main(void *data) {
  node *n = data;
  const char *trouble = node_connect(n);
  ck_assert_ptr_nonnull(trouble);
  strcpy(n->trouble, trouble);
  return NULL;
}

START_TEST(missing) {
  for (int absent = 0; absent < 3; absent++) {
    store *s = calloc(1, sizeof *s);
    /* It said where it is, and is gone: its listeners are closed. */
    tcp_listeners listeners = {-1, -1};
    tcp_card card;
    ck_assert_ptr_null(tcp_listen(true, &listeners, &card));
    tcp_listeners_close(&listeners);
    tcp_card_pack(&card, (uint8_t *)s->cards[absent]);
    atomic_store(&s->here, 1);
    node nodes[3];
    pthread_t threads[3];
    for (int p = 0; p < 3; p++) {
      nodes[p] = (node){.store = s, .process = p, .count = 3, .unix_sockets = true, .timeout = 2};
      if (p != absent)
        ck_assert_int_eq(pthread_create(&threads[p], NULL, missing_main, &nodes[p]), 0);
    }
    char wanted[64];
    snprintf(wanted, sizeof wanted, "process %d ", absent);
    for (int p = 0; p < 3; p++) {
      if (p == absent) continue;
      pthread_join(threads[p], NULL);
      ck_assert_msg(strstr(nodes[p].trouble, wanted), "%s", nodes[p].trouble);
    }
    free(s);
  }
}
END_TEST

/* So is who cannot be reached at all. */
static void *unreachable_main(void *data) {
  node *n = data;
  if (n->process == 1) setenv("HALO_TCP_ADDRESS", "no-such-interface", 1);
  const char *trouble = node_connect(n);
  strcpy(n->trouble, trouble ? trouble : "");
  return NULL;
}

START_TEST(unreachable) {
  store *s = calloc(1, sizeof *s);
  node nodes[2];
  pthread_t thread;
  for (int p = 0; p < 2; p++) nodes[p] = (node){.store = s, .process = p, .count = 2};
  ck_assert_int_eq(pthread_create(&thread, NULL, unreachable_main, &nodes[0]), 0);
  while (atomic_load(&s->here) < 1) rest();
  unreachable_main(&nodes[1]);
  pthread_join(thread, NULL);
  ck_assert_msg(strncmp(nodes[1].trouble, "HALO_TCP_ADDRESS=no-such", 24) == 0, "%s",
                nodes[1].trouble);
  ck_assert_msg(strncmp(nodes[0].trouble, "process 1 cannot be connected: HALO_TCP_A", 41) == 0,
                "%s", nodes[0].trouble);
  free(s);
}
END_TEST

/* The address that the user names is the one that is used. */
START_TEST(addresses) {
  tcp_listeners listeners = {-1, -1};
  tcp_card card;
  setenv("HALO_TCP_ADDRESS", "lo", 1);
  ck_assert_ptr_null(tcp_listen(true, &listeners, &card));
  ck_assert_int_eq(card.addresses[0].family, 4);
  ck_assert_int_eq(card.addresses[0].bytes[0], 127);
  ck_assert_int_eq(card.addresses[1].family, 0);
  tcp_listeners_close(&listeners);
  setenv("HALO_TCP_ADDRESS", "no-such-interface", 1);
  const char *trouble = tcp_listen(true, &listeners, &card);
  ck_assert_msg(trouble && strstr(trouble, "HALO_TCP_ADDRESS=no-such-interface"), "%s", trouble);
  tcp_listeners_close(&listeners);
  setenv("HALO_TCP_ADDRESS", "192.0.2.7", 1);
  trouble = tcp_listen(true, &listeners, &card);
  ck_assert_msg(trouble && strstr(trouble, "nobody can listen there"), "%s", trouble);
  tcp_listeners_close(&listeners);
  setenv("HALO_TCP_ADDRESS", "127.0.0.1", 1);
  in_threads(2, false, barrier);
  setenv("HALO_TCP_ADDRESS", "::1", 1);
  /* Where the machine has IPv6. */
  if (!tcp_listen(false, &listeners, &card)) in_threads(2, false, barrier);
  tcp_listeners_close(&listeners);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("tcp_meeting");
  TCase *meeting = add_case(suite, "meeting");
  tcase_add_test(meeting, strangers);
  tcase_add_test(meeting, missing);
  tcase_add_test(meeting, unreachable);
  tcase_add_test(meeting, addresses);
  return suite_result(suite);
}
