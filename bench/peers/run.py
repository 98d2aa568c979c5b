#!/usr/bin/python3
"""Compares the speed of rl_training with that of JAX, PyTorch 2 and other libraries; writes tables to a page.

    bench/peers/run.py PROGRAM VENV [--page docs/performance.md] [--quick] [--fresh]

VENV is created if it is missing, and packages are installed from PyPI. Packages that cannot be installed
and contenders that fail are listed and skipped. The contenders of a row are measured alternately. Results
are stored in VENV/results. A second call measures only rows that are missing, have failed or belong to
another commit; --fresh measures all rows. --quick only checks that everything runs, with short measurements.
"""
import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCES = ["rl_training", "bench", "cli", "cmake", "CMakeLists.txt"]
BEGIN, END = "<!-- bench-peers: begin -->", "<!-- bench-peers: end -->"
# Modules that must be importable, with the packages that provide them.
PACKAGES = {
    "jax": ["jax"],
    "optax": ["optax"],
    "torch": ["torch", "setuptools<82"],
    "stable_baselines3": ["stable-baselines3"],
    "sbx": ["sbx-rl"],
    "d3rlpy": ["d3rlpy"],
}
# Algorithm, hidden sizes (None: the default), and the number of updates that takes rl_training
# about half a second.
UPDATE_ROWS = [
    ("td3_bc", None, 100),
    ("td3_bc", "64,64", 600),
    ("rebrac", None, 12),
    ("iql", None, 80),
    ("cql", None, 4),
    ("sac", None, 80),
    ("rlpd", None, 20),
    ("redq", None, 20),
]
# Algorithm, number of environment steps or updates, and the libraries to compare with.
RUN_ROWS = [
    ("sac", 5000, ["sb3", "sbx"]),
    ("td3_bc", 2000, ["d3rlpy"]),
    ("iql", 2000, ["d3rlpy"]),
]
LIBRARIES = {"sb3": "stable_baselines3", "sbx": "sbx", "d3rlpy": "d3rlpy"}
RECIPE = "pendulum/medium"
ROW_SECONDS = 1800  # a process that takes longer counts as failed


def note(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def output_of(words, **options):
    return subprocess.run(words, capture_output=True, text=True, **options).stdout.strip()


class Bench:
    def __init__(self, args):
        self.args = args
        self.program = os.path.relpath(args.program, ROOT)
        self.venv = os.path.relpath(args.venv, ROOT)
        self.page = os.path.abspath(args.page) if args.page else None
        self.python = f"{self.venv}/bin/python"
        os.chdir(ROOT)  # messages show paths relative to the repository
        self.results = f"{self.venv}/{'quick' if args.quick else 'results'}"
        os.makedirs(self.results, exist_ok=True)
        self.commit = output_of(["git", "rev-parse", "--short", "HEAD"])
        if output_of(["git", "status", "--porcelain", "--", *SOURCES]):
            self.commit += " with changes"
        self.missing = []  # names of modules that cannot be imported
        self.problems = []  # messages that are listed below the tables
        # Compiled code is cached in the venv. One compile thread avoids idle worker processes.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.abspath(f"{self.venv}/inductor")
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

    def problem(self, text):
        note(text)
        self.problems.append(text)

    # --- packages

    def install(self):
        if not os.path.exists(self.python):
            subprocess.run(["/usr/bin/python3", "-m", "venv", self.venv])
        if not os.path.exists(self.python):
            self.missing = list(PACKAGES)
            self.problem(f"SKIPPED: all but Debian's PyTorch, {self.venv} cannot be made")
            return
        for module, packages in PACKAGES.items():
            if self.can_import(module):
                continue
            note(f"installing {' '.join(packages)}")
            pip = [self.python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            subprocess.run(pip + packages, stdin=subprocess.DEVNULL)
            if not self.can_import(module):
                self.missing.append(module)
                self.problem(f"SKIPPED: {module} cannot be installed or imported")

    def can_import(self, module):
        words = [self.python, "-c", f"import {module}"]
        return subprocess.run(words, capture_output=True).returncode == 0

    def versions(self):
        """Returns the installed packages as "name version"."""
        if len(self.missing) == len(PACKAGES):
            return []
        code = (
            "import importlib.metadata as m, sys\n"
            "for name in sys.argv[1:]:\n"
            "    try: print(name, m.version(name))\n"
            "    except m.PackageNotFoundError: pass\n"
        )
        names = [packages[0] for packages in PACKAGES.values()]
        return output_of([self.python, "-c", code, *names]).splitlines()

    def check_peers(self):
        """Checks that rl_training and the peers in PyTorch and JAX perform the same updates."""
        if "torch" in self.missing:
            return
        note("checking that the peers do the same updates")
        scripts = [["agree_with_program.py", self.program]]
        scripts += [] if {"jax", "optax"} & set(self.missing) else [["agree.py"]]
        for name, *arguments in scripts:
            if subprocess.run([self.python, f"bench/peers/{name}", *arguments]).returncode != 0:
                self.problem(f"FAILED: updates differ by bench/peers/{name}")

    # --- rows

    def row(self, name, measure):
        """Returns the result that an earlier call stored for this commit, or calls `measure`.

        Always calls `measure` with --fresh, or if contenders failed in the earlier call. Returns None if
        `measure` fails.
        """
        path = f"{self.results}/{name}.json"
        if not self.args.fresh and os.path.exists(path):
            with open(path) as file:
                kept = json.load(file)
            if kept["commit"] == self.commit and not kept["result"]["failed"]:
                note(f"{name}: measured before")
                return kept["result"]
        load = os.getloadavg()[0]
        note(f"{name}: measuring (load average {load:.1f})")
        start = time.monotonic()
        try:
            result = measure()
        except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            self.problem(f"FAILED: {name}: {' '.join(str(error).split())[:300]}")
            return None
        result["load"] = load
        with open(path + ".new", "w") as file:
            json.dump({"commit": self.commit, "result": result}, file, indent=1)
        os.replace(path + ".new", path)
        note(f"{name}: done in {time.monotonic() - start:.0f} s")
        return result

    def peers(self):
        commands = ["bench/eager.py"]
        if "torch" not in self.missing:
            commands.append(f"{self.python} bench/eager.py")
            commands.append(f"{self.python} bench/eager.py --compile")
        if not {"jax", "optax"} & set(self.missing):
            commands.append(f"{self.python} bench/jax_peer.py")
        return commands

    def measure_updates(self, algo, hidden, updates):
        words = [self.program, "bench", "--json", "--algo", algo, "--threads", "2"]
        words += ["--rounds", "1" if self.args.quick else "5", "--updates", str(updates)]
        words += ["--hidden", hidden] if hidden else []
        for command in self.peers():
            words += ["--peer", command]
        process = subprocess.run(words, stdout=subprocess.PIPE, check=True, timeout=ROW_SECONDS)
        answer = json.loads(process.stdout)
        return answer["results"][0] | {"machine": answer["machine"]}

    def timed(self, words, threads):
        """Returns the time of the training and of the whole process, in seconds."""
        environment = os.environ | {
            "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
        start = time.monotonic()
        process = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=ROW_SECONDS)
        seconds = time.monotonic() - start
        if process.returncode != 0:
            last = process.stderr.strip().splitlines()[-1:] or ["no message"]
            raise ValueError(f"{words[1]}: {last[0]}")
        answer = json.loads(process.stdout.strip().splitlines()[-1])
        return answer.get("training_seconds", answer.get("seconds")), seconds

    def measure_run(self, algo, steps, libraries):
        """Runs all libraries alternately on one and two threads. Returns the fastest time of each."""
        steps = max(300, steps // 10) if self.args.quick else steps
        rounds = 1 if self.args.quick else 2
        sides = ["rl_training"]
        sides += [one for one in libraries if LIBRARIES[one] not in self.missing]
        times, failed = {}, set()
        with tempfile.TemporaryDirectory() as directory:
            data = f"{directory}/data.npz"
            if algo != "sac":
                write = ["dataset", "collect", data, "--recipe", RECIPE, "--seed", "0"]
                subprocess.run([self.program, *write], check=True, capture_output=True)
            for _, threads, side in itertools.product(range(rounds), (1, 2), sides):
                if side in failed:
                    continue
                words = self.words_of(side, algo, steps, threads, data, directory)
                try:
                    seconds = self.timed(words, threads)
                except (OSError, ValueError, subprocess.SubprocessError) as error:
                    if side == "rl_training":
                        raise
                    failed.add(side)
                    self.problem(f"FAILED: {algo} of {side}: {error}")
                    continue
                times.setdefault(side, {}).setdefault(threads, []).append(seconds)
                note(f"  {side}, threads {threads}: {seconds[1]:.1f} s")
        fastest = {
            side: {str(n): min(turns) for n, turns in of.items()}
            for side, of in times.items() if side not in failed
        }
        return {"steps": steps, "seconds": fastest, "failed": sorted(failed)}

    def words_of(self, side, algo, steps, threads, data, directory):
        if side != "rl_training":
            words = [self.python, "bench/peers/library.py", side, algo, "--steps", str(steps)]
            return words + ["--threads", str(threads), "--data", data]
        words = [self.program, "train", "--config", f"{algo}/pendulum", "--threads", str(threads)]
        words += ["--quiet", "--json", "--output-dir", tempfile.mkdtemp(dir=directory)]
        settings = {"eval_episodes": 0, "total_timesteps": steps}
        settings |= {"learning_starts": 100} if algo == "sac" else {}
        return words + [word for k, v in settings.items() for word in ("--set", f"{k}={v}")]

    # --- tables

    def update_table(self, results, threads):
        """Returns a table of all contenders, each at its fastest setting with at most `threads` threads."""
        names, lines = [], []
        for result in results:
            for one in result["settings"]:
                if one["name"] not in names:
                    names.append(one["name"])
        for result in results:
            rates = {}
            for one in result["settings"]:
                if max(one["threads"], one["blas_threads"]) <= threads:
                    rates[one["name"]] = max(one["rate"], rates.get(one["name"], 0))
            lines.append([short_name(result["name"]), *(figure(rates.get(n)) for n in names),
                          *ratio_cells(rates)])
        return table(["update", *names, "fastest peer", "ratio"], lines)

    def run_table(self, results):
        names, lines = ["rl_training", *LIBRARIES], []
        for algo, result in results:
            for threads in (1, 2):
                best = {}
                for side, of in result["seconds"].items():
                    settings = [of[str(n)] for n in range(1, threads + 1)]
                    best[side] = min(settings)
                cells = ["{:.2f} ({:.2f})".format(*best[n]) if n in best else "-" for n in names]
                speeds = {n: 1 / seconds[0] for n, seconds in best.items()}
                what = "steps" if algo == "sac" else "updates"
                lines.append([f"`{algo}`, {result['steps']} {what}", str(threads), *cells,
                              *ratio_cells(speeds)])
        return table(["run", "cores", *names, "fastest peer", "ratio"], lines)

    def section(self, updates, runs):
        updates, runs = [r for r in updates if r], [r for r in runs if r[1]]
        parts = []
        if updates:
            machine = updates[0]["machine"]
            loads = [r["load"] for r in updates] + [r["load"] for _, r in runs]
            parts.append(
                f"Commit {self.commit}, {processor()}, {machine['cores']} cores, {machine['isa']}, "
                f"FMA limit {machine['fma_gflops']:.0f} GFLOP/s on one core, load average at the "
                f"start of each row: {min(loads):.1f} to {max(loads):.1f}"
                f"{', short turns' if self.args.quick else ''}. {', '.join(self.versions())}.")
            parts.append("Updates per second on one core:\n\n" + self.update_table(updates, 1))
            parts.append("On two cores:\n\n" + self.update_table(updates, 2))
        if runs:
            parts.append("Whole runs, seconds of training (of the whole process); the ratio is of "
                         "training:\n\n" + self.run_table(runs))
        parts += [f"- {text}" for text in self.problems]
        return "\n\n".join(parts)


def short_name(name):
    """Shortens "td3_bc update, hidden 256-256, batch 256, obs ..." to "`td3_bc`, 256-256, batch 256"."""
    algo, hidden, batch = name.split(", ")[:3]
    return f"`{algo.split()[0]}`, {hidden.split()[1]}, {batch}"


def figure(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio_cells(rates):
    """Returns the fastest peer, and the speed of rl_training relative to it."""
    others = {name: rate for name, rate in rates.items() if name != "rl_training"}
    if not others:
        return ["-", "-"]
    fastest = max(others, key=others.get)
    return [fastest, f"{rates['rl_training'] / others[fastest]:.2f}"]


def table(header, lines):
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def processor():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return "unknown processor"


def write_page(path, text):
    with open(path) as file:
        before, rest = file.read().split(BEGIN)
    after = rest.split(END)[1]
    with open(path + ".new", "w") as file:
        file.write(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
    os.replace(path + ".new", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("venv")
    parser.add_argument("--page", help="write the tables between its marks")
    parser.add_argument("--quick", action="store_true", help="short turns")
    parser.add_argument("--fresh", action="store_true", help="measure all rows again")
    bench = Bench(parser.parse_args())
    bench.install()
    bench.check_peers()
    updates = []
    for algo, hidden, count in UPDATE_ROWS:
        count = max(2, count // 10) if bench.args.quick and algo not in ("rlpd", "redq") else count
        name = f"update-{algo}" + (f"-{hidden.replace(',', '-')}" if hidden else "")
        updates.append(bench.row(name, lambda: bench.measure_updates(algo, hidden, count)))
        for failure in updates[-1]["failed"] if updates[-1] else []:
            bench.problem(f"FAILED: {name}: {failure['command']}: {failure['reason']}")
    runs = [(algo, bench.row(f"run-{algo}", lambda: bench.measure_run(algo, steps, libraries)))
            for algo, steps, libraries in RUN_ROWS]
    text = bench.section(updates, runs)
    print(text)
    if bench.page:
        write_page(bench.page, text)
    return 1 if any(problem.startswith("FAILED") for problem in bench.problems) else 0


if __name__ == "__main__":
    sys.exit(main())
