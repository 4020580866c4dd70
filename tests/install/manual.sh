#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/install/manual.sh HALO FOLDER: each command of HALO has a manual page in FOLDER/man1, in which all of its options are, and groff
# renders every page without a warning.
set -uo pipefail
halo=$(realpath "$1") folder=$2 failures=0

fail() {
  echo "manual.sh: $*"
  failures=$((failures + 1))
}

command -v groff >/dev/null || {
  echo 'skipped: groff is not installed'
  exit 77
}
work=$(mktemp -d "${TMPDIR:-/tmp}/halo-manual.XXXXXX")
trap 'rm -rf "$work"' EXIT

# render PAGE: as plain text in $work/page, in lines that hold any option whole.
render() {
  groff -man -Tutf8 -ww -rLL=200n -P-cbou "$1" >"$work/page" 2>"$work/warnings" || fail "groff failed on $1"
  [ ! -s "$work/warnings" ] || fail "$1: $(cat "$work/warnings")"
}

# check COMMAND...: its page has the options of its help.
check() {
  local name=halo option
  [ $# -eq 0 ] || name=$(IFS=- && echo "halo-$*")
  [ -e "$folder/man1/$name.1" ] || {
    fail "halo $*: no page $name.1"
    return
  }
  render "$folder/man1/$name.1"
  grep -q "^ *$name - " "$work/page" || fail "$name.1 does not begin with its name"
  while read -r option; do
    grep -qE -- "^ *(-., )?$option( |\$)" "$work/page" || fail "$name.1 has no $option"
  done < <("$halo" "$@" --help | grep -oE '^ +(-., )? *--[a-z-]+' | grep -oE -- '--[a-z-]+')
}

check
grep -q HALO_DEVICE "$work/page" || fail 'halo.1 does not explain HALO_DEVICE'
commands=$("$halo" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ -n "$commands" ] || fail 'halo --help names no command'
for command in $commands; do
  check "$command"
  for sub in $("$halo" "$command" --help | sed -nE "s/^ *(Usage: )?halo $command ([a-z][a-z-]*) .*/\2/p"); do
    check "$command" "$sub"
  done
done

render "$folder/man3/halo.3"
for name in halo_client_create halo_builder_build halo_all_reduce halo_communicator_open; do
  grep -q "\b$name\b" "$work/page" || fail "halo.3 does not name $name"
done
[ $failures -eq 0 ] && echo "manual pages: $(find "$folder/man1" "$folder/man3" -name '*.[13]' | wc -l), with every option"
