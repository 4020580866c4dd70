#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/install/wheel.sh PLUGIN: the wheel that `tools/dev wheel` makes has the tag, the files, the metadata and the size that
# it should have, is the same when it is made again, and can be installed; so can the package from the source tree, with
# PLUGIN. Skipped, with the reason, where ziglang and auditwheel cannot be had.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../.. plugin=$(realpath "$1")
tools=$root/build/wheel-tools
work=$(mktemp -d "${TMPDIR:-/tmp}/halo-wheel.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  echo "wheel.sh: $*"
  exit 1
}

PIP_TIMEOUT=15 PIP_RETRIES=1 PIP_LIMIT=${PIP_LIMIT:-300} "$root/tools/wheel" --tools >"$work/log" 2>&1 || {
  echo "skipped: $(tail -n 1 "$work/log")"
  exit 77
}
"$root/tools/wheel" >"$work/log" 2>&1 || fail "$(tail -n 30 "$work/log")"
wheel=$(echo "$root"/build/wheel/*.whl)
cp "$wheel" "$work/"
"$root/tools/wheel" >"$work/log" 2>&1 || fail "$(tail -n 30 "$work/log")"
cmp "$wheel" "$work/${wheel##*/}" || fail 'made again, it is another one'

"$tools/bin/python" "$here/wheel.py" "$root" "$wheel"

# install WHERE WHAT: and what Python has then.
install() {
  "$tools/bin/pip" install -q --disable-pip-version-check --no-deps --no-build-isolation --target "$1" "$2"
  (cd "$work" && env -u HALO_PJRT_LIBRARY PYTHONPATH="$1" "$tools/bin/python" -c '
import jax_halo
print(jax_halo.__version__, jax_halo.library_path())')
}
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$root/meson.build")
found=$(install "$work/wheel" "$wheel")
[ "$found" = "$version $work/wheel/jax_halo/libhalo_pjrt.so" ] || fail "of the wheel: $found"

# pip leaves files where it builds.
mkdir "$work/source"
cp "$root/meson.build" "$work/source/"
cp -RL "$root/python" "$work/source/"
export HALO_PJRT_LIBRARY=$plugin
found=$(install "$work/tree" "$work/source/python")
[ "$found" = "$version $work/tree/jax_halo/libhalo_pjrt.so" ] || fail "of the source tree: $found"
cmp "$plugin" "$work/tree/jax_halo/libhalo_pjrt.so"
mpi=${plugin%/*/*}/mpi/libhalo-mpi.so
[ ! -e "$mpi" ] || cmp "$mpi" "$work/tree/jax_halo/libhalo-mpi.so"
echo "${wheel##*/}: $(stat -c %s "$wheel") bytes"
