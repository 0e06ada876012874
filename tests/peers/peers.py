#!/usr/bin/env python3
# peers.py - rowscan beside what people use today, on the same arrays, in one run
# SPDX-License-Identifier: MIT
"""Times scans of random numbers by rowscan, PyTorch (eager and compiled), Triton and CUB, interleaved with a copy of as
many bytes on the device, and prints a table: milliseconds and, in brackets, the ratio of the copy's time to it (1 is
the speed of memory). Medians; buffers are rotated where they would fit in the L2 cache; every result is checked against
double precision. What can't be run is a dash, what is inexact has a star, and why is told below the table; so is where
rowscan is not the fastest. What takes less than 0.05 ms is timed in captured graphs; what is slow is repeated less
often.

The library is the file named by ROWSCAN_LIB, else the one that the loader finds.
"""

import argparse
import csv
import gc
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field

PEERS = ("rowscan", "torch", "torch.compile", "Triton", "CUB")
TOLERANCE = {"f16": 1e-2, "bf16": 1e-2, "f32": 1e-4, "f64": 1e-9}
CHECKED = 1 << 24  # elements of a row, at most
COLUMNS = "group cell variant type outer length inner view peer form ms memcpy_ms ratio note".split()


def peers_of(text):
    chosen = text.split(",")
    if not set(chosen) <= set(PEERS):
        raise argparse.ArgumentTypeError(f"not all of {text} are among {', '.join(PEERS)}")
    return chosen


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", default="quick", choices=("quick", "full"), help="which (quick)")
    parser.add_argument("--filter", default="", help="only those with this, or one of A|B|C, in \"group: shape variant "
                        "type\", as rowscan bench --list prints it")
    parser.add_argument("--peers", type=peers_of, default=list(PEERS), help=f"only these of {','.join(PEERS)}")
    parser.add_argument("--csv", help="also write every form of every peer to this file, line by line")
    parser.add_argument("--repeat", type=int, default=15, help="repetitions at most (15)")
    parser.add_argument("--seconds", type=float, default=1e9,
                        help="begin no further cell after so many, and name those that are left")
    parser.add_argument("--cpu", action="store_true", help="small arrays on the CPU: tries the script, times nothing")
    return parser.parse_args()


options = arguments()
began = time.monotonic()
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


def random_input(cell, kind):
    """Of a view: the view, as a user of torch has it."""
    if cell.view == "second":
        return random_elements((cell.outer, 2 * cell.length), kind)[:, ::2]
    if cell.view == "transposed":
        return random_elements((cell.length, cell.outer), kind).T
    if cell.view == "padded":
        return random_elements((cell.outer, cell.length + 4), kind)[:, :cell.length]
    return random_elements(cell.shape[0], kind)


class Arrays:
    """Sets of input, mask and output, as many as the L2 cache can't hold, and as many bytes to copy from and to."""

    def __init__(self, cell, variant):
        shape, _ = cell.shape
        self.cell, self.variant = cell, variant
        kinds = torch_scan.TYPES[cell.type], torch_scan.TYPES[cell.out]
        self.bytes = cell.elements * (sum(k.itemsize for k in kinds) + (variant == "masked"))
        cache = 1 << 20 if options.cpu else torch.cuda.get_device_properties(0).L2_cache_size
        self.sets = max(1, min(64 if options.cpu else 8192, -(-3 * cache // self.bytes)))
        self.x = [random_input(cell, kinds[0]) for _ in range(self.sets)]
        self.mask = [random_elements(shape, torch.bool) if variant == "masked" else None for _ in range(self.sets)]
        self.y = [torch.empty(shape, dtype=kinds[1], device=device) for _ in range(self.sets)]
        half = max(1, self.bytes // 2)
        self.source = torch.full((self.sets, half), 3, dtype=torch.uint8, device=device).unbind()
        self.target = torch.empty((self.sets, half), dtype=torch.uint8, device=device).unbind()

    def poison(self):
        for y in self.y:
            y.view(torch.uint8).fill_(255)

    def copy(self, number):
        self.target[number].copy_(self.source[number])


def row(tensor, cell, outer, inner):
    if not cell.columns:
        return tensor[outer]
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
    for candidate in triton_scan.candidates(arrays.cell, arrays.variant):

        def run(number, candidate=candidate):
            x, mask, y = as_bytes(arrays.x[number]), as_bytes(arrays.mask[number]), arrays.y[number]
            candidate.run(x, mask if mask is not None else x, y)
            return y

        try:
            one = Timed("Triton", candidate.name, run)
            one.warm_up(clock, arrays.sets, 3)
            milliseconds = one.milliseconds(clock, arrays.sets, 3)
            if best is None or milliseconds < best[0]:
                best = milliseconds, candidate.name, run
        except Exception as error:  # another candidate may do
            failed = error
    if best is None:
        raise failed
    best[2].form = best[1]
    return best[2]


def make_cub(builder, arrays):
    call = cub.make(builder, arrays.cell, arrays.variant, device)

    def run(number):
        call(arrays.x[number], arrays.y[number])
        return arrays.y[number]

    return run


def attempts(arrays, library, builder):
    cell, variant = arrays.cell, arrays.variant
    if library:
        yield Attempt("rowscan", variant, lambda: make_rowscan(library, arrays))
    for peer, compiled in (("torch", False), ("torch.compile", True)):
        for name, form in torch_scan.forms(cell, variant).items() if peer in options.peers else ():
            yield Attempt(peer, name, lambda form=form, compiled=compiled: make_torch(form, arrays, compiled))
    if "Triton" in options.peers:
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
        one.warm_up(clock, arrays.sets, options.repeat)
        return one
    except Exception as error:
        line.notes.append((attempt.peer, attempt.form, reason(error)))
        return None


def measure(cell, variant, library, builder):
    line = Line(cell, variant)
    try:
        arrays = Arrays(cell, variant)
        copy = Timed("memcpy", "", arrays.copy)
        copy.warm_up(clock, arrays.sets, options.repeat)
        line.timed = [one for a in attempts(arrays, library, builder) if (one := prepare(a, arrays, line))]
        interleave(clock, arrays.sets, [copy] + line.timed)
        line.copy_ms = copy.median
    except Exception as error:
        line.notes.append(("all", "", reason(error)))
        line.timed = []
    for one in line.timed:
        one.graph, one.kept = None, {}
        getattr(one.run, "close", lambda: None)()
        one.run = None
    return line


def free_memory():
    """False: a kernel has gone wrong, and nothing more can be run in this process."""
    gc.collect()
    if options.cpu:
        return True
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        return True
    except RuntimeError as error:
        print(f"peers: {reason(error)}", file=sys.stderr)
        return False


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
    print("| cell | variant | memcpy ms | " + " | ".join(options.peers) + " |")
    print("| --- | --- " + "| ---: " * (1 + len(options.peers)) + "|", flush=True)


def number(milliseconds):
    return f"{milliseconds:.4f}" if milliseconds < 0.1 else f"{milliseconds:.3f}"


def best_of(line, peer):
    return min((one for one in line.timed if one.peer == peer and one.times), key=lambda one: one.median, default=None)


def column(line, peer):
    best = best_of(line, peer)
    if not best:
        return "–"
    wrong = any(note[:2] == (peer, best.form) for note in line.notes)
    return f"{number(best.median)} ({line.copy_ms / best.median:.3f}){' *' if wrong else ''}"


def print_line(line):
    fields = [f"{line.cell.size} {line.cell.types}", line.variant, number(line.copy_ms)]
    fields += [column(line, peer) for peer in options.peers]
    print("| " + " | ".join(fields) + " |", flush=True)


def print_notes(lines):
    notes = [(line, *note) for line in lines for note in line.notes]
    if notes:
        print("\nNotes:\n")
    for line, peer, form, why in notes:
        print(f"- {line.cell.label(line.variant)}, {peer} {form}: {why}".replace("  ", " "))


def faster(line):
    """Peers that beat rowscan, and by how much."""
    mine = best_of(line, "rowscan")
    others = [(peer, best_of(line, peer)) for peer in options.peers if peer != "rowscan"]
    return [f"{peer} takes {one.median / mine.median:.3f} of the time" for peer, one in others
            if mine and one and one.median < mine.median]


def print_losses(lines):
    losses = [(line, faster(line)) for line in lines if faster(line)]
    ours = sum(best_of(line, "rowscan") is not None for line in lines)
    if ours:
        print(f"\nrowscan is the fastest in {ours - len(losses)} of {ours} lines.")
    for line, peers in losses:
        print(f"- {line.cell.label(line.variant)}: {', '.join(peers)}")


class Table:
    """The CSV, written as far as it has come."""

    def __init__(self, name):
        self.file = open(name, "w", newline="")
        self.to = csv.writer(self.file)
        self.to.writerow(COLUMNS)

    def add(self, line):
        cell, seen = line.cell, set()
        start = [cell.group, cell.size, line.variant, cell.types, cell.outer, cell.length, cell.inner, cell.view]
        notes = {note[:2]: note[2] for note in line.notes}
        for one in line.timed:
            seen.add((one.peer, one.form))
            numbers = [f"{n:.6g}" for n in (one.median, line.copy_ms, line.copy_ms / one.median)]
            self.to.writerow(start + [one.peer, one.form, *numbers, notes.get((one.peer, one.form), "")])
        for (peer, form), why in notes.items():
            if (peer, form) not in seen:
                self.to.writerow(start + [peer, form, "", f"{line.copy_ms:.6g}", "", why])
        self.file.flush()


# ---- all of it -------------------------------------------------------------------------------------------------------


def chosen():
    """(cell, variant) of what is to be measured."""
    parts = [part for part in options.filter.split("|") if part]
    found = [(cell, variant) for cell in {"quick": QUICK, "full": FULL}[options.cells] for variant in cell.variants
             if not parts or any(part in cell.label(variant) for part in parts)]
    if not found:
        sys.exit(f"--filter: no cell of {options.cells} has '{options.filter}'")
    return found


def open_rowscan():
    if "rowscan" not in options.peers:
        return None
    try:
        return rowscan.Library("host" if options.cpu else "cuda")
    except (OSError, rowscan.Failed) as error:
        print(f"no rowscan: {error}", file=sys.stderr)
        return None


def open_cub(folder, found):
    if "CUB" not in options.peers or options.cpu:
        return None
    major, minor = torch.cuda.get_device_capability()
    kinds = [cub.kind(cell) for cell, variant in found if cub.form(cell, variant)]
    return cub.Builder(folder, kinds, f"sm_{major}{minor}")


def measure_all(found, library, builder):
    lines, table = [], Table(options.csv) if options.csv else None
    for cell, variant in found:
        if time.monotonic() - began > options.seconds:
            break
        lines.append(measure(shrink(cell, 1 << 15) if options.cpu else cell, variant, library, builder))
        sound = free_memory()
        print_line(lines[-1])
        if table:
            table.add(lines[-1])
        if not sound:
            break
    return lines


def main():
    found = chosen()
    if not options.cpu and not torch.cuda.is_available():
        print("SKIP: there is no GPU")
        return 77
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        builder = open_cub(folder, found)
        library = open_rowscan()
        heading(library)
        print_head()
        lines = measure_all(found, library, builder)
    print_notes(lines)
    print_losses(lines)
    print(f"\n{time.monotonic() - began:.0f} s")
    for cell, variant in found[len(lines):]:
        print(f"not measured: {cell.label(variant)}")
    return 1 if len(lines) < len(found) else 0


if __name__ == "__main__":
    sys.exit(main())
