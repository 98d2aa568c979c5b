"""The speed of `learn` beside the program's: the same config, in turns, on one thread.

    PYTHONPATH=build/python python3 bench/python/learn_speed.py PROGRAM [TURNS] [UPDATES]

Prints updates a second of both for each turn and the median of their ratios. The time is that from
the first to the last row of metrics, so starting and loading do not count.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import rl_training


def rate(run_dir):
    rows = [json.loads(line) for line in pathlib.Path(run_dir, "timing.jsonl").open()]
    first, last = rows[0], rows[-1]
    return ((last["update_count"] - first["update_count"])
            / (last["wall_time"] - first["wall_time"]))


def main():
    program = sys.argv[1]
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    updates = int(sys.argv[3]) if len(sys.argv) > 3 else 1500
    ratios = []
    with tempfile.TemporaryDirectory() as directory:
        for turn in range(turns):
            agent = rl_training.TD3BC.from_config(
                "td3_bc/pendulum", threads=1, hidden_sizes=[256, 256], batch_size=256,
                eval_episodes=0, eval_interval=10 * updates, checkpoint_interval=10 * updates,
                log_interval=updates // 5, total_timesteps=updates, seed=turn,
                output_dir=directory)

            def learn():
                with agent:
                    return rate(agent.learn().run_dir)

            def train():
                done = subprocess.run(
                    [program, "train", "--config", config, "--output-dir", f"{directory}/program",
                     "--quiet", "--json"], capture_output=True, text=True, check=True)
                return rate(json.loads(done.stdout)["run_dir"])

            config = f"{directory}/config-{turn}.json"
            pathlib.Path(config).write_text(json.dumps(agent.config))
            order = [learn, train] if turn % 2 == 0 else [train, learn]
            rates = {each.__name__: each() for each in order}
            ratios.append(rates["learn"] / rates["train"])
            print(f"turn {turn}: learn {rates['learn']:.0f}, program {rates['train']:.0f} updates/s,"
                  f" ratio {ratios[-1]:.3f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.3f} over {turns} turns of {updates} updates")


if __name__ == "__main__":
    main()
