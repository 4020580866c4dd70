# SPDX-License-Identifier: Apache-2.0
"""The charts of README.md and docs/performance.md, as SVG, from the tables in docs/data.

    python3 tools/charts.py            writes docs/images/*.svg
    python3 tools/charts.py --check    says which of them are out of date

Only Python's standard library is needed. Each picture carries its own background, in a light and a dark
version, so that it is legible on any page.
"""

import argparse
import csv
import math
import pathlib
import sys
import xml.sax.saxutils

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "docs" / "data"
IMAGES = ROOT / "docs" / "images"
WIDTH = 840

STYLE = """<style>
  text { font: 13px -apple-system, "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; fill: #24292f; }
  .title { font-size: 17px; font-weight: 600; }
  .note { font-size: 12px; fill: #57606a; }
  .back { fill: #ffffff; stroke: #d0d7de; }
  .grid { stroke: #d8dee4; } .one { stroke: #57606a; stroke-width: 1.5; }
  .mean { stroke: #24292f; stroke-width: 3; } .line { fill: none; stroke-width: 2.5; }
  .a { fill: #2f8fd0; } .b { fill: #0a9b74; } .c { fill: #d9660f; }
  .pale { fill-opacity: 0.4; }
  .line.a { stroke: #2f8fd0; fill: none; } .line.c { stroke: #d9660f; fill: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .note { fill: #9ea7b3; }
    .back { fill: #0d1117; stroke: #30363d; }
    .grid { stroke: #30363d; } .one { stroke: #9ea7b3; } .mean { stroke: #e6edf3; }
  }
</style>"""


def rows(name):
    with open(DATA / name, newline="") as file:
        return list(csv.DictReader(file))


def mean(values):
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


class Picture:
    def __init__(self, height, title, notes):
        self.height = height
        self.parts = [f'<rect class="back" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>']
        self.label = title
        self.text(20, 30, title, "title")
        for i, note in enumerate(notes):
            self.text(20, 52 + 18 * i, note, "note")

    def text(self, x, y, text, kind="", anchor="start"):
        self.parts.append(
            f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
            f"{xml.sax.saxutils.escape(text)}</text>"
        )

    def line(self, x1, y1, x2, y2, kind):
        self.parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def dot(self, x, y, radius, kind, name):
        self.parts.append(
            f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill-opacity="0.85">'
            f"<title>{xml.sax.saxutils.escape(name)}</title></circle>"
        )

    def bar(self, x, y, width, height, kind):
        self.parts.append(
            f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2"/>'
        )

    def svg(self):
        label = xml.sax.saxutils.quoteattr(self.label)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{self.height}" '
            f'viewBox="0 0 {WIDTH} {self.height}" role="img" aria-label={label}>\n{STYLE}\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )


def times(value):
    return f"{value:.2g}×" if value < 10 else f"{value:.0f}×"


def strips(title, notes, groups, kinds, low, high):
    """A row for each of `groups`, {name: [(kind, times as fast as XLA, what)]}, with a dot for each value, on a
    logarithmic axis from 2^low to 2^high. `kinds` are the dots' colours and radii by name."""
    left, right, top, step = 130, 75, 112, 34
    bottom = top + step * len(groups)
    picture = Picture(bottom + 40, title, notes)

    def place(value):
        return left + (math.log2(value) - low) / (high - low) * (WIDTH - left - right)

    x = 20
    for name, (kind, radius) in kinds.items():
        picture.dot(x + 6, 84, radius, kind, name)
        picture.text(x + 18, 88.5, name)
        x += 40 + 8 * len(name)
    picture.line(x + 6, 77, x + 6, 91, "mean")
    picture.text(x + 16, 88.5, "geometric mean of the row (numbers on the right)")
    for power in range(low, high + 1):
        value = 2.0**power
        picture.line(place(value), top, place(value), bottom, "one" if power == 0 else "grid")
        label = "XLA" if power == 0 else f"1/{2**-power}×" if power < 0 else f"{2**power}×"
        picture.text(place(value), bottom + 20, label, "note", "middle")
    for i, (name, values) in enumerate(groups.items()):
        y = top + step * (i + 0.5)
        picture.text(left - 12, y + 4.5, name, "", "end")
        for kind, value, what in values:
            lane = list(kinds).index(kind) - (len(kinds) - 1) / 2
            picture.dot(place(value), y + 9 * lane, kinds[kind][1], kinds[kind][0], f"{what}: {times(value)}")
        centre = mean([value for _, value, _ in values])
        picture.line(place(centre), y - 14, place(centre), y + 14, "mean")
        picture.text(WIDTH - 20, y + 4.5, times(centre), "", "end")
    return picture.svg()


SIZES = {"small": ("a", 3.5), "medium": ("b", 4.5), "large": ("c", 5.5)}
MACHINE_B = "2 cores of an Intel Xeon with AVX-512, PoCL 3.1, 2026-11-27"


def by_field(ours, xla):
    """{field: [(size, times as fast, program)]} of the programs, the fields with the largest gains first."""
    groups = {}
    for row in rows("programs.csv"):
        speed = float(row[xla]) / float(row[ours])
        groups.setdefault(row["field"], []).append((row["size"], speed, f'{row["program"]}.{row["size"]}'))
    everything = [value for values in groups.values() for _, value, _ in values]
    order = sorted(groups, key=lambda name: -mean([value for _, value, _ in groups[name]]))
    return {name: groups[name] for name in order}, everything


def programs():
    groups, everything = by_field("run_s", "xla_run_s")
    notes = [
        f"{MACHINE_B}. A dot is a program; those right of the line run faster than on XLA.",
    ]
    title = f"{len(everything)} JAX programs against XLA's CPU backend: {mean(everything):.1f}× as fast on average"
    return strips(title, notes, groups, SIZES, -1, 5)


def starts():
    groups, everything = by_field("cold_s", "xla_cold_s")
    notes = [
        f"{MACHINE_B}. Compilation and first run with empty caches; ours in a new process.",
    ]
    title = f"First starts of the same programs: {mean(everything):.1f}× as fast on average"
    return strips(title, notes, groups, SIZES, -2, 3)


def elementwise():
    groups = {}
    for row in rows("elementwise.csv"):
        if row["operation"] == f'convert to {row["type"]}':
            continue  # nothing to do
        for key, kind in (("ratio_1m", "1M elements"), ("ratio_16m", "16M elements")):
            if row[key]:
                speed = 1 / float(row[key])
                groups.setdefault(row["type"], []).append((kind, speed, f'{row["operation"]} {row["type"]}'))
    notes = ["2 cores of an AMD EPYC with AVX-512, PoCL 3.1, 2026-11-23. A dot is an operation at one size."]
    kinds = {"1M elements": ("a", 4), "16M elements": ("c", 4)}
    everything = [value for values in groups.values() for _, value, _ in values]
    title = f"Elementwise operations against XLA's CPU backend: {mean(everything):.1f}× as fast on average"
    return strips(title, notes, groups, kinds, -1, 6)


def limits():
    data = rows("limits.csv")
    left, right, top, step = 230, 30, 112, 24
    bottom = top + step * len(data)
    notes = ["Percent of what hand-written OpenCL reaches on the same device, measured in turns; pale: the range."]
    picture = Picture(bottom + 40, "Kernels against the machine's own limits", notes)

    def place(percent):
        return left + percent / 136 * (WIDTH - left - right)

    picture.bar(20, 79, 12, 12, "c")
    picture.text(38, 90, "of the rate of fused multiply-adds")
    picture.bar(290, 79, 12, 12, "a")
    picture.text(308, 90, "of the bandwidth of a triad (three arrays)")
    for percent in (0, 25, 50, 75, 100, 125):
        picture.line(place(percent), top, place(percent), bottom, "one" if percent == 100 else "grid")
        picture.text(place(percent), bottom + 20, f"{percent} %", "note", "middle")
    for i, row in enumerate(data):
        y = top + step * i
        low, high = float(row["low"]), float(row["high"])
        kind = {"bandwidth": "a", "arithmetic": "c"}[row["limit"]]
        name = f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"
        picture.text(left - 12, y + 17, row["benchmark"], "", "end")
        picture.bar(place(0), y + 5, place(high) - place(0), step - 10, kind + " pale")
        picture.bar(place(0), y + 5, place(low) - place(0), step - 10, kind)
        picture.text(max(place(high), place(100) if high > 86 else 0) + 8, y + 17, name, "note")
    return picture.svg()


def history():
    """Geometric means of all programs of `halo bench programs`, ours to XLA's time, from day to day."""
    data = rows("programs-history.csv")
    left, right, top, bottom = 70, 40, 84, 330
    notes = ["Our time divided by XLA's, so that less is better; machines A, A2 and B one after the other."]
    picture = Picture(bottom + 62, "How the programs became faster", notes)

    def place_x(i):
        return left + (i + 0.5) * (WIDTH - left - right) / len(data)

    def place_y(value):
        return bottom - (math.log2(value) + 2.4) / (2.7 + 2.4) * (bottom - top)

    for power in range(-2, 3):
        y = place_y(2.0**power)
        picture.line(left, y, WIDTH - right, y, "one" if power == 0 else "grid")
        picture.text(left - 10, y + 4, "XLA" if power == 0 else f"{2.0 ** power:g}", "note", "end")
    for i, row in enumerate(data):
        picture.text(place_x(i), bottom + 20, row["date"][5:], "note", "middle")
        picture.text(place_x(i), bottom + 36, row["machine"], "note", "middle")
    for key, kind, name in (("cold", "c", "first start"), ("run", "a", "run")):
        points = [(place_x(i), place_y(float(row[key])), row[key]) for i, row in enumerate(data) if row[key]]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
        picture.parts.append(f'<polyline class="line {kind}" points="{path}"/>')
        for x, y, value in points:
            picture.dot(x, y, 4.5, kind, f"{name}: {value}")
            picture.text(x, y - 10, value, "", "middle")
    picture.dot(WIDTH - 200, 66, 4.5, "c", "first start")
    picture.text(WIDTH - 190, 70.5, "first start")
    picture.dot(WIDTH - 100, 66, 4.5, "a", "run")
    picture.text(WIDTH - 90, 70.5, "run")
    return picture.svg()


CHARTS = {"programs": programs, "starts": starts, "elementwise": elementwise, "limits": limits, "history": history}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a picture is out of date")
    check = parser.parse_args().check
    stale = []
    for name, chart in CHARTS.items():
        path = IMAGES / f"{name}.svg"
        text = chart()
        if not path.exists() or path.read_text() != text:
            stale.append(path.relative_to(ROOT))
            if not check:
                IMAGES.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
    for path in stale:
        print(f"{path}: {'out of date: python3 tools/charts.py' if check else 'written'}")
    sys.exit(1 if check and stale else 0)


main()
