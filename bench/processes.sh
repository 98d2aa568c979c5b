#!/usr/bin/env bash
# First compares the speed of a run on two processes with that of a run on one process with half the
# batch. Measures rows per second of ReBRAC and CQL (three layers of 256) with 1024 rows per
# process, and reports the median of ROUNDS (default 3) alternating repetitions.
# Then compares the returns of TD3+BC (64-64) on Pendulum with batches of 4096, trained by one
# process and by two, for the seeds in SEEDS (default "0 1 2").
#
#   bench/processes.sh [PROGRAM]
set -euo pipefail
program=${1:-build/release/rl_training}
rounds=${ROUNDS:-3}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

field() { sed -n "s/.*\"$1\":\(-\{0,1\}[0-9.]*\).*/\1/p"; }
middle() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
# Arguments: algorithm, updates, batch, additional arguments of `train`.
rows_a_second() {
  "$program" train --config "$1/pendulum-random" --quiet --json --output-dir "$directory/runs" \
    --threads 1 --set "total_timesteps=$2" --set "batch_size=$3" --set 'hidden_sizes=[256,256,256]' \
    --set dataset_size=20000 --set eval_episodes=0 --set log_interval="$2" "${@:4}" |
    field seconds | awk -v rows="$(($2 * $3))" '{ print rows / $1 }'
}

for work in "rebrac ${REBRAC_UPDATES:-480}" "cql ${CQL_UPDATES:-40}"; do
  read -r algo updates <<<"$work"
  for ((round = 0; round < rounds; ++round)); do
    rows_a_second "$algo" "$updates" 1024 >>"$directory/$algo-1"
    rows_a_second "$algo" "$updates" 2048 --processes 2 >>"$directory/$algo-2"
  done
  echo "$algo $(middle <"$directory/$algo-1") $(middle <"$directory/$algo-2")" |
    awk '{ printf "%s: one process %.0f rows/s, two %.0f, ratio %.2f\n", $1, $2, $3, $3 / $2 }'
done

for seed in ${SEEDS-0 1 2}; do
  for processes in 1 2; do
    "$program" train --config td3_bc/pendulum --quiet --json --output-dir "$directory/runs" \
      --threads 1 --seed "$seed" --set batch_size=4096 --set 'hidden_sizes=[64,64]' \
      --set "total_timesteps=${TD3_BC_UPDATES:-2000}" --processes $processes \
      --set eval_interval=100000 >"$directory/result.json"
    echo "td3_bc, batch 4096, seed $seed, $processes process(es): return" \
      "$(sed 's/"metrics_before".*//' "$directory/result.json" | field eval_return_mean)"
  done
done
