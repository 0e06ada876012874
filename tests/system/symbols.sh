#!/bin/sh
# symbols.sh - what the libraries show to the linker, and what they ask of it
# SPDX-License-Identifier: MIT
#
# The shared library exports the calls of rowscan.h, each of them and nothing else, and needs the C library alone, as
# CUDA's libraries are found at run time. It has next to no thread-local memory, which is taken from every thread's
# stack. In the static library, whatever is global begins with rowscan_ or rs_, so that it meets no name of an
# application.
set -eu
: "${srcdir:=.}"
LC_ALL=C
export LC_ALL

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
  echo "symbols: $*" >&2
  failed=1
}
# Says which lines are in the first list and not in the second.
only_in() {
  comm -23 "$1" "$2" | tr '\n' ' '
}

${CC:-cc} -E -P "$srcdir/src/rowscan.h" | tr '\n' ' ' | tr ';' '\n' |
  sed -n 's/.*__attribute__((visibility("default")))[^(]*[ *]\(rowscan_[a-z0-9_]*\) *(.*/\1/p' | sort >"$work/declared"
[ -s "$work/declared" ] || fail "found no calls in rowscan.h"

# A thread that is cancelled in a call ends the call first, or it would leave locks behind. Those that only return what
# is there, or free memory, do without.
cat >"$work/instant" <<'END'
rowscan_carry_reset
rowscan_context_engine
rowscan_free
rowscan_last_error
rowscan_op_by_name
rowscan_op_name
rowscan_regime_name
rowscan_status_name
rowscan_type_by_name
rowscan_type_bytes
rowscan_type_name
rowscan_version
rowscan_version_number
END
sed -n 's/^[a-z].*[ *]\(rowscan_[a-z_]*\)(.*/\1/p; s/^  RS_UNCANCELLED;$/uncancelled/p' "$srcdir"/src/*/*.c |
  awk '$0 == "uncancelled" { print name } { name = $0 }' | sort >"$work/uncancelled"
sort "$work/instant" "$work/uncancelled" >"$work/either"
lacking=$(only_in "$work/declared" "$work/either")
both=$(uniq -d "$work/either" | tr '\n' ' ')
[ -z "$lacking" ] || fail "calls that lack RS_UNCANCELLED: $lacking"
[ -z "$both" ] || fail "calls that have RS_UNCANCELLED twice, or need none: $both"

shared=.libs/librowscan.so
if [ -e "$shared" ]; then
  "${NM:-nm}" -D --defined-only "$shared" | awk '{ print $NF }' | grep -v '^__odr_asan' | sort >"$work/exported"
  extra=$(only_in "$work/exported" "$work/declared")
  lacking=$(only_in "$work/declared" "$work/exported")
  [ -z "$extra" ] || fail "$shared exports what rowscan.h does not declare: $extra"
  [ -z "$lacking" ] || fail "$shared lacks calls of rowscan.h: $lacking"

  "${READELF:-readelf}" -lW "$shared" | awk '$1 == "TLS" { print $6 }' >"$work/tls"
  [ $(($(cat "$work/tls" || true) + 0)) -le 100 ] || fail "$shared has $(cat "$work/tls") bytes of thread-local memory"

  "${READELF:-readelf}" -d "$shared" >"$work/dynamic"
  soname=$(sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p' "$work/dynamic")
  [ "$soname" = librowscan.so.1 ] || fail "the soname is $soname"
  grep -q 'FLAGS.*NODELETE' "$work/dynamic" || fail "$shared may be unloaded while its threads run"
  sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' "$work/dynamic" >"$work/needed"
  echo "$soname needs $(tr '\n' ' ' <"$work/needed")"
  grep -vE '^(lib(c|m|dl|pthread|asan|ubsan|tsan)\.so|ld-linux)' "$work/needed" >"$work/foreign" &&
    fail "$shared needs $(tr '\n' ' ' <"$work/foreign")"
  "${NM:-nm}" -D --undefined-only "$shared" | awk '{ print $NF }' | grep -E '^(cu[A-Z]|cuda|nvrtc)' >"$work/foreign" &&
    fail "$shared asks the linker for $(tr '\n' ' ' <"$work/foreign")"
fi

static=.libs/librowscan.a
if [ -e "$static" ]; then
  "${NM:-nm}" -g --defined-only "$static" | awk 'NF == 3 { print $3 }' | grep -v '^__odr_asan' | sort >"$work/global"
  grep '^rowscan_' "$work/global" >"$work/exported" || true
  foreign=$(grep -vE '^(rowscan|rs)_' "$work/global" | tr '\n' ' ')
  extra=$(only_in "$work/exported" "$work/declared")
  lacking=$(only_in "$work/declared" "$work/exported")
  [ -z "$foreign" ] || fail "$static has global names that are not rowscan's: $foreign"
  [ -z "$extra" ] || fail "$static has rowscan_ names that rowscan.h does not declare: $extra"
  [ -z "$lacking" ] || fail "$static lacks calls of rowscan.h: $lacking"
fi

[ -e "$shared" ] || [ -e "$static" ] || fail "no library in $PWD/.libs"
echo "$(wc -l <"$work/declared") calls in rowscan.h"
exit $failed
