#!/usr/bin/env bash
# Trains policies of different quality (algorithms, seeds, lengths), ranks them without an
# environment and compares the ranking with true returns: the figures of docs/selection.md. Goes on
# where it was left.
#
#   OUTPUT=runs/selection_results scripts/selection_results.sh [pendulum] [hopper]
#
# `hopper` needs a file of hopper-medium-v2 data in HOPPER_MEDIUM (D4RL layout).
set -euo pipefail
cd "$(dirname "$0")/.."

program=${PROGRAM:-build/release/rl_training}
output=${OUTPUT:-runs/selection_results}
declare -A policies=(
  # algorithm:seed:updates
  [pendulum]="td3_bc:0:50 td3_bc:1:200 td3_bc:0:500 td3_bc:1:2000 td3_bc:0:6000 bc:0:100 bc:1:2000
    iql:0:300 iql:0:3000 awac:0:200 awac:1:2000 crr:0:1000 rebrac:0:3000"
  [hopper]="td3_bc:2:1 td3_bc:2:10 bc:2:20 td3_bc:0:100 td3_bc:1:500 td3_bc:0:2000 td3_bc:1:5000 td3_bc:0:15000 bc:0:200 bc:1:3000
    iql:0:1000 iql:1:8000 awac:0:300 awac:1:5000"
)

for task in ${*:-pendulum}; do
  config=pendulum
  more=()
  fit=(--updates 10000 --tau 0.005)
  if [[ $task == hopper ]]; then
    config=hopper-medium-v2
    more=(--set "dataset_path=$HOPPER_MEDIUM")
    # Returns differ by how long the hopper stays up, some hundred steps: a longer horizon.
    fit=(--updates 5000 --critics 1 --tau 0.1 --gamma 0.995)
  fi
  runs=()
  for policy in ${policies[$task]}; do
    IFS=: read -r algo seed length <<<"$policy"
    place=$output/$task/$algo-$seed-$length
    if [[ ! -e $place/done ]]; then
      rm -rf "$place"
      "$program" train --config "$algo/$config" --seed "$seed" --quiet --output-dir "$place" \
        --set "total_timesteps=$length" --set eval_episodes=0 --set "checkpoint_interval=$length" \
        ${more[@]+"${more[@]}"} >/dev/null
      touch "$place/done"
    fi
    runs+=("$place"/*/)
  done
  "$program" select "${runs[@]}" "${fit[@]}" --truth 20 --output "$output/$task/selection"
done
