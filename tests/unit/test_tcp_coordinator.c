/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_tcp_coordinator.c: processes that meet at HALO_TCP_COORDINATOR: what ends at once, what is waited for and how
 * long, and strangers. */
#include "tcp_test.h"

#include "base/config.h"
#include "base/memory.h"
#include "tcp/coordinator.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>

/* ---- Processes ---- */

enum { SAID = 4096 };

/* A process and what it says. */
typedef struct meeting_process {
  pid_t pid;
  int pipe;
  char said[SAID]; /* when it is over, which ended so, after: */
  int status;
  double seconds;
} meeting_process;

static int meeting_port(void) {
  static int times;
  return 20000 + (getpid() * 16 + times++) % 12000; /* where the system takes no ports */
}

static void meeting_set(const char *host, int port) {
  char place[64];
  snprintf(place, sizeof place, "%s:%d", host, port);
  setenv("HALO_TCP_COORDINATOR", place, 1);
}

static void meeting_run(int process, int count) {
  node n = {.process = process, .count = count};
  char number[8];
  if (!getenv("SLURM_PROCID")) {
    snprintf(number, sizeof number, "%d", process);
    setenv("HALO_TCP_PROCESS", number, 1);
    snprintf(number, sizeof number, "%d", count);
    setenv("HALO_TCP_PROCESSES", number, 1);
  }
  if (halo_communicator_open("tcp", &n.communicator) != HALO_OK) {
    fprintf(stderr, "%s\n", halo_error_message());
    _exit(1);
  }
  ck_assert_int_eq(n.communicator->process, process);
  barrier(&n);
  halo_communicator_close(n.communicator);
  _exit(0);
}

static meeting_process meeting_start(int process, int count) {
  meeting_process started = {.seconds = now()};
  int ends[2];
  ck_assert_int_eq(pipe(ends), 0);
  started.pipe = ends[0];
  started.pid = fork();
  if (started.pid == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    meeting_run(process, count);
  }
  close(ends[1]);
  return started;
}

static void meeting_await(meeting_process *process) {
  size_t length = 0;
  ssize_t got;
  while ((got = read(process->pipe, process->said + length, SAID - 1 - length)) > 0) {
    length += (size_t)got;
  }
  close(process->pipe);
  waitpid(process->pid, &process->status, 0);
  process->seconds = now() - process->seconds;
}

static void meeting_expect_good(meeting_process *process) {
  meeting_await(process);
  ck_assert_msg(process->status == 0, "%x: %s", (unsigned)process->status, process->said);
}

/* It says both texts, and takes so long. */
static void meeting_expect(meeting_process *process, const char *text, const char *other,
                           double least, double most) {
  meeting_await(process);
  ck_assert_msg(WIFEXITED(process->status) && WEXITSTATUS(process->status) == 1, "%x: %s",
                (unsigned)process->status, process->said);
  ck_assert_msg(strstr(process->said, text) && strstr(process->said, other), "%s", process->said);
  ck_assert_msg(process->seconds >= least && process->seconds <= most, "%g s: %s", process->seconds,
                process->said);
}

/* ---- All is well ---- */

/* Any of them may come first. */
START_TEST(together) {
  ck_assert_ptr_null(halo_communicator_default());
  meeting_process processes[3];
  for (int first = 0; first < 3; first++) {
    setenv("HALO_TCP_SECRET", "a text", first != 1);
    if (first == 1) unsetenv("HALO_TCP_SECRET");
    meeting_set("localhost", meeting_port());
    ck_assert_str_eq(halo_communicator_default(), "tcp");
    for (int i = 0; i < 3; i++) {
      processes[(first + i) % 3] = meeting_start((first + i) % 3, 3);
      nanosleep(&(struct timespec){0, 100000000}, NULL);
    }
    for (int p = 0; p < 3; p++) meeting_expect_good(&processes[p]);
  }
}
END_TEST

/* An address that is not this machine's, as behind a translation of addresses: process 0 listens at all, and says so. */
START_TEST(elsewhere) {
  setenv("HALO_TCP_SECRET", "a text", 1);
  int port = meeting_port();
  meeting_set("192.0.2.1", port);
  meeting_process first = meeting_start(0, 2);
  meeting_set("127.0.0.1", port);
  meeting_process second = meeting_start(1, 2);
  meeting_expect_good(&second);
  meeting_expect_good(&first);
  ck_assert_msg(strstr(first.said, "192.0.2.1") && strstr(first.said, "is not an address of this"),
                "%s", first.said);
}
END_TEST

/* ---- Who does not come ---- */

static void expect_at_once(const char *place, const char *text) {
  setenv("HALO_TCP_COORDINATOR", place, 1);
  for (int p = 0; p < 2; p++) {
    meeting_process process = meeting_start(p, 2);
    meeting_expect(&process, text, place, 0, 2);
  }
}

START_TEST(wrong) {
  expect_at_once("nowhere", "HALO_TCP_COORDINATOR=nowhere: not of the form HOST:PORT");
  expect_at_once("localhost:", "HOST:PORT");
  expect_at_once("localhost:http", "a number from 1 to 65535");
  expect_at_once("localhost:65536", "a number from 1 to 65535");
  expect_at_once("nobody.invalid:4000", "HALO_TCP_COORDINATOR=nobody.invalid:4000: ");
  expect_at_once("", "HALO_TCP_COORDINATOR is not set");
  setenv("HALO_TCP_COORDINATOR", "localhost:4000", 1);
  meeting_process process = meeting_start(3, 3);
  meeting_expect(&process, "which of how many", "HALO_TCP_PROCESS", 0, 2);
}
END_TEST

/* ---- Slurm ---- */

static void slurm_set(const char *tasks, const char *machines) {
  unsetenv("HALO_TCP_COORDINATOR");
  setenv("SLURM_NTASKS", tasks, 1);
  setenv("SLURM_JOB_ID", "4711", 1);
  setenv("SLURM_STEP_ID", "2", 1);
  if (machines) setenv("SLURM_STEP_NODELIST", machines, 1);
}

static void slurm_expect(const char *machines, const char *text) {
  slurm_set("2", machines);
  char *place = halo_config_coordinator();
  ck_assert_str_eq(place, text);
  halo_free(place);
}

START_TEST(slurm) {
  setenv("SLURM_PROCID", "0", 1);
  slurm_set("1", NULL);
  ck_assert_ptr_null(halo_communicator_default());
  slurm_set("2", NULL);
  ck_assert_str_eq(halo_communicator_default(), "tcp");
  halo_communicator *out;
  ck_assert_int_eq(halo_communicator_open("tcp", &out), HALO_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(halo_error_message(), "HALO_COMMUNICATOR=none"));
  setenv("HALO_COMMUNICATOR", "none", 1);
  ck_assert_ptr_null(halo_communicator_default());
  unsetenv("HALO_COMMUNICATOR");
  slurm_expect("node7", "localhost:62177");
  slurm_expect("a7,b[1-3]", "a7:62177");
  slurm_expect("node[007-015,20]", "node007:62177");
  slurm_expect("node[3,5]-ib,c", "node3-ib:62177");
  setenv("SLURM_STEP_NUM_TASKS", "1", 1);
  ck_assert_ptr_null(halo_communicator_default());
  unsetenv("SLURM_STEP_NUM_TASKS");
  /* Tasks of one machine find each other. */
  char number[16];
  snprintf(number, sizeof number, "%d", (int)getpid());
  slurm_set("2", "node7");
  setenv("SLURM_JOB_ID", number, 1);
  meeting_process tasks[2];
  for (int p = 0; p < 2; p++) {
    snprintf(number, sizeof number, "%d", p);
    setenv("SLURM_PROCID", number, 1);
    tasks[p] = meeting_start(p, 2);
  }
  for (int p = 0; p < 2; p++) meeting_expect_good(&tasks[p]);
}
END_TEST

START_TEST(nobody) {
  setenv("HALO_COLLECTIVE_TIMEOUT", "3", 1);
  meeting_set("localhost", meeting_port());
  meeting_process process = meeting_start(1, 2);
  meeting_expect(&process, "halo: process 1 of 2 waits for process 0: process 0 cannot be reached",
                 "Connection refused), for 3 s", 2.9, 6);
  process = meeting_start(0, 3);
  meeting_expect(&process, "halo: process 0 of 3 waits at localhost:", "for processes 1, 2\n", 2.9,
                 6);
  ck_assert_ptr_nonnull(strstr(process.said, "processes 1, 2 of 3 did not come to localhost:"));
  /* Who came is told who did not. */
  process = meeting_start(0, 3);
  meeting_process other = meeting_start(2, 3);
  meeting_expect(&process, "process 1 of 3 did not come to localhost:", "for process 1\n", 2.9, 6);
  meeting_expect(&other, "process 1 did not come to process 0 at localhost:", "", 2.5, 6);
}
END_TEST

/* Somebody else is at the port. */
START_TEST(in_use) {
  int port = meeting_port(), fd = tcp_listen_at(&(tcp_address){4, {127, 0, 0, 1}}, (uint16_t)port);
  ck_assert_int_ge(fd, 0);
  meeting_set("127.0.0.1", port);
  meeting_process process = meeting_start(0, 2);
  meeting_expect(&process, "process 0 cannot listen at 127.0.0.1:", "in use", 0, 2);
  close(fd);
}
END_TEST

/* ---- Secrets ---- */

static void expect_other_secret(const char *first, const char *second) {
  setenv("HALO_COLLECTIVE_TIMEOUT", "4", 1);
  meeting_set("localhost", meeting_port());
  setenv("HALO_TCP_SECRET", first, 1);
  meeting_process zero = meeting_start(0, 2);
  nanosleep(&(struct timespec){0, 300000000}, NULL);
  setenv("HALO_TCP_SECRET", second, 1);
  meeting_process one = meeting_start(1, 2);
  meeting_expect(&one, "has another HALO_TCP_SECRET than this process",
                 "process 0 at localhost:", 0, 2);
  meeting_expect(&zero, "halo: process 0 refuses somebody: ",
                 "which says that it is process 1, has another HALO_TCP_SECRET", 3.9, 7);
}

START_TEST(secrets) {
  char first[101], second[101];
  memset(first, 'a', 100);
  first[100] = '\0';
  strcpy(second, first);
  second[99] = 'b';
  expect_other_secret("a", "b");
  expect_other_secret("a", "");
  expect_other_secret(first, second);
}
END_TEST

/* Without one, others than this machine's are not let in. */
START_TEST(insecure) {
  unsetenv("HALO_TCP_SECRET");
  for (int p = 0; p < 2; p++) {
    meeting_set("192.0.2.1", 4000);
    meeting_process process = meeting_start(p, 2);
    meeting_expect(&process, "other machines can reach: HALO_TCP_SECRET", "HALO_TCP_INSECURE=1", 0,
                   2);
  }
  setenv("HALO_TCP_INSECURE", "1", 1);
  int port = meeting_port();
  meeting_set("192.0.2.1", port);
  meeting_process first = meeting_start(0, 2);
  meeting_set("127.0.0.1", port);
  meeting_process second = meeting_start(1, 2);
  meeting_expect_good(&second);
  meeting_expect_good(&first);
}
END_TEST

/* ---- Disagreements ---- */

START_TEST(disagree) {
  setenv("HALO_COLLECTIVE_TIMEOUT", "4", 1);
  meeting_set("localhost", meeting_port());
  meeting_process zero = meeting_start(0, 3), one = meeting_start(1, 3);
  nanosleep(&(struct timespec){0, 500000000}, NULL);
  meeting_process other = meeting_start(1, 3), count = meeting_start(1, 2);
  meeting_expect(&other, "another process says at localhost:", "that it is process 1", 0, 2);
  meeting_expect(&count, "is one of 3 processes, and this one of 2", "process 0", 0, 2);
  meeting_process two = meeting_start(2, 3);
  meeting_expect_good(&zero);
  meeting_expect_good(&one);
  meeting_expect_good(&two);
}
END_TEST

/* ---- Strangers ---- */

static int stranger_connect(const char *host, int port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  ck_assert_int_eq(inet_pton(AF_INET, host, &to.sin_addr), 1);
  double until = now() + 5;
  for (;;) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return fd;
    close(fd);
    if (now() > until) return -1;
    rest();
  }
}

/* Some who say nothing, some who say something else, and some who stop in the middle keep nobody waiting. */
START_TEST(strangers) {
  enum { STRANGERS = 120 };
  setenv("HALO_TCP_SECRET", "a text", 1);
  int port = meeting_port(), fds[STRANGERS];
  meeting_set("127.0.0.1", port);
  meeting_process zero = meeting_start(0, 3);
  for (int i = 0; i < STRANGERS; i++) {
    fds[i] = stranger_connect("127.0.0.1", port);
    ck_assert_int_ge(fds[i], 0);
    const char *text =
        i % 3 == 1 ? "GET / HTTP/1.1\r\nHost: somebody who is a stranger here\r\n\r\n" : "halomeet";
    if (i % 3) ck_assert_int_gt(send(fds[i], text, strlen(text), MSG_NOSIGNAL), 0);
  }
  double begin = now();
  meeting_process one = meeting_start(1, 3), two = meeting_start(2, 3);
  meeting_expect_good(&one);
  meeting_expect_good(&two);
  meeting_expect_good(&zero);
  ck_assert_msg(now() - begin < 3, "%g s", now() - begin);
  for (int i = 0; i < STRANGERS; i++) close(fds[i]);
}
END_TEST

/* It listens where it was told to only. */
START_TEST(one_address) {
  int port = meeting_port();
  meeting_set("127.0.0.1", port);
  meeting_process zero = meeting_start(0, 2);
  int fd = stranger_connect("127.0.0.1", port);
  ck_assert_int_ge(fd, 0);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  inet_pton(AF_INET, "127.0.0.2", &to.sin_addr);
  int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ck_assert_int_eq(connect(other, (struct sockaddr *)&to, sizeof to), -1);
  ck_assert_int_eq(errno, ECONNREFUSED);
  close(other);
  close(fd);
  meeting_process one = meeting_start(1, 2);
  meeting_expect_good(&one);
  meeting_expect_good(&zero);
}
END_TEST

/* Somebody who hears all that a process says to process 0, and says it again. */
START_TEST(replay) {
  static const char secret[] = "a text that nobody hears";
  setenv("HALO_TCP_SECRET", secret, 1);
  int port = meeting_port(), between = meeting_port();
  int listener = tcp_listen_at(&(tcp_address){4, {127, 0, 0, 1}}, (uint16_t)between);
  ck_assert_int_ge(listener, 0);
  meeting_set("127.0.0.1", port);
  meeting_process zero = meeting_start(0, 2);
  meeting_set("127.0.0.1", between);
  meeting_process one = meeting_start(1, 2);
  int from, to = stranger_connect("127.0.0.1", port);
  while ((from = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0) rest();
  /* The card does not go on, so that the process is not known yet. */
  uint8_t heard[COORDINATOR_HELLO + TCP_CARD + HALO_SHA256_SIZE], answer[COORDINATOR_ANSWER];
  double until = now() + 5;
  ck_assert(coordinator_move(from, false, heard, COORDINATOR_HELLO, until));
  ck_assert(coordinator_move(to, true, heard, COORDINATOR_HELLO, until));
  ck_assert(coordinator_move(to, false, answer, sizeof answer, until));
  ck_assert(coordinator_move(from, true, answer, sizeof answer, until));
  ck_assert(coordinator_move(from, false, heard + COORDINATOR_HELLO,
                             sizeof heard - COORDINATOR_HELLO, until));
  for (size_t i = 0; i + sizeof secret - 1 <= sizeof heard; i++) {
    ck_assert_int_ne(memcmp(heard + i, secret, sizeof secret - 1), 0);
  }
  close(to);
  to = stranger_connect("127.0.0.1", port);
  ck_assert(coordinator_move(to, true, heard, COORDINATOR_HELLO, until));
  ck_assert(coordinator_move(to, false, answer, sizeof answer, until));
  ck_assert(coordinator_move(to, true, heard + COORDINATOR_HELLO, sizeof heard - COORDINATOR_HELLO,
                             until));
  ck_assert(!coordinator_move(to, false, answer, 1, until));
  ck_assert_int_ne(errno, ETIMEDOUT);
  close(to);
  /* The process itself comes again. */
  close(from);
  close(listener);
  kill(one.pid, SIGKILL);
  meeting_await(&one);
  meeting_set("127.0.0.1", port);
  one = meeting_start(1, 2);
  meeting_expect_good(&one);
  meeting_expect_good(&zero);
  ck_assert_ptr_nonnull(strstr(zero.said, "refuses somebody"));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("tcp_coordinator");
  TCase *meeting = add_case(suite, "coordinator");
  tcase_add_test(meeting, together);
  tcase_add_test(meeting, elsewhere);
  tcase_add_test(meeting, wrong);
  tcase_add_test(meeting, nobody);
  tcase_add_test(meeting, slurm);
  tcase_add_test(meeting, in_use);
  tcase_add_test(meeting, secrets);
  tcase_add_test(meeting, insecure);
  tcase_add_test(meeting, disagree);
  tcase_add_test(meeting, strangers);
  tcase_add_test(meeting, one_address);
  tcase_add_test(meeting, replay);
  return suite_result(suite);
}
