# SPDX-License-Identifier: Apache-2.0
"""Turns the viewer of `halo opt --graph` into a C file with two strings: what comes before the graph, and behind it.

usage: embed.py OUT.c VIEW.html
"""
import pathlib
import sys

before, behind = pathlib.Path(sys.argv[2]).read_text().split("@GRAPH@")
out = ['/* Made by tools/graph/embed.py; do not edit. */\n#include "graph.h"\n']
for name, text in (("graph_before", before), ("graph_behind", behind)):
    out.append(f"\nconst char {name}[] =\n")
    for line in text.splitlines(keepends=True):
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("??", "?\\?")
        out.append(f'    "{escaped}"\n')
    out[-1] = out[-1].rstrip("\n") + ";\n"
pathlib.Path(sys.argv[1]).write_text("".join(out))
