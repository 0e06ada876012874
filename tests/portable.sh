#!/bin/sh
# portable.sh - the host engine and the command with another C library, musl, and for another processor, aarch64
# SPDX-License-Identifier: MIT
#
# usage: portable.sh BUILD: a build of rowscan. Builds each in a folder below it, runs the suites that need neither C++
# nor a GPU, and compares digests of random problems with the build's own: the bits are the same everywhere. Parts whose
# tools are missing say SKIP. JOBS: parallel jobs.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
work=$build/portable
jobs=${JOBS:-2}
problems=1500
suites='tests/header tests/test_host tests/test_npy tests/test_rows tests/test_spec tests/test_stage tests/test_threads'
status=0
RS_QUICK=1
CK_DEFAULT_TIMEOUT=300
ROWSCAN_CACHE=off
export RS_QUICK CK_DEFAULT_TIMEOUT ROWSCAN_CACHE

# What is built elsewhere includes xxhash.h, which needs nothing of its own, and none of this system's other headers.
mkdir -p "$work/include"
echo '#include <xxhash.h>' | ${CC:-cc} -E - | sed -n 's/^# 1 "\(.*\/xxh[a-z0-9]*\.h\)".*/\1/p' | sort -u |
  while read -r header; do cp "$header" "$work/include"; done

failed() {
  echo "FAIL $*"
  status=1
}

# build NAME CONFIGURE-OPTION...: leaves the suites, digests and the command in a folder of its own.
build() {
  name=$1
  shift
  mkdir -p "$work/$name"
  cd "$work/$name"
  "$root/configure" -q --enable-werror CXX=no CPPFLAGS="-I$work/include" CFLAGS=-O1 PYTHON="${PYTHON:-python3}" \
    CHECK_CFLAGS="-I$root/tests/portable" CHECK_LIBS=-pthread "$@"
  # shellcheck disable=SC2086
  make -s -j "$jobs" $suites tests/digests rowscan
}

# try NAME RUNNER...: the suites, and the digests beside those of this machine.
try() {
  name=$1
  shift
  for suite in $suites; do
    echo "== $name: $suite"
    "$@" "./$suite" || failed "$name: $suite"
  done
  "$@" ./tests/digests $problems >digests.txt || failed "$name: tests/digests"
  if cmp "$work/digests.txt" digests.txt; then
    echo "$name: $(wc -l <digests.txt) problems, the same bits"
  else
    diff "$work/digests.txt" digests.txt | head -n 10
    failed "$name: other bits"
  fi
}

make -s -C "$build" -j "$jobs" tests/digests
"$build/tests/digests" $problems >"$work/digests.txt"

if command -v musl-gcc >/dev/null; then
  build musl --disable-static CC=musl-gcc
  try musl env
  echo "== musl: tests/cli.py"
  ROWSCAN=$work/musl/rowscan "${PYTHON:-python3}" "$root/tests/cli.py" Values SameBits Files BadFiles ||
    [ $? = 77 ] || failed "musl: tests/cli.py"
else
  echo "SKIP musl: there is no musl-gcc (Debian: musl-tools)"
fi

if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
  build aarch64 --disable-shared --host=aarch64-linux-gnu
  try aarch64 qemu-aarch64 -L /usr/aarch64-linux-gnu
else
  echo "SKIP aarch64: there is no cross compiler or no qemu-aarch64" \
    "(Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)"
fi
exit $status
