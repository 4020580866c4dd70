/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h: what the parts of `halo bench` share: the machine's limits, programs to time, and the
 * rows of the result. */
#ifndef HALO_TOOLS_BENCH_H
#define HALO_TOOLS_BENCH_H

#include "halo/client.h"
#include "opencl/api.h"

/* The median; sorts `values`. */
double bench_median(double *values, int count);
/* A fresh folder in /tmp; false after a message. */
enum { BENCH_FOLDER = 32 };
bool bench_make_folder(char path[BENCH_FOLDER]);
/* Removes a folder and all in it. */
void bench_remove_folder(const char *path);
/* Ends the program with a message when an OpenCL call failed. */
void bench_check_cl(cl_int code, const char *what);

/* ---- Yardsticks: bare OpenCL on the same device (limits.c) ---- */

enum { BENCH_ARRAY_ELEMENTS = 16 * 1024 * 1024, BENCH_INCREMENT_ELEMENTS = 1024 };

/* A hand-written kernel with its launch. */
typedef struct bench_yardstick {
  cl_command_queue queue; /* borrowed */
  cl_kernel kernel;       /* NULL: the device cannot do this one */
  size_t global, local;
  double work;   /* bytes or floating-point operations of one launch */
  char form[48]; /* which of several forms it is: the fastest was taken */
} bench_yardstick;

typedef struct bench_machine {
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  cl_mem arrays[3]; /* of BENCH_ARRAY_ELEMENTS floats each */
  bench_yardstick triad;
  bench_yardstick
      streaming; /* the triad with stores that go past the caches, where there are any */
  bench_yardstick fma;
  bench_yardstick increment; /* a kernel that does next to nothing */
} bench_machine;

/* Picks the fastest form of each yardstick on the device. */
void bench_machine_open(bench_machine *machine, const halo_device *device);
void bench_machine_close(bench_machine *machine);
/* Seconds of one launch, waited for. */
double bench_yardstick_run(const bench_yardstick *yardstick);
/* Seconds that the bare enqueue of one launch takes, which is then waited for outside the time. */
double bench_yardstick_enqueue(const bench_yardstick *yardstick);

/* ---- Rows (bench.c) ---- */

typedef enum bench_kind {
  BENCH_BANDWIDTH,  /* work / seconds against `limit` bytes a second */
  BENCH_STREAMING,  /* the same, held against the streaming triad where there is one */
  BENCH_FLOPS,      /* work / seconds against `limit` operations a second */
  BENCH_ABOVE,      /* seconds above `limit` seconds; at most `target` */
  BENCH_WITHIN,     /* seconds; at most `target` */
  BENCH_AGAINST_XLA /* XLA's seconds / ours */
} bench_kind;

typedef struct bench_row {
  char name[40], size[32];
  bench_kind kind;
  double seconds; /* the median of ours */
  double work, limit;
  double target;     /* ratio to reach, or seconds; 0: none */
  double xla;        /* seconds on XLA's CPU backend; 0: not measured */
  char failure[200]; /* why there is nothing, or "" */
} bench_row;

typedef struct bench_options {
  const char *device, *jax, *script, *digits, *json, *only;
  int rounds;
} bench_options;

typedef struct bench {
  bench_options options;
  halo_client *client;
  halo_device_info info;
  bench_machine machine;
  struct bench_jax *jax;     /* NULL: none */
  char folder[BENCH_FOLDER]; /* scratch, removed at the end */
  bench_row rows[64];
  int row_count;
} bench;

/* Whether to measure once more, `done` times after `start`: slow programs get fewer rounds. */
bool bench_goes_on(const bench *b, int done, double start);

/* A new row, or NULL when the options leave its name out. */
bench_row *bench_add_row(bench *b, const char *name, const char *size, bench_kind kind,
                         double target);
/* Notes the library's newest failure in the row. */
void bench_fail_row(bench_row *row, halo_status status);

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

/* ---- The groups of benchmarks: each adds its rows ---- */

/* Modules over rows (rows.c). */
extern const char bench_softmax[], bench_layer_norm[], bench_layer_norm_gradient[],
    bench_cross_entropy[], bench_attention[], bench_attention_causal[];

void bench_arrays(bench *b);   /* single operations (arrays.c) */
void bench_digits(bench *b);   /* the training step, and a second process (digits.c) */
void bench_dispatch(bench *b); /* what a launch costs the host (digits.c) */

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
/* collectives.c: `halo bench collectives`. */
int bench_collectives(int argc, char **argv);

/* `halo bench programs`, another (programs.c): argv[0] is "programs". */
int bench_programs(int argc, char **argv);
/* `halo bench elementwise`, another (elementwise.c): argv[0] is "elementwise". */
int bench_elementwise(int argc, char **argv);

#endif
