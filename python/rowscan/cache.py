"""cache.py - the cache of kernels on disk: what is in it, and packs of it for other machines

SPDX-License-Identifier: MIT
"""
from . import _core


def info():
    """What the cache holds and has done, as a dict.

    path            directory; "" if nothing is kept on disk, and why says why
    why
    entries, bytes  kernels on disk, and their size
    limit_bytes     what it may hold
    packs           packs that are read beside it; pack_entries: kernels in them
    counts          of all processes that used it: hits, misses, compiles, saved_ms (compiling that hits made
                    needless), evictions, damaged, rejected (by the driver)

    >>> sorted(rowscan.cache.info())
    ['bytes', 'counts', 'entries', 'limit_bytes', 'pack_entries', 'packs', 'path', 'why']
    """
    return _core.cache_info()


def entries():
    """The kernels of the cache and of packs: a list of dicts.

    name    file name
    key     text that the kernel is found by: its spec, architecture and compiler
    bytes
    used    time of last use, in seconds since 1970
    damage  None, or what is wrong with it
    pack    the pack that has it; None: on disk
    """
    return _core.cache_entries()


def prune():
    """Does at once what the cache does by itself now and then, and returns a dict of what went and what is left.

    removed, removed_bytes  kernels that were not used for longest, over the limit
    swept, swept_bytes      files that processes left which were killed
    left, left_bytes
    """
    return _core.cache_prune()


def clear():
    """Removes all kernels from disk. Returns how many there were, and their bytes."""
    return _core.cache_clear()


def export(file, archs=None, spec=None):
    """Writes a pack: one file of kernels, for other machines and processes.

    file   its name
    archs  list of architectures, ["sm_90"]; default: all
    spec   fields that kernels must have, "in=f32 reverse=1"; default: all

    The kernels are those on disk, and those of the packs that are in use. The same kernels make the same bytes. Raises
    CacheFailed, and writes nothing, if there is no kernel for one of the architectures, or none at all.

    Returns a dict: entries, those left out as damaged, and bytes of the pack.
    """
    return _core.cache_export(file, archs, spec)


def import_(file):
    """Puts the kernels of a pack into the cache.

    file  a pack that export() wrote

    Returns a dict of counts: entries of the pack, of them added, present (already), damaged, failed (to be written).
    """
    return _core.cache_import(file)
