#!/bin/sh
# warnings.sh - what rowscan.h documents, compiled with all warnings by the compilers at hand, in each standard
# SPDX-License-Identifier: MIT
#
# In C the programs of README.md and header.c, from C++20 on header20.cc, before it header.cc, which sets fields one by
# one. And the header itself, without the pragma that keeps it quiet; and rowscan_nccl.h, with fakes of what it needs.
set -eu
: "${srcdir:=.}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 compiled=0

# Each block of C that has a main, as a file of its own; CUDA's headers may be missing.
awk -v to="$work/readme" '/^```c( |$)/ { inside = 1; text = ""; next }
  /^```$/ && inside && text ~ /int main\(/ && text !~ /<cuda/ { count++; printf "%s", text >(to count ".c") }
  /^```$/ { inside = 0 }
  inside { text = text $0 "\n" }' "$srcdir/README.md"
[ -e "$work/readme1.c" ] || { echo "warnings: README.md has no program" >&2; exit 1; }
grep -v '^#pragma GCC system_header$' "$srcdir/src/rowscan.h" >"$work/rowscan_itself.h"
for suffix in c cc; do
  echo '#include "rowscan_itself.h"' >"$work/itself.$suffix"
  echo '#include "rowscan_nccl.h"' >"$work/nccl.$suffix"
done

# $1 compiles in the standard $2, or $3 where that is not known by its name yet: the files that follow.
compile() {
  compiler=$1 standard=$2
  echo >"$work/empty"
  case $compiler in *++*) language=c++ ;; *) language=c ;; esac
  $compiler "-std=$2" -x $language -fsyntax-only "$work/empty" 2>/dev/null || standard=$3
  $compiler "-std=$standard" -x $language -fsyntax-only "$work/empty" 2>/dev/null || return 0
  shift 3
  for file in "$@"; do
    $compiler "-std=$standard" -pedantic -Wall -Wextra -Werror -fsyntax-only -I "$srcdir/src" -I "$work" \
      -I "$srcdir/tests/support/fake_nccl" "$file" || {
      echo "warnings: $compiler -std=$standard: $file" >&2
      failed=1
    }
    compiled=$((compiled + 1))
  done
}

for compiler in "${CC:-cc}" gcc clang; do
  command -v "${compiler%% *}" >/dev/null || continue
  for standards in "c11 c11" "c17 c18" "c23 c2x"; do
    # Two words.
    # shellcheck disable=SC2086
    compile "$compiler" $standards "$work"/readme*.c "$srcdir/tests/system/header.c" "$work/itself.c" "$work/nccl.c"
  done
done
for compiler in "${CXX:-c++}" g++ clang++; do
  command -v "${compiler%% *}" >/dev/null || continue
  for standard in c++11 c++17; do
    compile "$compiler" $standard $standard "$srcdir/tests/system/header.cc" "$work/itself.cc" "$work/nccl.cc"
  done
  for standards in "c++20 c++2a" "c++23 c++2b"; do
    # shellcheck disable=SC2086
    compile "$compiler" $standards "$srcdir/tests/system/header.cc" "$srcdir/tests/system/header20.cc" \
      "$work/itself.cc" "$work/nccl.cc"
  done
done
echo "$compiled files compiled"
exit $failed
