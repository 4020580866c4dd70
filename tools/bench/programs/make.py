# SPDX-License-Identifier: Apache-2.0
"""Makes the programs of `halo bench programs`: hlo/*.hlo, as JAX lowers the functions of this folder. Sizes that differ
in numbers only share a file (sizes.py).

    python -m venv env && env/bin/pip install -r ../../tests/ops/requirements.txt
    env/bin/python tools/bench/programs/make.py [NAME ...]

Nothing of this is needed to run them. A file begins with lines that start with `//!`: what it is,
`//! program FIELD SIZE`, and for each parameter how it is made up, `//! input RECIPE`.
"""

import itertools
import os
import pathlib
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from programs import catalogue, sizes

HLO = HERE / "hlo"
LARGEST = 72_000


def files(programs):
    """The files of one program's sizes: name -> text."""
    groups = []  # of sizes that share a text
    for program in programs:
        for group in groups:
            text = merge([*group, program])
            if text is not None:
                group.append(program)
                break
        else:
            groups.append([program])
    return {g[0].function + (".hlo" if len(g) > 1 else f".{g[0].size}.hlo"): merge(g) for g in groups}


def merge(group):
    if len(group) == 1:
        return group[0].text()
    names = [n for n, v in group[0].numbers.items() if isinstance(v, int) and any(p.numbers[n] != v for p in group)]
    return sizes.merge(
        {p.size: p.text() for p in group},
        {p.size: {n: p.numbers[n] for n in names} for p in group},
    )


def main(wanted):
    functions = {p.function for p in catalogue.load()}
    for name in wanted:
        if not any(name in function for function in functions):
            raise SystemExit(f"{name}: no function of that name; sizes of a function are made together")
    for function, programs in itertools.groupby(catalogue.load(), lambda p: p.function):
        if wanted and not any(name in function for name in wanted):
            continue
        made = files(list(programs))
        for name, text in made.items():
            if len(text) > LARGEST:
                raise SystemExit(f"{name}: {len(text)} bytes are too many to keep")
        for old in HLO.glob(f"{function}.*"):
            old.unlink()
        for name, text in made.items():
            (HLO / name).write_text(text)
            print(f"{name}: {len(text)} bytes", flush=True)
    sizes.LIST.write_text(sizes.list_files(), encoding="utf-8")


main(sys.argv[1:])
