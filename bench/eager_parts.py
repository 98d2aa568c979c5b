"""Networks, optimisation steps and the base class that the peers in PyTorch share."""
import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

from eager_data import Dataset
from peer import TAU

FUSED = {"fused": True} if torch.__version__ >= (2, 4) else {}


def eager_only(function):
    """Excludes a function from compiled code."""
    return torch.compiler.disable(function) if "--compile" in sys.argv else function


def mlp(inputs, hidden, outputs, layer_norm=None, activation=nn.ReLU):
    layers = []
    for width in hidden:
        norm = [nn.LayerNorm(width, eps=1e-6)] if layer_norm else []
        layers.append(nn.Linear(inputs, width))
        layers += norm + [activation()] if layer_norm == "before" else [activation()] + norm
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
        """Returns actions, their log densities, and the actions before tanh. If `count` > 0, draws `count` per row."""
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
    """A Gaussian policy without squashing, with one trainable standard deviation per action dimension."""

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


class Critics(nn.Module):
    """N critics as separate networks, which is faster here than batched products.

    Values are [N, rows], or [N, rows, outputs] if the networks have several outputs.
    """

    def __init__(self, nets):
        super().__init__()
        self.nets = nn.ModuleList(nets)

    def forward(self, obs, action):
        inputs = torch.cat([obs, action], -1)
        return torch.stack([net(inputs).squeeze(-1) for net in self.nets])

    @eager_only
    def minimum_of_some(self, obs, action, count):
        """Returns the minimum over `count` critics that are drawn at random."""
        inputs = torch.cat([obs, action], -1)
        members = torch.randperm(len(self.nets))[:count].tolist()
        return torch.stack([self.nets[i](inputs).squeeze(-1) for i in members]).amin(0)


def adam(module, rate, **options):
    return torch.optim.Adam(module.parameters(), lr=rate, **options, **FUSED)


@eager_only
def step(optimizer, loss):
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


def move_target(online, target, tau=TAU):
    with torch.no_grad():
        for source, moved in zip(online.parameters(), target.parameters()):
            moved.copy_(tau * source + (1 - tau) * moved)


def smoothed(actor, obs, s):
    """Returns the target policy's action with clipped noise."""
    action = actor(obs)
    noise = (torch.randn_like(action) * s.policy_noise).clamp(-s.noise_clip, s.noise_clip)
    return (action + noise).clamp(-1, 1)


class Learner:
    """Base class. The actor is trained in updates with number % actor_every == actor_at."""

    data = Dataset  # class of the data
    actor_every, actor_at = 1, 0
    priorities = None  # of the rows of the latest batch, if the data are prioritised

    def __init__(self):
        self.updates = 0

    def compile(self):
        """Compiles losses and backward passes, but no function that is marked as eager_only."""
        self.learn = torch.compile(self.learn)

    def update(self, batch):
        self.learn(batch, self.updates % self.actor_every == self.actor_at)
        self.updates += 1
