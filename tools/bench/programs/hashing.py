# SPDX-License-Identifier: Apache-2.0
"""Hashes and checksums: integers that wrap, shift and rotate."""

import jax
import jax.numpy as jnp
import numpy as np

from programs.catalogue import integers, program, words


def rotate(x, by):
    return x << by | x >> (32 - by)


@program("hashing", small=dict(keys=32, length=8), large=dict(keys=500000, length=16))
def murmur(keys, length):
    """MurmurHash3 of many keys of some words."""

    def digest(data, seed):
        h = jnp.full(keys, seed)
        for i in range(length):
            k = rotate(data[:, i] * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
            h = rotate(h ^ k, 13) * np.uint32(5) + np.uint32(0xE6546B64)
        h = h ^ np.uint32(4 * length)
        h = (h ^ h >> 16) * np.uint32(0x85EBCA6B)
        h = (h ^ h >> 13) * np.uint32(0xC2B2AE35)
        return h ^ h >> 16

    return digest, (words(keys, length), words())


@program("hashing", small=dict(messages=1, length=64), medium=dict(messages=2000, length=256))
def crc32(messages, length):
    """Byte by byte from a table, which is made on the way."""

    def checksum(data):
        def turn(_, t):
            return jnp.where(t & 1, t >> 1 ^ np.uint32(0xEDB88320), t >> 1)

        table = jax.lax.fori_loop(0, 8, turn, jnp.arange(256, dtype=jnp.uint32))

        def byte(i, c):
            return table[(c ^ data[:, i].astype(jnp.uint32)) & 255] ^ c >> 8

        start = jnp.full(messages, 0xFFFFFFFF, jnp.uint32)
        return ~jax.lax.fori_loop(0, length, byte, start)

    return checksum, (integers(messages, length, high=256, dtype=np.uint8),)


@program("hashing", small=dict(blocks=4), large=dict(blocks=200000))
def chacha(blocks):
    """ChaCha20's key stream, its ten double rounds in a loop."""

    def quarter(s, a, b, c, d):
        s[a] = s[a] + s[b]
        s[d] = rotate(s[d] ^ s[a], 16)
        s[c] = s[c] + s[d]
        s[b] = rotate(s[b] ^ s[c], 12)
        s[a] = s[a] + s[b]
        s[d] = rotate(s[d] ^ s[a], 8)
        s[c] = s[c] + s[d]
        s[b] = rotate(s[b] ^ s[c], 7)

    def stream(secret, nonce):
        text = jnp.array([0x61707865, 0x3320646E, 0x79622D32, 0x6B206574], jnp.uint32)
        fixed = jnp.concatenate([text, secret])
        start = [jnp.full(blocks, fixed[i]) for i in range(12)]
        start += [jnp.arange(blocks, dtype=jnp.uint32)]
        start += [jnp.full(blocks, nonce[i]) for i in range(3)]

        def double_round(_, s):
            s = list(s)
            for i in range(4):
                quarter(s, i, 4 + i, 8 + i, 12 + i)
            for i in range(4):
                quarter(s, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
            return tuple(s)

        end = jax.lax.fori_loop(0, 10, double_round, tuple(start))
        return jnp.stack([a + b for a, b in zip(start, end)], -1)

    return stream, (words(8), words(3))


@program("hashing", small=dict(keys=40, bits=512), large=dict(keys=1000000, bits=1 << 22))
def bloom_filter(keys, bits):
    """Four hashes of each key mark bits; then others are looked up."""

    def hashes(x):
        out = []
        for salt in (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F):
            h = (x ^ x >> 15) * np.uint32(salt)
            out.append((h ^ h >> 13) % np.uint32(bits))
        return jnp.stack(out, -1).astype(jnp.int32)

    def build_and_ask(inserted, asked):
        marked = jnp.zeros(bits, bool).at[hashes(inserted)].set(True)
        found = marked[hashes(asked)].all(-1)
        return found, marked.sum(dtype=jnp.int32)

    return build_and_ask, (words(keys), words(keys))
