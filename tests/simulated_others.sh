#!/bin/sh
# simulated_others.sh - as simulated.sh, on other GPUs and drivers: larger, older, late
# SPDX-License-Identifier: MIT
set -eu
# shellcheck source=tests/on_simulated.sh
. "$(dirname "$0")/on_simulated.sh"

status=0
# Few rows are those that a GPU holds at once: on one of some size. They and long rows off 16 bytes with blocks that
# wait for others which have not started; in one order only for sanitizers, which look at memory.
orders='1 3 60'
[ -z "${RS_SANITIZE:-}" ] || orders=60
for resident in $orders; do
  echo "== tests/gpu/test_gpu few offsets, $resident blocks at a time"
  SIMT_SMS=80 SIMT_RESIDENT=$resident tests/gpu/test_gpu few offsets || status=1
done
# Streams that do their work late; and a driver that can't tell a new one from another whose handle it got.
for version in 13000 11080; do
  echo "== tests/gpu/test_gpu chain capture outlive threads, driver $version, late"
  SIMT_ASYNC=1 SIMT_DRIVER_VERSION=$version tests/gpu/test_gpu chain capture outlive threads || status=1
done
# Launches that do not overlap.
echo "== tests/gpu/test_gpu chain, plain launches"
ROWSCAN_PDL=off tests/gpu/test_gpu chain || status=1
echo "== tests/gpu/test_gpu repeat, sm_86"
SIMT_ARCH=86 tests/gpu/test_gpu repeat || status=1
exit $status
