"""Measures the overhead of a step in an environment that is written in Python.

    PYTHONPATH=build/python python3 bench/python/step_cost.py [STEPS]

Collects steps with random actions and without updates. The difference between two runs of different lengths
excludes all one-time work. A Python loop over the same steps measures the environment's own time. Prints the
minimum of several repetitions, because other programs can only increase the time.
"""

import sys
import tempfile
import time
import warnings

import numpy as np

import rl_training


class Space:
    def __init__(self, low, high):
        self.low, self.high = np.asarray(low, np.float32), np.asarray(high, np.float32)
        self.shape = self.low.shape


class Hold:
    """17-dimensional observations and 6-dimensional actions, as in HalfCheetah; a step computes almost nothing."""

    observation_space = Space([-np.inf] * 17, [np.inf] * 17)
    action_space = Space([-1] * 6, [1] * 6)

    def reset(self, *, seed=None, options=None):
        self.obs, self.steps = np.zeros(17, np.float32), 0
        return self.obs, {}

    def step(self, action):
        self.steps += 1
        return self.obs, 1.0, False, self.steps == 1000, {}


def own_time(steps):
    env, action = Hold(), np.zeros(6, np.float32)
    env.reset(seed=0)
    start = time.perf_counter()
    for _ in range(steps):
        if env.step(action)[3]:
            env.reset(seed=0)
    return time.perf_counter() - start


def learn_time(steps, directory):
    agent = rl_training.SAC(env=Hold, learning_starts=10**9 - 1, buffer_capacity=1000, threads=1,
                            eval_episodes=0, eval_interval=10**9, log_interval=10**9,
                            checkpoint_interval=10**9, total_timesteps=steps,
                            hidden_sizes=[8], output_dir=directory)
    start = time.perf_counter()
    agent.learn()
    return time.perf_counter() - start


def main():
    warnings.simplefilter("ignore")  # `learn` warns that a run without updates learns nothing
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    own = min(own_time(steps) for _ in range(5)) / steps
    with tempfile.TemporaryDirectory() as directory:
        short = min(learn_time(steps // 10, directory) for _ in range(5))
        long = min(learn_time(steps + steps // 10, directory) for _ in range(5))
    whole = (long - short) / steps
    print(f"own {own * 1e6:.2f} us, in learn {whole * 1e6:.2f} us, "
          f"beyond its own time {(whole - own) * 1e6:.2f} us")


if __name__ == "__main__":
    main()
