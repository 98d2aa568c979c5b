#!/usr/bin/env bash
# Packs the program with all libraries that it loads, except the C library. Unpack the archive on any Linux
# with the same or a newer glibc and run bin/rl_training.
#   scripts/make_tarball.sh BUILD_DIRECTORY
set -euo pipefail

build=$(cd "${1:?usage: $0 BUILD_DIRECTORY}" && pwd)
name=rl_training-$(uname -m)
tree=$build/tarball/$name
rm -rf "$build/tarball"
DESTDIR=$build/tarball/root cmake --install "$build" --component program --strip >/dev/null
mv "$build/tarball/root/usr" "$tree"

# The RPATH of both executables contains this directory. An RPATH also applies to libraries that
# other libraries load.
libraries=$tree/libexec/rl_training/libraries
mkdir -p "$libraries"
ldd "$tree/bin/rl_training" "$tree/libexec/rl_training/rl_training" |
  awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}' | sort -u |
  while read -r soname path; do
    case "$soname" in
      libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | libmvec.so.* | libresolv.so.* | ld-linux*) continue ;;
    esac
    [[ $path == "$tree"/* || -e $libraries/$soname ]] || cp -L "$path" "$libraries/$soname"
  done
XZ_OPT="-3 -T0" tar -C "$build/tarball" -cJf "$build/$name.tar.xz" "$name"
ls -lh "$build/$name.tar.xz"
