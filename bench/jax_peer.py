#!/usr/bin/env python3
"""Performs updates in JAX. One jit-compiled scan samples the batches and performs many updates.

`rl_training bench --peer "PYTHON bench/jax_peer.py"` runs this script; peer.py describes the protocol.
A network is a list of layers. The critics are stored together as one such list, whose arrays have an extra
leading dimension: the critic.
"""
import functools
import math
import os
import sys
import time

import jax
import jax.numpy as jnp
import optax

from peer import GAMMA, SETTINGS, TAU, measure, parse_arguments

LONGEST_SCAN = 100  # maximum number of updates per compiled call


# --- networks


def init_mlp(key, widths, layer_norm=None):
    layers = []
    for i, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        key, draw = jax.random.split(key)
        bound = 1 / math.sqrt(inputs)
        layer = {
            "w": jax.random.uniform(draw, (inputs, outputs), minval=-bound, maxval=bound),
            "b": jnp.zeros(outputs),
        }
        if layer_norm and i + 2 < len(widths):
            layer |= {"gain": jnp.ones(outputs), "shift": jnp.zeros(outputs)}
        layers.append(layer)
    return layers


def normalize(layer, x):
    centred = x - x.mean(-1, keepdims=True)
    scale = jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-6)
    return centred * scale * layer["gain"] + layer["shift"]


def mlp(layers, x, layer_norm=None):
    for layer in layers[:-1]:
        x = x @ layer["w"] + layer["b"]
        if layer_norm == "before":
            x = normalize(layer, x)
        x = jax.nn.relu(x)
        if layer_norm == "after":
            x = normalize(layer, x)
    return x @ layers[-1]["w"] + layers[-1]["b"]


def init_critics(key, sizes, count, layer_norm=None):
    widths = [sizes.obs + sizes.action, *sizes.hidden, 1]
    return jax.vmap(lambda k: init_mlp(k, widths, layer_norm))(jax.random.split(key, count))


def values(critics, obs, action, layer_norm=None):
    """Returns the values [critics, rows...]."""
    inputs = jnp.concatenate([obs, action], -1)
    return jax.vmap(lambda member: mlp(member, inputs, layer_norm)[..., 0])(critics)


def moved(online, target):
    return jax.tree.map(lambda x, y: TAU * x + (1 - TAU) * y, online, target)


# --- policies


def tanh_density(noise, log_std, unbounded):
    terms = -0.5 * jnp.square(noise) - log_std - 0.5 * math.log(2 * math.pi)
    slope = 2 * (math.log(2.0) - unbounded - jax.nn.softplus(-2 * unbounded))
    return (terms - slope).sum(-1)


def sample(actor, obs, key, log_std_min=-20.0, count=None):
    """Returns actions and log densities of a squashed Gaussian. With `count`, draws `count` actions per row."""
    mean, log_std = jnp.split(mlp(actor["net"], obs), 2, axis=-1)
    if "scale" in actor:
        log_std = log_std * actor["scale"][0] + actor["scale"][1]
    log_std = jnp.clip(log_std, log_std_min, 2.0)
    if count:
        mean, log_std = mean[:, None], log_std[:, None]
        noise = jax.random.normal(key, (mean.shape[0], count, mean.shape[2]))
    else:
        noise = jax.random.normal(key, mean.shape)
    unbounded = mean + jnp.exp(log_std) * noise
    return jnp.tanh(unbounded), tanh_density(noise, log_std, unbounded)


def deterministic(actor, obs):
    return jnp.tanh(mlp(actor, obs))


def smoothed(actor, obs, key, s):
    action = deterministic(actor, obs)
    noise = jax.random.normal(key, action.shape) * s.policy_noise
    return jnp.clip(action + jnp.clip(noise, -s.noise_clip, s.noise_clip), -1, 1)


# --- updates: a state is a dict of parameters; its entry "opt" contains the optimiser states


def minimized(state, name, rate, loss):
    """Returns the state after one Adam step on the parameters `name`, and the auxiliary output of `loss`."""
    gradient, extra = jax.grad(loss, has_aux=True)(state[name])
    change, opt = optax.adam(rate).update(gradient, state["opt"][name])
    parameters = optax.apply_updates(state[name], change)
    return state | {name: parameters, "opt": state["opt"] | {name: opt}}, extra


def with_optimizers(state, rates):
    return state | {"opt": {n: optax.adam(r).init(state[n]) for n, r in rates.items()}}


def td_target(batch, next_value):
    return batch["reward"] + GAMMA * batch["not_done"] * next_value


def squared_error(q, target):
    return jnp.square(q - target).mean(-1).sum()


def step_critics(state, batch, target, s, scale=1.0):
    def loss(critic):
        q = values(critic, batch["obs"], batch["action"], getattr(s, "layer_norm", None))
        return scale * squared_error(q, target), None

    return minimized(state, "critic", s.rate, loss)[0]


class Delayed:
    """TD3+BC and ReBRAC."""

    def __init__(self, algo, sizes):
        self.s, self.sizes, self.rebrac = SETTINGS[algo], sizes, algo == "rebrac"

    def init(self, key):
        s, one, other = self.s, *jax.random.split(key)
        actor = init_mlp(one, [self.sizes.obs, *self.sizes.hidden, self.sizes.action])
        critic = init_critics(other, self.sizes, 2, s.layer_norm)
        state = {"actor": actor, "actor_target": actor, "critic": critic, "critic_target": critic}
        return with_optimizers(state, {"actor": s.rate, "critic": s.rate})

    def learn(self, state, batch, key):
        s = self.s
        action = smoothed(state["actor_target"], batch["next_obs"], key, s)
        next_value = values(state["critic_target"], batch["next_obs"], action, s.layer_norm).min(0)
        if self.rebrac:
            penalty = jnp.square(action - batch["next_action"]).sum(-1)
            next_value = next_value - s.critic_bc * penalty
        return step_critics(state, batch, td_target(batch, next_value), s)

    def learn_actor(self, state, batch, _key):
        s, critic = self.s, state["critic"]
        if not self.rebrac:  # the actor of TD3+BC uses only the first critic
            critic = jax.tree.map(lambda x: x[:1], critic)

        def loss(actor):
            action = deterministic(actor, batch["obs"])
            q = values(critic, batch["obs"], action, s.layer_norm).min(0)
            scale = 1 / jax.lax.stop_gradient(jnp.abs(q).mean())
            distance = jnp.square(action - batch["action"])
            if self.rebrac:
                return s.actor_bc * distance.sum(-1).mean() - scale * q.mean(), None
            return distance.mean() - s.bc_alpha * scale * q.mean(), None

        state, _ = minimized(state, "actor", s.rate, loss)
        return state | {
            "critic_target": moved(state["critic"], state["critic_target"]),
            "actor_target": moved(state["actor"], state["actor_target"]),
        }


class Iql:
    def __init__(self, algo, sizes):
        self.s, self.sizes = SETTINGS[algo], sizes

    def init(self, key):
        one, two, three = jax.random.split(key, 3)
        sizes, rate = self.sizes, self.s.rate
        critic = init_critics(one, sizes, 2)
        net = init_mlp(two, [sizes.obs, *sizes.hidden, sizes.action])
        state = {
            "actor": {"net": net, "log_std": jnp.zeros(sizes.action)},
            "value": init_mlp(three, [sizes.obs, *sizes.hidden, 1]),
            "critic": critic,
            "critic_target": critic,
        }
        return with_optimizers(state, {"actor": rate, "value": rate, "critic": rate})

    def log_prob(self, actor, obs, action):
        log_std = jnp.clip(actor["log_std"], self.s.log_std_min, 2.0)
        noise = (action - jnp.tanh(mlp(actor["net"], obs))) * jnp.exp(-log_std)
        return (-0.5 * jnp.square(noise) - log_std - 0.5 * math.log(2 * math.pi)).sum(-1)

    def learn(self, state, batch, _key):
        s, obs = self.s, batch["obs"]
        target_q = values(state["critic_target"], obs, batch["action"]).min(0)

        def value_loss(value):
            error = target_q - mlp(value, obs)[..., 0]
            return (jnp.abs(s.expectile - (error < 0)) * jnp.square(error)).mean(), None

        state, _ = minimized(state, "value", s.rate, value_loss)
        advantage = target_q - mlp(state["value"], obs)[..., 0]
        weight = jnp.minimum(jnp.exp(s.beta * advantage), s.max_weight)

        def actor_loss(actor):
            return -(weight * self.log_prob(actor, obs, batch["action"])).mean(), None

        state, _ = minimized(state, "actor", s.rate, actor_loss)
        next_value = mlp(state["value"], batch["next_obs"])[..., 0]
        state = step_critics(state, batch, td_target(batch, next_value), s)
        return state | {"critic_target": moved(state["critic"], state["critic_target"])}


class Cql:
    def __init__(self, algo, sizes):
        self.s, self.sizes = SETTINGS[algo], sizes

    def init(self, key):
        one, two = jax.random.split(key)
        sizes, s = self.sizes, self.s
        critic = init_critics(one, sizes, 2)
        net = init_mlp(two, [sizes.obs, *sizes.hidden, 2 * sizes.action])
        state = {
            "actor": {"net": net, "scale": jnp.array([1.0, -1.0])},
            "log_alpha": jnp.zeros(()),
            "critic": critic,
            "critic_target": critic,
        }
        rates = {"actor": s.actor_rate, "log_alpha": s.actor_rate, "critic": s.rate}
        return with_optimizers(state, rates)

    def learn(self, state, batch, key):
        s, obs = self.s, batch["obs"]
        keys = jax.random.split(key, 5)
        rows, dims = batch["action"].shape
        n = s.samples
        uniform = jax.random.uniform(keys[0], (rows, n, dims), minval=-1, maxval=1)
        after, after_density = sample(state["actor"], batch["next_obs"], keys[1], count=n)
        now, now_density = sample(state["actor"], obs, keys[2], count=n)
        chance = jnp.full((rows, n), -dims * math.log(2.0))
        density = jnp.concatenate([chance, after_density, now_density], 1)
        actions = jnp.concatenate([batch["action"][:, None], uniform, after, now], 1)
        next_action, _ = sample(state["actor"], batch["next_obs"], keys[3])
        next_value = values(state["critic_target"], batch["next_obs"], next_action).min(0)
        target = td_target(batch, next_value)
        critic, alpha = state["critic"], jnp.exp(state["log_alpha"])

        def actor_loss(actor):
            action, log_prob = sample(actor, obs, keys[4])
            q = values(critic, obs, action).min(0)
            return (alpha * log_prob - q).mean(), log_prob.mean()

        def critic_loss(critic):
            repeated = jnp.broadcast_to(obs[:, None], (rows, 1 + 3 * n, obs.shape[1]))
            q = values(critic, repeated, actions)
            data_q = q[:, :, 0]
            low = jax.nn.logsumexp(q[:, :, 1:] - density, axis=2) - data_q
            return squared_error(data_q, target) + s.weight * low.mean(1).sum(), None

        state, log_prob = minimized(state, "actor", s.actor_rate, actor_loss)
        surplus = log_prob - dims
        state, _ = minimized(state, "log_alpha", s.actor_rate, lambda x: (-x * surplus, None))
        state, _ = minimized(state, "critic", s.rate, critic_loss)
        return state | {"critic_target": moved(state["critic"], state["critic_target"])}


class Soft:
    """SAC, REDQ and RLPD."""

    def __init__(self, algo, sizes):
        self.s, self.sizes = SETTINGS[algo], sizes

    def init(self, key):
        one, two = jax.random.split(key)
        sizes, s = self.sizes, self.s
        critic = init_critics(one, sizes, s.critics, s.layer_norm)
        state = {
            "actor": {"net": init_mlp(two, [sizes.obs, *sizes.hidden, 2 * sizes.action])},
            "log_alpha": jnp.zeros(()),
            "critic": critic,
            "critic_target": critic,
        }
        return with_optimizers(state, {n: s.rate for n in ("actor", "log_alpha", "critic")})

    def learn(self, state, batch, key):
        s = self.s
        draw, choose = jax.random.split(key)
        action, log_prob = sample(state["actor"], batch["next_obs"], draw, s.log_std_min)
        target_critic = state["critic_target"]
        if s.target_critics < s.critics:
            chosen = jax.random.choice(choose, s.critics, (s.target_critics,), replace=False)
            target_critic = jax.tree.map(lambda x: x[chosen], target_critic)
        next_q = values(target_critic, batch["next_obs"], action, s.layer_norm).min(0)
        target = td_target(batch, next_q - jnp.exp(state["log_alpha"]) * log_prob)
        state = step_critics(state, batch, target, s, s.critic_scale)
        return state | {"critic_target": moved(state["critic"], state["critic_target"])}

    def learn_actor(self, state, batch, key):
        s, obs = self.s, batch["obs"]
        critic, alpha = state["critic"], jnp.exp(state["log_alpha"])

        def actor_loss(actor):
            action, log_prob = sample(actor, obs, key, s.log_std_min)
            q = values(critic, obs, action, s.layer_norm)
            q = q.mean(0) if s.actor_mean else q.min(0)
            return (alpha * log_prob - q).mean(), log_prob.mean()

        state, log_prob = minimized(state, "actor", s.rate, actor_loss)
        excess = -log_prob - s.entropy * self.sizes.action

        def alpha_loss(log_alpha):
            return (jnp.exp(log_alpha) if s.scaled_alpha else log_alpha) * excess, None

        return minimized(state, "log_alpha", s.rate, alpha_loss)[0]


ALGORITHMS = {
    "td3_bc": Delayed,
    "rebrac": Delayed,
    "iql": Iql,
    "cql": Cql,
    "sac": Soft,
    "redq": Soft,
    "rlpd": Soft,
}


# --- measurement


def random_data(key, rows, sizes):
    keys = jax.random.split(key, 6)
    return {
        "obs": jax.random.normal(keys[0], (rows, sizes.obs)),
        "action": jax.random.uniform(keys[1], (rows, sizes.action), minval=-1, maxval=1),
        "reward": jax.random.normal(keys[2], (rows,)),
        "next_obs": jax.random.normal(keys[3], (rows, sizes.obs)),
        "not_done": (jax.random.uniform(keys[4], (rows,)) > 0.01).astype(jnp.float32),
        "next_action": jax.random.uniform(keys[5], (rows, sizes.action), minval=-1, maxval=1),
    }


def one_update(agent, batch, state, number, key):
    """Performs one update. `number` counts the updates from 0 and decides whether the actor is trained."""
    learn_key, actor_key = jax.random.split(key)
    state = agent.learn(state, batch, learn_key)
    if not hasattr(agent, "learn_actor"):
        return state
    due = number % agent.s.actor_every == agent.s.actor_at
    return jax.lax.cond(
        due, lambda x: agent.learn_actor(x, batch, actor_key), lambda x: x, state
    )


@functools.partial(jax.jit, static_argnums=(0, 1, 2), donate_argnums=3)
def run_updates(agent, count, batch_size, carry, data):
    def one(carry, _):
        state, number, key = carry
        key, draw, noise = jax.random.split(key, 3)
        index = jax.random.randint(draw, (batch_size,), 0, data["reward"].shape[0])
        batch = {name: column[index] for name, column in data.items()}
        return (one_update(agent, batch, state, number, noise), number + 1, key), None

    return jax.lax.scan(one, carry, length=count)[0]


def main():
    args = parse_arguments(__doc__.splitlines()[0], ALGORITHMS)
    if args.blas_threads != 1:
        return 0
    # XLA starts one thread for each processor that it may use, so this call sets the number of threads.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    agent = ALGORITHMS[args.algo](args.algo, args.sizes)
    keys = jax.random.split(jax.random.key(0), 3)
    data = random_data(keys[0], args.rows, args.sizes)
    carry = (jax.jit(agent.init)(keys[1]), jnp.zeros((), jnp.int32), keys[2])

    def seconds_for(updates):
        nonlocal carry
        start = time.perf_counter()
        while updates > 0:
            count = min(updates, LONGEST_SCAN)
            carry = run_updates(agent, count, args.batch, carry, data)
            updates -= count
        jax.block_until_ready(carry)
        return time.perf_counter() - start

    return measure(args, f"JAX {jax.__version__}, jit", seconds_for)


if __name__ == "__main__":
    sys.exit(main())
