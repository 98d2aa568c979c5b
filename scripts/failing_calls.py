#!/usr/bin/env python3
"""Makes every file call of a training run fail once, one run per call, and prints a line per kind of fault.

  scripts/failing_calls.py PROGRAM [--every N]

A run whose n-th file call fails with ENOSPC or EIO must finish, or end with one error line and exit code 6. After
EINTR and after a read or write of half the bytes, it must finish. In all cases, the files of the finished or resumed
run must equal those of a run without faults. Both an offline and an online run are tested. `--every N` tests every
N-th call only. Needs a C compiler and the Python standard library.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SMALL = ["--set", "hidden_sizes=[8]", "--set", "batch_size=8", "--set", "eval_episodes=1", "--set", "eval_interval=20",
         "--set", "log_interval=10", "--set", "checkpoint_interval=20", "--quiet", "--threads", "1", "--json"]
RUNS = {
    "offline": ["--config", "td3_bc/pendulum-random", "--total-timesteps", "60", "--set", "dataset_size=200"],
    "online": ["--config", "sac/pendulum", "--total-timesteps", "60", "--set", "learning_starts=10"],
}
FAULTS = {"ENOSPC": (0, 6), "EIO": (0, 6), "EINTR": (0,), "SHORT": (0,)}
# Files that depend only on the config and the seed.
RESULTS = ["metrics.jsonl", "metrics.csv", "checkpoints/step-000000060/tensors.safetensors"]


class Runs:
    def __init__(self, program, directory):
        self.program = os.path.abspath(program)
        self.directory = pathlib.Path(directory)
        self.shim = self.directory / "failing_calls.so"
        source = pathlib.Path(__file__).with_suffix(".c")
        subprocess.run(["cc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", self.shim, source], check=True)
        self.expected = {}
        for kind in RUNS:
            done = self.train(kind, self.directory / kind)
            assert done.returncode == 0, done.stderr
            self.expected[kind] = self.results(json.loads(done.stdout)["run_dir"])

    def call(self, *words, env=None):
        return subprocess.run([self.program, *words], capture_output=True, text=True, check=False, timeout=120,
                              stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})

    def train(self, kind, place, env=None):
        return self.call("train", *RUNS[kind], *SMALL, "--output-dir", str(place), env=env)

    @staticmethod
    def results(run_dir):
        return [pathlib.Path(run_dir, name).read_bytes() for name in RESULTS]

    def fail(self, kind, fault, n):
        """Trains with a failing call. Returns a pair: the failed call (None if there were fewer calls) and the
        problem (None if there is none)."""
        place = self.directory / f"{kind}-{fault}-{n}"
        log = self.directory / f"{place.name}.log"
        done = self.train(kind, place, {"LD_PRELOAD": str(self.shim), "FAIL_BELOW": str(place), "FAIL_CALL": str(n),
                                        "FAIL_WITH": fault, "FAIL_LOG": str(log)})
        failed = log.read_text().strip() if log.exists() else None
        return failed, failed and self.problem(kind, fault, place, done)

    def problem(self, kind, fault, place, done):
        if done.returncode not in FAULTS[fault]:
            return f"exit code {done.returncode}, {done.stderr[:200]!r}"
        runs = [path for path in place.glob("*__*") if not path.name.startswith(".")] if place.exists() else []
        if done.returncode == 6:
            lines = [line for line in done.stderr.splitlines() if "warning:" not in line]
            if len(lines) != 1:
                return f"{len(lines)} error lines: {done.stderr[:200]!r}"
            if not runs:
                return None  # the run could not be created
            resumed = self.call("resume", str(runs[0]), "--quiet")
            if resumed.returncode == 4 and not list(runs[0].glob("checkpoints/step-*")):
                return None  # the first checkpoint could not be written
            if resumed.returncode != 0:
                return f"resume ends with exit code {resumed.returncode}, {resumed.stderr[:200]!r}"
        try:
            same = self.results(runs[0]) == self.expected[kind]
        except OSError as error:
            return str(error)
        return None if same else "other results"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("--every", type=int, default=1, help="test every N-th call only")
    options = parser.parse_args()
    problems = 0
    with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = Runs(options.program, directory)
        for kind, fault in itertools.product(RUNS, FAULTS):
            calls, step = 0, os.cpu_count() * options.every
            for first in itertools.count(1, step):
                numbers = range(first, first + step, options.every)
                found = list(pool.map(lambda n: runs.fail(kind, fault, n), numbers))
                for number, (call, problem) in zip(numbers, found):
                    calls += call is not None
                    if problem:
                        problems += 1
                        print(f"    call {number}, {call}: {problem}")
                if any(call is None for call, _ in found):
                    break
            print(f"{kind:8} {fault:6} {calls} calls failed", flush=True)
    print("all held" if problems == 0 else f"{problems} problems")
    sys.exit(problems > 0)


if __name__ == "__main__":
    main()
