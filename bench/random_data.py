"""Random transitions with Hopper's dimensions; their values do not affect the measured times."""
import numpy as np

OBS, ACTION = 11, 3
ROW_BYTES = 4 * (OBS + ACTION) + 16  # bytes per row in the mapped cache


def write_dataset(path, rows):
    random = np.random.default_rng(0)
    ends = np.zeros(rows, dtype=bool)
    ends[999::1000] = True
    np.savez(path, observations=random.standard_normal((rows, OBS), dtype=np.float32),
             actions=random.random((rows, ACTION), dtype=np.float32) * 2 - 1,
             rewards=random.standard_normal(rows, dtype=np.float32),
             terminals=np.zeros(rows, dtype=bool), timeouts=ends)


def config_arguments(data, updates, algo="td3_bc", **changes):
    """Returns arguments of `train`: the algorithm's Hopper config on a file that write_dataset wrote.

    No environment is used.
    """
    words = ["--config", f"{algo}/hopper-medium-v2", "--threads", "1", "--total-timesteps",
             str(updates), "--quiet", "--json"]
    settings = {"env_id": "none", "eval_episodes": 0, "dataset_kind": "npz", "dataset_path": data,
                "action_low": -1, "action_high": 1, **changes}
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    return words
