#!/usr/bin/env bash
# Trains policies of different quality (algorithms, seeds, lengths), ranks them without an environment, and
# compares the ranking with true returns. Produces the figures of docs/selection.md. If you run the script
# again, it reuses existing results.
#
#   OUTPUT=runs/selection_results scripts/selection_results.sh [pendulum] [hopper] [hopper-narrow]
#
# SELECT_OPTIONS (default "--truth 20") is passed to `select`.
# `pendulum` ranks policies of offline and online algorithms, so that some are better than anything in the data.
# The Hopper tasks need a file that D4RL's hopper-medium-v2 policy recorded in Hopper-v4; set HOPPER_MEDIUM to its
# path. `hopper` ranks policies on mixed data: this file, episodes of six policies with noise, and episodes of random
# actions. These six policies were trained with other seeds than the ranked policies. `hopper-narrow` ranks the same
# policies on the file alone.
set -euo pipefail
cd "$(dirname "$0")/.."

program=${PROGRAM:-build/release/rl_training}
output=${OUTPUT:-runs/selection_results}
threads=${THREADS:-0}
read -ra options <<<"${SELECT_OPTIONS:---truth 20}"
# Each policy is algorithm:seed:updates.
declare -A policies=(
  [pendulum]="td3_bc:0:50 td3_bc:1:200 td3_bc:0:500 td3_bc:1:2000 td3_bc:0:6000 bc:0:100 bc:1:2000
    iql:0:300 sac:0:10000 td3:0:10000 ddpg:0:10000 redq:0:10000 tqc:0:10000 rlpd:0:10000"
  [hopper]="td3_bc:2:1 td3_bc:2:10 bc:2:20 td3_bc:0:100 td3_bc:1:500 td3_bc:0:2000 td3_bc:1:5000
    td3_bc:0:15000 bc:0:200 bc:1:3000 iql:0:1000 iql:1:8000 awac:0:300 awac:1:5000"
)
loggers="bc:10:50 td3_bc:10:150 awac:10:500 bc:11:1000 td3_bc:11:2000 iql:10:3000"

train() { # arguments: task, algorithm:seed:updates; prints the directory of the run
  local algo seed length place config=$1 more=()
  IFS=: read -r algo seed length <<<"$2"
  place=$output/$1/$algo-$seed-$length
  if [[ $1 == hopper ]]; then
    config=hopper-medium-v2
    more=(--set env_id=Hopper-v4 --set "dataset_path=$HOPPER_MEDIUM")
  fi
  if [[ ! -e $place/done ]]; then
    rm -rf "$place"
    "$program" train --config "$algo/$config" --seed "$seed" --quiet --threads "$threads" \
      --output-dir "$place" --set "total_timesteps=$length" --set eval_episodes=0 \
      --set "checkpoint_interval=$length" ${more[@]+"${more[@]}"} >/dev/null
    touch "$place/done"
  fi
  echo "$place"/*/
}

make_logs() { # prints the name of the file
  local logs=$output/hopper/logs place files=("$HOPPER_MEDIUM") logger seed=100
  mkdir -p "$logs"
  if [[ ! -e $logs/all.hdf5 ]]; then
    "$program" dataset collect "$logs/random.hdf5" --env Hopper-v4 --size 10000 >/dev/null
    files+=("$logs/random.hdf5")
    for logger in $loggers; do
      place=$(train hopper "$logger")
      "$program" dataset collect "$logs/${logger//:/-}.hdf5" --policy "$place" --noise 0.1 \
        --size 20000 --seed $((seed++)) >/dev/null
      files+=("$logs/${logger//:/-}.hdf5")
    done
    "$program" dataset mix "$logs/mixed.hdf5" "${files[@]}" --env Hopper-v4 >/dev/null
    mv "$logs/mixed.hdf5" "$logs/all.hdf5"
  fi
  echo "$logs/all.hdf5"
}

for task in ${*:-pendulum}; do
  data=()
  [[ $task != hopper ]] || data=(--data "$(make_logs)")
  runs=()
  for policy in ${policies[${task%-narrow}]}; do runs+=("$(train "${task%-narrow}" "$policy")"); done
  "$program" select "${runs[@]}" ${data[@]+"${data[@]}"} "${options[@]}" --threads "$threads" \
    --output "$output/$task-selection"
done
