#!/usr/bin/env python3
"""Opens a D4RL-like file alternately with h5py + NumPy and with rl_training, and prints a table.

    compare.py DATA_BENCH [--rows N] [--rounds N] [--file FILE.hdf5]

Without --file, it creates one file with gzip and one without. Both programs read the same arrays. h5py
returns the raw arrays; rl_training also checks them, arranges them for training and computes the SHA-256
fingerprint. Memory is the peak proportional set size of rl_training, including the child process that reads
the file, minus the same measurement for a file of 1,000 rows. It is printed relative to the size of the arrays
that training needs.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

READ_H5PY = """
import sys, time
import h5py, numpy
start = time.perf_counter()
with h5py.File(sys.argv[1], "r") as file:
    arrays = {key: file[key][()] for key in ("observations", "actions", "rewards", "terminals",
                                             "timeouts", "next_observations") if key in file}
print(time.perf_counter() - start)
"""


def proportional_bytes(pid):
    total = 0
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            for line in file:
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = file.read().split()
    except OSError:
        return total
    return total + sum(proportional_bytes(child) for child in children)


def run(command, watch_memory=False):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = 0
    while watch_memory and process.poll() is None:
        peak = max(peak, proportional_bytes(process.pid))
        time.sleep(0.002)
    output = process.communicate()[0]
    if process.returncode != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return output, peak


def open_ours(program, path, cache="", watch_memory=False):
    output, peak = run([program, "open", path, cache], watch_memory)
    return json.loads(output), peak


def store_plainly(source, target):
    """Stores the same arrays with h5py's default settings, that is, without compression."""
    import h5py
    with h5py.File(source) as old, h5py.File(target, "w") as new:
        for key in old:
            new[key] = old[key][()]


def compare(program, path, rounds, directory, base):
    theirs, ours, making, cached = [], [], [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(dir=directory) as cache:
            theirs.append(float(run([sys.executable, "-c", READ_H5PY, path])[0]))
            ours.append(open_ours(program, path)[0]["seconds"])
            making.append(open_ours(program, path, cache)[0]["seconds"])
            facts = open_ours(program, path, cache)[0]
            cached.append(facts["seconds"])
    first = open_ours(program, path, watch_memory=True)[1]
    with tempfile.TemporaryDirectory(dir=directory) as cache:
        first_cached = open_ours(program, path, cache, watch_memory=True)[1]
    size, arrays = os.path.getsize(path), facts["array_bytes"]
    print(f"{facts['rows']} rows, file {size / 1e6:.0f} MB, arrays for training {arrays / 1e6:.0f} MB")
    print(f"{'':34}{'best':>9}{'median':>9}")
    for name, values in (("h5py + NumPy, the arrays alone", theirs),
                         ("first open, no cache", ours),
                         ("first open, cache is made", making),
                         ("open from the cache", cached)):
        values = sorted(values)
        print(f"{name:34}{values[0]:8.3f}s{values[len(values) // 2]:8.3f}s")
    print(f"first open beside h5py: {min(theirs) / min(ours):.2f} times as fast (best rounds), "
          f"with the cache made {min(theirs) / min(making):.2f}")
    for name, peak in (("no cache", first), ("cache is made", first_cached)):
        print(f"peak memory of the first open, {name}: {(peak - base) / arrays:.2f} x the arrays")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--file", help="compare on this file instead of made ones")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        files = {"": arguments.file}
        if not arguments.file:
            files = {kind: os.path.join(directory, f"{kind}.hdf5") for kind in ("gzip", "plain")}
            run([arguments.program, "make", files["gzip"], str(arguments.rows)])
            store_plainly(files["gzip"], files["plain"])
        small = os.path.join(directory, "small.hdf5")
        run([arguments.program, "make", small, "1000"])
        time.sleep(0.2)  # files that have just changed are not cached
        base = max(open_ours(arguments.program, small, watch_memory=True)[1] for _ in range(5))
        for kind, path in files.items():
            if kind:
                print(f"[{kind}]")
            compare(arguments.program, path, arguments.rounds, directory, base)


if __name__ == "__main__":
    main()
