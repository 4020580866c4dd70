# SPDX-License-Identifier: Apache-2.0
"""wheel.py ROOT WHEEL: the wheel's name, files, metadata and library."""
import email
import logging
import os
import pathlib
import re
import sys
import tempfile
import types
import zipfile

from elftools.elf.elffile import ELFFile

ALLOWED = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libz.so.1", "ld-linux-x86-64.so.2"}
EXPORTED = {"GetPjrtApi", "HaloCompileProgress", "HaloDoctor"}
LIMIT = 2_000_000

root, path = map(pathlib.Path, sys.argv[1:])
version = re.search(r"version: '(.*)'", (root / "meson.build").read_text()).group(1)
failures = 0


def check(what, found, expected):
    global failures
    if found != expected:
        failures += 1
        print(f"wheel.py: {what} is {found!r}, not {expected!r}")


tag = "py3-none-manylinux_2_28_x86_64"
check("its name", path.name, f"jax_halo-{version}-{tag}.whl")
size = path.stat().st_size
check(f"size, {size}, under {LIMIT}", size < LIMIT, True)

wheel = zipfile.ZipFile(path)
info = f"jax_halo-{version}.dist-info"
python = {f"jax_halo/{file.name}" for file in (root / "python/jax_halo").glob("*.py")}
about = {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "top_level.txt", "licenses/LICENSE")}
check("the list of its files", set(wheel.namelist()), python | about | {"jax_halo/libhalo_pjrt.so"})

tags = email.message_from_bytes(wheel.read(f"{info}/WHEEL"))
check("Root-Is-Purelib", tags["Root-Is-Purelib"], "false")
check("Tag", tags.get_all("Tag"), [tag])

data = email.message_from_bytes(wheel.read(f"{info}/METADATA"))
for name, expected in {
    "Name": "jax-halo", "Version": version, "License-Expression": "Apache-2.0", "License-File": "LICENSE",
    "Requires-Python": ">=3.11", "Description-Content-Type": "text/markdown"}.items():
    check(name, data[name], expected)
check("Requires-Dist", data.get_all("Requires-Dist"), ["jax>=0.9.2", 'pocl-binary-distribution>=3.0; extra == "pocl"'])
check("its readme", data.get_payload().strip(), (root / "python/README.md").read_text().strip())
check("its licence", wheel.read(f"{info}/licenses/LICENSE"), (root / "LICENSE").read_bytes())
check("its entry point", b"[jax_plugins]\nhalo = jax_halo" in wheel.read(f"{info}/entry_points.txt"), True)

library = ELFFile(wheel.open("jax_halo/libhalo_pjrt.so"))
check("the library's table of symbols", library.get_section_by_name(".symtab"), None)
dynamic = library.get_section_by_name(".dynamic")
needed = {entry.needed for entry in dynamic.iter_tags("DT_NEEDED")}
check("a list of needed libraries that manylinux does not have", needed - ALLOWED, set())
symbols = library.get_section_by_name(".dynsym").iter_symbols()
check("what it exports", {symbol.name for symbol in symbols if symbol["st_shndx"] != "SHN_UNDEF" and symbol.name}, EXPORTED)

# As one imports it, and what it says of versions of jax.
sys.path.insert(0, str(path))
import jax_halo  # pylint: disable=wrong-import-position
from jax_halo import driver  # pylint: disable=wrong-import-position
from jax_halo.version import trouble  # pylint: disable=wrong-import-position

check("__version__", jax_halo.__version__, version)
for good in ("0.9.2", "0.10.2", "0.12.0.1", "0.13.0.dev20261128", "1.0"):
    check(f"what it says of jax {good}", trouble(good), None)
check("what it says of jax 0.9.1", "needs jax 0.9.2 or newer, and this is jax 0.9.1" in (trouble("0.9.1") or ""), True)

# The driver of jax-halo[pocl], or one that stands for it, is named where the system has none and nobody chose one.
with tempfile.TemporaryDirectory() as name:
    place = pathlib.Path(name)
    (place / "pocl_binary_distribution").mkdir()
    (place / "pocl_binary_distribution/__init__.py").touch()
    (place / "pyopencl/.libs").mkdir(parents=True)
    (place / "pyopencl/.libs/pocl.icd").write_text("libpocl.so\n")
    (place / "system").mkdir()
    sys.path.insert(0, name)
    driver._SYSTEM = place / "system"
    logging.disable()
    for variable in driver._CHOSEN:
        os.environ.pop(variable, None)
    both = ["ld", "gcc"]
    cases = (both, None, str(place / "pyopencl/.libs")), (["ld"], None, None), (both, "/chosen", "/chosen")
    for found, chosen, expected in cases:
        os.environ.pop("OCL_ICD_VENDORS", None)
        if chosen:
            os.environ["OCL_ICD_VENDORS"] = chosen
        driver.shutil = types.SimpleNamespace(which=lambda program, found=found: program if program in found else None)
        driver.offer()
        check(f"OCL_ICD_VENDORS, with {found} and {chosen}", os.environ.get("OCL_ICD_VENDORS"), expected)
    os.environ.pop("OCL_ICD_VENDORS", None)
    (place / "system/other.icd").touch()
    driver.offer()
    check("OCL_ICD_VENDORS, with a driver of the system", os.environ.get("OCL_ICD_VENDORS"), None)
sys.exit(failures != 0)
