"""PyTorch peers whose networks, optimisation steps or data differ from the shared ones. eager.py lists them."""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from eager_data import Images, PrioritizedDataset, WholeRollout, Windows
from eager_parts import (
    FUSED, Critics, Learner, SquashedGaussianActor, adam, mlp, move_target, smoothed, step,
)
from peer import DELAYED, GAMMA, Settings


# --- TD7


def average_l1_norm(x):
    return x / x.abs().mean(-1, keepdim=True).clamp(min=1e-8)


class Td7Encoder(nn.Module):
    """Embeds states (zs) and pairs of an embedded state and an action (zsa)."""

    def __init__(self, sizes, width):
        super().__init__()
        self.f = mlp(sizes.obs, sizes.hidden, width, activation=nn.ELU)
        self.g = mlp(width + sizes.action, sizes.hidden, width, activation=nn.ELU)

    def zs(self, obs):
        return average_l1_norm(self.f(obs))

    def zsa(self, zs, action):
        return self.g(torch.cat([zs, action], 1))


class Td7Actor(nn.Module):
    def __init__(self, sizes, width):
        super().__init__()
        self.first = nn.Linear(sizes.obs, width)
        self.head = mlp(2 * width, sizes.hidden, sizes.action)

    def forward(self, obs, zs):
        own = average_l1_norm(self.first(obs))
        return torch.tanh(self.head(torch.cat([own, zs], 1)))


class Td7Critic(nn.Module):
    def __init__(self, sizes, width):
        super().__init__()
        self.first = nn.Linear(sizes.obs + sizes.action, width)
        self.head = mlp(3 * width, sizes.hidden, 1, activation=nn.ELU)

    def forward(self, obs, action, zsa, zs):
        own = average_l1_norm(self.first(torch.cat([obs, action], 1)))
        return self.head(torch.cat([own, zsa, zs], 1)).squeeze(1)


class Td7Critics(nn.Module):
    def __init__(self, sizes, width):
        super().__init__()
        self.q1, self.q2 = Td7Critic(sizes, width), Td7Critic(sizes, width)

    def forward(self, *inputs):
        return torch.stack([self.q1(*inputs), self.q2(*inputs)])


class Td7(Learner):
    """Updates of TD7's offline phase. Each update sets the priorities of its rows for later draws."""

    data = PrioritizedDataset
    s = Settings(**DELAYED)
    actor_every, actor_at = 2, 1
    width, bc_weight, copy_every, min_priority, exponent = 256, 0.1, 250, 1.0, 0.4

    def __init__(self, sizes):
        super().__init__()
        self.encoder = Td7Encoder(sizes, self.width)
        self.encoder_optimizer = adam(self.encoder, 3e-4)
        self.fixed = copy.deepcopy(self.encoder).requires_grad_(False)
        self.fixed_target = copy.deepcopy(self.fixed)
        self.actor = Td7Actor(sizes, self.width)
        self.actor_target = copy.deepcopy(self.actor)
        self.actor_optimizer = adam(self.actor, 3e-4)
        self.critic = Td7Critics(sizes, self.width)
        self.critic_target = copy.deepcopy(self.critic)
        self.critic_optimizer = adam(self.critic, 3e-4)
        self.low, self.high = torch.zeros(()), torch.zeros(())  # bounds to which target values are clipped
        self.seen_low, self.seen_high = torch.tensor(1e8), torch.tensor(-1e8)

    def encoder_loss(self, batch):
        with torch.no_grad():
            next_zs = self.encoder.zs(batch.next_obs)
        return F.mse_loss(self.encoder.zsa(self.encoder.zs(batch.obs), batch.action), next_zs)

    @torch.no_grad()
    def target(self, batch):
        zs = self.fixed_target.zs(batch.next_obs)
        action = smoothed(lambda obs: self.actor_target(obs, zs), batch.next_obs, self.s)
        zsa = self.fixed_target.zsa(zs, action)
        q = self.critic_target(batch.next_obs, action, zsa, zs).amin(0)
        q = torch.minimum(torch.maximum(q, self.low), self.high)
        target = batch.reward + GAMMA * batch.not_done * q
        self.seen_low = torch.minimum(self.seen_low, target.min())
        self.seen_high = torch.maximum(self.seen_high, target.max())
        return target

    def learn(self, batch, with_actor):
        step(self.encoder_optimizer, self.encoder_loss(batch))
        target = self.target(batch)
        with torch.no_grad():
            zs = self.fixed.zs(batch.obs)
            zsa = self.fixed.zsa(zs, batch.action)
        error = (self.critic(batch.obs, batch.action, zsa, zs) - target).abs()
        large = error > self.min_priority
        loss = torch.where(large, self.min_priority * error, 0.5 * error.pow(2))
        step(self.critic_optimizer, loss.sum(0).mean())
        largest = error.detach().amax(0)
        self.priorities = largest.clamp(min=self.min_priority).pow(self.exponent)
        if with_actor:
            action = self.actor(batch.obs, zs)
            q = self.critic(batch.obs, action, self.fixed.zsa(zs, action), zs)
            weight = self.bc_weight * q.abs().mean().detach()
            step(self.actor_optimizer, weight * F.mse_loss(action, batch.action) - q.mean())

    def update(self, batch):
        super().update(batch)
        if self.updates % self.copy_every == 0:
            self.copy_networks()

    def copy_networks(self):
        self.actor_target.load_state_dict(self.actor.state_dict())
        self.critic_target.load_state_dict(self.critic.state_dict())
        self.fixed_target.load_state_dict(self.fixed.state_dict())
        self.fixed.load_state_dict(self.encoder.state_dict())
        self.low, self.high = self.seen_low, self.seen_high


# --- CrossQ


class BatchRenorm(nn.Module):
    """Batch renormalisation. During the warm-up, it is the same as batch normalisation."""

    momentum, eps, r_max, d_max, warmup = 0.01, 1e-3, 3.0, 5.0, 100000

    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("var", torch.ones(width))
        self.passes = 0

    def forward(self, x):
        if not self.training:
            return F.batch_norm(x, self.mean, self.var, self.weight, self.bias, eps=self.eps)
        self.passes += 1
        if self.passes <= self.warmup:
            return F.batch_norm(
                x, self.mean, self.var, self.weight, self.bias, True, self.momentum, self.eps
            )
        mean, var = x.mean(0), x.var(0, unbiased=False)
        with torch.no_grad():
            running_std = (self.var + self.eps).sqrt()
            r = ((var + self.eps).sqrt() / running_std).clamp(1 / self.r_max, self.r_max)
            d = ((mean - self.mean) / running_std).clamp(-self.d_max, self.d_max)
            self.mean.lerp_(mean, self.momentum)
            self.var.lerp_(var, self.momentum)
        mean, var = mean - d / r * var.clamp(min=1e-30).sqrt(), var / r.pow(2)
        return (x - mean) * (var + self.eps).rsqrt() * self.weight + self.bias


def renorm_mlp(inputs, hidden, outputs):
    layers = [BatchRenorm(inputs)]
    for width in hidden:
        layers += [nn.Linear(inputs, width), nn.ReLU(), BatchRenorm(width)]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, outputs))


class Crossq(Learner):
    actor_every, actor_at = 3, 2
    rate, betas, critic_hidden = 1e-3, (0.5, 0.999), (2048, 2048)

    def __init__(self, sizes):
        super().__init__()
        self.actor = SquashedGaussianActor(sizes)
        self.actor.net = renorm_mlp(sizes.obs, sizes.hidden, 2 * sizes.action)
        self.actor_optimizer = adam(self.actor, self.rate, betas=self.betas)
        inputs = sizes.obs + sizes.action
        self.critic = Critics([renorm_mlp(inputs, self.critic_hidden, 1) for _ in range(2)])
        self.critic_optimizer = adam(self.critic, self.rate, betas=self.betas)
        self.log_alpha = nn.Parameter(torch.zeros(()))
        self.alpha_optimizer = torch.optim.Adam([self.log_alpha], lr=self.rate, **FUSED)
        self.goal = -sizes.action

    def learn(self, batch, with_actor):
        alpha = self.log_alpha.exp().detach()
        self.actor.eval()
        self.critic.train()
        with torch.no_grad():
            next_action, next_log_prob, _ = self.actor.sample(batch.next_obs)
        obs = torch.cat([batch.obs, batch.next_obs])
        q, next_q = self.critic(obs, torch.cat([batch.action, next_action])).chunk(2, dim=1)
        next_value = next_q.detach().amin(0) - alpha * next_log_prob
        target = batch.reward + GAMMA * batch.not_done * next_value
        step(self.critic_optimizer, 0.5 * (q - target).pow(2).mean(1).sum())
        if not with_actor:
            return
        self.actor.train()
        self.critic.eval()
        action, log_prob, _ = self.actor.sample(batch.obs)
        q = self.critic(batch.obs, action).amin(0)
        step(self.actor_optimizer, (alpha * log_prob - q).mean())
        excess = -log_prob.detach().mean() - self.goal
        step(self.alpha_optimizer, self.log_alpha.exp() * excess)


# --- TRPO


def flat_gradient(value, parameters, create_graph=False):
    parts = torch.autograd.grad(value, parameters, retain_graph=True, create_graph=create_graph)
    return torch.cat([part.reshape(-1) for part in parts])


def conjugate_gradients(product, b, iterations):
    x, residual, direction = torch.zeros_like(b), b.clone(), b.clone()
    squares = residual.dot(residual)
    for _ in range(iterations):
        if squares < 1e-10:
            break
        along = product(direction)
        length = squares / direction.dot(along)
        x = x + length * direction
        residual = residual - length * along
        next_squares = residual.dot(residual)
        direction = residual + next_squares / squares * direction
        squares = next_squares
    return x


class Trpo(Learner):
    """An update is a whole iteration: the policy step and ten passes of the value function.

    The policy step uses all 2048 rows of the rollout. The passes use minibatches of `sizes.batch` rows.
    """

    data = WholeRollout
    target_kl, damping, iterations, epochs = 0.01, 0.1, 15, 10
    search_steps, search_decay = 10, 0.8

    def __init__(self, sizes):
        super().__init__()
        self.actor = mlp(sizes.obs, sizes.hidden, sizes.action, activation=nn.Tanh)
        self.log_std = nn.Parameter(torch.zeros(sizes.action))
        self.parameters = [*self.actor.parameters(), self.log_std]
        self.critic = mlp(sizes.obs, sizes.hidden, 1, activation=nn.Tanh)
        self.optimizer = adam(self.critic, 1e-3)
        self.batch_size = sizes.batch

    def policy(self, obs):
        return torch.distributions.Normal(self.actor(obs), self.log_std.exp())

    def step_policy(self, obs, batch):
        advantage = (batch.advantage - batch.advantage.mean()) / (batch.advantage.std() + 1e-8)

        def objective_of(policy):
            log_prob = policy.log_prob(batch.action).sum(1)
            return (advantage * (log_prob - batch.log_prob).exp()).mean()

        def kl_of(policy):
            return torch.distributions.kl_divergence(policy, old).sum(1).mean()

        policy = self.policy(obs)
        old = torch.distributions.Normal(policy.mean.detach(), policy.stddev.detach())
        objective = objective_of(policy)
        kl_gradient = flat_gradient(kl_of(policy), self.parameters, create_graph=True)

        def fisher_product(v):
            return flat_gradient(kl_gradient.dot(v), self.parameters) + self.damping * v

        gradient = flat_gradient(objective, self.parameters)
        direction = conjugate_gradients(fisher_product, gradient, self.iterations)
        curvature = direction.dot(fisher_product(direction)).item()
        if curvature > 0:
            full = math.sqrt(2 * self.target_kl / curvature) * direction
            self.search_line(obs, full, objective.item(), objective_of, kl_of)

    @torch.no_grad()
    def search_line(self, obs, full, before, objective_of, kl_of):
        start = nn.utils.parameters_to_vector(self.parameters)
        for i in range(self.search_steps):
            moved = start + self.search_decay**i * full
            nn.utils.vector_to_parameters(moved, self.parameters)
            policy = self.policy(obs)
            if kl_of(policy) < self.target_kl and objective_of(policy) > before:
                return
        nn.utils.vector_to_parameters(start, self.parameters)

    def fit_values(self, obs, batch):
        returns = batch.advantage + batch.value
        for _ in range(self.epochs):
            for index in torch.randperm(len(obs)).split(self.batch_size):
                step(self.optimizer, F.mse_loss(self.critic(obs[index]).squeeze(1), returns[index]))

    def learn(self, batch, with_actor):
        obs = batch.obs.clamp(-10, 10)
        self.step_policy(obs, batch)
        self.fit_values(obs, batch)


# --- DrQ-v2


def random_shift(images, pad=4):
    """Shifts each image by up to `pad` pixels horizontally and vertically, repeating its edge pixels."""
    rows, channels, height, width = images.shape
    down, right = torch.randint(-pad, pad + 1, (2, rows, 1))
    y = (torch.arange(height) + down).clamp(0, height - 1)
    x = (torch.arange(width) + right).clamp(0, width - 1)
    row = torch.arange(rows)[:, None, None, None]
    channel = torch.arange(channels)[:, None, None]
    return images[row, channel, y[:, None, :, None], x[:, None, None, :]]


class ConvEncoder(nn.Module):
    def __init__(self, image, channels=32):
        super().__init__()
        layers, inputs = [], image[0]
        for stride in (2, 1, 1, 1):
            layers += [nn.Conv2d(inputs, channels, 3, stride=stride), nn.ReLU()]
            inputs = channels
        self.net = nn.Sequential(*layers)
        with torch.no_grad():
            self.features = self.net(torch.zeros(1, *image)).numel()

    def forward(self, images):
        return self.net(images / 255.0 - 0.5).flatten(1)


def trunk(features, outputs=50):
    return nn.Sequential(nn.Linear(features, outputs), nn.LayerNorm(outputs), nn.Tanh())


class PixelActor(nn.Module):
    def __init__(self, features, sizes):
        super().__init__()
        self.trunk = trunk(features)
        self.head = mlp(50, sizes.hidden, sizes.action)

    def forward(self, features, noise):
        action = torch.tanh(self.head(self.trunk(features))) + noise
        inside = action.clamp(-1 + 1e-6, 1 - 1e-6)
        return action + (inside - action).detach()


class PixelCritic(nn.Module):
    def __init__(self, features, sizes):
        super().__init__()
        self.trunk = trunk(features)
        self.heads = Critics([mlp(50 + sizes.action, sizes.hidden, 1) for _ in range(2)])

    def forward(self, features, action):
        return self.heads(self.trunk(features), action)


class DrqV2(Learner):
    """The noise has the scale of the first updates; its decay is left out."""

    data = Images
    rate, tau, noise_std, noise_clip = 1e-4, 0.01, 0.982, 0.3

    def __init__(self, sizes):
        super().__init__()
        self.encoder = ConvEncoder(Images.shape)
        self.actor = PixelActor(self.encoder.features, sizes)
        self.actor_optimizer = adam(self.actor, self.rate)
        self.critic = PixelCritic(self.encoder.features, sizes)
        self.critic_target = copy.deepcopy(self.critic)
        self.critic_optimizer = adam(nn.ModuleList([self.encoder, self.critic]), self.rate)

    def act(self, features, like):
        noise = torch.randn_like(like) * self.noise_std
        return self.actor(features, noise.clamp(-self.noise_clip, self.noise_clip))

    def learn(self, batch, with_actor):
        features = self.encoder(random_shift(batch.obs))
        with torch.no_grad():
            next_features = self.encoder(random_shift(batch.next_obs))
            next_action = self.act(next_features, batch.action)
            next_value = self.critic_target(next_features, next_action).amin(0)
            target = batch.reward + batch.discount * next_value
        error = self.critic(features, batch.action) - target
        step(self.critic_optimizer, error.pow(2).mean(1).sum())
        features = features.detach()
        q = self.critic(features, self.act(features, batch.action)).amin(0)
        step(self.actor_optimizer, -q.mean())
        move_target(self.critic, self.critic_target, self.tau)


# --- Decision Transformer


class Attention(nn.Module):
    """Causal attention with one head."""

    def __init__(self, width, tokens, dropout):
        super().__init__()
        self.query_key_value = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)
        mask = torch.full((tokens, tokens), -math.inf).triu(1)
        self.register_buffer("mask", mask)

    def forward(self, x):
        query, key, value = self.query_key_value(x).chunk(3, dim=-1)
        scores = query @ key.transpose(1, 2) / math.sqrt(x.shape[-1])
        weights = torch.softmax(scores + self.mask, -1)
        return self.out(self.dropout(weights) @ value)


class Block(nn.Module):
    def __init__(self, width, tokens, dropout):
        super().__init__()
        self.attention = nn.Sequential(
            nn.LayerNorm(width), Attention(width, tokens, dropout), nn.Dropout(dropout)
        )
        self.mlp = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(),
            nn.Linear(4 * width, width), nn.Dropout(dropout),
        )

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.mlp(x)


class SequenceModel(nn.Module):
    """A causal transformer over the tokens (return, observation, action) of each step."""

    def __init__(self, sizes, width=128, layers=3, dropout=0.1):
        super().__init__()
        self.timestep = nn.Embedding(Windows.episode, width)
        self.return_to_go = nn.Linear(1, width)
        self.obs = nn.Linear(sizes.obs, width)
        self.action = nn.Linear(sizes.action, width)
        self.start = nn.Sequential(nn.LayerNorm(width), nn.Dropout(dropout))
        tokens = 3 * Windows.steps
        self.blocks = nn.Sequential(*(Block(width, tokens, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, sizes.action)

    def forward(self, batch):
        when = self.timestep(batch.timestep)
        returns = self.return_to_go(batch.return_to_go.unsqueeze(-1) / 1000.0)
        tokens = torch.stack([returns, self.obs(batch.obs), self.action(batch.action)], 2)
        x = (tokens + when.unsqueeze(2)).flatten(1, 2)
        x = self.norm(self.blocks(self.start(x)))
        return torch.tanh(self.head(x[:, 1::3]))  # the tokens of the observations


class DecisionTransformer(Learner):
    data = Windows

    def __init__(self, sizes):
        super().__init__()
        self.model = SequenceModel(sizes)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=1e-4, weight_decay=1e-4, **FUSED
        )

    def learn(self, batch, with_actor):
        errors = (self.model(batch) - batch.action).pow(2).mean(-1) * batch.mask
        self.optimizer.zero_grad(set_to_none=True)
        (errors.sum() / batch.mask.sum()).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.25)
        self.optimizer.step()
