#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli/page.sh HALO: a browser draws the page of `halo bench report`: devices, rooflines, bars, history, tables, and a wrong row.
set -euo pipefail
halo=$(realpath "$1")
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
  echo 'skipped: there is no chromium'
  exit 77
}
work=$(mktemp -d "${TMPDIR:-/tmp}/halo-page.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

# result DEVICE DATE MEDIAN: results as `halo bench --json` writes them.
result() {
  cat <<END
{"schema": "halo-bench", "schema_version": 1, "version": "0.1.0", "commit": "c", "date": "$2", "device": "$1 </script>", "platform": "P",
 "driver": "D", "compute_units": 2, "os": "O", "load": 0, "rows": [
 {"name": "limit.triad", "size": "s", "status": "ok", "reason": "", "unit": "GB/s", "work": 2e8, "median": 0.01, "minimum": 0.01, "spread": 0},
 {"name": "limit.multiply-add.f32", "status": "ok", "reason": "", "unit": "GFLOP/s", "work": 1e9, "median": 0.01, "minimum": 0.01, "spread": 0},
 {"name": "dot.square.f32", "size": "8", "status": "ok", "reason": "", "unit": "GFLOP/s", "work": 1e9, "flops": 1e9, "bytes": 1e7,
  "median": $3, "minimum": $3, "spread": 0.01, "limit": "limit.multiply-add.f32", "limit_rate": 1e11},
 {"name": "sort.f32", "size": "8", "status": "wrong", "reason": "3 of 8 are wrong", "unit": "Mitems/s", "work": 8, "median": 0}]}
END
}
result A 2026-01-01T00:00:00Z 0.04 >a1.json
result A 2026-02-01T00:00:00Z 0.02 >a2.json
result B 2026-02-01T00:00:00Z 0.03 >b.json
"$halo" bench report -o page.html a1.json a2.json b.json
if grep -qE '(src|href)="?(https?:)?//' page.html; then
  echo 'the page needs the network'
  exit 1
fi
timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --dump-dom \
  "file://$work/page.html" >dom.html 2>errors || {
  echo "skipped: $browser does not run here: $(tail -n 1 errors)"
  exit 77
}

# has COUNT PATTERN: the drawn page has it so often.
has() {
  local count
  count=$(grep -o -- "$2" dom.html | wc -l)
  [ "$count" -eq "$1" ] || {
    echo "'$2' stands $count times in the page, not $1 times"
    exit 1
  }
}
has 1 'data-drawn="yes"'
has 2 'aria-label="Roofline of '
has 1 'aria-label="Rates by row"'
has 1 'aria-label="History"'
has 2 '<circle[^>]*><title>dot.square.f32'     # one dot for each device
has 2 'class=" bad">wrong: 3 of 8 are wrong'   # in the table
has 1 '>2.00 A &lt;/script&gt;'                # twice as fast as a month before
echo 'the page is drawn'
