"""Learn Pendulum-v1 from logged data, continue in the environment, stop at a good return, export the policy.

    python3 examples/python/offline_to_online.py [UPDATES]
"""

import sys

import rl_training


class StopWhenGood:
    """A stateful callback that ends training after two consecutive good evaluations."""

    def __init__(self, wanted):
        self.wanted, self.good = wanted, 0

    def __call__(self, progress):
        value = progress.metrics.get("eval_return_mean")
        if value is not None:
            print(f"step {progress.position} of {progress.length}: return {value:.0f}")
            self.good = self.good + 1 if value >= self.wanted else 0
        return self.good < 2


def main():
    updates = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    agent = rl_training.TD3BC(env="Pendulum-v1", dataset_kind="recipe", dataset_id="pendulum/mixed",
                              hidden_sizes=[64, 64], eval_interval=max(1, updates // 4),
                              online=dict(total_timesteps=updates))
    agent.learn(updates, callback=StopWhenGood(-200))
    print(agent.result["stop_reason"], agent.evaluate(n_episodes=20)["return_mean"])
    print(agent.export("pendulum_policy.h"))


if __name__ == "__main__":
    main()
