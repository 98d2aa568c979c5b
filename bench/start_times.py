#!/usr/bin/env python3
"""Measures the start-up times of subcommands, for one program or alternately for several programs.

  bench/start_times.py PROGRAM [PROGRAM...] [--rounds N]

For each call and program, prints the wall time and, in parentheses, the processor time, in milliseconds. Each
time is the minimum over all rounds (20 by default). On a busy machine, processor time is more reliable."""
import argparse
import pathlib
import resource
import subprocess
import tempfile
import time

SWEEP = "config: td3_bc/pendulum\ngrid: {learning_rate: [1e-3, 1e-4]}\nseeds: 0-1\noutput_dir: sweep\n"


def calls(directory):
    data = f"{directory}/random.npz"
    return [["--version"], ["--help"], ["train", "--help"], ["algorithms"], ["algorithms", "td3_bc"],
            ["envs"], ["envs", "Hopper-v4"], ["config", "list"], ["config", "check", "td3_bc/pendulum"],
            ["dataset", "inspect", data], ["dataset", "convert", data, f"{directory}/converted.npz"],
            ["dataset", "mix", f"{directory}/mixed.npz", data, data], ["dataset", "cache"],
            ["report", f"{directory}/runs"], ["leaderboard", f"{directory}/runs"],
            ["sweep", f"{directory}/sweep.yaml", "--dry-run"], ["completion", "bash"],
            ["predict", f"{directory}/runs/run", "--obs", "[1, 0, 0]"]]


def prepare(program, directory):
    """Creates a dataset of 1,000 rows and two short runs."""
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([program, "dataset", "collect", f"{directory}/random.npz", "--env", "Pendulum-v1",
                    "--size", "1000"], **quiet)
    for seed in "01":
        subprocess.run([program, "train", "--config", "td3_bc/pendulum-random", "--seed", seed,
                        "--quiet", "--total-timesteps", "100", "--set", "hidden_sizes=[16]", "--set",
                        "eval_interval=20", "--output-dir", f"{directory}/runs"], **quiet)
    first = sorted(pathlib.Path(directory, "runs").iterdir())[0]
    first.rename(first.with_name("run"))
    pathlib.Path(directory, "sweep.yaml").write_text(SWEEP)


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def milliseconds(command):
    """Returns the wall time and the processor time of a command."""
    start, used = time.perf_counter(), processor_seconds()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return 1e3 * (time.perf_counter() - start), 1e3 * (processor_seconds() - used)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        prepare(arguments.programs[0], directory)
        for call in calls(directory):
            times = {program: [] for program in arguments.programs}
            for _ in range(arguments.rounds):
                for program, list_ in times.items():
                    list_.append(milliseconds([program, *call]))
            words = " ".join(word.replace(directory + "/", "") for word in call)
            least = [map(min, zip(*one)) for one in times.values()]
            print(f"{words:<44}", *(f"{wall:8.1f} ({used:.1f})" for wall, used in least), flush=True)


if __name__ == "__main__":
    main()
