"""Optuna runs a small search that minimises a metric on held-out data."""

import numpy as np
import optuna

import rl_training


def test_a_small_search(tiny):
    random = np.random.default_rng(0)
    observations = random.normal(size=(600, 2)).astype(np.float32)
    data = rl_training.Dataset.from_arrays(
        observations, np.clip(observations[:, :1] * 0.5, -1, 1), -observations[:, 0] ** 2,
        timeouts=np.arange(600) % 50 == 49)
    tiny.pop("eval_episodes")

    def objective(trial):
        options = dict(learning_rate=trial.suggest_float("learning_rate", 1e-4, 1e-2, log=True),
                       batch_size=trial.suggest_categorical("batch_size", [16, 64]))

        def prune(progress):
            value = progress.metrics.get("validation_td_error")
            if value is not None:
                trial.report(value, progress.position)
                if trial.should_prune():
                    raise optuna.TrialPruned

        with rl_training.TD3BC(data, action_low=-1, action_high=1, validation=0.2,
                               **{**tiny, **options, "eval_interval": 20}) as agent:
            agent.learn(60, callback=prune)
            return agent.metrics["validation_td_error"][-1]

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    study.optimize(objective, n_trials=6)
    states = {trial.state for trial in study.trials}
    assert states <= {optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED}
    assert len(study.trials) == 6 and np.isfinite(study.best_value)
    assert study.best_value == min(trial.value for trial in study.trials
                                   if trial.state == optuna.trial.TrialState.COMPLETE)
