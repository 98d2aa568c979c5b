#!/usr/bin/env bash
# Tests one run on two hosts. The hosts are two network namespaces that are connected by a virtual link, with one
# process in each. The processes read their rank and the number of processes from torchrun's environment
# variables. The test checks that
# - a repeated run gives the same results bit for bit, and so do two processes on one host;
# - a stopped run resumes exactly;
# - every listening socket is bound to an address of the link;
# - a broken link ends both processes within three times the time-out, and the last checkpoint stays intact.
# Needs root and iproute2. Without them, the test is skipped.
#
#   scripts/test_two_hosts.sh [PROGRAM]
set -euo pipefail
program=${1:-build/release/rl_training}
timeout=${PROCESS_TIMEOUT:-10}
if ! command -v ip >/dev/null || ! ip netns add rl_probe_$$ 2>/dev/null; then
  echo "SKIPPED: two hosts need root and network namespaces (ip netns)"
  exit 0
fi
ip netns del rl_probe_$$
directory=$(mktemp -d)
one=rl_one_$$ two=rl_two_$$
clean_up() {
  ip netns del "$one" 2>/dev/null || true
  ip netns del "$two" 2>/dev/null || true
  rm -rf "$directory"
}
trap clean_up EXIT

ip netns add "$one"
ip netns add "$two"
ip link add rlv1 netns "$one" type veth peer name rlv2 netns "$two"
ip -n "$one" addr add 10.77.0.1/24 dev rlv1
ip -n "$two" addr add 10.77.0.2/24 dev rlv2
for host in "$one" "$two"; do ip -n "$host" link set lo up; done
ip -n "$one" link set rlv1 up
ip -n "$two" link set rlv2 up

fail() {
  echo "FAILED: $1" >&2
  for file in "$directory"/*.txt; do echo "--- $file" >&2; cat "$file" >&2; done
  exit 1
}

# Starts the command on both hosts. finish() stores the exit codes in code1 and code2.
start() {
  export WORLD_SIZE=2 MASTER_ADDR=10.77.0.1 MASTER_PORT=29500
  RANK=0 ip netns exec "$one" "$program" "$@" --processes env --process-timeout $timeout \
    >"$directory/one.txt" 2>&1 &
  pid1=$!
  RANK=1 ip netns exec "$two" "$program" "$@" --processes env --process-timeout $timeout \
    >"$directory/two.txt" 2>&1 &
  pid2=$!
}
finish() {
  code1=0 code2=0
  wait $pid1 || code1=$?
  wait $pid2 || code2=$?
}
config() {
  echo --config td3_bc/pendulum-random --quiet --threads 1 --output-dir "$directory/$1" \
    --set dataset_size=2000 --set batch_size=64 --set hidden_sizes=[64,64] --set eval_episodes=2 \
    --set eval_interval=500 --set checkpoint_interval=100 --total-timesteps "$2"
}
run_of() { find "$directory/$1" -mindepth 1 -maxdepth 1 -name 'td3*'; }
tensors_of() { sha256sum <"$(run_of "$1")/checkpoints/step-$(printf %09d "$2")/tensors.safetensors"; }
checkpoints_of() { find "$directory/$1" -maxdepth 3 -name 'step-*' | wc -l; }
wait_for_checkpoints() {
  until [[ $(checkpoints_of "$1" 2>/dev/null) -ge $2 ]]; do
    kill -0 $pid1 2>/dev/null || fail "process 0 ended before its checkpoints"
    sleep 0.1
  done
}

# shellcheck disable=SC2046
for name in once again; do
  start train $(config $name 1000)
  if [[ $name == once ]]; then
    wait_for_checkpoints once 1
    # All sockets of the trainer must be on the link; none may listen on all addresses.
    for host in "$one" "$two"; do
      if ip netns exec "$host" ss -Htln | awk '{print $4}' | grep -qv '^10\.77\.0\.'; then
        fail "a socket listens outside the link"
      fi
    done
  fi
  finish
  [[ $code1 == 0 && $code2 == 0 ]] || fail "training ended with $code1 and $code2"
done
[[ $(tensors_of once 1000) == "$(tensors_of again 1000)" ]] || fail "two runs differ"
cmp "$(run_of once)/metrics.jsonl" "$(run_of again)/metrics.jsonl" || fail "two runs differ"
echo "ok: two hosts repeat bit for bit"

# shellcheck disable=SC2046
"$program" train $(config local 1000) --processes 2 >/dev/null
[[ $(tensors_of once 1000) == "$(tensors_of local 1000)" ]] || fail "one host and two differ"
echo "ok: the same bits as two processes of one host"

# shellcheck disable=SC2046
start train $(config stopped 1000)
wait_for_checkpoints stopped 2
kill -TERM "$pid2"  # signal the second process
finish
[[ $code1 == 143 && $code2 == 143 ]] || [[ $code1 == 0 && $code2 == 0 ]] ||
  fail "a signal ended the processes with $code1 and $code2"
start resume "$(run_of stopped)" --quiet
finish
[[ $code1 == 0 && $code2 == 0 ]] || fail "resuming ended with $code1 and $code2"
[[ $(tensors_of once 1000) == "$(tensors_of stopped 1000)" ]] || fail "a resumed run differs"
echo "ok: stopped by a signal to the second host, resumed exactly"

# shellcheck disable=SC2046
start train $(config cut 1000000)
wait_for_checkpoints cut 2
cut_at=$EPOCHREALTIME
ip -n "$one" link set rlv1 down
finish
took=$(awk -v a="$cut_at" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
[[ $code1 == 6 && $code2 == 6 ]] || fail "a cut link ended the processes with $code1 and $code2"
grep -q "^error: process 0: lost another process" "$directory/one.txt" || fail "no clear line"
[[ $(wc -l <"$directory/one.txt") == 1 ]] || fail "more than one line"
awk -v t="$took" -v limit=$timeout 'BEGIN { exit !(t < 3 * limit) }' || fail "took $took s"
"$program" evaluate "$(run_of cut)" --episodes 1 >/dev/null || fail "the checkpoint is damaged"
echo "ok: a cut link ended both processes after $took s (time-out $timeout s), checkpoint intact"
