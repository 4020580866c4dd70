# SPDX-License-Identifier: Apache-2.0
"""Turns the page of `halo bench report` and the results that throughput is relative to into a C file.

usage: embed_page.py OUT.c REPORT.html STANDARD.json
"""
import pathlib
import sys


def literal(text):
    lines = []
    for line in text.splitlines(keepends=True):
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("??", "?\\?")
        lines.append(f'    "{escaped}"\n')
    return "".join(lines).rstrip("\n") + ";\n"


before, behind = pathlib.Path(sys.argv[2]).read_text().split("@RESULTS@")
standard = pathlib.Path(sys.argv[3]).read_text()
out = '/* Made by tools/bench/embed_page.py; do not edit. */\n#include "bench/comparison.h"\n#include "bench/report.h"\n'
for name, text in (("bench_page_before", before), ("bench_page_behind", behind), ("bench_standard", standard)):
    out += f"\nconst char {name}[] =\n{literal(text)}"
pathlib.Path(sys.argv[1]).write_text(out)
