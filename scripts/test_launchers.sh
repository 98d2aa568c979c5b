#!/usr/bin/env bash
# Starts a run of two processes with mpirun and with torchrun. Checks that its tensors equal those of
# `--processes 2` bit for bit. Skips a launcher that is missing (Debian: openmpi-bin). torchrun must be from
# PyTorch 2: with Python 3.11, the torchrun of Debian's PyTorch 1.13 fails before it starts any process.
#
#   [TORCHRUN=VENV/bin/torchrun] scripts/test_launchers.sh PROGRAM
set -euo pipefail

program=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run=("$program" train --config td3_bc/pendulum --seed 3 --set total_timesteps=200
  --set eval_episodes=0 --quiet)
port=$((20000 + RANDOM % 20000))

tensors() { sha256sum "$work/$1"/*/checkpoints/step-000000200/tensors.safetensors | cut -d' ' -f1; }

"${run[@]}" --processes 2 --output-dir "$work/own" >/dev/null
check() { # arguments: name, command...
  local name=$1
  shift
  if ! command -v "$1" >/dev/null; then
    echo "SKIPPED: $name is missing"
    return
  fi
  "$@" --output-dir "$work/$name" >/dev/null
  if [[ $(tensors "$name") != $(tensors own) ]]; then
    echo "FAILED: $name: other tensors than --processes 2"
    exit 1
  fi
  echo "$name: two processes, the tensors of --processes 2"
}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
check mpirun mpirun -n 2 --oversubscribe --bind-to none "${run[@]}" --processes env \
  --master "127.0.0.1:$port"
check torchrun "${TORCHRUN:-torchrun-of-pytorch-2}" --no_python --nnodes 1 --nproc_per_node 2 --master_addr 127.0.0.1 \
  --master_port "$((port + 1))" "${run[@]}" --processes env
