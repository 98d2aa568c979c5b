"""Watch a run with callbacks: save the best policy, and stop when nothing improves.

    python3 examples/python/own_callback.py [STEPS]
"""

import sys

import rl_training


class KeepBest:
    """Saves the policy whenever an evaluation is better than all previous ones."""

    def __init__(self, agent, path):
        self.agent, self.path, self.best, self.since = agent, path, None, 0

    def __call__(self, progress):
        value = progress.metrics.get("eval_return_mean")
        if value is None:
            return True
        self.since += 1
        if self.best is None or value > self.best:
            self.best, self.since = value, 0
            self.agent.save(f"{self.path}-{progress.position}")
        return self.since < 5  # False ends training and writes a checkpoint


def losses(progress):
    """Prints the critic loss. A callback may return nothing."""
    if progress.metrics.get("critic_loss") is not None:
        print(f"{progress.position}/{progress.length}: "
              f"critic loss {progress.metrics['critic_loss']:.3f}")


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    agent = rl_training.SAC("Pendulum-v1", hidden_sizes=[64, 64], eval_episodes=3,
                            learning_starts=min(500, steps // 2), log_interval=max(1, steps // 6),
                            eval_interval=max(1, steps // 3))
    keep = KeepBest(agent, "best-policy")
    agent.learn(steps, callback=[keep, losses])
    print(f"{agent.result['stop_reason']}; best return {keep.best:.0f}")


if __name__ == "__main__":
    main()
