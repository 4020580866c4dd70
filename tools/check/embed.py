# SPDX-License-Identifier: Apache-2.0
"""Turns programs into a C file with the table of `halo check`.

usage: embed.py OUT.c FILE.hlo...   Lines "// title: ...", "// inputs: ...", "// functions: ..." and "// differences: ..." before a
module fill a row's fields; the row's file is the file's name without ".hlo".
"""
import pathlib
import sys

DIFFERENCES = {"": "CHECK_RELATIVE", "relative to the largest": "CHECK_BY_LARGEST", "none": "CHECK_EQUAL"}

out = ['/* Made by tools/check/embed.py; do not edit. */\n#include "check.h"\n\nconst check_program check_programs[] = {\n']
for name in sys.argv[2:]:
    path = pathlib.Path(name)
    lines = path.read_text().splitlines()
    fields = dict(line[3:].split(": ", 1) for line in lines if line.startswith("// "))
    unknown = fields.keys() - {"title", "inputs", "functions", "differences"}
    differences = fields.pop("differences", "")
    if unknown or "title" not in fields or differences not in DIFFERENCES:
        sys.exit(f"{name}: its heading is not understood")
    out.append(f'    {{.file = "{path.stem}",\n')
    out += [f'     .{key} = "{value}",\n' for key, value in fields.items()]
    out.append(f"     .differences = {DIFFERENCES[differences]},\n     .text =\n")
    out += [f'         "{line}\\n"\n' for line in lines if line and not line.startswith("// ")]
    out.append("    },\n")
out.append("    {0}};\n")
pathlib.Path(sys.argv[1]).write_text("".join(out))
