#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli/doc.sh HALO: what the console blocks of docs/halo-run.md and docs/stablehlo.md show is what HALO
# prints, times and the device's name apart.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
halo=$(realpath "$1")
export HALO=$halo

work=$(mktemp -d "${TMPDIR:-/tmp}/halo-doc.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
ln -s "$here/../../examples" examples
export LC_ALL=C HALO_CACHE_DIR=$work/cache
# What PoCL compiled for earlier runs stays good.
export POCL_CACHE_DIR=${POCL_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/pocl/kcache}

normalise() {
  sed -E -e 's/^(.*\.hlo \([^()]*\)) on .*$/\1 on DEVICE/' -e 's/[0-9.]+ (s|ms|us|ns)\b/TIME/g'
}

awk -v fence=$'\x60\x60\x60' '
  inside && $0 == fence { inside = 0; next }
  inside { print }
  $0 == fence "console" { inside = 1 }' "$here"/../../docs/{halo-run,stablehlo}.md >shown
while IFS= read -r line; do
  [[ $line == '$ '* ]] || continue
  printf '%s\n' "$line"
  bash -c 'halo() { "$HALO" "$@"; }; '"${line#\$ }" 2>&1
done <shown >actual
[ -s shown ] && diff -u <(normalise <shown) <(normalise <actual)
