"""Compares the speed of `learn` in Python with that of the program. They train the same config on one thread, in turn.

    PYTHONPATH=build/python python3 bench/python/learn_speed.py PROGRAM [TURNS] [UPDATES]

Prints updates per second of processor time and of wall time for each repetition, and the median of their
ratios. Each time is the difference between a long and a short run, which excludes start-up and
loading. On a shared machine, wall time is unreliable.
"""

import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import rl_training


def agent_for(updates, seed, directory):
    return rl_training.TD3BC.from_config(
        "td3_bc/pendulum", threads=1, hidden_sizes=[256, 256], batch_size=256, eval_episodes=0,
        eval_interval=10**9, checkpoint_interval=10**9, log_interval=100, total_timesteps=updates,
        seed=seed, output_dir=directory)


def learn(updates, seed, directory):
    agent = agent_for(updates, seed, directory)
    start, wall = time.process_time(), time.perf_counter()
    agent.learn()
    taken = time.process_time() - start, time.perf_counter() - wall
    agent.close()
    return taken


def program(updates, seed, directory):
    config = pathlib.Path(directory, "config.json")
    config.write_text(json.dumps(agent_for(updates, seed, f"{directory}/program").config))
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.argv[1], "train", "--config", config, "--quiet"], check=True,
                   capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            time.perf_counter() - wall)


def rates(run, updates, seed, directory):
    """Returns updates per second of processor time and of wall time."""
    short = updates // 4
    return [updates / (long - short) for short, long in
            zip(run(short, seed, directory), run(short + updates, seed, directory))]


def main():
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    updates = int(sys.argv[3]) if len(sys.argv) > 3 else 1500
    ratios = []
    with tempfile.TemporaryDirectory() as directory:
        for turn in range(turns):
            order = [learn, program] if turn % 2 == 0 else [program, learn]
            found = {each: rates(each, updates, turn, directory) for each in order}
            ratios.append([mine / theirs for mine, theirs in zip(found[learn], found[program])])
            print("turn {}: learn {:.0f} ({:.0f}), program {:.0f} ({:.0f}) updates/s of processor "
                  "(wall) time, ratio {:.3f} ({:.3f})".format(
                      turn, *found[learn], *found[program], *ratios[-1]), flush=True)
    processor, wall = (statistics.median(column) for column in zip(*ratios))
    print(f"median ratio {processor:.3f} by processor time, {wall:.3f} by wall time, "
          f"{turns} turns of {updates} updates")


if __name__ == "__main__":
    main()
