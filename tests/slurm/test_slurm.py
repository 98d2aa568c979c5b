#!/usr/bin/env python3
"""Tests sweeps on a real Slurm: killed, pre-empted and cancelled runs, halving, and time limits.

Usage: test_slurm.py PROGRAM [PART...]
PART is the name of a test function below; without PART, all test functions run. The script starts
munged, slurmctld and two virtual nodes with its own configuration, and stops them at the end. It
exits with code 77 if Slurm is missing or the user is not root.
"""
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

CONFIG = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=cred_expire=5
SlurmctldParameters=preempt_send_user_signal
StateSaveLocation={dir}/state
SlurmctldPidFile={dir}/slurmctld.pid
SlurmctldLogFile={dir}/log/slurmctld.log
SlurmdSpoolDir={dir}/spool/%n
SlurmdPidFile={dir}/slurmd.%n.pid
SlurmdLogFile={dir}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,batch_sched_delay=0,bf_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
MpiDefault=none
KillWait=5
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={port1} CPUs=2 CoresPerSocket=2 RealMemory=2000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={port2} CPUs=2 CoresPerSocket=2 RealMemory=2000
PartitionName=main Nodes=n1,n2 Default=YES PriorityTier=1 PreemptMode=REQUEUE GraceTime=20
PartitionName=high Nodes=n1,n2 PriorityTier=10 PreemptMode=OFF
"""

SWEEP = """
config: td3_bc/pendulum-random
set: {{hidden_sizes: [64, 64], dataset_size: 2000, eval_episodes: 2, eval_interval: 500,
       log_interval: 100, checkpoint_interval: 200}}
total_timesteps: {updates}
grid: {{learning_rate: [1e-4, 3e-4, 1e-3, 3e-3]}}
seeds: 0-1
output_dir: {dir}/sweep
"""
HALVING = """
config: td3_bc/pendulum-random
set: {{hidden_sizes: [64, 64], dataset_size: 2000, eval_episodes: 2, eval_interval: 100,
       log_interval: 100}}
total_timesteps: 400
grid: {{learning_rate: [1e-4, 3e-4, 1e-3, 3e-3]}}
halving: {{min_timesteps: 100, factor: 2}}
output_dir: {dir}/halving
"""
LONG = """
config: td3_bc/pendulum-random
set: {{dataset_size: 2000, eval_episodes: 0, checkpoint_interval: 500}}
total_timesteps: {updates}
grid: {{learning_rate: [3e-4]}}
metric: critic_loss
mode: min
output_dir: {dir}/{name}
"""
# Enough updates for more than one minute. The time limit is two minutes, and Slurm sends the signal
# one minute before the limit.
LONG_UPDATES = int(os.environ.get("SLURM_TEST_LONG_UPDATES", "60000"))
UPDATES = int(os.environ.get("SLURM_TEST_UPDATES", "6000"))
WAIT_SECONDS = 1800


def wait_for(what, condition):
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.2)
    raise SystemExit(f"FAILED: {what} did not happen within {WAIT_SECONDS} s")


def text_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Cluster:
    """Runs slurmctld, two slurmd and, if necessary, munged until the end of the `with` block."""

    def __init__(self, directory):
        self.directory = directory
        self.processes = []

    def start(self, *command):
        self.processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                               stderr=subprocess.DEVNULL))

    def __enter__(self):
        for name in ("state", "spool", "log"):
            os.makedirs(f"{self.directory}/{name}")
        ports = free_ports(3)
        path = f"{self.directory}/slurm.conf"
        with open(path, "w") as file:
            file.write(CONFIG.format(dir=self.directory, host=socket.gethostname(), port=ports[0],
                                     port1=ports[1], port2=ports[2]))
        os.environ["SLURM_CONF"] = path
        if subprocess.run(["munge", "-n"], capture_output=True).returncode != 0:
            os.makedirs("/run/munge", exist_ok=True)
            shutil.chown("/run/munge", "munge")
            self.start("su", "-s", "/bin/sh", "munge", "-c", "exec /usr/sbin/munged --foreground")
            wait_for("munged", lambda: subprocess.run(["munge", "-n"],
                                                      capture_output=True).returncode == 0)
        self.start("slurmctld", "-D", "-f", path)
        for node in ("n1", "n2"):
            self.start("slurmd", "-D", "-f", path, "-N", node)
        wait_for("two idle nodes",
                 lambda: subprocess.run(["sinfo", "-h", "-p", "main", "-o", "%T %D"],
                                        capture_output=True, text=True).stdout.strip() == "idle 2")
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def status(program, sweep):
    return json.loads(text_of(program, "sweep", "status", sweep, "--json"))


def run_of(sweep, trial, seed):
    found = glob.glob(f"{sweep}/trial-{trial:03}/td3_bc__Pendulum-v1__seed{seed}__*")
    return found[0] if found else None


def checkpoints_of(run):
    return sorted(glob.glob(f"{run}/checkpoints/step-*")) if run else []


def pid_of(sweep, trial, seed):
    """Returns the process ID of the program that trains this run, or None."""
    words = [f"{sweep}/trial-{trial:03}/trial.yaml", "--seed", str(seed)]
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            command = open(path).read().split("\0")
        except OSError:
            continue
        if "train" in command[1:2] and words[0] in command and command[command.index(
                "--seed") + 1] == words[2]:
            return int(path.split("/")[2])
    return None


def sessions_of(run):
    with open(f"{run}/metadata.json") as file:
        return json.load(file)["sessions"]


def compare(program, directory, sweep, trial, seed):
    run = run_of(sweep, trial, seed)
    report = json.loads(text_of(program, "train", "--config",
                                f"{sweep}/trial-{trial:03}/trial.yaml", "--seed", str(seed),
                                "--threads", "1", "--output-dir", f"{directory}/single",
                                "--quiet", "--json"))
    last = os.path.basename(report["checkpoint"])
    for name in (f"checkpoints/{last}/tensors.safetensors", "metrics.jsonl"):
        with open(f"{run}/{name}", "rb") as one, open(f"{report['run_dir']}/{name}", "rb") as other:
            if one.read() != other.read():
                raise SystemExit(f"FAILED: {run}/{name} differs from the single run")


def submit(program, directory, name, text, *options):
    with open(f"{directory}/{name}.yaml", "w") as file:
        file.write(text)
    return json.loads(text_of(program, "sweep", f"{directory}/{name}.yaml", "--slurm",
                              "--partition", "main", "--json", *options))


def wait_for_end(program, sweep, runs):
    wait_for(f"the end of {sweep}",
             lambda: status(program, sweep)["states"].get("done", 0) == runs)
    wait_for("the end of the jobs", lambda: not status(program, sweep)["jobs"])


def kills_and_preemption(program, directory):
    sweep = f"{directory}/sweep"
    submitted = submit(program, directory, "sweep", SWEEP.format(dir=directory, updates=UPDATES))
    assert submitted["runs"] == 8, submitted
    print(f"array {submitted['array']} submitted")

    # A job in the partition with the higher priority pre-empts run 0 on its node.
    wait_for("a checkpoint of run 0", lambda: checkpoints_of(run_of(sweep, 0, 0)))
    node = text_of("squeue", "-h", "-r", "-j", f"{submitted['array']}_0", "-o", "%N").strip()
    text_of("sbatch", "-p", "high", "-w", node, "--exclusive", "-o", "/dev/null", "--wrap",
            "sleep 2")
    print(f"node {node} taken by another job")

    # Run 6 (trial 3, seed 0) is killed after its first checkpoint.
    wait_for("a checkpoint of run 6", lambda: checkpoints_of(run_of(sweep, 3, 0)))
    os.kill(pid_of(sweep, 3, 0), signal.SIGKILL)
    print("run 6 killed")

    wait_for_end(program, sweep, 8)
    ends = [session.get("stop_reason") for trial in range(4) for seed in range(2)
            for session in sessions_of(run_of(sweep, trial, seed))]
    print(f"sessions ended by: {ends}")
    killed = sessions_of(run_of(sweep, 3, 0))
    assert len(killed) >= 2 and "stop_reason" not in killed[0], killed
    preempted = sessions_of(run_of(sweep, 0, 0))
    assert preempted[0]["stop_reason"] == "signal" and len(preempted) >= 2, preempted
    log = open(f"{sweep}/slurm/follow_up.log").read()
    assert "8 runs" not in log and "2 of 2 done" in log, log
    for trial in range(4):
        for seed in range(2):
            compare(program, directory, sweep, trial, seed)
    print("8 runs, one killed and some pre-empted: bits equal to single runs")


def halving(program, directory):
    """The rounds end at 100, 200 and 400 updates. They train 4, 2 and 1 trials."""
    sweep = f"{directory}/halving"
    submit(program, directory, "halving", HALVING.format(dir=directory))
    wait_for("the last round", lambda: status(program, sweep)["states"].get("done", 0) == 1)
    wait_for("the end of the jobs", lambda: not status(program, sweep)["jobs"])
    at = {run["name"]: run["position"] for run in status(program, sweep)["runs"]}
    assert sorted(at.values()) == [100, 100, 200, 400], at
    winner = [index for index in range(4)
              if any(c.endswith("400") for c in checkpoints_of(run_of(sweep, index, 0)))]
    assert len(winner) == 1, at
    compare(program, directory, sweep, winner[0], 0)
    print(f"halving: trial {winner[0]} reached the end with the bits of a single run")


def cancelling(program, directory):
    sweep = f"{directory}/cancelled"
    text = LONG.format(dir=directory, name="cancelled", updates=3000)
    submit(program, directory, "cancelled", text)
    wait_for("a checkpoint", lambda: checkpoints_of(run_of(sweep, 0, 0)))
    text_of(program, "sweep", "cancel", sweep)
    wait_for("the end of the jobs", lambda: not status(program, sweep)["jobs"])
    wait_for("the end of the run", lambda: pid_of(sweep, 0, 0) is None)
    stopped = status(program, sweep)["runs"][0]
    assert stopped["state"] != "done" and 0 < stopped["position"] < 3000, stopped
    submit(program, directory, "cancelled", text)
    wait_for_end(program, sweep, 1)
    compare(program, directory, sweep, 0, 0)
    print(f"cancelled at update {stopped['position']}, submitted again: bits equal to a single run")


def time_limit(program, directory):
    sweep = f"{directory}/limited"
    submit(program, directory, "limited",
           LONG.format(dir=directory, name="limited", updates=LONG_UPDATES), "--time", "2")
    wait_for_end(program, sweep, 1)
    sessions = sessions_of(run_of(sweep, 0, 0))
    assert len(sessions) >= 2 and sessions[0]["stop_reason"] == "signal", sessions
    print(f"time limit: {len(sessions)} jobs of two minutes finished the run")


def several_processes(program, directory):
    """Trains a run on two processes under srun, and compares it with a run of `--processes 2`."""
    run = (program, "train", "--config", "td3_bc/pendulum-random", "--set", "total_timesteps=200",
           "--set", "dataset_size=2000", "--set", "eval_episodes=0", "--quiet")
    port = free_ports(1)[0]
    text_of("srun", "-p", "main", "-n", "2", "-N", "2", *run, "--output-dir", f"{directory}/srun",
            "--processes", "env", "--master", f"127.0.0.1:{port}")
    text_of(*run, "--output-dir", f"{directory}/own", "--processes", "2")
    tensors = [open(glob.glob(f"{directory}/{name}/*/checkpoints/step-000000200/"
                              "tensors.safetensors")[0], "rb").read() for name in ("srun", "own")]
    assert tensors[0] == tensors[1], "srun: tensors differ from those of --processes 2"
    print("srun: two processes, the tensors of --processes 2")


def main():
    program = os.path.abspath(sys.argv[1])
    missing = [name for name in ("slurmctld", "slurmd", "sbatch", "munge") if not shutil.which(name)]
    if missing or os.geteuid() != 0:
        print(f"SKIPPED: {', '.join(missing) + ' missing' if missing else 'needs root'}"
              " (Debian: slurm-wlm, munge)")
        return 77
    directory = tempfile.mkdtemp(prefix="rl_training_slurm_", dir="/var/tmp")
    try:
        with Cluster(directory):
            for part in (kills_and_preemption, halving, cancelling, several_processes, time_limit):
                if part.__name__ in sys.argv[2:] or len(sys.argv) == 2:
                    part(program, directory)
        return 0
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
