# rowscan.py - rowscan through ctypes, as far as timing it needs
# SPDX-License-Identifier: MIT
"""The structs of src/rowscan.h; the library is the file named by ROWSCAN_LIB, else the one that the loader finds."""

import ctypes as c
import os

TYPES = {n: i for i, n in enumerate("f16 bf16 f32 f64 i8 u8 i16 u16 i32 u32 i64 u64 bool".split(), 1)}
ENGINES = {"auto": 0, "cuda": 1, "host": 2}
EXCLUSIVE, REVERSE = 1, 2
SELECT = 1


class Options(c.Structure):
    _fields_ = [("size", c.c_size_t), ("engine", c.c_int), ("device", c.c_int), ("threads", c.c_int),
                ("nvrtc", c.c_char_p), ("cache_dir", c.c_char_p), ("cache_off", c.c_int), ("cache_only", c.c_int),
                ("cache_packs", c.c_char_p),
                ("cache_limit", c.c_int64), ("staging_bytes", c.c_size_t), ("user", c.c_void_p),
                ("log", c.c_void_p), ("progress", c.c_void_p)]


class Spec(c.Structure):
    _fields_ = [("size", c.c_size_t), ("op", c.c_int), ("type", c.c_int), ("out", c.c_int), ("acc", c.c_int),
                ("mask_type", c.c_int), ("mask_mode", c.c_int), ("flags", c.c_uint), ("length", c.c_int64),
                ("layout", c.c_int), ("row_rank", c.c_int), ("regime", c.c_int)]


class Args(c.Structure):
    _fields_ = [("size", c.c_size_t), ("input", c.c_void_p), ("out", c.c_void_p), ("mask", c.c_void_p),
                ("init", c.c_void_p), ("totals", c.c_void_p), ("rows", c.c_int64),
                ("row_shape", c.POINTER(c.c_int64)), ("in_strides", c.POINTER(c.c_int64)),
                ("out_strides", c.POINTER(c.c_int64)), ("mask_strides", c.POINTER(c.c_int64)),
                ("init_strides", c.POINTER(c.c_int64)), ("totals_strides", c.POINTER(c.c_int64)),
                ("workspace", c.c_void_p), ("workspace_bytes", c.c_size_t)]


class Failed(RuntimeError):
    pass


class Library:
    def __init__(self, engine):
        os.environ.setdefault("ROWSCAN_COMPILE", "now")  # what is timed is each length's own kernel
        self.lib = c.CDLL(os.environ.get("ROWSCAN_LIB", "librowscan.so.1"))
        self.lib.rowscan_last_error.restype = c.c_char_p
        self.lib.rowscan_version.restype = c.c_char_p
        self.context = c.c_void_p()
        options = Options(size=c.sizeof(Options), engine=ENGINES[engine])
        self.must(self.lib.rowscan_open(c.byref(self.context), c.byref(options)))

    def must(self, status):
        if status:
            raise Failed(self.lib.rowscan_last_error().decode(errors="replace"))

    def version(self):
        return self.lib.rowscan_version().decode()


class Plan:
    """One variant of a cell, made ready. A plan is called with addresses and a stream. op: as rowscan_op numbers it."""

    def __init__(self, library, cell, variant, op=0):
        self.library, self.plan = library, c.c_void_p()
        spec = Spec(size=c.sizeof(Spec), op=op, type=TYPES[cell.type], out=TYPES[cell.out], length=cell.length)
        spec.acc = TYPES[cell.acc] if cell.acc else 0
        spec.flags = {"exclusive": EXCLUSIVE, "reverse": REVERSE}.get(variant, 0)
        spec.mask_mode = SELECT if variant == "masked" else 0
        # of a view, what rowscan_scan would choose
        spec.layout = 1 if cell.columns or cell.view == "transposed" else 0
        spec.row_rank = 2 if cell.columns else 1
        library.must(library.lib.rowscan_plan_create(c.byref(self.plan), library.context, c.byref(spec)))
        self.shape = (c.c_int64 * 2)(cell.outer, cell.inner)
        self.strides = [(c.c_int64 * 2)(*strides) for strides in (cell.strides, (cell.length, 1))]
        self.args = Args(size=c.sizeof(Args), row_shape=self.shape)
        if cell.view != "dense":
            self.args.in_strides, self.args.out_strides = self.strides
        self.reference = c.byref(self.args)
        self.run = library.lib.rowscan_plan_run

    def __call__(self, input, mask, out, stream):
        self.args.input, self.args.mask, self.args.out = input, mask, out
        self.library.must(self.run(self.plan, self.reference, c.c_void_p(stream)))

    def close(self):
        self.library.lib.rowscan_plan_destroy(self.plan)
