#!/usr/bin/env python3
"""Prints the table of scripts/full_results.sh: last evaluations beside published scores.

usage: full_table.py DIRECTORY
"""
import csv
import json
import pathlib
import sys

# Normalised scores for D4RL's -v2 sets: mean, standard deviation, and where they were published.
PUBLISHED = {
    ("td3_bc", "paper"): {"hopper": (60.4, 3.5), "halfcheetah": (48.1, 0.2), "walker2d": (82.7, 4.8)},
    ("iql", "paper"): {"hopper": (66.3, None), "halfcheetah": (47.4, None), "walker2d": (78.3, None)},
    ("iql", "corl"): {"hopper": (67.5, 3.8), "halfcheetah": (48.3, 0.2), "walker2d": (80.9, 3.2)},
    ("rebrac", "paper"): {"hopper": (102.3, 0.2)},
    ("cql", "paper"): {"hopper": (59.1, 3.8)},
}
COLUMNS = ["algorithm", "set", "setting", "seed", "updates", "score of the last evaluation",
           "mean of the last ten", "published", "difference", "commit"]


def row_of(run):
    """One line of the table for a run directory, or None before its first evaluation."""
    task, (algo, setting) = run.parent.parent.name, run.parent.name.rsplit("-", 1)
    with open(run / "metrics.csv", newline="") as file:
        scored = [row for row in csv.DictReader(file) if row.get("normalized_score")]
    if not scored:
        return None
    scores = [float(row["normalized_score"]) for row in scored]
    mean, deviation = PUBLISHED[algo, setting][task]
    difference = f"{scores[-1] - mean:+.1f}"
    if deviation:
        difference += f" ({(scores[-1] - mean) / deviation:+.1f} standard deviations)"
    sessions = json.loads((run / "metadata.json").read_text())["sessions"]
    commits = dict.fromkeys(session["commit"][:12] for session in sessions)
    seed = run.name.split("__seed")[1].split("__")[0]
    return [algo, f"{task}-medium", setting, seed, f"{int(float(scored[-1]['global_step'])):,}",
            f"{scores[-1]:.1f}", f"{sum(scores[-10:]) / len(scores[-10:]):.1f}",
            f"{mean}" + (f" ± {deviation}" if deviation else ""), difference, ", ".join(commits)]


def main():
    runs = sorted(pathlib.Path(sys.argv[1]).glob("*/*-*/*__seed*__*/metrics.csv"))
    rows = [row for row in map(row_of, (metrics.parent for metrics in runs)) if row]
    for cells in [COLUMNS, ["---"] * len(COLUMNS), *rows]:
        print("| " + " | ".join(cells) + " |")


main()
