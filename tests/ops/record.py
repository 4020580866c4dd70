# SPDX-License-Identifier: Apache-2.0
"""Records what XLA's CPU backend gives for every op, for test_ops to compare with.

    python -m venv env && env/bin/pip install -r requirements.txt
    env/bin/python record.py [FAMILY ...]

A family is one file of recorder/: it yields modules, and for each its inputs and, result by result,
a label (the element type or what is special) and how many ULP a result may be away, with a reason.
What comes out, data/FAMILY.hlo and data/FAMILY.npz, is committed; nothing of this is needed to run
the tests. In the .hlo, lines that start with `//!` are read by tests/ops/data.c:

    //! case NAME                       a new case; the module's text follows
    //! inputs MEMBER                   the .npz member with all arguments' bytes in order (of a module
                                        for several replicas or partitions: device by device)
    //! outputs MEMBER                  likewise the results
    //! sizes N...                      of the results' dynamic dimensions, in order
    //! result LABEL BOUND REASON...    one for each result, in order
"""

import hashlib
import importlib
import pathlib
import sys

import numpy as np

from recorder import xla

HERE = pathlib.Path(__file__).parent
FAMILIES = [
    "unary",
    "unary_complex",
    "binary",
    "compare",
    "ternary",
    "convert",
    "f8",
    "denormal",
    "flushed",
    "movement",
    "shuffle",
    "indexing",
    "scatter",
    "scan",
    "stencil",
    "sort",
    "topk",
    "window",
    "reduce",
    "dot",
    "conv",
    "norm",
    "rows",
    "attention",
    "linalg",
    "random",
    "fft",
    "ragged",
    "real",
    "models",
    "bench",
    "arrays",
    "lapack",
    "control",
    "dynamic",
    "nested",
    "collective",
    "shared",
    "forms",
]


def record(family):
    members, text, results = {}, [], 0

    def member(kind, arrays):
        data = b"".join(xla.to_bytes(a) for a in arrays)
        name = f"{kind}-{hashlib.sha256(data).hexdigest()[:10]}"
        members[name] = np.frombuffer(data, np.uint8)
        return name

    for case in importlib.import_module(f"recorder.{family}").cases():
        hlo = case.text()
        try:
            if case.expected is not None:
                outputs = case.expected
            elif isinstance(case, xla.SharedCase):
                outputs = xla.run_shared(case)
            else:
                outputs = xla.run(hlo, case.inputs)
        except Exception as error:
            raise SystemExit(f"{family} {case.name}: {error}\n{hlo}") from error
        case.finish(outputs)
        text += [
            f"//! case {case.name}",
            f"//! inputs {member('in', case.inputs)}",
            f"//! outputs {member('out', outputs)}",
        ]
        if case.sizes:
            text.append(f"//! sizes {' '.join(map(str, case.sizes))}")
        text += [
            f"//! result {label} {bound} {reason}".rstrip() for label, bound, reason in case.bounds
        ]
        text += [hlo, ""]
        results += len(outputs)
    (HERE / "data" / f"{family}.hlo").write_text("\n".join(text))
    np.savez_compressed(HERE / "data" / f"{family}.npz", **members)
    size = (HERE / "data" / f"{family}.npz").stat().st_size
    print(f"{family}: {results} results, {size / 1024:.0f} KiB", flush=True)


if __name__ == "__main__":
    for name in sys.argv[1:] or FAMILIES:
        record(name)
