#!/usr/bin/env bash
# Trains the algorithms of the table below with their packaged configs, several seeds each, and writes
# their table into docs/results.md. Unfinished runs are resumed; complete runs are not trained again.
#
#   JOBS      training processes at a time, one thread each (all cores)
#   SEEDS     seeds of each config ("0 1 2 3 4")
#   CONFIGS   configs to train (all of the table)
#   OUTPUT    where runs are kept (runs/next_results)
#   PROGRAM   another build of the program (build/release/rl_training)
#   PAGE      page whose table is replaced (docs/results.md)
set -euo pipefail
cd "$(dirname "$0")/.."

program=${PROGRAM:-build/release/rl_training}
output=${OUTPUT:-runs/next_results}
page=${PAGE:-docs/results.md}
seeds=${SEEDS:-0 1 2 3 4}

# config, and the return that the last evaluation of every seed should exceed
table="
sac_n/pendulum -617
edac/pendulum -617
xql/pendulum -617
cal_ql/pendulum -617
fql/pendulum -617
cal_ql/pendulum-online -617
cal_ql/pendulum-wsrl -617
fql/pendulum-online -617
discrete_bc/cartpole-medium 161
discrete_bcq/cartpole-medium 161
discrete_cql/cartpole-medium 161
dqn/cartpole 475
dqn/lunarlander 200
ppo/cartpole 475
ppo/pendulum -250
ppo/halfcheetah 1500
trpo/cartpole 475
trpo/pendulum -250
"

# One run: starts or resumes it, or does nothing if it is complete.
train_one() { # config seed
  local place=$output/${1//\//-}/seed$2 run code=0
  [[ ! -e $place/done ]] || return 0
  mkdir -p "$place"
  run=$(find "$place" -mindepth 1 -maxdepth 1 -type d -name '*__seed*' | sort | tail -n 1)
  local command=(train --config "$1" --seed "$2" --output-dir "$place")
  [[ -z $run ]] || command=(resume "$run")
  "$program" "${command[@]}" --threads 1 --quiet --json >"$place/result.json" 2>"$place/log" || code=$?
  if [[ $code -eq 0 ]]; then
    touch "$place/done"
    echo "done: $1 seed $2"
  else
    echo "FAILED: $1 seed $2, exit code $code, see $place/log" >&2
  fi
  [[ $code -lt 128 ]] || exit 255 # xargs starts no more
  return "$code"
}
export -f train_one
export program output

list_configs() { # those of the table that are wanted, with what they are to pass
  local config least
  while read -r config least; do
    [[ -n $config ]] || continue
    [[ " ${CONFIGS:-$config} " != *" $config "* ]] || echo "$config $least"
  done <<<"$table"
}

mkdir -p "$output"
code=0
for seed in $seeds; do
  list_configs | while read -r config _; do echo "$config $seed"; done
done | xargs -r -P "${JOBS:-$(nproc)}" -L 1 bash -c 'set -euo pipefail; train_one "$1" "$2"' _ || code=$?

{
  printf '| config | seeds | last evaluation, by seed | worst | to pass | passed |\n|---|---|---|---|---|---|\n'
  list_configs | while read -r config least; do
    for seed in $seeds; do
      place=$output/${config//\//-}/seed$seed
      [[ -e $place/done ]] || continue
      awk -F, -v seed="$seed" '
        NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
        $at["eval_return_mean"] != "" { last = $at["eval_return_mean"] }
        END { print seed, last }' "$place"/*/metrics.csv
    done | awk -v config="$config" -v least="$least" '
      { seeds = seeds (NR > 1 ? ", " : "") $1; returns = returns (NR > 1 ? ", " : "") sprintf("%.1f", $2) }
      NR == 1 || $2 < worst { worst = $2 }
      $2 > least { ++passed }
      END {
        if (NR > 0) printf "| %s | %s | %s | %.1f | %s | %d of %d |\n", config, seeds, returns, worst, least, passed, NR
      }'
  done
} >"$output/table.md"
cat "$output/table.md"

awk -v table="$output/table.md" '
  $0 == "<!-- end next -->" { inside = 0 }
  !inside { print }
  $0 == "<!-- begin next -->" { inside = 1; while ((getline line < table) > 0) print line }
' "$page" >"$output/page.md"
cp "$output/page.md" "$page"
[[ $code -eq 0 ]] || echo "some runs did not finish; start again to resume them" >&2
exit "$code"
