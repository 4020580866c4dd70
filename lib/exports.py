#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exports.py OUTPUT HEADER...: the module definition of the DLL, which exports what the public headers declare by HALO_API."""

import pathlib
import re
import sys

names = set()
for path in sys.argv[2:]:
    names.update(re.findall(r"HALO_API\b[^;{}()]*?\b(halo_\w+)\s*\(", pathlib.Path(path).read_text(encoding="utf-8")))
pathlib.Path(sys.argv[1]).write_text("EXPORTS\n" + "".join(f"  {name}\n" for name in sorted(names)), encoding="utf-8")
