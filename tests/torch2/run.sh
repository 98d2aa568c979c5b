#!/usr/bin/env bash
# Builds everything against the LibTorch of the Python package `torch` from PyPI and runs the whole test suite.
#   tests/torch2/run.sh BUILD_DIR [ARGUMENTS OF CTEST...]
# Of the packages that `torch` depends on, only the two CUDA libraries that libtorch_cpu.so is linked with are
# installed. Set TORCH_VERSION to test another version than the newest.
set -euo pipefail
build=$1
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
venv=$build/venv
mkdir -p "$build"
[[ -x $venv/bin/python ]] || /usr/bin/python3 -m venv "$venv"

pip() { "$venv/bin/python" -m pip "$@" -q --disable-pip-version-check; }
if ! pip install --no-deps "torch${TORCH_VERSION:+==$TORCH_VERSION}"; then
  echo "SKIPPED: PyPI's torch cannot be installed" >&2
  exit 77
fi
mapfile -t cuda < <("$venv/bin/python" - <<'PYTHON'
import importlib.metadata
import re

for requirement in importlib.metadata.requires("torch"):
    name = re.match(r"[\w-]+", requirement)[0]
    version = re.search(r"==\s*([\w.]+)", requirement)
    if name == "cuda-toolkit":
        print(f"cuda-toolkit[cudart,cupti]=={version[1]}")
    elif name.startswith(("nvidia-cuda-runtime", "nvidia-cuda-cupti")):
        print(f"{name}=={version[1]}")
PYTHON
)
[[ ${#cuda[@]} == 0 ]] || pip install "${cuda[@]}"

torch=$("$venv/bin/python" -c 'import importlib.util; print(importlib.util.find_spec("torch").submodule_search_locations[0])')
"$venv/bin/python" -c 'import importlib.metadata as m; print("torch", m.version("torch"))'
cmake --preset release -S "$root" -B "$build" -DCMAKE_PREFIX_PATH="$torch/share/cmake" \
  -DRL_TRAINING_PYTHON_DIR="$build/python"
cmake --build "$build" -j "$(nproc)"
# Tests that import Debian's torch would load a second LibTorch. `make test-ecosystem` tests the Python package beside
# PyPI's torch.
export PYTEST_ADDOPTS='-k "not beside_torch"'
ctest --test-dir "$build" --output-on-failure -j2 "$@"
