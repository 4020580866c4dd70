# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# tests/cli/bench.sh: cases of `halo bench` that measure next to nothing. Sourced by test.sh.

check bench-programs 'unset HALO_JAX_PYTHON; mkdir p; { printf "//! program solvers small\n//! input 3\n//! input random:0:1\n"; cat loop.hlo; } >p/loop.small.hlo; halo bench programs --folder p --rounds 1 --json out.json | awk "NR < 3 { print \$1, NF }"; grep -oE "^  .*loop\": [a-z]+|\"failed\": [a-z]+" out.json'
check bench-programs-name 'unset HALO_JAX_PYTHON; mkdir p; cp loop.hlo "p/a\"b\\é.hlo"; halo bench programs --folder p --rounds 1 --json out.json >/dev/null; grep -o "\"name\": \"[^,]*" out.json'
check bench-programs-none 'mkdir p; cp loop.hlo p/loop.hlo; halo bench programs --folder p --only scan; halo bench programs --folder q'
check bench-programs-recipes 'unset HALO_JAX_PYTHON; mkdir p; { printf "//! program solvers small\n//! input 3\n"; cat loop.hlo; } >p/loop.small.hlo; halo bench programs --folder p --no-cold'
check bench-programs-sizes 'unset HALO_JAX_PYTHON; halo bench programs --no-cold --no-warm --only conjugate | cut -d" " -f1; halo bench programs --no-cold --no-warm | wc -l; grep -h "entry.*f32.[0-9]*,[0-9]*.)" "$(dirname "$HALO")"/bench/programs/conjugate_gradients.*.hlo'
check bench-programs-option 'halo bench programs --round 5; halo bench programs --rounds 0; halo bench programs loop'

check bench-choices 'printf "HloModule m\nENTRY e {\n  x = f32[24,32] parameter(0)\n  y = f32[32,40] parameter(1)\n  ROOT d = f32[24,40] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n" >dot.hlo; halo bench choices dot.hlo --device cpu --rounds 1 --limit 0.001 --json out.json | awk "NR < 3 { print \$1, \$2, \$3 } NR == 3 { print \$1, \$2 }"; grep -oE "\"name\": \"(dot:loop|dot|d)\"|\"runs\": 1, \"sec" out.json; [ "$(grep -cE "^  .\"name\": \"dot:.*seconds.*chosen_seconds" out.json)" -ge 1 ] && echo others measured'
check bench-choices-limit 'halo bench choices sized.hlo --device cpu --rounds 1 --limit 0 --json out.json >/dev/null; grep -c "price.*chosen_seconds" out.json'
check bench-choices-wrong 'mkdir p; halo bench choices --folder p --only scan; halo bench choices gone.hlo --device cpu; halo bench choices --rounds 0; halo bench choices --slo'

# The machine's limits on the default device, which may have work groups of one item only.
check bench-elementwise "unset HALO_JAX_PYTHON; halo bench elementwise --only negate --type f32 --size 1M --rounds 1 | awk '{ print \$1, \$2, \$3 }'"
