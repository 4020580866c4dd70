#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums up a run of `meson test`: what went wrong, then "N passed, N failed" as the last line.

A Check program counts with each of its checks, a program whose own last line is such a sum with that,
any other test as one. usage: test_summary.py BUILD [LOG...]: all logs of the folder, or those of these names
"""
import glob
import json
import re
import sys

CHECK_LINE = re.compile(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)$", re.MULTILINE)
PART_LINE = re.compile(r"^skipped: (.*)$", re.MULTILINE)  # of a test that ran in part
SUM_LINE = re.compile(r"^(\d+) passed, (\d+) failed\n*\Z", re.MULTILINE)
GOOD = {"OK", "EXPECTEDFAIL"}


def main():
    folder = sys.argv[1] + "/meson-logs/"
    logs = [folder + name + ".json" for name in sys.argv[2:]] or glob.glob(folder + "testlog*.json")
    if not logs:
        sys.exit("test_summary.py: no test log: the tests did not run")
    passed = failed = 0
    bad, skipped = [], []
    for log in logs:
        for line in open(log, encoding="utf-8"):
            test = json.loads(line)
            totals = [tuple(map(int, m)) for m in CHECK_LINE.findall(test.get("stdout") or "")]
            own = SUM_LINE.search(test.get("stdout") or "")
            if own:
                totals.append((int(own[1]) + int(own[2]), int(own[2]), 0))
            checks = sum(t[0] for t in totals)
            wrong = sum(t[1] + t[2] for t in totals)
            if test["result"] == "SKIP":
                why = (test.get("stdout") or "").strip().splitlines()[-1:]
                skipped.append((test["name"], *why))
                continue
            skipped += [(test["name"], why) for why in PART_LINE.findall(test.get("stdout") or "")]
            if test["result"] not in GOOD:
                bad.append((test["name"], test["result"], wrong))
                wrong = max(wrong, 1)
            passed += max(checks, 1 if wrong == 0 else wrong) - wrong
            failed += wrong
    for name, result, wrong in bad:
        print(f"  {result.lower()}: {name}" + (f" ({wrong} checks)" if wrong else ""))
    for skip in skipped:
        print(f"  not run: {': '.join(skip)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or passed == 0 else 0


sys.exit(main())
