#!/usr/bin/env bash
# Measures how long a 17-256-256-6 policy takes to compute one action on one core: with the exported
# C header (-O3 -march=native), with LibTorch on one row, and with ONNX Runtime (onnxruntime-node) on
# one row. Also prints the largest difference between their actions.
#   bench/export/run.sh PROGRAM LIBTORCH_FORWARD WORK_DIR
set -euo pipefail
program=$1 libtorch=$2 work=$3
core=${CORE:-0}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rm -rf "$work/runs"
mkdir -p "$work"
"$program" train --config td3_bc/pendulum-random --quiet --json --output-dir "$work/runs" \
  --set env_id=HalfCheetah-v4 --set total_timesteps=200 --set dataset_size=5000 \
  --set 'hidden_sizes=[256,256]' --set eval_episodes=0 >"$work/train.json"
run=$(sed -n 's/.*"run_dir":"\([^"]*\)".*/\1/p' "$work/train.json")
"$program" export "$run" --format c --output "$work/policy.h"
"$program" export "$run" --format onnx --output "$work/policy.onnx"

# Prints the largest difference between corresponding float32 values of two files.
difference() {
  paste <(od -An -v -tf4 -w4 "$1") <(od -An -v -tf4 -w4 "$2") |
    awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > m) m = d } END { printf "%.2g", m + 0 }'
}
report() { printf '%-28s %8s us an action   largest difference %s\n' "$1" "$2" "$3"; }

${CC:-cc} -std=gnu99 -O3 -march=native -I"$work" -o "$work/c_header" "$here/c_header.c" -lm
c=$(taskset -c "$core" "$work/c_header" "$work/obs" "$work/c")
report "C header" "$c" "(the reference)"
torch=$(taskset -c "$core" "$libtorch" "$run" "$work/obs" "$work/libtorch")
report "LibTorch, one row" "$torch" "$(difference "$work/c" "$work/libtorch")"
if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
  echo "ONNX Runtime                 SKIPPED: no npm"
  exit 0
fi
if [[ ! -d $work/node_modules/onnxruntime-node ]]; then
  # The package already contains the libraries for inference on the CPU. Without --ignore-scripts,
  # its install script would download CUDA libraries as well.
  npm install --prefix "$work" --no-fund --no-audit --silent --ignore-scripts onnxruntime-node >/dev/null 2>&1 ||
    { echo "ONNX Runtime                 SKIPPED: npm cannot install onnxruntime-node"; exit 0; }
fi
onnx=$(NODE_PATH=$work/node_modules taskset -c "$core" node "$here/onnxruntime.js" \
  "$work/policy.onnx" "$work/obs" 17 "$work/onnx")
report "ONNX Runtime, one row" "$onnx" "$(difference "$work/c" "$work/onnx")"
