#!/usr/bin/env bash
# Installs the Debian packages of a directory in a clean Debian 12 and tests them there: the demo of the program,
# its man page, completion, and the Python module. Needs root. The clean system is created once and remains.
#   scripts/test_package.sh DIRECTORY
#   CHROOT  directory of the clean system (default build/chroot)
#   MIRROR  Debian mirror (default: the first one in this system's sources)
set -euo pipefail

packages=$(cd "${1:?usage: $0 DIRECTORY}" && pwd)
chroot=${CHROOT:-build/chroot}
sources=$(find /etc/apt/ -name '*.list' -o -name '*.sources')
# shellcheck disable=SC2086
mirror=${MIRROR:-$(sed -nE 's,^(URIs: *|deb (\[[^]]*\] )?)(https?:[^ ]*/debian/?)( .*|$),\3,p' $sources | head -n 1)}

if [[ ! -e $chroot/bin/sh ]]; then
  debootstrap --variant=minbase bookworm "$chroot" "$mirror" >&2
fi
# Copy the settings with which this system reaches its mirror.
cp -r /etc/apt/apt.conf.d "$chroot/etc/apt/"
cp /etc/resolv.conf "$chroot/etc/"
echo "deb $mirror bookworm main" > "$chroot/etc/apt/sources.list"
mkdir -p "$chroot/packages"
rm -f "$chroot"/packages/*
cp "$packages"/*.deb "$chroot/packages/"

inside() { chroot "$chroot" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
mounted() { mountpoint -q "$chroot/proc"; }
mounted || mount -t proc proc "$chroot/proc"
trap 'umount "$chroot/proc"' EXIT

inside apt-get update -q
inside sh -c 'DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
  --reinstall --allow-downgrades /packages/rl-training_*.deb /packages/python3-rl-training_*.deb'

inside sh -ec '
  cd "$(mktemp -d)"
  rl_training --version
  sh -c "time rl_training --help" | head -n 3
  bash /usr/share/doc/rl_training/demo.sh
  rl_training report runs/demo
  python3 -c "import rl_training; print(len(rl_training.algorithms()), \"algorithms\")"
  test -s /usr/share/man/man1/rl_training-train.1.gz -o -s /usr/share/man/man1/rl_training-train.1
  bash -n /usr/share/bash-completion/completions/rl_training
'
echo "packages: ok"
