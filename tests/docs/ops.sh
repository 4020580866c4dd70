#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/docs/ops.sh [--update | PROGRAM]: docs/ops.md is what ops_table prints (or becomes it).
set -euo pipefail
program=${1:---update}
[ "$program" = --update ] || program=$(realpath "$program")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ "$program" = --update ]; then
  build/tests/docs/ops_table tests/ops/data/*.hlo >docs/ops.md
elif ! diff -u docs/ops.md <("$program" tests/ops/data/*.hlo); then
  echo 'docs/ops.md is out of date: tests/docs/ops.sh --update'
  exit 1
fi
