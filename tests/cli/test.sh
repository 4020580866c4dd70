#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli/test.sh HALO GROUP [--update]: runs the cases of GROUP.sh with the program HALO and compares
# what each printed, on stdout and stderr, and its exit code with expected/NAME.txt. With --update the
# expected files are written anew: read the diff.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
halo=$(realpath "$1") group=$2 update=${3:-}

work=$(mktemp -d "${TMPDIR:-/tmp}/halo-cli.XXXXXX")
trap 'rm -rf "$work"' EXIT
data=$(realpath "$here/../data/npy") stablehlo=$(realpath "$here/../data/stablehlo")
cd "$work" || exit 1
unset HALO_KERNELS HALO_NO_FUSION HALO_DISABLE_PASSES HALO_DUMP_TO
export LC_ALL=C HALO_CACHE_DIR=$work/cache
# What PoCL compiled for earlier runs stays good.
export POCL_CACHE_DIR=${POCL_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/pocl/kcache}

checks=0 failures=0

# What differs between machines: the device's name, times, and sizes of the device.
normalise() {
  sed -E -e 's/^((.*\.hlo|standard input) \([^()]*\)) on .*$/\1 on DEVICE/' \
    -e 's/[0-9.]+ (s|ms|us|ns)\b/TIME/g' -e "s|$work|WORK|g"
}

# check NAME COMMAND: `halo` in COMMAND is the program; its stdin is empty, and its folder holds the
# modules, data/ and stablehlo/. A case that ends with `skip REASON` counts neither as passed nor as failed.
check() {
  local name=$1 code out
  shift
  checks=$((checks + 1))
  rm -rf here
  mkdir here
  cp "$here"/*.hlo "$here"/*.mlir "$here"/null.txt "$here"/../../examples/sized.hlo here
  ln -s "$data" here/data
  ln -s "$stablehlo" here/stablehlo
  out=$(cd here && bash -c 'halo() { "$HALO" "$@"; }; skip() { echo "$@"; exit 77; }; '"$*" </dev/null 2>../stderr)
  code=$?
  if [ $code -eq 77 ]; then
    checks=$((checks - 1))
    echo "skipped: $name: $(tail -n 1 <<<"$out")"
    return
  fi
  {
    echo "\$ $*"
    [ -z "$out" ] || echo "$out"
    [ ! -s stderr ] || sed 's/^/stderr: /' stderr
    echo "exit code $code"
  } | normalise >actual
  if [ "$update" = --update ]; then
    cp actual "$here/expected/$name.txt"
  elif ! diff -u "$here/expected/$name.txt" actual; then
    failures=$((failures + 1))
  fi
}

export HALO=$halo
# shellcheck source=/dev/null
. "$here/$group.sh"

[ $checks -gt 0 ] || failures=1
echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ $failures -eq 0 ]
