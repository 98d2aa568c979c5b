"""Agents. An agent is created with options, trains in a run directory and predicts actions."""

import contextlib
import json
import os
import re
import signal
import sys
import threading
from typing import NamedTuple

import numpy as np

from . import _core
from ._dataset import Dataset
from ._envs import Environment, environment_config
from ._errors import ConfigError, DataError
from ._options import docstring, merge, to_json, warn


class Progress(NamedTuple):
    """The argument of a callback. Callbacks are called for each row of metrics."""

    position: int  # offline updates plus environment steps so far
    length: int  # position at the planned end of the run
    metrics: dict  # maps each metric's name to its value in the row, or to None if the row has no value


@contextlib.contextmanager
def _interrupts():
    """Yields an object for stop requests.

    In this context, Ctrl-C requests a stop instead of interrupting the work. When the context ends after such a
    request, KeyboardInterrupt is raised.
    """
    requests = _core.StopRequests()
    mine = (threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler)

    def handler(signum, frame):
        if requests.requested():  # a second Ctrl-C interrupts immediately
            raise KeyboardInterrupt
        requests.request_stop(signum)

    if mine:
        signal.signal(signal.SIGINT, handler)
    try:
        yield requests
    finally:
        if mine:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if requests.requested():
        raise KeyboardInterrupt


def _show_progress(progress):
    width = 30
    done = int(width * progress.position / max(progress.length, 1))
    shown = [f"{name} {progress.metrics[name]:.4g}"
             for name in ("eval_return_mean", "critic_loss", "actor_loss")
             if progress.metrics.get(name) is not None]
    sys.stderr.write(f"\r[{'#' * done}{'.' * (width - done)}] {progress.position}/"
                     f"{progress.length} {'  '.join(shown)}\x1b[K")
    sys.stderr.flush()


class Agent:
    """Base class of all algorithms. Use the class of an algorithm, :func:`make` or :func:`load`."""

    algo = None  # name of the algorithm, set by the subclasses
    _reads_data = True

    def __init__(self, dataset=None, env=None, **options):
        if self.algo is None:
            raise TypeError("use the class of an algorithm, or rl_training.make")
        # SAC(env): for algorithms that learn only in environments, the first argument is the
        # environment.
        if env is None and not self._reads_data and not isinstance(dataset, (Dataset, dict)):
            dataset, env = None, dataset
        self._build({"algo": self.algo}, dataset, env, options)

    def _build(self, config, dataset, env, options):
        dataset = Dataset._of(dataset)
        config = {**config, **environment_config(env)}
        if dataset is not None:
            config = merge(config, dataset._config)
        arrays = dataset._arrays if dataset is not None else None
        self._set(_core.Agent(to_json(merge(config, options)), arrays, warn))

    def _set(self, core):
        self._core = core
        self.result = None

    @classmethod
    def _wrap(cls, core):
        found = core.algo()
        if cls.algo is None:
            cls = _class_of(found)
        elif found != cls.algo:
            raise ConfigError(f"another algorithm (expected {cls.algo}, got {found})", key="algo")
        self = object.__new__(cls)
        self._set(core)
        return self

    @classmethod
    def from_config(cls, file_or_name, dataset=None, env=None, **options):
        """Creates an agent from a YAML file or a packaged config such as "td3_bc/pendulum".

        The options override values of the config.
        """
        config = _core.read_config_file(os.fspath(file_or_name))
        if cls.algo is None:
            cls = _class_of(config["algo"])
        elif config["algo"] != cls.algo:
            raise ConfigError(f"another algorithm (expected {cls.algo}, got {config['algo']})",
                              key="algo")
        self = object.__new__(cls)
        self._build(config, dataset, env, options)
        return self

    def learn(self, total_timesteps=None, callback=None, progress_bar=False):
        """Trains in a run directory below ``output_dir`` and returns the agent.

        ``total_timesteps`` is the length of the whole run, in updates (offline) or environment
        steps (online). Call learn() again with a larger value to continue. ``callback`` is a function
        or a list of functions. Each is called with a :class:`Progress` at each row of metrics and can
        return False to end training. Ctrl-C ends training with a checkpoint and raises
        KeyboardInterrupt. If a callback or an environment raises an exception, the run can be resumed.
        ``result`` describes how training ended.
        """
        callbacks = list(callback) if isinstance(callback, (list, tuple)) else [callback]
        callbacks = [each for each in callbacks if each is not None]
        if progress_bar:
            callbacks.append(_show_progress)

        def on_row(position, length, row):
            answers = [each(Progress(position, length, row)) for each in callbacks]
            return all(answer is None or bool(answer) for answer in answers)

        if total_timesteps is not None:
            self._core.set_total_timesteps(int(total_timesteps))
        try:
            with _interrupts() as requests:
                self.result = self._core.learn(requests, on_row if callbacks else None)
        finally:
            if progress_bar:
                sys.stderr.write("\n")
        return self

    def predict(self, obs):
        """Returns the greedy action for one observation, or the actions for rows of observations.

        Actions are in the environment's units: float32, or int64 if discrete. For a policy with memory, each
        observation is treated as the first of an episode.
        """
        obs = np.asarray(obs)
        shape = tuple(self._core.obs_shape())
        if obs.shape == shape:
            return self._core.predict(obs.reshape(1, -1))[0]
        if obs.shape[1:] != shape:
            raise DataError(f"does not fit the policy (expected shape {shape} or (rows, *{shape}), "
                            f"got {obs.shape})", key="obs")
        return self._core.predict(obs.reshape(len(obs), -1))

    def evaluate(self, env=None, n_episodes=10, seed=0):
        """Plays whole episodes with the greedy policy. Returns a dict with return_mean and other statistics.

        ``env`` defaults to the environment of the agent. An ``Environment`` is played with its own options; an id
        is played with the agent's options if it is the id of the agent's environment, otherwise with the defaults.
        """
        place = environment_config(env)
        options = to_json(env.env_kwargs) if isinstance(env, Environment) else ""
        with _interrupts() as requests:
            return self._core.evaluate(requests, int(n_episodes), int(seed), place.get("env_id", ""), options)

    def save(self, path):
        """Writes the agent to a checkpoint directory, which :meth:`load`, :meth:`resume` and the program can read."""
        self._core.save(os.fspath(path))

    @classmethod
    def load(cls, path, dataset=None, env=None):
        """Loads the policy of a run (its newest checkpoint) or of a checkpoint.

        Call :meth:`learn` to continue training. In that case, pass in-memory arrays and Python environments
        again.
        """
        environment_config(env)
        return cls._wrap(_core.Agent.load(os.fspath(path), _arrays_of(dataset), warn))

    @classmethod
    def resume(cls, path, dataset=None, env=None, total_timesteps=None, online_timesteps=None,
               output_dir=None):
        """Loads a run or checkpoint. learn() then continues exactly as if training had not stopped.

        Pass in-memory arrays and Python environments again; the arrays are verified.
        ``online_timesteps`` adds a phase of environment steps after the updates of an offline algorithm.
        """
        environment_config(env)
        output_dir = None if output_dir is None else os.fspath(output_dir)
        return cls._wrap(_core.Agent.resume(os.fspath(path), total_timesteps, _arrays_of(dataset),
                                            output_dir, online_timesteps, warn))

    def export(self, path, format=None, name="policy"):
        """Writes the policy as a C header (``format="c"``) or an ONNX model (``"onnx"``) and verifies the file."""
        path = os.fspath(path)
        if format is None:
            format = "onnx" if path.endswith(".onnx") else "c"
        return self._core.export(path, format, name, warn)

    def close(self):
        """Releases the run directory, so that another process or agent can resume the run.

        The agent then has the state of the newest checkpoint: learn() continues from it, and save() writes its
        policy.
        """
        self._core.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    @property
    def run_dir(self):
        """The run directory, or None before the first learn()."""
        return self._core.run_dir() or None

    @property
    def config(self):
        """All options with their values, as in config.yaml."""
        return self._core.config()

    @property
    def metrics(self):
        """The metrics of the run so far: a dict of arrays with one value per row, NaN if a row has no value."""
        if self.run_dir is None:
            return {}
        with open(os.path.join(self.run_dir, "metrics.jsonl"), encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        names = {name: None for row in rows for name in row}
        columns = {}
        for name in names:
            values = [row.get(name) for row in rows]
            whole = all(isinstance(value, int) for value in values)
            columns[name] = np.array([np.nan if value is None else value for value in values],
                                     dtype=np.int64 if whole else np.float64)
        return columns

    def __repr__(self):
        return f"{type(self).__name__}(env={self._core.env_id()!r}, run_dir={self.run_dir!r})"


def _arrays_of(dataset):
    dataset = Dataset._of(dataset)
    return dataset._arrays if dataset is not None else None


def _make_class(info):
    # The class of "TD3+BC: TD3 with a behaviour-cloning term" is TD3BC.
    name = re.sub(r"\W", "", info["title"].split(":")[0])
    name = {"DecisionTransformer": "DT"}.get(name, name)
    return type(name, (Agent,), {"algo": info["name"], "_reads_data": info["reads_data"],
                                 "__doc__": docstring(info), "__module__": "rl_training"})


CLASSES = {info["name"]: _make_class(info) for info in _core.algorithm_table()}


def _class_of(algo):
    if algo not in CLASSES:
        _core.algorithm_options(algo)  # raises an error that suggests the nearest name
    return CLASSES[algo]


def algorithms():
    """Returns the names of the algorithms."""
    return list(CLASSES)


def make(algo, dataset=None, env=None, **options):
    """Creates an agent by the name of its algorithm: ``make("td3_bc", dataset, learning_rate=1e-3)``."""
    return _class_of(algo)(dataset, env, **options)


def load(path, dataset=None, env=None):
    """Loads the policy of a run or checkpoint of any algorithm. See :meth:`Agent.load`."""
    return Agent.load(path, dataset, env)


def resume(path, dataset=None, env=None, **changes):
    """Loads a run or checkpoint of any algorithm to continue training. See :meth:`Agent.resume`."""
    return Agent.resume(path, dataset, env, **changes)


def select(runs, data=None, **options):
    """Ranks the policies of runs or checkpoints on logged data, without an environment.

    Uses fitted Q evaluation (docs/selection.md). ``data`` is a file; None uses the data of the first run. The
    options are updates, batch_size, critics, hidden_sizes, gamma, tau and seed. Returns a dict. Its list
    ``policies`` contains an estimate for each policy; the best policy has ``rank`` 1.
    """
    if data is not None:
        options["data"] = data
    with _interrupts() as requests:
        return _core.select(requests, [os.fspath(run) for run in runs], to_json(options), warn)


def report(paths="runs", output=None):
    """Groups runs that differ only in the seed, and compares the groups. Returns a dict.

    If ``output`` is set, also writes an HTML page.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return _core.report([os.fspath(path) for path in paths],
                        "" if output is None else os.fspath(output), warn)
