#!/usr/bin/env python3
"""Compares losses of the PyTorch peer with those of the program: agree_with_program.py PROGRAM

The program learns with a learning rate of almost 0 from a dataset whose rows are all equal, so that batches
and parameters do not change. With the parameters of the program's checkpoint and the same row, the peer must
compute the losses that the program has logged. The program and the peer draw different noise; with a batch of
32768 rows, the losses agree within 3 %. In this check, RLPD uses all critics in its target. SAC and REDQ learn
only online and are not checked, but both the program and the peer use the code of RLPD for them.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import eager
import numpy as np
import torch
from peer import SETTINGS, Sizes

BATCH, LIMIT = 32768, 0.03
SIZES = Sizes(3, 1, [32, 32])  # observations and actions have the dimensions of Pendulum-v1
# Losses in the order in which an update that trains the actor minimises them. None: not compared.
LOSSES = {
    "td3_bc": ["critic_loss", "actor_loss"],
    "rebrac": ["critic_loss", "actor_loss"],
    "iql": ["value_loss", "actor_loss", "critic_loss"],
    "cql": ["actor_loss", None, "critic_loss"],
    "rlpd": ["critic_loss", "actor_loss", "temperature_loss"],
}
CONFIG = """
algo: {algo}
env_id: Pendulum-v1
total_timesteps: {steps}
eval_episodes: 0
log_interval: 1
algo_kwargs:
  dataset_kind: npz
  dataset_path: {data}
  normalize_observations: false
  hidden_sizes: [32, 32]
  batch_size: {batch}
  learning_rate: 1.0e-12
"""
MORE = {
    "cql": "  actor_learning_rate: 1.0e-12\n",
    "rlpd": "  offline_pretrain_updates: 20\n  learning_starts: 1000\n  num_min_critics: 10\n",
}


def write_data(path):
    draw = np.random.RandomState(0)
    row = {
        "observations": draw.randn(3), "actions": [1.1], "rewards": 0.7,
        "next_observations": draw.randn(3), "next_actions": [-0.6],
    }
    columns = {k: np.array([v] * 64, "float32") for k, v in row.items()}
    columns |= {"terminals": np.zeros(64, "float32"), "timeouts": np.zeros(64, "float32")}
    np.savez(path, next_action_valid=np.ones(64, "float32"), **columns)
    batch = {k: torch.tensor(np.repeat(v[:1], BATCH, 0)) for k, v in columns.items()}
    return eager.Batch(
        obs=batch["observations"], action=batch["actions"] / 2, reward=batch["rewards"],
        next_obs=batch["next_observations"], not_done=torch.ones(BATCH),
        next_action=batch["next_actions"] / 2,
    )


def tensors_of(run):
    (*_, path) = sorted(glob.glob(f"{run}/checkpoints/*/tensors.safetensors"))
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            values = np.frombuffer(data[slice(*entry["data_offsets"])], "float32")
            tensors[name] = torch.tensor(values.reshape(entry["shape"]).copy())
    return tensors


def load_layers(net, tensors, prefix):
    linear = [m for m in net if isinstance(m, torch.nn.Linear)]
    norms = [m for m in net if isinstance(m, torch.nn.LayerNorm)]
    for i, layer in enumerate(linear):
        layer.weight.data = tensors[f"{prefix}.layer{i}.weight"].T.contiguous()
        layer.bias.data = tensors[f"{prefix}.layer{i}.bias"]
    for i, norm in enumerate(norms):
        norm.weight.data = tensors[f"{prefix}.layer{i}.norm_gain"]
        norm.bias.data = tensors[f"{prefix}.layer{i}.norm_shift"]


def load_critics(critic, tensors, prefix):
    nets = critic.nets if isinstance(critic, eager.Critics) else [critic.q1, critic.q2]
    for i, net in enumerate(nets):
        load_layers(net, tensors, f"{prefix}.member{i}")


def load(agent, tensors):
    for ours, name in (("critics", "critic"), ("critics_target", "critic_target")):
        load_critics(getattr(agent, name), tensors, f"algorithm.{ours}")
    for name in ("actor", "actor_target"):
        if hasattr(agent, name):
            load_layers(getattr(agent, name).net, tensors, f"algorithm.{name}.member0")
    if hasattr(agent, "value"):
        load_layers(agent.value, tensors, "algorithm.value.member0")


def logged(run, names):
    """Returns the last logged value of each metric."""
    with open(f"{run}/metrics.jsonl") as file:
        rows = [json.loads(line) for line in file]
    return {n: [row[n] for row in rows if row.get(n) is not None][-1] for n in names if n}


def compare(algo, program, directory):
    data = f"{directory}/rows.npz"
    batch = write_data(data)
    config = f"{directory}/{algo}.yaml"
    with open(config, "w") as file:
        file.write(CONFIG.format(algo=algo, data=data, batch=BATCH, steps=2) + MORE.get(algo, ""))
    words = [program, "train", "--config", config, "--quiet", "--output-dir", f"{directory}/{algo}"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    (run,) = glob.glob(f"{directory}/{algo}/*")
    agent = eager.ALGORITHMS[algo](SIZES)
    load(agent, tensors_of(run))
    found = []
    eager.step = lambda _optimizer, loss: found.append(loss.item())
    agent.learn(batch, True)
    expected, sound = logged(run, LOSSES[algo]), True
    for name, value in zip(LOSSES[algo], found):
        if name:
            close = abs(value - expected[name]) <= LIMIT * max(abs(value), abs(expected[name]))
            sound = sound and close
            print(f"{algo} {name}: {value:.5g}, of the program {expected[name]:.5g}", flush=True)
    return sound


def main():
    torch.manual_seed(0)
    SETTINGS["rlpd"].target_critics = SETTINGS["rlpd"].critics
    with tempfile.TemporaryDirectory() as directory:
        sound = [compare(algo, sys.argv[1], directory) for algo in LOSSES]
    return 0 if all(sound) else 1


if __name__ == "__main__":
    sys.exit(main())
