"""Lets Optuna choose the points of a sweep. Needs python3-optuna (or `pip install optuna`).

    python3 optuna_sweep.py [UPDATES]
"""

import sys

import optuna

import rl_training

updates = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
sweep = rl_training.Sweep({
    "config": "td3_bc/pendulum",
    "set": {"eval_episodes": 5, "eval_interval": max(1, updates // 5)},
    "total_timesteps": updates,
    "seeds": [0, 1],
    "metric": "eval_return_mean",
    "output_dir": "runs/optuna",
})
study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
for _ in range(4):
    point = study.ask()
    trial = sweep.ask({
        "learning_rate": point.suggest_float("learning_rate", 1e-4, 3e-3, log=True),
        "bc_alpha": point.suggest_float("bc_alpha", 0.5, 5.0),
    })
    value = trial.train()
    sweep.tell(trial, value)
    study.tell(point, value)

best = sweep.best
print(f"best of {len(sweep.trials)} trials: {best.label}, runs {best.runs}")
print(f"Optuna agrees: {study.best_params}")
