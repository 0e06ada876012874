# test_distributed_cuda.py - rowscan.distributed: tensors on GPUs that are cut over processes have the bits of one GPU
# SPDX-License-Identifier: MIT
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.distributed.tensor")

HERE = Path(__file__).parent
GPUS = min(2, torch.cuda.device_count()) if torch.cuda.is_available() else 0


def run_cases(ranks, device, folder):
    command = [sys.executable, str(HERE / "distributed_cuda_cases.py"), str(folder / "store"), str(ranks)]
    processes = [subprocess.Popen([*command, str(rank), device], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True) for rank in range(ranks)]
    outputs = [process.communicate(timeout=1500)[0] for process in processes]
    for rank, output in enumerate(outputs):
        assert output.endswith("good\n"), f"rank {rank}: {output}"


@pytest.mark.skipif(not GPUS or not torch.distributed.is_nccl_available(), reason="no GPU, or no NCCL")
def test_gpus(tmp_path):
    run_cases(GPUS, "cuda", tmp_path)


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_checks_themselves(ranks, tmp_path):
    run_cases(ranks, "cpu", tmp_path)
