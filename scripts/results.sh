#!/usr/bin/env bash
# Trains the packaged algorithms on Pendulum (recipe and replay file) and on Hopper, several seeds
# each, and writes their tables into docs/results.md. You can stop the script at any time: finished runs are
# kept, unfinished ones are resumed.
#
#   JOBS             training processes at a time, one thread each (all cores)
#   PENDULUM_REPLAY  file of the replay task, D4RL layout; without it that task is left out
#   HOPPER_MEDIUM    file of the Hopper task, D4RL layout; without it that task is left out
#   RESULTS_UPDATES  updates of every run instead of those of the tasks, for a trial
#   RESULTS_ALGOS    algorithms to train (all that have a config of the task)
#   RESULTS_SEEDS    seeds of the Pendulum tasks ("0 1 2 3 4")
#   RESULTS_DIR      where runs are kept (runs/results)
#   PROGRAM          another build of the program (build/release/rl_training)
#   RESULTS_PAGE     page whose tables are replaced (docs/results.md)
set -euo pipefail
cd "$(dirname "$0")/.."

program=${PROGRAM:-build/release/rl_training}
export PENDULUM_REPLAY=${PENDULUM_REPLAY:-../shared/fixtures/real/pendulum/pendulum_replay_v1.1.0.converted.hdf5}
export HOPPER_MEDIUM=${HOPPER_MEDIUM:-../shared/fixtures/generated/hopper_medium_200k.hdf5}
export RESULTS_DIR=${RESULTS_DIR:-runs/results}
jobs=${JOBS:-$(nproc)}
page=${RESULTS_PAGE:-docs/results.md}

file_of() { # task -> its dataset file, "" for the recipe
  case "$1" in
    pendulum-replay) echo "$PENDULUM_REPLAY" ;;
    hopper-medium-v2) echo "$HOPPER_MEDIUM" ;;
  esac
}

source scripts/train_or_resume.sh

run_job() { # algo task seed updates
  local algo=$1 task=$2 seed=$3 updates=$4 data options=()
  data=$(file_of "$task")
  [[ -z $data ]] || options=(--set "dataset_path=$data")
  train_or_resume "$RESULTS_DIR/$task/$algo" "$algo/$task seed $seed" "$seed" "$updates" \
    "$algo/$task" "${options[@]}"
}

if [[ ${1:-} == --job ]]; then
  shift
  run_job "$@"
  exit
fi

configs=$("$program" config list)
# Lines of algo, task, seed and updates for the algorithms named that have a config of the task.
list_jobs() { # task updates "seeds" algo...
  local task=$1 updates=${RESULTS_UPDATES:-$2} seeds=$3 data algo seed
  shift 3
  data=$(file_of "$task")
  if [[ -n $data && ! -f $data ]]; then
    echo "SKIPPED $task: no file $data" >&2
    return
  fi
  for seed in $seeds; do
    for algo in "$@"; do
      [[ " ${RESULTS_ALGOS:-$algo} " == *" $algo "* ]] || continue
      if grep -qx "$algo/$task" <<<"$configs"; then
        echo "$algo $task $seed $updates"
      elif [[ $seed == 0 ]]; then
        echo "SKIPPED $algo/$task: no packaged config" >&2
      fi
    done
  done
}

write_table() { # task
  [[ -d $RESULTS_DIR/$1 ]] || return 0
  "$program" report "$RESULTS_DIR/$1" --format markdown >"$RESULTS_DIR/$1.md"
  write_between_markers "$page" "$1" "$RESULTS_DIR/$1.md"
}

mkdir -p "$RESULTS_DIR"
# Offline algorithms are those that come with a config for a replay file.
offline=$(sed -n 's|/pendulum-replay$||p' <<<"$configs")
pendulum_seeds=${RESULTS_SEEDS:-0 1 2 3 4}
# shellcheck disable=SC2086
{
  list_jobs pendulum 10000 "$pendulum_seeds" $offline
  list_jobs pendulum-replay 15000 "$pendulum_seeds" $offline
  list_jobs hopper-medium-v2 100000 "0 1 2" td3_bc iql crr bc
  list_jobs hopper-medium-v2 50000 "0 1" rebrac cql
} >"$RESULTS_DIR/jobs.txt"

code=0
xargs -r -P "$jobs" -L 1 "scripts/results.sh" --job <"$RESULTS_DIR/jobs.txt" || code=$?
for task in pendulum pendulum-replay hopper-medium-v2; do write_table "$task"; done
echo "tables: $page"
[[ $code -eq 0 ]] || echo "some runs did not finish; start again to resume" >&2
exit "$code"
