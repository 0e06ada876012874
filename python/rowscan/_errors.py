"""_errors.py - one exception a status of the library, each also of the kind that Python has for it

SPDX-License-Identifier: MIT
"""
from . import _core


class Error(Exception):
    """A call of the library failed; the message tells what was asked, which field, and which value."""


class BadArgument(Error, ValueError):
    """An argument is out of range or contradicts another."""


class Unsupported(Error, NotImplementedError):
    """A valid request that rowscan does not serve."""


class OutOfMemory(Error, MemoryError):
    """There is not enough memory on the host or the GPU."""


class NoDriver(Error, OSError):
    """NVIDIA's driver, libcuda.so.1, is not there or too old."""


class NoDevice(Error, OSError):
    """There is no such GPU."""


class NoCompiler(Error, OSError):
    """NVRTC is needed and is not there: pip install rowscan[cuda13], or [cuda12] for older drivers."""


class CompileFailed(Error, RuntimeError):
    """NVRTC rejected a source: the text of create_op() has an error, or rowscan has a bug."""


class CudaFailed(Error, RuntimeError):
    """A call of NVIDIA's driver failed."""


class CacheFailed(Error, OSError):
    """A call that is about the cache of kernels on disk failed."""


class NotCached(Error, RuntimeError):
    """A kernel is neither in the cache nor in a pack, and ROWSCAN_CACHE=only disables compilation."""


class CommFailed(Error, ConnectionError):
    """Ranks of a scan could not reach one another."""


# In the order of rowscan_status; 0 is no error.
_core.set_errors((RuntimeError, BadArgument, Unsupported, OutOfMemory, NoDriver, NoDevice, NoCompiler, CompileFailed,
                  CudaFailed, CacheFailed, NotCached, CommFailed))
