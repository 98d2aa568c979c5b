#!/usr/bin/env bash
# Trains the online algorithms over several seeds and writes their tables and a plot of learning
# curves. Unfinished runs are resumed; complete runs are not trained again.
#
#   JOBS=2 SEEDS="0 1 2 3 4" OUTPUT=runs/online_results scripts/online_results.sh [GROUP...]
#
# Groups: pendulum, goal, fine_tuning (2,000 updates from data, then 5,000 environment steps) and hopper.
# The last two run only if they are named. The last one needs a file of prior data in HOPPER_MEDIUM (D4RL
# layout), makes 50,000 steps and uses 5 updates per step for RLPD instead of 20, so that a seed takes about an
# hour. STEPS shortens the runs for a trial; use another OUTPUT for it, because shortened runs count as
# complete.
set -euo pipefail
cd "$(dirname "$0")/.."

program=${PROGRAM:-build/release/rl_training}
output=${OUTPUT:-runs/online_results}
jobs=${JOBS:-$(nproc)}
seeds=${SEEDS:-0 1 2 3 4}
steps=${STEPS:-}
declare -A configs=(
  [pendulum]="sac/pendulum td3/pendulum ddpg/pendulum redq/pendulum tqc/pendulum crossq/pendulum rlpd/pendulum
    rlpd/pendulum-narrow"
  [goal]="sac/pointgoal-her sac/pointgoal-plain td3/pointgoal-her td3/pointgoal-plain"
  [fine_tuning]="awac/pendulum iql/pendulum cql/pendulum td3_bc/pendulum rebrac/pendulum"
  [hopper]="sac/hopper rlpd/hopper"
)
groups=${*:-pendulum goal}

# Changes to a config.
changes_of() {
  case "$1" in
    awac/* | iql/* | cql/* | td3_bc/* | rebrac/*)
      echo "--set total_timesteps=2000 --set online=5000 --set eval_interval=1000"
      ;;
    rlpd/hopper) echo "--set gradient_updates_per_step=5 --set dataset_path=$HOPPER_MEDIUM" ;;
  esac
}

# One run: starts or resumes it, or does nothing if it is complete.
train_one() {
  local config=$1 seed=$2 place changes length=$steps
  [[ $config == */hopper ]] && length=${steps:-50000}
  place=$output/${config//\//-}/seed$seed
  [[ -e $place/done ]] && return
  mkdir -p "$place"
  local run
  run=$(find "$place" -mindepth 1 -maxdepth 1 -type d -name '*__seed*' | sort | tail -n 1)
  if [[ -n $run ]]; then
    "$program" resume "$run" --threads 1 --quiet --json >"$place/result.json"
  else
    read -ra changes <<<"$(changes_of "$config")"
    "$program" train --config "$config" --seed "$seed" --threads 1 --output-dir "$place" --quiet \
      "${changes[@]}" ${length:+--total-timesteps "$length"} --json >"$place/result.json"
  fi
  touch "$place/done"
  echo "done: $config seed $seed"
}
export -f changes_of train_one
export program output steps
export HOPPER_MEDIUM=${HOPPER_MEDIUM:-../shared/fixtures/generated/hopper_medium_200k.hdf5}

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
      [[ $group == hopper ]] && goal=1000
      evaluations "$place" | awk -v config="$config" -v seed="$seed" \
        -v reached="$(evaluations "$place" | reached $column $goal)" '
        NR == 1 { first = $2 } { last = $2; rate = $3 }
        END {
          printf "| %s | %s | %.1f | %.1f | %s | %s |\n", config, seed, first, last, rate, reached
        }'
    done
  done
}

# returns before, between and after the two parts of a run
table_of_fine_tuning() {
  printf '\n| config | seed | before | after the data | after the environment |\n'
  printf '|---|---|---|---|---|\n'
  local config seed place
  for config in ${configs[fine_tuning]}; do
    for seed in $seeds; do
      place=$output/${config//\//-}/seed$seed
      [[ -e $place/done ]] || continue
      awk -F, -v config="$config" -v seed="$seed" '
        NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
        $at["eval_return_mean"] == "" { next }
        { last = $at["eval_return_mean"]; if ($at["global_step"] == 0) between = last }
        $at["update_count"] == 0 { first = last }
        END { printf "| %s | %s | %.1f | %.1f | %.1f |\n", config, seed, first, between, last }
      ' "$place"/*/metrics.csv
    done
  done
}

{
  for group in $groups; do
    if [[ $group == fine_tuning ]]; then
      table_of_fine_tuning
      continue
    fi
    case $group in
      goal) aim="success 0.95" ;;
      hopper) aim=1000 ;;
      *) aim=-200 ;;
    esac
    printf '\n| config | seed | before | after | success rate | steps to %s |\n' "$aim"
    printf '|---|---|---|---|---|---|\n'
    table_of "$group"
  done
} | tee "$output/tables.md"

# Mean over seeds of each evaluation: the data of a plot, then the plot.
curve_of() { # config -> its file
  local name=${1//\//-} seed place
  for seed in $seeds; do
    place=$output/$name/seed$seed
    if [[ -e $place/done ]]; then evaluations "$place"; fi
  done | awk '{ n[$1]++; sum[$1] += $2; if (n[$1] == 1 || $2 < low[$1]) low[$1] = $2
                if (n[$1] == 1 || $2 > high[$1]) high[$1] = $2 }
              END { for (s in n) print s, sum[s] / n[s], low[s], high[s] }' |
    sort -n >"$output/$name.curve"
  echo "$output/$name.curve"
}
plot() { # title picture "name of the data" rlpd-config sac-config
  local rlpd sac
  rlpd=$(curve_of "$4") sac=$(curve_of "$5")
  [[ -s $rlpd && -s $sac ]] || return 0
  scripts/plot_curves.sh "$1" "RLPD with $3:$rlpd" "SAC:$sac" >"$output/$2"
  echo "wrote $output/$2"
}
for group in $groups; do
  case $group in
    pendulum)
      plot "Pendulum-v1: mean return over seeds, lowest to highest shaded" rlpd_and_sac.svg \
        pendulum/medium rlpd/pendulum sac/pendulum
      ;;
    hopper)
      plot "Hopper-v4: return of evaluations" hopper.svg "hopper-medium data" rlpd/hopper sac/hopper
      ;;
  esac
done
echo "wrote $output/tables.md"
