"""Train in an environment given by its id, then in a vector of Gymnasium environments.

    python3 examples/python/gymnasium_online.py [STEPS]
"""

import sys

import gymnasium

import rl_training


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    options = dict(hidden_sizes=[64, 64], learning_starts=min(1000, steps // 2), eval_episodes=5,
                   eval_interval=max(1, steps // 4), log_interval=max(1, steps // 10))

    # An id of the library or of Gymnasium. If both have this id, the library's environment is used.
    agent = rl_training.SAC("MountainCarContinuous-v0", **options)
    agent.learn(steps, progress_bar=True)
    print("MountainCarContinuous-v0: return", agent.evaluate(n_episodes=5)["return_mean"])

    # Four environments at once. The function is called once for training and once for each
    # evaluation.
    agent = rl_training.DiscreteSAC(env=lambda: gymnasium.make_vec("CartPole-v1", num_envs=4),
                                    **options)
    agent.learn(steps, progress_bar=True)
    print("CartPole-v1: return", agent.evaluate(n_episodes=20)["return_mean"])

    # A task of the library, used through Gymnasium.
    env = gymnasium.make("rl_training/CartPole-v1")
    obs, _ = env.reset(seed=0)
    total, done = 0.0, False
    while not done:
        obs, reward, terminated, truncated, _ = env.step(agent.predict(obs))
        total += reward
        done = terminated or truncated
    print("the same policy in rl_training/CartPole-v1: return", total)


if __name__ == "__main__":
    main()
