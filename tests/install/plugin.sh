#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/install/plugin.sh PLUGIN LIBRARY: the plugin is small and alone: what it exports, what it needs, and its size, with
# the library's, without symbols.
set -uo pipefail
plugin=$1 library=$2 failures=0
work=$(mktemp -d "${TMPDIR:-/tmp}/halo-plugin.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  echo "plugin.sh: $*" >&2
  failures=$((failures + 1))
}

exported=$(nm -D --defined-only "$plugin" | awk '{ print $NF }' | sort | xargs)
[ "$exported" = "GetPjrtApi HaloCompileProgress HaloDoctor" ] || fail "it exports $exported"

# OpenCL, CLBlast and LAPACKE are opened when they are needed: a machine without them loads the plugin, too.
for file in "$plugin" "$library"; do
  while read -r needed; do
    case $needed in
      libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | ld-linux* | libz.so.*) ;;
      *) fail "${file##*/} needs $needed" ;;
    esac
  done < <(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
done

if ! { strip -o "$work/plugin" "$plugin" && strip -o "$work/library" "$library"; }; then fail "strip failed"; fi
# Those who have no more than the Python package ask it why there is no device.
said=$(HALO_CPU=off OCL_ICD_VENDORS=/nonexistent HALO_PJRT_LIBRARY=$plugin PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$(dirname "$0")/../../python" \
  python3 -m jax_halo doctor) && fail 'python -m jax_halo doctor finds a device'
[[ $said == *'which does not exist'*'unset OCL_ICD_VENDORS'* ]] || fail "python -m jax_halo doctor says: $said"

size=$(($(stat -c %s "$work/plugin") + $(stat -c %s "$work/library")))
echo "plugin and library: $size bytes"
[ "$size" -lt 4000000 ] || fail "together $size bytes, and 4000000 are the limit"
[ $failures -eq 0 ]
