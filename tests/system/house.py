#!/usr/bin/env python3
# house.py - whether the folders of src/ and cache/ include from one another as src/ARCHITECTURE.md says
# SPDX-License-Identifier: MIT
#
# By the doors that it lists, and all that it lists. And whether any two files of them, a .c and its .h counted as one,
# include one another in a circle; and whether each name of a static function or object is unique in its folder;
# whether functions are short; and whether those of the files of a folder call one another in a circle.
import os
import re
import sys
from pathlib import Path

root = Path(os.environ.get("srcdir", Path(__file__).resolve().parents[2]))
wrong = []

allowed, doors = {}, {}
for line in (root / "src/ARCHITECTURE.md").read_text().splitlines():
    row = re.match(r"\| `(?:src/)?(\w+)/` \|.*\| ([\w ]*)\| ([\w. ]*)\|$", line)
    if row:
        allowed[row[1]], doors[row[1]] = set(row[2].split()), set(row[3].split())

files = [p for top in ("src", "cache") for p in sorted((root / top).rglob("*.[ch]")) if p.name != "kernels_embedded.c"]
arrows, includes, taken = 0, {}, set()
for path in files:
    name = path.relative_to(root)
    folder = name.parts[1] if name.parts[0] == "src" else "cache"
    if name.parts[0] == "src" and len(name.parts) == 2:
        continue
    if folder not in allowed:
        wrong.append(f"{name}: {folder}/ is not in the table of src/ARCHITECTURE.md")
        continue
    unit = includes.setdefault(str(name.with_suffix("")), set())
    for included in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
        there = root / "src" / included if "/" in included else path.parent / included
        if not there.exists():
            there = root / included
        if not there.exists():
            continue
        to = there.resolve().relative_to(root.resolve())
        unit.add(str(to.with_suffix("")))
        other = to.parts[1] if to.parts[0] == "src" and len(to.parts) > 2 else to.parts[0]
        if other not in (folder, "src"):
            arrows += 1
            if other not in allowed[folder]:
                wrong.append(f"{name} includes {to}, and {folder}/ may include {sorted(allowed[folder])} alone")
            if not {"all", to.name} & doors.get(other, set()):
                wrong.append(f"{name} includes {to}, and the doors of {other}/ are {sorted(doors.get(other, ()))}")
            taken |= {(folder, other), (other, to.name), (other, "all")}

# A template that is included many times may include itself; all else that leads back is a circle.
done, stack = set(), []


def walk(unit):
    if unit in stack:
        circle = stack[stack.index(unit):]
        if len(circle) > 1:
            wrong.append("a circle: " + " -> ".join([*circle, unit]))
        return
    if unit in done:
        return
    stack.append(unit)
    for to in sorted(includes.get(unit, ())):
        walk(to)
    done.add(stack.pop())


for unit in sorted(includes):
    walk(unit)

# A name of a static function or object stands in one file of its folder: so a search, a backtrace or a profile that
# shows it leads to one place. A header that is included many times, each time with other macros, is one file.
DECLARED = re.compile(r"^static\b[^;={}()]*?(\w+)(?:\[[^\]]*\])*\s*(?:[(;]|=[^;]*;)|^static\b[^;=()]*\{[^}]*\}\s*(\w+)",
                      re.MULTILINE)
FURTHER = re.compile(r",\s*\**(\w+)(?:\[[^\]]*\])*\s*(?==|;|,\s*\w+\s*[=;])")
sources = files + sorted((root / "python/core").glob("*.[ch]"))
statics = {}
for path in sources:
    for found in DECLARED.finditer(path.read_text()):
        names = [found[1] or found[2]]
        if found[0].endswith(";"):
            names += FURTHER.findall(re.sub(r"\{[^{}]*\}", "", found[0]))
        for name in names:
            statics.setdefault((path.parent.relative_to(root), name), set()).add(path.name)
wrong += [f"{folder}/: the static name {name} stands in {', '.join(sorted(where))}"
          for (folder, name), where in sorted(statics.items()) if len(where) > 1]

# Functions are short. A table in one, of options or of what to call, counts as one line.
MOST_LINES = 40
FUNCTION = re.compile(r"^[A-Za-z_][^;{}]*?(\w+)\([^;{}]*\)\s*\{\n.*?^\}",
                      re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"^( +)[^\n]* = \{(?:[^;]*?|\n.*?^\1)\};", re.MULTILINE | re.DOTALL)
functions = [(path.relative_to(root), found[1], TABLE.sub("", found[0]).count("\n") + 1)
             for path in sources for found in FUNCTION.finditer(path.read_text())]
wrong += [f"{path}: {name} has {lines} lines, more than {MOST_LINES}"
          for path, name, lines in functions if lines > MOST_LINES]

# Functions of a folder's files call one another in one direction: no two files in a circle. A file is read without its
# comments and texts, and calls whatever it names; a call through a pointer is the business of who made the pointer.
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def reached(calls, start):
    """The files that functions of `start` come to, over any number of calls."""
    seen, left = set(), [start]
    while left:
        new = set(calls[left.pop()]) - seen
        seen |= new
        left += new
    return seen


called = 0
for folder in sorted({path.parent for path in sources}):
    texts = {path.name: COMMENT.sub("", path.read_text()) for path in sources
             if path.parent == folder and path.suffix == ".c"}
    home = {found[1]: name for name, text in texts.items() for found in FUNCTION.finditer(text)
            if not found[0].startswith("static")}
    calls = {name: {} for name in texts}
    for name, text in texts.items():
        for word in set(re.findall(r"\w+", text)) & set(home):
            if home[word] != name:
                calls[name].setdefault(home[word], []).append(word)
                called += 1
    for name in sorted(texts):
        wrong += [f"{folder.relative_to(root)}/: in a circle, {name} calls {', '.join(sorted(words))} of {other}"
                  for other, words in sorted(calls[name].items()) if name in reached(calls, other)]

# What nobody takes is not listed.
for folder in allowed:
    wrong += [f"{folder}/ does not include {other}/" for other in allowed[folder] if (folder, other) not in taken]
    wrong += [f"{folder}/{door} is no door" for door in doors[folder] if (folder, door) not in taken]

# Every folder has arrows down only: none of those that it may include may include it.
for folder, below in allowed.items():
    wrong += [f"{folder}/ and {other}/ may include one another" for other in below if folder in allowed.get(other, ())]

print("\n".join(wrong) or f"{len(files)} files, {len(allowed)} folders, {arrows} arrows between them, all down; "
                           f"{len(statics)} static names, each in one file of its folder; "
                           f"{len(functions)} functions of at most {MOST_LINES} lines, "
                           f"{called} calls between files without a circle")
sys.exit(bool(wrong) or not (arrows and statics and functions and called))
