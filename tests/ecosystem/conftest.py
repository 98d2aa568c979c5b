import os

import pytest


@pytest.fixture
def program():
    return os.environ["RL_TRAINING_PROGRAM"]


@pytest.fixture
def tiny(tmp_path):
    """Options for a run that takes about one second."""
    return dict(hidden_sizes=[16, 16], batch_size=32, eval_episodes=1, eval_interval=1000,
                log_interval=10, checkpoint_interval=20, threads=1,
                output_dir=str(tmp_path / "runs"))
