#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: tests/fuzz/build.sh OUTDIR
# Builds every tests/fuzz/fuzz_*.c as OUTDIR/fuzz_* with clang's libFuzzer, ASan and UBSan. CC names
# another clang, FUZZ_FLAGS more flags.
set -eu
out=${1:?usage: tests/fuzz/build.sh OUTDIR}
cd "$(dirname "$0")/../.."
cc=${CC:-}
for candidate in clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14; do
  [ -n "$cc" ] && break
  if command -v "$candidate" >/dev/null; then cc=$candidate; fi
done
[ -n "$cc" ] || { echo "tests/fuzz/build.sh: no clang found; set CC" >&2; exit 1; }
mkdir -p "$out"
flags=(-std=gnu11 -D_GNU_SOURCE -g -O1 -fno-omit-frame-pointer -ffp-contract=off -Iinclude -Ilib
       '-DHALO_VERSION_TEXT="fuzz"' '-fsanitize=address,undefined' -fno-sanitize-recover=undefined)
# shellcheck disable=SC2206
flags+=(${FUZZ_FLAGS:-})
# The library is compiled once, without CLBlast, for all targets.
python3 cl_kernels/embed.py "$out/kernels.c" cl_kernels/*.cl lib/kernels/*/*.cl
objects=()
compile() {
  local object
  object=$out/$(echo "$1" | tr / _).o
  objects+=("$object")
  if [ "$object" -nt "$1" ] && [ -z "$(find include lib -name '*.h' -newer "$object")" ]; then return; fi
  "$cc" "${flags[@]}" -fsanitize=fuzzer-no-link -c "$1" -o "$object"
}
shopt -s globstar
for source in lib/**/*.c "$out/kernels.c"; do
  case $source in lib/mpi/*) continue ;; esac # a library of its own, over MPI
  compile "$source"
done
for target in tests/fuzz/fuzz_*.c; do
  name=$(basename "$target" .c)
  "$cc" "${flags[@]}" -fsanitize=fuzzer "$target" "${objects[@]}" -o "$out/$name" -lm -lz -lpthread -lOpenCL
  echo "built $out/$name"
done
