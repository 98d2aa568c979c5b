import numpy as np
import pytest

import rl_training


def test_a_wrong_keyword_is_told_the_right_one(arrays):
    with pytest.raises(rl_training.ConfigError, match="did you mean `learning_rate`") as caught:
        rl_training.TD3BC(arrays, lerning_rate=1e-3)
    assert caught.value.key == "algo_kwargs.lerning_rate"
    assert isinstance(caught.value, ValueError)
    with pytest.raises(rl_training.ConfigError, match="did you mean `td3_bc`"):
        rl_training.make("td3_bcc", arrays)
    with pytest.raises(rl_training.ConfigError, match="log_interval"):
        rl_training.TD3BC(arrays, log_intervall=3)


@pytest.mark.parametrize("options, key", [
    (dict(batch_size=0), "algo_kwargs.batch_size"),
    (dict(learning_rate="fast"), "algo_kwargs.learning_rate"),
    (dict(seed=-1), "seed"),
    (dict(eval_episodes=5), "eval_episodes"),
])
def test_wrong_values_name_their_key(arrays, options, key):
    with pytest.raises(rl_training.ConfigError) as caught:
        rl_training.TD3BC(arrays, **options)
    assert caught.value.key == key


def test_values_that_are_not_finite(arrays):
    with pytest.raises(rl_training.ConfigError, match="plain values"):
        rl_training.TD3BC(arrays, gamma=float("nan"))


def test_numpy_values_are_taken(arrays):
    agent = rl_training.TD3BC(arrays, batch_size=np.int64(32), gamma=np.float32(0.5),
                              hidden_sizes=np.array([8, 8]))
    assert agent.config["algo_kwargs"]["hidden_sizes"] == [8, 8]
    assert agent.config["algo_kwargs"]["gamma"] == 0.5


def test_missing_files(tmp_path):
    with pytest.raises(rl_training.IoError, match="no such run") as caught:
        rl_training.load(tmp_path / "nothing")
    assert isinstance(caught.value, OSError) and caught.value.file == str(tmp_path / "nothing")
    with pytest.raises(rl_training.DataError, match="no such file"):
        len(rl_training.Dataset.open(tmp_path / "nothing.npz"))


def test_observations_that_do_not_fit(tiny):
    agent = rl_training.SAC("Pendulum-v1", **tiny)
    with pytest.raises(rl_training.DataError, match=r"got \(4,\)"):
        agent.predict(np.zeros(4))


def test_another_algorithm(tiny, tmp_path):
    rl_training.SAC("Pendulum-v1", **tiny).save(tmp_path / "sac")
    with pytest.raises(rl_training.ConfigError, match="expected td3, got sac"):
        rl_training.TD3.load(tmp_path / "sac")


def test_algorithm_and_actions_must_fit():
    with pytest.raises(rl_training.ConfigError, match="discrete actions"):
        rl_training.SAC("CartPole-v1")
