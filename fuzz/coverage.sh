#!/usr/bin/env bash
# Prints the share of the parsers' lines that the corpora reach: the inputs in the repository and those
# that `make fuzz` has added. Needs the executables of the preset fuzz-coverage.
#   fuzz/coverage.sh BUILD_DIR GROWN_CORPUS_DIR
set -euo pipefail
build=$1 grown=$2
cd "$(dirname "$0")/.."

parsers=(
  rl_training/experiment/{yaml_reader,safetensors,checked_json,checkpoint_manifest,checkpoint_store}.cpp
  rl_training/data/{csv_table,csv_dataset,gzip,key_map,npy_header,npz_archive}.cpp
  rl_training/data/{hdf5_file,hdf5_checks,d4rl,d3rlpy,minari,minari_space,robomimic,flat_steps}.cpp
  rl_training/util/json.cpp cli/observation_line.cpp
)
programs=("$build"/fuzz/fuzz_*)
rm -f "$build"/*.profraw
objects=()
for program in "${programs[@]}"; do
  [[ -x $program && -f $program ]] || continue
  name=$(basename "$program")
  corpora=("fuzz/corpus/$name")
  [[ -d $grown/$name ]] && corpora+=("$grown/$name")
  # %c writes the counters to the file continuously, so that child processes that are killed are
  # also counted.
  LLVM_PROFILE_FILE="$build/$name%c.profraw" "$program" "${corpora[@]}" | sed "s/^/$name: /"
  objects+=(-object "$program")
done
llvm-profdata merge -sparse "$build"/*.profraw -o "$build/all.profdata"
llvm-cov report "${objects[@]:1}" -instr-profile "$build/all.profdata" \
  -show-region-summary=false -show-branch-summary=false "${parsers[@]}"
