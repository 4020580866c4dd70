/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/compiler.c: finding, starting, asking and ending a process that compiles kernels. */
#include "opencl/compiler.h"

#include "base/config.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct halo_cl_compiler {
  pid_t process;
  int socket;
  bool given_up;
  uint64_t programs[HALO_COMPILER_PROGRAMS]; /* what the process has in each place; 0: nothing */
};

/* How long an answer is waited for: so long, and so many times what compiling is expected to take. */
static const double COMPILER_PATIENCE = 10, COMPILER_SLACK = 50; /* seconds; 1 */

/* ---- Where the program is ---- */

static bool compiler_is_program(const char *path) { return access(path, X_OK) == 0; }

/* The folder of this library, or of the program that it was linked into; "" if it is not known. */
static void compiler_own_folder(char out[PATH_MAX]) {
  Dl_info about;
  out[0] = 0;
  if (!dladdr((void *)(uintptr_t)compiler_own_folder, &about) || !about.dli_fname) return;
  /* A program's name is what it was called by, which need not be a path. */
  bool is_path = strchr(about.dli_fname, '/') != NULL;
  if (!realpath(is_path ? about.dli_fname : "/proc/self/exe", out)) out[0] = 0;
  char *slash = strrchr(out, '/');
  if (slash) *slash = 0;
}

/* The path of the program, to be freed with halo_free; NULL where there is none. */
static char *compiler_find(void) {
  /* As installed, beside the library (in a package for Python), and in a build folder. */
  static const char *const places[] = {
      "/../libexec/halo/", "/../../libexec/halo/", "/", "/compiler/", "/../compiler/",
      "/../lib/compiler/", "/../../lib/compiler/"};
  const char *chosen = halo_config_text(HALO_CONFIG_COMPILER);
  if (chosen && *chosen) return compiler_is_program(chosen) ? halo_strdup(chosen) : NULL;
  char folder[PATH_MAX];
  compiler_own_folder(folder);
  halo_strbuf path = {0};
  for (size_t i = 0; folder[0] && i < sizeof places / sizeof *places; i++) {
    halo_strbuf_printf(&path, "%s%s" HALO_COMPILER_NAME, folder, places[i]);
    if (compiler_is_program(halo_strbuf_text(&path))) return halo_strbuf_take(&path);
    halo_strbuf_deinit(&path);
  }
  halo_strbuf_append(&path, HALO_COMPILER_FOLDER "/" HALO_COMPILER_NAME);
  if (compiler_is_program(halo_strbuf_text(&path))) return halo_strbuf_take(&path);
  halo_strbuf_deinit(&path);
  return NULL;
}

/* ---- Start and end ---- */

/* This process's variables, but that PoCL shall offer the driver that compiles where a launch is queued. The list alone
 * is the caller's. */
static char **compiler_environment(void) {
  static char drivers[] = "POCL_DEVICES=basic";
  HALO_VEC(char *) list = {0};
  halo_vec_push(&list, drivers);
  for (char **at = environ; at && *at; at++) {
    if (strncmp(*at, drivers, strlen("POCL_DEVICES=")) != 0) halo_vec_push(&list, *at);
  }
  halo_vec_push(&list, NULL);
  return list.data;
}

/* Whatever the host does with signals, the process is to have them as processes have. */
static void compiler_reset_signals(posix_spawnattr_t *attributes) {
  static const int numbers[] = {SIGCHLD, SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  sigset_t none, some;
  sigemptyset(&none);
  sigemptyset(&some);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaddset(&some, numbers[i]);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setsigdefault(attributes, &some);
  posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static bool compiler_spawn(const char *path, const char *version, int socket, pid_t *process) {
  char name[] = HALO_COMPILER_NAME, *own_version = halo_strdup(version);
  char *const words[] = {name, own_version, NULL};
  char **environment = compiler_environment();
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&files, socket, HALO_COMPILER_SOCKET);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  compiler_reset_signals(&attributes);
  int code = posix_spawn(process, path, &files, &attributes, words, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  halo_free(environment);
  halo_free(own_version);
  return code == 0;
}

halo_cl_compiler *halo_cl_compiler_start(const char *platform_version) {
  int sockets[2];
  char *path = compiler_find();
  if (!path || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    halo_free(path);
    return NULL;
  }
  halo_cl_compiler *compiler = halo_alloc(sizeof *compiler);
  compiler->socket = sockets[0];
  bool started = compiler_spawn(path, platform_version, sockets[1], &compiler->process);
  close(sockets[1]);
  halo_free(path);
  if (started) return compiler;
  close(sockets[0]);
  halo_free(compiler);
  return NULL;
}

void halo_cl_compiler_stop(halo_cl_compiler *compiler) {
  /* A process that was forked from this one may have the socket too. */
  shutdown(compiler->socket, SHUT_RDWR);
  close(compiler->socket);
  /* One that does not answer does not end by itself. Its number may be another's where the host waited for it. */
  if (compiler->given_up && waitpid(compiler->process, NULL, WNOHANG) == 0) {
    kill(compiler->process, SIGKILL);
  }
  /* The host may have waited for it itself, or have said that nobody waits for its children. */
  while (waitpid(compiler->process, NULL, 0) < 0 && errno == EINTR) {}
  halo_free(compiler);
}

/* ---- Requests ---- */

static bool compiler_send(halo_cl_compiler *c, const void *data, size_t size) {
  for (const char *at = data; size > 0;) {
    ssize_t sent = send(c->socket, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= (size_t)sent;
  }
  return true;
}

static void compiler_set_patience(halo_cl_compiler *c, double seconds) {
  struct timeval most = {.tv_sec = (time_t)(COMPILER_PATIENCE + COMPILER_SLACK * seconds)};
  setsockopt(c->socket, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
  setsockopt(c->socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
}

static bool compiler_answer(halo_cl_compiler *c, char *answer) {
  ssize_t got;
  do {
    got = recv(c->socket, answer, 1, 0);
  } while (got < 0 && errno == EINTR);
  return got == 1;
}

bool halo_cl_compiler_request(halo_cl_compiler *c, halo_compiler_request *request,
                              const halo_cl_compiler_parts *parts, bool *done) {
  uint32_t place = (uint32_t)(parts->program % HALO_COMPILER_PROGRAMS);
  bool is_new = c->programs[place] != parts->program;
  char answer = HALO_COMPILER_FAILED;
  c->programs[place] = parts->program;
  request->place = place;
  request->binary_size = is_new ? (uint32_t)parts->binary_size : 0;
  request->options_size = is_new ? (uint32_t)strlen(parts->options) : 0;
  request->name_size = (uint32_t)strlen(parts->name);
  compiler_set_patience(c, parts->seconds);
  bool good = compiler_send(c, request, sizeof *request) &&
              compiler_send(c, parts->binary, request->binary_size) &&
              compiler_send(c, parts->options, request->options_size) &&
              compiler_send(c, parts->name, request->name_size) &&
              compiler_send(c, parts->arguments, request->argument_count) &&
              compiler_answer(c, &answer);
  c->given_up = !good;
  *done = good && answer == HALO_COMPILER_DONE;
  return good;
}
