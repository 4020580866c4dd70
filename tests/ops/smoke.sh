#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/ops/smoke.sh TEST_OPS: a few recorded results of each kind of operation, for the suite `smoke`: whether kernels of all kinds
# compile and compute on this machine. The families of the suite `ops` test them thoroughly.
set -uo pipefail
test_ops=$1 failures=0

# A family, and cases of it (see test_ops.c).
while read -r family words; do
  # shellcheck disable=SC2086
  out=$("$test_ops" --family "$family" --mode fused $words 2>&1) || failures=$((failures + 1))
  printf '%s: %s\n' "$family" "$(tail -n 1 <<<"$out")"
  case $out in *' 0 passed'* | '0 passed'*) failures=$((failures + 1)) ;; esac
done <<'CASES'
worked
attention =attention.causal.special
collective =collectives
control =while.counted
conv =conv.windows
convert =convert.s32
dot =dot.shapes
dynamic =softmax
fft =fft.axes
indexing =dynamic-slice.scalar
lapack =lapack.small.getrf.16x16.f32
linalg =cholesky.shapes
norm =batch_norm0
random =three_fry
reduce =reduce.shapes
rows =rows.softmax.5x300
scan =scan
scatter =scatter
sort =sort.shapes
topk =topk.shapes
unary =tanh
window =window
CASES
[ $failures -eq 0 ]
