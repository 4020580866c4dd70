/* SPDX-License-Identifier: Apache-2.0 */
/* arrays.c: single operations and one fused chain on large arrays, against the machine. */
#include "bench/bench.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct arrays_case {
  const char *name, *size;
  bench_kind kind;
  double work; /* bytes that must move, or floating-point operations */
  double target;
  const char *kernels; /* which implementation to force, or NULL */
  const char *text;    /* the module; of a dot: NULL, made from m, k, n */
  int m, k, n;
} arrays_case;

static const char arrays_chain[] =
    "HloModule chain\n"
    "ENTRY main {\n"
    "  x = f32[16777216] parameter(0)\n"
    "  c = f32[] constant(1.25)\n"
    "  d = f32[] constant(0.5)\n"
    "  cs = f32[16777216] broadcast(c), dimensions={}\n"
    "  ds = f32[16777216] broadcast(d), dimensions={}\n"
    "  a0 = f32[16777216] multiply(x, cs)\n"
    "  a1 = f32[16777216] add(a0, ds)\n"
    "  a2 = f32[16777216] maximum(a1, x)\n"
    "  a3 = f32[16777216] multiply(a2, a1)\n"
    "  a4 = f32[16777216] subtract(a3, x)\n"
    "  a5 = f32[16777216] abs(a4)\n"
    "  a6 = f32[16777216] minimum(a5, cs)\n"
    "  a7 = f32[16777216] multiply(a6, x)\n"
    "  a8 = f32[16777216] negate(a7)\n"
    "  ROOT a9 = f32[16777216] add(a8, a2)\n"
    "}\n";

#define ARRAYS_REDUCE(dimension)                                                                   \
  "HloModule reduce\n"                                                                             \
  "sum {\n"                                                                                        \
  "  a = f32[] parameter(0)\n"                                                                     \
  "  b = f32[] parameter(1)\n"                                                                     \
  "  ROOT c = f32[] add(a, b)\n"                                                                   \
  "}\n"                                                                                            \
  "ENTRY main {\n"                                                                                 \
  "  x = f32[4096,4096] parameter(0)\n"                                                            \
  "  zero = f32[] constant(0)\n"                                                                   \
  "  ROOT y = f32[4096] reduce(x, zero), dimensions={" dimension                                   \
  "}, to_apply=sum\n"                                                                              \
  "}\n"

static const char arrays_transpose[] =
    "HloModule transpose, "
    "entry_computation_layout={(f32[4096,4096]{1,0})->f32[4096,4096]{1,0}}\n"
    "ENTRY main {\n"
    "  x = f32[4096,4096]{1,0} parameter(0)\n"
    "  ROOT y = f32[4096,4096]{1,0} transpose(x), dimensions={1,0}\n"
    "}\n";

/* What the gradient of an embedding is. Read: updates, indices, and what they go to; written: that. */
static const char arrays_scatter[] =
    "HloModule scatter\n"
    "sum {\n"
    "  a = f32[] parameter(0)\n"
    "  b = f32[] parameter(1)\n"
    "  ROOT c = f32[] add(a, b)\n"
    "}\n"
    "ENTRY main {\n"
    "  i = s32[65536] iota(), iota_dimension=0\n"
    "  f = s32[] constant(7919)\n"
    "  fs = s32[65536] broadcast(f), dimensions={}\n"
    "  p = s32[65536] multiply(i, fs)\n"
    "  m = s32[] constant(8191)\n"
    "  ms = s32[65536] broadcast(m), dimensions={}\n"
    "  at = s32[65536] and(p, ms)\n"
    "  zero = f32[] constant(0)\n"
    "  x = f32[8192,128] broadcast(zero), dimensions={}\n"
    "  u = f32[65536,128] parameter(0)\n"
    "  ROOT y = f32[8192,128] scatter(x, at, u), update_window_dims={1}, "
    "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
    "to_apply=sum\n"
    "}\n";

/* Places of the rows of a table, a power of two and `mask` more than 0, as hashed keys fall. */
#define ARRAYS_PLACES(count, mask)                                                                 \
  "  i = s32[" count                                                                               \
  "] iota(), iota_dimension=0\n"                                                                   \
  "  f = s32[] constant(747796405)\n"                                                              \
  "  fs = s32[" count                                                                              \
  "] broadcast(f), dimensions={}\n"                                                                \
  "  p = s32[" count                                                                               \
  "] multiply(i, fs)\n"                                                                            \
  "  g = s32[] constant(8)\n"                                                                      \
  "  gs = s32[" count                                                                              \
  "] broadcast(g), dimensions={}\n"                                                                \
  "  h = s32[" count                                                                               \
  "] shift-right-logical(p, gs)\n"                                                                 \
  "  m = s32[] constant(" mask                                                                     \
  ")\n"                                                                                            \
  "  ms = s32[" count                                                                              \
  "] broadcast(m), dimensions={}\n"                                                                \
  "  at = s32[" count "] and(h, ms)\n"

static const char arrays_scatter_add[] =
    "HloModule scatter_add\n"
    "sum {\n"
    "  a = f32[] parameter(0)\n"
    "  b = f32[] parameter(1)\n"
    "  ROOT c = f32[] add(a, b)\n"
    "}\n"
    "ENTRY main {\n" ARRAYS_PLACES("1048576", "65535")
    "  x = f32[65536] parameter(0)\n"
    "  u = f32[1048576] parameter(1)\n"
    "  ROOT y = f32[65536] scatter(x, at, u), update_window_dims={}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum\n"
    "}\n";

static const char arrays_gather[] =
    "HloModule gather\n"
    "ENTRY main {\n" ARRAYS_PLACES("1048576", "65535")
    "  x = f32[65536,64] parameter(0)\n"
    "  ROOT y = f32[1048576,64] gather(x, at), offset_dims={1}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}\n"
    "}\n";

#define ARRAYS_PRODUCT(name, left, right, result, attributes)                                      \
  "HloModule " name                                                                                \
  "\n"                                                                                             \
  "ENTRY main {\n"                                                                                 \
  "  a = " left                                                                                    \
  " parameter(0)\n"                                                                                \
  "  b = " right                                                                                   \
  " parameter(1)\n"                                                                                \
  "  ROOT c = " result " dot(a, b), " attributes                                                   \
  "\n"                                                                                             \
  "}\n"
#define ARRAYS_PLAIN "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
/* Numbers with a diagonal that makes them a positive definite matrix, of which the lower triangle is read. */
#define ARRAYS_DEFINITE                                                                            \
  "  x = f32[1024,1024] parameter(0)\n"                                                            \
  "  i = s32[1024,1024] iota(), iota_dimension=0\n"                                                \
  "  j = s32[1024,1024] iota(), iota_dimension=1\n"                                                \
  "  e = pred[1024,1024] compare(i, j), direction=EQ\n"                                            \
  "  d = f32[] constant(2048)\n"                                                                   \
  "  ds = f32[1024,1024] broadcast(d), dimensions={}\n"                                            \
  "  a = f32[1024,1024] select(e, ds, x)\n"

static const char arrays_cholesky[] =
    "HloModule cholesky\n"
    "ENTRY main {\n" ARRAYS_DEFINITE
    "  ROOT l = f32[1024,1024] cholesky(a), lower=true\n"
    "}\n";

static const char arrays_solve[] =
    "HloModule solve\n"
    "ENTRY main {\n" ARRAYS_DEFINITE
    "  b = f32[1024,1024] parameter(1)\n"
    "  ROOT y = f32[1024,1024] triangular-solve(a, b), left_side=true, lower=true, "
    "transpose_a=NO_TRANSPOSE\n"
    "}\n";

/* A convolution of images and what its gradients are: by the images a kernel that is reversed, by the kernel
 * batch and features exchanged. */
#define ARRAYS_CONV(kernel, result, attributes)                                                    \
  "HloModule convolution\n"                                                                        \
  "ENTRY main {\n"                                                                                 \
  "  x = f32[32,56,56,64] parameter(0)\n"                                                          \
  "  k = f32[" kernel                                                                              \
  "] parameter(1)\n"                                                                               \
  "  ROOT y = f32[" result "] convolution(x, k), " attributes                                      \
  "\n"                                                                                             \
  "}\n"
#define ARRAYS_PIXELS (32.0 * 56 * 56)
#define ARRAYS_ATTENTION_FLOPS (4.0 * 16 * 1024 * 1024 * 64)
#define ARRAYS_CONV_FLOPS (2 * ARRAYS_PIXELS * 9 * 64 * 64)

static const char arrays_fft[] =
    "HloModule fft\n"
    "ENTRY main {\n"
    "  x = c64[1024,1024] parameter(0)\n"
    "  ROOT y = c64[1024,1024] fft(x), fft_type=FFT, fft_length={1024}\n"
    "}\n";

static const char arrays_bits[] =
    "HloModule threefry\n"
    "ENTRY main {\n"
    "  s = u64[2] parameter(0)\n"
    "  p = (u64[2], u32[4096,4096]) rng-bit-generator(s), algorithm=rng_three_fry\n"
    "  ROOT y = u32[4096,4096] get-tuple-element(p), index=1\n"
    "}\n";

/* As JAX writes them: zeros are alike, and so are NaNs. */
#define ARRAYS_SORTED_KEY(side, n)                                                                 \
  "  " side " = f32[] parameter(" n                                                                \
  ")\n"                                                                                            \
  "  " side "n = pred[] compare(" side ", " side                                                   \
  "), direction=NE\n"                                                                              \
  "  " side "z = pred[] compare(" side                                                             \
  ", zero), direction=EQ\n"                                                                        \
  "  " side "s = f32[] select(" side "z, zero, " side                                              \
  ")\n"                                                                                            \
  "  " side "k = f32[] select(" side "n, odd, " side "s)\n"
#define ARRAYS_COMPARATOR(more)                                                                    \
  "before {\n"                                                                                     \
  "  zero = f32[] constant(0)\n"                                                                   \
  "  odd = f32[] constant(nan)\n" ARRAYS_SORTED_KEY("a", "0") ARRAYS_SORTED_KEY("b", "1") more     \
      "  ROOT c = pred[] compare(ak, bk), direction=LT, type=TOTALORDER\n"                         \
      "}\n"

static const char arrays_sort[] =
    "HloModule sort\n" ARRAYS_COMPARATOR("")
    "ENTRY main {\n"
    "  x = f32[4194304] parameter(0)\n"
    "  ROOT y = f32[4194304] sort(x), dimensions={0}, is_stable=true, to_apply=before\n"
    "}\n";

static const char arrays_argsort[] =
    "HloModule argsort\n" ARRAYS_COMPARATOR("  i = s32[] parameter(2)\n  j = s32[] parameter(3)\n")
    "ENTRY main {\n"
    "  x = f32[1048576,64] parameter(0)\n"
    "  i = s32[1048576,64] iota(), iota_dimension=1\n"
    "  ROOT y = (f32[1048576,64], s32[1048576,64]) sort(x, i), dimensions={1}, is_stable=true, "
    "to_apply=before\n"
    "}\n";

static const char arrays_topk[] =
    "HloModule topk\n"
    "ENTRY main {\n"
    "  x = f32[1048576] parameter(0)\n"
    "  ROOT y = (f32[64], s32[64]) topk(x), k=64, largest=true\n"
    "}\n";

#define ARRAYS_WINDOW(name, in, out, op, start, window)                                            \
  "HloModule " name                                                                                \
  "\n"                                                                                             \
  "combine {\n"                                                                                    \
  "  a = f32[] parameter(0)\n"                                                                     \
  "  b = f32[] parameter(1)\n"                                                                     \
  "  ROOT c = f32[] " op                                                                           \
  "(a, b)\n"                                                                                       \
  "}\n"                                                                                            \
  "ENTRY main {\n"                                                                                 \
  "  x = f32[" in                                                                                  \
  "] parameter(0)\n"                                                                               \
  "  start = f32[] constant(" start                                                                \
  ")\n"                                                                                            \
  "  ROOT y = f32[" out "] reduce-window(x, start), window={" window                               \
  "}, to_apply=combine\n"                                                                          \
  "}\n"

static const char arrays_cumsum[] =
    ARRAYS_WINDOW("cumsum", "16777216", "16777216", "add", "0", "size=16777216 pad=16777215_0");
static const char arrays_pool2[] = ARRAYS_WINDOW("pool2", "32,112,112,64", "32,56,56,64", "maximum",
                                                 "-inf", "size=1x2x2x1 stride=1x2x2x1");
static const char arrays_pool3[] =
    ARRAYS_WINDOW("pool3", "32,112,112,64", "32,56,56,64", "maximum", "-inf",
                  "size=1x3x3x1 stride=1x2x2x1 pad=0_0x0_1x0_1x0_0");

static const char arrays_filter[] = ARRAYS_WINDOW("filter", "1000,1000", "1000,1000", "maximum",
                                                  "-inf", "size=31x31 pad=15_15x15_15");

#define ARRAYS_SQUARES(type, result)                                                               \
  ARRAYS_PRODUCT("squares", type "[1024,1024]", type "[1024,1024]", result "[1024,1024]",          \
                 ARRAYS_PLAIN)
#define ARRAYS_DOT(m, k, n, target, kernels)                                                       \
  { NULL, NULL, BENCH_FLOPS, 2.0 * (m) * (k) * (n), target, kernels, NULL, m, k, n }

static const arrays_case arrays_cases[] = {
    {"chain of 10", "16M f32", BENCH_BANDWIDTH, 2.0 * 4 * 16777216, 1, NULL, arrays_chain, 0, 0, 0},
    {"chain, streaming", "16M f32", BENCH_STREAMING, 2.0 * 4 * 16777216, 0, NULL, arrays_chain, 0,
     0, 0},
    {"reduce rows", "4096x4096 f32", BENCH_BANDWIDTH, 4.0 * 4096 * 4097, 0.85, NULL,
     ARRAYS_REDUCE("1"), 0, 0, 0},
    {"reduce columns", "4096x4096 f32", BENCH_BANDWIDTH, 4.0 * 4096 * 4097, 0.85, NULL,
     ARRAYS_REDUCE("0"), 0, 0, 0},
    {"transpose", "4096x4096 f32", BENCH_BANDWIDTH, 2.0 * 4 * 4096 * 4096, 0.6, NULL,
     arrays_transpose, 0, 0, 0},
    {"scatter rows", "65536x128 f32", BENCH_BANDWIDTH, 4.0 * 128 * 3 * 65536, 0, NULL,
     arrays_scatter, 0, 0, 0},
    {"scatter-add", "1M to 64K f32", BENCH_BANDWIDTH, 4.0 * (1048576 + 2 * 65536), 0, NULL,
     arrays_scatter_add, 0, 0, 0},
    {"gather rows", "1M of 64 f32", BENCH_BANDWIDTH, 2.0 * 4 * 67108864, 0, NULL, arrays_gather, 0,
     0, 0},
    {"cholesky", "1024x1024 f32", BENCH_FLOPS, 1024.0 * 1024 * 1024 / 3, 0.25, NULL,
     arrays_cholesky, 0, 0, 0},
    {"triangular solve", "1024x1024 f32", BENCH_FLOPS, 1024.0 * 1024 * 1024, 0.25, NULL,
     arrays_solve, 0, 0, 0},
    {"conv 3x3", "32x56x56x64 to 64 f32", BENCH_FLOPS, ARRAYS_CONV_FLOPS, 0.6, NULL,
     ARRAYS_CONV("3,3,64,64", "32,56,56,64",
                 "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"),
     0, 0, 0},
    {"conv 3x3 by image", "32x56x56x64 to 64 f32", BENCH_FLOPS, ARRAYS_CONV_FLOPS, 0.6, NULL,
     ARRAYS_CONV("3,3,64,64", "32,56,56,64",
                 "window={size=3x3 pad=1_1x1_1 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f"),
     0, 0, 0},
    {"conv 3x3 by kernel", "32x56x56x64 to 64 f32", BENCH_FLOPS, ARRAYS_CONV_FLOPS, 0.6, NULL,
     ARRAYS_CONV("32,56,56,64", "3,3,64,64",
                 "window={size=56x56 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf"),
     0, 0, 0},
    {"conv 3x3 depthwise", "32x56x56x64 f32", BENCH_BANDWIDTH, 2.0 * 4 * ARRAYS_PIXELS * 64, 0.6,
     NULL,
     ARRAYS_CONV("3,3,1,64", "32,56,56,64",
                 "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, "
                 "feature_group_count=64"),
     0, 0, 0},
    {"fft", "1024x1024 c64", BENCH_BANDWIDTH, 2.0 * 8 * 1024 * 1024, 0, NULL, arrays_fft, 0, 0, 0},
    {"threefry bits", "16M u32", BENCH_BANDWIDTH, 4.0 * 16777216, 0, NULL, arrays_bits, 0, 0, 0},
    {"sort", "4M f32", BENCH_BANDWIDTH, 2.0 * 4 * 4194304, 0, NULL, arrays_sort, 0, 0, 0},
    {"argsort rows", "1Mx64 f32", BENCH_BANDWIDTH, 3.0 * 4 * 67108864, 0, NULL, arrays_argsort, 0,
     0, 0},
    {"cumsum", "16M f32", BENCH_BANDWIDTH, 2.0 * 4 * 16777216, 0.5, NULL, arrays_cumsum, 0, 0, 0},
    {"max-pool 2x2", "32x112x112x64 f32", BENCH_BANDWIDTH, 5.0 * 4 * 6422528, 0.6, NULL,
     arrays_pool2, 0, 0, 0},
    {"max-pool 3x3", "32x112x112x64 f32", BENCH_BANDWIDTH, 5.0 * 4 * 6422528, 0.6, NULL,
     arrays_pool3, 0, 0, 0},
    {"max filter 31x31", "1000x1000 f32", BENCH_BANDWIDTH, 2.0 * 4 * 1000000, 0, NULL,
     arrays_filter, 0, 0, 0},
    {"topk 64", "1M f32", BENCH_BANDWIDTH, 4.0 * 1048576, 0, NULL, arrays_topk, 0, 0, 0},
    {"softmax", "16384x1024 f32", BENCH_BANDWIDTH, 2.0 * 4 * 16777216, 0, NULL, bench_softmax, 0, 0,
     0},
    {"layer norm", "16384x1024 f32", BENCH_BANDWIDTH, 2.0 * 4 * 16777216, 0.85, NULL,
     bench_layer_norm, 0, 0, 0},
    {"layer norm gradient", "16384x1024 f32", BENCH_BANDWIDTH, 3.0 * 4 * 16777216, 0.85, NULL,
     bench_layer_norm_gradient, 0, 0, 0},
    {"cross-entropy gradient", "16384x1024 f32", BENCH_BANDWIDTH, 2.0 * 4 * 16777216, 0, NULL,
     bench_cross_entropy, 0, 0, 0},
    {"attention", "16x1024x1024x64 f32", BENCH_FLOPS, ARRAYS_ATTENTION_FLOPS, 0, NULL,
     bench_attention, 0, 0, 0},
    {"causal attention", "16x1024x1024x64 f32", BENCH_FLOPS, ARRAYS_ATTENTION_FLOPS / 2, 0, NULL,
     bench_attention_causal, 0, 0, 0},
    {"matrix by vector", "4096x4096 f32", BENCH_BANDWIDTH, 4.0 * 4096 * 4096, 0.85, NULL,
     ARRAYS_PRODUCT("matvec", "f32[4096,4096]", "f32[4096]", "f32[4096]", ARRAYS_PLAIN), 0, 0, 0},
    {"vector by matrix", "4096x4096 f32", BENCH_BANDWIDTH, 4.0 * 4096 * 4096, 0.85, NULL,
     ARRAYS_PRODUCT("vecmat", "f32[1,4096]", "f32[4096,4096]", "f32[1,4096]", ARRAYS_PLAIN), 0, 0,
     0},
    {"8 vectors by matrix", "4096x4096 f32", BENCH_BANDWIDTH, 4.0 * 4096 * 4096, 0, NULL,
     ARRAYS_PRODUCT("thin", "f32[8,4096]", "f32[4096,4096]", "f32[8,4096]", ARRAYS_PLAIN), 0, 0, 0},
    {"batched dot", "64 of 256x256x256 f32", BENCH_FLOPS, 64.0 * 2 * 256 * 256 * 256, 0.7, NULL,
     ARRAYS_PRODUCT("batched", "f32[64,256,256]", "f32[64,256,256]", "f32[64,256,256]",
                    "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
                    "rhs_contracting_dims={1}"),
     0, 0, 0},
    ARRAYS_DOT(1024, 1024, 1024, 0.8, NULL),
    ARRAYS_DOT(512, 512, 512, 0, NULL),
    ARRAYS_DOT(1536, 1536, 1536, 0, NULL),
    ARRAYS_DOT(1021, 1023, 1025, 0, NULL),
    ARRAYS_DOT(256, 512, 512, 0, NULL),
    ARRAYS_DOT(1024, 1024, 1024, 0, "dot:clblast"),
    {"dot", "1024x1024x1024 bf16", BENCH_FLOPS, 2.0 * 1024 * 1024 * 1024, 0, NULL,
     ARRAYS_SQUARES("bf16", "bf16"), 0, 0, 0},
    {"dot", "1024x1024x1024 f16", BENCH_FLOPS, 2.0 * 1024 * 1024 * 1024, 0, NULL,
     ARRAYS_SQUARES("f16", "f16"), 0, 0, 0},
    {"dot", "1024x1024x1024 s8 to s32", BENCH_FLOPS, 2.0 * 1024 * 1024 * 1024, 0, NULL,
     ARRAYS_SQUARES("s8", "s32"), 0, 0, 0},
};

/* Writes the case's module to a file of its own in the scratch folder: the Python process knows
 * modules by their paths. */
static void arrays_write(const bench *b, const arrays_case *c, char *path, size_t size) {
  snprintf(path, size, "%s/case%d.hlo", b->folder, (int)(c - arrays_cases));
  FILE *file = fopen(path, "w");
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  if (c->text != NULL) {
    fputs(c->text, file);
  } else {
    fprintf(file,
            "HloModule dot_%dx%dx%d\n"
            "ENTRY main {\n"
            "  a = f32[%d,%d] parameter(0)\n"
            "  b = f32[%d,%d] parameter(1)\n"
            "  ROOT c = f32[%d,%d] dot(a, b), lhs_contracting_dims={1}, "
            "rhs_contracting_dims={0}\n"
            "}\n",
            c->m, c->k, c->n, c->m, c->k, c->k, c->n, c->m, c->n);
  }
  fclose(file);
}

static void arrays_measure(bench *b, const arrays_case *c, const char *path, bench_row *row) {
  const bench_yardstick *yardstick = c->kind == BENCH_FLOPS ? &b->machine.fma : &b->machine.triad;
  bool streams = c->kind == BENCH_STREAMING && b->machine.streaming.kernel != NULL;
  if (streams) yardstick = &b->machine.streaming;
  bench_program program;
  halo_status status = bench_program_open(b->client, path, c->kernels, &program);
  int rounds = 0, most = b->options.rounds;
  double *ours = calloc((size_t)most * 3, sizeof *ours);
  double *bare = ours + most, *xla = bare + most, start = tool_now();
  bool has_xla = b->jax != NULL && c->kernels == NULL;
  if (status == HALO_OK) status = bench_program_run(&program, 1, 0, ours); /* warm */
  while (status == HALO_OK && bench_goes_on(b, rounds, start)) {
    status = bench_program_run(&program, 1, 0, &ours[rounds]);
    bare[rounds] = bench_yardstick_run(yardstick);
    if (has_xla) has_xla = (xla[rounds] = bench_jax_run(b->jax, path, 1, 0)) >= 0;
    rounds++;
  }
  if (status == HALO_OK) {
    row->seconds = bench_median(ours, rounds);
    row->work = c->work;
    row->limit = yardstick->work / bench_median(bare, rounds);
    if (has_xla) row->xla = bench_median(xla, rounds);
  } else {
    bench_fail_row(row, status);
  }
  bench_program_close(&program);
  free(ours);
}

void bench_arrays(bench *b) {
  for (size_t i = 0; i < sizeof arrays_cases / sizeof *arrays_cases; i++) {
    const arrays_case *c = &arrays_cases[i];
    char path[128], size[64], name[64];
    if (c->text == NULL) {
      snprintf(size, sizeof size, "%dx%dx%d f32", c->m, c->k, c->n);
      snprintf(name, sizeof name, "%s", c->kernels != NULL ? "dot by CLBlast" : "dot");
    } else {
      snprintf(size, sizeof size, "%s", c->size);
      snprintf(name, sizeof name, "%s", c->name);
    }
    bench_row *row = bench_add_row(b, name, size, c->kind, c->target);
    if (row == NULL) continue;
    arrays_write(b, c, path, sizeof path);
    arrays_measure(b, c, path, row);
  }
}
