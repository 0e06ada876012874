#!/bin/sh
# machine.sh - what the library is not built for ends the build, and says why
# SPDX-License-Identifier: MIT
set -eu
: "${srcdir:=.}"
LC_ALL=C
export LC_ALL

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
echo 'int empty;' >"$work/empty.c"

# compiles FILE FLAG...: with what it says in a file.
compiles() {
  file=$1
  shift
  # shellcheck disable=SC2086
  ${CC:-cc} -std=gnu11 -Werror "$@" -I"$srcdir/src" -fsyntax-only -x c "$file" >"$work/said" 2>&1
}

# refuses WORDS FLAG...: the header does, unless the compiler does not know the flags.
refuses() {
  words=$1
  shift
  if ! compiles "$work/empty.c" "$@"; then
    echo "SKIP: the compiler has no $*"
  elif compiles "$srcdir/src/base/machine.h" "$@" || ! grep -q "rowscan needs.*$words" "$work/said"; then
    echo "machine: $*: not refused for want of $words" >&2
    cat "$work/said" >&2
    failed=1
  else
    echo "refused: $*"
  fi
}

compiles "$srcdir/src/base/machine.h" || {
  cat "$work/said"
  failed=1
}
refuses '64 bits' -m32
refuses '64 bits' -mx32
refuses '64 bits' -U__SIZEOF_SIZE_T__ -D__SIZEOF_SIZE_T__=4
refuses little-endian -U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__
refuses 'excess precision' -mfpmath=387
refuses 'exact floating-point' -ffast-math
refuses 'exact floating-point' -Ofast
refuses 'exact floating-point' -ffinite-math-only

# The library's sources include the header.
if compiles "$srcdir/src/spec/types.c" -ffast-math; then
  echo "machine: src/spec/types.c compiles with -ffast-math" >&2
  failed=1
fi
exit $failed
