#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/install/program.sh BUILD PREFIX: the installed `halo` program finds its library and the files that it comes with, where it was
# installed to and after its tree was moved.
set -euo pipefail
build=$1 prefix=$2

root=$(mktemp -d "${TMPDIR:-/tmp}/halo-program.XXXXXX")
trap 'rm -rf "$root"' EXIT
unset HALO_JAX_PYTHON
export HALO_CACHE_DIR=$root/cache
DESTDIR=$root/tree meson install -C "$build" --no-rebuild --quiet
mkdir "$root/elsewhere"

fail() {
  echo "program.sh: $*"
  exit 1
}

# use TREE ARGUMENT...: `halo bench ARGUMENT...` there, far from the sources.
use() {
  (cd "$root/elsewhere" && "$1/bin/halo" bench "${@:2}") >"$root/out" 2>&1 ||
    fail "$(cat "$root/out")"
}

tree=$root/tree$prefix
use "$tree" --filter program.digits --no-starts --max-time 0.1
grep -q '^program.digits .* [0-9.]* [mu]s' "$root/out" || fail "no time of the digits step: $(cat "$root/out")"
if (cd "$root/elsewhere" && "$tree/bin/halo" bench --filter program.digits --jax false) >"$root/out" 2>&1; then
  fail "a Python that says nothing is good enough: $(cat "$root/out")"
fi
grep -qF "$tree/" "$root/out" || fail "bench_jax.py is not taken from $tree: $(cat "$root/out")"
mv "$tree" "$root/moved"
use "$root/moved" programs --only kepler.small --rounds 1 --no-cold
grep -q '^kepler.small .* [0-9.]* [mu]s' "$root/out" || fail "no time of kepler.small: $(cat "$root/out")"
echo 'halo bench reads its own files'
