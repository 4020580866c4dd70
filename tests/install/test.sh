#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/install/test.sh BUILD PREFIX shared|static|both: what `meson install` lays down serves a stranger's
# program, by way of pkg-config, in C and in C++; and the libraries have the public names and no other.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1 prefix=$2 kind=$3

root=$(mktemp -d "${TMPDIR:-/tmp}/halo-install.XXXXXX")
trap 'rm -rf "$root"' EXIT
DESTDIR=$root meson install -C "$build" --no-rebuild --quiet

fail() {
  echo "$*"
  exit 1
}

pc=$(find "$root" -name halo.pc)
shared=$(find "$root" -name 'libhalo.so')
archive=$(find "$root" -name 'libhalo.a')
[ -n "$pc" ] || fail 'no halo.pc'
case ${shared:+so}${archive:+a} in
  so) found=shared ;;
  a) found=static ;;
  soa) found=both ;;
  *) found=none ;;
esac
[ "$found" = "$kind" ] || fail "of $kind libraries: $found"
export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$root LD_LIBRARY_PATH=${pc%/pkgconfig/*}
read -ra cflags <<<"$(pkg-config --cflags halo)"

# Compilers with words before them (CC="ccache gcc").
read -ra cc <<<"${CC:-cc}"
read -ra cxx <<<"${CXX:-c++}"

# use FLAG...: builds and runs the program, linked in this way.
use() {
  "${cc[@]}" -std=c11 -Wall -Wextra -Werror -o "$root/use" "$here/use.c" "${cflags[@]}" "$@"
  "$root/use"
  "${cxx[@]}" -std=c++11 -Wall -Wextra -Werror -x c++ -o "$root/use++" "$here/use.c" -x none \
    "${cflags[@]}" "$@"
  "$root/use++"
}
read -ra flags <<<"$(pkg-config --libs halo)"
use "${flags[@]}"
if [ "$kind" = both ]; then
  read -ra flags <<<"$(pkg-config --static --libs halo)"
  use "${flags[@]/#-lhalo/-l:libhalo.a}"
fi

# Every header stands by itself, in both languages.
for header in "$root$prefix"/include/halo/*.h; do
  name=halo/${header##*/}
  echo "#include <$name>" | "${cc[@]}" -std=c11 -Wall -Wextra -Werror -fsyntax-only -x c - \
    "${cflags[@]}"
  echo "#include <$name>" | "${cxx[@]}" -std=c++11 -Wall -Wextra -Werror -fsyntax-only -x c++ - \
    "${cflags[@]}"
done

# halo/halo.h brings all of them.
for header in "$root$prefix"/include/halo/*.h; do
  name=halo/${header##*/}
  [ "$name" = halo/halo.h ] || grep -qxF "#include \"$name\"" "$root$prefix/include/halo/halo.h" ||
    fail "halo/halo.h does not include $name"
done

# What was built does not tell where. A folder's path begins behind what is no part of a path, or behind the option of a compiler: in
# a clone at /halo, share/doc/halo/ is no trace of it.
tells() { tr '\0' '\n' <"$1" | LC_ALL=C grep -aqE "(^|[^A-Za-z0-9_.})/-]|-[IL])$(sed 's/[^A-Za-z0-9/]/[&]/g' <<<"$2")/"; }
for text in '/a+b/c.c' 'at /a+b/c.c' '-I/a+b/include' $'\001/a+b/c'; do
  tells <(printf '%s\0' "$text") /a+b || fail "the path in '$text' is not seen"
done
for text in 'share/a+b/c' '}/a+b/c' '/aab/c' '/a+bc/d'; do
  if tells <(printf '%s\0' "$text") /a+b; then fail "'$text' is taken for the path"; fi
done
sources=$(cd "$here/../.." && pwd)
while read -r file; do
  for place in "$sources" "$build"; do
    if tells "$file" "$place"; then fail "${file#"$root"} has the path $place in it"; fi
  done
done < <(find "$root$prefix" -type f ! -path "$root/use*")

# check_names LIBRARY OPTION...: what nm lists of it is ours.
check_names() {
  local names
  names=$(nm "${@:2}" --defined-only "$1" | awk 'NF == 3 {print $3}')
  if grep -v '^halo_' <<<"$names"; then fail "these names of ${1##*/} must not be public"; fi
  echo "installed, compiled and run: ${1##*/}, $(wc -l <<<"$names") public functions"
}
if [ -n "$shared" ]; then
  readelf -d "$shared" | grep -q 'SONAME.*\[libhalo\.so\.0\]' || fail 'wrong SONAME'
  check_names "$shared" -D
fi
if [ -n "$archive" ]; then check_names "$archive" -g; fi
