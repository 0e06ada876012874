#!/bin/sh
# simulated.sh - the whole GPU engine on a GPU simulated on the CPU, bit for bit against the host engine
# SPDX-License-Identifier: MIT
#
# The suites that need a GPU, on the driver and the NVRTC of tests/simt: the very kernels, compiled by g++, a fibre a
# thread.
set -eu
[ -e "$RS_SIMT/libcuda.so.1" ] || {
  echo "skipped: the simulated GPU is not built (it needs Check and shared libraries)"
  exit 77
}
LD_LIBRARY_PATH=$RS_SIMT${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ROWSCAN_NVRTC=$RS_SIMT/libnvrtc.so.13
ROWSCAN_CACHE=off
RS_QUICK=1
export LD_LIBRARY_PATH ROWSCAN_NVRTC ROWSCAN_CACHE RS_QUICK

status=0
for suite in tests/gpu/test_gpu tests/test_stage_gpu tests/test_faults tests/test_short tests/test_columns; do
  echo "== $suite"
  "$suite" || status=1
done
# Few rows are those that a GPU holds at once: on one of some size. They and long rows off 16 bytes with blocks that
# wait for others which have not started.
for resident in 1 3 60; do
  echo "== tests/gpu/test_gpu few offsets, $resident blocks at a time"
  SIMT_SMS=80 SIMT_RESIDENT=$resident tests/gpu/test_gpu few offsets || status=1
done
# Streams that do their work late; and a driver that can't tell a new one from another whose handle it got.
for version in 13000 11080; do
  echo "== tests/gpu/test_gpu chain capture outlive threads, driver $version, late"
  SIMT_ASYNC=1 SIMT_DRIVER_VERSION=$version tests/gpu/test_gpu chain capture outlive threads || status=1
done
# A GPU whose launches do not overlap.
echo "== tests/gpu/test_gpu repeat, sm_86"
SIMT_ARCH=86 tests/gpu/test_gpu repeat || status=1
exit $status
