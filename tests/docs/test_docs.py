#!/usr/bin/env python3
"""Runs the command blocks of README.md, CONTRIBUTING.md and docs/, and checks the links of these pages.

    tests/docs/test_docs.py PROGRAM [PAGE...]

PROGRAM is usually build/release/rl_training. Without PAGE, all pages are tested. Each page has its own new directory,
which looks like a checkout. The blocks of a page run in order:
  ```sh             Runs with bash. `rl_training` is short_program.py, which shortens training. `scripts/results.py`
                    is short_results.py. `make` runs with -n: it only checks that the target exists.
  ```csv NAME       Any block with a file name is written to that file.
  ```yaml           A config (starts with `algo:`) must pass `config check`. A sweep (starts with `config:`) must pass
                    `sweep --dry-run`.
  ```python         All Python blocks of a page run as one script, if the Python package is built.
Links to other pages and to headings must be valid.

Directives, each on its own line:
  <!-- docs: skip REASON -->     The next block is not run.
  <!-- docs: run COMMAND -->     Runs a command that the next block depends on.

The environment variable DOCS_STEPS is the number of updates or environment steps of each training run (default 20).
The exit code is 1 if a block fails or a link is broken.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
LINKED = ("examples", "tests", "bench", "configs")
TIMEOUT = 300  # time limit of a block, in seconds

FENCE = re.compile(r"^```(\S*) ?(.*)$")
DIRECTIVE = re.compile(r"^<!-- docs: (skip|run) (.*?) *-->$")
HEADING = re.compile(r"^#+ (.*)$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


class Block:
    """A fenced block: its language, file name, text, first line, and the directives above it."""

    def __init__(self, language, name, line, skip, setup):
        self.language, self.name, self.line, self.skip, self.setup = language, name, line, skip, setup
        self.lines = []

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"


def read_blocks(page):
    blocks, block, skip, setup = [], None, None, []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if block is not None:
            if line == "```":
                blocks.append(block)
                block = None
            else:
                block.lines.append(line)
        elif fence:
            block = Block(fence[1], fence[2], number, skip, setup)
            skip, setup = None, []
        elif directive := DIRECTIVE.match(line):
            if directive[1] == "skip":
                skip = directive[2]
            else:
                setup.append(directive[2])
    return blocks


def prose_of(page):
    """Yields the lines of a page that are outside of fenced blocks."""
    inside = False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield line


def anchors_of(page):
    """Returns the anchors that GitHub creates for the headings of a page."""
    headings = (HEADING.match(line) for line in prose_of(page))
    return {re.sub(r"[^\w\- ]", "", h[1].lower()).replace(" ", "-") for h in headings if h}


def broken_links(page):
    for line in prose_of(page):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if not file.exists():
                yield f"{target}: no such file"
            elif anchor and file.suffix == ".md" and anchor not in anchors_of(file):
                yield f"{target}: no such heading"


class PageTest:
    """Tests one page in its own directory, which is a copy of `fixture`."""

    def __init__(self, page, fixture, environment, directory):
        self.page, self.directory = page, directory
        self.environment = dict(environment)
        self.counts = {"ok": 0, "FAILED": 0, "skipped": 0}
        self.shown = {}  # for each language that is not run: the number of its blocks
        shutil.copytree(fixture, directory, symlinks=True)

    def say(self, line, kind, result, detail="", seconds=None):
        self.counts[result] += 1
        took = f" {seconds:.1f} s" if seconds is not None else ""
        print(f"  {self.page.relative_to(SOURCE)}:{line}  {kind}  {result}{took}{'  ' + detail if detail else ''}")
        sys.stdout.flush()

    def call(self, line, kind, command):
        """Runs a command in the page's directory. Variables that it sets are available to the next command."""
        state = self.directory / ".exported"
        script = f"set -ea\n[ ! -e {state} ] || . {state}\n{command}\nstatus=$?\nexport -p > {state}\nexit $status\n"
        start = time.monotonic()
        process = subprocess.Popen(["bash", "-o", "pipefail", "-c", script], cwd=self.directory, env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace", start_new_session=True)
        try:
            output, _ = process.communicate(timeout=TIMEOUT)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            code, output = "none", f"no end after {TIMEOUT} s"
        seconds = time.monotonic() - start
        if code == 0:
            self.say(line, kind, "ok", seconds=seconds)
            return
        self.say(line, kind, "FAILED", f"exit code {code}", seconds)
        for text in (command + "\n--\n" + output).splitlines()[-40:]:
            print("    | " + text)

    def run(self):
        print(self.page.relative_to(SOURCE))
        python = []
        for block in read_blocks(self.page):
            if block.skip:
                self.say(block.line, block.language, "skipped", block.skip)
                continue
            for command in block.setup:
                self.call(block.line, "run", command)
            if block.name:
                (self.directory / block.name).write_text(block.text)
            elif block.language == "sh":
                self.call(block.line, "sh", block.text)
            elif block.language == "yaml" and block.text.startswith(("algo:", "config:")):
                command = "config check" if block.text.startswith("algo:") else "sweep --dry-run"
                (self.directory / "block.yaml").write_text(block.text)
                self.call(block.line, "yaml", f"rl_training {command} block.yaml > /dev/null")
            elif block.language == "python":
                python.append(block)
            else:
                self.shown[block.language or "text"] = self.shown.get(block.language or "text", 0) + 1
        if python:
            self.run_python(python)
        for problem in broken_links(self.page):
            self.say(0, "link", "FAILED", problem)

    def run_python(self, blocks):
        if not self.environment.get("PYTHONPATH"):
            self.say(blocks[0].line, "python", "skipped", "the Python package is not built (make python)")
            return
        text = "\n".join(block.text for block in blocks)
        steps = int(self.environment["DOCS_STEPS"])
        text = re.sub(r"\b(total_timesteps=)([\d_]+)", lambda m: m[1] + str(min(int(m[2]), 15 * steps)), text)
        (self.directory / "page.py").write_text(text)
        self.call(blocks[0].line, "python", "/usr/bin/python3 page.py")


def make_fixture(directory, environment):
    """Creates the files that pages assume to exist: RUN, RUN_A, RUN_B, RUN_C, runs/, my.yaml, log.npz and FILE (in
    D4RL format)."""
    directory.mkdir()
    for name in LINKED:
        (directory / name).symlink_to(SOURCE / name)
    (directory / "scripts").mkdir()
    for file in (SOURCE / "scripts").iterdir():
        short = Path(__file__).resolve().parent / f"short_{file.name}"
        (directory / "scripts" / file.name).symlink_to(short if short.exists() else file)
    script = """
      rl_training train --config td3_bc/pendulum --seeds 0,1,2 --output-dir runs --quiet
      set -- runs/*
      cp -r "$1" RUN; cp -r "$1" RUN_A; cp -r "$2" RUN_B; cp -r "$3" RUN_C
      rl_training config show td3_bc/pendulum > my.yaml
      rl_training dataset collect log.npz --env Pendulum-v1 --size 2000
      rl_training dataset collect FILE --to d4rl --env Pendulum-v1 --size 2000
    """
    done = subprocess.run(["bash", "-ec", script], cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"cannot prepare the pages: {done.stdout}{done.stderr}")


def environment_of(program, directory):
    """Returns the environment of the blocks. PATH starts with the replacements of `rl_training` and `make`."""
    directory.mkdir()
    here = Path(__file__).resolve().parent
    (directory / "rl_training").symlink_to(here / "short_program.py")
    make = directory / "make"
    make.write_text(f'#!/bin/sh\nexec {shutil.which("make") or "make"} -n -C {SOURCE} "$@" > /dev/null\n')
    make.chmod(0o755)
    environment = dict(os.environ, PATH=f"{directory}:{os.environ['PATH']}", DOCS_PROGRAM=str(program),
                       DOCS_STEPS=os.environ.get("DOCS_STEPS", "20"), RL_TRAINING_CACHE=str(directory / "cache"))
    package = SOURCE / "build/python"
    if list(package.glob("rl_training/*.so")):
        environment["PYTHONPATH"] = str(package)
    return environment


def main():
    parser = argparse.ArgumentParser(description="Runs the command blocks of README.md and docs/.")
    parser.add_argument("program", type=Path)
    parser.add_argument("pages", nargs="*", type=Path)
    options = parser.parse_args()
    pages = [SOURCE / page for page in options.pages] or \
        [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", *sorted((SOURCE / "docs").rglob("*.md"))]

    totals, shown = {"ok": 0, "FAILED": 0, "skipped": 0}, {}
    with tempfile.TemporaryDirectory(prefix="docs.") as work:
        environment = environment_of(options.program.resolve(), Path(work) / "bin")
        make_fixture(Path(work) / "fixture", environment)
        for number, page in enumerate(pages):
            test = PageTest(page, Path(work) / "fixture", environment, Path(work) / f"page{number}")
            test.run()
            shutil.rmtree(test.directory)
            for result, count in test.counts.items():
                totals[result] += count
            for language, count in test.shown.items():
                shown[language] = shown.get(language, 0) + count
    print(f"{len(pages)} pages: {totals['ok']} ok, {totals['FAILED']} failed, {totals['skipped']} skipped; shown but "
          f"not run: {', '.join(f'{count} {name}' for name, count in sorted(shown.items())) or 'none'}")
    sys.exit(1 if totals["FAILED"] else 0)


if __name__ == "__main__":
    main()
