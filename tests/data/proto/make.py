# SPDX-License-Identifier: Apache-2.0
"""Makes the HLO protos that test_proto reads: what XLA makes of ../hlo/NAME.hlo, and of the modules here.

    python -m venv env && env/bin/pip install jax==0.10.2 jaxlib==0.10.2
    env/bin/python make.py

NAME.pb is an HloModuleProto as XLA serialises it, and is committed; nothing of this is needed to run the tests.
"""

import pathlib

from jaxlib import _hlo

HERE = pathlib.Path(__file__).parent
NAMES = """cmplx cond conv conv_compiled dot fft gather gather_debug ints iota map mlp_compiled mlp_debug
    pad poolgrad rbg reduce2 scan scatter slice sort_compiled topk_compiled types while_compiled"""


def main():
    modules = {name: HERE.parent / "hlo" / f"{name}.hlo" for name in NAMES.split()}
    modules |= {path.stem: path for path in HERE.glob("*.hlo")}
    for name, path in modules.items():
        module = _hlo.hlo_module_from_text(path.read_text())
        (HERE / f"{name}.pb").write_bytes(module.as_serialized_hlo_module_proto())


if __name__ == "__main__":
    main()
