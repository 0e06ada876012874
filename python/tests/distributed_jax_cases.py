# distributed_jax_cases.py - rowscan.distributed in shard_map, on 8 devices of this host: run by test_distributed.py
# SPDX-License-Identifier: MIT
import os
import re

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax  # noqa: E402
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


for test in (bits, gradients, only_records_travel, errors):
    test()
print("good")
