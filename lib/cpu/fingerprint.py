# SPDX-License-Identifier: Apache-2.0
"""Writes a header with a number for the contents of files.

usage: fingerprint.py OUT.h FILE...
"""
import hashlib
import pathlib
import sys

digest = hashlib.sha256(b"".join(pathlib.Path(name).read_bytes() for name in sys.argv[2:])).hexdigest()
pathlib.Path(sys.argv[1]).write_text(
    f"/* Made by lib/cpu/fingerprint.py; do not edit. */\n#define CPU_FINGERPRINT 0x{digest[:8]}u\n")
