#!/usr/bin/env bash
# Times a whole small online run: SAC on Pendulum, 10,000 steps, batch 100, 64-64, an update a step,
# on one core. For each instruction set: the core's FMA limit, the training itself and the whole
# process with its start, fastest and (median) of ROUNDS (9) turns, and what the whole process would
# take on a core with a limit of 100 GFLOP/s.
#
#   bench/sac_run.sh [PROGRAM]
set -euo pipefail
program=${1:-build/release/rl_training}
rounds=${ROUNDS:-9}
core=${CORE:-0}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

field() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p"; }
summary() {
  sort -n | awk -v scale="${1:-1}" '{ all[NR] = $1 * scale }
    END { printf "%.2f s (%.2f)", all[1], all[int((NR + 1) / 2)] }'
}

for kernels in "" avx2; do
  if [[ -n $kernels ]]; then export RL_TRAINING_KERNELS=$kernels; fi
  if ! limit=$(taskset -c "$core" "$program" bench --rounds 1 --updates 1 --json); then
    [[ -n $kernels ]] && break  # a set that this processor has not
    exit 1
  fi
  for ((round = 0; round < rounds; ++round)); do
    start=$EPOCHREALTIME
    taskset -c "$core" "$program" train --config sac/pendulum --threads 1 --quiet --json \
      --set eval_episodes=0 --set learning_starts=100 --output-dir "$directory/runs" \
      >"$directory/result.json"
    end=$EPOCHREALTIME
    field seconds <"$directory/result.json" >>"$directory/run$kernels"
    awk -v a="$start" -v b="$end" 'BEGIN { print b - a }' >>"$directory/process$kernels"
    rm -rf "$directory/runs"
  done
  gflops=$(field fma_gflops <<<"$limit")
  printf '%-7s FMA limit %.0f GFLOP/s: training %s, whole process %s, at 100 GFLOP/s %s\n' \
    "$(sed -n 's/.*"isa":"\([a-z0-9]*\)".*/\1/p' <<<"$limit")" "$gflops" \
    "$(summary <"$directory/run$kernels")" "$(summary <"$directory/process$kernels")" \
    "$(summary "$(awk -v limit="$gflops" 'BEGIN { print limit / 100 }')" <"$directory/process$kernels")"
done
