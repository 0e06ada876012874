"""test_cupy.py - CuPy's arrays on a GPU, and others with __cuda_array_interface__: streams, memory, bits of the host

SPDX-License-Identifier: MIT

test_simulated.py runs it on a machine without a GPU, through a stand-in for CuPy.
"""
import itertools
import threading

import pytest

np = pytest.importorskip("numpy")
cp = pytest.importorskip("cupy")

import order  # noqa: E402
import rowscan  # noqa: E402

try:
    DEVICES = cp.cuda.runtime.getDeviceCount()
except Exception as error:  # CuPy's own
    pytest.skip(f"no GPU: {error}", allow_module_level=True)


def host(x):
    return cp.asnumpy(x)


@pytest.mark.parametrize("name", ["f32", "f16", "i8", "u64", "bool"])
def test_bits_are_those_of_the_host(name):
    x = (np.random.default_rng(0).standard_normal((6, 150)) * 20).astype(order.DTYPES[name])
    y = cp.asarray(x)
    for a, b, dim in ((x, y, 1), (x[::2, ::-1], y[::2, ::-1], 1), (x.T, y.T, 0), (x[:, :7], y[:, :7], 0)):
        bitwise = () if name in order.FLOATING else ("or", "xor")
        for op, reverse in itertools.product(("sum", "prod", *bitwise), (False, True)):
            got = rowscan.scan(b, dim, op, reverse=reverse)
            assert type(got) is cp.ndarray
            order.assert_bits(host(got), rowscan.scan(a, dim, op, reverse=reverse))


def test_arguments():
    x = np.random.default_rng(1).standard_normal((4, 130)).astype("f4")
    y = cp.asarray(x)
    mask = x[0] > 0
    for options, given in (({"mask": mask}, {"mask": cp.asarray(mask)}),
                           ({"init": 2.5}, {"init": 2.5}), ({"dtype": "f8"}, {"dtype": "f8"}),
                           ({"init": x[:, :1], "totals": True}, {"init": y[:, :1], "totals": True}),
                           ({"mask": mask * 2.0, "mask_mode": "multiply"},
                            {"mask": cp.asarray(mask * 2.0), "mask_mode": "multiply"}),
                           ({"acc": "f64"}, {"acc": "f64"}),
                           (in_fixed := {"acc": "fixed:20", "init": 5, "totals": True}, in_fixed)):
        want, got = rowscan.cumsum(x, 1, **options), rowscan.cumsum(y, 1, **given)
        for a, b in zip(want if isinstance(want, tuple) else [want], got if isinstance(got, tuple) else [got]):
            order.assert_bits(host(b), a)
    for coefficient in (0.5, x, x[:, :1], x[0]):
        its = coefficient if isinstance(coefficient, float) else cp.asarray(coefficient)
        for options in ({}, {"reverse": True, "totals": True, "init": 2}, {"exclusive": True}):
            want, got = (rowscan.linear_recurrence(*arrays, 1, **options) for arrays in ((x, coefficient), (y, its)))
            for a, b in zip(want if isinstance(want, tuple) else [want], got if isinstance(got, tuple) else [got]):
                order.assert_bits(host(b), a)
        got = rowscan.linear_recurrence(y, its, 1, mask=y > 0)
        order.assert_bits(host(got), rowscan.linear_recurrence(x, coefficient, 1, mask=x > 0))
    order.assert_bits(host(rowscan.cumsum(y)), rowscan.cumsum(x))
    order.assert_bits(host(rowscan.cumulative_sum(y, axis=1, include_initial=True)),
                      rowscan.cumulative_sum(x, axis=1, include_initial=True))
    out = cp.empty((4, 130), "f4")
    assert rowscan.cumsum(y, 1, out=out) is out
    order.assert_bits(host(out), rowscan.cumsum(x, 1))
    assert rowscan.cumsum(y, 1, out=y) is y
    order.assert_bits(host(y), rowscan.cumsum(x, 1))
    assert rowscan.cumsum(cp.empty((0, 3)), 1).shape == (0, 3)
    assert host(rowscan.cumsum(cp.asarray(np.array(3.0)), 0)).shape == (1,)
    assert rowscan.spec(y, 1) == rowscan.spec(x, 1)


def test_segments():
    random = np.random.default_rng(3)
    x, flat = random.standard_normal((4, 130)).astype("f4"), random.random((4, 130))
    y = cp.asarray(x)
    for name, beside in (("heads", flat < 0.1), ("tails", (flat < 0.1).astype("u1")), ("tails", np.float32(flat < 0.1)),
                         ("heads", (flat[0] < 0.1).astype("i4")), ("keys", np.cumsum(flat < 0.1, 1)),
                         ("keys", np.cumsum(flat < 0.1, 1).astype("i2")), ("keys", flat[:, :1] < 0.5)):
        for options in ({}, {"reverse": True, "totals": True, "init": 2}, {"exclusive": True}):
            want, got = (rowscan.cumsum(a, 1, **{name: b}, **options)
                         for a, b in ((x, beside), (y, cp.asarray(beside))))
            for a, b in zip(want if isinstance(want, tuple) else [want], got if isinstance(got, tuple) else [got]):
                order.assert_bits(host(b), a)
        its = cp.asarray(beside)
        for a, b in zip(rowscan.cummax(x, 1, indices=True, **{name: beside}),
                        rowscan.cummax(y, 1, indices=True, **{name: its})):
            order.assert_bits(host(b), a)
        assert rowscan.spec(y, 1, **{name: its}) == rowscan.spec(x, 1, **{name: beside})


def test_returns():
    random = np.random.default_rng(4)
    rewards, values, following = random.standard_normal((3, 20, 4)).astype("f4")
    done = random.random((20, 4)) < 0.1
    its_rewards, its_values, its_following, its_done = map(cp.asarray, (rewards, values, following, done))
    order.assert_bits(host(rowscan.discounted_returns(its_rewards, 0.9, its_done, 0, init=2)),
                      rowscan.discounted_returns(rewards, 0.9, done, 0, init=2))
    cut = random.random((20, 4)) < 0.2
    for flags in {"done": done}, {"terminated": done, "truncated": cut}, {"done": done, "truncated": cut}:
        its_flags = {name: cp.asarray(array) for name, array in flags.items()}
        for a, b in zip(rowscan.gae(its_rewards, its_values, 0.9, 0.8, its_following, dim=0, **its_flags),
                        rowscan.gae(rewards, values, 0.9, 0.8, following, dim=0, **flags)):
            order.assert_bits(host(a), b)
    assert host(rowscan.discounted_returns(cp.asarray(np.array([1, 2])), 1, [0, 0])).dtype == "f8"


def test_refusals():
    y = cp.asarray(np.ones((2, 3), "f4"))
    for call, error, words in (
            (lambda: rowscan.cumsum(y, 2), IndexError, "axis 2 is out of bounds"),
            (lambda: rowscan.cumsum(y, 1, mask=np.ones(3, bool)), TypeError, "numpy.ndarray beside an array of CuPy"),
            (lambda: rowscan.cumsum(y, 1, out=np.empty((2, 3), "f4")), TypeError, "out is a ndarray|numpy.ndarray"),
            (lambda: rowscan.cumsum(np.ones((2, 3)), 1, out=y), TypeError, "out is a"),
            (lambda: rowscan.cumsum(y, 1, mask=y), TypeError, "mask is floating .float32., and mask_mode is not given"),
            (lambda: rowscan.discounted_returns(y, 0.5), TypeError, "dim is needed"),
            (lambda: rowscan.gae(y, y, 0.5, 0.5, truncated=y, axis=0), TypeError, "next_values is not given"),
            (lambda: rowscan.cumsum(cp.asarray(np.ones(3, "c8")), 0), TypeError, "x.dtype is complex64"),
            (lambda: rowscan.cumsum(y, 1, out=cp.empty((3, 2), "f4")), ValueError, "out has shape"),
            (lambda: rowscan.cumsum(y[:, 1:], 1, out=y[:, :-1]), rowscan.BadArgument, "overlap")):
        with pytest.raises(error, match=words):
            call()


def test_streams_and_prepare():
    """Work goes to the current stream, of each thread its own: what is queued there before is seen."""
    x = np.random.default_rng(2).standard_normal((3, 300)).astype("f4")
    want = rowscan.cumsum(rowscan.cumsum(x, 1), 1, reverse=True)
    y = cp.asarray(x)
    rowscan.prepare(y, 1)
    streams = [cp.cuda.Stream(non_blocking=True) for _ in range(3)]
    for stream in streams + streams:
        with stream:
            got = host(rowscan.cumsum(rowscan.cumsum(y, 1), 1, reverse=True))
        order.assert_bits(got, want)
    failed = []

    def work():
        try:
            stream = cp.cuda.Stream(non_blocking=True)
            with stream:
                order.assert_bits(host(rowscan.cumsum(rowscan.cumsum(y, 1), 1, reverse=True)), want)
        except BaseException as error:
            failed.append(error)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_capture():
    x = np.random.default_rng(3).standard_normal((3, 200)).astype("f4")
    y, out = cp.asarray(x), cp.empty((3, 200), "f4")
    rowscan.prepare(y, 1, out=out)
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        rowscan.cumsum(y, 1, out=out)
        graph = stream.end_capture()
        for factor in (1, -2):
            y.set(x * np.float32(factor))
            graph.launch(stream)
            stream.synchronize()
            order.assert_bits(host(out), rowscan.cumsum(x * np.float32(factor), 1))


class Interface:
    """An array of another library, on a stream of its own choice."""

    def __init__(self, array, stream=None, **more):
        self.array, self.stream, self.more = array, stream, more

    @property
    def __cuda_array_interface__(self):
        return {**self.array.__cuda_array_interface__, "stream": self.stream, **self.more}


def test_other_arrays_and_their_streams():
    x = np.random.default_rng(4).standard_normal((3, 100)).astype("f4")
    want = rowscan.cumsum(x, 1)
    y, out = cp.asarray(x), cp.empty((3, 100), "f4")
    own = cp.cuda.Stream(non_blocking=True)
    for stream in (None, 1, 2, own.ptr):
        out.fill(0)
        given = Interface(out, stream)
        assert rowscan.cumsum(Interface(y, stream), 1, out=given) is given
        if stream == 2:
            from rowscan import _dlpack
            _dlpack._synchronize(2, 0)
        own.synchronize()
        order.assert_bits(host(out), want)
    with own:  # y is made on one stream, and read on another, which waits for it
        z = rowscan.cumsum(y, 1)
    given = Interface(cp.empty((3, 100), "f4"), 1)
    rowscan.cumsum(Interface(z, own.ptr), 1, reverse=True, out=given)
    order.assert_bits(host(given.array), rowscan.cumsum(want, 1, reverse=True))
    with pytest.raises(ValueError, match="stream 0"):
        rowscan.cumsum(Interface(y, 0), 1, out=given)
    with pytest.raises(TypeError, match="out is not given"):
        rowscan.cumsum(Interface(y), 1)
    with pytest.raises(TypeError, match="mask of its own"):
        rowscan.cumsum(Interface(y, mask=y), 1, out=given)
    with pytest.raises(TypeError, match="x is a .*Interface of <c8"):
        rowscan.cumsum(Interface(y, typestr="<c8"), 1, out=given)
    mask = Interface(cp.asarray(x > 0), own.ptr)
    rowscan.cumsum(Interface(y), 1, out=Interface(out, 1), mask=mask)
    order.assert_bits(host(out), rowscan.cumsum(x, 1, mask=x > 0))
    assert rowscan.cumsum(Interface(cp.empty((0, 3), "f4")), 1, out=Interface(cp.empty((0, 3), "f4"))) is not None


def test_devices_are_told():
    for at, info in enumerate(rowscan.devices()):
        assert info["device"] == at and info["arch"].startswith("sm_") and info["memory_bytes"] > 0


@pytest.mark.skipif(DEVICES < 2, reason="one GPU")
def test_each_array_is_scanned_where_it_lies():
    x = np.arange(300, dtype="f4").reshape(2, 150)
    with cp.cuda.Device(1):
        y = cp.asarray(x)
    got = rowscan.cumsum(y, 1)  # device 0 is current
    assert got.device.id == 1
    from rowscan import _cupy
    assert _cupy._empty_like(y).device.id == 1  # which the quick way allocates by
    order.assert_bits(host(got), rowscan.cumsum(x, 1))
    order.assert_bits(host(rowscan.cumsum(y, 1, dtype="f8", totals=True)[1]), rowscan.cumsum(x, 1, dtype="f8")[:, -1])
    with pytest.raises(ValueError, match="mask is on GPU 0, not on GPU 1"):
        rowscan.cumsum(y, 1, mask=cp.asarray(x > 1))
