# SPDX-License-Identifier: Apache-2.0
"""JAX's compilation cache on disk, which asks for the platform's name."""


class _Listed:
    """What the cache looks at: a platform that it knows, whose executables can be serialised."""

    platform = "gpu"
    supports_executable_serialization = True


def install(platform):
    from jax._src import compilation_cache

    original = compilation_cache.is_cache_used

    def is_cache_used(backend):
        return original(_Listed if backend.platform == platform else backend)

    compilation_cache.is_cache_used = is_cache_used
