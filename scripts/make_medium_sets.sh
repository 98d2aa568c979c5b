#!/usr/bin/env bash
# Records full-size medium datasets in the v4 tasks of hopper, walker2d and halfcheetah, and prints their returns
# next to those of D4RL's datasets. The actions come from the behaviour policies that are stored in D4RL's medium-v2
# files. A slice of a file is sufficient if it contains `metadata/policy`. Existing datasets are not recorded again.
#
#   D4RL_FILES   directory of hopper_medium-v2.hdf5, walker2d_medium-v2.hdf5, halfcheetah_medium-v2.hdf5
#   MEDIUM_DIR   output directory (default runs/medium)
#   MEDIUM_ROWS  rows of each dataset (default 1000000)
#   PROGRAM      the program to use (default build/release/rl_training)
set -euo pipefail
cd "$(dirname "$0")/.."

program=${PROGRAM:-build/release/rl_training}
files=${D4RL_FILES:-../shared/fixtures/real/d4rl_slices}
directory=${MEDIUM_DIR:-runs/medium}
rows=${MEDIUM_ROWS:-1000000}
mkdir -p "$directory"

make_set() { # arguments: file, environment, D4RL's mean return
  local source=$files/$1_medium-v2.hdf5 set=$directory/$1-medium.hdf5
  if [[ ! -f $source ]]; then
    echo "SKIPPED $1: no file $source" >&2
    return
  fi
  [[ -f $set ]] || "$program" dataset collect "$set" --policy "$source" --env "$2" --size "$rows" --seed 0 >&2
  "$program" dataset inspect "$set" --json | python3 -c '
import json, sys
name, published = sys.argv[1:]
report = json.load(sys.stdin)
spread, length = report["returns"], report["lengths"]
figures = [spread["mean"], spread["std"], spread["min"], spread["max"], length["mean"]]
print("| {} | {} | {} | {} | {} |".format(name, report["rows"], report["episodes"],
      " | ".join("%.0f" % figure for figure in figures), published))' "$1" "$3"
}

echo "| set | rows | episodes | mean return | standard deviation | minimum | maximum | mean length | D4RL's mean return |"
echo "|---|---|---|---|---|---|---|---|---|"
make_set hopper Hopper-v4 1422
make_set walker2d Walker2d-v4 2852
make_set halfcheetah HalfCheetah-v4 4770
