#!/usr/bin/env python3
"""Compares single steps of D4RL's recordings with the program's MuJoCo tasks.

    scripts/compare_simulators.py hopper_medium-v2.hdf5 Hopper-v2 [--rows N] [--program PROGRAM]
    scripts/compare_simulators.py tests/envs/fixtures/hopper_traj0.csv Hopper-v4

Sets the task to the recorded state (infos/qpos and infos/qvel) of a random row, takes the recorded action, and
compares the observation with the recorded next observation. Prints quantiles over the rows of the largest
difference in an observation. In the v2 tasks, rows differ only by rounding, except for rows with velocities that the
file contains clipped to 10. Also takes recordings in the csv format of `env replay`. Needs h5py and numpy (scripts/install_dependencies.sh bench).
"""
import argparse
import csv
import json
import pathlib
import random
import subprocess
import tempfile


def rows_of_hdf5(path):
    import h5py
    import numpy

    with h5py.File(path) as file:
        columns = {"qpos": file["infos/qpos"][:], "qvel": file["infos/qvel"][:], "action": file["actions"][:],
                   "obs": file["next_observations"][:]}
        rewards, terminals = file["rewards"][:], file["terminals"][:]
    header = [f"{name}{i}" for name, values in columns.items() for i in range(values.shape[1])]
    table = numpy.concatenate([values.astype(numpy.float64) for values in columns.values()], axis=1)
    rows = [[*map(repr, map(float, row)), repr(float(reward)), str(int(terminal))]
            for row, reward, terminal in zip(table, rewards, terminals)]
    return header + ["reward", "terminated"], rows


def rows_of_csv(path):
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    return header, rows


def difference(program, env, header, row, scratch):
    """Returns the largest difference in the observation after one step."""
    step = scratch / "step.csv"
    step.write_text(",".join(header) + "\n" + ",".join(row) + "\n")
    words = [program, "env", "replay", "--env", env, "--trajectory", step, "--json"]
    return json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)["max_obs_diff"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("env")
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--program", default="build/release/rl_training")
    args = parser.parse_args()
    header, rows = rows_of_csv(args.file) if args.file.endswith(".csv") else rows_of_hdf5(args.file)
    chosen = random.Random(0).sample(rows, min(args.rows, len(rows)))
    with tempfile.TemporaryDirectory() as scratch:
        found = sorted(difference(args.program, args.env, header, row, pathlib.Path(scratch)) for row in chosen)
    at = {f"{share:.0%}": found[min(int(share * len(found)), len(found) - 1)] for share in (0.5, 0.9, 0.99)}
    print(f"{args.file}: {len(found)} steps; difference at " +
          ", ".join(f"{name} {value:.2g}" for name, value in at.items()) +
          f"; above 0.001: {sum(value > 1e-3 for value in found) / len(found):.0%}")


if __name__ == "__main__":
    main()
