#!/usr/bin/env python3
"""Replaces `rl_training` while test_docs.py runs the commands of a page. Runs the same command with short budgets.

Environment variables: DOCS_PROGRAM is the path of the real program. DOCS_STEPS is the number of updates or
environment steps of each training run.
"""
import os
import re
import sys
import tempfile
from pathlib import Path

STEPS = int(os.environ["DOCS_STEPS"])


def cap(words, option, limit, add=False):
    """Limits the value of `option` to `limit`. With `add`, adds the option if it is absent."""
    for i, word in enumerate(words[:-1]):
        if word == option and words[i + 1].isdigit():
            words[i + 1] = str(min(int(words[i + 1]), limit))
    if add and option not in words:
        words += [option, str(limit)]


def short_sweep(words):
    """Replaces the file of `sweep FILE ...` with a copy that has few steps and one seed."""
    for i, word in enumerate(words):
        if word.endswith((".yaml", ".yml")) and Path(word).is_file():
            text = Path(word).read_text()
            text = re.sub(r"(?m)^total_timesteps: .*$", f"total_timesteps: {4 * STEPS}", text)
            text = re.sub(r"(?m)^seeds: .*$", "seeds: 0", text)
            text = re.sub(r"eval_interval: \d+", f"eval_interval: {STEPS}", text)
            text = re.sub(r"min_timesteps: \d+", f"min_timesteps: {STEPS}", text)
            copy = Path(tempfile.mkdtemp(dir=Path.cwd())) / Path(word).name
            copy.write_text(text)
            words[i] = str(copy)


def shorten(words):
    command = words[0] if words else ""
    if command not in ("train", "resume", "sweep", "select", "evaluate", "envs", "dataset", "verify-resume", "render",
                       "report"):
        return
    if "--help" in words:
        return
    if command == "train":
        cap(words, "--total-timesteps", STEPS, add=True)
        if "--processes" not in words and "--threads" not in words:
            words += ["--threads", "1"]
        if any(re.fullmatch(r"[a-z0-9_]+/[a-zA-Z0-9_-]+", word) for word in words):  # packaged configs name an environment
            words += ["--set", "eval_episodes=1"]
        words[:] = [re.sub(r"^online=\d+$", f"online={STEPS}", word) for word in words]
        if any(re.search(r"-online|-wsrl", word) for word in words):
            words += ["--set", f"online.total_timesteps={STEPS}"]
    elif command == "resume":
        cap(words, "--total-timesteps", 2 * STEPS)
        cap(words, "--online", STEPS)
    elif command == "sweep":
        short_sweep(words)
    elif command == "select":
        cap(words, "--updates", STEPS, add=True)
        cap(words, "--truth", 2)
    elif command == "report":
        cap(words, "--at", STEPS)
    elif command == "verify-resume":
        cap(words, "--total-timesteps", 64, add=True)
    cap(words, "--episodes", 2)
    cap(words, "--size", 2000)


words = sys.argv[1:]
shorten(words)
os.execv(os.environ["DOCS_PROGRAM"], ["rl_training", *words])
