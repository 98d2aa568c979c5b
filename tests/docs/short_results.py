#!/usr/bin/env python3
"""Replaces `scripts/results.py` while test_docs.py runs the commands of a page.

Runs `scripts/results.py` with one seed and few steps, and writes records and tables to the working directory
instead of docs/. The environment variable DOCS_STEPS is the number of updates or environment steps of each
training run.
"""
import os
import shutil
import sys
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "scripts/results.py"

here = Path.cwd()
(here / "results.md").touch()
os.execv(RESULTS, [str(RESULTS), *sys.argv[1:], "--seeds", "0", "--steps", os.environ["DOCS_STEPS"],
                   "--program", shutil.which("rl_training"), "--runs", str(here / "results"),
                   "--records", str(here / "records"), "--page", str(here / "results.md")])
