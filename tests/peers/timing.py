# timing.py - one clock for all: warm-up, batches, interleaved repetitions, medians
# SPDX-License-Identifier: MIT
import statistics
import time

import torch

BATCH_MS = 0.2  # between two events at least: far more than they resolve
GRAPH_MS = 0.05  # what takes less is timed in a captured graph: else Python's launches would be what is timed
GRAPH_BATCH = 100
BUDGET_MS = 400  # for all repetitions of one form: the slow are repeated less often
LEAST_REPEAT = 3
CYCLES = 2_000_000  # of a GPU's clock in a millisecond, at least


class Clock:
    """Times what is queued on a GPU by events; on a CPU, where the script can be tried, by the clock on the wall."""

    def __init__(self, device):
        self.cuda = device.type == "cuda"

    def now(self):
        if not self.cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def wait(self):
        if self.cuda:
            torch.cuda.synchronize()

    def between(self, start, end):
        return start.elapsed_time(end) if self.cuda else 1e3 * (end - start)

    def hold(self, milliseconds):
        """Keeps the GPU busy while the host queues what is timed: else the wait for the first launch would be in it."""
        if self.cuda:
            torch.cuda._sleep(int(CYCLES * min(milliseconds, 20)))


class Timed:
    """Something to time: run(set) queues it once, on the set of buffers with that number, and returns the result. Each
    set's last result is kept: else the results of all sets would get one block from the allocator, one after another,
    and who allocates them would write to the L2 cache alone."""

    def __init__(self, peer, form, run):
        self.peer, self.form, self.run = peer, form, run
        self.batch, self.turn, self.times, self.graph = 1, 0, [], None
        self.host_ms, self.repeat = 0.1, LEAST_REPEAT
        self.kept = {}

    def launch(self, sets):
        for _ in range(self.batch):
            number = self.turn % sets
            result = self.run(number)
            if sets > 1:
                self.kept[number] = result
            self.turn += 1

    def once(self, clock, sets):
        clock.hold(3 * self.host_ms + 0.05)  # a host that was interrupted takes longer than the last time
        start, queued = clock.now(), time.perf_counter()
        if self.graph:
            self.graph.replay()
        else:
            self.launch(sets)
        self.host_ms = 1e3 * (time.perf_counter() - queued)
        return start, clock.now()

    def capture(self, sets):
        """Of so many runs that a replay finds no set in the cache."""
        graph, self.batch = torch.cuda.CUDAGraph(), -(-GRAPH_BATCH // sets) * sets
        try:
            with torch.cuda.graph(graph):
                self.launch(sets)
            self.graph = graph
        except Exception:  # it can't be captured: its launches are timed with it
            torch.cuda.synchronize()
            self.batch, self.form = GRAPH_BATCH, self.form + " (launches included)"

    def milliseconds(self, clock, sets, count=1):
        spans = [self.once(clock, sets) for _ in range(count)]
        clock.wait()
        return statistics.median(clock.between(*span) for span in spans) / self.batch

    def warm_up(self, clock, sets, repeat):
        one = self.milliseconds(clock, sets)
        if one < BUDGET_MS:
            one = self.milliseconds(clock, sets)
        self.batch = min(1000, max(1, int(BATCH_MS / max(one, 1e-4)) + 1))
        if clock.cuda and one < GRAPH_MS:
            self.capture(sets)
        if self.batch > 1:
            one = self.milliseconds(clock, sets)
        self.repeat = int(min(repeat, max(LEAST_REPEAT, BUDGET_MS / max(one * self.batch, 1e-4))))

    @property
    def median(self):
        return statistics.median(self.times)


def interleave(clock, sets, timed):
    """One after the other, again and again, so that whatever drifts does so for all of them."""
    most = max(one.repeat for one in timed)
    for turn in range(most):
        # those with fewer repetitions have theirs spread over all of it
        now = [one for one in timed if turn * one.repeat // most != (turn - 1) * one.repeat // most]
        spans = [(one, one.once(clock, sets)) for one in now]
        clock.wait()
        for one, span in spans:
            one.times.append(clock.between(*span) / one.batch)
