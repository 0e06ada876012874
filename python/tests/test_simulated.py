"""test_simulated.py - what needs a GPU, on the one that tests/simt simulates: $RS_SIMT is the folder of its libraries

SPDX-License-Identifier: MIT
"""
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("numpy")

SIMT = os.environ.get("RS_SIMT", "")
HERE = pathlib.Path(__file__).resolve().parent
pytestmark = pytest.mark.skipif(not os.path.exists(os.path.join(SIMT, "libcuda.so.1")),
                                reason="the simulated GPU is not built, or $RS_SIMT does not tell where")


def environment(tmp_path, **more):
    before = os.environ.get("LD_LIBRARY_PATH")
    package = pathlib.Path(__import__("rowscan").__file__).parents[1]
    variables = {"LD_LIBRARY_PATH": f"{SIMT}:{before}" if before else SIMT, "ROWSCAN_CACHE": "off",
                 "ROWSCAN_CACHE_PACKS": "off",
                 "ROWSCAN_NVRTC": os.path.join(SIMT, "libnvrtc.so.13"),
                 "PYTHONPATH": f"{HERE / 'simulated'}:{package}"}
    if not os.environ.get("SIMT_CACHE_DIR"):
        variables["SIMT_CACHE_DIR"] = str(tmp_path)
    whole = {name: value for name, value in os.environ.items() if name not in ("RS_LOT", "RS_SEED")}
    return {**whole, **variables, **more}  # of a file that a lot has, all tests: a lot of a lot may have none


def run_tests(env, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("more", [{"SIMT_ASYNC": "1"}, {"SIMT_DEVICES": "2"}], ids=str)
def test_cupy(tmp_path, more):
    told = run_tests(environment(tmp_path, **more), str(HERE / "test_cupy.py"))
    assert "skipped" not in told or "SIMT_ASYNC" in more, told


def test_own_operators(tmp_path):
    told = run_tests(environment(tmp_path), str(HERE / "test_own_operator.py"), "-k", "gpu")
    assert "skipped" not in told, told


def test_further_arrays(tmp_path):
    told = run_tests(environment(tmp_path), str(HERE / "test_further.py"), "-k", "gpu")
    assert "skipped" not in told, told


def test_a_gpu_whose_driver_fails(tmp_path):
    """An error of the driver is an exception with its message, and the next call is served."""
    code = """
import cupy as cp, numpy as np, rowscan
x = cp.asarray(np.ones((2, 100), "f4"))
try:
    rowscan.cumsum(x, 1)
    raise SystemExit("no error")
except rowscan.CudaFailed as error:
    assert isinstance(error, RuntimeError) and "failed: CUDA error 719" in str(error), error
assert (cp.asnumpy(rowscan.cumsum(x, 1)) == np.arange(1, 101)).all()
"""
    for symbol in ("cuLaunchKernel", "cuLaunchKernelEx"):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              env=environment(tmp_path, SIMT_FAIL=f"{symbol}:1:719"))
        if "no error" not in done.stderr:
            break
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_compiler(tmp_path):
    code = """
import cupy as cp, numpy as np, rowscan
try:
    rowscan.cumsum(cp.asarray(np.ones((2, 100), "f4")), 1)
    raise SystemExit("no error")
except rowscan.NoCompiler as error:
    assert isinstance(error, OSError) and "NVRTC" in str(error), error
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env=environment(tmp_path, ROWSCAN_NVRTC="/nowhere/libnvrtc.so"))
    assert done.returncode == 0, done.stdout + done.stderr
