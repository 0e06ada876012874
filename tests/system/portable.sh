#!/bin/sh
# portable.sh - the host engine and the command with another C library, musl, and for another processor, aarch64
# SPDX-License-Identifier: MIT
#
# usage: portable.sh BUILD [musl] [aarch64]: a build of rowscan, and what of these (default: both). Builds each in a
# folder below it, runs the suites that need neither C++ nor a GPU, and compares digests of random problems with the
# build's own: the bits are the same everywhere. Parts whose tools are missing say SKIP. JOBS: parallel jobs. RS_LOT:
# see tests/support/lot.h. RS_QUICK=0: all suites under QEMU too, where the longest take minutes.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- musl aarch64
work=$build/portable
jobs=${JOBS:-2}
problems=2000
short='tests/system/header tests/unit/test_npy tests/unit/test_rows tests/unit/test_spec tests/system/test_threads'
long='tests/unit/test_host tests/unit/test_stage'
status=0
RS_QUICK=${RS_QUICK:-1}
CK_DEFAULT_TIMEOUT=300
ROWSCAN_CACHE=off
srcdir=$root
export RS_QUICK CK_DEFAULT_TIMEOUT ROWSCAN_CACHE srcdir

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
  "$root/configure" -q --enable-werror --without-universal CXX=no CPPFLAGS="-I$work/include" \
    PYTHON="${PYTHON:-python3}" \
    CHECK_CFLAGS="-I$root/tests/system/portable" CHECK_LIBS=-pthread "$@"
  # shellcheck disable=SC2086
  make -s -j $(((jobs + 1) / 2)) $short $long tests/system/digests rowscan
}

# try SUITES RUNNER...: these, and the digests beside those of this machine.
try() {
  suites=$1
  shift
  for suite in $suites; do
    "$@" "./$suite" || failed "$suite"
  done
  "$@" ./tests/system/digests "$problems" >digests.txt || failed tests/system/digests
  if cmp "$work/digests.txt" digests.txt; then
    echo "$(wc -l <digests.txt) problems, the same bits"
  else
    diff "$work/digests.txt" digests.txt | head -n 10
    failed "other bits"
  fi
}

musl() {
  if ! command -v musl-gcc >/dev/null; then
    echo "SKIP: there is no musl-gcc (Debian: musl-tools)"
    return 0
  fi
  # The same compiler made the loops of the host engine for this machine: here without -O3 (src/host/target.h).
  build musl --disable-static CC=musl-gcc CFLAGS='-O1 -U__OPTIMIZE__'
  try "$short $long" env
  ROWSCAN=$work/musl/rowscan "${PYTHON:-python3}" "$root/tests/system/cli.py" Values SameBits Files BadFiles ||
    [ $? = 77 ] || failed tests/system/cli.py
}

aarch64() {
  if ! command -v aarch64-linux-gnu-gcc >/dev/null || ! command -v qemu-aarch64 >/dev/null; then
    echo "SKIP: there is no cross compiler or no qemu-aarch64" \
      "(Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)"
    return 0
  fi
  build aarch64 --disable-shared --host=aarch64-linux-gnu CFLAGS=-O1
  suites=$short
  [ "$RS_QUICK" = 1 ] || suites="$short $long"
  try "$suites" qemu-aarch64 -L /usr/aarch64-linux-gnu
}

make -s -C "$build" -j "$jobs" tests/system/digests
"$build/tests/system/digests" "$problems" >"$work/digests.txt"
# Beside one another, for each has parts that keep one processor busy.
for part; do
  (
    case $part in
    musl) musl ;;
    aarch64) aarch64 ;;
    *) failed "there is no part $part" ;;
    esac
    exit $status
  ) >"$work/$part.log" 2>&1 &
  running="${running:-} $part:$!"
done
for part in $running; do
  wait "${part#*:}" || failed "${part%:*}"
  echo "== ${part%:*}"
  grep -v '^  \(CC\|CCLD\|GEN\) ' "$work/${part%:*}.log"
done
exit $status
