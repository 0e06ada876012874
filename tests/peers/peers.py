#!/usr/bin/env python3
# peers.py - rowscan beside what people use today, on the same arrays, in one run
# SPDX-License-Identifier: MIT
"""Times scans of random numbers by rowscan, PyTorch (eager and compiled), Triton and CUB, interleaved with a copy of as
many bytes on the device, and prints a table: milliseconds and, in brackets, the ratio of the copy's time to it (1 is
the speed of memory). Medians; buffers are rotated where they would fit in the L2 cache; every result is checked against
double precision. What can't be run is a dash, what is inexact has a star, and why is told below the table. What takes
less than 0.05 ms is timed in captured graphs.

The library is the file named by ROWSCAN_LIB, else the one that the loader finds.
"""

import argparse
import csv
import gc
import os
import re
import sys
import tempfile
from dataclasses import dataclass, field

PEERS = ("rowscan", "torch", "torch.compile", "Triton", "CUB")
TOLERANCE = {"f16": 1e-2, "bf16": 1e-2, "f32": 1e-4, "f64": 1e-9}
CHECKED = 1 << 24  # elements of a row, at most


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", default="quick", help="quick, full, or a regular expression that their names have")
    parser.add_argument("--variants", default="", help="only these, e.g. inclusive,reverse")
    parser.add_argument("--csv", help="also write every form of every peer to this file")
    parser.add_argument("--repeat", type=int, default=15, help="repetitions (15)")
    parser.add_argument("--cpu", action="store_true", help="small arrays on the CPU: tries the script, times nothing")
    for peer in PEERS:
        parser.add_argument(f"--no-{peer.lower().replace('torch.', '')}", action="store_true", help=f"without {peer}")
    return parser.parse_args()


options = arguments()
if options.cpu:
    os.environ["TRITON_INTERPRET"] = "1"

import torch  # noqa: E402: takes long, and help should not

import cub  # noqa: E402
import rowscan  # noqa: E402
import torch_scan  # noqa: E402
from cells import FULL, QUICK, shrink  # noqa: E402
from timing import Clock, Timed, interleave  # noqa: E402

device = torch.device("cpu" if options.cpu else "cuda")
clock = Clock(device)


def reason(error):
    lines = str(error).strip().splitlines() or ["no message"]
    return f"{type(error).__name__}: {lines[0][:150]}"


# ---- arrays ----------------------------------------------------------------------------------------------------------


def random_elements(shape, kind):
    x = torch.empty(shape, dtype=kind, device=device)
    if kind.is_floating_point:
        return x.uniform_(-0.25, 0.75)
    return x.random_(0, 2) if kind == torch.bool else x.random_(-1000 if kind != torch.int8 else -128, 127)


class Arrays:
    """Sets of input, mask and output, as many as the L2 cache can't hold, and as many bytes to copy from and to."""

    def __init__(self, cell, variant):
        shape, _ = cell.shape
        self.cell, self.variant = cell, variant
        kinds = torch_scan.TYPES[cell.type], torch_scan.TYPES[cell.out]
        self.bytes = cell.elements * (sum(k.itemsize for k in kinds) + (variant == "masked"))
        cache = 1 << 20 if options.cpu else torch.cuda.get_device_properties(0).L2_cache_size
        self.sets = max(1, min(4096, -(-3 * cache // self.bytes)))
        self.x = [random_elements(shape, kinds[0]) for _ in range(self.sets)]
        self.mask = [random_elements(shape, torch.bool) if variant == "masked" else None for _ in range(self.sets)]
        self.y = [torch.empty(shape, dtype=kinds[1], device=device) for _ in range(self.sets)]
        half = max(1, self.bytes // 2)
        self.source = torch.full((self.sets, half), 3, dtype=torch.uint8, device=device)
        self.target = torch.empty((self.sets, half), dtype=torch.uint8, device=device)

    def poison(self):
        for y in self.y:
            y.view(torch.uint8).fill_(255)

    def copy(self, number):
        self.target[number].copy_(self.source[number])


def row(tensor, cell, outer, inner):
    return tensor.reshape(cell.outer, cell.length, cell.inner)[outer, :, inner]


def first(row, variant):
    """The elements that a scan takes first."""
    return row[-CHECKED:].flip(0) if variant == "reverse" else row[:CHECKED]


def expected(x, mask, cell, variant):
    """Of one row, in double precision or in integers that wrap."""
    wide = first(x, variant).to(torch.float64 if TOLERANCE.get(cell.out) else torch.int64)
    if mask is not None:
        wide = torch.where(first(mask, variant), wide, torch.zeros_like(wide))
    total = wide.cumsum(0)
    return total - wide if variant == "exclusive" else total


def check(arrays, number, result):
    """"" if it is right as far as three rows tell, else what is wrong."""
    cell, variant = arrays.cell, arrays.variant
    for place in (0.0, 0.37, 1.0):
        at = [int(place * (n - 1)) for n in (cell.outer, cell.inner)]
        mask = row(arrays.mask[number], cell, *at) if variant == "masked" else None
        wanted = expected(row(arrays.x[number], cell, *at), mask, cell, variant)
        got = first(row(result, cell, *at), variant)
        if cell.out not in TOLERANCE:
            if not torch.equal(got, wanted.to(got.dtype)):
                return "wrong integers"
            continue
        error = float((got.double() - wanted).norm() / wanted.norm().clamp_min(1e-30))
        if not error < TOLERANCE[cell.out]:
            return f"relative error {error:.2g}"
    return ""


# ---- peers -----------------------------------------------------------------------------------------------------------


@dataclass
class Attempt:
    """A form of a peer: how it is made ready. What it returns runs on a set and returns the result."""

    peer: str
    form: str
    make: object


@dataclass
class Line:
    cell: object
    variant: str
    copy_ms: float = float("nan")
    timed: list = field(default_factory=list)
    notes: list = field(default_factory=list)  # (peer, form, reason)


def address(tensor):
    return tensor.data_ptr() if tensor is not None else None


def make_rowscan(library, arrays):
    plan = rowscan.Plan(library, arrays.cell, arrays.variant)

    def run(number):
        stream = None if options.cpu else torch.cuda.current_stream().cuda_stream
        x, mask, y = arrays.x[number], arrays.mask[number], arrays.y[number]
        plan(x.data_ptr(), address(mask), y.data_ptr(), stream)
        return y

    run.close = plan.close
    return run


def make_torch(form, arrays, compiled):
    if compiled:
        torch._dynamo.reset()
        form = torch.compile(form, dynamic=False)
    return lambda number: form(arrays.x[number], arrays.mask[number])


def as_bytes(tensor):
    return tensor.view(torch.uint8) if tensor is not None and tensor.dtype == torch.bool else tensor


def make_triton(arrays):
    import triton_scan

    best, failed = None, RuntimeError("no candidates")
    for name, function in triton_scan.candidates(arrays.cell, arrays.variant):

        def run(number, function=function):
            x, mask, y = as_bytes(arrays.x[number]), as_bytes(arrays.mask[number]), arrays.y[number]
            function(x, mask if mask is not None else x, y)
            return y

        try:
            one = Timed("Triton", name, run)
            one.warm_up(clock, arrays.sets)
            milliseconds = one.milliseconds(clock, arrays.sets, 3)
            if best is None or milliseconds < best[0]:
                best = milliseconds, name, run
        except Exception as error:  # another candidate may do
            failed = error
    if best is None:
        raise failed
    best[2].form = best[1]
    return best[2]


def make_cub(builder, arrays):
    call = cub.make(builder, arrays.cell, arrays.variant, device)

    def run(number):
        call(arrays.x[number], arrays.mask[number], arrays.y[number])
        return arrays.y[number]

    return run


def attempts(arrays, library, builder):
    cell, variant = arrays.cell, arrays.variant
    if library:
        yield Attempt("rowscan", variant, lambda: make_rowscan(library, arrays))
    for compiled, off in ((False, options.no_torch), (True, options.no_compile)):
        for name, form in torch_scan.forms(cell, variant).items() if not off else ():
            peer = "torch.compile" if compiled else "torch"
            yield Attempt(peer, name, lambda form=form, compiled=compiled: make_torch(form, arrays, compiled))
    if not options.no_triton:
        yield Attempt("Triton", "", lambda: make_triton(arrays))
    if builder and cub.form(cell, variant):
        yield Attempt("CUB", cub.form(cell, variant), lambda: make_cub(builder, arrays))


def prepare(attempt, arrays, line):
    """Makes ready, checks, warms up. None, and a note, if any of it fails."""
    try:
        run = attempt.make()
        form = getattr(run, "form", attempt.form)
        arrays.poison()
        wrong = check(arrays, arrays.sets - 1, run(arrays.sets - 1))
        if wrong:
            line.notes.append((attempt.peer, form, wrong))
        one = Timed(attempt.peer, form, run)
        one.warm_up(clock, arrays.sets)
        return one
    except Exception as error:
        line.notes.append((attempt.peer, attempt.form, reason(error)))
        return None


def measure(cell, variant, library, builder):
    line = Line(cell, variant)
    try:
        arrays = Arrays(cell, variant)
        copy = Timed("memcpy", "", arrays.copy)
        copy.warm_up(clock, arrays.sets)
        line.timed = [one for a in attempts(arrays, library, builder) if (one := prepare(a, arrays, line))]
        interleave(clock, arrays.sets, [copy] + line.timed, options.repeat)
        line.copy_ms = copy.median
    except Exception as error:
        line.notes.append(("all", "", reason(error)))
        line.timed = []
    for one in line.timed:
        one.graph = None
        getattr(one.run, "close", lambda: None)()
        one.run = None
    return line


def free_memory():
    gc.collect()
    if not options.cpu:
        try:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        except RuntimeError as error:  # a kernel has gone wrong: what follows says the same, line by line
            print(f"peers: {reason(error)}", file=sys.stderr)


# ---- results ---------------------------------------------------------------------------------------------------------


def heading(library):
    if options.cpu:
        print("A trial on the CPU: the figures mean nothing.\n")
        return
    name = torch.cuda.get_device_name()
    try:
        import triton

        triton_version = triton.__version__
    except ImportError:
        triton_version = "none"
    version = library.version() if library else "none"
    print(f"{name}; rowscan {version}, torch {torch.__version__}, Triton {triton_version}, CUDA {torch.version.cuda}\n")


def print_head():
    print("| cell | variant | memcpy ms | " + " | ".join(PEERS) + " |")
    print("| --- | --- " + "| ---: " * (1 + len(PEERS)) + "|", flush=True)


def number(milliseconds):
    return f"{milliseconds:.4f}" if milliseconds < 0.1 else f"{milliseconds:.3f}"


def column(line, peer):
    mine = [one for one in line.timed if one.peer == peer and one.times]
    if not mine:
        return "–"
    best = min(mine, key=lambda one: one.median)
    wrong = any(note[:2] == (peer, best.form) for note in line.notes)
    return f"{number(best.median)} ({line.copy_ms / best.median:.3f}){' *' if wrong else ''}"


def print_line(line):
    fields = [line.cell.name, line.variant, number(line.copy_ms)] + [column(line, peer) for peer in PEERS]
    print("| " + " | ".join(fields) + " |", flush=True)


def print_notes(lines):
    notes = [(line, *note) for line in lines for note in line.notes]
    if notes:
        print("\nNotes:\n")
    for line, peer, form, why in notes:
        print(f"- {line.cell.name}, {line.variant}, {peer} {form}: {why}".replace("  ", " "))


def write_csv(name, lines):
    with open(name, "w", newline="") as file:
        to = csv.writer(file)
        to.writerow("cell outer length inner type out variant peer form ms memcpy_ms ratio note".split())
        for line in lines:
            cell, seen = line.cell, set()
            start = [cell.name, cell.outer, cell.length, cell.inner, cell.type, cell.out, line.variant]
            notes = {note[:2]: note[2] for note in line.notes}
            for one in line.timed:
                seen.add((one.peer, one.form))
                numbers = [f"{n:.6g}" for n in (one.median, line.copy_ms, line.copy_ms / one.median)]
                to.writerow(start + [one.peer, one.form, *numbers, notes.get((one.peer, one.form), "")])
            for (peer, form), why in notes.items():
                if (peer, form) not in seen:
                    to.writerow(start + [peer, form, "", f"{line.copy_ms:.6g}", "", why])


# ---- all of it -------------------------------------------------------------------------------------------------------


def chosen_cells():
    lists = {"quick": QUICK, "full": FULL}
    cells = lists.get(options.cells)
    if cells is None:
        pattern = re.compile(options.cells)
        cells = [cell for cell in dict.fromkeys(FULL + QUICK) if pattern.search(cell.name)]
    if not cells:
        sys.exit(f"--cells: no cell is called like '{options.cells}'")
    return [shrink(cell, 1 << 15) for cell in cells] if options.cpu else cells


def chosen_variants(cell):
    names = options.variants.split(",") if options.variants else cell.variants
    return [v for v in cell.variants if v in names]


def open_rowscan():
    if options.no_rowscan:
        return None
    try:
        return rowscan.Library("host" if options.cpu else "cuda")
    except (OSError, rowscan.Failed) as error:
        print(f"no rowscan: {error}", file=sys.stderr)
        return None


def main():
    cells = chosen_cells()
    if not options.cpu and not torch.cuda.is_available():
        print("SKIP: there is no GPU")
        return 77
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        builder = None
        if not options.no_cub and not options.cpu:
            major, minor = torch.cuda.get_device_capability()
            builder = cub.Builder(folder, [c.type for c in cells if cub.form(c, "inclusive")], f"sm_{major}{minor}")
        library = open_rowscan()
        heading(library)
        print_head()
        lines = []
        for cell in cells:
            for variant in chosen_variants(cell):
                lines.append(measure(cell, variant, library, builder))
                free_memory()
                print_line(lines[-1])
    print_notes(lines)
    if options.csv:
        write_csv(options.csv, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
