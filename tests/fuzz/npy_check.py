#!/usr/bin/env python3
"""npy_check.py - every .npy header that rowscan accepts is one that NumPy accepts, and reads the same

SPDX-License-Identifier: MIT

usage: npy_check.py LIBRARY FILE-OR-DIRECTORY...: LIBRARY is src/cli/npy.c as a shared library.
"""
import ctypes
import io
import pathlib
import sys
import warnings

try:
    import numpy as np
except ImportError:
    sys.exit("npy_check.py: there is no NumPy to ask (Debian: apt-get install python3-numpy)")


class Header(ctypes.Structure):
    """npy_header of src/cli/npy.h"""

    _fields_ = [("type", ctypes.c_int), ("descr", ctypes.c_char * 16), ("fortran", ctypes.c_bool),
                ("rank", ctypes.c_int), ("shape", ctypes.c_int64 * 64), ("count", ctypes.c_int64),
                ("bytes", ctypes.c_int64), ("data_start", ctypes.c_size_t)]


def ours(library, data):
    """(descr, order, shape, where the data begins) as rowscan reads them; None if it refuses."""
    header, why = Header(), ctypes.create_string_buffer(512)
    if not library.npy_parse(ctypes.byref(header), data, ctypes.c_size_t(len(data)), True, why):
        return None
    descr = header.descr.decode()
    return np.dtype(descr), header.fortran, tuple(header.shape[: header.rank]), header.data_start


def numpys(data):
    """The same as NumPy reads them. Raises ValueError where it refuses."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    if version == (3, 0):  # NumPy has no public name for it
        own = getattr(np.lib, "_format_impl", np.lib.format)  # from 2.3 on
        read = lambda f: own._read_array_header(f, version)
    shape, order, dtype = read(file)
    return dtype, order, shape, file.tell()


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.npy_parse.restype = ctypes.c_bool
    files = [file for path in map(pathlib.Path, sys.argv[2:])
             for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    accepted = wrong = 0
    warnings.simplefilter("ignore")  # a header of Python 2 makes NumPy warn
    for file in files:
        data = file.read_bytes()
        mine = ours(library, data)
        if mine is None:
            continue
        accepted += 1
        try:
            its = numpys(data)
        except Exception as error:  # NumPy lets through what its parser raises
            its = f"refused: {error!r}"
        if mine != its:
            wrong += 1
            print(f"FAIL {file}: {data[:200]!r}\n  rowscan: {mine}\n  NumPy: {its}")
    print(f"npy: NumPy reads the same in {accepted - wrong} of {accepted} accepted headers, of {len(files)} files")
    return wrong > 0 or not accepted


if __name__ == "__main__":
    sys.exit(main())
