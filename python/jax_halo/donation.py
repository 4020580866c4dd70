# SPDX-License-Identifier: Apache-2.0
"""Arguments whose memory a program may take over."""


def install(platform):
    from jax._src.interpreters import mlir

    if platform not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(platform)
