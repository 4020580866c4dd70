# SPDX-License-Identifier: Apache-2.0
"""Turns the viewer of `halo opt --graph` into a C file with three strings: what comes before the graph, between it and the measured times, and behind them.

usage: embed.py OUT.c VIEW.html
"""
import pathlib
import sys

before, rest = pathlib.Path(sys.argv[2]).read_text().split("@GRAPH@")
between, behind = rest.split("@MEASURED@")
out = ['/* Made by tools/graph/embed.py; do not edit. */\n#include "graph.h"\n']
for name, text in (("graph_before", before), ("graph_between", between), ("graph_behind", behind)):
    out.append(f"\nconst char {name}[] =\n")
    for line in text.splitlines(keepends=True):
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("??", "?\\?")
        out.append(f'    "{escaped}"\n')
    out[-1] = out[-1].rstrip("\n") + ";\n"
pathlib.Path(sys.argv[1]).write_text("".join(out))
