#!/usr/bin/env python3
"""Trains the same short runs alternately with two builds of the program and compares their times.

`train` is the time of the training itself; `process` includes the start of the program. Each ratio is new / old.
Prints the ratio of the fastest runs and the median of the ratios of neighbouring runs. Use a machine without
other load. Needs only the Python standard library.

  scripts/compare_speed.py OLD_PROGRAM NEW_PROGRAM [--rounds N] [--case NAME]
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time


def offline(config, updates, threads, *settings):
    return ["--config", config, "--total-timesteps", str(updates), "--threads", str(threads),
            "--set", f"eval_interval={updates}"] + [
                word for setting in settings for word in ("--set", setting)]


# The runs. All of them measure only updates, except the last, which is a whole small online run.
CASES = {
    "td3_bc 256-256, 1 thread": offline("td3_bc/pendulum", 1000, 1),
    "td3_bc 256-256, 2 threads": offline("td3_bc/pendulum", 1000, 2),
    "td3_bc 64-64, 1 thread": offline("td3_bc/pendulum", 6000, 1, "hidden_sizes=[64,64]"),
    "td3_bc 64-64, 2 threads": offline("td3_bc/pendulum", 6000, 2, "hidden_sizes=[64,64]"),
    "cql, 1 thread": offline("cql/pendulum", 250, 1),
    "sac run, 1 thread": ["--config", "sac/pendulum", "--threads", "1", "--set",
                          "learning_starts=100"],
}


def turn(program, arguments):
    with tempfile.TemporaryDirectory() as directory:
        command = [program, "train", "--quiet", "--json", "--set", "eval_episodes=0",
                   "--output-dir", os.path.join(directory, "runs")] + arguments
        if arguments[arguments.index("--threads") + 1] == "1":
            command = ["taskset", "-c", "0"] + command
        start = time.perf_counter()
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        whole = time.perf_counter() - start
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{result.stderr}")
    return json.loads(result.stdout)["seconds"], whole


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs=2, metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--case", action="append", choices=list(CASES), help="this run only")
    options = parser.parse_args()
    for name, arguments in CASES.items():
        if options.case and name not in options.case:
            continue
        times = ([], [])  # (training, process) times of the old and of the new program
        for turn_number in range(options.rounds):
            order = (0, 1) if turn_number % 2 == 0 else (1, 0)
            for which in order:
                times[which].append(turn(options.programs[which], arguments))
        line = f"{name:28}"
        for kind, label in enumerate(("train", "process")):
            old, new = ([t[kind] for t in each] for each in times)
            ratio = statistics.median(b / a for a, b in zip(old, new))
            line += (f"{label} {min(old):.3f} s -> {min(new):.3f} s: fastest {min(new) / min(old):.3f},"
                     f" median {ratio:.3f}   ")
        print(line, flush=True)


if __name__ == "__main__":
    main()
