#!/usr/bin/env bash
# tests/docs/same.sh PROGRAM FILE: what the program prints is what the file holds.
set -euo pipefail
if ! diff -u "$2" <("$1"); then
  echo "out of date: $1 > $2"
  exit 1
fi
