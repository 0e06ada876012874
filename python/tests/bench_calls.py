"""bench_calls.py - host time of calls beside what people write with torch alone

SPDX-License-Identifier: MIT

usage: python bench_calls.py [--csv FILE] [--commit NAME] [--seconds N] [--device cpu|cuda]

Each figure is the least of many bursts of calls, with the time of an empty function taken off; on a GPU that of
queuing, with the GPU idle before each burst. Bursts of all calls of a case alternate, so that a machine that is busy is
so for all of them.
"""
import argparse
import csv
import os
import platform
import sys
import time

import torch

import rowscan

CASES = [((4, 8), 1), ((132, 4096), 1), ((1, 65536), 1), ((4096, 512), 0)]


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def pairs(x, dim):
    """(what, torch's, rowscan's, at most)."""
    g, m = torch.randn_like(x), torch.rand_like(x) > .5
    out, leaf = torch.empty_like(x), x.clone().requires_grad_()

    def there_and_back(scan):
        def both():
            leaf.grad = None
            scan(leaf, dim).backward(g)
        return both
    yield "new output", lambda: torch.cumsum(x, dim), lambda: rowscan.cumsum(x, dim), .75
    yield "out=", lambda: torch.cumsum(x, dim, out=out), lambda: rowscan.cumsum(x, dim, out=out), .75
    yield ("reverse", lambda: x.flip(dim).cumsum(dim).flip(dim), lambda: rowscan.cumsum(x, dim, reverse=True), .35)
    zero = torch.zeros_like(x.narrow(dim, 0, 1))
    yield ("exclusive", lambda: torch.cat((zero, x), dim).narrow(dim, 0, x.shape[dim]).cumsum(dim),
           lambda: rowscan.cumsum(x, dim, exclusive=True), .35)
    yield "mask", lambda: torch.cumsum(x * m, dim), lambda: rowscan.cumsum(x, dim, mask=m), .35
    yield "gradient, forward", lambda: torch.cumsum(leaf, dim), lambda: rowscan.cumsum(leaf, dim), 1
    yield "forward and backward", there_and_back(torch.cumsum), there_and_back(rowscan.cumsum), 1
    theirs, ours = torch.ops.aten.cumsum.default, torch.ops.rowscan._scan.default
    yield "operator", lambda: theirs(x, dim), lambda: ours(x, dim), 1.3
    for what, wrap in (("compiled", lambda f: f), ("compiled, reverse", None)):
        torch._dynamo.reset()
        if wrap:
            theirs, ours = lambda x: torch.cumsum(x, dim), lambda x: rowscan.cumsum(x, dim)
        else:
            theirs = lambda x: x.flip(dim).cumsum(dim).flip(dim)
            ours = lambda x: rowscan.cumsum(x, dim, reverse=True)
        try:
            theirs, ours = (torch.compile(f, fullgraph=True) for f in (theirs, ours))
            theirs(x), ours(x)
        except Exception as error:
            print(f"{what}: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        yield what, lambda: theirs(x), lambda: ours(x), 1.3 if wrap else 1
    x.requires_grad_(False)
    key = x.device.type.upper()
    with rowscan.torch.patched(key):
        patched = lambda: torch.cumsum(x, dim)
        patched()
        yield "patched", None, patched, .75


def least(functions, device, seconds):
    """Nanoseconds of each, an empty call taken off."""
    best = {name: float("inf") for name in functions}
    count = 100 if device == "cuda" else 200
    for function in functions.values():
        function()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, function in functions.items():
            if device == "cuda":
                torch.cuda.synchronize()
            begin = time.perf_counter_ns()
            for _ in range(count):
                function()
            best[name] = min(best[name], (time.perf_counter_ns() - begin) / count)
    if device == "cuda":
        torch.cuda.synchronize()
    return {name: best[name] - best["empty"] for name in functions}


def main():
    os.environ.setdefault("ROWSCAN_COMPILE", "now")  # what is timed is each length's own kernel
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv", help="file to append rows to")
    parser.add_argument("--commit", default="", help="written into each row")
    parser.add_argument("--seconds", type=float, default=1.5, help="for each line; default 1.5")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    machine = torch.cuda.get_device_name() if options.device == "cuda" else processor()
    rows, own = [], {}
    print(f"{machine}, torch {torch.__version__}, rowscan {rowscan.__version__}, Python {platform.python_version()}")
    print(f"{'shape':>12} {'dim':>3} {'call':22} {'torch ns':>10} {'rowscan ns':>10} {'ratio':>6} {'at most':>7}")
    for shape, dim in CASES:
        x = torch.randn(shape, device=options.device)
        name = "x".join(map(str, shape))
        for what, theirs, ours, most in pairs(x, dim):
            functions = {"empty": lambda: None, "rowscan": ours}
            if theirs:
                functions["torch"] = theirs
            times = least(functions, options.device, options.seconds)
            if what == "new output":
                own[name] = times["torch"]
            times.setdefault("torch", own[name])
            ratio = times["rowscan"] / times["torch"]
            print(f"{name:>12} {dim:>3} {what:22} {times['torch']:10.0f} {times['rowscan']:10.0f} {ratio:6.2f} "
                  f"{most:7.2f}{' *' if ratio > most else ''}", flush=True)
            rows.append([machine, torch.__version__, platform.python_version(), rowscan.__version__, options.commit,
                         name, dim, what, round(times["torch"]), round(times["rowscan"]), round(ratio, 3), most])
    if options.csv:
        with open(options.csv, "a", newline="") as file:
            writer = csv.writer(file)
            if not file.tell():
                writer.writerow(["machine", "torch", "python", "rowscan", "commit", "shape", "dim", "call", "torch_ns",
                                 "rowscan_ns", "ratio", "at_most"])
            writer.writerows(rows)


if __name__ == "__main__":
    main()
