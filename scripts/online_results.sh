#!/usr/bin/env bash
# Trains the online algorithms over several seeds and writes their tables and a plot of learning
# curves. Goes on where it was left: a run that is complete is not trained again.
#
#   JOBS=2 SEEDS="0 1 2 3 4" OUTPUT=runs/online_results scripts/online_results.sh [GROUP...]
#
# Groups: pendulum, goal. STEPS shortens the runs for a trial, into another OUTPUT: what is done
# counts as complete.
set -euo pipefail
cd "$(dirname "$0")/.."

program=${PROGRAM:-build/release/rl_training}
output=${OUTPUT:-runs/online_results}
jobs=${JOBS:-$(nproc)}
seeds=${SEEDS:-0 1 2 3 4}
steps=${STEPS:-}
declare -A configs=(
  [pendulum]="sac/pendulum td3/pendulum ddpg/pendulum redq/pendulum tqc/pendulum rlpd/pendulum
    rlpd/pendulum-narrow"
  [goal]="sac/pointgoal-her sac/pointgoal-plain td3/pointgoal-her td3/pointgoal-plain"
)
groups=${*:-pendulum goal}

# One run: started, gone on with, or left alone when it is complete.
train_one() {
  local config=$1 seed=$2 place
  place=$output/${config//\//-}/seed$seed
  [[ -e $place/done ]] && return
  mkdir -p "$place"
  local run
  run=$(find "$place" -mindepth 1 -maxdepth 1 -type d -name '*__seed*' | sort | tail -n 1)
  if [[ -n $run ]]; then
    "$program" resume "$run" --threads 1 --quiet --json >"$place/result.json"
  else
    "$program" train --config "$config" --seed "$seed" --threads 1 --output-dir "$place" --quiet \
      ${steps:+--total-timesteps "$steps"} --json >"$place/result.json"
  fi
  touch "$place/done"
  echo "done: $config seed $seed"
}
export -f train_one
export program output steps

for group in $groups; do
  for seed in $seeds; do
    for config in ${configs[$group]}; do echo "$config $seed"; done
  done
done | xargs -P "$jobs" -L 1 bash -c 'set -euo pipefail; train_one "$1" "$2"' _

# step, return and success rate of each evaluation: "0 -1234.5 -"
evaluations() {
  awk -F, '
    NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
    $at["eval_return_mean"] != "" {
      rate = "eval_success_rate" in at ? $at["eval_success_rate"] : "-"
      print $at["global_step"], $at["eval_return_mean"], rate
    }' "$1"/*/metrics.csv
}

# first step at which a column reaches a goal, or "-"
reached() {
  awk -v column="$1" -v goal="$2" '
    $column >= goal && !found { print $1; found = 1 }
    END { if (!found) print "-" }'
}

table_of() {
  local group=$1 config seed place goal column
  for config in ${configs[$group]}; do
    for seed in $seeds; do
      place=$output/${config//\//-}/seed$seed
      [[ -e $place/done ]] || continue
      goal=-200 column=2
      [[ $group == goal ]] && goal=0.95 column=3
      evaluations "$place" | awk -v config="$config" -v seed="$seed" \
        -v reached="$(evaluations "$place" | reached $column $goal)" '
        NR == 1 { first = $2 } { last = $2; rate = $3 }
        END {
          printf "| %s | %s | %.1f | %.1f | %s | %s |\n", config, seed, first, last, rate, reached
        }'
    done
  done
}

{
  for group in $groups; do
    if [[ $group == goal ]]; then
      printf '\n| config | seed | before | after | success rate | steps to success 0.95 |\n'
    else
      printf '\n| config | seed | before | after | success rate | steps to -200 |\n'
    fi
    printf '|---|---|---|---|---|---|\n'
    table_of "$group"
  done
} | tee "$output/tables.md"

# Mean over seeds of each evaluation: the data of the plot, then the plot.
for config in ${configs[pendulum]}; do
  name=${config//\//-}
  [[ -d $output/$name ]] || continue
  for seed in $seeds; do
    place=$output/$name/seed$seed
    [[ -e $place/done ]] && evaluations "$place"
  done | awk '{ n[$1]++; sum[$1] += $2; if (n[$1] == 1 || $2 < low[$1]) low[$1] = $2
                if (n[$1] == 1 || $2 > high[$1]) high[$1] = $2 }
              END { for (s in n) print s, sum[s] / n[s], low[s], high[s] }' |
    sort -n >"$output/$name.curve"
done
if [[ -s $output/rlpd-pendulum.curve && -s $output/sac-pendulum.curve ]]; then
  scripts/plot_curves.sh "Pendulum-v1: mean return over seeds, lowest to highest shaded" \
    "RLPD with pendulum/medium:$output/rlpd-pendulum.curve" \
    "SAC:$output/sac-pendulum.curve" >"$output/rlpd_and_sac.svg"
  echo "wrote $output/tables.md and $output/rlpd_and_sac.svg"
fi
