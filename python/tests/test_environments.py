import numpy as np
import pytest

import rl_training
from conftest import Point, Space

COLLECT = dict(learning_starts=20, buffer_capacity=2000)


def test_sac_in_an_environment_of_python(tiny):
    before = Point.steps_made
    agent = rl_training.SAC(env=Point, **tiny, **COLLECT, train_frequency=2).learn(200)
    assert agent.result["global_step"] == 200
    assert agent.config["env_id"] == "python-Point"
    # 200 collected steps, and two evaluations of one episode with 20 steps each.
    assert Point.steps_made - before == 240
    assert np.isfinite(agent.metrics["critic_loss"][-1])
    result = agent.evaluate(n_episodes=3, seed=1)
    assert result["lengths"] == [20, 20, 20]
    assert result == agent.evaluate(lambda: Point(), n_episodes=3, seed=1)


def test_rlpd_from_data_and_an_environment_of_python(tiny, arrays):
    agent = rl_training.RLPD(arrays, Point(), offline_pretrain_updates=20, num_critics=3,
                             gradient_updates_per_step=1, **tiny, **COLLECT).learn(100)
    assert agent.result["global_step"] == 100
    assert agent.result["update_count"] > 20


def test_offline_to_online(tiny, arrays):
    agent = rl_training.TD3BC(arrays, Point, **tiny,
                              online=dict(total_timesteps=60, buffer_capacity=1000)).learn(40)
    assert agent.result["global_step"] == 60
    assert agent.result["update_count"] > 40


def test_resume_in_the_middle_of_an_episode_is_exact(tiny):
    tiny["eval_episodes"] = 0
    options = dict(env=Point, **tiny, **COLLECT)
    straight = rl_training.SAC(**options).learn(110)
    agent = rl_training.SAC(**options).learn(50)  # stops 10 steps into the third episode
    run_dir = agent.run_dir
    agent.close()
    resumed = rl_training.resume(run_dir, env=Point, total_timesteps=110).learn()
    for name, column in straight.metrics.items():
        np.testing.assert_array_equal(resumed.metrics[name], column, err_msg=name)


class Forgetful(Point):
    """An environment whose episodes are not determined by the seed."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=None)


def test_an_episode_that_cannot_be_played_again_is_told(tiny):
    agent = rl_training.SAC(env=Forgetful, **tiny, **COLLECT).learn(30)
    run_dir = agent.run_dir
    agent.close()
    with pytest.warns(RuntimeWarning, match="differed when it was replayed"):
        rl_training.resume(run_dir, env=Forgetful, total_timesteps=60).learn()


class Chooser(Point):
    def __init__(self):
        super().__init__()
        self.action_space = Space(n=3)

    def step(self, action):
        assert isinstance(action, int) and action in (0, 1, 2)
        return super().step(np.array([action - 1.0], np.float32))


def test_choices(tiny):
    agent = rl_training.DiscreteSAC(env=Chooser, **tiny, **COLLECT).learn(60)
    assert agent.predict(np.zeros(2)) in (0, 1, 2)


class Broken(Point):
    def step(self, action):
        if self.steps == 7:
            raise RuntimeError("the motor is on fire")
        return super().step(action)


def test_an_exception_of_the_environment_leaves_a_run_to_resume(tiny):
    tiny.update(eval_episodes=0, checkpoint_interval=5)
    agent = rl_training.SAC(env=Broken, **tiny, **COLLECT)
    with pytest.raises(RuntimeError, match="on fire"):
        agent.learn(30)
    run_dir = agent.run_dir
    assert agent.predict(np.zeros(2)).shape == (1,)  # the policy of the last checkpoint

    class Repaired(Point):
        pass

    Repaired.__name__ = "Broken"
    resumed = rl_training.resume(run_dir, env=Repaired).learn()
    assert resumed.result["global_step"] == 30
    straight = rl_training.SAC(env=Repaired, **tiny, **COLLECT).learn(30)
    for name, column in straight.metrics.items():
        np.testing.assert_array_equal(resumed.metrics[name], column, err_msg=name)


class NoStep:
    observation_space = action_space = None

    def reset(self, seed=None):
        pass


@pytest.mark.parametrize("env, text", [
    (3, "not an environment"),
    (NoStep, "has no step"),
    (lambda: type("OldStep", (Point,), {"reset": lambda self, seed: np.zeros(2)})(), "pair"),
    (lambda: type("Unbounded", (Point,), {
        "action_space": property(lambda self: Space(low=[-np.inf], high=[1.0], shape=(1,)),
                                 lambda self, value: None)})(), "no bounds"),
    ("Pendulum-v2", "did you mean"),
])
def test_what_is_no_environment_is_refused(env, text, tiny):
    with pytest.raises(rl_training.ConfigError, match=text):
        rl_training.SAC(env=env, **tiny).learn(10)


def test_native_tasks_have_the_interface_of_gymnasium():
    env = rl_training.Environment("Pendulum-v1")
    first, info = env.reset(seed=5)
    again, _ = env.reset(seed=5)
    np.testing.assert_array_equal(first, again)
    assert info == {} and first.dtype == np.float32 and first.shape == env.observation_space.shape
    assert env.action_space.low == -2
    steps, truncated = 0, False
    while not truncated:
        obs, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        steps += 1
        assert not terminated and -17 < reward <= 0
    assert steps == 200
    with pytest.raises(rl_training.DataError, match="action"):
        env.step(np.zeros(3))
    short = rl_training.Environment("Pendulum-v1", max_episode_steps=3)
    assert short.max_episode_steps == 3
    with pytest.raises(rl_training.ConfigError, match="did you mean `max_episode_steps`"):
        rl_training.Environment("Pendulum-v1", max_episode_step=3)


def test_a_native_task_as_a_python_object_gives_the_same_numbers(tiny):
    by_id = rl_training.SAC("Pendulum-v1", **tiny, **COLLECT).learn(40)
    by_object = rl_training.SAC(rl_training.Environment("Pendulum-v1"), **tiny, **COLLECT).learn(40)
    np.testing.assert_array_equal(by_id.metrics["critic_loss"], by_object.metrics["critic_loss"])


def test_evaluation_uses_the_options_of_a_given_environment(tmp_path):
    agent = rl_training.SAC(env=rl_training.Environment("Pendulum-v1", max_episode_steps=7), output_dir=str(tmp_path),
                            hidden_sizes=[4])
    agent.learn(total_timesteps=1)
    lengths = {
        "own": agent.evaluate(n_episodes=1),
        "id": agent.evaluate("Pendulum-v1", n_episodes=1),
        "options": agent.evaluate(rl_training.Environment("Pendulum-v1", max_episode_steps=3), n_episodes=1),
        "defaults": agent.evaluate(rl_training.Environment("Pendulum-v1"), n_episodes=1),
    }
    assert {name: result["lengths"] for name, result in lengths.items()} == {
        "own": [7], "id": [7], "options": [3], "defaults": [200]}
