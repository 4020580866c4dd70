#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/install/project.sh BUILD PREFIX cmake|pkg-config RELOCATABLE: a C project of three files builds against the installed
# library and runs, by way of find_package or of pkg-config; where halo.pc is relocatable (true), in a tree that was moved.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1 prefix=$2 way=$3 relocatable=$4

fail() {
  echo "project.sh: $*"
  exit 1
}
skip() {
  echo "skipped: $*"
  exit 77
}
tool=$way
[ "$way" = cmake ] || tool="make"
command -v "$tool" >/dev/null || skip "$tool is not installed"

root=$(mktemp -d "${TMPDIR:-/tmp}/halo-project.XXXXXX")
trap 'rm -rf "$root"' EXIT
DESTDIR=$root/tree meson install -C "$build" --no-rebuild --quiet
pc=$(find "$root/tree" -name halo.pc)
tree=$root/tree$prefix
if [ "$relocatable" = true ]; then
  mv "$tree" "$root/moved"
  pc=${pc/#"$tree"/$root/moved} tree=$root/moved
else
  export PKG_CONFIG_SYSROOT_DIR=$root/tree
fi
export LD_LIBRARY_PATH=${pc%/pkgconfig/*} PKG_CONFIG_PATH=${pc%/*}
cp -r "$here/project" "$root/project"
cd "$root/project"

# check PROGRAM: it prints the result and the version.
check() {
  local out
  out=$("$1")
  case $out in
    '4 7 10 with halo '*) echo "${1##*/}: $out" ;;
    *) fail "$1 printed: $out" ;;
  esac
}

if [ "$way" = pkg-config ]; then
  make -s
  check ./stranger
  exit
fi

cmake -S . -B build -DCMAKE_PREFIX_PATH="$tree" >log || fail "$(cat log)"
cmake --build build >>log || fail "$(cat log)"
check build/stranger
[ ! -e build/stranger-static ] || check build/stranger-static

# Another minor version has another interface.
sed -i 's/halocline 0\.1/halocline 0.2/' CMakeLists.txt
if cmake -S . -B other -DCMAKE_PREFIX_PATH="$tree" >log 2>&1; then fail 'version 0.2 was found'; fi
grep -q 'compatible with requested version' log || fail "$(cat log)"
