#!/usr/bin/env python3
"""Performs updates in PyTorch, eager or with torch.compile, as a peer of `rl_training bench --peer`.

The code is written like an ordinary script: modules, losses, torch.optim.Adam (fused if PyTorch supports
it). With --compile, torch.compile compiles the `learn` method of each algorithm. The data are random,
because only the speed of the update matters. The caller sets OPENBLAS_NUM_THREADS and OMP_NUM_THREADS before
it starts this program. peer.py describes the protocol. eager_parts.py contains the shared parts, and
eager_more.py contains the algorithms that need unusual networks or optimisation steps.
"""
import copy
import math
import os
import sys
import time

# Without this variable, compiled code does not find the vectorised functions and uses scalar code.
if "--compile" in sys.argv:
    os.environ["TORCH_USE_RTLD_GLOBAL"] = "YES"
import torch
import torch.nn as nn
import torch.nn.functional as F

from eager_data import Batch, ChoiceDataset, Dataset, Rollout  # bench/peers uses Batch and Dataset
from eager_more import Crossq, DecisionTransformer, DrqV2, Td7, Trpo
from eager_parts import (
    FUSED, Critics, DeterministicActor, GaussianActor, Learner, SquashedGaussianActor, TwinCritic,
    adam, mlp, move_target, smoothed, step,
)
from peer import DELAYED, GAMMA, SETTINGS, SOFT, Settings, measure, parse_arguments

# --- twin critics


def twin_loss(critic, batch, target):
    q1, q2 = critic(batch.obs, batch.action)
    return F.mse_loss(q1, target) + F.mse_loss(q2, target)


class TwinCriticLearner(Learner):
    """Twin critics with their target networks and optimiser."""

    def __init__(self, sizes, rate, layer_norm=None):
        super().__init__()
        self.critic = TwinCritic(sizes, layer_norm)
        self.critic_target = copy.deepcopy(self.critic)
        self.critic_optimizer = adam(self.critic, rate)

    def step_critic(self, batch, next_value):
        target = batch.reward + GAMMA * batch.not_done * next_value
        step(self.critic_optimizer, twin_loss(self.critic, batch, target))


# --- continuous actions


class DelayedLearner(TwinCriticLearner):
    """TD3, TD3+BC and ReBRAC."""

    def __init__(self, sizes):
        super().__init__(sizes, self.s.rate, self.s.layer_norm)
        self.actor_every, self.actor_at = self.s.actor_every, self.s.actor_at
        self.actor = DeterministicActor(sizes)
        self.actor_target = copy.deepcopy(self.actor)
        self.actor_optimizer = adam(self.actor, self.s.rate)

    def penalty(self, batch, next_action):
        return 0.0

    def learn(self, batch, with_actor):
        with torch.no_grad():
            next_action = smoothed(self.actor_target, batch.next_obs, self.s)
            next_value = self.critic_target.minimum(batch.next_obs, next_action)
            next_value = next_value - self.penalty(batch, next_action)
        self.step_critic(batch, next_value)
        if not with_actor:
            return
        step(self.actor_optimizer, self.actor_loss(batch, self.actor(batch.obs)))
        move_target(self.critic, self.critic_target)
        move_target(self.actor, self.actor_target)


class Td3(DelayedLearner):
    s = Settings(rate=3e-4, actor_at=1, layer_norm=None, **DELAYED)

    def actor_loss(self, batch, action):
        return -self.critic.first(batch.obs, action).mean()


class Td3Bc(DelayedLearner):
    s = SETTINGS["td3_bc"]

    def actor_loss(self, batch, action):
        q = self.critic.first(batch.obs, action)
        scale = self.s.bc_alpha / q.abs().mean().detach()
        return -scale * q.mean() + F.mse_loss(action, batch.action)


class Rebrac(DelayedLearner):
    s = SETTINGS["rebrac"]

    def penalty(self, batch, next_action):
        return self.s.critic_bc * (next_action - batch.next_action).pow(2).sum(1)

    def actor_loss(self, batch, action):
        q = self.critic.minimum(batch.obs, action)
        scale = 1 / q.abs().mean().detach()
        bc = (action - batch.action).pow(2).sum(1)
        return (self.s.actor_bc * bc - scale * q).mean()


class Ddpg(Learner):
    def __init__(self, sizes):
        super().__init__()
        self.actor = DeterministicActor(sizes)
        self.actor_target = copy.deepcopy(self.actor)
        self.actor_optimizer = adam(self.actor, 3e-4)
        self.critic = Critics([mlp(sizes.obs + sizes.action, sizes.hidden, 1)])
        self.critic_target = copy.deepcopy(self.critic)
        self.critic_optimizer = adam(self.critic, 3e-4)

    def learn(self, batch, with_actor):
        with torch.no_grad():
            next_action = self.actor_target(batch.next_obs)
            next_value = self.critic_target(batch.next_obs, next_action)[0]
            target = batch.reward + GAMMA * batch.not_done * next_value
        step(self.critic_optimizer, F.mse_loss(self.critic(batch.obs, batch.action)[0], target))
        step(self.actor_optimizer, -self.critic(batch.obs, self.actor(batch.obs)).mean())
        move_target(self.critic, self.critic_target)
        move_target(self.actor, self.actor_target)


class Cql(TwinCriticLearner):
    s = SETTINGS["cql"]
    samples, weight = s.samples, s.weight

    def __init__(self, sizes):
        super().__init__(sizes, self.s.rate)
        self.actor = SquashedGaussianActor(sizes, learn_scale=True)
        self.actor_optimizer = adam(self.actor, self.s.actor_rate)
        self.log_alpha = nn.Parameter(torch.zeros(()))
        self.alpha_optimizer = torch.optim.Adam([self.log_alpha], lr=self.s.actor_rate, **FUSED)

    def candidates(self, batch):
        rows, dims = batch.action.shape
        n = self.samples
        uniform = torch.rand(rows, n, dims) * 2 - 1
        next_action, next_density, _ = self.actor.sample(batch.next_obs, n)
        action, density, _ = self.actor.sample(batch.obs, n)
        chance = torch.full((rows, n), -dims * math.log(2.0))
        return [(uniform, chance), (next_action, next_density), (action, density)]

    def next_value(self, batch):
        next_action = self.actor.sample(batch.next_obs)[0]
        return self.critic_target.minimum(batch.next_obs, next_action)

    def conservative(self, q, batch, candidates, data_q):
        obs = batch.obs.unsqueeze(1).expand(-1, self.samples, -1)
        values = [
            q(torch.cat([obs, action], -1)).squeeze(-1) - density for action, density in candidates
        ]
        return (torch.logsumexp(torch.cat(values, 1), 1) - data_q).mean()

    def learn(self, batch, with_actor):
        with torch.no_grad():
            candidates = self.candidates(batch)
            target = batch.reward + GAMMA * batch.not_done * self.next_value(batch)

        action, log_prob, _ = self.actor.sample(batch.obs)
        alpha = self.log_alpha.exp().detach()
        q = self.critic.minimum(batch.obs, action)
        step(self.actor_optimizer, (alpha * log_prob - q).mean())
        surplus = (log_prob - batch.action.shape[1]).detach().mean()
        step(self.alpha_optimizer, -self.log_alpha * surplus)

        q1, q2 = self.critic(batch.obs, batch.action)
        loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
        for q, data_q in ((self.critic.q1, q1), (self.critic.q2, q2)):
            loss = loss + self.weight * self.conservative(q, batch, candidates, data_q)
        step(self.critic_optimizer, loss)
        move_target(self.critic, self.critic_target)


class Crr(TwinCriticLearner):
    def __init__(self, sizes):
        super().__init__(sizes, 3e-4)
        self.actor = SquashedGaussianActor(sizes, log_std_min=-5.0)
        self.actor_target = copy.deepcopy(self.actor)
        self.actor_optimizer = adam(self.actor, 3e-4)

    def learn(self, batch, with_actor):
        with torch.no_grad():
            next_action = self.actor_target.sample(batch.next_obs)[0]
            next_value = self.critic_target.minimum(batch.next_obs, next_action)
        self.step_critic(batch, next_value)
        with torch.no_grad():
            action = self.actor.sample(batch.obs, 4)[0]
            obs = batch.obs.unsqueeze(1).expand(-1, 4, -1)
            value = self.critic.minimum(obs, action).mean(1)
            advantage = self.critic.minimum(batch.obs, batch.action) - value
            weight = advantage.clamp(max=math.log(20.0)).exp()
        step(self.actor_optimizer, -(weight * self.actor.log_prob(batch.obs, batch.action)).mean())
        move_target(self.critic, self.critic_target)
        move_target(self.actor, self.actor_target)


class Vae(nn.Module):
    def __init__(self, sizes, hidden=(750, 750)):
        super().__init__()
        self.latent = 2 * sizes.action
        self.encoder = mlp(sizes.obs + sizes.action, hidden, 2 * self.latent)
        self.decoder = mlp(sizes.obs + self.latent, hidden, sizes.action)

    def loss(self, obs, action):
        mean, log_std = self.encoder(torch.cat([obs, action], 1)).chunk(2, dim=1)
        std = log_std.clamp(-4, 15).exp()
        latent = mean + std * torch.randn_like(std)
        made = torch.tanh(self.decoder(torch.cat([obs, latent], 1)))
        kl = -0.5 * (1 + torch.log(std.pow(2)) - mean.pow(2) - std.pow(2)).mean()
        return F.mse_loss(made, action) + 0.5 * kl

    def decode_unbounded(self, obs):
        latent = torch.randn(*obs.shape[:-1], self.latent).clamp(-0.5, 0.5)
        return self.decoder(torch.cat([obs, latent], -1))

    def decode(self, obs):
        return torch.tanh(self.decode_unbounded(obs))


class PerturbationActor(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.net = mlp(sizes.obs + sizes.action, sizes.hidden, sizes.action)

    def forward(self, obs, action):
        change = torch.tanh(self.net(torch.cat([obs, action], -1)))
        return (action + 0.05 * change).clamp(-1, 1)


def best_of_candidates(critic, obs, action):
    """Returns max over n candidate actions of 0.75 min(Q_1, Q_2) + 0.25 max(Q_1, Q_2). Inputs are [rows, n, ...]."""
    q1, q2 = critic(obs, action)
    return (0.75 * torch.min(q1, q2) + 0.25 * torch.max(q1, q2)).max(1)[0]


class Bcq(TwinCriticLearner):
    def __init__(self, sizes):
        super().__init__(sizes, 1e-3)
        self.vae = Vae(sizes)
        self.vae_optimizer = adam(self.vae, 1e-3)
        self.actor = PerturbationActor(sizes)
        self.actor_target = copy.deepcopy(self.actor)
        self.actor_optimizer = adam(self.actor, 1e-3)

    def learn(self, batch, with_actor):
        step(self.vae_optimizer, self.vae.loss(batch.obs, batch.action))
        with torch.no_grad():
            next_obs = batch.next_obs.unsqueeze(1).expand(-1, 10, -1)
            next_action = self.actor_target(next_obs, self.vae.decode(next_obs))
            next_value = best_of_candidates(self.critic_target, next_obs, next_action)
        self.step_critic(batch, next_value)
        with torch.no_grad():
            made = self.vae.decode(batch.obs)
        q = self.critic.first(batch.obs, self.actor(batch.obs, made))
        step(self.actor_optimizer, -q.mean())
        move_target(self.critic, self.critic_target)
        move_target(self.actor, self.actor_target)


def laplacian(x, y):
    distance = (x.unsqueeze(2) - y.unsqueeze(1)).abs().sum(-1)
    return torch.exp(-distance / (2 * 20.0)).mean((1, 2))


class Bear(TwinCriticLearner):
    def __init__(self, sizes):
        super().__init__(sizes, 3e-4)
        self.vae = Vae(sizes)
        self.vae_optimizer = adam(self.vae, 3e-4)
        self.actor = SquashedGaussianActor(sizes, log_std_min=-5.0)
        self.actor_optimizer = adam(self.actor, 1e-4)
        self.log_alpha = nn.Parameter(torch.zeros(()))
        self.alpha_optimizer = torch.optim.Adam([self.log_alpha], lr=1e-3, **FUSED)

    def learn(self, batch, with_actor):
        step(self.vae_optimizer, self.vae.loss(batch.obs, batch.action))
        with torch.no_grad():
            next_action = self.actor.sample(batch.next_obs, 10)[0]
            next_obs = batch.next_obs.unsqueeze(1).expand(-1, 10, -1)
            next_value = best_of_candidates(self.critic_target, next_obs, next_action)
            made = self.vae.decode_unbounded(batch.obs.unsqueeze(1).expand(-1, 4, -1))

        action, _, unbounded = self.actor.sample(batch.obs, 4)
        square = laplacian(made, made) + laplacian(unbounded, unbounded)
        mmd = torch.sqrt(square - 2 * laplacian(made, unbounded) + 1e-6)
        loss = self.log_alpha.exp().detach() * (mmd - 0.05)
        if self.updates >= 40000:
            loss = loss - self.critic.minimum(batch.obs, action[:, 0])
        step(self.actor_optimizer, loss.mean())
        self.step_critic(batch, next_value)
        step(self.alpha_optimizer, -self.log_alpha.exp() * (mmd.detach().mean() - 0.05))
        with torch.no_grad():
            self.log_alpha.clamp_(-5.0, 10.0)
        move_target(self.critic, self.critic_target)


class Bc(Learner):
    def __init__(self, sizes):
        super().__init__()
        self.actor = DeterministicActor(sizes)
        self.actor_optimizer = adam(self.actor, 3e-4)

    def learn(self, batch, with_actor):
        step(self.actor_optimizer, F.mse_loss(self.actor(batch.obs), batch.action))


class Awac(TwinCriticLearner):
    def __init__(self, sizes):
        super().__init__(sizes, 3e-4)
        self.actor = GaussianActor(sizes, -20.0, tanh_mean=False)
        self.actor_optimizer = adam(self.actor, 3e-4)

    def learn(self, batch, with_actor):
        with torch.no_grad():
            next_action = self.actor.sample(batch.next_obs)
            next_value = self.critic_target.minimum(batch.next_obs, next_action)
        self.step_critic(batch, next_value)
        with torch.no_grad():
            value = self.critic.minimum(batch.obs, self.actor.sample(batch.obs))
            advantage = self.critic.minimum(batch.obs, batch.action) - value
            weight = (3.0 * advantage).exp().clamp(max=100.0)
        step(self.actor_optimizer, -(weight * self.actor.log_prob(batch.obs, batch.action)).mean())
        move_target(self.critic, self.critic_target)


class Iql(TwinCriticLearner):
    s = SETTINGS["iql"]

    def __init__(self, sizes):
        super().__init__(sizes, self.s.rate)
        self.value = mlp(sizes.obs, sizes.hidden, 1)
        self.value_optimizer = adam(self.value, self.s.rate)
        self.actor = GaussianActor(sizes, self.s.log_std_min, tanh_mean=True)
        self.actor_optimizer = adam(self.actor, self.s.rate)

    def learn(self, batch, with_actor):
        s = self.s
        with torch.no_grad():
            target_q = self.critic_target.minimum(batch.obs, batch.action)
        error = target_q - self.value(batch.obs).squeeze(-1)
        weight = (s.expectile - (error < 0).float()).abs()
        step(self.value_optimizer, (weight * error.pow(2)).mean())
        with torch.no_grad():
            advantage = target_q - self.value(batch.obs).squeeze(-1)
            weight = (s.beta * advantage).exp().clamp(max=s.max_weight)
        step(self.actor_optimizer, -(weight * self.actor.log_prob(batch.obs, batch.action)).mean())
        with torch.no_grad():
            next_value = self.value(batch.next_obs).squeeze(-1)
        self.step_critic(batch, next_value)
        move_target(self.critic, self.critic_target)


class Soft(Learner):
    outputs = 1  # output values of each critic

    def __init__(self, sizes):
        super().__init__()
        s = self.s
        self.actor_every, self.actor_at = s.actor_every, s.actor_at
        self.actor = SquashedGaussianActor(sizes, log_std_min=s.log_std_min)
        self.actor_optimizer = adam(self.actor, s.rate)
        inputs = sizes.obs + sizes.action
        self.critic = Critics(
            [mlp(inputs, sizes.hidden, self.outputs, s.layer_norm) for _ in range(s.critics)]
        )
        self.critic_target = copy.deepcopy(self.critic)
        self.critic_optimizer = adam(self.critic, s.rate)
        self.log_alpha = nn.Parameter(torch.zeros(()))
        self.alpha_optimizer = torch.optim.Adam([self.log_alpha], lr=s.rate, **FUSED)
        self.goal = s.entropy * sizes.action

    def critic_loss(self, batch, alpha):
        s = self.s
        with torch.no_grad():
            action, log_prob, _ = self.actor.sample(batch.next_obs)
            if s.target_critics < s.critics:
                next_q = self.critic_target.minimum_of_some(
                    batch.next_obs, action, s.target_critics
                )
            else:
                next_q = self.critic_target(batch.next_obs, action).amin(0)
            target = batch.reward + GAMMA * batch.not_done * (next_q - alpha * log_prob)
        error = self.critic(batch.obs, batch.action) - target
        return s.critic_scale * error.pow(2).mean(1).sum()

    def learn(self, batch, with_actor):
        s = self.s
        alpha = self.log_alpha.exp().detach()
        step(self.critic_optimizer, self.critic_loss(batch, alpha))
        move_target(self.critic, self.critic_target)
        if not with_actor:
            return
        action, log_prob, _ = self.actor.sample(batch.obs)
        q = self.critic(batch.obs, action)
        q = q.mean() if s.actor_mean else q.amin(0)
        step(self.actor_optimizer, (alpha * log_prob - q).mean())
        excess = -log_prob.detach().mean() - self.goal
        factor = self.log_alpha.exp() if s.scaled_alpha else self.log_alpha
        step(self.alpha_optimizer, factor * excess)


class Sac(Soft):
    s = SETTINGS["sac"]


class Redq(Soft):
    s = SETTINGS["redq"]


class Rlpd(Soft):
    s = SETTINGS["rlpd"]


def quantile_huber(quantiles, target):
    """Mean over all pairs of predicted quantiles [N, rows, n] and samples of the target [rows, m]."""
    count = quantiles.shape[-1]
    difference = target[:, None, :] - quantiles[..., None]
    distance = difference.abs()
    huber = torch.where(distance > 1, distance - 0.5, 0.5 * difference.pow(2))
    level = (torch.arange(count) + 0.5) / count
    return ((level[:, None] - (difference < 0).float()).abs() * huber).mean()


class Tqc(Soft):
    s = Settings(critics=5, actor_every=1, actor_at=0, actor_mean=True, entropy=-1.0,
                 scaled_alpha=False, **SOFT)
    # Quantiles per critic, and the number of the highest pooled quantiles that are dropped for each critic.
    outputs, dropped = 25, 2

    def critic_loss(self, batch, alpha):
        with torch.no_grad():
            action, log_prob, _ = self.actor.sample(batch.next_obs)
            pooled = self.critic_target(batch.next_obs, action).transpose(0, 1).flatten(1)
            kept = self.s.critics * (self.outputs - self.dropped)
            next_q = pooled.sort(1)[0][:, :kept] - (alpha * log_prob)[:, None]
            target = batch.reward[:, None] + GAMMA * batch.not_done[:, None] * next_q
        return quantile_huber(self.critic(batch.obs, batch.action), target)


class Ensemble(nn.Module):
    """N critics as batched products. Values are [N, rows]. Actions may differ by critic: [N, rows, ...]."""

    def __init__(self, sizes, count):
        super().__init__()
        widths = [sizes.obs + sizes.action, *sizes.hidden, 1]
        shapes = list(zip(widths, widths[1:]))
        self.weights = nn.ParameterList(
            [nn.Parameter((torch.rand(count, i, o) * 2 - 1) / math.sqrt(i)) for i, o in shapes]
        )
        self.biases = nn.ParameterList([nn.Parameter(torch.zeros(count, 1, o)) for _, o in shapes])
        self.count = count

    def forward(self, obs, action):
        shape = (self.count, -1, -1)
        action = action if action.dim() == 3 else action.unsqueeze(0).expand(shape)
        x = torch.cat([obs.unsqueeze(0).expand(shape), action], -1)
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            x = torch.baddbmm(bias, x, weight)
            if i + 1 < len(self.weights):
                x = torch.relu(x)
        return x.squeeze(-1)


class SacN(Learner):
    critics = 10

    def __init__(self, sizes):
        super().__init__()
        self.actor = SquashedGaussianActor(sizes, log_std_min=-5.0)
        self.actor_optimizer = adam(self.actor, 3e-4)
        self.critic = Ensemble(sizes, self.critics)
        self.critic_target = copy.deepcopy(self.critic)
        self.critic_optimizer = adam(self.critic, 3e-4)
        self.log_alpha = nn.Parameter(torch.zeros(()))
        self.alpha_optimizer = torch.optim.Adam([self.log_alpha], lr=3e-4, **FUSED)

    def more_loss(self, batch):
        return 0.0

    def learn(self, batch, with_actor):
        action, log_prob, _ = self.actor.sample(batch.obs)
        surplus = (log_prob - batch.action.shape[1]).detach().mean()
        step(self.alpha_optimizer, -self.log_alpha * surplus)
        alpha = self.log_alpha.exp().detach()
        q = self.critic(batch.obs, action).min(0)[0]
        step(self.actor_optimizer, (alpha * log_prob - q).mean())
        with torch.no_grad():
            next_action, next_log_prob, _ = self.actor.sample(batch.next_obs)
            next_q = self.critic_target(batch.next_obs, next_action).min(0)[0]
            target = batch.reward + GAMMA * batch.not_done * (next_q - alpha * next_log_prob)
        loss = (self.critic(batch.obs, batch.action) - target).pow(2).mean(1).sum()
        step(self.critic_optimizer, loss + self.more_loss(batch))
        move_target(self.critic, self.critic_target)


class Edac(SacN):
    def more_loss(self, batch):
        action = batch.action.repeat(self.critics, 1, 1).requires_grad_(True)
        q = self.critic(batch.obs, action)
        (slope,) = torch.autograd.grad(q.sum(), action, create_graph=True)
        unit = slope / (slope.norm(p=2, dim=2, keepdim=True) + 1e-10)
        unit = unit.transpose(0, 1)
        alike = torch.einsum("bik,bjk->bij", unit, unit)
        alike = (1 - torch.eye(self.critics)) * alike
        return alike.sum((1, 2)).mean() / (self.critics - 1)


class Xql(TwinCriticLearner):
    def __init__(self, sizes):
        super().__init__(sizes, 3e-4)
        layers, inputs = [], sizes.obs
        for width in sizes.hidden:
            layers += [nn.Linear(inputs, width), nn.LayerNorm(width, eps=1e-6), nn.ReLU()]
            inputs = width
        self.value = nn.Sequential(*layers, nn.Linear(inputs, 1))
        self.value_optimizer = adam(self.value, 3e-4)
        self.actor = GaussianActor(sizes, -5.0, tanh_mean=True)
        self.actor_optimizer = adam(self.actor, 3e-4)

    def learn(self, batch, with_actor):
        with torch.no_grad():
            target_q = self.critic_target.minimum(batch.obs, batch.action)
        z = ((target_q - self.value(batch.obs).squeeze(-1)) / 2.0).clamp(max=7.0)
        largest = z.max().detach().clamp(min=-1.0)
        loss = torch.exp(z - largest) - z * torch.exp(-largest) - torch.exp(-largest)
        step(self.value_optimizer, loss.mean())
        with torch.no_grad():
            weight = (3.0 * (target_q - self.value(batch.obs).squeeze(-1))).exp().clamp(max=100.0)
        step(self.actor_optimizer, -(weight * self.actor.log_prob(batch.obs, batch.action)).mean())
        with torch.no_grad():
            next_value = self.value(batch.next_obs).squeeze(-1)
            target = batch.reward + GAMMA * batch.not_done * next_value
        q1, q2 = self.critic(batch.obs, batch.action)
        huber = F.huber_loss(q1, target, delta=20.0) + F.huber_loss(q2, target, delta=20.0)
        step(self.critic_optimizer, huber)
        move_target(self.critic, self.critic_target)


class CalQl(Cql):
    weight = 5.0

    def __init__(self, sizes):
        super().__init__(sizes)
        critic_sizes = sizes._replace(hidden=[256, 256, 256, 256])
        TwinCriticLearner.__init__(self, critic_sizes, 3e-4)

    def conservative(self, q, batch, candidates, data_q):
        obs = batch.obs.unsqueeze(1).expand(-1, self.samples, -1)
        bound = batch.reward.unsqueeze(1)  # stands in for the returns in the data
        values = []
        for i, (action, density) in enumerate(candidates):
            value = q(torch.cat([obs, action], -1)).squeeze(-1)
            values.append((value if i == 0 else torch.maximum(value, bound)) - density)
        return (torch.logsumexp(torch.cat(values, 1), 1) - data_q).mean()

    def next_value(self, batch):
        next_action = self.actor.sample(batch.next_obs, self.samples)[0]
        next_obs = batch.next_obs.unsqueeze(1).expand(-1, self.samples, -1)
        return self.critic_target.minimum(next_obs, next_action).max(1)[0]


def gelu_mlp(inputs, hidden, outputs, layer_norm=False):
    layers = []
    for width in hidden:
        layers += [nn.Linear(inputs, width), nn.GELU(approximate="tanh")]
        if layer_norm:
            layers.append(nn.LayerNorm(width, eps=1e-6))
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, outputs))


class Fql(Learner):
    steps = 10

    def __init__(self, sizes):
        super().__init__()
        both = sizes.obs + sizes.action
        self.actor = gelu_mlp(both, sizes.hidden, sizes.action)
        self.flow = gelu_mlp(both + 1, sizes.hidden, sizes.action)
        self.critic = TwinCritic(sizes)
        self.critic.q1 = gelu_mlp(both, sizes.hidden, 1, layer_norm=True)
        self.critic.q2 = gelu_mlp(both, sizes.hidden, 1, layer_norm=True)
        self.critic_target = copy.deepcopy(self.critic)
        networks = (self.actor, self.flow, self.critic)
        self.optimizer = torch.optim.Adam([p for n in networks for p in n.parameters()], lr=3e-4)

    def act(self, obs, noise):
        return self.actor(torch.cat([obs, noise], 1))

    def learn(self, batch, with_actor):
        noise = torch.randn_like(batch.action)
        with torch.no_grad():
            next_action = self.act(batch.next_obs, torch.randn_like(noise)).clamp(-1, 1)
            q1, q2 = self.critic_target(batch.next_obs, next_action)
            target = batch.reward + GAMMA * batch.not_done * (q1 + q2) / 2
            x = noise
            for i in range(self.steps):
                time = torch.full((len(x), 1), i / self.steps)
                x = x + self.flow(torch.cat([batch.obs, x, time], 1)) / self.steps
            x = x.clamp(-1, 1)
        start, time = torch.randn_like(noise), torch.rand(len(noise), 1)
        way = batch.action - start
        velocity = self.flow(torch.cat([batch.obs, start + time * way, time], 1))
        action = self.act(batch.obs, noise)
        for parameter in self.critic.parameters():
            parameter.requires_grad_(False)
        q1, q2 = self.critic(batch.obs, action.clamp(-1, 1))
        for parameter in self.critic.parameters():
            parameter.requires_grad_(True)
        loss = twin_loss(self.critic, batch, target) / 2 + F.mse_loss(velocity, way)
        step(self.optimizer, loss + 10.0 * F.mse_loss(action, x) - ((q1 + q2) / 2).mean())
        move_target(self.critic, self.critic_target)


# --- discrete actions: an action is an index below `sizes.action`


class DoubleQLearner(Learner):
    """One value for each discrete action, and a target network."""

    data = ChoiceDataset

    def __init__(self, sizes):
        super().__init__()
        self.critic = mlp(sizes.obs, sizes.hidden, sizes.action)
        self.critic_target = copy.deepcopy(self.critic)
        self.optimizer = adam(self.critic, 3e-4)

    def next_choices(self, batch):
        return self.critic(batch.next_obs).argmax(1, keepdim=True)

    def td_loss(self, batch):
        with torch.no_grad():
            best = self.next_choices(batch)
            next_value = self.critic_target(batch.next_obs).gather(1, best).squeeze(1)
            target = batch.reward + GAMMA * batch.not_done * next_value
        values = self.critic(batch.obs)
        chosen = values.gather(1, batch.action.unsqueeze(1)).squeeze(1)
        return F.huber_loss(chosen, target), values, chosen

    def learn(self, batch, with_actor):
        step(self.optimizer, self.loss(batch))
        move_target(self.critic, self.critic_target)


class Dqn(DoubleQLearner):
    def loss(self, batch):
        return self.td_loss(batch)[0]


class DiscreteCql(DoubleQLearner):
    def loss(self, batch):
        loss, values, chosen = self.td_loss(batch)
        return loss + (values.logsumexp(1) - chosen).mean()


def imitation_loss(logits, action):
    return F.cross_entropy(logits, action) + 0.01 * logits.square().mean()


class DiscreteBcq(DoubleQLearner):
    def __init__(self, sizes):
        super().__init__(sizes)
        self.imitation = mlp(sizes.obs, sizes.hidden, sizes.action)
        both = nn.ModuleList([self.critic, self.imitation])
        self.optimizer = adam(both, 3e-4)

    def next_choices(self, batch):
        logits = self.imitation(batch.next_obs)
        unlikely = logits - logits.amax(1, keepdim=True) <= math.log(0.3)
        values = self.critic(batch.next_obs).masked_fill(unlikely, -math.inf)
        return values.argmax(1, keepdim=True)

    def loss(self, batch):
        return self.td_loss(batch)[0] + imitation_loss(self.imitation(batch.obs), batch.action)


class DiscreteSac(Learner):
    data = ChoiceDataset

    def __init__(self, sizes):
        super().__init__()
        self.actor = mlp(sizes.obs, sizes.hidden, sizes.action)
        self.actor_optimizer = adam(self.actor, 3e-4)
        self.critic = nn.ModuleList([mlp(sizes.obs, sizes.hidden, sizes.action) for _ in range(2)])
        self.critic_target = copy.deepcopy(self.critic)
        self.critic_optimizer = adam(self.critic, 3e-4)
        self.log_alpha = nn.Parameter(torch.zeros(()))
        self.alpha_optimizer = torch.optim.Adam([self.log_alpha], lr=3e-4, **FUSED)
        self.goal = 0.98 * math.log(sizes.action)

    @staticmethod
    def soft_value(log_probs, critic, obs, alpha):
        with torch.no_grad():
            least = torch.min(critic[0](obs), critic[1](obs))
        return (log_probs.exp() * (least - alpha * log_probs)).sum(1)

    def learn(self, batch, with_actor):
        with torch.no_grad():
            alpha = self.log_alpha.exp()
            log_probs = F.log_softmax(self.actor(batch.next_obs), 1)
            next_value = self.soft_value(log_probs, self.critic_target, batch.next_obs, alpha)
            target = batch.reward + GAMMA * batch.not_done * next_value
        loss = 0.0
        for q in self.critic:
            chosen = q(batch.obs).gather(1, batch.action.unsqueeze(1)).squeeze(1)
            loss = loss + F.huber_loss(chosen, target)
        step(self.critic_optimizer, loss)
        move_target(self.critic, self.critic_target)

        log_probs = F.log_softmax(self.actor(batch.obs), 1)
        value = self.soft_value(log_probs, self.critic, batch.obs, alpha)
        step(self.actor_optimizer, -value.mean())
        entropy = -(log_probs.exp() * log_probs).sum(1).mean().detach()
        step(self.alpha_optimizer, self.log_alpha.exp() * (entropy - self.goal))


class DiscreteBc(Learner):
    data = ChoiceDataset

    def __init__(self, sizes):
        super().__init__()
        self.actor = mlp(sizes.obs, sizes.hidden, sizes.action)
        self.optimizer = adam(self.actor, 3e-4)

    def learn(self, batch, with_actor):
        step(self.optimizer, imitation_loss(self.actor(batch.obs), batch.action))


# --- on-policy: one minibatch of a rollout


class Ppo(Learner):
    data = Rollout

    def __init__(self, sizes):
        super().__init__()
        self.actor = mlp(sizes.obs, sizes.hidden, sizes.action, activation=nn.Tanh)
        self.critic = mlp(sizes.obs, sizes.hidden, 1, activation=nn.Tanh)
        self.log_std = nn.Parameter(torch.zeros(sizes.action))
        self.parameters = [*self.actor.parameters(), *self.critic.parameters(), self.log_std]
        self.optimizer = torch.optim.Adam(self.parameters, lr=3e-4, eps=1e-5)

    def learn(self, batch, with_actor):
        obs = batch.obs.clamp(-10, 10)
        policy = torch.distributions.Normal(self.actor(obs), self.log_std.exp())
        ratio = (policy.log_prob(batch.action).sum(1) - batch.log_prob).exp()
        advantage = (batch.advantage - batch.advantage.mean()) / (batch.advantage.std() + 1e-8)
        objective = torch.min(advantage * ratio, advantage * ratio.clamp(0.8, 1.2)).mean()
        returns = batch.advantage + batch.value
        value_loss = F.mse_loss(self.critic(obs).squeeze(1), returns)
        loss = -objective + 0.5 * value_loss - 0.0 * policy.entropy().sum(1).mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters, 0.5)
        self.optimizer.step()


ALGORITHMS = {
    "td3_bc": Td3Bc,
    "rebrac": Rebrac,
    "cql": Cql,
    "crr": Crr,
    "bcq": Bcq,
    "bear": Bear,
    "bc": Bc,
    "awac": Awac,
    "iql": Iql,
    "sac_n": SacN,
    "edac": Edac,
    "sac": Sac,
    "redq": Redq,
    "rlpd": Rlpd,
    "xql": Xql,
    "cal_ql": CalQl,
    "fql": Fql,
    "dqn": Dqn,
    "discrete_cql": DiscreteCql,
    "discrete_bcq": DiscreteBcq,
    "discrete_bc": DiscreteBc,
    "discrete_sac": DiscreteSac,
    "ppo": Ppo,
    "td3": Td3,
    "ddpg": Ddpg,
    "tqc": Tqc,
    "crossq": Crossq,
    "td7": Td7,
    "trpo": Trpo,
    "decision_transformer": DecisionTransformer,
    "drq_v2": DrqV2,
}


# --- measurement


def main():
    compiled = ("--compile", "with torch.compile")
    args = parse_arguments(__doc__.splitlines()[0], ALGORITHMS, [compiled])
    if args.blas_threads != 1 and "USE_MKL=ON" in torch.__config__.show():
        return 0  # MKL uses PyTorch's threads, so this setting is redundant
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    agent = ALGORITHMS[args.algo](args.sizes)
    dataset = agent.data(args.rows, args.sizes)

    def seconds_for(updates):
        start = time.perf_counter()
        for _ in range(updates):
            agent.update(dataset.sample(args.batch, args.algo == "rebrac"))
            if agent.priorities is not None:
                dataset.set_priorities(agent.priorities)
        return time.perf_counter() - start

    if args.compile:
        agent.compile()
        seconds_for(2 * agent.actor_every + 4)  # compiles all variants of an update
    kind = "compiled" if args.compile else "eager"
    return measure(args, f"PyTorch {torch.__version__.split('+')[0]}, {kind}", seconds_for)


if __name__ == "__main__":
    sys.exit(main())
