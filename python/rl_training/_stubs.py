"""Writes type stubs for the classes of all algorithms: ``python3 -m rl_training._stubs FILE``.

The build writes them to _classes.pyi. Every option is a keyword argument.
"""

import sys

from . import _agent, _core

_HEAD = '''# Made by rl_training._stubs from the tables of options.
from typing import Any, Dict, List

from . import Agent

'''
_TYPES = {"whole number": "int", "whole numbers": "List[int]", "number": "float",
          "switch": "bool", "choice": "str", "text": "str", "texts": "List[str]",
          "map": "Dict[str, Any]", "list of maps": "List[Dict[str, Any]]"}


def _keywords(info):
    """Returns option names with their types. The options of a group are passed as one dict."""
    rows = _core.algorithm_options(info["name"]) + _core.run_options()
    found = {}
    for key, kind, *_ in rows:
        group, dot, _ = key.partition(".")
        if group not in ("algo", "env_id"):
            found.setdefault(group, "Dict[str, Any]" if dot else _TYPES.get(kind, "Any"))
    return found


def text():
    classes = []
    for info in _core.algorithm_table():
        name = _agent.CLASSES[info["name"]].__name__
        options = "".join(f"        {key}: {kind} = ...,\n"
                          for key, kind in _keywords(info).items())
        classes.append(f"class {name}(Agent):\n    def __init__(\n        self,\n"
                       "        dataset: Any = ...,\n        env: Any = ...,\n        *,\n"
                       f"{options}        **options: Any,\n    ) -> None: ...\n")
    return _HEAD + "\n".join(classes)


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(text())
