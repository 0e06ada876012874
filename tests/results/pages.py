#!/usr/bin/env python3
# pages.py - the tables of README.md, docs/ and tests/RESULTS.md, and README's picture, from the CSV files beside it
# SPDX-License-Identifier: MIT
"""Writes what is between <!-- pages.py NAME --> and <!-- end --> in README.md, docs/ and tests/RESULTS.md, and the
picture peers.svg. It exits with 1 if a text cites a file that is neither in this folder nor in HISTORY.md, or the folder
has more than 25 files. With --check it writes nothing, names each page that differs from what the CSV files make, and
exits with 1 if there is one.

A CSV file is named GPU_COMMIT_WHAT.csv and begins with lines "# key: value": machine, driver, cuda, commit, date,
command, note. Where two files have a figure of the same scan on the same GPU, the later one counts. geometry.csv is of
several GPUs and commits, and in no table: from its figures src/family chooses geometries.
"""
import argparse
import csv
import math
import re
import sys
import textwrap
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[1]
PAGES = (TREE / "README.md", *sorted((TREE / "docs").glob("*.md")), TREE / "tests" / "RESULTS.md")
GPUS = {"h100": "H100", "h200": "H200"}
PEERS = ("torch", "torch.compile", "Triton", "CUB")
COLUMNS = ("machine", "commit", "command")  # that each file must tell
MOST_FILES = 25


# ---- files -----------------------------------------------------------------------------------------------------------


class Data:
    """One CSV file: what its comments tell, and its lines as dicts."""

    def __init__(self, path):
        self.path = path
        *of, self.what = path.stem.split("_", 2)
        self.gpu = of[0] if of else ""
        lines = path.read_text(encoding="utf-8").splitlines()
        told = [re.match(r"# (\w+): (.*)", line) for line in lines if line.startswith("#")]
        self.head = {match[1]: match[2] for match in told if match}
        for key in COLUMNS:
            if not self.head.get(key):
                sys.exit(f"{path}: no line '# {key}: ...'")
        self.rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))

    def __getattr__(self, key):
        return self.head.get(key, "")


def files(what="", gpu=""):
    """Of that kind and machine, in the order of their dates."""
    every = [Data(path) for path in sorted(HERE.glob("*.csv"))]
    return sorted((d for d in every if what in ("", d.what) and gpu in ("", d.gpu)), key=lambda d: d.date)


def latest(what, gpu):
    return files(what, gpu)[-1]


def quantile(values, part):
    """Linear between the two nearest; part 0 is the least."""
    values = sorted(values)
    at = part * (len(values) - 1)
    low = math.floor(at)
    return values[low] + (at - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def table(head, rows):
    """Markdown; columns whose head begins with > are aligned to the right."""
    lines = ["| " + " | ".join(name.lstrip(">") for name in head) + " |",
             "| " + " | ".join("---:" if name.startswith(">") else "---" for name in head) + " |"]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]


# ---- figures ---------------------------------------------------------------------------------------------------------


def cells(gpu):
    """{(shape, variant, type): figures} of rowscan bench --suite full, each figure of the latest run that has it."""
    found = {}
    for data in files("cells", gpu):
        for row in data.rows:
            cell = found.setdefault((row["shape"], row["variant"], row["type"]), {})
            cell.update({key: value for key, value in row.items() if value})
    return found


def reached(cell):
    return cell["met"] == "yes"


def peers(gpu):
    """{(cell, variant, type): {peer: line}} of the latest run of tests/peers."""
    found = {}
    for row in latest("peers", gpu).rows:
        found.setdefault((row["cell"], row["variant"], row["type"]), {})[row["peer"]] = row
    return found


# ---- tables ----------------------------------------------------------------------------------------------------------


def suite_table():
    """Targets reached and ratios to memcpy, by group."""
    every = {gpu: cells(gpu) for gpu in GPUS}
    groups = list(dict.fromkeys(cell["group"] for cell in every["h100"].values()))
    rows = []
    for group in groups + ["all"]:
        row = [group]
        for gpu in GPUS:
            chosen = [c for c in every[gpu].values() if group in ("all", c["group"])]
            ratios = [float(c["of_memcpy"]) for c in chosen]
            row += [f"{sum(map(reached, chosen))} of {len(chosen)}", *(f"{quantile(ratios, q):.2f}"
                                                                     for q in (0, 0.25, 0.5))]
        rows.append(row)
    head = ["group"]
    for name in GPUS.values():
        head += [f">{name}: targets", ">least", ">25%", ">median"]
    return table(head, rows)


def missed_table():
    rows = []
    for key, cell in cells("h200").items():
        other = cells("h100")[key]
        if not (reached(cell) and reached(other)):
            rows.append([key[0], key[1], key[2], cell["target"]] + [
                text for c in (other, cell) for text in (c["of_memcpy"] if reached(c) else f"**{c['of_memcpy']}**",
                                                         c["of_kernel"])])
    return table(["shape", "variant", "type", ">target", ">H100, of memcpy", ">of a copy kernel", ">H200, of memcpy",
                  ">of a copy kernel"], rows)


def peers_table():
    """Ratios to memcpy by contender, and how often each is the fastest."""
    rows = []
    for gpu, name in GPUS.items():
        every = peers(gpu)
        fastest = [min(lines, key=lambda peer: float(lines[peer]["ms"])) for lines in every.values()]
        for peer in ("rowscan",) + PEERS:
            ratios = [float(lines[peer]["ratio"]) for lines in every.values() if peer in lines]
            rows.append([name, peer, f"{fastest.count(peer)} of {len(ratios)}",
                         *(f"{quantile(ratios, q):.2f}" for q in (0, 0.25, 0.5, 0.75))])
    return table(["GPU", "", ">fastest in", ">least", ">25%", ">median", ">75%"], rows)


def paragraph(*lists):
    """Lines of 120 columns, an item of Markdown for each list."""
    return [line for words in lists for line in textwrap.wrap(words, 120, initial_indent="- ", subsequent_indent="  ",
                                                              break_long_words=False, break_on_hyphens=False)]


def first_list():
    data = latest("house_first", "h100")
    rows = {}
    for row in data.rows:
        rows.setdefault(row["spec"], {})[row["cache"]] = row
    ms, nvrtc = f"ms_{data.commit}", f"of_it_nvrtc_{data.commit}"
    return paragraph("A first call in a new process, ms: cold, of it NVRTC; from disk. " + "; ".join(
        f"`{spec}` {float(of['cold'][ms]):.0f}, {float(of['cold'][nvrtc]):.0f}; {float(of['warm'][ms]):.2f}"
        for spec, of in rows.items()) + ".")


def random_table():
    """Quantiles of each seed of rowscan bench --suite random, large cells beside memcpy, small ones beside a kernel."""
    rows = []
    for size, key, copy in ("large", "ratio", "memcpy"), ("small", "kernel_ratio", "a copy kernel"):
        for data in files(f"random_{size}"):
            for seed in sorted({int(row["seed"]) for row in data.rows}):
                ratios = [float(row[key] or row["ratio"]) for row in data.rows if int(row["seed"]) == seed]
                rows.append([GPUS[data.gpu], f"[{data.commit}](results/{data.path.name})", f"{size}, of {copy}", seed,
                             len(ratios), *(f"{quantile(ratios, q):.2f}" for q in (0, 0.05, 0.1, 0.25, 0.5))])
    return table(["GPU", "commit", "size", ">seed", ">cells", ">worst", ">5%", ">10%", ">25%", ">median"], rows)


def launch_list():
    """Medians over the runs, in nanoseconds."""
    data = latest("house_launch", "h100")
    told = []
    for regime in dict.fromkeys(row["regime"] for row in data.rows):
        chosen = [row for row in data.rows if (row["regime"], row["commit"]) == (regime, data.commit)]
        told.append(f"{regime} " + ", ".join(
            f"{quantile([int(r[key]) - int(r[base]) for r in chosen], 0.5):+.0f}"
            for key, base in (("overlapped", "bare"), ("plan_run", "bare"), ("one_call", "plan_run"))))
    return paragraph("A launch that overlaps, and `rowscan_plan_run`, beside a plain `cuLaunchKernel`; `rowscan_scan` "
                     f"beside `rowscan_plan_run`; ns: {'; '.join(told)}.")


def errors_table():
    """Largest error of all data by operator and type, and how many results are none or wrong."""
    found, heads = {}, {"loop": None, "tree": None, "rowscan": None, "in f64": None, "in f32": None}
    for row in latest("errors", "host").rows:
        operator = row["operator"].replace("product", "extended_prod").partition(" ")[0]
        method = row["method"].replace(" --second", "").replace(operator, "rowscan").replace("rowscan --acc ", "in ")
        heads[method] = None
        cell = found.setdefault((operator, row["type"]), {}).setdefault(method, [0, 0, 0])
        cell[0] = max(cell[0], float(row["max"]))
        cell[1] += int(row["nan"])
        cell[2] += int(row["wrong"])
    rows = []
    for (operator, kind), cells_of in found.items():
        told = {method: f"{most:g}" + f", {nan} NaN" * bool(nan) + f", {wrong} wrong" * bool(wrong)
                for method, (most, nan, wrong) in cells_of.items()}
        rows.append([operator, kind, *(told.get(method, "") for method in heads)])
    return table(["operator", "type", *(">" + method for method in heads)], rows)


def largest_errors():
    """Of all data, by operator."""
    by = {"logsumexp": "the larger of 1 and itself", "linear_recurrence": "abs(c) * condition + abs(x)",
          "gae": "likewise, x being the three terms of delta", "weighted_recurrence": "abs(weight) * the recurrence's", "logsumexp_gradient": "abs(weight) * that of s",
          "sum": "the sum of abs(x)", "product": "itself"}
    found = {}
    for row in latest("errors", "host").rows:
        key = row["operator"], row["type"], row["method"]
        found[key] = max(found.get(key, 0), float(row["max"]))
    rows = []
    for operator, words in by.items():
        name = {"product": "extended_prod"}.get(operator, operator)
        single, double = f"{name} --acc f32", f"{name} --acc f64"
        single, double = (single, name) if (operator, "f32", single) in found else (name, double)
        keys = ("f32", "loop"), ("f32", single), ("f32", double), ("f64", name)
        rows.append([name, words, *(f"{found[operator, kind, method]:g}" for kind, method in keys)])
    return table(["operator", "measured by", ">f32, a loop", ">f32", ">f32 in f64", ">f64"], rows)


def python_list():
    data, calls = latest("kernelbench", "h100"), latest("python_calls", "h100")
    ms = {}
    for row in data.rows:
        ms.setdefault(row["problem"], {})[row["way"]] = float(row["median_ms"])
    told = []
    for call in dict.fromkeys(row["call"] for row in calls.rows):
        ratios = [float(row["ratio"]) for row in calls.rows if row["call"] == call]
        wanted = next(float(row["at_most"]) for row in calls.rows if row["call"] == call)
        told.append(f"{call} {quantile(ratios, 0):.2f} to {quantile(ratios, 1):.2f} "
                    f"({wanted:g}: {sum(r <= wanted for r in ratios)} of {len(ratios)})")
    bench = "; ".join(f"{problem.partition('_')[2]} {of['rowscan']:.2f}, {of['eager']:.2f}, {of['compiled']:.2f}"
                      for problem, of in ms.items())
    return paragraph(f"KernelBench, ms of GPU time, rowscan, torch, torch.compile: {bench}.",
                     "Host time of a call beside torch's (wanted: shapes that have it): " + "; ".join(told) + ".")


# What README shows: shape, variant and type of a cell of the suite, and what to call it.
WORKLOADS = (
    ("32768 x 32768", "inclusive", "f32", "32768 × 32768", ""),
    ("32768 x 32768", "reverse", "f32", "32768 × 32768", "reverse"),
    ("32768 x 32768", "masked", "f32", "32768 × 32768", "masked"),
    ("32768 x 32768", "inclusive", "bf16", "32768 × 32768", "bf16"),
    ("1024 x 128256", "inclusive", "f32", "1024 × 128256", "logits"),
    ("8192 x 50257", "inclusive", "f32", "8192 × 50257", "unaligned rows"),
    ("1048576 x 64", "inclusive", "f32", "1048576 × 64", "short rows"),
    ("1 x 268435456", "inclusive", "f32", "1 × 2^28", "one long row"),
    ("64 x 4096 x 1024 dim 1", "inclusive", "f32", "64 × 4096 × 1024", "along the 4096"),
    ("32768 x 129 dim 0", "inclusive", "f32", "32768 × 129", "along the 32768"),
)


def workload_table():
    rows = []
    for *key, name, words in WORKLOADS:
        row = [f"{name} {words}".strip()]
        for gpu in GPUS:
            cell = cells(gpu)[tuple(key)]
            ms = float(cell["ms"])
            row += [f"{ms:.{2 if ms >= 1 else 3}f}", f"{float(cell['of_memcpy']):.2f}"]
        rows.append(row)
    sources = [("the H100's", latest("cells", "h100")), ("the H200's", latest("cells", "h200")),
               ("the picture's", latest("peers", "h100"))]
    names = [f"{whose} at [{d.commit}](tests/results/{d.path.name})" for whose, d in sources]
    return table(["scan", ">H100, ms", ">ratio", ">H200, ms", ">ratio"], rows) + [
        "", f"These figures: {names[0]},", f"{names[1]},", f"{names[2]}."]


BLOCKS = {
    "workloads": workload_table,
    "suite": suite_table,
    "missed": missed_table,
    "peers": peers_table,
    "random": random_table,
    "largest_errors": largest_errors,
    "errors": errors_table,
    "calls": lambda: first_list() + launch_list() + python_list(),
}


def page(path):
    """The page as the CSV files make it."""
    def made(match):
        if match[1] not in BLOCKS:
            sys.exit(f"{path}: '{match[1]}' is not one of {', '.join(BLOCKS)}")
        gap = [""] * (match[2] == "\n\n")  # as it was
        return "\n".join([f"<!-- pages.py {match[1]} -->", *gap, *BLOCKS[match[1]](), *gap, "<!-- end -->"])

    block = re.compile(r"<!-- pages\.py (\w+) -->(\n+).*?<!-- end -->", re.DOTALL)
    return block.sub(made, path.read_text(encoding="utf-8"))


# ---- the picture -----------------------------------------------------------------------------------------------------

WIDTH, LEFT, RIGHT, TOP, LANE = 400, 14, 44, 96, 40
MARKS = {"torch": "torch.cumsum", "torch.compile": "torch.compile", "Triton": "Triton, tuned", "CUB": "CUB"}
STYLE = """
  text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #1f2328; }
  .title { font-size: 15px; font-weight: 600; }
  .name { font-weight: 600; }
  .faint { fill: #59636e; }
  .paper { fill: #ffffff; stroke: #d1d9e0; }
  .track { fill: #eaeef2; }
  .rowscan { fill: #0072b2; }
  .memcpy { stroke: #1f2328; stroke-width: 1.5; }
  .mark { stroke: #ffffff; stroke-width: 1.5; }
  .torch { fill: #e69f00; }
  .compile { fill: #cc79a7; }
  .triton { fill: #009e73; }
  .cub { fill: #d55e00; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .faint { fill: #9198a1; }
    .paper { fill: #0d1117; stroke: #3d444d; }
    .track { fill: #262c36; }
    .rowscan { fill: #4aa8e0; }
    .memcpy { stroke: #f0f6fc; }
    .mark { stroke: #0d1117; }
  }
"""


def mark(peer, x, y):
    """Each contender has a form of its own, so that colours need not be told apart."""
    kind = f'class="mark {peer.rpartition(".")[2].lower()}"'
    if peer == "torch":
        return f'<circle {kind} cx="{x:.1f}" cy="{y:.1f}" r="5.5"/>'
    if peer == "torch.compile":
        return f'<rect {kind} x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10"/>'
    if peer == "Triton":
        return f'<path {kind} d="M{x:.1f} {y - 7:.1f}l7 7l-7 7l-7 -7z"/>'
    return f'<path {kind} d="M{x:.1f} {y - 6.5:.1f}l7 12h-14z"/>'


def text(x, y, words, kind="", anchor="start"):
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y}"{kind} text-anchor="{anchor}">{escape(words)}</text>'


def legend():
    parts = [f'<rect class="rowscan" x="{LEFT}" y="37" width="16" height="10"/>', text(LEFT + 21, 46, "rowscan")]
    for peer, (x, y) in zip(PEERS, ((LEFT + 110, 46), (LEFT + 235, 46), (LEFT, 68), (LEFT + 110, 68))):
        parts += [mark(peer, x + 8, y - 4), text(x + 21, y, MARKS[peer])]
    return parts


def lane(y, name, words, lines, scale):
    """A workload: its name, rowscan as a bar, and a mark for each other; of two that would touch one is higher."""
    ratio = float(lines["rowscan"]["ratio"])
    bar = [f'<text x="{LEFT}" y="{y + 11}"><tspan class="name">{escape(name)}</tspan> {escape(words)}</text>',
           f'<rect class="track" x="{LEFT}" y="{y + 17}" width="{scale:.1f}" height="12"/>',
           f'<rect class="rowscan" x="{LEFT}" y="{y + 17}" width="{scale * ratio:.1f}" height="12"/>',
           text(WIDTH - 8, y + 27, f"{ratio:.2f}", "name", "end")]
    marks, before, high = [], -1e9, False
    for at, peer in sorted((LEFT + scale * float(lines[peer]["ratio"]), peer) for peer in PEERS if peer in lines):
        near = at - before < 13
        high, before = near and not high, at
        marks.append(mark(peer, at, y + (18 if high else 25 if near else 23)))
    return bar, marks


def picture():
    data, every = latest("peers", "h100"), peers("h100")
    below = TOP + LANE * len(WORKLOADS)
    scale = (WIDTH - LEFT - RIGHT) / 1.03
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {below + 44}" width="{WIDTH}" '
             f'height="{below + 44}" role="img">',
             f"<title>Scans on an H100 relative to memcpy: rowscan, {', '.join(MARKS.values())}</title>",
             f"<style>{STYLE}</style>",
             f'<rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{below + 43}" rx="6"/>',
             text(LEFT, 24, "Speed relative to memcpy on an H100", "title"), *legend(),
             text(LEFT + scale, TOP - 10, "memcpy = 1", "faint", "end")]
    over = [f'<line class="memcpy" x1="{LEFT + scale:.1f}" y1="{TOP - 4}" x2="{LEFT + scale:.1f}" y2="{below - 6}"/>']
    for number, (*key, name, words) in enumerate(WORKLOADS):
        bar, marks = lane(TOP + LANE * number, name, words, every[tuple(key)], scale)
        parts += bar
        over += marks
    parts += [*over, text(LEFT, below + 14, "Sums of f32 unless said. Further right is faster.", "faint"),
              text(LEFT, below + 30, f"No triangle: CUB has no such call. At {data.commit}, {data.date}.", "faint"),
              "</svg>"]
    return "\n".join(parts) + "\n"


# ---- citations -------------------------------------------------------------------------------------------------------


def lost():
    """What is wrong with this folder, and with the names by which the tree cites its files: links and sources name what
    is here, other text also what HISTORY.md lists."""
    here = {path.name for path in HERE.iterdir() if not path.name.startswith(("__", "."))}
    if len(here) > MOST_FILES:
        yield f"tests/results has {len(here)} files, and may have {MOST_FILES}: see HISTORY.md"
    gone = {f"{name}.csv" for name in re.findall(r"^\| (\w+) \|", (HERE / "HISTORY.md").read_text(), re.MULTILINE)}
    yield from (f"tests/results/HISTORY.md: {name} is here" for name in sorted(here & gone))
    for top in ("README.md", "src", "kernels", "tests", "docs", "python"):
        for path in [TREE / top] if (TREE / top).is_file() else sorted((TREE / top).rglob("*")):
            if path.suffix not in (".md", ".c", ".h", ".cuh", ".py"):
                continue
            for link, name in re.findall(r"(results/)?\b((?:h\d00|xeon|zen\d|host)_[0-9a-f]{7}_\w+\.csv)",
                                         path.read_text(encoding="utf-8")):
                if name not in (here if link or path.suffix != ".md" else here | gone):
                    yield f"{path.relative_to(TREE)}: there is no tests/results/{name}"



# ---- all of it -------------------------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is not as made")
    check = parser.parse_args().check
    made = {path: page(path) for path in PAGES}
    made[HERE / "peers.svg"] = picture()
    old = [path for path, words in made.items() if not path.exists() or path.read_text(encoding="utf-8") != words]
    for path in old:
        if check:
            print(f"{path.relative_to(TREE)}: not what the CSV files make; run tests/results/pages.py")
        else:
            path.write_text(made[path], encoding="utf-8")
            print(f"wrote {path.relative_to(TREE)}")
    wrong = list(lost())
    print("\n".join(wrong), end="\n" * bool(wrong))
    return 1 if wrong or (check and old) else 0


if __name__ == "__main__":
    sys.exit(main())
