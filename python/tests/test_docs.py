"""test_docs.py - what help() shows: examples that run, and a word on every argument

SPDX-License-Identifier: MIT
"""
import doctest
import importlib
import inspect
import pickle
import pkgutil
import pydoc
import re

import pytest

import rowscan

PUBLIC = [getattr(rowscan, name) for name in rowscan.__all__]
FUNCTIONS = [public for public in PUBLIC if inspect.isroutine(public)]
CACHE = [public for name, public in vars(rowscan.cache).items() if inspect.isfunction(public) and name[0] != "_"]
by_name = {"ids": lambda function: function.__name__}


def modules():
    for found in pkgutil.iter_modules(rowscan.__path__, "rowscan."):
        if found.name not in ("rowscan.__main__", "rowscan._core"):
            yield found.name


def names_of(test):
    """What a doctest is run with: rowscan, NumPy and, where its examples name it, torch."""
    names = {"rowscan": rowscan, "np": pytest.importorskip("numpy")}
    if any(re.search(r"\btorch\b", example.source) for example in test.examples):
        names["torch"] = pytest.importorskip("torch")
    return names


@pytest.mark.parametrize("name", ["rowscan", *modules()])
def test_examples(name):
    """Those of a module and all that it defines."""
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        if (error.name or "rowscan").startswith("rowscan"):
            raise
        pytest.skip(f"no {error.name}")
    for test in doctest.DocTestFinder().find(module):
        if test.examples:
            told = []
            test.globs = names_of(test)
            doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append)
            assert not told, "".join(told)


def test_examples_of_c_functions_are_among_them():
    names = {test.name for test in doctest.DocTestFinder().find(rowscan) if test.examples}
    assert {"rowscan", *map("rowscan.".__add__, ("scan", "cumsum", "cumprod", "prepare", "cumulative_sum"))} <= names


@pytest.mark.parametrize("function", FUNCTIONS + CACHE, **by_name)
def test_every_argument_is_explained(function):
    text = inspect.getdoc(function)
    assert re.match(r"[A-Z].*[.:]", text), "begins with a sentence"
    for name in inspect.signature(function).parameters:
        shared = function in (rowscan.prepare, rowscan.spec) and name in inspect.signature(rowscan.scan).parameters
        if not shared and function is not rowscan.cumulative_prod:  # which send the reader to others
            assert re.search(rf"\b{name}\b", text), name


@pytest.mark.parametrize("public", [public for public in PUBLIC if hasattr(public, "__module__")], **by_name)
def test_public_names_are_of_rowscan(public):
    assert public.__module__ == "rowscan"
    assert pickle.loads(pickle.dumps(public)) is public


def test_the_first_page_lists_the_functions():
    """A line each in help(rowscan), and nothing is public that is not meant to be."""
    listed = rowscan.__doc__.partition("the run.\n\n")[2]
    for name in rowscan.__all__:
        if not isinstance(getattr(rowscan, name), type):
            assert re.search(rf"^(\w+, )*{name}\b", listed, re.MULTILINE), name
    assert max(map(len, rowscan.__doc__.splitlines())) <= 116
    public = {name for name in dir(rowscan) if name[0] != "_"}
    assert public - {"torch", "distributed", "library_version"} == set(rowscan.__all__)


def test_signatures_agree():
    """Functions of one operator share their arguments; scan(), prepare() and spec() have op and coefficient besides."""
    scan = inspect.signature(rowscan.scan).parameters
    assert list(scan) == ["x", "dim", "op", "coefficient", "axis", "reverse", "exclusive", "omit_nan", "mask",
                          "mask_mode", "heads", "tails", "keys", "init", "totals", "dtype", "acc", "out", "ties",
                          "more", "params", "second"]
    assert scan["op"].default == "sum"
    for function in (rowscan.prepare, rowscan.spec):
        assert inspect.signature(function).parameters == scan
    further = "more", "params", "second"
    shared = [p for p in scan.values() if p.name not in ("op", "coefficient", "ties", *further)]
    for function in (rowscan.cumsum, rowscan.cumprod, rowscan.logcumsumexp):
        assert list(inspect.signature(function).parameters.values()) == shared
    for function in (rowscan.cummax, rowscan.cummin):
        *others, indices, ties = inspect.signature(function).parameters.values()
        assert others == shared and indices.name == "indices" and indices.default is False and ties == scan["ties"]
    assert list(inspect.signature(rowscan.linear_recurrence).parameters) == [
        "x", "coefficient", *(name for name in scan if name not in ("x", "op", "coefficient", "ties", *further))]


def test_signature_is_what_is_taken():
    """Each argument of the signature is one by name, and x, dim and op alone by position."""
    np = pytest.importorskip("numpy")
    x = np.ones(3)
    defaults = {name: p.default for name, p in inspect.signature(rowscan.cumsum).parameters.items()
                if p.default is not p.empty}
    assert rowscan.cumsum(x=x, **defaults).tolist() == rowscan.scan(x=x, op="sum", **defaults).tolist() == [1, 2, 3]
    assert rowscan.scan(x, 0, "max").tolist() == [1, 1, 1]
    with pytest.raises(TypeError, match="by position"):
        rowscan.cumsum(x, 0, None)
    with pytest.raises(TypeError, match="keepdim"):
        rowscan.cumsum(x, 0, keepdim=True)


def test_every_operator_is_named():
    for name in rowscan._core.ops():
        assert f"'{name}'" in rowscan.scan.__doc__


def test_every_operator_has_an_example():
    """By its name, or of a function of its own."""
    shown = "".join(example.source for function in PUBLIC for test in doctest.DocTestFinder().find(function)
                    for example in test.examples)
    own = {"sum": "cumsum", "prod": "cumprod", "max": "cummax", "min": "cummin", "logsumexp": "logcumsumexp"}
    for name in rowscan._core.ops():
        assert f"'{name}'" in shown or f".{own.get(name, name)}(" in shown, name


@pytest.mark.parametrize("function", [rowscan.cumsum, rowscan.cumprod], **by_name)
def test_manual(function):
    """All parts of it, in lines that a terminal has room for."""
    text = pydoc.plain(pydoc.render_doc(function))
    assert "in module rowscan" in text.splitlines()[0]
    for title in ("Arguments", "Errors", "Bits", "Threads and streams", "Gradients, in torch and JAX"):
        assert f"\n    {title}\n" in text
    assert max(map(len, function.__doc__.splitlines())) <= 116
