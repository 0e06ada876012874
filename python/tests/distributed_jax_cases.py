# distributed_jax_cases.py - rowscan.distributed in shard_map, on 8 devices of this host: run by test_distributed.py
# SPDX-License-Identifier: MIT
import os
import re

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax  # noqa: E402
import jax.export  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import rowscan  # noqa: E402
from rowscan import distributed  # noqa: E402

P, LENGTH = jax.sharding.PartitionSpec(None, "d"), 8 * 1001
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("d",))
random = np.random.default_rng(7)


def sharded(function):
    return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=P, out_specs=P))


def same(a, b, what):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype and a.shape == b.shape, what
    np.testing.assert_array_equal(a, b, what)


def bits():
    x = jnp.asarray((random.standard_normal((3, LENGTH)) * 10.0 ** random.integers(-3, 4, (3, LENGTH))).astype("f4"))
    flags = jnp.asarray(random.random((3, LENGTH)) < 0.1)
    for name in ("cumsum", "cumprod", "logcumsumexp", "cummax"):
        for options in ({}, {"reverse": True}, {"exclusive": True}, {"reverse": True, "exclusive": True}):
            whole, own = getattr(rowscan, name), getattr(distributed, name)
            for kind in (jnp.float32, jnp.bfloat16):
                same(sharded(lambda x: own(x, 1, axis_name="d", **options))(x.astype(kind)),
                     whole(x.astype(kind), 1, **options), (name, options))
            for key in ("mask", "heads", "tails"):
                same(sharded(lambda x, m: own(x, 1, axis_name="d", **{key: m}, **options))(x, flags),
                     whole(x, 1, **{key: flags}, **options), (name, key, options))
    c = jnp.asarray(random.random((3, LENGTH)).astype("f4"))
    same(sharded(lambda x, c: distributed.linear_recurrence(x, c, 1, axis_name="d"))(x, c),
         rowscan.linear_recurrence(x, c, 1), "recurrence")
    same(sharded(lambda x: distributed.scan(x, 1, "argmax", axis_name="d", reverse=True))(x),
         rowscan.scan(x, 1, "argmax", reverse=True), "argmax")


def gradients():
    x, w = (jnp.asarray(random.standard_normal((3, LENGTH)).astype("f4")) for _ in range(2))
    flags = jnp.asarray(random.random((3, LENGTH)) < 0.1)
    for options in ({}, {"reverse": True}, {"exclusive": True}):
        for key in (None, "mask", "heads", "tails"):
            def beside(m, key=key):
                return {} if key is None else {key: m}
            own = sharded(lambda x, m: distributed.cumsum(x, 1, axis_name="d", **beside(m), **options))
            got = jax.grad(lambda x: (own(x, flags) * w).sum())(x)
            should = jax.grad(lambda x: (rowscan.cumsum(x, 1, **beside(flags), **options) * w).sum())(x)
            same(got, should, (key, options))


def only_records_travel():
    x = jnp.zeros((3, LENGTH))
    text = sharded(lambda x: distributed.cumsum(x, 1, axis_name="d")).lower(x).compile().as_text()
    gathers = re.findall(r"= (\w+)\[(\d+),(\d+)\]\S* all-gather\(", text)
    assert len(gathers) == 1 and gathers[0][:2] == ("u8", "8") and int(gathers[0][2]) < 1000, gathers
    assert "all-reduce" not in text and "collective-permute" not in text and "all-to-all" not in text


def all_gathered(function, *arrays):
    """What a function gathers of arrays that are cut: type and shape; and its result."""
    compiled = jax.jit(function).lower(*arrays).compile()
    text = compiled.as_text()
    assert "all-reduce" not in text and "collective-permute" not in text and "all-to-all" not in text, text
    return re.findall(r"= (\w+\[[\d,]*\])\S* all-gather\(", text), compiled(*arrays)


def without_shard_map():
    """Under jit alone, of arrays that are cut in many ways, records are gathered, and arrays stay cut."""
    square = jax.sharding.Mesh(np.array(jax.devices()).reshape(4, 2), ("a", "b"))
    x = jnp.asarray(random.standard_normal((8, LENGTH)).astype("f4"))
    flags, cs = jnp.asarray(random.random((8, LENGTH)) < 0.1), jnp.asarray(random.random((8, LENGTH)).astype("f4"))
    keys = jnp.cumsum(flags, 1, dtype="i4")
    functions = (lambda x: rowscan.cumsum(2 * x, 1, reverse=True) + 1, lambda x: rowscan.cummax(x, -1, exclusive=True),
                 lambda x: rowscan.cumprod(x, 1), lambda x: rowscan.cumsum(x, 1, omit_nan=True),
                 lambda x: rowscan.scan(x, 1, "argmax"), jax.vmap(lambda x: rowscan.logcumsumexp(x, 0)),
                 jax.vmap(lambda x: rowscan.cumsum(x, 0), in_axes=1, out_axes=1),
                 jax.grad(lambda x: (rowscan.cumsum(x, 1) ** 2 / 2).sum()),
                 lambda x: jax.lax.scan(lambda x, _: (rowscan.cumsum(x, 1) / 64, None), x, None, 2)[0],
                 (lambda x, m: rowscan.cumsum(x, 1, mask=m), flags), (lambda x, m: rowscan.cumsum(x, 1, keys=m), keys),
                 (lambda x, m: rowscan.linear_recurrence(x, m, 1), cs))
    specs = ((mesh, P, 8), (square, jax.sharding.PartitionSpec("a", "b"), 2),
             (square, jax.sharding.PartitionSpec(None, ("b", "a")), 8),
             (square, jax.sharding.PartitionSpec(None, "a"), 4), (square, jax.sharding.PartitionSpec("b"), 1))
    for number, function in enumerate(functions):
        function, *more = function if isinstance(function, tuple) else (function,)
        want = jax.jit(function)(x, *more)
        for devices, spec, ranks in specs[number % 2::2] if number > 1 else specs:
            cut = jax.sharding.NamedSharding(devices, spec)
            gathered, y = all_gathered(function, *(jax.device_put(t, cut) for t in (x, *more)))
            assert number == 6 or len(gathered) == (2 if number == 7 else 1) * (ranks > 1), (number, spec, gathered)
            for kind in gathered:
                assert kind.startswith(f"u8[{ranks if number != 6 else ''}"), (number, spec, kind)
            assert y.sharding.is_equivalent_to(cut, 2), (number, y.sharding)
            same(y, want, (number, spec))


def keys_of_caches():
    """JAX's cache on disk may leave out the number of the function that XLA asks: the rest says what it does."""
    x = jax.device_put(jnp.ones((3, LENGTH)), jax.sharding.NamedSharding(mesh, P))
    texts = [jax.jit(lambda x: rowscan.cumsum(x, 1, reverse=reverse)).lower(x).as_text() for reverse in (False, True)]
    assert all("CustomSPMDPartitioning" in text for text in texts), texts
    a, b = (re.sub(r'backend_config = "\d+"', "", text) for text in texts)
    assert a != b and re.sub(r"\d+", "", a) == re.sub(r"\d+", "", b), texts


def what_is_gathered_all_the_same():
    """Parts that XLA would pad, and what has no parts; and exported functions, which can't ask anybody."""
    x = jax.device_put(jnp.arange(3 * 1040.0).reshape(3, 1040), jax.sharding.NamedSharding(mesh, P))
    for function in (lambda x: rowscan.cumsum(x[:, :-3] * 2, 1, reverse=True), lambda x: rowscan.cumsum(x, 1, init=3.0),
                     lambda x: rowscan.cumsum(x, 1, mask=jnp.arange(1040) % 3 > 0)):
        gathered, y = all_gathered(function, x)
        assert gathered == ["f32[3,1040]"], gathered
        same(y, function(jax.device_put(x, jax.devices()[0])), "gathered")
    text = jax.export.export(jax.jit(lambda x: rowscan.cumsum(x, 1)), disabled_checks=[
        jax.export.DisabledSafetyCheck.custom_call("rowscan")])(x).mlir_module()
    assert "rowscan" in text and "CustomSPMDPartitioning" not in text, text
    six = jax.sharding.Mesh(np.array(jax.devices()[:6]).reshape(2, 3), ("a", "b"))
    spec = jax.sharding.PartitionSpec(None, ("a", "b"))
    x = jax.device_put(np.ones((3, 1038), "f4"), jax.sharding.NamedSharding(six, spec))
    y = jax.jit(lambda x: rowscan.cumprod(x[:, 2:], 1, reverse=True))(x)  # 1036: by 2, but not by 6
    same(y, jnp.ones((3, 1036)), "parts of other lengths")


def errors():
    x = jnp.ones((3, 8))
    for options, words in (({"init": 1.0}, "init, totals"), ({"totals": True}, "init, totals")):
        try:
            sharded(lambda x: distributed.cumsum(x, 1, axis_name="d", **options))(x)
            raise AssertionError(f"{options} was served")
        except NotImplementedError as error:
            assert words in str(error), error
    try:
        distributed.cumsum(x, 1)
        raise AssertionError("an array of JAX without axis_name was served")
    except TypeError as error:
        assert "axis_name" in str(error), error


for test in (bits, gradients, only_records_travel, without_shard_map, keys_of_caches,
             what_is_gathered_all_the_same, errors):
    test()
print("good")
