#!/usr/bin/env python3
"""Counts the instructions of an update with valgrind and compares them with the counts in the repository.

  bench/counts/check.py PROGRAM EXPECTED [--accept]

PROGRAM is the executable update_counts, EXPECTED a JSON file. If a count is new, missing or has changed by
more than 2 %, the exit code is 1. With --accept, the new counts are written to EXPECTED, and the exit code
is 0. The program uses the AVX2 kernels, because valgrind does not support AVX-512. Counts depend on the
versions of the compiler and the libraries, which are listed in the file. For other versions, create your
own file with --accept."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

TOLERANCE = 0.02


def command_line(program, directory):
    return ["valgrind", "--tool=callgrind", "--instr-atstart=no",
            f"--callgrind-out-file={directory}/counts", str(program)]


def count(program):
    """Returns the instructions per update of each algorithm: the minimum over several repetitions."""
    with tempfile.TemporaryDirectory() as directory:
        environment = {"PATH": "/usr/bin:/bin", "RL_TRAINING_KERNELS": "avx2",
                       "ATEN_CPU_CAPABILITY": "avx2", "OMP_NUM_THREADS": "1",
                       "OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Haswell"}
        done = subprocess.run(command_line(program, directory), env=environment, text=True,
                              capture_output=True)
        if done.returncode != 0:
            sys.exit(f"error: {program}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        counts = {}
        for number, line in enumerate(done.stdout.splitlines(), 1):
            name, updates = line.split()
            text = pathlib.Path(directory, f"counts.{number}").read_text()
            if f"Client Request: {name}" not in text:
                sys.exit(f"error: counts.{number}: not the counts of {name}")
            total = int(re.search(r"^(?:totals|summary): (\d+)", text, re.M).group(1))
            mean = round(total / int(updates))
            counts[name] = min(mean, counts.get(name, mean))
        return counts


def versions():
    """Returns the versions of the tools and libraries on which the counts depend."""
    def package(name):
        query = ["dpkg-query", "-W", "-f=${Version}", name]
        done = subprocess.run(query, text=True, capture_output=True)
        return done.stdout or "unknown"
    return {name: package(name) for name in ("g++", "valgrind", "libtorch1.13", "libdnnl2")}


def report(expected, counts):
    """Prints the table. Returns True if no count is new, missing or changed by more than TOLERANCE."""
    same = set(expected) == set(counts)
    print(f"{'update':<10} {'before':>12} {'now':>12}   change")
    for name in sorted(set(expected) | set(counts)):
        before, now = expected.get(name), counts.get(name)
        if before is None or now is None:
            print(f"{name:<10} {before or '-':>12} {now or '-':>12}")
            continue
        change = now / before - 1
        moved = abs(change) > TOLERANCE
        same = same and not moved
        print(f"{name:<10} {before:>12} {now:>12}   {100 * change:+.2f} %{'  <--' if moved else ''}")
    return same


def main(program, file, *options):
    path = pathlib.Path(file)
    stored = json.loads(path.read_text()) if path.exists() else {}
    counts = count(program)
    present = versions()
    same = report(stored.get("instructions_per_update", {}), counts)
    for name, version in present.items():
        before = stored.get("versions", {}).get(name, version)
        if version != before:
            print(f"note: {name} is {version}, the counts are from {before}")
    if "--accept" in options:
        path.write_text(json.dumps({"versions": present, "instructions_per_update": counts},
                                   indent=2) + "\n")
        print(f"accepted: {path}")
    elif not same:
        print("changed by more than 2 %; accept with: make bench-check ACCEPT=1")
        sys.exit(1)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
