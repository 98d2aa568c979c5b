"""Runs Gymnasium's checker on our tasks, and trains on Gymnasium's tasks and vector environments."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import rl_training

COLLECT = dict(learning_starts=40, buffer_capacity=2000)


@pytest.mark.parametrize("name", rl_training.environments())
def test_the_checker_accepts_our_tasks(name):
    env = gymnasium.make(f"rl_training/{name}", disable_env_checker=True)
    assert env.spec.id == f"rl_training/{name}"
    with np.errstate(all="ignore"):
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name, algo", [
    ("Pendulum-v1", "sac"), ("MountainCarContinuous-v0", "td3"), ("CartPole-v1", "discrete_sac"),
    ("Acrobot-v1", "discrete_sac"), ("MountainCar-v0", "discrete_sac"),
    ("InvertedPendulum-v5", "sac"), ("Hopper-v5", "td3"), ("HalfCheetah-v5", "sac"),
])
def test_their_tasks_train(name, algo, tiny):
    # Passing a function selects Gymnasium's task even if this library has a task of the same name.
    agent = rl_training.make(algo, env=lambda: gymnasium.make(name), **tiny, **COLLECT).learn(80)
    assert agent.result["global_step"] == 80 and agent.result["update_count"] > 0
    assert np.isfinite(agent.metrics["critic_loss"][-1])
    result = agent.evaluate(n_episodes=2)
    assert len(result["returns"]) == 2 and np.isfinite(result["returns"]).all()


def test_their_ids_are_found(tiny):
    # This library has no task of this name. If it had one, its own task would take precedence.
    gymnasium.register("FurtherSwimmer-v0", "gymnasium.envs.mujoco.swimmer_v5:SwimmerEnv",
                       max_episode_steps=1000)
    agent = rl_training.SAC("FurtherSwimmer-v0", **dict(tiny, eval_episodes=0), **COLLECT).learn(60)
    assert agent.config["env_id"] == "gymnasium-FurtherSwimmer-v0"


def make_vector(name, kind, mode=None):
    options = {} if mode is None else {"vector_kwargs": {"autoreset_mode": mode}}
    return gymnasium.make_vec(name, num_envs=3, vectorization_mode=kind, **options)


@pytest.mark.parametrize("name, algo, kind, mode", [
    ("CartPole-v1", "discrete_sac", "vector_entry_point", None),
    ("CartPole-v1", "discrete_sac", "sync", AutoresetMode.NEXT_STEP),
    ("CartPole-v1", "discrete_sac", "sync", AutoresetMode.SAME_STEP),
    ("CartPole-v1", "discrete_sac", "sync", AutoresetMode.DISABLED),
    ("CartPole-v1", "discrete_sac", "async", AutoresetMode.SAME_STEP),
    ("Hopper-v5", "sac", "sync", AutoresetMode.NEXT_STEP),
])
def test_their_vectors_train(name, algo, kind, mode, tiny):
    agent = rl_training.make(algo, env=lambda: make_vector(name, kind, mode), **tiny, **COLLECT)
    assert agent.config["num_envs"] == 3
    agent.learn(150)
    assert agent.result["global_step"] == 150 and agent.result["update_count"] > 0
    result = agent.evaluate(n_episodes=5, seed=2)
    assert len(result["returns"]) == 5
    if name == "CartPole-v1":
        assert result["returns"] == result["lengths"]  # the reward of each step is 1
    assert agent.evaluate(n_episodes=5, seed=2) == result


def test_a_vector_of_one_evaluates_as_its_task(tiny):
    """With the same seed, the episode of the vector equals the episode of the single task."""
    agent = rl_training.SAC(env=lambda: gymnasium.make("Pendulum-v1"), **tiny)
    single = agent.evaluate(n_episodes=1, seed=4)
    for mode in AutoresetMode:
        vector = gymnasium.make_vec("Pendulum-v1", num_envs=1, vectorization_mode="sync",
                                    vector_kwargs={"autoreset_mode": mode})
        assert agent.evaluate(vector, n_episodes=1, seed=4)["returns"] == single["returns"]


def test_a_vector_of_our_tasks(tiny):
    agent = rl_training.SAC(env=lambda: gymnasium.make_vec("rl_training/Pendulum-v1", num_envs=2),
                            **tiny, **COLLECT).learn(80)
    assert agent.evaluate(n_episodes=4)["lengths"] == [200] * 4
