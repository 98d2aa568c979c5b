"""Tests with Gymnasium itself. They are skipped if it is not installed."""

import numpy as np
import pytest

import rl_training

gymnasium = pytest.importorskip("gymnasium")
COLLECT = dict(learning_starts=50, buffer_capacity=2000)


@pytest.mark.parametrize("name", ["Pendulum-v1", "CartPole-v1", "Hopper-v4"])
def test_the_checker_accepts_our_tasks(name):
    if name not in rl_training.environments():
        pytest.skip("not part of this build")
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make(f"rl_training/{name}")
    check_env(env.unwrapped, skip_render_check=True)


def test_our_pendulum_is_theirs():
    ours, theirs = rl_training.Environment("Pendulum-v1"), gymnasium.make("Pendulum-v1")
    obs, other = ours.reset(seed=3)[0], theirs.reset(seed=3)[0]
    random = np.random.default_rng(0)
    for _ in range(200):
        np.testing.assert_allclose(obs, other, atol=1e-5)
        action = random.uniform(-2, 2, 1).astype(np.float32)
        obs, reward, _, ended, _ = ours.step(action)
        other, their_reward, _, their_end, _ = theirs.step(action)
        assert reward == pytest.approx(their_reward, abs=1e-5) and ended == their_end


def test_their_tasks_train(tiny):
    agent = rl_training.SAC(env=lambda: gymnasium.make("MountainCarContinuous-v0"), **tiny,
                            **COLLECT).learn(120)
    assert agent.result["global_step"] == 120
    agent = rl_training.DiscreteSAC(env=gymnasium.make("CartPole-v1"), **tiny, **COLLECT).learn(120)
    assert 0 < agent.evaluate(n_episodes=2)["length_mean"] <= 500


def test_their_vectors_train(tiny):
    agent = rl_training.DiscreteSAC(env=gymnasium.make_vec("CartPole-v1", num_envs=2), **tiny,
                                    **COLLECT).learn(120)
    assert agent.config["num_envs"] == 2 and agent.result["global_step"] == 120
