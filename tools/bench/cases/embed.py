# SPDX-License-Identifier: Apache-2.0
"""Turns the cases of `halo bench` into a C file with a table of their texts.

usage: embed.py OUT.c FILE.hlo...
"""
import pathlib
import sys

out = ['/* Made by tools/bench/cases/embed.py; do not edit. */\n#include "bench/cases.h"\n\n#include <stddef.h>\n\nconst bench_case_file bench_case_files[] = {\n']
for name in sys.argv[2:]:
    path = pathlib.Path(name)
    out.append(f'    {{"{path.name}",\n')
    for line in path.read_text().splitlines():
        escaped = line.replace("\\", "\\\\").replace('"', '\\"')
        out.append(f'     "{escaped}\\n"\n')
    out.append("    },\n")
out.append("    {NULL, NULL}};\n")
pathlib.Path(sys.argv[1]).write_text("".join(out))
