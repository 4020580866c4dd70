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

# A case of a few elements, so that its rate says nothing: names, checks and exit codes count.
tiny='printf "//! case tiny.add\n//! let N=64\n//! size \$N\n//! work bytes 12*N\n//! check block N=16\n//! input random:-1:1\n//! input random:-1:1\nHloModule m\nENTRY e {\n  x = f32[\$N] parameter(0)\n  y = f32[\$N] parameter(1)\n  ROOT r = f32[\$N] add(x, y)\n}\n//! case tiny.sum\n//! let N=64\n//! size \$N\n//! work items N\n//! input random:0:9\nHloModule m\nsum { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT c = s32[] add(a, b) }\nENTRY e {\n  x = s32[\$N] parameter(0)\n  z = s32[] constant(0)\n  ROOT r = s32[] reduce(x, z), dimensions={0}, to_apply=sum\n}\n//! identity\nHloModule i\nsum { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT c = s32[] add(a, b) }\nENTRY e {\n  x = s32[\$N] parameter(0)\n  got = s32[] parameter(1)\n  z = s32[] constant(0)\n  s = s32[] reduce(x, z), dimensions={0}, to_apply=sum\n  ROOT r = (s32[], s32[]) tuple(got, s)\n}\n" >tiny.hlo; bench() { halo bench --cases tiny.hlo --no-starts --min-time 0.01 --max-time 0.1 "$@"; };'
check bench-rows "$tiny bench --csv | cut -d, -f1,2,4,5,6,21-24"
check bench-wrong "$tiny bench --csv --break 'wrong:*' | cut -d, -f1,4,5,10,21-24; bench --quiet --break 'wrong:*.sum'"
check bench-missing "$tiny bench --csv --break 'missing:*.add' | cut -d, -f1,4,5,10,21-24 | tail -2 | head -1"
check bench-slow "$tiny bench --quiet --json a.json --filter tiny.add; bench --quiet --json b.json --filter tiny.add; sed 's/\"median\": /&9/; s/\"minimum\": /&9/' b.json >slow.json; halo bench compare a.json slow.json --threshold 20 | grep -o 'B: tiny.add takes'; sed 's/\"wrong\": 0/&/; s/\"status\": \"ok\"/\"status\": \"wrong\"/; s/\"median\": [0-9.e-]*/\"median\": 0/' b.json >wrong.json; halo bench compare a.json wrong.json --threshold 1000 | tail -1; halo bench compare a.json,b.json b.json | grep -c 'A = '"
check bench-filter "$tiny bench --filter '*.sum' --list; bench --only add --list; bench --list --sizes tiny; bench nothing"
check bench-list 'halo bench --list --filter "dot.square.*,limit.*,fft.*,program.kepler.*"; halo bench --list | cut -d. -f1 | sort -u | tr "\n" " "; halo bench --list --sizes small --filter dot.square.f32'
check bench-text 'printf "//! case a\n//! work bytes 2*Q\nHloModule m\n" >a.hlo; halo bench --cases a.hlo; printf "//! case a\n//! wrok bytes 2\nHloModule m\n" >a.hlo; halo bench --cases a.hlo; printf "HloModule m\n" >a.hlo; halo bench --cases a.hlo'
check bench-json "$tiny bench --quiet --json a.json; python3 -c '
import json
r = json.load(open(\"a.json\"))
print(r[\"schema\"], r[\"schema_version\"], sorted(k for k in r if k != \"rows\"))
print([sorted(row) for row in r[\"rows\"]][0])'; echo '{\"schema\": \"halo-bench\", \"schema_version\": 99, \"rows\": []}' >new.json; halo bench compare a.json new.json; echo '{\"schema\": ' >bad.json; halo bench compare bad.json a.json; halo bench compare a.json; halo bench report -o page.html a.json && grep -c '\"schema\": \"halo-bench\"' page.html"
