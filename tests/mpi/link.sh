#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/mpi/link.sh BUILD RATE [ARGUMENTS]: `halo bench ARGUMENTS` (overlap, unless given) on two hosts that
# are joined by a link of RATE (1gbit), each with half of this machine's cores. They are network namespaces, which need root.
set -euo pipefail
build=$(cd "$1" && pwd) rate=$2
shift 2
[ $# -gt 0 ] || set -- overlap
export LD_LIBRARY_PATH=$build/lib/mpi${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
a=halo-link-a-$$ b=halo-link-b-$$ folder=$(mktemp -d)
# shellcheck disable=SC2317 # called by the trap
tidy() {
  ip netns del "$a" 2>/dev/null || true
  ip netns del "$b" 2>/dev/null || true
  rm -rf "$folder"
}
trap tidy EXIT
ip netns add "$a"
ip netns add "$b"
ip -n "$a" link add halo0 type veth peer name halo0 netns "$b"
for end in "$a 10.177.1.1/24" "$b 10.177.1.2/24"; do
  read -r name address <<<"$end"
  ip -n "$name" addr add "$address" dev halo0
  ip -n "$name" link set lo up
  ip -n "$name" link set halo0 up
  # A queue of 4 MiB, as a switch may have: what does not fit is sent again.
  tc -n "$name" qdisc add dev halo0 root tbf rate "$rate" burst 256kb limit 4mb
done
# What mpiexec takes for ssh: the host's name, then the command.
printf '#!/bin/sh\nshift\nexec ip netns exec %s unshare -u sh -c "hostname halo-b; $*"\n' "$b" >"$folder/agent"
chmod +x "$folder/agent"
half=$(($(nproc) / 2))
[ "$half" -gt 0 ] || half=1
# shellcheck disable=SC2016 # the rank is each process's own
own='first=$((OMPI_COMM_WORLD_RANK * '$half')); exec taskset -c $first-$((first + '$half' - 1)) "$@"'
ip netns exec "$a" mpiexec --host 10.177.1.1:1,10.177.1.2:1 -n 2 --bind-to none \
  --mca plm_rsh_agent "$folder/agent" --mca btl tcp,self --mca pml ob1 \
  --mca btl_tcp_if_include halo0 --mca oob_tcp_if_include halo0 \
  -x LD_LIBRARY_PATH sh -c "$own" halo "$build/tools/halo" bench "$@"
