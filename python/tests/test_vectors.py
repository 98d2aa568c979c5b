"""Tests of Gymnasium's vector environments in each autoreset mode."""

import pathlib

import numpy as np
import pytest

import rl_training
from conftest import Space

MODES = ["NextStep", "SameStep", "Disabled"]
LENGTHS = (3, 5)  # episode lengths of the two environments
COLLECT = dict(learning_starts=8, buffer_capacity=2000)


class Clocks:
    """Two environments that observe (index, episode, time). The reward is index + 10 * episode + time."""

    num_envs = 2
    single_observation_space = Space(low=-np.full(3, np.inf), high=np.full(3, np.inf), shape=(3,))
    single_action_space = Space(low=-np.ones(1, np.float32), high=np.ones(1, np.float32),
                                shape=(1,))
    choices = False

    def __init__(self, mode="NextStep"):
        self.mode = mode
        self.metadata = {"autoreset_mode": mode}
        self.seeds = []

    def _observe(self):
        return np.stack([np.arange(2), self.episode, self.time], axis=1).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        if options and "reset_mask" in options:
            mask = options["reset_mask"]
            assert mask.dtype == bool and mask.shape == (2,) and mask.any()
        else:
            self.seeds.append(seed)
            mask = np.ones(2, bool)
            self.episode = np.full(2, seed % 1000)
            self.done = np.zeros(2, bool)
            self.time = np.zeros(2, int)
        self._begin(mask)
        return self._observe(), {}

    def _begin(self, mask):
        self.episode = self.episode + mask
        self.time = np.where(mask, 0, self.time)
        self.done = self.done & ~mask

    def step(self, actions):
        if self.choices:
            assert actions.shape == (2,) and actions.dtype == np.int64
        else:
            assert actions.shape == (2, 1) and actions.dtype == np.float32
            assert np.abs(actions).max() <= 1
        info, begins = {}, np.zeros(2, bool)
        if self.mode == "NextStep":
            begins = self.done.copy()
        else:
            assert not self.done.any()
        self._begin(begins)
        self.time = np.where(begins, 0, self.time + 1)
        self.done = ~begins & (self.time == LENGTHS)
        rewards = np.where(begins, 0.0, np.arange(2) + 10.0 * self.episode + self.time)
        terminated, truncated = self.done & [True, False], self.done & [False, True]
        if self.mode == "SameStep" and self.done.any():
            info = {"final_obs": np.array([*self._observe(), None], dtype=object)[:2],
                    "_final_obs": self.done.copy()}
            self._begin(self.done.copy())
        return self._observe(), rewards, terminated, truncated, info


def replayed(run_dir):
    """Returns the replay rows of the run's last checkpoint: obs, next_obs, action, reward, flags."""
    record = np.dtype([("obs", "<f4", 3), ("next_obs", "<f4", 3), ("action", "<f4"),
                       ("reward", "<f4"), ("flags", "<i4")])
    files = sorted(pathlib.Path(run_dir, "checkpoints").glob("step-*"))[-1].glob("replay-*")
    return np.concatenate([np.frombuffer(path.read_bytes(), record) for path in sorted(files)])


@pytest.mark.parametrize("mode", MODES)
def test_what_is_learnt_from_are_the_transitions_that_were_made(mode, tiny):
    agent = rl_training.SAC(env=lambda: Clocks(mode), **dict(tiny, eval_episodes=0), **COLLECT)
    assert agent.config["num_envs"] == 2
    agent.learn(80)
    rows = replayed(agent.run_dir)
    assert len(rows) == 80 and np.array_equal(rows["obs"][:, 0], np.tile([0, 1], 40))
    gaps = rows["flags"] == 8
    real = rows[~gaps]
    obs, following = real["obs"], real["next_obs"]
    # Both observations of a transition are from the same episode.
    np.testing.assert_array_equal(following[:, :2], obs[:, :2])
    np.testing.assert_array_equal(following[:, 2], obs[:, 2] + 1)
    np.testing.assert_array_equal(real["reward"], obs[:, 0] + 10 * obs[:, 1] + following[:, 2])
    ends = following[:, 2] == np.take(LENGTHS, obs[:, 0].astype(int))
    np.testing.assert_array_equal(real["flags"], np.where(ends, obs[:, 0] + 1, 0))
    # 40 steps in each environment, in episodes of 3 and 5 steps. With NextStep, each episode is
    # followed by a step that only resets.
    assert gaps.sum() == (10 + 6 if mode == "NextStep" else 0)
    assert ends.sum() == (10 + 6 if mode == "NextStep" else 13 + 8)
    assert np.isfinite(agent.metrics["critic_loss"][-1])


@pytest.mark.parametrize("mode", MODES)
def test_each_environment_plays_its_share_of_an_evaluation(mode, tiny):
    agent = rl_training.SAC(env=Clocks(mode), **tiny, **COLLECT)
    result = agent.evaluate(n_episodes=5, seed=3)
    assert result["lengths"] == [3, 3, 5, 5, 5]
    vector = Clocks(mode)
    agent.evaluate(lambda: vector, n_episodes=5, seed=3)
    (seed,) = vector.seeds
    first = seed % 1000 + 1
    expected = [sum(number + 10 * (first + k) + time for time in range(1, length + 1))
                for number, length, episodes in ((0, 3, 2), (1, 5, 3)) for k in range(episodes)]
    assert result["returns"] == expected
    assert agent.evaluate(n_episodes=1)["lengths"] == [5]


@pytest.mark.parametrize("mode", MODES)
def test_a_resumed_run_begins_new_episodes(mode, tiny):
    tiny["eval_episodes"] = 0
    made = []

    def make():
        made.append(Clocks(mode))
        return made[-1]

    agent = rl_training.SAC(env=make, **tiny, **COLLECT).learn(44)  # 22 steps per environment
    run_dir = agent.run_dir
    agent.close()
    with pytest.warns(RuntimeWarning, match="begin|new episodes"):
        resumed = rl_training.resume(run_dir, env=make, total_timesteps=80).learn()
    rows = replayed(run_dir)
    np.testing.assert_array_equal(rows["flags"][44:46], [8, 8])
    (seed,) = made[-1].seeds
    np.testing.assert_array_equal(rows["obs"][46:48, 1], [seed % 1000 + 1] * 2)
    np.testing.assert_array_equal(rows["obs"][46:48, 2], [0, 0])
    resumed.close()
    with pytest.warns(RuntimeWarning):  # every resume must yield the same bits
        again = rl_training.resume(f"{run_dir}/checkpoints/step-000000044", env=make,
                                   output_dir=f"{run_dir}-1", total_timesteps=80).learn()
    with pytest.warns(RuntimeWarning):
        twice = rl_training.resume(f"{run_dir}/checkpoints/step-000000044", env=make,
                                   output_dir=f"{run_dir}-2", total_timesteps=80).learn()
    np.testing.assert_array_equal(replayed(again.run_dir), replayed(twice.run_dir))


class Chooser(Clocks):
    single_action_space = Space(n=3)
    choices = True


def test_choices(tiny):
    agent = rl_training.DiscreteSAC(env=Chooser, **tiny, **COLLECT).learn(40)
    assert agent.result["global_step"] == 40
    assert agent.predict(np.zeros((4, 3))).shape == (4,)


def test_offline_to_online(tiny):
    random = np.random.default_rng(0)
    data = dict(observations=random.normal(size=(100, 3)), actions=random.uniform(-1, 1, (100, 1)),
                rewards=np.zeros(100), timeouts=np.arange(100) % 10 == 9)
    agent = rl_training.TD3BC(data, Clocks, **tiny,
                              online=dict(total_timesteps=40, buffer_capacity=100)).learn(20)
    assert agent.result["global_step"] == 40


class Uncopied(Clocks):
    def __deepcopy__(self, memo):
        raise TypeError("cannot pickle a process")


def test_what_does_not_fit_is_refused(tiny):
    with pytest.raises(rl_training.ConfigError, match="expected 2, got 3") as caught:
        rl_training.SAC(env=Clocks, num_envs=3, **tiny).learn(10)
    assert caught.value.key == "num_envs"
    with pytest.raises(rl_training.ConfigError, match="autoreset_mode"):
        rl_training.SAC(env=lambda: Clocks("Sometimes"), **tiny)
    with pytest.raises(rl_training.ConfigError, match="function that makes one.*a process"):
        rl_training.SAC(env=Uncopied(), **tiny)
    with pytest.raises(rl_training.ConfigError, match="manage their own episodes"):
        rl_training.SAC(env=Clocks, env_kwargs=dict(max_episode_steps=2), **tiny).learn(10)
