#!/usr/bin/env bash
# tests/install/test.sh BUILD PREFIX: what `meson install` lays down serves a stranger's program, by
# way of pkg-config, in C and in C++; and the library exports the public names and no other.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1 prefix=$2

root=$(mktemp -d "${TMPDIR:-/tmp}/halo-install.XXXXXX")
trap 'rm -rf "$root"' EXIT
DESTDIR=$root meson install -C "$build" --no-rebuild --quiet

pc=$(find "$root" -name halo.pc)
library=$(find "$root" -name 'libhalo.so')
if [ -z "$pc" ] || [ -z "$library" ]; then
  echo "no halo.pc or no libhalo.so"
  exit 1
fi
export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$root LD_LIBRARY_PATH=${library%/*}
read -ra flags <<<"$(pkg-config --cflags --libs halo)"

"${CC:-cc}" -std=c11 -Wall -Wextra -Werror -o "$root/use" "$here/use.c" "${flags[@]}"
"$root/use"
"${CXX:-c++}" -std=c++11 -Wall -Wextra -Werror -x c++ -o "$root/use++" "$here/use.c" -x none \
  "${flags[@]}"
"$root/use++"

# Every header stands by itself, in both languages.
for header in "$root$prefix"/include/halo/*.h; do
  name=halo/${header##*/}
  echo "#include <$name>" | "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -fsyntax-only -x c - \
    "${flags[@]}"
  echo "#include <$name>" | "${CXX:-c++}" -std=c++11 -Wall -Wextra -Werror -fsyntax-only -x c++ - \
    "${flags[@]}"
done

readelf -d "$library" | grep -q 'SONAME.*\[libhalo\.so\.0\]' || { echo 'wrong SONAME'; exit 1; }
if nm -D --defined-only "$library" | awk '{print $3}' | grep -v '^halo_'; then
  echo 'these names must not be exported'
  exit 1
fi
echo "installed, compiled and run: $(nm -D --defined-only "$library" | wc -l) public functions"
