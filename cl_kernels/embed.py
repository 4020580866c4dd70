# SPDX-License-Identifier: Apache-2.0
"""Turns OpenCL C files into a C file with one string constant each, without comments.

usage: embed.py OUT.c FILE.cl...   FILE.cl becomes `const char halo_cl_FILE[]`, and a row of halo_cl_files.
"""
import pathlib
import re
import sys


def lines_of(path):
    """The lines of a file without comments ("//!" marks stay) and without blanks that mean nothing."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    for line in text.splitlines():
        line = re.sub(r"\s*\\$", " \\\\", line.rstrip())
        if line.strip() not in ("", "\\"):
            yield re.sub(r"^ +", " ", line)


out = ["/* Made by cl_kernels/embed.py; do not edit. */\n#include \"kernels/template.h\"\n\n"]
rows = []
for name in sys.argv[2:]:
    path = pathlib.Path(name)
    out.append(f"extern const char halo_cl_{path.stem}[];\nconst char halo_cl_{path.stem}[] =\n")
    # prelude.c looks for marks behind a line end
    out.append('    "\\n"\n' if "\n//! " in path.read_text() else "")
    for line in lines_of(path):
        text = line.replace("\\", "\\\\").replace('"', '\\"')
        out.append(f'    "{text}\\n"\n')
    out.append("    ;\n")
    example = f"{path.stem}_example"  # the kernel that the defaults of a template's holes make
    kernel = f'"{example}"' if example in path.read_text() else "0"
    rows.append(f'    {{"{path.name}", halo_cl_{path.stem}, {kernel}}},\n')
out += ["const halo_cl_file halo_cl_files[] = {\n", *rows, "    {0}};\n"]
pathlib.Path(sys.argv[1]).write_text("".join(out))
