"""Tests that Minari reads our datasets and that we read Minari's datasets."""

import subprocess

import gymnasium
import minari
import numpy as np
import pytest

import rl_training


@pytest.fixture
def datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    (tmp_path / "minari").mkdir()
    return tmp_path / "minari"


@pytest.mark.parametrize("name", ["Pendulum-v1", "CartPole-v1"])
def test_it_reads_what_convert_writes(name, datasets, program, tmp_path):
    subprocess.run([program, "dataset", "collect", "--env", name, "--size", "500", "--seed", "1",
                    tmp_path / "log.npz"], check=True, capture_output=True)
    subprocess.run([program, "dataset", "convert", tmp_path / "log.npz",
                    datasets / "ours" / "log-v0", "--to", "minari", "--env", name],
                   check=True, capture_output=True)
    dataset = minari.load_dataset("ours/log-v0")
    mine = rl_training.Dataset.open(tmp_path / "log.npz", discrete=name == "CartPole-v1")
    rows, episodes = mine.to_numpy(), mine.episodes()
    assert dataset.total_episodes == len(episodes) and dataset.total_steps == len(mine) == 500
    for episode, (first, count) in zip(dataset.iterate_episodes(), episodes):
        part = slice(first, first + count)
        assert len(episode) == count
        np.testing.assert_array_equal(episode.observations[:-1], rows["observations"][part])
        np.testing.assert_array_equal(episode.observations[1:], rows["next_observations"][part])
        np.testing.assert_array_equal(episode.actions, rows["actions"][part])
        np.testing.assert_array_equal(episode.rewards.astype(np.float32), rows["rewards"][part])
        np.testing.assert_array_equal(episode.terminations, rows["terminals"][part])
        ended = episode.terminations[-1] or episode.truncations[-1]
        assert ended and not episode.truncations[:-1].any()


@pytest.mark.parametrize("name", ["Pendulum-v1", "CartPole-v1"])
def test_we_read_what_it_writes(name, datasets):
    env = minari.DataCollector(gymnasium.make(name))
    env.action_space.seed(0)
    expected = {key: [] for key in ("observations", "actions", "rewards", "next_observations",
                                    "terminals", "timeouts")}
    for episode in range(5):
        obs, _ = env.reset(seed=episode)
        terminated = truncated = False
        while not (terminated or truncated):
            action = env.action_space.sample()
            following, reward, terminated, truncated, _ = env.step(action)
            row = (obs, action, reward, following, terminated, truncated)
            for column, value in zip(expected.values(), row):
                column.append(value)
            obs = following
    env.create_dataset(dataset_id="theirs/log-v0")
    discrete = name == "CartPole-v1"
    for path in ("theirs/log-v0", datasets / "theirs" / "log-v0"):
        dataset = rl_training.Dataset.open(path, kind="minari", discrete=discrete)
        found = dataset.to_numpy()
        for key, values in expected.items():
            wanted = np.array(values)
            if found[key].dtype == np.float32:
                wanted = wanted.astype(np.float32)
            np.testing.assert_array_equal(found[key], wanted, err_msg=key)
    assert rl_training.Dataset.open("theirs/log-v0", kind="minari").inspect()["episodes"] == 5
