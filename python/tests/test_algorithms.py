"""Every algorithm through learn, predict, save, load, resume."""

import json
import pathlib
import subprocess

import numpy as np
import pytest

import rl_training
from conftest import TINY

EXTRA = {
    "decision_transformer": dict(target_return=-100.0, context_length=4, embed_dim=16, num_layers=1,
                                 num_heads=2, max_episode_length=200, batch_size=8),
    "crossq": dict(critic_hidden_sizes=[16, 16]),
    "bcq": dict(vae_hidden_sizes=[16, 16]),
    "bear": dict(vae_hidden_sizes=[16, 16]),
    "ppo": dict(rollout_steps=40, batch_size=20),
    "trpo": dict(rollout_steps=40),
    "rlpd": dict(offline_pretrain_updates=20, num_critics=3),
}
LEFT_OUT = {"decision_transformer": {"hidden_sizes"}}
COLLECTING = dict(learning_starts=10, buffer_capacity=1000)


def options_of(algo, output_dir):
    options = {**TINY, "output_dir": str(output_dir), **EXTRA.get(algo, {})}
    for name in LEFT_OUT.get(algo, ()):
        options.pop(name)
    info = next(each for each in rl_training._core.algorithm_table() if each["name"] == algo)
    if info["collects"] and algo not in ("ppo", "trpo"):
        options.update(COLLECTING)
    if info["reads_data"]:
        options.update(dataset_kind="random", dataset_size=300)
    options["env"] = "CartPole-v1" if info["discrete_actions"] else "Pendulum-v1"
    return options


@pytest.mark.parametrize("algo", rl_training.algorithms())
def test_learn_predict_save_load_resume(algo, tmp_path):
    straight = rl_training.make(algo, **options_of(algo, tmp_path / "straight")).learn(80)
    assert straight.result["stop_reason"] == "total_timesteps"
    metrics = straight.metrics
    assert metrics["update_count"][-1] == straight.result["update_count"] > 0
    assert len({len(column) for column in metrics.values()}) == 1

    discrete = algo.startswith("discrete_") or algo == "dqn"
    size = 4 if discrete else 3
    rows = np.linspace(-1, 1, 5 * size, dtype=np.float32).reshape(5, size)
    actions = straight.predict(rows)
    for row, action in zip(rows, actions):
        np.testing.assert_array_equal(straight.predict(row), action)
    if discrete:
        assert actions.dtype == np.int64 and set(actions) <= {0, 1}
    else:
        assert actions.shape == (5, 1) and actions.dtype == np.float32
        assert np.abs(actions).max() <= 2

    straight.save(tmp_path / "saved")
    loaded = rl_training.load(tmp_path / "saved")
    assert type(loaded) is type(straight)
    np.testing.assert_array_equal(loaded.predict(rows), actions)

    # A shorter run that goes on to the same length comes to the same numbers.
    agent = rl_training.make(algo, **options_of(algo, tmp_path / "resumed")).learn(40)
    run_dir = agent.run_dir
    agent.close()
    resumed = rl_training.resume(run_dir, total_timesteps=80).learn()
    assert resumed.run_dir == run_dir
    np.testing.assert_array_equal(resumed.predict(rows), actions)


@pytest.mark.parametrize("algo", ["td3_bc", "sac"])
def test_bits_equal_those_of_the_program(algo, tmp_path, program):
    options = options_of(algo, tmp_path / "python")
    agent = rl_training.make(algo, **options, seed=3, total_timesteps=60).learn()
    config = pathlib.Path(agent.run_dir, "config.yaml")
    done = subprocess.run([program, "train", "--config", config, "--output-dir",
                           tmp_path / "program", "--quiet", "--json"],
                          capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout)["run_dir"]
    mine = pathlib.Path(agent.run_dir, "metrics.jsonl").read_bytes()
    assert mine == pathlib.Path(theirs, "metrics.jsonl").read_bytes() and mine
    names = [path.name for path in pathlib.Path(theirs, "checkpoints/step-000000060").iterdir()]
    tensors = [name for name in names if name.endswith(".safetensors")]
    assert tensors, names
    for name in tensors:
        path = f"checkpoints/step-000000060/{name}"
        assert (pathlib.Path(agent.run_dir, path).read_bytes()
                == pathlib.Path(theirs, path).read_bytes())
    assert rl_training.load(theirs).predict(np.zeros(3)) == agent.predict(np.zeros(3))


def test_classes_have_the_names_of_the_library():
    for name in ("TD3BC", "SAC", "TD3", "DDPG", "REDQ", "TQC", "CrossQ", "DiscreteSAC", "RLPD",
                 "BCQ", "BEAR", "ReBRAC", "CQL", "IQL", "AWAC", "CRR", "BC", "DT",
                 "SACN", "EDAC", "XQL", "CalQL", "FQL"):
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
    agent = rl_training.SAC("Pendulum-v1", **tiny, **COLLECTING).learn(20)
    agent.learn(40)
    assert agent.result["global_step"] == 40
    assert list(agent.metrics["global_step"]) == [0, 10, 20, 30, 40]
