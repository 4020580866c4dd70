/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/front.c: from a program's text to bitcode, by the program `clang`. */
#include "base/memory.h"
#include "cpu/compile.h"
#include "cpu/source.h"
#include "cpu/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { FRONT_OLDEST = 15, FRONT_NEWEST = 40, FRONT_ARGUMENTS = 64 };

static pthread_mutex_t front_lock = PTHREAD_MUTEX_INITIALIZER;
static int front_version; /* 0: not looked for yet, or not found */
static char front_program[PATH_MAX], front_label[32];

/* Where PATH has a program; false: nowhere. */
static bool front_find_program(const char *name, char *out, size_t size) {
  const char *path = getenv("PATH");
  if (!path) path = "/usr/local/bin:/usr/bin:/bin";
  while (*path) {
    size_t length = strcspn(path, ":");
    snprintf(out, size, "%.*s/%s", (int)length, path, name);
    if (length && access(out, X_OK) == 0) return true;
    path += length + (path[length] == ':');
  }
  return false;
}

const char *cpu_front_find(void) {
  pthread_mutex_lock(&front_lock);
  for (int v = FRONT_OLDEST; v <= FRONT_NEWEST && !front_version; v++) {
    char name[16];
    snprintf(name, sizeof name, "clang-%d", v);
    if (!front_find_program(name, front_program, sizeof front_program)) continue;
    snprintf(front_label, sizeof front_label, "%s", name);
    front_version = v;
  }
  bool found = front_version > 0;
  pthread_mutex_unlock(&front_lock);
  return found ? NULL : "no clang (the program clang-15 or newer) to compile kernels";
}

const char *cpu_front_name(void) { return front_label; }
int cpu_front_version(void) { return front_version; }

void cpu_describe_driver(char *out, size_t size) {
  snprintf(out, size, "%s, %s %08llx", front_label, cpu_target_march(),
           (unsigned long long)cpu_target_fingerprint() & 0xffffffff);
}

/* ---- A process ---- */

/* A file in memory; -1: there is no room for it. */
static int front_file(const char *text, size_t size) {
  int file = memfd_create("halo", MFD_CLOEXEC);
  for (size_t at = 0; file >= 0 && at < size;) {
    ssize_t written = write(file, text + at, size - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      close(file);
      return -1;
    }
    at += (size_t)written;
  }
  if (file >= 0) lseek(file, 0, SEEK_SET);
  return file;
}

static bool front_read(int file, halo_strbuf *out) {
  char buffer[16384];
  if (lseek(file, 0, SEEK_SET) < 0) return false;
  for (;;) {
    ssize_t count = read(file, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count == 0;
    halo_strbuf_append_n(out, buffer, (size_t)count);
  }
}

/* Runs a program with these files as its input, output and messages. False: it failed, or could not be started. A process that
 * ignores SIGCHLD is not told how its children end. */
static bool front_spawn(char *const *arguments, int in, int out, int messages) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none;
  pid_t child;
  int status = 0;
  sigemptyset(&none);
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in, 0);
  posix_spawn_file_actions_adddup2(&files, out, 1);
  posix_spawn_file_actions_adddup2(&files, messages, 2);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &none);
  int code = posix_spawn(&child, front_program, &files, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (code != 0) return false;
  pid_t ended;
  while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) continue;
  return ended < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
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

bool cpu_front_compile(const char *source, const char *options, unsigned char **bitcode,
                       size_t *size, halo_strbuf *log) {
  char march[64];
  snprintf(march, sizeof march, "-march=%s", cpu_target_march());
  const char *fixed[] = {front_program,
                         "-x",
                         "cl",
                         march,
                         "-O1",
                         "-Xclang",
                         "-disable-llvm-passes",
                         "-emit-llvm",
                         "-c",
                         "-fno-unroll-loops",
                         "-fPIC",
                         "-o",
                         "-",
                         "-"};
  char *arguments[FRONT_ARGUMENTS], *copy = halo_strdup(options);
  int count = 0;
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) arguments[count++] = (char *)fixed[i];
  count = front_split(copy, arguments, count, FRONT_ARGUMENTS - 1);
  arguments[count] = NULL;
  halo_strbuf text = {0}, made = {0};
  cpu_source_begin(&text, source);
  halo_strbuf_append(&text, source);
  int in = front_file(text.data, text.length), out = front_file("", 0), told = front_file("", 0);
  bool good = in >= 0 && out >= 0 && told >= 0 && front_spawn(arguments, in, out, told);
  if (told >= 0) front_read(told, log);
  good = good && front_read(out, &made) && made.length > 0;
  if (!good && !log->length) halo_strbuf_printf(log, "%s could not be run", front_program);
  if (in >= 0) close(in);
  if (out >= 0) close(out);
  if (told >= 0) close(told);
  halo_free(copy);
  halo_strbuf_deinit(&text);
  *size = made.length;
  if (good) {
    *bitcode = (unsigned char *)halo_strbuf_take(&made);
  } else {
    halo_strbuf_deinit(&made);
  }
  return good;
}
