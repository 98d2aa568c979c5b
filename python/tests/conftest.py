import os
import shutil

import numpy as np
import pytest

# Options for runs that take about a second.
TINY = dict(hidden_sizes=[16, 16], batch_size=32, eval_episodes=1, eval_interval=1000,
            log_interval=10, checkpoint_interval=20, threads=1)


@pytest.fixture
def tiny(tmp_path):
    return {**TINY, "output_dir": str(tmp_path / "runs")}


@pytest.fixture
def program():
    path = os.environ.get("RL_TRAINING_PROGRAM") or shutil.which("rl_training")
    if not path:
        pytest.skip("the program is not at hand (RL_TRAINING_PROGRAM)")
    return path


def make_arrays(rows=400, episode=50, seed=0):
    """Creates episodes in which random forces push a point. Observations are (position, velocity)."""
    random = np.random.default_rng(seed)
    columns = {name: [] for name in ("observations", "actions", "rewards", "terminals",
                                     "timeouts", "next_observations")}
    for first in range(0, rows, episode):
        state = random.uniform(-1, 1, 2)
        for step in range(episode):
            action = random.uniform(-2, 2, 1)
            following = np.array([state[0] + 0.1 * state[1], 0.9 * state[1] + 0.1 * action[0]])
            columns["observations"].append(state)
            columns["actions"].append(action)
            columns["rewards"].append(-following[0] ** 2)
            columns["terminals"].append(False)
            columns["timeouts"].append(step == episode - 1)
            columns["next_observations"].append(following)
            state = following
    floats = ("observations", "actions", "rewards", "next_observations")
    return {name: np.array(values, np.float32 if name in floats else bool)
            for name, values in columns.items()}


def resident():
    """Returns the resident memory of the process in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def arrays():
    return make_arrays()


class Space:
    def __init__(self, **facts):
        self.__dict__.update(facts)


class Point:
    """A task: push a point to 0. The class has Gymnasium's interface but does not import Gymnasium."""

    steps_made = 0  # number of steps of all instances

    def __init__(self, length=20):
        self.length = length
        inf = np.full(2, np.inf, np.float32)
        self.observation_space = Space(low=-inf, high=inf, shape=(2,))
        bound = np.full(1, 2, np.float32)
        self.action_space = Space(low=-bound, high=bound, shape=(1,))

    def reset(self, *, seed=None, options=None):
        self.random = np.random.default_rng(seed)
        self.state = self.random.uniform(-1, 1, 2)
        self.steps = 0
        return self.state.astype(np.float32), {}

    def step(self, action):
        Point.steps_made += 1
        assert action.shape == (1,) and action.dtype == np.float32
        position, velocity = self.state
        velocity = 0.9 * velocity + 0.1 * float(action[0]) + 0.01 * self.random.normal()
        self.state = np.array([position + 0.1 * velocity, velocity])
        self.steps += 1
        return (self.state.astype(np.float32), -float(position**2), abs(position) > 3,
                self.steps >= self.length, {})
