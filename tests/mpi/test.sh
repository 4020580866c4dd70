#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/mpi/test.sh BUILD mpi|tcp: programs on several processes, started by mpiexec, or by hand and joined over TCP:
# recorded results of XLA, `halo run`, and what is said when a process is missing.
set -euo pipefail
build=$1 way=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export LD_LIBRARY_PATH=$build/lib/mpi${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers may forbid the other ways, noisily
failed=0

# together COUNT COMMAND...: with so many processes, however many cores there are.
together() {
  local count=$1 place started=() code=0 p
  shift
  if [ "$way" = mpi ]; then
    timeout 300 mpiexec --oversubscribe -n "$count" "$@" 2>&1
    return
  fi
  place=localhost:$((20000 + RANDOM % 12000)) # where the system takes no ports for connections
  for p in $(seq 0 $((count - 1))); do
    HALO_TCP_COORDINATOR=$place HALO_TCP_PROCESSES=$count HALO_TCP_PROCESS=$p \
      timeout 300 "$@" >"$folder/said.$p" 2>&1 &
    started+=($!)
  done
  for p in "${started[@]}"; do wait "$p" || code=$?; done
  for p in $(seq 0 $((count - 1))); do cat "$folder/said.$p"; done
  rm -f "$folder"/said.*
  return "$code"
}

# expect NAME TEXT...: what $out has in it.
expect() {
  local name=$1 text
  shift
  for text in "$@"; do
    grep -qF -- "$text" <<<"$out" && continue
    printf 'FAIL %s: "%s" is not in\n%s\n' "$name" "$text" "$out"
    failed=1
    return 0
  done
  printf 'ok   %s\n' "$name"
}

# recorded COUNT WORD...: the recorded programs with one of these words in their names (none: all), which so many processes
# have parts of. All of them pass, and there are some.
recorded() {
  local count=$1 word
  shift
  for word in "${@:-}"; do
    out=$(together "$count" "$build/tests/ops/test_ops" --family shared --mode fused ${word:+"$word"}) || true
    expect "recorded, $count processes${word:+, $word}" ' passed, 0 failed'
    if grep -qE 'FAIL|^0 passed' <<<"$out"; then
      printf 'FAIL recorded, %d processes, %s: %s\n' "$count" "$word" "$(tail -n 1 <<<"$out")"
      failed=1
    fi
  done
}
if [ "$way" = mpi ]; then
  recorded 1 worked eight
  recorded 2
  recorded 3 types worked_permute
  recorded 4 grid large loop stated worked_swap eight
  recorded 8 eight
else
  recorded 2 worked large
  recorded 3 types
  recorded 4 grid loop
fi

for count in 2 3; do
  out=$(together $count "$build/tests/calls") || true
  expect "OpenCL calls that fail, $count processes" 'process 0: ' "process $((count - 1)): "
  if grep -q '^failed: ' <<<"$out"; then failed=1; fi
done

out=$(together 3 "$build/tools/halo" info) || true
expect 'halo info' '3 processes with 3 devices' '     2  ' ' 2: ' 'ranks 0, 1, 2 share device ' 'Program cache'

out=$(together 3 "$build/tools/halo" run -q "$here/../cli/shared.hlo" -i 1,2,3,4 -o "$folder/out.npz") || true
expect 'halo run' 'Result of replica 0: f32[4]' '[ 6  9 12 15]'
out=$(ls "$folder")
expect 'a file for each' out.r0.npz out.r1.npz out.r2.npz
out=$(together 2 "$build/tools/halo" run -q "$here/../cli/shared.hlo" --replicas 4 -i zeros) || true
expect 'two devices each' 'Result of replica 1: f32[4]' '[6 6 6 6]'
out=$(together 3 "$build/tools/halo" run -q "$here/../cli/shared.hlo" --replicas 4 -i zeros) || true
expect 'four parts in three processes' 'Result of replica 0: f32[4]' '[6 6 6 6]'
# shellcheck disable=SC2016 # the rank is each process's own
out=$(HALO_COLLECTIVE_TIMEOUT=10 together 2 sh -c '
  [ "${HALO_TCP_PROCESS:-$OMPI_COMM_WORLD_RANK}" = 0 ] && set -- --replicas 2 || set -- --replicas 2 --no-optimization
  exec '"$build/tools/halo run -q $here/../cli/axpy.hlo"' "$@" -i a=1 -i x=ones -i y=ones') || true
expect 'the same program, other options' 'Result of replica 0' '[2 2 2 2]'
cp "$here/../cli/axpy.hlo" "$folder/0.hlo"
# shellcheck disable=SC2016
out=$(together 2 sh -c 'exec '"$build/tools/halo"' run -q '"$folder"'/${HALO_TCP_PROCESS:-$OMPI_COMM_WORLD_RANK}.hlo') || true
expect 'a file that one process does not have' 'halo: rank 1: ' "$folder/1.hlo"
cp "$here/../cli/shared.hlo" "$folder/1.hlo"
# shellcheck disable=SC2016
out=$(HALO_COLLECTIVE_TIMEOUT=5 together 2 sh -c 'exec '"$build/tools/halo"' run -q '"$folder"'/${HALO_TCP_PROCESS:-$OMPI_COMM_WORLD_RANK}.hlo') || true
expect 'different programs' 'compile different programs'

out=$(together 4 "$build/tools/halo" bench --quick --filter 'collective.*.8B' --json "$folder/bench.json") || true
expect 'halo bench' 'collective.all-reduce.8B' 'collective.broadcast.8B' '6 rows, 0 wrong, 0 without a result'
[ "$(grep -c '"status": "ok"' "$folder/bench.json")" -eq 6 ] || { echo 'FAIL halo bench: its JSON has not six rows'; failed=1; }

out=$(together 2 "$build/examples/digits/digits" dense "$here/../../examples/digits") || true
expect 'digits on two devices' 'in 2 processes' 'step  300' "losses against XLA's CPU backend"
exit "$failed"
