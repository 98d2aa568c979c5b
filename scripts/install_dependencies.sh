#!/usr/bin/env bash
# Installs the packages that the build needs (Debian 12 or newer, Ubuntu 24.04 or newer). Does nothing if all
# of them are installed.
#   scripts/install_dependencies.sh [bench] [chroot] [dev] [package] [peers] [python] [slurm] [valgrind] [web]
# Each argument adds the packages for one purpose:
#   bench     PyTorch and h5py, with which `make bench` and `make bench-data` compare
#   chroot    a clean Debian, in which packages are tested
#   dev       formatter, linter and fuzzing compiler
#   package   tools that build Debian packages
#   peers     the virtual environment of `make bench-peers`
#   python    the Python package and its tests
#   slurm     the test of sweeps
#   valgrind  `make bench-check`
#   web       browser and Node.js for the tests of HTML pages
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache make git pkg-config
  libtorch-dev libdnnl-dev libopenblas0-pthread
  libyaml-cpp-dev nlohmann-json3-dev libcli11-dev libfmt-dev
  libprotobuf-dev protobuf-compiler
  zlib1g-dev libdeflate-dev libzip-dev libssl-dev libxxhash-dev libseccomp-dev
  libhdf5-dev libmujoco-dev libbox2d-dev libcairo2-dev libgif-dev libosmesa6
  libjs-dygraphs libgloo-dev
  libgtest-dev
)
for group in "$@"; do
  case "$group" in
    bench) packages+=(python3-torch python3-numpy python3-h5py libopenblas-dev) ;;
    web)
      packages+=(chromium)
      command -v node >/dev/null || packages+=(nodejs)
      command -v npm >/dev/null || packages+=(npm)
      ;;
    peers) packages+=(python3-venv python3-dev) ;;
    python) packages+=(pybind11-dev python3-dev python3-numpy python3-pytest) ;;
    slurm) packages+=(slurm-wlm munge python3) ;;
    valgrind) packages+=(valgrind python3) ;;
    package) packages+=(dpkg-dev file) ;;
    chroot) packages+=(debootstrap) ;;
    dev) packages+=(clang-format clang-tidy clang libclang-rt-14-dev llvm) ;;
    *)
      echo "usage: $0 [bench] [chroot] [dev] [package] [peers] [python] [slurm] [valgrind] [web]" >&2
      exit 2
      ;;
  esac
done

installed() {
  [[ "$(dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | head -n 1)" == installed ]]
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  # Package names differ on other systems. There, CMake reports missing packages.
  echo "This system has no apt-get. The build needs what these Debian packages hold:" >&2
  echo "  ${packages[*]}" >&2
  echo "Install them, then run: cmake --preset release && cmake --build --preset release" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi

as_root=()
if [[ "$(id -u)" -ne 0 ]]; then
  if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
    echo "Missing packages: ${missing[*]}" >&2
    echo "Install them as root: apt-get update && apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo -n)
fi

echo "Installing: ${missing[*]}" >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -q -y --no-install-recommends "${missing[@]}" >&2
