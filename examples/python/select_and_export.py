"""Train several policies from a log, rank them without an environment, and export the best.

    python3 examples/python/select_and_export.py [UPDATES]
"""

import sys

import rl_training


def main():
    updates = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    # You can also use a file that was logged elsewhere: Dataset.open("log.npz").
    log = rl_training.Dataset.from_arrays(**play("Pendulum-v1", episodes=20))
    log.save("pendulum.npz")

    runs = []
    for algo in ("td3_bc", "iql", "bc"):
        with rl_training.make(algo, "pendulum.npz", action_low=-2, action_high=2,
                              hidden_sizes=[64, 64], log_interval=max(1, updates // 10)) as agent:
            runs.append(agent.learn(updates).run_dir)

    ranking = rl_training.select(runs, "pendulum.npz", updates=updates, hidden_sizes=[64, 64])
    for policy in sorted(ranking["policies"], key=lambda each: each["rank"]):
        print(f"{policy['rank']}. {policy['run']}: {policy['value']:.1f} "
              f"({policy['low']:.1f} to {policy['high']:.1f})")
    best = min(ranking["policies"], key=lambda each: each["rank"])

    agent = rl_training.load(best["run"])
    for name in ("policy.h", "policy.onnx"):
        facts = agent.export(name)
        print(f"{name}: {facts['bytes']} bytes, off by at most {facts['max_abs_error']:.1e}")
    print(len(rl_training.report("runs", output="report.html")["groups"]), "groups in report.html")


def play(name, episodes):
    """Plays episodes of random actions in a task of the library."""
    env = rl_training.Environment(name)
    env.action_space.seed(0)
    columns = {key: [] for key in ("observations", "actions", "rewards", "next_observations",
                                   "terminals", "timeouts")}
    for episode in range(episodes):
        obs, _ = env.reset(seed=episode)
        terminated = truncated = False
        while not (terminated or truncated):
            action = env.action_space.sample()
            following, reward, terminated, truncated, _ = env.step(action)
            row = (obs, action, reward, following, terminated, truncated)
            for column, value in zip(columns.values(), row):
                column.append(value)
            obs = following
    return columns


if __name__ == "__main__":
    main()
