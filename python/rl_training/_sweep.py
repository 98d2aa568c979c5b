"""Ask/tell interface to sweeps. This package or another optimiser chooses the settings to try."""

import os

from . import _core
from ._agent import Agent, make
from ._errors import ConfigError
from ._options import to_json


class Trial:
    """One combination of settings in a sweep: a config to train with each seed, up to ``pause_at``."""

    def __init__(self, facts):
        self.number = facts["number"]
        self.label = facts["label"]  # for example "learning_rate=0.001 bc_alpha=2"
        self.config = facts["config"]
        self.seeds = facts["seeds"]
        self.pause_at = facts["pause_at"]  # None: train to the end of the run
        self.metric = facts["metric"]
        self.runs = []  # directories of the trained runs

    def train(self, progress_bar=False):
        """Trains or resumes the run of each seed. Returns the mean of the metric's last value over the seeds."""
        if self.metric == "selection":
            raise ConfigError("no metric of a run (expected rl_training.select on the runs)",
                              key="metric")
        values = []
        self.runs = []
        for seed in self.seeds:
            with self._agent(seed) as agent:
                agent.learn(callback=self._goes_on, progress_bar=progress_bar)
                self.runs.append(agent.run_dir)
                values.append(agent.result["metrics"].get(self.metric))
        return None if None in values else sum(values) / len(values)

    def _agent(self, seed):
        config = {**self.config, "seed": seed}
        run = _core.find_run(to_json(config))
        return Agent.resume(run) if run else make(config.pop("algo"), **config)

    def _goes_on(self, progress):
        return (self.pause_at is None or progress.position < self.pause_at
                or progress.position >= progress.length)

    def __repr__(self):
        return f"Trial({self.number}, {self.label})"


class Sweep:
    """A sweep (docs/sweeps.md) from a YAML file or a dict. Its trials are trained in this process.

    With ``grid`` or ``random``, :meth:`ask` returns the trials of the sweep. To use another optimiser, pass
    its settings to :meth:`ask`.
    """

    def __init__(self, sweep):
        if isinstance(sweep, dict):
            self._core = _core.Sweep("", to_json(sweep))
        else:
            self._core = _core.Sweep(os.fspath(sweep), "")
        self.trials = []

    def ask(self, settings=None):
        """Returns the next trial, or None if there is none at present.

        With settings such as ``{"learning_rate": 1e-3}``, creates a trial with these settings.
        """
        facts = self._core.ask("" if settings is None else to_json(settings))
        if facts is None:
            return None
        trial = Trial(facts)
        self.trials.append(trial)
        return trial

    def tell(self, trial, value):
        """Reports the value of a trial. Pass None for a trial that failed."""
        self._core.tell(trial.number, None if value is None else float(value))

    @property
    def best(self):
        """The best trial so far, or None before the first value."""
        number = self._core.best()
        return next((trial for trial in reversed(self.trials) if trial.number == number), None)

    @property
    def output_dir(self):
        """Directory of the runs, for :func:`report`."""
        return self._core.directory()
