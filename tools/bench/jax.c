/* SPDX-License-Identifier: Apache-2.0 */
/* jax.c: the Python process that times the same modules on XLA's CPU backend. */
#include "bench/bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct bench_jax {
  pid_t process;
  FILE *requests, *answers;
};

static void jax_start(const char *python, const char *script, int input, int output) {
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  for (int descriptor = 3; descriptor < 256; descriptor++) close(descriptor);
  execlp(python, python, script, (char *)NULL);
  perror(python);
  _exit(127);
}

struct bench_jax *bench_jax_open(const char *python, const char *script) {
  int requests[2], answers[2];
  char line[256];
  if (pipe(requests) != 0 || pipe(answers) != 0) {
    perror("halo bench: pipe");
    return NULL;
  }
  struct bench_jax *jax = calloc(1, sizeof *jax);
  signal(SIGPIPE, SIG_IGN); /* a process that died is noticed by its missing answer */
  fflush(NULL);
  jax->process = fork();
  if (jax->process == 0) jax_start(python, script, requests[0], answers[1]);
  close(requests[0]);
  close(answers[1]);
  jax->requests = fdopen(requests[1], "w");
  jax->answers = fdopen(answers[0], "r");
  if (jax->process < 0 || fgets(line, sizeof line, jax->answers) == NULL) {
    fprintf(stderr, "halo bench: %s %s does not answer; no comparison with XLA\n", python, script);
    bench_jax_close(jax);
    return NULL;
  }
  return jax;
}

void bench_jax_close(struct bench_jax *jax) {
  if (jax == NULL) return;
  fclose(jax->requests);
  fclose(jax->answers);
  if (jax->process > 0) waitpid(jax->process, NULL, 0);
  free(jax);
}

double bench_jax_run(struct bench_jax *jax, const char *path, int runs, int chained) {
  char line[512];
  fprintf(jax->requests, "%d %d %s\n", runs, chained, path);
  if (fflush(jax->requests) != 0 || fgets(line, sizeof line, jax->answers) == NULL) return -1;
  char *end;
  double seconds = strtod(line, &end);
  if (end == line) {
    fprintf(stderr, "halo bench: XLA: %s: %s", path, line);
    return -1;
  }
  return seconds;
}
