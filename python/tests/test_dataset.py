import numpy as np
import pytest

import rl_training
from conftest import make_arrays, resident
from rl_training import Dataset


def test_arrays_are_read_as_an_npz_file_of_them(arrays, tmp_path):
    np.savez(tmp_path / "log.npz", **arrays)
    in_memory, in_file = Dataset.from_arrays(**arrays), Dataset.open(tmp_path / "log.npz")
    assert len(in_memory) == len(in_file) == 400
    assert in_memory.fingerprint == in_file.fingerprint
    assert in_memory.episodes() == [(50 * i, 50) for i in range(8)]
    mine, theirs = in_memory.inspect(), in_file.inspect()
    assert (mine.pop("kind"), theirs.pop("kind")) == ("memory", "npz")
    assert mine == theirs
    assert mine["rows"] == 400 and mine["timeouts"] == 8


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_to_numpy_gives_back_what_went_in(arrays, dtype):
    given = {name: array.astype(dtype) if array.dtype == np.float32 else array
             for name, array in arrays.items()}
    out = Dataset.from_arrays(**given).to_numpy()
    for name, array in given.items():
        expected = array if array.dtype == bool else array.astype(np.float32)
        np.testing.assert_array_equal(out[name], expected, err_msg=name)


def test_float32_arrays_are_used_where_they_are(arrays):
    dataset = Dataset.from_arrays(**arrays)
    out = dataset.to_numpy()
    for name in ("observations", "actions"):
        assert np.shares_memory(out[name], arrays[name]), name
        assert out[name].ctypes.data == arrays[name].ctypes.data
        assert not out[name].flags.writeable and arrays[name].flags.writeable
    # The last observations of episodes are only in `next_observations`, so only values are compared.
    np.testing.assert_array_equal(out["next_observations"], arrays["next_observations"])
    assert np.shares_memory(out["rewards"], dataset.to_numpy()["rewards"])
    expected = {name: array.copy() for name, array in arrays.items()}
    del dataset
    arrays.clear()
    for name, array in expected.items():  # the views keep the memory alive
        np.testing.assert_array_equal(out[name], array, err_msg=name)


def test_memory_is_not_needed_twice():
    rows, width = 30_000, 512
    observations = np.ones((rows, width), np.float32)  # 61 MB
    terminals = np.arange(rows) % 100 == 99
    before = resident()
    dataset = Dataset.from_arrays(observations, np.zeros((rows, 1), np.float32),
                                  np.zeros(rows, np.float32), terminals)
    assert len(dataset) == rows and len(dataset.episodes()) == rows // 100
    out = dataset.to_numpy()["observations"]
    assert resident() - before < 0.2 * observations.nbytes
    assert out.ctypes.data == observations.ctypes.data


def test_other_arrays_are_copied(arrays):
    wide = np.repeat(arrays["observations"], 2, axis=1)
    strided = Dataset.from_arrays(**dict(arrays, observations=wide[:, ::2])).to_numpy()
    assert not np.shares_memory(strided["observations"], wide)
    np.testing.assert_array_equal(strided["observations"], arrays["observations"])
    assert Dataset.from_arrays(**arrays).fingerprint == Dataset.from_arrays(
        **{name: array.astype(np.float64) for name, array in arrays.items()}).fingerprint


def test_to_numpy_is_a_view_where_rows_lie_side_by_side():
    arrays = make_arrays(rows=50, episode=50)
    dataset = Dataset.from_arrays(**{name: array.astype(np.float64) if array.dtype == np.float32
                                     else array for name, array in arrays.items()})
    first, second = dataset.to_numpy(), dataset.to_numpy()
    obs, following = first["observations"], first["next_observations"]
    for name, column in first.items():
        assert np.shares_memory(column, second[name]) and not column.flags.writeable, name
    assert np.shares_memory(obs[1:], following[:-1])
    del dataset, second
    np.testing.assert_array_equal(obs, arrays["observations"])  # the view keeps the memory alive


def test_choices(tmp_path):
    arrays = make_arrays()
    arrays["actions"] = (arrays["actions"][:, 0] > 0).astype(np.int64)
    out = Dataset.from_arrays(**arrays).to_numpy()
    np.testing.assert_array_equal(out["actions"], arrays["actions"])
    agent = rl_training.DiscreteSAC(Dataset.from_arrays(**arrays), learn_from="data",
                                    hidden_sizes=[8], batch_size=16, output_dir=tmp_path)
    assert agent.learn(10).predict(np.zeros((3, 2))).dtype == np.int64


def test_wrong_arrays_name_the_array_and_the_row(arrays):
    arrays["rewards"][7] = np.nan
    with pytest.raises(rl_training.DataError, match="row 7") as caught:
        len(Dataset.from_arrays(**arrays))
    assert (caught.value.file, caught.value.key) == ("arrays", "rewards")
    arrays["rewards"] = arrays["rewards"][:-1]
    with pytest.raises(rl_training.DataError, match="rewards"):
        len(Dataset.from_arrays(**arrays))
    with pytest.raises(rl_training.DataError, match="not an array of numbers"):
        Dataset.from_arrays(np.array(["a"]), [0.0], [0.0])


def test_training_from_arrays_and_resuming(arrays, tiny, tmp_path):
    tiny.pop("eval_episodes")
    options = dict(tiny, action_low=-2, action_high=2)
    straight = rl_training.TD3BC(Dataset.from_arrays(**arrays), **options).learn(60)
    agent = rl_training.TD3BC(arrays, **options).learn(30)  # a dict of arrays is also accepted
    run_dir = agent.run_dir
    agent.close()
    with pytest.raises(rl_training.ConfigError, match="arrays in memory") as caught:
        rl_training.resume(run_dir, total_timesteps=60)
    assert caught.value.key == "dataset_kind"
    other = dict(arrays, rewards=arrays["rewards"] + 1)
    with pytest.raises(rl_training.DataError, match="not the one this run was trained on"):
        rl_training.resume(run_dir, dataset=other, total_timesteps=60)
    resumed = rl_training.resume(run_dir, dataset=arrays, total_timesteps=60).learn()
    obs = arrays["observations"][:9]
    np.testing.assert_array_equal(resumed.predict(obs), straight.predict(obs))
    for name, column in straight.metrics.items():
        np.testing.assert_array_equal(resumed.metrics[name], column, err_msg=name)


def test_training_from_arrays_equals_training_from_the_file(arrays, tiny, tmp_path):
    tiny.pop("eval_episodes")
    Dataset.from_arrays(**arrays).save(tmp_path / "log.npz")
    options = dict(tiny, action_low=-2, action_high=2)
    in_memory = rl_training.IQL(arrays, **options).learn(30)
    in_file = rl_training.IQL(tmp_path / "log.npz", **options).learn(30)
    obs = arrays["observations"][:9]
    np.testing.assert_array_equal(in_memory.predict(obs), in_file.predict(obs))


def test_mix(arrays, tiny, tmp_path):
    for name, seed in (("a", 1), ("b", 2)):
        Dataset.from_arrays(**make_arrays(seed=seed)).save(tmp_path / f"{name}.npz")
    parts = [Dataset.open(tmp_path / "a.npz"), Dataset.open(tmp_path / "b.npz")]
    mixture = Dataset.mix(parts, weights=[3, 1], size=200, seed=5)
    tiny.pop("eval_episodes")
    agent = rl_training.BC(mixture, **tiny).learn(10)
    assert agent.metrics["dataset_size"][-1] == 200
    with pytest.raises(rl_training.ConfigError, match="only plain files"):
        Dataset.mix([Dataset.from_arrays(**arrays)])
