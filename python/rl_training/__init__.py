"""Reinforcement learning from logged data, from environments, or from both.

    import rl_training

    dataset = rl_training.Dataset.open("log.npz")
    agent = rl_training.TD3BC(dataset, learning_rate=3e-4).learn(total_timesteps=10_000)
    action = agent.predict(observation)

There is one class per algorithm; ``help(rl_training.TD3BC)`` lists its options.
"""

import numpy

from . import _core

if int(numpy.__version__.split(".")[0]) >= 2 and _core.pybind11_version < (2, 12):
    raise ImportError(
        f"rl_training was built with pybind11 {'.'.join(map(str, _core.pybind11_version))}, which "
        f"does not know NumPy {numpy.__version__} (expected NumPy below 2, or a build with pybind11 "
        "2.12 or newer: pip install pybind11, then build again)")

from . import _agent
from ._agent import Agent, Progress, algorithms, load, make, report, resume, select
from ._dataset import Dataset
from ._envs import Environment, environments, register_gymnasium
from ._errors import CheckpointError, ConfigError, DataError, DivergedError, Error, IoError
from ._sweep import Sweep, Trial

globals().update({cls.__name__: cls for cls in _agent.CLASSES.values()})
register_gymnasium()

__all__ = [
    "Agent", "CheckpointError", "ConfigError", "DataError", "Dataset", "DivergedError",
    "Environment", "Error", "IoError", "Progress", "Sweep", "Trial", "algorithms", "environments",
    "load", "make", "register_gymnasium", "report", "resume", "select",
] + [cls.__name__ for cls in _agent.CLASSES.values()]
