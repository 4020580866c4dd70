#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/docs/switches.sh: docs/switches.md and lib/base/config.h name the same variables.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
diff <(sed -n '/^ \*   HALO_/p' lib/base/config.h | grep -oE 'HALO_[A-Z_]+' | sort -u) \
  <(grep -E '^\| `HALO_' docs/switches.md | grep -oE '^\| `HALO_[A-Z_]+' | grep -oE 'HALO_.*' |
    sort -u)
