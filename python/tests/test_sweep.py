"""Tests of the ask/tell interface to sweeps."""

import json
import os
import pathlib
import runpy
import subprocess

import pytest

import rl_training

TINY = {"hidden_sizes": [8], "dataset_size": 300, "batch_size": 16, "eval_episodes": 1,
        "eval_interval": 10, "log_interval": 10, "checkpoint_interval": 10}


def tiny_sweep(tmp_path, **more):
    return {"config": "td3_bc/pendulum-random", "set": TINY, "total_timesteps": 40,
            "output_dir": str(tmp_path / "sweep"), **more}


def test_trials_are_those_of_the_program(tmp_path):
    spec = tiny_sweep(tmp_path, random={"learning_rate": {"log_uniform": [1e-4, 1e-2]}}, trials=4,
                      halving={"min_timesteps": 10, "factor": 2}, sweep_seed=3)
    sweep = rl_training.Sweep(spec)
    trained = []
    while (trial := sweep.ask()) is not None:
        trained.append((trial.number, trial.pause_at))
        sweep.tell(trial, trial.train())
    assert [pause for _, pause in trained] == [10] * 4 + [20] * 2 + [None]
    file = tmp_path / "sweep.json"  # YAML accepts JSON
    file.write_text(json.dumps({**spec, "output_dir": str(tmp_path / "program")}))
    done = subprocess.run([os.environ["RL_TRAINING_PROGRAM"], "sweep", str(file), "--jobs", "1",
                           "--quiet", "--json"], capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout)
    assert theirs["best"] == sweep.best.number
    run = pathlib.Path(theirs["trials"][0]["runs"][0])
    mine = pathlib.Path(sweep.best.runs[0])
    assert (mine / "metrics.jsonl").read_bytes() == (run / "metrics.jsonl").read_bytes()


def test_points_from_elsewhere(tmp_path):
    sweep = rl_training.Sweep(tiny_sweep(tmp_path, seeds=[0, 1]))
    assert sweep.ask() is None
    assert sweep.best is None
    trial = sweep.ask({"learning_rate": 0.02})
    assert trial.config["algo_kwargs"]["learning_rate"] == 0.02
    value = trial.train()
    returns = [rl_training.report(run)["groups"][0]["mean"] for run in trial.runs]
    assert value == pytest.approx(sum(returns) / 2)
    sweep.tell(trial, value)
    assert sweep.best is trial
    with pytest.raises(rl_training.ConfigError, match="not expected"):
        sweep.tell(trial, value)
    with pytest.raises(rl_training.ConfigError, match="did you mean `learning_rate`"):
        sweep.ask({"learning_rat": 0.02})


def test_optuna(tmp_path, monkeypatch, capsys):
    pytest.importorskip("optuna")
    monkeypatch.chdir(tmp_path)
    path = pathlib.Path(__file__).parents[2] / "examples/python/optuna_sweep.py"
    monkeypatch.setattr("sys.argv", [str(path), "20"])
    runpy.run_path(str(path), run_name="__main__")
    assert "best of 4 trials: learning_rate=" in capsys.readouterr().out
