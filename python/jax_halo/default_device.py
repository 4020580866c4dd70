# SPDX-License-Identifier: Apache-2.0
"""jax.default_device by the platform's name, which JAX checks against a list of its own."""


def install(platform):
    from jax._src import config

    parse = config.default_device._parser
    config.default_device._parser = lambda value: value if value == platform else parse(value)
