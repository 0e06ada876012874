"""bench_host.py - numpy.cumsum on the shapes of bench_host.c's first cases, for comparison with one thread of it

Least time of five runs into an array that is already there.
"""
import time

import numpy as np

for dtype, rows, length in (("float32", 4096, 65536), ("float64", 4096, 32768), ("int32", 4096, 65536),
                            ("float32", 524288, 512), ("float32", 1, 1 << 28)):
    array = np.ones((rows, length), dtype)
    out = np.empty_like(array)
    best = 1e9
    for _ in range(5):
        start = time.perf_counter()
        np.cumsum(array, axis=1, dtype=dtype, out=out)
        best = min(best, time.perf_counter() - start)
    print(f"{rows:9} x {length:9}  {dtype:8} {best * 1e3:8.2f} ms {2 * array.nbytes / best * 1e-9:7.2f} GB/s")
