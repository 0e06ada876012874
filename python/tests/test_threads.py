"""test_threads.py - calls from many threads, children of fork(), the number of threads, signals

SPDX-License-Identifier: MIT
"""
import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import threading
import time

import pytest

np = pytest.importorskip("numpy")

import order  # noqa: E402
import rowscan  # noqa: E402

X = np.random.default_rng(0).standard_normal((300, 1000)).astype("f4")


@pytest.fixture
def usual_threads():
    yield
    rowscan.set_threads(0)


def test_many_threads():
    want = [rowscan.cumsum(X, dim, reverse=reverse) for dim in (0, 1) for reverse in (False, True)]

    def call(i):
        dim, reverse = divmod(i % 4, 2)
        if i % 7 == 0:  # errors of one thread are not those of another
            with pytest.raises(rowscan.BadArgument, match="overlap"):
                rowscan.cumsum(X[:, 1:], 1, out=X[:, :-1])
        return i, rowscan.cumsum(X, dim, reverse=bool(reverse), out=np.empty_like(X) if i % 3 else None)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for i, y in pool.map(call, range(200)):
            order.assert_bits(y, want[i % 4])


def test_the_first_calls_may_be_at_once():
    code = """
import threading, numpy as np
import rowscan
x, failed, barrier = np.arange(1000.0), [], threading.Barrier(16)
def work():
    barrier.wait()
    if not (rowscan.cumsum(x, 0) == np.cumsum(x)).all():
        failed.append(1)
threads = [threading.Thread(target=work) for _ in range(16)]
[t.start() for t in threads], [t.join() for t in threads]
raise SystemExit(len(failed))
"""
    for _ in range(3):
        assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_gil_is_released():
    """Another thread runs Python while a long scan runs."""
    x = np.ones((8, 1 << 21), "f4")
    out = np.empty_like(x)
    rowscan.cumsum(x[:1, :10], 1)
    done, ticks = threading.Event(), []

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0)
    thread = threading.Thread(target=tick)
    thread.start()
    inside = 0
    for _ in range(20):
        begin = time.perf_counter()
        rowscan.cumsum(x, 1, out=out)
        end = time.perf_counter()
        inside += sum(begin < t < end for t in list(ticks)[-100000:])
        if inside > 100:
            break
    done.set()
    thread.join()
    assert inside > 100


def test_set_threads(usual_threads):
    x = np.random.default_rng(1).standard_normal((3, 1 << 18)).astype("f4")
    want = rowscan.cumsum(x, 1)
    for count in (1, 2, 5, 64, 0):
        assert rowscan.set_threads(count) is None
        order.assert_bits(rowscan.cumsum(x, 1), want)
    code = """
import os, numpy as np, rowscan
rowscan.set_threads(1)
rowscan.cumsum(np.ones((64, 1 << 17), "f4"), 1)
raise SystemExit(len(os.listdir("/proc/self/task")) - 1 if os.path.exists("/proc/self/task") else 0)
"""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0


def child(queue):
    queue.put(rowscan.cumsum(X, 1))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork()")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork():
    """A child has contexts of its own, even if another thread of its parent was in a scan."""
    want = rowscan.cumsum(X, 1)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            rowscan.cumsum(X, 1)
    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        context = multiprocessing.get_context("fork")
        for _ in range(5):
            queue = context.SimpleQueue()
            process = context.Process(target=child, args=(queue,))
            process.start()
            order.assert_bits(queue.get(), want)
            process.join(60)
            assert process.exitcode == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    order.assert_bits(rowscan.cumsum(X, 1), want)


def test_spawned_processes():
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for y in pool.map(scan_rows, [X[:10], X[10:20]]):
            assert y.shape == (10, 1000)


def scan_rows(x):
    return rowscan.cumsum(x, 1)


def test_exit_while_threads_scan():
    """A daemon thread that is in a scan when Python ends does no harm."""
    code = """
import threading, time, numpy as np, rowscan
x = np.ones((50, 10000), "f4")
def work():
    while True:
        rowscan.cumsum(x, 1)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
