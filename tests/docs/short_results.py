#!/usr/bin/env python3
"""Stands for `scripts/results.py` while test_docs.py runs the commands of a page: one seed, few steps, and
records and tables in the page's directory instead of docs/.

DOCS_STEPS: updates or environment steps of a training.
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
