# cub.py - builds cub_scan.cu for the types at hand, and calls it
# SPDX-License-Identifier: MIT
import ctypes as c
import os
import shutil
import subprocess

import torch

TYPES = {"f16": "__half", "bf16": "__nv_bfloat16", "f32": "float", "f64": "double", "i32": "int", "i64": "int64_t"}
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cub_scan.cu")


class Builder:
    """Compiles in the background, one process a type."""

    def __init__(self, folder, types, arch):
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        self.built = {}
        for name in sorted(set(types) & set(TYPES)):
            target = os.path.join(folder, f"cub_{name}.so")
            command = [nvcc, "-O3", "-std=c++17", f"-arch={arch}", f"-DTYPE={TYPES[name]}", "--shared", "-Xcompiler",
                       "-fPIC", "-o", target, SOURCE]
            try:
                process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            except OSError as error:
                process = error
            self.built[name] = (target, process)

    def library(self, name):
        if name not in self.built:
            raise RuntimeError(f"no CUB for {name}")
        target, process = self.built[name]
        if isinstance(process, OSError):
            raise process
        said, _ = process.communicate() if process.returncode is None else ("", None)
        if process.returncode:
            raise RuntimeError("nvcc: " + (said.strip().splitlines() or ["failed"])[0])
        return c.CDLL(target).cub_scan


def form(cell, variant):
    """What it is called, or None where CUB has nothing of the kind without more ado."""
    if cell.columns or variant not in ("inclusive", "exclusive") or cell.type != cell.out or cell.acc:
        return None
    return ("" if variant == "inclusive" else "Exclusive") + ("Sum" if cell.outer == 1 else "SumByKey")


def make(builder, cell, variant, device):
    scan = builder.library(cell.type)
    numbers = [c.c_int64(cell.outer), c.c_int64(cell.length), c.c_int(variant == "exclusive")]
    size = c.c_size_t(0)

    def call(temp, x, y):
        error = scan(c.c_void_p(temp), c.byref(size), c.c_void_p(x), c.c_void_p(y), *numbers,
                     c.c_void_p(torch.cuda.current_stream().cuda_stream))
        if error:
            raise RuntimeError(f"CUDA error {error}")

    call(None, None, None)
    temp = torch.empty(max(1, size.value), dtype=torch.uint8, device=device)
    return lambda x, mask, y: call(temp.data_ptr(), x.data_ptr(), y.data_ptr())
