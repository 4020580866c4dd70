#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/docs/tutorial.sh ROOTS TRAIN: the commands in the console blocks of docs/tutorial.md, run with these
# programs, print the lines that follow them.
set -euo pipefail
roots=$(realpath "$1")
train=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

shown=$(awk -v fence=$'\x60\x60\x60' '
  inside && $0 == fence { inside = 0 }
  inside { print }
  $0 == fence "console" { inside = 1 }' docs/tutorial.md)
[ -n "$shown" ]

actual=$(
  while IFS= read -r line; do
    [[ $line == '$ '* ]] || continue
    printf '%s\n' "$line"
    command=${line#\$ }
    command=${command//build\/examples\/tutorial\/roots/$roots}
    bash -c "${command//build\/examples\/tutorial\/train/$train}" 2>&1
  done <<<"$shown"
)
diff -u <(printf '%s\n' "$shown") <(printf '%s\n' "$actual")
