"""Converts keyword arguments to a config, and creates docstrings from the option tables."""

import json
import textwrap
import warnings

from . import _core

# Top-level keys of a config. A key in a group, such as online.total_timesteps, counts under the group's name.
_RUN_KEYS = {row[0].split(".")[0] for row in _core.run_options()} | {"algo_kwargs", "env_kwargs"}
_GIVEN_OTHERWISE = {"algo", "env_id"}


def warn(text):
    """Issues a warning of the library as a Python warning."""
    prefix = "warning: "
    warnings.warn(text[len(prefix):] if text.startswith(prefix) else text, stacklevel=3)


def _plain(value):
    """Converts NumPy scalars, NumPy arrays and paths to types that JSON supports."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    raise TypeError(f"{type(value).__name__} is no value of an option")


def to_json(options):
    return json.dumps(options, default=_plain)


def merge(config, options):
    """Merges keyword arguments into a config. The library later checks names and values."""
    config = dict(config)
    kwargs = dict(config.get("algo_kwargs", {}))
    for key, value in options.items():
        if key == "algo_kwargs":
            kwargs.update(value)
        elif key in _RUN_KEYS:
            config[key] = value
        else:
            kwargs[key] = value
    config["algo_kwargs"] = kwargs
    return config


def _describe(rows):
    lines = []
    for key, kind, default, allowed, meaning in rows:
        if key in _GIVEN_OTHERWISE:
            continue
        facts = ", ".join(part for part in (kind, allowed, f"default {default}") if part)
        text = textwrap.fill(f"{meaning} ({facts})", 96, initial_indent=" " * 8,
                             subsequent_indent=" " * 8)
        lines.append(f"    {key}\n{text}")
    return "\n".join(lines)


def docstring(info):
    """Returns the docstring for the class of an algorithm."""
    call = "env" if not info["reads_data"] else "dataset, env" if info["collects"] else "dataset"
    return (
        f"{info['title']} ({info['paper']}).\n\n"
        f"Call it with {call} and the options below as keyword arguments.\n\n"
        f"Options of the algorithm and its data:\n{_describe(_core.algorithm_options(info['name']))}"
        f"\n\nOptions of the run:\n{_describe(_core.run_options())}\n"
    )
