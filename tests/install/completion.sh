#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/install/completion.sh HALO: completion in bash offers the commands, the options and the values that the program has.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
halo=$(realpath "$1") failures=0
# shellcheck source=/dev/null
. "$here/../../packaging/completions/halo.bash"

# offers EXPECTED WORD...: with the cursor behind the last word, these are offered, in this order.
offers() {
  local expected=$1 found
  shift
  COMP_WORDS=("$halo" "$@") COMP_CWORD=$#
  _halo
  found=${COMPREPLY[*]-}
  # shellcheck disable=SC2053
  if [[ $found != $expected ]]; then
    echo "halo $*: offers '$found', not '$expected'"
    failures=$((failures + 1))
  fi
}

commands=$("$halo" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
offers "$(paste -sd ' ' <<<"$commands")" ''
offers 'run' ru
offers '--help --version' -
offers '--compare --compile-only' run --comp
offers '--profile' run x.hlo --prof
offers 'full summary none' run --print ''
offers 'full' run -p f
offers 'full' run --print = f
offers 'cpu gpu 0:0*' run x.hlo -d ''
offers 'cpu' check --device c
offers '0:0*' run --device = 0
offers '0*' run x.hlo -d 0 :
offers '0' run x.hlo --device = 0 : 0
offers 'integers' check --only int
offers "$("$halo" check --only list | sed 's/ .*//' | paste -sd ' ')" check --only ''
offers 'stablehlo' opt --emit s
offers 'fusion' opt --passes fus
offers '' run ''
offers '' run --input ''
offers 'programs' bench prog
offers 'choices' bench ch
offers '--slow' bench choices --sl
offers '--form' bench scale --fo
offers '--filter' bench --fi
offers '' bench programs ''
offers '' nothing ''

# Every option in a help text is offered.
for command in $commands; do
  offers "$("$halo" "$command" --help | grep -oE '^ +(-., )? *--[a-z-]+' | grep -oE -- '--[a-z-]+' | paste -sd ' ')" "$command" --
done
[ $failures -eq 0 ] && echo 'completion in bash: all as expected'
