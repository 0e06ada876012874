#!/bin/sh
# corpus.sh - the inputs a fuzzer starts from: an archive for each target, and how it is made anew
# SPDX-License-Identifier: MIT
#
# usage: corpus.sh unpack TARGET FOLDER: leaves the inputs of tests/fuzz/corpus/TARGET.tar in FOLDER, which it empties
#        first
#        corpus.sh pack TARGET FOLDER: writes the archive from the files of FOLDER; the same files give the same bytes
set -eu
usage() {
  sed -n '5,7s/^# //p' "$0" >&2
  exit 2
}
[ $# = 3 ] || usage
corpus=$(cd "$(dirname "$0")" && pwd)/corpus
case $1 in
unpack)
  rm -rf "$3"
  mkdir -p "$3"
  tar -xf "$corpus/$2.tar" -C "$3"
  ;;
pack)
  # tar's own format, without owners and times.
  (cd "$3" && find . -type f | sed 's|^\./||' | LC_ALL=C sort) |
    tar -cf "$corpus/$2.tar" -C "$3" --format=ustar --mode=0644 --owner=0 --group=0 --numeric-owner --mtime=@0 \
      --no-recursion -T -
  ;;
*) usage ;;
esac
