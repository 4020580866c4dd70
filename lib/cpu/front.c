/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/front.c: from a program's text to bitcode: which front end does it, and the program `clang` as one. */
#include "base/config.h"
#include "base/memory.h"
#include "cpu/compile.h"
#include "cpu/fingerprint.h"
#include "cpu/source.h"
#include "cpu/target.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { FRONT_ARGUMENTS = 64, FRONT_LOG = 1 << 16 };

/* ---- A process ---- */

/* Starts the program with these as its input and output, and its messages. False, with why: it could not be started. */
static bool front_start(char *const *arguments, int in_and_out, int messages, pid_t *child,
                        halo_strbuf *log) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none;
  sigemptyset(&none);
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in_and_out, 0);
  posix_spawn_file_actions_adddup2(&files, in_and_out, 1);
  posix_spawn_file_actions_adddup2(&files, messages, 2);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &none);
  int code = posix_spawn(child, cpu_clang_program(), &files, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (code)
    halo_strbuf_printf(log, "%s cannot be started: %s", cpu_clang_program(), strerror(code));
  return code == 0;
}

double cpu_front_patience = 60;
enum { FRONT_MOST = 10 }; /* times that in processor time: more than any text takes */

static double front_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

typedef struct front_watch {
  pid_t child;
  double used; /* processor time, in seconds, when it was last seen to grow */
  double idle; /* seconds since */
} front_watch;

/* Looks at the program's processor time. `seconds`: for how long nothing has come from it since it was last looked at. False, with why: it has been
 * ended. A program whose processor time the system does not tell is taken for one that sleeps. */
static bool front_goes_on(front_watch *watch, double seconds, halo_strbuf *log) {
  clockid_t clock;
  struct timespec time = {0};
  if (clock_getcpuclockid(watch->child, &clock) == 0) clock_gettime(clock, &time);
  double used = (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
  watch->idle = used > watch->used ? 0 : watch->idle + seconds;
  watch->used = used;
  bool still = watch->idle >= cpu_front_patience;
  if (!still && used < FRONT_MOST * cpu_front_patience) return true;
  kill(watch->child, SIGKILL);
  if (still) {
    halo_strbuf_printf(log, "%s was ended: it did nothing for %g seconds", cpu_clang_program(),
                       cpu_front_patience);
  } else {
    halo_strbuf_printf(log, "%s was ended: it was not done after %g seconds of processor time",
                       cpu_clang_program(), FRONT_MOST * cpu_front_patience);
  }
  return false;
}

static pid_t front_ended(pid_t child, int *status, int how) {
  pid_t ended;
  while ((ended = waitpid(child, status, how)) < 0 && errno == EINTR) continue;
  return ended;
}

/* Waits until a program that has closed its output ends. False, with why: it has failed, or was ended. A process that ignores SIGCHLD
 * is not told how its children end. */
static bool front_wait(front_watch *watch, halo_strbuf *log) {
  enum { SHORTEST = 100000, LONGEST = 500000000 }; /* nanoseconds */
  int status = 0;
  pid_t ended;
  for (long pause = SHORTEST; (ended = front_ended(watch->child, &status, WNOHANG)) == 0;) {
    nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
    if (!front_goes_on(watch, 1e-9 * (double)pause, log)) {
      front_ended(watch->child, &status, 0);
      return false;
    }
    pause = pause < LONGEST / 2 ? 2 * pause : LONGEST;
  }
  if (ended < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return true;
  if (WIFSIGNALED(status)) {
    halo_strbuf_printf(log, "%s was ended by signal %d", cpu_clang_program(), WTERMSIG(status));
  } else if (!log->length) {
    halo_strbuf_printf(log, "%s ended with status %d", cpu_clang_program(), WEXITSTATUS(status));
  }
  return false;
}

/* Takes what a program writes to the socket, and keeps so many bytes at most. False: it has closed it. */
static bool front_take(int socket, halo_strbuf *out, size_t most) {
  char buffer[16384];
  ssize_t count = recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  if (out->length < most) halo_strbuf_append_n(out, buffer, (size_t)count);
  return count > 0;
}

/* Gives the program its input, and takes its output and messages until it closes both. False, with why: it was ended. */
static bool front_talk(front_watch *watch, int work, const halo_strbuf *text, halo_strbuf *made,
                       int messages, halo_strbuf *log) {
  struct pollfd files[] = {{work, POLLIN | POLLOUT, 0}, {messages, POLLIN, 0}};
  size_t sent = 0;
  double last = front_now();
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    int ready_files = poll(files, 2, 1000);
    if (ready_files < 0 && errno != EINTR) return true;
    if (ready_files < 0) continue;
    double now = front_now();
    if (ready_files > 0) watch->idle = 0;
    if (now - last >= 0.9) {
      if (!front_goes_on(watch, ready_files > 0 ? 0 : now - last, log)) {
        front_ended(watch->child, &(int){0}, 0);
        return false;
      }
      last = now;
    }
    if (files[0].revents & POLLOUT) {
      ssize_t count =
          send(work, text->data + sent, text->length - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count > 0) sent += (size_t)count;
      bool over = sent == text->length || (count < 0 && errno != EINTR && errno != EAGAIN);
      if (over) shutdown(work, SHUT_WR);
      if (over) files[0].events = POLLIN;
    }
    short ready = POLLIN | POLLHUP | POLLERR;
    if ((files[0].revents & ready) && !front_take(work, made, SIZE_MAX)) files[0].fd = -1;
    if ((files[1].revents & ready) && !front_take(messages, log, FRONT_LOG)) files[1].fd = -1;
  }
  return true;
}

static void front_close(int pair[2]) {
  for (int i = 0; i < 2; i++) {
    if (pair[i] >= 0) close(pair[i]);
    pair[i] = -1;
  }
}

/* Runs the program on a text. False, with why: it failed, or could not be started. Nothing is written to files, which may be limited in
 * size (RLIMIT_FSIZE), and a program that ends early raises no SIGPIPE. */
static bool front_run(char *const *arguments, const halo_strbuf *text, halo_strbuf *made,
                      halo_strbuf *log) {
  int work[2] = {-1, -1}, messages[2] = {-1, -1};
  front_watch watch = {0};
  bool good = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, work) == 0 &&
              socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, messages) == 0;
  if (!good) halo_strbuf_printf(log, "no socket to %s: %s", cpu_clang_program(), strerror(errno));
  good = good && front_start(arguments, work[1], messages[1], &watch.child, log);
  if (good) {
    close(work[1]);
    close(messages[1]);
    work[1] = messages[1] = -1;
    good = front_talk(&watch, work[0], text, made, messages[0], log) && front_wait(&watch, log);
  }
  front_close(work);
  front_close(messages);
  return good;
}

/* ---- Compiling ---- */

/* Splits at spaces, in place. */
static int front_split(char *text, char **words, int count, int most) {
  for (char *word = strtok_r(text, " \t", &text); word && count < most;
       word = strtok_r(NULL, " \t", &text)) {
    words[count++] = word;
  }
  return count;
}

/* Runs the program with these arguments and options, which are separated by spaces. False, with why: it failed, or gave nothing. */
static bool front_make(const char *const *fixed, int count, const char *options,
                       const halo_strbuf *text, halo_strbuf *made, halo_strbuf *log) {
  char *arguments[FRONT_ARGUMENTS], *copy = halo_strdup(options);
  for (int i = 0; i < count; i++) arguments[i] = (char *)fixed[i];
  count = front_split(copy, arguments, count, FRONT_ARGUMENTS - 1);
  arguments[count] = NULL;
  bool good = front_run(arguments, text, made, log) && made->length > 0;
  if (!good && !log->length) halo_strbuf_printf(log, "%s gave nothing", cpu_clang_program());
  halo_free(copy);
  return good;
}

static bool front_compile_by_clang(const halo_strbuf *text, const char *options, bool as_text,
                                   halo_strbuf *made, halo_strbuf *log) {
  char march[64];
  snprintf(march, sizeof march, "-march=%s", cpu_target_march());
  const char *fixed[] = {cpu_clang_program(),
                         "-x",
                         "cl",
                         march,
                         "-O1",
                         "-Xclang",
                         "-disable-llvm-passes",
                         "-emit-llvm",
                         as_text ? "-S" : "-c",
                         "-fno-unroll-loops",
                         "-fPIC",
                         "-o",
                         "-",
                         "-",
                         "-mprefer-vector-width=512",
                         "-fno-builtin-memcpy",
                         "-fno-asynchronous-unwind-tables",
                         "-fomit-frame-pointer"};
  enum { ALL = sizeof fixed / sizeof *fixed, FOR_TEXT = 4 }; /* the library sets these itself */
  return front_make(fixed, as_text ? ALL : ALL - FOR_TEXT, options, text, made, log);
}

bool cpu_front_object(const halo_strbuf *text, void **object, size_t *size, halo_strbuf *log) {
  char march[64];
  snprintf(march, sizeof march, "-march=%s", cpu_target_march());
  /* LLVM 20 and 21: see compile_optimise. */
  bool faulty = cpu_clang_version() == 20 || cpu_clang_version() == 21;
  const char *fixed[] = {cpu_clang_program(),
                         "-x",
                         "ir",
                         march,
                         "-O2",
                         "-c",
                         "-fPIC",
                         "-w",
                         "-o",
                         "-",
                         "-",
                         faulty ? "-fno-slp-vectorize" : "-fslp-vectorize"};
  halo_strbuf made = {0};
  bool good = front_make(fixed, sizeof fixed / sizeof *fixed, "", text, &made, log);
  *size = made.length;
  if (good) {
    *object = halo_strbuf_take(&made);
  } else {
    halo_strbuf_deinit(&made);
  }
  return good;
}

/* ---- The front end ---- */

const cpu_front *cpu_front_of_clang(const char **missing) {
  static cpu_front front = {.compile = front_compile_by_clang, .makes_objects = true};
  *missing = cpu_clang_find();
  if (*missing) return NULL;
  front.name = cpu_clang_name();
  front.version = cpu_clang_version();
  front.folder = cpu_clang_folder();
  return &front;
}

static _Atomic(const cpu_front *) front_found;

const char *cpu_front_find(void) {
  static char text[256];
  const char *wish = halo_config_text(HALO_CONFIG_CPU), *no_clang = NULL, *no_pocl = NULL;
  if (atomic_load(&front_found)) return NULL;
  bool by_pocl = wish && strcmp(wish, CPU_FRONT_POCL) == 0;
  bool by_clang = wish && strcmp(wish, CPU_COMPILE_BY_CLANG) == 0;
  const cpu_front *front = by_pocl ? NULL : cpu_front_of_clang(&no_clang);
  if (!front && !by_clang) front = cpu_front_of_pocl(&no_pocl);
  atomic_store(&front_found, front);
  if (front) return NULL;
  if (by_clang) return no_clang;
  if (by_pocl) return no_pocl;
  snprintf(text, sizeof text, "%s; nor can PoCL do it: %s", no_clang, no_pocl);
  return text;
}

const cpu_front *cpu_front_get(void) { return atomic_load(&front_found); }

void cpu_describe_driver(char *out, size_t size) {
  snprintf(out, size, "%s, %s %08llx", cpu_front_get()->name, cpu_target_march(),
           ((unsigned long long)cpu_target_fingerprint() ^ CPU_FINGERPRINT) & 0xffffffff);
}

bool cpu_front_compile(const char *source, const char *options, bool as_text, unsigned char **code,
                       size_t *size, halo_strbuf *log) {
  halo_strbuf text = {0}, made = {0};
  cpu_source_begin(&text, source);
  halo_strbuf_append(&text, source);
  bool good = cpu_front_get()->compile(&text, options, as_text, &made, log);
  halo_strbuf_deinit(&text);
  *size = made.length;
  if (good) {
    *code = (unsigned char *)halo_strbuf_take(&made);
  } else {
    halo_strbuf_deinit(&made);
  }
  return good;
}
