"""Tests that TensorBoard reads our event files and that ONNX Runtime runs our exported policies."""

import numpy as np
import onnxruntime
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import rl_training


def test_tensorboard_reads_our_event_files(tiny):
    agent = rl_training.SAC("Pendulum-v1", **tiny, learning_starts=20).learn(100)
    events = EventAccumulator(f"{agent.run_dir}/tensorboard").Reload()
    steps = agent.metrics["global_step"]
    compared = 0
    for tag in events.Tags()["scalars"]:
        name = tag.split("/")[-1]
        if name not in agent.metrics:
            continue
        column = agent.metrics[name]
        there = ~np.isnan(column.astype(float))
        found = events.Scalars(tag)
        assert [each.step for each in found] == list(steps[there]), tag
        np.testing.assert_array_equal(np.float32([each.value for each in found]),
                                      column[there].astype(np.float32), err_msg=tag)
        compared += 1
    assert compared >= 5, events.Tags()


@pytest.mark.parametrize("algo, env", [("td3_bc", "Pendulum-v1"), ("sac", "Pendulum-v1"),
                                       ("bc", "Pendulum-v1"), ("discrete_sac", "CartPole-v1")])
def test_onnxruntime_runs_exported_policies(algo, env, tiny, tmp_path):
    data = dict(dataset_kind="random", dataset_size=300) if algo in ("td3_bc", "bc") else {}
    agent = rl_training.make(algo, env=env, **tiny, **data).learn(60)
    agent.export(tmp_path / "policy.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "policy.onnx")
    (given,) = session.get_inputs()
    size = rl_training.Environment(env).observation_space.shape[0]
    obs = np.random.default_rng(0).uniform(-2, 2, (64, size)).astype(np.float32)
    found = session.run(None, {given.name: obs})[0]
    expected = agent.predict(obs)
    if env == "CartPole-v1":
        np.testing.assert_array_equal(np.reshape(found, -1), expected)
    else:
        np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)
