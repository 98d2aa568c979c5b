#!/usr/bin/env python3
"""Checks that the peers in PyTorch and in JAX perform the same updates: agree.py [ALGO...]

Both start from the same parameters and use the same batches and the same constant noise. After 20 updates,
the relative difference between their parameter changes must be smaller than 0.001.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import eager
import jax
import jax.numpy as jnp
import jax_peer
import numpy as np
import torch
from peer import SETTINGS, Sizes

UPDATES, ROWS, LIMIT = 20, 64, 1e-3
SIZES = Sizes(5, 3, [32, 32])


def array(tensor):
    return jnp.array(tensor.detach().numpy().copy())


def layers_of(net):
    """Returns the layers of a Sequential, each with its normalisation if it has one."""
    layers = []
    for module in net:
        if isinstance(module, torch.nn.Linear):
            layers.append({"w": array(module.weight.T), "b": array(module.bias)})
        elif isinstance(module, torch.nn.LayerNorm):
            layers[-1] |= {"gain": array(module.weight), "shift": array(module.bias)}
    return layers


def critics_of(critic):
    nets = critic.nets if isinstance(critic, eager.Critics) else [critic.q1, critic.q2]
    return jax.tree.map(lambda *x: jnp.stack(x), *map(layers_of, nets))


def parameters_of(agent):
    """Returns the parameters of a PyTorch agent in the structure of the JAX state."""
    state = {"critic": critics_of(agent.critic), "critic_target": critics_of(agent.critic_target)}
    if isinstance(agent.actor, eager.DeterministicActor):
        state["actor"] = layers_of(agent.actor.net)
        state["actor_target"] = layers_of(agent.actor_target.net)
        return state
    state["actor"] = {"net": layers_of(agent.actor.net)}
    if isinstance(agent.actor, eager.GaussianActor):
        state["actor"]["log_std"] = array(agent.actor.log_std)
        state["value"] = layers_of(agent.value)
        return state
    if agent.actor.scale is not None:
        state["actor"]["scale"] = array(agent.actor.scale)
    return state | {"log_alpha": array(agent.log_alpha)}


def make_noise_constant():
    torch.randn_like = lambda x: torch.full_like(x, 0.3)
    torch.rand = lambda *shape: torch.full(shape, 0.7)
    torch.randperm = torch.arange
    jax.random.normal = lambda _key, shape: jnp.full(shape, 0.3)
    jax.random.uniform = lambda _key, shape, minval, maxval: jnp.full(
        shape, minval + 0.7 * (maxval - minval)
    )
    jax.random.choice = lambda _key, _count, shape, replace: jnp.arange(shape[0])


def flat(state):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(state)])


def disagreement(algo, ours, batches):
    agent = jax_peer.ALGORITHMS[algo](algo, SIZES)
    start = parameters_of(ours)
    state = agent.init(jax.random.key(0))
    rates = {name: 0.0 for name in state["opt"]}
    assert jax.tree.structure({n: state[n] for n in start}) == jax.tree.structure(start)
    state = jax_peer.with_optimizers(start, rates)
    update = jax.jit(lambda *x: jax_peer.one_update(agent, *x))
    for number, batch in enumerate(batches):
        ours.update(batch)
        columns = {name: array(column) for name, column in batch._asdict().items()}
        state = update(columns, state, number, jax.random.key(number))
    moved = flat(parameters_of(ours)) - flat(start)
    other = flat({name: state[name] for name in start}) - flat(start)
    return np.linalg.norm(moved - other) / np.linalg.norm(moved)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = eager.Dataset(1000, SIZES)
    batches = [data.sample(ROWS, True) for _ in range(UPDATES)]
    agents = {algo: eager.ALGORITHMS[algo](SIZES) for algo in sys.argv[1:] or SETTINGS}
    make_noise_constant()
    failed = False
    for algo, agent in agents.items():
        share = disagreement(algo, agent, batches)
        failed = failed or not share < LIMIT
        print(f"{algo}: PyTorch and JAX differ by {share:.1e} of the change", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
