#!/usr/bin/env bash
# tests/docs/readme.sh PROGRAM: what the README shows is true: its C is part of examples/hello.c, the
# pages that are linked exist, and the command in its console block (run with PROGRAM in place of
# build/tools/halo) prints what stands below it.
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
status=0

# The lines of the first block of this language.
block() {
  awk -v fence=$'\x60\x60\x60' -v language="$1" '
    inside && $0 == fence { exit }
    inside { print }
    $0 == fence language { inside = 1 }' README.md
}

if [[ $(<examples/hello.c) != *"$(block c)"* ]]; then
  echo 'the C example of README.md is not part of examples/hello.c'
  status=1
fi

for page in README.md docs/*.md; do
  for link in $(grep -oE '\]\([^)#: ]+\)' "$page" | tr -d '()]'); do
    if [ ! -e "$(dirname "$page")/$link" ]; then
      echo "$page: there is no $link"
      status=1
    fi
  done
done

shown=$(block console)
command=$(head -1 <<<"$shown")
expected=$(tail -n +2 <<<"$shown")
actual=$(bash -c "'$program' ${command#*build/tools/halo}") || status=1
if [ "$actual" != "$expected" ]; then
  printf '%s\nprints\n%s\nand README.md says\n%s\n' "$command" "$actual" "$expected"
  status=1
fi
exit "$status"
