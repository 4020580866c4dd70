/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h: what the parts of `halo bench` share. */
#ifndef HALO_TOOLS_BENCH_H
#define HALO_TOOLS_BENCH_H

#include "halo/client.h"

/* The median; sorts `values`. */
double bench_median(double *values, int count);
/* A fresh folder in /tmp; false after a message. */
enum { BENCH_FOLDER = 32 };
bool bench_make_folder(char path[BENCH_FOLDER]);
/* Removes a folder and all in it. */
void bench_remove_folder(const char *path);
/* ---- What a program of tools/bench/programs says of itself (heading.c) ---- */

/* The lines `//! ...` in front of the module; files without them have an empty heading. */
typedef struct bench_heading {
  char field[24], size[12]; /* of `//! program FIELD SIZE` */
  bool has_loop;            /* the module has a while or a conditional */
  char **recipes; /* of `//! input RECIPE`, one for each parameter, as --input takes them */
  int recipe_count;
} bench_heading;

/* Empty for a file that cannot be read. */
void bench_heading_read(const char *path, bench_heading *out);
void bench_heading_release(bench_heading *heading);

/* ---- A compiled program with made-up arguments (program.c) ---- */

typedef struct bench_program {
  halo_executable *executable;
  halo_buffer **arguments, **results;
  int argument_count, result_count;
  double compile_seconds; /* from the file to the executable */
  bool ran;
} bench_program;

/* What a run is chained to when it is waited for, and the next one begins behind it. */
enum { BENCH_WAITED = -1 };

/* Waits until so many results are there; the first failure ends it. */
halo_status bench_wait(halo_buffer *const *results, int count);
/* HALO_OK, or the failure of reading or compiling. `kernels` is that of halo_compile_options. Arguments are
 * made up as the file's heading says; without one, floats are from 0 to 0.1 and integers from 0 to 9. */
halo_status bench_program_open(halo_client *client, const char *path, const char *kernels,
                               bench_program *program);
void bench_program_close(bench_program *program);
/* *seconds is the time of one run, over `runs` runs that are queued one after another and waited for
 * at the end. The first `chained` results become the first arguments of the next run, whose memory is donated;
 * with BENCH_WAITED each run is waited for. */
halo_status bench_program_run(bench_program *program, int runs, int chained, double *seconds);

/* ---- XLA's CPU backend, in a Python process that measures when asked (jax.c) ---- */

/* Starts it; NULL, with a line on stderr, when it does not answer. */
struct bench_jax *bench_jax_open(const char *python, const char *script);
void bench_jax_close(struct bench_jax *jax);
/* Seconds of one run as for bench_program_run, negative when XLA refused. The first run of a module
 * compiles it outside the time; 0 runs: the seconds of compiling a new module and of its first run. */
double bench_jax_run(struct bench_jax *jax, const char *path, int runs, int chained);

/* ---- Starts of new processes (start.c) ---- */

typedef struct bench_start {
  double whole;  /* seconds from fork to exit */
  double client; /* of them, making the client */
  double first;  /* compiling and the first run */
} bench_start;

/* A new process that makes a client, waits for `pause` milliseconds, compiles a module and runs it once, with what is
 * in the folder `cache`, which keeps what was compiled; false when it failed. */
bool bench_start_process(const char *device, const char *path, const char *cache, int pause,
                         bench_start *out);
/* What that process does. Returns the exit code. */
int bench_first_step(const char *device, const char *path, int pause);

/* `halo bench scale`, a command of its own (scale.c): argv[0] is "scale". */
int bench_scale(int argc, char **argv);

/* `halo bench choices`, another (choices.c): argv[0] is "choices". */
int bench_choices(int argc, char **argv);
/* `halo bench costs`, another (costs.c): argv[0] is "costs". */
int bench_costs(int argc, char **argv);

/* `halo bench programs`, another (programs.c): argv[0] is "programs". */
int bench_programs(int argc, char **argv);

#endif
