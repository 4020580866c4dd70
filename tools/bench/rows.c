/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c: programs over rows, for the table of arrays.c: 16384 rows of 1024. */
#include "bench/bench.h"

#define ROWS_REDUCERS                                                                              \
  "add {\n"                                                                                        \
  "  a = f32[] parameter(0)\n"                                                                     \
  "  b = f32[] parameter(1)\n"                                                                     \
  "  ROOT c = f32[] add(a, b)\n"                                                                   \
  "}\n"                                                                                            \
  "max {\n"                                                                                        \
  "  a = f32[] parameter(0)\n"                                                                     \
  "  b = f32[] parameter(1)\n"                                                                     \
  "  ROOT c = f32[] maximum(a, b)\n"                                                               \
  "}\n"
#define ROWS_TEXT(name, body)                                                                      \
  "HloModule " name "\n" ROWS_REDUCERS                                                             \
  "ENTRY main {\n"                                                                                 \
  "  x = f32[16384,1024] parameter(0)\n"                                                           \
  "  zero = f32[] constant(0)\n" body "}\n"
#define ROWS_SPREAD(to, from) "  " to " = f32[16384,1024] broadcast(" from "), dimensions={0}\n"
#define ROWS_SUM(to, from)                                                                         \
  "  " to " = f32[16384] reduce(" from ", zero), dimensions={1}, to_apply=add\n"
#define ROWS_SOFTMAX                                                                               \
  "  low = f32[] constant(-inf)\n"                                                                 \
  "  top = f32[16384] reduce(x, low), dimensions={1}, to_apply=max\n" ROWS_SPREAD("tops", "top")   \
      "  shifted = f32[16384,1024] subtract(x, tops)\n"                                            \
      "  e = f32[16384,1024] exponential(shifted)\n" ROWS_SUM("total", "e")                        \
          ROWS_SPREAD("totals", "total") "  p = f32[16384,1024] divide(e, totals)\n"
/* The normal elements n of rows, the reciprocal deviations r. */
#define ROWS_NORM                                                                                  \
  "  part = f32[] constant(0.0009765625)\n"                                                        \
  "  parts = f32[16384] broadcast(part), dimensions={}\n"                                          \
  "  small = f32[] constant(1e-05)\n"                                                              \
  "  smalls = f32[16384] broadcast(small), dimensions={}\n" ROWS_SUM("sum", "x")                   \
      "  mean = f32[16384] multiply(sum, parts)\n" ROWS_SPREAD("means", "mean")                    \
          "  centred = f32[16384,1024] subtract(x, means)\n"                                       \
          "  squares = f32[16384,1024] multiply(centred, centred)\n" ROWS_SUM("sum2", "squares")   \
              "  variance = f32[16384] multiply(sum2, parts)\n"                                    \
              "  least = f32[16384] add(variance, smalls)\n"                                       \
              "  r = f32[16384] rsqrt(least)\n" ROWS_SPREAD("rs", "r")                             \
                  "  n = f32[16384,1024] multiply(centred, rs)\n"

const char bench_softmax[] =
    ROWS_TEXT("softmax", ROWS_SOFTMAX "  ROOT y = f32[16384,1024] copy(p)\n");

const char bench_layer_norm[] = ROWS_TEXT("layer_norm", ROWS_NORM
                                          "  g = f32[1024] parameter(1)\n"
                                          "  b = f32[1024] parameter(2)\n"
                                          "  gs = f32[16384,1024] broadcast(g), dimensions={1}\n"
                                          "  bs = f32[16384,1024] broadcast(b), dimensions={1}\n"
                                          "  ng = f32[16384,1024] multiply(n, gs)\n"
                                          "  ROOT y = f32[16384,1024] add(ng, bs)\n");

/* By the input: what the gradient by the normal elements, less its mean and its part along them, gives. */
const char bench_layer_norm_gradient[] = ROWS_TEXT(
    "layer_norm_gradient",
    ROWS_NORM "  d = f32[16384,1024] parameter(1)\n"
              "  g = f32[1024] parameter(2)\n"
              "  gs = f32[16384,1024] broadcast(g), dimensions={1}\n"
              "  dg = f32[16384,1024] multiply(d, gs)\n" ROWS_SUM("sum3", "dg")
                  "  dn = f32[16384,1024] multiply(dg, n)\n" ROWS_SUM("sum4", "dn")
                      "  m3 = f32[16384] multiply(sum3, parts)\n"
                      "  m4 = f32[16384] multiply(sum4, parts)\n" ROWS_SPREAD("m3s", "m3")
                          ROWS_SPREAD("m4s",
                                      "m4") "  along = f32[16384,1024] multiply(n, m4s)\n"
                                            "  less = f32[16384,1024] subtract(dg, m3s)\n"
                                            "  left = f32[16384,1024] subtract(less, along)\n"
                                            "  ROOT y = f32[16384,1024] multiply(left, rs)\n");

/* Losses by labels, and their gradients. */
const char bench_cross_entropy[] = ROWS_TEXT(
    "cross_entropy", ROWS_SOFTMAX
    "  labels = s32[16384] parameter(1)\n"
    "  at = s32[16384,1024] broadcast(labels), dimensions={0}\n"
    "  column = s32[16384,1024] iota(), iota_dimension=1\n"
    "  hit = pred[16384,1024] compare(at, column), direction=EQ\n"
    "  hot = f32[16384,1024] convert(hit)\n"
    "  picked = f32[16384,1024] multiply(hot, shifted)\n" ROWS_SUM("own", "picked")
        "  all = f32[16384] log(total)\n"
        "  loss = f32[16384] subtract(all, own)\n"
        "  dx = f32[16384,1024] subtract(p, hot)\n"
        "  ROOT y = (f32[16384], f32[16384,1024]) tuple(loss, dx)\n");

/* 16 heads, 1024 queries and keys of 64 elements: as JAX's dot_product_attention, with what is done to the scores. */
#define ROWS_ATTENTION(name, body)                                                                 \
  "HloModule " name "\n" ROWS_REDUCERS                                                             \
  "ENTRY main {\n"                                                                                 \
  "  q = f32[1,1024,16,64] parameter(0)\n"                                                         \
  "  k = f32[1,1024,16,64] parameter(1)\n"                                                         \
  "  v = f32[1,1024,16,64] parameter(2)\n"                                                         \
  "  s = f32[1,16,1024,1024] dot(q, k), lhs_batch_dims={0,2}, lhs_contracting_dims={3}, "          \
  "rhs_batch_dims={0,2}, rhs_contracting_dims={3}\n"                                               \
  "  scale = f32[] constant(0.125)\n"                                                              \
  "  scales = f32[1,16,1024,1024] broadcast(scale), dimensions={}\n"                               \
  "  x = f32[1,16,1024,1024] multiply(s, scales)\n" body                                           \
  "  zero = f32[] constant(0)\n"                                                                   \
  "  low = f32[] constant(-inf)\n"                                                                 \
  "  top = f32[1,16,1024] reduce(l, low), dimensions={3}, to_apply=max\n"                          \
  "  tops = f32[1,16,1024,1024] broadcast(top), dimensions={0,1,2}\n"                              \
  "  less = f32[1,16,1024,1024] subtract(l, tops)\n"                                               \
  "  e = f32[1,16,1024,1024] exponential(less)\n"                                                  \
  "  sum = f32[1,16,1024] reduce(e, zero), dimensions={3}, to_apply=add\n"                         \
  "  sums = f32[1,16,1024,1024] broadcast(sum), dimensions={0,1,2}\n"                              \
  "  p = f32[1,16,1024,1024] divide(e, sums)\n"                                                    \
  "  o = f32[1,16,64,1024] dot(v, p), lhs_batch_dims={0,2}, lhs_contracting_dims={1}, "            \
  "rhs_batch_dims={0,1}, rhs_contracting_dims={3}\n"                                               \
  "  ROOT y = f32[1,1024,16,64] transpose(o), dimensions={0,3,1,2}\n"                              \
  "}\n"

const char bench_attention[] = ROWS_ATTENTION("attention", "  l = f32[1,16,1024,1024] copy(x)\n");

/* No query sees the keys behind its own place. */
const char bench_attention_causal[] =
    ROWS_ATTENTION("attention_causal",
                   "  i = s32[1024,1024] iota(), iota_dimension=0\n"
                   "  j = s32[1024,1024] iota(), iota_dimension=1\n"
                   "  past = pred[1024,1024] compare(i, j), direction=GE\n"
                   "  seen = pred[1,16,1024,1024] broadcast(past), dimensions={2,3}\n"
                   "  fill = f32[] constant(-1e+09)\n"
                   "  fills = f32[1,16,1024,1024] broadcast(fill), dimensions={}\n"
                   "  l = f32[1,16,1024,1024] select(seen, x, fills)\n");
