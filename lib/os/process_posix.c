/* SPDX-License-Identifier: Apache-2.0 */
/* os/process_posix.c: this process and its machine by POSIX, with Linux's and glibc's additions where they are there. */
#include "os/process.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/mman.h>
#include <sys/syscall.h>
#endif

bool halo_os_machine_name(char *out, size_t size) {
  out[size - 1] = '\0';
  return gethostname(out, size - 1) == 0;
}

int halo_os_cores(void) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? (int)cores : 1;
}

/* ---- Age ---- */

static pthread_once_t age_once = PTHREAD_ONCE_INIT;
static clockid_t age_clock = CLOCK_MONOTONIC;
static double age_start; /* of the process, by age_clock */

static double age_now(void) {
  struct timespec now;
  clock_gettime(age_clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Linux says when a process started, in ticks since the machine did. */
static void age_find_start(void) {
#ifdef CLOCK_BOOTTIME
  enum { FIELD = 22 };
  char text[1024] = "";
  FILE *file = fopen("/proc/self/stat", "re");
  size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
  if (file) fclose(file);
  text[size] = '\0';
  const char *at = strrchr(text, ')'); /* behind the program's name, which is field 2 */
  for (int field = 2; at && field < FIELD; field++) at = strchr(at + 1, ' ');
  long ticks = sysconf(_SC_CLK_TCK);
  if (at && ticks > 0) {
    age_clock = CLOCK_BOOTTIME;
    age_start = strtod(at, NULL) / (double)ticks;
    return;
  }
#endif
  age_start = age_now();
}

double halo_os_process_age(void) {
  pthread_once(&age_once, age_find_start);
  return age_now() - age_start;
}

/* ---- Ends and children ---- */

#ifdef __linux__
/* glibc's registration of destructors of a thread's variables; absent elsewhere. */
extern int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *library)
    __attribute__((weak));
extern void *__dso_handle;

static void (*end_run)(void);

static void end_of_thread(void *unused) {
  (void)unused;
  end_run();
}
#endif

void halo_os_at_end(void (*run)(void)) {
  atexit(run);
#ifdef __linux__
  bool is_first = syscall(SYS_gettid) == getpid();
  if (!is_first || !__cxa_thread_atexit_impl) return;
  end_run = run;
  __cxa_thread_atexit_impl(end_of_thread, NULL, &__dso_handle);
#endif
}

void halo_os_at_fork(void (*run)(void)) { pthread_atfork(NULL, NULL, run); }

void halo_os_set_missing_variable(const char *name, const char *value) { setenv(name, value, 0); }

/* ---- Memory ---- */

void *halo_os_alloc_aligned(size_t alignment, size_t size) {
  void *memory = NULL;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

void halo_os_free_aligned(void *memory) { free(memory); }

enum { ZERO_LAZY = 1 << 20 }; /* bytes from which pages are given back */

void halo_os_zero(void *memory, size_t size) {
#ifdef __linux__
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (size >= ZERO_LAZY) {
    char *begin = memory;
    char *first = (char *)(((uintptr_t)begin + page - 1) / page * page);
    char *last = (char *)((uintptr_t)(begin + size) / page * page);
    if (madvise(first, (size_t)(last - first), MADV_DONTNEED) == 0) {
      memset(begin, 0, (size_t)(first - begin));
      memset(last, 0, (size_t)(begin + size - last));
      return;
    }
  }
#endif
  memset(memory, 0, size);
}

/* ---- Programs ---- */

bool halo_os_program_path(char *out, size_t size) {
  char *path = realpath("/proc/self/exe", NULL);
  int length = path ? snprintf(out, size, "%s", path) : -1;
  free(path);
  return length >= 0 && (size_t)length < size;
}

void halo_os_keep_on_closed_pipes(void) { signal(SIGPIPE, SIG_IGN); }

int halo_os_run(const char *const *arguments, const char *input) {
  int ends[2], status = -1;
  if (pipe(ends) != 0) return -1;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    close(ends[1]);
    execvp(arguments[0], (char *const *)arguments);
    _exit(127);
  }
  close(ends[0]);
  FILE *file = fdopen(ends[1], "w");
  if (file) {
    fputs(input, file);
    fclose(file);
  }
  if (child > 0) waitpid(child, &status, 0);
  return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
