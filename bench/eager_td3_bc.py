#!/usr/bin/env python3
"""TD3+BC in eager PyTorch, the peer that `rl_training bench` compares with.

Random transitions stand in for a dataset: only the speed of the update matters here.
The caller sets OPENBLAS_NUM_THREADS and OMP_NUM_THREADS before starting this program.

Usual run:  prints {"updates_per_second_rounds": [...]} after a warm-up.
--serve:    reads lines "run U", does U updates each time and answers with the seconds they took;
            "quit" ends. So contenders can take turns on one machine.
"""
import argparse
import copy
import json
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(inputs, hidden, outputs):
    return nn.Sequential(
        nn.Linear(inputs, hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Linear(hidden, outputs),
    )


class Actor(nn.Module):
    def __init__(self, obs_dim, action_dim, hidden):
        super().__init__()
        self.net = mlp(obs_dim, hidden, action_dim)

    def forward(self, obs):
        return torch.tanh(self.net(obs))


class TwinCritic(nn.Module):
    def __init__(self, obs_dim, action_dim, hidden):
        super().__init__()
        self.q1 = mlp(obs_dim + action_dim, hidden, 1)
        self.q2 = mlp(obs_dim + action_dim, hidden, 1)

    def forward(self, obs, action):
        inputs = torch.cat([obs, action], dim=1)
        return self.q1(inputs), self.q2(inputs)

    def first(self, obs, action):
        return self.q1(torch.cat([obs, action], dim=1))


class Dataset:
    def __init__(self, rows, obs_dim, action_dim):
        self.rows = rows
        self.obs = torch.randn(rows, obs_dim)
        self.action = torch.rand(rows, action_dim) * 2 - 1
        self.reward = torch.randn(rows, 1)
        self.next_obs = torch.randn(rows, obs_dim)
        self.not_done = (torch.rand(rows, 1) > 0.01).float()

    def sample(self, batch_size):
        index = torch.randint(0, self.rows, (batch_size,))
        return (
            self.obs[index],
            self.action[index],
            self.reward[index],
            self.next_obs[index],
            self.not_done[index],
        )


class Td3Bc:
    gamma = 0.99
    tau = 0.005
    policy_noise = 0.2
    noise_clip = 0.5
    policy_delay = 2
    bc_alpha = 2.5

    def __init__(self, obs_dim, action_dim, hidden):
        self.actor = Actor(obs_dim, action_dim, hidden)
        self.actor_target = copy.deepcopy(self.actor)
        self.critic = TwinCritic(obs_dim, action_dim, hidden)
        self.critic_target = copy.deepcopy(self.critic)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=3e-4)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=3e-4)
        self.updates = 0

    def update(self, obs, action, reward, next_obs, not_done):
        self.updates += 1
        # y = r + gamma (1 - d) min_k Q'_k(s', clip(pi'(s') + noise))
        with torch.no_grad():
            noise = torch.randn_like(action) * self.policy_noise
            noise = noise.clamp(-self.noise_clip, self.noise_clip)
            next_action = (self.actor_target(next_obs) + noise).clamp(-1, 1)
            next_q1, next_q2 = self.critic_target(next_obs, next_action)
            target = reward + self.gamma * not_done * torch.min(next_q1, next_q2)

        q1, q2 = self.critic(obs, action)
        critic_loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
        self.critic_optimizer.zero_grad(set_to_none=True)
        critic_loss.backward()
        self.critic_optimizer.step()

        if self.updates % self.policy_delay != 0:
            return
        # L = -lambda mean Q_1(s, pi(s)) + mean (pi(s) - a)^2, lambda = alpha / mean |Q_1|
        policy_action = self.actor(obs)
        q = self.critic.first(obs, policy_action)
        scale = self.bc_alpha / q.abs().mean().detach()
        actor_loss = -scale * q.mean() + F.mse_loss(policy_action, action)
        self.actor_optimizer.zero_grad(set_to_none=True)
        actor_loss.backward()
        self.actor_optimizer.step()

        self.move_target(self.critic, self.critic_target)
        self.move_target(self.actor, self.actor_target)

    def move_target(self, online, target):
        with torch.no_grad():
            for source, moved in zip(online.parameters(), target.parameters()):
                moved.copy_(self.tau * source + (1 - self.tau) * moved)


def timed_updates(agent, dataset, batch_size, updates):
    """Seconds for so many updates, sampling included."""
    start = time.perf_counter()
    for _ in range(updates):
        agent.update(*dataset.sample(batch_size))
    return time.perf_counter() - start


def serve(agent, dataset, batch_size):
    for line in sys.stdin:
        words = line.split()
        if words == ["quit"]:
            return 0
        if len(words) != 2 or words[0] != "run" or not words[1].isdigit():
            print(f'unknown request (expected "run U" or "quit", got {line!r})', file=sys.stderr)
            return 2
        print(repr(timed_updates(agent, dataset, batch_size, int(words[1]))), flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--obs", type=int, default=17)
    parser.add_argument("--action", type=int, default=6)
    parser.add_argument("--rows", type=int, default=100000)
    parser.add_argument("--torch-threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=1000, help="updates in each round")
    parser.add_argument("--warmup", type=int, default=200, help="updates before the first round")
    parser.add_argument("--serve", action="store_true", help="take requests from stdin")
    args = parser.parse_args()

    torch.set_num_threads(args.torch_threads)
    torch.manual_seed(0)
    dataset = Dataset(args.rows, args.obs, args.action)
    agent = Td3Bc(args.obs, args.action, args.hidden)
    timed_updates(agent, dataset, args.batch, args.warmup)
    if args.serve:
        return serve(agent, dataset, args.batch)
    rounds = [
        args.updates / timed_updates(agent, dataset, args.batch, args.updates)
        for _ in range(args.rounds)
    ]
    print(json.dumps({"updates_per_second_rounds": rounds}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
