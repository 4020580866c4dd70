# SPDX-License-Identifier: Apache-2.0
# bash completion for halo. Commands and options are read from the help texts of the program that is being completed, so that
# they always fit it.
# shellcheck shell=bash

# The first words of the list behind a heading: _halo_words HEADING < help.
_halo_words() {
  sed -n "/^$1:\$/,/^\$/s/^  \([a-z][a-z-]*\)  .*/\1/p"
}

# The word that stands for the value of an option in the help, or nothing: _halo_argument OPTION < help.
_halo_argument() {
  sed -n "s/^ *\(-[a-z], \)\{0,1\} *\(--[a-z-]*\) \([^ ][^ ]*\)  *.*/\1\2 \3/p" |
    sed -n "s/^\($1, .*\|.*$1\) \([^ ]*\)\$/\2/p"
}

# The candidates for the value of an option: _halo_values PROGRAM COMMAND WORD. Nothing means files.
_halo_values() {
  case $2:$3 in
    *:DEVICE | info:NAME | bench*:NAME | tune:NAME)
      echo cpu gpu
      "$1" info 2>/dev/null | sed -n 's/^[* ] \([0-9]*:[0-9]*\)  .*/\1/p'
      ;;
    check:FAMILY) "$1" check --only list 2>/dev/null | awk '{ print $1 }' ;;
    run:HOW) echo full summary none ;;
    opt:FORMAT) echo hlo proto stablehlo ;;
    opt:A,B) "$1" opt --list-passes 2>/dev/null | awk '{ print $1 }' ;;
  esac
}

_halo() {
  local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command=() help argument words='' at=1
  COMPREPLY=()
  # "--device=cpu" and "0:0" come as three words each; what stands before the last colon stays as it is.
  local last=$COMP_CWORD before=''
  if [ "$current" = : ]; then
    last=$((last - 1)) before=${COMP_WORDS[last]}: current=''
    previous=${COMP_WORDS[last - 1]}
  elif [ "$previous" = : ]; then
    last=$((last - 2)) before=${COMP_WORDS[last]}:
    previous=${COMP_WORDS[last - 1]}
  fi
  [ "$current" != = ] || current=''
  [ "$previous" != = ] || previous=${COMP_WORDS[last - 2]}

  while [ $at -lt "$COMP_CWORD" ] && [ $at -le 2 ] && [[ ${COMP_WORDS[at]} == [a-z]* ]]; do
    # A second word is a command where the help of the first one says so.
    [ $at -eq 1 ] || "$program" "${command[@]}" --help 2>/dev/null |
      grep -qE "halo ${command[*]} ${COMP_WORDS[at]}( |\$)" || break
    command+=("${COMP_WORDS[at]}")
    at=$((at + 1))
  done
  help=$("$program" "${command[@]}" --help 2>/dev/null) || return 0

  argument=''
  [[ $previous != -* ]] || argument=$(_halo_argument "$previous" <<<"$help")
  if [ -n "$argument" ]; then
    words=$(_halo_values "$program" "${command[*]}" "$argument")
  elif [[ $current == -* ]]; then
    words=$(sed -n 's/^ *\(-[a-z], \)\{0,1\} *\(--[a-z][a-z-]*\).*/\2/p' <<<"$help")
    [ ${#command[@]} -gt 0 ] || words='--help --version'
  elif [ ${#command[@]} -eq 0 ]; then
    words=$(_halo_words Commands <<<"$help")
  elif [ ${#command[@]} -eq 1 ] && [ "$at" -eq "$COMP_CWORD" ]; then
    words=$(sed -n "s/^ *\(Usage: \)\{0,1\}halo ${command[0]} \([a-z][a-z-]*\)\( .*\)\{0,1\}\$/\2/p" <<<"$help")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$before$current")
  COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
complete -o default -F _halo halo
