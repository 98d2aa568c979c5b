# Sourced by the scripts that generate tables of results. Needs $program.

# One run in its own directory: does nothing if it is complete, otherwise resumes or starts it. A run killed
# before its first checkpoint starts again. A signal exits with 255, after which xargs starts no more runs.
train_or_resume() { # directory name seed updates config [option...]
  local directory=$1 name=$2 seed=$3 updates=$4 config=$5 run code=0
  shift 5
  mkdir -p "$directory"
  run=$(find "$directory" -maxdepth 1 -type d -name "*__seed${seed}__*" ! -name '.*' | sort | tail -n 1)
  local command=(train --config "$config" --seed "$seed" --output-dir "$directory" "$@")
  if [[ -n $run && -d $run/checkpoints/step-$(printf %09d "$updates") ]]; then
    echo "kept    $name"
    return
  fi
  if [[ -n $run ]] && compgen -G "$run/checkpoints/step-*" >/dev/null; then command=(resume "$run"); fi
  echo "${command[0]}  $name"
  "$program" "${command[@]}" --total-timesteps "$updates" --threads 1 --quiet \
    >>"$directory/seed$seed.log" 2>&1 || code=$?
  [[ $code -eq 0 ]] || echo "FAILED  $name: exit code $code, see $directory/seed$seed.log" >&2
  [[ $code -lt 128 ]] || exit 255
  return "$code"
}

# Replaces the text between the markers of a table on a page.
write_between_markers() { # page table file
  local changed
  changed=$(mktemp)
  awk -v begin="<!-- begin $2 -->" -v end="<!-- end $2 -->" -v table="$3" '
    $0 == end { inside = 0 }
    !inside { print }
    $0 == begin { inside = 1; while ((getline line < table) > 0) print line }
  ' "$1" >"$changed"
  cat "$changed" >"$1"
  rm "$changed"
}
