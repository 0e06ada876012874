"""conftest.py - what the tests of all libraries share

RS_LOT=n asks for one in n of the cases of each parametrized test, those that RS_SEED draws, and for all cases of files
that RS_TOUCHED names, as tests/support/lot.h does.
SPDX-License-Identifier: MIT
"""
import collections
import os
import time
import zlib

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
TOUCHED = os.environ.get("RS_TOUCHED", "").split()


def pytest_collection_modifyitems(config, items):
    turns = collections.Counter()
    taken, left = [], []
    for item in items:
        test = item.nodeid.split("[")[0]
        turn = zlib.crc32(test.encode()) + turns[test]
        turns[test] += 1
        whole = not hasattr(item, "callspec") or item.path.stem in TOUCHED
        (taken if whole or turn % LOT == SEED % LOT else left).append(item)
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
