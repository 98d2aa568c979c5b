#!/usr/bin/env bash
# Runs tests with the real Gymnasium, Minari, TensorBoard, ONNX Runtime, Optuna and PyTorch 2. These
# packages are installed from PyPI into virtual environments below WORK_DIR. If the installation
# fails, the script prints which tests it skips.
#   tests/ecosystem/run.sh PACKAGE_DIR PROGRAM WORK_DIR
# TORCH=0 skips PyTorch 2, which needs 5 GB and a rebuild of the library.
set -euo pipefail
package=$1 program=$2 work=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
python=/usr/bin/python3
export PYTHONDONTWRITEBYTECODE=1 RL_TRAINING_PROGRAM=$program
mkdir -p "$work"

# Creates the virtual environment $1 and installs the packages of the other arguments. Returns false
# on failure.
install() {
  local venv=$work/$1
  shift
  [[ -x $venv/bin/python ]] || "$python" -m venv "$venv" || return 1
  "$venv/bin/python" -m pip install -q --disable-pip-version-check "$@"
}

failed=0
if install venv -r "$here/requirements.txt"; then
  PYTHONPATH=$package "$work/venv/bin/python" -m pytest -q --disable-warnings -p no:cacheprovider \
    "$here" "$root/python/tests/test_gymnasium.py" "$root/python/tests/test_docs.py" || failed=1
else
  echo "SKIPPED: the packages of tests/ecosystem/requirements.txt cannot be installed"
fi

if [[ ${TORCH:-1} == 0 ]]; then
  echo "SKIPPED: PyTorch 2 (TORCH=0)"
elif install torch torch numpy pybind11 pytest; then
  torch=$("$work/torch/bin/python" -c 'import os, torch; print(os.path.dirname(torch.__file__))')
  cmake -S "$root" -B "$root/build/torch2" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8 -DRL_TRAINING_TESTS=OFF \
    -DPython_EXECUTABLE="$work/torch/bin/python" -DRL_TRAINING_TORCH="$torch"
  cmake --build "$root/build/torch2" --target python -j "$(nproc)"
  PYTHONPATH=$root/build/torch2/python "$work/torch/bin/python" -m pytest -q --disable-warnings -p no:cacheprovider \
    "$root/python/tests/test_algorithms.py" "$root/python/tests/test_dataset.py" \
    "$root/python/tests/test_training.py" -k 'not bits_equal' || failed=1
else
  echo "SKIPPED: PyTorch 2 cannot be installed"
fi
exit $failed
