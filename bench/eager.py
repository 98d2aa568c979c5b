#!/usr/bin/env python3
"""Updates in PyTorch, eager or with torch.compile: peers of `rl_training bench --peer`.

The code is written like an ordinary script: modules, losses, torch.optim.Adam (fused if PyTorch supports
it). With --compile, the `learn` method of an algorithm is compiled by torch.compile. The data are random
transitions, because only the speed of the update matters. The caller sets OPENBLAS_NUM_THREADS and
OMP_NUM_THREADS before it starts this program. peer.py describes the protocol.
"""
import copy
import math
import os
import sys
import time
from collections import namedtuple

# Without this variable, compiled code does not find the vectorised functions and uses scalar code.
if "--compile" in sys.argv:
    os.environ["TORCH_USE_RTLD_GLOBAL"] = "YES"
import torch
import torch.nn as nn
import torch.nn.functional as F

from peer import GAMMA, SETTINGS, TAU, measure, parse_arguments

FUSED = {"fused": True} if torch.__version__ >= (2, 4) else {}
Batch = namedtuple("Batch", "obs action reward next_obs not_done next_action")


# --- shared parts


def mlp(inputs, hidden, outputs, layer_norm=None):
    layers = []
    for width in hidden:
        norm = [nn.LayerNorm(width, eps=1e-6)] if layer_norm else []
        layers.append(nn.Linear(inputs, width))
        layers += norm + [nn.ReLU()] if layer_norm == "before" else [nn.ReLU()] + norm
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, outputs))


class DeterministicActor(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.net = mlp(sizes.obs, sizes.hidden, sizes.action)

    def forward(self, obs):
        return torch.tanh(self.net(obs))


class TwinCritic(nn.Module):
    def __init__(self, sizes, layer_norm=None):
        super().__init__()
        self.q1 = mlp(sizes.obs + sizes.action, sizes.hidden, 1, layer_norm)
        self.q2 = mlp(sizes.obs + sizes.action, sizes.hidden, 1, layer_norm)

    def forward(self, obs, action):
        inputs = torch.cat([obs, action], dim=-1)
        return self.q1(inputs).squeeze(-1), self.q2(inputs).squeeze(-1)

    def minimum(self, obs, action):
        return torch.min(*self(obs, action))

    def first(self, obs, action):
        return self.q1(torch.cat([obs, action], dim=-1)).squeeze(-1)


class SquashedGaussianActor(nn.Module):
    def __init__(self, sizes, log_std_min=-20.0, log_std_max=2.0, learn_scale=False):
        super().__init__()
        self.net = mlp(sizes.obs, sizes.hidden, 2 * sizes.action)
        self.bounds = (log_std_min, log_std_max)
        self.scale = nn.Parameter(torch.tensor([1.0, -1.0])) if learn_scale else None

    def head(self, obs):
        mean, log_std = self.net(obs).chunk(2, dim=-1)
        if self.scale is not None:
            log_std = log_std * self.scale[0] + self.scale[1]
        return mean, log_std.clamp(*self.bounds)

    def sample(self, obs, count=0):
        """Returns actions, log densities and unbounded actions. `count` > 0 adds a dimension of that size."""
        mean, log_std = self.head(obs)
        if count > 0:
            mean = mean.unsqueeze(1).expand(-1, count, -1)
            log_std = log_std.unsqueeze(1).expand(-1, count, -1)
        noise = torch.randn_like(mean)
        unbounded = mean + log_std.exp() * noise
        return torch.tanh(unbounded), self.density(noise, log_std, unbounded), unbounded

    def log_prob(self, obs, action):
        mean, log_std = self.head(obs)
        unbounded = torch.atanh(action.clamp(-1 + 1e-5, 1 - 1e-5))
        return self.density((unbounded - mean) * (-log_std).exp(), log_std, unbounded)

    @staticmethod
    def density(noise, log_std, unbounded):
        terms = -0.5 * noise.pow(2) - log_std - 0.5 * math.log(2 * math.pi)
        slope = 2 * (math.log(2.0) - unbounded - F.softplus(-2 * unbounded))
        return (terms - slope).sum(-1)


class GaussianActor(nn.Module):
    """A Gaussian policy without tanh, with one trainable standard deviation for each action."""

    def __init__(self, sizes, log_std_min, tanh_mean):
        super().__init__()
        self.net = mlp(sizes.obs, sizes.hidden, sizes.action)
        self.log_std = nn.Parameter(torch.zeros(sizes.action))
        self.log_std_min, self.tanh_mean = log_std_min, tanh_mean

    def distribution(self, obs):
        mean = self.net(obs)
        if self.tanh_mean:
            mean = torch.tanh(mean)
        return torch.distributions.Normal(mean, self.log_std.clamp(self.log_std_min, 2.0).exp())

    def sample(self, obs):
        return self.distribution(obs).rsample().clamp(-1, 1)

    def log_prob(self, obs, action):
        return self.distribution(obs).log_prob(action).sum(-1)


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


def adam(module, rate):
    return torch.optim.Adam(module.parameters(), lr=rate, **FUSED)


def step(optimizer, loss):
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


def move_target(online, target):
    with torch.no_grad():
        for source, moved in zip(online.parameters(), target.parameters()):
            moved.copy_(TAU * source + (1 - TAU) * moved)


def twin_loss(critic, batch, target):
    q1, q2 = critic(batch.obs, batch.action)
    return F.mse_loss(q1, target) + F.mse_loss(q2, target)


def smoothed(actor, obs, s):
    """Returns the target policy's action with clipped noise."""
    action = actor(obs)
    noise = (torch.randn_like(action) * s.policy_noise).clamp(-s.noise_clip, s.noise_clip)
    return (action + noise).clamp(-1, 1)


class Learner:
    """Base class. The actor is trained in updates with number % actor_every == actor_at."""

    actor_every, actor_at = 1, 0

    def __init__(self):
        self.updates = 0

    def compile(self):
        """Compiles losses and backward passes. Optimisers and the choice of random critics stay eager."""
        global step
        step = torch.compiler.disable(step)
        Critics.minimum_of_some = torch.compiler.disable(Critics.minimum_of_some)
        self.learn = torch.compile(self.learn)

    def update(self, batch):
        self.learn(batch, self.updates % self.actor_every == self.actor_at)
        self.updates += 1


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


# --- algorithms


class DelayedLearner(TwinCriticLearner):
    """TD3+BC and ReBRAC."""

    def __init__(self, sizes):
        self.s = SETTINGS[self.name]
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


class Td3Bc(DelayedLearner):
    name = "td3_bc"

    def actor_loss(self, batch, action):
        q = self.critic.first(batch.obs, action)
        scale = self.s.bc_alpha / q.abs().mean().detach()
        return -scale * q.mean() + F.mse_loss(action, batch.action)


class Rebrac(DelayedLearner):
    name = "rebrac"

    def penalty(self, batch, next_action):
        return self.s.critic_bc * (next_action - batch.next_action).pow(2).sum(1)

    def actor_loss(self, batch, action):
        q = self.critic.minimum(batch.obs, action)
        scale = 1 / q.abs().mean().detach()
        bc = (action - batch.action).pow(2).sum(1)
        return (self.s.actor_bc * bc - scale * q).mean()


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


class PerturbationActor(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.net = mlp(sizes.obs + sizes.action, sizes.hidden, sizes.action)

    def forward(self, obs, action):
        change = torch.tanh(self.net(torch.cat([obs, action], -1)))
        return (action + 0.05 * change).clamp(-1, 1)


def best_of_candidates(critic, obs, action):
    """Maximum over candidates of 0.75 min + 0.25 max of both critics. Inputs are [rows, n, ...]."""
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


class Critics(nn.Module):
    """N critics as separate networks, which is faster here than batched products. Returns [N, rows]."""

    def __init__(self, sizes, count, layer_norm=None):
        super().__init__()
        inputs = sizes.obs + sizes.action
        nets = [mlp(inputs, sizes.hidden, 1, layer_norm) for _ in range(count)]
        self.nets = nn.ModuleList(nets)

    def forward(self, obs, action):
        inputs = torch.cat([obs, action], -1)
        return torch.stack([net(inputs).squeeze(-1) for net in self.nets])

    def minimum_of_some(self, obs, action, count):
        """Returns the minimum over `count` critics that are drawn at random."""
        inputs = torch.cat([obs, action], -1)
        members = torch.randperm(len(self.nets))[:count].tolist()
        return torch.stack([self.nets[i](inputs).squeeze(-1) for i in members]).amin(0)


class Soft(Learner):
    def __init__(self, sizes):
        super().__init__()
        s = self.s = SETTINGS[self.name]
        self.actor_every, self.actor_at = s.actor_every, s.actor_at
        self.actor = SquashedGaussianActor(sizes, log_std_min=s.log_std_min)
        self.actor_optimizer = adam(self.actor, s.rate)
        self.critic = Critics(sizes, s.critics, s.layer_norm)
        self.critic_target = copy.deepcopy(self.critic)
        self.critic_optimizer = adam(self.critic, s.rate)
        self.log_alpha = nn.Parameter(torch.zeros(()))
        self.alpha_optimizer = torch.optim.Adam([self.log_alpha], lr=s.rate, **FUSED)
        self.goal = s.entropy * sizes.action

    def learn(self, batch, with_actor):
        s = self.s
        with torch.no_grad():
            alpha = self.log_alpha.exp()
            action, log_prob, _ = self.actor.sample(batch.next_obs)
            if s.target_critics < s.critics:
                next_q = self.critic_target.minimum_of_some(
                    batch.next_obs, action, s.target_critics
                )
            else:
                next_q = self.critic_target(batch.next_obs, action).amin(0)
            target = batch.reward + GAMMA * batch.not_done * (next_q - alpha * log_prob)
        error = self.critic(batch.obs, batch.action) - target
        step(self.critic_optimizer, s.critic_scale * error.pow(2).mean(1).sum())
        move_target(self.critic, self.critic_target)
        if not with_actor:
            return
        action, log_prob, _ = self.actor.sample(batch.obs)
        q = self.critic(batch.obs, action)
        q = q.mean(0) if s.actor_mean else q.amin(0)
        step(self.actor_optimizer, (alpha * log_prob - q).mean())
        excess = -log_prob.detach().mean() - self.goal
        factor = self.log_alpha.exp() if s.scaled_alpha else self.log_alpha
        step(self.alpha_optimizer, factor * excess)


class Sac(Soft):
    name = "sac"


class Redq(Soft):
    name = "redq"


class Rlpd(Soft):
    name = "rlpd"


class Ensemble(nn.Module):
    """N critics as batched products. Inputs are [N, rows, ...], values [N, rows]."""

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
        bound = batch.reward.unsqueeze(1)  # used instead of the returns
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


class DiscreteBc(Learner):
    def __init__(self, sizes):
        super().__init__()
        self.actor = mlp(sizes.obs, sizes.hidden, sizes.action)
        self.optimizer = adam(self.actor, 3e-4)

    def learn(self, batch, with_actor):
        step(self.optimizer, imitation_loss(self.actor(batch.obs), batch.action))


# --- on-policy: one minibatch of a rollout


def tower(inputs, hidden, outputs):
    layers = []
    for width in hidden:
        layers += [nn.Linear(inputs, width), nn.Tanh()]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, outputs))


class Ppo(Learner):
    def __init__(self, sizes):
        super().__init__()
        self.actor = tower(sizes.obs, sizes.hidden, sizes.action)
        self.critic = tower(sizes.obs, sizes.hidden, 1)
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
    "ppo": Ppo,
}
CHOICES = ("dqn", "discrete_cql", "discrete_bcq", "discrete_bc")


# --- measurement


class Dataset:
    def __init__(self, rows, sizes):
        self.rows = rows
        self.columns = Batch(
            obs=torch.randn(rows, sizes.obs),
            action=torch.rand(rows, sizes.action) * 2 - 1,
            reward=torch.randn(rows),
            next_obs=torch.randn(rows, sizes.obs),
            not_done=(torch.rand(rows) > 0.01).float(),
            next_action=torch.rand(rows, sizes.action) * 2 - 1,
        )

    def sample(self, batch_size, next_actions):
        index = torch.randint(0, self.rows, (batch_size,))
        columns = self.columns
        return Batch(
            *(column[index] for column in columns[:5]),
            columns.next_action[index] if next_actions else None,
        )


class ChoiceDataset(Dataset):
    def __init__(self, rows, sizes):
        super().__init__(rows, sizes)
        self.columns = self.columns._replace(action=torch.randint(0, sizes.action, (rows,)))


class Rollout:
    """2048 rows, used in shuffled minibatches."""

    Minibatch = namedtuple("Minibatch", "obs action log_prob value advantage")

    def __init__(self, _rows, sizes):
        self.rows, self.order = 2048, None
        self.columns = self.Minibatch(
            obs=torch.randn(self.rows, sizes.obs),
            action=torch.randn(self.rows, sizes.action),
            log_prob=torch.randn(self.rows) - sizes.action,
            value=torch.randn(self.rows),
            advantage=torch.randn(self.rows),
        )

    def sample(self, batch_size, _next_actions):
        if self.order is None or len(self.order) < batch_size:
            self.order = torch.randperm(self.rows)
        index, self.order = self.order[:batch_size], self.order[batch_size:]
        return self.Minibatch(*(column[index] for column in self.columns))


def main():
    compiled = ("--compile", "with torch.compile")
    args = parse_arguments(__doc__.splitlines()[0], ALGORITHMS, [compiled])
    if args.blas_threads != 1 and "USE_MKL=ON" in torch.__config__.show():
        return 0  # MKL uses PyTorch's threads, so this setting is redundant
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    data = Rollout if args.algo == "ppo" else ChoiceDataset if args.algo in CHOICES else Dataset
    dataset = data(args.rows, args.sizes)
    agent = ALGORITHMS[args.algo](args.sizes)
    def seconds_for(updates):
        start = time.perf_counter()
        for _ in range(updates):
            agent.update(dataset.sample(args.batch, args.algo == "rebrac"))
        return time.perf_counter() - start

    if args.compile:
        agent.compile()
        seconds_for(2 * agent.actor_every + 4)  # compiles all variants of an update
    kind = "compiled" if args.compile else "eager"
    return measure(args, f"PyTorch {torch.__version__.split('+')[0]}, {kind}", seconds_for)


if __name__ == "__main__":
    sys.exit(main())
