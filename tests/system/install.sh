#!/bin/sh
# install.sh - rowscan as it is installed: found by pkg-config, used without a CUDA header, and gone when uninstalled
# SPDX-License-Identifier: MIT
set -eu
: "${srcdir:=.}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dest=$work/dest
fail() {
  echo "install: $*" >&2
  exit 1
}
# The harness's make, and its options, are another make's business.
unset MAKEFLAGS MFLAGS MAKELEVEL || true

"${MAKE:-make}" install "DESTDIR=$dest" >"$work/log" 2>&1 || { cat "$work/log"; fail "make install failed"; }
find "$dest" ! -type d | sed "s|^$dest||" | sort >"$work/installed"
cat "$work/installed"

# Prints the path below $dest of the installed file whose path ends in $1.
installed() {
  path=$(grep "/$1\$" "$work/installed" | head -n 1)
  [ -n "$path" ] || fail "no $1 was installed"
  echo "$dest$path"
}
installed include/rowscan.h >/dev/null
installed man1/rowscan.1 >/dev/null
for completion in bash-completion/completions/rowscan fish/vendor_completions.d/rowscan.fish \
  zsh/site-functions/_rowscan; do
  installed "$completion" >/dev/null
done
command=$(installed bin/rowscan)
pc=$(installed pkgconfig/rowscan.pc)
libdir=$(dirname "$(dirname "$pc")")

# The installed command, which has the library inside.
"$command" --version >"$work/version" || fail "$command --version failed"
grep -qF "$VERSION" "$work/version" || fail "rowscan --version says $(cat "$work/version")"
"${READELF:-readelf}" -d "$command" | grep -q librowscan && fail "$command needs librowscan.so"

# What was installed lies elsewhere than where it was to be: packs are looked for there, by the command and the library.
data=$(cd "$(dirname "$command")/.." && pwd -P)/share/rowscan
mkdir -p "$data"
: >"$data/no.pack"
packs_are_found() {
  (
    unset ROWSCAN_CACHE_PACKS
    ROWSCAN_CACHE=off ROWSCAN_LOG=warning
    export ROWSCAN_CACHE ROWSCAN_LOG
    "$@"
  ) >"$work/log" 2>&1 || fail "$* failed: $(cat "$work/log")"
  grep -qF "pack $data/no.pack is not used: truncated" "$work/log" || fail "$* looked elsewhere: $(cat "$work/log")"
}
packs_are_found "$command" cache info

# And rowscan.pc finds it there.
PKG_CONFIG_LIBDIR=$(dirname "$pc")
PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
unset PKG_CONFIG_SYSROOT_DIR || true
export PKG_CONFIG_LIBDIR PKG_CONFIG_ALLOW_SYSTEM_CFLAGS PKG_CONFIG_ALLOW_SYSTEM_LIBS LD_LIBRARY_PATH
[ "$("${PKG_CONFIG:-pkg-config}" --modversion rowscan)" = "$VERSION" ] || fail "rowscan.pc has another version"
grep -qx 'License: MIT' "$pc" || fail "rowscan.pc names no licence"
prefix=$("${PKG_CONFIG:-pkg-config}" --variable=prefix rowscan)
readme=$(sed -n 's|^URL: file://||p' "$pc" | sed "s|^\${prefix}|$prefix|")
[ -s "$readme" ] || fail "the URL of rowscan.pc is not what was installed: $readme"

# Builds and runs the program $1 by pkg-config and what follows $1.
try() {
  source=$1
  shift
  case $source in
  *.cc) compiler="${CXX:-c++} -std=c++11" ;;
  *) compiler="${CC:-cc} -std=c11" ;;
  esac
  # Words, all of these.
  # shellcheck disable=SC2046,SC2086
  $compiler $RS_SANITIZE -o "$work/program" "$source" $("${PKG_CONFIG:-pkg-config}" --cflags rowscan) "$@"
  "$work/program"
}
# shellcheck disable=SC2046
if [ -e "$libdir/librowscan.so" ]; then
  for source in "$srcdir"/tests/system/header.c "$srcdir"/tests/system/header.cc; do
    case $source in *.cc) command -v "${CXX%% *}" >/dev/null || continue ;; esac
    try "$source" $("${PKG_CONFIG:-pkg-config}" --libs rowscan)
  done
  packs_are_found try "$srcdir/tests/system/header.c" $("${PKG_CONFIG:-pkg-config}" --libs rowscan)
fi
if [ -e "$libdir/librowscan.a" ]; then
  mkdir "$work/static"
  cp "$libdir/librowscan.a" "$work/static"
  # shellcheck disable=SC2046
  try "$srcdir/tests/system/header.c" "-L$work/static" $("${PKG_CONFIG:-pkg-config}" --static --libs rowscan |
    sed 's|-L[^ ]*/lib[^ ]*||')
  if [ -e "$libdir/librowscan.so" ] && "${READELF:-readelf}" -d "$work/program" | grep -q librowscan; then
    fail "the program meant for the static library took the shared one"
  fi
fi

rm -r "$data/no.pack"
"${MAKE:-make}" uninstall "DESTDIR=$dest" >"$work/log" 2>&1 || { cat "$work/log"; fail "make uninstall failed"; }
left=$(find "$dest" ! -type d | tr '\n' ' ')
[ -z "$left" ] || fail "make uninstall left $left"
