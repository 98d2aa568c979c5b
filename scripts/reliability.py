#!/usr/bin/env python3
"""Attacks the program from outside and prints one line per guarantee: the attack, the number of attempts and the
number of failures. Exits with 1 if anything failed. Needs only the Python standard library. Attacks that this
machine does not support are reported as skipped.

  scripts/reliability.py PROGRAM [--count N] [--minutes M] [--only NAME]
"""
import argparse
import array
import concurrent.futures
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

SHORT = ["--config", "td3_bc/pendulum-random", "--quiet", "--threads", "1", "--set", "dataset_size=500",
         "--set", "hidden_sizes=[16,16]", "--set", "batch_size=16", "--set", "eval_episodes=1"]


class Attack:
    """The state of one attack: the program, a private directory, and the failures."""

    def __init__(self, program, directory, count, minutes):
        self.program, self.directory = os.path.abspath(program), directory
        self.count, self.minutes = count, minutes
        self.rng = random.Random(7)
        self.failures = []

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def run(self, *arguments, timeout=60, **options):
        return subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False,
                              timeout=timeout, errors="replace", cwd=self.directory,
                              stdin=subprocess.DEVNULL, **options)

    def train(self, output, *arguments, steps=60, **options):
        return self.run("train", *SHORT, "--json", "--output-dir", output, "--total-timesteps",
                        str(steps), *arguments, **options)

    def expect(self, holds, what):
        if not holds:
            self.failures.append(what)

    def expect_refusal(self, result, codes, what):
        """Expects a rejection, not a crash: one line on stderr and an exit code in `codes`."""
        lines = [line for line in result.stderr.splitlines() if "warning:" not in line]
        self.expect(result.returncode in codes and len(lines) == 1,
                    f"{what}: exit {result.returncode}, stderr {result.stderr[:300]!r}")


def mutated(rng, data):
    """Returns the data with a few changed bytes, or with a piece removed, repeated or inserted."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(max(1, len(data)))
        kind = rng.randrange(5)
        if kind == 0 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at:at + rng.randint(1, 40)]
        elif kind == 2:
            data[at:at] = data[at:at + rng.randint(1, 40)]
        elif kind == 3:
            data[at:at] = rng.choice([b"nan", b"-inf", b"1e999", b"\0", b"\xff\xfe", b"{", b"[" * 50,
                                      b"999999999999999999999", b"\n", b",", b": "])
        else:
            data = data[:at] if rng.random() < 0.3 else data
    return bytes(data)


def attack_inputs(attack):
    """Mutated configs, csv, npz and HDF5 files must be accepted, or rejected in one line, without a crash."""
    config = attack.run("config", "show", "td3_bc/pendulum-random").stdout.encode()
    for name in ("data.npz", "data.hdf5"):
        made = attack.run("dataset", "collect", attack.path(name), "--env", "Pendulum-v1", "--size", "400")
        attack.expect(made.returncode == 0, f"cannot make {name}: {made.stderr}")
    with open(attack.path("data.csv"), "w", encoding="ascii") as file:
        file.write("episode,obs_0,obs_1,action_0,reward,terminated,truncated\n")
        for row in range(300):
            values = ",".join(f"{attack.rng.uniform(-1, 1):.5f}" for _ in range(4))
            file.write(f"{row // 50},{values},0,{int(row % 50 == 49)}\n")
    refused = 0
    def one(index):
        rng = random.Random(1000 + index)
        kind = ("config", "npz", "csv", "hdf5")[index % 4]
        victim = attack.path(f"mutated-{index}.{'yaml' if kind == 'config' else kind}")
        source = config if kind == "config" else open(attack.path(f"data.{kind}"), "rb").read()
        with open(victim, "wb") as file:
            file.write(mutated(rng, source))
        if kind == "config":
            result = attack.run("train", "--config", victim, "--quiet", "--output-dir",
                                attack.path(f"runs-{index}"), "--total-timesteps", "2", "--set",
                                "eval_episodes=0")
        else:
            result = attack.run("dataset", "inspect", victim, env={
                **os.environ, "XDG_CACHE_HOME": attack.path(f"cache-{index}")})
        os.remove(victim)
        return kind, index, result
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for kind, index, result in pool.map(one, range(4 * attack.count)):
            if result.returncode == 0:
                continue
            refused += 1
            attack.expect_refusal(result, (2, 3, 6), f"mutated {kind} {index}")
    return f"{4 * attack.count} mutated configs, npz, csv and HDF5 files, {refused} refused"


def attack_starts(attack):
    """Many processes resume one run at the same time. One of them trains; the others must change nothing."""
    made = json.loads(attack.train(attack.path("runs")).stdout)
    run_dir = made["run_dir"]
    starts = 100
    children = [subprocess.Popen([attack.program, "resume", run_dir, "--total-timesteps", "40000",
                                  "--quiet", "--threads", "1"], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True) for _ in range(starts)]
    losers = 0
    while losers < starts - 1 and any(child.poll() is None for child in children):
        losers = sum(child.poll() is not None for child in children)
    winners = [child for child in children if child.poll() is None]
    attack.expect(len(winners) == 1, f"{len(winners)} winners")
    for child in winners:
        child.send_signal(signal.SIGTERM)
    for child in children:
        error = child.communicate()[1]
        named = "held by" in error or "pid" in error or "process" in error
        if child not in winners:
            attack.expect(child.returncode == 6 and error.count("\n") == 1 and named,
                          f"a loser: exit {child.returncode}, {error!r}")
    attack.expect([child.returncode for child in winners] == [143], "the winner's exit code")
    return f"{starts} simultaneous starts, {losers} refused with the holder's name"


def attack_cache(attack):
    """Two processes fill one cache at the same time. Then every cached file is damaged. Reads must stay correct."""
    attack.run("dataset", "collect", attack.path("data.hdf5"), "--env", "Pendulum-v1", "--size", "100000")
    def fingerprint(cache):
        return json.loads(attack.run("dataset", "inspect", attack.path("data.hdf5"), "--json", env={
            **os.environ, "XDG_CACHE_HOME": cache}).stdout)["fingerprint"]
    right = fingerprint(attack.path("cache-right"))
    rounds = max(4, attack.count // 10)
    for index in range(rounds):
        cache = attack.path(f"cache-{index}")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            both = list(pool.map(fingerprint, [cache, cache]))
        for folder, _, names in os.walk(cache):
            for name in names:
                path = os.path.join(folder, name)
                data = bytearray(open(path, "rb").read())
                if not data:
                    continue
                data[attack.rng.randrange(len(data))] ^= 0x10
                with open(path, "wb") as file:
                    file.write(data)
        attack.expect(both + [fingerprint(cache)] == [right] * 3, f"other data in round {index}")
    return f"{rounds} caches written by two processes at once, then damaged"


def attack_memory(attack):
    """Trains with limits of the address space, from too small to generous. Expects a finished run, or one error line
    and exit code 6."""
    outcomes = []
    for mib in (200, 300, 400, 500, 600, 700, 800, 1000, 1300, 1600, 2000, 3000):
        limit = mib << 20
        result = attack.train(attack.path("runs"), preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_AS, (limit, limit)))
        outcomes.append(result.returncode)
        # 127: the dynamic linker could not map LibTorch, so the program did not start.
        started = result.returncode != 127
        if started and result.returncode != 0:
            attack.expect_refusal(result, (6,), f"{mib} MiB")
    attack.expect(outcomes[-1] == 0, "3000 MiB are not enough")
    return (f"{len(outcomes)} limits of memory: {outcomes.count(127)} too small to load LibTorch, "
            f"{outcomes.count(6)} refused, {outcomes.count(0)} trained")


def attack_disk(attack):
    """Trains on file systems of increasing size, from too small to sufficient. Expects a finished run or exit code 6.
    A copy of the run directory must resume, or be rejected with exit code 4."""
    mount = attack.path("disk")
    os.mkdir(mount)
    if os.geteuid() != 0:
        return "skipped: mounting a small file system needs root"
    sizes, codes = list(range(8, 400, 16)), []
    for size in sizes:
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", mount],
                              capture_output=True, check=False)
        if made.returncode != 0:
            return "skipped: mounting is not allowed here"
        try:
            result = attack.train(mount, "--set", "checkpoint_interval=7", steps=100)
            codes.append(result.returncode)
            for name in os.listdir(mount):
                if name.startswith("."):
                    continue
                run_dir = os.path.join(mount, name)
                shutil.copytree(run_dir, attack.path(f"copy-{size}"))
                again = attack.run("resume", attack.path(f"copy-{size}"), "--quiet")
                attack.expect(again.returncode in (0, 4), f"{size} KiB: resumed {again.stderr!r}")
        finally:
            subprocess.run(["umount", mount], check=True)
        if result.returncode not in (0, 6):
            attack.expect(False, f"{size} KiB: exit {result.returncode}, {result.stderr[:300]!r}")
    return f"{len(sizes)} full file systems, {codes.count(6)} runs ended with exit 6, {codes.count(0)} finished"


def write_npz(path, arrays):
    with zipfile.ZipFile(path, "w") as archive:
        for name, (values, columns) in arrays.items():
            shape = f"({len(values) // columns}, {columns})" if columns > 1 else f"({len(values)},)"
            header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }"
            header += " " * (63 - (10 + len(header)) % 64) + "\n"
            body = io.BytesIO()
            body.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
            body.write(array.array("f", values).tobytes())
            archive.writestr(name + ".npy", body.getvalue())


def attack_values(attack):
    """Trains on rewards and observations that are huge or not finite. Values that are not finite must be rejected
    (exit code 3); huge values must end the run as diverged (exit code 5)."""
    rows, kinds = 400, 0
    config = attack.path("values.yaml")
    with open(config, "w", encoding="ascii") as file:
        file.write("algo: td3_bc\ntotal_timesteps: 300\nlog_interval: 10\nthreads: 1\nalgo_kwargs:\n"
                   "  hidden_sizes: [16, 16]\n  batch_size: 32\n  normalize_observations: false\n"
                   "  action_low: -1\n  action_high: 1\n")
    for column in ("rewards", "observations"):
        for value in (float("nan"), float("inf"), 1e38, -3e38):
            rng = random.Random(3)
            arrays = {name: ([rng.uniform(-1, 1) for _ in range(rows * columns)], columns)
                      for name, columns in (("observations", 3), ("actions", 2), ("rewards", 1),
                                            ("terminals", 1))}
            arrays["terminals"] = ([float(i % 50 == 49) for i in range(rows)], 1)
            for i in range(0, rows, 7):
                arrays[column][0][i] = value
            path = attack.path(f"{column}-{kinds}.npz")
            write_npz(path, arrays)
            result = attack.run("train", "--config", config, "--quiet", "--output-dir",
                                attack.path("runs"), "--set", f"dataset_path={path}")
            kinds += 1
            if abs(value) < 3.4e38:
                attack.expect_refusal(result, (5,), f"{column} of {value}")
            else:
                attack.expect_refusal(result, (3,), f"{column} of {value}")
    return f"{kinds} kinds of rewards and observations that are not finite or explode"


def files_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1])


def attack_soak(attack):
    """A long online run. Once the buffer is full, memory and the numbers of open files and checkpoints must not
    grow."""
    runs = attack.path("runs")
    with open(attack.path("stderr"), "w", encoding="utf-8") as stderr:
        child = subprocess.Popen(
            [attack.program, "train", "--config", "sac/pendulum", "--output-dir", runs, "--quiet",
             "--threads", "1", "--total-timesteps", "1000000000", "--set", "hidden_sizes=[32,32]",
             "--set", "batch_size=32", "--set", "buffer_capacity=2000", "--set", "learning_starts=100",
             "--set", "eval_episodes=1", "--set", "eval_interval=1000", "--set", "log_interval=100",
             "--set", "checkpoint_interval=500"], stdout=subprocess.DEVNULL, stderr=stderr)
    samples, seconds = [], 60 * attack.minutes
    begin = time.monotonic()
    while time.monotonic() - begin < seconds and child.poll() is None:
        time.sleep(seconds / 60)
        names = [name for _, folders, _ in os.walk(runs) for name in folders if name.startswith("step-")]
        samples.append((resident_kib(child.pid), files_of(child.pid), len(names)))
    child.send_signal(signal.SIGTERM)
    attack.expect(child.wait() == 143, f"exit {child.returncode}")
    warm, end = samples[len(samples) // 3:][0], samples[-1]
    growth = (end[0] - warm[0]) / warm[0]
    attack.expect(growth < 0.01, f"memory grew from {warm[0]} to {end[0]} KiB")
    attack.expect(max(files for _, files, _ in samples) <= warm[1] + 2, "open files grew")
    attack.expect(max(checkpoints for _, _, checkpoints in samples) <= 4, "checkpoints pile up")
    with open(os.path.join(runs, os.listdir(runs)[0], "metrics.jsonl"), encoding="utf-8") as file:
        steps = json.loads(file.readlines()[-1])["global_step"]
    return (f"{attack.minutes:g} minutes of SAC, {steps} steps, memory {100 * growth:+.2f} % after the "
            f"first third")


ATTACKS = {"inputs": attack_inputs, "starts": attack_starts, "cache": attack_cache,
           "memory": attack_memory, "disk": attack_disk, "values": attack_values,
           "soak": attack_soak}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("--count", type=int, default=250, help="mutated inputs of each kind")
    parser.add_argument("--minutes", type=float, default=10, help="length of the long run (soak)")
    parser.add_argument("--only", choices=list(ATTACKS))
    options = parser.parse_args()
    failed = 0
    for name, function in ATTACKS.items():
        if options.only not in (None, name):
            continue
        with tempfile.TemporaryDirectory() as directory:
            attack = Attack(options.program, directory, options.count, options.minutes)
            did = function(attack)
        print(f"{name:8} {did}: {len(attack.failures)} failures", flush=True)
        for failure in attack.failures[:10]:
            print(f"    {failure}")
        failed += len(attack.failures)
    print(f"{'all held' if failed == 0 else f'{failed} failures'}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
