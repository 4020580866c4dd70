#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/mpi/pjrt.sh PROGRAM mpiexec|hand: the plugin's test on two and on three processes, which mpiexec starts, or nobody
# in particular: then they are connected over TCP.
set -euo pipefail
program=$1 way=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers may forbid the other ways, noisily
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for count in 2 3; do
  mkdir "$folder/$count"
  if [ "$way" = mpiexec ]; then
    timeout 120 mpiexec --oversubscribe -n "$count" "$program" "$folder/$count"
    continue
  fi
  started=()
  for process in $(seq 0 $((count - 1))); do
    timeout 120 "$program" "$folder/$count" "$process" "$count" &
    started+=($!)
  done
  for pid in "${started[@]}"; do wait "$pid"; done
done
