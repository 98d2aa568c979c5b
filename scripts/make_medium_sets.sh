#!/usr/bin/env bash
# Records full-size medium datasets of hopper, walker2d and halfcheetah in the tasks with D4RL's simulator (v2), and
# prints their returns next to those of D4RL's datasets. The actions come from the behaviour policies that are stored in D4RL's medium-v2
# files. A slice of a file is sufficient if it contains `metadata/policy`. Existing datasets are not recorded again.
#
#   D4RL_FILES   directory of hopper_medium-v2.hdf5, walker2d_medium-v2.hdf5, halfcheetah_medium-v2.hdf5
#   MEDIUM_DIR   output directory (default runs/medium)
#   MEDIUM_ROWS  rows of each dataset (default 1000000)
#   VERSION      v2 (default), or v4 to record in Gymnasium's v4 tasks; the files are then named *-medium-v4.hdf5
#   PROGRAM      the program to use (default build/release/rl_training)
set -euo pipefail
cd "$(dirname "$0")/.."

program=${PROGRAM:-build/release/rl_training}
files=${D4RL_FILES:-../shared/fixtures/real/d4rl_slices}
directory=${MEDIUM_DIR:-runs/medium}
rows=${MEDIUM_ROWS:-1000000}
version=${VERSION:-v2}
suffix=
[[ $version == v2 ]] || suffix=-$version
mkdir -p "$directory"

make_set() { # arguments: task, environment without its version, D4RL's mean return
  local source=$files/$1_medium-v2.hdf5 set=$directory/$1-medium$suffix.hdf5
  if [[ ! -f $source ]]; then
    echo "SKIPPED $1: no file $source" >&2
    return
  fi
  [[ -f $set ]] || "$program" dataset collect "$set" --policy "$source" --env "$2-$version" --size "$rows" --seed 0 >&2
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
make_set hopper Hopper 1422
make_set walker2d Walker2d 2852
make_set halfcheetah HalfCheetah 4770
# A fifth of hopper's rows, to compare the effects of more rows and of more updates.
fifth=$directory/hopper-medium-200k.hdf5
if [[ $version == v2 && -f $directory/hopper-medium.hdf5 && ! -f $fifth ]]; then
  "$program" dataset collect "$fifth" --policy "$files/hopper_medium-v2.hdf5" --env Hopper-v2 --size 200000 --seed 0 >&2
fi
