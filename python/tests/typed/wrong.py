"""wrong.py - calls that type checkers must reject, each on a line of its own that says so

SPDX-License-Identifier: MIT
"""
import numpy as np

import rowscan

x = np.ones((3, 4), np.float32)

rowscan.cumsum()  # wrong
rowscan.cumsum([1.0, 2.0], 0)  # wrong
rowscan.cumsum(3.0, 0)  # wrong
rowscan.cumsum(x, 1.0)  # wrong
rowscan.cumsum(x, "1")  # wrong
rowscan.cumsum(x, 1, True)  # wrong
rowscan.cumsum(x, 1, reverse="no")  # wrong
rowscan.cumsum(x, 1, mask="odd")  # wrong
rowscan.cumsum(x, 1, mask_mode="add")  # wrong
rowscan.cumsum(x, 1, mask_mode="heads")  # wrong
rowscan.cumsum(x, 1, keys="odd")  # wrong
rowscan.cumsum(x, 1, omit_nan="yes")  # wrong
rowscan.cumsum(x, 1, ties="last")  # wrong
rowscan.cummax(x, 1, indices=True, ties="both")  # wrong
rowscan.cummax(x, 1, ties="first")  # wrong
rowscan.linear_recurrence(x, 1, 1, mask=x, mask_mode="multiply")  # wrong
rowscan.gae(x, x, 1, 1, "same_step")  # wrong
rowscan.cumsum(x, 1, keepdim=True)  # wrong
rowscan.cumprod(x, 1, init="one")  # wrong
rowscan.cumprod(x, 1).cumprods()  # wrong
rowscan.cumprod(x, 1, totals=True).shape  # wrong
rowscan.cumulative_sum(x=x)  # wrong
rowscan.cumulative_sum(x, 1)  # wrong
rowscan.prepare(x, 1, op="maximum")  # wrong
rowscan.scan(x, 1, "maximum")  # wrong
rowscan.scan(x, 1, "max", True)  # wrong
rowscan.scan(x, 1, rowscan.create_op)  # wrong
rowscan.scan(x, 1, "gae", more=1)  # wrong
rowscan.scan(x, 1, "gae", params=0.9)  # wrong
rowscan.scan(x, 1, "argmax", second=True).shape  # wrong
rowscan.cumsum(x, 1, more=(x,))  # wrong
rowscan.create_op(b"// rowscan: op=Own")  # wrong
rowscan.cumsum(x, 1, op="sum")  # wrong
rowscan.spec(x, 1).shape  # wrong
rowscan.warm(rowscan.spec(x, 1), "sm_90", 1)  # wrong
rowscan.devices()[0]["cores"]  # wrong
rowscan.cache.info()["size"]  # wrong
rowscan.cummedian(x, 1)  # wrong
rowscan.torch.patched("cuda:0")  # wrong
