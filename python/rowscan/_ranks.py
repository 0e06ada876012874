"""_ranks.py - those that a scan of cut arrays runs on: processes, or several parts in each of them

SPDX-License-Identifier: MIT
"""
import json
import queue
import sys
import threading

from . import _core


class Ranks:
    """Those that a scan runs on, in the order of memory."""
    def __init__(self, size, rank, gather):
        self.size, self.rank, self._gather, self.talked = size, rank, gather, False

    def gather(self, data):
        """What each rank sends."""
        self.talked = True
        return self._gather(data)

    def gather_any(self, data):
        """The same of data that may have other lengths on other ranks."""
        sizes = [int.from_bytes(size, "little") for size in self.gather(len(data).to_bytes(8, "little"))]
        sent = self.gather(data.ljust(max(sizes), b"\0")) if any(sizes) else [b""] * self.size
        return [part[:size] for part, size in zip(sent, sizes)]

    def _joined(self, data):
        return b"".join(self.gather(data))

    def run(self, call):
        """call() as one part of a scan."""
        return _core.sharded(call, self._joined, self.size, self.rank)

    def tell(self, error):
        """Raises it on the other ranks, where they wait for this one."""
        if not self.talked and self.size > 1:
            _core.shard_tell(self._joined, self.size, self.rank, f"{type(error).__name__}: {error}")


def of_mpi(comm):
    def gather(data):
        size = comm.Get_size()
        received = bytearray(len(data) * size)
        comm.Allgather(data, received)
        return [bytes(received[i * len(data):(i + 1) * len(data)]) for i in range(size)]

    return Ranks(comm.Get_size(), comm.Get_rank(), gather)


class _Crossing(threading.local):
    """Memory through which messages cross a GPU: making it takes longer than small ones do."""
    def __init__(self):
        self._made = {}

    def __call__(self, torch, on, size, ranks):
        """Of this rank and of all, pinned and on the GPU."""
        kept = self._made.get((on, ranks))
        if kept is None or len(kept[0]) < size:
            room = 1 << (size - 1).bit_length()
            kept = [torch.empty(n * room, dtype=torch.uint8, **where) for n in (1, ranks)
                    for where in ({"pin_memory": True}, {"device": on})]
            if size <= 1 << 16:
                self._made[on, ranks] = kept
        return [t[:size * n] for t, n in zip(kept, (1, 1, ranks, ranks))]


_crossing = _Crossing()


def of_torch(group, x=None):
    """x: one of the rank's parts, whose GPU the bytes cross if the group has no transport for memory of the host."""
    import torch
    dist = torch.distributed

    def gather(data):
        ranks, sent = dist.get_world_size(group), torch.frombuffer(bytearray(data), dtype=torch.uint8)
        if "cpu:" in dist.get_backend_config(group):
            received = torch.empty(ranks * len(data), dtype=torch.uint8)
            dist.all_gather(list(received.chunk(ranks)), sent, group=group)
        else:
            on = x.device if x is not None and x.is_cuda else torch.device("cuda", torch.cuda.current_device())
            with torch.cuda.device(on):
                pinned, sends, received, receives = _crossing(torch, on, len(data), ranks)
                sends.copy_(pinned.copy_(sent), non_blocking=True)
                dist.all_gather_into_tensor(receives, sends, group=group)
                received.copy_(receives, non_blocking=True)
                torch.cuda.current_stream().synchronize()
        received = received.numpy().tobytes()
        return [received[at:at + len(data)] for at in range(0, len(received), len(data))]

    if not dist.is_available() or not dist.is_initialized():
        raise ValueError("group is None, and torch.distributed has no default group: call init_process_group() first")
    rank = dist.get_rank(group)
    if rank < 0:
        raise ValueError(f"group is {group}, and this process is not in it")
    return Ranks(dist.get_world_size(group), rank, gather)


def nested(outer, inner):
    """The ranks of a mesh of two dimensions, of which the outer one cuts first: each gathers along the inner one, and
    passes that on along the outer one. A group of all of them would have to be made by all processes together."""
    def gather(data):
        n = len(data)
        return [part[i * n:(i + 1) * n] for part in outer.gather(b"".join(inner.gather(data)))
                for i in range(inner.size)]

    return Ranks(outer.size * inner.size, outer.rank * inner.size + inner.rank, gather)


# ---- several parts in a process --------------------------------------------------------------------------------------

class Parts:
    """The parts of this process among those of all. Each is a rank of a scan of its own, with a thread while it works;
    what all of them send the caller's thread gathers at once, so that a transport sees one thread alone."""

    def __init__(self, ranks, places):
        """places: of the parts of each process."""
        self._ranks, self._places, self._most = ranks, places, max(map(len, places))
        size = sum(map(len, places))
        self.ranks = [Ranks(size, place, None) for place in places[ranks.rank]]

    def run(self, work):
        """[work(i, the ranks of part i)]"""
        count, results, errors = len(self.ranks), [None] * len(self.ranks), [None] * len(self.ranks)
        sent, received = queue.SimpleQueue(), [queue.SimpleQueue() for _ in range(count)]

        def gather(i, data):
            sent.put((i, data))
            reply = received[i].get()
            if isinstance(reply, BaseException):
                raise reply
            return reply

        enter = _streams()

        def one(i):
            try:
                enter()
                results[i] = work(i, self.ranks[i])
            except BaseException as error:
                errors[i] = error
            sent.put((i, None))

        for i, ranks in enumerate(self.ranks):
            ranks.talked, ranks._gather = False, lambda data, i=i: gather(i, data)
            threading.Thread(target=one, args=(i,), daemon=True).start()
        working = count
        while working:  # each of them sends something, or ends
            messages = dict(sent.get() for _ in range(working))
            waiting = [i for i, data in messages.items() if data is not None]
            reply = self._reply([messages[i] for i in sorted(waiting)]) if waiting else None
            for i in waiting:
                received[i].put(reply)
            working = len(waiting)
        errors = [error for error in errors if error is not None]
        if errors:  # those of the others say that one has failed, and this one why
            raise min(errors, key=lambda error: isinstance(error, _Left) or str(error).startswith("rank "))
        return results

    def _reply(self, messages):
        """What the parts of all processes send, by their places; or why they can't be had."""
        if len(messages) < len(self.ranks):
            return _Left("another part of this process has failed")
        n = len(messages[0])
        try:
            gathered = self._ranks.gather(b"".join(messages).ljust(self._most * n, b"\0"))
        except BaseException as error:
            return error
        found = {place: parts[i * n:(i + 1) * n] for parts, places in zip(gathered, self._places)
                 for i, place in enumerate(places)}
        return [found[place] for place in range(len(found))]


def _streams():
    """What gives another thread this one's GPU and streams, which torch has for each thread."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return lambda: None
    device = torch.cuda.current_device()
    streams = [torch.cuda.current_stream(i) for i in range(torch.cuda.device_count())]

    def enter():
        for stream in streams:
            torch.cuda.set_stream(stream)
        torch.cuda.set_device(device)

    return enter


class _Left(RuntimeError):
    """A part waits for others that have failed."""


def parts_of(ranks, places, problem):
    """The parts that processes have, who tell one another. problem: why this one's places are none, or None."""
    told = [json.loads(text) for text in ranks.gather_any(json.dumps(problem or places).encode())]
    for rank, text in enumerate(told):
        if isinstance(text, str):
            raise ValueError(f"rank {rank}: {text}")
    every = sorted(place for each in told for place in each)
    if every != list(range(len(every))):
        raise ValueError(f"places: those of all ranks are {every}, not each from 0 to {len(every) - 1} once")
    return Parts(ranks, told)
