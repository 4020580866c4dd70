# SPDX-License-Identifier: Apache-2.0
"""Makes the programs of `halo bench programs`: hlo/NAME.hlo, as JAX lowers the functions of this folder.

    python -m venv env && env/bin/pip install -r ../../tests/ops/requirements.txt
    env/bin/python tools/bench/programs/make.py [NAME ...]

Nothing of this is needed to run them. A file begins with lines that start with `//!`: what it is,
`//! program FIELD SIZE`, and for each parameter how it is made up, `//! input RECIPE`.
"""

import os
import pathlib
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from programs import catalogue

LARGEST = 60_000


def main(names):
    wanted = [p for p in catalogue.load() if not names or any(n in p.name for n in names)]
    (HERE / "hlo").mkdir(exist_ok=True)
    for program in wanted:
        text = program.text()
        if len(text) > LARGEST:
            raise SystemExit(f"{program.name}: {len(text)} bytes are too many to keep")
        (HERE / "hlo" / f"{program.name}.hlo").write_text(text)
        print(f"{program.name}: {len(text)} bytes", flush=True)


main(sys.argv[1:])
