#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/docs/unrecorded.sh PROGRAM: the opcodes of unrecorded.hlo run. Doubled: the high half of the
# product with its constant, plus the input.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
result=$("$1" run "$here/unrecorded.hlo" --input '4,6,65536,-7' --quiet)
echo "$result"
[ "$(tr -s ' \n' ' ' <<<"$result")" = 'Result s32[4] [ 10 6 131074 -16] ' ]
