# timing.py - one clock for all: warm-up, batches, interleaved repetitions, medians
# SPDX-License-Identifier: MIT
import statistics
import time

import torch

BATCH_MS = 0.2  # between two events at least: far more than they resolve
GRAPH_MS = 0.05  # what takes less is timed in a captured graph: else Python's launches would be what is timed
GRAPH_BATCH = 100


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


class Timed:
    """Something to time: run(set) queues it once, on the set of buffers with that number."""

    def __init__(self, peer, form, run):
        self.peer, self.form, self.run = peer, form, run
        self.batch, self.turn, self.times, self.graph = 1, 0, [], None

    def launch(self, sets):
        for _ in range(self.batch):
            self.run(self.turn % sets)
            self.turn += 1

    def once(self, clock, sets):
        start = clock.now()
        if self.graph:
            self.graph.replay()
        else:
            self.launch(sets)
        return start, clock.now()

    def capture(self, sets):
        graph, self.batch = torch.cuda.CUDAGraph(), GRAPH_BATCH
        try:
            with torch.cuda.graph(graph):
                self.launch(sets)
            self.graph = graph
        except Exception:  # it can't be captured: its launches are timed with it
            torch.cuda.synchronize()
            self.form += " (launches included)"

    def milliseconds(self, clock, sets, count=1):
        spans = [self.once(clock, sets) for _ in range(count)]
        clock.wait()
        return statistics.median(clock.between(*span) for span in spans) / self.batch

    def warm_up(self, clock, sets):
        self.milliseconds(clock, sets)
        one = self.milliseconds(clock, sets)
        self.batch = min(1000, max(1, int(BATCH_MS / max(one, 1e-4)) + 1))
        if clock.cuda and one < GRAPH_MS:
            self.capture(sets)
        if self.batch > 1:
            self.milliseconds(clock, sets)

    @property
    def median(self):
        return statistics.median(self.times)


def interleave(clock, sets, timed, repeat):
    """One after the other, again and again, so that whatever drifts does so for all of them."""
    for _ in range(repeat):
        spans = [(one, one.once(clock, sets)) for one in timed]
        clock.wait()
        for one, span in spans:
            one.times.append(clock.between(*span) / one.batch)
