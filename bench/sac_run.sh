#!/usr/bin/env bash
# Measures a whole small online run on one core: SAC on Pendulum, 10,000 steps, batch 100, 64-64,
# one update per step. Repeats each measurement ROUNDS times (default 9) and prints for each
# instruction set:
# - the FMA limit of the core, measured before each run: the highest, and the median in parentheses;
# - the time of the training, and of the whole process including start-up: the fastest, and the
#   median in parentheses;
# - the time of the whole process, scaled to a core with a limit of 100 GFLOP/s. The fastest time is
#   scaled by the highest limit, the median time by the median limit.
#
#   bench/sac_run.sh [PROGRAM]
set -euo pipefail
program=${1:-build/release/rl_training}
rounds=${ROUNDS:-9}
core=${CORE:-0}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

field() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p"; }
ours() { taskset -c "$core" "$program" "$@"; }
# Prints the smallest value in a file (with -r, the largest), then the median.
extremes() { sort -n "$@" | awk '{ all[NR] = $1 } END { print all[1], all[int((NR + 1) / 2)] }'; }

for kernels in "" avx2; do
  if [[ -n $kernels ]]; then export RL_TRAINING_KERNELS=$kernels; fi
  name=${kernels:-widest}
  for ((round = 0; round < rounds; ++round)); do
    if ! limit=$(ours bench --algo sac --rounds 1 --updates 1 --json 2>"$directory/notes"); then
      [[ -n $kernels ]] && break 2  # this processor does not support the instruction set
      cat "$directory/notes" >&2
      exit 1
    fi
    field fma_gflops <<<"$limit" >>"$directory/limit-$name"
    start=$EPOCHREALTIME
    ours train --config sac/pendulum --threads 1 --quiet --json --set eval_episodes=0 \
      --set learning_starts=100 --output-dir "$directory/runs" >"$directory/result.json"
    end=$EPOCHREALTIME
    field seconds <"$directory/result.json" >>"$directory/training-$name"
    awk -v a="$start" -v b="$end" 'BEGIN { print b - a }' >>"$directory/process-$name"
    rm -rf "$directory/runs"
  done
  isa=$(sed -n 's/.*"isa":"\([a-z0-9]*\)".*/\1/p' <<<"$limit")
  echo "$isa $(extremes -r "$directory/limit-$name") $(extremes "$directory/training-$name")" \
    "$(extremes "$directory/process-$name")" | awk '{
      printf "%-7s FMA limit %.0f GFLOP/s (%.0f): ", $1, $2, $3
      printf "training %.2f s (%.2f), whole process %.2f s (%.2f), ", $4, $5, $6, $7
      printf "at 100 GFLOP/s %.2f s (%.2f)\n", $6 * $2 / 100, $7 * $3 / 100 }'
done
