#!/usr/bin/env python3
"""Trains the algorithms in RUNS briefly with two builds of the program and compares the tensors of the final
checkpoints bit for bit. Needs only the Python standard library.

  scripts/compare_builds.py OLD_PROGRAM NEW_PROGRAM [ALGORITHM ...]

Tensors that only one of the two checkpoints contains are listed but do not count as differences, because
state may have been renamed. Exits with 1 if any tensor differs.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

# The config of each algorithm and the length of its run. Each run is long enough to reach every part
# of an update.
RUNS = {
    "td3_bc": ("td3_bc/pendulum", 300), "rebrac": ("rebrac/pendulum", 120),
    "crr": ("crr/pendulum", 150), "bcq": ("bcq/pendulum", 150), "bear": ("bear/pendulum", 60),
    "bc": ("bc/pendulum", 300), "awac": ("awac/pendulum", 200), "iql": ("iql/pendulum", 200),
    "cql": ("cql/pendulum", 60), "rlpd": ("rlpd/pendulum", 300), "sac": ("sac/pendulum", 1500),
    "td3": ("td3/pendulum", 1500), "ddpg": ("ddpg/pendulum", 1500), "redq": ("redq/pendulum", 300),
    "tqc": ("tqc/pendulum", 1300),
}
# Online algorithms, with the options that they need to reach their first update within the run.
EXTRA = {
    "rlpd": ["--set", "learning_starts=100", "--set", "offline_pretrain_updates=50"],
    "redq": ["--set", "learning_starts=100"],
    "sac": [], "td3": [], "ddpg": [], "tqc": [],
}
# Algorithms that are also trained with an online phase after the offline phase.
ONLINE = ["td3_bc", "rebrac", "iql", "cql"]


def tensors(path):
    with open(os.path.join(path, "tensors.safetensors"), "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    body = data[8 + size:]
    return {name: (entry["dtype"], tuple(entry["shape"]),
                   body[entry["data_offsets"][0]:entry["data_offsets"][1]])
            for name, entry in header.items()
            # The arrays metric_log.* contain the lengths of log files, not the state of the training.
            if name != "__metadata__" and not name.startswith("metric_log.")}


def train(program, config, steps, extra, directory):
    command = [program, "train", "--config", config, "--total-timesteps", str(steps), "--threads",
               "1", "--output-dir", directory, "--json", "--set", "eval_interval=100000", "--set",
               "eval_episodes=2"] + extra
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{result.stderr}")
    return tensors(json.loads(result.stdout)["checkpoint"])


def compare(name, config, steps, extra, programs):
    with tempfile.TemporaryDirectory() as directory:
        old, new = (train(program, config, steps, extra, os.path.join(directory, str(i)))
                    for i, program in enumerate(programs))
    both = [key for key in old if key in new]
    differ = [key for key in both if old[key] != new[key]]
    only = sorted(set(old) ^ set(new))
    print(f"{name:16} {len(both):4} tensors compared, {len(differ)} differ"
          + (f", in one build only: {', '.join(only)}" if only else ""), flush=True)
    for key in differ:
        print(f"    differs: {key}")
    return not differ


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    programs, chosen = sys.argv[1:3], sys.argv[3:]
    equal = True
    for name, (config, steps) in RUNS.items():
        if chosen and name not in chosen:
            continue
        equal &= compare(name, config, steps, EXTRA.get(name, []), programs)
        if name in ONLINE:
            extra = ["--set", "online.total_timesteps=40"]
            equal &= compare(name + " + online", config, 40, extra, programs)
    raise SystemExit(0 if equal else 1)


main()
