"""test_own_operator.py - operators of a user's own: create_op(), and scans with what it makes

SPDX-License-Identifier: MIT

Scans need a GPU and CuPy: test_simulated.py runs those tests through a stand-in for both.
"""
import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")

import order  # noqa: E402
import rowscan  # noqa: E402

WELFORD = (Path(__file__).parents[2] / "tests" / "gpu" / "welford.cuh").read_text()

# y -> c * y + x, where c is the element's coefficient: what linear_recurrence is.
DAMPED = """// rowscan: op=Damped numbers=2 coefficient=1
template <class A, class K> struct Damped {
  struct Total {
    A factor, term;
  };
  RS_METHOD static Total load(A x, A c) { return {c, x}; }
  RS_METHOD static Total begin(A y) { return {1, y}; }
  RS_METHOD static Total neutral() { return {1, -A(0)}; }
  RS_METHOD static Total identity() { return {1, 0}; }
  RS_METHOD static Total combine(Total l, Total r) {
    return {l.factor * r.factor, r.factor * l.term + r.term};
  }
  RS_METHOD static A store(Total t) { return t.term; }
};
"""


@pytest.fixture
def cp():
    module = pytest.importorskip("cupy")
    try:
        module.cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy's own
        pytest.skip(f"no GPU: {error}")
    return module


# ---- making them -----------------------------------------------------------------------------------------------------

def test_the_same_text_gives_the_same_name():
    rowscan.spec(np.zeros(3), 0, init=1)  # makes tables by operators, which get rows for new ones
    names, threads = [], []
    for _ in range(4):
        threads.append(threading.Thread(target=lambda: names.append(rowscan.create_op(WELFORD))))
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert names == ["Welford"] * 4
    assert rowscan.create_op(source=WELFORD) == "Welford"
    assert rowscan.create_op(DAMPED) == rowscan.create_op(DAMPED) == "Damped"


def test_texts_that_are_refused():
    rowscan.create_op(WELFORD)
    for text, words in ((WELFORD + "\n", "op=Welford exists already, with other text"),
                        (WELFORD.replace("op=Welford", "op=sum"), "op=sum is the name of an operator of the library"),
                        (WELFORD.replace("op=Welford", "op=2nd"), "'op=2nd' in its first line: op must be a letter or _"),
                        (WELFORD.replace("numbers=3", "numbers=5"), "numbers must be 1, 2, 3 or 4"),
                        (WELFORD + '#include "plus.h"\n', "'#include' is rejected, even in a comment: an operator must"),
                        (WELFORD.replace("types=", "type="), "is unknown; the fields are op, numbers, types, coeff"),
                        ("template <class A, class K> struct Other {};", "does not begin with '// rowscan:'"),
                        ("", "does not begin with '// rowscan:'")):
        with pytest.raises(rowscan.BadArgument, match=words) as info:
            rowscan.create_op(text)
        assert isinstance(info.value, ValueError) and str(info.value).startswith("operator: field 'source': ")
    with pytest.raises(rowscan.BadArgument, match="params=1 in its first line requires types=floats"):
        rowscan.create_op("// rowscan: op=Three inputs=3 params=1")
    for given in (WELFORD.encode(), None, 3):
        with pytest.raises(TypeError, match="create_op"):
            rowscan.create_op(given)
    for text in (WELFORD + "\0", WELFORD + "\ud800"):
        with pytest.raises(ValueError):
            rowscan.create_op(text)
    assert rowscan.create_op(WELFORD) == "Welford"
    with pytest.raises(ValueError, match="op is 'Other', not one of sum, .*Welford"):
        rowscan.scan(np.ones(3), 0, "Other")


def test_spec_and_types():
    """Results have the types that sums have."""
    x, welford, damped = np.zeros((4, 1000), "f4"), rowscan.create_op(WELFORD), rowscan.create_op(DAMPED)
    for array, options in ((x, {}), (x, {"reverse": True, "exclusive": True, "omit_nan": True}), (x.T, {"dtype": "f8"}),
                           (x, {"acc": "f64"}), (x, {"mask": x > 0}), (x, {"heads": x > 0}), (x, {"totals": True})):
        assert rowscan.spec(array, 0, welford, **options) == rowscan.spec(array, 0, **options).replace("sum", welford)
    for dtype, out in (("i1", "i64"), ("u2", "u64"), ("f2", "f16"), ("f8", "f64")):
        assert f"op=Damped in={order.name_of(dtype)} out={out} " in rowscan.spec(x.astype(dtype), 1, damped,
                                                                                 coefficient=1)
    recurrence = rowscan.spec(x, 1, "linear_recurrence", coefficient=0.5, acc="f32")
    assert rowscan.spec(x, 1, damped, coefficient=0.5) == recurrence.replace("linear_recurrence", damped)


def test_calls_that_are_refused():
    x, welford, damped = np.ones((2, 3), "f4"), rowscan.create_op(WELFORD), rowscan.create_op(DAMPED)
    for call, error, words in (
            (lambda: rowscan.scan(x, 1, welford), rowscan.Unsupported, "Welford has no host functions .*GPUs"),
            (lambda: rowscan.scan(x, 1, damped, coefficient=x), rowscan.Unsupported, "Damped has no host functions"),
            (lambda: rowscan.scan(x, 1, welford, init=1), rowscan.Unsupported, "Welford has no host functions"),
            (lambda: rowscan.scan(x.astype("i4"), 1, welford), rowscan.BadArgument, "Welford computes in floats"),
            (lambda: rowscan.scan(x, 1, welford, coefficient=x), TypeError, "Welford has none"),
            (lambda: rowscan.scan(x, 1, damped), TypeError, "coefficient is not given, and Damped needs one"),
            (lambda: rowscan.scan(x, 1, damped, mask=x), TypeError, "coefficient is not given, and Damped needs"),
            (lambda: rowscan.scan(x, 1, damped, keys=x > 0), TypeError, "coefficient is not given, and Damped needs"),
            (lambda: rowscan.scan(x, 1, welford, ties="first"), TypeError, "Welford makes no indices")):
        with pytest.raises(error, match=words):
            call()


def test_warm_knows_them(tmp_path):
    """In a process of its own, whose cache is empty."""
    try:
        rowscan.archs()
    except rowscan.NoCompiler:
        pytest.skip("no NVRTC")
    code = f"""
import numpy as np, rowscan
name = rowscan.create_op({WELFORD!r})
spec = rowscan.spec(np.zeros((4, 1000), np.float32), 1, name)
kernels, compiled = rowscan.warm([spec], ["sm_90"])
assert kernels == compiled > 0 and rowscan.warm([spec], ["sm_90"]) == (kernels, 0)
try:
    rowscan.warm([spec.replace(name, rowscan.create_op("// rowscan: op=Broken\\nstruct lost"))], ["sm_90"])
    raise SystemExit("no error")
except rowscan.CompileFailed as error:
    assert "Broken" in str(error), error
"""
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "ROWSCAN_CACHE_DIR": str(tmp_path)},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# ---- no gradients ----------------------------------------------------------------------------------------------------

def test_torch_has_no_gradient(torch):
    """Seen on tensors that have no elements, for no GPU is needed then."""
    welford = rowscan.create_op(WELFORD)
    x = torch.ones(2, 3, device="meta")
    assert rowscan.scan(x, 1, welford).shape == (2, 3)
    y, totals = rowscan.scan(x, 1, welford, totals=True)
    assert totals.shape == (2,) and totals.dtype == torch.float32
    assert torch.compile(lambda x: rowscan.scan(x, 1, welford), fullgraph=True, backend="eager")(x).shape == (2, 3)
    x.requires_grad = True
    for options in ({}, {"reverse": True}, {"totals": True}, {"omit_nan": True}, {"heads": torch.zeros_like(x) > 0}):
        with pytest.raises(rowscan.Unsupported, match="a scan of operator Welford has no gradient here"):
            rowscan.scan(x, 1, welford, **options)
    with torch.no_grad():
        assert rowscan.scan(x, 1, welford).shape == (2, 3)


def test_jax_has_no_derivative(jax):
    welford = rowscan.create_op(WELFORD)
    x = jax.numpy.ones((2, 3))
    assert jax.eval_shape(lambda x: rowscan.scan(x, 1, welford), x).shape == (2, 3)
    for options in ({}, {"reverse": True}, {"omit_nan": True}, {"heads": x > 0}):
        with pytest.raises(rowscan.Unsupported, match="a scan of operator Welford has no derivative here"):
            jax.make_jaxpr(jax.grad(lambda x: rowscan.scan(x, 1, welford, **options).sum()))(x)


# ---- scans on a GPU --------------------------------------------------------------------------------------------------

def combined(l, r):
    """Welford's combine() in f32, operation by operation."""
    if not r[0] or not l[0]:
        return l if not r[0] else r
    count, delta = l[0] + r[0], r[1] - l[1]
    part = r[0] / count
    return count, l[1] + delta * part, l[2] + r[2] + delta * delta * (l[0] * part)


def variances(row, **options):
    """Of one row, in the order that the library promises, and of all of it."""
    one, none = np.float32(1), np.float32(0)
    y, total = order.scan_row(combined, [(one, x, none) for x in row], identity=(none, none, none), **options)
    with np.errstate(invalid="ignore"):
        return np.array([t[2] / t[0] for t in y], "f4"), total[2] / total[0]


@pytest.mark.parametrize("shape", [(3, 1), (2, 37), (4, 300), (1, 1500)], ids=str)
def test_variances_on_a_gpu(cp, shape):
    welford = rowscan.create_op(WELFORD)
    x = np.random.default_rng(shape[1]).standard_normal(shape).astype("f4") + np.float32(100)
    in_order = {reverse: np.array([variances(row, reverse=reverse)[0] for row in x]) for reverse in (False, True)}
    for dim, reverse in itertools.product((0, 1), (False, True)):
        y = cp.asarray(x if dim else np.ascontiguousarray(x.T))
        got = cp.asnumpy(rowscan.scan(y, dim, welford, reverse=reverse))
        got = got if dim else got.T
        order.assert_bits(got, in_order[reverse])
        for n in {1, shape[1] // 2 + 1, shape[1]}:  # elements so far
            part, at = (x[:, -n:], -n) if reverse else (x[:, :n], n - 1)
            np.testing.assert_allclose(got[:, at], part.astype("f8").var(1), rtol=1e-5, atol=1e-6)


def test_options_on_a_gpu(cp):
    welford = rowscan.create_op(WELFORD)
    x = np.random.default_rng(1).standard_normal((4, 130)).astype("f4")
    y, mask = cp.asarray(x), x[0] > 0
    for options in ({}, {"reverse": True}, {"exclusive": True}):
        got, totals = rowscan.scan(y, 1, welford, totals=True, **options)
        both = [variances(row, **options) for row in x]
        order.assert_bits(cp.asnumpy(got), np.array([row for row, _ in both]))
        order.assert_bits(cp.asnumpy(totals), np.array([total for _, total in both]))
    got = cp.asnumpy(rowscan.scan(y, 1, welford, mask=cp.asarray(mask)))
    np.testing.assert_allclose(got[:, -1], x[:, mask].var(1), rtol=1e-5)
    got = cp.asnumpy(rowscan.scan(y, 1, welford, keys=cp.asarray(np.arange(130) // 50)))
    np.testing.assert_allclose(got[:, [49, 99, 129]], np.array([x[:, :50].var(1), x[:, 50:100].var(1),
                                                               x[:, 100:].var(1)]).T, rtol=1e-5)
    out = cp.empty((4, 130), "f8")
    assert rowscan.scan(y, 1, welford, out=out) is out
    np.testing.assert_allclose(cp.asnumpy(out)[:, -1], x.astype("f8").var(1), rtol=1e-12)
    rowscan.prepare(y, 1, welford, reverse=True)


def test_coefficients_on_a_gpu(cp):
    damped = rowscan.create_op(DAMPED)
    x = np.random.default_rng(2).standard_normal((4, 130)).astype("f4")
    for coefficient in (0.5, x, x[:, :1], x > 0):
        its = coefficient if isinstance(coefficient, float) else cp.asarray(coefficient)
        for options in ({}, {"reverse": True, "totals": True, "init": 2}, {"exclusive": True}):
            got = rowscan.scan(cp.asarray(x), 1, damped, coefficient=its, **options)
            want = rowscan.linear_recurrence(x, coefficient, 1, acc="f64", **options)
            for a, b in zip(want if isinstance(want, tuple) else [want], got if isinstance(got, tuple) else [got]):
                np.testing.assert_allclose(cp.asnumpy(b), a, rtol=1e-4, atol=1e-4)


def test_a_struct_that_does_not_compile_on_a_gpu(cp):
    broken = rowscan.create_op("// rowscan: op=Broken\ntemplate <class A, class K> struct Broken { int lost };\n")
    with pytest.raises(rowscan.CompileFailed, match="Broken"):
        rowscan.scan(cp.asarray(np.ones(3, "f4")), 0, broken)
