#!/usr/bin/env bash
# Runs of the published length on medium sets of full size (scripts/make_medium_sets.sh makes them),
# and their table in docs/results.md. About 1 to 2 hours a run on one core; ReBRAC and CQL take longer.
# You can stop the script at any time: finished runs are kept, unfinished ones are resumed.
#
#   JOBS            training processes at a time, one thread each (2)
#   MEDIUM_DIR      directory of the sets (runs/medium)
#   FULL_DIR        where runs are kept (runs/full)
#   FULL_SEEDS      seeds ("0"); all runs of one seed come before the next
#   FULL_UPDATES    updates of every run instead of those of the list, for a trial
#   PROGRAM         another build of the program (build/release/rl_training)
#   RESULTS_PAGE    page whose table is replaced (docs/results.md)
set -euo pipefail
cd "$(dirname "$0")/.."

program=${PROGRAM:-build/release/rl_training}
export MEDIUM_DIR=${MEDIUM_DIR:-runs/medium} FULL_DIR=${FULL_DIR:-runs/full}
page=${RESULTS_PAGE:-docs/results.md}
source scripts/train_or_resume.sh

# The most important first: algorithm, task, setting, updates. `paper` is the packaged config, that of
# the authors; `corl` the widely quoted setting of CORL.
jobs_list='
td3_bc hopper paper 1000000
iql hopper paper 1000000
td3_bc halfcheetah paper 1000000
td3_bc walker2d paper 1000000
iql hopper corl 1000000
iql halfcheetah paper 1000000
iql walker2d paper 1000000
rebrac hopper paper 300000
iql halfcheetah corl 1000000
iql walker2d corl 1000000
cql hopper paper 1000000
'

# Changes of the setting to the packaged config.
options_of() { # algo task setting
  case "$1 $2 $3" in
    "iql hopper corl") echo "--set normalize_observations=true --set policy=deterministic --set tau=0.001" ;;
    "iql "*" corl") echo "--set normalize_observations=true --set reward_preset=none" ;;
  esac
}

run_job() { # algo task setting updates seed
  local set=$MEDIUM_DIR/$2-medium.hdf5 options
  if [[ ! -f $set ]]; then
    echo "SKIPPED $1 $2: no file $set" >&2
    return
  fi
  read -ra options <<<"$(options_of "$1" "$2" "$3")"
  train_or_resume "$FULL_DIR/$2/$1-$3" "$1 $2 ($3) seed $5" "$5" "$4" "$1/$2-medium-v2" \
    --set "dataset_path=$set" "${options[@]}"
}

if [[ ${1:-} == --job ]]; then
  shift
  run_job "$@"
  exit
fi

mkdir -p "$FULL_DIR"
for seed in ${FULL_SEEDS:-0}; do
  while read -r algo task setting updates; do
    [[ -z $algo ]] || echo "$algo $task $setting ${FULL_UPDATES:-$updates} $seed"
  done <<<"$jobs_list"
done >"$FULL_DIR/jobs.txt"
code=0
xargs -r -P "${JOBS:-2}" -L 1 scripts/full_results.sh --job <"$FULL_DIR/jobs.txt" || code=$?
scripts/full_table.py "$FULL_DIR" >"$FULL_DIR/table.md"
write_between_markers "$page" full-results "$FULL_DIR/table.md"
echo "table: $page"
[[ $code -eq 0 ]] || echo "some runs did not finish; start again to resume" >&2
exit "$code"
