#!/usr/bin/env python3
# operators.py - what PyTorch and JAX take for scans that are no sums, and for sums in segments, beside a copy
# SPDX-License-Identifier: MIT
"""Times scans that are no sums by PyTorch (eager and compiled) and JAX on one GPU, interleaved with a copy of as many
bytes as must move, and prints CSV lines as `rowscan bench --op OP --csv` has them, whose ratios they stand beside:
who, shape, variant, type, what, ms, ratio. torch.cummax writes values and indices, JAX values alone. Segments are
those of flags (heads): of PyTorch by its associative_scan of pairs, which is compiled. Medians of events;
buffers of 0.1 GB or more, which no L2 cache keeps. What a peer can't do is told on stderr, and left out."""

import argparse
import statistics
import sys

import torch

SHAPES = {"8192 x 8192": ((8192, 8192), 1), "65536 x 512": ((65536, 512), 1), "1 x 67108864": ((1, 1 << 26), 1),
          "64 x 2048 x 512 dim 1": ((64, 2048, 512), 1), "4096 x 16384 dim 0": ((4096, 16384), 0)}
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f64": torch.float64}


def milliseconds(run, repeat):
    """Medians of `repeat` runs, after two."""
    times = []
    for i in range(repeat + 2):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(1_000_000)  # the host queues what is timed meanwhile
        start.record()
        run()
        end.record()
        end.synchronize()
        if i >= 2:
            times.append(start.elapsed_time(end))
    return statistics.median(times)


def jax_milliseconds(function, x, repeat):
    """Of jit: by the clock on the wall over many calls, which the GPU does one after another."""
    import time

    import jax

    compiled = jax.jit(function)
    compiled(x).block_until_ready()
    start = time.perf_counter()
    for _ in range(repeat):
        y = compiled(x)
    y.block_until_ready()
    return 1e3 * (time.perf_counter() - start) / repeat


def segmented_sum(x, heads, dim):
    """The compiler writes the scan of the flags, too."""
    from torch._higher_order_ops.associative_scan import associative_scan

    def combine(left, right):
        return torch.where(right[1] != 0, right[0], left[0] + right[0]), left[1] | right[1]

    return associative_scan(combine, (x, heads), dim=dim, combine_mode="pointwise")[0]


def torch_runs(x, dim):
    """What is timed, with the bytes that an element has besides its own."""
    own = x.element_size()
    runs = {"logsumexp torch": (lambda: torch.logcumsumexp(x, dim), own),
            "max + index torch": (lambda: torch.cummax(x, dim), own + 8),
            "prod torch": (lambda: torch.cumprod(x, dim), own)}
    for name, function in (("logsumexp", torch.logcumsumexp), ("max + index", torch.cummax)):
        compiled = torch.compile(function, dynamic=False)
        runs[f"{name} torch.compile"] = (lambda compiled=compiled: compiled(x, dim), runs[f"{name} torch"][1])
    heads = (torch.rand(x.shape, device=x.device) < 1 / 64).to(torch.int32)  # Triton 3.5 can't shuffle bool
    segmented = torch.compile(segmented_sum, dynamic=False)
    runs["sum heads torch.compile"] = (lambda: segmented(x, heads, dim), own + 4)
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--types", default="f32")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--only", default="", help="what has this in its name, without JAX")
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile")
    options = parser.parse_args()
    for name in options.types.split(","):
        for shape, (sizes, dim) in SHAPES.items():
            torch._dynamo.reset()
            x = torch.rand(sizes, device="cuda", dtype=torch.float32).sub_(0.25).to(TYPES[name])
            for what, (run, out_bytes) in torch_runs(x, dim).items():
                if options.no_compile and what.endswith("compile") or options.only not in what:
                    continue
                operator, peer = what.rsplit(" ", 1)
                source = torch.empty(x.numel() * (x.element_size() + out_bytes) // 2, dtype=torch.uint8, device="cuda")
                target = torch.empty_like(source)
                try:
                    copy = milliseconds(lambda: target.copy_(source), options.repeat)
                    ms = milliseconds(run, options.repeat)
                except Exception as error:  # a peer's failure is not ours
                    print(f"{what}, {shape} {name}: {str(error).splitlines()[0]}", file=sys.stderr)
                    continue
                print(f"{peer},{shape},inclusive,{name},{operator},{ms:.6g},{copy / ms:.6g},memcpy", flush=True)
            if options.only:
                continue
            try:
                import jax

                y = jax.dlpack.from_dlpack(x)
                for operator, function in (("logsumexp", jax.lax.cumlogsumexp), ("max", jax.lax.cummax)):
                    ms = jax_milliseconds(lambda a, function=function: function(a, axis=dim), y, options.repeat)
                    source = torch.empty(x.numel() * x.element_size(), dtype=torch.uint8, device="cuda")
                    target = torch.empty_like(source)
                    copy = milliseconds(lambda: target.copy_(source), options.repeat)
                    print(f"JAX,{shape},inclusive,{name},{operator},{ms:.6g},{copy / ms:.6g},memcpy", flush=True)
            except Exception as error:
                print(f"JAX, {shape} {name}: {str(error).splitlines()[0]}", file=sys.stderr)
            del x


main()
