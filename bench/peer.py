"""Code that the peers of `rl_training bench --peer` share: settings of the updates, arguments, protocol.

A peer is started with --serve and prints its title. It then reads lines "run U". For each line it performs
U updates and prints the seconds that they took. "quit" or the end of input ends the peer. With this
protocol, contenders can run alternately on one machine. If --blas-threads has no effect on a peer, the peer
ends without a title for values other than 1. Without --serve, a peer measures its own speed and prints
{"updates_per_second_rounds": [...]}.
"""
import argparse
import json
import sys
from collections import namedtuple
from types import SimpleNamespace as Settings

Sizes = namedtuple("Sizes", "obs action hidden batch", defaults=[256])
GAMMA, TAU = 0.99, 0.005

# Settings of the algorithms that several peers implement. They are the defaults of rl_training. The
# actor is trained in updates with `number % actor_every == actor_at`, counted from 0.
DELAYED = dict(policy_noise=0.2, noise_clip=0.5, actor_every=2)
SOFT = dict(rate=3e-4, log_std_min=-20.0, layer_norm=None, target_critics=2)
ENSEMBLE = dict(critics=10, actor_every=20, actor_at=19, actor_mean=True)
SETTINGS = {
    "td3_bc": Settings(rate=3e-4, actor_at=1, bc_alpha=2.5, layer_norm=None, **DELAYED),
    "rebrac": Settings(
        rate=1e-3, actor_at=0, actor_bc=0.01, critic_bc=0.01, layer_norm="after", **DELAYED
    ),
    "iql": Settings(rate=3e-4, expectile=0.7, beta=3.0, max_weight=100.0, log_std_min=-5.0),
    "cql": Settings(rate=3e-4, actor_rate=3e-5, samples=10, weight=10.0),
    # critic_scale: factor of sum_i mean (Q_i - y)^2; entropy: target for each action dimension;
    # scaled_alpha: the temperature's loss has the factor alpha instead of log alpha
    "sac": Settings(critics=2, actor_every=1, actor_at=0, actor_mean=False, critic_scale=0.5,
                    entropy=-1.0, scaled_alpha=False, **SOFT),
    "redq": Settings(critic_scale=1.0, entropy=-1.0, scaled_alpha=False, **ENSEMBLE, **SOFT),
    "rlpd": Settings(critic_scale=0.1, entropy=-0.5, scaled_alpha=True, **ENSEMBLE,
                     **{**SOFT, "layer_norm": "before"}),
}


def widths(text):
    return [int(word) for word in text.split(",")]


def parse_arguments(description, algorithms, flags=()):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--algo", choices=algorithms, default="td3_bc")
    parser.add_argument("--hidden", type=widths, default=[256, 256], help="widths, as 256,256")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--obs", type=int, default=17)
    parser.add_argument("--action", type=int, default=6)
    parser.add_argument("--rows", type=int, default=100000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--blas-threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=1000, help="updates in each round")
    parser.add_argument("--warmup", type=int, default=10, help="updates before the first round")
    parser.add_argument("--serve", action="store_true", help="take requests from stdin")
    for flag, text in flags:
        parser.add_argument(flag, action="store_true", help=text)
    args = parser.parse_args()
    args.sizes = Sizes(args.obs, args.action, args.hidden, args.batch)
    return args


def serve(title, seconds_for):
    print(title, flush=True)
    for line in sys.stdin:
        words = line.split()
        if words == ["quit"]:
            return 0
        if len(words) != 2 or words[0] != "run" or not words[1].isdigit():
            expected = 'expected "run U" or "quit"'
            print(f"unknown request ({expected}, got {line!r})", file=sys.stderr)
            return 2
        print(repr(seconds_for(int(words[1]))), flush=True)
    return 0


def measure(args, title, seconds_for):
    """Measures `seconds_for(updates)`, which performs updates with sampling and returns the time."""
    if args.serve:
        return serve(title, seconds_for)
    seconds_for(args.warmup)
    rounds = [args.updates / seconds_for(args.updates) for _ in range(args.rounds)]
    print(json.dumps({"updates_per_second_rounds": rounds}))
    return 0
