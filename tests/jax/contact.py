# SPDX-License-Identifier: Apache-2.0
"""contact.py: what the package says where JAX would go another way, or wait, without a word.

    python tests/jax/contact.py

Each case is a process of its own. Ends with "N passed, N failed".
"""
import os
import re
import subprocess
import sys
import tempfile

DEVICES = "import jax; print(jax.devices())"
# Enough kernels that a processor compiles them for a second or more.
SLOW = """
import jax, jax.numpy as jnp
def f(x):
  for i in range(60):
    x = jnp.sin(jnp.sort(x, axis=1) @ x * (1.0 / (i + 2.25)))
  return x
jax.jit(f)(jnp.ones((33, 33))).block_until_ready()
"""


def python(code, **variables):
  """What it prints, and what it says on stderr."""
  environment = {name: value for name, value in os.environ.items() if name not in ("JAX_PLATFORMS", "HALO_DEVICE")}
  done = subprocess.run([sys.executable, "-c", code], env=environment | variables, capture_output=True, text=True,
                        timeout=300, check=False)
  return done.stdout, done.stderr


def wrong_device():
  out, err = python(DEVICES, HALO_DEVICE="no-such-device")
  assert "CpuDevice" in out, (out, err)
  assert err.count("JAX does not use OpenCL, but another platform: NOT_FOUND: HALO_DEVICE=no-such-device: ") == 1, err
  assert "there are: 0:0 " in err, err


def no_device():
  out, err = python(DEVICES, HALO_CPU="off", OCL_ICD_VENDORS="/nonexistent")
  assert "CpuDevice" in out and err.count("JAX does not use OpenCL, but another platform: ") == 1, (out, err)
  assert "no OpenCL device" in err, err


def named_platform():
  """Who asks for the platform gets JAX's error, and no warning beside it."""
  out, err = python(DEVICES, HALO_DEVICE="no-such-device", JAX_PLATFORMS="halo")
  assert "RuntimeError: Unable to initialize backend 'halo'" in err and "does not use" not in err, (out, err)


def device_name():
  out, err = python(DEVICES, HALO_DEVICE="cpu")
  assert out.startswith("[HaloDevice(id=0, ") and "pthread-" not in out and not err, (out, err)


def all_devices():
  out, err = python(DEVICES, HALO_DEVICE="all*2")
  assert "HaloDevice(id=1, " in out, (out, err)


def found_twice():
  """JAX calls initialize for each entry point that names the package."""
  twice = "import jax_halo; jax_halo.initialize(); jax_halo.initialize()\n"
  out, err = python(twice + DEVICES, HALO_DEVICE="cpu", JAX_PLATFORMS="halo")
  assert out.startswith("[HaloDevice(id=0, ") and not err, (out, err)


def slow_compilation():
  with tempfile.TemporaryDirectory() as folder:
    # However fast the machine is, it takes longer than that.
    impatient = "import jax_halo.progress as progress\nprogress._PATIENCE, progress._PAUSE = 0.5, 0.1\n"
    _, err = python(impatient + SLOW, HALO_DEVICE="cpu", HALO_CACHE_DIR=folder, POCL_CACHE_DIR=folder)
    assert re.search(r"compiling \(\d+ of \d+ kernels after \d+ s\); later runs reuse them|compiling \(no kernel yet", err), err
    _, err = python(SLOW, HALO_DEVICE="cpu", HALO_CACHE_DIR=folder, POCL_CACHE_DIR=folder)
    assert "compiling" not in err, err


def main():
  failed = 0
  cases = [wrong_device, no_device, named_platform, device_name, all_devices, found_twice, slow_compilation]
  for case in cases:
    try:
      case()
    except Exception as error:  # pylint: disable=broad-except
      failed += 1
      print(f"{case.__name__}: {error!r}", flush=True)
  print(f"{len(cases) - failed} passed, {failed} failed")
  return failed != 0


if __name__ == "__main__":
  sys.exit(main())
