# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# tests/cli/bench.sh: cases of `halo bench` that measure next to nothing. Sourced by test.sh.

check bench-programs 'unset HALO_JAX_PYTHON; mkdir p; { printf "//! program solvers small\n//! input 3\n//! input random:0:1\n"; cat loop.hlo; } >p/loop.small.hlo; halo bench programs --folder p --rounds 1 --json out.json | awk "NR < 3 { print \$1, NF }"; grep -oE "^  .*loop\": [a-z]+|\"failed\": [a-z]+" out.json'
check bench-programs-name 'unset HALO_JAX_PYTHON; mkdir p; cp loop.hlo "p/a\"b\\é.hlo"; halo bench programs --folder p --rounds 1 --json out.json >/dev/null; grep -o "\"name\": \"[^,]*" out.json'
check bench-programs-none 'mkdir p; cp loop.hlo p/loop.hlo; halo bench programs --folder p --only scan; halo bench programs --folder q'
check bench-programs-recipes 'unset HALO_JAX_PYTHON; mkdir p; { printf "//! program solvers small\n//! input 3\n"; cat loop.hlo; } >p/loop.small.hlo; halo bench programs --folder p --no-cold'
check bench-programs-option 'halo bench programs --round 5; halo bench programs --rounds 0; halo bench programs loop'
