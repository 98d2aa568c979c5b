#!/usr/bin/env python3
"""Trains the runs behind docs/results.md and writes its tables.

  scripts/results.py GROUP... [--jobs N] [--seeds 0,1] [--only TEXT] [--steps N] [--tables]

Each run uses a packaged config and one thread. You can stop the script at any time. When you start it
again, it resumes unfinished runs. The evaluations of a finished run are added to docs/results/GROUP.jsonl,
one line per run. A run that is in that file is not trained again. The tables are made from these files
alone, so they can combine runs from several machines and commits. `--tables` writes the tables without
training. Needs only the Python standard library.
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared/fixtures"
MEDIUM = pathlib.Path(os.environ.get("MEDIUM_DIR", ROOT / "runs/medium"))
# The dataset files that some runs need. A run is skipped if its file does not exist.
FILES = {
    "replay": os.environ.get("PENDULUM_REPLAY",
                             SHARED / "real/pendulum/pendulum_replay_v1.1.0.converted.hdf5"),
    "hopper-200k": os.environ.get("HOPPER_MEDIUM", SHARED / "generated/hopper_medium_200k.hdf5"),
    **{task + version: MEDIUM / f"{task}-medium{version}.hdf5"
       for task in ["hopper", "halfcheetah", "walker2d"] for version in ["", "-v4"]},
    "hopper-fifth": MEDIUM / "hopper-medium-200k.hdf5",
}

# What to train: a packaged config and the changes to it. `passes` is the return that the last evaluation
# should exceed. `published` is a pair: the published normalised score and its standard deviation.
Entry = collections.namedtuple("Entry", "config name steps settings file passes published",
                               defaults=(None, None, (), None, None, None))

OFFLINE = ["awac", "bc", "bcq", "bear", "cql", "crr", "iql", "rebrac", "td3_bc"]
NEXT_OFFLINE = ["sac_n", "edac", "xql", "cal_ql", "fql", "td7", "decision_transformer"]
# Runs on data that was recorded in the v4 tasks are also evaluated there.
IN_V4 = {"hopper": "env_id=Hopper-v4", "halfcheetah": "env_id=HalfCheetah-v4", "walker2d": "env_id=Walker2d-v4"}
CORL_IQL = ("normalize_observations=true", "reward_preset=none")
CORL_IQL_HOPPER = ("normalize_observations=true", "policy=deterministic", "tau=0.001")


def medium(algo, task, updates, published, name="paper", settings=(), file=None):
    return Entry(f"{algo}/{task}-medium-v2", f"{algo} {task} ({name})", updates, settings, file or task,
                 published=published)


def medium_v4(algo, task, updates, published, name="paper", settings=()):
    return medium(algo, task, updates, published, name + ", in v4", (IN_V4[task], *settings), task + "-v4")


# Algorithms of the short runs, with published scores where there are any.
SHORT_RUNS = {
    "td3_bc": {"hopper": (60.4, 3.5), "halfcheetah": (48.1, 0.2)},
    "iql": {"hopper": (66.3, None), "halfcheetah": (47.4, None)},
    "sac_n": {"hopper": (40.8, 9.9), "halfcheetah": (68.2, 1.3)},
    "edac": {"hopper": (101.7, 0.3), "halfcheetah": (67.7, 1.0)},
    "fql": {"hopper": None, "halfcheetah": None},
    "cal_ql": {"hopper": None, "halfcheetah": None},
}


def short(algo, task, score, critics=None):
    config = f"{algo}/{task}-medium-v2"
    settings = (IN_V4[task], "eval_interval=500") + ((f"num_critics={critics}",) if critics else ())
    return Entry(config, f"{config}, {critics} critics" if critics else None, 1500, settings, task + "-v4",
                 published=score)


GROUPS = {
    "pendulum": [Entry(f"{algo}/pendulum", passes=-617) for algo in OFFLINE + NEXT_OFFLINE],
    "replay": [Entry(f"{algo}/pendulum-replay", steps=15000, file="replay", passes=-180.2)
               for algo in OFFLINE],
    "discrete": [Entry("discrete_bc/cartpole-medium", passes=161.3),
                 Entry("discrete_bcq/cartpole-medium", passes=161.3),
                 Entry("discrete_cql/cartpole-medium", passes=161.3),
                 Entry("discrete_sac/cartpole-medium", passes=161.3),
                 Entry("discrete_sac/cartpole", passes=475),
                 Entry("dqn/cartpole", passes=475),
                 Entry("ppo/cartpole", passes=475),
                 Entry("trpo/cartpole", passes=475),
                 Entry("dqn/lunarlander", passes=200)],
    "online": [Entry(f"{config}", passes=-200) for config in
               ["sac/pendulum", "td3/pendulum", "ddpg/pendulum", "redq/pendulum", "tqc/pendulum",
                "crossq/pendulum", "rlpd/pendulum", "rlpd/pendulum-narrow"]] +
              [Entry("ppo/pendulum", passes=-250), Entry("trpo/pendulum", passes=-250)],
    "goals": [Entry(f"{algo}/pointgoal-{kind}") for algo in ["sac", "td3"] for kind in ["her", "plain"]],
    "mazes": [Entry("iql/pointmaze-umaze", passes=123.1), Entry("sac/pointmaze-her")],
    "fine-tuning": [Entry(f"{algo}/pendulum", steps=2000, passes=-617,
                          settings=("online=5000", "eval_interval=1000"))
                    for algo in ["awac", "iql", "cql", "td3_bc", "rebrac"]] +
                   [Entry(config, passes=-617) for config in
                    ["cal_ql/pendulum-online", "cal_ql/pendulum-wsrl", "fql/pendulum-online",
                     "td7/pendulum-online"]],
    "hopper": [Entry(f"{algo}/hopper-medium-v2", steps=steps, settings=(IN_V4["hopper"],), file="hopper-200k")
               for algo, steps in [("bc", 100000), ("td3_bc", 100000), ("iql", 100000), ("crr", 100000),
                                   ("rebrac", 50000), ("cql", 30000)]],
    "locomotion": [Entry("ppo/halfcheetah", passes=1500),
                   Entry("sac/hopper", steps=50000),
                   Entry("crossq/hopper", "crossq/hopper, critics 512-512", 50000,
                         ("critic_hidden_sizes=[512,512]",)),
                   Entry("rlpd/hopper", "rlpd/hopper, 5 updates per step", 25000,
                         ("gradient_updates_per_step=5",), "hopper-200k")],
    "pixels": [Entry("drq_v2/pendulum", passes=-400)],
    # On Hopper, SAC-N and EDAC use 10 critics; with the published 500 and 50, these runs would take hours.
    "medium-short": [short(algo, task, scores[task], 10 if task == "hopper" and algo in ("sac_n", "edac") else None)
                     for task in ["hopper", "halfcheetah"]
                     for algo, scores in SHORT_RUNS.items()],
    # Each run takes about an hour on one core; ReBRAC and CQL take longer. The most important runs come first.
    "full": [medium("td3_bc", "hopper", 1000000, (60.4, 3.5)),
             medium("rebrac", "hopper", 300000, (102.3, 0.2)),
             medium("td3_bc", "halfcheetah", 1000000, (48.1, 0.2)),
             medium("td3_bc", "walker2d", 1000000, (82.7, 4.8)),
             medium("iql", "hopper", 1000000, (67.5, 3.8), "CORL", CORL_IQL_HOPPER),
             medium("iql", "halfcheetah", 1000000, (48.3, 0.2), "CORL", CORL_IQL),
             medium("iql", "walker2d", 1000000, (80.9, 3.2), "CORL", CORL_IQL),
             medium("rebrac", "hopper", 300000, None, "paper, 200,000 rows", file="hopper-fifth"),
             medium("iql", "hopper", 1000000, (66.3, None)),
             medium("iql", "halfcheetah", 1000000, (47.4, None)),
             medium("iql", "walker2d", 1000000, (78.3, None)),
             medium("cql", "hopper", 1000000, (59.1, 3.8)),
             # Earlier runs with data that was recorded in the v4 tasks, to compare the simulators.
             medium_v4("td3_bc", "hopper", 1000000, (60.4, 3.5)),
             medium_v4("td3_bc", "halfcheetah", 300000, (48.1, 0.2), "paper, 300,000 updates"),
             medium_v4("td3_bc", "walker2d", 300000, (82.7, 4.8), "paper, 300,000 updates"),
             medium_v4("iql", "hopper", 300000, (67.5, 3.8), "CORL, 300,000 updates", CORL_IQL_HOPPER),
             medium_v4("iql", "walker2d", 300000, (80.9, 3.2), "CORL, 300,000 updates", CORL_IQL),
             medium_v4("iql", "halfcheetah", 300000, (48.3, 0.2), "CORL, 300,000 updates", CORL_IQL)],
}
# Plots of learning curves: file, title, group, and the runs to plot (label of the curve: name of the run).
PLOTS = [
    ("rlpd_and_sac_pendulum.svg", "Pendulum-v1: mean return over seeds, lowest to highest shaded", "online",
     {"RLPD with pendulum/medium": "rlpd/pendulum", "SAC": "sac/pendulum"}),
    ("locomotion_hopper.svg", "Hopper-v4: return of evaluations", "locomotion",
     {"RLPD with medium data": "rlpd/hopper, 5 updates per step", "SAC": "sac/hopper", "CrossQ": "crossq/hopper, critics 512-512"}),
]
# The columns of the table in README.md.
SUMMARY_ALGORITHMS = {"bc": "BC", "td3_bc": "TD3+BC", "iql": "IQL", "cql": "CQL", "rebrac": "ReBRAC"}
DEFAULT_SEEDS = {"full": "0", "mazes": "0,1,2", "medium-short": "0,1", "hopper": "0,1", "locomotion": "0", "pixels": "0"}

Job = collections.namedtuple("Job", "group entry seed")

# Indices into an evaluation of a record. Score and success rate may be None.
STEP, UPDATES, RETURN, SCORE, SUCCESS = range(5)

# Rows of the table in README.md: title, group, config of an algorithm, and which value of its last evaluation
# to show.
SUMMARY_ROWS = [("Pendulum, mediocre controller (-617)", "pendulum", "{}/pendulum", RETURN),
                ("Pendulum, public replay buffer (-180)", "replay", "{}/pendulum-replay", RETURN),
                ("Hopper, medium controller, normalised score (38.3)", "hopper", "{}/hopper-medium-v2", SCORE)]


def name_of(entry):
    return entry.name or entry.config


# ---- the file of finished runs


def records_of(options, group):
    path = options.records / f"{group}.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def add_record(options, group, record):
    """Adds or replaces a record. Records are stored in the order of GROUPS, so that diffs of the file are short."""
    order = {name_of(entry): place for place, entry in enumerate(GROUPS[group])}
    records = [old for old in records_of(options, group)
               if (old["name"], old["seed"]) != (record["name"], record["seed"])] + [record]
    records.sort(key=lambda each: (order.get(each["name"], len(order)), each["seed"]))
    path = options.records / f"{group}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".new").write_text("".join(json.dumps(each) + "\n" for each in records))
    path.with_suffix(".new").replace(path)


def record_of(job, run):
    """Returns the record of a finished run, with all its evaluations."""
    with open(run / "metrics.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.get("eval_return_mean")]

    def number(row, key):
        return round(float(row[key]), 3) if row.get(key) else None

    metadata = json.loads((run / "metadata.json").read_text())
    commits = list(dict.fromkeys(session["commit"][:12] for session in metadata["sessions"]))
    return {
        "name": name_of(job.entry), "config": job.entry.config, "settings": list(job.entry.settings),
        "seed": job.seed, "threads": 1, "commits": commits,
        "evaluations": [[int(float(row["global_step"])), int(float(row["update_count"])),
                         number(row, "eval_return_mean"), number(row, "normalized_score"),
                         number(row, "eval_success_rate")] for row in rows],
    }


# ---- training


class Trainer:
    """Starts or resumes runs, several at a time. Runs that a signal ends leave a checkpoint, so they can be resumed."""

    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.stopped = False

    def say(self, text):
        with self.lock:
            print(text, flush=True)

    def train(self, job):
        if self.stopped:
            return False
        label = f"{job.group}: {name_of(job.entry)} seed {job.seed}"
        place = self.options.runs / job.group / name_of(job.entry).replace("/", "-") / f"seed{job.seed}"
        place.mkdir(parents=True, exist_ok=True)
        runs = sorted(path for path in place.glob("*__seed*") if list(path.glob("checkpoints/step-*")))
        if runs:
            words = ["resume", runs[-1]]
        else:
            words = ["train", "--config", job.entry.config, "--seed", job.seed, "--output-dir", place]
            settings = list(job.entry.settings)
            if job.entry.file:
                settings.append(f"dataset_path={FILES[job.entry.file]}")
            for setting in settings:
                words += ["--set", setting]
            steps = self.options.steps or job.entry.steps
            if steps:
                words += ["--total-timesteps", steps]
        self.say(f"{words[0]:7} {label}")
        with open(place / "log", "a") as log:
            done = subprocess.run([self.options.program, *map(str, words), "--threads", "1", "--quiet", "--json"],
                                  stdout=subprocess.PIPE, stderr=log, text=True, check=False)
        if done.returncode != 0:
            self.stopped = self.stopped or done.returncode < 0 or done.returncode >= 128
            self.say(f"FAILED  {label}: exit code {done.returncode}, see {place / 'log'}")
            return False
        record = record_of(job, pathlib.Path(json.loads(done.stdout)["run_dir"]))
        with self.lock:
            add_record(self.options, job.group, record)
        self.say(f"done    {label}: {last(record)[RETURN]}")
        return True


def jobs_of(options):
    """Returns the runs to train. In each group, all runs of one seed come before those of the next seed."""
    jobs = []
    for group in options.groups:
        kept = {(record["name"], record["seed"]) for record in records_of(options, group)}
        for seed in map(int, (options.seeds or DEFAULT_SEEDS.get(group, "0,1,2,3,4")).split(",")):
            for entry in GROUPS[group]:
                if options.only and options.only not in name_of(entry):
                    continue
                if entry.file and not pathlib.Path(FILES[entry.file]).exists():
                    print(f"SKIPPED {name_of(entry)}: no file {FILES[entry.file]}")
                elif (name_of(entry), seed) not in kept:
                    jobs.append(Job(group, entry, seed))
    return jobs


# ---- tables


def listed(values):
    return ", ".join(values)


def spread(values, digits=1):
    text = f"{statistics.mean(values):.{digits}f}"
    return text + (f" ± {statistics.pstdev(values):.{digits}f}" if len(values) > 1 else "")


def commits_of(records):
    return listed(dict.fromkeys(commit for record in records for commit in record["commits"]))


def markdown(rows):
    return "".join("| " + " | ".join(cells) + " |\n" for cells in rows)


def last(record):
    return record["evaluations"][-1]


def length_of(records):
    return last(records[0])[STEP]


def first_step_above(record, goal):
    return next((f"{step[STEP]:,}" for step in record["evaluations"] if step[RETURN] > goal), "-")


def deviations(entry, records):
    """Returns the difference from the published score, also as a multiple of the published standard deviation."""
    if not entry.published:
        return ""
    mean, deviation = entry.published
    difference = statistics.mean(last(record)[SCORE] for record in records) - mean
    return f"{difference:+.1f}" + (f" ({difference / deviation:+.1f} deviations)" if deviation else "")


def published(entry):
    return " ± ".join(str(value) for value in entry.published or () if value is not None)


def after_the_data(record):
    return [step for step in record["evaluations"] if step[STEP] == 0][-1][RETURN]


def last_ten(records):
    if any(len(record["evaluations"]) <= 10 for record in records):
        return ""
    return spread([statistics.mean(step[SCORE] for step in record["evaluations"][-10:]) for record in records])


def passed(entry, records):
    if entry.passes is None:
        return ""
    return f"{sum(last(record)[RETURN] > entry.passes for record in records)} of {len(records)}"


def has_scores(_, __, records):
    return all(last(record)[SCORE] is not None for record in records)


def has_ten_scores(group, entries, records):
    """Whether a run has at least ten evaluations after its first update."""
    return has_scores(group, entries, records) and any(len(record["evaluations"]) > 10 for record in records)


def has_published(_, entries, __):
    return any(entry.published for entry in entries)


def has_goal(_, entries, __):
    return any(entry.passes is not None for entry in entries)


def only_in(*names):
    return lambda group, _, __: group in names


def always(*_):
    return True


# Each column has a title, a function (group, entries, all records) that decides whether a table contains the
# column, and a function (entry, records) that returns the text of a cell.
COLUMNS = [
    ("config", always, lambda entry, _: name_of(entry)),
    ("steps", always, lambda _, records: f"{length_of(records):,}"),
    ("seeds", always, lambda _, records: listed(str(record["seed"]) for record in records)),
    ("before", only_in("fine-tuning"),
     lambda _, records: spread([record["evaluations"][0][RETURN] for record in records])),
    ("after the data", only_in("fine-tuning"),
     lambda _, records: spread([after_the_data(record) for record in records])),
    ("success rate", only_in("goals", "mazes"),
     lambda _, records: listed(f"{last(record)[SUCCESS]:g}" for record in records)),
    ("last evaluation", always, lambda _, records: spread([last(record)[RETURN] for record in records])),
    ("by seed", always, lambda _, records: listed(f"{last(record)[RETURN]:.1f}" for record in records)),
    ("score", has_scores, lambda _, records: spread([last(record)[SCORE] for record in records])),
    ("score, last ten", has_ten_scores, lambda _, records: last_ten(records)),
    ("published", has_published, lambda entry, _: published(entry)),
    ("difference", only_in("full"), deviations),
    ("first step above the goal", only_in("online"),
     lambda entry, records: listed(first_step_above(record, entry.passes) for record in records)),
    ("goal", has_goal, lambda entry, _: "" if entry.passes is None else f"{entry.passes:g}"),
    ("passed", has_goal, passed),
    ("commits", always, lambda _, records: commits_of(records)),
]


def table_of(options, group):
    """Returns a table with one row for each entry that has finished runs, or None if no run has finished."""
    records = records_of(options, group)
    by_name = collections.defaultdict(list)
    for record in records:
        by_name[record["name"]].append(record)
    entries = [entry for entry in GROUPS[group] if name_of(entry) in by_name]
    if not entries:
        return None
    columns = [(title, cell) for title, wanted, cell in COLUMNS if wanted(group, entries, records)]
    rows = [[title for title, _ in columns], ["---"] * len(columns)]
    rows += [[cell(entry, by_name[name_of(entry)]) for _, cell in columns] for entry in entries]
    return markdown(rows)


def algorithm_table(options, algo):
    """Returns the table of all runs of one algorithm, for its own page, or None if no run has finished."""
    rows = [["config", "steps", "seeds", "before training", "last evaluation", "best evaluation", "commits"]]
    rows.append(["---"] * len(rows[0]))
    for group, entries in GROUPS.items():
        for entry in entries:
            records = [record for record in records_of(options, group) if record["name"] == name_of(entry)]
            if not entry.config.startswith(f"{algo}/") or not records:
                continue
            notes = [*entry.settings, *(["200,000 rows"] if entry.file == "hopper-fifth" else [])]
            changes = f" ({listed(notes)})" if notes else ""
            curves = [[step[RETURN] for step in record["evaluations"]] for record in records]
            rows.append([f"`{entry.config}`{changes}", f"{length_of(records):,}",
                         listed(str(record["seed"]) for record in records),
                         spread([curve[0] for curve in curves]), spread([curve[-1] for curve in curves]),
                         spread([max(curve[1:]) for curve in curves]), commits_of(records)])
    return markdown(rows) if len(rows) > 2 else None


def summary_table(options):
    """Returns the table of some offline algorithms on three datasets, for README.md."""
    rows = [["data (mean return)", *SUMMARY_ALGORITHMS.values()], ["---"] * (1 + len(SUMMARY_ALGORITHMS))]
    for label, group, config, value in SUMMARY_ROWS:
        records = records_of(options, group)
        cells = [[last(record)[value] for record in records if record["name"] == config.format(algo)]
                 for algo in SUMMARY_ALGORITHMS]
        rows.append([label, *(spread(values) if values else "-" for values in cells)])
    return markdown(rows)


def replace_between_markers(text, name, table):
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
    if begin not in text:
        return text
    head, rest = text.split(begin, 1)
    return head + begin + (table or "No run has finished yet.\n") + end + rest.split(end, 1)[1]


def write_plot(options, picture, title, group, names):
    """Draws the mean, lowest and highest return over the seeds of each curve that has records."""
    records = records_of(options, group)
    with tempfile.TemporaryDirectory() as directory:
        curves = []
        for label, name in names.items():
            returns = collections.defaultdict(list)
            for record in (record for record in records if record["name"] == name):
                for step in record["evaluations"]:
                    returns[step[STEP]].append(step[RETURN])
            if not returns:
                continue
            file = pathlib.Path(directory, str(len(curves)))
            file.write_text("".join(f"{step} {statistics.mean(values)} {min(values)} {max(values)}\n"
                                    for step, values in sorted(returns.items())))
            curves.append(f"{label}:{file}")
        if not curves:
            return
        drawn = subprocess.run([ROOT / "scripts/plot_curves.sh", title, *curves], capture_output=True, text=True,
                               check=True)
    (options.page.parent / "images" / picture).write_text(drawn.stdout)


def write_tables(options):
    for page in [options.page, *sorted((options.page.parent / "algorithms").glob("*.md"))]:
        text = replace_between_markers(page.read_text(), "results", algorithm_table(options, page.stem))
        for group in GROUPS:
            text = replace_between_markers(text, group, table_of(options, group))
        page.write_text(text)
    readme = options.page.parent.parent / "README.md"
    if readme.exists():
        readme.write_text(replace_between_markers(readme.read_text(), "summary", summary_table(options)))
    if (options.page.parent / "images").is_dir():
        for plot in PLOTS:
            write_plot(options, *plot)
    print(f"tables: {options.page}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", metavar="GROUP", choices=[[], *GROUPS],
                        help=f"what to train: {listed(GROUPS)}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time, one thread each")
    parser.add_argument("--seeds", help="instead of those of the group, for example 0,1,2")
    parser.add_argument("--only", metavar="TEXT", help="only entries whose name contains this text")
    parser.add_argument("--steps", type=int, help="length of every run, for a trial; give --records and --page, too")
    parser.add_argument("--tables", action="store_true", help="train nothing")
    parser.add_argument("--program", default=ROOT / "build/release/rl_training", type=pathlib.Path)
    parser.add_argument("--runs", default=ROOT / "runs/results", type=pathlib.Path)
    parser.add_argument("--records", default=ROOT / "docs/results", type=pathlib.Path)
    parser.add_argument("--page", default=ROOT / "docs/results.md", type=pathlib.Path)
    options = parser.parse_args()
    complete = True
    if not options.tables:
        trainer = Trainer(options)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            complete = all(list(pool.map(trainer.train, jobs_of(options))))
    write_tables(options)
    if not complete:
        raise SystemExit("some runs did not finish; start again to resume them")


if __name__ == "__main__":
    main()
