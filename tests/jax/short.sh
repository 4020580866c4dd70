#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/jax/short.sh BUILD cases|contact|processes|mpiexec: a few cases of each group of run.py; threads.py and contact.py;
# or processes.py on two processes, started by hand or by mpiexec. The Python is the one that HALO_JAX_PYTHON names, or that
# tools/dev made, or python3, whichever has a JAX that is supported. Skipped, with the reason, where none has.
set -euo pipefail
build=$1 part=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

has_jax() {
  "$1" - 2>/dev/null <<'PYTHON'
import importlib.metadata
import re
version = re.match(r"(\d+)\.(\d+)\.(\d+)", importlib.metadata.version("jax"))
assert tuple(map(int, version.groups())) >= (0, 9, 2) and importlib.metadata.version("jaxlib")
PYTHON
}

python=
for candidate in ${HALO_JAX_PYTHON:+"$HALO_JAX_PYTHON"} "$build/jax/bin/python" "$build/jax-short/bin/python" python3; do
  if command -v "$candidate" >/dev/null && has_jax "$candidate"; then
    python=$candidate
    break
  fi
done
if [ -z "$python" ]; then
  echo "skipped: no Python here has jax 0.9.2 or newer ('tools/dev test' installs it where it can)"
  exit 77
fi
# With several processes, JAX's own CPU backend looks up the machine's name and fails if it has no address.
if [[ $part = processes || $part = mpiexec ]] && ! "$python" -c 'import socket; socket.getaddrinfo(socket.gethostname(), None)' 2>/dev/null; then
  echo "skipped: this machine's name, $(uname -n), has no address, and JAX's CPU backend needs one (add the name to /etc/hosts)"
  exit 77
fi

# The package that registers the plugin, as JAX finds it.
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
ln -s "$here/../../python/jax_halo" "$site/jax_halo"
mkdir "$site/jax_halo-0.dist-info"
printf 'Metadata-Version: 2.1\nName: jax_halo\nVersion: 0\n' >"$site/jax_halo-0.dist-info/METADATA"
printf '[jax_plugins]\nhalo = jax_halo\n' >"$site/jax_halo-0.dist-info/entry_points.txt"
export PYTHONPATH=$site HALO_PJRT_LIBRARY=$build/lib/pjrt/libhalo_pjrt.so

passed=0 failed=0
run() {
  local out last
  out=$("$python" "$@" 2>&1) || true
  printf '%s\n' "$out"
  last=$(tail -n 1 <<<"$out")
  if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
  else
    failed=$((failed + 1))
  fi
}
case $part in
  cases) run "$here/run.py" --brief ;;
  contact)
    JAX_PLATFORMS=halo run "$here/threads.py" --seconds 5
    run "$here/contact.py"
    ;;
  processes) run "$here/processes.py" --short --by hand ;;
  mpiexec) run "$here/processes.py" --short --by mpiexec ;;
  *)
    echo "short.sh: no part $part" >&2
    exit 2
    ;;
esac
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
