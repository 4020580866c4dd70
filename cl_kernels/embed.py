"""Turns OpenCL C files into a C file with one string constant each.

usage: embed.py OUT.c FILE.cl...   FILE.cl becomes `const char halo_cl_FILE[]`.
"""
import pathlib
import sys

out = ["/* Made by cl_kernels/embed.py; do not edit. */\n"]
for name in sys.argv[2:]:
    path = pathlib.Path(name)
    out.append(f"extern const char halo_cl_{path.stem}[];\nconst char halo_cl_{path.stem}[] =\n")
    for line in path.read_text().splitlines():
        text = line.rstrip().replace("\\", "\\\\").replace('"', '\\"')
        out.append(f'    "{text}\\n"\n')
    out.append("    ;\n")
pathlib.Path(sys.argv[1]).write_text("".join(out))
