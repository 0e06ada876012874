"""cache.py - the cache of kernels on disk: what is in it, and packs of it for other machines

SPDX-License-Identifier: MIT
"""
from . import _core


def info():
    """What the cache holds and has done: a dict of its path, entries, bytes, limit and counts.

    >>> sorted(rowscan.cache.info())[:3]
    ['bytes', 'counts', 'entries']
    """
    return _core.cache_info()


def entries():
    """One dict a kernel: name, key, bytes, time of last use, damage, and the pack that has it (None: on disk)."""
    return _core.cache_entries()


def prune():
    """Does at once what the cache does by itself now and then: a dict of what went and what is left."""
    return _core.cache_prune()


def clear():
    """Removes all entries. Returns how many, and their bytes."""
    return _core.cache_clear()


def export(file, archs=None, spec=None):
    """Writes a pack, a file of kernels for other machines: of `archs` (["sm_90"]), and of a spec ("in=f32 reverse=1").

    Returns a dict: entries, damaged ones left out, and bytes of the pack.
    """
    return _core.cache_export(file, archs, spec)


def import_(file):
    """Puts the kernels of a pack into the cache. Returns a dict: entries, added, present, damaged, failed."""
    return _core.cache_import(file)
