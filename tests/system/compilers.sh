#!/bin/sh
# compilers.sh - the kernels, the choice of NVRTC and first calls with older NVRTCs, as they are installed beside Python
# SPDX-License-Identifier: MIT
#
# usage: compilers.sh BUILD: a build of rowscan with its tests. Brings the wheels of NVIDIA's packages to BUILD/nvrtc.
# RS_PART, RS_DRAWN, RS_SEED: which kernels, see test_variants.c.
set -eu
tests=$(cd "$(dirname "$0")/.." && pwd)
cd "$1"
python=${PYTHON:-python3}
"$python" -m pip --version >/dev/null 2>&1 || python=/usr/bin/python3
status=0
for package in nvidia-cuda-nvrtc-cu11==11.8.89 nvidia-cuda-nvrtc-cu12==12.9.86; do
  dir=nvrtc/$package
  if ! [ -d "$dir/nvidia" ]; then
    "$python" -m pip download -q --disable-pip-version-check --no-deps -d "$dir" "$package"
    "$python" -m zipfile -e "$dir"/*.whl "$dir"
  fi
  lib=$(find "$PWD/$dir/nvidia" -name 'libnvrtc.so.*')
  echo "== $package"
  for suite in tests/unit/test_nvrtc tests/system/test_variants; do
    ROWSCAN_NVRTC=$lib ROWSCAN_CACHE=off "$suite" || status=1
  done
  # A first call from disk leaves it alone.
  ROWSCAN_NVRTC=$lib "${PYTHON:-python3}" "$tests/bench/bench_first.py" tests/bench/bench_first --arch sm_90 --check ||
    status=1
  # What it does not know it says, and what it does.
  for arch in sm_50 sm_999; do
    if told=$(ROWSCAN_NVRTC=$lib ROWSCAN_CACHE=off ./rowscan compile --arch $arch --length 1000 2>&1 >/dev/null); then
      echo "FAIL $package compiles for $arch"
      status=1
    fi
    case $told in
    *"does not support sm_999; it supports sm_75 "* | *"sm_50 is older than sm_75"*) ;;
    *)
      echo "FAIL $package, $arch: $told"
      status=1
      ;;
    esac
  done
done
exit $status
