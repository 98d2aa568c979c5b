"""Datasets from logged files or arrays."""

import os

import numpy as np

from . import _core
from ._errors import ConfigError, DataError

_COLUMNS = ("observations", "actions", "rewards", "next_observations", "terminals", "timeouts")


class Dataset:
    """Logged transitions, created by :meth:`open`, :meth:`from_arrays` or :meth:`mix`."""

    def __init__(self):
        raise TypeError("use Dataset.open, Dataset.from_arrays or Dataset.mix")

    @classmethod
    def _make(cls, reading, config):
        self = object.__new__(cls)
        self._reading = reading
        self._config = config
        self._loaded = None
        return self

    @classmethod
    def open(cls, path, kind="auto", keys=None, timeout_policy="auto", discrete=False):
        """Opens a file or directory. ``kind`` is d4rl, minari, d3rlpy, robomimic, npz, csv or auto.

        ``keys`` names the arrays or columns, for example ``{"obs": "qpos,qvel", "reward": "r"}``, or a known
        layout such as ``"ogbench"``. If ``discrete`` is set, ``to_numpy`` returns actions as indices; training
        does not need this setting.
        """
        path = os.fspath(path)
        config = {"dataset_kind": kind, "dataset_path": path}
        reading = _core.Reading()
        reading.kind, reading.path, reading.discrete = kind, path, discrete
        if timeout_policy != "auto":
            config["timeout_policy"] = reading.timeout_policy = timeout_policy
        if keys is not None:
            keys = {"layout": keys} if isinstance(keys, str) else dict(keys)
            config["dataset_keys"] = keys
            reading.keys = " ".join(
                value if role == "layout" else f"{role}={value}" for role, value in keys.items())
        return cls._make(reading, config)

    @classmethod
    def from_arrays(cls, observations, actions, rewards, terminals=None, timeouts=None,
                    next_observations=None, *, next_actions=None, episode_starts=None,
                    timeout_policy="auto"):
        """Creates a dataset from arrays with one row per step, in chronological order.

        Episodes end at ``terminals``, at ``timeouts``, before ``episode_starts`` and where
        ``next_observations`` differs from the following observation. Actions are in the environment's
        units; integers in one column are discrete actions. Contiguous float32 arrays are used without a copy:
        do not modify them while the dataset, or an agent that trains on it, exists.
        """
        arrays = {"observations": observations, "actions": actions, "rewards": rewards,
                  "terminals": terminals, "timeouts": timeouts,
                  "next_observations": next_observations, "next_actions": next_actions,
                  "episode_starts": episode_starts}
        arrays = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
        if "terminals" not in arrays:
            arrays["terminals"] = np.zeros(len(arrays["rewards"]), dtype=np.uint8)
        for name in ("observations", "actions", "next_observations", "next_actions"):
            array = arrays.get(name)
            if array is not None and array.ndim == 1 and array.dtype.kind == "f":
                arrays[name] = array[:, None]
        acts = arrays["actions"]
        reading = _core.Reading()
        reading.kind = "npz"
        reading.arrays = _core.MemoryArrays(arrays)
        reading.timeout_policy = timeout_policy
        reading.discrete = acts.dtype.kind in "iu" and (acts.ndim == 1 or acts.shape[1:] == (1,))
        config = {"dataset_kind": "memory"}
        if timeout_policy != "auto":
            config["timeout_policy"] = timeout_policy
        return cls._make(reading, config)

    @classmethod
    def mix(cls, datasets, weights=None, size=0, seed=0):
        """Mixes several files for training, in proportion to ``weights``.

        If ``size`` is 0, the mixture has as many rows as all files together.
        """
        datasets = list(datasets)
        weights = [1.0] * len(datasets) if weights is None else list(weights)
        if len(weights) != len(datasets):
            raise ConfigError("one weight for each dataset is needed "
                              f"(expected {len(datasets)}, got {len(weights)})", key="weights")
        parts = []
        for dataset, weight in zip(datasets, weights):
            if "dataset_path" not in dataset._config or len(dataset._config) != 2:
                raise ConfigError("only plain files can be mixed (expected Dataset.open(path); "
                                  "Dataset.save makes a file of arrays)", key="datasets")
            parts.append({"kind": dataset._config["dataset_kind"],
                          "path": dataset._config["dataset_path"], "weight": weight})
        return cls._make(None, {"dataset_mix": parts, "dataset_mix_size": size,
                                "dataset_mix_seed": seed})

    @classmethod
    def _of(cls, value):
        """Converts a user's dataset argument: a dataset, a path, or a dict of arrays."""
        if value is None or isinstance(value, cls):
            return value
        if isinstance(value, (str, os.PathLike)):
            return cls.open(value)
        if isinstance(value, dict):
            return cls.from_arrays(**value)
        raise DataError("no dataset (expected a Dataset, a path or a dict of arrays, got "
                        f"{type(value).__name__})", key="dataset")

    @property
    def _arrays(self):
        return self._reading.arrays if self._reading is not None else None

    def _rows(self):
        if self._reading is None:
            raise DataError("a mixture is made when training begins and has no rows yet")
        if self._loaded is None:
            self._loaded = self._reading.load()
        return self._loaded

    def __len__(self):
        """The number of usable transitions."""
        return len(self._rows())

    @property
    def fingerprint(self):
        """SHA-256 of the transitions, with actions in the units of the file."""
        return self._rows().fingerprint()

    def inspect(self):
        """Returns the output of ``rl_training dataset inspect --json`` as a dict."""
        if self._reading is None:
            raise DataError("a mixture is made when training begins; inspect its parts")
        return self._reading.inspect()

    def to_numpy(self):
        """Returns the transitions as a dict of arrays with ``len(self)`` rows each.

        Observations and actions are read-only views of your arrays or of the library's memory if their rows
        are contiguous; otherwise they are copies. ``next_observations`` is a copy if there are several episodes.
        """
        rows = self._rows()
        return {name: rows.column(name) for name in _COLUMNS}

    def episodes(self):
        """Returns (first row, number of rows) of each episode."""
        return self._rows().episodes()

    def save(self, path):
        """Writes the transitions as an npz file, which ``open`` and the program read."""
        self._rows().save(os.fspath(path))

    def __repr__(self):
        return f"Dataset({self._config})"
