# cub.py - builds cub_scan.cu for the types at hand, and calls it
# SPDX-License-Identifier: MIT
import ctypes as c
import os
import shutil
import subprocess

import torch

TYPES = {"f16": "__half", "bf16": "__nv_bfloat16", "f32": "float", "f64": "double", "i32": "int", "i64": "int64_t"}
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cub_scan.cu")


def strided(cell):
    return cell.columns or cell.view != "dense"


def kind(cell):
    """What it is compiled for: the type, and whether rows lie anyhow."""
    return cell.type, strided(cell)


class Builder:
    """Compiles in the background, one process a kind."""

    def __init__(self, folder, kinds, arch):
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        self.built = {}
        for name, anyhow in sorted(set(kinds)):
            if name not in TYPES:
                continue
            target = os.path.join(folder, f"cub_{name}{'_strided' if anyhow else ''}.so")
            command = [nvcc, "-O3", "-std=c++17", f"-arch={arch}", f"-DTYPE={TYPES[name]}", "--shared", "-Xcompiler",
                       "-fPIC", "-o", target, SOURCE] + ["-DSTRIDED"] * anyhow
            try:
                process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            except OSError as error:
                process = error
            self.built[name, anyhow] = (target, process)

    def library(self, wanted):
        if wanted not in self.built:
            raise RuntimeError(f"no CUB for {wanted[0]}")
        target, process = self.built[wanted]
        if isinstance(process, OSError):
            raise process
        said, _ = process.communicate() if process.returncode is None else ("", None)
        if process.returncode:
            raise RuntimeError("nvcc: " + (said.strip().splitlines() or ["failed"])[0])
        return c.CDLL(target).cub_scan


class Layout(c.Structure):
    _fields_ = [("outer_step", c.c_int64), ("inner_step", c.c_int64), ("step", c.c_int64)]


def layouts(cell):
    """Of input and output; inner is 1 unless rows are columns."""
    if cell.columns:
        return (Layout(cell.length * cell.inner, 1, cell.inner),) * 2
    row, step = cell.strides
    return Layout(row, 0, step), Layout(cell.length, 0, 1)


def form(cell, variant):
    """What it is called, or None where CUB has nothing of the kind without more ado."""
    if variant not in ("inclusive", "exclusive") or cell.type != cell.out or cell.acc:
        return None
    single = cell.outer * cell.inner == 1 and not strided(cell)
    return ("" if variant == "inclusive" else "Exclusive") + ("Sum" if single else "SumByKey")


def make(builder, cell, variant, device):
    scan = builder.library(kind(cell))
    laid = layouts(cell)
    numbers = [c.c_int64(cell.outer), c.c_int64(cell.length), c.c_int64(cell.inner), c.byref(laid[0]),
               c.byref(laid[1]), c.c_int(variant == "exclusive")]
    size = c.c_size_t(0)

    def call(temp, x, y):
        error = scan(c.c_void_p(temp), c.byref(size), c.c_void_p(x), c.c_void_p(y), *numbers,
                     c.c_void_p(torch.cuda.current_stream().cuda_stream))
        if error:
            raise RuntimeError(f"CUDA error {error}")

    call(None, None, None)
    temp = torch.empty(max(1, size.value), dtype=torch.uint8, device=device)
    return lambda x, y: call(temp.data_ptr(), x.data_ptr(), y.data_ptr())
