# test_distributed.py - rowscan.distributed: arrays that are cut over processes have the bits of one
# SPDX-License-Identifier: MIT
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import rowscan
from rowscan import distributed

np = pytest.importorskip("numpy")
HERE = Path(__file__).parent


class Threads:
    """What rowscan asks of mpi4py's communicator, of threads in the place of processes."""
    def __init__(self, size):
        self.size, self.barrier, self.sent = size, threading.Barrier(size), [None] * size
        self.local = threading.local()
        self.local.rank = 0

    def Get_size(self):
        return self.size

    def Get_rank(self):
        return self.local.rank

    def Allgather(self, send, receive):
        self.sent[self.local.rank] = bytes(send)
        self.barrier.wait()
        receive[:] = b"".join(self.sent)
        self.barrier.wait()

    def run(self, call):
        """call(rank) on all; what each returned or raised."""
        results = [None] * self.size

        def one(rank):
            self.local.rank = rank
            try:
                results[rank] = call(rank)
            except Exception as error:
                results[rank] = error

        threads = [threading.Thread(target=one, args=(rank,)) for rank in range(self.size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_numpy(ranks):
    random = np.random.default_rng(ranks)
    comm = Threads(ranks)
    for _ in range(30):
        length, axis = int(random.integers(0, 400)), int(random.integers(0, 2))
        shape = (length, 3) if axis == 0 else (3, length)
        x = (random.standard_normal(shape) * 10.0 ** random.integers(-3, 4, shape)).astype(random.choice(["f4", "f8"]))
        keys = np.sort(random.integers(0, 5, shape), axis).astype("i4")
        cuts = [0, *np.sort(random.integers(0, length + 1, ranks - 1)), length]
        options = {"reverse": bool(random.integers(2)), "exclusive": bool(random.integers(2))}
        op = random.choice(["sum", "prod", "logsumexp", "extended_prod", "max"])

        def mine(array, rank, cuts=cuts, axis=axis):
            return array[cuts[rank]:cuts[rank + 1]] if axis == 0 else array[:, cuts[rank]:cuts[rank + 1]]

        for more in [{}] + [{"keys": keys}] * (op in ("sum", "max") and x.dtype == "f4"):
            should = rowscan.scan(x, axis, op, **options, **more)
            got = comm.run(lambda rank, more=more: distributed.scan(
                mine(x, rank), axis, op, comm=comm, **options, **{name: mine(a, rank) for name, a in more.items()}))
            for rank in range(ranks):
                assert not isinstance(got[rank], Exception), got[rank]
                np.testing.assert_array_equal(got[rank], mine(should, rank), f"{op} {options} {cuts}")
                assert got[rank].dtype == should.dtype


def test_a_rank_that_fails_fails_all():
    comm = Threads(3)
    x = np.ones((2, 4), "f4")
    got = comm.run(lambda rank: distributed.cumsum(x if rank != 1 else x.astype("f8"), 1, comm=comm))
    assert all(isinstance(one, rowscan.BadArgument) and "rank 1: scans 'op=sum in=f64" in str(one) for one in got), got
    got = comm.run(lambda rank: distributed.cumsum(x, 1 if rank != 2 else "x", comm=comm))
    assert isinstance(got[2], TypeError), got
    assert all(isinstance(one, rowscan.BadArgument) and str(one).startswith("rank 2: ") for one in got[:2]), got


def test_what_the_transport_raises_is_raised():
    class Broken(Threads):
        def Allgather(self, send, receive):
            raise OSError("the network is down")

    comm = Broken(2)
    got = comm.run(lambda rank: distributed.cumsum(np.ones(3), comm=comm))
    assert all(isinstance(one, OSError) and str(one) == "the network is down" for one in got), got


def test_places():
    """Each rank has parts that are not neighbours, and not as many as others."""
    random = np.random.default_rng(5)
    comm = Threads(3)
    for turn in range(20):
        length, axis = int(random.integers(0, 400)), turn % 2
        shape = (length, 3) if axis == 0 else (3, length)
        x, c = random.standard_normal(shape).astype("f4"), random.random(shape).astype("f4")
        order = random.permutation(6).tolist()
        places = [order[:1], order[1:3], order[3:]] if turn else [[0, 5], [1, 4], [2, 3]]
        cuts = [0, *np.sort(random.integers(0, length + 1, 5)), length]
        options = {"reverse": bool(turn & 2), "init": np.full((1, 3) if axis == 0 else (3, 1), 0.1, "f4")}
        weighted = {"totals": True, "mask_mode": "multiply", **options}

        def mine(array, rank, cuts=cuts, axis=axis, places=places):
            return [array.take(range(cuts[place], cuts[place + 1]), axis) for place in places[rank]]

        for call in (lambda f, x, c, **more: f.linear_recurrence(x, c, axis, **options, **more),
                     lambda f, x, c, **more: f.cumsum(x, axis, mask=c, **weighted, **more)):
            should = call(rowscan, x, c)
            got = comm.run(lambda rank: call(distributed, mine(x, rank), mine(c, rank), comm=comm, places=places[rank]))
            for rank in range(3):
                assert isinstance(got[rank], list) and len(got[rank]) == len(places[rank]), got[rank]
                if isinstance(should, tuple):
                    np.testing.assert_array_equal([totals for _, totals in got[rank]], [should[1]] * len(got[rank]))
                parts = [part[0] if isinstance(part, tuple) else part for part in got[rank]]
                for part, want in zip(parts, mine(should[0] if isinstance(should, tuple) else should, rank)):
                    np.testing.assert_array_equal(part, want, f"{turn} {places} {cuts}")


@pytest.mark.parametrize("rank, kind, words, change", [
    (None, ValueError, r"places: those of all ranks are \[0, 1, 1, 3\], not each from 0 to 3 once", {"places": [1, 3]}),
    (1, ValueError, r"rank 1: places is \[1\], so x must be a list of as many parts, .* a list of 2", {"places": [1]}),
    (1, ValueError, "rank 1: places is 1, not a list of integers", {"places": 1}),
    (1, ValueError, "rank 1: places is .*, at least one, and is a list of 0", {"x": [], "places": []}),
    (1, ValueError, "rank 1: mask has 1 parts, but x has 2", {"mask": [np.ones(2, bool)]}),
    (None, rowscan.BadArgument, "rank 2: scans 'op=sum in=f64", {"x": [np.ones(2), np.ones(2, "f4")]}),
])
def test_places_that_fail(rank, kind, words, change):
    """On all ranks, as other errors do."""
    comm, x = Threads(2), [np.ones(2, "f4"), np.ones(2, "f4")]
    given = [{"x": x, "places": [0, 1]}, {"x": x, "places": [2, 3], **change}]
    got = comm.run(lambda rank: distributed.cumsum(comm=comm, **given[rank]))
    assert all(type(error) is kind and re.match(words, str(error)) for error in got), got


def test_a_part_that_fails_says_why():
    comm, x = Threads(2), [np.ones((2, 2)), np.ones(2)]
    got = comm.run(lambda rank: distributed.cumsum(x[::-1] if rank else [x[1]] * 2, comm=comm,
                                                   places=[2 * rank, 2 * rank + 1]))
    assert isinstance(got[0], rowscan.BadArgument) and str(got[0]).startswith("rank 3: TypeError: dim is missing"), got
    assert isinstance(got[1], TypeError) and str(got[1]).startswith("dim is missing"), got


def test_what_can_not_be_asked():
    with pytest.raises(TypeError, match="comm is missing"):
        distributed.cumsum(np.ones(3))
    with pytest.raises(TypeError, match="dim is missing"):
        distributed.cumsum(np.ones((3, 3)), comm=Threads(1))


@pytest.mark.parametrize("ranks", [2, 4])
def test_torch(ranks, tmp_path):
    pytest.importorskip("torch.distributed.tensor")
    command = [sys.executable, str(HERE / "distributed_cases.py"), str(tmp_path / "store"), str(ranks)]
    processes = [subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                 for rank in range(ranks)]
    outputs = [process.communicate(timeout=300)[0] for process in processes]
    for rank, output in enumerate(outputs):
        assert output.endswith("good\n"), f"rank {rank}: {output}"


def test_jax():
    pytest.importorskip("jax")
    done = subprocess.run([sys.executable, str(HERE / "distributed_jax_cases.py")], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=400)
    assert done.stdout.endswith("good\n"), done.stdout


@pytest.mark.parametrize("name", ["sharded", "zigzag"])
def test_the_examples(name):
    pytest.importorskip("torch.distributed")
    program = HERE.parent / "examples" / f"{name}.py"
    env = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
    processes = [subprocess.Popen([sys.executable, str(program)], env={**env, "RANK": str(rank)}, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for rank in range(2)]
    for rank, process in enumerate(processes):
        output = process.communicate(timeout=120)[0]
        assert f"rank {rank}: " in output and "the bits of one process" in output, output


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
