"""conftest.py - what the tests of all libraries share

RS_LOT=n asks for one in n of the tests and of the cases of parametrized ones, those that RS_SEED draws, and for four
times as many of the file that RS_TOUCHED names, as tests/support/lot.h does; if it names several, they share that. -k
torch, -k jax: the tests that have it as a fixture, in their source or in their module.
SPDX-License-Identifier: MIT
"""
import collections
import inspect
import os
import time
import zlib
from pathlib import Path

import pytest

# JAX would take three quarters of a GPU's memory for each process of pytest-xdist.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

try:
    from hypothesis import HealthCheck, settings
except ImportError:  # tests that need it are skipped
    pass
else:
    settings.register_profile("rowscan", deadline=None, derandomize=True, max_examples=100,
                              suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
    settings.load_profile("rowscan")


LOT, SEED = int(os.environ.get("RS_LOT") or 1), int(os.environ.get("RS_SEED") or time.time())
TOUCHED = [name for name in os.environ.get("RS_TOUCHED", "").split() if Path(__file__).with_name(f"{name}.py").exists()]
TOUCHED_LOT = min(LOT, (LOT + 3) // 4 * len(TOUCHED))


def pytest_itemcollected(item):
    item.extra_keyword_matches.update(item.fixturenames)
    source = inspect.getsource(item.function)
    item.extra_keyword_matches.update(library for library in ("torch", "jax")
                                      if library in source or hasattr(item.module, library))


def pytest_collection_modifyitems(config, items):
    turns = collections.Counter()
    taken, left = [], []
    for item in items:
        test = item.nodeid.split("[")[0]
        turn = zlib.crc32(test.encode()) + turns[test]
        turns[test] += 1
        lot = TOUCHED_LOT if item.path.stem in TOUCHED else LOT
        (taken if turn % lot == SEED % lot else left).append(item)
    items[:] = taken
    config.hook.pytest_deselected(items=left)


def pytest_terminal_summary(terminalreporter):
    if LOT > 1:
        terminalreporter.write_line(f"RS_LOT={LOT} RS_SEED={SEED}")


# Of tests that are of other libraries too.

@pytest.fixture
def torch():
    module = pytest.importorskip("torch")
    module.manual_seed(0)
    return module


@pytest.fixture
def jax():
    module = pytest.importorskip("jax")
    pytest.importorskip("jax.ffi")
    return module
