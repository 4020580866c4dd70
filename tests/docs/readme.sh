#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/docs/readme.sh PROGRAM: the command in the console block of README.md (run with PROGRAM in place of
# build/tools/halo) prints what stands below it.
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

shown=$(awk -v fence=$'\x60\x60\x60' '
  inside && $0 == fence { exit }
  inside { print }
  $0 == fence "console" { inside = 1 }' README.md)
command=$(head -1 <<<"$shown")
expected=$(tail -n +2 <<<"$shown")
actual=$(bash -c "'$program' ${command#*build/tools/halo}")
if [ "$actual" != "$expected" ]; then
  printf '%s\nprints\n%s\nand README.md says\n%s\n' "$command" "$actual" "$expected"
  exit 1
fi
