"""Train from arrays without an environment, and compare two algorithms on held-out data.

    python3 examples/python/offline_from_arrays.py [UPDATES]
"""

import sys

import numpy as np

import rl_training


def record(rows=5000, length=100, seed=0):
    """Simulates a heater with a noisy controller that aims at 20 degrees: (temperature, outside) -> power."""
    random = np.random.default_rng(seed)
    obs, actions, rewards, timeouts = [], [], [], []
    temperature = outside = 0.0
    for t in range(rows):
        if t % length == 0:
            temperature, outside = random.uniform(10, 30), random.uniform(-5, 15)
        power = np.clip(0.3 * (20 - temperature) + random.normal(0, 0.5), 0, 5)
        obs.append((temperature, outside))
        actions.append((power,))
        temperature += 0.1 * (outside - temperature) * 0.2 + power * 0.3
        rewards.append(-abs(temperature - 20))
        timeouts.append(t % length == length - 1)
    return dict(observations=np.array(obs, np.float32), actions=np.array(actions, np.float32),
                rewards=np.array(rewards, np.float32), timeouts=np.array(timeouts))


def main():
    updates = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    dataset = rl_training.Dataset.from_arrays(**record())
    for name in ("td3_bc", "iql"):
        agent = rl_training.make(name, dataset, action_low=0, action_high=5, validation=0.1,
                                 hidden_sizes=[64, 64], log_interval=max(1, updates // 10),
                                 eval_interval=max(1, updates // 2))
        agent.learn(updates)
        print(f"{name}: held-out TD error {agent.metrics['validation_td_error'][-1]:.3f}, "
              f"power at 15 degrees {agent.predict([15.0, 0.0])[0]:.2f}")


if __name__ == "__main__":
    main()
