"""Train SAC in your own environment, then RLPD with data recorded by SAC's policy.

    python3 examples/python/own_environment.py [STEPS]
"""

import sys

import numpy as np

import rl_training


class Space:
    def __init__(self, low, high):
        self.low, self.high = np.asarray(low, np.float32), np.asarray(high, np.float32)
        self.shape = self.low.shape


class Cart:
    """Bring a cart to 0 and keep it there. Has Gymnasium's interface but does not need Gymnasium."""

    observation_space = Space([-np.inf] * 2, [np.inf] * 2)
    action_space = Space([-1], [1])

    def reset(self, *, seed=None, options=None):
        self.x, self.v = np.random.default_rng(seed).uniform(-1, 1, 2)
        self.steps = 0
        return self._observe(), {}

    def step(self, action):
        self.v = 0.95 * self.v + 0.1 * float(action[0])
        self.x += 0.1 * self.v
        self.steps += 1
        return self._observe(), -self.x**2 - 0.01 * float(action[0]) ** 2, False, self.steps == 100, {}

    def _observe(self):
        return np.array([self.x, self.v], np.float32)


def record(agent, episodes):
    columns = {name: [] for name in ("observations", "actions", "rewards", "timeouts")}
    env = Cart()
    for episode in range(episodes):
        obs, _ = env.reset(seed=episode)
        done = False
        while not done:
            action = agent.predict(obs)
            following, reward, _, done, _ = env.step(action)
            for name, value in zip(columns, (obs, action, reward, done)):
                columns[name].append(value)
            obs = following
    return {name: np.array(values) for name, values in columns.items()}


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    options = dict(env=Cart, hidden_sizes=[64, 64], learning_starts=min(500, steps // 2),
                   eval_episodes=5, eval_interval=max(1, steps // 2), log_interval=max(1, steps // 10))
    sac = rl_training.SAC(**options).learn(steps, progress_bar=True)
    print("SAC:", sac.evaluate(n_episodes=10)["return_mean"])
    rlpd = rl_training.RLPD(record(sac, episodes=10), gradient_updates_per_step=1, **options)
    rlpd.learn(steps // 2)
    print("RLPD:", rlpd.evaluate(n_episodes=10)["return_mean"])


if __name__ == "__main__":
    main()
