# SPDX-License-Identifier: Apache-2.0
# tests/cli/check.sh: `halo check`: the device computes right, and what is wrong is found.
# shellcheck shell=bash disable=SC2016

check check-help 'halo check --help'
check check-list 'halo check --only list'
check check-wrong 'halo check --only nothing; halo check --spoil nothing; halo check all'
check check-null 'halo check --device null:null.txt'
check check-no-device 'HALO_CPU=off OCL_ICD_VENDORS=/nonexistent halo check'

# Without what only some devices can do.
check check-all 'set -o pipefail; halo check | sed -E "1d; /functions of f64/d; s/right +[0-9.]+ m?s/right/; s/^[0-9]+ right, 0 wrong.*/none wrong/"'

# Each family is found wrong, in all of its results, when they are off by little more than is allowed.
each_family() {
  local family code
  "$HALO" check --only list | while read -r family _; do
    [ "$family" != functions_f64 ] || continue
    "$HALO" check --only "$family" --spoil "$family" >out 2>err
    code=$?
    sed -n "s/.*\(element.* of\) .*; \([0-9]*\) results of \2 are wrong/\2 of \2 results/p" out | sed "s/^/$family, exit code $code: /"
  done
}
export -f each_family
check check-spoil each_family
check check-spoil-one 'halo check --only random --spoil random | sed "1d; s/WRONG .*/WRONG/; s/, in .*//"'
