#!/usr/bin/env bash
# Creates docs/images/report.png and docs/images/terminal.png. Trains a few small runs, renders their report
# in chromium, and captures the live view of a run in a terminal of 80 columns (tmux).
#   scripts/pictures.sh [PROGRAM]
# Needs chromium and tmux. Takes a few minutes on one core.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${1:-build/release/rl_training}")
images=$PWD/docs/images
work=$(mktemp -d)
session=rl_training_pictures_$$
trap 'tmux -L "$session" kill-server 2>/dev/null || true; rm -rf "$work"' EXIT

photograph() { # arguments: page, size, picture
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 \
    --virtual-time-budget=3000 --window-size="$2" --screenshot="$3" "file://$1" >/dev/null 2>&1
}

for rate in 0.0003 0.001; do
  "$program" train --config td3_bc/pendulum --seeds 0,1,2,3,4 --quiet --json --output-dir "$work/runs" \
    --total-timesteps 3000 --set eval_interval=250 --set 'hidden_sizes=[64,64]' \
    --set learning_rate=$rate >/dev/null
done
"$program" train --config iql/pendulum --seeds 0,1,2,3,4 --quiet --json --output-dir "$work/runs" \
  --total-timesteps 3000 --set eval_interval=250 --set 'hidden_sizes=[64,64]' >/dev/null
"$program" report "$work/runs" --output "$work/report.html" >/dev/null
photograph "$work/report.html" 1140,800 "$images/report.png"

# Capture the screen as text after a few evaluations.
tmux -L "$session" -u new-session -d -x 80 -y 16 \
  "cd '$work' && LC_ALL=C.UTF-8 '$program' train --config td3_bc/pendulum; sleep 60"
screen=""
for _ in $(seq 600); do
  screen=$(tmux -L "$session" capture-pane -p)
  [[ $(grep -c 'eval return' <<<"$screen") -ge 8 && $screen == *left* ]] && break
  sleep 0.2
done
escaped=$(sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' <<<"$screen" | sed -e '/^ *$/d')
cat >"$work/terminal.html" <<PAGE
<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: #14171b; }
pre { margin: 0; padding: 14px 16px; color: #d7dde4; font: 14px/1.35 "DejaVu Sans Mono", monospace; }
b { color: #8fd19e; font-weight: normal; }
</style><pre><b>\$ rl_training train --config td3_bc/pendulum</b>
$escaped</pre>
PAGE
lines=$(($(wc -l <<<"$escaped") + 1))
photograph "$work/terminal.html" "710,$((lines * 19 + 30))" "$images/terminal.png"
ls -l "$images/report.png" "$images/terminal.png"
