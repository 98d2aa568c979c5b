"""Tests of callbacks, stopping and interrupting training."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import rl_training
from conftest import Point, resident

SLOW = 10_000_000  # more updates than any test performs


@pytest.fixture
def options(tiny, arrays):
    tiny.pop("eval_episodes")
    return dict(tiny, dataset=arrays, action_low=-2, action_high=2)


def test_callbacks_see_each_row(options):
    seen = []
    agent = rl_training.TD3BC(**options).learn(50, callback=[seen.append, lambda progress: None])
    assert [each.position for each in seen] == [10, 20, 30, 40, 50]
    assert {each.length for each in seen} == {50}
    losses = [each.metrics["critic_loss"] for each in seen]
    np.testing.assert_array_equal(losses, agent.metrics["critic_loss"])


def test_a_callback_stops_training(options):
    straight = rl_training.TD3BC(**options).learn(50)
    agent = rl_training.TD3BC(**options)
    agent.learn(50, callback=lambda progress: progress.position < 25)
    assert agent.result["stop_reason"] == "callback"
    assert agent.result["update_count"] == 30
    agent.learn()  # resumes the run that the callback stopped
    assert agent.result["stop_reason"] == "total_timesteps"
    np.testing.assert_array_equal(agent.metrics["critic_loss"], straight.metrics["critic_loss"])


def test_an_exception_of_a_callback_leaves_a_run_to_resume(options):
    def fail(progress):
        if progress.position == 30:
            raise KeyError("broken callback")

    agent = rl_training.TD3BC(**options)
    with pytest.raises(KeyError, match="broken callback"):
        agent.learn(50, callback=fail)
    run_dir = agent.run_dir
    assert os.path.isdir(os.path.join(run_dir, "checkpoints", "step-000000030"))
    agent.close()
    resumed = rl_training.resume(run_dir, dataset=options["dataset"]).learn()
    straight = rl_training.TD3BC(**options).learn(50)
    np.testing.assert_array_equal(resumed.metrics["critic_loss"], straight.metrics["critic_loss"])


def test_ctrl_c_ends_with_a_checkpoint(options):
    options["checkpoint_interval"] = SLOW
    agent = rl_training.TD3BC(**options)
    before = signal.getsignal(signal.SIGINT)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        agent.learn(SLOW)
    assert signal.getsignal(signal.SIGINT) is before
    assert agent.result["stop_reason"] == "signal"
    done = agent.result["update_count"]
    assert os.path.isdir(agent.result["checkpoint"])
    run_dir = agent.run_dir
    agent.close()
    resumed = rl_training.resume(run_dir, dataset=options["dataset"],
                                 total_timesteps=done + 20).learn()
    straight = rl_training.TD3BC(**options).learn(done + 20)
    obs = options["dataset"]["observations"][:5]
    np.testing.assert_array_equal(resumed.predict(obs), straight.predict(obs))


def test_ctrl_c_inside_an_environment_of_python(tiny):
    class Sleepy(Point):
        def step(self, action):
            time.sleep(0.001)  # so that the signal usually arrives inside Python code
            return super().step(action)

    tiny.update(eval_episodes=0, checkpoint_interval=SLOW)
    agent = rl_training.SAC(env=Sleepy, **tiny, learning_starts=SLOW - 1)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        agent.learn(SLOW)
    assert agent.result["stop_reason"] == "signal"
    assert agent.result["global_step"] > 10
    assert os.path.isdir(agent.result["checkpoint"])


def test_ctrl_c_ends_an_evaluation(tiny):
    class Endless(Point):
        def __init__(self):
            super().__init__(length=10**9)

        def step(self, action):
            return (*super().step(0 * action)[:2], False, False, {})

    agent = rl_training.SAC(env=Endless, **tiny)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        agent.evaluate(n_episodes=1)


def test_other_threads_run_while_training(options):
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.01):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    rl_training.TD3BC(**dict(options, log_interval=1000)).learn(1500)
    stop.set()
    thread.join()
    assert len(ticks) >= 5


def test_one_run_at_a_time_in_a_directory(options):
    with rl_training.TD3BC(**options) as agent:
        agent.learn(20)
        with pytest.raises(rl_training.IoError):
            rl_training.resume(agent.run_dir, dataset=options["dataset"], total_timesteps=40)
    rl_training.resume(agent.run_dir, dataset=options["dataset"], total_timesteps=40)


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
import rl_training
from conftest import make_arrays
def kill(progress):
    if progress.position == 70:
        os.kill(os.getpid(), signal.SIGKILL)
rl_training.TD3BC(make_arrays(), **{options!r}).learn(100, callback=kill)
"""


def test_killed_and_resumed_equals_uninterrupted(options, tmp_path):
    data = options.pop("dataset")
    options["output_dir"] = str(tmp_path / "killed")
    code = KILLED.format(tests=os.path.dirname(__file__), options=options)
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    (name,) = os.listdir(tmp_path / "killed")
    resumed = rl_training.resume(tmp_path / "killed" / name, dataset=data).learn()
    straight = rl_training.TD3BC(data, **options).learn(100)
    for name, column in straight.metrics.items():
        np.testing.assert_array_equal(resumed.metrics[name], column, err_msg=name)


def test_progress_bar(options, capfd):
    rl_training.TD3BC(**options).learn(20, progress_bar=True)
    shown = capfd.readouterr()
    assert "20/20" in shown.err and "critic_loss" in shown.err and shown.out == ""


def test_warnings_of_the_data_are_python_warnings(options):
    for bound in ("action_low", "action_high"):
        options.pop(bound)
    with pytest.warns(UserWarning, match="action_low"):
        rl_training.TD3BC(**options).learn(10)


def test_select_and_report(options, tmp_path):
    rl_training.Dataset.from_arrays(**options.pop("dataset")).save(tmp_path / "log.npz")
    agents = [rl_training.make(algo, tmp_path / "log.npz", **options).learn(20)
              for algo in ("td3_bc", "bc")]
    runs = [agent.run_dir for agent in agents]
    ranking = rl_training.select(runs, updates=20, hidden_sizes=[16], critics=2)
    assert [policy["run"] for policy in ranking["policies"]] == runs
    assert sorted(policy["rank"] for policy in ranking["policies"]) == [1, 2]
    assert ranking == rl_training.select(runs, updates=20, hidden_sizes=[16], critics=2)
    with pytest.raises(rl_training.ConfigError, match="did you mean `updates`"):
        rl_training.select(runs, update=20)
    for agent in agents:
        agent.close()
    groups = rl_training.report(options["output_dir"], output=tmp_path / "report.html")["groups"]
    assert {group["algo"] for group in groups} == {"td3_bc", "bc"}
    assert (tmp_path / "report.html").stat().st_size > 1000


def test_export(tiny, tmp_path):
    agent = rl_training.SAC("Pendulum-v1", **tiny)
    facts = agent.export(tmp_path / "policy.h")
    assert facts["format"] == "c" and facts["max_abs_error"] < 1e-5
    assert "policy" in (tmp_path / "policy.h").read_text()
    agent.export(tmp_path / "policy.onnx")
    assert (tmp_path / "policy.onnx").stat().st_size > 1000
    with pytest.raises(rl_training.ConfigError, match="expected c | onnx"):
        agent.export(tmp_path / "x", format="exe")


def test_memory_of_many_agents_stays_flat(options):
    def cycle():
        with rl_training.TD3BC(**options) as agent:
            agent.learn(2)

    options.update(log_interval=2, checkpoint_interval=2)
    for _ in range(20):
        cycle()
    before = resident()
    for _ in range(100):
        cycle()
    assert resident() - before < 4e6


TORCH = """
import concurrent.futures, sys
{imports}
def seen():  # here, and in a thread that starts now
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return torch.get_num_threads(), pool.submit(torch.get_num_threads).result()
torch.set_num_threads(3)
threads, grad = seen(), torch.is_grad_enabled()
state = torch.get_rng_state()
a = torch.rand(300, 300, generator=torch.Generator().manual_seed(1))
before = a @ a
agent = rl_training.TD3BC(env="Pendulum-v1", dataset_kind="random",
    dataset_size=200, hidden_sizes=[16], batch_size=16, eval_episodes=1, output_dir=sys.argv[1])
agent.learn(20)
agent.predict([0.0, 0.0, 0.0])
assert seen() == threads == (3, 3), (seen(), threads)
assert torch.is_grad_enabled() == grad and torch.equal(torch.get_rng_state(), state)
assert torch.equal(a @ a, before)
"""


@pytest.mark.parametrize("first", ["torch", "rl_training"])
def test_beside_torch(first, tmp_path):
    probe = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True)
    if probe.returncode != 0:
        pytest.skip("python3-torch is not installed")
    second = "rl_training" if first == "torch" else "torch"
    code = TORCH.format(imports=f"import {first}\nimport {second}")
    subprocess.run([sys.executable, "-c", code, tmp_path], check=True)
