#!/usr/bin/env python3
"""Trains TD3+BC with d3rlpy on a medium dataset and evaluates it in Gymnasium's v4 task.

    build/peers/bin/python scripts/compare_d3rlpy.py hopper FILE.hdf5 [--updates N] [--every N] [--seed N]

Shows whether an independent implementation reaches the same score on the same data. Needs d3rlpy, h5py,
gymnasium, mujoco and imageio from PyPI (`make bench-peers` installs d3rlpy in build/peers). Networks, learning
rates and batch size are the defaults of d3rlpy, which are those of the paper; observations are normalised.
Prints one line per evaluation and the mean score of the last ten evaluations. Uses one thread.
"""
import argparse
import statistics

import d3rlpy
import gymnasium
import h5py
import numpy
import torch

# Gymnasium's task, and the returns of D4RL's random and expert policies, which define scores 0 and 100.
TASKS = {
    "hopper": ("Hopper-v4", -20.272305, 3234.3),
    "walker2d": ("Walker2d-v4", 1.629008, 4592.3),
    "halfcheetah": ("HalfCheetah-v4", -280.178953, 12135.0),
}


def read(path):
    with h5py.File(path) as file:
        keys = ("observations", "actions", "rewards", "terminals", "timeouts")
        return d3rlpy.dataset.MDPDataset(*(numpy.asarray(file[key], dtype=numpy.float32) for key in keys))


def mean_return(agent, env, episodes):
    """Plays episodes whose start states are the same in every evaluation."""
    returns = []
    for episode in range(episodes):
        obs, _ = env.reset(seed=episode)
        total, done = 0.0, False
        while not done:
            action = agent.predict(obs[None].astype(numpy.float32))[0]
            obs, reward, terminated, truncated, _ = env.step(action)
            total += float(reward)
            done = terminated or truncated
        returns.append(total)
    return statistics.mean(returns)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("file")
    parser.add_argument("--updates", type=int, default=100000)
    parser.add_argument("--every", type=int, default=5000, help="updates between evaluations")
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.set_num_threads(1)
    d3rlpy.seed(args.seed)
    env_id, lowest, highest = TASKS[args.task]
    env = gymnasium.make(env_id)
    agent = d3rlpy.algos.TD3PlusBCConfig(
        observation_scaler=d3rlpy.preprocessing.StandardObservationScaler()
    ).create(device="cpu:0")
    scores = []

    def evaluate(_, epoch, step):
        result = mean_return(agent, env, args.episodes)
        scores.append(100 * (result - lowest) / (highest - lowest))
        print(f"{step} updates: return {result:.1f}, score {scores[-1]:.1f}", flush=True)

    agent.fit(read(args.file), n_steps=args.updates, n_steps_per_epoch=args.every, epoch_callback=evaluate,
              show_progress=False, logger_adapter=d3rlpy.logging.NoopAdapterFactory())
    print(f"mean score of the last ten evaluations: {statistics.mean(scores[-10:]):.1f}")


if __name__ == "__main__":
    main()
