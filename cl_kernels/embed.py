# SPDX-License-Identifier: Apache-2.0
"""Turns OpenCL C files into a C file with one string constant each, without comments.

usage: embed.py OUT.c HOLES.def FILE.cl...   FILE.cl becomes `const char halo_cl_FILE[]`, and a row of halo_cl_files.

Files of helpers are cut at lines that begin with "//!" into sections (lib/kernel/prelude.h), which programs get in the
order of the files.

In templates, which begin with "#ifndef H_NAME" and the defaults of their macros, the texts that depend on the form of a
kernel become holes (lib/kernel/holes.def).
"""
import pathlib
import re
import sys


def lines_of(path):
    """The lines of a file, and of those that it includes, without comments ("//!" marks stay) and without blanks that mean nothing."""
    text = re.sub(r'^#include "(.*)"$', lambda m: (path.parent / m[1]).read_text(), path.read_text(), flags=re.M)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
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
    for word, byte in holes.items():
        if word:
            text = text.replace(word, byte)
    return text


def literal(text):
    """A text as C string literals, one a line."""
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    text = re.sub(r"[\x01-\x08\x0e-\x1f]", lambda m: f"\\{ord(m[0]):03o}", text)
    return "".join(f'    "{line}\\n"\n' for line in text.splitlines()) or '    ""\n'


TYPED = re.compile(r"H_\w+\((\w+),")  # a line that makes one type's helpers from a macro
sections, pieces = {}, []  # by name, in order: what it needs; the section, file, start and length of each piece


def cut(stem, text):
    """Notes the sections of a file of helpers and the pieces of its text."""
    section, typed, at = None, {}, 0
    for line in text.splitlines(keepends=True):
        if line.startswith("//! "):
            section, _, needs = line[4:].strip().partition(" : ")
            sections[section], typed[section] = needs.split(), set()
        elif section and TYPED.match(line):
            typed[section].add(TYPED.match(line)[1])
    section = None
    for line in text.splitlines(keepends=True):
        if line.startswith("//! "):
            section = line[4:].split()[0]
        elif section:
            name, own = section, TYPED.match(line)
            if own and len(typed[section]) > 1:
                name = f"{section}.{own[1]}"
                sections.setdefault(name, [section])
            if pieces and pieces[-1][:2] == [name, stem] and sum(pieces[-1][2:]) == at:
                pieces[-1][3] += len(line)
            else:
                pieces.append([name, stem, at, len(line)])
        at += len(line)


def with_needs(name, found):
    """Adds a section and all that it needs."""
    if name not in found:
        found.add(name)
        for other in sections[name]:
            with_needs(other, found)
    return found


def section_rows():
    """The tables of sections and pieces, for lib/kernel/prelude.c."""
    numbers, words = {name: i for i, name in enumerate(sections)}, 8  # HALO_SECTIONS_MOST / 64
    yield "const halo_cl_section halo_cl_sections[] = {\n"
    for name in sections:
        bits = [0] * words
        for needed in with_needs(name, set()):
            bits[numbers[needed] // 64] |= 1 << numbers[needed] % 64
        yield f'    {{"{name}", {{{{{", ".join(f"{word:#x}u" for word in bits)}}}}}}},\n'
    yield "    {0}};\nconst halo_cl_piece halo_cl_pieces[] = {\n"
    for name, stem, at, length in pieces:
        yield f"    {{{numbers[name]}, halo_cl_{stem} + {at}, {length}}},\n"
    yield "    {0}};\n"


HEAD = "#ifndef H_NAME\n"
out = ["/* Made by cl_kernels/embed.py; do not edit. */\n",
       '#include "kernel/prelude.h"\n#include "kernels/template.h"\n\n']
rows = []
holes = holes_of(pathlib.Path(sys.argv[2]))
for name in sys.argv[3:]:
    path = pathlib.Path(name)
    text, head = "".join(f"{line}\n" for line in lines_of(path)), ""
    if text.startswith(HEAD):
        end = text.index("\n#endif\n") + len("\n#endif\n")
        if re.search(r"get_group_id\([12]\)", text):
            sys.exit(f"{name}: a launch may be cut along y and z, where only get_global_id counts the groups before the cut")
        head, text = text[:end], with_holes(text[end:], holes)
    else:
        cut(path.stem, text)
    out.append(f"extern const char halo_cl_{path.stem}[];\nconst char halo_cl_{path.stem}[] =\n{literal(text)}    ;\n")
    example = f"{path.stem}_example"  # the kernel that the defaults of a template's holes make
    kernel = f'"{example}"' if example in path.read_text() else "0"
    rows.append(f'    {{"{path.name}",\n{literal(head)}    , halo_cl_{path.stem}, {kernel}}},\n')
out += ["const halo_cl_file halo_cl_files[] = {\n", *rows, "    {0}};\n", *section_rows()]
pathlib.Path(sys.argv[1]).write_text("".join(out))
