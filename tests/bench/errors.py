#!/usr/bin/env python3
"""errors.py - how far the results of floating scans are from the exact ones, beside a loop and a tree in the same type

SPDX-License-Identifier: MIT

usage: errors.py [--csv FILE]

ROWSCAN names the command, which scans on the host engine: a GPU has the same bits. The exact results are Python's
decimals of 40 digits and exponents without bounds, added up, multiplied and taken logarithms of in a loop; nothing is
shared with the library. Beside it NumPy computes in the type of the elements, and rounds each step to it:

  loop  from the first element to the last
  tree  in the order of jax.lax.associative_scan

An error is counted in units: halves of the distance of two numbers of the type at 1 (2^-24 of f32, 2^-53 of f64, 2^-8
of bf16) times what the operator's result is measured by:

  logsumexp          the larger of 1 and |y|
  linear_recurrence  the condition, |c| * condition + |x| after each element; of a sum the same with c = 1
  gae                likewise with the terms of delta: c * condition + |reward| + |gamma * next value| + |value|, where
                     c = gamma * lambda; and |value| more of a return, its second output
  products           |y|, or where it is subnormal the least number that is not
  gradients          the condition of s, which is a recurrence, times what s is multiplied by; of logsumexp at least by
                     2^24 * e^-87, so that one unit is what f32 takes for 0 (kernels/exp_log.h)

weighted_recurrence is the gradient of linear recurrences and of products, logsumexp_gradient that of logsumexp; those
of other operators are sums.

A result has an error where it and the exact one, rounded to the type, are finite. Elsewhere it is either the same
infinity; or, where the exact one is beyond the type, NaN; or wrong. A product is wrong, too, where one of both is 0.

With no arguments, as make check runs it, rows are short, and the exit status is not 0 if a result is wrong or further
off than its bound below. --csv writes a file for tests/results, of long rows. Exits with 77 where there is no NumPy.
"""
import argparse
import csv
import datetime
import decimal
import itertools
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
from collections import namedtuple
from decimal import Decimal

try:
    import numpy as np
except ImportError:
    print("SKIP: no NumPy")
    sys.exit(77)

ROWSCAN = os.environ.get("ROWSCAN", "rowscan")
GAMMA, LAMBDA = 0.99, 0.95
DIGITS = {"f32": 24, "f64": 53, "bf16": 8}
LENGTH = {("logsumexp", "f32"): 1 << 18, ("logsumexp", "bf16"): 1 << 15}  # else 1 << 16
SHORT = 1 << 11
decimal.setcontext(decimal.Context(prec=40, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN))
LEAST = Decimal(-87).exp() * 2 ** 24
np.seterr(all="ignore")

# ---- operators: exact results with what they are measured by, and one step in NumPy ----------------------------------


def exact_logsumexp(elements):
    total = Decimal(0)
    for x in elements:
        total += x.exp()
        y = total.ln()
        yield y, max(abs(y), 1)


def exact_recurrence(coefficients, elements):
    y = condition = Decimal(0)
    for c, x in zip(coefficients, elements):
        y, condition = c * y + x, abs(c) * condition + abs(x)
        yield y, condition


def exact_sum(elements):
    return exact_recurrence(itertools.repeat(Decimal(1)), elements)


def exact_advantages(values, next_values, terminal, ends, rewards):
    gamma, c = Decimal(GAMMA), Decimal(GAMMA) * Decimal(LAMBDA)
    y = condition = Decimal(0)
    for value, after, is_terminal, ends_here, reward in zip(values, next_values, terminal, ends, rewards):
        after = 0 if is_terminal else gamma * after
        before, condition_before = (0, 0) if ends_here else (c * y, c * condition)
        y = before + reward + after - value
        condition = condition_before + abs(reward) + abs(after) + abs(value)
        yield y, condition


def exact_returns(values, *others):
    for value, (y, condition) in zip(values, exact_advantages(values, *others)):
        yield y + value, condition + abs(value)


def exact_weighted(coefficients, weights, elements):
    for weight, (y, condition) in zip(weights, exact_recurrence(coefficients, elements)):
        yield y * weight, condition * max(abs(weight), LEAST)


def exact_logsumexp_gradient(x, y, gradients):
    shrinks = itertools.chain([Decimal(0)], ((after - before).exp() for before, after in itertools.pairwise(y)))
    return exact_weighted(shrinks, ((a - b).exp() for a, b in zip(x, y)), gradients)


def exact_product(elements):
    for y in itertools.accumulate(elements, Decimal.__mul__):
        yield y, abs(y)


def maps(left, right):
    """Of pairs of a coefficient and an element: y -> c * y + x, one after the other."""
    return left[0] * right[0], right[0] * left[1] + right[1]


def maps_of_steps(x, rounded):
    """Those of steps of a rollout, each operation rounded."""
    values, next_values, terminal, ends, rewards = x
    after = np.where(terminal != 0, 0, rounded(GAMMA * next_values)).astype(x.dtype)
    c = np.where(ends != 0, 0, rounded(np.full_like(values, GAMMA * LAMBDA))).astype(x.dtype)
    return np.stack([c, rounded(rounded(rewards + after) - values)])


def maps_of_gradients(x, rounded):
    """Those of the gradient of logsumexp."""
    shrinks = rounded(np.exp(rounded(np.diff(x[1], prepend=np.inf))))
    return np.stack([shrinks, x[2]])


def in_bf16(x):
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.rint(fraction * 256), exponent - 8)


def loop(step, x):
    """Of an array [length], or of [coefficients, elements]."""
    if x.ndim == 1:
        return np.array(list(itertools.accumulate(x, step)))
    return np.array([y for _, y in itertools.accumulate(zip(*x), step)])


def tree(step, x):
    """Of arrays [fields, length]."""
    y, n = x.copy(), x.shape[1]
    if n > 1:
        y[:, 1::2] = tree(step, np.array(step(x[:, :n - 1:2], x[:, 1::2])))
        y[:, 2::2] = step(y[:, 1:n - 1:2], x[:, 2::2])
    return y


# ---- data: functions of random numbers, a length and the places; elements come last, before them coefficients, or what
# gae has beside rewards. Its first step is the last one in time. -----------------------------------------------------


def log_softmax(r, n, t):
    x = r.normal(size=n)
    return x - np.log(np.sum(np.exp(x)))


def half_infinite(r, n, t):
    return np.where(r.random(n) < 0.5, -np.inf, r.normal(size=n))


def and_back(r, x, inverses):
    """What becomes large, and at the end nothing."""
    return np.concatenate([x, r.permutation(inverses)])


def huge(r, n, t):
    x = np.exp(r.normal(0.5, 1, n // 2))
    return and_back(r, x, 1 / x)


def cancelling(r, n, t):
    x = np.exp(4 * r.normal(size=n // 2))
    return and_back(r, x, -x)


def at(place, value, x):
    x[place] = value
    return x


def full(n, value):
    return np.full(n, float(value))


def rollout(rewards, values, terminal=0, ends=0):
    """values: that of what follows the last step, then those of the steps."""
    return values[1:], values[:-1], full(len(rewards), 0) + terminal, full(len(rewards), 0) + ends, rewards


def ending(r, n, t):
    ends = r.random(n) < 0.01
    return rollout(r.normal(size=n), r.normal(size=n + 1), ends & (r.random(n) < 0.5), ends)


LOGSUMEXP = {
    "normal": lambda r, n, t: r.normal(size=n),
    "uniform": lambda r, n, t: r.random(n),
    "1000 + normal": lambda r, n, t: 1000 + r.normal(size=n),
    "-0.01 t": lambda r, n, t: -0.01 * t,
    "0.01 t": lambda r, n, t: 0.01 * t,
    "50 normal": lambda r, n, t: 50 * r.normal(size=n),
    "0.1 normal - log(n / 2)": lambda r, n, t: 0.1 * r.normal(size=n) - np.log(n / 2),
    "log-softmax": log_softmax,
    "half -inf": half_infinite,
}
CANCELLING = "0.1 normal - log(n / 2)", "log-softmax"  # logarithms near 0, of sums of many small numbers
OVERFLOWING = "c 2, first 300 of x are 0"
RECURRENCE = {
    "c uniform": lambda r, n, t: (r.random(n), r.normal(size=n)),
    "c 0.999 to 1, x uniform": lambda r, n, t: (1 - 0.001 * r.random(n), r.random(n)),
    "c uniform, -1 to 1": lambda r, n, t: (r.uniform(-1, 1, n), r.normal(size=n)),
    "c 0.99, x 1": lambda r, n, t: (full(n, 0.99), full(n, 1)),
    "c 1": lambda r, n, t: (full(n, 1), r.normal(size=n)),
    "c normal": lambda r, n, t: (r.normal(size=n), r.normal(size=n)),
    "c exp(-exp(normal))": lambda r, n, t: (np.exp(-np.exp(r.normal(size=n))), r.normal(size=n)),
    "c 1.0001": lambda r, n, t: (full(n, 1.0001), r.normal(size=n)),
    "c 0.95, one in 100 is 0": lambda r, n, t: (np.where(r.random(n) < 0.01, 0, 0.95), r.normal(size=n)),
    "c 1.01, from y = 1": lambda r, n, t: (full(n, 1.01), at(0, 1, r.normal(size=n))),
    OVERFLOWING: lambda r, n, t: (full(n, 2), at(slice(300), 0, r.normal(size=n))),
}
ROLLOUTS = {
    "normal": lambda r, n, t: rollout(r.normal(size=n), r.normal(size=n + 1)),
    "one in 100 ends": ending,
    "reward 1, value 100 + normal": lambda r, n, t: rollout(full(n, 1), 100 + r.normal(size=n + 1)),
    "reward 1 in one of 100, value uniform": lambda r, n, t: rollout(1.0 * (r.random(n) < 0.01), r.random(n + 1)),
    "1000 + normal": lambda r, n, t: rollout(1000 + r.normal(size=n), 1000 + r.normal(size=n + 1)),
}
WEIGHTED = {name: lambda r, n, t, made=RECURRENCE[name]: (made(r, n, t)[0], r.normal(size=n), r.normal(size=n))
            for name in ("c uniform", "c 0.999 to 1, x uniform", "c normal", "c exp(-exp(normal))",
                         "c 0.95, one in 100 is 0")}


def of_a_logsumexp(made, gradients):
    """Elements, results of a reverse scan, and the gradients of these."""
    def arrays(r, n, t):
        x = made(r, n, t).astype("f4")
        return x, np.logaddexp.accumulate(x[::-1].astype("f8"))[::-1], gradients(r, n)

    return arrays


GRADIENTS = {f"{name}, g {words}": of_a_logsumexp(LOGSUMEXP[name], gradients)
             for name in ("normal", "1000 + normal", "-0.01 t", "0.01 t", "50 normal")
             for words, gradients in (("normal", lambda r, n: r.normal(size=n)), ("uniform", lambda r, n: r.random(n)))}
SUM = {
    "normal": lambda r, n, t: r.normal(size=n),
    "uniform": lambda r, n, t: r.random(n),
    "exp(4 normal)": lambda r, n, t: np.exp(4 * r.normal(size=n)),
    "exp(4 normal), and back to 0": cancelling,
}
PRODUCT = {
    "1 + 0.001 normal": lambda r, n, t: 1 + 0.001 * r.normal(size=n),
    "exp(0.5 normal)": lambda r, n, t: np.exp(0.5 * r.normal(size=n)),
    "4 normal": lambda r, n, t: 4 * r.normal(size=n),
    "exp(4 normal)": lambda r, n, t: np.exp(4 * r.normal(size=n)),
    "huge, and back to 1": huge,
    "tiny, and back to 1": lambda r, n, t: 1 / huge(r, n, t),
    "huge, 0 in the middle": lambda r, n, t: at(n // 2, 0, huge(r, n, t)),
}

# Exact results, one step, whether there is a tree, data, and by type what follows --op with a bound for short rows
# (None: there is none). A result that was rounded once is at most 1 unit off. made_of: what steps are of, if not of the
# arrays; shown: results, if they are not what the last step gives.
Operator = namedtuple("Operator", "exact step tree data bounds made_of shown",
                      defaults=(lambda x, rounded: x, lambda y, x, rounded: y))
OPERATORS = {
    "logsumexp": Operator(exact_logsumexp, np.logaddexp, True, LOGSUMEXP,
                          {"f32": {"logsumexp": 2.5, "logsumexp --acc f64": 1.01}, "f64": {"logsumexp": 2.5},
                           "bf16": {"logsumexp": 1.01}}),
    "linear_recurrence": Operator(exact_recurrence, maps, True, RECURRENCE,
                                  {"f32": {"linear_recurrence": 1.01, "linear_recurrence --acc f32": None},
                                   "f64": {"linear_recurrence": None}}),
    "gae": Operator(exact_advantages, maps, True, ROLLOUTS,
                    {"f32": {"gae": 1.01, "gae --acc f32": 2.5}, "f64": {"gae": 5},
                     "bf16": {"gae": 1.01, "gae --acc f32": 1.01}}, maps_of_steps),
    "gae --second": Operator(exact_returns, maps, True, ROLLOUTS,
                             {"f32": {"gae --second": 1.01, "gae --second --acc f32": 2.5}, "f64": {"gae --second": 5},
                              "bf16": {"gae --second": 1.01, "gae --second --acc f32": 1.01}},
                             maps_of_steps, lambda y, x, rounded: rounded(y + x[0])),
    "weighted_recurrence": Operator(exact_weighted, maps, True, WEIGHTED,
                                    {"f32": {"weighted_recurrence": 1.01, "weighted_recurrence --acc f32": None},
                                     "f64": {"weighted_recurrence": None}},
                                    lambda x, rounded: x[::2], lambda y, x, rounded: rounded(y * x[1])),
    "logsumexp_gradient": Operator(exact_logsumexp_gradient, maps, True, GRADIENTS,
                                   {"f32": {"logsumexp_gradient": 45, "logsumexp_gradient --acc f64": 1.01},
                                    "f64": {"logsumexp_gradient": 45}, "bf16": {"logsumexp_gradient": 1.01}},
                                   maps_of_gradients,
                                   lambda y, x, rounded: rounded(y * rounded(np.exp(rounded(x[0] - x[1]))))),
    "sum": Operator(exact_sum, np.add, False, SUM,
                    {"f32": {"sum": 5, "sum --acc f64": 1.01, "sum --acc fixed:30": 1.01}, "f64": {"sum": 5}}),
    "product": Operator(exact_product, np.multiply, False, PRODUCT,
                        {"f32": {"prod": None, "extended_prod": 50, "extended_prod --acc f64": 1.01},
                         "f64": {"prod": None, "extended_prod": 50}}),
}
# What the command calls the arrays before the elements, by how many these are.
BESIDE = {0: [], 1: ["--coefficient"], 2: ["--more1", "--more2"], 4: ["--more1", "--more2", "--more3", "--more4"]}

# ---- one array -------------------------------------------------------------------------------------------------------


def rowscan(options, kind, x):
    """What the command makes of arrays [fields, length], of which elements are the last: the output, or with --second
    the second one."""
    beside = BESIDE[len(x) - 1]
    with tempfile.TemporaryDirectory(prefix="rowscan-errors-") as folder:
        def path(name):
            return os.path.join(folder, name + ".npy")
        command = [ROWSCAN, "scan", "--engine", "host", "--type", kind, "--op"]
        for option in options.split():
            command += [option, path(option)] if option == "--second" else [option]
        for name, field in zip([*beside, "in"], x):
            np.save(path(name), (field.view("u4") >> 16).astype("u2").view("V2") if kind == "bf16" else field)
        for name in beside:
            command += [name, path(name)]
        command += [f"--params={GAMMA},{LAMBDA}"] if len(x) == 5 else []
        subprocess.run([*command, path("in"), path("out")], check=True, env=os.environ | {"ROWSCAN_CACHE": "off"})
        y = np.load(path("--second" if "--second" in command else "out"))
    return (y.view("u2").astype("u4") << 16).view("f4") if kind == "bf16" else y


def errors(y, exact, kind, zeros):
    """The largest error, the mean, how many results are NaN, how many wrong; zeros: whether those must be the same."""
    rounded = np.array([float(value) for value, _ in exact]).astype(y.dtype)
    finite = np.isfinite(rounded) & np.isfinite(y)
    differ = np.where(finite, zeros & ((rounded == 0) != (y == 0)), rounded != y)
    nan = np.isinf(rounded) & np.isnan(y)
    unit, least = Decimal(2) ** -DIGITS[kind], Decimal(float(np.finfo(y.dtype).tiny))
    units = [float(abs(Decimal(float(y[i])) - exact[i][0]) / (unit * max(exact[i][1], least)))
             for i in np.flatnonzero(finite & ~differ)]
    return max(units, default=0), sum(units) / max(len(units), 1), int(nan.sum()), int((differ & ~nan).sum())


Line = namedtuple("Line", "operator type data length method max mean nan wrong")


def measure(case):
    """Lines of the table, of one operator, type and data."""
    name, kind, data, length = case
    operator = OPERATORS[name]
    x = np.atleast_2d(operator.data[data](np.random.default_rng(1), length, np.arange(length)))
    x = x.astype("f8" if kind == "f64" else "f4")
    rounded = in_bf16 if kind == "bf16" else lambda value: value
    x = rounded(x)
    exact = list(operator.exact(*([Decimal(value) for value in field.tolist()] for field in x)))
    made_of = operator.made_of(x, rounded)

    def step(a, b):
        return rounded(operator.step(a, b))
    found = {"loop": loop(step, made_of if len(made_of) == 2 else made_of[0])}
    found |= {"tree": tree(step, made_of)[-1]} if operator.tree else {}
    found = {method: operator.shown(y, x, rounded) for method, y in found.items()}
    found |= {method: rowscan(method, kind, x) for method in operator.bounds[kind]}
    return [Line(*case, method, *errors(y, exact, kind, name == "product")) for method, y in found.items()]


def bad(line):
    """OVERFLOWING coefficients may give NaN for an infinity, as rowscan.h says."""
    bound = OPERATORS[line.operator].bounds[line.type].get(line.method)
    more = 1.5 if line.data in CANCELLING else 0
    return bool(bound and (line.max > bound + more or line.wrong or (line.nan and line.data != OVERFLOWING)))


# ---- all of them -----------------------------------------------------------------------------------------------------

def cases(short):
    return [(name, kind, data, SHORT if short else LENGTH.get((name, kind), 1 << 16))
            for name, operator in OPERATORS.items() for kind in operator.bounds for data in operator.data]


def told():
    """What a file begins with."""
    commit = subprocess.run(["git", "rev-parse", "--short=7", "HEAD"], cwd=os.path.dirname(os.path.abspath(__file__)),
                            check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    return {"machine": f"the host engine; {platform.machine()}, {' '.join(platform.libc_ver())}", "commit": commit,
            "date": datetime.date.today().isoformat(), "command": "tests/bench/errors.py --csv FILE",
            "note": "units, words and exact results as tests/bench/errors.py says; loop and tree are of NumPy "
                    f"{np.__version__}, all others rowscan scan --op METHOD; nan, wrong: how many results"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", help="the file to write")
    args = parser.parse_args()
    lines, failed = [], False
    with multiprocessing.Pool(len(os.sched_getaffinity(0))) as pool:
        for some in pool.imap(measure, cases(not args.csv)):
            for line in some:
                lines.append(line._replace(max=f"{line.max:.3g}", mean=f"{line.mean:.3g}"))
                beyond = not args.csv and bad(line)
                print(*lines[-1], *["BEYOND ITS BOUND"] * beyond, sep="  ", flush=True)
                failed |= beyond
    if args.csv:
        with open(args.csv, "w", encoding="utf-8", newline="") as file:
            file.writelines(f"# {key}: {words}\n" for key, words in told().items())
            csv.writer(file, lineterminator="\n").writerows([Line._fields, *lines])
    return failed


if __name__ == "__main__":
    sys.exit(main())
