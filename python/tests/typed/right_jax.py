"""right_jax.py - calls with JAX's arrays that type checkers accept, and the types that they find

SPDX-License-Identifier: MIT
"""
import jax
import jax.numpy as jnp
from typing_extensions import assert_type

import rowscan

x = jnp.ones((3, 4))

assert_type(rowscan.cumsum(x, 1), jax.Array)
assert_type(rowscan.cumprod(x, axis=1, totals=True), tuple[jax.Array, jax.Array])
assert_type(rowscan.scan(x, 1, "min"), jax.Array)
assert_type(rowscan.cumulative_prod(x, axis=1), jax.Array)
