# torch_scan.py - how PyTorch's users write each variant
# SPDX-License-Identifier: MIT
import torch

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "i8": torch.int8,
         "u8": torch.uint8, "i32": torch.int32, "i64": torch.int64, "bool": torch.bool}


def forms(cell, variant):
    """{name: function (x, mask) -> result}; types of integers are kept as the cell has them."""
    _, dim = cell.shape
    out, wide = TYPES[cell.out], TYPES[cell.acc] if cell.acc else None

    def cumsum(x):
        return torch.cumsum(x, dim, dtype=wide).to(out) if wide else torch.cumsum(x, dim, dtype=out)

    if variant == "inclusive":
        return {"cumsum": lambda x, mask: cumsum(x)}
    if variant == "reverse":
        return {"flip-cumsum-flip": lambda x, mask: cumsum(x.flip(dim)).flip(dim)}
    if variant == "exclusive":

        def shifted(x, mask):
            pad = [0, 0] * (x.dim() - 1 - dim) + [1, 0]
            return torch.nn.functional.pad(cumsum(x.narrow(dim, 0, x.size(dim) - 1)), pad)

        return {"cumsum - x": lambda x, mask: cumsum(x) - x, "pad(cumsum)": shifted}
    return {"(x * mask).cumsum": lambda x, mask: cumsum(x * mask)}
