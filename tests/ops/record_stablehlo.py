# SPDX-License-Identifier: Apache-2.0
"""Records StableHLO programs of the recorded cases, for test_stablehlo_ops to compare with their HLO text.

    env/bin/python record_stablehlo.py        (the environment is record.py's; run that first)

Functions that JAX lowers (the cases of recorder/program.py) are what JAX sends to a device; of all others XLA makes
StableHLO from their HLO text. A case is kept when it has an operation with attributes, or of an element type, that no smaller
one has. What comes out, data/stablehlo.npz, has the members FAMILY/CASE.mlir (text) and FAMILY/CASE.vhlo
(portable artifacts, for StableHLO 1.13).
"""

import importlib
import pathlib
import re

import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import _jax
from jaxlib.mlir import ir

from recorder import program, xla

HERE = pathlib.Path(__file__).parent
VERSION = "1.13.7"
LOWERED = ["models", "real"]
# Complex functions are written out in artifacts of this version, which gives other bits.
WITHOUT_ARTIFACT = ["unary_complex"]
# What the evaluator takes long for.
SLOW = ["window.cumulative"]
LARGEST = 30_000


def recorded(family):
    """(case, its HLO text) of a data file."""
    cases, lines = [], None
    for line in (HERE / "data" / f"{family}.hlo").read_text().split("\n"):
        if line.startswith("//! case "):
            lines = []
            cases.append((line[9:], lines))
        elif not line.startswith("//!") and lines is not None:
            lines.append(line)
    return [(name, "\n".join(lines)) for name, lines in cases]


def from_jax(family):
    return {
        case.name: case.lowered.as_text(debug_info=True)
        for case in importlib.import_module(f"recorder.{family}").cases()
        if isinstance(case, program.Program)
    }


def signatures(operation, found):
    """Each operation's name with its attributes, and with its element type, regions included."""
    for region in operation.regions:
        for block in region:
            for op in (view.operation for view in block):
                first = re.sub(r"\d+x|\?x", "", str(op.results[0].type)) if op.results else ""
                names = [a if isinstance(a, str) else a.name for a in op.attributes]
                if op.name != "func.func":
                    found |= {(op.name, *sorted(names)), (op.name, first)}
                signatures(op, found)
    return found


def candidates():
    for path in sorted((HERE / "data").glob("*.hlo")):
        family = path.stem
        if not (HERE / "data" / f"{family}.npz").exists():
            continue
        lowered = from_jax(family) if family in LOWERED else {}
        for name, hlo in recorded(family):
            if name in SLOW:
                continue
            try:
                text = lowered[name] if name in lowered else xla._stablehlo(hlo)
                with mlir.make_ir_context():
                    module = ir.Module.parse(text)
                    found = signatures(module.operation, set())
                    text = text if name in lowered else str(module)
                    code = mlir.module_to_bytecode(module)
                artifact = _jax.mlir.serialize_portable_artifact(code, VERSION)
            except Exception:  # not an operation of StableHLO, or none that XLA reads
                continue
            if any(signature[0].startswith("mhlo.") for signature in found) or len(text) > LARGEST:
                continue
            yield family, name, text, artifact, found


def main():
    members, seen, kept = {}, set(), 0
    for family, name, text, artifact, found in sorted(candidates(), key=lambda c: len(c[2])):
        if found <= seen:
            continue
        seen |= found
        kept += 1
        members[f"{family}/{name}.mlir"] = np.frombuffer(text.encode(), np.uint8)
        if family not in WITHOUT_ARTIFACT:
            members[f"{family}/{name}.vhlo"] = np.frombuffer(artifact, np.uint8)
    path = HERE / "data" / "stablehlo.npz"
    np.savez_compressed(path, **dict(sorted(members.items())))
    print(f"{kept} cases, {len(seen)} forms of operations, {path.stat().st_size / 1024:.0f} KiB")


main()
