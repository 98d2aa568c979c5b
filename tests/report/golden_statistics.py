"""Prints the constants of test_statistics.cpp.

The bootstrap distribution of n runs has n**n equally likely samples. This script enumerates all of
them for small n and computes their statistics with NumPy. Its intervals are therefore exact, and
they do not depend on the random draws of the program.
Run: /usr/bin/python3 tests/report/golden_statistics.py
"""
import itertools

import numpy as np


def iqm(values):
    ordered = np.sort(np.ravel(values))
    cut = int(0.25 * len(ordered))
    return np.mean(ordered[cut:len(ordered) - cut])


def samples(values):
    return [list(sample) for sample in itertools.product(values, repeat=len(values))]


def interval(estimates):
    return np.percentile(estimates, [2.5, 97.5])


def improvement(x, y):
    return np.mean([[1.0 if a > b else 0.5 if a == b else 0.0 for b in y] for a in x])


seven = [3.5, -1.0, 12.0, 4.0, 8.25, -6.5, 5.0]
print("seven: mean", np.mean(seven), "median", np.median(seven), "iqm", iqm(seven),
      "q10", np.percentile(seven, 10))
five = [-231.4, -198.2, -305.9, -150.0, -412.7]
print("five: iqm", iqm(five), "interval", interval([iqm(s) for s in samples(five)]))
first, second = [10.0, 14.0, 30.0], [55.0, 61.0, 80.0]
both = [iqm(a + b) for a in samples(first) for b in samples(second)]
print("two tasks: iqm", iqm(first + second), "interval", interval(both))
x, y = [1.0, 4.0, 4.0, 9.0], [2.0, 4.0, 5.0]
pairs = [improvement(a, b) for a in samples(x) for b in samples(y)]
print("improvement", improvement(x, y), "interval", interval(pairs))
print("profile", [float(np.mean(np.array(seven) > t)) for t in (-7, -1, 4, 11.9, 12)])
