"""Environments of the library for use in Python, and Python environments for use in the library."""

import copy
import re

import numpy as np

from . import _core
from ._errors import ConfigError
from ._options import to_json

try:
    import gymnasium
    from gymnasium.spaces import Box, Discrete

    _Base = gymnasium.Env
except ImportError:
    gymnasium = None
    _Base = object

    class Box:
        """A box of real values. Replaces Gymnasium's Box if Gymnasium is not installed."""

        def __init__(self, low, high, shape=None, dtype=np.float32):
            self.dtype = np.dtype(dtype)
            self.low = np.broadcast_to(np.asarray(low, dtype), shape or np.shape(low)).copy()
            self.high = np.broadcast_to(np.asarray(high, dtype), self.low.shape).copy()
            self.shape = self.low.shape
            self._random = np.random.default_rng()

        def seed(self, seed=None):
            self._random = np.random.default_rng(seed)

        def sample(self):
            return self._random.uniform(self.low, self.high).astype(self.dtype)

        def contains(self, value):
            value = np.asarray(value)
            return value.shape == self.shape and bool(
                np.all(value >= self.low) and np.all(value <= self.high))

    class Discrete:
        """A discrete space. Replaces Gymnasium's Discrete if Gymnasium is not installed."""

        def __init__(self, n):
            self.n = int(n)
            self.shape = ()
            self.dtype = np.dtype(np.int64)
            self._random = np.random.default_rng()

        def seed(self, seed=None):
            self._random = np.random.default_rng(seed)

        def sample(self):
            return self._random.integers(self.n)

        def contains(self, value):
            return 0 <= int(value) < self.n


class Environment(_Base):
    """A task of the library with Gymnasium's interface: ``Environment("Hopper-v4")``.

    Keyword arguments are those of ``env_kwargs``. Observations are float32. With the same seed, the first
    observation equals that of Gymnasium's task of the same name.
    """

    metadata = {"render_modes": []}
    render_mode = None

    def __init__(self, id, render_mode=None, **env_kwargs):
        self._task = _core.NativeEnvironment(id, to_json(env_kwargs))
        self.env_kwargs = env_kwargs
        facts = self._task.spec()
        self.id = facts["id"]
        self.max_episode_steps = facts["max_episode_steps"] or None
        size = facts["obs_dim"]
        self.observation_space = Box(-np.inf, np.inf, (size,), np.float32)
        if facts["choices"]:
            self.action_space = Discrete(facts["choices"])
        else:
            self.action_space = Box(np.array(facts["action_low"], np.float32),
                                    np.array(facts["action_high"], np.float32), dtype=np.float32)

    def reset(self, *, seed=None, options=None):
        if gymnasium is not None:
            super().reset(seed=seed)
        return self._task.reset(seed), {}

    def step(self, action):
        return (*self._task.step(action), {})

    def close(self):
        pass


def make_task(task, **kwargs):
    """Entry point for Gymnasium. The argument is not called ``id``, because gymnasium.make uses that name."""
    return Environment(task, **kwargs)


def environments():
    """Returns the ids of the available environments."""
    return _core.environment_ids()


def register_gymnasium():
    """Registers the tasks with Gymnasium as ``rl_training/ID``. Called when the package is imported."""
    if gymnasium is None:
        return
    for name in _core.environment_ids():
        full = f"rl_training/{name}"
        if full not in gymnasium.registry:
            gymnasium.register(full, entry_point="rl_training._envs:make_task",
                               kwargs={"task": name})


def _name_of(env, kind):
    name = getattr(env, "__name__", None) or type(env).__name__
    return kind + (re.sub(r"[^A-Za-z0-9_.]+", "", name) or "env")


def _copier(env):
    """Returns a factory of copies of ``env``, because evaluations use separate environments."""

    def copied():
        try:
            return copy.deepcopy(env)
        except Exception as error:
            raise ConfigError(f"cannot be copied (expected a function that makes one, got a "
                              f"{type(env).__name__}: {error})", key="env") from error

    return copied


def environment_config(env):
    """Converts a user's ``env`` argument (an id, an instance or a factory) to config keys."""
    if env is None:
        return {}
    if isinstance(env, str):
        known = env in _core.environment_ids()
        if known or gymnasium is None or env not in gymnasium.registry:
            return {"env_id": env}
        name = "gymnasium-" + re.sub(r"[^A-Za-z0-9_.-]+", "-", env)
        _core.add_python_environment(name, lambda: gymnasium.make(env), None, False)
        return {"env_id": name}
    if isinstance(env, Environment):
        return {"env_id": env.id, **({"env_kwargs": env.env_kwargs} if env.env_kwargs else {})}
    is_instance = hasattr(env, "step") and not isinstance(env, type)
    if not is_instance and not callable(env):
        raise ConfigError("not an environment (expected an id, an object with reset and step, or what "
                          f"makes one, got {type(env).__name__})", key="env")
    make = _copier(env) if is_instance else env
    first = make()
    is_vector = hasattr(first, "num_envs") and hasattr(first, "single_action_space")
    name = _name_of(env, "python-vector-" if is_vector else "python-")
    count = _core.add_python_environment(name, make, first, is_vector)
    return {"env_id": name, **({"num_envs": count} if is_vector else {})}
