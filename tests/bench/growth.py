#!/usr/bin/env python3
# growth.py - how a scan's time grows: tables, a plot and the cliffs, from the CSV of rowscan bench --suite growth
# SPDX-License-Identifier: MIT
"""Writes PREFIX.md and PREFIX.svg, and names every cliff: two neighbouring lengths of rows, or widths of arrays scanned
along their columns, whose time per byte differs by more than 1.3 x where that of memcpy does not; and at a fixed length
a number of rows of which a byte takes 1.3 x as long as of half as many, or all bytes less time. With --check the exit
status is 1 if there is one. Of a CSV without the group columns nothing is said of widths.

    rowscan bench --suite growth --csv growth.csv
    python3 tests/bench/growth.py growth.csv tests/bench/growth --machine "NVIDIA H200"
"""
import argparse
import csv
import math
import os
import sys
import textwrap
from collections import namedtuple
from xml.sax.saxutils import escape

CLIFF = 1.3

Point = namedtuple("Point", "rows length width regime kernel ms copy_ms kernel_ms bytes")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", help="what rowscan bench --suite growth --csv wrote")
    parser.add_argument("prefix", help="of the two files to write")
    parser.add_argument("--machine", default="", help="what it ran on, for the headings")
    parser.add_argument("--check", action="store_true", help="exit with 1 if there is a cliff")
    return parser.parse_args()


def read(name):
    """{group: [point, ...]}, sorted by length and rows; columns as they come. Lines that begin with # are comments."""
    groups = {"length": [], "bytes": [], "columns": []}
    with open(name, newline="") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            if row["group"] in groups:
                numbers = [float(row[key] or 0) for key in ("scan_ms", "copy_ms", "kernel_ms")]
                sizes = [int(row.get(key) or 1) for key in ("outer", "length", "inner")]
                word = (row.get("geometry") or "").partition(" ")[0]
                kernel = "" if "=" in word else word  # the host engine has none
                groups[row["group"]].append(Point(*sizes, row["regime"], kernel, *numbers, int(row["bytes"])))
    for group in ("length", "bytes"):
        groups[group].sort(key=lambda p: (p.length, p.rows))
    if not groups["length"]:
        sys.exit(f"{name}: no line of the group 'length'; is it of --suite growth?")
    return groups


# ---- cliffs ----------------------------------------------------------------------------------------------------------


def steps(points):
    """How much longer a byte takes than at the neighbour before it: [(point before, point, of the scan, of memcpy)]."""
    found = []
    for a, b in zip(points, points[1:]):
        scan, copy = (b.ms / b.bytes) / (a.ms / a.bytes), (b.copy_ms / b.bytes) / (a.copy_ms / a.bytes)
        found.append((a, b, scan, copy))
    return found


def neighbour_cliff(a, b, scan, copy):
    """Of lengths and of widths. memcpy excuses a step in its own direction only."""
    up = scan > CLIFF and not copy > CLIFF
    down = scan < 1 / CLIFF and not copy < 1 / CLIFF
    return up or down


def bytes_cliff(a, b, scan, copy):
    """More rows spread what a launch costs over more bytes; they must not cost more, nor take less time than fewer."""
    return (scan > CLIFF and not copy > CLIFF) or b.ms * CLIFF < a.ms


def cliffs(points, judge):
    return [step for step in steps(points) if judge(*step)]


def cliff_text(step, what):
    a, b, scan, copy = step
    by = "kernel" if what == "width" else "regime"
    return (f"{what} {getattr(a, what)} to {getattr(b, what)}: {scan:.2f} x the time a byte (memcpy {copy:.2f} x), "
            f"{by} {getattr(a, by) or '?'} to {getattr(b, by) or '?'}")


def by_length(points):
    """{length: points} of the group bytes."""
    table = {}
    for p in points:
        table.setdefault(p.length, []).append(p)
    return table


def by_size(points):
    """[points of one size, ...] of the group columns. The next size begins where the width falls, as a bench whose
    cells were made smaller has two that are the same; or, where few widths were timed, where the bytes are others."""
    sizes = []
    for p in points:
        last = sizes[-1][-1] if sizes else None
        if not last or p.width < last.width or not last.bytes < 2 * p.bytes < 4 * last.bytes:
            sizes.append([])
        sizes[-1].append(p)
    return sizes


def size_name(points):
    """By its narrowest array, of which rounding the length to whole steps of 8 changes least."""
    return f"{points[0].bytes / 1e6:.3g} MB"


def width_cliffs(points):
    return [f"columns, {size_name(size)}, {cliff_text(step, 'width')}"
            for size in by_size(points) for step in cliffs(size, neighbour_cliff)]


# ---- tables ----------------------------------------------------------------------------------------------------------


def base(points):
    """Bytes of all lengths; a last row that is rounded up makes them more."""
    return min(p.bytes for p in points)


def gbs(p):
    return 1e-6 * p.bytes / p.ms


def copy_gbs(p):
    return 1e-6 * p.bytes / p.copy_ms


def milliseconds(ms):
    return f"{ms:.4f}" if ms < 1 else f"{ms:.3f}"


# The first cells of a line: their heads, and what they say of a point.
FIRST = {"length": ("length | rows | regime", lambda p: f"{p.length} | {p.rows} | {p.regime}"),
         "rows": ("rows | MB | regime", lambda p: f"{p.rows} | {p.bytes / 1e6:.3g} | {p.regime}"),
         "width": ("width | length | kernel", lambda p: f"{p.width} | {p.length} | {p.kernel}")}


def table(points, first, judge):
    step_of = steps(points)
    head, start = FIRST[first]
    lines = [f"| {head} | ms | GB/s | of memcpy | step |", "| ---: | ---: | --- | ---: | ---: | ---: | ---: |"]
    for i, p in enumerate(points):
        step = ""
        if i:
            step = f"{step_of[i - 1][2]:.2f}"
            step = f"**{step}**" if judge(*step_of[i - 1]) else step
        lines.append(f"| {start(p)} | {milliseconds(p.ms)} | {gbs(p):.0f} | {p.copy_ms / p.ms:.3f} | {step} |")
    return lines


def cliff_lines(texts):
    return [f"- {text}" for text in texts] or ["None."]


def markdown(groups, options):
    lengths, columns = groups["length"], groups["columns"]
    found = [cliff_text(step, "length") for step in cliffs(lengths, neighbour_cliff)]
    shown = "time against length, and against bytes" + (", and GB/s of columns against width" if columns else "")
    where = f" on {options.machine}" if options.machine else ""
    lines = [f"# How a scan grows{where}", "",
             "Inclusive sums of f32, made by `tests/bench/growth.py` from the CSV of `rowscan bench --suite growth`.",
             "\"Of memcpy\" is the ratio to a device-to-device copy of the same bytes in the same run; \"step\" is the",
             "time a byte takes to that of the line before, in bold where it is a cliff: off by more than",
             f"{CLIFF} x, and memcpy's is not.", "",
             f"![{shown}]({os.path.basename(options.prefix)}.svg)", "",
             "## Cliffs between neighbouring lengths", "", *cliff_lines(found), "",
             f"## Time against length, {base(lengths) / 1e6:.0f} MB in all, the last row rounded up", "",
             *table(lengths, "length", neighbour_cliff)]
    for length, points in by_length(groups["bytes"]).items():
        found = [cliff_text(step, "rows") for step in cliffs(points, bytes_cliff)]
        lines += ["", f"## Time against bytes, rows of {length}", "", "Cliffs:", "", *cliff_lines(found), "",
                  *table(points, "rows", bytes_cliff)]
    if columns:
        lines += ["", "## Cliffs between neighbouring widths", "",
                  "Of one array [length, width], scanned along its first dimension.", "",
                  *cliff_lines(width_cliffs(columns))]
    for points in by_size(columns):
        lines += ["", f"## Columns against width, about {size_name(points)} in all", "",
                  *table(points, "width", neighbour_cliff)]
    return "\n".join(lines) + "\n"


# ---- the plot --------------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, RIGHT = 900, 340, 78, 150
TOP, BOTTOM = 46, 52
INK, FAINT, GRID, ALARM, GREY = "#1f2328", "#59636e", "#e4e7eb", "#c4320a", "#8b949e"
COLOURS = ["#1f6feb", "#1a7f37", "#9a6700", "#8250df"]


def power_name(exponent):
    value = 2**exponent
    for unit, size in (("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if value >= size:
            return f"{value // size} {unit}"
    return str(value)


def bytes_name(value):
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} B"


def time_name(ms):
    return f"{ms:g} ms" if ms >= 1 else f"{1e3 * ms:g} µs"


class Scale:
    """Of an axis, in logarithms; y of time may be linear from 0."""

    def __init__(self, low, high, start, end, log=True):
        self.log = log
        self.low, self.high = (math.log2(low), math.log2(high)) if log else (low, high)
        if self.high <= self.low:
            self.high = self.low + 1
        self.start, self.end = start, end

    def __call__(self, value):
        x = math.log2(value) if self.log else value
        return self.start + (x - self.low) / (self.high - self.low) * (self.end - self.start)


def nice_steps(high):
    """About five round values up to `high`."""
    size = 10 ** math.floor(math.log10(high / 4))
    size *= next(f for f in (1, 2, 5, 10) if high / (f * size) <= 6)
    return [i * size for i in range(int(high / size) + 1)]


def decades(low, high):
    """Powers of ten; where they are few, their doubles and fives too."""
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    factors = (1,) if len(powers) > 5 else (1, 2, 5)
    return [f * 10.0**k for k in powers for f in factors if low <= f * 10.0**k <= high]


def folded(part):
    """An element in lines of at most 120 columns: a blank inside its tag may be a new line."""
    if len(part) <= 120:
        return part
    tag, end, rest = part.partition(">")
    lines = textwrap.wrap(tag, 119, break_long_words=False, break_on_hyphens=False)
    if len(lines[-1] + end + rest) > 120:
        lines.append("")
    return "\n".join(lines) + end + rest


class Panel:
    def __init__(self, top, title, x_label, y_label):
        self.top, self.parts = top, []
        self.left, self.right = LEFT, WIDTH - RIGHT
        self.above, self.below = top + TOP, top + HEIGHT - BOTTOM
        self.labels = []
        self.text(self.left - 62, top + 22, title, INK, size=15, weight="600")
        self.text((self.left + self.right) / 2, self.below + 40, x_label, FAINT, anchor="middle")
        middle = (self.above + self.below) / 2
        self.text(18, middle, y_label, FAINT, anchor="middle", extra=f' transform="rotate(-90 18 {middle:.1f})"')

    def text(self, x, y, words, colour, size=12, anchor="start", weight="400", extra=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{colour}" '
                          f'text-anchor="{anchor}"{extra}>{escape(words)}</text>')

    def line(self, x1, y1, x2, y2, colour=GRID, width=1):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
                          f'stroke-width="{width}"/>')

    def x_tick(self, x, words):
        self.line(x, self.above, x, self.below)
        self.text(x, self.below + 18, words, FAINT, anchor="middle")

    def y_tick(self, y, words):
        self.line(self.left, y, self.right, y)
        self.text(self.left - 8, y + 4, words, FAINT, anchor="end")

    def curve(self, points, colour, dashed=False, label=""):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>')
        if label:
            self.labels.append((points[-1][1], label, colour))

    def dot(self, x, y, colour, hollow=False, radius=2.6):
        fill = "#ffffff" if hollow else colour
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}" stroke="{colour}" '
                          f'stroke-width="1.4"/>')

    def ring(self, x, y):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="none" stroke="{ALARM}" stroke-width="1.8"/>')

    def finish(self):
        """Labels at the ends of the curves, pushed apart."""
        last = -1e9
        for y, words, colour in sorted(self.labels):
            last = max(y, last + 15)
            self.text(self.right + 10, last + 4, words, colour)
        return self.parts


def time_scale(panel, values):
    """Linear from 0 where that shows all of them, else logarithmic; draws its ticks."""
    low, high = min(values), max(values)
    if high / low <= 12:
        scale = Scale(0, 1.12 * high, panel.below, panel.above, log=False)
        ticks = nice_steps(1.12 * high)
    else:
        scale = Scale(low / 1.3, 1.3 * high, panel.below, panel.above)
        ticks = decades(low / 1.3, 1.3 * high)
    for value in ticks:
        panel.y_tick(scale(value), time_name(value) if value else "0")
    return scale


def power_ticks(panel, x, low, high):
    for exponent in range(0, 63, 2):
        if low <= 2**exponent <= high:
            panel.x_tick(x(2**exponent), power_name(exponent))


def length_panel(points, top):
    panel = Panel(top, f"Time of {base(points) / 1e6:.0f} MB in rows of every length",
                  "elements of a row (filled: a power of two; hollow: odd)", "time")
    x = Scale(points[0].length, points[-1].length, panel.left + 8, panel.right)
    power_ticks(panel, x, points[0].length, points[-1].length)
    part = {p: base(points) / p.bytes for p in points}
    y = time_scale(panel, [p.ms * part[p] for p in points] + [p.copy_ms * part[p] for p in points])
    at = {p: (x(p.length), y(p.ms * part[p])) for p in points}
    panel.curve([(x(p.length), y(p.copy_ms * part[p])) for p in points], GREY, dashed=True, label="memcpy")
    panel.curve([at[p] for p in points], COLOURS[0], label="rowscan")
    for p in points:
        panel.dot(*at[p], COLOURS[0], hollow=p.length & (p.length - 1) != 0)
    for _, p, _, _ in cliffs(points, neighbour_cliff):
        panel.ring(*at[p])
    return panel.finish()


def bytes_panel(groups, top):
    every = [p for points in groups.values() for p in points]
    panel = Panel(top, "Time against bytes read and written, by length of a row", "bytes", "time")
    x = Scale(min(p.bytes for p in every), max(p.bytes for p in every), panel.left + 8, panel.right)
    for value in decades(2**x.low, 2**x.high):
        panel.x_tick(x(value), bytes_name(value))
    low, high = min(min(p.ms, p.copy_ms) for p in every), max(max(p.ms, p.copy_ms) for p in every)
    y = Scale(low / 1.3, 1.3 * high, panel.below, panel.above)
    for value in decades(low / 1.3, 1.3 * high):
        panel.y_tick(y(value), time_name(value))
    copies = sorted((p.bytes, p.copy_ms) for p in every)
    panel.curve([(x(size), y(ms)) for size, ms in copies], GREY, dashed=True, label="memcpy")
    for (length, points), colour in zip(groups.items(), COLOURS):
        panel.curve([(x(p.bytes), y(p.ms)) for p in points], colour, label=f"rows of {length}")
        for p in points:
            panel.dot(x(p.bytes), y(p.ms), colour, radius=2)
        for _, p, _, _ in cliffs(points, bytes_cliff):
            panel.ring(x(p.bytes), y(p.ms))
    return panel.finish()


def columns_panel(sizes, top):
    every = [p for points in sizes for p in points]
    panel = Panel(top, "GB/s along the columns of arrays of every width, by bytes in all",
                  "columns (filled: a power of two; hollow: odd)", "GB/s")
    low, high = min(p.width for p in every), max(p.width for p in every)
    x = Scale(low, high, panel.left + 8, panel.right)
    power_ticks(panel, x, low, high)
    most = 1.12 * max(max(gbs(p), copy_gbs(p)) for p in every)
    y = Scale(0, most, panel.below, panel.above, log=False)
    for value in nice_steps(most):
        panel.y_tick(y(value), f"{value:g}")
    for points, colour in zip(sizes, COLOURS):
        name = size_name(points)
        panel.curve([(x(p.width), y(copy_gbs(p))) for p in points], GREY, dashed=True, label=f"memcpy, {name}")
        panel.curve([(x(p.width), y(gbs(p))) for p in points], colour, label=f"rowscan, {name}")
        for p in points:
            panel.dot(x(p.width), y(gbs(p)), colour, hollow=p.width & (p.width - 1) != 0)
        for _, p, _, _ in cliffs(points, neighbour_cliff):
            panel.ring(x(p.width), y(gbs(p)))
    return panel.finish()


def svg(groups, options):
    fixed, sizes = by_length(groups["bytes"]), by_size(groups["columns"])
    height = HEIGHT * (1 + bool(fixed) + bool(sizes)) + 34
    words = "rowscan, inclusive sums of f32" + (f", {options.machine}" if options.machine else "")
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
             f'height="{height}" font-family="system-ui, sans-serif">', f"<title>{escape(words)}</title>",
             f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>']
    parts += length_panel(groups["length"], 0)
    if fixed:
        parts += bytes_panel(fixed, HEIGHT)
    if sizes:
        parts += columns_panel(sizes, HEIGHT * (1 + bool(fixed)))
    words += f"; a red ring, a cliff: {CLIFF} x off a byte's time just before it"
    parts.append(f'<text x="16" y="{height - 14}" font-size="12" fill="{FAINT}">{escape(words)}</text>')
    return "\n".join(folded(part) for part in parts + ["</svg>"]) + "\n"


# ---- all of it -------------------------------------------------------------------------------------------------------


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    options = arguments()
    groups = read(options.csv)
    write(options.prefix + ".md", markdown(groups, options))
    write(options.prefix + ".svg", svg(groups, options))
    found = [cliff_text(step, "length") for step in cliffs(groups["length"], neighbour_cliff)]
    for length, points in by_length(groups["bytes"]).items():
        found += [f"rows of {length}, {cliff_text(step, 'rows')}" for step in cliffs(points, bytes_cliff)]
    found += width_cliffs(groups["columns"])
    for text in found:
        print(f"cliff: {text}")
    print(f"{len(found)} cliffs; wrote {options.prefix}.md and {options.prefix}.svg")
    return 1 if options.check and found else 0


if __name__ == "__main__":
    sys.exit(main())
