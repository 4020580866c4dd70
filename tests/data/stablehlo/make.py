# SPDX-License-Identifier: Apache-2.0
"""Makes the artifacts that test_stablehlo_bytecode reads, and says what is in them.

    python -m venv env && env/bin/pip install jax==0.10.2 jaxlib==0.10.2
    env/bin/python make.py [NAME ...]

Each NAME.mlir here is a program, whose first line lists the versions of StableHLO that it is written for:
NAME.VERSION.mlirbc. NAME.expected is the program as mlir_print prints it, made by printer.py from what
StableHLO's own reader says, and so the judge of the reader. handmade.py adds what this jaxlib cannot write.
All of it is committed; nothing of this is needed to run the tests.
"""

import pathlib
import sys

from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

import handmade
import printer

HERE = pathlib.Path(__file__).parent


def make(path):
    text = path.read_text()
    versions = text.splitlines()[0].removeprefix("// versions:").split()
    module = ir.Module.parse(text)
    expected = printer.program(module)
    path.with_suffix(".expected").write_text(expected)
    for version in versions:
        fresh = ir.Module.parse(text)  # writing changes a module
        artifact = stablehlo.serialize_portable_artifact(fresh, version, True)
        path.with_suffix(f".{version}.mlirbc").write_bytes(artifact)
        again = stablehlo.deserialize_portable_artifact(module.context, artifact)
        if printer.program(again) != expected:
            print(f"{path.stem} {version}: StableHLO's own reader reads another program")


def main():
    names = sys.argv[1:]
    with jax_mlir.make_ir_context():
        for path in sorted(HERE.glob("*.mlir")):
            if not names or path.stem in names:
                make(path)
    handmade.write(HERE)


if __name__ == "__main__":
    main()
