# cache.pyi - the types of rowscan.cache
# SPDX-License-Identifier: MIT
from collections.abc import Sequence
from os import PathLike
from typing import TypeAlias, TypedDict

_File: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]

class _Counts(TypedDict):
    hits: int
    misses: int
    compiles: int
    saved_ms: float
    evictions: int
    damaged: int
    rejected: int

class _Info(TypedDict):
    path: str
    why: str
    packs: int
    pack_entries: int
    entries: int
    bytes: int
    limit_bytes: int
    counts: _Counts

class _Entry(TypedDict):
    name: str
    key: str | None
    bytes: int
    used: int
    damage: str | None
    pack: str | None

class _Pruned(TypedDict):
    removed: int
    removed_bytes: int
    swept: int
    swept_bytes: int
    left: int
    left_bytes: int

class _Exported(TypedDict):
    entries: int
    damaged: int
    bytes: int

class _Imported(TypedDict):
    entries: int
    added: int
    present: int
    damaged: int
    failed: int

def info() -> _Info: ...
def entries() -> list[_Entry]: ...
def prune() -> _Pruned: ...
def clear() -> tuple[int, int]: ...
def export(file: _File, archs: Sequence[str] | None = None, spec: str | None = None) -> _Exported: ...
def import_(file: _File) -> _Imported: ...
