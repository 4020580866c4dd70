# SPDX-License-Identifier: Apache-2.0
"""Draws the rooms of lib/ and which of them includes which, from the table of tools/check_floors.

    python3 tools/docs/rooms.py            writes docs/images/rooms.svg
    python3 tools/docs/rooms.py --check    says whether it is out of date

A room stands above all rooms that it includes. A line leads to a room below unless another line leads there by way of
a third room. Only Python's standard library is needed.
"""

import importlib.machinery
import importlib.util
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PICTURE = ROOT / "docs" / "images" / "rooms.svg"
WIDTH, ROW, BOX, HIGH, TOP = 840, 76, 88, 32, 76

# Rooms that include nothing but the public interface.
PUBLIC = ("mpi", "pjrt")
KINDS = {
    "way": ("the way of a program", "hlo passes plan exec client"),
    "in": ("ways in and out", "text proto stablehlo builder pjrt"),
    "device": ("devices and messages", "opencl cpu tcp collectives mpi"),
    "other": ("what these stand on", ""),
}
STYLE = """<style>
  text { font: 13px -apple-system, "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; fill: #24292f; }
  .title { font-size: 17px; font-weight: 600; }
  .note { font-size: 12px; fill: #57606a; }
  .back { fill: #ffffff; stroke: #d0d7de; }
  .line { fill: none; stroke: #8c959f; stroke-width: 1.2; stroke-opacity: 0.7; }
  .box { stroke-width: 1.5; }
  .way { fill: #d6eaf8; stroke: #2f8fd0; } .in { fill: #d5f0e6; stroke: #0a9b74; }
  .device { fill: #fbe3d3; stroke: #d9660f; } .other { fill: #f6f8fa; stroke: #8c959f; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .note { fill: #9ea7b3; }
    .back { fill: #0d1117; stroke: #30363d; } .line { stroke: #6e7681; }
    .way { fill: #10324a; } .in { fill: #0b3a2e; } .device { fill: #4a2a10; } .other { fill: #161b22; }
  }
</style>"""


def floors():
    """Room -> rooms that it includes, single headers too; of two that include each other, what the larger one includes."""
    loader = importlib.machinery.SourceFileLoader("check_floors", str(ROOT / "tools" / "check_floors"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_floors", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    below = {room: {name.split("/")[0] for name in may.split()} for room, may in module.MAY.items()}
    for room, others in below.items():
        below[room] = {o for o in others if room not in below[o] or len(others) > len(below[o])}
    for room in PUBLIC:
        below[room] = {"client"}
    return below


def reduced(below):
    """The same without what follows from the rest."""
    def reach(room, seen):
        for other in below[room] - seen:
            seen.add(other)
            reach(other, seen)
        return seen

    return {room: {o for o in others if not any(o in reach(p, set()) for p in others if p != o)}
            for room, others in below.items()}


def levels(below):
    """How many rooms stand on one another under each."""
    level = {}

    def of(room):
        if room not in level:
            level[room] = max((of(other) + 1 for other in below[room]), default=0)
        return level[room]

    for room in below:
        of(room)
    return level


def kind_of(room):
    return next((kind for kind, (_, names) in KINDS.items() if room in names.split()), "other")


def places(lines, level):
    """Room -> (x, y) of its box's centre, and the lines as lists of points. Rows by level; a line that passes rows has a
    place of its own in each of them, so that it runs beside the boxes."""
    top = max(level.values())
    rows = [[room for room in sorted(lines) if level[room] == n] for n in range(top + 1)]
    joined, paths = {room: set() for room in lines}, []
    for room in sorted(lines):
        for other in sorted(lines[room]):
            path = [room, *((room, other, n) for n in range(level[room] - 1, level[other], -1)), other]
            for n, stop in zip(range(level[room], level[other] - 1, -1), path):
                if isinstance(stop, tuple):
                    rows[n].append(stop)
                    joined[stop] = set()
            for one, two in zip(path, path[1:]):
                joined[one].add(two)
                joined[two].add(one)
            paths.append(path)
    x = {}

    def spread(row):
        wide = [1.0 if isinstance(stop, str) else 0.35 for stop in row]
        for i, stop in enumerate(row):
            x[stop] = (sum(wide[:i]) + wide[i] / 2) / sum(wide)

    for row in rows:
        spread(row)
    for sweep in range(60):
        for row in rows if sweep % 2 else reversed(rows):
            row.sort(key=lambda stop: (sum(x[o] for o in joined[stop]) / max(len(joined[stop]), 1) if joined[stop] else 0.5,
                                       str(stop)))
            spread(row)
    at = {}
    for n, row in enumerate(rows):
        for stop in row:
            at[stop] = (20 + x[stop] * (WIDTH - 40), TOP + (top - n) * ROW + HIGH)
    return at, paths, top


def picture():
    below = floors()
    lines, level = reduced(below), levels(below)
    at, paths, top = places(lines, level)
    height = TOP + (top + 1) * ROW
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
           'role="img" aria-label="The rooms of lib/: each includes only rooms below it">', STYLE,
           f'<rect class="back" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
           '<text class="title" x="20" y="30">The rooms of lib/: each includes only rooms below it</text>']
    place = 20
    for kind, (text, _) in KINDS.items():
        out.append(f'<rect class="box {kind}" x="{place}" y="44" width="14" height="14" rx="3"/>'
                   f'<text class="note" x="{place + 20}" y="56">{text}</text>')
        place += 60 + 7 * len(text)
    for path in paths:
        text = ""
        for one, two in zip(path, path[1:]):
            (x1, y1), (x2, y2) = at[one], at[two]
            y1, y2 = y1 + HIGH / 2 * isinstance(one, str), y2 - HIGH / 2 * isinstance(two, str)
            bend = (y2 - y1) / 2
            text += (f"M{x1:.0f} {y1:.0f}" if not text else "") + (
                f" C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2:.0f}")
        out.append(f'<path class="line" d="{text}"/>')
    for room in sorted(lines):
        x, y = at[room]
        out.append(f'<rect class="box {kind_of(room)}" x="{x - BOX / 2:.0f}" y="{y - HIGH / 2:.0f}" width="{BOX}" '
                   f'height="{HIGH}" rx="6"/><text x="{x:.0f}" y="{y + 4.5:.0f}" text-anchor="middle">{room}</text>')
    return "\n".join([*out, "</svg>", ""])


def main():
    text = picture()
    if sys.argv[1:] == ["--check"]:
        if not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != text:
            sys.exit("docs/images/rooms.svg is out of date: python3 tools/docs/rooms.py draws it")
        print("docs/images/rooms.svg: up to date")
        return
    PICTURE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
