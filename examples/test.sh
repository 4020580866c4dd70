#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh PROGRAM [ARGUMENT...] -- PATTERN...: the program must succeed and print each pattern.
set -uo pipefail
command=()
while [ "$1" != -- ]; do
  command+=("$1")
  shift
done
shift
output=$("${command[@]}") || {
  echo "$output"
  echo "test.sh: ${command[*]} failed"
  exit 1
}
echo "$output"
for pattern in "$@"; do
  grep -qE -- "$pattern" <<<"$output" || {
    echo "test.sh: nothing printed matches $pattern"
    exit 1
  }
done
