#!/usr/bin/python3
"""Measures how the time of an update depends on the size of the dataset, and on a memory limit.

    bench/data_size.py PROGRAM [--rows 10000 100000 1000000 10000000] [--updates 2000] [--turns 3]
                       [--limit-rows 16000000] [--limit-algos td3_bc cql] [--svg FILE]

First trains TD3+BC (256-256, batch 256, one thread) on random transitions with Hopper's dimensions. The
transitions are read from the memory-mapped cache. The sizes are measured alternately, and the median of all
repetitions is reported. The processor time without start-up is reported as well, because other programs
affect the wall time. Then trains the algorithms of --limit-algos on one dataset, without a memory limit and
with a limit of half the size of the dataset. A memory cgroup (version 1 or 2) sets the limit; this requires
root. Prints JSON.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

import numpy as np
from random_data import ROW_BYTES, config_arguments, write_dataset


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rows", type=int, nargs="*", default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--limit-rows", type=int, default=16_000_000, help="0: no memory limit")
    parser.add_argument("--limit-algos", nargs="*", default=["td3_bc", "cql"])
    parser.add_argument("--svg", help="picture of the times by size")
    parser.add_argument("--directory", default="/var/tmp")
    return parser.parse_args()


class MemoryGroup:
    """A private memory cgroup with a limit."""

    def __init__(self, limit):
        first = "/sys/fs/cgroup/memory" if os.path.isdir("/sys/fs/cgroup/memory") else "/sys/fs/cgroup"
        name = "memory.limit_in_bytes" if first.endswith("memory") else "memory.max"
        self.path = f"{first}/rl_training_bench_{os.getpid()}"
        os.mkdir(self.path)
        with open(f"{self.path}/{name}", "w") as file:
            file.write(str(limit))

    def enter(self):
        with open(f"{self.path}/cgroup.procs", "w") as file:
            file.write(str(os.getpid()))

    def remove(self):
        os.rmdir(self.path)


def train(options, data, output, group=None, algo="td3_bc"):
    """Returns the wall time per update and the processor time of the whole run, in seconds."""
    words = [options.program, "train", "--output-dir", output]
    words += config_arguments(data, options.updates, algo, log_interval=options.updates,
                              checkpoint_interval=options.updates, normalize_observations="false")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, capture_output=True, text=True,
                          preexec_fn=group.enter if group else None)
    if done.returncode != 0:
        sys.exit(f"failed with exit code {done.returncode}: {done.stderr[-2000:]}")
    report = json.loads(done.stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return report["seconds"] / report["update_count"], cpu


def drop_from_memory(directory):
    """Drops the cached pages, so that the next process must read them and is charged for their memory."""
    os.sync()
    for name in os.listdir(directory):
        with open(f"{directory}/{name}", "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def by_size(options, directory):
    """Returns the median wall and processor time of an update for each number of rows."""
    wall, cpu, start = ({rows: [] for rows in options.rows} for _ in range(3))
    short = argparse.Namespace(**{**vars(options), "updates": 10})
    for rows in options.rows:
        write_dataset(f"{directory}/{rows}.npz", rows)
        train(short, f"{directory}/{rows}.npz", f"{directory}/runs")  # creates the cache
    for _ in range(options.turns):
        for rows in options.rows:
            data, runs = f"{directory}/{rows}.npz", f"{directory}/runs"
            start[rows].append(train(short, data, runs)[1])
            seconds, used = train(options, data, runs)
            wall[rows].append(seconds)
            cpu[rows].append(used)
    updates = options.updates - short.updates
    median = statistics.median
    for rows in options.rows:
        os.remove(f"{directory}/{rows}.npz")
    return ({rows: median(wall[rows]) for rows in options.rows},
            {rows: (median(cpu[rows]) - median(start[rows])) / updates for rows in options.rows})


def under_limit(options, directory):
    data, cache = f"{directory}/large.npz", os.environ["RL_TRAINING_CACHE"]
    for name in os.listdir(cache):
        os.remove(f"{cache}/{name}")
    write_dataset(data, options.limit_rows)
    train(argparse.Namespace(**{**vars(options), "updates": 10}), data, f"{directory}/runs")
    limit = options.limit_rows * ROW_BYTES // 2
    result = {"rows": options.limit_rows, "data_mb": round(2 * limit / 2**20),
              "limit_mb": round(limit / 2**20)}
    for algo in options.limit_algos:
        free, limited = [], []
        for _ in range(options.turns):
            free.append(train(options, data, f"{directory}/runs", algo=algo)[0])
            drop_from_memory(cache)
            group = MemoryGroup(limit)
            try:
                limited.append(train(options, data, f"{directory}/runs", group, algo)[0])
            finally:
                group.remove()
        in_memory, under = statistics.median(free), statistics.median(limited)
        result[algo] = {"ms_in_memory": round(1000 * in_memory, 3),
                        "ms_under_limit": round(1000 * under, 3),
                        "rate_kept": round(in_memory / under, 3)}
    return result


def write_svg(path, times):
    left, top, width, height = 70, 30, 460, 220
    sizes = sorted(times)
    largest = 1.25 * max(times.values()) * 1000
    span = max(1e-9, np.log10(sizes[-1]) - np.log10(sizes[0]))
    points = [(left + width * (np.log10(rows) - np.log10(sizes[0])) / span,
               top + height * (1 - 1000 * times[rows] / largest)) for rows in sizes]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 30}" '
             f'height="{top + height + 60}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="{left}" y="18">processor time for an update (ms) by rows of the dataset</text>',
             f'<path d="M{left} {top}V{top + height}H{left + width}" fill="none" stroke="black"/>']
    for (x, y), rows in zip(points, sizes):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#1f6fb4"/>'
                     f'<text x="{x:.1f}" y="{y - 10:.1f}" text-anchor="middle">'
                     f'{1000 * times[rows]:.2f}</text>'
                     f'<text x="{x:.1f}" y="{top + height + 20}" text-anchor="middle">'
                     f'{rows:.0e}</text>')
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#1f6fb4" stroke-width="2"/></svg>')
    with open(path, "w") as file:
        file.write("\n".join(parts) + "\n")


def main():
    options = arguments()
    options.program = os.path.abspath(options.program)
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        os.environ["RL_TRAINING_CACHE"] = f"{directory}/cache"
        os.mkdir(f"{directory}/cache")
        result = {"updates": options.updates, "turns": options.turns, "load": os.getloadavg()[0]}
        if options.rows:
            wall, cpu = by_size(options, directory)
            for name, times in (("ms", wall), ("cpu_ms", cpu)):
                result[f"{name}_by_rows"] = {rows: round(1000 * value, 3)
                                             for rows, value in times.items()}
                result[f"{name}_slowest_to_fastest"] = round(
                    max(times.values()) / min(times.values()), 3)
            if options.svg:
                write_svg(options.svg, cpu)
        if options.limit_rows:
            result["limit"] = under_limit(options, directory)
        print(json.dumps(result))


if __name__ == "__main__":
    main()
