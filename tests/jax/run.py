# SPDX-License-Identifier: Apache-2.0
"""run.py: JAX's functions on Halocline's plugin against JAX's CPU backend, in one process.

    python tests/jax/run.py [--platform halo] [--short | --brief] [--x64] [--group NAME] [--match TEXT] [--list]

Each group of cases runs in a process of its own, so that a crash costs what is left of one group, and is counted:
the group is taken up again behind the case that ended it. Ends with "N passed, N failed".
"""

import argparse
import os
import subprocess
import sys
import threading
import time

MODULES = ["cases_lax", "cases_numpy", "cases_program", "cases_values", "cases_export", "cases_devices", "cases_api", "cases_foreign", "cases_several"]
# How many devices of each platform the groups of a module want, where it is not one.
DEVICES = {"devices": 8, "several": 4}


def devices(name):
  """The number of devices of each platform that a group wants."""
  module, rest = name.split(".", 1)
  return int(rest) if module == "brief" else DEVICES.get(module, 1)


def groups():
  import importlib
  for module in MODULES:
    for group in importlib.import_module(module).GROUPS:
      yield f"{module.removeprefix('cases_')}.{group.__name__}", group


def brief(wanted):
  """A few cases of each group that wants so many devices, spread over it."""
  few = 4
  for name, group in groups():
    if devices(name) != wanted: continue
    cases = list(group())
    step = max(1, len(cases) // few)
    yield from cases[step // 2::step][:few]


def brief_names():
  return [f"brief.{count}" for count in sorted({1, *DEVICES.values()})]


def by_name(name):
  return (lambda: brief(devices(name))) if name.startswith("brief.") else dict(groups())[name]


def selected(group, options):
  for i, case in enumerate(group()):
    if options.match and options.match not in case.name: continue
    if options.short and i % 7: continue
    yield i, case


def worker(options):
  """Runs one group from a case on: a line for each, so that the caller knows which one ended the process."""
  import warnings
  warnings.filterwarnings("ignore")
  import jax
  jax.config.update("jax_enable_x64", options.x64)
  import check
  judge, device = jax.devices("cpu")[0], jax.devices(options.platform)[0]
  print("READY 0", flush=True)
  group = by_name(options.group)
  for i, case in selected(group, options):
    if i < options.start: continue
    print(f"BEGIN {i} {case.name}", flush=True)
    wrong, seconds = check.run(case, judge, device)
    print(f"{'FAIL' if wrong else 'PASS'} {i} {seconds:.2f} {' '.join((wrong or '').split())}", flush=True)
    if i % 50 == 49: jax.clear_caches()


def environment(name):
  """The variables of a group's process: those of some groups are for several devices."""
  count, variables = devices(name), dict(os.environ)
  if count == 1: return variables
  device = variables.get("HALO_DEVICE", "cpu")
  variables["HALO_DEVICE"] = device if "*" in device or "," in device else f"{device}*{count}"
  variables["XLA_FLAGS"] = f"{variables.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={count}".strip()
  return variables


def supervise(name, options):
  passed, failures, start = 0, [], 0
  while True:
    command = [sys.executable, os.path.abspath(__file__), "--worker", "--group", name, "--start", str(start), "--platform", options.platform]
    command += (["--short"] if options.short else []) + (["--x64"] if options.x64 else []) + (["--match", options.match] if options.match else [])
    process = subprocess.Popen(command, env=environment(name), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    current, ready = None, False
    errors = []
    reader = threading.Thread(target=lambda: errors.extend(process.stderr.readlines()[-15:]))
    reader.start()
    watchdog = None
    for line in process.stdout:
      word, i, rest = (line.rstrip("\n").split(" ", 2) + [""])[:3]
      if watchdog: watchdog.cancel()
      ready = ready or word == "READY"
      if word == "BEGIN":
        current = (int(i), rest)
        watchdog = threading.Timer(options.timeout, process.kill)
        watchdog.start()
      elif word == "PASS":
        passed, current = passed + 1, None
      elif word == "FAIL":
        failures.append((current[1], rest.split(" ", 1)[1]))
        current = None
    if watchdog: watchdog.cancel()
    process.wait()
    reader.join()
    if not ready:
      sys.exit(f"The platform {options.platform} is not there:\n{''.join(errors).strip()}")
    if current:
      failures.append((current[1], f"the process ended ({process.returncode}): {''.join(errors).strip()[-600:]}"))
      start = current[0] + 1
      continue
    if process.returncode:
      failures.append((name, f"the process ended ({process.returncode}): {''.join(errors).strip()[-600:]}"))
    return passed, failures


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--platform", default="halo")
  parser.add_argument("--short", action="store_true", help="each seventh case")
  parser.add_argument("--brief", action="store_true", help="a few cases of each group, in few processes")
  parser.add_argument("--x64", action="store_true", help="with 64-bit types")
  parser.add_argument("--group", help="one group only")
  parser.add_argument("--match", help="cases whose names hold this text")
  parser.add_argument("--timeout", type=float, default=120, help="seconds for a case")
  parser.add_argument("--list", action="store_true")
  parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
  parser.add_argument("--start", type=int, default=0, help=argparse.SUPPRESS)
  options = parser.parse_args()
  sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
  if options.worker:
    return worker(options)
  if options.list:
    os.environ["JAX_PLATFORMS"] = "cpu"
    for name, group in [(n, by_name(n)) for n in brief_names()] if options.brief else groups():
      for i, case in selected(group, options):
        print(name, case.name)
    return 0
  os.environ.setdefault("JAX_TRACEBACK_FILTERING", "off")
  os.environ.setdefault("JAX_PLATFORMS", options.platform if options.platform == "cpu" else options.platform + ",cpu")
  names = brief_names() if options.brief else [options.group] if options.group else [name for name, _ in _names()]
  passed = failed = 0
  for name in names:
    start = time.time()
    good, bad = supervise(name, options)
    passed, failed = passed + good, failed + len(bad)
    print(f"{name}: {good} passed, {len(bad)} failed, {time.time() - start:.0f} s", flush=True)
    for case, why in bad:
      print(f"  {case}: {why}", flush=True)
  print(f"{passed} passed, {failed} failed")
  return 1 if failed else 0


def _names():
  """The groups' names, without JAX in this process."""
  import re
  here = os.path.dirname(os.path.abspath(__file__))
  for module in MODULES:
    text = open(os.path.join(here, module + ".py")).read()
    for group in re.search(r"^GROUPS = \[(.*)\]", text, re.M).group(1).split(", "):
      yield f"{module.removeprefix('cases_')}.{group}", None


if __name__ == "__main__":
  sys.exit(main())
