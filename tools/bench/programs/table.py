# SPDX-License-Identifier: Apache-2.0
"""Tables for docs/programs.md from what `halo bench programs --json FILE` wrote.

    python tools/bench/programs/table.py FILE ... [--after FILE ...]
    python tools/bench/programs/table.py FILE ... --csv --date 2026-11-27 --machine B >docs/data/programs.csv

The files may have some programs each, such as those of one field, and starts or runs alone; of what is in
several the last one counts. With --after there are columns for what was measured again; --csv prints the table that tools/charts.py draws.
"""

import argparse
import csv
import json
import math
import pathlib
import sys


def read(paths):
    rows = {}
    for path in paths:
        for row in json.loads(pathlib.Path(path).read_text()):
            if not row["failed"]:
                known = rows.setdefault(row["name"], row)
                known.update({key: value for key, value in row.items() if value})
    return rows


def ratio(row, ours, other):
    return row[ours] / row[other] if row and row.get(ours) and row.get(other) else None


def mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def number(value):
    if value is None:
        return ""
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def time(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.2g} us"


def groups(rows):
    yield "all", list(rows)
    yield "without loops", [n for n, r in rows.items() if not r["loop"]]
    yield "with loops", [n for n, r in rows.items() if r["loop"]]
    for key in ("size", "field"):
        for value in dict.fromkeys(r[key] for r in rows.values()):
            yield value, [n for n, r in rows.items() if r[key] == value]


def ordered(rows):
    return sorted(rows.items(), key=lambda item: (item[1]["field"], item[0]))


def write_csv(rows, date, machine):
    writer = csv.writer(sys.stdout, lineterminator="\n")
    columns = {"run_s": "ours", "xla_run_s": "xla", "cold_s": "cold", "xla_cold_s": "xla_cold"}
    writer.writerow(["date", "machine", "field", "program", "size", "loop", *columns, "kernels", "launches"])
    for name, row in ordered(rows):
        times = [format(row[key], ".3g") if row[key] else "" for key in columns.values()]
        what = [row["field"], name.split(".")[0], row["size"], "yes" if row["loop"] else "no"]
        writer.writerow([date, machine, *what, *times, row["kernels"], row["launches"]])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--after", nargs="*", default=[])
    parser.add_argument("--csv", action="store_true")
    parser.add_argument("--date", default="")
    parser.add_argument("--machine", default="")
    options = parser.parse_args()
    rows, again = read(options.files), read(options.after)
    if options.csv:
        write_csv(rows, options.date, options.machine)
        return

    print("| group | programs | run | cold start | in a running process |")
    print("|---|---|---|---|---|")
    for name, names in groups(rows):
        runs = mean(ratio(rows[n], "ours", "xla") for n in names)
        colds = mean(ratio(rows[n], "cold", "xla_cold") for n in names)
        warmed = mean(ratio(rows[n], "running", "xla_cold") for n in names)
        print(f"| {name} | {len(names)} | {number(runs)} | {number(colds)} | {number(warmed)} |")

    heads = ["program", "time", "XLA", "ratio", "cold", "XLA", "ratio", "kernels", "launches"]
    heads += ["ratio after", "cold after", "launches after"] if again else []
    print(f"\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name, row in ordered(rows):
        cells = [
            time(row["ours"]),
            time(row["xla"]),
            number(ratio(row, "ours", "xla")),
            time(row["cold"]),
            time(row["xla_cold"]),
            number(ratio(row, "cold", "xla_cold")),
            str(row["kernels"]),
            str(row["launches"]),
        ]
        if again:
            after = again.get(name)
            cells += [
                number(ratio(after, "ours", "xla")),
                number(ratio(after, "cold", "xla_cold")),
                str(after["launches"]) if after else "",
            ]
        print(f"| {name} | {' | '.join(cells)} |")


main()
