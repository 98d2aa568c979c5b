#!/usr/bin/env bash
# Trains a small policy, then uses its files on disk to evaluate the policy and to predict two actions.
# PROGRAM is the program to use (default: rl_training from the PATH). The run remains in runs/demo.
set -euo pipefail

program=${PROGRAM:-rl_training}
output_dir=runs/demo
episodes=20

summary=$(mktemp)
trap 'rm -f "$summary"' EXIT

echo "== train"
"$program" train --config td3_bc/pendulum --output-dir "$output_dir" | tee "$summary"
run=$(sed -n 's/^run directory  *//p' "$summary")
value_of() { sed -n "s/^$1  *//p" "$summary"; }

echo
echo "== evaluate the checkpoint on disk"
evaluation=$("$program" evaluate "$run" --episodes "$episodes")
echo "$evaluation"

echo
echo "== predict: hanging down at rest, and nearly upright"
printf '%s\n' '[-1.0, 0.0, 0.0]' '[0.99, 0.1, -0.2]' | "$program" predict "$run"

echo
echo "== mean return of an episode (0 is best)"
printf '%-18s %s\n' \
  "dataset" "$(value_of 'dataset return')" \
  "before training" "$(value_of 'before training')" \
  "after training" "$(sed -n 's/^return  *//p' <<<"$evaluation") ($episodes episodes)" \
  "training time" "$(value_of 'training time')"
