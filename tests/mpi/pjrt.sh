#!/usr/bin/env bash
# tests/mpi/pjrt.sh PROGRAM: the plugin's test on two and on three processes.
set -euo pipefail
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers may forbid the other ways, noisily
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for count in 2 3; do
  mkdir "$folder/$count"
  timeout 120 mpiexec --oversubscribe -n "$count" "$1" "$folder/$count"
done
