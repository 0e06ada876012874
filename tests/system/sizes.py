#!/usr/bin/env python3
"""sizes.py - programs built with headers of other versions: their structs are shorter or longer than the library's
SPDX-License-Identifier: MIT

Of rowscan.h it makes headers whose structs lack the last fields, as older ones would, and one whose structs have a
field more, as newer ones would; builds tests/system/sizes.c against each, and runs it with the library at hand.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

srcdir = os.environ.get("srcdir", ".")
STRUCT = re.compile(r"(typedef struct (rowscan_\w+) \{\n)(\s*size_t size;.*?)(\n\} \2;)", re.S)
# What tests/system/sizes.c itself asks for.
KEPT = {"rowscan_problem": "output", "rowscan_args": "rows", "rowscan_spec": "row_rank", "rowscan_options": "threads",
        "rowscan_warming": "arch_count", "rowscan_plan_info": "modules", "rowscan_cache_filter": "size",
        "rowscan_cache_info": "limit_bytes"}


def fields(body):
    """The declarations of a struct's body, without comments; a union is one."""
    body = " ".join(re.sub(r"/\*.*?\*/", "", body, flags=re.S).split())
    return [field.strip() for field in re.findall(r"((?:[^;{]|\{[^}]*\})+);", body)]


def name_of(field):
    field = re.sub(r"; }$", "", field)  # of a union the last one
    return re.search(r"(\w+)(?:\[\w+\])?$|\(\*(\w+)\)", field).group(0).strip("(*)").split("[")[0]


def shorter(text, by):
    def cut(match):
        all_fields = fields(match[3])
        names = [name_of(field) for field in all_fields]
        kept = KEPT.get(match[2], names[min(1, len(names) - 1)])
        count = max(names.index(kept) + 1, len(names) - by)
        return match[1] + "".join(f"  {field};\n" for field in all_fields[:count]).rstrip("\n") + match[4]
    return STRUCT.sub(cut, text)


def longer(text):
    return STRUCT.sub(lambda match: match[1] + match[3] + "\n  long long later;" + match[4], text)


def run(name, text, *flags):
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/rowscan.h", "w") as header:
            header.write(text)
        program = folder + "/program"
        library = os.path.abspath(".libs")
        command = [*shlex.split(os.environ.get("CC", "cc")), "-std=c11", *flags,
                   *shlex.split(os.environ.get("RS_SANITIZE", "")), "-I", folder, "-o", program,
                   srcdir + "/tests/system/sizes.c", "-L" + library, "-lrowscan", "-Wl,-rpath," + library, "-lm",
                   "-lpthread", "-ldl"]
        subprocess.run(command, check=True)
        environment = dict(os.environ, ROWSCAN_CACHE_DIR=folder + "/cache", LD_LIBRARY_PATH=library)
        print(f"{name}:", end=" ", flush=True)
        subprocess.run([program], check=True, env=environment)


with open(srcdir + "/src/rowscan.h") as file:
    header = file.read()
structs = STRUCT.findall(header)
if len(structs) < 15:
    sys.exit(f"found {len(structs)} structs with a size in rowscan.h")
run("this version", header)
for by in range(1, 12):
    run(f"{by} fields less", shorter(header, by))
run("a field more", longer(header), "-DLATER")
