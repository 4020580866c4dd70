# SPDX-License-Identifier: Apache-2.0
"""Turns OpenCL C files into a C file with one string constant each, without comments.

usage: embed.py OUT.c HOLES.def FILE.cl...   FILE.cl becomes `const char halo_cl_FILE[]`, and a row of halo_cl_files.

In templates, which begin with "#ifndef H_NAME" and the defaults of their macros, the texts that depend on the form of a
kernel become holes (lib/kernel/holes.def).
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


def holes_of(path):
    """The texts that become holes, each with its byte."""
    rows = re.findall(r'HALO_HOLE\(\w+, (\d+), "([^"]*)"', re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S))
    return {text: chr(int(byte)) for byte, text in rows}


def with_holes(text, holes):
    """A template's text with holes."""
    text = re.sub(r"(__kernel void \w+\()", lambda m: m[1] + holes[""], text)
    text = re.sub(r"__attribute__\(\(reqd_work_group_size\((.*?)\)\)\)",
                  lambda m: holes["__attribute__((reqd_work_group_size("] + m[1] + holes[")))"], text)
    for word, byte in holes.items():
        if word not in ("", ")))"):
            text = text.replace(word, byte)
    return text


def literal(text):
    """A text as C string literals, one a line."""
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    text = re.sub(r"[\x01-\x08\x0e-\x1f]", lambda m: f"\\{ord(m[0]):03o}", text)
    return "".join(f'    "{line}\\n"\n' for line in text.splitlines()) or '    ""\n'


HEAD = "#ifndef H_NAME\n"
out = ["/* Made by cl_kernels/embed.py; do not edit. */\n#include \"kernels/template.h\"\n\n"]
rows = []
holes = holes_of(pathlib.Path(sys.argv[2]))
for name in sys.argv[3:]:
    path = pathlib.Path(name)
    text, head = "".join(f"{line}\n" for line in lines_of(path)), ""
    if text.startswith(HEAD):
        end = text.index("\n#endif\n") + len("\n#endif\n")
        head, text = text[:end], with_holes(text[end:], holes)
    elif "\n//! " in path.read_text():
        text = "\n" + text  # prelude.c looks for marks behind a line end
    out.append(f"extern const char halo_cl_{path.stem}[];\nconst char halo_cl_{path.stem}[] =\n{literal(text)}    ;\n")
    example = f"{path.stem}_example"  # the kernel that the defaults of a template's holes make
    kernel = f'"{example}"' if example in path.read_text() else "0"
    rows.append(f'    {{"{path.name}",\n{literal(head)}    , halo_cl_{path.stem}, {kernel}}},\n')
out += ["const halo_cl_file halo_cl_files[] = {\n", *rows, "    {0}};\n"]
pathlib.Path(sys.argv[1]).write_text("".join(out))
