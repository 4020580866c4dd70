#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/mpi/faults.sh BUILD TIMES mpi|tcp: one of three processes fails, TIMES times in a row for each way to do so, and the
# others are told what happened, within their limit. TIMES is 50 where it is to be known well; the tests take 2.
# The last way, a link between two hosts that goes down, needs root and network namespaces, and is said to be
# skipped where they are missing. The processes are started by mpiexec, or by hand and joined over TCP.
set -uo pipefail
build=$1 times=$2 way=$3
export LD_LIBRARY_PATH=$build/lib/mpi${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
faults=$build/tests/faults
failed=0 done_times=0 folder=$(mktemp -d)

# together LIMIT LAUNCHER_OPTION... -- ARGUMENT...: three processes, and what they say.
together() {
  local limit=$1 options=() started=() p place
  shift
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  if [ "$way" = mpi ]; then
    timeout "$limit" mpiexec --oversubscribe "${options[@]}" -n 3 "$faults" "$@" 2>&1
    return
  fi
  place=localhost:$((20000 + RANDOM % 12000)) # where the system takes no ports for connections
  for p in 0 1 2; do
    HALO_TCP_COORDINATOR=$place HALO_TCP_PROCESSES=3 HALO_TCP_PROCESS=$p \
      timeout "$limit" "$faults" "$@" >"$folder/said.$p" 2>&1 &
    started+=($!)
  done
  for p in "${started[@]}"; do wait "$p"; done
  cat "$folder"/said.*
  rm -f "$folder"/said.*
}

# count TEXT WANTED NAME: how many of those who went on were told so.
count() {
  local told
  told=$(grep -c 'as expected' <<<"$1")
  done_times=$((done_times + 1))
  [ "$told" -eq "$2" ] && return
  printf 'FAIL %s: %d of %d were told what happened:\n%s\n' "$3" "$told" "$2" "$1"
  failed=1
}

# Faults after which all go on, in one job.
for mode in skip different memory; do
  out=$(together $((60 + 5 * times)) -- "$mode" "$times")
  count "$out" $((2 * times)) "$mode"
  printf 'done %s, %d times\n' "$mode" "$times"
done

# A process that is killed: the launcher is asked to leave the others alone, so that they can say what they know.
for mode in killed-before killed-within killed-after; do
  for _ in $(seq "$times"); do
    out=$(together 60 --enable-recovery -- "$mode" 2>&1)
    count "$out" 2 "$mode"
  done
  printf 'done %s, %d times\n' "$mode" "$times"
done
# Without that it ends them.
if [ "$way" = mpi ]; then
  timeout 60 mpiexec --oversubscribe -n 3 "$faults" killed-before >/dev/null 2>&1
  case $? in
    0 | 124)
      echo 'FAIL killed: the launcher does not end the others'
      failed=1
      ;;
  esac
fi

# Two hosts, which are network namespaces with one link between them.
a=halo-a-$$ b=halo-b-$$
# shellcheck disable=SC2317 # called by the trap
tidy() {
  ip netns del "$a" 2>/dev/null
  ip netns del "$b" 2>/dev/null
  rm -rf "$folder"
}
trap tidy EXIT
network() {
  ip netns add "$a" && ip netns add "$b" &&
    ip -n "$a" link add halo0 type veth peer name halo0 netns "$b" &&
    ip -n "$a" addr add 10.177.0.1/24 dev halo0 && ip -n "$b" addr add 10.177.0.2/24 dev halo0 &&
    ip -n "$a" link set lo up && ip -n "$b" link set lo up
} 2>/dev/null
# start: a process on each, in the background.
start() {
  if [ "$way" = mpi ]; then
    ip netns exec "$a" timeout 60 mpiexec --host 10.177.0.1:1,10.177.0.2:1 -n 2 \
      --mca plm_rsh_agent "$folder/agent" --mca btl tcp,self --mca btl_tcp_if_include halo0 \
      --mca oob_tcp_if_include halo0 --mca pml ob1 --enable-recovery \
      -x LD_LIBRARY_PATH sh -c "exec $faults network >$folder/out.\$OMPI_COMM_WORLD_RANK 2>&1" \
      >"$folder/launcher" 2>&1 &
    return
  fi
  export HALO_TCP_COORDINATOR=10.177.0.1:4000 HALO_TCP_PROCESSES=2 HALO_TCP_SECRET=between-hosts
  HALO_TCP_PROCESS=0 ip netns exec "$a" timeout 60 "$faults" network >"$folder/out.0" 2>&1 &
  HALO_TCP_PROCESS=1 ip netns exec "$b" \
    timeout 60 unshare -u sh -c "hostname halo-b; exec $faults network" >"$folder/out.1" 2>&1 &
}
link() { ip -n "$b" link set halo0 "$1" && ip -n "$a" link set halo0 "$1"; }
if [ "$(id -u)" = 0 ] && network; then
  # What mpiexec takes for ssh: the host's name, then the command.
  printf '#!/bin/sh\nshift\nexec ip netns exec %s unshare -u sh -c "hostname halo-b; $*"\n' "$b" >"$folder/agent"
  chmod +x "$folder/agent"
  for _ in $(seq "$times"); do
    link up
    sleep 0.2
    start
    launcher=$!
    for _ in $(seq 400); do
      [ "$(cat "$folder"/out.* 2>/dev/null | grep -c running)" = 2 ] && break
      sleep 0.1
    done
    sleep 0.5
    link down
    for _ in $(seq 100); do
      [ "$(cat "$folder"/out.* 2>/dev/null | wc -l)" -ge 4 ] && break
      sleep 0.1
    done
    out=$(cat "$folder"/out.* "$folder/launcher" 2>/dev/null)
    # The launcher would wait for the other host.
    for pid in $(ip netns pids "$a") $(ip netns pids "$b"); do kill -9 "$pid" 2>/dev/null; done
    wait "$launcher" 2>/dev/null
    rm -f "$folder"/out.*
    count "$out" 2 network
  done
  printf 'done network, %d times\n' "$times"
else
  echo 'skip network: there are no network namespaces here'
fi
printf '%d jobs, %s\n' "$done_times" "$([ $failed = 0 ] && echo 'all as expected' || echo failures)"
exit $failed
