#!/usr/bin/python3
"""Measures the throughput and memory of several seeds that train in parallel.

    bench/jobs.py PROGRAM [--updates 20000] [--seeds 8] [--jobs 2]

Trains TD3+BC (256-256) with each seed: first one seed after another on one thread, then several seeds in
parallel with --jobs. Prints the ratio of the wall times and the memory that each additional process uses.
Both times include start-up and loading the data.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

from random_data import ROW_BYTES, config_arguments, write_dataset


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--updates", type=int, default=20000)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the dataset file")
    return parser.parse_args()


def command(options, data, output, seeds, jobs, updates=None):
    words = [options.program, "train", "--output-dir", output, "--seeds", f"0-{seeds - 1}"]
    words += config_arguments(data, updates or options.updates)
    return words + (["--jobs", str(jobs)] if jobs else [])


def memory_of(pid):
    """Returns the private dirty pages and the proportional set size of a process, in MB."""
    kilobytes = {}
    with open(f"/proc/{pid}/smaps_rollup") as file:
        for line in file:
            parts = line.split()
            if parts[0] in ("Pss:", "Private_Dirty:"):
                kilobytes[parts[0]] = int(parts[1])
    return kilobytes["Private_Dirty:"] / 1024, kilobytes["Pss:"] / 1024


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def watch_memory(process, largest):
    """Records the largest memory use of any child while at least two children are running."""
    while process.poll() is None:
        try:
            seen = [memory_of(pid) for pid in children_of(process.pid)]
        except (OSError, KeyError):  # a child has just ended
            seen = []
        for private, share in seen if len(seen) > 1 else []:
            largest["private"] = max(largest["private"], private)
            largest["pss"] = max(largest["pss"], share)
        time.sleep(0.2)


def timed(words):
    started = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    largest = {"private": 0.0, "pss": 0.0}
    watcher = threading.Thread(target=watch_memory, args=(process, largest))
    watcher.start()
    output = process.communicate()[0]
    watcher.join()
    if process.returncode != 0:
        sys.exit(f"failed with exit code {process.returncode}: {output}")
    return time.monotonic() - started, largest, json.loads(output)["runs"]


def main():
    options = arguments()
    options.program = os.path.abspath(options.program)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        os.environ["RL_TRAINING_CACHE"] = f"{directory}/cache"
        data = f"{directory}/data.npz"
        write_dataset(data, options.rows)
        timed(command(options, data, f"{directory}/warm", 1, 0, updates=10))
        alone, _, single = timed(command(options, data, f"{directory}/sequence", options.seeds, 0))
        together, memory, runs = timed(command(options, data, f"{directory}/jobs", options.seeds,
                                               options.jobs))
        for one, other in zip(single, runs):
            assert one["metrics"] == other["metrics"], (one["run_dir"], other["run_dir"])
        checkpoint = runs[0]["checkpoint"] + "/tensors.safetensors"
        print(json.dumps({
            "updates": options.updates, "seeds": options.seeds, "jobs": options.jobs,
            "dataset_mb": round(options.rows * ROW_BYTES / 2**20, 1),
            "sequence_seconds": round(alone, 2), "jobs_seconds": round(together, 2),
            "speedup": round(alone / together, 3),
            "private_mb_each": round(memory["private"], 1), "pss_mb_each": round(memory["pss"], 1),
            "networks_mb": round(os.path.getsize(checkpoint) / 2**20, 1),
            "load": os.getloadavg()[0]}))


if __name__ == "__main__":
    main()
