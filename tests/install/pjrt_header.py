#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pjrt_header.py HEADER OURS COMPILER...: compares our declarations of PJRT with the official header.

HEADER is xla/pjrt/c/pjrt_c_api.h in a tree of headers; headers of extensions beside it are compared too. OURS is
lib/pjrt/c_api.h. Both declare the same names, so each is compiled by itself, into a program that prints the place and size of
each field of each structure, and the value of each enumerator. A structure of another version may be longer or shorter: what both
have must agree. Without HEADER: a skip (77).
"""
import pathlib
import re
import subprocess
import sys
import tempfile

# Structures that the official headers have under several names, and where ours differ in names of fields. Fields are then
# compared by their order.
NAMES = {
    "PJRT_Layouts_Buffer_MemoryLayout_Args": ["PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args"],
    "PJRT_Layouts_GetDefaultLayout_Args": ["PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args",
                                           "PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args"],
    "PJRT_Layouts_Executable_Args": ["PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args",
                                     "PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args"],
    "PJRT_Shardings_Args": ["PJRT_Shardings_PJRT_Executable_ParameterShardings_Args",
                            "PJRT_Shardings_PJRT_Executable_OutputShardings_Args"],
    "PLUGIN_Profiler_Args": [f"PLUGIN_Profiler_{name}_Args" for name in ("Destroy", "Start", "Stop")],
    "PLUGIN_Profiler_Error_Args": ["PLUGIN_Profiler_Error_Destroy_Args"],
}
# Structures of which the plugin gives or reads the first fields only, as their own size or a pointer to them allows.
BEGINNINGS = ["PJRT_FFI_Type_Info", "PLUGIN_Profiler_Api"]
EXTENSIONS = ["custom_partitioner", "ffi", "layouts", "memory_descriptions", "profiler", "shardings", "gpu"]


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def compiles(compiler, root, text):
    command = [*compiler, "-std=gnu11", "-w", f"-I{root}", "-fsyntax-only", "-x", "c", "-"]
    return subprocess.run(command, input=text, stderr=subprocess.DEVNULL, text=True).returncode == 0


def fields(body):
    """The names of a structure's fields, in order; those of unions without a name count as fields."""
    body = re.sub(r"\b(?:union|struct)\s*\{([^{}]*)\}\s*;", r"\1", body)
    names = []
    for declaration in body.split(";"):
        declaration = declaration.strip()
        function = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", declaration)
        if function:
            names.append(function.group(1))
            continue
        for part in declaration.split(","):
            name = re.search(r"(\w+)\s*(?:\[[^\]]*\])?$", part.strip())
            if name:
                names.append(name.group(1))
    return names


def declarations(text):
    """{structure: fields} and the enumerators of a preprocessed header."""
    structures, enumerators = {}, []
    for match in re.finditer(r"\bstruct\s+(\w+)\s*\{((?:[^{}]|\{[^{}]*\})*)\}", text):
        structures[match.group(1)] = fields(match.group(2))
    for match in re.finditer(r"\benum\b[^{};]*\{([^{}]*)\}", text):
        if "(" not in match.group(1):  # a size that the compiler works out, not a number of the interface
            enumerators += re.findall(r"(?:^|,)\s*(PJRT_\w+)", match.group(1))
    return structures, enumerators


class Header:
    """What a C file that includes some headers declares of PJRT, and where the compiler puts it."""

    def __init__(self, compiler, folder, name, include, paths):
        command = [*compiler, "-std=gnu11", "-w", *[f"-I{path}" for path in paths]]
        source = folder / f"{name}.c"
        source.write_text(include)
        text = run(*command, "-E", "-P", str(source))
        self.structures, self.enumerators = declarations(text)
        self.structures = {s: f for s, f in self.structures.items() if s.startswith(("PJRT_", "PLUGIN_"))}
        lines = [include, "#include <stddef.h>", "#include <stdio.h>", "int main(void) {"]
        for structure, names in self.structures.items():
            lines += [f'printf("{structure} {f} %zu %zu\\n", offsetof(struct {structure}, {f}), '
                      f"sizeof(((struct {structure} *)0)->{f}));" for f in names]
        lines += [f'printf("= {e} %d\\n", (int){e});' for e in self.enumerators]
        lines += ['printf("= PJRT_API_MINOR %d\\n", PJRT_API_MINOR);', "return 0; }"]
        source.write_text("\n".join(lines))
        run(*command, "-o", str(folder / name), str(source))
        self.places, self.values = {}, {}
        for line in run(str(folder / name)).splitlines():
            first, second, *numbers = line.split()
            if first == "=":
                self.values[second] = int(numbers[0])
            else:
                self.places.setdefault(first, []).append((second, *map(int, numbers)))
        self.minor = self.values.pop("PJRT_API_MINOR")


def base(name):
    """Slots of tables of functions are named with the prefix of their functions in official headers."""
    return re.sub(r"^(PJRT|PLUGIN)_", "", name)


def compare(ours, official):
    """The differences, in sentences, and how many structures, fields and enumerators were compared."""
    wrong, counts = [], [0, 0, 0]
    for structure, mine in ours.places.items():
        for other in NAMES.get(structure, [structure]):
            theirs = official.places.get(other)
            if theirs is None:
                continue
            counts[0] += 1
            exact = other == structure and not structure.endswith("_Extension") and structure != "PLUGIN_Profiler_Api"
            for (name, *place), (their_name, *their_place) in zip(mine, theirs):
                counts[1] += 1
                if place != their_place:
                    wrong.append(f"{structure}.{name}: at byte {place[0]} with {place[1]} bytes; official "
                                 f"{other}.{their_name}: {their_place[0]} and {their_place[1]}")
                elif exact and base(name) != base(their_name):
                    wrong.append(f"{structure}.{name} is called {their_name} in the official header")
            longer = len(mine) - len(theirs)
            shorter_is_wrong = ours.minor >= official.minor and structure not in BEGINNINGS
            if (longer > 0 and ours.minor <= official.minor) or (longer < 0 and shorter_is_wrong):
                wrong.append(f"{structure} has {len(mine)} fields; {len(theirs)} in the official header of version "
                             f"0.{official.minor}")
    for name, value in ours.values.items():
        if name in official.values:
            counts[2] += 1
            if value != official.values[name]:
                wrong.append(f"{name} is {value}; {official.values[name]} in the official header")
    return wrong, counts


def main():
    header, mine, *compiler = sys.argv[1:]
    if not header:
        print("skipped: configure with -Dpjrt_header=PATH/xla/pjrt/c/pjrt_c_api.h to compare with the official header")
        return 77
    header, mine = pathlib.Path(header), pathlib.Path(mine)
    if not header.is_file():
        print(f"{header} is not there")
        return 1
    root = header.resolve().parents[3]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ours = Header(compiler, folder, "ours", '#include "pjrt/c_api.h"\n', [mine.parents[1]])
        include = '#include "xla/pjrt/c/pjrt_c_api.h"\n'
        for extension in EXTENSIONS:
            file = f"pjrt_c_api_{extension}_extension.h"
            line = f'#include "xla/pjrt/c/{file}"\n'
            if not (header.parent / file).is_file():
                print(f"not compared: {file} is not beside the header")
            elif compiles(compiler, root, include + line):
                include += line
            else:
                print(f"not compared: {file} does not compile as C, or headers that it includes are not there")
        official = Header(compiler, folder, "official", include, [root])
    wrong, (structures, places, enumerators) = compare(ours, official)
    for sentence in wrong:
        print(sentence)
    print(f"ours: version 0.{ours.minor}; official: 0.{official.minor}; {structures} structures, {places} fields and "
          f"{enumerators} enumerators compared, {len(wrong)} differences")
    absent = [s for s in ours.places if not any(o in official.places for o in NAMES.get(s, [s]))]
    print("only in ours:", ", ".join(absent) or "none")
    return 1 if wrong or structures < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
