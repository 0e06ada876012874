#!/bin/sh
# simulated_others.sh - as simulated.sh, on other GPUs and drivers: larger, older, late, and one that finds races
# SPDX-License-Identifier: MIT
#
# SIMULATED_SIZES: which GPUs of other sizes (default: all), as MULTIPROCESSORS_BLOCKS_RACES[:LOTS:SEED], the latter in
# place of RS_LOT and RS_SEED. RS_TOUCHED is simulated.sh's.
set -eu
# shellcheck source=tests/system/on_simulated.sh
. "$(dirname "$0")/on_simulated.sh"

unset RS_TOUCHED
status=0
# Few rows are those that a GPU holds at once: on one of some size. They and long rows off 16 bytes with blocks that
# wait for others which have not started; for sanitizers, which look at memory, in one order on a small one, for which
# simulated.sh has the same kernels. One run looks for shared memory that nothing keeps apart, whatever came of it; a
# smaller GPU finds the same there, in two thirds of the time.
sizes=${SIMULATED_SIZES:-80_1_0 80_3_0 16_12_1}
[ -z "${RS_SANITIZE:-}" ] || sizes=4_3_0
for size in $sizes; do
  lot=${size#*:}
  [ "$lot" != "$size" ] || lot=${RS_LOT:-1}:${RS_SEED:-1}
  size=${size%%:*}
  blocks=${size#*_}
  blocks=${blocks%_*}
  echo "== tests/gpu/test_gpu few offsets, ${size%%_*} multiprocessors, $blocks blocks at a time, races ${size##*_}"
  RS_LOT=${lot%:*} RS_SEED=${lot#*:} SIMT_SMS=${size%%_*} SIMT_RESIDENT=$blocks SIMT_RACES=${size##*_} \
    tests/gpu/test_gpu few offsets || status=1
done
# So do these, of other kernels; random columns are of more kinds than the GPU suite's.
if [ -z "${RS_SANITIZE:-}" ]; then
  echo "== tests/gpu/test_gpu widths regimes delays, tests/gpu/test_columns, races"
  SIMT_RACES=1 tests/gpu/test_gpu widths regimes delays || status=1
  SIMT_RACES=1 tests/gpu/test_columns 9 3 || status=1
  SIMT_RACES=1 tests/gpu/test_columns 8 4 11 1 || status=1
  SIMT_RACES=1 tests/gpu/test_columns 6 4 11 8 || status=1
  echo "== tests/gpu/test_gpu widths regimes delays geometries, 1 block at a time"
  SIMT_RESIDENT=1 tests/gpu/test_gpu widths regimes delays geometries || status=1
fi
# Streams that do their work late; and a driver that can't tell a new one from another whose handle it got.
for version in 13000 11080; do
  echo "== tests/gpu/test_gpu chain capture outlive threads, driver $version, late"
  SIMT_ASYNC=1 SIMT_DRIVER_VERSION=$version tests/gpu/test_gpu chain capture outlive threads || status=1
done
# Launches that do not overlap.
echo "== tests/gpu/test_gpu chain, plain launches"
ROWSCAN_PDL=OFF tests/gpu/test_gpu chain || status=1
echo "== tests/gpu/test_gpu repeat, sm_86"
SIMT_ARCH=86 tests/gpu/test_gpu repeat || status=1
exit $status
