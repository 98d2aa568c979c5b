#!/usr/bin/env python3
"""Performs a whole training run with another library, for run.py.

    library.py sb3|sbx|d3rlpy ALGO --steps N [--threads N] [--data FILE.npz]

SAC learns on Pendulum-v1 as in configs/sac/pendulum.yaml, but with learning_starts 100. TD3+BC and IQL
learn from a file with the rows of pendulum/medium as in configs/*/pendulum.yaml. Networks, batch sizes and
learning rates are those of the configs; there are no evaluations. Prints {"training_seconds": ...}, which
excludes imports and, for d3rlpy, reading the file.
"""
import argparse
import json
import os
import time

SAC = dict(
    learning_rate=1e-3, buffer_size=100000, learning_starts=100, batch_size=100, gamma=0.99,
    tau=0.005, train_freq=1, gradient_steps=1, policy_kwargs={"net_arch": [64, 64]}, seed=0,
)


def online(library, steps):
    if library == "sb3":
        from stable_baselines3 import SAC as Sac

        agent = Sac("MlpPolicy", "Pendulum-v1", device="cpu", **SAC)
    else:
        from sbx import SAC as Sac

        agent = Sac("MlpPolicy", "Pendulum-v1", **SAC)
    return lambda: agent.learn(steps)


def offline(algo, steps, file):
    import d3rlpy
    import numpy

    d3rlpy.seed(0)
    rows = numpy.load(file)
    episodes = [rows[key].astype("float32") for key in ("observations", "actions", "rewards")]
    ends = [rows[key].astype("float32") for key in ("terminals", "timeouts")]
    data = d3rlpy.dataset.MDPDataset(*episodes, *ends)
    configs = {"td3_bc": d3rlpy.algos.TD3PlusBCConfig, "iql": d3rlpy.algos.IQLConfig}
    agent = configs[algo](
        batch_size=256,
        observation_scaler=d3rlpy.preprocessing.StandardObservationScaler(),
        action_scaler=d3rlpy.preprocessing.MinMaxActionScaler(),
    ).create(device="cpu:0")
    quiet = dict(show_progress=False, logger_adapter=d3rlpy.logging.NoopAdapterFactory())
    return lambda: agent.fit(data, n_steps=steps, n_steps_per_epoch=steps, **quiet)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", choices=("sb3", "sbx", "d3rlpy"))
    parser.add_argument("algo", choices=("sac", "td3_bc", "iql"))
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--data")
    args = parser.parse_args()
    if args.library == "sbx":  # XLA starts one thread per usable processor, so the affinity limits its threads
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    else:
        import torch

        torch.set_num_threads(args.threads)
    if args.algo == "sac":
        train = online(args.library, args.steps)
    else:
        train = offline(args.algo, args.steps, args.data)
    start = time.perf_counter()
    train()
    print(json.dumps({"training_seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()
