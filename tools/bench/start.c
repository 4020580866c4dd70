/* SPDX-License-Identifier: Apache-2.0 */
/* start.c: new processes that compile a module and run it once. */
#include "bench/bench.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int bench_first_step(const char *device, const char *path, int pause) {
  halo_client *client;
  bench_program program;
  double run, compiled;
  halo_client_options options = {.device = device};
  double start = tool_now();
  if (!tool_check(halo_client_create(&options, &client))) return TOOL_FAILED;
  double made = tool_now() - start;
  if (pause > 0) nanosleep(&(struct timespec){pause / 1000, pause % 1000 * 1000000L}, NULL);
  bool ok = tool_check(bench_program_open(client, path, NULL, &program));
  compiled = program.compile_seconds;
  if (ok) ok = tool_check(bench_program_run(&program, 1, 0, &run));
  if (ok) printf("%.9f %.9f\n", made, compiled + run);
  bench_program_close(&program);
  halo_client_release(client);
  return ok ? TOOL_OK : TOOL_FAILED;
}

static void start_become(const char *device, const char *path, const char *cache, int pause,
                         int output) {
  char milliseconds[16];
  snprintf(milliseconds, sizeof milliseconds, "%d", pause);
  setenv("HALO_CACHE_DIR", cache, 1);
  setenv("POCL_CACHE_DIR", cache, 1); /* PoCL keeps what it made of a program by itself */
  dup2(output, STDOUT_FILENO);
  execl("/proc/self/exe", "halo", "bench", "--first-step", path, "--pause", milliseconds,
        "--device", device != NULL ? device : "", (char *)NULL);
  _exit(127);
}

bool bench_start_process(const char *device, const char *path, const char *cache, int pause,
                         bench_start *out) {
  int answer[2];
  *out = (bench_start){0};
  if (pipe(answer) != 0) return false;
  double start = tool_now();
  fflush(NULL);
  pid_t process = fork();
  if (process == 0) start_become(device, path, cache, pause, answer[1]);
  close(answer[1]);
  FILE *file = fdopen(answer[0], "r");
  bool answered = fscanf(file, "%lf %lf", &out->client, &out->first) == 2;
  int code = -1;
  bool ended = process > 0 && waitpid(process, &code, 0) >= 0;
  out->whole = tool_now() - start;
  fclose(file);
  return answered && ended && code == 0;
}
