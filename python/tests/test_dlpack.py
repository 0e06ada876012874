"""test_dlpack.py - arrays of libraries that rowscan does not know, by DLPack and the array API: borrowed, never copied

SPDX-License-Identifier: MIT

What needs a GPU is in test_cupy.py.
"""
import ctypes
import gc
import sys

import pytest

np = pytest.importorskip("numpy")

import order  # noqa: E402
import rowscan  # noqa: E402

CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
is_valid = ctypes.pythonapi.PyCapsule_IsValid
is_valid.argtypes = ctypes.py_object, ctypes.c_char_p
pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype = ctypes.c_void_p
pointer_of.argtypes = ctypes.c_void_p, ctypes.c_char_p


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor)]


class Producer:
    """Lends a NumPy array in capsules made by hand, and counts those that were not consumed and have gone."""
    kept = {}
    gone = []

    def __init__(self, array, version=(1, 0), read_only=False, device=(1, 0), with_strides=True, offset=0, lanes=1,
                 code=None):
        self.array, self.version, self.read_only, self.device = array, version, read_only, device
        self.with_strides, self.offset, self.lanes, self.code = with_strides, offset, lanes, code
        self.calls = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.calls.append(options)
        if self.version is None and options:
            raise TypeError("an unexpected keyword argument")
        a = self.array
        shape = (ctypes.c_int64 * a.ndim)(*a.shape)
        strides = (ctypes.c_int64 * a.ndim)(*(s // a.itemsize for s in a.strides)) if self.with_strides else None
        tensor = Tensor(a.ctypes.data - self.offset, *self.device, a.ndim,
                        CODES[a.dtype.kind] if self.code is None else self.code, 8 * a.itemsize, self.lanes, shape,
                        strides, self.offset)
        if self.version is None:
            managed, name = Managed(tensor), b"dltensor"
        else:
            managed, name = Versioned(*self.version, None, None, int(self.read_only), tensor), b"dltensor_versioned"
        address = ctypes.addressof(managed)
        Producer.kept[address] = managed, shape, strides, a
        return new_capsule(address, name, ctypes.cast(destructor, ctypes.c_void_p))


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def destructor(capsule):
    """What frees a capsule that nobody has consumed."""
    for name in (b"dltensor", b"dltensor_versioned"):
        if ctypes.pythonapi.PyCapsule_IsValid(ctypes.cast(capsule, ctypes.py_object), name):
            address = pointer_of(capsule, name)
            Producer.gone.append(address)
            del Producer.kept[address]


@pytest.fixture(autouse=True)
def every_capsule_goes():
    Producer.gone.clear()
    yield
    gc.collect()
    assert not Producer.kept


class Only:
    """An array that has nothing but DLPack, of whichever version NumPy has."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("version", [None, (1, 0), (1, 9)])
@pytest.mark.parametrize("name", list(order.DTYPES))
def test_bits(version, name):
    x = (np.random.default_rng(3).standard_normal((3, 21)) * 50).astype(order.DTYPES[name])
    for view in (x, x.T, x[:, ::-1], x[::2, 1::3], np.broadcast_to(x[:, :1], x.shape)):
        for dim in (0, 1):
            out = np.empty(view.shape, order.DTYPES[order.default_out(name)])
            p, q = Producer(view, version), Producer(out, version)
            assert rowscan.cumsum(p, dim, out=q, reverse=True, mask=Producer(view > 0, version)) is q
            order.assert_bits(out, order.scan(view, dim, reverse=True, mask=view > 0)[0])


def test_capsules_are_borrowed():
    x, out = Producer(np.ones(5)), Producer(np.empty(5))
    for _ in range(10):
        rowscan.cumsum(x, 0, out=out)
    assert len(Producer.gone) == 20 and not Producer.kept
    with pytest.raises(IndexError):
        rowscan.cumsum(x, 3, out=out)
    assert not Producer.kept
    held = x.__dlpack__()  # while the call runs a capsule is whole
    assert is_valid(held, b"dltensor_versioned")
    del held


def test_nothing_is_copied_and_versions_are_asked_for():
    x, out = Producer(np.ones(5)), Producer(np.empty(5))
    rowscan.cumsum(x, 0, out=out)
    assert x.calls == [{"max_version": (1, 0), "copy": False}]
    old = Producer(np.ones(5), version=None)
    rowscan.cumsum(old, 0, out=out)
    assert old.calls[-1] == {}

    class Copies(Producer):
        def __dlpack__(self, **options):
            if options.get("copy") is False:
                raise BufferError("this array can't be lent without a copy")
            return super().__dlpack__(**options)
    with pytest.raises(BufferError, match="without a copy"):
        rowscan.cumsum(Copies(np.ones(5)), 0, out=out)


def test_offsets_and_missing_strides():
    x = np.arange(24.0)
    out = np.empty((4, 5))
    rowscan.cumsum(Producer(x[4:].reshape(4, 5), offset=32, with_strides=False), 1, out=Producer(out))
    np.testing.assert_array_equal(out, np.cumsum(x[4:].reshape(4, 5), 1))


def test_masks_without_strides():
    x, out = np.arange(24.0).reshape(2, 3, 4), np.empty((2, 3, 4))
    for shape in ((3, 4), (4,), (2, 1, 4), (1, 3, 1), (2, 3, 4)):
        mask = np.arange(np.prod(shape)).reshape(shape) % 3 > 0
        rowscan.cumsum(Producer(x), 1, out=Producer(out), mask=Producer(mask, with_strides=False))
        np.testing.assert_array_equal(out, np.cumsum(np.where(mask, x, 0), 1))


def test_refusals():
    x, out = np.ones((2, 3)), Producer(np.empty((2, 3)))
    for given, words in ((Producer(x, device=(8, 0)), r"x is on DLPack's device \(8, 0\)"),
                         (Producer(x, device=(10, 1)), r"x is on DLPack's device \(10, 1\)"),
                         (Producer(x, lanes=2), "x is a .*Producer of"), (Producer(x, code=5), "x is a .*Producer of"),
                         (Producer(x, version=(2, 0)), "x is a .*Producer of")):
        with pytest.raises(TypeError, match=words):
            rowscan.cumsum(given, 1, out=out)
    x = Producer(x)
    with pytest.raises(TypeError, match="out is not given, and x's .*Producer has no __array_namespace__"):
        rowscan.cumsum(x, 1)
    with pytest.raises(TypeError, match="init is a number, and x's .*Producer has no __array_namespace__"):
        rowscan.cumsum(x, 1, init=2, out=out)
    with pytest.raises(ValueError, match="out is read-only"):
        rowscan.cumsum(x, 1, out=Producer(np.empty((2, 3)), read_only=True))
    with pytest.raises(ValueError, match=r"out has shape \(3,\), not \(2, 3\)"):
        rowscan.cumsum(x, 1, out=Producer(np.empty(3)))
    with pytest.raises(TypeError, match="out.dtype is int64, which results of float64"):
        rowscan.cumsum(x, 1, out=Producer(np.empty((2, 3), "i8")))
    with pytest.raises(TypeError, match="out is a list"):
        rowscan.cumsum(x, 1, out=[])
    with pytest.raises(TypeError, match="converted to int32"):
        rowscan.cumsum(x, 1, out=Producer(np.empty((2, 3), "i4")), dtype="int32")
    with pytest.raises(TypeError, match="mask is int64, not bool, uint8 or x's float64"):
        rowscan.cumsum(x, 1, out=out, mask=Producer(np.ones((2, 3), int)))
    with pytest.raises(TypeError, match="converted to float64"):
        rowscan.cumsum(x, 1, out=out, init=Producer(np.ones((2, 1), "f4")))
    with pytest.raises(ValueError, match="mask has shape"):
        rowscan.cumsum(x, 1, out=out, mask=Producer(np.ones(4, bool)))
    with pytest.raises(ValueError, match="dim is needed: x has 2 dimensions"):
        rowscan.cumsum(x, out=out)
    with pytest.raises(ValueError, match="no dimension to scan"):
        rowscan.cumsum(Producer(np.array(2.0)), 0, out=Producer(np.empty(())))
    with pytest.raises(IndexError, match="dim is 2, not in -2 to 1"):
        rowscan.cumsum(x, 2, out=out)
    shared = np.zeros(10)
    with pytest.raises(rowscan.BadArgument, match="overlap"):
        rowscan.cumsum(Producer(shared[1:]), 0, out=Producer(shared[:-1]))


def test_read_only_inputs():
    x = np.arange(5.0)
    x.flags.writeable = False
    out = np.empty(5)
    rowscan.cumsum(Producer(x, read_only=True), 0, out=Producer(out))
    np.testing.assert_array_equal(out, np.cumsum(x))


def test_masks_initial_values_and_spec():
    x, out = np.arange(6.0).reshape(2, 3), np.empty((2, 3))
    rowscan.cumsum(Producer(x), 1, out=Producer(out), mask=Producer(np.array([1, 0, 1], "u1")),
                   init=Producer(np.array([[10.0], [20.0]])))
    np.testing.assert_array_equal(out, [[10, 10, 12], [23, 23, 28]])
    rowscan.cumsum(Producer(x), 0, out=Producer(out), mask=Producer(np.array([[2.0], [3.0]])), mask_mode="multiply")
    np.testing.assert_array_equal(out, np.cumsum(x * [[2], [3]], 0))
    assert rowscan.spec(Producer(x), 1).startswith("op=sum in=f64 out=f64 acc=f64 mask=none")
    assert rowscan.prepare(Producer(x), 1, op="prod") is None


def test_numpys_arrays_behind_dlpack():
    x, out = np.arange(6, dtype="f4").reshape(2, 3), np.empty((2, 3), "f4")
    given = Only(out)
    assert rowscan.cumprod(Only(x), 0, out=given, exclusive=True) is given
    np.testing.assert_array_equal(out, [[1, 1, 1], [0, 1, 2]])


def test_operators_by_name():
    x, out = np.array([[6, 3, 5], [7, 1, 4]], "i2"), np.empty((2, 3), "i2")
    for op, ufunc in (("max", np.maximum), ("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)):
        rowscan.scan(Producer(x), 1, op, out=Producer(out))
        np.testing.assert_array_equal(out, ufunc.accumulate(x, 1))
        assert f"op={op} in=i16 out=i16" in rowscan.spec(Producer(x), 1, op)
    with pytest.raises(rowscan.BadArgument, match="field 'in': or requires integers or bool, not f64"):
        rowscan.scan(Producer(np.ones(3)), 0, "or", out=Producer(np.empty(3)))


def test_initial_values_lie_as_they_like(strict):
    """With totals, too, which are new arrays."""
    x, memory = strict.asarray(np.arange(6.0).reshape(2, 3)), np.arange(20.0).reshape(4, 5)
    for init in (memory[::2, 1:2], memory[:1, 3:1:-1].T, memory[:1, :1]):
        y, totals = rowscan.cumsum(x, 1, init=Producer(init), totals=True)
        want, want_totals = order.scan(np.from_dlpack(x), 1, init=init)
        order.assert_bits(np.from_dlpack(y), want)
        order.assert_bits(np.from_dlpack(totals), want_totals)


@pytest.fixture
def strict():
    return pytest.importorskip("array_api_strict")


def test_array_api(strict):
    xp = strict
    for name in order.DTYPES:
        if name in ("f16",):
            continue
        x = xp.asarray((np.arange(24).reshape(2, 3, 4) % 5).astype(order.DTYPES[name]))
        numbers = np.from_dlpack(x)
        for axis in (0, 1, -1):
            y = rowscan.cumsum(x, axis, exclusive=True)
            assert type(y) is type(x)
            order.assert_bits(np.from_dlpack(y), order.scan(numbers, axis, exclusive=True)[0])
            if name == "bool":
                continue
            for initial in (False, True):
                want = xp.cumulative_sum(x, axis=axis, include_initial=initial)
                y = rowscan.cumulative_sum(x, axis=axis, include_initial=initial)
                assert y.dtype == want.dtype and y.shape == want.shape and xp.all(y == want)
                assert rowscan.cumulative_prod(x, axis=axis, include_initial=initial).shape == want.shape
    x = xp.asarray([[1, 2], [3, 4]])
    assert rowscan.cumsum(x, 1, dtype=xp.float64).dtype == xp.float64
    assert rowscan.cumsum(x, 1, dtype="float32").dtype == xp.float32
    y, totals = rowscan.cumsum(x, 1, totals=True, init=10, mask=x > 1)
    assert xp.all(y == xp.asarray([[10, 12], [13, 17]])) and xp.all(totals == xp.asarray([12, 17]))
    assert totals.shape == (2,)
    with pytest.raises(ValueError, match="axis is needed"):
        rowscan.cumulative_sum(x)
    with pytest.raises(TypeError, match="complex128"):
        rowscan.cumsum(x, 1, dtype=xp.complex128)
    with pytest.raises(TypeError, match="complex128"):
        rowscan.cumsum(xp.asarray([1j]), 0)


def test_nothing_is_leaked():
    x, out, bad = Producer(np.ones(5)), Producer(np.empty(5)), Producer(np.ones(5), lanes=2)
    before = [sys.getrefcount(o) for o in (x, out, bad, None)]
    for _ in range(500):
        rowscan.cumsum(x, 0, out=out)
        pytest.raises(TypeError, rowscan.cumsum, bad, 0, out=out)
        x.calls.clear(), out.calls.clear(), bad.calls.clear()
    assert all(abs(b - a) < 50 for a, b in zip(before, (sys.getrefcount(o) for o in (x, out, bad, None))))
