#!/usr/bin/env python3
# gradients.py - forward and backward passes of scans, beside torch's own and memory speed
# SPDX-License-Identifier: MIT
"""Times a scan and its gradients on a GPU, and the host's part of both on small tensors; writes a CSV.

    ROWSCAN_COMPILE=now python3 tests/bench/gradients.py gradients.csv

bytes_ms is what memcpy takes for the bytes that have to move: what is read and written by each pass, once. part is
bytes_ms / ms, so 1 is memory speed. torch_ms is torch's own function, where it has one.
"""
import argparse
import csv
import statistics
import sys
import time

import torch

import rowscan

SHAPES = [((8192, 4096), 1), ((4096, 8192), 0), ((64, 2048, 256), 1)]
GATES = [((8, 1536, 4096), 2), ((8, 1536, 1024), 2), ((1536, 65536), 1), ((4, 512, 32768), 2), ((32, 768, 512), 2)]
SMALL = (2048, 128), 1


def floats(shape, device, low=-1.0, high=1.0):
    return torch.empty(shape, device=device).uniform_(low, high).requires_grad_()


def flags(shape, device):
    return torch.rand(shape, device=device) < 0.5


class Case:
    """name; arrays that have to move, of x's size, a mask of bytes being a quarter; inputs; rowscan's and torch's."""

    def __init__(self, name, arrays, inputs, ours, torchs=None):
        self.name, self.arrays, self.inputs, self.ours, self.torchs = name, arrays, inputs, ours, torchs


CASES = [
    Case("sum", 4, lambda s, d: [floats(s, d)], rowscan.cumsum, torch.cumsum),
    Case("masked sum", 4.5, lambda s, d: [floats(s, d), flags(s, d)],
         lambda x, m, dim: rowscan.cumsum(x, dim, mask=m), lambda x, m, dim: torch.cumsum(torch.where(m, x, 0), dim)),
    Case("multiplied sum", 8, lambda s, d: [floats(s, d), floats(s, d)],
         lambda x, m, dim: rowscan.cumsum(x, dim, mask=m, mask_mode="multiply"),
         lambda x, m, dim: torch.cumsum(x * m, dim)),
    Case("prod", 6, lambda s, d: [floats(s, d, 0.95, 1.05)], rowscan.cumprod, torch.cumprod),
    Case("logsumexp", 6, lambda s, d: [floats(s, d)], rowscan.logcumsumexp, torch.logcumsumexp),
    Case("max", 6, lambda s, d: [floats(s, d)], rowscan.cummax, lambda x, dim: torch.cummax(x, dim)[0]),
    Case("recurrence", 8, lambda s, d: [floats(s, d), floats(s, d, 0.5, 1.0)],
         lambda x, a, dim: rowscan.linear_recurrence(x, a, dim)),
    Case("returns", 4, lambda s, d: [floats(s, d)], lambda x, dim: rowscan.discounted_returns(x, 0.99, dim=dim)),
]


def once(function, inputs, dim, g):
    y = function(*inputs, dim)
    if g is not None:
        torch.autograd.grad(y, [x for x in inputs if x.requires_grad], g)


def device_ms(run, repeat=7, batch=5):
    """Of a run, with the GPU kept busy while the host queues the batch."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(batch):
        run()
    queued = time.perf_counter() - start
    times = []
    for _ in range(repeat):
        torch.cuda.synchronize()
        torch.cuda._sleep(int(2e9 * min(2 * queued + 1e-4, 0.05)))
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(batch):
            run()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / batch)
    return statistics.median(times)


def host_us(run, cuda, repeat=9, batch=100):
    """Of the host alone: the GPU keeps up with tensors so small."""
    times = []
    for _ in range(repeat):
        if cuda:
            torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(batch):
            run()
        times.append(1e6 * (time.perf_counter() - start) / batch)
    return statistics.median(times)


def copy_ms_per_byte(device):
    x = torch.empty(1 << 28, device=device)
    y = torch.empty_like(x)
    return device_ms(lambda: y.copy_(x)) / (2 * x.numel() * 4)


def large(writer, device, names):
    per_byte = copy_ms_per_byte(device)
    for case in CASES:
        shapes = SHAPES + (GATES if case.name == "recurrence" else [])
        for shape, dim in shapes if case.name in names else ():
            inputs = case.inputs(shape, device)
            g = torch.randn(shape, device=device)
            forward = device_ms(lambda: once(case.ours, [x.detach() for x in inputs], dim, None))
            both = device_ms(lambda: once(case.ours, inputs, dim, g))
            torchs = device_ms(lambda: once(case.torchs, inputs, dim, g), 3) if case.torchs else None
            bytes_ms = case.arrays * g.numel() * 4 * per_byte
            writer.writerow([case.name, "x".join(map(str, shape)), dim, f"{forward:.4f}", f"{both:.4f}",
                             f"{torchs:.4f}" if torchs else "", f"{bytes_ms:.4f}", f"{bytes_ms / both:.3f}", "", ""])
            print(f"{case.name:14} {str(shape):20} dim {dim} {1e3 * forward:7.0f} us forward {1e3 * both:7.0f} both "
                  f"{1e3 * (torchs or 0):7.0f} torch's {bytes_ms / both:5.2f} of memcpy", flush=True)


def small(writer, device, names):
    shape, dim = SMALL
    for case in CASES:
        if case.name not in names:
            continue
        inputs, g = case.inputs(shape, device), torch.randn(shape, device=device)
        times = [host_us(lambda: once(function, inputs, dim, g), device.type == "cuda") if function else None
                 for function in (case.ours, case.torchs)]
        writer.writerow([case.name, "x".join(map(str, shape)), dim, "", "", "", "", "", f"{times[0]:.1f}",
                         f"{times[1]:.1f}" if times[1] else ""])
        print(f"{case.name:14} {str(shape):20} host {times[0]:7.1f} us {times[1] or 0:7.1f} torch's", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", help="what to write")
    parser.add_argument("--device", default="cuda", help="cpu: the host's part alone")
    parser.add_argument("--only", help="names, between commas")
    options = parser.parse_args()
    device = torch.device(options.device)
    names = options.only.split(",") if options.only else [case.name for case in CASES]
    with open(options.csv, "w", newline="") as file:
        machine = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
        file.write(f"# {machine}, rowscan {rowscan.__version__}, torch {torch.__version__}: {' '.join(sys.argv)}\n")
        writer = csv.writer(file)
        writer.writerow("op shape dim forward_ms ms torch_ms bytes_ms part host_us torch_host_us".split())
        small(writer, device, names)
        if device.type == "cuda":
            large(writer, device, names)


if __name__ == "__main__":
    main()
