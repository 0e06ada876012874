"""conftest.py - what the tests of all libraries share

SPDX-License-Identifier: MIT
"""
import pytest

try:
    from hypothesis import HealthCheck, settings
except ImportError:  # tests that need it are skipped
    pass
else:
    settings.register_profile("rowscan", deadline=None, derandomize=True, max_examples=100,
                              suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
    settings.load_profile("rowscan")


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
