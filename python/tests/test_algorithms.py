"""Tests learn, predict, save, load and resume for every algorithm."""

import json
import pathlib
import re
import subprocess

import numpy as np
import pytest

import rl_training
from conftest import TINY

# Options for runs that take about a second. Each algorithm uses only the options that it has.
SMALL = dict(
    hidden_sizes=[16, 16], critic_hidden_sizes=[16, 16], vae_hidden_sizes=[16, 16],
    num_critics=3, batch_size=10, offline_pretrain_updates=20, learning_starts=10,
    buffer_capacity=1000, target_return=-100.0, context_length=4, embed_dim=16, num_layers=1,
    num_heads=2, max_episode_length=200, rollout_steps=20, encoder_channels=4)
INFO = {each["name"]: each for each in rl_training._core.algorithm_table()}


def options_of(algo, output_dir):
    known = {row[0] for row in rl_training._core.algorithm_options(algo)}
    options = {key: value for key, value in {**TINY, **SMALL}.items()
               if key in known or key not in SMALL}
    info = INFO[algo]
    if info["reads_data"]:
        options.update(dataset_kind="random", dataset_size=300)
    options["env"] = "CartPole-v1" if info["discrete_actions"] else "Pendulum-v1"
    if info["image_observations"]:
        options["env_kwargs"] = dict(wrappers=dict(pixels=dict(size=16)))
    return dict(options, output_dir=str(output_dir), log_interval=10, checkpoint_interval=20)


def same_bits(mine, theirs):
    """Asserts that two runs have the same metrics and the same tensors in their last checkpoints."""
    mine, theirs = pathlib.Path(mine), pathlib.Path(theirs)
    metrics = (mine / "metrics.jsonl").read_bytes()
    assert metrics and metrics == (theirs / "metrics.jsonl").read_bytes()
    last = max(path.name for path in (theirs / "checkpoints").glob("step-*"))
    files = sorted((theirs / "checkpoints" / last).glob("*.safetensors"))
    assert files
    for path in files:
        assert (mine / "checkpoints" / last / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("algo", rl_training.algorithms())
def test_learn_predict_save_load_resume(algo, tmp_path):
    straight = rl_training.make(algo, **options_of(algo, tmp_path / "straight"), seed=3).learn(60)
    assert straight.result["stop_reason"] == "total_timesteps"
    metrics = straight.metrics
    assert metrics["update_count"][-1] == straight.result["update_count"] > 0
    assert len({len(column) for column in metrics.values()}) == 1

    discrete = INFO[algo]["discrete_actions"]
    if INFO[algo]["image_observations"]:
        rows = np.arange(5 * 9 * 16 * 16).reshape(5, 9, 16, 16).astype(np.uint8)
    else:
        size = 4 if discrete else 3
        rows = np.linspace(-1, 1, 5 * size, dtype=np.float32).reshape(5, size)
    actions = straight.predict(rows)
    for row, action in zip(rows, actions):
        # Convolutions of one image and of a batch may differ in the last bit.
        np.testing.assert_allclose(straight.predict(row), action,
                                   rtol=1e-5 if INFO[algo]["image_observations"] else 0)
    if discrete:
        assert actions.dtype == np.int64 and set(actions) <= {0, 1}
    else:
        assert actions.shape == (5, 1) and actions.dtype == np.float32
        assert np.abs(actions).max() <= 2

    straight.save(tmp_path / "saved")
    loaded = rl_training.load(tmp_path / "saved")
    assert type(loaded) is type(straight)
    np.testing.assert_array_equal(loaded.predict(rows), actions)

    # A shorter run that is continued to the same length must yield the same values.
    agent = rl_training.make(algo, **options_of(algo, tmp_path / "resumed"), seed=3).learn(40)
    run_dir = agent.run_dir
    agent.close()
    resumed = rl_training.resume(run_dir, total_timesteps=60).learn()
    assert resumed.run_dir == run_dir
    np.testing.assert_array_equal(resumed.predict(rows), actions)


@pytest.mark.parametrize("algo", rl_training.algorithms())
def test_bits_equal_those_of_the_program(algo, tmp_path, program):
    agent = rl_training.make(algo, **options_of(algo, tmp_path / "python"), seed=3).learn(40)
    done = subprocess.run([program, "train", "--config", f"{agent.run_dir}/config.yaml",
                           "--output-dir", tmp_path / "program", "--quiet", "--json"],
                          capture_output=True, text=True, check=True)
    same_bits(agent.run_dir, json.loads(done.stdout)["run_dir"])


def test_classes_have_the_names_of_the_library():
    header = (pathlib.Path(__file__).parents[2] / "rl_training/api/agents.h").read_text()
    names = re.findall(r"^using (\w+) = AgentOf<(\w+)Options>;", header, re.MULTILINE)
    assert len(names) == len(rl_training.algorithms())
    for name, _ in names:
        assert issubclass(getattr(rl_training, name), rl_training.Agent), name
    assert "policy_noise" in rl_training.TD3BC.__doc__
    assert "total_timesteps" in rl_training.TD3BC.__doc__


def test_from_config(tmp_path):
    agent = rl_training.TD3BC.from_config("td3_bc/pendulum", batch_size=64, output_dir=tmp_path)
    assert agent.config["algo_kwargs"]["batch_size"] == 64
    assert agent.config["env_id"] == "Pendulum-v1"
    with pytest.raises(rl_training.ConfigError, match="expected sac, got td3_bc"):
        rl_training.SAC.from_config("td3_bc/pendulum")


def test_learning_on_from_a_loaded_checkpoint(tiny):
    agent = rl_training.SAC("Pendulum-v1", **tiny, learning_starts=10).learn(20)
    agent.learn(40)
    assert agent.result["global_step"] == 40
    assert list(agent.metrics["global_step"]) == [0, 10, 20, 30, 40]
